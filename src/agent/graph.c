/* SPDX-License-Identifier: MIT */
/*
 * graph.c - the returns of traced functions: function_graph (R25)
 *
 *     site -> trampoline -> patch_hit() -> graph_enter() -> graph_through calls the function
 *                                                                 |
 *     caller  <- ret  <-  graph_leave()  <-  graph_returned  <----+ ret
 *
 *     stack                      mirror, at the slot's address ^ GRAPH_MIRROR
 *     +-----------------+        +-----------------+
 *     | graph_returned  | slot   | return address  |       struct graph_frame of the slot: what was called, when
 *     +-----------------+        +-----------------+
 *
 * M1  All that is known of a call follows from its slot: the return address by
 *     an exclusive or, which an unwinder can do (x86_64/graph.S); the rest is
 *     the slot's struct graph_frame, in memory that belongs to the piece of
 *     2 MiB of addresses. So there is nothing to put right when a program leaves
 *     functions in another way than by returning (exceptions, longjmp,
 *     cancellation, coroutines, fork), and recursion has no end of its own.
 * M2  Slots are multiples of 8; the ABI says 16, but compilers know whom they may
 *     call otherwise. Where two share a frame all the same the second has it,
 *     and the first returns unrecorded.
 * M3  Only the depth and what a function inherits (set_graph_function,
 *     set_graph_notrace) come from the function above: the innermost hooked slot
 *     of the same stack that is above and still says so. On the thread's own
 *     stack that is graph.top; on another one the innermost of the region of
 *     16 KiB, else the last one hooked at all, so that a handler on an alternate
 *     stack is called by what it interrupted, and a coroutine by who resumed it.
 *     A guess that is wrong prints a wrong depth and nothing else.
 * M4  A function that ends by a jump to another one (a tail call) leaves its slot
 *     to it: the first one's frame waits in the piece's tails. The second returns to
 *     graph_returned, which finds the first one.
 * M5  A piece is mapped at the first hook in it, with signals blocked and under
 *     the lock of the slow paths, and never unmapped. Where its mirror cannot
 *     be (another has the addresses), no function is hooked: counted as overrun.
 * M6  struct graph_config is read outside of a hit. It may be stale or freed and
 *     hold nonsense for one call (as E1 of emit.c).
 */
#include <string.h>
#include <sys/mman.h>
#include "agent/emit.h"
#include "agent/graph.h"
#include "agent/sites.h"
#include "agent/sites_hit.h"
#include "agent/state.h"
#include "agent/syscall.h"
#include "plane/arch/counter.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum {
	PIECE = 2 << 20,	/* bytes of stack */
	ALIGN = 8,		/* M2 */
	REGION = 16384,
	TAILS = 256,
	MOST_TAILS = 50,	/* of one slot: as deep as the kernel goes at all */
	PIECES = 8192,
	SHADOW_STACK_STATUS = 0x5005,	/* of arch_prctl() */
	CLOCK_THREAD = 3,	/* CLOCK_THREAD_CPUTIME_ID */
};

enum frame_flags {
	FRAME_IN_GRAPH	= 1 << 0,	/* in set_graph_function, or called by one that is */
	FRAME_NOTRACE	= 1 << 1,	/* in set_graph_notrace */
	FRAME_LATE	= 1 << 2,	/* returns to graph_returned_late */
	FRAME_CPU_TIME	= 1 << 3,
};

/* One cache line. */
struct graph_frame {
	uint32_t	slot;		/* the lower half of its address; 0: none */
	uint32_t	pid;		/* whose thread's: a child of fork() has its parent's */
	int32_t		depth;
	uint16_t	flags;		/* enum frame_flags */
	uint16_t	tails;		/* M4: how many wait behind it */
	uintptr_t	up;		/* the slot of the function above; 0: none */
	uint64_t	func;		/* as an address of the session */
	uint64_t	time;		/* of the call */
	uint64_t	mask;		/* the instances that recorded it; EMIT_ALL: whoever wants its return; 0: none */
	uint64_t	cpu_time;	/* of the thread, at the call */
	uint32_t	tail;		/* number of the frame that waits */
	uint32_t	pad;
};

