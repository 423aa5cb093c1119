/* SPDX-License-Identifier: MIT */
/*
 * syscalls.c - the functions of libc that are one system call each
 *
 * Each interposer passes six registers on, whatever the function's arguments are.
 * On this architecture a function with fewer arguments, or with `...`, finds them
 * in the same registers. So all interposers differ only in their row of libc.h
 * (x86_64/calls.S):
 *
 *     the row's two events not armed  ->  jump to libc's function
 *     else                            ->  call_record()
 *
 * libc.h describes how the kernel's arguments are made from the function's.
 */
#include <fcntl.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/providers/syscalls/gates.h"
#include "agent/providers/syscalls/syscalls.h"

/* Where one of the kernel's arguments comes from: see libc.h. */
enum call_arg {
	P0, P1, P2, P3, P4, P5,
	I0 = 8, I1, I2, I3, I4, I5,
	Z = 16, M1, CWD, NOFOLLOW, EMPTY, EMPTY_PATH, SIGSET,
	MODE2, MODE3,		/* of open(): only if the flags before it require one */
	ATTR3,			/* of mq_open(): the same */
	SEMUN3,			/* of semctl(): only for commands that have one */
	FIFO1, FIFO2,		/* a mode, as mkfifo() completes it */
	NAME0,			/* of mq_open(): without the slash */
	ENVIRON,
};

enum call_result_kind { RESULT_INT, RESULT_LONG, RESULT_ID, RESULT_ERRNO, RESULT_NONE };

struct call {
	uint8_t		result;	/* enum call_result_kind */
	uint8_t		args[6];
};

typedef long (*call_function)(long, long, long, long, long, long);

#define ALIAS(name, function)
#define CALL(function, call, result, ...) ROW_##function,
enum {
#include "agent/providers/syscalls/libc.h"
	ROWS
};
#undef CALL

#define CALL(function, call, result, ...) { RESULT_##result, { __VA_ARGS__ } },
static const struct call calls[ROWS] = {
#include "agent/providers/syscalls/libc.h"
};
#undef CALL

/* For calls.S: the first of the two events, and libc's function. */
#define CALL(function, call, result, ...) PROVIDER_SYSCALLS + 2 * SYSCALL_##call,
const uint16_t call_events[ROWS] = {
#include "agent/providers/syscalls/libc.h"
};
#undef CALL

extern call_function call_functions[ROWS];

#define CALL(function, call, result, ...) \
	[ROW_##function] = { .name = #function },
static struct real_function call_reals[ROWS] IN_REAL_FUNCTIONS = {
#include "agent/providers/syscalls/libc.h"
};
#undef CALL

static void call_find(unsigned int row)
{
	/* Relaxed: each thread stores the same. */
	if (!__atomic_load_n(&call_functions[row], __ATOMIC_RELAXED))
		__atomic_store_n(&call_functions[row],
				 (call_function)real_found(&call_reals[row]), __ATOMIC_RELAXED);
}

static uint64_t open_mode(long flags, long mode)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? (uint32_t)mode : 0;
}

static uint64_t semctl_arg(long command, long arg)
{
	switch ((int)command) {
	case GETVAL: case GETPID: case GETNCNT: case GETZCNT: case IPC_RMID:
		return 0;
	default:
		return arg;
	}
}

static uint64_t call_arg(enum call_arg arg, const long *a)
{
	if (arg < I0)
		return a[arg];
	if (arg < Z)
		return (uint32_t)a[arg - I0];
	switch (arg) {
	case M1: return (uint32_t)-1;
	case CWD: return (uint32_t)AT_FDCWD;
	case NOFOLLOW: return AT_SYMLINK_NOFOLLOW;
	case EMPTY: return (uintptr_t)"";
	case EMPTY_PATH: return AT_EMPTY_PATH;
	case SIGSET: return 8;
	case MODE2: return open_mode(a[1], a[2]);
	case MODE3: return open_mode(a[2], a[3]);
	case ATTR3: return a[1] & O_CREAT ? a[3] : 0;
	case SEMUN3: return semctl_arg(a[2], a[3]);
	case FIFO1: return (uint32_t)a[1] | S_IFIFO;
	case FIFO2: return (uint32_t)a[2] | S_IFIFO;
	case NAME0: return a[0] + 1;
	case ENVIRON: return (uintptr_t)environ;
	default: return 0;
	}
}

