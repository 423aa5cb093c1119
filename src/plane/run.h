/* SPDX-License-Identifier: MIT */
/*
 * run.h - a hit on its way through the triggers; for hit*.c, fold.c and act.c
 *
 * One is on the stack of each plan that runs: that of the hit itself and, inside
 * code, those of the synthetic events that it makes.
 */
#ifndef TRACEFUSE_PLANE_RUN_H
#define TRACEFUSE_PLANE_RUN_H

#include "plane/plane.h"

/* Why a snapshot was not taken (action/snapshot.c). */
enum snapshot_refusal { SNAPSHOT_NOT_REFUSED, SNAPSHOT_NO_BUFFER, SNAPSHOT_MAX_USED };

struct run {
	const struct plane	*p;
	struct slot		*slot;
	unsigned int		level;		/* of the slot: signal handlers */
	unsigned int		nest;		/* in how many synthetic events */
	/* of an event probe's: 1 + index of the instance that it is for; 0: all */
	uint32_t		only;
	/* enum clock_id: what `time` was read from; not of a source's */
	uint32_t		clock;
	/* of that level; NULL: no program that needs it has run yet */
	struct hit_synth	*synth;
	const struct hit	*h;		/* as it goes into the ring */
	const struct hit	*seen;		/* as filters and triggers see it */
	/* as code sees it, once some has asked for it; 0: none has */
	uint64_t		time;
	/* `h` itself is not, and its code is all that runs */
	uint32_t		not_recorded;
	enum snapshot_refusal	refused;	/* of a snapshot: what is yet to be said of it */
};

#endif
