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
 *     |   code             |                                 |   event_state, pid_set    |
 *     |   saved (R4)       |                                 |   trigger_state           |
 *     +--------------------+                                 +---------------------------+
 *
 * Life cycle (R5): a plan or code is immutable once its offset has been stored in the word that
 * publishes it. A change makes a new one, publishes it with one release store, and retires the old
 * one (session_config_retire()).
 *
 * The server trusts nothing that it reads from the data region (R2).
 */
#ifndef TRACEFUSE_LAYOUT_LAYOUT_H
#define TRACEFUSE_LAYOUT_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef uint64_t config_ref;		/* offset in the config region, 0: none */
typedef uint64_t data_ref;		/* offset in the data region, 0: none */

#define SESSION_MAGIC		0x6573756665636172ull	/* "racefuse" */
/*
 * Changes: 3: DSOs and tasks of running programs; 4: pids of the function tracer; 5: sites; 6:
 * groups; 7: snapshots refused; 8: waiters; 10: hostile memory, more slots; 11: names of what is
 * saved, more reasons of sites; 13: more functions of programs have places; 14: counts
 * of cut stacks; 15: processes without returns; 16: and why; 17: what was cleared; 18: calls on
 * other stacks; 19: where programs begin; 20: more counts of rings that are left out; 21: rings
 * that go; 22: no pid of the server; 23: programs that join with their first hit; 24: plans
 * of records; 25: sandboxes; 26: long paths of programs
 */
#define SESSION_VERSION		27u

enum {
	LAYOUT_MAX_EVENTS	= 65536,	/* common_type is 16 bits wide */
	LAYOUT_HITS_ROW		= 1024,		/* config_header.hits */
	LAYOUT_HITS_PARTS	= LAYOUT_MAX_EVENTS / LAYOUT_HITS_ROW,
	/*
	 * Ids that a session gives itself begin here. A kernel gives its events the lowest free ids
	 * and has some thousands of them. So if a tool asks the kernel for the event of such an id,
	 * it gets an error and not another event. KernelShark keeps an id in 16 bits with a sign:
	 * from 32768 on its table has no names.
	 */
	LAYOUT_OWN_IDS		= 16384,
	/* Entries from here on are not of events but of groups of functions */
	LAYOUT_GROUPS_AT	= 49152,
	/* The entry of funcgraph_exit: one for all functions */
	LAYOUT_GRAPH_EXIT	= 65535,
	/* common_type of ftrace:function, the kernel's number */
	LAYOUT_FUNCTION_ID	= 1,
	LAYOUT_GRAPH_EXIT_ID	= 10,		/* of ftrace:funcgraph_exit */
	LAYOUT_GRAPH_ENTRY_ID	= 11,		/* of ftrace:funcgraph_entry */
	LAYOUT_REPEATS_ID	= 19,		/* of ftrace:func_repeats */
	LAYOUT_MAX_INSTANCES	= 256,
	/*
	 * Only the first so many: a hit returns in a bit each which of them recorded (struct
	 * hit.mask)
	 */
	LAYOUT_GRAPH_INSTANCES	= 64,
	LAYOUT_MAX_CPUS		= 1024,
	LAYOUT_COMM_LEN		= 16,
	LAYOUT_HIT_LEVELS	= 4,		/* thread + 3 nested signal handlers (R8) */
	LAYOUT_MAX_SLOTS	= 16384,
	LAYOUT_MAX_PROCESSES	= 4096,
	LAYOUT_STACK_ID		= 4,		/* common_type of ftrace:kernel_stack */
	LAYOUT_USER_STACK_ID	= 12,		/* and of ftrace:user_stack */
	LAYOUT_USER_STACK	= 8,		/* addresses of a user_stack, as in the kernel */
	/* How many return addresses such a record may have */
	LAYOUT_STACK_MAX	= 128,
	/* config_header.events: the same value in all sessions */
	LAYOUT_EVENTS_AT	= 4096,
	LAYOUT_MAX_DSOS		= 512,
	LAYOUT_PATH		= 4096,		/* room for a path of a DSO, with its 0 */
	LAYOUT_PATHS		= 1 << 17,	/* and for all of them */
	LAYOUT_TASKS		= 4096,		/* entries of the log of tasks, a power of two */
	LAYOUT_SITELESS		= 256,		/* how many DSOs without sites are remembered */
	/* How many files of programs without probes are remembered, and at how many places each */
	LAYOUT_QUIET		= 128,
	QUIET_PLACES		= 4,
};

/* R19: DSO number i begins at this address plus i << LAYOUT_DSO_SHIFT. */
#define LAYOUT_DSO_BASE		0x500000000000ull
/* The last address of a stack whose other callers are not known: stack_is_cut. */
#define LAYOUT_STACK_CUT	0x4fffffffff00ull
#define LAYOUT_DSO_SHIFT	32	/* bits of addresses that each DSO has */

static inline uint64_t layout_dso_base(uint32_t nr)
{
	return LAYOUT_DSO_BASE + ((uint64_t)nr << LAYOUT_DSO_SHIFT);
}

/* Whether a DSO may have that address: the kernel's and small ones are none. */
static inline bool layout_is_dso_address(uint64_t address)
{
	return address >= LAYOUT_DSO_BASE &&
	       (address - LAYOUT_DSO_BASE) >> LAYOUT_DSO_SHIFT < LAYOUT_MAX_DSOS;
}

/*
 * How the time stamp counter is scaled to nanoseconds (R18): ns = (tsc * mult >> shift) + offset.
 */
struct clock_scale {
	uint64_t	mult;
	uint32_t	shift;
	/* 0: the counter is not constant; CLOCK_MONOTONIC is used instead */
	uint32_t	valid;
	int64_t		offset;
};

/* The choices of trace_clock, in the order of the file. */
enum clock_id {
	CLOCK_ID_LOCAL, CLOCK_ID_GLOBAL, CLOCK_ID_COUNTER, CLOCK_ID_UPTIME, CLOCK_ID_PERF,
	CLOCK_ID_MONO, CLOCK_ID_MONO_RAW, CLOCK_ID_BOOT, CLOCK_ID_TAI, CLOCK_ID_X86_TSC,
	CLOCK_ID_COUNT
};

/*
 * An event has the entry of its id. A traced function belongs to a group: all functions that the
 * same ops trace (instances, function commands). The group's plan says what a call of such a
 * function does. It has an entry of its own, and the record has the type plan->event_id. A group
 * has three entries from LAYOUT_GROUPS_AT on, enum group_entry; its number is that of the first
 * one. The number is free again when all processes have answered that no site names it.
 */
