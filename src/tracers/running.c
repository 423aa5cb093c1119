/* SPDX-License-Identifier: MIT */
/*
 * running.c - latency tracers over running programs: what they are to watch for, and the sections that they report
 *
 *     init, options, thresholds --> config: section_control        (programs look there: agent/section.c)
 *     longest section of a thread <-- data: section_log.reports, and the instance's buffer of that time
 *
 * Programs swap the instance's buffers when they report, so what was recorded
 * in the newest section lies in the one that does not record, until the next.
 * So only the newest is looked at. When another one came meanwhile, programs are
 * told that no section is long enough until that one has been looked at.
 *
 * The data region is not trusted (R2): a report is a copy, and its numbers are
 * checked before they are used.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "plane/ring.h"
#include "tracers/latency.h"

enum { TRIES = 4, PID_END = 4194304 };

static struct section_control *control_of(const struct latency *l)
{
	return &session_header(l->inst->model->session)->sections;
}

static struct section_watch *watch_of(const struct latency *l)
{
	return &control_of(l)->watch[l->watch->number];
}

static struct section_log *log_of(const struct latency *l)
{
	struct session *s = l->inst->model->session;
	struct program_tables *tables = session_data(s, session_header(s)->programs, sizeof(*tables));

	return tables ? &tables->sections[l->watch->number] : NULL;
}

/* ---- What programs are told: numbers of their own, so relaxed ---- */

void running_forget(struct latency *l)
{
	if (!l->live)
		return;
	atomic_fetch_add_explicit(&watch_of(l)->generation, 1, memory_order_relaxed);
}

/* Also written where the tracer is not current. While the rings are stopped nothing would be there of a section. */
static void tell_thresh(struct latency *l)
{
	const bool stopped = l->inst->stopped;
	uint64_t thresh = atomic_load_explicit(&l->inst->model->tracing_thresh, memory_order_relaxed);

	if (stopped != l->stopped)
		running_forget(l);
	l->stopped = stopped;
	atomic_store_explicit(&watch_of(l)->thresh, stopped ? UINT64_MAX : thresh, memory_order_relaxed);
}

/* For a moment. */
static void tell_none(struct latency *l)
{
	atomic_store_explicit(&watch_of(l)->thresh, UINT64_MAX, memory_order_relaxed);
}

static void tell_limits(struct latency *l)
{
	struct section_log *log = log_of(l);

	tell_thresh(l);
	if (log)
		atomic_store_explicit(&log->longest,
				      atomic_load_explicit(&l->inst->max_latency, memory_order_relaxed),
				      memory_order_relaxed);
}

void running_open(struct latency *l)
{
	struct section_log *log = log_of(l);

	if (l->inst->model->imported || !log)
		return;
	l->live = true;
	l->reported = atomic_load_explicit(&l->inst->state->live, memory_order_relaxed) >> 1;
	tell_limits(l);
	atomic_store_explicit(&watch_of(l)->instance, l->inst->index, memory_order_relaxed);
	running_forget(l);
	/* Release: who sees that he is to watch sees the rest, too, or drops what he has by its generation. */
	atomic_fetch_or_explicit(&control_of(l)->kinds, l->watch->kinds(l->tracer), memory_order_release);
}

void running_close(struct latency *l)
{
	if (!l->live)
		return;
	atomic_fetch_and_explicit(&control_of(l)->kinds, ~l->watch->kinds(l->tracer), memory_order_relaxed);
	running_forget(l);
}

/* ---- A report ---- */

static uint32_t number_of(uint64_t state)
{
	return (uint32_t)state >> 1;
}

static bool is_newer(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 1) > 0;
}

/* Whether there is a report, of the watch as it is now. */
static bool is_there(const struct latency *l, const struct section_report *r, uint64_t state)
{
	return state && !(state & 1) &&
	       r->generation == atomic_load_explicit(&watch_of(l)->generation, memory_order_relaxed);
}

static bool copy_report(struct section_report *r, uint64_t state, struct section_report *out)
{
	memcpy((char *)out + sizeof(out->state), (char *)r + sizeof(r->state), sizeof(*r) - sizeof(r->state));
	/* Pairs with the fence in report_claim(): what was copied while somebody wrote is not used. */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&r->state, memory_order_relaxed) == state;
}

/* The newest report behind l->reported; false: there is none, or it is just being written. */
static bool newest(struct latency *l, struct section_log *log, struct section_report *out)
{
	struct section_report *best = NULL;
	uint32_t number = l->reported;
	uint64_t best_state = 0;

	for (int i = 0; i < SECTION_REPORTS; i++) {
		struct section_report *r = &log->reports[i];
		/* Pairs with the release in report(). */
		uint64_t state = atomic_load_explicit(&r->state, memory_order_acquire);

		if (is_there(l, r, state) && is_newer(number_of(state), number)) {
			best = r;
			best_state = state;
			number = number_of(state);
		}
	}
	if (!best || !copy_report(best, best_state, out))
		return false;
	l->reported = number;
	return true;
}

static bool end_valid(const struct latency *l, const struct section_end *e)
{
	return e->cpu < l->inst->model->nr_cpus && e->pid && e->pid < PID_END;
}

