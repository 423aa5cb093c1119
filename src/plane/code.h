/* SPDX-License-Identifier: MIT */
/*
 * code.h - flat code on a record's bytes: filters and histogram triggers (R10)
 *
 * The server writes it (model/filter/compile.c, model/hist/compile.c), and hits run it
 * (plane/filter.c, plane/action/fold.c). Code is one block of the config region: the header,
 * `nr_ops` ops, then a pool of bytes (string operands, masks) that ops refer to by offset from the
 * start of the code.
 *
 *     +---------+------+------+-- ... --+--------------+
 *     | code    | op 0 | op 1 |         | pool         |
 *     +---------+------+------+-- ... --+--------------+
 *
 * The code of a filter branches. Every predicate names two ops: one to continue with if it holds,
 * one if it does not. OP_ACCEPT and OP_REJECT end the code. A branch always goes forward.
 *
 * The code of a histogram works on a small stack of 64-bit values. It goes only forward, in the
 * kernel's order:
 *
 *     keys            into the key buffer
 *     references      to variables of other hists; an unset one ends the code
 *     OP_FIND         the elt
 *     sums, variables
 *     references      to the hist's own variables
 *     actions         track (onmax, onchange), save, synthetic event, snapshot
 *
 * The frame keeps what each reference read, in ref[], by the reference's number. It notes the map
 * and the elt, too: a string is copied from there when it is used. A value larger than a word lies
 * in a block of an elt (map.h).
 */
#ifndef TRACEFUSE_PLANE_CODE_H
#define TRACEFUSE_PLANE_CODE_H

#include <stdbool.h>
#include "plane/map/map.h"
#include "layout/layout.h"

enum {
	CODE_STACK		= 16,	/* values */
	/* Return addresses in a stack key (the kernel's HIST_STACKTRACE_DEPTH) */
	CODE_STACK_DEPTH	= 16,
	/* And with .depth=; one less than the agent takes, so that it is seen if there are more */
	CODE_STACK_DEEPEST	= 63,
	CODE_REFS		= HIT_REFS,
	/*
	 * Bytes of a text or a stack in a block or a synthetic record (the kernel's
	 * STR_VAR_LEN_MAX)
	 */
	STRING_ROOM		= 256,
};

enum cmp_op { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE, CMP_AND };

/* Where a string operand of a match lies. */
enum string_kind {
	STRING_FIXED,		/* char x[N] in the record: off, size */
	/* __data_loc: u32 at off: length << 16 | offset from the record's start */
	STRING_DATA_LOC,
	STRING_REL_LOC,		/* __rel_loc: offset counts from behind the u32 */
	STRING_COMM,		/* the task's name */
	/* A pointer: the record does not have the bytes; it matches nothing */
	STRING_POINTER,
	STRING_REF,		/* the text that a reference read */
	/* The name that OP_ELT_COMM stored in the elt's variables arg and arg + 1 */
	STRING_ELT_COMM,
	STRING_FAULT,		/* "(fault)" */
};

enum synth_flags {
	/* The reference is a number. The kernel takes it for a pointer, which leads nowhere. */
	SYNTH_FAULT	= 1 << 0,
};

enum stack_kind { STACK_HIT, STACK_FIELD, STACK_REF };

enum ref_flags {
	REF_ONCE	= 1 << 0,	/* unsets the variable: one reader gets each value (R17) */
};

enum key_flags {
	KEY_FIND	= 1 << 0,	/* of OP_KEY_FIELD, OP_KEY_LOG2 and OP_KEY_STRING */
	/* Of OP_KEY_STACK: the last word is for LAYOUT_STACK_CUT. Without it, the map counts. */
	KEY_MARKS	= 1 << 1,
};

/* Of OP_HIST_KEYS and OP_HIST_LOG2: the key is the .log2 of the field. */
enum keys_flags {
	KEYS_LOG2		= 1 << 0,
	KEYS_LOG2_SECOND	= 1 << 1,
};

enum track_flags {
	/* onchange: a value is taken if it differs; otherwise: if it is greater */
	TRACK_CHANGE	= 1 << 0,
	/* One block for the whole hist (that of elt 0) instead of one for each elt */
	TRACK_GLOBAL	= 1 << 1,
};

/* As the kernel's regex types. The operand has no stars. */
enum match_kind { MATCH_FULL, MATCH_FRONT, MATCH_MIDDLE, MATCH_END, MATCH_GLOB };

