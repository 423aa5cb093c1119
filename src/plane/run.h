/* SPDX-License-Identifier: MIT */
/*
 * run.h - a hit on its way through the triggers; for hit*.c, fold.c and act.c
 *
 * Each plan that runs has a run on the stack: the plan of the hit itself and, inside its code, the
 * plans of the synthetic events that it makes.
 */
#ifndef TRACEFUSE_PLANE_RUN_H
#define TRACEFUSE_PLANE_RUN_H

#include "plane/plane.h"

/* Why no snapshot was taken (action/snapshot.c). */
enum snapshot_refusal { SNAPSHOT_NOT_REFUSED, SNAPSHOT_NO_BUFFER, SNAPSHOT_MAX_USED };

struct run {
	const struct plane	*p;
	struct slot		*slot;
	unsigned int		level;		/* how many hits of the slot it interrupted */
	unsigned int		nest;		/* how many synthetic events deep */
	/* For an event probe: 1 + index of its only instance; 0: all */
	uint32_t		only;
	/* enum clock_id: the clock that `time` was read from; not set for a source */
	uint32_t		clock;
	/* Those of this level; NULL: no code that needs them has run yet */
	struct hit_synth	*synth;
	const struct hit	*h;		/* the hit as it goes into the ring */
	const struct hit	*seen;		/* the hit as filters and triggers see it */
	/* The time that code sees, once code has asked for it; 0: none has */
	uint64_t		time;
	/* `h` itself is not recorded, and its code is all that runs */
	uint32_t		not_recorded;
	/* Why a snapshot was refused, until that is recorded */
	enum snapshot_refusal	refused;
};

#endif
