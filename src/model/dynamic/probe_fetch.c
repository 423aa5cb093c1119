/* SPDX-License-Identifier: MIT */
/*
 * probe_fetch.c - parses the expression of an argument: $field, %di, $arg1, $comm, +8($field),
 * @symbol, \1, with its type
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/dynamic/probe.h"
#include "model/text.h"

enum {
	EXPRESSION_MAX = 63,
	ARRAY_MAX = 64,
	STACK_MAX = 2048,	/* words of a stack that an argument of a kprobe may name */
};

static const char bad_string[] = "String accepts only memory argument";

struct parser {
	const struct probe	*probe;
	struct probe_arg	*arg;
	const struct probe_log	*log;
	size_t			offset;		/* where the parsed text begins in its word */
	unsigned int		at;		/* the step that is being filled */
	/* How many of the kernel's steps for an argument are used */
	unsigned int		used;
};

static int probe_fetch_wrong(const struct parser *p, int err, size_t offset, const char *text)
{
	return probe_wrong(p->log, err, p->offset + offset, text);
}

static struct probe_step *probe_fetch_step(struct parser *p)
{
	return &p->arg->steps[p->at];
}

static int too_nested(const struct parser *p, int err)
{
	return probe_fetch_wrong(p, err, 0, "Dereference is too much nested");
}

/* Goes to the next step. */
static int next_step(struct parser *p)
{
	if (++p->at == PROBE_STEPS)
		return too_nested(p, -EINVAL);
	return 0;
}

/* ---- $field, $comm, $stackN, $retval, $argN ---- */

static int bad_variable(const struct parser *p)
{
	return probe_fetch_wrong(p, -EINVAL, 0, "Invalid $-variable specified");
}

/* Whether the probe is at the entry of a function, or at its return. */
static bool probe_is_at_function(const struct probe *p)
{
	const unsigned int flags = p->flags & (PROBE_OF_EVENT | PROBE_OF_FILE);

	return !flags && p->flags & (PROBE_ENTRY | PROBE_RETURN);
}


static const struct field *probe_fetch_find_field(const struct event *base, const char *name)
{
	unsigned int nr;
	const struct field *f = event_fields((struct event *)base, &nr);

	for (unsigned int i = 0; f && i < nr; i++)
		if (!f[i].common && !strcmp(f[i].name, name))
			return &f[i];
	return NULL;
}

static int parse_field(struct parser *p, const char *name)
{
	struct probe_step *s = probe_fetch_step(p);

	s->field = probe_fetch_find_field(p->probe->base, name);
	if (s->field)
		s->op = PROBE_FIELD;
	else if (!strcmp(name, "comm") || !strcmp(name, "COMM"))
		s->op = PROBE_COMM;
	else
		return bad_variable(p);
	return 0;
}

/* $stack, $stackN; `text` is behind "stack". */
static int parse_stack(struct parser *p, const char *text)
{
	struct probe_step *s = probe_fetch_step(p);

	if (!*text) {
		s->op = PROBE_STACK_POINTER;
		return 0;
	}
	if (!text_is_digit(*text) || text_to_u64(text, 10, &s->value))
		return bad_variable(p);
	if (!(p->probe->flags & PROBE_OF_FILE) && s->value > STACK_MAX)
		return probe_fetch_wrong(p, -EINVAL, 0, "Invalid stack number");
	s->op = PROBE_STACK;
	return 0;
}

/* $argN; `text` is behind "arg". */
static int parse_argument(struct parser *p, const char *text)
{
	struct probe_step *s = probe_fetch_step(p);
	uint64_t number;

	if (text_to_u64(text, 10, &number))
		return bad_variable(p);
	if (!number || number > STACK_MAX)
		return probe_fetch_wrong(p, -EINVAL, 0, "Invalid argument number");
	if (!probe_is_at_function(p->probe))
		return probe_fetch_wrong(p, -EINVAL, 0,
					 "$arg* can be used only on function entry or exit");
	/* The kernel keeps the registers of the entry for the return; in a program nobody does. */
	if ((p->probe->flags & PROBE_RETURN) && p->log->model->of_programs)
		return probe_fetch_wrong(p, -EINVAL, 0,
					 "At the return of a program's function $argN is gone: "
					 "take it at the entry");
	s->op = p->probe->flags & PROBE_RETURN ? PROBE_ENTRY_ARGUMENT : PROBE_ARGUMENT;
	s->value = number - 1;
	return 0;
}

