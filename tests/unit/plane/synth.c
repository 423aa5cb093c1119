/* SPDX-License-Identifier: MIT */
/*
 * synth.c - synthetic events at the hit: their bytes, their order, what they take from their cause
 */
#include <sched.h>
#include <string.h>
#include "run_tests.h"
#include "fixture.h"
#include "plane/arch/ring_commit.h"

#define OFF(field)	offsetof(struct rec, field)
#define KEY_A		{ .kind = OP_KEY_FIELD, .size = OP_LOAD_U32, .arg = OFF(a) }
#define FIND		{ .kind = OP_FIND }
#define A_AS_REF0	{ .kind = OP_LOAD_U32, .off = OFF(a) }, { .kind = OP_VAR_SET, .off = 0 }, \
			{ .kind = OP_REF_OWN, .off = 0, .arg = 0 }
#define SYNTH_A(id)								\
	{ .kind = OP_SYNTH_BEGIN, .arg = id, .len = 16 },			\
		{ .kind = OP_SYNTH_U64, .off = 8, .size = 8, .arg = 0 },	\
	{									\
		.kind = OP_SYNTH_END						\
	}
/* The field of SYNTH_A as a key. */
#define KEY_LAT		{ .kind = OP_KEY_FIELD, .size = OP_LOAD_U64, .arg = 8 }

static struct hist ha, hs;

/* Event A makes the event `id` from its field a. */
static config_ref maker(uint32_t id)
{
	hist_make(&ha, 8, 1, 4, 4, STRING_ROOM);
	return CODE_OF(&ha, 0, KEY_A, FIND, A_AS_REF0, SYNTH_A(id));
}

static config_ref counter(void)
{
	hist_make(&hs, 8, 1, 0, 0, 0);
	return CODE_OF(&hs, 0, KEY_LAT, FIND);
}

/* A synthetic event with a field of each kind; what is dynamic begins at `behind`. */
static void synth_of_each_kind(uint16_t behind)
{
	hist_make(&ha, 8, 1, 4, 4, STRING_ROOM);
	plan_hist(SYNTH, ARM_RECORD, 0);
	plan_hist(EVENT_A, 0,
		  CODE_OF(&ha, CODE_NEEDS_STACK, KEY_A, FIND,
			  { .kind = OP_LOAD_U64, .off = OFF(c) }, { .kind = OP_VAR_SET, .off = 0 },
			  { .kind = OP_VAR_SET_STRING,
			    .off = 1,
			    .len = 1,
			    .size = STRING_FIXED,
			    .imm = OFF(name),
			    .arg = 16 },
			  { .kind = OP_VAR_SET_STRING,
			    .off = 2,
			    .len = 2,
			    .size = STRING_DATA_LOC,
			    .imm = OFF(loc) },
			  { .kind = OP_VAR_SET_STACK, .off = 3, .len = 3, .size = STACK_HIT },
			  { .kind = OP_REF_OWN, .arg = 0, .off = 0 },
			  { .kind = OP_REF_OWN, .arg = 1, .off = 1, .len = 2 },
			  { .kind = OP_REF_OWN, .arg = 2, .off = 2, .len = 3 },
			  { .kind = OP_REF_OWN, .arg = 3, .off = 3, .len = 4 },
			  { .kind = OP_SYNTH_BEGIN, .arg = SYNTH, .len = behind },
			  { .kind = OP_SYNTH_U64, .off = 8, .size = 8, .arg = 0 },
			  { .kind = OP_SYNTH_U64, .off = 16, .size = 4, .arg = 0 },
			  { .kind = OP_SYNTH_U64, .off = 24, .size = 1, .arg = 0 },
			  { .kind = OP_SYNTH_STRING, .off = 32, .len = STRING_ROOM, .arg = 1 },
			  { .kind = OP_SYNTH_STRING, .off = 288, .arg = 2 },
			  { .kind = OP_SYNTH_STACK, .off = 296, .arg = 3 },
			  { .kind = OP_SYNTH_END }));
}

