/* SPDX-License-Identifier: MIT */
/* filter.c - the files `filter` of an event and of a system, and the texts of errors */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/errlog.h"
#include "model/event/file.h"
#include "model/event/set.h"
#include "model/filter/tree.h"
#include "model/text.h"

enum {
	TEXT_MAX = 4096,	/* a write of a page or more is refused */
	SHOW_MAX = 8156,	/* the room of the kernel's buffer for the text with its error */
};

static const char *const error_text[FILTER_ERROR_COUNT] = {
	[FILTER_INVALID_OP] = "Invalid operator",
	[FILTER_TOO_MANY_OPEN] = "Too many '('",
	[FILTER_TOO_MANY_CLOSE] = "Too few '('",
	[FILTER_MISSING_QUOTE] = "Missing matching quote",
	[FILTER_MISSING_BRACE_OPEN] = "Missing '{'",
	[FILTER_MISSING_BRACE_CLOSE] = "Missing '}'",
	[FILTER_OPERAND_TOO_LONG] = "Operand too long",
	[FILTER_EXPECT_STRING] = "Expecting string field",
	[FILTER_EXPECT_DIGIT] = "Expecting numeric field",
	[FILTER_ILLEGAL_FIELD_OP] = "Illegal operation for field type",
	[FILTER_FIELD_NOT_FOUND] = "Field not found",
	[FILTER_ILLEGAL_INTVAL] = "Illegal integer value",
	[FILTER_BAD_SUBSYS_FILTER] = "Couldn't find or set field in one of a subsystem's events",
	[FILTER_TOO_MANY_PREDS] = "Too many terms in predicate expression",
	[FILTER_INVALID_FILTER] = "Meaningless filter expression",
	[FILTER_INVALID_CPULIST] = "Invalid cpulist",
	[FILTER_INVALID_VALUE] = "Invalid value (did you forget quotes)?",
	[FILTER_NO_FUNCTION] = "Function not found",
	[FILTER_NO_FILTER] = "No filter found",
};

int filter_make(const char *text, struct filter **out)
{
	struct filter *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->text = strdup(text);
	if (!f->text) {
		free(f);
		return -ENOMEM;
	}
	*out = f;
	return 0;
}

void filter_destroy(struct filter *f)
{
	if (!f)
		return;
	free(f->text);
	free(f->ops);
	free(f->pool);
	free(f);
}

const char *filter_text(const struct filter *f)
{
	return f->text;
}

/* Appends a part of a text. Each part is shown whole, or not at all if it goes beyond SHOW_MAX. */
static void filter_append(char **text, bool *full, const char *part)
{
	char *longer;

	if (*full || strlen(*text) + strlen(part) >= SHOW_MAX) {
		*full = true;
		return;
	}
	if (asprintf(&longer, "%s%s", *text, part) < 0)
		return;
	free(*text);
	*text = longer;
}

void filter_note_error(struct filter *f, enum filter_error error, unsigned int pos,
		       struct errlog *log)
{
	unsigned int len = (unsigned int)strlen(f->text), column = pos > len ? len : pos;
	char part[TEXT_MAX + 64];
	bool full = false;

	if (log)
		errlog_add(log, "event filter parse error", f->text,
			   error ? error_text[error] : "Error", error ? pos : 0);
	if (!error) {
		filter_append(&f->text, &full, "\nError: (0)\n");
		return;
	}
	snprintf(part, sizeof(part), "\n%*s", column ? (int)column + 1 : 0, "^");
	filter_append(&f->text, &full, part);
	snprintf(part, sizeof(part), "\nparse_error: %s\n", error_text[error]);
	filter_append(&f->text, &full, part);
}

/* Hits get the code `new`, 0: none. If that fails, nothing is changed. */
static int filter_publish(struct event_file *f, config_ref new, size_t size)
{
	config_ref old = f->filter_code;
	size_t old_size = f->filter_size;
	int err;

	f->filter_code = new;
	f->filter_size = size;
	err = new == old ? 0 : event_publish(f->event);
	if (err) {
		f->filter_code = old;
		f->filter_size = old_size;
	} else if (old) {
		session_config_retire(f->event->model->session, old, old_size);
	}
	return err;
}

/*
 * Puts `filter` (NULL: none) in the place of the old one, which is freed when no hit can see it any
 * more. The new text is saved first and the old one removed last. So whenever the server dies, the
 * next one finds one of them.
 */
