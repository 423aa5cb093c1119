/* SPDX-License-Identifier: MIT */
/*
 * task.c - the agent's task in a program with sites: it switches sites as the server says, and ends
 * with the program
 *
 *     task_begin() -> wait for site_control.command -> sites_obey() -> ...
 *     agent_task_end(), agent_task_again()
 *
 * S2  clone() makes the task, without libc: it begins before libc's own constructor,
 *     and in a child of fork() at its first hit, which may be inside malloc. Its
 *     thread area is zeros, from which the guard sees that it is in no hit. It
 *     calls no function of libc. All signals but the guard's SIGBUS are blocked in
 *     it: the kernel delivers a signal of the process to any thread that does not
 *     block it.
 * S4  A process ends when its last thread does: by exit_group(), or thread by thread by SYS_exit,
 *     which may be all that a seccomp sandbox allows. The task must not be the last thread. Once a
 *     second it looks at the word that the kernel clears when the first thread has ended, and only
 *     after that at the number of threads. A child of clone() need not have such a word: then it
 *     always looks at the number. The exit status of such a process is its last thread's. If that
 *     is the task, it exits with the first thread's status.
 * S5  The task has no rights: no capability, no descriptor, and a filter of its own that permits a
 *     few calls (shed.c). The thread that begins it waits for that. So it has nothing to give up
 *     when the program gives up rights. The kernel refuses some calls,
 *     such as unshare(CLONE_NEWUSER), to a process with several threads, and /proc shows the user
 *     of each thread. So the task ends before such calls and begins again after them (rights.c,
 *     agent/providers/syscalls/syscalls.c).
 * S6  A child of fork() that has had no hit is not attached, and its task cannot attach it. The
 *     task obeys commands but sends no answer: the server does not know the child yet. The first
 *     hit attaches the child, and it obeys again.
 * S7  A process whose children go into another pid name space may make no thread (EINVAL). If such
 *     a process has had to end its task, as for unshare(CLONE_NEWUSER | CLONE_NEWPID), it goes on
 *     without one: its functions stay as they are, and those of its children are switched. The
 *     call cannot be made in two steps: between them the program may lack the rights for the
 *     second (AppArmor), and if that fails, the first cannot be undone.
 */
#include <errno.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include "agent/sites/state.h"
#include "agent/syscall.h"

/* entry.S: clone() of a task that runs fn() on that stack and then ends. -> its id or -errno */
long patch_clone(unsigned long flags, void *stack, void (*fn)(void), void *area);

enum {
	TASK_STACK = 65536,
	/* fields of /proc/PID/stat */
	STAT_STATE = 3, STAT_THREADS = 20, STAT_EXIT_CODE = 52,
	/* Without CLONE_FS: setns() refuses threads that share their directories. */
	TASK_FLAGS = CLONE_VM | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
		     CLONE_SETTLS,
};

/* ---- S4 ---- */

/* The kernel's word for the first thread: 0 when that has ended. NULL: there is none. */
static const uint32_t *leader_tid;

static void leader_look(void)
{
	leader_tid = NULL;
	if (agent_syscall(SYS_gettid) == agent_syscall(SYS_getpid))
		agent_syscall(SYS_prctl, PR_GET_TID_ADDRESS, &leader_tid);
}

/* Field number nr of a line of /proc/PID/stat; it comes after the name. */
static const char *stat_field(const char *text, unsigned int nr)
{
	const char *at = text;

	for (const char *c = text; *c; c++)
		at = *c == ')' ? c : at;
	for (unsigned int field = 2; *at && field < nr; at++)
		field += *at == ' ';
	return at;
}

static unsigned int number_at(const char *text)
{
	unsigned int n = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		n = n * 10 + (unsigned int)(*text - '0');
	return n;
}

