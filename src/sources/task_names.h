/* SPDX-License-Identifier: MIT */
/*
 * task_names.h - what each task is called at the moment of a record
 *
 * A recording's table of task names tells the last name of each pid that the
 * kernel had seen. Records that go by tell more: sched_switch names the task
 * that leaves and the one that comes, task_rename and sched_process_exec give
 * a new name, sched_process_fork and task_newtask a first one. Before the first
 * record that tells of a pid its name is the one that this record has as the old one.
 *
 *     initial[pid]  -- task_names_reset() -->  now[pid]   <-- task_names_follow(record)
 */
#ifndef TRACEFUSE_SOURCES_TASK_NAMES_H
#define TRACEFUSE_SOURCES_TASK_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include "session/layout.h"
#include "sources/subbuf.h"

struct model;

enum {
	TASK_PIDS	= 4194304,	/* the kernel's PID_MAX_LIMIT */
	TASK_RULES	= 16,		/* events that tell names, at most two names each */
};

/* Where in a record a pid and its name stand. */
struct task_rule {
	uint16_t	event;
	uint16_t	pid;		/* offset */
	uint16_t	name;		/* offset of char[16], or of a __data_loc */
	bool		dynamic;	/* name is a __data_loc */
	bool		path;		/* the last part of that path names the task */
	bool		before;		/* the name holds until this record: only to learn initial names */
	bool		after;		/* the name holds from this record on */
};

struct task_names {
	char		(*now)[LAYOUT_COMM_LEN];
	char		(*initial)[LAYOUT_COMM_LEN];
	uint64_t	*told;		/* time of the record that an initial name comes from, while learning */
	char		(*idle)[LAYOUT_COMM_LEN];	/* "swapper/N" */
	int		highest;	/* pid with an initial name */
	unsigned int	nr_rules;
	struct task_rule rules[TASK_RULES];
};

/* 0 or -ENOMEM. Memory is only used for pids that occur. */
int task_names_create(struct task_names *t, uint32_t nr_cpus);
void task_names_destroy(struct task_names *t);
/* From the recording's table. */
void task_names_add(struct task_names *t, int pid, const char *name);
/* Finds the events of the model that tell names. */
void task_names_rules(struct task_names *t, struct model *m);
bool task_names_rule_for(const struct task_names *t, uint32_t event);

/* Learns initial names from a record; records may come in any order. */
void task_names_learn(struct task_names *t, const struct subbuf_record *r);
void task_names_learned(struct task_names *t);

/* All tasks have their initial names again. */
void task_names_reset(struct task_names *t);
/* A record with a rule is about to be hit: names that it has itself hold at it. */
void task_names_tell(struct task_names *t, const struct subbuf_record *r);
/* A record with a rule has gone by. */
void task_names_follow(struct task_names *t, const struct subbuf_record *r);

/* The present name; "<...>" when nothing tells it. LAYOUT_COMM_LEN bytes. */
static inline const char *task_names_find(const struct task_names *t, int pid, uint32_t cpu)
{
	static const char unknown[LAYOUT_COMM_LEN] = "<...>";

	if (!pid)
		return t->idle[cpu];
	if ((uint32_t)pid >= TASK_PIDS || !t->now[pid][0])
		return unknown;
	return t->now[pid];
}

#endif
