/* SPDX-License-Identifier: MIT */
/*
 * layout.h - what lies in a session's two shared regions
 *
 * Included by the data plane (src/plane) and by the server. Nothing here is a
 * pointer: a region is mapped at a different address in every process, so all
 * references are byte offsets from the start of a region, 0 meaning "none".
 *
 *     config (server writes, programs map it read-only)      data (everybody writes)
 *     +--------------------+                                 +---------------------------+
 *     | config_header      |                                 | data_header               |
 *     | event_entry[65536] |--plan--+                        | slot[nr_slots]            |
 *     | heap:              |        |                        | instance_state[]          |
 *     |   plan  <----------|--------+                        | dso_entry[], task_entry[] |
 *     |                    |                                 | heap:                     |
 *     |    arm[]           |                                 |   buffer, ring, pages     |
 *     |    trigger_arm[]   |--state, target, map-----------> |   map, elts, sums         |
 *     |   program          |                                 |   event_state, pid_set    |
 *     |   saved (R4)       |                                 |   trigger_state           |
 *     +--------------------+                                 +---------------------------+
 *
 * Life cycle (R5): a plan or a program is immutable once its offset has been
 * stored in the word that publishes it. A change builds a new one, publishes
 * it with one release store, and retires the old one (session_config_retire()).
 *
 * The server trusts nothing that it reads from the data region (R2).
 */
#ifndef TRACEFUSE_LAYOUT_LAYOUT_H
#define TRACEFUSE_LAYOUT_LAYOUT_H

#include <stdatomic.h>
#include <stdint.h>

typedef uint64_t config_ref;		/* offset in the config region, 0: none */
typedef uint64_t data_ref;		/* offset in the data region, 0: none */

#define SESSION_MAGIC		0x6573756665636172ull	/* "racefuse" */
/*
 * 3: DSOs and tasks of running programs; 4: pids of the function tracer; 5: sites; 6: groups; 7:
 * snapshots refused; 8: waiters; 10: hostile memory, more slots; 11: names of what is saved, more
 * reasons of sites
 */
#define SESSION_VERSION		11u

enum {
	LAYOUT_MAX_EVENTS	= 65536,	/* common_type is 16 bits wide */
	/*
	 * Ids that a session gives by itself begin here. A kernel gives its events the lowest that
	 * are free and has some thousands, so a tool that asks the kernel for the event of such an
	 * id gets an error and no other event.
	 */
	LAYOUT_OWN_IDS		= 32768,
	/* entries from here on are no events: groups of functions */
	LAYOUT_GROUPS_AT	= 49152,
	/* the entry of funcgraph_exit: one for all functions */
	LAYOUT_GRAPH_EXIT	= 65535,
	/* common_type of ftrace:function, as the kernel's */
	LAYOUT_FUNCTION_ID	= 1,
	LAYOUT_GRAPH_EXIT_ID	= 10,		/* of ftrace:funcgraph_exit */
	LAYOUT_GRAPH_ENTRY_ID	= 11,		/* of ftrace:funcgraph_entry */
	LAYOUT_REPEATS_ID	= 19,		/* of ftrace:func_repeats */
	LAYOUT_MAX_INSTANCES	= 256,
	/* of these, the first: a hit tells by a bit each who recorded (struct hit.mask) */
	LAYOUT_GRAPH_INSTANCES	= 64,
	LAYOUT_MAX_CPUS		= 1024,
	LAYOUT_COMM_LEN		= 16,
	LAYOUT_HIT_LEVELS	= 4,		/* thread + 3 nested signal handlers (R8) */
	LAYOUT_MAX_SLOTS	= 16384,
	LAYOUT_MAX_PROCESSES	= 4096,
	LAYOUT_STACK_ID		= 4,		/* common_type of ftrace:kernel_stack */
	LAYOUT_STACK_MAX	= 128,		/* return addresses in such a record */
	LAYOUT_EVENTS_AT	= 4096,		/* config_header.events: the same in all sessions */
	LAYOUT_MAX_DSOS		= 512,
	LAYOUT_TASKS		= 4096,		/* entries of the log of tasks, a power of two */
	LAYOUT_SITELESS		= 256,		/* DSOs without sites that are remembered */
};

/* R19: where DSO number i lies in the session's own addresses. */
#define LAYOUT_DSO_BASE		0x500000000000ull
#define LAYOUT_DSO_SHIFT	32	/* bits of addresses that each has */

/*
 * The scaling of the time stamp counter to nanoseconds (R18): ns = (tsc * mult >> shift) + offset.
 */
struct clock_scale {
	uint64_t	mult;
	uint32_t	shift;
	uint32_t	valid;		/* 0: the counter is not constant, use CLOCK_MONOTONIC */
	int64_t		offset;
};

