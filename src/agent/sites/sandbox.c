/* SPDX-License-Identifier: MIT */
/*
 * sandbox.c - programs that forbid themselves system calls, or the time stamp counter
 *
 * A thread that has had its first hit makes no system call, so it goes on in any
 * sandbox. A first hit makes some. If a filter would answer one of them with
 * anything but a result, threads that begin later are not traced. To find out what
 * a filter of the program does, filter_run() runs it: it is code for a small
 * machine, without loops. A filter from before the program's start cannot be read:
 * a child process tries the calls first.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include "agent/state.h"
#include "agent/syscall.h"

#if defined(__x86_64__)
#define SANDBOX_ARCH AUDIT_ARCH_X86_64
#endif

/*
 * A call and its arguments. Descriptors are -1, and no address is good: a child makes the calls in
 * earnest (try_calls()).
 */
struct tried_call {
	uint16_t	nr;
	int8_t		first, fourth;
	int32_t		second, third;
};

/* The calls of a first hit, and of hits without restartable sequences or build-ids. */
static const struct tried_call calls[] = {
	{ .nr = SYS_rt_sigprocmask, .first = SIG_BLOCK },
	{ .nr = SYS_rt_sigprocmask, .first = SIG_SETMASK },
	{ .nr = SYS_gettid },
	{ .nr = SYS_getpid },
	{ .nr = SYS_futex, .first = 1, .second = FUTEX_WAIT_PRIVATE },
	{ .nr = SYS_futex, .first = 1, .second = FUTEX_WAKE_PRIVATE },
	{ .nr = SYS_prctl, .first = PR_GET_NAME },
	{ .nr = SYS_prlimit64, .second = RLIMIT_STACK },
	{ .nr = SYS_fstat, .first = -1 },
	{ .nr = SYS_newfstatat, .first = -1 },
	{ .nr = SYS_sendmsg, .first = -1 },
	{ .nr = SYS_recvfrom, .first = -1 },
	{ .nr = SYS_setsockopt, .first = -1, .second = SOL_SOCKET },
	{ .nr = SYS_nanosleep },
	{ .nr = SYS_tgkill },
	{ .nr = SYS_getcpu },
	{ .nr = SYS_mmap, .second = 4096, .third = 3, .fourth = 0x22 },
	{ .nr = SYS_mprotect, .second = 4096, .third = 3 },
	{ .nr = SYS_close, .first = -1 },
	{ .nr = SYS_fcntl, .first = -1, .second = F_DUPFD_CLOEXEC },
};

/*
 * The calls of a child of fork() that joins the session, and of a process that has closed its
 * connection.
 */
static const struct tried_call joining[] = {
	{ .nr = SYS_socket, .first = AF_UNIX, .second = SOCK_SEQPACKET | SOCK_CLOEXEC },
	{ .nr = SYS_socketpair, .first = AF_UNIX, .second = SOCK_SEQPACKET | SOCK_CLOEXEC },
	{ .nr = SYS_connect, .first = -1 },
	{ .nr = SYS_getsockopt, .first = -1, .second = SOL_SOCKET },
	{ .nr = SYS_openat },
	{ .nr = SYS_membarrier },
};

/* A program that is executed makes these too (try_calls()). */
static const struct tried_call beginning[] = {
	{ .nr = SYS_mincore },
	{ .nr = SYS_mremap },
	{ .nr = SYS_munlock },
	{ .nr = SYS_getcwd },
	{ .nr = SYS_readlinkat },
	{ .nr = SYS_rt_sigaction },
};

/* These, and those of looking[], are behind agent_may_ask(). */
static const struct tried_call asking[] = {
	{ .nr = SYS_clock_gettime, .first = CLOCK_REALTIME },
	{ .nr = SYS_sched_getscheduler },
	{ .nr = SYS_sched_getattr },
	/* Of a descriptor, so that it does not wait: its address is no good. */
	{ .nr = SYS_ppoll, .second = 1 },
	{ .nr = SYS_fchmod, .first = -1 },
	{ .nr = SYS_renameat, .first = -1, .third = -1 },
	{ .nr = SYS_unlinkat, .first = -1 },
};

/* To try them, it makes these (sandbox_permits()). */
static const struct tried_call trying[] = {
	{ .nr = SYS_prctl, .first = PR_GET_SECCOMP },
	{ .nr = SYS_clone },
	{ .nr = SYS_wait4 },
	{ .nr = SYS_exit_group },
};

/* If one of these fails in a program that is executed, it cannot count itself as untraced. */
static const struct tried_call mapping[] = {
	{ .nr = SYS_geteuid },
	{ .nr = SYS_newfstatat, .first = -1 },
	{ .nr = SYS_fstatfs, .first = -1 },
	{ .nr = SYS_fstat, .first = -1 },
	{ .nr = SYS_openat, .third = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK },
	{ .nr = SYS_mmap, .second = 4096, .third = 3, .fourth = 1 },
};

