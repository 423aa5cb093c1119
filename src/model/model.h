/* SPDX-License-Identifier: MIT */
/*
 * model.h - the control plane: what the files of a tracing directory stand for
 *
 *     model --- system[] --- event[] --- field[]          what can happen, in all instances
 *       |                     |
 *       +---- instance[] -----+--- event_file             one event in one instance:
 *       |      buffers, options, pids                      enable, filter, triggers (event/file.h)
 *       +---- errlog, named hists, cmdlines, symbols
 *
 * One server owns one model; every function here runs under the server's
 * control lock. Functions return 0 or -errno with the kernel's errno for the
 * same command. Text is printed to a FILE (text_memory_open()).
 *
 * Never includes src/fuse, src/access or src/cli.
 */
#ifndef TRACEFUSE_MODEL_MODEL_H
#define TRACEFUSE_MODEL_MODEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "model/list.h"
#include "session/session.h"

struct ftrace;
struct ftrace_instance;
struct hit;
struct tracer;
struct errlog;
struct cmdlines;
struct dynamic_event;
struct symbols;
struct pids;

/* How filters and keys treat a field (the kernel's FILTER_*). */
enum field_kind {
	FIELD_OTHER,			/* integers and what is not known */
	FIELD_STATIC_STRING,		/* char x[N] */
	FIELD_DYN_STRING,		/* __data_loc char[] x */
	FIELD_RDYN_STRING,		/* __rel_loc char[] x */
	FIELD_PTR_STRING,		/* char *x */
	FIELD_CPUMASK,			/* __data_loc cpumask_t x */
	FIELD_STACKTRACE,		/* __data_loc unsigned long[] stack, common_stacktrace */
	FIELD_CPU,			/* the pseudo fields CPU / cpu / common_cpu of filters */
	FIELD_COMM,			/* the pseudo field comm / COMM */
};

struct field {
	char		*name;		/* "prev_pid" */
	/* "pid_t", "char[16]"; of a kernel's task names "char[TASK_COMM_LEN]" */
	char		*type;
	uint16_t	offset;
	uint16_t	size;
	uint16_t	len;		/* elements of an array, else 0 */
	bool		is_signed;
	bool		common;		/* one of the common_ fields */
	enum field_kind	kind;
};

struct event {
	struct list_head	node;		/* in system->events, in order of definition */
	struct model		*model;
	struct system		*system;
	char			*name;
	uint16_t		id;
	/* parsed from the format when first asked: event_fields() */
	unsigned int		nr_fields;
	struct field		*fields;	/* the common fields first */
	char			*format;	/* text of the file `format` */
	/* system ftrace: no enable, filter, trigger (but ftrace:print has trigger) */
	bool			internal;
	/* made after boot (synthetic, probes): listed before the others */
	bool			late;
	/* made by a command of this session (dynamic/events.h) */
	bool			dynamic;
	const struct dynamic_event *made;	/* by which; NULL when it is not dynamic */
	/* nobody finds it any more; freed with its last open file */
	bool			removed;
	unsigned int		opens;		/* open files of its directory */
	/* event probes of it: it cannot be removed (-EBUSY) */
	unsigned int		attached;
	/* of its making: its id, but ids of dynamic events are given again */
	uint64_t		order;
	struct list_head	files;		/* struct event_file, one an instance */
	config_ref		plan;		/* the published plan, 0: none */
	size_t			plan_size;
	uint64_t		saved;		/* R4 */
};

struct system {
	struct list_head	node;
	char			*name;
	struct list_head	events;
	bool			removed;
	/* open files of its directory, removed events that are open */
	unsigned int		opens;
};

/* Files whose last text a new server writes again (R4). */
enum setting {
	SETTING_TRACING_ON,
	SETTING_CLOCK,
	SETTING_BUFFER_SIZE,
	SETTING_SUBBUF_SIZE,
	SETTING_BUFFER_PERCENT,
	SETTING_CPUMASK,
	SETTING_CMDLINES_SIZE,
	SETTING_EXPANDED,
	SETTING_TRACER,
	SETTING_THRESH,
	SETTING_MAX_LATENCY,
	SETTING_GRAPH_DEPTH,
	SETTING_COUNT
};

