/* SPDX-License-Identifier: MIT */
/*
 * program.h - events that running programs define
 *
 *     name, body of the format            -> checked: a program's texts are not believed
 *     known under that name, same body    -> the same event, whichever program defines it
 *     known, another body                 -> refused, and said what differs
 *     new                                 -> model_free_id(), which it keeps over the death of the
 *                                         server (R4):
 *                                            programs keep the ids that they were told
 */
#ifndef TRACEFUSE_MODEL_EVENT_PROGRAM_H
#define TRACEFUSE_MODEL_EVENT_PROGRAM_H

#include "model/model.h"

enum { PROGRAM_EVENT_NAME_MAX = 100 };

/*
 * `body` is the format behind the line "format:", the common fields included.
 * id: which one it is to have, 0: model_free_id(). *is_new tells
 * whether it was unknown. 0; -EEXIST: another definition is known; -EINVAL:
 * no name or no format that can be; -ENOSPC: no id is left; -ENOMEM.
 */
int model_add_program_event(struct model *m, const char *system, const char *name, const char *body,
			    unsigned int id, struct event **out, bool *is_new);

/*
 * After -EEXIST: the first line in which the two differ, of the definition that is known and of the
 * new one.
 */
struct program_event_difference {
	char		known[160], given[160];
	unsigned int	at;		/* the first byte that differs */
};

void program_event_compare(const struct event *known, const char *body,
			   struct program_event_difference *out);

/* What is wrong with a definition that was refused with -EINVAL, in words; NULL: nothing. */
const char *program_event_fault(const char *system, const char *name, const char *body);

/* The ids below `id` are not given to events any more. */
void model_reserve_ids(struct model *m, unsigned int id);

#endif
