/* SPDX-License-Identifier: MIT */
/*
 * guard.c - somebody truncated the session's files: the program goes on, detached (R2)
 *
 * An access to a page that the file does not have any more raises SIGBUS. Then
 * anonymous memory takes the place of the whole data region, no other hit
 * begins, and a hit that is on its way is left (x86_64/guarded.S). Outside of
 * one the access is repeated and finds zeros.
 *
 * The handler is set by a system call, so that nobody who interposes
 * sigaction() sees it. A program that sets its own replaces it, but for
 * providers/signal.c, which asks agent_guard_takes() before it calls that one,
 * and does not show the guard to a program that asks.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "agent/context.h"
#include "agent/guarded.h"
#include "agent/signal_return.h"
#include "agent/state.h"
#include "agent/syscall.h"

/* As the kernel has it. */
struct guard_action {
	void		(*handler)(int sig, siginfo_t *info, void *context);
	unsigned long	flags;
	void		(*restorer)(void);
	uint64_t	mask;
};

enum { HIT_STACK_MOST = 65536 };

#define GUARD_RESTORER 0x04000000ul

static struct guard_action before;
static bool guarded;

static long action(const struct guard_action *set, struct guard_action *old)
{
	return agent_syscall(SYS_rt_sigaction, SIGBUS, set, old, sizeof(uint64_t));
}

/* What was there before, or what would have happened without us. */
static void pass_on(int sig, siginfo_t *info, void *context)
{
	struct guard_action none = { 0 };

	if ((uintptr_t)before.handler > (uintptr_t)SIG_IGN) {
		before.handler(sig, info, context);
		return;
	}
	action(&none, NULL);
	/* A fault comes again by itself and ends the program where it was; one that somebody sent has to be sent. */
	if (info->si_code <= 0)
		agent_syscall(SYS_tgkill, agent_syscall(SYS_getpid), agent_syscall(SYS_gettid), SIGBUS);
}

static bool replace(const char *base, uint64_t size, int prot)
{
	return agent_syscall(SYS_mmap, base, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
			     -1, 0) == (long)base;
}

/* The config region as a whole is needed to find out that nothing is armed any more: zeros say so. */
static bool replaced(uintptr_t at)
{
	const struct plane *p = &agent.plane;

	if (p->data && at - (uintptr_t)p->data < p->data_size)
		return replace(p->data, p->data_size, PROT_READ | PROT_WRITE);
	if (p->config && at - (uintptr_t)p->config < p->config_size)
		return replace(p->config, p->config_size, PROT_READ);
	return false;
}

/* A hit that goes on with zeros for its rings and maps would go astray: the fault returns to whom it was made for. */
static void leave_hit(ucontext_t *context)
{
	struct agent_thread *t = agent_self.thread;

	/* On the same stack, and not far: a hit has its memory elsewhere. */
	if (t && t->resume && t->resume - context_sp(context) < HIT_STACK_MOST)
		context_go(context, t->resume, (uintptr_t)guarded_left, 1);
}

bool agent_guard_takes(const siginfo_t *info, void *context)
{
	if (info->si_code <= 0 || !replaced((uintptr_t)info->si_addr))
		return false;
	attach_detach();
	leave_hit(context);
	return true;
}

static void guard_fault(int sig, siginfo_t *info, void *context)
{
	if (!agent_guard_takes(info, context))
		pass_on(sig, info, context);
}

agent_guard agent_guard_handler(void)
{
	return guarded ? guard_fault : NULL;
}

void guard_start(void)
{
	const struct guard_action ours = {
		.handler = guard_fault, .restorer = signal_return,
		.flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | GUARD_RESTORER,
	};

	/* Whoever ignores it may have been told to by its parent, and would see that we changed it. */
	if (action(NULL, &before) || before.handler == (void *)SIG_IGN)
		return;
	guarded = !action(&ours, NULL);
}
