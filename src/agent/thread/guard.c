/* SPDX-License-Identifier: MIT */
/*
 * guard.c - the session's memory was damaged: the program goes on, detached (R2)
 *
 * An access to a page that is no longer in the file raises SIGBUS. Then anonymous
 * memory replaces the whole data region, no other hit begins, and the current hit
 * is left (x86_64/guarded.S). Outside of a hit the access is repeated and finds
 * zeros.
 *
 * Wrong values in the region - offsets, sizes, counts - make a hit fault anywhere,
 * or divide by zero. If our own code faults inside a hit, the hit is left, and no
 * other one begins. If it faults while it reads an object's tables (unwind.c), only
 * that reading is left. Any other fault is the program's own, also where its stack ends
 * (is_overflow()). The short way (x86_64/emit.S) is recognised by its instructions.
 *
 * The handlers are set by a system call, so that interposers of sigaction() do not
 * see them. A program that sets its own handler replaces ours. But then
 * agent/providers/signal/signal.c calls agent_guard_takes() before the program's
 * handler. It does not show the guard to a program that asks for its handlers.
 *
 * Until the guard has led a thread on, all signals are blocked. A handler that began there would
 * run with the fault's signal blocked, and a byte that traps in it would end the program.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "agent/context.h"
#include "agent/probes/probes.h"
#include "agent/sites/state.h"
#include "agent/thread/guarded.h"
#include "agent/thread/signal_return.h"
#include "agent/state.h"
#include "agent/syscall.h"
#include "agent/emit/way.h"
#include "elf/code/unwind.h"

/* The kernel's struct. */
struct guard_action {
	void		(*handler)(int sig, siginfo_t *info, void *context);
	unsigned long	flags;
	void		(*restorer)(void);
	uint64_t	mask;
};

enum { HIT_STACK_MOST = 65536, HIT_FRAME_MOST = 8192 };

#define GUARD_RESTORER 0x04000000ul

static const int signals[] = { SIGBUS, SIGSEGV, SIGFPE };

enum { SIGNALS = sizeof(signals) / sizeof(signals[0]) };

/* By signal, in the order of signals[]. */
static struct guard_action before[SIGNALS];
static bool guarded[SIGNALS];
static _Atomic bool replacing;		/* the data region is being replaced, or was */

/* The bounds of this library's code. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

static long action(int sig, const struct guard_action *set, struct guard_action *old)
{
	return agent_syscall(SYS_rt_sigaction, sig, set, old, sizeof(uint64_t));
}

static int index_of(int sig)
{
	for (int i = 0; i < SIGNALS; i++)
		if (signals[i] == sig)
			return i;
	return -1;
}

void agent_guard_unblock(int sig, uint64_t flags, uint64_t mask, const void *context)
{
	uint64_t now;

	/* A sandbox that forbids the call, or the strict mode. */
	if (agent_restricted() || (agent_filtered() && !agent_thread_known()))
		return;
	memcpy(&now, &((const ucontext_t *)context)->uc_sigmask, sizeof(now));
	now |= mask | (flags & SA_NODEFER ? 0 : 1ull << (sig - 1));
	agent_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &now, NULL, sizeof(now));
}

/* Calls the handler that was there before, or does what would have happened without us. */
static void pass_on(int sig, siginfo_t *info, void *context)
{
	const struct guard_action *b = &before[index_of(sig)];
	struct guard_action none = { 0 };

	if ((uintptr_t)b->handler > (uintptr_t)SIG_IGN) {
		agent_guard_unblock(sig, b->flags, b->mask, context);
		b->handler(sig, info, context);
		return;
	}
	action(sig, &none, NULL);
	/*
	 * A fault comes again by itself, and ends the program where it was. A signal that was sent
	 * has to be sent again.
	 */
	if (info->si_code <= 0)
		agent_syscall(SYS_tgkill, agent_syscall(SYS_getpid), agent_syscall(SYS_gettid),
			      sig);
}

static bool replace(const char *base, uint64_t size, int prot)
{
	return agent_syscall(SYS_mmap, base, size, prot,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
			     0) == (long)base;
}

