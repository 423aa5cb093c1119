/* SPDX-License-Identifier: MIT */
/* filter.c - the filter language: which texts are refused, and what a filter says of a record */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "model/errlog.h"
#include "model/event/set.h"
#include "model/filter/filter.h"
#include "plane/plane.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

/* The filter's answer for the record, 1 or 0; -1: the text is refused. */
static int match(struct fixture *f, const char *text, const struct all_record *r, uint32_t size)
{
	char comm[LAYOUT_COMM_LEN] = "somecommand";
	struct hit h = { .record = r, .size = size, .cpu = 1, .comm = comm };
	struct filter *filter;
	struct code *code;
	int ret = -1;

	if (!filter_parse(f->all, text, NULL, &filter)) {
		code = malloc(filter_code_size(filter));
		filter_write_code(filter, code);
		ret = filter_match(code, &h);
		free(code);
	}
	filter_destroy(filter);
	return ret;
}

struct match_case {
	const char *text;
	int expected;
};

static void check(struct fixture *f, const struct match_case *cases, size_t nr,
		  const struct all_record *r)
{
	for (size_t i = 0; i < nr; i++) {
		int got = match(f, cases[i].text, r, sizeof(*r));

		if (got != cases[i].expected)
			fail_msg("%s: %d, expected %d", cases[i].text, got, cases[i].expected);
	}
}

#define CHECK(cases, record) check(*state, cases, sizeof(cases) / sizeof((cases)[0]), record)

static void numbers_compare_by_sign_and_size(void **state)
{
	static const struct match_case cases[] = {
		{ "s8 == -1", 1 },
		{ "s8 < 0", 1 },
		{ "s8 == 255", 1 },
		{ "s8 > 5", 0 },
		{ "u8 == 255", 1 },
		{ "u8 > 200", 1 },
		{ "u8 == 511", 1 },
		{ "u8 < 0", 0 },
		{ "s16 == -2", 1 },
		{ "s16 <= -2", 1 },
		{ "u16 == 0xfffe", 1 },
		{ "u16 >= 65534", 1 },
		{ "s32 == -3", 1 },
		{ "s32 != -3", 0 },
		{ "s32 < 1", 1 },
		{ "u32 > 4000000000", 1 },
		{ "s64 == -4", 1 },
		{ "s64 >= -4", 1 },
		{ "u64 == 18446744073709551612", 1 },
		{ "u64 > 1", 1 },
		{ "s32 & 1", 1 },
		{ "s32 & 2", 0 },
		{ "u64 & 0x8000000000000000", 1 },
		{ "s32 == 4294967293", 1 },
		{ "common_pid == 42", 1 },
		{ "common_type == 100", 1 },
		{ "array == 0", 0 },
		{ "array != 0", 0 },
		{ "stacktrace == 1", 0 },
	};
	struct all_record r;

	fixture_record(&r);
	r.s8 = -1;
	r.u8 = 255;
	r.s16 = -2;
	r.u16 = 0xfffe;
	r.s32 = -3;
	r.u32 = 4294967295u;
	r.s64 = -4;
	r.u64 = UINT64_MAX - 3;
	CHECK(cases, &r);
}

