/* SPDX-License-Identifier: MIT */
/*
 * path_look.h - a process that asks which file a path names, and shares the server's memory
 *
 *     server: path_look_begin() --clone--> the looker: stat()
 *             the pipe     <--------- struct stat
 *
 * The path's disk may not answer, so the server cannot ask itself. A copy of the server (printer.h)
 * could, but each page that the server then writes is copied: with 10,000 probes that takes longer
 * than all else that switches them on.
 */
#ifndef TRACEFUSE_TRACEFS_PATH_LOOK_H
#define TRACEFUSE_TRACEFS_PATH_LOOK_H

#include <stdbool.h>
#include <sys/types.h>

/* The looker's stack, what it asks, and how that ended. */
struct path_look;

/*
 * The looker writes a struct stat into `fd`, or nothing. 0: path_look_free() frees *out when the
 * process is gone. -errno: there is none.
 */
int path_look_begin(const char *path, int fd, struct path_look **out);
pid_t path_look_pid(const struct path_look *l);
/* After the pipe's end: 0 or -errno of stat(); -EIO: the process died. */
int path_look_err(const struct path_look *l);
void path_look_free(struct path_look *l);

#endif
