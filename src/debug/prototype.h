/* SPDX-License-Identifier: MIT */
/*
 * prototype.h - a function's prototype, from the debug information of its file
 *
 *     debug_open(path) -> a process that reads the file (reader/)
 *     debug_ask(address) -> struct prototype
 *     debug_close()
 *
 * The reader's answer is text: a line for each thing, whose words have tabs between them.
 *
 *     function  NAME FILE LINE FLAGS
 *     result    KIND SIZE PLACE DECLARATION
 *     parameter KIND SIZE PLACE NAME DECLARATION
 *     end
 *
 * or, if it knows no such function: none. The name of the file that has it and cannot be read may
 * follow.
 */
#ifndef TRACEFUSE_DEBUG_PROTOTYPE_H
#define TRACEFUSE_DEBUG_PROTOTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PROTOTYPE_PARAMETERS	= 64,	/* more are left out */
	PROTOTYPE_TEXT		= 512,	/* bytes of a declaration, with its 0 */
	PROTOTYPE_NAME		= 128,
	PROTOTYPE_LINE		= 2048,
};

/* What a value is. The letters are those of the reader's answer. */
enum prototype_kind {
	PROTOTYPE_VOID		= 'v',
	PROTOTYPE_SIGNED	= 'i',
	PROTOTYPE_UNSIGNED	= 'u',	/* bool, too */
	PROTOTYPE_CHARACTER	= 'c',
	PROTOTYPE_ENUM		= 'e',
	PROTOTYPE_POINTER	= 'p',	/* references, objects passed by address, too */
	PROTOTYPE_STRING	= 's',	/* a pointer to char */
	PROTOTYPE_FLOAT		= 'f',
	PROTOTYPE_STRUCT	= 'S',	/* by value */
	PROTOTYPE_WIDE		= 'w',	/* wider than 8 bytes; complex numbers, vectors */
};

/* A value and where it is: for a parameter at the entry, for a result at the return. */
struct prototype_value {
	char		name[PROTOTYPE_NAME];	/* "": it has none */
	/* As C declares it, with its name. */
	char		text[PROTOTYPE_TEXT];
	enum prototype_kind kind;
	uint32_t	size;
	/*
	 * "%di", "$stack1", "%xmm0"; two registers: "%di+%si"; passed by its address: "+0(%di)";
	 * "": it is passed in nothing; "?": not known, for its type or that of one before
	 */
	char		place[32];
};

struct prototype {
	char		name[PROTOTYPE_NAME];
	char		file[PROTOTYPE_TEXT];	/* of the source; "": not known */
	char		elsewhere[PROTOTYPE_TEXT]; /* has the function, and is not read; "": none */
	uint32_t	line;
	bool		varargs;
	bool		unprototyped;	/* declared as in K&R's C */
	bool		changed;	/* the compiler passes the arguments otherwise */
	bool		loose;		/* its language has no fixed calling convention */
	struct prototype_value result;
	struct prototype_value parameters[PROTOTYPE_PARAMETERS];
	unsigned int	nr;
};

/* ---- open.c ---- */

struct debug;

/*
 * Starts a reader of the file. 0; -ENOENT: the file has no debug information, and no file that has
 * it is installed; -ENOSYS: this installation has no reader; -ENOMEM ...
 */
int debug_open(const char *path, struct debug **out);
/*
 * The prototype of the function at the address, as the file's symbols have it. 0; -ENOENT: the
 * debug information has no such function, but `elsewhere` may say where it is; -ETIMEDOUT, -EIO:
 * the reader has ended, and whatever is asked from now on is answered alike.
 */
int debug_ask(struct debug *d, uint64_t address, struct prototype *out);
void debug_close(struct debug *d);

/* ---- kept.c ---- */

/* The reader of the file that was asked for last. */
struct debug_kept;

/*
 * The same for a function of any file, with the reader in *kept (at first NULL; the caller frees
 * it) if the file is the same. What fails but for -ENOENT is tried again with the next function.
 */
int debug_kept_prototype(struct debug_kept **kept, const char *path, uint64_t address,
			 struct prototype *out);
/* Ends a reader that nobody has asked for some seconds. now: ms; called now and then. */
void debug_kept_rest(struct debug_kept **kept, int64_t now);
void debug_kept_free(struct debug_kept *k);

/* ---- answer.c ---- */

/*
 * Takes a line of the answer, without its newline; it is changed. 1: more lines follow; 0: it was
 * the last one; -ENOENT: no such function; -EIO: it is no such line.
 */
int prototype_take_line(struct prototype *p, char *line);
/* What fetches the whole value: a register, a word of the stack, "+0(%di)"; NULL: nothing does. */
const char *prototype_word(const struct prototype_value *v);
/* Whether the value is passed by its address; then *out is where that is: "%di". */
bool prototype_address(const struct prototype_value *v, char out[32]);
/* The type of a probe's argument for the value: "s32"; "": the default one, x64. */
const char *prototype_probe_type(const struct prototype_value *v);
/* The value's own bytes of a register, sign or zero extended. */
uint64_t prototype_extend(const struct prototype_value *v, uint64_t word);
/*
 * Whether the compiler has made the function of another one, by a symbol's name: then its
 * parameters need not be those of the source.
 */
bool prototype_is_clone(const char *symbol);

#endif
