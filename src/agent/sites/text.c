/* SPDX-License-Identifier: MIT */
/*
 * text.c - stores jumps in code that threads may be running
 *
 *     on      first bytes wait  |  rest of the jump  |  first bytes of the jump
 *     off     first bytes wait  |  rest, but for inner starts  |  inner starts  |  first bytes
 *             after each step all processors serialize; TEXT_ONCE is done in the first one
 *
 * T1  A processor fetches code in aligned blocks of 16 bytes or more. A store that stays inside one
 *     is seen whole or not at all, if it is atomic. So most jumps are stored at once (TEXT_ONCE).
 * T2  A thread may have been preempted at an inner start before the jump came, and go on at any
 *     time later. So the bytes at inner starts trap from the first step on, as long as the jump is
 *     there. They have their old values again only after all bytes behind them.
 * T3  A jump that crosses a block is stored in steps. Meanwhile its first two bytes are a jump to
 *     itself (TEXT_SPIN). If these are in two words of eight bytes, or the second one is an inner
 *     start, the first byte traps (TEXT_TRAP).
 * T4  The steps are for pages that are changed in place (X3 of pages.h). Copies take the pages'
 *     places with all bytes at once (E5 of pages.c).
 */
#include <linux/membarrier.h>
#include <stdatomic.h>
#include <string.h>
#include "agent/sites/sites.h"
#include "agent/sites/text.h"
#include "agent/syscall.h"
#include "elf/code/insn.h"

enum { BLOCK = 16, WORD = 8 };

void text_serialize(void)
{
	/* A child of fork() has not registered yet. */
	if (agent_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) &&
	    patch_live())
		agent_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
}

/* ---- Stores ---- */

static void store_byte(uint8_t *at, uint8_t value)
{
	/* Relaxed: a processor takes the old byte or the new one. */
	__atomic_store_n(at, value, __ATOMIC_RELAXED);
}

/* Both are in one word of eight bytes. */
static void store_two(uint8_t *at, uint8_t first, uint8_t second)
{
	const uint16_t both = (uint16_t)(first | second << 8);

	__asm__ __volatile__("movw %1, %0" : "=m"(*(uint16_t *)at) : "r"(both) : "memory");
}

/* T1. */
static void store_all(uint8_t *at, const uint8_t bytes[NEAR_JUMP])
{
	uint64_t *block = (uint64_t *)((uintptr_t)at & -(uintptr_t)BLOCK);
	uint64_t old[2], now[2];
	bool done;

	do {
		old[0] = __atomic_load_n(&block[0], __ATOMIC_RELAXED);
		old[1] = __atomic_load_n(&block[1], __ATOMIC_RELAXED);
		memcpy(now, old, sizeof(now));
		memcpy((uint8_t *)now + ((uintptr_t)at & (BLOCK - 1)), bytes, NEAR_JUMP);
		__asm__ __volatile__("lock cmpxchg16b %1"
				     : "=@ccz"(done), "+m"(*(uint64_t(*)[2])block), "+a"(old[0]),
				       "+d"(old[1])
				     : "b"(now[0]), "c"(now[1])
				     : "memory");
	} while (!done);
}

/* ---- Steps ---- */

static bool is_inner(const struct text_jump *j, unsigned int i)
{
	return j->inner >> i & 1;
}

enum text_way text_way(const struct text_jump *j)
{
	const uintptr_t at = (uintptr_t)j->at;

	if (at % BLOCK <= BLOCK - NEAR_JUMP)
		return TEXT_ONCE;
	return !j->leads && at % WORD < WORD - 1 && !is_inner(j, 1) ? TEXT_SPIN : TEXT_TRAP;
}

static unsigned int head_size(const struct text_jump *j)
{
	return text_way(j) == TEXT_SPIN ? 2 : 1;
}

static void head_store(const struct text_jump *j, uint8_t first, uint8_t second)
{
	if (text_way(j) == TEXT_SPIN)
		store_two(j->at, first, second);
	else
		store_byte(j->at, first);
}

static void head_wait(const struct text_jump *j)
{
	if (text_way(j) == TEXT_SPIN)
		store_two(j->at, INSN_OP_JMP_8, 0xfe);
	else
		store_byte(j->at, TEXT_TRAP_BYTE);
}

static void rest_store(const struct text_jump *j, const uint8_t *bytes, bool inner)
{
	for (unsigned int i = head_size(j); i < NEAR_JUMP; i++)
		if (is_inner(j, i) == inner)
			store_byte(j->at + i, bytes[i]);
}

