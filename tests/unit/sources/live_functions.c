/* SPDX-License-Identifier: MIT */
/*
 * live_functions.c - functions of a kernel whose tracing directory is a folder: what is written to
 * it, what becomes of records, and what is said of a kernel that has less
 */
#include "live_fixture.h"
#include "../ring_nth.h"
#include "model/errlog.h"
#include "model/instance/options.h"
#include "model/instance/pids.h"
#include "model/tracer.h"

#define LIST "available_filter_functions_addrs"
#define CALLS "instances/here-calls"

enum {
	ALPHA = 0xffffffff81000010u, BETA = 0xffffffff81000100u, GAMMA = 0xffffffff81000200u,
	MAX = 0xffffffffc0000020u,
};

static const char functions[] =
	"ffffffff81000010 alpha\n"
	"ffffffff81000100 beta\n"
	"ffffffff81000200 gamma\n"
	"ffffffffc0000020 max [mod]\n"
	"ffffffffc0000040 max_more [mod]\n";

static void put_text(const struct fixture *f, const char *path, const char *text)
{
	put(f, path, text, strlen(text));
}

static void put_kernel(const struct fixture *f, const char *tracers)
{
	static const char *const files[] = {
		"current_tracer", "set_ftrace_filter", "set_ftrace_notrace", "set_ftrace_pid",
		"set_ftrace_notrace_pid", "tracing_on", "trace_clock", "buffer_size_kb",
	};
	char path[128];

	put_text(f, "available_tracers", tracers);
	put_text(f, "set_ftrace_filter", "");
	put_text(f, "trace_clock", "[local] mono");
	put_text(f, LIST, functions);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), CALLS "/%s", files[i]);
		put_text(f, path, "");
	}
	put_text(f, CALLS "/per_cpu/cpu0/trace_pipe_raw", "");
}

static void begin(struct fixture *f)
{
	struct live *l = f->live;

	snprintf(l->kernel.name, sizeof(l->kernel.name), "here");
	assert_int_equal(live_clock_choose(l), 0);
	l->cpus = calloc(2 * f->model->nr_cpus, sizeof(*l->cpus));
	l->nr_cpus = l->nr_cursors = f->model->nr_cpus;
	for (uint32_t i = 0; i < 2 * l->nr_cpus; i++)
		l->cpus[i].fd = l->cpus[i].stats = -1;
	f->model->source_bytes = calloc(f->model->nr_cpus, sizeof(*f->model->source_bytes));
	assert_int_equal(model_source_rings(f->model), 0);
	l->plane = session_plane(f->session);
	l->slot = session_slot_get(f->session);
	l->hooks = (struct kernel_hooks){ .arg = l, .functions = live_functions_changed,
		.need = live_arm_need, .watch = live_arm_watch };
	f->model->kernel = &l->hooks;
	live_functions_begin(l);
}

static void end(struct fixture *f)
{
	f->model->kernel = NULL;
	live_functions_end(f->live);
	for (uint32_t i = 0; i < f->live->nr_cursors; i++)
		live_cpu_close(&f->live->cpus[i]);
	free(f->live->cpus);
	free(f->model->source_bytes);
	f->model->source_bytes = NULL;
	kernel_close_calls(&f->live->kernel);
}

static int write_file(struct fixture *f, enum ftrace_file file, const char *word, bool truncate)
{
	struct ftrace_edit *e = ftrace_edit_open(f->model->top, file, truncate);

	assert_non_null(e);
	ftrace_edit_write(e, word, strlen(word), false);
	return ftrace_edit_close(e);
}

static bool error_log_has(const struct fixture *f, const char *needle)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool found;

	errlog_print(f->model->top->errlog, out);
	fclose(out);
	found = strstr(text, needle);
	free(text);
	return found;
}

static bool print_has(const struct fixture *f, const char *needle)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool found;

	live_functions_print(f->live, out);
	fclose(out);
	found = strstr(text, needle);
	free(text);
	return found;
}

/* ---- what the kernel is told ---- */

