/* SPDX-License-Identifier: MIT */
/*
 * import.c - puts everything of a recording except its records into the model; formats.c has the
 * events
 *
 * If several files have the same table, the first one is used.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/cmdlines.h"
#include "model/event/file.h"
#include "model/instance/options.h"
#include "model/symbols.h"
#include "sources/recording/source_state.h"

/* Calls fn with a copy of each line of a text, 0-terminated, up to the first 0 byte. */
static int import_each_line(const struct dat_piece *p, int (*fn)(struct source *src, char *line),
			    struct source *src)
{
	const char *at = (const char *)p->data, *end = at + strnlen(at, p->size), *next;
	char *line;
	int ret = 0;

	for (; !ret && at < end; at = next + 1) {
		next = memchr(at, '\n', (size_t)(end - at));
		if (!next)
			next = end;
		line = next > at ? strndup(at, (size_t)(next - at)) : NULL;
		if (line)
			ret = fn(src, line);
		else if (next > at)
			ret = -ENOMEM;
		free(line);
	}
	return ret;
}

/* Takes memory of the recording's share for a part of the model. 0, -EFBIG */
static int import_take(struct source *src, uint64_t bytes)
{
	return source_memory_take(&src->window.memory, bytes) ? 0 : -EFBIG;
}

/* Adds a symbol. */
static int add_symbol(struct source *src, struct symbols *to, uint64_t addr, char type,
		      const char *name, const char *module)
{
	const size_t letters = strlen(name) + (module ? strlen(module) : 0);
	int ret = import_take(src, SYMBOL_COST + letters);

	return ret ? ret : symbols_add(to, addr, type, name, module);
}

/* "ffffffff81000000 T name\t[module]" */
static int import_symbol(struct source *src, char *line)
{
	char *end, *name, *module;
	uint64_t addr;
	char type;

	addr = strtoull(line, &end, 16);
	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
		return 0;
	type = end[1];
	name = end + 3;
	module = name + strcspn(name, " \t");
	if (*module) {
		*module++ = 0;
		module += strspn(module, " \t[");
		module[strcspn(module, "]")] = 0;
	}
	/* per-CPU variables have offsets, not addresses */
	if (!*name || type == 'A')
		return 0;
	src->has_functions |= addr && recorded_function_may_be(type, name);
	if (stack_probes_line(&src->probes, addr, name))
		return -ENOMEM;
	return add_symbol(src, src->model->symbols, addr, type, name, *module ? module : NULL);
}

/* "pid name" */
static int import_name(struct source *src, char *line)
{
	char *end;
	long pid = strtol(line, &end, 10);

	if (end == line || *end != ' ' || pid <= 0 || pid >= TASK_PIDS)
		return 0;
	task_names_add(&src->names, pid, end + 1);
	return cmdlines_add(src->model->cmdlines, pid, end + 1);
}

/* "0xffffffff82345678 : "format\n"" */
static int import_printk(struct source *src, char *line)
{
	char *end, *text, *in, *out;
	unsigned long long addr = strtoull(line, &end, 16);

	text = strchr(end, '"');
	if (end == line || !text)
		return 0;
	in = out = ++text;
	while (*in && !(*in == '"' && !in[1])) {
		if (in[0] == '\\' && strchr("nt\\\"", in[1]) && in[1]) {
			*out++ = in[1] == 'n' ? '\n' : in[1] == 't' ? '\t' : in[1];
			in += 2;
		} else {
			*out++ = *in++;
		}
	}
	*out = 0;
	return add_symbol(src, src->model->strings, addr, 's', text, NULL);
}

/*
 * saved_cmdlines contains all names of the recording. A kernel's largest table has room for more.
 */
static int import_names(struct source *src, const struct dat_piece *p)
{
	enum { ASKED_MAX = 32768, LINES_MAX = 65536 };
	unsigned int lines = 0, size = cmdlines_size(src->model->cmdlines);
	size_t i;
	int ret;

	for (i = 0; i < p->size; i++)
		lines += p->data[i] == '\n';
	if (lines > ASKED_MAX && lines <= LINES_MAX)
		lines = ASKED_MAX;
	ret = lines > size ? cmdlines_resize(src->model->cmdlines, lines) : 0;
	return ret ? ret : import_each_line(p, import_name, src);
}

