/* SPDX-License-Identifier: MIT */
/*
 * frame.h - what is known of a function whose return is caught, and where (frame.c)
 *
 *     slot -> its piece of stack -> frames[] -> struct graph_frame
 *
 * Included by graph.c and frame.c.
 */
#ifndef TRACEFUSE_AGENT_GRAPH_FRAME_H
#define TRACEFUSE_AGENT_GRAPH_FRAME_H

#include "agent/agent.h"
#include "agent/graph/graph.h"
#include "agent/state.h"

enum {
	PIECE = 2 << 20,	/* bytes of stack */
	ALIGN = 8,		/* M2 */
	REGION = 16384,
	TAILS = 16384,		/* only the pages of those that wait at the same time are used */
	MOST_TAILS = 50,	/* of one slot: the largest depth that the kernel has */
};

/* Flags of graph_frame.state; its lower half is the depth. */
#define FRAME_IN_GRAPH	(1ull << 32)	/* in set_graph_function, or called by one that is */
#define FRAME_NOTRACE	(1ull << 33)	/* in set_graph_notrace */
#define FRAME_LATE	(1ull << 34)	/* returns to graph_returned_late */
#define FRAME_UNSEEN	(1ull << 35)	/* its entry was not recorded, because of tracing_thresh */
#define FRAME_CPU_TIME	(1ull << 36)
#define FRAME_PROFILED	(1ull << 37)	/* its return is folded into the profile */
#define FRAME_SITE	(1ull << 38)	/* returns at a return site: the slot is unchanged */
/* A probe waits for the return: `func` is its struct probe_place. Also FRAME_LATE. */
#define FRAME_PROBED	(1ull << 39)
/* Of these, one with no function above: what it calls has the depth 0. */
#define FRAME_OUTER	(1ull << 40)
#define FRAME_TAIL	(1ull << 48)	/* M4: multiplied by the number of frames that wait */
#define FRAME_INHERITED	(FRAME_IN_GRAPH | FRAME_NOTRACE | UINT32_MAX)
/* In graph_frame.tail, with FRAME_PROFILED: multiplied by the group. */
#define TAIL_GROUP	(1ull << 48)

/* One cache line, stored and loaded in words of 8 bytes. */
struct graph_frame {
	uint64_t	id;		/* frame_id(); 0: none */
	uint64_t	state;
	uintptr_t	up;		/* the slot of the function above; 0: none */
	uint64_t	func;		/* its address in the session */
	/* Time of the call. FRAME_PROFILED with FRAME_CPU_TIME: ns of the calls below. */
	uint64_t	time;
	/* The instances that recorded it, or that want its return (FRAME_UNSEEN); 0: none. */
	uint64_t	mask;
	/*
	 * The thread's CPU time at the call. FRAME_PROFILED without FRAME_CPU_TIME: ns of the calls
	 * below.
	 */
	uint64_t	cpu_time;
	/* Number of the frame that waits. With FRAME_PROFILED the upper 16 bits are its group. */
	uint64_t	tail;
};

struct graph_tail {
	/* Its own number: shows whether another one has overwritten it. */
	uint64_t	nr;
	struct graph_frame frame;
};

struct graph_piece {
	struct graph_frame frames[PIECE / ALIGN];
	/* M3: the innermost slots of stacks that are no thread's own. */
	uintptr_t	inner[PIECE / REGION];
	_Atomic uint64_t next_tail;
	struct graph_tail tails[TAILS];
};

/* Differs between processes: a child of fork() has copies of its parent's frames. */
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

/* On the thread's own stack, and not on an alternate stack inside it (S3 of stack.c). */
static inline bool runs_on_own(const struct agent_thread *t, uintptr_t slot)
{
	return is_own(t, slot) && !((t->flags & AGENT_HANDLER) && stack_alternate(slot));
}

/* Whether it is one of our two labels: between them there is no other return address. */
static inline bool is_label(uintptr_t ret)
{
	return ret - (uintptr_t)graph_returned <= (uintptr_t)(graph_returned_late - graph_returned);
}

/* A slot and its frame; NULL: none. */
struct above {
	uintptr_t	slot;
	struct graph_frame *f;
};

/* ---- frame.c ---- */

/* The piece with that address; NULL: none. *refused: it cannot be made. */
struct graph_piece *piece_find(uintptr_t low, bool *refused);
/* The same for a slot. If it is on the thread's own stack, the short way finds the piece later. */
struct graph_piece *piece_seek(struct agent_thread *t, uintptr_t slot, bool *refused);
/* The same, and makes the piece if there is none. With all registers saved. */
struct graph_piece *piece_make(struct agent_thread *t, uintptr_t slot);
/* Whether a piece could not be made because its addresses are in use. */
bool piece_refused(void);

/* The function above: the one that made the tail call (M4), else the caller (M3). */
struct above above_of(struct agent_thread *t, struct graph_piece *piece, uintptr_t slot, bool tail);
/* A call at `slot` begins or ends: `inner` becomes the innermost slot. */
void inner_set(struct agent_thread *t, struct graph_piece *piece, uintptr_t slot, uintptr_t inner);

/* M4: stores the frame of the function that jumped here. -> how many wait then */
uint64_t tail_keep(struct graph_piece *piece, struct graph_frame *f);
/* The frame that waits; NULL: more than TAILS others wait, and have overwritten it. */
struct graph_frame *tail_look(struct graph_piece *piece, const struct graph_frame *f);
/* Makes it the slot's frame, and waits no longer. False: others have overwritten it. */
bool tail_take(struct graph_piece *piece, struct graph_frame *f);

static inline bool tail_is_full(const struct graph_frame *f)
{
	return f->state / FRAME_TAIL >= MOST_TAILS;
}

/* The piece of the short way; NULL: the slot is not in it. */
static inline struct graph_piece *piece_short(const struct agent_thread *t, uintptr_t slot)
{
	/* Read before and after: a handler that runs in between may set another piece. */
	struct graph_piece *piece = *(struct graph_piece *const volatile *)&t->graph.piece;
	bool is_in;

	/* Pairs with piece_use(). */
	atomic_signal_fence(memory_order_seq_cst);
	is_in = slot - t->graph.low < t->graph.size;
	atomic_signal_fence(memory_order_seq_cst);
	return __builtin_expect(
		       is_in && piece == *(struct graph_piece *const volatile *)&t->graph.piece, 1)
		       ? piece
		       : NULL;
}

static inline struct graph_piece *piece_of(struct agent_thread *t, uintptr_t slot, bool *refused)
{
	struct graph_piece *piece = piece_short(t, slot);

	*refused = false;
	if (__builtin_expect(piece != NULL, 1))
		return piece;
	return piece_seek(t, slot, refused);
}

static inline struct graph_frame *frame_in(struct graph_piece *piece, uintptr_t slot)
{
	return &piece->frames[slot % PIECE / ALIGN];
}

/* The thread's frame of a slot; NULL: none. */
static inline struct graph_frame *frame_of(struct agent_thread *t, uintptr_t slot)
{
	struct graph_piece *piece = piece_short(t, slot);
	struct graph_frame *f;
	bool refused;

	/* Without piece_of(): the thread must remember the piece of the stack that it runs on. */
	if (__builtin_expect(!piece, 0))
		piece = slot ? piece_find(slot & -(uintptr_t)PIECE, &refused) : NULL;
	f = piece ? frame_in(piece, slot) : NULL;
	return f && f->id == frame_id(t, slot) ? f : NULL;
}

#endif
