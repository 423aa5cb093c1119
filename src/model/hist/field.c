/* SPDX-License-Identifier: MIT */
/*
 * field.c - one field of a hist: a field of the event with its modifier, or a generated one
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/hist/hist.h"
#include "model/text.h"
#include "plane/exponential.h"

static const struct {
	const char	*text;		/* as the command has it; sym-offset was rewritten */
	unsigned int	flag;
	const char	*printed;
} modifiers[] = {
	{ "hex",	HIST_HEX,		"hex" },
	{ "sym",	HIST_SYM,		"sym" },
	{ "symXoffset",	HIST_SYM_OFFSET,	"sym-offset" },
	{ "execname",	HIST_EXECNAME,		"execname" },
	{ "syscall",	HIST_SYSCALL,		"syscall" },
	{ "log2",	HIST_LOG2,		"log2" },
	{ NULL,		HIST_BUCKET,		"buckets" },
	{ NULL,		HIST_EXP,		"exp" },
	{ "usecs",	HIST_USECS,		"usecs" },
	{ NULL,		HIST_PERCENT,		"percent" },
	{ NULL,		HIST_GRAPH,		"graph" },
	{ "min",	HIST_MIN,		"min" },
	{ "max",	HIST_MAX,		"max" },
	{ "avg",	HIST_AVG,		"avg" },
	{ "stacktrace",	HIST_STACKTRACE,	"stacktrace" },
};

enum { NR_MODIFIERS = sizeof(modifiers) / sizeof(modifiers[0]) };

const char *hist_field_modifier(const struct hist_field *f)
{
	for (int i = 0; i < NR_MODIFIERS; i++)
		if (f->flags & modifiers[i].flag)
			return modifiers[i].printed;
	return NULL;
}

unsigned int hist_field_no_sum(const char *modifier)
{
	for (int i = 0; i < NR_MODIFIERS; i++)
		if (modifiers[i].flag & HIST_NO_SUM && !strcmp(modifiers[i].text, modifier))
			return modifiers[i].flag;
	return 0;
}

const char *hist_field_name(const struct hist_field *f)
{
	if (f->field)
		return f->field->name;
	/* A hitcount or a stack in ranges has no operand, and so no name, as in the kernel. */
	if (f->flags & (HIST_RANGES | HIST_ALIAS))
		return f->operands[0] ? hist_field_name(f->operands[0]) : "";
	if (f->flags & HIST_CPU)
		return "common_cpu";
	if (f->flags & (HIST_EXPR | HIST_VAR_REF))
		return f->full_name ? f->full_name : f->name ? f->name : "";
	if (f->flags & HIST_TIMESTAMP)
		return "common_timestamp";
	if (f->flags & HIST_STACKTRACE)
		return "common_stacktrace";
	if (f->flags & HIST_HITCOUNT)
		return "hitcount";
	return "";
}

const char *hist_field_label(const struct hist_field *f)
{
	const char *name = hist_field_name(f);

	return !*name && f->flags & HIST_HITCOUNT ? "hitcount" : name;
}

void hist_ref_free(struct hist_field *f)
{
	free(f->type);
	free(f->var.name);
	free(f->system);
	free(f->event_name);
	free(f->name);
	free(f->full_name);
	free(f);
}

void hist_field_free(struct hist_field *f)
{
	if (!f || (f->flags & HIST_VAR_REF))
		return;
	hist_field_free(f->operands[0]);
	hist_field_free(f->operands[1]);
	hist_ref_free(f);
}

static bool set_kind(struct hist_field *f, const char *type, unsigned int size)
{
	f->size = size;
	f->type = strdup(type);
	return f->type;
}

static bool hist_field_is_string(const struct field *field)
{
	return field->kind == FIELD_STATIC_STRING || field->kind == FIELD_DYN_STRING ||
	       field->kind == FIELD_RDYN_STRING;
}

