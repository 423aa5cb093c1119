/* SPDX-License-Identifier: MIT */
/*
 * parse.c - the expressions of a print fmt
 *
 *     condition := binary [? condition : condition]
 *     unary     := (- ~ ! + & *) unary | (type) unary | (type) { . name = condition } | postfix
 *     postfix   := primary ([ condition ] | . name | -> name)*
 *     primary   := number | string | REC->name | name ( arguments ) | ( condition ) | block
 *     block     := ( { (type name = condition ;)* condition ; } )
 *
 * A block is what the kernel's min_t() becomes. Its variables have their nodes wherever they are
 * used, so they are evaluated as often: `weight` bounds that.
 */
#include <ctype.h>
#include <stdlib.h>

#include "model/symbols.h"
#include "printfmt/type.h"

/*
 * The recursion of printing is as deep as DEPTH_MAX and LINKS_MAX together. No kernel's print fmt
 * comes near BYTES_MAX; if one exceeds it, the fields are printed instead.
 */
enum { DEPTH_MAX = 200, LINKS_MAX = 4000, BYTES_MAX = 4 << 20, WEIGHT_MAX = 1 << 17 };

/* A name of constants.h, or one that is none of an enum. */
struct constant {
	const char	*name;
	uint64_t	value;
};

static const struct constant enums[] = {
#define CONSTANT(name, value) { #name, (uint64_t)(value) },
#include "printfmt/constants.h"
#undef CONSTANT
};

static const struct constant others[] = {
	{ "false", 0 },
	{ "true", 1 },
	{ "NULL", 0 },
	/* Variables that are not in the recording. Pointers into what they point to are hashed. */
	{ "vmemmap_base", 0xffffea0000000000 },
	{ "mem_map", 0xc1000000 },
	/* What IRQ_POLL_SOFTIRQ was before Linux 4.5. */
	{ "BLOCK_IOPOLL_SOFTIRQ", 5 },
};

static struct print_node *parse_condition(struct print_parser *p);
static struct print_node *parse_unary(struct print_parser *p);

struct print_node *node_new(struct print_parser *p, enum node_kind kind)
{
	const bool links = kind == NODE_BINARY || kind == NODE_INDEX;
	struct print_node *n = NULL;

	p->links += links;
	p->bytes += sizeof(*n);
	p->weight++;
	if (p->links <= LINKS_MAX && p->bytes <= BYTES_MAX && p->weight <= WEIGHT_MAX) {
		n = calloc(1, sizeof(*n));
		p->no_memory |= !n;
	}
	if (!n) {
		p->failed = true;
		return NULL;
	}
	n->kind = kind;
	n->all = p->nodes;
	p->nodes = n;
	return n;
}

void print_nodes_free(struct print_node *n)
{
	struct print_node *next;
	unsigned int i;

	for (; n; n = next) {
		next = n->all;
		for (i = 0; i < n->nr_names; i++)
			free(n->names[i].name);
		free(n->names);
		free(n->text);
		free(n);
	}
}

bool parser_expect(struct print_parser *p, int token)
{
	if (p->token != token) {
		p->failed = true;
		return false;
	}
	token_next(p);
	return true;
}

const struct field *parser_field(struct print_parser *p, const char *name, size_t len)
{
	const struct field *fields;
	unsigned int nr, i;

	fields = event_fields(p->event, &nr);
	for (i = 0; fields && i < nr; i++)
		if (strlen(fields[i].name) == len && !memcmp(fields[i].name, name, len))
			return &fields[i];
	return NULL;
}

static struct print_node *node_number(struct print_parser *p, uint64_t value, struct node_type type)
{
	struct print_node *n = node_new(p, NODE_NUMBER);

	if (n) {
		n->number = value;
		n->type = type;
	}
	return n;
}

static uint8_t word_size(unsigned int size)
{
	return size == 1 || size == 2 || size == 4 || size == 8 ? (uint8_t)size : 0;
}

/* u64, s8, uint16_t: what the number at the type's end says. Others are C's. */
static unsigned int type_bytes(const struct print_parser *p, const char *type)
{
	const char *end = type + strcspn(type, " [");
	const char *digits = end -= end - type > 2 && !strncmp(end - 2, "_t", 2) ? 2 : 0;

	while (digits > type && isdigit((unsigned char)digits[-1]))
		digits--;
	if (digits < end && digits > type)
		return (unsigned int)strtoul(digits, NULL, 10) / 8;
	if (strstr(type, "char"))
		return 1;
	if (strstr(type, "short"))
		return 2;
	return strstr(type, "long long") ? 8 : strstr(type, "long") ? parser_long(p, 1) : 4;
}

