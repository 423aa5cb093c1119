/* SPDX-License-Identifier: MIT */
/*
 * graph.h - the returns of traced functions (graph.c, x86_64/graph.S)
 *
 * Included by the C files of src/agent.
 */
#ifndef TRACEFUSE_AGENT_GRAPH_GRAPH_H
#define TRACEFUSE_AGENT_GRAPH_GRAPH_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "layout/layout.h"

/*
 * The true return address of a slot is at the slot's address ^ this. Without bit 11 both would have
 * the same place in a cache.
 */
#define GRAPH_MIRROR	(1ull << 46 | 1ull << 11)

/* Whether the graph tracer has no settings (struct graph_config). In a hit. */
bool graph_is_plain(void);
/* Whether the profile takes times by the clock, with those of the calls below. In a hit. */
bool graph_is_only_profile(void);

struct agent_thread;
struct site_dso;

/* A call of a function with a site, for the slow way: entry.S fills it. */
struct site_call {
	uint64_t	done;		/* what patch_hit() returned */
	uintptr_t	*slot;		/* where its return address is */
	/* A walk by frame pointers begins here; it points to `caller`. */
	const void	*next;
	uintptr_t	after;		/* the instruction behind the site */
	/* Late site: `next` is the function's own %rbp, and these two are not used. */
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
 * Results of what entry.S calls when it does not go the short way. For PATCH_SLOW and
 * PATCH_SLOW_GRAPH it calls patch_hit_slow() with all registers saved.
 */
enum {
	PATCH_PASS,
	PATCH_HOOKED,
	PATCH_SLOW,		/* nothing has been done */
	PATCH_SLOW_GRAPH,	/* the function event has been emitted */
};

uint32_t patch_hit(struct site_dso *d, uintptr_t after, uintptr_t *slot);
/* saved: the registers at the call, as general_save leaves them. */
uint32_t patch_hit_late(struct site_dso *d, uintptr_t after, uintptr_t *slot,
			const uint64_t *saved);
uint32_t patch_hit_slow(struct site_call *c, const uint64_t *saved);

/*
 * A probe waits for the return of the function whose return address is at `slot`. False: not done,
 * it needs all registers saved (`slow`).
 */
bool graph_probe(struct agent_thread *t, uintptr_t *slot, const void *place, bool slow);
/* The place whose probe waits for this return, and where it returns to. NULL: none. */
const void *graph_probed(uintptr_t *slot, uintptr_t *ret);

/* A hooked function returns, for graph.S. -> the return address */
uintptr_t graph_leave(uintptr_t *slot, uint64_t retval);

/*
 * For graph.S and entry.S, which make the records themselves. graph_tail(): the innermost function
 * of the thread's own stack has jumped to `func`, which now has its slot. graph_tail_left(): that
 * function returns. -> the return address
 */
void graph_tail(uintptr_t *slot, uint64_t func, uint64_t time, uint64_t mask);
uintptr_t graph_tail_left(uintptr_t *slot);

/*
 * Called at a return site. It does nothing if there is no frame at the slot, or one whose return
 * address was replaced.
 */
void graph_left(uintptr_t *slot, uint64_t retval);

/*
 * The thread ends: functions that have not returned are left. If the process ends in it, these
 * keep their frames, because functions of libraries may be called still.
 */
void graph_thread_ends(struct agent_thread *t);
void graph_process_ends(struct agent_thread *t);

/* Labels that hooked functions return to. They are not functions. */
extern const char graph_returned[] __attribute__((visibility("hidden")));
extern const char graph_returned_late[] __attribute__((visibility("hidden")));

/*
 * A DSO with that name and dynamic section is loaded. With some DSOs no function can be hooked. ->
 * whether this is the first one of these
 */
bool graph_dso(const char *name, const Elf64_Dyn *dyn, uintptr_t bias);
/* Tells the session why no return is caught, where one was asked for. whys: 1 << enum returnless */
void graph_missed(uint64_t whys);
/* The same for what graph_refused() says. */
uint64_t graph_refusals(void);
/*
 * There is such a DSO: a site's word may have SITE_HOOKED, which entry.S tests, only with
 * SITE_RETURNS.
 */
bool graph_refused(void);
/*
 * Whether return sites may be used, also where return addresses may not be replaced. False: stacks
 * are copied there and back, so a slot may contain the return address of another call.
 */
bool graph_may_at_sites(void);
/* -ENOTSUP: in this process returns are caught at return sites only; 0 */
int graph_error(void);
/* Called at the first DSO with sites: finds out whether processor and kernel permit hooks. */
void graph_start(void);

/*
 * The true return address behind `ret`, a copy of one. It belongs to a function that is not traced,
 * runs at `below`, and was jumped to by the innermost hooked function there. If that is not known,
 * `ret` itself. (frame.c)
 */
uintptr_t graph_caller(struct agent_thread *t, uintptr_t ret, uintptr_t below);

/* The true return address of a slot. */
static inline uintptr_t graph_true(const uintptr_t *slot)
{
	if (*slot != (uintptr_t)graph_returned && *slot != (uintptr_t)graph_returned_late)
		return *slot;
	return *(const uintptr_t *)((uintptr_t)slot ^ GRAPH_MIRROR);
}

/*
 * The same for a word that need not be a slot: where copies of return addresses are there is no
 * mirror. (frame.c)
 */
uintptr_t graph_looked_up(const uintptr_t *word);

#endif
