/* SPDX-License-Identifier: MIT */
/*
 * remote.c - a stopped thread loads the agent and joins the session; see attach.h
 *
 *     state of the thread -> its stack (F1)
 *     mmap()              -> a page for stub.S
 *     stub.S              -> the answer, from the arguments of its last system call
 *     munmap(), the thread's registers as they were, PTRACE_DETACH
 *
 * The page is never writable: what is in it is written as a debugger writes into code. Signals stay
 * pending meanwhile, but those of faults.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "cli/attach/attach.h"
#include "cli/attach/stub.h"

enum {
	XSTATE_MAX	= 16384,
	RED_ZONE	= 128,
	ANSWER_MS	= 30000,
	CALL_MS		= 5000,
	PAGE		= 8192,		/* bytes of stub.S and its texts, in whole pages */
	MASK_BYTES	= 8,
	/* In the bytes of the state that the kernel leaves to software */
	SW_RESERVED	= 464,
	MAGIC1		= 0x46505853,
	MAGIC2		= 0x46505845,
	/* Of uc_flags */
	UC_FLAGS	= 7,
	CLOBBERED_FLAGS	= 0x100 | 0x400,	/* TF, DF */
};

/* What the kernel puts on the stack for a handler: struct rt_sigframe, without its siginfo. */
struct signal_frame {
	uint64_t	sigreturn;	/* what a call returns to */
	uint64_t	flags, link;
	stack_t		stack;
	uint64_t	regs[23];	/* in ucontext's order */
	uint64_t	fpstate, reserved[8];
	uint64_t	mask;
};

struct remote {
	const struct target *target;
	pid_t		tid;
	struct user_regs_struct regs;
	uint64_t	mask;
	unsigned char	xstate[XSTATE_MAX];
	size_t		xstate_size;
	uint64_t	frame;		/* address of the signal_frame */
	uint64_t	page;
};

/* ---- The thread's state ---- */

static bool state_save(struct remote *r)
{
	struct iovec v = { r->xstate, sizeof(r->xstate) };

	if (ptrace(PTRACE_GETREGSET, r->tid, (void *)NT_X86_XSTATE, &v) ||
	    ptrace(PTRACE_GETSIGMASK, r->tid, (void *)MASK_BYTES, &r->mask))
		return false;
	r->xstate_size = v.iov_len;
	return r->xstate_size + 4 <= sizeof(r->xstate) && r->xstate_size >= SW_RESERVED + 48;
}

static bool state_restore(const struct remote *r)
{
	struct iovec v = { (void *)r->xstate, r->xstate_size };

	return !ptrace(PTRACE_SETREGSET, r->tid, (void *)NT_X86_XSTATE, &v) &&
	       !ptrace(PTRACE_SETSIGMASK, r->tid, (void *)MASK_BYTES, &r->mask) &&
	       !ptrace(PTRACE_SETREGS, r->tid, NULL, &r->regs);
}

/* All signals but those of faults, which would be fatal if they were blocked. */
static bool signals_hold(const struct remote *r)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
	uint64_t mask = ~0ull;

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		mask &= ~(1ull << (faults[i] - 1));
	return !ptrace(PTRACE_SETSIGMASK, r->tid, (void *)MASK_BYTES, &mask);
}

/* F1. Where the kernel would begin a system call again, the state does. */
static void frame_registers(const struct remote *r, struct signal_frame *f)
{
	enum { RESTARTS_FROM = 512, RESTARTS_TO = 516 };
	const struct user_regs_struct *g = &r->regs;
	const int64_t result = (int64_t)g->rax;
	const bool again = (int64_t)g->orig_rax >= 0 && -result >= RESTARTS_FROM &&
			   -result <= RESTARTS_TO;
	const uint64_t regs[] = {
		g->r8, g->r9, g->r10, g->r11, g->r12, g->r13, g->r14, g->r15, g->rdi, g->rsi,
		g->rbp, g->rbx, g->rdx, again ? g->orig_rax : g->rax, g->rcx, g->rsp,
		again ? g->rip - 2 : g->rip, g->eflags,
		(g->cs & 0xffff) | (g->ss & 0xffff) << 48,
	};

	memcpy(f->regs, regs, sizeof(regs));
}

