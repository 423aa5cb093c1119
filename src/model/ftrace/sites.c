/* SPDX-License-Identifier: MIT */
/*
 * sites.c - the functions that can be traced, a page for each DSO: adds, finds, matches and lists
 * them
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/demangle/demangle.h"
#include "model/ftrace/ftrace.h"
#include "model/ftrace/glob.h"
#include "model/model.h"
#include "model/symbols.h"
#include "model/text.h"
#include "session/array.h"

enum { SITES_A_PAGE = 4096 / sizeof(struct ftrace_site) };

/* ---- Adding and removing ---- */

static int sites_by_address(const void *a, const void *b)
{
	const struct ftrace_site *x = a, *y = b;

	return x->ip < y->ip ? -1 : x->ip > y->ip;
}

void ftrace_page_free(struct ftrace_page *page)
{
	if (!page)
		return;
	free(page->module);
	free(page->file);
	free(page->sites);
	free(page->names);
	free(page->by_name);
	free(page);
}

static bool in_order(const struct ftrace_site *s, uint32_t nr)
{
	for (uint32_t i = 1; i < nr; i++)
		if (s[i - 1].ip >= s[i].ip)
			return false;
	return true;
}

/* Sorts the sites. Of two at one address the first one stays. */
static void page_sort(struct ftrace_page *page)
{
	uint32_t n = 0;

	if (in_order(page->sites, page->nr))
		return;
	qsort(page->sites, page->nr, sizeof(*page->sites), sites_by_address);
	for (uint32_t i = 0; i < page->nr; i++)
		if (!n || page->sites[n - 1].ip != page->sites[i].ip)
			page->sites[n++] = page->sites[i];
	page->nr = n;
}

static size_t text_size(const struct ftrace_new_site *s)
{
	return strlen(s->name) + 1 + (s->demangled ? strlen(s->demangled) + 1 : 0);
}

static uint32_t first_flags(const struct ftrace_new_site *s)
{
	return (s->skip ? FTRACE_SITE_SKIPPED | s->skip : 0) |
	       (s->demangled ? FTRACE_SITE_DEMANGLED : 0);
}

static struct ftrace_page *page_create(const char *module, const char *file,
				       const struct ftrace_new_site *sites, size_t nr)
{
	struct ftrace_page *page = calloc(1, sizeof(*page));
	size_t size = 0, at = 0;

	if (!page)
		return NULL;
	for (size_t i = 0; i < nr; i++)
		size += text_size(&sites[i]);
	page->names = malloc(size + 1);
	page->sites = calloc(nr + 1, sizeof(*page->sites));
	page->module = module ? strdup(module) : NULL;
	page->file = file ? strdup(file) : NULL;
	if (!page->names || !page->sites || (module && !page->module) || (file && !page->file) ||
	    size > UINT32_MAX) {
		ftrace_page_free(page);
		return NULL;
	}
	for (size_t i = 0; i < nr; i++) {
		page->sites[i] =
			(struct ftrace_site){ sites[i].ip, (uint32_t)at, first_flags(&sites[i]) };
		strcpy(page->names + at, sites[i].name);
		if (sites[i].demangled)
			strcpy(page->names + at + strlen(sites[i].name) + 1, sites[i].demangled);
		at += text_size(&sites[i]);
	}
	page->nr = (uint32_t)nr;
	page_sort(page);
	for (uint32_t i = 0; i < page->nr; i++)
		page->nr_skipped += (page->sites[i].flags & FTRACE_SITE_SKIPPED) != 0;
	return page;
}

static int page_add(struct model *m, const char *module, const char *file,
		    const struct ftrace_new_site *sites, size_t nr, struct ftrace_page **out)
{
	struct ftrace *ft = ftrace_of(m);
	struct ftrace_page *page =
		ft && nr < UINT32_MAX ? page_create(module, file, sites, nr) : NULL;
	int err;

	if (!page)
		return -ENOMEM;
	page->ft = ft;
	list_add_tail(&page->node, &ft->pages);
	ft->nr_pages++;
	ft->nr_sites += page->nr;
	if (out)
		*out = page;
	err = ftrace_ops_new_page(ft, page);
	return err || !ftrace_page_file(page) ? err : ftrace_mods_apply(ft, ftrace_page_file(page));
}

