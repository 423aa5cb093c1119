/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../format_text.h"
#include "fixture.h"
#include "model/symbols.h"

static const char all_format[] = "name: all\nID: 100\n" COMMON
	FIELD("s8 s8", 8, 1, 1)
	FIELD("u8 u8", 9, 1, 0)
	FIELD("short s16", 10, 2, 1)
	FIELD("u16 u16", 12, 2, 0)
	FIELD("int s32", 16, 4, 1)
	FIELD("unsigned int u32", 20, 4, 0)
	FIELD("s64 s64", 24, 8, 1)
	FIELD("u64 u64", 32, 8, 0)
	FIELD("char fixed[16]", 40, 16, 0)
	FIELD("__data_loc char[] dyn", 56, 4, 0)
	FIELD("__rel_loc char[] rel", 60, 4, 0)
	FIELD("__data_loc cpumask_t mask", 64, 4, 0)
	FIELD("const char * pointer", 72, 8, 0)
	FIELD("unsigned long ip", 80, 8, 0)
	FIELD("unsigned long array[2]", 88, 16, 0)
	"\nprint fmt: \"s32=%d\", REC->s32\n";

static const char other_format[] = "name: other\nID: 101\n" COMMON
	FIELD("int pid", 8, 4, 1)
	"\nprint fmt: \"pid=%d\", REC->pid\n";

static const char third_format[] = "name: third\nID: 102\n" COMMON
	FIELD("int pid", 8, 4, 1)
	"\nprint fmt: \"pid=%d\", REC->pid\n";

static const char print_format[] = "name: print\nID: 5\n" COMMON
	FIELD("unsigned long ip", 8, 8, 0)
	FIELD("char buf[]", 16, 0, 0)
	"\nprint fmt: \"%ps: %s\", (void *)REC->ip, REC->buf\n";

int fixture_setup(void **state)
{
	struct session_params params = { .nr_cpus = 2, .nr_slots = 8, .memory = 256 << 20 };
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_int_equal(session_create(NULL, &params, &f->session), 0);
	assert_int_equal(model_create(f->session, &f->model), 0);
	f->top = f->model->top;
	assert_int_equal(model_add_event(f->model, "test", all_format, strlen(all_format), &f->all),
			 0);
	assert_int_equal(
		model_add_event(f->model, "test", other_format, strlen(other_format), &f->other),
		0);
	assert_int_equal(
		model_add_event(f->model, "more", third_format, strlen(third_format), &f->third),
		0);
	assert_int_equal(
		model_add_event(f->model, "ftrace", print_format, strlen(print_format), &f->print),
		0);
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
	memcpy(&r->tail[at], bytes, size);
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
