/* SPDX-License-Identifier: MIT */
/*
 * raw.c - FUSE: trace_pipe_raw, which splice(2) may read
 *
 *   read(2)   --> READ with a lock owner --> at most one sub-buffer; waits while there is none
 *   splice(2) --> the kernel's page cache --> READ without one --> whole sub-buffers; waits, too
 *
 *   P1  splice reads nothing at or behind the size of a file. So an open trace_pipe_raw has a size
 *       that no reader comes to. As long as no sub-buffer is full, READ waits, or answers EAGAIN
 *       to a file with O_NONBLOCK. The kernel keeps no page of an error and asks again.
 *   P2  A page cache belongs to a node. So each lookup makes a node: what one reader took is not
 *       in the cache of the next one, whose offsets begin at 0 as well.
 *   P3  A short answer would set the file's size. So an answer to the page cache is whole. A
 *       request of several pages is the kernel's read-ahead, which may fail: it does not wait.
 *       Then each page is asked for alone.
 *   P4  Offsets count the bytes that this reader took. The kernel may drop a page before splice has
 *       used it, and ask for it again: the last pages are kept.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuse/state.h"
#include "tracefs/tree.h"

enum { KEPT = 64 };

struct raw_page {
	char		*bytes;
	size_t		size;
	off_t		at;		/* the offset of its first byte */
};

struct raw_pages {
	struct raw_page	kept[KEPT];	/* page n is kept[n % KEPT] */
	uint64_t	nr;		/* how many were taken */
	off_t		end;		/* the offset behind the last one */
	bool		ahead;		/* the page cache may have what splice has not taken */
};

struct raw_pages *raw_pages_create(void)
{
	return calloc(1, sizeof(struct raw_pages));
}

void raw_pages_destroy(struct raw_pages *p)
{
	for (unsigned int i = 0; p && i < KEPT; i++)
		free(p->kept[i].bytes);
	free(p);
}

/* Takes the next sub-buffer. 1; 0: the end; -errno */
static int take_page(struct open_file *f)
{
	struct raw_pages *p = f->pages;
	struct raw_page *page = &p->kept[p->nr % KEPT];
	const size_t size = tree_raw_size(f->file);
	char *bytes = realloc(page->bytes, size);
	ssize_t n;

	if (!bytes)
		return -ENOMEM;
	page->bytes = bytes;
	page->size = 0;
	n = tree_read(f->file, bytes, size, 0);
	if (n <= 0)
		return (int)n;
	*page = (struct raw_page){ .bytes = bytes, .size = (size_t)n, .at = p->end };
	p->nr++;
	p->end += n;
	return 1;
}

/* The page that has the byte. NULL: it is not kept any more, or not taken yet. */
static const struct raw_page *page_of(const struct raw_pages *p, off_t off)
{
	for (unsigned int i = 0; i < KEPT; i++) {
		const struct raw_page *page = &p->kept[i];

		if (off >= page->at && off < page->at + (off_t)page->size)
			return page;
	}
	return NULL;
}

/* The bytes at `off` that one page has, at most `size`; 0: none. */
static size_t copy_from(const struct raw_pages *p, char *buf, size_t size, off_t off)
{
	const struct raw_page *page = page_of(p, off);
	size_t n;

	if (!page)
		return 0;
	n = (size_t)(page->at + (off_t)page->size - off);
	if (n > size)
		n = size;
	memcpy(buf, page->bytes + (off - page->at), n);
	return n;
}

ssize_t raw_read(struct open_file *f, char *buf, size_t size, off_t off)
{
	int rc;

	f->pages->ahead &= off < f->pages->end;
	if (off == f->pages->end) {
		rc = take_page(f);
		if (rc <= 0)
			return rc;
	}
	return (ssize_t)copy_from(f->pages, buf, size, off);
}

/* Whether the bytes are there or full sub-buffers of them. */
static bool has_whole(const struct open_file *f, size_t size, off_t off)
{
	const off_t missing = off + (off_t)size - f->pages->end;

	return off <= f->pages->end &&
	       (missing <= 0 || tree_raw_unread(f->file) >= (uint64_t)missing);
}

ssize_t raw_read_whole(struct open_file *f, char *buf, size_t size, off_t off)
{
	size_t n = 0;
	int rc;

	f->pages->ahead &= off < f->pages->end;
	if (!has_whole(f, size, off))
		return -EAGAIN;		/* P1, P3 */
	while (n < size) {
		size_t some = copy_from(f->pages, buf + n, size - n, off + (off_t)n);

		n += some;
		if (some)
			continue;
		if (off + (off_t)n != f->pages->end)
			return -EAGAIN;		/* it is not kept */
		rc = take_page(f);
		if (rc <= 0)
			return rc ? rc : -EAGAIN;
	}
	f->pages->ahead = size > RAW_PAGE;
	return (ssize_t)n;
}

bool raw_ahead(const struct raw_pages *p)
{
	return p && p->ahead;
}
