/* SPDX-License-Identifier: MIT */
/* property_fixture.h - a session with the three events, for scripts and hits */
#ifndef TRACEFUSE_TESTS_PROPERTY_FIXTURE_H
#define TRACEFUSE_TESTS_PROPERTY_FIXTURE_H

#include "fixture.h"
#include "language.h"
#include "plane/plane.h"

enum { WRITERS_MAX = 3, CPUS = 4 };

struct property_fixture {
	struct fixture	fixture;
	struct slot	*slots[WRITERS_MAX];
};

int property_open(struct property_fixture *st);
void property_close(struct property_fixture *st);

/* Writes all commands of a script. Errors go to `log`. */
bool property_set(struct property_fixture *st, const struct script *s, FILE *log);
/* Removes everything again, the newest first. */
bool property_unset(struct property_fixture *st, const struct script *s, FILE *log);

/* Makes the hit or runs the command of a stimulus. writer: as in struct hit. */
void property_stimulus(struct property_fixture *st, const struct script *s, unsigned int slot,
		       unsigned int writer, const struct stimulus *e, FILE *log);

/* Makes the path of an event's file, such as "events/prop/a/hist". */
const char *property_path(int event, const char *file, char *buf, size_t size);

/* Compares the printed histograms of an event with those of the interpreter. */
bool property_compare(struct property_fixture *st, const struct script *s, struct expected *w,
		      FILE *log);

#endif