/* Of the time before tracing_on, or of nonsense: it is none. */
static bool is_valid(const struct latency *l, const struct section_report *r)
{
	return end_valid(l, &r->start) && end_valid(l, &r->end) && r->start.time <= r->end.time &&
	       r->nr_stack <= SECTION_STACK && r->buffer < 2 &&
	       r->generation == atomic_load_explicit(&watch_of(l)->generation, memory_order_relaxed) &&
	       latency_counts(l, r->end.time - r->start.time);
}

/* ---- The section ---- */

static void copy_comm(char *to, const char *from)
{
	bool end = false;

	for (int i = 0; i < LAYOUT_COMM_LEN; i++) {
		end |= !from[i] || i == LAYOUT_COMM_LEN - 1;
		to[i] = (char)(end ? 0 : (unsigned char)from[i] < ' ' || from[i] == 0x7f ? '?' : from[i]);
	}
}

/* As the kernel has it of a task: the real user, by the server's numbers. */
static unsigned int uid_of(int pid, unsigned int told)
{
	unsigned int uid = told == SECTION_UNKNOWN ? getuid() : told;
	char path[64], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	if (!f)
		return uid;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Uid: %u", &uid) == 1)
			break;
	fclose(f);
	return uid;
}

/* Of a thread that could not say it itself; one that has gone has the usual. */
static void ask_scheduler(struct section *s)
{
	int policy = sched_getscheduler(s->pid);
	struct sched_param param;

	if (policy < 0 || sched_getparam(s->pid, &param))
		return;
	s->policy = (unsigned int)policy & ~(unsigned int)SCHED_RESET_ON_FORK;
	s->rt_prio = (unsigned int)param.sched_priority;
	s->nice = getpriority(PRIO_PROCESS, (id_t)s->pid);
}

static void describe(struct section *s, const struct section_report *r)
{
	s->time_start = r->start.time;
	s->cpu = r->end.cpu;
	s->pid = (int)r->end.pid;
	copy_comm(s->comm, r->comm);
	s->uid = uid_of(s->pid, r->uid);
	if (r->policy == SECTION_UNKNOWN) {
		ask_scheduler(s);
		return;
	}
	s->policy = r->policy;
	s->rt_prio = r->rt_prio;
	s->nice = r->nice;
}

/* An end as a record of its thread would have been. */
struct end_hit {
	struct record_common common;
	struct hit	hit;
};

static void end_hit(struct end_hit *h, const struct section_end *e)
{
	h->common = (struct record_common){ .flags = e->flags, .preempt_count = e->locks, .pid = (int32_t)e->pid };
	h->hit = (struct hit){
		.record = &h->common, .size = sizeof(h->common), .cpu = e->cpu, .time = e->time,
	};
}

static void add_stack(struct section *s, const struct section_report *r)
{
	struct stack_record stack = {
		.type = LAYOUT_STACK_ID, .flags = r->end.flags, .preempt_count = r->end.locks,
		.pid = (int32_t)r->end.pid, .size = (int32_t)r->nr_stack,
	};

	if (!r->nr_stack)
		return;
	memcpy(stack.caller, r->stack, r->nr_stack * sizeof(r->stack[0]));
	section_add(s, r->end.cpu, r->end.time, &stack,
		    (uint32_t)(offsetof(struct stack_record, caller) + r->nr_stack * sizeof(r->stack[0])));
}

/* Records are the thread's; a wakeup's those of all. */
static bool belongs(const struct latency *l, const struct section_report *r, const struct ring_record *rec)
{
	const struct record_common *common = rec->record;
	const struct hit h = { .record = rec->record, .size = rec->size };

	return rec->size >= sizeof(*common) && (l->watch->all_threads || (uint32_t)common->pid == r->end.pid) &&
	       latency_keeps(l, &h, true);
}

static void add_records(struct latency *l, struct section *s, const struct section_report *r)
{
	struct instance_state *state = l->inst->state;
	/* The server alone stores it. */
	data_ref buffer = atomic_load_explicit(&state->buffers[r->buffer], memory_order_relaxed);
	struct ring_record rec;
	struct ring_iter *it;

	if (!buffer || ring_iter_open(l->inst->model->session, buffer, -1, &it))
		return;
	while (ring_iter_next(it, &rec) == 1 && rec.time <= r->end.time)
		if (rec.time >= r->start.time && belongs(l, r, &rec))
			section_add(s, rec.cpu, rec.time, rec.record, rec.size);
	ring_iter_close(it);
}

static struct section *build(struct latency *l, const struct section_report *r)
{
	struct section *s = section_create();
	struct end_hit start, end;

	if (!s)
		return NULL;
	describe(s, r);
	end_hit(&start, &r->start);
	end_hit(&end, &r->end);
	l->watch->begins(l, s, &start.hit, r);
	add_records(l, s, r);
	l->watch->ends(l, s, &end.hit, r);
	add_stack(s, r);
	return s;
}

void running_take(struct latency *l)
{
	struct section_log *log = l->live ? log_of(l) : NULL;
	struct section_report r;

	if (!log)
		return;
	for (int i = 0; i < TRIES && newest(l, log, &r); i++) {
		struct section *s = is_valid(l, &r) ? build(l, &r) : NULL;

		if (s) {
			pthread_mutex_lock(&l->inst->model->watch_lock);
			section_put(latency_report(l, s, r.end.time - r.start.time));
			pthread_mutex_unlock(&l->inst->model->watch_lock);
		}
		tell_none(l);
	}
	tell_thresh(l);
}

void running_limits(struct latency *l)
{
	if (l->live)
		tell_limits(l);
}
