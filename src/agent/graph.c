/* SPDX-License-Identifier: MIT */
/*
 * graph.c - the returns of traced functions: function_graph (R25)
 *
 *     site -> trampoline -> patch_hit() -> graph_through calls the function
 *                                                |
 *     caller  <- ret  <-  graph_leave()  <-  graph_returned  <- ret
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
 *     cancellation, coroutines, fork), and recursion may be deep.
 * M2  Slots are multiples of 8; the ABI says 16, but compilers know whom they may
 *     call otherwise. Where two share a frame all the same the second has it,
 *     and the first returns unrecorded.
 * M3  Only the depth and what a function inherits (set_graph_function,
 *     set_graph_notrace) come from the function above: the innermost hooked slot
 *     of the same stack that is above and still says so. On the thread's own
 *     stack that is graph.top; on another one the innermost of the region of
 *     16 KiB, else graph.top, so that a handler on an alternate stack is called
 *     by what it interrupted, and a coroutine by who resumed it. A guess that is
 *     wrong prints a wrong depth and nothing else.
 * M4  A function that ends by a jump to another one (a tail call) leaves its slot
 *     to it: the first one's frame waits in the piece's tails. The second returns to
 *     graph_returned, which finds the first one.
 * M5  A piece is mapped at the first hook in it, with signals blocked and under
 *     the lock of the slow paths, and never unmapped. Where its mirror cannot
 *     be (another has the addresses), or recursion has no end, no function is
 *     hooked: counted as overrun.
 * M6  struct graph_config is read outside of a hit. It may be stale or freed and
 *     hold nonsense for one call (as E1 of emit.c).
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "agent/emit.h"
#include "agent/graph.h"
#include "agent/sites.h"
#include "agent/sites_hit.h"
#include "agent/state.h"
#include "agent/syscall.h"
#include "agent/x86_64/emit.h"
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
	DEEPEST = 64 << 20,	/* bytes of a thread's stack; its frames take eight times as much at most */
	SHADOW_STACK_STATUS = 0x5005,	/* of arch_prctl() */
	PROLOGUE = 48,		/* bytes before a late site that are looked at */
	CLOCK_THREAD = 3,	/* CLOCK_THREAD_CPUTIME_ID */
};

/* Of graph_frame.state, whose lower half is the depth. */
#define FRAME_IN_GRAPH	(1ull << 32)	/* in set_graph_function, or called by one that is */
#define FRAME_NOTRACE	(1ull << 33)	/* in set_graph_notrace */
#define FRAME_LATE	(1ull << 34)	/* returns to graph_returned_late */
#define FRAME_UNSEEN	(1ull << 35)	/* its entry was not recorded: tracing_thresh */
#define FRAME_CPU_TIME	(1ull << 36)
#define FRAME_PROFILED	(1ull << 37)	/* its return is folded */
#define FRAME_TAIL	(1ull << 48)	/* M4: so many wait behind it */
#define FRAME_INHERITED	(FRAME_IN_GRAPH | FRAME_NOTRACE | UINT32_MAX)
/* Of graph_frame.tail, with FRAME_PROFILED */
#define TAIL_GROUP	(1ull << 48)

/* One cache line, stored and loaded in words of 8 bytes. */
struct graph_frame {
	uint64_t	id;		/* frame_id(); 0: none */
	uint64_t	state;
	uintptr_t	up;		/* the slot of the function above; 0: none */
	uint64_t	func;		/* as an address of the session */
	uint64_t	time;		/* of the call */
	uint64_t	mask;		/* the instances that recorded it, or that want its return (FRAME_UNSEEN); 0: none */
	uint64_t	cpu_time;	/* of the thread, at the call; FRAME_PROFILED without FRAME_CPU_TIME: ns of calls below */
	uint64_t	tail;		/* number of the frame that waits; with FRAME_PROFILED in the upper 16 bits its group */
};

_Static_assert(sizeof(struct graph_frame) == 64 && (PIECE - 1) / ALIGN * 64 == FRAMES_MASK, "one cache line a slot");
_Static_assert(offsetof(struct graph_frame, id) == FRAME_ID && offsetof(struct graph_frame, state) == FRAME_DEPTH &&
	       offsetof(struct graph_frame, up) == FRAME_UP && offsetof(struct graph_frame, func) == FRAME_FUNC &&
	       offsetof(struct graph_frame, time) == FRAME_TIME && offsetof(struct graph_frame, mask) == FRAME_MASK &&
	       offsetof(struct graph_frame, state) == FRAME_DEPTH, "emit.S knows frames");
