/* SPDX-License-Identifier: MIT */
/* term.c - one predicate of a filter: FIELD OP VALUE */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/filter/tree.h"
#include "model/symbols.h"
#include "model/text.h"

enum { OPERAND_MAX = 256, NUMBER_MAX = 24 };

enum term_op {
	TERM_GLOB,
	TERM_NE,
	TERM_EQ,
	TERM_LE,
	TERM_LT,
	TERM_GE,
	TERM_GT,
	TERM_AND,
	TERM_OPS
};

struct term {
	const struct field *field;
	enum term_op	op;
	bool		is_function;
};

/* Operators of two characters come before their first character alone. */
static const char *const term_ops[TERM_OPS] = { "~", "!=", "==", "<=", "<", ">=", ">", "&" };

static const uint8_t term_cmp[TERM_OPS] = {
	[TERM_GLOB] = CMP_EQ, [TERM_NE] = CMP_NE, [TERM_EQ] = CMP_EQ, [TERM_LE] = CMP_LE,
	[TERM_LT] = CMP_LT, [TERM_GE] = CMP_GE, [TERM_GT] = CMP_GT, [TERM_AND] = CMP_AND,
};

/* Copies `size` bytes into the pool. Returns their offset, or -ENOMEM. */
static ssize_t pool_add(struct filter_parser *p, const void *bytes, size_t size)
{
	size_t at = (p->pool_size + 7) & ~7ul;
	char *pool = realloc(p->pool, at + size);

	if (!pool)
		return -ENOMEM;
	memset(pool + p->pool_size, 0, at - p->pool_size);
	memcpy(pool + at, bytes, size);
	p->pool = pool;
	p->pool_size = at + size;
	return (ssize_t)at;
}

static int set_operand(struct filter_parser *p, const void *bytes, size_t size, struct op *op)
{
	ssize_t at = pool_add(p, bytes, size);

	if (at < 0)
		return (int)at;
	op->imm = (uint64_t)at;
	return 0;
}

/* Compares an integer field. A field of a size that no integer has never matches. */
static void set_compare(const struct field *f, bool is_signed, uint64_t value, struct op *op)
{
	static const uint8_t codes[2][4] = {
		{ OP_CMP_U8, OP_CMP_U16, OP_CMP_U32, OP_CMP_U64 },
		{ OP_CMP_S8, OP_CMP_S16, OP_CMP_S32, OP_CMP_S64 },
	};

	op->imm = value;
	switch (f->size) {
	case 1:
	case 2:
	case 4:
	case 8:
		op->kind = codes[is_signed][__builtin_ctz(f->size)];
		break;
	default:
		op->kind = OP_NEVER;
	}
}

/*
 * In a kernel, only a symbol in its image or in a module is a function: per-CPU offsets have
 * symbols, too.
 */
static bool in_image(struct symbols *symbols, uint64_t address, const char *module)
{
	uint64_t start, end, behind;

	if (!symbols_range(symbols, "_stext", &start, &behind) ||
	    !symbols_range(symbols, "_end", &end, &behind))
		return true;
	return module || (address >= start && address < end);
}

/* The address range of a function, by its name or by an address in it. */
/*
 * Moves *s behind the letters and digits there. With the text from `start` on they are the number.
 */
static int take_number(struct filter_parser *p, const char *start, const char **s,
		       char number[NUMBER_MAX])
{
	while (text_is_alnum(**s))
		(*s)++;
	if (*s - start >= NUMBER_MAX)
		return filter_fail(p, FILTER_OPERAND_TOO_LONG, *s);
	memcpy(number, start, (size_t)(*s - start));
	number[*s - start] = '\0';
	return 0;
}

static int find_function(struct filter_parser *p, const char **s, uint64_t range[2])
{
	struct symbols *symbols = p->event->model->symbols;
	const char *start = *s, *module;
	uint64_t address, offset, size;
	char name[OPERAND_MAX * 4];

	if (text_is_digit(*start)) {
		const int err = take_number(p, start, s, name);

		if (err)
			return err;
		if (text_to_u64(name, 0, &address))
			return filter_fail(p, FILTER_INVALID_VALUE, *s);
		if (!symbols_find(symbols, address, &offset, &size, &module) ||
		    !in_image(symbols, address, module))
			return filter_fail(p, FILTER_NO_FUNCTION, *s);
		range[0] = address - offset;
		range[1] = range[0] + size;
		return 0;
	}
	while (**s && !text_is_space(**s))
		(*s)++;
	if (*s - start >= (ssize_t)sizeof(name))
		return filter_fail(p, FILTER_NO_FUNCTION, *s);
	memcpy(name, start, (size_t)(*s - start));
	name[*s - start] = '\0';
	/* kallsyms has names of what is behind the image, too: _end. */
	if (!symbols_range(symbols, name, &range[0], &range[1]) ||
	    !symbols_find(symbols, range[0], &offset, &size, &module) ||
	    !in_image(symbols, range[0], module))
		return filter_fail(p, FILTER_NO_FUNCTION, *s);
	return 0;
}

