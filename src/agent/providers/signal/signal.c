/* SPDX-License-Identifier: MIT */
/*
 * signal.c - signal_deliver: a handler begins; and what is known of signals (R26)
 *
 * The kernel is given one of HANDLERS entries in place of a program's handler,
 *
 *     kernel -> entry n (x86_64/handlers.S) -> signal_begin() -> the handler of actions[n]
 *
 * and an entry stands for one handler with its flags and mask, for good. So
 * the kernel's table stays the only one: what a signal does changes in one
 * step with sigaction(), fork() and exec() carry it as ever, SA_RESETHAND
 * needs nothing, and a caller that asks gets the handler that the entry stands for.
 *
 * G1  An action is immutable once it is ready. A handler that comes while one
 *     is written (the writer may be the interrupted code) takes another.
 * G2  With all entries taken, a handler is installed as it is: not recorded.
 * G3  Entries ask for SA_SIGINFO, without which the kernel leaves siginfo
 *     unwritten. Who did not ask for it does not see it in sa_flags.
 * G4  Handlers that run are known by the frames of signal_begin(). One that was
 *     left by siglongjmp is found by its frame, as a hit is (A6).
 * G5  SIGBUS, SIGSEGV and SIGFPE are also the agent's (guard.c): its handler is
 *     in front of the program's, and is there when the program has none.
 * G6  siginfo_added and interrupting have a bit for each signal. They are
 *     relaxed: nothing else is read through a bit. Where two threads change one
 *     signal's action at once, the kernel's may be one's and the bit the
 *     other's: a flag is shown or taken then that only the loser asked for.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include "agent/providers/signal/handlers.h"
#include "agent/providers/signal/signals.h"
#include "agent/providers/syscalls/syscalls.h"
#include "agent/syscall.h"
#include "agent/x86_64/jump.h"

extern const char signal_entries[HANDLERS][HANDLER_ENTRY];

enum action_state { ACTION_FREE, ACTION_WRITING, ACTION_READY };

struct action {
	_Atomic uint32_t state;		/* enum action_state; READY is stored with release */
	uint32_t	flags;		/* as the program gave them */
	uintptr_t	handler;
	uint64_t	mask;
};

static struct action actions[HANDLERS];

/* Signals whose action has SA_SIGINFO only because of G3. */
static _Atomic uint64_t siginfo_added;
/* Signals that siginterrupt() has said of to interrupt system calls; for signal(). */
static _Atomic uint64_t interrupting;

/* G5, by signal: what the program said when it took the default, which is only shown. */
static struct {
	int		flags;
	uint64_t	mask;
} guarded[SIGSEGV + 1];

_Static_assert(SIGBUS < SIGSEGV && SIGFPE < SIGSEGV, "guarded[] has room for all three");

enum { NESTED = 4, RESTORER = 0x04000000, KERNEL_SIGSET = 8 };

/* G4: the innermost last. */
static __thread struct running {
	uint32_t	nr;		/* beyond NESTED only counted */
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

/* All that can be blocked; 32 and 33 are libc's own. */
static inline bool mask_full(uint64_t mask)
{
	return !~(mask | bit(SIGKILL) | bit(SIGSTOP) | bit(32) | bit(33));
}

static void flags_set(struct agent_thread *t, bool off)
{
	t->flags = (uint8_t)(off ? t->flags | AGENT_SIGNALS_OFF : t->flags & ~AGENT_SIGNALS_OFF);
}

/*
 * Latency tracers watch for signals that are all blocked; as in the kernel both ends of such a
 * section are marked so. by: the function that the program called, or its handler; frame: of its
 * caller, see CALL_FRAME.
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
 * The handler came while sigsuspend() or its like waited, with signals that were not blocked: that
 * was no section.
 */
static void section_suspended(struct agent_thread *t)
{
	t->section.state &= ~(uint32_t)SECTION_IRQS;
	t->section.on = t->section.on && t->section.state;
}

/* With the thread's first hit where somebody watches. */
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

/* For the rare ways to change the mask. */
static void mask_ask(const void *by, const void *frame)
{
	uint64_t mask;

	if ((agent_thread_known() || agent_section_watched(SECTION_IRQS)) &&
	    !agent_syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, &mask, KERNEL_SIGSET))
		mask_is(mask, by, frame);
}

