/* SPDX-License-Identifier: MIT */
/* instance_files.c - the settings of an instance, and the lists of the top instance */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "agent/providers/table.h"
#include "model/cmdlines.h"
#include "model/errlog.h"
#include "model/event/set.h"
#include "model/instance/options.h"
#include "model/instance/pids.h"
#include "model/symbols.h"
#include "model/text.h"
#include "plane/ring/ring.h"
#include "tracefs/readme.h"
#include "tracefs/tree_state.h"
#include "model/tracer.h"

enum { MAX_WORD = 128, SHORT_TEXT = 64, MAX_SUBBUF_PAGES = 128, PAGE = 4096 };

static bool truncates(const struct tree_file *f)
{
	return (f->flags & O_TRUNC) && (f->flags & O_ACCMODE) != O_RDONLY;
}

static ssize_t taken(int err, size_t size)
{
	return err ? err : (ssize_t)size;
}

/* ---- tracing_on, trace_clock, timestamp_mode ---- */

static int print_tracing_on(struct tree_file *f, FILE *out)
{
	/* Relaxed: a trigger may change it at any time. */
	fprintf(out, "%u\n",
		atomic_load_explicit(&f->at.inst->state->tracing_on, memory_order_relaxed) != 0);
	return 0;
}

static void start_tracer(struct instance *inst, bool on)
{
	const struct tracer *t = tracer_current(inst);

	if (on ? t->start != NULL : t->stop != NULL)
		(on ? t->start : t->stop)(inst);
}

static ssize_t write_tracing_on(struct tree_file *f, const char *buf, size_t size)
{
	_Atomic uint32_t *on = &f->at.inst->state->tracing_on;
	uint64_t v;
	int err = text_to_u64_len(buf, size, 10, &v);

	if (!err)
		err = instance_save(f->at.inst, SETTING_TRACING_ON, "tracing_on", v ? "1" : "0");
	if (!err) {
		/*
		 * Relaxed: a trigger may change it at any time, also between this load and the
		 * store.
		 */
		const bool changes =
			(v != 0) != (atomic_load_explicit(on, memory_order_relaxed) != 0);

		/*
		 * Relaxed: as above. A new server does not undo what triggers did since then, when
		 * it restores the command.
		 */
		if (changes && !f->tree->model->restoring)
			atomic_store_explicit(on, v != 0, memory_order_relaxed);
		if (changes || f->tree->model->restoring)
			start_tracer(f->at.inst, v != 0);
	}
	return taken(err, size);
}

static int print_trace_clock(struct tree_file *f, FILE *out)
{
	uint32_t now = instance_clock(f->at.inst);

	for (uint32_t i = 0; i < CLOCK_ID_COUNT; i++)
		fprintf(out, "%s%s%s%s", i ? " " : "", i == now ? "[" : "", clock_names[i],
			i == now ? "]" : "");
	fputc('\n', out);
	return 0;
}

/*
 * Copies a written text and terminates it. `room` is the size of the kernel's buffer; a longer text
 * is refused.
 */
static int instance_files_copy_text(const char *buf, size_t size, char *text, size_t room)
{
	if (size >= room)
		return -EINVAL;
	memcpy(text, buf, size);
	text[size] = '\0';
	return 0;
}

static int instance_files_set_clock(struct instance *inst, const char *name)
{
	const uint32_t id = clock_find(name);
	int err = id < CLOCK_ID_COUNT ? instance_save(inst, SETTING_CLOCK, "trace_clock", name)
				      : -EINVAL;

	if (err || inst->model->restoring)	/* the records have that clock already */
		return err;
	instance_set_clock(inst, id);
	instance_restart_time(inst);
	return 0;
}

static ssize_t write_trace_clock(struct tree_file *f, const char *buf, size_t size)
{
	char text[SHORT_TEXT];
	int err = instance_files_copy_text(buf, size, text, sizeof(text));

	return taken(err ? err : instance_files_set_clock(f->at.inst, text_strip(text)), size);
}

static int print_timestamp_mode(struct tree_file *f, FILE *out)
{
	/* Relaxed: only the server stores the flags. */
	bool absolute = atomic_load_explicit(&f->at.inst->state->flags, memory_order_relaxed) &
			INSTANCE_ABSOLUTE_TIME;

	fputs(absolute ? "delta [absolute]\n" : "[delta] absolute\n", out);
	return 0;
}