/* A buffer as the files see it; see tracefs/ and plane/ring/ring.h. */
struct instance {
	struct list_head	node;
	struct model		*model;
	char			*name;		/* NULL: the top */
	uint32_t		index;		/* into instance_state[] */
	struct instance_state	*state;		/* in the data region */
	struct list_head	files;		/* struct event_file */
	/* hists with variables or references (model/hist/var.c) */
	struct list_head	hist_vars;
	/* bit by enum trace_option of model/instance/options.h */
	uint64_t		options;
	/* buffer_size_kb a CPU, in bytes; whole sub-buffers when they were made */
	uint64_t		*buffer_bytes;
	/* the ring has its full size (kernel's "expanded") */
	bool			expanded;
	uint32_t		subbuf_size;
	unsigned int		buffer_percent;
	unsigned int		refs;		/* open files: rmdir gives EBUSY */
	/* who has the file trace open to read: rings keep their size */
	unsigned int		readers;
	/* option pause-on-trace: readers of trace; rings take nothing meanwhile */
	unsigned int		stopped;
	/* programs report sections: the rings go on while it is stopped */
	bool			sections_live;
	/* CPUs whose trace_pipe is open, all: the instance's own */
	uint64_t		pipes[LAYOUT_MAX_CPUS / 64];
	const struct tracer	*tracer;	/* current_tracer (model/tracer.h); NULL: nop */
	void			*tracer_state;	/* the tracer's own; NULL: it has none */
	/* of it, with the instance */
	void			(*tracer_free)(struct instance *inst);
	uint64_t		tracer_options;	/* those of options.h that belong to it */
	/* The tracer's word on an option that changes; -EINVAL refuses. NULL: it does not mind */
	int			(*option_changes)(struct instance *inst, int option, bool on);
	/*
	 * The buffers were emptied, of a CPU or all (-1): so is what the tracer has of them. NULL:
	 * it has nothing
	 */
	void			(*tracer_clear)(struct instance *inst, int cpu);
	/* who has trace_pipe or trace_pipe_raw open: the tracer stays */
	unsigned int		pipe_readers;
	uint64_t		time_start;	/* when the buffer was last emptied; 0: not known */
	/* tracing_max_latency, ns; the thread that sees a longer one sets it */
	_Atomic uint64_t	max_latency;
	/* the tracer keeps sections in the other buffer: no snapshots */
	bool			max_used;
	/* the hist whose snapshot() may swap the buffers; NULL */
	const void		*snapshot_hist;
	struct errlog		*errlog;	/* each instance has its own */
	struct pids		*pids;		/* set_event_pid, NULL: none (pids.h) */
	struct pids		*no_pids;	/* set_event_notrace_pid */
	struct pids		*func_pids;	/* set_ftrace_pid */
	struct pids		*no_func_pids;	/* set_ftrace_notrace_pid */
	struct ftrace_instance	*ftrace;	/* ftrace.h; NULL: nobody asked for it */
	/* buffer_size_kb was written: a source's rings obey it too */
	bool			sized;
	uint64_t		saved;		/* R4 */
	uint64_t		settings_saved[SETTING_COUNT];
	uint64_t		*sizes_saved;	/* buffer_size_kb of one CPU */
	uint64_t		options_saved[64];
	/* order of the newest event at its creation; set when it is first needed */
	uint64_t		born;
	/* an event was removed that it may have records of */
	bool			clear;
};

/*
 * What a source that is the running kernel does for the model (sources/live/live.h). All are called
 * under the control lock.
 */
struct kernel_hooks {
	void		*arg;
	/*
	 * A plan waits for the event's hits, or none does any more. 0 for an event that is not the
	 * kernel's; -errno: the kernel refuses to enable it.
	 */
	int		(*need)(void *arg, struct event *e, bool needed);
	/* Takes in what the kernel has recorded so far. */
	void		(*barrier)(void *arg);
	/* A command has ended: what the kernel is to record besides may have changed. */
	void		(*settle)(void *arg);
	/* Records of a CPU that the kernel overwrote before they were read. */
	uint64_t	(*lost)(void *arg, uint32_t cpu);
	/* Somebody looks for a symbol of the kernel: adds all of them, once. */
	void		(*symbols)(void *arg);
};

