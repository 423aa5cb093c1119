/* SPDX-License-Identifier: MIT */
/*
 * graph.c - draws the tree of calls, record by record
 *
 * An entry whose return is the CPU's very next record is a leaf: both make one line, and the return
 * is taken from the reader. Every other record makes its own line, which depends on earlier records
 * of its CPU.
 */
#include <errno.h>
#include <stdlib.h>

#include "model/cmdlines.h"
#include "model/parameters.h"
#include "model/symbols.h"
#include "show/state.h"
#include "tracers/function.h"
#include "tracers/graph.h"
#include "model/tracer.h"

enum {
	REMEMBERED = 50,
	DEPTH_MAX = 5000,
	INDENT = 2,
	PROC_WIDTH = 14,
	COMM_SHOWN = 7,
	DURATION_WIDTH = 7
};

/* The state of one CPU's drawing. */
struct graph_cpu {
	int32_t		pid;		/* the thread of its last line; -1: none yet */
	int		depth;		/* the depth of a comment */
	int		irq_depth;	/* depth of an interrupt that is not shown; -1: in none */
	/* By depth: functions whose entry was drawn, but not yet the return. */
	uint64_t	entered[REMEMBERED];
};

struct graph {
	uint64_t	irq_lo, irq_hi;	/* functions that interrupts begin with */
	uint32_t	nr_cpus;
	int		cpu_digits;
	struct graph_cpu cpus[];
};

/* A call that begins, with the registers of arguments if its record has them. */
struct graph_call {
	uint64_t	func;
	int		depth;
	bool		has_args, has_retaddr;
	uint64_t	retaddr;
	uint64_t	args[PARAMETER_REGISTERS];
};

/* A call that has returned. */
struct graph_return {
	uint64_t	func, retval, duration;
	int		depth;
	unsigned int	overrun;
};

static bool symbol_address(struct symbols *symbols, const char *name, uint64_t *out)
{
	uint64_t hi;

	return symbols_range(symbols, name, out, &hi);
}

int graph_open(struct show *s)
{
	uint32_t nr = s->model->nr_cpus;
	struct graph *g = calloc(1, sizeof(*g) + nr * sizeof(g->cpus[0]));

	if (!g)
		return -ENOMEM;
	g->nr_cpus = nr;
	g->cpu_digits = snprintf(NULL, 0, "%u", nr - 1);
	for (uint32_t i = 0; i < nr; i++)
		g->cpus[i].pid = g->cpus[i].irq_depth = -1;
	if (!symbol_address(s->model->symbols, "__irqentry_text_start", &g->irq_lo) ||
	    !symbol_address(s->model->symbols, "__irqentry_text_end", &g->irq_hi))
		g->irq_lo = g->irq_hi = 0;
	s->tracer_data = g;
	return 0;
}

void graph_close(struct show *s)
{
	free(s->tracer_data);
	s->tracer_data = NULL;
}

static struct graph_cpu *cpu_of(const struct show *s, const struct show_record *r)
{
	struct graph *g = s->tracer_data;

	return &g->cpus[r->cpu < g->nr_cpus ? r->cpu : 0];
}

static bool in_irq_text(const struct graph *g, uint64_t func)
{
	return func >= g->irq_lo && func < g->irq_hi;
}

/* ---- columns ---- */

static void cpu_column(struct show *s, uint32_t cpu)
{
	const struct graph *g = s->tracer_data;

	text_printf(&s->text, " %*u) ", g->cpu_digits, cpu);
}

/* Prints comm-pid in the middle of its column. */
static void proc_column(struct show *s, int32_t pid)
{
	const char *comm = cmdlines_find(s->model->cmdlines, pid);
	char text[32];
	int n, blanks;

	n = snprintf(text, sizeof(text), "%.*s-%d", COMM_SHOWN, comm, pid);
	blanks = n < PROC_WIDTH ? PROC_WIDTH - n : 0;
	text_fill(&s->text, ' ', blanks / 2);
	text_put(&s->text, text, (size_t)n);
	text_fill(&s->text, ' ', blanks - blanks / 2);
}

static void absolute_time(struct show *s, uint64_t time)
{
	text_printf(&s->text, "%5llu.%06llu |  ", (unsigned long long)(time / 1000000000),
		    (unsigned long long)(time % 1000000000 / 1000));
}