int ftrace_sites_add(struct model *m, const char *module, const struct ftrace_new_site *sites,
		     size_t nr, struct ftrace_page **out)
{
	return page_add(m, module, NULL, sites, nr, out);
}

int ftrace_program_add(struct model *m, const char *file, const struct ftrace_new_site *sites,
		       size_t nr, struct ftrace_page **out)
{
	return page_add(m, NULL, file, sites, nr, out);
}

/* As the kernel when a module is removed. Choices that wait for its name continue to wait. */
static void sites_forget(struct ftrace_hash *h, const struct ftrace_page *page)
{
	for (uint32_t i = 0; h && h->count && i < page->nr; i++)
		ftrace_hash_remove(h, page->sites[i].ip);
}

void ftrace_sites_remove(struct model *m, struct ftrace_page *page)
{
	struct ftrace *ft = m->ftrace;
	struct instance *inst;

	list_each(inst, &m->instances, node) {
		if (!inst->ftrace)
			continue;
		sites_forget(inst->ftrace->hashes.filter, page);
		sites_forget(inst->ftrace->hashes.notrace, page);
		ftrace_save_hash(inst->ftrace, FTRACE_FILTER);
		ftrace_save_hash(inst->ftrace, FTRACE_NOTRACE);
	}
	sites_forget(ft->stack.hashes.filter, page);
	ftrace_save_stack_filter(ft);
	list_del(&page->node);
	ft->nr_pages--;
	ft->nr_sites -= page->nr;
	ftrace_page_free(page);
}

/* ---- Loading a list ---- */

struct load {
	struct ftrace_new_site *sites;
	size_t		nr;
	char		*module;	/* of the sites read so far; inside the text */
};

static int load_flush(struct model *m, struct load *l)
{
	int err = l->nr ? ftrace_sites_add(m, l->module, l->sites, l->nr, NULL) : 0;

	l->nr = 0;
	return err;
}

static int load_one(struct load *l, uint64_t ip, const char *name)
{
	if (array_room(&l->sites, l->nr, sizeof(*l->sites)))
		return -ENOMEM;
	l->sites[l->nr++] = (struct ftrace_new_site){ .ip = ip, .name = name };
	return 0;
}

/* "name [module]": cuts the text after the name. Returns the module or NULL. */
static char *cut_module(char *line)
{
	char *open = strstr(line, " ["), *close = open ? strchr(open, ']') : NULL;

	if (!close)
		return NULL;
	*open = *close = '\0';
	return open + 2;
}

static int load_line(struct model *m, struct load *l, char *line, uint64_t number)
{
	char *module = cut_module(line), *name = strchr(line, ' '), *end = NULL;
	uint64_t ip = name ? strtoull(line, &end, 16) : number;
	int err = 0;

	if (name && end != name)
		return -EINVAL;
	if (!text_same(module, l->module))
		err = load_flush(m, l);
	l->module = module;
	return err ? err : load_one(l, ip, name ? name + 1 : line);
}

/* Called once in some hundred lines. */
static void load_step(struct model *m, uint64_t number)
{
	enum { OFTEN = 256 };

	if (number % OFTEN == 0)
		model_step(m);
}

int ftrace_sites_load(struct model *m, const char *text, size_t len)
{
	struct load l = { 0 };
	char *copy = strndup(text, len), *save = NULL;
	uint64_t number = 0;
	int err = copy ? 0 : -ENOMEM;

	/* The list takes the place of functions that would be found by themselves. */
	if (m->ftrace)
		m->ftrace->load = NULL;
	for (char *line = copy ? strtok_r(copy, "\n", &save) : NULL; line && !err;
	     line = strtok_r(NULL, "\n", &save)) {
		load_step(m, number);
		err = load_line(m, &l, line, ++number);
	}
	if (!err)
		err = load_flush(m, &l);
	free(l.sites);
	free(copy);
	return err;
}

/* ---- Finding ---- */

