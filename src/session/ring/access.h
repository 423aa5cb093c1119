/* SPDX-License-Identifier: MIT */
/*
 * access.h - views of rings for the files of this folder
 *
 * The data region is not trusted (R2): a ring's book (book.h) says where the ring lies and how
 * large it is. Heads, tails and page descriptors are read in the region itself and may be any
 * number.
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

/* A position, and how much was written before it. */
struct ring_point {
	uint64_t	pos, entries, bytes, time;
};

/* A copy of a page, with its true end. */
struct ring_page {
	uint64_t	seq;
	uint64_t	entries, bytes;	/* before its first record */
	uint32_t	end;		/* bytes in use, header included */
	char		*data;		/* subbuf_size bytes of the caller */
};

/* ---- book.c ---- */

/* How many CPUs the buffers of a session have. */
uint32_t ring_cpus(struct session *s);
/* NULL: there is no such buffer. */
struct buffer_book *buffer_book(struct session *s, data_ref buffer);
config_ref buffer_book_ref(struct session *s, data_ref buffer);	/* 0: the same */
/* A number that no other buffer ever gets. 0: there is no such buffer. */
uint64_t buffer_number(struct session *s, data_ref buffer);
struct instance_book *instance_book(struct session *s, uint32_t instance);
/* Notes a buffer, or forgets it (book 0). 0, -ENOMEM */
int buffer_note(struct session *s, data_ref buffer, config_ref book);
void buffer_forget(struct session *s, data_ref buffer);
/* Gives it another number, so that readers open its rings again. */
void buffer_renumber(struct session *s, data_ref buffer);
/* The book of the ring that a buffer has there; NULL: none. */
struct ring_book *ring_book_at(struct session *s, const struct buffer_book *b, uint32_t set,
			       uint32_t cpu);
config_ref ring_ref_at(struct session *s, const struct buffer_book *b, uint32_t set, uint32_t cpu);
/* Makes room for a set's rings in a buffer's book. 0, -ENOMEM */
int ring_set_room(struct session *s, struct buffer_book *b, uint32_t set);
/*
 * Notes a ring in the buffer's book, 0: none, if it has room for the set. Hits do not see it yet.
 */
void ring_note(struct session *s, struct buffer_book *b, uint32_t set, uint32_t cpu,
	       config_ref ring);
/* Stores for hits what the book says. Release: pairs with the acquire in ring_of(). */
void ring_tell(struct session *s, const struct buffer_book *b, uint32_t set, uint32_t cpu);
/* For a restored session: marks all that a book names there as used. 0, -EPROTO, -ENOMEM */
int buffer_book_restore(struct session *s, config_ref ref);

/* ---- buffer.c ---- */

/* False: there is no such ring. */
bool ring_view_of(struct session *s, config_ref ring, struct ring_view *out);
bool ring_view(struct session *s, const struct buffer_book *b, uint32_t set, uint32_t cpu,
	       struct ring_view *out);
/* Calls fn for every ring of a CPU (cpu -1: of all CPUs). */
void ring_each(struct session *s, data_ref buffer, int cpu,
	       void (*fn)(struct ring_view *v, void *arg), void *arg);
/* Adds what the ring has counted. Its records count as overrun from now on. */
void ring_leave_out(struct session *s, config_ref ring, struct left_out *to);
/* buffer_keep() of ring.h. A call that another server did not finish is done again. */
int buffer_save_books(struct session *s, config_ref from, config_ref to);
/* Completes what another server may have begun in buffer_drop_kept(). */
void buffer_drop_finish(struct session *s, struct buffer_book *b);
/* Gives a ring's memory back that no buffer names any more. */
void ring_retire(struct session *s, config_ref ring);
/* After a resize: sets the limits of older rings to the room that their successors leave. */
void ring_keep_limits(struct session *s, data_ref buffer);
/* Gives a new buffer rings for the leases of the slots. 0, -ENOMEM */
int ring_leases_add(struct session *s, data_ref buffer, const uint64_t *bytes_per_cpu);

/* The position of the next record. */
struct ring_point ring_head(const struct ring_view *v);
/* The oldest record that a reader can get; .time is its time. 1, 0: there is none, -ENOMEM */
int ring_oldest(const struct ring_view *v, struct ring_point *out);

/* A position: all records before it are consumed, cleared or superseded. */
uint64_t ring_start(const struct ring_view *v);
/*
 * Copies page seq as far as it is written. 0; -ENOENT: it is not begun; -EAGAIN: it was overwritten
 * (R14).
 */
int ring_page_copy(const struct ring_view *v, uint64_t seq, struct ring_page *out);
/*
 * How many records the bytes up to *end hold. *end becomes the end of the last one: the bytes are
 * not trusted.
 */
uint32_t ring_page_entries(const char *page, uint32_t *end);
/* The oldest page that may still be intact. */
uint64_t ring_first_page(const struct ring_view *v);

/* ---- read.c ---- */

/* A page of a ring that goes to a consuming reader. */
struct ring_whole {
	const char	*page;
	uint64_t	seq;
	uint64_t	lost;		/* how many records were lost before it */
	uint32_t	end;		/* 0: it has to go record by record */
	uint32_t	entries;
};

struct ring_consumer;
/*
 * Right after a ring_peek() that returned 1. True: only one ring has records now, and this is its
 * page. `end` is set if the page is complete and nothing of it was taken: then ring_take_page()
 * takes it at once. The bytes are valid until then.
 */
bool ring_peek_page(struct ring_consumer *c, struct ring_whole *out);
void ring_take_page(struct ring_consumer *c, const struct ring_whole *whole);
/* Notes that consuming readers have read up to there. */
void ring_taken_to(const struct ring_view *v, uint64_t pos);

#endif