/* One command that the server before kept (R4). */
struct restored {
	const struct saved	*saved;	/* NULL: none */
	uint64_t		id;
};

enum { MODEL_BUFFER = 1408 * 1024 };	/* bytes a CPU, as the kernel has it */

struct model {
	struct session		*session;
	struct list_head	systems;
	struct event		*by_id[LAYOUT_MAX_EVENTS];
	struct list_head	instances;	/* the top is the first */
	struct instance		*top;
	struct list_head	named_hists;	/* named triggers are global */
	struct cmdlines		*cmdlines;	/* saved_cmdlines, saved_tgids */
	struct symbols		*symbols;	/* kallsyms of the session */
	struct symbols		*strings;	/* printk_formats: texts that records point to */
	char			*release;	/* uname -r of what is traced; NULL: this machine */
	char			*printk_formats;	/* text of the file; NULL: none */
	uint32_t		nr_cpus;
	/* places in instance_state[]: when each was left, of nr_left */
	uint64_t		place_left[LAYOUT_MAX_INSTANCES];
	uint64_t		nr_left;
	uint32_t		subbuf_size;	/* default */
	uint64_t		default_buffer_bytes;	/* a CPU; the kernel's 1408 KiB */
	uint32_t		max_id;		/* highest event id */
	/* behind the ids that are taken for good: model_free_id() */
	uint32_t		first_dynamic;
	uint64_t		last_order;	/* of the newest event */
	struct list_head	dynamic_events;	/* struct dynamic_event, oldest first */
	/* functions and who traces them (ftrace.h); NULL: nobody asked for it */
	struct ftrace		*ftrace;
	/* highest id of system maple_tree, which every kernel links last; 0: unknown */
	uint32_t		last_boot_id;
	/* a CPU: what a source's rings need to hold all of it; NULL: no source */
	uint64_t		*source_bytes;
	bool			source_runs;	/* the rings of sources have that size */
	bool			restoring;	/* model_restore() gives the kept commands again */
	struct restored	restored;	/* the one that it is at: model_restored() */
	/* model_restore() runs: nothing is published before all is back */
	bool			held;
	/* model_destroy() runs: commands are not forgotten (R4) */
	bool			closing;
	/* events come from a recording or the live kernel */
	bool			imported;
	bool			of_programs;	/* events are of programs, perhaps recorded ones */
	/*
	 * Takes in what running programs have told since (sources/program/programs.h); before
	 * anything is printed. NULL: none do
	 */
	void			(*catch_up)(void *arg);
	/*
	 * The end of a command: returns when running programs do as it said, or after a limit.
	 * NULL: none do
	 */
	void			(*settle)(void *arg);
	/* Between the pieces of long work: model_step(). NULL: no programs */
	void			(*step)(void *arg);
	void			*catch_up_arg;		/* of all three */
	const struct kernel_hooks *kernel;	/* NULL: no event is of the running kernel */
	/*
	 * Whether there is a task of that number among those whose pids are listed. NULL: they are
	 * a recording's
	 */
	bool			(*task_lives)(uint32_t pid);
	bool			hist_legacy;	/* --hist-legacy */
	_Atomic uint64_t	tracing_thresh;	/* ns */
	/*
	 * A source tells it of each record that passed, in its own thread, and which instances have
	 * it (a bit each, as hit() returns). NULL: nobody wants to know. What is seen there is
	 * under watch_lock.
	 */
	void (*_Atomic observe)(struct model *m, const struct hit *h, uint64_t recorded);
	/*
	 * Commands FUNCTION:stacktrace of the top. A recording rarely has the calls that they are
	 * carried out at, but it has the stacks: sources let those pass. Relaxed on both sides, a
	 * source may notice a record later.
	 */
	_Atomic unsigned int	stack_commands;
	pthread_mutex_t		watch_lock;
	struct list_head	watchers;	/* struct latency of tracers/latency.h */
	/*
	 * Takes in the sections that running programs have reported, under the control lock. NULL:
	 * no tracer wants any
	 */
	void			(*take_sections)(struct model *m);
	int			max_graph_depth;
};

