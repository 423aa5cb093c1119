/* SPDX-License-Identifier: MIT */
/*
 * relocate.c - makes moved code of displaced instructions
 *
 *     an operand at %rip           the same with another distance
 *     jmp, jcc                     the same with a distance of four bytes
 *     loop, jrcxz                  the same over a jump: loop 1f; jmp 2f; 1: jmp target; 2:
 *     call                         push the program's own return address; jmp
 *     anything else                the same bytes
 *
 * R1  A call pushes the address behind the program's own call. So unwinders and functions that look
 *     at their caller see what they see untraced, and the function returns there. That address must
 *     lie behind the jump that replaces the instructions: only the last instruction may be a call.
 * R2  A jump to one of the displaced instructions leads to its moved form. A jump to the first one
 *     leads to its own place, where the jump is: it begins the function again.
 * R3  An instruction is not moved if it would mean something else elsewhere: far jumps and calls,
 *     interrupts, a call whose operand needs the stack pointer, xbegin, jumps with a 66.
 */
#include <stdbool.h>
#include <string.h>
#include "agent/x86_64/relocate.h"
#include "elf/code/insn.h"

enum { PUSH = 0x68, GROUP_5 = 0xff, XBEGIN = 0xf8,
       LOOPS = 0xe0, LONGEST = 15 };

/* The state of moving some instructions. */
struct relocating {
	const uint8_t	*b;
	size_t		size;
	uintptr_t	from, to;
	uint8_t		*out;
	size_t		len;		/* bytes at out */
	size_t		front;		/* bytes of the jump in front of b */
	bool		far;		/* a distance does not fit */
	struct relocated *map;
};

static void put(struct relocating *r, const void *bytes, size_t nr)
{
	memcpy(r->out + r->len, bytes, nr);
	r->len += nr;
}

/* The distance to `target`, where `rest` bytes of the instruction follow it. */
static void put_distance(struct relocating *r, uintptr_t target, size_t rest)
{
	const int64_t distance = (int64_t)(target - (r->to + r->len + 4 + rest));
	const int32_t word = (int32_t)distance;

	r->far |= word != distance;
	put(r, &word, 4);
}

static void put_jump(struct relocating *r, const char *opcode, size_t nr, uintptr_t target)
{
	put(r, opcode, nr);
	put_distance(r, target, 0);
}

/* push $address, of all 64 bits: it changes no register and no flag. */
static void put_push(struct relocating *r, uintptr_t address)
{
	const uint32_t low = (uint32_t)address, high = (uint32_t)(address >> 32);

	put(r, "\x68", 1);
	put(r, &low, 4);
	put(r, "\xc7\x44\x24\x04", 4);		/* movl $high, 4(%rsp) */
	put(r, &high, 4);
}

/* ---- Kinds ---- */

static unsigned int group_of(const struct insn *in)
{
	return in->modrm >> 3 & 7;
}

static bool is_call_near(const struct insn *in)
{
	return in->map == INSN_BYTE && in->opcode == INSN_OP_CALL;
}

static bool is_call_indirect(const struct insn *in)
{
	return in->map == INSN_BYTE && in->opcode == GROUP_5 && group_of(in) == 2;
}

/* Its operand is at %rip. */
static bool is_at_rip(const struct insn *in)
{
	return in->modrm_at && (in->modrm & 0xc7) == 5;
}

/* Whether an indirect call needs the stack pointer, which the push moves. */
static bool needs_stack(const struct insn *in, const uint8_t *b)
{
	const uint8_t before = in->modrm_at < 2 ? 0 : b[in->modrm_at - 2];

	/* %r12 has the same number, and a REX prefix with B. */
	if ((in->modrm & 7) != 4 || (before & 0xf1) == 0x41)
		return false;
	/* With a SIB byte its base counts. */
	return in->modrm >> 6 == 3 || (b[in->modrm_at + 1] & 7) == 4;
}

/* R3. */
static bool is_bound(const struct insn *in, const uint8_t *b)
{
	const bool branches = insn_distance(in) || is_call_near(in);

	for (unsigned int i = 0; branches && i < in->len && (b[i] == 0x66 || b[i] == 0x67); i++)
		return true;
	if (in->map != INSN_BYTE)
		return false;
	switch (in->opcode) {
	case 0xcc: case 0xcd: case 0xce: case 0xcf: case 0xf1: case 0xf4:
		return true;
	case 0xc6: case 0xc7:
		return in->modrm == XBEGIN;
	case GROUP_5:
		return group_of(in) == 3 || group_of(in) == 5 ||
		       (group_of(in) == 2 && needs_stack(in, b));
	}
	return false;
}

/* What follows is not reached from here. */
static bool relocate_ends(const struct insn *in)
{
	if (in->map == INSN_0F)
		return in->opcode == 0x0b;
	return insn_returns(in) || (in->map == INSN_BYTE &&
	       (in->opcode == INSN_OP_JMP || in->opcode == INSN_OP_JMP_8 || is_call_near(in))) ||
	       insn_jumps_by_memory(in) || is_call_indirect(in);
}

/* ---- One instruction ---- */

