/* SPDX-License-Identifier: MIT */
/*
 * graph.c - functions whose returns are caught have the same results; checks the records of them
 *
 * The test process is its own server, as in sites_live.c.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/emit/emit.h"
#include "agent/sites/hit.h"
#include "agent/state.h"
#include "plane/map/map.h"
#include "plane/code.h"
#include "plane/ring/ring.h"
#include "session/attach/attach.h"
#include "session/session.h"
#include "own_server.h"
#include "graph_fixture.h"

enum { SITES = 256, GROUP = LAYOUT_GROUPS_AT, WAIT_MS = 20000, RING_BYTES = 8 << 20, TEXT = 4096 };

static struct instance_state *inst;
static struct site_control *control;
static struct program_tables *tables;

static const struct {
	const char	*name;
	long		(*run)(void);
} programs[] = {
	{ "calls", run_calls },
	{ "recursion", run_recursion },
	{ "tails", run_tails },
	{ "values", run_values },
	{ "longjmp", run_longjmp },
	{ "handler", run_handler },
	{ "left handler", run_left_handler },
	{ "coroutines", run_coroutines },
	{ "fork", run_fork },
	{ "vfork", run_vfork },
	{ "exit", run_exit },
	{ "cancel", run_cancel },
	{ "backtrace", run_backtrace },
	{ "realigned", run_realigned },
	{ "thread", run_thread },
	{ "throw", run_throw },
	{ "rethrow", run_rethrow },
};

enum { PROGRAMS = sizeof(programs) / sizeof(programs[0]) };

static long expected[PROGRAMS];

/* ---- The session ---- */

static int set_up(void **state)
{
	static const struct session_params params = {
		.nr_cpus = 2, .nr_slots = 64, .memory = 256 << 20 };

	for (int i = 0; i < PROGRAMS; i++)
		expected[i] = programs[i].run();
	if (serve_start(NULL, &params))
		return -1;
	control = session_config(session, session_header(session)->sites, sizeof(*control));
	tables = plane_data(session_plane(session), session_header(session)->programs);
	inst = instance_start(RING_BYTES);
	entry_arm(GROUP + GROUP_GRAPH, LAYOUT_GRAPH_ENTRY_ID, true);
	entry_arm(LAYOUT_GRAPH_EXIT, LAYOUT_GRAPH_EXIT_ID, true);
	return attach_start(session_dir(session), NULL);
}

static bool answered(uint32_t command)
{
	for (int ms = 0; ms < WAIT_MS; ms++) {
		for (int i = 0; i < LAYOUT_MAX_PROCESSES; i++)
			if (atomic_load(&tables->sites[i].command) == command &&
			    tables->sites[i].pid == (uint32_t)getpid())
				return true;
		usleep(1000);
	}
	return false;
}

/* Sets the word of all functions. */
static void words_set(uint32_t word)
{
	config_ref ref = session_config_alloc(session, SITES * sizeof(uint32_t));
	uint32_t *words = session_config(session, ref, SITES * sizeof(uint32_t)), nr;

	for (int i = 0; i < SITES; i++)
		words[i] = word;
	for (int i = 0; i < LAYOUT_MAX_DSOS; i++) {
		atomic_store(&control->sets[i].nr, SITES);
		atomic_store(&control->sets[i].words, ref);
	}
	nr = atomic_fetch_add(&control->command, 1) + 1;
	syscall(SYS_futex, &control->command, FUTEX_WAKE, 1000, NULL, NULL, 0);
	assert_true(answered(nr));
}

static const void *address_of(const char *name)
{
	for (const struct graph_function *f = graph_functions; f->name; f++)
		if (!strcmp(f->name, name))
			return f->at;
	fail();
	return NULL;
}

/* The word of the site in the first bytes of a function. */
static _Atomic uint32_t *word_of(const char *name)
{
	uintptr_t at = (uintptr_t)address_of(name);
	const struct site_table *table = site_table_find(at);

	assert_non_null(table);
	for (int i = 0; i < 8; i++)
		if (table->words[((at - table->code) >> 2) + i])
			return &table->words[((at - table->code) >> 2) + i];
	fail();
	return NULL;
}

static void config_set(struct graph_config c)
{
	config_ref ref = session_config_alloc(session, sizeof(c));

	*(struct graph_config *)session_config(session, ref, sizeof(c)) = c;
	session_publish(session, &control->graph, ref);
}

/* ---- What was recorded ---- */

struct entry_record {
	struct record_common common;
	uint64_t	func;
	int32_t		depth;
};

struct exit_record {
	struct record_common common;
	uint64_t	func, retval;
	int32_t		depth;
	uint32_t	overrun;
	uint64_t	calltime, rettime;
};

static const char *name_of(uint64_t func)
{
	const char *best = "?";
	uint64_t near = 64;

	for (const struct graph_function *f = graph_functions; f->name; f++) {
		uintptr_t at = (uintptr_t)f->at;
		const struct site_table *table = site_table_find(at);

		if (table && func - table->delta - at < near) {
			near = func - table->delta - at;
			best = f->name;
		}
	}
	return best;
}

/* Makes "a{b{}}" of this thread's records, and checks their depths. */
static void shape_read(char *text)
{
	int depth = 0;
	struct ring_record r;
	struct ring_iter *it;
	char *at = text;

	*text = 0;
	assert_int_equal(ring_iter_open(session, inst->buffers[0], -1, &it), 0);
	while (ring_iter_next(it, &r) == 1 && at - text < TEXT - 64) {
		const struct record_common *common = r.record;
		const struct entry_record *entry = r.record;
		const struct exit_record *ended = r.record;

		if (common->pid != getpid())
			continue;
		if (common->type == LAYOUT_GRAPH_ENTRY_ID) {
			at += sprintf(at, entry->depth == depth ? "%s{" : "%s@%d{",
				      name_of(entry->func), entry->depth);
			depth = entry->depth + 1;
		} else if (common->type == LAYOUT_GRAPH_EXIT_ID) {
			at += sprintf(at, ended->depth == depth - 1 ? "}" : "}@%d", ended->depth);
			depth = ended->depth;
		} else {
			at += sprintf(at, "[%s]", name_of(entry->func));
		}
	}
	ring_iter_close(it);
}

