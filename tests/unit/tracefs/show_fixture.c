/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "show_fixture.h"

static const char plain[] = "name: plain\nID: 100\n" COMMON
	"\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:u64 b;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:const char * p;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\nprint fmt: \"a=%d b=%llx\", REC->a, REC->b\n";

static const struct {
	const char	*text;
} internals[] = {
	{ "name: function\nID: 1\n" COMMON
	  "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	  "\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;\n\nprint fmt: \"\"\n" },
	{ "name: context_switch\nID: 2\n" COMMON
	  "\tfield:unsigned int prev_pid;\toffset:8;\tsize:4;\tsigned:0;\n"
	  "\tfield:unsigned int next_pid;\toffset:12;\tsize:4;\tsigned:0;\n"
	  "\tfield:unsigned int next_cpu;\toffset:16;\tsize:4;\tsigned:0;\n"
	  "\tfield:unsigned char prev_prio;\toffset:20;\tsize:1;\tsigned:0;\n"
	  "\tfield:unsigned char prev_state;\toffset:21;\tsize:1;\tsigned:0;\n"
	  "\tfield:unsigned char next_prio;\toffset:22;\tsize:1;\tsigned:0;\n"
	  "\tfield:unsigned char next_state;\toffset:23;\tsize:1;\tsigned:0;\n\nprint fmt: \"\"\n" },
	{ "name: kernel_stack\nID: 4\n" COMMON
	  "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
	  "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n\nprint fmt: \"\"\n" },
	{ "name: print\nID: 5\n" COMMON
	  "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	  "\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n\nprint fmt: \"\"\n" },
	{ "name: bprint\nID: 6\n" COMMON
	  "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	  "\tfield:const char * fmt;\toffset:16;\tsize:8;\tsigned:0;\n"
	  "\tfield:u32 buf[];\toffset:24;\tsize:0;\tsigned:0;\n\nprint fmt: \"\"\n" },
	{ "name: user_stack\nID: 12\n" COMMON
	  "\tfield:unsigned int tgid;\toffset:8;\tsize:4;\tsigned:0;\n"
	  "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n\nprint fmt: \"\"\n" },
	{ "name: bputs\nID: 14\n" COMMON
	  "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	  "\tfield:const char * str;\toffset:16;\tsize:8;\tsigned:0;\n\nprint fmt: \"\"\n" },
	{ "name: raw_data\nID: 18\n" COMMON
	  "\tfield:unsigned int id;\toffset:8;\tsize:4;\tsigned:0;\n"
	  "\tfield:char buf[];\toffset:12;\tsize:0;\tsigned:0;\n\nprint fmt: \"\"\n" },
	{ "name: func_repeats\nID: 19\n" COMMON
	  "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	  "\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;\n"
	  "\tfield:u16 count;\toffset:24;\tsize:2;\tsigned:0;\n"
	  "\tfield:u16 top_delta_ts;\toffset:26;\tsize:2;\tsigned:0;\n"
	  "\tfield:u32 bottom_delta_ts;\toffset:28;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n" },
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

/* The text lives until the next call; f NULL frees it. */
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

void fixture_write(struct fixture *f, const struct record *r, uint32_t size, uint32_t cpu, uint64_t time)
{
	assert_int_equal(ring_write(session_plane(f->session), f->slot, instance_buffer(f->top, 0), 1, cpu,
				    time, r, size + 8), 0);
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
