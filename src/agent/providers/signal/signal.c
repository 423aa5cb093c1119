/* SPDX-License-Identifier: MIT */
/*
 * signal.c - signal_deliver: a handler begins; and what is known of signals (R26)
 *
 * Instead of a program's handler the kernel gets one of HANDLERS entries,
 *
 *     kernel -> entry n (x86_64/handlers.S) -> signal_begin() -> the handler of actions[n]
 *
 * and an entry belongs to one handler with its flags and mask, for good. So the
 * kernel's table stays the only one: sigaction() changes what a signal does in one
 * step, fork() and exec() pass the actions on as ever, SA_RESETHAND needs nothing,
 * and a caller that asks for its handler gets the one that the entry belongs to.
 *
 * G1  An action is immutable once it is ready. A handler that is installed while
 *     another one is written (the writer may be the interrupted code) gets another
 *     action.
 * G2  If all entries are taken, a handler is installed as it is: not recorded.
 * G3  Entries are installed with SA_SIGINFO, without which the kernel leaves siginfo
 *     unwritten. A program that did not set the flag does not see it in sa_flags.
 * G4  Running handlers are known by the frames of signal_begin(). One that was left
 *     by siglongjmp is found by its frame, as a hit is (A6).
 * G5  SIGBUS, SIGSEGV and SIGFPE are also the agent's (guard.c): its handler runs
 *     before the program's, and is there when the program has none. The kernel has
 *     neither the program's mask (see guard.c) nor its SA_NODEFER and SA_RESETHAND,
 *     because a fault may not be the program's. signal_begin() does what they say.
 * G6  siginfo_added and interrupting have a bit for each signal. They are
 *     relaxed: nothing else is read through a bit. If two threads change one
 *     signal's action at once, the kernel may have one thread's action, and the bit
 *     may be the other's: then a flag is shown or used that only the loser set.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include "agent/providers/signal/handlers.h"
#include "agent/providers/signal/signals.h"
#include "agent/providers/syscalls/gates.h"
#include "agent/providers/syscalls/syscalls.h"
#include "agent/syscall.h"
#include "agent/x86_64/jump.h"

extern const char signal_entries[HANDLERS][HANDLER_ENTRY];

enum action_state { ACTION_FREE, ACTION_WRITING, ACTION_READY };

struct action {
	_Atomic uint32_t state;		/* enum action_state; READY is stored with release */
	uint32_t	flags;		/* as the program set them */
	uintptr_t	handler;
	uint64_t	mask;
};

static struct action actions[HANDLERS];

/* Signals whose action has SA_SIGINFO only because of G3. */
static _Atomic uint64_t siginfo_added;
/* Signals for which siginterrupt() has requested that they interrupt system calls; for signal(). */
static _Atomic uint64_t interrupting;

/* G5, by signal: flags and mask that the program gave with SIG_DFL. They are only shown. */
static struct {
	int		flags;
	uint64_t	mask;
} guarded[SIGSEGV + 1];

_Static_assert(SIGBUS < SIGSEGV && SIGFPE < SIGSEGV, "guarded[] has room for all three");

enum { NESTED = 4, RESTORER = 0x04000000, KERNEL_SIGSET = 8 };

/* G4: the innermost last. */
static __thread struct running {
	uint32_t	nr;		/* those beyond NESTED are only counted */
	uintptr_t	frame[NESTED];
} running __attribute__((tls_model("initial-exec")));

/* ---- Masks ---- */

static inline uint64_t bit(int sig)
{
	return 1ull << (sig - 1);
}

static inline uint64_t mask_of(const sigset_t *set)
{
	uint64_t mask;

	memcpy(&mask, set, sizeof(mask));
	return mask;
}

/* Whether all signals are blocked that can be; libc uses 32 and 33. */
static inline bool mask_full(uint64_t mask)
{
	return !~(mask | bit(SIGKILL) | bit(SIGSTOP) | bit(32) | bit(33));
}

static void flags_set(struct agent_thread *t, bool off)
{
	t->flags = (uint8_t)(off ? t->flags | AGENT_SIGNALS_OFF : t->flags & ~AGENT_SIGNALS_OFF);
}

/*
 * For latency tracers, which watch sections with all signals blocked. As in the kernel, the flag is
 * set at both ends of such a section. by: the function that the program called, or its handler;
 * frame: of its caller, see CALL_FRAME.
 */