/* What can be chosen in trace_clock; the order is the order of the file. */
enum clock_id {
	CLOCK_ID_LOCAL, CLOCK_ID_GLOBAL, CLOCK_ID_COUNTER, CLOCK_ID_UPTIME, CLOCK_ID_PERF,
	CLOCK_ID_MONO, CLOCK_ID_MONO_RAW, CLOCK_ID_BOOT, CLOCK_ID_TAI, CLOCK_ID_X86_TSC,
	CLOCK_ID_COUNT
};

/*
 * Events have the entry of their id. A function that is traced belongs to a
 * group: all functions that the same ops trace (instances, probes). What a call
 * of one does is the group's plan, which lies in an entry of its own; the record
 * has the type plan->event_id. A group is three entries from LAYOUT_GROUPS_AT on,
 * enum group_entry; its number is the first one's. It keeps its meaning until
 * all processes have answered that no site names it any more.
 */
enum group_entry {
	GROUP_FUNCTION,		/* ftrace:function: tracers, triggers on that event, probes */
	/* ftrace:funcgraph_entry: instances whose tracer is function_graph */
	GROUP_GRAPH,
	GROUP_PROFILE,		/* struct profile_record: functions that are profiled */
	GROUP_ENTRIES
};

struct event_entry {
	_Atomic config_ref plan;	/* 0: no instance has this event armed */
};

/*
 * What latency tracers watch for in running programs (agent/emit/section.c): of each
 * kind of watch at most one instance has one.
 */
enum section_kind {
	SECTION_IRQS	= 1 << 0,	/* signals blocked */
	SECTION_PREEMPT	= 1 << 1,	/* locks held */
	SECTION_OWN	= 1 << 2,	/* tf_critical_start() ... tf_critical_stop() */
	SECTION_WAKEUP	= 1 << 3,	/* from a thread's wakeup to its run */
	SECTION_WAKEUP_RT = 1 << 4,	/* only of threads with SCHED_FIFO or SCHED_RR */
	/*
	 * No section: an event of waiting or waking is armed, and functions of locks look here for
	 * everything.
	 */
	SECTION_THREADS	= 1 << 5,
	SECTION_CRITICAL = SECTION_IRQS | SECTION_PREEMPT | SECTION_OWN,
};

enum section_watches { SECTION_WATCH_CRITICAL, SECTION_WATCH_WAKEUP, SECTION_WATCHES };

struct section_watch {
	_Atomic uint32_t generation;	/* raised: what has begun is forgotten */
	_Atomic uint32_t instance;
	/* tracing_thresh in ns: all that last as long; 0: those longer than any before */
	_Atomic uint64_t thresh;
};

struct section_control {
	/* enum section_kind: what somebody watches; 0: nobody does */
	_Atomic uint32_t kinds;
	uint32_t	pad;
	struct section_watch watch[SECTION_WATCHES];
};

/* What is decided without the shortcuts of this kind. */
enum shortcuts_off {
	/* a thread remembers nothing of a hit for the next one */
	SHORTCUTS_OFF_WAYS	= 1 << 0,
	SHORTCUTS_OFF_PLANS	= 1 << 1,	/* all plans have the kind PLAN_ANY */
	SHORTCUTS_OFF_OPS	= 1 << 2,	/* code has no joined ops */
};

struct config_header {
	/* set once, at create */
	uint64_t	magic;
	uint32_t	version;
	uint32_t	nr_cpus;	/* CPU labels, and columns of per-CPU sums */
	uint64_t	config_size;
	uint64_t	data_size;
	uint32_t	nr_slots;
	uint32_t	pad;
	config_ref	events;		/* struct event_entry[LAYOUT_MAX_EVENTS], by event id */
	config_ref	heap;
	data_ref	slots;		/* struct slot[nr_slots] */
	data_ref	instances;	/* struct instance_state[LAYOUT_MAX_INSTANCES] */
	data_ref	data_heap;
	config_ref	processes;	/* struct process_entry[LAYOUT_MAX_PROCESSES] */
	data_ref	programs;	/* struct program_tables */
	struct clock_scale tsc;

	/* the server, while the session lives */
	_Atomic uint64_t epoch;		/* raised by every publication (R5) */
	_Atomic config_ref saved;	/* newest struct saved (R4) */
	_Atomic uint32_t server_pid;
	/* 1: no membarrier here, each enter needs a fence of its own (R5) */
	_Atomic uint32_t fence;
	_Atomic uint64_t serial;	/* last serial given to a saved text (R4) */
	/* beyond: never used; the next server allocates there at first */
	_Atomic uint64_t config_high;
	_Atomic uint64_t data_high;

	/* set once, at create */
	config_ref	sites;		/* struct site_control */

