/* SPDX-License-Identifier: MIT */
/* format.c - the format text of static events, and the note with their places */
#include <elf.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "agent/emit/format.h"
#include "agent/emit/note.h"
#include "tracefuse/tracefuse.h"

TF_EVENT(one, line, (int, nr), (const char *, text), (void *, ptr), (unsigned long, ul),
	 (long long, ll));

/*
 * The fields of sched_switch as in Linux 6.12. The expected text below is that kernel's format
 * file.
 */
static const struct tf_field switch_fields[] = {
	{ "char[16]", "prev_comm", 1, 16, 0, 0 }, { "pid_t", "prev_pid", 4, 4, 1, 0 },
	{ "int", "prev_prio", 4, 4, 1, 0 }, { "long", "prev_state", 8, 8, 1, 0 },
	{ "char[16]", "next_comm", 1, 16, 0, 0 }, { "pid_t", "next_pid", 4, 4, 1, 0 },
	{ "int", "next_prio", 4, 4, 1, 0 },
};
static const struct tf_class switch_class = { switch_fields, 7 };

#define COMMON								\
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"	\
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"	\
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static struct tf_enum known[] = {
	{ "sys", "RUNNING", 0 },
	{ "sys", "DEAD", -5 },
	{ "other", "ELSEWHERE", 9 },
	{ "sys", "sizeof(long)", 8 },
};
static struct tf_enum *pointers[] = { NULL, &known[0], &known[1], &known[2], &known[3] };
static const struct enums enums = { pointers, pointers + 5 };

static const char *body(const struct tf_event *ev)
{
	static char out[4096];
	struct text t = { .at = out, .room = sizeof(out) };

	assert_true(format_body(&t, ev, &enums));
	return out;
}

/* Returns only the print format. */
static const char *print_of(const char *print)
{
	static const struct tf_class none = { NULL, 0 };
	const struct tf_event ev = { .system = "sys", .name = "e", .cls = &none, .print = print };
	const char *found = strstr(body(&ev), "print fmt: ");

	assert_non_null(found);
	return found + strlen("print fmt: ");
}

static void fields_are_as_the_kernel_prints_them(void **state)
{
	const struct tf_event ev = { .system = "sched",
				    .name = "sched_switch",
				    .cls = &switch_class,
				    .print = "\"x\", " };

	assert_string_equal(body(&ev), COMMON
		"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
		"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
		"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
		"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
		"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
		"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
		"\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n"
		"\nprint fmt: \"x\", \n");
}

static void one_line_events_get_a_print_format(void **state)
{
	assert_string_equal(body(&tf_event_one__line), COMMON
		"\tfield:int nr;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\tfield:__data_loc char[] text;\toffset:12;\tsize:4;\tsigned:0;\n"
		"\tfield:void * ptr;\toffset:16;\tsize:8;\tsigned:0;\n"
		"\tfield:unsigned long ul;\toffset:24;\tsize:8;\tsigned:0;\n"
		"\tfield:long long ll;\toffset:32;\tsize:8;\tsigned:1;\n"
		"\nprint fmt: \"nr=%d text=%s ptr=0x%llx ul=%llu ll=%lld\", "
		"REC->nr, __get_str(text), REC->ptr, REC->ul, REC->ll\n");
}

static void told_constants_are_numbers(void **state)
{
	assert_string_equal(
		print_of("\"%s\", __print_symbolic(REC->s, { RUNNING, \"r\" }, {DEAD,\"d\"})"),
		"\"%s\", __print_symbolic(REC->s, { 0, \"r\" }, {-5,\"d\"})\n");
	assert_string_equal(print_of("\"%d\", REC->n / sizeof(long) + sizeof(int)"),
			    "\"%d\", REC->n / 8 + sizeof(int)\n");
}

static void what_only_looks_like_one_stays(void **state)
{
	static const char *const same[] = {
		"\"RUNNING %d\", 1",			/* in a text */
		"\"a \\\" RUNNING\", 1",
		"\"%d\", REC->RUNNING + r.DEAD",	/* a field */
		"\"%d\", NOT_RUNNING + RUNNING_NOT",	/* part of a word */
		"\"%d\", ELSEWHERE",			/* another system's */
		"\"unfinished",
		"\"%d\", sizeof(unfinished",
	};

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		const char *got = print_of(same[i]);

		assert_int_equal(strlen(got), strlen(same[i]) + 1);
		assert_memory_equal(got, same[i], strlen(same[i]));
	}
}

