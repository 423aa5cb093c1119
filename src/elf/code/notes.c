/* SPDX-License-Identifier: MIT */
/*
 * notes.c - probes that a program's author has put in: USDT, notes of type 3 in .note.stapsdt
 *
 *     address, base, semaphore | provider 0 name 0 arguments 0
 *
 * Prelinking moves a file's addresses, but not those in notes. The section .stapsdt.base is moved
 * with the code, so its distance from `base` says how far.
 *
 * An argument is a size, @, and an operand as in assembly: -4@%eax, 8@$5, 8@16(%rbp,%rax,8),
 * 8f@%xmm0, 8@variable+8(%rip), 8@%fs:-8. A symbol has the address that the file's tables of
 * symbols say. A name of several variables (static ones of several sources) has none: the note does
 * not say which one is meant.
 *
 * Source: systemtap's wiki, UserSpaceProbeImplementation.
 */
#include "elf/code/code.h"

enum {
	NOTE_TYPE	= 3,
	WORDS		= 24,
	LOOKS_MAX	= 1 << 24,	/* symbols that are compared for the notes of a file */
};

/* ---- Notes ---- */

static const Elf64_Shdr *section_named(const struct image *im, unsigned int *from, const char *name)
{
	for (unsigned int i = *from; i < im->nr_shdrs; i++) {
		*from = i + 1;
		if (!strcmp(image_string(im, im->names, im->shdrs[i].sh_name), name))
			return &im->shdrs[i];
	}
	return NULL;
}

static void base_find(struct code_notes *w)
{
	unsigned int from = 0;
	const Elf64_Shdr *s = section_named(w->image, &from, ".stapsdt.base");

	w->base = s ? s->sh_addr : 0;
	w->has_base = true;
}

/* Goes on to the next section. False: there is none. */
static bool section_next(struct code_notes *w)
{
	const Elf64_Shdr *s = section_named(w->image, &w->section, ".note.stapsdt");

	if (!s)
		return false;
	w->at = 0;
	w->bytes = s->sh_type == SHT_NOTE ? image_section(w->image, s, &w->size) : NULL;
	if (!w->bytes)
		w->size = 0;
	return true;
}

/* Takes a text that ends with 0 from the bytes at *at. NULL: it does not end. */
static const char *text_take(const char **at, const char *end)
{
	const char *text = *at, *zero = memchr(text, 0, (size_t)(end - text));

	*at = zero ? zero + 1 : end;
	return zero ? text : NULL;
}

static bool contents_read(const struct code_notes *w, const unsigned char *b, size_t size,
			  struct code_note *out)
{
	const char *at = (const char *)b + WORDS, *end = (const char *)b + size;
	uint64_t words[3];

	if (size < WORDS)
		return false;
	memcpy(words, b, sizeof(words));
	out->address = words[0] + (w->base ? w->base - words[1] : 0);
	out->semaphore = words[2] ? words[2] + (w->base ? w->base - words[1] : 0) : 0;
	out->provider = text_take(&at, end);
	out->name = text_take(&at, end);
	out->arguments = text_take(&at, end);
	if (!out->arguments)
		out->arguments = "";
	return out->provider && out->name;
}

/* Reads the note at w->at, and steps over it. *good: it is one of USDT. False: no more. */
static bool note_read(struct code_notes *w, struct code_note *out, bool *good)
{
	const unsigned char *b = w->bytes + w->at;
	const size_t room = w->size - w->at;
	size_t contents;
	Elf64_Nhdr n;

	if (room < sizeof(n))
		return false;
	memcpy(&n, b, sizeof(n));
	contents = sizeof(n) + (((size_t)n.n_namesz + 3) & ~(size_t)3);
	if (contents > room || n.n_descsz > room - contents)
		return false;
	*good = n.n_type == NOTE_TYPE && n.n_namesz == sizeof("stapsdt") &&
		!memcmp(b + sizeof(n), "stapsdt", sizeof("stapsdt")) &&
		contents_read(w, b + contents, n.n_descsz, out);
	contents += ((size_t)n.n_descsz + 3) & ~(size_t)3;
	w->at += contents < room ? contents : room;
	return true;
}

