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
 * A child of fork() has a copy of the struct, and the mapping is empty. So nothing
 * of it has to be reset: the child is not attached, the locks are free, it has no slot,
 * and each pointer to a thread leads to one without a slot.
 *
 * Included by the C files of src/agent only.
 */
#ifndef TRACEFUSE_AGENT_STATE_H
#define TRACEFUSE_AGENT_STATE_H

#include <elf.h>
#include <sys/types.h>
#include "agent/agent.h"
#include "layout/attach_wire.h"

enum agent_state {
	AGENT_OFF,		/* no session */
	AGENT_ON,
	AGENT_DETACHED,		/* the session's memory is damaged; stays so */
};

/*
 * A thread waits AGENT_WAIT_MS for a server that answers nobody. While the server answers others
 * the thread waits up to AGENT_ROUNDS times as long, and without a limit when the program begins.
 */
enum { AGENT_WAIT_MS = 1000, AGENT_ROUNDS = 30, AGENT_PATH = 4096 };

#define AGENT_WAIT_TICKS (1ull << 31)	/* of the counter: about AGENT_WAIT_MS */

/* A child of fork() finds it wiped. */
struct agent_here {
	_Atomic uint32_t attached;	/* this process has said HELLO; stored last, with release */
	_Atomic uint32_t lock;		/* futex: 0 free, 1 taken, 2 taken and waited for */
	_Atomic uint32_t sites_lock;	/* the same */
	_Atomic int32_t	task;		/* the task that switches sites; 0: none */
	_Atomic bool	refused;	/* that it cannot join was counted; it may try again */
	_Atomic bool	strict;		/* a thread in the strict mode was counted */
	/* For HELLO: the server need not find out who made this process. */
	bool		is_known;
	uint32_t	no_membarrier;
	uint32_t	pid;		/* as the server sees it */
	/* As the program sees it. 0: a child of fork() that has not joined */
	int32_t		own_pid;
	uint32_t	process;	/* 1 + index in the process table */
	uint32_t	other_pids;	/* the server sees other pids than this process */
	_Atomic uint64_t retry;		/* counter: attaching failed; no attempt before this */
	/* Not 0 once losses.processes has counted the process: a number of its own. */
	_Atomic uint32_t lost;
	/* This process's word of struct program_tables; set with `attached`. */
	_Atomic uint32_t *woken;
	uint32_t	nr_given;
	uint16_t	given[LAYOUT_MAX_SLOTS];
	struct agent_thread threads[];	/* config_header.nr_slots */
};

/* The state of a thread that waits for the server: how long, and the server's count of answers. */
struct agent_patience {
	uint32_t	served;		/* config_header.served */
	uint32_t	rounds;
};

/* The connection. The program may have closed its descriptor or reused the number (A4). */
struct agent_conn {
	int		fd;		/* -1: none */
	uint64_t	dev, ino;
	uint32_t	asked;		/* number of the last request */
	struct agent_patience patience;	/* since it was sent */
};

/* How RLIMIT_AS was changed (room.c). */
struct agent_room {
	uint64_t	bytes;		/* what the agent takes; 0: nothing yet */
	uint64_t	soft, hard;	/* the limits before */
};

struct agent {
	/* Set once, before state is stored. */
	struct plane	plane;
	uint64_t	data_spare;	/* bytes of addresses behind the data region */
	struct agent_room room;
	struct agent_here *here;
	uint64_t	here_size;	/* bytes */
	uint64_t	image;		/* attach_request.image */
	_Atomic uint32_t state;		/* enum agent_state */
	/* tf_attach() of the preloaded agent; NULL: this is the only one (second.c). */
	int		(*first)(const char *session);
	/* A filter does not permit the system calls of a first hit. */
	_Atomic bool	sandbox;
	_Atomic bool	joins_not;	/* nor those that join the session */
	_Atomic bool	begins_not;	/* nor those of a program that is executed */
	_Atomic bool	looks_not;	/* nor those that look at a file before exec */
	/* The program has entered a filter of its own, or the strict mode. */
	_Atomic bool	filtered;
	bool		began_filtered;	/* a filter was there before the program's start */
	/* It does not permit what agent_may_ask() is for. */
	bool		asks_not;
	bool		reads_not;	/* nor process_vm_readv() */
	bool		starting;	/* attach_start() runs: the program does not yet */
	bool		late;		/* attached by tf_attach(): the program has run before */
	bool		all_said;	/* HELLO is all: there are no static events and no sites */
	/* Its files have probes of their author: some may be planted at any time */
	bool		has_probes;
	/* The program has begun quietly and has not joined; of a child of fork(), too */
	_Atomic bool	quiet;
	uint64_t	program;	/* attach_request.program */
	uint32_t	verbose;
	uint32_t	owner;		/* the session's user: the program's when it attached */
	const char	*exe;			/* the executed file: AT_EXECFN */
	/* Not NULL: the program's file, if the executed file is the linker (program_find()) */
	const char	*program_path;
	uintptr_t	main_stack;		/* the upper end of the first thread's stack */
	/* Thread-specific data: its destructor frees the thread's slot; -1: none. */
	int		key;

