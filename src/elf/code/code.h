/* SPDX-License-Identifier: MIT */
/*
 * code.h - what a file says of its code: its functions, where a probe can be put, and how
 *
 *     image -> code_open(): functions (.eh_frame, symbols)
 *                           a mark for each byte of code: instruction start, jump target, padding
 *           -> code_plan(): for an address, which instructions are displaced, or why none can be
 *     image -> code_note_next(): notes of USDT (.note.stapsdt)
 *
 * All are pure functions of the file, so the server and the traced program get the same lists and
 * plans. The file may have any content. Like image.h, this runs in the agent: it allocates nothing
 * (the caller gives the memory) and calls only mem*() and str*().
 *
 * A plan says what would happen; it changes nothing. The agent moves the displaced instructions to
 * a place near by and puts a JMP where they were.
 */
#ifndef TRACEFUSE_ELF_CODE_CODE_H
#define TRACEFUSE_ELF_CODE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/image.h"

enum {
	CODE_JUMP	= 5,	/* bytes of the JMP */
	CODE_SEGMENTS	= 4,	/* executable segments of a file; more are left alone */
	CODE_MOVED_MAX	= 8,	/* instructions that one plan displaces, at most */
};

/* ---- Refusals ---- */

enum code_why {
	CODE_GOOD,
	/* of an address: code_plan() */
	CODE_NOT_CODE,		/* not in an executable segment of the file */
	CODE_NO_FDE,		/* not in .eh_frame: nothing says where instructions begin */
	CODE_NOT_START,		/* inside an instruction, or in padding */
	CODE_UNKNOWN,		/* the decoder does not know the instruction */
	CODE_FIXED,		/* the instruction does not work at another address */
	CODE_SIGNAL_FRAME,	/* the code that a signal handler returns to */
	CODE_SEQUENCE,		/* a restartable sequence (rseq), which must stay together */
	CODE_OWNED,		/* the bytes belong to a probe or site: code_own() */
	/* Only a trapping byte (INT3) would do, and that was to be avoided. */
	CODE_TRAP_ONLY,
	/* of a function: code_function.why */
	CODE_FIRST,		/* the first code of a program, which nothing called */
	CODE_PART,		/* a part of another function, or a stub of the PLT */
	/* found by the agent */
	CODE_CHANGED,		/* the memory has other bytes than the file */
	CODE_NO_FILE,		/* the code is not from a file: vDSO, JIT */
	CODE_OURS,		/* tracefuse's own libraries */
	CODE_TOO_FAR,		/* no memory near enough for the moved code */
	CODE_NO_ENTRY,		/* nobody keeps the registers of the entry for the return */
	CODE_NO_RETURNS,	/* a process in which no return address may be replaced */
	CODE_BUSY,		/* threads may be inside its bytes, and could not be led on */
	CODE_NR_WHYS
};

/* "inside an instruction" */
const char *code_why_text(enum code_why why);

/* Why the return of a function is not caught, though its entry can be traced. */
enum code_return {
	CODE_RETURN_GOOD,
	CODE_RETURN_TWICE,	/* setjmp, vfork, getcontext: it returns more often, or elsewhere */
	CODE_RETURN_READ,	/* dlsym and its kin: it looks at the address that it returns to */
	CODE_RETURN_UNWINDS,	/* the unwinder itself: libgcc_s, libunwind, _Unwind_*() */
	CODE_RETURN_FLAGS,	/* a caller uses the flags that it returns: assembly */
	CODE_NR_RETURNS
};

const char *code_return_text(enum code_return why);

/* ---- A file's code ---- */

/* What is known of a function, or'ed. */
enum code_has {
	CODE_HAS_FDE		= 1,
	CODE_HAS_SYMBOL		= 2,
	/* Jumps through registers or memory, of which some may lead to any instruction of it. */
	CODE_HAS_JUMPS		= 4,
	CODE_HAS_UNRESOLVED	= 8,
	CODE_HAS_ENDBR		= 16,	/* it begins with endbr64: probes stand behind that */
	CODE_HAS_UNKNOWN	= 32,	/* bytes that are no known instruction */
};

struct code_function {
	uint64_t	start;		/* as in the file: p_vaddr, without the load bias */
	uint32_t	size;
	uint16_t	has;		/* enum code_has, or'ed; from 64 on: of moved.c */
	/* enum code_why: why its entry cannot be a site; CODE_GOOD does not promise a plan. */
	uint8_t		why;
	uint8_t		returns;	/* enum code_return */
};

