/* SPDX-License-Identifier: MIT */
/*
 * calls.c - runs function commands such as FUNCTION:traceoff:3 at recorded calls
 *
 * The record itself is recorded like others of system ftrace. Only the commands belong to the
 * session: if the called function has commands, the plan of their group runs
 * (model/ftrace/groups.h).
 *
 * The thread that changes commands makes the table, under the control lock. The thread that runs
 * the recording reads it. Both take calls_lock; the reader only if there are commands.
 */
#include <errno.h>
#include <stdlib.h>

#include "model/ftrace/groups.h"
#include "sources/recording/source_state.h"

struct call {
	uint64_t	ip;
	uint32_t	entry;		/* of event_entry[] */
};

struct calls {
	size_t		nr;
	struct call	at[];		/* sorted by address */
};

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

static void calls_add(struct ftrace *ft, struct calls *calls, uint64_t ip)
{
	const struct ftrace_site *site = ftrace_site_find(ft, ip, NULL);
	uint32_t entry = site ? ftrace_groups_commands(ft, site) : 0;

	if (entry)
		calls->at[calls->nr++] = (struct call){ ip, entry };
}

/*
 * Makes the table. A function is in it once for each of its commands, with the same entry. NULL: no
 * commands, or no memory.
 */
static struct calls *calls_make(struct model *m)
{
	const size_t nr = sites_with_commands(m);
	struct calls *calls = nr ? malloc(sizeof(*calls) + nr * sizeof(calls->at[0])) : NULL;
	struct function_command *p;
	struct instance *inst;

	if (!calls)
		return NULL;
	calls->nr = 0;
	list_each(inst, &m->instances, node)
		if (inst->ftrace)
			list_each(p, &inst->ftrace->commands, node)
				for (uint32_t i = 0; i < p->nr; i++)
					calls_add(m->ftrace, calls, p->sites[i].ip);
	qsort(calls->at, calls->nr, sizeof(calls->at[0]), calls_by_address);
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
	free(old);
}

/*
 * Numbers of unused groups may be used again only while no table contains them, so the table is
 * removed first.
 */
static void changed(void *arg, const struct ftrace_change *list, size_t nr)
{
	struct source *src = arg;

	calls_put(src, NULL);
	ftrace_groups_settled(src->model->ftrace);
	calls_put(src, calls_make(src->model));
}

/* Settings of the graph tracer do not concern a recording. */
static void graph_set(void *arg)
{
}

int calls_listen(struct source *src)
{
	struct ftrace *ft = ftrace_of(src->model);

	if (!ft)
		return -ENOMEM;
	if (ft->changed)
		return 0;	/* a session of running programs */
	ft->changed = changed;
	ft->set = graph_set;
	ft->changed_arg = src;
	changed(src, NULL, 0);
	return 0;
}

void calls_forget(struct source *src)
{
	struct ftrace *ft = src->model ? src->model->ftrace : NULL;

	if (ft && ft->changed_arg == src) {
		ft->changed = NULL;
		ft->set = NULL;
		ft->changed_arg = NULL;
	}
	calls_put(src, NULL);
}

uint32_t calls_find(struct source *src, uint64_t ip)
{
	const struct call key = { .ip = ip }, *call = NULL;
	struct calls *calls;
	uint32_t entry;

	pthread_mutex_lock(&src->calls_lock);
	/* Relaxed: stored under the lock. */
	calls = atomic_load_explicit(&src->calls, memory_order_relaxed);
	if (calls)
		call = bsearch(&key, calls->at, calls->nr, sizeof(key), calls_by_address);
	entry = call ? call->entry : 0;
	pthread_mutex_unlock(&src->calls_lock);
	return entry;
}
