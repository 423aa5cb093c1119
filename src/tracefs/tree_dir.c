/* SPDX-License-Identifier: MIT */
/* tree_dir.c - the content of directories; mkdir and rmdir of instances */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/ftrace/ftrace.h"
#include "model/instance/options.h"
#include "tracefs/tree_state.h"
#include "model/tracer.h"

struct listing {
	int	(*fn)(void *arg, const char *name, bool is_dir);
	void	*arg;
};

static int list_kinds(const struct listing *l, const struct file_kind *kinds,
		      const struct instance *inst, const struct event *e)
{
	int rc = 0;

	for (; kinds->name && !rc; kinds++)
		if (!kinds->hidden && (!kinds->absent || !kinds->absent(inst, e)))
			rc = l->fn(l->arg, kinds->name, false);
	return rc;
}

static int list_root(struct tree *t, const struct listing *l, const struct place *p)
{
	static const char *const dirs[] = { "events", "options", "per_cpu" };
	int rc = 0;

	for (int i = 0; i < 3 && !rc; i++)
		rc = l->fn(l->arg, dirs[i], true);
	if (!rc && !p->inst->name) {
		rc = l->fn(l->arg, "instances", true);
		if (!rc && ftrace_present(t->model))
			rc = l->fn(l->arg, "trace_stat", true);
		for (unsigned int i = 0; i < t->nr_extras && !rc; i++)
			rc = l->fn(l->arg, t->extras[i].name, false);
	}
	for (const struct root_kinds *k = tree_root_kinds; k->kinds && !rc; k++)
		if (!k->of_top || !p->inst->name)
			rc = list_kinds(l, k->kinds, p->inst, NULL);
	return rc;
}

static int list_instances(struct tree *t, const struct listing *l)
{
	struct instance *inst;
	int rc = 0;

	list_each(inst, &t->model->instances, node)
		if (inst->name && !rc)
			rc = l->fn(l->arg, inst->name, true);
	return rc;
}

static int list_options(const struct listing *l, const struct place *p)
{
	int rc = 0;

	for (int o = 0; o < OPTION_COUNT && !rc; o++)
		if (option_is_listed(p->inst, o))
			rc = l->fn(l->arg, option_names[o], false);
	return rc;
}

static int list_cpus(struct tree *t, const struct listing *l, const char *head, bool is_dir)
{
	char name[24];
	int rc = 0;

	for (uint32_t cpu = 0; cpu < t->model->nr_cpus && !rc; cpu++) {
		snprintf(name, sizeof(name), "%s%u", head, cpu);
		rc = l->fn(l->arg, name, is_dir);
	}
	return rc;
}

static int list_systems(struct tree *t, const struct listing *l, const struct place *p)
{
	struct system *sys;
	int rc = list_kinds(l, events_kinds, p->inst, NULL);

	list_each(sys, &t->model->systems, node)
		if (!rc)
			rc = l->fn(l->arg, sys->name, true);
	return rc;
}

static int list_events(const struct listing *l, const struct place *p)
{
	struct event *e;
	int rc = tree_system_has_files(p->system) ? list_kinds(l, system_kinds, p->inst, NULL) : 0;

	list_each(e, &p->system->events, node)
		if (!rc)
			rc = l->fn(l->arg, e->name, true);
	return rc;
}

int tree_list(struct tree *t, const char *path, int (*fn)(void *arg, const char *name, bool is_dir),
	      void *arg)
{
	const struct listing l = { fn, arg };
	struct place p;
	int err = tree_resolve(t, path, &p);

	if (err)
		return err;
	switch (p.type) {
	case PLACE_ROOT:
		return list_root(t, &l, &p);
	case PLACE_INSTANCES:
		return list_instances(t, &l);
	case PLACE_OPTIONS:
		return list_options(&l, &p);
	case PLACE_PER_CPU:
		return list_cpus(t, &l, "cpu", true);
	case PLACE_STAT:
		return list_cpus(t, &l, "function", false);
	case PLACE_CPU:
		return list_kinds(&l, cpu_kinds, p.inst, NULL);
	case PLACE_EVENTS:
		return list_systems(t, &l, &p);
	case PLACE_SYSTEM:
		return list_events(&l, &p);
	case PLACE_EVENT:
		return list_kinds(&l, event_kinds, p.inst, p.event);
	default:
		return -ENOTDIR;
	}
}

/* The name of instances/NAME; NULL: the path is another one. */
static const char *instance_name(const char *path)
{
	const char *name;

	if (strncmp(path, "instances/", 10))
		return NULL;
	name = path + 10;
	return *name && !strchr(name, '/') ? name : NULL;
}

/* The error of mkdir at a path outside instances/. */
static int mkdir_refused(struct tree *t, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct place p;
	char *parent;
	int err = tree_resolve(t, path, &p);

	if (err != -ENOENT)
		return err ? err : -EEXIST;
	parent = strndup(path, slash ? (size_t)(slash - path) : 0);
	if (!parent)
		return -ENOMEM;
	err = tree_resolve(t, parent, &p);
	free(parent);
	if (!err)
		err = p.type == PLACE_FILE ? -ENOTDIR : -EPERM;
	return err;
}

int tree_mkdir(struct tree *t, const char *path)
{
	const char *name = instance_name(path);
	struct instance *inst;

	if (!name)
		return mkdir_refused(t, path);
	if (strlen(name) > TREE_NAME_MAX)
		return -ENAMETOOLONG;
	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return -EEXIST;
	return instance_create(t->model, name, &inst);
}

int tree_rmdir(struct tree *t, const char *path)
{
	const char *name = instance_name(path);
	struct instance *inst = name ? instance_find(t->model, name) : NULL;
	struct place p;
	int err;

	if (name && !strcmp(name, "."))
		return -EINVAL;
	if (name && !strcmp(name, ".."))
		return -ENOTEMPTY;
	if (inst && inst->refs)
		return -EBUSY;
	if (inst) {
		tracer_leave(inst);
		return instance_remove(inst);
	}
	err = tree_resolve(t, path, &p);
	if (err)
		return err;
	return p.type == PLACE_FILE ? -ENOTDIR : -EPERM;
}
