/* SPDX-License-Identifier: MIT */
/*
 * model.h - the model, which is the control plane: what the files of a tracing directory mean
 *
 *     model --- system[] --- event[] --- field[]          what can happen, for all instances
 *       |                     |
 *       +---- instance[] -----+--- event_file             one event in one instance:
 *       |      buffers, options, pids                      enable, filter, triggers (event/file.h)
 *       +---- errlog, named hists, cmdlines, symbols
 *
 * One server owns one model. Every function here runs under the server's control lock. Functions
 * return 0 or -errno, the kernel's errno for the same command. Text is printed to a FILE
 * (text_memory_open()).
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
#include "model/lookup.h"
#include "session/session.h"

struct ftrace;
struct ftrace_instance;
struct hit;
struct tracer;
struct errlog;
struct cmdlines;
struct dynamic_event;
struct debug_kept;
struct elf_functions;
struct uprobe_files;
struct symbols;
struct pids;

/* How filters and keys treat a field (the kernel's FILTER_*). */
enum field_kind {
	FIELD_OTHER,			/* integers, and types that are not known */
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
	/* "pid_t", "char[16]"; for a task's name in a kernel "char[TASK_COMM_LEN]" */
	char		*type;
	uint16_t	offset;
	uint16_t	size;
	uint16_t	len;		/* elements of an array, else 0 */
	bool		is_signed;
	bool		common;		/* one of the common_ fields */
	enum field_kind	kind;
};

/* Numbers of system calls: this machine's; those of arm64, riscv64, loongarch64; others */
enum model_calls { CALLS_X86_64, CALLS_GENERIC, CALLS_UNKNOWN };

struct traced_machine {
	uint8_t		long_size;	/* bytes of a long: 8, or 4 for a recording of 32 bits */
	uint8_t		calls;		/* enum model_calls */
};

struct event {
	struct list_head	node;		/* in system->events, in order of definition */
	struct lookup_node	named;		/* in model->named_events */
	struct list_head	made_node;	/* in model->made_events, if it is dynamic */
	struct model		*model;
	struct system		*system;
	char			*name;
	uint16_t		id;
	/* Parsed from the format at the first use: event_fields() */
	unsigned int		nr_fields;
	struct field		*fields;	/* the common fields first */
	/* Those of the format before, which filters and triggers may refer to; NULL: none */
	struct field		*old_fields;
	unsigned int		nr_old_fields;
	char			*format;	/* text of the file `format` */
	/* Of system ftrace: it has no enable, filter and trigger (but ftrace:print has trigger) */
	bool			internal;
	/* Made after boot (synthetic, probes): listed before the others */
	bool			late;
	/* It became late: before, nobody knew that it might be removed */
	bool			became_late;
	/* A command of this session made it (dynamic/events.h) */
	bool			dynamic;
	const struct dynamic_event *made;	/* that event; NULL if it is not dynamic */
	/* It can no longer be found; freed with its last open file */
	bool			removed;
	unsigned int		opens;		/* how many files of its directory are open */
	/* How many event probes it has: then it cannot be removed (-EBUSY) */
	unsigned int		attached;
	/* Grows with each event. It is like an id, but ids of dynamic events are used again */
	uint64_t		order;
	struct traced_machine	machine;	/* that has recorded it */
	struct list_head	modules;	/* The objects that bring it: event/module.h */
	struct list_head	files;		/* struct event_file, one for each instance */
	config_ref		plan;		/* the published plan, 0: none */
	size_t			plan_size;
	bool			merge_changed;	/* R28: hist/merge.h */
	/* 1 + model.nr_settled, when a command armed it last, also if it was armed already */
	uint64_t		asked;
	uint64_t		saved;		/* R4 */
};

struct system {
	struct list_head	node;
	struct lookup_node	named;		/* in model->named_systems */
	char			*name;
	struct list_head	events;
	bool			removed;
	/* Open files of its directory, and removed events that are open */
	unsigned int		opens;
};

