/* SPDX-License-Identifier: MIT */
/*
 * functions.c - the functions of a recording, from its kallsyms
 *
 * A recording does not say which functions its kernel could trace (available_filter_functions).
 * Its kallsyms has these and others: code that is not traced on purpose, such as the tracer itself.
 * Those others have no records, so filters work all the same. This file leaves out what a name or a
 * place shows to be such code. `replay --functions FILE` gives the kernel's own list instead.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/ftrace/ftrace.h"
#include "model/symbols.h"
#include "session/array.h"
#include "sources/recording/calls.h"
#include "sources/recording/source_state.h"

/* Parts of a kernel that it does not trace, between two symbols. */
static const struct {
	const char	*begin, *end;
} untraced[] = {
	{ "_sinittext", "_einittext" },
	{ "__noinstr_text_start", "__noinstr_text_end" },
	{ "__entry_text_start", "__entry_text_end" },
	{ "__cpuidle_text_start", "__cpuidle_text_end" },
	{ "__static_call_text_start", "__static_call_text_end" },
};

enum { UNTRACED = sizeof(untraced) / sizeof(untraced[0]) };

/* Beginnings of names that compilers and macros make for code without a tracer's call. */
static const char *const made_names[] = {
	"__pfx_", "__cfi_", "__SCT__", "__SCK__", "__x86_", "$",
	"perf_trace_", "trace_event_raw_event_", "trace_raw_output_",
};

/* The one function that is called like that and that nobody makes. */
static const char perf_submit[] = "perf_trace_run_bpf_submit";

bool recorded_function_may_be(char type, const char *name)
{
	if (!strchr("tTwW", type) || strstr(name, ".cold"))
		return false;
	if (!strcmp(name, perf_submit))
		return true;
	for (size_t i = 0; i < sizeof(made_names) / sizeof(made_names[0]); i++)
		if (!strncmp(name, made_names[i], strlen(made_names[i])))
			return false;
	return true;
}

struct found {
	struct ftrace_new_site site;
	const char	*module;
	/* Of the symbol in the list; later that of the module's first function */
	uint32_t	order;
};

struct found_list {
	struct found	*v;
	size_t		nr;
	bool		failed;
	uint64_t	begin[UNTRACED], end[UNTRACED];
};

static void find_untraced(void *arg, const struct symbol_seen *y)
{
	struct found_list *l = arg;

	if (y->module || *y->name != '_')
		return;
	for (unsigned int i = 0; i < UNTRACED; i++) {
		if (!strcmp(y->name, untraced[i].begin))
			l->begin[i] = y->addr;
		if (!strcmp(y->name, untraced[i].end))
			l->end[i] = y->addr;
	}
}

static bool is_untraced(const struct found_list *l, const struct symbol_seen *y)
{
	for (unsigned int i = 0; i < UNTRACED; i++)
		if (y->addr >= l->begin[i] && y->addr < l->end[i])
			return true;
	return false;
}

static void find_functions(void *arg, const struct symbol_seen *y)
{
	struct found_list *l = arg;
	const struct found *last = l->nr ? &l->v[l->nr - 1] : NULL;

	if (l->failed || !y->addr || !recorded_function_may_be(y->type, y->name) ||
	    is_untraced(l, y) || (last && last->site.ip == y->addr))
		return;
	if (array_room(&l->v, l->nr, sizeof(*l->v))) {
		l->failed = true;
		return;
	}
	l->v[l->nr++] = (struct found){
		.site = { .ip = y->addr, .name = y->name }, .module = y->module,
		.order = y->order,
	};
}

/*
 * By module, the kernel itself first. Its kallsyms lists the newest module first, and its lists of
 * functions the oldest.
 */
static int found_compare(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (!x->module != !y->module)
		return x->module ? 1 : -1;
	if (x->module && x->order != y->order)
		return x->order > y->order ? -1 : 1;
	return x->site.ip < y->site.ip ? -1 : x->site.ip > y->site.ip;
}

static int module_compare(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->module != y->module)
		return (uintptr_t)x->module < (uintptr_t)y->module ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Gives each function the number of its module's first one. */
static void number_modules(struct found_list *l)
{
	qsort(l->v, l->nr, sizeof(*l->v), module_compare);
	for (size_t i = 1; i < l->nr; i++)
		if (l->v[i].module == l->v[i - 1].module)
			l->v[i].order = l->v[i - 1].order;
	qsort(l->v, l->nr, sizeof(*l->v), found_compare);
}

static int add_module(struct source *src, const struct found *v, size_t nr)
{
	struct ftrace_new_site *sites = calloc(nr, sizeof(*sites));
	size_t letters = 0;
	int err = sites ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < nr; i++) {
		sites[i] = v[i].site;
		letters += strlen(v[i].site.name) + 1;
	}
	if (!err && !source_memory_take(&src->window.memory,
					letters + nr * sizeof(struct ftrace_site)))
		err = -EFBIG;
	if (!err)
		err = ftrace_sites_add(src->model, v->module, sites, nr, NULL);
	free(sites);
	return err;
}

static int add_modules(struct source *src, const struct found_list *l)
{
	int err = 0;

	for (size_t i = 0, n; i < l->nr && !err; i += n) {
		for (n = 1; i + n < l->nr && l->v[i + n].module == l->v[i].module; n++)
			;
		err = add_module(src, &l->v[i], n);
	}
	return err;
}

int recorded_functions_load(void *arg)
{
	struct source *src = arg;
	struct found_list l = { 0 };
	int err;

	symbols_each(src->model->symbols, find_untraced, &l);
	symbols_each(src->model->symbols, find_functions, &l);
	if (l.nr)
		number_modules(&l);
	err = l.failed ? -ENOMEM : add_modules(src, &l);
	free(l.v);
	return err;
}