const struct ftrace_site *ftrace_site_within(struct ftrace *ft, uint64_t lo, uint64_t hi)
{
	const struct ftrace_site *first = NULL;
	struct ftrace_page *page;

	list_each(page, &ft->pages, node) {
		uint32_t begin = 0, end = page->nr;

		while (begin < end) {
			uint32_t mid = begin + (end - begin) / 2;

			if (page->sites[mid].ip < lo)
				begin = mid + 1;
			else
				end = mid;
		}
		if (begin < page->nr && page->sites[begin].ip < hi &&
		    (!first || page->sites[begin].ip < first->ip))
			first = &page->sites[begin];
	}
	return first;
}

struct ftrace_site *ftrace_site_find(struct ftrace *ft, uint64_t ip, struct ftrace_page **out)
{
	const struct ftrace_site key = { .ip = ip };
	struct ftrace_page *page;

	list_each(page, &ft->pages, node) {
		struct ftrace_site *site;

		if (!page->nr || ip < page->sites[0].ip || ip > page->sites[page->nr - 1].ip)
			continue;
		site = bsearch(&key, page->sites, page->nr, sizeof(key), sites_by_address);
		if (site && out)
			*out = page;
		if (site)
			return site;
	}
	return NULL;
}

void ftrace_print_function(struct ftrace *ft, uint64_t ip, FILE *out)
{
	struct ftrace_page *page;
	struct ftrace_site *site = ftrace_site_find(ft, ip, &page);
	const char *name, *module = NULL;

	name = site ? ftrace_site_name(page, site)
		    : symbols_find(ft->model->symbols, ip, NULL, NULL, &module);
	if (site)
		module = page->module;
	if (name)
		fputs(name, out);
	else
		fprintf(out, "0x%" PRIx64, ip);
	if (module)
		fprintf(out, " [%s]", module);
}

static uint32_t name_key(const char *name, uint32_t bits)
{
	uint32_t h = 0x811c9dc5u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 0x01000193u;
	return (h * 0x9e3779b1u) >> (32 - bits);
}

/* Sorted by site, so that a search meets the sites of one name in that order. */
static int index_names(struct ftrace_page *page)
{
	uint32_t bits = 4, mask;

	while (1ull << bits < page->nr * 2ull)
		bits++;
	page->by_name = calloc((size_t)1 << bits, sizeof(*page->by_name));
	if (!page->by_name)
		return -ENOMEM;
	page->by_name_bits = bits;
	mask = (uint32_t)((1ull << bits) - 1);
	for (uint32_t i = 0; i < page->nr; i++) {
		uint32_t at = name_key(ftrace_site_name(page, &page->sites[i]), bits);

		while (page->by_name[at])
			at = (at + 1) & mask;
		page->by_name[at] = i + 1;
	}
	return 0;
}

/* ---- Matching ---- */

typedef int (*site_fn)(void *arg, struct ftrace_site *site);

/* Which sites are meant: those that can be traced, or those that cannot. */
enum meant { CAN_BE_TRACED = 0, REFUSED = FTRACE_SITE_SKIPPED };

static bool is_meant(const struct ftrace_site *site, enum meant meant)
{
	return (site->flags & FTRACE_SITE_SKIPPED) == (uint32_t)meant;
}

static int page_match(struct ftrace_page *page, const char *name, enum meant meant, site_fn fn,
		      void *arg)
{
	const int err = page->by_name ? 0 : index_names(page);
	uint32_t at, mask;
	int n = 0;

	if (err)
		return err;
	mask = (uint32_t)((1ull << page->by_name_bits) - 1);
	for (at = name_key(name, page->by_name_bits); page->by_name[at]; at = (at + 1) & mask) {
		struct ftrace_site *site = &page->sites[page->by_name[at] - 1];
		int rc;

		if (!is_meant(site, meant) || strcmp(ftrace_site_name(page, site), name))
			continue;
		rc = fn(arg, site);
		if (rc < 0)
			return rc;
		n++;
	}
	return n;
}

int ftrace_page_match(struct ftrace_page *page, const char *name, site_fn fn, void *arg)
{
	return page_match(page, name, CAN_BE_TRACED, fn, arg);
}

static const char *demangled(struct ftrace *ft, const char *name)
{
	if (!ft->demangler)
		ft->demangler = demangler_create();
	return demangle(ft->demangler, name);
}

