/* SPDX-License-Identifier: MIT */
/*
 * section.c - what latency tracers watch for: signals blocked, locks held, the program's own
 * sections, wakeups
 *
 *     lock.c, signal.c, tf_critical_start() --agent_section_change()--> begin ... end
 *     wake.c: wakes ... runs again        ---agent_section_begin(), _end()-->
 *                                                    |
 *               as long as it has to be, and begun after the last one --> struct section_report
 *
 * C1  A section belongs to its thread: until it is reported no other thread
 *     sees it. A signal handler may run at any point. It undoes what it changes,
 *     and a section that is on hides those inside it.
 * C2  It is not known what was on before the watch began: when the watch's
 *     generation changes, all state is forgotten. An end without a beginning is
 *     ignored.
 * C3  instance_state.live decides between threads: of all sections that began at
 *     one number one is reported. Its report is complete before it is named there,
 *     so a thread that sees the number finds it, also after the thread that
 *     reported was killed. The maximum is updated after that. A thread that
 *     finds the number raised but the maximum not yet updated reads the
 *     maximum from the report.
 * C4  The same step swaps the buffers. So if a section is reported, nobody swapped
 *     between its beginning and its end, and all its records are in the buffer
 *     that is left alone from then on.
 * C5  What the server sets (struct section_watch, tracing_on) is loaded relaxed:
 *     each is a number of its own, and the server checks each report. A section
 *     that was on when they changed is dropped because of its generation.
 */
#include "agent/state.h"
#include "agent/syscall.h"
#include "plane/clock.h"

enum { LONGEST_TRIES = 100 };

/* Used while nothing is watched. */
static const _Atomic uint32_t none;

const _Atomic uint32_t *agent_section_kinds = &none;

void section_start(void)
{
	/* Pairs with the dependency of the loads in agent_section_kinds_of(). */
	__atomic_store_n(&agent_section_kinds, &plane_header(&agent.plane)->sections.kinds,
			 __ATOMIC_RELEASE);
}

void section_stop(void)
{
	/* As above; `none` has been there since load. */
	__atomic_store_n(&agent_section_kinds, &none, __ATOMIC_RELEASE);
}

/* ---- What is shared ---- */

static const struct section_watch *watch_of(unsigned int watch)
{
	return &plane_header(&agent.plane)->sections.watch[watch];
}

static struct program_tables *tables_of(void)
{
	return plane_given(&agent.plane, plane_header(&agent.plane)->programs);
}

static struct section_log *log_of(unsigned int watch)
{
	return &tables_of()->sections[watch];
}

static struct instance_state *instance_of(unsigned int watch)
{
	/* Acquire: pairs with the release in running_open(). */
	uint32_t i = atomic_load_explicit(&watch_of(watch)->instance, memory_order_acquire);

	return plane_instance(&agent.plane, i < LAYOUT_MAX_INSTANCES ? i : 0);
}

static uint32_t generation_of(unsigned int watch)
{
	/* Acquire: pairs with the release in tell_generation(). */
	return atomic_load_explicit(&watch_of(watch)->generation, memory_order_acquire);
}

static bool counts(unsigned int watch, uint64_t ns)
{
	/* Relaxed: C5. */
	uint64_t thresh = atomic_load_explicit(&watch_of(watch)->thresh, memory_order_relaxed);

	/* Relaxed: longest_at() loads it again. */
	return thresh ? ns >= thresh
		      : ns > atomic_load_explicit(&log_of(watch)->longest, memory_order_relaxed) >>
				16;
}

/* ---- A report ---- */

/* A thread without restartable sequences asks for its CPU only when it reports. */
static void report_cpus(struct section_report *r)
{
	uint32_t cpu = 0;

	if ((int32_t)r->end.cpu < 0) {
		if (!agent_restricted())
			agent_syscall(SYS_getcpu, &cpu, 0, 0);
		r->end.cpu = cpu;
	}
	if ((int32_t)r->start.cpu < 0)
		r->start.cpu = r->end.cpu;
}