enum group_entry {
	/* ftrace:function: tracers, triggers on that event, function commands */
	GROUP_FUNCTION,
	/* ftrace:funcgraph_entry: instances whose tracer is function_graph */
	GROUP_GRAPH,
	GROUP_PROFILE,		/* struct profile_record: functions that are profiled */
	GROUP_ENTRIES
};

struct event_entry {
	_Atomic config_ref plan;	/* 0: no instance has this event armed */
};

/*
 * What latency tracers watch in running programs (agent/emit/section.c). For each kind, at most one
 * instance watches.
 */
enum section_kind {
	SECTION_IRQS	= 1 << 0,	/* signals blocked */
	SECTION_PREEMPT	= 1 << 1,	/* locks held */
	SECTION_OWN	= 1 << 2,	/* tf_critical_start() ... tf_critical_stop() */
	SECTION_WAKEUP	= 1 << 3,	/* from a thread's wakeup to its run */
	SECTION_WAKEUP_RT = 1 << 4,	/* only of threads with SCHED_FIFO or SCHED_RR */
	/*
	 * Not a section: an event of waiting or waking is armed, and functions of locks look here
	 * for all such events.
	 */
	SECTION_THREADS	= 1 << 5,
	SECTION_CRITICAL = SECTION_IRQS | SECTION_PREEMPT | SECTION_OWN,
};

enum section_watches { SECTION_WATCH_CRITICAL, SECTION_WATCH_WAKEUP, SECTION_WATCHES };

struct section_watch {
	_Atomic uint32_t generation;	/* Raised: all sections that have begun are forgotten */
	_Atomic uint32_t instance;
	/*
	 * tracing_thresh in ns: all sections that last as long are reported; 0: those longer than
	 * any before
	 */
	_Atomic uint64_t thresh;
};

struct section_control {
	/* enum section_kind: what is watched; 0: nothing */
	_Atomic uint32_t kinds;
	uint32_t	pad;
	struct section_watch watch[SECTION_WATCHES];
};

/* Which shortcuts are switched off. */
enum shortcuts_off {
	/* A thread remembers nothing of a hit for the next one */
	SHORTCUTS_OFF_WAYS	= 1 << 0,
	SHORTCUTS_OFF_PLANS	= 1 << 1,	/* all plans have the kind PLAN_ANY */
	SHORTCUTS_OFF_OPS	= 1 << 2,	/* code has no joined ops */
};

/* Records that are in no file any more, because somebody has cleared the buffer that had them. */
struct cleared_records {
	uint64_t	entries;	/* they were in the buffer */
	uint64_t	overrun, dropped, read;
};

struct config_header {
	/* Set once, at create */
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

	/* Stored by the server, while the session lives */
	_Atomic uint64_t epoch;		/* raised by every publication (R5) */
	_Atomic config_ref saved;	/* newest struct saved (R4) */
	/* 1: there is no membarrier here, so each hit_enter() needs a fence of its own (R5) */
	_Atomic uint32_t fence;
	/*
	 * &site_control.knock: processes that run already are to begin a task that plants probes
	 * (agent/sites/late.c). It is the plan of many events that nobody asks for. 0: none is.
	 */
	_Atomic config_ref knock;
	_Atomic uint64_t serial;	/* the last serial given to a saved text (R4) */
	/* Memory beyond it was never used; the next server allocates there at first */
	_Atomic uint64_t config_high;
	_Atomic uint64_t data_high;

	/* Set once, at create */
	config_ref	sites;		/* struct site_control */

	/* Stored by the server, while the session lives */
	struct section_control sections;
	/* 1: some instance has event-fork or function-fork: new tasks join sets of pids */
	_Atomic uint32_t follow;
	/*
	 * enum shortcuts_off. Tests set it, in a session without triggers and programs, to compare
	 * the results of a hit with and without its shortcut. Otherwise 0.
	 */
	_Atomic uint32_t shortcuts_off;
	/* The address that the message of a refused snapshot names as its place */
	uint64_t	snapshot_ip;
	/* In the unit of field 22 of /proc/PID/stat: a process that began before is not new */
	uint64_t	follow_since;
	/* In the same unit: when the session was made */
	uint64_t	made;
	/* Slots from here on were never given and have no memory */
	_Atomic uint32_t slots_high;
	/*
	 * Raised with each answer, and between the pieces of long work: waiting threads see
	 * progress.
	 */
	_Atomic uint32_t served;

	/* Set once, at create; only for the server */
	/* struct instance_book[LAYOUT_MAX_INSTANCES] of session/ring/book.h */
	config_ref	instance_books;
	/* The default bytes of a CPU's ring, so that the tmpfs holds all rings */
	uint64_t	ring_room;
	config_ref	slot_books;	/* struct slot_book[nr_slots] */

	/*
	 * Stored by the server, while the session lives. 1: somebody has asked for functions, so
	 * programs without sites of a compiler get some (agent/sites/moved.c). Never set back.
	 */
	_Atomic uint32_t functions;
	/*
	 * 1: a probe at a place was defined, so programs that begin get a task that plants probes
	 * while they run. Never set back.
	 */
	_Atomic uint32_t probes;
	/*
	 * 0: the records of sys_enter_X are those of Linux 6.12. Otherwise 1 + the most bytes that
	 * they have of each text of the program's memory (syscall_user_buf_size). Never 0 again.
	 */
	_Atomic uint32_t call_texts;
	/*
	 * The hits of probes that programs plant: an event is number id % LAYOUT_HITS_ROW of part
	 * id / LAYOUT_HITS_ROW. A part has a row for each CPU, and one for threads that know no
	 * CPU. It is made with its first probe and stays. 0: there is none.
	 */
	_Atomic data_ref hits[LAYOUT_HITS_PARTS];
	/*
	 * 1: an event of a system call was armed, so programs that begin look which ones are, and
	 * plant gates (agent/providers/syscalls/gates_plant.c). Never set back.
	 */
	_Atomic uint32_t calls;
	/*
	 * What the counts of live buffers had before they were cleared. Only for the server, and
	 * only raised.
	 */
	struct cleared_records cleared;

