/* SPDX-License-Identifier: MIT */
/*
 * filter.c - runs a filter's code on a record
 *
 * Nothing outside the record is read: there, a number is 0 and a text is empty. A text in a record
 * need not end in a 0, and bytes may follow its 0. Whether these bytes are compared depends on the
 * kind of match, as in the kernel.
 */
#include "plane/plane.h"
#include "plane/code.h"

/* A text of a record. `len`: what the event says. `avail`: the bytes that the record has. */
struct text {
	const unsigned char *bytes;
	uint32_t	avail;
	uint32_t	len;	/* 0: it ends at its 0 */
};

struct unaligned16 { uint16_t v; } __attribute__((packed, may_alias));
struct unaligned32 { uint32_t v; } __attribute__((packed, may_alias));
struct unaligned64 { uint64_t v; } __attribute__((packed, may_alias));

static inline const unsigned char *field_at(const struct hit *h, uint32_t off, uint32_t size)
{
	return off + size <= h->size ? (const unsigned char *)h->record + off : NULL;
}

static inline uint64_t load(const struct hit *h, uint32_t off, uint32_t size)
{
	const unsigned char *p = field_at(h, off, size);

	if (!p)
		return 0;
	switch (size) {
	case 1:
		return *p;
	case 2:
		return ((const struct unaligned16 *)p)->v;
	case 4:
		return ((const struct unaligned32 *)p)->v;
	default:
		return ((const struct unaligned64 *)p)->v;
	}
}

/* As fold_loc(). */
static uint32_t load_loc(const struct hit *h, uint32_t off)
{
	const unsigned char *p = field_at(h, off, 4);

	return p ? ((const volatile struct unaligned32 *)p)->v : 0;
}

static inline bool compare_unsigned(uint64_t a, uint64_t b, unsigned int cmp)
{
	switch (cmp) {
	case CMP_EQ:
		return a == b;
	case CMP_NE:
		return a != b;
	case CMP_LT:
		return a < b;
	case CMP_LE:
		return a <= b;
	case CMP_GT:
		return a > b;
	case CMP_GE:
		return a >= b;
	default:
		return (a & b) != 0;
	}
}

static inline bool compare_signed(int64_t a, int64_t b, unsigned int cmp)
{
	switch (cmp) {
	case CMP_LT:
		return a < b;
	case CMP_LE:
		return a <= b;
	case CMP_GT:
		return a > b;
	case CMP_GE:
		return a >= b;
	default:
		return compare_unsigned((uint64_t)a, (uint64_t)b, cmp);
	}
}

/* The kernel has no `&` for the number of the CPU. */
static bool compare_cpu(const struct hit *h, const struct op *op)
{
	return op->cmp != CMP_AND && compare_signed((int32_t)h->cpu, (int32_t)op->imm, op->cmp);
}

static inline unsigned char text_char(const struct text *t, uint32_t i)
{
	return i < t->avail ? t->bytes[i] : 0;
}

/* Equal in the first n bytes, or up to a 0 in both. */
static bool equal_text(const struct text *t, const char *operand, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (text_char(t, i) != (unsigned char)operand[i])
			return false;
		if (!operand[i])
			return true;
	}
	return true;
}

/* Equal in all bytes, 0s included. */
static bool equal_bytes(const struct text *t, uint32_t from, const char *operand, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (text_char(t, from + i) != (unsigned char)operand[i])
			return false;
	return true;
}

static bool match_full(const struct text *t, const char *operand, uint32_t n)
{
	if (t->len && t->len < n)
		return false;
	return equal_text(t, operand, t->len ? t->len : n + 1);
}

static bool match_front(const struct text *t, const char *operand, uint32_t n)
{
	return (!t->len || t->len >= n) && equal_text(t, operand, n);
}

/* Looks behind a 0, too, if the length is known. */
static bool match_middle(const struct text *t, const char *operand, uint32_t n)
{
	uint32_t len = t->len;

	if (!len)
		while (text_char(t, len))
			len++;
	for (uint32_t i = 0; i + n <= len; i++)
		if (equal_bytes(t, i, operand, n))
			return true;
	return false;
}

