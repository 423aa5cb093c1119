/* SPDX-License-Identifier: MIT */
/*
 * agent.h - inside a traced program: what the parts of the agent offer to each other
 *
 *   libtracefuse.so              attach, threads, DSOs, emit, static events: for programs that
 *                                are linked with it
 *   libtracefuse-providers.so    the same and interposers of libc's functions
 *                                (src/agent/providers): preloaded by `tracefuse run`
 *
 *   a hit:  interposer or TRACE_EVENT -> agent_enter -> agent_emit -> hit() -> agent_leave
 *
 * A1  Nothing here takes a lock, allocates or makes a system call in a thread that
 *     has had its first hit. The first hit may: it runs with all signals blocked.
 *     Rather than wait longer than a second for a server that answers nobody
 *     (patience.c), it gives up, and the hit is counted as missed.
 * A2  Nothing here changes errno.
 * A3  Nothing here calls a function of libc that may be interposed, except in the
 *     constructor; agent_syscall() makes the system calls.
 * A4  The process may close, replace (dup2) and reuse any descriptor, and change its
 *     root, ids and limits; its memory stays mapped. A descriptor is used only while
 *     fstat() shows that it is still the same socket.
 * A5  A page that the kernel wipes in a child of fork() says whether the process is
 *     attached. So a child is not, and its first hit attaches it again.
 * A6  A hit that was left by siglongjmp is found by the next one: its frame is
 *     below the stack pointer of the same stack (agent_thread.frame[], stack.c).
 */
#ifndef TRACEFUSE_AGENT_AGENT_H
#define TRACEFUSE_AGENT_AGENT_H

#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "plane/plane.h"

/* Exported for tests and for a second agent (second.c); not a part of the public interface. */
#define AGENT_API __attribute__((visibility("default")))

/* As in the kernel's records (common_flags, R26). */
enum agent_flags {
	/* All signals that can be blocked are: printed as irqs-off. */
	AGENT_SIGNALS_OFF = 0x01,
	AGENT_HANDLER	= 0x08,		/* in a signal handler: printed as hardirq */
};

enum {
	AGENT_STACK = 64,	/* frames of a stack trace at most */
	/*
	 * no_rseq: a clone() that shares the thread's control block runs too; it is not recorded.
	 */
	AGENT_SHARED = 255,
};

/* Where the last hit of an event went, so that the next one goes there directly (way.c). */
struct agent_way {
	_Alignas(64) uint64_t seen;	/* way_seen(): valid while it is equal to that */
	uint64_t	on;		/* the instance's tracing_on and live when it was made */
	uint32_t	event;		/* id; 0: leads nowhere */
	uint32_t	cpu;		/* the CPU of the ring */
	struct instance_state *inst;
	struct ring	*ring;
	uint64_t	mult, offset;	/* of the counter: struct clock_scale with a shift of 64 */
	uint64_t	subbuf_size;
	void		*rseq;		/* the thread's struct rseq_area */
	uint64_t	bit;		/* the instance's in struct hit.mask; 0: it has none */
	uint32_t	type;		/* common_type of the record */
	/*
	 * Equal to event, if its group has no function event and the graph tracer has no settings;
	 * else 0.
	 */
	uint32_t	plain;
	/* The thread's slot; it stays here when the thread has none any more. */
	struct slot	*slot;
	/* For functions: bytes behind a record that is the first one on a page. */
	uint64_t	room;
	uint64_t	epoch;		/* when it was made */
};

enum { AGENT_WAYS = 16 };

/*
 * The same for a hit that one histogram counts and nothing else (shortcut.c). All addresses come
 * from the config region. If `early` and `late` are 0, the key is an integer of 4 or 8 bytes and
 * there is no value.
 */
