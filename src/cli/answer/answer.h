/* SPDX-License-Identifier: MIT */
/*
 * answer.h - commands that ask one question: `tracefuse hist`, `latency`, `report`, `syscalls` ...
 *
 *     arguments -> lines of setup, the file that has the answer
 *               -> --show: printed
 *               -> a program:   `tracefuse run --setup LINES --cat FILE --draw -- PROGRAM`
 *               -> recordings:  `tracefuse replay` with the same
 *               -> a session:   the lines, a wait, the file, the lines that undo them
 *
 * An answer is what the lines give. A user who wants more goes on with them.
 */
#ifndef TRACEFUSE_CLI_ANSWER_ANSWER_H
#define TRACEFUSE_CLI_ANSWER_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/asked.h"
#include "cli/command.h"

struct access;
struct flight_asked;
struct option;
struct table;

struct answer {
	const struct command *command;
	/* The command line */
	const char	*session;	/* -s; NULL: none */
	const char	*process;	/* -p; NULL: none. `session` is its one then */
	bool		processes;	/* the command takes -p: it looks at functions */
	const char	*seconds;	/* --for; NULL: until Ctrl-C */
	const char	*condition;	/* --if; NULL: none */
	bool		show, plain, quiet;
	struct words	words;		/* before the recordings and the program */
	struct words	recordings;
	char		**program;	/* ends with NULL; NULL: none */
	/* What the command makes of it; all texts are its own */
	struct words	lines;		/* of setup */
	struct words	undo;		/* of each line; for a session, the last one first */
	char		*file;		/* "events/SYSTEM/EVENT/hist" */
	char		*own_session;	/* of -p */
	char		*apart;		/* "instances/NAME/": answer_apart(); NULL: none */
	struct words	more;		/* other files that the answer needs; constant texts */
	struct words	run_options;	/* for `tracefuse run`, besides */
	/* Prints the answer from the files. An exit status. NULL: the histogram is drawn */
	int		(*print)(const struct answer *a, struct access *access);
	/* With -s and `every`: prints what came since the last call. NULL: print, in its place */
	int		(*print_next)(const struct answer *a, struct access *access);
	/* With -s: whether the lines may be set up there. An exit status. NULL: they may */
	int		(*may)(const struct answer *a, struct access *access);
	const char	*targets;	/* what it looks at; NULL: program, recording, session */
	const char	*needs;		/* see replay_for(); NULL: nothing */
	/* Of a table (--sort, --lines) */
	const char	*sort;		/* a column's head; NULL: the command's own */
	unsigned int	nr_lines;	/* 0: all */
	const struct flight_asked *flight; /* NULL: no flight recorder */
	double		every;		/* seconds from print to print; 0: once, at the end */
	const void	*own;		/* what only the command knows */
};

/* The options that all such commands have. */
enum {
	ANSWER_SHOW = 256, ANSWER_IF, ANSWER_FOR, ANSWER_PLAIN, ANSWER_SORT, ANSWER_LINES,
	ANSWER_OWN
};

#define ANSWER_OPTIONS							\
	{ "if", required_argument, NULL, ANSWER_IF },			\
	ANSWER_COMMON

/* Of the commands that print a table */
#define ANSWER_TABLE_OPTIONS						\
	{ "sort", required_argument, NULL, ANSWER_SORT },		\
	{ "lines", required_argument, NULL, ANSWER_LINES },		\
	ANSWER_COMMON

#define ANSWER_COMMON							\
	{ "session", required_argument, NULL, 's' },			\
	{ "show", no_argument, NULL, ANSWER_SHOW },			\
	{ "for", required_argument, NULL, ANSWER_FOR },			\
	{ "plain", no_argument, NULL, ANSWER_PLAIN },			\
	{ "quiet", no_argument, NULL, 'q' }

/* Of the commands with `processes` */
#define ANSWER_PROCESS	{ "pid", required_argument, NULL, 'p' }

#define ANSWER_SHORT ":s:p:q"

/* Notes the program behind "--". -> the number of arguments before it, for getopt_long() */
int answer_begin(struct answer *a, int argc, char **argv);
/* The argument of an option: "2ms", in ns. An exit status. */
int answer_time(const struct answer *a, const char *option, const char *text, uint64_t *out);
/* The same, or seconds without a unit. */
int answer_seconds(const struct answer *a, const char *option, const char *text, uint64_t *out);
/*
 * Handles an option; then the arguments: words, and recordings. Files are these, but before a
 * program only if they begin as a recording does. These return an exit status.
 */
int answer_option(struct answer *a, int opt, char **argv);
int answer_arguments(struct answer *a, int argc, char **argv);
/* All of this for a command without options of its own. An exit status. */
int answer_parse(struct answer *a, const struct option *options, int argc, char **argv);
/* struct answer.targets of such a command. */
extern const char answer_no_recordings[];
/* A usage error if there is a recording: the command looks at programs and sessions only. */
int answer_no_recording(const struct answer *a);

/* An event as written: "SYSTEM:EVENT", also with / or . between them. */
struct answer_event {
	char		*system, *name;
};

/* An exit status. The caller frees in any case. */
int answer_event_read(const struct answer *a, const char *text, struct answer_event *out);
void answer_event_free(struct answer_event *e);

/* Adds `echo 'TEXT' >> FILE`; the same with a ! before the text undoes it. 0, -ENOMEM */
int answer_line(struct answer *a, const char *file, const char *text);
/* The same for a line that another text undoes. */
int answer_line_undone(struct answer *a, const char *file, const char *text, const char *undo);
/* Adds lines, and those that undo them: both end with a newline. 0, -ENOMEM */
int answer_text(struct answer *a, const char *lines, const char *undo);
/*
 * In a session: what follows is in an instance of the command's own, so that what others trace
 * there stays as it is. For example, a histogram with time stamps sets the clock of its instance,
 * and a clock that is set empties the buffer. name NULL: one that no other command has. 0, -ENOMEM
 */
int answer_apart(struct answer *a, const char *name);
/* Where the file of an event is: in that instance. The caller frees it. NULL: no memory */
char *answer_event_file(const struct answer *a, const char *system, const char *event,
			const char *file);
/* The same for the event's trigger. */
int answer_trigger(struct answer *a, const struct answer_event *e, const char *text);

/* Whether --sort names one of the columns. An exit status. */
int answer_table_check(const struct answer *a, const struct table *t);
/*
 * Sorts by --sort or by the column `sort`, prints and frees the table. Both NULL: it has its order.
 * An exit status.
 */
int answer_table_print(const struct answer *a, struct table *t, const char *sort);

/* Shows or runs all of it. An exit status; for a program, this may not return. */
int answer_run(struct answer *a);
/* If the status is 0, makes the lines and runs them. Frees in any case. An exit status. */
int answer_make(struct answer *a, int status, int (*lines)(struct answer *a));
void answer_free(struct answer *a);

#endif
