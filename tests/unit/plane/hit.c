/* SPDX-License-Identifier: MIT */
/*
 * hit.c - the order of R7, as a table, and what each trigger does
 *
 * The plane's hit*.c are compiled here with doubles for ring, filter and fold. A double adds a
 * letter to the diary when it is called. The table has the answers of Linux 6.12 to the same
 * commands.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* ring_write()'s double stands for the short way, too: record.c tests that. */
#define TRACEFUSE_PLANE_RING_SHORT_H
#define ring_write_short(p, inst, b, record, size) ((void)(b), -1)
#define ring_write	double_write
#define filter_match	double_match
#define hist_fold	double_fold
#include "plane/hit.c"
#include "plane/hit_pids.c"
#include "plane/action/snapshot.c"
#include "plane/action/synth.c"
#include "plane/action/trigger.c"

#include "run_tests.h"
#include "session/session.h"

enum { EVENT = 300, OTHER = 301, MAIN = 1000, SNAP = 2000 };

static struct session *session;
static struct slot *slot;
static char *diary;		/* the calls of the doubles, in their order */

/* The mark of a message that comes instead of a snapshot. */
static const char *saying(const void *record)
{
	static const struct {
		const char *text, *mark;
	} known[] = {
		{ "*** LATENCY TRACER ACTIVE ***\n", "-l" },
		{ "*** Can not use snapshot (sorry) ***\n", "-c" },
		{ "*** SNAPSHOT NOT ALLOCATED ***\n", "-n" },
		{ "*** stopping trace here!   ***\n", "-t" },
	};
	const struct {
		struct record_common common;
		uint64_t ip;
		char text[48];
	} *print = record;

	assert_int_equal(print->ip, plane_header(session_plane(session))->snapshot_ip);
	assert_int_equal(print->common.pid, 5);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(print->text, known[i].text))
			return known[i].mark;
	return "?";
}

/* "M", "S": a record in that buffer; "-x": a message; "s<n>": a stack of n; "f": a fold */
int double_write(const struct plane *p, struct slot *own, data_ref buffer, uint32_t set,
		 uint32_t cpu, uint64_t time, const void *record, uint32_t size)
{
	const struct stack_record *stack = record;

	if (stack->type == LAYOUT_STACK_ID)
		sprintf(diary + strlen(diary), "s%d", stack->size);
	else if (stack->type == 5)
		strcat(diary, saying(record));
	else
		strcat(diary, buffer == MAIN ? "M" : buffer == SNAP ? "S" : "?");
	return 0;
}

/* The answer is the number of ops. If it is 2, the record's last word answers. */
int double_match(const struct code *code, const struct hit *h)
{
	if (code->nr_ops == 2)
		return ((const uint32_t *)h->record)[h->size / 4 - 1] == 1;
	return (int)code->nr_ops;
}

void double_fold(const struct code *code, struct run *run)
{
	assert_int_equal(run->level, run->slot->depth - 1);
	strcat(diary, code->flags & CODE_NEEDS_TIME ? run->time ? "t" : "!" : "f");
}

/* ---- building plans ---- */

enum cond { ALWAYS, YES, NO };

struct trigger_row {
	uint32_t	kind;
	enum cond	cond;
	int64_t		count;		/* 0: unlimited, -1: none left */
};

struct arm_row {
	uint32_t	instance;
	uint32_t	flags;
	enum cond	filter;
	struct trigger_row triggers[3];
	unsigned int	nr_triggers;
};

static config_ref answer(enum cond cond)
{
	config_ref ref;
	struct code *code;

	if (cond == ALWAYS)
		return 0;
	ref = session_config_alloc(session, sizeof(*code));
	code = session_config(session, ref, sizeof(*code));
	code->nr_ops = cond == YES;
	return ref;
}

static data_ref event_state_of[4];

static void trigger_fill(struct trigger_arm *t, const struct trigger_row *row, data_ref target)
{
	struct trigger_state *state;
	struct code *code;

	t->kind = row->kind;
	t->flags = row->count ? TRIGGER_COUNTED : 0;
	t->filter = answer(row->cond);
	t->state = session_data_alloc(session, sizeof(*state));
	state = session_data(session, t->state, sizeof(*state));
	state->count = row->count > 0 ? row->count : 0;
	t->target = target;
	t->code = session_config_alloc(session, sizeof(*code));
}

