/* SPDX-License-Identifier: MIT */
/*
 * event.c - prints an event by its print fmt, or as the kernel's own functions do for system calls,
 * synthetic events and probes
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "model/dynamic/eprobe.h"
#include "model/dynamic/events.h"
#include "model/dynamic/place.h"
#include "model/parameters.h"
#include "plane/code.h"
#include "show/state.h"

/* All print fmts of a kernel together take less. */
enum { EVENTS_BYTES_MAX = 16 << 20 };

static const struct print_record *bytes_of(const struct show_record *r)
{
	return &r->at;
}

static uint64_t field_number(const struct show_event *e, int k, const struct show_record *r)
{
	return record_load(r, e->at[k], e->bytes[k]);
}

static void named(struct show *s, const struct show_event *e)
{
	text_puts(&s->text, e->event->name);
	text_put(&s->text, ": ", 2);
	s->mark = s->text.len;
}

/* ---- any event ---- */

static void event_format_text(struct show *s, const struct show_event *e,
			      const struct show_record *r)
{
	named(s, e);
	print_format_print(e->format, &s->env, bytes_of(r), &s->text);
	text_putc(&s->text, '\n');
}

/* ---- syscalls: sys_enter_X, sys_exit_X ---- */

/* The number of the call is the first field behind the common ones; older kernels name it nr. */
bool show_is_argument(const struct field *fields, unsigned int i)
{
	const bool first = !i || fields[i - 1].common;

	if (fields[i].common)
		return false;
	return !first || (strcmp(fields[i].name, "__syscall_nr") && strcmp(fields[i].name, "nr"));
}

static void syscall_name(struct show *s, const struct show_event *e, size_t prefix)
{
	text_put(&s->text, "sys_", 4);
	text_puts(&s->text, e->event->name + prefix);
}

static void enter_text(struct show *s, const struct show_event *e, const struct show_record *r)
{
	const struct field *f;
	unsigned int nr, i;
	bool first = true;

	if (s->model->calls_have_texts) {
		show_call(s, e, r);
		return;
	}

	syscall_name(s, e, strlen("sys_enter_"));
	text_putc(&s->text, '(');
	f = event_fields(e->event, &nr);
	for (i = 0; f && i < nr; i++) {
		if (!show_is_argument(f, i))
			continue;
		if (!first)
			text_put(&s->text, ", ", 2);
		first = false;
		if (show_option(s, OPTION_VERBOSE)) {
			text_puts(&s->text, f[i].type);
			text_putc(&s->text, ' ');
		}
		text_puts(&s->text, f[i].name);
		text_put(&s->text, ": ", 2);
		text_hex(&s->text, record_number(r, &f[i]), 1);
	}
	text_put(&s->text, ")\n", 2);
}

static void exit_text(struct show *s, const struct show_event *e, const struct show_record *r)
{
	syscall_name(s, e, strlen("sys_exit_"));
	text_puts(&s->text, " -> 0x");
	text_hex(&s->text, field_number(e, 0, r), 1);
	text_putc(&s->text, '\n');
}

/* ---- synthetic events ---- */

static const char *synthetic_conversion(const struct field *f)
{
	static const struct {
		const char	*type, *conversion;
	} types[] = {
		{ "s64", "%lld" }, { "u64", "%llu" },
		{ "s32", "%d" },	 { "u32", "%u" },
		{ "s16", "%d" },	 { "u16", "%u" },
		{ "s8", "%d" },	 { "u8", "%u" },
		{ "char", "%d" },	 { "unsigned char", "%u" },
		{ "int", "%d" },	 { "unsigned int", "%u" },
		{ "long", "%ld" }, { "unsigned long", "%lu" },
		{ "bool", "%d" },	 { "pid_t", "%d" },
		{ "gfp_t", "%x" },
	};
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].type, f->type))
			return types[i].conversion;
	return strchr(f->type, '[') ? "%s" : "%llu";
}