static void signals_off(struct agent_thread *t, bool off, const void *by, const void *frame)
{
	if (off)
		flags_set(t, true);
	if (agent_section_watched(SECTION_IRQS))
		agent_section_change(t, SECTION_IRQS, off, by, ((void *const *)frame)[1], frame);
	if (!off)
		flags_set(t, false);
}

/*
 * The handler runs while sigsuspend() or its like waits with another mask: what is counted as a
 * section was none.
 */
static void section_suspended(struct agent_thread *t)
{
	t->section.state &= ~(uint32_t)SECTION_IRQS;
	t->section.on = t->section.on && t->section.state;
}

/* If the section is watched, this is the thread's first hit. */
static struct agent_thread *masked_thread(bool off)
{
	return off && agent_section_watched(SECTION_IRQS) ? agent_thread() : agent_thread_known();
}

static void mask_is(uint64_t mask, const void *by, const void *frame)
{
	bool off = mask_full(mask);
	struct agent_thread *t = masked_thread(off);

	if (t)
		signals_off(t, off, by, frame);
}

/* For functions that change the mask in rare ways: asks the kernel. */
static void mask_ask(const void *by, const void *frame)
{
	uint64_t mask;

	if ((agent_thread_known() || agent_section_watched(SECTION_IRQS)) &&
	    !agent_syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, &mask, KERNEL_SIGSET))
		mask_is(mask, by, frame);
}

/* ---- Running handlers (G4) ---- */

/*
 * agent_signal_flags() and what it calls run at sites of functions, whose arguments may be in
 * vector registers.
 */
#define NO_VECTORS __attribute__((target("general-regs-only")))

static NO_VECTORS bool on_alternate(uintptr_t addr)
{
	const struct agent_region *a = agent_alternate();

	return addr - a->start < a->size;
}

static NO_VECTORS bool handler_left(uintptr_t frame, uintptr_t sp)
{
	if (on_alternate(frame) != on_alternate(sp))
		return on_alternate(frame);
	return frame < sp;
}

static NO_VECTORS void running_settle(uintptr_t sp)
{
	uint32_t known = running.nr < NESTED ? running.nr : NESTED;

	for (uint32_t i = 0; i < known; i++)
		if (handler_left(running.frame[i], sp)) {
			running.nr = i;
			if (!on_alternate(sp))
				*agent_alternate() = (struct agent_region){ 0 };
			return;
		}
}

static NO_VECTORS uint8_t flags_now(const struct agent_thread *t)
{
	return (uint8_t)(running.nr ? t->flags | AGENT_HANDLER : t->flags & ~AGENT_HANDLER);
}

NO_VECTORS uint8_t agent_signal_flags(const struct agent_thread *t, const void *frame)
{
	running_settle((uintptr_t)frame);
	return flags_now(t);
}

/*
 * A handler begins. -> the value of agent_alternate() for the time after its return; if the one
 * before was left, there is none.
 */
static struct agent_region alternate_begin(const ucontext_t *uc, uintptr_t frame)
{
	const struct agent_region none = { 0 },
				  now = { (uintptr_t)uc->uc_stack.ss_sp, uc->uc_stack.ss_size };
	const struct agent_region before =
		on_alternate(uc->uc_mcontext.gregs[REG_RSP]) ? *agent_alternate() : none;

	*agent_alternate() = frame - now.start < now.size ? now : none;
	return before;
}

static void running_push(uintptr_t frame)
{
	const uint32_t nr = running.nr;

	/*
	 * Twice, because a handler that runs before the count was raised uses the same place.
	 */
	for (int i = 0; i < 2; i++) {
		if (nr < NESTED)
			running.frame[nr] = frame;
		/* Pairs with running_settle() and running_pop() in such a handler. */
		atomic_signal_fence(memory_order_seq_cst);
		running.nr = nr + 1;
		atomic_signal_fence(memory_order_seq_cst);
	}
}

static void running_pop(uintptr_t frame)
{
	/* Removes this one, and those inside it that were left. */
	for (uint32_t i = 0; i < running.nr && i < NESTED; i++)
		if (running.frame[i] == frame) {
			running.nr = i;
			return;
		}
	if (running.nr)
		running.nr--;
}