static int parse_function(struct filter_parser *p, const char **s, const struct term *t,
			  struct op *op)
{
	uint64_t range[2];
	int err;

	if (t->field->size != 8)
		return filter_fail(p, FILTER_ILLEGAL_FIELD_OP, *s);
	if (t->op != TERM_EQ && t->op != TERM_NE)
		return filter_fail(p, FILTER_INVALID_OP, *s);
	err = find_function(p, s, range);
	if (err)
		return err;
	op->kind = OP_RANGE;
	return set_operand(p, range, sizeof(range), op);
}

/* Parses "CPUS{LIST}"; *s is at the C. The list goes into mask. */
static int parse_cpus(struct filter_parser *p, const char **s, uint64_t *mask)
{
	const char *start;
	char *list;
	int err;

	*s += 4;
	if (*(*s)++ != '{')
		return filter_fail(p, FILTER_MISSING_BRACE_OPEN, *s);
	start = *s;
	*s += strcspn(*s, "}");
	if (**s != '}')
		return filter_fail(p, FILTER_MISSING_BRACE_CLOSE, *s);
	if (*s == start)
		return filter_fail(p, FILTER_INVALID_CPULIST, *s);
	list = strndup(start, (size_t)(*s - start));
	if (!list)
		return -ENOMEM;
	err = text_to_mask(list, mask, p->event->model->nr_cpus);
	free(list);
	if (err)
		return filter_fail(p, FILTER_INVALID_CPULIST, *s);
	(*s)++;
	return 0;
}

/* The only CPU of a mask. -1: it has none or several. */
static int single_cpu(const uint64_t *mask)
{
	int cpu = -1;

	for (int i = 0; i < LAYOUT_MAX_CPUS / 64; i++) {
		if (!mask[i])
			continue;
		if (cpu >= 0 || (mask[i] & (mask[i] - 1)))
			return -1;
		cpu = i * 64 + __builtin_ctzll(mask[i]);
	}
	return cpu;
}

static int parse_mask(struct filter_parser *p, const char **s, const struct term *t, struct op *op)
{
	uint64_t mask[LAYOUT_MAX_CPUS / 64] = { 0 };
	const struct field *f = t->field;
	int err, cpu;

	if ((f->kind != FIELD_CPUMASK && f->kind != FIELD_CPU && f->kind != FIELD_OTHER) ||
	    (t->op != TERM_EQ && t->op != TERM_NE && t->op != TERM_AND))
		return filter_fail(p, FILTER_ILLEGAL_FIELD_OP, *s);
	err = parse_cpus(p, s, mask);
	if (err)
		return err;
	cpu = single_cpu(mask);
	if (cpu >= 0 && f->kind != FIELD_CPUMASK) {
		if (op->cmp == CMP_AND)
			op->cmp = CMP_EQ;
		set_compare(f, false, (uint64_t)cpu, op);
		if (f->kind == FIELD_CPU)
			op->kind = OP_CMP_CPU;
		return 0;
	}
	set_compare(f, false, 0, op);
	if (f->kind == FIELD_CPUMASK)
		op->kind = OP_MASK_FIELD;
	else if (f->kind == FIELD_CPU)
		op->kind = OP_MASK_CPU;
	else if (op->kind != OP_NEVER)
		op->kind = OP_MASK_SCALAR;
	op->arg = p->event->model->nr_cpus;
	return set_operand(p, mask, sizeof(mask), op);
}

/*
 * Finds the kind of match of a pattern. Moves *pattern to the text to compare, and cuts a star off
 * its end.
 */
static enum match_kind pattern_kind(char **pattern, bool *inverted)
{
	enum match_kind kind = MATCH_FULL;
	char *text = *pattern, *last;

	*inverted = *text == '!';
	if (*inverted)
		text++;
	*pattern = text;
	if (text_is_digit(*text) || !*text)
		return MATCH_FULL;
	last = text + strlen(text) - 1;
	for (char *c = text; *c; c++) {
		if (strchr("[?\\", *c))
			return MATCH_GLOB;
		if (*c != '*')
			continue;
		if (c == text) {
			kind = MATCH_END;
		} else if (c == last) {
			kind = kind == MATCH_END ? MATCH_MIDDLE : MATCH_FRONT;
			*c = '\0';
			break;
		} else {
			return MATCH_GLOB;
		}
	}
	if (*text == '*')
		*pattern = text + 1;
	return kind;
}

