/* SPDX-License-Identifier: MIT */
/*
 * task.c - finds threads of an attached process by the numbers that the process itself uses
 *
 * A process in another pid name space knows its threads by other numbers than
 * the server does. /proc/PID/task/TID/status has both:
 *
 *     NSpid:	4711	17	1       from the reader's name space to the process's own
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "session/state.h"

/*
 * The number by which a thread calls itself; 0: the thread is gone, or the file has no such line.
 */
static uint32_t task_inner(pid_t process, pid_t tid)
{
	char path[64], line[512];
	uint32_t inner = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)process, (int)tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "NSpid:", 6)) {
			const char *last = strrchr(line, '\t');

			inner = last ? (uint32_t)strtoul(last + 1, NULL, 10) : 0;
			break;
		}
	}
	fclose(f);
	return inner;
}

/* Searches all threads of the process. */
static pid_t task_search(pid_t process, uint32_t tid)
{
	char path[64];
	struct dirent *d;
	pid_t found = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	dir = opendir(path);
	if (!dir)
		return 0;
	while (!found && (d = readdir(dir))) {
		pid_t outer = (pid_t)strtoul(d->d_name, NULL, 10);

		if (outer > 0 && task_inner(process, outer) == tid)
			found = outer;
	}
	closedir(dir);
	return found;
}

pid_t task_find(pid_t process, uint32_t tid)
{
	if (!tid || tid > INT32_MAX)
		return 0;
	/* In most cases both are in the same name space. */
	if (task_inner(process, (pid_t)tid) == tid)
		return (pid_t)tid;
	return task_search(process, tid);
}

static bool exists(const char *path)
{
	return !access(path, F_OK) || errno != ENOENT;
}

bool task_lives(pid_t process, uint32_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	if (!exists(path))
		return false;
	if (access(path, R_OK | X_OK))
		return true;	/* unknown */
	if (task_inner(process, process) != (uint32_t)process)
		return task_search(process, tid) != 0;
	/*
	 * A process that shares the memory without being a thread (a raw clone) may have a slot,
	 * too.
	 */
	snprintf(path, sizeof(path), "/proc/%u", tid);
	return exists(path);
}
