/* SPDX-License-Identifier: MIT */
/*
 * stat.h - what /proc/PID/stat says of a process
 *
 * The pid and the start time together name one process for good.
 */
#ifndef TRACEFUSE_SESSION_ATTACH_STAT_H
#define TRACEFUSE_SESSION_ATTACH_STAT_H

#include <stdint.h>
#include <sys/types.h>

struct process_stat {
	char		state;		/* of the main thread: 'R', 'S', 'T' (stopped), 'Z' ... */
	pid_t		parent;
	uint64_t	start_time;	/* clock ticks since boot */
};

/* All is 0 if there is no such process. */
struct process_stat process_stat(pid_t pid);

#endif
