/* SPDX-License-Identifier: MIT */
/*
 * insn.c - an x86-64 instruction: its length, where its parts are, and where control goes from it
 */
#include "elf/code/insn.h"

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
 *     O  XOP, or pop as m
 */
static const char one_byte[] =
	"mmmmbzxxmmmmbzx0" "mmmmbzxxmmmmbzxx" "mmmmbzpxmmmmbzpx" "mmmmbzpxmmmmbzpx"
	"RRRRRRRRRRRRRRRR" "................" "xxEmppppzZbM...." "bbbbbbbbbbbbbbbb"
	"MZxMmmmmmmmmmmmO" "..........x....." "aaaa....bz......" "bbbbbbbbvvvvvvvv"
	"MMw.32MZe.w..bx." "mmmmxxx.mmmmmmmm" "bbbbbbbbrrxb...." "p.pp..gG......mm";

static const char after_0f[] =
	"mmmmx.....x.xm.M" "mmmmmmmmmmmmmmmm" "mmmmxxxxmmmmmmmm" "......x.xxxxxxxx"
	"mmmmmmmmmmmmmmmm" "mmmmmmmmmmmmmmmm" "mmmmmmmmmmmmmmmm" "MMMMmmm.xxxxmmmm"
	"rrrrrrrrrrrrrrrr" "mmmmmmmmmmmmmmmm" "...mMmmm...mMmmm" "mmmmmmmmmmMmmmmm"
	"mmMmMMMm........" "mmmmmmmmmmmmmmmm" "mmmmmmmmmmmmmmmm" "mmmmmmmmmmmmmmmm";

/* The state of reading one instruction. */
struct reading {
	const uint8_t	*b;
	size_t		room;		/* at most INSN_LONGEST */
	size_t		at;
};

/* The next byte. Behind the end it is 0; insn_read() notices that at its end. */
static uint8_t next(struct reading *r)
{
	return r->at++ < r->room ? r->b[r->at - 1] : 0;
}

static uint8_t prefix_bit(uint8_t byte)
{
	switch (byte) {
	case 0x66:
		return INSN_66;
	case 0x67:
		return INSN_67;
	case 0xf2:
		return INSN_F2;
	case 0xf3:
		return INSN_F3;
	case 0xf0:
		return INSN_LOCK;
	case 0x64: case 0x65:
		return INSN_SEGMENT;
	}
	return 0;
}

/* Reads prefixes and opcode. -> what follows, as in one_byte[] */
static char prefixes_read(struct reading *r, struct insn *in)
{
	char what;

	while (1) {
		in->opcode = next(r);
		what = one_byte[in->opcode];
		if (what != 'p' && what != 'R')
			return what;
		/* A REX prefix that is not the last one has no effect. */
		in->rex = what == 'R' ? in->opcode : 0;
		in->prefix |= prefix_bit(in->opcode);
	}
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

/* map: its number in VEX, EVEX and XOP. */
static char opcode_vector_read(struct reading *r, struct insn *in, unsigned int map)
{
	in->map = INSN_VECTOR;
	in->opcode = next(r);
	switch (map) {
	case 1:
		/* Only vzeroupper has no operands. */
		return after_0f[in->opcode] == 'M' ? 'M' : in->opcode == 0x77 ? '.' : 'm';
	case 2: case 5: case 6: case 9:
		return 'm';
	case 3: case 8:
		return 'M';
	case 10:
		return 'Z';
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
		return map < 8 ? opcode_vector_read(r, in, map) : 'x';
	case 'E':
		map = next(r) & 7;
		next(r);
		next(r);
		return opcode_vector_read(r, in, map);
	case 'O':
		map = r->at < r->room ? r->b[r->at] & 0x1f : 0;
		if (map < 8)
			return 'm';
		r->at += 2;
		return opcode_vector_read(r, in, map);
	}
	return what;
}

static void modrm_read(struct reading *r, struct insn *in)
{
	unsigned int mode, base;

	in->modrm_at = (uint8_t)r->at;
	in->modrm = next(r);
	mode = in->modrm >> 6;
	base = in->modrm & 7;
	if (mode == 3)
		return;
	if (base == 4)
		base = next(r) & 7;
	in->disp_size = mode == 1 ? 1 : mode == 2 || (mode == 0 && base == 5) ? 4 : 0;
	in->disp_at = in->disp_size ? (uint8_t)r->at : 0;
	r->at += in->disp_size;
}

static unsigned int immediate_size(const struct insn *in, char what)
{
	const bool wide = in->rex & 8;
	const unsigned int most = (in->prefix & INSN_66) && !wide ? 2 : 4;

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
		return wide ? 8 : most;
	case 'a':
		return in->prefix & INSN_67 ? 4 : 8;
	case 'g': case 'G':
		return (in->modrm & 0x38) > 8 ? 0 : what == 'g' ? 1 : most;
	}
	return 0;
}

