/* SPDX-License-Identifier: MIT */
/*
 * frame.c - pieces of stack with their mirrors and frames; the function above; functions that have
 * jumped to another one
 *
 * graph.c explains M3, M4 and M5.
 */
#include <sys/mman.h>
#include "agent/graph/frame.h"
#include "agent/state.h"
#include "agent/syscall.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum {
	PIECES = 8192,
	/* bytes of a thread's stack; its frames take eight times as much at most */
	DEEPEST = 64 << 20,
};

/*
 * All pieces of the process, by address, with open addressing. A child of fork() has the same ones.
 */
static struct known_piece {
	_Atomic uintptr_t low;		/* 0: free; + 1: refused. Stored last, with release */
	struct graph_piece *piece;
} pieces[PIECES];

static _Atomic bool refused_said;

/* ---- M5: pieces ---- */

static struct known_piece *piece_place(uintptr_t low, unsigned int probe)
{
	return &pieces[((low / PIECE * 0x9e3779b97f4a7c15ull >> 32) + probe) % PIECES];
}

struct graph_piece *piece_find(uintptr_t low, bool *refused)
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

		/* Relaxed: written under the lock. */
		if (atomic_load_explicit(&k->low, memory_order_relaxed))
			continue;
		k->piece = piece;
		/* Pairs with the acquire in piece_find(). */
		atomic_store_explicit(&k->low, piece ? low : low + 1, memory_order_release);
		return;
	}
}

/* Untouched pages take no memory, also in a program that has called mlockall(MCL_FUTURE). */
static void *sparse_map(uintptr_t at, size_t size, int flags)
{
	long got = agent_syscall(SYS_mmap, at, size, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);

	if ((unsigned long)got > -4096ul)
		return NULL;
	agent_syscall(SYS_munlock, got, size);
	agent_syscall(SYS_madvise, got, size, MADV_NOHUGEPAGE);
	if ((at && (uintptr_t)got != at) ||
	    agent_syscall(SYS_mprotect, got, size, PROT_READ | PROT_WRITE)) {
		agent_syscall(SYS_munmap, got, size);
		return NULL;
	}
	return (void *)got;
}

static struct graph_piece *piece_map(const struct agent_thread *t, uintptr_t low)
{
	struct graph_piece *piece;
	void *mirror;

	if (low >> 47 || (is_own(t, low) && t->stack_high - low > DEEPEST) ||
	    room_make(PIECE + sizeof(*piece)))
		return NULL;
	mirror = sparse_map((uintptr_t)mirror_of(low) & -(uintptr_t)PIECE, PIECE,
			    MAP_FIXED_NOREPLACE);
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

static struct graph_piece *piece_make_at(const struct agent_thread *t, uintptr_t low)
{
	struct graph_piece *piece;
	bool refused;

	if (agent_restricted() || agent_filtered()) {
		graph_missed(1ull << RETURNLESS_SANDBOX);
		return NULL;
	}
	if (!thread_lock())
		return NULL;
	piece = piece_find(low, &refused);
	if (!piece && !refused) {
		piece = piece_map(t, low);
		piece_note(low, piece);
		refused = !piece;
	}
	thread_unlock();
	/* Relaxed: the message may come twice. */
	if (refused && !atomic_exchange_explicit(&refused_said, true, memory_order_relaxed))
		agent_say("returns of functions cannot be traced: the program uses the addresses "
			  "that this takes",
			  0);
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

/*
 * Makes the piece the one of the short way. A handler in the middle of this finds no piece, and may
 * set its own one; then there is none afterwards.
 */
static void piece_use(struct agent_thread *t, struct graph_piece *piece, uintptr_t low)
{
	struct agent_graph *g = &t->graph;
	volatile uint32_t *turn = &g->turn;
	const uint32_t mine = ++*turn;

	/* These fences pair with those in piece_short(), in a handler of this thread. */
	g->size = 0;
	atomic_signal_fence(memory_order_seq_cst);
	g->piece = piece;
	g->low = max_of(low, t->stack_low);
	/* As above. */
	atomic_signal_fence(memory_order_seq_cst);
	g->size = min_of(low + PIECE, t->stack_high) - g->low;
	atomic_signal_fence(memory_order_seq_cst);
	if (*turn != mine)
		g->size = 0;
}

struct graph_piece *piece_seek(struct agent_thread *t, uintptr_t slot, bool *refused)
{
	struct graph_piece *piece = piece_find(slot & -(uintptr_t)PIECE, refused);

	if (piece && is_own(t, slot))
		piece_use(t, piece, slot & -(uintptr_t)PIECE);
	return piece;
}

struct graph_piece *piece_make(struct agent_thread *t, uintptr_t slot)
{
	bool refused;
	struct graph_piece *piece = piece_seek(t, slot, &refused);

