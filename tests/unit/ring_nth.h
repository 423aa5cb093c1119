/* SPDX-License-Identifier: MIT */
/* ring_nth.h - reads one record of a buffer */
#ifndef TRACEFUSE_TESTS_RING_NTH_H
#define TRACEFUSE_TESTS_RING_NTH_H

#include <string.h>
#include "plane/ring/ring.h"

/*
 * Reads the n-th record of the iterator, at most `room` bytes of it, and closes the iterator.
 * Returns the record's size; 0: there is none.
 */
static inline uint32_t ring_nth_of(struct ring_iter *it, unsigned int n, void *out, uint32_t room)
{
	struct ring_record r;
	uint32_t size = 0;

	for (unsigned int i = 0; ring_iter_next(it, &r) > 0; i++) {
		if (i != n)
			continue;
		size = r.size;
		memcpy(out, r.record, size < room ? size : room);
	}
	ring_iter_close(it);
	return size;
}

#endif
