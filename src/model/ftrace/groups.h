/* SPDX-License-Identifier: MIT */
/*
 * groups.h - what running programs do at a function: sites that the same ops trace are a group
 *
 *     site --ftrace_site_ops()--> set of ops --found again, or new--> group --> plans of its
 *     entries
 *
 *     entry number + GROUP_FUNCTION: one arm an ops in the order to call them: function tracers,
 *     triggers
 *                                    on ftrace:function, function commands
 *                  + GROUP_GRAPH:    one arm an instance with function_graph
 *                  + GROUP_PROFILE:  the profile's, where the function is profiled
 *     LAYOUT_GRAPH_EXIT:             as GROUP_GRAPH, for all groups
 *
 * Programs hold numbers of groups, so a number keeps its meaning: when an ops
 * ends, the groups that have it lose their arm at once, and are stale: no site
 * gets that number any more. What programs may still hold is given anew only
 * after ftrace_groups_settled(), and then last of all, because a thread may just
 * have read it. The next server finds the numbers as saved texts (R4).
 *
 * Used by the control plane, and by the source of running programs (words).
 */
#ifndef TRACEFUSE_MODEL_FTRACE_GROUPS_H
#define TRACEFUSE_MODEL_FTRACE_GROUPS_H

#include "model/ftrace/ftrace.h"

/*
 * What a program has to know of a site (enum site_word), after `changed` named
 * it; not while model_restore() runs. 0: no ops traces it, or there is no room for
 * another group: ftrace_groups_error() tells.
 */
uint32_t ftrace_groups_word(struct ftrace *ft, const struct ftrace_site *site);
/*
 * Of a recording: the entry number of what the commands alone do at a call of the
 * site's function, whatever else traces it. 0: it has none, or there is no room.
 */
uint32_t ftrace_groups_commands(struct ftrace *ft, const struct ftrace_site *site);
/* Once: whether words were refused since. 0, -ENOSPC: more than 5461 sets of ops, -ENOMEM */
int ftrace_groups_error(struct ftrace *ft);
/*
 * All living processes hold the words that the sites have now: what no site has
 * may be used again. To be called only while no change waits to be told.
 */
void ftrace_groups_settled(struct ftrace *ft);

/* ---- For the control plane ---- */

/* As ftrace_groups_error(), for who changes ops or sets. */
int ftrace_groups_refused(struct ftrace *ft);
/* The ops is no longer among the enabled ones. */
void ftrace_groups_drop(struct ftrace *ft, const struct ftrace_ops *ops);
/* The instance has changed what hits of its functions do: plans are recompiled. 0, -ENOMEM */
int ftrace_groups_publish(struct instance *inst);
/* The triggers on ftrace:function are other ones, in some instance. 0, -ENOMEM, -ENOSPC */
int ftrace_triggers_changed(struct event *e);
/* The instance goes away, unless the server ends. */
void ftrace_triggers_end(struct instance *inst);
/* What enabled_functions prints of the tracer function with the options that it has. */
const char *ftrace_function_callback(const struct instance *inst);
/* func_stack_trace or func-no-repeats was switched. 0, -ENOMEM */
int ftrace_options_changed(struct model *m);
/* R4: one group as it was kept; and, when all else is back, the groups of those numbers. */
int ftrace_groups_restore(struct ftrace *ft, const struct restored *o, const char *text);
void ftrace_groups_restore_all(struct model *m);
void ftrace_groups_destroy(struct ftrace *ft);

#endif
