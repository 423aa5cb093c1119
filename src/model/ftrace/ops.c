/* SPDX-License-Identifier: MIT */
/*
 * ops.c - which ops trace which sites: enables them, changes their sets, counts
 *
 * One rule keeps the counts right: each change is described as "before" and "after" of one ops (no
 * hashes: it traces nothing). Each site for which the two differ is counted up or down once. Only
 * sites that can differ are looked at: those of both filters if both choose functions, those of
 * both notrace sets if the filters are the same, otherwise all.
 */
#include <errno.h>
#include <stdlib.h>

#include "model/ftrace/groups.h"
#include "session/array.h"

static bool hashes_trace(const struct ftrace_hashes *h, uint64_t ip)
{
	if (!ftrace_hash_empty(h->filter) && !ftrace_hash_has(h->filter, ip))
		return false;
	return ftrace_hash_empty(h->notrace) || !ftrace_hash_has(h->notrace, ip);
}

static bool ops_traces(const struct ftrace_ops *ops, uint64_t ip)
{
	return ops->enabled && hashes_trace(ops->hashes, ip);
}

size_t ftrace_site_ops(struct ftrace *ft, uint64_t ip, struct ftrace_ops **out, size_t max)
{
	struct ftrace_ops *ops;
	size_t n = 0;

	list_each(ops, &ft->ops, node) {
		if (!ops_traces(ops, ip))
			continue;
		if (n < max)
			out[n] = ops;
		n++;
	}
	return n;
}

/* ---- One step from before to after ---- */

struct step {
	const struct ftrace_hashes *before, *after;	/* NULL: it traces nothing */
	struct ftrace_change *changes;
	size_t		nr;
	bool		told;		/* changes have to be noted: ops_tell() */
	bool		failed;		/* no memory for the list: it is called for all sites */
};

static void ops_count(struct ftrace_site *site, int by)
{
	uint32_t refs = (site->flags & FTRACE_SITE_COUNT) + (uint32_t)by;

	site->flags = (site->flags & ~(FTRACE_SITE_COUNT | FTRACE_SITE_ENABLED)) |
		      (refs & FTRACE_SITE_COUNT);
	if (refs & FTRACE_SITE_COUNT)
		site->flags |= FTRACE_SITE_ENABLED | FTRACE_SITE_TOUCHED;
}

static void note(struct step *s, struct ftrace_page *page, struct ftrace_site *site)
{
	if (!s->told)
		return;
	if (array_room(&s->changes, s->nr, sizeof(*s->changes)))
		s->failed = true;
	else
		s->changes[s->nr++] = (struct ftrace_change){ page, site };
}

static void step_site(struct step *s, struct ftrace_page *page, struct ftrace_site *site)
{
	const bool was = s->before && hashes_trace(s->before, site->ip);
	const bool is = s->after && hashes_trace(s->after, site->ip);

	if (was == is || site->flags & FTRACE_SITE_SKIPPED)
		return;
	ops_count(site, is ? 1 : -1);
	note(s, page, site);
}

void ftrace_hashes_prefetch(const struct ftrace_hashes *h, uint64_t ip)
{
	if (!h)
		return;
	ftrace_hash_prefetch(h->filter, ip);
	ftrace_hash_prefetch(h->notrace, ip);
}

static void step_page(struct step *s, struct ftrace_page *page)
{
	for (uint32_t i = 0; i < page->nr; i++) {
		if (i + FTRACE_AHEAD < page->nr) {
			ftrace_hashes_prefetch(s->before, page->sites[i + FTRACE_AHEAD].ip);
			ftrace_hashes_prefetch(s->after, page->sites[i + FTRACE_AHEAD].ip);
		}
		step_site(s, page, &page->sites[i]);
	}
}

/* Handles the sites of a set, except those in `seen`, which were handled before. */
static void step_hash(struct step *s, struct ftrace *ft, const struct ftrace_hash *h,
		      const struct ftrace_hash *seen)
{
	const size_t nr = h ? (size_t)1 << h->slot_bits : 0;
	struct ftrace_page *page;
	struct ftrace_site *site;

	for (size_t i = 0; i < nr; i++) {
		if (!h->slots[i].order || ftrace_hash_has(seen, h->slots[i].ip))
			continue;
		site = ftrace_site_find(ft, h->slots[i].ip, &page);
		if (site)
			step_site(s, page, site);
	}
}

/* Whether searching each site of the two sets is cheaper than looking at all sites. */
static bool few(const struct ftrace *ft, const struct ftrace_hash *a, const struct ftrace_hash *b)
{
	const uint64_t nr = (a ? a->count : 0) + (uint64_t)(b ? b->count : 0);

	return nr * 4 < ft->nr_sites;
}

static bool chooses(const struct ftrace_hashes *h)
{
	return !h || !ftrace_hash_empty(h->filter);
}

static void step_run(struct step *s, struct ftrace *ft)
{
	const struct ftrace_hash *a = s->before ? s->before->filter : NULL,
				 *b = s->after ? s->after->filter : NULL;
	struct ftrace_page *page;

	if (a == b && s->before && s->after && few(ft, s->before->notrace, s->after->notrace)) {
		step_hash(s, ft, s->before->notrace, NULL);
		step_hash(s, ft, s->after->notrace, s->before->notrace);
	} else if (chooses(s->before) && chooses(s->after) && few(ft, a, b)) {
		step_hash(s, ft, a, NULL);
		step_hash(s, ft, b, a);
	} else {
		list_each(page, &ft->pages, node)
			step_page(s, page);
	}
}

