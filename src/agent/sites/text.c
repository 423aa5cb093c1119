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
 * T4  Memory is writable and executable at once only while this runs: threads run there (pages.c).
 */
#include <linux/membarrier.h>
#include <stdatomic.h>
#include <string.h>
#include "agent/sites/sites.h"
#include "agent/sites/text.h"
#include "agent/syscall.h"

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
		store_two(j->at, 0xeb, 0xfe);
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

static void store_steps(const struct text_jump *jumps, size_t nr, bool on)
{
	unsigned int steps = 1;

	for (size_t i = 0; i < nr; i++)
		if (text_way(&jumps[i]) != TEXT_ONCE)
			steps = on ? 3 : 4;
	for (unsigned int step = 0; step < steps; step++) {
		for (size_t i = 0; i < nr; i++)
			(on ? step_on : step_off)(&jumps[i], step);
		text_serialize();
	}
}

static void store_alone(const struct text_jump *jumps, size_t nr, bool on)
{
	for (size_t i = 0; i < nr; i++)
		memcpy(jumps[i].at, on ? jumps[i].on : jumps[i].off, NEAR_JUMP);
}

/* ---- Pages ---- */

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
	return true;
}

int text_switch(const struct text_jump *jumps, size_t nr, bool on, bool alone,
		const struct pages *texts, unsigned int nr_texts)
{
	struct pages used[SITE_TEXTS];
	struct pages_kept kept[SITE_TEXTS];
	unsigned int nr_open = 0;
	int err = 0;

	for (unsigned int i = 0; !err && i < nr_texts && nr_open < SITE_TEXTS; i++) {
		if (!pages_used(jumps, nr, &texts[i], &used[nr_open]))
			continue;
		kept[nr_open].nr = 0;
		/* Relaxed: as in patch.c. */
		if (atomic_load_explicit(&patch_asks, memory_order_relaxed))
			err = pages_look(&used[nr_open], &kept[nr_open]);
		if (!err)
			err = pages_open(&used[nr_open], &kept[nr_open]);
		nr_open += !err;
	}
	if (!err && alone)
		store_alone(jumps, nr, on);
	else if (!err)
		store_steps(jumps, nr, on);
	while (nr_open--)
		pages_close(&used[nr_open], &kept[nr_open]);
	return err;
}
