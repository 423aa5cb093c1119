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
#include <sys/syscall.h>
#include <unistd.h>
#include "session/array.h"
#include "session/state.h"

/* It cannot be read now: this process may have no descriptor left. */
#define INNER_UNKNOWN UINT32_MAX

/*
 * The number by which a thread calls itself; 0: the thread is gone, or the file has no such line;
 * INNER_UNKNOWN
 */
static uint32_t task_inner(pid_t process, pid_t tid)
{
	char path[64], line[512];
	uint32_t inner = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)process, (int)tid);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT || errno == ESRCH ? 0 : INNER_UNKNOWN;
	errno = 0;
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "NSpid:", 6)) {
			const char *last = strrchr(line, '\t');

			inner = last ? (uint32_t)strtoul(last + 1, NULL, 10) : 0;
			break;
		}
	}
	if (ferror(f) && errno != ESRCH)
		inner = INNER_UNKNOWN;
	fclose(f);
	return inner;
}

/* The threads of a process as the server numbers them, the oldest one first mostly. */
struct numbers {
	pid_t	*at;
	size_t	nr;
};

/* Returns 0, or -errno with an empty list. */
static int numbers_read(pid_t process, struct numbers *n)
{
	char path[64];
	struct dirent *d;
	int err = 0;
	DIR *dir;

	*n = (struct numbers){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (!err && (d = readdir(dir))) {
		const pid_t tid = (pid_t)strtoul(d->d_name, NULL, 10);

		if (tid <= 0)
			continue;
		err = array_room(&n->at, n->nr, sizeof(*n->at));
		if (!err)
			n->at[n->nr++] = tid;
	}
	closedir(dir);
	if (err) {
		free(n->at);
		*n = (struct numbers){ 0 };
	}
	return err;
}

/*
 * Finds a thread if the numbers rise in both name spaces. They do, until one of the name spaces
 * starts again at its lowest number.
 */
static pid_t search_half(const struct numbers *n, pid_t process, uint32_t tid)
{
	size_t low = 0, high = n->nr;

	while (low < high) {
		const size_t i = low + (high - low) / 2;
		const uint32_t inner = task_inner(process, n->at[i]);

		if (inner == tid)
			return n->at[i];
		if (inner && inner < tid)
			low = i + 1;
		else
			high = i;
	}
	return 0;
}

static pid_t task_search(pid_t process, uint32_t tid)
{
	struct numbers n;
	pid_t found;

	if (numbers_read(process, &n))
		return 0;
	found = search_half(&n, process, tid);
	for (size_t i = 0; i < n.nr && !found; i++)
		if (task_inner(process, n.at[i]) == tid)
			found = n.at[i];
	free(n.at);
	return found;
}

pid_t task_find(pid_t process, uint32_t tid, int32_t *apart)
{
	/* In most cases both are in the same name space, or as far apart as the last time. */
	const int64_t guess = (int64_t)tid + *apart;
	pid_t found;

	if (!tid || tid > INT32_MAX)
		return 0;
	if (guess > 0 && guess <= INT32_MAX && task_inner(process, (pid_t)guess) == tid)
		return (pid_t)guess;
	/* A new thread asks for both its own number and that of its process. */
	if (task_inner(process, process) == tid)
		return process;
	found = task_search(process, tid);
	if (found)
		*apart = found - (int32_t)tid;
	return found;
}

/* ---- Which threads are there ---- */

static bool exists(const char *path)
{
	return !access(path, F_OK) || errno != ENOENT;
}

static int tid_compare(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* A process of another name space: all its threads, by the process's own numbers. */
static void tasks_list(struct tasks *t)
{
	bool whole = true;
	struct numbers n;

	if (numbers_read(t->process, &n))
		return;
	t->inner = calloc(n.nr, sizeof(*t->inner));
	for (size_t i = 0; t->inner && i < n.nr; i++) {
		t->inner[t->nr] = task_inner(t->process, n.at[i]);
		whole &= t->inner[t->nr++] != INNER_UNKNOWN;
	}
	if (t->inner && whole) {
		qsort(t->inner, t->nr, sizeof(*t->inner), tid_compare);
		t->known = TASKS_LISTED;
	}
	free(n.at);
}

void tasks_look(pid_t process, struct tasks *t)
{
	char path[64];

	*t = (struct tasks){ .process = process, .known = TASKS_UNKNOWN };
	snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	if (!exists(path))
		t->known = TASKS_GONE;
	else if (access(path, R_OK | X_OK))
		return;
	else if (task_inner(process, process) == (uint32_t)process)
		t->known = TASKS_OUTER;
	else
		tasks_list(t);
}

void tasks_forget(struct tasks *t)
{
	free(t->inner);
	t->inner = NULL;
}

static bool outer_lives(pid_t process, uint32_t tid)
{
	char path[64];

	if (!syscall(SYS_tgkill, process, tid, 0) || errno != ESRCH)
		return true;
	/*
	 * A process that shares the memory without being a thread (a raw clone) may have a slot,
	 * too.
	 */
	snprintf(path, sizeof(path), "/proc/%u", tid);
	return exists(path);
}

bool tasks_have(const struct tasks *t, uint32_t tid)
{
	switch (t->known) {
	case TASKS_GONE:
		return false;
	case TASKS_OUTER:
		return outer_lives(t->process, tid);
	case TASKS_LISTED:
		return bsearch(&tid, t->inner, t->nr, sizeof(*t->inner), tid_compare) != NULL;
	default:
		return true;
	}
}
