/* SPDX-License-Identifier: MIT */
/* format.c - makes pieces with arguments of a print fmt, and prints records with them */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "printfmt/node.h"

/* Nothing is shown of a line as long as ENOUGH (LINE_MAX_BYTES in show/record.c). */
enum { ENOUGH = 64 * 1024, MALLOC_LEAST = 32 };

static struct print_node *next_argument(struct print_parser *p)
{
	if (!parser_expect(p, ','))
		return NULL;
	return print_parse_expression(p);
}

/* An argument that needs a variable of the kernel, as jiffies, is a question mark. */
static struct print_node *value_argument(struct print_parser *p, struct print_piece *piece)
{
	struct print_node *arg, *mark;

	p->unknown = false;
	arg = next_argument(p);
	if (!arg || !p->unknown)
		return arg;
	mark = node_new(p, NODE_TEXT);
	if (!mark)
		return NULL;
	mark->text = strdup("?");
	p->no_memory |= !mark->text;
	p->failed |= !mark->text;
	piece->conversion = 's';
	piece->spec = (struct show_spec){ .width = -1, .precision = -1 };
	return mark;
}

/* Parses the arguments in the order in which the conversions take them. */
static bool print_format_arguments(struct print_parser *p, struct print_format *f)
{
	struct print_piece *piece;
	unsigned int i;

	for (i = 0; i < f->nr && !p->failed; i++) {
		piece = &f->pieces[i];
		if (piece->width_arg)
			piece->width = next_argument(p);
		if (piece->precision_arg)
			piece->precision = next_argument(p);
		if (piece->conversion)
			piece->arg = value_argument(p, piece);
	}
	return !p->failed;
}

static struct print_format *print_format_new(struct print_parser *p, const char *text,
					     unsigned int skip_args)
{
	struct print_format *f = calloc(1, sizeof(*f));
	int err;

	p->no_memory |= !f;
	if (!f)
		return NULL;
	f->long_size = p->event->machine.long_size;
	err = print_split(text, f->long_size, &f->pieces, &f->nr);
	p->no_memory |= err == -ENOMEM;
	p->failed |= err != 0;
	while (skip_args-- && !p->failed)
		next_argument(p);
	if (!p->failed)
		print_format_arguments(p, f);
	f->nodes = p->nodes;
	f->bytes = p->bytes + strlen(text) + f->nr * (sizeof(*f->pieces) + MALLOC_LEAST);
	if (p->failed) {
		print_format_destroy(f);
		return NULL;
	}
	return f;
}

static bool print_format_start(struct print_parser *p, struct event *e)
{
	const char *text = strstr(e->format, "print fmt:");

	if (!text)
		return false;
	*p = (struct print_parser){ .at = text + strlen("print fmt:"), .event = e };
	token_next(p);
	return p->token == TOKEN_STRING;
}

int print_format_create(struct event *e, struct print_format **out)
{
	return print_format_create_from(e, NULL, 0, out);
}

int print_format_create_from(struct event *e, const char *behind, unsigned int args,
			     struct print_format **out)
{
	struct print_parser p;
	const char *from;
	char *text;

	*out = NULL;
	if (!print_format_start(&p, e))
		return -EINVAL;
	text = token_string(&p);
	from = text && behind ? strstr(text, behind) : text;
	if (from)
		*out = print_format_new(&p, behind ? from + strlen(behind) : from, args);
	free(text);
	return *out ? 0 : p.no_memory ? -ENOMEM : -EINVAL;
}

size_t print_format_bytes(const struct print_format *f)
{
	return f ? f->bytes : 0;
}

void print_format_destroy(struct print_format *f)
{
	if (!f)
		return;
	print_nodes_free(f->nodes);
	print_pieces_free(f->pieces, f->nr);
	free(f);
}

static int limited(uint64_t v)
{
	int64_t n = (int32_t)v;

	return n > 4096 ? 4096 : n < -4096 ? -4096 : (int)n;
}

/* A width or precision from an argument; a negative width means left. */
static void take_width(struct show_spec *spec, uint64_t v)
{
	spec->width = limited(v);
	if (spec->width < 0) {
		spec->width = -spec->width;
		spec->left = true;
	}
}

void print_format_faults(struct print_format *f)
{
	if (f)
		f->faults = true;
}

/* Takes the quote before the text away. Returns whether the one behind it has to go, too. */
static bool print_fault(const struct print_piece *p, struct show_text *out)
{
	const bool quoted = p->len && p->text[p->len - 1] == '"' && out->len;

	out->len -= quoted;
	text_puts(out, "(fault)");
	return quoted;
}

