/* SPDX-License-Identifier: MIT */
/*
 * merge.h - which triggers run merged by time, and not at the hit (R28)
 *
 *     program:event  hist:keys=id:ts0=...        ts0 ---+
 *                                                       |  one group: events of both sources
 *     sched:switch   hist:keys=x:lat=...-$ts0:onmatch(program.event).late($lat)
 *                                                       |
 *     synthetic:late hist:keys=lat:last=lat      last --+  (a hist with variables on what it makes)
 *
 * A trigger is in a group with those whose variables it reads, and with those that make its event
 * if it has variables itself. onmatch() names one more event. If a group has events of the running
 * kernel and of programs, its triggers run merged: all programs, and the kernel, are one source
 * each. All other triggers run at the hit.
 */
#ifndef TRACEFUSE_MODEL_HIST_MERGE_H
#define TRACEFUSE_MODEL_HIST_MERGE_H

#include "model/model.h"

struct trigger;

/*
 * Finds the triggers that run merged now: trigger->merged. The events whose plans have to change
 * are marked. `attached`: a trigger that has no variables yet; NULL: none. 0, or -errno where there
 * is no room for staged hits.
 */
int merge_find(struct model *m, struct trigger *attached);
/* Publishes the marked events. Then it clears the variables of triggers that turned merged. */
int merge_publish(struct model *m);
/* For a restored session, before its plans are published: variables stay. */
int merge_restore(struct model *m);

#endif
