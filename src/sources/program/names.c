/* SPDX-License-Identifier: MIT */
/*
 * names.c - names and thread groups of running programs, from the log in the data region
 *
 * Programs write the log while it is read, and may write anything. An entry counts if it has the
 * expected number both before and after it is copied.
 */
#include <stdlib.h>
#include <string.h>

#include "model/cmdlines.h"
#include "sources/program/programs_state.h"

enum { UNWRITTEN_MAX = 20, PID_END = 4194305 };

void program_text_clean(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

/* ---- counts ---- */

struct pids_of {
	unsigned int	nr;
	uint64_t	bits[(PID_END + 63) / 64];
};

struct seen_pids {
	struct pids_of	threads, processes;
};

static void see(struct pids_of *of, uint32_t pid)
{
	uint64_t *word = &of->bits[pid / 64], bit = 1ull << pid % 64;

	of->nr += !(*word & bit);
	*word |= bit;
}

/* A pid that the kernel uses again counts once. */
static void count_task(struct programs *p, uint32_t pid, uint32_t tgid)
{
	if (!p->seen)
		p->seen = calloc(1, sizeof(*p->seen));
	if (!p->seen)
		return;
	see(&p->seen->threads, pid);
	if (tgid)
		see(&p->seen->processes, tgid);
}

void program_names_joined(struct programs *p, pid_t pid)
{
	if (pid > 0 && pid < PID_END)
		count_task(p, (uint32_t)pid, (uint32_t)pid);
}

unsigned int program_names_threads(const struct programs *p)
{
	return p->seen ? p->seen->threads.nr : 0;
}

unsigned int program_names_processes(const struct programs *p)
{
	return p->seen ? p->seen->processes.nr : 0;
}

void program_names_destroy(struct programs *p)
{
	free(p->seen);
}

/* ---- the log ---- */

static struct program_tables *program_names_tables_of(struct programs *p)
{
	struct session *s = p->model->session;

	return session_data(s, session_header(s)->programs, sizeof(struct program_tables));
}

static void program_names_take(struct programs *p, const struct task_entry *e)
{
	char comm[LAYOUT_COMM_LEN];

	if (!e->pid || e->pid >= PID_END || e->tgid >= PID_END)
		return;
	memcpy(comm, e->comm, sizeof(comm));
	comm[sizeof(comm) - 1] = '\0';
	program_text_clean(comm);
	count_task(p, e->pid, e->tgid);
	cmdlines_add(p->model->cmdlines, (int)e->pid, comm);
	if (e->tgid)
		cmdlines_add_tgid(p->model->cmdlines, (int)e->pid, (int)e->tgid);
}

/* Returns 1 if the entry was taken or is overwritten, 0 if it is not written yet. */
static int read_entry(struct programs *p, struct task_entry *entry)
{
	struct task_entry copy;
	/* Pairs with the release in task_note() (agent/thread/thread.c), which stores it last. */
	uint64_t seq = atomic_load_explicit(&entry->seq, memory_order_acquire);

	if (seq != p->next_task + 1)
		return seq > p->next_task + 1;
	copy.pid = entry->pid;
	copy.tgid = entry->tgid;
	memcpy(copy.comm, entry->comm, sizeof(copy.comm));
	/*
	 * Pairs with the writer's fence after its store of 0: a copy that was made while it wrote
	 * is not used.
	 */
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&entry->seq, memory_order_relaxed) == seq)
		program_names_take(p, &copy);
	return 1;
}

/* Whether to skip the entry: its writer may have been killed before it finished the entry. */
static bool program_names_is_late(struct programs *p)
{
	if (++p->unwritten < UNWRITTEN_MAX)
		return false;
	p->unwritten = 0;
	return true;
}

unsigned int program_names_drain(struct programs *p)
{
	struct program_tables *t = program_names_tables_of(p);
	unsigned int nr = 0;
	uint64_t end;

	if (!t)
		return 0;
	/*
	 * Relaxed: it only limits the search. read_entry() finds out by `seq` whether an entry is
	 * written.
	 */
	end = atomic_load_explicit(&t->next_task, memory_order_relaxed);
	if (end - p->next_task > LAYOUT_TASKS)		/* also if a program decreased it */
		p->next_task = end > LAYOUT_TASKS ? end - LAYOUT_TASKS : 0;
	for (; p->next_task < end; p->next_task++, nr++) {
		if (!read_entry(p, &t->tasks[p->next_task % LAYOUT_TASKS]) &&
		    !program_names_is_late(p))
			break;
	}
	return nr;
}
