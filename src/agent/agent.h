/* SPDX-License-Identifier: MIT */
/*
 * agent.h - inside a traced program: what the parts of the agent offer to each other
 *
 *   libtracefuse.so              attach, threads, DSOs, emit, static events
 *   libtracefuse-providers.so    interposers of libc's functions (src/agent/providers);
 *                                preloaded by `tracefuse run`, depends on the first
 *
 *   a hit:  interposer or TRACE_EVENT -> agent_enter -> agent_emit -> hit() -> agent_leave
 *
 * A1  Nothing here takes a lock, allocates or makes a system call in a thread
 *     that has had its first hit. The first hit may: it runs with all signals
 *     blocked, and gives up (the hit is counted as missed) rather than wait
 *     longer than a second for a server that answers nobody (patience.c).
 * A2  Nothing here changes errno.
 * A3  Nothing here calls a function of libc that somebody may interpose, but in
 *     the constructor; system calls are made by agent_syscall().
 * A4  The process may close, dup over and reuse any descriptor, change its root,
 *     ids and limits; its memory stays mapped. A descriptor is used only while
 *     fstat() says that it is the socket that it was.
 * A5  In a child of fork() a page that the kernel wipes says that it is not
 *     attached; its first hit attaches it anew.
 * A6  A hit that was left by siglongjmp is found by the next one: its frame lies
 *     below the stack pointer of the same stack (agent_thread.frame[], stack.c).
 */
#ifndef TRACEFUSE_AGENT_AGENT_H
#define TRACEFUSE_AGENT_AGENT_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "plane/plane.h"

/* Between the two libraries; no part of the public interface. */
#define AGENT_API __attribute__((visibility("default")))

/* As in the kernel's records (common_flags, R26). */
enum agent_flags {
	/* all signals that can be are blocked: printed as irqs-off */
	AGENT_SIGNALS_OFF = 0x01,
	AGENT_HANDLER	= 0x08,		/* in a signal handler: printed as hardirq */
};

enum {
	AGENT_STACK = 64,	/* frames of a stack trace at most */
	/* no_rseq: a clone() runs beside the thread with its control block; it is not recorded */
	AGENT_SHARED = 255,
};

/* Where the last hit of an event went, to go there again (way.c). */
struct agent_way {
	_Alignas(64) uint64_t seen;	/* while it is this one: way_seen() */
	uint64_t	on;		/* the instance's tracing_on and live, as they were */
	uint32_t	event;		/* id; 0: leads nowhere */
	uint32_t	cpu;		/* whose ring it is */
	struct instance_state *inst;
	struct ring	*ring;
	uint64_t	mult, offset;	/* of the counter: struct clock_scale with a shift of 64 */
	uint64_t	subbuf_size;
	void		*rseq;		/* the thread's struct rseq_area */
	uint64_t	bit;		/* the instance's, in struct hit.mask; 0: it has none */
	uint32_t	type;		/* of the record */
	/*
	 * as event, where its group has no function event, and the graph tracer no settings; 0: it
	 * is not so
	 */
	uint32_t	plain;
	/* the thread's, which stays where it is when that one has none any more */
	struct slot	*slot;
	/* of functions: bytes behind a record on a page where it is the first */
	uint64_t	room;
	uint64_t	epoch;		/* in which it was made */
};

enum { AGENT_WAYS = 16 };

/*
 * The same of a hit that one histogram counts and nothing else (shortcut.c). All addresses come of
 * the config region. Where `early` and `late` are 0, an integer of 4 or 8 bytes is the key and
 * there is no value.
 */