	if (!piece && !refused)
		piece = piece_make_at(t, slot & -(uintptr_t)PIECE);
	if (!piece)
		t->graph.overrun++;
	return piece;
}

bool piece_refused(void)
{
	/* Relaxed: it is never set back. */
	return atomic_load_explicit(&refused_said, memory_order_relaxed);
}

/* ---- M3: the function above ---- */

/* For a stack that is in use at the slot: the function is hooked, or is just about to be. */
static inline bool still_hooked(uintptr_t slot)
{
	uintptr_t ret = *(const uintptr_t *)slot;

	return is_label(ret) || ret == *mirror_of(slot);
}

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

/* The thread runs on another stack. Memory of that stack may be unmapped, so nothing reads it. */
static struct above above_near(struct agent_thread *t, const struct graph_piece *piece,
			       uintptr_t slot)
{
	struct graph_frame *f;

	for (uintptr_t at = piece->inner[slot % PIECE / REGION]; at && at / REGION == slot / REGION;
	     at = f->up) {
		f = frame_of(t, at);
		if (!f || runs_on_own(t, at))
			break;
		if (at > slot)
			return (struct above){ at, f };
	}
	return (struct above){ 0 };
}

static struct above above_other(struct agent_thread *t, const struct graph_piece *piece,
				uintptr_t slot)
{
	struct above up = above_near(t, piece, slot);

	return up.f ? up : above_own(t, 0);
}

struct above above_of(struct agent_thread *t, struct graph_piece *piece, uintptr_t slot, bool tail)
{
	if (tail && frame_of(t, slot))
		return (struct above){ slot, frame_in(piece, slot) };
	return runs_on_own(t, slot) ? above_own(t, slot) : above_other(t, piece, slot);
}

uintptr_t graph_caller(struct agent_thread *t, uintptr_t ret, uintptr_t below)
{
	struct above up = { 0 };
	struct graph_piece *piece;
	bool refused;

	if (__builtin_expect(!is_label(ret), 1))
		return ret;
	piece = runs_on_own(t, below) ? NULL : piece_find(below & -(uintptr_t)PIECE, &refused);
	if (piece)
		up = above_near(t, piece, below);
	else if (runs_on_own(t, below))
		up = above_own(t, below);
	return up.f ? *mirror_of(up.slot) : ret;
}

uintptr_t graph_looked_up(const uintptr_t *word)
{
	bool refused;

	return is_label(*word) && !piece_find((uintptr_t)word & -(uintptr_t)PIECE, &refused)
		       ? *word
		       : graph_true(word);
}

/*
 * The state of a function below one with that state. GRAPH_LONG, as for any state that is more than
 * a depth: the short way (entry.S) does not do it.
 */
static uint64_t state_below(uint64_t state)
{
	if (state & FRAME_OUTER)
		return 0;
	return state & (FRAME_IN_GRAPH | FRAME_NOTRACE) ? GRAPH_LONG : (uint32_t)state + 1ull;
}

void inner_set(struct agent_thread *t, struct graph_piece *piece, uintptr_t slot, uintptr_t inner)
{
	const struct graph_frame *f;

	if (!runs_on_own(t, slot)) {
		piece->inner[slot % PIECE / REGION] = inner / REGION == slot / REGION ? inner : 0;
		return;
	}
	f = frame_of(t, inner);
	t->graph.top = f ? inner : 0;
	t->graph.state = f ? state_below(f->state) : 0;
}

/* ---- M4 ---- */

uint64_t tail_keep(struct graph_piece *piece, struct graph_frame *f)
{
	/* Acquire: pairs with the release in tail_free(). Each thread takes another number. */
	uint64_t nr = atomic_fetch_add_explicit(&piece->next_tail, 1, memory_order_acquire);
	struct graph_tail *tail = &piece->tails[nr % TAILS];

	tail->nr = nr;
	tail->frame = *f;
	f->tail = nr;
	return f->state / FRAME_TAIL + 1;
}

/*
 * The number is given again, unless a higher one is in use: that of a function that was left
 * without a return, or of another stack in the piece. Calls end inside out, so that a frame that
 * waits long, as main()'s, is below all that come and go meanwhile, and they do not overwrite it.
 */
static void tail_free(struct graph_piece *piece, uint64_t nr)
{
	uint64_t next = nr + 1;

	/* Release: pairs with tail_keep(), whose caller overwrites the frame that was read here. */
	atomic_compare_exchange_strong_explicit(&piece->next_tail, &next, nr, memory_order_release,
						memory_order_relaxed);
}

struct graph_frame *tail_look(struct graph_piece *piece, const struct graph_frame *f)
{
	const uint64_t nr = f->tail % TAIL_GROUP;
	struct graph_tail *tail = &piece->tails[nr % TAILS];

	return tail->nr == nr && tail->frame.id == f->id ? &tail->frame : NULL;
}

bool tail_take(struct graph_piece *piece, struct graph_frame *f)
{
	const struct graph_frame *waits = tail_look(piece, f);
	const uint64_t nr = f->tail % TAIL_GROUP;

	if (!waits)
		return false;
	*f = *waits;
	tail_free(piece, nr);
	return true;
}
