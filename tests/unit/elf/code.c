/* SPDX-License-Identifier: MIT */
/*
 * code.c - functions and plans of a file whose answers are known: code FILE [THE SAME STRIPPED]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "elf/code/code.h"
#include "elf/moved.h"

enum { FILE_MOST = 1 << 20 };

static const char *paths[2];

struct opened {
	unsigned char	*bytes;
	size_t		size;
	struct image	image;
	void		*memory;
	struct code_file code;
};

static void file_read(struct opened *o, const char *path)
{
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	o->bytes = malloc(FILE_MOST);
	o->size = fread(o->bytes, 1, FILE_MOST, f);
	assert_in_range(o->size, 1, FILE_MOST - 1);
	fclose(f);
}

/* -> whether the bytes are a file whose code is understood */
static bool code_of(struct opened *o)
{
	size_t room;

	o->memory = NULL;
	if (!image_open(&o->image, o->bytes, o->size))
		return false;
	room = code_room(&o->image);
	if (!room)
		return false;
	o->memory = calloc(1, room);
	return code_open(&o->code, &o->image, o->memory, room);
}

static int open_first(void **state)
{
	static struct opened o;

	file_read(&o, paths[0]);
	assert_true(code_of(&o));
	*state = &o;
	return 0;
}

static int close_first(void **state)
{
	struct opened *o = *state;

	free(o->memory);
	free(o->bytes);
	return 0;
}

static uint64_t address_of(const struct opened *o, const char *name)
{
	struct image_symbols symbols;

	for (unsigned int i = 0; i < o->image.nr_shdrs; i++) {
		const Elf64_Shdr *s = &o->image.shdrs[i];

		if (s->sh_type != SHT_SYMTAB || !image_symbols(&o->image, s, &symbols))
			continue;
		for (size_t k = 0; k < symbols.nr; k++) {
			const Elf64_Sym y = image_symbol(&symbols, k);

			if (!strcmp(image_symbol_name(&symbols, &y), name))
				return y.st_value;
		}
	}
	fail_msg("no symbol %s", name);
	return 0;
}

struct known {
	const char	*name;
	unsigned int	offset, avoid;
	uint8_t		tactic, why, len, nr, before;
};

