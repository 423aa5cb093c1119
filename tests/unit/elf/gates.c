/* SPDX-License-Identifier: MIT */
/* gates.c - tests for elf/gates.c: a fixture whose gates are known, and the machine's own libc */
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "elf/code/code.h"
#include "elf/code/insn.h"
#include "elf/gates.h"

struct opened {
	struct image	im;
	void		*memory;
	struct gate	*gates;
	size_t		nr;
};

static bool open_file(struct opened *o, const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *bytes;
	size_t size;

	*o = (struct opened){ .nr = 0 };
	if (fd < 0 || fstat(fd, &st))
		return false;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	assert_ptr_not_equal(bytes, MAP_FAILED);
	if (!image_open(&o->im, bytes, (size_t)st.st_size))
		return false;
	size = gates_room(&o->im);
	o->memory = calloc(1, size ? size : 1);
	assert_non_null(o->memory);
	o->nr = gates_find(&o->im, o->memory, size, &o->gates);
	return o->nr;
}

static void close_file(struct opened *o)
{
	munmap((void *)(uintptr_t)o->im.file, o->im.size);
	free(o->memory);
}

/* ---- The fixture ---- */

/* name, why, number, bytes before, bytes after, moves */
#define GATES(X)							\
	X(usual, GATE_GOOD, 257, 5, 6, false)				\
	X(start, GATE_GOOD, 0, 2, 6, true)				\
	X(behind, GATE_GOOD, 14, 5, 0, true)				\
	X(target, GATE_TARGET, GATE_NO_NUMBER, 0, 0, false)		\
	X(leaves, GATE_GOOD, 231, 5, 0, false)				\
	X(unknown, GATE_GOOD, GATE_NO_NUMBER, 6, 6, false)		\
	X(early, GATE_GOOD, 202, 5, 6, false)				\
	X(after_call, GATE_GOOD, GATE_NO_NUMBER, 6, 6, false)		\
	X(anywhere, GATE_BEFORE, 0, 0, 0, false)			\
	X(anywhere_good, GATE_GOOD, 202, 7, 6, false)			\
	X(half, GATE_GOOD, 56, 5, 5, false)				\
	X(inside, GATE_NOT_START, GATE_NO_NUMBER, 0, 0, false)		\
	X(signal_frame, GATE_SIGNAL_FRAME, GATE_NO_NUMBER, 0, 0, false)	\
	X(two_second, GATE_BEFORE, 102, 0, 0, false)

#define X(name, ...) extern const char gate_##name[];
GATES(X)
#undef X
extern const char gate_short[], gate_elsewhere[], gate_two_first[];

/* In data: an instruction with such an address would count as a jump there. */
enum known {
#define X(name, ...) KNOWN_##name,
	GATES(X)
#undef X
	KNOWN_short, KNOWN_elsewhere, KNOWN_two_first
};

static const void *volatile const labels[] = {
#define X(name, ...) gate_##name,
	GATES(X)
#undef X
	gate_short, gate_elsewhere, gate_two_first
};

static int base_of(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(uintptr_t *)arg = info->dlpi_addr;
	return 1;
}

static const struct gate *gate_at(const struct opened *o, enum known which)
{
	uintptr_t base = 0;

	dl_iterate_phdr(base_of, &base);
	for (size_t i = 0; i < o->nr; i++)
		if (o->gates[i].at == (uintptr_t)labels[which] - base)
			return &o->gates[i];
	return NULL;
}

