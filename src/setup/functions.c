/* SPDX-License-Identifier: MIT */
/*
 * functions.c - says which function does not exist, after a write to a set of functions was refused
 *
 * The file says EINVAL, as the kernel's does. A list of the functions is read only then.
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "access/access.h"
#include "model/demangle/demangle.h"
#include "model/text.h"
#include "model/text_memory.h"
#include "server/nearest.h"
#include "setup/state.h"

/* nearest_names() ends a name at a colon and at a blank: these stand for them. */
static const char seen[] = ": ", hidden[] = "\001\002";

struct known {
	char		*functions;	/* available_filter_functions */
	struct demangler *demangler;
};

static void replace(char *text, const char *from, const char *to)
{
	for (; *text; text++) {
		const char *found = strchr(from, *text);

		if (found)
			*text = to[found - from];
	}
}

/* The functions' names of the source, a line each, without arguments. NULL: no memory. */
static char *source_names(const struct known *k)
{
	char *text = NULL, *line, *rest, *copy = strdup(k->functions);
	size_t size;
	FILE *out = copy ? text_memory_open(&text, &size) : NULL;

	rest = copy;
	while (out && (line = strsep(&rest, "\n"))) {
		const char *name;

		line[strcspn(line, " ")] = '\0';
		name = demangle(k->demangler, line);
		if (name)
			fprintf(out, "%s\n", name);
	}
	free(copy);
	return out && !fclose(out) ? text : NULL;
}

/* `names`: a line each. A name ends at its line's end, or at the blank in front of a module. */
static bool has_match(const char *pattern, char *names, const char *ends)
{
	bool has = false;

	while (*names && !has) {
		char *line = names, *end = names + strcspn(names, ends), was = *end;

		*end = '\0';
		has = !fnmatch(pattern, line, 0);
		*end = was;
		names += strcspn(names, "\n");
		names += *names == '\n';
	}
	return has;
}

/* Without stars, a name that nothing is like may be that of a library. */
static void say_near(const char *word, const char *near, FILE *err)
{
	if (*near)
		fprintf(err, " (there is %s)\n", near);
	else if (strpbrk(word, "*?[: "))
		fputc('\n', err);
	else
		fprintf(err, "; a function of a library is written %s:mod:LIBRARY\n", word);
}

static void explain_word(const struct known *k, char *word, bool quoted, FILE *err)
{
	char *names = quoted ? source_names(k) : strdup(k->functions);
	char near[512] = "";

	if (quoted)
		demangle_shorten(word);
	if (names && !has_match(word, names, quoted ? "\n" : " \n")) {
		char *called = demangle_find_called(k->functions, word);

		fprintf(err, "tracefuse: no function has a name like %s", word);
		if (quoted) {
			replace(names, seen, hidden);
			replace(word, seen, hidden);
		}
		nearest_names(word, names, near, sizeof(near));
		replace(near, hidden, seen);
		if (called)
			fprintf(err, " (there is %s)\n", called);
		else
			say_near(word, near, err);
		free(called);
	}
	free(names);
}

/* A command of a function and a module have colons. */
static void explain_words(const struct known *k, char *text, FILE *err)
{
	while (*(text += strspn(text, " \t\n"))) {
		char *word = text + (*text == '!'), *end;
		const bool quoted = *word == '"';

		word += quoted;
		end = word + strcspn(word, quoted ? "\"\n" : " \t\n");
		text = end + !!*end;
		*end = '\0';
		if (*word && (quoted || (!strchr(word, ':') && !text_is_digit(*word))))
			explain_word(k, word, quoted, err);
	}
}

static bool is_set_of_functions(const char *path)
{
	static const char *const files[] = {
		"set_ftrace_filter", "set_ftrace_notrace", "set_graph_function",
		"set_graph_notrace",
	};
	const char *slash = strrchr(path, '/');

	for (unsigned int i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!strcmp(slash ? slash + 1 : path, files[i]))
			return true;
	return false;
}

void setup_functions_explain(struct access *a, const char *path, const char *text, FILE *err)
{
	struct known k = { .functions = NULL };
	size_t len;
	char *copy;

	if (!is_set_of_functions(path) ||
	    access_read_all(a, "available_filter_functions", &k.functions, &len))
		return;
	copy = strdup(text);
	k.demangler = demangler_create();
	if (copy && k.demangler)
		explain_words(&k, copy, err);
	demangler_destroy(k.demangler);
	free(copy);
	free(k.functions);
}
