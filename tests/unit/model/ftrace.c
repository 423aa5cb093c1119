/* SPDX-License-Identifier: MIT */
/* ftrace.c - sites come and go, ops are enabled, sets change: counts, reports and lists */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "ftrace_edit.h"
#include "model/demangle/demangle.h"
#include "model/errlog.h"
#include "model/ftrace/ftrace.h"
#include "model/ftrace/glob.h"
#include "model/symbols.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

static const char functions[] = "1000 alpha\n1010 beta\n1020 gamma\n1030 same\n1040 same\n2000 "
				"load [libone]\n2010 alpha [libone]\n";

static void load(struct fixture *f, const char *text)
{
	assert_int_equal(ftrace_sites_load(f->model, text, strlen(text)), 0);
}

#define assert_reads(file, expected) \
	assert_prints(ftrace_print_file(f->top, file, NULL, out), expected)

/* ---- Sites ---- */

static void sites_are_listed_by_dso_and_address(void **state)
{
	static const struct ftrace_new_site sites[] = {
		{ 0x520, "late", SITE_GOOD, NULL },
		{ 0x500, "early", SITE_GOOD, NULL },
		{ 0x510, "never", SITE_ENTERED, NULL },
		{ 0x500, "twice", SITE_GOOD, NULL },
	};
	struct fixture *f = *state;
	struct ftrace *ft = ftrace_of(f->model);

	assert_false(ftrace_present(f->model));
	assert_int_equal(ftrace_sites_add(f->model, "libx", sites, 4, NULL), 0);
	load(f, functions);
	assert_true(ftrace_present(f->model));
	assert_prints(ftrace_print_available(ft, false, out),
		      "early [libx]\nlate [libx]\nalpha\nbeta\ngamma\nsame\nsame\nload "
		      "[libone]\nalpha [libone]\n");
	assert_prints(ftrace_print_info(ft, out), "10 pages:3 groups: 3\n");
	assert_int_equal(ftrace_sites_load(f->model, "zz name\n", 8), -EINVAL);
}

static void a_function_that_cannot_be_patched_is_chosen_by_nothing(void **state)
{
	static const struct ftrace_new_site sites[] = { { 0x10, "never", SITE_ENTERED, NULL },
						       { 0x20, "other", SITE_GOOD, NULL } };
	struct fixture *f = *state;
	struct ftrace_page *page;

	assert_int_equal(ftrace_sites_add(f->model, NULL, sites, 2, &page), 0);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "never\n"), -EINVAL);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "n*\n"), -EINVAL);
	assert_int_equal(ftrace_ops_enable(&ftrace_of_instance(f->top)->function), 0);
	assert_int_equal(page->sites[0].flags & FTRACE_SITE_ENABLED, 0);
	assert_int_equal(page->sites[1].flags & FTRACE_SITE_COUNT, 1);
}

static const struct ftrace_new_site refused_sites[] = {
	{ 0x10, "begins", SITE_AGAIN, NULL }, { 0x20, "enters", SITE_ENTERED, NULL },
	{ 0x30, "enters_too", SITE_ENTERED, NULL }, { 0x40, "good", SITE_GOOD, NULL },
};

static void refused_functions_are_listed_with_reasons(void **state)
{
	struct fixture *f = *state;
	struct ftrace *ft = ftrace_of(f->model);

	assert_int_equal(ftrace_sites_add(f->model, "libx", refused_sites, 4, NULL), 0);
	load(f, functions);
	assert_prints(ftrace_print_refused(ft, out),
		      "begins [libx]: with jumps to the own start\n"
		      "enters [libx]: with jumps that may lead into the first five bytes\n"
		      "enters_too [libx]: with jumps that may lead into the first five bytes\n");
}

/* The last entry of error_log, without its time, after a word is refused. */
static void word_says(struct fixture *f, const char *word, const char *expected)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	errlog_clear(f->top->errlog);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, word), -EINVAL);
	errlog_print(f->top->errlog, out);
	fclose(out);
	assert_string_equal(*text ? strchr(text, ']') + 2 : "", expected);
	free(text);
}

