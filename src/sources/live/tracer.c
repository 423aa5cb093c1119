/* SPDX-License-Identifier: MIT */
/*
 * tracer.c - the kernel's instance NAME-calls: its sets of functions, its tracer, pids, stacks
 *
 *     ops of the session  --union-->  set_ftrace_filter or _notrace
 *     their kinds         ---------->  current_tracer: function, function_graph
 *     plans with stacks   ---------->  options/func_stack_trace
 *
 * Another tracer needs another instance, because a tracer that begins or ends empties the buffers
 * and is not changed while they are read. The new instance is set up beside the present one, and
 * takes its place when the kernel has accepted all. A change that the kernel refuses leaves the
 * calls of all other instances of the session as they are.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/errlog.h"
#include "model/ftrace/groups.h"
#include "model/instance/options.h"
#include "model/instance/pids.h"
#include "model/text_memory.h"
#include "plane/plan.h"
#include "sources/live/state.h"

#define STACK_OPTION "options/func_stack_trace"

enum { TRACER_WORD = 1024 };

const char *const live_tracer_names[] = {
	[LIVE_NOP] = "nop", [LIVE_FUNCTION] = "function", [LIVE_GRAPH] = "function_graph",
};

/* ---- which functions the kernel has to record ---- */

void live_functions_step(const struct live *l, uint32_t i)
{
	enum { OFTEN = 256 };

	if (i % OFTEN == 0)
		model_step(l->model);
}

