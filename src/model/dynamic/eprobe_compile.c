/* SPDX-License-Identifier: MIT */
/*
 * eprobe_compile.c - an event probe's arguments as code
 *
 * The record does not contain what a pointer points to, so that cannot be read: a number is 0 and a
 * text is "(fault)", as in the kernel for memory that is not mapped. Only pointers to texts of the
 * record itself can be followed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/dynamic/eprobe.h"
#include "plane/code.h"
#include "session/array.h"

struct builder {
	struct op	*ops;
	unsigned int	nr;
	char		*pool;
	size_t		pool_size;
	bool		failed;
	struct op	nowhere;	/* where ops go when memory is exhausted */
};

static struct op *eprobe_compile_emit(struct builder *b, enum op_kind kind)
{
	struct op *op = &b->nowhere;

	if (array_room(&b->ops, b->nr, sizeof(*b->ops)))
		b->failed = true;
	else
		op = &b->ops[b->nr++];
	*op = (struct op){ .kind = kind };
	return op;
}

/* Adds the bytes to the pool; returns their place there. */
static size_t add_text(struct builder *b, const char *text, size_t len)
{
	const size_t at = b->pool_size;
	char *pool = realloc(b->pool, at + len);

	if (!pool) {
		b->failed = true;
		return 0;
	}
	memcpy(pool + at, text, len);
	b->pool = pool;
	b->pool_size += len;
	return at;
}

static bool is_text(const struct field *f)
{
	return f->kind == FIELD_STATIC_STRING || f->kind == FIELD_DYN_STRING ||
	       f->kind == FIELD_RDYN_STRING;
}

static enum string_kind text_kind(const struct field *f)
{
	if (f->kind == FIELD_DYN_STRING)
		return STRING_DATA_LOC;
	return f->kind == FIELD_RDYN_STRING ? STRING_REL_LOC : STRING_FIXED;
}

static enum op_kind load_of(const struct field *f)
{
	switch (f->size) {
	case 1:
		return f->is_signed ? OP_LOAD_S8 : OP_LOAD_U8;
	case 2:
		return f->is_signed ? OP_LOAD_S16 : OP_LOAD_U16;
	case 4:
		return f->is_signed ? OP_LOAD_S32 : OP_LOAD_U32;
	default:
		return f->is_signed ? OP_LOAD_S64 : OP_LOAD_U64;
	}
}

/* The steps of an argument: what they begin with, and how many pointers they follow. */
struct source {
	const struct probe_step *first;
	const struct probe_step *deref;	/* the last one; NULL: there is none */
	unsigned int		nr_derefs;
};

static struct source source_of(const struct probe_arg *arg)
{
	struct source s = { .first = &arg->steps[0] };

	if (s.first->op == PROBE_NAME)
		s.first++;
	s.nr_derefs = arg->nr_steps - 1 - (unsigned int)(s.first - arg->steps);
	if (s.nr_derefs)
		s.deref = &arg->steps[arg->nr_steps - 1];
	return s;
}

/* Whether the only pointer that is followed leads into the record. */
static bool in_record(const struct source *s)
{
	return s->first->op == PROBE_FIELD && is_text(s->first->field) && s->nr_derefs == 1 &&
	       s->deref->op == PROBE_DEREF;
}

static void load_text(struct builder *b, const struct source *s, unsigned int size, int64_t more)
{
	struct op *op = eprobe_compile_emit(b, OP_LOAD_TEXT);

	op->cmp = (uint8_t)text_kind(s->first->field);
	op->off = s->first->field->offset;
	op->size = (uint8_t)size;
	op->imm = (uint64_t)(s->deref->offset + more);
}

/* Pushes element number i. False: it cannot be read. */
static bool load_number(struct builder *b, const struct source *s, unsigned int size,
			unsigned int i)
{
	struct op *op;

	if (in_record(s)) {
		load_text(b, s, size, (int64_t)i * size);
		return true;
	}
	if (s->nr_derefs)
		return false;
	if (s->first->op == PROBE_IMMEDIATE) {
		eprobe_compile_emit(b, OP_LOAD_IMM)->imm = s->first->value;
		return true;
	}
	if (s->first->op != PROBE_FIELD || is_text(s->first->field))
		/* An address of the traced program has no meaning here */
		return false;
	op = eprobe_compile_emit(b, load_of(s->first->field));
	op->off = s->first->field->offset;
	return true;
}

static void store_numbers(struct builder *b, const struct probe_arg *arg, const struct source *s)
{
	const unsigned int size = arg->type->size;
	struct op *op;

	for (unsigned int i = 0; i < (arg->count ? arg->count : 1); i++) {
		if (!load_number(b, s, size, i))
			return;
		if (arg->bit_width) {
			op = eprobe_compile_emit(b, OP_BITS);
			op->off = (uint16_t)arg->bit_offset;
			op->len = (uint16_t)arg->bit_width;
		}
		op = eprobe_compile_emit(b, OP_PROBE_U64);
		op->off = (uint16_t)(arg->offset + i * size);
		op->size = (uint8_t)size;
	}
}