struct agent_count {
	_Alignas(256) uint64_t seen;	/* as in struct agent_way */
	uint32_t	event;		/* entry; 0: leads nowhere */
	uint8_t		key, key2, value;	/* enum count_load */
	uint8_t		shift;		/* of a hash: the number of its first place is left */
	uint8_t		early, late;	/* enum count_early, enum count_late */
	uint16_t	key_off, key2_off, value_off;	/* in the record */
	uint32_t	size;		/* bytes of a record that are looked at */
	uint32_t	last;		/* number of the last elt */
	const void	*soft;		/* a word that is 0 while the event is recorded, too */
	const void	*paused;	/* one that is not 0 while the histogram counts nothing */
	char		*entries, *elts;
	/* a cache line */
	uint64_t	elt_size;
	char		*sums;
	uint64_t	stride;		/* bytes of an elt's sums */
	uint64_t	column_size;
	void		*rseq;		/* the thread's struct rseq_area */
	struct slot	*slot;		/* as in struct agent_way */
	uint32_t	nr_plain, mask;	/* columns; numbers of places */
	uint64_t	taken;		/* hits that it was good for */
	/* a cache line: COUNT_FILTER, COUNT_CALL, COUNT_TIME */
	uint64_t	filter_low, filter_span;	/* `if`: field - low is at most span */
	uint16_t	filter_off;
	uint8_t		filter;		/* enum count_load */
	uint8_t		usecs;		/* 1: the variable is in microseconds */
	uint32_t	var;		/* offset of the variable in an elt */
	const void	*clock;		/* the instance's, while it is */
	uint32_t	clock_id;	/* this one */
	/* the entry that count_make() was asked for last, in this epoch */
	uint32_t	asked;
	uint64_t	mult, offset;	/* as in struct agent_way */
	/* What is no assembly. False: it has done nothing. Under the guard. */
	bool		(*call)(struct agent_count *c, void *record, uint32_t size);
	/* a cache line: for that */
	const struct plan *plan;
	const struct code *code;
	struct agent_thread *thread;
	uint32_t	shortcut;	/* enum shortcut */
	uint32_t	turns;		/* other entries that wanted the place */
	uint64_t	epoch;		/* in which count_make() was asked */
};

/* How a field is loaded; the first three by the shortest way. */
enum count_load {
	COUNT_U32,
	COUNT_S32,
	COUNT_64,
	COUNT_U8,
	COUNT_S8,
	COUNT_U16,
	COUNT_S16,
	COUNT_NONE
};

/* What is done before the key is looked for, and after it was counted. */
enum count_early {
	COUNT_TWO	= 1 << 0,	/* there are two keys */
	COUNT_OTHER	= 1 << 1,	/* a key that none of the first three loads */
	COUNT_LOG2	= 1 << 2,	/* the key is the field's .log2 */
	COUNT_FILTER	= 1 << 3,	/* there is an `if` */
	COUNT_CALL	= 1 << 4,	/* call() does the rest */
	COUNT_TIMED	= 1 << 5,	/* the time is taken */
	COUNT_PARENT	= 1 << 6,	/* of a function: the first key is parent_ip */
	/* of a function: entry.S has the keys, and nothing else is asked */
	COUNT_IPS	= 1 << 7,
};

enum count_late {
	COUNT_VALUE	= 1 << 0,	/* there is a value */
	COUNT_TIME	= 1 << 1,	/* the time is what a variable is set to */
};

/* Shortcuts of threads, in the order of the table in shortcut.c. */
enum shortcut {
	SHORTCUT_FUNCTION, SHORTCUT_KEYS, SHORTCUT_LOG2, SHORTCUT_TIME, SHORTCUT_SINCE,
	SHORTCUT_TEXT, SHORTCUT_ANY, SHORTCUTS
};

/* The same of the function profile's map, on one CPU (profile.c). */
struct agent_profile {
	_Alignas(64) uint64_t seen;	/* as in struct agent_way */
	const char	*entries;	/* of the map */
	const char	*elts;
	uint32_t	event;		/* entry; 0: leads nowhere */
	uint32_t	last_elt;
	char		*sums;		/* of elt 0, in the CPU's column */
	uint64_t	mult, offset;	/* of the counter: struct clock_scale with a shift of 64 */
	void		*rseq;		/* the thread's struct rseq_area */
	struct slot	*slot;
	char		*shared;	/* of elt 0, in the column of those that add atomically */
	uint32_t	cpu;
	uint32_t	mask;		/* of places in the table */
	uint32_t	shift;		/* from a hash of 64 bits to its first place */
	uint32_t	tried;		/* entry: it was looked for, found or not */
	uint64_t	epoch;		/* then */
};

