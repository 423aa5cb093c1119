/* SPDX-License-Identifier: MIT */
/*
 * running.c - latency tracers over running programs: what they are to watch for, and the sections
 * that they report
 *
 *     init, options, thresholds --> config: section_control        (programs look there:
 *                                                                  agent/emit/section.c)
 *     newest section  <-- data: instance_state.live, section_log.reports, and the instance's buffer
 *     of that time
 *
 * Programs swap the instance's buffers when they report, so what was recorded
 * in the newest section lies in the one that does not record, until the next.
 * So only the newest is looked at, and what was read of it counts when it still
 * is the newest after that. When others come too fast for that, what is shown
 * is the last one that was read as a whole, until somebody reads the file trace:
 * then nobody reports (pause-on-trace), and the newest is there. The same
 * holds when the programs have ended: nothing is skipped. The rings go on meanwhile: a
 * section that lasts longer than the reading has all its records.
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

#include "plane/ring/ring.h"
#include "tracers/latency.h"

enum { TRIES = 8, LOOK_EVERY = 64, PID_END = 4194304 };

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
	struct program_tables *tables =
		session_data(s, session_header(s)->programs, sizeof(*tables));

	return tables ? &tables->sections[l->watch->number] : NULL;
}

/* Pairs with the release in win() (agent/emit/section.c): the report that it names is there. */
static uint32_t live_of(const struct latency *l)
{
	return atomic_load_explicit(&l->inst->state->live, memory_order_acquire);
}

/* ---- What programs are told: numbers of their own, so relaxed ---- */

static uint32_t generation_of(const struct latency *l)
{
	/* Relaxed: only the server raises it. */
	return atomic_load_explicit(&watch_of(l)->generation, memory_order_relaxed);
}

static void tell_generation(const struct latency *l)
{
	/* Release: pairs with the acquire in generation_of() of agent/emit/section.c. */
	atomic_fetch_add_explicit(&watch_of(l)->generation, 1, memory_order_release);
}

/*
 * Of the sections that there are the last one has been told: the next one has to be longer than
 * that.
 */
static void tell_longest(struct latency *l)
{
	/* Relaxed: of running programs it is stored under the control lock alone. */
	uint64_t ns = atomic_load_explicit(&l->inst->max_latency, memory_order_relaxed);
	struct section_log *log = log_of(l);

	l->counted = live_number(live_of(l));
	/*
	 * Pairs with the acquires in longest_at() (agent/emit/section.c): who meets this number
	 * sees `live` have it.
	 */
	if (log)
		atomic_store_explicit(&log->longest, section_longest(ns, l->counted),
				      memory_order_release);
}

/*
 * As tracing_thresh has it, which may be written at any time; while somebody reads no section is
 * long enough.
 */
static void tell_thresh(const struct latency *l)
{
	/*
	 * Relaxed: numbers of their own; a section that goes by the old one ended before that was
	 * known.
	 */
	uint64_t thresh =
		atomic_load_explicit(&l->inst->model->tracing_thresh, memory_order_relaxed);

	atomic_store_explicit(&watch_of(l)->thresh, l->stopped ? UINT64_MAX : thresh,
			      memory_order_relaxed);
}

/*
 * The log may have been another instance's. What is being written there is left to who writes it.
 */
static void free_reports(struct section_log *log)
{
	for (int i = 0; i < SECTION_REPORTS; i++) {
		/* Relaxed: it is looked at, not into. */
		uint64_t state = atomic_load_explicit(&log->reports[i].state, memory_order_relaxed);

		/*
		 * Relaxed: report()'s release stays with what replaces it in one step, for who
		 * claims it next.
		 */
		if (!(state & 1))
			atomic_compare_exchange_strong_explicit(&log->reports[i].state, &state, 0,
								memory_order_relaxed,
								memory_order_relaxed);
	}
}

/*
 * The server before this one watched for the same: the newest section is there, and programs went
 * on.
 */
static bool goes_on(const struct latency *l)
{
	/* Relaxed: servers alone store these, and the one before is gone. */
	return l->inst->model->restoring &&
	       atomic_load_explicit(&control_of(l)->kinds, memory_order_relaxed) &&
	       atomic_load_explicit(&watch_of(l)->instance, memory_order_relaxed) == l->inst->index;
}

/*
 * Who reads trace stops the reports, not the rings: a section that is on has all its records when
 * it ends.
 */
static void tell_rings(const struct latency *l, bool live)
{
	l->inst->sections_live = live;
	instance_cpumask_changed(l->inst);
}

