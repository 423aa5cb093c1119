/* SPDX-License-Identifier: MIT */
/*
 * calls.c - calls of the kernel's functions: its records become hits as a program makes them
 *
 *     function         -> ftrace:function of the function's group
 *     funcgraph_entry  -> the same, then funcgraph_entry of the group
 *     funcgraph_exit   -> funcgraph_exit, for the instances that have recorded the entry
 *
 * The kernel counts depths of all calls that it records. The session's instances may want fewer:
 * set_graph_function, set_graph_notrace, max_graph_depth, sets of several instances. So each task
 * has its open calls here, by the kernel's depth:
 *
 *     known     the entry was recorded
 *     taken     some instance has it: mask[]
 *     chosen    set_graph_function names it
 *     hidden    set_graph_notrace names it
 *
 * The depth in a hit is the number of calls below that are taken.
 */
#include <stdlib.h>
#include <string.h>

#include "sources/live/state.h"
#include "sources/record.h"

enum {
	CALLS_DEPTHS	= 64,		/* the kernel has 50; since 6.11 up to 100, as they fit */
	CALLS_BLOCK	= 64,		/* tasks */
	CALLS_BLOCKS	= (TASK_PIDS + LAYOUT_MAX_CPUS) / CALLS_BLOCK,
};

struct live_task {
	uint64_t	known, taken, chosen, hidden;
	uint64_t	mask[CALLS_DEPTHS];	/* by instance, a bit each */
	uint64_t	func[CALLS_DEPTHS];
};

struct live_entry_record {
	struct record_common common;
	uint64_t	func;
	uint32_t	depth;
};

struct live_exit_record {
	struct record_common common;
	uint64_t	func, retval;
	uint32_t	depth, overrun;
	uint64_t	calltime, rettime;
};

enum { CALLS_IP = 8, ENTRY_BYTES = 20, FUNCTION_PROLOGUE = 16 };

/* ---- tasks ---- */

void live_calls_forget(struct live_calls *calls)
{
	for (unsigned int i = 0; calls->tasks && i < CALLS_BLOCKS; i++) {
		free(calls->tasks[i]);
		calls->tasks[i] = NULL;
	}
}

/* Each CPU has an idle task. NULL: no memory. */
static struct live_task *calls_task(struct live_calls *calls, int32_t pid, uint32_t cpu)
{
	const uint32_t at = pid > 0 && pid < TASK_PIDS ? (uint32_t)pid
						       : TASK_PIDS + cpu % LAYOUT_MAX_CPUS;
	struct live_task **block;

	if (!calls->tasks)
		calls->tasks = calloc(CALLS_BLOCKS, sizeof(*calls->tasks));
	if (!calls->tasks)
		return NULL;
	block = &calls->tasks[at / CALLS_BLOCK];
	if (!*block)
		*block = calloc(CALLS_BLOCK, sizeof(**block));
	return *block ? &(*block)[at % CALLS_BLOCK] : NULL;
}

static void drop_calls_from(struct live_task *t, uint64_t bit)
{
	const uint64_t below = bit - 1;

	t->known &= below;
	t->taken &= below;
	t->chosen &= below;
	t->hidden &= below;
}

static uint32_t taken_below(const struct live_task *t, uint64_t bit)
{
	return (uint32_t)__builtin_popcountll(t->taken & (bit - 1));
}

/* ---- functions ---- */