/* S5 */
static struct {
	void		*at;		/* its stack and thread area */
	size_t		size;
	long		process;	/* the process that it belongs to */
	int		stat_fd;	/* in its own table; -1: stat_read() opens one */
	int		err;		/* it could not give up its rights, and has ended */
	_Atomic uint32_t ready;		/* it has given up its rights, or failed to */
	_Atomic bool	goes;
} task_now;

/* A line of /proc/PID/stat; empty: it cannot be read. */
static void stat_read(char *text, size_t size)
{
	int fd = task_now.stat_fd >= 0 ? task_now.stat_fd : task_stat_open();
	long n = agent_syscall(SYS_pread64, fd, text, size - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0 && fd != task_now.stat_fd)
		agent_syscall(SYS_close, fd);
}

/*
 * If only the first thread, which has ended, and the task are left: ends the process with the first
 * thread's status.
 */
static __attribute__((cold)) void leave_last(void)
{
	char text[1024];

	stat_read(text, sizeof(text));
	if (*stat_field(text, STAT_STATE) == 'Z' && number_at(stat_field(text, STAT_THREADS)) == 2)
		agent_syscall(SYS_exit, number_at(stat_field(text, STAT_EXIT_CODE)) >> 8);
}

static void leave_if_last(void)
{
	/* Relaxed: the kernel's word, looked at again in a second. */
	if (!leader_tid || !__atomic_load_n(leader_tid, __ATOMIC_RELAXED))
		leave_last();
}

/* Waits for a command. False: there will be none. */
static bool command_await(const struct site_control *c, uint32_t command)
{
	const struct timespec second = { .tv_sec = 1 };
	long err = agent_syscall(SYS_futex, &c->command, FUTEX_WAIT, command, &second);

	if (err == -ETIMEDOUT) {
		leave_if_last();
		if (sites.plants)
			guard_leads();	/* the program may have set its own handler */
	}
	/* EFAULT: the memory is gone, so no command can come. */
	return err != -EFAULT;
}

static bool task_is_asked_to_go(void)
{
	/* Relaxed: the thread that asks waits until the task has gone. */
	return atomic_load_explicit(&task_now.goes, memory_order_relaxed);
}

static void task_is_ready(void)
{
	/* Pairs with the acquire in ready_await(). */
	atomic_store_explicit(&task_now.ready, 1, memory_order_release);
	agent_syscall(SYS_futex, &task_now.ready, FUTEX_WAKE_PRIVATE, 1);
}

/*
 * The thread that began the task may have stopped waiting: then nobody else stores the error. Or it
 * has not stored the task's number yet: then it finds the error after that.
 */
static void task_failed(void)
{
	/* Relaxed: the number says which task to end, and this one ends by itself. */
	atomic_store_explicit(&agent.here->task, 0, memory_order_relaxed);
	sites_note_failure(task_now.err);
}

static void task(void)
{
	const struct site_control *c = sites_control();

	/* What it calls is no hit, also if the functions of libc have sites. */
	agent_self.first = 1;
	agent_syscall(SYS_prctl, PR_SET_NAME, "tracefuse");
	/* A directory that the program has left must not stay busy because of the task. */
	agent_syscall(SYS_chdir, "/");
	task_now.err = task_shed(&task_now.stat_fd);
	if (task_now.err)
		task_failed();
	task_is_ready();
	if (task_now.err)
		return;
	/* Relaxed: the state only says when to end. */
	while (atomic_load_explicit(&agent.state, memory_order_relaxed) != AGENT_DETACHED &&
	       !task_is_asked_to_go()) {
		uint32_t done = atomic_load_explicit(&sites.command, memory_order_relaxed);
		uint32_t command = atomic_load_explicit(&c->command, memory_order_relaxed);

		if (command == done) {
			if (!command_await(c, command))
				break;
		} else {
			sites_lock();
			if (!agent_attached())
				sites_look_again();
			sites_obey();
			sites_unlock();
		}
	}
}

/* ---- Beginning and ending ---- */