_Static_assert(sizeof(struct graph_frame) == 64, "one cache line");

struct graph_tail {
	uintptr_t	slot;
	uint32_t	nr;		/* its own number, so that one that was overwritten is not taken for it */
	struct graph_frame frame;
};

struct graph_piece {
	struct graph_frame frames[PIECE / ALIGN];
	uintptr_t	inner[PIECE / REGION];	/* M3: innermost slot, of stacks that are no thread's own */
	_Atomic uint32_t next_tail;
	struct graph_tail tails[TAILS];
};

/* The process's, by address; open addressing. A child of fork() has the same. */
static struct known_piece {
	_Atomic uintptr_t low;		/* 0: free; + 1: refused. Stored last, with release */
	struct graph_piece *piece;
} pieces[PIECES];

static _Atomic bool refused_all, refused_said;

struct graph_entry_record {
	struct record_common common;
	uint64_t	func;
	int32_t		depth;
};

struct graph_exit_record {
	struct record_common common;
	uint64_t	func, retval;
	int32_t		depth;
	uint32_t	overrun;
	uint64_t	calltime, rettime;
};

enum { ENTRY_SIZE = 20 };

static inline uintptr_t *mirror_of(uintptr_t slot)
{
	return (uintptr_t *)(slot ^ GRAPH_MIRROR);
}

/* ---- M5: pieces ---- */

static struct known_piece *piece_place(uintptr_t low, unsigned int probe)
{
	return &pieces[((low / PIECE * 0x9e3779b97f4a7c15ull >> 32) + probe) % PIECES];
}

/* *refused: there will be none. */
static struct graph_piece *piece_find(uintptr_t low, bool *refused)
{
	*refused = false;
	for (unsigned int i = 0; i < PIECES; i++) {
		struct known_piece *k = piece_place(low, i);
		/* Acquire: its piece is there. Pairs with the release in piece_note(). */
		uintptr_t has = atomic_load_explicit(&k->low, memory_order_acquire);

		if (has == low)
			return k->piece;
		*refused = has == low + 1;
		if (!has || *refused)
			return NULL;
	}
	*refused = true;
	return NULL;
}

/* Under the lock. */
static void piece_note(uintptr_t low, struct graph_piece *piece)
{
	for (unsigned int i = 0; i < PIECES; i++) {
		struct known_piece *k = piece_place(low, i);

		if (atomic_load_explicit(&k->low, memory_order_relaxed))
			continue;
		k->piece = piece;
		/* Pairs with the acquire in piece_find(). */
		atomic_store_explicit(&k->low, piece ? low : low + 1, memory_order_release);
		return;
	}
}

/* What nobody touches takes no memory, also in a program that has called mlockall(MCL_FUTURE). */
static void *sparse_map(uintptr_t at, size_t size, int flags)
{
	long got = agent_syscall(SYS_mmap, at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags,
				 -1, 0);

	if ((unsigned long)got > -4096ul)
		return NULL;
	agent_syscall(SYS_munlock, got, size);
	if ((at && (uintptr_t)got != at) || agent_syscall(SYS_mprotect, got, size, PROT_READ | PROT_WRITE)) {
		agent_syscall(SYS_munmap, got, size);
		return NULL;
	}
	return (void *)got;
}

static struct graph_piece *piece_map(uintptr_t low)
{
	struct graph_piece *piece;
	void *mirror;

	if (low >> 47 || room_make(PIECE + sizeof(*piece)))
		return NULL;
	mirror = sparse_map((uintptr_t)mirror_of(low) & -(uintptr_t)PIECE, PIECE, MAP_FIXED_NOREPLACE);
	if (!mirror)
		return NULL;
	piece = sparse_map(0, sizeof(*piece), 0);
	if (!piece) {
		agent_syscall(SYS_munmap, mirror, PIECE);
		return NULL;
	}
	/* The mirror stays in a core dump: a debugger needs it. */
	agent_syscall(SYS_madvise, piece, sizeof(*piece), MADV_DONTDUMP);
	return piece;
}

static struct graph_piece *piece_make(uintptr_t low)
{
	struct graph_piece *piece;
	bool refused;

