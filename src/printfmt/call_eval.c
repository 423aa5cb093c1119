/* SPDX-License-Identifier: MIT */
/* call_eval.c - evaluates the functions of print formats: they make texts in env->scratch */
#include "printfmt/node.h"

/* One argument may call many functions, and each of them may print a whole record. */
enum { ENOUGH = 64 * 1024 };

static struct print_value scratch_value(struct print_env *env, size_t start)
{
	struct print_value v = {
		.number = start, .in_scratch = true, .type = { .size = 1, .stride = 1 } };

	v.len = (uint32_t)(env->scratch.len - start);
	return v;
}

/* On 64 bits the kernel's flags are an unsigned long. */
static void eval_flags(const struct print_node *n, uint64_t flags, struct show_text *out)
{
	bool first = true;
	unsigned int i;

	for (i = 0; i < n->nr_names && flags; i++) {
		if ((flags & n->names[i].value) != n->names[i].value)
			continue;
		flags &= ~n->names[i].value;
		if (!first && n->text)
			text_puts(out, n->text);
		first = false;
		text_puts(out, n->names[i].name);
	}
	if (!flags)
		return;
	if (!first && n->text)
		text_puts(out, n->text);
	text_put(out, "0x", 2);
	text_hex(out, flags, 1);
}

static void eval_symbolic(const struct print_node *n, uint64_t value, struct show_text *out)
{
	unsigned int i;

	for (i = 0; i < n->nr_names; i++)
		if (n->names[i].value == value) {
			text_puts(out, n->names[i].name);
			if (n->names[i].name[0])
				return;
			break;
		}
	text_put(out, "0x", 2);
	text_hex(out, value, 1);
}

/* The length is at most what the record has; a length below 0 counts as 0. */
static uint32_t call_eval_length_of(const struct print_value *v, const struct print_value *len)
{
	if ((int64_t)len->number < 0 || !v->data)
		return 0;
	return len->number < v->len ? (uint32_t)len->number : v->len;
}

static void eval_hex(const struct print_value *v, uint32_t len, bool joined, struct show_text *out)
{
	uint32_t i;

	for (i = 0; i < len; i++) {
		if (i && !joined)
			text_putc(out, ' ');
		text_hex(out, v->data[i], 2);
	}
}

static uint64_t element(const uint8_t *p, uint32_t size)
{
	uint64_t v = 0;

	memcpy(&v, p, size);
	return v;
}

static void eval_array(const struct print_value *v, uint64_t count, uint64_t size,
		       struct show_text *out)
{
	uint32_t at = 0, len;
	bool first = true;

	text_putc(out, '{');
	len = !v->data || count > v->len || size > v->len || count * size > v->len ?
	      (v->data ? v->len : 0) : (uint32_t)(count * size);
	while (at < len) {
		if (size == 1 || size == 2 || size == 4 || size == 8) {
			if (len - at < size)
				break;
			text_puts(out, first ? "0x" : ",0x");
			text_hex(out, element(v->data + at, (uint32_t)size), 1);
		} else {
			text_printf(out, "BAD SIZE:%llu 0x%x", (unsigned long long)size,
				    v->data[at]);
			size = 1;
		}
		first = false;
		at += (uint32_t)size;
	}
	text_putc(out, '}');
}

static void hex_dump_line(const uint8_t *p, uint32_t n, uint32_t row, uint32_t group, bool ascii,
			  struct show_text *out)
{
	size_t start = out->len, want = (size_t)row * 2 + row / group + 1;
	uint32_t i;

	for (i = 0; i + group <= n; i += group) {
		if (i)
			text_putc(out, ' ');
		text_hex(out, element(p + i, group), (int)group * 2);
	}
	if (!ascii)
		return;
	if (out->len - start < want)
		text_fill(out, ' ', (int)(want - (out->len - start)));
	for (i = 0; i < n; i++)
		text_putc(out, p[i] >= 32 && p[i] < 127 ? (char)p[i] : '.');
}

static void eval_hex_dump(const struct print_node *n, const struct print_value *v, uint32_t len,
			  bool ascii, struct show_text *out)
{
	uint32_t row = (uint32_t)n->op, group = (uint32_t)n->number, at, part;

	if ((group != 2 && group != 4 && group != 8) || len % group)
		group = 1;
	text_putc(out, '\n');
	for (at = 0; at < len; at += row) {
		part = len - at < row ? len - at : row;
		if (n->text)
			text_puts(out, n->text);
		hex_dump_line(v->data + at, part, row, group, ascii, out);
		text_putc(out, '\n');
	}
}

static struct print_value eval_time(const struct print_node *n, uint64_t ns)
{
	struct print_value v = { .type = { .size = n->kind == NODE_NS_TO_SECS ? 8 : 4 } };

	v.number = n->kind == NODE_NS_TO_SECS ? ns / 1000000000 : ns % 1000000000;
	return v;
}

static struct print_value eval_swap(const struct print_node *n, uint64_t value)
{
	struct print_value v = { .type = { .size = n->type.size } };

	v.number = n->type.size == 2   ? __builtin_bswap16((uint16_t)value)
		   : n->type.size == 4 ? __builtin_bswap32((uint32_t)value)
				       : __builtin_bswap64(value);
	return v;
}

/* A __data_loc field's bytes, as print_eval() gives them for NODE_DYNAMIC. */
static struct print_value dynamic_of(const struct print_node *n, struct print_env *env,
				     const struct print_record *rec)
{
	struct print_node field = *n;

	field.kind = NODE_DYNAMIC;
	return print_eval(&field, env, rec);
}


struct print_value print_eval_call(const struct print_node *n, struct print_env *env,
				   const struct print_record *rec)
{
	struct print_value a = { 0 }, b = { 0 }, c = { 0 };
	size_t start;

	if (n->kind == NODE_BITMASK || n->kind == NODE_CPUMASK || n->kind == NODE_DYNAMIC_ARRAY)
		a = dynamic_of(n, env, rec);
	if (n->a)
		a = print_eval(n->a, env, rec);
	if (n->b)
		b = print_eval(n->b, env, rec);
	if (n->c)
		c = print_eval(n->c, env, rec);
	if (a.in_scratch)
		a = (struct print_value){ 0 };
	start = env->scratch.len;
	if (start > ENOUGH)
		return scratch_value(env, start);
	switch (n->kind) {
	case NODE_FLAGS:
		eval_flags(n, a.number, &env->scratch);
		break;
	case NODE_SYMBOLIC:
		eval_symbolic(n, a.number, &env->scratch);
		break;
	case NODE_HEX:
	case NODE_HEX_STR:
		eval_hex(&a, call_eval_length_of(&a, &b), n->kind == NODE_HEX_STR, &env->scratch);
		break;
	case NODE_ARRAY:
		eval_array(&a, (int64_t)b.number < 0 ? 0 : b.number, c.number, &env->scratch);
		break;
	case NODE_DYNAMIC_ARRAY:
		eval_array(&a, c.number ? a.len / c.number : 0, c.number, &env->scratch);
		break;
	case NODE_BITMASK:
	case NODE_CPUMASK:
		if (env->bitmask_list)
			print_bit_list(a.data, a.len * 8, &env->scratch);
		else
			print_bit_mask(a.data, a.len * 8, &env->scratch);
		break;
	case NODE_HEX_DUMP:
		eval_hex_dump(n, &a, call_eval_length_of(&a, &b), c.number, &env->scratch);
		break;
	case NODE_SWAP:
		return eval_swap(n, a.number);
	default:
		return eval_time(n, a.number);
	}
	return scratch_value(env, start);
}