	/* Under here->lock. */
	struct agent_conn conn;

	/* The session's directory. The last: most of it is never touched (order.ld). */
	char		dir[AGENT_PATH];
};

extern struct agent agent;

/* agent_wakeup_pending(), if the process is attached. */
static inline bool section_wakeup_pending(void)
{
	const struct section_watch *watch =
		&plane_header(&agent.plane)->sections.watch[SECTION_WATCH_WAKEUP];
	const _Atomic uint32_t *own = agent.here->woken;
	/* Relaxed: each is a number of its own; one call more or less does not matter. */
	uint32_t woken = own ? atomic_load_explicit(own, memory_order_relaxed) : 0;

	return woken && woken == atomic_load_explicit(&watch->generation, memory_order_relaxed) + 1;
}

static inline bool agent_attached(void)
{
	/* Both pair with the releases in start() and attach_again() (attach.c). */
	return atomic_load_explicit(&agent.state, memory_order_acquire) == AGENT_ON &&
	       atomic_load_explicit(&agent.here->attached, memory_order_acquire);
}

/* Whether the process is in the session. It may be one that joins with its first hit only. */
static inline bool agent_present(void)
{
	/* As in agent_attached(). Relaxed: only the value counts. */
	return atomic_load_explicit(&agent.state, memory_order_acquire) == AGENT_ON &&
	       (!atomic_load_explicit(&agent.here->refused, memory_order_relaxed) ||
		agent_attached());
}

/* ---- attach.c ---- */

/* Joins the session `name` (or a directory): in the constructor, or by tf_attach(). 0, -errno */
int attach_start(const char *name, const char *runtime_dir);
/*
 * In a process that has not joined (a child of fork(), a quiet one), under the lock with signals
 * blocked: it says HELLO. 0, -errno
 */
int attach_again(void);
/* More slots, under the lock: 0, -errno */
int attach_more(void);
/* Takes the slots that a reply brings. 0, or -errno: the process has none. Under the lock. */
int attach_slots(const struct attach_reply *reply);
/* The thread's number as the server sees it. */
uint32_t attach_pid(uint32_t tid);
/* The memory is gone: there will be no more hits. Async-signal-safe. */
void attach_detach(void);
/* Prints a message, with TRACEFUSE_VERBOSE. */
void agent_say(const char *what, int err);

/* ---- quiet.c: in the preloaded library only ---- */

/*
 * Whether the program, which has neither static events nor sites, joins with its first hit only.
 * Then sets what the answer to HELLO would say, and agent.quiet.
 */
bool quiet_begins(struct attach_reply *reply) __attribute__((weak));

/* agent.quiet */
static inline bool quiet_is(void)
{
	/* Relaxed: who misses its end asks attach_again(), which knows. */
	return atomic_load_explicit(&agent.quiet, memory_order_relaxed);
}

/* ---- place.c ---- */

/*
 * Opens the session's directory, by its name or path, and sets agent.dir. runtime_dir:
 * $XDG_RUNTIME_DIR. -> a descriptor; -EACCES: other users than the program's may have access; other
 * -errno
 */
int place_open(const char *name, const char *runtime_dir);
/*
 * Opens one of its files. -> a descriptor, or -errno. If there is no descriptor left it closes
 * *dir, which is -1 then, and finds the file by its path.
 */
int place_open_file(int *dir, const char *name, int flags, uint64_t *size);

/* ---- room.c ---- */

/* Before `bytes` are mapped: raises RLIMIT_AS. 0, -ENOMEM */
int room_make(uint64_t bytes);
/* Undoes that, after all was unmapped. */
void room_give_back(void);

/* ---- patience.c ---- */

struct agent_patience patience_begin(void);
/* Called after AGENT_WAIT_MS: whether to wait as long again. */
bool patience_goes_on(struct agent_patience *p);

/* ---- request.c: one question and its answer on the connection ---- */

/* Connects to the session's socket, and closes an old connection. 0, -errno */
int request_connect(void);
/* In a child of fork() that cannot do that: makes a connection by way of the parent's. 0, -errno */
int request_inherit(void);
/* Whether the connection is there and still ours. */
bool request_usable(void);
void request_close(void);
/* Nothing more is asked for now: closes a connection that has a low number. */
void request_rest(void);
/* Numbers q and sends it with `extra` bytes from `more` behind it. 0, -errno */
int request_send(struct attach_request *q, const void *more, size_t extra);
/*
 * Receives the reply to q, of at most `size` bytes; ignores late ones to earlier requests. wait_ms
 * 0: waits until the connection ends. -> bytes, or -errno
 */