/*
 * Replaces the data region by the addresses behind it, which are as many and still
 * empty. If the program has called mlockall(MCL_FUTURE), a new mapping would be
 * filled, and could exceed the program's limits.
 */
static bool replace_data(char *base, uint64_t size)
{
	char *spare = base + size;

	/*
	 * Relaxed: another thread does it; this one's access is repeated until it is done.
	 */
	if (atomic_exchange_explicit(&replacing, true, memory_order_relaxed))
		return true;
	agent_syscall(SYS_munlock, spare, size);
	if (agent.data_spare >= size &&
	    !agent_syscall(SYS_mprotect, spare, size, PROT_READ | PROT_WRITE) &&
	    agent_syscall(SYS_mremap, spare, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, base) ==
		    (long)base) {
		agent_syscall(SYS_mmap, spare, size, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
			      0);
		return true;
	}
	return replace(base, size, PROT_READ | PROT_WRITE);
}

/*
 * The config region is replaced as a whole: the agent needs it to find out that nothing is armed,
 * and zeros say so.
 */
static bool replaced(uintptr_t at)
{
	const struct plane *p = &agent.plane;

	if (p->data && at - (uintptr_t)p->data < p->data_size)
		return replace_data(p->data, p->data_size);
	if (p->config && at - (uintptr_t)p->config < p->config_size)
		return replace(p->config, p->config_size, PROT_READ);
	return false;
}

/* Where the stack pointer was is on the same stack, and near. */
static bool is_near(uintptr_t resume, const ucontext_t *context)
{
	return resume && resume - context_sp(context) < HIT_STACK_MOST;
}

/* Whether it is inside a hit: on the same stack, and near. A hit's memory is elsewhere. */
static bool in_hit(const ucontext_t *context)
{
	const struct agent_thread *t = agent_self.thread;

	return t && is_near(t->resume, context);
}

/*
 * Where to continue when the short way (way.h) is left; the stack stays. 0: it is in no short way.
 */
