/* SPDX-License-Identifier: MIT */
/* summary.c - what a recording has: a form that keeps sums and prints nothing */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/form.h"
#include "export/summary.h"

enum { FUNCTIONS_MOST = 1 << 20 };

struct own_function {
	uint64_t	func;		/* 0: the place is free */
	uint64_t	calls, self;
};

struct summing {
	struct export_summary *out;
	struct export_waits *waits;
	struct own_function *functions;	/* a hash table; the room is a power of two */
	uint32_t	nr_functions, room;
};

/* ---- functions ---- */

static struct own_function *function_place(struct own_function *table, uint32_t room, uint64_t func)
{
	uint64_t i = (func * 0x9e3779b97f4a7c15ull) >> 24;

	while (table[i & (room - 1)].func && table[i & (room - 1)].func != func)
		i++;
	return &table[i & (room - 1)];
}

/* NULL: no memory. The table is at most half full. */
static struct own_function *function_add(struct summing *s, uint64_t func)
{
	const uint32_t room = s->room ? 2 * s->room : 1024;
	struct own_function *table, *f;

	if (2 * s->nr_functions >= s->room && room <= FUNCTIONS_MOST) {
		table = calloc(room, sizeof(*table));
		if (!table)
			return NULL;
		for (uint32_t i = 0; i < s->room; i++)
			if (s->functions[i].func)
				*function_place(table, room, s->functions[i].func) =
					s->functions[i];
		free(s->functions);
		s->functions = table;
		s->room = room;
	}
	if (s->nr_functions + 1 >= s->room)
		return NULL;
	f = function_place(s->functions, s->room, func);
	s->nr_functions += !f->func;
	f->func = func;
	return f;
}

static void function_sum(struct export_run *x, const struct export_call *call, uint64_t time)
{
	struct summing *s = x->state;
	struct own_function *f = call->func ? function_add(s, call->func) : NULL;
	const uint64_t all = time > call->begin ? time - call->begin : 0;

	if (!f)
		return;
	f->calls++;
	f->self += all > call->inside ? all - call->inside : 0;
}

static void summary_call_begin(struct export_run *x, const struct export_record *r)
{
	(void)x;
	(void)r;
}

static void summary_call_end(struct export_run *x, struct export_task *task, uint64_t time,
			     const struct export_record *exit)
{
	(void)exit;
	function_sum(x, &task->calls[task->depth - 1], time);
}

static void summary_call_whole(struct export_run *x, const struct export_record *exit,
			       const struct export_call *call)
{
	function_sum(x, call, exit->r->time);
}

static void summary_stack(struct export_summary *out, const struct export_record *r)
{
	const struct export_value stack = export_stack(r);
	const size_t nr = stack.len / stack.width;

	out->stacks++;
	out->stacks_cut += nr && export_value_at(&stack, nr - 1) == LAYOUT_STACK_CUT;
}

static void summary_record(struct export_run *x, const struct export_record *r)
{
	struct summing *s = x->state;

	if (!r->event)
		return;
	export_waits_record(s->waits, s->out, r);
	if (r->event->kind == EXPORT_STACK)
		summary_stack(s->out, r);
}

/* ---- the sums ---- */

static int by_records(const void *a, const void *b)
{
	const struct summary_event *x = a, *y = b;

	if (x->records != y->records)
		return x->records > y->records ? -1 : 1;
	return x->since < y->since ? -1 : x->since > y->since;
}

static int summary_begin(struct export_run *x)
{
	struct summing *s = calloc(1, sizeof(*s));

	x->state = s;
	if (!s)
		return -ENOMEM;
	s->out = x->what->summary;
	s->waits = export_waits_create();
	return s->waits ? 0 : -ENOMEM;
}

static void summary_events(struct export_run *x, struct export_summary *out)
{
	out->events = calloc(LAYOUT_MAX_EVENTS, sizeof(*out->events));
	if (!out->events) {
		export_fail(x, -ENOMEM);
		return;
	}
	for (uint32_t i = 0; i < LAYOUT_MAX_EVENTS; i++)
		if (x->events[i])
			out->events[out->nr_events++] = (struct summary_event){
				.event = x->events[i]->event, .records = x->events[i]->records,
				.since = x->events[i]->since,
			};
	qsort(out->events, out->nr_events, sizeof(*out->events), by_records);
}

/* Takes the function with the most time out of the table. NULL: there is none. */
static struct own_function *function_take(struct summing *s)
{
	struct own_function *most = NULL;

	for (uint32_t i = 0; i < s->room; i++)
		if (s->functions[i].calls && (!most || s->functions[i].self > most->self))
			most = &s->functions[i];
	return most;
}

static void summary_end(struct export_run *x)
{
	struct summing *s = x->state;
	struct own_function *f;

	s->out->first = x->first;
	s->out->last = x->last;
	summary_events(x, s->out);
	for (uint32_t i = 0; i < s->room; i++)
		s->out->self += s->functions[i].self;
	for (unsigned int i = 0; i < SUMMARY_FUNCTIONS && (f = function_take(s)); i++) {
		struct summary_function *out = &s->out->functions[i];

		out->calls = f->calls;
		out->self = f->self;
		snprintf(out->name, sizeof(out->name), "%s", export_function_name(x, f->func));
		f->calls = 0;
	}
}

static void summary_free(struct export_run *x)
{
	struct summing *s = x->state;

	if (s) {
		export_waits_destroy(s->waits);
		free(s->functions);
	}
	free(s);
}

static const struct export_form summary_form = {
	.name = "summary",
	.begin = summary_begin,
	.record = summary_record,
	.call_begin = summary_call_begin,
	.call_end = summary_call_end,
	.call_whole = summary_call_whole,
	.end = summary_end,
	.free = summary_free,
};

int export_summary_make(const struct export_records *asked, struct export_summary *out)
{
	struct export_records what = *asked;

	what.form = &summary_form;
	what.summary = out;

	*out = (struct export_summary){ .nr_events = 0 };
	/* It writes nothing. */
	return export_records_write(&what, stderr, &out->sums);
}

void export_summary_free(struct export_summary *s)
{
	free(s->events);
	s->events = NULL;
}