enum { AGENT_PROFILES = 4 };

#define GRAPH_LONG (1ull << 63)

/*
 * What a thread is in of the functions that are hooked (graph.c); slots are where their return
 * addresses lie.
 */
struct agent_graph {
	/*
	 * The short way: slots of the thread's own stack that lie in the piece that was looked up
	 * last; 0: none.
	 */
	uintptr_t	low;
	uintptr_t	size;
	struct graph_piece *piece;
	uintptr_t	top;		/* the innermost slot on the thread's own stack; 0: none */
	/* of who is called below it: its depth, or what does not go the short way */
	uint64_t	state;
	uint32_t	overrun;	/* functions that could not be hooked */
	uint32_t	turn;		/* raised whenever `piece` is another */
};

/* Critical sections of a thread. */
struct agent_section {
	/* in one that is watched: what functions with ARM_SECTION ask */
	bool		on;
	uint16_t	locks, own;	/* since somebody watched */
	uint32_t	state;		/* enum section_kind: what holds */
	uint32_t	generation;
	struct section_mark mark;
};

/* A thread that has had a hit. Private memory of the process, one for each slot, never freed. */
struct agent_thread {
	struct slot	*slot;
	/* Eight bytes that one load takes; flags, locks and pid as in struct record_common. */
	/* children of vfork() that run on this thread's slot, or AGENT_SHARED */
	uint8_t		no_rseq;
	uint8_t		zero;
	uint8_t		flags;		/* enum agent_flags, kept by providers/signal/signal.c */
	uint8_t		locks;		/* locks held, of lock/lock.c: common_preempt_count */
	uint32_t	pid;		/* as the server sees it */
	uint32_t	tid;		/* in the process's own name space */
	uint32_t	tgid;		/* the process, as the server sees it */
	uint8_t		busy;		/* in an interposer: what it calls is not recorded */
	/* the CPU it runs on: libc's rseq area, or a negative number */
	const volatile int32_t *cpu;
	char		comm[LAYOUT_COMM_LEN];
	uintptr_t	stack_low, stack_high;	/* the thread's own stack; 0: not known */
	/* where the guard leaves the hit that is on its way; 0: there is none */
	uintptr_t	resume;
	uintptr_t	frame[LAYOUT_HIT_LEVELS];	/* A6: by level, where its hit() runs */
	/* the DSO that was looked up last: addresses in its code */
	uintptr_t	code_start, code_end;
	uint64_t	dso_delta;		/* plus this are the session's */
	uint32_t	dso_age;		/* how many had gone then */
	/* large records that are being filled, inside each other */
	uint32_t	nr_large;
	/* LAYOUT_HIT_LEVELS pages for them; NULL: none yet */
	char		*large;
	uintptr_t	large_frame[LAYOUT_HIT_LEVELS];	/* A6 */
	/* of the DSO that had a hit last (sites/hit.h); NULL: none yet */
	const struct site_table *sites;
	struct agent_way ways[AGENT_WAYS];	/* by entry */
	struct agent_graph graph;
	struct agent_section section;
	/* raised whenever code_start to dso_age are another DSO's */
	uint32_t	code_turn;
	struct agent_count counts[AGENT_WAYS];	/* by entry */
	struct agent_profile profiles[AGENT_PROFILES];	/* by entry */
	/* call_any() of shortcut.c stores some of it, the rest is 0 */
	struct hit	hit;
	uint64_t	taken[SHORTCUTS];	/* hits of shortcuts that are in counts[] no more */
};

/*
 * The thread's slot now. NULL: it has none, or any more: where the session's memory is damaged, a
 * fault of this thread or of another one takes it (guard.c), between any two looks at it.
 */
static inline struct slot *agent_slot(const struct agent_thread *t)
{
	return *(struct slot *const volatile *)&t->slot;
}

/*
 * What is to be added to an address in the code of the DSO that was looked up
 * last. False: it is not in there, or a handler has looked up another one just now.
 */
