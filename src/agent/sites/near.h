/* SPDX-License-Identifier: MIT */
/*
 * near.h - memory near code, for code of ours that a jump of five bytes reaches (near.c)
 *
 *     near_take(), near_take() ... -> written -> near_seal(): executable, and never written again
 *
 *     text              e9 d0 d1 d2 d3          a jump at an instruction that is displaced, with
 *                       |     |                 the starts of other instructions inside it
 *     near memory       at the jump's end + d3d2d1d0
 *
 * A thread may stand at such an inner start when the jump is stored, and execute what is there
 * then. So near_take() can choose a place whose distance has a byte that traps at each inner
 * start. Such a thread faults before it has done anything, and is led on.
 *
 * Included by the C files of src/agent. No call asks the kernel what is mapped, so the agent's
 * task, which may open no file, can make them.
 */
#ifndef TRACEFUSE_AGENT_SITES_NEAR_H
#define TRACEFUSE_AGENT_SITES_NEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "elf/code/insn.h"

enum { NEAR_WINDOWS = 11, NEAR_JUMP = 5 };

struct near_window {
	uintptr_t	base;		/* 0: it could not be mapped */
	size_t		size;
	/* Of its bytes in pieces of 16: taken. Behind that, of its pages: open, sealed. */
	uint64_t	*taken, *open, *sealed;
	uint32_t	next[32];	/* by inner starts: where to look first */
	uint32_t	again;		/* a bit for each of them: it was set back to the start */
	bool		tried;
};

/* Memory near the code from low to high. Zeroed, but for these two: nothing is mapped yet. */
struct near {
	uintptr_t	low, high;
	struct near_window windows[NEAR_WINDOWS];
};

/* Whether an instruction with this first byte, in user mode, raises SIGSEGV and does nothing. */
bool near_is_trap(uint8_t byte);
/*
 * `size` bytes for a jump that begins at `at`, in [low, high). inner: a bit for each of the bytes 1
 * to 4 of the jump where an instruction began: there the distance has a byte that traps. They are
 * writable until near_seal(). NULL: there is no such place.
 */
void *near_take(struct near *n, uintptr_t at, unsigned int inner, size_t size);
/* What was taken becomes readable and executable, and nothing else: 0, -errno. */
int near_seal(struct near *n);
/* The code is unmapped. */
void near_free(struct near *n);

/* The distance of a jump at `at` to `to`. */
static inline uint32_t near_distance(uintptr_t at, const void *to)
{
	return (uint32_t)((uintptr_t)to - (at + NEAR_JUMP));
}

/* The bytes of a jump at `at` to `to`. */
static inline void near_jump(uint8_t out[NEAR_JUMP], uintptr_t at, const void *to)
{
	const uint32_t distance = near_distance(at, to);

	out[0] = INSN_OP_JMP;
	__builtin_memcpy(out + 1, &distance, sizeof(distance));
}

#endif
