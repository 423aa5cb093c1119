/* SPDX-License-Identifier: MIT */
/*
 * module.c - which objects bring an event, and the choices of set_event that name an object
 *
 * Both are saved for the next server: programs that run on do not define their events again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/event/module.h"
#include "model/event/set.h"
#include "model/symbols.h"
#include "model/text_memory.h"

#define MODULE_SAVED "#module"
#define CHOICE_SAVED "#set_event"

struct event_module {
	struct list_head node;		/* in event->modules */
	char		*name;
	uint64_t	saved;
};

struct event_choice {
	struct list_head node;		/* in instance->choices, the newest first */
	char		*text;		/* the word, cut into the parts of the pattern */
	struct event_pattern pattern;
	uint64_t	saved;
};

/* ---- modules of an event ---- */

static bool same_module(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if ((*a == '-' ? '_' : *a) != (*b == '-' ? '_' : *b))
			return false;
	return *a == *b;
}

static struct event_module *module_of(const struct event *e, const char *name)
{
	struct event_module *m;

	list_each(m, &e->modules, node)
		if (same_module(m->name, name))
			return m;
	return NULL;
}

/* The function that calls the probes of the tracepoint is in the tracepoint's module. */
static bool is_in_kernels_module(const struct event *e, const char *module)
{
	char name[256];
	uint64_t lo, hi;

	if (!e->model->symbols || e->dynamic ||
	    snprintf(name, sizeof(name), "__traceiter_%s", e->name) >= (int)sizeof(name))
		return false;
	return symbols_range_of(e->model->symbols, name, module, &lo, &hi);
}

static bool kernel_has_module(const struct model *m, const char *module)
{
	return m->imported && !m->of_programs && m->symbols &&
	       symbols_have_module(m->symbols, module);
}

static const char *any_if_star(const char *s)
{
	return *s && strcmp(s, "*") ? s : NULL;
}

void event_pattern_parse(char *word, struct event_pattern *out)
{
	static const char mark[] = ":mod:";
	char *mod = strstr(word, mark), *colon;

	*out = (struct event_pattern){ .name = NULL };
	if (mod) {
		*mod = '\0';
		out->module = mod + strlen(mark);
	}
	colon = strchr(word, ':');
	if (colon) {
		*colon = '\0';
		out->system = any_if_star(word);
		out->event = any_if_star(colon + 1);
	} else {
		out->name = mod ? any_if_star(word) : word;
	}
}

bool event_pattern_matches(const struct event_pattern *p, struct event *e)
{
	if (p->name && strcmp(p->name, e->name) && strcmp(p->name, e->system->name))
		return false;
	if (p->system && strcmp(p->system, e->system->name))
		return false;
	if (p->event && strcmp(p->event, e->name))
		return false;
	return !p->module || module_of(e, p->module) ||
	       (kernel_has_module(e->model, p->module) && is_in_kernels_module(e, p->module));
}

/* Whether events of the module have come, or its file is part of the kernel. */
static bool module_is_known(struct instance *inst, const char *module)
{
	const struct event_pattern p = { .module = module };
	struct event *e = NULL;

	while ((e = event_next(inst, e)))
		if (event_pattern_matches(&p, e))
			return true;
	return kernel_has_module(inst->model, module);
}

static struct event_module *module_make(struct event *e, const char *name)
{
	struct event_module *m = calloc(1, sizeof(*m));
	char path[512];

	if (!m)
		return NULL;
	m->name = strdup(name);
	snprintf(path, sizeof(path), "events/%s/%s/" MODULE_SAVED, e->system->name, e->name);
	if (!m->name || saved_add(e->model, e->model->top, path, name, NULL, 0, &m->saved)) {
		free(m->name);
		free(m);
		return NULL;
	}
	list_add_tail(&m->node, &e->modules);
	return m;
}

static void module_chosen(struct instance *inst, struct event *e)
{
	struct event_choice *c;
	struct event_file *f;

	list_each(c, &inst->choices, node) {
		if (!event_pattern_matches(&c->pattern, e) || instance_expand(inst))
			continue;
		f = event_file_get(inst, e);
		if (f)
			event_file_enable(f, true);
		return;
	}
}

int event_module_add(struct event *e, const char *module)
{
	struct instance *inst;

	if (module_of(e, module))
		return 0;
	if (!module_make(e, module))
		return -ENOMEM;
	if (event_has_enable(e))
		list_each(inst, &e->model->instances, node)
			module_chosen(inst, e);
	return 0;
}

void event_modules_free(struct event *e)
{
	struct event_module *m, *next;

	list_each_safe(m, next, &e->modules, node) {
		saved_remove(e->model, &m->saved);
		free(m->name);
		free(m);
	}
	list_init(&e->modules);
}

/* ---- choices ---- */

static void choice_free(struct event_choice *c)
{
	free(c->text);
	free(c);
}

