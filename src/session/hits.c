/* SPDX-License-Identifier: MIT */
/*
 * hits.c - how often probes were hit that programs plant: config_header.hits
 *
 * The parts stay for as long as the session: a thread may count a hit of a probe that is gone.
 */
#include "session/state.h"

enum { ROW_BYTES = LAYOUT_HITS_ROW * sizeof(uint64_t) };

static uint32_t nr_rows(const struct session *s)
{
	return s->header->nr_cpus + 1;
}

static size_t part_size(const struct session *s)
{
	return (size_t)nr_rows(s) * ROW_BYTES;
}

static _Atomic data_ref *part_of(struct session *s, uint32_t event)
{
	return &s->header->hits[event / LAYOUT_HITS_ROW % LAYOUT_HITS_PARTS];
}

/* The event's number in row `row`; NULL: there is no part. */
static _Atomic uint64_t *hits_cell(struct session *s, uint32_t event, uint32_t row)
{
	/* Relaxed: only the server stores it. */
	const data_ref part = atomic_load_explicit(part_of(s, event), memory_order_relaxed);
	char *at = part ? session_data(s, part, part_size(s)) : NULL;

	return at ? (_Atomic uint64_t *)(at + (size_t)row * ROW_BYTES) + event % LAYOUT_HITS_ROW
		  : NULL;
}

data_ref session_hits_at(struct session *s, uint32_t event)
{
	_Atomic data_ref *part = part_of(s, event);
	/* Relaxed, also below: programs get it by the probe's point, which is published. */
	data_ref ref = atomic_load_explicit(part, memory_order_relaxed);

	if (!ref) {
		ref = session_data_alloc(s, part_size(s));
		atomic_store_explicit(part, ref, memory_order_relaxed);
	}
	return ref ? ref + event % LAYOUT_HITS_ROW * sizeof(uint64_t) : 0;
}

uint64_t session_hits(struct session *s, uint32_t event)
{
	uint64_t hits = 0;

	for (uint32_t row = 0; row < nr_rows(s); row++) {
		const _Atomic uint64_t *at = hits_cell(s, event, row);

		/* Relaxed: a counter. */
		hits += at ? atomic_load_explicit(at, memory_order_relaxed) : 0;
	}
	return hits;
}

void session_hits_clear(struct session *s, uint32_t event)
{
	for (uint32_t row = 0; row < nr_rows(s); row++) {
		_Atomic uint64_t *at = hits_cell(s, event, row);

		/* Relaxed: a counter. */
		if (at)
			atomic_store_explicit(at, 0, memory_order_relaxed);
	}
}

void session_hits_restore(struct session *s)
{
	for (unsigned int i = 0; i < LAYOUT_HITS_PARTS; i++) {
		_Atomic data_ref *part = &s->header->hits[i];
		/* Relaxed: the server that stored it is dead. */
		const data_ref ref = atomic_load_explicit(part, memory_order_relaxed);

		if (ref && ref < s->data_heap.inherited &&
		    session_data_restore(s, ref, part_size(s)))
			atomic_store_explicit(part, 0, memory_order_relaxed);
	}
}
