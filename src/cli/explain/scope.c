/* SPDX-License-Identifier: MIT */
/*
 * scope.c - a private session with the events of another one, to try commands in
 *
 *     events/S/E/format of a session, or a recording's    -> events
 *     dynamic_events                                      -> synthetic events, event probes
 *     events/S/E/trigger: the hists                       -> what $NAME can refer to
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "access/access.h"
#include "cli/command.h"
#include "cli/explain/explain.h"
#include "model/model.h"
#include "model/text_memory.h"
#include "session/array.h"
#include "session/session.h"
#include "sources/recording/source.h"
#include "tracefs/tree.h"

struct known_variable {
	struct explain_variable is;
	char		*name, *system, *event, *keys;
};

struct explain_scope {
	struct session	*session;
	struct model	*model;
	struct tree	*tree;
	struct access	*access;
	struct source	*source;	/* NULL: the scope is of a session */
	struct explain_parts made;	/* lines of dynamic_events that were copied */
	struct known_variable *variables;
	unsigned int	nr_variables;
};

/* ---- making a scope ---- */

static int scope_make(struct explain_scope *w, uint32_t nr_cpus)
{
	struct session_params params = { .nr_cpus = nr_cpus };
	int ret = session_create(NULL, &params, &w->session);

	if (!ret)
		ret = model_create(w->session, &w->model);
	return ret;
}

static int make_tree(struct explain_scope *w)
{
	w->tree = tree_create(w->model);
	w->access = w->tree ? access_tree(w->tree, NULL) : NULL;
	return w->access ? 0 : -ENOMEM;
}

void explain_scope_destroy(struct explain_scope *w)
{
	if (!w)
		return;
	if (w->access)
		access_close(w->access);
	if (w->tree)
		tree_destroy(w->tree);
	if (w->source)
		source_close(w->source);
	if (w->model)
		model_destroy(w->model);
	if (w->session)
		session_destroy(w->session);
	for (unsigned int i = 0; i < w->nr_variables; i++) {
		free(w->variables[i].name);
		free(w->variables[i].system);
		free(w->variables[i].event);
		free(w->variables[i].keys);
	}
	free(w->variables);
	explain_parts_free(&w->made);
	free(w);
}

static int failed(struct explain_scope *w, const char *what, int ret)
{
	message_error("explain: %s: %s", what, session_error(ret));
	explain_scope_destroy(w);
	return ret;
}

int explain_scope_of_recording(const char *file, struct explain_scope **out)
{
	struct source_params params = { .files = &file, .nr_files = 1 };
	struct explain_scope *w = calloc(1, sizeof(*w));
	struct source_error err = { .text = "" };
	int ret = w ? source_open(&params, &w->source, &err) : -ENOMEM;

	if (!ret)
		ret = scope_make(w, source_nr_cpus(w->source));
	if (!ret)
		ret = source_import(w->source, w->model, &err);
	if (!ret)
		ret = make_tree(w);
	if (!ret) {
		*out = w;
		return 0;
	}
	if (*err.text) {
		message_error("explain: %s: %s", file, err.text);
		explain_scope_destroy(w);
		return ret;
	}
	return w ? failed(w, file, ret) : ret;
}

int explain_scope_of_format(const char *system, const char *format, struct explain_scope **out)
{
	struct explain_scope *w = calloc(1, sizeof(*w));
	struct event *e;
	/* Nobody knows how many CPUs there will be. */
	int ret = w ? scope_make(w, LAYOUT_MAX_CPUS) : -ENOMEM;

	if (!ret)
		ret = model_add_event(w->model, system, format, strlen(format), &e);
	if (!ret)
		ret = make_tree(w);
	if (ret)
		explain_scope_destroy(w);
	else
		*out = w;
	return ret;
}

/* ---- copying a session ---- */

struct copying {
	struct explain_scope *scope;
	struct access	*from;
	char		system[128];
	struct explain_parts hists;	/* "SYSTEM/EVENT hist:..." */
	int		ret;
};

