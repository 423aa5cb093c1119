/* SPDX-License-Identifier: MIT */
/*
 * walk.c - whether a thread's stack lets it load a library now (F2, F3 of attach.h)
 *
 * M1  A thread that is in a system call, or has just made one, is where a program or a library
 *     wants it to be: allocators and the dynamic linker make none of those in quiet_calls[] while
 *     their data are changed. The stack must show no such function either, as far as it can be
 *     read.
 * M2  Else the thread may be anywhere. Then its whole stack must be read, and its innermost
 *     function must not be libc's or an allocator's.
 * M3  A program may have the allocator in itself. Nothing says which of its functions it is, and it
 *     may wait for a second lock. So in such a program a thread that waits for a lock is not taken.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "cli/attach/attach.h"
#include "elf/program.h"

enum { FRAMES_MAX = 512, ROOM = 96 << 10, STACK_MOST = 512 << 20 };

/* Calls that wait, and those that move a program's data. */
static const uint16_t quiet_calls[] = {
	SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_poll, SYS_ppoll,
	SYS_select, SYS_pselect6, SYS_epoll_wait, SYS_epoll_pwait, 441 /* epoll_pwait2 */,
	SYS_nanosleep, SYS_clock_nanosleep, SYS_accept, SYS_accept4, SYS_connect, SYS_sendto,
	SYS_sendmsg, SYS_sendmmsg, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_wait4, SYS_waitid,
	SYS_rt_sigtimedwait, SYS_rt_sigsuspend, SYS_pause, SYS_futex, SYS_msgrcv, SYS_semop,
	SYS_semtimedop, SYS_io_getevents, SYS_sched_yield, SYS_restart_syscall, SYS_fsync,
	SYS_fdatasync, SYS_flock, SYS_sendfile, SYS_splice, SYS_fcntl, SYS_msgsnd,
	SYS_mq_timedsend, SYS_mq_timedreceive, SYS_io_pgetevents, 426 /* io_uring_enter */,
	449 /* futex_waitv */,
};

static bool in_quiet_call(const struct user_regs_struct *regs)
{
	for (size_t i = 0; i < sizeof(quiet_calls) / sizeof(*quiet_calls); i++)
		if (regs->orig_rax == quiet_calls[i])
			return true;
	return false;
}

struct frame {
	uint64_t	ip, sp, bp, bx;
	bool		has_bx, exact;	/* exact: ip is not a return address */
};

static bool frame_word(const struct target *t, uint64_t at, uint64_t *out)
{
	return target_load(t, at, out, sizeof(*out));
}

/* ---- A step, by a row of .eh_frame ---- */

static bool frame_saved(const struct target *t, const struct frame *f, uint64_t bits, uint64_t cfa,
			uint64_t *reg, bool *has)
{
	enum unwind_base base;
	int32_t offset;

	unwind_saved_unpack(bits, &base, &offset);
	*has &= base != UNWIND_LOST;
	if (base == UNWIND_AT_CFA)
		return frame_word(t, cfa + (uint64_t)(int64_t)offset, reg);
	if (base == UNWIND_AT_BP)
		return frame_word(t, f->bp + (uint64_t)(int64_t)offset, reg);
	return true;
}

static bool frame_cfa(const struct target *t, const struct frame *f, uint64_t row, uint64_t *cfa)
{
	const uint64_t offset = (uint64_t)(int64_t)unwind_cfa(row);

	switch (unwind_kind(row)) {
	case UNWIND_SP:
		*cfa = f->sp + offset;
		return true;
	case UNWIND_BP:
		*cfa = f->bp + offset;
		return true;
	case UNWIND_BX:
		*cfa = f->bx + offset;
		return f->has_bx;
	case UNWIND_BP_DEREF:
		return frame_word(t, f->bp + offset, cfa);
	case UNWIND_SP_DEREF:
	case UNWIND_SP_DEREF8:
		*cfa = 0;
		if (!frame_word(t, f->sp + offset, cfa))
			return false;
		*cfa += unwind_kind(row) == UNWIND_SP_DEREF8 ? 8 : 0;
		return true;
	default:
		return false;
	}
}

static bool frame_step(const struct target *t, struct frame *f, uint64_t row)
{
	struct frame up = { .bp = f->bp, .bx = f->bx, .has_bx = f->has_bx };
	bool has_bp = true;
	uint64_t cfa;

	if (!frame_cfa(t, f, row, &cfa) || cfa <= f->sp ||
	    !frame_word(t, cfa - 8 - 8ull * unwind_ret(row), &up.ip) ||
	    !frame_saved(t, f, row >> 32, cfa, &up.bp, &has_bp) ||
	    !frame_saved(t, f, row >> 48, cfa, &up.bx, &up.has_bx))
		return false;
	up.sp = cfa;
	*f = up;
	return true;
}

/* ---- What a function does ---- */

enum found { FOUND_GOOD, FOUND_BAD, FOUND_END, FOUND_UNKNOWN };

static bool in_ranges(const struct range *ranges, size_t nr, uint64_t ip)
{
	for (size_t i = 0; i < nr; i++)
		if (ip >= ranges[i].low && ip < ranges[i].high)
			return true;
	return false;
}

/* A thread that joins already waits for a server with locks of the agent. */
static bool is_agent(const struct object *o)
{
	return program_is_named(o->path, "libtracefuse");
}

