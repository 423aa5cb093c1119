/* SPDX-License-Identifier: MIT */
/*
 * fetch_compile.c - makes code of the arguments of kprobes and uprobes
 *
 * What the kernel does with each argument: it takes a value, follows pointers,
 * and stores the value or what the last pointer points to. Here each element of an array has ops of
 * its own only where a pointer of its own is followed.
 *
 * An event probe has code of another kind (eprobe_compile.c): it takes its values from a record,
 * and runs inside the triggers of its event.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/dynamic/fetch_compile.h"
#include "session/array.h"

enum {
	/* What the kernel shows of a 64-bit program */
	USER_CS = 0x33, USER_SS = 0x2b,
	WORD = 8,
};

/* ---- building ---- */

struct fetch_op *fetch_emit(struct fetch_builder *b, enum fetch_op_kind kind)
{
	struct fetch_op *op = &b->nowhere;

	if (b->nr >= UINT16_MAX || array_room(&b->ops, b->nr, sizeof(*b->ops)))
		b->failed = true;
	else
		op = &b->ops[b->nr++];
	*op = (struct fetch_op){ .kind = (uint8_t)kind };
	return op;
}

static void fetch_fill(const struct fetch_builder *b, struct fetch_code *code)
{
	const size_t pool = sizeof(*code) + b->nr * sizeof(*b->ops);

	code->nr_ops = b->nr;
	code->flags = b->flags;
	memcpy(code->ops, b->ops, b->nr * sizeof(*b->ops));
	for (unsigned int i = 0; i < b->nr; i++)
		if (code->ops[i].kind == FETCH_CONSTANT)
			code->ops[i].imm += (int64_t)pool;
	if (b->pool_size)
		memcpy((char *)code + pool, b->pool, b->pool_size);
}

struct fetch_code *fetch_finish(struct fetch_builder *b, unsigned int head, unsigned int size)
{
	struct fetch_code *code = NULL;
	size_t bytes;

	fetch_emit(b, FETCH_END);
	bytes = sizeof(*code) + b->nr * sizeof(*b->ops) + b->pool_size;
	if (!b->failed)
		code = calloc(1, bytes);
	if (code) {
		code->bytes = (uint32_t)bytes;
		code->head = (uint16_t)head;
		code->size = (uint16_t)size;
		fetch_fill(b, code);
	}
	free(b->ops);
	free(b->pool);
	return code;
}

static void emit_constant(struct fetch_builder *b, unsigned int off, const char *text)
{
	const size_t len = strlen(text) + 1;
	struct fetch_op *op = fetch_emit(b, FETCH_CONSTANT);
	char *pool = realloc(b->pool, b->pool_size + len);

	if (!pool) {
		b->failed = true;
		return;
	}
	memcpy(pool + b->pool_size, text, len);
	op->off = (uint16_t)off;
	op->len = (uint16_t)len;
	op->imm = (int64_t)b->pool_size;
	b->pool = pool;
	b->pool_size += len;
}

/* ---- an argument ---- */

struct compiler {
	struct fetch_builder	b;
	const struct probe_place *place;
	const struct fetch_file	*file;
	const struct probe_arg	*arg;
	const char		*why;	/* the argument cannot be fetched; NULL: it can */
	/* The steps of the argument */
	const struct probe_step	*first, *derefs;
	unsigned int		nr_derefs;
};

static bool is_kprobe(const struct compiler *c)
{
	return c->place->probe.dyn.kind == &kprobe_kind;
}

static void split_steps(struct compiler *c)
{
	c->first = c->arg->steps;
	if (c->first->op == PROBE_NAME)
		c->first++;
	c->derefs = c->first + 1;
	c->nr_derefs = c->arg->nr_steps - (unsigned int)(c->derefs - c->arg->steps);
}

/* ---- the first step: a value ---- */

/* By enum probe_register: enum fetch_register. The others have the same value in all programs. */
static const uint8_t general[] = {
	[PROBE_R15] = FETCH_R15, [PROBE_R14] = FETCH_R14, [PROBE_R13] = FETCH_R13,
	[PROBE_R12] = FETCH_R12, [PROBE_R11] = FETCH_R11, [PROBE_R10] = FETCH_R10,
	[PROBE_R9] = FETCH_R9, [PROBE_R8] = FETCH_R8, [PROBE_BX] = FETCH_RBX,
	[PROBE_CX] = FETCH_RCX, [PROBE_DX] = FETCH_RDX, [PROBE_SI] = FETCH_RSI,
	[PROBE_DI] = FETCH_RDI, [PROBE_BP] = FETCH_RBP, [PROBE_AX] = FETCH_RAX,
};

