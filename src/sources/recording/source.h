/* SPDX-License-Identifier: MIT */
/*
 * source.h - a recording (one trace.dat, or several that form one window) as a source of events
 *
 * Included by the replay command, tests and benches; never by src/plane or
 * src/model. The order of a life:
 *
 *   source_open(files)              reads headers, formats, tables; nothing of the events
 *     session_create(nr_cpus = source_nr_cpus()), model_create()
 *   source_import(src, model)       events with the recording's ids, cmdlines, symbols, clock
 *     tree_create(), setup: triggers, filters, enables
 *   source_step(src, n) ...         or source_serve(): in a thread of the server
 *   source_close()
 *
 *   file, buffer, cpu --+                     +-> task names (task_names.h)
 *   file, buffer, cpu --+- merge by time -----+
 *   file, buffer, cpu --+  (ties: cpu order)  +-> hit() with time, cpu, comm, stack
 *
 * All functions are called under the control lock. The thread that source_serve() starts does not
 * take it: when the rings exist, stepping only runs hits.
 */
#ifndef TRACEFUSE_SOURCES_RECORDING_SOURCE_H
#define TRACEFUSE_SOURCES_RECORDING_SOURCE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct source;
struct model;
struct tree;

/* An error in a file, and where it is. */
struct source_error {
	char		file[256];
	uint64_t	offset;		/* in the file, if `located` */
	bool		located;
	char		text[256];
};

/* Prints "FILE: TEXT (at offset N)" without a newline. */
void source_error_print(const struct source_error *err, FILE *out);

struct source_params {
	const char *const *files;
	unsigned int	nr_files;	/* at least one; merged by time stamp */
	const char *const *buffers;	/* names of the instances to take; "" is the top buffer */
	unsigned int	nr_buffers;	/* 0: all buffers of the files */
	/* Of a damaged file the part before the damage counts as the whole. */
	bool		partial;
	/* Limit for the recording and its session (memory.h); 0: half of the machine's memory. */
	uint64_t	memory;
	unsigned int	threads;	/* at most so many in source_run(); 0: one for each CPU */
};

/*
 * Opens the files. Returns 0 and the source, or -errno with *err filled: -EINVAL: no recording that
 * can be read here; -EPROTO: corrupt or truncated; -ENOENT, -ENOMEM ... With `partial`, damage
 * behind the formats is no error here; source_damage() has it.
 */
int source_open(const struct source_params *params, struct source **out, struct source_error *err);
void source_close(struct source *src);		/* before the model and the session are destroyed */

/* The highest CPU number + 1, at least the number of CPUs of the machine that recorded. */
uint32_t source_nr_cpus(const struct source *src);
/*
 * The size of a ring that has room for all records of a CPU, in bytes of sub-buffers. It is smaller
 * if the rings of all CPUs would exceed their share of the memory; then the newest records stay.
 */
uint64_t source_ring_bytes(const struct source *src, uint32_t cpu);
/* The session's share of the memory. */
uint64_t source_session_bytes(const struct source *src);
/* "local", ...: trace_clock during the recording. */
const char *source_clock(const struct source *src);
const char *source_uname(const struct source *src);	/* "": not known */

/*
 * Adds events and formats, cmdlines, tgids, symbols and printk formats to the model, and sets its
 * instances to the recording's clock and sub-buffer size. Call it before any trigger is made. 0, or
 * -errno with *err filled.
 */
int source_import(struct source *src, struct model *m, struct source_error *err);

/* ---- A session whose server died (restore.c) ---- */

#define SOURCE_SAVED "#source" /* path of the saved text (model.h) with the files */

/*
 * Call it after source_import(): saves the files and the position for the next server. 0, -ENOMEM
 */
int source_save(struct source *src, const struct source_params *params);
/*
 * The top buffer gets each stack of the recording, also those of functions, and those that no
 * record before them has. Not saved for the next server.
 */