static void texts_and_patterns(void **state)
{
	static const struct match_case cases[] = {
		{ "fixed == 'fixed text'", 1 },
		{ "fixed == 'fixed'", 0 },
		{ "fixed != 'fixed'", 1 },
		{ "fixed ~ 'fixed*'", 1 },
		{ "fixed ~ '*ed te*'", 1 },
		{ "fixed ~ '*'", 1 },
		{ "fixed ~ 'fixed text'", 1 },
		/* "*text" is compared with the end of the array */
		{ "fixed ~ '*text'", 0 },
		{ "fixed ~ 'f*t'", 1 },
		{ "fixed ~ 'f?xed*t'", 1 },
		{ "fixed ~ '[a-g]ixed text'", 1 },
		{ "fixed ~ '[!a-g]ixed text'", 0 },
		{ "fixed ~ '?'", 0 },
		{ "fixed ~ 'fixed\\ text'", 1 },
		{ "fixed ~ '!fixed*'", 0 },
		{ "fixed ~ '!other*'", 1 },
		{ "fixed ~ ''", 0 },
		{ "dyn == 'dynamic'", 1 },
		{ "dyn ~ '*mic'", 1 },
		{ "dyn ~ 'dyn*'", 1 },
		{ "dyn ~ '*nam*'", 1 },
		{ "dyn ~ 'd*n*m*c'", 1 },
		{ "dyn == 'dynamics'", 0 },
		{ "dyn == 'dynami'", 0 },
		{ "rel == 'relative'", 1 },
		{ "rel ~ '*tive'", 1 },
		{ "rel ~ 'rel[!b]tive'", 1 },
		{ "comm == 'somecommand'", 1 },
		{ "COMM ~ 'some*'", 1 },
		{ "comm ~ '*mand'", 0 },
		{ "comm ~ '*comm*'", 1 },
		/* a pointer of a record has no text behind it */
		{ "pointer == 'x'", 0 },
		{ "pointer != 'x'", 0 },
		{ "pointer.ustring ~ '*'", 0 },
		/* a text that begins with a digit is no pattern */
		{ "fixed ~ '1*'", 0 },
	};
	struct all_record r;

	fixture_record(&r);
	strcpy(r.fixed, "fixed text");
	CHECK(cases, &r);
}

static void bytes_behind_the_text_count_in_the_middle(void **state)
{
	static const struct match_case cases[] = {
		{ "fixed ~ '*old*'", 1 },
		{ "fixed == 'new'", 1 },
		{ "fixed ~ '*rest'", 1 },
		{ "fixed ~ 'n*old*'", 0 },
	};
	struct all_record r;

	fixture_record(&r);
	memcpy(r.fixed, "new\0an old rest", 16);
	CHECK(cases, &r);
}

static void a_text_that_fills_its_array(void **state)
{
	static const struct match_case cases[] = {
		{ "fixed == '0123456789abcdef'", 1 },
		{ "fixed == '0123456789abcde'", 0 },
		{ "fixed == '0123456789abcdefg'", 0 },
		{ "fixed ~ '*bcde'", 1 },
		{ "fixed ~ '*cdef'", 0 },
		{ "fixed ~ '*def*'", 1 },
	};
	struct all_record r;

	fixture_record(&r);
	memcpy(r.fixed, "0123456789abcdef", 16);
	CHECK(cases, &r);
}

static void odd_patterns(void **state)
{
	static const struct match_case cases[] = {
		{ "fixed ~ 'a[b'", 1 },	    { "fixed ~ '?[b'", 1 },	 { "fixed ~ 'a*[b'", 1 },
		{ "fixed ~ 'a[[]b'", 1 }, { "fixed ~ 'a\\[b'", 1 }, { "fixed ~ '*?b'", 1 },
		{ "fixed ~ '**'", 1 },	    { "fixed ~ 'a[]x[]b'", 1 },	 { "fixed ~ 'a[!]x]b'", 1 },
		{ "fixed ~ 'a[z-a]b'", 0 }, { "fixed ~ 'a[Z-b]b'", 1 },	 { "fixed ~ 'a[b\\'", 1 },
		{ "fixed ~ '*?*?*?'", 1 }, { "fixed ~ '*?*?*?*?'", 0 },
	};
	struct all_record r;

	fixture_record(&r);
	strcpy(r.fixed, "a[b");
	CHECK(cases, &r);
}