static const char *shape_of(long (*run)(void))
{
	static char text[TEXT];

	buffer_clear(session, inst->buffers[0], -1);
	run();
	shape_read(text);
	return text;
}

/* ---- Tests ---- */

static void programs_do_what_they_did(void **state)
{
	words_set(GROUP | SITE_HOOKED);
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < PROGRAMS; i++) {
			long n = programs[i].run();

			if (n != expected[i])
				print_error("%s: %ld, not %ld\n", programs[i].name, n, expected[i]);
			assert_int_equal(n, expected[i]);
		}
}

static void calls_and_returns_are_recorded(void **state)
{
	assert_string_equal(shape_of(run_calls), "run_calls{outer{middle{leaf{}leaf{}}leaf{}}}");
}

/*
 * Checks the records of run_calls(): each time lies between those of the previous record and its
 * own record. Two readings of the counter may be the same nanosecond, so a short call may take 0
 * ns.
 */
static void times_are_in_order(void)
{
	uint64_t last = 0, before[8] = { 0 }, called[8] = { 0 };
	struct ring_record r;
	struct ring_iter *it;
	int exits = 0;

	assert_int_equal(ring_iter_open(session, inst->buffers[0], -1, &it), 0);
	for (; ring_iter_next(it, &r) == 1; last = r.time) {
		const struct entry_record *entry = r.record;
		const struct exit_record *ended = r.record;

		assert_true(last <= r.time);
		if (entry->common.type == LAYOUT_GRAPH_ENTRY_ID) {
			assert_int_equal(r.size, 20);
			before[entry->depth] = last;
			called[entry->depth] = r.time;
			continue;
		}
		assert_int_equal(r.size, 48);
		assert_true(before[ended->depth] <= ended->calltime &&
			    ended->calltime <= called[ended->depth]);
		assert_true(last <= ended->rettime && ended->rettime <= r.time);
		assert_int_equal(ended->overrun, 0);
		if (!ended->depth)
			assert_int_equal(ended->retval, expected[0]);
		exits++;
	}
	ring_iter_close(it);
	assert_int_equal(exits, 6);
}

static void records_say_when_and_what(void **state)
{
	for (int i = 0; i < 500; i++) {
		shape_of(run_calls);
		times_are_in_order();
	}
}

static bool has_short_ways(void)
{
	return *agent_thread()->cpu >= 0 && session_header(session)->tsc.valid;
}

/* The entry of the way of the last call that went the short way; 0: it had none. */
static uint32_t last_way(void)
{
	const struct agent_way *last = agent_thread()->graph.last;

	return last ? last->event : 0;
}

/* A function whose group is another one's: with a way of its own, and in the same place. */
static void groups_alternate(void **state)
{
	const uint32_t others[] = { GROUP + 3, GROUP + 3 * AGENT_WAYS };

	words_set(GROUP | SITE_HOOKED);
	for (int i = 0; i < 2; i++) {
		_Atomic uint32_t *leaf = word_of("leaf");
		const uint32_t word = *leaf;
		int seen = 0;

		entry_arm(others[i] + GROUP_GRAPH, LAYOUT_GRAPH_ENTRY_ID, true);
		*leaf = (word & ~(uint32_t)SITE_GROUP) | others[i];
		for (int k = 0; k < 200; k++) {
			assert_string_equal(shape_of(run_calls),
					    "run_calls{outer{middle{leaf{}leaf{}}leaf{}}}");
			times_are_in_order();
			seen += last_way() == others[i] + GROUP_GRAPH;
		}
		*leaf = word;
		entry_arm(others[i] + GROUP_GRAPH, 0, false);
		/* Two ways in one place are made again by each call. */
		if (has_short_ways() && !i)
			assert_true(seen > 100);
	}
}

/* Makes calls until the last one has gone the short way: the thread may lose its CPU in between. */
static bool goes_short(void)
{
	for (int i = 0; i < 100; i++) {
		run_calls();
		if (last_way() == GROUP + GROUP_GRAPH)
			return true;
	}
	return false;
}

static void only_calls_with_a_way_read_the_counter_first(void **state)
{
	if (!has_short_ways())
		skip();
	words_set(GROUP | SITE_HOOKED);
	assert_true(goes_short());
	words_set(GROUP);
	run_calls();
	assert_null(agent_thread()->graph.last);
	words_set(GROUP | SITE_HOOKED);
	assert_true(goes_short());
	*word_of("leaf") |= SITE_IN_GRAPH;
	run_calls();
	assert_null(agent_thread()->graph.last);
	*word_of("leaf") &= ~(uint32_t)SITE_IN_GRAPH;
	records_say_when_and_what(state);
	assert_true(goes_short());
}

static void tail_calls_end_together(void **state)
{
	assert_string_equal(shape_of(run_tails), "run_tails{tail_first{tail_second{tail_end{}}}}");
}

static long long_tails(void)
{
	long (*volatile run)(long n) = (long (*)(long))address_of("tail_loop_a");

	return run(1000);
}

static void tail_calls_without_end_are_an_overrun(void **state)
{
	uint32_t before = agent_thread()->graph.overrun;

	assert_int_equal(long_tails(), 7);
	assert_true(agent_thread()->graph.overrun > before);
	assert_string_equal(shape_of(run_calls), "run_calls{outer{middle{leaf{}leaf{}}leaf{}}}");
}

/* How many entries, or exits, of a function have been recorded. */
static int records_of(const char *name, uint16_t type)
{
	struct ring_record r;
	struct ring_iter *it;
	int nr = 0;

	assert_int_equal(ring_iter_open(session, inst->buffers[0], -1, &it), 0);
	while (ring_iter_next(it, &r) == 1) {
		const struct entry_record *record = r.record;

		nr += record->common.type == type && !strcmp(name_of(record->func), name);
	}
	ring_iter_close(it);
	return nr;
}

