/* SPDX-License-Identifier: MIT */
/*
 * groups.h - groups of functions: sites that the same ops trace are a group, with plans for running
 * programs
 *
 *     site --ftrace_site_ops()--> set of ops --found again, or new--> group --> plans of its
 *     entries
 *
 *     entry number + GROUP_FUNCTION: an arm for each ops, in the order to call them: function
 *                                    tracers, triggers on ftrace:function, function commands
 *                  + GROUP_GRAPH:    an arm for each instance with function_graph
 *                  + GROUP_PROFILE:  the profile's, where the function is profiled
 *     LAYOUT_GRAPH_EXIT:             as GROUP_GRAPH, for all groups
 *
 * Programs have copies of the numbers of groups, so a number keeps its meaning. When an ops ends,
 * its groups lose the ops's arm at once and become stale: no site gets such a number any more. A
 * number that programs may still have is given again only after ftrace_groups_settled(), and then
 * as late as possible, because a thread may have read it a moment ago. The next server finds the
 * numbers as saved texts (R4).
 *
 * The control plane uses it, and the source of running programs (words).
 */
#ifndef TRACEFUSE_MODEL_FTRACE_GROUPS_H
#define TRACEFUSE_MODEL_FTRACE_GROUPS_H

#include "model/ftrace/ftrace.h"

/*
 * The word of a site (enum site_word), after `changed` named it; not while model_restore() runs. 0:
 * no ops traces it, or there is no room for another group: ftrace_groups_error() says so.
 */
uint32_t ftrace_groups_word(struct ftrace *ft, const struct ftrace_site *site);
/* It is going to be asked for the word of this one. */
void ftrace_groups_prefetch(const struct ftrace *ft, const struct ftrace_site *site);
/*
 * For a recording: the entry of a plan with only the commands of the site's function. 0: it has
 * none, or there is no room.
 */
uint32_t ftrace_groups_commands(struct ftrace *ft, const struct ftrace_site *site);
/*
 * Whether words were refused since the last call. 0, -ENOSPC: more than 5461 sets of ops, -ENOMEM
 */
int ftrace_groups_error(struct ftrace *ft);
/*
 * All living processes have the words that the sites have now: numbers that no site has can be used
 * again. To be called only if programs have been informed of all changes. A thread may have read a
 * word just before, and look for its plan only now. So such a group keeps its plan for late_ms
 * more, unless half of all numbers are in use; it ends with a later call.
 */
void ftrace_groups_settled(struct ftrace *ft, int64_t late_ms);

/* ---- For the control plane ---- */

/* As ftrace_groups_error(), for a change of ops or sets; or what the running kernel has said. */
int ftrace_groups_refused(struct ftrace *ft);
/* The ops is no longer enabled. */
void ftrace_groups_drop(struct ftrace *ft, const struct ftrace_ops *ops);
/* The instance has changed what hits of its functions do: plans are recompiled. 0, -ENOMEM */
int ftrace_groups_publish(struct instance *inst);
/* The triggers on ftrace:function have changed in some instance. 0, -ENOMEM, -ENOSPC */
int ftrace_triggers_changed(struct event *e);
/* Called when the instance is removed, but not when the server ends. */
void ftrace_triggers_end(struct instance *inst);
/* The name that enabled_functions prints for the tracer function with the instance's options. */
const char *ftrace_function_callback(const struct instance *inst);
/* func_stack_trace or func-no-repeats was switched. 0, -ENOMEM */
int ftrace_options_changed(struct model *m);
/*
 * R4: restores one group as it was saved; and, when all else is restored, the groups of these
 * numbers.
 */
int ftrace_groups_restore(struct ftrace *ft, const struct restored *o, const char *text);
void ftrace_groups_restore_all(struct model *m);
void ftrace_groups_destroy(struct ftrace *ft);

#endif
