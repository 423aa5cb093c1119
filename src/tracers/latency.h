/* SPDX-License-Identifier: MIT */
/*
 * latency.h - between latency.c and the watches: critical.c, wakeup.c, running.c
 *
 *     record that passes -> model->observe() -> watch->step() of each tracer -> section_add() ...
 *                                                    new maximum -> latency_report() -> l->max
 *     running programs find the maximum themselves -> running_take() ------^
 *
 * A source passes records in a thread of its own, so all of that runs under the model's watch_lock.
 * The part for running programs runs under the control lock.
 */
#ifndef TRACEFUSE_TRACERS_LATENCY_H
#define TRACEFUSE_TRACERS_LATENCY_H

#include "model/model.h"
#include "plane/plane.h"
#include "model/section.h"
#include "model/tracer.h"

struct latency;

/* The operations of a kind of latency tracer. */
struct latency_watch {
	/* Finds its events. -ENOMEM */
	int		(*open)(struct latency *l);
	void		(*close)(struct latency *l);
	/* A record passed. recorded: the instance has it in its ring; tracing: tracing_on. */
	void (*step)(struct latency *l, const struct hit *h, bool recorded, bool tracing);
	/* Forgets sections that have begun. */
	void		(*forget)(struct latency *l);
	/*
	 * Switching tracing off forgets, too: a section that began before does not continue when
	 * tracing is on again.
	 */
	bool		forgets;

	/* For running programs (running.c): the index in section_control.watch. */
	enum section_watches number;
	uint32_t	(*kinds)(const struct tracer *t);
	bool		all_threads;	/* not only records of the thread itself */
	uint32_t	section;	/* argument of functions_enable() */
	const char	*callback;
	/* Add the tracer's own records of both ends. h has the thread's context. */
	void		(*begins)(struct latency *l, struct section *s, const struct hit *h,
				  const struct section_report *r);
	void		(*ends)(struct latency *l, struct section *s, const struct hit *h,
				const struct section_report *r);
};

enum { LATENCY_NEEDED = 4 };

struct latency {
	struct list_head node;		/* in model->watchers */
	struct instance	*inst;
	const struct tracer *tracer;
	const struct latency_watch *watch;
	uint64_t	options;	/* the instance's options before the tracer */
	/* tracing_on; a source may also find it switched off by a trigger */
	bool		running;
	/* Number of the last maximum. A section that began before it is not reported. */
	uint64_t	sequence;
	struct section	*max;		/* the maximum; NULL: none yet */
	void		*data;		/* the watch's own */
	/* Events of the running kernel that it records for the watch */
	struct event	*needed[LATENCY_NEEDED];
	unsigned int	nr_needed;
	bool		functions;	/* option function-trace */
	bool		draws;		/* option display-graph */

	/* Ids of function events that sections contain; 0: the session has no such event. */
	uint16_t	function_id, graph_entry_id, graph_exit_id;

	/* running.c */
	bool		live;		/* programs watch */
	bool		stopped;	/* inst->stopped as it was last published to programs */
	/* Number of the newest report that counted for tracing_max_latency. */
	uint32_t	counted;
	uint32_t	reported;	/* number of the newest report that was read completely */
};

/* The kinds of sections that a critical tracer watches for. */
enum critical_kind { CRITICAL_IRQS = SECTION_IRQS, CRITICAL_PREEMPT = SECTION_PREEMPT };
extern const struct latency_watch critical_watch, wakeup_watch;
unsigned int critical_kinds(const struct tracer *t);

/* The watch looks at the event's records: the running kernel is to record it. */
void latency_need(struct latency *l, struct event *e);
/* Whether a section of this length is reported, by tracing_thresh or tracing_max_latency. */
bool latency_counts(const struct latency *l, uint64_t ns);
/*
 * Makes the section the new maximum; its time_start, task and addresses are set. Takes the section
 * from the caller, and returns a new, empty one, or NULL without memory.
 */
struct section *latency_report(struct latency *l, struct section *s, uint64_t ns);
/* The same without tracing_max_latency. Returns the section that was shown before, or NULL. */
struct section *latency_show(struct latency *l, struct section *s, uint64_t ns);
/* Whether the record is one that a section contains. */
bool latency_keeps(const struct latency *l, const struct hit *h, bool recorded);
/* Adds a record of a function of the tracer itself, in the context of record h: ip <-parent. */
void latency_add_function(const struct latency *l, struct section *s, const struct hit *h,
			  uint64_t ip, uint64_t parent);

/* ---- running.c: under the control lock ---- */

/* The tracer becomes current; it is current no more. */
void running_open(struct latency *l);
void running_close(struct latency *l);
/* Sections that have begun are dropped; those that have ended count. */
void running_forget(struct latency *l);
/*
 * The records of sections change from now on. Sections that began before are dropped, whether they
 * have ended or not.
 */
void running_restart(struct latency *l);
/* tracing_max_latency was written. */
void running_limit(struct latency *l);
/*
 * Takes the newest section that programs have reported. Publishes the threshold to programs, and
 * whether the instance is stopped.
 */
void running_take(struct latency *l);

#endif
