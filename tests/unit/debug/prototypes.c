/* SPDX-License-Identifier: MIT */
/*
 * prototypes.c KIND FILE - the prototypes of the functions of fixture.c (KIND c), fixture.cc (cc)
 * or fixture.S (S)
 *
 * Each is printed as RESULT@PLACE NAME(DECLARATION@PLACE:TYPE, ...)FLAGS, where TYPE is that of a
 * probe. With KIND broken the debug information of the file is changed at random places.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "debug/prototype.h"
#include "elf/file.h"

struct wanted {
	const char	*symbol, *text;
};

/* Where the compilers name a type in different ways, only its first letter is compared. */
static const struct wanted of_c[] = {
	{ "f_void", "void@ f_void()" },
	{ "f_integers", "int@%ax:s32 f_integers(int8_t a@%di:s8, uint16_t b@%si:u16, "
	  "int c@%dx:s32, uint32_t d@%cx:u32, int64_t e@%r8:s64, uint64_t f@%r9:u64, "
	  "int g@$stack1:s32, _Bool h@$stack2:u8)" },
	{ "f_text", "char@%ax:char f_text(char *a@%di:, const char *b@%si:, char c@%dx:char, "
	  "unsigned char *d@%cx:, char **e@%r8:, void *f@%r9:)" },
	{ "f_floats", "double@%xmm0 f_floats(int a@%di:s32, double b@%xmm0, float c@%xmm1, "
	  "long double d@$stack1, int e@%si:s32)" },
	{ "f_structs", "struct two@%ax+%dx f_structs(struct two a@%di+%si, "
	  "struct mixed b@%xmm0+%dx, struct floats c@%xmm1+%xmm2, struct large d@$stack1, "
	  "struct bits e@%cx, union either f@%r8, struct text g@$stack4, int h@%r9:s32)" },
	{ "f_large", "struct large@%ax f_large(int a@%si:s32, struct packed b@$stack1, "
	  "struct wide c@$stack3, struct nothing d@, int e@%dx:s32)" },
	{ "f_wide", "__int128@%ax+%dx f_wide(__int128 a@%di+%si, int b@%dx:s32, ?c@%xmm0, "
	  "vector d@%xmm1, int e@%cx:s32)" },
	{ "f_long_double", "long double@%st f_long_double(long double a@$stack1, "
	  "enum color b@%di:u32, enum sign c@%si:s32)" },
	{ "f_declarators", "int@%ax:s32 f_declarators(compare_fn a@%di:, "
	  "int (*b)(char, ...)@%si:, int (*d)[4]@%dx:, int *e@%cx:, "
	  "const volatile int *restrict f@%r8:, const char *const *g@%r9:)" },
	{ "f_varargs", "int@%ax:s32 f_varargs(const char *format@%di:)..." },
	{ "f_old", "int@%ax:s32 f_old(char a@%di:char, float b@%xmm0, int c@%si:s32)old" },
	{ "f_static", "int@%ax:s32 f_static(int only@%di:s32)" },
	{ "f_inline", "int@%ax:s32 f_inline(int number@%di:s32)" },
	{ NULL, NULL },
};

static const struct wanted of_cc[] = {
	{ "_ZN7Counter3addEiRKi", "int@%ax:s32 add(Counter *?this@%di:, int k@%si:s32, "
	  "const int &by@%dx:)" },
	{ "_ZN7Counter4makeE5Emptyi", "int@%ax:s32 make(Empty@, int k@%di:s32)" },
	{ "_ZN4here9f_objectsE6Copied5Plain7Virtual5Holds7DerivedOi",
	  "?@%ax:s64 f_objects(Copied a@%di:, Plain b@%si, Virtual c@%dx:, Holds d@%cx:, "
	  "Derived e@%r8:, int &&f@%r9:)" },
	{ "f_plain", "Plain@%ax f_plain(Plain a@%di, ?member@%si:s64)" },
	{ "f_method", "?@%ax:s64 f_method(?@%di+%si, Plain a@%dx)" },
	{ "f_calls", "Virtual *@%ax: f_calls(Counter &c@%di:)" },
	{ NULL, NULL },
};