/* ---- Handlers that run (G4) ---- */

/*
 * What agent_signal_flags() does is called at sites of functions, whose arguments may lie in vector
 * registers.
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

/* A handler begins. -> what agent_alternate() is when it returns: of one that was left nothing. */
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
	 * The second time because a handler that came before the count was raised had this place,
	 * too.
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
	/* This one, and any above it that was left. */
	for (uint32_t i = 0; i < running.nr && i < NESTED; i++)
		if (running.frame[i] == frame) {
			running.nr = i;
			return;
		}
	if (running.nr)
		running.nr--;
}

/* Its stack is that of the code that it interrupted: frame. */
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
 * The mask while the handler runs. A full one before it: it interrupted sigsuspend() or its like,
 * which had another.
 */
static bool handler_mask_full(const struct action *a, int sig, const ucontext_t *uc)
{
	uint64_t own = a->mask | (a->flags & SA_NODEFER ? 0 : bit(sig)),
		 before = mask_of(&uc->uc_sigmask);

	return mask_full(own) || (!mask_full(before) && mask_full(before | own));
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
	uint8_t busy = 0;
	bool off;

	if (agent_guard_handler(sig) && agent_guard_takes(sig, info, context))
		return;
	running_settle(uc->uc_mcontext.gregs[REG_RSP]);
	before = alternate_begin(uc, frame);
	running_push(frame);
	off = handler_mask_full(&actions[n], sig, uc);
	t = masked_thread(off);
	if (t) {
		/* The handler's own calls are recorded, also when it interrupted an interposer. */
		busy = t->busy;
		t->busy = 0;
		t->flags |= AGENT_HANDLER;
		if (!off && mask_full(mask_of(&uc->uc_sigmask)))
			section_suspended(t);
		signals_off(t, off, handler, below);
	}
	deliver(&actions[n], info, below);
	handler(sig, info, context);
	running_pop(frame);
	t = agent_thread_known();
	if (t) {
		t->busy = busy;
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

/* The entry for a handler, 0: there is none left (G2). */
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
			/* Pairs with the acquires above, of a thread that finds it ready. */
			atomic_store_explicit(&a->state, ACTION_READY, memory_order_release);
			return (uintptr_t)signal_entries[n];
		}
		if (state == ACTION_READY && action_same(a, want))
			return (uintptr_t)signal_entries[n];
	}
	return 0;
}

/* As the kernel is to have it. */
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
		return;
	}
	if (act->sa_handler == SIG_DFL || act->sa_handler == SIG_IGN || entry_is(want.handler))
		return;
	entry = entry_find(&want);
	if (!entry)
		return;
	act->sa_handler = (void (*)(int))entry;
	act->sa_flags |= SA_SIGINFO;
}

/* As the program gave it. */
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
		/* SA_RESETHAND leaves the flags. Relaxed: G6. */
		if (atomic_load_explicit(&siginfo_added, memory_order_relaxed) & bit(sig))
			act->sa_flags &= ~SA_SIGINFO;
		return;
	}
	a = entry_action(handler);
	act->sa_handler = (void (*)(int))a->handler;
	if (!(a->flags & SA_SIGINFO))
		act->sa_flags &= ~SA_SIGINFO;
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

/* ---- The older ways to install a handler, which all come to a sigaction() ---- */

static void (*handler_set(int sig, void (*handler)(int), int flags, bool masked,
			  const void *frame))(int)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = flags }, old;

	if (handler == SIG_ERR || sig < 1 || sig >= _NSIG) {
		errno = EINVAL;
		return SIG_ERR;
	}
	if (masked)
		sigaddset(&act.sa_mask, sig);
	return action_set(sig, &act, &old, frame) ? SIG_ERR : old.sa_handler;
}

INTERPOSE void (*call_signal(int, void (*)(int)))(int) __asm__("signal");

void (*call_signal(int sig, void (*handler)(int)))(int)
{
	/* Relaxed: G6. */
	bool interrupts = sig > 0 && sig < _NSIG &&
			  atomic_load_explicit(&interrupting, memory_order_relaxed) & bit(sig);

	return handler_set(sig, handler, interrupts ? 0 : SA_RESTART, true, CALL_FRAME);
}

INTERPOSE void (*call_bsd_signal(int, void (*)(int)))(int) __asm__("bsd_signal")
	__attribute__((alias("signal")));
