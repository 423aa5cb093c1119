/* SPDX-License-Identifier: MIT */
/*
 * module.h - which objects bring an event, and the choices of set_event that name an object
 *
 *     ":mod:libfoo.so"      -> a choice of the instance: enables the object's events, and those
 *                              that it brings later
 *     libfoo.so brings one  -> event_module_add(): each choice that matches enables it
 *
 * The module of a program's event is the name of the file that defines it; several files may define
 * one event. The module of a kernel's event is that of its tracepoint in kallsyms. A '-' in a name
 * is like a '_', as in the kernel.
 */
#ifndef TRACEFUSE_MODEL_EVENT_MODULE_H
#define TRACEFUSE_MODEL_EVENT_MODULE_H

#include "model/event/file.h"

/* What a word of set_event names. NULL: any */
struct event_pattern {
	const char	*name;		/* name of an event or of a system */
	const char	*system, *event;
	const char	*module;
};

/*
 * Cuts "SYSTEM:EVENT", "NAME", each with or without ":mod:MODULE", and the forms in set.h, into its
 * parts.
 */
void event_pattern_parse(char *word, struct event_pattern *out);
bool event_pattern_matches(const struct event_pattern *p, struct event *e);

/*
 * The module brings the event. If that is new, the choices of all instances that match enable it.
 * 0, -ENOMEM
 */
int event_module_add(struct event *e, const char *module);
/* Frees the event's modules, of which nothing stays saved. */
void event_modules_free(struct event *e);

/*
 * A pattern with a module: enables or disables the events that match. The choice is remembered, or
 * the remembered choices that match are forgotten. -EINVAL: the module is known and has no such
 * event, or there is no such choice to forget.
 */
int event_choose(struct instance *inst, const struct event_pattern *p, bool on);
void event_choices_clear(struct instance *inst);
/* A line for each choice that no event matches so far, the newest first. */
void event_choices_print(struct instance *inst, FILE *out);

/* Called for each saved text (R4). Returns whether it is one of module.c; *err: 0 or -errno. */
bool event_module_restore(struct model *m, const char *path, const char *text, int *err);

#endif
