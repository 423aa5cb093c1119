/* SPDX-License-Identifier: MIT */
/*
 * call.c - parsing the functions that print formats call: __print_flags() and its kin
 */
#include <stdlib.h>

#include "printfmt/node.h"
#include "session/array.h"

static bool call_is_function(const char *name, size_t len, const char *what)
{
	return strlen(what) == len && !memcmp(name, what, len);
}

static bool names_add(struct print_parser *p, struct print_node *n, struct node_name name)
{
	if (array_room(&n->names, n->nr_names, sizeof(*n->names))) {
		p->no_memory = true;
		return false;
	}
	n->names[n->nr_names++] = name;
	return true;
}

/*
 * The value of a pair. Old kernels and modules leave names of enums in their tables, which have no
 * number in a recording.
 */
static bool parse_pair_value(struct print_parser *p, uint64_t *number)
{
	struct print_node *value;

	p->pair_unknown = p->pair_known = false;
	p->in_pair = true;
	value = print_parse_expression(p);
	p->in_pair = false;
	return value && print_constant(value, number);
}

/* { value, "name" }. A pair whose value is not known is left out. */
static bool parse_name_pair(struct print_parser *p, struct print_node *n, bool *left_out)
{
	uint64_t number;
	char *name;

	token_next(p);
	if (!parse_pair_value(p, &number) || !parser_expect(p, ','))
		return false;
	while (p->token == '(')
		token_next(p);
	name = token_string(p);
	while (p->token == ')')
		token_next(p);
	/* The last pair has NULL, ((void *)0), or 0 */
	if (!name && (token_is(p, "NULL") || token_is(p, "void") ||
		      (p->token == TOKEN_NUMBER && !p->number))) {
		while (p->token != '}' && p->token != TOKEN_END)
			token_next(p);
		return parser_expect(p, '}');
	}
	p->weight++;
	p->bytes += 2 * sizeof(struct node_name) + (name ? strlen(name) : 0);
	if (!name)
		return false;
	if (p->pair_unknown) {
		*left_out = true;
		free(name);
	} else if (!names_add(p, n, (struct node_name){ number, name, p->pair_known })) {
		free(name);
		return false;
	}
	return parser_expect(p, '}');
}

static void forget_known(struct print_node *n)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < n->nr_names; i++)
		if (n->names[i].known)
			free(n->names[i].name);
		else
			n->names[nr++] = n->names[i];
	n->nr_names = nr;
}

/*
 * , { value, "name" }, ... )
 *
 * A table with an unknown name is that of another kernel than those of constants.h: there the
 * others may have other values, too. What is in no pair is printed as a number.
 */
static bool parse_names(struct print_parser *p, struct print_node *n)
{
	bool left_out = false;

	while (p->token == ',') {
		token_next(p);
		if (p->token == ')')
			break;
		if (p->token != '{' || !parse_name_pair(p, n, &left_out)) {
			p->failed = true;
			return false;
		}
	}
	if (left_out)
		forget_known(n);
	return parser_expect(p, ')');
}

static struct print_node *parse_flags(struct print_parser *p, enum node_kind kind)
{
	struct print_node *n = node_new(p, kind);

	if (!n)
		return NULL;
	n->a = print_parse_expression(p);
	if (kind == NODE_FLAGS) {
		if (!parser_expect(p, ','))
			return NULL;
		n->text = token_string(p);
		if (!n->text && token_is(p, "NULL"))
			token_next(p);
	}
	return parse_names(p, n) ? n : NULL;
}

/* The node of a field whose data is behind the record. NULL: it is no field. */
static struct print_node *dynamic_node(struct print_parser *p, enum node_kind kind)
{
	const struct field *f = p->token == TOKEN_NAME ? parser_field(p, p->start, p->len) : NULL;
	struct print_node *n = f ? node_new(p, kind) : NULL;

	if (!n) {
		p->failed = true;
		return NULL;
	}
	n->offset = f->offset;
	n->relative = !strncmp(f->type, "__rel_loc", 9);
	token_next(p);
	return n;
}

/* [N] of an array of texts: each has a word that says where it is. */
static bool parse_dynamic_index(struct print_parser *p, struct print_node *n)
{
	if (p->token != '[')
		return true;
	token_next(p);
	if (p->token != TOKEN_NUMBER || p->number > (UINT16_MAX - n->offset) / 4u) {
		p->failed = true;
		return false;
	}
	n->offset = (uint16_t)(n->offset + 4 * p->number);
	token_next(p);
	return parser_expect(p, ']');
}

static struct print_node *parse_dynamic(struct print_parser *p, enum node_kind kind, bool string)
{
	struct print_node *n = dynamic_node(p, kind);

	if (!n || !parse_dynamic_index(p, n))
		return NULL;
	n->type = (struct node_type){ .size = 1, .stride = 1, .is_signed = string };
	n->op = string;
	return parser_expect(p, ')') ? n : NULL;
}

/* __print_dynamic_array(field, element size) */
static struct print_node *parse_dynamic_array(struct print_parser *p)
{
	struct print_node *n = dynamic_node(p, NODE_DYNAMIC_ARRAY);

	if (!n || !parser_expect(p, ','))
		return NULL;
	n->c = print_parse_expression(p);
	return n->c && parser_expect(p, ')') ? n : NULL;
}

