/* SPDX-License-Identifier: MIT */
/* merge.c - see merge.h: groups of hists and event probes, and the sources of their events */
#include <errno.h>
#include <stdlib.h>

#include "model/dynamic/eprobe.h"
#include "model/dynamic/synth.h"
#include "model/hist/hist.h"
#include "model/hist/merge.h"
#include "plane/map/fast.h"
#include "session/array.h"

enum source { OF_PROGRAMS = 1, OF_KERNEL = 2, OF_BOTH = 3 };

/* A hist, which several triggers of one name may share, or the trigger of an event probe. */
struct merge_node {
	struct hist_data *hist;		/* NULL: a probe */
	const struct trigger *probe;
	unsigned int	sources;	/* enum source */
	unsigned int	group;		/* another node of it; itself: the first */
	bool		takes_part;	/* it has variables, references or onmatch() */
	bool		at_hit;		/* its hits cannot be staged */
};

struct merge {
	struct model		*model;
	struct merge_node	*v;
	unsigned int		nr;
	int			err;
};

typedef bool (*merge_each)(struct merge *g, struct trigger *t);

/* Calls fn for each trigger with code. Returns whether any call did. */
static bool each_trigger(struct merge *g, merge_each fn)
{
	struct instance *inst;
	struct event_file *f;
	struct trigger *t;
	bool any = false;

	list_each(inst, &g->model->instances, node)
		list_each(f, &inst->files, node)
			list_each(t, &f->triggers, node)
				if (t->cmd->kind == TRIGGER_HIST || t->cmd->kind == TRIGGER_PROBE)
					any |= fn(g, t);
	return any;
}

/* ---- nodes ---- */

static struct merge_node *find_probe(struct merge *g, const struct trigger *t)
{
	for (unsigned int i = 0; i < g->nr; i++)
		if (g->v[i].probe == t)
			return &g->v[i];
	return NULL;
}

/* NULL: a hist of no trigger. */
static struct merge_node *find_hist(struct merge *g, const struct hist_data *hd)
{
	return hd->merge_node < g->nr && g->v[hd->merge_node].hist == hd ? &g->v[hd->merge_node]
									 : NULL;
}

static struct merge_node *node_of(struct merge *g, const struct trigger *t)
{
	return t->cmd->kind == TRIGGER_HIST ? find_hist(g, hist_of(t)) : find_probe(g, t);
}

static bool has_match(const struct hist_data *hd)
{
	for (unsigned int i = 0; i < hd->n_actions; i++)
		if (hd->actions[i]->handler == HIST_ONMATCH)
			return true;
	return false;
}

/* What is made has the sources of those that make it: spread_sources(). */
static unsigned int source_of(const struct event *e)
{
	if (event_is_made(e))
		return 0;
	return event_is_kernels(e) ? OF_KERNEL : OF_PROGRAMS;
}

/* Functions have plans of their own, a group of functions each. */
static bool runs_at_hit(const struct event *e)
{
	return e->internal && e->id == LAYOUT_FUNCTION_ID;
}

static struct merge_node *add_node(struct merge *g, struct trigger *t)
{
	struct hist_data *hd = t->cmd->kind == TRIGGER_HIST ? hist_of(t) : NULL;

	if (array_room(&g->v, g->nr, sizeof(*g->v))) {
		g->err = -ENOMEM;
		return NULL;
	}
	g->v[g->nr] = (struct merge_node){ .hist = hd, .probe = hd ? NULL : t, .group = g->nr };
	if (hd) {
		hd->merge_node = g->nr;
		g->v[g->nr].takes_part = !list_empty(&hd->vars_node) || has_match(hd);
	}
	return &g->v[g->nr++];
}

static bool merge_add(struct merge *g, struct trigger *t)
{
	struct merge_node *n = node_of(g, t);

	if (!n)
		n = add_node(g, t);
	if (!n)
		return false;
	n->sources |= source_of(t->file->event);
	n->at_hit |= runs_at_hit(t->file->event);
	return true;
}

/* ---- who makes an event ---- */

static bool node_makes(const struct merge_node *n, const struct event *e)
{
	if (n->probe)
		return eprobe_trigger_event(n->probe) == e;
	for (unsigned int i = 0; i < n->hist->n_actions; i++) {
		const struct synth_event *synth = n->hist->actions[i]->synth;

		if (synth && synth->event == e)
			return true;
	}
	return false;
}

static unsigned int sources_of(const struct merge *g, const struct event *e)
{
	unsigned int sources = source_of(e);

	for (unsigned int i = 0; i < g->nr && event_is_made(e); i++)
		if (node_makes(&g->v[i], e))
			sources |= g->v[i].sources;
	return sources;
}

static unsigned int matched_sources(const struct merge *g, const struct hist_data *hd)
{
	unsigned int sources = 0;

	for (unsigned int i = 0; i < hd->n_actions; i++) {
		const struct hist_action *a = hd->actions[i];
		const struct event *e = a->handler == HIST_ONMATCH ?
			model_find_event(g->model, a->match.system, a->match.event) : NULL;

		sources |= e ? sources_of(g, e) : 0;
	}
	return sources;
}

static bool spread_sources(struct merge *g, struct trigger *t)
{
	struct merge_node *n = node_of(g, t);
	unsigned int sources = n->sources | sources_of(g, t->file->event);

	if (n->hist)
		sources |= matched_sources(g, n->hist);
	if (sources == n->sources)
		return false;
	n->sources = sources;
	return true;
}

/* ---- groups ---- */

static struct merge_node *first_of(struct merge *g, struct merge_node *n)
{
	while (n != &g->v[n->group])
		n = &g->v[n->group];
	return n;
}