/* Calls fn for each line of a text. */
static void scope_each_line(char *text, void (*fn)(struct copying *c, const char *line),
			    struct copying *c)
{
	char *line;

	while ((line = strsep(&text, "\n")))
		if (*line && *line != '#')
			fn(c, line);
}

static bool is_made(const struct explain_scope *w, const char *system, const char *event)
{
	char name[256];
	size_t n = (size_t)snprintf(name, sizeof(name), ":%s/%s", system, event);

	for (unsigned int i = 0; i < w->made.nr; i++) {
		const char *at = strstr(w->made.v[i], name);

		if (at && (!at[n] || strchr(" \t", at[n])))
			return true;
	}
	return false;
}

static void note_hist(struct copying *c, const char *line)
{
	char text[4096];
	const char *state = strstr(line, " [");
	int n;

	if (strncmp(line, "hist:", 5))
		return;
	n = snprintf(text, sizeof(text), "%s %.*s", c->system,
		     state ? (int)(state - line) : (int)strlen(line), line);
	if (n > 0 && (size_t)n < sizeof(text))
		explain_parts_add(&c->hists, text, (size_t)n);
}

static void copy_event(struct copying *c, const char *name)
{
	char path[512], system[128], *text;
	struct event *e;
	size_t len;

	snprintf(path, sizeof(path), "events/%s/%s/format", c->system, name);
	if (!is_made(c->scope, c->system, name) && !access_read_all(c->from, path, &text, &len)) {
		/* If it fails because every model has the event already, nothing is lost. */
		model_add_event(c->scope->model, c->system, text, len, &e);
		free(text);
	}
	snprintf(path, sizeof(path), "events/%s/%s/trigger", c->system, name);
	if (access_read_all(c->from, path, &text, &len))
		return;
	snprintf(system, sizeof(system), "%s", c->system);
	snprintf(c->system + strlen(c->system), sizeof(c->system) - strlen(c->system), "/%s", name);
	scope_each_line(text, note_hist, c);
	strcpy(c->system, system);
	free(text);
}

static int take_event(void *arg, const char *name, bool is_dir)
{
	if (is_dir)
		copy_event(arg, name);
	return 0;
}

static int take_system(void *arg, const char *name, bool is_dir)
{
	struct copying *c = arg;
	char path[256];

	if (!is_dir)
		return 0;
	snprintf(c->system, sizeof(c->system), "%s", name);
	snprintf(path, sizeof(path), "events/%s", name);
	c->ret = c->from->ops->list(c->from, path, take_event, c);
	return c->ret;
}

static void note_made(struct copying *c, const char *line)
{
	explain_parts_add(&c->scope->made, line, strlen(line));
}

static int write_line(struct explain_scope *w, const char *path, const char *text)
{
	return access_write_all(w->access, path, O_APPEND, text, strlen(text), NULL);
}

static void remember_variables(struct explain_scope *w, const char *system, const char *event,
			       const char *text);

/* A hist may refer to a later one. So the others are tried again as long as some are accepted. */
static void copy_hists(struct copying *c)
{
	struct explain_scope *w = c->scope;
	bool more = true;

	while (more) {
		more = false;
		for (unsigned int i = 0; i < c->hists.nr; i++) {
			char path[512], *text = strchr(c->hists.v[i], ' ');
			size_t n = text ? (size_t)(text - c->hists.v[i]) : 0,
			       system = strcspn(c->hists.v[i], "/");

			if (!text)
				continue;
			snprintf(path, sizeof(path), "events/%.*s/trigger", (int)n, c->hists.v[i]);
			if (write_line(w, path, text + 1))
				continue;
			c->hists.v[i][n] = c->hists.v[i][system] = '\0';
			remember_variables(w, c->hists.v[i], c->hists.v[i] + system + 1, text + 1);
			more = true;
		}
	}
}

static int count_entry(void *nr, const char *name, bool is_dir)
{
	*(uint32_t *)nr += is_dir;
	return 0;
}

