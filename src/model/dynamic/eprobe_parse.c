/* SPDX-License-Identifier: MIT */
/*
 * eprobe_parse.c - e[:[GROUP/][NAME]] SYSTEM.EVENT [[NAME=]EXPRESSION ...] [if FILTER]
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/dynamic/eprobe.h"
#include "model/errlog.h"
#include "model/filter/filter.h"
#include "model/text.h"
#include "model/text_memory.h"

enum { NAME_ROOM = 64, ARG_NAME_MAX = 32 };

/*
 * The position of the current word. Behind the last word it is one further than that of a next
 * word.
 */
static size_t word_position(const struct eprobe_log *log)
{
	size_t pos = 0;

	for (unsigned int i = 0; i < log->nr_words && i < log->at; i++)
		pos += strlen(log->words[i]) + 1;
	return pos;
}

static char *join_words(char *const *words, unsigned int nr)
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

int eprobe_wrong(const struct eprobe_log *log, int err, size_t offset, const char *text)
{
	char *command = join_words(log->words, log->nr_words);

	if (!command)
		return -ENOMEM;
	if (log->at >= log->nr_words)
		offset = 0;
	errlog_add(log->model->top->errlog, "event_probe", command, text,
		   (unsigned int)(word_position(log) + offset));
	free(command);
	return err;
}

/* ---- names ---- */

/* GROUP/NAME or GROUP.NAME; each is NULL if it is missing. */
struct names {
	char	*group, *name;
};

static void names_free(struct names *n)
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

static int parse_group(const struct eprobe_log *log, const char *text, const char *slash,
		       size_t offset, struct names *out)
{
	if (slash == text)
		return eprobe_wrong(log, -EINVAL, offset, "Group name is not specified");
	if (slash - text >= NAME_ROOM)
		return eprobe_wrong(log, -EINVAL, offset, "Group name is too long");
	out->group = strndup(text, (size_t)(slash - text));
	if (!out->group)
		return -ENOMEM;
	if (!is_good_group(out->group))
		return eprobe_wrong(log, -EINVAL, offset,
				    "Group name must follow the same rules as C identifiers");
	return 0;
}

/* `offset`: where the text begins in its word. */
static int parse_names(const struct eprobe_log *log, const char *text, size_t offset,
		       struct names *out)
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
			     : eprobe_wrong(log, -EINVAL, offset, "Event name is not specified");
	if (strlen(text) >= NAME_ROOM)
		return eprobe_wrong(log, -EINVAL, offset, "Event name is too long");
	if (!dynamic_name_is_good(text))
		return eprobe_wrong(log, -EINVAL, offset,
				    "Event name must follow the same rules as C identifiers");
	out->name = strdup(text);
	return out->name ? 0 : -ENOMEM;
}

/* ---- what it is attached to ---- */

static bool may_be_probed(const struct event *e)
{
	static const char *const probes[] = { "kprobes", "uprobes", "eprobes" };

	if (e->internal || eprobe_of_event(e))
		return false;
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
		if (!strcmp(e->system->name, probes[i]))
			return false;
	return true;
}

static int find_base(struct eprobe *p, struct eprobe_log *log)
{
	struct names n = { NULL, NULL };
	int err;

	log->at = 1;
	err = parse_names(log, log->words[1], 0, &n);
	if (err == -ENOMEM)
		goto free_names;
	if (err || !n.group || !n.name) {
		err = eprobe_wrong(log, -EINVAL, 0,
				   "This requires both group and event name to attach");
		goto free_names;
	}
	p->base = model_find_event(log->model, n.group, n.name);
	if (p->base && !may_be_probed(p->base))
		p->base = NULL;
	if (p->base && event_need_fields(p->base) == -ENOMEM) {
		err = -ENOMEM;
		goto free_names;
	}
	if (!p->name)
		p->name = strdup(n.name);
	if (!p->name)
		err = -ENOMEM;

free_names:
	names_free(&n);
	return err;
}

/* "e", "eANYTHING", "e:NAME": parses the names behind the colon, if there is one. */
static int parse_own_names(struct eprobe *p, const struct eprobe_log *log)
{
	const char *text = strchr(log->words[0], ':');
	struct names n = { NULL, NULL };
	int err = text ? parse_names(log, text + 1, (size_t)(text + 1 - log->words[0]), &n) : 0;

	if (err) {
		names_free(&n);
		return err;
	}
	p->group = n.group ? n.group : strdup("eprobes");
	p->name = n.name;
	return p->group ? 0 : -ENOMEM;
}

