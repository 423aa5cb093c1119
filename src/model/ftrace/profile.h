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
 * With details (2 is written) the code adds the time without the functions below, and keeps the
 * longest time. Another map has how many calls took about as long. trace_stat/functions, which is
 * not listed, prints all of that.
 *
 * When the profile is switched on, the map is empty. When it is switched off, the map can still be
 * read. It is saved with its counts for the next server (R4).
 */
#ifndef TRACEFUSE_MODEL_FTRACE_PROFILE_H
#define TRACEFUSE_MODEL_FTRACE_PROFILE_H

#include <stdio.h>
#include "model/ftrace/ftrace.h"

/*
 * Writes function_profile_enabled: enum ftrace_profile_mode. The profile is of the functions in the
 * filters of one instance: in the kernel, of the top. 0, -ENOMEM
 */
int ftrace_profile_set(struct instance *inst, unsigned int mode);
/* The mode, if the profile is of that instance's functions; else FTRACE_PROFILE_OFF */
unsigned int ftrace_profile_mode_of(const struct instance *inst);
/* The instance ends. */
void ftrace_profile_leave(struct instance *inst);
/* R4: restores what was saved. */
int ftrace_profile_restore(struct instance *inst, const struct restored *o, const char *text);
void ftrace_profile_destroy(struct ftrace *ft);

/*
 * Trigger `i` of those in the plans of profiled groups; out may be NULL. False: there are not so
 * many.
 */
bool ftrace_profile_arm(const struct ftrace *ft, unsigned int i, struct trigger_arm *out);
/* How many calls and returns found no room in the map. */
uint64_t ftrace_profile_dropped(const struct ftrace *ft);
/* Whether its files may have many lines. */
bool ftrace_profile_is_large(const struct ftrace *ft);
/* Prints the file trace_stat/function<cpu>. 0, -ENOMEM */
int ftrace_profile_print(struct ftrace *ft, uint32_t cpu, FILE *out);
/* Prints the file trace_stat/functions: all CPUs together, times in ns. 0, -ENOMEM */
int ftrace_profile_print_all(struct ftrace *ft, FILE *out);

#endif
