/* SPDX-License-Identifier: MIT */
/*
 * choices.c - the functions that an indirect function (IFUNC) may stand for
 *
 * The code of its resolver takes their addresses, looks at the processor and returns one of them.
 * What the code of this file takes is read here. An address that it loads from memory is not found.
 */
#include <stdlib.h>
#include <string.h>

#include "elf/code/insn.h"
#include "elf/file.h"

enum { RESOLVER_MOST = 4096, LEA = 0x8d, MOV_FIRST = 0xb8, MOV_LAST = 0xbf };

struct choices {
	struct image	*image;
	uint64_t	v[ELF_CHOICES];
	size_t		nr;
};

static bool is_in_code(struct image *im, uint64_t at)
{
	size_t size = 1;
	uint32_t flags;

	return image_address(im, at, &size, &flags) && size && flags & PF_X;
}

static void choice_add(struct choices *c, uint64_t at)
{
	for (size_t i = 0; i < c->nr; i++)
		if (c->v[i] == at)
			return;
	if (c->nr < ELF_CHOICES && is_in_code(c->image, at))
		c->v[c->nr++] = at;
}

/* The address that the instruction takes. 0: none. */
static uint64_t address_taken(const struct choices *c, const struct insn *in, const uint8_t *b,
			      uint64_t end)
{
	uint32_t number;

	if (in->map != INSN_BYTE)
		return 0;
	if (in->opcode == LEA && insn_rip_relative(in))
		return insn_rip_operand(in, b, end);
	/* A program that lies where its file says has addresses as numbers. */
	if (c->image->head.e_type != ET_EXEC || in->opcode < MOV_FIRST || in->opcode > MOV_LAST ||
	    in->imm_size != sizeof(number))
		return 0;
	memcpy(&number, b + in->imm_at, sizeof(number));
	return number;
}

static void choices_read(struct choices *c, uint64_t at, uint64_t len)
{
	size_t size = len < RESOLVER_MOST ? len : RESOLVER_MOST;
	uint32_t flags;
	const uint8_t *b = image_address(c->image, at, &size, &flags);
	struct insn in;

	for (; b && size && insn_read(b, size, &in); b += in.len, size -= in.len, at += in.len) {
		const uint64_t taken = address_taken(c, &in, b, at + in.len);

		if (taken)
			choice_add(c, taken);
	}
}

size_t elf_choices(const char *path, const struct elf_function *f, uint64_t out[ELF_CHOICES])
{
	struct choices c = { .nr = 0 };
	struct elf_file file;

	if (!f->chooses || elf_file_open(path, NULL, &file))
		return 0;
	c.image = &file.image;
	choices_read(&c, f->address, f->size);
	elf_file_close(&file);
	memcpy(out, c.v, c.nr * sizeof(*out));
	return c.nr;
}
