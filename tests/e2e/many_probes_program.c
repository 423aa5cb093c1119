/* SPDX-License-Identifier: MIT */
/*
 * many_probes_program.c - thousands of functions to probe
 *
 *     many_probes_program counters     prints where its counters begin in its file
 *     many_probes_program              for each line of input calls all functions, and says how
 *                                      many counters are raised
 *     many_probes_program PART NUMBER  loads the library so often, each time elsewhere, and calls
 *                                      its functions
 *
 * With PART defined, it is the library.
 */
#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

/* Ten functions whose names end with the digits n0 to n9. */
#define TEN(do, n)                                                                              \
	do(n##0) do(n##1) do(n##2) do(n##3) do(n##4) do(n##5) do(n##6) do(n##7) do(n##8) do(n##9)
#define HUNDRED(do, n)                                                                          \
	TEN(do, n##0) TEN(do, n##1) TEN(do, n##2) TEN(do, n##3) TEN(do, n##4)                   \
	TEN(do, n##5) TEN(do, n##6) TEN(do, n##7) TEN(do, n##8) TEN(do, n##9)

#define DEFINE(n)                                                                               \
	__attribute__((noinline)) long fn##n(long x);                                  \
	__attribute__((noinline)) long fn##n(long x)                                   \
	{                                                                                       \
		sum += (unsigned long)x * 1##n;                                                 \
		return (long)(sum ^ (unsigned long)x);                                          \
	}
#define CALL(n) x = fn##n(x);

static volatile unsigned long sum;

#ifdef PART

HUNDRED(DEFINE, 0)

long part_all(long x);

long part_all(long x)
{
	HUNDRED(CALL, 0)
	return x;
}

#else

enum { COUNTERS = 2000, SPACE = 1 << 20 };

#define ALL(do)                                                                                 \
	HUNDRED(do, 0) HUNDRED(do, 1) HUNDRED(do, 2) HUNDRED(do, 3) HUNDRED(do, 4)              \
	HUNDRED(do, 5) HUNDRED(do, 6) HUNDRED(do, 7) HUNDRED(do, 8) HUNDRED(do, 9)              \
	HUNDRED(do, 10) HUNDRED(do, 11) HUNDRED(do, 12) HUNDRED(do, 13) HUNDRED(do, 14)         \
	HUNDRED(do, 15) HUNDRED(do, 16) HUNDRED(do, 17) HUNDRED(do, 18) HUNDRED(do, 19)

ALL(DEFINE)

/* In the file, not behind it: they are not zeros. */
static volatile uint16_t counters[COUNTERS + 1] = { [COUNTERS] = 7 };

static long call_all(long x)
{
	ALL(CALL)
	return x;
}

static void print_counters(void)
{
	const Elf64_Phdr *p = (const Elf64_Phdr *)getauxval(AT_PHDR);
	const size_t nr = getauxval(AT_PHNUM);
	uintptr_t bias = 0, at;

	for (size_t i = 0; i < nr; i++)
		if (p[i].p_type == PT_PHDR)
			bias = (uintptr_t)p - p[i].p_vaddr;
	at = (uintptr_t)counters - bias;
	for (size_t i = 0; i < nr; i++)
		if (p[i].p_type == PT_LOAD && at - p[i].p_vaddr < p[i].p_filesz)
			printf("%zu\n", (size_t)(at - p[i].p_vaddr + p[i].p_offset));
}

static void pass(void)
{
	unsigned int raised = 0;

	call_all(3);
	for (unsigned int i = 0; i < COUNTERS; i++)
		raised += counters[i] != 0;
	printf("raised %u\n", raised);
	fflush(stdout);
}

static int load(const char *part, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		void *object = dlopen(part, RTLD_NOW);
		long (*all)(long) = object ? (long (*)(long))dlsym(object, "part_all") : NULL;

		if (!all)
			return 1;
		all(i);
		dlclose(object);
		/* The hole is filled: the next one is loaded elsewhere. */
		mmap(NULL, SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	}
	printf("loaded %u\n", nr);
	return 0;
}

int main(int argc, char **argv)
{
	char line[16];

	if (argc > 2)
		return load(argv[1], (unsigned int)atoi(argv[2]));
	if (argc > 1)
		print_counters();
	while (argc < 2 && fgets(line, sizeof(line), stdin))
		pass();
	return 0;
}

#endif
