/* SPDX-License-Identifier: MIT */
/*
 * event_file.h - one event in one instance: enable, filter, triggers; and the plan made of them
 *
 * `enable` reads 0, 1, 0*, 1*: enabled counts `enable` and set_event (0 or 1),
 * soft_refs counts triggers and enable_event triggers that keep the event
 * armed ("*"). event_publish() compiles all files of an event into one plan.
 */
#ifndef TRACEFUSE_MODEL_EVENT_FILE_H
#define TRACEFUSE_MODEL_EVENT_FILE_H

#include "model/model.h"

struct filter;
struct trigger;

struct event_file {
	struct list_head	event_node;	/* in event->files */
	struct list_head	node;		/* in instance->files */
	struct event		*event;
	struct instance		*instance;
	bool			enabled;
	bool			soft_enabled_before;	/* trace_options event-fork etc. do not touch it */
	unsigned int		soft_refs;
	struct filter		*filter;	/* NULL: none */
	struct list_head	triggers;	/* struct trigger: newest first, hists oldest first behind (R7's order) */
	data_ref		state_ref;
	struct event_state	*state;
	uint64_t		objects[2];	/* R4: of enable and filter */
};

/* Made when first asked for; NULL: out of memory. */
struct event_file *event_file_get(struct instance *inst, struct event *e);

/* Compiles and publishes the plan of an event from all its files; retires the old one. */
int event_publish(struct event *e);
/* The same for all events of an instance, or of the model (NULL). */
int model_publish(struct model *m, struct instance *inst);

/* enable = 0 / 1 */
int event_file_enable(struct event_file *f, bool on);
/* A trigger takes (+1) or drops (-1) the event's soft mode. */
int event_file_soft(struct event_file *f, int refs);
/* Prints "0", "1", "0*", "1*" (without newline). */
void event_file_print_enable(struct event_file *f, FILE *out);

/* The file `filter`: text as written (without the newline); "0" removes. An error goes to the instance's errlog. */
int event_file_set_filter(struct event_file *f, const char *text);
void event_file_print_filter(struct event_file *f, FILE *out);
/* events/SYSTEM/filter: applied to each event of the system that has the fields. */
int system_set_filter(struct instance *inst, struct system *sys, const char *text);
void system_print_filter(struct instance *inst, struct system *sys, FILE *out);

/* One line of the file `trigger` (leading ! removes); removal of all by truncation; printing. */
int event_file_trigger_write(struct event_file *f, const char *text);
void event_file_trigger_truncate(struct event_file *f);
void event_file_trigger_print(struct event_file *f, FILE *out);

#endif