	/* the server, while the session lives */
	struct section_control sections;
	/* 1: some instance has event-fork or function-fork: new tasks join sets of pids */
	_Atomic uint32_t follow;
	/*
	 * enum shortcuts_off. Tests set it, in a session without triggers and programs, to compare
	 * what comes of a hit with and without its shortcut. Else 0.
	 */
	_Atomic uint32_t shortcuts_off;
	uint64_t	snapshot_ip;	/* where a hit that may not take a snapshot says it is */
	/* as field 22 of /proc/PID/stat: who began before is not new */
	uint64_t	follow_since;
	/* slots from here on have never been given, and have no memory */
	_Atomic uint32_t slots_high;
	/*
	 * Raised with each answer, and between the pieces of long work: waiting threads see
	 * progress.
	 */
	_Atomic uint32_t served;

	/* set once, at create; the server's own */
	/* struct instance_book[LAYOUT_MAX_INSTANCES] of session/ring/book.h */
	config_ref	instance_books;
	/* bytes a CPU that a buffer may have where nobody said how many: what its tmpfs holds */
	uint64_t	ring_room;
	config_ref	slot_books;	/* struct slot_book[nr_slots] */
};

/*
 * What the server knows of a slot, for itself and the next server: struct slot, which anybody
 * writes, is for hits.
 */
struct slot_book {
	uint32_t	process;	/* 1 + index in the process table, 0: given to none */
	uint32_t	lease;		/* private ring that the slot has for good, 0: none */
	data_ref	scratch;	/* 0: it was never given */
};

/*
 * A process that has slots. Written by the server, so that the next server
 * finds it again: pid and start time together name one process for good.
 */
struct process_entry {
	uint32_t	pid;		/* 0: free */
	uint32_t	pad;
	uint64_t	start_time;	/* field 22 of /proc/PID/stat */
	uint64_t	image;		/* attach_request.image */
};

/*
 * One event's plan: what a hit does, for each instance that has it armed.
 * `arms` and `triggers` follow the struct in this order.
 */
struct plan {
	uint32_t	event_id;
	uint32_t	nr_arms;
	uint32_t	nr_triggers;
	uint32_t	size;		/* bytes of the whole, for retirement */
	/*
	 * Offset in the record of a second pid that counts, 0: none. Pid sets let
	 * a sched_switch pass when prev or next is traced (next_pid), a waking or
	 * wakeup when the wakee is (pid). With ARM_FOLLOW_FORK: child_pid, with
	 * ARM_FOLLOW_FREE: pid.
	 */
	uint16_t	other_pid;
	uint16_t	other_kind;	/* enum other_pid_kind */

	/* filled in by session_publish(): what the short ways of hit() need, next to each other */
	uint32_t	kind;		/* enum plan_kind */
	uint16_t	key_off;	/* PLAN_COUNT_KEY1: the key's field and */
	uint16_t	key_load;	/* the op that loads it */
	uint32_t	arm_flags;	/* of the only arm */
	data_ref	map;
	/* its struct map_layout, in its code: bytes behind the plan, or before it */
	int64_t		layout;
	data_ref	arm_state;
	data_ref	trigger_state;
	uint32_t	wants;		/* enum plan_wants, set by the model */
	uint32_t	key_end;	/* PLAN_COUNT_KEY1: a record has so many bytes at least */
};

/*
 * What a program has to bring along; options that are looked at in each hit (stacktrace) are not in
 * it.
 */
enum plan_wants {
	PLAN_WANTS_STACK = 1 << 0,	/* a trigger stacktrace, a stack as a key or a variable */
	/* all arms are ARM_SECTION: nothing to do where there is none */
	PLAN_ONLY_SECTIONS = 1 << 1,
};

/* Shapes that hit() has a short way for. */
enum plan_kind {
	PLAN_ANY,
	PLAN_RECORD,	/* one instance, only recorded */
	PLAN_RECORD_IF,	/* the same, with a filter */
	PLAN_COUNT,	/* one instance, one hist, recorded or not */
	/* the same without `if`, the code being one OP_HIST_KEY1 with 4 or 8 bytes */
	PLAN_COUNT_KEY1,
	/* of functions: any that asks neither for the task's name nor for a stack or a section */
	PLAN_FUNCTION,
};

enum other_pid_kind { OTHER_PID_NONE, OTHER_PID_SWITCH, OTHER_PID_WAKEE };

