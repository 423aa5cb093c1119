/* SPDX-License-Identifier: MIT */
/*
 * call.c - prints sys_enter_X as Linux does since 6.19: with the texts that arguments point to
 *
 *     sys_openat(dfd: 4294967196, filename: 140736 "/etc/passwd", flags: O_RDONLY|O_CLOEXEC)
 *     sys_write(fd: 1, buf: 0x56430f353be0 (68:69:0a) "hi.", count: 3)
 *
 * The text of argument `filename` is the field __filename_val, which is a __data_loc.
 */
#include <stdlib.h>

#include "show/state.h"

enum { CALL_NAME_ROOM = 128 };

static bool call_is_argument(const struct field *fields, unsigned int i)
{
	return show_is_argument(fields, i) && strncmp(fields[i].type, "__data_loc", 10);
}

static uint64_t argument(const struct field *f, const struct show_record *r)
{
	return record_number(r, f);
}

/* The field with what the argument points to; NULL: it has none */
static const struct field *pointed(const struct show_event *e, const struct field *f)
{
	char name[CALL_NAME_ROOM];

	snprintf(name, sizeof(name), "__%s_val", f->name);
	return event_find_field(e->event, name);
}

/* Its bytes; what lies outside the record has none. */
static const char *pointed_bytes(const struct field *f, const struct show_record *r, uint32_t *len)
{
	const uint32_t loc = (uint32_t)record_load(r, f->offset, 4), at = loc & 0xffff;

	*len = loc >> 16;
	if (at > r->at.size || *len > r->at.size - at)
		*len = 0;
	return (const char *)r->at.data + (*len ? at : 0);
}

static void call_string(struct show *s, const struct field *f, const struct show_record *r)
{
	uint32_t len;
	const char *bytes = pointed_bytes(f, r, &len);

	text_put(&s->text, " \"", 2);
	text_put(&s->text, bytes, strnlen(bytes, len));
	text_putc(&s->text, '"');
}

static bool call_is_plain(char c)
{
	return c >= ' ' && c < 0x7f;
}

/* count: how many bytes the call has */
static void call_bytes(struct show *s, const struct field *f, const struct show_record *r,
		       int count)
{
	uint32_t len;
	const char *bytes = pointed_bytes(f, r, &len);
	bool any = false;

	text_put(&s->text, " (", 2);
	for (uint32_t i = 0; i < len; i++) {
		if (i)
			text_putc(&s->text, ':');
		text_hex(&s->text, (unsigned char)bytes[i], 2);
		any |= call_is_plain(bytes[i]);
	}
	if ((int)len < count)
		text_puts(&s->text, ", ...");
	text_putc(&s->text, ')');
	if (!any)
		return;
	text_put(&s->text, " \"", 2);
	for (uint32_t i = 0; i < len; i++)
		text_putc(&s->text, call_is_plain(bytes[i]) ? bytes[i] : '.');
	text_puts(&s->text, (int)len < count ? "\"..." : "\"");
}

/* Whether the print fmt shows it as bytes. */
static bool is_bytes(const struct show_event *e, const struct field *f)
{
	char call[CALL_NAME_ROOM];

	snprintf(call, sizeof(call), "__print_dynamic_array(%s,", f->name);
	return strstr(e->event->format, call) != NULL;
}

static void call_pointed(struct show *s, const struct show_event *e, const struct field *f,
			 const struct show_record *r)
{
	const struct field *p = pointed(e, f);
	unsigned int nr;
	const struct field *fields = event_fields(e->event, &nr);

	if (!p)
		return;
	/* The kernel reads bytes only where their number is the next argument. */
	if (f + 1 < fields + nr && is_bytes(e, p))
		call_bytes(s, p, r, (int)argument(f + 1, r));
	else
		call_string(s, p, r);
}

/* ---- openat ---- */

/* In the kernel's order, with the values of x86; the print fmt has those of the machine. */
static const struct {
	const char	*name;
	uint32_t	value;
} open_flags[] = {
	{ "O_TMPFILE", 0x410000 }, { "O_WRONLY", 1 }, { "O_RDWR", 2 }, { "O_CREAT", 0x40 },
	{ "O_EXCL", 0x80 }, { "O_NOCTTY", 0x100 }, { "O_TRUNC", 0x200 }, { "O_APPEND", 0x400 },
	{ "O_NONBLOCK", 0x800 }, { "O_DSYNC", 0x1000 }, { "O_DIRECT", 0x4000 },
	{ "O_LARGEFILE", 0x8000 }, { "O_DIRECTORY", 0x10000 }, { "O_NOFOLLOW", 0x20000 },
	{ "O_NOATIME", 0x40000 }, { "O_CLOEXEC", 0x80000 },
};