/* The file printk_formats. */
static int keep_printk_formats(struct source *src, const struct dat_piece *p)
{
	int ret = src->model->printk_formats ? 0 : import_take(src, p->size);

	if (!ret && !src->model->printk_formats)
		src->model->printk_formats = strndup((const char *)p->data, p->size);
	return ret;
}

/* The kernel hides its addresses from a user without rights (kptr_restrict): each one is 0 then. */
static bool has_addresses(const struct dat_piece *kallsyms)
{
	const char *text = (const char *)kallsyms->data, *line_end;
	size_t left = kallsyms->size, len, zeros;

	for (; left; text += len, left -= len) {
		line_end = memchr(text, '\n', left);
		len = line_end ? (size_t)(line_end - text) + 1 : left;
		for (zeros = 0; zeros < len && text[zeros] == '0'; zeros++)
			;
		if (zeros < len && isxdigit((unsigned char)text[zeros]))
			return true;
	}
	return false;
}

static int import_tables(struct source *src)
{
	const struct trace_dat *d;
	bool symbols = false, printk = false;
	unsigned int i;
	int ret = 0;

	for (i = src->window.nr_files; i-- > 0 && !ret; )
		if (src->window.files[i]->cmdlines.data)
			ret = import_names(src, &src->window.files[i]->cmdlines);
	for (i = 0; i < src->window.nr_files && !ret; i++) {
		d = src->window.files[i];
		if (!symbols && has_addresses(&d->kallsyms)) {
			ret = import_each_line(&d->kallsyms, import_symbol, src);
			stack_probes_end(&src->probes);
			symbols = true;
		}
		if (!ret && !printk && d->printk.size) {
			ret = import_each_line(&d->printk, import_printk, src);
			if (!ret)
				ret = keep_printk_formats(src, &d->printk);
			printk = true;
		}
	}
	return ret;
}

static uint8_t kind_of(const struct source *src, const struct event *e)
{
	if (!strcmp(e->system->name, "ftrace")) {
		if (!strcmp(e->name, "kernel_stack"))
			return RECORD_STACK;
		if (!strcmp(e->name, "user_stack"))
			return RECORD_USER_STACK;
		if (!strcmp(e->name, "print"))
			return RECORD_PRINT;
		if (!strcmp(e->name, "function"))
			return RECORD_FUNCTION;
		/* Both begin alike. */
		if (!strcmp(e->name, "funcgraph_entry") || !strcmp(e->name, GRAPH_RETADDR_ENTRY))
			return RECORD_GRAPH_ENTRY;
		if (!strcmp(e->name, "funcgraph_exit"))
			return RECORD_GRAPH_EXIT;
		return RECORD_INTERNAL;
	}
	return task_names_rule_for(&src->names, e->id) ? RECORD_NAMES : RECORD_PLAIN;
}

/*
 * The offset of a field of an event of system ftrace; `usual` if the recording has no such event.
 */
static uint32_t field_offset(struct source *src, const char *event, const char *name,
			     uint32_t usual)
{
	struct event *e = model_find_event(src->model, "ftrace", event);
	const struct field *f = e ? event_find_field(e, name) : NULL;

	return f ? f->offset : usual;
}

static void find_kinds(struct source *src)
{
	unsigned int id;

	src->stack_at = field_offset(src, "kernel_stack", "caller", 16);
	src->print_at = field_offset(src, "print", "buf", 16);
	src->ip_at = field_offset(src, "function", "ip", 8);
	src->graph = (struct graph_layout){
		.entry_func = field_offset(src, "funcgraph_entry", "func", 8),
		.entry_depth = field_offset(src, "funcgraph_entry", "depth", 16),
		.exit_func = field_offset(src, "funcgraph_exit", "func", 8),
		.exit_depth = field_offset(src, "funcgraph_exit", "depth", 24),
		.exit_begin = field_offset(src, "funcgraph_exit", "calltime", 32),
		.exit_end = field_offset(src, "funcgraph_exit", "rettime", 40),
	};
	for (id = 0; id < LAYOUT_MAX_EVENTS; id++)
		if (src->model->by_id[id])
			src->kinds[id] = kind_of(src, src->model->by_id[id]);
}

static const char *const clocks[CLOCK_ID_COUNT] = {
	"local", "global", "counter", "uptime", "perf",
	"mono", "mono_raw", "boot", "tai", "x86-tsc",
};

