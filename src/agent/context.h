/* SPDX-License-Identifier: MIT */
/*
 * context.h - reads the context of a signal handler, and makes it continue elsewhere
 */
#ifndef TRACEFUSE_AGENT_CONTEXT_H
#define TRACEFUSE_AGENT_CONTEXT_H

#include <stdint.h>
#include <ucontext.h>

#if defined(__x86_64__)
static inline uintptr_t context_sp(const ucontext_t *context)
{
	return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
}

static inline uintptr_t context_ip(const ucontext_t *context)
{
	return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}

/* Continues at instruction ip with stack pointer sp; `result` is the result of a function. */
static inline void context_go(ucontext_t *context, uintptr_t sp, uintptr_t ip, uintptr_t result)
{
	context->uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
	context->uc_mcontext.gregs[REG_RIP] = (greg_t)ip;
	context->uc_mcontext.gregs[REG_RAX] = (greg_t)result;
}
/* Continues at instruction ip, and changes nothing else. */
static inline void context_continue(ucontext_t *context, uintptr_t ip)
{
	context->uc_mcontext.gregs[REG_RIP] = (greg_t)ip;
}
#else
#error "no contexts for this architecture"
#endif

#endif
