/* SPDX-License-Identifier: MIT */
/*
 * options.c - trace options: their names, defaults, files and effects
 */
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "model/ftrace/groups.h"
#include "model/model.h"
#include "model/instance/options.h"
#include "model/instance/pids.h"
#include "plane/ring/ring.h"

const char *const option_names[OPTION_COUNT] = {
	"print-parent", "sym-offset", "sym-addr", "verbose", "raw", "hex", "bin", "block", "fields",
	"trace_printk", "annotate", "userstacktrace", "sym-userobj", "printk-msg-only",
	"context-info", "latency-format", "record-cmd", "record-tgid", "overwrite",
	"disable_on_free", "irq-info", "markers", "event-fork", "trace_printk_dest",
	"copy_trace_marker", "pause-on-trace", "hash-ptr", "bitmask-list", "function-trace",
	"function-fork", "display-graph", "stacktrace",
	"test_nop_accept", "test_nop_refuse",
	"func_stack_trace", "func-no-repeats",
	"funcgraph-overrun", "funcgraph-cpu", "funcgraph-overhead", "funcgraph-proc",
	"funcgraph-duration", "funcgraph-abstime", "funcgraph-irqs", "funcgraph-tail",
	"funcgraph-retval", "funcgraph-retval-hex", "funcgraph-retaddr", "funcgraph-args",
	"sleep-time", "graph-time",
};

#define BIT(o) (1ull << (o))

static const uint64_t default_options =
	BIT(OPTION_PRINT_PARENT) | BIT(OPTION_TRACE_PRINTK) | BIT(OPTION_ANNOTATE) |
	BIT(OPTION_CONTEXT_INFO) | BIT(OPTION_RECORD_CMD) | BIT(OPTION_OVERWRITE) |
	BIT(OPTION_IRQ_INFO) | BIT(OPTION_MARKERS) | BIT(OPTION_HASH_PTR) |
	BIT(OPTION_FUNCTION_TRACE) | BIT(OPTION_FUNCGRAPH_CPU) | BIT(OPTION_FUNCGRAPH_OVERHEAD) |
	BIT(OPTION_FUNCGRAPH_DURATION) | BIT(OPTION_FUNCGRAPH_IRQS) | BIT(OPTION_SLEEP_TIME) |
	BIT(OPTION_GRAPH_TIME);

/* Options without a file in other instances than the top. */
static const uint64_t top_only =
	BIT(OPTION_TRACE_PRINTK) | BIT(OPTION_PRINTK_MSG_ONLY) | BIT(OPTION_RECORD_CMD);

/* The options that hits have to know. */
static const struct {
	enum trace_option option;
	uint32_t flag;
} plane_flags[] = {
	{ OPTION_STACKTRACE, INSTANCE_STACKTRACE },
	{ OPTION_USERSTACKTRACE, INSTANCE_USERSTACKTRACE },
	{ OPTION_EVENT_FORK, INSTANCE_EVENT_FORK },
	{ OPTION_RECORD_CMD, INSTANCE_RECORD_CMD },
	{ OPTION_RECORD_TGID, INSTANCE_RECORD_TGID },
	{ OPTION_MARKERS, INSTANCE_MARKERS },
	{ OPTION_FUNCTION_FORK, INSTANCE_FUNCTION_FORK },
	{ OPTION_TRACE_PRINTK, INSTANCE_PRINTS },
};

uint64_t options_default(void)
{
	return default_options | BIT(OPTION_TRACE_PRINTK_DEST) | BIT(OPTION_COPY_TRACE_MARKER);
}

uint64_t options_inherited(const struct instance *top)
{
	return top->options & ~(BIT(OPTION_EVENT_FORK) | BIT(OPTION_FUNCTION_FORK) |
				BIT(OPTION_TRACE_PRINTK_DEST) | BIT(OPTION_COPY_TRACE_MARKER));
}

int option_parse(const char *text, bool *on)
{
	*on = strncmp(text, "no", 2) != 0;
	if (!*on)
		text += 2;
	for (int o = 0; o < OPTION_COUNT; o++)
		if (!strcmp(text, option_names[o]))
			return o;
	return -1;
}

uint64_t options_of_nop(void)
{
	return BIT(OPTION_TEST_NOP_ACCEPT) | BIT(OPTION_TEST_NOP_REFUSE);
}

