/* SPDX-License-Identifier: MIT */
/*
 * cat.h - the text of one of the tree's files, as a user reads it
 */
#ifndef TRACEFUSE_TESTS_SOURCES_CAT_H
#define TRACEFUSE_TESTS_SOURCES_CAT_H

#include <fcntl.h>

#include "fixture.h"

/* Until the next call. */
static const char *cat(const char *path)
{
	static char text[1 << 16];
	struct tree_file *f;
	ssize_t n;

	assert_int_equal(tree_open(tree, path, O_RDONLY, &f), 0);
	n = tree_read(f, text, sizeof(text) - 1, 0);
	tree_release(f);
	assert_true(n >= 0);
	text[n] = '\0';
	return text;
}

#endif