/* Probes, and constants of old kernels, give an array no number in the format's text. */
static unsigned int element_size(const struct print_parser *p, const struct field *f)
{
	const unsigned int size = f->len ? f->size / f->len : type_bytes(p, f->type);

	return size && size <= 8 && f->size % size == 0 ? size : 1;
}

static void field_type(const struct print_parser *p, struct print_node *n, const struct field *f)
{
	bool array = strchr(f->type, '[') && strncmp(f->type, "__data_loc", 10) &&
		     strncmp(f->type, "__rel_loc", 9);
	unsigned int element = array ? element_size(p, f) : f->size;

	n->bytes = array || !word_size(f->size);
	n->type = (struct node_type){ .size = word_size(element), .is_signed = f->is_signed,
				      .stride = (uint16_t)element };
	if (!n->type.size)
		n->type.size = n->type.stride = 1;
}

/* REC->name; the name of a dynamic field may have its prefix (__data_loc_). */
static struct print_node *parse_member(struct print_parser *p)
{
	const struct field *f;
	struct print_node *n;
	size_t skip = 0;

	if (p->token != TOKEN_NAME)
		goto fail;
	f = parser_field(p, p->start, p->len);
	if (!f && p->len > 11 && !memcmp(p->start, "__data_loc_", 11))
		skip = 11;
	if (!f && p->len > 10 && !memcmp(p->start, "__rel_loc_", 10))
		skip = 10;
	if (skip)
		f = parser_field(p, p->start + skip, p->len - skip);
	if (!f)
		goto fail;
	n = node_new(p, NODE_FIELD);
	if (!n)
		return NULL;
	n->offset = f->offset;
	n->size = f->size;
	field_type(p, n, f);
	token_next(p);
	return n;
fail:
	p->failed = true;
	return NULL;
}

/* _stext, the start of the kernel's image: preemptirq's events have offsets from there. */
static struct print_node *parse_image_start(struct print_parser *p)
{
	uint64_t start, end;

	if (!p->event->model->symbols ||
	    !symbols_range(p->event->model->symbols, "_stext", &start, &end)) {
		p->failed = true;
		return NULL;
	}
	token_next(p);
	return node_number(p, start, (struct node_type){ .size = 8 });
}

/* As strcmp() of the token and the name. */
static int compare_token(const void *token, const void *constant)
{
	const struct print_parser *p = token;
	const struct constant *c = constant;
	const int order = strncmp(p->start, c->name, p->len);

	return order ? order : -(c->name[p->len] != 0);
}

static const struct constant *find_constant(const struct print_parser *p)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (token_is(p, others[i].name))
			return &others[i];
	return bsearch(p, enums, sizeof(enums) / sizeof(enums[0]), sizeof(enums[0]), compare_token);
}

/* Those that formats use, and whose values no recording has. */
static bool is_variable(const struct print_parser *p)
{
	return token_is(p, "jiffies") || token_is(p, "__pv_phys_offset");
}

static bool is_other(const struct constant *c)
{
	return c >= others && c < others + sizeof(others) / sizeof(others[0]);
}

static struct print_node *parse_constant_name(struct print_parser *p)
{
	struct node_type type = { .size = 4, .is_signed = true, .stride = 64 };
	const struct constant *c = find_constant(p);

	if (c) {
		p->pair_known |= !is_other(c);
		if ((int64_t)c->value != (int32_t)c->value)
			type = (struct node_type){ .size = 8 };
		token_next(p);
		return node_number(p, c->value, type);
	}
	if (token_is(p, "_stext"))
		return parse_image_start(p);
	if (p->in_pair || is_variable(p)) {
		p->pair_unknown |= p->in_pair;
		p->unknown |= !p->in_pair;
		token_next(p);
		return node_number(p, 0, type);
	}
	p->failed = true;
	return NULL;
}

static struct print_node *parse_sizeof(struct print_parser *p)
{
	struct node_type unsigned_long = { .size = parser_long(p, 1) }, type;
	struct print_node *n;
	uint64_t size;

	if (!parser_expect(p, '('))
		return NULL;
	if (print_parse_type(p, &type)) {
		size = type.pointer ? parser_long(p, 1) : type.size;
	} else {
		n = parse_condition(p);
		size = !n ? 0 : n->kind == NODE_FIELD ? n->size : n->type.size;
	}
	parser_expect(p, ')');
	return node_number(p, size, unsigned_long);
}