static void the_kernel_gets_the_union_of_what_is_wanted(void **state)
{
	struct fixture *f = *state;

	put_kernel(f, "function_graph function nop\n");
	begin(f);
	assert_false(f->live->calls.loaded);
	assert_int_equal(write_file(f, FTRACE_FILE_FILTER, "beta", true), 0);
	assert_true(f->live->calls.loaded);
	text_is(f, CALLS "/current_tracer", "");
	assert_int_equal(tracer_choose(f->model->top, "function"), 0);
	/* By its number, and of a module by its name. */
	text_is(f, CALLS "/set_ftrace_filter", "2\n");
	text_is(f, CALLS "/set_ftrace_notrace", "");
	text_is(f, CALLS "/current_tracer", "function");
	text_is(f, CALLS "/tracing_on", "1");
	text_is(f, CALLS "/trace_clock", f->live->clock.counter ? "x86-tsc" : "mono");
	assert_int_equal(write_file(f, FTRACE_FILE_FILTER, "max", false), 0);
	text_is(f, CALLS "/set_ftrace_filter", "2\nmax:mod:mod\n");
	assert_int_equal(write_file(f, FTRACE_FILE_FILTER, "max*", false), 0);
	text_is(f, CALLS "/set_ftrace_notrace", "1\n3\n");
	text_is(f, CALLS "/set_ftrace_filter", "");
	assert_int_equal(write_file(f, FTRACE_FILE_FILTER, "!beta", false), 0);
	text_is(f, CALLS "/set_ftrace_filter", "*:mod:mod\n");
	/* No function of the kernel is left, but one of nobody's. */
	assert_int_equal(tracer_choose(f->model->top, "nop"), 0);
	assert_int_equal(f->live->calls.tracer, LIVE_NOP);
	assert_int_equal(f->live->nr_armed, 0);
	end(f);
}

static void pids_and_tracing_on_follow(void **state)
{
	struct fixture *f = *state;

	put_kernel(f, "function nop\n");
	begin(f);
	assert_int_equal(tracer_choose(f->model->top, "function"), 0);
	assert_int_equal(pids_write(f->model->top, PIDS_FUNCTION, "17 4", 4), 4);
	live_functions_settle(f->live);
	text_is(f, CALLS "/set_ftrace_pid", "4\n17\n");
	pids_clear(f->model->top, PIDS_FUNCTION);
	live_functions_settle(f->live);
	text_is(f, CALLS "/set_ftrace_pid", "");
	/* A function command is for calls of all tasks. */
	assert_int_equal(pids_write(f->model->top, PIDS_FUNCTION, "17", 2), 2);
	live_functions_settle(f->live);
	text_is(f, CALLS "/set_ftrace_pid", "17\n");
	assert_int_equal(write_file(f, FTRACE_FILE_FILTER, "beta:traceoff", false), 0);
	live_functions_settle(f->live);
	text_is(f, CALLS "/set_ftrace_pid", "");
	assert_int_equal(write_file(f, FTRACE_FILE_FILTER, "!beta:traceoff", false), 0);
	live_functions_settle(f->live);
	text_is(f, CALLS "/set_ftrace_pid", "17\n");
	pids_clear(f->model->top, PIDS_FUNCTION);
	live_functions_settle(f->live);
	atomic_store(&f->model->top->state->tracing_on, 0);
	live_functions_settle(f->live);
	text_is(f, CALLS "/tracing_on", "0");
	atomic_store(&f->model->top->state->tracing_on, 1);
	live_functions_settle(f->live);
	text_is(f, CALLS "/tracing_on", "1");
	/* Another process switches it off. */
	put_text(f, "tracing_on", "1");
	put_text(f, CALLS "/tracing_on", "0");
	live_check(f->live);
	assert_int_equal(f->live->nr_changed, 1);
	text_is(f, CALLS "/tracing_on", "1");
	end(f);
}

