/* SPDX-License-Identifier: MIT */
/*
 * join.c - joins ops that often follow each other into one
 *
 * It works on finished code: ops that a row of `patterns` describes become one op, and jumps are
 * computed again. No jump leads into the middle of a pattern, because only tracking jumps, and it
 * jumps behind its end.
 */
#include "model/hist/hist.h"
#include "plane/code.h"

/*
 * Each looks at the `left` ops from `op` on. Returns how many of them became *out; 0: the pattern
 * does not match.
 */
typedef unsigned int (*join_fn)(const struct op *op, unsigned int left, struct op *out);

static bool codes_are(const struct op *op, unsigned int left, const uint8_t *codes, unsigned int nr)
{
	if (left < nr)
		return false;
	for (unsigned int i = 0; i < nr; i++)
		if (op[i].kind != codes[i])
			return false;
	return true;
}

#define MATCHES(op, left, ...)					\
	codes_are(op, left, (const uint8_t[]){ __VA_ARGS__ },	\
		  sizeof((const uint8_t[]){ __VA_ARGS__ }))

static bool is_load(const struct op *op)
{
	return op->kind >= OP_LOAD_U8 && op->kind <= OP_LOAD_S64;
}

/* A key, and the search if it was the last key. */
static unsigned int join_key(const struct op *op, unsigned int left, struct op *out)
{
	unsigned int used;

	if (MATCHES(op, left, OP_KEY_FIELD)) {
		*out = op[0];
		used = 1;
	} else if (left >= 3 && is_load(op) && MATCHES(op + 1, left - 1, OP_LOG2, OP_KEY_U64)) {
		*out = op[2];
		out->kind = OP_KEY_LOG2;
		out->size = op->kind;
		out->arg = op->off;
		used = 3;
	} else {
		return 0;
	}
	if (used >= left || op[used].kind != OP_FIND)
		return used;
	out->flags |= KEY_FIND;
	return used + 1;
}

/* A hist that only counts, with a text as its only key. */
static unsigned int join_text_hist(const struct op *op, unsigned int left, struct op *out)
{
	if (!MATCHES(op, left, OP_KEY_STRING, OP_FIND, OP_END) || op->off)
		return 0;
	*out = op[0];
	out->kind = OP_HIST_TEXT;
	return 2;
}

/* The same with the .log2 of an integer as its only key. */
static unsigned int join_log2_hist(const struct op *op, unsigned int left, struct op *out)
{
	if (left < 5 || !is_load(op) || op[2].off ||
	    !MATCHES(op + 1, left - 1, OP_LOG2, OP_KEY_U64, OP_FIND, OP_END))
		return 0;
	*out = (struct op){ .kind = OP_HIST_LOG2, .flags = KEYS_LOG2, .len = op->kind,
			    .off = op->off };
	return 4;
}

/* The same with two integers, each as it is or its .log2. */
static unsigned int join_pair_hist(const struct op *op, unsigned int left, struct op *out)
{
	struct op first = { 0 }, second = { 0 };
	unsigned int used = join_key(op, left, &first);

	if (!used || first.off || (first.flags & KEY_FIND))
		return 0;
	used += join_key(op + used, left - used, &second);
	if (second.off != 8 || !(second.flags & KEY_FIND) ||
	    !MATCHES(op + used, left - used, OP_END))
		return 0;
	*out = (struct op){ .kind = OP_HIST_KEYS, .len = first.size, .off = (uint16_t)first.arg,
			    .size = second.size, .on_true = (uint16_t)second.arg };
	out->flags |= first.kind == OP_KEY_LOG2 ? KEYS_LOG2 : 0;
	out->flags |= second.kind == OP_KEY_LOG2 ? KEYS_LOG2_SECOND : 0;
	return used;
}

/* A text as the only key. */
static unsigned int join_text(const struct op *op, unsigned int left, struct op *out)
{
	if (!MATCHES(op, left, OP_KEY_STRING, OP_FIND) || op->off)
		return 0;
	*out = op[0];
	out->flags |= KEY_FIND;
	return 2;
}

static unsigned int join_reference(const struct op *op, unsigned int left, struct op *out)
{
	if (!MATCHES(op, left, OP_REF_FIND, OP_REF_READ))
		return 0;
	*out = op[1];
	out->kind = OP_REF_TAKE;
	out->imm = op[0].imm;
	out->on_true = (uint16_t)op[0].arg;
	return 2;
}

/* var = time, var = time - $ref; in nanoseconds or microseconds. */
static unsigned int join_time(const struct op *op, unsigned int left, struct op *out)
{
	unsigned int usecs = left > 1 && op[1].kind == OP_USECS, used = 1 + usecs;

	if (op->kind != OP_LOAD_TIME)
		return 0;
	if (MATCHES(op + used, left - used, OP_VAR_SET)) {
		*out = (struct op){ .kind = OP_VAR_TIME, .size = (uint8_t)usecs,
			.off = op[used].off };
		return used + 1;
	}
	if (!MATCHES(op + used, left - used, OP_LOAD_REF, OP_SUB, OP_VAR_SET))
		return 0;
	*out = (struct op){ .kind = OP_VAR_SINCE, .size = (uint8_t)usecs, .off = op[used + 2].off,
			    .arg = op[used].arg };
	return used + 3;
}

