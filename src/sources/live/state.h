/* SPDX-License-Identifier: MIT */
/*
 * state.h - struct live, between the files of sources/live
 */
#ifndef TRACEFUSE_SOURCES_LIVE_STATE_H
#define TRACEFUSE_SOURCES_LIVE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "model/ftrace/ftrace.h"
#include "model/model.h"
#include "plane/plane.h"
#include "sources/live/cpu.h"
#include "sources/live/kernel.h"
#include "sources/live/live.h"
#include "sources/recording/task_names.h"
#include "sources/stack_probes.h"

enum {
	LIVE_WRITER	= 1,		/* writer set of the rings (R12), as a recording's */
	LIVE_MERGED	= 2,		/* that of what merged triggers make (R28) */
	LIVE_SPAN_MS	= 10,		/* between two rounds, at most */
	LIVE_FRESH	= 4096,		/* names that wait for a barrier */
	LIVE_NAMERS	= 2,		/* events that tell a task's new name */
};

/* The kernel's instances that a server has. */
enum live_instance { LIVE_EVENTS, LIVE_CALLS, LIVE_INSTANCES };

/* How the kernel's time stamps become those of the session; clock.c. */
struct live_clock {
	bool		counter;	/* x86-tsc, else mono */
	int		files[LIVE_INSTANCES];	/* trace_clock of each; negative: not open */
	unsigned int	nr_changed;	/* how often another process has set another clock */
	const struct clock_scale *scale;
	int64_t		to_session;	/* mono: added to a time stamp */
	uint64_t	error;		/* of that, ns, the largest that was measured */
	/* of the top instance, for the present round */
	uint32_t	id;		/* enum clock_id */
	int64_t		to_instance;	/* added to the session's time */
};

/* A name that saved_cmdlines does not have yet. */
struct live_name {
	int		pid;
	char		name[LAYOUT_COMM_LEN];
};

/* Functions of one module of the kernel, or of none. */
struct live_page {
	struct ftrace_page *page;
	uint64_t	lo, hi;		/* the first address, and the last one */
	uint32_t	first;		/* its place in words[] */
};

/* What the kernel's instance for calls does. */
enum live_tracer { LIVE_NOP, LIVE_FUNCTION, LIVE_GRAPH };

/* Where the fields are in the kernel's records. */
struct live_layout {
	uint32_t	parent_ip;
	uint32_t	entry_depth;
	uint32_t	retval;		/* 0: it records none */
	uint32_t	exit_depth, overrun, calltime, rettime;
};

struct live_cpu_book {
	_Atomic uint64_t passed[LIVE_INSTANCES];	/* records */
	uint64_t	lost;		/* by servers that died */
};

/* What func_stack_trace of the kernel is to be set back to. KNOWN: it is as it was. */
enum live_option { LIVE_OPTION_KNOWN, LIVE_OPTION_OFF, LIVE_OPTION_ON };

/* book.c. In the config region. */
struct live_book {
	char		names[LIVE_INSTANCES][KERNEL_NAME];	/* "": none */
	uint64_t	armed;		/* how many events its server records */
	uint64_t	armed_before;	/* as many as the last server did */
	uint64_t	unknown;	/* servers that died whose records nobody could count */
	uint64_t	done;		/* hits of the present ring that were taken and have run */
	uint64_t	merged, late, damaged;
	uint64_t	cut;		/* a server died while their triggers ran */
	uint64_t	dropped;	/* the kernel was no source any more */
	uint64_t	stack_option;	/* enum live_option */
	struct live_cpu_book cpus[];
};

struct live_task;

/* Sites of the kernel's functions. */
struct live_choice {
	uint32_t	nr;		/* how many */
	uint8_t		*sites;		/* by site: whether it is one */
};

/* Calls of the kernel's functions: functions.c, tracer.c, calls.c. */
struct live_calls {
	/* under the control lock */
	char		why_not[128];	/* why they cannot be traced; "": they can */
	bool		has_graph;	/* function_graph works in instances */
	bool		loaded;
	bool		by_number;	/* the kernel's list has the order of pages[0] */
	bool		busy, again;	/* live_functions_changed() runs; once more */
	bool		on;		/* tracing_on of the instance */
	enum live_tracer tracer;	/* current_tracer of the instance */
	bool		deferred;	/* live_tracer_follow() has left it to the command's end */
	bool		lacks_stacks;	/* some are wanted, and function_graph has none */
	bool		no_stacks;	/* the kernel does not record them */
	struct live_choice chosen;	/* the kernel calls its tracer there */
	struct live_choice wanted;	/* while it is asked */
	uint32_t	*new_words;
	char		*pids[2];	/* of set_ftrace_pid, _notrace_pid; NULL: nothing */
	int		err;		/* the kernel has refused something */

	struct live_layout layout;	/* does not change */

	/* under live->lock */
	struct live_page *pages;
	uint32_t	nr_pages, nr_sites;
	uint32_t	*words;		/* by site: enum site_word */
	struct graph_config config;
	struct live_task **tasks;	/* NULL: none yet */
	bool		stacks;		/* the kernel records a stack with each call */
	uint64_t	records, unknown;
	uint64_t	deep;		/* at a depth that no task has a place for */
};