void running_open(struct latency *l)
{
	struct section_log *log = log_of(l);

	if (l->inst->model->imported || !log)
		return;
	l->live = true;
	l->stopped = l->inst->stopped;
	tell_rings(l, true);
	l->reported = live_number(live_of(l));
	if (goes_on(l)) {
		l->counted = --l->reported;
		running_forget(l);
	} else {
		/*
		 * Before and after: who meets the other instance has another generation, at its
		 * section's begin or end.
		 */
		tell_generation(l);
		/*
		 * Release: behind the first. Pairs with the acquire in instance_of() of
		 * agent/emit/section.c.
		 */
		atomic_store_explicit(&watch_of(l)->instance, l->inst->index, memory_order_release);
		tell_generation(l);
		free_reports(log);
		tell_longest(l);
	}
	tell_thresh(l);
	/*
	 * Release: the rest is there before. Pairs with no acquire, programs look with one relaxed
	 * load (agent_section_kinds_of()): who sees this without the rest drops what he has by its
	 * generation.
	 */
	atomic_fetch_or_explicit(&control_of(l)->kinds, l->watch->kinds(l->tracer),
				 memory_order_release);
}

void running_close(struct latency *l)
{
	/* The next server goes on with it. */
	if (!l->live || l->inst->model->closing)
		return;
	/*
	 * Relaxed: what begins before it is seen is over with its generation, which is raised
	 * behind it.
	 */
	atomic_fetch_and_explicit(&control_of(l)->kinds, ~l->watch->kinds(l->tracer),
				  memory_order_relaxed);
	tell_generation(l);
	tell_rings(l, false);
}

/* ---- A report ---- */

