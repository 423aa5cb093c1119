/* SPDX-License-Identifier: MIT */
/*
 * list.h - what `tracefuse list` prints, a line for each thing that can be traced
 *
 *     program.c    functions and USDT notes of a file, with nothing executed
 *     probed.c     one function or note: how it can be probed, or why not
 *     static.c     events that a file defines, and those that every program has
 *     events.c     events of a session or a recording, with their fields
 *
 * cmd/list.c finds out which of them is meant.
 */
#ifndef TRACEFUSE_CLI_LIST_LIST_H
#define TRACEFUSE_CLI_LIST_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "elf/code/code.h"
#include "elf/sites.h"

struct access;
struct demangler;

struct list {
	const char	*pattern;	/* NULL: everything */
	bool		details;	/* -v */
	bool		summary;	/* only numbers */
	struct demangler *names;	/* of C++ and Rust, as in the source */
	const char	*heading;	/* stands before the next line; NULL: nothing */
	size_t		printed;
	size_t		events;		/* of them, of a program */
};

/* Replaces bytes that would break a line or reach the terminal by '?'. Files may have any. */
void list_clean(char *text, size_t len);
/*
 * Whether the pattern means a thing "KIND:NAME"; a pattern may leave out KIND. A function is meant
 * by its name in the source, too.
 */
bool list_wants(const struct list *l, const char *kind, const char *name);

/* A line comes: it is counted, and the heading is printed. */
void list_count_line(struct list *l);

/* Each returns an exit status. path: as in messages, too. */
int list_program(struct list *l, const char *path);
int list_session(struct list *l, struct access *a);
int list_recording(struct list *l, const char *path);

/* Prints how the function at an address of the file can be probed, without a newline. */
void list_print_function(const char *path, uint64_t address, FILE *out);
/*
 * Whether the entry of that function, or its return, cannot be probed; why: what to say then. A
 * file that cannot be read is not refused.
 */
bool list_refuses(const char *path, uint64_t address, bool returns, char *why, size_t size);

enum listed {
	LISTED_NOTHING, LISTED_PROGRAM, LISTED_SCRIPT, LISTED_RECORDING, LISTED_SESSION
};

/*
 * What an argument names. path gets the file that a name on $PATH, or the name of a library, means:
 * it has PATH_MAX bytes.
 */
enum listed list_kind(const char *name, char *path);

/* ---- static.c ---- */

struct image;

/* The static events of a file. False: out of memory. */
bool list_static(struct list *l, const struct image *im);
/* The events that every program has: heap, lock, thread, signal, syscalls. */
void list_provided(struct list *l);

/* ---- probed.c ---- */

/* How often each answer was given. */
struct list_counts {
	size_t		sites, skipped;		/* of compilers */
	size_t		tactics[CODE_NR_TACTICS];
	size_t		whys[CODE_NR_WHYS];
	size_t		no_return[CODE_NR_RETURNS];
	size_t		moved[SITE_NR_SKIPS];	/* functions, by what function tracers say */
};

/* One function or note. */
struct list_item {
	const char	*kind, *name;
	const struct code_function *fn;		/* of a function */
	const struct site *site;		/* the compiler's; NULL: none */
	/* That of function tracers, in a file without sites of a compiler; NULL: there is none */
	const struct site *moved;
	const struct code_note *note;		/* of a note */
	struct code_plan plan;
};

/* Plans the probe of an item without site. file NULL: the file has no code that is understood. */
void list_plan(const struct code_file *file, struct list_item *item);
void list_count(struct list_counts *c, const struct list_item *item);
void list_print(const struct list *l, const struct list_item *item);
/* Prints the answer alone, without a newline. */
void list_answer(const struct list_item *item, FILE *out);
void list_print_counts(const char *what, const struct list_counts *c);

#endif