/* What is known of a byte of code, or'ed. */
enum code_mark {
	CODE_START	= 1,	/* an instruction begins here */
	CODE_TARGET	= 2,	/* something may jump here, or has the address */
	CODE_COVERED	= 4,	/* a function's, by its FDE */
	CODE_PADDING	= 8,	/* between functions, never executed */
	CODE_TAKEN	= 16,	/* a probe's: code_own() */
	CODE_ENTRY	= 32,	/* a function begins here */
	CODE_LOCKED	= 64,	/* CODE_SEQUENCE */
	/* Its own function jumps here, or a part of a function does. */
	CODE_AGAIN	= 128,
};

struct code_segment {
	uint64_t	low, high;	/* addresses, as in the file */
	const uint8_t	*bytes;		/* of low */
	uint8_t		*marks;		/* of low: enum code_mark, or'ed */
};

struct code_file {
	const struct image *image;
	struct code_segment segments[CODE_SEGMENTS];
	unsigned int	nr_segments;
	struct code_function *functions;	/* in order of start; they do not overlap */
	size_t		nr_functions;
	bool		is_fixed;	/* loaded where the file says: not PIE, no library */
	/* while it is opened */
	uint64_t	effort;		/* steps that reading it may still take */
	size_t		room;		/* for functions */
};

/*
 * Bytes of memory for code_open(). 0: the file has no code that is understood: no .eh_frame_hdr,
 * another processor.
 */
size_t code_room(const struct image *im);
/*
 * Reads the code of an image whose functions are read (image_functions()). memory: code_room()
 * bytes, zeroed, aligned to 16; it holds all that code_file points to, besides the image. False:
 * the file is damaged, or was changed since code_room().
 */
bool code_open(struct code_file *f, const struct image *im, void *memory, size_t size);

/* NULL: the address is not executable. */
const struct code_segment *code_segment_at(const struct code_file *f, uint64_t at);
/* The function that contains the address. NULL: none. */
const struct code_function *code_function_at(const struct code_file *f, uint64_t at);
/* The address for a probe of the function's entry: its start, or behind its endbr64. */
uint64_t code_entry(const struct code_function *fn);

/* ---- Plans ---- */

/* How a probe can stand at an address, in the order in which they are tried. */
enum code_tactic {
	CODE_REFUSED,
	CODE_WHOLE,		/* one instruction, of 5 bytes or more */
	CODE_SEVERAL,		/* it and those behind it; nothing jumps into them */
	/*
	 * Likewise, but jumps that are not resolved may lead to the inner starts, so each of those
	 * keeps a byte that traps. Its handler leads the thread to the moved instruction.
	 */
	CODE_GUARDED,
	CODE_BEFORE,		/* the JMP stands on instructions in front of the address, too */
	CODE_TRAP,		/* INT3 */
	CODE_NR_TACTICS
};

const char *code_tactic_text(enum code_tactic tactic);

struct code_plan {
	uint8_t		tactic;		/* enum code_tactic */
	uint8_t		why;		/* enum code_why; CODE_GOOD unless refused */
	uint8_t		len;		/* bytes of the displaced instructions and padding */
	uint8_t		nr;		/* displaced instructions */
	uint8_t		before;		/* of these, in front of the address: CODE_BEFORE */
	uint8_t		offsets[CODE_MOVED_MAX];	/* from `at`, where each begins */
	uint64_t	at;		/* where the JMP begins */
	uint64_t	address;	/* the probe's */
};

enum { CODE_NO_TRAP = 1 << CODE_TRAP };

/*
 * Plans a probe at an address. avoid: tactics that are not to be used, each 1 << tactic; without
 * a user's wish at least CODE_NO_TRAP. False: plan->tactic is CODE_REFUSED, and plan->why says why.
 */
bool code_plan(const struct code_file *f, uint64_t at, unsigned int avoid, struct code_plan *plan);
/*
 * Whether the plan's bytes belong to a probe from now on. Other plans then avoid them. One plan's
 * bytes are owned by it alone.
 */
void code_own(struct code_file *f, const struct code_plan *plan, bool owned);

/* ---- USDT ---- */

enum { CODE_ARGUMENTS = 12, CODE_NO_REGISTER = 0xff };

struct code_note {
	const char	*provider, *name, *arguments;	/* in the file; each has its 0 */
	uint64_t	address, semaphore;	/* as in the file; semaphore 0: none */
	/* What the symbols are that arguments name, and a bit for each that was found. */
	uint64_t	symbols[CODE_ARGUMENTS];
	uint32_t	has_symbol;
	uint32_t	has_slot;	/* symbols[] is a slot of the GOT: code_argument.is_slot */
};