static void a_refused_word_has_its_reason(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(ftrace_sites_add(f->model, "libx", refused_sites, 4, NULL), 0);
	word_says(f, "begins:traceoff\n",
		  "ftrace: error: This function cannot be traced: with jumps to the own start\n"
		  "  Command: begins:traceoff\n"
		  "           ^\n");
	word_says(f, "enters*:mod:libx\n",
		  "ftrace: error: None of these 2 functions can be traced (refused_functions): "
		  "enters: with jumps that may lead into the first five bytes\n"
		  "  Command: enters*:mod:libx\n"
		  "           ^\n");
	word_says(f, "nobody\n", "");
	word_says(f, "!begins\n", "");
	word_says(f, "good:no_command\n", "");
}

/* What has no site is known by its symbol, if that is loaded. */
static void a_symbol_without_a_site_says_so(void **state)
{
	static const struct ftrace_new_site site = { LAYOUT_DSO_BASE + 0x100, "own", SITE_GOOD,
						     NULL };
	const uint64_t other = LAYOUT_DSO_BASE + (1ull << LAYOUT_DSO_SHIFT);
	struct fixture *f = *state;

	assert_int_equal(ftrace_sites_add(f->model, NULL, &site, 1, NULL), 0);
	symbols_add(f->model->symbols, LAYOUT_DSO_BASE + 0x200, 't', "own.cold", NULL);
	symbols_add(f->model->symbols, LAYOUT_DSO_BASE + 0x300, 'd', "own_data", NULL);
	symbols_add(f->model->symbols, other + 0x10, 'T', "far", "libfar.so");
	word_says(f, "own.cold\n",
		  "ftrace: error: This function cannot be traced: the compiler has left no place "
		  "in it, or it is a part of another function\n"
		  "  Command: own.cold\n"
		  "           ^\n");
	word_says(f, "far\n",
		  "ftrace: error: The functions of this library are not traced so far: "
		  "far:mod:libfar.so asks for them\n"
		  "  Command: far\n"
		  "           ^\n");
	word_says(f, "own_data\n", "");
}

/* A choice that waited for a library says it when the library comes. */
static void a_refused_choice_that_waited_has_its_reason(void **state)
{
	struct fixture *f = *state;
	char *text;
	size_t size;
	FILE *out;

	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "begins:mod:libx\n"), 0);
	assert_int_equal(ftrace_sites_add(f->model, "libx", refused_sites, 4, NULL), 0);
	out = open_memstream(&text, &size);
	errlog_print(f->top->errlog, out);
	fclose(out);
	assert_non_null(strstr(text, "with jumps to the own start\n  Command: begins:mod:libx\n"));
	free(text);
}

static void count_step(void *arg)
{
	++*(unsigned int *)arg;
}

/* Half a million functions take a while. Programs that wait see the progress. */
static void long_lists_tell_progress(void **state)
{
	enum { MANY = 3000 };
	static struct ftrace_new_site sites[MANY];
	struct fixture *f = *state;
	unsigned int steps = 0;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (int i = 0; i < MANY; i++)
		sites[i] =
			(struct ftrace_new_site){ 0x1000 + 16 * (uint64_t)i, "some", false, NULL };
	assert_int_equal(ftrace_sites_add(f->model, NULL, sites, MANY, NULL), 0);
	f->model->step = count_step;
	f->model->catch_up_arg = &steps;
	ftrace_print_available(ftrace_of(f->model), false, out);
	assert_true(steps >= MANY / 256);
	steps = 0;
	ftrace_print_flagged(ftrace_of(f->model), FTRACE_SITE_ENABLED, out);
	assert_true(steps >= MANY / 256);
	steps = 0;
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "s*e\n"), 0);
	assert_true(steps >= MANY / 256);
	f->model->step = NULL;
	fclose(out);
	free(text);
}

/* ---- Words ---- */

static void one_word_a_write_and_words_in_pieces(void **state)
{
	struct fixture *f = *state;
	struct ftrace_edit *e;

	load(f, functions);
	e = ftrace_edit_open(f->top, FTRACE_FILE_FILTER, true);
	assert_int_equal(ftrace_edit_write(e, "  alpha beta", 12, false), 8);
	assert_int_equal(ftrace_edit_write(e, "be", 2, false), 2);
	assert_int_equal(ftrace_edit_write(e, "ta gam", 6, false), 3);
	assert_int_equal(ftrace_edit_write(e, " \n", 2, false), 2);
	assert_int_equal(ftrace_edit_write(e, "\0gamma", 6, false), 1);
	assert_int_equal(ftrace_edit_write(e, "gam", 3, false), 3);
	assert_reads(FTRACE_FILE_FILTER, "#### all functions enabled ####\n");
	ftrace_edit_close(e);	/* gam is no function */
	assert_reads(FTRACE_FILE_FILTER, "alpha\nbeta\nalpha [libone]\n");
	e = ftrace_edit_open(f->top, FTRACE_FILE_FILTER, false);
	assert_int_equal(ftrace_edit_write(e, "gamma", 5, false), 5);
	ftrace_edit_close(e);
	assert_reads(FTRACE_FILE_FILTER, "alpha\nbeta\ngamma\nalpha [libone]\n");
}

