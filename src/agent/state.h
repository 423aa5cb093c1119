/* SPDX-License-Identifier: MIT */
/*
 * state.h - what the agent knows of its process: one struct, and one mapping that fork() wipes
 *
 *     struct agent (library's data)         struct agent_here (anonymous mapping, MADV_WIPEONFORK)
 *     +-----------------------+            +------------------------------+
 *     | state, plane, session |----here--->| attached, lock, slots given  |
 *     | connection            |            | threads[] by slot            |
 *     +-----------------------+            +------------------------------+
 *
 * A child of fork() has the struct as its parent left it and the mapping empty,
 * so nothing of it has to be reset: not attached, unlocked, no slot, and each
 * pointer to a thread leads to one without slot.
 *
 * Included by the C files of src/agent only.
 */
#ifndef TRACEFUSE_AGENT_STATE_H
#define TRACEFUSE_AGENT_STATE_H

#include <sys/types.h>
#include "agent/agent.h"
#include "layout/attach_wire.h"

enum agent_state {
	AGENT_OFF,		/* no session */
	AGENT_ON,
	AGENT_DETACHED,		/* its memory is damaged; for good */
};

/*
 * Nobody waits longer than AGENT_WAIT_MS for a server that answers nobody. While it answers
 * others a thread waits up to AGENT_ROUNDS times as long, at the program's begin without a limit.
 */
enum { AGENT_WAIT_MS = 1000, AGENT_ROUNDS = 30, AGENT_PATH = 4096 };

#define AGENT_WAIT_TICKS (1ull << 31)	/* of the counter: about as long */

/* Wiped by fork(). */
struct agent_here {
	_Atomic uint32_t attached;	/* this process has said HELLO; stored last, with release */
	_Atomic uint32_t lock;		/* futex: 0 free, 1 taken, 2 taken and waited for */
	_Atomic uint32_t sites_lock;	/* the same */
	_Atomic int32_t	task;		/* the one that switches sites; 0: none */
	bool		refused;	/* it could not join, which was counted; it tries again */
	/* the server is not to look for who made this process: HELLO */
	bool		is_known;
	uint32_t	no_membarrier;
	uint32_t	pid;		/* as the server sees it */
	int32_t		own_pid;	/* as the program sees it */
	uint32_t	process;	/* 1 + index in the process table */
	uint32_t	other_pids;	/* the server sees other pids than we do */
	_Atomic uint64_t retry;		/* counter: attaching failed, not again before */
	/* a number of its own once it is counted in losses.processes; 0: it is not */
	_Atomic uint32_t lost;
	/* this process's of struct program_tables; set with `attached` */
	_Atomic uint32_t *woken;
	uint32_t	nr_given;
	uint16_t	given[LAYOUT_MAX_SLOTS];
	struct agent_thread threads[];	/* config_header.nr_slots */
};

/* One that waits for the server: how long it has, and what the server had answered then. */
struct agent_patience {
	uint32_t	served;		/* config_header.served */
	uint32_t	rounds;
};

/* A descriptor that the process may have closed or taken for something else since (A4). */
struct agent_conn {
	int		fd;		/* -1: none */
	uint64_t	dev, ino;
	uint32_t	asked;		/* number of the last request */
	struct agent_patience patience;	/* since it was sent */
};

/* Of RLIMIT_AS (room.c). */
struct agent_room {
	uint64_t	bytes;		/* what the agent takes of it; 0: nothing yet */
	uint64_t	soft, hard;	/* what there was before */
};

struct agent {
	/* set once, before state is stored */
	struct plane	plane;
	uint64_t	data_spare;	/* bytes of addresses behind the data region */
	struct agent_room room;
	struct agent_here *here;
	uint64_t	here_size;	/* bytes */
	uint64_t	image;		/* attach_request.image */
	_Atomic uint32_t state;		/* enum agent_state */
	/* a filter would not let a first hit make its system calls */
	_Atomic bool	sandbox;
	_Atomic bool	joins_not;	/* nor those of joining the session */
	_Atomic bool	looks_not;	/* nor those that look at a file */
	/* the program has entered a filter of its own, or the strict mode */
	_Atomic bool	filtered;
	/* a filter that was there before would kill who asks (agent_may_ask()) */
	bool		asks_not;
	bool		starting;	/* attach_start() runs: the program does not, yet */
	bool		late;		/* the program asked to be attached: it has run before */
	bool		all_said;	/* in HELLO: it has no static events and no sites */
	uint32_t	verbose;
	char		dir[AGENT_PATH];	/* the session's directory */
	uint32_t	owner;			/* its user, the program's own when it attached */
	const char	*exe;			/* what was executed: AT_EXECFN */
	uintptr_t	main_stack;		/* where the first thread's stack ends */
	/* thread-specific data: its destructor gives a slot back; -1: none */
	int		key;