static bool has_prefix(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static int parse_variable(struct parser *p, const char *name)
{
	if (p->probe->flags & PROBE_OF_EVENT)
		return parse_field(p, name);
	if (has_prefix(name, "retval")) {
		if (!(p->probe->flags & PROBE_RETURN))
			return probe_fetch_wrong(p, -EINVAL, 0,
						 "$retval is not available on probe");
		probe_fetch_step(p)->op = PROBE_RETVAL;
		return 0;
	}
	if (has_prefix(name, "stack"))
		return parse_stack(p, name + strlen("stack"));
	if (!strcmp(name, "comm") || !strcmp(name, "COMM")) {
		probe_fetch_step(p)->op = PROBE_COMM;
		return 0;
	}
	return has_prefix(name, "arg") ? parse_argument(p, name + strlen("arg")) : bad_variable(p);
}

/* ---- %register ---- */

static int parse_register(struct parser *p, const char *name)
{
	struct probe_step *s = probe_fetch_step(p);

	if (p->probe->flags & PROBE_OF_EVENT) {	/* the kernel logs two errors */
		bad_variable(p);
		return probe_fetch_wrong(p, -EINVAL, 0, "Invalid fetch argument");
	}
	while (s->value < PROBE_REGISTERS && strcmp(probe_register_names[s->value], name))
		s->value++;
	if (s->value == PROBE_REGISTERS)
		return probe_fetch_wrong(p, -EINVAL, 0, "Invalid register name");
	s->op = PROBE_REGISTER;
	return 0;
}

/* ---- @address, @+offset, @symbol ---- */

/* The symbol's address is looked up after all else was correct. */
static int parse_symbol(struct parser *p, const char *name)
{
	int err;

	probe_fetch_step(p)->op = PROBE_NAME;
	probe_fetch_step(p)->text = strdup(name);
	err = probe_fetch_step(p)->text ? next_step(p) : -ENOMEM;
	if (!err)
		probe_fetch_step(p)->op = PROBE_IMMEDIATE;
	return err;
}

/* Sets the first step of "@..."; the memory there is what is fetched. */
static int parse_address(struct parser *p, const char *text)
{
	const bool of_file = p->probe->flags & PROBE_OF_FILE;
	struct probe_step *s = probe_fetch_step(p);
	int err;

	if (text_is_digit(*text)) {
		err = text_to_u64(text, 0, &s->value);
		s->op = PROBE_IMMEDIATE;
		return err ? probe_fetch_wrong(p, err, 0, "Invalid memory address") : 0;
	}
	if (*text != '+') {
		if (of_file)
			return probe_fetch_wrong(p, -EINVAL, 0,
						 "Symbol is not available with uprobe");
		return parse_symbol(p, text);
	}
	if (!of_file)
		return probe_fetch_wrong(p, -EINVAL, 0,
					 "File offset is not available with kprobe");
	err = text_to_s64(text + 1, 0, (int64_t *)&s->value);
	s->op = PROBE_FILE_OFFSET;
	return err ? probe_fetch_wrong(p, err, 0, "Invalid file offset value") : 0;
}

static int parse_memory(struct parser *p, const char *text)
{
	int err = parse_address(p, text);

	if (!err)
		err = next_step(p);
	if (!err)
		probe_fetch_step(p)->op = PROBE_DEREF;
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

int probe_look_up_symbols(struct model *m, struct probe_arg *arg)
{
	struct probe_step *s = arg->steps;
	int err = 0;

	if (m->restoring)
		return 0;
	for (unsigned int i = 0; i + 1 < arg->nr_steps && !err; i++)
		if (s[i].op == PROBE_NAME)
			err = look_up(m, s[i].text, &s[i + 1].value);
	return err;
}

/* ---- \number, \"text" ---- */

static int probe_fetch_parse_number(const char *text, uint64_t *value)
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
	struct probe_step *s = probe_fetch_step(p);
	size_t len;
	int err;

	if (*text != '"') {
		err = probe_fetch_parse_number(text, &s->value);
		if (err)
			return probe_fetch_wrong(p, err, 1, "Invalid immediate value");
		s->op = PROBE_IMMEDIATE;
		return 0;
	}
	len = strlen(++text);
	if (!len || text[len - 1] != '"')
		return probe_fetch_wrong(p, -EINVAL, 2 + len, "String is not closed with '\"'");
	s->op = PROBE_TEXT;
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
		return probe_fetch_wrong(p, -EINVAL, strlen(inner),
					  "Dereference brace is not closed");
	*close = '\0';
	err = parse_expression(p, inner);
	if (err)
		return err;
	p->offset = offset;
	if (probe_fetch_step(p)->op == PROBE_COMM || probe_fetch_step(p)->op == PROBE_TEXT)
		return probe_fetch_wrong(p, -EINVAL, 0, "$comm can not be dereferenced");
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
		return probe_fetch_wrong(p, -EINVAL, 0, "Dereference needs a brace");
	*open = '\0';
	err = text_to_s64(text, 0, &offset);
	if (err)
		return probe_fetch_wrong(p, err, 0, "Invalid dereference offset");
	p->offset += (size_t)(open + 1 - text) + (*text != '-');
	err = parse_inner(p, open + 1);
	if (err)
		return err;
	probe_fetch_step(p)->op = user ? PROBE_USER_DEREF : PROBE_DEREF;
	probe_fetch_step(p)->offset = offset;
	return 0;
}

static bool begins_name(char c)
{
	return c == '_' || (text_is_alnum(c) && !text_is_digit(c));
}

/* The errno for a name of a variable of the function: nothing here knows their types. */
static int no_types(const struct parser *p)
{
	return probe_is_at_function(p->probe) ? -EOPNOTSUPP : -EINVAL;
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
	case '%':
		return parse_register(p, text + 1);
	default:
		if (begins_name(*text))
			return probe_fetch_wrong(p, no_types(p), 0,
						 "BTF is not available or not supported");
	}
	return probe_fetch_wrong(p, -EINVAL, 0, "Invalid fetch argument");
}

