/* SPDX-License-Identifier: MIT */
/*
 * folded.c - one line for each stack, for flamegraph.pl, inferno, speedscope
 *
 *     parser;main;parse;read 1500
 *
 * The number is the time in ns that the calls took themselves, without the calls below them. In a
 * recording without calls it says how often that stack was recorded. The stacks are a tree, and a
 * node is found by its parent and its function:
 *
 *     0 --- parser --- main --+-- parse --- read
 *                             +-- print
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/form.h"

enum { NODES = 1 << 22, FRAMES = 8192 };

struct folded_node {
	uint32_t	parent;		/* 0: it is a task's name */
	uint64_t	func;		/* or the number of the name */
	uint64_t	time, count;
};

struct folded {
	struct folded_node *nodes;	/* number 0 is none */
	uint32_t	nr, room;
	uint32_t	*table;		/* of hashes: numbers of nodes */
	uint32_t	table_room;
	char		(*comms)[LAYOUT_COMM_LEN];
	uint32_t	nr_comms, comms_room;
	bool		calls;		/* there were some */
};

/* ---- the tree ---- */

static uint64_t node_hash(uint32_t parent, uint64_t func)
{
	return (func * 0x9e3779b97f4a7c15ull ^ parent) * 0xff51afd7ed558ccdull >> 20;
}

static uint32_t *node_place(const struct folded *d, uint32_t parent, uint64_t func)
{
	const uint32_t mask = d->table_room - 1;
	uint64_t i = node_hash(parent, func);

	while (d->table[i & mask]) {
		const struct folded_node *n = &d->nodes[d->table[i & mask]];

		if (n->parent == parent && n->func == func)
			break;
		i++;
	}
	return &d->table[i & mask];
}

static int table_grow(struct folded *d)
{
	const uint32_t room = d->table_room ? 2 * d->table_room : 1024;
	uint32_t *table = calloc(room, sizeof(*table));
	struct folded_node *nodes = reallocarray(d->nodes, room / 2, sizeof(*nodes));

	if (nodes)
		d->nodes = nodes;
	if (!table || !nodes) {
		free(table);
		return -ENOMEM;
	}
	free(d->table);
	d->table = table;
	d->table_room = room;
	d->room = room / 2;
	for (uint32_t i = 1; i < d->nr; i++)
		*node_place(d, d->nodes[i].parent, d->nodes[i].func) = i;
	return 0;
}

/* The node below `parent`; the parent itself, where the tree has no room for more. */
static uint32_t node_below(struct export_run *x, uint32_t parent, uint64_t func)
{
	struct folded *d = x->state;
	uint32_t *place = node_place(d, parent, func);

	if (*place)
		return *place;
	if (d->nr >= NODES) {
		x->sums->cut++;
		return parent;
	}
	if (d->nr >= d->room) {
		if (table_grow(d)) {
			export_fail(x, -ENOMEM);
			return parent;
		}
		place = node_place(d, parent, func);
	}
	d->nodes[d->nr] = (struct folded_node){ .parent = parent, .func = func };
	*place = d->nr;
	return d->nr++;
}

/* ---- tasks ---- */

static uint32_t comm_number(struct export_run *x, const char *comm)
{
	struct folded *d = x->state;
	void *more;

	for (uint32_t i = 0; i < d->nr_comms; i++)
		if (!strncmp(d->comms[i], comm, LAYOUT_COMM_LEN))
			return i;
	if (d->nr_comms == d->comms_room) {
		more = reallocarray(d->comms, d->comms_room ? 2 * d->comms_room : 64,
				    sizeof(*d->comms));
		if (!more) {
			export_fail(x, -ENOMEM);
			return 0;
		}
		d->comms = more;
		d->comms_room = d->comms_room ? 2 * d->comms_room : 64;
	}
	memcpy(d->comms[d->nr_comms], comm, LAYOUT_COMM_LEN);
	return d->nr_comms++;
}

static uint32_t task_node(struct export_run *x, struct export_task *task)
{
	if (task->renamed) {
		task->renamed = false;
		task->stack = node_below(x, 0, comm_number(x, task->comm));
	}
	return task->stack;
}

