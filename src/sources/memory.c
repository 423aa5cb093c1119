/* SPDX-License-Identifier: MIT */
/* memory.c - see memory.h */
#include <unistd.h>

#include "sources/memory.h"

/* What is taken for a machine that does not tell, and the least of one that does. */
#define USUAL_MIN	(1ull << 30)

uint64_t source_memory_usual(void)
{
	const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	const uint64_t all = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;

	return all / 2 > USUAL_MIN ? all / 2 : USUAL_MIN;
}
