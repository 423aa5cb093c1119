/* SPDX-License-Identifier: MIT */
/*
 * refused.c - functions that cannot be traced: the file refused_functions, and what error_log says
 * of a word that means such functions only
 *
 * The reason stands in the site, because it comes from the file and never changes. Reasons that
 * only a process knows (a debugger's breakpoint) are in its answer. Parts of other functions are no
 * sites, so only the symbols know their names.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/errlog.h"
#include "model/ftrace/ftrace.h"
#include "model/ftrace/glob.h"
#include "model/symbols.h"
#include "session/attach/attach.h"

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

const struct ftrace_site *ftrace_site_left(struct ftrace *ft, uint64_t left,
					   struct ftrace_page **page, enum site_skip *why)
{
	const uint64_t ip = left & ((1ull << SITE_LEFT_SHIFT) - 1);

	*why = (enum site_skip)(left >> SITE_LEFT_SHIFT);
	return ft && ip && *why < SITE_NR_SKIPS ? ftrace_site_find(ft, ip, page) : NULL;
}

struct leaving {
	struct ftrace	*ft;
	FILE		*out;
};

/* A process may have written anything. */
static void print_left_out(const struct leaving *l, const struct attach_answer *a)
{
	for (unsigned int i = 0; i < SITES_LEFT; i++) {
		struct ftrace_page *page;
		enum site_skip why;
		const struct ftrace_site *site = ftrace_site_left(l->ft, a->left[i], &page, &why);

		if (!site)
			continue;
		ftrace_print_site(page, site, l->out);
		fprintf(l->out, ": %s (process %d)\n", site_left_text(why), (int)a->peer.pid);
	}
}

static void print_process(void *arg, const struct attach_answer *a)
{
	const struct leaving *l = arg;
	uint64_t nr = 0;

	print_left_out(l, a);
	for (unsigned int k = 0; k < SITE_NR_SKIPS; k++)
		if (site_skip_is_own(k) && k != SITE_GRAPHLESS && k != SITE_RETURNLESS)
			nr += a->skipped[k];
	if (nr > SITES_LEFT)
		fprintf(l->out, "# process %d: and %" PRIu64 " more\n", (int)a->peer.pid,
			nr - SITES_LEFT);
}

void ftrace_print_refused(struct ftrace *ft, FILE *out)
{
	struct leaving l = { ft, out };
	struct ftrace_page *page;

	(void)ftrace_need_sites(ft);
	list_each(page, &ft->pages, node)
		print_refused_of(page, out);
	attach_answers(ft->model->session, print_process, &l);
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
	if (!layout_is_dso_address(y.addr))
		return false;
	nr = (y.addr - LAYOUT_DSO_BASE) >> LAYOUT_DSO_SHIFT;
	dso = layout_dso_base((uint32_t)nr);
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
