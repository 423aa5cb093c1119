/* SPDX-License-Identifier: MIT */
/* trace_dat_v6.c - version 6: one sequence of parts, with the table of records at its end */
#include <stdlib.h>

#include "layout/layout.h"
#include "sources/recording/file/trace_dat.h"

enum { TAIL_NAME = 10 };

/* Reads a text that begins with its size in `width` bytes. */
static int v6_read_text(struct trace_dat *d, struct cursor *c, size_t width, const char *what,
			struct dat_piece *out)
{
	uint64_t size = cursor_number(c, width);

	return dat_piece_take(out, c, size) ? 0 : trace_dat_truncated(d, c, what);
}

static int read_formats(struct trace_dat *d, struct cursor *c)
{
	struct cursor start = *c;

	if (trace_dat_walk_ftrace(c, NULL, NULL))
		return trace_dat_truncated(d, c, "the formats of system ftrace");
	dat_piece_take(&d->ftrace_formats, &start, c->at - start.at);
	if (trace_dat_walk_events(c, NULL, NULL))
		return trace_dat_truncated(d, c, "the event formats");
	dat_piece_take(&d->event_formats, &start, c->at - start.at);
	return 0;
}

static int read_options(struct trace_dat *d, struct cursor *c)
{
	const uint8_t *data;
	struct cursor option;
	unsigned int id;
	uint32_t size;
	uint64_t at;
	int ret;

	for (;;) {
		id = cursor_u16(c);
		if (c->bad)
			return trace_dat_truncated(d, c, "the options");
		if (id == DAT_DONE)
			return 0;
		size = cursor_u32(c);
		at = cursor_offset(c);
		data = cursor_take(c, size);
		if (!data)
			return trace_dat_truncated(d, c, "the options");
		option = trace_dat_over(d, data, size, at);
		ret = trace_dat_option(d, id, &option);
		if (ret)
			return ret;
	}
}

static int read_cpu_table(struct trace_dat *d, struct cursor *c, const char *name)
{
	struct dat_buffer *b;
	int ret = trace_dat_add_buffer(d, cursor_offset(c), name, &b);

	for (uint32_t cpu = 0; b && !ret && !c->bad && cpu < d->nr_cpus; cpu++)
		ret = trace_dat_read_cpu(d, c, b, cpu, "the table of CPUs");
	return ret;
}

int trace_dat_tail_v6(struct trace_dat *d, struct cursor *c, const char *name)
{
	uint64_t at;
	int ret;

	if (cursor_match(c, "options  ", TAIL_NAME)) {
		ret = read_options(d, c);
		if (ret)
			return ret;
	}
	at = cursor_offset(c);
	if (cursor_match(c, "flyrecord", TAIL_NAME))
		return read_cpu_table(d, c, name);
	if (cursor_match(c, "latency  ", TAIL_NAME)) {
		d->latency = true;
		return 0;
	}
	return trace_dat_damage(d, at, "damaged or cut off: no table of CPUs");
}

int trace_dat_read_v6(struct trace_dat *d, struct cursor *c)
{
	uint64_t at;
	uint32_t nr;
	int ret;

	ret = trace_dat_parse_header(d, c);
	if (!ret)
		ret = read_formats(d, c);
	if (!ret)
		ret = v6_read_text(d, c, 4, "the kernel's symbols", &d->kallsyms);
	if (!ret)
		ret = v6_read_text(d, c, 4, "the printk formats", &d->printk);
	if (!ret)
		ret = v6_read_text(d, c, 8, "the task names", &d->cmdlines);
	if (ret)
		return ret;
	at = cursor_offset(c);
	nr = cursor_u32(c);
	if (c->bad)
		return trace_dat_truncated(d, c, "the number of CPUs");
	if (!nr || nr > LAYOUT_MAX_CPUS)
		return trace_dat_damage(d, at, "damaged: %u CPUs", nr);
	d->nr_cpus = nr;
	return trace_dat_tail_v6(d, c, "");
}