static unsigned int asked;
static bool more_comes;

static bool more(void *arg)
{
	asked++;
	return more_comes;
}

/* Writes a word in a patient way, while programs may have it or not. */
static ssize_t edit_patient(struct fixture *f, const char *word, bool comes)
{
	struct ftrace_edit *e = ftrace_edit_open(f->top, FTRACE_FILE_FILTER, true);
	ssize_t ret;

	asked = 0;
	more_comes = comes;
	ret = ftrace_edit_write(e, word, strlen(word), true);
	ftrace_edit_close(e);
	return ret;
}

static void only_a_name_that_nobody_knows_asks_programs(void **state)
{
	struct fixture *f = *state;
	struct ftrace_edit *e;

	load(f, functions);
	f->model->ftrace->more = more;
	assert_int_equal(edit_patient(f, "alpha\n", true), 6);
	assert_int_equal(edit_patient(f, "be*\n", true), 4);
	assert_int_equal(edit_patient(f, "1\n", true), 2);
	assert_int_equal(edit_patient(f, "nosuch:mod:libone\n", true), -EINVAL);
	assert_int_equal(asked, 0);
	assert_int_equal(edit_patient(f, "nosuch\n", true), -EINPROGRESS);
	assert_int_equal(edit_patient(f, "no*\n", true), -EINPROGRESS);
	assert_int_equal(edit_patient(f, "nosuch:traceoff\n", true), -EINPROGRESS);
	assert_int_equal(edit_patient(f, "nosuch", true), -EINPROGRESS);
	assert_int_equal(asked, 1);
	assert_int_equal(edit_patient(f, "nosuch\n", false), -EINVAL);
	assert_int_equal(asked, 1);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "nosuch\n"), -EINVAL);
	assert_int_equal(asked, 1);

	/* Nothing was taken by the write that is to be made again. */
	e = ftrace_edit_open(f->top, FTRACE_FILE_FILTER, true);
	more_comes = true;
	assert_int_equal(ftrace_edit_write(e, "al", 2, false), 2);
	assert_int_equal(ftrace_edit_write(e, "as beta\n", 8, true), -EINPROGRESS);
	assert_int_equal(ftrace_edit_write(e, "pha beta\n", 9, true), 4);
	ftrace_edit_close(e);
	assert_reads(FTRACE_FILE_FILTER, "alpha\nalpha [libone]\n");
}