static void a_tail_call_waits_while_many_come_and_go(void **state)
{
	long (*volatile run)(long nr) = (long (*)(long))address_of("tail_waits");
	uint32_t before = agent_thread()->graph.overrun;
	enum { MANY = 12000 };

	buffer_clear(session, inst->buffers[0], -1);
	assert_int_equal(run(MANY), 3l * MANY * (MANY - 1) + MANY);
	assert_int_equal(records_of("tail_first", LAYOUT_GRAPH_EXIT_ID), MANY);
	assert_int_equal(records_of("tail_waits", LAYOUT_GRAPH_ENTRY_ID), 1);
	assert_int_equal(records_of("tail_waits", LAYOUT_GRAPH_EXIT_ID), 1);
	assert_int_equal(agent_thread()->graph.overrun, before);
}

static bool has_return_sites;

/*
 * In functions with return sites no return address is replaced. A function that ends by a jump
 * lasts until the jump's target returns.
 */
static void return_sites_are_used(void **state)
{
	unsigned int nr = 0;

	words_set(GROUP | SITE_HOOKED);
	/*
	 * Not all functions: the code is running, so a site whose first bytes lie in two words is
	 * not switched.
	 */
	for (const struct graph_function *f = graph_functions; f->name; f++)
		nr += !!(*word_of(f->name) & SITE_RETURNS);
	assert_true(has_return_sites ? nr > 5 : !nr);
	assert_false(*word_of("tail_first") & SITE_RETURNS);
	words_set(GROUP);
	for (const struct graph_function *f = graph_functions; f->name; f++)
		assert_false(*word_of(f->name) & SITE_RETURNS);
	words_set(GROUP | SITE_HOOKED);
}

static void what_was_left_is_forgotten(void **state)
{
	const char *shape = shape_of(run_longjmp);
	int functions = 0;

	/*
	 * After the return of jump_over(), leaf() has the same depth, whatever calls were left open
	 * before.
	 */
	for (const char *at = shape; (at = strstr(at, "leaf")); at++) {
		assert_true(!strncmp(at, "leaf{}", 6));
		functions++;
	}
	assert_int_equal(functions, 3);
}

static void handlers_are_called_by_what_they_interrupt(void **state)
{
	assert_string_equal(shape_of(run_handler), "run_handler{raises{in_handler{leaf{}}leaf{}}"
			    "raises{in_handler{leaf{}}leaf{}}raises{in_handler{leaf{}}leaf{}}"
			    "raises{in_handler{leaf{}}leaf{}}}");
}

static void deep_recursion_has_its_depth(void **state)
{
	struct ring_record r;
	struct ring_iter *it;
	int most = 0, entries = 0;

	buffer_clear(session, inst->buffers[0], -1);
	run_recursion();
	assert_int_equal(ring_iter_open(session, inst->buffers[0], -1, &it), 0);
	while (ring_iter_next(it, &r) == 1) {
		const struct entry_record *entry = r.record;

		if (entry->common.type != LAYOUT_GRAPH_ENTRY_ID)
			continue;
		most = entry->depth > most ? entry->depth : most;
		entries++;
	}
	ring_iter_close(it);
	assert_int_equal(entries, 20002);
	assert_int_equal(most, 20001);
}

static void depth_is_limited(void **state)
{
	config_set((struct graph_config){ .max_depth = 2 });
	assert_string_equal(shape_of(run_calls), "run_calls{outer{}}");
	config_set((struct graph_config){ .max_depth = 1 });
	assert_string_equal(shape_of(run_calls), "run_calls{}");
	config_set((struct graph_config){ 0 });
}

static void only_chosen_functions_and_what_they_call(void **state)
{
	config_set((struct graph_config){ .flags = GRAPH_CHOSEN });
	assert_string_equal(shape_of(run_calls), "");
	*word_of("middle") |= SITE_IN_GRAPH;
	assert_string_equal(shape_of(run_calls), "middle{leaf{}leaf{}}");
	config_set((struct graph_config){ 0 });
	words_set(GROUP | SITE_HOOKED);
}

static void nothing_below_some_functions(void **state)
{
	*word_of("middle") |= SITE_IN_GRAPH_NOTRACE;
	assert_string_equal(shape_of(run_calls), "run_calls{outer{leaf{}}}");
	words_set(GROUP | SITE_HOOKED);
}

static void what_takes_long_is_recorded_at_its_end(void **state)
{
	config_set((struct graph_config){ .thresh = 1000000000 });
	assert_string_equal(shape_of(run_calls), "");
	config_set((struct graph_config){ .thresh = 1 });
	assert_string_equal(shape_of(run_calls), "}@3}@3}}@2}}");
	config_set((struct graph_config){ 0 });
}

static void arguments_are_recorded_if_they_are_wanted(void **state)
{
	const uint64_t *args;
	struct ring_record r;
	struct ring_iter *it;
	int found = 0;

	buffer_clear(session, inst->buffers[0], -1);
	config_set((struct graph_config){ .flags = GRAPH_ARGS });
	run_values();
	config_set((struct graph_config){ 0 });
	run_values();
	assert_int_equal(ring_iter_open(session, inst->buffers[0], -1, &it), 0);
	while (ring_iter_next(it, &r) == 1) {
		const struct entry_record *entry = r.record;

		if (entry->common.type != LAYOUT_GRAPH_ENTRY_ID ||
		    strcmp(name_of(entry->func), "many"))
			continue;
		assert_int_equal(r.size, found++ ? 20 : 72);
		if (found > 1)
			continue;
		args = (const uint64_t *)((const char *)r.record + 24);
		for (uint64_t i = 0; i < 6; i++)
			assert_int_equal(args[i], i + 1);
	}
	ring_iter_close(it);
	assert_int_equal(found, 2);
	assert_string_equal(shape_of(run_calls), "run_calls{outer{middle{leaf{}leaf{}}leaf{}}}");
}

static void the_function_event_comes_first(void **state)
{
	entry_arm(GROUP + GROUP_FUNCTION, LAYOUT_FUNCTION_ID, true);
	assert_string_equal(shape_of(run_calls),
			    "[run_calls]run_calls{[outer]outer{[middle]middle{[leaf]leaf{}"
			    "[leaf]leaf{}}[leaf]leaf{}}}");
	entry_arm(GROUP + GROUP_GRAPH, LAYOUT_GRAPH_ENTRY_ID, false);
	assert_string_equal(shape_of(run_calls), "[run_calls][outer][middle][leaf][leaf][leaf]");
	entry_arm(GROUP + GROUP_FUNCTION, LAYOUT_FUNCTION_ID, false);
	entry_arm(GROUP + GROUP_GRAPH, LAYOUT_GRAPH_ENTRY_ID, true);
}

