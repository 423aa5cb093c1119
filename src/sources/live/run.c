/* SPDX-License-Identifier: MIT */
/*
 * run.c - rounds: pages of all CPUs are read, and their records go through hit() by time
 *
 *     thread:  poll(all CPUs half full, 10 ms) -> lock -> round -> unlock
 *     server:  before a file is read, before a command:  lock -> round -> unlock
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "sources/live/state.h"
#include "sources/record.h"

enum {
	STACK_BETWEEN		= 64,		/* records between one and its stack */
	STACK_LOOKS_AT_ONCE	= 20,
	STACK_LOOKS		= 1000,
	STACK_PAUSE_NS		= 100000,	/* between two of the others */
};

/* ---- one record ---- */

static bool is_of_calls(const struct live *l, const struct live_cpu *c)
{
	return c >= l->cpus + l->nr_cpus;
}

static bool has_plan(const struct live *l, uint32_t type)
{
	/* Relaxed: only whether there is one. hit() loads it again in its critical section. */
	return atomic_load_explicit(&plane_event(l->plane, type)->plan, memory_order_relaxed);
}

static bool expects_stack(const struct live *l, const struct live_cpu *c)
{
	if (is_of_calls(l, c))
		return l->calls.stacks && c->record.type == LAYOUT_FUNCTION_ID;
	/* Acquire: pairs with arm_stacks(), which has found the probes. */
	return atomic_load_explicit(&l->expects_stacks, memory_order_acquire);
}

/*
 * The stack of a record is the next kernel_stack of the same context. Records of interrupts may lie
 * between, with their stacks. -EAGAIN: the kernel may still write it.
 */
static int find_stack(const struct live *l, const struct live_cpu *c, struct subbuf_record *out)
{
	const unsigned int level = record_level(c->record.data);
	struct live_peek peek = live_cpu_peek_begin(c);

	for (int i = 0; i < STACK_BETWEEN; i++) {
		if (!live_cpu_peek(c, &peek, out))
			return -EAGAIN;
		if (record_level(out->data) <= level)
			return out->type == l->stack_type ? 0 : -ENOENT;
	}
	return -ENOENT;
}

void live_stack_fill(struct live *l, const struct live_cpu *c, struct hit *h)
{
	struct subbuf_record r;

	if (!expects_stack(l, c) || find_stack(l, c, &r))
		return;
	record_stack(&r, l->stack_at, &l->probes, false, l->stack, h);
	h->stack_time = live_clock_stamp(l, r.time);
}

/*
 * The kernel may write a record's stack only after the record was read, because a virtual CPU may
 * pause between the two. The thread then reads again.
 */
static void await_stack(const struct live *l, struct live_cpu *c)
{
	const struct timespec pause = { 0, STACK_PAUSE_NS };
	struct subbuf_record r;

	if (!expects_stack(l, c))
		return;
	for (int i = 0; i < STACK_LOOKS && find_stack(l, c, &r) == -EAGAIN; i++) {
		if (i >= STACK_LOOKS_AT_ONCE)
			nanosleep(&pause, NULL);
		live_cpu_read(c, 0);
	}
}

static void pass_record(struct live *l, struct live_cpu *c)
{
	const struct subbuf_record *r = &c->record;
	const bool tells = task_names_rule_for(&l->names, r->type), planned = has_plan(l, r->type);
	/* Relaxed: it is a function, and its data is under the model's watch_lock. */
	void (*observe)(struct model *m, const struct hit *h, uint64_t recorded) =
		atomic_load_explicit(&l->model->observe, memory_order_relaxed);
	uint64_t recorded = 0;
	struct hit h = {
		.size = r->size, .cpu = c->cpu, .writer = LIVE_WRITER,
		.synth_preempt = RECORD_SYNTH_PREEMPT,
	};

	l->records++;
	l->late += r->time < l->passed;
	if (r->time > l->passed)
		l->passed = r->time;
	if (is_of_calls(l, c)) {
		await_stack(l, c);
		live_calls_pass(l, c);
		return;
	}
	if ((!planned && !observe) || r->type == l->stack_type) {
		if (tells) {
			live_names_follow(l, r, true);
			live_names_follow(l, r, false);
		}
		return;
	}
	await_stack(l, c);
	h.record = r->data;
	if (tells)
		live_names_follow(l, r, true);
	h.time = live_clock_stamp(l, r->time);
	h.comm = live_names_find(l, (int)subbuf_u32(r->data + 4), c->cpu);
	live_stack_fill(l, c, &h);
	if (planned) {
		recorded = hit(l->plane, l->slot, &h);
		live_merge_stage(l, &h, r->time);
	}
	l->hits++;
	/* A latency tracer watches (tracers/latency.h). */
	if (observe)
		observe(l->model, &h, recorded);
	if (tells)
		live_names_follow(l, r, false);
}