static void all_of_one_name_and_an_index(void **state)
{
	struct fixture *f = *state;

	load(f, functions);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "same\n"), 0);
	assert_reads(FTRACE_FILE_FILTER, "same\nsame\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "6 4\n"), 0);
	assert_reads(FTRACE_FILE_FILTER, "same\nload [libone]\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, false, "!4\n"), 0);
	assert_reads(FTRACE_FILE_FILTER, "load [libone]\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, false, "8\n"), -EINVAL);
}

static void modules_choose_and_are_waited_for(void **state)
{
	struct fixture *f = *state;

	load(f, functions);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "a*:mod:libone\n"), 0);
	assert_reads(FTRACE_FILE_FILTER, "alpha [libone]\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "a*:mod:!\n"), 0);
	assert_reads(FTRACE_FILE_FILTER, "alpha\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "none:mod:libone\n"), -EINVAL);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "x*:mod:libtwo\ny:mod:libt*\n"), 0);
	/* as in the kernel, the star of a module is not shown */
	assert_reads(FTRACE_FILE_FILTER, "y:mod:libt\nx*:mod:libtwo\n");
	load(f, "3000 xa [libtwo]\n3010 xb [libtwo]\n3020 y [libtwo]\n4000 y [libthree]\n");
	assert_reads(FTRACE_FILE_FILTER,
		     "xa [libtwo]\nxb [libtwo]\ny [libtwo]\ny [libthree]\ny:mod:libt\n");
	/* removes the functions that exist */
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, false, "!*:mod:libt*\n"), 0);
	assert_reads(FTRACE_FILE_FILTER, "y:mod:libt\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, ""), 0);
	assert_reads(FTRACE_FILE_FILTER, "#### all functions enabled ####\n");
}

static void a_program_has_no_brackets_but_a_name(void **state)
{
	static const struct ftrace_new_site sites[] = { { 0x9000, "own", SITE_GOOD, NULL },
						       { 0x9010, "other", SITE_GOOD, NULL } };
	struct fixture *f = *state;

	load(f, functions);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "ow*:mod:prog\n*:mod:pro*\n"), 0);
	assert_int_equal(ftrace_program_add(f->model, "prog", sites, 2, NULL), 0);
	assert_reads(FTRACE_FILE_FILTER, "own\nother\n*:mod:pro\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "o*:mod:prog\n"), 0);
	assert_reads(FTRACE_FILE_FILTER, "own\nother\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "ot*:mod:!\n"), 0);
	assert_reads(FTRACE_FILE_FILTER, "other\n");
}

static void who_only_waits_traces_nothing(void **state)
{
	struct fixture *f = *state;
	struct ftrace_ops *ops = &ftrace_of_instance(f->top)->function;

	load(f, functions);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, ":mod:libtwo\n"), 0);
	assert_int_equal(ftrace_ops_enable(ops), 0);
	assert_prints(ftrace_print_flagged(ftrace_of(f->model), FTRACE_SITE_ENABLED, out), "");
	load(f, "3000 xa [libtwo]\n");
	assert_prints(ftrace_print_flagged(ftrace_of(f->model), FTRACE_SITE_ENABLED, out),
		"xa [libtwo] (1)           ->function_trace_call\n");
}

static void a_dso_that_goes_leaves_the_sets(void **state)
{
	static const struct ftrace_new_site sites[] = { { 0x9000, "gone", SITE_GOOD, NULL } };
	struct fixture *f = *state;
	struct ftrace_page *page;

	load(f, functions);
	assert_int_equal(ftrace_sites_add(f->model, "libgone", sites, 1, &page), 0);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "gone beta\n"), 0);
	ftrace_sites_remove(f->model, page);
	assert_reads(FTRACE_FILE_FILTER, "beta\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, false, "gone\n"), -EINVAL);
}

static void a_dso_built_anew_is_chosen_by_name(void **state)
{
	static const struct ftrace_new_site old[] = {
		{ 0x9000, "kept", SITE_GOOD, NULL },
		{ 0x9010, "gone", SITE_GOOD, NULL },
		{ 0x9020, "other", SITE_GOOD, NULL },
	};
	static const struct ftrace_new_site new[] = {
		{ 0xa000, "added", SITE_GOOD, NULL },
		{ 0xa010, "kept", SITE_GOOD, NULL },
		{ 0xa020, "other", SITE_GOOD, NULL },
	};
	struct fixture *f = *state;
	struct ftrace *ft = ftrace_of(f->model);
	struct ftrace_page *page, *next;

	load(f, functions);
	assert_int_equal(ftrace_program_add(f->model, "prog", old, 3, &page), 0);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "kept gone\n"), 0);
	assert_int_equal(edit(f->top, FTRACE_FILE_NOTRACE, true, "other\n"), 0);
	assert_int_equal(edit(f->top, FTRACE_FILE_GRAPH, true, "kept\n"), 0);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, false,
			      "other:traceoff:3 gone:traceoff:4 kept:stacktrace\n"),
			 0);
	assert_int_equal(ftrace_ops_enable(&ftrace_of_instance(f->top)->function), 0);
	assert_int_equal(ftrace_program_add(f->model, "prog", new, 3, &next), 0);
	assert_int_equal(ftrace_page_inherit(ft, page, next), 0);
	ftrace_page_drop(f->model, page);
	assert_reads(FTRACE_FILE_FILTER,
		     "kept\nkept:stacktrace:unlimited\nother:traceoff:count=3\n");
	assert_reads(FTRACE_FILE_NOTRACE, "other\n");
	assert_int_equal(
		edit(f->top, FTRACE_FILE_FILTER, false, "!kept:stacktrace !other:traceoff:0\n"), 0);
	assert_reads(FTRACE_FILE_FILTER, "kept\n");
	assert_prints(ftrace_print_flagged(ft, FTRACE_SITE_ENABLED, out),
		      "kept (1)           ->function_trace_call\n");
	ftrace_page_drop(f->model, next);
	assert_reads(FTRACE_FILE_FILTER, "");	/* empty does not mean all here */
	assert_prints(ftrace_print_flagged(ft, FTRACE_SITE_ENABLED, out), "");
	assert_int_equal(ftrace_program_add(f->model, "prog", old, 3, &page), 0);
	assert_reads(FTRACE_FILE_FILTER,
		     "kept\ngone\nkept:stacktrace:unlimited\nother:traceoff:count=3\n"
		     "gone:traceoff:count=4\n");
}