static bool register_of(const struct probe_step *s, uint8_t *reg)
{
	static const uint8_t arguments[] = { FETCH_RDI, FETCH_RSI, FETCH_RDX, FETCH_RCX, FETCH_R8,
					     FETCH_R9 };

	switch (s->op) {
	case PROBE_REGISTER:
		if (s->value == PROBE_IP)
			*reg = FETCH_RIP;
		else if (s->value == PROBE_FLAGS)
			*reg = FETCH_FLAGS;
		else if (s->value == PROBE_SP)
			*reg = FETCH_RSP;
		else if (s->value <= PROBE_AX)
			*reg = general[s->value];
		else
			return false;
		return true;
	case PROBE_STACK_POINTER:
		*reg = FETCH_RSP;
		return true;
	case PROBE_RETVAL:
		*reg = FETCH_RAX;
		return true;
	case PROBE_ARGUMENT:
	case PROBE_ENTRY_ARGUMENT:
		if (s->value >= sizeof(arguments))
			return false;
		*reg = arguments[s->value];
		return true;
	default:
		return false;
	}
}

static int64_t segment_value(uint64_t reg)
{
	if (reg == PROBE_CS)
		return USER_CS;
	if (reg == PROBE_SS)
		return USER_SS;
	return reg == PROBE_ORIG_AX ? -1 : 0;
}

/* A kprobe names memory by the session's address. */
static void compile_number(struct compiler *c)
{
	uint64_t at = 0;

	if (!is_kprobe(c) || !c->nr_derefs || !layout_is_dso_address(c->first->value))
		fetch_emit(&c->b, FETCH_NUMBER)->imm = (int64_t)c->first->value;
	else if (c->file->of_session(c->file->arg, c->first->value, &at))
		fetch_emit(&c->b, FETCH_IN_FILE)->imm = (int64_t)at;
	else
		c->why = "The memory is in another file than the probe";
}

static void compile_file_offset(struct compiler *c)
{
	uint64_t at = 0;

	if (c->file->of_offset(c->file->arg, c->first->value, &at))
		fetch_emit(&c->b, FETCH_IN_FILE)->imm = (int64_t)at;
	else
		c->why = "No program has this part of the file in its memory";
}

static void compile_stack(struct compiler *c, uint64_t word)
{
	fetch_emit(&c->b, FETCH_STACK)->imm = (int64_t)(word * WORD);
	c->b.flags |= FETCH_READS_MEMORY;
}

static void compile_value(struct compiler *c)
{
	const struct probe_step *s = c->first;
	uint8_t reg;

	if (register_of(s, &reg)) {
		const bool entry = s->op == PROBE_ENTRY_ARGUMENT;

		fetch_emit(&c->b, entry ? FETCH_ENTRY_WORD : FETCH_REGISTER)->reg = reg;
		c->b.flags |= entry ? FETCH_WANTS_ENTRY : 0;
	} else if (s->op == PROBE_REGISTER) {
		fetch_emit(&c->b, FETCH_NUMBER)->imm = segment_value(s->value);
	} else if (s->op == PROBE_STACK) {
		compile_stack(c, s->value);
	} else if (s->op == PROBE_ARGUMENT) {
		/* Word 0 is the return address, word 1 argument 7. */
		compile_stack(c, s->value - FETCH_ENTRY_WORDS + 1);
	} else if (s->op == PROBE_IMMEDIATE) {
		compile_number(c);
	} else if (s->op == PROBE_FILE_OFFSET) {
		compile_file_offset(c);
	} else {
		c->why = "At a return, arguments on the stack are gone";
	}
}

/* ---- the pointers ---- */

/* Follows `nr` pointers. The ops that load them are to be told where to go on: end_loads(). */
static void compile_loads(struct compiler *c, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		struct fetch_op *op = fetch_emit(&c->b, FETCH_LOAD);

		op->size = WORD;
		op->imm = c->derefs[i].offset;
		c->b.flags |= FETCH_READS_MEMORY;
	}
}

/* If one of the loads from op `first` on fails, the code goes on here. */
static void end_loads(struct compiler *c, unsigned int first)
{
	for (unsigned int i = first; i < c->b.nr; i++)
		if (c->b.ops[i].kind == FETCH_LOAD)
			c->b.ops[i].next = (uint16_t)c->b.nr;
}

static int64_t last_offset(const struct compiler *c)
{
	return c->nr_derefs ? c->derefs[c->nr_derefs - 1].offset : 0;
}

/* ---- numbers ---- */

static void compile_bits(struct compiler *c, unsigned int count)
{
	const struct probe_arg *arg = c->arg;
	struct fetch_op *op;

	if (!arg->bit_width)
		return;
	op = fetch_emit(&c->b, FETCH_BITS);
	op->off = (uint16_t)arg->offset;
	op->size = arg->type->size;
	op->len = (uint16_t)count;
	op->bit = (uint8_t)arg->bit_offset;
	op->width = (uint8_t)arg->bit_width;
}

/* A value that is not in memory. */
static void store_value(struct compiler *c)
{
	struct fetch_op *op;
	uint8_t reg;

	if (c->first->op != PROBE_ENTRY_ARGUMENT && register_of(c->first, &reg)) {
		op = fetch_emit(&c->b, FETCH_STORE_REGISTER);
		op->reg = reg;
	} else {
		compile_value(c);
		op = fetch_emit(&c->b, FETCH_STORE);
	}
	op->off = (uint16_t)c->arg->offset;
	op->size = c->arg->type->size;
}

