/* SPDX-License-Identifier: MIT */
/*
 * computed.c - which jumps of a function may lead to an address that the function has computed
 *
 * A jump through a register takes a whole address, or one that the function has computed from a
 * base and a distance. A whole address stands somewhere: in an instruction, a relocation, a word of
 * data, or behind a call. All of these are marked as targets (refer.c, sweep.c). So it does not
 * matter where a function pointer comes from that is a parameter, was loaded or was returned: most
 * jumps through registers are calls at a function's end. Only computed addresses are a question.
 *
 * C1  A bit for each register says whether its value may be computed. Two more stand for all of the
 *     frame and for all vector registers. An instruction that is not known computes everything.
 * C2  States of branches are joined where they lead to. The joined states have no keys, so branches
 *     of other places with the same hash are joined, too: that only adds bits.
 * C3  Indirect jumps and exceptions come from anywhere. So each target has the bits of all indirect
 *     jumps, and those that a call leaves.
 */
#include <limits.h>
#include "elf/code/insn.h"
#include "elf/code/state.h"

enum {
	JOINS = 256,
	SWEEPS = 8,		/* until nothing changes; then every jump counts */
};

enum bits {
	RAX = 1 << CODE_RAX, RDX = 1 << CODE_RDX,
	/* What a call leaves as it is, besides the frame. */
	SAVED = 1 << CODE_RBX | 1 << CODE_RBP | 0xf << CODE_R12,
	FRAME = 1 << 16, VECTORS = 1 << 17,
	ALL = (1 << 18) - 1,
};

struct computing {
	const struct code_segment *s;
	const struct code_function *fn;
	uint32_t	joins[JOINS];	/* C2 */
	uint32_t	anywhere;	/* C3 */
	uint32_t	now;
	unsigned int	nr;		/* of such jumps, in this sweep */
	bool		changed;
};

/*
 * What an instruction computes, 16 opcodes a line:
 *     .  nothing              R  its register         M  its operand       A  rax and rdx
 *     m  a move to the operand    l  a move to the register    c  the same, with a condition
 *     p  push    q  pop    i  an immediate to the opcode's register, n  to the operand
 *     X, Y  as M and R, but 0 of a register and itself      s  as M, but nothing of memory
 *     e  lea     h  an exchange    K  an exchange with a sum    w  leave
 *     v  vectors    t  to a vector    u  from a vector    g, G, J  the group says it    ?  all
 */
static const char of_byte[] =
	"MMRRAA??MMRRAA??" "MMRRAA??MMRRAA??" "MMRRAA??MXRYAA??" "MXRYAA??......??"
	"????????????????" "ppppppppqqqqqqqq" "???R????.R.R????" "................"
	"gg?g..hhsmRl?e.?" ".???????AA?....A" "????????..??????" "........iiiiiiii"
	"MM..??sn?w......" "MMMM???A.......A" "????????..?.????" "????..GG......MJ";

static const char of_0f[] =
	"?????????.?.?.??" "vvvvvvvv........" "????????vvvvRRvv" "?A??????????????"
	"cccccccccccccccc" "Rvvvvvvvvvvvvvvv" "vvvvvvvvvvvvvvtv" "vvvvvvv.????vvuv"
	"................" "ssssssssssssssss" "..?.MM??..?MMMsR" "KK?M??RRR.MMRRRR"
	"KKvmvRv?????????" "vvvvvvvRvvvvvvvv" "vvvvvvvvvvvvvvvv" "vvvvvvvvvvvvvvvv";

_Static_assert(sizeof(of_byte) == 257 && sizeof(of_0f) == 257, "a letter for each opcode");

/* ---- Operands ---- */

static uint32_t reg_bit(const struct insn *in)
{
	return 1u << ((in->modrm >> 3 & 7u) | (in->rex & 4u) << 1);
}

/* The register in the opcode's last bits. */
static uint32_t low_bit(const struct insn *in)
{
	return 1u << ((in->opcode & 7u) | (in->rex & 1u) << 3);
}

static bool is_memory(const struct insn *in)
{
	return in->modrm >> 6 != 3;
}

/* Memory at rsp or rbp. */
static bool is_in_frame(const struct insn *in, const uint8_t *b)
{
	unsigned int base = in->modrm & 7;

	if (base == 4)
		base = b[in->modrm_at + 1] & 7;
	/* Without a displacement, 5 is no rbp. */
	return !(in->rex & 1) && (base == 4 || (base == 5 && in->modrm >> 6));
}

/* Where a store to the operand goes: a pointer may lead into the frame. */
static uint32_t stored_bit(const struct insn *in)
{
	if (!is_memory(in))
		return 1u << ((in->modrm & 7u) | (in->rex & 1u) << 3);
	return insn_rip_relative(in) ? 0 : FRAME;
}

/* Where a load from the operand comes from. Elsewhere than in the frame whole addresses stand. */
static uint32_t loaded_bit(const struct insn *in, const uint8_t *b)
{
	if (is_memory(in))
		return is_in_frame(in, b) ? FRAME : 0;
	return stored_bit(in);
}

/* ---- What instructions do ---- */

/* Memory keeps its bit, since there are many words of it. */
static void move(struct computing *w, uint32_t to, bool computed)
{
	w->now = computed ? w->now | to : w->now & ~(to & ~(uint32_t)(FRAME | VECTORS));
}

static bool is_same_twice(const struct insn *in)
{
	return !is_memory(in) && reg_bit(in) == stored_bit(in);
}

/* Vectors may carry what they load to where they are stored. */
static void through_vectors(struct computing *w, const struct insn *in)
{
	if (is_memory(in) && (w->now & (FRAME | VECTORS)))
		w->now |= FRAME | VECTORS;
}

