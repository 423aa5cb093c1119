/* SPDX-License-Identifier: MIT */
/*
 * answer.c - what the reader answers, and what follows from it
 *
 * The reader has read a file that may contain anything, so each word is checked.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/prototype.h"

enum { WORDS = 6, NUMBER_DIGITS = 10 };

struct answer_line {
	char		*words[WORDS];
	unsigned int	nr;
};

static struct answer_line split(char *line)
{
	struct answer_line l = { .nr = 0 };

	while (line && l.nr < WORDS)
		l.words[l.nr++] = strsep(&line, "\t");
	return l;
}

static bool word_number(const char *text, uint32_t *out)
{
	const size_t len = strspn(text, "0123456789");
	unsigned long long n;

	if (!len || len > NUMBER_DIGITS || text[len])
		return false;
	n = strtoull(text, NULL, 10);
	*out = (uint32_t)n;
	return n <= UINT32_MAX;
}

/* Text that is printed later: no byte of it may break a line or reach a terminal. */
static void text_of(const char *text, char *out, size_t size)
{
	snprintf(out, size, "%s", text);
	for (; *out; out++)
		if ((unsigned char)*out < ' ' || *out == 0x7f)
			*out = '?';
}

/* ---- Places ---- */

static bool is_register(const char *name, size_t len)
{
	static const char *const names[] = {
		"%di", "%si", "%dx", "%cx", "%r8", "%r9", "%ax", "%st",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == len && !memcmp(names[i], name, len))
			return true;
	return len == 5 && !memcmp(name, "%xmm", 4) && name[4] >= '0' && name[4] <= '7';
}

static bool is_stack_word(const char *text)
{
	size_t len;

	if (strncmp(text, "$stack", 6))
		return false;
	len = strspn(text + 6, "0123456789");
	return len && len <= 4 && !text[6 + len];
}

static bool is_in_registers(const char *text)
{
	const char *plus = strchr(text, '+');
	const size_t len = plus ? (size_t)(plus - text) : strlen(text);

	return is_register(text, len) && (!plus || is_register(plus + 1, strlen(plus + 1)));
}

/* What is between "+0(" and ")". */
static bool inside_of(const char *text, char out[32])
{
	const size_t len = strlen(text);

	if (len < 5 || len >= 32 || strncmp(text, "+0(", 3) || text[len - 1] != ')')
		return false;
	snprintf(out, 32, "%.*s", (int)len - 4, text + 3);
	return true;
}

static bool place_of(const char *text, char out[32])
{
	char inside[32];

	if (strlen(text) >= 32)
		return false;
	strcpy(out, text);
	if (inside_of(text, inside))
		return is_stack_word(inside) || is_register(inside, strlen(inside));
	return !*text || !strcmp(text, "?") || is_stack_word(text) || is_in_registers(text);
}

static bool letter_kind(const char *text, enum prototype_kind *out)
{
	if (!*text || text[1] || !strchr("viucepsfSw", *text))
		return false;
	*out = (enum prototype_kind)*text;
	return true;
}

/* ---- Lines ---- */

static int take_function(struct prototype *p, const struct answer_line *l)
{
	if (l->nr != 5 || !word_number(l->words[3], &p->line))
		return -EIO;
	text_of(l->words[1], p->name, sizeof(p->name));
	text_of(l->words[2], p->file, sizeof(p->file));
	p->varargs = strchr(l->words[4], 'v');
	p->unprototyped = strchr(l->words[4], 'k');
	p->changed = strchr(l->words[4], 'c');
	p->loose = strchr(l->words[4], 'l');
	return 1;
}

static int take_value(struct prototype_value *v, const struct answer_line *l)
{
	if (!letter_kind(l->words[1], &v->kind) || !word_number(l->words[2], &v->size) ||
	    !place_of(l->words[3], v->place))
		return -EIO;
	text_of(l->words[l->nr - 1], v->text, sizeof(v->text));
	return 1;
}

static int take_result(struct prototype *p, const struct answer_line *l)
{
	return l->nr == 5 ? take_value(&p->result, l) : -EIO;
}

static int take_parameter(struct prototype *p, const struct answer_line *l)
{
	struct prototype_value *v = &p->parameters[p->nr];

	if (l->nr != 6 || p->nr == PROTOTYPE_PARAMETERS)
		return -EIO;
	p->nr++;
	text_of(l->words[4], v->name, sizeof(v->name));
	return take_value(v, l);
}

static int take_none(struct prototype *p, const struct answer_line *l)
{
	if (l->nr > 1)
		text_of(l->words[1], p->elsewhere, sizeof(p->elsewhere));
	return -ENOENT;
}

int prototype_take_line(struct prototype *p, char *line)
{
	const struct answer_line l = split(line);

	if (!strcmp(l.words[0], "function"))
		return take_function(p, &l);
	if (!strcmp(l.words[0], "result"))
		return take_result(p, &l);
	if (!strcmp(l.words[0], "parameter"))
		return take_parameter(p, &l);
	if (!strcmp(l.words[0], "end") && *p->name)
		return 0;
	return strcmp(l.words[0], "none") ? -EIO : take_none(p, &l);
}

/* ---- What follows ---- */

static bool is_one_word(const struct prototype_value *v)
{
	return v->size && v->size <= 8 && strchr("iuceps", (int)v->kind);
}

bool prototype_address(const struct prototype_value *v, char out[32])
{
	return inside_of(v->place, out);
}

const char *prototype_word(const struct prototype_value *v)
{
	char address[32];

	if (!is_one_word(v) || !*v->place)
		return NULL;
	return prototype_address(v, address) || !strpbrk(v->place, "+?") ? v->place : NULL;
}

const char *prototype_probe_type(const struct prototype_value *v)
{
	static const char *const types[][4] = {
		{ "s8", "s16", "s32", "s64" }, { "u8", "u16", "u32", "u64" },
	};
	const unsigned int power = v->size <= 1 ? 0 : v->size <= 2 ? 1 : v->size <= 4 ? 2 : 3;

	switch (v->kind) {
	case PROTOTYPE_SIGNED:
	case PROTOTYPE_ENUM:
		return types[0][power];
	case PROTOTYPE_UNSIGNED:
		return types[1][power];
	case PROTOTYPE_CHARACTER:
		return v->size == 1 ? "char" : types[1][power];
	default:
		return "";
	}
}

uint64_t prototype_extend(const struct prototype_value *v, uint64_t word)
{
	const unsigned int bits = v->size < 8 ? v->size * 8 : 64;

	if (!bits || bits == 64)
		return word;
	word <<= 64 - bits;
	return v->kind == PROTOTYPE_SIGNED || v->kind == PROTOTYPE_ENUM ?
	       (uint64_t)((int64_t)word >> (64 - bits)) : word >> (64 - bits);
}

bool prototype_is_clone(const char *symbol)
{
	static const char *const marks[] = { ".isra.", ".constprop.", ".part.", ".cold" };

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strstr(symbol, marks[i]))
			return true;
	return false;
}
