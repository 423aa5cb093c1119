/* SPDX-License-Identifier: MIT */
/*
 * points.h - private to the source of running programs: points of armed probes, and what programs
 * read of them
 *
 *     wanted_point -> its block, by where it is in its file -> struct probe_file
 *          of all blocks of all files -> struct probe_table
 *
 * A change of one point makes its block and the table again: both stay small, however many points
 * a file has. A block that would have the same contents is kept.
 */
#ifndef TRACEFUSE_SOURCES_PROGRAM_POINTS_H
#define TRACEFUSE_SOURCES_PROGRAM_POINTS_H

#include "sources/program/probed.h"

struct probed_path;

enum {
	POINT_BLOCKS	= 256,		/* of a file */
	/* Bits of an address that its block does not depend on: neighbours are in one block */
	POINT_RANGE	= 10,
};

/* A point of an event that is armed. */
struct wanted_point {
	struct list_head node;		/* in the list of all points */
	struct list_head in_block;	/* in point_block.points; in itself: in none */
	/* One of both */
	struct probe_place *place;
	struct usdt_note *note;
	const struct event *event;
	bool		is_return;
	struct probed_file *file;	/* NULL: it was not found */
	struct probed_path *path;	/* its file is not known yet; NULL: it is, or cannot be */
	struct probed_place *planned;	/* it keeps its bytes; NULL: it was not planned */
	uint64_t	at, counter;
	data_ref	hits;		/* of a place: probe_point.hits */
	uint64_t	order;		/* that of the definition */
	struct fetch_code *code;
	struct probe_plan plan;
	const char	*why;		/* it cannot be planted; NULL: it can */
	bool		stays;		/* forget_points() */
	size_t		fresh;		/* 1 + its place among those that are not planned yet; 0 */
};

struct point_block {
	struct list_head points;	/* sorted as programs find them */
	bool		stale;		/* points came or went since it was made */
	config_ref	ref;		/* struct probe_file, with its codes; 0: none */
	size_t		size;
	char		*relative;	/* a copy of it, with references from its own start */
};

/* What the session's table of probes is made of. */
struct point_table {
	struct session	*session;
	config_ref	ref;
	size_t		size;
	struct old_block {
		config_ref	ref;
		size_t		size;
	} *old;				/* programs may still read them */
	size_t		nr_old;
};

/* Puts a point that has a plan and code into its block. 0, -ENOMEM */
int point_put(struct wanted_point *w);
/* Takes it out of its block, if it is in one. */
void point_take(struct wanted_point *w);
/* The first point of the file at that address, or behind it. NULL: there is none. */
const struct wanted_point *point_first(const struct probed_file *f, uint64_t at);
/* The next one of the block. NULL: there is none. */
const struct wanted_point *point_next(const struct probed_file *f, const struct wanted_point *w);

/* Makes the stale blocks of a file again. Returns whether one has changed. *err: 0, -ENOMEM */
bool points_update(struct point_table *t, struct list_head *files, struct probed_file *f, int *err);
/* The file is going to be closed, with the session. */
void points_close(struct probed_file *f);
/* Publishes the table of all blocks. 0, -ENOMEM */
int points_publish(struct point_table *t, struct list_head *files);
/* All programs have obeyed: what tables no longer name becomes free. */
void points_settled(struct point_table *t);
/* Programs are to plant nothing any more. -> whether there was a table */
bool points_unpublish(struct session *s);

#endif
