/* SPDX-License-Identifier: MIT */
/*
 * print.c - print formats: expressions, the kernel's functions, conversions
 */
#include "show_fixture.h"

#define FIELDS						\
	COMMON						\
	FIELD("int a", 8, 4, 1)				\
	FIELD("u8 c", 12, 1, 0)				\
	FIELD("s16 h", 14, 2, 1)			\
	FIELD("u64 b", 16, 8, 0)			\
	FIELD("char s[8]", 24, 8, 0)			\
	FIELD("__data_loc char[] d", 32, 4, 0)		\
	FIELD("__rel_loc char[] r", 36, 4, 0)		\
	FIELD("__data_loc u32[] l", 40, 4, 0)		\
	FIELD("__data_loc cpumask_t m", 44, 4, 0)	\
	FIELD("unsigned long w[2]", 48, 16, 0)		\
	"\nprint fmt: "

/*
 * a is -2, c 200, h -3, b 2^40 + 5, s "12345678", d "dyn", r "rel", l {1, 0x20}, m CPUs 0 and 33,
 * w {7, KERNEL + 8}.
 */
static struct record sample(uint16_t type)
{
	struct record r = { .type = type, .pid = 42 };

	put32(&r, 8, (uint32_t)-2);
	put(&r, 12, "\xc8", 1);
	put(&r, 14, "\xfd\xff", 2);
	put64(&r, 16, (1ull << 40) + 5);
	put(&r, 24, "12345678", 8);
	put32(&r, 32, 4 << 16 | 64);
	put32(&r, 36, 4 << 16 | (68 - 40));
	put32(&r, 40, 8 << 16 | 72);
	put32(&r, 44, 8 << 16 | 80);
	put64(&r, 48, 7);
	put64(&r, 56, KERNEL + 8);
	put(&r, 64, "dyn", 4);
	put(&r, 68, "rel", 4);
	put32(&r, 72, 1);
	put32(&r, 76, 0x20);
	put64(&r, 80, 1 | 1ull << 33);
	return r;
}

static uint16_t next_id = 1000;

static void expect_print(struct fixture *f, const char *print_fmt, const char *expected)
{
	char text[4096], line[1024];
	struct record r = sample(next_id);

	snprintf(text, sizeof(text), "name: e%u\nID: %u\n" FIELDS "%s\n", next_id, next_id,
		 print_fmt);
	snprintf(line, sizeof(line), "            task-42      [001] .....     1.500000: e%u: %s\n",
		 next_id, expected);
	next_id++;
	fixture_event(f, "test", text);
	assert_string_equal(piped(f, &r, 80), line);
}

/* The record as a list of fields, where the format is not understood. */
#define AS_FIELDS									\
	"a=0xfffffffe (-2) c='\xc8'(200) h=0xfffd (65533) "				\
	"b=0x10000000005 (1099511627781) s=12345678 d=dyn r=rel "			\
	"l=01,00,00,00,20,00,00,00 m=<INVALID-TYPE> w=<INVALID-SIZE>"

static void integers(void **state)
{
	expect_print(*state,
		     "\"%d %u %x %lld %hd %hhu\", REC->a, REC->a, REC->a, REC->a, REC->h, REC->c",
		     "-2 4294967294 fffffffe -2 -3 200");
	expect_print(*state, "\"%5d|%-5d|%05d|%+d|% d\", REC->a, REC->a, REC->a, 3, 3",
		     "   -2|-2   |-0002|+3| 3");
	expect_print(*state, "\"%#x %#o %08lx %.3d %X %c%%\", 255, 8, REC->b, 7, 0xabc, 'q'",
		     "0xff 010 10000000005 007 ABC q%");
	expect_print(*state, "\"%#x\", 0", "0x0");
	expect_print(*state, "\"%*d|%-*d|\", 4, 1, 4, 2", "   1|2   |");
}

