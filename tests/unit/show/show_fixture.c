/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "show_fixture.h"

static const char plain[] = "name: plain\nID: 100\n" COMMON
	FIELD("int a", 8, 4, 1)
	FIELD("u64 b", 16, 8, 0)
	FIELD("const char * p", 24, 8, 0)
	"\nprint fmt: \"a=%d b=%llx\", REC->a, REC->b\n";

static const struct {
	const char	*text;
} internals[] = {
	{ "name: function\nID: 1\n" COMMON
	  FIELD("unsigned long ip", 8, 8, 0)
	  FIELD("unsigned long parent_ip", 16, 8, 0) "\nprint fmt: \"\"\n" },
	{ "name: context_switch\nID: 2\n" COMMON
	  FIELD("unsigned int prev_pid", 8, 4, 0)
	  FIELD("unsigned int next_pid", 12, 4, 0)
	  FIELD("unsigned int next_cpu", 16, 4, 0)
	  FIELD("unsigned char prev_prio", 20, 1, 0)
	  FIELD("unsigned char prev_state", 21, 1, 0)
	  FIELD("unsigned char next_prio", 22, 1, 0)
	  FIELD("unsigned char next_state", 23, 1, 0) "\nprint fmt: \"\"\n" },
	{ "name: kernel_stack\nID: 4\n" COMMON
	  FIELD("int size", 8, 4, 1)
	  FIELD("unsigned long caller[8]", 16, 64, 0) "\nprint fmt: \"\"\n" },
	{ "name: print\nID: 5\n" COMMON
	  FIELD("unsigned long ip", 8, 8, 0)
	  FIELD("char buf[]", 16, 0, 0) "\nprint fmt: \"\"\n" },
	{ "name: bprint\nID: 6\n" COMMON
	  FIELD("unsigned long ip", 8, 8, 0)
	  FIELD("const char * fmt", 16, 8, 0)
	  FIELD("u32 buf[]", 24, 0, 0) "\nprint fmt: \"\"\n" },
	{ "name: user_stack\nID: 12\n" COMMON
	  FIELD("unsigned int tgid", 8, 4, 0)
	  FIELD("unsigned long caller[8]", 16, 64, 0) "\nprint fmt: \"\"\n" },
	{ "name: bputs\nID: 14\n" COMMON
	  FIELD("unsigned long ip", 8, 8, 0)
	  FIELD("const char * str", 16, 8, 0) "\nprint fmt: \"\"\n" },
	{ "name: raw_data\nID: 18\n" COMMON
	  FIELD("unsigned int id", 8, 4, 0)
	  FIELD("char buf[]", 12, 0, 0) "\nprint fmt: \"\"\n" },
	{ "name: func_repeats\nID: 19\n" COMMON
	  FIELD("unsigned long ip", 8, 8, 0)
	  FIELD("unsigned long parent_ip", 16, 8, 0)
	  FIELD("u16 count", 24, 2, 0)
	  FIELD("u16 top_delta_ts", 26, 2, 0)
	  FIELD("u32 bottom_delta_ts", 28, 4, 0) "\nprint fmt: \"\"\n" },
};

void fixture_event(struct fixture *f, const char *system, const char *text)
{
	struct event *e;

	assert_int_equal(model_add_event(f->model, system, text, strlen(text), &e), 0);
}

int fixture_setup(void **state)
{
	struct session_params params = { .nr_cpus = 2, .nr_slots = 8, .memory = 256 << 20 };
	const uint64_t bytes[2] = { 4096, 4096 };
	struct fixture *f = calloc(1, sizeof(*f));
	size_t i;

	assert_non_null(f);
	assert_int_equal(session_create(NULL, &params, &f->session), 0);
	assert_int_equal(model_create(f->session, &f->model), 0);
	f->top = f->model->top;
	f->slot = session_slot_get(f->session);
	fixture_event(f, "test", plain);
	for (i = 0; i < sizeof(internals) / sizeof(internals[0]); i++)
		fixture_event(f, "ftrace", internals[i].text);
	symbols_add(f->model->symbols, KERNEL, 'T', "alpha", NULL);
	symbols_add(f->model->symbols, KERNEL + 0x100, 'T', "beta", NULL);
	symbols_add(f->model->symbols, KERNEL + 0x200, 't', "gamma", "mod");
	symbols_add(f->model->symbols, KERNEL + 0x300, 't', "arch_rethook_trampoline", NULL);
	symbols_add(f->model->symbols, KERNEL + 0x400, 't', "end", NULL);
	symbols_add(f->model->strings, KERNEL + 0x1000, 's', "a string", NULL);
	cmdlines_add(f->model->cmdlines, 42, "task");
	assert_int_equal(buffer_add_set(f->session, instance_buffer(f->top, 0), 1, bytes), 0);
	*state = f;
	return 0;
}

int fixture_teardown(void **state)
{
	struct fixture *f = *state;

	piped(NULL, NULL, 0);
	shown(NULL, 0, 0);
	session_slot_put(f->session, f->slot);
	model_destroy(f->model);
	session_destroy(f->session);
	free(f);
	return 0;
}

/* The text lives until the next call. Without f, this frees it. */
const char *piped(struct fixture *f, const struct record *r, uint32_t size)
{
	static char *text;
	struct ring_record ring = { .record = r, .size = size + 8, .cpu = 1, .time = 1500000000 };
	struct show *show;
	size_t len;
	FILE *out;

	free(text);
	text = NULL;
	if (!f)
		return NULL;
	ring.lost = f->lost;
	show = show_pipe_open(f->top, NULL);
	out = open_memstream(&text, &len);
	assert_non_null(show);
	assert_int_equal(show_pipe_print(show, &ring, out), 0);
	fclose(out);
	show_close(show);
	return text;
}

void fixture_write(struct fixture *f, const struct record *r, uint32_t size, uint32_t cpu,
		   uint64_t time)
{
	assert_int_equal(ring_write(session_plane(f->session), f->slot, instance_buffer(f->top, 0),
				    1, cpu, time, r, size + 8),
			 0);
}

const char *shown(struct fixture *f, int snapshot, int cpu)
{
	static char *text;
	size_t len;
	FILE *out;

	free(text);
	text = NULL;
	if (!f)
		return NULL;
	out = open_memstream(&text, &len);
	assert_int_equal(show_buffer(f->top, snapshot, cpu, out), 0);
	fclose(out);
	return text;
}
