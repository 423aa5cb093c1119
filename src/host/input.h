/* SPDX-License-Identifier: MIT */
/*
 * input.h - files that a user names to be read: scripts, lists of functions
 *
 * A pipe may be meant, as in --setup <(...), and so may the terminal. What could
 * only wait for ever, or give bytes without end, is refused at once. Recordings
 * are mapped, and have to be regular files (sources/recording/file/trace_dat.c).
 */
#ifndef TRACEFUSE_HOST_INPUT_H
#define TRACEFUSE_HOST_INPUT_H

#include <stddef.h>
#include <stdio.h>

/* "-" is stdin, which input_close() leaves open. 0, -ENXIO, -ENODEV: see input_error(); -errno */
int input_open(const char *name, FILE **out);
void input_close(FILE *in);

/* All of it, with a 0 behind it; the caller frees. -EFBIG: no script or list is as long as that. */
int input_read_all(const char *name, char **text, size_t *len);

/* What an error of the functions above means; `err` is positive. */
const char *input_error(int err);

#endif
