/* SPDX-License-Identifier: MIT */
/*
 * boot.h - the settings that a session begins with, written as a kernel's parameters:
 * ftrace=function trace_event=heap:malloc
 *
 *     text --words--> NAME=VALUE --items of its list--> files of the tree
 *                                        |
 *                                        +-- of a function or an event that no program has brought
 *                                        yet: waits
 *
 * Included by the server, which tries what waits again whenever a program is ready, and by replay.
 * Parameters are given in the order of a table, not of the text: filters before the tracer that
 * they are for. As in a kernel, an error is reported once, and the rest is carried out. Other words
 * (root=, quiet) are ignored, so a whole kernel command line may be given.
 */
#ifndef TRACEFUSE_SERVER_BOOT_H
#define TRACEFUSE_SERVER_BOOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct access;
struct boot;

struct boot_params {
	struct access	*access;
	/*
	 * Makes a setting of an event that does not exist yet pending, as access_pend(). NULL:
	 * there are no pending settings
	 */
	int		(*pend)(void *arg, const char *path, const char *text);
	void		*pend_arg;
	/* No further programs come: a tracer no longer waits for its filter */
	bool		last;
	/* A line for each error; NULL: they are not printed */
	FILE		*out;
};

/* `head` begins each line about an error. NULL: out of memory. */
struct boot *boot_create(const char *head);
void boot_destroy(struct boot *b);
/* Returns 0 or -ENOMEM. A word, or its value, may be in double quotes. */
int boot_add(struct boot *b, const char *text, FILE *out);
/*
 * The first word of the text that is no parameter of a session, or has no value. It is copied, and
 * the caller frees it; `near` gets similar names. NULL: there is none, or no memory, or the text is
 * a kernel's whole command line (with root= or BOOT_IMAGE=).
 */
char *boot_unknown(const char *text, char *near, size_t size);
/* Gives the parameters that were not given yet. Returns whether one still waits. */
bool boot_apply(struct boot *b, const struct boot_params *params);
/* Whether a parameter waits for functions. */
bool boot_waits_functions(const struct boot *b);
/* Prints the parameters that wait, a line NAME=VALUE each, behind `head`. */
void boot_print_waiting(const struct boot *b, const char *head, FILE *out);
/* Reads what boot_print_waiting() wrote without a head. 0, -ENOMEM */
int boot_restore(struct boot *b, const char *text);

#endif
