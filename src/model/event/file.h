/* SPDX-License-Identifier: MIT */
/*
 * file.h - one event in one instance: enable, filter, triggers; and the plan made of them
 *
 * `enable` reads 0, 1, 0*, 1*. As in the kernel, an event is enabled (armed) by `enable` and
 * set_event, or by its soft mode ("*"). Its own triggers and enable_event triggers of other events
 * put it into soft mode. In soft mode state->soft_disabled says whether the event is recorded, and
 * hits change that.
 *
 *     enabled  soft_mode  soft_disabled     reads
 *        0         0           0             0       not armed
 *        1         0           0             1       recorded
 *        1         1           1             0*      armed, fires triggers, not recorded
 *        1         1           0             1*      armed and recorded
 *
 * event_publish() compiles all files of an event into one plan.
 */
#ifndef TRACEFUSE_MODEL_EVENT_FILE_H
#define TRACEFUSE_MODEL_EVENT_FILE_H

#include "model/model.h"
#include "model/pieces.h"

struct filter;
struct trigger;

struct event_file {
	struct list_head	event_node;	/* in event->files */
	struct list_head	node;		/* in instance->files */
	struct event		*event;
	struct instance		*instance;
	bool			enabled;	/* armed; listed in set_event */
	bool			soft_mode;
	/* How many keep it in soft mode: enable_event triggers; its own triggers count as one */
	unsigned int		soft_refs;
	unsigned int		trigger_refs;	/* how many triggers it has */
	struct filter		*filter;	/* NULL: none */
	/* struct trigger: the newest first, then the hists, the oldest first (R7's order) */
	struct list_head	triggers;
	data_ref		state_ref;	/* 0 until the event is first armed here */
	struct event_state	*state;
	config_ref		filter_code;
	size_t			filter_size;
	/* --hist-legacy: those of the last hist command; NULL: none */
	char			*hist_error, *hist_command;
	uint64_t		enable_saved, filter_saved, state_saved;	/* R4 */
};

/* Makes it at the first call. NULL: out of memory. */
struct event_file *event_file_get(struct instance *inst, struct event *e);

/* Compiles the plan of an event from all its files and publishes it; retires the old one. */
int event_publish(struct event *e);
/*
 * Called when event_publish() failed and the plan before it, `old`, leads to something that is
 * freed in any case. If `old` is still the event's plan, the event has no plan until the next
 * event_publish().
 */
void event_drop_plan(struct event *e, config_ref old);
/* The same for all events of an instance, or of the model (inst NULL). */
int model_publish(struct model *m, struct instance *inst);
/*
 * Publishes the plan of the knock (config_header.knock) for events that have no plan, or takes it
 * back.
 */
void model_knock(struct model *m, bool on);
/*
 * Arms the events of system ftrace (print ...) in an instance: they are recorded without `enable`.
 */
int model_arm_internal(struct model *m, struct instance *inst);

/* NULL if it was never made. */
struct event_file *event_file_find(const struct instance *inst, const struct event *e);
/* Saves the effective command of a file in the event's directory (R4): saved_add(). */
int event_file_save(struct event_file *f, const char *file, const char *text, const uint64_t *refs,
		    unsigned int nr_refs, uint64_t *id);
/* The same for model_restored(). 0, -ENOMEM */
int event_file_restored(const struct event_file *f, const char *file, const char *text,
			struct restored *out);
/* Allocates the state in the data region. 0, -ENOMEM */
int event_file_need_state(struct event_file *f);
/*
 * Called by model_restore(): takes over the state that the dead server made. -EPROTO: it belongs to
 * another event.
 */
int event_file_restore_state(struct event_file *f, data_ref ref, uint64_t saved);
/* Drops triggers and filter, disarms and frees. */
void event_file_destroy(struct event_file *f);
/* Does that for all files of an instance that is removed. */
void event_files_destroy(struct instance *inst);

/* For `enable` = 0 / 1, and set_event */
int event_file_enable(struct event_file *f, bool on);
/* An enable_event trigger of another event takes the event's soft mode (+1) or drops it (-1). */
int event_file_soft(struct event_file *f, int refs);
/* The same for the event's own triggers: trigger_attach(), trigger_detach(). */
int event_file_trigger_mode(struct event_file *f, int refs);
/* In soft mode: the event is not recorded now. A hit may change it if soft_refs has others. */
bool event_file_soft_disabled(const struct event_file *f);
/* Prints "0", "1", "0*", "1*" (without newline). f NULL: "0". */
void event_file_print_enable(const struct event_file *f, FILE *out);

/*
 * Writes the file `filter`: the text without the newline; "0" removes the filter. An error goes to
 * the instance's errlog.
 */
int event_file_set_filter(struct event_file *f, const char *text);
void event_file_print_filter(struct event_file *f, FILE *out);
/*
 * events/SYSTEM/filter: sets the filter of each event of the system that has the fields.
 * -EINPROGRESS: to be called again. pieces NULL: it does not stop before the end.
 */
int system_set_filter(struct instance *inst, struct system *sys, const char *text,
		      struct pieces *pieces);
void system_print_filter(FILE *out);

/*
 * Writes one line of the file `trigger` (a leading ! removes), removes all (truncation), prints the
 * file.
 */
int event_file_trigger_write(struct event_file *f, const char *text);
void event_file_trigger_truncate(struct event_file *f);
void event_file_trigger_print(struct event_file *f, FILE *out);
/* The same, each with "SYSTEM:EVENT\t" in front; nothing if there is none. */
void event_file_trigger_print_named(struct event_file *f, FILE *out);
/* "SYSTEM:EVENT\tFILTER\n", or nothing. */
void event_file_print_filter_named(const struct event_file *f, FILE *out);

#endif