static void names_of_cplusplus_stand_in_quotes(void **state)
{
	static const struct ftrace_new_site sites[] = {
		{ 0x10, "_ZN2ns1fEi", SITE_GOOD, "ns::f(int)" },
		{ 0x20, "_ZN2ns1gEv", SITE_GOOD, "ns::g() const" },
		{ 0x30, "plain", SITE_GOOD, NULL },
	};
	struct fixture *f = *state;

	assert_int_equal(ftrace_sites_add(f->model, NULL, sites, 3, NULL), 0);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "\"ns::g() const\" plain\n"), 0);
	assert_reads(FTRACE_FILE_FILTER, "_ZN2ns1gEv\nplain\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, false, "!\"*) const\"\n"), 0);
	assert_reads(FTRACE_FILE_FILTER, "plain\n");
	assert_int_equal(
		edit(f->top, FTRACE_FILE_FILTER, true, "\"ns::*\":traceoff:2 _ZN2ns1fEi:traceon\n"),
		0);
	assert_reads(FTRACE_FILE_FILTER,
		     "#### all functions enabled ####\n_ZN2ns1fEi:traceon:unlimited\n"
		     "_ZN2ns1gEv:traceoff:count=2\n_ZN2ns1fEi:traceoff:count=2\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, false, "!\"ns::f(int)\":traceoff:0\n"),
			 0);
	assert_reads(FTRACE_FILE_FILTER,
		     "#### all functions enabled ####\n_ZN2ns1fEi:traceon:unlimited\n"
		     "_ZN2ns1gEv:traceoff:count=2\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_GRAPH, true, "\"ns::g() const\""), 0);
	assert_reads(FTRACE_FILE_GRAPH, "_ZN2ns1gEv\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "\"plain\"\n"), -EINVAL);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "\"ns::e\nplain\n"), -EINVAL);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "ns::f(char)\n"), -EINVAL);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, false,
			      "!*:traceoff:0 !*:traceon \"a b*\":mod:x\n"),
			 0);
	assert_reads(FTRACE_FILE_FILTER, "\"a b*\":mod:x\n");
}

static void words_of_no_symbol_are_names_of_the_source(void **state)
{
	static const struct ftrace_new_site sites[] = {
		{ 0x10, "_Z4growi", false, "grow(int)" },
		{ 0x20, "_ZN2ns1gEv", false, "ns::g() const" },
		{ 0x30, "group", false, NULL },
	};
	struct fixture *f = *state;

	assert_int_equal(ftrace_sites_add(f->model, NULL, sites, 3, NULL), 0);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "grow \"ns::g\"\n"), 0);
	assert_reads(FTRACE_FILE_FILTER, "_Z4growi\n_ZN2ns1gEv\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, false, "!grow*\n"), 0);
	assert_reads(FTRACE_FILE_FILTER, "_ZN2ns1gEv\n");
	/* Symbols go first. */
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "gro*\n"), 0);
	assert_reads(FTRACE_FILE_FILTER, "group\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_GRAPH, true, "\"ns::g\""), 0);
	assert_reads(FTRACE_FILE_GRAPH, "_ZN2ns1gEv\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "ow*\n"), -EINVAL);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "gr\n"), -EINVAL);
}