	/*
	 * Which programs need not join before their first hit (agent/join/quiet.c). Stored by the
	 * server, while the session lives.
	 */
	/* Interposers of this version (attach_request.table) have these events; 0: none */
	uint64_t	providers_table;
	uint32_t	providers_first, providers_end;
	_Atomic uint32_t interposed;	/* 1: one of them was armed. Never set back */
	_Atomic uint32_t barriers;	/* how many clients let programs wait that begin */
	_Atomic uint32_t processes_high; /* entries of the process table from here on are free */
	/* attach_request.program of files without probes, near number / 2 % LAYOUT_QUIET */
	_Atomic uint64_t quiet[LAYOUT_QUIET];
};

/*
 * What the server knows of a slot, for itself and for the next server. struct slot, which any
 * process may write, is for hits.
 */
struct slot_book {
	uint32_t	process;	/* 1 + index in the process table, 0: given to none */
	uint32_t	lease;		/* the private ring that the slot has for good, 0: none */
	data_ref	scratch;	/* 0: the slot was never given */
};

/*
 * A process that has slots. The server writes the entry, so that the next server finds the process:
 * pid and start time together name one process for good.
 */
struct process_entry {
	uint32_t	pid;		/* 0: free */
	uint32_t	pad;
	uint64_t	start_time;	/* field 22 of /proc/PID/stat */
	uint64_t	image;		/* attach_request.image */
};

/*
 * One event's plan: what a hit does in each instance where the event is armed. `arms` and
 * `triggers` follow the struct in this order.
 */
struct plan {
	uint32_t	event_id;
	uint32_t	nr_arms;
	uint32_t	nr_triggers;
	uint32_t	size;		/* bytes of the whole plan, to retire it */
	/*
	 * Offset in the record of a second pid that counts, 0: none. Pid sets accept a sched_switch
	 * if prev or next is traced (next_pid), and a waking or wakeup if the wakee is (pid). With
	 * ARM_FOLLOW_FORK: child_pid, with ARM_FOLLOW_FREE: pid.
	 */
	uint16_t	other_pid;
	uint16_t	other_kind;	/* enum other_pid_kind */

	/* Set by session_publish(): what the short ways of hit() need, next to each other */
	uint32_t	kind;		/* enum plan_kind */
	uint16_t	key_off;	/* PLAN_COUNT_KEY1: offset of the key's field, and */
	uint16_t	key_load;	/* the op that loads it */
	uint32_t	arm_flags;	/* those of the only arm */
	data_ref	map;
	/* Its struct map_layout, in its code: bytes from the plan to it, which may be negative */
	int64_t		layout;
	data_ref	arm_state;
	data_ref	trigger_state;
	uint32_t	wants;		/* enum plan_wants; the model sets it */
	uint32_t	key_end;	/* PLAN_COUNT_KEY1: a record has at least so many bytes */
	/* PLAN_RECORD, PLAN_RECORD_IF: the struct instance_state, and what hit() returns */
	data_ref	instance;
	uint64_t	committed;
	/* struct plan: the triggers that run merged by time (R28); 0: none */
	config_ref	merged;
	data_ref	deepest;	/* PLAN_WANTS_DEPTH: struct stack_deepest */
};

/*
 * What a program has to bring along. Options that each hit looks at (stacktrace) are not listed
 * here.
 */
enum plan_wants {
	PLAN_WANTS_STACK = 1 << 0,	/* a trigger stacktrace, a stack as a key or a variable */
	/* All arms are ARM_SECTION: outside a section there is nothing to do */
	PLAN_ONLY_SECTIONS = 1 << 1,
	/* For functions: how deep the stack is, if it is deeper than plan.deepest says */
	PLAN_WANTS_DEPTH = 1 << 2,
	PLAN_ONLY_DEPTH	= 1 << 3,	/* and nothing else is to be done */
};

/* Kinds of plans. hit() or hit_plain() has a short way for each but PLAN_ANY. */
enum plan_kind {
	PLAN_ANY,
	PLAN_RECORD,	/* one instance, only recorded */
	PLAN_RECORD_IF,	/* the same, with a filter */
	PLAN_COUNT,	/* one instance, one hist, recorded or not */
	/* The same without `if`, and the code is one OP_HIST_KEY1 with 4 or 8 bytes */
	PLAN_COUNT_KEY1,
	/* For functions: the plan needs neither the task's name nor a stack nor a section */
	PLAN_FUNCTION,
};

enum other_pid_kind { OTHER_PID_NONE, OTHER_PID_SWITCH, OTHER_PID_WAKEE };

enum arm_flags {
	ARM_RECORD	= 1 << 0,	/* enabled by `enable` or set_event: goes to the ring */
	/* A trigger has an `if`, is a hist or a post trigger: R7 step (a) is skipped */
	ARM_NEED_RECORD	= 1 << 1,
	ARM_PIDS	= 1 << 2,	/* set_event_pid or set_event_notrace_pid is not empty */
	/* A trigger or an enable_event uses it: event_state.soft_disabled counts */
	ARM_SOFT_MODE	= 1 << 3,
	/*
	 * ftrace:print and its like: recorded without being enabled. No pid set, no event filter
	 * and no option stacktrace applies; with tracing off nothing fires.
	 */
	ARM_INTERNAL	= 1 << 4,
	/* sched_process_fork with event-fork: the child joins its parent's pid sets */
	ARM_FOLLOW_FORK	= 1 << 5,
	/* sched_process_free with event-fork: the task leaves the pid sets */
	ARM_FOLLOW_FREE	= 1 << 6,
	ARM_WATCH	= 1 << 7,	/* armed only to follow pids: no trigger, not recorded */
	/* For functions: */
	ARM_FUNC_PIDS	= 1 << 8,	/* set_ftrace_pid or set_ftrace_notrace_pid is not empty */
	ARM_NO_REPEATS	= 1 << 9,	/* option func-no-repeats */
	/* For a latency tracer: recorded only while the thread is in a section */
	ARM_SECTION	= 1 << 10,
	/* Set for all functions: the option stacktrace does not apply to them */
	ARM_FUNCTION	= 1 << 11,
	ARM_STACK	= 1 << 12,	/* option func_stack_trace */
	/*
	 * ARM_SECTION of another kind: recorded while a thread of the process is woken and does not
	 * run yet
	 */
	ARM_WAKEUP	= 1 << 13,
	ARM_COUNTED	= 1 << 14,	/* of a recorded probe: event_state.hits counts */
	/* R28: the hit goes whole to the ring of staged hits, which is this arm's instance */
	ARM_STAGE	= 1 << 15,
	ARM_STAGE_ONE	= 1 << 16,	/* of an event of system ftrace: for its instance only */
};

