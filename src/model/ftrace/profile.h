/* SPDX-License-Identifier: MIT */
/*
 * profile.h - function_profile_enabled, trace_stat: how often functions were called and how long
 * they took
 *
 *     call, return -> struct profile_record -> plan of the group's entry GROUP_PROFILE
 *                                                -> code: map[function, CPU] += calls, time,
 *                                                         time squared
 *                                                                 |
 *     trace_stat/functionN <--sorted by time----------------------+
 *
 * When the profile is switched on, the map is empty. When it is switched off, the map can still be
 * read. It is saved with its counts for the next server (R4).
 */
#ifndef TRACEFUSE_MODEL_FTRACE_PROFILE_H
#define TRACEFUSE_MODEL_FTRACE_PROFILE_H

#include <stdio.h>
#include "model/ftrace/ftrace.h"

/* Writes function_profile_enabled. 0, -ENOMEM */
int ftrace_profile_set(struct ftrace *ft, bool on);
/* R4: restores what was saved. */
int ftrace_profile_restore(struct ftrace *ft, const struct restored *o, const char *text);
void ftrace_profile_destroy(struct ftrace *ft);

/* The trigger in the plans of profiled groups. */
void ftrace_profile_arm(const struct ftrace *ft, struct trigger_arm *out);
/* How many calls and returns found no room in the map. */
uint64_t ftrace_profile_dropped(const struct ftrace *ft);
/* Prints the file trace_stat/function<cpu>. 0, -ENOMEM */
int ftrace_profile_print(struct ftrace *ft, uint32_t cpu, FILE *out);

#endif