enum arm_flags {
	ARM_RECORD	= 1 << 0,	/* enabled by `enable` or set_event: goes to the ring */
	/* a trigger has an `if`, is a hist or a post trigger: R7 step (a) is skipped */
	ARM_NEED_RECORD	= 1 << 1,
	ARM_PIDS	= 1 << 2,	/* set_event_pid or set_event_notrace_pid is not empty */
	/* a trigger or an enable_event uses it: look at event_state.soft_disabled */
	ARM_SOFT_MODE	= 1 << 3,
	/*
	 * ftrace:print and its like: recorded without being enabled; no pid set,
	 * no event filter and no option stacktrace; with tracing off nothing fires.
	 */
	ARM_INTERNAL	= 1 << 4,
	/* sched_process_fork with event-fork: the child joins its parent's pid sets */
	ARM_FOLLOW_FORK	= 1 << 5,
	/* sched_process_free with event-fork: the task leaves the pid sets */
	ARM_FOLLOW_FREE	= 1 << 6,
	ARM_WATCH	= 1 << 7,	/* armed only to follow pids: no trigger, not recorded */
	/* Of functions: */
	ARM_FUNC_PIDS	= 1 << 8,	/* set_ftrace_pid or set_ftrace_notrace_pid is not empty */
	ARM_NO_REPEATS	= 1 << 9,	/* option func-no-repeats */
	/* of a latency tracer: recorded only while the thread is in a section */
	ARM_SECTION	= 1 << 10,
	ARM_FUNCTION	= 1 << 11,	/* all of them: the option stacktrace is not for them */
	ARM_STACK	= 1 << 12,	/* option func_stack_trace */
	/*
	 * ARM_SECTION of another kind: while a thread of the process is woken and does not run yet
	 */
	ARM_WAKEUP	= 1 << 13,
};

struct arm {
	uint32_t	instance;	/* index into instance_state[] */
	uint32_t	flags;		/* enum arm_flags */
	config_ref	filter;		/* code, 0: none; decides only what is recorded */
	/* struct event_state; ARM_NO_REPEATS: struct hit_repeat[nr_cpus], 0: none */
	data_ref	state;
	uint32_t	first_trigger;	/* in the plan's triggers, in the order they fire */
	uint32_t	nr_triggers;
};

enum trigger_kind {
	TRIGGER_TRACEON, TRIGGER_TRACEOFF, TRIGGER_SNAPSHOT, TRIGGER_STACKTRACE,
	TRIGGER_ENABLE_EVENT, TRIGGER_DISABLE_EVENT, TRIGGER_ENABLE_HIST, TRIGGER_DISABLE_HIST,
	TRIGGER_HIST,
	/* an event probe's: a program that makes a hit of its event */
	TRIGGER_PROBE,
	TRIGGER_DUMP, TRIGGER_CPUDUMP,	/* commands of functions: the server writes a buffer out */
};

enum trigger_arm_flags {
	TRIGGER_COUNTED	= 1 << 0,	/* trigger_state.count limits it */
	/* fires after the commit: stacktrace and traceoff, trigger_kind_is_post() */
	TRIGGER_POST	= 1 << 1,
	TRIGGER_RECORD	= 1 << 2,	/* looks at the record */
	TRIGGER_FUNCTION = 1 << 3,	/* a command of functions: see struct trigger_sites */
};

struct trigger_arm {
	uint32_t	kind;		/* enum trigger_kind */
	uint32_t	flags;		/* enum trigger_arm_flags */
	config_ref	filter;		/* its own `if`: code, 0: none */
	/* TRIGGER_HIST, TRIGGER_PROBE; TRIGGER_FUNCTION: struct trigger_sites, 0: all functions */
	config_ref	code;
	/* struct trigger_state; TRIGGER_FUNCTION: int64_t[], counts */
	data_ref	state;
	/*
	 * enable_event, enable_hist and their opposites: the event_state of the
	 * event they switch. For hists its event_id leads to that event's plan
	 * and so to all hists that the event has in that instance.
	 */
	data_ref	target;
};

/*
 * The functions that a command is for, by address, and the numbers of their
 * counts: one plan does for all functions of its group.
 */
struct trigger_sites {
	uint32_t	nr;
	uint32_t	pad;
	struct trigger_site {
		uint64_t	ip;
		uint32_t	index;
		uint32_t	pad;
	} sites[];
};

static inline int trigger_kind_is_post(uint32_t kind)
{
	return kind == TRIGGER_STACKTRACE || kind == TRIGGER_TRACEOFF;
}

/* One event in one instance: what hits change. */
struct event_state {
	_Atomic uint32_t soft_disabled;	/* with ARM_SOFT_MODE: fires triggers, is not recorded */
	uint32_t	event_id;	/* set once */
};

struct trigger_state {
	_Atomic int64_t	count;		/* firings left; only with TRIGGER_COUNTED */
	_Atomic uint32_t paused;	/* hist: pause / enable_hist / disable_hist */
	uint32_t	pad;
};

/* One bit a pid, 4 Mi bits (the kernel's PID_MAX_LIMIT), sparse in tmpfs. */
struct pid_set {
	uint64_t	bits[4194304 / 64];
};

