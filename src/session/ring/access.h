/* SPDX-License-Identifier: MIT */
/*
 * access.h - views of rings for the server's ring_*.c files
 *
 * The data region is not trusted (R2): where a ring lies and how large it is
 * comes from its book (book.h). What is read in the region itself, heads,
 * tails and page descriptors, may be any number.
 */
#ifndef TRACEFUSE_SESSION_RING_ACCESS_H
#define TRACEFUSE_SESSION_RING_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "session/ring/book.h"

struct session;

struct ring_view {
	struct ring_book *book;
	struct ring	*ring;
	struct page_desc *descs;
	const char	*pages;
	uint32_t	nr_pages;
	uint32_t	subbuf_size;
	uint32_t	cpu;
};

/* A position, and what was written before it. */
struct ring_point {
	uint64_t	pos, entries, bytes, time;
};

/* A page as it was, with its true end. */
struct ring_page {
	uint64_t	seq;
	uint64_t	entries, bytes;	/* before its first record */
	uint32_t	end;		/* bytes in use, header included */
	char		*data;		/* subbuf_size bytes, the caller's */
};

/* ---- book.c ---- */

/* The CPUs of all buffers of a session. */
uint32_t ring_cpus(struct session *s);
/* NULL: there is no such buffer. */
struct buffer_book *buffer_book(struct session *s, data_ref buffer);
config_ref buffer_book_ref(struct session *s, data_ref buffer);	/* 0: the same */
/* No two buffers ever have the same one; 0: there is no such buffer. */
uint64_t buffer_number(struct session *s, data_ref buffer);
struct instance_book *instance_book(struct session *s, uint32_t instance);
/* Notes a buffer, or forgets it. 0, -ENOMEM */
int buffer_note(struct session *s, data_ref buffer, config_ref book);
void buffer_forget(struct session *s, data_ref buffer);
/* The book that a buffer names there; NULL: none. */
struct ring_book *ring_book_at(struct session *s, const struct buffer_book *b, uint32_t set,
			       uint32_t cpu);
config_ref ring_ref_at(struct session *s, const struct buffer_book *b, uint32_t set, uint32_t cpu);
/* Room for the names of a set's rings. 0, -ENOMEM */
int ring_set_room(struct session *s, struct buffer_book *b, uint32_t set);
/* Names a ring, 0: none; where there is room for the set. Hits are not told. */
void ring_note(struct session *s, struct buffer_book *b, uint32_t set, uint32_t cpu,
	       config_ref ring);
/* Tells hits what the book says, with release: pairs with ring_of(). */
void ring_tell(struct session *s, const struct buffer_book *b, uint32_t set, uint32_t cpu);
/* For a restored session: all that a book names there is in use. 0, -EPROTO, -ENOMEM */
int buffer_book_restore(struct session *s, config_ref ref);

/* ---- buffer.c ---- */

/* False: there is no such ring. */
bool ring_view_of(struct session *s, config_ref ring, struct ring_view *out);
bool ring_view(struct session *s, const struct buffer_book *b, uint32_t set, uint32_t cpu,
	       struct ring_view *out);
/* Calls fn for every ring of a CPU (cpu -1: of all). */
void ring_each(struct session *s, data_ref buffer, int cpu,
	       void (*fn)(struct ring_view *v, void *arg), void *arg);
/* buffer_keep() of ring.h; what was begun before, perhaps by another server, is done again. */
int buffer_save_books(struct session *s, config_ref from, config_ref to);
/*
 * Moves the limits of rings kept from before a resize to what their successors leave of the size.
 */
void ring_keep_limits(struct session *s, data_ref buffer);
/* Gives a new buffer rings for the leases that slots have. 0, -ENOMEM */
int ring_leases_add(struct session *s, data_ref buffer, const uint64_t *bytes_per_cpu);

/* Where the next record will be written. */
struct ring_point ring_head(const struct ring_view *v);
/* The oldest record that a reader may have, its time in .time. 1, 0: there is none, -ENOMEM */
int ring_oldest(const struct ring_view *v, struct ring_point *out);

/* Position: consumed, cleared and superseded records lie before it. */
uint64_t ring_start(const struct ring_view *v);
/* Copies page seq as far as it is written; 0, -ENOENT not begun, -EAGAIN overwritten (R14). */
int ring_page_copy(const struct ring_view *v, uint64_t seq, struct ring_page *out);
/* The oldest page that can still be intact. */
uint64_t ring_first_page(const struct ring_view *v);

#endif