static inline bool agent_code_delta(const struct agent_thread *t, uintptr_t addr, uint32_t age,
				    uint64_t *delta)
{
	const uint32_t turn = *(const volatile uint32_t *)&t->code_turn;
	bool is_in;

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	is_in = t->dso_age == age && addr - t->code_start < t->code_end - t->code_start;
	*delta = t->dso_delta;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return is_in && turn == *(const volatile uint32_t *)&t->code_turn;
}

/* Memory that the program has not asked for, but which the kernel counts and locks as its own. */
enum { AGENT_REGIONS = 3 };
struct agent_region {
	uintptr_t	start;
	uint64_t	size;
};

/* The calling thread, as the library keeps it: initial-exec, so reading it calls nothing. */
struct agent_self {
	struct agent_thread *thread;
	uint64_t	retry;		/* counter: no slot was to be had, not again before */
	uint64_t	signals;	/* blocked before the slow path */
	uint8_t		first;		/* in the slow path */
	uint8_t		leaving;	/* rounds of destructors */
	struct agent_region alternate;	/* agent_alternate() */
	/* agent_here.lost of the process in which it is counted in losses.threads */
	uint32_t	lost;
	/* tasks.c */
	/* the thread whose creator is known, in its own name space: not that of a raw clone() */
	uint32_t	born;
	bool		forks;		/* `forking` is of the fork() that is on its way */
	const struct pids_family *family;	/* while agent_born() runs */
	struct pids_family forking;
};

AGENT_API extern __thread struct agent_self agent_self
	__attribute__((tls_model("initial-exec")));

/* ---- Emitting: async-signal-safe ---- */

/* Where agent_thread() finds none. */
AGENT_API struct agent_thread *agent_thread_first(void);

/*
 * The calling thread; its first call takes a slot. NULL: the process is not
 * attached, or in a slow path of the agent, or no slot is to be had (counted).
 */
static inline struct agent_thread *agent_thread(void)
{
	/* Without a slot: a child of fork(), where what it points to was wiped (A5). */
	return __builtin_expect(agent_self.thread && agent_slot(agent_self.thread), 1) ?
	       agent_self.thread : agent_thread_first();
}

/* The same without a first hit: NULL where there was none. */
AGENT_API struct agent_thread *agent_thread_known(void);

/*
 * For interposers: agent_thread(), marked busy so that what the interposer
 * itself calls is not recorded. NULL: call the real function and nothing else.
 */
AGENT_API struct agent_thread *agent_enter(void);
AGENT_API void agent_leave(struct agent_thread *t);

/*
 * One hit by the plan of entry `id`: of event `id`, or of a group of functions. `record` begins
 * with room for struct record_common, which is filled in here. `frame` is
 * __builtin_frame_address(0) of the function that the program calls: stacks begin with its
 * return address; NULL: no stack.
 */
AGENT_API void agent_emit(struct agent_thread *t, uint32_t id, void *record, uint32_t size,
			  const void *frame);

/*
 * How many hits of the thread a shortcut was taken for, and its name; NULL: there is none. For
 * tests.
 */
AGENT_API uint64_t agent_shortcut_taken(const struct agent_thread *t, unsigned int shortcut);
AGENT_API const char *agent_shortcut_name(unsigned int shortcut);

/*
 * The same where one histogram counts the hit, looks at no more than the first `size` bytes of the
 * record, and nothing else wants it. false: nothing has been done, and agent_emit() is to be given
 * the whole record. So what nobody looks at need not be found out.
 */
AGENT_API bool agent_count(struct agent_thread *t, uint32_t id, const void *record, uint32_t size);

AGENT_API extern _Atomic uint32_t agent_dso_age;	/* raised when a DSO has gone */
AGENT_API uint64_t agent_address_long(struct agent_thread *t, const void *addr);

/*
 * An address of this process as one of the session (R19); addresses in no DSO stay as they are. A
 * label of graph.S stands for another address: dso.c notes no DSO that has labels.
 */
