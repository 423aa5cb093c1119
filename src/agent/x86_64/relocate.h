/* SPDX-License-Identifier: MIT */
/*
 * relocate.h - instructions that run at another address: moved code
 *
 *     from  push %rbp; mov %rsp, %rbp; lea x(%rip), %rax; ...      the program's own place
 *     to    push %rbp; mov %rsp, %rbp; lea y(%rip), %rax; jmp from + size
 */
#ifndef TRACEFUSE_AGENT_X86_64_RELOCATE_H
#define TRACEFUSE_AGENT_X86_64_RELOCATE_H

#include <stddef.h>
#include <stdint.h>

enum {
	RELOCATE_NR	= 8,	/* instructions at most */
	/* Bytes of moved code at most: an instruction becomes 28 bytes at most, a jump has 5. */
	RELOCATE_MOST	= RELOCATE_NR * 28 + 5,
	RELOCATE_JUMP	= 5,	/* bytes of the jump that replaces the instructions */
};

/* Where the instructions begin: from + old[i] has become to + moved[i]. */
struct relocated {
	uint8_t		nr;
	uint8_t		old[RELOCATE_NR];
	uint8_t		moved[RELOCATE_NR];
};

/*
 * Moves the whole instructions in the `size` bytes at b, which the program has at `from`, to `to`:
 * stores what is to stand there at `out`. -> its length. 0: they cannot be moved, or `to` is too
 * far. The length does not depend on `to`. out has RELOCATE_MOST bytes.
 */
size_t relocate(const uint8_t *b, size_t size, uintptr_t from, uintptr_t to, uint8_t *out,
		struct relocated *map);

/* The same, where the jump begins `front` bytes in front of them. */
size_t relocate_behind(size_t front, const uint8_t *b, size_t size, uintptr_t from, uintptr_t to,
		       uint8_t *out, struct relocated *map);

#endif
