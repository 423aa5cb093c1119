/* SPDX-License-Identifier: MIT */
/*
 * ftrace_commands.c - what a call of a function does besides its record: function commands,
 * triggers, stacks, repeats
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "ftrace_fixture.h"
#include "model/event/file.h"
#include "model/instance/options.h"
#include "model/instance/pids.h"
#include "plane/hit.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, functions_setup, functions_teardown)

static int command(struct fixture *f, const char *text)
{
	return edit(f->top, FTRACE_FILE_FILTER, false, text);
}

static bool is_tracing(struct fixture *f)
{
	return atomic_load(&f->top->state->tracing_on);
}

static void set_tracing(struct fixture *f, bool on)
{
	atomic_store(&f->top->state->tracing_on, on);
}

/* ---- Commands ---- */

static void tracing_ends_and_begins_without_a_tracer(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f, "alpha:traceoff\nbeta:traceon\n"), 0);
	functions_call(f, 0x1010);
	assert_true(is_tracing(f));
	assert_int_equal(functions_call(f, 0x1000), 0);
	assert_false(is_tracing(f));
	functions_call(f, 0x1020);
	assert_false(is_tracing(f));
	functions_call(f, 0x1010);
	assert_true(is_tracing(f));
	assert_string_equal(functions_ring(f, f->top, 0), "");
}

static void each_function_has_its_own_count(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f, "alpha:traceoff:2\n"), 0);
	assert_int_equal(command(f, "beta:traceoff:1\n"), 0);
	assert_int_equal(functions_word(0x1000), functions_word(0x1010));
	for (int i = 0; i < 3; i++) {
		set_tracing(f, true);
		functions_call(f, 0x1000);
		assert_int_equal(is_tracing(f), i == 2);
	}
	functions_call(f, 0x1010);
	assert_false(is_tracing(f));
	/* A call that changes nothing does not use up the count. */
	functions_call(f, 0x1010);
	set_tracing(f, true);
	functions_call(f, 0x1010);
	assert_true(is_tracing(f));
	assert_prints(ftrace_print_file(f->top, FTRACE_FILE_FILTER, NULL, out),
		"#### all functions enabled ####\nbeta:traceoff:count=0\nalpha:traceoff:count=0\n");
}

static void a_function_that_is_taken_out_of_a_batch_comes_back_with_the_new_count(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f, "*a:traceoff:1\n"), 0);
	set_tracing(f, true);
	functions_call(f, 0x1010);
	assert_false(is_tracing(f));
	assert_int_equal(command(f, "!beta:traceoff:0\n"), 0);
	assert_int_equal(functions_word(0x1010), 0);
	assert_int_equal(command(f, "beta:traceoff:2\n"), 0);
	for (int i = 0; i < 3; i++) {
		set_tracing(f, true);
		functions_call(f, 0x1010);
		assert_int_equal(is_tracing(f), i == 2);
	}
	functions_call(f, 0x1020);
	assert_false(is_tracing(f));
}

static void a_number_below_one_never_fires_for_tracing_and_snapshots(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f, "alpha:traceoff:\n"), 0);
	functions_call(f, 0x1000);
	assert_true(is_tracing(f));
	assert_prints(ftrace_print_file(f->top, FTRACE_FILE_FILTER, NULL, out),
		"#### all functions enabled ####\nalpha:traceoff:count=-1\n");
}

static void events_are_switched_each_function_its_own(void **state)
{
	struct fixture *f = *state;
	struct event_file *all = event_file_get(f->top, f->all),
			  *other = event_file_get(f->top, f->other);

	assert_int_equal(command(f, "alpha:enable_event:test:all\nbeta:enable_event:test:other\n"),
			 0);
	assert_prints(event_file_print_enable(all, out), "0*");
	functions_call(f, 0x1000);
	assert_prints(event_file_print_enable(all, out), "1*");
	assert_prints(event_file_print_enable(other, out), "0*");
	functions_call(f, 0x1010);
	assert_prints(event_file_print_enable(other, out), "1*");
	assert_int_equal(command(f, "alpha:disable_event:test:all:1\n"), 0);
	functions_call(f, 0x1000);	/* disabled, then enabled by the older command */
	functions_call(f, 0x1000);
	assert_prints(event_file_print_enable(all, out), "1*");
}