static struct print_node *local_use(struct print_parser *p, const struct print_local *local)
{
	const unsigned int depth = p->depth + local->depth;

	p->weight += local->weight;
	if (p->weight > WEIGHT_MAX || depth > DEPTH_MAX) {
		p->failed = true;
		return NULL;
	}
	p->deepest = depth > p->deepest ? depth : p->deepest;
	token_next(p);
	return local->value;
}

static struct print_node *parse_name(struct print_parser *p)
{
	const char *name = p->start;
	size_t len = p->len;

	if (token_is(p, "REC")) {
		token_next(p);
		if (p->token == TOKEN_ARROW) {
			token_next(p);
			return parse_member(p);
		}
		return node_new(p, NODE_RECORD);
	}
	if (token_is(p, "sizeof")) {
		token_next(p);
		return parse_sizeof(p);
	}
	for (unsigned int i = p->nr_locals; i--;)
		if (p->locals[i].len == len && !memcmp(p->locals[i].name, name, len))
			return local_use(p, &p->locals[i]);
	if (*p->at == '(') {
		token_next(p);
		token_next(p);
		return print_parse_call(p, name, len);
	}
	return parse_constant_name(p);
}

/* "NAME = VALUE;", behind the type. */
static void parse_local(struct print_parser *p, struct node_type type)
{
	struct print_local local = { .name = p->start, .len = p->len };
	const unsigned int before = p->weight, outside = p->deepest;

	token_next(p);
	if (!parser_expect(p, '='))
		return;
	p->deepest = p->depth;
	local.value = node_new(p, NODE_CAST);
	if (!local.value)
		return;
	local.value->type = type;
	local.value->a = parse_condition(p);
	local.weight = p->weight - before;
	local.depth = p->deepest - p->depth;
	p->deepest = outside > p->deepest ? outside : p->deepest;
	if (!parser_expect(p, ';') || p->nr_locals == LOCALS_MAX)
		p->failed = true;
	else
		p->locals[p->nr_locals++] = local;
}

/* Whether a variable is declared; *type: its type. If not, no token is taken. */
static bool take_declaration(struct print_parser *p, struct node_type *type)
{
	struct print_parser before = *p;

	if (print_parse_type(p, type) && p->token == TOKEN_NAME)
		return true;
	*p = before;
	return false;
}

/* The present token is '{'. */
static struct print_node *parse_block(struct print_parser *p)
{
	const unsigned int outside = p->nr_locals;
	struct node_type type;
	struct print_node *n;

	token_next(p);
	while (!p->failed && take_declaration(p, &type))
		parse_local(p, type);
	n = p->failed ? NULL : parse_condition(p);
	parser_expect(p, ';');
	parser_expect(p, '}');
	p->nr_locals = outside;
	return n;
}

static struct print_node *parse_primary(struct print_parser *p)
{
	struct print_node *n;

	switch (p->token) {
	case TOKEN_NUMBER:
		n = node_number(p, p->number, p->type);
		token_next(p);
		return n;
	case TOKEN_STRING:
		n = node_new(p, NODE_TEXT);
		if (n)
			n->text = token_string(p);
		return n;
	case TOKEN_NAME:
		return parse_name(p);
	case '(':
		token_next(p);
		n = p->token == '{' ? parse_block(p) : parse_condition(p);
		parser_expect(p, ')');
		return n;
	default:
		p->failed = true;
		return NULL;
	}
}

static struct print_node *parse_postfix(struct print_parser *p)
{
	struct print_node *n = parse_primary(p), *index;

	while (n && !p->failed) {
		if (p->token == '[') {
			token_next(p);
			index = node_new(p, NODE_INDEX);
			if (!index)
				return NULL;
			index->a = n;
			index->b = parse_condition(p);
			parser_expect(p, ']');
			n = index;
		} else if (p->token == TOKEN_ARROW && n->kind == NODE_RECORD) {
			token_next(p);
			n = parse_member(p);
		} else if (p->token == '.' && n->kind == NODE_CAST && n->op == '.') {
			token_next(p);
			n->op = 0;
			parser_expect(p, TOKEN_NAME);
		} else if (p->token == TOKEN_ARROW || p->token == '.') {
			p->failed = true;
		} else {
			break;
		}
	}
	return n;
}

