/* SPDX-License-Identifier: MIT */
/*
 * act.c - each op of variables, references and tracking, in code written by hand
 */
#include <string.h>
#include "run_tests.h"
#include "fixture.h"

#define OFF(field)	offsetof(struct rec, field)
#define KEY_A		{ .kind = OP_KEY_FIELD, .size = OP_LOAD_U32, .arg = OFF(a) }
#define FIND		{ .kind = OP_FIND }
#define SUM(n)		{ .kind = OP_SUM, .off = n }
#define LOAD(field)										\
	{											\
		.kind = sizeof(((struct rec *)0)->field) == 8 ? OP_LOAD_U64 : OP_LOAD_U32,	\
		.off = OFF(field)								\
	}
#define VAR_SET(n)	{ .kind = OP_VAR_SET, .off = n }
#define REF_FIND(h)	{ .kind = OP_REF_FIND, .imm = (h).cell, .arg = 8 }
#define REF_READ(n, var, f)	{ .kind = OP_REF_READ, .arg = n, .off = var, .flags = f }
#define LOAD_REF(n)	{ .kind = OP_LOAD_REF, .arg = n }

static struct hist ha, hb;

static void make_hists(uint32_t nr_blocks, uint32_t block_size)
{
	hist_make(&ha, 8, 2, 4, nr_blocks, block_size);
	hist_make(&hb, 8, 3, 4, nr_blocks, block_size);
}

static void a_variable_is_found_by_its_key(void **state)
{
	make_hists(0, 0);
	plan_hist(EVENT_A, 0,
		  CODE_OF(&ha, CODE_NEEDS_TIME, KEY_A, FIND, { .kind = OP_LOAD_TIME }, VAR_SET(1)));
	plan_hist(EVENT_B, 0,
		  CODE_OF(&hb, CODE_NEEDS_TIME, KEY_A, REF_FIND(ha), REF_READ(3, 1, 0), FIND,
			  { .kind = OP_LOAD_TIME }, LOAD_REF(3), { .kind = OP_SUB }, SUM(1)));
	fire_event(EVENT_B, 7, 100);
	assert_int_equal(map_hits(hb.map.data, &hb.shape), 0);
	fire_event(EVENT_A, 7, 1000);
	fire_event(EVENT_A, 8, 2000);
	fire_event(EVENT_B, 7, 1500);
	fire_event(EVENT_B, 7, 1600);
	fire_event(EVENT_B, 9, 1600);
	assert_int_equal(sum_of_key(&hb, 7, 0), 2);
	assert_int_equal(sum_of_key(&hb, 7, 1), 500 + 600);
	assert_int_equal(map_hits(hb.map.data, &hb.shape), 2);
}

static void the_greatest_of_all_writers_is_kept(void **state)
{
	make_hists(0, 0);
	plan_hist(EVENT_A, 0,
		  CODE_OF(&ha, CODE_NEEDS_TIME, KEY_A, FIND, { .kind = OP_LOAD_TIME },
			  { .kind = OP_RAISE, .off = 1 }));
	fire_event(EVENT_A, 7, 100);
	fire_event(EVENT_A, 7, 300);
	fire_event(EVENT_A, 7, 200);
	assert_int_equal(sum_of_key(&ha, 7, 0), 3);
	assert_int_equal(sum_of_key(&ha, 7, 1), 300);
	plan_hist(EVENT_B, 0,
		  CODE_OF(&hb, CODE_NEEDS_TIME, KEY_A, FIND, { .kind = OP_LOAD_TIME },
			  { .kind = OP_RAISE, .off = 1, .imm = ~0ull }));
	fire_event(EVENT_B, 7, 100);
	fire_event(EVENT_B, 7, 99);
	fire_event(EVENT_B, 7, 300);
	assert_true(sum_of_key(&hb, 7, 1) == ~99ull);
}

