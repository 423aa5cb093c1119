/* SPDX-License-Identifier: MIT */
/* text.c - splits commands, and explains values */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/explain/explain.h"
#include "model/hist/hist.h"
#include "model/text_memory.h"
#include "session/array.h"

enum { LABEL_WIDTH = 10, LINE_WIDTH = 96 };

/* ---- pieces ---- */

void explain_parts_add(struct explain_parts *p, const char *text, size_t len)
{
	while (len && isspace((unsigned char)*text)) {
		text++;
		len--;
	}
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	if (array_room(&p->v, p->nr, sizeof(*p->v)))
		return;
	p->v[p->nr] = strndup(text, len);
	if (p->v[p->nr])
		p->nr++;
}

void explain_parts_free(struct explain_parts *p)
{
	for (unsigned int i = 0; i < p->nr; i++)
		free(p->v[i]);
	free(p->v);
	*p = (struct explain_parts){ 0 };
}

void explain_split(const char *text, char separator, struct explain_parts *out)
{
	const char *start = text;
	char quote = 0;
	int depth = 0;

	for (; *text; text++) {
		if (quote) {
			quote = *text == quote ? 0 : quote;
		} else if (*text == '"' || *text == '\'') {
			quote = *text;
		} else if (*text == separator && !depth) {
			explain_parts_add(out, start, (size_t)(text - start));
			start = text + 1;
		} else if (strchr("([{", *text)) {
			depth++;
		} else if (strchr(")]}", *text) && depth) {
			depth--;
		}
	}
	explain_parts_add(out, start, (size_t)(text - start));
}

char *explain_split_filter(const char *text, char **filter)
{
	const char *at = strstr(text, " if ");

	*filter = NULL;
	if (!at)
		return strdup(text);
	at += strspn(at, " ");
	*filter = strdup(at + 3);
	while (at > text && isspace((unsigned char)at[-1]))
		at--;
	return strndup(text, (size_t)(at - text));
}

/* ---- kinds ---- */

static bool explain_text_begins(const char *text, const char *word)
{
	size_t n = strlen(word);

	return !strncmp(text, word, n) &&
	       (!text[n] || text[n] == ':' || isspace((unsigned char)text[n]));
}

/* "p:NAME PLACE", "r10 PLACE": not a filter like "p > 3". */
static bool is_place(const char *text)
{
	const char *rest;

	if (*text != 'p' && *text != 'r')
		return false;
	rest = text + 1 + strspn(text + 1, "0123456789");
	if (*rest == ':')
		return true;
	if (*rest != ' ')
		return false;
	rest += strspn(rest, " ");
	return isalnum((unsigned char)*rest) || *rest == '_' || *rest == '/';
}

enum explain_kind explain_kind_of(const char *text)
{
	static const char *const triggers[] = {
		"traceon", "traceoff", "snapshot", "stacktrace", "enable_event",
		"disable_event", "enable_hist", "disable_hist", NULL,
	};

	text += strspn(text, " ");
	if (*text == '-' && text[1] == ':')
		return EXPLAIN_REMOVAL;
	text += *text == '!';
	if (explain_text_begins(text, "hist"))
		return EXPLAIN_HIST;
	for (const char *const *t = triggers; *t; t++)
		if (explain_text_begins(text, *t))
			return EXPLAIN_TRIGGER;
	if (explain_text_begins(text, "s"))
		return EXPLAIN_SYNTH;
	if (*text == 'e' && (text[1] == ':' || text[1] == ' '))
		return EXPLAIN_PROBE;
	if (is_place(text))
		return EXPLAIN_PLACE;
	/* A name and a colon: it would be a trigger if it were spelled right. */
	if (text[strspn(text, "abcdefghijklmnopqrstuvwxyz_")] == ':')
		return EXPLAIN_TRIGGER;
	/* "name type field; type field" contains a type, which no filter does. */
	if (!strpbrk(text, "=<>&|~") && strchr(text, ' '))
		return EXPLAIN_SYNTH;
	return EXPLAIN_FILTER;
}

/* ---- printing ---- */

void explain_say(struct explain *e, const char *label, const char *format, ...)
{
	int column = fprintf(e->out, "  %-*s", LABEL_WIDTH - 1, label);
	char *text = NULL, *word, *rest;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&text, format, ap) < 0)
		text = NULL;
	va_end(ap);
	rest = text;
	while ((word = strsep(&rest, " "))) {
		if (column + (int)strlen(word) + 1 > LINE_WIDTH && column > LABEL_WIDTH + 2)
			column = fprintf(e->out, "\n  %-*s", LABEL_WIDTH - 1, "") - 1;
		column += fprintf(e->out, " %s", word);
	}
	fputc('\n', e->out);
	free(text);
}

