/* SPDX-License-Identifier: MIT */
/*
 * arguments.c - the arguments of a note of USDT, from their text
 *
 * An argument is a size, @, and an operand as in assembly: -4@%eax, 8@$5, 8@16(%rbp,%rax,8),
 * 8f@%xmm0, 8@variable+8(%rip), 8@%fs:variable@tpoff.
 *
 * Source: systemtap's wiki, UserSpaceProbeImplementation.
 */
#include <strings.h>
#include "elf/code/code.h"

/* A text that is taken from its start. */
struct text {
	const char	*at, *end;
};

static bool text_is(const struct text *t, char c)
{
	return t->at < t->end && *t->at == c;
}

static bool text_skip(struct text *t, char c)
{
	if (!text_is(t, c))
		return false;
	t->at++;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '$';
}

static unsigned int digit_of(char c)
{
	if (is_digit(c))
		return (unsigned int)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a') + 10 : 16;
}

/* A number without a sign: decimal, octal after 0, hexadecimal after 0x. */
static bool number_take(struct text *t, uint64_t *out)
{
	unsigned int base = 10;
	const char *from;

	if (t->at < t->end && !is_digit(*t->at))
		return false;
	if (text_is(t, '0') && t->end - t->at > 1 && (t->at[1] | 0x20) == 'x') {
		base = 16;
		t->at += 2;
	} else if (text_is(t, '0')) {
		base = 8;
	}
	*out = 0;
	for (from = t->at; t->at < t->end && digit_of(*t->at) < base; t->at++)
		*out = *out * base + digit_of(*t->at);
	return t->at > from;
}

/* Names of registers by number; each as it is with 8, 4, 2 and 1 bytes. */
static const char registers[17][4][5] = {
	{ "rax", "eax", "ax", "al" }, { "rcx", "ecx", "cx", "cl" }, { "rdx", "edx", "dx", "dl" },
	{ "rbx", "ebx", "bx", "bl" }, { "rsp", "esp", "sp", "spl" }, { "rbp", "ebp", "bp", "bpl" },
	{ "rsi", "esi", "si", "sil" }, { "rdi", "edi", "di", "dil" },
	{ "r8", "r8d", "r8w", "r8b" }, { "r9", "r9d", "r9w", "r9b" },
	{ "r10", "r10d", "r10w", "r10b" }, { "r11", "r11d", "r11w", "r11b" },
	{ "r12", "r12d", "r12w", "r12b" }, { "r13", "r13d", "r13w", "r13b" },
	{ "r14", "r14d", "r14w", "r14b" }, { "r15", "r15d", "r15w", "r15b" },
	{ "rip", "eip", "ip", "" },
};

static bool is_named(const char *name, size_t len, const char *is)
{
	return len && strlen(is) == len && !memcmp(name, is, len);
}

/* xmm0 to xmm31, also as ymm and zmm. */
static bool vector_named(const char *name, size_t len, struct code_argument *a)
{
	unsigned int number = 0;

	if (len < 4 || len > 5 || name[1] != 'm' || name[2] != 'm' || !strchr("xyz", name[0]))
		return false;
	for (size_t i = 3; i < len; i++) {
		if (!is_digit(name[i]))
			return false;
		number = number * 10 + (unsigned int)(name[i] - '0');
	}
	a->kind = CODE_ARGUMENT_VECTOR;
	a->reg = (uint8_t)number;
	a->reg_size = name[0] == 'x' ? 16 : name[0] == 'y' ? 32 : 64;
	return number < 32;
}

static bool register_named(const char *name, size_t len, struct code_argument *a)
{
	static const char high[4][3] = { "ah", "ch", "dh", "bh" };

	a->kind = CODE_ARGUMENT_REGISTER;
	for (unsigned int i = 0; i < 4; i++)
		if (is_named(name, len, high[i])) {
			a->reg = (uint8_t)i;
			a->reg_size = 1;
			a->is_high = true;
			return true;
		}
	for (unsigned int i = 0; i < 17 * 4; i++)
		if (is_named(name, len, registers[i / 4][i % 4])) {
			a->reg = (uint8_t)(i / 4);
			a->reg_size = (uint8_t)(8 >> i % 4);
			return true;
		}
	return vector_named(name, len, a);
}

/* The name behind a % */
static size_t name_take(struct text *t, const char **name)
{
	*name = t->at;
	while (t->at < t->end && (is_letter(*t->at) || is_digit(*t->at)))
		t->at++;
	return (size_t)(t->at - *name);
}

/* A register of an address; there may be none. *reg: CODE_NO_REGISTER then */
static bool address_register(struct text *t, uint8_t *reg)
{
	struct code_argument a = { .kind = CODE_ARGUMENT_UNKNOWN };
	const char *name;
	size_t len;

	*reg = CODE_NO_REGISTER;
	if (!text_skip(t, '%'))
		return true;
	len = name_take(t, &name);
	if (!register_named(name, len, &a) || a.kind != CODE_ARGUMENT_REGISTER || a.is_high ||
	    a.reg_size < 4)
		return false;
	*reg = a.reg;
	return true;
}

/* What the symbol stands for: the @ behind its name */
static bool relocation_take(struct text *t, struct code_argument *a)
{
	static const char names[][9] = {
		[CODE_SYMBOL_GOT] = "GOTPCREL", [CODE_SYMBOL_THREAD] = "TPOFF",
		[CODE_SYMBOL_GOT_THREAD] = "GOTTPOFF", [CODE_SYMBOL_BLOCK] = "DTPOFF",
	};
	const char *name;
	size_t len;

	if (!a->symbol_len || a->symbol_kind || !text_skip(t, '@'))
		return true;
	len = name_take(t, &name);
	for (uint8_t i = CODE_SYMBOL_GOT; i <= CODE_SYMBOL_BLOCK; i++)
		if (strlen(names[i]) == len && !strncasecmp(names[i], name, len)) {
			a->symbol_kind = i;
			return true;
		}
	return false;
}

