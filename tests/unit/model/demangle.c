/* SPDX-License-Identifier: MIT */
/* The names are those that rustc 1.95 gave; the texts are those of rustfilt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model/demangle/demangle.h"
#include "model/demangle/expansion.h"
#include "model/demangle/rust.h"

struct name {
	const char *symbol, *text;	/* text NULL: it is no Rust name */
};

static void assert_names(const struct name *names, size_t nr)
{
	char out[512];

	for (size_t i = 0; i < nr; i++) {
		const bool is = demangle_rust(names[i].symbol, out, sizeof(out));

		if (is != !!names[i].text)
			fail_msg("%s: %s", names[i].symbol, is ? out : "no name");
		if (is)
			assert_string_equal(out, names[i].text);
	}
}

#define assert_all(names) assert_names(names, sizeof(names) / sizeof(*(names)))

static void names_of_v0(void **state)
{
	static const struct name names[] = {
		{ "_RINvCs6xxl1lAjzDf_1a4flagKb0_Kce9_Ka5_EB2_",
		  "a::flag::<false, '\xc3\xa9', 5>" },
		{ "_RINvCs6xxl1lAjzDf_1a4flagKb1_Kc27_Kan5_EB2_", "a::flag::<true, '\\'', -5>" },
		{ "_RINvCs6xxl1lAjzDf_1a5applyNCNvB2_4main0EB2_",
		  "a::apply::<a::main::{closure#0}>" },
		{ "_RINvCs6xxl1lAjzDf_1a7genericAFG_RL0_eEuj2_EB2_",
		  "a::generic::<[for<'a> fn(&'a str); 2]>" },
		{ "_RINvCs6xxl1lAjzDf_1a7genericDG0_INtNtNtCsgEmfK2I1SDS_4core3ops8functi"
		  "on2FnTRL1_hQL0_SlEEp6OutputThEEL_EB2_",
		  "a::generic::<dyn for<'a, 'b> core::ops::function::Fn<(&'a u8, &'b mut "
		  "[i32]), Output = (u8,)>>" },
		{ "_RINvCs6xxl1lAjzDf_1a7genericDG_INtNtNtCsgEmfK2I1SDS_4core3ops8functio"
		  "n2FnTRL0_hEEp6OutputRL0_hNtNtBA_6marker4SendEL_EB2_",
		  "a::generic::<dyn for<'a> core::ops::function::Fn<(&'a u8,), Output = &"
		  "'a u8> + core::marker::Send>" },
		{ "_RINvCs6xxl1lAjzDf_1a7genericDNtNtNtNtCsgEmfK2I1SDS_4core4iter6traits8"
		  "iterator8Iteratorp4ItemmEL_EB2_",
		  "a::generic::<dyn core::iter::traits::iterator::Iterator<Item = u32>>" },
		{ "_RNCNvCs6xxl1lAjzDf_1a4main0B3_", "a::main::{closure#0}" },
		{ "_RNCNvCs6xxl1lAjzDf_1a4mains_0B3_", "a::main::{closure#1}" },
		{ "_RNSNvYNCNvCs6xxl1lAjzDf_1a4mains_0INtNtNtCsgEmfK2I1SDS_4core3ops8func"
		  "tion6FnOnceThEE9call_once6vtableB8_",
		  "<a::main::{closure#1} as core::ops::function::FnOnce<(u8,)>>::call_onc"
		  "e::{shim:vtable#0}" },
		{ "_RNvCs6xxl1lAjzDf_1a4main", "a::main" },
		{ "_RNvCs6xxl1lAjzDf_1au16gre_strae_h1ag2y",
		  "a::gr\xc3\xb6\xc3\x9f" "e_stra\xc3\x9f" "e" },
		{ "_RNvMs_Cs6xxl1lAjzDf_1aINtB4_5TablehKj3_E5threeB4_",
		  "<a::Table<u8, 3>>::three" },
		{ "_RNvNtNtCs6xxl1lAjzDf_1a5inner4deep4call", "a::inner::deep::call" },
	};

	assert_all(names);
}

