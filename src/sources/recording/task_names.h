/* SPDX-License-Identifier: MIT */
/*
 * task_names.h - the name of each task at the time of a record
 *
 * A recording's table of task names has the last name of each pid that the kernel had seen. The
 * records have more names: sched_switch has those of the previous and the next task, task_rename
 * and sched_process_exec a new name, sched_process_fork and task_newtask a first one. One pass over
 * the recording collects the changes of each pid's name:
 *
 *     initial[pid]   first[pid] -> change { from, name } -> change -> ...
 *          |             |                 in order of time
 *          v             v
 *       now[pid]      next[pid]            as far as the run has come
 *
 * Before the first record with a pid's name, the pid has that name. If a record has another name
 * and no record of the renaming came before, the new name counts from the last record with the old
 * name: programs rename themselves when they begin to run.
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
	TASK_RULES	= 16,		/* events with names, at most two names each */
	TASK_BLOCK	= 256,		/* pids that share a page of names */
};

/* The places of a pid and its name in a record. */
struct task_rule {
	uint16_t	event;
	uint16_t	pid;		/* offset */
	uint16_t	name;		/* offset of char[16], or of a __data_loc */
	bool		dynamic;	/* name is a __data_loc */
	bool		path;		/* the name is the last part of a path */
	/* The task has the name already. Else it gets the name at this record. */
	bool		before;
};

struct task_change {
	uint64_t	from;		/* records later than this time have the name */
	uint32_t	next;		/* next change of the pid; 0: none */
	char		name[LAYOUT_COMM_LEN];
};

struct task_seen {
	uint64_t	time;
	uint32_t	last;		/* the pid's newest change; 0: none */
	uint32_t	is_seen;
};

struct task_names {
	char		(*now)[LAYOUT_COMM_LEN];
	char		(*initial)[LAYOUT_COMM_LEN];
	uint32_t	*first, *next;	/* by pid: index of a change */
	struct task_change *changes;	/* index 0 stands for none */
	uint32_t	nr_changes, room;
	struct task_seen *seen;		/* used while learning */
	struct source_memory *memory;
	/* A bit for each block with memory */
	uint64_t	blocks[TASK_PIDS / TASK_BLOCK / 64];
	bool		forgot;		/* memory was too short for some names */
	char		(*idle)[LAYOUT_COMM_LEN];	/* "swapper/N" */
	int		highest;	/* highest pid with an initial name */
	unsigned int	nr_rules;
	struct task_rule rules[TASK_RULES];
};

/* 0 or -ENOMEM. Only pids that occur use memory, which is taken from `memory`. */
int task_names_create(struct task_names *t, uint32_t nr_cpus, struct source_memory *memory);
void task_names_destroy(struct task_names *t);
/* Adds a name of the recording's table. */
void task_names_add(struct task_names *t, int pid, const char *name);
/* Finds the events of the model that contain names. */
void task_names_rules(struct task_names *t, struct model *m);
/*
 * The pid and the name (LAYOUT_COMM_LEN bytes) that a rule finds in a record; false when it is too
 * short.
 */
bool task_rule_read(const struct task_rule *rule, const struct subbuf_record *r, int *pid,
		    char *name);
bool task_names_rule_for(const struct task_names *t, uint32_t event);

/* Learns from a record. Records come in order of time; task_names_learned() ends the pass. */
void task_names_learn(struct task_names *t, const struct subbuf_record *r);
void task_names_learned(struct task_names *t);

/* Goes back to the start, with the run. */
void task_names_reset(struct task_names *t);
/* Brings a pid's name up to a time. */
void task_names_advance(struct task_names *t, int pid, uint64_t time);

/*
 * The name at a time, which never decreases except by a reset; "<...>" if it is not known.
 * LAYOUT_COMM_LEN bytes, valid until the next call.
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