/* In the order of code_fixture.S. */
static const struct known plans[] = {
	{ "f_whole", 0, 0, CODE_WHOLE, 0, 5, 1, 0 },
	{ "f_whole", 1, 0, CODE_REFUSED, CODE_NOT_START, 0, 0, 0 },
	{ "f_whole", 5, 0, CODE_BEFORE, 0, 6, 2, 1 },
	{ "f_several", 0, 0, CODE_SEVERAL, 0, 8, 3, 0 },
	{ "f_inner", 0, CODE_NO_TRAP, CODE_REFUSED, CODE_TRAP_ONLY, 1, 1, 0 },
	{ "f_inner", 0, 0, CODE_TRAP, 0, 1, 1, 0 },
	{ "f_inner", 1, 0, CODE_SEVERAL, 0, 5, 3, 0 },
	{ "f_short", 0, 0, CODE_TRAP, 0, 2, 1, 0 },
	{ "f_before", 5, 0, CODE_BEFORE, 0, 7, 2, 1 },
	{ "f_before", 5, 1 << CODE_BEFORE, CODE_TRAP, 0, 2, 1, 0 },
	{ "f_behind_call", 5, 0, CODE_TRAP, 0, 2, 1, 0 },
	{ "f_call_ends", 0, CODE_NO_TRAP, CODE_REFUSED, CODE_TRAP_ONLY, 1, 1, 0 },
	{ "f_call_ends", 1, 0, CODE_TRAP, 0, 2, 1, 0 },
	{ "f_computed", 0, 0, CODE_GUARDED, 0, 7, 3, 0 },
	{ "f_computed", 0, 1 << CODE_GUARDED | CODE_NO_TRAP, CODE_REFUSED, CODE_TRAP_ONLY, 1, 1,
	  0 },
	{ "f_by_memory", 0, 0, CODE_SEVERAL, 0, 6, 2, 0 },
	{ "f_loaded", 0, 0, CODE_SEVERAL, 0, 5, 2, 0 },
	{ "f_kept", 0, 0, CODE_SEVERAL, 0, 5, 2, 0 },
	{ "f_spilled", 0, 0, CODE_GUARDED, 0, 5, 2, 0 },
	{ "f_by_stack", 0, 0, CODE_GUARDED, 0, 5, 2, 0 },
	{ "f_chosen", 0, 0, CODE_SEVERAL, 0, 6, 2, 0 },
	{ "f_joined", 0, 0, CODE_GUARDED, 0, 6, 2, 0 },
	{ "f_looped", 0, 0, CODE_GUARDED, 0, 5, 2, 0 },
	{ "f_overwritten", 0, 0, CODE_SEVERAL, 0, 6, 2, 0 },
	{ "f_elsewhere", 0, 0, CODE_GUARDED, 0, 5, 2, 0 },
	{ "f_by_vector", 0, 0, CODE_GUARDED, 0, 5, 2, 0 },
	{ "f_padded", 0, 0, CODE_SEVERAL, 0, 8, 2, 0 },
	{ "f_fixed", 0, 0, CODE_REFUSED, CODE_FIXED, 0, 0, 0 },
	{ "f_fixed", 2, 0, CODE_REFUSED, CODE_FIXED, 0, 0, 0 },
	{ "f_fixed", 3, 0, CODE_REFUSED, CODE_FIXED, 0, 0, 0 },
	{ "f_fixed", 7, 0, CODE_REFUSED, CODE_FIXED, 0, 0, 0 },
	{ "f_signal", 0, 0, CODE_REFUSED, CODE_SIGNAL_FRAME, 0, 0, 0 },
	{ "f_no_fde", 0, 0, CODE_REFUSED, CODE_NO_FDE, 0, 0, 0 },
	{ "f_unknown", 0, 0, CODE_REFUSED, CODE_UNKNOWN, 0, 0, 0 },
	{ "f_data", 0, 0, CODE_TRAP, 0, 2, 1, 0 },
	{ "f_pad", 0, 0, CODE_TRAP, 0, 2, 1, 0 },
	{ "f_lea", 7, 1 << CODE_BEFORE, CODE_TRAP, 0, 2, 1, 0 },
	{ "f_lea", 7, 0, CODE_BEFORE, 0, 9, 2, 1 },
	{ "f_sequence", 0, 0, CODE_WHOLE, 0, 5, 1, 0 },
	{ "f_sequence", 5, 0, CODE_REFUSED, CODE_SEQUENCE, 0, 0, 0 },
	{ "f_sequence", 7, 0, CODE_REFUSED, CODE_SEQUENCE, 0, 0, 0 },
	{ "f_padding_before", 0, 0, CODE_TRAP, 0, 1, 1, 0 },
};

static void each_plan(void **state)
{
	const struct opened *o = *state;
	struct code_plan p;

	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		const struct known *k = &plans[i];
		const uint64_t at = address_of(o, k->name) + k->offset;

		const bool good = code_plan(&o->code, at, k->avoid, &p);

		assert_int_equal(good, p.tactic != CODE_REFUSED);
		if (p.tactic != k->tactic || p.why != k->why || p.len != k->len ||
		    p.nr != k->nr || p.before != k->before || p.address != at)
			fail_msg("%s+%u: %s, %s, %u bytes of %u, %u before", k->name, k->offset,
				 code_tactic_text(p.tactic), code_why_text(p.why), p.len, p.nr,
				 p.before);
		assert_true(p.tactic == CODE_BEFORE ? p.at < at : p.at == at);
	}
	assert_false(code_plan(&o->code, o->code.segments[0].high, 0, &p));
	assert_int_equal(p.why, CODE_NOT_CODE);
	assert_false(code_plan(&o->code, UINT64_MAX, 0, &p));
}

