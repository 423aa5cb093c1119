/* SPDX-License-Identifier: MIT */
/*
 * ring_access.h - checked views of rings for the server's ring_*.c files
 *
 * The data region is not trusted (R2): a view holds the numbers of a ring as
 * they were when they were found to fit the region.
 */
#ifndef TRACEFUSE_SESSION_RING_ACCESS_H
#define TRACEFUSE_SESSION_RING_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "plane/ring_layout.h"

struct session;

struct ring_view {
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

uint32_t ring_sets(const struct buffer *b);
/* The CPUs of all buffers of a session. */
uint32_t ring_cpus(struct session *s);
struct buffer *ring_buffer(struct session *s, data_ref ref);
bool ring_view(struct session *s, data_ref buffer, uint32_t set, uint32_t cpu, struct ring_view *out);
void ring_each(struct session *s, data_ref buffer, int cpu, void (*fn)(struct ring_view *v, void *arg), void *arg);
void ring_retire(struct session *s, data_ref ring);
/* Moves the limits of rings kept from before a resize to what their successors leave of the size. */
void ring_keep_limits(struct session *s, data_ref buffer);
/* Gives a new buffer rings for the leases that slots have. 0, -ENOMEM */
int ring_leases_add(struct session *s, data_ref buffer, const uint64_t *bytes_per_cpu);

/* Where the next record will be written. */
struct ring_point ring_head(const struct ring_view *v);
/* The oldest record that a reader may have, its time in .time; false when there is none. */
bool ring_oldest(const struct ring_view *v, struct ring_point *out);

/* Position: consumed, cleared and superseded records lie before it. */
uint64_t ring_start(const struct ring_view *v);
/* Copies page seq as far as it is written; 0, -ENOENT not begun, -EAGAIN overwritten (R14). */
int ring_page_copy(const struct ring_view *v, uint64_t seq, struct ring_page *out);
/* The oldest page that can still be intact. */
uint64_t ring_first_page(const struct ring_view *v);

#endif