/* The files whose last text a new server writes again (R4). */
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
	uint64_t		number;		/* of this model; no other one gets it */
	uint32_t		index;		/* its index in instance_state[] */
	struct instance_state	*state;		/* in the data region */
	struct list_head	files;		/* struct event_file */
	/* What set_event has enabled of objects (event/module.h) */
	struct list_head	choices;
	/* Hists with variables or references (model/hist/var.c) */
	struct list_head	hist_vars;
	/* A bit for each enum trace_option of model/instance/options.h */
	uint64_t		options;
	/*
	 * buffer_size_kb of each CPU, in bytes; rounded up to whole sub-buffers when they were made
	 */
	uint64_t		*buffer_bytes;
	/* The ring has its full size ("expanded" in the kernel) */
	bool			expanded;
	uint32_t		subbuf_size;
	unsigned int		buffer_percent;
	/* How many of its files are open: rmdir gives EBUSY */
	unsigned int		refs;
	/* How many are open that rmdir does not mind: the last one frees what was removed */
	unsigned int		holds;
	bool			removed;
	/* How many readers have the file trace open: rings keep their size */
	unsigned int		readers;
	/* How many have the file trace_pages open and got pages: these keep their size */
	unsigned int		drainers;
	/* Option pause-on-trace: readers of trace; meanwhile rings take no records */
	unsigned int		stopped;
	/* Programs report sections: the rings take records while the instance is stopped */
	bool			sections_live;
	/* The CPUs whose trace_pipe is open; all CPUs: trace_pipe of the instance is open */
	uint64_t		pipes[LAYOUT_MAX_CPUS / 64];
	const struct tracer	*tracer;	/* current_tracer (model/tracer.h); NULL: nop */
	void			*tracer_state;	/* private to the tracer; NULL: it has none */
	/* Frees tracer_state, when the instance is removed */
	void			(*tracer_free)(struct instance *inst);
	uint64_t		tracer_options;	/* the options of options.h that belong to it */
	/* Asks the tracer about an option that changes; -EINVAL refuses. NULL: it accepts all */
	int			(*option_changes)(struct instance *inst, int option, bool on);
	/*
	 * The buffers of a CPU, or of all (-1), were emptied: the tracer drops its records of them,
	 * too. NULL: it has none
	 */
	void			(*tracer_clear)(struct instance *inst, int cpu);
	/* How many have trace_pipe or trace_pipe_raw open: the tracer cannot be changed */
	unsigned int		pipe_readers;
	unsigned int		raw_readers;	/* who has the file trace_raw open */
	uint64_t		time_start;	/* When the buffer was last emptied; 0: unknown */
	/* tracing_max_latency, ns. The thread that has a longer section sets it */
	_Atomic uint64_t	max_latency;
	/* The tracer keeps sections in the other buffer: no snapshots */
	bool			max_used;
	/* The hist whose snapshot() may swap the buffers; NULL: none */
	const void		*snapshot_hist;
	struct errlog		*errlog;	/* each instance has its own */
	struct pids		*pids;		/* set_event_pid, NULL: none (pids.h) */
	struct pids		*no_pids;	/* set_event_notrace_pid */
	struct pids		*func_pids;	/* set_ftrace_pid */
	struct pids		*no_func_pids;	/* set_ftrace_notrace_pid */
	struct ftrace_instance	*ftrace;	/* ftrace.h; NULL: not used so far */
	/* buffer_size_kb was written: a source's rings obey it, too */
	bool			sized;
	uint64_t		saved;		/* R4 */
	uint64_t		settings_saved[SETTING_COUNT];
	uint64_t		*sizes_saved;	/* for buffer_size_kb of one CPU */
	uint64_t		options_saved[64];
	/* The order of the newest event when it was created; set when it is first needed */
	uint64_t		born;
	/* An event was removed, and the instance may have records of it */
	bool			clear;
};

struct ftrace_change;

/*
 * What the running kernel, as a source, does for the model (sources/live/live.h). All are called
 * under the control lock.
 */
