/* SPDX-License-Identifier: MIT */
/*
 * latency.c - pairs of events: a wakeup sets a variable, the switch that follows takes the
 * difference
 *
 * Each row is the cost of both events. The commands are those of the tutorial;
 * the first row is a program of its own, because no command can have a
 * reference as a key without a synthetic event in between.
 */
#include "fixture.h"
#include "model/event/file.h"
#include "model/hist/hist.h"
#include "model/dynamic/synth.h"

enum { PIDS = 256 };

#define COMMON										\
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"		\
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"		\
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"	\
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char format_wake[] = "name: wake\nID: 300\nformat:\n" COMMON
	"\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:int prio;\toffset:12;\tsize:4;\tsigned:1;\n"
	"\nprint fmt: \"\"\n";
static const char format_swap[] = "name: swap\nID: 301\nformat:\n" COMMON
	"\tfield:pid_t next_pid;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:int next_prio;\toffset:12;\tsize:4;\tsigned:1;\n"
	"\tfield:char next_comm[16];\toffset:16;\tsize:16;\tsigned:0;\n"
	"\nprint fmt: \"\"\n";

struct fixture {
	struct session	*session;
	struct model	*model;
	struct event_file *wake, *swap, *latency;
};

static struct event_file *event_made(struct fixture *w, const char *system, const char *format)
{
	struct event *e = NULL;

	if (model_add_event(w->model, system, format, strlen(format), &e))
		bench_fail("no event");
	return event_file_get(w->model->top, e);
}

static void fixture_open(struct fixture *w)
{
	struct synth_event *s;

	w->session = bench_session();
	if (model_create(w->session, &w->model))
		bench_fail("no model");
	w->wake = event_made(w, "bench", format_wake);
	w->swap = event_made(w, "bench", format_swap);
	if (synth_command(w->model, "latency u64 lat; pid_t pid; int prio"))
		bench_fail("no synthetic event");
	s = synth_find(w->model, "latency");
	w->latency = event_file_get(w->model->top, s->event);
}

static void command(struct event_file *f, const char *text)
{
	if (event_file_trigger_write(f, text))
		bench_fail(text);
}

static void bench_pair(struct fixture *w, const char *name)
{
	struct plane *p = session_plane(w->session);
	struct slot *slot = session_slot_get(w->session);
	struct bench_record wake = { .common = { .type = 300, .pid = 1 }, .b = 120 };
	struct bench_record swap = {
		.common = { .type = 301, .pid = 1 }, .b = 120, .name = "cyclictest" };
	struct hit hw = { .record = &wake, .size = 16, .comm = "bench" };
	struct hit hs = { .record = &swap, .size = sizeof(swap), .comm = "bench" };

	BENCH(name, {
		wake.a = swap.a = i * 7 % PIDS;
		hit(p, slot, &hw);
		hit(p, slot, &hs);
	});
	session_slot_put(w->session, slot);
}

static void bench_commands(struct fixture *w, const char *name, const char *swap,
			   const char *latency)
{
	char removed[256];

	command(w->wake, "hist:keys=pid:ts0=common_timestamp.usecs");
	command(w->swap, swap);
	if (latency)
		command(w->latency, latency);
	bench_pair(w, name);
	if (latency) {
		snprintf(removed, sizeof(removed), "!%s", latency);
		command(w->latency, removed);
	}
	snprintf(removed, sizeof(removed), "!%s", swap);
	command(w->swap, removed);
	command(w->wake, "!hist:keys=pid:ts0=common_timestamp.usecs");
}

/* ---- the program that has no command ---- */

static struct map_shape shape_of(struct session *s, uint32_t nr_vars)
{
	return (struct map_shape){ .max_elts = 2048,
				   .key_size = 8,
				   .nr_sums = 1,
				   .nr_vars = nr_vars,
				   .nr_cpus = session_header(s)->nr_cpus,
				   .nr_slots = session_header(s)->nr_slots };
}

/* Through the same last step as the compiler's programs. */
static void arm(struct session *s, uint32_t event, const struct code *of, struct op *ops,
		uint32_t nr)
{
	size_t size = sizeof(struct code) + nr * sizeof(*ops);
	config_ref ref = session_config_alloc(s, size);
	struct code *code = session_config(s, ref, size);
	uint16_t place[16];

	*code = (struct code){ .size = (uint32_t)size,
				  .nr_ops = hist_join(ops, nr, 8, place),
				  .key_size = 8,
				  .map = of->map,
				  .layout = of->layout,
				  .flags = CODE_NEEDS_TIME };
	memcpy(code->ops, ops, code->nr_ops * sizeof(*ops));
	bench_arm_event(s, event, 0, ref);
}

static void bench_program(struct fixture *w)
{
	struct session *s = w->session;
	struct code first, second;
	config_ref cell = bench_map(s, &first, shape_of(s, 1));
	struct op set[] = {
		{ .kind = OP_KEY_FIELD, .size = OP_LOAD_S32, .arg = 8 },
		{ .kind = OP_FIND },
		{ .kind = OP_LOAD_TIME },
		{ .kind = OP_USECS },
		{ .kind = OP_VAR_SET },
		{ .kind = OP_END },
	};
	struct op take[] = {
		{ .kind = OP_KEY_FIELD, .size = OP_LOAD_S32, .arg = 8 },
		{ .kind = OP_REF_FIND, .imm = cell, .arg = 8 },
		{ .kind = OP_REF_READ, .flags = REF_ONCE },
		{ .kind = OP_LOAD_TIME },
		{ .kind = OP_USECS },
		{ .kind = OP_LOAD_REF },
		{ .kind = OP_SUB },
		{ .kind = OP_LOG2 },
		{ .kind = OP_KEY_U64 },
		{ .kind = OP_FIND },
		{ .kind = OP_END },
	};

	bench_map(s, &second, shape_of(s, 0));
	arm(s, 300, &first, set, sizeof(set) / sizeof(*set));
	arm(s, 301, &second, take, sizeof(take) / sizeof(*take));
	bench_pair(w, "pair: variable, difference, log2 histogram");
	bench_arm_event(s, 300, 0, 0);
	bench_arm_event(s, 301, 0, 0);
}

int main(void)
{
	static struct fixture w;

	fixture_open(&w);
	bench_commands(&w, "pair: variable and difference only",
		       "hist:keys=next_pid:lat=common_timestamp.usecs-$ts0", NULL);
	bench_commands(&w, "pair: onmatch, log2 histogram of the synthetic event",
		       "hist:keys=next_pid:lat=common_timestamp.usecs-$ts0:onmatch(bench.wake)."
		       "latency($lat,next_pid,next_prio)",
		       "hist:keys=lat.log2");
	bench_commands(&w, "pair: onmax, save of two fields",
		       "hist:keys=next_pid:lat=common_timestamp.usecs-$ts0:onmax($lat).save(next_"
		       "prio,next_comm)",
		       NULL);
	if (event_file_enable(w.latency, true))
		bench_fail("enable");
	bench_commands(&w, "pair: onmatch, synthetic event into the ring",
		       "hist:keys=next_pid:lat=common_timestamp.usecs-$ts0:onmatch(bench.wake)."
		       "latency($lat,next_pid,next_prio)",
		       NULL);
	event_file_enable(w.latency, false);
	bench_program(&w);
	model_destroy(w.model);
	session_close(w.session);
	return 0;
}