_Static_assert(offsetof(struct agent_thread, graph.low) == GRAPH_LOW &&
	       offsetof(struct agent_thread, graph.size) == GRAPH_SIZE &&
	       offsetof(struct agent_thread, graph.piece) == GRAPH_PIECE &&
	       offsetof(struct agent_thread, graph.top) == GRAPH_TOP &&
	       offsetof(struct agent_thread, graph.state) == GRAPH_STATE &&
	       offsetof(struct agent_thread, graph.overrun) == GRAPH_OVERRUN &&
	       offsetof(struct agent_thread, pid) == THREAD_PID &&
	       offsetof(struct agent_thread, busy) == THREAD_BUSY, "emit.S knows the thread");
_Static_assert(offsetof(struct site_dso, table) == DSO_TABLE && offsetof(struct site_table, code) == TABLE_CODE &&
	       offsetof(struct site_table, words) == TABLE_WORDS && offsetof(struct site_table, size) == TABLE_SIZE &&
	       offsetof(struct site_table, delta) == TABLE_DELTA && SITE_HOOKED == SITE_HOOKED_WORD &&
	       LAYOUT_GRAPH_EXIT == GRAPH_EXIT && GRAPH_MIRROR == MIRROR &&
	       GROUP_GRAPH == GROUP_FUNCTION + 1 && GROUP_FUNCTION == 0, "emit.S knows sites");

struct graph_tail {
	uint64_t	nr;		/* its own number, so that one that was overwritten is not taken for it */
	struct graph_frame frame;
};

struct graph_piece {
	struct graph_frame frames[PIECE / ALIGN];
	uintptr_t	inner[PIECE / REGION];	/* M3: innermost slot, of stacks that are no thread's own */
	_Atomic uint64_t next_tail;
	struct graph_tail tails[TAILS];
};

/* The process's, by address; open addressing. A child of fork() has the same. */
static struct known_piece {
	_Atomic uintptr_t low;		/* 0: free; + 1: refused. Stored last, with release */
	struct graph_piece *piece;
} pieces[PIECES];

static _Atomic bool refused_all, refused_said;

static const struct graph_config no_config;
static const _Atomic config_ref no_control;
/* site_control.graph; set before anything is hooked */
static const _Atomic config_ref *control = &no_control;

/* Written in words of 8 bytes: emit_try(). */
struct function_record {
	struct record_common common;
	uint64_t	ip, parent_ip;
};

struct graph_entry_record {
	struct record_common common;
	uint64_t	func;
	uint32_t	depth;
};

struct graph_exit_record {
	struct record_common common;
	uint64_t	func, retval;
	uint64_t	depth;		/* and in the upper half overrun */
	uint64_t	calltime, rettime;
};

enum { ENTRY_SIZE = 20 };

/* A child of fork() has its parent's frames: they are not its own. */
static inline uint64_t frame_id(const struct agent_thread *t, uintptr_t slot)
{
	return (uint32_t)slot | (uint64_t)t->pid << 32;
}

static inline uintptr_t *mirror_of(uintptr_t slot)
{
	return (uintptr_t *)(slot ^ GRAPH_MIRROR);
}

static inline bool is_own(const struct agent_thread *t, uintptr_t slot)
{
	return slot - t->stack_low < t->stack_high - t->stack_low;
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
	agent_syscall(SYS_madvise, got, size, MADV_NOHUGEPAGE);
	if ((at && (uintptr_t)got != at) || agent_syscall(SYS_mprotect, got, size, PROT_READ | PROT_WRITE)) {
		agent_syscall(SYS_munmap, got, size);
		return NULL;
	}
	return (void *)got;
}

static struct graph_piece *piece_map(const struct agent_thread *t, uintptr_t low)
{
	struct graph_piece *piece;
	void *mirror;

