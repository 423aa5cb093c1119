/* SPDX-License-Identifier: MIT */
/*
 * graph.h - draws functions as a tree of calls, for function_graph and for latency tracers with
 * display-graph
 *
 *      0)               |  outer() {
 *      0) + 12.345 us   |    leaf();
 *      0) ! 123.456 us  |  }
 */
#ifndef TRACEFUSE_TRACERS_GRAPH_H
#define TRACEFUSE_TRACERS_GRAPH_H

#include <stdbool.h>

struct show;
struct show_event;
struct show_record;

enum graph_style {
	GRAPH_OVERRUN = 1 << 0,
	GRAPH_CPU = 1 << 1,
	GRAPH_OVERHEAD = 1 << 2,
	GRAPH_PROC = 1 << 3,
	GRAPH_DURATION = 1 << 4,
	GRAPH_ABSTIME = 1 << 5,
	GRAPH_RELTIME = 1 << 6,
	GRAPH_IRQS = 1 << 7,
	GRAPH_TAIL = 1 << 8,
	GRAPH_RETVAL = 1 << 9,
	GRAPH_RETVAL_HEX = 1 << 10,
	GRAPH_ARGUMENTS = 1 << 11,
	GRAPH_RETURNS_TO = 1 << 12,
};

/* The style by the options of function_graph, of enum graph_style. */
unsigned int graph_style(const struct show *s);
/* Makes the state of a reader, in show->tracer_data. 0, -ENOMEM */
int graph_open(struct show *s);
void graph_close(struct show *s);
void graph_print_header(struct show *s, unsigned int style, bool empty);
/* Draws a record. False: stacks and plain functions, which print like events. */
bool graph_print_line(struct show *s, unsigned int style, const struct show_event *e,
		      const struct show_record *r);

#endif
