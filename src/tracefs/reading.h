/* SPDX-License-Identifier: MIT */
/*
 * reading.h - what a process of its own reads from a file, gathered piece by piece
 *
 *     reading_start() --fork--> the process: print()
 *     reading_take()  <--pipe-- bytes, until it returns 0
 *
 * Who takes the bytes apart trusts none of them: the file may have done harm to that process.
 */
#ifndef TRACEFUSE_TRACEFS_READING_H
#define TRACEFUSE_TRACEFS_READING_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tracefs/printer.h"

struct reading {
	struct printer	*printer;	/* NULL: nothing is being read */
	char		*bytes;		/* from malloc() */
	size_t		nr, room;
	/* F2 */
	int64_t		used;		/* nanoseconds of the processor */
	int64_t		since;		/* session_now_ms(): so many since then */
};

/*
 * Has print() write its bytes in a process of its own. input: a descriptor for that process, as its
 * standard input; 0: none. 0; -errno: there can be no process.
 */
int reading_start(struct printers *ps, struct reading *r, int (*print)(void *arg, FILE *out),
		  void *arg, int input);
/* The bytes are to be the struct stat of what the path names (path_look.h). 0; -errno */
int reading_look(struct printers *ps, struct reading *r, const char *path);
/*
 * The same as reading_start() at once, where there can be no process. 0, -errno of print(). Then
 * reading_end().
 */
int reading_here(struct reading *r, int (*print)(void *arg, FILE *out), void *arg);
/* To be called first in print(). */
void reading_begin(const char *name);
/* 1: more may come later; 0: these are all bytes; -errno of print(), or for reading_why(). */
int reading_take(struct reading *r);
/* Ends the process, and frees what has come. */
void reading_end(struct reading *r);
/* What an error means: the end of a sentence about the file. */
const char *reading_why(int err);

#endif
