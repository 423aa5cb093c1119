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
	struct code_note note;		/* its texts: probed_file.texts */
	bool		refused;	/* since its event was armed; it was said */
};

struct usdt;

struct usdt *usdt_new(struct programs *p);
void usdt_free(struct usdt *u);
/*
 * A process is about to begin: looks at its files, unless they were seen. Returns whether one has
 * notes, as far as that is known now. program: attach_request.program
 */
bool usdt_look(struct usdt *u, const struct attach_peer *peer, uint64_t program);
/* The same for all processes that a new server finds. */
void usdt_look_at_all(struct usdt *u);
/* Whether the files of a process (0: of any) are being looked at. */
bool usdt_looks(const struct usdt *u, pid_t pid);
/* Takes what was found meanwhile. */
void usdt_tend(struct usdt *u);
struct list_head *usdt_events(struct usdt *u);
/* The caller frees. NULL: no memory. */
struct fetch_code *usdt_code(const struct usdt_note *n);

#endif