/* ---- options ---- */

static int print_trace_options(struct tree_file *f, FILE *out)
{
	options_print(f->at.inst, out);
	return 0;
}

static int set_named_option(struct instance *inst, const char *name)
{
	bool on;
	int option = option_parse(name, &on);

	if (option < 0 || !option_applies(inst, option))
		return -EINVAL;
	return option_set(inst, option, on);
}

static ssize_t write_trace_options(struct tree_file *f, const char *buf, size_t size)
{
	char text[SHORT_TEXT];
	int err = instance_files_copy_text(buf, size, text, sizeof(text));

	return taken(err ? err : set_named_option(f->at.inst, text_strip(text)), size);
}

static int print_option(struct tree_file *f, FILE *out)
{
	fprintf(out, "%d\n", options_test(f->at.inst->options, f->at.option));
	return 0;
}

static ssize_t write_option(struct tree_file *f, const char *buf, size_t size)
{
	struct instance *inst = f->at.inst;
	uint64_t v;
	int err = text_to_u64_len(buf, size, 10, &v);

	if (!err && v > 1)
		err = -EINVAL;
	/* A restored option is saved again, even if a tracer has set it meanwhile. */
	if (!err &&
	    (options_test(inst->options, f->at.option) != (v != 0) || inst->model->restoring))
		err = option_set(inst, f->at.option, v);
	return taken(err, size);
}

const struct file_kind option_kind = {
	.name = "option", .mode = 0640, .print = print_option, .write = write_option,
};

/* ---- buffer settings ---- */

static int print_total_size(struct tree_file *f, FILE *out)
{
	struct instance *inst = f->at.inst;
	uint64_t sum = 0, full = 0;

	for (uint32_t cpu = 0; cpu < inst->model->nr_cpus; cpu++) {
		sum += inst->buffer_bytes[cpu] >> 10;
		/* the size that was asked for, not rounded to sub-buffers */
		full += inst->model->default_buffer_bytes >> 10;
	}
	if (inst->expanded)
		fprintf(out, "%llu\n", (unsigned long long)sum);
	else
		fprintf(out, "%llu (expanded: %llu)\n", (unsigned long long)sum,
			(unsigned long long)full);
	return 0;
}

static int print_percent(struct tree_file *f, FILE *out)
{
	fprintf(out, "%u\n", f->at.inst->buffer_percent);
	return 0;
}

static ssize_t write_percent(struct tree_file *f, const char *buf, size_t size)
{
	uint64_t v;
	int err = text_to_u64_len(buf, size, 10, &v);
	char text[16];

	if (!err && v > 100)
		err = -EINVAL;
	if (!err) {
		snprintf(text, sizeof(text), "%u", (unsigned int)v);
		err = instance_save(f->at.inst, SETTING_BUFFER_PERCENT, "buffer_percent", text);
	}
	if (!err)
		f->at.inst->buffer_percent = (unsigned int)v;
	return taken(err, size);
}

/* ---- syscall_user_buf_size: one value for all instances ---- */

static bool no_programs(const struct instance *inst, const struct event *e)
{
	return !inst->model->set_call_texts;
}

static bool has_programs(const struct instance *inst, const struct event *e)
{
	return !no_programs(inst, e);
}

static int print_call_texts(struct tree_file *f, FILE *out)
{
	fprintf(out, "%u\n", f->tree->model->call_texts);
	return 0;
}

/* As in the kernel, a larger number is its limit. */
static ssize_t write_call_texts(struct tree_file *f, const char *buf, size_t size)
{
	struct model *m = f->tree->model;
	uint64_t v;
	int err = text_to_u64_len(buf, size, 10, &v);

	if (!err)
		err = m->set_call_texts(m->catch_up_arg, v < PROVIDER_TEXT_MAX
							 ? (uint32_t)v : PROVIDER_TEXT_MAX);
	return taken(err, size);
}

static int print_subbuf_size(struct tree_file *f, FILE *out)
{
	fprintf(out, "%u\n", f->at.inst->subbuf_size >> 10);
	return 0;
}

