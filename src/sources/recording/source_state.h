/* SPDX-License-Identifier: MIT */
/*
 * source_state.h - struct source, between source.c, import.c, run.c, stop.c and serve.c
 */
#ifndef TRACEFUSE_SOURCES_RECORDING_SOURCE_STATE_H
#define TRACEFUSE_SOURCES_RECORDING_SOURCE_STATE_H

#include "model/filter/filter.h"
#include "model/model.h"
#include "plane/plane.h"
#include "sources/recording/calls.h"
#include "sources/recording/task_names.h"
#include "sources/stack_probes.h"
#include "sources/recording/file/window.h"

/* How the run treats records of an event, by event id. */
enum record_kind {
	RECORD_PLAIN,		/* goes to hit() if its event has a plan */
	RECORD_NAMES,		/* plain, and contains names of tasks */
	RECORD_STACK,		/* kernel_stack: part of the record before it, hit() writes it */
	RECORD_USER_STACK,	/* user_stack: recorded if the record before it is */
	RECORD_PRINT,		/* print: triggers see it without its newline */
	/* function: the tracer's option func_stack_trace decides about its stack. */
	RECORD_FUNCTION,
	/* funcgraph_entry, funcgraph_exit */
	RECORD_GRAPH_ENTRY,
	RECORD_GRAPH_EXIT,
	RECORD_INTERNAL,	/* other events of system ftrace: recorded without being enabled */
};

struct source_server;

/*
 * R4: the number of passed records, in the data region, for the next server. It has one writer and
 * is relaxed.
 */
struct source_progress {
	_Atomic uint64_t records;
};

struct source {
	struct window	window;
	uint32_t	nr_cpus;
	uint32_t	subbuf_size;
	bool		partial;
	bool		all_stacks;	/* source_keep_stacks() */
	uint64_t	memory;		/* as in source_params */
	unsigned int	threads;	/* as in source_params */
	uint64_t	*ring_bytes;	/* by CPU: source_ring_bytes() */
	bool		rings_cut;	/* the rings are too small for the whole recording */

	/* Valid from source_import() on. */
	struct model	*model;
	const struct plane *plane;
	struct slot	*slot;
	struct task_names names;
	uint32_t	stack_at;	/* offset of the addresses in a kernel_stack record */
	struct stack_probes probes;	/* what a stack may begin with */
	uint32_t	print_at;	/* offset of the text in a print record */
	uint32_t	ip_at;		/* offset of the address in a function record */
	uint8_t		kinds[LAYOUT_MAX_EVENTS];	/* enum record_kind */
	bool		learned;	/* the pass for initial names was made */
	bool		started;	/* the window is at a record */

	/* The present stop. */
	struct event	*stop_event;	/* NULL: none */
	struct filter	*stop_filter;
	config_ref	stop_code;
	size_t		stop_size;
	bool		stop_reached;	/* the stop has had its effect */

	struct source_progress *progress;	/* NULL: no next server will restore it */

	/* The run's position; only the stepping thread stores it. */
	_Atomic uint64_t records;
	_Atomic uint64_t hits;
	_Atomic uint64_t bytes;
	_Atomic uint64_t time;
	_Atomic uint64_t lost;
	_Atomic uint32_t end;
	struct hit	hit;		/* the present record; see pass() in run.c */
	uint64_t	stack[LAYOUT_STACK_MAX];	/* the present record's stack, aligned */
	uint8_t		print[4096];			/* a print record without its newline */

	struct source_server *server;	/* NULL: not served */

	/* calls.c */
	pthread_mutex_t	calls_lock;
	struct calls	*_Atomic calls;	/* NULL: no setting concerns calls */
	struct graph_layout graph;
	struct graph_tasks *graph_tasks;	/* the running thread's; NULL: none yet */
	uint8_t		graph_record[128];	/* a record with another depth */
	bool		has_functions;	/* its kallsyms has some */
};

/* run.c: `records` more records have passed, the last of them at `time`; P1. */
void source_passed(struct source *src, uint64_t records, uint64_t hits, uint64_t time);
/* run.c: makes a pass over the recording only for the names of tasks, once. */
void source_learn_names(struct source *src);
/*
 * formats.c: adds the events of all files, or finds them. 0, or -errno with *err filled.
 */
int formats_import(struct source *src, struct source_error *err);
/* formats.c: finds them in a model that was restored. 0, or -errno with *err filled. */
int formats_find(struct source *src, struct source_error *err);
/* import.c: imports everything except the events. 0, or -errno with *err filled. */
int source_import_tables(struct source *src, struct model *m, struct source_error *err);
/* stop.c: whether the run has to stop before this record. */
bool source_stops_before(struct source *src, const struct subbuf_record *r, const struct hit *h);
void source_stop_clear(struct source *src);
/* names_matter.c: whether any present plan uses names of tasks. */
bool names_matter(const struct source *src);

/* calls.c: settings of functions apply from now on, until calls_forget(). 0, -ENOMEM */
int calls_listen(struct source *src);
void calls_forget(struct source *src);
/* The functions of its kallsyms are there from now on, if the session has no others. */
void calls_offer(struct source *src);
/*
 * The entry of event_entry[] with the plan of the commands of the function in which *ip lies, and
 * the function's address in *ip; 0: it has none. *traced: whether its record passes.
 */
uint32_t calls_find(struct source *src, uint64_t *ip, bool *traced);
/* Whether the record of an entry or an exit passes. The hit gets a record with its new depth. */
bool calls_take_graph(struct source *src, const struct subbuf_record *r, bool exit, struct hit *h);

#endif