static void where_instructions_are(void **state)
{
	const struct opened *o = *state;
	const uint8_t several[] = { 0, 1, 4 };
	struct code_plan p;

	assert_true(code_plan(&o->code, address_of(o, "f_several"), 0, &p));
	assert_memory_equal(p.offsets, several, sizeof(several));
	assert_true(code_plan(&o->code, address_of(o, "f_before") + 5, 0, &p));
	assert_int_equal(p.at, address_of(o, "f_before"));
	assert_int_equal(p.offsets[1], 5);
}

static const struct code_function *function(const struct opened *o, const char *name)
{
	const struct code_function *fn = code_function_at(&o->code, address_of(o, name));

	assert_non_null(fn);
	assert_int_equal(fn->start, address_of(o, name));
	return fn;
}

static void each_function(void **state)
{
	static const struct {
		const char *name;
		uint8_t why, returns;
	} known[] = {
		{ "f_whole", 0, 0 }, { "f_signal", CODE_SIGNAL_FRAME, 0 },
		{ "f_first", CODE_FIRST, 0 },
		{ "f_part", CODE_PART, 0 }, { "f_resolver", CODE_PART, 0 },
		{ "f_no_fde", CODE_NO_FDE, 0 },
		{ "f_undefined_later", 0, CODE_RETURN_TWICE }, { "setjmp", 0, CODE_RETURN_TWICE },
		{ "f_returns_behind", 0, CODE_RETURN_READ },
	};
	const struct opened *o = *state;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct code_function *fn = function(o, known[i].name);

		if (fn->why != known[i].why || fn->returns != known[i].returns)
			fail_msg("%s: %s, %s", known[i].name, code_why_text(fn->why),
				 code_return_text(fn->returns));
	}
	assert_int_equal(code_entry(function(o, "f_endbr")), address_of(o, "f_endbr") + 4);
	assert_int_equal(code_entry(function(o, "f_whole")), address_of(o, "f_whole"));
	assert_true(function(o, "f_computed")->has & CODE_HAS_UNRESOLVED);
	assert_true(function(o, "f_joined")->has & CODE_HAS_UNRESOLVED);
	assert_false(function(o, "f_loaded")->has & CODE_HAS_UNRESOLVED);
	for (size_t i = 1; i < o->code.nr_functions; i++)
		assert_true(o->code.functions[i - 1].start + o->code.functions[i - 1].size <=
			    o->code.functions[i].start);
}

/* ---- Functions that are only jumped to ---- */

/* The site of the function without a symbol that is behind the named one. */
static enum site_skip skip_behind(const struct opened *o, const struct site *v, size_t nr,
				  const char *name)
{
	const struct code_function *fn = function(o, name) + 1;

	assert_false(fn->has & CODE_HAS_SYMBOL);
	for (size_t i = 0; i < nr; i++)
		if (v[i].at == fn->start)
			return (enum site_skip)v[i].skip;
	fail_msg("no site behind %s", name);
	return SITE_GOOD;
}

static void only_jumped_to(void **state)
{
	static const struct {
		const char *name;
		enum site_skip skip;
	} known[] = {
		{ "j_function", SITE_GOOD }, { "j_below", SITE_PERHAPS_PART },
		{ "j_below_again", SITE_PERHAPS_PART }, { "j_inside", SITE_PERHAPS_PART },
		{ "j_endless", SITE_PERHAPS_PART }, { "j_flags", SITE_PERHAPS_PART },
	};
	struct opened *o = *state;
	struct site *v = calloc(o->code.nr_functions, sizeof(*v));
	const size_t nr = moved_sites(&o->code, v);

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (skip_behind(o, v, nr, known[i].name) != known[i].skip)
			fail_msg("behind %s: %u", known[i].name,
				 skip_behind(o, v, nr, known[i].name));
	free(v);
}

