/* SPDX-License-Identifier: MIT */
/*
 * clock.c - the kernel's time stamps and those of the session (L2)
 *
 *     x86-tsc    ticks ---- the session's own scale ----> session time
 *     mono       ns    ---- + to_session, compared at the begin of each round
 *                ns    ---- session time, where the session's clock is mono, too
 *
 * The instance whose events are shown may have another clock than the counter. Its times are the
 * session's plus the distance of both clocks at the begin of the round: in a round of 10 ms they
 * do not part by more than some nanoseconds.
 *
 * Another process may write to trace_clock of our instances. The kernel then empties their buffers,
 * so no buffer has times of two clocks. Each round asks after it has read pages, and before their
 * records pass: no record passes with a time of another clock.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "plane/clock.h"
#include "sources/live/state.h"

enum {
	JIFFY		= 10000000,	/* ns, as plane/clock.c has it */
	COMPARISONS	= 5,		/* of two clocks, at most */
	CLOSE		= 200,		/* ns: no further comparison */
	CLOCKS_BYTES	= 256,		/* of trace_clock */
};

uint64_t live_system_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Where the counter is no clock, the session has the clock that the kernel then has. */
static bool clocks_are_one(const struct live_clock *c)
{
	return !c->scale->valid;
}

uint64_t live_clock_session(const struct live_clock *c)
{
	return c->scale->valid ? clock_scaled(c->scale, counter_read()) :
				 live_system_ns(CLOCK_MONOTONIC);
}

/*
 * What is to be added to the session's time to have the other clock's. *error: how far off. Of some
 * comparisons the closest: one may have been interrupted.
 */
static int64_t compare_clocks(const struct live_clock *c, clockid_t id, uint64_t *error)
{
	int64_t distance = 0;

	*error = UINT64_MAX;
	for (int i = 0; i < COMPARISONS && *error > CLOSE; i++) {
		uint64_t before = live_clock_session(c), other = live_system_ns(id), half;

		half = (live_clock_session(c) - before) / 2;
		if (half >= *error)
			continue;
		*error = half;
		distance = (int64_t)(other - (before + half));
	}
	return distance;
}

/* The counter at a time, to a nanosecond. */
static uint64_t clock_ticks(const struct clock_scale *scale, uint64_t time)
{
	const unsigned __int128 ns = time - (uint64_t)scale->offset;

	return scale->mult ? (uint64_t)((ns << scale->shift) / scale->mult) : time;
}

static bool has_clock(const struct live *l, const char *name)
{
	size_t len;
	char *text = kernel_read(l->kernel.dir, "trace_clock", &len);
	bool found = text && strstr(text, name);

	free(text);
	return found;
}

int live_clock_choose(struct live *l)
{
	l->clock.scale = &session_header(l->model->session)->tsc;
	l->clock.counter = l->clock.scale->valid && has_clock(l, "x86-tsc") &&
			   !kernel_write(l->kernel.dir, "trace_clock", "x86-tsc");
	return l->clock.counter ? 0 : kernel_write(l->kernel.dir, "trace_clock", "mono");
}

/* ---- another process may change it ---- */

const char *live_clock_name(const struct live_clock *c)
{
	return c->counter ? "x86-tsc" : "mono";
}

void live_clock_watch(struct live *l, enum live_instance which, int dir)
{
	int *file = &l->clock.files[which];

	if (*file >= 0)
		close(*file);
	*file = dir < 0 ? -1 : openat(dir, "trace_clock", O_RDONLY | O_CLOEXEC);
}

/* The name in brackets is the clock. A file that cannot be read tells nothing. */
static bool clock_is_ours(const struct live_clock *c, enum live_instance which)
{
	const char *name = live_clock_name(c), *at;
	char text[CLOCKS_BYTES];
	const ssize_t n = c->files[which] < 0 ? 0 : pread(c->files[which], text, sizeof(text) - 1,
							  0);

	text[n > 0 ? n : 0] = '\0';
	at = strchr(text, '[');
	return !at || (!strncmp(at + 1, name, strlen(name)) && at[1 + strlen(name)] == ']');
}