/* ---- the condition ---- */

static int parse_condition(struct eprobe *p, struct eprobe_log *log, unsigned int first)
{
	struct filter *filter = NULL;
	int err;

	log->at = first;
	if (first == log->nr_words)
		return eprobe_wrong(log, -EINVAL, 0, "No filter rule after 'if'");
	p->cond = join_words(log->words + first, log->nr_words - first);
	if (!p->cond)
		return -ENOMEM;
	err = filter_parse(p->base, p->cond, log->model->top->errlog, &filter);
	filter_destroy(filter);
	return err && err != -ENOMEM ? -EINVAL : err;
}

/* ---- arguments ---- */

static bool is_taken(const struct eprobe *p, const char *name)
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

static int parse_arg_name(const struct eprobe *p, struct eprobe_arg *arg,
			  const struct eprobe_log *log, const char *word, const char *equals)
{
	if (!equals)
		return asprintf(&arg->name, "arg%u", p->nr_args + 1) < 0 ? -ENOMEM : 0;
	if (equals - word > ARG_NAME_MAX)
		return eprobe_wrong(log, -EINVAL, 0, "Argument name is too long");
	if (equals == word)
		return eprobe_wrong(log, -EINVAL, 0, "Argument name is not specified");
	arg->name = strndup(word, (size_t)(equals - word));
	return arg->name ? 0 : -ENOMEM;
}

static void arg_free(struct eprobe_arg *arg)
{
	for (unsigned int i = 0; i < EPROBE_STEPS; i++)
		free(arg->steps[i].text);
	free(arg->name);
	free(arg->text);
}

static int parse_arg(struct eprobe *p, struct eprobe_arg *arg, const struct eprobe_log *log)
{
	const char *word = log->words[log->at], *equals = strchr(word, '=');
	const char *text = equals ? equals + 1 : word;
	int err = parse_arg_name(p, arg, log, word, equals);

	if (err)
		return err;
	if (!dynamic_name_is_good(arg->name))
		return eprobe_wrong(log, -EINVAL, 0,
				    "Argument name must follow the same rules as C identifiers");
	if (is_taken(p, arg->name))
		return eprobe_wrong(log, -EINVAL, 0, "This argument name is already used");
	arg->text = strdup(text);
	return arg->text ? eprobe_parse_fetch(p, arg, log, (size_t)(text - word)) : -ENOMEM;
}

static int parse_args(struct eprobe *p, struct eprobe_log *log, unsigned int end)
{
	p->args = calloc(end - 2 + 1, sizeof(*p->args));
	if (!p->args)
		return -ENOMEM;
	for (log->at = 2; log->at < end; log->at++) {
		struct eprobe_arg *arg = &p->args[p->nr_args];
		int err = parse_arg(p, arg, log);

		if (err) {
			arg_free(arg);
			return err;
		}
		p->nr_args++;
		p->size += arg->type->size * (arg->count ? arg->count : 1);
	}
	return 0;
}

/* ---- the whole ---- */

void eprobe_free(struct eprobe *p)
{
	for (unsigned int i = 0; i < p->nr_args; i++)
		arg_free(&p->args[i]);
	free(p->args);
	free(p->group);
	free(p->name);
	free(p->cond);
	free(p);
}

/* The index of the word "if", or the number of words. */
static unsigned int find_condition(char *const *words, unsigned int nr)
{
	unsigned int i = 2;

	while (i < nr && strcmp(words[i], "if"))
		i++;
	return i;
}

static int parse_words(struct eprobe *p, struct eprobe_log *log)
{
	const unsigned int end = find_condition(log->words, log->nr_words);
	int err = parse_own_names(p, log);

	if (!err)
		err = find_base(p, log);
	if (err)
		return err;
	if (end - 2 > EPROBE_ARGS_MAX)
		return -E2BIG;
	if (!p->base)
		return eprobe_wrong(log, -ENODEV, 0, "Attached event does not exist");
	if (end < log->nr_words)
		err = parse_condition(p, log, end + 1);
	return err ? err : parse_args(p, log, end);
}

int eprobe_parse(struct model *m, char *const *words, unsigned int nr_words, struct eprobe **out)
{
	struct eprobe_log log = { .model = m, .words = words, .nr_words = nr_words };
	struct eprobe *p;
	int err;

	if (nr_words < 2 || *words[0] != 'e')
		return -ECANCELED;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->size = EPROBE_RECORD_HEAD;
	err = parse_words(p, &log);
	if (err) {
		eprobe_free(p);
		return err;
	}
	*out = p;
	return 0;
}