static void arithmetic(void **state)
{
	expect_print(*state, "\"%d %d %d\", 1 + 2 * 3, (1 + 2) * 3, 10 - 2 - 3", "7 9 5");
	expect_print(*state, "\"%d %d %d\", REC->a / 2, REC->a >> 1, 7 % 4", "-1 -1 3");
	expect_print(*state, "\"%lu\", (unsigned long)REC->a >> 60", "15");
	expect_print(*state, "\"%u\", (unsigned char)REC->h", "253");
	expect_print(*state, "\"%s\", __print_flags(1, \"|\", { 1, \"A\" }, { 0, ((void *)0) } )",
		     "A");
	expect_print(*state, "\"%u\", (( gfp_t)0) | (( gfp_t)((((1UL))) << (6)))", "64");
	expect_print(*state, "\"%d %d %d %d\", REC->a < 0, REC->a < 0U, !REC->c, ~0", "1 0 0 -1");
	expect_print(*state, "\"%d %d\", 1 / 0, 5 && 0 || 2", "0 1");
	expect_print(*state, "\"%s\", REC->b & (1UL << 40) ? \"big\" : \"small\"", "big");
	expect_print(*state, "\"%d\", __builtin_expect(!!(REC->c), 1)", "1");
	expect_print(*state, "\"%zu %zu\", sizeof(REC->s), sizeof(unsigned long)", "8 8");
}

static void strings(void **state)
{
	expect_print(*state, "\"%s|%s|%s\", REC->s, __get_str(d), __get_rel_str(r)",
		     "12345678|dyn|rel");
	expect_print(
		*state,
		"\"%6s|%-6s|%.2s|%.*s\", __get_str(d), __get_str(d), __get_str(d), 1, __get_str(d)",
		"   dyn|dyn   |dy|d");
	expect_print(*state, "\"a\" \"b\\n\\\"%s\\\"\", __get_str(d)", "ab\n\"dyn\"");
	expect_print(*state, "\"%s\", (char *)0", "(null)");
}

static void arrays(void **state)
{
	expect_print(*state, "\"%lu %x\", REC->w[0], ((u32 *)__get_dynamic_array(l))[1]", "7 20");
	expect_print(*state, "\"%lu\", REC->w[1000000]", "0");
	expect_print(
		*state,
		"\"%s\", __print_array(__get_dynamic_array(l), __get_dynamic_array_len(l) / 4, 4)",
		"{0x1,0x20}");
	expect_print(*state, "\"%s\", __print_array(__get_dynamic_array(l), 1000, 4)",
		     "{0x1,0x20}");
	expect_print(*state, "\"%s\", __print_dynamic_array(l, 2)", "{0x1,0x0,0x20,0x0}");
	expect_print(*state, "\"%s|%s\", __print_hex(REC->s, 3), __print_hex_str(REC->s, 3)",
		     "31 32 33|313233");
	expect_print(*state, "\"%s\", __get_cpumask(m)", "00000002,00000001");
	expect_print(*state, "\"%*pbl\", 64, __get_dynamic_array(m)", "0,33");
}

static void names_of_values(void **state)
{
	expect_print(
		*state,
		"\"%s\", __print_symbolic(REC->c, { 1, \"one\" }, { 0xc8, \"two\" \"hundred\" })",
		"twohundred");
	expect_print(*state, "\"%s\", __print_symbolic(REC->a, { 1, \"one\" })",
		     "0xfffffffffffffffe");
	expect_print(*state,
		     "\"%s\", __print_flags(REC->c, \"|\", { (1 << 3), \"A\" }, { 0x40UL, \"B\" })",
		     "A|B|0x80");
	expect_print(*state, "\"%s\", __print_flags(0, \"|\", { 1, \"A\" })", "");
	expect_print(*state,
		     "\"%s\", REC->c ? __print_flags(REC->c, \"\", { 0xc8, \"all\" }) : \"none\"",
		     "all");
}

/* The last pair may end in a 0, and constants may have no value in the format. */
static void names_that_the_format_leaves(void **state)
{
	expect_print(*state,
		     "\"%s\", __print_symbolic(REC->h + 5, { IOPRIO_CLASS_BE, \"be\" }, { -1, 0 })",
		     "be");
	expect_print(*state, "\"%d %d\", TCP_SYN_RECV, I_DIRTY_PAGES", "3 64");
}