static void synthetic_number(struct show *s, const struct field *f, const char *conversion,
			     uint64_t v)
{
	struct show_spec spec = { .width = -1, .precision = -1, .base = 10 };

	spec.base = strchr(conversion, 'x') ? 16 : 10;
	spec.is_signed = strchr(conversion, 'd');
	/*
	 * The kernel passes a field smaller than an int as an unsigned int, so it prints without a
	 * sign.
	 */
	if (spec.is_signed && f->size == 4)
		v = (uint64_t)(int32_t)v;
	text_puts(&s->text, f->name);
	text_putc(&s->text, '=');
	text_number(&s->text, v, &spec);
}

/* The bytes that a __data_loc field or an array in the record holds. */
static const uint8_t *field_bytes(const struct field *f, const struct show_record *r, uint32_t *len)
{
	uint32_t loc = (uint32_t)record_load(r, f->offset, 4), at = f->offset, n = f->size;

	if (!strncmp(f->type, "__data_loc", 10) || !strncmp(f->type, "__rel_loc", 9)) {
		at = (loc & 0xffff) + (f->type[2] == 'r' ? f->offset + 4u : 0);
		n = loc >> 16;
	}
	*len = at > r->at.size || n > r->at.size - at ? 0 : n;
	return r->at.data + (*len ? at : 0);
}

/* As in the kernel, an array's text may be longer than the array: it has room in the record. */
static void synthetic_string(struct show *s, const struct field *f, const struct show_record *r)
{
	uint32_t len;
	const uint8_t *p = field_bytes(f, r, &len);

	if (len && strncmp(f->type, "__data_loc", 10)) {
		len = (uint32_t)(r->at.size - f->offset);
		len = len < STRING_ROOM ? len : STRING_ROOM;
	}
	text_puts(&s->text, f->name);
	text_putc(&s->text, '=');
	text_put(&s->text, p, strnlen((const char *)p, len));
}

static void synthetic_stack(struct show *s, const struct field *f, const struct show_record *r)
{
	uint32_t len, i;
	const uint8_t *p = field_bytes(f, r, &len);
	uint64_t ip;

	text_puts(&s->text, f->name);
	text_puts(&s->text, "=STACK:\n");
	for (i = 1; i < len / 8; i++) {
		memcpy(&ip, p + i * 8, 8);
		text_put(&s->text, "=> ", 3);
		if (!print_symbol(&s->env, ip, PRINT_SYMBOL_OFFSET | PRINT_SYMBOL_MODULE, &s->text))
			text_printf(&s->text, "0x%llx", (unsigned long long)ip);
		text_putc(&s->text, '\n');
	}
}

static void synthetic_field(struct show *s, const struct field *f, const struct show_record *r,
			    bool last)
{
	const char *conversion = synthetic_conversion(f);
	uint64_t v;

	if (show_option(s, OPTION_VERBOSE)) {
		text_puts(&s->text, conversion);
		text_putc(&s->text, ' ');
	}
	if (f->kind == FIELD_STACKTRACE) {
		synthetic_stack(s, f, r);
		return;
	}
	if (conversion[1] == 's') {
		synthetic_string(s, f, r);
	} else {
		v = record_load(r, f->offset, f->size < 8 ? f->size : 8);
		synthetic_number(s, f, conversion, v);
	}
	if (!last)
		text_putc(&s->text, ' ');
	if (strcmp(f->type, "gfp_t"))
		return;
	text_put(&s->text, " (", 2);
	print_gfp_flags(record_load(r, f->offset, 8), &s->text);
	/* The kernel prints the terminating 0 into the line. */
	text_put(&s->text, "\0)", 2);
}

static void synthetic_text(struct show *s, const struct show_event *e, const struct show_record *r)
{
	const struct field *f;
	unsigned int nr, i;

	named(s, e);
	f = event_fields(e->event, &nr);
	for (i = 0; f && i < nr; i++)
		if (!f[i].common)
			synthetic_field(s, &f[i], r, i + 1 == nr);
	text_putc(&s->text, '\n');
}

/* ---- probes: at[] is __probe_ip, or __probe_ret_ip and __probe_func, or __probe_type ---- */

