/* SPDX-License-Identifier: MIT */
/* foreign_format.c - which numbers records have, from the formats; see foreign.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/event/format.h"
#include "sources/recording/file/foreign.h"
#include "sources/recording/file/trace_dat.h"

static bool begins_with(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* The bytes of a type without its array. 1 also stands for what has no byte order. */
static uint8_t type_bytes(const struct foreign *f, const char *type, size_t len)
{
	static const struct { const char *name; uint8_t bytes; } types[] = {
		{ "long long", 8 }, { "u64", 8 }, { "s64", 8 }, { "u32", 4 }, { "s32", 4 },
		{ "u16", 2 }, { "s16", 2 }, { "short", 2 }, { "int", 4 },
	};
	size_t i, n;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		n = strlen(types[i].name);
		if (len >= n && !memcmp(type + len - n, types[i].name, n))
			return types[i].bytes;
	}
	if (len && type[len - 1] == '*')
		return f->word;
	if (memmem(type, len, "long", 4) || memmem(type, len, "cpumask", 7))
		return f->word;
	return len >= 8 && !memcmp(type + len - 8, "unsigned", 8) ? 4 : 1;
}

static bool is_number_size(unsigned int bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* The type up to its array. */
static size_t plain_length(const char *type)
{
	size_t len = strcspn(type, "[");

	while (len && type[len - 1] == ' ')
		len--;
	return len;
}

/* Whether a field is as large as the kernel's long because it is one, or a pointer. */
static bool is_long(const struct foreign *f, const char *type)
{
	const size_t len = plain_length(type);

	if (memmem(type, len, "long long", 9))
		return false;
	return (len && type[len - 1] == '*') || memmem(type, len, "long", 4) ||
	       (len >= 6 && !memcmp(type + len - 6, "size_t", 6) && f->word == 4);
}

/* The part of a __data_loc or __rel_loc field; `type` is that of the numbers. */
static void set_located(const struct foreign *f, const char *system, const char *type,
			struct foreign_part *p)
{
	const size_t len = plain_length(type);

	p->in = p->out = type_bytes(f, type, len);
	if (f->word == 4 && p->kind == FOREIGN_LOC && !strcmp(system, "synthetic") &&
	    is_long(f, type)) {
		p->kind = FOREIGN_STACK;
		p->out = 8;
	}
}

/* Sets what is converted of a field, without moving it. */
static void set_part(const struct foreign *f, const char *system, const struct field *field,
		     bool last, struct foreign_part *p)
{
	const bool array = strchr(field->type, '[');
	const uint8_t bytes = type_bytes(f, field->type, plain_length(field->type));
	const unsigned int elements = field->len ? field->len : array ? field->size / bytes : 1;

	*p = (struct foreign_part){
		.from = field->offset, .to = field->offset, .count = (uint16_t)elements,
		.is_signed = field->is_signed,
	};
	if (begins_with(field->type, "__data_loc ") || begins_with(field->type, "__rel_loc ")) {
		p->kind = begins_with(field->type, "__rel") ? FOREIGN_REL_LOC : FOREIGN_LOC;
		set_located(f, system, strchr(field->type, ' ') + 1, p);
		return;
	}
	/* Kernels before 3.19 have the rest of a bprint as "u32 buf", of size 0. */
	if ((array || !field->size) && last && !strcmp(system, "ftrace")) {
		p->kind = FOREIGN_REST;
		p->in = p->out = bytes;
		return;
	}
	if (!elements || field->size % elements || !is_number_size(field->size / elements)) {
		p->in = p->out = 1;
		p->count = field->size;
	} else {
		p->in = p->out = (uint8_t)(field->size / elements);
	}
}

/*
 * Moves the fields of system ftrace's events so that long numbers have 8 bytes. Returns whether a
 * field has become wider. It does not move what it cannot: fields that lie in each other.
 */
static bool widen(const struct foreign *f, struct foreign_event *e, const struct field *fields)
{
	uint32_t in_end = 0, out_end = 0, align;
	bool wider = false;
	unsigned int i;

	for (i = 0; i < e->nr_parts; i++) {
		struct foreign_part *p = &e->parts[i];

		if (p->from < in_end || p->kind > FOREIGN_REST)
			return false;
		if (p->in == 4 && !fields[i].common && is_long(f, fields[i].type)) {
			p->out = 8;
			wider = true;
		}
		align = fields[i].common ? 1 : p->out;
		if (fields[i].common)
			out_end = p->from;
		out_end = (out_end + align - 1) & ~(align - 1);
		if (out_end > UINT16_MAX / 2)
			return false;
		p->to = (uint16_t)out_end;
		in_end = p->from + (p->kind == FOREIGN_REST ? 0 : p->count * p->in);
		out_end += p->kind == FOREIGN_REST ? 0 : p->count * p->out;
	}
	e->size = (out_end + 3) & ~3u;
	return wider;
}

static void stay(struct foreign_event *e)
{
	for (unsigned int i = 0; i < e->nr_parts; i++) {
		struct foreign_part *p = &e->parts[i];

		p->to = p->from;
		if (p->kind != FOREIGN_STACK)
			p->out = p->in;
	}
}

/* Writes the format again, with the places where the fields are now. */
static int write_format(struct foreign_event *e, const struct field *fields, const char *text)
{
	size_t size;
	FILE *out = open_memstream(&e->format, &size);
	const char *line, *next = text;
	unsigned int i = 0;
	bool failed;

	if (!out)
		return -ENOMEM;
	while (*(line = next)) {
		next += strcspn(next, "\n");
		next += *next == '\n';
		if (i < e->nr_parts && begins_with(line, "\tfield:")) {
			const struct foreign_part *p = &e->parts[i];
			const unsigned int bytes = fields[i].size / p->in * p->out;

			fprintf(out, "%.*s;\toffset:%u;\tsize:%u;\tsigned:%d;\n",
				(int)strcspn(line, ";"), line, p->to, bytes,
				fields[i].is_signed);
			i++;
		} else {
			fwrite(line, 1, (size_t)(next - line), out);
		}
	}
	failed = ferror(out);
	return fclose(out) || failed ? -ENOMEM : 0;
}

static void event_free(struct foreign_event *e)
{
	if (!e)
		return;
	free(e->parts);
	free(e->format);
	free(e);
}

/* bprint's arguments lie as its format says. */
static void set_words(struct foreign_event *e, const struct field *fields)
{
	struct foreign_part *last = &e->parts[e->nr_parts - 1];

	for (unsigned int i = 0; i < e->nr_parts; i++)
		if (!strcmp(fields[i].name, "fmt"))
			e->fmt_at = fields[i].offset;
	if (e->fmt_at && last->kind == FOREIGN_REST)
		last->kind = FOREIGN_WORDS;
}

static void set_stack(struct foreign_event *e, const struct field *fields)
{
	for (unsigned int i = 0; i < e->nr_parts; i++)
		e->parts[i].is_stack = e->parts[i].out == 8 && e->parts[i].in == 4 &&
				       !strcmp(fields[i].name, "caller");
}

static int fill_event(const struct foreign *f, const char *system, const char *name,
		      const char *text, struct foreign_event *e, const struct field *fields)
{
	const bool internal = !strcmp(system, "ftrace");
	unsigned int i;

	for (i = 0; i < e->nr_parts; i++)
		set_part(f, system, &fields[i], i + 1 == e->nr_parts, &e->parts[i]);
	e->wide = internal && f->word == 4 && widen(f, e, fields);
	if (!e->wide)
		stay(e);
	if (e->wide && (begins_with(name, "kernel_stack\n") || begins_with(name, "user_stack\n")))
		set_stack(e, fields);
	if (internal && begins_with(name, "bprint\n"))
		set_words(e, fields);
	return e->wide ? write_format(e, fields, text) : 0;
}

static int make_event(const struct foreign *f, const char *system, const char *text,
		      const struct format_header *header, struct foreign_event **out)
{
	struct foreign_event *e;
	struct field *fields;
	unsigned int nr;
	int ret;

	*out = NULL;
	ret = format_fields(system, text, false, &fields, &nr);
	if (ret)
		return ret;
	e = calloc(1, sizeof(*e));
	if (e)
		e->parts = calloc(nr + 1ull, sizeof(*e->parts));
	ret = e && e->parts ? 0 : -ENOMEM;
	if (!ret)
		e->nr_parts = nr;
	if (!ret && nr)
		ret = fill_event(f, system, header->name, text, e, fields);
	fields_free(fields, nr);
	if (ret)
		event_free(e);
	else
		*out = e;
	return ret;
}

/* ---- the file's formats ---- */

static bool event_has_stack(const struct foreign_event *e)
{
	for (unsigned int i = 0; e && i < e->nr_parts; i++)
		if (e->parts[i].kind == FOREIGN_STACK)
			return true;
	return false;
}

/* A format that cannot be understood is reported when it is imported. */
static int add_event(void *arg, const char *system, const char *text, size_t len)
{
	struct trace_dat *d = arg;
	struct format_header header;
	char *copy;
	int ret;

	/* The parts of an event and its new text take a few times as much as the text. */
	if (!trace_dat_memory(d, 4 * len))
		return -EFBIG;
	copy = strndup(text, len);
	if (!copy)
		return -ENOMEM;
	ret = format_header(copy, &header);
	if (!ret && !d->foreign->events[header.id])
		ret = make_event(d->foreign, system, copy, &header,
				 &d->foreign->events[header.id]);
	if (!ret && event_has_stack(d->foreign->events[header.id]))
		d->foreign->stacks = true;
	free(copy);
	return ret == -EINVAL ? 0 : ret;
}

const char *foreign_format(const struct foreign *f, const char *system, const char *text,
			   size_t len)
{
	struct format_header header;
	const struct foreign_event *e;
	char *copy;
	int ret;

	if (strcmp(system, "ftrace"))
		return NULL;
	copy = strndup(text, len);
	ret = copy ? format_header(copy, &header) : -ENOMEM;
	e = ret ? NULL : f->events[header.id];
	free(copy);
	return e ? e->format : NULL;
}

static int by_address(const void *a, const void *b)
{
	const struct foreign_text *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* "0xc1234567 : "format\n"" */
static void read_text(struct foreign *f, const char *line, const char *end)
{
	struct foreign_text *t = &f->texts[f->nr_texts];
	const char *quote = memchr(line, '"', (size_t)(end - line));
	const char *last = quote ? memrchr(quote + 1, '"', (size_t)(end - quote - 1)) : NULL;
	char number[32];

	if (!last)
		return;
	snprintf(number, sizeof(number), "%.*s", (int)strcspn(line, " :\n"), line);
	*t = (struct foreign_text){ strtoull(number, NULL, 16), quote + 1,
				    (size_t)(last - quote - 1) };
	f->nr_texts += t->at != 0;
}

static int read_texts(struct trace_dat *d)
{
	struct foreign *f = d->foreign;
	const char *at = (const char *)d->printk.data, *end, *next;
	size_t lines = 1, i;

	if (!d->printk.size)
		return 0;
	end = at + d->printk.size;
	for (i = 0; i < d->printk.size; i++)
		lines += at[i] == '\n';
	if (!trace_dat_memory(d, lines * sizeof(*f->texts)))
		return -EFBIG;
	f->texts = calloc(lines, sizeof(*f->texts));
	if (!f->texts)
		return -ENOMEM;
	for (; at < end; at = next + 1) {
		next = memchr(at, '\n', (size_t)(end - at));
		if (!next)
			break;
		read_text(f, at, next);
	}
	qsort(f->texts, f->nr_texts, sizeof(*f->texts), by_address);
	return 0;
}

void foreign_close(struct foreign *f)
{
	unsigned int id;

	if (!f)
		return;
	for (id = 0; f->events && id < FOREIGN_EVENTS; id++)
		event_free(f->events[id]);
	free(f->events);
	free(f->texts);
	free(f->ids);
	free(f);
}

/* 0, -ENOMEM, -EFBIG: more than the recording may take. */
static int foreign_make(struct trace_dat *d)
{
	struct foreign *f = d->foreign = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->swap = d->swap;
	f->times = d->times;
	f->word = d->commit_size == 4 ? 4 : 8;
	if (!trace_dat_memory(d, FOREIGN_EVENTS * sizeof(*f->events)))
		return -EFBIG;
	f->events = calloc(FOREIGN_EVENTS, sizeof(*f->events));
	return f->events ? 0 : -ENOMEM;
}

int foreign_rename(struct trace_dat *d, uint16_t from, uint16_t to)
{
	struct foreign *f;
	int ret = d->foreign ? 0 : foreign_make(d);

	f = d->foreign;
	if (!ret && !f->ids) {
		f->ids = trace_dat_memory(d, FOREIGN_EVENTS * sizeof(*f->ids)) ?
				 malloc(FOREIGN_EVENTS * sizeof(*f->ids)) : NULL;
		for (unsigned int id = 0; f->ids && id < FOREIGN_EVENTS; id++)
			f->ids[id] = (uint16_t)id;
	}
	if (ret || !f->ids)
		return -ENOMEM;
	f->ids[from] = to;
	return 0;
}

int foreign_open(struct trace_dat *d)
{
	const bool converts = d->swap || d->commit_size == 4;
	int ret;

	if (!converts && !d->times)
		return 0;
	ret = foreign_make(d);
	if (!ret && converts)
		ret = trace_dat_each_format(d, add_event, d, d->err);
	if (!ret && converts)
		ret = read_texts(d);
	if (ret == -EFBIG)
		return error_set(d->err, ret, d->path,
				 "the event formats are " SOURCE_MEMORY_TEXT);
	return ret == -ENOMEM ? error_set(d->err, ret, d->path, "out of memory") : ret;
}
