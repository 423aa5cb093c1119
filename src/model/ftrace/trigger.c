/* SPDX-License-Identifier: MIT */
/*
 * trigger.c - triggers on the event ftrace:function of running programs
 *
 * The kernel has no such file. Here `hist:keys=ip` counts functions without recording them. An
 * instance with triggers has an ops for them, which traces the functions that set_ftrace_filter and
 * set_ftrace_notrace choose.
 */
#include <errno.h>

#include "model/event/file.h"
#include "model/ftrace/groups.h"
#include "model/trigger/trigger.h"

static int file_changed(struct event_file *f)
{
	const bool wanted = !list_empty(&f->triggers);
	struct ftrace_instance *fi = wanted ? ftrace_of_instance(f->instance) : f->instance->ftrace;

	if (!fi)
		return wanted ? -ENOMEM : 0;
	if (wanted && !fi->triggers.enabled)
		return ftrace_ops_enable(&fi->triggers);
	if (!wanted)
		ftrace_ops_disable(&fi->triggers);
	return ftrace_groups_publish(f->instance);
}

static struct ftrace *functions_of(const struct event *e)
{
	return e->internal && e->id == LAYOUT_FUNCTION_ID ? e->model->ftrace : NULL;
}

int ftrace_triggers_changed(struct event *e)
{
	struct ftrace *ft = functions_of(e);
	struct event_file *f;
	int err = 0;

	if (!ft || !ft->offered)
		return 0;
	list_each(f, &e->files, event_node)
		if (!err)
			err = file_changed(f);
	return err;
}

void ftrace_triggers_end(struct instance *inst)
{
	struct event *e = model_event_by_id(inst->model, LAYOUT_FUNCTION_ID);
	struct event_file *f =
		e && functions_of(e) && !inst->model->closing ? event_file_find(inst, e) : NULL;

	while (f && !list_empty(&f->triggers))
		trigger_detach(list_entry(f->triggers.next, struct trigger, node));
}
