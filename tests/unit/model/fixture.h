/* SPDX-License-Identifier: MIT */
/*
 * fixture.h - a private session with two CPUs and three events for the tests of src/model
 *
 *   test:all (id 100)     one field of each kind, see struct all_record
 *   test:other (id 101)   int pid
 *   more:third (id 102)   int pid
 *   ftrace:print (id 5)
 */
#ifndef TRACEFUSE_TESTS_MODEL_FIXTURE_H
#define TRACEFUSE_TESTS_MODEL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/event/file.h"

struct fixture {
	struct session	*session;
	struct model	*model;
	struct instance	*top;
	struct event	*all, *other, *third, *print;
};

struct all_record {
	uint16_t	common_type;
	uint8_t		common_flags, common_preempt_count;
	int32_t		common_pid;
	int8_t		s8;
	uint8_t		u8;
	int16_t		s16;
	uint16_t	u16;
	uint16_t	pad;
	int32_t		s32;
	uint32_t	u32;
	int64_t		s64;
	uint64_t	u64;
	char		fixed[16];
	uint32_t	dyn;		/* __data_loc char[] */
	uint32_t	rel;		/* __rel_loc char[] */
	uint32_t	mask;		/* __data_loc cpumask_t */
	uint32_t	pad2;
	uint64_t	pointer;	/* char * */
	uint64_t	ip;
	uint64_t	array[2];	/* unsigned long[2] */
	char		tail[64];	/* data of the __data_loc fields */
};

/* cmocka's setup and teardown; *state is the fixture. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

/*
 * Fills a record whose texts and mask are in the tail: dyn "dynamic", rel "relative", mask CPU 1.
 */
void fixture_record(struct all_record *r);

/* The text that a print function prints; the caller frees it. */
#define printed(call) __extension__ ({						\
	char *text_ = NULL;							\
	size_t size_;								\
	FILE *out = open_memstream(&text_, &size_);				\
	call;									\
	fclose(out);								\
	text_;									\
})

/* Compares that text, and frees it. */
#define assert_prints(call, expected) do {					\
	char *got_ = printed(call);						\
	assert_string_equal(got_, expected);					\
	free(got_);								\
} while (0)

#endif
