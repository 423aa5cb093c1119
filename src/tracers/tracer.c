/* SPDX-License-Identifier: MIT */
/*
 * tracer.c - the table of tracers, and the change from one to another
 */
#include <errno.h>
#include <string.h>

#include "plane/ring/ring.h"
#include "model/tracer.h"

#define BIT(o) (1ull << (o))

static const struct tracer tracer_nop = {
	.name = "nop",
	.flags = BIT(OPTION_TEST_NOP_ACCEPT) | BIT(OPTION_TEST_NOP_REFUSE),
	.allow_instances = true,
};

/* The newest tracer first; ends with NULL. */
static const struct tracer *const tracers[] = {
	&tracer_function_graph, &tracer_wakeup_rt, &tracer_wakeup, &tracer_preemptirqsoff,
	&tracer_preemptoff, &tracer_irqsoff, &tracer_function, &tracer_nop, NULL
};

static bool is_available(const struct tracer *t, struct model *m)
{
	return !t->available || t->available(m);
}

const struct tracer *tracer_current(const struct instance *inst)
{
	return inst->tracer ? inst->tracer : &tracer_nop;
}

void tracer_list(struct model *m, FILE *out)
{
	const char *separator = "";

	for (const struct tracer *const *t = tracers; *t; t++)
		if (is_available(*t, m)) {
			fprintf(out, "%s%s", separator, (*t)->name);
			separator = " ";
		}
	fputc('\n', out);
}

static const struct tracer *tracer_find(struct model *m, const char *name)
{
	for (const struct tracer *const *t = tracers; *t; t++)
		if (!strcmp((*t)->name, name))
			return is_available(*t, m) ? *t : NULL;
	return NULL;
}

static void make_current(struct instance *inst, const struct tracer *t)
{
	inst->tracer = t;
	inst->tracer_options = t->flags;
	inst->option_changes = t->set_flag;
	inst->tracer_clear = t->clear;
}

static int may_become(const struct instance *inst, const struct tracer *t)
{
	/* A hist with snapshot() decides what is in the snapshot. */
	if (t->use_max_tr && inst->snapshot_hist)
		return -EBUSY;
	if (inst->name && !t->allow_instances)
		return -EINVAL;
	return inst->pipe_readers ? -EBUSY : 0;
}

/*
 * Empties the buffer for a new tracer. If the session is restored, the tracer continues with the
 * records of the previous server.
 */
static void empty(struct instance *inst)
{
	data_ref buffer = instance_buffer(inst, 0);

	if (!buffer || inst->model->restoring)
		return;
	buffer_clear(inst->model->session, buffer, -1);
	instance_restart_time(inst);
}

void tracer_leave(struct instance *inst)
{
	const struct tracer *old = tracer_current(inst);

	make_current(inst, &tracer_nop);
	if (old->reset)
		old->reset(inst);
}

/* Called before the tracer begins and after it has ended. Hits take no snapshots meanwhile. */
static void use_max(struct instance *inst, bool used)
{
	if (inst->max_used == used)
		return;
	inst->max_used = used;
	options_publish(inst);
}

static int become(struct instance *inst, const struct tracer *t, bool had_max)
{
	int err;

	if (had_max && !t->use_max_tr)
		instance_snapshot_free(inst);
	err = t->use_max_tr && !had_max ? instance_snapshot_alloc(inst) : 0;
	if (err)
		return err;
	use_max(inst, t->use_max_tr);
	empty(inst);
	err = t->init ? t->init(inst) : 0;
	if (err)
		use_max(inst, false);
	else
		make_current(inst, t);
	return err;
}

bool tracer_prepare(const struct instance *inst, const char *name)
{
	const struct tracer *t = tracer_find(inst->model, name);

	return t && t->use_max_tr && !may_become(inst, t) && instance_snapshot_prepare(inst);
}

int tracer_choose(struct instance *inst, const char *name)
{
	const struct tracer *t = tracer_find(inst->model, name);
	bool had_max = tracer_current(inst)->use_max_tr;
	int err;

	if (!t)
		return -EINVAL;
	if (t == tracer_current(inst))
		return 0;
	err = may_become(inst, t);
	if (err)
		return err;
	err = instance_save(inst, SETTING_TRACER, "current_tracer", name);
	if (err)
		return err;
	tracer_leave(inst);
	err = become(inst, t, had_max);
	/* As in the kernel, the tracer is nop now. */
	if (err && !inst->model->restoring)
		saved_remove(inst->model, &inst->settings_saved[SETTING_TRACER]);
	return err;
}