enum op_kind {
	OP_END,
	/* Filter */
	OP_ACCEPT,
	OP_REJECT,
	/* A predicate that is false for each record: fields of odd sizes, pointers to strings */
	OP_NEVER,
	/* cmp: enum cmp_op; record[off] against imm */
	OP_CMP_U8,
	OP_CMP_U16,
	OP_CMP_U32,
	OP_CMP_U64,
	OP_CMP_S8,
	OP_CMP_S16,
	OP_CMP_S32,
	OP_CMP_S64,
	OP_CMP_CPU, /* the hit's cpu against imm */
	/*
	 * size: enum string_kind << 4 | enum match_kind, cmp: CMP_EQ or CMP_NE; off: field, len:
	 * its size; imm: pool offset of a 0-terminated operand of arg bytes
	 */
	OP_MATCH,
	/*
	 * cpumask field (__data_loc) at off, cmp, imm: pool offset of the mask (LAYOUT_MAX_CPUS / 8
	 * bytes; the first arg bits count)
	 */
	OP_MASK_FIELD,
	/*
	 * The scalar field of `len` bytes at off is a CPU number; it is tested against the mask at
	 * imm, of arg bits.
	 */
	OP_MASK_SCALAR,
	OP_MASK_CPU, /* the hit's cpu, tested against the mask at imm, of arg bits */
	/* The u64 field at off lies within [pool(imm).lo, .hi), cmp: `field.function == name` */
	OP_RANGE,
	/* load: each pushes a value */
	OP_LOAD_U8,
	OP_LOAD_U16,
	OP_LOAD_U32,
	OP_LOAD_U64,
	OP_LOAD_S8,
	OP_LOAD_S16,
	OP_LOAD_S32,
	OP_LOAD_S64,
	OP_LOAD_IMM,
	OP_LOAD_TIME,
	OP_LOAD_CPU,
	/* Each changes the top of the stack */
	OP_LOG2,   /* ilog2(roundup_pow_of_two(v)) */
	OP_BUCKET, /* v - v % imm */
	OP_EXPONENTIAL, /* exponential_bucket(imm, v) */
	OP_USECS,  /* (v + 500) / 1000 */
	OP_NEG,
	/* Each pops two values and pushes one */
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_DIV,	      /* OP_DIV: a plain division; by zero: (u64)-1 */
	OP_DIV_SHIFT, /* v >> imm */
	OP_DIV_MULT,  /* (v * imm + 2^20 - 1) >> 20 while v < 2^20, else v / len */
	/*
	 * key: each pops its value into the key buffer, or copies it there, at `koff` (the op's
	 * off). imm is the field's offset.
	 */
	OP_KEY_U64,
	OP_KEY_FIELD, /* size: load op of the field, arg: the field's offset */
	/*
	 * imm: field offset, arg: its size if fixed, len: room in the key, size: enum string_kind
	 */
	OP_KEY_STRING,
	OP_KEY_STACK,	    /* len: bytes; flags: KEY_MARKS */
	OP_KEY_STACK_FIELD, /* a __data_loc unsigned long[] field at imm */
	/* Map */
	/* key -> elt, made if it is new. No elt is left: counted as dropped, and the code ends. */
	OP_FIND,
	OP_HITCOUNT,  /* sum 0 += 1 */
	OP_SUM,	      /* pop; added to sum[off] */
	OP_SUM_FIELD, /* size: load op of the field, arg: its offset; added to sum[off] */
	OP_ELT_COMM,  /* the task's name into the elt's variables off and off + 1, once */
	/*
	 * variables: off: the variable's number in the elt
	 *
	 * A text comes from a field (size: enum string_kind, imm: its offset, arg:
	 * its size if fixed), from a reference (STRING_REF, arg: its number) or is
	 * the task's name (STRING_COMM). A stack comes from the hit, from a field
	 * (STACK_FIELD, imm: offset of its __data_loc) or a reference.
	 */
	OP_VAR_SET, /* pop */
	/* References; arg: number of the reference */
	/*
	 * imm: the other hist's struct hist_cell; arg: bytes of our own key. Without such an elt
	 * the code ends.
	 */
	OP_REF_FIND,
	/*
	 * off: variable of the elt found last, len: its block + 1 or 0, flags: enum ref_flags. If
	 * it is unset, the code ends.
	 */
	OP_REF_READ,
	/* off: variable of our own elt as this hit set it, len: its block + 1 or 0 */
	OP_REF_OWN,
	OP_LOAD_REF, /* push */
	/*
	 * joined: hist_join() makes each of these of the ops that its comment names. Keys with
	 * KEY_FIND in flags do what OP_FIND does, too.
	 */
	OP_KEY_LOG2, /* a load (size, arg as in OP_KEY_FIELD), OP_LOG2, OP_KEY_U64 */
	/*
	 * OP_REF_FIND, OP_REF_READ, with their fields; but the bytes of our own key are in on_true
	 */
	OP_REF_TAKE,
	OP_VAR_TIME, /* OP_LOAD_TIME, with size 1 OP_USECS, OP_VAR_SET */
	/* OP_LOAD_TIME, with size 1 OP_USECS, OP_LOAD_REF, OP_SUB, OP_VAR_SET */
	OP_VAR_SINCE,
	OP_VAR_FIELD,  /* a load (size, arg as in OP_KEY_FIELD), OP_VAR_SET */
	OP_TAKE_SINCE, /* the only key, of 8 bytes, OP_REF_TAKE, OP_FIND, OP_VAR_SINCE. size, off:
			  the key's load op and field offset; imm, arg, flags: as in OP_REF_TAKE;
			  on_true: the other hist's variable, on_false: our own; len: 1: OP_USECS */
	/* From here on to OP_HIST_KEY1 the ops are fold_act()'s: see op_is_act(). */
	OP_RAISE,	   /* pop; sum[off] is at least that ^ imm: a minimum or a maximum */
	/* Variables that are a text or a stack */
	OP_VAR_SET_STRING, /* len: the number of its block */
	OP_VAR_SET_STACK,  /* len: the number of its block; size: enum stack_kind */
	/* onmax, onchange, save */
	/*
	 * off: block, arg: reference, flags: enum track_flags, len: with TRACK_GLOBAL the instance
	 * of the snapshot. If the value is not taken, the code goes to on_false.
	 */
	OP_TRACK_BEGIN,
	OP_TRACK_U64,	/* pop; to offset `off` of the new block's data */
	/*
	 * To offset off, at most STRING_ROOM bytes with the 0; the sources are those of
	 * OP_VAR_SET_STRING
	 */
	OP_TRACK_STRING,
	OP_TRACK_KEY,  /* the key, len bytes, to offset off */
	/*
	 * The task's name, LAYOUT_COMM_LEN bytes, to offset off; arg: 1 + the variable where
	 * OP_ELT_COMM stored it, 0: the hit's task
	 */
	OP_TRACK_COMM,
	/*
	 * Publishes the block. If another hit has published a better value, the code goes to
	 * on_false.
	 */
	OP_TRACK_END,
	/* Synthetic events */
	/*
	 * arg: event id, len: bytes of the record without texts and stacks of variable length (all
	 * 0 at first); imm: 1 + index of the only instance, 0: all
	 */
	OP_SYNTH_BEGIN,
	OP_SYNTH_U64, /* off: in the record, size: bytes, arg: reference */
	OP_SYNTH_OWN, /* OP_REF_OWN of variable arg, OP_SYNTH_U64 */
	/*
	 * off, len: room of a fixed array, 0: off is a __data_loc; arg: reference; flags: enum
	 * synth_flags
	 */
	OP_SYNTH_STRING,
	OP_SYNTH_STACK, /* off: of the __data_loc, arg: reference */
	/*
	 * Runs that event's triggers now. Its record goes to the rings after this hit's own record.
	 */
	OP_SYNTH_END,
	/*
	 * Event probes: the record is made of the hit's own fields, between OP_SYNTH_BEGIN and
	 * OP_SYNTH_END. A __data_loc has 4 bytes here. If a text cannot be read, its length is 0
	 * and its offset is that of the next text.
	 */
	/*
	 * Pushes `size` bytes that lie imm (signed) bytes from the begin of a text. off: its
	 * field's offset, cmp: enum string_kind. Outside the record it pushes 0.
	 */
	OP_LOAD_TEXT,
	OP_BITS,      /* bits off to off + len - 1 of the top value */
	OP_PROBE_U64, /* pop; to off, size bytes */
	/*
	 * off: of the __data_loc, size: enum string_kind (STRING_POINTER: cannot be read), len: the
	 * field's offset, imm: as in OP_LOAD_TEXT. The text ends at its 0 or at the end of the
	 * record.
	 */
	OP_PROBE_STRING,
	/* off: of the __data_loc, imm: pool offset, len: bytes with the 0 */
	OP_PROBE_TEXT,
	OP_PROBE_ADDRESS, /* pop; its text as "0x1f", off: of the __data_loc */
	OP_SNAPSHOT,	  /* arg: index of the instance whose buffers are swapped */
	/*
	 * From here on one op is the whole of a common hist. The ops that need no run come first.
	 */
	OP_HIST_KEY1, /* len: load op of the key, off: its field offset; find, hitcount */
	OP_HIST_KEYS, /* the same and, where not 0, a second key: size: its load op,
			 on_true: its field offset; and a value: cmp: its load op, arg: its
			 field offset. flags: enum keys_flags */
	OP_HIST_LOG2, /* one key, OP_KEY_LOG2; len, off: the load op and the
			 field's offset; flags: KEYS_LOG2 */
	OP_HIST_TIME, /* the whole of a hist with one key of 8 bytes and OP_VAR_TIME. len, off: the
			 key's load op and field offset; arg: the variable; size: 1: OP_USECS */
	OP_HIST_TEXT, /* the same with OP_KEY_STRING, whose fields it has */
	OP_PROFILE,   /* the whole of the function profile: struct profile_record into
			 enum profile_sum of {its function, the hit's CPU} */
	OP_PROFILE_SPREAD, /* the same: of a return, the bucket of its time */
	OP_COUNT
};

