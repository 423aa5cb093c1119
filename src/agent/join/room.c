/* SPDX-License-Identifier: MIT */
/*
 * room.c - addresses for the agent in a process whose RLIMIT_AS is limited
 *
 * The agent maps some GiB, of which it touches nearly nothing. The kernel counts
 * all of that as the program's. So the agent raises the limit by that amount before
 * (providers/limits.c shows the program the limit without it):
 *
 *     soft limit   always; if it would pass a hard limit that may not be raised,
 *                  the program is not traced
 *     hard limit   if that is allowed
 *
 * If the hard limit may not be raised, a program that began with one sees it lower
 * by that amount.
 */
#include <errno.h>
#include <sys/resource.h>
#include "agent/state.h"
#include "agent/syscall.h"

/* For the library, what it needs of others, and large records of a few threads. */
enum { OWN = 2 << 20 };

static uint64_t raised(uint64_t limit, uint64_t bytes)
{
	if (limit == RLIM_INFINITY)
		return limit;
	return limit < RLIM_INFINITY - bytes ? limit + bytes : RLIM_INFINITY - 1;
}

static long limit_set(uint64_t soft, uint64_t hard)
{
	struct rlimit r = { soft, hard };

	return agent_syscall(SYS_prlimit64, 0, RLIMIT_AS, &r, 0);
}

int room_make(uint64_t bytes)
{
	struct agent_room *room = &agent.room;
	struct rlimit now;

	if (!room->bytes)
		bytes += OWN;
	if (agent_syscall(SYS_prlimit64, 0, RLIMIT_AS, 0, &now))
		now = (struct rlimit){ RLIM_INFINITY, RLIM_INFINITY };
	if (!room->bytes) {
		room->soft = now.rlim_cur;
		room->hard = now.rlim_max;
	}
	if (now.rlim_max != RLIM_INFINITY || now.rlim_cur != RLIM_INFINITY) {
		uint64_t soft = raised(now.rlim_cur, bytes);

		if (limit_set(soft, raised(now.rlim_max, bytes)) && limit_set(soft, now.rlim_max)) {
			agent_say("the address space is limited (ulimit -v), and the limit may not "
				  "be raised",
				  0);
			return -ENOMEM;
		}
	}
	room->bytes += bytes;
	return 0;
}

void room_give_back(void)
{
	if (agent.room.bytes && agent.room.hard != RLIM_INFINITY)
		limit_set(agent.room.soft, agent.room.hard);
	else if (agent.room.bytes && agent.room.soft != RLIM_INFINITY)
		limit_set(agent.room.soft, RLIM_INFINITY);
	agent.room = (struct agent_room){ 0 };
}

uint64_t agent_mapped(void)
{
	return agent.room.bytes;
}

unsigned int agent_regions(struct agent_region out[AGENT_REGIONS])
{
	const struct agent_region all[] = {
		{ (uintptr_t)agent.plane.config, agent.plane.config_size },
		{ (uintptr_t)agent.plane.data, agent.plane.data_size + agent.data_spare },
		{ (uintptr_t)agent.here, agent.here_size },
	};
	unsigned int nr = 0;

	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		unsigned int at = nr;

		if (!all[i].start || !agent.room.bytes)
			continue;
		for (; at && out[at - 1].start > all[i].start; at--)
			out[at] = out[at - 1];
		out[at] = all[i];
		nr++;
	}
	return nr;
}
