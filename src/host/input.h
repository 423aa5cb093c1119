/* SPDX-License-Identifier: MIT */
/*
 * input.h - files that a user names to be read: scripts, lists of functions
 *
 * The file may be a pipe, as in --setup <(...), or the terminal. A file that would make the reader
 * wait for ever, or that has no end, is refused at once. Recordings are mapped and have to be
 * regular files (sources/recording/file/trace_dat.c).
 */
#ifndef TRACEFUSE_HOST_INPUT_H
#define TRACEFUSE_HOST_INPUT_H

#include <stddef.h>
#include <stdio.h>

/*
 * "-" is stdin, which input_close() leaves open. 0 or -errno; for -ENXIO and -ENODEV see
 * input_error().
 */
int input_open(const char *name, FILE **out);
void input_close(FILE *in);

/* Reads the whole file and adds a 0; the caller frees. -EFBIG: longer than any script or list. */
int input_read_all(const char *name, char **text, size_t *len);

/* The text for an error of the functions above; `err` is positive. */
const char *input_error(int err);

#endif