static bool needs_record(const struct arm_row *row)
{
	for (unsigned int i = 0; i < row->nr_triggers; i++)
		if (row->triggers[i].cond || row->triggers[i].kind == TRIGGER_HIST ||
		    trigger_kind_is_post(row->triggers[i].kind))
			return true;
	return false;
}

static struct plan *plan_publish(const struct arm_row *rows, unsigned int nr)
{
	size_t size =
		sizeof(struct plan) + nr * sizeof(struct arm) + 3 * nr * sizeof(struct trigger_arm);
	config_ref ref = session_config_alloc(session, size);
	struct plan *plan = session_config(session, ref, size);
	struct arm *arms = (struct arm *)(plan + 1);
	struct trigger_arm *t = (struct trigger_arm *)(arms + nr);

	*plan = (struct plan){ .event_id = EVENT, .nr_arms = nr, .nr_triggers = 3 * nr,
		.size = (uint32_t)size };
	for (unsigned int i = 0; i < nr; i++) {
		event_state_of[i] = session_data_alloc(session, sizeof(struct event_state));
		((struct event_state *)session_data(session, event_state_of[i], 8))->event_id =
			EVENT;
		arms[i] = (struct arm){ .instance = rows[i].instance,
				       .flags = rows[i].flags,
				       .filter = answer(rows[i].filter),
				       .state = event_state_of[i],
				       .first_trigger = 3 * i,
				       .nr_triggers = rows[i].nr_triggers };
		if (needs_record(&rows[i]))
			arms[i].flags |= ARM_NEED_RECORD;
		for (unsigned int k = 0; k < rows[i].nr_triggers; k++)
			trigger_fill(&t[3 * i + k], &rows[i].triggers[k], event_state_of[i]);
	}
	session_publish(session,
			(_Atomic uint64_t *)&plane_event(session_plane(session), EVENT)->plan, ref);
	return plan;
}

static struct trigger_state *state_of(struct plan *plan, unsigned int trigger)
{
	struct trigger_arm *t = (struct trigger_arm *)((struct arm *)(plan + 1) + plan->nr_arms);

	return session_data(session, t[trigger].state, sizeof(struct trigger_state));
}

static struct instance_state *instance(uint32_t index)
{
	return plane_instance(session_plane(session), index);
}

static struct event_state *event_state(unsigned int arm)
{
	return session_data(session, event_state_of[arm], sizeof(struct event_state));
}

static void instance_reset(uint32_t index)
{
	struct instance_state *inst = instance(index);

	memset(inst, 0, sizeof(*inst));
	inst->tracing_on = 1;
	inst->buffers[0] = MAIN;
	inst->buffers[1] = SNAP;
	memset(inst->cpumask, 0xff, sizeof(inst->cpumask));
}

struct test_record {
	struct record_common common;
	uint32_t	other;
	uint32_t	last;
};

static uint64_t fire_hit(char *out, int32_t pid, uint32_t other)
{
	static const uint64_t stack[2] = { 0x1000, 0x2000 };
	struct test_record rec = { .common = { .type = EVENT, .pid = pid }, .other = other };
	struct hit h = {
		.record = &rec, .size = sizeof(rec), .cpu = 1, .stack = stack, .nr_stack = 2 };

	out[0] = 0;
	diary = out;
	return hit(session_plane(session), slot, &h);
}

static int set_up(void **state)
{
	static const struct session_params params = {
		.nr_cpus = 2, .nr_slots = 8, .memory = 64 << 20 };

	if (session_create(NULL, &params, &session))
		return -1;
	slot = session_slot_get(session);
	instance_reset(0);
	instance_reset(1);
	return 0;
}

static int tear_down(void **state)
{
	session_close(session);
	return 0;
}

/* ---- the table ---- */

enum {
	ON = 1,
	SOFT = 2,
	OFF_CPU = 4,
	OTHER_PID = 8,
	MAX = 16,
	FREED = 32,
	STOPPED = 64,
	SILENT = 128,
	STACKS = 256
};

