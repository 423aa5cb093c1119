/* SPDX-License-Identifier: MIT */
/*
 * event_names.h - names of -e: SYSTEM, EVENT, SYSTEM:EVENT, with * ? [ ] as in file names; all
 *
 * An event that does not exist yet may come with a library or another program. Two kinds of names
 * count as mistakes: a name that is almost that of an existing event, and an unknown event of a
 * system whose events are all known (heap, lock ...).
 */
#ifndef TRACEFUSE_CLI_EVENT_NAMES_H
#define TRACEFUSE_CLI_EVENT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct access;

/* Enables the events by set_event. 0 or -errno; -EINVAL: there is none. */
int event_names_enable(struct access *a, const char *name);
/*
 * Enables what costs a program little: the events that it defines itself, and waits for locks. 0 or
 * -errno; -EINVAL: there is none.
 */
int event_names_enable_plain(struct access *a);

enum event_names_verdict { EVENT_NAMES_LATER, EVENT_NAMES_WRONG };

/*
 * Judges a name that means no event now. `near` gets similar names, or "". `lines`: the file
 * available_events.
 */
enum event_names_verdict event_names_judge(const char *lines, const char *name, char *near,
					   size_t size);

/*
 * Finds the event of that name that every program has, or (`kernels`) has with --kernel-names. *out
 * is its system. False: there is none.
 */
bool event_names_provider(const char *name, bool kernels, const char **out);

/* Makes " (there is heap:malloc)" from "heap:malloc", and "" from "". */
void event_names_hint(const char *near, char *out, size_t size);

#endif
