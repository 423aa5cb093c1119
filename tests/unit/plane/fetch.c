/* SPDX-License-Identifier: MIT */
/*
 * fetch.c - the ops of a probe's code: what each stores in the record, and what stands there if
 * memory cannot be read
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "agent/x86_64/vectors.h"
#include "plane/fetch.h"

enum { BIAS = 0x7f0000000000, FIRST = 16, SIZE = 8192 };

/* The program's memory: addresses 4096 to 12287. All others cannot be read. */
static char memory[SIZE];
static uint64_t furthest;	/* behind the last byte that was asked for */

static struct probe_registers regs, entry;
static bool has_segment;
static char record[8192] __attribute__((aligned(8)));

static uint32_t load(void *arg, void *to, uint64_t from, uint32_t size)
{
	uint32_t n = 0;

	assert_ptr_equal(arg, memory);
	if (from + size > furthest)
		furthest = from + size;
	for (; n < size && from + n >= 4096 && from + n < 4096 + SIZE; n++)
		((char *)to)[n] = memory[from + n - 4096];
	return n;
}

static uint64_t session(void *arg, uint64_t address)
{
	assert_ptr_equal(arg, memory);
	return address + 0x1000000;
}

static uint64_t vector(void *arg, unsigned int number)
{
	assert_ptr_equal(arg, memory);
	return 0x1000 + number;
}

static bool segment(void *arg, uint64_t *base)
{
	assert_ptr_equal(arg, memory);
	*base = 0x700;
	return has_segment;
}

/* Runs at most 7 ops, with `texts` fields of texts. */
static uint32_t run(const struct fetch_op *ops, unsigned int nr, uint16_t size, uint32_t flags,
		    uint32_t room)
{
	const struct fetch_hit hit = {
		.regs = &regs, .entry = &entry, .bias = BIAS, .function = 0x4444,
		.comm = "sqlite3", .load = load, .session = session, .arg = memory,
		.vector = vector, .segment = segment };
	struct fetch_code *code = calloc(1, sizeof(*code) + (nr + 1) * sizeof(*ops) + 8);
	uint32_t used;

	memset(record, 0x55, sizeof(record));
	code->nr_ops = nr + 1;
	code->head = flags & FETCH_OF_RETURN ? 24 : FIRST;
	code->size = size;
	code->flags = flags;
	memcpy(code->ops, ops, nr * sizeof(*ops));
	strcpy((char *)&code->ops[nr + 1], "const");
	used = fetch_run(code, &hit, record, room);
	free(code);
	return used;
}

static uint64_t word(unsigned int at)
{
	uint64_t v;

	memcpy(&v, record + at, sizeof(v));
	return v;
}

static uint32_t loc(unsigned int at)
{
	uint32_t v;

	memcpy(&v, record + at, sizeof(v));
	return v;
}

#define RUN(size, flags, ...)							\
	({ const struct fetch_op ops_[] = { __VA_ARGS__ };			\
	   run(ops_, sizeof(ops_) / sizeof(ops_[0]), size, flags, sizeof(record)); })

static int set_up(void **state)
{
	memset(memory, 0, sizeof(memory));
	for (unsigned int i = 0; i < FETCH_REGISTERS; i++) {
		regs.r[i] = 0x1111 * (i + 1);
		entry.r[i] = 0x100 + i;
	}
	regs.r[FETCH_RSP] = 4096 + 64;
	furthest = 0;
	return 0;
}

static void head_has_the_addresses_of_the_place(void **state)
{
	const struct fetch_op none = { .kind = FETCH_END };

	assert_int_equal(run(&none, 0, 16, 0, 16), 16);
	assert_int_equal(word(8), regs.r[FETCH_RIP]);
	assert_int_equal(word(0), 0x5555555555555555);
	assert_int_equal(run(&none, 0, 16, FETCH_SESSION_PLACE, 16), 16);
	assert_int_equal(word(8), regs.r[FETCH_RIP] + 0x1000000);
	assert_int_equal(run(&none, 0, 24, FETCH_OF_RETURN, 24), 24);
	assert_int_equal(word(8), 0x4444);
	assert_int_equal(word(16), regs.r[FETCH_RIP]);
	assert_int_equal(word(24), 0x5555555555555555);
}

