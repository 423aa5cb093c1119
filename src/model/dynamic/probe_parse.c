/* SPDX-License-Identifier: MIT */
/*
 * probe_parse.c - words of a command of a probe: names, arguments, and what is wrong with them
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/dynamic/probe.h"
#include "model/errlog.h"
#include "model/text.h"
#include "model/text_memory.h"

enum { ARG_NAME_MAX = 32 };

/*
 * The position of the current word. Behind the last word it is one further than that of a next
 * word.
 */
static size_t word_position(const struct probe_log *log)
{
	size_t pos = 0;

	for (unsigned int i = 0; i < log->nr_words && i < log->at; i++)
		pos += strlen(log->words[i]) + 1;
	return pos;
}

char *probe_join_words(char *const *words, unsigned int nr)
{
	char *text = NULL;
	size_t size;
	FILE *out = text_memory_open(&text, &size);

	if (!out)
		return NULL;
	for (unsigned int i = 0; i < nr; i++)
		fprintf(out, "%s%s", i ? " " : "", words[i]);
	fclose(out);
	return text;
}

int probe_wrong(const struct probe_log *log, int err, size_t offset, const char *text)
{
	char *command = probe_join_words(log->words, log->nr_words);

	if (!command)
		return -ENOMEM;
	if (log->at >= log->nr_words)
		offset = 0;
	errlog_add(log->model->top->errlog, log->subsystem, command, text,
		   (unsigned int)(word_position(log) + offset));
	free(command);
	return err;
}

/* ---- names ---- */

void probe_names_free(struct probe_names *n)
{
	free(n->group);
	free(n->name);
}

/* A letter or '_', then letters, digits, '_' and '-'. */
static bool is_good_group(const char *name)
{
	if (text_is_digit(*name) || (!text_is_alnum(*name) && *name != '_'))
		return false;
	while (*++name)
		if (!text_is_alnum(*name) && *name != '_' && *name != '-')
			return false;
	return true;
}

static int parse_group(const struct probe_log *log, const char *text, const char *slash,
		       size_t offset, struct probe_names *out)
{
	if (slash == text)
		return probe_wrong(log, -EINVAL, offset, "Group name is not specified");
	if (slash - text >= PROBE_NAME_ROOM)
		return probe_wrong(log, -EINVAL, offset, "Group name is too long");
	out->group = strndup(text, (size_t)(slash - text));
	if (!out->group)
		return -ENOMEM;
	if (!is_good_group(out->group))
		return probe_wrong(log, -EINVAL, offset,
				    "Group name must follow the same rules as C identifiers");
	return 0;
}

int probe_parse_names(const struct probe_log *log, const char *text, size_t offset,
		       struct probe_names *out)
{
	const char *slash = strchr(text, '/');
	int err;

	if (!slash)
		slash = strchr(text, '.');
	if (slash) {
		err = parse_group(log, text, slash, offset, out);
		if (err)
			return err;
		offset += (size_t)(slash + 1 - text);
		text = slash + 1;
	}
	if (!*text)
		return slash ? 0
			     : probe_wrong(log, -EINVAL, offset, "Event name is not specified");
	if (strlen(text) >= PROBE_NAME_ROOM)
		return probe_wrong(log, -EINVAL, offset, "Event name is too long");
	if (!dynamic_name_is_good(text))
		return probe_wrong(log, -EINVAL, offset,
				    "Event name must follow the same rules as C identifiers");
	out->name = strdup(text);
	return out->name ? 0 : -ENOMEM;
}

/* ---- arguments ---- */

static bool is_taken(const struct probe *p, const char *name)
{
	static const char *const reserved[] = {
		"common_type", "common_flags", "common_preempt_count", "common_pid", "common_tgid",
		"__probe_ip", "__probe_ret_ip", "__probe_func",
	};

	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (!strcmp(reserved[i], name))
			return true;
	for (unsigned int i = 0; i < p->nr_args; i++)
		if (!strcmp(p->args[i].name, name))
			return true;
	return false;
}

static int parse_arg_name(const struct probe *p, struct probe_arg *arg,
			  const struct probe_log *log, const char *word, const char *equals)
{
	if (!equals)
		return asprintf(&arg->name, "arg%u", p->nr_args + 1) < 0 ? -ENOMEM : 0;
	if (equals - word > ARG_NAME_MAX)
		return probe_wrong(log, -EINVAL, 0, "Argument name is too long");
	if (equals == word)
		return probe_wrong(log, -EINVAL, 0, "Argument name is not specified");
	arg->name = strndup(word, (size_t)(equals - word));
	return arg->name ? 0 : -ENOMEM;
}

static int parse_arg(struct probe *p, struct probe_arg *arg, const struct probe_log *log,
		     const char *word)
{
	const char *equals = strchr(word, '=');
	const char *text = equals ? equals + 1 : word;
	int err = parse_arg_name(p, arg, log, word, equals);

	if (err)
		return err;
	if (!dynamic_name_is_good(arg->name))
		return probe_wrong(log, -EINVAL, 0,
				   "Argument name must follow the same rules as C identifiers");
	if (is_taken(p, arg->name))
		return probe_wrong(log, -EINVAL, 0, "This argument name is already used");
	arg->text = strdup(text);
	return arg->text ? probe_parse_fetch(p, arg, log, (size_t)(text - word)) : -ENOMEM;
}

int probe_parse_args(struct probe *p, struct probe_log *log, unsigned int first, unsigned int end,
		     char *const *texts)
{
	p->args = calloc(end - first + 1, sizeof(*p->args));
	if (!p->args)
		return -ENOMEM;
	for (log->at = first; log->at < end; log->at++) {
		struct probe_arg *arg = &p->args[p->nr_args];
		int err = parse_arg(p, arg, log, (texts ? texts : log->words)[log->at]);

		/* Counted before it is checked: probe_clear() frees what it has. */
		p->nr_args++;
		if (err)
			return err;
		p->size += arg->type->size * (arg->count ? arg->count : 1);
	}
	return 0;
}