static bool site_match(const struct ftrace_page *page, const struct ftrace_site *site,
		       const struct ftrace_glob *g)
{
	const char *name = ftrace_site_name(page, site);

	if (!g->demangled)
		return ftrace_glob_match(g, name);
	name = site->flags & FTRACE_SITE_DEMANGLED ? name + strlen(name) + 1
						   : demangled(page->ft, name);
	return name && (ftrace_glob_match(g, name) ||
			(g->type == FTRACE_GLOB_FULL && demangled_is_called(name, g->text)));
}

void ftrace_sites_step(struct ftrace *ft, uint32_t i)
{
	enum { OFTEN = 256 };

	if (i % OFTEN == 0)
		model_step(ft->model);
}

static int match_page(struct ftrace_page *page, const struct ftrace_glob *g, enum meant meant,
		      site_fn fn, void *arg)
{
	int n = 0;

	for (uint32_t i = 0; i < page->nr; i++) {
		struct ftrace_site *site = &page->sites[i];
		int rc;

		ftrace_sites_step(page->ft, i);
		if (!is_meant(site, meant) || (g && !site_match(page, site, g)))
			continue;
		rc = fn(arg, site);
		if (rc < 0)
			return rc;
		n++;
	}
	return n;
}

/*
 * Without a pattern all sites match. An empty pattern matches sites in any module; with "!", those
 * in no module.
 */
static bool module_matches(const struct ftrace_glob *g, const struct ftrace_page *page)
{
	const char *file = ftrace_page_file(page);

	if (!g)
		return true;
	if (!g->len)
		return g->not == !page->module;
	return g->not != (file && ftrace_glob_match(g, file));
}

static int match_pages(struct ftrace *ft, const struct ftrace_glob *function,
		       const struct ftrace_glob *module, enum meant meant, site_fn fn, void *arg)
{
	const bool whole =
		function->type == FTRACE_GLOB_FULL && function->len && !function->demangled;
	const bool all = module && !function->len;
	struct ftrace_page *page;
	int n = 0, rc;

	list_each(page, &ft->pages, node) {
		if (!module_matches(module, page))
			continue;
		rc = whole ? page_match(page, function->text, meant, fn, arg) :
			match_page(page, all ? NULL : function, meant, fn, arg);
		if (rc < 0)
			return rc;
		n += rc;
	}
	return n;
}

/* ---- Other names ---- */

struct alias_match {
	struct ftrace	*ft;
	const struct ftrace_glob *module;
	enum meant	meant;
	site_fn		fn;
	void		*arg;
	int		nr;		/* sites, or -errno */
	uint64_t	last;		/* the address of the symbol before */
};

static void alias_match(void *arg, const struct symbol_seen *y)
{
	struct alias_match *a = arg;
	const struct ftrace_site *first;
	struct ftrace_page *page;
	struct ftrace_site *site;
	uint64_t size;
	int rc;

	/* A hostile file has one symbol a million times. */
	if (a->nr < 0 || y->addr == a->last || !layout_is_dso_address(y->addr))
		return;
	a->last = y->addr;
	if (!symbols_find(a->ft->model->symbols, y->addr, NULL, &size, NULL))
		return;
	/* The last symbol has no size. */
	first = ftrace_site_within(a->ft, y->addr, y->addr + (size ? size : 1));
	site = first ? ftrace_site_find(a->ft, first->ip, &page) : NULL;
	if (!site || !is_meant(site, a->meant) || !module_matches(a->module, page))
		return;
	rc = a->fn(a->arg, site);
	a->nr = rc < 0 ? rc : a->nr + 1;
}

/*
 * A function of a program may have several names, as open and open64. Its site has the best one,
 * and a name in full may be any of them. The kernel knows one name for each.
 */
static int aliases_match(struct ftrace *ft, const struct ftrace_glob *function,
			 const struct ftrace_glob *module, enum meant meant, site_fn fn, void *arg)
{
	struct alias_match a = {
		.ft = ft, .module = module, .meant = meant, .fn = fn, .arg = arg,
	};

	if (function->type == FTRACE_GLOB_FULL)
		symbols_each_loaded(ft->model->symbols, function->text, alias_match, &a);
	return a.nr;
}

static int is_same_site(void *arg, struct ftrace_site *site)
{
	return site == arg ? -EEXIST : 0;
}

