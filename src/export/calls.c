/* SPDX-License-Identifier: MIT */
/*
 * calls.c - the open calls of each task, from the entries and exits of function_graph
 *
 *     depth     0      1      2
 *     calls     main   parse  read     <- task->depth = 3
 *
 * Records may be missing: they were overwritten or dropped, or tracing began or ended in between. A
 * record has the depth of its call, so at an entry at depth 1 all calls from 1 on have ended, and
 * at an exit at depth 1 those from 2 on. Calls above it whose entry is missing get a place that is
 * not `known`.
 */
#include <errno.h>
#include <stdlib.h>

#include "export/form.h"

enum { DEEPEST = 4096 };

static void calls_close(struct export_run *x, struct export_task *task, uint64_t time,
			const struct export_record *exit)
{
	const struct export_call *call = &task->calls[task->depth - 1];

	if (call->known) {
		x->what->form->call_end(x, task, time, exit);
		x->sums->unended += !exit;
	}
	task->depth--;
	if (call->known && task->depth && time > call->begin)
		task->calls[task->depth - 1].inside += time - call->begin;
}

/* The calls from a depth on have ended, at some time before this. */
static void close_from(struct export_run *x, struct export_task *task, uint32_t depth,
		       uint64_t time)
{
	while (task->depth > depth)
		calls_close(x, task, time, NULL);
}

static bool calls_open(struct export_run *x, struct export_task *task, uint32_t depth)
{
	struct export_call *more;
	uint32_t room = task->room ? task->room : 16;

	if (depth >= DEEPEST) {
		x->sums->too_deep++;
		return false;
	}
	while (room <= depth)
		room *= 2;
	if (room != task->room) {
		more = reallocarray(task->calls, room, sizeof(*more));
		if (!more) {
			export_fail(x, -ENOMEM);
			return false;
		}
		task->calls = more;
		task->room = room;
	}
	while (task->depth < depth)
		task->calls[task->depth++] = (struct export_call){ .known = false };
	return true;
}

void export_calls_entry(struct export_run *x, const struct export_record *r)
{
	const uint32_t depth = (uint32_t)export_number(r->event->depth, r->r);
	struct export_task *task = r->task;

	x->sums->calls++;
	close_from(x, task, depth, r->r->time);
	if (!calls_open(x, task, depth))
		return;
	task->calls[task->depth++] = (struct export_call){
		.func = export_number(r->event->func, r->r), .begin = r->r->time, .known = true,
	};
	x->what->form->call_begin(x, r);
}

/*
 * The call's own times may be of another clock than the record's: only the difference counts.
 * `inside`: of the calls below it.
 */
static void exit_alone(struct export_run *x, const struct export_record *r, uint64_t func,
		       uint64_t inside)
{
	struct export_call call = { .func = func, .begin = r->r->time, .inside = inside };
	const uint64_t begin = export_number(r->event->begin, r->r);
	const uint64_t end = export_number(r->event->end, r->r);

	x->sums->unbegun++;
	if (end > begin && end - begin <= r->r->time)
		call.begin -= end - begin;
	x->what->form->call_whole(x, r, &call);
	if (r->task->depth)
		r->task->calls[r->task->depth - 1].inside += r->r->time - call.begin;
}

void export_calls_exit(struct export_run *x, const struct export_record *r)
{
	const uint32_t depth = (uint32_t)export_number(r->event->depth, r->r);
	const uint64_t func = export_number(r->event->func, r->r);
	struct export_task *task = r->task;
	const struct export_call *call;
	uint64_t inside = 0;

	if (depth >= DEEPEST) {
		x->sums->too_deep++;
		return;
	}
	close_from(x, task, depth + 1, r->r->time);
	call = task->depth == depth + 1 ? &task->calls[depth] : NULL;
	if (call && call->known && call->func == func) {
		calls_close(x, task, r->r->time, r);
		return;
	}
	if (call && !call->known)
		inside = call->inside;
	close_from(x, task, depth, r->r->time);
	exit_alone(x, r, func, inside);
}

void export_calls_end(struct export_run *x, struct export_task *task)
{
	close_from(x, task, 0, task->last);
}