/* Each case is a target, and no jump of the function is left unresolved. */
static void jump_table(void **state)
{
	const struct opened *o = *state;
	const struct code_function *fn = function(o, "chosen");
	const struct code_segment *s = code_segment_at(&o->code, fn->start);
	unsigned int targets = 0;

	assert_true(fn->has & CODE_HAS_JUMPS);
	assert_false(fn->has & CODE_HAS_UNRESOLVED);
	for (uint64_t at = fn->start; at < fn->start + fn->size; at++)
		targets += (s->marks[at - s->low] & (CODE_START | CODE_TARGET)) ==
			   (CODE_START | CODE_TARGET);
	assert_true(targets >= 9);
}

static void owners(void **state)
{
	struct opened *o = *state;
	const uint64_t at = address_of(o, "f_several");
	struct code_plan p, q;

	assert_true(code_plan(&o->code, at + 1, 0, &p));
	code_own(&o->code, &p, true);
	assert_false(code_plan(&o->code, at + 1, 0, &q));
	assert_int_equal(q.why, CODE_OWNED);
	/* Its neighbour's first byte is free, but the JMP would cover the others. */
	assert_false(code_plan(&o->code, at, CODE_NO_TRAP, &q));
	assert_int_equal(q.why, CODE_OWNED);
	code_own(&o->code, &p, false);
	assert_true(code_plan(&o->code, at, 0, &q));
}

static void notes(void **state)
{
	const struct opened *o = *state;
	struct code_notes w = { .image = &o->image };
	struct code_argument arguments[CODE_ARGUMENTS];
	struct code_note n;

	assert_true(code_note_next(&w, &n));
	assert_string_equal(n.provider, "fixture");
	assert_string_equal(n.name, "first");
	assert_int_equal(n.address, address_of(o, "f_several"));
	assert_int_equal(n.semaphore, 0);
	assert_int_equal(code_note_arguments(&n, arguments), 2);
	assert_int_equal(arguments[1].reg, CODE_RSI);
	assert_true(code_note_next(&w, &n));
	assert_string_equal(n.name, "second");
	assert_int_not_equal(n.semaphore, 0);
	assert_int_equal(code_note_arguments(&n, arguments), 0);
	assert_true(code_note_next(&w, &n));
	assert_string_equal(n.name, "third");
	assert_false(code_note_next(&w, &n));
}

/* Reads the arguments of the note `third`. */
static void third_arguments(const struct image *im, struct code_argument out[CODE_ARGUMENTS])
{
	struct code_notes w = { .image = im };
	struct code_note n;

	do
		assert_true(code_note_next(&w, &n));
	while (strcmp(n.name, "third"));
	assert_int_equal(code_note_arguments(&n, out), 5);
}

static void symbols_of_arguments(void **state)
{
	static const char *const names[] = { "v_one", "v_two", "v_one", "f_data" };
	const struct opened *o = *state;
	struct code_argument a[CODE_ARGUMENTS];

	third_arguments(&o->image, a);
	for (unsigned int i = 0; i < 4; i++) {
		assert_true(code_argument_is_fetched(&a[i]));
		assert_int_equal(a[i].symbol_at, address_of(o, names[i]));
	}
	assert_int_equal(a[1].value, 8);
	assert_int_equal(a[2].value, -4);
	/* The file has no such symbol. */
	assert_false(a[4].has_symbol_at);
	assert_false(code_argument_is_fetched(&a[4]));
}

/* Static variables of two sources have one name: the note does not say which one is meant. */
static void symbol_of_two_variables(void **state)
{
	const struct opened *o = *state;
	struct opened two = { .size = o->size, .bytes = malloc(o->size) };
	struct code_argument a[CODE_ARGUMENTS];
	unsigned char *name;

	memcpy(two.bytes, o->bytes, o->size);
	name = memmem(two.bytes, two.size, "\0v_two", sizeof("\0v_two"));
	assert_non_null(name);
	memcpy(name + 1, "v_one", 5);
	assert_true(image_open(&two.image, two.bytes, two.size));
	third_arguments(&two.image, a);
	assert_false(code_argument_is_fetched(&a[0]));
	assert_false(code_argument_is_fetched(&a[1]));
	assert_true(code_argument_is_fetched(&a[3]));
	free(two.bytes);
}

