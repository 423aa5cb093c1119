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
 *       request of several pages is the kernel's read-ahead. It waits a few milliseconds for all of
 *       them, and fails then. After that each page is asked for alone, which costs as much as
 *       the read-ahead. Without the wait, a reader that keeps up would get single pages only.
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
	size_t		room;
	size_t		size;		/* of it in use */
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
	char *bytes = page->bytes;
	ssize_t n;

	page->size = 0;
	if (page->room < size) {
		/* The kernel's copy takes fewer of its pages if they begin where these do. */
		bytes = aligned_alloc(RAW_PAGE, size);
		if (!bytes)
			return -ENOMEM;
		free(page->bytes);
		page->bytes = bytes;
		page->room = size;
	}
	n = tree_read(f->file, bytes, size, 0);
	if (n <= 0)
		return (int)n;
	page->size = (size_t)n;
	page->at = p->end;
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

/* The bytes at `off` that one page has, at most `size`. Its length is 0: none. */
static struct iovec raw_bytes(const struct raw_pages *p, size_t size, off_t off)
{
	const struct raw_page *page = page_of(p, off);
	size_t n;

	if (!page)
		return (struct iovec){ 0 };
	n = (size_t)(page->at + (off_t)page->size - off);
	return (struct iovec){ page->bytes + (off - page->at), n < size ? n : size };
}

int raw_read(struct open_file *f, struct raw_answer *out, size_t size, off_t off)
{
	int rc;

	f->pages->ahead &= off < f->pages->end;
	if (off == f->pages->end) {
		rc = take_page(f);
		if (rc < 0)
			return rc;
	}
	out->parts[0] = raw_bytes(f->pages, size, off);
	out->nr = out->parts[0].iov_len ? 1 : 0;
	return 0;
}

/* Whether the bytes are there or full sub-buffers of them. */
static bool has_whole(const struct open_file *f, size_t size, off_t off)
{
	const off_t missing = off + (off_t)size - f->pages->end;

	return off <= f->pages->end &&
	       (missing <= 0 || tree_raw_unread(f->file) >= (uint64_t)missing);
}

int raw_read_whole(struct open_file *f, struct raw_answer *out, size_t size, off_t off)
{
	size_t n = 0;
	int rc;

	f->pages->ahead &= off < f->pages->end;
	out->nr = 0;
	if (!has_whole(f, size, off))
		return -EAGAIN;		/* P1, P3 */
	while (n < size && out->nr < RAW_PARTS) {
		const struct iovec some = raw_bytes(f->pages, size - n, off + (off_t)n);

		if (some.iov_len) {
			out->parts[out->nr++] = some;
			n += some.iov_len;
			continue;
		}
		if (off + (off_t)n != f->pages->end)
			return -EAGAIN;		/* it is not kept */
		rc = take_page(f);
		if (rc <= 0)
			return rc ? rc : -EAGAIN;
	}
	if (n < size)
		return -EAGAIN;
	f->pages->ahead = size > RAW_PAGE;
	return 0;
}

bool raw_ahead(const struct raw_pages *p)
{
	return p && p->ahead;
}
