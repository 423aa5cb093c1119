/* SPDX-License-Identifier: MIT */
/*
 * hit.c - an event with two integers on its way through hit() into the ring
 */
#include "fixture.h"
#include "plane/arch/counter.h"

static volatile uint64_t sink;

/* What is free beside the counter, and what is not: docs/benchmarks.md has a processor of each. */
#define NOTHING __asm__ __volatile__(".rept 64\n\tnop\n\t.endr")

static config_ref filter_made(struct session *s)
{
	size_t size = sizeof(struct code) + 3 * sizeof(struct op);
	config_ref ref = session_config_alloc(s, size);
	struct code *code = session_config(s, ref, size);

	code->size = (uint32_t)size;
	code->nr_ops = 3;
	code->ops[0] = (struct op){
		.kind = OP_CMP_U32, .cmp = CMP_GE, .off = 8, .on_true = 1, .on_false = 2 };
	code->ops[1].kind = OP_ACCEPT;
	code->ops[2].kind = OP_REJECT;
	return ref;
}

int main(void)
{
	struct bench_record rec = { .common = { .type = BENCH_EVENT, .pid = 1 } };
	struct hit h = { .record = &rec, .size = 16 };
	struct session *s = bench_session();
	struct plane *p = session_plane(s);
	struct slot *slot = session_slot_get(s);

	bench_instance(s);
	BENCH("rdtsc", sink += counter_read());
	BENCH("64 instructions that do nothing", NOTHING);
	BENCH("64 instructions that do nothing, and rdtsc", NOTHING; sink += counter_read());
	BENCH("event that is not armed", hit(p, slot, &h));
	bench_arm(s, 0, 0);
	if (!hit(p, slot, &h))
		bench_fail("nothing was recorded");
	BENCH("event, 2 integers, into the ring", rec.a = i; hit(p, slot, &h));
	bench_arm(s, filter_made(s), 0);
	BENCH("the same with a filter", rec.a = i; hit(p, slot, &h));
	session_close(s);
	return 0;
}
