/* SPDX-License-Identifier: MIT */
/*
 * array.h - an array that grows by one element at a time; not for the traced program
 */
#ifndef TRACEFUSE_SESSION_ARRAY_H
#define TRACEFUSE_SESSION_ARRAY_H

#include <errno.h>
#include <stdlib.h>

/*
 * Makes room behind the `nr` elements of an array that only this function allocates. `array` is the
 * address of the pointer, which is NULL at first. The room is a power of two that follows from
 * `nr`: the caller need not store it. Returns 0, or -ENOMEM with everything unchanged.
 */
static inline int array_room(void *array, size_t nr, size_t size)
{
	const size_t first = 8;
	void *more;

	if (nr && (nr < first || nr & (nr - 1)))
		return 0;
	more = reallocarray(*(void **)array, nr ? 2 * nr : first, size);
	if (!more)
		return -ENOMEM;
	*(void **)array = more;
	return 0;
}

#endif
