/* SPDX-License-Identifier: MIT */
/*
 * show.h - the text of trace, trace_pipe and snapshot
 */
#ifndef TRACEFUSE_TRACEFS_SHOW_H
#define TRACEFUSE_TRACEFS_SHOW_H

#include <stdbool.h>
#include <stdio.h>
#include "model/model.h"
#include "plane/ring.h"

/* The whole text of `trace` (snapshot 0) or `snapshot` (1), of one CPU or all (-1). 0, -ENOMEM */
int show_buffer(struct instance *inst, int snapshot, int cpu, FILE *out);

/* One record as trace_pipe has it, a "LOST" line before it where records were lost. */
int show_pipe_record(struct instance *inst, const struct ring_record *r, FILE *out);

#endif