	if (agent_restricted() || agent_filtered() || !thread_lock())
		return NULL;
	piece = piece_find(low, &refused);
	if (!piece && !refused) {
		piece = piece_map(low);
		piece_note(low, piece);
		refused = !piece;
	}
	thread_unlock();
	/* Relaxed: said once or twice. */
	if (refused && !atomic_exchange_explicit(&refused_said, true, memory_order_relaxed))
		agent_say("returns of functions cannot be traced: the addresses that it takes are used otherwise", 0);
	return piece;
}

static inline struct graph_piece *piece_of(struct agent_thread *t, uintptr_t slot, bool *refused)
{
	struct agent_graph *g = &t->graph;
	struct graph_piece *piece;

	*refused = false;
	/* In this order: a handler that comes in between may leave another one. */
	piece = *(struct graph_piece *volatile *)&g->piece;
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(slot - g->low < PIECE, 1))
		return piece;
	piece = piece_find(slot & -(uintptr_t)PIECE, refused);
	if (piece) {
		g->low = 0;	/* a handler that comes in between looks it up itself */
		atomic_signal_fence(memory_order_seq_cst);
		g->piece = piece;
		atomic_signal_fence(memory_order_seq_cst);
		g->low = slot & -(uintptr_t)PIECE;
	}
	return piece;
}

static inline struct graph_frame *frame_in(struct graph_piece *piece, uintptr_t slot)
{
	return &piece->frames[slot % PIECE / ALIGN];
}

/* The frame that the thread has of a slot; NULL: none. */
static inline struct graph_frame *frame_of(struct agent_thread *t, uintptr_t slot)
{
	struct graph_piece *piece;
	struct graph_frame *f;
	bool refused;

	if (!slot)
		return NULL;
	/* Not by way of the thread's: it keeps that of the stack it runs on. */
	piece = __builtin_expect(slot - t->graph.low < PIECE, 1) ? t->graph.piece :
		piece_find(slot & -(uintptr_t)PIECE, &refused);
	f = piece ? frame_in(piece, slot) : NULL;
	return f && f->slot == (uint32_t)slot && f->pid == t->pid ? f : NULL;
}

/* ---- M3: the function above ---- */

static inline bool is_own(const struct agent_thread *t, uintptr_t slot)
{
	return slot - t->stack_low < t->stack_high - t->stack_low;
}

static inline bool is_label(uintptr_t ret)
{
	return ret == (uintptr_t)graph_returned || ret == (uintptr_t)graph_returned_late;
}

/* On a stack that is in use there: hooked, or just about to be. */
static inline bool still_hooked(uintptr_t slot)
{
	uintptr_t ret = *(const uintptr_t *)slot;

	return is_label(ret) || ret == *mirror_of(slot);
}

/* A slot and its frame; NULL: none. */
struct above {
	uintptr_t	slot;
	struct graph_frame *f;
};

static inline struct above above_own(struct agent_thread *t, uintptr_t slot)
{
	struct graph_frame *f;

	for (uintptr_t at = t->graph.top; at && is_own(t, at); at = f->up) {
		f = frame_of(t, at);
		if (!f)
			break;
		if (at > slot && still_hooked(at))
			return (struct above){ at, f };
	}
	return (struct above){ 0 };
}

static struct above above_other(struct agent_thread *t, struct graph_piece *piece, uintptr_t slot)
{
	const uintptr_t last = t->graph.last;
	struct graph_frame *f;

	for (uintptr_t at = piece->inner[slot % PIECE / REGION]; at && at / REGION == slot / REGION; at = f->up) {
		f = frame_of(t, at);
		if (!f)
			break;
		if (at > slot)
			return (struct above){ at, f };
	}
	/* One of that region would have been found: it has been left. */
	f = last / REGION == slot / REGION ? NULL : frame_of(t, last);
	return (struct above){ f ? last : 0, f };
}

/* M4: whose tail call it is, else who called. */
static inline struct above above_of(struct agent_thread *t, struct graph_piece *piece, uintptr_t slot, bool tail)
{
	if (__builtin_expect(tail, 0) && frame_of(t, slot))
		return (struct above){ slot, frame_in(piece, slot) };
	return __builtin_expect(is_own(t, slot), 1) ? above_own(t, slot) : above_other(t, piece, slot);
}