static void what_is_not_recorded_is_not_hooked(void **state)
{
	inst->tracing_on = 0;
	assert_string_equal(shape_of(run_calls), "");
	assert_int_equal(agent_thread()->graph.top, 0);
	inst->tracing_on = 1;
}

/* The last return's times. */
static uint64_t took(void)
{
	struct ring_record r;
	struct ring_iter *it;
	uint64_t ns = 0;

	assert_int_equal(ring_iter_open(session, inst->buffers[0], -1, &it), 0);
	while (ring_iter_next(it, &r) == 1) {
		const struct exit_record *ended = r.record;

		if (ended->common.type == LAYOUT_GRAPH_EXIT_ID)
			ns = ended->rettime - ended->calltime;
	}
	ring_iter_close(it);
	return ns;
}

static void sleep_counts_or_not(void **state)
{
	assert_string_equal(shape_of(run_sleeps), "run_sleeps{}");
	assert_true(took() >= 50000000);
	config_set((struct graph_config){ .flags = GRAPH_CPU_TIME });
	assert_string_equal(shape_of(run_sleeps), "run_sleeps{}");
	assert_in_range(took(), 1, 40000000);
	config_set((struct graph_config){ 0 });
}

/* ---- The profile ---- */

enum { PROFILE_TYPE = LAYOUT_FUNCTION_ID };	/* that of all entries but two: emit_type() */

/* The profile's time of all returns from a function, in ns; NULL: from all functions. */
static uint64_t profiled(const char *name)
{
	struct ring_record r;
	struct ring_iter *it;
	uint64_t ns = 0;

	assert_int_equal(ring_iter_open(session, inst->buffers[0], -1, &it), 0);
	while (ring_iter_next(it, &r) == 1) {
		const struct record_common *common = r.record;
		const struct profile_record *p = r.record;

		if (common->type == PROFILE_TYPE && (!name || !strcmp(name_of(p->func), name)))
			ns += p->time;
	}
	ring_iter_close(it);
	return ns;
}

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Returns the time that the thread took by its own clock, and on the processor. */
static void profile_works(uint32_t flags, uint64_t *took, uint64_t *ran)
{
	config_set((struct graph_config){ .flags = GRAPH_PROFILE | flags });
	buffer_clear(session, inst->buffers[0], -1);
	*took = now(CLOCK_MONOTONIC);
	*ran = now(CLOCK_THREAD_CPUTIME_ID);
	assert_int_equal(run_works(), 5);
	*ran = now(CLOCK_THREAD_CPUTIME_ID) - *ran;
	*took = now(CLOCK_MONOTONIC) - *took;
	config_set((struct graph_config){ 0 });
}

/*
 * Checks all four combinations of graph-time and sleep-time. The sum of the functions' own times
 * cannot exceed the whole time.
 */
static void the_profile_counts_what_is_asked_for(void **state)
{
	enum { WORK = 2 * 3000000, SLEEP = 2 * 30000000 };
	uint64_t took, ran;

	entry_arm(GROUP + GROUP_PROFILE, PROFILE_TYPE, true);
	profile_works(0, &took, &ran);
	assert_true(profiled("works") >= WORK + SLEEP);
	assert_true(profiled("run_works") >= profiled("only_calls") + profiled("only_jumps"));
	assert_true(profiled("only_calls") + profiled("only_jumps") >= profiled("works"));
	profile_works(GRAPH_CPU_TIME, &took, &ran);
	assert_in_range(profiled("works"), WORK, ran);
	assert_true(profiled("run_works") >= profiled("only_calls") + profiled("only_jumps"));
	assert_true(profiled("only_calls") + profiled("only_jumps") >= profiled("works"));
	profile_works(GRAPH_SELF_TIME, &took, &ran);
	assert_true(profiled("works") >= WORK + SLEEP);
	assert_true(profiled(NULL) < took + took / 4);	/* two clocks */
	profile_works(GRAPH_SELF_TIME | GRAPH_CPU_TIME, &took, &ran);
	assert_true(profiled("works") >= WORK);
	assert_true(profiled(NULL) <= ran);
	entry_arm(GROUP + GROUP_PROFILE, 0, false);
}

/* ---- The profile's short way ---- */

enum { PROFILE = GROUP + GROUP_PROFILE, ELTS = 256, NAMES = 64 };

static const struct map_shape profile_shape = {
	.max_elts = ELTS, .key_size = 16, .nr_sums = PROFILE_SUMS, .nr_cpus = 2, .nr_slots = 64,
};
static data_ref folded;		/* the map */

/* Gives an entry a plan that folds records by one op into an empty map. */
static void fold_arm(uint32_t entry, uint32_t event, struct op op, const struct map_shape *shape)
{
	const size_t size = sizeof(struct plan) + sizeof(struct arm) + sizeof(struct trigger_arm);
	config_ref ref = session_config_alloc(session, size), code;
	struct plan *plan = session_config(session, ref, size);
	const struct event_entry *at = plane_event(session_plane(session), entry);
	struct code *made;
	struct arm *arm;

	code = session_config_alloc(session, sizeof(*made) + 2 * sizeof(struct op));
	made = session_config(session, code, sizeof(*made) + 2 * sizeof(struct op));
	folded = session_data_alloc(session, map_size(shape));
	*made = (struct code){ .nr_ops = 2, .map = folded, .key_size = shape->key_size };
	map_lay_out(&made->layout, shape);
	made->ops[0] = op;
	made->ops[1] = (struct op){ .kind = OP_END };
	*plan = (struct plan){ .event_id = event, .nr_arms = 1, .nr_triggers = 1,
			       .size = (uint32_t)size };
	arm = (struct arm *)(plan + 1);
	*arm = (struct arm){ .flags = ARM_FUNCTION | ARM_NEED_RECORD, .nr_triggers = 1 };
	*(struct trigger_arm *)(arm + 1) = (struct trigger_arm){
		.kind = TRIGGER_HIST, .flags = TRIGGER_RECORD, .code = code,
		.state = session_data_alloc(session, sizeof(struct trigger_state)),
	};
	session_publish(session, (_Atomic uint64_t *)&at->plan, ref);
}

