/* SPDX-License-Identifier: MIT */
/*
 * sites.h - the functions of an ELF file that can be traced, and where they are
 *
 * The server and the traced program both read the file with this. It is pure: each reader of the
 * same file finds the same list, so that a site's index is enough to name it.
 */
#ifndef TRACEFUSE_ELF_SITES_H
#define TRACEFUSE_ELF_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum site_kind {
	SITE_ROW,		/* single nops: gcc's -fpatchable-function-entry */
	SITE_NOP,		/* longer nops: clang's, and gcc's -mnop-mcount */
	SITE_CALL,		/* a call of __fentry__ */
	SITE_CALL_LATE,		/* a call of mcount, behind the prologue: %rbp is the frame */
	/* an entry sled of XRay: a jump over nops; `at` is its last 5 bytes */
	SITE_SLED,
	/* return sites: sites_pair() */
	SITE_RETURN,		/* a nop of five bytes right before a function is left */
	SITE_SLED_RETURN,	/* an exit sled of XRay: a ret, and nops that are never executed */
};

/* An entry sled is SLED_HEAD bytes and the five at `at`; it begins with a jump behind them. */
enum { SLED_HEAD = 6, SLED_JUMP = 0xeb, SLED_OVER = 9 };

/* Why a site is left alone. */
enum site_skip {
	SITE_GOOD,
	SITE_SHORT,		/* fewer than five bytes */
	/* other bytes than these compilers write, or the start of the function is not known */
	SITE_UNKNOWN,
	/* not in a segment that is executed, or not writable by any means */
	SITE_NOT_CODE,
	/* code that may be running, and the first bytes do not lie in one aligned word */
	SITE_SPLIT,
	SITE_CHANGED,		/* the memory has other bytes than the file */
	/* its call of mcount or __fentry__ stays, because the program is profiled by gprof */
	SITE_COUNTED,
	/* of answers alone: it is traced, but its return is not caught (site.jumps) */
	SITE_GRAPHLESS,
	SITE_MIXED,		/* a sled in a file that has sites of other kinds, too */
	SITE_UNSEEN,		/* a sled, in a program whose XRay could change it unseen */
	SITE_NR_SKIPS
};

struct site {
	uint64_t	at;	/* as in the file: p_vaddr, without the load bias */
	uint8_t		kind;	/* enum site_kind */
	uint8_t		len;	/* of its bytes that are nops or the call */
	uint8_t		skip;	/* enum site_skip */
	uint8_t		on: 1;
	uint8_t		called: 1;	/* it is on, but by its word alone (agent/sites/static.c) */
	uint8_t		jumps: 1;	/* sites_jumping() */
	uint8_t		returns: 1;	/* its function's returns are caught by return sites */
	/* as sites_find() lists it; of a return site: its function's */
	uint32_t	number;
};

/* the number of a return site in a part that no entry belongs to */
enum { SITE_NO_FUNCTION = UINT32_MAX };

/*
 * The sites of an ELF file whose whole contents are in memory, by address and
 * each once. Stores at most `room` of them and returns how many there are at
 * most (so that a call without room tells what is needed), 0: none or no such
 * file. With room for all the number is exact; with room for fewer it is 0: the
 * file is another one since it was asked what is needed.
 */
size_t sites_find(const void *file, size_t size, struct site *out, size_t room);
/* The same of an image that is open; without room its functions need not be there. */
struct image;
size_t sites_in_image(const struct image *im, struct site *out, size_t room);
/*
 * The same of its return sites: gcc's -minstrument-return=nop5 -mrecord-return, else exit sleds.
 * The sled before a jump to another function is one that is skipped.
 */
size_t sites_returns(const void *file, size_t size, struct site *out, size_t room);

static inline bool site_is_return(const struct site *s)
{
	return s->kind == SITE_RETURN || s->kind == SITE_SLED_RETURN;
}

static inline bool site_is_sled(const struct site *s)
{
	return s->kind == SITE_SLED || s->kind == SITE_SLED_RETURN;
}

/* Sorts sites by address, in place. */
void sites_sort(struct site *s, size_t nr);
/*
 * Whether the program is linked with -pg, so that it counts its calls for gprof and writes them at
 * its end.
 */
bool sites_profiled(const void *file, size_t size);
const char *site_skip_text(enum site_skip why);
/* The bytes of the nops there; single: each has one. */
size_t site_nops_length(const unsigned char *b, size_t room, bool *single);

#endif
