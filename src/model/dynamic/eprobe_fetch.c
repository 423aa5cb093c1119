/* SPDX-License-Identifier: MIT */
/*
 * eprobe_fetch.c - parses the expression of an argument: $field, $comm, +8($field), @symbol, \1,
 * with its type
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/dynamic/eprobe.h"
#include "model/text.h"

enum { EXPRESSION_MAX = 63, ARRAY_MAX = 64 };

struct parser {
	const struct eprobe	*probe;
	struct eprobe_arg	*arg;
	const struct eprobe_log	*log;
	size_t			offset;		/* where the parsed text begins in its word */
	unsigned int		at;		/* the step that is being filled */
	/* How many of the kernel's steps for an argument are used */
	unsigned int		used;
};

static int eprobe_fetch_wrong(const struct parser *p, int err, size_t offset, const char *text)
{
	return eprobe_wrong(p->log, err, p->offset + offset, text);
}

static struct eprobe_step *eprobe_fetch_step(struct parser *p)
{
	return &p->arg->steps[p->at];
}

static int too_nested(const struct parser *p, int err)
{
	return eprobe_fetch_wrong(p, err, 0, "Dereference is too much nested");
}

/* Goes to the next step. */
static int next_step(struct parser *p)
{
	if (++p->at == EPROBE_STEPS)
		return too_nested(p, -EINVAL);
	return 0;
}

/* ---- $field, $comm ---- */

static const struct field *eprobe_fetch_find_field(const struct event *base, const char *name)
{
	unsigned int nr;
	const struct field *f = event_fields((struct event *)base, &nr);

	for (unsigned int i = 0; f && i < nr; i++)
		if (!f[i].common && !strcmp(f[i].name, name))
			return &f[i];
	return NULL;
}

static int parse_variable(struct parser *p, const char *name)
{
	struct eprobe_step *s = eprobe_fetch_step(p);

	s->field = eprobe_fetch_find_field(p->probe->base, name);
	if (s->field)
		s->op = EPROBE_FIELD;
	else if (!strcmp(name, "comm") || !strcmp(name, "COMM"))
		s->op = EPROBE_COMM;
	else
		return eprobe_fetch_wrong(p, -EINVAL, 0, "Invalid $-variable specified");
	return 0;
}

/* ---- @address, @symbol ---- */

/* The symbol's address is looked up after all else was correct. */
static int parse_symbol(struct parser *p, const char *name)
{
	int err;

	eprobe_fetch_step(p)->op = EPROBE_NAME;
	eprobe_fetch_step(p)->text = strdup(name);
	err = eprobe_fetch_step(p)->text ? next_step(p) : -ENOMEM;
	if (!err)
		eprobe_fetch_step(p)->op = EPROBE_IMMEDIATE;
	return err;
}

static int parse_memory(struct parser *p, const char *text)
{
	int err;

	if (text_is_digit(*text)) {
		err = text_to_u64(text, 0, &eprobe_fetch_step(p)->value);
		if (err)
			return eprobe_fetch_wrong(p, err, 0, "Invalid memory address");
		eprobe_fetch_step(p)->op = EPROBE_IMMEDIATE;
	} else if (*text == '+') {
		return eprobe_fetch_wrong(p, -EINVAL, 0,
					  "File offset is not available with kprobe");
	} else {
		err = parse_symbol(p, text);
		if (err)
			return err;
	}
	err = next_step(p);
	if (!err)
		eprobe_fetch_step(p)->op = EPROBE_DEREF;
	return err;
}

static int look_up(struct model *m, const char *text, uint64_t *address)
{
	const char *sign = strpbrk(text, "+-");
	char *name = strndup(text, sign ? (size_t)(sign - text) : strlen(text));
	int64_t offset = 0;
	uint64_t end;
	int err;

	if (!name)
		return -ENOMEM;
	err = sign ? text_to_s64(sign, 0, &offset) : 0;
	if (!err && !symbols_range(m->symbols, name, address, &end))
		err = -ENOENT;
	*address += (uint64_t)offset;
	free(name);
	return err;
}

/* A restored session has no symbols yet. They existed when the command was given. */
static int look_up_symbols(struct parser *p)
{
	struct eprobe_step *s = p->arg->steps;
	int err = 0;

	if (p->log->model->restoring)
		return 0;
	for (unsigned int i = 0; i + 1 < p->arg->nr_steps && !err; i++)
		if (s[i].op == EPROBE_NAME)
			err = look_up(p->log->model, s[i].text, &s[i + 1].value);
	return err;
}

/* ---- \number, \"text" ---- */

static int eprobe_fetch_parse_number(const char *text, uint64_t *value)
{
	if (text_is_digit(*text))
		return text_to_u64(text, 0, value);
	if (*text == '-')
		return text_to_s64(text, 0, (int64_t *)value);
	if (*text == '+')
		return text_to_s64(text + 1, 0, (int64_t *)value);
	return -EINVAL;
}

