/* SPDX-License-Identifier: MIT */
/*
 * trace_dat_options.c - the options of a trace.dat; most point to other parts of the file
 *
 * Unknown options are skipped, and those that a replay does not use: hook, version, procmaps, trace
 * id, guest, strings.
 */
#include <errno.h>
#include <stdlib.h>

#include "layout/layout.h"
#include "sources/recording/file/times.h"
#include "sources/recording/file/trace_dat.h"

/* These options have a text of a line or a page. */
enum { TEXT_MAX = 65536 };

/* In nanoseconds: DATE has microseconds. */
enum { DATE_UNIT = 1000, OFFSET_UNIT = 1 };

static int set_text(struct trace_dat *d, struct cursor *c, char **out)
{
	const size_t left = cursor_left(c);

	free(*out);
	*out = strndup((const char *)c->at, left < TEXT_MAX ? left : TEXT_MAX);
	return *out ? 0 : error_set(d->err, -ENOMEM, d->path, "out of memory");
}

/*
 * Of "local [global] counter ..." the clock is the name in brackets. A text without brackets is the
 * name itself.
 */
static int dat_options_set_clock(struct trace_dat *d, struct cursor *c)
{
	char *text = NULL, *name, *end;
	int ret = set_text(d, c, &text);

	if (ret)
		return ret;
	name = strchr(text, '[');
	name = name ? name + 1 : text;
	end = name + strcspn(name, "] \n");
	*end = 0;
	free(d->clock);
	d->clock = strdup(name);
	free(text);
	return d->clock ? 0 : error_set(d->err, -ENOMEM, d->path, "out of memory");
}