/* frame: of the code that the handler has interrupted. */
static void deliver(const struct action *a, const siginfo_t *info, const uintptr_t frame[2])
{
	struct signal_deliver_record r = { .sig = info->si_signo,
					  .error = info->si_errno,
					  .code = info->si_code,
					  .action_flags = a->flags | RESTORER };
	struct agent_thread *t;

	if (!provider_armed(PROVIDER_SIGNAL_DELIVER))
		return;
	t = agent_enter();
	if (!t)
		return;
	r.handler = agent_address(t, (const void *)a->handler);
	provider_emit(t, PROVIDER_SIGNAL_DELIVER, &r, sizeof(r), frame);
	agent_leave(t);
}

/*
 * Whether the mask is full while the handler runs. If it was full before, the handler has
 * interrupted sigsuspend() or its like, which had another mask.
 */
static bool handler_mask_full(const struct action *a, int sig, const ucontext_t *uc)
{
	uint64_t own = a->mask | (a->flags & SA_NODEFER ? 0 : bit(sig)),
		 before = mask_of(&uc->uc_sigmask);

	return mask_full(own) || (!mask_full(before) && mask_full(before | own));
}

/* The kernel's struct. */
struct kernel_action {
	void		(*handler)(int sig, siginfo_t *info, void *context);
	unsigned long	flags;
	void		(*restorer)(void);
	uint64_t	mask;
};

/* G5: what SA_RESETHAND does. */
static void action_reset(int sig, const struct action *a)
{
	struct kernel_action now;

	if (agent_restricted() ||
	    agent_syscall(SYS_rt_sigaction, sig, NULL, &now, KERNEL_SIGSET))
		return;
	now.handler = agent_guard_handler(sig);
	now.flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | RESTORER;
	now.mask = ~0ull;
	guarded[sig].flags = (int)(a->flags | RESTORER);
	guarded[sig].mask = a->mask;
	agent_syscall(SYS_rt_sigaction, sig, &now, NULL, KERNEL_SIGSET);
}

void signal_begin(int sig, siginfo_t *info, void *context, unsigned int n);

void signal_begin(int sig, siginfo_t *info, void *context, unsigned int n)
{
	void (*handler)(int, siginfo_t *, void *) = (void *)actions[n].handler;
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
	ucontext_t *uc = context;
	const uintptr_t below[2] = { uc->uc_mcontext.gregs[REG_RBP],
				     uc->uc_mcontext.gregs[REG_RIP] };
	struct agent_region before;
	struct agent_thread *t;
	uintptr_t reading = 0;
	uint8_t busy = 0;
	bool off;

	if (agent_guard_handler(sig)) {
		if (agent_guard_takes(sig, info, context))
			return;
		if (actions[n].flags & (uint32_t)SA_RESETHAND)
			action_reset(sig, &actions[n]);
		agent_guard_unblock(sig, actions[n].flags, actions[n].mask, context);
	}
	running_settle(uc->uc_mcontext.gregs[REG_RSP]);
	before = alternate_begin(uc, frame);
	running_push(frame);
	off = handler_mask_full(&actions[n], sig, uc);
	t = masked_thread(off);
	if (t) {
		/*
		 * The handler's own calls are recorded, also if it has interrupted an interposer.
		 */
		busy = t->busy;
		t->busy = 0;
		reading = t->reading;
		t->reading = 0;
		t->flags |= AGENT_HANDLER;
		if (!off && mask_full(mask_of(&uc->uc_sigmask)))
			section_suspended(t);
		signals_off(t, off, handler, below);
	}
	deliver(&actions[n], info, below);
	handler(sig, info, context);
	/*
	 * The program comes back to its code by it. No gate is there (elf/gates.h). It is still on
	 * the handler's stack, which may be small.
	 */
	if (gates_see())
		call_enter_own(SYSCALL_rt_sigreturn, NULL, below);
	running_pop(frame);
	t = agent_thread_known();
	if (t) {
		t->busy = busy;
		t->reading = reading;
		signals_off(t, mask_full(mask_of(&uc->uc_sigmask)), handler, below);
		t->flags = agent_signal_flags(t, (const void *)frame);
	}
	*agent_alternate() = before;
}

/* ---- Actions ---- */