/* A power of two of pages. */
static int parse_subbuf_size(const char *buf, size_t size, uint32_t *bytes)
{
	uint64_t v, pages;
	int err = text_to_u64_len(buf, size, 10, &v);

	if (err)
		return err;
	pages = v > UINT32_MAX ? UINT32_MAX : (v * 1024 + PAGE - 1) / PAGE;
	if (pages < 1 || pages > MAX_SUBBUF_PAGES)
		return -EINVAL;
	for (*bytes = PAGE; *bytes < pages * PAGE; *bytes *= 2)
		;
	return 0;
}

static bool prepare_subbuf_size(struct tree_file *f, const char *buf, size_t size)
{
	uint32_t bytes;

	return !parse_subbuf_size(buf, size, &bytes) && instance_subbuf_prepare(f->at.inst, bytes);
}

static ssize_t write_subbuf_size(struct tree_file *f, const char *buf, size_t size)
{
	struct instance *inst = f->at.inst;
	uint32_t bytes;
	uint64_t old;
	char text[16];
	int err = parse_subbuf_size(buf, size, &bytes);

	if (err)
		return err;
	snprintf(text, sizeof(text), "%u", bytes >> 10);
	err = instance_save_begin(inst, SETTING_SUBBUF_SIZE, "buffer_subbuf_size_kb", text, &old);
	if (!err)
		err = instance_save_end(inst, SETTING_SUBBUF_SIZE, old,
					instance_set_subbuf_size(inst, bytes));
	return taken(err, size);
}

static int print_cpumask(struct tree_file *f, FILE *out)
{
	uint32_t nr = f->at.inst->model->nr_cpus;

	for (int group = (int)(nr - 1) / 32; group >= 0; group--) {
		uint32_t bits = (uint32_t)(f->at.inst->state->cpumask[group / 2] >> group % 2 * 32);
		uint32_t width = group == (int)(nr - 1) / 32 ? ((nr - 1) % 32) / 4 + 1 : 8;

		fprintf(out, "%0*x%s", (int)width, bits, group ? "," : "\n");
	}
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if ((c | 32) >= 'a' && (c | 32) <= 'f')
		return (c | 32) - 'a' + 10;
	return -1;
}

static bool ends_group(char c)
{
	return c == ',' || text_is_space(c);
}

/*
 * Parses a group of at most eight hexadecimal digits, from its end. Moves *end before the group. As
 * in the kernel, one other character before eight digits is passed over.
 */
static int parse_group(const char *start, const char **end, uint32_t *group)
{
	const char *s = *end;

	*group = 0;
	for (int shift = 0; shift < 32 && s >= start && !ends_group(*s); shift += 4, s--) {
		int d = hex_digit(*s);

		if (d < 0)
			return -EINVAL;
		*group |= (uint32_t)d << shift;
	}
	if (s >= start && !ends_group(*s) && hex_digit(*s--) >= 0)
		return -EOVERFLOW;
	*end = s;
	return 0;
}

/* The bytes before a newline or a 0. */
static size_t line_length(const char *text, size_t size)
{
	const char *newline = memchr(text, '\n', size);

	return strnlen(text, newline ? (size_t)(newline - text) : size);
}

/*
 * Parses the text's first line: groups with commas or spaces between them, the lowest bits last. A
 * line without a group is an empty mask.
 */
static int parse_cpumask(const char *start, size_t len, uint32_t nr_cpus, uint64_t *mask)
{
	const char *end = start + line_length(start, len) - 1;
	uint32_t group;

	memset(mask, 0, LAYOUT_MAX_CPUS / 8);
	for (uint32_t i = 0; ; i++) {
		int err;

		while (end >= start && ends_group(*end))
			end--;
		if (end < start)
			break;
		if (i > (nr_cpus - 1) / 32)
			return -EOVERFLOW;
		err = parse_group(start, &end, &group);
		if (err)
			return err;
		mask[i / 2] |= (uint64_t)group << i % 2 * 32;
	}
	return nr_cpus % 64 && mask[nr_cpus / 64] >> nr_cpus % 64 ? -EOVERFLOW : 0;
}