static void step_on(const struct text_jump *j, unsigned int step)
{
	if (text_way(j) == TEXT_ONCE) {
		if (!step)
			store_all(j->at, j->on);
		return;
	}
	switch (step) {
	case 0:
		head_wait(j);
		rest_store(j, j->on, true);
		break;
	case 1:
		rest_store(j, j->on, false);
		break;
	default:
		head_store(j, j->on[0], j->on[1]);
	}
}

static void step_off(const struct text_jump *j, unsigned int step)
{
	if (text_way(j) == TEXT_ONCE) {
		if (!step)
			store_all(j->at, j->off);
		return;
	}
	switch (step) {
	case 0:
		head_wait(j);
		break;
	case 1: case 2:
		rest_store(j, j->off, step == 2);
		break;
	default:
		head_store(j, j->off[0], j->off[1]);
	}
}

/* ---- Pages ---- */

/* Segments that are being changed. */
struct texts_open {
	struct pages_open of[SITE_TEXTS];
	unsigned int	nr;
};

/* The jump where its bytes are to be stored. The place inside a block is the same. */
static struct text_jump jump_stored(struct texts_open *t, const struct text_jump *j)
{
	struct text_jump stored = *j;

	for (unsigned int i = 0; i < t->nr; i++)
		if ((uintptr_t)j->at >= t->of[i].pages.low &&
		    (uintptr_t)j->at < t->of[i].pages.high)
			stored.at = pages_at(&t->of[i], j->at, NEAR_JUMP);
	return stored;
}

static void store_steps(struct texts_open *t, const struct text_jump *jumps, size_t nr, bool on)
{
	unsigned int steps = 1;

	for (size_t i = 0; i < nr; i++)
		if (text_way(&jumps[i]) != TEXT_ONCE)
			steps = on ? 3 : 4;
	for (unsigned int step = 0; step < steps; step++) {
		for (size_t i = 0; i < nr; i++) {
			const struct text_jump j = jump_stored(t, &jumps[i]);

			(on ? step_on : step_off)(&j, step);
		}
		text_serialize();
	}
}

static void store_alone(struct texts_open *t, const struct text_jump *jumps, size_t nr, bool on)
{
	for (size_t i = 0; i < nr; i++)
		memcpy(jump_stored(t, &jumps[i]).at, on ? jumps[i].on : jumps[i].off, NEAR_JUMP);
}

/* The pages of one segment that have jumps. False: it has none. */
static bool pages_used(const struct text_jump *jumps, size_t nr, const struct pages *text,
		       struct pages *out)
{
	uintptr_t low = UINTPTR_MAX, high = 0;

	for (size_t i = 0; i < nr; i++) {
		const uintptr_t at = (uintptr_t)jumps[i].at;

		if (at < text->low || at >= text->high)
			continue;
		low = at < low ? at : low;
		high = at + NEAR_JUMP > high ? at + NEAR_JUMP : high;
	}
	if (!high)
		return false;
	*out = pages_of((const void *)low, high - low);
	out->prot = text->prot;
	out->head = text->head;
	return true;
}

static int texts_end(struct texts_open *t)
{
	int err = 0;

	while (t->nr) {
		const int this_err = pages_end(&t->of[--t->nr]);

		err = err ? err : this_err;
	}
	return err;
}

static int texts_begin(struct texts_open *t, const struct text_jump *jumps, size_t nr,
		       const struct pages *texts, unsigned int nr_texts, bool in_place)
{
	struct pages used;
	int err = 0;

	t->nr = 0;
	for (unsigned int i = 0; !err && i < nr_texts && t->nr < SITE_TEXTS; i++) {
		if (!pages_used(jumps, nr, &texts[i], &used))
			continue;
		t->of[t->nr].in_place = false;
		err = pages_begin(&t->of[t->nr], &used, in_place);
		t->nr += !err;
	}
	if (err)
		texts_end(t);
	return err;
}

int text_switch(const struct text_jump *jumps, size_t nr, bool on, bool alone,
		const struct pages *texts, unsigned int nr_texts)
{
	struct texts_open open;
	int err = 0;

	/* In place, if copies cannot be exchanged: those that are, are stored again. */
	for (int in_place = 0; in_place < 2; in_place++) {
		err = texts_begin(&open, jumps, nr, texts, nr_texts, in_place);
		if (err)
			return err;
		if (alone)
			store_alone(&open, jumps, nr, on);
		else
			store_steps(&open, jumps, nr, on);
		err = texts_end(&open);
		if (!err)
			break;
	}
	return err;
}