/* R2. */
static uintptr_t target_moved(const struct relocating *r, uintptr_t target)
{
	for (unsigned int i = 1; i < r->map->nr; i++)
		if (target == r->from + r->map->old[i])
			return r->to + r->map->moved[i];
	return target;
}

static uintptr_t target_of(const struct relocating *r, const struct insn *in, const uint8_t *b,
			   uintptr_t next, unsigned int size)
{
	int32_t distance;

	if (size == 1)
		return target_moved(r, next + (uintptr_t)(intptr_t)(int8_t)b[in->len - 1]);
	memcpy(&distance, b + in->len - 4, 4);
	return target_moved(r, next + (uintptr_t)(intptr_t)distance);
}

static void branch_move(struct relocating *r, const struct insn *in, const uint8_t *b,
			uintptr_t next)
{
	const unsigned int size = insn_distance(in);
	const uintptr_t target = target_of(r, in, b, next, size);
	const char over[4] = { (char)in->opcode, 2, (char)INSN_OP_JMP_8, 5 };
	const char condition[2] = { 0x0f, (char)(0x80 | (in->opcode & 15)) };

	if (in->map == INSN_BYTE && (in->opcode & 0xfc) == LOOPS) {
		put(r, over, sizeof(over));
		put_jump(r, "\xe9", 1, target);
	} else if (in->map == INSN_BYTE &&
		   (in->opcode == INSN_OP_JMP || in->opcode == INSN_OP_JMP_8)) {
		put_jump(r, "\xe9", 1, target);
	} else {
		put_jump(r, condition, 2, target);
	}
}

static void call_move(struct relocating *r, const struct insn *in, const uint8_t *b, uintptr_t next)
{
	int32_t distance;

	memcpy(&distance, b + in->len - 4, 4);
	put_push(r, next);
	put_jump(r, "\xe9", 1, next + (uintptr_t)(intptr_t)distance);
}

/* The same bytes, but for a distance from %rip; an indirect call becomes a push and a jump. */
static void other_move(struct relocating *r, const struct insn *in, const uint8_t *b,
		       uintptr_t next)
{
	uint8_t copy[LONGEST];
	int32_t distance;
	size_t behind = in->modrm_at + 5u;

	memcpy(copy, b, in->len);
	if (is_call_indirect(in)) {
		put_push(r, next);
		copy[in->modrm_at] = (uint8_t)((copy[in->modrm_at] & ~0x38u) | 0x20);
	}
	if (!is_at_rip(in)) {
		put(r, copy, in->len);
		return;
	}
	memcpy(&distance, b + in->modrm_at + 1, 4);
	put(r, copy, in->modrm_at + 1u);
	put_distance(r, next + (uintptr_t)(intptr_t)distance, in->len - behind);
	put(r, copy + behind, in->len - behind);
}

static void insn_move(struct relocating *r, const struct insn *in, const uint8_t *b, uintptr_t next)
{
	if (is_call_near(in))
		call_move(r, in, b, next);
	else if (insn_distance(in))
		branch_move(r, in, b, next);
	else
		other_move(r, in, b, next);
}

/* ---- All of them ---- */

/* -> whether what follows the instructions is never reached from them; *good: they can be moved */
static bool all_move(struct relocating *r, bool *good)
{
	bool ended = false;
	struct insn in;

	r->len = 0;
	*good = false;
	for (size_t at = 0; at < r->size && !ended; at += in.len) {
		const uint8_t *b = r->b + at;
		unsigned int i = 0;

		if (!insn_read(b, r->size - at, &in) || is_bound(&in, b))
			return false;
		/* R1 */
		if ((is_call_near(&in) || is_call_indirect(&in)) &&
		    r->front + at + in.len < RELOCATE_JUMP)
			return false;
		while (i < r->map->nr && r->map->old[i] != at)
			i++;
		if (i == RELOCATE_NR)
			return false;
		r->map->nr = (uint8_t)(i == r->map->nr ? i + 1 : r->map->nr);
		r->map->old[i] = (uint8_t)at;
		r->map->moved[i] = (uint8_t)r->len;
		insn_move(r, &in, b, r->from + at + in.len);
		ended = relocate_ends(&in);
	}
	*good = true;
	return ended;
}

size_t relocate_behind(size_t front, const uint8_t *b, size_t size, uintptr_t from, uintptr_t to,
		       uint8_t *out, struct relocated *map)
{
	struct relocating r = { .b = b, .size = size, .from = from, .to = to, .out = out,
				.front = front, .map = map };
	bool good, ended = false;

	*map = (struct relocated){ 0 };
	/* Twice: then it is known where a jump forwards leads to. */
	for (unsigned int pass = 0; pass < 2; pass++) {
		r.far = false;
		ended = all_move(&r, &good);
		if (!good)
			return 0;
	}
	if (!ended)
		put_jump(&r, "\xe9", 1, from + size);
	return r.far ? 0 : r.len;
}

size_t relocate(const uint8_t *b, size_t size, uintptr_t from, uintptr_t to, uint8_t *out,
		struct relocated *map)
{
	return relocate_behind(0, b, size, from, to, out, map);
}
