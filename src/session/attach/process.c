/* SPDX-License-Identifier: MIT */
/*
 * process.c - the attached processes and whether they live (R5)
 *
 * A pidfd says whether a process lives. The table in the config region has pid and start time,
 * which together name one process for good. With it, a server that restores the session finds the
 * processes of the old one.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "session/attach/stat.h"
#include "session/state.h"

static struct process_entry *entry_of(struct session *s, unsigned int index)
{
	return (struct process_entry *)(s->config.base + s->header->processes) + index;
}

static void table_end_set(struct session *s, unsigned int end)
{
	s->processes_end = end;
	/* Relaxed: the entry of an attached process is there before its code runs. */
	atomic_store_explicit(&s->header->processes_high, end, memory_order_relaxed);
}

static unsigned int entry_first_free(const struct session *s)
{
	unsigned int i = 0;

	while (i < s->processes_end && s->processes[i].pid)
		i++;
	return i;
}

/* The first free entry, or -EUSERS. */
static int entry_find(struct session *s)
{
	unsigned int i = entry_first_free(s);

	if (i == LAYOUT_MAX_PROCESSES) {
		attach_settle_left(s);
		i = entry_first_free(s);
	}
	if (i == LAYOUT_MAX_PROCESSES)
		return -EUSERS;
	if (i == s->processes_end)
		table_end_set(s, (unsigned int)i + 1);
	return (int)i;
}

int process_add(struct session *s, pid_t pid, int pidfd, int conn)
{
	int index = entry_find(s),
	    err = index < 0 ? index : attach_watch(s, (unsigned int)index + 1, conn);
	struct process_entry *e;

	if (err)
		return err;
	s->processes[index] = (struct process){
		.pid = pid,
		.pidfd = pidfd,
		.conn = conn,
		.peer = pidfd < 0 ? conn : -1,
		.since = session_now_ms(),
	};
	s->nr_peers += pidfd < 0;
	process_forget_answer(s, (unsigned int)index);
	e = entry_of(s, (unsigned int)index);
	e->start_time = e->image = 0;
	e->pid = (uint32_t)pid;
	return index;
}

void process_runs(struct session *s, unsigned int index, uint64_t image)
{
	s->processes[index].image = entry_of(s, index)->image = image;
}

void process_drop_peer(struct session *s, struct process *p)
{
	if (p->peer < 0)
		return;
	if (p->peer != p->conn)
		close(p->peer);
	p->peer = -1;
	s->nr_peers--;
}

/* Makes the pidfd that was put off. False: the process is dead. */
static bool pidfd_make(struct session *s, struct process *p)
{
	int fd;

	/* A shell's program is: a call of no descriptor says so. */
	if (kill(p->pid, 0) && errno == ESRCH)
		return false;
	fd = attach_told_pidfd(p->peer);
	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM)
		return true;	/* unknown, until next time */
	if (fd < 0)
		return false;
	p->pidfd = fd;
	process_drop_peer(s, p);
	return true;
}

bool process_alive(struct session *s, struct process *p)
{
	struct pollfd fd = { .events = POLLIN };

	if (p->peer >= 0 && !pidfd_make(s, p))
		return false;
	fd.fd = p->pidfd;
	if (p->pidfd < 0)
		return true;	/* unknown: its slots stay as they are */
	return poll(&fd, 1, 0) <= 0;
}

void process_describe(struct session *s, unsigned int index)
{
	struct process *p = &s->processes[index];
	uint64_t began;

	if (p->described)
		return;
	p->described = true;
	began = process_stat(p->pid).start_time;
	if (!process_alive(s, p))
		began = 0;	/* perhaps it was that of another process with the same pid */
	p->known |= follow_knows(s, p->pid, began);
	entry_of(s, index)->start_time = began;
}

static void process_tell_end(struct session *s, unsigned int index)
{
	struct attach_answer answer;

	if (s->hooks.ended && process_answer(s, index, &answer))
		s->hooks.ended(s->hooks.arg, &answer);
}

void process_remove(struct session *s, unsigned int index)
{
	struct process *p = &s->processes[index];

	process_tell_end(s, index);
	s->nr_perhaps_left -= p->perhaps_left;
	slots_take_back(s, index + 1);
	entry_of(s, index)->pid = 0;
	process_drop_peer(s, p);
	if (p->pidfd >= 0)
		close(p->pidfd);
	if (p->conn >= 0)
		attach_unwatch(s, p->conn);
	*p = (struct process){ .pidfd = -1, .conn = -1, .peer = -1 };
}

uint64_t process_began(struct session *s, unsigned int index)
{
	process_describe(s, index);
	return entry_of(s, index)->start_time;
}

/*
 * Whether the process that has the entry's pid now is that of the entry. An entry without a start
 * time is of a process that the old server had not described yet, but may have answered. Such a
 * process has mapped the session's memory before it asked. One that has got its pid since has not.
 */
static bool entry_fits(const struct session *s, const struct process_entry *e)
{
	if (e->start_time)
		return process_stat((pid_t)e->pid).start_time == e->start_time;
	return process_maps(s, (pid_t)e->pid);
}

/* A pidfd of the process that an entry names, or -1 if it is gone. */
static int entry_pidfd(const struct session *s, const struct process_entry *e)
{
	int fd = (int)syscall(SYS_pidfd_open, (pid_t)e->pid, 0);

	/* Compared while the pidfd holds the pid, so this is the process or it never was. */
	if (fd >= 0 && !entry_fits(s, e)) {
		close(fd);
		return -1;
	}
	return fd;
}

void processes_restore(struct session *s)
{
	for (unsigned int i = 0; i < LAYOUT_MAX_PROCESSES; i++) {
		struct process_entry *e = entry_of(s, i);
		int fd = e->pid ? entry_pidfd(s, e) : -1;

		if (fd < 0) {
			e->pid = 0;
			continue;
		}
		s->processes[i] = (struct process){
			.pid = (pid_t)e->pid, .pidfd = fd, .conn = -1, .peer = -1,
			.image = e->image,
			.known = true, .settled = true,
		};
		process_describe(s, i);
		table_end_set(s, i + 1);
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
