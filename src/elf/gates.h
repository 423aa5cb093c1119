/* SPDX-License-Identifier: MIT */
/*
 * gates.h - finds the `syscall` instructions of a file's code, and what a jump there can displace
 *
 *     mov $257, %eax      before: the instructions that a jump can replace
 *     syscall             stays where it is
 *     cmp $-4096, %rax    after: the same
 *
 * The instruction stays, so what the kernel and debuggers see of a thread that waits in a call is
 * what they see untraced: the address, the stack, the way a call is started again. Some leave no
 * other way than to displace it, too.
 *
 * All of it is read from the code as it is in memory, without the file: a session that wants these
 * calls starts programs by the hundred, and what switches them on later may open no file. So only
 * functions that contain the two bytes are decoded.
 *
 * A pure function of the bytes, which may be anything. It allocates nothing and calls only mem*().
 */
#ifndef TRACEFUSE_ELF_GATES_H
#define TRACEFUSE_ELF_GATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/image.h"

enum { GATE_SIZE = 2, GATE_NO_NUMBER = -1 };

/* Why a gate cannot be used. */
enum gate_why {
	GATE_GOOD,
	GATE_NO_FUNCTION,	/* nothing says where its instructions begin */
	GATE_NOT_START,		/* the bytes are inside another instruction */
	GATE_SIGNAL_FRAME,	/* rt_sigreturn, whose bytes unwinders look for */
	GATE_TARGET,		/* something jumps to the instruction, or behind it */
	GATE_BEFORE,		/* what is in front of it cannot be displaced */
	GATE_AFTER,		/* nor what is behind it */
	GATE_NR_WHYS
};

struct gate {
	uint64_t	at;		/* as in the file: p_vaddr, without the load bias */
	uint64_t	start;		/* of its function */
	uint32_t	size;
	int32_t		number;		/* of the system call; GATE_NO_NUMBER: not known */
	uint8_t		why;		/* enum gate_why */
	uint8_t		before;		/* bytes in front of it that are displaced */
	uint8_t		after;		/* behind it; 0: the call never returns, or `moves` */
	/* The instruction is displaced, too, with what is in front of it: there is one jump. */
	bool		moves;
	/* A jump covers several instructions: a thread may be between them. */
	bool		is_inner;
};

/*
 * Bytes of memory for gates_find(). 0: the file has no code that can be read. im: image_functions()
 * has been called.
 */
size_t gates_room(const struct image *im);
/*
 * Finds the gates, in order of their addresses. memory: gates_room() bytes, zeroed. *found: behind
 * the call it is the list, in that memory. -> how many
 */
size_t gates_find(const struct image *im, void *memory, size_t size, struct gate **found);
/* How many there may be in a file that does not say where its functions begin. */
size_t gates_guess(const struct image *im);

#endif