static ssize_t write_cpumask(struct tree_file *f, const char *buf, size_t size)
{
	struct instance *inst = f->at.inst;
	uint64_t mask[LAYOUT_MAX_CPUS / 64];
	char *text;
	int err = parse_cpumask(buf, size, inst->model->nr_cpus, mask);

	if (err)
		return err;
	text = strndup(buf, line_length(buf, size));
	err = text ? instance_save(inst, SETTING_CPUMASK, "tracing_cpumask", text) : -ENOMEM;
	free(text);
	if (err)
		return err;
	/*
	 * Each word is stored by one instruction. A hit may see words of both masks; for its own
	 * CPU it obeys one of the two.
	 */
	memcpy(inst->state->cpumask, mask, sizeof(mask));
	instance_cpumask_changed(inst);
	return taken(0, size);
}

/* ---- events and pids ---- */

static int open_set_event(struct tree_file *f)
{
	if (truncates(f))
		event_set_clear(f->at.inst);
	return 0;
}

static int print_set_event(struct tree_file *f, FILE *out)
{
	event_set_print(f->at.inst, out);
	return 0;
}

static ssize_t write_set_event(struct tree_file *f, const char *buf, size_t size)
{
	char word[MAX_WORD];
	ssize_t n;
	int err = instance_expand(f->at.inst);

	if (err)
		return err;
	n = text_word(buf, size, word, sizeof(word));
	if (n < 0 || !*word)
		return n;
	return taken(event_set_word(f->at.inst, word, f->pieces), (size_t)n);
}

static int open_pids(struct tree_file *f, enum pids_kind kind)
{
	if (truncates(f))
		pids_clear(f->at.inst, kind);
	return 0;
}

static int open_event_pid(struct tree_file *f)
{
	return open_pids(f, PIDS_TRACE);
}

static int open_event_notrace_pid(struct tree_file *f)
{
	return open_pids(f, PIDS_NOTRACE);
}

static int print_event_pid(struct tree_file *f, FILE *out)
{
	pids_print(f->at.inst, PIDS_TRACE, out);
	return 0;
}

static int print_event_notrace_pid(struct tree_file *f, FILE *out)
{
	pids_print(f->at.inst, PIDS_NOTRACE, out);
	return 0;
}

static ssize_t write_event_pid(struct tree_file *f, const char *buf, size_t size)
{
	return pids_write(f->at.inst, PIDS_TRACE, buf, size);
}

static ssize_t write_event_notrace_pid(struct tree_file *f, const char *buf, size_t size)
{
	return pids_write(f->at.inst, PIDS_NOTRACE, buf, size);
}

/* ---- error log ---- */

static int open_error_log(struct tree_file *f)
{
	if (truncates(f))
		errlog_clear(f->at.inst->errlog);
	return 0;
}

static int print_error_log(struct tree_file *f, FILE *out)
{
	errlog_print(f->at.inst->errlog, out);
	return 0;
}

/* A write is accepted and ignored; opening with O_TRUNC is what clears the log. */
static ssize_t write_error_log(struct tree_file *f, const char *buf, size_t size)
{
	return (ssize_t)size;
}

static int print_available_events(struct tree_file *f, FILE *out)
{
	event_available_print(f->at.inst, out);
	return 0;
}

static int print_event_filters(struct tree_file *f, FILE *out)
{
	event_filters_print(f->at.inst, out);
	return 0;
}

static int print_event_triggers(struct tree_file *f, FILE *out)
{
	event_triggers_print(f->at.inst, out);
	return 0;
}

static int print_cmdlines(struct tree_file *f, FILE *out)
{
	cmdlines_print(f->tree->model->cmdlines, out);
	return 0;
}

static int print_cmdlines_size(struct tree_file *f, FILE *out)
{
	fprintf(out, "%u\n", cmdlines_size(f->tree->model->cmdlines));
	return 0;
}

static ssize_t write_cmdlines_size(struct tree_file *f, const char *buf, size_t size)
{
	struct model *m = f->tree->model;
	char text[16];
	uint64_t v, old;
	int err = text_to_u64_len(buf, size, 10, &v);

	if (!err && v > UINT32_MAX)
		err = -EINVAL;
	if (err)
		return err;
	snprintf(text, sizeof(text), "%u", (unsigned int)v);
	err = instance_save_begin(m->top, SETTING_CMDLINES_SIZE, "saved_cmdlines_size", text, &old);
	if (!err)
		err = instance_save_end(m->top, SETTING_CMDLINES_SIZE, old,
					cmdlines_resize(m->cmdlines, (unsigned int)v));
	return taken(err, size);
}