/* Other languages. "l": it has no fixed convention. */
static const struct wanted of_others[] = {
	{ "fortran_reference", "void@ fortran_reference(integer(kind=4) k@+0(%di):s32, "
	  "real(kind=8) x@+0(%si), void t@%dx:, pt p@%cx:, integer(kind=4) v@%r8:s32, "
	  "real(kind=8) y@%xmm0)" },
	{ "fortran_array", "void@ fortran_array(integer(kind=4) r@%di:, "
	  "integer(kind=4) n@+0(%si):s32, integer(kind=4) o@?, void t@%cx:, "
	  "integer(kind=4) l@+0(%r8):s32, real(kind=8) x@?, integer(kind=4) m@?)" },
	{ "fortran_stack", "void@ fortran_stack(void a@%di:, void b@%si:, void c@%dx:, "
	  "void d@%cx:, void e@%r8:, void f@%r9:, integer(kind=4) g@+0($stack1):s32)" },
	{ "rust_certain", "void@ rust_certain(u32 *a@%di:, () u@, &str s@%si+%dx, Empty e@, "
	  "f32 x@%xmm0, New n@%cx, Option<&u32> o@%r8, u8 v@%r9)loose" },
	{ "rust_words", "void@ rust_words(u128 w@%di+%si, Three t@%dx, u8 b@%cx:u8, u8 c@%r8:u8, "
	  "&str s@?, u32 n@?)loose" },
	{ "rust_string", "void@ rust_string(u32 a@%di:u32, String s@?, u32 n@?, f32 x@?)loose" },
	{ "rust_address", "void@ rust_address(u32 a@%di:u32, String s@%si:, Twelve t@%dx:, "
	  "u32 n@%cx:u32)loose" },
	{ "rust_pair", "void@ rust_pair(Two s@?, u32 n@%dx:u32, u32 m@%cx:u32, f32 x@?)loose" },
	{ "rust_option", "void@ rust_option(Option<u32> s@?, u32 n@?)loose" },
	{ "rust_floats", "void@ rust_floats(f32 s@?, u32 n@?)loose" },
	{ "rust_parts", "void@ rust_parts(Option<u32> s@%di+%si, u32 n@%dx:u32)loose" },
	{ "rust_list", "void@ rust_list(Two s@?, u32 n@%si:u32, u32 m@%dx:u32)loose" },
	{ "rust_promoted", "void@ rust_promoted(u32 *s@?, u32 n@%dx:u32, u32 m@?)loose" },
	{ "rust_large", "String@%ax rust_large(u32 n@%si:u32)loose" },
	{ "rust_result", "Twelve@? rust_result(u32 n@?)loose" },
	{ "rust_parts_result", "Two@? rust_parts_result(u32 n@%di:u32)loose" },
	{ "d_structs", "void@ d_structs(real r@$stack1, Small s@%di, Small t@%si:, int n@%dx:s32, "
	  "Small u@?, int m@?)" },
	{ "d_other", "void@ d_other(int n@?)loose" },
	{ "go_registers", "void@ go_registers(int a@?, int b@%di:s64, int c@?, int d@?, "
	  "int e@%cx+%xmm0)loose" },
	{ "zig_own", "void@ zig_own(u32 a@?)oldloose" },
	{ NULL, NULL },
};

static const char *kind, *file;

static const struct wanted *wanted_of_kind(void)
{
	return *kind == 'S' ? of_others : kind[1] ? of_cc : of_c;
}

/* ---- A prototype as text ---- */

static void value_text(const struct prototype_value *v, char *out, size_t size)
{
	snprintf(out, size, "%s@%s%s%s", v->text, v->place, prototype_word(v) ? ":" : "",
		 prototype_word(v) ? prototype_probe_type(v) : "");
}

static void prototype_text(const struct prototype *p, char *out, size_t size)
{
	char value[PROTOTYPE_TEXT + 64];
	size_t at;

	value_text(&p->result, value, sizeof(value));
	at = (size_t)snprintf(out, size, "%s %s(", value, p->name);
	for (unsigned int i = 0; i < p->nr; i++) {
		value_text(&p->parameters[i], value, sizeof(value));
		at += (size_t)snprintf(out + at, size - at, "%s%s", i ? ", " : "", value);
	}
	snprintf(out + at, size - at, ")%s%s%s%s", p->varargs ? "..." : "",
		 p->unprototyped ? "old" : "", p->changed ? "changed" : "",
		 p->loose ? "loose" : "");
}

/* "?" in `want` stands for any text up to the byte that follows it. */
static bool is_like(const char *text, const char *want)
{
	for (; *want; want++) {
		if (*want != '?') {
			if (*text++ != *want)
				return false;
			continue;
		}
		while (*text && strncmp(text, want + 1, 2))
			text++;
	}
	return !*text;
}

static void check_prototype(struct debug *d, const struct wanted *w)
{
	struct prototype *p = malloc(sizeof(*p));
	struct elf_function function;
	char text[4096];

	assert_non_null(p);
	assert_int_equal(elf_function_find(file, w->symbol, &function), 0);
	assert_int_equal(debug_ask(d, function.address, p), 0);
	prototype_text(p, text, sizeof(text));
	if (*kind == 'S' ? strcmp(text, w->text) : !is_like(text, w->text))
		fail_msg("%s: %s", w->symbol, text);
	assert_non_null(strstr(p->file, "fixture."));
	assert_string_equal(strrchr(p->file, '.') + 1, kind);
	assert_int_not_equal(p->line, 0);
	free(p);
}

