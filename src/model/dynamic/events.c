/* SPDX-License-Identifier: MIT */
/*
 * events.c - dynamic_events: the list of events that commands make, and how they are removed
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/dynamic/events.h"
#include "model/event/format.h"
#include "model/text.h"
#include "model/text_memory.h"

enum { LINE_ROOM = 4096 };	/* the kernel's buffer: a line with its end and a 0 */

static const struct dynamic_kind *const kinds[] = { &kprobe_kind, &uprobe_kind, &synth_kind,
						   &eprobe_kind };

static unsigned int count_words(const char *s)
{
	unsigned int nr = 0;

	for (bool space = true; *s; s++) {
		nr += space && !text_is_space(*s);
		space = text_is_space(*s);
	}
	return nr;
}

/* Returns one block of memory: the pointers, then the text that they point into. */
char **words_split(const char *text, unsigned int *nr)
{
	unsigned int n = count_words(text), i = 0;
	size_t room = (n + 1) * sizeof(char *), len = strlen(text) + 1;
	char **words = malloc(room + len), *s;

	if (!words)
		return NULL;
	s = memcpy((char *)words + room, text, len);
	for (bool space = true; *s; s++) {
		bool now = text_is_space(*s);

		if (space && !now)
			words[i++] = s;
		if (now)
			*s = '\0';
		space = now;
	}
	words[i] = NULL;
	*nr = n;
	return words;
}

void words_free(char **words)
{
	free(words);
}

bool dynamic_name_is_good(const char *name)
{
	if (!text_is_alnum(*name) && *name != '_')
		return false;
	if (text_is_digit(*name))
		return false;
	while (*++name)
		if (!text_is_alnum(*name) && *name != '_')
			return false;
	return true;
}

/* Finds the end of a line. A 0 byte inside a write is an error, as a line that is too long. */
static int line_end(const char *line, size_t left, size_t *len)
{
	const size_t n = strnlen(line, left < LINE_ROOM ? left : LINE_ROOM);
	const char *newline = memchr(line, '\n', n);

	*len = newline ? (size_t)(newline - line) : n;
	if (!newline && n < left)
		return -EINVAL;
	return *len + (newline != NULL) >= LINE_ROOM ? -EINVAL : 0;
}

int dynamic_lines(struct model *m, char *text, size_t len,
		  int (*command)(struct model *m, const char *line), struct pieces *pieces)
{
	const char *begin = text;
	size_t n;
	int err;

	text += pieces ? pieces->lines : 0;
	len -= pieces ? pieces->lines : 0;
	while (len) {
		bool last;

		err = line_end(text, len, &n);
		if (err)
			return err;
		last = n == len;
		text[n] = '\0';		/* the caller has room for it behind the last line */
		text[strcspn(text, "#")] = '\0';
		err = command(m, text);
		if (err || last)
			return err;
		text += n + 1;
		len -= n + 1;
		if (!len || !pieces_pause(pieces))
			continue;
		pieces->lines = (size_t)(text - begin);
		return -EINPROGRESS;
	}
	return 0;
}

/* ---- removal ---- */

uint64_t dynamic_name_hash(const char *name)
{
	return lookup_hash(0, name, strlen(name));
}

/* Another one with the same event, the oldest; NULL: there is none. */
static struct dynamic_event *dynamic_sibling(const struct dynamic_event *d)
{
	struct lookup *names = &d->event->model->dynamic_names;
	struct dynamic_event *other;

	lookup_each(other, names, d->named.hash, struct dynamic_event, named)
		if (other != d && other->event == d->event)
			return other;
	return NULL;
}

/*
 * The event stays, for others. What is saved for it is restored after the text that defines it, so
 * that text is now the oldest other's.
 */
static void give_event(struct dynamic_event *d, struct dynamic_event *other)
{
	struct model *m = d->event->model;

	/* Without memory the text stays where it is. */
	if (d->event->made == d && !m->closing && !m->restoring &&
	    !session_saved_move(m->session, &other->saved, d->saved))
		d->saved = 0;
	d->event->made = other;
}

int dynamic_remove(struct dynamic_event *d)
{
	struct dynamic_event *sibling = dynamic_sibling(d);
	struct model *m = d->event->model;
	int err = 0;

	if (sibling)
		give_event(d, sibling);
	else
		err = model_remove_event(m, d->event);
	if (err)
		return err;
	saved_remove(m, &d->saved);
	list_del(&d->node);
	lookup_remove(&m->dynamic_names, &d->named);
	return 0;
}

/* "-:[SYSTEM/]EVENT" or "!...:[SYSTEM/]EVENT" */
static int split_target(char *word, char **system, char **event)
{
	char *slash;

	*system = NULL;
	*event = strchr(word, ':');
	if (!*event || (*word == '-' && *event != word + 1))
		return -EINVAL;
	slash = strchr(++*event, '/');
	if (slash) {
		*slash = '\0';
		*system = *event;
		*event = slash + 1;
	}
	return !*system && !**event ? -EINVAL : 0;
}

/* What a command to remove names. */
struct removal {
	const struct dynamic_kind *kind;	/* NULL: any */
	char		*system, *event;	/* NULL, "": any */
	char		*const *words;		/* behind the name */
	unsigned int	nr;
	int		err;			/* -ENOENT: none was removed yet */
};

