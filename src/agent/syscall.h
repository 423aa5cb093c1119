/* SPDX-License-Identifier: MIT */
/*
 * syscall.h - agent_syscall(nr, up to six arguments) of this architecture
 */
#ifndef TRACEFUSE_AGENT_SYSCALL_H
#define TRACEFUSE_AGENT_SYSCALL_H

#include <sys/syscall.h>

#if defined(__x86_64__)
#include "agent/x86_64/syscall.h"
#else
#error "no system calls for this architecture"
#endif

#endif