/* Tables of drivers and of old kernels: the other names may have other numbers there, too. */
static void tables_with_names_of_other_kernels(void **state)
{
	expect_print(*state,
		     "\"%s\", __print_symbolic(REC->h + 203, { OURS + 199, \"x\" }, "
		     "{ 200, \"y\" })",
		     "y");
	expect_print(*state,
		     "\"%s\", __print_symbolic(REC->h + 6, { TCP_SYN_RECV, \"x\" }, "
		     "{ OURS, \"y\" })",
		     "0x3");
	expect_print(*state,
		     "\"%s\", __print_flags(REC->c, \"|\", { (1 << OURS), \"A\" }, "
		     "{ 0x40, \"B\" })",
		     "B|0x88");
	expect_print(*state,
		     "\"%s\", __print_symbolic(5, { NET_RX_SOFTIRQ, \"NET_RX\" }, "
		     "{ BLOCK_IOPOLL_SOFTIRQ, \"BLOCK_IOPOLL\" })",
		     "BLOCK_IOPOLL");
	expect_print(*state, "\"%s\", __print_symbolic(OURS, { 1, \"x\" })", AS_FIELDS);
	expect_print(*state, "\"%s\", __print_symbolic(1, { OURS(1), \"x\" })", AS_FIELDS);
}

static void variables_of_the_kernel_have_no_value(void **state)
{
	expect_print(*state, "\"%d age=%5lu %#x\", REC->a, (jiffies - REC->b) / 300, REC->c",
		     "-2 age=? 0xc8");
	expect_print(*state, "\"%p|%s\", (void *)(mem_map + __pv_phys_offset), "
		     "__print_flags(REC->c, \"|\", { OURS, \"A\" }, { 0x40, \"B\" })", "?|B|0x88");
	expect_print(*state, "\"%*d\", jiffies, REC->c", "200");
	expect_print(*state, "\"%d\", jiffies_64", AS_FIELDS);
}

/* Kernels before 4.10 */
static void times_are_unions(void **state)
{
	expect_print(*state,
		     "\"%llu\", (unsigned long long)(((ktime_t) { .tv64 = REC->b }).tv64)",
		     "1099511627781");
	expect_print(*state, "\"%d\", ((ktime_t) { .tv64 = 1 }).tv64.tv64", AS_FIELDS);
	expect_print(*state, "\"%d\", ((ktime_t) { .tv64 = 1, 2 }).tv64", AS_FIELDS);
	expect_print(*state, "\"%d\", ((ktime_t) { 1 }).tv64", AS_FIELDS);
}

static void pointers(void **state)
{
	struct fixture *f = *state;

	expect_print(f, "\"%ps %pS %pS\", (void *)REC->w[1], (void *)REC->w[1], (void *)REC->w[0]",
		     "alpha alpha+0x8/0x100 0x7");
	expect_print(f, "\"%p %p %px\", (void *)REC->w[1], (void *)0, (void *)REC->w[1]",
		     "(____ptrval____) 0000000000000000 ffffffff81000008");
	option(f, OPTION_HASH_PTR, false);
	expect_print(f, "\"%p %p\", (void *)REC->w[1], (void *)0",
		     "ffffffff81000008 0000000000000000");
	expect_print(f, "\"%pI4 %pi4 %pM\", REC->s, REC->s, REC->s",
		     "49.50.51.52 049.050.051.052 31:32:33:34:35:36");
	expect_print(f, "\"%4phN|%4phC|%3ph\", REC->s, REC->s, REC->s",
		     "31323334|31:32:33:34|31 32 33");
	expect_print(f, "\"%pUb\", __get_dynamic_array(d)", "");
	expect_print(f, "\"%pISpc\", REC->s", "(einval)");
}

static void offsets_outside_the_record(void **state)
{
	struct fixture *f = *state;
	struct record r = sample(2000);

	fixture_event(f, "test",
		      "name: out\nID: 2000\n" FIELDS
		      "\"<%s><%s><%s>\", __get_str(d), __get_rel_str(r), "
		      "__get_cpumask(m)\n");
	put32(&r, 32, 100 << 16 | 64);
	put32(&r, 36, 4 << 16 | 0xffff);
	put32(&r, 44, 0xffffffff);
	assert_non_null(strstr(piped(f, &r, 80), "out: <><><>\n"));
}

static void texts_without_a_place_are_refused(void **state)
{
	expect_print(*state, "\"%s\", __get_str(d[20000])", AS_FIELDS);
	expect_print(*state, "\"%s\", __get_str(d[REC->a])", AS_FIELDS);
	expect_print(*state, "\"%s\", __get_str(d[0)", AS_FIELDS);
	expect_print(*state, "\"%s %s\", __get_str(d[0]), __get_str(d[1])", "dyn 5678");
}

static void deep_expressions_are_refused(void **state)
{
	char fmt[3000] = "\"%d\", ";

	memset(fmt + 6, '(', 2000);
	strcpy(fmt + 2006, "1");
	expect_print(*state, fmt, AS_FIELDS);
}