static bool entry_is(uintptr_t handler)
{
	return handler - (uintptr_t)signal_entries < sizeof(signal_entries);
}

static struct action *entry_action(uintptr_t handler)
{
	return &actions[(handler - (uintptr_t)signal_entries) / HANDLER_ENTRY];
}

static bool action_same(const struct action *a, const struct action *b)
{
	return a->handler == b->handler && a->flags == b->flags && a->mask == b->mask;
}

/* The entry for a handler; 0: all are taken (G2). */
static uintptr_t entry_find(const struct action *want)
{
	for (unsigned int n = 0; n < HANDLERS; n++) {
		struct action *a = &actions[n];
		uint32_t state = ACTION_FREE;

		/* Acquire: pairs with the release below. */
		if (atomic_compare_exchange_strong_explicit(&a->state, &state, ACTION_WRITING,
							    memory_order_acquire,
							    memory_order_acquire)) {
			a->handler = want->handler;
			a->flags = want->flags;
			a->mask = want->mask;
			/* Pairs with the acquires above, in a thread that finds it ready. */
			atomic_store_explicit(&a->state, ACTION_READY, memory_order_release);
			return (uintptr_t)signal_entries[n];
		}
		if (state == ACTION_READY && action_same(a, want))
			return (uintptr_t)signal_entries[n];
	}
	return 0;
}

/* Changes an action from the program's form to the kernel's. */
static void action_wrap(int sig, struct sigaction *act)
{
	struct action want = { .handler = (uintptr_t)act->sa_handler,
			      .flags = (uint32_t)act->sa_flags & ~RESTORER,
			      .mask = mask_of(&act->sa_mask) };
	uintptr_t entry;

	if (act->sa_handler == SIG_DFL && agent_guard_handler(sig)) {
		guarded[sig].flags = act->sa_flags | RESTORER;
		guarded[sig].mask = want.mask;
		act->sa_sigaction = agent_guard_handler(sig);
		act->sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_RESTART);
		memset(&act->sa_mask, 0xff, sizeof(act->sa_mask));
		return;
	}
	if (act->sa_handler == SIG_DFL || act->sa_handler == SIG_IGN || entry_is(want.handler))
		return;
	entry = entry_find(&want);
	if (!entry)
		return;
	act->sa_handler = (void (*)(int))entry;
	act->sa_flags |= SA_SIGINFO;
	if (agent_guard_handler(sig)) {
		act->sa_flags &= ~((int)SA_RESETHAND | SA_NODEFER);
		memset(&act->sa_mask, 0xff, sizeof(act->sa_mask));
	}
}

/* Changes it back. */
static void action_unwrap(int sig, struct sigaction *act)
{
	uintptr_t handler = (uintptr_t)act->sa_handler;
	const struct action *a;

	if (handler && act->sa_sigaction == agent_guard_handler(sig)) {
		act->sa_handler = SIG_DFL;
		act->sa_flags = guarded[sig].flags;
		memcpy(&act->sa_mask, &guarded[sig].mask, sizeof(guarded[sig].mask));
		if (!guarded[sig].flags)
			act->sa_restorer = NULL;
		return;
	}
	if (!entry_is(handler)) {
		/* After SA_RESETHAND the flag is still there. Relaxed: G6. */
		if (atomic_load_explicit(&siginfo_added, memory_order_relaxed) & bit(sig))
			act->sa_flags &= ~SA_SIGINFO;
		return;
	}
	a = entry_action(handler);
	act->sa_handler = (void (*)(int))a->handler;
	if (agent_guard_handler(sig)) {
		act->sa_flags = (int)(a->flags | SA_SIGINFO | RESTORER);
		memcpy(&act->sa_mask, &a->mask, sizeof(a->mask));
	}
	if (!(a->flags & SA_SIGINFO))
		act->sa_flags &= ~SA_SIGINFO;
}

/*
 * Probes read memory that may not be there. They do so without a system call as long as no thread
 * can have a fault that does not reach our handler.
 */
static void faults_masked(uint64_t mask)
{
	if (mask & (bit(SIGSEGV) | bit(SIGBUS)))
		agent_faults_block();
}