/*
 * For long work, between its pieces: processes that join meanwhile get their slots, and those that
 * have to wait for the model know that the server is at work. Nothing of the model changes. Cheap:
 * at most one in a millisecond does something.
 */
static inline void model_step(struct model *m)
{
	if (m->step)
		m->step(m->catch_up_arg);
}

/* What the running kernel has recorded until now has passed when this returns. */
static inline void model_barrier(const struct model *m)
{
	if (m->kernel)
		m->kernel->barrier(m->kernel->arg);
}

int model_create(struct session *s, struct model **out);
void model_destroy(struct model *m);

/*
 * Adds an event from the text of its `format` file (as in a trace.dat). The id
 * is the text's. -EEXIST: that id or name is there with another definition;
 * -EINVAL: not a format.
 */
int model_add_event(struct model *m, const char *system, const char *format, size_t len,
		    struct event **out);
/* The lowest from LAYOUT_OWN_IDS on that is free; LAYOUT_GROUPS_AT: there is none. */
unsigned int model_free_id(const struct model *m);
/*
 * An event that a command makes: `body` is its format behind the line
 * "format:". id 0: model_free_id(). An event of that name that came
 * with a recording gives way while nobody uses it: its records reach nobody
 * then. -EEXIST, -ENODEV (no id is left), -ENOMEM. The caller sets e->saved.
 */
int model_add_dynamic_event(struct model *m, const char *system, const char *name, const char *body,
			    unsigned int id, struct event **out);
/*
 * -EBUSY while it is enabled, has triggers in any instance or event probes.
 * Instances that may have records of it are marked: model_clear_marked().
 */
int model_remove_event(struct model *m, struct event *e);
/* Empties the instances that lost an event since (the kernel does at some commands only). */
void model_clear_marked(struct model *m);
/* Open files of an event's or a system's directory; they outlive its removal. */
void event_get(struct event *e);
void event_put(struct event *e);
void system_get(struct system *sys);
void system_put(struct system *sys);
struct system *model_find_system(struct model *m, const char *name);
struct event *model_find_event(struct model *m, const char *system, const char *name);
struct event *model_event_by_id(struct model *m, unsigned int id);

/*
 * Parses the format on the first call: 0, -ENOMEM, or -EINVAL for one that cannot be read. Where a
 * command begins, so that a field which finds no memory is not one that is not there.
 */
int event_need_fields(struct event *e);
/* Parses the format on the first call. NULL when it has no such field. Order as in the file. */
const struct field *event_fields(struct event *e, unsigned int *nr);
const struct field *event_find_field(struct event *e, const char *name);

/* Which files the event's directory has besides format, hist and hist_debug. */
bool event_has_enable(const struct event *e);	/* enable, filter */
bool event_has_trigger(const struct event *e);
bool event_has_id(const struct event *e);

/*
 * R4: one effective command, kept so that the next server can give it again.
 * `path` is relative to the instance's directory. While model_restore() gives
 * the text of that path again, the saved one stays and *id is its id.
 */
int saved_add(struct model *m, struct instance *inst, const char *path, const char *text,
		     const uint64_t *refs, unsigned int nr_refs, uint64_t *id);
/* The same in the place of what has *id, 0: nothing; that goes when the new one is there. */
int saved_replace(struct model *m, struct instance *inst, const char *path, const char *text,
			 const uint64_t *refs, unsigned int nr_refs, uint64_t *id);
/* The events come from a recording or the live kernel; before the first of them is added. */
int model_set_imported(struct model *m);

/*
 * What events/header_event of programs ends with. A recording takes it along (so do
 * trace-cmd's convert and split), and readers skip the file.
 */
