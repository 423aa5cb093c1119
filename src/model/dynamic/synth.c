/* SPDX-License-Identifier: MIT */
/*
 * synth.c - makes, prints and removes synthetic events; synth_parse.c reads their commands
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/errlog.h"
#include "model/dynamic/synth.h"
#include "model/text.h"

static const char system_name[] = "synthetic";
static const char wrong_form[] = "Command must be of the form: <name> field[;field] ...";
static const char wrong_dynamic_form[] =
	"Command must be of the form: s or -:[synthetic/]<name> field[;field] ...";

static struct synth_event *synth_of(const struct dynamic_event *d)
{
	return list_entry(d, struct synth_event, dyn);
}

struct synth_event *synth_find(struct model *m, const char *name)
{
	struct dynamic_event *d;

	lookup_each(d, &m->dynamic_names, dynamic_name_hash(name), struct dynamic_event, named)
		if (d->kind == &synth_kind && !strcmp(synth_of(d)->name, name))
			return synth_of(d);
	return NULL;
}

void synth_get(struct synth_event *s)
{
	s->refs++;
}

void synth_put(struct synth_event *s)
{
	s->refs--;
}

/* ---- texts ---- */

static void print_fields(const struct synth_event *s, FILE *out)
{
	fprintf(out, "%s\t", s->name);
	for (unsigned int i = 0; i < s->nr_fields; i++)
		fprintf(out, "%s%s %s", i ? "; " : "", s->fields[i].type, s->fields[i].name);
	fputc('\n', out);
}

void synth_print(struct model *m, FILE *out)
{
	struct dynamic_event *d;

	list_each(d, &m->dynamic_events, node)
		if (d->kind == &synth_kind)
			print_fields(synth_of(d), out);
}

static void print_dynamic(const struct dynamic_event *d, FILE *out)
{
	fprintf(out, "s:%s/", system_name);
	print_fields(synth_of(d), out);
}

static unsigned int nr_fields(const struct dynamic_event *d)
{
	return synth_of(d)->nr_fields;
}

static void format_field(const struct dynamic_event *d, unsigned int i, FILE *out)
{
	const struct synth_field *f = &synth_of(d)->fields[i];
	const char *bracket = strchr(f->type, '[');

	if (f->is_dynamic)
		fprintf(out, "\tfield:__data_loc %s %s;", f->type, f->name);
	else if (bracket)
		fprintf(out, "\tfield:%.*s %s[];", (int)(bracket - f->type), f->type, f->name);
	else
		fprintf(out, "\tfield:%s %s;", f->type, f->name);
	fprintf(out, "\toffset:%u;\tsize:%u;\tsigned:%d;\n", f->offset, f->is_dynamic ? 8 : f->size,
		f->is_signed);
}

static void synth_format_text(const struct dynamic_event *d, unsigned int i, FILE *out)
{
	const struct synth_field *f = &synth_of(d)->fields[i];

	fprintf(out, "%s%s=%s", i ? ", " : "", f->name, synth_conversion(f->type));
}

static void format_arguments(const struct dynamic_event *d, unsigned int i, FILE *out)
{
	const struct synth_field *f = &synth_of(d)->fields[i];

	if (f->is_stack)
		fprintf(out, ", __get_stacktrace(%s)", f->name);
	else if (f->is_dynamic)
		fprintf(out, ", __get_str(%s)", f->name);
	else
		fprintf(out, ", REC->%s", f->name);
}

/* ---- making ---- */

static void synth_destroy(struct dynamic_event *d)
{
	struct synth_event *s = synth_of(d);

	synth_fields_free(s->fields, s->nr_fields);
	free(s->name);
	free(s);
}

/*
 * The event's fields as the kernel keeps them. A format does not say how long an array is, nor that
 * a field of another type is a stack.
 */
static int describe_fields(struct synth_event *s)
{
	unsigned int nr;
	struct field *fields = (struct field *)event_fields(s->event, &nr);

	if (!fields || nr < s->nr_fields)
		return -ENOMEM;
	fields += nr - s->nr_fields;
	for (unsigned int i = 0; i < s->nr_fields; i++) {
		const struct synth_field *f = &s->fields[i];
		char *type;

		if (asprintf(&type, "%s%s", f->is_dynamic ? "__data_loc " : "", f->type) < 0)
			return -ENOMEM;
		free(fields[i].type);
		fields[i].type = type;
		if (f->is_stack)
			fields[i].kind = FIELD_STACKTRACE;
	}
	return 0;
}

static unsigned int record_size(const struct synth_event *s)
{
	const struct synth_field *last = &s->fields[s->nr_fields - 1];

	return last->offset + (last->is_string && !last->is_dynamic ? 256 : 8);
}

static int synth_add_event(struct synth_event *s, struct model *m, const char *definition,
			   unsigned int id)
{
	char *body = dynamic_format(&s->dyn), *command;
	int err = body ? model_add_dynamic_event(m, system_name, s->name, body, id, &s->event)
		       : -ENOMEM;

	free(body);
	if (err)
		return err;
	s->dyn.event = s->event;
	err = describe_fields(s);
	if (!err && asprintf(&command, "s:%s/%s %s", system_name, s->name, definition) < 0)
		err = -ENOMEM;
	if (!err) {
		err = dynamic_add(&s->dyn, command);
		free(command);
	}
	if (err)
		model_remove_event(m, s->event);
	return err;
}

