/* SPDX-License-Identifier: MIT */
/*
 * functions.c - functions of the running kernel: the list of them, and what a call of one does
 *
 *     available_filter_functions_addrs  --at the first use-->  sites of the model, as a program's
 *     ops and sets of the session       --words-->             calls.c: what a record of one does
 *                                       --their union-->       tracer.c: what the kernel records
 *
 * The session decides all: which instance records a call, commands of functions, pids, settings of
 * the graph tracer. The kernel only has to record each call that somebody wants. So it gets one set
 * of functions and one tracer, in an instance of its own (kernel.h), and nothing outside of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/ftrace/groups.h"
#include "model/instance/options.h"
#include "model/instance/pids.h"
#include "model/text_memory.h"
#include "sources/live/state.h"

#define FUNCTIONS_LIST "available_filter_functions_addrs"

/* ---- what the kernel has ---- */

static bool names_one(const char *list, const char *name)
{
	const size_t len = strlen(name);

	for (list += strspn(list, " \n"); *list; list += strspn(list, " \n")) {
		const size_t n = strcspn(list, " \n");

		if (n == len && !memcmp(list, name, n))
			return true;
		list += n;
	}
	return false;
}

static void find_tracers(struct live *l)
{
	struct live_calls *calls = &l->calls;
	size_t len;
	char *text = kernel_read(l->kernel.dir, "available_tracers", &len);

	if (!text || !names_one(text, live_tracer_names[LIVE_FUNCTION]))
		snprintf(calls->why_not, sizeof(calls->why_not), "it has no tracer function");
	calls->has_graph = text && names_one(text, live_tracer_names[LIVE_GRAPH]);
	free(text);
}

/* A kernel may have the files and let nobody open them. */
static void find_kernel_file(struct live *l, int dir, const char *file)
{
	struct live_calls *calls = &l->calls;
	const int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);

	if (fd < 0 && !*calls->why_not)
		snprintf(calls->why_not, sizeof(calls->why_not), "%s: %s", file, strerror(errno));
	if (fd >= 0)
		close(fd);
}

static uint32_t field_at(const struct live *l, const char *event, const char *field,
			 uint32_t usual)
{
	char path[64], wanted[64];
	const char *at;
	size_t len;
	char *text;

	snprintf(path, sizeof(path), "events/ftrace/%s/format", event);
	snprintf(wanted, sizeof(wanted), " %s;", field);
	text = kernel_read(kernel_events(&l->kernel), path, &len);
	at = text ? strstr(text, wanted) : NULL;
	at = at ? strstr(at, "offset:") : NULL;
	if (at)
		usual = (uint32_t)strtoul(at + strlen("offset:"), NULL, 10);
	free(text);
	return usual;
}

static void find_layout(struct live *l)
{
	l->calls.layout = (struct live_layout){
		.parent_ip = field_at(l, "function", "parent_ip", 16),
		.entry_depth = field_at(l, "funcgraph_entry", "depth", 16),
		.retval = field_at(l, "funcgraph_exit", "retval", 0),
		.exit_depth = field_at(l, "funcgraph_exit", "depth", 16),
		.overrun = field_at(l, "funcgraph_exit", "overrun", 20),
		.calltime = field_at(l, "funcgraph_exit", "calltime", 24),
		.rettime = field_at(l, "funcgraph_exit", "rettime", 32),
	};
}

/* ---- the list ---- */

/* Whether the functions in no module come first, in the order of their addresses. */
static bool is_in_order(const char *text, uint32_t *nr)
{
	uint64_t last = 0;

	*nr = 0;
	while (*text) {
		const char *end = text + strcspn(text, "\n");
		const uint64_t ip = strtoull(text, NULL, 16);

		if (memchr(text, '[', (size_t)(end - text)))
			return true;
		if (ip <= last)
			return false;
		last = ip;
		++*nr;
		text = end + (*end == '\n');
	}
	return true;
}