/* F1. Without an alternate stack: flags that the kernel refuses leave it as it is. */
static bool state_to_stack(struct remote *r)
{
	const uint64_t top = r->regs.rsp - RED_ZONE;
	const uint64_t fpstate = (top - r->xstate_size - 4) & ~63ull;
	struct signal_frame f = { .sigreturn = r->target->sigreturn, .flags = UC_FLAGS,
				  .stack = { .ss_flags = 0x7fff }, .fpstate = fpstate,
				  .mask = r->mask };
	const uint32_t sizes[] = { MAGIC1, (uint32_t)r->xstate_size + 4 },
		       size = (uint32_t)r->xstate_size, magic2 = MAGIC2;
	unsigned char bytes[XSTATE_MAX];

	frame_registers(r, &f);
	memcpy(bytes, r->xstate, r->xstate_size);
	/* The mask of what is saved comes first in what the kernel reads, and ptrace() has it. */
	memmove(bytes + SW_RESERVED + 8, bytes + SW_RESERVED, 8);
	memcpy(bytes + SW_RESERVED, sizes, sizeof(sizes));
	memcpy(bytes + SW_RESERVED + 16, &size, sizeof(size));
	memcpy(bytes + r->xstate_size, &magic2, sizeof(magic2));
	/* A call leaves the stack pointer 8 below a multiple of 16. */
	r->frame = ((fpstate - sizeof(f)) & ~15ull) - 8;
	return target_store(r->target, fpstate, bytes, r->xstate_size + 4) &&
	       target_store(r->target, r->frame, &f, sizeof(f));
}

/* ---- Calls ---- */

/* Begins a call of the function. It returns to the thread's state on its stack. */
static bool call_begin(const struct remote *r, uint64_t function, const uint64_t args[6])
{
	struct user_regs_struct g = r->regs;

	g.rip = function;
	g.rsp = r->frame;
	g.rdi = args[0];
	g.rsi = args[1];
	g.rdx = args[2];
	g.rcx = args[3];
	g.r8 = args[4];
	g.r9 = args[5];
	g.rax = 0;
	g.orig_rax = (unsigned long long)-1;
	g.eflags &= ~(unsigned long long)CLOBBERED_FLAGS;
	return !ptrace(PTRACE_SETREGS, r->tid, NULL, &g);
}

/* Lets the thread run to the begin or the end of its next system call. */
static bool run_to_stop(const struct remote *r, struct user_regs_struct *g, int ms)
{
	int status = 0;

	do {
		if (stop_go_on(r->tid, status, PTRACE_SYSCALL))
			return false;
		status = stop_wait(r->tid, ms);
		if (status < 0)
			return false;
	} while (WSTOPSIG(status) != (SIGTRAP | 0x80));
	return !ptrace(PTRACE_GETREGS, r->tid, NULL, g);
}

/* Stops the thread where the kernel begins system calls again: not where one begins or ends. */
static bool stop_again(const struct remote *r)
{
	return !ptrace(PTRACE_INTERRUPT, r->tid, NULL, NULL) &&
	       !ptrace(PTRACE_CONT, r->tid, NULL, NULL) && stop_await(r->tid);
}

/* A function of libc that makes one system call. -> what the kernel has answered */
static bool call_system(const struct remote *r, enum target_function function,
			const uint64_t args[6], uint64_t *result)
{
	struct user_regs_struct g;

	if (!call_begin(r, r->target->functions[function], args) ||
	    !run_to_stop(r, &g, CALL_MS) || !run_to_stop(r, &g, CALL_MS))
		return false;
	*result = g.rax;
	return stop_again(r);
}

static bool page_map(struct remote *r)
{
	const uint64_t args[6] = { 0, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
				   (uint64_t)-1, 0 };

	return call_system(r, TARGET_MMAP, args, &r->page) && r->page < -4095ull;
}

