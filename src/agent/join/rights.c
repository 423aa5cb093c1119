/* SPDX-License-Identifier: MIT */
/*
 * rights.c - calls that need a process without the agent's task, where no providers are preloaded
 * (S5)
 *
 * A program that links libtracefuse joins by itself. These functions then come before libc's. The
 * library that `tracefuse run` preloads does not have them: there the providers do the same
 * (syscalls/syscalls.c). S5 is in sites/task.c.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "agent/agent.h"
#include "agent/providers/real.h"

typedef long (*rights_call)(long, long, long);
typedef long (*rights_prctl_call)(long, long, long, long, long);
typedef long (*rights_syscall_call)(long, long, long, long, long, long, long);

/* ---- Functions that are one such call ---- */

static long without_task(rights_call real, long a, long b, long c)
{
	const bool ended = agent_task_end();
	const long r = real(a, b, c);
	const int saved = errno;

	if (ended)
		agent_task_again();
	errno = saved;
	return r;
}

/*
 * All of them take three arguments or fewer, in registers, where libc's functions find them.
 * `alone` may use a and b.
 */
#define STAND_BEFORE(name, alone)								\
	REAL_FUNCTION_AS(name, rights_call);							\
	AGENT_API long rights_##name(long a, long b, long c) __asm__(#name);			\
	long rights_##name(long a, long b, long c)						\
	{											\
		const rights_call real = REAL(name);						\
												\
		return (alone) ? without_task(real, a, b, c) : real(a, b, c);			\
	}

STAND_BEFORE(setuid, true)
STAND_BEFORE(seteuid, true)
STAND_BEFORE(setreuid, true)
STAND_BEFORE(setresuid, true)
STAND_BEFORE(setgid, true)
STAND_BEFORE(setegid, true)
STAND_BEFORE(setregid, true)
STAND_BEFORE(setresgid, true)
STAND_BEFORE(setgroups, true)
STAND_BEFORE(initgroups, true)
STAND_BEFORE(umount, true)
STAND_BEFORE(umount2, true)
STAND_BEFORE(unshare, agent_call_wants_alone(SYS_unshare, (uint32_t)a, 0))
STAND_BEFORE(setns, agent_call_wants_alone(SYS_setns, 0, (uint32_t)b))

/* ---- prctl() and syscall() ---- */

REAL_FUNCTION_AS(prctl, rights_prctl_call);
REAL_FUNCTION_AS(syscall, rights_syscall_call);

static __attribute__((noinline)) long prctl_alone(long option, long a, long b, long c, long d)
{
	const bool ended = option == PR_SET_SECCOMP && agent_task_end();
	long r;
	int saved;

	if (option == PR_CAPBSET_DROP)
		agent_task_unbind();
	r = REAL(prctl)(option, a, b, c, d);
	saved = errno;
	if (!(int)r && option == PR_SET_SECCOMP)
		agent_sandboxed(a == SECCOMP_MODE_STRICT ? NULL : (const void *)b);
	if (ended)
		agent_task_again();
	errno = saved;
	return r;
}

AGENT_API long rights_prctl(long option, long a, long b, long c, long d) __asm__("prctl");
long rights_prctl(long option, long a, long b, long c, long d)
{
	option = (int)option;
	if (__builtin_expect(option != PR_SET_SECCOMP && option != PR_CAPBSET_DROP, 1))
		return REAL(prctl)(option, a, b, c, d);
	return prctl_alone(option, a, b, c, d);
}

static __attribute__((noinline)) long syscall_alone(long nr, const long *args)
{
	const bool ended = agent_task_end();
	const long r = REAL(syscall)(nr, args[0], args[1], args[2], args[3], args[4], args[5]);
	const int saved = errno;

	if (nr == SYS_seccomp && agent_seccomp_done(r, (uint64_t)args[0], (uint64_t)args[1]))
		agent_sandboxed(args[0] == SECCOMP_SET_MODE_STRICT ? NULL : (const void *)args[2]);
	if (ended)
		agent_task_again();
	errno = saved;
	return r;
}

/*
 * Calls that return twice or never are passed on by a tail call: this function has no frame then.
 */
AGENT_API long rights_syscall(long, long, long, long, long, long, long) __asm__("syscall");
long rights_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	if (__builtin_expect(nr == SYS_prctl, 0))
		return (int)rights_prctl(a, b, c, d, e);
	if (__builtin_expect(!agent_call_wants_alone(nr, (uint64_t)a, (uint64_t)b), 1))
		return REAL(syscall)(nr, a, b, c, d, e, f);
	return syscall_alone(nr, (const long[]){ a, b, c, d, e, f });
}
