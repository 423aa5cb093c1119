/* SPDX-License-Identifier: MIT */
/*
 * calls.h - the table of calls.c, and what graph_calls.c keeps of tasks
 */
#ifndef TRACEFUSE_SOURCES_RECORDING_CALLS_H
#define TRACEFUSE_SOURCES_RECORDING_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sources/recording/file/subbuf.h"

struct model;
struct source;

/* A function: the addresses [ip, end). */
struct call {
	uint64_t	ip, end;
	uint32_t	entry;		/* of event_entry[]: its commands; 0: it has none */
};

struct call_set {
	size_t		nr;
	struct call	*at;		/* sorted by address */
};

struct calls {
	struct call_set	commands;
	struct call_set	filter, notrace;
	struct call_set	graph, nograph;
	bool		filters;	/* set_ftrace_filter is not empty */
	bool		graphs;		/* set_graph_function is not empty */
	uint32_t	max_depth;	/* 0: any */
	uint64_t	thresh;		/* ns; 0: none */
};

/* The function of the set in which the address lies; NULL: none. */
const struct call *calls_look(const struct call_set *set, uint64_t ip);
/* Whether set_ftrace_filter and set_ftrace_notrace take the function. */
bool calls_traced(const struct calls *calls, uint64_t ip);

/* ---- graph_calls.c ---- */

/* What the records of the graph tracer look like; offsets in the record. */
struct graph_layout {
	uint32_t	entry_func, entry_depth;
	uint32_t	exit_func, exit_depth, exit_begin, exit_end;
};

struct graph_tasks;

/* From now on every task is as at the beginning of the recording. */
void graph_tasks_clear(struct graph_tasks *tasks);
void graph_tasks_destroy(struct graph_tasks *tasks);
/*
 * Whether the session's settings take the record of an entry or an exit. *depth is the depth that
 * the kernel would have recorded with these settings. Under calls_lock. No memory: it takes all.
 */
bool graph_calls_take(struct source *src, const struct calls *calls, const struct subbuf_record *r,
		      bool exit, uint32_t cpu, uint32_t *depth);

/* ---- functions.c ---- */

/* Adds the functions of the recording's kallsyms, for struct ftrace. 0, -ENOMEM, -EFBIG */
int recorded_functions_load(void *source);
/* The same for a symbol's line: whether it may be a function. */
bool recorded_function_may_be(char type, const char *name);

#endif