static void a_setting_is_matched_once(void **state)
{
	make_hists(0, 0);
	plan_hist(EVENT_A, 0, CODE_OF(&ha, 0, KEY_A, FIND, LOAD(b), VAR_SET(0)));
	plan_hist(EVENT_B, 0, CODE_OF(&hb, 0, KEY_A, REF_FIND(ha), REF_READ(0, 0, REF_ONCE), FIND));
	for (int i = 0; i < 3; i++) {
		fire_event(EVENT_A, 7, 1);
		fire_event(EVENT_B, 7, 2);
		fire_event(EVENT_B, 7, 3);
	}
	assert_int_equal(sum_of_key(&hb, 7, 0), 3);
	fire_event(EVENT_A, 7, 1);
	fire_event(EVENT_A, 7, 1);
	fire_event(EVENT_B, 7, 2);
	fire_event(EVENT_B, 7, 2);
	assert_int_equal(sum_of_key(&hb, 7, 0), 4);
}

/* If the second variable is unset, the code ends. The first one is used up, as in the kernel. */
static void references_are_read_in_order(void **state)
{
	uint64_t v;
	uint64_t key = 7;

	make_hists(0, 0);
	plan_hist(EVENT_A, 0, CODE_OF(&ha, 0, KEY_A, FIND, LOAD(b), VAR_SET(0)));
	plan_hist(EVENT_B, 0,
		  CODE_OF(&hb, 0, KEY_A, REF_FIND(ha), REF_READ(0, 0, REF_ONCE), REF_READ(1, 1, 0),
			  FIND));
	fire_event(EVENT_A, 7, 1);
	fire_event(EVENT_B, 7, 2);
	assert_int_equal(map_hits(hb.map.data, &hb.shape), 0);
	assert_false(map_var_read(ha.map, map_find(ha.map, &key), 0, &v));
}

static void a_short_key_is_padded(void **state)
{
	hist_make(&ha, 24, 1, 1, 0, 0);
	hist_make(&hb, 8, 1, 0, 0, 0);
	plan_hist(EVENT_A, 0,
		  CODE_OF(&ha, 0, KEY_A, { .kind = OP_LOAD_IMM }, { .kind = OP_KEY_U64, .off = 8 },
			  { .kind = OP_LOAD_IMM }, { .kind = OP_KEY_U64, .off = 16 }, FIND, LOAD(a),
			  VAR_SET(0)));
	plan_hist(EVENT_B, 0,
		  CODE_OF(&hb, 0, { .kind = OP_LOAD_IMM, .imm = ~0ull },
			  { .kind = OP_KEY_U64, .off = 16 }, KEY_A, REF_FIND(ha), REF_READ(0, 0, 0),
			  FIND));
	fire_event(EVENT_A, 7, 1);
	fire_event(EVENT_B, 7, 1);
	assert_int_equal(sum_of_key(&hb, 7, 0), 1);
}

static void a_hist_that_is_gone_ends_the_code(void **state)
{
	struct hist_cell *cell;

	make_hists(0, 0);
	plan_hist(EVENT_A, 0, CODE_OF(&ha, 0, KEY_A, FIND, LOAD(b), VAR_SET(0)));
	plan_hist(EVENT_B, 0, CODE_OF(&hb, 0, KEY_A, REF_FIND(ha), REF_READ(0, 0, 0), FIND));
	fire_event(EVENT_A, 7, 1);
	cell = session_config(fixture.session, ha.cell, sizeof(*cell));
	cell->map = 0;
	fire_event(EVENT_B, 7, 1);
	assert_int_equal(map_hits(hb.map.data, &hb.shape), 0);
}

static void own_values_are_those_of_this_hit(void **state)
{
	make_hists(0, 0);
	plan_hist(EVENT_A, 0,
		  CODE_OF(&ha, 0, KEY_A, FIND, LOAD(b), VAR_SET(2),
			  { .kind = OP_REF_OWN, .arg = 15, .off = 2 }, LOAD_REF(15), SUM(1)));
	for (uint32_t i = 1; i <= 3; i++) {
		struct rec r = rec_make(EVENT_A, 7);

		r.b = 10 * i;
		fire_rec(&r, 1);
	}
	assert_int_equal(sum_of_key(&ha, 7, 1), 60);
}

/* ---- texts and stacks ---- */

static const void *block_of(const struct hist *h, uint64_t key, uint32_t block)
{
	static uint64_t content[64];

	memset(content, 0xee, sizeof(content));
	if (!map_block_read(h->map.data, map_size(&h->shape), &h->shape,
			    key ? map_find(h->map, &key) : 0, block, content))
		return NULL;
	return content;
}

