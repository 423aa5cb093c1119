/* SPDX-License-Identifier: MIT */
/*
 * pending.c - settings of events that no program has defined yet
 *
 * Each is a saved text of the session (R4), "#kept/PATH", until its event exists and the setting is
 * written. A setting may be refused because it mentions events that do not exist yet, also of
 * another program. It stays pending then. At each new event all pending settings are tried again,
 * in the order in which they were given. Until then the error is not in error_log but with the
 * setting (`tracefuse doctor`).
 *
 * A setting for the file enable of a system that does not exist stays pending for ever. It is
 * written to the file enable of each event of that system when the event is defined.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "model/errlog.h"
#include "sources/program/programs_state.h"
#include "tracefs/tree.h"

/* "[instances/NAME/]events/SYSTEM/EVENT/FILE", or the same without EVENT */
struct setting_path {
	/* instance NULL: the top instance; event NULL: a file of the whole system */
	const char	*instance, *system, *event, *file;
	size_t		instance_len, system_len, event_len;
};

/* Takes a component and the slash behind it. */
static bool take_name(const char **at, const char **name, size_t *len)
{
	*name = *at;
	*len = strcspn(*at, "/");
	if (!*len || (*at)[*len] != '/')
		return false;
	*at += *len + 1;
	return true;
}

static bool pending_split(const char *path, struct setting_path *out)
{
	static const char *const files[] = { "enable", "filter", "trigger" };

	out->instance = NULL;
	if (!strncmp(path, "instances/", 10)) {
		path += 10;
		if (!take_name(&path, &out->instance, &out->instance_len))
			return false;
	}
	if (strncmp(path, "events/", 7))
		return false;
	path += 7;
	if (!take_name(&path, &out->system, &out->system_len))
		return false;
	out->event = NULL;
	out->event_len = 0;
	out->file = path;
	if (!strcmp(path, "enable"))
		return true;
	if (!take_name(&path, &out->event, &out->event_len))
		return false;
	out->file = path;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (!strcmp(path, files[i]))
			return true;
	return false;
}

static void pending_free(struct pending_setting *k)
{
	free(k->path);
	free(k->text);
	free(k->error);
	free(k);
}

static void pending_remove(struct programs *p, struct pending_setting *k)
{
	list_del(&k->node);
	saved_remove(p->model, &k->saved);
	pending_free(k);
}

static int pending_add(struct programs *p, const char *path, const char *text)
{
	struct pending_setting *k = calloc(1, sizeof(*k));
	char *saved = NULL;
	int err = -ENOMEM;

	if (!k)
		return -ENOMEM;
	k->path = strdup(path);
	k->text = strdup(text);
	if (k->path && k->text && asprintf(&saved, PROGRAMS_PENDING "%s", path) >= 0)
		err = saved_add(p->model, p->model->top, saved, text, NULL, 0, &k->saved);
	free(saved);
	if (err)
		pending_free(k);
	else
		list_add_tail(&k->node, &p->pending);
	return err;
}

/*
 * Removes earlier settings of the file: at a truncating write, or at a new value of a file that has
 * one value.
 */
static void drop_earlier(struct programs *p, const char *path)
{
	struct pending_setting *k, *next;

	list_each_safe(k, next, &p->pending, node)
		if (!strcmp(k->path, path))
			pending_remove(p, k);
}

/* "!hist:..." removes the pending trigger with that text. */
static bool drop_negated(struct programs *p, const char *path, const char *text)
{
	struct pending_setting *k, *next;
	bool dropped = false;

	list_each_safe(k, next, &p->pending, node) {
		if (*text == '!' && !strcmp(k->path, path) && !strcmp(k->text, text + 1)) {
			pending_remove(p, k);
			dropped = true;
		}
	}
	return dropped;
}

/* Cuts off a line. A line that ends in a backslash continues in the next one (R30). */
static char *cut_line(char **text)
{
	char *line = *text, *end = line;

	if (!line)
		return NULL;
	while (*end && (*end != '\n' || (end > line && end[-1] == '\\')))
		end++;
	*text = *end ? end + 1 : NULL;
	*end = '\0';
	return line;
}

/* Each line is a command. An empty text only truncates. */
static int pend_lines(struct programs *p, const char *path, char *text, bool one_value)
{
	char *line;
	int err = 0;

	while (!err && (line = cut_line(&text))) {
		if (!*line)
			continue;
		if (one_value)
			drop_earlier(p, path);
		if (!drop_negated(p, path, line))
			err = pending_add(p, path, line);
	}
	return err;
}