/* The node of the innermost of `depth` open calls. */
static uint32_t calls_node(struct export_run *x, struct export_task *task, uint32_t depth)
{
	while (depth && !task->calls[depth - 1].known)
		depth--;
	return depth ? task->calls[depth - 1].stack : task_node(x, task);
}

/* ---- the form ---- */

static int folded_begin(struct export_run *x)
{
	struct folded *d = calloc(1, sizeof(*d));

	x->state = d;
	if (!d)
		return -ENOMEM;
	d->nr = 1;
	return table_grow(d);
}

static void folded_call_begin(struct export_run *x, const struct export_record *r)
{
	struct export_task *task = r->task;
	struct export_call *call = &task->calls[task->depth - 1];

	((struct folded *)x->state)->calls = true;
	call->stack = node_below(x, calls_node(x, task, task->depth - 1), call->func);
}

static void folded_call_end(struct export_run *x, struct export_task *task, uint64_t time,
			    const struct export_record *exit)
{
	const struct export_call *call = &task->calls[task->depth - 1];
	struct folded_node *n = &((struct folded *)x->state)->nodes[call->stack];
	const uint64_t all = time > call->begin ? time - call->begin : 0;

	(void)exit;
	n->time += all > call->inside ? all - call->inside : 0;
	n->count++;
}

static void folded_call_whole(struct export_run *x, const struct export_record *exit,
			      const struct export_call *call)
{
	struct folded *d = x->state;
	const uint32_t at = node_below(x, calls_node(x, exit->task, exit->task->depth), call->func);

	const uint64_t all = exit->r->time - call->begin;

	d->calls = true;
	d->nodes[at].time += all > call->inside ? all - call->inside : 0;
	d->nodes[at].count++;
}

static void folded_record(struct export_run *x, const struct export_record *r)
{
	struct folded *d = x->state;
	struct export_value stack;
	uint32_t at;

	if (!r->event || r->event->kind != EXPORT_STACK)
		return;
	x->sums->stacks++;
	stack = export_stack(r);
	at = task_node(x, r->task);
	/* Functions, not places in them: two calls from one function are one frame. */
	for (size_t i = stack.len / 8; i--;)
		at = node_below(x, at, export_function(x, export_value_at(&stack, i)));
	d->nodes[at].count++;
}

/* ---- the lines ---- */

/* Separators of the form cannot be in a name. */
static void print_frame(struct export_run *x, const char *name, size_t most)
{
	for (size_t i = 0; i < most && name[i]; i++)
		putc_unlocked((unsigned char)name[i] < ' ' || name[i] == ';' ? '_' : name[i],
			      x->out);
}

static void folded_line(struct export_run *x, uint32_t at, uint64_t number)
{
	struct folded *d = x->state;
	uint32_t frames[FRAMES], nr = 0;

	for (uint32_t i = at; i && nr < FRAMES; i = d->nodes[i].parent)
		frames[nr++] = i;
	while (nr--) {
		const struct folded_node *n = &d->nodes[frames[nr]];

		if (n->parent)
			print_frame(x, export_function_name(x, n->func), SIZE_MAX);
		else
			print_frame(x, d->comms[n->func], LAYOUT_COMM_LEN);
		if (nr)
			putc_unlocked(';', x->out);
	}
	fprintf(x->out, " %" PRIu64 "\n", number);
}

static void folded_end(struct export_run *x)
{
	struct folded *d = x->state;

	for (uint32_t i = 1; i < d->nr; i++) {
		const uint64_t number = d->calls ? d->nodes[i].time : d->nodes[i].count;

		if (number)
			folded_line(x, i, number);
	}
}

static void folded_free(struct export_run *x)
{
	struct folded *d = x->state;

	if (d) {
		free(d->nodes);
		free(d->table);
		free(d->comms);
	}
	free(d);
}

const struct export_form export_folded = {
	.name = "folded",
	.begin = folded_begin,
	.record = folded_record,
	.call_begin = folded_call_begin,
	.call_end = folded_call_end,
	.call_whole = folded_call_whole,
	.end = folded_end,
	.free = folded_free,
};
