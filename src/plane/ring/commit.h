/* SPDX-License-Identifier: MIT */
/*
 * commit.h - what one commit stores, in a form that a restartable section can carry out
 */
#ifndef TRACEFUSE_PLANE_RING_COMMIT_H
#define TRACEFUSE_PLANE_RING_COMMIT_H

#include <stdint.h>
#include "layout/ring.h"

struct ring_store {
	void		*at;
	uint64_t	value;
};

/* Any commit, as a list of stores. ring_commit.h of src/plane/arch knows the offsets. */
struct ring_commit {
	uint64_t	*head_at;	/*  0 */
	uint64_t	head;		/* 8: the value that was read */
	uint64_t	next_head;	/* 16 */
	char		*dst;		/* 24: the record's bytes: words of 8, then single bytes */
	const char	*src;		/* 32 */
	uint32_t	words;		/* 40 */
	uint32_t	bytes;		/* 44 */
	uint32_t	nr_stores;	/* 48: at least one */
	uint32_t	pad;
	struct ring_store stores[14];	/* 56: in order */
};

/*
 * For the only writer of a ring: a record of RING_SHORT_MIN to RING_MAX_SMALL bytes that follows
 * another one in the same page.
 */
struct ring_short {
	struct ring	*ring;
	struct ring_tail *tail;		/* the tail that head does not name */
	char		*at;		/* where its header goes */
	const char	*src;
	/* size - 8. Words are copied from 0 up to it, and one more at it */
	uint64_t	last;
	uint64_t	head;
	uint64_t	next_head;
	uint64_t	time;
	uint64_t	entries;	/* with this record */
	uint32_t	header;
};

enum { RING_SHORT_MIN = 12 };

#endif
