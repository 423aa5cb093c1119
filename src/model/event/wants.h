/* SPDX-License-Identifier: MIT */
/*
 * wants.h - what a plan asks a running program to bring along
 *
 * For publish.c.
 */
#ifndef TRACEFUSE_MODEL_EVENT_WANTS_H
#define TRACEFUSE_MODEL_EVENT_WANTS_H

#include "model/model.h"

/* plan->wants of a plan whose arms and triggers are filled in. */
uint32_t plan_find_wants(const struct model *m, const struct plan *plan);
/* Whether one of its programs makes the event with this id. */
bool plan_makes(const struct model *m, const struct plan *plan, uint32_t id);

#endif
