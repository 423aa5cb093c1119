/* SPDX-License-Identifier: MIT */
/*
 * text.h - stores jumps of five bytes in code that threads may be running, and takes them away
 * (text.c)
 *
 *     struct text_jump[] -> text_switch(): pages open, the bytes in steps, pages closed
 *
 * Included by the C files of src/agent.
 */
#ifndef TRACEFUSE_AGENT_SITES_TEXT_H
#define TRACEFUSE_AGENT_SITES_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "agent/sites/near.h"
#include "agent/sites/pages.h"

struct text_jump {
	uint8_t		*at;
	/* The program's bytes, and the jump. */
	uint8_t		off[NEAR_JUMP], on[NEAR_JUMP];
	/*
	 * A bit for each of the bytes 1 to 4 where an instruction of the program's begins. The jump
	 * has a byte that traps there: near_take().
	 */
	uint8_t		inner;
	/* Threads that arrive meanwhile are led on by the handler: none of them waits. */
	bool		leads;
};

/* How a change looks to threads that run through it. */
enum text_way {
	TEXT_ONCE,	/* all bytes at once */
	TEXT_SPIN,	/* a jump to itself meanwhile: threads wait there */
	TEXT_TRAP,	/* the first byte traps meanwhile: threads that arrive need the handler */
};

enum { TEXT_TRAP_BYTE = 0xf4 };	/* hlt */

enum text_way text_way(const struct text_jump *j);
/*
 * Stores all jumps, or the program's bytes. texts: the segments of the
 * file with code. alone: no thread runs there. 0, or -errno: nothing changed.
 */
int text_switch(const struct text_jump *jumps, size_t nr, bool on, bool alone,
		const struct pages *texts, unsigned int nr_texts);
/* Every processor that runs a thread of ours has executed a serializing instruction. */
void text_serialize(void);

#endif
