/* SPDX-License-Identifier: MIT */
/*
 * calls.c - what the session's settings of functions mean to recorded calls
 *
 * Function commands such as FUNCTION:traceoff:3: if the called function has commands, the plan of
 * their group runs (model/ftrace/groups.h).
 *
 * set_ftrace_filter, set_ftrace_notrace: a record of a function that they leave out is not passed.
 * graph_calls.c has what else applies to records of the graph tracer.
 *
 * A recorded address lies somewhere at the beginning of its function, where the kernel's compiler
 * made room. So a function is a range: from its address to the next function.
 *
 * The thread that changes settings makes the table, under the control lock. The thread that runs
 * the recording reads it. Both take calls_lock; the reader only if there is a table.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/ftrace/groups.h"
#include "sources/recording/calls.h"
#include "sources/recording/source_state.h"

enum { FUNCTION_MAX = 1 << 16 };	/* bytes, of the last function of a list */

static int calls_by_address(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	return x->ip < y->ip ? -1 : x->ip > y->ip;
}

static size_t sites_with_commands(const struct model *m)
{
	struct function_command *p;
	struct instance *inst;
	size_t nr = 0;

	list_each(inst, &m->instances, node)
		if (inst->ftrace)
			list_each(p, &inst->ftrace->commands, node)
				nr += p->nr;
	return nr;
}

/* The address behind a function. */
static uint64_t calls_end_of(const struct ftrace_page *page, const struct ftrace_site *site)
{
	const uint32_t next = (uint32_t)(site - page->sites) + 1;

	return next < page->nr ? page->sites[next].ip : site->ip + FUNCTION_MAX;
}

static void calls_add(struct ftrace *ft, struct call_set *set, uint64_t ip, bool commands)
{
	struct ftrace_page *page;
	const struct ftrace_site *site = ftrace_site_find(ft, ip, &page);
	uint32_t entry = site && commands ? ftrace_groups_commands(ft, site) : 0;

	if (site && (entry || !commands))
		set->at[set->nr++] = (struct call){ ip, calls_end_of(page, site), entry };
}

static int calls_room(struct call_set *set, size_t nr)
{
	set->at = nr ? malloc(nr * sizeof(*set->at)) : NULL;
	return nr && !set->at ? -ENOMEM : 0;
}

static void calls_sort(struct call_set *set)
{
	if (set->nr)
		qsort(set->at, set->nr, sizeof(*set->at), calls_by_address);
}

/* A function is in the set once for each of its commands, with the same entry. */
static int calls_add_commands(struct model *m, struct call_set *set)
{
	struct function_command *p;
	struct instance *inst;
	const int err = calls_room(set, sites_with_commands(m));

	if (err)
		return err;
	list_each(inst, &m->instances, node)
		if (inst->ftrace)
			list_each(p, &inst->ftrace->commands, node)
				for (uint32_t i = 0; i < p->nr; i++)
					calls_add(m->ftrace, set, p->sites[i].ip, true);
	calls_sort(set);
	return 0;
}

static int calls_add_hash(struct ftrace *ft, const struct ftrace_hash *h, struct call_set *set)
{
	const size_t nr = h ? (size_t)1 << h->slot_bits : 0;
	const int err = calls_room(set, h ? h->count : 0);

	for (size_t i = 0; !err && h && h->count && i < nr; i++)
		if (h->slots[i].order)
			calls_add(ft, set, h->slots[i].ip, false);
	calls_sort(set);
	return err;
}

static bool calls_chooses_graphs(const struct ftrace *ft)
{
	struct ftrace_ops *ops;

	list_each(ops, &ft->ops, node)
		if (ops->kind == FTRACE_OPS_GRAPH && !ops->section)
			return true;
	return false;
}

static void calls_free(struct calls *calls)
{
	if (!calls)
		return;
	free(calls->commands.at);
	free(calls->filter.at);
	free(calls->notrace.at);
	free(calls->graph.at);
	free(calls->nograph.at);
	free(calls);
}

/* Fills in what chooses records. Those of system ftrace go to the top instance only. */
static int calls_add_choices(struct model *m, struct calls *calls)
{
	struct ftrace *ft = m->ftrace;
	const struct ftrace_instance *fi = m->top->ftrace;
	int err = 0;

	if (fi) {
		calls->filters = !ftrace_hash_empty(fi->hashes.filter);
		err = calls_add_hash(ft, fi->hashes.filter, &calls->filter);
		if (!err)
			err = calls_add_hash(ft, fi->hashes.notrace, &calls->notrace);
	}
	calls->graphs = !ftrace_hash_empty(ft->graph[FTRACE_FILTER]);
	if (!err)
		err = calls_add_hash(ft, ft->graph[FTRACE_FILTER], &calls->graph);
	if (!err)
		err = calls_add_hash(ft, ft->graph[FTRACE_NOTRACE], &calls->nograph);
	calls->max_depth = (uint32_t)m->max_graph_depth;
	if (calls_chooses_graphs(ft))
		/* Relaxed: the number alone orders nothing. */
		calls->thresh = atomic_load_explicit(&m->tracing_thresh, memory_order_relaxed);
	return err;
}

