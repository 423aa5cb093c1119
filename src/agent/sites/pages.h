/* SPDX-License-Identifier: MIT */
/*
 * pages.h - makes pages of code writable for a while, and then gives them their old permissions
 * (pages.c)
 *
 *     pages_look(&code, &kept), pages_open(&code, &kept) -> bytes are stored -> pages_close(&code,
 *     &kept)
 *
 * Included by the C files of src/agent.
 */
#ifndef TRACEFUSE_AGENT_SITES_PAGES_H
#define TRACEFUSE_AGENT_SITES_PAGES_H

#include <stdint.h>

enum { PAGES_KEPT = 16 };

/* Whole pages, and the permissions that their file gives them (PROT_READ ...). */
struct pages {
	uintptr_t	low, high;
	int		prot;
};

/* Pages among them that the program itself has made writable, by ascending addresses. */
struct pages_kept {
	unsigned int	nr;
	struct {
		uintptr_t	low, high;
	} runs[PAGES_KEPT];
};

/* The pages that `size` bytes of code lie on. */
struct pages pages_of(const void *at, uintptr_t size);
/* Finds the pages that are writable now. 0, -E2BIG */
int pages_look(const struct pages *p, struct pages_kept *kept);
/*
 * 0, or -errno: then they are as before. They stay executable all the time: the right to execute
 * might be refused later.
 */
int pages_open(const struct pages *p, const struct pages_kept *kept);
void pages_close(const struct pages *p, const struct pages_kept *kept);

#endif