/* Addresses are the process's own until the report is made; the CPU may be negative. */
static void describe(const struct agent_thread *t, struct section_end *e, const void *ip,
		     const void *parent)
{
	e->ip = (uintptr_t)ip;
	e->parent = (uintptr_t)parent;
	e->pid = t->pid;
	e->cpu = (uint32_t)*t->cpu;
	e->flags = t->flags;
	e->locks = t->locks;
	e->translated = false;
}

static void translate(struct agent_thread *t, struct section_end *out, const struct section_end *e)
{
	*out = *e;
	if (e->translated)
		return;
	out->ip = agent_address(t, (const void *)e->ip);
	out->parent = agent_address(t, (const void *)e->parent);
}

/* Whether the report belongs to a number before this one. */
static bool is_past(uint64_t state, uint32_t number)
{
	return !state || (((uint32_t)(state >> 1) - number) & SECTION_NUMBER) > SECTION_NUMBER / 2;
}

/*
 * Claims a report that no thread is writing now. It must not be named, or about to be: reports of
 * this number and of later ones may be. A report whose writer was killed stays claimed. NULL: there
 * is none.
 */
static struct section_report *report_claim(struct section_log *log, uint32_t number)
{
	for (uint32_t i = 1; i <= SECTION_REPORTS; i++) {
		struct section_report *r = &log->reports[(number + i) % SECTION_REPORTS];
		/* Relaxed: the compare-and-swap finds out whether it is still so. */
		uint64_t state = atomic_load_explicit(&r->state, memory_order_relaxed);

		/*
		 * Acquire: pairs with the release in report(): what this thread writes comes after
		 * what was written before.
		 */
		if (!(state & 1) && is_past(state, number) &&
		    atomic_compare_exchange_strong_explicit(&r->state, &state, state | 1,
							    memory_order_acquire,
							    memory_order_relaxed)) {
			/*
			 * Pairs with the fence in copy_report(): a reader that sees what this
			 * thread writes next sees the state odd.
			 */
			atomic_thread_fence(memory_order_release);
			return r;
		}
	}
	return NULL;
}

/* C3: the time that has to be exceeded at this number. Stores it, if that was not done yet. */
static uint64_t longest_at(struct section_log *log, struct instance_state *inst, uint32_t live,
			   uint32_t generation)
{
	const struct section_report *r = &log->reports[live_report(live)];
	/*
	 * Acquire: pairs with the release below. If its number is newer than `live`, this thread
	 * also sees that `live` is past.
	 */
	uint64_t told = atomic_load_explicit(&log->longest, memory_order_acquire), ns;

	/* If others store it again and again, one of them has been faster. */
	for (int i = 0; (told & 0xffff) != (live_number(live) & 0xffff); i++) {
		if (i == LONGEST_TRIES)
			return UINT64_MAX;
		ns = told >> 16;
		/* Relaxed: win() named it when it was complete, and `live` has been acquired. */
		if (atomic_load_explicit(&r->state, memory_order_relaxed) ==
		    section_state(live_number(live), generation))
			ns = r->end.time - r->start.time;
		/*
		 * Pairs with the fence in report_claim(): as long as `live` has not changed, no
		 * thread writes what was read.
		 */
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&inst->live, memory_order_relaxed) != live)
			return UINT64_MAX;
		/* Release and acquire pair with each other, and with the acquire above. */
		if (atomic_compare_exchange_weak_explicit(
			    &log->longest, &told, section_longest(ns, live_number(live)),
			    memory_order_release, memory_order_acquire))
			return ns;
	}
	return told >> 16;
}

