/* SPDX-License-Identifier: MIT */
/*
 * format.c - the text of a static event's format file, from behind the line "format:" on
 */
#include <string.h>
#include "agent/emit/format.h"

void text_add(struct text *t, const char *s, size_t len)
{
	if (len >= t->room - t->len) {
		t->full = true;
		return;
	}
	memcpy(t->at + t->len, s, len);
	t->len += len;
	t->at[t->len] = 0;
}

static void add(struct text *t, const char *s)
{
	text_add(t, s, strlen(s));
}

void text_number(struct text *t, int64_t value)
{
	uint64_t v = value < 0 ? -(uint64_t)value : (uint64_t)value;
	char digits[24];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + v % 10);
	while ((v /= 10));
	if (value < 0)
		digits[--at] = '-';
	text_add(t, digits + at, sizeof(digits) - at);
}

/* As in the kernel, an array's length comes after the name, except a dynamic array's. */
static void add_field(struct text *t, const struct tf_field *f, uint32_t *at)
{
	const char *bracket = strncmp(f->type, "__data_loc", 10) ? strchr(f->type, '[') : NULL;

	*at = (*at + f->align - 1) / f->align * f->align;
	add(t, "\tfield:");
	/* The C type behind the macro bool. */
	if (!strncmp(f->type, "_Bool", 5))
		add(t, "bool");
	else
		text_add(t, f->type, bracket ? (size_t)(bracket - f->type) : strlen(f->type));
	add(t, " ");
	add(t, f->name);
	add(t, bracket ? bracket : "");
	add(t, ";\toffset:");
	text_number(t, *at);
	add(t, ";\tsize:");
	text_number(t, f->size);
	add(t, ";\tsigned:");
	text_number(t, f->is_signed);
	add(t, ";\n");
	*at += f->size;
}

static const struct tf_field common[] = {
	{ "unsigned short", "common_type", 2, 2, 0, 0 },
	{ "unsigned char", "common_flags", 1, 1, 0, 0 },
	{ "unsigned char", "common_preempt_count", 1, 1, 0, 0 },
	{ "int", "common_pid", 4, 4, 1, 0 },
};

/* ---- The print format of TF_EVENT() ---- */

static bool is_pointer(const struct tf_field *f)
{
	return strchr(f->type, '*') != NULL;
}

static const char *conversion(const struct tf_field *f)
{
	if (f->kind == TF_KIND_TEXT)
		return "%s";
	if (is_pointer(f))
		return "0x%llx";
	if (f->size > 4)
		return f->is_signed ? "%lld" : "%llu";
	return f->is_signed ? "%d" : "%u";
}

static void add_made_print(struct text *t, const struct tf_class *c)
{
	add(t, "\"");
	for (uint32_t i = 0; i < c->nr_fields; i++) {
		add(t, i ? " " : "");
		add(t, c->fields[i].name);
		add(t, "=");
		add(t, conversion(&c->fields[i]));
	}
	add(t, "\"");
	for (uint32_t i = 0; i < c->nr_fields; i++) {
		bool text = c->fields[i].kind == TF_KIND_TEXT;

		add(t, text ? ", __get_str(" : ", REC->");
		add(t, c->fields[i].name);
		add(t, text ? ")" : "");
	}
}

/* ---- The print format of TRACE_EVENT(), with the constants that the program defines ---- */

static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

static const struct tf_enum *enum_find(const struct enums *e, const char *system, const char *word,
				       size_t len)
{
	for (struct tf_enum **p = e->start; p < e->end; p++) {
		const struct tf_enum *v = *p;

		if (v && !strncmp(v->name, word, len) && !v->name[len] &&
		    !strcmp(v->system, system))
			return v;
	}
	return NULL;
}

/* "sizeof(...)" is one word: the program may define its value. */
static size_t word_length(const char *p)
{
	size_t len = 0, whole;

	while (is_word(p[len]))
		len++;
	if (len != 6 || strncmp(p, "sizeof(", 7))
		return len;
	whole = strcspn(p, ")");
	return p[whole] ? whole + 1 : len;
}

static size_t string_length(const char *p)
{
	size_t len = 1;

	while (p[len] && p[len] != '"')
		len += p[len] == '\\' && p[len + 1] ? 2 : 1;
	return p[len] ? len + 1 : len;
}

static size_t add_word(struct text *t, const char *p, bool member, const struct tf_event *ev,
		       const struct enums *e)
{
	size_t len = word_length(p), plain = 0;
	const struct tf_enum *v = member ? NULL : enum_find(e, ev->system, p, len);

	if (v) {
		text_number(t, v->value);
		return len;
	}
	while (is_word(p[plain]))
		plain++;
	text_add(t, p, plain);
	return plain;
}

static void add_print(struct text *t, const struct tf_event *ev, const struct enums *e)
{
	const char *p = ev->print;
	bool member = false;	/* behind "." or "->": the name of a field, not of a constant */

	while (*p && !t->full) {
		size_t len = 1;

		if (*p == '"') {
			len = string_length(p);
			text_add(t, p, len);
		} else if (is_word(*p)) {
			len = add_word(t, p, member, ev, e);
		} else {
			text_add(t, p, 1);
		}
		member = *p == '.' || (*p == '>' && p > ev->print && p[-1] == '-');
		p += len;
	}
}

__attribute__((cold)) bool
format_body(struct text *t, const struct tf_event *ev, const struct enums *e)
{
	uint32_t at = 0;

	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		add_field(t, &common[i], &at);
	add(t, "\n");
	for (uint32_t i = 0; i < ev->cls->nr_fields; i++)
		add_field(t, &ev->cls->fields[i], &at);
	add(t, "\nprint fmt: ");
	if (ev->print)
		add_print(t, ev, e);
	else
		add_made_print(t, ev->cls);
	add(t, "\n");
	return !t->full;
}
