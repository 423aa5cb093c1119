/* SPDX-License-Identifier: MIT */
/* memory.c - see memory.h */
#include <unistd.h>

#include "session/cgroup.h"
#include "sources/recording/memory.h"

/*
 * The default for a machine whose memory is unknown, and the minimum for others. A control group's
 * limit applies even so.
 */
#define USUAL_MIN	(1ull << 30)
#define LEAST		(64ull << 20)	/* smallest limit for --memory */

uint64_t source_memory_usual(void)
{
	const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	const uint64_t all = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
	const uint64_t usual = all / 2 > USUAL_MIN ? all / 2 : USUAL_MIN,
		       most = cgroup_memory() / 2;

	return most < usual ? most < LEAST ? LEAST : most : usual;
}