struct kernel_hooks {
	void		*arg;
	/*
	 * A plan needs the event's hits, or none does any more. 0 for an event that is not the
	 * kernel's; -errno: the kernel refuses to enable it.
	 */
	int		(*need)(void *arg, struct event *e, bool needed);
	/*
	 * A latency tracer looks at the event's records as they pass, or no more; as often on as
	 * off.
	 */
	void		(*watch)(void *arg, struct event *e, bool on);
	/* Takes in what the kernel has recorded so far. */
	void		(*barrier)(void *arg);
	/* Until `on` is false again, no record passes. */
	void		(*hold)(void *arg, bool on);
	/* A command has ended: what else the kernel has to record may have changed. */
	void		(*settle)(void *arg);
	/* How many records of a CPU the kernel overwrote before they were read. */
	uint64_t	(*lost)(void *arg, uint32_t cpu);
	/* A symbol of the kernel is looked for: adds all symbols, once. */
	void		(*symbols)(void *arg);
	/*
	 * Other ops trace these sites than before; list NULL: any site, or settings of the graph
	 * tracer have changed. Where the kernel refuses it, ftrace->kernel_err says so.
	 */
	void		(*functions)(void *arg, const struct ftrace_change *list, size_t nr);
	/* Why the kernel's functions cannot be traced; NULL: they can. */
	const char	*no_functions;
};

/* One command that the last server saved (R4). */
struct restored {
	const struct saved	*saved;	/* NULL: none */
	uint64_t		id;
};

enum { MODEL_BUFFER = 1408 * 1024 };	/* bytes for each CPU, as in the kernel */
/* Events whose probes changed since programs were told; after more, all are looked at. */
enum { MODEL_STALE_EVENTS = 64 };
enum { MODEL_MERGE_DELAY_MS = 100 };	/* R28, if nothing else is asked */