/* ---- :type, :type[count], :bW@O/N ---- */

/* `text` is the whole expression, `bracket` points behind the "[" of the type. */
static int parse_count(struct parser *p, const char *text, char *bracket)
{
	char *close = strchr(bracket, ']');
	const size_t at = (size_t)(bracket - text);
	uint64_t count;

	if (!close)
		return probe_fetch_wrong(p, -EINVAL, at + strlen(bracket), "Array is not closed");
	if (close[1])
		return probe_fetch_wrong(p, -EINVAL, (size_t)(close + 1 - text),
					  "Array has wrong suffix");
	*close = '\0';
	if (text_to_u64(bracket, 0, &count) || !count || count > UINT32_MAX)
		return probe_fetch_wrong(p, -EINVAL, at, "Invalid array size");
	if (count > ARRAY_MAX)
		return probe_fetch_wrong(p, -EINVAL, at, "Array number is too big");
	p->arg->count = (unsigned int)count;
	return 0;
}

/* $comm and \"text" are texts, but not for an event probe. */
static bool needs_string(const struct parser *p, const char *text)
{
	return !(p->probe->flags & PROBE_OF_EVENT) &&
	       (!strcmp(text, "$comm") || !strcmp(text, "$COMM") || has_prefix(text, "\\\""));
}

static int take_string(struct parser *p, const char *type, size_t at)
{
	if (p->arg->count || (type && strcmp(type, "string")))
		return probe_fetch_wrong(p, -EINVAL, at,
					 "$comm and immediate-string only accepts string type");
	p->arg->type = probe_type_find("string", p->probe->flags);
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
	if (needs_string(p, text))
		return take_string(p, *type, *type ? (size_t)(*type - text) : 0);
	p->arg->type = probe_type_find(*type, p->probe->flags);
	return p->arg->type ? 0 : probe_fetch_wrong(p, -EINVAL, *type ? (size_t)(*type - text) : 0,
						     "Unknown type is specified");
}

/* Like the kernel's simple_strtoul(): reads the digits up to the first other character. */
static uint64_t read_number(const char *s, char **end)
{
	return text_is_digit(*s) ? strtoull(s, end, 0) : (*end = (char *)s, 0);
}

/* Reads "bWIDTH@OFFSET/SIZE". */
static bool read_bit_field(struct probe_arg *arg, const char *type)
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

static bool is_deref(enum probe_op op)
{
	return op == PROBE_DEREF || op == PROBE_USER_DEREF;
}

