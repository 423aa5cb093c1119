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

static int find_base(struct eprobe *p, struct probe_log *log)
{
	struct probe_names n = { NULL, NULL };
	int err;

	log->at = 1;
	err = probe_parse_names(log, log->words[1], 0, &n);
	if (err == -ENOMEM)
		goto free_names;
	if (err || !n.group || !n.name) {
		err = probe_wrong(log, -EINVAL, 0,
				   "This requires both group and event name to attach");
		goto free_names;
	}
	p->probe.base = model_find_event(log->model, n.group, n.name);
	if (p->probe.base && !may_be_probed(p->probe.base))
		p->probe.base = NULL;
	if (p->probe.base && event_need_fields(p->probe.base) == -ENOMEM) {
		err = -ENOMEM;
		goto free_names;
	}
	if (!p->probe.name)
		p->probe.name = strdup(n.name);
	if (!p->probe.name)
		err = -ENOMEM;

free_names:
	probe_names_free(&n);
	return err;
}

/* "e", "eANYTHING", "e:NAME": parses the names behind the colon, if there is one. */
static int parse_own_names(struct eprobe *p, const struct probe_log *log)
{
	const char *text = strchr(log->words[0], ':');
	struct probe_names n = { NULL, NULL };
	int err = 0;

	if (text)
		err = probe_parse_names(log, text + 1, (size_t)(text + 1 - log->words[0]), &n);

	if (err) {
		probe_names_free(&n);
		return err;
	}
	p->probe.group = n.group ? n.group : strdup("eprobes");
	p->probe.name = n.name;
	return p->probe.group ? 0 : -ENOMEM;
}

/* ---- the condition ---- */

static int parse_condition(struct eprobe *p, struct probe_log *log, unsigned int first)
{
	struct filter *filter = NULL;
	int err;

	log->at = first;
	if (first == log->nr_words)
		return probe_wrong(log, -EINVAL, 0, "No filter rule after 'if'");
	p->cond = probe_join_words(log->words + first, log->nr_words - first);
	if (!p->cond)
		return -ENOMEM;
	err = filter_parse(p->probe.base, p->cond, log->model->top->errlog, &filter);
	filter_destroy(filter);
	return err && err != -ENOMEM ? -EINVAL : err;
}

/* ---- the whole ---- */

void eprobe_free(struct eprobe *p)
{
	probe_clear(&p->probe);
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

static int parse_words(struct eprobe *p, struct probe_log *log)
{
	const unsigned int end = find_condition(log->words, log->nr_words);
	int err = parse_own_names(p, log);

	if (!err)
		err = find_base(p, log);
	if (err)
		return err;
	if (end - 2 > PROBE_ARGS_MAX)
		return -E2BIG;
	if (!p->probe.base)
		return probe_wrong(log, -ENODEV, 0, "Attached event does not exist");
	if (end < log->nr_words)
		err = parse_condition(p, log, end + 1);
	return err ? err : probe_parse_args(&p->probe, log, 2, end, NULL);
}

int eprobe_parse(struct model *m, char *const *words, unsigned int nr_words, struct eprobe **out)
{
	struct probe_log log = { .model = m, .subsystem = "event_probe", .words = words,
				 .nr_words = nr_words };
	struct eprobe *p;
	int err;

	if (nr_words < 2 || *words[0] != 'e')
		return -ECANCELED;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->probe.flags = PROBE_OF_EVENT;
	p->probe.head = p->probe.size = PROBE_COMMON;
	err = parse_words(p, &log);
	if (err) {
		eprobe_free(p);
		return err;
	}
	*out = p;
	return 0;
}