struct agent_count {
	_Alignas(256) uint64_t seen;	/* as in struct agent_way */
	uint32_t	event;		/* entry; 0: leads nowhere */
	uint8_t		key, key2, value;	/* enum count_load */
	uint8_t		shift;		/* to the right: from a hash to its first place */
	uint8_t		early, late;	/* enum count_early, enum count_late */
	uint16_t	key_off, key2_off, value_off;	/* in the record */
	uint32_t	size;		/* bytes of a record that are read */
	uint32_t	last;		/* number of the last elt */
	const void	*soft;		/* a word; not 0: the event is soft disabled */
	const void	*paused;	/* a word; not 0: the histogram is paused */
	char		*entries, *elts;
	/* The next cache line. */
	uint64_t	elt_size;
	char		*sums;
	uint64_t	stride;		/* bytes of an elt's sums */
	uint64_t	column_size;
	void		*rseq;		/* the thread's struct rseq_area */
	struct slot	*slot;		/* as in struct agent_way */
	uint32_t	nr_plain, mask;	/* CPUs with a column; mask of place numbers */
	uint64_t	taken;		/* hits that took this shortcut */
	/* The next cache line: COUNT_FILTER, COUNT_CALL, COUNT_TIMED. */
	uint64_t	filter_low, filter_span;	/* `if`: field - low is at most span */
	uint16_t	filter_off;
	uint8_t		filter;		/* enum count_load */
	uint8_t		usecs;		/* 1: the variable is in microseconds */
	uint32_t	var;		/* offset of the variable in an elt */
	const void	*clock;		/* the instance's clock; the shortcut holds while it is */
	uint32_t	clock_id;	/* this one */
	/* The last entry that count_make() was called for, in this epoch. */
	uint32_t	asked;
	uint64_t	mult, offset;	/* as in struct agent_way */
	/* A shortcut in C. False: it has done nothing. Under the guard. */
	bool		(*call)(struct agent_count *c, void *record, uint32_t size);
	/* The next cache line: for call(). */
	const struct plan *plan;
	const struct code *code;
	struct agent_thread *thread;
	uint32_t	shortcut;	/* enum shortcut */
	uint32_t	turns;		/* other entries that wanted the place */
	uint64_t	epoch;		/* when count_make() was called */
	const struct agent_other *other;	/* COUNT_SINCE */
	/* Actions: the elt was counted, and its variable is `value`. Under the guard. */
	void		(*rest)(struct agent_count *c, void *record, uint32_t size, uint32_t elt,
				uint64_t value, uint64_t now);
};

/* For a difference: the histogram whose variable is subtracted. Its key is the same word. */
struct agent_other {
	/* A word that names its map; the shortcut holds while it is `map`. */
	_Alignas(64) const void *cell;
	uint64_t	map;
	const char	*entries, *elts;
	uint64_t	elt_size;
	uint32_t	last, mask;	/* as in struct agent_count */
	uint32_t	var;		/* offset of the variable in an elt */
	uint8_t		shift;		/* as there, of a hash's upper half */
};

/* How a field is loaded; the first three are the fastest. */
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

/* What is done before the key is looked up, and after the hit was counted. */
enum count_early {
	COUNT_TWO	= 1 << 0,	/* there are two keys */
	COUNT_OTHER	= 1 << 1,	/* the first three loads cannot load a key */
	COUNT_LOG2	= 1 << 2,	/* the key is the field's .log2 */
	COUNT_FILTER	= 1 << 3,	/* there is an `if` */
	COUNT_CALL	= 1 << 4,	/* call() does the rest */
	COUNT_TIMED	= 1 << 5,	/* the time is read */
	COUNT_PARENT	= 1 << 6,	/* of a function: the first key is parent_ip */
	/* Of a function: entry.S has the keys in registers, and nothing else is needed. */
	COUNT_IPS	= 1 << 7,
};

enum count_late {
	COUNT_VALUE	= 1 << 0,	/* there is a value */
	COUNT_TIME	= 1 << 1,	/* a variable is set to the time */
	/* A variable is set to the time since another one; if that is unset, nothing is counted. */
	COUNT_SINCE	= 1 << 2,
	COUNT_REST	= 1 << 3,	/* behind COUNT_SINCE: rest() does the rest */
};

/* Shortcuts of threads, in the order of the table in shortcut.c. */
enum shortcut {
	SHORTCUT_FUNCTION, SHORTCUT_KEYS, SHORTCUT_LOG2, SHORTCUT_TIME, SHORTCUT_SINCE,
	SHORTCUT_ACTIONS, SHORTCUT_TEXT, SHORTCUT_ANY, SHORTCUTS
};

/* The same for the function profile's map, on one CPU (profile.c). */
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
	char		*shared;	/* of elt 0, in the column that threads add to atomically */
	uint32_t	cpu;
	uint32_t	mask;		/* of place numbers in the table */
	uint32_t	shift;		/* to the right: from a hash to its first place */
	uint32_t	tried;		/* entry: it was looked for, found or not */
	uint64_t	epoch;		/* when it did */
};

enum { AGENT_PROFILES = 4 };

#define GRAPH_LONG (1ull << 63)

/*
 * The hooked functions that a thread is in (graph.c). A slot is the place of a return address on
 * the stack.
 */
