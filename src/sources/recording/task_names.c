/* SPDX-License-Identifier: MIT */
/* task_names.c - see task_names.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "model/model.h"
#include "sources/recording/task_names.h"

static void *table(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	/*
	 * Pids are far from each other. With pages of 2 MiB, they would take the memory of the
	 * whole table.
	 */
	(void)madvise(p, size, MADV_NOHUGEPAGE);
	return p;
}

static void table_free(void *p, size_t size)
{
	if (p)
		munmap(p, size);
}

enum {
	NAMES_SIZE	= TASK_PIDS * LAYOUT_COMM_LEN,
	INDEX_SIZE	= TASK_PIDS * sizeof(uint32_t),
	SEEN_SIZE	= TASK_PIDS * sizeof(struct task_seen),
};

int task_names_create(struct task_names *t, uint32_t nr_cpus, struct source_memory *memory)
{
	uint32_t cpu;

	memset(t, 0, sizeof(*t));
	t->memory = memory;
	t->now = table(NAMES_SIZE);
	t->initial = table(NAMES_SIZE);
	t->idle = calloc(nr_cpus, sizeof(*t->idle));
	t->first = table(INDEX_SIZE);
	t->next = table(INDEX_SIZE);
	if (!t->now || !t->initial || !t->idle || !t->first || !t->next) {
		task_names_destroy(t);
		return -ENOMEM;
	}
	for (cpu = 0; cpu < nr_cpus; cpu++)
		snprintf(t->idle[cpu], sizeof(t->idle[cpu]), "swapper/%u",
			 cpu % LAYOUT_MAX_CPUS);
	return 0;
}

void task_names_destroy(struct task_names *t)
{
	table_free(t->now, NAMES_SIZE);
	table_free(t->initial, NAMES_SIZE);
	table_free(t->first, INDEX_SIZE);
	table_free(t->next, INDEX_SIZE);
	table_free(t->seen, SEEN_SIZE);
	free(t->changes);
	free(t->idle);
	memset(t, 0, sizeof(*t));
}

/* The memory of a block of pids in all tables. */
enum {
	BLOCK_COST = TASK_BLOCK * (2 * LAYOUT_COMM_LEN + 2 * sizeof(uint32_t) +
				   sizeof(struct task_seen)),
};

/* Whether the pid can have a name: its block has memory, or gets it now. */
static bool reserve(struct task_names *t, int pid)
{
	const unsigned int block = (unsigned int)pid / TASK_BLOCK;
	const uint64_t bit = 1ull << block % 64;

	if (t->blocks[block / 64] & bit)
		return true;
	if (!source_memory_take(t->memory, BLOCK_COST)) {
		t->forgot = true;
		return false;
	}
	t->blocks[block / 64] |= bit;
	return true;
}

static bool pid_valid(int64_t pid)
{
	return pid > 0 && pid < TASK_PIDS;
}

void task_names_add(struct task_names *t, int pid, const char *name)
{
	if (!pid_valid(pid) || !reserve(t, pid))
		return;
	strncpy(t->initial[pid], name, LAYOUT_COMM_LEN - 1);
	strncpy(t->now[pid], name, LAYOUT_COMM_LEN - 1);
	if (pid > t->highest)
		t->highest = pid;
}

/* The events with names of tasks. The field decides whether `dynamic` is set. */
static const struct {
	const char	*system, *event, *pid, *name;
	bool		before, path;
} known[] = {
	{ "sched", "sched_switch", "prev_pid", "prev_comm", true, false },
	{ "sched", "sched_switch", "next_pid", "next_comm", true, false },
	{ "sched", "sched_waking", "pid", "comm", true, false },
	{ "sched", "sched_wakeup", "pid", "comm", true, false },
	{ "sched", "sched_stat_runtime", "pid", "comm", true, false },
	{ "sched", "sched_process_exit", "pid", "comm", true, false },
	{ "task", "task_rename", "pid", "oldcomm", true, false },
	{ "task", "task_rename", "pid", "newcomm", false, false },
	{ "sched", "sched_process_fork", "child_pid", "child_comm", false, false },
	{ "sched", "sched_process_fork", "parent_pid", "parent_comm", true, false },
	{ "task", "task_newtask", "pid", "comm", false, false },
	{ "sched", "sched_process_exec", "common_pid", "filename", false, true },
};

void task_names_rules(struct task_names *t, struct model *m)
{
	const struct field *pid, *name;
	struct task_rule *rule;
	struct event *e;
	size_t i;

	t->nr_rules = 0;
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		e = model_find_event(m, known[i].system, known[i].event);
		pid = e ? event_find_field(e, known[i].pid) : NULL;
		/* task_rename: later kernels do not say whom another task has renamed. */
		if (e && !pid)
			pid = event_find_field(e, "common_pid");
		name = e ? event_find_field(e, known[i].name) : NULL;
		if (!pid || !name || pid->size != 4)
			continue;
		if (name->kind != FIELD_DYN_STRING && name->size != LAYOUT_COMM_LEN)
			continue;
		rule = &t->rules[t->nr_rules++];
		*rule = (struct task_rule){
			.event = e->id, .pid = pid->offset, .name = name->offset,
			.dynamic = name->kind == FIELD_DYN_STRING, .path = known[i].path,
			.before = known[i].before,
		};
	}
}