static void a_stack_is_recorded_without_the_function(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f, "alpha:stacktrace:2\n"), 0);
	assert_int_equal(
		plan_of(session_plane(f->session), functions_word(0x1000) & SITE_GROUP)->wants,
		PLAN_WANTS_STACK);
	for (int i = 0; i < 3; i++)
		functions_call(f, 0x1000);
	assert_string_equal(functions_ring(f, f->top, 0), "4 4 ");
}

static void a_snapshot_is_taken(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(ftrace_ops_enable(functions_ops(f->top)), 0);
	functions_call(f, 0x1010);
	assert_int_equal(command(f, "alpha:snapshot:1\n"), 0);
	functions_call(f, 0x1000);
	functions_call(f, 0x1000);
	/* The command is newer than the tracer, so it comes first. */
	assert_string_equal(functions_ring(f, f->top, 1), "1 ");
	assert_string_equal(functions_ring(f, f->top, 0), "1 1 ");
}

/*
 * A thread has seen the second buffer and wants to swap, but the buffer is gone: no swap is done.
 */
static void a_swap_that_comes_too_late_is_none(void **state)
{
	struct fixture *f = *state;
	struct instance_state *inst = f->top->state;
	uint32_t seen;

	assert_int_equal(instance_snapshot_alloc(f->top), 0);
	seen = inst->live;
	instance_snapshot_free(f->top);
	assert_false(atomic_compare_exchange_strong(&inst->live, &seen, seen ^ 1));
	assert_int_not_equal(instance_buffer(f->top, 0), 0);
	assert_int_equal(instance_buffer(f->top, 1), 0);
}

static void a_dump_is_asked_for_and_tracing_ends(void **state)
{
	struct fixture *f = *state;
	struct data_header *d = (struct data_header *)session_plane(f->session)->data;

	assert_int_equal(command(f, "alpha:dump\nbeta:cpudump\n"), 0);
	functions_call(f, 0x1000);
	assert_false(is_tracing(f));
	assert_int_equal(atomic_exchange(&d->dump, 0), 1);
	set_tracing(f, true);
	functions_call(f, 0x1000);
	assert_true(is_tracing(f));
	functions_call(f, 0x1010);
	functions_call(f, 0x1010);
	assert_int_equal(atomic_exchange(&d->dump, 0), 2);
}

static enum hit_plain plain_call(struct fixture *f, uint64_t ip)
{
	struct { struct record_common common; uint64_t ip, parent_ip; } r = {
		.common = { .type = LAYOUT_FUNCTION_ID, .pid = 42 }, .ip = ip,
	};
	struct slot *slot = session_slot_get(f->session);
	enum hit_plain done = hit_plain(session_plane(f->session), slot, &r, sizeof(r),
					hit_where(0, functions_word(ip) & SITE_GROUP));

	session_slot_put(f->session, slot);
	return done;
}

static void a_plain_hit_carries_out_what_needs_no_stack(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f, "alpha:traceoff:1\nbeta:stacktrace\n"), 0);
	assert_int_equal(plain_call(f, 0x1000), HIT_DONE);
	assert_false(is_tracing(f));
	set_tracing(f, true);
	assert_int_equal(plain_call(f, 0x1000), HIT_DONE);
	assert_true(is_tracing(f));
	assert_int_equal(plain_call(f, 0x1010), HIT_LONG);
	assert_string_equal(functions_ring(f, f->top, 0), "");
}

/* The newest comes first. So the tracer records the call only if it is newer than traceoff. */
static void commands_and_the_tracer_take_turns_as_they_came(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(command(f, "alpha:traceoff\n"), 0);
	assert_int_equal(ftrace_ops_enable(functions_ops(f->top)), 0);
	assert_int_equal(functions_call(f, 0x1000), 1);
	ftrace_ops_disable(functions_ops(f->top));
	assert_int_equal(command(f, "!alpha:traceoff\n"), 0);
	assert_int_equal(ftrace_ops_enable(functions_ops(f->top)), 0);
	assert_int_equal(command(f, "alpha:traceoff\n"), 0);
	set_tracing(f, true);
	assert_int_equal(functions_call(f, 0x1000), 0);
	assert_int_equal(functions_call(f, 0x1010), 0);
	assert_false(is_tracing(f));
}

/* ---- Triggers on ftrace:function ---- */