/* It makes these, too: whether they fail does not matter. */
static const struct tried_call unmapping[] = {
	{ .nr = SYS_prlimit64 },
	{ .nr = SYS_madvise },
	{ .nr = SYS_munmap },
	{ .nr = SYS_close, .first = -1 },
};

/* The calls that look at a file before it is executed (agent/providers/process/exec_check.c). */
static const struct tried_call looking[] = {
	{ .nr = SYS_openat, .third = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY },
	{ .nr = SYS_pread64 },
	{ .nr = SYS_fstat },
	{ .nr = SYS_fstatfs },
	{ .nr = SYS_newfstatat },
	{ .nr = SYS_faccessat },
	{ .nr = SYS_fgetxattr },
	{ .nr = SYS_close },
	{ .nr = SYS_getuid },
	{ .nr = SYS_getgid },
	{ .nr = SYS_prctl, .first = PR_GET_NO_NEW_PRIVS },
};

enum {
	NR_CALLS = sizeof(calls) / sizeof(calls[0]),
	NR_JOINING = sizeof(joining) / sizeof(joining[0]),
	NR_BEGINNING = sizeof(beginning) / sizeof(beginning[0]),
	NR_ASKING = sizeof(asking) / sizeof(asking[0]),
	NR_TRYING = sizeof(trying) / sizeof(trying[0]),
	NR_LOOKING = sizeof(looking) / sizeof(looking[0]),
	NR_MAPPING = sizeof(mapping) / sizeof(mapping[0]),
	NR_UNMAPPING = sizeof(unmapping) / sizeof(unmapping[0]),
	MAX_CODE = 4096
};

/* ---- The machine: A, X and 16 words ---- */

struct machine {
	uint32_t a, x, mem[BPF_MEMWORDS];
};

static uint32_t data_word(const struct seccomp_data *d, uint32_t off)
{
	uint32_t word = 0;

	if (off % 4 == 0 && off <= sizeof(*d) - 4)
		__builtin_memcpy(&word, (const char *)d + off, 4);
	return word;
}

static uint32_t alu(uint32_t op, uint32_t a, uint32_t v)
{
	switch (op) {
	case BPF_ADD: return a + v;
	case BPF_SUB: return a - v;
	case BPF_MUL: return a * v;
	case BPF_DIV: return a / v;
	case BPF_AND: return a & v;
	case BPF_OR: return a | v;
	case BPF_XOR: return a ^ v;
	case BPF_LSH: return a << (v & 31);
	case BPF_RSH: return a >> (v & 31);
	case BPF_NEG: return -a;
	default: return 0;
	}
}

static bool jumps(uint32_t op, uint32_t a, uint32_t v)
{
	switch (op) {
	case BPF_JEQ: return a == v;
	case BPF_JGT: return a > v;
	case BPF_JGE: return a >= v;
	case BPF_JSET: return a & v;
	default: return false;
	}
}

static uint32_t sandbox_load(const struct machine *m, const struct sock_filter *f,
		     const struct seccomp_data *d)
{
	switch (BPF_MODE(f->code)) {
	case BPF_IMM: return f->k;
	case BPF_ABS: return data_word(d, f->k);
	case BPF_MEM: return m->mem[f->k % BPF_MEMWORDS];
	case BPF_LEN: return sizeof(*d);
	default: return 0;
	}
}

/*
 * What the filter returns for a call. The kernel has accepted the filter: jumps go forward and it
 * ends with a return.
 */