bool ftrace_site_is_called(struct ftrace_page *page, struct ftrace_site *site,
			   const struct ftrace_glob *g)
{
	return site_match(page, site, g) ||
	       aliases_match(page->ft, g, NULL, CAN_BE_TRACED, is_same_site, site) < 0;
}

/* A pattern of no site may be one of other names, or of names of the source. */
static int sites_match(struct ftrace *ft, const struct ftrace_glob *function,
		       const struct ftrace_glob *module, enum meant meant, site_fn fn, void *arg)
{
	struct ftrace_glob source = *function;
	int n = match_pages(ft, function, module, meant, fn, arg);

	if (n || function->demangled || !function->len || function->type == FTRACE_GLOB_INDEX)
		return n;
	n = aliases_match(ft, function, module, meant, fn, arg);
	source.demangled = true;
	return n ? n : match_pages(ft, &source, module, meant, fn, arg);
}

int ftrace_sites_match(struct ftrace *ft, const struct ftrace_glob *function,
		       const struct ftrace_glob *module, site_fn fn, void *arg)
{
	return sites_match(ft, function, module, CAN_BE_TRACED, fn, arg);
}

int ftrace_refused_match(struct ftrace *ft, const struct ftrace_glob *function,
			 const struct ftrace_glob *module, site_fn fn, void *arg)
{
	return sites_match(ft, function, module, REFUSED, fn, arg);
}

/* ---- Listing ---- */

void ftrace_print_site(const struct ftrace_page *page, const struct ftrace_site *site, FILE *out)
{
	fputs(ftrace_site_name(page, site), out);
	if (page->module)
		fprintf(out, " [%s]", page->module);
}

void ftrace_print_available(struct ftrace *ft, bool addresses, FILE *out)
{
	struct ftrace_page *page;

	(void)ftrace_need_sites(ft);
	list_each(page, &ft->pages, node)
		for (uint32_t i = 0; i < page->nr; i++) {
			ftrace_sites_step(ft, i);
			if (page->sites[i].flags & FTRACE_SITE_SKIPPED)
				continue;
			if (addresses)
				fprintf(out, "%" PRIx64 " ", page->sites[i].ip);
			ftrace_print_site(page, &page->sites[i], out);
			fputc('\n', out);
		}
}

/*
 * The kernel's columns. Behind them the kernel prints its trampoline; here the names of the ops
 * follow. The kernel's letters (R I D O M) never occur: they mean that registers are saved or that
 * the function itself is changed.
 */
static void print_state(struct ftrace *ft, const struct ftrace_site *site, FILE *out)
{
	struct ftrace_ops *ops[8];
	const size_t nr = ftrace_site_ops(ft, site->ip, ops, 8);

	fprintf(out, " (%u)           ", site->flags & FTRACE_SITE_COUNT);
	for (size_t i = 0; i < nr && i < 8; i++)
		fprintf(out, "%s->%s", i ? " " : "", ops[i]->callback);
	fputc('\n', out);
}

void ftrace_print_flagged(struct ftrace *ft, uint32_t flags, FILE *out)
{
	struct ftrace_page *page;

	(void)ftrace_need_sites(ft);
	list_each(page, &ft->pages, node)
		for (uint32_t i = 0; i < page->nr; i++) {
			ftrace_sites_step(ft, i);
			if (!(page->sites[i].flags & flags))
				continue;
			ftrace_print_site(page, &page->sites[i], out);
			print_state(ft, &page->sites[i], out);
		}
}

/*
 * The kernel allocates pages by powers of two until all sites have a place. Such a block is its
 * group.
 */
void ftrace_print_info(struct ftrace *ft, FILE *out)
{
	uint64_t pages = 0, groups = 0;
	struct ftrace_page *page;

	(void)ftrace_need_sites(ft);
	list_each(page, &ft->pages, node) {
		uint64_t left = (page->nr + SITES_A_PAGE - 1) / SITES_A_PAGE;

		pages += left;
		groups += (uint64_t)__builtin_popcountll(left);
	}
	fprintf(out, "%" PRIu64 " pages:%" PRIu64 " groups: %" PRIu64 "\n", ft->nr_sites, pages,
		groups);
}
