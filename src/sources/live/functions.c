/* SPDX-License-Identifier: MIT */
/*
 * functions.c - functions of the running kernel: which ones it traces, and by which tracer
 *
 *     available_filter_functions_addrs  --at the first use-->  sites of the model, as a program's
 *     ops and sets of the session       --words-->             calls.c: what a record of one does
 *                                       --their union-->       set_ftrace_filter or _notrace and
 *                                                              current_tracer of the instance
 *                                                              NAME-calls
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

enum { FUNCTIONS_WORD = 1024 };

static const char *const live_tracers[] = {
	[LIVE_NOP] = "nop", [LIVE_FUNCTION] = "function", [LIVE_GRAPH] = "function_graph",
};

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

	if (!text || !names_one(text, live_tracers[LIVE_FUNCTION]))
		snprintf(calls->why_not, sizeof(calls->why_not), "it has no tracer function");
	calls->has_graph = text && names_one(text, live_tracers[LIVE_GRAPH]);
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
	calls->chosen = calloc(calls->nr_sites + 1, 1);
	return calls->words && calls->new_words && calls->chosen ? 0 : -ENOMEM;
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

/* ---- which functions the kernel has to record ---- */

/* Called for each function: programs that wait see that the server is at work. */
static void functions_step(const struct live *l, uint32_t i)
{
	enum { OFTEN = 256 };

	if (i % OFTEN == 0)
		model_step(l->model);
}

/*
 * A latency tracer's functions, the profile's and the stack tracer's are those of programs.
 */
static bool is_of_programs(const struct ftrace_ops *ops)
{
	return ops->section || ops->kind == FTRACE_OPS_PROFILE || ops->kind == FTRACE_OPS_STACK;
}

/* A kernel may have no function_graph for instances. */
static bool ops_reach_kernel(const struct live *l, const struct ftrace_ops *ops)
{
	if (is_of_programs(ops))
		return false;
	return ops->kind != FTRACE_OPS_GRAPH || l->calls.has_graph;
}

static bool all_ops_reach(const struct live *l, enum live_tracer *tracer)
{
	struct ftrace_ops *ops;
	bool all = true;

	*tracer = LIVE_FUNCTION;
	list_each(ops, &l->model->ftrace->ops, node) {
		const bool reaches = ops_reach_kernel(l, ops);

		all &= reaches;
		if (reaches && ops->kind == FTRACE_OPS_GRAPH)
			*tracer = LIVE_GRAPH;
	}
	return all;
}

static bool site_is_chosen(const struct live *l, const struct ftrace_site *site, bool all)
{
	struct ftrace_ops *ops[LAYOUT_MAX_INSTANCES];
	size_t nr;

	if (all || !(site->flags & FTRACE_SITE_ENABLED))
		return site->flags & FTRACE_SITE_ENABLED;
	nr = ftrace_site_ops(l->model->ftrace, site->ip, ops, LAYOUT_MAX_INSTANCES);
	for (size_t i = 0; i < nr && i < LAYOUT_MAX_INSTANCES; i++)
		if (ops_reach_kernel(l, ops[i]))
			return true;
	return false;
}

/* Fills in `chosen`. Returns how many sites have changed. */
static uint32_t choose_sites(struct live *l, enum live_tracer *tracer)
{
	struct live_calls *calls = &l->calls;
	const bool all = all_ops_reach(l, tracer);
	uint32_t changes = 0;

	calls->nr_chosen = 0;
	for (uint32_t i = 0; i < calls->nr_pages; i++) {
		const struct live_page *p = &calls->pages[i];

		for (uint32_t k = 0; k < p->page->nr; k++) {
			const bool is = site_is_chosen(l, &p->page->sites[k], all);

			functions_step(l, k);
			changes += is != calls->chosen[p->first + k];
			calls->chosen[p->first + k] = is;
			calls->nr_chosen += is;
		}
	}
	if (!calls->nr_chosen)
		*tracer = LIVE_NOP;
	return changes;
}

/* ---- sets of the kernel's instance ---- */

static int write_word(int fd, const char *word)
{
	const size_t len = strlen(word);
	const ssize_t n = write(fd, word, len);

	return n == (ssize_t)len ? 0 : n < 0 ? -errno : -EIO;
}

/* How many sites of a page are, or are not, chosen. */
static uint32_t page_count(const struct live_calls *calls, const struct live_page *p, bool chosen)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < p->page->nr; i++)
		nr += calls->chosen[p->first + i] == chosen;
	return nr;
}