static inline uint64_t agent_address(struct agent_thread *t, const void *addr)
{
	/* D2 of dso.c: pairs with the release in agent_dso_closed(). */
	const uint32_t age = atomic_load_explicit(&agent_dso_age, memory_order_acquire);
	uint64_t delta;

	return __builtin_expect(agent_code_delta(t, (uintptr_t)addr, age, &delta), 1) ?
	       (uintptr_t)addr + delta : agent_address_long(t, addr);
}

/* ---- Providers ---- */

/* event_entry[] of the providers' events by number in their table; all 0 while not attached. */
AGENT_API extern const struct event_entry *agent_provider_events;
AGENT_API extern uint32_t agent_provider_id;	/* id of number 0 */

/* Whether event number `nr` of the table is armed: one load and a compare behind a pointer. */
static inline bool provider_armed(unsigned int nr)
{
	/* Relaxed: hit() loads it again with acquire. */
	return __builtin_expect(
		atomic_load_explicit(&agent_provider_events[nr].plan, memory_order_relaxed) != 0,
		0);
}

/* ---- Sections that latency tracers watch for (section.c) ---- */

/* struct section_control's kinds, or a 0. */
AGENT_API extern const _Atomic uint32_t *agent_section_kinds;

/* Which of these somebody watches for: one load behind a pointer. */
static inline uint32_t agent_section_kinds_of(uint32_t kinds)
{
	/* Relaxed: what is seen late is seen with the next one. */
	return atomic_load_explicit(agent_section_kinds, memory_order_relaxed) & kinds;
}

static inline bool agent_section_watched(uint32_t kinds)
{
	return __builtin_expect(agent_section_kinds_of(kinds) != 0, 0);
}

/*
 * Signals of the thread have been blocked (on), or will be unblocked now; it has
 * one lock more, or will have one less. ip: the function that did it, parent:
 * its caller, frame as of agent_emit(). Only while that kind is watched.
 */
AGENT_API void agent_section_change(struct agent_thread *t, uint32_t kind, bool on, const void *ip,
				    const void *parent, const void *frame);
/*
 * A section of its own: where it began, which may be in another thread; false: not now. And its
 * end.
 */
AGENT_API bool agent_section_begin(struct agent_thread *t, unsigned int watch,
				   struct section_mark *m, const void *ip, const void *parent);
AGENT_API void agent_section_end(struct agent_thread *t, unsigned int watch,
				 const struct section_mark *m, const void *ip, const void *parent,
				 const void *frame);

/*
 * Whether a thread of this process has been woken and does not run yet: functions with ARM_WAKEUP
 * are recorded meanwhile. A child of fork() has none. It may be told of another process, by its
 * index.
 */
AGENT_API void agent_wakeup_tell(uint32_t process, bool pending);
AGENT_API bool agent_wakeup_pending(void);
/*
 * Threads that wait, by slot: *nr places of struct program_tables, of which those in front of *end
 * have been used.
 */
AGENT_API struct waiter *agent_waiters(uint32_t *nr, _Atomic uint32_t **end);
/* The process's index. */
AGENT_API uint32_t agent_process(void);
/* Of the thread's slot; UINT32_MAX: it has none. */
AGENT_API uint32_t agent_slot_index(const struct agent_thread *t);

/*
 * Defined by libtracefuse-providers.so and nobody else: its provider_table_version().
 * Called in the first constructor, so it may use nothing that a constructor makes.
 */
AGENT_API uint64_t agent_providers_table(void) __attribute__((weak));

/*
 * The same (signal.c): t->flags with AGENT_HANDLER as it is now, at the caller's frame.
 * Asked at a thread's first hit, and at each in a handler, which may have been left by siglongjmp.
 */
AGENT_API uint8_t agent_signal_flags(const struct agent_thread *t, const void *frame)
	__attribute__((weak));

/*
 * SIGBUS, SIGSEGV or SIGFPE that comes of a session whose memory is damaged: it has been seen to.
 */
AGENT_API bool agent_guard_takes(int sig, const siginfo_t *info, void *context);
typedef void (*agent_guard)(int sig, siginfo_t *info, void *context);
/* The handler that is set for a signal while the program has none; NULL: there is none of ours. */
AGENT_API agent_guard agent_guard_handler(int sig);

