/* SPDX-License-Identifier: MIT */
/*
 * eval.c - the value of an expression on a record, in C's integer arithmetic
 *
 * Bytes outside the record read as 0, or as an empty array.
 */
#include "printfmt/node.h"

/* An empty array, for bytes that are not in the record. */
static const uint8_t nothing[1];

static struct print_value integer(uint64_t number, uint8_t size, bool is_signed)
{
	struct print_value v = { .number = number,
				 .type = { .size = size, .is_signed = is_signed } };

	return v;
}

static struct print_value bytes(const uint8_t *data, uint32_t len, struct node_type type)
{
	struct print_value v = { .data = data, .len = len, .type = type };

	return v;
}

static uint64_t eval_load(const uint8_t *p, uint8_t size, bool is_signed)
{
	uint64_t v = 0;

	memcpy(&v, p, size <= 8 ? size : 8);
	return value_fit(v, size, is_signed);
}

/* The bytes at `offset` of the record: `size` of them, or all up to its end (0). */
static struct print_value record_bytes(const struct print_record *rec, uint64_t offset,
				       uint64_t size, struct node_type type)
{
	if (offset > rec->size || size > rec->size - offset)
		return bytes(nothing, 0, type);
	return bytes(rec->data + offset, (uint32_t)(size ? size : rec->size - offset), type);
}

static struct print_value eval_field(const struct print_node *n, const struct print_record *rec)
{
	if (n->bytes)
		return record_bytes(rec, n->offset, n->size, n->type);
	if ((uint32_t)n->offset + n->type.size > rec->size)
		return integer(0, n->type.size, n->type.is_signed);
	return integer(eval_load(rec->data + n->offset, n->type.size, n->type.is_signed),
		       n->type.size, n->type.is_signed);
}

/* Where a __data_loc or __rel_loc field points to. */
static struct print_value eval_dynamic(const struct print_node *n, const struct print_record *rec)
{
	struct print_value v;
	uint32_t loc, offset, len;

	if ((uint32_t)n->offset + 4 > rec->size)
		return bytes(nothing, 0, n->type);
	memcpy(&loc, rec->data + n->offset, 4);
	offset = (loc & 0xffff) + (n->relative ? n->offset + 4u : 0);
	len = loc >> 16;
	v = offset > rec->size || len > rec->size - offset
		    ? bytes(nothing, 0, n->type)
		    : bytes(rec->data + offset, len, n->type);
	return v;
}

static struct print_value eval_dynamic_len(const struct print_node *n,
					   const struct print_record *rec)
{
	uint32_t loc = 0;

	if ((uint32_t)n->offset + 4 <= rec->size)
		memcpy(&loc, rec->data + n->offset, 4);
	return integer(loc >> 16, 4, true);
}

/* The integer of a value, for operators that need one; an array counts as true. */
static uint64_t truth(const struct print_value *v)
{
	return value_has_bytes(v) ? 1 : v->number;
}

static void promote(struct print_value *v)
{
	if (v->type.size < 4)
		v->type = (struct node_type){ .size = 4, .is_signed = true };
}

static struct print_value eval_unary(const struct print_node *n, struct print_env *env,
				     const struct print_record *rec)
{
	struct print_value v = print_eval(n->a, env, rec);

	if (n->op == '!')
		return integer(!truth(&v), 4, true);
	if (v.in_scratch)
		return integer(0, 8, false);
	promote(&v);
	v.data = NULL;
	v.number = value_fit(n->op == '~' ? ~v.number : -v.number, v.type.size, v.type.is_signed);
	return v;
}

static uint64_t eval_divide(uint64_t a, uint64_t b, bool is_signed, bool rest)
{
	if (!b)
		return 0;
	if (!is_signed)
		return rest ? a % b : a / b;
	if ((int64_t)b == -1)
		return rest ? 0 : -a;
	return (uint64_t)(rest ? (int64_t)a % (int64_t)b : (int64_t)a / (int64_t)b);
}

static uint64_t eval_compare(uint64_t a, uint64_t b, bool is_signed, int op)
{
	bool less = is_signed ? (int64_t)a < (int64_t)b : a < b;

	switch (op) {
	case '<':
		return less;
	case '>':
		return !less && a != b;
	case OP_LE:
		return less || a == b;
	case OP_GE:
		return !less;
	case OP_EQ:
		return a == b;
	default:
		return a != b;
	}
}

static uint64_t arithmetic(uint64_t a, uint64_t b, bool is_signed, int op)
{
	switch (op) {
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '*':
		return a * b;
	case '/': case '%':
		return eval_divide(a, b, is_signed, op == '%');
	case '&':
		return a & b;
	case '|':
		return a | b;
	default:
		return a ^ b;
	}
}

static struct print_value shift(struct print_value a, uint64_t by, bool left)
{
	promote(&a);
	by &= a.type.size == 8 ? 63 : 31;
	if (left)
		a.number <<= by;
	else if (a.type.is_signed)
		a.number = (uint64_t)((int64_t)a.number >> by);
	else
		a.number >>= by;
	a.number = value_fit(a.number, a.type.size, a.type.is_signed);
	return a;
}

/* A pointer into the record plus or minus elements. */
static struct print_value move(struct print_value v, uint64_t by, bool back)
{
	uint64_t n = by * (v.type.stride ? v.type.stride : 1);

	if (back || n > v.len)
		return bytes(nothing, 0, v.type);
	v.data += n;
	v.len -= (uint32_t)n;
	return v;
}

static struct print_value eval_pointers(const struct print_node *n, struct print_value a,
					struct print_value b)
{
	bool adds = n->op == '+' || n->op == '-';