/* ---- Where control goes ---- */

static enum insn_flow flow_of_ff(const struct insn *in)
{
	switch (in->modrm >> 3 & 7) {
	case 2:
		return INSN_CALL_INDIRECT;
	case 4:
		return INSN_JUMP_INDIRECT;
	case 3: case 5:
		return INSN_FAR;
	}
	return INSN_NEXT;
}

static enum insn_flow flow_of_byte(const struct insn *in)
{
	switch (in->opcode) {
	case 0x70 ... 0x7f:
		return INSN_BRANCH;
	case 0xc2: case INSN_OP_RET:
		return INSN_RETURN;
	case 0xc7:
		return in->modrm == 0xf8 ? INSN_BEGIN : INSN_NEXT;
	case 0xca: case 0xcb: case 0xcf:
		return INSN_FAR;
	case INSN_OP_INT3: case 0xcd: case 0xf1:
		return INSN_TRAP;
	case 0xe0 ... 0xe3:
		return INSN_LOOP;
	case INSN_OP_CALL:
		return INSN_CALL;
	case INSN_OP_JMP: case INSN_OP_JMP_8:
		return INSN_JUMP;
	case 0xf4:
		return INSN_STOP;
	case 0xff:
		return flow_of_ff(in);
	}
	return INSN_NEXT;
}

static enum insn_flow flow_of(const struct insn *in)
{
	if (in->map == INSN_BYTE)
		return flow_of_byte(in);
	if (in->map != INSN_0F)
		return INSN_NEXT;
	switch (in->opcode) {
	case 0x05: case 0x34:
		return INSN_SYSCALL;
	case 0x07: case 0x35:
		return INSN_FAR;
	case 0x0b: case 0xb9: case 0xff:
		return INSN_STOP;
	case 0x80 ... 0x8f:
		return INSN_BRANCH;
	}
	return INSN_NEXT;
}

bool insn_read(const uint8_t *b, size_t room, struct insn *in)
{
	struct reading r = { .b = b, .room = room < INSN_LONGEST ? room : INSN_LONGEST };
	char what;

	*in = (struct insn){ .map = INSN_BYTE };
	what = opcode_read(&r, in);
	in->opcode_at = (uint8_t)(r.at - 1);
	if (what == 'm' || what == 'M' || what == 'Z' || what == 'g' || what == 'G')
		modrm_read(&r, in);
	in->imm_size = (uint8_t)immediate_size(in, what);
	in->imm_at = in->imm_size ? (uint8_t)r.at : 0;
	r.at += in->imm_size;
	in->len = (uint8_t)r.at;
	in->flow = (uint8_t)flow_of(in);
	if (in->flow == INSN_TRAP && in->opcode == 0xcd && r.at <= r.room && b[r.at - 1] == 0x80)
		in->flow = INSN_SYSCALL;
	return what != 'x' && r.at <= r.room;
}

/* ---- Its parts ---- */

/* The signed number of `size` bytes at b. */
static uint64_t signed_at(const uint8_t *b, unsigned int size)
{
	uint32_t word;

	switch (size) {
	case 1:
		return (uint64_t)(int64_t)(int8_t)b[0];
	case 2:
		return (uint64_t)(int64_t)(int16_t)(b[0] | b[1] << 8);
	}
	word = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
	return (uint64_t)(int64_t)(int32_t)word;
}

uint64_t insn_target(const struct insn *in, const uint8_t *b, uint64_t end)
{
	return end + signed_at(b + in->imm_at, in->imm_size);
}

uint64_t insn_rip_operand(const struct insn *in, const uint8_t *b, uint64_t end)
{
	return end + signed_at(b + in->disp_at, 4);
}

unsigned int insn_distance(const struct insn *in)
{
	return in->flow >= INSN_JUMP && in->flow <= INSN_LOOP ? in->imm_size : 0;
}

bool insn_is_padding(const struct insn *in)
{
	if (in->map == INSN_0F)
		return in->opcode == 0x1f;
	if (in->map != INSN_BYTE)
		return false;
	return in->opcode == INSN_OP_INT3 || (in->opcode == INSN_OP_NOP && !(in->rex & 1)) ||
	       (in->opcode == 0x87 && in->modrm == 0xc0 && in->len == 2);
}

bool insn_is_mark(const struct insn *in)
{
	return in->map == INSN_0F && in->opcode == 0x1e && in->modrm == 0xfa &&
	       (in->prefix & INSN_F3);
}

bool insn_is_below_stack(const struct insn *in, const uint8_t *b)
{
	if (in->modrm >> 6 == 3 || (in->modrm & 7) != 4 || !in->disp_size)
		return false;
	if ((b[in->modrm_at + 1] & 7) != 4 || (in->rex & 1))
		return false;
	return (int64_t)signed_at(b + in->disp_at, in->disp_size) < 0;
}