/* Parses at least `min` and at most `max` arguments. An argument that is no expression fails. */
static struct print_node *call_parse_arguments(struct print_parser *p, enum node_kind kind, int min,
					       int max)
{
	struct print_node *n = node_new(p, kind), *arg;
	int i;

	if (!n)
		return NULL;
	for (i = 0; i < max && p->token != ')'; i++) {
		if (i && !parser_expect(p, ','))
			return NULL;
		arg = print_parse_expression(p);
		if (!arg)
			return NULL;
		if (i == 0)
			n->a = arg;
		else if (i == 1)
			n->b = arg;
		else if (i == 2)
			n->c = arg;
	}
	if (i < min || !parser_expect(p, ')')) {
		p->failed = true;
		return NULL;
	}
	return n;
}

/* __print_hex_dump(prefix, type, row size, group size, bytes, length, ascii) */
static struct print_node *parse_hex_dump(struct print_parser *p)
{
	struct print_node *n = node_new(p, NODE_HEX_DUMP);
	struct print_node *arg[6];
	uint64_t row, group;
	int i;

	if (!n)
		return NULL;
	n->text = token_string(p);
	for (i = 0; i < 6; i++) {
		if (!parser_expect(p, ','))
			return NULL;
		/* DUMP_PREFIX_OFFSET and similar constants are names. */
		if (!i && p->token == TOKEN_NAME) {
			token_next(p);
			arg[0] = n;
			continue;
		}
		arg[i] = print_parse_expression(p);
		if (!arg[i])
			return NULL;
	}
	if (!print_constant(arg[1], &row) || !print_constant(arg[2], &group))
		p->failed = true;
	n->a = arg[3];
	n->b = arg[4];
	n->c = arg[5];
	n->op = p->failed ? 0 : (row == 32 ? 32 : 16);
	n->number = p->failed ? 0 : group;
	return parser_expect(p, ')') ? n : NULL;
}

static const struct {
	const char	*name;
	enum node_kind	kind;
	int8_t		min, max;
} functions[] = {
	{ "__print_hex", NODE_HEX, 2, 2 }, { "__print_hex_str", NODE_HEX_STR, 2, 2 },
	{ "__print_array", NODE_ARRAY, 3, 3 }, { "__print_ns_to_secs", NODE_NS_TO_SECS, 1, 1 },
	{ "__print_ns_without_secs", NODE_NS_WITHOUT_SECS, 1, 1 },
	{ "ntohs", NODE_SWAP, 1, 1 }, { "htons", NODE_SWAP, 1, 1 }, { "ntohl", NODE_SWAP, 1, 1 },
	{ "htonl", NODE_SWAP, 1, 1 }, { "be16_to_cpu", NODE_SWAP, 1, 1 },
	{ "be32_to_cpu", NODE_SWAP, 1, 1 }, { "be64_to_cpu", NODE_SWAP, 1, 1 },
	{ "__be16_to_cpu", NODE_SWAP, 1, 1 }, { "__be32_to_cpu", NODE_SWAP, 1, 1 },
	{ "__be64_to_cpu", NODE_SWAP, 1, 1 },
};

static const struct {
	const char	*name;
	enum node_kind	kind;
	bool		string;
} dynamics[] = {
	{ "__get_str", NODE_DYNAMIC, true }, { "__get_rel_str", NODE_DYNAMIC, true },
	{ "__get_dynamic_array", NODE_DYNAMIC, false },
	{ "__get_rel_dynamic_array", NODE_DYNAMIC, false },
	{ "__get_sockaddr", NODE_DYNAMIC, false }, { "__get_rel_sockaddr", NODE_DYNAMIC, false },
	{ "__get_dynamic_array_len", NODE_DYNAMIC_LEN, false },
	{ "__get_rel_dynamic_array_len", NODE_DYNAMIC_LEN, false },
	{ "__get_bitmask", NODE_BITMASK, false }, { "__get_rel_bitmask", NODE_BITMASK, false },
	{ "__get_cpumask", NODE_CPUMASK, false }, { "__get_rel_cpumask", NODE_CPUMASK, false },
};

static struct print_node *parse_swap(struct print_parser *p, const char *name, size_t len)
{
	struct print_node *n = call_parse_arguments(p, NODE_SWAP, 1, 1);

	if (n)
		n->type.size = memchr(name, '6', len) && !memchr(name, '1', len) ? 8 :
			       memchr(name, '1', len) || name[len - 1] == 's' ? 2 : 4;
	return n;
}

struct print_node *print_parse_call(struct print_parser *p, const char *name, size_t len)
{
	struct print_node *n;
	size_t i;

	if (call_is_function(name, len, "__print_flags") ||
	    call_is_function(name, len, "__print_flags_u64"))
		return parse_flags(p, NODE_FLAGS);
	if (call_is_function(name, len, "__print_symbolic") ||
	    call_is_function(name, len, "__print_symbolic_u64"))
		return parse_flags(p, NODE_SYMBOLIC);
	if (call_is_function(name, len, "__print_hex_dump"))
		return parse_hex_dump(p);
	if (call_is_function(name, len, "__print_dynamic_array"))
		return parse_dynamic_array(p);
	/* The value of __builtin_expect() is its first argument. */
	if (call_is_function(name, len, "__builtin_expect")) {
		n = call_parse_arguments(p, NODE_CAST, 2, 2);
		return n ? n->a : NULL;
	}
	for (i = 0; i < sizeof(dynamics) / sizeof(dynamics[0]); i++)
		if (call_is_function(name, len, dynamics[i].name))
			return parse_dynamic(p, dynamics[i].kind, dynamics[i].string);
	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (call_is_function(name, len, functions[i].name))
			return functions[i].kind == NODE_SWAP ? parse_swap(p, name, len) :
			       call_parse_arguments(p, functions[i].kind, functions[i].min,
						    functions[i].max);
	p->failed = true;
	return NULL;
}