static void each_function_has_its_prototype(void **state)
{
	struct debug *d;

	(void)state;
	assert_int_equal(debug_open(file, &d), 0);
	for (const struct wanted *w = wanted_of_kind(); w->symbol; w++)
		check_prototype(d, w);
	debug_close(d);
}

static void an_address_without_a_function_has_none(void **state)
{
	struct prototype *p = malloc(sizeof(*p));
	struct elf_function function;
	struct debug *d;

	(void)state;
	assert_int_equal(elf_function_find(file, *kind == 'S' ? "zig_own" : "f_calls", &function),
			 0);
	assert_int_equal(debug_open(file, &d), 0);
	assert_int_equal(debug_ask(d, function.address + 1, p), -ENOENT);
	assert_int_equal(debug_ask(d, UINT64_MAX, p), -ENOENT);
	/* It goes on. */
	assert_int_equal(debug_ask(d, function.address, p), 0);
	debug_close(d);
	free(p);
}

static void what_has_no_debug_information_says_so(void **state)
{
	static const char *const files[] = { "/dev/null", "/nowhere", "/", __FILE__ };
	struct debug *d;

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		assert_int_equal(debug_open(files[i], &d), -ENOENT);
}

/* ---- Answers ---- */

/* The line has no byte more than its text, so that a sanitizer sees what is read behind it. */
static int taken(struct prototype *p, const char *text)
{
	char *line = strdup(text);
	int ret = prototype_take_line(p, line);

	free(line);
	return ret;
}

static void an_answer_is_checked(void **state)
{
	static const char *const wrong[] = {
		"", "function", "function\tf\tfile\t-1\t-", "function\tf\tfile\t1\t-\tmore",
		"function\tf\tfile\t99999999999\t-", "result\ti\t4\t%ax", "result\tx\t4\t%ax\tint",
		"result\tii\t4\t%ax\tint", "result\ti\t4\t%bx\tint", "result\ti\t4\t%xmm8\tint",
		"parameter\ti\t4\t%di\ta", "parameter\ti\t4\t%di+\ta\tint a",
		"parameter\ti\t4\t$stack\ta\tint a", "parameter\ti\t4\t$stack1x\ta\tint a",
		"parameter\ti\t4\t$stack99999\ta\tint a", "parameter\ti\tx\t%di\ta\tint a",
		"result\ti\t4\tx\tv", "parameter\ti\t4\t+0(%di\ta\tint a",
		"parameter\ti\t4\t+0()\ta\tint a", "parameter\ti\t4\t+8(%di)\ta\tint a",
		"parameter\ti\t4\t+0(%di+%si)\ta\tint a",
		"parameter\ti\t4\t+0(+0(%di))\ta\tint a",
		"end",		/* before any function */
	};
	struct prototype *p = calloc(1, sizeof(*p));

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(taken(p, wrong[i]), -EIO);
	assert_int_equal(taken(p, "none"), -ENOENT);
	assert_int_equal(taken(p, "function\tf\x1b[2J\tfile\t7\t-v"), 1);
	assert_string_equal(p->name, "f?[2J");
	assert_true(p->varargs);
	p->nr = 0;
	for (unsigned int i = 0; i < PROTOTYPE_PARAMETERS; i++)
		assert_int_equal(taken(p, "parameter\ti\t4\t%di\ta\tint a"), 1);
	assert_int_equal(taken(p, "parameter\ti\t4\t%di\ta\tint a"), -EIO);
	assert_int_equal(taken(p, "end"), 0);
	free(p);
}

static void a_value_may_be_passed_by_its_address(void **state)
{
	static const struct { const char *place, *address; } good[] = {
		{ "+0(%di)", "%di" }, { "+0($stack12)", "$stack12" }, { "%di", NULL },
	};
	struct prototype *p = calloc(1, sizeof(*p));
	char address[32], line[64];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const struct prototype_value *v = &p->parameters[i];

		snprintf(line, sizeof(line), "parameter\ti\t4\t%s\ta\tint a", good[i].place);
		assert_int_equal(taken(p, line), 1);
		assert_string_equal(prototype_word(v), good[i].place);
		assert_int_equal(prototype_address(v, address), !!good[i].address);
		if (good[i].address)
			assert_string_equal(address, good[i].address);
	}
	free(p);
}