struct arm {
	uint32_t	instance;	/* index into instance_state[] */
	uint32_t	flags;		/* enum arm_flags */
	config_ref	filter;		/* code, 0: none; it only decides what is recorded */
	/* struct event_state; ARM_NO_REPEATS: struct hit_repeat[nr_cpus], 0: none */
	data_ref	state;
	uint32_t	first_trigger;	/* in the plan's triggers, in the order they fire */
	uint32_t	nr_triggers;
};

enum trigger_kind {
	TRIGGER_TRACEON, TRIGGER_TRACEOFF, TRIGGER_SNAPSHOT, TRIGGER_STACKTRACE,
	TRIGGER_ENABLE_EVENT, TRIGGER_DISABLE_EVENT, TRIGGER_ENABLE_HIST, TRIGGER_DISABLE_HIST,
	TRIGGER_HIST,
	/* For an event probe: its code makes a hit of its event */
	TRIGGER_PROBE,
	TRIGGER_DUMP, TRIGGER_CPUDUMP,	/* Commands of functions: the server writes a buffer out */
	/* The stack tracer: state is a struct stack_deepest */
	TRIGGER_DEEPEST,
};

enum trigger_arm_flags {
	TRIGGER_COUNTED	= 1 << 0,	/* trigger_state.count limits it */
	/* Fires after the commit: stacktrace and traceoff, trigger_kind_is_post() */
	TRIGGER_POST	= 1 << 1,
	TRIGGER_RECORD	= 1 << 2,	/* it looks at the record */
	TRIGGER_FUNCTION = 1 << 3,	/* a function command: see struct trigger_sites */
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
	 * enable_event, enable_hist and their opposites: the event_state of the event that they
	 * switch. For hists its event_id leads to that event's plan, and so to all hists of the
	 * event in that instance.
	 */
	data_ref	target;
};

/*
 * The functions that a command is for, by address, and the numbers of their counts. So one plan is
 * enough for all functions of a group.
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

/* One event in one instance: the part that hits change. */
struct event_state {
	/* With ARM_SOFT_MODE: the event fires triggers and is not recorded */
	_Atomic uint32_t soft_disabled;
	uint32_t	event_id;	/* set once */
	_Atomic uint64_t hits;		/* with ARM_COUNTED; added to by hits */
};

struct trigger_state {
	_Atomic int64_t	count;		/* the firings that are left; only with TRIGGER_COUNTED */
	_Atomic uint32_t paused;	/* hist: pause / enable_hist / disable_hist */
	uint32_t	pad;
};

/* A bit for each pid, 4 Mi bits (the kernel's PID_MAX_LIMIT), sparse in tmpfs. */
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
	/* Option trace_printk: the message of a refused snapshot is recorded */
	INSTANCE_PRINTS		= 1 << 8,
	INSTANCE_MAX_USED	= 1 << 9,	/* the tracer uses the other buffer: no snapshots */
	/* The file trace is being read, with pause-on-trace: no snapshots are taken */
	INSTANCE_STOPPED	= 1 << 10,
};

struct instance_state {
	/* Stored by hits and by the server */
	_Atomic uint32_t used;
	_Atomic uint32_t tracing_on;
	/*
	 * The lowest bit says which of buffers[] records; the other one is the snapshot. The bits
	 * above it are the newest section of a latency tracer (struct section_log).
	 */
	_Atomic uint32_t live;
	_Atomic uint32_t flags;		/* enum instance_flags */
	_Atomic uint32_t clock;		/* enum clock_id */
	_Atomic uint32_t snapshots;	/* how many swaps there were, for waiters and notes */
	_Atomic uint64_t counter;	/* clock `counter` */
	/* struct buffer of plane/ring/ring.h; the server publishes it */
	_Atomic data_ref buffers[2];
	_Atomic data_ref pids;		/* struct pid_set, set_event_pid */
	_Atomic data_ref no_pids;	/* set_event_notrace_pid */
	_Atomic data_ref func_pids;	/* set_ftrace_pid */
	_Atomic data_ref no_func_pids;	/* set_ftrace_notrace_pid */
	/* tracing_cpumask: only these CPUs record */
	uint64_t	cpumask[LAYOUT_MAX_CPUS / 64];
};

/*
 * A thread's slot: where the thread is inside a hit (R5, R8), and its scratch memory. Only the
 * owner stores depth and epoch; the server reads them.
 */
struct slot {
	_Atomic uint32_t owner;		/* thread id as its process sees it, 0: free */
	/* 1 + index in the process table, 0: given to none; the server stores it */
	_Atomic uint32_t process;
	_Atomic uint32_t depth;		/* 0: outside any hit */
	uint32_t	index;		/* its own index, set once */
	_Atomic uint64_t epoch;		/* the config epoch that the outermost hit_enter() saw */
	/* How many hits, or parts of hits, found no room. Other threads add to it, too */
	_Atomic uint64_t missed;
	/* struct hit_scratch[LAYOUT_HIT_LEVELS], set before the slot is given */
	data_ref	scratch;
	/* For the ring: the private ring that the thread has, 0: none */
	_Atomic uint64_t lease;
	/* Stacks whose outer callers are not known, and those with more functions than are kept */
	_Alignas(64) _Atomic uint64_t stacks_cut, stacks_deep;
	/* Calls that the stack tracer left out, because nobody knows where their stack ends */
	_Atomic uint64_t stacks_other;
};

/*
 * One DSO of the running programs (R19). Its number gives it addresses of its own in the session,
 * the same in all processes and runs. A program that has an address in one of its DSOs looks for
 * that DSO here by build-id (without one by the file's number, size and mtime, hashed into id[]).
 * If it is not here, the program takes the next free entry. The address is then
 *
 *     LAYOUT_DSO_BASE + (number << LAYOUT_DSO_SHIFT) + (address - first mapped byte)
 *
 * Programs write it inside hits, so without lock or system call. A compare-and-swap takes `state`
 * from 0 to DSO_WRITING; it is set to DSO_READY when the rest is stored. A program that dies
 * between the two leaves an entry that all others skip. The server reads names from it and trusts
 * none of it.
 */
enum dso_state { DSO_FREE, DSO_WRITING, DSO_READY };