#define NOTHING		{ 0, ALWAYS, 0 }
#define T(kind)		{ kind + 1, ALWAYS, 0 }
#define IF(kind, cond)	{ kind + 1, cond, 0 }
#define NONE_LEFT(kind)	{ kind + 1, ALWAYS, -1 }

static const struct order_row {
	const char	*name;
	uint32_t	with;
	enum cond	filter;
	struct trigger_row triggers[3];
	const char	*diary;
	int		on, live, disabled;	/* afterwards */
} order[] = {
	{ "nothing but enabled", ON, ALWAYS, { NOTHING }, "M", 1, 0, 0 },
	{ "tracing off", 0, ALWAYS, { NOTHING }, "", 0, 0, 0 },
	{ "filter yes", ON, YES, { NOTHING }, "M", 1, 0, 0 },
	{ "filter no", ON, NO, { NOTHING }, "", 1, 0, 0 },
	{ "cpu not in tracing_cpumask", ON | OFF_CPU, ALWAYS, { NOTHING }, "", 1, 0, 0 },
	{ "pid not listed", ON | OTHER_PID, ALWAYS, { NOTHING }, "", 1, 0, 0 },
	{ "soft-disabled", ON | SOFT, ALWAYS, { NOTHING }, "", 1, 0, 1 },

	{ "traceoff: the record is in", ON, ALWAYS, { T(TRIGGER_TRACEOFF) }, "M", 0, 0, 0 },
	{ "traceoff if", ON, ALWAYS, { IF(TRIGGER_TRACEOFF, YES) }, "M", 0, 0, 0 },
	{ "traceoff if not", ON, ALWAYS, { IF(TRIGGER_TRACEOFF, NO) }, "M", 1, 0, 0 },
	{ "traceoff, filter no", ON, NO, { T(TRIGGER_TRACEOFF) }, "", 0, 0, 0 },
	{ "traceoff, pid not listed: post triggers look at the record",
	  ON | OTHER_PID,
	  ALWAYS,
	  { T(TRIGGER_TRACEOFF) },
	  "",
	  1,
	  0,
	  0 },
	{ "traceon: the record is in", 0, ALWAYS, { T(TRIGGER_TRACEON) }, "M", 1, 0, 0 },
	{ "traceon if: reserved while off", 0, ALWAYS, { IF(TRIGGER_TRACEON, YES) }, "", 1, 0, 0 },
	{ "traceon if, filter yes: written while on",
	  0,
	  YES,
	  { IF(TRIGGER_TRACEON, YES) },
	  "M",
	  1,
	  0,
	  0 },
	{ "traceon if, filter no", 0, NO, { IF(TRIGGER_TRACEON, YES) }, "", 1, 0, 0 },
	{ "traceon, pid not listed", OTHER_PID, ALWAYS, { T(TRIGGER_TRACEON) }, "", 1, 0, 0 },

	{ "snapshot: into the new live buffer", ON, ALWAYS, { T(TRIGGER_SNAPSHOT) }, "S", 1, 1, 0 },
	{ "snapshot if: into the snapshot",
	  ON,
	  ALWAYS,
	  { IF(TRIGGER_SNAPSHOT, YES) },
	  "M",
	  1,
	  1,
	  0 },
	{ "snapshot if not", ON, ALWAYS, { IF(TRIGGER_SNAPSHOT, NO) }, "M", 1, 0, 0 },
	{ "snapshot with tracing off", 0, ALWAYS, { T(TRIGGER_SNAPSHOT) }, "", 0, 1, 0 },
	{ "snapshot if, filter no", ON, NO, { IF(TRIGGER_SNAPSHOT, YES) }, "", 1, 1, 0 },
	{ "snapshot, pid not listed",
	  ON | OTHER_PID,
	  ALWAYS,
	  { T(TRIGGER_SNAPSHOT) },
	  "",
	  1,
	  1,
	  0 },
	{ "snapshot if, pid not listed",
	  ON | OTHER_PID,
	  ALWAYS,
	  { IF(TRIGGER_SNAPSHOT, YES) },
	  "",
	  1,
	  0,
	  0 },
	{ "snapshot beside a hist comes after the reservation",
	  ON,
	  ALWAYS,
	  { T(TRIGGER_SNAPSHOT), T(TRIGGER_HIST) },
	  "fM",
	  1,
	  1,
	  0 },
	{ "snapshot under a latency tracer",
	  ON | MAX,
	  ALWAYS,
	  { T(TRIGGER_SNAPSHOT) },
	  "-l-cM",
	  1,
	  0,
	  0 },
	{ "snapshot if, under one: behind the record",
	  ON | MAX,
	  ALWAYS,
	  { IF(TRIGGER_SNAPSHOT, YES) },
	  "M-l-c",
	  1,
	  0,
	  0 },
	{ "snapshot if, under one, filter no",
	  ON | MAX,
	  NO,
	  { IF(TRIGGER_SNAPSHOT, YES) },
	  "-l-c",
	  1,
	  0,
	  0 },
	{ "snapshot if, under one, filter yes",
	  ON | MAX,
	  YES,
	  { IF(TRIGGER_SNAPSHOT, YES) },
	  "-l-cM",
	  1,
	  0,
	  0 },
	{ "snapshot if, under one, soft-disabled",
	  ON | SOFT | MAX,
	  ALWAYS,
	  { IF(TRIGGER_SNAPSHOT, YES) },
	  "-l-c",
	  1,
	  0,
	  1 },
	{ "snapshot if not, under one",
	  ON | MAX,
	  ALWAYS,
	  { IF(TRIGGER_SNAPSHOT, NO) },
	  "M",
	  1,
	  0,
	  0 },
	{ "snapshot under one, tracing off", MAX, ALWAYS, { T(TRIGGER_SNAPSHOT) }, "", 0, 0, 0 },
	{ "snapshot under one, without trace_printk",
	  ON | MAX | SILENT,
	  ALWAYS,
	  { T(TRIGGER_SNAPSHOT) },
	  "M",
	  1,
	  0,
	  0 },
	{ "snapshot under one, with stacktrace",
	  ON | MAX | STACKS,
	  ALWAYS,
	  { T(TRIGGER_SNAPSHOT) },
	  "-ls2-cs2Ms2",
	  1,
	  0,
	  0 },
	{ "snapshot while there is none: the trace ends",
	  ON | FREED,
	  ALWAYS,
	  { T(TRIGGER_SNAPSHOT) },
	  "-n-t",
	  0,
	  0,
	  0 },
	{ "snapshot if, while there is none",
	  ON | FREED,
	  ALWAYS,
	  { IF(TRIGGER_SNAPSHOT, YES) },
	  "M-n-t",
	  0,
	  0,
	  0 },
	{ "snapshot while there is none comes first",
	  ON | FREED | MAX,
	  ALWAYS,
	  { T(TRIGGER_SNAPSHOT) },
	  "-n-t",
	  0,
	  0,
	  0 },
	{ "snapshot while the rings are stopped",
	  ON | STOPPED,
	  ALWAYS,
	  { T(TRIGGER_SNAPSHOT) },
	  "M",
	  1,
	  0,
	  0 },

	{ "hist", ON, ALWAYS, { T(TRIGGER_HIST) }, "fM", 1, 0, 0 },
	{ "hist with tracing off", 0, ALWAYS, { T(TRIGGER_HIST) }, "f", 0, 0, 0 },
	{ "hist, filter no", ON, NO, { T(TRIGGER_HIST) }, "f", 1, 0, 0 },
	{ "hist, soft-disabled", ON | SOFT, ALWAYS, { T(TRIGGER_HIST) }, "f", 1, 0, 1 },
	{ "hist if not", ON, ALWAYS, { IF(TRIGGER_HIST, NO) }, "M", 1, 0, 0 },
	{ "hist, pid not listed", ON | OTHER_PID, ALWAYS, { T(TRIGGER_HIST) }, "", 1, 0, 0 },
	{ "hist, cpu not in the mask", ON | OFF_CPU, ALWAYS, { T(TRIGGER_HIST) }, "f", 1, 0, 0 },
	{ "two hists", ON, ALWAYS, { T(TRIGGER_HIST), IF(TRIGGER_HIST, YES) }, "ffM", 1, 0, 0 },

	{ "stacktrace after the record", ON, ALWAYS, { T(TRIGGER_STACKTRACE) }, "Ms2", 1, 0, 0 },
	{ "stacktrace of a record that is not kept",
	  ON,
	  NO,
	  { T(TRIGGER_STACKTRACE) },
	  "s2",
	  1,
	  0,
	  0 },
	{ "stacktrace, soft-disabled",
	  ON | SOFT,
	  ALWAYS,
	  { T(TRIGGER_STACKTRACE) },
	  "s2",
	  1,
	  0,
	  1 },
	{ "stacktrace with tracing off", 0, ALWAYS, { T(TRIGGER_STACKTRACE) }, "", 0, 0, 0 },
	{ "stacktrace if not", ON, ALWAYS, { IF(TRIGGER_STACKTRACE, NO) }, "M", 1, 0, 0 },

	{ "disables itself", ON, ALWAYS, { T(TRIGGER_DISABLE_EVENT) }, "", 1, 0, 1 },
	{ "disables itself if", ON, ALWAYS, { IF(TRIGGER_DISABLE_EVENT, YES) }, "", 1, 0, 1 },
	{ "enables itself: too late", ON | SOFT, ALWAYS, { T(TRIGGER_ENABLE_EVENT) }, "", 1, 0, 0 },
	{ "enables itself if", ON | SOFT, ALWAYS, { IF(TRIGGER_ENABLE_EVENT, YES) }, "M", 1, 0, 0 },
	{ "pauses its hist",
	  ON,
	  ALWAYS,
	  { T(TRIGGER_DISABLE_HIST), T(TRIGGER_HIST) },
	  "M",
	  1,
	  0,
	  0 },
	{ "pauses its hist if not",
	  ON,
	  ALWAYS,
	  { IF(TRIGGER_DISABLE_HIST, NO), T(TRIGGER_HIST) },
	  "fM",
	  1,
	  0,
	  0 },
	{ "no count left", ON, ALWAYS, { NONE_LEFT(TRIGGER_SNAPSHOT) }, "M", 1, 0, 0 },
};