/* A call at `slot` begins, or ends: then the one above is the innermost. */
static inline void inner_set(struct agent_thread *t, struct graph_piece *piece, uintptr_t slot, uintptr_t inner)
{
	t->graph.last = inner;
	if (__builtin_expect(is_own(t, slot), 1))
		t->graph.top = inner;
	else
		piece->inner[slot % PIECE / REGION] = inner / REGION == slot / REGION ? inner : 0;
}

/* ---- Whether, and how ---- */

static inline const struct graph_config *config_now(void)
{
	static const struct graph_config none;
	const struct plane *p = &agent.plane;
	const struct site_control *c = plane_config(p, plane_header(p)->sites);
	/* M6. Acquire: pairs with the release in session_publish(). */
	config_ref ref = atomic_load_explicit(&c->graph, memory_order_acquire);

	return ref && ref + sizeof(none) <= p->config_size ? plane_config(p, ref) : &none;
}

static uint64_t cpu_time(void)
{
	return agent_restricted() ? 0 : clock_system(CLOCK_THREAD);
}

static inline bool is_armed(uint32_t entry)
{
	/* Relaxed: hit() loads it again with acquire. */
	return atomic_load_explicit(&plane_event(&agent.plane, entry)->plan, memory_order_relaxed) != 0;
}

/* -> the instances that want the return */
static inline uint64_t entry_emit(struct agent_thread *t, uint32_t word, uint64_t func, int32_t depth, uint64_t *time)
{
	struct graph_entry_record r = { .func = func, .depth = depth };
	const struct emit_more more = { time, EMIT_ALL };

	return emit_timed(t, (word & SITE_GROUP) + GROUP_GRAPH, &r, ENTRY_SIZE, &more);
}

/* What the entry in f becomes; false: the function is not hooked. */
static inline bool frame_begin(struct agent_thread *t, struct graph_frame *f, const struct graph_frame *up,
			       uint32_t word, uint64_t func)
{
	const struct graph_config *c = config_now();
	uint32_t flags = up ? up->flags & (FRAME_IN_GRAPH | FRAME_NOTRACE) : 0, wants = c->flags;
	int32_t depth = up ? up->depth + 1 : 0;
	uint64_t time = 0, mask;

	if (flags & FRAME_NOTRACE)
		return false;
	flags |= word & SITE_IN_GRAPH ? FRAME_IN_GRAPH : 0;
	if (word & SITE_IN_GRAPH_NOTRACE) {
		flags |= FRAME_NOTRACE;
		mask = 0;
	} else if (((wants & GRAPH_CHOSEN) && !(flags & FRAME_IN_GRAPH)) ||
		   (c->max_depth && (uint32_t)depth >= c->max_depth)) {
		return false;
	} else if (c->thresh || !is_armed((word & SITE_GROUP) + GROUP_GRAPH)) {
		mask = c->thresh || (wants & GRAPH_PROFILE) ? EMIT_ALL : 0;
		time = mask ? emit_time() : 0;
	} else {
		mask = entry_emit(t, word, func, depth, &time);
	}
	if (!mask && !(flags & FRAME_NOTRACE))
		return false;
	f->depth = depth;
	f->flags = (uint16_t)flags;
	f->func = func;
	f->time = time;
	f->mask = mask;
	if (__builtin_expect(wants & GRAPH_CPU_TIME, 0)) {
		f->flags |= FRAME_CPU_TIME;
		f->cpu_time = cpu_time();
	}
	return true;
}

/* ---- M4 ---- */

/* The frame of the function that jumped here is kept; false: there are too many. */
static bool tail_keep(struct graph_piece *piece, uintptr_t slot, const struct graph_frame *old, struct graph_frame *f)
{
	uint32_t nr;
	struct graph_tail *tail;

	if (old->tails >= MOST_TAILS)
		return false;
	/* Relaxed: threads take different ones. */
	nr = atomic_fetch_add_explicit(&piece->next_tail, 1, memory_order_relaxed);
	tail = &piece->tails[nr % TAILS];
	tail->slot = slot;
	tail->nr = nr;
	tail->frame = *old;
	f->tails = (uint16_t)(old->tails + 1);
	f->tail = nr;
	return true;
}