static void record_that_does_not_fit_is_not_begun(void **state)
{
	const struct fetch_op none = { .kind = FETCH_END };

	assert_int_equal(run(&none, 0, 24, 0, 23), 0);
	assert_int_equal(word(8), 0x5555555555555555);
}

static void values_are_stored_in_their_size(void **state)
{
	regs.r[FETCH_RDI] = 0x8877665544332211;
	assert_int_equal(RUN(31, 0,
		{ .kind = FETCH_STORE_REGISTER, .reg = FETCH_RDI, .size = 1, .off = 16 },
		{ .kind = FETCH_STORE_REGISTER, .reg = FETCH_RDI, .size = 2, .off = 17 },
		{ .kind = FETCH_STORE_REGISTER, .reg = FETCH_RDI, .size = 4, .off = 19 },
		{ .kind = FETCH_REGISTER, .reg = FETCH_RDI },
		{ .kind = FETCH_STORE, .size = 8, .off = 23 }), 31);
	assert_memory_equal(record + 16, "\x11\x11\x22\x11\x22\x33\x44", 7);
	assert_int_equal(word(23), 0x8877665544332211);
	assert_int_equal((unsigned char)record[31], 0x55);
}

static void values_come_from_where_the_op_says(void **state)
{
	memory[64 + 16] = 7;
	RUN(56, 0,
	    { .kind = FETCH_IN_FILE, .imm = 0x1234 },
	    { .kind = FETCH_STORE, .size = 8, .off = 16 },
	    { .kind = FETCH_STACK, .imm = 16 },
	    { .kind = FETCH_STORE, .size = 8, .off = 24 },
	    { .kind = FETCH_ENTRY_WORD, .reg = FETCH_RSI },
	    { .kind = FETCH_STORE, .size = 8, .off = 32 },
	    { .kind = FETCH_NUMBER, .imm = -2 },
	    { .kind = FETCH_ADD, .reg = FETCH_RBX, .imm = 8 },
	    { .kind = FETCH_STORE, .size = 8, .off = 40 },
	    { .kind = FETCH_SESSION },
	    { .kind = FETCH_STORE, .size = 8, .off = 48 });
	assert_int_equal(word(16), BIAS + 0x1234);
	assert_int_equal(word(24), 7);
	assert_int_equal(word(32), 0x100 + FETCH_RSI);
	assert_int_equal(word(40), 8 * regs.r[FETCH_RBX] - 2);
	assert_int_equal(word(48), word(40) + 0x1000000);
	regs.r[FETCH_RSP] = 8;
	RUN(24, 0, { .kind = FETCH_STACK }, { .kind = FETCH_STORE, .size = 8, .off = 16 });
	assert_int_equal(word(16), 0);
}

static void vector_registers_are_the_program_s(void **state)
{
	unsigned char area[512] = { 0 };
	const double number = 2.5;
	uint64_t first, second;

	RUN(28, 0, { .kind = FETCH_VECTOR, .reg = 5 },
	    { .kind = FETCH_STORE, .size = 8, .off = 16 },
	    { .kind = FETCH_VECTOR, .reg = 31 }, { .kind = FETCH_STORE, .size = 4, .off = 24 });
	assert_int_equal(word(16), 0x1005);
	assert_int_equal(loc(24), 0x101f);
	/* As the agent has them: saved, or still in the processor. */
	memcpy(area + 160 + 16 * 15, &number, sizeof(number));
	first = vector_saved(area, 15, sizeof(area));
	assert_memory_equal(&first, &number, sizeof(number));
	__asm__ volatile("movq %0, %%xmm15; movq %1, %%xmm9" :: "r"(0x1234ul), "r"(0x99ul)
			 : "xmm9", "xmm15");
	first = vector_word(15);
	second = vector_word(9);
	assert_int_equal(first, 0x1234);
	assert_int_equal(second, 0x99);
}

static void segment_s_base_or_nothing(void **state)
{
	for (int has = 0; has < 2; has++) {
		has_segment = has;
		RUN(24, FETCH_CLEARS, { .kind = FETCH_NUMBER, .imm = 7 },
		    { .kind = FETCH_SEGMENT, .next = 3 },
		    { .kind = FETCH_STORE, .size = 8, .off = 16 });
		assert_int_equal(word(16), has ? 0x707 : 0);
	}
}

