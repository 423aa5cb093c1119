/* SPDX-License-Identifier: MIT */
/*
 * latency.h - between latency.c and what it watches with: critical.c, wakeup.c
 *
 *     record that passes -> model->observe() -> watch->step() of each tracer -> section_add() ...
 *                                                    new maximum -> latency_report() -> l->max
 *     running programs find the maximum themselves -> running_take() ------^
 *
 * A source passes records in a thread of its own: all of this is under the
 * model's watch_lock. What comes of running programs is under the control lock.
 */
#ifndef TRACEFUSE_TRACERS_LATENCY_H
#define TRACEFUSE_TRACERS_LATENCY_H

#include "model/model.h"
#include "plane/plane.h"
#include "model/section.h"
#include "model/tracer.h"

struct latency;

/* Of what a latency tracer is made. */
struct latency_watch {
	/* Finds its events. -ENOMEM */
	int		(*open)(struct latency *l);
	void		(*close)(struct latency *l);
	/* A record passed; recorded: the instance has it in its ring; tracing: tracing_on. */
	void (*step)(struct latency *l, const struct hit *h, bool recorded, bool tracing);
	/* What has begun is forgotten. */
	void		(*forget)(struct latency *l);
	/*
	 * It is so with tracing_on, too: what began before it was switched off does not go on when
	 * it is on again.
	 */
	bool		forgets;

	/*
	 * The same in running programs (running.c): which of section_control.watch, and what for.
	 */
	enum section_watches number;
	uint32_t	(*kinds)(const struct tracer *t);
	bool		all_threads;	/* not only what the thread itself recorded */
	uint32_t	section;	/* where functions are recorded: functions_enable() */
	const char	*callback;
	/* The tracer's own records of both ends; h is in the thread's context. */
	void		(*begins)(struct latency *l, struct section *s, const struct hit *h,
				  const struct section_report *r);
	void		(*ends)(struct latency *l, struct section *s, const struct hit *h,
				const struct section_report *r);
};

struct latency {
	struct list_head node;		/* in model->watchers */
	struct instance	*inst;
	const struct tracer *tracer;
	const struct latency_watch *watch;
	uint64_t	options;	/* the instance's, as they were before */
	/* tracing_on; a source may also find it switched off by a trigger */
	bool		running;
	/* of the last maximum: what began before it is not reported */
	uint64_t	sequence;
	struct section	*max;		/* NULL: none yet */
	void		*data;		/* the watch's own */
	bool		functions;	/* option function-trace */
	bool		draws;		/* option display-graph */

	/* ids of the events that are kept; 0: the session has none */
	uint16_t	function_id, graph_entry_id, graph_exit_id;

	/* running.c */
	bool		live;		/* programs watch */
	bool		stopped;	/* the instance was, when programs were told last */
	/* number of the newest report that was one for tracing_max_latency */
	uint32_t	counted;
	uint32_t	reported;	/* and of the newest that was read as a whole */
};

/* Which tracer watches for what. */
enum critical_kind { CRITICAL_IRQS = SECTION_IRQS, CRITICAL_PREEMPT = SECTION_PREEMPT };
extern const struct latency_watch critical_watch, wakeup_watch;
unsigned int critical_kinds(const struct tracer *t);

/* Whether a section of this length is to be told of (tracing_thresh, tracing_max_latency). */
bool latency_counts(const struct latency *l, uint64_t ns);
/*
 * The section is the new maximum; its time_start, task and addresses are set.
 * The caller has a new one, or NULL where there is no memory, instead.
 */
struct section *latency_report(struct latency *l, struct section *s, uint64_t ns);
/* The same without tracing_max_latency. The caller has the one that was shown before, or NULL. */
struct section *latency_show(struct latency *l, struct section *s, uint64_t ns);
/* Whether the record belongs into a section that is being kept. */
bool latency_keeps(const struct latency *l, const struct hit *h, bool recorded);
/* A function's record as the tracer itself makes them, in the context of record h: ip <-parent. */
void latency_add_function(const struct latency *l, struct section *s, const struct hit *h,
			  uint64_t ip, uint64_t parent);

/* ---- running.c: under the control lock ---- */

/* The tracer is current, and not any more. */
void running_open(struct latency *l);
void running_close(struct latency *l);
/* What has begun is forgotten; what has ended counts. */
void running_forget(struct latency *l);
/*
 * What is recorded of a section is another thing from now on: what began before
 * that is dropped, whether it has ended or not.
 */
void running_restart(struct latency *l);
/* tracing_max_latency was written. */
void running_limit(struct latency *l);
/*
 * The newest section that programs have reported becomes the tracer's, and they
 * are told what the threshold is, and whether the instance is stopped.
 */
void running_take(struct latency *l);

#endif
