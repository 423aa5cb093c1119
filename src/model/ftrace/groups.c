/* SPDX-License-Identifier: MIT */
/*
 * groups.c - groups of functions: makes them and the words of sites
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/ftrace/group.h"
#include "session/session.h"

/* Below that, unused groups do no harm: a search looks at all sites */
enum { SWEEP_FROM = 256 };

struct ftrace_groups *ftrace_groups_of(struct ftrace *ft)
{
	if (!ft->groups) {
		ft->groups = calloc(1, sizeof(*ft->groups));
		if (ft->groups)
			ft->groups->ft = ft;
	}
	return ft->groups;
}

/* ---- Chains ---- */

static uint32_t groups_hash_of(struct ftrace_ops *const *ops, size_t nr)
{
	uint64_t h = nr;

	for (size_t i = 0; i < nr; i++)
		h = (h ^ (uintptr_t)ops[i]) * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(h >> 32);
}

static bool is_set(const struct ftrace_group *g, struct ftrace_ops *const *ops, size_t nr)
{
	return g->nr == nr && !memcmp(g->ops, ops, nr * sizeof(*ops));
}

static struct ftrace_group *groups_find(const struct ftrace_groups *gs,
					struct ftrace_ops *const *ops, size_t nr)
{
	const uint32_t hash = groups_hash_of(ops, nr);
	struct ftrace_group *g = gs->chains[hash % GROUPS_CHAINS];

	while (g && !(g->hash == hash && is_set(g, ops, nr)))
		g = g->next;
	return g;
}

static void unchain(struct ftrace_groups *gs, struct ftrace_group *g)
{
	struct ftrace_group **at = &gs->chains[g->hash % GROUPS_CHAINS];

	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	if (gs->last == g)
		gs->last = NULL;
}

/* ---- One group ---- */

static bool group_hooked(const struct ftrace_group *g)
{
	for (uint32_t i = 0; i < g->nr; i++)
		if (g->ops[i]->kind == FTRACE_OPS_GRAPH || g->ops[i]->kind == FTRACE_OPS_PROFILE)
			return true;
	return false;
}

static int index_of(const struct ftrace_group *g)
{
	return (int)((g->number - LAYOUT_GROUPS_AT) / GROUP_ENTRIES);
}

/* A free index, or -1: all are taken. */
static int free_index(struct ftrace_groups *gs)
{
	for (uint32_t i = 0; i < GROUPS_MAX; i++) {
		const uint32_t at = (gs->next + i) % GROUPS_MAX;

		if (!gs->by_index[at]) {
			gs->next = at + 1;
			return (int)at;
		}
	}
	return -1;
}

static void group_free(struct ftrace_groups *gs, struct ftrace_group *g)
{
	if (!g->stale)
		unchain(gs, g);
	ftrace_plan_remove(gs, g);
	saved_remove(gs->ft->model, &g->saved);
	gs->by_index[index_of(g)] = NULL;
	gs->nr--;
	free(g->ops);
	free(g);
}

static struct ftrace_group *group_create(struct ftrace_groups *gs, struct ftrace_ops *const *ops,
					 size_t nr, int index)
{
	struct ftrace_group *g = calloc(1, sizeof(*g));
	struct ftrace_group **chain;

	if (!g)
		return NULL;
	g->ops = malloc((nr + 1) * sizeof(*ops));
	if (!g->ops) {
		free(g);
		return NULL;
	}
	memcpy(g->ops, ops, nr * sizeof(*ops));
	g->nr = (uint32_t)nr;
	g->hash = groups_hash_of(ops, nr);
	g->number = LAYOUT_GROUPS_AT + (uint32_t)index * GROUP_ENTRIES;
	chain = &gs->chains[g->hash % GROUPS_CHAINS];
	g->next = *chain;
	*chain = g;
	gs->by_index[index] = g;
	gs->nr++;
	return g;
}

struct ftrace_group *ftrace_group_make(struct ftrace_groups *gs, struct ftrace_ops *const *ops,
				       size_t nr, int index)
{
	struct ftrace_group *g;
	int err;

	if (index < 0)
		index = free_index(gs);
	g = index < 0 ? NULL : group_create(gs, ops, nr, index);
	if (!g) {
		gs->err = gs->refused = index < 0 ? -ENOSPC : -ENOMEM;
		return NULL;
	}
	err = ftrace_plan_publish(gs, g);
	if (!err && group_hooked(g))
		err = ftrace_plan_publish_exit(gs);
	if (!err)
		err = ftrace_group_save(gs, g);
	if (!err)
		return g;
	group_free(gs, g);
	gs->err = gs->refused = err;
	return NULL;
}