/* NULL: all records pass, and nothing else happens; or no memory. */
static struct calls *calls_make(struct model *m)
{
	struct calls *calls = calloc(1, sizeof(*calls));

	if (!calls)
		return NULL;
	if (calls_add_commands(m, &calls->commands) || calls_add_choices(m, calls) ||
	    !(calls->commands.nr || calls->filters || calls->notrace.nr || calls->graphs ||
	      calls->nograph.nr || calls->max_depth || calls->thresh)) {
		calls_free(calls);
		return NULL;
	}
	return calls;
}

static void calls_put(struct source *src, struct calls *calls)
{
	struct calls *old;

	pthread_mutex_lock(&src->calls_lock);
	/* Relaxed: a thread that finds a table loads it again under the lock. */
	old = atomic_load_explicit(&src->calls, memory_order_relaxed);
	atomic_store_explicit(&src->calls, calls, memory_order_relaxed);
	pthread_mutex_unlock(&src->calls_lock);
	calls_free(old);
}

/* What chooses records stays, because the recording may run meanwhile. */
static void calls_drop_commands(struct source *src)
{
	struct calls *calls;

	pthread_mutex_lock(&src->calls_lock);
	/* Relaxed: stored by this thread. */
	calls = atomic_load_explicit(&src->calls, memory_order_relaxed);
	if (calls)
		calls->commands.nr = 0;
	pthread_mutex_unlock(&src->calls_lock);
}

/*
 * Numbers of unused groups may be used again only while no table contains them, so the commands are
 * removed first.
 */
static void changed(void *arg, const struct ftrace_change *list, size_t nr)
{
	struct source *src = arg;

	calls_drop_commands(src);
	ftrace_groups_settled(src->model->ftrace, 0);
	calls_put(src, calls_make(src->model));
}

static void calls_choose(void *arg)
{
	struct source *src = arg;

	calls_put(src, calls_make(src->model));
}

int calls_listen(struct source *src)
{
	struct ftrace *ft = ftrace_of(src->model);

	if (!ft)
		return -ENOMEM;
	if (ft->changed)
		return 0;	/* a session of running programs */
	ft->changed = changed;
	ft->set = calls_choose;
	ft->chosen = calls_choose;
	ft->changed_arg = src;
	changed(src, NULL, 0);
	return 0;
}

void calls_offer(struct source *src)
{
	struct ftrace *ft = src->model->ftrace;

	if (ft->changed_arg == src && !ftrace_present(src->model)) {
		ft->load = recorded_functions_load;
		ft->load_arg = src;
	}
}

void calls_forget(struct source *src)
{
	struct ftrace *ft = src->model ? src->model->ftrace : NULL;

	if (ft && ft->changed_arg == src) {
		ft->changed = NULL;
		ft->set = NULL;
		ft->chosen = NULL;
		ft->load = NULL;
		ft->changed_arg = NULL;
	}
	calls_put(src, NULL);
}

const struct call *calls_look(const struct call_set *set, uint64_t ip)
{
	size_t lo = 0, hi = set->nr;

	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;

		if (set->at[mid].ip <= ip)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && ip < set->at[lo - 1].end ? &set->at[lo - 1] : NULL;
}

bool calls_traced(const struct calls *calls, uint64_t ip)
{
	return (!calls->filters || calls_look(&calls->filter, ip)) &&
	       !calls_look(&calls->notrace, ip);
}

uint32_t calls_find(struct source *src, uint64_t *ip, bool *traced)
{
	const struct call *call = NULL;
	struct calls *calls;
	uint32_t entry;

	*traced = true;
	pthread_mutex_lock(&src->calls_lock);
	/* Relaxed: stored under the lock. */
	calls = atomic_load_explicit(&src->calls, memory_order_relaxed);
	if (calls) {
		call = calls_look(&calls->commands, *ip);
		*traced = calls_traced(calls, *ip);
	}
	entry = call ? call->entry : 0;
	if (call)
		*ip = call->ip;
	pthread_mutex_unlock(&src->calls_lock);
	return entry;
}

/* Makes the hit record another depth. */
static void set_depth(struct source *src, const struct subbuf_record *r, uint32_t at,
		      uint32_t depth, struct hit *h)
{
	if (r->size > sizeof(src->graph_record) || r->size < 4 || at > r->size - 4 ||
	    subbuf_u32(r->data + at) == depth)
		return;
	memcpy(src->graph_record, r->data, r->size);
	memcpy(src->graph_record + at, &depth, sizeof(depth));
	h->record = src->graph_record;
}

bool calls_take_graph(struct source *src, const struct subbuf_record *r, bool exit, struct hit *h)
{
	const struct graph_layout *l = &src->graph;
	struct calls *calls;
	uint32_t depth;
	bool take = true;

	pthread_mutex_lock(&src->calls_lock);
	/* Relaxed: stored under the lock. */
	calls = atomic_load_explicit(&src->calls, memory_order_relaxed);
	if (calls)
		take = graph_calls_take(src, calls, r, exit, h->cpu, &depth);
	pthread_mutex_unlock(&src->calls_lock);
	if (calls && take)
		set_depth(src, r, exit ? l->exit_depth : l->entry_depth, depth, h);
	return take;
}
