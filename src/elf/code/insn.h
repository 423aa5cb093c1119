/* SPDX-License-Identifier: MIT */
/*
 * insn.h - an x86-64 instruction: its length, where its parts are, and where control goes from it
 *
 *     prefixes | opcode | ModRM | SIB | displacement | immediate
 *               opcode_at modrm_at     disp_at         imm_at
 *
 * Included by what finds the instructions of a file (code.h), by the agent, which moves them, and
 * by its search for jumps out of functions. It allocates nothing and calls no function of libc.
 *
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, chapter 2 and
 * appendix A; for XOP: AMD64 Architecture Programmer's Manual, volume 6.
 */
#ifndef TRACEFUSE_ELF_CODE_INSN_H
#define TRACEFUSE_ELF_CODE_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INSN_LONGEST = 15 };

/* Opcodes of one byte that are looked for in code, or written. */
enum {
	INSN_OP_NOP	= 0x90,
	INSN_OP_RET	= 0xc3,
	INSN_OP_INT3	= 0xcc,
	INSN_OP_CALL	= 0xe8,	/* with a distance of 32 bits, as the next */
	INSN_OP_JMP	= 0xe9,
	INSN_OP_JMP_8	= 0xeb,	/* with a distance of 8 bits */
};

enum insn_map {
	INSN_BYTE,		/* one byte of opcode */
	INSN_0F,
	INSN_0F38,
	INSN_0F3A,
	INSN_VECTOR		/* VEX, EVEX, XOP */
};

/* Where control goes. */
enum insn_flow {
	INSN_NEXT,		/* to the next instruction */
	INSN_JUMP,		/* jmp, to a distance: insn_target() */
	INSN_BRANCH,		/* jcc, to a distance or the next instruction */
	INSN_LOOP,		/* loop, loope, loopne, jrcxz: a branch that has only 8 bits */
	INSN_CALL,		/* call, to a distance; control comes back behind it */
	INSN_JUMP_INDIRECT,	/* jmp *register, jmp *memory */
	INSN_CALL_INDIRECT,
	INSN_RETURN,
	INSN_SYSCALL,		/* syscall, sysenter, int 0x80; rcx has the next address */
	INSN_TRAP,		/* int3, int n, icebp: a handler sees the address */
	INSN_STOP,		/* ud0, ud1, ud2, hlt: no next instruction */
	INSN_FAR,		/* calls, jumps and returns to another segment, iret */
	INSN_BEGIN,		/* xbegin: an abort goes to a distance */
};

enum insn_prefix {
	INSN_66		= 1,
	INSN_67		= 2,
	INSN_F2		= 4,
	INSN_F3		= 8,
	INSN_LOCK	= 16,
	INSN_SEGMENT	= 32,	/* fs, gs; the other segments have no effect */
};

struct insn {
	uint8_t		len;
	uint8_t		map;	/* enum insn_map */
	uint8_t		opcode;
	uint8_t		modrm;	/* 0: there is none */
	uint8_t		flow;	/* enum insn_flow */
	uint8_t		prefix;	/* enum insn_prefix, or'ed; not those inside VEX, EVEX, XOP */
	uint8_t		rex;	/* the REX prefix; 0: there is none */
	/* Offsets of the parts; 0: there is no such part. The opcode is the last byte of it. */
	uint8_t		opcode_at, modrm_at, disp_at, imm_at;
	/* Bytes: 0, 1, 4; 0, 1, 2, 3, 4, 8. The distance of a jump is an immediate. */
	uint8_t		disp_size, imm_size;
};

/*
 * Reads the instruction whose bytes begin at b. False: compilers write no such instruction for a
 * user program, or it is longer than `room`. Reads no byte behind room.
 */
bool insn_read(const uint8_t *b, size_t room, struct insn *in);

/* Where a jump, branch, loop, call or xbegin leads. b: its bytes; end: the address behind it. */
uint64_t insn_target(const struct insn *in, const uint8_t *b, uint64_t end);
/* The size of the distance in a jump, with a condition or without; 0: it has none. */
unsigned int insn_distance(const struct insn *in);

/* Its memory operand is at a distance from the instruction's end: the displacement. */
static inline bool insn_rip_relative(const struct insn *in)
{
	return in->modrm_at && (in->modrm & 0xc7) == 5;
}

/* The address of that operand. end: the address behind the instruction. */
uint64_t insn_rip_operand(const struct insn *in, const uint8_t *b, uint64_t end);

/* Whether insn_target() has an answer. */
static inline bool insn_has_target(const struct insn *in)
{
	return (in->flow >= INSN_JUMP && in->flow <= INSN_CALL) || in->flow == INSN_BEGIN;
}

/* Whether the next instruction is never reached from this one, not even by a return. */
static inline bool insn_ends_flow(const struct insn *in)
{
	return in->flow == INSN_JUMP || in->flow == INSN_JUMP_INDIRECT || in->flow == INSN_RETURN ||
	       in->flow == INSN_STOP;
}

static inline bool insn_is_call(const struct insn *in)
{
	return in->flow == INSN_CALL || in->flow == INSN_CALL_INDIRECT;
}

/* What it does with the flags that conditions look at. */
enum insn_flags {
	INSN_FLAGS_KEPT,
	INSN_FLAGS_READ,
	INSN_FLAGS_WRITTEN,	/* some of them, and it reads none */
};

enum insn_flags insn_flags(const struct insn *in);

/* endbr64: it only marks where indirect jumps may lead. */
bool insn_is_mark(const struct insn *in);
/* Whether its memory operand, or the address that it takes, is below the stack pointer. */
bool insn_is_below_stack(const struct insn *in, const uint8_t *b);

/* Whether the instruction has no effect: what compilers put between functions, and int3. */
bool insn_is_padding(const struct insn *in);
/* jmp *register, jmp *memory, and the same to another segment. */
bool insn_jumps_by_memory(const struct insn *in);
bool insn_returns(const struct insn *in);

#endif
