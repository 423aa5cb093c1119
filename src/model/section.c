/* SPDX-License-Identifier: MIT */
/*
 * section.c - a list of records in memory
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "plane/ring/ring.h"
#include "model/section.h"
#include "session/array.h"

/*
 * A section that never ends must not take all memory. In the kernel the ring would have lost its
 * beginning.
 */
enum { SECTION_MAX_BYTES = 64 << 20 };

struct section_record {
	uint64_t	time;
	size_t		at;
	uint32_t	size;
	uint32_t	cpu;
	uint64_t	lost;		/* how many were lost on its CPU before it */
};

struct section *section_create(void)
{
	struct section *s = calloc(1, sizeof(*s));

	if (s)
		atomic_init(&s->refs, 1);
	return s;
}

struct section *section_get(struct section *s)
{
	/* Relaxed: the caller has the lock under which it found the section. */
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void section_put(struct section *s)
{
	/*
	 * Each release pairs with the acquire of the last section_put(), which sees all that the
	 * others did.
	 */
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	free(s->waiting);
	free(s->records);
	free(s->bytes);
	free(s);
}

void section_clear(struct section *s)
{
	s->nr = 0;
	s->len = 0;
	s->failed = false;
	s->lost = 0;
	s->nr_waiting = 0;
}

static bool section_has_room(struct section *s, uint32_t size)
{
	if (array_room(&s->records, s->nr, sizeof(*s->records)))
		return false;
	if (s->room - s->len < size) {
		size_t room = s->room ? s->room * 2 : 4096;
		uint8_t *bytes;

		while (room - s->len < size)
			room *= 2;
		bytes = room <= SECTION_MAX_BYTES ? realloc(s->bytes, room) : NULL;
		if (!bytes)
			return false;
		s->bytes = bytes;
		s->room = room;
	}
	return true;
}

/* Makes room up to the CPU. False: no memory. */
static bool wait_room(struct section *s, uint32_t cpu)
{
	uint64_t *waiting;

	if (cpu < s->nr_waiting)
		return true;
	waiting = realloc(s->waiting, (cpu + 1) * sizeof(*waiting));
	if (!waiting)
		return false;
	memset(waiting + s->nr_waiting, 0, (cpu + 1 - s->nr_waiting) * sizeof(*waiting));
	s->waiting = waiting;
	s->nr_waiting = cpu + 1;
	return true;
}

void section_lost(struct section *s, uint32_t cpu, uint64_t nr)
{
	if (wait_room(s, cpu))
		s->waiting[cpu] += nr;
	else
		s->lost += nr;
}

static uint64_t take_waiting(struct section *s, uint32_t cpu)
{
	uint64_t nr = 0;

	if (cpu < s->nr_waiting) {
		nr = s->waiting[cpu];
		s->waiting[cpu] = 0;
	}
	s->lost += nr;
	return nr;
}

void section_add(struct section *s, uint32_t cpu, uint64_t time, const void *record, uint32_t size)
{
	const uint32_t padded = (size + 7) & ~7u;
	const uint64_t lost = take_waiting(s, cpu);

	if (s->failed || !section_has_room(s, padded)) {
		s->failed = true;
		s->lost++;
		return;
	}
	memcpy(s->bytes + s->len, record, size);
	s->records[s->nr++] = (struct section_record){
		.time = time, .at = s->len, .size = size, .cpu = cpu, .lost = lost,
	};
	s->len += padded;
}

bool section_record(const struct section *s, unsigned int i, struct ring_record *out)
{
	const struct section_record *r;

	if (i >= s->nr)
		return false;
	r = &s->records[i];
	*out = (struct ring_record){
		.record = s->bytes + r->at, .size = r->size, .cpu = r->cpu, .time = r->time,
		.lost = r->lost,
	};
	return true;
}

struct section *section_without(const struct section *s, uint32_t cpu)
{
	const size_t from = offsetof(struct section, latency), to = offsetof(struct section, nr);
	struct section *out = section_create();
	struct ring_record r;

	if (!out)
		return NULL;
	memcpy((char *)out + from, (const char *)s + from, to - from);
	for (unsigned int i = 0; section_record(s, i, &r); i++) {
		if (r.cpu == cpu)
			continue;
		if (r.lost)
			section_lost(out, r.cpu, r.lost);
		section_add(out, r.cpu, r.time, r.record, r.size);
	}
	return out;
}
