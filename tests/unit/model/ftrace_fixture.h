/* SPDX-License-Identifier: MIT */
/*
 * ftrace_fixture.h - a model with functions, and a program that calls them: 1000 alpha, 1010 beta,
 * 1020 gamma, 1030 delta, 2000 load [libone]
 */
#ifndef TESTS_UNIT_MODEL_FTRACE_FIXTURE_H
#define TESTS_UNIT_MODEL_FTRACE_FIXTURE_H

#include "fixture.h"
#include "ftrace_edit.h"
#include "model/ftrace/groups.h"
#include "plane/plane.h"

int functions_setup(void **state);
int functions_teardown(void **state);

/* The tracer's ops of an instance. */
struct ftrace_ops *functions_ops(struct instance *inst);

/* The number of sites in the last change. */
size_t functions_told(void);
/* The word that the program has of a site. */
uint32_t functions_word(uint64_t ip);
/*
 * The server has a new model. The program keeps its words, and gets later changes from that model.
 */
void functions_listen(struct model *m);

/* Makes a hit of ftrace:function. Returns a mask of the instances that recorded it. */
uint64_t functions_hit(struct fixture *f, uint32_t entry, struct hit h, uint64_t ip, int32_t pid);
/* Makes a call of the function, with the plan that its word selects. */
uint64_t functions_call(struct fixture *f, uint64_t ip);
/* The types of the records in the live buffer (0) or the snapshot (1), oldest first: "1 4 ". */
const char *functions_ring(struct fixture *f, struct instance *inst, int snapshot);
/* Reads the n-th record of it. Returns the record's size; 0: there is none. */
uint32_t functions_nth(struct fixture *f, struct instance *inst, unsigned int n, void *out,
		       uint32_t room);

#endif