/* The index of the first site at or above the address. */
static uint32_t site_from(const struct ftrace_page *page, uint64_t ip)
{
	uint32_t from = 0, to = page->nr;

	while (from < to) {
		const uint32_t mid = from + (to - from) / 2;

		if (page->sites[mid].ip < ip)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/*
 * The word of the function that is called, and its address as its site has it. Some kernels record
 * the address of the function, which may be before that. False: it is not known.
 */
static bool calls_find_site(const struct live_calls *calls, uint64_t *ip, uint32_t *word)
{
	for (uint32_t i = 0; i < calls->nr_pages; i++) {
		const struct live_page *p = &calls->pages[i];
		uint32_t at;

		if (*ip + FUNCTION_PROLOGUE < p->lo || *ip > p->hi)
			continue;
		at = site_from(p->page, *ip);
		if (p->page->sites[at].ip - *ip > FUNCTION_PROLOGUE)
			continue;
		*ip = p->page->sites[at].ip;
		*word = calls->words[p->first + at];
		return true;
	}
	return false;
}

/* ---- records ---- */

static uint64_t calls_u64(const struct subbuf_record *r, uint32_t at)
{
	uint64_t v = 0;

	if (at && r->size >= sizeof(v) && at <= r->size - sizeof(v))
		memcpy(&v, r->data + at, sizeof(v));
	return v;
}

static uint32_t calls_u32(const struct subbuf_record *r, uint32_t at)
{
	return r->size >= 4 && at <= r->size - 4 ? subbuf_u32(r->data + at) : 0;
}

static uint64_t calls_hit(struct live *l, struct hit *h, uint32_t entry, const void *record,
			  uint32_t size)
{
	h->entry = entry;
	h->record = record;
	h->size = size;
	return hit(l->plane, l->slot, h);
}

static void pass_function(struct live *l, struct hit *h, const struct record_common *common,
			  uint32_t word, uint64_t ip, uint64_t parent_ip)
{
	struct function_record rec = { .common = *common, .ip = ip, .parent_ip = parent_ip };

	/* A call from before the present command. */
	if (!(word & SITE_GROUP))
		return;
	rec.common.type = LAYOUT_FUNCTION_ID;
	calls_hit(l, h, (word & SITE_GROUP) + GROUP_FUNCTION, &rec, sizeof(rec));
}

/* Whether the settings of the graph tracer take a call of this depth. */
static bool graph_takes(const struct live_calls *calls, struct live_task *t, uint32_t word,
			uint64_t bit)
{
	const uint32_t most = calls->config.max_depth;

	if (t->hidden)
		return false;
	if (word & SITE_IN_GRAPH_NOTRACE) {
		t->hidden |= bit;
		return false;
	}
	if (word & SITE_IN_GRAPH)
		t->chosen |= bit;
	if ((calls->config.flags & GRAPH_CHOSEN) && !t->chosen)
		return false;
	return !most || taken_below(t, bit) < most;
}

/* With tracing_thresh only returns are recorded: the instances are asked. */
static void pass_entry(struct live *l, struct hit *h, const struct subbuf_record *r,
		       const struct record_common *common, uint32_t word, uint64_t ip)
{
	struct live_calls *calls = &l->calls;
	const uint32_t depth = calls_u32(r, calls->layout.entry_depth);
	struct live_task *t = calls_task(calls, common->pid, h->cpu);
	const uint64_t bit = 1ull << depth % CALLS_DEPTHS;
	struct live_entry_record rec = { .common = *common, .func = ip };

	calls->deep += depth >= CALLS_DEPTHS;
	if (!t || depth >= CALLS_DEPTHS)
		return;
	drop_calls_from(t, bit);
	pass_function(l, h, common, word, ip,
		      depth && t->known & bit >> 1 ? t->func[depth - 1] : 0);
	t->known |= bit;
	t->func[depth] = ip;
	if (!(word & SITE_HOOKED) || !graph_takes(calls, t, word, bit))
		return;
	rec.common.type = LAYOUT_GRAPH_ENTRY_ID;
	rec.depth = taken_below(t, bit);
	h->ask = calls->config.thresh;
	t->mask[depth] = calls_hit(l, h, (word & SITE_GROUP) + GROUP_GRAPH, &rec, ENTRY_BYTES);
	h->ask = false;
	if (t->mask[depth])
		t->taken |= bit;
}

static void pass_exit(struct live *l, struct hit *h, const struct subbuf_record *r,
		      const struct record_common *common, uint64_t ip)
{
	struct live_calls *calls = &l->calls;
	const struct live_layout *at = &calls->layout;
	const uint32_t depth = calls_u32(r, at->exit_depth);
	struct live_task *t = calls_task(calls, common->pid, h->cpu);
	const uint64_t bit = 1ull << depth % CALLS_DEPTHS;
	struct live_exit_record rec = {
		.common = *common, .func = ip, .retval = calls_u64(r, at->retval),
		.overrun = calls_u32(r, at->overrun), .calltime = calls_u64(r, at->calltime),
		.rettime = calls_u64(r, at->rettime),
	};

	if (!t || depth >= CALLS_DEPTHS)
		return;
	rec.common.type = LAYOUT_GRAPH_EXIT_ID;
	rec.depth = taken_below(t, bit);
	h->mask = t->mask[depth];
	if (t->taken & bit && rec.rettime - rec.calltime >= calls->config.thresh)
		calls_hit(l, h, LAYOUT_GRAPH_EXIT, &rec, sizeof(rec));
	drop_calls_from(t, bit);
}

void live_calls_pass(struct live *l, const struct live_cpu *c)
{
	const struct subbuf_record *r = &c->record;
	struct live_calls *calls = &l->calls;
	struct record_common common;
	uint64_t ip = calls_u64(r, CALLS_IP);
	uint32_t word;
	struct hit h = {
		.cpu = c->cpu, .writer = LIVE_WRITER, .synth_preempt = RECORD_SYNTH_PREEMPT,
	};

	if (r->size < sizeof(common) ||
	    (r->type != LAYOUT_FUNCTION_ID && r->type != LAYOUT_GRAPH_ENTRY_ID &&
	     r->type != LAYOUT_GRAPH_EXIT_ID))
		return;
	calls->records++;
	if (!calls_find_site(calls, &ip, &word)) {
		calls->unknown++;
		return;
	}
	memcpy(&common, r->data, sizeof(common));
	h.time = live_clock_stamp(l, r->time);
	h.comm = live_names_find(l, common.pid, c->cpu);
	l->hits++;
	if (r->type == LAYOUT_FUNCTION_ID) {
		live_stack_fill(l, c, &h);
		pass_function(l, &h, &common, word, ip,
			      calls_u64(r, calls->layout.parent_ip));
	} else if (r->type == LAYOUT_GRAPH_ENTRY_ID) {
		pass_entry(l, &h, r, &common, word, ip);
	} else {
		pass_exit(l, &h, r, &common, ip);
	}
}