/* S2. The memory: stack, thread area (it grows downwards), its head. -> what clone() returned */
static long task_make(void (*fn)(void))
{
	uint64_t most = ~(1ull << (SIGBUS - 1)), old = 0;
	uintptr_t self = (uintptr_t)&agent_self, area;
	long at;

	/* The linker cannot relax a subtraction of it. */
	__asm__("" : "+r"(self));
	area = (uintptr_t)__builtin_thread_pointer() - self;
	area = TASK_STACK + ((area + 63) & ~63ul);
	at = agent_syscall(SYS_mmap, 0, area + 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (is_error(at))
		return at;
	area += (uintptr_t)at;
	*(uintptr_t *)area = area;
	task_now.at = (void *)at;
	task_now.size = area + 4096 - (uintptr_t)at;
	task_now.process = agent_syscall(SYS_getpid);
	/*
	 * The task inherits the mask. If the creator blocks SIGBUS, that stays so: one may be
	 * pending.
	 */
	agent_syscall(SYS_rt_sigprocmask, SIG_BLOCK, &most, &old, sizeof(most));
	at = patch_clone(TASK_FLAGS, (char *)at + TASK_STACK, fn, (void *)area);
	signals_restore(old);
	return at;
}

/*
 * Waits a second at most: to close the task's copies of descriptors may take as long as a file
 * system takes.
 */
static void ready_await(void)
{
	const struct timespec second = { .tv_sec = 1 };
	long err = 0;

	/* Pairs with the release in task_is_ready(). */
	while (err != -ETIMEDOUT && !atomic_load_explicit(&task_now.ready, memory_order_acquire))
		err = agent_syscall(SYS_futex, &task_now.ready, FUTEX_WAIT_PRIVATE, 0, &second);
}

void task_begin(void)
{
	long tid;

	/* Relaxed: the process begins, or this thread has ended the task: this thread is alone. */
	if (sites_quiet() || atomic_load_explicit(&agent.here->task, memory_order_relaxed))
		return;
	/* Relaxed: fork() may have copied a request to go; the new task does not run yet. */
	atomic_store_explicit(&task_now.goes, false, memory_order_relaxed);
	atomic_store_explicit(&task_now.ready, 0, memory_order_relaxed);
	task_now.err = 0;
	leader_look();
	tid = task_make(task);
	/* Relaxed: as above. */
	atomic_store_explicit(&agent.here->task, tid > 0 ? (int32_t)tid : 0, memory_order_relaxed);
	if (tid <= 0) {
		sites_fail(tid == -EINVAL ? SITE_TASKLESS : (int)tid);	/* S7 */
		return;
	}
	sites.failed = 0;
	ready_await();
	if (task_now.err) {
		/* Relaxed: as above. */
		atomic_store_explicit(&agent.here->task, 0, memory_order_relaxed);
		sites_fail(task_now.err);
	}
}

/* Waits a second at most. -> whether the task has gone, for the kernel, too */
static bool task_gone(long tid)
{
	const struct timespec pause = { .tv_nsec = 100000 };
	const long process = agent_syscall(SYS_getpid);

	for (int i = 0; i < 10000; i++) {
		if (agent_syscall(SYS_tgkill, process, tid, 0) == -ESRCH)
			return true;
		/* It may have begun to wait only now. */
		agent_syscall(SYS_futex, &sites_control()->command, FUTEX_WAKE, INT32_MAX);
		if (i)
			agent_syscall(SYS_nanosleep, &pause, 0);
	}
	return false;
}

bool agent_task_end(void)
{
	int32_t tid;

	if (agent_join_now)
		agent_join_now();
	/*
	 * A child of vfork() has the memory of its parent, whose task this is; a child of fork()
	 * need not have said HELLO. Relaxed: only the value counts.
	 */
	if (atomic_load_explicit(&agent.state, memory_order_relaxed) != AGENT_ON ||
	    agent_restricted() || agent_filtered() || agent_syscall(SYS_getpid) != task_now.process)
		return false;
	/* Relaxed: only one thread takes the number. */
	tid = atomic_exchange_explicit(&agent.here->task, 0, memory_order_relaxed);
	if (!tid)
		return false;
	/* Relaxed: the wake in task_gone() is a system call. */
	atomic_store_explicit(&task_now.goes, true, memory_order_relaxed);
	if (task_gone(tid)) {
		agent_syscall(SYS_munmap, task_now.at, task_now.size);
		return true;
	}
	/* Relaxed: the task goes on. */
	atomic_store_explicit(&task_now.goes, false, memory_order_relaxed);
	atomic_store_explicit(&agent.here->task, tid, memory_order_relaxed);
	return false;
}

void agent_task_again(void)
{
	uint64_t old;

	if (sites_quiet())
		return;		/* not even the mask may be changed */
	old = signals_block();
	task_begin();
	signals_restore(old);
}

void agent_task_unbind(void)
{
	if (sites.unbound)
		return;
	sites.unbound = true;
	if (agent_task_end())
		agent_task_again();
}

/* ---- Calls that need a process without the task (S5) ---- */

bool agent_call_wants_alone(long nr, uint64_t a, uint64_t b)
{
	switch (nr) {
	case SYS_unshare:
		/*
		 * A process whose children go into another pid name space cannot make threads.
		 */
		return a & ~(uint64_t)CLONE_NEWPID;
	case SYS_setns:
		return b != CLONE_NEWPID;
	case SYS_seccomp:
		return a == SECCOMP_SET_MODE_STRICT || a == SECCOMP_SET_MODE_FILTER;
	case SYS_prctl:
		return a == PR_SET_SECCOMP;
	case SYS_umount2:
		return true;
	case SYS_setuid: case SYS_setgid: case SYS_setreuid: case SYS_setregid: case SYS_setresuid:
	case SYS_setresgid: case SYS_setgroups: case SYS_setfsuid: case SYS_setfsgid:
		/*
		 * By syscall() a thread changes only its own user. If it is the only thread, that
		 * is the process's.
		 */
		return sites_one_thread();
	default:
		return false;
	}
}

/* ---- Whether there may be one ---- */

static void nothing(void)
{
}

/* Runs in a process of its own, which a sandbox may end: makes the calls of the agent's task. */
static void try_calls(bool patch)
{
	long at = agent_syscall(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char in_core;
	uint32_t word = 0;
	int fd;

	if (is_error(at) || agent_syscall(SYS_mincore, at, 4096, &in_core) ||
	    agent_syscall(SYS_futex, &word, FUTEX_WAKE, 1))
		agent_syscall(SYS_exit_group, 1);
	agent_syscall(SYS_prctl, PR_SET_NAME, "tracefuse");
	agent_syscall(SYS_chdir, "/");
	if (task_make(nothing) < 0 ||
	    (patch && (!patch_live() ||
		       agent_syscall(SYS_mprotect, at, 4096, PROT_READ | PROT_EXEC))))
		agent_syscall(SYS_exit_group, 1);
	/* If they are refused, pages are changed in place: X3 of pages.h. */
	agent_syscall(SYS_madvise, at, 4096, MADV_KEEPONFORK);
	agent_syscall(SYS_mremap, at, 4096, 4096, MREMAP_MAYMOVE);
	agent_syscall(SYS_munmap, at, 4096);
	if (task_shed(&fd))
		agent_syscall(SYS_exit_group, 1);
	for (;;)
		agent_syscall(SYS_exit, 0);
}

__attribute__((cold)) bool task_permitted(bool patch)
{
	int status = 0;
	long pid;

	if (!agent_syscall(SYS_prctl, PR_GET_SECCOMP))
		return true;
	pid = agent_syscall(SYS_clone, 0, 0, 0, 0, 0);
	if (!pid)
		try_calls(patch);
	return agent_child_wait(pid, &status) && !status;
}