/* Walks through the notes of all sections. Begin with { .image = im }. */
struct code_notes {
	const struct image *image;
	unsigned int	section;	/* the next one */
	const unsigned char *bytes;
	size_t		size, at;
	uint64_t	base;		/* of .stapsdt.base; 0: none */
	bool		has_base;
	size_t		nr_looked;	/* symbols that were compared: a file decides how many */
	bool		spent;		/* too many: those of further arguments are not known */
	/* What the dynamic section says: the file is a program; its symbols stay its own */
	bool		looked_dynamic, is_program, is_symbolic;
};

/* False: there are no more. */
bool code_note_next(struct code_notes *w, struct code_note *out);

enum code_argument_kind {
	CODE_ARGUMENT_UNKNOWN,	/* its text is not understood */
	CODE_ARGUMENT_REGISTER,
	CODE_ARGUMENT_VECTOR,	/* xmm0 to xmm31 */
	CODE_ARGUMENT_CONSTANT,
	CODE_ARGUMENT_MEMORY,	/* displacement + base + index * scale */
	CODE_ARGUMENT_ADDRESS,	/* the address of a symbol: $symbol+displacement */
};

/* Numbers of registers, as in instructions. */
enum code_register {
	CODE_RAX, CODE_RCX, CODE_RDX, CODE_RBX, CODE_RSP, CODE_RBP, CODE_RSI, CODE_RDI,
	CODE_R8, CODE_R9, CODE_R10, CODE_R11, CODE_R12, CODE_R13, CODE_R14, CODE_R15, CODE_RIP,
};

/* What a symbol of an argument stands for. */
enum code_symbol {
	CODE_SYMBOL_ADDRESS,	/* name: its address */
	CODE_SYMBOL_GOT,	/* name@GOTPCREL: the word of the GOT with its address */
	CODE_SYMBOL_THREAD,	/* name@tpoff: a thread's variable, from the thread's pointer on */
	CODE_SYMBOL_GOT_THREAD,	/* name@gottpoff: the word of the GOT with that distance */
	CODE_SYMBOL_BLOCK,	/* name@dtpoff: a thread's variable, from its file's block on */
};

/* An argument, such as -4@-20(%rbp). */
struct code_argument {
	uint8_t		kind;		/* enum code_argument_kind */
	uint8_t		size;		/* bytes of the value: 1, 2, 4, 8; 0: not said, so 8 */
	bool		is_signed, is_float;
	uint8_t		reg;		/* enum code_register, or the vector register's number */
	uint8_t		reg_size;	/* bytes of the register that are named */
	bool		is_high;	/* ah, bh, ch, dh: the second byte of reg */
	uint8_t		base, index;	/* enum code_register, or CODE_NO_REGISTER */
	uint8_t		scale;
	char		segment;	/* 'f': %fs:, 'g': %gs:, 0 */
	/* The constant, or the displacement. */
	int64_t		value;
	/* A symbol's name, to whose address value is added; not ended by 0. symbol_len 0: none. */
	const char	*symbol;
	uint32_t	symbol_len;
	uint8_t		symbol_kind;	/* enum code_symbol */
	/*
	 * An address as in the file, or a distance, without value. False: the file has none, or
	 * several.
	 */
	uint64_t	symbol_at;
	bool		has_symbol_at;
	/*
	 * Of CODE_SYMBOL_GOT and CODE_SYMBOL_GOT_THREAD: symbol_at is the word in the GOT. If it is
	 * not, the linker needed no such word, and symbol_at is what would be in it.
	 */
	bool		is_slot;
	const char	*text;		/* of the whole argument; not ended by 0 */
	uint32_t	text_len;
};

/* Whether the operand is the word of the GOT that has its symbol's address or distance. */
static inline bool code_argument_is_word(const struct code_argument *a)
{
	return a->symbol_kind == CODE_SYMBOL_GOT || a->symbol_kind == CODE_SYMBOL_GOT_THREAD;
}

/* The arguments of a note, at most CODE_ARGUMENTS. -> their number */
unsigned int code_note_arguments(const struct code_note *n,
				 struct code_argument out[CODE_ARGUMENTS]);
/* Whether a hit can fetch it: its place is one that the note and the file tell. */
bool code_argument_is_fetched(const struct code_argument *a);

#endif