struct model {
	struct session		*session;
	struct list_head	systems;
	struct lookup		named_systems, named_events;	/* by their names */
	struct event		*by_id[LAYOUT_MAX_EVENTS];
	struct list_head	instances;	/* The top instance is the first */
	struct instance		*top;
	uint64_t		instances_made;
	struct list_head	named_hists;	/* The names of triggers are global */
	struct cmdlines		*cmdlines;	/* saved_cmdlines, saved_tgids */
	struct symbols		*symbols;	/* the session's kallsyms */
	struct symbols		*strings;	/* Printk_formats: texts that records point to */
	char			*release;	/* uname -r of the traced machine; NULL: this one */
	char			*printk_formats;	/* text of the file; NULL: none */
	uint32_t		nr_cpus;
	/* The places in instance_state[]: when each was left, of nr_left */
	uint64_t		place_left[LAYOUT_MAX_INSTANCES];
	uint64_t		nr_left;
	uint32_t		subbuf_size;	/* the default */
	uint64_t		default_buffer_bytes;	/* For each CPU; the kernel's is 1408 KiB */
	uint32_t		max_id;		/* highest event id */
	/* The first id behind those that are never given again: model_free_id() */
	uint32_t		first_dynamic;
	uint32_t		first_free;	/* no id from first_dynamic to here is free */
	uint64_t		last_order;	/* that of the newest event */
	uint64_t		events_made;	/* how many there ever were */
	struct list_head	dynamic_events;	/* struct dynamic_event, oldest first */
	struct lookup		dynamic_names;	/* the same, by the names of their events */
	struct lookup		places;		/* struct probe_place (dynamic/place.h) */
	struct elf_functions	*functions;	/* elf/file.h: of the last PATH:SYMBOL */
	struct debug_kept	*prototypes;	/* debug/prototype.h: of the last $argN */
	/*
	 * While commands run: what another process has found in the files that they name, or where
	 * this process prints it (dynamic/uprobe_file.h). NULL: commands look themselves
	 */
	struct uprobe_files	*files;
	struct list_head	made_events;	/* Dynamic struct event, in order of `order` */
	/* Functions, and which ops trace them (ftrace.h); NULL: not used so far */
	struct ftrace		*ftrace;
	/* The highest id of system maple_tree, which every kernel links last; 0: unknown */
	uint32_t		last_boot_id;
	/*
	 * For each CPU: the bytes that a source's rings need for all its records; NULL: no source
	 */
	uint64_t		*source_bytes;
	bool			source_runs;	/* The rings of sources have that size */
	bool			restoring;	/* model_restore() gives the saved commands again */
	struct restored	restored;	/* The command that it gives now: model_restored() */
	/* model_restore() is running: nothing is published before everything is restored */
	bool			held;
	/* model_destroy() is running: saved commands stay (R4) */
	bool			closing;
	/* The events come from a recording or the live kernel */
	bool			imported;
	/* The events are of programs, or of a recording of programs */
	bool			of_programs;
	struct traced_machine	machine;	/* of events that are added now */
	/*
	 * Takes in what running programs have reported since (sources/program/programs.h). Called
	 * before anything is printed. NULL: there are no programs
	 */
	void			(*catch_up)(void *arg);
	/*
	 * An event was armed, or is no longer, or probes were made or removed: running programs may
	 * have other probes to plant
	 */
	bool			probes_stale;
	/* The same of events alone, of all or of these: model_probes_stale() */
	bool			events_stale;
	uint16_t		stale_events[MODEL_STALE_EVENTS];
	unsigned int		nr_stale_events;
	uint64_t		nr_places_made;		/* probe_place.order */
	/*
	 * Called at the end of a command, with 0. Returns 0 when running programs have carried it
	 * out, or after a limit. Another number: a file is read first. Then it is to be called
	 * again, with that number, until it returns 0. NULL: there are no programs
	 */
	uint64_t		(*settle)(void *arg, uint64_t until);
	uint64_t		nr_settled;	/* commands that it was called for */
	/* Called between the pieces of long work: model_step(). NULL: no programs */
	void			(*step)(void *arg);
	/* The parameters of a program's function; NULL: not known. NULL itself: no programs */
	const struct parameters	*(*parameters)(void *arg, uint64_t func);
	/*
	 * Writes syscall_user_buf_size: the records of sys_enter_X get that many bytes of each
	 * text. Their formats are those of Linux 6.19 from then on. 0, -ENOMEM. NULL: no programs
	 */
	int			(*set_call_texts)(void *arg, uint32_t bytes);
	uint32_t		call_texts;	/* what was written last; 0: no texts */
	/* sys_enter_openat has a text, so system calls are printed as Linux does since 6.19 */
	bool			calls_have_texts;
	void			*catch_up_arg;		/* the argument of all five */
	/* Whether the recording has a record of the event. NULL: there is none, or not yet */
	bool			(*has_records)(void *arg, uint32_t id);
	void			*recording;		/* its argument */
	const struct kernel_hooks *kernel;	/* NULL: no event is of the running kernel */
	/* The running kernel is a source, or will be again when the session is restored */
	bool			has_kernel;
	/*
	 * R28: the place in instance_state[] whose ring has the staged hits, 0: there is none yet.
	 * A source's thread reads it
	 */
	_Atomic uint32_t	staging;
	uint64_t		staging_saved;	/* R4 */
	/* What the next server has to know of the kernel's events (sources/live/book.c). 0: none */
	config_ref		live_book;
	unsigned int		merge_delay_ms;	/* merged triggers run at most so much later */
	/* `run --function`: the functions of the running kernel are not the session's */
	bool			without_kernel_functions;
	unsigned int		nr_merged;	/* how many triggers run merged */
	bool			merge_stale;	/* some turned: merge_publish() */
	unsigned int		nr_turned;	/* how many turned so while variables were set */
	/*
	 * Whether there is a task of that number among the tasks whose pids are listed. NULL: the
	 * tasks are those of a recording
	 */
	bool			(*task_lives)(uint32_t pid);
	bool			hist_legacy;	/* --hist-legacy */
	_Atomic uint64_t	tracing_thresh;	/* ns */
	/*
	 * A source calls it in its own thread for each record, with the instances that have the
	 * record (a bit each, as hit() returns). NULL: not needed. watch_lock guards what it uses.
	 */
	void (*_Atomic observe)(struct model *m, const struct hit *h, uint64_t recorded);
	/*
	 * How many commands FUNCTION:stacktrace the top has. A recording rarely has the calls at
	 * which they are carried out, but it has the stacks: sources then pass these on. Relaxed on
	 * both sides: a source may notice a change one record later.
	 */
	_Atomic unsigned int	stack_commands;
	pthread_mutex_t		watch_lock;
	struct list_head	watchers;	/* struct latency of tracers/latency.h */
	/*
	 * Takes in the sections that running programs have reported, under the control lock. NULL:
	 * no tracer needs them
	 */
	void			(*take_sections)(struct model *m);
	/* An event that became late is removed. NULL: nobody has to know */
	void			(*event_goes)(void *arg, const struct event *e);
	void			*event_goes_arg;
	int			max_graph_depth;
};