enum instance_flags {
	INSTANCE_STACKTRACE	= 1 << 0,	/* option stacktrace */
	INSTANCE_USERSTACKTRACE	= 1 << 1,
	INSTANCE_EVENT_FORK	= 1 << 2,
	INSTANCE_RECORD_CMD	= 1 << 3,
	INSTANCE_RECORD_TGID	= 1 << 4,
	INSTANCE_MARKERS	= 1 << 5,
	INSTANCE_ABSOLUTE_TIME	= 1 << 6,	/* timestamp_mode absolute */
	INSTANCE_FUNCTION_FORK	= 1 << 7,
	/* option trace_printk: what a snapshot that cannot be says is recorded */
	INSTANCE_PRINTS		= 1 << 8,
	INSTANCE_MAX_USED	= 1 << 9,	/* the tracer has the other buffer: no snapshots */
	/* somebody reads trace, with pause-on-trace: none are taken */
	INSTANCE_STOPPED	= 1 << 10,
};

struct instance_state {
	/* hits and the server */
	_Atomic uint32_t used;
	_Atomic uint32_t tracing_on;
	/*
	 * Lowest bit: which of buffers[] records; the other is the snapshot. Above it
	 * the newest section that a latency tracer has (struct section_log).
	 */
	_Atomic uint32_t live;
	_Atomic uint32_t flags;		/* enum instance_flags */
	_Atomic uint32_t clock;		/* enum clock_id */
	_Atomic uint32_t snapshots;	/* swaps made, for waiters and notes */
	_Atomic uint64_t counter;	/* clock `counter` */
	/* struct buffer of plane/ring/ring.h, published by the server */
	_Atomic data_ref buffers[2];
	_Atomic data_ref pids;		/* struct pid_set, set_event_pid */
	_Atomic data_ref no_pids;	/* set_event_notrace_pid */
	_Atomic data_ref func_pids;	/* set_ftrace_pid */
	_Atomic data_ref no_func_pids;	/* set_ftrace_notrace_pid */
	/* tracing_cpumask: only these CPUs record */
	uint64_t	cpumask[LAYOUT_MAX_CPUS / 64];
};

/*
 * A thread's slot: where it is inside a hit (R5, R8), and its scratch memory.
 * Only the owner stores depth and epoch; the server reads them.
 */
struct slot {
	_Atomic uint32_t owner;		/* thread id as its process sees it, 0: free */
	/* 1 + index in the process table, 0: given to none; the server's */
	_Atomic uint32_t process;
	_Atomic uint32_t depth;		/* 0: outside any hit */
	uint32_t	index;		/* its own, set once */
	_Atomic uint64_t epoch;		/* config epoch seen at the outermost enter */
	/* hits and parts of them for which there was no room; added to, also by others */
	_Atomic uint64_t missed;
	/* struct hit_scratch[LAYOUT_HIT_LEVELS], set before the slot is given */
	data_ref	scratch;
	/* the ring's: private ring that the thread holds, 0: none */
	_Atomic uint64_t lease;
	uint64_t	pad[2];
};

/*
 * One DSO of the running programs (R19). Its number gives it addresses of its
 * own in the session, the same in all processes and runs: a program that finds
 * an address in a DSO of its own looks for the DSO here by build-id (without
 * one by path, size and mtime, hashed into id[]) and else takes the next free
 * entry; the address is then
 *
 *     LAYOUT_DSO_BASE + (number << LAYOUT_DSO_SHIFT) + (address - first mapped byte)
 *
 * Written by programs, inside hits, so without lock or system call: `state` is
 * taken from 0 to DSO_WRITING by a compare-and-swap and set to DSO_READY when
 * the rest is there. Who dies in between leaves an entry that everybody skips.
 * The server reads names from it and believes none of it.
 */
enum dso_state { DSO_FREE, DSO_WRITING, DSO_READY };

struct dso_entry {
	_Atomic uint32_t state;		/* enum dso_state; READY is stored with release */
	uint32_t	pid;		/* a process that has it, as the server sees it */
	uint64_t	size;		/* bytes from the first to the last mapped one */
	/* lowest p_vaddr, rounded down to a page: 0 but in fixed executables */
	uint64_t	load;
	uint32_t	id_len;		/* bytes of id */
	uint32_t	pad;
	uint8_t		id[24];
	/* as the dynamic linker has it; of the program itself /proc/self/exe's target */
	char		path[256];
};

/*
 * A thread that made its first hit or changed its name: for saved_cmdlines and
 * saved_tgids. A log: the newest LAYOUT_TASKS entries are there, the server
 * copies them every few milliseconds. `seq` is 0 while the entry is written and
 * then 1 + its number in the log (release).
 */
struct task_entry {
	_Atomic uint64_t seq;
	uint32_t	pid;		/* thread id as the server sees it */
	uint32_t	tgid;
	char		comm[LAYOUT_COMM_LEN];
};

