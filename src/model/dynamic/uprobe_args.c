/* SPDX-License-Identifier: MIT */
/*
 * uprobe_args.c - the arguments of a function of a file: $argN becomes %di:s32, $arg* all of them
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "debug/prototype.h"
#include "elf/file.h"
#include "model/dynamic/uprobe_args.h"
#include "model/dynamic/uprobe_file.h"
#include "model/errlog.h"
#include "model/text.h"
#include "model/text_memory.h"

static const char mark[] = "$arg";

enum { MARK = sizeof(mark) - 1, NUMBER_MAX = 1000 };

/* ---- One argument ---- */

/* The number of the $argN at `text`; 0: there is none. */
static unsigned long number_at(const char *text, const char **end)
{
	unsigned long n;
	char *after;

	if (strncmp(text, mark, MARK) || !text_is_digit(text[MARK]))
		return 0;
	n = strtoul(text + MARK, &after, 10);
	*end = after;
	return n < NUMBER_MAX && !text_is_alnum(*after) ? n : 0;
}

/* What the calling convention has for an integer or a pointer, if all before are such. */
static void print_convention(unsigned long n, FILE *out)
{
	static const char *const registers[] = { "di", "si", "dx", "cx", "r8", "r9" };
	const size_t nr = sizeof(registers) / sizeof(registers[0]);

	if (n <= nr)
		fprintf(out, "%%%s", registers[n - 1]);
	else
		/* Word 0 of the stack is the return address. */
		fprintf(out, "$stack%lu", n - nr);
}

/* Whether the prototype says what argument n is. */
static bool is_known(const struct prototype *f, unsigned long n)
{
	return f && (n <= f->nr || (!f->varargs && !f->unprototyped));
}

static bool is_lost(const struct prototype_value *v)
{
	return !strcmp(v->place, "?");
}

/* Why argument n cannot be fetched; NULL: it can. */
static const char *argument_refusal(const struct prototype *f, unsigned long n)
{
	if (!is_known(f, n))
		return NULL;
	if (f->changed)
		return "The compiler has changed the arguments of this function";
	if (n > f->nr)
		return "The function has no such argument";
	if (prototype_word(&f->parameters[n - 1]))
		return NULL;
	return is_lost(&f->parameters[n - 1]) ? "Where this argument is, is not known" :
	       "This argument is not an integer or a pointer";
}

/* `whole`: the argument is nothing but this, and has no type. */
static void print_argument(const struct prototype *f, unsigned long n, bool whole, FILE *out)
{
	const struct prototype_value *v = is_known(f, n) ? &f->parameters[n - 1] : NULL;
	const char *type;

	if (!v) {
		print_convention(n, out);
		return;
	}
	type = prototype_probe_type(v);
	fprintf(out, "%s%s%s", prototype_word(v), whole && *type ? ":" : "", whole ? type : "");
}

/* ---- A word ---- */

static const char *expression_of(const char *word)
{
	const char *equals = strchr(word, '=');

	return equals ? equals + 1 : word;
}

static bool is_all(const char *word)
{
	return !strcmp(word, "$arg*");
}

/* The first $argN of the word that cannot be fetched. A $arg* was left because of no types. */
static int check_word(const struct prototype *f, const struct probe_log *log, const char *word)
{
	const char *at = word, *end, *why;

	if (is_all(word))
		return probe_wrong(log, -EINVAL, 0,
				   "No debug information says what the arguments are");
	for (; (at = strstr(at, mark)); at += MARK) {
		const unsigned long n = number_at(at, &end);

		why = n ? argument_refusal(f, n) : NULL;
		if (why)
			return probe_wrong(log, -EINVAL, (size_t)(at - word), why);
	}
	return 0;
}

/* NULL: no memory. */
static char *expand_word(const struct prototype *f, const char *word)
{
	const char *expression = expression_of(word), *at = word, *end;
	char *expanded = NULL;
	size_t size;
	FILE *out = text_memory_open(&expanded, &size);

	while (out && *at) {
		const unsigned long n = number_at(at, &end);

		if (n) {
			print_argument(f, n, at == expression && !*end, out);
			at = end;
		} else {
			fputc(*at++, out);
		}
	}
	if (out)
		fclose(out);
	return expanded;
}

static int expand_words(const struct prototype *f, struct probe_log *log, char **texts)
{
	for (unsigned int i = 2; i < log->nr_words; i++) {
		char *text;
		int err;

		log->at = i;
		err = check_word(f, log, texts[i]);
		if (err)
			return err;
		text = expand_word(f, texts[i]);
		if (!text)
			return -ENOMEM;
		free(texts[i]);
		texts[i] = text;
	}
	return 0;
}