struct op {
	uint8_t		kind;		/* enum op_kind */
	uint8_t		cmp;		/* enum cmp_op */
	uint8_t		size;
	uint8_t		flags;
	uint16_t	off;		/* offset in the record, or in the key for OP_KEY_* */
	uint16_t	len;
	uint16_t	on_true;	/* filter: index of the next op */
	uint16_t	on_false;
	uint32_t	arg;
	uint64_t	imm;
};

/*
 * R4: where the next server and programs find the map and its layout. The cell stays when `clear`
 * replaces the map; the layout does not change.
 */
struct hist_cell {
	_Atomic data_ref map;
	struct map_layout layout;
};

struct code {
	uint32_t	size;		/* bytes of the whole, for retirement */
	uint32_t	nr_ops;
	data_ref	map;		/* hist: struct map */
	uint32_t	key_size;	/* hist: bytes, a multiple of 8 */
	uint32_t	flags;		/* enum code_flags */
	struct map_layout layout;	/* hist: the map's layout, as in the hist's cell */
	struct op	ops[];
};

enum code_flags {
	CODE_NEEDS_TIME	= 1 << 0,
	CODE_NEEDS_STACK	= 1 << 1,
	CODE_ONE_EVENT	= 1 << 2,	/* a hit makes at most one synthetic event with it */
	CODE_LATENCY	= 1 << 3,	/* OP_TAKE_SINCE of a word, and hist_rest_is_event() */
};

