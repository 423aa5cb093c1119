/* SPDX-License-Identifier: MIT */
/*
 * instruction.c - the lengths of instructions, compared with objdump's over whole libraries
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "agent/x86_64/instruction.h"

enum { MOST = 16, FWAIT = 0x9b };

/*
 * Returns the number of bytes of " addr: 48 89 e5 mov ..."; 0: another line, or data between
 * functions.
 */
static size_t bytes_of(const char *line, uint8_t *bytes)
{
	const char *at = strchr(line, ':');
	unsigned int byte;
	size_t n = 0;

	if (*line != ' ' || !at || strstr(line, "(bad)"))
		return 0;
	for (at++; isspace((unsigned char)*at); at++)
		;
	while (n < MOST && sscanf(at, "%2x", &byte) == 1 && isxdigit((unsigned char)at[1]) &&
	       at[2] == ' ') {
		bytes[n++] = (uint8_t)byte;
		at += 3;
	}
	return n;
}

/* objdump shows a wait before an x87 instruction as a part of it. */
static bool is_same(const uint8_t *bytes, size_t n)
{
	const size_t wait = n > 1 && *bytes == FWAIT;
	struct insn in;

	return insn_read(bytes + wait, n - wait, &in) && in.len == n - wait &&
	       !insn_read(bytes + wait, n - wait - 1, &in);
}

static void compare(const char *library, size_t least)
{
	char command[256], line[512];
	uint8_t bytes[MOST];
	size_t nr = 0, n;
	FILE *f;

	snprintf(command, sizeof(command),
		 "objdump -d -w --insn-width=16 \"$(gcc -print-file-name=%s)\"", library);
	f = popen(command, "r");
	assert_non_null(f);
	for (; fgets(line, sizeof(line), f); nr += n != 0) {
		n = bytes_of(line, bytes);
		if (n && !is_same(bytes, n))
			fail_msg("%s: %s", library, line);
	}
	assert_int_equal(pclose(f), 0);
	assert_true(nr > least);
}

static void as_objdump_says(void **state)
{
	compare("libc.so.6", 200000);		/* with AVX-512 */
	compare("libm.so.6", 50000);		/* x87, FMA */
	compare("libstdc++.so.6", 100000);
}

struct one {
	const char	*what;
	uint8_t		room, len;	/* 0: not an instruction */
	uint8_t		map, opcode, modrm;
	uint8_t		bytes[MOST];
};

static const struct one ones[] = {
	{ "jmp *%rax", 16, 2, INSN_BYTE, 0xff, 0xe0, { 0xff, 0xe0 } },
	{ "notrack jmp *%r11", 16, 4, INSN_BYTE, 0xff, 0xe3, { 0x3e, 0x41, 0xff, 0xe3 } },
	{ "bnd jmp *0x2(%rip)", 16, 7, INSN_BYTE, 0xff, 0x25, { 0xf2, 0xff, 0x25, 2 } },
	{ "jne", 16, 6, INSN_0F, 0x85, 0, { 0x0f, 0x85, 1, 2, 3, 4 } },
	{ "movabs to a register", 16, 10, INSN_BYTE, 0xb8, 0, { 0x48, 0xb8 } },
	{ "a REX prefix before 66 does nothing", 16, 5, INSN_BYTE, 0xb8, 0, { 0x48, 0x66, 0xb8 } },
	{ "movabs from an address", 16, 9, INSN_BYTE, 0xa0, 0, { 0xa0 } },
	{ "mov from a short address", 16, 6, INSN_BYTE, 0xa0, 0, { 0x67, 0xa0 } },
	{ "test with 4 bytes", 16, 6, INSN_BYTE, 0xf7, 0xc0, { 0xf7, 0xc0 } },
	{ "neg", 16, 2, INSN_BYTE, 0xf7, 0xd8, { 0xf7, 0xd8 } },
	{ "enter", 16, 4, INSN_BYTE, 0xc8, 0, { 0xc8 } },
	{ "pshufb", 16, 5, INSN_0F38, 0, 0xc1, { 0x66, 0x0f, 0x38, 0x00, 0xc1 } },
	{ "palignr", 16, 6, INSN_0F3A, 0x0f, 0xc1, { 0x66, 0x0f, 0x3a, 0x0f, 0xc1, 8 } },
	{ "vzeroupper", 16, 3, INSN_VECTOR, 0x77, 0, { 0xc5, 0xf8, 0x77 } },
	{ "push of AVX-512",
	 16,
	 11,
	 INSN_VECTOR,
	 0x7f,
	 0x84,
	 { 0x62, 0xf1, 0xfe, 0x48, 0x7f, 0x84, 0x24, 1, 2, 3, 4 } },
	{ "only prefixes",
	 16,
	 0,
	 0,
	 0,
	 0,
	 { 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
	  0x66 } },
	{ "longer than one may be",
	 16,
	 0,
	 0,
	 0,
	 0,
	 { 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
	  0xbe } },
	{ "push %es", 16, 0, 0, 0, 0, { 0x06 } },
	{ "cut off", 4, 0, 0, 0, 0, { 0xe9, 1, 2, 3 } },
	{ "nothing", 0, 0, 0, 0, 0, { 0x90 } },
};

static void one_by_one(void **state)
{
	for (size_t i = 0; i < sizeof(ones) / sizeof(ones[0]); i++) {
		const struct one *o = &ones[i];
		struct insn in;

		if (insn_read(o->bytes, o->room, &in) != !!o->len)
			fail_msg("%s", o->what);
		if (o->len && (in.len != o->len || in.map != o->map || in.opcode != o->opcode ||
			       in.modrm != o->modrm))
			fail_msg("%s: %d bytes, map %d, %02x %02x", o->what, in.len, in.map,
				 in.opcode, in.modrm);
	}
}

/* The sanitizers check each read. */
static void no_byte_behind(void **state)
{
	uint32_t random = 1;

	for (int round = 0; round < 200000; round++) {
		size_t room = random >> 8 & 15;
		uint8_t *bytes = malloc(room + !room);
		struct insn in;

		for (size_t i = 0; i < room; i++) {
			random = random * 1664525 + 1013904223;
			bytes[i] = (uint8_t)(random >> 24);
		}
		if (insn_read(bytes, room, &in))
			assert_in_range(in.len, 1, room);
		random = random * 1664525 + 1013904223;
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_objdump_says),
		cmocka_unit_test(one_by_one),
		cmocka_unit_test(no_byte_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