/* The one that waits becomes the slot's; false: it has none. */
static bool tail_take(struct graph_piece *piece, uintptr_t slot, struct graph_frame *f)
{
	const struct graph_tail *tail = &piece->tails[f->tail % TAILS];

	if (!f->tails || tail->nr != f->tail || tail->slot != slot)
		return false;
	*f = tail->frame;
	return true;
}

/* ---- Calls ---- */

/* What needs libc in what follows, or makes system calls. */
static inline bool is_short(const struct agent_thread *t)
{
	return !(t->flags & AGENT_HANDLER) && !t->no_rseq && *t->cpu >= 0;
}

/* What lies in a slot that is reached by a tail call is no return address. */
static inline bool hook(struct agent_thread *t, struct graph_piece *piece, struct site_call *c, uint32_t word,
			uint64_t func)
{
	uintptr_t slot = (uintptr_t)c->ret;
	bool tail = is_label(*c->ret);
	struct above up = above_of(t, piece, slot, tail);
	struct graph_frame *f = frame_in(piece, slot), fresh = { .slot = (uint32_t)slot, .pid = t->pid, .up = up.slot };

	if (!frame_begin(t, &fresh, up.f, word, func))
		return false;
	if (__builtin_expect(up.slot == slot, 0)) {
		fresh.up = f->up;
		if (!tail_keep(piece, slot, f, &fresh)) {
			t->graph.overrun++;
			return false;
		}
	}
	if (site_call_is_late(c))
		fresh.flags |= FRAME_LATE;
	*f = fresh;
	if (!tail)
		*mirror_of(slot) = *c->ret;
	inner_set(t, piece, slot, slot);
	return true;
}

uint32_t graph_enter(struct agent_thread *t, struct site_call *c, uint32_t word, uint64_t func, bool slow)
{
	uintptr_t slot = (uintptr_t)c->ret;
	struct graph_piece *piece;
	bool refused;

	/* Relaxed: set before anything can be hooked, or by a DSO that comes. */
	if (__builtin_expect(atomic_load_explicit(&refused_all, memory_order_relaxed), 0))
		return PATCH_PASS;
	piece = piece_of(t, slot, &refused);
	if (__builtin_expect(!slow && ((!piece && !refused) || !is_short(t)), 0))
		return PATCH_SLOW;
	if (!piece && !refused)
		piece = piece_make(slot & -(uintptr_t)PIECE);
	if (__builtin_expect(!piece, 0)) {
		t->graph.overrun++;
		return PATCH_PASS;
	}
	if (!hook(t, piece, c, word, func))
		return PATCH_PASS;
	if (__builtin_expect(!site_call_is_late(c), 1))
		return PATCH_HOOKED;
	*c->ret = (uintptr_t)graph_returned_late;
	return PATCH_PASS;
}

/* ---- Returns ---- */

static inline bool wants_exit(const struct agent_thread *t, const struct graph_frame *f)
{
	return f && f->mask && t->slot && is_armed(LAYOUT_GRAPH_EXIT);
}

/* tracing_thresh, or times of the processor: not the two times that the records have. */
static bool exit_times(const struct graph_frame *f, struct graph_exit_record *r)
{
	uint64_t thresh = config_now()->thresh;

	r->rettime = emit_time();
	if (f->flags & FRAME_CPU_TIME)
		r->calltime = r->rettime - (cpu_time() - f->cpu_time);
	return !thresh || r->rettime - r->calltime >= thresh;
}

static inline void exit_emit(struct agent_thread *t, const struct graph_frame *f, uint64_t retval)
{
	struct graph_exit_record r = { .func = f->func, .retval = retval, .depth = f->depth,
				       .overrun = t->graph.overrun, .calltime = f->time };
	struct emit_more more = { &r.rettime, f->mask };
	uint64_t unused;

	if (__builtin_expect(f->mask == EMIT_ALL || (f->flags & FRAME_CPU_TIME), 0)) {
		if (!exit_times(f, &r))
			return;
		more.time = &unused;
	}
	emit_timed(t, LAYOUT_GRAPH_EXIT, &r, sizeof(r), &more);
}