struct agent_graph {
	/*
	 * For the short way: the slots of the thread's own stack that are in the piece that was
	 * looked up last. size 0: none.
	 */
	uintptr_t	low;
	uintptr_t	size;
	struct graph_piece *piece;
	uintptr_t	top;		/* the innermost slot on the thread's own stack; 0: none */
	/* State of a function below it: its depth, or a value that does not go the short way. */
	uint64_t	state;
	uint32_t	overrun;	/* functions that could not be hooked */
	uint32_t	turn;		/* raised whenever `piece` changes */
	/*
	 * The way of the last call that went the short way. The next call probably goes it, too: so
	 * it reads the counter at once. NULL: the last call had no way.
	 */
	const struct agent_way *last;
	/* The same for a call that only a histogram counted. It may be another entry's by now. */
	const struct agent_count *counted;
};

/* Critical sections of a thread. */
struct agent_section {
	/* In a section that is watched: functions with ARM_SECTION test this. */
	bool		on;
	uint16_t	locks, own;	/* counted since the watch began */
	uint32_t	state;		/* enum section_kind: what is on */
	uint32_t	generation;
	struct section_mark mark;
};

/* A thread that has had a hit. Private memory of the process, one for each slot, never freed. */
struct agent_thread {
	struct slot	*slot;
	/* Eight bytes that one load reads; flags, locks and pid as in struct record_common. */
	/* Number of children of vfork() that use this thread's slot, or AGENT_SHARED. */
	uint8_t		no_rseq;
	uint8_t		zero;
	uint8_t		flags;		/* enum agent_flags, set by providers/signal/signal.c */
	uint8_t		locks;		/* held, as lock/lock.c counts: common_preempt_count */
	uint32_t	pid;		/* as the server sees it */
	uint32_t	tid;		/* in the process's own name space */
	uint32_t	tgid;		/* the process, as the server sees it */
	uint8_t		busy;		/* in an interposer: calls that it makes are not recorded */
	/* It had no restartable sequences at its first hit: T4 of thread.c. */
	bool		rseq_missing;
	/* The CPU that it runs on: in libc's rseq area; or a negative number. */
	const volatile int32_t *cpu;
	char		comm[LAYOUT_COMM_LEN];
	uintptr_t	stack_low, stack_high;	/* the thread's own stack; 0: not known */
	/* Where the guard continues when it leaves the current hit; 0: there is none. */
	uintptr_t	resume;
	uintptr_t	frame[LAYOUT_HIT_LEVELS];	/* A6: of hit(), by level */
	/* The DSO that was looked up last: bounds of its code. */
	uintptr_t	code_start, code_end;
	uint64_t	dso_delta;		/* address in the session = address + this */
	uint32_t	dso_age;		/* agent_dso_age then */
	/* Number of large records that are being filled, inside each other. */
	uint32_t	nr_large;
	/* LAYOUT_HIT_LEVELS pages for them; NULL: not mapped yet. */
	char		*large;
	uintptr_t	large_frame[LAYOUT_HIT_LEVELS];	/* A6 */
	/* The table of the DSO that had a hit last (sites/hit.h); NULL: none yet. */
	const struct site_table *sites;
	struct agent_way ways[AGENT_WAYS];	/* by entry */
	struct agent_graph graph;
	struct agent_section section;
	/* Raised whenever code_start to dso_age change. */
	uint32_t	code_turn;
	struct agent_count counts[AGENT_WAYS];	/* by entry */
	struct agent_profile profiles[AGENT_PROFILES];	/* by entry */
	struct agent_other others[AGENT_WAYS];	/* of counts */
	/* For call_any() of shortcut.c: it stores some of it, the rest is 0. */
	struct hit	hit;
	uint64_t	taken[SHORTCUTS];	/* by shortcuts that are no longer in counts[] */
	/* As `resume`, for unwind_read(). A handler has its own, because it may not return. */
	uintptr_t	reading;
};

/*
 * The thread's slot. NULL: it has none, or no longer one: if the session's memory is damaged, a
 * fault of this thread or of another one takes the slot away (guard.c), at any time.
 */
static inline struct slot *agent_slot(const struct agent_thread *t)
{
	return *(struct slot *const volatile *)&t->slot;
}

/*
 * *delta: address in the session minus addr, if addr is in the code of the DSO that was looked up
 * last. False: it is not, or a handler has just looked up another DSO.
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

/*
 * Memory that the program did not ask for, but that the kernel counts and locks as the program's.
 */