/* Returns whether they were two groups. */
static bool unite(struct merge *g, struct merge_node *a, struct merge_node *b)
{
	a = first_of(g, a);
	b = first_of(g, b);
	b->group = (unsigned int)(a - g->v);
	return a != b;
}

static bool unite_refs(struct merge *g, struct trigger *t)
{
	struct merge_node *n = node_of(g, t), *other;
	bool any = false;

	for (unsigned int i = 0; n->hist && i < n->hist->n_var_refs; i++) {
		other = find_hist(g, n->hist->var_refs[i]->var.hist_data);
		if (other)
			any |= unite(g, n, other);
	}
	return any;
}

/* Triggers of an event that is made run inside those that make it. */
static bool unite_makers(struct merge *g, struct trigger *t)
{
	struct merge_node *n = node_of(g, t);
	bool any = false;

	if (!n->takes_part || !event_is_made(t->file->event))
		return false;
	for (struct merge_node *maker = g->v; maker < g->v + g->nr; maker++) {
		if (!node_makes(maker, t->file->event))
			continue;
		any |= unite(g, n, maker) | !maker->takes_part;
		maker->takes_part = true;
	}
	return any;
}

static void sum_groups(struct merge *g)
{
	for (struct merge_node *n = g->v; n < g->v + g->nr; n++) {
		struct merge_node *first = first_of(g, n);

		if (!n->takes_part || first == n)
			continue;
		first->sources |= n->sources;
		first->at_hit |= n->at_hit;
	}
}

static bool is_merged(struct merge *g, struct merge_node *n)
{
	const struct merge_node *first = first_of(g, n);

	return n->takes_part && first->sources == OF_BOTH && !first->at_hit;
}

static int merge_gather(struct model *m, struct merge *g)
{
	*g = (struct merge){ .model = m };
	each_trigger(g, merge_add);
	if (g->err)
		return g->err;
	while (each_trigger(g, spread_sources))
		;
	each_trigger(g, unite_refs);
	while (each_trigger(g, unite_makers))
		;
	sum_groups(g);
	return 0;
}

/* ---- what changes ---- */

static bool store_merged(struct trigger *t, bool merged)
{
	const bool changes = merged != t->merged;

	if (!changes)
		return false;
	t->merged = merged;
	t->turned = merged;
	t->file->event->merge_changed |= !event_is_made(t->file->event);
	t->file->event->model->merge_stale = true;
	return true;
}

static bool mark(struct merge *g, struct trigger *t)
{
	struct merge_node *n = node_of(g, t);
	const bool merged = is_merged(g, n);

	g->model->nr_merged += merged;
	return store_merged(t, merged);
}

static bool makes(struct merge *g, const struct trigger *t, const struct event *e)
{
	return node_makes(node_of(g, t), e);
}

/* It has no variables, but some hist that makes its event runs merged. */
static bool mark_made(struct merge *g, struct trigger *t)
{
	struct instance *inst;
	struct event_file *f;
	struct trigger *maker;

	if (t->merged || !event_is_made(t->file->event))
		return false;
	list_each(inst, &g->model->instances, node)
		list_each(f, &inst->files, node)
			list_each(maker, &f->triggers, node)
				if (maker->merged && makes(g, maker, t->file->event)) {
					t->merged = true;
					g->model->nr_merged++;
					return true;
				}
	return false;
}

static int merge_mark(struct model *m)
{
	struct merge g;
	int err = merge_gather(m, &g);

	m->nr_merged = 0;
	if (!err) {
		each_trigger(&g, mark);
		while (each_trigger(&g, mark_made))
			;
	}
	free(g.v);
	return err ? err : m->nr_merged ? instance_make_staging(m) : 0;
}

static bool is_idle(const struct model *m)
{
	return (!m->has_kernel && !m->nr_merged) || m->held || m->closing;
}

int merge_find(struct model *m, struct trigger *attached)
{
	int err = is_idle(m) ? 0 : merge_mark(m);

	if (attached)
		attached->turned = false;
	return err;
}

static bool forget_turned(struct merge *g, struct trigger *t)
{
	(void)g;
	t->turned = false;
	return false;
}

int merge_restore(struct model *m)
{
	struct merge g = { .model = m };
	int err = is_idle(m) ? 0 : merge_mark(m);

	each_trigger(&g, forget_turned);
	return err;
}

/* ---- variables ---- */

/* Returns whether one was set. */
static bool clear_vars(const struct hist_data *hd)
{
	const struct map_view map = hist_map_view(hd);
	uint64_t value;
	bool any = false;

	for (unsigned int i = 0; map.data && i < hd->n_fields; i++) {
		if (!(hd->fields[i]->flags & HIST_VAR))
			continue;
		for (uint32_t elt = 1; elt < map.layout->nr_elts; elt++)
			any |= map_var_read_once(map, elt, hd->fields[i]->var.idx, &value);
	}
	return any;
}

static bool clear_turned(struct merge *g, struct trigger *t)
{
	struct hist_data *hd = t->cmd->kind == TRIGGER_HIST ? hist_of(t) : NULL;

	if (!t->turned)
		return false;
	t->turned = false;
	if (!hd || list_empty(&hd->vars_node))
		return false;
	hd->merge_cleared = true;
	g->model->nr_turned += clear_vars(hd);
	return true;
}

int merge_publish(struct model *m)
{
	struct merge g = { .model = m };
	int err = 0;

	if (m->held || m->closing || !m->merge_stale)
		return 0;
	for (uint32_t id = 0; !err && id <= m->max_id; id++) {
		if (!m->by_id[id] || !m->by_id[id]->merge_changed)
			continue;
		m->by_id[id]->merge_changed = false;
		err = event_publish(m->by_id[id]);
	}
	if (err)
		return err;
	each_trigger(&g, clear_turned);
	m->merge_stale = false;
	return 0;
}