/* Calls fn for each elt of the map. */
static void folded_each(const struct map_shape *shape,
			int (*fn)(void *, uint32_t, const void *, const uint64_t *), void *arg)
{
	size_t size = map_size(shape);

	assert_int_equal(map_each(session_data(session, folded, size), size, shape, fn, arg), 0);
}

/* The sums of a function in a map, for all CPUs. */
struct profile_sums {
	const char	*name;
	uint64_t	sum[PROFILE_SUMS];
};

struct profile_found {
	struct profile_sums v[NAMES];
	int		nr;
};

static int profile_collect(void *arg, uint32_t elt, const void *key, const uint64_t *sums)
{
	struct profile_found *all = arg;
	const char *name = name_of(*(const uint64_t *)key);
	int i = 0;

	while (i < all->nr && strcmp(all->v[i].name, name))
		i++;
	assert_in_range(i, 0, NAMES - 1);
	all->v[i].name = name;
	all->nr += i == all->nr;
	for (int k = 0; k < PROFILE_SUMS; k++)
		all->v[i].sum[k] += sums[k];
	return 0;
}

static const struct profile_found *profile_read(void)
{
	static struct profile_found all;

	memset(&all, 0, sizeof(all));
	folded_each(&profile_shape, profile_collect, &all);
	return &all;
}

static uint64_t profile_sum(const char *name, int sum)
{
	const struct profile_found *all = profile_read();

	for (int i = 0; i < all->nr; i++)
		if (!strcmp(all->v[i].name, name))
			return all->v[i].sum[sum];
	return 0;
}

static void profile_begins(uint32_t flags, bool short_ways)
{
	entry_arm(GROUP + GROUP_GRAPH, 0, false);
	session_header(session)->shortcuts_off = short_ways ? 0 : SHORTCUTS_OFF_WAYS;
	config_set((struct graph_config){ .flags = GRAPH_PROFILE | flags });
	/* As model/ftrace/profile.c and model/ftrace/plan.c have it. */
	fold_arm(PROFILE, LAYOUT_GRAPH_EXIT_ID, (struct op){ .kind = OP_PROFILE }, &profile_shape);
}

static void profile_ends(void)
{
	session_header(session)->shortcuts_off = 0;
	entry_arm(PROFILE, 0, false);
	config_set((struct graph_config){ 0 });
	entry_arm(GROUP + GROUP_GRAPH, LAYOUT_GRAPH_ENTRY_ID, true);
}

/* Makes calls until the thread has its way of the profile. If there can be none, the test ends. */
static struct agent_profile *profile_way(void)
{
	struct agent_profile *w = &agent_thread()->profiles[PROFILE % AGENT_PROFILES];

	if (*agent_thread()->cpu < 0 || !session_header(session)->tsc.valid) {
		profile_ends();
		skip();
	}
	/* The thread may lose its CPU in between. */
	for (int i = 0; i < 100; i++) {
		run_calls();
		if (w->event == PROFILE && w->cpu == (uint32_t)*agent_thread()->cpu)
			break;
	}
	assert_int_equal(w->event, PROFILE);
	return w;
}

/* What went the short way is counted in `sums`. -> calls, -1: of one only half did */
static int counted_short(const uint64_t *sums, size_t nr)
{
	uint64_t calls = 0;

	for (size_t k = 0; k < nr; k += PROFILE_SUMS) {
		if (!sums[k + PROFILE_TIME] != !sums[k + PROFILE_CALLS])
			return -1;
		calls += sums[k + PROFILE_CALLS];
	}
	return (int)calls;
}

/* A round in which the thread is put off its CPU is none of them: it goes the long way in part. */
static void a_profiled_call_goes_the_short_way(void **state)
{
	enum { ROUNDS = 100, SUMS = (ELTS + 128) * PROFILE_SUMS };
	static uint64_t sums[SUMS];
	struct agent_profile *w;
	int whole = 0;

	words_set(GROUP | SITE_HOOKED);
	profile_begins(0, true);
	w = profile_way();
	/* Calls that take the short way are counted elsewhere. */
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t before = profile_sum("leaf", PROFILE_CALLS);
		char *at = w->sums;
		int calls;

		memset(sums, 0, sizeof(sums));
		w->sums = (char *)sums;
		run_calls();
		if (w->sums == (char *)sums)
			w->sums = at;
		calls = counted_short(sums, SUMS);
		/* outer, middle, leaf three times; run_calls, if it has a site */
		assert_true(calls <= 6);
		whole += calls >= 5 && profile_sum("leaf", PROFILE_CALLS) == before;
	}
	assert_true(whole > ROUNDS / 2);
	profile_ends();
}

/*
 * For one call, the sum of squares is the square of its time. The same holds if the way is found
 * again for each call.
 */
static void a_profiled_call_has_a_time_and_its_square(void **state)
{
	uint64_t before[PROFILE_SUMS], took, squared, most;

	words_set(GROUP | SITE_HOOKED);
	profile_begins(0, true);
	profile_way();
	for (int i = 0; i < 200; i++) {
		for (int k = 0; k < PROFILE_SUMS; k++)
			before[k] = profile_sum("outer", k);
		if (i % 4 == 3)
			session_publish(session, &control->graph, control->graph);
		most = emit_time();
		run_calls();
		most = emit_time() - most;
		took = profile_sum("outer", PROFILE_TIME) - before[PROFILE_TIME];
		squared = profile_sum("outer", PROFILE_SQUARED) - before[PROFILE_SQUARED];
		assert_int_equal(profile_sum("outer", PROFILE_CALLS) - before[PROFILE_CALLS], 1);
		assert_in_range(took, 1, most);
		assert_int_equal(took * took, squared);
	}
	assert_true(profile_sum("run_calls", PROFILE_TIME) >= profile_sum("outer", PROFILE_TIME));
	assert_true(profile_sum("outer", PROFILE_TIME) >= profile_sum("middle", PROFILE_TIME));
	profile_ends();
}

