/* SPDX-License-Identifier: MIT */
/*
 * instruction.c - the length of an x86-64 instruction, and its kind
 */
#include "agent/x86_64/instruction.h"

enum { LONGEST = 15 };

/*
 * The bytes behind an opcode, 16 opcodes a line:
 *
 *     .  none               b  1 byte           m  ModRM and what it requires
 *     r  4 bytes            w  2                M  as m, and 1 byte
 *     z  4, or 2 after 66   e  3                Z  as m, and 4 bytes, or 2 after 66
 *     v  as z, or 8 after REX.W                 g  as m, and 1 byte if it is a test
 *     a  8, or 4 after 67                       G  as m, and 4 or 2 bytes if it is a test
 *     p  an opcode: it is a prefix              R  an opcode: it is a REX prefix
 *     x  there is no such opcode, or it is not known
 *     0 2 3 E  a longer opcode: 0f, VEX of 2 and 3 bytes, EVEX
 */
static const char one_byte[] =
	"mmmmbzxxmmmmbzx0" "mmmmbzxxmmmmbzxx" "mmmmbzpxmmmmbzpx" "mmmmbzpxmmmmbzpx"
	"RRRRRRRRRRRRRRRR" "................" "xxEmppppzZbM...." "bbbbbbbbbbbbbbbb"
	"MZxMmmmmmmmmmmmx" "..........x....." "aaaa....bz......" "bbbbbbbbvvvvvvvv"
	"MMw.32MZe.w..bx." "mmmmxxx.mmmmmmmm" "bbbbbbbbrrxb...." "p.pp..gG......mm";

static const char after_0f[] =
	"mmmmx.....x.xm.M" "mmmmmmmmmmmmmmmm" "mmmmxxxxmmmmmmmm" "......x.xxxxxxxx"
	"mmmmmmmmmmmmmmmm" "mmmmmmmmmmmmmmmm" "mmmmmmmmmmmmmmmm" "MMMMmmm.xxxxmmmm"
	"rrrrrrrrrrrrrrrr" "mmmmmmmmmmmmmmmm" "...mMmxx...mMmmm" "mmmmmmmmmmMmmmmm"
	"mmMmMMMm........" "mmmmmmmmmmmmmmmm" "mmmmmmmmmmmmmmmm" "mmmmmmmmmmmmmmmm";

/* The state of reading one instruction. */
struct reading {
	const uint8_t	*b;
	size_t		room;		/* at most LONGEST */
	size_t		at;
	bool		short_operand;	/* 66 */
	bool		short_address;	/* 67 */
	bool		wide;		/* REX.W */
};

/* The next byte. Behind the end it is 0; insn_read() notices that at its end. */
static uint8_t next(struct reading *r)
{
	return r->at++ < r->room ? r->b[r->at - 1] : 0;
}

/* Reads prefixes and opcode. -> what follows, as in one_byte[] */
static char prefixes_read(struct reading *r, struct insn *in)
{
	char what;

	do {
		in->opcode = next(r);
		what = one_byte[in->opcode];
		if (what == 'R')
			r->wide = in->opcode & 8;
		else if (what == 'p')
			/* A REX prefix that is not the last one has no effect. */
			r->wide = false;
		r->short_operand |= in->opcode == 0x66;
		r->short_address |= in->opcode == 0x67;
	} while (what == 'p' || what == 'R');
	return what;
}

static char opcode_0f_read(struct reading *r, struct insn *in)
{
	in->map = INSN_0F;
	in->opcode = next(r);
	if (in->opcode != 0x38 && in->opcode != 0x3a)
		return after_0f[in->opcode];
	in->map = in->opcode == 0x38 ? INSN_0F38 : INSN_0F3A;
	in->opcode = next(r);
	return in->map == INSN_0F38 ? 'm' : 'M';
}

/* map: its number in VEX and EVEX. */
static char opcode_vector_read(struct reading *r, struct insn *in, unsigned int map)
{
	in->map = INSN_VECTOR;
	in->opcode = next(r);
	switch (map) {
	case 1:
		/* Only vzeroupper has no operands. */
		return after_0f[in->opcode] == 'M' ? 'M' : in->opcode == 0x77 ? '.' : 'm';
	case 2: case 5: case 6:
		return 'm';
	case 3:
		return 'M';
	}
	return 'x';
}

static char opcode_read(struct reading *r, struct insn *in)
{
	char what = prefixes_read(r, in);
	unsigned int map;

	switch (what) {
	case '0':
		return opcode_0f_read(r, in);
	case '2':
		next(r);
		return opcode_vector_read(r, in, 1);
	case '3':
		map = next(r) & 0x1f;
		next(r);
		return opcode_vector_read(r, in, map);
	case 'E':
		map = next(r) & 7;
		next(r);
		next(r);
		return opcode_vector_read(r, in, map);
	}
	return what;
}

static void modrm_read(struct reading *r, struct insn *in)
{
	unsigned int mode, base;

	in->modrm = next(r);
	mode = in->modrm >> 6;
	base = in->modrm & 7;
	if (mode == 3)
		return;
	if (base == 4)
		base = next(r) & 7;
	r->at += mode == 1 ? 1 : mode == 2 || base == 5 ? 4 : 0;
}

static size_t immediate_size(const struct reading *r, const struct insn *in, char what)
{
	const size_t most = r->short_operand && !r->wide ? 2 : 4;

	switch (what) {
	case 'b': case 'M':
		return 1;
	case 'w':
		return 2;
	case 'e':
		return 3;
	case 'r':
		return 4;
	case 'z': case 'Z':
		return most;
	case 'v':
		return r->wide ? 8 : most;
	case 'a':
		return r->short_address ? 4 : 8;
	case 'g': case 'G':
		return (in->modrm & 0x38) > 8 ? 0 : what == 'g' ? 1 : most;
	}
	return 0;
}

bool insn_read(const uint8_t *b, size_t room, struct insn *in)
{
	struct reading r = { .b = b, .room = room < LONGEST ? room : LONGEST };
	char what;

	*in = (struct insn){ .map = INSN_BYTE };
	what = opcode_read(&r, in);
	if (what == 'm' || what == 'M' || what == 'Z' || what == 'g' || what == 'G')
		modrm_read(&r, in);
	r.at += immediate_size(&r, in, what);
	in->len = (uint8_t)r.at;
	return what != 'x' && r.at <= r.room;
}

unsigned int insn_distance(const struct insn *in)
{
	const unsigned int row = in->opcode & 0xf0;

	if (in->map == INSN_0F)
		return row == 0x80 ? 4 : 0;
	if (in->map != INSN_BYTE)
		return 0;
	return in->opcode == 0xe9
		       ? 4
		       : in->opcode == 0xeb || row == 0x70 || (in->opcode & 0xfc) == 0xe0;
}

bool insn_jumps_by_memory(const struct insn *in)
{
	return in->map == INSN_BYTE && in->opcode == 0xff &&
	       ((in->modrm & 0x38) == 0x20 || (in->modrm & 0x38) == 0x28);
}

bool insn_returns(const struct insn *in)
{
	return in->map == INSN_BYTE && (in->opcode == 0xc3 || in->opcode == 0xc2);
}
