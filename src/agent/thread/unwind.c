/* SPDX-License-Identifier: MIT */
/*
 * unwind.c - the caller of a function, by .eh_frame: rows, and the process's cache of them
 *
 *     ip -> cache -> _dl_find_object(): .eh_frame_hdr -> unwind_find(): a row as a word
 *                                             row + registers + stack -> the caller's registers
 *
 * W1  A place of the cache has two words: a row, and the address with the age of the objects, mixed
 *     with the row. A reader computes the second one from the first one. So a row that is half
 *     written, or belongs to another address, is not taken. No thread waits for another one.
 * W2  dlclose() raises the age (dso.c, D2), so rows of an object that is gone are not found. Tables
 *     are not read while objects may be unmapped.
 * W3  Tables may have any content: unwind_find() stays within the segment that has the header. What
 *     it says of the stack is checked: only S1's memory is read, and the stack pointer grows.
 *     If a program has taken away a table's memory, the guard leaves unwind_read() (guard.c).
 */
#include <string.h>
#include "agent/graph/frame.h"
#include "agent/probes/probes.h"
#include "agent/sites/state.h"
#include "agent/state.h"
#include "agent/thread/unwind.h"
#include "elf/code/unwind.h"

enum {
	ROWS = 4096,
	PAGE = 4096,
	/* Bytes from the kernel's frame of a signal to the stack that it interrupted, at most. */
	SIGNAL_FRAME = 16384,
	/* Bytes of a handler's alternate stack for reading tables. */
	TABLE_ROOM = 2048,
	/* In the kernel's frame of a signal, from the stack pointer on: struct ucontext. */
	SIGNAL_BP = 120, SIGNAL_BX = 128, SIGNAL_SP = 160, SIGNAL_IP = 168,
};

/* W1. The process's own; a child of fork() has the same objects. */
static struct row_place {
	_Atomic uint64_t check, word;
} rows[ROWS];

static uint64_t row_mix(uint64_t word)
{
	return word * 0x9e3779b97f4a7c15ull;
}

/* All bits of the age count: a program may close more than 65,536 objects. */
static uint64_t row_key(uintptr_t ip, uint32_t age)
{
	return row_mix(ip) ^ age * 0xd6e8feb86659fd93ull;
}

static struct row_place *row_place(uintptr_t ip)
{
	return &rows[(ip * 0x9e3779b97f4a7c15ull) >> 52];
}

/* ---- Tables ---- */

/* Code that a handler returns to, without an entry of its own: mov $15, %eax or %rax; syscall. */
static bool is_sigreturn(const struct dso_tables *d, uintptr_t ip)
{
	static const uint8_t call[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 },
			     short_call[] = { 0xb8, 15, 0, 0, 0, 0x0f, 0x05 };

	if (ip < d->code || ip > d->code_end || d->code_end - ip < sizeof(call))
		return false;
	return !memcmp((const void *)ip, call, sizeof(call)) ||
	       !memcmp((const void *)ip, short_call, sizeof(short_call));
}

/*
 * The row of `ip`. exact: it is not one less than a return address. The first function of a
 * coroutine returns to the start of one of libc, with no code before it: nothing has called that.
 */
static uint64_t table_read(const struct dso_tables *d, uintptr_t ip, bool exact)
{
	const struct unwind_tables tables = { d->low, d->high, d->header };
	const uint64_t word = d->header ? unwind_find(&tables, ip) : 0;

	if (word || exact || !d->header || (ip + 1) % 16 || !unwind_find(&tables, ip + 1))
		return word;
	return unwind_pack(&(struct unwind_row){ .kind = UNWIND_END });
}

uint64_t unwind_read(uintptr_t ip, bool exact)
{
	struct dso_tables d;
	uint64_t word;

	if (!dso_tables(ip, &d))
		return 0;
	word = table_read(&d, ip, exact);
	if ((!word || word == UNWIND_UNREAD) && is_sigreturn(&d, ip + !exact))
		word = unwind_pack(&(struct unwind_row){ .kind = UNWIND_SIGNAL });
	return word;
}