#define MODEL_PROGRAMS_MARK "# events of programs: pointers are addresses\n"

/* Removes and clears *id; 0 is none. */
void saved_remove(struct model *m, uint64_t *id);
/*
 * What model_restore() gives again at the moment, when it is the command of that path (as in
 * saved_add()), of a trigger with that text; else no saved text.
 */
struct restored model_restored(const struct model *m, const struct instance *inst,
				      const char *path, const char *text);
/* Its ref number `i`, to restore; 0: it has none, or there is no saved text. */
uint64_t restored_ref(const struct restored *r, unsigned int i);

/*
 * A session whose server died (session_open(), model_create()): brings events
 * back itself and gives all else to write() in the order it was commanded,
 * with the path in the tree; a path "instances/NAME" is to be made (mkdir).
 * What write() refuses is dropped. 0 or -errno when events cannot be restored.
 */
int model_restore(struct model *m, int (*write)(void *arg, const char *path, const char *text),
		  void *arg);

/* ---- instance.c, instance/buffer.c ---- */

/* instances/NAME: -EEXIST, -EINVAL, -ENOMEM, -ENOSPC; remove: -ENOENT, -EBUSY */
int instance_create(struct model *m, const char *name, struct instance **out);
/*
 * Of a restored session, when all is taken over: what nobody has taken is forgotten before it is
 * freed.
 */
void instances_restored(struct model *m);
int instance_remove(struct instance *inst);
struct instance *instance_find(struct model *m, const char *name);

/* Records the text last written to a file of the instance, for the next server (R4). */
int instance_save(struct instance *inst, enum setting what, const char *path, const char *text);

/* The same for buffer_size_kb of a CPU, or of all (-1), which is the last word for each CPU. */
int instance_save_size(struct instance *inst, int cpu, const char *kb);

/* The buffer that records (0), or the snapshot (1); 0: not there. */
data_ref instance_buffer(const struct instance *inst, int snapshot);
/* By enum clock_id, as trace_clock lists them; CLOCK_ID_COUNT: there is none of that name. */
extern const char *const clock_names[CLOCK_ID_COUNT];
uint32_t clock_find(const char *name);
/* The number of the instance's. */
uint32_t instance_clock(const struct instance *inst);
bool instance_clock_in_ns(const struct instance *inst);
/* Empties the buffers, for time stamps of two clocks do not compare. */
void instance_set_clock(struct instance *inst, uint32_t id);

/* Number 0 or 1, whichever records. */
data_ref instance_buffer_at(const struct instance *inst, uint32_t which);
/* Before the first event is enabled: gives the rings their full size. */
int instance_expand(struct instance *inst);
/* buffer_size_kb: bytes for one CPU, or for all (-1), rounded up to sub-buffers. -EBUSY, -ENOMEM */
int instance_resize(struct instance *inst, int cpu, uint64_t bytes);
/* The rings that the top has until it is expanded. 0, -ENOMEM */
int instance_start_small(struct instance *inst);
int instance_set_subbuf_size(struct instance *inst, uint32_t bytes);
/* Empties live and snapshot buffer. */
void instance_clear(struct instance *inst);
/*
 * The live buffer was emptied: the times of latency-format count from now. Not those of a
 * recording.
 */
void instance_restart_time(struct instance *inst);
/* snapshot = 1 / 0 / other. cpu -1: all. */
int instance_snapshot_alloc(struct instance *inst);
void instance_snapshot_free(struct instance *inst);
int instance_snapshot_take(struct instance *inst, int cpu);
/* tracing_cpumask was changed in state->cpumask. */
void instance_cpumask_changed(struct instance *inst);
/*
 * The rings take nothing until each instance_stop() has its instance_go_on(); tracing_on is as it
 * was. Where programs report sections (sections_live) they report none instead, and the rings go
 * on.
 */
void instance_stop(struct instance *inst);
void instance_go_on(struct instance *inst);
/*
 * A source is about to run: the rings of sources hold all of it, unless buffer_size_kb was written.
 */
int model_source_rings(struct model *m);

#endif