static void cpus_and_masks(void **state)
{
	static const struct match_case cases[] = {
		{ "cpu == 1", 1 }, { "CPU < 1", 0 }, { "common_cpu >= 1", 1 },
		{ "cpu & 1", 0 }, { "cpu != 0", 1 }, { "cpu & CPUS{1}", 1 },
		{ "cpu & CPUS{0-1}", 1 }, { "cpu == CPUS{0-1}", 0 }, { "cpu != CPUS{0-1}", 1 },
		{ "mask & CPUS{1}", 1 }, { "mask & CPUS{0}", 0 }, { "mask == CPUS{1}", 1 },
		{ "mask != CPUS{1}", 0 }, { "mask == CPUS{0-1}", 0 }, { "mask & CPUS{0-1}", 1 },
		{ "mask != CPUS{0-1}", 1 }, { "s32 & CPUS{1}", 1 }, { "s32 == CPUS{0-1}", 0 },
		{ "s32 & CPUS{0-1}", 1 }, { "s32 != CPUS{0-1}", 1 }, { "u64 & CPUS{0-1}", 0 },
		{ "u64 != CPUS{0-1}", 0 }, { "array & CPUS{0-1}", 0 },
	};
	struct all_record r;

	fixture_record(&r);
	r.s32 = 1;
	r.u64 = 77;
	CHECK(cases, &r);
}

static void functions_are_ranges(void **state)
{
	static const struct match_case cases[] = {
		{ "ip.function == second_function", 1 }, { "ip.function != second_function", 0 },
		{ "ip.function == first_function", 0 }, { "ip.function != first_function", 1 },
		{ "ip.function == 0x1101", 1 }, { "ip.function == 0x1001 || s32 == 0", 1 },
		{ "ip.function == nonesuch", -1 }, { "s32.function == first_function", -1 },
	};
	struct all_record r;

	fixture_record(&r);
	r.ip = 0x11ff;
	CHECK(cases, &r);
}

static void a_short_record_is_not_read_behind_its_end(void **state)
{
	static const char *const none[] = {
		"u64 != 0", "fixed == 'x'", "dyn == 'dynamic'",
		"rel ~ '*tive'", "mask & CPUS{0-1}", "ip.function == first_function",
	};
	static const char *const all[] = { "u64 == 0", "s64 == 0", "mask != CPUS{1}", "dyn == ''" };
	struct all_record r;

	fixture_record(&r);
	memset(&r.s64, 0xff, sizeof(r) - offsetof(struct all_record, s64));
	for (uint32_t size = 8; size <= 24; size++) {
		for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
			assert_int_equal(match(*state, none[i], &r, size), 0);
		for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
			assert_int_equal(match(*state, all[i], &r, size), 1);
	}
}

/*
 * Compares random expressions with a second reader of the same grammar. Their operands are
 * `s32 == N`: true if N is below 0, else false.
 */
struct second_reader {
	const char *s;
};

static bool read_or(struct second_reader *r);

static bool read_operand(struct second_reader *r)
{
	bool invert = false, v;

	for (; *r->s == '!' || *r->s == ' '; r->s++)
		invert ^= *r->s == '!';
	if (*r->s == '(') {
		r->s++;
		v = read_or(r);
		r->s++;
	} else {
		v = r->s[sizeof("s32 == ") - 1] == '5';
		r->s += sizeof("s32 == 5") - 1;
	}
	while (*r->s == ' ')
		r->s++;
	return v ^ invert;
}

static bool read_and(struct second_reader *r)
{
	bool v = read_operand(r), next;

	while (*r->s == '&') {
		r->s += 2;
		next = read_operand(r);
		v = v && next;
	}
	return v;
}

static bool read_or(struct second_reader *r)
{
	bool v = read_and(r), next;

	while (*r->s == '|') {
		r->s += 2;
		next = read_and(r);
		v = v || next;
	}
	return v;
}

static uint32_t random_below(uint32_t *seed, uint32_t n)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % n;
}

static void write_expression(FILE *out, uint32_t *seed, unsigned int depth)
{
	unsigned int terms = 1 + random_below(seed, 4);

	for (unsigned int i = 0; i < terms; i++) {
		if (i)
			fputs(random_below(seed, 2) ? " && " : " || ", out);
		for (unsigned int n = random_below(seed, 3); n > 1; n--)
			fputs("!", out);
		if (depth && random_below(seed, 3) == 0) {
			fputs("(", out);
			write_expression(out, seed, depth - 1);
			fputs(")", out);
		} else {
			fprintf(out, "s32 == %u", random_below(seed, 2) ? 5 : 6);
		}
	}
}

