/* SPDX-License-Identifier: MIT */
/*
 * follow.c - a process that joins the session also joins the sets of pids of the thread that
 * created it
 *
 * The server does this for processes whose agent cannot (agent/thread/tasks.c): programs executed
 * by posix_spawn(), system() and their like, programs executed by a process that is not attached,
 * and children of raw system calls. /proc/PID/task/TID/children lists a thread's own children. If
 * the kernel has no such file, or the thread has ended, the first thread counts as their creator.
 *
 * A process joins at most once: not again when it executes another program or attaches to the next
 * server. Its ancestors that are not attached should have joined before it; that is done here, too.
 *
 * The same file leads to children of fork() that have not joined: the server does not know them. If
 * the parent has ended, nothing leads to them. So all processes are looked at then, once for the
 * processes that have ended since, and again while there are such children.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "session/attach/stat.h"
#include "session/state.h"

enum {
	GENERATIONS	= 32,
	UNJOINED	= 3,	/* of children that have not joined; each takes two descriptors */
};

uint64_t follow_now(void)
{
	const uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * hz + (uint64_t)t.tv_nsec * hz / 1000000000;
}

void session_follow(struct session *s, bool on)
{
	struct config_header *h = s->header;

	/* Relaxed: a task that begins just now may miss it. */
	if (on && !atomic_load_explicit(&h->follow, memory_order_relaxed))
		h->follow_since = follow_now();
	atomic_store_explicit(&h->follow, on, memory_order_relaxed);
}

/* ---- Processes that the server knows ---- */

void follow_remember(struct session *s, pid_t pid, uint64_t start_time)
{
	s->gone[s->next_gone++ % FOLLOW_GONE] =
		(struct process_entry){ .pid = (uint32_t)pid, .start_time = start_time };
}

static bool is_it(const struct process_entry *e, pid_t pid, uint64_t start_time)
{
	return e->pid == (uint32_t)pid && e->start_time == start_time;
}

bool follow_knows(struct session *s, pid_t pid, uint64_t start_time)
{
	for (unsigned int i = 0; i < s->processes_end; i++)
		if (s->processes[i].known && s->processes[i].pid == pid &&
		    process_began(s, i) == start_time)
			return true;
	for (unsigned int i = 0; i < FOLLOW_GONE; i++)
		if (is_it(&s->gone[i], pid, start_time))
			return true;
	return false;
}

/* ---- The creator of a process ---- */

static bool has_child(pid_t process, const char *tid, pid_t child)
{
	char path[320];
	bool found = false;
	long pid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)process, tid);
	f = fopen(path, "re");
	while (f && !found && fscanf(f, "%ld", &pid) == 1)
		found = pid == child;
	if (f)
		fclose(f);
	return found;
}

/* The thread of that process that created `child`; the first thread, if that is unknown. */
static pid_t creator_in(pid_t process, pid_t child)
{
	pid_t creator = process;
	struct dirent *d;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	dir = opendir(path);
	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.' && has_child(process, d->d_name, child)) {
			creator = (pid_t)strtol(d->d_name, NULL, 10);
			break;
		}
	if (dir)
		closedir(dir);
	return creator;
}

void follow_child(struct session *s, pid_t pid)
{
	pid_t line[GENERATIONS] = { pid };
	struct process_stat stat;
	unsigned int nr = 0;

	if (!pids_followed(&s->plane))
		return;
	/* Goes up the ancestors as far as they are unknown to the server. */
	while (nr < GENERATIONS - 1 && line[nr] > 0) {
		stat = process_stat(line[nr]);
		if (stat.start_time < s->header->follow_since ||
		    (nr && follow_knows(s, line[nr], stat.start_time)))
			break;
		line[++nr] = stat.parent;
	}
	for (; nr; nr--)
		if (line[nr] > 0)
			pids_inherit(s, creator_in(line[nr], line[nr - 1]), line[nr - 1]);
}

/* ---- Children that have not joined ---- */

struct unjoined {
	struct session	*session;
	void		(*fn)(void *arg, pid_t pid);
	void		*arg;
	unsigned int	generation;
	bool		any;
};

static bool is_attached(const struct session *s, pid_t pid)
{
	for (unsigned int i = 0; i < s->processes_end; i++)
		if (s->processes[i].pid == pid)
			return true;
	return false;
}

/* One is enough, if nobody wants to know which. */
static bool is_enough(const struct unjoined *u)
{
	return u->any && !u->fn;
}

static void children_find(struct unjoined *u, pid_t process);

static void child_find(struct unjoined *u, pid_t pid)
{
	if (is_attached(u->session, pid) || !process_maps_known(u->session, pid))
		return;
	u->any = true;
	if (!u->fn)
		return;
	u->fn(u->arg, pid);
	if (u->generation < UNJOINED) {
		u->generation++;
		children_find(u, pid);
		u->generation--;
	}
}

static void children_of_thread(struct unjoined *u, pid_t process, const char *tid)
{
	char path[320];
	long pid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)process, tid);
	f = fopen(path, "re");
	while (f && !is_enough(u) && fscanf(f, "%ld", &pid) == 1)
		child_find(u, (pid_t)pid);
	if (f)
		fclose(f);
}

static void children_find(struct unjoined *u, pid_t process)
{
	struct dirent *d;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	dir = opendir(path);
	while (dir && !is_enough(u) && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			children_of_thread(u, process, d->d_name);
	if (dir)
		closedir(dir);
}

static void children_see(void *arg, pid_t pid, unsigned int slots)
{
	children_find(arg, pid);
}

/* ---- Those whose parent has ended ---- */

/*
 * Other children are found by their parents: those of attached processes, and of children like
 * these. The server and what it forks have the memory, too, and never join. What has left the
 * session does not join again. To read the maps of all processes would take long, so those that are
 * older than the session are left out first.
 */
static bool is_orphan(struct session *s, pid_t pid)
{
	const struct process_stat stat = process_stat(pid);

	return stat.start_time >= s->header->made && pid != getpid() && stat.parent != getpid() &&
	       !is_attached(s, pid) && !is_attached(s, stat.parent) &&
	       !follow_knows(s, pid, stat.start_time) && process_maps_known(s, pid) &&
	       !process_maps_known(s, stat.parent);
}

/* Whether there are any: then they are looked for again. */
static bool orphans_find(struct unjoined *u)
{
	DIR *dir = opendir("/proc");
	bool any = !dir;
	struct dirent *d;
	pid_t pid;

	while (dir && !is_enough(u) && (d = readdir(dir))) {
		pid = (pid_t)strtol(d->d_name, NULL, 10);
		if (pid <= 0 || !is_orphan(u->session, pid))
			continue;
		any = true;
		child_find(u, pid);
	}
	if (dir)
		closedir(dir);
	return any;
}

void attach_orphans_again(struct session *s)
{
	s->may_have_orphans |= attach_quiet_any(s);
}

bool attach_children(struct session *s, void (*fn)(void *arg, pid_t pid), void *arg)
{
	struct unjoined u = { .session = s, .fn = fn, .arg = arg };

	attach_processes(s, children_see, &u);
	if (s->may_have_orphans && !is_enough(&u))
		s->may_have_orphans = orphans_find(&u);
	return u.any;
}
