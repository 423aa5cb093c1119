/* SPDX-License-Identifier: MIT */
/* maps.h - the bounds of a mapping, of a line of /proc/self/maps that may come in pieces */
#ifndef TRACEFUSE_AGENT_MAPS_H
#define TRACEFUSE_AGENT_MAPS_H

#include <stdint.h>

/* "START-END ..." */
struct maps_bounds {
	uintptr_t	at[2];
	unsigned int	nr;		/* that are read */
};

/* The next character of a line of which fewer than two are read. */
static inline void maps_bounds_add(struct maps_bounds *b, char c)
{
	if (c == '-' || c == ' ')
		b->nr++;
	else
		b->at[b->nr] = b->at[b->nr] << 4 |
			       (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

#endif