/* Whether the addresses are printed as symbols: a kprobe's, also where programs are the kernel. */
static bool probe_is_kernels(const struct show_event *e, uint64_t ip)
{
	const struct dynamic_event *made = e->event->made;

	if (made)
		return made->kind == &kprobe_kind;
	/* Recorded: only the name of the system tells what the probe of a program was. */
	return ip >> 63 || !strcmp(e->event->system->name, "kprobes");
}

static void probe_ip(struct show *s, const struct show_event *e, uint64_t ip, bool offset)
{
	if (probe_is_kernels(e, ip)) {
		show_ip(s, ip, offset);
		return;
	}
	/* An address in user space. */
	text_put(&s->text, "0x", 2);
	text_hex(&s->text, ip, 1);
}

static void probe_end(struct show *s, const struct show_event *e, const struct show_record *r)
{
	const struct probe_place *place = place_of_event(e->event);

	text_putc(&s->text, ')');
	if (place)
		show_probe_args(s, &place->probe, r);
	else
		print_format_print(e->format, &s->env, bytes_of(r), &s->text);
	text_putc(&s->text, '\n');
}

static void probe_text(struct show *s, const struct show_event *e, const struct show_record *r)
{
	named(s, e);
	text_putc(&s->text, '(');
	probe_ip(s, e, field_number(e, 0, r), true);
	probe_end(s, e, r);
}

static void return_probe_text(struct show *s, const struct show_event *e,
			      const struct show_record *r)
{
	named(s, e);
	text_putc(&s->text, '(');
	probe_ip(s, e, field_number(e, 0, r), true);
	text_put(&s->text, " <- ", 4);
	probe_ip(s, e, field_number(e, 1, r), false);
	probe_end(s, e, r);
}

static void event_probe_text(struct show *s, const struct show_event *e,
			     const struct show_record *r)
{
	uint32_t id = (uint32_t)record_load(r, e->at[0], 4);
	const struct event *probed = model_event_by_id(s->model, id);

	named(s, e);
	if (probed)
		text_printf(&s->text, "(%s.%s", probed->system->name, probed->name);
	else
		text_printf(&s->text, "(%u", id);
	probe_end(s, e, r);
}

/* ---- fields ---- */

/* Prints the bytes of a dynamic array that pass the kernel's check. */
static void array_bytes(struct show *s, const struct field *f, const struct show_record *r)
{
	uint32_t len, i;
	const uint8_t *p = field_bytes(f, r, &len);

	if (!len && record_load(r, f->offset, 4) >> 16) {
		text_puts(&s->text, "<OVERFLOW>");
		return;
	}
	for (i = 0; i < len; i++) {
		if (i)
			text_putc(&s->text, ',');
		show_piece(s);
		text_hex(&s->text, p[i], 2);
		show_piece(s);
	}
}

static void string_bytes(struct show *s, const struct field *f, const struct show_record *r)
{
	uint32_t len;
	const uint8_t *p = field_bytes(f, r, &len);

	if (!len && f->kind != FIELD_STATIC_STRING && record_load(r, f->offset, 4) >> 16)
		text_puts(&s->text, "<OVERFLOW>");
	else
		text_put(&s->text, p, strnlen((const char *)p, len));
}

static void string_pointer(struct show *s, uint64_t address, int digits)
{
	const char *text = print_string_at(&s->env, address);

	text_puts(&s->text, "(0x");
	text_hex(&s->text, address, digits);
	if (text) {
		text_putc(&s->text, ':');
		text_puts(&s->text, text);
	}
	text_putc(&s->text, ')');
}

/* Whether the kernel's isprint() is true: it knows the letters of ISO 8859-1. */
static bool is_shown(unsigned char c)
{
	return (c >= ' ' && c < 0x7f) || c >= 0xa0;
}

static void number_field(struct show *s, const struct field *f, const struct show_record *r)
{
	uint64_t v = record_load(r, f->offset, f->size);

	switch (f->size) {
	case 1:
		if (is_shown((unsigned char)v))
			text_printf(&s->text, "'%c'", (char)v);
		text_printf(&s->text, "(%d)", (int)v);
		break;
	case 2:
		text_printf(&s->text, "0x%x (%d)", (unsigned int)v, (int)v);
		break;
	case 4:
		text_printf(&s->text, "0x%x (%d)", (unsigned int)v, (int)v);
		break;
	default:
		text_printf(&s->text, "0x%llx (%lld)", (unsigned long long)v, (long long)v);
	}
}

