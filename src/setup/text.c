/* SPDX-License-Identifier: MIT */
/*
 * text.c - the setup reader's way in: texts and files
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/input.h"
#include "setup/state.h"
#include "model/text_memory.h"

enum { MAX_CAPTURES = 16 };		/* $(...) in each other */

/* The start of line number `line` of text whose first line is `first`. */
static const char *line_start(const char *text, unsigned int first, unsigned int line)
{
	for (; first < line && *text; first++) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return text;
}

/* Runs what stands before a syntax error; returns how many lines of the text that was. */
static void run_before(struct setup *s, const char *text, unsigned int first, const char *end)
{
	char *part = strndup(text, (size_t)(end - text));
	const char *error;
	unsigned int error_line;
	struct setup_node *n = part ? setup_parse(part, first, &error, &error_line) : NULL;

	setup_run(s, n);
	setup_node_destroy(n);
	free(part);
}

static void run_lines(struct setup *s, const char *text)
{
	unsigned int first = 1, error_line;
	const char *error;

	while (*text && !s->exiting) {
		struct setup_node *n = setup_parse(text, first, &error, &error_line);
		const char *at;

		if (!error) {
			setup_run(s, n);
			setup_node_destroy(n);
			return;
		}
		if (error_line < first)
			error_line = first;
		at = line_start(text, first, error_line);
		run_before(s, text, first, at);
		s->line = error_line;
		setup_error(s, s->err, "%s", error);
		text = line_start(at, error_line, error_line + 1);
		first = error_line + 1;
	}
}

char *setup_capture(struct setup *s, const char *text)
{
	FILE *before = s->out;
	unsigned int line = s->line, error_line;
	const char *error = NULL;
	char *output = NULL;
	size_t len = 0;
	struct setup_node *n;
	bool failed;

	if (s->depth == MAX_CAPTURES)
		return strdup("");
	s->depth++;
	s->out = text_memory_open(&output, &len);
	n = s->out ? setup_parse(text, line, &error, &error_line) : NULL;
	failed = !s->out || error == setup_no_memory;
	if (error && !failed)
		setup_error(s, s->err, "%s", error);
	setup_run(s, n);
	setup_node_destroy(n);
	if (s->out && fclose(s->out))
		failed = true;
	s->out = before;
	s->line = line;
	s->depth--;
	if (failed) {
		free(output);
		return NULL;
	}
	while (len && output[len - 1] == '\n')
		output[--len] = '\0';
	return output;
}

/* Returns false when the text is for the reader all the same. */
static bool run_in_shell(struct setup *s, const char *text)
{
	const struct setup_params *p = s->params;
	unsigned int line = 0;
	char *need = p->shell ? setup_need(text, &line) : NULL, *mark;
	int ret;

	if (!need)
		return false;
	fflush(s->out);
	mark = access_errors_mark(p->access, "");
	ret = p->shell(p->shell_arg, p->name, text);
	access_errors_print(p->access, "", mark, s->err);
	if (ret < 0)
		fprintf(s->err, "%s: line %u: %s: needs a shell, and that needs a mount: %s; "
			"the rest is read without\n", p->name, line, need, strerror(-ret));
	s->failed += ret > 0;
	free(need);
	return ret >= 0;
}

int setup_run_text(const struct setup_params *params, const char *text, size_t len)
{
	struct setup s = {
		.params = params, .out = params->out ? params->out : stdout,
		.err = params->err ? params->err : stderr,
	};
	char *copy = strndup(text, len), *pasted;

	if (!copy)
		return -ENOMEM;
	if (params->document)
		setup_straighten(copy);
	if (setup_is_paste(copy, params->document)) {
		pasted = setup_paste(copy);
		free(copy);
		copy = pasted;
	}
	if (copy && !run_in_shell(&s, copy))
		run_lines(&s, copy);
	fflush(s.out);
	free(copy);
	setup_variables_destroy(&s);
	return s.failed;
}

int setup_run_file(const struct setup_params *params, const char *file)
{
	size_t len;
	char *text;
	int ret = input_read_all(file, &text, &len);

	if (!ret)
		ret = setup_run_text(params, text, len);
	free(text);
	return ret;
}