/*
 * Called between the pieces of long work: processes that join meanwhile get their slots, and
 * processes that have to wait for the model see that the server is at work. It does not change the
 * model. It is cheap: at most one call in a millisecond does anything.
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

/* The entry of a function whose record has the address that it returns to, since Linux 6.13 */
#define GRAPH_RETADDR_ENTRY "fgraph_retaddr_entry"

int model_create(struct session *s, struct model **out);
void model_destroy(struct model *m);

/*
 * Adds an event from the text of its `format` file (as in a trace.dat), with the id in the text.
 * -EEXIST: the id or the name is there with another definition; -EINVAL: it is no format.
 */
int model_add_event(struct model *m, const char *system, const char *format, size_t len,
		    struct event **out);
/* The lowest free id from LAYOUT_OWN_IDS on. LAYOUT_GROUPS_AT: there is none. */
unsigned int model_free_id(struct model *m);
/*
 * Adds an event that a command makes. `body` is its format behind the line "format:". id 0:
 * model_free_id(). An unused event of that name that came with a recording is replaced; its records
 * are then passed to no instance. -EEXIST, -ENODEV (no id is left), -ENOMEM. The caller saves the
 * command.
 */
int model_add_dynamic_event(struct model *m, const char *system, const char *name, const char *body,
			    unsigned int id, struct event **out);
/*
 * An event that came with a recording, and that a command may make its own: "SYSTEM:NAME" was made
 * by a command on the traced machine, too. NULL: there is none.
 */
struct event *model_recorded_event(struct model *m, const char *system, const char *name);
/* A command has defined that event again: it is the newest dynamic event now. Returns it. */
struct event *model_take_recorded_event(struct event *e);
/*
 * -EBUSY: it is enabled, or has triggers in some instance, or event probes. Instances that may have
 * records of it are marked: model_clear_marked().
 */
int model_remove_event(struct model *m, struct event *e);
/*
 * Empties the instances that have lost an event since (the kernel does that at some commands only).
 */
void model_clear_marked(struct model *m);
/* Count open files of the directory of an event or a system. These outlive its removal. */
void event_get(struct event *e);
void event_put(struct event *e);
void system_get(struct system *sys);
void system_put(struct system *sys);
struct system *model_find_system(struct model *m, const char *name);
struct event *model_find_event(struct model *m, const char *system, const char *name);
struct event *model_event_by_id(struct model *m, unsigned int id);
/* Running programs may have other probes of this event to plant. */
void model_probes_stale(struct event *e);
/* The command that is carried out arms the event. It waits for the event's probes (settle). */
void model_event_asked(struct event *e);
bool model_event_is_asked(const struct event *e);
/* A command makes the event, or has made it its own; off: no longer. */
void event_set_dynamic(struct event *e, bool on);

/*
 * Parses the format at the first call: 0, -ENOMEM, or -EINVAL: it cannot be parsed. Called where a
 * command begins, so that a lack of memory is not reported as a missing field.
 */