static void records_are_the_kernels(void **state)
{
	struct {
		struct record_common common;
		uint64_t	u64, u32, u8;
		char		fixed[STRING_ROOM];
		uint64_t	dyn, stack;
		char		text[8];
		uint64_t	words[4];
	} __attribute__((packed)) expected, got;
	uint32_t behind = offsetof(__typeof__(expected), text);
	struct rec r;
	uint32_t size;

	synth_of_each_kind((uint16_t)behind);
	r = rec_make(EVENT_A, 7);
	r.c = 0x1122334455667788;
	/* Fires twice: bytes of the first in the arena must not be in the second. */
	memset(r.name, 'n', 15);
	fire_rec(&r, 10);
	strcpy(r.name, "fifteen-letters");
	fire_rec(&r, 20);
	memset(&got, 0, sizeof(got));
	size = ring_nth(0, 1, &got, sizeof(got));
	memset(&expected, 0, sizeof(expected));
	expected.common =
		(struct record_common){ .type = SYNTH, .flags = 3, .preempt_count = 1, .pid = 77 };
	expected.u64 = r.c;
	expected.u32 = 0x55667788;
	expected.u8 = 0x88;
	strcpy(expected.fixed, "fifteen-letters");
	expected.dyn = 8 << 16 | behind;
	expected.stack = 32 << 16 | (behind + 8);
	strcpy(expected.text, "dynamic");
	memcpy(expected.words, (const uint64_t[]){ 3, 0x1000, 0x2000, 0x3000 }, 32);
	assert_int_equal((size + 3) / 4 * 4, sizeof(expected));
	assert_memory_equal(&got, &expected, sizeof(expected));
}

/*
 * The field of a full stack is the count and fifteen addresses. Then there is room for one more.
 */
static void a_full_stack_is_as_long_as_the_kernels(void **state)
{
	uint64_t stack[20], got[64] = { 0 };
	struct rec r = rec_make(EVENT_A, 7);
	struct hit h = { .record = &r,
			.size = sizeof(r),
			.cpu = 1,
			.time = 10,
			.stack = stack,
			.nr_stack = 20,
			.writer = 1 };

	for (uint32_t i = 0; i < 20; i++)
		stack[i] = 0x1000 + i;
	hist_make(&ha, 8, 1, 1, 1, STRING_ROOM);
	plan_hist(SYNTH, ARM_RECORD, 0);
	plan_hist(EVENT_A, 0,
		  CODE_OF(&ha, CODE_NEEDS_STACK, KEY_A, FIND,
			  { .kind = OP_VAR_SET_STACK, .size = STACK_HIT },
			  { .kind = OP_REF_OWN, .len = 1 },
			  { .kind = OP_SYNTH_BEGIN, .arg = SYNTH, .len = 16 },
			  { .kind = OP_SYNTH_STACK, .off = 8 }, { .kind = OP_SYNTH_END }));
	hit(fixture.p, fixture.slot, &h);
	assert_int_equal(ring_nth(0, 0, got, sizeof(got)), 16 + 17 * 8);
	assert_int_equal(got[1], 16 * 8 << 16 | 16);
	assert_int_equal(got[2], 16);
	assert_int_equal(got[17], 0x1000 + 14);
}

static void a_record_comes_behind_its_cause(void **state)
{
	plan_hist(EVENT_A, ARM_RECORD, maker(SYNTH));
	plan_hist(SYNTH, ARM_RECORD, counter());
	assert_int_equal(fire_event(EVENT_A, 7, 10), 1);
	assert_string_equal(ring_text(0, 0), "300@10 302@10 ");
	assert_int_equal(sum_of_key(&hs, 7, 0), 1);
}

static void it_is_there_when_its_cause_is_not(void **state)
{
	plan_hist(EVENT_A, 0, maker(SYNTH));
	plan_hist(SYNTH, ARM_RECORD, 0);
	assert_int_equal(fire_event(EVENT_A, 7, 10), 0);
	assert_string_equal(ring_text(0, 0), "302@10 ");
}

