/* SPDX-License-Identifier: MIT */
/*
 * function.c - the tracer function; functions_enable() for all tracers that record functions
 *
 * The plane implements the tracer's options (ARM_STACK, ARM_NO_REPEATS). The records print like any
 * event. On a recording without functions, enabled ops trace nothing.
 */
#include <errno.h>

#include "model/ftrace/groups.h"
#include "plane/ring/ring.h"
#include "tracers/function.h"

#define BIT(o) (1ull << (o))

int functions_enable(struct instance *inst, enum ftrace_ops_kind kind, uint32_t section,
		     const char *callback)
{
	struct ftrace_instance *fi = ftrace_of_instance(inst);

	if (!fi)
		return -ENOMEM;
	/* hit.mask is one word with a bit for each instance that recorded the entry. */
	if (kind == FTRACE_OPS_GRAPH && inst->index >= LAYOUT_GRAPH_INSTANCES)
		return -ENOSPC;
	functions_disable(inst);
	fi->function.kind = kind;
	fi->function.section = section;
	fi->function.callback = callback;
	return ftrace_ops_enable(&fi->function);
}

void functions_disable(struct instance *inst)
{
	if (inst->ftrace)
		ftrace_ops_disable(&inst->ftrace->function);
}

static int function_init(struct instance *inst)
{
	return functions_enable(inst, FTRACE_OPS_FUNCTION, 0, ftrace_function_callback(inst));
}

/*
 * As in the kernel, switching tracing on again empties the buffer. The records of a recording stay.
 */
static void function_start(struct instance *inst)
{
	const data_ref buffer = instance_buffer(inst, 0);

	if (!buffer || inst->model->imported || inst->model->restoring)
		return;
	buffer_clear(inst->model->session, buffer, -1);
	instance_restart_time(inst);
}

const struct tracer tracer_function = {
	.name = "function",
	.flags = BIT(OPTION_FUNC_STACK_TRACE) | BIT(OPTION_FUNC_NO_REPEATS),
	.allow_instances = true,
	.init = function_init,
	.reset = functions_disable,
	.start = function_start,
};