struct plane;
struct hit;
struct slot;
struct run;	/* run.h */
struct hit_since;	/* plane.h */

/*
 * Runs a filter's code on a hit. A field outside the record reads as 0, a string outside it as "".
 */
int filter_match(const struct code *code, const struct hit *h);

/* Runs a histogram's code on run->seen. With CODE_NEEDS_TIME, run->time is set before. */
void hist_fold(const struct code *code, struct run *run);
/*
 * The rest of code that begins with OP_TAKE_SINCE, which has been done: `elt` was counted, its
 * variable is `value`. With run->time. No later op may be OP_REF_READ.
 */
void hist_fold_rest(const struct code *code, struct run *run, uint32_t elt, uint64_t value);
/*
 * Whether the rest only sets variables to fields and makes one event of such variables. If so,
 * hist_event_rest() does the same in fewer steps.
 */
bool hist_rest_is_event(const struct code *code);
void hist_event_rest(const struct code *code, struct run *run, uint32_t elt, uint64_t value);
/*
 * CODE_LATENCY: OP_TAKE_SINCE at the time done->now. False: there is nothing to be done behind it;
 * else `done` has the elt and the value.
 */
bool hist_fold_since(const struct plane *p, const struct code *code, struct slot *slot,
		     const struct hit *h, struct hit_since *done);
/* Code of one op that needs no run: OP_HIST_TIME */
void hist_fold_time(const struct plane *p, const struct code *code, struct slot *slot,
		    const struct hit *h, uint64_t now);
/* and those of integer keys. */
void hist_fold_keys(const struct plane *p, const struct code *code, struct slot *slot,
		    const struct hit *h);

/* Of code that is not one op: whether fold_act() runs it. */
static inline bool op_is_act(const struct op *op)
{
	return op->kind >= OP_RAISE;
}

static inline bool code_is_keys(const struct code *code)
{
	return code->ops[0].kind >= OP_HIST_KEY1 && code->ops[0].kind <= OP_HIST_LOG2;
}

/*
 * For code: fires the synthetic event whose record lies in the arena, in one instance (1 + its
 * index) or in all (0). Returns true when the record waits there for a ring.
 */
bool hit_synth(struct run *cause, const void *record, uint32_t size, uint32_t only, bool at_once);
/* For code: swaps the buffers of an instance. */
void hit_snapshot(struct run *cause, uint32_t instance);
/* Whether a snapshot could be taken now. */
bool hit_snapshot_is_possible(const struct run *r, uint32_t instance);
/* Counts a hit, or a part of one, that is lost for lack of room. Any thread may call it. */
void hit_miss(struct slot *slot);

#endif