static int parse_immediate(struct parser *p, const char *text)
{
	struct eprobe_step *s = eprobe_fetch_step(p);
	size_t len;
	int err;

	if (*text != '"') {
		err = eprobe_fetch_parse_number(text, &s->value);
		if (err)
			return eprobe_fetch_wrong(p, err, 1, "Invalid immediate value");
		s->op = EPROBE_IMMEDIATE;
		return 0;
	}
	len = strlen(++text);
	if (!len || text[len - 1] != '"')
		return eprobe_fetch_wrong(p, -EINVAL, 2 + len, "String is not closed with '\"'");
	s->op = EPROBE_TEXT;
	s->text = strndup(text, len - 1);
	return s->text ? 0 : -ENOMEM;
}

/* ---- +offset(expression), +uoffset(expression) ---- */

static int parse_expression(struct parser *p, char *text);

static int parse_inner(struct parser *p, char *inner)
{
	char *close = strrchr(inner, ')');
	const size_t offset = p->offset;
	int err;

	if (!close)
		return eprobe_fetch_wrong(p, -EINVAL, strlen(inner),
					  "Dereference brace is not closed");
	*close = '\0';
	err = parse_expression(p, inner);
	if (err)
		return err;
	p->offset = offset;
	if (eprobe_fetch_step(p)->op == EPROBE_COMM || eprobe_fetch_step(p)->op == EPROBE_TEXT)
		return eprobe_fetch_wrong(p, -EINVAL, 0, "$comm can not be dereferenced");
	return next_step(p);
}

static int parse_deref(struct parser *p, char *text)
{
	const bool user = text[1] == 'u';
	int64_t offset;
	char *open;
	int err;

	if (user) {
		text[1] = text[0];
		text++;
	}
	if (*text == '+')
		text++;
	open = strchr(text, '(');
	if (!open)
		return eprobe_fetch_wrong(p, -EINVAL, 0, "Dereference needs a brace");
	*open = '\0';
	err = text_to_s64(text, 0, &offset);
	if (err)
		return eprobe_fetch_wrong(p, err, 0, "Invalid dereference offset");
	p->offset += (size_t)(open + 1 - text) + (*text != '-');
	err = parse_inner(p, open + 1);
	if (err)
		return err;
	eprobe_fetch_step(p)->op = user ? EPROBE_USER_DEREF : EPROBE_DEREF;
	eprobe_fetch_step(p)->offset = offset;
	return 0;
}

static bool begins_name(char c)
{
	return c == '_' || (text_is_alnum(c) && !text_is_digit(c));
}

static int parse_expression(struct parser *p, char *text)
{
	switch (*text) {
	case '$':
		return parse_variable(p, text + 1);
	case '@':
		return parse_memory(p, text + 1);
	case '+':
	case '-':
		return parse_deref(p, text);
	case '\\':
		return parse_immediate(p, text + 1);
	case '%':	/* a register: the kernel logs two errors */
		eprobe_fetch_wrong(p, -EINVAL, 0, "Invalid $-variable specified");
		break;
	default:
		if (begins_name(*text))
			return eprobe_fetch_wrong(p, -EINVAL, 0,
						  "BTF is not available or not supported");
	}
	return eprobe_fetch_wrong(p, -EINVAL, 0, "Invalid fetch argument");
}

/* ---- :type, :type[count], :bW@O/N ---- */

/* `text` is the whole expression, `bracket` points behind the "[" of the type. */
static int parse_count(struct parser *p, const char *text, char *bracket)
{
	char *close = strchr(bracket, ']');
	const size_t at = (size_t)(bracket - text);
	uint64_t count;

	if (!close)
		return eprobe_fetch_wrong(p, -EINVAL, at + strlen(bracket), "Array is not closed");
	if (close[1])
		return eprobe_fetch_wrong(p, -EINVAL, (size_t)(close + 1 - text),
					  "Array has wrong suffix");
	*close = '\0';
	if (text_to_u64(bracket, 0, &count) || !count || count > UINT32_MAX)
		return eprobe_fetch_wrong(p, -EINVAL, at, "Invalid array size");
	if (count > ARRAY_MAX)
		return eprobe_fetch_wrong(p, -EINVAL, at, "Array number is too big");
	p->arg->count = (unsigned int)count;
	return 0;
}

/* Cuts the type off the expression. *type is NULL if there is none. */
static int parse_type(struct parser *p, char *text, char **type)
{
	char *bracket;
	int err;

	*type = strchr(text, ':');
	if (*type) {
		*(*type)++ = '\0';
		bracket = strchr(*type, '[');
		if (bracket) {
			*bracket++ = '\0';
			err = parse_count(p, text, bracket);
			if (err)
				return err;
		}
	}
	p->arg->type = eprobe_type_find(*type);
	return p->arg->type ? 0 : eprobe_fetch_wrong(p, -EINVAL, *type ? (size_t)(*type - text) : 0,
						     "Unknown type is specified");
}

