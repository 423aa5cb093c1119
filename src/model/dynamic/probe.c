/* SPDX-License-Identifier: MIT */
/*
 * probe.c - the arguments of probes of all kinds in the event's format, and in commands that remove
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/dynamic/probe.h"

const char *const probe_register_names[PROBE_REGISTERS] = {
	"r15", "r14", "r13", "r12", "r11", "r10", "r9", "r8", "bx", "cx", "dx", "si", "di", "bp",
	"ax", "ds", "es", "fs", "gs", "orig_ax", "ip", "cs", "flags", "sp", "ss",
};

static void probe_arg_clear(struct probe_arg *arg)
{
	for (unsigned int i = 0; i < PROBE_STEPS; i++)
		free(arg->steps[i].text);
	free(arg->name);
	free(arg->text);
}

void probe_clear(struct probe *p)
{
	for (unsigned int i = 0; i < p->nr_args; i++)
		probe_arg_clear(&p->args[i]);
	free(p->args);
	free(p->group);
	free(p->name);
}

/* ---- the format ---- */

static unsigned int probe_arg_size(const struct probe_arg *arg)
{
	return arg->type->size * (arg->count ? arg->count : 1);
}

void probe_format_field(const struct probe *p, unsigned int i, FILE *out)
{
	const struct probe_arg *arg = &p->args[i];

	if (!arg->count)
		fprintf(out, "\tfield:%s %s;", arg->type->field, arg->name);
	else if (probe_arg_is_string(arg))
		fprintf(out, "\tfield:%s[%u] %s;", arg->type->field, arg->count, arg->name);
	else
		fprintf(out, "\tfield:%s %s[];", arg->type->field, arg->name);
	fprintf(out, "\toffset:%u;\tsize:%u;\tsigned:%d;\n", arg->offset, probe_arg_size(arg),
		arg->type->is_signed);
}

void probe_format_text(const struct probe *p, unsigned int i, FILE *out)
{
	const struct probe_arg *arg = &p->args[i];

	fprintf(out, " %s=", arg->name);
	if (!arg->count) {
		fputs(arg->type->conversion, out);
		return;
	}
	for (unsigned int k = 0; k < arg->count; k++)
		fprintf(out, "%c%s", k ? ',' : '{', arg->type->conversion);
	fputc('}', out);
}

void probe_format_arguments(const struct probe *p, unsigned int i, FILE *out)
{
	const struct probe_arg *arg = &p->args[i];

	if (!arg->count)
		fprintf(out, probe_arg_is_string(arg) ? ", __get_str(%s)" : ", REC->%s", arg->name);
	for (unsigned int k = 0; k < arg->count; k++)
		fprintf(out, probe_arg_is_string(arg) ? ", __get_str(%s[%u])" : ", REC->%s[%u]",
			arg->name, k);
}

int probe_describe_fields(struct probe *p)
{
	unsigned int nr;
	struct field *fields = (struct field *)event_fields(p->dyn.event, &nr);

	if (!fields || nr < p->nr_args)
		return -ENOMEM;
	fields += nr - p->nr_args;
	for (unsigned int i = 0; i < p->nr_args; i++) {
		const struct probe_arg *arg = &p->args[i];
		char *type;

		if (!arg->count || probe_arg_is_string(arg))
			continue;
		if (asprintf(&type, "%s[%u]", arg->type->field, arg->count) < 0)
			return -ENOMEM;
		free(fields[i].type);
		fields[i].type = type;
	}
	return 0;
}

/* Whether the text behind "format:" is `body`. */
static bool has_format(const struct event *e, const char *body)
{
	static const char mark[] = "\nformat:\n";
	const char *text = strstr(e->format, mark);

	return text && !strcmp(text + sizeof(mark) - 1, body);
}

struct event *probe_find_recorded(const struct probe *p, struct model *m, const char *body)
{
	struct event *e = m->imported ? model_find_event(m, p->group, p->name) : NULL;

	return e && !e->dynamic && has_format(e, body) ? e : NULL;
}

/* ---- lists and removal ---- */

void probe_print_args(const struct probe *p, FILE *out)
{
	for (unsigned int i = 0; i < p->nr_args; i++)
		fprintf(out, " %s=%s", p->args[i].name, p->args[i].text);
}

bool probe_is_enabled(const struct dynamic_event *d)
{
	const struct event_file *f;

	list_each(f, &d->event->files, event_node)
		if (f->enabled)
			return true;
	return false;
}

bool probe_matches(const struct probe *p, const char *system, const char *event)
{
	return (!system || !strcmp(p->group, system)) && (!*event || !strcmp(p->name, event));
}

static bool is_arg(const struct probe_arg *arg, const char *word)
{
	size_t len = strlen(arg->name);

	return !strncmp(word, arg->name, len) && word[len] == '=' &&
	       !strcmp(word + len + 1, arg->text);
}

bool probe_matches_args(const struct probe *p, char *const *words, unsigned int nr_words)
{
	if (nr_words > p->nr_args)
		return false;
	for (unsigned int i = 0; i < nr_words; i++)
		if (!is_arg(&p->args[i], words[i]))
			return false;
	return true;
}
