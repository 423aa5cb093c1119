/* SPDX-License-Identifier: MIT */
/*
 * pages.h - changes bytes of code that threads may be running (pages.c)
 *
 *     pages_begin() -> bytes are stored where pages_at() says -> pages_end()
 *
 *     text         [ old ][ old ][ old ]        threads execute these all the time
 *     copies              [ new ]               writable, never executed there
 *     pages_end()  [ old ][ new ][ old ]        the copy has become the page, and executable
 *
 * X1  At the program's start, and in memory of ours at any time, no page is writable and executable
 *     at once. Threads execute the old page until the new one stands in its place. A thread that
 *     comes to it in between waits in the kernel. (The linker's page at a start: E8 of pages.c.)
 * X2  The copies are pages of a second private mapping of the same file. So the text is still a
 *     mapping of its file, at the same offset, for everything that reads /proc/PID/maps.
 * X3  Else the pages themselves become writable for a while, and stay executable: the right to
 *     execute might be refused later. That is so for code of files beside other threads (E7 of
 *     pages.c), and where copies cannot be had: with kernels before 5.14, with files whose first
 *     page is executable, and with memory that the program has locked. The same holds for a batch
 *     with a page that the program may not read, or that has a breakpoint.
 *
 * Included by the C files of src/agent.
 */
#ifndef TRACEFUSE_AGENT_SITES_PAGES_H
#define TRACEFUSE_AGENT_SITES_PAGES_H

#include <stdbool.h>
#include <stdint.h>

enum { PAGES_KEPT = 16 };

/* pages.head of memory that is the agent's own */
enum { PAGES_OWN = 1 };

/* Whole pages, and the permissions that their file gives them (PROT_READ ...). */
struct pages {
	uintptr_t	low, high;
	int		prot;
	/* Where the first page of their file is in memory; or PAGES_OWN; 0: not known (X3). */
	uintptr_t	head;
	/* The file's, if the program is just being started (E8 of pages.c); NULL: not known */
	const char	*path;
};

/* Pages among them that the program itself has made writable, by ascending addresses. */
struct pages_kept {
	unsigned int	nr;
	struct {
		uintptr_t	low, high;
	} runs[PAGES_KEPT];
};

/* A page that is copied, and a sum of its bytes before that. */
struct page_taken {
	uint64_t	sum;
	bool		is;
};

/* Pages that are being changed. */
struct pages_open {
	struct pages	pages;
	struct pages_kept kept;
	/* They are writable now (X3). In a child of fork(): its parent made them so. */
	bool		in_place;
	/* They are writable and not executable now (E8); their file, and where they are in it. */
	bool		starts;
	int		file;
	uintptr_t	offset;
	/* The copy of pages.low; NULL: there are none. taken: one a page */
	uint8_t		*copies;
	struct page_taken *taken;
	/* A page that is to change could not be copied: pages_end() fails. */
	int		err;
};

/*
 * No sandbox ends the process for mremap() and madvise(). False at first: pages are changed in
 * place then. Relaxed accesses: no other data depends on it.
 */
extern _Atomic bool pages_may_move;
/* No other thread runs here. Under the lock of the sites. */
extern bool pages_alone;

/* The pages that `size` bytes of code lie on. */
struct pages pages_of(const void *at, uintptr_t size);
/* in_place: without copies. 0, or -errno: then they are as before. */
int pages_begin(struct pages_open *o, const struct pages *p, bool in_place);
/* Where the bytes at `at` are to be stored: it has what is there now. at: in these pages */
void *pages_at(struct pages_open *o, const void *at, uintptr_t size);
/*
 * Stored bytes are in force. 0, or -errno: there were copies, and some pages are as before. Then
 * the same stores have to be made in place. In place nothing fails.
 */
int pages_end(struct pages_open *o);

#endif