static void row_arm(const struct order_row *row, struct arm_row *arm)
{
	*arm = (struct arm_row){ .flags = ARM_RECORD, .filter = row->filter };
	if (row->with & OTHER_PID)
		arm->flags |= ARM_PIDS;
	arm->flags |= ARM_SOFT_MODE;
	for (int i = 0; i < 3 && row->triggers[i].kind; i++) {
		arm->triggers[i] = row->triggers[i];
		arm->triggers[i].kind--;
		arm->nr_triggers++;
	}
}

static void pids_allow(uint32_t pid)
{
	data_ref ref = session_data_alloc(session, sizeof(struct pid_set));
	struct pid_set *set = session_data(session, ref, sizeof(*set));

	set->bits[pid / 64] |= 1ull << pid % 64;
	instance(0)->pids = ref;
}

static void check_row(const struct order_row *row)
{
	struct arm_row arm;
	char out[64];

	instance_reset(0);
	row_arm(row, &arm);
	plan_publish(&arm, 1);
	instance(0)->tracing_on = row->with & ON;
	event_state(0)->soft_disabled = !!(row->with & SOFT);
	if (row->with & OFF_CPU)
		instance(0)->cpumask[0] = 1;
	if (row->with & FREED)
		instance(0)->buffers[1] = 0;
	instance(0)->flags = (row->with & SILENT ? 0 : INSTANCE_PRINTS) |
			     (row->with & MAX ? INSTANCE_MAX_USED : 0) |
			     (row->with & STOPPED ? INSTANCE_STOPPED : 0) |
			     (row->with & STACKS ? INSTANCE_STACKTRACE : 0);
	if (row->with & OTHER_PID)
		pids_allow(77);
	assert_int_equal(fire_hit(out, 5, 0), strpbrk(row->diary, "MS") ? 1 : 0);
	if (strcmp(out, row->diary) || (int)instance(0)->tracing_on != row->on ||
	    (int)instance(0)->live != row->live ||
	    (int)event_state(0)->soft_disabled != row->disabled)
		fail_msg("%s: \"%s\" on %u live %u disabled %u", row->name, out,
			 instance(0)->tracing_on, instance(0)->live, event_state(0)->soft_disabled);
	assert_int_equal(slot->depth, 0);
}