/* The end is that of the array less one byte, wherever the text itself ends. */
static bool match_end(const struct text *t, const char *operand, uint32_t n)
{
	return t->len > n && equal_bytes(t, t->len - 1 - n, operand, n);
}

/*
 * *pattern is behind a '['. Steps over the class and says whether it has c. Without a closing
 * bracket there is no class, and the '[' is an ordinary character.
 */
static bool class_has(const char **pattern, unsigned char c)
{
	const char *p = *pattern;
	bool inverted = *p == '!', found = false;
	unsigned char from, to;

	p += inverted;
	do {
		from = to = (unsigned char)*p++;
		if (from && p[0] == '-' && p[1] != ']') {
			to = (unsigned char)p[1];
			p += 2;
		}
		if (!from || !to)
			return c == '[';
		found |= from <= c && c <= to;
	} while (*p != ']');
	*pattern = p + 1;
	return found != inverted;
}

/*
 * Compares one element of a pattern, which is not a star, with one character. c is 0 at the end of
 * the text.
 */
static bool element_matches(const char **pattern, unsigned char c)
{
	char d = *(*pattern)++;

	if (d == '?')
		return c != 0;
	if (d == '[')
		return c && class_has(pattern, c);
	if (d == '\\')
		d = *(*pattern)++;
	return c == (unsigned char)d;
}

static bool match_glob(const struct text *t, const char *pattern)
{
	const char *p = pattern, *behind_star = NULL;
	uint32_t i = 0, star = 0;
	unsigned char c;

	for (;;) {
		if (*p == '*') {
			if (!*++p)
				return true;
			behind_star = p;
			star = i;
			continue;
		}
		c = i < t->len ? text_char(t, i) : 0;
		if (element_matches(&p, c)) {
			if (!c)
				return true;
			i++;
			continue;
		}
		if (!c || !behind_star)
			return false;
		/* It is enough to go back to the last star: what comes before it has matched. */
		p = behind_star;
		i = ++star;
	}
}

static bool find_text(const struct hit *h, const struct op *op, struct text *t)
{
	uint32_t item, start = op->off;

	switch (op->size >> 4) {
	case STRING_COMM:
		t->bytes = (const unsigned char *)h->comm;
		t->avail = h->comm ? LAYOUT_COMM_LEN : 0;
		t->len = LAYOUT_COMM_LEN;
		return true;
	case STRING_FIXED:
		t->len = op->len;
		break;
	case STRING_DATA_LOC:
	case STRING_REL_LOC:
		item = load_loc(h, op->off);
		start = item & 0xffff;
		if (op->size >> 4 == STRING_REL_LOC)
			start += op->off + 4u;
		if (!field_at(h, op->off, 4))
			start = h->size;
		t->len = item >> 16;
		break;
	default:
		return false;
	}
	t->bytes = (const unsigned char *)h->record + start;
	t->avail = start < h->size ? h->size - start : 0;
	return true;
}

static bool match_text(const struct code *code, const struct hit *h, const struct op *op)
{
	const char *operand = (const char *)code + op->imm;
	struct text t;
	bool holds;

	if (!find_text(h, op, &t))
		return false;
	switch (op->size & 15) {
	case MATCH_FULL:
		holds = match_full(&t, operand, op->arg);
		break;
	case MATCH_FRONT:
		holds = match_front(&t, operand, op->arg);
		break;
	case MATCH_MIDDLE:
		holds = match_middle(&t, operand, op->arg);
		break;
	case MATCH_END:
		holds = match_end(&t, operand, op->arg);
		break;
	default:
		holds = match_glob(&t, operand);
		break;
	}
	return holds == (op->cmp == CMP_EQ);
}

static inline bool mask_has(const unsigned char *mask, uint32_t cpu, uint32_t nr_bits)
{
	return cpu < nr_bits && (mask[cpu / 8] >> cpu % 8 & 1);
}