static void choice_remove(struct instance *inst, struct event_choice *c)
{
	list_del(&c->node);
	saved_remove(inst->model, &c->saved);
	choice_free(c);
}

static void pattern_print(const struct event_pattern *p, FILE *out)
{
	if (p->name)
		fprintf(out, "%s:mod:%s", p->name, p->module);
	else
		fprintf(out, "%s:%s:mod:%s", p->system ? p->system : "*",
			p->event ? p->event : "*", p->module);
}

static bool same_part(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static struct event_choice *choice_find(const struct instance *inst, const struct event_pattern *p)
{
	struct event_choice *c;

	list_each(c, &inst->choices, node)
		if (same_part(c->pattern.name, p->name) &&
		    same_part(c->pattern.system, p->system) &&
		    same_part(c->pattern.event, p->event) &&
		    same_module(c->pattern.module, p->module))
			return c;
	return NULL;
}

/* The text that pattern_print() makes; the caller frees it. NULL: no memory */
static char *pattern_text(const struct event_pattern *p)
{
	char *text = NULL;
	size_t size;
	FILE *out = text_memory_open(&text, &size);

	if (!out)
		return NULL;
	pattern_print(p, out);
	return fclose(out) ? NULL : text;
}

static int choice_add(struct instance *inst, const struct event_pattern *p)
{
	struct event_choice *c = calloc(1, sizeof(*c));
	char *text = c ? pattern_text(p) : NULL;
	int err = -ENOMEM;

	if (text)
		err = saved_add(inst->model, inst, CHOICE_SAVED, text, NULL, 0, &c->saved);
	if (err) {
		free(text);
		free(c);
		return err;
	}
	c->text = text;
	event_pattern_parse(text, &c->pattern);
	list_add(&c->node, &inst->choices);
	return 0;
}

/* As in the kernel, a part that the pattern leaves open matches any choice of the module. */
static bool choices_forget(struct instance *inst, const struct event_pattern *p)
{
	struct event_choice *c, *next;
	bool any = false;

	list_each_safe(c, next, &inst->choices, node) {
		if (!same_module(c->pattern.module, p->module) ||
		    (p->name && !same_part(p->name, c->pattern.name)) ||
		    (p->system && !same_part(p->system, c->pattern.system)) ||
		    (p->event && !same_part(p->event, c->pattern.event)))
			continue;
		choice_remove(inst, c);
		any = true;
	}
	return any;
}

int event_choose(struct instance *inst, const struct event_pattern *p, bool on)
{
	bool forgotten = !on && choices_forget(inst, p);
	int err = event_set_switch(inst, p, on, NULL);

	if (err == -EINVAL && !module_is_known(inst, p->module))
		err = on || forgotten ? 0 : -EINVAL;
	if (err || !on || choice_find(inst, p))
		return err;
	return choice_add(inst, p);
}

void event_choices_clear(struct instance *inst)
{
	struct event_choice *c, *next;

	list_each_safe(c, next, &inst->choices, node)
		choice_remove(inst, c);
}

static bool choice_is_met(struct instance *inst, const struct event_choice *c)
{
	struct event *e = NULL;

	while ((e = event_next(inst, e)))
		if (event_pattern_matches(&c->pattern, e))
			return true;
	return false;
}

void event_choices_print(struct instance *inst, FILE *out)
{
	struct event_choice *c;

	list_each(c, &inst->choices, node) {
		if (choice_is_met(inst, c))
			continue;
		pattern_print(&c->pattern, out);
		fputc('\n', out);
	}
}

/* ---- after the death of a server ---- */

static int choice_restore(struct model *m, const char *instance, const char *text)
{
	struct instance *inst = *instance ? instance_find(m, instance) : m->top;
	struct event_pattern p;
	char *copy = strdup(text);
	int err = -EPROTO;

	if (!copy)
		return -ENOMEM;
	event_pattern_parse(copy, &p);
	if (inst && p.module)
		err = choice_add(inst, &p);
	free(copy);
	return err;
}

static int module_restore(struct model *m, const char *path, const char *text)
{
	char system[256], event[256];
	struct event *e;

	if (sscanf(path, "events/%255[^/]/%255[^/]/" MODULE_SAVED, system, event) != 2)
		return -EPROTO;
	e = model_find_event(m, system, event);
	if (!e)
		return -EPROTO;
	return module_make(e, text) ? 0 : -ENOMEM;
}

bool event_module_restore(struct model *m, const char *path, const char *text, int *err)
{
	const char *file = strrchr(path, '/');
	char instance[256] = "";

	if (file && !strcmp(file + 1, MODULE_SAVED)) {
		*err = module_restore(m, path, text);
		return true;
	}
	if (strcmp(file ? file + 1 : path, CHOICE_SAVED))
		return false;
	*err = file && sscanf(path, "instances/%255[^/]/", instance) != 1 ?
		       -EPROTO : choice_restore(m, instance, text);
	return true;
}
