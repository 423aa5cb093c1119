/* SPDX-License-Identifier: MIT */
/*
 * internal.c - events of system ftrace, system calls, synthetic events, probes, option fields
 */
#include "show_fixture.h"

#define LINE "            task-42      [001] .....     1.500000: "

static struct record record_of(uint16_t type)
{
	return (struct record){ .type = type, .pid = 42 };
}

static struct record message(void)
{
	struct record r = record_of(5);

	put64(&r, 8, KERNEL + 0x10);
	put(&r, 16, "hello\n", 7);
	return r;
}

static void print_event(void **state)
{
	struct fixture *f = *state;
	struct record r = message();

	assert_string_equal(piped(f, &r, 15), LINE "alpha: hello\n");
	option(f, OPTION_SYM_OFFSET, true);
	assert_string_equal(piped(f, &r, 15), LINE "alpha+0x10/0x100: hello\n");
	option(f, OPTION_SYM_ADDR, true);
	assert_string_equal(piped(f, &r, 15), LINE "alpha+0x10/0x100 <ffffffff81000010>: hello\n");
	option(f, OPTION_RAW, true);
	assert_string_equal(piped(f, &r, 15), "42 1 1500000000 # ffffffff81000010 hello\n");
	option(f, OPTION_PRINTK_MSG_ONLY, true);
	assert_string_equal(piped(f, &r, 15), "hello\n");
	option(f, OPTION_PRINTK_MSG_ONLY, false);
	option(f, OPTION_RAW, false);
	option(f, OPTION_FIELDS, true);
	assert_string_equal(piped(f, &r, 15), LINE "UNKNOWN TYPE 5\n");
}

static void print_event_without_an_end(void **state)
{
	struct record r = message();

	assert_string_equal(piped(*state, &r, 10), LINE "alpha: he");
}

static void a_line_too_big(void **state)
{
	struct fixture *f = *state;
	struct { struct record r; char more[9000]; } big = { .r = message() };

	memset(big.r.body + 8, 'x', sizeof(big) - 24);
	assert_string_equal(piped(f, &big.r, sizeof(big) - 8), LINE "[LINE TOO BIG]\n");
}

static void bprint_event(void **state)
{
	struct fixture *f = *state;
	struct record r = record_of(6);

	symbols_add(f->model->strings, KERNEL + 0x2000, 's',
		    "%s is %d of %-6lluX %02hhx%c %pS %*d\n", NULL);
	put64(&r, 8, KERNEL);
	put64(&r, 16, KERNEL + 0x2000);
	put(&r, 24, "it", 3);
	put32(&r, 28, (uint32_t)-5);
	put64(&r, 32, 10000000000);
	put(&r, 40, "\x0a" "A", 2);
	put64(&r, 44, KERNEL + 0x104);
	put32(&r, 52, 4);
	put32(&r, 56, 7);
	assert_string_equal(piped(f, &r, 52),
			    LINE "alpha: it is -5 of 10000000000X 0aA beta+0x4/0x100    7\n");
	/* A field that is missing reads as 0. As a character that is a NUL. */
	assert_memory_equal(piped(f, &r, 20), LINE "alpha: it is 0 of 0     X 00\0 0x0 0\n",
			    sizeof(LINE) + 35);
}

static void bputs_event(void **state)
{
	struct record r = record_of(14);

	put64(&r, 8, KERNEL);
	put64(&r, 16, KERNEL + 0x1000);
	assert_string_equal(piped(*state, &r, 16), LINE "alpha: a string");
}

static void function_event(void **state)
{
	struct fixture *f = *state;
	struct record r = record_of(1);

	put64(&r, 8, KERNEL);
	put64(&r, 16, KERNEL + 0x204);
	assert_string_equal(piped(f, &r, 16), LINE "alpha <-gamma\n");
	option(f, OPTION_PRINT_PARENT, false);
	assert_string_equal(piped(f, &r, 16), LINE "alpha\n");
	option(f, OPTION_RAW, true);
	assert_string_equal(piped(f, &r, 16),
			    "42 1 1500000000 ffffffff81000000 ffffffff81000204\n");
	option(f, OPTION_HEX, true);
	assert_string_equal(
		piped(f, &r, 16),
		"0000002a 00000001 0000000059682f00 ffffffff81000000 ffffffff81000204 \n");
}

