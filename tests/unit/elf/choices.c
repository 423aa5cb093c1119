/* SPDX-License-Identifier: MIT */
/* choices.c - what an indirect function may stand for, in choices_fixture.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "elf/file.h"

static char *programs[2];

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The words of the list in order. */
static void choices_of(const char *path, char out[256])
{
	struct elf_functions *k = NULL;
	struct elf_function f;
	char *text, *words[8], *rest;
	unsigned int nr = 0;

	assert_int_equal(elf_functions_find(&k, path, "chosen", &f), 0);
	assert_true(f.chooses);
	text = rest = elf_functions_choices(k, path, &f);
	assert_non_null(text);
	while (nr < 8 && (words[nr] = strsep(&rest, ",")))
		words[nr] += *words[nr] == ' ', nr++;
	qsort(words, nr, sizeof(*words), compare);
	*out = '\0';
	for (unsigned int i = 0; i < nr; i++)
		sprintf(out + strlen(out), "%s%s", i ? " " : "", words[i]);
	free(text);
	elf_functions_free(k);
}

static void choices_have_their_names(void **state)
{
	char words[256];

	for (int i = 0; i < 2; i++) {
		choices_of(programs[i], words);
		assert_string_equal(words, "choice_one choice_three choice_two");
	}
}

/* Each offset leads to the function that the name led to. */
static void without_symbols_they_have_their_offsets(void **state)
{
	static const char *const names[] = { "choice_one", "choice_two", "choice_three" };
	char words[256], command[1024], stripped[] = "/tmp/choices-XXXXXX", want[32];
	struct elf_function f;
	const int fd = mkstemp(stripped);

	assert_true(fd >= 0);
	close(fd);
	for (int i = 0; i < 2; i++) {
		/* Of the symbols only that of the indirect function stays. */
		snprintf(command, sizeof(command), "objcopy --strip-all --keep-symbol=chosen %s %s",
			 programs[i], stripped);
		assert_int_equal(system(command), 0);
		choices_of(stripped, words);
		for (int k = 0; k < 3; k++) {
			assert_int_equal(elf_function_find(programs[i], names[k], &f), 0);
			snprintf(want, sizeof(want), "%#lx", (unsigned long)f.offset);
			assert_non_null(strstr(words, want));
		}
	}
	unlink(stripped);
}

static void what_is_no_ifunc_has_no_choices(void **state)
{
	uint64_t out[ELF_CHOICES];
	struct elf_function f;

	assert_int_equal(elf_function_find(programs[0], "main", &f), 0);
	assert_int_equal(elf_choices(programs[0], &f, out), 0);
	assert_int_equal(elf_function_find(programs[0], "chosen", &f), 0);
	assert_int_equal(elf_choices("/dev/null", &f, out), 0);
	f.address = UINT64_MAX;
	assert_int_equal(elf_choices(programs[0], &f, out), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(choices_have_their_names),
		cmocka_unit_test(without_symbols_they_have_their_offsets),
		cmocka_unit_test(what_is_no_ifunc_has_no_choices),
	};

	if (argc < 3)
		return 2;
	programs[0] = argv[1];
	programs[1] = argv[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