/* Whether a static event of this process is armed, or one with an id between theirs. */
AGENT_API bool agent_events_armed(void);
/* Functions of this process are traced. */
AGENT_API bool agent_functions_on(void);
/*
 * The program is about to make these bytes writable by `prot`, which may be code with sites
 * (pages.c) or sleds that XRay is about to patch.
 */
AGENT_API void agent_code_written(const void *at, uint64_t size, int prot);

/*
 * A sandbox has been entered: the struct sock_fprog of a seccomp filter, which is looked at, or
 * NULL for the strict mode. Makes no system call.
 */
AGENT_API void agent_sandboxed(const void *filter);
/* Since then: no system calls that the program did not ask for. */
AGENT_API bool agent_restricted(void);
/* Files may be looked at, before they are executed. */
AGENT_API bool agent_may_look(void);
/* As the program sees them; in a sandbox that forbids to ask what is known without, or 0. */
AGENT_API int32_t agent_own_pid(void);
AGENT_API int32_t agent_own_tid(void);
/* The calling thread makes no hit any more (it may not read the time stamp counter). */
AGENT_API void agent_thread_silence(void);

/* The program has set a system call filter of its own since it began. */
AGENT_API bool agent_filtered(void);
/* The thread's scheduling and user may be asked for: what few need, and a sandbox may kill for. */
AGENT_API bool agent_may_ask(void);

/*
 * The alternate stack that handlers of this thread run on now, size 0: none. signal.c sets it. It
 * may be too small for what is slow, and may lie within the thread's own stack. Async-signal-safe.
 */
AGENT_API struct agent_region *agent_alternate(void);

/*
 * The session's and what belongs to it, by ascending addresses; -> how many, 0 where the process
 * has not been attached.
 */
AGENT_API unsigned int agent_regions(struct agent_region out[AGENT_REGIONS]);
/* By how much RLIMIT_AS was raised for all that is the agent's. */
AGENT_API uint64_t agent_mapped(void);

/*
 * Before vfork(): a ring for the child that runs on the thread's slot. Waits for the server, a
 * second at most.
 */
AGENT_API void agent_thread_lend(struct agent_thread *t);
/* The thread has a new name (prctl, pthread_setname_np). */
AGENT_API void agent_thread_renamed(struct agent_thread *t);
/*
 * Another thread of the process has: `tid` in the process's name space; nothing where it has had no
 * hit.
 */
AGENT_API void agent_other_renamed(uint32_t tid, const char *name);
/*
 * New tasks and the sets of pids of who makes them (tasks.c). The creator: false: nobody asks. The
 * new thread, before it does anything else, with its number in the process's own name space and
 * what its creator found, NULL where nobody asked; the new process; the child of vfork() on its
 * parent's memory.
 */
AGENT_API bool agent_family(struct pids_family *out);
AGENT_API void agent_born(uint32_t tid, const struct pids_family *family);
AGENT_API void agent_forked(const struct pids_family *family);
AGENT_API void agent_vforked(void);
/*
 * Around a call that wants a process without a task of ours, or changes what
 * its threads may do. false: there was none to end, and none is to begin.
 */
AGENT_API bool agent_task_end(void);
AGENT_API void agent_task_again(void);
/* Whether a call by syscall() wants that; its first two arguments. */
AGENT_API bool agent_call_wants_alone(long nr, uint64_t a, uint64_t b);
/* The program is about to drop capabilities from its bounding set. */
AGENT_API void agent_task_unbind(void);
/*
 * On the way to exec, by whom a program is executed that will not be traced: whether the session is
 * out of its reach, UNTRACED_REASONS: it is not; and one more (1), or one less that could not be
 * executed (-1).
 */
AGENT_API enum untraced agent_exec_reach(void);
AGENT_API void agent_exec_untraced(enum untraced why, int nr);
/* A DSO has gone: what was looked up is looked up again. */
AGENT_API void agent_dso_closed(void);

#endif
