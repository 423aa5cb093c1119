/* SPDX-License-Identifier: MIT */
/*
 * join.c - which ops are joined into one, and that jumps still have the same targets
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "model/hist/hist.h"

#define KEY		{ .kind = OP_KEY_FIELD, .size = OP_LOAD_S32, .arg = 12 }
#define FIND		{ .kind = OP_FIND }
#define TIME		{ .kind = OP_LOAD_TIME }, { .kind = OP_USECS }
#define REF_FIND	{ .kind = OP_REF_FIND, .imm = 640, .arg = 8 }
#define REF_READ	{ .kind = OP_REF_READ, .off = 5, .arg = 2, .flags = REF_ONCE }
#define SINCE(var)							\
	TIME, { .kind = OP_LOAD_REF, .arg = 2 }, { .kind = OP_SUB },	\
	{								\
		.kind = OP_VAR_SET, .off = var				\
	}
#define END		{ .kind = OP_END }

static struct op ops[64];
static uint16_t place[64];

static uint32_t key_size = 8;

static unsigned int joined(const struct op *from, unsigned int nr)
{
	memcpy(ops, from, nr * sizeof(*from));
	return hist_join(ops, nr, key_size, place);
}

#define FUSED(...)					\
	joined((const struct op[]){ __VA_ARGS__ },	\
	       sizeof((const struct op[]){ __VA_ARGS__ }) / sizeof(struct op))

static void assert_codes(unsigned int nr, const uint8_t *codes, unsigned int wanted)
{
	assert_int_equal(nr, wanted);
	for (unsigned int i = 0; i < nr; i++)
		assert_int_equal(ops[i].kind, codes[i]);
}

#define CODES(nr, ...) \
	assert_codes(nr, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void a_hist_that_notes_the_time_is_one_op(void **state)
{
	CODES(FUSED(KEY, FIND, TIME, { .kind = OP_VAR_SET, .off = 3 }, END), OP_HIST_TIME, OP_END);
	assert_int_equal(ops[0].len, OP_LOAD_S32);
	assert_int_equal(ops[0].off, 12);
	assert_int_equal(ops[0].arg, 3);
	assert_int_equal(ops[0].size, 1);
	/* A hist that does more is not joined. */
	CODES(FUSED(KEY, FIND, { .kind = OP_LOAD_TIME }, { .kind = OP_VAR_SET },
		    { .kind = OP_LOAD_CPU }, { .kind = OP_VAR_SET, .off = 1 }, END),
	      OP_KEY_FIELD, OP_VAR_TIME, OP_LOAD_CPU, OP_VAR_SET, OP_END);
	assert_int_equal(ops[0].flags, KEY_FIND);
	assert_int_equal(ops[1].size, 0);
}

static void a_text_as_the_only_key_is_one_op(void **state)
{
	CODES(FUSED({ .kind = OP_KEY_STRING, .len = 256 }, FIND, END), OP_HIST_TEXT, OP_END);
	assert_int_equal(ops[0].len, 256);
	CODES(FUSED({ .kind = OP_KEY_STRING, .len = 256 }, FIND, { .kind = OP_SUM_FIELD }, END),
	      OP_KEY_STRING, OP_SUM_FIELD, OP_END);
	assert_int_equal(ops[0].flags, KEY_FIND);
	/* A text behind another key is not joined. */
	CODES(FUSED(KEY, { .kind = OP_KEY_STRING, .off = 8, .len = 256 }, FIND, END), OP_KEY_FIELD,
	      OP_KEY_STRING, OP_FIND, OP_END);
	assert_int_equal(ops[1].flags, 0);
}

#define OWN(ref, var)	{ .kind = OP_REF_OWN, .arg = ref, .off = var }
#define NUMBER(ref)	{ .kind = OP_SYNTH_U64, .arg = ref, .off = 8, .size = 4 }
#define LOAD		{ .kind = OP_LOAD_S16, .off = 12 }