static __attribute__((cold, noinline)) uint32_t filter_run(const struct sock_fprog *prog,
							    const struct seccomp_data *d)
{
	struct machine m = { 0 };

	for (uint32_t i = 0; i < prog->len && i < MAX_CODE; i++) {
		const struct sock_filter *f = &prog->filter[i];
		uint32_t v = BPF_SRC(f->code) == BPF_X ? m.x : f->k;

		switch (BPF_CLASS(f->code)) {
		case BPF_LD:
			m.a = sandbox_load(&m, f, d);
			break;
		case BPF_LDX:
			m.x = sandbox_load(&m, f, d);
			break;
		case BPF_ST:
			m.mem[f->k % BPF_MEMWORDS] = m.a;
			break;
		case BPF_STX:
			m.mem[f->k % BPF_MEMWORDS] = m.x;
			break;
		case BPF_ALU:
			if (BPF_OP(f->code) == BPF_DIV && !v)
				return SECCOMP_RET_KILL_THREAD;
			m.a = alu(BPF_OP(f->code), m.a, v);
			break;
		case BPF_JMP:
			i += BPF_OP(f->code) == BPF_JA	      ? f->k
			     : jumps(BPF_OP(f->code), m.a, v) ? f->jt
							      : f->jf;
			break;
		case BPF_MISC:
			if (BPF_MISCOP(f->code) == BPF_TAX)
				m.x = m.a;
			else
				m.a = m.x;
			break;
		case BPF_RET:
			return BPF_RVAL(f->code) == BPF_A ? m.a : f->k;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

/*
 * An error is a result; a signal is not, nor is a tracer or another process that decides, nor an
 * error of 0, with which nothing has happened, nor EINTR, with which a call is made again.
 */
static bool harmless(uint32_t says)
{
	uint32_t action = says & SECCOMP_RET_ACTION_FULL, error = says & SECCOMP_RET_DATA;

	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG ||
	       (action == SECCOMP_RET_ERRNO && error && error != EINTR);
}

/* What another process decides is not known. */
static bool may_pass(uint32_t says)
{
	uint32_t action = says & SECCOMP_RET_ACTION_FULL;

	return harmless(says) || action == SECCOMP_RET_TRACE ||
	       action == SECCOMP_RET_USER_NOTIF;
}

static bool may_succeed(uint32_t says)
{
	return may_pass(says) && (says & SECCOMP_RET_ACTION_FULL) != SECCOMP_RET_ERRNO;
}

static __attribute__((cold, noinline)) bool filter_all(const struct sock_fprog *prog,
							 const struct tried_call *list, int nr,
							 bool (*is_good)(uint32_t says))
{
	for (int i = 0; i < nr; i++) {
		const struct tried_call *c = &list[i];
		const struct seccomp_data d = {
			.nr = c->nr,
			.arch = SANDBOX_ARCH,
			.args = { (uint64_t)(int64_t)c->first, (uint64_t)(int64_t)c->second,
				  (uint64_t)(int64_t)c->third, (uint64_t)(int64_t)c->fourth },
		};

		if (!is_good(filter_run(prog, &d)))
			return false;
	}
	return true;
}

static __attribute__((cold)) bool filter_permits(const struct sock_fprog *prog,
						 const struct tried_call *list, int nr)
{
	return filter_all(prog, list, nr, harmless);
}

/* Whether a program that is executed can join the session, or count itself as untraced. */
static __attribute__((cold)) bool filter_begins(const struct sock_fprog *prog)
{
	return filter_all(prog, calls, NR_CALLS, may_pass) &&
	       filter_all(prog, joining, NR_JOINING, may_pass) &&
	       filter_all(prog, beginning, NR_BEGINNING, may_pass) &&
	       filter_all(prog, trying, NR_TRYING, may_succeed) &&
	       filter_all(prog, mapping, NR_MAPPING, may_succeed) &&
	       filter_all(prog, unmapping, NR_UNMAPPING, may_pass);
}

/* ---- What the program does ---- */

void agent_thread_silence(void)
{
	/* The server frees the slot when it sees that the thread has gone: no system call here. */
	agent_self.first = 1;
	agent_self.thread = NULL;
}

/* Once for a process, if it is in a session. */
static __attribute__((cold)) void strict_count(void)
{
	/* Pairs with the release in attach_start(). */
	if (atomic_load_explicit(&agent.state, memory_order_acquire) == AGENT_ON &&
	    /* Relaxed: a count. */
	    !atomic_exchange_explicit(&agent.here->strict, true, memory_order_relaxed))
		agent_untraced(UNTRACED_STRICT, 1);
}

__attribute__((cold)) void agent_sandboxed(const void *filter)
{
	/* Relaxed: see agent_restricted(). */
	atomic_store_explicit(&agent.filtered, true, memory_order_relaxed);
	sites_forbidden();
	if (!filter) {
		/* Strict mode: read, write and exit only, and no time stamp counter. */
		agent_thread_silence();
		strict_count();
		return;
	}
	/* Relaxed, all of them: see agent_restricted(). */
	if (!filter_permits(filter, calls, NR_CALLS))
		atomic_store_explicit(&agent.sandbox, true, memory_order_relaxed);
	if (!filter_permits(filter, joining, NR_JOINING))
		atomic_store_explicit(&agent.joins_not, true, memory_order_relaxed);
	if (!filter_begins(filter))
		atomic_store_explicit(&agent.begins_not, true, memory_order_relaxed);
	if (!filter_permits(filter, looking, NR_LOOKING))
		atomic_store_explicit(&agent.looks_not, true, memory_order_relaxed);
}

bool agent_restricted(void)
{
	/* Relaxed: a thread from before the sandbox may see the old value a little longer. */
	return atomic_load_explicit(&agent.sandbox, memory_order_relaxed);
}

bool agent_filtered(void)
{
	/* Relaxed: as above. */
	return atomic_load_explicit(&agent.filtered, memory_order_relaxed);
}

bool agent_start_forbidden(void)
{
	/* Relaxed: as above. */
	return atomic_load_explicit(&agent.begins_not, memory_order_relaxed);
}

bool agent_may_ask(void)
{
	return !agent_restricted() && !agent_filtered() && !agent.asks_not;
}

bool agent_may_read(void)
{
	return !agent_restricted() && !agent_filtered() && !agent.reads_not;
}

/*
 * The program may have installed a filter by an instruction of its own. What that forbids is not
 * known.
 */
static __attribute__((cold)) void unseen_look(void)
{
	if (agent.began_filtered || agent_filtered() ||
	    agent_syscall(SYS_prctl, PR_GET_SECCOMP) != SECCOMP_MODE_FILTER)
		return;
	/* Relaxed: see agent_restricted(). */
	atomic_store_explicit(&agent.filtered, true, memory_order_relaxed);
	atomic_store_explicit(&agent.looks_not, true, memory_order_relaxed);
	sites_forbidden();
}

bool agent_may_look(void)
{
	unseen_look();
	/* Relaxed: as above. */
	return !agent.asks_not &&
	       !atomic_load_explicit(&agent.looks_not, memory_order_relaxed);
}

int32_t agent_own_pid(void)
{
	if (!agent_restricted())
		return (int32_t)agent_syscall(SYS_getpid);
	return agent.here ? agent.here->own_pid : 0;
}

int32_t agent_own_tid(void)
{
	const struct agent_thread *t;

	if (!agent_restricted())
		return (int32_t)agent_syscall(SYS_gettid);
	t = agent_thread_known();
	return t ? (int32_t)t->tid : 0;
}

/* ---- A filter that was there before the program ---- */

/*
 * What a child tries: the calls by which a program counts itself as untraced, those that each
 * traced program needs, those behind agent_may_ask(), all.
 */
enum tried { TRY_COUNTING, TRY_NEEDED, TRY_ASKING, TRY_READING };

/* Without descriptors and addresses: whether they fail is not asked. */
static __attribute__((cold)) void try_list(const struct tried_call *list, int nr)
{
	for (int i = 0; i < nr; i++)
		agent_syscall(list[i].nr, list[i].first, list[i].second, list[i].third,
			      list[i].fourth, 0, 0);
}

static _Noreturn __attribute__((cold)) void try_calls(enum tried tried)
{
	try_list(mapping, NR_MAPPING);
	try_list(unmapping, NR_UNMAPPING);
	if (tried >= TRY_NEEDED) {
		try_list(calls, NR_CALLS);
		try_list(joining, NR_JOINING);
		try_list(beginning, NR_BEGINNING);
	}
	if (tried == TRY_READING)
		agent_syscall(SYS_process_vm_readv, agent_syscall(SYS_getpid), 0, 0, 0, 0, 0);
	if (tried >= TRY_ASKING) {
		try_list(looking, NR_LOOKING);
		try_list(asking, NR_ASKING);
	}
	agent_syscall(SYS_exit_group, 0);
	/* A filter may refuse that with an error. */
	agent_syscall(SYS_exit, 0);
	__builtin_trap();
}

/* A filter may answer each call with EINTR. */
__attribute__((cold)) bool agent_child_wait(long pid, int *status)
{
	for (int i = 0; pid > 0 && i < INTERRUPTED_MOST; i++) {
		const long n = agent_syscall(SYS_wait4, pid, status, __WALL, 0);

		if (n != -EINTR)
			return n == pid;
	}
	return false;
}

static __attribute__((cold)) bool survives(enum tried tried)
{
	int status = 0;
	long pid;

	/* Without a signal at its end: the program does not know of the child. */
	pid = agent_syscall(SYS_clone, 0, 0, 0, 0, 0);
	if (!pid)
		try_calls(tried);
	return agent_child_wait(pid, &status) && WIFEXITED(status);
}

bool sandbox_permits(void)
{
	agent.began_filtered = agent_syscall(SYS_prctl, PR_GET_SECCOMP) == SECCOMP_MODE_FILTER;
	if (!agent.began_filtered || survives(TRY_READING))
		return true;
	agent.reads_not = true;
	if (survives(TRY_ASKING))
		return true;
	agent.asks_not = true;
	if (survives(TRY_NEEDED))
		return true;
	/* Relaxed: the program has not begun. */
	atomic_store_explicit(&agent.sandbox, true, memory_order_relaxed);
	return survives(TRY_COUNTING);
}
