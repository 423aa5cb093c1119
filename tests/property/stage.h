/* SPDX-License-Identifier: MIT */
/*
 * stage.h - a session with the three events, where scenes are given and hits are made
 */
#ifndef TRACEFUSE_TESTS_PROPERTY_STAGE_H
#define TRACEFUSE_TESTS_PROPERTY_STAGE_H

#include "house.h"
#include "language.h"
#include "plane/plane.h"

enum { WRITERS_MAX = 3, CPUS = 4 };

struct stage {
	struct house	house;
	struct slot	*slots[WRITERS_MAX];
};

int stage_open(struct stage *st);
void stage_close(struct stage *st);

/* Gives all commands of a scene; what is wrong goes to log. */
bool stage_set(struct stage *st, const struct scene *s, FILE *log);
/* Takes everything back, the newest first. */
bool stage_unset(struct stage *st, const struct scene *s, FILE *log);

/* A hit, or the command that the stimulus is. writer: as in struct hit. */
void stage_stimulus(struct stage *st, const struct scene *s, unsigned int slot, unsigned int writer,
		    const struct stimulus *e, FILE *log);

/* Path of an event's file, as "events/prop/a/hist". */
const char *stage_path(int event, const char *file, char *buf, size_t size);

/* All histograms of an event as they print: compares with the interpreter's. */
bool stage_compare(struct stage *st, const struct scene *s, struct world *w, FILE *log);

#endif