/* H4: the plan says whether it waits. A second event or a trigger of its own changes that. */
static void it_waits_only_where_there_is_something_to_wait_for(void **state)
{
	const struct op two[] = { KEY_A, FIND, A_AS_REF0, SYNTH_A(SYNTH), SYNTH_A(SYNTH2),
				 { .kind = OP_END } };
	uint64_t used;

	hist_make(&ha, 8, 1, 4, 4, STRING_ROOM);
	plan_hist(SYNTH, ARM_RECORD, 0);
	plan_hist(SYNTH2, ARM_RECORD, counter());
	/* The cause is never recorded, or not recorded this time. */
	for (int soft = 0; soft < 2; soft++) {
		plan_hist(EVENT_A, soft ? ARM_RECORD | ARM_SOFT_MODE : 0,
			  CODE_OF(&ha, CODE_ONE_EVENT, KEY_A, FIND, A_AS_REF0, SYNTH_A(SYNTH)));
		state_of(EVENT_A, 0)->soft_disabled = 1;
		assert_int_equal(fire_event(EVENT_A, 7, 10), 0);
	}
	assert_string_equal(ring_text(0, 0), "302@10 302@10 ");
	/* Now it is recorded. */
	state_of(EVENT_A, 0)->soft_disabled = 0;
	assert_int_equal(fire_event(EVENT_A, 7, 20), 1);
	assert_string_equal(ring_text(0, 0), "302@10 302@10 300@20 302@20 ");
	plan_hist(EVENT_A, 0, code_make(&ha, two, sizeof(two) / sizeof(*two), 0));
	fire_event(EVENT_A, 7, 30);
	assert_string_equal(ring_text(0, 0), "302@10 302@10 300@20 302@20 302@30 303@30 ");
	/* An event with a hist of its own waits, and the hist counts it. */
	plan_hist(EVENT_A, 0,
		  CODE_OF(&ha, CODE_ONE_EVENT, KEY_A, FIND, A_AS_REF0, SYNTH_A(SYNTH2)));
	fire_event(EVENT_A, 7, 35);
	assert_int_equal(sum_of_key(&hs, 7, 0), 2);
	/* With tracing off, no record is written, and the arena has no rest of it. */
	plane_instance(fixture.p, 0)->tracing_on = 0;
	used = fixture.slot->missed;
	plan_hist(EVENT_A, 0,
		  CODE_OF(&ha, CODE_ONE_EVENT, KEY_A, FIND, A_AS_REF0, SYNTH_A(SYNTH)));
	for (int i = 0; i < 1000; i++)
		fire_event(EVENT_A, 7, 40);
	assert_int_equal(fixture.slot->missed, used);
	plane_instance(fixture.p, 0)->tracing_on = 1;
	fire_event(EVENT_A, 7, 50);
	assert_string_equal(ring_text(0, 0),
			    "302@10 302@10 300@20 302@20 302@30 303@30 303@35 302@50 ");
}

static data_ref live_of(uint32_t instance)
{
	struct instance_state *inst = plane_instance(fixture.p, instance);

	return inst->buffers[inst->live & 1];
}

/* The only field of the last record, and the time of that record. */
static void last_field(uint64_t *field, uint64_t *time)
{
	struct ring_record r;
	struct ring_iter *it;

	assert_int_equal(ring_iter_open(fixture.session, live_of(0), -1, &it), 0);
	while (ring_iter_next(it, &r) > 0) {
		memcpy(field, (const char *)r.record + 8, 8);
		*time = r.time;
	}
	ring_iter_close(it);
}

/* H7: the hits are of a running program, on a CPU that the session knows. */
static void it_happens_when_its_cause_does(void **state)
{
	struct rec r = rec_make(EVENT_A, 7);
	struct hit h = { .record = &r, .size = sizeof(r), .comm = "tester" };
	struct instance_state *inst = plane_instance(fixture.p, 0);
	cpu_set_t before, one;
	uint64_t field, time;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_getaffinity(0, sizeof(before), &before);
	if (sched_setaffinity(0, sizeof(one), &one) || rseq_cpu() ||
	    !plane_header(fixture.p)->tsc.valid)
		return;
	hist_make(&ha, 8, 1, 4, 4, STRING_ROOM);
	plan_hist(SYNTH, ARM_RECORD, 0);
	for (uint32_t flags = 0; flags <= CODE_ONE_EVENT; flags += CODE_ONE_EVENT) {
		const config_ref make =
			CODE_OF(&ha, flags | CODE_NEEDS_TIME, KEY_A, FIND, { .kind = OP_LOAD_TIME },
				{ .kind = OP_VAR_SET }, { .kind = OP_REF_OWN }, SYNTH_A(SYNTH));

		plan_hist(EVENT_A, 0, make);
		hit(fixture.p, fixture.slot, &h);
		last_field(&field, &time);
		assert_int_equal(time, field);
		/* If the cause is recorded first, the synthetic record is newer. */
		plan_hist(EVENT_A, ARM_RECORD, make);
		hit(fixture.p, fixture.slot, &h);
		last_field(&field, &time);
		assert_true(time > field);
		/* If the instance has another clock, the hit reads that clock. */
		inst->clock = CLOCK_ID_COUNTER;
		plan_hist(EVENT_A, 0, make);
		buffer_clear(fixture.session, live_of(0), -1);
		hit(fixture.p, fixture.slot, &h);
		last_field(&field, &time);
		assert_true(time > field && time < 100);
		inst->clock = CLOCK_ID_LOCAL;
		/* The hit reads the counter again, too, if the cause has another clock. */
		plane_instance(fixture.p, 1)->clock = CLOCK_ID_X86_TSC;
		plan_make(&(const struct plan_row){ .event = EVENT_A,
						   .instance = 1,
						   .flags = ARM_NEED_RECORD,
						   .nr_triggers = 1,
						   .triggers = { { TRIGGER_HIST, make, 0 } } },
			  1);
		hit(fixture.p, fixture.slot, &h);
		last_field(&field, &time);
		assert_int_not_equal(time, field);
	}
	sched_setaffinity(0, sizeof(before), &before);
}

