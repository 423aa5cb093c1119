/* SPDX-License-Identifier: MIT */
/*
 * words.c - finds what is wrong with a command whose event is not known
 *
 * The command is tried in a scope of its own, on an event that has all words of the command as
 * fields. So the session's parser reads it. Only what is wrong whatever the event has counts: not
 * the names and types of fields, nor what other commands would have made.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/explain/explain.h"
#include "model/text_memory.h"

enum {
	FIELDS_MAX = 64, FIELD_ROOM = 64, FIELDS_AT = 8,
	TEXT_MAX = 4096,	/* a write of a page or more is refused */
};

static const char system_name[] = "any", event_name[] = "event";

/* Whether the text behind a word compares it with a text. */
static bool is_text_field(const char *after)
{
	after += strspn(after, " \t");
	if (*after == '~')
		return true;
	if (strncmp(after, "==", 2) && strncmp(after, "!=", 2))
		return false;
	after += 2 + strspn(after + 2, " \t");
	return *after == '"' || *after == '\'';
}

static bool is_new_field(const struct explain_parts *known, const char *word)
{
	if (!strncmp(word, "common_", 7))
		return false;
	for (unsigned int i = 0; i < known->nr; i++)
		if (!strcmp(known->v[i], word))
			return false;
	return true;
}

static void print_field(const char *word, bool is_text, unsigned int nr, FILE *out)
{
	const unsigned int at = FIELDS_AT + nr * FIELD_ROOM;

	if (is_text)
		fprintf(out, "\tfield:char %s[16];\toffset:%u;\tsize:16;\tsigned:0;\n", word, at);
	else
		fprintf(out, "\tfield:s64 %s;\toffset:%u;\tsize:8;\tsigned:1;\n", word, at);
}

static size_t words_length(const char *text)
{
	size_t n = 0;

	while (isalnum((unsigned char)text[n]) || text[n] == '_')
		n++;
	return n;
}

/* Prints the field of a word of `n` bytes, unless there is one. */
static void take_word(struct explain_parts *known, const char *text, size_t n, FILE *out)
{
	char *word = isdigit((unsigned char)*text) ? NULL : strndup(text, n);

	if (word && is_new_field(known, word)) {
		print_field(word, is_text_field(text + n), known->nr, out);
		explain_parts_add(known, word, n);
	}
	free(word);
}

static void words_print_fields(const char *text, FILE *out)
{
	struct explain_parts known = { 0 };

	while (*text && known.nr < FIELDS_MAX) {
		const size_t n = words_length(text);

		if (n)
			take_word(&known, text, n, out);
		text += n ? n : 1;
	}
	explain_parts_free(&known);
}

/* The format of the event. The caller frees it. NULL: no memory. */
static char *words_format(const char *text)
{
	char *format = NULL;
	size_t size;
	FILE *out = text_memory_open(&format, &size);

	if (!out)
		return NULL;
	fprintf(out, "name: %s\nID: 2000\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n", event_name);
	words_print_fields(text, out);
	fputs("\nprint fmt: \"\"\n", out);
	return fclose(out) ? NULL : format;
}

/* "event filter parse error: error: TEXT" */
static const char *error_text(const char *error)
{
	static const char before[] = "error: ";
	const char *at;

	while ((at = strstr(error, before)))
		error = at + sizeof(before) - 1;
	return error;
}

/* Whether the error does not depend on the event, and on what there is besides. */
static bool words_are_wrong(const char *error)
{
	static const char *const texts[] = {
		"Invalid field modifier", "Empty sort field", "Invalid sort modifier",
		"Too many sort fields", "Invalid percentile", "Too many percentiles",
		"Empty assignment", "Malformed assignment", "Division by zero",
		"Too many subexpressions", "Unary minus not supported", "No closing paren found",
		"Handler doesn't support action", "No action found",
		"Sort field must be a key or a val", "The keys have too many functions",
		"Using variable references in keys",
		"Invalid operator", "Too many '('", "Too few '('", "Missing matching quote",
		"Missing '{'", "Missing '}'", "Operand too long", "Illegal integer value",
		"Too many terms in predicate expression", "Meaningless filter expression",
		"Invalid cpulist", "Invalid value (did you forget quotes)?",
	};
	const char *text = error_text(error);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strncmp(text, texts[i], strlen(texts[i])))
			return true;
	return false;
}

int explain_words_try(enum explain_kind kind, const char *text, char **error)
{
	char *format = words_format(text);
	struct explain_scope *w = NULL;
	int ret = format ? explain_scope_of_format(system_name, format, &w) : -ENOMEM;

	*error = NULL;
	if (!ret)
		ret = explain_scope_try(w, kind, system_name, event_name, text, error);
	explain_scope_destroy(w);
	free(format);
	if (!ret || strlen(text) >= TEXT_MAX || (*error && words_are_wrong(*error)))
		return ret;
	free(*error);
	*error = NULL;
	return 0;
}
