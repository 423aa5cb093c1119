/* SPDX-License-Identifier: MIT */
/*
 * eprobe.c - makes, prints and removes event probes; eprobe_parse.c reads their commands
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/dynamic/eprobe.h"

static struct eprobe *eprobe_of(const struct dynamic_event *d)
{
	return list_entry(d, struct eprobe, probe.dyn);
}

struct eprobe *eprobe_of_event(const struct event *e)
{
	return e->made && e->made->kind == &eprobe_kind ? eprobe_of(e->made) : NULL;
}

/* ---- texts ---- */

static void eprobe_print_line(const struct dynamic_event *d, FILE *out)
{
	const struct probe *p = probe_of(d);

	fprintf(out, "e:%s/%s %s.%s", p->group, p->name, p->base->system->name, p->base->name);
	probe_print_args(p, out);
	fputc('\n', out);
}

static unsigned int nr_fields(const struct dynamic_event *d)
{
	return probe_of(d)->nr_args;
}

static void eprobe_format_field(const struct dynamic_event *d, unsigned int i, FILE *out)
{
	probe_format_field(probe_of(d), i, out);
}

static void eprobe_format_text(const struct dynamic_event *d, unsigned int i, FILE *out)
{
	probe_format_text(probe_of(d), i, out);
}

static void eprobe_format_arguments(const struct dynamic_event *d, unsigned int i, FILE *out)
{
	probe_format_arguments(probe_of(d), i, out);
}

/* ---- making ---- */

static void eprobe_destroy(struct dynamic_event *d)
{
	eprobe_free(eprobe_of(d));
}

/*
 * Whether the event has the probe's records. If the probe was not enabled in the kernel, it has
 * none, though its triggers had hits: then hits of the base make them. id: of the event that a
 * restored probe had
 */
static bool has_records(const struct model *m, const struct event *e, unsigned int id)
{
	if (id)
		return e->id == id;
	return !m->has_records || m->has_records(m->recording, e->id);
}

/* Makes the event, or takes that of the recording. */
static int eprobe_take_event(struct eprobe *e, struct model *m, unsigned int id)
{
	struct probe *p = &e->probe;
	char *body = dynamic_format(&p->dyn);
	struct event *old = body ? probe_find_recorded(p, m, body) : NULL;
	int err = 0;

	if (!body)
		return -ENOMEM;
	e->recorded = old && has_records(m, old, id);
	/* It may be of any system, and nothing in its format says that a command made it. */
	if (old && !old->late)
		old->late = old->became_late = true;
	if (e->recorded)
		p->dyn.event = model_take_recorded_event(old);
	else
		err = model_add_dynamic_event(m, p->group, p->name, body, id, &p->dyn.event);
	free(body);
	return err;
}

static int eprobe_add_event(struct eprobe *e, struct model *m, const char *command, unsigned int id)
{
	struct probe *p = &e->probe;
	int err = eprobe_take_event(e, m, id);

	if (err)
		return err;
	err = probe_describe_fields(p);
	if (!err)
		err = dynamic_add(&p->dyn, command);
	if (err && e->recorded)
		event_set_dynamic(p->dyn.event, false);
	else if (err)
		model_remove_event(m, p->dyn.event);
	else
		p->base->attached++;
	return err;
}

static int create_from(struct model *m, const char *command, char *const *words, unsigned int nr,
		       unsigned int id)
{
	const struct probe_log log = { .model = m, .subsystem = "event_probe", .words = words,
				       .nr_words = nr };
	struct eprobe *p;
	int err = eprobe_parse(m, words, nr, &p);

	if (err)
		return err;
	p->probe.dyn.kind = &eprobe_kind;
	list_init(&p->probe.dyn.node);
	err = eprobe_add_event(p, m, command, id);
	if (err == -EEXIST)
		probe_wrong(&log, err, 0,
			    "Given group/event name is already used by another event");
	if (err)
		eprobe_free(p);
	return err;
}

static int eprobe_create(struct model *m, const char *command, unsigned int id)
{
	unsigned int nr;
	char **words = words_split(command, &nr);
	int err;

	if (!words)
		return -ENOMEM;
	err = nr ? create_from(m, command, words, nr, id) : 0;
	words_free(words);
	return err;
}

static int remove_event(struct dynamic_event *d)
{
	struct eprobe *p = eprobe_of(d);
	int err = dynamic_remove(d);

	if (err)
		return err;
	p->probe.base->attached--;
	eprobe_free(p);
	return 0;
}

/* ---- -:[GROUP/][NAME] [SYSTEM.EVENT [NAME=EXPRESSION ...]] ---- */

/* "SYSTEM.EVENT" or "SYSTEM/EVENT" */
static bool is_base(const struct probe *p, const char *word)
{
	const char *slash = strchr(word, '/');
	size_t len;

	if (!slash)
		slash = strchr(word, '.');
	if (!slash)
		return false;
	len = (size_t)(slash - word);
	return !strncmp(p->base->system->name, word, len) && !p->base->system->name[len] &&
	       !strcmp(p->base->name, slash + 1);
}

static int eprobe_matches(const struct dynamic_event *d, const char *system, const char *event,
			  char *const *words, unsigned int nr_words)
{
	const struct probe *p = probe_of(d);

	if (!probe_matches(p, system, event))
		return 0;
	if (!nr_words)
		return 1;
	return is_base(p, words[0]) && probe_matches_args(p, words + 1, nr_words - 1);
}

const struct dynamic_kind eprobe_kind = {
	.create		= eprobe_create,
	.print		= eprobe_print_line,
	.nr_fields	= nr_fields,
	.format_field	= eprobe_format_field,
	.format_text	= eprobe_format_text,
	.format_arguments = eprobe_format_arguments,
	.is_busy	= probe_is_enabled,
	.remove		= remove_event,
	.destroy	= eprobe_destroy,
	.matches	= eprobe_matches,
};
