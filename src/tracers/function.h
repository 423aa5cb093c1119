/* SPDX-License-Identifier: MIT */
/*
 * function.h - for tracers that record calls of functions
 *
 * Included by tracers.
 */
#ifndef TRACEFUSE_TRACERS_FUNCTION_H
#define TRACEFUSE_TRACERS_FUNCTION_H

#include "model/ftrace/ftrace.h"
#include "model/tracer.h"

/*
 * Begins to record the instance's functions (set_ftrace_filter, set_ftrace_notrace): as
 * ftrace:function, or as funcgraph_entry and funcgraph_exit. `section`: 0, or ARM_SECTION with or
 * without ARM_WAKEUP to record only in sections. `callback`: the name that enabled_functions
 * prints. An earlier call for the instance loses its effect. 0, -ENOMEM, -ENOSPC
 */
int functions_enable(struct instance *inst, enum ftrace_ops_kind kind, uint32_t section,
		     const char *callback);
void functions_disable(struct instance *inst);

#endif
