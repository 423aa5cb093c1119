/* SPDX-License-Identifier: MIT */
/*
 * terminal.h - what goes to a terminal has no control characters but newline and tab
 *
 * Names of tasks, strings of records and paths are whatever a recording or a
 * program says; some terminals do what such a text tells them. So stdout and
 * stderr, where they are terminals, write control characters as \033. What is
 * piped, saved or read through a mount stays byte for byte.
 */
#ifndef TRACEFUSE_HOST_TERMINAL_H
#define TRACEFUSE_HOST_TERMINAL_H

#include <stddef.h>

/* Once, before anything is printed. */
void terminal_guard(void);

/* Writes to stderr what tracefuse itself wants a terminal to do. */
void terminal_control(const char *text);

/* The state of a text that is written piece by piece. */
struct terminal_text {
	unsigned char	partial[4];	/* the beginning of a character, or nothing */
	size_t		nr;
};

enum { TERMINAL_GROWTH = 4 };

/*
 * The next piece in `out`, which has room for TERMINAL_GROWTH * (n + 4) bytes. UTF-8 stays as it
 * is; a character whose end is still to come is kept. n 0: nothing comes. Returns how many bytes.
 */
size_t terminal_escape(struct terminal_text *t, const char *in, size_t n, char *out);

#endif