/* ---- The command ---- */

static bool has_argument(const struct probe_log *log)
{
	for (unsigned int i = 2; i < log->nr_words; i++)
		if (strstr(log->words[i], mark))
			return true;
	return false;
}

/* *out NULL: nothing is known of the function. The caller frees it. 1: the file does not answer. */
static int prototype_of(struct model *m, const char *path, uint64_t entry, const char *symbol,
			struct prototype **out)
{
	struct prototype *f = malloc(sizeof(*f));
	const int err = f ? uprobe_file_prototype(m, path, entry, f) : -ENOMEM;

	if (err) {
		free(f);
		f = NULL;
	} else if (prototype_is_clone(symbol)) {
		f->changed = true;
	}
	*out = f;
	return err > 0;
}

/* Linux has no $argN here. It is there only at the entry of a function that was named. */
int uprobe_args_expand(struct probe_place *p, struct probe_log *log, char **texts)
{
	struct prototype *f;
	int err;

	if (!(p->probe.flags & PROBE_ENTRY) || !has_argument(log))
		return 0;
	if (prototype_of(log->model, p->path, p->entry, p->symbol, &f))
		return uprobe_file_unanswered(log);
	err = expand_words(f, log, texts);
	free(f);
	return err;
}

/* ---- $arg* ---- */

/* Asks for the function of PATH:SYMBOL. NULL: it is no such place, or nothing is known. */
static struct prototype *prototype_at(struct model *m, const char *place)
{
	char *path = strdup(place), *colon = path ? strrchr(path, ':') : NULL;
	struct elf_function function;
	struct prototype *f = NULL;

	if (colon) {
		*colon = '\0';
		if (!uprobe_file_function(m, path, colon + 1, &function))
			prototype_of(m, path, function.address, colon + 1, &f);
	}
	free(path);
	return f;
}

static void print_all(const struct prototype *f, FILE *out)
{
	for (unsigned int i = 0; !f->changed && i < f->nr; i++) {
		const struct prototype_value *v = &f->parameters[i];

		if (!prototype_word(v))
			continue;
		if (*v->name)
			fprintf(out, " %s=", v->name);
		else
			fprintf(out, " arg%u=", i + 1);
		fprintf(out, "$arg%u", i + 1);
	}
}

/* Arguments that cannot be fetched are left out, and error_log says so. */
static void say_left_out(struct model *m, const struct prototype *f, const char *command)
{
	const char *why = NULL;

	for (unsigned int i = 0; i < f->nr && !f->changed; i++) {
		const struct prototype_value *v = &f->parameters[i];

		if (is_lost(v))
			why = "Arguments whose places are not known are left out";
		else if (!prototype_word(v) && !why)
			why = "Arguments that are not integers or pointers are left out";
	}
	if (f->changed && f->nr)
		why = "The compiler has changed the arguments of this function";
	if (why)
		errlog_add(m->top->errlog, "trace_uprobe", command, why,
			   (unsigned int)(strstr(command, "$arg*") - command));
}

static char *join_all(const struct prototype *f, char *const *words, unsigned int nr)
{
	char *text = NULL;
	size_t size;
	FILE *out = text_memory_open(&text, &size);

	if (!out)
		return NULL;
	for (unsigned int i = 0; i < nr; i++) {
		if (i > 1 && is_all(words[i]))
			print_all(f, out);
		else
			fprintf(out, "%s%s", i ? " " : "", words[i]);
	}
	fclose(out);
	return text;
}

static bool wants_all(char *const *words, unsigned int nr)
{
	for (unsigned int i = 2; i < nr; i++)
		if (is_all(words[i]))
			return *words[0] == 'p';
	return false;
}

int uprobe_args_all(struct model *m, const char *command, char **out)
{
	struct prototype *f = NULL;
	unsigned int nr;
	char **words;
	int err = 0;

	*out = NULL;
	if (!strstr(command, "$arg*"))
		return 0;
	words = words_split(command, &nr);
	if (!words)
		return -ENOMEM;
	if (wants_all(words, nr))
		f = prototype_at(m, words[1]);
	if (f) {
		say_left_out(m, f, command);
		*out = join_all(f, words, nr);
		err = *out ? 0 : -ENOMEM;
	}
	free(f);
	words_free(words);
	return err;
}
