/* SPDX-License-Identifier: MIT */
/*
 * glob.h - the patterns that name functions
 *
 *     name    name*    *name    *name*    any mixture of * ? [a-z] [!a-z] \c
 *     12      the index of a function
 *     "any of the first five
 *
 * A quote in front means the C++ name, which is not the printed one. The first five forms are
 * compared as plain text. The files that choose functions and their commands use it. A pattern is
 * parsed once for all functions.
 */
#ifndef TRACEFUSE_MODEL_FTRACE_GLOB_H
#define TRACEFUSE_MODEL_FTRACE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

enum ftrace_glob_type {
	FTRACE_GLOB_FULL, FTRACE_GLOB_FRONT, FTRACE_GLOB_MIDDLE, FTRACE_GLOB_END, FTRACE_GLOB_ANY,
	FTRACE_GLOB_INDEX,	/* it begins with a digit and matches no name */
};

struct ftrace_glob {
	enum ftrace_glob_type type;
	const char	*text;	/* the text to compare: inside the text that was parsed */
	size_t		len;
	bool		not;	/* there was a ! in front */
	bool		demangled;	/* there was a quote in front */
};

/* Parses a pattern and cuts the text where necessary. The pattern points into the text. */
void ftrace_glob_parse(struct ftrace_glob *g, char *text);
bool ftrace_glob_match(const struct ftrace_glob *g, const char *name);

#endif
