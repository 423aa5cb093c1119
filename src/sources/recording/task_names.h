/* SPDX-License-Identifier: MIT */
/*
 * task_names.h - what each task is called at the moment of a record
 *
 * A recording's table of task names tells the last name of each pid that the
 * kernel had seen. The records tell more: sched_switch names the task that
 * leaves and the one that comes, task_rename and sched_process_exec give a new
 * name, sched_process_fork and task_newtask a first one. One pass over the
 * recording makes of these the changes of each pid's name:
 *
 *     initial[pid]   first[pid] -> change { from, name } -> change -> ...
 *          |             |                 in order of time
 *          v             v
 *       now[pid]      next[pid]            as far as the run has come
 *
 * Before the first record that tells of a pid it has the name told there. When
 * a task is found to have another name without a record of the renaming, it
 * has had that one since it was last seen with the old: programs rename
 * themselves when they begin to run.
 */
#ifndef TRACEFUSE_SOURCES_RECORDING_TASK_NAMES_H
#define TRACEFUSE_SOURCES_RECORDING_TASK_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include "layout/layout.h"
#include "sources/recording/memory.h"
#include "sources/recording/file/subbuf.h"

struct model;

enum {
	TASK_PIDS	= 4194304,	/* the kernel's PID_MAX_LIMIT */
	TASK_RULES	= 16,		/* events that tell names, at most two names each */
	TASK_BLOCK	= 256,		/* pids that have a page of names together */
};

/* Where in a record a pid and its name stand. */
struct task_rule {
	uint16_t	event;
	uint16_t	pid;		/* offset */
	uint16_t	name;		/* offset of char[16], or of a __data_loc */
	bool		dynamic;	/* name is a __data_loc */
	bool		path;		/* the last part of that path names the task */
	/* the task has had the name already; else it gets it here */
	bool		before;
};

struct task_change {
	uint64_t	from;		/* records behind this time see the name */
	uint32_t	next;		/* of the same pid, 0: none */
	char		name[LAYOUT_COMM_LEN];
};

struct task_seen {
	uint64_t	time;
	uint32_t	last;		/* its newest change, 0: none */
	uint32_t	is_seen;
};

struct task_names {
	char		(*now)[LAYOUT_COMM_LEN];
	char		(*initial)[LAYOUT_COMM_LEN];
	uint32_t	*first, *next;	/* changes of a pid */
	struct task_change *changes;	/* [0] is none */
	uint32_t	nr_changes, room;
	struct task_seen *seen;		/* while learning */
	struct source_memory *memory;
	uint64_t	blocks[TASK_PIDS / TASK_BLOCK / 64];	/* that have memory: a bit each */
	bool		forgot;		/* there was too little memory for some */
	char		(*idle)[LAYOUT_COMM_LEN];	/* "swapper/N" */
	int		highest;	/* pid with an initial name */
	unsigned int	nr_rules;
	struct task_rule rules[TASK_RULES];
};

/* 0 or -ENOMEM. Memory is only used for pids that occur; what they take is taken from `memory`. */
int task_names_create(struct task_names *t, uint32_t nr_cpus, struct source_memory *memory);
void task_names_destroy(struct task_names *t);
/* From the recording's table. */
void task_names_add(struct task_names *t, int pid, const char *name);
/* Finds the events of the model that tell names. */
void task_names_rules(struct task_names *t, struct model *m);
bool task_names_rule_for(const struct task_names *t, uint32_t event);

/* Learns from a record; records come in order of time. task_names_learned() ends it. */
void task_names_learn(struct task_names *t, const struct subbuf_record *r);
void task_names_learned(struct task_names *t);

/* The run goes back to the start. */
void task_names_reset(struct task_names *t);
/* Brings a pid's name up to a time. */
void task_names_advance(struct task_names *t, int pid, uint64_t time);

/*
 * The name at a time, which never goes back but by a reset; "<...>" when
 * nothing tells it. LAYOUT_COMM_LEN bytes, valid until the next call.
 */
static inline const char *task_names_find(struct task_names *t, int pid, uint32_t cpu,
					  uint64_t time)
{
	static const char unknown[LAYOUT_COMM_LEN] = "<...>";

	if (!pid)
		return t->idle[cpu];
	if ((uint32_t)pid >= TASK_PIDS)
		return unknown;
	if (t->next[pid])
		task_names_advance(t, pid, time);
	return t->now[pid][0] ? t->now[pid] : unknown;
}

#endif
