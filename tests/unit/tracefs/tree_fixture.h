/* SPDX-License-Identifier: MIT */
/*
 * tree_fixture.h - a tree over a private session with two CPUs, and what a shell does with its files
 *
 *   test:first (id 100), test:second (id 101)   int pid
 *   ftrace:print (id 5), ftrace:raw_data (id 18)
 */
#ifndef TRACEFUSE_TESTS_TRACEFS_TREE_FIXTURE_H
#define TRACEFUSE_TESTS_TRACEFS_TREE_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model/model.h"
#include "tracefs/tree.h"

struct world {
	char		name[64];
	struct session	*session;
	struct model	*model;
	struct tree	*tree;
};

/* cmocka's setup and teardown; *state is the world. */
int world_setup(void **state);
int world_teardown(void **state);
/* The server dies, the next one brings the session back. */
void world_new_server(struct world *w);

/* echo -n TEXT > PATH, and >> PATH: what the write returned, or what open refused. */
ssize_t world_write(struct world *w, const char *path, const char *text);
ssize_t world_append(struct world *w, const char *path, const char *text);
/* cat PATH; the caller frees. NULL: refused. */
char *world_read(struct world *w, const char *path);

#define assert_file(w, path, expected) do {					\
	char *got_ = world_read(w, path);					\
	assert_non_null(got_);							\
	assert_string_equal(got_, expected);					\
	free(got_);								\
} while (0)

#define assert_taken(w, path, text)						\
	assert_int_equal(world_write(w, path, text), (ssize_t)strlen(text))

/* echo -n TEXT > PATH; cat PATH */
#define assert_becomes(w, path, text, expected) do {				\
	assert_taken(w, path, text);						\
	assert_file(w, path, expected);						\
} while (0)

#endif
