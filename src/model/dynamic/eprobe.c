/* SPDX-License-Identifier: MIT */
/*
 * eprobe.c - makes, prints and removes event probes; eprobe_parse.c reads their commands
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/dynamic/eprobe.h"

static struct eprobe *probe_of(const struct dynamic_event *d)
{
	return list_entry(d, struct eprobe, dyn);
}

struct eprobe *eprobe_of_event(const struct event *e)
{
	return e->made && e->made->kind == &eprobe_kind ? probe_of(e->made) : NULL;
}

/* ---- texts ---- */

static void eprobe_print_line(const struct dynamic_event *d, FILE *out)
{
	const struct eprobe *p = probe_of(d);

	fprintf(out, "e:%s/%s %s.%s", p->group, p->name, p->base->system->name, p->base->name);
	for (unsigned int i = 0; i < p->nr_args; i++)
		fprintf(out, " %s=%s", p->args[i].name, p->args[i].text);
	fputc('\n', out);
}

static bool eprobe_is_string(const struct eprobe_arg *arg)
{
	return arg->type->print == EPROBE_STRING;
}

static unsigned int arg_size(const struct eprobe_arg *arg)
{
	return arg->type->size * (arg->count ? arg->count : 1);
}

static unsigned int nr_fields(const struct dynamic_event *d)
{
	return probe_of(d)->nr_args;
}

static void format_field(const struct dynamic_event *d, unsigned int i, FILE *out)
{
	const struct eprobe_arg *arg = &probe_of(d)->args[i];

	if (!arg->count)
		fprintf(out, "\tfield:%s %s;", arg->type->field, arg->name);
	else if (eprobe_is_string(arg))
		fprintf(out, "\tfield:%s[%u] %s;", arg->type->field, arg->count, arg->name);
	else
		fprintf(out, "\tfield:%s %s[];", arg->type->field, arg->name);
	fprintf(out, "\toffset:%u;\tsize:%u;\tsigned:%d;\n", arg->offset, arg_size(arg),
		arg->type->is_signed);
}

static void eprobe_format_text(const struct dynamic_event *d, unsigned int i, FILE *out)
{
	const struct eprobe_arg *arg = &probe_of(d)->args[i];

	fprintf(out, " %s=", arg->name);
	if (!arg->count) {
		fputs(arg->type->conversion, out);
		return;
	}
	for (unsigned int k = 0; k < arg->count; k++)
		fprintf(out, "%c%s", k ? ',' : '{', arg->type->conversion);
	fputc('}', out);
}

static void format_arguments(const struct dynamic_event *d, unsigned int i, FILE *out)
{
	const struct eprobe_arg *arg = &probe_of(d)->args[i];

	if (!arg->count)
		fprintf(out, eprobe_is_string(arg) ? ", __get_str(%s)" : ", REC->%s", arg->name);
	for (unsigned int k = 0; k < arg->count; k++)
		fprintf(out, eprobe_is_string(arg) ? ", __get_str(%s[%u])" : ", REC->%s[%u]",
			arg->name, k);
}

/* ---- making ---- */

static void eprobe_destroy(struct dynamic_event *d)
{
	eprobe_free(probe_of(d));
}

/* A format does not say how long an array is; the field of a kernel does. */
static int describe_fields(struct eprobe *p)
{
	unsigned int nr;
	struct field *fields = (struct field *)event_fields(p->event, &nr);

	if (!fields || nr < p->nr_args)
		return -ENOMEM;
	fields += nr - p->nr_args;
	for (unsigned int i = 0; i < p->nr_args; i++) {
		const struct eprobe_arg *arg = &p->args[i];
		char *type;

		if (!arg->count || eprobe_is_string(arg))
			continue;
		if (asprintf(&type, "%s[%u]", arg->type->field, arg->count) < 0)
			return -ENOMEM;
		free(fields[i].type);
		fields[i].type = type;
	}
	return 0;
}

static int eprobe_add_event(struct eprobe *p, struct model *m, const char *command, unsigned int id)
{
	char *body = dynamic_format(&p->dyn);
	int err =
		body ? model_add_dynamic_event(m, p->group, p->name, body, id, &p->event) : -ENOMEM;

	free(body);
	if (err)
		return err;
	p->dyn.event = p->event;
	err = describe_fields(p);
	if (!err)
		err = dynamic_add(&p->dyn, command);
	if (err) {
		model_remove_event(m, p->event);
		return err;
	}
	p->base->attached++;
	return 0;
}

static int create_from(struct model *m, const char *command, char *const *words, unsigned int nr,
		       unsigned int id)
{
	const struct eprobe_log log = { .model = m, .words = words, .nr_words = nr };
	struct eprobe *p;
	int err = eprobe_parse(m, words, nr, &p);

	if (err)
		return err;
	p->dyn.kind = &eprobe_kind;
	list_init(&p->dyn.node);
	err = eprobe_add_event(p, m, command, id);
	if (err == -EEXIST)
		eprobe_wrong(&log, err, 0,
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
	struct eprobe *p = probe_of(d);
	int err = dynamic_remove(d);

	if (err)
		return err;
	p->base->attached--;
	eprobe_free(p);
	return 0;
}

static bool eprobe_is_busy(const struct dynamic_event *d)
{
	const struct event_file *f;

	list_each(f, &d->event->files, event_node)
		if (f->enabled)
			return true;
	return false;
}

/* ---- -:[GROUP/][NAME] [SYSTEM.EVENT [NAME=EXPRESSION ...]] ---- */

/* "SYSTEM.EVENT" or "SYSTEM/EVENT" */
static bool is_base(const struct eprobe *p, const char *word)
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

static bool is_arg(const struct eprobe_arg *arg, const char *word)
{
	size_t len = strlen(arg->name);

	return !strncmp(word, arg->name, len) && word[len] == '=' &&
	       !strcmp(word + len + 1, arg->text);
}

static bool eprobe_matches(const struct dynamic_event *d, const char *system, const char *event,
			   char *const *words, unsigned int nr_words)
{
	const struct eprobe *p = probe_of(d);

	if (system && strcmp(p->group, system))
		return false;
	if (*event && strcmp(p->name, event))
		return false;
	if (!nr_words)
		return true;
	if (!is_base(p, words[0]) || nr_words - 1 > p->nr_args)
		return false;
	for (unsigned int i = 1; i < nr_words; i++)
		if (!is_arg(&p->args[i - 1], words[i]))
			return false;
	return true;
}

const struct dynamic_kind eprobe_kind = {
	.create		= eprobe_create,
	.print		= eprobe_print_line,
	.nr_fields	= nr_fields,
	.format_field	= format_field,
	.format_text	= eprobe_format_text,
	.format_arguments = format_arguments,
	.is_busy	= eprobe_is_busy,
	.remove		= remove_event,
	.destroy	= eprobe_destroy,
	.matches	= eprobe_matches,
};
