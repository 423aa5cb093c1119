/* SPDX-License-Identifier: MIT */
/*
 * ring.c - one record of an event with two integers into a ring, by each kind of writer
 */
#include "fixture.h"
#include "plane/arch/counter.h"

enum { SOURCE = 1 };

static volatile uint64_t sink;

static data_ref rings(struct session *s)
{
	uint64_t bytes[LAYOUT_MAX_CPUS];
	data_ref buffer = plane_instance(session_plane(s), 0)->buffers[0];

	for (uint32_t i = 0; i < session_header(s)->nr_cpus; i++)
		bytes[i] = 1 << 20;
	if (buffer_add_set(s, buffer, SOURCE, bytes))
		bench_fail("no rings for a source");
	return buffer;
}

int main(void)
{
	struct bench_record rec = { .common = { .type = BENCH_EVENT, .pid = 1 } };
	struct session *s = bench_session();
	struct plane *p = session_plane(s);
	struct slot *slot = session_slot_get(s);
	uint64_t time = 1;
	data_ref buffer;

	bench_instance(s);
	buffer = rings(s);
	BENCH("rdtsc, ns", sink += counter_read());
	BENCH("ring_write, restartable, ns", rec.a = i;
	      ring_write(p, slot, buffer, 0, 0, 0, &rec, 16));
	BENCH("ring_write, source, ns", rec.a = i;
	      ring_write(p, slot, buffer, SOURCE, 0, time += 100, &rec, 16));
	if (ring_lease_give(s, slot->index))
		bench_fail("no lease");
	slot->lease |= RING_LEASE_ONLY;
	BENCH("ring_write, lease, ns", rec.a = i; ring_write(p, slot, buffer, 0, 0, 0, &rec, 16));
	session_close(s);
	return 0;
}