enum dso_moved {
	DSO_MOVED	= 1,
	DSO_MOVED_LATE	= 2,	/* a process that runs waits for site_set.places */
};

struct dso_entry {
	_Atomic uint32_t state;		/* enum dso_state; READY is stored with release */
	uint32_t	pid;		/* a process that has it, with the server's pid */
	uint64_t	size;		/* bytes from the first to the last mapped one */
	/* Lowest p_vaddr, rounded down to a page: not 0 only in fixed executables */
	uint64_t	load;
	uint32_t	id_len;		/* bytes of id */
	/*
	 * Not 0: it has no sites of a compiler, and a process makes some (agent/sites/moved.c).
	 * enum dso_moved
	 */
	_Atomic uint32_t moved;
	uint8_t		id[24];
	/*
	 * Its path, in program_tables.paths: the one that the dynamic linker has; for the program
	 * itself the target of /proc/self/exe, or the file that the linker has mapped when it was
	 * executed as a command. LAYOUT_PATHS: there was no room
	 */
	uint32_t	path;
	uint32_t	pad;
};

/*
 * A thread that made its first hit or changed its name: for saved_cmdlines and saved_tgids. The
 * entries are a log: the newest LAYOUT_TASKS of them exist, and the server copies them every few
 * milliseconds. `seq` is 0 while the entry is written and then 1 + its number in the log (release).
 */
struct task_entry {
	_Atomic uint64_t seq;
	uint32_t	pid;		/* thread id as the server sees it */
	uint32_t	tgid;
	char		comm[LAYOUT_COMM_LEN];
};

/* What a site has to do: its word in site_set.words. 0: it is off. */
enum site_word {
	/* The group's number. Its GROUP_GRAPH entry may or may not have a plan */
	SITE_GROUP		= 0xffff,
	SITE_IN_GRAPH		= 1 << 16,	/* it is in set_graph_function */
	SITE_IN_GRAPH_NOTRACE	= 1 << 17,	/* in set_graph_notrace */
	/* Its return is caught: the group has function_graph or a profile */
	SITE_HOOKED		= 1 << 18,
	/* For return sites; only the program itself uses it */
	SITE_RETURNS		= 1 << 19,
};

/*
 * Which functions of a DSO are traced: a word for each site, in the order of their addresses in the
 * file. Sites that cannot be traced have a word, too (agent/sites/sites.h: server and programs find
 * the same list). Beyond nr all are off. The server stores words in place. A program that reads
 * them meanwhile finds old and new ones, and reads them again because `command` is raised after
 * them.
 */
struct site_set {
	/* uint32_t[], 0: none; set once, when the first of them is switched on */
	_Atomic config_ref words;
	_Atomic uint32_t nr;
	/*
	 * Of a file without a compiler's sites: what the server has found in it, so that programs
	 * need not read its code. struct site_place[], by address; 0: not read. nr_places is stored
	 * first.
	 */
	_Atomic uint32_t nr_places;
	_Atomic config_ref places;
};

/* A function whose first instructions are to be moved (elf/sites.h). */
struct site_place {
	uint64_t	at;		/* site.at */
	uint8_t		len, skip, unreturned;
	uint8_t		pad[5];
};

/*
 * The values that are folded at a call of a profiled function, and at its return: they are added to
 * the sums.
 */
struct profile_record {
	uint64_t	common;		/* type, flags, pid */
	uint64_t	func;
	uint64_t	calls;		/* 1 at the call */
	uint64_t	time;		/* ns, at the return */
	uint64_t	squared;	/* with GRAPH_DETAILS: see PROFILE_NESTED */
	uint64_t	self;		/* with GRAPH_DETAILS: without the calls below */
};

/*
 * The profile's map: the key is {function, CPU}. Sum 0, the hits, is not used. A profile with
 * details has one sum more, and the longest time in a block. It has another map, too: how many
 * calls took about as long, the key is {function, bucket of .exp=PROFILE_SCALE}.
 */
enum profile_sum { PROFILE_CALLS = 1, PROFILE_TIME, PROFILE_SQUARED, PROFILE_SUMS };
enum { PROFILE_SELF = PROFILE_SUMS, PROFILE_DETAILED_SUMS, PROFILE_SCALE = 3 };
/*
 * With details nobody asks for squares: the time of the calls that were made while the same
 * function ran in the thread already. It is in PROFILE_TIME more than once.
 */
enum { PROFILE_NESTED = PROFILE_SQUARED };

/* What the graph tracer looks at besides a site's word. Each change publishes a new one (R5). */
struct graph_config {
	uint32_t	max_depth;	/* max_graph_depth; 0: none */
	uint32_t	flags;		/* enum graph_flags */
	/* tracing_thresh in ns: only the exits of functions that took as long; 0: none */
	uint64_t	thresh;
};

enum graph_flags {
	/* set_graph_function is not empty: only the functions in it, and what they call */
	GRAPH_CHOSEN	= 1 << 0,
	/* nosleep-time: the time when the thread was not running does not count */
	GRAPH_CPU_TIME	= 1 << 1,
	/* function_profile_enabled: each call is folded at its return, recorded or not */
	GRAPH_PROFILE	= 1 << 2,
	/* nograph-time: the profile's times do not include the functions that are called */
	GRAPH_SELF_TIME	= 1 << 3,
	/* funcgraph-args: the record of a call has the registers of arguments */
	GRAPH_ARGS	= 1 << 4,
	/* The profile has details: each function's time without those that it calls */
	GRAPH_DETAILS	= 1 << 5,
	/* funcgraph-retaddr: the record also has the address that the call returns to */
	GRAPH_RETADDR	= 1 << 6,
};

/* How a probe stands in its file's code. The server makes it from the file alone. */
struct probe_plan {
	uint64_t	from;		/* p_vaddr where the displaced instructions begin */
	/* p_vaddr of the instruction that is probed: `at`, or behind the compiler's nop there */
	uint64_t	address;
	uint8_t		tactic;		/* enum code_tactic of elf/code/code.h */
	uint8_t		why;		/* enum code_why: refused for what the file says */
	uint8_t		len, nr;	/* bytes and number of the displaced instructions */
	uint8_t		before;		/* how many of them are in front of the address */
	uint8_t		offsets[8];	/* where each begins, from `from` on */
	uint8_t		returns;	/* enum code_return */
	uint8_t		pad[2];
	uint8_t		bytes[40];	/* of the file, from `from` on: `len`, and at least 5 */
};