static void functions_are_counted_and_not_recorded(void **state)
{
	struct fixture *f = *state;
	struct event_file *file =
		event_file_get(f->top, model_find_event(f->model, "ftrace", "function"));
	const struct plan *plan;
	char *text;

	assert_true(event_has_trigger(file->event));
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "alpha beta\n"), 0);
	assert_int_equal(event_file_trigger_write(file, "hist:keys=ip"), 0);
	assert_int_equal(functions_word(0x1020), 0);
	plan = plan_of(session_plane(f->session), functions_word(0x1000) & SITE_GROUP);
	assert_non_null(plan);
	assert_int_equal(plan->kind, PLAN_COUNT_KEY1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(functions_call(f, 0x1000), 0);
	functions_call(f, 0x1010);
	assert_string_equal(functions_ring(f, f->top, 0), "");
	text = printed(event_file_trigger_print(file, out));
	assert_non_null(strstr(text, "hist:keys=ip:vals=hitcount"));
	free(text);
	assert_int_equal(event_file_trigger_write(file, "!hist:keys=ip"), 0);
	assert_int_equal(functions_word(0x1000), 0);
	assert_false(f->top->ftrace->triggers.enabled);
}

static void an_instance_with_triggers_can_go(void **state)
{
	struct fixture *f = *state;
	struct instance *foo;
	struct event_file *file;

	assert_int_equal(instance_create(f->model, "foo", &foo), 0);
	file = event_file_get(foo, model_find_event(f->model, "ftrace", "function"));
	assert_int_equal(event_file_trigger_write(file, "hist:keys=ip"), 0);
	assert_int_equal(event_file_trigger_write(file, "hist:keys=parent_ip"), 0);
	assert_int_equal(event_file_trigger_write(file, "traceoff:1 if ip == 4096"), 0);
	functions_call(f, 0x1000);
	assert_false(atomic_load(&foo->state->tracing_on));
	assert_int_equal(edit(foo, FTRACE_FILE_FILTER, false, "alpha:traceoff:1\n"), 0);
	assert_int_equal(instance_remove(foo), 0);
	assert_int_equal(functions_word(0x1000), 0);
}

/* ---- Options ---- */

static void a_stack_lies_behind_each_function(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(ftrace_ops_enable(functions_ops(f->top)), 0);
	/* this option does not apply to functions */
	assert_int_equal(option_set(f->top, OPTION_STACKTRACE, true), 0);
	functions_call(f, 0x1000);
	assert_int_equal(option_set(f->top, OPTION_FUNC_STACK_TRACE, true), 0);
	functions_call(f, 0x1000);
	assert_string_equal(functions_ring(f, f->top, 0), "1 1 4 ");
	assert_prints(ftrace_print_flagged(f->model->ftrace, FTRACE_SITE_ENABLED, out),
		      "alpha (1)           ->function_stack_trace_call\nbeta (1)           "
		      "->function_stack_trace_call\n"
		      "gamma (1)           ->function_stack_trace_call\ndelta (1)           "
		      "->function_stack_trace_call\n"
		      "load [libone] (1)           ->function_stack_trace_call\n");
}

static struct hit_repeat *repeats_of(struct instance *inst)
{
	struct session *s = inst->model->session;
	struct hit_repeat *r =
		session_data(s, inst->ftrace->repeats, session_header(s)->nr_cpus * sizeof(*r));

	assert_non_null(r);
	return r;
}

