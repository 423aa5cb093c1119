/* SPDX-License-Identifier: MIT */
/*
 * tree_state.h - inside the tree: places, kinds of files, open files
 *
 * Nothing of the tree is kept: a path is taken apart each time it is used, so
 * that events and instances may come and go.
 *
 *     path -> place { instance, system, event, cpu, option, kind } -> file_kind -> tree_file
 */
#ifndef TRACEFUSE_TRACEFS_TREE_STATE_H
#define TRACEFUSE_TRACEFS_TREE_STATE_H

#include <stdio.h>
#include "model/model.h"
#include "tracefs/tree.h"

struct tree_file;
struct show;
struct ring_consumer;
struct raw_reader;
struct ftrace_edit;

enum { TREE_NAME_MAX = 255 };

/* One kind of file. What is NULL does as the kernel: reads EINVAL, writes EINVAL. */
struct file_kind {
	const char	*name;
	mode_t		mode;
	int		(*open)(struct tree_file *f);		/* O_TRUNC clears here */
	/* the content, fixed at open */
	int		(*print)(struct tree_file *f, FILE *out);
	/* instead of print */
	ssize_t		(*read)(struct tree_file *f, char *buf, size_t size, off_t off);
	/* One write(2): returns what was taken. */
	ssize_t		(*write)(struct tree_file *f, const char *buf, size_t size);
	/* The same where it matters which task writes. Instead of write. */
	ssize_t (*write_by)(struct tree_file *f, pid_t writer, const char *buf, size_t size);
	/* A whole command without the newline, 0-terminated: 0 or -errno. Instead of write. */
	int		(*command)(struct tree_file *f, char *text);
	/*
	 * Several commands, a line each, with their newlines; text[len] is 0 and all of it may be
	 * changed. Instead of write.
	 */
	int		(*lines)(struct tree_file *f, char *text, size_t len);
	void		(*flush)(struct tree_file *f);
	void		(*release)(struct tree_file *f);
	bool		outlives;	/* can be read when its event is gone */
	bool		pipe;
	/* who waits at its end and reads on gets what came since (tail -f) */
	bool		follows;
	/* there for who knows it: the kernel's directory has none, so none is listed */
	bool		hidden;
	/* not in this directory */
	bool		(*absent)(const struct instance *inst, const struct event *e);
};

enum place_type {
	PLACE_ROOT,
	PLACE_INSTANCES,
	PLACE_OPTIONS,
	PLACE_PER_CPU,
	PLACE_CPU,
	PLACE_EVENTS,
	PLACE_STAT,
	PLACE_SYSTEM,
	PLACE_EVENT,
	PLACE_FILE,
};

struct place {
	enum place_type	type;
	enum place_type	dir;		/* of a file: what its directory is */
	struct instance	*inst;
	struct system	*system;
	struct event	*event;
	int		cpu;		/* -1: all */
	int		option;
	const struct file_kind *kind;
	const struct tree_extra *extra;
};

struct tree {
	struct model	*model;
	struct tree_extra extras[8];
	unsigned int	nr_extras;
};

struct tree_file {
	struct tree	*tree;
	struct place	at;
	int		flags;
	char		*text;		/* content, fixed when it was first read */
	size_t		len;
	bool		printed;
	int64_t		printed_ms;	/* when; CLOCK_MONOTONIC */
	char		*begun;		/* R30: what a write with a backslash at its end left */
	size_t		begun_len;
	struct ring_consumer *consumer;	/* pipes */
	struct show	*show;		/* trace_pipe */
	struct raw_reader *raw;		/* trace_raw */
	char		*pending;	/* pipes: printed, not yet read */
	size_t		pending_len, pending_off;
	bool		paused;		/* pause-on-trace */
	bool		took;		/* pipes: something was read */
	struct ftrace_edit *edit;	/* filters of functions: the copy that is written to */
};

/* ---- tree.c ---- */
/* Takes a path apart. 0, -ENOENT, -ENOTDIR, -ENAMETOOLONG */
int tree_resolve(struct tree *t, const char *path, struct place *out);
/* The tables of an instance's directory; ends with kinds NULL. */
struct root_kinds {
	const struct file_kind	*kinds;
	bool			of_top;		/* the top has them alone */
};

extern const struct root_kinds tree_root_kinds[];

/* enable and filter of a system's directory; ftrace's has none. */
bool tree_system_has_files(const struct system *sys);

/* Tables end with a kind without a name. */
extern const struct file_kind instance_kinds[], top_kinds[];		/* instance_files.c */
extern const struct file_kind buffer_kinds[], cpu_kinds[];		/* buffer_files.c */
extern const struct file_kind events_kinds[], system_kinds[], event_kinds[];	/* event_files.c */
extern const struct file_kind option_kind;
extern const struct file_kind tracer_kinds[], top_tracer_kinds[];	/* tracer_files.c */
extern const struct file_kind dynamic_kinds[];				/* dynamic_files.c */
/* trace_stat.c: of the top; of trace_stat */
extern const struct file_kind profile_kinds[], stat_kind;
/* ftrace_files.c: of an instance, of the top */
extern const struct file_kind ftrace_kinds[], ftrace_top_kinds[];

#endif