static void a_value_is_extended_by_its_type(void **state)
{
	const struct prototype_value s8 = { .kind = PROTOTYPE_SIGNED, .size = 1 },
		u16 = { .kind = PROTOTYPE_UNSIGNED, .size = 2 },
		s64 = { .kind = PROTOTYPE_SIGNED, .size = 8 };

	(void)state;
	assert_int_equal(prototype_extend(&s8, 0x12ff), UINT64_MAX);
	assert_int_equal(prototype_extend(&s8, 0x127f), 0x7f);
	assert_int_equal(prototype_extend(&u16, 0x12ffff), 0xffff);
	assert_int_equal(prototype_extend(&s64, UINT64_MAX), UINT64_MAX);
}

static void functions_that_the_compiler_made_are_known_by_their_names(void **state)
{
	(void)state;
	assert_true(prototype_is_clone("f.isra.0"));
	assert_true(prototype_is_clone("f.constprop.1"));
	assert_false(prototype_is_clone("f"));
	assert_false(prototype_is_clone("f.localalias"));
}

/* ---- A broken file ---- */

enum { BROKEN = 250, CHANGES = 24 };

static uint8_t *file_read(size_t *size)
{
	FILE *in = fopen(file, "r");
	uint8_t *bytes;

	assert_non_null(in);
	fseek(in, 0, SEEK_END);
	*size = (size_t)ftell(in);
	rewind(in);
	bytes = malloc(*size);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *size, in), *size);
	fclose(in);
	return bytes;
}

/* Changes bytes in the sections .debug_*, the same ones for each seed. */
static void break_debug(uint8_t *bytes, uint64_t seed)
{
	Elf64_Shdr *debug[64], *names;
	Elf64_Ehdr *h = (Elf64_Ehdr *)bytes;
	Elf64_Shdr *s = (Elf64_Shdr *)(bytes + h->e_shoff);
	unsigned int nr = 0;

	names = &s[h->e_shstrndx];
	for (unsigned int i = 0; i < h->e_shnum && nr < 64; i++)
		if (s[i].sh_size &&
		    strstr((char *)bytes + names->sh_offset + s[i].sh_name, ".debug_"))
			debug[nr++] = &s[i];
	for (unsigned int i = 0; i < CHANGES; i++) {
		const Elf64_Shdr *d;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		d = debug[(seed >> 33) % nr];
		bytes[d->sh_offset + (seed >> 20) % d->sh_size] = (uint8_t)(seed >> 50);
	}
}

static void ask_all(const char *path, const struct elf_symbols *symbols)
{
	struct prototype *p = malloc(sizeof(*p));
	struct debug *d;
	int err = debug_open(path, &d);

	assert_non_null(p);
	if (err) {
		assert_true(err == -ENOENT || err == -EIO || err == -ETIMEDOUT);
		free(p);
		return;
	}
	for (size_t i = 0; !err && i < symbols->nr; i++) {
		err = debug_ask(d, symbols->v[i].value, p);
		assert_true(!err || err == -ENOENT || err == -EIO || err == -ETIMEDOUT);
		if (!err)
			assert_true(p->nr <= PROTOTYPE_PARAMETERS);
		err = err == -ENOENT ? 0 : err;
	}
	debug_close(d);
	free(p);
}

static void broken_debug_information_harms_nobody(void **state)
{
	char path[] = "/tmp/tracefuse-dwarf-XXXXXX";
	const int fd = mkstemp(path);
	struct elf_symbols symbols;
	size_t size;
	uint8_t *bytes = file_read(&size), *changed = malloc(size);

	(void)state;
	assert_true(fd >= 0);
	assert_non_null(changed);
	assert_int_equal(elf_symbols_read(file, NULL, &symbols), 0);
	for (unsigned int i = 0; i < BROKEN; i++) {
		memcpy(changed, bytes, size);
		break_debug(changed, i);
		assert_int_equal(pwrite(fd, changed, size, 0), size);
		ask_all(path, &symbols);
	}
	elf_symbols_free(&symbols);
	unlink(path);
	close(fd);
	free(changed);
	free(bytes);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest good[] = {
		cmocka_unit_test(each_function_has_its_prototype),
		cmocka_unit_test(an_address_without_a_function_has_none),
		cmocka_unit_test(what_has_no_debug_information_says_so),
		cmocka_unit_test(an_answer_is_checked),
		cmocka_unit_test(a_value_may_be_passed_by_its_address),
		cmocka_unit_test(a_value_is_extended_by_its_type),
		cmocka_unit_test(functions_that_the_compiler_made_are_known_by_their_names),
	};
	const struct CMUnitTest broken[] = {
		cmocka_unit_test(broken_debug_information_harms_nobody),
	};

	if (argc != 3)
		return 1;
	kind = argv[1];
	file = argv[2];
	return strcmp(kind, "broken") ? cmocka_run_group_tests(good, NULL, NULL) :
	       cmocka_run_group_tests(broken, NULL, NULL);
}
