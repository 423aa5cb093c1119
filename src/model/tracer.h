/* SPDX-License-Identifier: MIT */
/*
 * tracer.h - what current_tracer chooses: one struct a tracer, one table of them
 *
 *     current_tracer --tracer_choose--> reset of the old one, buffer emptied, init of the new one
 *     tracing_on     --tracer_start, tracer_stop
 *     trace          --open, print_header, print_line ..., close
 *     source         --model->observe: each record that passes (replay; latency.h)
 *
 * Included by the tree's files and by tracers. All of these functions run under
 * the control lock; what a source tells comes in its own thread. A tracer's own
 * state hangs from the instance (tracer_state) or from a reader
 * (show->tracer_data).
 */
#ifndef TRACEFUSE_MODEL_TRACER_H
#define TRACEFUSE_MODEL_TRACER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "model/model.h"
#include "model/instance/options.h"

struct section;
struct show;
struct show_event;
struct show_record;

/* A NULL function is one that has nothing to do. */
struct tracer {
	const char	*name;
	uint64_t	flags;			/* its own options, bit by enum trace_option */
	bool		allow_instances;
	/* keeps the longest section in the snapshot buffer */
	bool		use_max_tr;
	bool		print_max;		/* and the file trace shows that */

	/* Whether the session has what it needs; NULL: always. */
	bool		(*available)(struct model *m);
	/* Becomes current; -EBUSY, -ENOMEM: nop stays. */
	int		(*init)(struct instance *inst);
	void		(*reset)(struct instance *inst);
	/* tracing_on was written. */
	void		(*start)(struct instance *inst);
	void		(*stop)(struct instance *inst);
	/* An option changes, one of its own or any; -EINVAL refuses. */
	int		(*set_flag)(struct instance *inst, int option, bool on);
	/* tracing_thresh was written. */
	int		(*update_thresh)(struct instance *inst);
	/* tracing_max_latency was. */
	void		(*update_max)(struct instance *inst);

	/* The longest one that it has seen, to be put back (model/section.h); NULL: none yet. */
	struct section	*(*section)(struct instance *inst);
	/* trace was truncated, of a CPU or all (-1), or both buffers were emptied. */
	void		(*clear)(struct instance *inst, int cpu);

	/* A reader of trace, snapshot or trace_pipe comes and goes. open: 0, -ENOMEM */
	int		(*open)(struct show *s);
	void		(*close)(struct show *s);
	/* The head of trace; NULL: the one that events have. */
	void		(*print_header)(struct show *s, bool empty);
	/* One record; false: it prints like any other. */
	bool (*print_line)(struct show *s, const struct show_event *e, const struct show_record *r);
	/* The same of what stands behind its time. */
	bool (*print_text)(struct show *s, const struct show_event *e, const struct show_record *r);
};

extern const struct tracer tracer_function, tracer_function_graph;
extern const struct tracer tracer_irqsoff, tracer_preemptoff, tracer_preemptirqsoff;
extern const struct tracer tracer_wakeup, tracer_wakeup_rt;

/* The instance's, which is never NULL. */
const struct tracer *tracer_current(const struct instance *inst);
void tracer_list(struct model *m, FILE *out);

/*
 * current_tracer: -EINVAL unknown or not for instances; -EBUSY while somebody
 * reads trace_pipe, or has the snapshot in use; what init says. After an error
 * of init the tracer is nop.
 */
int tracer_choose(struct instance *inst, const char *name);
/* The instance goes away. */
void tracer_leave(struct instance *inst);

#endif