static int take_pages(struct live *l, const struct list_head *after)
{
	struct ftrace *ft = l->model->ftrace;
	struct live_calls *calls = &l->calls;
	struct ftrace_page *page;
	uint32_t nr = 0;

	for (const struct list_head *at = after->next; at != &ft->pages; at = at->next)
		nr++;
	calls->pages = calloc(nr + 1, sizeof(*calls->pages));
	if (!calls->pages)
		return -ENOMEM;
	for (struct list_head *at = after->next; at != &ft->pages; at = at->next) {
		page = list_entry(at, struct ftrace_page, node);
		if (!page->nr)
			continue;
		calls->pages[calls->nr_pages++] = (struct live_page){
			.page = page, .first = calls->nr_sites, .lo = page->sites[0].ip,
			.hi = page->sites[page->nr - 1].ip };
		calls->nr_sites += page->nr;
	}
	calls->words = calloc(calls->nr_sites + 1, sizeof(*calls->words));
	calls->new_words = calloc(calls->nr_sites + 1, sizeof(*calls->new_words));
	calls->chosen.sites = calloc(calls->nr_sites + 1, 1);
	calls->wanted.sites = calloc(calls->nr_sites + 1, 1);
	return calls->words && calls->new_words && calls->chosen.sites && calls->wanted.sites ?
		0 : -ENOMEM;
}

static int load_functions(struct live *l)
{
	struct live_calls *calls = &l->calls;
	const struct list_head *after = l->model->ftrace->pages.prev;
	uint32_t nr;
	size_t len;
	char *text = kernel_read(l->kernel.top, FUNCTIONS_LIST, &len);
	int err;

	if (!text)
		return -errno;
	calls->by_number = is_in_order(text, &nr);
	err = ftrace_sites_load(l->model, text, len);
	free(text);
	pthread_mutex_lock(&l->lock);
	if (!err)
		err = take_pages(l, after);
	pthread_mutex_unlock(&l->lock);
	if (err)
		return err;
	calls->by_number &= calls->nr_pages && !calls->pages[0].page->module &&
			    calls->pages[0].page->nr == nr;
	calls->loaded = true;
	live_functions_changed(l, NULL, 0);
	return 0;
}

/* The list is asked for once. If it cannot be had, the next command is for programs only. */
static int live_functions_load(void *arg)
{
	struct live *l = arg;
	struct live_calls *calls = &l->calls;
	const int err = load_functions(l);

	if (!err)
		return 0;
	snprintf(calls->why_not, sizeof(calls->why_not), "%s: %s", FUNCTIONS_LIST, strerror(-err));
	l->hooks.no_functions = calls->why_not;
	return err;
}

/* ---- words ---- */

static uint32_t new_word_of(struct ftrace *ft, const struct ftrace_site *site)
{
	return site->flags & FTRACE_SITE_ENABLED ? ftrace_groups_word(ft, site) : 0;
}

static void find_all_words(struct live *l)
{
	const struct live_calls *calls = &l->calls;

	for (uint32_t i = 0; i < calls->nr_pages; i++) {
		const struct live_page *p = &calls->pages[i];

		for (uint32_t k = 0; k < p->page->nr; k++) {
			live_functions_step(l, k);
			calls->new_words[p->first + k] =
				new_word_of(l->model->ftrace, &p->page->sites[k]);
		}
	}
}

static const struct live_page *page_of(const struct live_calls *calls,
				       const struct ftrace_page *page)
{
	for (uint32_t i = 0; i < calls->nr_pages; i++)
		if (calls->pages[i].page == page)
			return &calls->pages[i];
	return NULL;
}

/* Returns whether there are functions of the kernel in the list. */
static bool find_site_words(struct live *l, const struct ftrace_change *list, size_t nr)
{
	const struct ftrace_page *last = NULL;
	const struct live_page *p = NULL;
	bool any = false;

	for (size_t i = 0; i < nr; i++) {
		if (list[i].page != last)
			p = page_of(&l->calls, list[i].page);
		last = list[i].page;
		if (!p)
			continue;
		any = true;
		l->calls.new_words[p->first + (list[i].site - list[i].page->sites)] =
			new_word_of(l->model->ftrace, list[i].site);
	}
	return any;
}

static void put_words(struct live *l)
{
	struct session *s = l->model->session;
	const config_ref ref = l->model->ftrace->graph_config;
	const struct graph_config *config =
		ref ? session_config(s, ref, sizeof(*config)) : NULL;

	pthread_mutex_lock(&l->lock);
	memcpy(l->calls.words, l->calls.new_words, l->calls.nr_sites * sizeof(uint32_t));
	l->calls.config = config ? *config : (struct graph_config){ 0 };
	pthread_mutex_unlock(&l->lock);
}

/* A new group of functions publishes settings of the graph tracer: that comes here again. */
void live_functions_changed(void *arg, const struct ftrace_change *list, size_t nr)
{
	struct live *l = arg;
	struct live_calls *calls = &l->calls;
	bool any = true;

	calls->again = true;
	if (calls->busy || !calls->loaded || l->model->closing)
		return;
	calls->busy = true;
	calls->again = false;
	if (list)
		any = find_site_words(l, list, nr);
	else
		find_all_words(l);
	if (calls->again)
		find_all_words(l);
	if (any || calls->again) {
		put_words(l);
		calls->err = live_tracer_follow(l, list != NULL);
		if (list)
			l->model->ftrace->kernel_err = calls->err;
	}
	calls->busy = false;
}

