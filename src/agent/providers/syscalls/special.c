/* SPDX-License-Identifier: MIT */
/*
 * special.c - system calls whose arguments or result libc.h cannot describe
 *
 *   syscall()            by its number; futex and prctl also belong to the thread events, limits to
 *                        limits.c
 *   initgroups()         makes several calls
 *   mprotect()           the agent notes code that becomes writable
 *   _exit()              functions that have not returned are left
 *   getcwd()             the kernel returns a length
 *   getpriority()        the kernel returns 20 - nice value
 *   sigwait()            the kernel returns the signal
 *   __recvfrom_chk()     has seven arguments
 */
#include <grp.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "agent/providers/syscalls/syscalls.h"

/* ---- syscall() ---- */

typedef long (*real_syscall_call)(long, long, long, long, long, long, long);

REAL_FUNCTION_AS(syscall, real_syscall_call);

/* Calls that return twice, or never: they cannot return through a frame of ours. */
static bool no_return(long nr, long flags)
{
	return nr == SYS_rt_sigreturn || nr == SYS_vfork || nr == SYS_clone3 ||
	       (nr == SYS_clone && flags & CLONE_VM);
}

static bool others_want(long nr, long a, long b)
{
	return nr == SYS_mprotect || nr == SYS_pkey_mprotect ||
	       (nr == SYS_futex && thread_wanted()) || nr == SYS_seccomp || limits_takes(nr) ||
	       (nr == SYS_prctl && (a == PR_SET_NAME || thread_restricts(a))) ||
	       agent_call_wants_alone(nr, (uint64_t)a, (uint64_t)b);
}

/* Behind these the session may be out of the program's or a child's reach. */
static bool leads_away(long nr, long flags)
{
	return nr == SYS_chroot || nr == SYS_mount || nr == SYS_move_mount ||
	       nr == SYS_pivot_root || nr == SYS_clone3 ||
	       (nr == SYS_clone && flags & (CLONE_NEWUSER | CLONE_NEWNS));
}

static long syscall_record(long nr, const uint64_t *args, const void *call_site, const void *frame)
{
	bool futex = nr == SYS_futex && thread_wanted(),
	     ended = agent_call_wants_alone(nr, args[0], args[1]) && agent_task_end();
	int64_t result;
	long r;

	if (nr == SYS_prctl && args[0] == PR_CAPBSET_DROP)
		agent_task_unbind();
	if ((nr == SYS_mprotect || nr == SYS_pkey_mprotect) && args[2] & PROT_WRITE)
		agent_code_written((const void *)args[0], args[1], (int)args[2]);
	if (limits_takes(nr))
		syscall_enter_own(nr, args, frame);
	else
		syscall_enter(nr, args, frame);
	if (futex)
		thread_futex_enter(args, call_site, frame);
	if (limits_takes(nr))
		r = limits_syscall(nr, args);
	else
		r = REAL(syscall)(nr, args[0], args[1], args[2], args[3], args[4], args[5]);
	result = call_result(r);
	if (futex)
		thread_futex_exit(args, result, call_site, frame);
	if (nr == SYS_prctl && args[0] == PR_SET_NAME && !result)
		thread_named(frame);
	if (nr == SYS_prctl && !result)
		thread_restricted((long)args[0], args[1], args[2]);
	if (nr == SYS_seccomp && agent_seccomp_done(result, args[0], args[1]))
		thread_restricted(PR_SET_SECCOMP, args[0] == SECCOMP_SET_MODE_STRICT
				  ? SECCOMP_MODE_STRICT : SECCOMP_MODE_FILTER, args[2]);
	if (ended)
		agent_task_again();
	if (limits_takes(nr))
		syscall_exit_own(nr, result, frame);
	else
		syscall_exit(nr, result, frame);
	return r;
}

INTERPOSE long call_syscall(long, long, long, long, long, long, long) __asm__("syscall");

long call_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	if (__builtin_expect(leads_away(nr, a), 0))
		agent_join_now();
	if (__builtin_expect(!syscall_wanted(nr) && !others_want(nr, a, b), 1))
		return REAL(syscall)(nr, a, b, c, d, e, f);
	if (no_return(nr, a)) {
		syscall_enter(nr, (uint64_t[]){ a, b, c, d, e, f }, CALL_FRAME);
		return REAL(syscall)(nr, a, b, c, d, e, f);
	}
	return syscall_record(nr, (uint64_t[]){ a, b, c, d, e, f }, CALL_SITE, CALL_FRAME);
}

/* ---- Rights ---- */

REAL_FUNCTION(initgroups);

/* Its setgroups() is inside libc. */
INTERPOSE int initgroups(const char *user, gid_t group)
{
	const bool ended = agent_task_end();
	const int r = REAL(initgroups)(user, group), saved = errno;

	if (ended)
		agent_task_again();
	errno = saved;
	return r;
}

/* ---- Permissions of memory ---- */

REAL_FUNCTION(mprotect);
REAL_FUNCTION(pkey_mprotect);

INTERPOSE int mprotect(void *addr, size_t len, int prot)
{
	int r;

	if (prot & PROT_WRITE)
		agent_code_written(addr, len, prot);
	if (!call_armed(SYSCALL_mprotect))
		return REAL(mprotect)(addr, len, prot);
	call_enter(SYSCALL_mprotect, (uint64_t[]){ (uintptr_t)addr, len, (uint32_t)prot },
		   CALL_FRAME);
	r = REAL(mprotect)(addr, len, prot);
	call_exit(SYSCALL_mprotect, call_result(r), CALL_FRAME);
	return r;
}