	/* under here->lock */
	struct agent_conn conn;
};

extern struct agent agent;

/* agent_wakeup_pending(), where the process is attached. */
static inline bool section_wakeup_pending(void)
{
	const struct section_watch *watch =
		&plane_header(&agent.plane)->sections.watch[SECTION_WATCH_WAKEUP];
	const _Atomic uint32_t *own = agent.here->woken;
	/* Relaxed: numbers of their own; a call more or less. */
	uint32_t woken = own ? atomic_load_explicit(own, memory_order_relaxed) : 0;

	return woken && woken == atomic_load_explicit(&watch->generation, memory_order_relaxed) + 1;
}

static inline bool agent_attached(void)
{
	/* Both pairs with the releases in attach.c. */
	return atomic_load_explicit(&agent.state, memory_order_acquire) == AGENT_ON &&
	       atomic_load_explicit(&agent.here->attached, memory_order_acquire);
}

/* ---- attach.c ---- */

/* Joins the session `name` (or a directory); in the constructor and by tf_attach(). 0, -errno */
int attach_start(const char *name, const char *runtime_dir);
/* In a child of fork(), under the lock with signals blocked: HELLO for itself. 0, -errno */
int attach_again(void);
/* More slots, under the lock: 0, -errno */
int attach_more(void);
/* The slots that a reply brings: 0, -errno where the process has none. Under the lock. */
int attach_slots(const struct attach_reply *reply);
/* The thread's number as the server sees it. */
uint32_t attach_pid(uint32_t tid);
/* The memory is gone: no hit any more. Async-signal-safe. */
void attach_detach(void);
void agent_say(const char *what, int err);

/* ---- place.c ---- */

/*
 * The session's directory, by its name or path, as agent.dir; runtime_dir: $XDG_RUNTIME_DIR. A
 * descriptor;
 * -EACCES: it is not of this program's user alone, and other -errno
 */
int place_open(const char *name, const char *runtime_dir);
/* One of its files. A descriptor, or -errno */
int place_open_file(int dir, const char *name, int flags, uint64_t *size);

/* ---- room.c ---- */

/* Before `bytes` are mapped: raises RLIMIT_AS. 0, -ENOMEM */
int room_make(uint64_t bytes);
/* All of it, after it was unmapped. */
void room_give_back(void);

/* ---- patience.c ---- */

struct agent_patience patience_begin(void);
/* AGENT_WAIT_MS have passed: whether to wait as long again. */
bool patience_goes_on(struct agent_patience *p);

/* ---- request.c: one question and its answer on the connection ---- */

/* Connects to the session's socket; what connection there was is closed then. 0, -errno */
int request_connect(void);
/* In a child of fork() that cannot: a connection by way of the parent's. 0, -errno */
int request_inherit(void);
/* The connection is there and ours. */
bool request_usable(void);
void request_close(void);
/* Nothing more is asked for now: a connection that has a low number is closed. */
void request_rest(void);
/* Numbers q and sends it with `extra` bytes from `more` behind it. 0, -errno */
int request_send(struct attach_request *q, const void *more, size_t extra);
/*
 * The reply to q, of at most `size` bytes; late ones to requests before it are thrown away. wait_ms
 * 0: waits until the connection ends. Bytes, or -errno
 */
long request_answer(const struct attach_request *q, void *reply, size_t size, unsigned int wait_ms);
/* Sends a request with a plain reply. 0, -errno */
int request_begin(struct attach_request *q);
/* Waits for that reply. 0, -errno, the reply's err */
int request_end(const struct attach_request *q, struct attach_reply *reply);
/* Both. */
int request_ask(struct attach_request *q, struct attach_reply *reply);