/* Before an action is set: the program's mask, and what the kernel gets. */
static void faults_handled(int sig, const struct sigaction *asked, const struct sigaction *set)
{
	const uintptr_t handler = (uintptr_t)set->sa_handler;

	/* The entries mark their threads while a handler runs. */
	if (handler != (uintptr_t)SIG_DFL && handler != (uintptr_t)SIG_IGN && !entry_is(handler) &&
	    set->sa_sigaction != agent_guard_handler(sig))
		faults_masked(mask_of(&asked->sa_mask) | bit(sig));
	else if (handler == (uintptr_t)SIG_IGN)
		faults_masked(bit(sig));
}

static void siginfo_note(int sig, const struct sigaction *asked, const struct sigaction *set)
{
	if (~asked->sa_flags & set->sa_flags & SA_SIGINFO)
		/* G6 */
		atomic_fetch_or_explicit(&siginfo_added, bit(sig), memory_order_relaxed);
	else
		atomic_fetch_and_explicit(&siginfo_added, ~bit(sig), memory_order_relaxed);
}

REAL_FUNCTION(sigaction);

static int action_set(int sig, const struct sigaction *act, struct sigaction *old,
		      const void *frame)
{
	struct sigaction asked, set;
	int r;

	if (act) {
		set = asked = *act;
		action_wrap(sig, &set);
		faults_handled(sig, &asked, &set);
	}
	if (call_armed(SYSCALL_rt_sigaction))
		call_enter(SYSCALL_rt_sigaction,
			   (uint64_t[]){ (uint32_t)sig, (uintptr_t)act, (uintptr_t)old,
					 KERNEL_SIGSET },
			   frame);
	r = REAL(sigaction)(sig, act ? &set : NULL, old);
	if (!r && old)
		action_unwrap(sig, old);
	if (!r && act)
		siginfo_note(sig, &asked, &set);
	if (call_armed(SYSCALL_rt_sigaction))
		call_exit(SYSCALL_rt_sigaction, call_result(r), frame);
	return r;
}

INTERPOSE int call_sigaction(int, const struct sigaction *,
			     struct sigaction *) __asm__("sigaction");
INTERPOSE int call__sigaction(int, const struct sigaction *,
			      struct sigaction *) __asm__("__sigaction")
	__attribute__((alias("sigaction")));

int call_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	return action_set(sig, act, old, FRAME_BELOW(CALL_SITE));
}

/* ---- The older functions that install a handler; all of them call sigaction() ---- */

enum { OF_LIBC_FIRST = 32, OF_LIBC_LAST = 33 };	/* signals that libc keeps for itself */

/* As sigaddset(), without a call into libc (libc.h). False: there is no such signal. */
static bool set_add(sigset_t *set, int sig)
{
	if (sig < 1 || sig >= _NSIG || (sig >= OF_LIBC_FIRST && sig <= OF_LIBC_LAST))
		return false;
	*(uint64_t *)set |= 1ull << (sig - 1);
	return true;
}

static bool set_has(const sigset_t *set, int sig)
{
	return *(const uint64_t *)set >> (sig - 1) & 1;
}

static void (*handler_set(int sig, void (*handler)(int), int flags, bool masked,
			  const void *frame))(int)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = flags }, old;

	if (masked)
		(void)set_add(&act.sa_mask, sig);
	return action_set(sig, &act, &old, frame) ? SIG_ERR : old.sa_handler;
}

INTERPOSE void (*call_signal(int, void (*)(int)))(int) __asm__("signal");

static bool is_refused(int sig, void (*handler)(int))
{
	if (handler != SIG_ERR && sig >= 1 && sig < _NSIG)
		return false;
	errno = EINVAL;
	return true;
}

void (*call_signal(int sig, void (*handler)(int)))(int)
{
	/* Relaxed: G6. */
	bool interrupts = sig > 0 && sig < _NSIG &&
			  atomic_load_explicit(&interrupting, memory_order_relaxed) & bit(sig);

	return is_refused(sig, handler) ? SIG_ERR :
	       handler_set(sig, handler, interrupts ? 0 : SA_RESTART, true, CALL_FRAME);
}

INTERPOSE void (*call_bsd_signal(int, void (*)(int)))(int) __asm__("bsd_signal")
	__attribute__((alias("signal")));
INTERPOSE void (*call_ssignal(int, void (*)(int)))(int) __asm__("ssignal")
	__attribute__((alias("signal")));