/* ---- Arguments ---- */

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

/* Numbers and one symbol, with signs between them: 8, -8+name, name+4. */
static bool sum_take(struct text *t, struct code_argument *a)
{
	bool negative = text_skip(t, '-');
	uint64_t number;
	const char *name;

	if (!negative)
		text_skip(t, '+');
	while (t->at < t->end) {
		if (number_take(t, &number)) {
			a->value += (int64_t)(negative ? 0 - number : number);
		} else if (is_letter(*t->at) && !a->symbol_len && !negative) {
			a->symbol_len = (uint32_t)name_take(t, &name);
			a->symbol = name;
			/* name@GOTPCREL: the address of the symbol's address */
			if (text_is(t, '@'))
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
		if (!sum_take(t, a))
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
		out[nr].text = t.at;
		out[nr++].text_len = (uint32_t)(t.end - t.at);
		at = t.end;
	}
	return nr;
}

bool code_argument_is_fetched(const struct code_argument *a)
{
	switch (a->kind) {
	case CODE_ARGUMENT_REGISTER:
	case CODE_ARGUMENT_CONSTANT:
		return !a->is_float;
	case CODE_ARGUMENT_ADDRESS:
		return a->has_symbol_at;
	case CODE_ARGUMENT_MEMORY:
		if (a->is_float || a->segment == 'g')
			return false;
		/* A symbol of a segment is one of a thread's variables. */
		if (a->symbol_len)
			return a->has_symbol_at && !a->segment;
		return a->base != CODE_RIP;
	default:
		return false;
	}
}

/* ---- Symbols of arguments ---- */

/* A variable or a function that the file has. */
static bool symbol_is(const struct image_symbols *t, const Elf64_Sym *s,
		      const struct code_argument *a)
{
	const unsigned int type = ELF64_ST_TYPE(s->st_info);
	const char *name;
	size_t len;

	if (s->st_shndx == SHN_UNDEF || s->st_shndx >= SHN_LORESERVE || type > STT_FUNC)
		return false;
	name = image_symbol_text(t, s, &len);
	return len == a->symbol_len && !memcmp(name, a->symbol, len);
}

/* False: the table has the name with another address than *at, or there are too many symbols. */
static bool table_look(struct code_notes *w, const struct image_symbols *t,
		       const struct code_argument *a, uint64_t *at, bool *found)
{
	if (w->nr_looked + t->nr > LOOKS_MAX)
		return false;
	w->nr_looked += t->nr;
	for (size_t i = 1; i < t->nr; i++) {
		const Elf64_Sym s = image_symbol(t, i);

		if (!symbol_is(t, &s, a))
			continue;
		if (*found && s.st_value != *at)
			return false;
		*at = s.st_value;
		*found = true;
	}
	return true;
}

static bool symbol_find(struct code_notes *w, const struct code_argument *a, uint64_t *at)
{
	const struct image *im = w->image;
	struct image_symbols table;
	bool found = false;

	for (unsigned int i = 0; i < im->nr_shdrs; i++) {
		const uint32_t type = im->shdrs[i].sh_type;

		if ((type == SHT_SYMTAB || type == SHT_DYNSYM) &&
		    image_symbols(im, &im->shdrs[i], &table) &&
		    !table_look(w, &table, a, at, &found))
			return false;
	}
	return found;
}

static void symbols_find(struct code_notes *w, struct code_note *n)
{
	struct code_argument arguments[CODE_ARGUMENTS];
	unsigned int nr;

	n->has_symbol = 0;
	nr = code_note_arguments(n, arguments);
	for (unsigned int i = 0; i < nr; i++)
		if (arguments[i].symbol_len && symbol_find(w, &arguments[i], &n->symbols[i]))
			n->has_symbol |= 1u << i;
}

bool code_note_next(struct code_notes *w, struct code_note *out)
{
	bool good;

	if (!w->has_base)
		base_find(w);
	while (1) {
		while (w->at < w->size) {
			if (!note_read(w, out, &good))
				break;
			if (!good)
				continue;
			symbols_find(w, out);
			return true;
		}
		if (!section_next(w))
			return false;
	}
}
