/* SPDX-License-Identifier: MIT */
/*
 * fde.c - the functions of .eh_frame: where they begin and end, how they begin, landing pads
 *
 *     .eh_frame_hdr -> FDE -> its CIE: how addresses are written
 *                       |---> code, size, instructions of its rows
 *                       '---> LSDA (.gcc_except_table): landing pads
 *
 * A function begins with the row of its CIE, where the return address is at the stack pointer. The
 * parts that compilers split off, and the stubs of the PLT, have another row at their start. So has
 * what the PLT jumps to, which finds two words above the return address's place: its assembler may
 * have put that into the CIE.
 *
 * Sources: DWARF 5, section 6.4; Linux Standard Base, .eh_frame; the Itanium C++ ABI, exception
 * tables.
 */
#include "elf/code/cursor.h"
#include "elf/code/state.h"

enum {
	REGISTER_RSP = 7, REGISTER_RIP = 16,
	CFA_UNDEFINED = 7, CFA_DEF = 0x0c, CFA_DEF_REGISTER = 0x0d, CFA_DEF_OFFSET = 0x0e,
	WORD = 8,
	LSDA_HEAD = 64,
};

static bool cursor_open(const struct code_file *f, struct cursor *c, uint64_t at, size_t size)
{
	uint32_t flags;

	*c = (struct cursor){ .size = size, .address = at };
	c->b = image_address(f->image, at, &c->size, &flags);
	return c->b;
}

/* ---- Instructions of rows ---- */

/*
 * The operands of each instruction: 1 2 4 8: bytes; u: a number; b: a block with its length; a: an
 * address; x: no such instruction.
 */
static const char operands[][3] = {
	"", "a", "1", "2", "4", "uu", "u", "u", "u", "uu", "", "", "uu", "u", "u", "b",
	"ub", "uu", "uu", "u", "uu", "uu", "ub", "x", "x", "x", "x", "x", "x", "8", "x", "x",
	"x", "x", "x", "x", "x", "x", "x", "x", "x", "x", "x", "x", "x", "", "u", "uu",
};

static void operand_skip(struct cursor *c, char what, uint8_t address)
{
	switch (what) {
	case 'u':
		take_leb(c, false);
		break;
	case 'b':
		cursor_skip(c, take_leb(c, false));
		break;
	case 'a':
		take_plain(c, address);
		break;
	case 'x':
		c->bad = true;
		break;
	default:
		cursor_skip(c, (uint64_t)(what - '0'));
	}
}

/* What is behind the opcode. */
static void instruction_skip(struct cursor *c, uint8_t op, uint8_t address)
{
	if (op >> 6 == 2)
		take_leb(c, false);
	if (op >> 6)
		return;
	if (op >= sizeof(operands) / sizeof(operands[0])) {
		c->bad = true;
		return;
	}
	for (const char *o = operands[op]; *o; o++)
		operand_skip(c, *o, address);
}

/* ---- CIE ---- */

/* Whether its row is that of a function's start: the return address is at the stack pointer. */
static bool cie_begins(const struct cie *e, struct cursor c)
{
	uint64_t reg = REGISTER_RSP, offset = WORD;

	c.at = e->rows;
	while (c.at < c.size && !c.bad) {
		const uint8_t op = (uint8_t)take_bytes(&c, 1);

		if (op == CFA_DEF || op == CFA_DEF_REGISTER)
			reg = take_leb(&c, false);
		if (op == CFA_DEF || op == CFA_DEF_OFFSET)
			offset = take_leb(&c, false);
		if (op < CFA_DEF || op > CFA_DEF_OFFSET)
			instruction_skip(&c, op, e->address);
	}
	return reg == REGISTER_RSP && offset == WORD;
}

/* False: the effort is spent. */
static bool cie_read(struct code_file *f, struct cie *e, uint64_t at)
{
	struct cursor c;
	uint64_t len;

	*e = (struct cie){ .at = at, .lsda = PE_OMIT };
	if (!cursor_open(f, &c, at, EH_ENTRY_MAX))
		return true;
	len = take_bytes(&c, 4);
	if (len < 8 || len > c.size - 4)
		return true;
	if (!code_spend(f, len))
		return false;
	c.size = len + 4;
	cie_parse(e, &c);
	e->is_part = e->is_good && !cie_begins(e, c);
	return true;
}

/* ---- Rows of a function ---- */

/* What the rows of a function say. */
struct rows {
	bool	is_part;	/* it does not begin with the row of the CIE */
	bool	is_first;	/* it has no return address when it begins */
	bool	is_left;	/* it has none later */
};

static bool is_advance(uint8_t op)
{
	return op >> 6 == 1 || (op >= 2 && op <= 4);
}

static void rows_read(struct cursor *c, uint8_t address, struct rows *r)
{
	bool begun = false;

	while (c->at < c->size && !c->bad) {
		const uint8_t op = (uint8_t)take_bytes(c, 1);

		begun |= is_advance(op);
		/* A nop, and the size of a call's arguments, change no row. */
		r->is_part |= !begun && op && op != 0x2e;
		if (op != CFA_UNDEFINED) {
			instruction_skip(c, op, address);
		} else if (take_leb(c, false) == REGISTER_RIP) {
			r->is_first |= !begun;
			r->is_left |= begun;
		}
	}
}