/* Whether anybody has to know which sites change: running programs, a recording, the kernel. */
static bool ops_are_told(const struct ftrace *ft)
{
	return ft->changed || ft->model->kernel;
}

static void ops_tell_list(struct ftrace *ft, const struct ftrace_change *list, size_t nr)
{
	const struct kernel_hooks *kernel = ft->model->kernel;

	if (ft->changed)
		ft->changed(ft->changed_arg, list, nr);
	if (kernel)
		kernel->functions(kernel->arg, list, nr);
}

/* If there was no memory for the list of changes, each site is told by itself. */
static void ops_tell(struct step *s, struct ftrace *ft)
{
	struct ftrace_page *page;

	/* While there is no server, programs continue as they are (R4). */
	if (ft->model->closing)
		s->nr = s->failed = 0;
	if (s->nr && !s->failed)
		ops_tell_list(ft, s->changes, s->nr);
	else if (s->failed)
		list_each(page, &ft->pages, node)
			for (uint32_t i = 0; i < page->nr; i++)
				ops_tell_list(ft, &(struct ftrace_change){ page, &page->sites[i] },
					      1);
	free(s->changes);
}

static struct step step_of(const struct ftrace *ft, const struct ftrace_hashes *before,
			   const struct ftrace_hashes *after)
{
	return (struct step){ .before = before, .after = after, .told = ops_are_told(ft) };
}

/* ---- Commands ---- */

int ftrace_ops_enable(struct ftrace_ops *ops)
{
	struct ftrace *ft = ftrace_of(ops->inst->model);
	struct step s;
	int err;

	if (!ft)
		return -ENOMEM;
	if (ops->enabled)
		return 0;
	err = ftrace_need_sites(ft);
	if (err)
		return err;
	session_functions_asked(ops->inst->model->session);
	ops->enabled = true;
	list_add(&ops->node, &ft->ops);
	s = step_of(ft, NULL, ops->hashes);
	step_run(&s, ft);
	ops_tell(&s, ft);
	err = ftrace_groups_refused(ft);
	if (err)
		ftrace_ops_disable(ops);
	return err;
}

void ftrace_ops_disable(struct ftrace_ops *ops)
{
	struct ftrace *ft = ops->inst->model->ftrace;
	struct step s;

	if (!ops->enabled)
		return;
	ops->enabled = false;
	list_del(&ops->node);
	ftrace_groups_drop(ft, ops);
	s = step_of(ft, ops->hashes, NULL);
	step_run(&s, ft);
	ops_tell(&s, ft);
	/* What ends cannot be refused; the next command must not find it. */
	(void)ftrace_groups_refused(ft);
}

static int ops_put_in_place(struct ftrace *ft, struct ftrace_hashes *h,
			    const struct ftrace_hashes *after)
{
	const struct ftrace_hashes before = *h;
	struct ftrace_ops *ops;
	struct step s;
	bool first = true;

	*h = *after;
	s = step_of(ft, &before, h);
	list_each(ops, &ft->ops, node) {
		if (ops->hashes != h)
			continue;
		/* Ops that share the sets trace the same sites. */
		s.told = ops_are_told(ft) && first;
		step_run(&s, ft);
		first = false;
	}
	ops_tell(&s, ft);
	return ftrace_groups_refused(ft);
}

int ftrace_hashes_replace(struct ftrace *ft, struct ftrace_hashes *h, struct ftrace_hash *filter,
			  struct ftrace_hash *notrace)
{
	const struct ftrace_hashes before = *h, after = { filter, notrace };
	int err;

	if ((filter && filter != before.filter && ftrace_hash_settle(filter)) ||
	    (notrace && notrace != before.notrace && ftrace_hash_settle(notrace)))
		return -ENOMEM;
	err = ops_put_in_place(ft, h, &after);
	if (err) {
		(void)ops_put_in_place(ft, h, &before);
		return err;
	}
	if (before.filter != filter)
		ftrace_hash_destroy(before.filter);
	if (before.notrace != notrace)
		ftrace_hash_destroy(before.notrace);
	if (ft->chosen)
		ft->chosen(ft->changed_arg);
	return 0;
}

int ftrace_ops_new_page(struct ftrace *ft, struct ftrace_page *page)
{
	struct ftrace_change *changes;
	struct ftrace_ops *ops;
	size_t nr = 0;

	list_each(ops, &ft->ops, node)
		for (uint32_t i = 0; i < page->nr; i++)
			if (!(page->sites[i].flags & FTRACE_SITE_SKIPPED) &&
			    ops_traces(ops, page->sites[i].ip))
				ops_count(&page->sites[i], 1);
	if (!ops_are_told(ft))
		return 0;
	changes = malloc((page->nr + 1) * sizeof(*changes));
	if (!changes)
		return -ENOMEM;
	for (uint32_t i = 0; i < page->nr; i++)
		if (page->sites[i].flags & FTRACE_SITE_ENABLED)
			changes[nr++] = (struct ftrace_change){ page, &page->sites[i] };
	if (nr)
		ops_tell_list(ft, changes, nr);
	free(changes);
	return ftrace_groups_refused(ft);
}