static void set_string_field(const struct field *f, enum match_kind kind, struct op *op)
{
	enum string_kind where = STRING_FIXED;

	op->kind = OP_MATCH;
	op->len = f->size;
	switch (f->kind) {
	case FIELD_COMM:
		where = STRING_COMM;
		break;
	case FIELD_DYN_STRING:
		where = STRING_DATA_LOC;
		break;
	case FIELD_RDYN_STRING:
		where = STRING_REL_LOC;
		break;
	case FIELD_PTR_STRING:
		op->kind = OP_NEVER;	/* The text is not in the record */
		break;
	default:
		break;
	}
	op->size = (uint8_t)(where << 4 | kind);
}

static int parse_string(struct filter_parser *p, const char **s, const struct term *t,
			struct op *op)
{
	char operand[OPERAND_MAX], *pattern = operand, quote = **s;
	enum match_kind kind = MATCH_FULL;
	const char *start = *s + 1;
	bool inverted = false;

	if (t->op != TERM_NE && t->op != TERM_EQ && t->op != TERM_GLOB)
		return filter_fail(p, FILTER_ILLEGAL_FIELD_OP, *s);
	if (!field_is_text(t->field))
		return filter_fail(p, FILTER_EXPECT_DIGIT, *s);
	*s = strchrnul(start, quote);
	if (!**s)
		return filter_fail(p, FILTER_MISSING_QUOTE, *s);
	if (*s - start >= OPERAND_MAX)
		return filter_fail(p, FILTER_OPERAND_TOO_LONG, *s);
	memcpy(operand, start, (size_t)(*s - start));
	operand[*s - start] = '\0';
	(*s)++;
	if (t->op == TERM_GLOB)
		kind = pattern_kind(&pattern, &inverted);
	if (inverted)
		op->cmp = CMP_NE;
	set_string_field(t->field, kind, op);
	op->arg = (uint32_t)strlen(pattern);
	return set_operand(p, pattern, op->arg + 1, op);
}

static int term_parse_number(struct filter_parser *p, const char **s, const struct term *t,
			     struct op *op)
{
	const char *start = *s;
	char number[NUMBER_MAX];
	uint64_t value;
	int err;

	if (field_is_text(t->field))
		return filter_fail(p, FILTER_EXPECT_STRING, *s);
	if (t->op == TERM_GLOB)
		return filter_fail(p, FILTER_ILLEGAL_FIELD_OP, *s);
	if (**s == '-')
		(*s)++;
	err = take_number(p, start, s, number);
	if (err)
		return err;
	if (t->field->is_signed)
		err = text_to_s64(number, 0, (int64_t *)&value);
	else
		err = text_to_u64(number, 0, &value);
	if (err)
		return filter_fail(p, FILTER_ILLEGAL_INTVAL, start);
	set_compare(t->field, t->field->is_signed, value, op);
	if (t->field->kind == FIELD_CPU)
		op->kind = OP_CMP_CPU;
	return 0;
}

static bool skip_word(const char **s, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(*s, word, len))
		return false;
	*s += len;
	return true;
}

/* Parses the field with its modifiers, and the operator. *s moves to the value. */
static int parse_head(struct filter_parser *p, const char **s, struct term *t)
{
	const char *start = *s;
	char *name;

	while (text_is_alnum(**s) || **s == '_')
		(*s)++;
	if (*s == start)
		return -EPERM;
	name = strndup(start, (size_t)(*s - start));
	if (!name)
		return -ENOMEM;
	t->field = event_find_field(p->event, name);
	free(name);
	if (!t->field)
		return filter_fail(p, FILTER_FIELD_NOT_FOUND, *s);
	skip_word(s, ".ustring");
	t->is_function = skip_word(s, ".function");
	*s = text_skip_spaces(*s);
	for (t->op = 0; t->op < TERM_OPS; t->op++)
		if (skip_word(s, term_ops[t->op]))
			break;
	if (t->op == TERM_OPS)
		return filter_fail(p, FILTER_INVALID_OP, *s);
	*s = text_skip_spaces(*s);
	return 0;
}

int filter_parse_term(struct filter_parser *p, const char **s, struct op *op)
{
	struct term t;
	int err = parse_head(p, s, &t);

	if (err)
		return err;
	memset(op, 0, sizeof(*op));
	op->cmp = term_cmp[t.op];
	op->off = t.field->offset;
	op->len = t.field->size;
	if (t.is_function)
		return parse_function(p, s, &t, op);
	if (!strncmp(*s, "CPUS", 4))
		return parse_mask(p, s, &t, op);
	if (**s == '\'' || **s == '"')
		return parse_string(p, s, &t, op);
	if (text_is_digit(**s) || **s == '-')
		return term_parse_number(p, s, &t, op);
	return filter_fail(p, FILTER_INVALID_VALUE, *s);
}