/* ---- Landing pads ---- */

/* False: the effort is spent. */
static bool lsda_read(struct code_file *f, uint64_t at, uint64_t start)
{
	struct cursor c;
	uint64_t len, pad;
	uint8_t how;

	if (!cursor_open(f, &c, at, LSDA_HEAD))
		return true;
	how = (uint8_t)take_bytes(&c, 1);
	if (how != PE_OMIT)
		start = take_address(&c, how);
	how = (uint8_t)take_bytes(&c, 1);
	if (how != PE_OMIT)
		take_leb(&c, false);
	how = (uint8_t)take_bytes(&c, 1);
	len = take_leb(&c, false);
	if (c.bad)
		return true;
	if (!code_spend(f, len + LSDA_HEAD))
		return false;
	if (!cursor_open(f, &c, at + c.at, len))
		return true;
	while (c.at < c.size && !c.bad) {
		take_plain(&c, how);
		take_plain(&c, how);
		pad = take_plain(&c, how);
		take_leb(&c, false);
		if (pad && !c.bad)
			code_target(f, start + pad);
	}
	return true;
}

/* ---- FDE ---- */

static void function_add(struct code_file *f, const struct cie *e, uint64_t start, uint64_t size,
			 const struct rows *r)
{
	const struct code_segment *s = code_segment_at(f, start);
	struct code_function fn = { .start = start, .has = CODE_HAS_FDE };

	if (!s || !size)
		return;
	if (size > s->high - start)
		size = s->high - start;
	fn.size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
	if (start == f->image->head.e_entry || r->is_first)
		fn.why = CODE_FIRST;
	else if (e->is_signal)
		fn.why = CODE_SIGNAL_FRAME;
	else if (r->is_part || e->is_part)
		fn.why = CODE_PART;
	if (r->is_left)
		fn.returns = CODE_RETURN_TWICE;
	code_function_add(f, fn);
}

/* The FDE at that address. *e: the last CIE that was read. False: the effort is spent. */
static bool fde_read(struct code_file *f, uint64_t at, struct cie *e)
{
	struct rows r = { .is_part = false };
	uint64_t len, back, start, size, lsda = 0, more;
	struct cursor c;

	if (!cursor_open(f, &c, at, 8))
		return true;
	len = take_bytes(&c, 4);
	back = take_bytes(&c, 4);
	/* 0xffffffff: the form of 64 bits, which no linker writes here. */
	if (c.bad || len < 4 || len > EH_ENTRY_MAX || !cursor_open(f, &c, at, len + 4))
		return true;
	if (!code_spend(f, len))
		return false;
	cursor_skip(&c, 8);
	if (e->at != at + 4 - back && !cie_read(f, e, at + 4 - back))
		return false;
	if (!e->is_good)
		return true;
	start = take_address(&c, e->address);
	size = take_plain(&c, e->address);
	if (e->has_length) {
		more = take_leb(&c, false);
		if (!cursor_has(&c, more))
			return true;
		more += c.at;
		if (e->lsda != PE_OMIT && c.at < more)
			lsda = take_address(&c, e->lsda);
		c.at = more;
	}
	if (c.bad)
		return true;
	rows_read(&c, e->address, &r);
	function_add(f, e, start, size, &r);
	return !lsda || lsda_read(f, lsda, start);
}

/* ---- .init and .fini ---- */

static bool is_init(const struct image *im, const Elf64_Shdr *s)
{
	const char *name = image_string(im, im->names, s->sh_name);

	return s->sh_type == SHT_PROGBITS && (s->sh_flags & SHF_EXECINSTR) &&
	       (!strcmp(name, ".init") || !strcmp(name, ".fini"));
}

/*
 * Both are a function without an entry in .eh_frame: the linker joins them of pieces of crti.o and
 * crtn.o. They begin with the section, and have no jumps through registers or memory but calls.
 */
static void init_add(struct code_file *f)
{
	const struct image *im = f->image;

	for (unsigned int i = 0; i < im->nr_shdrs; i++) {
		const struct code_segment *s = code_segment_at(f, im->shdrs[i].sh_addr);
		struct code_function fn = { .start = im->shdrs[i].sh_addr, .why = CODE_PART,
					    .has = CODE_HAS_FDE };

		if (!s || !is_init(im, &im->shdrs[i]) || !im->shdrs[i].sh_size ||
		    im->shdrs[i].sh_size > s->high - fn.start ||
		    im->shdrs[i].sh_size > EH_ENTRY_MAX)
			continue;
		fn.size = (uint32_t)im->shdrs[i].sh_size;
		code_function_add(f, fn);
	}
}

bool fde_read_all(struct code_file *f)
{
	const struct image *im = f->image;
	struct cie e = { .at = 0 };

	for (size_t i = 0; i < im->nr_starts; i++)
		if (!fde_read(f, im->starts_base + (uint64_t)(int64_t)im->starts[2 * i + 1], &e))
			return false;
	init_add(f);
	return true;
}