INTERPOSE void (*call_sysv_signal(int, void (*)(int)))(int) __asm__("sysv_signal");

void (*call_sysv_signal(int sig, void (*handler)(int)))(int)
{
	return is_refused(sig, handler) ? SIG_ERR :
	       handler_set(sig, handler, (int)SA_RESETHAND | SA_NODEFER | SA_INTERRUPT, false,
			   CALL_FRAME);
}

INTERPOSE void (*call__sysv_signal(int, void (*)(int)))(int) __asm__("__sysv_signal")
	__attribute__((alias("sysv_signal")));

INTERPOSE void (*call_sigset(int, void (*)(int)))(int) __asm__("sigset");

void (*call_sigset(int sig, void (*disp)(int)))(int)
{
	void (*old)(int);
	sigset_t set = { 0 }, before;

	if (!set_add(&set, sig)) {
		errno = EINVAL;
		return SIG_ERR;
	}
	if (disp == SIG_HOLD) {
		struct sigaction act;

		if (sigprocmask(SIG_BLOCK, &set, &before))
			return SIG_ERR;
		if (set_has(&before, sig))
			return SIG_HOLD;
		return action_set(sig, NULL, &act, CALL_FRAME) ? SIG_ERR : act.sa_handler;
	}
	/* Not SIG_ERR: vim asks by it whether a signal is ignored, and sets what it was again. */
	old = handler_set(sig, disp, 0, false, CALL_FRAME);
	if (old == SIG_ERR || sigprocmask(SIG_UNBLOCK, &set, &before))
		return SIG_ERR;
	return set_has(&before, sig) ? SIG_HOLD : old;
}

INTERPOSE int call_siginterrupt(int, int) __asm__("siginterrupt");

int call_siginterrupt(int sig, int flag)
{
	struct sigaction act;

	if (action_set(sig, NULL, &act, CALL_FRAME))
		return -1;
	if (flag) {
		/* G6 */
		atomic_fetch_or_explicit(&interrupting, bit(sig), memory_order_relaxed);
		act.sa_flags &= ~SA_RESTART;
	} else {
		/* G6 */
		atomic_fetch_and_explicit(&interrupting, ~bit(sig), memory_order_relaxed);
		act.sa_flags |= SA_RESTART;
	}
	return action_set(sig, &act, NULL, CALL_FRAME);
}

/* ---- The mask ---- */

REAL_FUNCTION(pthread_sigmask);
REAL_FUNCTION(sigprocmask);

/* The mask after a change that has succeeded. */
static uint64_t mask_after(int how, const sigset_t *set, const sigset_t *old)
{
	uint64_t before = mask_of(old), given = mask_of(set);

	return how == SIG_BLOCK ? before | given : how == SIG_UNBLOCK ? before & ~given : given;
}

/*
 * A section ends before the mask changes. Otherwise handlers of pending signals would be part of
 * it.
 */
static void mask_section_ends(int how, const sigset_t *set, const void *by, const void *frame)
{
	struct agent_thread *t = agent_section_watched(SECTION_IRQS) ? agent_thread_known() : NULL;
	uint64_t given = mask_of(set);

	if (t && ((how == SIG_SETMASK && !mask_full(given)) ||
		  (how == SIG_UNBLOCK && !mask_full(~given))))
		signals_off(t, false, by, frame);
}

static int mask_set(int (*real)(int, const sigset_t *, sigset_t *), int how, const sigset_t *set,
		    sigset_t *old, bool returns_errno, const void *by, const void *frame)
{
	sigset_t given, before, *out = old ? old : &before;
	int r;

	if (set) {
		given = *set;	/* may be the same as old */
		if (how != SIG_UNBLOCK)
			faults_masked(mask_of(set));
		mask_section_ends(how, set, by, frame);
	}
	if (call_armed(SYSCALL_rt_sigprocmask))
		call_enter(SYSCALL_rt_sigprocmask,
			   (uint64_t[]){ (uint32_t)how, (uintptr_t)set, (uintptr_t)old,
					 KERNEL_SIGSET },
			   frame);
	r = real(how, set, out);
	if (!r && set)
		mask_is(mask_after(how, &given, out), by, frame);
	if (call_armed(SYSCALL_rt_sigprocmask))
		call_exit(SYSCALL_rt_sigprocmask, returns_errno ? -r : call_result(r), frame);
	return r;
}