/* Lists of CPUs in filters depend on it. */
static uint32_t cpus_of_session(struct access *a)
{
	uint32_t nr = 0;

	return a->ops->list(a, "per_cpu", count_entry, &nr) || !nr ? LAYOUT_MAX_CPUS : nr;
}

int explain_scope_of_session(struct access *a, struct explain_scope **out)
{
	struct explain_scope *w = calloc(1, sizeof(*w));
	struct copying c = { .scope = w, .from = a };
	int ret = w ? scope_make(w, cpus_of_session(a)) : -ENOMEM;
	char *text;
	size_t len;

	if (!ret && !access_read_all(a, "dynamic_events", &text, &len)) {
		scope_each_line(text, note_made, &c);
		free(text);
	}
	if (!ret)
		ret = a->ops->list(a, "events", take_system, &c);
	if (!ret)
		ret = make_tree(w);
	if (ret) {
		explain_parts_free(&c.hists);
		return w ? failed(w, "the session's events", ret) : ret;
	}
	for (unsigned int i = 0; i < w->made.nr; i++)
		write_line(w, "dynamic_events", w->made.v[i]);
	copy_hists(&c);
	explain_parts_free(&c.hists);
	*out = w;
	return 0;
}

/* ---- variables ---- */

static void remember_variable(struct explain_scope *w, const char *system, const char *event,
			      const char *keys, const char *assignment)
{
	struct known_variable *v;

	if (array_room(&w->variables, w->nr_variables, sizeof(*v)))
		return;
	v = &w->variables[w->nr_variables++];
	v->name = strndup(assignment, strcspn(assignment, "="));
	v->system = strdup(system);
	v->event = strdup(event);
	v->keys = strdup(keys);
	v->is = (struct explain_variable){ v->name, v->system, v->event, v->keys };
}

static void remember_variables(struct explain_scope *w, const char *system, const char *event,
			       const char *text)
{
	static const char *const others[] = {
		"keys=", "vals=", "sort=", "size=", "name=", "clock=", "onm", "onchange", NULL,
	};
	char *filter, *command = explain_split_filter(text, &filter);
	struct explain_parts parts = { 0 }, vars = { 0 };
	const char *keys = "";

	explain_split(command ? command : "", ':', &parts);
	for (unsigned int i = 1; i < parts.nr; i++) {
		bool other = false;

		if (!strncmp(parts.v[i], "keys=", 5))
			keys = parts.v[i] + 5;
		for (const char *const *o = others; *o; o++)
			other |= !strncmp(parts.v[i], *o, strlen(*o));
		if (!other && strchr(parts.v[i], '='))
			explain_split(parts.v[i], ',', &vars);
	}
	for (unsigned int i = 0; i < vars.nr; i++)
		remember_variable(w, system, event, keys, vars.v[i]);
	explain_parts_free(&vars);
	explain_parts_free(&parts);
	free(command);
	free(filter);
}

const struct explain_variable *explain_scope_variable(const struct explain_scope *w,
						      const char *name, unsigned int nr)
{
	for (unsigned int i = 0; i < w->nr_variables; i++)
		if (!strcmp(w->variables[i].name, name) && !nr--)
			return &w->variables[i].is;
	return NULL;
}

/* ---- trying commands ---- */

bool explain_scope_has_event(struct explain_scope *w, const char *system, const char *event)
{
	return model_find_event(w->model, system, event);
}

bool explain_scope_has_field(struct explain_scope *w, const char *system, const char *event,
			     const char *field)
{
	struct event *e = model_find_event(w->model, system, event);

	return e && event_find_field(e, field);
}

bool explain_scope_parameter(struct explain_scope *w, const char *synth, unsigned int nr, char *out,
			     size_t size)
{
	struct event *e = model_find_event(w->model, "synthetic", synth);
	const struct field *fields;
	unsigned int n = 0;

	fields = e ? event_fields(e, &n) : NULL;
	for (unsigned int i = 0; i < n; i++) {
		if (fields[i].common || nr--)
			continue;
		snprintf(out, size, "%s", fields[i].name);
		return true;
	}
	return false;
}