/* -> the letter that stands for an opcode of a group */
static char group_letter(char group, const struct insn *in)
{
	const unsigned int nr = in->modrm >> 3 & 7;

	if (group == 'g')				/* cmp is the last one */
		return nr == 7 ? '.' : 'M';
	if (group == 'G')				/* test, test, not, neg, mul ... */
		return nr < 2 ? '.' : nr < 4 ? 'M' : 'A';
	return nr < 2 ? 'M' : '.';			/* inc, dec, call, jmp, push */
}

static char letter_of(const struct insn *in)
{
	char letter = '?';

	switch (in->map) {
	case INSN_VECTOR:			/* vzeroupper has no operands */
		letter = in->modrm_at ? '?' : '.';
		break;
	case INSN_BYTE:
		letter = of_byte[in->opcode];
		break;
	case INSN_0F:
		letter = of_0f[in->opcode];
		break;
	case INSN_0F38:
		letter = in->opcode >= 0xf0 ? 'K' : 'v';
		break;
	case INSN_0F3A:
		letter = in->opcode >= 0x14 && in->opcode <= 0x17 ? 'M' : 'v';
		break;
	}
	return letter == 'g' || letter == 'G' || letter == 'J' ? group_letter(letter, in) : letter;
}

static void effect_of_move(struct computing *w, char letter, const struct insn *in,
			   const uint8_t *b)
{
	const uint32_t now = w->now, reg = reg_bit(in), loaded = loaded_bit(in, b);

	switch (letter) {
	case 'm':
		move(w, stored_bit(in), now & reg);
		break;
	case 'l':
		move(w, reg, now & loaded);
		break;
	case 'c':
		w->now |= now & loaded ? reg : 0;
		break;
	case 'h':
		move(w, reg, now & loaded);
		move(w, stored_bit(in), now & reg);
		break;
	case 't':
		w->now |= now & loaded ? VECTORS : 0;
		break;
	case 'u':
		move(w, stored_bit(in), now & VECTORS);
		break;
	}
}

static void effect(struct computing *w, const struct insn *in, const uint8_t *b)
{
	const char letter = letter_of(in);

	switch (letter) {
	case '.':
		break;
	case 'R': case 'Y':
		move(w, reg_bit(in), letter == 'R' || !is_same_twice(in));
		break;
	case 'M': case 'X':
		move(w, stored_bit(in), letter == 'M' || !is_same_twice(in));
		break;
	case 'A':
		w->now |= RAX | RDX;
		break;
	case 's':
		w->now |= is_memory(in) ? 0 : stored_bit(in);
		break;
	case 'K':
		w->now |= RAX | reg_bit(in) | stored_bit(in);
		break;
	case 'e':
		move(w, reg_bit(in), !insn_rip_relative(in));
		break;
	case 'i':
		move(w, low_bit(in), false);
		break;
	case 'n':
		move(w, stored_bit(in), false);
		break;
	case 'p':
		w->now |= w->now & low_bit(in) ? FRAME : 0;
		break;
	case 'q':
		move(w, low_bit(in), w->now & FRAME);
		break;
	case 'w':
		move(w, 1 << CODE_RBP, w->now & FRAME);
		break;
	case 'v':
		through_vectors(w, in);
		break;
	case '?':
		w->now = ALL;
		break;
	default:
		effect_of_move(w, letter, in, b);
	}
}

/* ---- Where control goes ---- */

static uint32_t *join_at(struct computing *w, uint64_t at)
{
	return &w->joins[(uint32_t)(at - w->fn->start) * 0x9e3779b1u >> 24];
}

static void join(struct computing *w, uint32_t *to, uint32_t bits)
{
	w->changed |= (*to | bits) != *to;
	*to |= bits;
}

static void insn_follow(struct computing *w, const struct insn *in, const uint8_t *b, uint64_t end)
{
	switch (in->flow) {
	case INSN_LOOP:
		w->now |= 1 << CODE_RCX;
		join(w, join_at(w, insn_target(in, b, end)), w->now);
		break;
	case INSN_JUMP: case INSN_BRANCH:
		join(w, join_at(w, insn_target(in, b, end)), w->now);
		break;
	case INSN_JUMP_INDIRECT:
		w->nr += !!(w->now & loaded_bit(in, b));
		join(w, &w->anywhere, w->now);
		break;
	case INSN_CALL: case INSN_CALL_INDIRECT:
		w->now &= SAVED | FRAME;
		join(w, &w->anywhere, w->now);
		break;
	default:
		effect(w, in, b);
	}
}

static void computing_sweep(struct computing *w)
{
	const uint64_t end = w->fn->start + w->fn->size;
	bool falls = true;
	struct insn in;

	w->now = 0;
	for (uint64_t at = w->fn->start; at < end; at += in.len) {
		const uint8_t *b = w->s->bytes + (at - w->s->low);

		if (!falls)
			w->now = 0;
		if (!falls || (w->s->marks[at - w->s->low] & CODE_TARGET))
			w->now |= *join_at(w, at) | w->anywhere;
		if (!insn_read(b, end - at, &in)) {
			in.len = 1;
			w->now = ALL;
			continue;
		}
		insn_follow(w, &in, b, at + in.len);
		falls = !insn_ends_flow(&in);
	}
}

unsigned int computed_jumps(const struct code_segment *s, const struct code_function *fn)
{
	struct computing w = { .s = s, .fn = fn };

	for (unsigned int i = 0; i < SWEEPS; i++) {
		w.changed = false;
		w.nr = 0;
		computing_sweep(&w);
		if (!w.changed)
			return w.nr;
	}
	return UINT_MAX;
}