static void store_memory(struct compiler *c, unsigned int count)
{
	const unsigned int first = c->b.nr;
	struct fetch_op *op;

	compile_value(c);
	compile_loads(c, c->nr_derefs - 1);
	op = fetch_emit(&c->b, FETCH_COPY);
	op->off = (uint16_t)c->arg->offset;
	op->len = (uint16_t)(count * c->arg->type->size);
	op->imm = last_offset(c);
	end_loads(c, first);
	c->b.flags |= FETCH_READS_MEMORY | (c->nr_derefs > 1 ? FETCH_CLEARS : 0);
}

/* An address of which the reader shows the symbol. */
static void store_symbol(struct compiler *c)
{
	const unsigned int first = c->b.nr;
	struct fetch_op *op;

	compile_value(c);
	compile_loads(c, c->nr_derefs);
	fetch_emit(&c->b, FETCH_SESSION);
	op = fetch_emit(&c->b, FETCH_STORE);
	op->off = (uint16_t)c->arg->offset;
	op->size = WORD;
	end_loads(c, first);
	c->b.flags |= c->nr_derefs ? FETCH_CLEARS : 0;
}

static void compile_numbers(struct compiler *c)
{
	const unsigned int count = c->arg->count ? c->arg->count : 1;

	if (c->arg->type->print == PROBE_SYMBOL && count == 1)
		store_symbol(c);
	else if (c->nr_derefs)
		store_memory(c, count);
	else
		store_value(c);
	compile_bits(c, count);
}

/* ---- texts ---- */

/* If a pointer cannot be followed, this stays. */
static void emit_fault(struct compiler *c, unsigned int off)
{
	fetch_emit(&c->b, FETCH_FAULT)->off = (uint16_t)off;
}

static void store_text(struct compiler *c, unsigned int off, int64_t offset)
{
	struct fetch_op *op = fetch_emit(&c->b, FETCH_TEXT);

	op->off = (uint16_t)off;
	op->imm = offset;
	c->b.flags |= FETCH_READS_MEMORY;
}

/* "symstr": the address as text. The event's reader finds the symbol. */
static void store_symbol_text(struct compiler *c)
{
	const unsigned int first = c->b.nr;

	emit_fault(c, c->arg->offset);
	compile_value(c);
	compile_loads(c, c->nr_derefs);
	fetch_emit(&c->b, FETCH_SESSION);
	fetch_emit(&c->b, FETCH_SYMBOL)->off = (uint16_t)c->arg->offset;
	end_loads(c, first);
}

/* An element of an array: the last pointer leads to an array of pointers to texts. */
static void store_element(struct compiler *c, unsigned int i)
{
	const unsigned int first = c->b.nr, off = c->arg->offset + 4 * i;
	struct fetch_op *op;

	emit_fault(c, off);
	if (!c->nr_derefs && i)
		return;		/* the kernel ends the array with an error */
	compile_value(c);
	if (c->nr_derefs) {
		compile_loads(c, c->nr_derefs - 1);
		op = fetch_emit(&c->b, FETCH_LOAD);
		op->size = WORD;
		op->imm = last_offset(c) + (int64_t)i * WORD;
	}
	store_text(c, off, 0);
	end_loads(c, first);
}

static void store_text_at(struct compiler *c)
{
	const unsigned int first = c->b.nr;

	if (c->nr_derefs > 1)
		emit_fault(c, c->arg->offset);
	compile_value(c);
	compile_loads(c, c->nr_derefs ? c->nr_derefs - 1 : 0);
	store_text(c, c->arg->offset, last_offset(c));
	end_loads(c, first);
}

static void compile_string(struct compiler *c)
{
	if (c->first->op == PROBE_COMM) {
		fetch_emit(&c->b, FETCH_COMM)->off = (uint16_t)c->arg->offset;
		c->b.flags |= FETCH_WANTS_COMM;
	} else if (c->first->op == PROBE_TEXT) {
		emit_constant(&c->b, c->arg->offset, c->first->text);
	} else if (!strcmp(c->arg->type->name, "symstr")) {
		store_symbol_text(c);
	} else if (c->arg->count) {
		for (unsigned int i = 0; i < c->arg->count; i++)
			store_element(c, i);
	} else {
		store_text_at(c);
	}
}

/* ---- the whole ---- */

int fetch_compile(const struct probe_place *p, const struct fetch_file *file,
		  struct fetch_code **out, unsigned int *arg, const char **why)
{
	struct compiler c = { .place = p, .file = file };
	unsigned int i;

	if (p->is_return)
		c.b.flags |= FETCH_OF_RETURN;
	if (is_kprobe(&c))
		c.b.flags |= FETCH_SESSION_PLACE;
	for (i = 0; i < p->probe.nr_args && !c.why; i++) {
		c.arg = &p->probe.args[i];
		split_steps(&c);
		if (c.arg->type->print == PROBE_STRING)
			compile_string(&c);
		else
			compile_numbers(&c);
	}
	*out = fetch_finish(&c.b, p->probe.head, p->probe.size);
	if (!*out)
		return -ENOMEM;
	if (!c.why)
		return 0;
	free(*out);
	*out = NULL;
	*arg = i;
	*why = c.why;
	return -EOPNOTSUPP;
}