#define TEXT(string, ...)	{ .kind = OP_VAR_SET_STRING, .size = string, __VA_ARGS__ }

static void texts_come_from_everywhere(void **state)
{
	make_hists(4, STRING_ROOM);
	plan_hist(EVENT_A, 0, CODE_OF(&ha, 0, KEY_A, FIND,
		TEXT(STRING_FIXED, .imm = OFF(name), .arg = 16, .off = 0, .len = 0),
		TEXT(STRING_DATA_LOC, .imm = OFF(loc), .off = 1, .len = 1),
		TEXT(STRING_COMM, .off = 2, .len = 2),
		{ .kind = OP_REF_OWN, .arg = 0, .off = 1, .len = 2 },
		TEXT(STRING_REF, .arg = 0, .off = 3, .len = 3)));
	plan_hist(EVENT_B, 0, CODE_OF(&hb, 0, KEY_A, REF_FIND(ha),
		{ .kind = OP_REF_READ, .arg = 5, .off = 0, .len = 1 }, FIND,
		TEXT(STRING_REF, .arg = 5, .off = 0, .len = 0)));
	fire_event(EVENT_A, 7, 1);
	assert_string_equal(block_of(&ha, 7, 0), "fifteen-letters");
	assert_string_equal(block_of(&ha, 7, 1), "dynamic");
	assert_string_equal(block_of(&ha, 7, 2), "tester");
	assert_string_equal(block_of(&ha, 7, 3), "dynamic");
	fire_event(EVENT_B, 7, 1);
	assert_string_equal(block_of(&hb, 7, 0), "fifteen-letters");
}

/* Tries a fixed text that fills its array, and dynamic texts of all lengths. */
static void texts_are_cut_as_by_strscpy(void **state)
{
	static struct { struct rec r; char text[400]; } big;
	struct rec r = rec_make(EVENT_A, 7);
	struct hit h = { .record = &big, .size = sizeof(big), .cpu = 1, .writer = 1, .time = 1 };
	char expected[400];

	make_hists(1, STRING_ROOM);
	plan_hist(EVENT_A, 0,
		  CODE_OF(&ha, 0, KEY_A, FIND, TEXT(STRING_FIXED, .imm = OFF(name), .arg = 16)));
	memcpy(r.name, "0123456789abcdef", 16);
	fire_rec(&r, 1);
	assert_string_equal(block_of(&ha, 7, 0), "0123456789abcde");

	plan_hist(EVENT_A, 0, CODE_OF(&ha, 0, KEY_A, FIND, TEXT(STRING_DATA_LOC, .imm = OFF(loc))));
	for (uint32_t len = 0; len < 390; len++) {
		big.r = rec_make(EVENT_A, 7);
		big.r.loc = (len + 1) << 16 | (uint32_t)sizeof(struct rec);
		memset(big.text, 'x', sizeof(big.text));
		memset(big.text, 'a', len);
		big.text[len] = len % 2 ? 0 : big.text[len];
		hit(fixture.p, fixture.slot, &h);
		memset(expected, 'a', sizeof(expected));
		expected[len] = 'x';
		expected[len % 2 ? len : len + 1] = 0;
		expected[255] = 0;
		assert_string_equal(block_of(&ha, 7, 0), expected);
	}
	/* The location of the text is outside the record. */
	big.r.loc = 100 << 16 | 60000;
	hit(fixture.p, fixture.slot, &h);
	assert_string_equal(block_of(&ha, 7, 0), "");
}