/*
 * (ktime_t) { .tv64 = condition }, as kernels before 4.10 have it, followed by .tv64. The present
 * token is '{'.
 */
static struct print_node *parse_literal(struct print_parser *p, struct node_type type)
{
	struct print_node *n = node_new(p, NODE_CAST);

	if (!n)
		return NULL;
	n->type = type;
	n->op = '.';
	token_next(p);
	if (!parser_expect(p, '.') || !parser_expect(p, TOKEN_NAME) || !parser_expect(p, '='))
		return NULL;
	n->a = parse_condition(p);
	return parser_expect(p, '}') ? n : NULL;
}

/* The present token is '('. Returns a cast, or NULL if there is none; then no token is taken. */
static struct print_node *parse_cast(struct print_parser *p)
{
	struct print_parser before = *p;
	struct node_type type;
	struct print_node *n;

	token_next(p);
	if (!print_parse_type(p, &type) || p->token != ')') {
		before.nodes = p->nodes;
		*p = before;
		return NULL;
	}
	token_next(p);
	if (p->token == '{')
		return parse_literal(p, type);
	n = node_new(p, NODE_CAST);
	if (!n)
		return NULL;
	n->type = type;
	n->a = parse_unary(p);
	return n;
}

static struct print_node *parse_address(struct print_parser *p)
{
	struct print_node *n = parse_unary(p);

	if (n && n->kind == NODE_FIELD) {
		n->bytes = true;
		if (!n->type.stride)
			n->type.stride = n->type.size;
	} else if (n && n->kind == NODE_INDEX) {
		n->bytes = true;
	} else if (n && n->kind != NODE_RECORD) {
		p->failed = true;
	}
	return n;
}

static bool enter(struct print_parser *p)
{
	if (++p->depth > DEPTH_MAX) {
		p->failed = true;
		return false;
	}
	p->deepest = p->depth > p->deepest ? p->depth : p->deepest;
	return true;
}

static struct print_node *parse_unary(struct print_parser *p)
{
	struct print_node *n;
	int op = p->token;

	if (!enter(p))
		return NULL;
	switch (op) {
	case '(':
		n = parse_cast(p);
		if (!n && !p->failed)
			n = parse_postfix(p);
		break;
	case '+':
		token_next(p);
		n = parse_unary(p);
		break;
	case '&':
		token_next(p);
		n = parse_address(p);
		break;
	case '-': case '~': case '!': case '*':
		token_next(p);
		n = node_new(p, op == '*' ? NODE_DEREF : NODE_UNARY);
		if (n) {
			n->op = op == '-' ? OP_NEG : op;
			n->a = parse_unary(p);
		}
		break;
	default:
		n = parse_postfix(p);
	}
	p->depth--;
	return n;
}

static int precedence(int op)
{
	switch (op) {
	case OP_OR:
		return 1;
	case OP_AND:
		return 2;
	case '|':
		return 3;
	case '^':
		return 4;
	case '&':
		return 5;
	case OP_EQ: case OP_NE:
		return 6;
	case '<': case '>': case OP_LE: case OP_GE:
		return 7;
	case OP_SHL: case OP_SHR:
		return 8;
	case '+': case '-':
		return 9;
	case '*': case '/': case '%':
		return 10;
	default:
		return 0;
	}
}

static struct print_node *parse_binary(struct print_parser *p, int above)
{
	struct print_node *left = parse_unary(p), *n;
	int op;

	while (left && !p->failed && precedence(p->token) > above) {
		op = p->token;
		token_next(p);
		n = node_new(p, NODE_BINARY);
		if (!n)
			return NULL;
		n->op = op;
		n->a = left;
		n->b = parse_binary(p, precedence(op));
		left = n;
	}
	return left;
}

static struct print_node *parse_condition(struct print_parser *p)
{
	struct print_node *n, *first;

	if (!enter(p))
		return NULL;
	first = parse_binary(p, 0);
	if (first && p->token == '?') {
		token_next(p);
		n = node_new(p, NODE_CONDITION);
		if (!n)
			return NULL;
		n->a = first;
		n->b = p->token == ':' ? first : parse_condition(p);
		parser_expect(p, ':');
		n->c = parse_condition(p);
		first = n;
	}
	p->depth--;
	return first;
}

struct print_node *print_parse_expression(struct print_parser *p)
{
	struct print_node *n = parse_condition(p);

	if (!n)
		p->failed = true;
	return p->failed ? NULL : n;
}