/* Like the kernel's simple_strtoul(): reads the digits up to the first other character. */
static uint64_t read_number(const char *s, char **end)
{
	return text_is_digit(*s) ? strtoull(s, end, 0) : (*end = (char *)s, 0);
}

/* Reads "bWIDTH@OFFSET/SIZE". */
static bool read_bit_field(struct eprobe_arg *arg, const char *type)
{
	const unsigned int bits = arg->type->size * 8u;
	uint64_t width, offset;
	const char *start;
	char *end;

	width = read_number(type + 1, &end);
	if (!width || *end != '@')
		return false;
	start = end + 1;
	offset = read_number(start, &end);
	if (end == start || *end != '/' || width > bits || offset > bits || width + offset > bits)
		return false;
	arg->bit_width = (unsigned int)width;
	arg->bit_offset = (unsigned int)offset;
	return true;
}

/* ---- what is stored ---- */

static bool is_deref(enum eprobe_op op)
{
	return op == EPROBE_DEREF || op == EPROBE_USER_DEREF;
}

static bool is_symbol_string(const struct eprobe_type *type)
{
	return !strcmp(type->name, "symstr");
}

/*
 * Takes one more step, if there is room for it. A value that is stored from memory needs no step of
 * its own.
 */
static int take_step(struct parser *p, int err)
{
	return ++p->used >= EPROBE_STEPS ? too_nested(p, err) : 0;
}

static int check_string(struct parser *p, size_t type_at)
{
	const struct eprobe_type *type = p->arg->type;
	const enum eprobe_op op = eprobe_fetch_step(p)->op;

	if (is_symbol_string(type)) {
		if (op != EPROBE_DEREF && op != EPROBE_FIELD)
			return eprobe_fetch_wrong(p, -EINVAL, type_at,
						  "Symbol String doesn't accept data/userdata");
		return take_step(p, -EINVAL);
	}
	return is_deref(op) && !p->arg->count ? 0 : take_step(p, -EINVAL);
}

static int check_array(struct parser *p, size_t type_at)
{
	const struct eprobe_arg *arg = p->arg;

	if (!arg->count)
		return 0;
	if (arg->type->print == EPROBE_STRING ? is_symbol_string(arg->type) :
						!is_deref(eprobe_fetch_step(p)->op))
		return eprobe_fetch_wrong(p, -EINVAL, type_at,
					  "String accepts only memory argument");
	return take_step(p, -E2BIG);
}

/* type_at: where the type is in the expression. */
static int check_store(struct parser *p, const char *type, size_t type_at)
{
	int err = 0;

	p->used = p->at;
	if (p->arg->type->print == EPROBE_STRING)
		err = check_string(p, type_at);
	else if (!is_deref(eprobe_fetch_step(p)->op))
		err = take_step(p, -E2BIG);
	if (err)
		return err;
	if (type && *type == 'b' && (!read_bit_field(p->arg, type) || ++p->used >= EPROBE_STEPS))
		return eprobe_fetch_wrong(p, -EINVAL, type_at, "Invalid bitfield");
	return check_array(p, type_at);
}

static int check_size(struct parser *p)
{
	struct eprobe_arg *arg = p->arg;
	unsigned int count = arg->count ? arg->count : 1;

	arg->offset = p->probe->size;
	if (arg->offset - EPROBE_RECORD_HEAD + count * arg->type->size > EPROBE_ARGS_SIZE_MAX)
		return eprobe_fetch_wrong(p, -E2BIG, 0, "Event too big (too many fields?)");
	return 0;
}

static int parse_copy(struct parser *p, char *text)
{
	char *type;
	int err = parse_type(p, text, &type);

	if (!err)
		err = parse_expression(p, text);
	p->arg->nr_steps = p->at < EPROBE_STEPS ? p->at + 1 : EPROBE_STEPS;
	if (!err)
		err = check_size(p);
	return err ? err : check_store(p, type, type ? (size_t)(type - text) : 0);
}

int eprobe_parse_fetch(const struct eprobe *probe, struct eprobe_arg *arg,
		       const struct eprobe_log *log, size_t offset)
{
	struct parser p = { .probe = probe, .arg = arg, .log = log, .offset = offset };
	const size_t len = strlen(arg->text);
	char *copy;
	int err;

	if (len > EXPRESSION_MAX)
		return eprobe_fetch_wrong(&p, -E2BIG, 0, "Argument expression is too long");
	if (!len)
		return eprobe_fetch_wrong(&p, -EINVAL, 0, "No argument expression");
	copy = strdup(arg->text);
	if (!copy)
		return -ENOMEM;
	err = parse_copy(&p, copy);
	if (!err)
		err = look_up_symbols(&p);
	free(copy);
	return err;
}