static void site_word(const struct live_calls *calls, const struct live_page *p, uint32_t i,
		      char word[FUNCTIONS_WORD])
{
	const char *name = ftrace_site_name(p->page, &p->page->sites[i]);

	if (p->page->module)
		snprintf(word, FUNCTIONS_WORD, "%s:mod:%s\n", name, p->page->module);
	else if (calls->by_number)
		snprintf(word, FUNCTIONS_WORD, "%" PRIu32 "\n", i + 1);
	else
		snprintf(word, FUNCTIONS_WORD, "%s\n", name);
}

static int write_page(const struct live *l, const struct live_page *p, int fd, bool chosen)
{
	const struct live_calls *calls = &l->calls;
	char word[FUNCTIONS_WORD];
	int err = 0;

	if (p->page->module && page_count(calls, p, chosen) == p->page->nr) {
		snprintf(word, sizeof(word), "*:mod:%s\n", p->page->module);
		return write_word(fd, word);
	}
	for (uint32_t i = 0; !err && i < p->page->nr; i++) {
		functions_step(l, i);
		if (calls->chosen[p->first + i] != chosen)
			continue;
		site_word(calls, p, i, word);
		err = write_word(fd, word);
	}
	return err;
}

/* The set is put in place when the file is closed. `any`: else it is empty. */
static int write_set(const struct live *l, const char *file, bool any, bool chosen)
{
	const struct live_calls *calls = &l->calls;
	const int fd = openat(l->kernel.calls, file, O_WRONLY | O_TRUNC | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	for (uint32_t i = 0; any && !err && i < calls->nr_pages; i++)
		err = write_page(l, &calls->pages[i], fd, chosen);
	close(fd);
	return err;
}

/* The shorter list. In between, the kernel records too few rather than too many. */
static int write_sets(const struct live *l)
{
	const uint32_t nr = l->calls.nr_chosen, others = l->calls.nr_sites - nr;
	int err;

	if (nr <= others) {
		err = write_set(l, "set_ftrace_filter", true, true);
		return err ? err : write_set(l, "set_ftrace_notrace", false, false);
	}
	err = write_set(l, "set_ftrace_notrace", others, false);
	return err ? err : write_set(l, "set_ftrace_filter", false, true);
}

/* ---- its tracer ---- */

static int switch_on(struct live *l, bool on)
{
	l->calls.on = on;
	return kernel_write(l->kernel.calls, "tracing_on", on ? "1" : "0");
}

/* The kernel changes no tracer while a file with the records is open. */
static void close_cursors(struct live *l)
{
	for (uint32_t i = l->nr_cpus; i < l->nr_cursors; i++)
		live_cpu_close(&l->cpus[i]);
	live_calls_forget(&l->calls);
}

/* The instance goes. What it has recorded is taken in before. */
static void stop_tracer(struct live *l)
{
	struct live_calls *calls = &l->calls;

	if (l->kernel.calls < 0)
		return;
	(void)switch_on(l, false);
	pthread_mutex_lock(&l->lock);
	live_round(l);
	close_cursors(l);
	pthread_mutex_unlock(&l->lock);
	/* The thread may wait for them still. */
	live_run_wake(l);
	kernel_close_calls(&l->kernel);
	for (int i = 0; i < 2; i++) {
		free(calls->pids[i]);
		calls->pids[i] = NULL;
	}
	if (calls->tracer != LIVE_NOP)
		live_arm_calls(l, false);
	calls->tracer = LIVE_NOP;
}

static int clear_file(int dir, const char *file)
{
	const int fd = openat(dir, file, O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? -errno : 0;
}

/* It may be the last one, which could not be removed, with its pids. */
static int open_calls(struct live *l)
{
	int err = kernel_open_calls(&l->kernel);

	if (!err)
		err = switch_on(l, false);
	if (!err)
		err = clear_file(l->kernel.calls, "set_ftrace_pid");
	if (!err)
		err = clear_file(l->kernel.calls, "set_ftrace_notrace_pid");
	if (!err)
		err = live_set_buffers(l->kernel.calls);
	if (!err)
		err = kernel_write(l->kernel.calls, "trace_clock",
				   l->clock.counter ? "x86-tsc" : "mono");
	return err;
}

static int start_tracer(struct live *l, enum live_tracer tracer)
{
	int err = kernel_write(l->kernel.calls, "current_tracer", live_tracers[tracer]);

	if (err)
		return err;
	pthread_mutex_lock(&l->lock);
	err = live_open_cpus(l, l->kernel.calls, l->nr_cpus);
	pthread_mutex_unlock(&l->lock);
	if (!err)
		err = switch_on(l, true);
	if (err)
		return err;
	l->calls.tracer = tracer;
	live_arm_calls(l, true);
	return 0;
}

static int follow_ops(struct live *l)
{
	struct live_calls *calls = &l->calls;
	enum live_tracer tracer;
	const uint32_t changes = choose_sites(l, &tracer);
	int err;

	if (tracer != calls->tracer)
		stop_tracer(l);
	if (tracer == LIVE_NOP || (tracer == calls->tracer && !changes))
		return 0;
	err = l->kernel.calls < 0 ? open_calls(l) : 0;
	if (!err)
		err = write_sets(l);
	if (!err && tracer != calls->tracer)
		err = start_tracer(l, tracer);
	if (err) {
		stop_tracer(l);
		/* Whatever is wanted next is a change. */
		memset(calls->chosen, 2, calls->nr_sites);
	}
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
			functions_step(l, k);
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
		calls->err = follow_ops(l);
		if (list)
			l->model->ftrace->kernel_err = calls->err;
	}
	calls->busy = false;
}

/* ---- at the end of a command ---- */

/*
 * The one instance whose pids decide which calls are needed. NULL: there are several, or none:
 * function commands take calls of all tasks. *on: somebody takes calls now.
 */
static struct instance *calls_instance(const struct live *l, bool *on)
{
	struct instance *only = NULL;
	struct ftrace_ops *ops;
	bool several = false;

	*on = false;
	list_each(ops, &l->model->ftrace->ops, node) {
		if (!ops_reach_kernel(l, ops))
			continue;
		several |= ops->kind == FTRACE_OPS_COMMAND || (only && only != ops->inst);
		only = ops->inst;
		/*
		 * Relaxed: a hit may change it at any time. Commands and triggers take all calls.
		 */
		*on |= (ops->kind != FTRACE_OPS_FUNCTION && ops->kind != FTRACE_OPS_GRAPH) ||
		       atomic_load_explicit(&ops->inst->state->tracing_on, memory_order_relaxed);
	}
	return several ? NULL : only;
}

/* Without it the session leaves calls of other tasks out, and the kernel records more. */
static void put_pids(struct live *l, struct instance *inst, enum pids_kind kind, const char *file,
		     char **had)
{
	char *text = NULL;
	size_t len;
	FILE *out = inst ? text_memory_open(&text, &len) : NULL;
	int fd;

	if (out) {
		pids_print(inst, kind, out);
		fclose(out);
	}
	if ((!text && !*had) || (text && *had && !strcmp(text, *had))) {
		free(text);
		return;
	}
	fd = openat(l->kernel.calls, file, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd >= 0 && text)
		(void)write_word(fd, text);
	if (fd >= 0)
		close(fd);
	free(*had);
	*had = text;
}

void live_functions_settle(struct live *l)
{
	struct live_calls *calls = &l->calls;
	struct instance *inst;
	bool on;

	if (calls->tracer == LIVE_NOP)
		return;
	inst = calls_instance(l, &on);
	/* Tasks join the session's sets, which the kernel would not know. */
	if (inst && options_test(inst->options, OPTION_FUNCTION_FORK))
		inst = NULL;
	put_pids(l, inst && inst->func_pids ? inst : NULL, PIDS_FUNCTION, "set_ftrace_pid",
		 &calls->pids[0]);
	put_pids(l, inst && inst->no_func_pids ? inst : NULL, PIDS_NO_FUNCTION,
		 "set_ftrace_notrace_pid", &calls->pids[1]);
	if (on == calls->on)
		return;
	if (on) {
		pthread_mutex_lock(&l->lock);
		live_round(l);
		live_calls_forget(calls);
		pthread_mutex_unlock(&l->lock);
	}
	(void)switch_on(l, on);
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
	free(calls->chosen);
	free(calls->pids[0]);
	free(calls->pids[1]);
}

/* Whether an instance traces functions by ops of that kind. */
static bool is_asked(const struct live *l, bool graph)
{
	struct ftrace_ops *ops;

	if (l->model->ftrace)
		list_each(ops, &l->model->ftrace->ops, node)
			if (!is_of_programs(ops) &&
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
			live_tracers[calls->tracer], calls->nr_chosen);
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