static void steps_come_in_the_kernels_order(void **state)
{
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		check_row(&order[i]);
}

static void each_instance_has_its_own_filter(void **state)
{
	static const struct arm_row arms[2] = {
		{ .instance = 0, .flags = ARM_RECORD, .filter = NO, .nr_triggers = 1,
		  .triggers = { { TRIGGER_HIST, ALWAYS, 0 } } },
		{ .instance = 1, .flags = ARM_RECORD, .filter = YES, .nr_triggers = 1,
		  .triggers = { { TRIGGER_TRACEOFF, YES, 0 } } },
	};
	char out[64];

	plan_publish(arms, 2);
	assert_int_equal(fire_hit(out, 1, 0), 2);
	assert_string_equal(out, "fM");
	assert_int_equal(instance(0)->tracing_on, 1);
	assert_int_equal(instance(1)->tracing_on, 0);
	assert_int_equal(fire_hit(out, 1, 0), 0);
	assert_string_equal(out, "f");
}

static void counts_are_used_up(void **state)
{
	static const struct arm_row arm = { .flags = ARM_RECORD, .nr_triggers = 2,
		.triggers = { { TRIGGER_SNAPSHOT, ALWAYS, 2 }, { TRIGGER_TRACEON, ALWAYS, 1 } } };
	struct plan *plan = plan_publish(&arm, 1);
	char out[64];

	for (int i = 0; i < 4; i++)
		fire_hit(out, 1, 0);
	assert_int_equal(instance(0)->snapshots, 2);
	assert_int_equal(instance(0)->live, 0);
	assert_int_equal(state_of(plan, 0)->count, 0);
	/* A hit that changes nothing does not use up the count. */
	assert_int_equal(state_of(plan, 1)->count, 1);
	instance(0)->tracing_on = 0;
	fire_hit(out, 1, 0);
	assert_int_equal(state_of(plan, 1)->count, 0);
	instance(0)->tracing_on = 0;
	fire_hit(out, 1, 0);
	assert_int_equal(instance(0)->tracing_on, 0);
}

