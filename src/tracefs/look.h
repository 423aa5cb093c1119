/* SPDX-License-Identifier: MIT */
/*
 * look.h - a process that asks which file a path names, and shares the server's memory
 *
 *     server: look_begin() --clone--> the looker: stat()
 *             the pipe     <--------- struct stat
 *
 * The path's disk may not answer, so the server cannot ask itself. A copy of the server (printer.h)
 * could, but each page that the server then writes is copied: with 10,000 probes that takes longer
 * than all else that switches them on.
 */
#ifndef TRACEFUSE_TRACEFS_LOOK_H
#define TRACEFUSE_TRACEFS_LOOK_H

#include <stdbool.h>
#include <sys/types.h>

/* The looker's stack, what it asks, and how that ended. */
struct look;

/*
 * The looker writes a struct stat into `fd`, or nothing. 0: *out is to be freed by look_free() when
 * the process is gone. -errno: there is none.
 */
int look_begin(const char *path, int fd, struct look **out);
pid_t look_pid(const struct look *l);
/* After the pipe's end: 0 or -errno of stat(); -EIO: the process died. */
int look_err(const struct look *l);
void look_free(struct look *l);

#endif