/* Somebody had a file of the last one open, and the top instance's options are as they are. */
static void an_instance_that_was_there_is_set_up(void **state)
{
	struct fixture *f = *state;

	put_kernel(f, "function nop\n");
	put_text(f, CALLS "/set_ftrace_pid", "17\n");
	put_text(f, CALLS "/set_ftrace_notrace_pid", "18\n");
	put_text(f, CALLS "/set_ftrace_notrace", "*\n");
	put_text(f, CALLS "/options/overwrite", "0");
	begin(f);
	assert_int_equal(tracer_choose(f->model->top, "function"), 0);
	text_is(f, CALLS "/set_ftrace_pid", "");
	text_is(f, CALLS "/set_ftrace_notrace_pid", "");
	text_is(f, CALLS "/set_ftrace_notrace", "");
	text_is(f, CALLS "/options/overwrite", "1");
	put_text(f, CALLS "/current_tracer", "");
	assert_int_equal(tracer_choose(f->model->top, "nop"), 0);
	text_is(f, CALLS "/current_tracer", "nop");
	end(f);
}

/* What ends is not refused, nor is the next command because of it. */
static void a_refusal_is_told_to_its_own_command(void **state)
{
	struct fixture *f = *state;
	char path[256];

	put_kernel(f, "function nop\n");
	begin(f);
	assert_int_equal(write_file(f, FTRACE_FILE_FILTER, "gamma", true), 0);
	assert_int_equal(write_file(f, FTRACE_FILE_FILTER, "beta:traceoff", false), 0);
	assert_int_equal(tracer_choose(f->model->top, "function"), 0);
	snprintf(path, sizeof(path), "%s/%s", f->dir, CALLS "/set_ftrace_notrace");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(tracer_choose(f->model->top, "nop"), 0);
	assert_int_equal(write_file(f, FTRACE_FILE_FILTER, "alpha", true), 0);
	assert_true(ftrace_hash_has(f->model->top->ftrace->hashes.filter, ALPHA));
	end(f);
}

/* The command fails, and what was there before holds. */
static void what_the_kernel_refuses_is_refused(void **state)
{
	struct fixture *f = *state;
	char path[256];

	put_kernel(f, "function nop\n");
	begin(f);
	snprintf(path, sizeof(path), "%s/%s", f->dir, CALLS "/current_tracer");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(tracer_choose(f->model->top, "function"), -ENOENT);
	assert_string_equal(tracer_current(f->model->top)->name, "nop");
	assert_int_equal(f->live->calls.tracer, LIVE_NOP);
	put_text(f, CALLS "/current_tracer", "");
	assert_int_equal(tracer_choose(f->model->top, "function"), 0);
	assert_int_equal(write_file(f, FTRACE_FILE_FILTER, "gamma", true), 0);
	text_is(f, CALLS "/set_ftrace_filter", "3\n");
	snprintf(path, sizeof(path), "%s/%s", f->dir, CALLS "/set_ftrace_notrace");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(write_file(f, FTRACE_FILE_FILTER, "beta", true), -ENOENT);
	assert_int_equal(f->model->top->ftrace->hashes.filter->count, 1);
	assert_true(ftrace_hash_has(f->model->top->ftrace->hashes.filter, GAMMA));
	end(f);
}

static struct instance *second_instance(struct fixture *f)
{
	static const char *const files[] = {
		"current_tracer", "set_ftrace_filter", "set_ftrace_notrace", "set_ftrace_pid",
		"set_ftrace_notrace_pid", "tracing_on", "trace_clock", "buffer_size_kb",
		"per_cpu/cpu0/trace_pipe_raw",
	};
	struct instance *inst;
	char path[128];

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), CALLS "-2/%s", files[i]);
		put_text(f, path, "");
	}
	assert_int_equal(instance_create(f->model, "b", &inst), 0);
	return inst;
}