static void relative_time(struct show *s, uint64_t time)
{
	text_printf(&s->text, "%9llu us |  ", (unsigned long long)((time - s->time_start) / 1000));
}

static void flags_column(struct show *s, const struct show_record *r)
{
	text_putc(&s->text, ' ');
	show_flags(s, r);
	text_puts(&s->text, " | ");
}

/* Prints microseconds in seven characters, with as many decimals as fit. */
static void duration_text(struct show *s, uint64_t ns)
{
	char usecs[24], decimals[8];
	int n = snprintf(usecs, sizeof(usecs), "%llu", (unsigned long long)(ns / 1000));

	text_put(&s->text, usecs, (size_t)n);
	if (n < DURATION_WIDTH) {
		int room = DURATION_WIDTH - n > 3 ? 3 : DURATION_WIDTH - n;

		snprintf(decimals, sizeof(decimals), "%03u", (unsigned int)(ns % 1000));
		text_putc(&s->text, '.');
		text_put(&s->text, decimals, (size_t)room);
		n += room + 1;
	}
	text_put(&s->text, " us ", 4);
	text_fill(&s->text, ' ', DURATION_WIDTH + 1 - n);
}

static bool has_duration(const struct show *s, unsigned int style)
{
	return (style & GRAPH_DURATION) && show_option(s, OPTION_CONTEXT_INFO);
}

static void duration_column(struct show *s, unsigned int style, uint64_t ns)
{
	if (!has_duration(s, style))
		return;
	text_putc(&s->text, style & GRAPH_OVERHEAD ? show_delay_mark(ns) : ' ');
	text_putc(&s->text, ' ');
	duration_text(s, ns);
	text_put(&s->text, "|  ", 3);
}

static void no_duration(struct show *s, unsigned int style)
{
	if (has_duration(s, style))
		text_puts(&s->text, "              |  ");
}

static void context_columns(struct show *s, unsigned int style, const struct show_record *r)
{
	if (!show_option(s, OPTION_CONTEXT_INFO))
		return;
	if (style & GRAPH_ABSTIME)
		absolute_time(s, r->time);
	if (style & GRAPH_RELTIME)
		relative_time(s, r->time);
	if (style & GRAPH_CPU)
		cpu_column(s, r->cpu);
	if (style & GRAPH_PROC) {
		proc_column(s, record_pid(r));
		text_put(&s->text, " | ", 3);
	}
	if (s->latency)
		flags_column(s, r);
}

static void indent(struct show *s, int depth)
{
	text_fill(&s->text, ' ', depth * INDENT);
}

/* ---- between the lines ---- */

static void another_task(struct show *s, const struct show_record *r)
{
	static const char rule[] = " ------------------------------------------\n";
	struct graph_cpu *c = cpu_of(s, r);
	int32_t pid = record_pid(r), before = c->pid;

	if (before == pid)
		return;
	c->pid = pid;
	if (before == -1)
		return;
	text_puts(&s->text, rule);
	cpu_column(s, r->cpu);
	proc_column(s, before);
	text_puts(&s->text, " => ");
	proc_column(s, pid);
	text_putc(&s->text, '\n');
	text_puts(&s->text, rule);
	text_putc(&s->text, '\n');
}

/* Draws an arrow where an interrupt begins or ends. */
static void irq_arrow(struct show *s, unsigned int style, const struct show_record *r,
		      uint64_t func, const char *arrow)
{
	if (!in_irq_text(s->tracer_data, func))
		return;
	context_columns(s, style, r);
	if (has_duration(s, style))
		text_put(&s->text, "  ", 2);
	text_puts(&s->text, arrow);
	if (has_duration(s, style))
		text_put(&s->text, " |", 2);
	text_putc(&s->text, '\n');
}

static void line_start(struct show *s, unsigned int style, const struct show_record *r)
{
	another_task(s, r);
	context_columns(s, style, r);
	s->mark = s->text.len;
}

/* ---- functions in interrupts that are not shown ---- */

static bool hides_entry(struct show *s, unsigned int style, const struct show_record *r,
			uint64_t func, int depth)
{
	struct graph_cpu *c = cpu_of(s, r);

	if (style & GRAPH_IRQS)
		return false;
	if (c->irq_depth >= 0)
		return true;
	if (!in_irq_text(s->tracer_data, func))
		return false;
	c->irq_depth = depth;
	return true;
}