/* Each snapshot swaps the two buffers, so either one may be the second. */
static void a_snapshot_needs_a_second_buffer(void **state)
{
	static const struct arm_row arm = { .flags = ARM_RECORD, .nr_triggers = 1,
		.triggers = { { TRIGGER_SNAPSHOT, ALWAYS, 0 } } };
	char out[64];

	plan_publish(&arm, 1);
	instance(0)->live = 1;
	instance(0)->buffers[0] = 0;
	instance(0)->flags = INSTANCE_PRINTS;
	fire_hit(out, 5, 0);
	assert_string_equal(out, "-n-t");
	assert_int_equal(instance(0)->live, 1);
	assert_int_equal(instance(0)->snapshots, 0);
	assert_int_equal(instance(0)->tracing_on, 0);
}

static void all_hists_of_an_event_are_switched(void **state)
{
	static const struct arm_row arms[2] = {
		{ .instance = 0,
		 .flags = ARM_RECORD,
		 .nr_triggers = 2,
		 .triggers = { { TRIGGER_HIST, ALWAYS, 0 }, { TRIGGER_HIST, ALWAYS, 0 } } },
		{ .instance = 1,
		 .flags = ARM_RECORD,
		 .nr_triggers = 2,
		 .triggers = { { TRIGGER_HIST, ALWAYS, 0 }, { TRIGGER_DISABLE_HIST, ALWAYS, 1 } } },
	};
	struct plan *plan = plan_publish(arms, 2);
	struct trigger_arm *t = (struct trigger_arm *)((struct arm *)(plan + 1) + 2);
	char out[64];

	t[4].target = event_state_of[0];	/* of the other instance */
	fire_hit(out, 1, 0);
	assert_string_equal(out, "ffMfM");
	fire_hit(out, 1, 0);
	assert_string_equal(out, "MfM");
	assert_int_equal(state_of(plan, 3)->paused, 0);
	assert_int_equal(state_of(plan, 4)->count, 0);
}