static void a_refused_tracer_leaves_the_other_one(void **state)
{
	struct fixture *f = *state;
	struct instance *b = second_instance(f);
	char path[256];

	put_kernel(f, "function_graph function nop\n");
	begin(f);
	assert_int_equal(tracer_choose(f->model->top, "function"), 0);
	/* What nobody writes to stays. */
	put_text(f, CALLS "/current_tracer", "as it was");
	put_text(f, CALLS "/tracing_on", "as it was");
	snprintf(path, sizeof(path), "%s/%s", f->dir, CALLS "-2/current_tracer");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(tracer_choose(b, "function_graph"), -ENOENT);
	assert_string_equal(tracer_current(b)->name, "nop");
	text_is(f, CALLS "/current_tracer", "as it was");
	text_is(f, CALLS "/tracing_on", "as it was");
	assert_int_equal(f->live->calls.tracer, LIVE_FUNCTION);
	/* One that is accepted takes its place. */
	put_text(f, CALLS "-2/current_tracer", "");
	put_text(f, CALLS "/current_tracer", "");
	put_text(f, CALLS "/tracing_on", "");
	assert_int_equal(tracer_choose(b, "function_graph"), 0);
	text_is(f, CALLS "-2/current_tracer", "function_graph");
	text_is(f, CALLS "-2/tracing_on", "1");
	text_is(f, CALLS "/current_tracer", "nop");
	text_is(f, CALLS "/tracing_on", "0");
	assert_string_equal(f->live->book->names[LIVE_CALLS], "here-calls-2");
	assert_int_equal(tracer_choose(b, "nop"), 0);
	text_is(f, CALLS "/tracing_on", "1");
	assert_string_equal(f->live->book->names[LIVE_CALLS], "here-calls");
	assert_int_equal(tracer_choose(f->model->top, "nop"), 0);
	assert_string_equal(f->live->book->names[LIVE_CALLS], "");
	end(f);
}

/* A device that is full refuses each word. */
static void a_refused_set_is_set_back(void **state)
{
	struct fixture *f = *state;
	char path[256];

	put_kernel(f, "function nop\n");
	begin(f);
	assert_int_equal(write_file(f, FTRACE_FILE_FILTER, "gamma", true), 0);
	assert_int_equal(tracer_choose(f->model->top, "function"), 0);
	put_text(f, CALLS "/set_ftrace_filter", "");
	put_text(f, CALLS "/current_tracer", "as it was");
	put_text(f, CALLS "/tracing_on", "as it was");
	snprintf(path, sizeof(path), "%s/%s", f->dir, CALLS "/set_ftrace_notrace");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/dev/full", path), 0);
	assert_int_equal(write_file(f, FTRACE_FILE_FILTER, "*a", true), -ENOSPC);
	assert_true(ftrace_hash_has(f->model->top->ftrace->hashes.filter, GAMMA));
	assert_int_equal(f->model->top->ftrace->hashes.filter->count, 1);
	text_is(f, CALLS "/set_ftrace_filter", "3\n");
	text_is(f, CALLS "/current_tracer", "as it was");
	text_is(f, CALLS "/tracing_on", "as it was");
	end(f);
}

/* ---- stacks ---- */

static void the_option_for_stacks_is_set_for_a_moment(void **state)
{
	struct fixture *f = *state;

	put_kernel(f, "function nop\n");
	put_text(f, "options/func_stack_trace", "0");
	put_text(f, CALLS "/options/func_stack_trace", "0");
	begin(f);
	assert_int_equal(tracer_choose(f->model->top, "function"), 0);
	live_functions_settle(f->live);
	assert_false(f->live->calls.stacks);
	assert_int_equal(option_set(f->model->top, OPTION_FUNC_STACK_TRACE, true), 0);
	live_functions_settle(f->live);
	assert_true(f->live->calls.stacks);
	text_is(f, CALLS "/options/func_stack_trace", "1");
	text_is(f, "options/func_stack_trace", "0");
	assert_int_equal(option_set(f->model->top, OPTION_FUNC_STACK_TRACE, false), 0);
	live_functions_settle(f->live);
	text_is(f, CALLS "/options/func_stack_trace", "0");
	/* A command asks for them, too. */
	assert_int_equal(write_file(f, FTRACE_FILE_FILTER, "beta:stacktrace", false), 0);
	live_functions_settle(f->live);
	text_is(f, CALLS "/options/func_stack_trace", "1");
	assert_int_equal(write_file(f, FTRACE_FILE_FILTER, "!beta:stacktrace", false), 0);
	live_functions_settle(f->live);
	assert_int_equal(f->live->calls.stacks, false);
	end(f);
}