static int print_tgids(struct tree_file *f, FILE *out)
{
	cmdlines_print_tgids(f->tree->model->cmdlines, out);
	return 0;
}

static int print_printk_formats(struct tree_file *f, FILE *out)
{
	if (f->tree->model->printk_formats)
		fputs(f->tree->model->printk_formats, out);
	return 0;
}

static int print_kallsyms(struct tree_file *f, FILE *out)
{
	symbols_print(f->tree->model->symbols, out);
	return 0;
}

static int print_readme(struct tree_file *f, FILE *out)
{
	fputs(readme_text, out);
	return 0;
}

const struct file_kind instance_kinds[] = {
	{ .name = "buffer_percent", .mode = 0640, .print = print_percent, .write = write_percent },
	{ .name = "buffer_subbuf_size_kb",
	  .mode = 0640,
	  .print = print_subbuf_size,
	  .write = write_subbuf_size,
	  .prepare = prepare_subbuf_size },
	{ .name = "buffer_total_size_kb", .mode = 0440, .print = print_total_size },
	{ .name = "error_log",
	  .mode = 0640,
	  .open = open_error_log,
	  .print = print_error_log,
	  .write = write_error_log },
	{ .name = "set_event",
	  .mode = 0640,
	  .open = open_set_event,
	  .print = print_set_event,
	  .write = write_set_event },
	{ .name = "set_event_notrace_pid",
	  .mode = 0640,
	  .open = open_event_notrace_pid,
	  .print = print_event_notrace_pid,
	  .write = write_event_notrace_pid },
	{ .name = "set_event_pid",
	  .mode = 0640,
	  .open = open_event_pid,
	  .print = print_event_pid,
	  .write = write_event_pid },
	/* Of Linux 6.19: not listed, as 6.12 has no such file. */
	{ .name = "syscall_user_buf_size", .mode = 0640, .absent = no_programs,
	  .print = print_call_texts, .write = write_call_texts, .hidden = true },
	{ .name = "timestamp_mode", .mode = 0440, .print = print_timestamp_mode },
	{ .name = "trace_clock",
	  .mode = 0640,
	  .print = print_trace_clock,
	  .write = write_trace_clock },
	{ .name = "trace_options",
	  .mode = 0640,
	  .print = print_trace_options,
	  .write = write_trace_options },
	{ .name = "tracing_cpumask", .mode = 0640, .print = print_cpumask, .write = write_cpumask,
	  .fits = true },
	{ .name = "tracing_on",
	  .mode = 0640,
	  .print = print_tracing_on,
	  .write = write_tracing_on },
	{ 0 }
};

/* Nobody knows how long it is before each program's symbols are read. */
#define KALLSYMS(...) { .name = "kallsyms", .mode = 0440, .print = print_kallsyms,	\
			.begin = long_text_all, .stays = true, __VA_ARGS__ }

const struct file_kind top_kinds[] = {
	{ .name = "README", .mode = 0440, .print = print_readme },
	{ .name = "available_events", .mode = 0440, .print = print_available_events },
	/* Programs have no other list of their symbols; a kernel has it in /proc. */
	KALLSYMS(.absent = no_programs),
	KALLSYMS(.absent = has_programs, .hidden = true),
	{ .name = "printk_formats", .mode = 0440, .print = print_printk_formats },
	{ .name = "saved_cmdlines", .mode = 0440, .print = print_cmdlines },
	{ .name = "saved_cmdlines_size", .mode = 0640, .print = print_cmdlines_size,
	  .write = write_cmdlines_size },
	{ .name = "saved_tgids", .mode = 0440, .print = print_tgids },
	/* Of Linux 7.0: not listed, as 6.12 has no such files. */
	{ .name = "show_event_filters", .mode = 0440, .print = print_event_filters,
	  .hidden = true },
	{ .name = "show_event_triggers", .mode = 0440, .print = print_event_triggers,
	  .hidden = true },
	{ 0 }
};
