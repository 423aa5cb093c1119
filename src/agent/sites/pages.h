/* SPDX-License-Identifier: MIT */
/*
 * pages.h - code that is written: its pages are writable for a while, and afterwards what they were
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

/* Whole pages, and what their file lets do with them (PROT_READ ...). */
struct pages {
	uintptr_t	low, high;
	int		prot;
};

/* Pages among them that the program has made writable by itself, by ascending addresses. */
struct pages_kept {
	unsigned int	nr;
	struct {
		uintptr_t	low, high;
	} runs[PAGES_KEPT];
};

/* The code pages that `size` bytes lie on. */
struct pages pages_of(const void *at, uintptr_t size);
/* Finds those that are writable now. 0, -E2BIG */
int pages_look(const struct pages *p, struct pages_kept *kept);
/* 0; -errno: they are what they were. It is never not executable: it might not become so again. */
int pages_open(const struct pages *p, const struct pages_kept *kept);
void pages_close(const struct pages *p, const struct pages_kept *kept);

#endif