/* As open and open64: the site has one of the names. The kernel's functions have one name each. */
static void a_function_of_a_program_has_all_its_names(void **state)
{
	static const struct ftrace_new_site sites[] = {
		{ LAYOUT_DSO_BASE + 0x100, "open", SITE_GOOD, NULL },
		{ LAYOUT_DSO_BASE + 0x204, "free", SITE_GOOD, NULL },
		{ LAYOUT_DSO_BASE + 0x300, "enters", SITE_ENTERED, NULL },
	};
	struct fixture *f = *state;

	load(f, functions);
	assert_int_equal(edit(f->top, FTRACE_FILE_NOTRACE, true, "cfree:mod:libx\n"), 0);
	symbols_add(f->model->symbols, 0x1000, 'T', "alpha", NULL);
	symbols_add(f->model->symbols, 0x1000, 'T', "alpha_too", NULL);
	for (size_t i = 0; i < 3; i++) {
		static const char *const aliases[] = { "open64", "cfree", "enters_too" };
		const uint64_t at = sites[i].ip & ~0xfull;

		symbols_add(f->model->symbols, at, 'T', sites[i].name, "libx");
		symbols_add(f->model->symbols, at, 'W', aliases[i], "libx");
	}
	assert_int_equal(ftrace_sites_add(f->model, "libx", sites, 3, NULL), 0);
	assert_reads(FTRACE_FILE_NOTRACE, "free [libx]\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "open64 cfree\n"), 0);
	assert_reads(FTRACE_FILE_FILTER, "open [libx]\nfree [libx]\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, false, "!open64\n"), 0);
	assert_reads(FTRACE_FILE_FILTER, "free [libx]\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_GRAPH, true, "cfree"), 0);
	assert_reads(FTRACE_FILE_GRAPH, "free [libx]\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "open64:mod:liby\n"), 0);
	assert_reads(FTRACE_FILE_FILTER, "open64:mod:liby\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "open64:traceoff\n"), 0);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, false, "!cfree:traceoff\n"), -EINVAL);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, false, "!open64:traceoff\n"), 0);
	word_says(f, "enters_too\n",
		  "ftrace: error: This function cannot be traced: with jumps that may lead into "
		  "the first five bytes\n"
		  "  Command: enters_too\n"
		  "           ^\n");
	word_says(f, "open6*\n", "");
	word_says(f, "alpha_too\n", "");
}

static void the_cplusplus_library_names_the_rest(void **state)
{
	static const struct ftrace_new_site sites[] = {
		{ 0x10, "_ZN2ns1hEPKc", SITE_GOOD, NULL },
		{ 0x20, "_Znothing", SITE_GOOD, NULL },
		{ 0x30, "plain", SITE_GOOD, NULL },
	};
	struct fixture *f = *state;
	struct demangler *d = demangler_create();
	bool has = demangle(d, "_ZN2ns1hEPKc");

	demangler_destroy(d);
	if (!has)
		skip();
	assert_int_equal(ftrace_sites_add(f->model, NULL, sites, 3, NULL), 0);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "\"ns::h(char const*)\"\n"), 0);
	assert_reads(FTRACE_FILE_FILTER, "_ZN2ns1hEPKc\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "\"*\"\n"), 0);
	assert_reads(FTRACE_FILE_FILTER, "_ZN2ns1hEPKc\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "\"_Zno*\"\n"), -EINVAL);
}

static void what_is_flushed_is_in_place(void **state)
{
	struct fixture *f = *state;
	struct ftrace_edit *e;

	load(f, functions);
	edit(f->top, FTRACE_FILE_FILTER, true, "gamma\n");
	e = ftrace_edit_open(f->top, FTRACE_FILE_FILTER, true);
	ftrace_edit_flush(e);		/* a shell does so before it writes */
	assert_reads(FTRACE_FILE_FILTER, "gamma\n");
	assert_int_equal(ftrace_edit_write(e, "beta\n", 5, false), 5);
	assert_reads(FTRACE_FILE_FILTER, "gamma\n");
	ftrace_edit_flush(e);
	assert_reads(FTRACE_FILE_FILTER, "beta\n");
	assert_int_equal(ftrace_edit_write(e, "al", 2, false), 2);
	ftrace_edit_flush(e);		/* inside a word */
	assert_reads(FTRACE_FILE_FILTER, "beta\n");
	assert_int_equal(ftrace_edit_write(e, "pha", 3, false), 3);
	assert_int_equal(ftrace_edit_close(e), 0);
	assert_reads(FTRACE_FILE_FILTER, "alpha\nbeta\nalpha [libone]\n");
}

/* ---- Probes ---- */

static void a_probe_keeps_what_it_has(void **state)
{
	struct fixture *f = *state;

	load(f, functions);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "alpha:traceoff:3\n"), 0);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "alpha:traceoff:5\n"), -EINVAL);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "b*:traceoff:5 beta:traceon\n"), 0);
	assert_reads(FTRACE_FILE_FILTER, "#### all functions enabled ####\nbeta:traceon:unlimited\n"
		"alpha [libone]:traceoff:count=3\nbeta:traceoff:count=5\nalpha:traceoff:count=3\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, false, "!alpha:traceoff:0\n"), 0);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, false, "!alpha:traceoff:0\n"), -EINVAL);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, false, "!beta:stacktrace\n"), -ENODEV);
	assert_reads(FTRACE_FILE_FILTER, "#### all functions enabled ####\nbeta:traceon:unlimited\n"
		"beta:traceoff:count=5\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_NOTRACE, false, "beta:traceon\n"), -EINVAL);
}

static void what_hits_take_down_is_read_back(void **state)
{
	struct fixture *f = *state;
	struct ftrace_ops *ops[4];
	const struct function_command_site *s;

	load(f, functions);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "same:snapshot:7\n"), 0);
	assert_int_equal(ftrace_site_ops(ftrace_of(f->model), 0x1040, ops, 4), 1);
	assert_int_equal(ops[0]->kind, FTRACE_OPS_COMMAND);
	s = function_command_find(ops[0]->priv, 0x1040);
	atomic_fetch_sub(function_command_count(s), 2);
	assert_reads(FTRACE_FILE_FILTER,
		"#### all functions enabled ####\nsame:snapshot:count=5\nsame:snapshot:count=7\n");
	assert_null(function_command_find(ops[0]->priv, 0x1000));
}