static void stacks_are_counted_and_ended(void **state)
{
	static const uint64_t expected[] = { 3, 0x1000, 0x2000, 0x3000, 0 };

	make_hists(2, STRING_ROOM);
	plan_hist(EVENT_A, 0, CODE_OF(&ha, CODE_NEEDS_STACK, KEY_A, FIND,
		{ .kind = OP_VAR_SET_STACK, .size = STACK_HIT, .off = 0, .len = 0 },
		{ .kind = OP_REF_OWN, .arg = 1, .off = 0, .len = 1 },
		{ .kind = OP_VAR_SET_STACK, .size = STACK_REF, .arg = 1, .off = 1, .len = 1 }));
	plan_hist(EVENT_B, 0,
		  CODE_OF(&hb, 0, KEY_A, REF_FIND(ha),
			  { .kind = OP_REF_READ, .arg = 0, .off = 1, .len = 2 }, FIND,
			  { .kind = OP_VAR_SET_STACK,
			   .size = STACK_REF,
			   .arg = 0,
			   .off = 0,
			   .len = 0 }));
	fire_event(EVENT_A, 7, 1);
	fire_event(EVENT_B, 7, 1);
	assert_memory_equal(block_of(&ha, 7, 0), expected, sizeof(expected));
	assert_memory_equal(block_of(&ha, 7, 1), expected, sizeof(expected));
	assert_memory_equal(block_of(&hb, 7, 0), expected, sizeof(expected));
}

/* The compiler never emits such code. Still, it ends. */
static void a_reference_to_itself_is_empty(void **state)
{
	static const uint64_t none[2];

	make_hists(2, STRING_ROOM);
	plan_hist(EVENT_A, 0, CODE_OF(&ha, CODE_NEEDS_STACK, KEY_A, FIND,
		{ .kind = OP_VAR_SET_STACK, .size = STACK_HIT, .off = 0, .len = 0 },
		{ .kind = OP_REF_OWN, .arg = 1, .off = 0, .len = 1 },
		{ .kind = OP_VAR_SET_STACK, .size = STACK_REF, .arg = 1, .off = 1, .len = 1 },
		{ .kind = OP_REF_OWN, .arg = 1, .off = 1, .len = 2 },
		{ .kind = OP_VAR_SET_STACK, .size = STACK_REF, .arg = 1, .off = 1, .len = 1 }));
	fire_event(EVENT_A, 7, 1);
	assert_memory_equal(block_of(&ha, 7, 1), none, sizeof(none));
}

/* ---- onmax, onchange, save ---- */

#define OWN_C		LOAD(c), VAR_SET(0), { .kind = OP_REF_OWN, .arg = 0, .off = 0 }

static void fire_c(uint32_t a, uint64_t c, uint32_t b)
{
	struct rec r = rec_make(EVENT_A, a);

	r.c = c;
	r.b = b;
	fire_rec(&r, 1);
}

/* key, find, own ref, begin, save b and name, end, then a count if the value was taken */
static config_ref track_code(uint32_t flags)
{
	return CODE_OF(&ha, 0, KEY_A, FIND, OWN_C,
		       { .kind = OP_TRACK_BEGIN,
			.off = 1,
			.arg = 0,
			.flags = (uint8_t)flags,
			.on_false = 12 },
		       LOAD(b), { .kind = OP_TRACK_U64, .off = 8 },
		       { .kind = OP_TRACK_STRING,
			.off = 16,
			.size = STRING_FIXED,
			.imm = OFF(name),
			.arg = 16 },
		       { .kind = OP_TRACK_END, .on_false = 12 }, { .kind = OP_LOAD_IMM, .imm = 1 },
		       SUM(1));
}

static void assert_saved(uint64_t key, uint64_t value, uint64_t b)
{
	const uint64_t *w = block_of(&ha, key, 1);

	assert_non_null(w);
	assert_int_equal(w[0], value);
	assert_int_equal(w[1], b);
	assert_string_equal((const char *)&w[2], "fifteen-letters");
}

static void onmax_takes_what_is_greater(void **state)
{
	make_hists(2, 48);
	plan_hist(EVENT_A, 0, track_code(0));
	fire_c(7, 0, 1);
	assert_null(block_of(&ha, 7, 1));
	fire_c(7, 10, 2);
	assert_saved(7, 10, 2);
	fire_c(7, 10, 3);
	fire_c(7, 9, 4);
	assert_saved(7, 10, 2);
	fire_c(7, (uint64_t)-1, 5);
	assert_saved(7, (uint64_t)-1, 5);
	fire_c(8, 1, 6);
	assert_saved(8, 1, 6);
	assert_int_equal(sum_of_key(&ha, 7, 1), 2);
	assert_int_equal(sum_of_key(&ha, 7, 0), 5);
}