enum { AGENT_REGIONS = 3 };
struct agent_region {
	uintptr_t	start;
	uint64_t	size;
};

/* The calling thread's variables: initial-exec, so that reading them calls no function. */
struct agent_self {
	struct agent_thread *thread;
	uint64_t	retry;		/* counter: no slot could be had; no attempt before this */
	uint64_t	signals;	/* the mask before the slow path */
	uint8_t		first;		/* in the slow path */
	uint8_t		leaving;	/* rounds of destructors so far */
	/* What thread_lock() and sites_lock() have found: what is called under them is no hit. */
	uint8_t		was_busy;
	uint8_t		stopped;
	struct agent_region alternate;	/* agent_alternate() */
	/* agent_here.lost of the process in which losses.threads has counted this thread. */
	uint32_t	lost;
	/*
	 * For tasks.c. Number of the thread, in its own name space, whose creator is known; a raw
	 * clone() has another number.
	 */
	uint32_t	born;
	bool		forks;		/* `noted` belongs to the fork() that is being made */
	bool		joins;		/* the thread has no slot yet, and joins `noted` then */
	bool		fork_locks;	/* has the lock of the sites for fork(), or waits for it */
	struct pids_family noted;
};

AGENT_API extern __thread struct agent_self agent_self
	__attribute__((tls_model("initial-exec")));

/* ---- Emitting: async-signal-safe ---- */

/* For agent_thread(), if the thread has no slot. */
AGENT_API struct agent_thread *agent_thread_first(void);

/*
 * The calling thread; its first call takes a slot. NULL: the process is not attached, or the thread
 * is in a slow path of the agent, or it gets no slot (counted).
 */
static inline struct agent_thread *agent_thread(void)
{
	/* Without a slot: in a child of fork() the memory that it points to was wiped (A5). */
	return __builtin_expect(agent_self.thread && agent_slot(agent_self.thread), 1) ?
	       agent_self.thread : agent_thread_first();
}

/* The same without a first hit: NULL if it has had none. */
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
 * The number of the thread's hits that took a shortcut, and the shortcut's name; NULL: there is
 * none. For tests.
 */
AGENT_API uint64_t agent_shortcut_taken(const struct agent_thread *t, unsigned int shortcut);
AGENT_API const char *agent_shortcut_name(unsigned int shortcut);

/*
 * The same, if one histogram counts the hit and reads only the first `size` bytes of the record,
 * and nothing else wants it. False: nothing has been done, and the caller has to give the whole
 * record to agent_emit(). So a field that nothing reads need not be computed.
 */
AGENT_API bool agent_count(struct agent_thread *t, uint32_t id, const void *record, uint32_t size);

AGENT_API extern _Atomic uint32_t agent_dso_age;	/* raised when a DSO was unloaded */
AGENT_API uint64_t agent_address_long(struct agent_thread *t, const void *addr);

/*
 * The address in the session of an address of this process (R19); an address in no DSO stays as it
 * is. A label of graph.S stands for another address: dso.c notes no DSO that has labels.
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

/* The kinds of struct section_control, or a word of 0. */
AGENT_API extern const _Atomic uint32_t *agent_section_kinds;

/* The kinds among these that are watched: one load behind a pointer. */
static inline uint32_t agent_section_kinds_of(uint32_t kinds)
{
	/* Relaxed: a change may take effect at the next call only. */
	return atomic_load_explicit(agent_section_kinds, memory_order_relaxed) & kinds;
}

static inline bool agent_section_watched(uint32_t kinds)
{
	return __builtin_expect(agent_section_kinds_of(kinds) != 0, 0);
}

/*
 * With `on`: the thread has blocked its signals, or has taken a lock. Without: it will
 * unblock them, or give a lock back. ip: the function that does it; parent: its caller;
 * frame: as for agent_emit(). Called only while that kind is watched.
 */
AGENT_API void agent_section_change(struct agent_thread *t, uint32_t kind, bool on, const void *ip,
				    const void *parent, const void *frame);
/*
 * A section by itself, which may begin in one thread and end in another. Begin: false: not recorded
 * now.
 */
AGENT_API bool agent_section_begin(struct agent_thread *t, unsigned int watch,
				   struct section_mark *m, const void *ip, const void *parent);
AGENT_API void agent_section_end(struct agent_thread *t, unsigned int watch,
				 const struct section_mark *m, const void *ip, const void *parent,
				 const void *frame);

/*
 * Whether a thread of this process has been woken and does not run yet: meanwhile functions with
 * ARM_WAKEUP are recorded. A child of fork() has none. agent_wakeup_tell() may be called for
 * another process, by its index.
 */