	if (low >> 47 || (is_own(t, low) && t->stack_high - low > DEEPEST) || room_make(PIECE + sizeof(*piece)))
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

static struct graph_piece *piece_make(const struct agent_thread *t, uintptr_t low)
{
	struct graph_piece *piece;
	bool refused;

	if (agent_restricted() || agent_filtered() || !thread_lock())
		return NULL;
	piece = piece_find(low, &refused);
	if (!piece && !refused) {
		piece = piece_map(t, low);
		piece_note(low, piece);
		refused = !piece;
	}
	thread_unlock();
	/* Relaxed: said once or twice. */
	if (refused && !atomic_exchange_explicit(&refused_said, true, memory_order_relaxed))
		agent_say("returns of functions cannot be traced: the addresses that it takes are used otherwise", 0);
	return piece;
}

static inline uintptr_t max_of(uintptr_t a, uintptr_t b)
{
	return a > b ? a : b;
}

static inline uintptr_t min_of(uintptr_t a, uintptr_t b)
{
	return a < b ? a : b;
}

/* The short way from now on: a handler that comes in between finds none. */
static void piece_use(struct agent_thread *t, struct graph_piece *piece, uintptr_t low)
{
	struct agent_graph *g = &t->graph;

	g->size = 0;
	atomic_signal_fence(memory_order_seq_cst);
	g->piece = piece;
	g->low = max_of(low, t->stack_low);
	atomic_signal_fence(memory_order_seq_cst);
	g->size = min_of(low + PIECE, t->stack_high) - g->low;
}

/* As the short way finds it; NULL: not in short. */
static inline struct graph_piece *piece_short(const struct agent_thread *t, uintptr_t slot)
{
	/* In this order: a handler that comes in between may leave another one. */
	struct graph_piece *piece = *(struct graph_piece *const volatile *)&t->graph.piece;

	atomic_signal_fence(memory_order_seq_cst);
	return __builtin_expect(slot - t->graph.low < t->graph.size, 1) ? piece : NULL;
}

static inline struct graph_piece *piece_of(struct agent_thread *t, uintptr_t slot, bool *refused)
{
	struct graph_piece *piece = piece_short(t, slot);

	*refused = false;
	if (__builtin_expect(piece != NULL, 1))
		return piece;
	piece = piece_find(slot & -(uintptr_t)PIECE, refused);
	if (piece && is_own(t, slot))
		piece_use(t, piece, slot & -(uintptr_t)PIECE);
	return piece;
}

static inline struct graph_frame *frame_in(struct graph_piece *piece, uintptr_t slot)
{
	return &piece->frames[slot % PIECE / ALIGN];
}

/* The frame that the thread has of a slot; NULL: none. */
static inline struct graph_frame *frame_of(struct agent_thread *t, uintptr_t slot)
{
	struct graph_piece *piece = piece_short(t, slot);
	struct graph_frame *f;
	bool refused;

	/* Not by way of piece_of(): the thread keeps that of the stack it runs on. */
	if (__builtin_expect(!piece, 0))
		piece = slot ? piece_find(slot & -(uintptr_t)PIECE, &refused) : NULL;
	f = piece ? frame_in(piece, slot) : NULL;
	return f && f->id == frame_id(t, slot) ? f : NULL;
}

/* ---- M3: the function above ---- */

/* Between the two there is nothing that one returns to. */
static inline bool is_label(uintptr_t ret)
{
	return ret - (uintptr_t)graph_returned <= (uintptr_t)(graph_returned_late - graph_returned);
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

static struct above above_own(struct agent_thread *t, uintptr_t slot)
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
	struct graph_frame *f;

	for (uintptr_t at = piece->inner[slot % PIECE / REGION]; at && at / REGION == slot / REGION; at = f->up) {
		f = frame_of(t, at);
		if (!f)
			break;
		if (at > slot)
			return (struct above){ at, f };
	}
	return above_own(t, 0);
}

/* M4: whose tail call it is, else who called. */
static struct above above_of(struct agent_thread *t, struct graph_piece *piece, uintptr_t slot, bool tail)
{
	if (tail && frame_of(t, slot))
		return (struct above){ slot, frame_in(piece, slot) };
	return is_own(t, slot) ? above_own(t, slot) : above_other(t, piece, slot);
}

/* What a function has below one with that state; GRAPH_LONG, as all that is no mere depth: not the short way (entry.S). */
static uint64_t state_below(uint64_t state)
{
	return state & (FRAME_IN_GRAPH | FRAME_NOTRACE) ? GRAPH_LONG : (uint32_t)state + 1ull;
}

/* A call at `slot` begins, or ends: then the one above is the innermost. */
static void inner_set(struct agent_thread *t, struct graph_piece *piece, uintptr_t slot, uintptr_t inner)
{
	const struct graph_frame *f;

	if (!is_own(t, slot)) {
		piece->inner[slot % PIECE / REGION] = inner / REGION == slot / REGION ? inner : 0;
		return;
	}
	f = frame_of(t, inner);
	t->graph.top = f ? inner : 0;
	t->graph.state = f ? state_below(f->state) : 0;
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

int graph_error(void)
{
	/* Relaxed: both are never taken back. */
	return atomic_load_explicit(&refused_all, memory_order_relaxed) ||
	       atomic_load_explicit(&refused_said, memory_order_relaxed) ? -ENOTSUP : 0;
}

void graph_start(void)
{
	const struct site_control *c = plane_config(&agent.plane, plane_header(&agent.plane)->sites);
	uint64_t features = 0;

	control = &c->graph;

	if (!agent_syscall(SYS_arch_prctl, SHADOW_STACK_STATUS, &features) && (features & 1))
		refuse("returns of functions are not traced: the processor keeps a stack of its own");
}

/* ---- Whether, and how ---- */

static inline const struct graph_config *config_now(void)
{
	const struct plane *p = &agent.plane;
	/* M6. Acquire: pairs with the release in session_publish(). */
	config_ref ref = atomic_load_explicit(control, memory_order_acquire);

	return __builtin_expect(ref && ref + sizeof(struct graph_config) <= p->config_size, 1) ?
	       plane_config(p, ref) : &no_config;
}

bool graph_is_plain(void)
{
	const struct graph_config *c = config_now();

	return !c->max_depth && !c->flags && !c->thresh;
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
static uint64_t entry_emit(struct agent_thread *t, const struct graph_config *c, uint32_t word, uint64_t func,
			   uint64_t state, uint64_t *time)
{
	struct graph_entry_record r = { .func = func, .depth = (uint32_t)state };
	uint32_t entry = (word & SITE_GROUP) + GROUP_GRAPH;
	uint64_t mask = c->thresh ? 0 : emit_try(t, entry, &r, ENTRY_SIZE, time, EMIT_ALL);

	if (mask)
		return mask;
	if (!is_armed(entry) || site_out_of_section(t, entry))
		return 0;
	if (!c->thresh)
		return emit_timed(t, entry, &r, ENTRY_SIZE, time, EMIT_ALL);
	*time = emit_time();
	return emit_ask(t, entry, &r, ENTRY_SIZE);
}

/* ---- The profile ---- */

/* -> the time of it */
static uint64_t profile_emit(struct agent_thread *t, const struct graph_frame *f, uint64_t calls, uint64_t ns)
{
	struct profile_record r = { .func = f->func, .calls = calls, .time = ns, .squared = ns * ns };
	uint64_t time = 0;

	emit_timed(t, (uint32_t)(f->tail / TAIL_GROUP) + GROUP_PROFILE, &r, sizeof(r), &time, EMIT_ALL);
	return time;
}

static void profile_begin(struct agent_thread *t, struct graph_frame *f, uint32_t word)
{
	uint64_t time;

	f->state |= FRAME_PROFILED;
	f->tail = f->tail % TAIL_GROUP + (word & SITE_GROUP) * TAIL_GROUP;
	if (!(f->state & FRAME_CPU_TIME))
		f->cpu_time = 0;
	time = profile_emit(t, f, 1, 0);
	if (!f->time)
		f->time = time;
}

/*
 * With nograph-time what the function took counts as of calls below in its caller. A caller with times of the
 * processor has no room for that: then graph-time is as if it were set.
 */
static void profile_end(struct agent_thread *t, const struct graph_frame *f)
{
	const bool cpu = f->state & FRAME_CPU_TIME;
	uint64_t ns = cpu ? cpu_time() - f->cpu_time : emit_time() - f->time;
	struct graph_frame *up = f->up ? frame_of(t, f->up) : NULL;

	if ((config_now()->flags & GRAPH_SELF_TIME) && !cpu) {
		if (up && !(up->state & FRAME_CPU_TIME))
			up->cpu_time += ns;
		ns -= f->cpu_time < ns ? f->cpu_time : ns;
	}
	profile_emit(t, f, 0, ns);
}

/* ---- M4 ---- */

static inline bool tail_is_full(const struct graph_frame *f)
{
	return f->state / FRAME_TAIL >= MOST_TAILS;
}

/* The frame of the function that jumped here is kept. -> how many wait then */
static uint64_t tail_keep(struct graph_piece *piece, struct graph_frame *f)
{
	/* Relaxed: threads take different ones. */
	uint64_t nr = atomic_fetch_add_explicit(&piece->next_tail, 1, memory_order_relaxed);
	struct graph_tail *tail = &piece->tails[nr % TAILS];

	tail->nr = nr;
	tail->frame = *f;
	f->tail = nr;
	return f->state / FRAME_TAIL + 1;
}

/* The one that waits becomes the slot's; false: others have taken its place. */
static bool tail_take(struct graph_piece *piece, struct graph_frame *f)
{
	const uint64_t nr = f->tail % TAIL_GROUP;
	const struct graph_tail *tail = &piece->tails[nr % TAILS];

	if (tail->nr != nr || tail->frame.id != f->id)
		return false;
	*f = tail->frame;
	return true;
}

/* ---- Calls ---- */

static bool is_left_out(const struct graph_config *c, uint64_t state)
{
	return (state & FRAME_NOTRACE) || ((c->flags & GRAPH_CHOSEN) && !(state & FRAME_IN_GRAPH)) ||
	       (c->max_depth && (uint32_t)state >= c->max_depth);
}

/* What lies in a slot that is reached by a tail call is no return address. */
static uint32_t hook(struct agent_thread *t, struct graph_piece *piece, uintptr_t *at, uint32_t word, uint64_t func,
		     bool late)
{
	const struct graph_config *c = config_now();
	const uintptr_t slot = (uintptr_t)at, ret = *at;
	const bool tail = is_label(ret);
	const struct above up = above_of(t, piece, slot, tail);
	struct graph_frame *f = frame_in(piece, slot);
	const bool profiled = (c->flags & GRAPH_PROFILE) && is_armed((word & SITE_GROUP) + GROUP_PROFILE);
	uint64_t state = up.f ? (up.f->state & FRAME_INHERITED) + 1 : 0, time = 0, mask = 0;

	if ((state & FRAME_NOTRACE) && !profiled)
		return PATCH_PASS;
	if (up.slot == slot && tail_is_full(f)) {
		t->graph.overrun++;
		return PATCH_PASS;
	}
	if (word & SITE_IN_GRAPH)
		state |= FRAME_IN_GRAPH;
	if (word & SITE_IN_GRAPH_NOTRACE)
		state |= FRAME_NOTRACE;
	if (!is_left_out(c, state))
		mask = entry_emit(t, c, word, func, state, &time);
	/* The first of set_graph_notrace is hooked, so that those below it know. */
	if (!mask && !profiled && !(state & FRAME_NOTRACE))
		return PATCH_PASS;
	if (up.slot == slot)
		state += tail_keep(piece, f) * FRAME_TAIL;
	else
		f->up = up.slot;
	state |= c->thresh ? FRAME_UNSEEN : 0;
	if (c->flags & GRAPH_CPU_TIME) {
		state |= FRAME_CPU_TIME;
		f->cpu_time = cpu_time();
	}
	f->id = frame_id(t, slot);
	f->state = late ? state | FRAME_LATE : state;
	f->func = func;
	f->time = time;
	f->mask = mask;
	if (profiled)
		profile_begin(t, f, word);
	if (!tail)
		*mirror_of(slot) = ret;
	inner_set(t, piece, slot, slot);
	if (!late)
		return PATCH_HOOKED;
	*at = (uintptr_t)graph_returned_late;
	return PATCH_PASS;
}

static struct graph_piece *piece_known_or_made(struct agent_thread *t, uintptr_t slot)
{
	bool refused;
	struct graph_piece *piece = piece_of(t, slot, &refused);

	if (!piece && !refused)
		piece = piece_make(t, slot & -(uintptr_t)PIECE);
	if (!piece)
		t->graph.overrun++;
	return piece;
}

/* ---- Returns ---- */

/* What has times of its own: all that is not recorded at its entry, and times of the processor. */
static bool exit_times(const struct graph_frame *f, struct graph_exit_record *r)
{
	uint64_t thresh = config_now()->thresh;

	r->rettime = emit_time();
	if (f->state & FRAME_CPU_TIME)
		r->calltime = r->rettime - (cpu_time() - f->cpu_time);
	return !thresh || r->rettime - r->calltime >= thresh;
}

static void exit_long(struct agent_thread *t, const struct graph_frame *f, struct graph_exit_record *r)
{
	uint64_t unused, *time = &r->rettime;

	if (!f->mask || !is_armed(LAYOUT_GRAPH_EXIT))
		return;
	if (f->state & (FRAME_UNSEEN | FRAME_CPU_TIME)) {
		if (!exit_times(f, r))
			return;
		time = &unused;
	}
	emit_timed(t, LAYOUT_GRAPH_EXIT, r, sizeof(*r), time, f->mask);
}

static bool exit_short(struct agent_thread *t, const struct graph_frame *f, struct graph_exit_record *r)
{
	return !(f->state & (FRAME_UNSEEN | FRAME_CPU_TIME | FRAME_PROFILED)) &&
	       emit_try(t, LAYOUT_GRAPH_EXIT, r, sizeof(*r), &r->rettime, f->mask);
}

static struct graph_exit_record exit_of(const struct agent_thread *t, const struct graph_frame *f, uint64_t retval)
{
	return (struct graph_exit_record){ .func = f->func, .retval = retval, .calltime = f->time,
					   .depth = (uint32_t)f->state | (uint64_t)t->graph.overrun << 32 };
}

/* The frame has ended. -> where to return to */
static uintptr_t frame_end(struct agent_thread *t, struct graph_piece *piece, struct graph_frame *f, uintptr_t slot)
{
	if (f->state >= FRAME_TAIL && tail_take(piece, f))
		return (uintptr_t)(f->state & FRAME_LATE ? graph_returned_late : graph_returned);
	f->id = 0;
	inner_set(t, piece, slot, f->up);
	return *mirror_of(slot);
}

uintptr_t graph_leave(uintptr_t *at, uint64_t retval)
{
	struct agent_thread *t = agent_self.thread;
	const uintptr_t slot = (uintptr_t)at;
	struct graph_exit_record r;
	struct graph_piece *piece;
	struct graph_frame *f;
	bool refused;

	piece = t ? piece_of(t, slot, &refused) : NULL;
	f = piece ? frame_in(piece, slot) : NULL;
	if (!f || f->id != frame_id(t, slot))
		return *mirror_of(slot);
	r = exit_of(t, f, retval);
	if ((f->mask || (f->state & FRAME_PROFILED)) && t->slot && !exit_short(t, f, &r)) {
		exit_long(t, f, &r);
		if (f->state & FRAME_PROFILED)
			profile_end(t, f);
	}
	return frame_end(t, piece, f, slot);
}

/* ---- What sites call ---- */

static inline bool is_on(void)
{
	/* Relaxed: one call more or less. */
	return atomic_load_explicit(&agent.state, memory_order_relaxed) == AGENT_ON;
}

/* The function event. False: it is to be done with all registers saved. */
static inline bool function_emit(struct agent_thread *t, const struct site_table *table, uint32_t word, uintptr_t ip,
				 uintptr_t parent)
{
	struct function_record r = { .ip = ip + table->delta, .parent_ip = parent + table->delta };
	uint32_t entry = (word & SITE_GROUP) + GROUP_FUNCTION;
	uint64_t time;

	if (__builtin_expect(site_table_has(table, parent), 1) &&
	    __builtin_expect(emit_try(t, entry, &r, sizeof(r), &time, EMIT_ALL) != 0, 1))
		return true;
	return !sites_hit(ip, parent, NULL);
}

/* With set_graph_function most calls are: on the thread's own stack, below nothing that is hooked. */
static inline bool is_outside(const struct agent_thread *t, uintptr_t slot, uint32_t word)
{
	return !t->graph.top && piece_short(t, slot) && !(word & (SITE_IN_GRAPH | SITE_IN_GRAPH_NOTRACE)) &&
	       (config_now()->flags & (GRAPH_CHOSEN | GRAPH_PROFILE)) == GRAPH_CHOSEN;
}

/*
 * gcc's prologue of a function that aligns the stack anew makes a second return
 * address for the frame that %rbp points to: push -8(%r10); push %rbp; mov %rsp,
 * %rbp. It returns by the first one, so a late site cannot change it.
 */
static bool returns_elsewhere(const struct site_table *table, uintptr_t ip)
{
	const uint64_t prologue = 0xe5894855f870ff41, which = 0x070000;	/* %r8 to %r15 */
	uint64_t word;

	for (uintptr_t at = ip - PROLOGUE; at <= ip - sizeof(word); at++) {
		if (!site_table_has(table, at))
			continue;
		memcpy(&word, (const void *)at, sizeof(word));
		if ((word & ~which) == prologue)
			return true;
	}
	return false;
}

/* Behind the function event. */
static uint32_t hook_long(struct agent_thread *t, uintptr_t *slot, uint32_t word, uint64_t func, bool late)
{
	struct graph_piece *piece;
	bool refused;

	/* Relaxed: it is never taken back. */
	if (atomic_load_explicit(&refused_all, memory_order_relaxed))
		return PATCH_PASS;
	piece = piece_of(t, (uintptr_t)slot, &refused);
	if (!piece) {
		t->graph.overrun += refused;
		return refused ? PATCH_PASS : PATCH_SLOW_GRAPH;
	}
	return hook(t, piece, slot, word, func, late);
}

static inline __attribute__((always_inline)) uint32_t hit_at(struct site_dso *d, uintptr_t after, uintptr_t *slot,
							     bool late)
{
	struct agent_thread *t = agent_self.thread;
	const struct site_table *table = d->table;
	uintptr_t ip = after - 5;
	uint32_t word;

	if (__builtin_expect(!table, 0))
		return PATCH_PASS;
	word = site_word(table, ip);
	if (__builtin_expect(!word, 0))
		return PATCH_PASS;
	if (__builtin_expect(!t || !t->slot, 0))
		return is_on() ? PATCH_SLOW : PATCH_PASS;
	if (__builtin_expect(t->busy, 0))
		return PATCH_PASS;
	if (!(word & SITE_HOOKED))
		return function_emit(t, table, word, ip, graph_true(slot)) ? PATCH_PASS : PATCH_SLOW;
	if (is_armed((word & SITE_GROUP) + GROUP_FUNCTION) &&
	    __builtin_expect(!function_emit(t, table, word, ip, graph_true(slot)), 0))
		return PATCH_SLOW;
	if (is_outside(t, (uintptr_t)slot, word) || (late && returns_elsewhere(table, ip)))
		return PATCH_PASS;
	return hook_long(t, slot, word, ip + table->delta, late);
}

uint32_t patch_hit(struct site_dso *d, uintptr_t after, uintptr_t *slot)
{
	return hit_at(d, after, slot, false);
}

uint32_t patch_hit_late(struct site_dso *d, uintptr_t after, uintptr_t *slot)
{
	return hit_at(d, after, slot, true);
}

uint32_t patch_hit_slow(struct site_call *c)
{
	struct agent_thread *t = agent_thread();
	const struct site_table *table = c->dso->table;
	uintptr_t ip = c->after - 5;
	uint32_t word = table ? site_word(table, ip) : 0;
	struct graph_piece *piece;

	if (!t || t->busy || !word)
		return PATCH_PASS;
	c->parent = graph_true(c->slot);
	if (c->done == PATCH_SLOW)
		sites_hit_slow(ip, c->parent, site_call_frame(c));
	if (!(word & SITE_HOOKED) || atomic_load_explicit(&refused_all, memory_order_relaxed) ||
	    (c->late && returns_elsewhere(table, ip)))
		return PATCH_PASS;
	piece = piece_known_or_made(t, (uintptr_t)c->slot);
	if (!piece)
		return PATCH_PASS;
	return hook(t, piece, c->slot, word, ip + table->delta, c->late);
}
