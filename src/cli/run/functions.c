/* SPDX-License-Identifier: MIT */
/*
 * functions.c - --function and --graph of a run: sets filters and tracer while the program waits
 *
 * Patterns are written again for each program that waits, because they may be meant for the next
 * program (sh -c ...). They are also written when a program loads an object with functions
 * (dlopen), where the program waits, too. The tracer begins when the first functions are found,
 * because an empty filter would mean all functions.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "server/nearest.h"
#include "cli/run/run.h"
#include "elf/file.h"
#include "model/demangle/demangle.h"
#include "model/text_memory.h"
#include "session/array.h"

struct run_pattern {
	const char	*pattern;
	bool		graph;		/* of --graph, else of --function */
	bool		found;		/* it has matched a function */
	/* Similar names, if it did not match the last time; NULL: none. */
	char		*nearest;
	/* Why the functions that it means cannot be traced; NULL: no program had any. */
	char		*refused;
};

/* ---- the command line ---- */

int run_functions_add(struct run *r, bool graph, const char *pattern)
{
	struct run_functions *f = &r->functions;

	if (graph)
		f->graph = true;
	else
		f->function = true;
	if (!pattern)
		return 0;
	if (array_room(&f->patterns, f->nr, sizeof(*f->patterns)))
		return -ENOMEM;
	f->patterns[f->nr++] = (struct run_pattern){ .pattern = pattern, .graph = graph };
	return 0;
}

bool run_functions_asked(const struct run *r)
{
	return r->functions.function || r->functions.graph;
}

bool run_functions_wait(const struct run *r)
{
	return run_functions_asked(r) && (r->functions.nr || !r->functions.traced);
}

/* ---- before a program begins ---- */