static void same_profile(int program, uint32_t flags)
{
	static struct profile_found by_long;

	profile_begins(flags, false);
	assert_int_equal(programs[program].run(), expected[program]);
	by_long = *profile_read();
	profile_begins(flags, true);
	for (int n = 0; n < 3; n++)
		assert_int_equal(programs[program].run(), expected[program]);
	for (int n = 0; n < by_long.nr; n++) {
		const struct profile_sums *once = &by_long.v[n];
		uint64_t calls = profile_sum(once->name, PROFILE_CALLS);

		if (calls != 3 * once->sum[PROFILE_CALLS])
			fail_msg("%s, flags %u: %lu calls of %s, not 3 times %lu",
				 programs[program].name, flags, (unsigned long)calls, once->name,
				 (unsigned long)once->sum[PROFILE_CALLS]);
	}
	assert_int_equal(profile_read()->nr, by_long.nr);
}

/* All kinds of calls and returns, with each of the profile's options. */
static void profiles_are_the_same_by_the_short_way(void **state)
{
	static const uint32_t flags[] = {
		0, GRAPH_SELF_TIME, GRAPH_CPU_TIME, GRAPH_SELF_TIME | GRAPH_CPU_TIME,
	};

	words_set(GROUP | SITE_HOOKED);
	for (int k = 0; k < 4; k++)
		for (int i = 0; i < PROGRAMS; i++)
			same_profile(i, flags[k]);
	profile_ends();
}

/* ---- Calls that are only counted ---- */

enum { CALLED = GROUP + GROUP_FUNCTION, CALLS = 256 };

struct counted_calls {
	uint64_t	key[CALLS][2], nr[CALLS];
	int		nr_keys;
	const struct map_shape *shape;
};

static int calls_collect(void *arg, uint32_t elt, const void *key, const uint64_t *sums)
{
	struct counted_calls *all = arg;

	assert_in_range(all->nr_keys, 0, CALLS - 1);
	memcpy(all->key[all->nr_keys], key, all->shape->key_size);
	all->nr[all->nr_keys++] = sums[0];
	return 0;
}

static void calls_read(struct counted_calls *all, const struct map_shape *shape)
{
	*all = (struct counted_calls){ .shape = shape };
	folded_each(shape, calls_collect, all);
}

static uint64_t calls_of(const struct counted_calls *all, const uint64_t key[2])
{
	for (int i = 0; i < all->nr_keys; i++)
		if (all->key[i][0] == key[0] && all->key[i][1] == key[1])
			return all->nr[i];
	return 0;
}

/* The functions are called from one place, because the caller may be a key. */
static __attribute__((noinline)) void calls_count(struct counted_calls *all, int program, int times,
						  struct op op, const struct map_shape *shape)
{
	session_header(session)->shortcuts_off = times > 1 ? 0 : SHORTCUTS_OFF_WAYS;
	fold_arm(CALLED, LAYOUT_FUNCTION_ID, op, shape);
	for (int n = 0; n < times; n++)
		assert_int_equal(programs[program].run(), expected[program]);
	calls_read(all, shape);
}

static void same_counts(int program, struct op op, const struct map_shape *shape)
{
	static struct counted_calls by_long, by_short;

	calls_count(&by_long, program, 1, op, shape);
	calls_count(&by_short, program, 3, op, shape);
	assert_int_equal(by_short.nr_keys, by_long.nr_keys);
	for (int i = 0; i < by_long.nr_keys; i++)
		if (calls_of(&by_short, by_long.key[i]) != 3 * by_long.nr[i])
			fail_msg("%s: %lu calls, not 3 times %lu, of %lx %lx",
				 programs[program].name,
				 (unsigned long)calls_of(&by_short, by_long.key[i]),
				 (unsigned long)by_long.nr[i], (unsigned long)by_long.key[i][0],
				 (unsigned long)by_long.key[i][1]);
}

/* With each key, and with both in either order; for all kinds of returns. */
static void calls_are_counted_the_same_by_the_short_way(void **state)
{
	enum { IP = offsetof(struct function_record, ip),
	       PARENT = offsetof(struct function_record, parent_ip) };
	static const struct map_shape shapes[] = {
		{ .max_elts = ELTS, .key_size = 8, .nr_sums = 1, .nr_cpus = 2, .nr_slots = 64 },
		{ .max_elts = ELTS, .key_size = 16, .nr_sums = 1, .nr_cpus = 2, .nr_slots = 64 },
	};
	static const struct op ops[] = {
		{ .kind = OP_HIST_KEY1, .len = OP_LOAD_U64, .off = IP },
		{ .kind = OP_HIST_KEY1, .len = OP_LOAD_U64, .off = PARENT },
		{ .kind = OP_HIST_KEYS, .len = OP_LOAD_U64, .off = IP,
		  .size = OP_LOAD_U64, .on_true = PARENT },
		{ .kind = OP_HIST_KEYS, .len = OP_LOAD_U64, .off = PARENT,
		  .size = OP_LOAD_U64, .on_true = IP },
	};
	static const struct map_shape valued = {
		.max_elts = ELTS, .key_size = 8, .nr_sums = 2, .nr_cpus = 2, .nr_slots = 64,
	};
	static const struct op value = { .kind = OP_HIST_KEYS, .len = OP_LOAD_U64, .off = IP,
					 .cmp = OP_LOAD_U64, .arg = PARENT };
	struct agent_thread *t = agent_thread();
	uint64_t before = agent_shortcut_taken(t, SHORTCUT_FUNCTION);

	words_set(GROUP);
	for (int k = 0; k < 4; k++)
		for (int i = 0; i < PROGRAMS; i++)
			same_counts(i, ops[k], &shapes[ops[k].kind == OP_HIST_KEYS]);
	if (*t->cpu >= 0 && !session_header(session)->fence)
		assert_true(agent_shortcut_taken(t, SHORTCUT_FUNCTION) > before + 4 * 20000);
	/* A histogram with a value takes the long way. */
	before = agent_shortcut_taken(t, SHORTCUT_FUNCTION);
	fold_arm(CALLED, LAYOUT_FUNCTION_ID, value, &valued);
	run_calls();
	run_calls();
	assert_int_equal(agent_shortcut_taken(t, SHORTCUT_FUNCTION), before);
	entry_arm(CALLED, 0, false);
	words_set(GROUP | SITE_HOOKED);
}

