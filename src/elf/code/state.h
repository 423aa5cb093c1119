/* SPDX-License-Identifier: MIT */
/*
 * state.h - what the files of this folder offer to each other while a file's code is read
 *
 *     code.c    code_open(): calls the others in this order
 *     fde.c     .eh_frame: functions, landing pads
 *     refer.c   symbols, relocations, words of data: what else has an address of code
 *     sweep.c   instructions: starts, targets, jump tables, padding
 *     computed.c  jumps to addresses that a function may have computed
 *
 * A file may make any of them run long, for example by landing pads that many functions share. So
 * each step that the size of the file does not bound is paid by code_spend().
 */
#ifndef TRACEFUSE_ELF_CODE_STATE_H
#define TRACEFUSE_ELF_CODE_STATE_H

#include "elf/code/code.h"

/* False: the file takes more steps than a linker's could. */
static inline bool code_spend(struct code_file *f, uint64_t steps)
{
	if (f->effort < steps)
		return false;
	f->effort -= steps;
	return true;
}

static inline uint8_t *code_marks(const struct code_file *f, uint64_t at)
{
	const struct code_segment *s = code_segment_at(f, at);

	return s ? &s->marks[at - s->low] : NULL;
}

/* Something may jump to this address, if it is one of code. */
static inline void code_target(struct code_file *f, uint64_t at)
{
	uint8_t *marks = code_marks(f, at);

	if (marks)
		*marks |= CODE_TARGET;
}

/* Adds a function; the caller has room for as many as code_room() counted. */
static inline void code_function_add(struct code_file *f, struct code_function fn)
{
	if (f->nr_functions < f->room)
		f->functions[f->nr_functions++] = fn;
}

/* ---- fde.c ---- */

/* Reads all functions of .eh_frame_hdr. False: the effort is spent. */
bool fde_read_all(struct code_file *f);

/* ---- refer.c ---- */

/* The number of symbols that may be functions without FDE. */
size_t refer_count(const struct image *im);
/* Adds functions that have symbols only, and names what symbols say of the others. */
void refer_symbols(struct code_file *f);
/* Marks what relocations and, without PIE, words of data lead to. False: the effort is spent. */
bool refer_mark(struct code_file *f);

/* ---- computed.c ---- */

/*
 * The number of indirect jumps of the function that may lead to an address that it has computed. It
 * may be wrong while targets of tables are not marked, but is 0 only if there is none.
 */
unsigned int computed_jumps(const struct code_segment *s, const struct code_function *fn);

/* ---- sweep.c ---- */

/* Marks all starts and targets. False: the effort is spent. */
bool sweep_all(struct code_file *f);

#endif