static void parts_of_a_value_keep_their_sign(void **state)
{
	regs.r[FETCH_RAX] = 0x12345678abcd8199;
	RUN(40, 0,
	    { .kind = FETCH_REGISTER, .reg = FETCH_RAX },
	    { .kind = FETCH_PART, .size = 1, .bit = 8, .is_signed = 1 },
	    { .kind = FETCH_STORE, .size = 8, .off = 16 },
	    { .kind = FETCH_REGISTER, .reg = FETCH_RAX },
	    { .kind = FETCH_PART, .size = 4 },
	    { .kind = FETCH_STORE, .size = 8, .off = 24 },
	    { .kind = FETCH_REGISTER, .reg = FETCH_RAX },
	    { .kind = FETCH_PART, .size = 4, .is_signed = 1 },
	    { .kind = FETCH_STORE, .size = 8, .off = 32 });
	assert_int_equal(word(16), (uint64_t)-0x7f);
	assert_int_equal(word(24), 0xabcd8199);
	assert_int_equal(word(32), 0xffffffffabcd8199);
}

static void load_follows_pointers(void **state)
{
	memcpy(memory + 8, &(uint64_t){ 4096 + 100 }, 8);
	memcpy(memory + 104, "\xfe\xff\xff\xff", 4);
	regs.r[FETCH_RDI] = 4096;
	RUN(24, FETCH_CLEARS,
	    { .kind = FETCH_REGISTER, .reg = FETCH_RDI },
	    { .kind = FETCH_LOAD, .size = 8, .imm = 8, .next = 4 },
	    { .kind = FETCH_LOAD, .size = 4, .imm = 4, .is_signed = 1, .next = 4 },
	    { .kind = FETCH_STORE, .size = 8, .off = 16 });
	assert_int_equal(word(16), (uint64_t)-2);
	regs.r[FETCH_RDI] = 0;
	RUN(24, FETCH_CLEARS,
	    { .kind = FETCH_REGISTER, .reg = FETCH_RDI },
	    { .kind = FETCH_LOAD, .size = 8, .imm = 8, .next = 4 },
	    { .kind = FETCH_LOAD, .size = 4, .imm = 4, .is_signed = 1, .next = 4 },
	    { .kind = FETCH_STORE, .size = 8, .off = 16 });
	assert_int_equal(word(16), 0);
}

static void copy_fills_with_zeros_what_cannot_be_read(void **state)
{
	memset(memory + SIZE - 4, 0x66, 4);
	regs.r[FETCH_RDI] = 4096 + SIZE;
	RUN(24, 0,
	    { .kind = FETCH_REGISTER, .reg = FETCH_RDI },
	    { .kind = FETCH_COPY, .len = 8, .imm = -4, .off = 16 });
	assert_int_equal(word(16), 0x66666666);
}

static void bits_are_cut_out_of_each_element(void **state)
{
	memcpy(memory, "\xf0\x12\xab\xcd", 4);
	RUN(20, 0,
	    { .kind = FETCH_NUMBER, .imm = 4096 },
	    { .kind = FETCH_COPY, .len = 4, .off = 16 },
	    { .kind = FETCH_BITS, .len = 2, .size = 2, .bit = 4, .width = 8, .off = 16 });
	assert_memory_equal(record + 16, "\x2f\x00\xda\x00", 4);
}

static void texts_follow_the_record_in_order(void **state)
{
	strcpy(memory + 10, "first");
	assert_int_equal(RUN(32, 0,
		{ .kind = FETCH_NUMBER, .imm = 4096 },
		{ .kind = FETCH_TEXT, .imm = 10, .off = 16 },
		{ .kind = FETCH_TEXT, .imm = 20000, .off = 20 },
		{ .kind = FETCH_COMM, .off = 24 },
		{ .kind = FETCH_CONSTANT, .len = 6, .off = 28,
		  .imm = (int64_t)(sizeof(struct fetch_code) + 6 * sizeof(struct fetch_op)) }),
		32 + 6 + 8 + 6);
	assert_int_equal(loc(16), 6 << 16 | 32);
	assert_int_equal(loc(20), 0 << 16 | 38);
	assert_int_equal(loc(24), 8 << 16 | 38);
	assert_int_equal(loc(28), 6 << 16 | 46);
	assert_memory_equal(record + 32, "first\0sqlite3\0const", 20);
}

