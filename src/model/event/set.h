/* SPDX-License-Identifier: MIT */
/*
 * set.h - many events at once: set_event, available_events, events/enable, events/SYSTEM/enable
 *
 * Events are listed in the kernel's order: first those made after the instance, the newest first,
 * then the others by id.
 */
#ifndef TRACEFUSE_MODEL_EVENT_SET_H
#define TRACEFUSE_MODEL_EVENT_SET_H

#include "model/event/module.h"
#include "model/pieces.h"

/*
 * The event behind `prev` in the instance's order. prev NULL: the first one; it may be removed, but
 * held (event_get()). NULL: the end.
 */
struct event *event_next(struct instance *inst, const struct event *prev);

/*
 * One word of set_event: "SYSTEM:EVENT", "SYSTEM:*", "SYSTEM:", "*:EVENT", ":EVENT", "NAME" (system
 * or event). A leading "!" disables. There are no patterns. -EINVAL: nothing matches. Each form may
 * have ":mod:MODULE" behind it, or be left out before it: event_choose(). The caller has expanded
 * the instance's rings. -EINPROGRESS: to be called again with the same word, here and below. pieces
 * NULL: it does not stop before the end.
 */
int event_set_word(struct instance *inst, const char *word, struct pieces *pieces);
/*
 * Switches what matches; of a module only what is known now. Returns the first error, but switches
 * the rest, too. -EINVAL: nothing matches.
 */
int event_set_switch(struct instance *inst, const struct event_pattern *p, bool on,
		     struct pieces *pieces);
/* For an open of set_event with O_TRUNC. */
void event_set_clear(struct instance *inst);
void event_set_print(struct instance *inst, FILE *out);
void event_available_print(struct instance *inst, FILE *out);
/* show_event_filters, show_event_triggers: files of Linux 7.0 */
void event_filters_print(struct instance *inst, FILE *out);
void event_triggers_print(struct instance *inst, FILE *out);

/* events/SYSTEM/enable, events/enable (sys NULL): '0', '1', 'X' or '?' (no events). */
char event_set_enabled(struct instance *inst, const struct system *sys);
int event_set_enable(struct instance *inst, const struct system *sys, bool on,
		     struct pieces *pieces);

#endif