AGENT_API void agent_wakeup_tell(uint32_t process, bool pending);
AGENT_API bool agent_wakeup_pending(void);
/*
 * Threads that wait, by slot: *nr places of struct program_tables; those before *end have been
 * used.
 */
AGENT_API struct waiter *agent_waiters(uint32_t *nr, _Atomic uint32_t **end);
/* The process's index. */
AGENT_API uint32_t agent_process(void);
/* Index of the thread's slot; UINT32_MAX: it has none. */
AGENT_API uint32_t agent_slot_index(const struct agent_thread *t);

/*
 * Defined by libtracefuse-providers.so only: its provider_table_version(). Called in the first
 * constructor, so it may use nothing that a constructor makes.
 */
AGENT_API uint64_t agent_providers_table(void) __attribute__((weak));

/* The same: tf_attach() of that agent (join/second.c). */
AGENT_API int agent_first_attach(const char *session) __attribute__((weak));

/*
 * Also defined there (signal.c): t->flags with AGENT_HANDLER as it is now, at the caller's frame.
 * Called at a thread's first hit, and at each hit in a handler, which siglongjmp may have left.
 */
AGENT_API uint8_t agent_signal_flags(const struct agent_thread *t, const void *frame)
	__attribute__((weak));

/*
 * SIGBUS, SIGSEGV or SIGFPE. True: the cause was a session whose memory is damaged, and the guard
 * has handled it.
 */
AGENT_API bool agent_guard_takes(int sig, const siginfo_t *info, void *context);
typedef void (*agent_guard)(int sig, siginfo_t *info, void *context);
/* Our handler for a signal while the program has set none; NULL: there is none. */
AGENT_API agent_guard agent_guard_handler(int sig);
/*
 * Our handlers of these signals begin with all signals blocked. Before a handler of the program is
 * called, which was set with these flags and this mask: blocks what the kernel would have blocked.
 */
AGENT_API void agent_guard_unblock(int sig, uint64_t flags, uint64_t mask, const void *context);

/*
 * Whether a static event of this process is armed, or one with an id between those of its events.
 */
AGENT_API bool agent_events_armed(void);
/* Whether functions of this process are traced. */
AGENT_API bool agent_functions_on(void);
/*
 * The program is about to give these bytes the permissions `prot`, which make them writable. They
 * may be code with sites (pages.c), or sleds that XRay is about to patch.
 */
AGENT_API void agent_code_written(const void *at, uint64_t size, int prot);
/*
 * Some thread of the program blocks SIGSEGV or SIGBUS, or will, or has neither our handler nor one
 * that calls agent_guard_takes(): from now on no probe is planted where a thread may need to be led
 * on, and the kernel copies the memory of arguments.
 */
AGENT_API void agent_faults_block(void);

/*
 * The program has entered a sandbox. filter: the struct sock_fprog of a seccomp filter, which is
 * analysed, or NULL for the strict mode, which is counted. Makes no system call.
 */
AGENT_API void agent_sandboxed(const void *filter);
/* seccomp() with these arguments was successful: it may return a descriptor. */
static inline bool agent_seccomp_done(long result, uint64_t operation, uint64_t flags)
{
	return operation <= SECCOMP_SET_MODE_FILTER &&
	       (!result || (result > 0 && flags & SECCOMP_FILTER_FLAG_NEW_LISTENER));
}
/* Whether that forbids calls of a first hit: then the agent makes no system call by itself. */
AGENT_API bool agent_restricted(void);
/* Whether it forbids what the agent does when a program starts: it would end the program. */
AGENT_API bool agent_start_forbidden(void);
/* Whether files may be examined before they are executed. */
AGENT_API bool agent_may_look(void);
/* The ids as the program sees them. In a sandbox that forbids the calls: what is known, or 0. */
AGENT_API int32_t agent_own_pid(void);
AGENT_API int32_t agent_own_tid(void);
/* The calling thread makes no hits any more (it may not read the time stamp counter). */
AGENT_API void agent_thread_silence(void);

/* Whether the program has set a system call filter of its own since it began. */
AGENT_API bool agent_filtered(void);
/*
 * Whether the agent may ask for the thread's scheduling and user: a sandbox may kill it for that.
 */
AGENT_API bool agent_may_ask(void);
/* Whether the kernel may be asked to copy memory of the program that may not be there. */
AGENT_API bool agent_may_read(void);