/* Programs have all options. A recording has those of its kernel, if it says which one it was. */
static bool kernel_is_at_least(const struct model *m, unsigned int major, unsigned int minor)
{
	unsigned int ours = 0, ours_minor = 0;
	const char *release = m->release;
	struct utsname here;

	if (!m->imported || m->of_programs)
		return true;
	if (!release && m->has_kernel && !uname(&here))
		release = here.release;
	if (!release || sscanf(release, "%u.%u", &ours, &ours_minor) != 2)
		return false;
	return ours > major || (ours == major && ours_minor >= minor);
}

/*
 * Linux 6.12 has none of these. Nothing says what a kernel's functions have as arguments; a
 * recording may have the addresses that calls return to.
 */
static bool options_exist_for(const struct model *m, enum trace_option o)
{
	if (o == OPTION_COPY_TRACE_MARKER)
		return kernel_is_at_least(m, 6, 16);
	if (o == OPTION_BITMASK_LIST)
		return kernel_is_at_least(m, 7, 0);
	if (o == OPTION_FUNCGRAPH_RETADDR)
		return m->of_programs || model_find_event((struct model *)m, "ftrace",
							  GRAPH_RETADDR_ENTRY);
	return o != OPTION_FUNCGRAPH_ARGS || m->of_programs;
}

/* Newer than Linux 6.12. funcgraph-args was listed from its first day on. */
static const uint64_t newer_options =
	BIT(OPTION_COPY_TRACE_MARKER) | BIT(OPTION_BITMASK_LIST) | BIT(OPTION_FUNCGRAPH_RETADDR);

static bool has_first_value(const struct instance *inst, enum trace_option o)
{
	const bool first = o == OPTION_COPY_TRACE_MARKER && !inst->name;

	return options_test(inst->options, o) == first;
}

bool option_is_listed(const struct instance *inst, enum trace_option o)
{
	return option_in_directory(inst, o) && !(newer_options & BIT(o));
}

bool option_in_directory(const struct instance *inst, enum trace_option o)
{
	return (!inst->name || !(top_only & BIT(o))) &&
	       options_exist_for(inst->model, o);
}

bool option_applies(const struct instance *inst, enum trace_option o)
{
	return (o < OPTION_TRACER || (inst->tracer_options & BIT(o))) &&
	       options_exist_for(inst->model, o);
}

static void tell_follow(struct model *m)
{
	struct instance *inst;
	uint64_t any = 0;

	list_each(inst, &m->instances, node)
		any |= inst->options & (BIT(OPTION_EVENT_FORK) | BIT(OPTION_FUNCTION_FORK));
	/* The last server's value stays until all options are restored. */
	if (any || !m->held)
		session_follow(m->session, any != 0);
}

static uint32_t sets_that_follow(const struct instance *inst)
{
	return (options_test(inst->options, OPTION_EVENT_FORK)
			? 1u << PIDS_TRACE | 1u << PIDS_NOTRACE
			: 0) |
	       (options_test(inst->options, OPTION_FUNCTION_FORK)
			? 1u << PIDS_FUNCTION | 1u << PIDS_NO_FUNCTION
			: 0);
}

void options_publish(struct instance *inst)
{
	/* Relaxed: only the server stores it, as below. */
	uint32_t flags = atomic_load_explicit(&inst->state->flags, memory_order_relaxed) &
			 INSTANCE_ABSOLUTE_TIME;

	for (size_t i = 0; i < sizeof(plane_flags) / sizeof(*plane_flags); i++)
		if (options_test(inst->options, plane_flags[i].option))
			flags |= plane_flags[i].flag;
	flags |= (inst->max_used ? INSTANCE_MAX_USED : 0) | (inst->stopped ? INSTANCE_STOPPED : 0);
	/* Relaxed: only the server stores it; a hit uses the value that it finds. */
	atomic_store_explicit(&inst->state->flags, flags, memory_order_relaxed);
	session_settings_changed(inst->model->session);
	session_pids_follow(inst->model->session, inst->index, sets_that_follow(inst));
	tell_follow(inst->model);
}

static void set_overwrite(struct instance *inst, bool on)
{
	for (uint32_t i = 0; i < 2; i++) {
		data_ref b = instance_buffer_at(inst, i);

		if (b)
			buffer_set_overwrite(inst->model->session, b, on);
	}
}