static void option_stacktrace_follows_the_record(void **state)
{
	static const struct arm_row arm = { .flags = ARM_RECORD };
	char out[64];

	plan_publish(&arm, 1);
	instance(0)->flags = INSTANCE_STACKTRACE;
	fire_hit(out, 1, 0);
	assert_string_equal(out, "Ms2");
	instance(0)->tracing_on = 0;
	fire_hit(out, 1, 0);
	assert_string_equal(out, "");
}

static void the_clock_is_read_for_those_who_ask(void **state)
{
	static const struct arm_row arm = { .flags = ARM_RECORD, .nr_triggers = 1,
		.triggers = { { TRIGGER_HIST, ALWAYS, 0 } } };
	struct plan *plan = plan_publish(&arm, 1);
	struct trigger_arm *t = (struct trigger_arm *)((struct arm *)(plan + 1) + 1);
	char out[64];

	((struct code *)session_config(session, t[0].code, 32))->flags = CODE_NEEDS_TIME;
	fire_hit(out, 1, 0);
	assert_string_equal(out, "tM");
}

static void markers_fire_before_their_newline(void **state)
{
	struct arm_row arm = { .flags = ARM_INTERNAL, .filter = NO, .nr_triggers = 1,
		.triggers = { { TRIGGER_TRACEOFF, YES, 0 } } };
	struct plan *plan = plan_publish(&arm, 1);
	struct trigger_arm *t = (struct trigger_arm *)((struct arm *)(plan + 1) + 1);
	struct test_record rec = { .common = { .type = EVENT } }, seen = rec;
	struct hit h = {
		.record = &rec, .size = sizeof(rec), .seen = &seen, .seen_size = sizeof(seen) };
	char out[64] = "";

	diary = out;
	((struct code *)session_config(session, t[0].filter, 32))->nr_ops = 2;
	rec.last = 1;
	/* The trigger does not depend on the filter of the event, which is NO. */
	assert_int_equal(hit(session_plane(session), slot, &h), 1);
	assert_int_equal(instance(0)->tracing_on, 1);
	seen.last = 1;
	hit(session_plane(session), slot, &h);
	assert_int_equal(instance(0)->tracing_on, 0);
	assert_int_equal(hit(session_plane(session), slot, &h), 0);
	assert_string_equal(out, "MM");
}

static uint64_t with_pids(uint32_t kind, int32_t pid, uint32_t other)
{
	struct arm_row arm = { .flags = ARM_RECORD | ARM_PIDS };
	struct plan *plan = plan_publish(&arm, 1);
	char out[64];

	plan->other_pid = offsetof(struct test_record, other);
	plan->other_kind = (uint16_t)kind;
	return fire_hit(out, pid, other);
}

static void switches_and_wakeups_count_for_both_tasks(void **state)
{
	pids_allow(77);
	assert_int_equal(with_pids(OTHER_PID_NONE, 77, 1), 1);
	assert_int_equal(with_pids(OTHER_PID_NONE, 1, 77), 0);
	assert_int_equal(with_pids(OTHER_PID_SWITCH, 1, 77), 1);
	assert_int_equal(with_pids(OTHER_PID_SWITCH, 1, 2), 0);
	assert_int_equal(with_pids(OTHER_PID_WAKEE, 1, 77), 1);
	assert_int_equal(with_pids(OTHER_PID_WAKEE, 77, 1), 1);
	instance(0)->no_pids = instance(0)->pids;
	instance(0)->pids = 0;
	assert_int_equal(with_pids(OTHER_PID_NONE, 77, 1), 0);
	assert_int_equal(with_pids(OTHER_PID_NONE, 1, 77), 1);
	assert_int_equal(with_pids(OTHER_PID_SWITCH, 77, 1), 1);
	assert_int_equal(with_pids(OTHER_PID_SWITCH, 77, 77), 0);
}