static int synth_make(struct model *m, const char *name, const char *definition, unsigned int id,
		      struct synth_error *error)
{
	struct synth_event *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->dyn.kind = &synth_kind;
	list_init(&s->dyn.node);
	s->name = strdup(name);
	err = !s->name ? -ENOMEM : synth_parse_fields(definition, m->machine.long_size, &s->fields,
							 &s->nr_fields, error);
	if (!err) {
		s->record_size = record_size(s);
		err = synth_add_event(s, m, definition, id);
	}
	if (err)
		synth_destroy(&s->dyn);
	return err;
}

/*
 * Logs an error of a whole command. The caret goes under the first place where the command has
 * `at`.
 */
static int synth_wrong(struct model *m, const char *command, int err, const char *text,
		       const char *at)
{
	const char *found = at ? strstr(command, at) : NULL;

	errlog_add(m->top->errlog, "synthetic_events", command, text,
		   found ? (unsigned int)(found - command) : 0);
	return err;
}

static int define(struct model *m, const char *command, const char *name, const char *definition,
		  unsigned int id)
{
	struct synth_error error = { NULL, NULL };
	int err;

	if (!*name)
		return synth_wrong(m, command, -EINVAL, wrong_form, NULL);
	if (!dynamic_name_is_good(name))
		return synth_wrong(m, command, -EINVAL, "Illegal name", name);
	if (synth_find(m, name))
		return synth_wrong(m, command, -EEXIST, "Event already exists", name);
	err = synth_make(m, name, definition, id, &error);
	if (error.text)
		synth_wrong(m, command, err, error.text, error.at);
	free(error.at);
	return err;
}

/* Whether the command has a name and a first field, or is a removal. */
static int check_form(const char *command)
{
	char *first = strndup(command, strcspn(command, ";"));
	char **words = first ? words_split(first, &(unsigned int){ 0 }) : NULL;
	int err = words ? 0 : -ENOMEM;

	if (!err && *first != '!' && !(words[0] && words[1] && words[2]))
		err = -EINVAL;
	words_free(words);
	free(first);
	return err;
}

static int remove_event(struct dynamic_event *d)
{
	struct synth_event *s = synth_of(d);
	int err = s->refs ? -EBUSY : dynamic_remove(d);

	if (!err)
		synth_destroy(d);
	return err;
}

static int remove_named(struct model *m, const char *name)
{
	struct synth_event *s = synth_find(m, name);

	return s ? remove_event(&s->dyn) : -ENOENT;
}

int synth_command(struct model *m, const char *line)
{
	const char *command = text_skip_spaces(line), *blank = strpbrk(command, " \t");
	char *name;
	int err;

	if (!*command)
		return 0;
	err = check_form(command);
	if (err)
		return err == -EINVAL ? synth_wrong(m, command, err, wrong_form, NULL) : err;
	if (!blank && *command != '!')
		return synth_wrong(m, command, -EINVAL, wrong_form, NULL);
	name = strndup(command, blank ? (size_t)(blank - command) : strlen(command));
	if (!name)
		return -ENOMEM;
	err = *name == '!' ? remove_named(m, name + 1)
			   : define(m, command, name, text_skip_spaces(blank), 0);
	free(name);
	return err;
}

/* ---- s:[synthetic/]NAME FIELDS ---- */

static int synth_create(struct model *m, const char *line, unsigned int id)
{
	const char *command = text_skip_spaces(line), *name = command + 2, *blank;
	char *copy;
	int err;

	if (!*command)
		return 0;
	if (strncmp(command, "s:", 2))
		return -ECANCELED;
	blank = strpbrk(command, " \t");
	if (!blank)
		return synth_wrong(m, command, -EINVAL, wrong_form, NULL);
	if (strchr(name, '/')) {
		if (strncmp(name, "synthetic/", 10))
			return synth_wrong(m, command, -EINVAL, wrong_dynamic_form, NULL);
		name += 10;
	}
	err = check_form(name);
	if (err)
		return err == -EINVAL ? synth_wrong(m, command, err, wrong_form, NULL) : err;
	copy = strndup(name, blank > name ? (size_t)(blank - name) : 0);
	if (!copy)
		return -ENOMEM;
	err = define(m, command, copy, text_skip_spaces(blank), id);
	free(copy);
	return err;
}

static bool synth_is_busy(const struct dynamic_event *d)
{
	return synth_of(d)->refs;
}

static int synth_matches(const struct dynamic_event *d, const char *system, const char *event,
			 char *const *words, unsigned int nr_words)
{
	return !strcmp(synth_of(d)->name, event) && (!system || !strcmp(system, system_name));
}

const struct dynamic_kind synth_kind = {
	.create		= synth_create,
	.print		= print_dynamic,
	.nr_fields	= nr_fields,
	.format_field	= format_field,
	.format_text	= synth_format_text,
	.format_arguments = format_arguments,
	.is_busy	= synth_is_busy,
	.remove		= remove_event,
	.destroy	= synth_destroy,
	.matches	= synth_matches,
};