static void show_field(struct show *s, const struct field *f, const struct show_record *r)
{
	bool dynamic = !strncmp(f->type, "__data_loc", 10) || !strncmp(f->type, "__rel_loc", 9);

	if ((uint32_t)f->offset + f->size > r->at.size)
		text_puts(&s->text, "<OVERFLOW>");
	else if (f->kind == FIELD_STATIC_STRING || f->kind == FIELD_DYN_STRING ||
		 f->kind == FIELD_RDYN_STRING)
		string_bytes(s, f, r);
	else if (f->kind == FIELD_PTR_STRING)
		string_pointer(s, record_number(r, f), 2 * number_bytes(f));
	else if (f->kind == FIELD_CPUMASK || f->kind == FIELD_STACKTRACE)
		text_puts(&s->text, "<INVALID-TYPE>");
	else if (f->size == 4 && dynamic)
		array_bytes(s, f, r);
	else if (f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8)
		number_field(s, f, r);
	else
		text_puts(&s->text, "<INVALID-SIZE>");
}

/* Prints the record's fields: with option fields, or if the print fmt cannot be parsed. */
static void field_list(struct show *s, const struct show_event *e, const struct show_record *r)
{
	const struct field *f;
	unsigned int nr, i;

	text_puts(&s->text, e->event->name);
	text_putc(&s->text, ':');
	s->mark = s->text.len;
	f = event_fields(e->event, &nr);
	for (i = 0; f && i < nr; i++) {
		if (f[i].common)
			continue;
		text_putc(&s->text, ' ');
		text_puts(&s->text, f[i].name);
		text_putc(&s->text, '=');
		show_piece(s);
		show_field(s, &f[i], r);
		show_piece(s);
	}
	text_putc(&s->text, '\n');
}

/* The kernel takes the first event behind its own types for one of them. */
enum { LAST_TYPE = 20 };

void show_fields(struct show *s, const struct show_event *e, const struct show_record *r)
{
	if (e->internal || record_type(r) == LAST_TYPE)
		text_printf(&s->text, "UNKNOWN TYPE %u\n", record_type(r));
	else
		field_list(s, e, r);
}

/* ---- the functions of an event ---- */

static bool find_offset(struct show_event *e, int k, const char *name)
{
	const struct field *f = event_find_field(e->event, name);

	if (!f)
		return false;
	e->at[k] = f->offset;
	e->bytes[k] = number_bytes(f);
	return true;
}

/* The print fmt of a probe begins with addresses, which this code prints in another way. */
static bool probe_functions(struct show_event *e)
{
	if (find_offset(e, 0, "__probe_ret_ip") && find_offset(e, 1, "__probe_func")) {
		e->text = return_probe_text;
		e->no_memory = print_format_create_from(e->event, ")", 2, &e->format) == -ENOMEM;
	} else if (find_offset(e, 0, "__probe_ip")) {
		e->text = probe_text;
		e->no_memory = print_format_create_from(e->event, ")", 1, &e->format) == -ENOMEM;
	} else if (find_offset(e, 0, "__probe_type")) {
		e->text = event_probe_text;
		e->no_memory = print_format_create(e->event, &e->format) == -ENOMEM;
	} else {
		return false;
	}
	print_format_faults(e->format);
	/* What the session has defined is printed by its arguments: an array may have texts. */
	return e->format || place_of_event(e->event);
}

static bool syscall_functions(struct show_event *e)
{
	const struct event *event = e->event;

	if (strcmp(event->system->name, "syscalls"))
		return false;
	if (!strncmp(event->name, "sys_enter_", 10))
		e->text = enter_text;
	else if (!strncmp(event->name, "sys_exit_", 9) && find_offset(e, 0, "ret"))
		e->text = exit_text;
	return e->text;
}

