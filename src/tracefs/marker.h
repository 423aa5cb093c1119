/* SPDX-License-Identifier: MIT */
/*
 * marker.h - trace_marker and trace_marker_raw: events made of what is written
 */
#ifndef TRACEFUSE_TRACEFS_MARKER_H
#define TRACEFUSE_TRACEFS_MARKER_H

#include <sys/types.h>

struct instance;

struct model;

/*
 * Makes sure that the addresses that print events come from have names, and tells the plane its
 * own. 0, -ENOMEM
 */
int marker_names(struct model *m);
/*
 * One write(2) of a task: what was taken, or -errno. A text longer than a sub-buffer is taken in
 * part.
 */
ssize_t marker_write(struct instance *inst, pid_t writer, const char *buf, size_t size);
ssize_t marker_write_raw(struct instance *inst, pid_t writer, const char *buf, size_t size);

#endif
