/* SPDX-License-Identifier: MIT */
/*
 * state.h - inside the setup reader
 *
 *   setup.c      reads a script twice: checks it, then runs it
 *   words.c      tokens, and what a word of the script becomes
 *   commands.c   echo, cat, mkdir ...
 *   near.c       names that were perhaps meant
 *   paste.c      what is a command in a pasted transcript
 *   shell.c      a script in a real shell
 */
#ifndef TRACEFUSE_SETUP_STATE_H
#define TRACEFUSE_SETUP_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "setup/setup.h"

/* ---- words.c: tokens ---- */

enum setup_token {
	SETUP_WORD, SETUP_NEWLINE, SETUP_SEMICOLON, SETUP_PIPE, SETUP_TO, SETUP_APPEND, SETUP_HERE,
	SETUP_END, SETUP_BAD,	/* BAD: unknown to the reader, or without an end */
};

/* A position in the script. A copy of it is a place to return to. */
struct setup_cursor {
	const char	*at;		/* behind the present token */
	unsigned int	line;		/* line number of `at` */
	enum setup_token token;
	const char	*word;		/* the token as written; of SETUP_BAD the bad text */
	size_t		len;
	const char	*missing;	/* of SETUP_BAD: what every shell would miss; may be NULL */
	/* End of a here-document that begins in the next line; may be NULL */
	const char	*here;
	size_t		here_len;
	bool		raw;		/* its end was quoted: nothing is expanded */
	const char	*body;		/* the here-document, with its command's SETUP_NEWLINE */
	size_t		body_len;
};

void setup_advance(struct setup_cursor *c);
/* The present token is the word behind "<<". The SETUP_NEWLINE of this line brings the body. */
void setup_begin_here(struct setup_cursor *c);
bool setup_at(const struct setup_cursor *c, const char *word);
/* The length of the variable's name that s begins with; 0: none. */
size_t setup_name_length(const char *s);
/* $PWD, $UID, IFS and the like. A script that uses one of them goes to a real shell. */
bool setup_is_shells_own(const char *name, size_t len);

/* ---- words.c: expansion ---- */

struct setup_words {
	char		**v;
	unsigned int	nr;
	bool		failed;		/* no memory for a word, or for a part of one */
};

void setup_words_destroy(struct setup_words *w);

struct setup_variables {
	struct setup_words set;		/* "NAME=VALUE" */
	bool		closed;		/* those of the environment are not there */
	size_t		room;		/* bytes that may still be expanded */
};

/* Sets a variable: "NAME=VALUE". False: no memory, and nothing has changed. */
bool setup_variable_set(struct setup_variables *variables, const char *name, size_t len,
			const char *value);

/*
 * Expands the text and adds the words: quotes are removed, variables replaced, and variables
 * outside of quotes are split at blanks. Without room it fails as without memory.
 */
void setup_expand(struct setup_variables *variables, const char *text, size_t len,
		  struct setup_words *out);
/*
 * The same, as one word, which the caller frees. `here`: the text is a here-document, where quotes
 * are ordinary characters. NULL: no memory.
 */
char *setup_expand_one(struct setup_variables *variables, const char *text, size_t len,
		       bool here);

/* ---- the reader ---- */

enum { SETUP_PATH_MAX = 4096 };

struct setup {
	const struct setup_params *params;
	FILE		*out, *err;
	struct setup_cursor c;
	bool		checking;	/* nothing is run, and no word is expanded */
	bool		ending;		/* because memory or room ran out */
	unsigned int	depth;		/* of loops */
	int		failed;		/* commands that printed an error */
	char		cwd[SETUP_PATH_MAX];	/* begins with "/" */
	struct setup_variables variables;
	/* The command that runs: */
	unsigned int	line;
	FILE		*printed;	/* its output in memory; written to the target at its end */
	const char	*text;		/* its input from a pipe or a here-document; NULL: none */
	size_t		len;
};

/* Prints "TEXT", or with `line` "NAME: line N: TEXT", and counts the failure. */
void setup_complain(struct setup *s, bool line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- functions.c ---- */

/* If `path` is a set of functions: prints which names of the text no function has. */
void setup_functions_explain(struct access *a, const char *path, const char *text, FILE *err);

/* ---- near.c ---- */

enum { SETUP_NEAR_MAX = 256 };

/* Names like the first one of the path that does not exist, in its directory; or "". */
void setup_near_files(struct access *a, const char *path, char *near, size_t size);
/* After a file could not be opened: prints them, if there are any. */
void setup_near_files_explain(struct access *a, const char *path, FILE *err);
/* After -EINVAL: if the event of this file has no such field, prints which it has. */
void setup_near_fields_explain(struct access *a, const char *path, const char *text, FILE *err);

/* ---- commands.c ---- */

struct setup_command {
	const char	*name;
	/* Prints its errors as the real command does. */
	void		(*run)(struct setup *s, unsigned int argc, char **argv);
	const char	*option;	/* the only option that the reader knows; may be NULL */
	unsigned int	least, most;	/* arguments besides options */
	/* Of bash: it writes by lines, and its errors name the line */
	bool		builtin;
	bool		alone;		/* it cannot be part of a pipe, where it would do nothing */
	bool		reads;		/* it reads its input if no argument is a file */
	bool		filter;		/* a program of the host: any options, no files */
};

/* Finds a command by its name. NULL: there is none. */
const struct setup_command *setup_command_find(const char *name, size_t len);
/*
 * Whether the reader can run the command with this argument, which comes after `nr` others.
 * *operands counts the arguments that are no options.
 */
bool setup_command_takes(const struct setup_command *c, unsigned int nr, const char *arg,
			 size_t len, unsigned int *operands);

/*
 * Finds the path inside the session that `path` means. False: `out` is the path of a file of the
 * host.
 */
bool setup_path(const struct setup *s, const char *path, char out[SETUP_PATH_MAX]);
/*
 * Whether a file of the host or its directory is the kernel's: in its own tracing directory under
 * any name, /sys or /proc. A setup script changes nothing there.
 */
bool setup_is_kernels(const char *path);

/* ---- paste.c ---- */

/* Returns a new text with only the commands, which the caller frees. NULL: out of memory. */
char *setup_paste(const char *text);
/* Replaces typographic quotes by those of a shell, in place. */
void setup_straighten(char *text);
/* Whether the commands have prompts: all of them, or with `any` at least one. */
bool setup_is_paste(const char *text, bool any);

#endif