void print_format_print(const struct print_format *f, struct print_env *env,
			const struct print_record *rec, struct show_text *out)
{
	const size_t start = out->len;
	const struct print_piece *p;
	struct print_value v;
	struct show_spec spec;
	bool quoted = false;

	env->long_size = f->long_size;
	for (p = f->pieces; p < f->pieces + f->nr && out->len - start <= ENOUGH; p++) {
		text_put(out, p->text + quoted, p->len - quoted);
		quoted = false;
		if (!p->conversion)
			continue;
		env->scratch.len = 0;
		spec = p->spec;
		if (p->width)
			take_width(&spec, print_eval(p->width, env, rec).number);
		if (p->precision)
			spec.precision = limited(print_eval(p->precision, env, rec).number);
		v = print_eval(p->arg, env, rec);
		if (f->faults && p->arg->kind == NODE_DYNAMIC && p->conversion == 's' && !v.len) {
			quoted = print_fault(p, out) && p + 1 < f->pieces + f->nr && p[1].len &&
				 p[1].text[0] == '"';
			continue;
		}
		if (v.in_scratch && env->scratch.failed)
			continue;
		if (v.in_scratch && !env->scratch.bytes)
			text_reserve(&env->scratch, 1);
		print_convert(p, &spec, &v, env, out);
	}
}

/* ---- binary arguments ---- */

struct words {
	const uint8_t	*start, *end;
	const uint8_t	*at;
};

/* As the kernel lays them out: 8 bytes on 4, others on their own size. */
static uint64_t print_format_take_word(struct words *w, uint8_t bytes, bool is_signed)
{
	size_t align = bytes == 8 ? 4 : bytes;
	size_t at = ((size_t)(w->at - w->start) + align - 1) & ~(align - 1);
	uint64_t v = 0;

	if (at + bytes > (size_t)(w->end - w->start)) {
		w->at = w->end;
		return 0;
	}
	memcpy(&v, w->start + at, bytes);
	w->at = w->start + at + bytes;
	if (is_signed && bytes < 8)
		v = (uint64_t)((int64_t)(v << (64 - bytes * 8)) >> (64 - bytes * 8));
	return v;
}

static struct print_value take_string(struct words *w)
{
	struct print_value v = { .data = w->at, .type = { .size = 1 } };

	v.len = (uint32_t)strnlen((const char *)w->at, (size_t)(w->end - w->at));
	w->at += v.len;
	if (w->at < w->end)
		w->at++;
	return v;
}

static bool is_rendered(const struct print_piece *p)
{
	return p->pointer[0] && !strchr("SsxKe", p->pointer[0]);
}

static void print_word(const struct print_piece *p, struct words *w, struct print_env *env,
		       struct show_text *out)
{
	struct show_spec spec = p->spec;
	struct print_value v = { .type = { .size = 8 } };

	if (p->width_arg)
		take_width(&spec, print_format_take_word(w, 4, true));
	if (p->precision_arg)
		spec.precision = limited(print_format_take_word(w, 4, true));
	if (p->conversion == 's') {
		v = take_string(w);
	} else if (p->conversion == 'p' && is_rendered(p)) {
		v = take_string(w);
		text_put(out, v.data, v.len);
		return;
	} else if (p->conversion == 'p') {
		v.number = print_format_take_word(w, 8, false);
	} else {
		v.number = print_format_take_word(w, p->conversion == 'c' ? 1 : p->bytes,
						  spec.is_signed);
	}
	print_convert(p, &spec, &v, env, out);
}

void print_binary(const char *fmt, const uint8_t *words, uint32_t size, struct print_env *env,
		  struct show_text *out)
{
	struct words w = { .start = words, .end = words + size, .at = words };
	const size_t start = out->len;
	struct print_piece *pieces;
	unsigned int nr, i;

	/* The words of a machine of 32 bits have become as long as here. */
	if (print_split(fmt, 8, &pieces, &nr)) {
		text_puts(out, fmt);
		return;
	}
	for (i = 0; i < nr && out->len - start <= ENOUGH; i++) {
		text_put(out, pieces[i].text, pieces[i].len);
		env->scratch.len = 0;
		if (pieces[i].conversion)
			print_word(&pieces[i], &w, env, out);
	}
	print_pieces_free(pieces, nr);
}