enum { OPEN_TMPFILE = 0, OPEN_CREAT = 3, OPEN_FLAGS = sizeof(open_flags) / sizeof(*open_flags),
       OPEN_TMPFILE_ITSELF = 0x400000 };

/* "{ 0x40, "O_CREAT" }" */
static uint32_t open_flag(const struct show_event *e, unsigned int i)
{
	char quoted[32];
	const char *at;

	/* It is not in the print fmt. It contains O_DIRECTORY. */
	if (i == OPEN_TMPFILE) {
		for (i++; strcmp(open_flags[i].name, "O_DIRECTORY"); i++)
			;
		return OPEN_TMPFILE_ITSELF | open_flag(e, i);
	}
	snprintf(quoted, sizeof(quoted), ", \"%s\" }", open_flags[i].name);
	at = strstr(e->event->format, quoted);
	while (at && at > e->event->format && *at != '{')
		at--;
	return at && *at == '{' ? (uint32_t)strtoul(at + 1, NULL, 0) : open_flags[i].value;
}

static void call_open_flags(struct show *s, const struct show_event *e, uint32_t flags)
{
	bool first = true;

	if (!(flags & 3))
		text_puts(&s->text, flags ? "O_RDONLY|" : "O_RDONLY");
	for (unsigned int i = 0; i < OPEN_FLAGS && flags; i++) {
		const uint32_t flag = open_flag(e, i);

		if (!flag || (flags & flag) != flag)
			continue;
		flags &= ~flag;
		if (!first)
			text_putc(&s->text, '|');
		first = false;
		text_puts(&s->text, open_flags[i].name);
	}
	if (!flags)
		return;
	text_puts(&s->text, first ? "0x" : "|0x");
	text_hex(&s->text, flags, 1);
}

/* -> whether that was the last argument that is printed */
static bool open_argument(struct show *s, const struct show_event *e, const struct field *f,
			  const struct show_record *r)
{
	const uint64_t v = argument(f, r);

	text_puts(&s->text, f->name);
	text_put(&s->text, ": ", 2);
	if (!strcmp(f->name, "flags")) {
		call_open_flags(s, e, (uint32_t)v);
		return !(v & (open_flag(e, OPEN_CREAT) | open_flag(e, OPEN_TMPFILE)));
	}
	if (!strcmp(f->name, "mode")) {
		text_printf(&s->text, "0%03o", (unsigned int)v);
		return true;
	}
	text_printf(&s->text, "%llu", (unsigned long long)v);
	call_pointed(s, e, f, r);
	return false;
}

/* ---- any call ---- */

static bool any_argument(struct show *s, const struct show_event *e, const struct field *f,
			 const struct show_record *r)
{
	const uint64_t v = argument(f, r);

	if (show_option(s, OPTION_VERBOSE)) {
		text_puts(&s->text, f->type);
		text_putc(&s->text, ' ');
	}
	text_puts(&s->text, f->name);
	text_puts(&s->text, v < 10 ? ": " : ": 0x");
	text_hex(&s->text, v, 1);
	call_pointed(s, e, f, r);
	return false;
}

void show_call(struct show *s, const struct show_event *e, const struct show_record *r)
{
	const char *name = e->event->name + strlen("sys_enter_");
	const bool open = !strcmp(name, "openat") && !show_option(s, OPTION_VERBOSE);
	unsigned int nr;
	const struct field *f = event_fields(e->event, &nr);
	bool first = true, last = false;

	text_puts(&s->text, "sys_");
	text_puts(&s->text, name);
	text_putc(&s->text, '(');
	for (unsigned int i = 0; f && i < nr && !last; i++) {
		if (!call_is_argument(f, i))
			continue;
		if (!first)
			text_put(&s->text, ", ", 2);
		first = false;
		last = open ? open_argument(s, e, &f[i], r) : any_argument(s, e, &f[i], r);
	}
	text_put(&s->text, ")\n", 2);
}