static void what_comes_again_is_counted(void **state)
{
	struct fixture *f = *state;
	struct {
		struct record_common common;
		uint64_t ip, parent_ip;
		uint16_t count, top;
		uint32_t bottom;
	} r;
	const uint32_t group = LAYOUT_GROUPS_AT;

	assert_int_equal(ftrace_ops_enable(functions_ops(f->top)), 0);
	assert_int_equal(option_set(f->top, OPTION_FUNC_NO_REPEATS, true), 0);
	for (uint64_t i = 1; i <= 4; i++)
		functions_hit(f, group, (struct hit){ .time = 1000 * i }, 0x1000, 42);
	functions_hit(f, group, (struct hit){ .time = 9000 }, 0x1010, 42);
	functions_hit(f, group, (struct hit){ .time = 10000 }, 0x1000, 42);
	assert_string_equal(functions_ring(f, f->top, 0), "1 19 1 1 ");
	assert_int_equal(functions_nth(f, f->top, 1, &r, sizeof(r)), sizeof(r));
	assert_int_equal(r.count, 3);
	assert_int_equal(r.ip, 0x1000);
	assert_int_equal(r.bottom, 5000);
	/* Another thread repeats the call, too. But each CPU has its own last call. */
	functions_hit(f, group, (struct hit){ .time = 11000 }, 0x1000, 43);
	functions_hit(f, group, (struct hit){ .time = 12000, .cpu = 1 }, 0x1000, 43);
	functions_hit(f, group, (struct hit){ .time = 13000, .cpu = 1 }, 0x1000, 42);
	functions_hit(f, group, (struct hit){ .time = 14000 }, 0x1000, 42);
	assert_int_equal(repeats_of(f->top)[0].last & REPEAT_COUNT, 2);
	assert_int_equal(repeats_of(f->top)[1].last & REPEAT_COUNT, 1);
	assert_int_equal(functions_nth(f, f->top, 4, &r, sizeof(r)),
			 sizeof(struct record_common) + 16);
	assert_int_equal(functions_nth(f, f->top, 5, &r, sizeof(r)), 0);
}

static uint64_t count_of(struct instance *inst, unsigned int cpu)
{
	return repeats_of(inst)[cpu].last & REPEAT_COUNT;
}

/* Another call takes the place before it is the last one, or a program overwrites the place. */
static void repeats_of_nobody_are_missed(void **state)
{
	struct fixture *f = *state;
	const uint32_t group = LAYOUT_GROUPS_AT;

	assert_int_equal(ftrace_ops_enable(functions_ops(f->top)), 0);
	assert_int_equal(option_set(f->top, OPTION_FUNC_NO_REPEATS, true), 0);
	for (uint64_t i = 1; i <= 3; i++)
		functions_hit(f, group, (struct hit){ .time = 1000 * i }, 0x1000, 42);
	assert_int_equal(count_of(f->top, 0), 2);
	for (unsigned int i = 0; i < REPEAT_CALLS; i++)
		repeats_of(f->top)[0].calls[i].ip ^= 0x10;
	functions_hit(f, group, (struct hit){ .time = 4000 }, 0x1010, 42);
	assert_string_equal(functions_ring(f, f->top, 0), "1 1 ");
}

static void as_many_as_a_record_has_room_for(void **state)
{
	struct fixture *f = *state;
	const uint32_t group = LAYOUT_GROUPS_AT;

	assert_int_equal(ftrace_ops_enable(functions_ops(f->top)), 0);
	assert_int_equal(option_set(f->top, OPTION_FUNC_NO_REPEATS, true), 0);
	functions_hit(f, group, (struct hit){ .time = 1000 }, 0x1000, 42);
	repeats_of(f->top)[0].last += UINT16_MAX - 1;
	functions_hit(f, group, (struct hit){ .time = 2000 }, 0x1000, 42);
	assert_string_equal(functions_ring(f, f->top, 0), "1 ");
	functions_hit(f, group, (struct hit){ .time = 3000 }, 0x1000, 42);
	assert_string_equal(functions_ring(f, f->top, 0), "1 19 1 ");
	assert_int_equal(count_of(f->top, 0), 0);
}

enum { HITTERS = 2, HITS = 30000 };

struct hitter {
	struct fixture	*f;
	struct slot	*slot;
	_Atomic int	*begun;		/* all begin together */
	pthread_t	thread;
};

static void *hit_on_and_on(void *arg)
{
	static const struct function_record call = {
		.common = { .type = LAYOUT_FUNCTION_ID, .pid = 42 },
		.ip = 0x1000,
		.parent_ip = 0x9000,
	};
	const struct hitter *h = arg;

	++*h->begun;
	while (*h->begun < HITTERS)
		sched_yield();
	for (int i = 0; i < HITS; i++)
		hit(session_plane(h->f->session), h->slot,
		    &(struct hit){ .record = &call,
				  .size = sizeof(call),
				  .time = 2000,
				  .comm = "tester",
				  .writer = 1,
				  .entry = LAYOUT_GROUPS_AT });
	return NULL;
}