void ftrace_group_stale(struct ftrace_groups *gs, struct ftrace_group *g)
{
	if (!g->stale)
		unchain(gs, g);
	g->stale = true;
}

/* ---- Words ---- */

/* Stores the ops of a site in gs->set. */
static int read_set(struct ftrace_groups *gs, uint64_t ip, size_t *nr)
{
	struct ftrace_ops **set;

	*nr = ftrace_site_ops(gs->ft, ip, gs->set, gs->room);
	if (*nr <= gs->room)
		return 0;
	set = realloc(gs->set, *nr * 2 * sizeof(*set));
	if (!set)
		return -ENOMEM;
	gs->set = set;
	gs->room = *nr * 2;
	*nr = ftrace_site_ops(gs->ft, ip, gs->set, gs->room);
	return 0;
}

static struct ftrace_group *group_of(struct ftrace_groups *gs, uint64_t ip, bool makes)
{
	size_t nr;
	int err = read_set(gs, ip, &nr);

	if (err) {
		gs->err = gs->refused = err;
		return NULL;
	}
	if (!nr)
		return NULL;
	/* In most cases, neighbouring sites have the same set. */
	if (!gs->last || !is_set(gs->last, gs->set, nr))
		gs->last = groups_find(gs, gs->set, nr);
	if (!gs->last && makes)
		gs->last = ftrace_group_make(gs, gs->set, nr, -1);
	return gs->last;
}

static bool has_group(const struct ftrace_site *site)
{
	return (site->flags & FTRACE_SITE_COUNT) && !(site->flags & FTRACE_SITE_SKIPPED);
}

uint32_t ftrace_groups_word(struct ftrace *ft, const struct ftrace_site *site)
{
	struct ftrace_groups *gs = has_group(site) ? ftrace_groups_of(ft) : NULL;
	struct ftrace_group *g = gs ? group_of(gs, site->ip, true) : NULL;
	uint32_t word;

	if (!g)
		return 0;
	word = g->number;
	if (!group_hooked(g))
		return word;
	word |= SITE_HOOKED;
	if (ftrace_hash_has(ft->graph[FTRACE_FILTER], site->ip))
		word |= SITE_IN_GRAPH;
	if (ftrace_hash_has(ft->graph[FTRACE_NOTRACE], site->ip))
		word |= SITE_IN_GRAPH_NOTRACE;
	return word;
}

void ftrace_groups_prefetch(const struct ftrace *ft, const struct ftrace_site *site)
{
	const struct ftrace_ops *ops;

	list_each(ops, &ft->ops, node)
		ftrace_hashes_prefetch(ops->hashes, site->ip);
	ftrace_hash_prefetch(ft->graph[FTRACE_FILTER], site->ip);
	ftrace_hash_prefetch(ft->graph[FTRACE_NOTRACE], site->ip);
}

uint32_t ftrace_groups_commands(struct ftrace *ft, const struct ftrace_site *site)
{
	struct ftrace_groups *gs = has_group(site) ? ftrace_groups_of(ft) : NULL;
	struct ftrace_group *g;
	size_t nr = 0, n = 0;

	if (!gs || read_set(gs, site->ip, &nr))
		return 0;
	for (size_t i = 0; i < nr; i++)
		if (gs->set[i]->kind == FTRACE_OPS_COMMAND)
			gs->set[n++] = gs->set[i];
	if (!n)
		return 0;
	g = groups_find(gs, gs->set, n);
	if (!g)
		g = ftrace_group_make(gs, gs->set, n, -1);
	return g ? g->number + GROUP_FUNCTION : 0;
}

int ftrace_groups_error(struct ftrace *ft)
{
	const int err = ft->groups ? ft->groups->err : 0;

	if (ft->groups)
		ft->groups->err = 0;
	return err;
}

int ftrace_groups_refused(struct ftrace *ft)
{
	const int err = ft->groups && ft->groups->refused ? ft->groups->refused : ft->kernel_err;

	if (ft->groups)
		ft->groups->refused = 0;
	ft->kernel_err = 0;
	return err;
}

/* ---- Ends ---- */