static void store_fault(struct builder *b, unsigned int offset)
{
	struct op *op = eprobe_compile_emit(b, OP_PROBE_STRING);

	op->off = (uint16_t)offset;
	op->size = STRING_POINTER;
}

static void store_constant(struct builder *b, const struct probe_arg *arg, const char *text)
{
	const size_t len = strlen(text) + 1;
	struct op *op = eprobe_compile_emit(b, OP_PROBE_TEXT);

	op->off = (uint16_t)arg->offset;
	op->len = (uint16_t)len;
	op->imm = add_text(b, text, len);
}

static void store_field(struct builder *b, const struct probe_arg *arg, const struct source *s)
{
	struct op *op = eprobe_compile_emit(b, OP_PROBE_STRING);

	op->off = (uint16_t)arg->offset;
	op->size = (uint8_t)text_kind(s->first->field);
	op->len = s->first->field->offset;
	op->imm = (uint64_t)(s->deref ? s->deref->offset : 0);
}

/* Stores the address as text. The event's reader finds the symbol. */
static void store_symbol(struct builder *b, const struct probe_arg *arg, const struct source *s)
{
	if (!load_number(b, s, 8, 0)) {
		store_fault(b, arg->offset);
		return;
	}
	eprobe_compile_emit(b, OP_PROBE_ADDRESS)->off = (uint16_t)arg->offset;
}

static void store_string(struct builder *b, const struct probe_arg *arg, const struct source *s)
{
	const bool user = !strcmp(arg->type->name, "ustring");

	if (arg->count) {
		/*
		 * Pointers to texts cannot be read. The kernel, too, ends such an array with an
		 * error.
		 */
		for (unsigned int i = 0; i < arg->count; i++)
			store_fault(b, arg->offset + i * 4);
	} else if (!strcmp(arg->type->name, "symstr")) {
		store_symbol(b, arg, s);
	} else if (!user && s->first->op == PROBE_COMM) {
		struct op *op = eprobe_compile_emit(b, OP_PROBE_STRING);

		op->off = (uint16_t)arg->offset;
		op->size = STRING_COMM;
	} else if (!user && s->first->op == PROBE_TEXT) {
		store_constant(b, arg, s->first->text);
	} else if (!user && s->first->op == PROBE_FIELD && is_text(s->first->field) &&
		   (!s->nr_derefs || in_record(s))) {
		store_field(b, arg, s);
	} else {
		store_fault(b, arg->offset);
	}
}

static void eprobe_compile_build(struct builder *b, const struct eprobe *p,
				 const struct instance *inst)
{
	struct op *op;

	if (p->recorded) {
		eprobe_compile_emit(b, OP_END);
		return;
	}
	op = eprobe_compile_emit(b, OP_SYNTH_BEGIN);
	op->arg = p->probe.dyn.event->id;
	op->len = (uint16_t)p->probe.size;
	op->imm = inst->index + 1;
	for (unsigned int i = 0; i < p->probe.nr_args; i++) {
		const struct probe_arg *arg = &p->probe.args[i];
		const struct source s = source_of(arg);

		if (arg->type->print == PROBE_STRING)
			store_string(b, arg, &s);
		else
			store_numbers(b, arg, &s);
	}
	eprobe_compile_emit(b, OP_SYNTH_END);
	eprobe_compile_emit(b, OP_END);
}

static void write_code(const struct builder *b, struct code *out, size_t size)
{
	const size_t pool = sizeof(*out) + b->nr * sizeof(struct op);

	memset(out, 0, sizeof(*out));
	out->size = (uint32_t)size;
	out->nr_ops = b->nr;
	memcpy(out->ops, b->ops, b->nr * sizeof(struct op));
	for (unsigned int i = 0; i < b->nr; i++)
		if (out->ops[i].kind == OP_PROBE_TEXT)
			out->ops[i].imm += pool;
	if (b->pool_size)
		memcpy((char *)out + pool, b->pool, b->pool_size);
}

int eprobe_compile(const struct eprobe *p, const struct instance *inst, config_ref *out,
		   size_t *size)
{
	struct session *s = p->probe.dyn.event->model->session;
	struct builder b = { 0 };

	eprobe_compile_build(&b, p, inst);
	*size = sizeof(struct code) + b.nr * sizeof(struct op) + b.pool_size;
	*out = b.failed ? 0 : session_config_alloc(s, *size);
	if (*out)
		write_code(&b, session_config(s, *out, *size), *size);
	free(b.ops);
	free(b.pool);
	return *out ? 0 : -ENOMEM;
}
