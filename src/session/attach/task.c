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

/* Nothing can be read now: this process may have no descriptor left. */
enum { TASK_UNKNOWN = -1 };

static int task_error(void)
{
	return errno == ENOENT || errno == ESRCH ? 0 : TASK_UNKNOWN;
}

/*
 * The number by which a thread calls itself; 0: the thread is gone, or the file has no such line;
 * TASK_UNKNOWN
 */
static uint32_t task_inner(pid_t process, pid_t tid)
{
	char path[64], line[512];
	uint32_t inner = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)process, (int)tid);
	f = fopen(path, "re");
	if (!f)
		return (uint32_t)task_error();
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

/* Searches all threads of the process. 0: there is none; TASK_UNKNOWN */
static pid_t task_search(pid_t process, uint32_t tid)
{
	char path[64];
	struct dirent *d;
	pid_t found = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	dir = opendir(path);
	if (!dir)
		return task_error();
	while (found <= 0 && (d = readdir(dir))) {
		const pid_t outer = (pid_t)strtoul(d->d_name, NULL, 10);
		const uint32_t inner = outer > 0 ? task_inner(process, outer) : 0;

		if (inner == tid)
			found = outer;
		else if (inner == (uint32_t)TASK_UNKNOWN)
			found = TASK_UNKNOWN;
	}
	closedir(dir);
	return found;
}

pid_t task_find(pid_t process, uint32_t tid)
{
	pid_t found;

	if (!tid || tid > INT32_MAX)
		return 0;
	/* In most cases both are in the same name space. */
	if (task_inner(process, (pid_t)tid) == tid)
		return (pid_t)tid;
	found = task_search(process, tid);
	return found > 0 ? found : 0;
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