static void graph_fields(struct show_event *e)
{
	if (!find_offset(e, GRAPH_AT_FUNC, "func") || !find_offset(e, GRAPH_AT_DEPTH, "depth"))
		return;
	if (strcmp(e->event->name, "funcgraph_exit") != 0)
		e->kind = SHOW_GRAPH_ENTRY;
	else if (find_offset(e, GRAPH_AT_CALLTIME, "calltime") &&
		 find_offset(e, GRAPH_AT_RETTIME, "rettime"))
		e->kind = SHOW_GRAPH_EXIT;
	/* Some kernels lack these fields; then they read as 0. */
	if (!find_offset(e, GRAPH_AT_ARGS, "args"))
		e->at[GRAPH_AT_ARGS] = UINT16_MAX;
	if (!find_offset(e, GRAPH_AT_RETADDR, "retaddr"))
		e->at[GRAPH_AT_RETADDR] = e->event->model->of_programs ?
					  e->at[GRAPH_AT_ARGS] + 8 * PARAMETER_REGISTERS :
					  UINT16_MAX;
	if (!find_offset(e, GRAPH_AT_OVERRUN, "overrun"))
		e->at[GRAPH_AT_OVERRUN] = UINT16_MAX;
	if (!find_offset(e, GRAPH_AT_RETVAL, "retval"))
		e->at[GRAPH_AT_RETVAL] = UINT16_MAX;
}

/* Entry and exit of functions print by their print fmt unless the tracer draws the graph. */
static bool graph_functions(struct show_event *e)
{
	if (strncmp(e->event->name, "funcgraph_", 10) &&
	    strcmp(e->event->name, GRAPH_RETADDR_ENTRY) != 0)
		return false;
	graph_fields(e);
	e->no_memory = print_format_create(e->event, &e->format) == -ENOMEM;
	e->text = event_format_text;
	return e->format;
}

static bool find_functions(struct show_event *e)
{
	const struct event *event = e->event;

	e->internal = !strcmp(event->system->name, "ftrace");
	if (e->internal)
		return show_internal_event(e) || graph_functions(e);
	if (syscall_functions(e))
		return true;
	if (!strcmp(event->system->name, "synthetic")) {
		e->text = synthetic_text;
		return true;
	}
	if (eprobe_of_event(event)) {
		e->text = show_eprobe;
		return true;
	}
	if (probe_functions(e))
		return true;
	e->no_memory = print_format_create(e->event, &e->format) == -ENOMEM;
	e->text = e->format ? event_format_text : field_list;
	return true;
}

static struct show_event *event_create(struct event *event)
{
	struct show_event *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->event = event;
	e->identity = event->saved;
	if (event_need_fields(event) == -ENOMEM)
		e->no_memory = true;
	else if (!find_functions(e))
		e->text = NULL;
	return e;
}

static void event_destroy(struct show_event *e)
{
	if (e)
		print_format_destroy(e->format);
	free(e);
}

struct show_event *show_event_of(struct show *s, const struct show_record *r)
{
	uint16_t id = record_type(r);
	struct event *event = model_event_by_id(s->model, id);
	struct show_event *e;

	if (!s->events)
		s->events = calloc(LAYOUT_MAX_EVENTS, sizeof(struct show_event *));
	s->text.failed |= !s->events;
	if (!event || !s->events)
		return NULL;
	e = s->events[id];
	if (!e || e->event != event || e->identity != event->saved) {
		event_destroy(e);
		e = s->events[id] = event_create(event);
		s->events_bytes += e ? print_format_bytes(e->format) : 0;
		s->text.failed |= !e || e->no_memory;
	}
	return e && e->text ? e : NULL;
}

void show_events_free(struct show *s)
{
	unsigned int id;

	for (id = 0; s->events && id < LAYOUT_MAX_EVENTS; id++)
		event_destroy(s->events[id]);
	free(s->events);
	s->events = NULL;
	s->events_bytes = 0;
}

void show_events_trim(struct show *s)
{
	if (s->events_bytes > EVENTS_BYTES_MAX)
		show_events_free(s);
}
