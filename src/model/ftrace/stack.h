/* SPDX-License-Identifier: MIT */
/*
 * stack.h - the stack tracer: stack_max_size, stack_trace, stack_trace_filter
 *
 *     a call of a function deeper than any before -> TRIGGER_DEEPEST in the group's plan
 *         -> struct stack_deepest in the data region -> stack_trace
 *
 * It looks at programs: each call of a function in stack_trace_filter, in all threads, on the
 * thread's own stack. As in the kernel, switching it off leaves what was found, and writing
 * stack_max_size sets only the size. Such a write makes new memory, which begins with the report
 * of the old one. All is saved for the next server (R4).
 */
#ifndef TRACEFUSE_MODEL_FTRACE_STACK_H
#define TRACEFUSE_MODEL_FTRACE_STACK_H

#include <stdio.h>
#include "model/ftrace/ftrace.h"

/* Writes stack_tracer_enabled. 0, -ENOMEM, -ENOSPC */
int ftrace_stack_set(struct ftrace *ft, bool on);
/* stack_max_size: bytes */
uint64_t ftrace_stack_max(const struct ftrace *ft);
/* 0, -ENOMEM */
int ftrace_stack_set_max(struct ftrace *ft, uint64_t bytes);
/* Prints stack_trace. 0, -ENOMEM */
int ftrace_stack_print(struct ftrace *ft, FILE *out);
/* The trigger in the plans of the groups that it traces. */
void ftrace_stack_arm(const struct ftrace *ft, struct trigger_arm *out);
/* R4: restores what was saved. */
int ftrace_stack_restore(struct ftrace *ft, const struct restored *o, const char *text);
/* Called with the top instance, before the ops ends with it. */
void ftrace_stack_end(struct ftrace *ft);

#endif
