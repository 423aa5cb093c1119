/* SPDX-License-Identifier: MIT */
/*
 * ring_commit.h - the stores of one commit, listed, so that they can be made in a restartable section
 */
#ifndef TRACEFUSE_PLANE_RING_COMMIT_H
#define TRACEFUSE_PLANE_RING_COMMIT_H

#include <stdint.h>

struct ring_store {
	void		*at;
	uint64_t	value;
};

/* The offsets are known to arch/<arch>/ring_commit.h. */
struct ring_commit {
	uint64_t	*head_at;	/*  0 */
	uint64_t	head;		/*  8: as it was read */
	uint64_t	next_head;	/* 16 */
	char		*dst;		/* 24: the record's bytes: words of 8, then single bytes */
	const char	*src;		/* 32 */
	uint32_t	words;		/* 40 */
	uint32_t	bytes;		/* 44 */
	uint32_t	nr_stores;	/* 48: at least one */
	uint32_t	pad;
	struct ring_store stores[12];	/* 56: in order */
};

#endif
