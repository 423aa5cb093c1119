/* SPDX-License-Identifier: MIT */
/*
 * fetch.h - the record of a probe at an instruction, made from the registers at the hit
 *
 *     probe_arg (model/dynamic/probe.h) -> fetch_code    by the server
 *     registers, memory of the program  -> record        fetch_run(), the hit
 *
 * The record is the kernel's, byte for byte: the common fields, the addresses of the place, the
 * arguments without gaps, then the bytes of the texts in the order of their arguments. The caller
 * fills the common fields. Memory that cannot be read gives 0, or a text of the length 0, which
 * is shown as "(fault)".
 *
 * Code is one block of the config region: the header, the ops, then the bytes of constant texts. It
 * runs once through all ops, with one value.
 *
 * The server frees code when all processes have answered that they no longer plant its point. A hit
 * that runs it is inside hit_enter(), or has a copy.
 */
#ifndef TRACEFUSE_PLANE_FETCH_H
#define TRACEFUSE_PLANE_FETCH_H

#include <stdbool.h>
#include "layout/layout.h"

/* The numbers of registers in instructions; so enum code_register of elf/code/code.h has them. */
enum fetch_register {
	FETCH_RAX, FETCH_RCX, FETCH_RDX, FETCH_RBX, FETCH_RSP, FETCH_RBP, FETCH_RSI, FETCH_RDI,
	FETCH_R8, FETCH_R9, FETCH_R10, FETCH_R11, FETCH_R12, FETCH_R13, FETCH_R14, FETCH_R15,
	/* The address of the place; at a return: the address that the function returns to */
	FETCH_RIP,
	FETCH_FLAGS,
	FETCH_REGISTERS
};

/*
 * As the program sees them: rsp is that before the probe's jump. At a return it is that behind the
 * return instruction, as the caller sees it.
 */
struct probe_registers {
	uint64_t	r[FETCH_REGISTERS];	/* by enum fetch_register */
};

enum {
	FETCH_TEXT_MAX	= 4096,	/* bytes of a text with its 0: the kernel's limit */
	/* Words of a function's arguments that a probe of its return may keep */
	FETCH_ENTRY_WORDS = 6,
};

enum fetch_op_kind {
	FETCH_END,
	/* Each sets the value */
	FETCH_REGISTER,		/* reg */
	FETCH_NUMBER,		/* imm */
	FETCH_IN_FILE,		/* imm: p_vaddr; its address in the process */
	FETCH_STACK,		/* the word at rsp + imm; 0 if it cannot be read */
	FETCH_ENTRY_WORD,	/* reg: the register as it was at the function's entry */
	FETCH_VECTOR,		/* reg: the lowest 8 bytes of vector register 0 to 31 */
	/* Each changes the value */
	FETCH_ADD,		/* + register `reg` * imm */
	FETCH_THREAD,		/* + the thread's pointer (%fs) */
	FETCH_SEGMENT,		/* + the base of %gs; where it cannot be read: op `next` */
	/* `size` bytes of it from bit `bit` on, with sign if `is_signed` */
	FETCH_PART,
	/*
	 * The `size` bytes at value + imm, with sign if `is_signed`. If they cannot be read, the
	 * code goes on at op `next`.
	 */
	FETCH_LOAD,
	FETCH_SESSION,		/* the session's address for it */
	/* Each stores */
	FETCH_STORE,		/* `size` bytes of the value, at off */
	FETCH_STORE_REGISTER,	/* the same of register `reg` */
	FETCH_COPY,		/* len bytes from the address value + imm, at off */
	/* Cuts bits out of `len` numbers of `size` bytes at off: `width` bits from bit `bit` on */
	FETCH_BITS,
	/* Texts; off: of their __data_loc */
	FETCH_FAULT,		/* none: it cannot be read, if no other op stores it */
	FETCH_TEXT,		/* at the address value + imm */
	FETCH_COMM,		/* the task's name */
	FETCH_CONSTANT,		/* imm: bytes from the code's begin, len: with the 0 */
	FETCH_SYMBOL,		/* the value as "0x1f" */
	FETCH_KINDS
};

struct fetch_op {
	uint8_t		kind;		/* enum fetch_op_kind */
	uint8_t		reg;		/* enum fetch_register */
	uint8_t		size;
	uint8_t		is_signed;
	uint8_t		bit, width;
	uint16_t	off;		/* in the record */
	uint16_t	len;
	uint16_t	next;
	uint32_t	pad;
	int64_t		imm;
};

struct fetch_code {
	uint32_t	bytes;		/* of the whole, to retire it */
	uint32_t	nr_ops;
	uint16_t	head;		/* bytes of the common fields and the addresses */
	uint16_t	size;		/* of the record without its texts */
	uint32_t	flags;		/* enum fetch_flags */
	struct fetch_op	ops[];
};

enum fetch_flags {
	/* func and ret_ip stand in the record, otherwise ip */
	FETCH_OF_RETURN		= 1 << 0,
	/* The addresses of the place are the session's (kprobes), otherwise the process's */
	FETCH_SESSION_PLACE	= 1 << 1,
	FETCH_READS_MEMORY	= 1 << 2,	/* load() is called */
	FETCH_WANTS_ENTRY	= 1 << 3,	/* hit.entry is used */
	FETCH_WANTS_COMM	= 1 << 4,	/* hit.comm is used */
	FETCH_CLEARS		= 1 << 5,	/* some arguments may stay unset: they become 0 */
};

/* What the caller has. */
struct fetch_hit {
	const struct probe_registers *regs;
	/* At a return: the registers at the function's entry. NULL: not known */
	const struct probe_registers *entry;
	uint64_t	bias;		/* of the file: address in the process - p_vaddr */
	uint64_t	function;	/* at a return: the function's address in the process */
	const char	*comm;		/* LAYOUT_COMM_LEN bytes */
	/*
	 * Copies memory of the program, which may not be there; returns how many bytes were copied
	 * before the first that cannot be read. fetch_run() asks for no bytes beyond the page of
	 * a text's end.
	 */
	uint32_t	(*load)(void *arg, void *to, uint64_t from, uint32_t size);
	/* The session's address (R19) */
	uint64_t	(*session)(void *arg, uint64_t address);
	/* The lowest 8 bytes of a vector register */
	uint64_t	(*vector)(void *arg, unsigned int number);
	/* The base of %gs. False: it cannot be read. */
	bool		(*segment)(void *arg, uint64_t *base);
	void		*arg;
};

/* Stores the lowest `size` bytes: 1, 2, 4, otherwise 8. */
static inline void fetch_put(char *to, uint64_t value, unsigned int size)
{
	switch (size) {
	case 1:
		*to = (char)value;
		break;
	case 2:
		__builtin_memcpy(to, &value, 2);
		break;
	case 4:
		__builtin_memcpy(to, &value, 4);
		break;
	default:
		__builtin_memcpy(to, &value, 8);
	}
}

/*
 * Makes the record behind its common fields. Returns the bytes of the whole record, or 0: it does
 * not fit into the room. A text that does not fit ends where the room ends.
 */
uint32_t fetch_run(const struct fetch_code *code, const struct fetch_hit *h, void *record,
		   uint32_t room);

#endif
