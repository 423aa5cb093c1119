/* SPDX-License-Identifier: MIT */
/*
 * A model with functions, and a program that calls them: 1000 alpha, 1010 beta, 1020 gamma, 1030
 * delta, 2000 load [libone].
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

/* How many sites the last change had; the word that the program has of one. */
size_t functions_told(void);
uint32_t functions_word(uint64_t ip);
/*
 * The server has a new model: the program goes on with its words, and is told from now on by that
 * one.
 */
void functions_listen(struct model *m);

/* A hit of ftrace:function. -> in which instances it was recorded */
uint64_t functions_hit(struct fixture *f, uint32_t entry, struct hit h, uint64_t ip, int32_t pid);
/* A call of the function, as the word says. */
uint64_t functions_call(struct fixture *f, uint64_t ip);
/* Types of the records in the live buffer (0) or the other one (1), oldest first: "1 4 ". */
const char *functions_ring(struct fixture *f, struct instance *inst, int snapshot);
/* Its n-th record; its size, 0: there is none. */
uint32_t functions_nth(struct fixture *f, struct instance *inst, unsigned int n, void *out,
		       uint32_t room);

#endif