int event_need_fields(struct event *e);
/*
 * Both parse the format at the first call. NULL: that failed, or there is no such field. The order
 * is that of the file.
 */
const struct field *event_fields(struct event *e, unsigned int *nr);
const struct field *event_find_field(struct event *e, const char *name);
bool field_is_text(const struct field *f);

/* Which files the event's directory has besides format, hist and hist_debug. */
bool event_has_enable(const struct event *e);	/* enable, filter */
bool event_has_trigger(const struct event *e);
bool event_has_id(const struct event *e);

/*
 * R4: saves an effective command, so that the next server can give it again. `path` is relative to
 * the instance's directory. While model_restore() gives the text of that path again, its saved text
 * stays and *id is the id of that.
 */
int saved_add(struct model *m, struct instance *inst, const char *path, const char *text,
		     const uint64_t *refs, unsigned int nr_refs, uint64_t *id);
/*
 * The same, in the place of the saved text *id (0: none), which is removed when the new one is
 * there.
 */
int saved_replace(struct model *m, struct instance *inst, const char *path, const char *text,
			 const uint64_t *refs, unsigned int nr_refs, uint64_t *id);
/* The events come from a recording or the live kernel. Called before the first of them is added. */
int model_set_imported(struct model *m);

/*
 * The end of events/header_event for programs. A recording keeps it (so do trace-cmd's convert and
 * split), and readers skip that file.
 */
#define MODEL_PROGRAMS_MARK "# events of programs: pointers are addresses\n"

/* Removes the saved text and clears *id; 0 is none. */
void saved_remove(struct model *m, uint64_t *id);
/*
 * Behind a change for which *id was saved beside `old`: removes one of the two. err: the change
 * failed, and *id is `old` again. A restored text that is refused stays for the next server:
 * perhaps only memory was missing.
 */
void saved_settle(struct model *m, uint64_t *id, uint64_t old, int err);
/*
 * The saved text that model_restore() gives again at the moment, if it is the command of that path
 * (as in saved_add()) and, for a trigger, has that text. Otherwise it has no saved text.
 */
struct restored model_restored(const struct model *m, const struct instance *inst,
				      const char *path, const char *text);
/* The ref number `i`, to restore. 0: it has none, or there is no saved text. */
uint64_t restored_ref(const struct restored *r, unsigned int i);

/*
 * For a session whose server died (session_open(), model_create()): restores the events itself. It
 * gives all other commands to write() in their order, with their paths in the tree; a path
 * "instances/NAME" has to be made (mkdir). A command that write() refuses is dropped. 0, or -errno:
 * the events cannot be restored.
 */
int model_restore(struct model *m, int (*write)(void *arg, const char *path, const char *text),
		  void *arg);

/* Whether the running kernel makes the event's hits. */
bool event_is_kernels(const struct event *e);

/* ---- instance.c, instance/buffer.c ---- */

/* instances/NAME: -EEXIST, -EINVAL, -ENOMEM, -ENOSPC; remove: -ENOENT, -EBUSY */
int instance_create(struct model *m, const char *name, struct instance **out);
/* The memory of an instance that is removed stays until it is put as often as it was got. */
void instance_get(struct instance *inst);
void instance_put(struct instance *inst);
/*
 * For a restored session, when everything is taken over: instances that were not taken over are
 * forgotten before their memory is freed.
 */
void instances_restored(struct model *m);
int instance_remove(struct instance *inst);
struct instance *instance_find(struct model *m, const char *name);

/*
 * R28: makes the place and the ring of staged hits, if there is none yet: m->staging. No file shows
 * it. 0, -ENOMEM, -ENOSPC
 */
