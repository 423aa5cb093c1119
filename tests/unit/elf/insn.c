/* SPDX-License-Identifier: MIT */
/*
 * insn.c - the lengths of instructions, compared with objdump's over whole libraries
 *
 * With arguments it compares these files, and prints of each FILE<TAB>INSTRUCTIONS<TAB>DIFFERENCES
 * and the first differences: tools/decoder.
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
#include "elf/code/insn.h"

enum { MOST = 16, FWAIT = 0x9b, LINE = 4096 };

/* Of ":<tab>48 89 e5<tab>mov ..."; data has no name, or is a .byte. */
static bool is_instruction(const char *bytes)
{
	const char *name = *bytes && bytes[1] ? strchr(bytes + 2, '\t') : NULL;

	return name && !strstr(name, "(bad)") && strncmp(name + 1, ".byte", 5) != 0;
}

/*
 * Returns the number of bytes of " addr: 48 89 e5 mov ..."; 0: another line, or data between
 * functions.
 */
static size_t bytes_of(const char *line, uint8_t *bytes)
{
	const char *at = strchr(line, ':');
	unsigned int byte;
	size_t n = 0;

	if (*line != ' ' || !at || !is_instruction(at))
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

/* The address that objdump shows behind the text: "# 1234 <..." or "jmp    1234 <...". */
static bool shown(const char *text, const char *sign, uint64_t *at)
{
	const char *found = strstr(text, sign);

	if (!found)
		return false;
	*at = strtoull(found + strlen(sign), NULL, 16);
	return true;
}

/* Whether the operand relative to rip, and the target of a jump, are where objdump says. */
static bool leads_there(const struct insn *in, const uint8_t *bytes, const char *line, size_t n)
{
	const uint64_t end = strtoull(line, NULL, 16) + n;
	const char *text = line + strlen(line);
	uint64_t at;

	if (shown(line, "# ", &at) != insn_rip_relative(in))
		return false;
	if (insn_rip_relative(in))
		return insn_rip_operand(in, bytes, end) == at;
	if (!insn_has_target(in))
		return true;
	/*
	 * "jmp    1234 <name+0x12>", or "jmp    0x1234" in a file without symbols: names have no
	 * blank, but C++ names are not demangled here.
	 */
	while (text > line && isspace((unsigned char)text[-1]))
		text--;
	while (text > line && !isspace((unsigned char)text[-1]))
		text--;
	if (*text == '<')
		for (text--; text > line && text[-1] != ' '; text--)
			;
	return insn_target(in, bytes, end) == strtoull(text, NULL, 16);
}

/* objdump shows a wait before an x87 instruction as a part of it. */
static bool is_same(const uint8_t *bytes, size_t n, const char *line)
{
	const size_t wait = n > 1 && *bytes == FWAIT;
	struct insn in;

	return insn_read(bytes + wait, n - wait, &in) && in.len == n - wait &&
	       !insn_read(bytes + wait, n - wait - 1, &(struct insn){ 0 }) &&
	       leads_there(&in, bytes + wait, line, n);
}

/* objdump shows prefixes alone where data is no instruction: "rex.RXB", "data16". */
static bool is_prefixes(const uint8_t *bytes, size_t n)
{
	static const uint8_t prefixes[] = { 0x66, 0x67, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0xf0,
					    0xf2, 0xf3 };

	while (n && ((bytes[n - 1] & 0xf0) == 0x40 ||
		     memchr(prefixes, bytes[n - 1], sizeof(prefixes))))
		n--;
	return !n;
}

struct compared {
	size_t		nr, nr_other;
	char		first[LINE];	/* the first line that is other */
};

/* quoted: the file's name as the shell wants it */
static struct compared compare(const char *quoted)
{
	struct compared c = { 0 };
	char command[2 * LINE], line[LINE];
	uint8_t bytes[MOST];
	FILE *f;

	snprintf(command, sizeof(command), "objdump -d -w --insn-width=16 %s", quoted);
	f = popen(command, "r");
	if (!f)
		return c;
	while (fgets(line, sizeof(line), f)) {
		const size_t n = bytes_of(line, bytes);

		if (!n || is_prefixes(bytes, n))
			continue;
		c.nr++;
		if (is_same(bytes, n, line))
			continue;
		if (!c.nr_other++)
			memcpy(c.first, line, sizeof(line));
	}
	if (pclose(f))
		c.nr = 0;
	return c;
}

static void compare_library(const char *library, size_t least)
{
	struct compared c;
	char quoted[LINE];

	snprintf(quoted, sizeof(quoted), "\"$(gcc -print-file-name=%s)\"", library);
	c = compare(quoted);
	if (c.nr_other)
		fail_msg("%s: %s", library, c.first);
	assert_true(c.nr > least);
}

/* -> the exit status */
static int compare_file(const char *path)
{
	struct compared c;
	char quoted[LINE];

	if (strchr(path, '\'') || strlen(path) > LINE - 3)
		return 1;
	snprintf(quoted, sizeof(quoted), "'%s'", path);
	c = compare(quoted);
	printf("%s\t%zu\t%zu\t%s", path, c.nr, c.nr_other, c.nr_other ? c.first : "\n");
	return !c.nr || c.nr_other;
}

static void as_objdump_says(void **state)
{
	compare_library("libc.so.6", 200000);		/* with AVX-512 */
	compare_library("libm.so.6", 50000);		/* x87, FMA */
	compare_library("libstdc++.so.6", 100000);
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
	{ "rep xcrypt-ecb of PadLock", 16, 4, INSN_0F, 0xa7, 0xc8, { 0xf3, 0x0f, 0xa7, 0xc8 } },
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

struct part {
	const char	*what;
	uint8_t		flow, prefix, rex, opcode_at, modrm_at;
	uint8_t		disp_at, disp_size, imm_at, imm_size;
	uint8_t		bytes[MOST];
};

static const struct part parts[] = {
	{ "mov 8(%rax), %rbx", INSN_NEXT, 0, 0x48, 1, 2, 3, 1, 0, 0, { 0x48, 0x8b, 0x58, 8 } },
	{ "movq $5, 16(%rip)", INSN_NEXT, 0, 0x48, 1, 2, 3, 4, 7, 4,
	  { 0x48, 0xc7, 0x05, 16, 0, 0, 0, 5 } },
	{ "mov 4(%rsp,%rax,8), %eax", INSN_NEXT, 0, 0, 0, 1, 3, 1, 0, 0, { 0x8b, 0x44, 0xc4, 4 } },
	{ "mov 4(,%rax,8), %eax", INSN_NEXT, 0, 0, 0, 1, 3, 4, 0, 0, { 0x8b, 0x04, 0xc5, 4 } },
	{ "movw $5, %fs:(%rax)", INSN_NEXT, INSN_66 | INSN_SEGMENT, 0, 2, 3, 0, 0, 4, 2,
	  { 0x64, 0x66, 0xc7, 0x00, 5, 0 } },
	{ "lock xadd", INSN_NEXT, INSN_LOCK, 0x48, 3, 4, 0, 0, 0, 0,
	  { 0xf0, 0x48, 0x0f, 0xc1, 0x06 } },
	{ "jmp", INSN_JUMP, 0, 0, 0, 0, 0, 0, 1, 4, { 0xe9 } },
	{ "short jmp", INSN_JUMP, 0, 0, 0, 0, 0, 0, 1, 1, { 0xeb } },
	{ "bnd jne", INSN_BRANCH, INSN_F2, 0, 2, 0, 0, 0, 3, 4, { 0xf2, 0x0f, 0x85 } },
	{ "short jne", INSN_BRANCH, 0, 0, 0, 0, 0, 0, 1, 1, { 0x75 } },
	{ "loop", INSN_LOOP, 0, 0, 0, 0, 0, 0, 1, 1, { 0xe2 } },
	{ "jecxz", INSN_LOOP, INSN_67, 0, 1, 0, 0, 0, 2, 1, { 0x67, 0xe3 } },
	{ "call", INSN_CALL, 0, 0, 0, 0, 0, 0, 1, 4, { 0xe8 } },
	{ "call *8(%rip)", INSN_CALL_INDIRECT, 0, 0, 0, 1, 2, 4, 0, 0, { 0xff, 0x15, 8 } },
	{ "notrack jmp *%rax", INSN_JUMP_INDIRECT, 0, 0, 1, 2, 0, 0, 0, 0, { 0x3e, 0xff, 0xe0 } },
	{ "ljmp *(%rax)", INSN_FAR, 0, 0, 0, 1, 0, 0, 0, 0, { 0xff, 0x28 } },
	{ "push (%rax)", INSN_NEXT, 0, 0, 0, 1, 0, 0, 0, 0, { 0xff, 0x30 } },
	{ "repz ret", INSN_RETURN, INSN_F3, 0, 1, 0, 0, 0, 0, 0, { 0xf3, 0xc3 } },
	{ "ret $8", INSN_RETURN, 0, 0, 0, 0, 0, 0, 1, 2, { 0xc2, 8 } },
	{ "lret", INSN_FAR, 0, 0, 0, 0, 0, 0, 0, 0, { 0xcb } },
	{ "iretq", INSN_FAR, 0, 0x48, 1, 0, 0, 0, 0, 0, { 0x48, 0xcf } },
	{ "syscall", INSN_SYSCALL, 0, 0, 1, 0, 0, 0, 0, 0, { 0x0f, 0x05 } },
	{ "int $0x80", INSN_SYSCALL, 0, 0, 0, 0, 0, 0, 1, 1, { 0xcd, 0x80 } },
	{ "int $3", INSN_TRAP, 0, 0, 0, 0, 0, 0, 1, 1, { 0xcd, 3 } },
	{ "int3", INSN_TRAP, 0, 0, 0, 0, 0, 0, 0, 0, { 0xcc } },
	{ "ud2", INSN_STOP, 0, 0, 1, 0, 0, 0, 0, 0, { 0x0f, 0x0b } },
	{ "hlt", INSN_STOP, 0, 0, 0, 0, 0, 0, 0, 0, { 0xf4 } },
	{ "xbegin", INSN_BEGIN, 0, 0, 0, 1, 0, 0, 2, 4, { 0xc7, 0xf8 } },
	{ "endbr64", INSN_NEXT, INSN_F3, 0, 2, 3, 0, 0, 0, 0, { 0xf3, 0x0f, 0x1e, 0xfa } },
	{ "vpalignr with a displacement", INSN_NEXT, 0, 0, 3, 4, 5, 4, 9, 1,
	  { 0xc4, 0xe3, 0x79, 0x0f, 0x05, 1, 2, 3, 4, 8 } },
	{ "the same opcode number in VEX is no jump", INSN_NEXT, 0, 0, 2, 3, 0, 0, 0, 0,
	  { 0xc5, 0xf8, 0xe8, 0xc1 } },
	{ "bextr of XOP", INSN_NEXT, 0, 0, 3, 4, 0, 0, 5, 4, { 0x8f, 0xea, 0x78, 0x10, 0xc1, 1 } },
	{ "vpcomb of XOP", INSN_NEXT, 0, 0, 3, 4, 0, 0, 5, 1, { 0x8f, 0xe8, 0x78, 0xcc, 0xc1, 1 } },
	{ "pop (%rax)", INSN_NEXT, 0, 0, 0, 1, 0, 0, 0, 0, { 0x8f, 0x00 } },
};

static void parts_and_flow(void **state)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const struct part *p = &parts[i];
		struct insn in;

		if (!insn_read(p->bytes, MOST, &in))
			fail_msg("%s", p->what);
		if (in.flow != p->flow || in.prefix != p->prefix || in.rex != p->rex ||
		    in.opcode_at != p->opcode_at || in.modrm_at != p->modrm_at)
			fail_msg("%s: flow %d, prefix %x, rex %x, at %d, %d", p->what, in.flow,
				 in.prefix, in.rex, in.opcode_at, in.modrm_at);
		if (in.disp_at != p->disp_at || in.disp_size != p->disp_size ||
		    in.imm_at != p->imm_at || in.imm_size != p->imm_size)
			fail_msg("%s: displacement %d %d, immediate %d %d", p->what, in.disp_at,
				 in.disp_size, in.imm_at, in.imm_size);
	}
}

static void what_has_no_effect(void **state)
{
	static const uint8_t padding[][MOST] = { { 0x90 }, { 0xcc }, { 0x66, 0x90 }, { 0x87, 0xc0 },
		{ 0x66, 0x2e, 0x0f, 0x1f, 0x84 } };
	static const uint8_t others[][MOST] = { { 0x41, 0x90 }, { 0x87, 0xc1 },
		{ 0xc5, 0xf8, 0x1f } };
	struct insn in;

	for (size_t i = 0; i < sizeof(padding) / sizeof(padding[0]); i++)
		assert_true(insn_read(padding[i], MOST, &in) && insn_is_padding(&in));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_true(insn_read(others[i], MOST, &in) && !insn_is_padding(&in));
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

int main(int argc, char **argv)
{
	int status = 0;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_objdump_says),
		cmocka_unit_test(one_by_one),
		cmocka_unit_test(parts_and_flow),
		cmocka_unit_test(what_has_no_effect),
		cmocka_unit_test(no_byte_behind),
	};

	if (argc == 1)
		return cmocka_run_group_tests(tests, NULL, NULL);
	for (int i = 1; i < argc; i++)
		status |= compare_file(argv[i]);
	return status;
}