/*
 * A probe at one place of a file. It is in the table while it is needed: some instance has its
 * event enabled or has a trigger at it. A place without one has the program's own bytes.
 */
struct probe_point {
	uint64_t	at;		/* p_vaddr in the file, without the load bias */
	/* p_vaddr of a counter (u16) that is raised while the probe is planted; 0: none */
	uint64_t	counter;
	uint32_t	event;		/* the entry of event_entry[] whose plan a hit runs */
	uint32_t	flags;		/* enum probe_point_flags */
	config_ref	code;		/* struct fetch_code (plane/fetch.h): makes the record */
	/* Its number in the first row of config_header.hits; 0: nobody asks how often it is hit */
	data_ref	hits;
	struct probe_plan plan;
};

enum probe_point_flags {
	PROBE_POINT_RETURN = 1 << 0,	/* when the function that begins at `at` returns */
};

/*
 * Some of the points of a file: a file with many has several of these. A process finds the file
 * among its own by its identity and size, or without an identity by device and inode. The points
 * are sorted by `at`; those of one place are together, in the order of definition.
 */
struct probe_file {
	uint64_t	device, inode;	/* as stat() of the server has them; inode 0: not known */
	uint64_t	size;		/* bytes from the first to the last mapped one */
	uint8_t		id[24];		/* the build-id */
	uint32_t	id_len;		/* 0: none */
	uint32_t	nr;
	uint32_t	number;		/* of the file, while it has points: for site_refused */
	uint32_t	pad;
	struct probe_point points[];
};

struct probe_table {
	uint32_t	nr;
	uint32_t	pad;
	config_ref	files[];	/* struct probe_file */
};

/*
 * The libraries whose functions somebody has asked for: patterns of file names, with * and ?, each
 * ended by 0. A ! in front: all other names. The server appends to the text and never changes what
 * is there.
 */
enum { SITE_LIBRARIES = 4092 };

struct site_libraries {
	_Atomic uint32_t size;		/* bytes of text; stored last, with release */
	char		text[SITE_LIBRARIES];
};

/*
 * The server changes words, raises `command` and wakes the programs that wait for it (a shared
 * futex). When no word names a group any more, its number is given to another group after all
 * living processes have answered, or have ended.
 */
struct site_control {
	_Atomic uint32_t command;
	/* Raised when somebody asks for functions of further programs or libraries */
	_Atomic uint32_t asked;
	_Atomic config_ref graph;	/* struct graph_config, 0: all its fields are 0 */
	/*
	 * struct probe_table: all probes that are to be planted now, 0: none. Stored before
	 * `command` is raised. A table, files and codes that it no longer names are freed when all
	 * processes have answered that command or have ended, and no hit sees them (R5).
	 */
	_Atomic config_ref probes;
	uint32_t	pad2[10];
	struct site_set	sets[LAYOUT_MAX_DSOS];	/* by the DSO's number */
	struct site_libraries libraries;
	struct plan	knock;		/* config_header.knock: nothing but zeros */
};

enum {
	SITE_SKIPS	= 21,
	PROBE_REFUSALS	= 8,
	SITES_LEFT	= 4,
	SITE_LEFT_SHIFT	= 56,
	/* The process has entered a sandbox, and had obeyed the last command before. */
	SITE_FORBIDDEN	= 1,
	/* It may have no task: its children go into another pid name space (S7 of task.c) */
	SITE_TASKLESS	= 2,
};

/*
 * A process has carried out `command`. By index in the process table. `command` is stored last,
 * with release.
 */
struct site_answer {
	_Atomic uint32_t command;
	uint32_t	pid;		/* the pid that the server sees */
	uint32_t	nr_sites;
	uint32_t	nr_skipped;	/* how many cannot be switched */
	/* By enum site_skip; [0]: their DSO was not prepared */
	uint32_t	skipped[SITE_SKIPS];
	uint32_t	nr_on;
	int32_t		err;		/* the last error, -errno; or SITE_FORBIDDEN ... */
	/* 1: it plants probes. So it answers, though it may have no sites. */
	uint32_t	plants;
	/* 1: it changes no code, or plants no probes though it was asked to */
	uint32_t	plants_never;
	/* site_control.asked: what it looked for last among its files */
	uint32_t	asked;
	/* Objects that it has loaded and knows nothing of, or may not change: they have no probe */
	uint32_t	nr_unseen;
	uint32_t	nr_probes;		/* points that are planted */
	uint32_t	nr_probes_refused;	/* points in its files that cannot be planted */
	/* Programs and libraries whose files it cannot open: their functions are not known */
	uint32_t	nr_unopened;
	struct site_refused {
		uint64_t	at;
		uint32_t	file;		/* probe_file.number */
		uint32_t	why;		/* enum code_why */
	} probe_refused[PROBE_REFUSALS];	/* the first ones */
	/*
	 * Functions that this process leaves out for a reason of its own: the first ones. The
	 * session's address, above it the enum site_skip; 0: no more
	 */
	uint64_t	left[SITES_LEFT];
	/* The DSOs with sites that the process has now: a bit each, by number */
	_Atomic uint64_t dsos[LAYOUT_MAX_DSOS / 64];
};

/*
 * One section that was the longest so far (or as long as the threshold). The thread reports it at
 * its end; a wakeup is reported by the thread that was woken. `start` and `end` are times of the
 * instance's clock. All addresses are the session's.
 */
enum { SECTION_REPORTS = 32, SECTION_STACK = 48 };

#define SECTION_UNKNOWN UINT32_MAX

struct section_end {
	uint64_t	time, ip, parent;
	/* The thread; at a wakeup's start, the thread that woke it */
	uint32_t	pid;
	uint32_t	cpu;
	uint8_t		flags, locks;	/* as in struct record_common */
	/* In a mark: the addresses are the session's, not the process's */
	uint8_t		translated;
	uint8_t		pad[5];
};

/* Where a section began, and what the session's state was then (agent/emit/section.c). */
struct section_mark {
	struct section_end at;
	uint32_t	number;		/* number of the last section that was reported */
	uint32_t	generation;
};

struct section_report {
	/* 0: free; odd: it is being written; otherwise section_state() (release) */
	_Atomic uint64_t state;
	struct section_end start, end;
	/* Which of instance_state.buffers[] has the records of the section */
	uint32_t	buffer;
	char		comm[LAYOUT_COMM_LEN];
	uint32_t	policy, rt_prio, uid;	/* The thread's; SECTION_UNKNOWN: it may not ask */
	int32_t		nice;
	uint32_t	nr_stack;	/* the stack at its end */
	uint64_t	stack[SECTION_STACK];
};