static const char *scope_file_of(enum explain_kind kind)
{
	return kind == EXPLAIN_FILTER ? "filter" : "trigger";
}

/* Removes "[ 12.345678] ". */
static char *without_times(const char *log)
{
	char *text = NULL;
	size_t size;
	FILE *out = text_memory_open(&text, &size);

	while (out && *log) {
		size_t n = strcspn(log, "\n") + 1;
		const char *end = *log == '[' ? strstr(log, "] ") : NULL;

		if (end && end < log + n)
			fprintf(out, "%.*s", (int)(log + n - end - 2), end + 2);
		else
			fprintf(out, "%.*s", (int)n, log);
		log += log[n - 1] ? n : n - 1;
	}
	if (out)
		fclose(out);
	return text;
}

int explain_scope_try(struct explain_scope *w, enum explain_kind kind, const char *system,
		      const char *event, const char *text, char **error)
{
	char path[512], *log;
	size_t len;
	int ret;

	if (kind == EXPLAIN_SYNTH && strncmp(text, "s:", 2))
		snprintf(path, sizeof(path), "synthetic_events");
	else if (kind == EXPLAIN_SYNTH || kind == EXPLAIN_PROBE || kind == EXPLAIN_PLACE ||
		 kind == EXPLAIN_REMOVAL)
		snprintf(path, sizeof(path), "dynamic_events");
	else
		snprintf(path, sizeof(path), "events/%s/%s/%s", system, event, scope_file_of(kind));
	access_write_all(w->access, "error_log", O_TRUNC, "\n", 1, NULL);
	ret = write_line(w, path, text);
	*error = NULL;
	if (!access_read_all(w->access, "error_log", &log, &len)) {
		*error = without_times(log);
		free(log);
	}
	return ret;
}

int explain_scope_clear(struct explain_scope *w, const char *system, const char *event)
{
	char path[512], *text;
	size_t len;
	bool empty;
	int ret;

	if (!event)
		return -EBUSY;
	snprintf(path, sizeof(path), "events/%s/%s/trigger", system, event);
	access_write_all(w->access, path, O_TRUNC, "", 0, NULL);
	ret = access_read_all(w->access, path, &text, &len);
	if (ret)
		return ret;
	empty = *text == '#' || !*text;
	free(text);
	return empty ? 0 : -EBUSY;
}

/* ---- names ---- */

static void scope_add_name(struct explain_parts *out, const char *name)
{
	explain_parts_add(out, name, strlen(name));
}

static void scope_add_events(struct explain_scope *w, struct explain_parts *out)
{
	struct system *sys;
	struct event *e;

	list_each(sys, &w->model->systems, node) {
		scope_add_name(out, sys->name);
		list_each(e, &sys->events, node)
			scope_add_name(out, e->name);
	}
}

void explain_scope_names(struct explain_scope *w, const char *system, const char *event,
			 struct explain_parts *out)
{
	static const char *const words[] = {
		"common_timestamp",
		"common_cpu",
		"common_stacktrace",
		"hitcount",
		"comm",
		"CPU",
		"u8",
		"u16",
		"u32",
		"u64",
		"s8",
		"s16",
		"s32",
		"s64",
		"int",
		"long",
		"char",
		"unsigned",
		"bool",
		"pid_t",
		"string",
		"ustring",
		"local",
		"global",
		"mono",
		"boot",
		"uptime",
		"counter",
		"perf",
		NULL,
	};
	struct event *e = event ? model_find_event(w->model, system, event) : NULL;
	const struct field *fields;
	unsigned int n = 0;

	/* The event's own fields come first, because they are the most probable. */
	fields = e ? event_fields(e, &n) : NULL;
	for (unsigned int i = 0; i < n; i++)
		scope_add_name(out, fields[i].name);
	for (unsigned int i = 0; i < w->nr_variables; i++)
		scope_add_name(out, w->variables[i].name);
	for (const char *const *word = words; *word; word++)
		scope_add_name(out, *word);
	scope_add_events(w, out);
}