static int64_t result_of(enum call_result_kind kind, long r)
{
	switch (kind) {
	case RESULT_INT: return call_result((int)r);
	case RESULT_LONG: return call_result(r);
	case RESULT_ID: return (uint32_t)r;
	case RESULT_ERRNO: return -(int)r;
	default: return 0;
	}
}

long call_record(long a, long b, long c, long d, long e, long f, unsigned int row, void *ret);

/*
 * `ret` is the return address of the interposer. The interposers have no frame, so the
 * frame pointer found here is still the program's: both make a frame for the stack
 * trace to begin with.
 */
long call_record(long a, long b, long c, long d, long e, long f, unsigned int row, void *ret)
{
	const void *frame[2] = { *(void **)__builtin_frame_address(0), ret };
	const unsigned int index = (call_events[row] - PROVIDER_SYSCALLS) / 2;
	const long args[6] = { a, b, c, d, e, f };
	const struct call *call = &calls[row];
	long r;

	call_find(row);
	if (call_armed(index)) {
		uint64_t kernel[6];

		for (unsigned int i = 0; i < 6; i++)
			kernel[i] = call_arg(call->args[i], args);
		call_enter(index, kernel, frame);
	}
	r = call_functions[row](a, b, c, d, e, f);
	if (call_armed(index))
		call_exit(index, result_of(call->result, r), frame);
	return r;
}

/* ---- Calls that need a process without the agent's task (S5 of agent/sites/task.c) ---- */

#define ALONE(X)										\
	X(setuid) X(seteuid) X(setreuid) X(setresuid) X(setgid) X(setegid) X(setregid)		\
	X(setresgid) X(setgroups) X(setfsuid) X(setfsgid) X(unshare) X(setns) X(umount) X(umount2) \
	X(chroot) X(mount) X(pivot_root)

#define X(function) ALONE_##function,
enum { ALONE(X) NR_ALONE };
#undef X

#define X(function) REAL_FUNCTION_AS(function, call_function);
ALONE(X)
#undef X

/* setfsuid() changes only the calling thread in libc, too. */
static bool row_wants_alone(unsigned int which, long a, long b)
{
	switch (which) {
	case ALONE_unshare:
		return agent_call_wants_alone(SYS_unshare, (uint32_t)a, 0);
	case ALONE_setns:
		return agent_call_wants_alone(SYS_setns, 0, (uint32_t)b);
	case ALONE_setfsuid: case ALONE_setfsgid:
		return agent_call_wants_alone(SYS_setfsuid, 0, 0);
	/* These are here to join first: behind them the session may be out of reach. */
	case ALONE_chroot: case ALONE_mount: case ALONE_pivot_root:
		return false;
	default:
		return true;
	}
}

static long call_alone(unsigned int which, call_function real, const long a[5])
{
	bool ended;
	int saved;
	long r;

	agent_join_now();
	ended = row_wants_alone(which, a[0], a[1]) && agent_task_end();
	r = real(a[0], a[1], a[2], a[3], a[4], 0);
	saved = errno;
	if (ended)
		agent_task_again();
	errno = saved;
	return r;
}