/* Field by field: the bytes between them are anything. */
static void same_plan(const struct code_plan *p, const struct code_plan *q)
{
	assert_int_equal(p->tactic, q->tactic);
	assert_int_equal(p->why, q->why);
	assert_int_equal(p->len, q->len);
	assert_int_equal(p->nr, q->nr);
	assert_int_equal(p->before, q->before);
	assert_memory_equal(p->offsets, q->offsets, sizeof(p->offsets));
	assert_int_equal(p->at, q->at);
	assert_int_equal(p->address, q->address);
}

/* Without symbols, the functions with an FDE and their plans are the same. */
static void stripped(void **state)
{
	const struct opened *o = *state;
	struct opened s;
	size_t k = 0;

	if (!paths[1])
		skip();
	file_read(&s, paths[1]);
	assert_true(code_of(&s));
	for (size_t i = 0; i < s.code.nr_functions; i++) {
		const struct code_function *b = &s.code.functions[i];
		struct code_plan p, q;

		while (k < o->code.nr_functions && o->code.functions[k].start != b->start)
			k++;
		assert_true(k < o->code.nr_functions);
		assert_int_equal(b->size, o->code.functions[k].size);
		code_plan(&o->code, b->start, 0, &p);
		code_plan(&s.code, b->start, 0, &q);
		same_plan(&p, &q);
	}
	assert_true(s.code.nr_functions + 1 >= o->code.nr_functions);
	free(s.memory);
	free(s.bytes);
}

/* The segment ends in a function: nothing behind its end is looked at. */
static void cut_off(void **state)
{
	const struct opened *o = *state;
	const uint64_t at = address_of(o, "f_several");
	struct opened cut = { .size = o->size, .bytes = malloc(o->size) };
	struct code_plan p;
	Elf64_Ehdr head;

	for (uint64_t len = 1; len < 9; len++) {
		memcpy(cut.bytes, o->bytes, o->size);
		memcpy(&head, cut.bytes, sizeof(head));
		for (unsigned int i = 0; i < head.e_phnum; i++) {
			Elf64_Phdr *h = (Elf64_Phdr *)(cut.bytes + head.e_phoff) + i;

			if (h->p_type == PT_LOAD && (h->p_flags & PF_X))
				h->p_filesz = at + len - h->p_vaddr;
		}
		if (code_of(&cut) && code_plan(&cut.code, at, 0, &p))
			assert_true(p.at + p.len <= at + len);
		free(cut.memory);
	}
	free(cut.bytes);
}

/* Any bytes give plans that stay in the code, or none. */
static void damaged(void **state)
{
	const struct opened *o = *state;
	struct opened copy = { .size = o->size };
	uint32_t random = 1;

	for (int round = 0; round < 300; round++) {
		copy.size = round % 3 ? o->size : (random >> 4) % o->size;
		copy.bytes = malloc(copy.size + 1);
		memcpy(copy.bytes, o->bytes, copy.size);
		for (int i = 0; i < 40 && copy.size; i++) {
			random = random * 1664525 + 1013904223;
			copy.bytes[(random >> 8) % copy.size] ^= (unsigned char)(random >> 24);
		}
		memcpy(copy.bytes, o->bytes, copy.size < 64 ? copy.size : 64);
		if (code_of(&copy))
			for (size_t i = 0; i < copy.code.nr_functions; i++) {
				const struct code_function *fn = &copy.code.functions[i];
				const struct code_segment *s =
					code_segment_at(&copy.code, fn->start);
				struct code_plan p;

				assert_non_null(s);
				assert_true(fn->size <= s->high - fn->start);
				if (!code_plan(&copy.code, code_entry(fn), 0, &p))
					continue;
				assert_true(p.at >= s->low && p.at + p.len <= s->high);
				code_own(&copy.code, &p, true);
			}
		free(copy.memory);
		free(copy.bytes);
	}
}