/* Each instance sees the time of its own clock. */
static void instances_with_other_clocks_see_other_times(void **state)
{
	struct rec r = rec_make(EVENT_A, 7);
	struct hit h = { .record = &r, .size = sizeof(r), .comm = "tester" };
	config_ref make;
	uint64_t var;

	hist_make(&ha, 8, 1, 1, 0, 0);
	hist_make(&hs, 8, 1, 1, 0, 0);
	make = CODE_OF(&ha, CODE_NEEDS_TIME, KEY_A, FIND, { .kind = OP_LOAD_TIME },
		       { .kind = OP_VAR_SET });
	plane_instance(fixture.p, 1)->clock = CLOCK_ID_COUNTER;
	plan_make((const struct plan_row[]){ { .event = EVENT_A,
					     .flags = ARM_NEED_RECORD,
					     .nr_triggers = 1,
					     .triggers = { { TRIGGER_HIST, make, 0 } } },
					    { .event = EVENT_A,
					     .instance = 1,
					     .flags = ARM_NEED_RECORD,
					     .nr_triggers = 1,
					     .triggers = { { TRIGGER_HIST,
							   CODE_OF(&hs, CODE_NEEDS_TIME, KEY_A,
								   FIND, { .kind = OP_LOAD_TIME },
								   { .kind = OP_VAR_SET }),
							   0 } } } },
		  2);
	hit(fixture.p, fixture.slot, &h);
	assert_true(map_var_read(hs.map, map_find(hs.map, &(uint64_t){ 7 }), 0, &var));
	assert_int_equal(var, 1);
	assert_true(map_var_read(ha.map, map_find(ha.map, &(uint64_t){ 7 }), 0, &var));
	assert_true(var > 1000);
}

static void it_counts_though_it_is_not_recorded(void **state)
{
	plan_hist(EVENT_A, ARM_RECORD, maker(SYNTH));
	plan_hist(SYNTH, 0, counter());
	for (int i = 0; i < 1000; i++)
		fire_event(EVENT_A, 7, 10);
	assert_int_equal(sum_of_key(&hs, 7, 0), 1000);
	/* This synthetic event is not armed. */
	plan_hist(EVENT_A, ARM_RECORD, maker(SYNTH2));
	fire_event(EVENT_A, 7, 10);
	assert_int_equal(fixture.slot->missed, 0);
}

static void its_effects_are_seen_by_later_triggers(void **state)
{
	config_ref make = maker(SYNTH);
	struct hist other;

	hist_make(&hs, 8, 1, 1, 0, 0);
	plan_hist(SYNTH, 0,
		  CODE_OF(&hs, 0, KEY_LAT, FIND, { .kind = OP_LOAD_U64, .off = 8 },
			  { .kind = OP_VAR_SET }));
	hist_make(&other, 8, 1, 0, 0, 0);
	plan_make(
		&(struct plan_row){
			.event = EVENT_A,
			.nr_triggers = 2,
			.triggers = { { TRIGGER_HIST, make, 0 },
				     { TRIGGER_HIST,
				      CODE_OF(&other, 0, KEY_A,
					      { .kind = OP_REF_FIND, .imm = hs.cell, .arg = 8 },
					      { .kind = OP_REF_READ }, FIND),
				      0 } } },
		1);
	fire_event(EVENT_A, 7, 10);
	assert_int_equal(sum_of_key(&other, 7, 0), 1);
}

