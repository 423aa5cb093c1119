/* SPDX-License-Identifier: MIT */
/*
 * syscall.h - x86-64: system calls without libc, so that errno and interposers are left alone (A2,
 * A3)
 *
 * agent_syscall() returns what the kernel returns: errors are -errno, from -4095 on.
 * Missing arguments are 0.
 */
#ifndef TRACEFUSE_AGENT_X86_64_SYSCALL_H
#define TRACEFUSE_AGENT_X86_64_SYSCALL_H

static inline long agent_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ __volatile__("syscall"
			     : "=a"(ret)
			     : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			     : "rcx", "r11", "memory");
	return ret;
}

#define AGENT_ARG_(x) ((long)(x))
#define AGENT_CALL_(nr, a, b, c, d, e, f, ...)						\
	agent_syscall6((nr), AGENT_ARG_(a), AGENT_ARG_(b), AGENT_ARG_(c), AGENT_ARG_(d),	\
		       AGENT_ARG_(e), AGENT_ARG_(f))
#define agent_syscall(...) AGENT_CALL_(__VA_ARGS__, 0, 0, 0, 0, 0, 0)

#endif