static int filter_replace(struct event_file *f, struct filter *filter, const char *text)
{
	struct model *m = f->event->model;
	uint64_t old = f->filter_saved;
	config_ref new = 0;
	size_t size = 0;
	int err = filter ? filter_compile(m, filter, &new, &size) : 0;

	f->filter_saved = 0;
	/* A refused filter is saved, too: it stays readable with its caret. */
	if (!err && filter)
		err = event_file_save(f, "filter", text, NULL, 0, &f->filter_saved);
	if (!err)
		err = filter_publish(f, new, size);
	if (err) {
		saved_remove(m, &f->filter_saved);
		f->filter_saved = old;
		if (new)
			session_config_free(m->session, new, size);
		return err;
	}
	filter_destroy(f->filter);
	f->filter = filter;
	if (old != f->filter_saved)
		saved_remove(m, &old);
	return 0;
}

/* Copies the written text without the white space at its end. 0, -EINVAL: too long, -ENOMEM */
static int filter_copy_text(const char *text, char **out)
{
	if (strlen(text) >= TEXT_MAX)
		return -EINVAL;
	*out = strdup(text);
	if (!*out)
		return -ENOMEM;
	text_strip(*out);
	return 0;
}

static bool is_reset(const char *text)
{
	return !strcmp(text_skip_spaces(text), "0");
}

static int set_filter(struct event_file *f, const char *text)
{
	struct filter *filter;
	int err, replaced;

	if (is_reset(text))
		return filter_replace(f, NULL, NULL);
	err = filter_parse(f->event, text, f->instance->errlog, &filter);
	if (!filter)
		return err;
	replaced = filter_replace(f, filter, text);
	if (replaced)
		filter_destroy(filter);
	return err ? err : replaced;
}

int event_file_set_filter(struct event_file *f, const char *text)
{
	char *copy;
	int err = filter_copy_text(text, &copy);

	if (err)
		return err;
	err = set_filter(f, copy);
	free(copy);
	return err;
}

void event_file_print_filter(struct event_file *f, FILE *out)
{
	if (!f || !f->filter)
		fputs("none\n", out);
	else if (strlen(f->filter->text) + 1 < SHOW_MAX)
		fprintf(out, "%s\n", f->filter->text);
}

void event_file_print_filter_named(const struct event_file *f, FILE *out)
{
	if (f->filter)
		fprintf(out, "%s:%s\t%s\n", f->event->system->name, f->event->name,
			f->filter->text);
}

/* Sets the filter of one event of a system. Whatever the error is, the system's error is logged. */
static int set_in_system(struct event_file *f, const char *text)
{
	struct filter *filter;
	int err;

	if (is_reset(text))
		return filter_replace(f, NULL, NULL);
	err = filter_parse(f->event, text, NULL, &filter);
	if (!filter)
		return err;
	if (err) {
		filter_destroy(filter);
		err = filter_make(text, &filter);
		if (err)
			return err;
		filter_note_error(filter, FILTER_BAD_SUBSYS_FILTER, 0, f->instance->errlog);
	}
	err = filter_replace(f, filter, text);
	if (err)
		filter_destroy(filter);
	return err;
}

static int set_system_filter(struct instance *inst, struct system *sys, const char *text,
			     struct pieces *pieces)
{
	struct event *e = pieces ? pieces->at : NULL;
	struct event_file *f;
	int err = 0;

	while (!err && (e = event_next(inst, e))) {
		if (e->system != sys)
			continue;
		f = is_reset(text) ? event_file_find(inst, e) : event_file_get(inst, e);
		if (f)
			err = set_in_system(f, text);
		else if (!is_reset(text))
			err = -ENOMEM;
		if (err || !pieces_pause(pieces))
			continue;
		pieces_hold(pieces, e);
		err = -EINPROGRESS;
	}
	return err;
}

int system_set_filter(struct instance *inst, struct system *sys, const char *text,
		      struct pieces *pieces)
{
	char *copy;
	int err = filter_copy_text(text, &copy);

	if (err)
		return err;
	err = set_system_filter(inst, sys, copy, pieces);
	free(copy);
	return err;
}

void system_print_filter(FILE *out)
{
	fputs("### global filter ###\n"
	      "# Use this to set filters for multiple events.\n"
	      "# Only events with the given fields will be affected.\n"
	      "# If no events are modified, an error message will be displayed here\n", out);
}