/* Several threads count at once for one CPU, as if they had migrated in the middle. */
static void repeats_of_several_threads_are_all_counted(void **state)
{
	struct fixture *f = *state;
	struct hitter h[HITTERS];
	_Atomic int begun = 0;

	assert_int_equal(ftrace_ops_enable(functions_ops(f->top)), 0);
	assert_int_equal(option_set(f->top, OPTION_FUNC_NO_REPEATS, true), 0);
	functions_hit(f, LAYOUT_GROUPS_AT, (struct hit){ .time = 1000 }, 0x1000, 42);
	for (int i = 0; i < HITTERS; i++) {
		h[i] = (struct hitter){ .f = f, .begun = &begun };
		h[i].slot = session_slot_get(f->session);
		assert_non_null(h[i].slot);
		assert_int_equal(pthread_create(&h[i].thread, NULL, hit_on_and_on, &h[i]), 0);
	}
	for (int i = 0; i < HITTERS; i++) {
		assert_int_equal(pthread_join(h[i].thread, NULL), 0);
		session_slot_put(f->session, h[i].slot);
	}
	assert_string_equal(functions_ring(f, f->top, 0), "1 ");
	assert_int_equal(count_of(f->top, 0), HITTERS * HITS);
}

/* There are more functions than places, so two successive functions may share a place. */
static void repeats_of_many_functions_are_all_written(void **state)
{
	enum { FUNCTIONS = 10 * REPEAT_CALLS, TIMES = 3 };
	struct {
		struct record_common common;
		uint64_t ip, parent_ip;
		uint16_t count, top;
		uint32_t bottom;
	} r;
	struct fixture *f = *state;

	assert_int_equal(ftrace_ops_enable(functions_ops(f->top)), 0);
	assert_int_equal(option_set(f->top, OPTION_FUNC_NO_REPEATS, true), 0);
	for (uint64_t i = 0; i < FUNCTIONS; i++)
		for (int k = 0; k < TIMES; k++)
			functions_hit(f, LAYOUT_GROUPS_AT, (struct hit){ .time = 1000 * (i + 1) },
				      0x1000 + 0x10 * i, 42);
	/* The first call. Then, for each function, its repeats and the first call of the next. */
	for (unsigned int i = 0; i < FUNCTIONS - 1; i++) {
		assert_int_equal(functions_nth(f, f->top, 1 + 2 * i, &r, sizeof(r)), sizeof(r));
		assert_int_equal(r.count, TIMES - 1);
		assert_int_equal(r.ip, 0x1000 + 0x10 * i);
	}
}

static void an_instance_that_counts_repeats_can_go(void **state)
{
	struct fixture *f = *state;
	struct instance *other;

	assert_int_equal(instance_create(f->model, "other", &other), 0);
	assert_int_equal(ftrace_ops_enable(functions_ops(f->top)), 0);
	assert_int_equal(ftrace_ops_enable(functions_ops(other)), 0);
	assert_int_equal(option_set(f->top, OPTION_FUNC_NO_REPEATS, true), 0);
	functions_call(f, 0x1000);
	functions_call(f, 0x1000);
	assert_ptr_not_equal(repeats_of(f->top), repeats_of(other));
	assert_int_equal(count_of(f->top, 0), 1);
	assert_int_equal(count_of(other, 0), 1);
	assert_int_equal(instance_remove(other), 0);
	functions_call(f, 0x1000);
	assert_int_equal(count_of(f->top, 0), 2);
}

/* ---- Tasks ---- */

static void make_task(const struct plane *p, uint32_t creator, uint32_t pid)
{
	struct pids_family family;

	if (pids_family_of(p, NULL, creator, &family))
		pids_join(p, NULL, &family, pid);
}

static void a_new_task_joins_its_creator_s_sets_where_that_is_asked_for(void **state)
{
	struct fixture *f = *state;
	const struct plane *p = session_plane(f->session);

	assert_int_equal(pids_write(f->top, PIDS_FUNCTION, "7\n", 2), 2);
	assert_int_equal(pids_write(f->top, PIDS_NOTRACE, "7\n", 2), 2);
	assert_false(pids_followed(p));
	make_task(p, 7, 8);
	assert_prints(pids_print(f->top, PIDS_FUNCTION, out), "7\n");
	assert_int_equal(option_set(f->top, OPTION_FUNCTION_FORK, true), 0);
	assert_true(pids_followed(p));
	make_task(p, 7, 8);
	make_task(p, 9, 10);
	assert_prints(pids_print(f->top, PIDS_FUNCTION, out), "7\n8\n");
	assert_prints(pids_print(f->top, PIDS_NOTRACE, out), "7\n");
	assert_int_equal(option_set(f->top, OPTION_EVENT_FORK, true), 0);
	make_task(p, 7, 11);
	assert_prints(pids_print(f->top, PIDS_NOTRACE, out), "7\n11\n");
	pids_leave(p, NULL, 8);
	assert_prints(pids_print(f->top, PIDS_FUNCTION, out), "7\n11\n");
}

