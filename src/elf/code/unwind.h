/* SPDX-License-Identifier: MIT */
/*
 * unwind.h - where a function's caller goes on, by .eh_frame: one word for an address of code
 *
 *     .eh_frame_hdr: table, sorted by address -> FDE -> its CIE
 *                                                 |
 *                       instructions up to the address: struct unwind_row -> a word
 *
 *     bits   0..3  enum unwind_kind    4  a signal's frame: the address is not behind a call
 *            8..31 offset of the CFA   5..7 offset of the return address below CFA - 8, in words
 *           32..47 where rbp is        48..63 where rbx is
 *
 * A row says enough to find the caller's rip, rsp, rbp and rbx. Other registers count only where
 * hand-written code bases the CFA on them; such a row is UNWIND_UNREAD.
 *
 * The agent reads the tables in memory, inside a hit. They may have any content: each byte is
 * checked to be within `low` and `high`. Nothing here allocates or calls more than mem*().
 */
#ifndef TRACEFUSE_ELF_CODE_UNWIND_H
#define TRACEFUSE_ELF_CODE_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

enum unwind_kind {
	UNWIND_NONE,		/* not known: no FDE */
	UNWIND_SP,		/* CFA = rsp + offset */
	UNWIND_BP,		/* CFA = rbp + offset */
	UNWIND_BX,		/* CFA = rbx + offset */
	UNWIND_BP_DEREF,	/* CFA = *(rbp + offset): the function aligns its stack */
	UNWIND_SP_DEREF,	/* CFA = *(rsp + offset) */
	UNWIND_SP_DEREF8,	/* CFA = *(rsp + offset) + 8 */
	/* The kernel's frame of a signal is at rsp: it has all registers. */
	UNWIND_SIGNAL,
	UNWIND_END,		/* the first function of a thread: it has no caller */
	/* An FDE has rules that no row can say, or the tables could not be read now. */
	UNWIND_UNREAD,
};

/* Where a register of the caller is. */
enum unwind_base {
	UNWIND_SAME,		/* in the register */
	UNWIND_AT_CFA,		/* in memory at CFA + offset */
	UNWIND_AT_BP,		/* in memory at rbp + offset */
	UNWIND_LOST,		/* nowhere */
};

struct unwind_row {
	enum unwind_kind kind;
	bool		is_signal;
	int32_t		cfa;		/* offset */
	uint32_t	ret;		/* the return address is at CFA - 8 - 8 * ret */
	enum unwind_base bp_base, bx_base;
	int32_t		bp, bx;		/* offsets */
};

/* The memory of an object that has its tables. */
struct unwind_tables {
	const uint8_t	*low, *high;
	const uint8_t	*header;	/* .eh_frame_hdr */
};

/* Offsets of saved registers are multiples of 8, in 14 bits. */
static inline uint64_t unwind_saved_pack(enum unwind_base base, int32_t offset)
{
	return (uint64_t)base | ((uint64_t)(offset / 8) & 0x3fff) << 2;
}

static inline void unwind_saved_unpack(uint64_t bits, enum unwind_base *base, int32_t *offset)
{
	*base = (enum unwind_base)(bits & 3);
	*offset = (int16_t)(bits & 0xfffc) / 4 * 8;
}

static inline uint64_t unwind_pack(const struct unwind_row *r)
{
	return (uint64_t)r->kind | (uint64_t)r->is_signal << 4 | (uint64_t)(r->ret & 7) << 5 |
	       ((uint64_t)r->cfa & 0xffffff) << 8 |
	       unwind_saved_pack(r->bp_base, r->bp) << 32 |
	       unwind_saved_pack(r->bx_base, r->bx) << 48;
}

static inline enum unwind_kind unwind_kind(uint64_t word)
{
	return (enum unwind_kind)(word & 15);
}

static inline bool unwind_is_signal(uint64_t word)
{
	return word >> 4 & 1;
}

static inline int32_t unwind_cfa(uint64_t word)
{
	return (int32_t)word >> 8;
}

static inline uint32_t unwind_ret(uint64_t word)
{
	return (uint32_t)(word >> 5) & 7;
}

/*
 * The row of the instruction at `pc`, as a word. A caller's row is that of its return address less
 * one. 0, which is UNWIND_NONE: none.
 */
uint64_t unwind_find(const struct unwind_tables *t, uintptr_t pc);

#endif