/* Whether a setup may choose functions, or a tracer of them. */
static bool script_asks(const char *script)
{
	static const char *const files[] = {
		"current_tracer", "set_ftrace_", "set_graph_", "function_profile", "events/ftrace",
		"ftrace:function",
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (strstr(script, files[i]))
			return true;
	return false;
}

/* Prints the libraries in a text: what is behind each :mod: */
static void print_libraries(const char *text, FILE *out)
{
	static const char mod[] = ":mod:";

	for (const char *at = strstr(text, mod); at; at = strstr(at, mod)) {
		size_t len = strcspn(at += strlen(mod), " \t\n\"'>;|&:");

		/* A variable of the script says nothing. */
		if (len && !memchr(at, '$', len))
			fprintf(out, "\n%.*s", (int)len, at);
	}
}

char *run_functions_barrier(const struct run *r)
{
	bool asked = run_functions_asked(r) || r->functions.all;
	char *text = NULL;
	size_t size;
	FILE *out;

	for (unsigned int i = 0; i < r->asked.setups.nr; i++)
		asked |= script_asks(r->scripts[i]);
	if (!asked)
		return strdup("");
	out = text_memory_open(&text, &size);
	if (!out)
		return NULL;
	fputs("functions", out);
	if (r->functions.all)
		fputs("\n*", out);
	for (unsigned int i = 0; i < r->functions.nr; i++)
		print_libraries(r->functions.patterns[i].pattern, out);
	for (unsigned int i = 0; i < r->asked.setups.nr; i++)
		print_libraries(r->scripts[i], out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* Whether each pattern has matched a function. Then similar names are no longer needed. */
static bool all_found(const struct run_functions *f)
{
	bool all = f->traced;

	for (unsigned int i = 0; i < f->nr; i++)
		all &= f->patterns[i].found;
	return all;
}

void run_functions_free(struct run *r)
{
	for (unsigned int i = 0; i < r->functions.nr; i++) {
		free(r->functions.patterns[i].nearest);
		free(r->functions.patterns[i].refused);
	}
	free(r->functions.patterns);
}

/* ---- while a program waits ---- */

/* What is written. A demangled name is quoted, because it contains blanks and colons. */
static char *pattern_text(const char *pattern)
{
	const bool not = *pattern == '!';
	const bool quote =
		pattern[not ] != '"' && (strstr(pattern, "::") || strpbrk(pattern, " (<"));
	char *text;

	return asprintf(&text, "%s%s%s%s\n", not ? "!" : "", quote ? "\"" : "", pattern + not,
			quote ? "\"" : "") < 0 ? NULL : text;
}

static const char *option_of(const struct run_pattern *p)
{
	return p->graph ? "--graph" : "--function";
}

static void find_nearest(struct run_pattern *p, const char *available)
{
	char names[256];

	free(p->nearest);
	p->nearest = demangle_find_called(available, p->pattern);
	nearest_names(p->pattern, available, names, sizeof(names));
	if (!p->nearest && *names)
		p->nearest = strdup(names);
}

/* Keeps the reason that error_log has for a word that was refused, if it has one. */
static void find_refused(struct run *r, struct run_pattern *p, const char *file, const char *text)
{
	char *why = access_errors_reason(r->access, file, text, NULL);

	if (!why)
		return;
	free(p->refused);
	p->refused = why;
}

static int write_pattern(struct run *r, struct run_pattern *p)
{
	const char *file = p->graph ? "set_graph_function" : "set_ftrace_filter";
	char *text = pattern_text(p->pattern);
	int ret;

	if (!text)
		return -ENOMEM;
	ret = access_write_all(r->access, file, O_APPEND, text, strlen(text), NULL);
	if (ret == -EINVAL && !p->found)
		find_refused(r, p, file, text);
	free(text);
	return ret;
}

static void set_pattern(struct run *r, struct run_pattern *p, const char *available)
{
	const int ret = write_pattern(r, p);

	p->found |= !ret;
	if (ret == -EINVAL && !p->found)
		find_nearest(p, available);
	else if (ret && ret != -EINVAL)
		message_error("%s=%s: %s", option_of(p), p->pattern, strerror(-ret));
}

/* Whether a pattern of this kind has matched, or no pattern of this kind was given. */
static bool is_chosen(const struct run_functions *f, bool graph)
{
	bool asked = false;

	for (unsigned int i = 0; i < f->nr; i++) {
		if (f->patterns[i].graph != graph)
			continue;
		asked = true;
		if (f->patterns[i].found)
			return true;
	}
	return !asked;
}

static void set_tracer(struct run *r)
{
	const char *tracer = r->functions.graph ? "function_graph\n" : "function\n";
	int ret;

	if (r->functions.traced || !is_chosen(&r->functions, false) ||
	    !is_chosen(&r->functions, true))
		return;
	ret = access_write_all(r->access, "current_tracer", O_TRUNC, tracer, strlen(tracer), NULL);
	if (ret)
		message_error("current_tracer: %.*s: %s", (int)strcspn(tracer, "\n"), tracer,
			      strerror(-ret));
	r->functions.traced = true;
}

void run_functions_set(struct run *r)
{
	const bool again = all_found(&r->functions);
	char *available = NULL;
	size_t len;

	if (!run_functions_wait(r) || !r->access ||
	    (!again && access_read_all(r->access, "available_filter_functions", &available, &len)))
		return;
	if (again || len) {
		r->functions.seen = true;
		for (unsigned int i = 0; i < r->functions.nr; i++)
			set_pattern(r, &r->functions.patterns[i], available);
		set_tracer(r);
	}
	free(available);
}

/* ---- at the end ---- */

/* Nothing leaves places to trace in the program, nor is it known where its functions begin. */
static void say_no_sites(const struct run *r)
{
	char why[128];

	if (run_elf_no_functions(r->check.path, why, sizeof(why)))
		fprintf(stderr,
			"tracefuse: %s has no functions that can be traced: %s; --all has "
			"functions of its libraries, and its events (-e heap, -e syscalls ...) do "
			"not need that\n",
			r->program[0], why);
	else
		fprintf(stderr,
			"tracefuse: %s has no functions that can be traced: build it with "
			"-fpatchable-function-entry=5 or -pg; its events (-e heap, -e syscalls "
			"...) need neither\n",
			r->program[0]);
}

/*
 * Prints that no function of any program can be traced. "NUMBER DSO; NUMBER REASON" has the reason,
 * if there are functions.
 */
static void say_none(const struct run *r, const char *info)
{
	char sites[512], *why;

	if (client_info(info, "sites", 0, sites, sizeof(sites)) && (why = strchr(sites, ';')))
		fprintf(stderr, "tracefuse: no function of %.*s can be traced:%s\n",
			(int)(why - strchr(sites, ' ') - 1), strchr(sites, ' ') + 1, why + 1);
	else
		say_no_sites(r);
}

/* Whether the program's file has a function of that name: then its code cannot be traced. */
static bool has_symbol(const struct run *r, const struct run_pattern *p)
{
	struct elf_functions *kept = NULL;
	struct elf_function f;
	const bool has = !elf_functions_find(&kept, r->check.path, p->pattern, &f);

	elf_functions_free(kept);
	return has;
}

static void say_not_found(const struct run *r, const struct run_pattern *p)
{
	if (p->refused)
		message_error("%s=%s: %s", option_of(p), p->pattern, p->refused);
	else if (p->nearest)
		fprintf(stderr, "tracefuse: %s=%s: no function has this name (there is %s)\n",
			option_of(p), p->pattern, p->nearest);
	else if (has_symbol(r, p))
		fprintf(stderr,
			"tracefuse: %s=%s: the function cannot be traced: `tracefuse list "
			"function:%s %s` says why\n",
			option_of(p), p->pattern, p->pattern, r->program[0]);
	else
		fprintf(stderr, "tracefuse: %s=%s: no function has this name; --all has those of "
			"libraries, too\n", option_of(p), p->pattern);
}

void run_functions_summary(const struct run *r, const char *info)
{
	const struct run_functions *f = &r->functions;

	if (!run_functions_asked(r) || !r->attached || r->failed)
		return;
	if (!f->seen) {
		if (!client_say_lost(info, r->info_before))
			say_none(r, info);
		return;
	}
	for (unsigned int i = 0; i < f->nr; i++)
		if (!f->patterns[i].found)
			say_not_found(r, &f->patterns[i]);
	client_say_lost(info, r->info_before);
	if (!r->quiet && !f->nr)
		client_say_untraced(info, "here");
}