/* ---- Arguments ---- */

struct operand {
	const char	*text;
	struct code_argument is;
};

#define NO CODE_NO_REGISTER
#define MEMORY(size_, is_signed_, base_, index_, scale_, value_)				\
	{ .kind = CODE_ARGUMENT_MEMORY, .size = (size_), .is_signed = (is_signed_),		\
	  .base = (base_), .index = (index_), .scale = (scale_), .value = (value_) }
#define REGISTER(size_, is_signed_, reg_, reg_size_)						\
	{ .kind = CODE_ARGUMENT_REGISTER, .size = (size_), .is_signed = (is_signed_),		\
	  .reg = (reg_), .reg_size = (reg_size_), .base = NO, .index = NO }
#define SYMBOL(size_, base_, scale_, kind_)							\
	{ .kind = CODE_ARGUMENT_MEMORY, .size = (size_), .base = (base_), .index = NO,		\
	  .scale = (scale_), .symbol_len = 4, .symbol_kind = (kind_) }
#define UNKNOWN { .kind = CODE_ARGUMENT_UNKNOWN, .base = NO, .index = NO }

static const struct operand operands[] = {
	{ "-4@%edi", REGISTER(4, true, CODE_RDI, 4) },
	{ "8@%r15", REGISTER(8, false, CODE_R15, 8) },
	{ "2@%r9w", REGISTER(2, false, CODE_R9, 2) },
	{ "-1@%sil", REGISTER(1, true, CODE_RSI, 1) },
	{ "1@%dh", { .kind = CODE_ARGUMENT_REGISTER, .size = 1, .reg = CODE_RDX, .reg_size = 1,
		     .is_high = true, .base = NO, .index = NO } },
	{ "%rax", REGISTER(0, false, CODE_RAX, 8) },
	{ "8f@%xmm15", { .kind = CODE_ARGUMENT_VECTOR, .size = 8, .is_float = true, .reg = 15,
			 .reg_size = 16, .base = NO, .index = NO } },
	{ "-4@$-5", { .kind = CODE_ARGUMENT_CONSTANT, .size = 4, .is_signed = true, .value = -5,
		      .base = NO, .index = NO } },
	{ "8@$0x10", { .kind = CODE_ARGUMENT_CONSTANT, .size = 8, .value = 16, .base = NO,
		       .index = NO } },
	{ "8@(%rax)", MEMORY(8, false, CODE_RAX, NO, 1, 0) },
	{ "-4@-20(%rbp)", MEMORY(4, true, CODE_RBP, NO, 1, -20) },
	{ "8@8+16(%rsp)", MEMORY(8, false, CODE_RSP, NO, 1, 24) },
	{ "8@16(%rbp,%rax,8)", MEMORY(8, false, CODE_RBP, CODE_RAX, 8, 16) },
	{ "8@(,%r8,4)", MEMORY(8, false, NO, CODE_R8, 4, 0) },
	{ "8@(%rbx,%rcx)", MEMORY(8, false, CODE_RBX, CODE_RCX, 1, 0) },
	{ "8@%fs:-8", { .kind = CODE_ARGUMENT_MEMORY, .size = 8, .segment = 'f', .value = -8,
			.base = NO, .index = NO } },
	{ "4@name(%rip)", { .kind = CODE_ARGUMENT_MEMORY, .size = 4, .base = CODE_RIP, .index = NO,
			    .scale = 1, .symbol_len = 4 } },
	{ "4@8+name(%rip)", { .kind = CODE_ARGUMENT_MEMORY, .size = 4, .base = CODE_RIP,
			      .index = NO, .scale = 1, .symbol_len = 4, .value = 8 } },
	{ "4@name+12", { .kind = CODE_ARGUMENT_MEMORY, .size = 4, .base = NO, .index = NO,
			 .symbol_len = 4, .value = 12 } },
	{ "8@$name-4", { .kind = CODE_ARGUMENT_ADDRESS, .size = 8, .base = NO, .index = NO,
			 .symbol_len = 4, .value = -4 } },
	{ "3@%eax", UNKNOWN }, { "4@%eaxx", UNKNOWN }, { "4@", UNKNOWN }, { "4@(%rax", UNKNOWN },
	{ "4@(%xmm0)", UNKNOWN }, { "4@(%rax,%rbx,3)", UNKNOWN }, { "4@8+(%rax)", UNKNOWN },
	{ "8@name@GOTPCREL(%rip)", SYMBOL(8, CODE_RIP, 1, CODE_SYMBOL_GOT) },
	{ "8@name@gottpoff(%rip)", SYMBOL(8, CODE_RIP, 1, CODE_SYMBOL_GOT_THREAD) },
	{ "4@name@dtpoff(%rax)", SYMBOL(4, CODE_RAX, 1, CODE_SYMBOL_BLOCK) },
	{ "8@%fs:name@tpoff", { .kind = CODE_ARGUMENT_MEMORY, .size = 8, .segment = 'f', .base = NO,
				.index = NO, .symbol_len = 4,
				.symbol_kind = CODE_SYMBOL_THREAD } },
	{ "4@%gs:8(%rax)", { .kind = CODE_ARGUMENT_MEMORY, .size = 4, .segment = 'g',
			     .base = CODE_RAX, .index = NO, .scale = 1, .value = 8 } },
	{ "-4f@%xmm31", { .kind = CODE_ARGUMENT_VECTOR, .size = 4, .is_signed = true,
			  .is_float = true, .reg = 31, .reg_size = 16, .base = NO, .index = NO } },
	{ "8@%fs:name+8@TPOFF", { .kind = CODE_ARGUMENT_MEMORY, .size = 8, .segment = 'f',
				  .base = NO, .index = NO, .symbol_len = 4, .value = 8,
				  .symbol_kind = CODE_SYMBOL_THREAD } },
	{ "8@name@PLT", UNKNOWN }, { "8@8@TPOFF", UNKNOWN },
	{ "8@name@TPOFF@TPOFF", UNKNOWN }, { "8@$name@tpoff", UNKNOWN }, { "8@name@", UNKNOWN },
	{ "4@$", UNKNOWN }, { "8@%xmm32", UNKNOWN },
};

