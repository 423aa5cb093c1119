/* SPDX-License-Identifier: MIT */
/*
 * names.c - what the tasks of the running kernel are called
 *
 * A record has a number only. Its name comes from the records that tell names: task_rename and
 * task_newtask, which are read as long as any event is, and sched_switch and others, as far as the
 * session wants those. /proc has the names of tasks that are older. If the kernel does not have
 * those events, or a record was lost, /proc is asked once a second for each task that occurs.
 * saved_cmdlines shows in the end what the kernel's own table has: that is the
 * name which a kernel prints for all records of the task.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/cmdlines.h"
#include "sources/live/state.h"

#define NAMES_ASKED (TASK_PIDS * sizeof(uint32_t))

static void names_ask(void *arg);

int live_names_create(struct live *l)
{
	int err;

	l->memory = source_memory_of(0);
	err = task_names_create(&l->names, l->model->nr_cpus, &l->memory);
	if (err)
		return err;
	l->asked = mmap(NULL, NAMES_ASKED, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (l->asked == MAP_FAILED) {
		l->asked = NULL;
		return -ENOMEM;
	}
	(void)madvise(l->asked, NAMES_ASKED, MADV_NOHUGEPAGE);
	cmdlines_source(l->model->cmdlines, names_ask, l);
	return 0;
}

void live_names_destroy(struct live *l)
{
	cmdlines_source(l->model->cmdlines, NULL, NULL);
	if (l->asked)
		munmap(l->asked, NAMES_ASKED);
	task_names_destroy(&l->names);
}

/* For saved_cmdlines, later: this may be the reader's thread. */
static void note_fresh(struct live *l, int pid, const char *name)
{
	struct live_name *fresh = &l->fresh[l->nr_fresh++ % LIVE_FRESH];

	fresh->pid = pid;
	memcpy(fresh->name, name, LAYOUT_COMM_LEN);
}

static void learn(struct live *l, int pid, const char *name)
{
	if (!strncmp(l->names.now[pid], name, LAYOUT_COMM_LEN - 1))
		return;
	task_names_add(&l->names, pid, name);
	if (l->names.now[pid][0])
		note_fresh(l, pid, l->names.now[pid]);
}

/* Once a second, also without a new name: saved_cmdlines may have dropped it meanwhile. */
static void note_again(struct live *l, int pid)
{
	l->asked[pid] = l->second + 1;
	if (l->names.now[pid][0])
		note_fresh(l, pid, l->names.now[pid]);
}

static void ask_proc(struct live *l, int pid)
{
	char path[64], name[LAYOUT_COMM_LEN] = "";
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	in = fopen(path, "re");
	if (!in)
		return;		/* it has ended */
	if (fgets(name, sizeof(name), in)) {
		name[strcspn(name, "\n")] = '\0';
		learn(l, pid, name);
	}
	fclose(in);
}

void live_names_round(struct live *l)
{
	/* Acquire: pairs with arm_namers(). */
	if (atomic_load_explicit(&l->names_anew, memory_order_relaxed) &&
	    atomic_exchange_explicit(&l->names_anew, false, memory_order_acquire))
		(void)madvise(l->asked, NAMES_ASKED, MADV_DONTNEED);
}

/* Whether a name that is known holds until a record tells another one. */
static bool names_hold(const struct live *l)
{
	/* Relaxed: see arm_namers(). */
	if (!atomic_load_explicit(&l->names_told, memory_order_relaxed))
		return false;
	for (uint32_t i = 0; i < l->nr_cursors; i++)
		if (l->cpus[i].lost || l->cpus[i].damaged)
			return false;
	return true;
}

const char *live_names_find(struct live *l, int pid, uint32_t cpu)
{
	if (pid > 0 && pid < TASK_PIDS && l->asked[pid] != l->second + 1) {
		if (!l->asked[pid] || !names_hold(l))
			ask_proc(l, pid);
		note_again(l, pid);
		l->nameless |= !l->names.now[pid][0];
	}
	return task_names_find(&l->names, pid, cpu, 0);
}

void live_names_follow(struct live *l, const struct subbuf_record *r, bool before)
{
	char name[LAYOUT_COMM_LEN];
	int pid;

	for (unsigned int i = 0; i < l->names.nr_rules; i++) {
		const struct task_rule *rule = &l->names.rules[i];

		if (rule->event != r->type || rule->before != before ||
		    !task_rule_read(rule, r, &pid, name))
			continue;
		learn(l, pid, name);
		if (l->asked[pid] != l->second + 1)
			note_again(l, pid);
	}
}

/*
 * Of tasks that have occurred. It is no reason to add one whose name is known: it would drive out
 * one of a record that came later.
 */
static void take_line(struct live *l, char *line)
{
	struct cmdlines *cmdlines = l->model->cmdlines;
	char *end;
	const long pid = strtol(line, &end, 10);

	if (end == line || *end != ' ' || pid <= 0 || pid >= TASK_PIDS || !l->asked[pid])
		return;
	if (l->names.now[pid][0] && !strcmp(cmdlines_find(cmdlines, (int)pid), "<...>"))
		return;
	if (!l->names.now[pid][0])
		task_names_add(&l->names, (int)pid, end + 1);
	cmdlines_add(cmdlines, (int)pid, end + 1);
}

/* The file is long and takes the kernel a millisecond. */
static void take_kernels(struct live *l)
{
	size_t len;
	char *text, *rest, *line;

	l->stale = l->nameless = false;
	rest = text = lseek(l->kernel.names, 0, SEEK_SET) ? NULL
						      : kernel_read_open(l->kernel.names, &len);
	while ((line = strsep(&rest, "\n")))
		take_line(l, line);
	free(text);
}

void live_names_save(struct live *l)
{
	unsigned int i;

	i = l->nr_fresh > LIVE_FRESH ? l->nr_fresh - LIVE_FRESH : 0;
	for (; i < l->nr_fresh; i++) {
		const struct live_name *fresh = &l->fresh[i % LIVE_FRESH];

		cmdlines_add(l->model->cmdlines, fresh->pid, fresh->name);
	}
	l->nr_fresh = 0;
	l->stale = true;
	if (l->nameless)
		take_kernels(l);
}

/* Names are about to be looked up. Under the control lock. */
static void names_ask(void *arg)
{
	struct live *l = arg;

	if (!l->stale)
		return;
	pthread_mutex_lock(&l->lock);
	take_kernels(l);
	pthread_mutex_unlock(&l->lock);
}