/* rustc writes these only with features that its stable version has not. */
static void rules_of_the_grammar(void **state)
{
	static const struct name names[] = {
		{ "_RC1a", "a" },
		{ "_RNvCs1_1a1b.llvm.1234567890", "a::b" },
		{ "_RNvCs1_1a1b.cold", "a::b.cold" },
		{ "_RNSC1a3foo", "a::{shim:foo#0}" },
		{ "_RNCs_C1as0_0", NULL },
		{ "_RNCC1as_0", "a::{closure#1}" },
		{ "_RINvC1a1bKb1_Kb0_Kan5_Kc27_E", "a::b::<true, false, -5, '\\''>" },
		{ "_RINvC1a1bKo10000000000000000_E", "a::b::<0x10000000000000000>" },
		{ "_RINvC1a1bKRe68690a22_E", "a::b::<\"hi\\n\\\"\">" },
		{ "_RINvC1a1bKReffff_E", NULL },
		{ "_RINvC1a1bKe6869_E", "a::b::<{*\"hi\"}>" },
		{ "_RINvC1a1bKRAh1_h2_EE", "a::b::<{&[1, 2]}>" },
		{ "_RINvC1a1bKTh1_EE", "a::b::<{(1,)}>" },
		{ "_RINvC1a1bKVNtC1a1cTh1_b1_EE", "a::b::<{a::c(1, true)}>" },
		{ "_RINvC1a1bKVNtC1a1cS1xh1_1yUE", NULL },
		{ "_RINvC1a1bKVNtC1a1cS1xh1_1yc41_EE", "a::b::<{a::c { x: 1, y: 'A' }}>" },
		{ "_RINvC1a1bKVNtC1a1cUE", "a::b::<{a::c}>" },
		{ "_RINvC1a1bKpE", "a::b::<_>" },
		{ "_RINvC1a1bFUKCRhEtE", "a::b::<unsafe extern \"C\" fn(&u8) -> u16>" },
		{ "_RINvC1a1bFK10C_cmse_abcEuE", "a::b::<extern \"C-cmse-abc\" fn()>" },
		{ "_RINvC1a1bPQSOAhj3_E", "a::b::<*const &mut [*mut [u8; 3]]>" },
		{ "_RINvC1a1bWmRm1_m9_E", "a::b::<u32 is 1..=9>" },
		{ "_RINvC1a1bDG_INtC1a1cL0_hEp1Bhp1CtEL_E",
		  "a::b::<dyn for<'a> a::c<'a, u8, B = u8, C = u16>>" },
		{ "_RINvC1a1bTEThEThhEE", "a::b::<(), (u8,), (u8, u8)>" },
		{ "_RYhNtC1a1b", "<u8 as a::b>" },
	};

	assert_all(names);
}

static void letters_beyond_ascii(void **state)
{
	static const struct name names[] = {
		{ "_RNvC1au7tst_eVa", "a::punycode{tst-eVa}" },
		/* U+202E turns the direction of what follows. */
		{ "_RNvC1au8abc_vnd5", "a::punycode{abc-vnd5}" },
	};
	char out[64];

	assert_names(names, 1);
	assert_true(demangle_rust(names[1].symbol, out, sizeof(out)));
	assert_null(strstr(out, "\xe2\x80\xae"));
}

static void names_of_the_old_form(void **state)
{
	static const struct name names[] = {
		{ "_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place" },
		{ "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
		  "3bar17h930b740aa94f1d3aE", "<Test + 'static as foo::Bar<Test>>::bar" },
		{ "_ZN3foo17h05af221e174051e9E.llvm.9D1C9369", "foo" },
		{ "_ZN3foo17h05af221e174051e9E.cold", "foo.cold" },
		{ "_ZN3a.b6$SP$$Q17h05af221e174051e9E", "a.b::@$Q" },
		{ "_ZN10$u1b$bright17h05af221e174051e9E", NULL },
		{ "_ZN12$u1b$_bright17h05af221e174051e9E", "$u1b$_bright" },
		{ "_ZN3foo3barEi", NULL },
		{ "_ZN3foo17h05af221e17405XXXE", NULL },
		{ "_ZN17h05af221e174051e9E", NULL },
		{ "_ZN99foo17h05af221e174051e9E", NULL },
		{ "_ZN99999999999999999999999foo17h05af221e174051e9E", NULL },
		{ "_ZN", NULL },
	};

	assert_all(names);
}

static void no_names(void **state)
{
	static const struct name names[] = {
		{ "", NULL }, { "_", NULL }, { "_R", NULL }, { "_Rust_function", NULL },
		{ "_RNv", NULL }, { "_R1C1a", NULL }, { "_RC1a/", NULL }, { "_RC1ab", NULL },
		{ "_RC2a", NULL }, { "_RC99999999999999999999999a", NULL }, { "_RB_", NULL },
		{ "_RNvB_1a", NULL }, { "_RC3a\033[", NULL }, { "_RIC1a", NULL },
		{ "_RINvC1a1bL_", NULL }, { "_RINvC1a1bL0_E", NULL },
		{ "_RINvC1a1bKc110000_E", NULL }, { "_RINvC1a1bKb2_E", NULL },
	};

	assert_all(names);
}