/*
 * The alternate stack that handlers of this thread run on now; size 0: none. signal.c sets it. It
 * may be too small for a slow hit, and may be part of the thread's own stack. Async-signal-safe.
 */
AGENT_API struct agent_region *agent_alternate(void);

/*
 * The mappings of the session and what belongs to it, by ascending addresses. -> how many; 0: the
 * process has not been attached
 */
AGENT_API unsigned int agent_regions(struct agent_region out[AGENT_REGIONS]);
/* The amount by which RLIMIT_AS was raised for all of the agent's memory. */
AGENT_API uint64_t agent_mapped(void);

/*
 * Before vfork(): gets a ring for the child that uses the thread's slot. Waits for the server, a
 * second at most.
 */
AGENT_API void agent_thread_lend(struct agent_thread *t);

/*
 * A thread keeps its slot at its end, because it makes hits until SYS_exit. Before that call:
 * agent_thread_exits() gives the slot back, with all signals blocked meanwhile.
 */
AGENT_API extern _Atomic bool agent_thread_stays;
AGENT_API void agent_thread_exits(void);
/* The process is about to end in this thread. Makes no system call; signal-safe. */
AGENT_API void agent_process_exits(void);

/*
 * Defined by libtracefuse-providers.so only: the process has joined, and its code has not run yet,
 * or the agent came late.
 */
AGENT_API void agent_providers_begin(bool late) __attribute__((weak));
/* The same: objects have been loaded or unloaded. In the dynamic linker, under its lock. */
AGENT_API void agent_providers_objects(void) __attribute__((weak));
/* The thread has a new name (prctl, pthread_setname_np). */
AGENT_API void agent_thread_renamed(struct agent_thread *t);
/*
 * Another thread of the process has a new name. `tid` is in the process's name space. Does nothing
 * if that thread has had no hit.
 */
AGENT_API void agent_other_renamed(uint32_t tid, const char *name);
/*
 * New tasks and the sets of pids of their creators (tasks.c).
 * agent_family(), in the creator. False: no instance follows new tasks.
 * agent_born(), in the new thread before it does anything else: its number in the process's own
 * name space, and what agent_family() returned in its creator, or NULL.
 * agent_forked(), in the new process; agent_vforked(), in a child of vfork(), which has its
 * parent's memory; agent_spawned(), in the creator of a process that executes another program.
 */
AGENT_API bool agent_family(struct pids_family *out);
AGENT_API void agent_born(uint32_t tid, const struct pids_family *family);
AGENT_API void agent_forked(const struct pids_family *family);
AGENT_API void agent_vforked(void);
AGENT_API void agent_spawned(uint32_t pid, const struct pids_family *family);
/* In a child of fork(), before its first hit: joins its creator's sets. */
AGENT_API void agent_fork_begins(void);
/*
 * Before and after a call that needs a process without the agent's task, or that changes
 * what threads may do. False: there was no task to end, and none is to begin.
 */
AGENT_API bool agent_task_end(void);
AGENT_API void agent_task_again(void);
/* Whether a call by syscall() needs that; a and b are its first two arguments. */
AGENT_API bool agent_call_wants_alone(long nr, uint64_t a, uint64_t b);
/* The program is about to drop capabilities from its bounding set. */
AGENT_API void agent_task_unbind(void);
/*
 * The program is about to give up what it needs to join the session: joins, if it has not done so
 * (join/quiet.c, in the preloaded library only). agent_task_end() calls it, too.
 */
AGENT_API void agent_join_now(void) __attribute__((weak));
/*
 * For interposers of exec and its kin. agent_exec_reach(): why the program that the call executes
 * cannot reach the session; UNTRACED_REASONS: it can, or this process was counted already (not
 * is_new). agent_untraced(): counts one more
 * untraced program (1), or one less because it could not be executed (-1).
 */
AGENT_API enum untraced agent_exec_reach(bool is_new);
AGENT_API void agent_untraced(enum untraced why, int nr);
/* A DSO was unloaded: what was looked up is looked up again. */
AGENT_API void agent_dso_closed(void);
/*
 * Called by interposers of functions that look at their return address, which lies at `slot`: puts
 * the true one in the place of a label of graph.S, and ends the hooked functions that jumped here.
 */
AGENT_API void agent_caller_restore(uintptr_t *slot);
/*
 * From now on the program may call the functions behind these interposers past them: all of it; an
 * object that is loaded from now on, if it imports one.
 */
AGENT_API void agent_callers_hidden(void);
AGENT_API void agent_binds_deep(void);

#endif