/*
 * A return at or above the interrupt's own depth ends the interrupt, even if earlier returns were
 * lost.
 */
static bool hides_return(struct show *s, unsigned int style, const struct show_record *r, int depth)
{
	struct graph_cpu *c = cpu_of(s, r);

	if ((style & GRAPH_IRQS) || c->irq_depth == -1)
		return false;
	if (c->irq_depth >= depth)
		c->irq_depth = -1;
	return true;
}

/* ---- functions ---- */

static void func_name(struct show *s, uint64_t func)
{
	if (!print_symbol(&s->env, func, PRINT_SYMBOL_MODULE, &s->text)) {
		text_put(&s->text, "0x", 2);
		text_hex(&s->text, func, 1);
	}
}

/* The record may contain any number. DEPTH_MAX is already too deep for a line. */
static int depth_of(const struct show_event *e, const struct show_record *r)
{
	int32_t depth = (int32_t)record_load(r, e->at[GRAPH_AT_DEPTH], 4);

	return depth > DEPTH_MAX ? DEPTH_MAX : depth < -DEPTH_MAX ? -DEPTH_MAX : depth;
}

static struct graph_call call_of(const struct show_event *e, const struct show_record *r)
{
	struct graph_call c = {
		.func = record_load(r, e->at[GRAPH_AT_FUNC], 8),
		.depth = depth_of(e, r),
		.has_args = e->at[GRAPH_AT_ARGS] + sizeof(c.args) <= r->at.size,
		.has_retaddr = e->at[GRAPH_AT_RETADDR] + sizeof(c.retaddr) <= r->at.size,
		.retaddr = record_load(r, e->at[GRAPH_AT_RETADDR], 8),
	};

	for (unsigned int i = 0; i < PARAMETER_REGISTERS; i++)
		c.args[i] = record_load(r, e->at[GRAPH_AT_ARGS] + 8 * i, 8);
	return c;
}

static struct graph_return return_of(const struct show_event *e, const struct show_record *r)
{
	return (struct graph_return){
		.func = record_load(r, e->at[GRAPH_AT_FUNC], 8),
		.depth = depth_of(e, r),
		.retval = record_load(r, e->at[GRAPH_AT_RETVAL], 8),
		.overrun = (unsigned int)record_load(r, e->at[GRAPH_AT_OVERRUN], 4),
		.duration = record_load(r, e->at[GRAPH_AT_RETTIME], 8) -
			    record_load(r, e->at[GRAPH_AT_CALLTIME], 8),
	};
}

/* The value as a negative errno, of 32 or 64 bits; 0: it is none. */
static int64_t error_of(uint64_t value)
{
	enum { ERRNO_MAX = 4095 };
	int64_t v = value >> 31 == 1 ? (int64_t)(int32_t)value : (int64_t)value;

	return v < 0 && v >= -ERRNO_MAX ? v : 0;
}

static void return_value(struct show *s, unsigned int style, uint64_t value)
{
	int64_t err = style & GRAPH_RETVAL_HEX ? 0 : error_of(value);

	if (err)
		text_printf(&s->text, " = %lld */\n", (long long)err);
	else
		text_printf(&s->text, " = 0x%llx */\n", (unsigned long long)value);
}

/* Beside a return address. */
static void return_value_since_6_13(struct show *s, unsigned int style, uint64_t value)
{
	int64_t err = style & GRAPH_RETVAL_HEX ? 0 : error_of(value);

	if (err)
		text_printf(&s->text, " ret=%lld", (long long)err);
	else
		text_printf(&s->text, " ret=0x%llx", (unsigned long long)value);
}

static const struct parameters *parameters_of(const struct show *s, uint64_t func)
{
	const struct model *m = s->model;

	return m->parameters ? m->parameters(m->catch_up_arg, func) : NULL;
}

/* The value in the first `size` bytes, not 0, of a register. */
static uint64_t value_in(uint64_t reg, unsigned int size, bool is_signed)
{
	const unsigned int above = size < 8 ? 64 - size * 8 : 0;

	reg <<= above;
	return is_signed ? (uint64_t)((int64_t)reg >> above) : reg >> above;
}