/*
 * Tests a mask against one CPU. A mask of one CPU is compiled as a number, so the two are never
 * equal.
 */
static bool compare_mask_cpu(const struct code *code, const struct op *op, uint32_t cpu)
{
	if (op->cmp == CMP_AND)
		return mask_has((const unsigned char *)code + op->imm, cpu, op->arg);
	return op->cmp == CMP_NE;
}

static bool compare_mask_scalar(const struct code *code, const struct hit *h, const struct op *op)
{
	uint32_t cpu = (uint32_t)load(h, op->off, op->len);

	return cpu < op->arg && compare_mask_cpu(code, op, cpu);
}

static bool compare_mask_field(const struct code *code, const struct hit *h, const struct op *op)
{
	const unsigned char *mask = (const unsigned char *)code + op->imm;
	uint32_t item = load_loc(h, op->off), start = item & 0xffff;
	uint32_t bytes = item >> 16;
	bool equal = true, common = false;
	unsigned char a, b;

	for (uint32_t i = 0; i < (op->arg + 7) / 8; i++) {
		a = i < bytes && start + i < h->size ? ((const unsigned char *)h->record)[start + i]
						     : 0;
		if (op->arg - i * 8 < 8)
			a &= (unsigned char)((1u << (op->arg - i * 8)) - 1);
		b = mask[i];
		equal &= a == b;
		common |= (a & b) != 0;
	}
	return op->cmp == CMP_AND ? common : equal == (op->cmp == CMP_EQ);
}

static bool in_range(const struct code *code, const struct hit *h, const struct op *op)
{
	const struct unaligned64 *range =
		(const struct unaligned64 *)((const char *)code + op->imm);
	uint64_t v = load(h, op->off, 8);

	return (v >= range[0].v && v < range[1].v) == (op->cmp == CMP_EQ);
}

static inline bool holds(const struct code *code, const struct hit *h, const struct op *op)
{
	switch (op->kind) {
	case OP_CMP_U8:
		return compare_unsigned(load(h, op->off, 1), (uint8_t)op->imm, op->cmp);
	case OP_CMP_U16:
		return compare_unsigned(load(h, op->off, 2), (uint16_t)op->imm, op->cmp);
	case OP_CMP_U32:
		return compare_unsigned(load(h, op->off, 4), (uint32_t)op->imm, op->cmp);
	case OP_CMP_U64:
		return compare_unsigned(load(h, op->off, 8), op->imm, op->cmp);
	case OP_CMP_S8:
		return compare_signed((int8_t)load(h, op->off, 1), (int8_t)op->imm, op->cmp);
	case OP_CMP_S16:
		return compare_signed((int16_t)load(h, op->off, 2), (int16_t)op->imm, op->cmp);
	case OP_CMP_S32:
		return compare_signed((int32_t)load(h, op->off, 4), (int32_t)op->imm, op->cmp);
	case OP_CMP_S64:
		return compare_signed((int64_t)load(h, op->off, 8), (int64_t)op->imm, op->cmp);
	case OP_CMP_CPU:
		return compare_cpu(h, op);
	case OP_MATCH:
		return match_text(code, h, op);
	case OP_MASK_FIELD:
		return compare_mask_field(code, h, op);
	case OP_MASK_SCALAR:
		return compare_mask_scalar(code, h, op);
	case OP_MASK_CPU:
		return compare_mask_cpu(code, op, h->cpu);
	case OP_RANGE:
		return in_range(code, h, op);
	default:
		return false;
	}
}

int filter_match(const struct code *code, const struct hit *h)
{
	const struct op *op;

	for (uint32_t pc = 0; pc < code->nr_ops;) {
		op = &code->ops[pc];
		if (op->kind == OP_ACCEPT)
			return 1;
		if (op->kind == OP_REJECT)
			return 0;
		pc = holds(code, h, op) ? op->on_true : op->on_false;
	}
	return 0;
}