static void long_expressions_are_refused(void **state)
{
	enum { LINKS = 100000 };
	struct record r = sample(2001);
	char *text = malloc(4096 + 2 * LINKS), *end;

	assert_non_null(text);
	end = text + sprintf(text, "name: chain\nID: 2001\n" FIELDS "\"%%d\", REC->a");
	for (int i = 0; i < LINKS; i++)
		end = stpcpy(end, "+1");
	strcpy(end, "\n");
	fixture_event(*state, "test", text);
	assert_non_null(strstr(piped(*state, &r, 80), "chain: a=0xfffffffe (-2) "));
	free(text);
}

#define MIN(x, y) \
	"({ int ux = (" x "); int uy = (" y "); ((ux) < (uy) ? (ux) : (uy)); })"

/* What min() becomes. */
static void blocks_have_variables(void **state)
{
	expect_print(*state, "\"%d %d\", " MIN("REC->c", "128") ", " MIN("REC->a", "3"), "128 -2");
	expect_print(*state, "\"%d\", " MIN(MIN("7", "9"), "8") " + 1", "8");
	expect_print(*state, "\"%d\", ({ u8 x = 258; x; })", "2");
	expect_print(*state, "\"%d\", ({ int x = 1; x }) ", AS_FIELDS);
	expect_print(*state, "\"%d\", ({ int x = 1; y; }) ", AS_FIELDS);
	expect_print(*state, "\"%d %d\", ({ int x = 1; x; }), x", AS_FIELDS);
	expect_print(*state, "\"%d\", ({ }) ", AS_FIELDS);
}

/* Each variable is evaluated a hundred times for the next one. */
static void blocks_take_a_limited_time(void **state)
{
	char fmt[4096] = "\"%d\", ({ int v0 = REC->c; ", *end = fmt + strlen(fmt);

	for (int i = 1; i < 6; i++) {
		end += sprintf(end, "int v%d = v%d", i, i - 1);
		for (int k = 0; k < 100; k++)
			end += sprintf(end, "+v%d", i - 1);
		end = stpcpy(end, "; ");
	}
	strcpy(end, "v5; })");
	expect_print(*state, fmt, AS_FIELDS);
}

/* In "a ?: b", a must be evaluated once. With twice, this test would take years. */
static void nested_conditions_take_no_longer(void **state)
{
	char fmt[512] = "\"%d\", ", *end = fmt + 6;

	for (int i = 0; i < 60; i++)
		*end++ = '(';
	end = stpcpy(end, "REC->c");
	for (int i = 0; i < 60; i++)
		end = stpcpy(end, "?:1)");
	expect_print(*state, fmt, "200");
}

static void texts_are_no_numbers(void **state)
{
	expect_print(*state,
		     "\"<%s>\", (char *)__print_symbolic(REC->c, { 200, \"c\" }) + 100000000000",
		     "<(null)>");
	expect_print(*state, "\"<%s>\", ~__print_symbolic(REC->c, { 200, \"c\" })", "<(null)>");
	expect_print(*state, "\"<%s>\", __print_symbolic(REC->c, { 200, \"c\" }) << 40",
		     "<(null)>");
}

/* The events of preemptirq have such offsets. */
static void offsets_in_the_image(void **state)
{
	struct fixture *f = *state;

	symbols_add(f->model->symbols, KERNEL - 0x100, 'T', "_stext", NULL);
	expect_print(f, "\"%pS\", (void *)((unsigned long)(_stext) + REC->w[0] + 0x100)",
		     "alpha+0x7/0x100");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
		TEST(integers),
		TEST(arithmetic),
		TEST(strings),
		TEST(arrays),
		TEST(names_of_values),
		TEST(names_that_the_format_leaves),
		TEST(tables_with_names_of_other_kernels),
		TEST(variables_of_the_kernel_have_no_value),
		TEST(times_are_unions),
		TEST(pointers),
		TEST(offsets_in_the_image),
		TEST(offsets_outside_the_record),
		TEST(texts_without_a_place_are_refused),
		TEST(deep_expressions_are_refused),
		TEST(long_expressions_are_refused),
		TEST(blocks_have_variables),
		TEST(blocks_take_a_limited_time),
		TEST(nested_conditions_take_no_longer),
		TEST(texts_are_no_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