static void a_record_comes_before_those_it_causes(void **state)
{
	static struct hist h2;
	config_ref make = maker(SYNTH);

	hist_make(&h2, 8, 1, 4, 0, 0);
	plan_hist(SYNTH2, ARM_RECORD, 0);
	plan_hist(SYNTH, ARM_RECORD, CODE_OF(&h2, 0, KEY_LAT, FIND, A_AS_REF0, SYNTH_A(SYNTH2)));
	plan_hist(EVENT_A, ARM_RECORD, make);
	fire_event(EVENT_A, 7, 10);
	assert_string_equal(ring_text(0, 0), "300@10 302@10 303@10 ");
	plan_hist(SYNTH, 0, CODE_OF(&h2, 0, KEY_LAT, FIND, A_AS_REF0, SYNTH_A(SYNTH2)));
	fire_event(EVENT_A, 7, 20);
	assert_string_equal(ring_text(0, 0), "300@10 302@10 303@10 300@20 303@20 ");
}

static config_ref filter_lat(uint64_t v)
{
	return code_make(NULL,
			    (const struct op[]){ { .kind = OP_CMP_U64,
						 .cmp = CMP_EQ,
						 .off = 8,
						 .imm = v,
						 .on_true = 1,
						 .on_false = 2 },
						{ .kind = OP_ACCEPT },
						{ .kind = OP_REJECT } },
			    3, 0);
}

static void each_instance_decides_for_itself(void **state)
{
	config_ref make = maker(SYNTH), count = counter();

	plan_make((const struct plan_row[]){
		{ .event = SYNTH, .instance = 0, .flags = ARM_RECORD, .filter = filter_lat(8) },
		{ .event = SYNTH, .instance = 1, .flags = ARM_RECORD, .nr_triggers = 1,
		  .triggers = { { TRIGGER_HIST, count, filter_lat(7) } } } }, 2);
	plan_hist(EVENT_A, ARM_RECORD, make);
	assert_int_equal(fire_event(EVENT_A, 7, 10), 1);
	assert_int_equal(fire_event(EVENT_A, 8, 20), 1);
	assert_string_equal(ring_text(0, 0), "300@10 300@20 302@20 ");
	assert_string_equal(ring_text(1, 0), "302@10 302@20 ");
	assert_int_equal(map_hits(hs.map.data, &hs.shape), 1);
}

static void soft_disabled_it_fires_and_is_not_recorded(void **state)
{
	plan_hist(EVENT_A, ARM_RECORD, maker(SYNTH));
	plan_hist(SYNTH, ARM_RECORD | ARM_SOFT_MODE, counter());
	state_of(SYNTH, 0)->soft_disabled = 1;
	fire_event(EVENT_A, 7, 10);
	assert_string_equal(ring_text(0, 0), "300@10 ");
	assert_int_equal(sum_of_key(&hs, 7, 0), 1);
}

static void stacks_are_those_of_the_cause(void **state)
{
	struct stack_record got;

	plan_hist(EVENT_A, 0, maker(SYNTH));
	plan_hist(SYNTH, ARM_RECORD, 0);
	plane_instance(fixture.p, 0)->flags = INSTANCE_STACKTRACE;
	fire_event(EVENT_A, 7, 10);
	assert_string_equal(ring_text(0, 0), "302@10 s ");
	ring_nth(0, 1, &got, sizeof(got));
	assert_int_equal(got.size, 3);
	assert_int_equal(got.pid, 77);
	assert_int_equal(got.caller[2], 0x3000);
}