static uint64_t row_read(struct agent_thread *t, uintptr_t ip, bool exact)
{
	const uint8_t busy = t->busy;
	uint64_t word;

	/* Relaxed: a thread that runs code of an object keeps it. W2 is for stacks that lie. */
	if (atomic_load_explicit(&sites.moving, memory_order_relaxed) ||
	    !stack_has_room((uintptr_t)__builtin_frame_address(0), TABLE_ROOM))
		/* Not by the frame pointer: that would leave out functions that do not set it. */
		return UNWIND_UNREAD;
	t->busy = 1;	/* dso.c, D4 */
	word = guarded_unwind_read(ip, exact, &t->reading);
	t->busy = busy;
	return word;
}

static uint64_t row_find(struct agent_thread *t, uintptr_t ip, bool exact)
{
	struct row_place *p = row_place(ip);
	/* Pairs with the release in agent_dso_closed(). */
	const uint64_t key = row_key(ip, atomic_load_explicit(&agent_dso_age,
							      memory_order_acquire));
	/* Relaxed, all of them: W1. */
	uint64_t word = atomic_load_explicit(&p->word, memory_order_relaxed);

	if (__builtin_expect((atomic_load_explicit(&p->check, memory_order_relaxed) ^
			      row_mix(word)) == key, 1))
		return word;
	word = row_read(t, ip, exact);
	if (word && word != UNWIND_UNREAD) {
		atomic_store_explicit(&p->word, word, memory_order_relaxed);
		atomic_store_explicit(&p->check, key ^ row_mix(word), memory_order_relaxed);
	}
	return word;
}

/* ---- Memory of the stack ---- */

void unwind_bounds(struct unwind_walk *w)
{
	const struct agent_thread *t = w->thread;
	const struct agent_region *a = agent_alternate();
	const uintptr_t sp = w->r.sp;

	w->low = sp;
	if (stack_alternate(sp))
		w->high = a->start + a->size;
	else if (is_own(t, sp))
		w->high = t->stack_high;
	else
		w->high = (sp | (PAGE - 1)) + 1;
}

static inline bool word_load(const struct unwind_walk *w, uintptr_t at, uintptr_t *out)
{
	if (at < w->low || at >= w->high || w->high - at < sizeof(*out) || at % sizeof(*out))
		return false;
	*out = *(const uintptr_t *)at;
	return true;
}

/* ---- A step ---- */

/* always_inline, here and below: a step takes 8 ns so, and 10 with calls. */
static inline __attribute__((always_inline)) bool
saved_load(const struct unwind_walk *w, uint64_t bits, uintptr_t cfa, uintptr_t *out, bool *has)
{
	enum unwind_base base;
	int32_t offset;

	unwind_saved_unpack(bits, &base, &offset);
	switch (base) {
	case UNWIND_SAME:
		return true;
	case UNWIND_AT_CFA:
		*has = true;
		return word_load(w, cfa + (uintptr_t)(intptr_t)offset, out);
	case UNWIND_AT_BP:
		*has = true;
		return word_load(w, w->r.bp + (uintptr_t)(intptr_t)offset, out);
	case UNWIND_LOST:
		*has = false;
	}
	return true;
}

static inline __attribute__((always_inline)) bool
cfa_load(const struct unwind_walk *w, uint64_t word, uintptr_t *cfa)
{
	const uintptr_t offset = (uintptr_t)(intptr_t)unwind_cfa(word);

	switch (unwind_kind(word)) {
	case UNWIND_SP:
		*cfa = w->r.sp + offset;
		return true;
	case UNWIND_BP:
		*cfa = w->r.bp + offset;
		return true;
	case UNWIND_BX:
		*cfa = w->r.bx + offset;
		return w->has_bx;
	case UNWIND_BP_DEREF:
		return word_load(w, w->r.bp + offset, cfa);
	case UNWIND_SP_DEREF:
		return word_load(w, w->r.sp + offset, cfa);
	case UNWIND_SP_DEREF8:
		if (!word_load(w, w->r.sp + offset, cfa))
			return false;
		*cfa += 8;
		return true;
	default:
		return false;
	}
}