/* Whether the setting can be pending: its instance exists, and its event does not. */
static bool is_early(struct programs *p, const struct setting_path *at)
{
	char instance[256], system[256], event[256];

	if (at->instance_len >= sizeof(instance) || at->system_len >= sizeof(system) ||
	    at->event_len >= sizeof(event))
		return false;
	if (at->instance) {
		snprintf(instance, sizeof(instance), "%.*s", (int)at->instance_len, at->instance);
		if (!instance_find(p->model, instance))
			return false;
	}
	snprintf(system, sizeof(system), "%.*s", (int)at->system_len, at->system);
	if (!at->event)
		return !model_find_system(p->model, system);
	snprintf(event, sizeof(event), "%.*s", (int)at->event_len, at->event);
	return !model_find_event(p->model, system, event);
}

/* Whether no program can bring the event, because all events of its system are known. */
static bool never_comes(const struct setting_path *at)
{
	char system[256], event[256];

	snprintf(system, sizeof(system), "%.*s", (int)at->system_len, at->system);
	snprintf(event, sizeof(event), "%.*s", (int)at->event_len, at->event);
	return at->event && program_events_lack(system, event);
}

int programs_pend(struct programs *p, const char *path, bool truncates, const char *text,
		  size_t len)
{
	struct setting_path at = { 0 };
	bool one_value;
	char *copy;
	int err;

	if (!pending_split(path, &at) || !is_early(p, &at) || never_comes(&at))
		return -ENOENT;
	copy = strndup(text, len);
	if (!copy)
		return -ENOMEM;
	one_value = strcmp(at.file, "trigger") != 0;
	if (truncates && !one_value)
		drop_earlier(p, path);
	err = pend_lines(p, path, copy, one_value);
	free(copy);
	return err;
}

static struct errlog *errlog_of(struct programs *p, const struct setting_path *at)
{
	char name[256];
	struct instance *inst;

	snprintf(name, sizeof(name), "%.*s", (int)at->instance_len,
		 at->instance ? at->instance : "");
	inst = at->instance ? instance_find(p->model, name) : p->model->top;
	return inst ? inst->errlog : p->model->top->errlog;
}

static int pending_write_text(struct programs *p, const char *path, const struct pending_setting *k)
{
	struct tree_file *f;
	int err = tree_open(p->tree, path, O_WRONLY | O_APPEND, &f);
	ssize_t n;

	if (err)
		return err;
	n = tree_write(f, k->text, strlen(k->text));
	tree_release(f);
	return n < 0 ? (int)n : 0;
}

static int write_to(struct programs *p, const struct setting_path *at, const char *path,
		    struct pending_setting *k)
{
	struct errlog *log = errlog_of(p, at);
	char *error;
	int err;

	errlog_hush(log);
	err = pending_write_text(p, path, k);
	error = errlog_loud(log);
	free(k->error);
	k->error = err && !error ? strdup(strerror(-err)) : error;
	return err;
}

/* Writes a setting. False: it was not written, and k->error may have the reason. */
static bool write_setting(struct programs *p, struct pending_setting *k)
{
	struct setting_path at = { 0 };

	if (!pending_split(k->path, &at) || !at.event || is_early(p, &at))
		return false;
	return !write_to(p, &at, k->path, k);
}

/* Enables the event if a pending setting enables its whole system. */
static void enable_as_system(struct programs *p, const struct event *e)
{
	struct pending_setting *k;
	char path[1024];

	list_each(k, &p->pending, node) {
		struct setting_path at = { 0 };

		if (!pending_split(k->path,
				   &at) || at.event || strlen(e->system->name) != at.system_len ||
		    strncmp(at.system, e->system->name, at.system_len))
			continue;
		snprintf(path, sizeof(path), "%.*s/%s/enable", (int)(at.file - 1 - k->path),
			 k->path, e->name);
		write_to(p, &at, path, k);
	}
}

void program_pending_new(struct programs *p, const struct event *e)
{
	if (p->tree)
		enable_as_system(p, e);
	program_pending_apply(p);
}

void program_pending_apply(struct programs *p)
{
	struct pending_setting *k, *next;
	bool progress;

	if (!p->tree)
		return;
	do {
		progress = false;
		list_each_safe(k, next, &p->pending, node) {
			if (!write_setting(p, k))
				continue;
			pending_remove(p, k);
			progress = true;
		}
	} while (progress);
}

bool program_pending_waits(struct programs *p, const struct pending_setting *k)
{
	struct setting_path at = { 0 };

	return k->error || (pending_split(k->path, &at) && is_early(p, &at));
}

int program_pending_restore(struct programs *p, const char *path, const char *text)
{
	return pending_add(p, path, text);
}

void program_pending_destroy(struct programs *p)
{
	struct pending_setting *k, *next;

	list_each_safe(k, next, &p->pending, node) {
		list_del(&k->node);
		pending_free(k);
	}
}