static void what_a_creator_was_in_outlives_it(void **state)
{
	struct fixture *f = *state;
	const struct plane *p = session_plane(f->session);
	struct slot *slot = session_slot_get(f->session);
	struct pids_family family;

	assert_int_equal(option_set(f->top, OPTION_FUNCTION_FORK, true), 0);
	assert_int_equal(pids_write(f->top, PIDS_FUNCTION, "7\n", 2), 2);
	assert_int_equal(pids_write(f->top, PIDS_NO_FUNCTION, "8\n", 2), 2);
	assert_true(pids_family_of(p, NULL, 7, &family));
	pids_leave(p, slot, 7);
	assert_false(pids_family_of(p, NULL, 7, &(struct pids_family){ 0 }));
	pids_join(p, slot, &family, 9);
	assert_int_equal(atomic_load(&slot->depth), 0);
	assert_prints(pids_print(f->top, PIDS_FUNCTION, out), "9\n");
	assert_prints(pids_print(f->top, PIDS_NO_FUNCTION, out), "8\n");
	/* A task does not join a set that has been cleared meanwhile. */
	pids_clear(f->top, PIDS_FUNCTION);
	pids_join(p, slot, &family, 10);
	assert_prints(pids_print(f->top, PIDS_FUNCTION, out), "no pid\n");
	session_slot_put(f->session, slot);
}

static void each_instance_has_its_own_sets_and_options(void **state)
{
	struct fixture *f = *state;
	const struct plane *p = session_plane(f->session);
	struct instance *other;

	assert_int_equal(instance_create(f->model, "other", &other), 0);
	assert_int_equal(pids_write(f->top, PIDS_FUNCTION, "7\n", 2), 2);
	assert_int_equal(pids_write(other, PIDS_FUNCTION, "7\n", 2), 2);
	assert_int_equal(option_set(other, OPTION_FUNCTION_FORK, true), 0);
	make_task(p, 7, 8);
	assert_prints(pids_print(f->top, PIDS_FUNCTION, out), "7\n");
	assert_prints(pids_print(other, PIDS_FUNCTION, out), "7\n8\n");
	pids_leave(p, NULL, 7);
	assert_prints(pids_print(f->top, PIDS_FUNCTION, out), "7\n");
	assert_prints(pids_print(other, PIDS_FUNCTION, out), "8\n");
	/* The last instance with such an option goes. */
	assert_int_equal(instance_remove(other), 0);
	assert_false(pids_followed(p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tracing_ends_and_begins_without_a_tracer),
		TEST(each_function_has_its_own_count),
		TEST(a_function_that_is_taken_out_of_a_batch_comes_back_with_the_new_count),
		TEST(a_number_below_one_never_fires_for_tracing_and_snapshots),
		TEST(events_are_switched_each_function_its_own),
		TEST(a_stack_is_recorded_without_the_function),
		TEST(a_snapshot_is_taken),
		TEST(a_swap_that_comes_too_late_is_none),
		TEST(a_dump_is_asked_for_and_tracing_ends),
		TEST(a_plain_hit_carries_out_what_needs_no_stack),
		TEST(commands_and_the_tracer_take_turns_as_they_came),
		TEST(functions_are_counted_and_not_recorded),
		TEST(an_instance_with_triggers_can_go),
		TEST(a_stack_lies_behind_each_function),
		TEST(what_comes_again_is_counted),
		TEST(repeats_of_nobody_are_missed),
		TEST(as_many_as_a_record_has_room_for),
		TEST(repeats_of_several_threads_are_all_counted),
		TEST(repeats_of_many_functions_are_all_written),
		TEST(an_instance_that_counts_repeats_can_go),
		TEST(a_new_task_joins_its_creator_s_sets_where_that_is_asked_for),
		TEST(what_a_creator_was_in_outlives_it),
		TEST(each_instance_has_its_own_sets_and_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