struct live {
	struct model	*model;
	struct kernel	kernel;
	struct kernel_hooks hooks;
	struct live_book *book;		/* book.c: what the next server has to know */

	/* arm.c; under the control lock */
	uint64_t	known[LAYOUT_OWN_IDS / 64];	/* ids of the kernel's events */
	uint64_t	planned[LAYOUT_OWN_IDS / 64];	/* those that have a plan */
	uint8_t		watched[LAYOUT_OWN_IDS];	/* by how many tracers */
	uint64_t	armed[LAYOUT_OWN_IDS / 64];	/* those that the kernel records */
	char		*filters[LAYOUT_OWN_IDS];	/* the condition that it was given */
	_Atomic unsigned int nr_armed;
	uint32_t	namers[LIVE_NAMERS];	/* ids; 0: the kernel has no such event */
	bool		namers_armed;
	/* Since then the records tell each new name. */
	_Atomic bool	names_told;
	_Atomic bool	names_anew;	/* what is known may be older */
	bool		stacks;		/* it records a stack with each event */
	bool		no_stacks;	/* it refuses to, although one is wanted */
	unsigned int	nr_refused;	/* events that it does not let us enable */
	unsigned int	nr_changed;	/* settings of the instance that another process changed */
	uint64_t	check_at;	/* ms: when to look for that again */
	uint32_t	check_id;	/* the event to go on with */
	bool		has_symbols;
	unsigned int	nr_hidden;	/* events whose names the session has of another source */
	unsigned int	nr_strange;	/* events whose formats are not understood */

	/* under `lock` from here on: L1 */
	pthread_mutex_t	lock;
	const struct plane *plane;
	struct slot	*slot;
	struct hit	hit;
	uint64_t	stack[LAYOUT_STACK_MAX];
	uint32_t	stack_type, stack_at;	/* of kernel_stack records */
	struct stack_probes probes;	/* not changed since expects_stacks */
	_Atomic bool	expects_stacks;
	struct live_clock clock;
	uint32_t	nr_cpus;
	struct live_cpu	*cpus;		/* of the events, then as many of calls */
	uint32_t	nr_cursors;	/* nr_cpus, or twice as many */
	struct live_calls calls;
	uint64_t	passed;		/* the latest time that has passed */
	/* merge.c */
	struct ring_consumer *staged;	/* NULL: nothing was ever staged */
	uint64_t	merged_to;	/* the latest time of a hit that has run merged */
	/* totals */
	uint64_t	records, hits, late, rounds;
	uint64_t	busy;		/* ns of processor time, of rounds */

	/* names.c */
	struct source_memory memory;
	struct task_names names;
	uint32_t	*asked;		/* by pid: the last second in which it was seen, plus 1 */
	uint32_t	second;		/* of the present round */
	struct live_name fresh[LIVE_FRESH];	/* the newest of those that there were */
	unsigned int	nr_fresh;
	bool		stale;		/* the kernel may have names that nobody has read */
	bool		nameless;	/* a task has passed whose name is not known */

	pthread_t	thread;
	int		wake;		/* eventfd: something is armed, or the end */
	_Atomic bool	ending;
};

/* ---- clock.c ---- */

/* The instance's buffers, before it records. 0 or -errno */
int live_set_buffers(int dir);
/* The instance is set to the clock. 0 or -errno */
int live_clock_choose(struct live *l);
const char *live_clock_name(const struct live_clock *c);
/* Opens trace_clock of an instance; of none: dir is negative. */
void live_clock_watch(struct live *l, enum live_instance which, int dir);
/*
 * What was read just now has times of our clock. False: another process has set another one. It is
 * set again then, and all that has not passed is discarded.
 */
bool live_clock_holds(struct live *l);
/* A clock of the system, ns. */
uint64_t live_system_ns(clockid_t id);
/* The kernel's clock. */
uint64_t live_clock_now(const struct live_clock *c);
/* At the beginning of a round: compares the clocks. */
void live_clock_round(struct live *l);
/* The session's clock now. */
uint64_t live_clock_session(const struct live_clock *c);
/* A time stamp of the kernel as a time of the session. */
uint64_t live_clock_time(const struct live_clock *c, uint64_t stamp);
/* A time stamp of the kernel as one of the top instance. */
uint64_t live_clock_stamp(struct live *l, uint64_t stamp);
/* The same for a time of the session. */
uint64_t live_clock_place(struct live *l, uint64_t time);

/* ---- book.c ---- */

/* l->book. 0, -ENOMEM */
int live_book_begin(struct live *l);
/*
 * The new instance records all: counts what the last server has left in the old one. Before a round
 * and before the old one is removed.
 */
