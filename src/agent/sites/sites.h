/* SPDX-License-Identifier: MIT */
/*
 * sites.h - functions that can be traced: where they are in a DSO, and how one is switched on
 *
 *     ELF file -> sites_find() -> site[] by address -> patch_prepare() -> patch_switch(), one byte
 *     a site
 *
 *                      off                      on
 *     site    66 | 66 66 66 90         e9 | 66 66 66 90        jmp mirror + (site - text)
 *     sled    eb | 09 d1 d2 d3 ...     e9 | 09 d1 d2 d3 ...    the same, of clang's XRay
 *
 *             text                         mirror, at a fixed distance: the same bytes in every
 *                                          site
 *             +-------------+              +-------------------+
 *             | site: jmp --|------------->| call patch_entry  |---> patch_hit()
 *             | ...  <------|--------------| jmp site + 5      |
 *             +-------------+              +-------------------+
 *
 * Included by the C files of src/agent. elf/sites.h describes what is read from the file alone.
 */
#ifndef TRACEFUSE_AGENT_SITES_SITES_H
#define TRACEFUSE_AGENT_SITES_SITES_H

#include <elf.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "agent/sites/pages.h"
#include "elf/sites.h"

/* ---- returns.c, jumps.c ---- */

/*
 * Numbers the first `nr` sites and finds those that have return sites among the `nr_returns` behind
 * them. Makes one list of both, sorted by address. -> its length. Under a lock.
 */
size_t sites_pair(const void *file, size_t size, struct site *sites, size_t nr, size_t nr_returns);
/* A function whose return site is skipped loses its other ones. -> whether any function has some */
bool sites_unpair(struct site *sites, size_t nr);
/*
 * A name that objects may define. It is in the struct: the linker would have to write a pointer in
 * each process that starts.
 */
struct sites_name {
	char		name[31];
	uint8_t		bit;		/* what the caller makes of it */
	uint32_t	hash;		/* image_hash(); 0: nobody has asked for it yet */
};

/*
 * Whether the object with this dynamic section, which is in memory, may call a function of libc
 * that looks at its caller.
 */
bool sites_looked_at(const Elf64_Dyn *dyn, uintptr_t bias);
/* The bits of the names that it defines for others; 0: it has no hashes of symbols. */
uint64_t sites_defines(const Elf64_Dyn *dyn, uintptr_t bias, struct sites_name *names,
		       unsigned int nr);
/* Whether it has such a function for others. */
bool sites_looks(const Elf64_Dyn *dyn, uintptr_t bias);
/*
 * Notes for each site whether its function may end in a jump out of the file: by a PLT stub, by a
 * pointer, or by a jump to another function of the file that ends so. Under a lock.
 */
void sites_jumping(const void *file, size_t size, struct site *sites, size_t nr);

/* ---- patch.c ---- */

enum { SITE_TEXTS = 8 };

struct site_dso {
	uintptr_t	bias;		/* address in memory = bias + site.at */
	struct site	*sites;
	size_t		nr;
	uint32_t	distance;	/* of the mirror: the four bytes behind the first */
	uint8_t		off;		/* the first byte of a site that is off */
	bool		prepared;
	bool		sleds;		/* all sites that are not skipped are XRay's */
	bool		moved;		/* prepared, and all its sites are moved code: moved.c */
	char		*mirror;
	size_t		mirror_size;
	/* For hit.h: the words of its sites. NULL: no site is ever on. */
	struct site_table *table;
	unsigned int	nr_texts;
	/* Its segments with code. None: the text from the first site to the last. */
	struct pages	texts[SITE_TEXTS];
	struct pages_open open[SITE_TEXTS];
	/* Its sites are moved code that was prepared beside running threads. Stored last. */
	struct late_area *late;
	bool		leads;		/* guard_leads(), when it was judged */
};

/*
 * The program may have made code writable by itself: pages_begin() tests pages. Set at the start,
 * and again for good by agent_code_written().
 */
extern _Atomic bool patch_asks;
/* Whether executed memory can be changed while threads run here. Registers the process for that. */
bool patch_live(void);
/*
 * Makes each site one instruction without effect. `alone`: this code has not run yet and no thread
 * is in it, so that it may be changed in any order. 0, or -errno: nothing changed.
 */
int patch_prepare(struct site_dso *d, bool alone);
/* Switches sites: wants(arg, index) for each. -> the number that changed, or -errno */
long patch_switch(struct site_dso *d, bool (*wants)(void *arg, size_t index), void *arg);
/*
 * The program is about to change its sleds: from now on they are as the compiler wrote them. The
 * second function does that for those between two addresses, which are writable already, and makes
 * no system call.
 */
void patch_release(struct site_dso *d);
void patch_release_open(struct site_dso *d, uintptr_t low, uintptr_t high);
/* Finds out from the memory which sites are on. */
void patch_look(struct site_dso *d);
/* The DSO has been unmapped. */
void patch_forget(struct site_dso *d);

/* ---- moved_late.c ---- */

/* All but moved_late_lead() is under a lock. */

/* Makes the stubs of all sites. A site that cannot have one is skipped. 0, or -errno: none has. */
int moved_late_make(struct site_dso *d);
/*
 * Before words are stored: finds out from the memory which sites are on, and which cannot be
 * switched now. leads: guard_leads()
 */
void moved_late_judge(struct site_dso *d, bool leads);
/* As patch_switch(). */
long moved_late_switch(struct site_dso *d, bool (*wants)(void *arg, size_t index), void *arg);
/* Finds out from the memory which sites are on. */
void moved_late_look(struct site_dso *d);
/* Whether a site is at that address, and is on. */
bool moved_late_is_on(const struct site_dso *d, uintptr_t at);
/* A thread has met a byte that traps. -> where it goes on; 0: elsewhere. Async-signal-safe. */
uintptr_t moved_late_lead(const struct site_dso *d, uintptr_t ip);
/* The code is unmapped. */
void moved_late_forget(struct site_dso *d);

/* ---- x86_64/entry.S ---- */

void patch_entry(void);
void patch_entry_late(void);
void patch_entry_moved(void);

/* ---- x86_64/graph.S ---- */

void graph_through(void);
void patch_return(void);

#endif