long request_answer(const struct attach_request *q, void *reply, size_t size, unsigned int wait_ms);
/* Sends a request that has a plain reply. 0, -errno */
int request_begin(struct attach_request *q);
/* Waits for that reply. 0, -errno, or the reply's err */
int request_end(const struct attach_request *q, struct attach_reply *reply);
/* Both. */
int request_ask(struct attach_request *q, struct attach_reply *reply);
/* Sends a request that passes a descriptor and has no reply. flags: of sendmsg(). 0, -errno */
int request_pass(enum attach_kind kind, int fd, int flags);

/* ---- thread.c ---- */

int thread_key_create(void);
uint64_t signals_block(void);
void signals_restore(uint64_t old);
/* Takes the lock of all slow paths and blocks signals. False: not within the limit (A1). */
bool thread_lock(void);
void thread_unlock(void);

/* T4: the word of the CPU of a thread with rseq_missing, until libc has registered it. */
enum { RSEQ_NOT_YET = -1 };

/*
 * Gives such a thread restartable sequences, until thread_rseq_end(). False: a sandbox may forbid
 * it, or the kernel does.
 */
bool thread_rseq_begin(void);
void thread_rseq_end(void);

/* ---- tasks.c ---- */

/* At load, before any other handler of fork() is registered. */
void tasks_start(void);
/*
 * The calling thread has its slot now: it joins its creator's sets of pids. With signals blocked.
 */
void tasks_join(struct agent_thread *t);

/* ---- stack.c ---- */

void stack_bounds(struct agent_thread *t);
/*
 * How many of the `nr` levels with these frames are still running when the stack pointer is `sp`.
 * The first one that is not was left, and so were all behind it (A6).
 */
uint32_t stack_levels(const struct agent_thread *t, const uintptr_t *frames, uint32_t nr,
		      uintptr_t sp);
/*
 * The callers of the function with this frame, as addresses in the session, the innermost first.
 * The last one is LAYOUT_STACK_CUT if there are more, but not known. -> how many
 */
uint32_t stack_walk(struct agent_thread *t, const void *frame, uint64_t *out, uint32_t max);
/*
 * The same for the stack tracer, and where each return address lies. slot: that of the function's
 * own one. out->nr 0: it is not on the thread's own stack.
 */
void stack_depths(struct agent_thread *t, const void *frame, uintptr_t slot,
		  struct stack_depths *out);
/*
 * Whether a call at this stack pointer may be deeper than the stack tracer has seen. What is read
 * may be stale (emit.c, E1).
 */
bool stack_may_be_deepest(const struct agent_thread *t, const struct plan *plan, uintptr_t sp);
/*
 * A call that may not be: counts it if that is because of its stack, which is not the thread's own.
 * False: the thread has no slot to count it in. Called once for each call.
 */
bool stack_call_left(const struct agent_thread *t, uintptr_t sp);

/* Whether it is on the alternate stack that handlers run on now. Async-signal-safe. */
static inline bool stack_alternate(uintptr_t addr)
{
	return addr - agent_self.alternate.start < agent_self.alternate.size;
}

/*
 * Whether there are that many bytes of stack below sp, as far as is known: it is for small
 * alternate stacks. Async-signal-safe.
 */
bool stack_has_room(uintptr_t sp, size_t bytes);

/*
 * What the slow way of a site takes of it (the extended state takes 2,816 bytes), and a thread's
 * first hit, which also attaches.
 */
enum { STACK_SLOW = 4224, STACK_FIRST = 5632 };

/* ---- dso.c ---- */

void dso_start(void);
/* The path of a DSO to open it; path "": the program, as /proc has it. */
const char *dso_path(const char *path);
/* Whether addr is in the code of a DSO; *out: its address in the session. */
bool dso_code(struct agent_thread *t, uintptr_t addr, uint64_t *out);
/*
 * A number for the contents of the DSO at addr, by its build-id and headers. 0: it has no build-id,
 * or it is not known.
 */
uint64_t dso_contents(uintptr_t addr);

/* 1 + its number in the session's table. 0: it is not known, or the table has no room. */
uint64_t dso_number(uintptr_t addr);

/* What unwind.c reads of an object in memory. */
struct dso_tables {
	const uint8_t	*low, *high;	/* the segment that has .eh_frame_hdr */
	const uint8_t	*header;	/* NULL: the object has none */
	uintptr_t	code, code_end;	/* the first segment that can be executed; 0: none */
};

/* The tables of the object at addr. False: no object is there. In a hit. */
bool dso_tables(uintptr_t addr, struct dso_tables *out);