static bool is_symbol_string(const struct probe_type *type)
{
	return !strcmp(type->name, "symstr");
}

/*
 * Takes one more step, if there is room for it. A value that is stored from memory needs no step of
 * its own.
 */
static int take_step(struct parser *p, int err)
{
	return ++p->used >= PROBE_STEPS ? too_nested(p, err) : 0;
}

/* Whether a text can be found from what the last step gives. */
static bool may_be_symbol(enum probe_op op)
{
	return op == PROBE_REGISTER || op == PROBE_STACK || op == PROBE_RETVAL ||
	       op == PROBE_ARGUMENT || op == PROBE_DEREF || op == PROBE_FIELD;
}

static bool may_be_string(enum probe_op op)
{
	return is_deref(op) || op == PROBE_IMMEDIATE || op == PROBE_COMM || op == PROBE_TEXT ||
	       op == PROBE_FIELD;
}

static int check_string(struct parser *p, size_t type_at)
{
	const enum probe_op op = probe_fetch_step(p)->op;

	if (is_symbol_string(p->arg->type)) {
		if (!may_be_symbol(op))
			return probe_fetch_wrong(p, -EINVAL, type_at,
						 "Symbol String doesn't accept data/userdata");
		return take_step(p, -EINVAL);
	}
	if (!may_be_string(op))
		return probe_fetch_wrong(p, -EINVAL, type_at, bad_string);
	return is_deref(op) && !p->arg->count ? 0 : take_step(p, -EINVAL);
}

/* The kernel refuses an array of numbers in user memory, too: "+u8(%si):u8[4]". */
static int check_array(struct parser *p, size_t type_at)
{
	const struct probe_arg *arg = p->arg;

	if (!arg->count)
		return 0;
	if (arg->type->print == PROBE_STRING ? is_symbol_string(arg->type) :
						probe_fetch_step(p)->op != PROBE_DEREF)
		return probe_fetch_wrong(p, -EINVAL, type_at, bad_string);
	return take_step(p, -E2BIG);
}

/* type_at: where the type is in the expression. */
static int check_store(struct parser *p, const char *type, size_t type_at)
{
	int err = 0;

	p->used = p->at;
	if (p->arg->type->print == PROBE_STRING)
		err = check_string(p, type_at);
	else if (!is_deref(probe_fetch_step(p)->op))
		err = take_step(p, -E2BIG);
	if (err)
		return err;
	if (type && *type == 'b' && (!read_bit_field(p->arg, type) || ++p->used >= PROBE_STEPS))
		return probe_fetch_wrong(p, -EINVAL, type_at, "Invalid bitfield");
	return check_array(p, type_at);
}

static int check_size(struct parser *p)
{
	struct probe_arg *arg = p->arg;
	unsigned int count = arg->count ? arg->count : 1;

	arg->offset = p->probe->size;
	if (arg->offset - p->probe->head + count * arg->type->size > PROBE_ARGS_SIZE_MAX)
		return probe_fetch_wrong(p, -E2BIG, 0, "Event too big (too many fields?)");
	return 0;
}

static int parse_copy(struct parser *p, char *text)
{
	char *type;
	int err = parse_type(p, text, &type);

	if (!err)
		err = parse_expression(p, text);
	p->arg->nr_steps = p->at < PROBE_STEPS ? p->at + 1 : PROBE_STEPS;
	if (!err)
		err = check_size(p);
	return err ? err : check_store(p, type, type ? (size_t)(type - text) : 0);
}

int probe_parse_fetch(const struct probe *probe, struct probe_arg *arg,
		       const struct probe_log *log, size_t offset)
{
	struct parser p = { .probe = probe, .arg = arg, .log = log, .offset = offset };
	const size_t len = strlen(arg->text);
	char *copy;
	int err;

	if (len > EXPRESSION_MAX)
		return probe_fetch_wrong(&p, -E2BIG, 0, "Argument expression is too long");
	if (!len)
		return probe_fetch_wrong(&p, -EINVAL, 0, "No argument expression");
	copy = strdup(arg->text);
	if (!copy)
		return -ENOMEM;
	err = parse_copy(&p, copy);
	if (!err && probe->flags & PROBE_OF_EVENT)
		err = probe_look_up_symbols(log->model, arg);
	free(copy);
	return err;
}