/* ---- values ---- */

static const struct {
	const char	*name, *words;
} names[] =
	{
		{ "hitcount", "the number of events" },
		{ "common_timestamp", "the time in nanoseconds" },
		{ "common_timestamp.usecs", "the time in microseconds" },
		{ "common_cpu", "the CPU" },
		{ "cpu", "the CPU" },
		{ "common_pid", "the pid of the task" },
		{ "common_pid.execname", "the name of the task" },
		{ "common_stacktrace", "the stack" },
		{ "stacktrace", "the stack" },
		{ "raw_hitcount", "the number of events" },
		{ "common_stacktrace.stacktrace", "the stack" },
},
  modifiers[] = {
	  { "hex", "in hexadecimal" },
	  { "sym", "as a symbol" },
	  { "sym-offset", "as a symbol and an offset" },
	  { "execname", "as the name of a task" },
	  { "syscall", "as the name of a system call" },
	  { "log2", "by powers of two" },
	  { "usecs", "in microseconds" },
	  { "percent", "as a percentage" },
	  { "graph", "as a bar" },
	  { "stacktrace", "as a stack" },
	  { "descending", "from the largest down" },
	  { "ascending", "from the smallest up" },
};

static const char *find_words(const char *name, bool modifier)
{
	size_t nr = modifier ? sizeof(modifiers) / sizeof(modifiers[0])
			     : sizeof(names) / sizeof(names[0]);

	for (size_t i = 0; i < nr; i++)
		if (!strcmp((modifier ? modifiers : names)[i].name, name))
			return (modifier ? modifiers : names)[i].words;
	return NULL;
}

static void print_modifier(FILE *out, const char *modifier)
{
	const char *words = find_words(modifier, true);

	if (!strncmp(modifier, "buckets=", 8))
		fprintf(out, " in steps of %s", modifier + 8);
	else if (!strncmp(modifier, "exp=", 4))
		fprintf(out, " in %llu ranges from a power of two to the next",
			1ull << (strtoull(modifier + 4, NULL, 0) & 63));
	else if (!strncmp(modifier, "depth=", 6))
		fprintf(out, " of up to %s functions", modifier + 6);
	else if (!strncmp(modifier, "bucket=", 7))
		fprintf(out, " in steps of %s", modifier + 7);
	else
		fprintf(out, words ? " %s" : " (.%s)", words ? words : modifier);
}

static void print_no_sum(FILE *out, const char *modifier)
{
	const unsigned int flag = hist_field_no_sum(modifier);

	if (flag)
		fputs(flag == HIST_AVG ? "the average of " :
		      flag == HIST_MIN ? "the smallest " : "the largest ", out);
}

static void print_operand(FILE *out, const char *operand)
{
	/* The field's spelling of 2017 looks like a variable. */
	const char *plain = !strncmp(operand, "$common_timestamp", 17) ? operand + 1 : operand;
	const char *words = find_words(plain, false), *dot = strrchr(plain, '.');

	if (words) {
		fputs(words, out);
	} else if (strchr(plain, '$') || !dot || isdigit((unsigned char)*plain)) {
		fputs(plain, out);
	} else {
		char *name = strndup(plain, (size_t)(dot - plain));

		words = name ? find_words(name, false) : NULL;
		print_no_sum(out, dot + 1);
		fputs(words ? words : name ? name : "", out);
		if (!hist_field_no_sum(dot + 1))
			print_modifier(out, dot + 1);
		free(name);
	}
}

static bool is_operator(const char *text, const char *at)
{
	/* The modifier of a field may contain a minus. */
	return strchr("+-*/", *at) && !(at - text >= 4 && !strncmp(at - 4, ".sym-offset", 11));
}

char *explain_value(const char *text)
{
	static const char *const words[] = { " plus ", " minus ", " times ", " divided by " };
	const char *start = text;
	char *out = NULL, *operand;
	size_t size;
	FILE *f = text_memory_open(&out, &size);

	if (!f)
		return NULL;
	for (const char *at = text;; at++) {
		if (*at && !is_operator(text, at))
			continue;
		operand = strndup(start, (size_t)(at - start));
		if (operand)
			print_operand(f, operand);
		free(operand);
		if (!*at)
			break;
		fputs(at == text ? "minus " : words[strchr("+-*/", *at) - "+-*/"], f);
		start = at + 1;
	}
	fclose(f);
	return out;
}

void explain_references(const char *text, struct explain_parts *out)
{
	while ((text = strchr(text, '$'))) {
		size_t n = 0;

		text++;
		while (isalnum((unsigned char)text[n]) || text[n] == '_')
			n++;
		if (n && !(n == 16 && !strncmp(text, "common_timestamp", n)))
			explain_parts_add(out, text, n);
	}
}