/*
 * instance_state.live says which section was the last that was reported:
 *
 *     | its number, 26 bits | which of section_log.reports it is, 5 bits | which of buffers[]
 *     records, 1 bit |
 *
 * When a section that began at that number ends, and is long enough, its thread writes a report.
 * Then one compare-and-swap raises the number, names the report and swaps the buffers. So sections
 * that began before are no longer reported. Until the next report, no thread overwrites the records
 * of this section, and no thread takes the report that is named. There is no moment in which one of
 * these holds without the others. The server takes the newest report.
 */
struct section_log {
	/*
	 * section_longest(): what a section has to exceed; the server stores it, too
	 * (tracing_max_latency)
	 */
	_Atomic uint64_t longest;
	uint64_t	pad[7];
	struct section_report reports[SECTION_REPORTS];
};

/* Numbers wrap around: their difference says which of two is newer. */
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

/* The state of a report: it belongs to one number and to one generation of the watch. */
static inline uint64_t section_state(uint32_t number, uint32_t generation)
{
	return (uint64_t)generation << 33 | 1ull << 32 | (uint64_t)(number & SECTION_NUMBER) << 1;
}

/*
 * A duration in nanoseconds, at most 78 hours, and 16 bits of the number at which sections have to
 * exceed it.
 */
static inline uint64_t section_longest(uint64_t ns, uint32_t number)
{
	return (ns >> 48 ? ~0ull : ns) << 16 | (number & 0xffff);
}

/*
 * The thread that takes the state from one of the other two to MARK_BUSY may read or write the
 * mark.
 */
enum mark_state { MARK_NONE, MARK_BUSY, MARK_SET };

/*
 * A thread that waits for others, by slot (agent/providers/thread/wake.c). The thread itself writes
 * it; the thread that wakes it leaves a mark.
 */
struct waiter {
	/* In its process; 0: it does not wait. Stored last, with release */
	_Alignas(64) _Atomic uint64_t addr;
	/* The same for all processes that know the address, too; 0: no other does */
	uint64_t	family;
	uint32_t	process;	/* index in the process table */
	uint32_t	pid;
	int32_t		cpu;		/* the CPU on which it began to wait */
	uint32_t	shared;		/* it waits for a lock that other processes may have, too */
	char		comm[LAYOUT_COMM_LEN];
	_Atomic uint32_t round;		/* raised when a waiting begins */
	_Atomic uint32_t mark_state;	/* enum mark_state */
	uint32_t	mark_round;	/* the round of the waiting that the mark is for */
	struct section_mark mark;
};

/* What programs report of themselves. It lies in the data region: nothing here is trusted. */
struct program_tables {
	_Atomic uint64_t next_task;	/* number of the next entry of the log */
	uint64_t	pad[7];
	struct task_entry tasks[LAYOUT_TASKS];
	struct dso_entry dsos[LAYOUT_MAX_DSOS];
	_Atomic uint32_t paths_used;	/* bytes of paths[] */
	char		paths[LAYOUT_PATHS];
	struct site_answer sites[LAYOUT_MAX_PROCESSES];
	struct section_log sections[SECTION_WATCHES];
	/* 1 + the watch's generation: agent_wakeup_pending() */
	_Atomic uint32_t woken[LAYOUT_MAX_PROCESSES];
	_Atomic uint32_t waiters_end;	/* no waiter from here on */
	/* dso_contents() of DSOs without sites, near number % LAYOUT_SITELESS (sites/dso.c) */
	_Atomic uint64_t siteless[LAYOUT_SITELESS];
	/* By slot. A waiter has memory once its slot has been given (config_header.slots_high). */
	struct waiter waiters[LAYOUT_MAX_SLOTS];
};

/* The record of ftrace:kernel_stack; and of ftrace:user_stack, with LAYOUT_USER_STACK addresses. */
struct stack_record {
	uint16_t	type;		/* LAYOUT_STACK_ID, LAYOUT_USER_STACK_ID */
	uint8_t		flags;
	uint8_t		preempt_count;
	int32_t		pid;
	int32_t		size;		/* addresses; of a user_stack: the process */
	int32_t		pad;
	uint64_t	caller[LAYOUT_STACK_MAX];
};

enum {
	/*
	 * How many codes of histograms may run inside each other, through synthetic events: the
	 * kernel's number
	 */
	HIT_FRAMES	= 4,
	HIT_REFS	= 16,	/* references of a histogram's code */
	HIT_VARS	= 32,	/* variables of an elt */
	HIT_PENDING	= 64,	/* records that wait for the record of their cause */
	HIT_ARENA	= 8192,	/* bytes for the synthetic records of one hit */
};

/*
 * What a reference read: a number, or where the text or stack lies. Only texts and stacks use the
 * fields other than value.
 */
struct hit_ref {
	uint64_t	value;
	data_ref	map;
	uint32_t	elt;
	uint16_t	block;		/* 1 + number of the block in that elt, 0: none */
	/*
	 * 1 + index of the op that set it. If another hist set it, of the op that found the elt; 0:
	 * none
	 */
	uint16_t	from;
};

/* Working memory for one histogram's code. */
struct hit_frame {
	/* A compound key: 3 keys, a string of 256 bytes, a stack of 31 * 8 */
	_Alignas(64) uint64_t key[128];
	uint64_t	value[16];	/* the code's stack */
	/* STRING_ROOM bytes: a text or a stack that is being copied */
	uint64_t	text[32];
	struct hit_ref	ref[HIT_REFS];
	/* By variable: the value that this hit set; for a text or stack, 1 + index of the op */
	uint64_t	own[HIT_VARS];
};

/*
 * A synthetic record that goes to a ring after the record of its cause, and the post triggers that
 * follow.
 */
struct hit_pending {
	data_ref	buffer;		/* 0: not recorded */
	uint32_t	event, arm;	/* the event whose plan runs, and which of its arms */
	uint32_t	instance;	/* the instance of that arm */
	uint32_t	post;		/* kinds of post triggers, one bit each */
	uint32_t	record, size;	/* in the arena */
};

/* Synthetic events of one hit (plane/action/synth.c). */
struct hit_synth {
	uint32_t	used;		/* how many bytes of the arena */
	uint32_t	nr_pending;
	struct hit_pending pending[HIT_PENDING];
	_Alignas(8) char arena[HIT_ARENA];
};