/* The result's own bytes of %ax; those of a signed number as an int has them. */
static uint64_t result_of(const struct parameters *p, uint64_t ax)
{
	const bool is_signed = p->result_base == PARAMETER_SIGNED;
	const uint64_t value = value_in(ax, p->result_size, is_signed);

	return is_signed && p->result_size < 8 ? (uint32_t)value : value;
}

/* The style of a return. A function that is known to have no result in %ax shows none. */
static unsigned int result_style(const struct show *s, unsigned int style, struct graph_return *ret)
{
	const struct parameters *p = style & GRAPH_RETVAL ? parameters_of(s, ret->func) : NULL;

	if (p && !p->result_size)
		return style & ~(unsigned int)GRAPH_RETVAL;
	if (p)
		ret->retval = result_of(p, ret->retval);
	return style;
}

static void argument(struct show *s, const struct parameter *p, const uint64_t *args)
{
	const bool is_signed = p->base == PARAMETER_SIGNED;
	uint64_t value;

	if (*p->name)
		text_printf(&s->text, "%s=", p->name);
	if (p->reg >= PARAMETER_REGISTERS || !p->size) {
		text_putc(&s->text, '?');
		return;
	}
	value = value_in(args[p->reg], p->size, is_signed);
	if (is_signed)
		text_printf(&s->text, "%lld", (long long)value);
	else
		text_printf(&s->text, "0x%llx", (unsigned long long)value);
}

/* As Linux 6.15 prints them. Of a function that is not known it prints none. */
static void arguments(struct show *s, unsigned int style, const struct graph_call *c)
{
	const struct parameters *p = style & GRAPH_ARGUMENTS && c->has_args ?
				     parameters_of(s, c->func) : NULL;

	text_putc(&s->text, '(');
	for (unsigned int i = 0; p && i < p->nr; i++) {
		if (i)
			text_puts(&s->text, ", ");
		argument(s, &p->v[i], c->args);
	}
	if (p && p->more)
		text_puts(&s->text, p->nr ? ", ..." : "...");
	text_putc(&s->text, ')');
}

/* As Linux 6.13 prints it. */
static bool returns_to(struct show *s, unsigned int style, const struct graph_call *c)
{
	if (!(style & GRAPH_RETURNS_TO) || !c->has_retaddr)
		return false;
	text_puts(&s->text, " /* <-");
	if (!print_symbol(&s->env, c->retaddr, PRINT_SYMBOL_OFFSET | PRINT_SYMBOL_MODULE,
			  &s->text)) {
		text_put(&s->text, "0x", 2);
		text_hex(&s->text, c->retaddr, 1);
	}
	return true;
}

/* If the next record of the CPU is the entry's own return, takes it from the reader. */
static bool take_leaf(struct show *s, const struct show_record *entry, uint64_t func,
		      struct graph_return *out)
{
	const struct show_event *e;
	struct show_record next;

	if (s->all_calls || !show_peek_cpu(s, entry->cpu, &next))
		return false;
	e = show_event_of(s, &next);
	if (!e || e->kind != SHOW_GRAPH_EXIT || record_pid(&next) != record_pid(entry))
		return false;
	*out = return_of(e, &next);
	if (out->func != func)
		return false;
	show_skip_cpu(s, entry->cpu);
	return true;
}

static void graph_forget(struct graph_cpu *c, int depth)
{
	if (depth >= 0 && depth < REMEMBERED)
		c->entered[depth] = 0;
}

static void leaf_line(struct show *s, unsigned int style, const struct show_record *r,
		      const struct graph_call *call, const struct graph_return *ret)
{
	struct graph_cpu *c = cpu_of(s, r);

	c->depth = call->depth - 1;	/* the next comment has the function's indentation */
	graph_forget(c, call->depth);
	duration_column(s, style, ret->duration);
	indent(s, call->depth);
	func_name(s, ret->func);
	arguments(s, style, call);
	text_putc(&s->text, ';');
	if (returns_to(s, style, call)) {
		if (style & GRAPH_RETVAL)
			return_value_since_6_13(s, style, ret->retval);
		text_puts(&s->text, " */\n");
	} else if (style & GRAPH_RETVAL) {
		text_puts(&s->text, " /*");
		return_value(s, style, ret->retval);
	} else {
		text_putc(&s->text, '\n');
	}
	irq_arrow(s, style, r, ret->func, "<==========");
}