/* ---- begin, end, and what there is to say ---- */

void live_functions_begin(struct live *l)
{
	struct live_calls *calls = &l->calls;
	struct ftrace *ft = ftrace_of(l->model);

	if (l->kernel.top < 0)
		snprintf(calls->why_not, sizeof(calls->why_not), "root has not lent them");
	else if (l->model->without_kernel_functions)
		snprintf(calls->why_not, sizeof(calls->why_not),
			 "--function and --graph are for programs");
	else
		find_tracers(l);
	if (!*calls->why_not)
		find_kernel_file(l, l->kernel.top, FUNCTIONS_LIST);
	if (!*calls->why_not)
		find_kernel_file(l, l->kernel.dir, "set_ftrace_filter");
	l->hooks.no_functions = *calls->why_not ? calls->why_not : NULL;
	if (l->hooks.no_functions || !ft)
		return;
	find_layout(l);
	live_tracer_restore(l);
	ft->load = live_functions_load;
	ft->load_arg = l;
	/* The session is restored, and its sets have functions of the kernel. */
	if (!list_empty(&ft->ops))
		calls->err = ftrace_need_sites(ft);
}

void live_functions_end(struct live *l)
{
	struct live_calls *calls = &l->calls;
	struct ftrace *ft = l->model->ftrace;

	if (ft && ft->load_arg == l) {
		ft->load = NULL;
		ft->load_arg = NULL;
	}
	live_calls_forget(calls);
	free(calls->tasks);
	free(calls->pages);
	free(calls->words);
	free(calls->new_words);
	free(calls->chosen.sites);
	free(calls->wanted.sites);
	free(calls->pids[0]);
	free(calls->pids[1]);
}

/* Whether an instance traces functions by ops of that kind. */
static bool is_asked(const struct live *l, bool graph)
{
	struct ftrace_ops *ops;

	if (l->model->ftrace)
		list_each(ops, &l->model->ftrace->ops, node)
			if (!live_ops_of_programs(ops) &&
			    (ops->kind == FTRACE_OPS_GRAPH) == graph)
				return true;
	return false;
}

/* The kernel takes the tracer nevertheless, and calls it for no function. */
static bool tracing_is_disabled(void)
{
	size_t len;
	char *text = kernel_read(AT_FDCWD, "/proc/sys/kernel/ftrace_enabled", &len);
	const bool disabled = text && *text == '0';

	free(text);
	return disabled;
}

void live_functions_print(struct live *l, FILE *out)
{
	const struct live_calls *calls = &l->calls;

	if (*calls->why_not) {
		fprintf(out, "kernel functions cannot be traced: %s\n", calls->why_not);
		if (is_asked(l, true) || is_asked(l, false))
			fprintf(out, "note functions of the kernel are not traced: %s\n",
				calls->why_not);
		return;
	}
	if (!calls->has_graph)
		fputs("kernel function_graph cannot be used in instances\n", out);
	if (!calls->has_graph && is_asked(l, true))
		fputs("note functions of the kernel are not in the graph: it has no "
		      "function_graph for instances\n", out);
	if (calls->tracer != LIVE_NOP)
		fprintf(out, "kernel tracer %s\nkernel functions %" PRIu32 "\n",
			live_tracer_names[calls->tracer], calls->chosen.nr);
	if (calls->lacks_stacks)
		fputs("note calls of the kernel's functions have no stacks while an instance has "
		      "function_graph\n", out);
	if (calls->no_stacks)
		fputs("note the kernel records no stacks: calls of its functions have none\n", out);
	if (calls->tracer != LIVE_NOP && tracing_is_disabled())
		fputs("lost calls of the kernel's functions: the sysctl kernel.ftrace_enabled is "
		      "0\n", out);
	if (calls->records)
		fprintf(out, "kernel calls %" PRIu64 "\n", calls->records);
	if (calls->unknown)
		fprintf(out, "lost %" PRIu64 " calls were of functions that came to the kernel "
			"after its list was read\n", calls->unknown);
	if (calls->deep)
		fprintf(out, "lost %" PRIu64 " calls of the kernel's functions were inside of more "
			"calls than the graph has place for\n", calls->deep);
	if (calls->err)
		fprintf(out, "note the kernel has refused to trace its functions: %s\n",
			strerror(-calls->err));
}
