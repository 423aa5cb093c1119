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
 *   source_step(src, n) ...         or source_serve(): beside a server loop
 *   source_close()
 *
 *   file, buffer, cpu --+                     +-> task names (task_names.h)
 *   file, buffer, cpu --+- merge by time -----+
 *   file, buffer, cpu --+  (ties: cpu order)  +-> hit() with time, cpu, comm, stack
 *
 * Everything is called under the control lock. The thread that source_serve()
 * starts does not take it: stepping only runs hits, once the rings are there.
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

/* What went wrong in a file, and where. */
struct source_error {
	char		file[256];
	uint64_t	offset;		/* in the file; meaningful when `located` */
	bool		located;
	char		text[256];
};

/* "FILE: TEXT (at offset N)" without newline. */
void source_error_print(const struct source_error *err, FILE *out);

struct source_params {
	const char *const *files;
	unsigned int	nr_files;	/* at least one; merged by time stamp */
	const char *const *buffers;	/* names of the instances to take; "" is the top buffer */
	unsigned int	nr_buffers;	/* 0: all buffers of the files */
	/* a damaged file: what is readable before the damage counts as the whole */
	bool		partial;
	/* for it and its session (memory.h); 0: half of the machine's */
	uint64_t	memory;
	unsigned int	threads;	/* at most, of source_run(); 0: one for each CPU */
};

/*
 * Opens the files. Returns 0 and the source, or -errno with *err filled:
 * -EINVAL foreign, -EPROTO corrupt or truncated, -ENOENT, -ENOMEM ... With `partial`
 * damage behind the formats is no error here; source_damage() tells of it.
 */
int source_open(const struct source_params *params, struct source **out, struct source_error *err);
void source_close(struct source *src);		/* before the model and the session go */

/* highest CPU label + 1, at least the machine's that recorded */
uint32_t source_nr_cpus(const struct source *src);
/*
 * What a ring needs to hold everything that the recording has of a CPU, in bytes
 * of sub-buffers; less where the rings of all CPUs were more than their share of
 * the memory: then the newest records stay.
 */
uint64_t source_ring_bytes(const struct source *src, uint32_t cpu);
/* The most that the session may have of the memory. */
uint64_t source_session_bytes(const struct source *src);
/* "local", ...; as chosen in trace_clock when recorded */
const char *source_clock(const struct source *src);
const char *source_uname(const struct source *src);	/* "" when the recording does not tell */

/*
 * Adds events and formats, cmdlines, tgids, symbols, printk formats to the
 * model and sets its instances to the recording's clock and sub-buffer size.
 * Before any trigger. 0, or -errno with *err filled.
 */
int source_import(struct source *src, struct model *m, struct source_error *err);

/* ---- A session whose server died (restore.c) ---- */

#define SOURCE_SAVED "#source" /* path of the saved text (model.h) that says what was opened */

/*
 * After source_import(): the next server shall find the recording, and how far it was. 0, -ENOMEM
 */
int source_save(struct source *src, const struct source_params *params);
/*
 * After model_restore(): opens the recording that the saved text names, which
 * is cut to pieces, and stands behind the records that have passed. `progress`:
 * the saved text's first ref, which is restored already. -ESTALE: the files are not
 * what they were.
 */
int source_restore(struct model *m, char *text, uint64_t progress, struct source **out,
		   struct source_error *err);

/* ---- Running ---- */

/*
 * Lets up to max_records records through hit(). Returns 1 when there are more,
 * 0 at the end, 2 when it stopped directly before a record that source_stop_at()
 * names, -EPROTO at damage that was found on the way (source_damage()).
 */
int source_step(struct source *src, uint64_t max_records);

/*
 * All records that are left, like source_step() with enough of them. Nobody reads or
 * changes the session meanwhile, so that in no order and in several threads they may
 * pass where that can not be seen afterwards (tally.h). `passed`, if not NULL, is
 * called now and then, and may ask for the position.
 */
int source_run(struct source *src, void (*passed)(void *arg), void *arg);

/*
 * The next stop of source_step: before the first record, from the present
 * position on, of event SYSTEM:EVENT that satisfies the filter; text is
 * "SYSTEM:EVENT" or "SYSTEM:EVENT if FILTER", NULL: no stop. A stop is used
 * up when it was reached. -ENOENT no such event, -EINVAL with the reason in *err.
 */
int source_stop_at(struct source *src, const char *text, struct source_error *err);

void source_rewind(struct source *src);
/*
 * Goes to before record number `record` (0: the first) without any hit in between; past the end: to
 * the end.
 */
int source_seek(struct source *src, uint64_t record);

struct source_position {
	uint64_t	records;	/* passed so far, from the recording's start */
	uint64_t	hits;		/* of these, how many met a plan */
	uint64_t	bytes;		/* of the files' event data, and all of it: for progress */
	uint64_t	total_bytes;
	uint64_t	time;		/* time stamp of the last record passed */
	/* events that the recording itself has lost, as far as it knows */
	uint64_t	lost;
	bool		end;
};
void source_position(const struct source *src, struct source_position *out);

/*
 * Damage met so far: NULL or what and where. With `partial` the run ends there as if it were the
 * end.
 */
const struct source_error *source_damage(const struct source *src);

/*
 * Prints a line for each place where events were lost (in the recording, in the
 * rings of an instance); nothing when none were. Returns how many in all.
 */
uint64_t source_print_losses(const struct source *src, FILE *out);

/* ---- Beside a server loop ---- */

/*
 * Starts a thread that steps when told so, and adds the file `replay` to the
 * root of the tree. Written: "start", "stop", "rewind", "position N". Read:
 *
 *     state: stopped
 *     position: 1234
 *     time: 4711.123456789
 *     end: no
 *
 * `lock` is the control lock, held by the callers of the tree. -errno on failure.
 */
int source_serve(struct source *src, struct tree *tree, pthread_mutex_t *lock);
/* Stops and joins the thread; source_close() does so too. */
void source_serve_end(struct source *src);

#endif
