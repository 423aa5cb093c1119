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

#endif