static void onchange_takes_what_differs(void **state)
{
	make_hists(2, 48);
	plan_hist(EVENT_A, 0, track_code(TRACK_CHANGE));
	fire_c(7, 0, 1);
	assert_null(block_of(&ha, 7, 1));
	fire_c(7, 10, 2);
	fire_c(7, 10, 3);
	assert_saved(7, 10, 2);
	fire_c(7, 9, 4);
	assert_saved(7, 9, 4);
	fire_c(7, 0, 5);
	assert_saved(7, 0, 5);
	assert_int_equal(sum_of_key(&ha, 7, 1), 3);
}

static void one_block_for_the_whole_hist(void **state)
{
	const uint64_t *w;

	make_hists(2, 48);
	plan_hist(EVENT_A, 0,
		  CODE_OF(&ha, 0, KEY_A, FIND, OWN_C,
			  { .kind = OP_TRACK_BEGIN,
			   .off = 0,
			   .arg = 0,
			   .flags = TRACK_GLOBAL,
			   .on_false = 9 },
			  { .kind = OP_TRACK_COMM, .off = 8 },
			  { .kind = OP_TRACK_KEY, .off = 24, .len = 8 },
			  { .kind = OP_TRACK_END, .on_false = 9 }));
	fire_c(7, 10, 0);
	fire_c(8, 5, 0);
	w = block_of(&ha, 0, 0);
	assert_int_equal(w[0], 10);
	assert_string_equal((const char *)&w[1], "tester");
	assert_int_equal(w[3], 7);
	fire_c(9, 11, 0);
	w = block_of(&ha, 0, 0);
	assert_int_equal(w[3], 9);
}

/* A text is cut at the end of its block, and ends with a 0. */
static void a_text_keeps_within_its_block(void **state)
{
	make_hists(1, 24);
	plan_hist(EVENT_A, 0,
		  CODE_OF(&ha, 0, KEY_A, FIND, OWN_C,
			  { .kind = OP_TRACK_BEGIN, .arg = 0, .on_false = 8 },
			  { .kind = OP_TRACK_STRING,
			   .off = 16,
			   .size = STRING_FIXED,
			   .imm = OFF(name),
			   .arg = 16 },
			  { .kind = OP_TRACK_END, .on_false = 8 }));
	fire_c(7, 10, 0);
	assert_string_equal((const char *)block_of(&ha, 7, 0) + 16, "fifteen");
}

/* If the map has no place for the key, the code ends and sets nothing. */
static void a_full_map_drops(void **state)
{
	make_hists(2, 48);
	plan_hist(EVENT_A, 0, track_code(0));
	for (uint32_t i = 1; i <= 200; i++)
		fire_c(i, i, i);
	assert_int_equal(map_drops(ha.map.data), 72);
	assert_int_equal(map_hits(ha.map.data, &ha.shape), 128);
}

int main(void)
{
#define FIXTURE_TEST(fn) cmocka_unit_test_setup_teardown(fn, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(a_variable_is_found_by_its_key),
		FIXTURE_TEST(the_greatest_of_all_writers_is_kept),
		FIXTURE_TEST(a_setting_is_matched_once),
		FIXTURE_TEST(references_are_read_in_order),
		FIXTURE_TEST(a_short_key_is_padded),
		FIXTURE_TEST(a_hist_that_is_gone_ends_the_code),
		FIXTURE_TEST(own_values_are_those_of_this_hit),
		FIXTURE_TEST(texts_come_from_everywhere),
		FIXTURE_TEST(texts_are_cut_as_by_strscpy),
		FIXTURE_TEST(stacks_are_counted_and_ended),
		FIXTURE_TEST(a_reference_to_itself_is_empty),
		FIXTURE_TEST(onmax_takes_what_is_greater),
		FIXTURE_TEST(onchange_takes_what_differs),
		FIXTURE_TEST(one_block_for_the_whole_hist),
		FIXTURE_TEST(a_text_keeps_within_its_block),
		FIXTURE_TEST(a_full_map_drops),
	};

	return run_in_temp_place(tests);
}