static void a_kernel_without_stacks_is_told_of(void **state)
{
	struct fixture *f = *state;

	put_kernel(f, "function nop\n");
	begin(f);
	assert_int_equal(write_file(f, FTRACE_FILE_FILTER, "beta:stacktrace", false), 0);
	live_functions_settle(f->live);
	assert_false(f->live->calls.stacks);
	assert_true(print_has(f, "note the kernel records no stacks"));
	end(f);
}

/* A server was killed between the two writes. */
static void the_next_server_sets_the_option_back(void **state)
{
	struct fixture *f = *state;

	put_kernel(f, "function nop\n");
	put_text(f, "options/func_stack_trace", "1");
	f->live->book->stack_option = LIVE_OPTION_OFF;
	begin(f);
	text_is(f, "options/func_stack_trace", "0");
	assert_int_equal(f->live->book->stack_option, LIVE_OPTION_KNOWN);
	end(f);
}

static void a_graph_has_no_stacks(void **state)
{
	struct fixture *f = *state;

	put_kernel(f, "function_graph function nop\n");
	begin(f);
	assert_int_equal(write_file(f, FTRACE_FILE_FILTER, "beta:stacktrace", false), 0);
	assert_int_equal(tracer_choose(f->model->top, "function_graph"), -EBUSY);
	assert_true(error_log_has(f, "The kernel's function_graph has no stacks"));
	assert_int_equal(f->live->calls.tracer, LIVE_FUNCTION);
	assert_int_equal(write_file(f, FTRACE_FILE_FILTER, "!beta:stacktrace", false), 0);
	assert_int_equal(tracer_choose(f->model->top, "function_graph"), 0);
	assert_int_equal(write_file(f, FTRACE_FILE_FILTER, "beta:stacktrace", false), -EBUSY);
	assert_false(print_has(f, "have no stacks"));
	end(f);
}

/* ---- a kernel that has less ---- */

static void what_it_lacks_is_said(void **state)
{
	struct fixture *f = *state;

	put_kernel(f, "functions nop\n");
	begin(f);
	assert_true(print_has(f, "kernel functions cannot be traced: it has no tracer function"));
	assert_false(print_has(f, "note "));
	assert_int_equal(write_file(f, FTRACE_FILE_FILTER, "alpha", true), -EINVAL);
	assert_true(error_log_has(f, "functions of the kernel cannot be traced: it has no tracer"));
	/* A tracer of programs is as it is without a kernel. */
	assert_int_equal(tracer_choose(f->model->top, "function_graph"), 0);
	assert_true(print_has(f, "note functions of the kernel are not traced"));
	text_is(f, CALLS "/current_tracer", "");
	end(f);
}

static void a_graph_that_it_lacks_leaves_functions(void **state)
{
	struct fixture *f = *state;

	put_kernel(f, "function nop\n");
	begin(f);
	assert_int_equal(tracer_choose(f->model->top, "function_graph"), 0);
	text_is(f, CALLS "/current_tracer", "");
	assert_true(print_has(f, "note functions of the kernel are not in the graph"));
	assert_int_equal(tracer_choose(f->model->top, "function"), 0);
	text_is(f, CALLS "/current_tracer", "function");
	end(f);
}

static void a_list_that_lies_is_refused(void **state)
{
	struct fixture *f = *state;

	put_kernel(f, "function nop\n");
	put_text(f, LIST, "no address here\n");
	begin(f);
	assert_true(tracer_choose(f->model->top, "function") < 0);
	assert_string_equal(tracer_current(f->model->top)->name, "nop");
	/* It is read once: from now on the tracer is for programs. */
	assert_int_equal(tracer_choose(f->model->top, "function"), 0);
	assert_true(print_has(f, "note functions of the kernel are not traced: " LIST
			      ": Invalid argument"));
	end(f);
}

/* Numbers are those of the kernel's list: out of order, names are written. */
static void a_list_in_another_order_is_taken_by_name(void **state)
{
	struct fixture *f = *state;

	put_kernel(f, "function nop\n");
	put_text(f, LIST, "ffffffff81000100 beta\nffffffff81000010 alpha\n");
	begin(f);
	assert_int_equal(write_file(f, FTRACE_FILE_FILTER, "alpha", true), 0);
	assert_int_equal(tracer_choose(f->model->top, "function"), 0);
	text_is(f, CALLS "/set_ftrace_filter", "alpha\n");
	end(f);
}

