/* SPDX-License-Identifier: MIT */
/*
 * relocate.c - moved code does what it did at its own place: registers, flags, memory
 *
 * Each case is called at its own place and then moved, with the same registers and flags. The stack
 * is the same both times, so addresses on it are equal, too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>
#include "agent/x86_64/relocate.h"

#define HIDDEN __attribute__((visibility("hidden")))

struct state {
	uint64_t	regs[15], flags;
};

struct one_case {
	const uint8_t	*code, *end;
	const char	*name;
};

extern HIDDEN const struct one_case relocate_cases[], relocate_cases_end[];
extern HIDDEN uint8_t relocate_data[64];
HIDDEN void case_run(const void *code, struct state *s);

enum { FAR = 64 << 20, SIZE = 4096, ROUNDS = 64 };

static const uint64_t counts[] = { 0, 1, 2, 3, 77 };

/* A page near the cases, which may be written and executed. */
static uint8_t *near_page(void)
{
	uint8_t *at = (uint8_t *)(((uintptr_t)relocate_cases[0].code & -4096ul) - FAR);
	void *got = mmap(at, SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_equal(got, at);
	return at;
}

static struct state state_of(uint64_t round)
{
	struct state s = { .flags = 0x202 };
	uint64_t x = round * 0x9e3779b97f4a7c15 + 1;

	for (unsigned int i = 0; i < 15; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		s.regs[i] = x;
	}
	s.regs[2] = counts[round % (sizeof(counts) / sizeof(counts[0]))];	/* %rcx */
	s.flags |= x & 0x8d5 & ~0x10ul;		/* carry, parity, zero, sign, overflow */
	return s;
}

static struct state run(const void *code, uint64_t round, uint8_t *memory)
{
	struct state s = state_of(round);

	for (unsigned int i = 0; i < sizeof(relocate_data); i++)
		relocate_data[i] = (uint8_t)(round + i);
	case_run(code, &s);
	memcpy(memory, relocate_data, sizeof(relocate_data));
	return s;
}

static void same_as_before(const struct one_case *c, uint8_t *page)
{
	uint8_t before[64], after[64];
	struct relocated map;
	size_t len;

	memset(page, 0xcc, SIZE);
	len = relocate(c->code, (size_t)(c->end - c->code), (uintptr_t)c->code, (uintptr_t)page,
		       page, &map);
	if (!len)
		print_error("%s\n", c->name);
	assert_int_not_equal(len, 0);
	assert_true(len <= RELOCATE_MOST && page[len] == 0xcc);
	for (uint64_t round = 0; round < ROUNDS; round++) {
		const struct state own = run(c->code, round, before);
		const struct state moved = run(page, round, after);

		if (memcmp(&own, &moved, sizeof(own)) || memcmp(before, after, sizeof(before)))
			print_error("%s, round %d\n", c->name, (int)round);
		assert_memory_equal(&own, &moved, sizeof(own));
		assert_memory_equal(before, after, sizeof(before));
	}
}

static void moved_code_does_the_same(void **state)
{
	uint8_t *page = near_page();

	for (const struct one_case *c = relocate_cases; c < relocate_cases_end; c++)
		same_as_before(c, page);
	munmap(page, SIZE);
}

static void map_names_each_instruction(void **state)
{
	/* push %rbp; mov %rsp, %rbp; call; */
	static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0xe8, 0, 0, 0, 0 };
	uint8_t out[RELOCATE_MOST];
	struct relocated map;

	assert_int_equal(relocate(code, sizeof(code), 0x10000, 0x20000, out, &map), 4 + 18);
	assert_int_equal(map.nr, 3);
	assert_int_equal(map.old[2], 4);
	assert_int_equal(map.moved[2], 4);
	/* push $0x10009; movl $0, 4(%rsp); jmp 0x10009 */
	assert_memory_equal(out + 4, "\x68\x09\x00\x01\x00\xc7\x44\x24\x04\0\0\0\0\xe9", 14);
}

#define REFUSED(...) { { __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }) }

static void refused(void **state)
{
	static const struct {
		uint8_t	code[16];
		size_t	size;
	} cases[] = {
		REFUSED(0xff, 0xd0, 0x90, 0x90, 0x90),		/* call *%rax returns into them */
		REFUSED(0x90, 0x90, 0x90, 0xff, 0x14, 0x24),	/* call *(%rsp) */
		REFUSED(0x90, 0x90, 0x90, 0xff, 0xd4),		/* call *%rsp */
		REFUSED(0xcc, 0x90, 0x90, 0x90, 0x90),		/* int3 */
		REFUSED(0xcd, 0x80, 0x90, 0x90, 0x90),		/* int $0x80 */
		REFUSED(0xf4, 0x90, 0x90, 0x90, 0x90),		/* hlt */
		REFUSED(0xc7, 0xf8, 0, 0, 0, 0),		/* xbegin */
		REFUSED(0x66, 0xe9, 0, 0, 0x90, 0x90),		/* jmpw, or a jump on AMD */
		REFUSED(0x90, 0x90, 0xff, 0x2d, 0, 0, 0, 0),	/* ljmp */
		REFUSED(0x48, 0x8b, 0x05, 0, 0),		/* the end is missing */
		REFUSED(0x06, 0x90, 0x90, 0x90, 0x90),		/* no instruction */
		REFUSED(0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90),	/* too many */
	};
	uint8_t out[RELOCATE_MOST];
	struct relocated map;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(relocate(cases[i].code, cases[i].size, 0x10000, 0x20000, out,
					  &map), 0);
}

/* A call that returns behind the jump, which begins in front of it. */
static void call_behind_the_jump(void **state)
{
	static const uint8_t code[] = { 0xff, 0xd0 };	/* call *%rax */
	uint8_t out[RELOCATE_MOST];
	struct relocated map;

	assert_int_equal(relocate_behind(3, code, sizeof(code), 0x10003, 0x20000, out, &map), 15);
	/* push $0x10005; movl $0, 4(%rsp); jmp *%rax */
	assert_memory_equal(out, "\x68\x05\x00\x01\x00\xc7\x44\x24\x04\0\0\0\0\xff\xe0", 15);
	assert_int_equal(relocate_behind(2, code, sizeof(code), 0x10002, 0x20000, out, &map), 0);
}

static void too_far(void **state)
{
	static const uint8_t code[] = { 0x48, 0x8b, 0x05, 0, 0, 0, 0 };
	uint8_t out[RELOCATE_MOST];
	struct relocated map;

	assert_int_equal(relocate(code, sizeof(code), 0x10000, 0x7fff0000, out, &map), 12);
	assert_int_equal(relocate(code, sizeof(code), 0x10000, 0x80010010, out, &map), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moved_code_does_the_same),
		cmocka_unit_test(map_names_each_instruction),
		cmocka_unit_test(refused),
		cmocka_unit_test(call_behind_the_jump),
		cmocka_unit_test(too_far),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
