/* SPDX-License-Identifier: MIT */
/*
 * boot.h - what a session has at its start, told as a kernel is told: ftrace=function
 * trace_event=heap:malloc
 *
 *     text --words--> NAME=VALUE --items of its list--> files of the tree
 *                                        |
 *                                        +-- of a function or an event that no program has brought
 *                                        yet: waits
 *
 * Included by the server, which tries what waits again whenever a program is
 * ready, and by replay. Parameters are given in the order of a table, not of
 * the text: filters before the tracer that they are for. As with a kernel what is
 * wrong is said, once, and the rest goes on; words that are for others (root=,
 * quiet) are passed over, so that a whole kernel command line may come.
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
	/* A setting of an event that is not there: as access_pend(). NULL: nobody keeps any */
	int		(*keep)(void *arg, const char *path, const char *text);
	void		*pend_arg;
	/* nothing comes any more: a tracer does not wait for its filter */
	bool		last;
	/* a line for each thing that is wrong; NULL: nobody reads it */
	FILE		*out;
};

/* `head` begins each line about what is wrong. NULL: out of memory. */
struct boot *boot_create(const char *head);
void boot_destroy(struct boot *b);
/* 0, -ENOMEM. Words may be put in double quotes, or their values. */
int boot_add(struct boot *b, const char *text, FILE *out);
/*
 * The first word of the text that is no parameter of a session, or has no value: copied for the
 * caller to free, with the names that it is nearly. NULL: there is none, or no memory, or the text
 * is a kernel's whole command line (with root= or BOOT_IMAGE=).
 */
char *boot_unknown(const char *text, char *near, size_t size);
/* Gives what was not given yet. Whether something waits still. */
bool boot_apply(struct boot *b, const struct boot_params *params);
/* What waits, a line NAME=VALUE each, behind `head`. */
void boot_print_waiting(const struct boot *b, const char *head, FILE *out);
/* Takes what boot_print_waiting() wrote without a head. 0, -ENOMEM */
int boot_restore(struct boot *b, const char *text);

#endif