/* Returns whether to go on: not behind the first event that cannot be removed. */
static bool removal_take(struct removal *r, struct dynamic_event *d)
{
	int matches;

	if (r->kind && d->kind != r->kind)
		return true;
	matches = d->kind->matches(d, r->system, r->event, r->words, r->nr);
	if (!matches)
		return true;
	r->err = matches < 0 ? matches : d->kind->remove(d);
	return !r->err;
}

static void remove_of_system(struct model *m, struct removal *r)
{
	struct dynamic_event *d, *tmp;

	list_each_safe(d, tmp, &m->dynamic_events, node)
		if (!removal_take(r, d))
			return;
}

static void remove_named(struct model *m, struct removal *r)
{
	struct lookup *names = &m->dynamic_names;
	struct lookup_node *n = lookup_first(names, dynamic_name_hash(r->event)), *next;

	for (; n; n = next) {
		next = lookup_next(names, n);
		if (!removal_take(r, list_entry(n, struct dynamic_event, named)))
			return;
	}
}

static int dynamic_remove_matching(struct model *m, struct removal *r)
{
	r->err = -ENOENT;
	if (*r->event)
		remove_named(m, r);
	else
		remove_of_system(m, r);
	model_clear_marked(m);
	return r->err;
}

static int remove_command(struct model *m, const char *line, const struct dynamic_kind *kind)
{
	struct removal r = { .kind = kind };
	unsigned int nr;
	char **words = words_split(line, &nr);
	int err;

	if (!words)
		return -ENOMEM;
	r.words = words + 1;
	r.nr = nr - 1;
	err = split_target(words[0], &r.system, &r.event);
	if (!err)
		err = dynamic_remove_matching(m, &r);
	words_free(words);
	return err;
}

int dynamic_remove_all(struct model *m, const struct dynamic_kind *kind)
{
	struct dynamic_event *d, *tmp;
	int err = 0;

	list_each(d, &m->dynamic_events, node)
		if ((!kind || d->kind == kind) && d->kind->is_busy(d))
			err = -EBUSY;
	if (!err) {
		list_each_safe(d, tmp, &m->dynamic_events, node) {
			if (kind && d->kind != kind)
				continue;
			err = d->kind->remove(d);
			if (err)
				break;
		}
	}
	model_clear_marked(m);
	return err;
}

void dynamic_events_destroy(struct model *m)
{
	struct dynamic_event *d, *tmp;

	list_each_safe(d, tmp, &m->dynamic_events, node) {
		list_del(&d->node);
		d->kind->destroy(d);
	}
}

/* ---- making, listing ---- */

static int dynamic_create(struct model *m, const char *line, unsigned int id)
{
	int err = -ECANCELED;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && err == -ECANCELED; i++)
		err = kinds[i]->create(m, line, id);
	return err == -ECANCELED ? -EINVAL : err;
}

int dynamic_command(struct model *m, const char *line)
{
	if (*line == '-' || *line == '!')
		return remove_command(m, line, NULL);
	return dynamic_create(m, line, 0);
}

int dynamic_command_of(struct model *m, const char *line, const struct dynamic_kind *kind)
{
	int err;

	if (*line == '-')
		return remove_command(m, line, kind);
	err = kind->create(m, line, 0);
	return err == -ECANCELED ? -EINVAL : err;
}

static void format_each(const struct dynamic_event *d,
			void (*part)(const struct dynamic_event *d, unsigned int i, FILE *out),
			FILE *out)
{
	for (unsigned int i = 0; i < d->kind->nr_fields(d); i++)
		part(d, i, out);
}

char *dynamic_format(const struct dynamic_event *d)
{
	char *text = NULL;
	size_t size;
	FILE *out = text_memory_open(&text, &size);

	if (!out)
		return NULL;
	fputs(format_common_fields, out);
	format_each(d, d->kind->format_field, out);
	fputs("\nprint fmt: \"", out);
	format_each(d, d->kind->format_text, out);
	fputc('"', out);
	format_each(d, d->kind->format_arguments, out);
	fputc('\n', out);
	fclose(out);
	return text;
}

static const char path_prefix[] = "dynamic_events/#";

int dynamic_add(struct dynamic_event *d, const char *command)
{
	struct model *m = d->event->model;
	char path[sizeof(path_prefix) + 8];
	int err;

	snprintf(path, sizeof(path), "%s%u", path_prefix, d->event->id);
	err = saved_add(m, m->top, path, command, NULL, 0, &d->saved);
	if (err)
		return err;
	if (!d->event->made)
		d->event->made = d;
	list_add_tail(&d->node, &m->dynamic_events);
	lookup_add(&m->dynamic_names, &d->named, dynamic_name_hash(d->event->name));
	return 0;
}

int dynamic_restore(struct model *m, const char *path, const char *text)
{
	unsigned long id;

	if (strncmp(path, path_prefix, sizeof(path_prefix) - 1))
		return -ENOENT;
	id = strtoul(path + sizeof(path_prefix) - 1, NULL, 10);
	if (!id || id >= LAYOUT_MAX_EVENTS)
		return -EPROTO;
	return dynamic_create(m, text, (unsigned int)id);
}

bool event_is_made(const struct event *e)
{
	return e->made && (e->made->kind == &synth_kind || e->made->kind == &eprobe_kind);
}

void dynamic_print_of(struct model *m, const struct dynamic_kind *kind, FILE *out)
{
	const struct dynamic_event *d;

	list_each(d, &m->dynamic_events, node)
		if (!kind || d->kind == kind)
			d->kind->print(d, out);
}

void dynamic_print(struct model *m, FILE *out)
{
	dynamic_print_of(m, NULL, out);
}