#define X(function)										\
	static long alone_##function(long a, long b, long c, long d, long e, long f)		\
	{											\
		const long args[] = { a, b, c, d, e };						\
												\
		return call_alone(ALONE_##function, REAL(function), args);			\
	}
ALONE(X)
#undef X

/* ---- Signal handlers with an alternate stack ---- */

REAL_FUNCTION_AS(sigaltstack, call_function);

/* The first call runs real_find_all(). */
static long first_sigaltstack(long a, long b, long c, long d, long e, long f)
{
	real_find_all();
	for (unsigned int row = 0; row < ROWS; row++)
		call_find(row);
	/* Relaxed: each thread stores the same. */
	__atomic_store_n(&call_functions[ROW_sigaltstack], REAL(sigaltstack), __ATOMIC_RELAXED);
	return REAL(sigaltstack)(a, b, c, d, e, f);
}

#define X(function) [ROW_##function] = alone_##function,
call_function call_functions[ROWS] = { ALONE(X) [ROW_sigaltstack] = first_sigaltstack };
#undef X

/* ---- Recording ---- */

/* 1 + the number of arguments, once it has been counted. */
static _Atomic uint8_t nr_args[SYSCALL_COUNT];

static unsigned int args_of(unsigned int call)
{
	/* Relaxed: a thread that sees a 0 counts once more. */
	unsigned int n = atomic_load_explicit(&nr_args[call], memory_order_relaxed);

	if (!n) {
		n = 1 + syscall_nr_args(call);
		/* Relaxed: each thread stores the same. */
		atomic_store_explicit(&nr_args[call], n, memory_order_relaxed);
	}
	return n - 1;
}

void call_enter_own(unsigned int call, const uint64_t *args, const void *frame)
{
	unsigned int n = args_of(call);
	struct syscall_enter_record r;
	struct agent_thread *t;

	if (!provider_armed(call_enter_event(call)))
		return;
	t = agent_enter();
	if (!t)
		return;
	if (__builtin_expect(call_texts_wanted() && syscall_texts(call)->args, 0)) {
		call_texts_emit(t, call, args, n, call_texts_wanted() - 1, frame);
		agent_leave(t);
		return;
	}
	r.nr = syscall_numbers[call];
	r.pad = 0;
	for (unsigned int i = 0; i < n; i++)
		r.args[i] = args[i];
	provider_emit(t, call_enter_event(call), &r,
		      offsetof(struct syscall_enter_record, args) + 8 * n, frame);
	agent_leave(t);
}

void call_exit_own(unsigned int call, int64_t ret, const void *frame)
{
	struct syscall_exit_record r = { .nr = syscall_numbers[call], .ret = ret };
	struct agent_thread *t;

	if (!provider_armed(call_exit_event(call)))
		return;
	t = agent_enter();
	if (!t)
		return;
	provider_emit(t, call_exit_event(call), &r, sizeof(r), frame);
	agent_leave(t);
}

void call_enter(unsigned int call, const uint64_t *args, const void *frame)
{
	if (!gates_see() && !(call_asked(call) && gates_may_try() && gates_try()))
		call_enter_own(call, args, frame);
}

void call_exit(unsigned int call, int64_t ret, const void *frame)
{
	if (!gates_see())
		call_exit_own(call, ret, frame);
}

/* ---- For heap.c and thread.c (hooks.h) ---- */

bool syscall_wanted(long nr)
{
	unsigned int index = syscall_index(nr);

	return index && call_armed(index - 1);
}

void syscall_enter_own(long nr, const uint64_t args[6], const void *frame)
{
	unsigned int index = syscall_index(nr);

	if (index)
		call_enter_own(index - 1, args, frame);
}

void syscall_exit_own(long nr, long ret, const void *frame)
{
	unsigned int index = syscall_index(nr);

	if (index)
		call_exit_own(index - 1, ret, frame);
}

void syscall_enter(long nr, const uint64_t args[6], const void *frame)
{
	unsigned int index = syscall_index(nr);

	if (index)
		call_enter(index - 1, args, frame);
}

void syscall_exit(long nr, long ret, const void *frame)
{
	unsigned int index = syscall_index(nr);

	if (index)
		call_exit(index - 1, ret, frame);
}