/* The cause and the synthetic record are recorded. The records after them are not. */
static void post_triggers_fire_behind_the_record(void **state)
{
	config_ref make = maker(SYNTH);

	plan_make(&(struct plan_row){ .event = SYNTH, .flags = ARM_RECORD, .nr_triggers = 1,
				      .triggers = { { TRIGGER_TRACEOFF, 0, 0 } } }, 1);
	plan_make(&(struct plan_row){ .event = EVENT_A,
				      .flags = ARM_RECORD,
				      .nr_triggers = 2,
				      .triggers = { { TRIGGER_HIST, make, 0 },
						    { TRIGGER_HIST, make, 0 } } },
		  1);
	fire_event(EVENT_A, 7, 10);
	assert_string_equal(ring_text(0, 0), "300@10 302@10 ");
	assert_int_equal(plane_instance(fixture.p, 0)->tracing_on, 0);
	fire_event(EVENT_A, 7, 20);
	assert_string_equal(ring_text(0, 0), "300@10 302@10 ");
}

static void a_paused_or_filtered_trigger_makes_nothing(void **state)
{
	config_ref make = maker(SYNTH);

	plan_hist(SYNTH, ARM_RECORD, 0);
	plan_make(&(struct plan_row){ .event = EVENT_A,
				     .nr_triggers = 1,
				     .triggers = { { TRIGGER_HIST, make, filter_lat(12345) } } },
		  1);
	fire_event(EVENT_A, 7, 10);
	assert_string_equal(ring_text(0, 0), "");
	assert_int_equal(map_hits(ha.map.data, &ha.shape), 0);
}

/* An event makes itself. Four of them nest. The fifth hist is missed, as in the kernel. */
static void events_nest_four_deep(void **state)
{
	config_ref make = maker(SYNTH);
	static struct hist h2;

	hist_make(&h2, 8, 1, 4, 0, 0);
	plan_hist(SYNTH, ARM_RECORD, CODE_OF(&h2, 0, KEY_LAT, FIND, A_AS_REF0, SYNTH_A(SYNTH)));
	plan_hist(EVENT_A, ARM_RECORD, make);
	for (uint64_t i = 1; i <= 3; i++) {
		fire_event(EVENT_A, 7, i);
		assert_int_equal(fixture.slot->missed, i);
		assert_int_equal(map_hits(h2.map.data, &h2.shape), 3 * i);
	}
	assert_string_equal(ring_text(0, 0),
			    "300@1 302@1 302@1 302@1 302@1 300@2 302@2 302@2 302@2 302@2 "
			    "300@3 302@3 302@3 302@3 302@3 ");
}

static void a_full_arena_is_counted(void **state)
{
	struct op ops[80] = { KEY_A, FIND, A_AS_REF0 };
	unsigned int nr = 5;

	hist_make(&ha, 8, 1, 4, 0, 0);
	plan_hist(SYNTH, ARM_RECORD, 0);
	for (int i = 0; i < 5; i++) {
		ops[nr++] = (struct op){ .kind = OP_SYNTH_BEGIN, .arg = SYNTH, .len = 2000 };
		ops[nr++] = (struct op){ .kind = OP_SYNTH_U64, .off = 1992, .size = 8, .arg = 0 };
		ops[nr++] = (struct op){ .kind = OP_SYNTH_END };
	}
	plan_hist(EVENT_A, 0, code_make(&ha, ops, nr + 1, 0));
	fire_event(EVENT_A, 7, 10);
	assert_string_equal(ring_text(0, 0), "302@10 302@10 302@10 ");
	assert_int_equal(fixture.slot->missed, 2);
	/* Events that no plan takes give their room back. */
	plan_hist(SYNTH, 0, 0);
	fire_event(EVENT_A, 7, 20);
	assert_int_equal(fixture.slot->missed, 2);
}

static void snapshot_swaps_and_the_cause_is_in_it(void **state)
{
	hist_make(&ha, 8, 1, 4, 1, 32);
	plan_hist(EVENT_A, ARM_RECORD, CODE_OF(&ha, 0, KEY_A, FIND, A_AS_REF0,
		{ .kind = OP_TRACK_BEGIN, .flags = TRACK_GLOBAL, .on_false = 8 },
		{ .kind = OP_TRACK_END, .on_false = 8 }, { .kind = OP_SNAPSHOT, .arg = 0 }));
	fire_event(EVENT_A, 7, 10);
	assert_string_equal(ring_text(0, 1), "300@10 ");
	assert_string_equal(ring_text(0, 0), "");
	fire_event(EVENT_A, 7, 20);
	fire_event(EVENT_A, 6, 30);
	assert_string_equal(ring_text(0, 0), "300@20 300@30 ");
	fire_event(EVENT_A, 8, 40);
	assert_string_equal(ring_text(0, 1), "300@20 300@30 300@40 ");
	assert_int_equal(plane_instance(fixture.p, 0)->snapshots, 2);
}

