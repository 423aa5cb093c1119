/* SPDX-License-Identifier: MIT */
/*
 * show.h - the text of trace, trace_pipe and snapshot
 *
 *     ring iterator --record--> context, event --> text --> reader
 *
 * Included by the tree's files. A reader opens an iterator, which fixes the records that it shows.
 * Instance, model and session outlive a reader. An event that is removed meanwhile prints as an
 * unknown type.
 */
#ifndef TRACEFUSE_SHOW_SHOW_H
#define TRACEFUSE_SHOW_SHOW_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include "model/model.h"
#include "plane/ring/ring.h"

struct show;

/*
 * Prints `trace` (snapshot 0) or `snapshot` (1), for one CPU or all (-1). 0, -ENOMEM, or -errno of
 * the ring.
 */
int show_buffer(struct instance *inst, int snapshot, int cpu, FILE *out);
/* The same in pieces. What it shows is fixed here. */
int show_buffer_open(struct instance *inst, int snapshot, int cpu, struct show **out);
/*
 * The same for `trace`, but a call and its return are two lines of function_graph in any case. The
 * kernel makes one line of a call and the next return of its task and function on the CPU, which is
 * another call's if the task has changed the CPU meanwhile.
 */
int show_calls_open(struct instance *inst, int cpu, struct show **out);
/* Prints the next piece. 1: there may be more; 0: that was all; -errno */
int show_buffer_piece(struct show *s, FILE *out);

/*
 * Prints and consumes the records as a kernel dumps its buffer: lines as in latency-format, between
 * two rules. cpu -1: all.
 */
int show_dump(struct instance *inst, int cpu, FILE *out);

/*
 * Opens a reader that prints records one by one. It remembers print formats, so a pipe opens one
 * reader and passes each record to it. A tracer may take a record from the consumer if it belongs
 * to the record before it. `consumer` NULL: no tracer can look ahead.
 */
struct show *show_pipe_open(struct instance *inst, struct ring_consumer *consumer);
void show_close(struct show *s);
/*
 * Prints with the instance's present options. If records were lost before this one, a "LOST" line
 * comes first.
 */
int show_pipe_print(struct show *s, const struct ring_record *r, FILE *out);
/* A new read(2) begins. */
void show_pipe_restart(struct show *s);

#endif
