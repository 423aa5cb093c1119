/* SPDX-License-Identifier: MIT */
/*
 * instruction.h - the length of an x86-64 instruction, and its kind
 *
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, chapter 2 and
 * appendix A.
 */
#ifndef TRACEFUSE_AGENT_X86_64_INSTRUCTION_H
#define TRACEFUSE_AGENT_X86_64_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum insn_map {
	INSN_BYTE,		/* one byte of opcode */
	INSN_0F,
	INSN_0F38,
	INSN_0F3A,
	INSN_VECTOR		/* VEX, EVEX */
};

struct insn {
	uint8_t		len;
	uint8_t		map;	/* enum insn_map */
	uint8_t		opcode;
	uint8_t		modrm;	/* 0: there is none */
};

/*
 * Reads the instruction whose bytes begin at b. False: compilers write no such instruction for a
 * user program, or it is longer than `room`. Reads no byte behind room.
 */
bool insn_read(const uint8_t *b, size_t room, struct insn *in);

/* The size of the distance in a jump, with a condition or without; 0: it has none. */
unsigned int insn_distance(const struct insn *in);
bool insn_jumps_by_memory(const struct insn *in);
bool insn_returns(const struct insn *in);

#endif