/* A kernel may have no function_graph for instances. */
static bool ops_reach_kernel(const struct live *l, const struct ftrace_ops *ops)
{
	if (live_ops_of_programs(ops))
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

/* Fills in `wanted`. Returns how many sites differ from those that the kernel has. */
static uint32_t choose_sites(struct live *l, enum live_tracer *tracer)
{
	struct live_calls *calls = &l->calls;
	const bool all = all_ops_reach(l, tracer);
	uint32_t changes = 0;

	calls->wanted.nr = 0;
	for (uint32_t i = 0; i < calls->nr_pages; i++) {
		const struct live_page *p = &calls->pages[i];

		for (uint32_t k = 0; k < p->page->nr; k++) {
			const bool is = site_is_chosen(l, &p->page->sites[k], all);

			live_functions_step(l, k);
			changes += is != calls->chosen.sites[p->first + k];
			calls->wanted.sites[p->first + k] = is;
			calls->wanted.nr += is;
		}
	}
	if (!calls->wanted.nr)
		*tracer = LIVE_NOP;
	return changes;
}

/* The kernel has accepted what was wanted. */
static void keep_choice(struct live_calls *calls)
{
	const struct live_choice old = calls->chosen;

	calls->chosen = calls->wanted;
	calls->wanted = old;
}

/* ---- sets of the kernel's instance ---- */

static int write_word(int fd, const char *word)
{
	const size_t len = strlen(word);
	const ssize_t n = write(fd, word, len);

	return n == (ssize_t)len ? 0 : n < 0 ? -errno : -EIO;
}

/* Sites of a choice, or those that are not in it. */
struct listed {
	const struct live_calls	*calls;
	const struct live_choice *of;
	bool			chosen;
};

static bool is_listed(const struct listed *list, const struct live_page *p, uint32_t i)
{
	return list->of->sites[p->first + i] == list->chosen;
}

static bool whole_page(const struct listed *list, const struct live_page *p)
{
	bool all = true;

	for (uint32_t i = 0; all && i < p->page->nr; i++)
		all = is_listed(list, p, i);
	return all;
}

static void site_word(const struct live_calls *calls, const struct live_page *p, uint32_t i,
		      char word[TRACER_WORD])
{
	const char *name = ftrace_site_name(p->page, &p->page->sites[i]);

	if (p->page->module)
		snprintf(word, TRACER_WORD, "%s:mod:%s\n", name, p->page->module);
	else if (calls->by_number)
		snprintf(word, TRACER_WORD, "%" PRIu32 "\n", i + 1);
	else
		snprintf(word, TRACER_WORD, "%s\n", name);
}

static int write_page(const struct live *l, const struct listed *list, const struct live_page *p,
		      int fd)
{
	char word[TRACER_WORD];
	int err = 0;

	if (p->page->module && whole_page(list, p)) {
		snprintf(word, sizeof(word), "*:mod:%s\n", p->page->module);
		return write_word(fd, word);
	}
	for (uint32_t i = 0; !err && i < p->page->nr; i++) {
		live_functions_step(l, i);
		if (!is_listed(list, p, i))
			continue;
		site_word(list->calls, p, i, word);
		err = write_word(fd, word);
	}
	return err;
}

/* The set is put in place when the file is closed. list NULL: it is empty. */
static int write_set(const struct live *l, int dir, const char *file, const struct listed *list)
{
	const struct live_calls *calls = &l->calls;
	const int fd = openat(dir, file, O_WRONLY | O_TRUNC | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	for (uint32_t i = 0; list && !err && i < calls->nr_pages; i++)
		err = write_page(l, list, &calls->pages[i], fd);
	close(fd);
	return err;
}

/* The shorter list. In between, the kernel records too few rather than too many. */
static int write_sets(const struct live *l, int dir, const struct live_choice *choice)
{
	const uint32_t others = l->calls.nr_sites - choice->nr;
	const bool chosen = choice->nr <= others;
	const struct listed list = { &l->calls, choice, chosen };
	int err;

	if (chosen) {
		err = write_set(l, dir, "set_ftrace_filter", &list);
		return err ? err : write_set(l, dir, "set_ftrace_notrace", NULL);
	}
	err = write_set(l, dir, "set_ftrace_notrace", others ? &list : NULL);
	return err ? err : write_set(l, dir, "set_ftrace_filter", NULL);
}

/* ---- stacks ---- */

static bool word_wants_stack(const struct live *l, uint32_t word)
{
	const uint32_t entry = (word & SITE_GROUP) + GROUP_FUNCTION;
	/* Relaxed: only the server, which this is, publishes plans. */
	const config_ref ref = word & SITE_GROUP ?
		atomic_load_explicit(&plane_event(l->plane, entry)->plan, memory_order_relaxed) : 0;
	const struct plan *plan =
		ref ? session_config(l->model->session, ref, sizeof(*plan)) : NULL;

	return plan && plan->wants & PLAN_WANTS_STACK;
}

/* Whether an instance, a command or a trigger wants stacks of calls of the kernel's functions. */
static bool stacks_are_wanted(const struct live *l)
{
	const struct live_calls *calls = &l->calls;
	uint32_t last = 0;

	for (uint32_t i = 0; i < calls->nr_sites; i++) {
		/* Neighbours mostly have the same word. */
		if (calls->words[i] == last)
			continue;
		last = calls->words[i];
		if (word_wants_stack(l, last))
			return true;
	}
	return false;
}

static bool stack_option(int dir)
{
	size_t len;
	char *text = kernel_read(dir, STACK_OPTION, &len);
	const bool on = text && *text == '1';

	free(text);
	return on;
}

/*
 * In many kernels the option is one for all instances, and each function tracer keeps what it was
 * given when the option was written in its own instance. A value that the option has already
 * changes nothing. It is set there, then set back through the instance for events, which has no
 * tracer.
 */
static int write_stack_option(struct live *l, bool wanted)
{
	const bool had = stack_option(l->kernel.dir);
	int err = 0;

	l->book->stack_option = had ? LIVE_OPTION_ON : LIVE_OPTION_OFF;
	if (had == wanted)
		err = kernel_write(l->kernel.dir, STACK_OPTION, wanted ? "0" : "1");
	if (!err)
		err = kernel_write(l->kernel.calls, STACK_OPTION, wanted ? "1" : "0");
	(void)kernel_write(l->kernel.dir, STACK_OPTION, had ? "1" : "0");
	l->book->stack_option = LIVE_OPTION_KNOWN;
	return err;
}

/* The records that come before the change are passed as they were. */
static void set_stacks(struct live *l, bool wanted)
{
	struct live_calls *calls = &l->calls;

	calls->no_stacks &= wanted;
	if (wanted == calls->stacks || calls->no_stacks)
		return;
	pthread_mutex_lock(&l->lock);
	live_round(l);
	calls->no_stacks = write_stack_option(l, wanted) != 0;
	calls->stacks = wanted && !calls->no_stacks;
	pthread_mutex_unlock(&l->lock);
}

void live_tracer_restore(struct live *l)
{
	if (l->book->stack_option)
		(void)kernel_write(l->kernel.dir, STACK_OPTION,
				   l->book->stack_option == LIVE_OPTION_ON ? "1" : "0");
	l->book->stack_option = LIVE_OPTION_KNOWN;
}

/* The kernel's function_graph has no stacks. */
static bool lacks_stacks(const struct live *l, enum live_tracer tracer)
{
	return tracer == LIVE_GRAPH && stacks_are_wanted(l);
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
	live_clock_watch(l, LIVE_CALLS, -1);
	live_calls_forget(&l->calls);
}

/* What the instance has recorded is taken in. The caller removes it. */
static void end_tracer(struct live *l)
{
	struct live_calls *calls = &l->calls;

	if (l->kernel.calls < 0)
		return;
	(void)switch_on(l, false);
	pthread_mutex_lock(&l->lock);
	live_round(l);
	close_cursors(l);
	calls->stacks = false;
	pthread_mutex_unlock(&l->lock);
	/* The thread may wait for them still. */
	live_run_wake(l);
	for (int i = 0; i < 2; i++) {
		free(calls->pids[i]);
		calls->pids[i] = NULL;
	}
	if (calls->tracer != LIVE_NOP)
		live_arm_calls(l, false);
	calls->tracer = LIVE_NOP;
}

static void stop_tracer(struct live *l)
{
	end_tracer(l);
	kernel_close_calls(&l->kernel);
	live_book_name(l, LIVE_CALLS, "");
}

static int clear_file(int dir, const char *file)
{
	const int fd = openat(dir, file, O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? -errno : 0;
}

/* It may be the last one of its name, which could not be removed, with its pids. */
static int set_up_calls(const struct live *l, int dir)
{
	int err = kernel_write(dir, "tracing_on", "0");

	if (!err)
		err = clear_file(dir, "set_ftrace_pid");
	if (!err)
		err = clear_file(dir, "set_ftrace_notrace_pid");
	if (!err)
		err = live_set_buffers(dir);
	if (!err)
		err = kernel_write(dir, "trace_clock", live_clock_name(&l->clock));
	return err;
}

/* Returns the descriptor of an instance with the tracer, which records nothing yet; -errno */
static int prepare_tracer(const struct live *l, enum live_tracer tracer)
{
	const int dir = kernel_make_calls(&l->kernel);
	int err = dir < 0 ? dir : set_up_calls(l, dir);

	if (!err)
		err = write_sets(l, dir, &l->calls.wanted);
	if (!err)
		err = kernel_write(dir, "current_tracer", live_tracer_names[tracer]);
	if (err && dir >= 0)
		kernel_discard_calls(&l->kernel, dir);
	return err ? err : dir;
}

static int begin_tracer(struct live *l, enum live_tracer tracer)
{
	int err;

	live_book_name(l, LIVE_CALLS, kernel_calls_name(&l->kernel).text);
	pthread_mutex_lock(&l->lock);
	err = live_open_cpus(l, l->kernel.calls, l->nr_cpus);
	live_clock_watch(l, LIVE_CALLS, l->kernel.calls);
	/* A function tracer begins with what the option is for all. */
	l->calls.stacks = tracer == LIVE_FUNCTION && stack_option(l->kernel.calls);
	pthread_mutex_unlock(&l->lock);
	if (!err)
		err = switch_on(l, true);
	if (err) {
		stop_tracer(l);
		return err;
	}
	l->calls.tracer = tracer;
	live_arm_calls(l, true);
	return 0;
}

static int change_tracer(struct live *l, enum live_tracer tracer)
{
	const int dir = prepare_tracer(l, tracer);

	if (dir < 0)
		return dir;
	end_tracer(l);
	kernel_take_calls(&l->kernel, dir);
	keep_choice(&l->calls);
	return begin_tracer(l, tracer);
}

/* What was refused may be in place in part: the old sets are written again. */
static int change_sets(struct live *l)
{
	struct live_calls *calls = &l->calls;
	const int err = write_sets(l, l->kernel.calls, &calls->wanted);

	if (!err)
		keep_choice(calls);
	else if (write_sets(l, l->kernel.calls, &calls->chosen))
		stop_tracer(l);
	return err;
}

static int refuse_graph(struct live *l)
{
	errlog_add(l->model->top->errlog, "ftrace", "function_graph",
		   "The kernel's function_graph has no stacks: func_stack_trace, "
		   "FUNCTION:stacktrace or a trigger on ftrace:function asks for them", 0);
	return -EBUSY;
}

/*
 * One command may come here several times, and its error is known at the last time. What cannot
 * have stacks is deferred until then, so that a refusal changes no tracer.
 */
int live_tracer_follow(struct live *l, bool told)
{
	struct live_calls *calls = &l->calls;
	enum live_tracer tracer;
	const uint32_t changes = choose_sites(l, &tracer);
	const bool lacks = lacks_stacks(l, tracer);

	calls->deferred = lacks && !calls->lacks_stacks;
	if (calls->deferred)
		return told ? refuse_graph(l) : 0;
	calls->lacks_stacks = lacks;
	if (tracer == LIVE_NOP)
		stop_tracer(l);
	else if (tracer != calls->tracer)
		return change_tracer(l, tracer);
	else if (changes)
		return change_sets(l);
	return 0;
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

static void put_all_pids(struct live *l, struct instance *inst)
{
	char **pids = l->calls.pids;

	/* Tasks join the session's sets, which the kernel would not know. */
	if (inst && options_test(inst->options, OPTION_FUNCTION_FORK))
		inst = NULL;
	put_pids(l, inst && inst->func_pids ? inst : NULL, PIDS_FUNCTION, "set_ftrace_pid",
		 &pids[0]);
	put_pids(l, inst && inst->no_func_pids ? inst : NULL, PIDS_NO_FUNCTION,
		 "set_ftrace_notrace_pid", &pids[1]);
}

/* Nobody has refused it: calls are without stacks, and that is said. */
static void follow_deferred(struct live *l)
{
	struct live_calls *calls = &l->calls;

	if (!calls->deferred)
		return;
	calls->lacks_stacks = true;
	calls->err = live_tracer_follow(l, false);
}

void live_functions_settle(struct live *l)
{
	struct live_calls *calls = &l->calls;
	struct instance *inst;
	bool on;

	follow_deferred(l);
	if (calls->tracer == LIVE_NOP)
		return;
	if (calls->tracer == LIVE_FUNCTION)
		set_stacks(l, stacks_are_wanted(l));
	inst = calls_instance(l, &on);
	put_all_pids(l, inst);
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