/* ---- thread.c ---- */

int thread_key_create(void);
uint64_t signals_block(void);
void signals_restore(uint64_t old);
/* The lock of all slow paths, with signals blocked. false: not within the limit (A1). */
bool thread_lock(void);
void thread_unlock(void);

/* ---- tasks.c ---- */

/* At load, before anybody else asks to be told of forks. */
void tasks_start(void);
/*
 * The calling thread has its slot now: it joins the sets of pids of who made it. With signals
 * blocked.
 */
void tasks_join(struct agent_thread *t);

/* ---- stack.c ---- */

void stack_bounds(struct agent_thread *t);
/*
 * How many of the levels with these frames go on when the stack pointer is `sp`: what ran in the
 * first of the others, and so in all behind it, was left (A6).
 */
uint32_t stack_levels(const struct agent_thread *t, const uintptr_t *frames, uint32_t nr,
		      uintptr_t sp);
/* The callers of the function with this frame, as addresses of the session. -> how many */
uint32_t stack_walk(struct agent_thread *t, const void *frame, uint64_t *out, uint32_t max);

/* Whether it lies on the alternate stack that handlers run on now. Async-signal-safe. */
static inline bool stack_alternate(uintptr_t addr)
{
	return addr - agent_self.alternate.start < agent_self.alternate.size;
}

/*
 * Whether there are so many bytes below sp, as far as one knows: of alternate stacks, the small
 * ones. Async-signal-safe.
 */
bool stack_has_room(uintptr_t sp, size_t bytes);

/* ---- dso.c ---- */

void dso_start(void);
/* Whether addr lies in the code of a DSO; *out: as an address of the session. */
bool dso_code(struct agent_thread *t, uintptr_t addr, uint64_t *out);
/*
 * A number for the contents of the DSO there, by its build-id and headers. 0: it has none, or is
 * not known.
 */
uint64_t dso_contents(uintptr_t addr);

struct dso_place {
	uintptr_t	code, code_end;	/* from the first to the last byte that can be executed */
	uint64_t	delta;		/* an address plus this is the session's */
	uint32_t	number;		/* UINT32_MAX: none */
};

/*
 * Of a DSO mapped from start to end, which the dynamic linker need not have told of yet.
 * path: as its link map has it. false: the session's table has no place.
 */
bool dso_place(uintptr_t start, uintptr_t end, const char *path, struct dso_place *out);

/* ---- sites.c ---- */

/* Whether none of the DSOs has some, as far as the session knows. */
bool sites_none(void);
/*
 * Prepares the sites of all DSOs that are loaded, and enters those into the session's table. Asks
 * the server nothing. At load, before READY.
 */
void sites_start(void);
/* What sites_start() found, to the server: the process has joined. */
void sites_tell(void);
/* The process could not join: as before sites_start(). At load. */
void sites_stop(void);
/* Does what the server says, and has a task do so from now on. Under the lock, or at load. */
void sites_begin(void);
/* In a child of fork(): its own task. Under the lock. */
void sites_again(void);
/* The program has entered a sandbox: nothing is switched any more. Makes no system call. */
void sites_forbidden(void);

/* ---- sites/static.c ---- */

/* At load, attached or not: whose place mcount and __fentry__ have taken. */
void static_start(void);

/* ---- events.c ---- */

/* Whether there are static events that the server has not been told of. */
bool events_any(void);
/* Tells the server of the static events of all DSOs that are loaded. */
void events_start(void);

/* ---- section.c ---- */

/* Attached, and not any more: where agent_section_watched() looks. */
void section_start(void);
void section_stop(void);
/* The process has its index. */
void section_attached(void);
/* struct tf_ops */
void section_own(int on, const void *ip, const void *parent, const void *frame);

/* ---- sandbox.c ---- */

/*
 * Whether the calls of attaching and of first hits get an answer in the sandbox that the process
 * began in.
 */
bool sandbox_permits(void);

/* ---- guard.c ---- */

/* Before the session's memory is touched for the first time; when it could not be attached. */
void guard_start(void);
void guard_stop(void);

#endif