/* The kernel empties the buffers once more: nothing that came meanwhile is read. */
static void clock_set_again(struct live *l, enum live_instance which)
{
	const uint32_t first = which == LIVE_EVENTS ? 0 : l->nr_cpus;
	const uint32_t end = which == LIVE_EVENTS ? l->nr_cpus : l->nr_cursors;

	l->clock.nr_changed++;
	(void)kernel_write(which == LIVE_EVENTS ? l->kernel.dir : l->kernel.calls, "trace_clock",
			   live_clock_name(&l->clock));
	for (uint32_t i = first; i < end && i < l->nr_cursors; i++)
		live_cpu_discard(&l->cpus[i]);
	if (which == LIVE_CALLS)
		live_calls_forget(&l->calls);
	live_book_empty(l, which);
}

bool live_clock_holds(struct live *l)
{
	bool holds = true;

	for (enum live_instance i = 0; i < LIVE_INSTANCES; i++)
		if (!clock_is_ours(&l->clock, i)) {
			clock_set_again(l, i);
			holds = false;
		}
	return holds;
}

/* ---- times ---- */

uint64_t live_clock_now(const struct live_clock *c)
{
	return c->counter ? counter_read() : live_system_ns(CLOCK_MONOTONIC);
}

static int64_t instance_distance(const struct live_clock *c, uint32_t id)
{
	uint64_t error;

	switch (id) {
	case CLOCK_ID_MONO:
	case CLOCK_ID_UPTIME:
		return clocks_are_one(c) ? 0 : compare_clocks(c, CLOCK_MONOTONIC, &error);
	case CLOCK_ID_MONO_RAW:
		return compare_clocks(c, CLOCK_MONOTONIC_RAW, &error);
	case CLOCK_ID_BOOT:
		return compare_clocks(c, CLOCK_BOOTTIME, &error);
	case CLOCK_ID_TAI:
		return compare_clocks(c, CLOCK_TAI, &error);
	default:
		return 0;
	}
}

void live_clock_round(struct live *l)
{
	struct live_clock *c = &l->clock;
	uint64_t error;

	if (!c->counter && !clocks_are_one(c)) {
		c->to_session = -compare_clocks(c, CLOCK_MONOTONIC, &error);
		if (error > c->error)
			c->error = error;
	}
	/* Relaxed: the server changes it under live->lock, see hook_hold(). */
	c->id = atomic_load_explicit(&l->model->top->state->clock, memory_order_relaxed);
	c->to_instance = instance_distance(c, c->id);
}

uint64_t live_clock_time(const struct live_clock *c, uint64_t stamp)
{
	return c->counter ? clock_scaled(c->scale, stamp) : stamp + (uint64_t)c->to_session;
}

uint64_t live_clock_place(struct live *l, uint64_t time)
{
	const struct live_clock *c = &l->clock;

	switch (c->id) {
	case CLOCK_ID_COUNTER:
		/* Relaxed: only that no number comes twice matters. */
		return 1 + atomic_fetch_add_explicit(&l->model->top->state->counter, 1,
						     memory_order_relaxed);
	case CLOCK_ID_UPTIME:
		return (time + (uint64_t)c->to_instance) / JIFFY;
	case CLOCK_ID_X86_TSC:
		return c->counter ? clock_ticks(c->scale, time) : time;
	default:
		return time + (uint64_t)c->to_instance;
	}
}

uint64_t live_clock_stamp(struct live *l, uint64_t stamp)
{
	const struct live_clock *c = &l->clock;

	if (c->counter && c->id == CLOCK_ID_X86_TSC)
		return stamp;
	return live_clock_place(l, live_clock_time(c, stamp));
}