/* C3, C4. -> whether `live` was unchanged; *live: its new value */
static bool win(struct instance_state *inst, uint32_t *live, uint32_t report)
{
	/* Relaxed: only their presence counts. */
	uint32_t both = atomic_load_explicit(&inst->buffers[0], memory_order_relaxed) &&
			atomic_load_explicit(&inst->buffers[1], memory_order_relaxed);
	uint32_t next = live_make(live_number(*live) + 1, report, *live ^ both);

	/*
	 * Release: pairs with the acquires of `live`: the report is complete. Each ring orders its
	 * own records.
	 */
	if (!atomic_compare_exchange_strong_explicit(&inst->live, live, next, memory_order_release,
						     memory_order_relaxed))
		return false;
	*live = next;
	return true;
}

/* Done now: the thread may be gone before the server looks. A1 is about hits, and this is rare. */
static void report_task(struct section_report *r)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t	nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = { .size = sizeof(attr) };

	r->policy = r->uid = SECTION_UNKNOWN;
	if (!agent_may_ask())
		return;
	r->uid = (uint32_t)agent_syscall(SYS_getuid);
	if (agent_syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0))
		return;
	r->policy = attr.policy;
	r->nice = attr.nice;
	r->rt_prio = attr.priority;
}

static void report_fill(struct agent_thread *t, struct section_report *r,
			const struct section_mark *m, const struct section_end *end,
			const void *frame)
{
	translate(t, &r->start, &m->at);
	translate(t, &r->end, end);
	report_cpus(r);
	__builtin_memcpy(r->comm, t->comm, sizeof(r->comm));
	report_task(r);
	r->nr_stack = frame ? stack_walk(t, frame, r->stack, SECTION_STACK) : 0;
}

static void report(struct agent_thread *t, unsigned int watch, const struct section_mark *m,
		   const struct section_end *end, const void *frame)
{
	struct instance_state *inst = instance_of(watch);
	struct section_log *log = log_of(watch);
	/* Pairs with the release in win(). */
	uint32_t live = atomic_load_explicit(&inst->live, memory_order_acquire);
	uint64_t state = section_state(m->number + 1, m->generation);
	struct section_report *r;

	/* Relaxed: C5. */
	if (live_number(live) != m->number ||
	    (!atomic_load_explicit(&watch_of(watch)->thresh, memory_order_relaxed) &&
	     end->time - m->at.time <= longest_at(log, inst, live, m->generation)))
		return;
	r = report_claim(log, m->number);
	if (!r)
		return;
	report_fill(t, r, m, end, frame);
	r->buffer = live & 1;
	/* Pairs with the acquires in report_claim() and in copy_report(). */
	atomic_store_explicit(&r->state, state, memory_order_release);
	if (win(inst, &live, (uint32_t)(r - log->reports)))
		longest_at(log, inst, live, m->generation);
	else /* It is free again, unless another thread has claimed it. Relaxed: it continues the
		release sequence of the store above. */
		atomic_compare_exchange_strong_explicit(&r->state, &state, 0, memory_order_relaxed,
							memory_order_relaxed);
}

/* ---- Begin and end ---- */

bool agent_section_begin(struct agent_thread *t, unsigned int watch, struct section_mark *m,
			 const void *ip, const void *parent)
{
	struct instance_state *inst;

	/* Before the instance: if a new generation comes in between, the end drops the section. */
	m->generation = generation_of(watch);
	inst = instance_of(watch);
	/* Relaxed: C5. */
	if (!atomic_load_explicit(&inst->tracing_on, memory_order_relaxed))
		return false;
	/* Relaxed: it is only compared later. */
	m->number = live_number(atomic_load_explicit(&inst->live, memory_order_relaxed));
	describe(t, &m->at, ip, parent);
	m->at.time = clock_now(&plane_header(&agent.plane)->tsc, inst);
	return true;
}

void agent_section_end(struct agent_thread *t, unsigned int watch, const struct section_mark *m,
		       const void *ip, const void *parent, const void *frame)
{
	struct instance_state *inst = instance_of(watch);
	struct section_end end = { .time = clock_now(&plane_header(&agent.plane)->tsc, inst) };

	/* Relaxed: C5. */
	if (end.time < m->at.time || m->generation != generation_of(watch) ||
	    !counts(watch, end.time - m->at.time) ||
	    !atomic_load_explicit(&inst->tracing_on, memory_order_relaxed))
		return;
	describe(t, &end, ip, parent);
	report(t, watch, m, &end, frame);
}

