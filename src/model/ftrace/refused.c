/* SPDX-License-Identifier: MIT */
/*
 * refused.c - functions that cannot be traced: the file refused_functions, and what error_log says
 * of a word that means such functions only
 *
 * The reason stands in the site, because it comes from the file and never changes. Parts of other
 * functions are no sites, so only the symbols know their names.
 */
#include <stdlib.h>
#include <string.h>

#include "model/errlog.h"
#include "model/ftrace/ftrace.h"
#include "model/ftrace/glob.h"
#include "model/symbols.h"

static const char *reason(const struct ftrace_site *site)
{
	return site_skip_text((enum site_skip)(site->flags & FTRACE_SITE_COUNT));
}

/* ---- The list ---- */

static void print_refused_of(struct ftrace_page *page, FILE *out)
{
	for (uint32_t i = 0; page->nr_skipped && i < page->nr; i++) {
		ftrace_sites_step(page->ft, i);
		if (!(page->sites[i].flags & FTRACE_SITE_SKIPPED))
			continue;
		ftrace_print_site(page, &page->sites[i], out);
		fprintf(out, ": %s\n", reason(&page->sites[i]));
	}
}

void ftrace_print_refused(struct ftrace *ft, FILE *out)
{
	struct ftrace_page *page;

	(void)ftrace_need_sites(ft);
	list_each(page, &ft->pages, node)
		print_refused_of(page, out);
}

/* ---- error_log ---- */

enum { TEXT = 512 };

static int first_keep(void *arg, struct ftrace_site *site)
{
	const struct ftrace_site **first = arg;

	*first = *first ? *first : site;
	return 0;
}

static int good_seen(void *arg, struct ftrace_site *site)
{
	return -1;
}

/* nr: how many are refused, of which this is the first. */
static void refused_text(struct ftrace *ft, const struct ftrace_site *first, int nr,
			 char text[TEXT])
{
	struct ftrace_page *page = NULL;

	if (nr == 1) {
		snprintf(text, TEXT, "This function cannot be traced: %s", reason(first));
		return;
	}
	ftrace_site_find(ft, first->ip, &page);
	snprintf(text, TEXT, "None of these %d functions can be traced (refused_functions): %s: %s",
		 nr, page ? ftrace_site_name(page, first) : "", reason(first));
}

static bool is_code_symbol(char type)
{
	return strchr("tTwWi", type) != NULL;
}

/* A program's function by its symbol, which is no site. False: nobody knows it. */
static bool nameless_text(struct ftrace *ft, const char *name, char text[TEXT])
{
	struct symbol_seen y;
	uint64_t nr, dso;

	if (!symbols_find_loaded(ft->model->symbols, name, &y) || !is_code_symbol(y.type))
		return false;
	nr = (y.addr - LAYOUT_DSO_BASE) >> LAYOUT_DSO_SHIFT;
	if (nr >= LAYOUT_MAX_DSOS)	/* the kernel's addresses, and small ones */
		return false;
	dso = LAYOUT_DSO_BASE + (nr << LAYOUT_DSO_SHIFT);
	if (ftrace_site_within(ft, dso, dso + (1ull << LAYOUT_DSO_SHIFT)))
		snprintf(text, TEXT, "This function cannot be traced: the compiler has left no "
				     "place in it, or it is a part of another function");
	else
		snprintf(text, TEXT, "The functions of this library are not traced so far: "
				     "%s:mod:%s asks for them",
			 name, y.module ? y.module : "");
	return true;
}

/* False: there is nothing to say. */
static bool word_text(struct ftrace *ft, const struct ftrace_glob *f, const struct ftrace_glob *m,
		      char text[TEXT])
{
	const struct ftrace_site *first = NULL;
	int nr;

	if (ftrace_sites_match(ft, f, m, good_seen, NULL))
		return false;
	nr = ftrace_refused_match(ft, f, m, first_keep, &first);
	if (nr > 0)
		refused_text(ft, first, nr, text);
	return nr > 0 ||
	       (f->type == FTRACE_GLOB_FULL && !f->demangled && nameless_text(ft, f->text, text));
}

void ftrace_refused_say(struct ftrace_instance *fi, const char *word, const char *function,
			const char *module)
{
	char *copy = strdup(function), *copy_module = module ? strdup(module) : NULL, text[TEXT];
	struct ftrace_glob f, m;

	if (copy && (copy_module || !module)) {
		ftrace_glob_parse(&f, copy);
		if (module)
			ftrace_glob_parse(&m, copy_module);
		if (!f.not && f.type != FTRACE_GLOB_INDEX &&
		    word_text(fi->inst->model->ftrace, &f, module ? &m : NULL, text))
			errlog_add(fi->inst->errlog, "ftrace", word, text, *word == '"');
	}
	free(copy);
	free(copy_module);
}