static void an_event_takes_own_variables_as_they_are(void **state)
{
	CODES(FUSED(KEY, FIND, LOAD, { .kind = OP_VAR_SET, .off = 6 }, OWN(3, 6),
		    { .kind = OP_SYNTH_BEGIN }, NUMBER(3), NUMBER(4), { .kind = OP_SYNTH_END },
		    END),
	      OP_KEY_FIELD, OP_VAR_FIELD, OP_SYNTH_BEGIN, OP_SYNTH_OWN, OP_SYNTH_U64, OP_SYNTH_END,
	      OP_END);
	assert_int_equal(ops[1].size, OP_LOAD_S16);
	assert_int_equal(ops[1].arg, 12);
	assert_int_equal(ops[1].off, 6);
	assert_int_equal(ops[3].arg, 6);
	assert_int_equal(ops[3].off, 8);
	assert_int_equal(ops[3].size, 4);
	/* They stay apart if another op reads the reference, or if it is not a number. */
	CODES(FUSED(OWN(3, 6), NUMBER(3), { .kind = OP_TRACK_BEGIN, .arg = 3 }, END), OP_REF_OWN,
	      OP_SYNTH_U64, OP_TRACK_BEGIN, OP_END);
	CODES(FUSED(OWN(3, 6), NUMBER(3),
		    { .kind = OP_TRACK_STRING, .size = STRING_REF, .arg = 3 }, END),
	      OP_REF_OWN, OP_SYNTH_U64, OP_TRACK_STRING, OP_END);
	CODES(FUSED({ .kind = OP_REF_OWN, .arg = 3, .len = 2 }, NUMBER(3), END), OP_REF_OWN,
	      OP_SYNTH_U64, OP_END);
}

static void jumps_lead_behind_what_is_left_out(void **state)
{
	CODES(FUSED(OWN(3, 6), { .kind = OP_TRACK_BEGIN, .arg = 4, .on_false = 4 }, OWN(5, 7),
		    { .kind = OP_TRACK_END, .on_false = 4 }, NUMBER(3), NUMBER(5), END),
	      OP_TRACK_BEGIN, OP_TRACK_END, OP_SYNTH_OWN, OP_SYNTH_OWN, OP_END);
	assert_int_equal(ops[0].on_false, 2);
	assert_int_equal(ops[1].on_false, 2);
}

static void the_time_since_is_one_op(void **state)
{
	CODES(FUSED(KEY, REF_FIND, REF_READ, FIND, SINCE(1), END), OP_TAKE_SINCE, OP_END);
	assert_int_equal(ops[0].imm, 640);
	assert_int_equal(ops[0].arg, 2);
	assert_int_equal(ops[0].flags, REF_ONCE);
	assert_int_equal(ops[0].on_true, 5);
	assert_int_equal(ops[0].on_false, 1);
	assert_int_equal(ops[0].len, 1);
	assert_int_equal(ops[0].off, 12);
	assert_int_equal(ops[0].size, OP_LOAD_S32);
	/* The time counts from another reference than the one that was just read. */
	CODES(FUSED(KEY, REF_FIND, { .kind = OP_REF_READ, .arg = 1 }, FIND, SINCE(1), END),
	      OP_KEY_FIELD, OP_REF_TAKE, OP_FIND, OP_VAR_SINCE, OP_END);
	/* The reference is found by the last of two keys. */
	CODES(FUSED(KEY, { .kind = OP_KEY_FIELD, .size = OP_LOAD_U64, .arg = 16, .off = 8 },
		    { .kind = OP_REF_FIND, .arg = 16 }, REF_READ, FIND, SINCE(0), END),
	      OP_KEY_FIELD, OP_KEY_FIELD, OP_REF_TAKE, OP_FIND, OP_VAR_SINCE, OP_END);
	assert_int_equal(ops[2].on_true, 16);
}

