/* SPDX-License-Identifier: MIT */
/*
 * sites.h - the functions of an ELF file that can be traced, and where they are
 *
 * The server and the traced program both read the file with these functions. Each reader of the
 * same file finds the same list, so a site's index identifies it.
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
	/*
	 * The program's own instructions, which are to be moved: `len` bytes of them. A file has
	 * such sites or others, never both.
	 */
	SITE_MOVED,
};

/* An entry sled is SLED_HEAD bytes and the five at `at`; it begins with a jump behind them. */
enum { SLED_HEAD = 6, SLED_OVER = 9 };

/* Why a site is left alone. */
enum site_skip {
	SITE_GOOD,
	SITE_SHORT,		/* fewer than five bytes */
	/*
	 * The bytes are not those of a known compiler, or the start of the function is not known.
	 */
	SITE_UNKNOWN,
	/* The site is not in a segment that is executed, or the memory cannot be made writable. */
	SITE_NOT_CODE,
	/* The code may be running, and the first bytes do not lie in one aligned word. */
	SITE_SPLIT,
	SITE_CHANGED,		/* the memory has other bytes than the file */
	/* Its call of mcount or __fentry__ stays, because gprof profiles the program. */
	SITE_COUNTED,
	/* Only in answers: the function is traced, but its return is not caught (site.jumps). */
	SITE_GRAPHLESS,
	SITE_MIXED,		/* a sled in a file that has sites of other kinds, too */
	SITE_UNSEEN,		/* a sled, in a program whose XRay could change it unseen */
	SITE_UNMOVED,		/* its first instructions cannot be moved */
	SITE_RETURNLESS,	/* only in answers, as SITE_GRAPHLESS: site.unreturned */
	SITE_RELOCATED,		/* the linker writes into the code (DT_TEXTREL) */
	/* Jumps may lead to its first five bytes, or the next function begins there. */
	SITE_ENTERED,
	SITE_PERHAPS_PART,	/* it has no symbol, and is only jumped to */
	SITE_AGAIN,		/* it jumps to its own start, which is no call */
	SITE_FLAGS,		/* it begins with flags of its caller */
	SITE_NO_FDE,		/* a symbol without an entry in .eh_frame: nobody knows its code */
	SITE_FIRST,		/* nothing calls it: _start, the frame of a signal */
	/* Only in answers: threads may be inside its bytes, and cannot be led on (moved_late.c). */
	SITE_BUSY,
	SITE_FAR,		/* no memory is near enough for its moved code */
	SITE_NR_SKIPS
};

/*
 * Whether only a process knows the reason, not the file. SITE_GOOD: its code cannot be changed.
 */
static inline bool site_skip_is_own(unsigned int why)
{
	return why != SITE_SHORT && why != SITE_UNKNOWN && why != SITE_NOT_CODE &&
	       why != SITE_UNMOVED && (why < SITE_RELOCATED || why > SITE_FIRST);
}

struct site {
	uint64_t	at;	/* as in the file: p_vaddr, without the load bias */
	uint8_t		kind;	/* enum site_kind */
	uint8_t		len;	/* of its bytes that are nops or the call */
	uint8_t		skip;	/* enum site_skip */
	uint8_t		on: 1;
	uint8_t		called: 1;	/* it is on, but only by its word (agent/sites/static.c) */
	uint8_t		jumps: 1;	/* sites_jumping() */
	uint8_t		returns: 1;	/* return sites catch the returns of its function */
	uint8_t		unreturned: 1;	/* moved code: the function's return must not be caught */
	/* The index in the list of sites_find(). A return site has its function's number. */
	uint32_t	number;
};

/* The number of a return site in a part of the code that belongs to no entry. */
enum { SITE_NO_FUNCTION = UINT32_MAX };

/*
 * Finds the sites of an ELF file whose whole contents are in memory: in order of address, each
 * once. Called with room 0, it returns an upper limit of their number; 0: none, or no such file.
 * Called with room for all of them, it stores them and returns the exact number. Called with room
 * for fewer, it returns 0: the file has changed since the first call.
 */
size_t sites_find(const void *file, size_t size, struct site *out, size_t room);
/* The same for an open image. With room 0 its functions need not have been read. */
struct image;
size_t sites_in_image(const struct image *im, struct site *out, size_t room);
/*
 * The same for return sites: those of gcc's -minstrument-return=nop5 -mrecord-return, else exit
 * sleds. A sled before a jump to another function is listed as skipped.
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
 * Whether the program is linked with -pg, so that it counts calls for gprof and writes the counts
 * at its end.
 */
bool sites_profiled(const void *file, size_t size);
const char *site_skip_text(enum site_skip why);
/* The same for what a process says, where SITE_GOOD is a reason, too. */
const char *site_left_text(enum site_skip why);
/* The number of bytes of the nops at b. *single: each nop has one byte. */
size_t site_nops_length(const unsigned char *b, size_t room, bool *single);

#endif