static void events_are_held_while_a_function_switches_them(void **state)
{
	struct fixture *f = *state;
	struct event_file *file;

	load(f, functions);
	file = event_file_get(f->top, f->other);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "a*:enable_event:test:other:2\n"),
			 0);
	assert_prints(event_file_print_enable(file, out), "0*");
	assert_reads(FTRACE_FILE_FILTER, "#### all functions enabled ####\n"
					 "alpha "
					 "[libone]:enable_event:test:other:count=2\nalpha:enable_"
					 "event:test:other:count=2\n");
	assert_int_equal(
		edit(f->top, FTRACE_FILE_FILTER, true, "beta:disable_event:ftrace:print\n"),
		-EINVAL);
	assert_int_equal(
		edit(f->top, FTRACE_FILE_FILTER, true, "nothing:enable_event:test:other\n"),
		-EINVAL);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, false, "!*:enable_event:test:other:0\n"),
			 0);
	assert_prints(event_file_print_enable(file, out), "0");
}

/* ---- Ops and sites ---- */

enum { NR = 300, NR_OPS = 3 };

struct watch {
	struct ftrace	*ft;
	bool		told[NR];
};

static void watch_changed(void *arg, const struct ftrace_change *list, size_t nr)
{
	struct watch *w = arg;

	for (size_t i = 0; i < nr; i++)
		w->told[list[i].site->ip / 16 - 1] = true;
}

static void many_sites(struct fixture *f, uint32_t from, uint32_t nr)
{
	struct ftrace_new_site sites[NR];
	char names[NR][16];

	for (uint32_t i = 0; i < nr; i++) {
		snprintf(names[i], sizeof(names[i]), "f%03u", from + i);
		sites[i] = (struct ftrace_new_site){ (from + i + 1) * 16, names[i], false, NULL };
	}
	assert_int_equal(ftrace_sites_add(f->model, NULL, sites, nr, NULL), 0);
}

static uint32_t mask_of(struct ftrace *ft, uint64_t ip, struct ftrace_ops *const *all)
{
	struct ftrace_ops *ops[NR_OPS + 1];
	const size_t nr = ftrace_site_ops(ft, ip, ops, NR_OPS + 1);
	uint32_t mask = 0;

	for (size_t i = 0; i < nr; i++)
		for (int k = 0; k < NR_OPS; k++)
			if (all[k] == ops[i])
				mask |= 1u << k;
	return mask;
}

static struct ftrace_hash *random_set(void)
{
	static const int sizes[] = { 0, 2, 20, 200 };
	struct ftrace_hash *h = ftrace_hash_create(false);

	for (int i = sizes[random() % 4]; i > 0; i--)
		ftrace_hash_add(h, (uint64_t)(random() % NR + 1) * 16);
	if (!h->count) {
		ftrace_hash_destroy(h);
		return NULL;
	}
	return h;
}

static void random_change(struct ftrace *ft, struct ftrace_ops *ops)
{
	switch (random() % 4) {
	case 0:
		ftrace_ops_enable(ops);
		break;
	case 1:
		ftrace_ops_disable(ops);
		break;
	case 2:
		assert_int_equal(
			ftrace_hashes_replace(ft, ops->hashes, random_set(), ops->hashes->notrace),
			0);
		break;
	default:
		assert_int_equal(
			ftrace_hashes_replace(ft, ops->hashes, ops->hashes->filter, random_set()),
			0);
	}
}