static void known_gates(void **state)
{
	struct opened o;

	(void)state;
	assert_true(open_file(&o, "/proc/self/exe"));
#define X(name, reason, nr, in_front, behind, moved)		\
	{								\
		const struct gate *g = gate_at(&o, KNOWN_##name);	\
									\
		print_message("%s\n", #name);				\
		assert_non_null(g);					\
		assert_int_equal(g->why, reason);			\
		assert_int_equal(g->number, nr);			\
		if (g->why == GATE_GOOD) {				\
			assert_int_equal(g->before, in_front);		\
			assert_int_equal(g->after, behind);		\
			assert_int_equal(g->moves, moved);		\
		}							\
	}
	GATES(X)
#undef X
	/* Where functions are known, each pair of bytes has an entry. */
	assert_int_equal(gates_guess(&o.im), o.nr);
	close_file(&o);
}

static void padding_is_used(void **state)
{
	const struct gate *g;
	struct opened o;

	(void)state;
	assert_true(open_file(&o, "/proc/self/exe"));
	g = gate_at(&o, KNOWN_short);
	assert_non_null(g);
	assert_int_equal(g->why, GATE_GOOD);
	assert_int_equal(g->number, 39);
	assert_false(g->moves);
	assert_in_range(g->after, 5, 20);
	close_file(&o);
}

static void jumps_from_other_functions(void **state)
{
	const struct gate *g;
	struct opened o;

	(void)state;
	assert_true(open_file(&o, "/proc/self/exe"));
	g = gate_at(&o, KNOWN_elsewhere);
	assert_non_null(g);
	assert_int_equal(g->why, GATE_TARGET);
	close_file(&o);
}

/* The first one gets the instruction between them. */
static void bytes_belong_to_one_gate(void **state)
{
	const struct gate *first, *second;
	struct opened o;

	(void)state;
	assert_true(open_file(&o, "/proc/self/exe"));
	first = gate_at(&o, KNOWN_two_first);
	second = gate_at(&o, KNOWN_two_second);
	assert_non_null(first);
	assert_non_null(second);
	assert_int_equal(first->why, GATE_GOOD);
	assert_true(first->at + GATE_SIZE + first->after <= second->at - second->before);
	close_file(&o);
}

/* ---- libc ---- */

static bool open_code(struct code_file *code, struct opened *o, void **memory)
{
	const size_t size = code_room(&o->im);

	*memory = size ? calloc(1, size + 16) : NULL;
	return *memory && code_open(code, &o->im, *memory, size);
}

static uint8_t mark(const struct code_file *code, uint64_t at)
{
	const struct code_segment *s = code_segment_at(code, at);

	assert_non_null(s);
	return s->marks[at - s->low];
}

/* The analysis of the whole file knows more: what data refers to, jump tables. */
static void check_gate(const struct code_file *code, const struct gate *g)
{
	const uint64_t from = g->at - g->before, end = g->at + GATE_SIZE + g->after;

	assert_true(g->number == GATE_NO_NUMBER || (g->number >= 0 && g->number < 512));
	for (uint64_t at = from + 1; at < from + 5; at++)
		if (at < end && mark(code, at) & CODE_COVERED)
			assert_false(mark(code, at) & CODE_TARGET);
	if (mark(code, g->at) & CODE_COVERED) {
		assert_true(mark(code, g->at) & CODE_START);
		assert_true(mark(code, from) & CODE_START);
	}
	if (!g->moves)
		for (uint64_t at = g->at + GATE_SIZE; at < g->at + GATE_SIZE + 5 && g->after; at++)
			if (mark(code, at) & CODE_COVERED)
				assert_false(mark(code, at) & CODE_TARGET);
}

static int path_of(struct dl_phdr_info *info, size_t size, void *arg)
{
	char *path = arg;

	(void)size;
	if (!strstr(info->dlpi_name, "/libc.so.6"))
		return 0;
	strncpy(path, info->dlpi_name, 4095);
	return 1;
}

static void gates_of_libc(void **state)
{
	char path[4096] = "";
	struct code_file code;
	size_t good = 0, bad = 0;
	struct opened o;
	void *memory;

	(void)state;
	if (!dl_iterate_phdr(path_of, path) || !open_file(&o, path)) {
		print_message("libc is not libc.so.6\n");
		skip();
	}
	assert_true(open_code(&code, &o, &memory));
	for (size_t i = 0; i < o.nr; i++) {
		const struct gate *g = &o.gates[i];

		if (g->why == GATE_NOT_START || g->why == GATE_SIGNAL_FRAME)
			continue;
		good += !g->why;
		bad += g->why != GATE_GOOD;
		if (!g->why)
			check_gate(&code, g);
	}
	print_message("%zu good, %zu bad\n", good, bad);
	assert_true(good > 300);
	assert_true(bad * 50 < good);
	free(memory);
	close_file(&o);
}

/* ---- Hostile files ---- */

static void any_bytes(void **state)
{
	struct opened o;
	uint8_t *copy;
	uint32_t seed = 1;

	(void)state;
	assert_true(open_file(&o, "/proc/self/exe"));
	copy = malloc(o.im.size);
	assert_non_null(copy);
	for (int round = 0; round < 200; round++) {
		struct gate *gates;
		struct image im;
		void *memory;
		size_t size;

		memcpy(copy, o.im.file, o.im.size);
		for (int i = 0; i < 400; i++) {
			seed = seed * 1664525 + 1013904223;
			copy[64 + seed % (o.im.size - 64)] = (uint8_t)(seed >> 24);
		}
		if (!image_open(&im, copy, o.im.size))
			continue;
		size = gates_room(&im);
		memory = calloc(1, size ? size : 1);
		assert_non_null(memory);
		gates_find(&im, memory, size, &gates);
		free(memory);
	}
	free(copy);
	close_file(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_gates),
		cmocka_unit_test(padding_is_used),
		cmocka_unit_test(jumps_from_other_functions),
		cmocka_unit_test(bytes_belong_to_one_gate),
		cmocka_unit_test(gates_of_libc),
		cmocka_unit_test(any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