/* The frame has ended. -> where to return to */
static inline uintptr_t frame_end(struct agent_thread *t, struct graph_piece *piece, struct graph_frame *f,
				  uintptr_t slot)
{
	if (__builtin_expect(f->tails, 0) && tail_take(piece, slot, f))
		return (uintptr_t)(f->flags & FRAME_LATE ? graph_returned_late : graph_returned);
	f->slot = 0;
	inner_set(t, piece, slot, f->up);
	return *mirror_of(slot);
}

static inline struct graph_left leave(uintptr_t *at, uint64_t retval, bool slow)
{
	struct agent_thread *t = agent_self.thread;
	uintptr_t slot = (uintptr_t)at;
	struct graph_piece *piece;
	struct graph_frame *f;
	bool refused;

	piece = t ? piece_of(t, slot, &refused) : NULL;
	if (__builtin_expect(!piece, 0))
		return (struct graph_left){ *mirror_of(slot), 0 };
	f = frame_of(t, slot);
	if (wants_exit(t, f)) {
		if (__builtin_expect(!slow && !is_short(t), 0))
			return (struct graph_left){ 0, 1 };
		exit_emit(t, f, retval);
	}
	return (struct graph_left){ f ? frame_end(t, piece, f, slot) : *mirror_of(slot), 0 };
}

struct graph_left graph_leave(uintptr_t *slot, uint64_t retval)
{
	return leave(slot, retval, false);
}

uintptr_t graph_leave_slow(uintptr_t *slot, uint64_t retval)
{
	return leave(slot, retval, true).ret;
}

/* ---- What keeps functions from being hooked ---- */

static void refuse(const char *why)
{
	/* Relaxed: it is never taken back. */
	if (!atomic_exchange_explicit(&refused_all, true, memory_order_relaxed))
		agent_say(why, 0);
}

/* With libunwind.so.8 throws would end in nowhere: it does not know a rule for the stack pointer. */
void graph_dso(const char *name)
{
	if (strstr(name, "/libunwind.so.8"))
		refuse("returns of functions are not traced: the program uses libunwind.so.8");
}

void graph_start(void)
{
	uint64_t features = 0;

	if (!agent_syscall(SYS_arch_prctl, SHADOW_STACK_STATUS, &features) && (features & 1))
		refuse("returns of functions are not traced: the processor keeps a stack of its own");
}

/* ---- What sites call ---- */

static inline bool is_on(void)
{
	/* Relaxed: one call more or less. */
	return atomic_load_explicit(&agent.state, memory_order_relaxed) == AGENT_ON;
}

static inline uintptr_t ip_of(const struct site_call *c)
{
	return c->after - 5;
}

static inline uint32_t enter(struct agent_thread *t, struct site_call *c, uint32_t word, bool slow)
{
	if (!(word & SITE_HOOKED))
		return PATCH_PASS;
	return graph_enter(t, c, word, ip_of(c) + c->dso->table->delta, slow);
}

uint32_t patch_hit(struct site_call *c)
{
	struct agent_thread *t = agent_self.thread;
	uint32_t word;

	if (!is_on() || (t && t->busy) || !c->dso->table)
		return PATCH_PASS;
	word = site_word(c->dso->table, ip_of(c));
	if (!word)
		return PATCH_PASS;
	if (__builtin_expect(!t || !t->slot, 0))
		return PATCH_SLOW;
	c->parent = graph_true(c->ret);
	if (is_armed((word & SITE_GROUP) + GROUP_FUNCTION) &&
	    __builtin_expect(sites_hit(ip_of(c), c->parent, site_call_frame(c)), 0))
		return PATCH_SLOW;
	c->done = 1;
	return enter(t, c, word, false);
}

uint32_t patch_hit_slow(struct site_call *c)
{
	struct agent_thread *t = agent_thread();
	uint32_t word = c->dso->table ? site_word(c->dso->table, ip_of(c)) : 0;

	if (!t || t->busy || !word)
		return PATCH_PASS;
	c->parent = graph_true(c->ret);
	if (!c->done)
		sites_hit_slow(ip_of(c), c->parent, site_call_frame(c));
	return enter(t, c, word, true);
}