/* A hist with one key that only stores the time. */
static unsigned int join_time_hist(const struct op *op, unsigned int left, struct op *out)
{
	struct op time = { 0 };
	unsigned int used;

	if (!MATCHES(op, left, OP_KEY_FIELD, OP_FIND, OP_LOAD_TIME) || op->off)
		return 0;
	used = 2 + join_time(op + 2, left - 2, &time);
	if (time.kind != OP_VAR_TIME || used == 2 || used >= left || op[used].kind != OP_END)
		return 0;
	*out = (struct op){ .kind = OP_HIST_TIME, .len = op->size, .off = (uint16_t)op->arg,
		.arg = time.off,
			    .size = time.size };
	return used;
}

/* A hist with one key that begins with the time since another hist's variable was set. */
static unsigned int join_since(const struct op *op, unsigned int left, struct op *out)
{
	struct op time;
	unsigned int used;

	if (!MATCHES(op, left, OP_KEY_FIELD, OP_REF_FIND, OP_REF_READ, OP_FIND, OP_LOAD_TIME) ||
	    op->off || op[1].arg != 8 || op[2].len)
		return 0;
	used = join_time(op + 4, left - 4, &time);
	if (!used || time.kind != OP_VAR_SINCE || time.arg != op[2].arg)
		return 0;
	*out = (struct op){ .kind = OP_TAKE_SINCE,
			   .size = op->size,
			   .off = (uint16_t)op->arg,
			   .imm = op[1].imm,
			   .arg = op[2].arg,
			   .flags = op[2].flags,
			   .on_true = op[2].off,
			   .on_false = time.off,
			   .len = time.size };
	return used + 4;
}

/* A variable whose value is a field. */
static unsigned int join_field_var(const struct op *op, unsigned int left, struct op *out)
{
	if (left < 2 || !is_load(op) || op[1].kind != OP_VAR_SET)
		return 0;
	*out = (struct op){ .kind = OP_VAR_FIELD, .size = op->kind, .arg = op->off,
			    .off = op[1].off };
	return 2;
}

static const struct {
	join_fn	join;
	/* Words of the key, 0: any. For a text's .log2 the key has the room of the text. */
	unsigned int words;
} patterns[] = {
	{ join_log2_hist, 1 }, { join_time_hist, 1 }, { join_since, 1 }, { join_pair_hist, 2 },
	{ join_text_hist, 0 }, { join_key, 0 }, { join_text, 0 }, { join_reference, 0 },
	{ join_time, 0 }, { join_field_var, 0 },
};

static unsigned int join_one(const struct op *op, unsigned int left, unsigned int words,
			     struct op *out)
{
	for (unsigned int i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		unsigned int used;

		if (patterns[i].words && patterns[i].words != words)
			continue;
		used = patterns[i].join(op, left, out);
		if (used)
			return used;
	}
	*out = *op;
	return 1;
}

/* ---- The hist's own variables in the events that it makes ---- */

/* Whether an op that does not store a number of an event uses a reference. */
static bool asks_for(const struct op *op, uint32_t ref)
{
	switch (op->kind) {
	case OP_LOAD_REF: case OP_SYNTH_STRING: case OP_SYNTH_STACK: case OP_TRACK_BEGIN:
		return op->arg == ref;
	case OP_VAR_SET_STRING: case OP_TRACK_STRING:
		return op->size == STRING_REF && op->arg == ref;
	case OP_VAR_SET_STACK:
		return op->size == STACK_REF && op->arg == ref;
	default:
		return false;
	}
}

/* If only numbers of events use `own`, an OP_REF_OWN, they take the variable themselves. */
static bool own_is_taken(struct op *ops, unsigned int nr, const struct op *own)
{
	for (unsigned int i = 0; i < nr; i++)
		if (asks_for(&ops[i], own->arg))
			return false;
	for (unsigned int i = 0; i < nr; i++)
		if (ops[i].kind == OP_SYNTH_U64 && ops[i].arg == own->arg) {
			ops[i].kind = OP_SYNTH_OWN;
			ops[i].arg = own->off;
		}
	return true;
}

static bool jumps(const struct op *op)
{
	return op->kind == OP_TRACK_BEGIN || op->kind == OP_TRACK_END;
}

unsigned int hist_join(struct op *ops, unsigned int nr, uint32_t key_size, uint16_t *place)
{
	unsigned int made = 0, used;

	for (unsigned int i = 0; i < nr; i += used) {
		struct op out;

		used = ops[i].kind == OP_REF_OWN && !ops[i].len && own_is_taken(ops, nr, &ops[i]) ?
			       1 : 0;
		if (used) {
			place[i] = (uint16_t)made;
			continue;
		}
		used = join_one(&ops[i], nr - i, key_size / 8, &out);
		for (unsigned int k = 0; k < used; k++)
			place[i + k] = (uint16_t)made;
		ops[made++] = out;
	}
	for (unsigned int i = 0; i < made; i++)
		if (jumps(&ops[i]))
			ops[i].on_false = place[ops[i].on_false];
	return made;
}
