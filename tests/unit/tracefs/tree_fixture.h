/* SPDX-License-Identifier: MIT */
/*
 * tree_fixture.h - a tree over a private session with two CPUs, and a shell's operations on its
 * files
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

struct fixture {
	char		name[64];
	struct session	*session;
	struct model	*model;
	struct tree	*tree;
};

/* cmocka's setup and teardown; *state is the fixture. */
int fixture_setup(void **state);
int fixture_teardown(void **state);
/* Lets the server die, and a new one restore the session. */
void fixture_new_server(struct fixture *w);
/* The same in two steps: the second one may fail, and then both can be tried again. */
void fixture_server_dies(struct fixture *w);
int fixture_restore(struct fixture *w);

/* echo -n TEXT > PATH, and >> PATH. Return the result of the write, or the error of open. */
ssize_t fixture_write(struct fixture *w, const char *path, const char *text);
ssize_t fixture_append(struct fixture *w, const char *path, const char *text);
/* cat PATH. The caller frees the text. NULL: refused. */
char *fixture_read(struct fixture *w, const char *path);

#define assert_file(w, path, expected) do {					\
	char *got_ = fixture_read(w, path);					\
	assert_non_null(got_);							\
	assert_string_equal(got_, expected);					\
	free(got_);								\
} while (0)

#define assert_taken(w, path, text)						\
	assert_int_equal(fixture_write(w, path, text), (ssize_t)strlen(text))

/* echo -n TEXT > PATH; cat PATH */
#define assert_becomes(w, path, text, expected) do {				\
	assert_taken(w, path, text);						\
	assert_file(w, path, expected);						\
} while (0)

#endif