INTERPOSE void (*call_ssignal(int, void (*)(int)))(int) __asm__("ssignal")
	__attribute__((alias("signal")));

INTERPOSE void (*call_sysv_signal(int, void (*)(int)))(int) __asm__("sysv_signal");

void (*call_sysv_signal(int sig, void (*handler)(int)))(int)
{
	return handler_set(sig, handler, (int)SA_RESETHAND | SA_NODEFER | SA_INTERRUPT, false,
			   CALL_FRAME);
}

INTERPOSE void (*call__sysv_signal(int, void (*)(int)))(int) __asm__("__sysv_signal")
	__attribute__((alias("sysv_signal")));

INTERPOSE void (*call_sigset(int, void (*)(int)))(int) __asm__("sigset");

void (*call_sigset(int sig, void (*disp)(int)))(int)
{
	void (*old)(int);
	sigset_t set, before;

	sigemptyset(&set);
	if (disp == SIG_ERR || sigaddset(&set, sig)) {
		errno = EINVAL;
		return SIG_ERR;
	}
	if (disp == SIG_HOLD) {
		struct sigaction act;

		if (sigprocmask(SIG_BLOCK, &set, &before))
			return SIG_ERR;
		if (sigismember(&before, sig))
			return SIG_HOLD;
		return action_set(sig, NULL, &act, CALL_FRAME) ? SIG_ERR : act.sa_handler;
	}
	old = handler_set(sig, disp, 0, false, CALL_FRAME);
	if (old == SIG_ERR || sigprocmask(SIG_UNBLOCK, &set, &before))
		return SIG_ERR;
	return sigismember(&before, sig) ? SIG_HOLD : old;
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

/* What the mask is after a change that succeeded. */
static uint64_t mask_after(int how, const sigset_t *set, const sigset_t *old)
{
	uint64_t before = mask_of(old), given = mask_of(set);

	return how == SIG_BLOCK ? before | given : how == SIG_UNBLOCK ? before & ~given : given;
}

/*
 * A section ends before the mask changes, which handlers of signals that waited would otherwise be
 * part of.
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

typedef int (*real_mask_call)(int);

#define MASK_CALL(function)								\
	REAL_FUNCTION_AS(function, real_mask_call);					\
	INTERPOSE int call_##function(int) __asm__(#function);				\
	int call_##function(int arg)							\
	{										\
		int r = REAL(function)(arg);						\
											\
		mask_ask((const void *)call_##function, CALL_FRAME);			\
		return r;								\
	}

MASK_CALL(sigblock)
MASK_CALL(sigsetmask)
MASK_CALL(sighold)
MASK_CALL(sigrelse)

/* ---- Jumps bring the mask back that was saved, and leave handlers ---- */

enum { JUMP_MOST = 1 << 28 };

static void jump_settle(const struct __jmp_buf_tag *env, const void *frame)
{
	uintptr_t sp = jump_stack_pointer(env);
	struct agent_thread *t;

	/*
	 * Within a stack a jump goes upwards; a buffer that says something else was not made by
	 * this libc.
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

/* Behind a call that does not return another function may begin. */
#define JUMP_FRAME ((const void *[2]){ *(void **)CALL_FRAME, (const char *)CALL_SITE - 1 })

typedef void (*real_jump)(struct __jmp_buf_tag *, int) __attribute__((noreturn));

#define JUMP(function)							\
	REAL_FUNCTION_AS(function, real_jump);				\
	INTERPOSE void call_##function(struct __jmp_buf_tag *, \
		int) __asm__(#function) __attribute__((noreturn)); \
	void call_##function(struct __jmp_buf_tag *env, int value)	\
	{								\
		if (env->__mask_was_saved)				\
			mask_is(mask_of(&env->__saved_mask), (const void *)call_##function, \
				JUMP_FRAME); \
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
	mask_is(mask_of(&to->uc_sigmask), (const void *)setcontext, JUMP_FRAME);
	return REAL(setcontext)(to);
}

INTERPOSE int swapcontext(ucontext_t *from, const ucontext_t *to)
{
	mask_is(mask_of(&to->uc_sigmask), (const void *)swapcontext, CALL_FRAME);
	return REAL(swapcontext)(from, to);
}
