/* SPDX-License-Identifier: MIT */
/*
 * eprobe.h - event probes: an event made of fields of another one
 *
 *     e:GROUP/NAME SYSTEM.EVENT pid=$next_pid:s32 comm=$next_comm:string if next_prio < 100
 *          -> eprobe with its arguments          eprobe_parse.c, probe_fetch.c, probe_type.c
 *          -> an event of system GROUP           eprobe.c
 *          -> while that is armed in an instance, a hidden trigger of SYSTEM:EVENT
 *             there; its code fills the record
 *             and makes the hit                  eprobe_arm.c, eprobe_compile.c
 */
#ifndef TRACEFUSE_MODEL_DYNAMIC_EPROBE_H
#define TRACEFUSE_MODEL_DYNAMIC_EPROBE_H

#include "model/dynamic/probe.h"

struct eprobe {
	struct probe		probe;
	char			*cond;		/* text of the filter; NULL: none */
	/* Its event is the recording's, which has the records: hits of the base make none */
	bool			recorded;
};

/* The probe that made an event; NULL: none. */
struct eprobe *eprobe_of_event(const struct event *e);

struct trigger;
/* The event that a probe's trigger makes; the trigger's kind is TRIGGER_PROBE. */
const struct event *eprobe_trigger_event(const struct trigger *t);

/* ---- eprobe_parse.c ---- */

/*
 * Makes a new probe, without an event, of the words. -ECANCELED: they are no command of an event
 * probe. Errors are logged.
 */
int eprobe_parse(struct model *m, char *const *words, unsigned int nr_words, struct eprobe **out);
void eprobe_free(struct eprobe *p);

/* ---- eprobe_arm.c ---- */

/*
 * Attaches the probe's trigger where its event is armed, and detaches it elsewhere. event_publish()
 * of that event calls it first.
 */
int eprobe_sync(struct eprobe *p);
/*
 * The same for all probes, before model_restore() publishes: the plans of the base events need
 * these triggers from the start.
 */
int eprobe_sync_all(struct model *m);

/* ---- eprobe_compile.c ---- */

/* Writes the trigger's code, for one instance, into the config region. 0, -ENOMEM, -E2BIG */
int eprobe_compile(const struct eprobe *p, const struct instance *inst, config_ref *out,
		   size_t *size);

#endif