void live_book_turn(struct live *l);
/* A new instance of the kernel, whose buffers are empty. */
void live_book_name(struct live *l, enum live_instance which, const char *name);
/* The kernel has emptied the buffers of an instance. */
void live_book_empty(struct live *l, enum live_instance which);
/* The last server may have died while a staged hit ran. */
void live_book_staged(struct live *l);
/* How many records of a CPU servers lost that died. */
uint64_t live_book_lost(const struct live *l, uint32_t cpu);
/* No staged hit will run: they are counted. */
void live_book_drop(struct model *m);
void live_book_print(struct model *m, FILE *out);

/* A record has passed. */
static inline void live_book_pass(struct live *l, uint32_t cpu, enum live_instance which)
{
	_Atomic uint64_t *passed = &l->book->cpus[cpu].passed[which];

	/* Relaxed: only the next server reads it, when this one is dead. */
	atomic_store_explicit(passed, atomic_load_explicit(passed, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

/* ---- names.c ---- */

int live_names_create(struct live *l);
void live_names_destroy(struct live *l);
/* At the beginning of a round. */
void live_names_round(struct live *l);
/* The name of a task now; LAYOUT_COMM_LEN bytes. */
const char *live_names_find(struct live *l, int pid, uint32_t cpu);
/* Names that stand in a record: `before`: those that hold already at the record. */
void live_names_follow(struct live *l, const struct subbuf_record *r, bool before);
/*
 * What is known goes to saved_cmdlines. The kernel's own names follow if a task has none, or when
 * names are looked up. Under both locks.
 */
void live_names_save(struct live *l);

/* ---- arm.c: struct kernel_hooks; all under the control lock ---- */

int live_arm_need(void *arg, struct event *e, bool needed);
void live_arm_watch(void *arg, struct event *e, bool on);
void live_arm_settle(void *arg);
/* Calls of functions are recorded, or no more: as if one more event were enabled. */
void live_arm_calls(struct live *l, bool on);
/* Each event that has a plan already. */
void live_arm_all(struct live *l);

/* ---- check.c; under the control lock ---- */

/* Sets again what another process has changed in the instance, and counts it. */
void live_check(struct live *l);
/*
 * The same once a second, for at most 64 events at a time. Returns after how many ms to call it
 * again; INT_MAX: nothing is armed.
 */
int live_check_tick(struct live *l, uint64_t now_ms);

static inline bool live_bit(const uint64_t *bits, uint32_t id)
{
	return id < LAYOUT_OWN_IDS && bits[id / 64] >> id % 64 & 1;
}

/* ---- import.c ---- */

/* The kernel's events go into the model. 0 or -errno */
int live_import(struct live *l);
void live_import_symbols(void *arg);
/* What a stack may begin with. */
void live_import_probes(struct live *l);

/* ---- live.c ---- */

/* Opens the buffers of an instance: its cursors begin at cpus[first]. 0 or -errno */
int live_open_cpus(struct live *l, int dir, uint32_t first);

/* ---- functions.c; under the control lock ---- */

/* Finds out whether functions of the kernel can be traced, and offers them. */
void live_functions_begin(struct live *l);
/* After live_run_end(). */
void live_functions_end(struct live *l);
/* struct kernel_hooks */
void live_functions_changed(void *arg, const struct ftrace_change *list, size_t nr);
void live_functions_print(struct live *l, FILE *out);

/* ---- tracer.c; under the control lock ---- */

extern const char *const live_tracer_names[];	/* by enum live_tracer */

/*
 * Ops or words have changed: the kernel records what they need. `told`: a command that the error
 * reaches. 0; -errno: the kernel refuses it, and goes on as before.
 */
int live_tracer_follow(struct live *l, bool told);
/* The last server may have died while the kernel's func_stack_trace was changed. */
void live_tracer_restore(struct live *l);
/* A command has ended. */
void live_functions_settle(struct live *l);
/* Called for each function: programs that wait see that the server is at work. */
void live_functions_step(const struct live *l, uint32_t i);

/* A latency tracer's functions, the profile's and the stack tracer's are those of programs. */
static inline bool live_ops_of_programs(const struct ftrace_ops *ops)
{
	return ops->section || ops->kind == FTRACE_OPS_PROFILE || ops->kind == FTRACE_OPS_STACK;
}

/* ---- calls.c; under live->lock ---- */

/* Passes a record of the instance for calls. */
void live_calls_pass(struct live *l, const struct live_cpu *c);
/* All tasks are in no call that is known. */
void live_calls_forget(struct live_calls *calls);

/* ---- merge.c: R28 ---- */

/* The kernel's hit, if triggers of its event run merged. Under live->lock. */
void live_merge_stage(struct live *l, const struct hit *h, uint64_t stamp);
/*
 * Runs the triggers of staged hits up to that time of the session. Under both locks, in a round or
 * right after it.
 */
void live_merge_until(struct live *l, uint64_t time);
void live_merge_end(struct live *l);

/* ---- run.c ---- */

/* Sets the stack of a cursor's record in the hit, if the kernel records stacks. */
void live_stack_fill(struct live *l, const struct live_cpu *c, struct hit *h);
/* Takes in what the kernel has recorded until now. Under live->lock. */
void live_round(struct live *l);
int live_run_begin(struct live *l);
void live_run_end(struct live *l);
void live_run_wake(struct live *l);

#endif
