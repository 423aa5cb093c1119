/* SPDX-License-Identifier: MIT */
/*
 * function.h - tracers that want calls of functions
 *
 * Included by tracers.
 */
#ifndef TRACEFUSE_TRACERS_FUNCTION_H
#define TRACEFUSE_TRACERS_FUNCTION_H

#include "model/ftrace/ftrace.h"
#include "model/tracer.h"

/*
 * The instance's functions (set_ftrace_filter, set_ftrace_notrace) are recorded
 * from now on: as ftrace:function, or as funcgraph_entry and funcgraph_exit.
 * section: ARM_SECTION, with ARM_WAKEUP or without: only there; 0. The callback is what
 * enabled_functions prints. An earlier choice of the instance ends.
 * 0, -ENOMEM, -ENOSPC
 */
int functions_enable(struct instance *inst, enum ftrace_ops_kind kind, uint32_t section,
		     const char *callback);
void functions_disable(struct instance *inst);

#endif