static void counts_and_what_is_told_are_true(void **state)
{
	struct fixture *f = *state;
	struct ftrace *ft = ftrace_of(f->model);
	struct watch w = { .ft = ft };
	struct ftrace_hashes own = { NULL, NULL };
	struct ftrace_ops other = { .inst = f->top, .callback = "own", .hashes = &own };
	struct ftrace_ops sharing = { .inst = f->top, .callback = "sharing",
				      .hashes = &ftrace_of_instance(f->top)->hashes };
	struct ftrace_ops *all[NR_OPS] = { &ftrace_of_instance(f->top)->function, &other,
					   &sharing };
	uint32_t before[NR];

	ft->changed = watch_changed;
	ft->changed_arg = &w;
	many_sites(f, 0, NR / 2);
	srandom(3);
	for (int round = 0; round < 400; round++) {
		if (round == 200)
			many_sites(f, NR / 2, NR / 2);
		for (uint32_t i = 0; i < NR; i++)
			before[i] = mask_of(ft, (i + 1) * 16, all);
		memset(w.told, 0, sizeof(w.told));
		random_change(ft, all[random() % NR_OPS]);
		for (uint32_t i = 0; i < NR; i++) {
			const struct ftrace_site *site = ftrace_site_find(ft, (i + 1) * 16, NULL);
			const uint32_t now = mask_of(ft, (i + 1) * 16, all);

			if (!site)
				continue;
			assert_int_equal(site->flags & FTRACE_SITE_COUNT, __builtin_popcount(now));
			assert_int_equal(!!(site->flags & FTRACE_SITE_ENABLED), now != 0);
			assert_int_equal(w.told[i], now != before[i]);
		}
	}
	for (int k = 0; k < NR_OPS; k++)
		ftrace_ops_disable(all[k]);
	ftrace_hash_destroy(own.filter);
	ftrace_hash_destroy(own.notrace);
	ft->changed = NULL;
}

static void touched_functions_stay_so(void **state)
{
	struct fixture *f = *state;
	struct ftrace *ft = ftrace_of(f->model);

	load(f, functions);
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, true, "beta:traceon\n"), 0);
	assert_prints(ftrace_print_flagged(ft, FTRACE_SITE_ENABLED, out),
		      "beta (1)           ->function_trace_probe_call\n");
	assert_int_equal(edit(f->top, FTRACE_FILE_FILTER, false, "!beta:traceon\n"), 0);
	assert_prints(ftrace_print_flagged(ft, FTRACE_SITE_ENABLED, out), "");
	assert_prints(ftrace_print_flagged(ft, FTRACE_SITE_TOUCHED, out), "beta (0)           \n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sites_are_listed_by_dso_and_address),
		TEST(a_function_that_cannot_be_patched_is_chosen_by_nothing),
		TEST(refused_functions_are_listed_with_reasons),
		TEST(a_refused_word_has_its_reason),
		TEST(a_symbol_without_a_site_says_so),
		TEST(a_refused_choice_that_waited_has_its_reason),
		TEST(long_lists_tell_progress),
		TEST(one_word_a_write_and_words_in_pieces),
		TEST(only_a_name_that_nobody_knows_asks_programs),
		TEST(only_a_name_that_nobody_knows_asks_programs),
		TEST(all_of_one_name_and_an_index),
		TEST(modules_choose_and_are_waited_for),
		TEST(a_program_has_no_brackets_but_a_name),
		TEST(who_only_waits_traces_nothing),
		TEST(a_dso_that_goes_leaves_the_sets),
		TEST(a_dso_built_anew_is_chosen_by_name),
		TEST(names_of_cplusplus_stand_in_quotes),
		TEST(words_of_no_symbol_are_names_of_the_source),
		TEST(a_function_of_a_program_has_all_its_names),
		TEST(the_cplusplus_library_names_the_rest),
		TEST(what_is_flushed_is_in_place),
		TEST(a_probe_keeps_what_it_has),
		TEST(what_hits_take_down_is_read_back),
		TEST(events_are_held_while_a_function_switches_them),
		TEST(counts_and_what_is_told_are_true),
		TEST(touched_functions_stay_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
