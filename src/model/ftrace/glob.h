/* SPDX-License-Identifier: MIT */
/*
 * glob.h - the patterns that name functions
 *
 *     name    name*    *name    *name*    any mixture of * ? [a-z] [!a-z] \c
 *     12      the index of a function
 *     "any of the first five
 *
 * A quote in front means the name as C++ has it, which is not what is printed.
 * The first five forms are compared as plain text. Used by the files that choose
 * functions and by their commands; a pattern is parsed once for all functions.
 */
#ifndef TRACEFUSE_MODEL_FTRACE_GLOB_H
#define TRACEFUSE_MODEL_FTRACE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

enum ftrace_glob_type {
	FTRACE_GLOB_FULL, FTRACE_GLOB_FRONT, FTRACE_GLOB_MIDDLE, FTRACE_GLOB_END, FTRACE_GLOB_ANY,
	FTRACE_GLOB_INDEX,	/* begins with a digit: matches no name */
};

struct ftrace_glob {
	enum ftrace_glob_type type;
	const char	*text;	/* what is compared: inside the text that was parsed */
	size_t		len;
	bool		not;	/* there was a ! in front */
	bool		demangled;	/* there was a quote in front */
};

/* Cuts the text where it needs to; the pattern points into it. */
void ftrace_glob_parse(struct ftrace_glob *g, char *text);
bool ftrace_glob_match(const struct ftrace_glob *g, const char *name);

#endif
