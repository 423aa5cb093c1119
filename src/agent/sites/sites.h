/* SPDX-License-Identifier: MIT */
/*
 * sites.h - functions that can be traced: where they are in a DSO, and how one is switched on
 *
 *     ELF file -> sites_find() -> site[] by address -> patch_prepare() -> patch_switch(), one byte a site
 *
 *                      off                      on
 *     site    66 | 66 66 66 90         e9 | 66 66 66 90        jmp mirror + (site - text)
 *
 *             text                         mirror, at a fixed distance: the same bytes in every site
 *             +-------------+              +-------------------+
 *             | site: jmp --|------------->| call patch_entry  |---> patch_hit()
 *             | ...  <------|--------------| jmp site + 5      |
 *             +-------------+              +-------------------+
 *
 * Included by the C files of src/agent. sites_find() is pure: whoever reads the
 * same file finds the same list, so that a site's index is enough to name it.
 */
#ifndef TRACEFUSE_AGENT_SITES_SITES_H
#define TRACEFUSE_AGENT_SITES_SITES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "agent/sites/pages.h"

enum site_kind {
	SITE_ROW,		/* single nops: gcc's -fpatchable-function-entry */
	SITE_NOP,		/* longer nops: clang's, and gcc's -mnop-mcount */
	SITE_CALL,		/* a call of __fentry__ */
	SITE_CALL_LATE,		/* a call of mcount, behind the prologue: %rbp is the frame */
	SITE_RETURN,		/* a nop of five bytes right before a function is left: sites_pair() */
};

/* Why a site is left alone. */
enum site_skip {
	SITE_GOOD,
	SITE_SHORT,		/* fewer than five bytes */
	SITE_UNKNOWN,		/* other bytes than these compilers write, or the start of the function is not known */
	SITE_NOT_CODE,		/* not in a segment that is executed, or not writable by any means */
	SITE_SPLIT,		/* code that may be running, and the first bytes do not lie in one aligned word */
	SITE_CHANGED,		/* the memory has other bytes than the file */
	SITE_COUNTED,		/* its call of mcount or __fentry__ stays, because the program is profiled by gprof */
	SITE_GRAPHLESS,		/* of answers alone: it is traced, but its return is not caught (site.jumps) */
	SITE_NR_SKIPS
};

struct site {
	uint64_t	at;	/* as in the file: p_vaddr, without the load bias */
	uint8_t		kind;	/* enum site_kind */
	uint8_t		len;	/* of its bytes that are nops or the call */
	uint8_t		skip;	/* enum site_skip */
	uint8_t		on: 1;
	uint8_t		called: 1;	/* it is on, but by its word alone (sites_static.c) */
	uint8_t		jumps: 1;	/* sites_jumping() */
	uint8_t		returns: 1;	/* its function's returns are caught by return sites */
	uint32_t	number;		/* as sites_find() lists it; of a return site: its function's */
};

enum { SITE_NO_FUNCTION = UINT32_MAX };	/* the number of a return site in a part that no entry belongs to */

/* ---- sites_find.c ---- */

/*
 * The sites of an ELF file whose whole contents are in memory, by address and
 * each once. Stores at most `room` of them and returns how many there are at
 * most (so that a call without room tells what is needed), 0: none or no such
 * file. With room for all the number is exact.
 */
size_t sites_find(const void *file, size_t size, struct site *out, size_t room);
/* The same of its return sites: gcc's -minstrument-return=nop5 -mrecord-return. */
size_t sites_returns(const void *file, size_t size, struct site *out, size_t room);
/* Sorts sites by address, in place. */
void sites_sort(struct site *s, size_t nr);
/*
 * Numbers the first `nr` sites, says which of them have return sites, of those behind them, and
 * makes one list by address of both. -> how many those are. Under a lock.
 */
size_t sites_pair(const void *file, size_t size, struct site *sites, size_t nr, size_t nr_returns);
/* The functions of which a return site is left alone have none. -> whether others have some */
bool sites_unpair(struct site *sites, size_t nr);
/* Whether the program is linked with -pg, so that it counts its calls for gprof and writes them at its end. */
bool sites_profiled(const void *file, size_t size);
/*
 * Says of each of them whether its function may end in a jump out of the file: by a PLT stub, by a pointer, or to
 * another function of the file that does. Under a lock.
 */
void sites_jumping(const void *file, size_t size, struct site *sites, size_t nr);
const char *site_skip_text(enum site_skip why);
/* The bytes of the nops there; single: each has one. */
size_t site_nops_length(const unsigned char *b, size_t room, bool *single);

/* ---- patch.c ---- */

enum { SITE_TEXTS = 8 };

struct site_dso {
	uintptr_t	bias;		/* address in memory = bias + site.at */
	struct site	*sites;
	size_t		nr;
	uint32_t	distance;	/* of the mirror: the four bytes behind the first */
	uint8_t		off;		/* the first byte of a site that is off */
	bool		prepared;
	char		*mirror;
	size_t		mirror_size;
	struct site_table *table;	/* sites_hit.h: what its sites are to do; NULL: none of them is ever on */
	unsigned int	nr_texts;
	/* its segments with code; none: all from the first site to the last */
	struct pages	texts[SITE_TEXTS];
	/* they are writable now; of a child of fork() its parent made them so */
	bool		is_open;
	struct pages_kept kept[SITE_TEXTS];
};

/*
 * The program may have made code writable by itself: pages are asked. Set again and for good by
 * agent_code_written().
 */
extern _Atomic bool patch_asks;
/* May memory that is executed be changed beside running threads here? Registers for it. */
bool patch_live(void);
/*
 * Makes each site one instruction without effect. `alone`: none of this code
 * runs or has run half, so that it may be changed at will. 0, -errno: nothing changed.
 */
int patch_prepare(struct site_dso *d, bool alone);
/* Switches sites: wants(arg, index) for each. The number that changed, or -errno. */
long patch_switch(struct site_dso *d, bool (*wants)(void *arg, size_t index), void *arg);
/* Reads from the memory which sites are on. */
void patch_look(struct site_dso *d);
/* The DSO has been unmapped. */
void patch_forget(struct site_dso *d);

/* ---- x86_64/entry.S ---- */

void patch_entry(void);
void patch_entry_late(void);

/* ---- x86_64/graph.S ---- */

void graph_through(void);
void patch_return(void);

#endif