static void empty_text_has_its_zero(void **state)
{
	assert_int_equal(RUN(20, 0,
		{ .kind = FETCH_NUMBER, .imm = 4096 }, { .kind = FETCH_TEXT, .off = 16 }), 21);
	assert_int_equal(loc(16), 1 << 16 | 20);
	assert_int_equal(record[20], 0);
}

static void symbol_is_an_address_as_text(void **state)
{
	assert_int_equal(RUN(24, 0,
		{ .kind = FETCH_NUMBER, .imm = 0x1f }, { .kind = FETCH_SYMBOL, .off = 16 },
		{ .kind = FETCH_NUMBER, .imm = -1 }, { .kind = FETCH_SYMBOL, .off = 20 }),
		24 + 5 + 19);
	assert_string_equal(record + 24, "0x1f");
	assert_string_equal(record + 29, "0xffffffffffffffff");
}

/* The page behind the one where the text ends may be missing. */
static void text_is_not_read_beyond_its_page(void **state)
{
	strcpy(memory + SIZE - 6, "12345");
	assert_int_equal(RUN(20, 0, { .kind = FETCH_NUMBER, .imm = 4096 + SIZE - 6 },
			     { .kind = FETCH_TEXT, .off = 16 }), 26);
	assert_string_equal(record + 20, "12345");
	assert_int_equal(furthest, 4096 + SIZE);
	/* Without its 0 it goes on behind the memory that is there. */
	memory[SIZE - 1] = '6';
	assert_int_equal(RUN(20, 0, { .kind = FETCH_NUMBER, .imm = 4096 + SIZE - 6 },
			     { .kind = FETCH_TEXT, .off = 16 }), 20);
	assert_int_equal(loc(16), 0 << 16 | 20);
}

static void long_text_ends_at_the_room_or_the_limit(void **state)
{
	const struct fetch_op ops[] = {
		{ .kind = FETCH_NUMBER, .imm = 4096 }, { .kind = FETCH_TEXT, .off = 16 },
		{ .kind = FETCH_TEXT, .off = 20 },
	};

	memset(memory, 'a', SIZE);
	assert_int_equal(run(ops, 2, 20, 0, sizeof(record)), 20 + FETCH_TEXT_MAX);
	assert_int_equal(strlen(record + 20), FETCH_TEXT_MAX - 1);
	assert_int_equal(run(ops, 3, 24, 0, 64), 64);
	assert_int_equal(loc(16), 40 << 16 | 24);
	assert_int_equal(loc(20), 0 << 16 | 64);
	assert_int_equal(strlen(record + 24), 39);
	assert_int_equal((unsigned char)record[64], 0x55);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(head_has_the_addresses_of_the_place, set_up),
		cmocka_unit_test_setup(record_that_does_not_fit_is_not_begun, set_up),
		cmocka_unit_test_setup(values_are_stored_in_their_size, set_up),
		cmocka_unit_test_setup(values_come_from_where_the_op_says, set_up),
		cmocka_unit_test_setup(vector_registers_are_the_program_s, set_up),
		cmocka_unit_test_setup(segment_s_base_or_nothing, set_up),
		cmocka_unit_test_setup(parts_of_a_value_keep_their_sign, set_up),
		cmocka_unit_test_setup(load_follows_pointers, set_up),
		cmocka_unit_test_setup(copy_fills_with_zeros_what_cannot_be_read, set_up),
		cmocka_unit_test_setup(bits_are_cut_out_of_each_element, set_up),
		cmocka_unit_test_setup(texts_follow_the_record_in_order, set_up),
		cmocka_unit_test_setup(empty_text_has_its_zero, set_up),
		cmocka_unit_test_setup(symbol_is_an_address_as_text, set_up),
		cmocka_unit_test_setup(text_is_not_read_beyond_its_page, set_up),
		cmocka_unit_test_setup(long_text_ends_at_the_room_or_the_limit, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
