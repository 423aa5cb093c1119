/* SPDX-License-Identifier: MIT */
/*
 * waits.c - the longest waits of a recording: for a CPU, for a lock, in a system call
 *
 *     sched_waking pid=7           begun[SUMMARY_CPU][7] = its time
 *     sched_switch next_pid=7      the wait of 7 ends
 *
 * A task that runs may be woken, too, just before it sleeps. It waits for no CPU then: what was
 * begun is forgotten when it leaves the CPU, and still wants it. A record of its waking may also
 * come a moment before that of its sleep; prev_state tells the two apart.
 *
 * The other kinds begin and end with records of the waiting task itself.
 */
#include <stdlib.h>
#include <string.h>

#include "export/form.h"
#include "export/summary.h"

struct begun {
	uint64_t	time;			/* 0: nothing has begun */
	const struct event *event;
};

struct export_waits {
	struct begun	*begun[SUMMARY_KINDS];	/* by pid */
};

struct export_waits *export_waits_create(void)
{
	struct export_waits *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	/* Only the pages of pids that occur are used. */
	for (int kind = 0; kind < SUMMARY_KINDS; kind++) {
		w->begun[kind] = calloc(EXPORT_PIDS, sizeof(*w->begun[kind]));
		if (!w->begun[kind]) {
			export_waits_destroy(w);
			return NULL;
		}
	}
	return w;
}

void export_waits_destroy(struct export_waits *w)
{
	for (int kind = 0; w && kind < SUMMARY_KINDS; kind++)
		free(w->begun[kind]);
	free(w);
}

static void wait_keep(struct summary_wait waits[SUMMARY_WAITS], const struct summary_wait *w)
{
	unsigned int i = SUMMARY_WAITS;

	while (i && waits[i - 1].ns < w->ns)
		i--;
	if (i == SUMMARY_WAITS)
		return;
	memmove(&waits[i + 1], &waits[i], (SUMMARY_WAITS - 1 - i) * sizeof(*waits));
	waits[i] = *w;
}

/* pid 0 is the idle task of any CPU. */
static void wait_begin(struct export_waits *w, enum summary_kind kind, uint64_t pid,
		       const struct export_record *r)
{
	if (pid && pid < EXPORT_PIDS)
		w->begun[kind][pid] = (struct begun){ r->r->time, r->event->event };
}

/* Records of the beginning or the end may be lost: sys_exit_X does not end sys_enter_Y. */
static bool is_end_of(enum summary_kind kind, const struct begun *b, const struct event *end)
{
	return b->time && (kind != SUMMARY_CALL || !strcmp(b->event->name + strlen(EXPORT_ENTER),
							   end->name + strlen(EXPORT_EXIT)));
}

static void wait_end(struct export_waits *w, struct export_summary *out, enum summary_kind kind,
		     uint64_t pid, const char *comm, size_t len, const struct export_record *r)
{
	struct summary_wait wait = {
		.time = r->r->time, .pid = (int32_t)pid, .event = r->event->event,
	};
	struct begun *b;

	if (!pid || pid >= EXPORT_PIDS)
		return;
	b = &w->begun[kind][pid];
	if (is_end_of(kind, b, r->event->event) && r->r->time > b->time) {
		wait.ns = r->r->time - b->time;
		memcpy(wait.comm, comm, len < LAYOUT_COMM_LEN ? len : LAYOUT_COMM_LEN);
		wait_keep(out->waits[kind], &wait);
	}
	b->time = 0;
}

/* The state's other bits say that the task was preempted. */
static void wait_forget(struct export_waits *w, const struct export_record *r)
{
	const uint64_t pid = export_number(r->event->prev_pid, r->r);

	if (pid < EXPORT_PIDS && r->event->prev_state &&
	    !(export_number(r->event->prev_state, r->r) & 0xff))
		w->begun[SUMMARY_CPU][pid].time = 0;
}

static void wait_switch(struct export_waits *w, struct export_summary *out,
			const struct export_record *r)
{
	const struct export_value comm = export_value_read(r->event->next_comm, r->r);

	wait_forget(w, r);
	wait_end(w, out, SUMMARY_CPU, export_number(r->event->next_pid, r->r),
		 (const char *)comm.bytes, comm.kind == VALUE_TEXT ? comm.len : 0, r);
}

void export_waits_record(struct export_waits *w, struct export_summary *out,
			 const struct export_record *r)
{
	const enum summary_kind kind = r->event->kind == EXPORT_CALL_ENTER ||
				       r->event->kind == EXPORT_CALL_EXIT
					       ? SUMMARY_CALL
					       : SUMMARY_LOCK;
	const uint64_t self = r->r->pid > 0 ? (uint64_t)r->r->pid : 0;

	switch (r->event->kind) {
	case EXPORT_WAKING:
		wait_begin(w, SUMMARY_CPU, export_number(r->event->pid, r->r), r);
		break;
	case EXPORT_SWITCH:
		wait_switch(w, out, r);
		break;
	case EXPORT_LOCK_BEGIN:
		/* 0: a semaphore or a condition variable, where a thread with no work waits, too */
		if (export_number(r->event->flags, r->r))
			wait_begin(w, kind, self, r);
		break;
	case EXPORT_CALL_ENTER:
		wait_begin(w, kind, self, r);
		break;
	case EXPORT_LOCK_END:
	case EXPORT_CALL_EXIT:
		wait_end(w, out, kind, self, r->task->comm, sizeof(r->task->comm), r);
		break;
	default:
		break;
	}
}
