/* SPDX-License-Identifier: MIT */
/*
 * tree_state.h - private to this folder: places, kinds of files, open files
 *
 * The tree has no nodes in memory. A path is parsed each time it is used, so events and instances
 * may be added and removed at any time.
 *
 *     path -> place { instance, system, event, cpu, option, kind } -> file_kind -> tree_file
 */
#ifndef TRACEFUSE_TRACEFS_TREE_STATE_H
#define TRACEFUSE_TRACEFS_TREE_STATE_H

#include <stdio.h>
#include "model/model.h"
#include "model/pieces.h"
#include "tracefs/printer.h"
#include "tracefs/tree.h"

struct tree_file;
struct show;
struct ring_consumer;
struct raw_reader;
struct ring_drain;
struct ftrace_edit;

enum { TREE_NAME_MAX = 255 };

/*
 * One kind of file. If a function is NULL, the read or write fails with EINVAL, as in the kernel.
 */
struct file_kind {
	const char	*name;
	mode_t		mode;
	int		(*open)(struct tree_file *f);		/* O_TRUNC takes effect here */
	/* Prints the content. */
	int		(*print)(struct tree_file *f, FILE *out);
	/*
	 * Instead of print, if the tree has printers and the text may be long. Prints all and
	 * returns 0, or prints the beginning and returns 1, or -errno. After 1, rest() prints what
	 * follows in another process (NULL: print() does), and end() frees here what begin() made.
	 */
	int		(*begin)(struct tree_file *f, FILE *out);
	int		(*rest)(struct tree_file *f, FILE *out);
	void		(*end)(struct tree_file *f);
	/* Instead of print. */
	ssize_t		(*read)(struct tree_file *f, char *buf, size_t size, off_t off);
	/* One write(2). Returns how many bytes were taken. */
	ssize_t		(*write)(struct tree_file *f, const char *buf, size_t size);
	/*
	 * Before a write, if its writer can wait: does a piece of what would take long in it. True:
	 * to be called again, after others had their turn.
	 */
	bool		(*prepare)(struct tree_file *f, const char *buf, size_t size);
	/*
	 * Before a write of lines, also of a writer that waits for nobody: has the files read that
	 * they name, in a process of its own. The text is that of lines(). True: as above.
	 */
	bool		(*look)(struct tree_file *f, const char *text, size_t len);
	/* Instead of write, if it matters which task writes. */
	ssize_t (*write_by)(struct tree_file *f, pid_t writer, const char *buf, size_t size);
	/* Instead of write: one whole command without its newline, 0-terminated. 0 or -errno. */
	int		(*command)(struct tree_file *f, char *text);
	/*
	 * Instead of write: several commands, one a line, with their newlines. text[len] is 0; the
	 * function may change the text.
	 */
	int		(*lines)(struct tree_file *f, char *text, size_t len);
	void		(*flush)(struct tree_file *f);
	void		(*release)(struct tree_file *f);
	/* What poll(2) would return now; it changes nothing. NULL: it never waits */
	unsigned int	(*poll)(struct tree_file *f);
	/* poll(2) has returned that. NULL: that changes nothing */
	void		(*polled)(struct tree_file *f);
	bool		outlives;	/* can be read after its event or instance is removed */
	bool		instance_may_go;	/* be removed while the file is open */
	bool		pipe;
	bool		raw;		/* each read takes a sub-buffer */
	bool		stream;		/* without an offset, though neither pipe nor raw */
	bool		endless;	/* struct tree_stat */
	bool		once;		/* a read that does not begin at the start gets nothing */
	bool		fits;		/* a read that has no room for all and one byte is EINVAL */
	/*
	 * For begin(): the memory that the text is made of stays while the file is open, or is the
	 * server's own, of which the printer has a copy
	 */
	bool		stays;
	bool		whole;		/* struct printer_text */
	/* A reader at its end that reads again gets the new text (tail -f). */
	bool		follows;
	/* It can be opened but is not listed, because the kernel has no such file. */
	bool		hidden;
	/* True: the file is not in this directory. */
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
	enum place_type	dir;		/* of a file: the type of its directory */
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
	struct printers	*printers;	/* NULL: this thread prints all texts */
	struct list_head held;		/* files that hold the session's memory */
};