static void open_line(struct show *s, unsigned int style, const struct show_record *r,
		      const struct graph_call *call)
{
	struct graph_cpu *c = cpu_of(s, r);

	c->depth = call->depth;
	if (call->depth >= 0 && call->depth < REMEMBERED)
		c->entered[call->depth] = call->func;
	no_duration(s, style);
	indent(s, call->depth);
	func_name(s, call->func);
	arguments(s, style, call);
	text_puts(&s->text, " {");
	text_puts(&s->text, returns_to(s, style, call) ? " */\n" : "\n");
}

static void entry_line(struct show *s, unsigned int style, const struct show_event *e,
		       const struct show_record *r)
{
	const struct graph_call call = call_of(e, r);
	struct graph_return ret;

	if (hides_entry(s, style, r, call.func, call.depth))
		return;
	another_task(s, r);
	irq_arrow(s, style, r, call.func, "==========>");
	context_columns(s, style, r);
	s->mark = s->text.len;
	if (take_leaf(s, r, call.func, &ret))
		leaf_line(s, result_style(s, style, &ret), r, &call, &ret);
	else
		open_line(s, style, r, &call);
}

/* Prints a closing brace; with the function's name if its entry was not drawn. */
static void closing(struct show *s, unsigned int style, const struct graph_return *ret, bool known)
{
	if (style & GRAPH_RETVAL) {
		text_puts(&s->text, "} /* ");
		func_name(s, ret->func);
		return_value(s, style, ret->retval);
	} else if (known && !(style & GRAPH_TAIL)) {
		text_put(&s->text, "}\n", 2);
	} else {
		text_puts(&s->text, "} /* ");
		func_name(s, ret->func);
		text_puts(&s->text, " */\n");
	}
}

static void return_line(struct show *s, unsigned int style, const struct show_event *e,
			const struct show_record *r)
{
	struct graph_return ret = return_of(e, r);
	struct graph_cpu *c = cpu_of(s, r);
	bool known = true;

	if (hides_return(s, style, r, ret.depth))
		return;
	style = result_style(s, style, &ret);
	c->depth = ret.depth - 1;
	if (ret.depth >= 0 && ret.depth < REMEMBERED)
		known = c->entered[ret.depth] == ret.func;
	graph_forget(c, ret.depth);
	line_start(s, style, r);
	duration_column(s, style, ret.duration);
	indent(s, ret.depth);
	closing(s, style, &ret, known);
	if (style & GRAPH_OVERRUN)
		text_printf(&s->text, " (Overruns: %u)\n", ret.overrun);
	irq_arrow(s, style, r, ret.func, "<==========");
}

/* ---- other events ---- */

static void comment_line(struct show *s, unsigned int style, const struct show_event *e,
			 const struct show_record *r)
{
	int depth = cpu_of(s, r)->depth;

	line_start(s, style, r);
	no_duration(s, style);
	if (depth > 0)
		indent(s, depth + 1);
	text_put(&s->text, "/* ", 3);
	s->mark = s->text.len;
	if (e->message)
		e->message(s, e, r);
	else
		e->text(s, e, r);
	if (s->text.len && s->text.bytes[s->text.len - 1] == '\n')
		s->text.len--;
	text_puts(&s->text, " */\n");
}

bool graph_print_line(struct show *s, unsigned int style, const struct show_event *e,
		      const struct show_record *r)
{
	if (!e || e->kind == SHOW_STACK || e->kind == SHOW_FUNCTION)
		return false;
	if (e->kind == SHOW_GRAPH_ENTRY)
		entry_line(s, style, e, r);
	else if (e->kind == SHOW_GRAPH_EXIT)
		return_line(s, style, e, r);
	else
		comment_line(s, style, e, r);
	return true;
}

/* ---- header ---- */

static void latency_legend(struct show *s, unsigned int style)
{
	static const char *const art[] = {
		"  _-----=> irqs-off        ", " / _----=> need-resched    ",
		"| / _---=> hardirq/softirq ", "|| / _--=> preempt-depth   ",
		"||| /                      ",
	};
	int width = (style & GRAPH_ABSTIME ? 16 : 0) + (style & GRAPH_RELTIME ? 16 : 0) +
		    (style & GRAPH_CPU ? 4 : 0) + (style & GRAPH_PROC ? 17 : 0);

	for (size_t i = 0; i < sizeof(art) / sizeof(art[0]); i++)
		text_printf(&s->text, "#%*s%s\n", width, "", art[i]);
}