/* An unknown clock shows as local. Time stamps are used as they are in any case. */
static void import_set_clock(struct source *src)
{
	const char *name = source_clock(src);
	unsigned int id;

	for (id = 0; id < CLOCK_ID_COUNT; id++)
		/* Relaxed: independent of other data, and no record has passed yet. */
		if (!strcmp(name, clocks[id]))
			atomic_store_explicit(&src->model->top->state->clock, id,
					      memory_order_relaxed);
}

/* "Linux NAME 6.12.1 #1 ..." */
static void set_release(struct source *src)
{
	char release[65];

	if (!src->model->release && sscanf(source_uname(src), "%*s %*s %64s", release) == 1)
		src->model->release = strdup(release);
}

/* The rings have room for the whole recording, unless the user asks for another size. */
static int set_ring_sizes(struct source *src)
{
	uint64_t *bytes = calloc(src->model->nr_cpus, sizeof(*bytes)), most;
	uint32_t cpu;

	if (!bytes)
		return -ENOMEM;
	for (cpu = 0; cpu < src->model->nr_cpus && cpu < src->nr_cpus; cpu++)
		bytes[cpu] = source_ring_bytes(src, cpu);
	free(src->model->source_bytes);
	src->model->source_bytes = bytes;
	/*
	 * A file may claim more CPUs than there is memory for, and events that triggers make need
	 * rings on each of them, too.
	 */
	most = source_memory_rings(src->memory) / src->model->nr_cpus / 2;
	if (src->model->default_buffer_bytes > most)
		src->model->default_buffer_bytes = most;
	return 0;
}

/* Whether all files are of programs, none of a kernel. */
static bool of_programs(const struct source *src)
{
	bool all = true;

	for (unsigned int i = 0; i < src->window.nr_files; i++)
		all &= src->window.files[i]->of_programs;
	return all;
}

static bool has_records(void *src, uint32_t id)
{
	return window_has(&((struct source *)src)->window, id);
}

/* Takes what the source needs of the session, before anything is imported. */
static int enter_session(struct source *src, struct model *m, struct source_error *err)
{
	int ret;

	src->model = m;
	m->has_records = has_records;
	m->recording = src;
	m->of_programs = of_programs(src);
	src->plane = session_plane(m->session);
	src->slot = session_slot_get(m->session);
	if (!src->slot)
		return error_set(err, -EUSERS, "", "the session has no slot left");
	ret = task_names_create(&src->names, src->nr_cpus, &src->window.memory);
	if (!ret)
		ret = set_ring_sizes(src);
	if (!ret)
		ret = calls_listen(src);
	return ret ? error_set(err, ret, "", "out of memory") : 0;
}

static int import_rest(struct source *src, struct source_error *err)
{
	int ret = import_tables(src);

	if (ret == -EFBIG)
		return error_set(err, ret, src->window.files[0]->path,
				 "the tables of symbols and names are " SOURCE_MEMORY_TEXT);
	if (ret)
		return error_set(err, ret, "", "the tables of the recording: %s", strerror(-ret));
	if (src->has_functions)
		calls_offer(src);
	task_names_rules(&src->names, src->model);
	find_kinds(src);
	set_release(src);
	return 0;
}

int source_import_tables(struct source *src, struct model *m, struct source_error *err)
{
	int ret = enter_session(src, m, err);

	if (!ret)
		ret = formats_find(src, err);
	return ret ? ret : import_rest(src, err);
}

int source_import(struct source *src, struct model *m, struct source_error *err)
{
	int ret = model_set_imported(m);

	if (ret)
		return error_set(err, ret, "", "out of memory");
	ret = enter_session(src, m, err);
	if (!ret)
		ret = formats_import(src, err);
	if (!ret)
		ret = import_rest(src, err);
	if (ret)
		return ret;
	import_set_clock(src);
	/*
	 * As in the session that recorded them: hashed pointers of the user's own programs are
	 * useless.
	 */
	ret = m->of_programs ? option_set(m->top, OPTION_HASH_PTR, false) : 0;
	if (ret)
		return error_set(err, ret, "", "out of memory");
	/* Records of system ftrace go only to the top buffer, where they were recorded. */
	ret = model_arm_internal(m, m->top);
	return ret ? error_set(err, ret, "", "the events of system ftrace: %s", strerror(-ret)) : 0;
}