/* A program may have the allocator in itself: then nothing says which of its functions it is. */
static bool is_allocator(const struct target *t, const struct object *o)
{
	return o->allocates && o != t->libc && o != t->program;
}

/* The functions of a row, and those that have none. */
static enum found frame_judge(const struct target *t, struct frame *f, unsigned int nr)
{
	const uint64_t ip = f->ip - !f->exact;
	struct object *o = target_object(t, ip);
	uint64_t row;

	if (!o)
		return FOUND_UNKNOWN;
	object_read(t, o);
	if (o == t->loader || is_allocator(t, o) || is_agent(o) ||
	    (o == t->libc && in_ranges(t->busy, t->nr_busy, ip)))
		return FOUND_BAD;
	row = o->tables.header ?
		      unwind_find(&o->tables, (uintptr_t)o->image + (uintptr_t)(ip - o->low)) : 0;
	if (unwind_kind(row) == UNWIND_END)
		return FOUND_END;
	if (unwind_kind(row) == UNWIND_SIGNAL || unwind_is_signal(row))
		return FOUND_BAD;
	return nr < FRAMES_MAX && frame_step(t, f, row) ? FOUND_GOOD : FOUND_UNKNOWN;
}

/* Goes from the innermost function outwards. */
static enum found stack_judge(const struct target *t, const struct user_regs_struct *regs)
{
	struct frame f = { regs->rip, regs->rsp, regs->rbp, regs->rbx, true, true };
	enum found found = FOUND_GOOD;

	for (unsigned int nr = 0; found == FOUND_GOOD; nr++)
		found = frame_judge(t, &f, nr);
	return found;
}

/*
 * M3. Whether the thread waits for something else than a lock: by the functions of libc that the
 * program has called.
 */
static bool waits_for_no_lock(const struct target *t, const struct user_regs_struct *regs)
{
	struct frame f = { regs->rip, regs->rsp, regs->rbp, regs->rbx, true, true };

	if (regs->orig_rax != SYS_futex && regs->orig_rax != SYS_sched_yield)
		return true;
	for (unsigned int nr = 0; target_object(t, f.ip - !f.exact) == t->libc; nr++) {
		if (in_ranges(t->waits, t->nr_waits, f.ip - !f.exact))
			return true;
		if (frame_judge(t, &f, nr) != FOUND_GOOD)
			return false;
	}
	return false;
}

/* ---- The thread's own stack ---- */

/* The mapping that has the address. */
static bool mapping_of(const struct target *t, uint64_t at, struct range *out)
{
	char path[64], line[512];
	bool found = false;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)t->pid);
	in = fopen(path, "re");
	while (in && !found && fgets(line, sizeof(line), in))
		found = sscanf(line, "%lx-%lx", &out->low, &out->high) == 2 && at >= out->low &&
			at < out->high;
	if (in)
		fclose(in);
	return found;
}

/* The first thread's stack grows, as far as its limit. */
static uint64_t main_stack_low(const struct target *t)
{
	struct rlimit r = { .rlim_cur = RLIM_INFINITY };
	const uint64_t most = STACK_MOST;

	prlimit(t->pid, RLIMIT_STACK, NULL, &r);
	return t->main_stack.high - (r.rlim_cur < most ? r.rlim_cur : most);
}

/*
 * Where the stack begins that libc gave the thread: an address and a size behind each other in its
 * struct pthread, which lies on top of the stack. A process that was made by another thread than
 * the first one has only such a thread.
 */
static uint64_t given_stack_low(const struct target *t, const struct user_regs_struct *regs)
{
	enum { WORDS = 320, ABOVE = 64 << 10, LOWEST = 64 << 10 };
	const uint64_t self = regs->fs_base;
	uint64_t word[WORDS];

	for (unsigned int i = 0; i < WORDS; i++) {
		if (!frame_word(t, self + 8 * i, &word[i]))
			return 0;
		if (i && word[i - 1] >= LOWEST && word[i - 1] <= regs->rsp && regs->rsp < self &&
		    word[i] < self && word[i - 1] + word[i] > self &&
		    word[i - 1] + word[i] - self <= ABOVE)
			return word[i - 1];
	}
	return 0;
}

/* F3 */
static bool on_own_stack(const struct target *t, pid_t tid, const struct user_regs_struct *regs)
{
	const uint64_t low = given_stack_low(t, regs);
	struct range m;

	if (low)
		return mapping_of(t, regs->rsp, &m) && regs->fs_base < m.high &&
		       regs->rsp - (low > m.low ? low : m.low) >= ROOM;
	return tid == t->pid && regs->rsp < t->main_stack.high &&
	       regs->rsp >= main_stack_low(t) + ROOM;
}

bool walk_is_good(const struct target *t, pid_t tid, const struct user_regs_struct *regs)
{
	const bool quiet = in_quiet_call(regs);
	struct object *o = target_object(t, regs->rip);
	enum found found;

	if (!on_own_stack(t, tid, regs))
		return false;
	if (o)
		object_read(t, o);
	/* M2; the program itself may have an allocator. */
	if (!quiet && (!o || o == t->libc || o->allocates))
		return false;
	object_read(t, t->program);
	if (t->program->allocates && !waits_for_no_lock(t, regs))
		return false;
	found = stack_judge(t, regs);
	return found == FOUND_END || (quiet && found == FOUND_UNKNOWN);
}