/* trace_printk() prints into one instance: the others lose the option. */
static void take_printk(struct instance *inst)
{
	struct instance *other;

	list_each(other, &inst->model->instances, node)
		if (other != inst)
			other->options &= ~BIT(OPTION_TRACE_PRINTK_DEST);
}

/* A saved option that its tracer has set meanwhile: the saved value stays. */
static bool is_restored(const struct instance *inst, enum trace_option o)
{
	char path[64];

	snprintf(path, sizeof(path), "options/%s", option_names[o]);
	return model_restored(inst->model, inst, path, NULL).saved;
}

static int options_keep(struct instance *inst, enum trace_option o)
{
	char path[64];

	snprintf(path, sizeof(path), "options/%s", option_names[o]);
	return saved_replace(inst->model, inst, path, options_test(inst->options, o) ? "1" : "0",
				    NULL, 0, &inst->options_saved[o]);
}

int options_save(struct instance *inst)
{
	const uint64_t first = options_default() &
			       ~(inst->name ? BIT(OPTION_COPY_TRACE_MARKER) : 0);
	const uint64_t differ = inst->options ^ first;
	int err = 0;

	for (int o = 0; o < OPTION_TRACER && !err; o++)
		if ((differ & BIT(o)) && o != OPTION_TRACE_PRINTK_DEST &&
		    option_in_directory(inst, o))
			err = options_keep(inst, o);
	options_publish(inst);
	return err;
}

static void set_bit(struct instance *inst, enum trace_option o, bool on)
{
	if (on)
		inst->options |= BIT(o);
	else
		inst->options &= ~BIT(o);
}

/* A tracer has its options once, whichever instance they are written in. */
static int set_tracer_option(struct instance *inst, enum trace_option o, bool on)
{
	struct instance *other;

	list_each(other, &inst->model->instances, node)
		if (other->option_changes && (other->tracer_options & BIT(o)) &&
		    other->option_changes(other, o, on))
			return -EINVAL;
	list_each(other, &inst->model->instances, node)
		set_bit(other, o, on);
	if (ftrace_options_changed(inst->model))
		return -ENOMEM;
	return options_keep(inst->model->top, o);
}

/* Hits obey the option from now on. */
static int option_takes_effect(struct instance *inst, enum trace_option o)
{
	options_publish(inst);
	return o == OPTION_EVENT_FORK || o == OPTION_FUNCTION_FORK ? pids_follow_changed(inst, o)
								   : 0;
}

/* An error leaves the option and its saved text as they were. */
static int option_change(struct instance *inst, enum trace_option o, bool on)
{
	uint64_t *saved = &inst->options_saved[o], old = *saved;
	int err;

	*saved = 0;
	set_bit(inst, o, on);
	err = options_keep(inst, o);
	if (!err)
		err = option_takes_effect(inst, o);
	if (err) {
		set_bit(inst, o, !on);
		options_publish(inst);
	}
	saved_settle(inst->model, saved, old, err);
	return err;
}

int option_set(struct instance *inst, enum trace_option o, bool on)
{
	int err;

	if (o == OPTION_TEST_NOP_REFUSE)
		return -EINVAL;
	if (options_test(inst->options, o) == on)
		return is_restored(inst, o) ? options_keep(inst, o) : 0;
	if (o >= OPTION_TRACER)
		return set_tracer_option(inst, o, on);
	if (inst->option_changes && inst->option_changes(inst, o, on))
		return -EINVAL;
	if (o == OPTION_TRACE_PRINTK_DEST && !on)
		return -EINVAL;
	err = option_change(inst, o, on);
	if (err)
		return err;
	if (o == OPTION_TRACE_PRINTK_DEST)
		take_printk(inst);
	if (o == OPTION_OVERWRITE)
		set_overwrite(inst, on);
	return 0;
}

void options_print(const struct instance *inst, FILE *out)
{
	for (int o = 0; o < OPTION_COUNT; o++)
		if (option_applies(inst, o) &&
		    (!(newer_options & BIT(o)) || !has_first_value(inst, o)))
			fprintf(out, "%s%s\n", options_test(inst->options, o) ? "" : "no",
				option_names[o]);
}
