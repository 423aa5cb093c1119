/* SPDX-License-Identifier: MIT */
/*
 * state.h - inside the setup reader
 *
 *   setup.c      reads a script twice: checks it, then runs it
 *   words.c      tokens, and what a word of the script becomes
 *   commands.c   echo, cat, mkdir ...
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
	SETUP_END, SETUP_BAD,	/* the reader does not know it, or it has no end */
};

/* Points into the script; a copy of it is a place to return to. */
struct setup_cursor {
	const char	*at;		/* behind the token in hand */
	unsigned int	line;		/* of `at` */
	enum setup_token token;
	const char	*word;		/* the token as it is written; of SETUP_BAD what is bad */
	size_t		len;
	const char	*missing;	/* of SETUP_BAD: what every shell would miss, NULL */
	const char	*here;		/* the end of a here-document that begins next line, NULL */
	size_t		here_len;
	bool		raw;		/* that end was quoted: nothing is expanded */
	const char	*body;		/* the here-document, with its command's SETUP_NEWLINE */
	size_t		body_len;
};

void setup_advance(struct setup_cursor *c);
/* At the word behind "<<". The body is in hand with the SETUP_NEWLINE of this line. */
void setup_begin_here(struct setup_cursor *c);
bool setup_at(const struct setup_cursor *c, const char *word);
/* How much of s is a variable's name; 0: none begins there. */
size_t setup_name_length(const char *s);
/* $PWD, $UID, IFS and the like: a script that has one of them goes to a real shell. */
bool setup_is_shells_own(const char *name, size_t len);

/* ---- words.c: expansion ---- */

struct setup_words {
	char		**v;
	unsigned int	nr;
	bool		failed;		/* no memory for a word, or for a part of one */
};

void setup_words_destroy(struct setup_words *w);

/* Gives a variable its value, "NAME=VALUE". False: no memory, and all are as they were. */
bool setup_variable_set(struct setup_words *variables, const char *name, size_t len,
			const char *value);

/*
 * Adds the words that text means: its quotes removed, its variables replaced, and these split at
 * their blanks where they are not quoted.
 */
void setup_expand(const struct setup_words *variables, const char *text, size_t len,
		  struct setup_words *out);
/*
 * The same as one word. `here`: it is a here-document, whose quotes mean themselves. The caller
 * frees it; NULL: no memory.
 */
char *setup_expand_one(const struct setup_words *variables, const char *text, size_t len,
		       bool here);

/* ---- the reader ---- */

enum { SETUP_PATH_MAX = 4096 };

struct setup {
	const struct setup_params *params;
	FILE		*out, *err;
	struct setup_cursor c;
	bool		checking;	/* nothing is run and no word expanded */
	bool		ending;		/* for want of memory */
	unsigned int	depth;		/* of loops */
	int		failed;		/* commands that printed an error */
	char		cwd[SETUP_PATH_MAX];	/* begins with "/" */
	struct setup_words variables;
	/* Of the command that runs: */
	unsigned int	line;
	FILE		*printed;	/* memory: written to its target when it has ended */
	const char	*text;		/* its input, of a pipe or a here-document; NULL: none */
	size_t		len;
};

/* Prints "TEXT", or with `line` "NAME: line N: TEXT", and counts the failure. */
void setup_complain(struct setup *s, bool line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- commands.c ---- */

struct setup_command {
	const char	*name;
	/* Prints its errors as the real command does. */
	void		(*run)(struct setup *s, unsigned int argc, char **argv);
	const char	*option;	/* the only one that the reader knows, in front; NULL */
	unsigned int	least, most;	/* arguments besides options */
	bool		builtin;	/* of bash: it writes by lines, its errors name the line */
	bool		alone;		/* it is not part of a pipe, where it would do nothing */
	bool		reads;		/* its input, where it has no arguments that are files */
	bool		filter;		/* a program of the host: any options, no files */
};

/* NULL: there is none of that name. */
const struct setup_command *setup_command_find(const char *name, size_t len);
/*
 * Whether the reader can do the command with this argument as it is written, behind `nr` others.
 * *operands counts those that are no options.
 */
bool setup_command_takes(const struct setup_command *c, unsigned int nr, const char *arg,
			 size_t len, unsigned int *operands);

/* The path inside the session that `path` means. False: out is the path of a file of the host. */
bool setup_path(const struct setup *s, const char *path, char out[SETUP_PATH_MAX]);
/*
 * A file of the host, or its directory, is one of the kernel's: its own tracing directory by
 * whatever name, /sys, /proc. Setting a session up changes nothing there.
 */
bool setup_is_kernels(const char *path);

/* ---- paste.c ---- */

/* A text of its own in which only commands are left; NULL: out of memory. */
char *setup_paste(const char *text);
/* Quotes as a typesetter has them become those of a shell, in place. */
void setup_straighten(char *text);
/* Its commands have prompts: all of them, or (`any`) one at least. */
bool setup_is_paste(const char *text, bool any);

#endif