void section_attached(void)
{
	struct program_tables *tables = tables_of();

	agent.here->woken = &tables->woken[agent_process()];
	/* Relaxed: a number of its own, as in agent_wakeup_tell(). */
	atomic_store_explicit(agent.here->woken, 0, memory_order_relaxed);
}

uint32_t agent_slot_index(const struct agent_thread *t)
{
	const struct slot *slot = agent_slot(t);

	return slot ? (uint32_t)(slot - plane_slot(&agent.plane, 0)) : UINT32_MAX;
}

uint32_t agent_process(void)
{
	return (agent.here->process - 1) % LAYOUT_MAX_PROCESSES;
}

struct waiter *agent_waiters(uint32_t *nr, _Atomic uint32_t **end)
{
	struct program_tables *tables = tables_of();
	/* Relaxed: it only grows, and the slots of this process are below it. */
	uint32_t slots = atomic_load_explicit(&plane_header(&agent.plane)->slots_high,
					      memory_order_relaxed);

	*nr = slots < LAYOUT_MAX_SLOTS ? slots : LAYOUT_MAX_SLOTS;
	*end = &tables->waiters_end;
	return tables->waiters;
}

void agent_wakeup_tell(uint32_t process, bool pending)
{
	struct program_tables *tables = tables_of();

	/* C2. Relaxed: wake.c orders it. */
	atomic_store_explicit(&tables->woken[process % LAYOUT_MAX_PROCESSES],
			      pending ? generation_of(SECTION_WATCH_WAKEUP) + 1 : 0,
			      memory_order_relaxed);
}

bool agent_wakeup_pending(void)
{
	return section_wakeup_pending();
}

/* ---- Critical sections: what is on in a thread ---- */

/* C2 */
static void settle(struct agent_section *s)
{
	uint32_t generation = generation_of(SECTION_WATCH_CRITICAL);

	if (s->generation == generation)
		return;
	*s = (struct agent_section){ .generation = generation };
}

static bool holds(const struct agent_section *s, uint32_t kinds)
{
	return s->state & kinds & SECTION_CRITICAL;
}

/* Locks and own sections are counted: the end of an inner one does not end the outer one. */
static void count(struct agent_section *s, uint32_t kind, bool on)
{
	uint16_t *nr = kind == SECTION_PREEMPT ? &s->locks : kind == SECTION_OWN ? &s->own : NULL;

	if (nr && on && *nr < UINT16_MAX)
		++*nr;
	else if (nr && !on && *nr)
		--*nr;
	if (on)
		s->state |= kind;
	else if (!nr || !*nr)
		s->state &= ~kind;
}

void agent_section_change(struct agent_thread *t, uint32_t kind, bool on, const void *ip,
			  const void *parent, const void *frame)
{
	/* Relaxed: as in agent_section_kinds_of(). */
	uint32_t kinds = atomic_load_explicit(agent_section_kinds, memory_order_relaxed);
	struct agent_section *s = &t->section;
	bool before;

	/* A child of vfork() uses this thread's slot. */
	if (t->no_rseq)
		return;
	settle(s);
	before = holds(s, kinds);
	count(s, kind, on);
	if (before == holds(s, kinds))
		return;
	if (!before && !s->on) {
		s->on = agent_section_begin(t, SECTION_WATCH_CRITICAL, &s->mark, ip, parent);
	} else if (before && s->on) {
		s->on = false;
		agent_section_end(t, SECTION_WATCH_CRITICAL, &s->mark, ip, parent, frame);
	}
}

/* struct tf_ops */
void section_own(int on, const void *ip, const void *parent, const void *frame)
{
	struct agent_thread *t = agent_section_watched(SECTION_OWN) ? agent_thread() : NULL;

	if (t)
		agent_section_change(t, SECTION_OWN, on, ip, parent, frame);
}