/*
 * What of an interrupted stack may be read. A program may have had any stack pointer there: that of
 * a guard page, or none. So a stack that is not known is read only if the kernel's frame, which is
 * at `frame`, was written below it, and then as far as its page.
 */
static void interrupted_bounds(struct unwind_walk *w, uintptr_t frame)
{
	const uintptr_t sp = w->r.sp;

	unwind_bounds(w);
	if (stack_alternate(sp) || is_own(w->thread, sp))
		return;
	w->high = sp;
	if (!stack_alternate(frame) && !is_own(w->thread, frame) && sp - frame < SIGNAL_FRAME)
		w->high = ((sp - 1) | (PAGE - 1)) + 1;
}

/* What a signal has interrupted. It may be on another stack. */
static enum unwind_step step_signal(struct unwind_walk *w)
{
	const uintptr_t sp = w->r.sp;
	struct unwind_registers r;

	if (!word_load(w, sp + SIGNAL_IP, &r.ip) || !word_load(w, sp + SIGNAL_SP, &r.sp) ||
	    !word_load(w, sp + SIGNAL_BP, &r.bp) || !word_load(w, sp + SIGNAL_BX, &r.bx))
		return UNWIND_CUT;
	/* On the same stack it is above the signal's frame. */
	if (stack_alternate(r.sp) == stack_alternate(sp) && r.sp <= sp)
		return UNWIND_CUT;
	w->r = r;
	w->exact = w->has_bx = true;
	interrupted_bounds(w, sp);
	return UNWIND_STEPPED;
}

/* The return address at w->slot, which function_graph may have replaced. */
static inline __attribute__((always_inline)) bool
return_load(struct unwind_walk *w, uintptr_t cfa, uintptr_t slot)
{
	uintptr_t ret;

	if (cfa <= w->r.sp || cfa > w->high || !word_load(w, slot, &ret))
		return false;
	w->slot = slot;
	w->r.ip = is_label(ret) ? graph_looked_up((const uintptr_t *)slot) : ret;
	w->r.sp = cfa;
	w->exact = false;
	return true;
}

static inline __attribute__((always_inline)) enum unwind_step
step_by(struct unwind_walk *w, uint64_t word)
{
	uintptr_t cfa, bp = w->r.bp, bx = w->r.bx;
	bool has_bp = true;

	if (!cfa_load(w, word, &cfa) || !saved_load(w, word >> 32, cfa, &bp, &has_bp) ||
	    !saved_load(w, word >> 48, cfa, &bx, &w->has_bx) ||
	    !return_load(w, cfa, cfa - 8 - 8 * (uintptr_t)unwind_ret(word)))
		return UNWIND_CUT;
	w->r.bp = has_bp ? bp : 0;
	w->r.bx = bx;
	return w->r.ip ? UNWIND_STEPPED : UNWIND_WHOLE;
}

/* By the frame pointer. */
static enum unwind_step step_by_frame(struct unwind_walk *w)
{
	const uintptr_t fp = w->r.bp;
	uintptr_t bp;

	if (fp < w->r.sp || !word_load(w, fp, &bp) || !return_load(w, fp + 16, fp + 8))
		return UNWIND_CUT;
	w->r.bp = bp;
	w->has_bx = false;
	return w->r.ip ? UNWIND_STEPPED : UNWIND_WHOLE;
}

enum unwind_step unwind_step(struct unwind_walk *w)
{
	const uint64_t word = row_find(w->thread, w->r.ip - !w->exact, w->exact);

	switch (unwind_kind(word)) {
	case UNWIND_NONE:
		return step_by_frame(w);
	case UNWIND_SIGNAL:
		return step_signal(w);
	case UNWIND_END:
		return UNWIND_WHOLE;
	default:
		return step_by(w, word);
	}
}