/* With two instances, the return goes to those that have recorded the entry. */
static void returns_go_where_their_entries_are(void **state)
{
	struct instance_state *other = plane_instance(session_plane(session), 1);
	size_t size = sizeof(struct plan) + 2 * sizeof(struct arm);
	const uint32_t entries[] = { GROUP + GROUP_GRAPH, LAYOUT_GRAPH_EXIT };
	const uint32_t events[] = { LAYOUT_GRAPH_ENTRY_ID, LAYOUT_GRAPH_EXIT_ID };
	struct ring_record r;
	struct ring_iter *it;
	int nr = 0;

	memset(other->cpumask, 0xff, sizeof(other->cpumask));
	for (int i = 0; i < 2; i++) {
		config_ref ref = session_config_alloc(session, size);
		struct plan *plan = session_config(session, ref, size);

		buffer_publish(session, 1, (uint32_t)i, buffer_new(RING_BYTES));
		*plan = (struct plan){ .event_id = events[i], .nr_arms = 2,
			.size = (uint32_t)size };
		for (uint32_t k = 0; k < 2; k++)
			((struct arm *)(plan + 1))[k] =
				(struct arm){ .instance = k, .flags = ARM_RECORD };
		session_publish(
			session,
			(_Atomic uint64_t *)&plane_event(session_plane(session), entries[i])->plan,
			ref);
	}
	other->tracing_on = 0;
	assert_string_equal(shape_of(run_calls), "run_calls{outer{middle{leaf{}leaf{}}leaf{}}}");
	assert_int_equal(ring_iter_open(session, other->buffers[0], -1, &it), 0);
	assert_int_equal(ring_iter_next(it, &r), 0);
	ring_iter_close(it);
	other->tracing_on = 1;
	assert_string_equal(shape_of(run_calls), "run_calls{outer{middle{leaf{}leaf{}}leaf{}}}");
	assert_int_equal(ring_iter_open(session, other->buffers[0], -1, &it), 0);
	while (ring_iter_next(it, &r) == 1)
		nr++;
	ring_iter_close(it);
	assert_int_equal(nr, 12);
	other->tracing_on = 0;
	entry_arm(GROUP + GROUP_GRAPH, LAYOUT_GRAPH_ENTRY_ID, true);
	entry_arm(LAYOUT_GRAPH_EXIT, LAYOUT_GRAPH_EXIT_ID, true);
}

static _Atomic bool interrupt_on;

static void *interrupts(void *thread)
{
	while (interrupt_on) {
		pthread_kill(*(pthread_t *)thread, SIGUSR1);
		usleep(50);
	}
	return NULL;
}

static void handlers_come_anywhere(void **state)
{
	pthread_t self = pthread_self(), thread;
	long bad;

	signal(SIGUSR1, SIG_IGN);
	interrupt_on = true;
	assert_int_equal(pthread_create(&thread, NULL, interrupts, &self), 0);
	bad = run_interrupted(30000);
	interrupt_on = false;
	pthread_join(thread, NULL);
	signal(SIGUSR1, SIG_DFL);
	assert_int_equal(bad, 0);
}

/* Reads the known functions of the last recorded stack. */
static void stack_read(char *text)
{
	struct ring_record r;
	struct ring_iter *it;

	*text = 0;
	assert_int_equal(ring_iter_open(session, inst->buffers[0], -1, &it), 0);
	while (ring_iter_next(it, &r) == 1) {
		const struct stack_record *stack = r.record;
		char *at = text;

		if (stack->type != LAYOUT_STACK_ID)
			continue;
		for (int i = 0; i < stack->size && at - text < TEXT - 64; i++)
			at += sprintf(at, " %s", name_of(stack->caller[i]));
	}
	ring_iter_close(it);
}

static void stacks_have_the_true_callers(void **state)
{
	static char text[TEXT];

	entry_arm(GROUP + GROUP_FUNCTION, LAYOUT_FUNCTION_ID, true);
	inst->flags |= INSTANCE_STACKTRACE;
	shape_of(run_calls);
	inst->flags &= ~INSTANCE_STACKTRACE;
	entry_arm(GROUP + GROUP_FUNCTION, LAYOUT_FUNCTION_ID, false);
	stack_read(text);
	assert_int_equal(strncmp(text, " leaf outer run_calls ", 22), 0);
}

static void callers_are_seen(void **state)
{
	frames_seen = 0;
	assert_int_equal(run_backtrace(), 13);
	assert_true(frames_seen > 3);
}

static void off_is_off(void **state)
{
	words_set(0);
	assert_string_equal(shape_of(run_calls), "");
	for (int i = 0; i < PROGRAMS; i++)
		assert_int_equal(programs[i].run(), expected[i]);
}

/* ---- Beside running threads ---- */

static _Atomic bool enough;
static _Atomic long wrong;

static void *run_on(void *arg)
{
	while (!enough)
		wrong += run_calls() != expected[0] || run_tails() != expected[2] ||
			 run_values() != expected[3];
	return NULL;
}

static void switched_beside_threads(void **state)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_on, NULL), 0);
	for (int i = 0; i < 200; i++)
		words_set(i % 3 == 0 ? 0 : i % 3 == 1 ? GROUP : GROUP | SITE_HOOKED);
	enough = true;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(wrong, 0);
}

/* ---- Damage ---- */

/*
 * In a child, damages the way of an entry. True: the functions still have the right results, and
 * nothing is traced any more.
 */
static bool survives(uint32_t entry)
{
	struct agent_way *way;

	run_calls();
	run_calls();
	way = &agent_thread()->ways[entry % AGENT_WAYS];
	if (way->event != entry)
		return true;	/* this machine has no short way */
	guard_start();		/* again, because cmocka has set its own handlers */
	way->ring = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return run_calls() == expected[0] && !agent_attached() && run_calls() == expected[0] &&
	       run_tails() == expected[2];
}

/* The same for the remembered way of the profile. */
static bool survives_profile(void)
{
	struct agent_profile *way = &agent_thread()->profiles[PROFILE % AGENT_PROFILES];

	run_calls();
	run_calls();
	if (way->event != PROFILE)
		return true;
	guard_start();
	way->elts = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return run_calls() == expected[0] && !agent_attached() && run_calls() == expected[0] &&
	       run_tails() == expected[2];
}