static void pass(struct live *l, struct live_cpu *c)
{
	pass_record(l, c);
	live_book_pass(l, c->cpu, is_of_calls(l, c) ? LIVE_CALLS : LIVE_EVENTS);
}

/* ---- the order ---- */

/* The CPU whose record is first; of equal times the lowest. *until: when another one's turn is. */
static struct live_cpu *first_of(struct live *l, uint64_t horizon, uint64_t *until)
{
	struct live_cpu *first = NULL;

	*until = horizon;
	for (struct live_cpu *c = l->cpus; c < l->cpus + l->nr_cursors; c++) {
		if (!c->has)
			continue;
		if (!first || c->record.time < first->record.time) {
			if (first && first->record.time < *until)
				*until = first->record.time;
			first = c;
		} else if (c->record.time < *until) {
			*until = c->record.time;
		}
	}
	return first && first->record.time <= horizon ? first : NULL;
}

static void pass_until(struct live *l, uint64_t horizon)
{
	struct live_cpu *c;
	uint64_t until;

	while ((c = first_of(l, horizon, &until)))
		do {
			pass(l, c);
			live_cpu_next(c);
		} while (c->has && c->record.time < until);
}

/* Reads all CPUs. Returns whether one has more from before the horizon. */
static bool read_cpus(struct live *l, uint64_t now, uint64_t *complete)
{
	bool more = false;

	*complete = now;
	for (struct live_cpu *c = l->cpus; c < l->cpus + l->nr_cursors; c++) {
		more |= live_cpu_read(c, now) && c->complete < now;
		if (c->complete < *complete)
			*complete = c->complete;
	}
	return more;
}

void live_round(struct live *l)
{
	const uint64_t begin = live_system_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t now, complete;
	bool more;

	live_clock_round(l);
	live_names_round(l);
	l->second = (uint32_t)(live_system_ns(CLOCK_MONOTONIC_COARSE) / 1000000000u);
	now = live_clock_now(&l->clock);
	do {
		more = read_cpus(l, now, &complete);
		/* After reading: what was read before has times of our clock then. */
		if (live_clock_holds(l))
			pass_until(l, complete);
	} while (more);
	l->rounds++;
	l->busy += live_system_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
}

/* ---- the thread ---- */

static bool is_ending(const struct live *l)
{
	/* Relaxed: what was stored was stored before the descriptor was written. */
	return atomic_load_explicit(&l->ending, memory_order_relaxed);
}

static void drain_wake(const struct live *l)
{
	uint64_t count;

	if (read(l->wake, &count, sizeof(count)) < 0)
		return;		/* nothing was written */
}

/* While nothing is armed there is nothing to read. */
static int wait_ms(const struct live *l)
{
	/* Relaxed: see arm_count(). */
	return atomic_load_explicit(&l->nr_armed, memory_order_relaxed) ? LIVE_SPAN_MS : -1;
}

/* Cursors may have come. Under live->lock. */
static nfds_t wait_fds(const struct live *l, struct pollfd *p)
{
	p[0] = (struct pollfd){ .fd = l->wake, .events = POLLIN };
	for (uint32_t i = 0; i < l->nr_cursors; i++)
		p[i + 1] = (struct pollfd){ .fd = l->cpus[i].fd, .events = POLLIN };
	return l->nr_cursors + 1;
}

static void *live_thread(void *arg)
{
	struct live *l = arg;
	struct pollfd *p = calloc(2 * l->nr_cpus + 1, sizeof(*p));
	nfds_t nr = 1;

	if (!p)
		return NULL;	/* barriers read */
	p[0] = (struct pollfd){ .fd = l->wake, .events = POLLIN };
	while (!is_ending(l)) {
		const int ms = wait_ms(l);

		/* Pages that are left of what nobody wants would be readable for ever. */
		if (poll(p, ms < 0 ? 1 : nr, ms) > 0 && p[0].revents)
			drain_wake(l);
		pthread_mutex_lock(&l->lock);
		live_round(l);
		nr = wait_fds(l, p);
		pthread_mutex_unlock(&l->lock);
	}
	free(p);
	return NULL;
}

int live_run_begin(struct live *l)
{
	int err;

	l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->wake < 0)
		return -errno;
	err = -pthread_create(&l->thread, NULL, live_thread, l);
	if (err)
		l->thread = 0;	/* the library may have written to it */
	return err;
}

void live_run_wake(struct live *l)
{
	const uint64_t one = 1;

	if (l->wake >= 0 && write(l->wake, &one, sizeof(one)) != sizeof(one))
		return;		/* the counter is full: the thread wakes anyway */
}

void live_run_end(struct live *l)
{
	if (!l->thread)
		return;
	/* Relaxed: the descriptor orders. */
	atomic_store_explicit(&l->ending, true, memory_order_relaxed);
	live_run_wake(l);
	pthread_join(l->thread, NULL);
}
