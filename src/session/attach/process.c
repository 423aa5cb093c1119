/* SPDX-License-Identifier: MIT */
/*
 * process.c - the attached processes and whether they live (R5)
 *
 * A pidfd says whether a process lives. The table in the config region keeps
 * pid and start time, which together name one process for good, so that a
 * server that re-opens the session finds the processes of the old one.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "session/state.h"

static struct process_entry *entry_of(struct session *s, unsigned int index)
{
	return (struct process_entry *)(s->config.base + s->header->processes) + index;
}

/* /proc/PID/stat from field 3 on, which follows a name in parentheses that may hold anything. */
static const char *stat_read(pid_t pid, char *text, size_t size)
{
	char path[64];
	const char *p = NULL;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return NULL;
	if (fgets(text, (int)size, f) && (p = strrchr(text, ')')))
		p = p[1] ? p + 2 : NULL;
	fclose(f);
	return p;
}

/* Steps from field `from` to field `to`. */
static const char *stat_skip(const char *p, int from, int to)
{
	for (; p && from < to; from++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	return p;
}

uint64_t process_start_time(pid_t pid)
{
	char text[1024];
	const char *p = stat_skip(stat_read(pid, text, sizeof(text)), 3, 22);

	return p ? strtoull(p, NULL, 10) : 0;
}

pid_t process_parent(pid_t pid)
{
	char text[1024];
	const char *p = stat_skip(stat_read(pid, text, sizeof(text)), 3, 4);

	return p ? (pid_t)strtol(p, NULL, 10) : 0;
}

/* Names what it runs: another number after exec. 0: cannot be told. */
static uint64_t process_image(pid_t pid)
{
	char text[1024];
	const char *p = stat_skip(stat_read(pid, text, sizeof(text)), 3, 26);
	uint64_t image = 0;

	/* Fields 26 to 28: where code begins and ends, and the stack begins; zeros when that is not ours to see. */
	for (int field = 26; p && field <= 28; field++, p = stat_skip(p, 0, 1))
		image = image * 0x100000001b3ull + strtoull(p, NULL, 10);
	return image;
}

/* The first free entry; -EUSERS: none is. */
static int entry_find(struct session *s)
{
	unsigned int i = 0;

	while (i < s->processes_end && s->processes[i].pid)
		i++;
	if (i == LAYOUT_MAX_PROCESSES)
		return -EUSERS;
	if (i == s->processes_end)
		s->processes_end++;
	return (int)i;
}

int process_add(struct session *s, pid_t pid, int pidfd, int conn)
{
	const uint64_t start_time = process_start_time(pid);
	const bool known = follow_knows(s, pid, start_time);
	int index = entry_find(s),
	    err = index < 0 ? index : attach_watch(s, (unsigned int)index + 1, conn);
	struct process_entry *e;

	if (!err && pidfd >= 0)
		err = attach_watch(s, (unsigned int)index + 1, pidfd);
	if (err)
		return err;
	s->processes[index] = (struct process){
		.pid = pid,
		.pidfd = pidfd,
		.conn = conn,
		.since = session_now_ms(),
		.image = process_image(pid),
		.known = known,
	};
	process_forget_answer(s, (unsigned int)index);
	e = entry_of(s, (unsigned int)index);
	e->start_time = start_time;
	e->pid = (uint32_t)pid;
	return index;
}

void process_remove(struct session *s, unsigned int index)
{
	struct process *p = &s->processes[index];

	slots_take_back(s, index + 1);
	entry_of(s, index)->pid = 0;
	if (p->pidfd >= 0)
		close(p->pidfd);
	if (p->conn >= 0)
		attach_unwatch(s, p->conn);
	*p = (struct process){ .pidfd = -1, .conn = -1 };
}

bool process_alive(const struct process *p)
{
	struct pollfd fd = { .fd = p->pidfd, .events = POLLIN };

	if (p->pidfd < 0)
		return true;	/* cannot tell: its slots stay as they are */
	return poll(&fd, 1, 0) <= 0;
}

/* The process that an entry names, or -1 when it is gone. */
static int entry_pidfd(const struct process_entry *e)
{
	int fd = (int)syscall(SYS_pidfd_open, (pid_t)e->pid, 0);

	/* Looked at while the pidfd holds the process: it is this one or never was. */
	if (fd >= 0 && process_start_time((pid_t)e->pid) != e->start_time) {
		close(fd);
		return -1;
	}
	return fd;
}

void processes_restore(struct session *s)
{
	for (unsigned int i = 0; i < LAYOUT_MAX_PROCESSES; i++) {
		struct process_entry *e = entry_of(s, i);
		int fd = e->pid ? entry_pidfd(e) : -1;

		if (fd < 0) {
			e->pid = 0;
			continue;
		}
		s->processes[i] = (struct process){
			.pid = (pid_t)e->pid, .pidfd = fd, .conn = -1, .image = process_image((pid_t)e->pid), .known = true,
		};
		s->processes_end = i + 1;
		attach_watch(s, i + 1, fd);
	}
	for (uint32_t i = 0; i < slots_end(s); i++) {
		uint32_t process = slot_book(s, i)->process;

		if (process && process <= LAYOUT_MAX_PROCESSES && s->processes[process - 1].pid)
			slot_assign(s, i, process);
		else
			slot_finish(s, i);
	}
}
