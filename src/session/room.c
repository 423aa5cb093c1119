/* SPDX-License-Identifier: MIT */
/*
 * room.c - how much memory there is for a session: its tmpfs may be small (64 MB in a container)
 *
 * A size that a user asks for is given or refused. A default, the size of a buffer that is enabled
 * for the first time, is chosen so that the rest of the session has room, too.
 */
#include <sys/statvfs.h>

#include "session/cgroup.h"
#include "session/state.h"

enum { SHARE = 4 };	/* a buffer gets a quarter: snapshot, histograms, threads need room, too */

void session_room(const struct session *s, struct session_room *out)
{
	struct statvfs fs;

	*out = (struct session_room){
		.full = s->config.full || s->data.full,
		.used_up = s->config_heap.used_up || s->data_heap.used_up,
	};
	/* Memory without a name is limited only by the machine's memory. */
	if (fstatvfs(s->data.fd, &fs) || !fs.f_blocks)
		return;
	out->total = (uint64_t)fs.f_blocks * fs.f_frsize;
	out->free = (uint64_t)fs.f_bavail * fs.f_frsize;
}

uint64_t room_of_ring(const struct session *s, uint32_t nr_cpus)
{
	const uint64_t group = cgroup_memory();
	struct session_room room;

	session_room(s, &room);
	if (!room.total)
		room.free = UINT64_MAX;
	if (group < room.free)
		room.free = group;
	return room.free == UINT64_MAX ? room.free : room.free / SHARE / nr_cpus;
}