static void a_text_that_does_not_fit_is_refused(void **state)
{
	const struct tf_event ev = {
		.system = "s", .name = "n", .cls = &switch_class, .print = "\"x\"" };
	size_t whole = strlen(body(&ev));
	char out[4096];

	for (size_t room = 1; room <= whole; room += 7) {
		struct text t = { .at = out, .room = room };

		assert_false(format_body(&t, &ev, &enums));
	}
}

static void numbers_of_all_sizes(void **state)
{
	char out[64];
	struct text t = { .at = out, .room = sizeof(out) };

	text_number(&t, INT64_MIN);
	assert_string_equal(out, "-9223372036854775808");
	t.len = 0;
	text_number(&t, 0);
	assert_string_equal(out, "0");
}

/* ---- Notes ---- */

struct note {
	ElfW(Nhdr)	head;
	char		name[12];
	int32_t		word[5];
};

static struct {
	ElfW(Nhdr)	head;
	char		name[4];
	char		id[8];
	struct note	ours;
} notes = {
	{ 4, 8, NT_GNU_BUILD_ID }, "GNU", "buildid",
	{ { 10, 20, 1 }, "tracefuse", { 4, 8, 12, 16, -4 } },
};

static void a_note_is_found_behind_others(void **state)
{
	struct tf_note n;

	assert_true(note_find((const char *)&notes, sizeof(notes), &n));
	assert_ptr_equal(n.events, (char *)&notes.ours.word[0] + 4);
	assert_ptr_equal(n.events_end, (char *)&notes.ours.word[1] + 8);
	assert_ptr_equal(n.enums.end, (char *)&notes.ours.word[3] + 16);
	assert_ptr_equal(n.dso, (char *)&notes.ours.word[4] - 4);
}

static void damaged_notes_are_none(void **state)
{
	struct tf_note n;
	struct note bad = notes.ours;

	for (size_t size = 0; size < sizeof(notes); size++)
		assert_false(note_find((const char *)&notes, size, &n));
	bad.name[0] = 'T';
	assert_false(note_find((const char *)&bad, sizeof(bad), &n));
	bad = notes.ours;
	bad.head.n_descsz = 16;
	assert_false(note_find((const char *)&bad, sizeof(bad), &n));
	bad.head.n_descsz = UINT32_MAX;
	assert_false(note_find((const char *)&bad, sizeof(bad), &n));
	bad.head.n_namesz = UINT32_MAX;
	assert_false(note_find((const char *)&bad, sizeof(bad), &n));
}

static int find_own(struct dl_phdr_info *info, size_t size, void *arg)
{
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE && info->dlpi_phdr[i].p_align <= 4 &&
		    note_find((const char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr,
			      info->dlpi_phdr[i].p_memsz, arg))
			return 1;
	return 0;
}

static void this_program_s_own_note_tells_its_event(void **state)
{
	bool found = false;
	struct tf_note n;

	assert_int_equal(dl_iterate_phdr(find_own, &n), 1);
	assert_ptr_equal(n.dso, &tf_dso_);
	for (struct tf_event **p = n.events; p < n.events_end; p++)
		found |= *p == &tf_event_one__line;
	assert_true(found);
	assert_false(trace_line_enabled());
	trace_line(1, "not armed: nothing happens", NULL, 2, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_as_the_kernel_prints_them),
		cmocka_unit_test(one_line_events_get_a_print_format),
		cmocka_unit_test(told_constants_are_numbers),
		cmocka_unit_test(what_only_looks_like_one_stays),
		cmocka_unit_test(a_text_that_does_not_fit_is_refused),
		cmocka_unit_test(numbers_of_all_sizes),
		cmocka_unit_test(a_note_is_found_behind_others),
		cmocka_unit_test(damaged_notes_are_none),
		cmocka_unit_test(this_program_s_own_note_tells_its_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