static bool page_unmap(const struct remote *r)
{
	const uint64_t args[6] = { r->page, PAGE };
	uint64_t result;

	return call_system(r, TARGET_MUNMAP, args, &result);
}

/* ---- stub.S ---- */

static bool stub_store(const struct remote *r, const char *library, const char *dir)
{
	const size_t code = (size_t)(attach_stub_end - attach_stub);
	unsigned char page[PAGE] = { 0 };

	if (code + 2 * ATTACH_PATH > sizeof(page))
		return false;
	memcpy(page, attach_stub, code);
	memcpy(page, &r->target->functions[TARGET_DLOPEN], 4 * sizeof(uint64_t));
	snprintf((char *)page + code, ATTACH_PATH, "%s", library);
	snprintf((char *)page + code + ATTACH_PATH, ATTACH_PATH, "%s", dir);
	/* As a debugger stores a breakpoint: the page is not writable. */
	return target_store(r->target, r->page, page, sizeof(page));
}

static void text_load(const struct remote *r, uint64_t at, char why[ATTACH_WHY])
{
	size_t i = 0;

	while (i < ATTACH_WHY - 1 && target_load(r->target, at + i, &why[i], 1) && why[i])
		i++;
	why[i] = '\0';
	for (char *c = why; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
}

/* Lets the thread run to the mark of stub.S. The call that marks it is left out. */
static bool stub_run(const struct remote *r, struct remote_answer *out, char why[ATTACH_WHY])
{
	const uint64_t args[6] = { 0 };
	struct user_regs_struct g;

	if (!call_begin(r, r->page + (uint64_t)(attach_stub_code - attach_stub), args))
		return false;
	do {
		if (!run_to_stop(r, &g, ANSWER_MS))
			return false;
	} while (g.orig_rax != SYS_getpid || g.rdi != ATTACH_MARK || (int64_t)g.rax != -ENOSYS);
	out->loaded = g.rsi;
	out->err = out->loaded ? (int)g.rdx : -ELIBACC;
	if (!out->loaded)
		text_load(r, g.rdx, why);
	g.orig_rax = (unsigned long long)-1;
	return !ptrace(PTRACE_SETREGS, r->tid, NULL, &g) && stop_again(r);
}

/* ---- All of it ---- */

static int remote_failed(const struct remote *r, const char *what, char why[ATTACH_WHY])
{
	if (kill(r->target->pid, 0))
		snprintf(why, ATTACH_WHY, "it has ended meanwhile");
	else
		snprintf(why, ATTACH_WHY, "%s", what);
	return -1;
}

static int remote_run(struct remote *r, const char *library, const char *dir,
		      struct remote_answer *out, char why[ATTACH_WHY])
{
	if (!signals_hold(r) || !state_to_stack(r))
		return remote_failed(r, "its stack cannot be written", why);
	if (!page_map(r))
		return remote_failed(r, "it can map no code", why);
	if (!stub_store(r, library, dir))
		return remote_failed(r, "code cannot be written into it", why);
	if (!stub_run(r, out, why))
		return remote_failed(r, "it has not answered for 30 seconds; it may still join",
				     why);
	if (!page_unmap(r))
		return remote_failed(r, "it did not go on as it should", why);
	return 0;
}

int remote_attach(const struct target *t, const struct moment *m, const char *library,
		  const char *dir, struct remote_answer *out, char why[ATTACH_WHY])
{
	struct remote r = { .target = t, .tid = m->tid, .regs = m->regs };
	int err;

	*out = (struct remote_answer){ 0 };
	if (!state_save(&r))
		err = remote_failed(&r, "its registers cannot be read", why);
	else
		err = remote_run(&r, library, dir, out, why);
	/* Where it could not be stopped again, it goes on by what is on its stack (F1). */
	if (r.xstate_size)
		state_restore(&r);
	stop_let_go(r.tid);
	return err;
}
