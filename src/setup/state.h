/* SPDX-License-Identifier: MIT */
/*
 * state.h - inside the setup reader
 *
 *   paste.c          what is a command in a pasted transcript
 *   parse.c          text -> struct setup_node
 *   need.c           whether a script is beyond all that
 *   expand.c         words: quotes, variables, $(...), patterns
 *   builtin.c        cat, mkdir, test ...; echo.c        echo, printf
 *   filter.c         grep, head ...: programs that read what the session has
 *   setup.c          runs nodes: redirections, loops, errors
 *   text.c           runs texts: pasted ones, those with mistakes, those for a shell
 */
#ifndef TRACEFUSE_SETUP_STATE_H
#define TRACEFUSE_SETUP_STATE_H

#include <stdbool.h>
#include <stdio.h>

#include "access/access.h"
#include "setup/setup.h"

enum setup_kind { SETUP_SIMPLE, SETUP_FOR, SETUP_IF, SETUP_WHILE, SETUP_GROUP };
enum setup_link { SETUP_ALWAYS, SETUP_AND, SETUP_OR };	/* when it runs, after the one before it */

struct setup_words {
	char		**v;
	unsigned int	nr;
	bool		failed;		/* a word, or a part of one, found no memory */
};

struct setup_redirect {
	struct setup_redirect *next;
	int		fd;		/* 0, 1, 2 */
	char		mode;		/* '<', '>', 'a' (>>), '&' (>&N: word is N) */
	char		*word;
};

struct setup_node {
	enum setup_kind	kind;
	enum setup_link	link;
	bool		negated;	/* "!" */
	unsigned int	line;
	struct setup_node *next;
	struct setup_words words;	/* as written; of a simple command, or behind "in" */
	struct setup_redirect *redirects;
	char		*variable;	/* for */
	struct setup_node *condition, *body, *otherwise;
	struct setup_node *pipe;	/* reads what this one prints */
};

struct setup_variable {
	struct setup_variable *next;
	char		*name;
	char		*value;
};

struct setup {
	const struct setup_params *params;
	FILE		*out, *err;
	char		cwd[1024];	/* in the tracing directory; on the host where it begins with "/" */
	struct setup_variable *variables;
	unsigned int	line;		/* of the command that runs */
	int		status;		/* $? */
	int		failed;		/* commands that printed an error */
	bool		exiting;
	bool		no_memory;	/* exiting for want of it */
	bool		errexit;	/* set -e */
	unsigned int	depth;		/* of $(...) */
};

/* What a command reads and writes. */
struct setup_io {
	FILE		*out;		/* memory: written to its target when the command has ended */
	FILE		*err;
	const char	*in;		/* "< FILE": its path, NULL */
	const char	*text;		/* what came through a pipe, NULL */
	size_t		len;
};

/* paste.c: a text of its own in which only commands are left; NULL: out of memory. */
char *setup_paste(const char *text);
/* Quotes as a typesetter has them become those of a shell, in place. */
void setup_straighten(char *text);
/* Its commands have prompts: all of them, or (`any`) one at least. */
bool setup_is_paste(const char *text, bool any);

/*
 * parse.c: NULL with *error set: not understood (a text for the user, and its line), or
 * setup_no_memory.
 */
extern const char setup_no_memory[];
struct setup_node *setup_parse(const char *text, unsigned int first_line, const char **error,
			       unsigned int *error_line);
void setup_node_destroy(struct setup_node *n);
void setup_words_add(struct setup_words *w, char *word);
void setup_words_destroy(struct setup_words *w);

/* need.c: what a script has that only a shell can do, with its line; NULL: nothing. The caller frees it. */
char *setup_need(const char *text, unsigned int *line);

/* expand.c */
void setup_expand(struct setup *s, const char *word, struct setup_words *out);
/* Without splitting and patterns: for assignments and redirections. NULL: no memory. */
char *setup_expand_one(struct setup *s, const char *word);
bool setup_set(struct setup *s, const char *name, const char *value);
void setup_variables_destroy(struct setup *s);

/* builtin.c: runs it; the status, or -1: there is no such command. */
int setup_builtin(struct setup *s, unsigned int argc, char **argv, struct setup_io *io);

/* echo.c */
int setup_echo(struct setup *s, unsigned int argc, char **argv, struct setup_io *io);
int setup_printf(struct setup *s, unsigned int argc, char **argv, struct setup_io *io);

/* A command of builtin.c or filter.c. */
bool setup_knows(const char *name);

/*
 * filter.c: a program of the host that only reads, on its input and on files of the session, which it finds
 * behind /proc/self/fd. The status, or -1: it is none of those that may run.
 */
int setup_filter(struct setup *s, unsigned int argc, char **argv, struct setup_io *io);
bool setup_is_filter(const char *name);

/* The path inside the session that `path` means, or false: a file of the host, whose path is in out then. */
bool setup_path(struct setup *s, const char *path, char *out, size_t size);
/*
 * A file of the host, or its directory, is one of the kernel's: its own tracing directory by whatever name, /sys,
 * /proc. Setting a session up changes nothing there.
 */
bool setup_is_kernels(const char *path);

/* setup.c */
void setup_run(struct setup *s, const struct setup_node *n);
/* The output of commands, for $(...); without its last newlines. The caller frees it. */
char *setup_capture(struct setup *s, const char *text);
/* "NAME: line N: TEXT"; counts the failure. */
void setup_error(struct setup *s, FILE *err, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