static void logic_agrees_with_a_second_reader(void **state)
{
	struct all_record r;
	uint32_t seed = 1;

	fixture_record(&r);
	r.s32 = 5;
	for (int i = 0; i < 5000; i++) {
		char *text = printed(write_expression(out, &seed, 4));
		struct second_reader reader = { text };
		int expected = read_or(&reader);

		if (match(*state, text, &r, sizeof(r)) != expected)
			fail_msg("%s is not %d", text, expected);
		free(text);
	}
}

struct refused {
	const char *text;
	int err;
	int column;		/* of the caret in the line below the text */
	const char *error;	/* NULL: one without a text */
};

static const struct refused refused_filters[] = {
	{ "s32 == x", -EINVAL, 8, "Invalid value (did you forget quotes)?" },
	{ "nonesuch == 1", -EINVAL, 9, "Field not found" },
	{ "s32 = 1", -EINVAL, 5, "Invalid operator" },
	{ "s32 == 'a'", -EINVAL, 8, "Expecting numeric field" },
	{ "fixed == 1", -EINVAL, 10, "Expecting string field" },
	{ "fixed > 'a'", -EINVAL, 9, "Illegal operation for field type" },
	{ "s32 ~ 1", -EINVAL, 7, "Illegal operation for field type" },
	{ "s32 == 5x", -EINVAL, 8, "Illegal integer value" },
	{ "u32 == -1", -EINVAL, 8, "Illegal integer value" },
	{ "s32 == 123456789012345678901234", -EINVAL, 31, "Operand too long" },
	{ "(s32 == 1", -2, 0, "Too many '('" },
	{ "s32 == 1)", -1, 8, "Too few '('" },
	{ "fixed == 'x", -3, 9, "Missing matching quote" },
	{ "cpu & CPUS0", -EINVAL, 11, "Missing '{'" },
	{ "cpu & CPUS{0", -EINVAL, 12, "Missing '}'" },
	{ "cpu & CPUS{}", -EINVAL, 12, "Invalid cpulist" },
	{ "cpu & CPUS{2}", -EINVAL, 13, "Invalid cpulist" },
	{ "s32 == 1 s32 == 2", -1, 9, "Too many terms in predicate expression" },
	{ "s32 == 1 && ", -EINVAL, 11, "Meaningless filter expression" },
	{ "!", -EINVAL, 1, "No filter found" },
	{ "ip.function == nonesuch", -EINVAL, 23, "Function not found" },
	{ "ip.function & x", -EINVAL, 15, "Invalid operator" },
	{ "s32.function == first_function", -EINVAL, 17,
	  "Illegal operation for field type" },
	{ "&& s32 == 1", -1, 0, NULL },
	{ "()", -EINVAL, 0, NULL },
};

static void errors_are_shown_in_the_file_and_the_log(void **state)
{
	struct fixture *f = *state;
	struct event_file *file = event_file_get(f->top, f->all);

	for (size_t i = 0; i < sizeof(refused_filters) / sizeof(refused_filters[0]); i++) {
		const struct refused *c = &refused_filters[i];
		char *stripped = strdup(c->text), *expected, *log;

		while (stripped[strlen(stripped) - 1] == ' ')
			stripped[strlen(stripped) - 1] = '\0';
		errlog_clear(f->top->errlog);
		assert_int_equal(event_file_set_filter(file, c->text), c->err);
		if (c->error) {
			assert_true(asprintf(&expected, "%s\n%*s\nparse_error: %s\n\n", stripped,
					     c->column + 1, "^", c->error) > 0);
		} else {
			assert_true(asprintf(&expected, "%s\nError: (0)\n\n", stripped) > 0);
		}
		assert_prints(event_file_print_filter(file, out), expected);
		log = printed(errlog_print(f->top->errlog, out));
		assert_non_null(strstr(log, "event filter parse error: error: "));
		assert_non_null(strstr(log, c->error ? c->error : "Error\n"));
		assert_non_null(strstr(log, stripped));
		free(log);
		free(expected);
		free(stripped);
	}
}