/* "B<place>_", one less in base 62; places of two digits. */
static void put_back(char *name, size_t place)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char back[8];

	snprintf(back, sizeof(back), "B%c%c_", digits[(place - 1) / 62], digits[(place - 1) % 62]);
	strcat(name, back);
}

static void work_is_bounded(void **state)
{
	static char out[8192];
	char *const deep = calloc(1, 200000);
	size_t before = 8, at;

	assert_non_null(deep);
	/* Each pair has the pair before it twice: 2^40 characters. */
	strcpy(deep, "_RINvC1a1bThhE");
	for (unsigned int i = 0; i < 40; i++) {
		at = strlen(deep) - 2;
		strcat(deep, "T");
		put_back(deep, before);
		put_back(deep, before);
		strcat(deep, "E");
		before = at;
		if (i == 1)
			assert_false(demangle_rust(deep, out, sizeof(out)));
	}
	strcat(deep, "E");
	assert_false(demangle_rust(deep, out, sizeof(out)));
	/* A pair of what it begins. */
	assert_false(demangle_rust("_RINvC1a1bTB7_B7_EE", out, sizeof(out)));
	strcpy(deep, "_RINvC1a1b");
	memset(deep + strlen(deep), 'S', 100000);
	strcat(deep, "hE");
	/* Each in the next. */
	assert_false(demangle_rust(deep, out, sizeof(out)));
	strcpy(deep, "_RINvC1a1bFGzzzzzz_EuE");
	assert_false(demangle_rust(deep, out, sizeof(out)));
	free(deep);
}

static void no_room(void **state)
{
	char out[8];

	assert_true(demangle_rust("_RNvC1a4bcde", out, sizeof(out)));
	assert_string_equal(out, "a::bcde");
	assert_false(demangle_rust("_RNvC1a5bcdef", out, sizeof(out)));
	assert_false(demangle_rust("_ZN3foo5bcdef17h05af221e174051e9E", out, sizeof(out)));
}

/* ---- C++ ---- */

static void repeat(char *name, const char *part, unsigned int times)
{
	while (times--)
		strcat(name, part);
}

/* A class with two of the one before it as its arguments, `times` times. */
static void doubled(char *name, unsigned int times)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	repeat(name, "1aIiiE", 1);
	for (unsigned int i = 0; i < times; i++)
		sprintf(name + strlen(name), "S_IS%c_S%c_E", digits[i], digits[i]);
}

static void names_that_double_are_refused(void **state)
{
	char name[1024] = "_Z1f";

	doubled(name, 6);
	assert_false(demangle_is_too_long(name));
	strcpy(name, "_Z1f");
	doubled(name, 22);
	assert_true(strlen(name) < 300);
	assert_true(demangle_is_too_long(name));
	/* Behind what may be an identifier that has the references already, the last ones first. */
	strcpy(name, "_Z1fA99_");
	for (char c = 'Z'; c >= 'A'; c--)
		sprintf(name + strlen(name), "S%c_", c);
	repeat(name, "S9_S8_S7_S6_S5_S4_S3_S2_S1_S0_S_", 1);
	doubled(name, 22);
	assert_true(demangle_is_too_long(name));
}

static void packs_in_packs_are_refused(void **state)
{
	char name[1024] = "_Z1fIJiiiiiiiiiiEEv";

	repeat(name, "DpFvT_", 3);
	repeat(name, "E", 3);
	assert_false(demangle_is_too_long(name));
	strcpy(name, "_Z1fIJiiiiiiiiiiEEv");
	repeat(name, "DpFvT_", 9);
	repeat(name, "E", 9);
	assert_true(demangle_is_too_long(name));
	/* Old compilers have I in the place of J. */
	*strchr(name, 'J') = 'I';
	assert_true(demangle_is_too_long(name));
	strcpy(name, "_Z1f1aIiiE");
	repeat(name, "T_", 2000 / 10);
	assert_false(demangle_is_too_long(name));
}