INTERPOSE int pkey_mprotect(void *addr, size_t len, int prot, int pkey)
{
	int r;

	if (prot & PROT_WRITE)
		agent_code_written(addr, len, prot);
	if (!call_armed(SYSCALL_pkey_mprotect))
		return REAL(pkey_mprotect)(addr, len, prot, pkey);
	call_enter(SYSCALL_pkey_mprotect,
		   (uint64_t[]){ (uintptr_t)addr, len, (uint32_t)prot, (uint32_t)pkey },
		   CALL_FRAME);
	r = REAL(pkey_mprotect)(addr, len, prot, pkey);
	call_exit(SYSCALL_pkey_mprotect, call_result(r), CALL_FRAME);
	return r;
}

/* ---- _exit() ---- */

REAL_FUNCTION_AS(_exit, void (*)(int));
INTERPOSE _Noreturn void call_process_exit(int status) __asm__("_exit");
INTERPOSE _Noreturn void call_process_Exit(int status) __asm__("_Exit")
	__attribute__((alias("_exit")));

_Noreturn void call_process_exit(int status)
{
	agent_process_exits();
	if (call_armed(SYSCALL_exit_group))
		call_enter(SYSCALL_exit_group, (uint64_t[]){ (uint32_t)status }, CALL_FRAME);
	for (;;)
		REAL(_exit)(status);
}

/* ---- Results of another kind ---- */

REAL_FUNCTION(getcwd);

INTERPOSE char *getcwd(char *buf, size_t size)
{
	char *r;

	if (!call_armed(SYSCALL_getcwd))
		return REAL(getcwd)(buf, size);
	call_enter(SYSCALL_getcwd, (uint64_t[]){ (uintptr_t)buf, size }, CALL_FRAME);
	r = REAL(getcwd)(buf, size);
	call_exit(SYSCALL_getcwd, r ? (int64_t)strlen(r) + 1 : -errno, CALL_FRAME);
	return r;
}

typedef char *(*real_getcwd_chk)(char *, size_t, size_t);
REAL_FUNCTION_AS(__getcwd_chk, real_getcwd_chk);
INTERPOSE char *__getcwd_chk(char *buf, size_t size, size_t buflen);

char *__getcwd_chk(char *buf, size_t size, size_t buflen)
{
	char *r;

	if (!call_armed(SYSCALL_getcwd))
		return REAL(__getcwd_chk)(buf, size, buflen);
	call_enter(SYSCALL_getcwd, (uint64_t[]){ (uintptr_t)buf, size }, CALL_FRAME);
	r = REAL(__getcwd_chk)(buf, size, buflen);
	call_exit(SYSCALL_getcwd, r ? (int64_t)strlen(r) + 1 : -errno, CALL_FRAME);
	return r;
}

/* -1 may be a nice value: only errno shows an error. */
typedef int (*real_getpriority_call)(int, id_t);
REAL_FUNCTION_AS(getpriority, real_getpriority_call);
INTERPOSE int call_getpriority(int which, id_t who) __asm__("getpriority");

int call_getpriority(int which, id_t who)
{
	int r, old = errno;
	bool failed;

	if (!call_armed(SYSCALL_getpriority))
		return REAL(getpriority)(which, who);
	call_enter(SYSCALL_getpriority, (uint64_t[]){ (uint32_t)which, who }, CALL_FRAME);
	errno = 0;
	r = REAL(getpriority)(which, who);
	failed = r == -1 && errno;
	call_exit(SYSCALL_getpriority, failed ? -errno : 20 - r, CALL_FRAME);
	if (!failed)
		errno = old;
	return r;
}

REAL_FUNCTION(sigwait);

INTERPOSE int sigwait(const sigset_t *set, int *sig)
{
	int r;

	if (!call_armed(SYSCALL_rt_sigtimedwait))
		return REAL(sigwait)(set, sig);
	call_enter(SYSCALL_rt_sigtimedwait, (uint64_t[]){ (uintptr_t)set, 0, 0, 8 }, CALL_FRAME);
	r = REAL(sigwait)(set, sig);
	call_exit(SYSCALL_rt_sigtimedwait, r ? -r : *sig, CALL_FRAME);
	return r;
}

/* ---- Arguments of another kind ---- */

typedef ssize_t (*real_recvfrom_chk)(int, void *, size_t, size_t, int, struct sockaddr *,
				     socklen_t *);
REAL_FUNCTION_AS(__recvfrom_chk, real_recvfrom_chk);
INTERPOSE ssize_t __recvfrom_chk(int fd, void *buf, size_t n, size_t buflen, int flags,
				 struct sockaddr *addr, socklen_t *len);

ssize_t __recvfrom_chk(int fd, void *buf, size_t n, size_t buflen, int flags, struct sockaddr *addr,
		       socklen_t *len)
{
	ssize_t r;

	if (!call_armed(SYSCALL_recvfrom))
		return REAL(__recvfrom_chk)(fd, buf, n, buflen, flags, addr, len);
	call_enter(SYSCALL_recvfrom, (uint64_t[]){ (uint32_t)fd, (uintptr_t)buf, n, (uint32_t)flags,
		   (uintptr_t)addr, (uintptr_t)len }, CALL_FRAME);
	r = REAL(__recvfrom_chk)(fd, buf, n, buflen, flags, addr, len);
	call_exit(SYSCALL_recvfrom, call_result(r), CALL_FRAME);
	return r;
}