struct dso_place {
	uintptr_t	code, code_end;	/* from the first to the last byte that can be executed */
	uint64_t	delta;		/* address in the session = address + delta */
	uint32_t	number;		/* UINT32_MAX: none */
};

/*
 * For a DSO mapped from start to end, which dl_iterate_phdr() need not know yet. path: as in its
 * link map. False: the session's table has no room.
 */
bool dso_place(uintptr_t start, uintptr_t end, const char *path, struct dso_place *out);

/* What the dynamic linker and its headers say of an object. */
struct dso_image {
	uintptr_t	start, end;	/* mapped bytes */
	uintptr_t	bias;		/* address in memory = bias + p_vaddr */
	const Elf64_Phdr *segments;
	unsigned int	nr_segments;
	uint8_t		id[24];		/* its build-id */
	uint32_t	id_len;		/* 0: none */
	const char	*path;		/* the dynamic linker's; of the program itself: "" */
};

/*
 * ld, bias and path are its link map's. An object that is just being loaded costs a system call.
 * False: it is not known.
 */
bool dso_image(const void *ld, uintptr_t bias, const char *path, struct dso_image *out);

/* ---- sites.c ---- */

/* Whether no DSO has sites, as far as the session knows. */
bool sites_none(void);
/*
 * At load, before READY: prepares the sites of all DSOs that are loaded, and enters these DSOs into
 * the session's table. Asks the server nothing.
 */
void sites_start(void);
/* The process has joined: reports to the server what sites_start() found. */
void sites_tell(void);
/*
 * Whether the calling thread is inside fork() and has the lock of the sites for it, which joining
 * takes. Async-signal-safe.
 */
bool sites_wait_for_fork(void);
/* The process could not join: undoes sites_start(). At load. */
void sites_stop(void);
/*
 * Does what the server commands, and begins a task that goes on with it. Under the lock, or at
 * load.
 */
void sites_begin(void);
/* The same in a child of fork(). Under the lock. */
void sites_again(void);
/* The program has entered a sandbox: nothing is switched any more. Makes no system call. */
void sites_forbidden(void);

/* ---- late.c ---- */

/* A hit of a thread that has no slot is lost: it is counted with the session's. */
void agent_thread_missed(void);

/* late_wanted() when the process last answered the server's knock; 0: never. */
extern _Atomic uint32_t late_done;
/* After a knock: begins the task, unless a later call has to. errno stays. */
void late_begin(const struct agent_thread *t);
void late_answer(void);
/* probe.S: late_answer() with the processor's extended state saved. */
void late_answer_kept(void);

/* The plan by which the server knocks; 0: it does not. Only while the session is mapped. */
static inline config_ref late_knock(void)
{
	/* Relaxed: a hit that sees an older word leaves it to the next one. */
	return atomic_load_explicit(&plane_header(&agent.plane)->knock, memory_order_relaxed);
}

/*
 * That plan, also while the server does not knock. It ends a knock in steps: events may still have
 * the plan when late_knock() is 0.
 */
static inline config_ref late_plan(void)
{
	return plane_header(&agent.plane)->sites + offsetof(struct site_control, knock);
}

/* What the server knocks for: never 0. Under the same condition. */
static inline uint32_t late_wanted(void)
{
	const struct site_control *c =
		plane_config(&agent.plane, plane_header(&agent.plane)->sites);

	/* Relaxed: as above. */
	return atomic_load_explicit(&c->asked, memory_order_relaxed) + 1;
}

/* ---- events.c ---- */

/* Whether there are static events that the server does not know yet. */
bool events_any(void);
/* Sends the server the static events of all DSOs that are loaded. */
void events_start(void);

/* ---- section.c ---- */

/* The process is attached, or no longer: sets what agent_section_watched() reads. */
void section_start(void);
void section_stop(void);
/* The process has got its index. */
void section_attached(void);
/* struct tf_ops */
void section_own(int on, const void *ip, const void *parent, const void *frame);

/* ---- sandbox.c ---- */

/*
 * Whether the sandbox that the process began in permits to map the session. If it forbids the calls
 * of attaching and of first hits, agent_restricted() from then on.
 */
bool sandbox_permits(void);
/* How often a call is made again that a signal has interrupted. */
enum { INTERRUPTED_MOST = 1000 };
/* Waits for a child that makes no signal at its end. False: there is none, or no way to wait. */
bool agent_child_wait(long pid, int *status);

/* ---- guard.c ---- */

/* Before the first access to the session's memory. */
void guard_start(void);
/* The session could not be attached. */
void guard_stop(void);
/* Asks the kernel whether a fault of any thread comes to the guard now, so that it leads it on. */
bool guard_leads(void);
/* What it answered last. */
bool guard_leads_now(void);

#endif