INTERPOSE int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return mask_set(REAL(pthread_sigmask), how, set, old, true, (const void *)pthread_sigmask,
			FRAME_BELOW(CALL_SITE));
}

INTERPOSE int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	return mask_set(REAL(sigprocmask), how, set, old, false, (const void *)sigprocmask,
			FRAME_BELOW(CALL_SITE));
}

/* For threads that it will begin with. */
REAL_FUNCTION(pthread_attr_setsigmask_np);

INTERPOSE int pthread_attr_setsigmask_np(pthread_attr_t *attr, const sigset_t *set)
{
	if (set)
		faults_masked(mask_of(set));
	return REAL(pthread_attr_setsigmask_np)(attr, set);
}

typedef int (*real_mask_call)(int);

/* The argument of some is a mask with signal 1 in bit 0, that of others is a signal. */
#define MASK_CALL(function, masked)							\
	REAL_FUNCTION_AS(function, real_mask_call);					\
	INTERPOSE int call_##function(int) __asm__(#function);				\
	int call_##function(int arg)							\
	{										\
		int r;									\
											\
		faults_masked(masked);							\
		r = REAL(function)(arg);						\
		mask_ask((const void *)call_##function, CALL_FRAME);			\
		return r;								\
	}

MASK_CALL(sigblock, (uint32_t)arg)
MASK_CALL(sigsetmask, (uint32_t)arg)
MASK_CALL(sighold, arg > 0 && arg < _NSIG ? bit(arg) : 0)
MASK_CALL(sigrelse, 0)

/* ---- Jumps: they restore a saved mask, and leave handlers ---- */

enum { JUMP_MOST = 1 << 28 };

static void jump_settle(const struct __jmp_buf_tag *env, const void *frame)
{
	uintptr_t sp = jump_stack_pointer(env);
	struct agent_thread *t;

	/*
	 * On one stack a jump goes upwards. If a buffer says otherwise, it was not made by this
	 * libc.
	 */
	if (!running.nr || (!on_alternate((uintptr_t)frame) && sp - (uintptr_t)frame > JUMP_MOST))
		return;
	while (wait_frame() && handler_left(wait_frame(), sp))
		wait_left();
	running_settle(sp);
	t = agent_thread_known();
	if (t)
		t->flags = flags_now(t);
}

/* The call does not return, so the next function may begin behind it: less one. */
#define JUMP_FRAME ((const void *[2]){ *(void **)CALL_FRAME, (const char *)CALL_SITE - 1 })

typedef void (*real_jump)(struct __jmp_buf_tag *, int) __attribute__((noreturn));

/* The mask stays as it is in the handlers that the jump leaves. */
static void jump_masked(void)
{
	uint64_t mask;

	if (running.nr &&
	    !agent_syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, &mask, KERNEL_SIGSET))
		faults_masked(mask);
}

#define JUMP(function)							\
	REAL_FUNCTION_AS(function, real_jump);				\
	INTERPOSE void call_##function(struct __jmp_buf_tag *, \
		int) __asm__(#function) __attribute__((noreturn)); \
	void call_##function(struct __jmp_buf_tag *env, int value)	\
	{								\
		if (env->__mask_was_saved)				\
			mask_is(mask_of(&env->__saved_mask), (const void *)call_##function, \
				JUMP_FRAME); \
		else							\
			jump_masked();					\
		jump_settle(env, CALL_FRAME);				\
		REAL(function)(env, value);				\
	}

JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)

REAL_FUNCTION(setcontext);
REAL_FUNCTION(swapcontext);

INTERPOSE int setcontext(const ucontext_t *to)
{
	faults_masked(mask_of(&to->uc_sigmask));
	mask_is(mask_of(&to->uc_sigmask), (const void *)setcontext, JUMP_FRAME);
	return REAL(setcontext)(to);
}

INTERPOSE int swapcontext(ucontext_t *from, const ucontext_t *to)
{
	faults_masked(mask_of(&to->uc_sigmask));
	mask_is(mask_of(&to->uc_sigmask), (const void *)swapcontext, CALL_FRAME);
	return REAL(swapcontext)(from, to);
}
