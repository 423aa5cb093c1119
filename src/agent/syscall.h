/* SPDX-License-Identifier: MIT */
/*
 * syscall.h - agent_syscall(nr, up to six arguments) of this architecture: what it returned, or
 * -errno
 */
#ifndef TRACEFUSE_AGENT_SYSCALL_H
#define TRACEFUSE_AGENT_SYSCALL_H

#include <stdbool.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#include "agent/x86_64/syscall.h"
#else
#error "no system calls for this architecture"
#endif

/* The kernel uses no address and no size for its errors. */
static inline bool is_error(long result)
{
	return (unsigned long)result > -4096ul;
}

#endif
