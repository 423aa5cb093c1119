/* SPDX-License-Identifier: MIT */
/*
 * cursor.h - the records of one sub-buffer in the kernel's format
 *
 *     start -> while (next): record, size, time; [at, next) is its place in the page
 *
 * It is safe on any bytes: a record that does not fit into the page ends the page.
 */
#ifndef TRACEFUSE_SESSION_RING_CURSOR_H
#define TRACEFUSE_SESSION_RING_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

struct ring_cursor {
	const char	*page;
	uint32_t	end;
	uint32_t	at;		/* where the current record begins, with its time extend */
	uint32_t	next;
	uint64_t	time;
	const void	*record;
	uint32_t	size;
};

void ring_cursor_start(struct ring_cursor *c, const char *page, uint32_t end);
bool ring_cursor_next(struct ring_cursor *c);

#endif
