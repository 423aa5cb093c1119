/* SPDX-License-Identifier: MIT */
/*
 * graph.h - the returns of traced functions (graph.c, x86_64/graph.S)
 *
 * Included by the C files of src/agent.
 */
#ifndef TRACEFUSE_AGENT_GRAPH_GRAPH_H
#define TRACEFUSE_AGENT_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "layout/layout.h"

/*
 * The true return address of a slot lies at its address ^ this. Bit 11: else both had the same
 * place in a cache.
 */
#define GRAPH_MIRROR	(1ull << 46 | 1ull << 11)

/* There are no settings of the graph tracer (struct graph_config). In a hit. */
bool graph_is_plain(void);
/* The profile takes the times of calls by the clock, with those of what is called. In a hit. */
bool graph_is_only_profile(void);

struct agent_thread;
struct site_dso;

/* A call of a function with a site, for those who need more time: entry.S makes it. */
struct site_call {
	uint64_t	done;		/* what patch_hit() said */
	uintptr_t	*slot;		/* where its return address lies */
	/* here a walk by frame pointers begins: where `caller` lies */
	const void	*next;
	uintptr_t	after;		/* the instruction behind the site */
	/* of a late site the function's own %rbp: next is that, and these two are not used */
	uintptr_t	caller;
	uintptr_t	parent;
	struct site_dso	*dso;
	uint64_t	late;
};

_Static_assert(offsetof(struct site_call, after) == 24 && offsetof(struct site_call, late) == 56 &&
	       sizeof(struct site_call) == 64, "as entry.S writes it");

static inline const void *site_call_frame(const struct site_call *c)
{
	return &c->next;
}

/*
 * What entry.S calls where it does not go the short way. From SLOW on it is to
 * call patch_hit_slow() with all registers saved.
 */
enum {
	PATCH_PASS,
	PATCH_HOOKED,
	PATCH_SLOW,		/* nothing has been done */
	PATCH_SLOW_GRAPH,	/* the function event has been */
};

uint32_t patch_hit(struct site_dso *d, uintptr_t after, uintptr_t *slot);
uint32_t patch_hit_late(struct site_dso *d, uintptr_t after, uintptr_t *slot);
uint32_t patch_hit_slow(struct site_call *c);

/* The same in graph.S. -> the return address */
uintptr_t graph_leave(uintptr_t *slot, uint64_t retval);

/*
 * What graph.S and entry.S do of these two by themselves is the record. The innermost function of
 * the thread's own stack has jumped to `func`, which has its slot from now on; or `func` returns.
 * -> the return address
 */
void graph_tail(uintptr_t *slot, uint64_t func, uint64_t time, uint64_t mask);
uintptr_t graph_tail_left(uintptr_t *slot);

/*
 * Called at a return site. Who has no frame at the slot, or one whose return address was replaced,
 * is not concerned.
 */
void graph_left(uintptr_t *slot, uint64_t retval);

/* The thread ends: its functions that have not returned are left. */
void graph_thread_ends(struct agent_thread *t);

/* Where functions return to that are hooked. No functions. */
extern const char graph_returned[] __attribute__((visibility("hidden")));
extern const char graph_returned_late[] __attribute__((visibility("hidden")));

/*
 * A DSO with that name is or will be there: with some nothing can be hooked. True: it is the first
 * of those.
 */
bool graph_dso(const char *name);
/* There is one: words of sites are not to say that they are hooked, which entry.S goes by. */
bool graph_refused(void);
/*
 * Functions with return sites may have them used, also where return addresses may not be replaced.
 * False: what lies in a slot may be another call's, as stacks are copied there and back.
 */
bool graph_may_at_sites(void);
/* -ENOTSUP: returns are not caught in this process, but at return sites; 0 */
int graph_error(void);
/* At the first DSO with sites: what keeps the processor or the kernel from it. */
void graph_start(void);

/*
 * The true one of a copy of a return address: of a function that is not traced, runs at `below`,
 * and was jumped to by the innermost one that is hooked there. As it is, where that is not known.
 * (frame.c)
 */
uintptr_t graph_caller(struct agent_thread *t, uintptr_t ret, uintptr_t below);

/* The true one of a return address at `slot` of a stack. */
static inline uintptr_t graph_true(const uintptr_t *slot)
{
	if (*slot != (uintptr_t)graph_returned && *slot != (uintptr_t)graph_returned_late)
		return *slot;
	return *(const uintptr_t *)((uintptr_t)slot ^ GRAPH_MIRROR);
}

/*
 * The same of a word that need not be a return address: copies of them lie where there is no
 * mirror. (frame.c)
 */
uintptr_t graph_looked_up(const uintptr_t *word);

#endif