static void repeated_functions(void **state)
{
	struct fixture *f = *state;
	struct record r = record_of(19);

	put64(&r, 8, KERNEL);
	put64(&r, 16, KERNEL + 0x100);
	put32(&r, 24, 3);
	put32(&r, 28, 500000000);
	assert_string_equal(piped(f, &r, 24),
			    LINE "alpha <-beta (repeats: 3, last_ts:     1.000000)\n");
	option(f, OPTION_RAW, true);
	assert_string_equal(
		piped(f, &r, 24),
		"42 1 1500000000 18446744071578845184 18446744071578845440 3 500000000\n");
}

static void kernel_stack(void **state)
{
	struct record r = record_of(4);

	put32(&r, 8, 5);
	put64(&r, 16, KERNEL + 0x20);
	put64(&r, 24, 0x7fffffff);
	put64(&r, 32, KERNEL + 0x300);
	put64(&r, 40, 0x10);
	put64(&r, 48, UINT64_MAX);
	put64(&r, 56, KERNEL);
	assert_string_equal(piped(*state, &r, 56),
			    LINE "<stack trace>\n => alpha\n => [FTRACE TRAMPOLINE]\n"
			    " => [unknown/kretprobe'd]\n => 0x00000010\n");
	put64(&r, 16, KERNEL + 0x331);
	put64(&r, 24, UINT64_MAX);
	assert_string_equal(piped(*state, &r, 32),
			    LINE "<stack trace>\n => arch_rethook_trampoline\n");
}

static void user_stack(void **state)
{
	struct record r = record_of(12);

	put64(&r, 16, 0x7f0012345678);
	put64(&r, 24, 0x401000);
	assert_string_equal(
		piped(*state, &r, 72),
		LINE "<user stack trace>\n =>  <00007f0012345678>\n =>  <0000000000401000>\n");
	/* Of a session of programs; this one has no name. */
	put64(&r, 24, LAYOUT_DSO_BASE + 0x10);
	assert_string_equal(
		piped(*state, &r, 72),
		LINE "<user stack trace>\n =>  <00007f0012345678>\n => 0x500000000010\n");
}

static void raw_data(void **state)
{
	struct record r = record_of(18);

	put32(&r, 8, 0x2a);
	put(&r, 12, "\1\2\xff", 4);
	assert_string_equal(piped(*state, &r, 8), LINE "# 2a buf: 01 02 ff 00\n");
}

/* Of small pieces those that fit are shown, and there is no room for a note. */
static void raw_data_too_big(void **state)
{
	struct { struct record r; char more[9000]; } big = { .r = record_of(18) };
	char want[8192] = LINE "# 2a buf:";
	size_t len = strlen(want);

	put32(&big.r, 8, 0x2a);
	for (; len + 3 <= 8155; len += 3)
		strcpy(want + len, " 00");
	assert_string_equal(piped(*state, &big.r, sizeof(big) - 8), want);
}

static void context_switch(void **state)
{
	struct fixture *f = *state;
	struct record r = record_of(2);

	put32(&r, 8, 1);
	put32(&r, 12, 42);
	put32(&r, 16, 1);
	put(&r, 20, "\x78\1\x63\0", 4);
	assert_string_equal(piped(f, &r, 16), LINE "       1:120:S ==> [001]      42: 99:R task\n");
	option(f, OPTION_RAW, true);
	assert_string_equal(piped(f, &r, 16), "42 1 1500000000 1 120 S 1 42 99 R\n");
}

static void system_calls(void **state)
{
	struct fixture *f = *state;
	struct record r = record_of(600);

	fixture_event(f, "syscalls", "name: sys_enter_openat\nID: 600\n" COMMON
		      FIELD("int __syscall_nr", 8, 4, 1)
		      FIELD("int dfd", 16, 8, 0)
		      FIELD("const char * filename", 24, 8, 0) "\nprint fmt: \"\"\n");
	fixture_event(f, "syscalls", "name: sys_exit_openat\nID: 601\n" COMMON
		      FIELD("int __syscall_nr", 8, 4, 1)
		      FIELD("long ret", 16, 8, 1) "\nprint fmt: \"\"\n");
	put32(&r, 8, 257);
	put64(&r, 16, 0xffffff9c);
	put64(&r, 24, 0x7ffd00001000);
	assert_string_equal(piped(f, &r, 24),
			    LINE "sys_openat(dfd: ffffff9c, filename: 7ffd00001000)\n");
	option(f, OPTION_VERBOSE, true);
	assert_string_equal(piped(f, &r, 24), LINE
			    "sys_openat(int dfd: ffffff9c, const char * filename: 7ffd00001000)\n");
	r.type = 601;
	put64(&r, 16, (uint64_t)-2);
	assert_string_equal(piped(f, &r, 16), LINE "sys_openat -> 0xfffffffffffffffe\n");
}