/* What a site is to do: its word in site_set.words. 0: it is off. */
enum site_word {
	/* the group's number; its GROUP_GRAPH entry may have a plan or not */
	SITE_GROUP		= 0xffff,
	SITE_IN_GRAPH		= 1 << 16,	/* it is in set_graph_function */
	SITE_IN_GRAPH_NOTRACE	= 1 << 17,	/* in set_graph_notrace */
	/* its return is caught: the group has function_graph or a profile */
	SITE_HOOKED		= 1 << 18,
	SITE_RETURNS		= 1 << 19,	/* at return sites; the program alone knows */
};

/*
 * Which functions of a DSO are traced: one word a site, in the order of their
 * addresses in the file, those that cannot be traced included (agent/sites/sites.h:
 * server and programs find the same list). Beyond nr all are off. The server
 * stores words in place: who reads them meanwhile finds old and new ones, and
 * reads them again because `command` is raised behind them.
 */
struct site_set {
	/* uint32_t[], 0: none; set once, when the first of them is on */
	_Atomic config_ref words;
	_Atomic uint32_t nr;
	uint32_t	pad;
};

/*
 * What is folded at a call of a function that is profiled, and at its return: the sums grow by it.
 */
struct profile_record {
	uint64_t	common;		/* type, flags, pid */
	uint64_t	func;
	uint64_t	calls;		/* 1 at the call */
	uint64_t	time;		/* ns, at the return */
	uint64_t	squared;
};

/* The profile's map: the key is {function, CPU}. Sum 0, of hits, is not used. */
enum profile_sum { PROFILE_CALLS = 1, PROFILE_TIME, PROFILE_SQUARED, PROFILE_SUMS };

/* What the graph tracer looks at besides a site's word. Published anew for each change (R5). */
struct graph_config {
	uint32_t	max_depth;	/* max_graph_depth; 0: none */
	uint32_t	flags;		/* enum graph_flags */
	/* tracing_thresh in ns: exits only, of what took as long; 0: none */
	uint64_t	thresh;
};

enum graph_flags {
	/* set_graph_function is not empty: only what is in it and what that calls */
	GRAPH_CHOSEN	= 1 << 0,
	/* nosleep-time: the time that the thread was not running does not count */
	GRAPH_CPU_TIME	= 1 << 1,
	/* function_profile_enabled: each call is folded at its return, recorded or not */
	GRAPH_PROFILE	= 1 << 2,
	/* nograph-time: the profile's times without those of the functions that are called */
	GRAPH_SELF_TIME	= 1 << 3,
};

/*
 * The server changes words, raises `command` and wakes who waits for it (a
 * shared futex). The number of a group that no word names any more is given to
 * another one when all living processes have answered, or are gone.
 */
struct site_control {
	_Atomic uint32_t command;
	uint32_t	pad;
	_Atomic config_ref graph;	/* struct graph_config, 0: all of it 0 */
	uint32_t	pad2[12];
	struct site_set	sets[LAYOUT_MAX_DSOS];	/* by number of the DSO */
};

enum { SITE_SKIPS = 12 };

/*
 * A process has done what `command` said; by index in the process table. Stored last, with release.
 */
struct site_answer {
	_Atomic uint32_t command;
	uint32_t	pid;		/* as the server sees it */
	uint32_t	nr_sites;
	uint32_t	nr_skipped;	/* that cannot be switched */
	/* by enum site_skip; [0]: their DSO was not prepared */
	uint32_t	skipped[SITE_SKIPS];
	uint32_t	nr_on;
	int32_t		err;		/* the last, -errno */
	/* with sites, that the process has now: a bit each, by number */
	_Atomic uint64_t dsos[LAYOUT_MAX_DSOS / 64];
};

/*
 * One section that was the longest so far (or as long as the threshold), told
 * by the thread at its end; of a wakeup by the thread that was woken. `start`
 * and `end` are of the instance's clock. All addresses are the session's.
 */
enum { SECTION_REPORTS = 32, SECTION_STACK = 48 };

#define SECTION_UNKNOWN UINT32_MAX

struct section_end {
	uint64_t	time, ip, parent;
	uint32_t	pid;		/* the thread; at a wakeup's start who woke it */
	uint32_t	cpu;
	uint8_t		flags, locks;	/* as in struct record_common */
	/* of a mark: the addresses are the session's, not the process's */
	uint8_t		translated;
	uint8_t		pad[5];
};

/* Where a section began, and what the session said then (agent/emit/section.c). */
struct section_mark {
	struct section_end at;
	uint32_t	number;		/* of the last one that was reported */
	uint32_t	generation;
};

struct section_report {
	/* 0: free, odd: being written, else section_state() (release) */
	_Atomic uint64_t state;
	struct section_end start, end;
	/* which of instance_state.buffers[] has what was recorded meanwhile */
	uint32_t	buffer;
	char		comm[LAYOUT_COMM_LEN];
	uint32_t	policy, rt_prio, uid;	/* of the thread; SECTION_UNKNOWN: it may not ask */
	int32_t		nice;
	uint32_t	nr_stack;	/* at its end */
	uint64_t	stack[SECTION_STACK];
};

