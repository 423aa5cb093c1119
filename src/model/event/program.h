/* SPDX-License-Identifier: MIT */
/*
 * program.h - events that running programs define
 *
 *     name, body of the format            -> checked: a program's texts are not trusted
 *     known under that name, same body    -> the same event, whichever program defines it
 *     known, another body                 -> refused, and the difference is reported
 *     new                                 -> model_free_id(); the next server gives it the same id
 *                                            (R4), because programs keep the ids that they got
 */
#ifndef TRACEFUSE_MODEL_EVENT_PROGRAM_H
#define TRACEFUSE_MODEL_EVENT_PROGRAM_H

#include "model/model.h"

enum { PROGRAM_EVENT_NAME_MAX = 100 };

/*
 * `body` is the format behind the line "format:", the common fields included. id: the id it has to
 * have, 0: model_free_id(). *is_new says whether it was unknown. 0; -EEXIST: another definition is
 * known; -EINVAL: the name or the format is impossible; -ENOSPC: no id is left; -ENOMEM.
 */
int model_add_program_event(struct model *m, const char *system, const char *name, const char *body,
			    unsigned int id, struct event **out, bool *is_new);

/*
 * The event has another format, whose fields are the old ones and more behind them: once for each
 * event. It is not saved. 0, -ENOMEM
 */
int model_extend_program_event(struct event *e, const char *body);

/* After -EEXIST: the first line that differs, of the known definition and of the new one. */
struct program_event_difference {
	char		known[160], given[160];
	unsigned int	at;		/* the first byte that differs */
};

void program_event_compare(const struct event *known, const char *body,
			   struct program_event_difference *out);

/* The text of the error in a definition that was refused with -EINVAL; NULL: there is none. */
const char *program_event_fault(const char *system, const char *name, const char *body);

/* From now on no event gets an id below `id`. */
void model_reserve_ids(struct model *m, unsigned int id);

#endif