/* io_submit() has an argument nr. To older kernels nr was the number of the call. */
static void arguments_called_nr(void **state)
{
	struct fixture *f = *state;
	struct record r = record_of(610);

	fixture_event(f, "syscalls", "name: sys_enter_io_submit\nID: 610\n" COMMON
		      FIELD("int __syscall_nr", 8, 4, 1)
		      FIELD("aio_context_t ctx_id", 16, 8, 0)
		      FIELD("long nr", 24, 8, 0) "\nprint fmt: \"\"\n");
	fixture_event(f, "syscalls", "name: sys_enter_close\nID: 611\n" COMMON
		      FIELD("int nr", 8, 4, 1)
		      FIELD("unsigned int fd", 16, 8, 0) "\nprint fmt: \"\"\n");
	put64(&r, 16, 0x10);
	put64(&r, 24, 2);
	assert_string_equal(piped(f, &r, 24), LINE "sys_io_submit(ctx_id: 10, nr: 2)\n");
	r.type = 611;
	assert_string_equal(piped(f, &r, 16), LINE "sys_close(fd: 10)\n");
}

static void synthetic_events(void **state)
{
	struct fixture *f = *state;
	struct record r = record_of(602);

	fixture_event(f, "synthetic", "name: lat\nID: 602\n" COMMON
		      FIELD("u64 lat", 8, 8, 0)
		      FIELD("pid_t pid", 16, 4, 1)
		      FIELD("s8 small", 24, 1, 1)
		      FIELD("__data_loc char[] name", 32, 8, 1)
		      FIELD("gfp_t gfp", 40, 4, 0)
		      FIELD("char fixed[16]", 48, 32, 1)
		      FIELD("__data_loc unsigned long[] stack", 80, 8, 0)
		      "\nprint fmt: \"\"\n");
	put64(&r, 8, 12345);
	put64(&r, 16, (uint32_t)-1);
	put64(&r, 24, 0xff);
	put32(&r, 32, 6 << 16 | 88);
	put64(&r, 40, 0xcc0);
	put(&r, 48, "text", 5);
	put32(&r, 80, 24 << 16 | 96);
	put(&r, 88, "named", 6);
	put64(&r, 96, 2);
	put64(&r, 104, KERNEL + 1);
	put64(&r, 112, KERNEL + 0x201);
	assert_memory_equal(
		piped(f, &r, 112),
		LINE "lat: lat=12345 pid=-1 small=255 name=named gfp=cc0  (GFP_KERNEL\0)fixed=text "
		     "stack=STACK:\n=> alpha+0x1/0x100\n=> gamma+0x1/0x100 [mod]\n\n",
		sizeof(LINE) + 130);
}

static void probes(void **state)
{
	struct fixture *f = *state;
	struct record r = record_of(603);

	fixture_event(f, "kprobes", "name: entry\nID: 603\n" COMMON
		      FIELD("unsigned long __probe_ip", 8, 8, 0)
		      FIELD("s32 a", 16, 4, 1)
		      "\nprint fmt: \"(%lx) a=%d\", REC->__probe_ip, REC->a\n");
	fixture_event(f, "uprobes", "name: user\nID: 605\n" COMMON
		      FIELD("unsigned long __probe_ip", 8, 8, 0)
		      "\nprint fmt: \"(%lx)\", REC->__probe_ip\n");
	fixture_event(f, "kprobes",
		      "name: back\nID: 604\n" COMMON FIELD("unsigned long __probe_func", 8, 8, 0)
			      FIELD("unsigned long __probe_ret_ip", 16, 8, 0) FIELD(
				      "u64 ret", 24, 8,
				      0) "\nprint fmt: \"(%lx <- %lx) ret=0x%Lx\", "
					 "REC->__probe_func, REC->__probe_ret_ip, REC->ret\n");
	put64(&r, 8, KERNEL + 4);
	put32(&r, 16, (uint32_t)-3);
	assert_string_equal(piped(f, &r, 16), LINE "entry: (alpha+0x4/0x100) a=-3\n");
	/* A kprobe of a session of programs */
	put64(&r, 8, 0x401234);
	assert_string_equal(piped(f, &r, 16), LINE "entry: (0x00401234) a=-3\n");
	r.type = 605;
	assert_string_equal(piped(f, &r, 16), LINE "user: (0x401234)\n");
	r.type = 604;
	put64(&r, 8, KERNEL);
	put64(&r, 16, KERNEL + 0x110);
	put64(&r, 24, 31);
	assert_string_equal(piped(f, &r, 24), LINE "back: (beta+0x10/0x100 <- alpha) ret=0x1f\n");
}