static uintptr_t short_left(const ucontext_t *context)
{
	const struct {
		const char	*begin, *end, *left;
	} ways[] = {
		{ emit_short_begin, emit_short_end, emit_short_left },
		{ entry_short_begin, entry_short_end, entry_short_left },
		{ graph_short_begin, graph_short_end, graph_short_left },
		{ return_short_begin, return_short_end, return_short_left },
	};
	uintptr_t ip = context_ip(context);

	for (unsigned int i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (ip - (uintptr_t)ways[i].begin < (uintptr_t)(ways[i].end - ways[i].begin))
			return (uintptr_t)ways[i].left;
	return 0;
}

static bool in_short_hit(const ucontext_t *context)
{
	return short_left(context) != 0;
}

/*
 * Whether the program's stack ends inside the hit, as in an endless recursion. The session's memory
 * is sound then, and the fault is the program's: its handler may jump out of the hit, as out of any
 * that a signal has interrupted. Wrong sizes lead upwards, past the place where the hit began.
 */
static bool is_overflow(int sig, const siginfo_t *info, const ucontext_t *context)
{
	const uintptr_t at = (uintptr_t)info->si_addr, sp = context_sp(context);

	return sig == SIGSEGV && at - (sp - HIT_FRAME_MOST) < 2 * HIT_FRAME_MOST &&
	       at < (in_hit(context) ? agent_self.thread->resume : sp);
}

/* A hit must not continue: makes it return to its caller. */
static void leave_hit(ucontext_t *context)
{
	if (in_short_hit(context))
		context_go(context, context_sp(context), short_left(context), 0);
	else if (in_hit(context))
		context_go(context, agent_self.thread->resume, (uintptr_t)guarded_left, 1);
}

static bool in_our_code(const ucontext_t *context)
{
	return context_ip(context) - (uintptr_t)__ehdr_start < (uintptr_t)(etext - __ehdr_start);
}

/*
 * A thread was at an inner start when a probe's jump came, or has tried to read memory for an
 * argument.
 */
static bool probe_led(int sig, const siginfo_t *info, ucontext_t *context)
{
	const uintptr_t ip = context_ip(context);
	uintptr_t to = 0;

	if (ip - (uintptr_t)probe_copy < (uintptr_t)probe_copy_end - (uintptr_t)probe_copy)
		to = (uintptr_t)probe_copy_left;
	else if (sig == SIGSEGV && info->si_code == SI_KERNEL)
		to = place_lead(ip);
	if (!to && sig == SIGSEGV && info->si_code == SI_KERNEL)
		to = sites_lead(ip);
	if (to)
		context_continue(context, to);
	return to != 0;
}

/* The program has taken away the tables of an object: the stack is cut, and the hit goes on. */
static bool tables_led(ucontext_t *context)
{
	const struct agent_thread *t = agent_self.thread;

	if (!t || !in_our_code(context) || !is_near(t->reading, context))
		return false;
	context_go(context, t->reading, (uintptr_t)guarded_left, UNWIND_UNREAD);
	return true;
}

__attribute__((cold)) bool agent_guard_takes(int sig, const siginfo_t *info, void *context)
{
	if (info->si_code <= 0 || index_of(sig) < 0)
		return false;
	if (probe_led(sig, info, context) || tables_led(context))
		return true;
	if (is_overflow(sig, info, context))
		return false;
	if (!(sig == SIGBUS && replaced((uintptr_t)info->si_addr)) && !in_short_hit(context) &&
	    !(in_our_code(context) && in_hit(context)))
		return false;
	/* Before the slots are taken away: one of them says where to continue. */
	leave_hit(context);
	attach_detach();
	return true;
}

static void guard_fault(int sig, siginfo_t *info, void *context)
{
	if (!agent_guard_takes(sig, info, context))
		pass_on(sig, info, context);
}

agent_guard agent_guard_handler(int sig)
{
	int i = index_of(sig);

	return i >= 0 && guarded[i] ? guard_fault : NULL;
}

static _Atomic bool leads_now, faults_blocked;

void agent_faults_block(void)
{
	/* Never set back: threads inherit it. */
	if (atomic_load(&faults_blocked))
		return;
	atomic_store(&faults_blocked, true);
	atomic_store(&leads_now, false);
}

bool guard_leads_now(void)
{
	/* Relaxed: no other data depends on it. */
	return atomic_load_explicit(&leads_now, memory_order_relaxed);
}

static bool action_is_ours(int sig)
{
	struct guard_action now;

	/* The interposers' entries are in this library, too, and call agent_guard_takes(). */
	return guarded[index_of(sig)] && !action(sig, NULL, &now) &&
	       (uintptr_t)now.handler - (uintptr_t)__ehdr_start <
		       (uintptr_t)(etext - __ehdr_start);
}

bool guard_leads(void)
{
	/* Memory of a file that was cut off raises SIGBUS. */
	const bool ours = action_is_ours(SIGSEGV) && action_is_ours(SIGBUS);

	/*
	 * Stored first: agent_faults_block() may come between. Sequentially consistent, and so is
	 * what it does, for then one of the two sees the other.
	 */
	atomic_store(&leads_now, ours);
	if (atomic_load(&faults_blocked))
		atomic_store(&leads_now, false);
	return ours && !atomic_load(&faults_blocked);
}

void guard_start(void)
{
	const struct guard_action ours = {
		.handler = guard_fault, .restorer = signal_return,
		.flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | GUARD_RESTORER,
		.mask = ~0ull,
	};
	uint64_t mask;

	if (!agent_syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof(mask)) &&
	    (mask & (1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1))))
		agent_faults_block();
	for (int i = 0; i < SIGNALS; i++) {
		/* An ignored signal stays so over exec: the program would see a change. */
		if (action(signals[i], NULL, &before[i]) || before[i].handler == (void *)SIG_IGN)
			continue;
		guarded[i] = !action(signals[i], &ours, NULL);
	}
}

void guard_stop(void)
{
	struct guard_action now;

	for (int i = 0; i < SIGNALS; i++) {
		/* If the program has threads, they may have set its own handler by now. */
		if (guarded[i] && !action(signals[i], NULL, &now) && now.handler == guard_fault)
			action(signals[i], &before[i], NULL);
		guarded[i] = false;
	}
	/* Relaxed: the region that it is about is not mapped any more. */
	atomic_store_explicit(&replacing, false, memory_order_relaxed);
}