bool task_names_rule_for(const struct task_names *t, uint32_t event)
{
	unsigned int i;

	for (i = 0; i < t->nr_rules; i++)
		if (t->rules[i].event == event)
			return true;
	return false;
}

/* Reads the text of the __data_loc at `offset`; of a path only the last part. */
static bool dynamic_name(const struct subbuf_record *r, uint32_t offset, bool is_path, char *out)
{
	const char *path, *name;
	uint32_t loc, at, len;

	if (offset + 4 > r->size)
		return false;
	loc = subbuf_u32(r->data + offset);
	at = loc & 0xffff;
	len = loc >> 16;
	if (!len || at > r->size || len > r->size - at)
		return false;
	path = (const char *)r->data + at;
	len = strnlen(path, len);
	name = is_path ? memrchr(path, '/', len) : NULL;
	name = name ? name + 1 : path;
	len -= name - path;
	if (len >= LAYOUT_COMM_LEN)
		len = LAYOUT_COMM_LEN - 1;
	memset(out, 0, LAYOUT_COMM_LEN);
	memcpy(out, name, len);
	return len > 0;
}

bool task_rule_read(const struct task_rule *rule, const struct subbuf_record *r, int *pid,
		    char *name)
{
	if (rule->pid + 4u > r->size)
		return false;
	*pid = (int)subbuf_u32(r->data + rule->pid);
	if (!pid_valid(*pid))
		return false;
	if (rule->dynamic)
		return dynamic_name(r, rule->name, rule->path, name);
	if (rule->name + (uint32_t)LAYOUT_COMM_LEN > r->size)
		return false;
	memcpy(name, r->data + rule->name, LAYOUT_COMM_LEN);
	name[LAYOUT_COMM_LEN - 1] = 0;
	return true;
}

/* Doubles the room for changes. The old ones are freed after they are copied. */
static bool grow_changes(struct task_names *t)
{
	const uint32_t room = t->room ? 2 * t->room : 256;
	const size_t bytes = room * sizeof(*t->changes);
	struct task_change *changes;

	if (!source_memory_take(t->memory, bytes))
		return false;
	changes = realloc(t->changes, bytes);
	if (!changes) {
		source_memory_give(t->memory, bytes);
		return false;
	}
	t->changes = changes;
	t->room = room;
	return true;
}

/* Without memory a change is dropped, so an older name stays. */
static void add_change(struct task_names *t, int pid, uint64_t from, const char *name)
{
	struct task_seen *seen = &t->seen[pid];
	struct task_change *changes;

	if (t->nr_changes + 1 >= t->room && !grow_changes(t)) {
		t->forgot = true;
		return;
	}
	changes = t->changes;
	if (pid > t->highest)
		t->highest = pid;
	changes[++t->nr_changes] = (struct task_change){ .from = from };
	memcpy(changes[t->nr_changes].name, name, LAYOUT_COMM_LEN);
	if (seen->last)
		changes[seen->last].next = t->nr_changes;
	else
		t->first[pid] = t->nr_changes;
	seen->last = t->nr_changes;
}

static const char *newest_name(const struct task_names *t, int pid)
{
	uint32_t last = t->seen[pid].last;

	return last ? t->changes[last].name : t->initial[pid];
}

static void set_initial(struct task_names *t, int pid, const char *name)
{
	memcpy(t->initial[pid], name, LAYOUT_COMM_LEN);
	if (pid > t->highest)
		t->highest = pid;
}

static void learn_one(struct task_names *t, const struct task_rule *rule, int pid, const char *name,
		      uint64_t time)
{
	struct task_seen *seen = &t->seen[pid];

	if (!seen->is_seen && rule->before)
		set_initial(t, pid, name);
	else if (strncmp(newest_name(t, pid), name, LAYOUT_COMM_LEN))
		/*
		 * Only a record of the change itself has its time. Another record only shows that
		 * there was a change.
		 */
		add_change(t, pid, rule->before ? seen->time : time, name);
	seen->is_seen = 1;
	seen->time = time;
}

void task_names_learn(struct task_names *t, const struct subbuf_record *r)
{
	const struct task_rule *rule;
	char name[LAYOUT_COMM_LEN];
	int pid;

	if (!t->seen)
		t->seen = table(SEEN_SIZE);
	if (!t->seen)
		return;
	for (rule = t->rules; rule < t->rules + t->nr_rules; rule++)
		if (rule->event == r->type && task_rule_read(rule, r, &pid, name) &&
		    reserve(t, pid))
			learn_one(t, rule, pid, name, r->time);
}

void task_names_learned(struct task_names *t)
{
	table_free(t->seen, SEEN_SIZE);
	t->seen = NULL;
}

void task_names_reset(struct task_names *t)
{
	int pid;

	for (pid = 1; pid <= t->highest; pid++)
		if (t->initial[pid][0] || t->now[pid][0])
			memcpy(t->now[pid], t->initial[pid], LAYOUT_COMM_LEN);
	memcpy(t->next, t->first, (t->highest + 1) * sizeof(*t->next));
}

void task_names_advance(struct task_names *t, int pid, uint64_t time)
{
	const struct task_change *change = &t->changes[t->next[pid]];

	while (t->next[pid] && change->from < time) {
		memcpy(t->now[pid], change->name, LAYOUT_COMM_LEN);
		t->next[pid] = change->next;
		change = &t->changes[change->next];
	}
}
