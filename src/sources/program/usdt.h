/* SPDX-License-Identifier: MIT */
/*
 * usdt.h - private to the source of running programs: the probes that authors have put into them
 *
 *     a program is READY -> its files, each once -> notes of .note.stapsdt
 *          -> event PROVIDER:NAME with its arguments, for all notes of that name
 *     event is armed -> a point for each note (probes.c)
 */
#ifndef TRACEFUSE_SOURCES_PROGRAM_USDT_H
#define TRACEFUSE_SOURCES_PROGRAM_USDT_H

#include "model/dynamic/fetch_compile.h"
#include "sources/program/probed.h"

struct wanted_point;

struct usdt_event {
	struct list_head node;
	struct event	*event;
	struct list_head notes;
};

struct usdt_note {
	struct list_head node;		/* in usdt_event.notes */
	struct usdt_event *of;
	struct wanted_point *point;	/* while its event is armed; NULL: none */
	uint64_t	order;		/* in which the notes were found */
	struct probed_file *file;
	struct code_note note;		/* its texts lie in the file */
	bool		refused;	/* since its event was armed; it was said */
};

struct usdt;

struct usdt *usdt_new(struct programs *p);
void usdt_free(struct usdt *u);
/*
 * A process is about to begin, or a new server finds it: looks at files that were not seen yet.
 * Returns whether a file of its has notes. program: attach_request.program
 */
bool usdt_look(struct usdt *u, pid_t pid, uint64_t program);
struct list_head *usdt_events(struct usdt *u);
/* The caller frees. NULL: no memory. */
struct fetch_code *usdt_code(const struct usdt_note *n);

#endif