static void each_operand(void **state)
{
	for (size_t i = 0; i < sizeof(operands) / sizeof(operands[0]); i++) {
		const struct operand *o = &operands[i];
		const struct code_note n = { .arguments = o->text };
		struct code_argument a[CODE_ARGUMENTS];

		assert_int_equal(code_note_arguments(&n, a), 1);
		assert_ptr_equal(a[0].text, o->text);
		assert_int_equal(a[0].text_len, strlen(o->text));
		if (a[0].symbol_len)
			assert_memory_equal(a[0].symbol, "name", 4);
		a[0].symbol = a[0].text = NULL;
		a[0].text_len = 0;
		if (memcmp(&a[0], &o->is, sizeof(a[0])))
			fail_msg("%s: kind %d, size %d, register %d, base %d, index %d, scale %d",
				 o->text, a[0].kind, a[0].size, a[0].reg, a[0].base, a[0].index,
				 a[0].scale);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_plan),
		cmocka_unit_test(where_instructions_are),
		cmocka_unit_test(each_function),
		cmocka_unit_test(only_jumped_to), cmocka_unit_test(jump_table),
		cmocka_unit_test(owners),
		cmocka_unit_test(notes),
		cmocka_unit_test(symbols_of_arguments),
		cmocka_unit_test(symbol_of_two_variables),
		cmocka_unit_test(stripped),
		cmocka_unit_test(cut_off),
		cmocka_unit_test(damaged),
		cmocka_unit_test(each_operand),
	};

	paths[0] = argv[1];
	paths[1] = argc > 2 ? argv[2] : NULL;
	return cmocka_run_group_tests(tests, open_first, close_first);
}
