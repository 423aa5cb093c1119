/* SPDX-License-Identifier: MIT */
/*
 * wants.h - finds what a program has to bring along for a plan
 *
 * Only publish.c uses it.
 */
#ifndef TRACEFUSE_MODEL_EVENT_WANTS_H
#define TRACEFUSE_MODEL_EVENT_WANTS_H

#include "model/model.h"

/* The value of plan->wants, when the plan's arms and triggers are filled in. */
uint32_t plan_find_wants(const struct model *m, const struct plan *plan);
/* Whether code of the plan makes the event with this id. */
bool plan_makes(const struct model *m, const struct plan *plan, uint32_t id);

#endif