static void a_logarithm_as_key_is_one_op(void **state)
{
	CODES(FUSED(KEY, { .kind = OP_LOAD_U64, .off = 40 }, { .kind = OP_LOG2 },
		    { .kind = OP_KEY_U64, .off = 8 }, FIND, END),
	      OP_KEY_FIELD, OP_KEY_LOG2, OP_END);
	assert_int_equal(ops[1].off, 8);
	assert_int_equal(ops[1].arg, 40);
	assert_int_equal(ops[1].size, OP_LOAD_U64);
	assert_int_equal(ops[1].flags, KEY_FIND);
	/* With a key of two words, one op is the whole hist. */
	key_size = 16;
	CODES(FUSED(KEY, { .kind = OP_LOAD_U64, .off = 40 }, { .kind = OP_LOG2 },
		    { .kind = OP_KEY_U64, .off = 8 }, FIND, END),
	      OP_HIST_KEYS, OP_END);
	assert_int_equal(ops[0].flags, KEYS_LOG2_SECOND);
	assert_int_equal(ops[0].len, OP_LOAD_S32);
	assert_int_equal(ops[0].off, 12);
	assert_int_equal(ops[0].size, OP_LOAD_U64);
	assert_int_equal(ops[0].on_true, 40);
	CODES(FUSED(LOAD, { .kind = OP_LOG2 }, { .kind = OP_KEY_U64 },
		    { .kind = OP_KEY_FIELD, .size = OP_LOAD_U64, .arg = 16, .off = 8 }, FIND, END),
	      OP_HIST_KEYS, OP_END);
	assert_int_equal(ops[0].flags, KEYS_LOG2);
	assert_int_equal(ops[0].len, OP_LOAD_S16);
	assert_int_equal(ops[0].on_true, 16);
	CODES(FUSED(KEY, { .kind = OP_LOAD_U64, .off = 40 }, { .kind = OP_LOG2 },
		    { .kind = OP_KEY_U64, .off = 8 }, FIND, { .kind = OP_SUM_FIELD }, END),
	      OP_KEY_FIELD, OP_KEY_LOG2, OP_SUM_FIELD, OP_END);
	key_size = 8;
	/* With a key of one word, one op is the whole hist. */
	CODES(FUSED(LOAD, { .kind = OP_LOG2 }, { .kind = OP_KEY_U64 }, FIND, END),
	      OP_HIST_LOG2, OP_END);
	assert_int_equal(ops[0].len, OP_LOAD_S16);
	assert_int_equal(ops[0].off, 12);
	CODES(FUSED(LOAD, { .kind = OP_LOG2 }, { .kind = OP_KEY_U64 }, FIND,
		    { .kind = OP_SUM_FIELD }, END),
	      OP_KEY_LOG2, OP_SUM_FIELD, OP_END);
	key_size = 256;		/* as for a text */
	CODES(FUSED(LOAD, { .kind = OP_LOG2 }, { .kind = OP_KEY_U64 }, FIND, END),
	      OP_KEY_LOG2, OP_END);
	key_size = 8;
}

static void jumps_lead_where_they_did(void **state)
{
	CODES(FUSED(KEY, FIND, TIME, { .kind = OP_VAR_SET }, { .kind = OP_REF_OWN },
		    { .kind = OP_TRACK_BEGIN, .on_false = 10 }, TIME,
		    { .kind = OP_TRACK_END, .on_false = 10 },
		    { .kind = OP_TRACK_BEGIN, .on_false = 12 },
		    { .kind = OP_TRACK_END, .on_false = 12 }, END),
	      OP_KEY_FIELD, OP_VAR_TIME, OP_REF_OWN, OP_TRACK_BEGIN, OP_LOAD_TIME, OP_USECS,
	      OP_TRACK_END, OP_TRACK_BEGIN, OP_TRACK_END, OP_END);
	assert_int_equal(ops[3].on_false, 7);
	assert_int_equal(ops[6].on_false, 7);
	assert_int_equal(ops[7].on_false, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hist_that_notes_the_time_is_one_op),
		cmocka_unit_test(a_text_as_the_only_key_is_one_op),
		cmocka_unit_test(an_event_takes_own_variables_as_they_are),
		cmocka_unit_test(jumps_lead_behind_what_is_left_out),
		cmocka_unit_test(the_time_since_is_one_op),
		cmocka_unit_test(a_logarithm_as_key_is_one_op),
		cmocka_unit_test(jumps_lead_where_they_did),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