static void children_follow_into_pid_sets(void **state)
{
	struct arm_row arm = { .flags = ARM_WATCH | ARM_FOLLOW_FORK };
	struct pid_set *set;
	struct plan *plan;
	char out[64];

	pids_allow(77);
	set = session_data(session, instance(0)->pids, sizeof(*set));
	plan = plan_publish(&arm, 1);
	plan->other_pid = offsetof(struct test_record, other);
	/* Without the option, nobody joins. */
	fire_hit(out, 77, 500);
	assert_int_equal(set->bits[500 / 64], 0);
	instance(0)->flags |= INSTANCE_EVENT_FORK;
	fire_hit(out, 77, 500);
	fire_hit(out, 78, 501);
	assert_int_equal(set->bits[500 / 64], 1ull << 500 % 64);
	assert_string_equal(out, "");
	arm.flags = ARM_WATCH | ARM_FOLLOW_FREE;
	plan = plan_publish(&arm, 1);
	plan->other_pid = offsetof(struct test_record, other);
	fire_hit(out, 1, 500);
	assert_int_equal(set->bits[500 / 64], 0);
}

static void hits_nest_four_deep(void **state)
{
	static const struct arm_row arm = { .flags = ARM_RECORD };
	char out[64];

	plan_publish(&arm, 1);
	slot->depth = 3;
	assert_int_equal(fire_hit(out, 1, 0), 1);
	assert_int_equal(slot->depth, 3);
	slot->depth = 4;
	assert_int_equal(fire_hit(out, 1, 0), 0);
	assert_int_equal(slot->missed, 1);
	assert_int_equal(slot->depth, 4);
	slot->depth = 0;
}

enum { COUNTERS = 3, COUNTS = 300000 };

static void *count_missed(void *arg)
{
	for (int i = 0; i < COUNTS; i++)
		hit_miss(arg);
	return NULL;
}

static void count_in_handler(int sig)
{
	hit_miss(slot);
}

/* The slot's thread, its signal handlers, and threads without a slot of their own count. */
static void each_missed_hit_is_counted_whoever_counts(void **state)
{
	uint64_t before = slot->missed, raised = 0;
	pthread_t t[COUNTERS];

	signal(SIGUSR1, count_in_handler);
	for (int i = 0; i < COUNTERS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, count_missed, slot), 0);
	for (; raised < 2000; raised++)
		raise(SIGUSR1);
	for (int i = 0; i < COUNTERS; i++)
		pthread_join(t[i], NULL);
	signal(SIGUSR1, SIG_DFL);
	assert_int_equal(slot->missed, before + COUNTERS * COUNTS + raised);
}

static void unknown_cpus_and_events_do_nothing(void **state)
{
	struct record_common rec = { .type = OTHER };
	struct hit h = { .record = &rec, .size = sizeof(rec) };

	assert_int_equal(hit(session_plane(session), slot, &h), 0);
	rec.type = EVENT;
	h.cpu = 2;
	assert_int_equal(hit(session_plane(session), slot, &h), 0);
	h.cpu = 0;
	h.size = 4;
	assert_int_equal(hit(session_plane(session), slot, &h), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define HIT_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
		HIT_TEST(steps_come_in_the_kernels_order),
		HIT_TEST(each_instance_has_its_own_filter),
		HIT_TEST(counts_are_used_up),
		HIT_TEST(a_snapshot_needs_a_second_buffer),
		HIT_TEST(all_hists_of_an_event_are_switched),
		HIT_TEST(option_stacktrace_follows_the_record),
		HIT_TEST(the_clock_is_read_for_those_who_ask),
		HIT_TEST(markers_fire_before_their_newline),
		HIT_TEST(switches_and_wakeups_count_for_both_tasks),
		HIT_TEST(children_follow_into_pid_sets),
		HIT_TEST(hits_nest_four_deep),
		HIT_TEST(each_missed_hit_is_counted_whoever_counts),
		HIT_TEST(unknown_cpus_and_events_do_nothing),
	};

	return run_in_temp_place(tests);
}