/* Numbers and one symbol, with signs between them: 8, -8+name, name+4, name@tpoff. */
static bool sum_take(struct text *t, struct code_argument *a)
{
	bool negative = text_skip(t, '-');
	uint64_t number;
	const char *name;

	if (!negative)
		text_skip(t, '+');
	while (t->at < t->end) {
		if (number_take(t, &number)) {
			a->value = (int64_t)((uint64_t)a->value +
					     (negative ? 0 - number : number));
			/* clang: name+8@TPOFF */
			if (!relocation_take(t, a))
				return false;
		} else if (is_letter(*t->at) && !a->symbol_len && !negative) {
			a->symbol_len = (uint32_t)name_take(t, &name);
			a->symbol = name;
			if (!relocation_take(t, a))
				return false;
		} else {
			return false;
		}
		negative = text_is(t, '-');
		if (!text_skip(t, '-') && !text_skip(t, '+'))
			return true;
	}
	return false;
}

/* (base,index,scale), of which there may be none. */
static bool address_take(struct text *t, struct code_argument *a)
{
	uint64_t scale = 1;

	if (!text_skip(t, '('))
		return true;
	if (!address_register(t, &a->base))
		return false;
	if (text_skip(t, ',') && !address_register(t, &a->index))
		return false;
	if (text_skip(t, ',') && !number_take(t, &scale))
		return false;
	a->scale = (uint8_t)scale;
	return text_skip(t, ')') && (scale == 1 || scale == 2 || scale == 4 || scale == 8);
}

static bool memory_take(struct text *t, struct code_argument *a)
{
	a->kind = CODE_ARGUMENT_MEMORY;
	if (!text_is(t, '(') && !sum_take(t, a))
		return false;
	return address_take(t, a);
}

/* A register, or memory of a segment: %fs:-8 */
static bool behind_percent(struct text *t, struct code_argument *a)
{
	const char *name;
	size_t len = name_take(t, &name);

	if (len == 2 && name[1] == 's' && (name[0] == 'f' || name[0] == 'g') && text_skip(t, ':')) {
		a->segment = name[0];
		return memory_take(t, a);
	}
	return register_named(name, len, a);
}

static bool operand_take(struct text *t, struct code_argument *a)
{
	if (text_skip(t, '%'))
		return behind_percent(t, a);
	if (text_skip(t, '$')) {
		if (!sum_take(t, a) || a->symbol_kind != CODE_SYMBOL_ADDRESS)
			return false;
		a->kind = a->symbol_len ? CODE_ARGUMENT_ADDRESS : CODE_ARGUMENT_CONSTANT;
		return true;
	}
	return memory_take(t, a);
}

/* -4@ and 8f@, which old notes lack. */
static bool size_take(struct text *t, struct code_argument *a)
{
	struct text from = *t;
	uint64_t size;

	a->is_signed = text_skip(&from, '-');
	if (!number_take(&from, &size))
		size = 0;
	a->is_float = text_skip(&from, 'f');
	if (!text_skip(&from, '@')) {
		a->is_signed = a->is_float = false;
		return true;
	}
	*t = from;
	a->size = (uint8_t)size;
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static void argument_read(struct text t, struct code_argument *a)
{
	struct code_argument good = { .base = CODE_NO_REGISTER, .index = CODE_NO_REGISTER };

	*a = good;
	if (size_take(&t, &good) && operand_take(&t, &good) && t.at == t.end)
		*a = good;
}

unsigned int code_note_arguments(const struct code_note *n,
				 struct code_argument out[CODE_ARGUMENTS])
{
	const char *at = n->arguments;
	unsigned int nr = 0;

	while (nr < CODE_ARGUMENTS) {
		struct text t;

		at += strspn(at, " ");
		if (!*at)
			break;
		t = (struct text){ .at = at, .end = at + strcspn(at, " ") };
		argument_read(t, &out[nr]);
		out[nr].has_symbol_at = n->has_symbol >> nr & 1;
		out[nr].symbol_at = out[nr].has_symbol_at ? n->symbols[nr] : 0;
		out[nr].is_slot = n->has_slot >> nr & 1;
		out[nr].text = t.at;
		out[nr++].text_len = (uint32_t)(t.end - t.at);
		at = t.end;
	}
	return nr;
}

/* Memory at a symbol */
static bool is_fetched_there(const struct code_argument *a)
{
	const bool alone = !a->segment && !a->value && a->index == CODE_NO_REGISTER;

	if (!a->has_symbol_at)
		return false;
	switch (a->symbol_kind) {
	case CODE_SYMBOL_ADDRESS:
		/* That of a segment lacks what the linker added. */
		return !a->segment;
	case CODE_SYMBOL_GOT:
	case CODE_SYMBOL_GOT_THREAD:
		return alone && a->base == CODE_RIP;
	case CODE_SYMBOL_THREAD:
		return a->base != CODE_RIP;
	default:
		return a->base != CODE_RIP && !a->segment;
	}
}

bool code_argument_is_fetched(const struct code_argument *a)
{
	switch (a->kind) {
	case CODE_ARGUMENT_REGISTER:
	case CODE_ARGUMENT_VECTOR:
	case CODE_ARGUMENT_CONSTANT:
		return true;
	case CODE_ARGUMENT_ADDRESS:
		return a->has_symbol_at;
	case CODE_ARGUMENT_MEMORY:
		return a->symbol_len ? is_fetched_there(a) : a->base != CODE_RIP;
	default:
		return false;
	}
}