struct tree_file {
	struct tree	*tree;
	struct place	at;
	int		flags;
	char		*text;		/* the content as of the first read */
	size_t		len;
	bool		printed;
	int64_t		printed_ms;	/* time of that, by CLOCK_MONOTONIC */
	struct printer	*printer;	/* instead of `text`, which is then NULL */
	bool		ended;		/* the reader of the printer was at the end */
	bool		held;		/* the session's memory: session_hold() */
	struct list_head held_node;	/* in tree->held, then */
	bool		following;	/* the next text is to follow `body`, at this offset: */
	off_t		follow_at;
	struct printer_body body;
	/*
	 * For a write: how far it is, if it may be carried out in pieces and return -EINPROGRESS;
	 * else NULL
	 */
	struct pieces	*pieces;
	struct pieces	work;		/* of the write that goes on */
	bool		goes_on;	/* it has begun, and has not ended */
	char		*begun;		/* R30: the text of writes that ended in a backslash */
	size_t		begun_len;
	struct ring_consumer *consumer;	/* pipes */
	struct show	*show;		/* trace_pipe */
	struct raw_reader *raw;		/* trace_raw */
	struct ring_drain *drain;	/* trace_pages; of which instance: */
	uint64_t	drain_of;
	bool		drains;		/* it has got pages */
	char		*pending;	/* pipes: printed, not yet read */
	size_t		pending_len, pending_off;
	size_t		pending_last;	/* trace_pipe: where its last record begins */
	/* hist: its hits as counted last, at the last read, at the last call */
	uint64_t	hits, hits_read, hits_seen;
	int64_t		hits_wait;	/* not counted again before that time, as printed_ms; 0 */
	bool		paused;		/* pause-on-trace */
	bool		took;		/* pipes: something was read */
	struct ftrace_edit *edit;	/* filters of functions: the copy that writes change */
	struct file_look *look;		/* dynamic_files.c; NULL: nothing was looked for */
};

/* ---- long_text.c ---- */
/* For begin(): the printer prints all of the text. */
int long_text_all(struct tree_file *f, FILE *out);
/* The beginning of the text is in f->text. A printer makes it all. 0 or -errno */
int long_text_start(struct tree_file *f);
/* Frees here what begin() made. */
void long_text_begun(struct tree_file *f);
/* As tree_read(). -ESPIPE: the text has to be made again. */
ssize_t long_text_read(struct tree_file *f, char *buf, size_t size, off_t off);
void long_text_end(struct tree_file *f);
/* Lets the session's memory go that no printer reads any more. */
void long_text_tend(struct tree *t);
/* Returns the offset behind the lines of a text's header. */
size_t text_body(const char *text, size_t len);

/* ---- buffer_files.c ---- */
/*
 * As prepare() of a file whose commands make the snapshot buffer if they have this word. A command
 * that has it for another reason gives the memory back (session_data_prepare()).
 */
bool buffer_files_prepare(struct tree_file *f, const char *buf, size_t size, const char *word);

/* ---- tree.c ---- */
/* Prints the file's content into f->text, or starts a printer. 0 or -errno */
int tree_print(struct tree_file *f);
enum { FOLLOW_MS = 100 };

/* Parses a path. 0, -ENOENT, -ENOTDIR, -ENAMETOOLONG */
int tree_resolve(struct tree *t, const char *path, struct place *out);
/* The tables of an instance's directory; ends with kinds NULL. */
struct root_kinds {
	const struct file_kind	*kinds;
	bool			of_top;		/* only the top instance has them */
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
/* trace_stat.c: for the top; for trace_stat/ */
extern const struct file_kind profile_kinds[], profile_instance_kinds[];
extern const struct file_kind stat_kind, stat_all_kind;
extern const struct file_kind stack_kinds[];				/* stack_files.c */
extern const struct file_kind drain_kinds[];				/* drain_files.c */
/* ftrace_files.c: for an instance; for the top */
extern const struct file_kind ftrace_kinds[], ftrace_top_kinds[];

#endif