bool insn_jumps_by_memory(const struct insn *in)
{
	return in->map == INSN_BYTE && in->opcode == 0xff &&
	       ((in->modrm & 0x38) == 0x20 || (in->modrm & 0x38) == 0x28);
}

bool insn_returns(const struct insn *in)
{
	return in->flow == INSN_RETURN;
}

/* ---- Flags ---- */

/* k kept, r read, w written, 16 opcodes a line; g: the opcode's group says it */
static const char flags_byte[] =
	"wwwwwwkkwwwwwwkk" "rrrrrrkkrrrrrrkk" "wwwwwwkwwwwwwwkw" "wwwwwwkwwwwwwwkw"
	"kkkkkkkkkkkkkkkk" "kkkkkkkkkkkkkkkk" "kkkkkkkkkwkwkkkk" "rrrrrrrrrrrrrrrr"
	"ggggwwkkkkkkkkkk" "kkkkkkkkkkkkrwwr" "kkkkkkwwwwkkkkww" "kkkkkkkkkkkkkkkk"
	"ggkkkkkkkkkkkkkk" "ggggkkkkkkkkkkkk" "rrkkkkkkkkkkkkkk" "kkkkkrggwwkkkkgg";

static const char flags_0f[] =
	"kkkkkwkkkkkkkkkk" "kkkkkkkkkkkkkkkk" "kkkkkkkkkkkkkkww" "kkkkkkkkkkkkkkkk"
	"rrrrrrrrrrrrrrrr" "kkkkkkkkkkkkkkkk" "kkkkkkkkkkkkkkkk" "kkkkkkkkkkkkkkkk"
	"rrrrrrrrrrrrrrrr" "rrrrrrrrrrrrrrrr" "kkkwwwkkkkwwwwkw" "wwkwkkkkwkwwwwkk"
	"wwkkkkkwkkkkkkkk" "kkkkkkkkkkkkkkkk" "kkkkkkkkkkkkkkkk" "kkkkkkkkkkkkkkkk";

static enum insn_flags flags_of_group(const struct insn *in)
{
	const unsigned int nr = in->modrm >> 3 & 7;

	switch (in->opcode) {
	case 0xf6: case 0xf7:
		return nr == 2 ? INSN_FLAGS_KEPT : INSN_FLAGS_WRITTEN;	/* not */
	case 0xfe: case 0xff:
		return nr < 2 ? INSN_FLAGS_WRITTEN : INSN_FLAGS_KEPT;	/* inc, dec */
	case 0x80: case 0x81: case 0x82: case 0x83:			/* adc, sbb */
		return nr == 2 || nr == 3 ? INSN_FLAGS_READ : INSN_FLAGS_WRITTEN;
	}
	/* Rotations keep most flags, shifts write all; rcl and rcr read the carry. */
	if (nr < 4)
		return nr < 2 ? INSN_FLAGS_KEPT : INSN_FLAGS_READ;
	return INSN_FLAGS_WRITTEN;
}

static enum insn_flags flags_of_letter(char what)
{
	if (what == 'r')
		return INSN_FLAGS_READ;
	return what == 'w' ? INSN_FLAGS_WRITTEN : INSN_FLAGS_KEPT;
}

static bool writes_by_vector(const struct insn *in)
{
	switch (in->opcode) {
	case 0x0e: case 0x0f: case 0x17: case 0x2e: case 0x2f:	/* vtest, vptest, vcomis */
	case 0x98: case 0x99:					/* kortest, ktest */
	case 0x60: case 0x61: case 0x62: case 0x63:		/* vpcmpestri and its kin */
	case 0xf2: case 0xf3: case 0xf5: case 0xf7:		/* andn, blsr, bzhi, bextr */
		return true;
	}
	return false;
}

enum insn_flags insn_flags(const struct insn *in)
{
	bool writes = false;

	switch (in->map) {
	case INSN_BYTE:
		return flags_byte[in->opcode] == 'g' ? flags_of_group(in)
						     : flags_of_letter(flags_byte[in->opcode]);
	case INSN_0F:
		return flags_of_letter(flags_0f[in->opcode]);
	case INSN_0F38:
		/* adcx, adox */
		if (in->opcode == 0xf6 && (in->prefix & (INSN_66 | INSN_F3)))
			return INSN_FLAGS_READ;
		writes = in->opcode == 0x17;				/* ptest */
		break;
	case INSN_0F3A:
		writes = in->opcode >= 0x60 && in->opcode <= 0x63;	/* pcmpestri and its kin */
		break;
	case INSN_VECTOR:
		writes = writes_by_vector(in);
		break;
	}
	return writes ? INSN_FLAGS_WRITTEN : INSN_FLAGS_KEPT;
}