static void filters_see_its_dynamic_texts(void **state)
{
	size_t size = sizeof(struct code) + 3 * sizeof(struct op) + 8;
	config_ref ref = session_config_alloc(fixture.session, size);
	struct code *filter = session_config(fixture.session, ref, size);

	*filter = (struct code){ .size = (uint32_t)size, .nr_ops = 3 };
	filter->ops[0] = (struct op){ .kind = OP_MATCH,
				     .size = STRING_DATA_LOC << 4 | MATCH_FRONT,
				     .cmp = CMP_EQ,
				     .off = 8,
				     .imm = size - 8,
				     .arg = 3,
				     .on_true = 1,
				     .on_false = 2 };
	filter->ops[1].kind = OP_ACCEPT;
	filter->ops[2].kind = OP_REJECT;
	memcpy((char *)filter + size - 8, "dyn", 4);
	hist_make(&ha, 8, 1, 1, 1, STRING_ROOM);
	plan_make(&(struct plan_row){ .event = SYNTH, .flags = ARM_RECORD, .filter = ref }, 1);
	plan_hist(EVENT_A, 0,
		  CODE_OF(&ha, 0, KEY_A, FIND,
			  { .kind = OP_VAR_SET_STRING, .size = STRING_DATA_LOC, .imm = OFF(loc) },
			  { .kind = OP_REF_OWN, .len = 1 },
			  { .kind = OP_SYNTH_BEGIN, .arg = SYNTH, .len = 16 },
			  { .kind = OP_SYNTH_STRING, .off = 8 }, { .kind = OP_SYNTH_END }));
	struct rec r = rec_make(EVENT_A, 7);

	fire_rec(&r, 10);
	r.dyn[0] = 'x';
	fire_rec(&r, 20);
	assert_string_equal(ring_text(0, 0), "302@10 ");
	/* The `if` of its only hist sees them, too. Such a hist has a short way. */
	hist_make(&hs, 8, 1, 0, 0, 0);
	plan_make(
		&(struct plan_row){
			.event = SYNTH,
			.flags = ARM_NEED_RECORD,
			.nr_triggers = 1,
			.triggers = { { TRIGGER_HIST,
				      CODE_OF(&hs, 0, { .kind = OP_KEY_FIELD, .size = OP_LOAD_U16 },
					      FIND),
				      ref } } },
		1);
	fire_rec(&r, 30);
	assert_int_equal(sum_of_key(&hs, SYNTH, 0), 0);
	r.dyn[0] = 'd';
	fire_rec(&r, 40);
	assert_int_equal(sum_of_key(&hs, SYNTH, 0), 1);
}

int main(void)
{
#define FIXTURE_TEST(fn) cmocka_unit_test_setup_teardown(fn, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(records_are_the_kernels),
		FIXTURE_TEST(a_full_stack_is_as_long_as_the_kernels),
		FIXTURE_TEST(a_record_comes_behind_its_cause),
		FIXTURE_TEST(it_is_there_when_its_cause_is_not),
		FIXTURE_TEST(it_waits_only_where_there_is_something_to_wait_for),
		FIXTURE_TEST(it_happens_when_its_cause_does),
		FIXTURE_TEST(instances_with_other_clocks_see_other_times),
		FIXTURE_TEST(it_counts_though_it_is_not_recorded),
		FIXTURE_TEST(its_effects_are_seen_by_later_triggers),
		FIXTURE_TEST(a_record_comes_before_those_it_causes),
		FIXTURE_TEST(each_instance_decides_for_itself),
		FIXTURE_TEST(soft_disabled_it_fires_and_is_not_recorded),
		FIXTURE_TEST(stacks_are_those_of_the_cause),
		FIXTURE_TEST(post_triggers_fire_behind_the_record),
		FIXTURE_TEST(a_paused_or_filtered_trigger_makes_nothing),
		FIXTURE_TEST(events_nest_four_deep),
		FIXTURE_TEST(a_full_arena_is_counted),
		FIXTURE_TEST(snapshot_swaps_and_the_cause_is_in_it),
		FIXTURE_TEST(filters_see_its_dynamic_texts),
	};

	return run_in_temp_place(tests);
}
