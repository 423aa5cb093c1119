/* SPDX-License-Identifier: MIT */
/* marker.h - trace_marker and trace_marker_raw: events made of written texts */
#ifndef TRACEFUSE_TRACEFS_MARKER_H
#define TRACEFUSE_TRACEFS_MARKER_H

#include <sys/types.h>

struct instance;

struct model;

/*
 * Makes sure that the addresses in print events have names, and gives the plane the one that its
 * own print events have. 0, -ENOMEM
 */
int marker_names(struct model *m);
/*
 * One write(2) of a task. Returns how many bytes were taken, or -errno. Of a text that is longer
 * than a sub-buffer only a part is taken.
 */
ssize_t marker_write(struct instance *inst, pid_t writer, const char *buf, size_t size);
ssize_t marker_write_raw(struct instance *inst, pid_t writer, const char *buf, size_t size);

#endif