/* ---- records ---- */

struct raw {
	struct record_common common;
	uint64_t	ip;
	union {
		uint64_t	parent_ip;
		uint32_t	depth;
	};
	uint64_t	calltime, rettime;
};

static void record(struct fixture *f, struct raw raw, uint16_t type)
{
	struct live_cpu c = { .fd = -1 };

	raw.common.type = type;
	raw.common.pid = 77;
	c.record = (struct subbuf_record){ .data = (const uint8_t *)&raw, .size = sizeof(raw),
		.type = type, .time = 1000 };
	pthread_mutex_lock(&f->live->lock);
	live_calls_pass(f->live, &c);
	pthread_mutex_unlock(&f->live->lock);
}

/* The n-th record of the top instance. Returns its size; 0: there is none. */
static uint32_t nth(struct fixture *f, unsigned int n, struct raw *out)
{
	struct ring_iter *it;

	memset(out, 0, sizeof(*out));
	assert_int_equal(ring_iter_open(f->session, instance_buffer(f->model->top, 0), -1, &it),
			 0);
	return ring_nth_of(it, n, out, sizeof(*out));
}

static void a_function_is_recorded_if_it_is_wanted(void **state)
{
	struct fixture *f = *state;
	struct raw out;

	put_kernel(f, "function nop\n");
	begin(f);
	assert_int_equal(write_file(f, FTRACE_FILE_FILTER, "beta", true), 0);
	assert_int_equal(tracer_choose(f->model->top, "function"), 0);
	record(f, (struct raw){ .ip = BETA, .parent_ip = 9 }, LAYOUT_FUNCTION_ID);
	/* Before the present command. */
	record(f, (struct raw){ .ip = ALPHA }, LAYOUT_FUNCTION_ID);
	/* The function's own address, and some that are of no function. */
	record(f, (struct raw){ .ip = BETA - 4, .parent_ip = 8 }, LAYOUT_FUNCTION_ID);
	record(f, (struct raw){ .ip = BETA + 1 }, LAYOUT_FUNCTION_ID);
	record(f, (struct raw){ .ip = 0 }, LAYOUT_FUNCTION_ID);
	record(f, (struct raw){ .ip = UINT64_MAX }, LAYOUT_FUNCTION_ID);
	assert_int_equal(f->live->calls.unknown, 3);
	assert_int_equal(nth(f, 0, &out), sizeof(struct function_record));
	assert_true(out.ip == BETA && out.parent_ip == 9 && out.common.pid == 77);
	assert_int_equal(nth(f, 1, &out), sizeof(struct function_record));
	assert_true(out.ip == BETA && out.parent_ip == 8);
	assert_int_equal(nth(f, 2, &out), 0);
	end(f);
}

static void graph_call(struct fixture *f, uint64_t ip, uint32_t depth)
{
	record(f, (struct raw){ .ip = ip, .depth = depth }, LAYOUT_GRAPH_ENTRY_ID);
}

static void graph_return(struct fixture *f, uint64_t ip, uint32_t depth, uint64_t ns)
{
	record(f, (struct raw){ .ip = ip, .depth = depth, .calltime = 5, .rettime = 5 + ns },
	       LAYOUT_GRAPH_EXIT_ID);
}

/* "+beta@0 -beta@0": entries and returns, with their depths */
static void graph_is(struct fixture *f, const char *wanted)
{
	char text[512] = "", one[64];
	struct raw out;

	for (unsigned int i = 0; nth(f, i, &out); i++) {
		const bool entry = out.common.type == LAYOUT_GRAPH_ENTRY_ID;

		/* Of a return the depth lies behind the value. */
		snprintf(one, sizeof(one), "%s%c%s@%u", *text ? " " : "", entry ? '+' : '-',
			 out.ip == ALPHA ? "alpha" : out.ip == BETA ? "beta" : "gamma",
			 entry ? out.depth : (uint32_t)out.calltime);
		strncat(text, one, sizeof(text) - strlen(text) - 1);
	}
	assert_string_equal(text, wanted);
}

