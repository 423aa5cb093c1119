/* SPDX-License-Identifier: MIT */
/*
 * event_names.h - what -e names: SYSTEM, EVENT, SYSTEM:EVENT, with * ? [ ] as in file names; all
 *
 * A name that means nothing yet may come with a library or another program. One that is almost the
 * name of an event that is there is taken for a mistake, and so is whatever is not there of a
 * system whose events are all known (heap, lock ...).
 */
#ifndef TRACEFUSE_CLI_EVENT_NAMES_H
#define TRACEFUSE_CLI_EVENT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct access;

/* Enables them by set_event. 0 or -errno: -EINVAL when there is none. */
int event_names_enable(struct access *a, const char *name);

enum event_names_verdict { EVENT_NAMES_LATER, EVENT_NAMES_WRONG };

/*
 * Of a name that means nothing now. `near` (may become "") has those that it is nearly. `lines`:
 * the file available_events.
 */
enum event_names_verdict event_names_judge(const char *lines, const char *name, char *near,
					   size_t size);

/* " (there is heap:malloc)" of "heap:malloc"; "" of "". */
void event_names_hint(const char *near, char *out, size_t size);

#endif
