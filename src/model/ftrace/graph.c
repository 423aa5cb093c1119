/* SPDX-License-Identifier: MIT */
/*
 * graph.c - what programs look at, besides the site's word, when a function's return may be caught
 */
#include <errno.h>
#include <stdatomic.h>

#include "model/ftrace/ftrace.h"
#include "model/instance/options.h"

/* The graph of a latency tracer takes all calls; the threshold applies to its sections. */
static bool has_graph(const struct ftrace *ft)
{
	struct ftrace_ops *ops;

	list_each(ops, &ft->ops, node)
		if (ops->kind == FTRACE_OPS_GRAPH && !ops->section)
			return true;
	return false;
}

static struct graph_config wanted(const struct ftrace *ft)
{
	const struct model *m = ft->model;
	const uint64_t options = m->top->options;
	struct graph_config c = { .max_depth = (uint32_t)m->max_graph_depth };

	if (has_graph(ft))
		/* Relaxed: the number alone orders nothing. */
		c.thresh = atomic_load_explicit(&m->tracing_thresh, memory_order_relaxed);
	if (!ftrace_hash_empty(ft->graph[FTRACE_FILTER]))
		c.flags |= GRAPH_CHOSEN;
	if (!options_test(options, OPTION_SLEEP_TIME))
		c.flags |= GRAPH_CPU_TIME;
	if (ft->profile)
		c.flags |= ft->profile == FTRACE_PROFILE_DETAILS ? GRAPH_PROFILE | GRAPH_DETAILS
								 : GRAPH_PROFILE;
	if (!options_test(options, OPTION_GRAPH_TIME))
		c.flags |= GRAPH_SELF_TIME;
	if (options_test(options, OPTION_FUNCGRAPH_ARGS))
		c.flags |= GRAPH_ARGS;
	if (options_test(options, OPTION_FUNCGRAPH_RETADDR))
		c.flags |= GRAPH_RETADDR;
	return c;
}

static bool same(const struct graph_config *a, const struct graph_config *b)
{
	return a->max_depth == b->max_depth && a->flags == b->flags && a->thresh == b->thresh;
}

static struct site_control *control_of(struct session *s)
{
	return session_config(s, session_header(s)->sites, sizeof(struct site_control));
}

static int graph_publish_config(struct model *m)
{
	struct ftrace *ft = m->ftrace;
	struct site_control *control = control_of(m->session);
	struct graph_config c, *new;
	config_ref ref;

	if (!ft || m->closing)
		return 0;
	if (ft->chosen)
		ft->chosen(ft->changed_arg);
	if (!control)
		return 0;
	c = wanted(ft);
	if (ft->graph_config && same(&c, session_config(m->session, ft->graph_config, sizeof(c))))
		return 0;
	ref = session_config_alloc(m->session, sizeof(c));
	new = ref ? session_config(m->session, ref, sizeof(c)) : NULL;
	if (!new)
		return -ENOMEM;
	*new = c;
	session_publish(m->session, &control->graph, ref);
	if (ft->graph_config)
		session_config_retire(m->session, ft->graph_config, sizeof(c));
	ft->graph_config = ref;
	return 0;
}

int ftrace_graph_publish(struct model *m)
{
	const struct kernel_hooks *kernel = m->kernel;
	const int err = graph_publish_config(m);

	/* It looks at the sets, too, which the present command may have changed. */
	if (!err && m->ftrace && !m->closing && kernel)
		kernel->functions(kernel->arg, NULL, 0);
	return err;
}