/* alpha calls beta, which calls gamma. */
static void three_calls(struct fixture *f)
{
	graph_call(f, ALPHA, 0);
	graph_call(f, BETA, 1);
	graph_call(f, GAMMA, 2);
	graph_return(f, GAMMA, 2, 10);
	graph_return(f, BETA, 1, 20);
	graph_return(f, ALPHA, 0, 30);
}

static void again(struct fixture *f, enum ftrace_file file, const char *word)
{
	assert_int_equal(tracer_choose(f->model->top, "nop"), 0);
	if (word)
		assert_int_equal(write_file(f, file, word, true), 0);
	assert_int_equal(tracer_choose(f->model->top, "function_graph"), 0);
	three_calls(f);
}

static void the_session_decides_about_the_graph(void **state)
{
	struct fixture *f = *state;

	put_kernel(f, "function_graph function nop\n");
	begin(f);
	f->live->calls.layout.calltime = offsetof(struct raw, calltime);
	f->live->calls.layout.rettime = offsetof(struct raw, rettime);
	again(f, 0, NULL);
	graph_is(f, "+alpha@0 +beta@1 +gamma@2 -gamma@2 -beta@1 -alpha@0");
	again(f, FTRACE_FILE_GRAPH, "beta");
	graph_is(f, "+beta@0 +gamma@1 -gamma@1 -beta@0");
	again(f, FTRACE_FILE_GRAPH_NOTRACE, "gamma");
	graph_is(f, "+beta@0 -beta@0");
	again(f, FTRACE_FILE_GRAPH, "");
	again(f, FTRACE_FILE_GRAPH_NOTRACE, "");
	f->model->max_graph_depth = 2;
	assert_int_equal(ftrace_graph_publish(f->model), 0);
	again(f, 0, NULL);
	graph_is(f, "+alpha@0 +beta@1 -beta@1 -alpha@0");
	f->model->max_graph_depth = 0;
	atomic_store(&f->model->tracing_thresh, 20);
	again(f, 0, NULL);
	graph_is(f, "-beta@1 -alpha@0");
	atomic_store(&f->model->tracing_thresh, 0);
	/* The entry of beta was lost; what no kernel records does no harm. */
	again(f, FTRACE_FILE_FILTER, "*a");
	assert_int_equal(tracer_choose(f->model->top, "nop"), 0);
	assert_int_equal(tracer_choose(f->model->top, "function_graph"), 0);
	graph_call(f, ALPHA, 0);
	graph_return(f, BETA, 1, 20);
	graph_call(f, BETA, UINT32_MAX);
	graph_return(f, BETA, 64, 1);
	graph_return(f, ALPHA, 0, 30);
	graph_is(f, "+alpha@0 -alpha@0");
	assert_true(print_has(f, "lost 1 calls of the kernel's functions were inside"));
	end(f);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_kernel_gets_the_union_of_what_is_wanted),
		TEST(pids_and_tracing_on_follow),
		TEST(an_instance_that_was_there_is_set_up),
		TEST(a_refusal_is_told_to_its_own_command),
		TEST(what_the_kernel_refuses_is_refused),
		TEST(a_refused_tracer_leaves_the_other_one),
		TEST(a_refused_set_is_set_back),
		TEST(the_option_for_stacks_is_set_for_a_moment),
		TEST(a_kernel_without_stacks_is_told_of),
		TEST(the_next_server_sets_the_option_back),
		TEST(a_graph_has_no_stacks),
		TEST(what_it_lacks_is_said),
		TEST(a_graph_that_it_lacks_leaves_functions),
		TEST(a_list_that_lies_is_refused),
		TEST(a_list_in_another_order_is_taken_by_name),
		TEST(a_function_is_recorded_if_it_is_wanted),
		TEST(the_session_decides_about_the_graph),
	};
	int ret;

	if (!temp_place()) {
		puts("1..0 # SKIP no tmpfs at /dev/shm");
		return 0;
	}
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	temp_place_remove();
	return ret;
}
