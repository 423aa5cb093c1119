/* SPDX-License-Identifier: MIT */
/* record.c - prints one record in the form that the trace options choose */
#include <string.h>

#include "show/state.h"
#include "model/tracer.h"

enum { LINE_MAX_BYTES = 8155 };	/* the size of the kernel's line buffer */

static const char too_big[] = "[LINE TOO BIG]\n";

void show_piece(struct show *s)
{
	if (s->text.len - s->line <= LINE_MAX_BYTES)
		s->mark = s->text.len;
}

/* The note needs room, too: after many small pieces there is none, and no end of the line. */
static void cut_line(struct show *s)
{
	s->text.len = s->mark;
	if (s->mark - s->line + strlen(too_big) <= LINE_MAX_BYTES)
		text_puts(&s->text, too_big);
}

static void type_text(struct show *s, const struct show_record *r)
{
	text_printf(&s->text, "type: %u\n", record_type(r));
}

static void started_line(struct show *s, const struct show_record *r)
{
	uint64_t bit = 1ull << (r->cpu % 64);

	if (s->pipe || !s->annotate || !show_option(s, OPTION_ANNOTATE) ||
	    r->cpu >= LAYOUT_MAX_CPUS)
		return;
	if (s->started[r->cpu / 64] & bit)
		return;
	s->started[r->cpu / 64] |= bit;
	if (s->index > 1)
		text_printf(&s->text, "##### CPU %u buffer started ####\n", r->cpu);
}

static void hex_column(struct show *s, uint64_t v, int digits)
{
	text_hex(&s->text, v, digits);
	text_putc(&s->text, ' ');
}

static void show_binary(struct show *s, const struct show_event *e, const struct show_record *r)
{
	int32_t pid = record_pid(r);

	if (show_option(s, OPTION_CONTEXT_INFO)) {
		text_put(&s->text, &pid, 4);
		text_put(&s->text, &r->cpu, 4);
		text_put(&s->text, &r->time, 8);
	}
	if (e && e->binary)
		e->binary(s, e, r);
	else if (e)
		type_text(s, r);
}

static void show_hex(struct show *s, const struct show_event *e, const struct show_record *r)
{
	if (show_option(s, OPTION_CONTEXT_INFO)) {
		hex_column(s, (uint32_t)record_pid(r), 8);
		hex_column(s, r->cpu, 8);
		hex_column(s, r->time, 16);
	}
	if (e && e->hex)
		e->hex(s, e, r);
	else if (e)
		type_text(s, r);
	text_putc(&s->text, '\n');
}

static void show_raw(struct show *s, const struct show_event *e, const struct show_record *r)
{
	if (show_option(s, OPTION_CONTEXT_INFO))
		text_printf(&s->text, "%d %u %llu ", record_pid(r), r->cpu,
			    (unsigned long long)r->time);
	if (e && e->raw)
		e->raw(s, e, r);
	else if (e)
		type_text(s, r);
	else
		text_printf(&s->text, "%u ?\n", record_type(r));
}

static void show_text(struct show *s, const struct show_event *e, const struct show_record *r,
		      uint64_t next_time)
{
	started_line(s, r);
	if (show_option(s, OPTION_CONTEXT_INFO))
		show_context(s, r, next_time);
	s->mark = s->text.len;
	if (!e)
		text_printf(&s->text, "Unknown type %u\n", record_type(r));
	else if (show_option(s, OPTION_FIELDS))
		show_fields(s, e, r);
	else if (!s->tracer->print_text || !s->tracer->print_text(s, e, r))
		e->text(s, e, r);
}

void show_one(struct show *s, const struct show_record *r, uint64_t next_time)
{
	const struct show_event *e;

	show_events_trim(s);
	e = show_event_of(s, r);
	s->line = s->mark = s->text.len;
	show_lost(s, r);
	if (s->tracer->print_line && s->tracer->print_line(s, e, r))
		;
	else if (e && e->message && show_option(s, OPTION_TRACE_PRINTK) &&
		 show_option(s, OPTION_PRINTK_MSG_ONLY))
		e->message(s, e, r);
	else if (show_option(s, OPTION_BIN))
		show_binary(s, e, r);
	else if (show_option(s, OPTION_HEX))
		show_hex(s, e, r);
	else if (show_option(s, OPTION_RAW))
		show_raw(s, e, r);
	else
		show_text(s, e, r, next_time);
	if (s->text.len - s->line > LINE_MAX_BYTES)
		cut_line(s);
}