/* Linux 6.12 gives arrays of probes no number; a text that could not be fetched has no bytes. */
static void arrays_of_recorded_probes(void **state)
{
	struct fixture *f = *state;
	struct record r = record_of(607);

	fixture_event(f, "kprobes", "name: many\nID: 607\n" COMMON
		      FIELD("unsigned long __probe_ip", 8, 8, 0)
		      FIELD("u16 h[]", 16, 4, 0)
		      FIELD("s64 l[]", 24, 16, 1)
		      FIELD("__data_loc char[][2] t", 40, 8, 1)
		      FIELD("__data_loc char[] s", 48, 4, 1)
		      "\nprint fmt: \"(%lx) h={%u,%u} l={%Ld,%Ld} t={\\\"%s\\\",\\\"%s\\\"} "
		      "s=\\\"%s\\\" end\", REC->__probe_ip, REC->h[0], REC->h[1], REC->l[0], "
		      "REC->l[1], __get_str(t[0]), __get_str(t[1]), __get_str(s)\n");
	put64(&r, 8, KERNEL + 4);
	put(&r, 16, "\x01\x02\xff\xff", 4);
	put64(&r, 24, 7);
	put64(&r, 32, (uint64_t)-8);
	put32(&r, 40, 4 << 16 | 52);
	put(&r, 52, "one", 4);
	assert_string_equal(piped(f, &r, 48), LINE "many: (alpha+0x4/0x100) h={513,65535} l={7,-8} "
			    "t={\"one\",(fault)} s=(fault) end\n");
}

static void fields_by_their_kinds(void **state)
{
	struct fixture *f = *state;
	struct record r = record_of(605);

	fixture_event(f, "test", "name: kinds\nID: 605\n" COMMON
		      FIELD("char c", 8, 1, 1)
		      FIELD("u16 h", 10, 2, 0)
		      FIELD("int i", 12, 4, 1)
		      FIELD("u64 l", 16, 8, 0)
		      FIELD("char s[8]", 24, 8, 0)
		      FIELD("__data_loc char[] d", 32, 4, 0)
		      FIELD("__data_loc u8[] a", 36, 4, 0)
		      FIELD("const char * p", 40, 8, 0)
		      FIELD("unsigned long w[2]", 48, 16, 0)
		      FIELD("__data_loc cpumask_t m", 64, 4, 0)
		      "\nprint fmt: \"\"\n");
	option(f, OPTION_FIELDS, true);
	put(&r, 8, "x", 1);
	put(&r, 10, "\xff\xff", 2);
	put32(&r, 12, (uint32_t)-1);
	put64(&r, 16, 10);
	put(&r, 24, "12345678", 8);
	put32(&r, 32, 3 << 16 | 72);
	put32(&r, 36, 200 << 16 | 72);
	put64(&r, 40, KERNEL + 0x1000);
	put32(&r, 64, 1 << 16 | 72);
	put(&r, 72, "dy", 3);
	assert_string_equal(
		piped(f, &r, 68), LINE
		"kinds: c='x'(120) h=0xffff (65535) i=0xffffffff (-1) l=0xa (10) s=12345678 d=dy "
		"a=<OVERFLOW> p=(0xffffffff81001000:a string) w=<INVALID-SIZE> m=<INVALID-TYPE>\n");
	assert_non_null(strstr(piped(f, &r, 4), "l=<OVERFLOW>"));
}

static void a_print_fmt_beyond_understanding_shows_fields(void **state)
{
	struct fixture *f = *state;
	struct record r = record_of(606);

	fixture_event(f, "test", "name: odd\nID: 606\n" COMMON
		      FIELD("int i", 8, 4, 1)
		      "\nprint fmt: \"%s\", decode_what(REC->i, more)\n");
	put32(&r, 8, 5);
	assert_string_equal(piped(f, &r, 4), LINE "odd: i=0x5 (5)\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
		TEST(print_event),
		TEST(print_event_without_an_end),
		TEST(a_line_too_big),
		TEST(bprint_event),
		TEST(bputs_event),
		TEST(function_event),
		TEST(repeated_functions),
		TEST(kernel_stack),
		TEST(user_stack),
		TEST(raw_data),
		TEST(raw_data_too_big),
		TEST(context_switch),
		TEST(system_calls),
		TEST(arguments_called_nr),
		TEST(synthetic_events),
		TEST(probes),
		TEST(arrays_of_recorded_probes),
		TEST(fields_by_their_kinds),
		TEST(a_print_fmt_beyond_understanding_shows_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