static void copy_words(uint64_t *to, const uint64_t *from, size_t nr)
{
	/* Relaxed: somebody may be writing, which `state` tells; whole words. */
	for (size_t i = 0; i < nr; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

/*
 * Copies the report that `live` names. `before`: the generation of sections that
 * have ended by now, or the present one. false: there is none, or there is a newer one by now.
 */
static bool copy_report(const struct latency *l, uint32_t live, uint32_t before,
			struct section_report *out)
{
	struct section_report *r = &log_of(l)->reports[live_report(live)];
	/* Pairs with the release in report(). */
	uint64_t state = atomic_load_explicit(&r->state, memory_order_acquire);

	if (state != section_state(live_number(live), before) &&
	    state != section_state(live_number(live), generation_of(l)))
		return false;
	copy_words((uint64_t *)out + 1, (const uint64_t *)r + 1, sizeof(*r) / sizeof(uint64_t) - 1);
	/*
	 * Pairs with the fence in report_claim(): what was copied while somebody wrote is not used.
	 */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&r->state, memory_order_relaxed) == state;
}

static bool end_valid(const struct latency *l, const struct section_end *e)
{
	return e->cpu < l->inst->model->nr_cpus && e->pid && e->pid < PID_END;
}

static uint64_t running_length_of(const struct section_report *r)
{
	return r->end.time - r->start.time;
}

static bool is_sane(const struct latency *l, const struct section_report *r)
{
	return end_valid(l, &r->start) && end_valid(l, &r->end) && r->start.time <= r->end.time &&
	       r->nr_stack <= SECTION_STACK && r->buffer < 2;
}

/* It is tracing_max_latency from the first look on, though its records may take another one. */
static bool running_count(struct latency *l, const struct section_report *r, uint32_t number)
{
	if (!is_sane(l, r))
		return false;
	if (l->counted == number)
		return true;
	if (!latency_counts(l, running_length_of(r)))
		return false;
	l->counted = number;
	/* Relaxed: a number of its own, under the control lock. */
	atomic_store_explicit(&l->inst->max_latency, running_length_of(r), memory_order_relaxed);
	return true;
}

/* ---- The section ---- */

static void copy_comm(char *to, const char *from)
{
	bool end = false;

	for (int i = 0; i < LAYOUT_COMM_LEN; i++) {
		end |= !from[i] || i == LAYOUT_COMM_LEN - 1;
		to[i] = (char)(end						 ? 0
			       : (unsigned char)from[i] < ' ' || from[i] == 0x7f ? '?'
										 : from[i]);
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

static void running_describe(struct section *s, const struct section_report *r)
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
	h->common = (struct record_common){
		.flags = e->flags, .preempt_count = e->locks, .pid = (int32_t)e->pid };
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
		    (uint32_t)(offsetof(struct stack_record, caller) +
			       r->nr_stack * sizeof(r->stack[0])));
}

/* Records are the thread's; a wakeup's those of all. */
static bool belongs(const struct latency *l, const struct section_report *r,
		    const struct ring_record *rec)
{
	const struct record_common *common = rec->record;
	const struct hit h = { .record = rec->record, .size = rec->size };

	return rec->size >= sizeof(*common) &&
	       (l->watch->all_threads || (uint32_t)common->pid == r->end.pid) &&
	       latency_keeps(l, &h, true);
}

/* What was overrun before a record of the section may have been the section's. */
static void add_loss(struct section *s, const struct section_report *r,
		     const struct ring_record *rec)
{
	if (rec->lost && rec->time >= r->start.time)
		section_lost(s, rec->cpu, rec->lost);
}

/* Of CPUs whose oldest record comes after the section everything may have been. */
static void add_losses_behind(struct section *s, const struct section_report *r,
			      struct ring_iter *it, uint32_t cpus)
{
	struct ring_record rec;

	for (uint32_t cpu = 0; cpu < cpus; cpu++)
		if (ring_iter_peek_cpu(it, cpu, &rec))
			add_loss(s, r, &rec);
}

/* Until there is a newer one: then it is of no use any more. */
static void add_records(struct latency *l, struct section *s, const struct section_report *r,
			uint32_t live)
{
	data_ref buffer = instance_buffer_at(l->inst, r->buffer);
	struct ring_record rec;
	struct ring_iter *it;
	unsigned int nr = 0;

	if (!buffer || ring_iter_open_told(l->inst->model->session, buffer, &it))
		return;
	while (ring_iter_next(it, &rec) == 1 && (++nr % LOOK_EVERY || live_of(l) == live)) {
		add_loss(s, r, &rec);
		if (rec.time > r->end.time)
			break;
		if (rec.time >= r->start.time && belongs(l, r, &rec))
			section_add(s, rec.cpu, rec.time, rec.record, rec.size);
	}
	add_losses_behind(s, r, it, l->inst->model->nr_cpus);
	ring_iter_close(it);
}

static struct section *running_build(struct latency *l, const struct section_report *r,
				     uint32_t live)
{
	struct section *s = section_create();
	struct end_hit start, end;

	if (!s)
		return NULL;
	running_describe(s, r);
	end_hit(&start, &r->start);
	end_hit(&end, &r->end);
	l->watch->begins(l, s, &start.hit, r);
	add_records(l, s, r, live);
	l->watch->ends(l, s, &end.hit, r);
	add_stack(s, r);
	return s;
}

/* What programs write after this load of `live` is of the next one. */
static bool is_newest(const struct latency *l, uint32_t live)
{
	/* Pairs with the release in win(): of a buffer that records again all was read before. */
	atomic_thread_fence(memory_order_acquire);
	return live_of(l) == live;
}

/* Whether there is nothing more to do: false: another one came meanwhile. */
static bool take_newest(struct latency *l, uint32_t before)
{
	const uint32_t live = live_of(l), number = live_number(live);
	struct section *s = NULL;
	struct section_report r;

	if (number == l->reported)
		return true;
	if (copy_report(l, live, before, &r) && running_count(l, &r, number))
		s = running_build(l, &r, live);
	if (!is_newest(l, live)) {
		section_put(s);
		return false;
	}
	l->reported = number;
	if (s) {
		pthread_mutex_lock(&l->inst->model->watch_lock);
		section_put(latency_show(l, s, running_length_of(&r)));
		pthread_mutex_unlock(&l->inst->model->watch_lock);
	}
	return true;
}

static void running_take_in(struct latency *l, uint32_t before)
{
	for (int i = 0; i < TRIES && !take_newest(l, before); i++)
		;
}

void running_forget(struct latency *l)
{
	const uint32_t before = generation_of(l);

	if (!l->live)
		return;
	tell_generation(l);
	/* What had ended by then counts. */
	running_take_in(l, before);
	tell_longest(l);
}

void running_restart(struct latency *l)
{
	if (!l->live)
		return;
	tell_generation(l);
	tell_longest(l);
}

void running_take(struct latency *l)
{
	if (!l->live)
		return;
	l->stopped = l->inst->stopped;
	/*
	 * Of those that end while somebody reads none is reported, so the newest is there as a
	 * whole.
	 */
	tell_thresh(l);
	running_take_in(l, generation_of(l));
}

void running_limit(struct latency *l)
{
	if (l->live)
		tell_longest(l);
}
