/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "model/symbols.h"

#define COMMON								\
	"format:\n"							\
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"		\
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"		\
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"	\
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char all_format[] = "name: all\nID: 100\n" COMMON
	"\tfield:s8 s8;\toffset:8;\tsize:1;\tsigned:1;\n"
	"\tfield:u8 u8;\toffset:9;\tsize:1;\tsigned:0;\n"
	"\tfield:short s16;\toffset:10;\tsize:2;\tsigned:1;\n"
	"\tfield:u16 u16;\toffset:12;\tsize:2;\tsigned:0;\n"
	"\tfield:int s32;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned int u32;\toffset:20;\tsize:4;\tsigned:0;\n"
	"\tfield:s64 s64;\toffset:24;\tsize:8;\tsigned:1;\n"
	"\tfield:u64 u64;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:char fixed[16];\toffset:40;\tsize:16;\tsigned:0;\n"
	"\tfield:__data_loc char[] dyn;\toffset:56;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc char[] rel;\toffset:60;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc cpumask_t mask;\toffset:64;\tsize:4;\tsigned:0;\n"
	"\tfield:const char * pointer;\toffset:72;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long ip;\toffset:80;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long array[2];\toffset:88;\tsize:16;\tsigned:0;\n"
	"\nprint fmt: \"s32=%d\", REC->s32\n";

static const char other_format[] = "name: other\nID: 101\n" COMMON
	"\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\nprint fmt: \"pid=%d\", REC->pid\n";

static const char third_format[] = "name: third\nID: 102\n" COMMON
	"\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\nprint fmt: \"pid=%d\", REC->pid\n";

static const char print_format[] = "name: print\nID: 5\n" COMMON
	"\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n"
	"\nprint fmt: \"%ps: %s\", (void *)REC->ip, REC->buf\n";

int fixture_setup(void **state)
{
	struct session_params params = { .nr_cpus = 2, .nr_slots = 8, .memory = 256 << 20 };
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_int_equal(session_create(NULL, &params, &f->session), 0);
	assert_int_equal(model_create(f->session, &f->model), 0);
	f->top = f->model->top;
	assert_int_equal(model_add_event(f->model, "test", all_format, strlen(all_format), &f->all), 0);
	assert_int_equal(model_add_event(f->model, "test", other_format, strlen(other_format), &f->other), 0);
	assert_int_equal(model_add_event(f->model, "more", third_format, strlen(third_format), &f->third), 0);
	assert_int_equal(model_add_event(f->model, "ftrace", print_format, strlen(print_format), &f->print), 0);
	symbols_add(f->model->symbols, 0x1000, 't', "first_function", NULL);
	symbols_add(f->model->symbols, 0x1100, 't', "second_function", NULL);
	symbols_add(f->model->symbols, 0x1200, 't', "third_function", NULL);
	*state = f;
	return 0;
}

int fixture_teardown(void **state)
{
	struct fixture *f = *state;

	model_destroy(f->model);
	session_destroy(f->session);
	free(f);
	return 0;
}

static uint32_t put(struct all_record *r, size_t at, size_t base, const void *bytes, size_t size)
{
	memcpy((char *)r + offsetof(struct all_record, tail) + at, bytes, size);
	return (uint32_t)(size << 16 | (offsetof(struct all_record, tail) + at - base));
}

void fixture_record(struct all_record *r)
{
	uint64_t mask = 1 << 1;

	memset(r, 0, sizeof(*r));
	r->common_type = 100;
	r->common_pid = 42;
	r->dyn = put(r, 0, 0, "dynamic", 8);
	r->rel = put(r, 8, offsetof(struct all_record, rel) + 4, "relative", 9);
	r->mask = put(r, 24, 0, &mask, sizeof(mask));
}