static bool is_value_size(unsigned int size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* Neither a text, nor a stack, nor a number, as an array. */
static bool is_no_value(const struct field *field)
{
	return !hist_field_is_string(field) && field->kind != FIELD_STACKTRACE &&
	       !is_value_size(field->size);
}

/* Takes a field of the event. False: its size is not that of a value. */
static bool set_event_field(struct hist_field *f)
{
	const struct field *field = f->field;

	if (hist_field_is_string(field)) {
		f->flags |= HIST_STRING;
		f->content = HIST_TEXT;
		return set_kind(f, field->type,
				field->kind == FIELD_STATIC_STRING ? field->size : HIST_STRING_MAX);
	}
	if (field->kind == FIELD_STACKTRACE) {
		f->flags |= HIST_STACKTRACE;
		f->content = HIST_STACK;
		return set_kind(f, field->type, HIST_STRING_MAX);
	}
	f->is_signed = field->is_signed;
	return is_value_size(field->size) && set_kind(f, field->type, field->size);
}

static bool set_operand(struct hist_data *hd, struct hist_field *f)
{
	f->operands[0] = hist_field_create(hd, f->field, f->flags & ~(unsigned int)HIST_RANGES);
	return f->operands[0] && set_kind(f, f->operands[0]->type, f->operands[0]->size);
}

static bool set_shape(struct hist_data *hd, struct hist_field *f)
{
	if (f->flags & (HIST_EXPR | HIST_ALIAS | HIST_VAR_REF))
		return true;	/* the caller handles it */
	if (f->flags & (HIST_HITCOUNT | HIST_CONST))
		return set_kind(f, "u64", 8);
	if (f->flags & HIST_STACKTRACE) {
		f->content = HIST_STACK;
		return set_kind(f, "unsigned long[]", HIST_STACK_DEPTH * 8);
	}
	if (f->flags & HIST_RANGES)
		return set_operand(hd, f);
	if (f->flags & HIST_TIMESTAMP)
		return set_kind(f, "u64", 8);
	if (f->flags & HIST_CPU)
		return set_kind(f, "unsigned int", 4);
	return !f->field || set_event_field(f);
}

struct hist_field *hist_field_create(struct hist_data *hd, const struct field *field,
				     unsigned int flags)
{
	struct hist_field *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->hist_data = hd;
	f->field = field;
	f->flags = flags;
	if (set_shape(hd, f))
		return f;
	hist_field_free(f);
	return NULL;
}

/* ---- Parsing ---- */

static int bad_modifier(const struct hist_command_text *cmd, const char *at)
{
	return hist_refuse(cmd, "Invalid field modifier", at);
}

static int parse_buckets(const struct hist_command_text *cmd, const char *s, unsigned int *flags,
			 uint64_t *buckets)
{
	s += strlen("bucket");
	s += *s == 's';
	if (*s != '=')
		return bad_modifier(cmd, s);
	if (text_to_u64(s + 1, 0, buckets) || !*buckets)
		return bad_modifier(cmd, s + 1);
	*flags |= HIST_BUCKET;
	return 0;
}

static int parse_scale(const struct hist_command_text *cmd, const char *s, unsigned int *flags,
		       uint64_t *scale)
{
	if (text_to_u64(s, 0, scale) || *scale > EXPONENTIAL_SCALE_MAX)
		return bad_modifier(cmd, s);
	*flags |= HIST_EXP;
	return 0;
}

/* Of a stack that is a key: how many functions it has. */
static int parse_depth(const struct hist_command_text *cmd, const char *s, unsigned int *flags,
		       uint64_t *depth)
{
	if (!(*flags & HIST_KEY) || text_to_u64(s, 0, depth) || !*depth ||
	    *depth > HIST_DEPTH_MAX)
		return bad_modifier(cmd, s);
	*flags |= HIST_DEPTH;
	return 0;
}

static int parse_modifier(const struct hist_command_text *cmd, const char *name, const char *s,
			  unsigned int *flags, uint64_t *number)
{
	if (!strncmp(s, "bucket", 6))
		return parse_buckets(cmd, s, flags, number);
	if (!strncmp(s, "exp=", 4))
		return parse_scale(cmd, s + 4, flags, number);
	if (!strncmp(s, "depth=", 6))
		return parse_depth(cmd, s + 6, flags, number);
	if (!strncmp(s, "percent", 7) || !strncmp(s, "graph", 5)) {
		if (*flags & (HIST_VAR | HIST_KEY))
			return bad_modifier(cmd, s);
		*flags |= *s == 'p' ? HIST_PERCENT : HIST_GRAPH;
		return 0;
	}
	for (int i = 0; i < NR_MODIFIERS; i++) {
		if (!modifiers[i].text || strcmp(s, modifiers[i].text))
			continue;
		if (modifiers[i].flag == HIST_EXECNAME && strcmp(name, "common_pid"))
			break;
		if (modifiers[i].flag & HIST_NO_SUM && *flags & (HIST_VAR | HIST_KEY))
			break;
		*flags |= modifiers[i].flag;
		return 0;
	}
	return bad_modifier(cmd, s);
}

/* Finds the field of a name; *out is NULL for a generated one. */
static int hist_field_find(struct hist_data *hd, const struct hist_command_text *cmd,
			   const char *name, unsigned int *flags, const struct field **out)
{
	const struct field *field;

	*out = NULL;
	if (!strcmp(name, "common_timestamp")) {
		*flags |= HIST_TIMESTAMP;
		hd->enable_timestamps = true;
		if (*flags & HIST_USECS)
			hd->attrs.ts_in_usecs = true;
		return 0;
	}
	if (!strcmp(name, "common_stacktrace"))
		return *flags |= HIST_STACKTRACE, 0;
	if (!strcmp(name, "common_cpu"))
		return *flags |= HIST_CPU, 0;
	if (!strcmp(name, "hitcount"))
		return *flags |= HIST_HITCOUNT, 0;
	field = event_find_field(hd->event, name);
	if (field && field->size) {
		*out = field;
		return 0;
	}
	/* The older names: cpu, CPU, stacktrace, STACKTRACE. */
	if (field && field->kind == FIELD_CPU) {
		*out = field;
		return *flags |= HIST_CPU, 0;
	}
	if (!strcmp(name, "stacktrace") || !strcmp(name, "STACKTRACE"))
		return *flags |= HIST_STACKTRACE, 0;
	return hist_refuse(cmd, "Couldn't find field", name);
}

static struct hist_field *hist_field_number(struct hist_data *hd,
					    const struct hist_command_text *cmd,
					    const char *text, unsigned int flags, int *err)
{
	struct hist_field *f;
	uint64_t v;

	*err = -EINVAL;
	if (text_to_u64(text, 0, &v)) {
		hist_error(cmd, "Expecting numeric literal", text);
		return NULL;
	}
	*err = -ENOMEM;
	f = hist_field_create(hd, NULL, flags | HIST_CONST);
	if (f)
		f->constant = v;
	return f;
}

/* Sets the number of the modifier, 0 if it has none. */
static void set_number(struct hist_field *f, uint64_t number)
{
	if (f->flags & HIST_EXP) {
		f->scale = (unsigned int)number;
	} else if (f->flags & HIST_DEPTH) {
		f->depth = (unsigned int)number;
		f->size = (f->depth + 1) * 8;	/* the functions, and the mark of a cut stack */
	} else {
		f->buckets = number;
	}
}

/* A field of the event, or a generated one, with its modifier. */
static struct hist_field *hist_field_parse_plain(struct hist_data *hd,
						 const struct hist_command_text *cmd,
						 const char *text, unsigned int flags, int *err)
{
	const struct field *field = NULL;
	struct hist_field *f;
	uint64_t number = 0;
	char *copy, *modifier, *name;
	bool stack, depth;

	*err = -ENOMEM;
	modifier = copy = strdup(text);
	if (!copy)
		return NULL;
	name = strsep(&modifier, ".");
	*err = modifier ? parse_modifier(cmd, name, modifier, &flags, &number) : 0;
	stack = modifier && !strcmp(modifier, "stacktrace");
	if (!*err)
		*err = hist_field_find(hd, cmd, name, &flags, &field);
	depth = flags & HIST_DEPTH;
	if (!*err && ((stack && (!field || field->kind != FIELD_STACKTRACE)) ||
		      (depth && (field || !(flags & HIST_STACKTRACE)))))
		*err = bad_modifier(cmd, text);
	free(copy);
	if (*err)
		return NULL;
	*err = field && is_no_value(field) ? HIST_NO_VALUE : -ENOMEM;
	f = hist_field_create(hd, field, flags);
	if (f)
		set_number(f, number);
	return f;
}

/* "[system.event.]name", cut in place. */
struct qualified {
	char		*system, *event;	/* NULL: missing */
	char		*name;
};

static void split_qualified(char *text, struct qualified *out)
{
	const char *dot = strchr(text, '.');

	*out = (struct qualified){ .name = text };
	if (!dot || !strchr(dot + 1, '.'))
		return;
	out->system = strsep(&out->name, ".");
	out->event = strsep(&out->name, ".");
}

/* A name without such a variable of that event is looked up as a field of this event. */
static struct hist_field *parse_qualified(struct hist_data *hd, const struct hist_command_text *cmd,
					  const struct qualified *q, unsigned int flags, int *err)
{
	const char *local = hist_local_field(hd, q->system, q->event, q->name);
	struct hist_field *ref = NULL;

	*err = 0;
	if (!local)
		ref = hist_ref_parse(hd, cmd, q->system, q->event, q->name, err);
	if (*err)
		return NULL;
	*err = -ENOMEM;
	if (ref)
		return flags & HIST_VAR && !(flags & HIST_FIELD_OF_ACTION)
			       ? hist_alias_create(hd, ref)
			       : ref;
	return hist_field_parse_plain(hd, cmd, local ? local : q->name,
				      flags & ~HIST_FIELD_OF_ACTION, err);
}

/* Whether it is `word`, alone or with a modifier. */
static bool is_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	return !strncmp(text, word, n) && (!text[n] || text[n] == '.');
}

struct hist_field *hist_field_parse(struct hist_data *hd, const struct hist_command_text *cmd,
				    char *text, unsigned int flags, int *err)
{
	struct qualified q;

	if (text_is_digit(*text))
		return hist_field_number(hd, cmd, text, flags & ~HIST_FIELD_OF_ACTION, err);
	/* The name in kernels of 2017. */
	if (is_word(text, "$common_timestamp"))
		text++;
	split_qualified(text, &q);
	return parse_qualified(hd, cmd, &q, flags, err);
}
