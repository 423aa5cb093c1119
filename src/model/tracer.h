/* SPDX-License-Identifier: MIT */
/*
 * tracer.h - what current_tracer chooses: a struct for each tracer, in one table
 *
 *     current_tracer --tracer_choose--> reset of the old one, buffer emptied, init of the new one
 *     tracing_on     --tracer_start, tracer_stop
 *     trace          --open, print_header, print_line ..., close
 *     source         --model->observe: each record that passes (replay; latency.h)
 *
 * Included by the tree's files and by tracers. All of these functions run under the control lock,
 * but a source calls observe in its own thread. A tracer's own state is in the instance
 * (tracer_state) or in a reader (show->tracer_data).
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

/* NULL: the tracer has nothing to do there. */
struct tracer {
	const char	*name;
	uint64_t	flags;			/* its own options, bit by enum trace_option */
	bool		allow_instances;
	/* It keeps the longest section in the snapshot buffer */
	bool		use_max_tr;
	bool		print_max;		/* The file trace shows that section */

	/* Whether the session has what the tracer needs; NULL: always. */
	bool		(*available)(struct model *m);
	/* The tracer becomes the current one. -EBUSY, -ENOMEM: nop stays. */
	int		(*init)(struct instance *inst);
	void		(*reset)(struct instance *inst);
	/* tracing_on was written. */
	void		(*start)(struct instance *inst);
	void		(*stop)(struct instance *inst);
	/* An option changes, one of the tracer's own or any other; -EINVAL refuses. */
	int		(*set_flag)(struct instance *inst, int option, bool on);
	/* tracing_thresh was written. */
	int		(*update_thresh)(struct instance *inst);
	/* tracing_max_latency was written. */
	void		(*update_max)(struct instance *inst);

	/* The longest section that it has seen; the caller calls section_put(). NULL: none yet. */
	struct section	*(*section)(struct instance *inst);
	/* trace was truncated, for a CPU or all (-1), or both buffers were emptied. */
	void		(*clear)(struct instance *inst, int cpu);

	/* A reader of trace, snapshot or trace_pipe comes and goes. open: 0, -ENOMEM */
	int		(*open)(struct show *s);
	void		(*close)(struct show *s);
	/* Prints the head of trace; NULL: the head for events. */
	void		(*print_header)(struct show *s, bool empty);
	/* Prints one record. False: it is printed as for any tracer. */
	bool (*print_line)(struct show *s, const struct show_event *e, const struct show_record *r);
	/* The same for the part behind the time. */
	bool (*print_text)(struct show *s, const struct show_event *e, const struct show_record *r);
};

extern const struct tracer tracer_function, tracer_function_graph;
extern const struct tracer tracer_irqsoff, tracer_preemptoff, tracer_preemptirqsoff;
extern const struct tracer tracer_wakeup, tracer_wakeup_rt;

/* The instance's tracer, never NULL. */
const struct tracer *tracer_current(const struct instance *inst);
void tracer_list(struct model *m, FILE *out);

/*
 * Writes current_tracer. -EINVAL: unknown, or not for instances; -EBUSY: trace_pipe is being read,
 * or the snapshot is in use; or the error of init, after which the tracer is nop.
 */
int tracer_choose(struct instance *inst, const char *name);
/* Before it, as instance_resize_prepare(). */
bool tracer_prepare(const struct instance *inst, const char *name);
/* The instance is removed. */
void tracer_leave(struct instance *inst);

#endif