/* A group whose set no site has any more, because filters have changed, becomes stale. */
static void sweep(struct ftrace_groups *gs)
{
	struct ftrace_page *page;
	struct ftrace_group *g;

	for (uint32_t i = 0; i < GROUPS_MAX; i++)
		if (gs->by_index[i])
			gs->by_index[i]->seen = false;
	list_each(page, &gs->ft->pages, node)
		for (uint32_t i = 0; i < page->nr; i++) {
			g = has_group(&page->sites[i]) ? group_of(gs, page->sites[i].ip, false)
						       : NULL;
			if (g)
				g->seen = true;
		}
	for (uint32_t i = 0; i < GROUPS_MAX; i++)
		if (gs->by_index[i] && !gs->by_index[i]->seen)
			ftrace_group_stale(gs, gs->by_index[i]);
}

static bool may_end(const struct ftrace_groups *gs, struct ftrace_group *g, int64_t late_ms)
{
	const int64_t now = session_now_ms();

	if (!g->settled_ms)
		g->settled_ms = now;
	return now - g->settled_ms >= late_ms || gs->nr >= GROUPS_MAX / 2;
}

void ftrace_groups_settled(struct ftrace *ft, int64_t late_ms)
{
	struct ftrace_groups *gs = ft->groups;
	bool swept;

	if (!gs)
		return;
	swept = gs->nr >= SWEEP_FROM && gs->nr >= gs->sweep_at;
	if (swept)
		sweep(gs);
	for (uint32_t i = 0; i < GROUPS_MAX; i++)
		if (gs->by_index[i] && gs->by_index[i]->stale &&
		    may_end(gs, gs->by_index[i], late_ms))
			group_free(gs, gs->by_index[i]);
	/* While most groups are in use, not every call looks at all sites. */
	if (swept)
		gs->sweep_at = gs->nr * 2 < GROUPS_MAX ? gs->nr * 2 : GROUPS_MAX / 2 + gs->nr / 2;
}

static bool take_out(struct ftrace_group *g, const struct ftrace_ops *ops)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->nr; i++)
		if (g->ops[i] != ops)
			g->ops[n++] = g->ops[i];
	if (n == g->nr)
		return false;
	g->nr = n;
	return true;
}

void ftrace_groups_drop(struct ftrace *ft, const struct ftrace_ops *ops)
{
	struct ftrace_groups *gs = ft->groups;

	if (!gs || ft->model->closing)
		return;
	for (uint32_t i = 0; i < GROUPS_MAX; i++) {
		struct ftrace_group *g = gs->by_index[i];

		if (!g || !take_out(g, ops))
			continue;
		ftrace_group_stale(gs, g);
		/*
		 * If there is no memory for another plan, the group gets none: an ops that has
		 * ended must not be called.
		 */
		if (ftrace_plan_publish(gs, g))
			ftrace_plan_remove(gs, g);
		(void)ftrace_group_save(gs, g);
	}
	if (ops->kind == FTRACE_OPS_GRAPH)
		(void)ftrace_plan_publish_exit(gs);
}

static bool is_of(const struct ftrace_group *g, const struct instance *inst)
{
	for (uint32_t i = 0; i < g->nr; i++)
		if (g->ops[i]->inst == inst)
			return true;
	return false;
}

int ftrace_groups_publish(struct instance *inst)
{
	struct ftrace_groups *gs = inst->model->ftrace ? inst->model->ftrace->groups : NULL;
	int err, first = 0;

	if (!gs || inst->model->closing)
		return 0;
	for (uint32_t i = 0; i < GROUPS_MAX; i++) {
		if (!gs->by_index[i] || !is_of(gs->by_index[i], inst))
			continue;
		err = ftrace_plan_publish(gs, gs->by_index[i]);
		first = first ? first : err;
	}
	err = ftrace_plan_publish_exit(gs);
	return first ? first : err;
}

void ftrace_groups_destroy(struct ftrace *ft)
{
	struct ftrace_groups *gs = ft->groups;

	if (!gs)
		return;
	for (uint32_t i = 0; i < GROUPS_MAX; i++)
		if (gs->by_index[i])
			group_free(gs, gs->by_index[i]);
	for (size_t i = 0; i < gs->nr_saved; i++)
		free(gs->saved[i].text);
	free(gs->saved);
	free(gs->set);
	free(gs);
	ft->groups = NULL;
}