	if (a.data && adds && !b.data)
		return move(a, b.number, n->op == '-');
	if (b.data && n->op == '+' && !a.data)
		return move(b, a.number, false);
	return integer(0, 8, false);
}

static struct print_value eval_logic(const struct print_node *n, struct print_env *env,
				     const struct print_record *rec)
{
	struct print_value a = print_eval(n->a, env, rec), b;

	if (!truth(&a) == (n->op == OP_AND))
		return integer(n->op != OP_AND, 4, true);
	b = print_eval(n->b, env, rec);
	return integer(!!truth(&b), 4, true);
}

static struct print_value eval_binary(const struct print_node *n, struct print_env *env,
				      const struct print_record *rec)
{
	struct print_value a, b;
	uint8_t size;
	bool is_signed;

	if (n->op == OP_AND || n->op == OP_OR)
		return eval_logic(n, env, rec);
	a = print_eval(n->a, env, rec);
	b = print_eval(n->b, env, rec);
	/* A text that a function made is no number, and its address must not become part of one. */
	if (a.in_scratch || b.in_scratch)
		return integer(0, 8, false);
	if (a.data || b.data)
		return eval_pointers(n, a, b);
	if (n->op == OP_SHL || n->op == OP_SHR)
		return shift(a, b.number, n->op == OP_SHL);
	if (a.type.pointer && (n->op == '+' || n->op == '-')) {
		b.number *= a.type.stride;
		a.number = arithmetic(a.number, b.number, false, n->op);
		return a;
	}
	promote(&a);
	promote(&b);
	size = a.type.size > b.type.size ? a.type.size : b.type.size;
	is_signed = (a.type.is_signed || a.type.size < size) &&
		    (b.type.is_signed || b.type.size < size);
	a.number = value_fit(a.number, size, is_signed);
	b.number = value_fit(b.number, size, is_signed);
	switch (n->op) {
	case '<': case '>': case OP_LE: case OP_GE: case OP_EQ: case OP_NE:
		return integer(eval_compare(a.number, b.number, is_signed, n->op), 4, true);
	}
	return integer(value_fit(arithmetic(a.number, b.number, is_signed, n->op), size, is_signed),
		       size, is_signed);
}

static struct print_value eval_cast(const struct print_node *n, struct print_env *env,
				    const struct print_record *rec)
{
	struct print_value v = print_eval(n->a, env, rec);

	if (value_has_bytes(&v)) {
		if (n->type.pointer && n->type.size)
			v.type = n->type;
		return v;
	}
	if (n->type.pointer) {
		v.type = (struct node_type){ .size = 8, .pointer = true, .stride = n->type.stride };
	} else if (n->type.size) {
		v.number = value_fit(v.number, n->type.size, n->type.is_signed);
		v.type = n->type;
	}
	return v;
}

static struct print_value eval_index(const struct print_node *n, struct print_env *env,
				     const struct print_record *rec)
{
	struct print_value v = print_eval(n->a, env, rec);
	struct print_value at = n->b ? print_eval(n->b, env, rec) : integer(0, 8, false);
	struct node_type type = v.type;

	if (v.in_scratch || !v.data)
		return integer(0, 4, true);
	v = move(v, at.number, false);
	if (n->bytes)
		return v;
	if (type.size > v.len)
		return integer(0, type.size, type.is_signed);
	return integer(eval_load(v.data, type.size, type.is_signed), type.size, type.is_signed);
}

static struct print_value eval_condition(const struct print_node *n, struct print_env *env,
					 const struct print_record *rec)
{
	struct print_value v = print_eval(n->a, env, rec), w;
	bool yes = truth(&v);

	/* a ?: b evaluates a only once; else each nesting would double the time */
	if (yes && n->b == n->a)
		return v;
	w = print_eval(yes ? n->b : n->c, env, rec);
	return w;
}

struct print_value print_eval(const struct print_node *n, struct print_env *env,
			      const struct print_record *rec)
{
	switch (n->kind) {
	case NODE_NUMBER:
		return (struct print_value){ .number = n->number, .type = n->type };
	case NODE_TEXT:
		return bytes((const uint8_t *)(n->text ? n->text : ""),
			     n->text ? (uint32_t)strlen(n->text) : 0,
			     (struct node_type){ .size = 1, .stride = 1 });
	case NODE_FIELD:
		return eval_field(n, rec);
	case NODE_DYNAMIC:
		return eval_dynamic(n, rec);
	case NODE_DYNAMIC_LEN:
		return eval_dynamic_len(n, rec);
	case NODE_RECORD:
		return record_bytes(rec, 0, 0, (struct node_type){ .size = 1, .stride = 1 });
	case NODE_UNARY:
		return eval_unary(n, env, rec);
	case NODE_BINARY:
		return eval_binary(n, env, rec);
	case NODE_CONDITION:
		return eval_condition(n, env, rec);
	case NODE_CAST:
		return eval_cast(n, env, rec);
	case NODE_INDEX:
	case NODE_DEREF:
		return eval_index(n, env, rec);
	default:
		return print_eval_call(n, env, rec);
	}
}

static bool needs_record(const struct print_node *n)
{
	if (!n)
		return false;
	switch (n->kind) {
	case NODE_NUMBER:
		return false;
	case NODE_UNARY: case NODE_BINARY: case NODE_CONDITION: case NODE_CAST:
		return needs_record(n->a) || (n->b != n->a && needs_record(n->b)) ||
		       needs_record(n->c);
	default:
		return true;
	}
}

bool print_constant(struct print_node *n, uint64_t *value)
{
	static const struct print_record none;

	if (needs_record(n))
		return false;
	*value = print_eval(n, NULL, &none).number;
	return true;
}