static void the_demangler_refuses_them(void **state)
{
	struct demangler *d = demangler_create();
	char name[1024] = "_Z1f";

	assert_non_null(d);
	if (!demangle(d, "_ZN3foo3barEi")) {
		demangler_destroy(d);
		skip();
	}
	assert_string_equal(demangle(d, "_ZN3foo3barEi"), "foo::bar(int)");
	doubled(name, 2);
	assert_string_equal(demangle(d, name),
			    "f(a<int, int>, a<a<int, int>, a<int, int>>, a<a<a<int, int>, "
			    "a<int, int>>, a<a<int, int>, a<int, int>>>)");
	doubled(strcpy(name, "_Z1f"), 22);
	assert_null(demangle(d, name));
	demangler_destroy(d);
}

static bool is_called(const char *symbol, const char *name)
{
	struct demangler *d = demangler_create();
	const bool called = demangle_is_called(d, symbol, name);

	demangler_destroy(d);
	return called;
}

static void names_that_leave_something_out(void **state)
{
	/* void Store<int, Pair<long, char> >::put<long>(long) */
	static const char put[] = "_ZN5StoreIi4PairIlcEE3putIlEEvT_";
	struct demangler *d = demangler_create();
	const bool knows = demangle(d, put);

	demangler_destroy(d);
	if (!knows)
		skip();
	assert_true(is_called(put, "Store::put"));
	assert_true(is_called(put, "Store<int, Pair<long, char>>::put"));
	assert_true(is_called(put, "Store::put<long>"));
	assert_true(is_called(put, "void Store::put<long>(long)"));
	assert_false(is_called(put, "Store<long>::put"));
	assert_false(is_called(put, "Store::pu"));
	assert_false(is_called(put, "Store"));
	assert_false(is_called(put, "put"));
	assert_false(is_called(put, "long"));
	/* fib(int); ns::f[abi:cxx11](int); std::operator<<(A<int>&) */
	assert_true(is_called("_Z3fibi", "fib"));
	assert_true(is_called("_Z3fibi", "fib(int)"));
	assert_false(is_called("_Z3fibi", "fib(long)"));
	assert_true(is_called("_ZN2ns1fB5cxx11Ei", "ns::f"));
	assert_false(is_called("_ZStlsR1AIiE", "std::operator<"));
	assert_true(is_called("_ZStlsR1AIiE", "std::operator<<"));
	/* A<int>::operator->() */
	assert_true(is_called("_ZN1AIiEptEv", "A::operator->"));
}

static void strings_have_their_short_name(void **state)
{
	/* put(std::__cxx11::basic_string<char, ...> const&), f(std::basic_string<wchar_t ...>) */
	static const char put[] =
		"_Z3putRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";
	static const char wide[] =
		"_Z1fNSt7__cxx1112basic_stringIwSt11char_traitsIwESaIwEEE";
	char pattern[] = "ns::*(std::__cxx11::basic_string<char, std::char_traits<char>, "
			 "std::allocator<char> >, std::__cxx11::basic_string<char, "
			 "std::char_traits<char>, std::allocator<char>> const&)";
	char libcxx[] = "f(std::__1::basic_string<char, std::__1::char_traits<char>, "
			"std::__1::allocator<char>>)";
	char other[] = "f(my::basic_string<char>)";
	char blanks[] = "A<B<int> >::operator->";
	struct demangler *d = demangler_create();

	demangle_shorten(pattern);
	assert_string_equal(pattern, "ns::*(std::string, std::string const&)");
	demangle_shorten(blanks);
	assert_string_equal(blanks, "A<B<int>>::operator->");
	demangle_shorten(libcxx);
	assert_string_equal(libcxx, "f(std::string)");
	demangle_shorten(other);
	assert_string_equal(other, "f(my::basic_string<char>)");
	if (demangle(d, "_Z3fibi")) {
		assert_string_equal(demangle(d, put), "put(std::string const&)");
		assert_non_null(strstr(demangle(d, wide), "basic_string<wchar_t"));
		assert_true(demangle_is_called(d, put, "put(std::string const&)"));
	}
	demangler_destroy(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_have_their_short_name),
		cmocka_unit_test(names_that_leave_something_out),
		cmocka_unit_test(names_of_v0),
		cmocka_unit_test(rules_of_the_grammar),
		cmocka_unit_test(letters_beyond_ascii),
		cmocka_unit_test(names_of_the_old_form),
		cmocka_unit_test(no_names),
		cmocka_unit_test(work_is_bounded),
		cmocka_unit_test(no_room),
		cmocka_unit_test(names_that_double_are_refused),
		cmocka_unit_test(packs_in_packs_are_refused),
		cmocka_unit_test(the_demangler_refuses_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
