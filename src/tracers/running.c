/* SPDX-License-Identifier: MIT */
/*
 * running.c - latency tracers on running programs: publishes what to watch for, and takes the
 * reported sections
 *
 *     init, options, thresholds --> config: section_control        (programs look there:
 *                                                                  agent/emit/section.c)
 *     newest section  <-- data: instance_state.live, section_log.reports, and the instance's buffer
 *     of that time
 *
 * A program that reports a section swaps the instance's buffers. So the records of the newest
 * section are in the buffer that does not record, until the next report. The server therefore reads
 * only the newest section, and uses it only if it is still the newest one after reading. If reports
 * come too fast for that, the last section that was read completely is shown. While somebody reads
 * the file trace, nobody reports (pause-on-trace), so the newest section can be read; the same
 * holds when the programs have ended. No section is missed then. The rings record meanwhile, so a
 * section that lasts longer than the reading has all its records.
 *
 * The data region is not trusted (R2): the server copies a report, and checks its numbers before it
 * uses them.
 */
#include <sched.h>
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

/*
 * Acquire: the report that `live` names is complete. Pairs with the release in win()
 * (agent/emit/section.c).
 */
static uint32_t live_of(const struct latency *l)
{
	return atomic_load_explicit(&l->inst->state->live, memory_order_acquire);
}

/* ---- Published to programs: independent numbers, so relaxed ---- */

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

/* Publishes the maximum. All sections up to now count as taken; the next one has to be longer. */
static void tell_longest(struct latency *l)
{
	/* Relaxed: for running programs it is stored only under the control lock. */
	uint64_t ns = atomic_load_explicit(&l->inst->max_latency, memory_order_relaxed);
	struct section_log *log = log_of(l);

	l->counted = live_number(live_of(l));
	/*
	 * Release: a thread that finds this number also sees `live` with the same number. Pairs
	 * with the acquires in longest_at() (agent/emit/section.c).
	 */
	if (log)
		atomic_store_explicit(&log->longest, section_longest(ns, l->counted),
				      memory_order_release);
}

/*
 * Publishes tracing_thresh, which may be written at any time. While somebody reads the trace, no
 * section is long enough.
 */
static void tell_thresh(const struct latency *l)
{
	/*
	 * Relaxed: independent numbers. A section that uses the old one ended before the new one
	 * was visible.
	 */
	uint64_t thresh =
		atomic_load_explicit(&l->inst->model->tracing_thresh, memory_order_relaxed);

	atomic_store_explicit(&watch_of(l)->thresh, l->stopped ? UINT64_MAX : thresh,
			      memory_order_relaxed);
}

/*
 * Frees the reports, which may be another instance's. A report that is being written is left to its
 * writer.
 */
static void free_reports(struct section_log *log)
{
	for (int i = 0; i < SECTION_REPORTS; i++) {
		/* Relaxed: only the state is read, not the report. */
		uint64_t state = atomic_load_explicit(&log->reports[i].state, memory_order_relaxed);

		/*
		 * Relaxed: a compare-and-swap continues the release sequence of report(), so the
		 * next report_claim() still pairs with that release.
		 */
		if (!(state & 1))
			atomic_compare_exchange_strong_explicit(&log->reports[i].state, &state, 0,
								memory_order_relaxed,
								memory_order_relaxed);
	}
}

/*
 * Whether the previous server had the same watch. Then programs have continued, and the newest
 * section is there.
 */
static bool goes_on(const struct latency *l)
{
	/* Relaxed: only servers store these, and the previous one is gone. */
	return l->inst->model->restoring &&
	       atomic_load_explicit(&control_of(l)->kinds, memory_order_relaxed) &&
	       atomic_load_explicit(&watch_of(l)->instance, memory_order_relaxed) == l->inst->index;
}