int instance_make_staging(struct model *m);
/* R4: the staged hits of a server that died. 0, or -errno: there are none to take over */
int instance_restore_staging(struct model *m, const struct restored *r);
/* The running kernel is no source any more. */
void instance_drop_staging(struct model *m);
/* What merged triggers make has rings of its own: only so are its times in order. 0, -ENOMEM */
int model_merged_rings(struct model *m);
/* Bytes of its ring, for each CPU and each of programs and the kernel */
enum { STAGING_BYTES = 4 << 20 };
#define STAGING_SAVED "#staging"

/* Saves the text last written to a file of the instance, for the next server (R4). */
int instance_save(struct instance *inst, enum setting what, const char *path, const char *text);

/*
 * The same for a change that can fail behind it: instance_save_end() has to follow, with the
 * change's result. That is returned. If it is an error, the old text is the saved one again.
 */
int instance_save_begin(struct instance *inst, enum setting what, const char *path,
			const char *text, uint64_t *old);
int instance_save_end(struct instance *inst, enum setting what, uint64_t old, int err);

/* The same for buffer_size_kb of a CPU, or of all (-1), which then holds for each CPU. */
int instance_save_size_begin(struct instance *inst, int cpu, const char *kb, uint64_t *old);
int instance_save_size_end(struct instance *inst, int cpu, uint64_t old, int err);

/* The buffer that records (0), or the snapshot (1). 0: there is none. */
data_ref instance_buffer(const struct instance *inst, int snapshot);
/* By enum clock_id, in the order of trace_clock. CLOCK_ID_COUNT: there is no clock of that name. */
extern const char *const clock_names[CLOCK_ID_COUNT];
uint32_t clock_find(const char *name);
/* The number of the instance's clock. */
uint32_t instance_clock(const struct instance *inst);
bool instance_clock_in_ns(const struct instance *inst);
/* Also empties the buffers, because times of two clocks cannot be compared. */
void instance_set_clock(struct instance *inst, uint32_t id);

/* Buffer number 0 or 1, whichever records. */
data_ref instance_buffer_at(const struct instance *inst, uint32_t which);
/* Called before the first event is enabled: gives the rings their full size. */
int instance_expand(struct instance *inst);
/* buffer_size_kb: bytes for one CPU, or for all (-1), rounded up to sub-buffers. -EBUSY, -ENOMEM */
int instance_resize(struct instance *inst, int cpu, uint64_t bytes);
/* Before it: prepares memory for it, piece by piece (session_data_prepare()). True: again */
bool instance_resize_prepare(const struct instance *inst, int cpu, uint64_t bytes);
/* Makes the small rings that the top has until it is expanded. 0, -ENOMEM */
int instance_start_small(struct instance *inst);
int instance_set_subbuf_size(struct instance *inst, uint32_t bytes);
/* Before it, as instance_resize_prepare(). */
bool instance_subbuf_prepare(const struct instance *inst, uint32_t bytes);
/* Empties the live buffer and the snapshot. */
void instance_clear(struct instance *inst);
/*
 * To be called regularly: rings of earlier sizes go that have nothing to read any more, unless a
 * reader may be in them.
 */
void instance_drop_kept(struct instance *inst);
/*
 * The live buffer was emptied: the times of latency-format count from now on. Not for a recording.
 */
void instance_restart_time(struct instance *inst);
/* snapshot = 1 / 0 / other. cpu -1: all CPUs. */
int instance_snapshot_alloc(struct instance *inst);
/* Before it, as instance_resize_prepare(). */
bool instance_snapshot_prepare(const struct instance *inst);
void instance_snapshot_free(struct instance *inst);
int instance_snapshot_take(struct instance *inst, int cpu);
/* tracing_cpumask was changed in state->cpumask. */
void instance_cpumask_changed(struct instance *inst);
/*
 * Between instance_stop() and its instance_go_on() the rings take no records; tracing_on does not
 * change. While programs report sections (sections_live), they report none instead, and the rings
 * take records.
 */
void instance_stop(struct instance *inst);
void instance_go_on(struct instance *inst);
/*
 * A source is about to run: its rings get the size for all its records, unless buffer_size_kb was
 * written.
 */
int model_source_rings(struct model *m);

#endif
