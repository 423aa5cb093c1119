/* SPDX-License-Identifier: MIT */
/*
 * show.h - the text of trace, trace_pipe and snapshot
 *
 *     ring iterator --record--> context, event --> text --> reader
 *
 * Included by the tree's files. What a reader shows is fixed by its iterator
 * when it is opened; the text is made while it is read, so that a trace larger
 * than memory can be printed. Instance, model and session outlive a reader; an
 * event that is removed meanwhile prints as an unknown type.
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
 * The text of `trace` (snapshot 0) or `snapshot` (1), of one CPU or all (-1). 0, -ENOMEM, -errno of
 * the ring
 */
int show_open(struct instance *inst, int snapshot, int cpu, struct show **out);
/* The next bytes of the text: as many as fit, 0 at the end, -errno. */
ssize_t show_read(struct show *s, char *buf, size_t size);
void show_close(struct show *s);

/* All of it at once. */
int show_buffer(struct instance *inst, int snapshot, int cpu, FILE *out);

/*
 * What a kernel dumps of its buffer: lines as in latency-format between two rules. Takes the
 * records out; cpu -1: all.
 */
int show_dump(struct instance *inst, int cpu, FILE *out);

/*
 * What trace_pipe needs to print records one by one: keeps print formats from
 * one record to the next, so a pipe opens one and gives it each record. A
 * tracer may take a record from the consumer that belongs to the one before it;
 * NULL: nothing can be looked at beforehand.
 */
struct show *show_pipe_open(struct instance *inst, struct ring_consumer *consumer);
/*
 * Options are those that the instance has now. A "LOST" line comes before the record where some
 * were lost.
 */
int show_pipe_print(struct show *s, const struct ring_record *r, FILE *out);
/* A new read(2) begins. */
void show_pipe_restart(struct show *s);

#endif