void source_keep_stacks(struct source *src);
/* What is defined from now on is for the machine of the saved text. */
void source_restore_machine(struct model *m, const char *text);
/*
 * Call it after model_restore(): opens the recording of the saved text, and goes to behind the
 * records that have passed. Changes the text. `progress`: the saved text's first ref, which is
 * restored already. -ESTALE: the files have changed.
 */
int source_restore(struct model *m, char *text, uint64_t progress, struct source **out,
		   struct source_error *err);

/* ---- Running ---- */

/*
 * Passes up to max_records records to hit(). Returns 1 if there are more, 0 at the end, 2 if it
 * stopped directly before a record that source_stop_at() chose, or -EPROTO at damage
 * (source_damage()).
 */
int source_step(struct source *src, uint64_t max_records);

/*
 * Passes all remaining records, like source_step(). Nobody may read or change the session
 * meanwhile. So if the result is the same, records pass in any order and in several threads
 * (tally.h). `passed`, if not NULL, is called now and then, and may ask for the position.
 */
int source_run(struct source *src, void (*passed)(void *arg), void *arg);

/*
 * Sets the next stop of source_step(): before the next record of event SYSTEM:EVENT that satisfies
 * the filter. text: "SYSTEM:EVENT" or "SYSTEM:EVENT if FILTER"; NULL: no stop. A stop has effect
 * once. -ENOENT: no such event; -EINVAL with the reason in *err.
 */
int source_stop_at(struct source *src, const char *text, struct source_error *err);

/* A record as source_visit() shows it, valid until take() returns. */
struct source_record {
	const void	*data;
	uint32_t	size;		/* at least that of the common fields */
	uint32_t	type;		/* the event's id */
	uint32_t	cpu;
	int32_t		pid;
	uint64_t	time;
	uint64_t	lost;		/* records lost before it, as far as it is known */
	const char	*comm;		/* the task's name at that time; LAYOUT_COMM_LEN bytes */
};

/*
 * Shows all records in order of time, without any hit, and without memory for rings. If take()
 * returns non-zero, it stops and returns that. 0; -EPROTO: damage (source_damage()), -ENOMEM.
 */
int source_visit(struct source *src, int (*take)(void *arg, const struct source_record *r),
		 void *arg);

void source_rewind(struct source *src);
/*
 * Goes to before record number `record` (0: the first) without any hit, or to the end if there are
 * fewer records.
 */
int source_seek(struct source *src, uint64_t record);

struct source_position {
	uint64_t	records;	/* records passed since the recording's start */
	uint64_t	hits;		/* how many of these had a plan */
	uint64_t	bytes;		/* of the files' event data; and all of it, for progress */
	uint64_t	total_bytes;
	uint64_t	time;		/* time stamp of the last record */
	/* Events that the recording itself has lost, as far as it says. */
	uint64_t	lost;
	bool		end;
};
void source_position(const struct source *src, struct source_position *out);

/* The damage found so far; NULL: none. With `partial` the run ends there, as at the end. */
const struct source_error *source_damage(const struct source *src);

/*
 * Prints a line for each place where events were lost: in the recording, in the rings of an
 * instance, and where names are not those of the file. Prints nothing if none were lost. Returns
 * the total.
 */
uint64_t source_print_losses(const struct source *src, FILE *out);

/* ---- In a server ---- */

/*
 * Starts a thread that steps on command, and adds the file `replay` to the root of the tree.
 * Writes: "start", "stop", "rewind", "position N". It reads as:
 *
 *     state: stopped
 *     position: 1234
 *     time: 4711.123456789
 *     end: no
 *
 * `lock` is the control lock, which callers of the tree hold. Returns 0 or -errno.
 */
int source_serve(struct source *src, struct tree *tree, pthread_mutex_t *lock);
/* Stops and joins the thread. source_close() does that, too. */
void source_serve_end(struct source *src);

#endif