static void nonsense_in_the_profile_ends_the_tracing(void **state)
{
	int status = -1;
	pid_t pid;

	words_set(GROUP | SITE_HOOKED);
	profile_begins(0, true);
	pid = fork();
	if (!pid) {
		alarm(20);
		_exit(survives_profile() ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	profile_ends();
}

/* Changes numbers of elts in a map's table: to ones within the map, at its end, and far behind. */
static void map_scribble(const struct map_shape *shape, unsigned int *seed)
{
	struct map_layout l;
	struct map_view m;

	map_lay_out(&l, shape);
	m = (struct map_view){
		.layout = &l, .data = session_data(session, folded, map_size(shape)),
	};
	for (uint32_t i = 0; i <= l.entry_mask; i++) {
		const uint32_t numbers[] = {
			0, 1, l.last_elt, l.last_elt + 1, (uint32_t)rand_r(seed), UINT32_MAX,
			(uint32_t)rand_r(seed) % l.nr_elts, INT32_MAX,
		};
		uint64_t e = *map_entry(m, i);

		if (e)
			*map_entry(m, i) = (e & ~(uint64_t)UINT32_MAX) | numbers[rand_r(seed) % 8];
	}
}

/* Makes calls, and checks that the memory on both sides of a map has not changed. */
static void calls_beside(const struct map_shape *shape, const uint64_t *const canaries[2])
{
	unsigned int seed = 1;

	for (int i = 0; i < 2000; i++) {
		run_calls();
		map_scribble(shape, &seed);
		assert_int_equal(run_calls(), expected[0]);
	}
	for (int i = 0; i < 512; i++)
		assert_true(!canaries[0][i] && !canaries[1][i]);
	assert_true(agent_attached());
}

/* Runs both short ways that count calls, with a map whose numbers lead anywhere. */
static void nonsense_in_a_map_leads_nowhere(void **state)
{
	static const struct map_shape pairs = {
		.max_elts = ELTS, .key_size = 16, .nr_sums = 1, .nr_cpus = 2, .nr_slots = 64,
	};
	static const struct op pair = {
		.kind = OP_HIST_KEYS, .len = OP_LOAD_U64, .size = OP_LOAD_U64,
		.off = offsetof(struct function_record, ip),
		.on_true = offsetof(struct function_record, parent_ip),
	};
	const uint64_t *canaries[2];
	data_ref refs[2];

	for (int profile = 0; profile < 2; profile++) {
		words_set(profile ? GROUP | SITE_HOOKED : GROUP);
		refs[0] = session_data_alloc(session, 4096);
		if (profile)
			profile_begins(0, true);
		else
			fold_arm(CALLED, LAYOUT_FUNCTION_ID, pair, &pairs);
		refs[1] = session_data_alloc(session, 4096);
		for (int i = 0; i < 2; i++)
			canaries[i] = session_data(session, refs[i], 4096);
		calls_beside(profile ? &profile_shape : &pairs, canaries);
		entry_arm(CALLED, 0, false);
	}
	profile_ends();
}

static void nonsense_ends_the_tracing(void **state)
{
	const uint32_t entries[] = { GROUP + GROUP_FUNCTION, GROUP + GROUP_GRAPH,
				     LAYOUT_GRAPH_EXIT };

	for (int i = 0; i < 3; i++) {
		int status = -1;
		pid_t pid;

		entry_arm(GROUP + GROUP_FUNCTION, LAYOUT_FUNCTION_ID, !i);
		words_set(i ? GROUP | SITE_HOOKED : GROUP);
		pid = fork();
		if (!pid) {
			alarm(20);
			_exit(survives(entries[i]) ? 0 : 1);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	entry_arm(GROUP + GROUP_FUNCTION, LAYOUT_FUNCTION_ID, false);
}

/* graph [returns]: its functions are compiled with return sites */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_do_what_they_did),
		cmocka_unit_test(calls_and_returns_are_recorded),
		cmocka_unit_test(records_say_when_and_what),
		cmocka_unit_test(groups_alternate),
		cmocka_unit_test(only_calls_with_a_way_read_the_counter_first),
		cmocka_unit_test(tail_calls_end_together),
		cmocka_unit_test(a_tail_call_waits_while_many_come_and_go),
		cmocka_unit_test(tail_calls_without_end_are_an_overrun),
		cmocka_unit_test(return_sites_are_used),
		cmocka_unit_test(what_was_left_is_forgotten),
		cmocka_unit_test(handlers_are_called_by_what_they_interrupt),
		cmocka_unit_test(deep_recursion_has_its_depth),
		cmocka_unit_test(depth_is_limited),
		cmocka_unit_test(only_chosen_functions_and_what_they_call),
		cmocka_unit_test(nothing_below_some_functions),
		cmocka_unit_test(what_takes_long_is_recorded_at_its_end),
		cmocka_unit_test(arguments_are_recorded_if_they_are_wanted),
		cmocka_unit_test(the_function_event_comes_first),
		cmocka_unit_test(what_is_not_recorded_is_not_hooked),
		cmocka_unit_test(sleep_counts_or_not),
		cmocka_unit_test(the_profile_counts_what_is_asked_for),
		cmocka_unit_test(a_profiled_call_goes_the_short_way),
		cmocka_unit_test(a_profiled_call_has_a_time_and_its_square),
		cmocka_unit_test(profiles_are_the_same_by_the_short_way),
		cmocka_unit_test(calls_are_counted_the_same_by_the_short_way),
		cmocka_unit_test(returns_go_where_their_entries_are),
		cmocka_unit_test(handlers_come_anywhere),
		cmocka_unit_test(stacks_have_the_true_callers),
		cmocka_unit_test(callers_are_seen),
		cmocka_unit_test(nonsense_ends_the_tracing),
		cmocka_unit_test(nonsense_in_the_profile_ends_the_tracing),
		cmocka_unit_test(nonsense_in_a_map_leads_nowhere),
		cmocka_unit_test(off_is_off),
		cmocka_unit_test(switched_beside_threads),
	};

	has_return_sites = argc > 1;
	return cmocka_run_group_tests(tests, set_up, server_stop);
}