static void a_refused_filter_lets_everything_pass(void **state)
{
	struct fixture *f = *state;
	struct event_file *file = event_file_get(f->top, f->all);

	assert_int_equal(event_file_set_filter(file, "s32 == 1\n"), 0);
	assert_int_not_equal(file->filter_code, 0);
	assert_prints(event_file_print_filter(file, out), "s32 == 1\n");
	assert_int_equal(event_file_set_filter(file, "s32 == x"), -EINVAL);
	assert_int_equal(file->filter_code, 0);
	assert_int_equal(event_file_set_filter(file, " 0 \n"), 0);
	assert_prints(event_file_print_filter(file, out), "none\n");
}

static void limits_of_an_operand(void **state)
{
	struct fixture *f = *state;
	struct event_file *file = event_file_get(f->top, f->all);
	char text[300], page[4200];

	memset(text, 'a', sizeof(text));
	memcpy(text, "fixed == '", 10);
	strcpy(text + 10 + 255, "'");
	assert_int_equal(event_file_set_filter(file, text), 0);
	strcpy(text + 10 + 255, "a'");
	assert_int_equal(event_file_set_filter(file, text), -EINVAL);
	memset(page, ' ', sizeof(page));
	memcpy(page, "s32 == 1", 8);
	page[4095] = '\0';
	assert_int_equal(event_file_set_filter(file, page), 0);
	page[4095] = ' ';
	page[4096] = '\0';
	assert_int_equal(event_file_set_filter(file, page), -EINVAL);
}

static void a_filter_of_a_system(void **state)
{
	struct fixture *f = *state;
	struct system *sys = f->all->system;
	char *log;

	assert_int_equal(system_set_filter(f->top, sys, "pid == 1\n", NULL), 0);
	assert_prints(event_file_print_filter(event_file_find(f->top, f->other), out),
		      "pid == 1\n");
	assert_prints(event_file_print_filter(event_file_find(f->top, f->all), out),
		      "pid == 1\n^\nparse_error: Couldn't find or set field in one of a "
		      "subsystem's events\n\n");
	assert_null(event_file_find(f->top, f->third));
	log = printed(errlog_print(f->top->errlog, out));
	assert_non_null(strstr(log, "Couldn't find or set field"));
	free(log);
	log = printed(system_print_filter(out));
	assert_int_equal(strncmp(log, "### global filter ###\n", 22), 0);
	free(log);
	assert_int_equal(system_set_filter(f->top, sys, "0", NULL), 0);
	assert_prints(event_file_print_filter(event_file_find(f->top, f->all), out), "none\n");
}

static void a_filter_of_a_system_is_set_in_pieces(void **state)
{
	struct pieces pieces = { .until_ms = 0 };
	struct fixture *f = *state;
	struct system *sys = f->all->system;

	assert_int_equal(system_set_filter(f->top, sys, "s32 == 1", &pieces), -EINPROGRESS);
	assert_prints(event_file_print_filter(event_file_find(f->top, f->all), out), "s32 == 1\n");
	assert_null(event_file_find(f->top, f->other));
	assert_int_equal(system_set_filter(f->top, sys, "s32 == 1", &pieces), -EINPROGRESS);
	assert_non_null(event_file_find(f->top, f->other));
	assert_int_equal(system_set_filter(f->top, sys, "s32 == 1", &pieces), 0);
	assert_null(event_file_find(f->top, f->third));
	pieces_end(&pieces);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(numbers_compare_by_sign_and_size),
		TEST(texts_and_patterns),
		TEST(bytes_behind_the_text_count_in_the_middle),
		TEST(a_text_that_fills_its_array),
		TEST(odd_patterns),
		TEST(cpus_and_masks),
		TEST(functions_are_ranges),
		TEST(a_short_record_is_not_read_behind_its_end),
		TEST(logic_agrees_with_a_second_reader),
		TEST(errors_are_shown_in_the_file_and_the_log),
		TEST(a_refused_filter_lets_everything_pass),
		TEST(limits_of_an_operand),
		TEST(a_filter_of_a_system),
		TEST(a_filter_of_a_system_is_set_in_pieces),
	};

	return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