/*
 * With `live`, a reader of trace stops only the reports, not the rings. So a section that is in
 * progress has all its records when it ends.
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
		 * The generation is raised before and after. A thread that sees the new instance
		 * therefore finds another generation at its section's beginning or end.
		 */
		tell_generation(l);
		/*
		 * Release: after the first generation. Pairs with the acquire in instance_of() of
		 * agent/emit/section.c.
		 */
		atomic_store_explicit(&watch_of(l)->instance, l->inst->index, memory_order_release);
		tell_generation(l);
		free_reports(log);
		tell_longest(l);
	}
	tell_thresh(l);
	/*
	 * Release: the rest is stored before. It pairs with no acquire, because programs look with
	 * one relaxed load (agent_section_kinds_of()). A thread that sees this store but not the
	 * rest drops its section, because the generation differs.
	 */
	atomic_fetch_or_explicit(&control_of(l)->kinds, l->watch->kinds(l->tracer),
				 memory_order_release);
}

void running_close(struct latency *l)
{
	/* If the server ends, the next one continues with the watch. */
	if (!l->live || l->inst->model->closing)
		return;
	/*
	 * Relaxed: a section that begins before a thread sees this is dropped, because the
	 * generation is raised afterwards.
	 */
	atomic_fetch_and_explicit(&control_of(l)->kinds, ~l->watch->kinds(l->tracer),
				  memory_order_relaxed);
	tell_generation(l);
	tell_rings(l, false);
}

/* ---- A report ---- */

static void copy_words(uint64_t *to, const uint64_t *from, size_t nr)
{
	/* Relaxed, in whole words: a program may be writing. `state` shows that afterwards. */
	for (size_t i = 0; i < nr; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

/*
 * Copies the report that `live` names. `before`: the generation of sections that have ended by now,
 * or the present one. False: there is none, or there is a newer one by now.
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
	 * Pairs with the fence in report_claim(): a copy that was made while a program wrote is not
	 * used.
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

/*
 * Whether the report counts. It sets tracing_max_latency at the first look, even if its records can
 * only be read later.
 */
static bool running_count(struct latency *l, const struct section_report *r, uint32_t number)
{
	if (!is_sane(l, r))
		return false;
	if (l->counted == number)
		return true;
	if (!latency_counts(l, running_length_of(r)))
		return false;
	l->counted = number;
	/* Relaxed: the number is independent of other data, and stored under the control lock. */
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

/* As in the kernel, the real user of a task, by the server's user name space. */
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

/*
 * Asks the kernel for a thread that could not report its own scheduling. A thread that has ended
 * gets the defaults.
 */
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

/* An end of a section as a hit with a record of its thread. */
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

/*
 * Whether the record is part of the section. A wakeup contains the records of all threads, other
 * sections only those of their own thread.
 */
static bool belongs(const struct latency *l, const struct section_report *r,
		    const struct ring_record *rec)
{
	const struct record_common *common = rec->record;
	const struct hit h = { .record = rec->record, .size = rec->size };

	return rec->size >= sizeof(*common) &&
	       (l->watch->all_threads || (uint32_t)common->pid == r->end.pid) &&
	       latency_keeps(l, &h, true);
}

/* Records that were overrun before a record of the section may have been part of it. */
static void add_loss(struct section *s, const struct section_report *r,
		     const struct ring_record *rec)
{
	if (rec->lost && rec->time >= r->start.time)
		section_lost(s, rec->cpu, rec->lost);
}

/*
 * If a CPU's oldest record is later than the section, all its lost records may have been part of
 * it.
 */
static void add_losses_behind(struct section *s, const struct section_report *r,
			      struct ring_iter *it, uint32_t cpus)
{
	struct ring_record rec;

	for (uint32_t cpu = 0; cpu < cpus; cpu++)
		if (ring_iter_peek_cpu(it, cpu, &rec))
			add_loss(s, r, &rec);
}

/*
 * Adds the section's records. Stops if there is a newer report, because this one is useless then.
 */
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

/* Whether `live` is unchanged. What programs write after this load belongs to the next section. */
static bool is_newest(const struct latency *l, uint32_t live)
{
	/* Pairs with the release in win(): all reads of the buffer come before it records again. */
	atomic_thread_fence(memory_order_acquire);
	return live_of(l) == live;
}

/* Takes the newest report if it was not taken yet. False: a newer one came meanwhile. */
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
	/* Sections that had ended by then count. */
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
	 * If somebody reads the trace, this stops the reports, so the newest section can be read
	 * completely.
	 */
	tell_thresh(l);
	running_take_in(l, generation_of(l));
}

void running_limit(struct latency *l)
{
	if (l->live)
		tell_longest(l);
}
