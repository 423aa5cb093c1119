/* SPDX-License-Identifier: MIT */
/*
 * merge.c - triggers whose events come from the kernel and from programs (R28)
 *
 *     program    hit -> ring_write() --+
 *                                      +--> staged hits, by time --> hit_merged()
 *     kernel     round -> pass() ------+
 *
 * Programs and rounds put hits whole into the rings of one hidden instance (plane/action/stage.c).
 * They have times of the session's own clock, whatever the instances have. The server runs them in
 * the order of these times: at a barrier all, otherwise those older than the delay. By then a
 * writer that was interrupted between the time and the record has most likely ended. If it has not,
 * its hit is late, and is counted.
 */
#include <string.h>

#include "plane/ring/ring.h"
#include "sources/live/state.h"
#include "sources/record.h"

enum {
	HALF_FULL	= 50,		/* percent */
	AHEAD		= 1000000000,	/* ns: no writer's clock is so far before the server's */
};

/* 0: no trigger has ever run merged. */
static uint32_t staging_of(const struct live *l)
{
	/* Relaxed: it is stored before the plans that lead there are published. */
	return atomic_load_explicit(&l->model->staging, memory_order_relaxed);
}

void live_merge_stage(struct live *l, const struct hit *h, uint64_t stamp)
{
	const uint32_t staging = staging_of(l);

	if (staging)
		hit_stage_source(l->plane, l->slot, h, staging, live_clock_time(&l->clock, stamp));
}

/* ---- one staged hit ---- */

static bool merge_whole(const struct staged *s, uint32_t size)
{
	const uint64_t need = sizeof(*s) + ((uint64_t)s->size + 7) / 8 * 8 + s->nr_stack * 8ull;

	return size >= sizeof(*s) && s->size >= sizeof(struct record_common) && need <= size;
}

/* Programs wrote it: it may be anything. False: it is no hit. */
static bool run_staged(struct live *l, const struct ring_record *r)
{
	struct staged s;
	struct hit h = { .cpu = r->cpu, .writer = LIVE_MERGED };
	const char *record = (const char *)r->record + sizeof(s);

	if (r->size < sizeof(s))
		return false;
	memcpy(&s, r->record, sizeof(s));
	if (!merge_whole(&s, r->size))
		return false;
	s.comm[sizeof(s.comm) - 1] = '\0';
	h.record = record;
	h.size = s.size;
	h.time = live_clock_place(l, r->time);
	h.comm = s.comm;
	if (s.nr_stack) {
		h.stack = (const uint64_t *)(const void *)(record + (s.size + 7) / 8 * 8);
		h.nr_stack = s.nr_stack < LAYOUT_STACK_MAX ? s.nr_stack : LAYOUT_STACK_MAX;
	}
	if (live_bit(l->known, s.common.type))
		h.synth_preempt = RECORD_SYNTH_PREEMPT;
	hit_merged(l->plane, l->slot, &h, s.only);
	return true;
}

/* A time in the future is nonsense. It would keep all hits behind it. */
static bool is_ahead(const struct live *l, uint64_t time)
{
	return time > live_clock_session(&l->clock) + AHEAD;
}

/* False: there is no memory. */
static bool take_staged(struct live *l, data_ref buffer, struct ring_record *r, bool ahead)
{
	/*
	 * The same record again. It is taken before it runs: if the server dies, it does not run
	 * twice.
	 */
	if (ring_consume(l->staged, buffer, r) != 1)
		return false;
	if (r->time < l->merged_to || ahead)
		l->book->late++;
	else
		l->merged_to = r->time;
	if (run_staged(l, r))
		l->book->merged++;
	else
		l->book->damaged++;
	/* Last: live_book_staged() of the next server. */
	atomic_signal_fence(memory_order_seq_cst);
	l->book->done++;
	return true;
}

/* ---- all of them ---- */

/*
 * Hits up to a time are in the rings now, so they are no more than these hold. Nonsense may come
 * faster than it is taken.
 */
static void take_until(struct live *l, data_ref buffer, uint64_t time)
{
	uint64_t room = buffer_ring_bytes(l->model->session, buffer, UINT32_MAX);
	struct ring_record r;
	bool ahead;

	while (ring_peek(l->staged, buffer, &r) == 1 && r.size <= room) {
		ahead = r.time > time && is_ahead(l, r.time);
		room -= r.size;
		if ((r.time > time && !ahead) || !take_staged(l, buffer, &r, ahead))
			return;
	}
}

void live_merge_until(struct live *l, uint64_t time)
{
	struct session *s = l->model->session;
	const uint32_t staging = staging_of(l);
	const data_ref buffer = staging ? buffer_published(s, staging, 0) : 0;

	if (!buffer || (!l->staged && ring_consumer_open(s, -1, &l->staged)))
		return;
	/* What is there is worth more than the delay. */
	if (ring_readable(s, buffer, -1, HALF_FULL))
		time = live_clock_session(&l->clock);
	ring_consumer_refresh(l->staged);
	take_until(l, buffer, time);
}

void live_merge_end(struct live *l)
{
	ring_consumer_close(l->staged);
	l->staged = NULL;
}