/*
 * instance_state.live says which section was the last that was reported:
 *
 *     | its number, 26 bits | which of section_log.reports it is, 5 bits | which of buffers[]
 *     records, 1 bit |
 *
 * Who ends a section that began at that number, and is long enough, writes a
 * report and then, in one step (compare-and-swap), raises the number, names his
 * report and swaps the buffers: what began before is not reported any more,
 * nobody overwrites what was recorded until the next one, and nobody takes the
 * report that is named. There is no moment in which one of these is without the
 * others. The server takes the newest.
 */
struct section_log {
	/* section_longest(): what has to be beaten; the server, too (tracing_max_latency) */
	_Atomic uint64_t longest;
	uint64_t	pad[7];
	struct section_report reports[SECTION_REPORTS];
};

/* Numbers begin anew some time: which of two is newer is a matter of their difference. */
#define SECTION_NUMBER 0x3ffffffu

static inline uint32_t live_make(uint32_t number, uint32_t report, uint32_t buffer)
{
	return number << 6 | (report % SECTION_REPORTS) << 1 | (buffer & 1);
}

static inline uint32_t live_number(uint32_t live)
{
	return live >> 6;
}

static inline uint32_t live_report(uint32_t live)
{
	return live >> 1 & (SECTION_REPORTS - 1);
}

/* A report is one number's, and one generation's of the watch. */
static inline uint64_t section_state(uint32_t number, uint32_t generation)
{
	return (uint64_t)generation << 33 | 1ull << 32 | (uint64_t)(number & SECTION_NUMBER) << 1;
}

/* Nanoseconds, 78 hours at most, and at which number they are to be beaten: 16 bits of it. */
static inline uint64_t section_longest(uint64_t ns, uint32_t number)
{
	return (ns >> 48 ? ~0ull : ns) << 16 | (number & 0xffff);
}

/* The thread that takes it from one of the other two may read or write the mark. */
enum mark_state { MARK_NONE, MARK_BUSY, MARK_SET };

/*
 * A thread that waits for others, by slot (agent/providers/thread/wake.c). Its thread writes it;
 * who wakes it leaves a mark.
 */
struct waiter {
	/* in its process; 0: it does not wait; stored last, with release */
	_Alignas(64) _Atomic uint64_t addr;
	uint64_t	family;		/* of processes that know the address, too; 0: none does */
	uint32_t	process;	/* index in the process table */
	uint32_t	pid;
	int32_t		cpu;		/* where it was when it began to wait */
	uint32_t	shared;		/* for a lock that others may have, too */
	char		comm[LAYOUT_COMM_LEN];
	_Atomic uint32_t round;		/* raised when a waiting begins */
	_Atomic uint32_t mark_state;	/* enum mark_state */
	uint32_t	mark_round;	/* the waiting that the mark is of */
	struct section_mark mark;
};

/* What programs tell of themselves. In the data region: nothing here is believed. */
struct program_tables {
	_Atomic uint64_t next_task;	/* number of the next entry of the log */
	uint64_t	pad[7];
	struct task_entry tasks[LAYOUT_TASKS];
	struct dso_entry dsos[LAYOUT_MAX_DSOS];
	struct site_answer sites[LAYOUT_MAX_PROCESSES];
	struct section_log sections[SECTION_WATCHES];
	/* 1 + the watch's generation: agent_wakeup_pending() */
	_Atomic uint32_t woken[LAYOUT_MAX_PROCESSES];
	_Atomic uint32_t waiters_end;	/* no waiter from here on */
	/* dso_contents() of DSOs that have no sites, near number % LAYOUT_SITELESS (sites/dso.c) */
	_Atomic uint64_t siteless[LAYOUT_SITELESS];
	/*
	 * By slot. Each has memory from when its slot is given for the first time
	 * (config_header.slots_high).
	 */
	struct waiter waiters[LAYOUT_MAX_SLOTS];
};

/* The record of ftrace:kernel_stack. */
struct stack_record {
	uint16_t	type;		/* LAYOUT_STACK_ID */
	uint8_t		flags;
	uint8_t		preempt_count;
	int32_t		pid;
	int32_t		size;		/* addresses */
	int32_t		pad;
	uint64_t	caller[LAYOUT_STACK_MAX];
};

enum {
	/*
	 * histograms' code inside each other, by way of synthetic events: as many as the kernel's
	 */
	HIT_FRAMES	= 4,
	HIT_REFS	= 16,	/* references of a program */
	HIT_VARS	= 32,	/* variables of an elt */
	HIT_PENDING	= 64,	/* records that wait for their cause */
	HIT_ARENA	= 8192,	/* bytes of synthetic records of one hit */
};

/*
 * What a reference read: a number, or where the text or stack lies. All but the value are of texts
 * and stacks only.
 */