void graph_print_header(struct show *s, unsigned int style, bool empty)
{
	static const struct {
		unsigned int	style;
		const char	*name, *mark;
	} columns[] = {
		{ GRAPH_ABSTIME, "     TIME       ", "      |         " },
		{ GRAPH_RELTIME, "   REL TIME     ", "      |         " },
		{ GRAPH_CPU, " CPU", " |  " },
		{ GRAPH_PROC, "  TASK/PID       ", "   |    |        " },
		{ 0, "||||   ", "||||   " },
		{ GRAPH_DURATION, "  DURATION   ", "   |   |      " },
	};

	if (!show_option(s, OPTION_CONTEXT_INFO) || (s->latency && empty))
		return;
	if (s->latency) {
		show_latency_header(s);
		latency_legend(s, style);
	}
	for (int line = 0; line < 2; line++) {
		text_putc(&s->text, '#');
		for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
			if (columns[i].style ? style & columns[i].style : s->latency)
				text_puts(&s->text, line ? columns[i].mark : columns[i].name);
		text_puts(&s->text, line ? "               |   |   |   |\n"
					 : "               FUNCTION CALLS\n");
	}
}

/* ---- the tracer ---- */

unsigned int graph_style(const struct show *s)
{
	static const struct {
		enum trace_option option;
		unsigned int	style;
	} styles[] = {
		{ OPTION_FUNCGRAPH_OVERRUN, GRAPH_OVERRUN },
		{ OPTION_FUNCGRAPH_CPU, GRAPH_CPU },
		{ OPTION_FUNCGRAPH_OVERHEAD, GRAPH_OVERHEAD },
		{ OPTION_FUNCGRAPH_PROC, GRAPH_PROC },
		{ OPTION_FUNCGRAPH_DURATION, GRAPH_DURATION },
		{ OPTION_FUNCGRAPH_ABSTIME, GRAPH_ABSTIME },
		{ OPTION_FUNCGRAPH_IRQS, GRAPH_IRQS },
		{ OPTION_FUNCGRAPH_TAIL, GRAPH_TAIL },
		{ OPTION_FUNCGRAPH_RETVAL, GRAPH_RETVAL },
		{ OPTION_FUNCGRAPH_RETVAL_HEX, GRAPH_RETVAL_HEX },
		{ OPTION_FUNCGRAPH_ARGS, GRAPH_ARGUMENTS },
		{ OPTION_FUNCGRAPH_RETADDR, GRAPH_RETURNS_TO },
	};
	unsigned int style = 0;

	for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++)
		if (show_option(s, styles[i].option))
			style |= styles[i].style;
	return style;
}

static void print_header(struct show *s, bool empty)
{
	graph_print_header(s, graph_style(s), empty);
}

static int init(struct instance *inst)
{
	return functions_enable(inst, FTRACE_OPS_GRAPH, 0, "ftrace_graph_func");
}

static bool graph_print_record(struct show *s, const struct show_event *e,
			       const struct show_record *r)
{
	return graph_print_line(s, graph_style(s), e, r);
}

#define BIT(o) (1ull << (o))

const struct tracer tracer_function_graph = {
	.name = "function_graph",
	.flags = BIT(OPTION_FUNCGRAPH_OVERRUN) | BIT(OPTION_FUNCGRAPH_CPU) |
		 BIT(OPTION_FUNCGRAPH_OVERHEAD) | BIT(OPTION_FUNCGRAPH_PROC) |
		 BIT(OPTION_FUNCGRAPH_DURATION) | BIT(OPTION_FUNCGRAPH_ABSTIME) |
		 BIT(OPTION_FUNCGRAPH_IRQS) | BIT(OPTION_FUNCGRAPH_TAIL) |
		 BIT(OPTION_FUNCGRAPH_RETVAL) | BIT(OPTION_FUNCGRAPH_RETVAL_HEX) |
		 BIT(OPTION_FUNCGRAPH_RETADDR) | BIT(OPTION_FUNCGRAPH_ARGS) |
		 BIT(OPTION_SLEEP_TIME) | BIT(OPTION_GRAPH_TIME),
	.allow_instances = true,
	.init = init,
	.reset = functions_disable,
	.open = graph_open,
	.close = graph_close,
	.print_header = print_header,
	.print_line = graph_print_record,
};