/*
 * func-no-repeats: the last call on a CPU in an instance, and how often it was repeated. Lock-free
 * (F2 of plane/hit_function.c).
 */
enum { REPEAT_CALLS = 7, REPEAT_COUNT = 0xffff };

struct hit_repeat {
	/* A number that stands for the call; the lower 16 bits say how often it was repeated */
	_Alignas(64) _Atomic uint64_t last;
	_Atomic uint64_t time;		/* when it was last called */
	struct repeat_call {
		_Atomic uint64_t ip, parent_ip;
	} calls[REPEAT_CALLS];		/* the call, by that number */
};

/*
 * The stack tracer: where on its stack each return address of the deepest stack lies, innermost
 * first. `at`: bytes from there to the stack's end.
 */
enum { STACK_DEEPEST = 320, STACK_REPORTS = 16 };

struct stack_depths {
	uint32_t	nr;
	uint32_t	pad;
	uint32_t	at[STACK_DEEPEST];
	uint64_t	ip[STACK_DEEPEST];
};

/*
 * One word says how deep the deepest stack is and which report has it. A call that is deeper takes
 * a free report, fills it, and then changes the word. So there is always a whole report, and no
 * thread waits. A thread that is killed meanwhile leaves a report taken.
 */
struct stack_deepest {
	_Atomic uint64_t word;		/* stack_word() */
	uint64_t	pad[7];
	struct stack_report {
		_Atomic uint32_t taken;
		uint32_t	pad;
		struct stack_depths depths;
	} reports[STACK_REPORTS];
};

/* report: 1 + its index, 0: none */
static inline uint64_t stack_word(uint64_t bytes, uint32_t report)
{
	return bytes << 8 | report;
}

static inline uint64_t stack_word_bytes(uint64_t word)
{
	return word >> 8;
}

static inline uint32_t stack_word_report(uint64_t word)
{
	return (uint32_t)(word & 0xff);
}

/* Working memory for one level of hits, so that nothing large lies on a traced program's stack. */
struct hit_scratch {
	struct hit_frame frame[HIT_FRAMES];
	struct stack_record stack;
	struct hit_synth synth;
	_Alignas(64) uint64_t record[256];	/* a record that is being filled */
};

/*
 * Why a process cannot join, as far as the process finds it out itself. A program is then not
 * traced; a child of fork() tries again. The process that executes it finds out the last reasons.
 */
enum untraced {
	UNTRACED_DESCRIPTORS,	/* the server has no descriptor left */
	UNTRACED_FULL,		/* no entry in the table of processes, or no slot */
	UNTRACED_LATE,		/* the server did not answer in time */
	UNTRACED_SERVER,	/* there is no server */
	UNTRACED_OTHER,
	/* A filter forbids what joining needs: to it, or to some threads. Both may count it. */
	UNTRACED_SANDBOX,
	UNTRACED_STRICT,	/* from the moment on that a thread entered seccomp's strict mode */
	/* Counted by the process that executes it. */
	UNTRACED_USER,		/* it is another user's */
	UNTRACED_ROOT,		/* It cannot reach the session's directory, or the agent's file */
	UNTRACED_RIGHTS,	/* Its file gives it more rights: nothing is preloaded */
	UNTRACED_ENVIRONMENT,	/* The environment names no agent or no session */
	UNTRACED_STATIC,
	UNTRACED_LIBC,		/* it has another C library, or is for another machine */
	UNTRACED_SANITIZER,	/* it has a sanitizer, which has to be loaded first */
	UNTRACED_REASONS
};

/*
 * What processes and threads lose that have no slot to count in. Any of them adds, relaxed, on the
 * slow way. The counts outlive the processes.
 */
/* `syscall` instructions, where events of system calls were asked for. */
enum gate_count {
	GATES_PROCESSES,	/* processes whose instructions are hooked */
	GATES_WITHOUT,		/* processes that could not hook them */
	GATES_REFUSED,		/* instructions that could not be hooked */
	GATES_COUNTS
};

/* Why return addresses are left alone in a process. */
enum returnless {
	RETURNLESS_UNWINDER,	/* libunwind.so.8 */
	RETURNLESS_COPIES,	/* greenlet, Guile, PyPy, Ruby's callcc */
	RETURNLESS_SHADOW,	/* the processor's shadow stack */
	/* Runtimes that look at their own stacks */
	RETURNLESS_V8,
	RETURNLESS_JVM,
	RETURNLESS_LUAJIT,
	RETURNLESS_OCAML,
	RETURNLESS_GCCGO,
	RETURNLESS_TSAN,
	RETURNLESS_MOARVM,
	RETURNLESS_SANDBOX,	/* only of threads that began behind it */
	RETURNLESS_REASONS
};

struct losses {
	_Atomic uint64_t hits;		/* hits of threads without a slot */
	_Atomic uint64_t threads;	/* how many threads have lost a hit in this way */
	_Atomic uint64_t processes;	/* how many processes had such threads */
	_Atomic uint64_t untraced[UNTRACED_REASONS];	/* how many processes could not join */
	_Atomic uint64_t gates[GATES_COUNTS];		/* enum gate_count */
	/* 1 << enum returnless, of processes whose returns were asked for */
	_Atomic uint64_t returnless;
};

struct data_header {
	uint64_t	magic;
	_Atomic uint64_t generation;
	/*
	 * A command dump or cpudump was carried out: 1: all CPUs, otherwise 2 + the CPU. A hit sets
	 * it from 0; the server sets it to 0 when it has written out the top instance's buffer.
	 */
	_Atomic uint64_t dump;
	struct losses	losses;
};

/*
 * R4: what a new server needs to restore a session. `path` is the file of the tree to which the
 * text was written, and `text` is the command in canonical form. The next server writes them again
 * in order of serial. The refs say which maps and rings are restored, so that they are not made
 * again.
 */
struct saved {
	config_ref	next;		/* an older saved text */
	config_ref	newer;		/* the one before it; only for the server that stored it */
	uint64_t	serial;
	_Atomic uint32_t live;		/* 0: removed */
	uint32_t	nr_refs;
	uint64_t	refs[6];	/* offsets of data or config to restore, by kind */
	uint32_t	path_len;	/* with the 0 at its end */
	uint32_t	text_len;
	char		bytes[];	/* the path, then the text */
};

#endif