struct hit_ref {
	uint64_t	value;
	data_ref	map;
	uint32_t	elt;
	uint16_t	block;		/* 1 + number of the block in that elt, 0: none */
	/*
	 * 1 + index of the op that set it, of another hist's of the one that found the elt; 0: none
	 */
	uint16_t	from;
};

/* Working memory of one histogram's code. */
struct hit_frame {
	_Alignas(64) uint64_t key[128];	/* PROGRAM_KEY_MAX bytes */
	uint64_t	value[16];	/* the program's stack */
	uint64_t	text[32];	/* STRING_ROOM bytes: a text or a stack on its way */
	struct hit_ref	ref[HIT_REFS];
	/* by variable: as this hit set it; 1 + index of the op of a text or stack */
	uint64_t	own[HIT_VARS];
};

/* A synthetic record that goes to a ring behind that of its cause, and what fires after it. */
struct hit_pending {
	data_ref	buffer;		/* 0: not recorded */
	uint32_t	event, arm;	/* whose plan, and which of its arms */
	uint32_t	instance;	/* of that arm */
	uint32_t	post;		/* kinds of post triggers, one bit each */
	uint32_t	record, size;	/* in the arena */
};

/* Synthetic events of one hit (plane/hit.c). */
struct hit_synth {
	uint32_t	used;		/* bytes of the arena */
	uint32_t	nr_pending;
	struct hit_pending pending[HIT_PENDING];
	_Alignas(8) char arena[HIT_ARENA];
};

/*
 * func-no-repeats: the last call on a CPU in an instance, and how often it came
 * again. Lock-free (F2 of plane/hit_function.c).
 */
enum { REPEAT_CALLS = 7, REPEAT_COUNT = 0xffff };

struct hit_repeat {
	/* a number that stands for the call, and in the lower 16 bits how often */
	_Alignas(64) _Atomic uint64_t last;
	_Atomic uint64_t time;		/* of the last one */
	struct repeat_call {
		_Atomic uint64_t ip, parent_ip;
	} calls[REPEAT_CALLS];		/* who it was, by that number */
};

/* Working memory of one level of hits, so that nothing large lies on a traced program's stack. */
struct hit_scratch {
	struct hit_frame frame[HIT_FRAMES];
	struct stack_record stack;
	struct hit_synth synth;
	_Alignas(64) uint64_t record[256];	/* a record being filled */
};

/*
 * Why a process cannot join, as it finds out itself: a program is then not traced, a child of
 * fork() tries again. The last ones are found out by who executes it.
 */
enum untraced {
	UNTRACED_DESCRIPTORS,	/* the server has no descriptor left */
	UNTRACED_FULL,		/* no entry in the table of processes, or no slot */
	UNTRACED_LATE,		/* the server did not answer in time */
	UNTRACED_SERVER,	/* there is no server */
	UNTRACED_OTHER,
	/* Counted by who executes it. */
	UNTRACED_USER,		/* it is another user's */
	UNTRACED_ROOT,		/* it does not reach the session's directory, or the agent's file */
	UNTRACED_RIGHTS,	/* its file gives it more rights: nothing is preloaded */
	UNTRACED_ENVIRONMENT,	/* that names no agent or no session */
	UNTRACED_STATIC,
	UNTRACED_LIBC,		/* it has another C library, or is for another machine */
	UNTRACED_SANITIZER,	/* it has one, which has to be loaded first */
	UNTRACED_REASONS
};

/*
 * What processes and threads lose that have no slot to count in. Relaxed
 * additions by anybody, on the slow way; they outlive who made them.
 */
struct losses {
	_Atomic uint64_t hits;		/* of threads without a slot */
	_Atomic uint64_t threads;	/* that have lost a hit so */
	_Atomic uint64_t processes;	/* with such threads */
	_Atomic uint64_t untraced[UNTRACED_REASONS];	/* processes that could not join */
};

struct data_header {
	uint64_t	magic;
	_Atomic uint64_t generation;
	/*
	 * A command dump or cpudump was carried out: 1 for all CPUs, else 2 + the
	 * CPU. Set from 0 by a hit, to 0 by the server when it has written the top's buffer out.
	 */
	_Atomic uint64_t dump;
	struct losses	losses;
};

/*
 * R4: what a new server needs to bring a session back. `path` is the file of
 * the tree that the text was written to and `text` the command in canonical
 * form; the server of a restored session writes them again in order of serial
 * with the refs at hand, so that maps and rings are restored, not made again.
 */
struct saved {
	config_ref	next;		/* older saved text */
	uint64_t	serial;
	_Atomic uint32_t live;		/* 0: removed */
	uint32_t	nr_refs;
	uint64_t	refs[6];	/* data or config offsets to restore, by kind */
	uint32_t	path_len;	/* with the terminating 0 */
	uint32_t	text_len;
	char		bytes[];	/* path, then text */
};

#endif
