/* SPDX-License-Identifier: MIT */
/*
 * terminal.h - escapes control characters in output to a terminal, except newline and tab
 *
 * Names of tasks, strings of records and paths come from recordings and programs, and some
 * terminals execute what such a text commands. So stdout and stderr print control characters as
 * \033 if they are terminals. Bytes that are piped, saved or read through a mount stay as they are.
 */
#ifndef TRACEFUSE_HOST_TERMINAL_H
#define TRACEFUSE_HOST_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* Call it once, before anything is printed. */
void terminal_guard(void);

/* The errno of the first write to stdout that failed; 0: none did. A stream does not keep it. */
int terminal_stdout_error(void);
/* Whether stdout is a terminal, or was one before a pager took it (pager.h). */
bool terminal_is_stdout(void);
/* How wide that terminal is; 0: stdout is none, or it does not say. */
unsigned int terminal_columns(void);

/* Writes a control sequence of tracefuse itself to stderr. */
void terminal_control(const char *text);

/*
 * Prints to stdout a text with colours, "\033[...m", which are all tracefuse's own: what comes from
 * elsewhere has no control characters any more. False: it cannot be written.
 */
bool terminal_print_colours(const char *text, size_t n);

/* The state of a text that is written piece by piece. */
struct terminal_text {
	unsigned char	partial[4];	/* the beginning of a character, or nothing */
	size_t		nr;
};

enum { TERMINAL_GROWTH = 4 };

/*
 * Escapes the next piece into `out`, which has room for TERMINAL_GROWTH * (n + 4) bytes. UTF-8
 * stays as it is. A character without its end waits for the next piece. n 0: there is no next
 * piece. Returns the number of bytes.
 */
size_t terminal_escape(struct terminal_text *t, const char *in, size_t n, char *out);

#endif