static uint64_t stat_value(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* Adds the losses in a text of per_cpu/cpuN/stats, from the machine that recorded. */
static int add_losses(struct trace_dat *d, struct cursor *c)
{
	char *text = NULL;
	int ret = set_text(d, c, &text);

	if (ret)
		return ret;
	d->lost += stat_value(text, "\noverrun: ") + stat_value(text, "\ncommit overrun: ") +
		   stat_value(text, "\ndropped events: ");
	free(text);
	return 0;
}

/* Version 6: the offset of another "flyrecord" table, and the instance's name. */
static int add_buffer_v6(struct trace_dat *d, struct cursor *c)
{
	uint64_t offset = cursor_u64(c);
	const char *name = cursor_string(c);
	struct cursor table;

	if (!name)
		return trace_dat_truncated(d, c, "the option of a buffer");
	if (offset >= d->size)
		return trace_dat_damage(d, d->size, "cut off: the buffer %.64s should be at %llu",
					name, (unsigned long long)offset);
	table = trace_dat_cursor(d, offset);
	/* The table must not contain options, because these could lead back here for ever. */
	if (table.end - table.at >= 10 && !memcmp(table.at, "options  ", 10))
		return trace_dat_damage(d, offset, "damaged: options inside a buffer");
	return trace_dat_tail_v6(d, &table, name);
}

static int read_buffer_cpus(struct trace_dat *d, struct cursor *c, struct dat_buffer *b)
{
	uint32_t nr = cursor_u32(c);
	int ret = 0;

	/* With `partial` a cut-off table is noted, and is no error. */
	while (nr-- && !ret && !c->bad)
		ret = trace_dat_read_cpu(d, c, b, cursor_u32(c), "the option of a buffer");
	return ret;
}

static bool page_size_valid(uint32_t size)
{
	return size >= 4096 && size <= 1 << 20;
}

static int add_buffer_v7(struct trace_dat *d, struct cursor *c)
{
	uint64_t at = cursor_offset(c);
	uint64_t offset = cursor_u64(c);
	const char *name = cursor_string(c);
	const char *clock = cursor_string(c);
	uint32_t page_size = cursor_u32(c);
	struct cursor section = trace_dat_cursor(d, offset);
	struct dat_buffer *b;
	int ret;

	if (c->bad)
		return trace_dat_truncated(d, c, "the option of a buffer");
	if (!page_size_valid(page_size))
		return trace_dat_damage(d, at, "damaged: sub-buffers of %u bytes", page_size);
	ret = trace_dat_add_buffer(d, at, name, &b);
	if (!b)
		return ret;
	b->clock = clock[0] ? strndup(clock, TEXT_MAX) : NULL;
	b->page_size = page_size;
	if (cursor_u16(&section) != DAT_BUFFER && !section.bad)
		return trace_dat_damage(d, offset, "damaged: no section of a buffer here");
	b->compressed = cursor_u16(&section) & 1;
	return read_buffer_cpus(d, c, b);
}

/* Reads a text that has a section of its own and begins with its size in `width` bytes. */
static int read_section_text(struct trace_dat *d, uint64_t offset, unsigned int id, size_t width,
			     struct dat_piece *p)
{
	int ret = trace_dat_section(d, offset, id, p);
	struct cursor c;

	if (ret || !p->data)
		return ret;
	c = trace_dat_over(d, p->data, p->size, p->offset);
	if (dat_piece_take(p, &c, cursor_number(&c, width)))
		return 0;
	return trace_dat_truncated(d, &c, "a table of texts");
}

static int read_header_section(struct trace_dat *d, uint64_t offset)
{
	int ret = trace_dat_section(d, offset, DAT_HEADER_INFO, &d->header_info);
	struct cursor c;

	if (ret || !d->header_info.data)
		return ret;
	c = trace_dat_over(d, d->header_info.data, d->header_info.size, offset);
	return trace_dat_parse_header(d, &c);
}

static int section_option(struct trace_dat *d, unsigned int id, struct cursor *c)
{
	uint64_t offset = cursor_u64(c);

	if (c->bad)
		return trace_dat_truncated(d, c, "an option");
	switch (id) {
	case DAT_HEADER_INFO:
		return read_header_section(d, offset);
	case DAT_FTRACE_EVENTS:
		return trace_dat_section(d, offset, id, &d->ftrace_formats);
	case DAT_EVENT_FORMATS:
		return trace_dat_section(d, offset, id, &d->event_formats);
	case DAT_KALLSYMS:
		return read_section_text(d, offset, id, 4, &d->kallsyms);
	case DAT_PRINTK:
		return read_section_text(d, offset, id, 4, &d->printk);
	default:
		return read_section_text(d, offset, id, 8, &d->cmdlines);
	}
}

static int set_cpus(struct trace_dat *d, struct cursor *c)
{
	uint64_t at = cursor_offset(c);
	uint32_t nr = cursor_u32(c);

	if (c->bad)
		return trace_dat_truncated(d, c, "the number of CPUs");
	if (!nr || nr > LAYOUT_MAX_CPUS)
		return trace_dat_damage(d, at, "damaged: %u CPUs", nr);
	d->nr_cpus = nr;
	return 0;
}

int trace_dat_option(struct trace_dat *d, unsigned int id, struct cursor *c)
{
	switch (id) {
	case DAT_DATE:
		return times_read_distance(d, c, DATE_UNIT);
	case DAT_OFFSET:
		return times_read_distance(d, c, OFFSET_UNIT);
	case DAT_TIME_SHIFT:
		return times_read_shift(d, c);
	case DAT_TSC2NSEC:
		return times_read_cycles(d, c);
	case DAT_CPUSTAT:
		return add_losses(d, c);
	case DAT_BUFFER:
		return d->version == 6 ? add_buffer_v6(d, c) : add_buffer_v7(d, c);
	case DAT_TRACECLOCK:
		return dat_options_set_clock(d, c);
	case DAT_UNAME:
		return set_text(d, c, &d->uname);
	case DAT_CPUCOUNT:
		return set_cpus(d, c);
	case DAT_HEADER_INFO ... DAT_CMDLINES:
		return d->version == 7 ? section_option(d, id, c) : 0;
	case DAT_BUFFER_TEXT:
		d->latency = true;
		return 0;
	default:
		return 0;
	}
}
