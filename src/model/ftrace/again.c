/* SPDX-License-Identifier: MIT */
/*
 * again.c - what stays chosen of a program's DSO that is gone, and may come again
 *
 * When a program's DSO is gone, its addresses stay in all sets, but are not printed. When the same
 * DSO comes again, it has the same addresses. And a set without other addresses does not become
 * empty, which would mean all functions. A DSO that was built again has other addresses. Then the
 * functions that were chosen in the old one are chosen in the new one, by name.
 */
#include <errno.h>

#include "model/ftrace/ftrace.h"

void ftrace_page_drop(struct model *m, struct ftrace_page *page)
{
	struct ftrace *ft = m->ftrace;

	list_del(&page->node);
	ft->nr_pages--;
	ft->nr_sites -= page->nr;
	ftrace_page_free(page);
}

/* ---- A DSO that was built again ---- */

static int again_enter(void *arg, struct ftrace_site *site)
{
	return ftrace_hash_add(arg, site->ip);
}

/*
 * *out: a copy of h, with the functions of the new page that have the name of an old function in h.
 * NULL: h has none.
 */
static int inherit(const struct ftrace_hash *h, const struct ftrace_page *old,
		   struct ftrace_page *page, struct ftrace_hash **out)
{
	int n = 0;

	*out = NULL;
	for (uint32_t i = 0; h && h->count && n >= 0 && i < old->nr; i++) {
		if (!ftrace_hash_has(h, old->sites[i].ip))
			continue;
		if (!*out)
			*out = ftrace_hash_copy(h, h->ordered);
		n = *out ? ftrace_page_match(page, ftrace_site_name(old, &old->sites[i]),
					     again_enter, *out)
			 : -ENOMEM;
	}
	if (n >= 0)
		return 0;
	ftrace_hash_destroy(*out);
	*out = NULL;
	return n;
}

static int inherit_hashes(struct ftrace *ft, struct ftrace_instance *fi,
			  const struct ftrace_page *old, struct ftrace_page *page)
{
	struct ftrace_hashes new;
	int err = inherit(fi->hashes.filter, old, page, &new.filter);

	if (err)
		return err;
	err = inherit(fi->hashes.notrace, old, page, &new.notrace);
	if (!err && (new.filter || new.notrace))
		err = ftrace_hashes_replace(ft, &fi->hashes,
					    new.filter ? new.filter : fi->hashes.filter,
					    new.notrace ? new.notrace : fi->hashes.notrace);
	if (err) {
		ftrace_hash_destroy(new.filter);
		ftrace_hash_destroy(new.notrace);
		return err;
	}
	err = new.filter ? ftrace_save_hash(fi, FTRACE_FILTER) : 0;
	return err || !new.notrace ? err : ftrace_save_hash(fi, FTRACE_NOTRACE);
}

static int inherit_instance(struct ftrace *ft, struct ftrace_instance *fi,
			    const struct ftrace_page *old, struct ftrace_page *page)
{
	int err = inherit_hashes(ft, fi, old, page);

	return err ? err : function_commands_inherit(fi, old, page);
}

static int inherit_graph(struct ftrace *ft, enum ftrace_list which, const struct ftrace_page *old,
			 struct ftrace_page *page)
{
	struct ftrace_hash *new;
	int err = inherit(ft->graph[which], old, page, &new);

	if (!err && new)
		err = ftrace_hash_settle(new);
	if (err) {
		ftrace_hash_destroy(new);
		return err;
	}
	if (!new)
		return 0;
	ftrace_hash_destroy(ft->graph[which]);
	ft->graph[which] = new;
	if (ft->set)
		ft->set(ft->changed_arg);
	return ftrace_save_graph(ft, which);
}

static int inherit_stack(struct ftrace *ft, const struct ftrace_page *old, struct ftrace_page *page)
{
	struct ftrace_hash *new;
	int err = inherit(ft->stack.hashes.filter, old, page, &new);

	if (err || !new)
		return err;
	err = ftrace_hashes_replace(ft, &ft->stack.hashes, new, NULL);
	if (err) {
		ftrace_hash_destroy(new);
		return err;
	}
	return ftrace_save_stack_filter(ft);
}

int ftrace_page_inherit(struct ftrace *ft, const struct ftrace_page *old, struct ftrace_page *page)
{
	struct instance *inst;
	int err = 0;

	list_each(inst, &ft->model->instances, node)
		if (!err && inst->ftrace)
			err = inherit_instance(ft, inst->ftrace, old, page);
	for (int i = 0; !err && i < 2; i++)
		err = inherit_graph(ft, (enum ftrace_list)i, old, page);
	return err ? err : inherit_stack(ft, old, page);
}
