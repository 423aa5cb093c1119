/* SPDX-License-Identifier: MIT */
/*
 * node.h - inside print_*.c: expressions, values, conversions
 *
 *     node_kind  children                value
 *     NUMBER     -                       constant
 *     FIELD      -                       integer of the record, or its bytes when an array
 *     DYNAMIC    - (field)               bytes that a __data_loc or __rel_loc names
 *     UNARY, BINARY, CONDITION           C's arithmetic in 32 or 64 bits
 *     CAST       a                       integer cut to a size, or bytes seen as elements of a size
 *     INDEX      a[b], DEREF *a          element of bytes
 *     FLAGS ...  the kernel's functions  text in env->scratch
 */
#ifndef TRACEFUSE_PRINTFMT_NODE_H
#define TRACEFUSE_PRINTFMT_NODE_H

#include "printfmt/format.h"

enum node_kind {
	NODE_NUMBER,
	NODE_TEXT,
	NODE_FIELD,
	NODE_DYNAMIC,
	NODE_DYNAMIC_LEN,
	NODE_RECORD,
	NODE_UNARY,
	NODE_BINARY,
	NODE_CONDITION,
	NODE_CAST,
	NODE_INDEX,
	NODE_DEREF,
	NODE_FLAGS,
	NODE_SYMBOLIC,
	NODE_HEX,
	NODE_HEX_STR,
	NODE_ARRAY,
	NODE_DYNAMIC_ARRAY,
	NODE_BITMASK,
	NODE_CPUMASK,
	NODE_HEX_DUMP,
	NODE_NS_TO_SECS,
	NODE_NS_WITHOUT_SECS,
	NODE_SWAP,
};

enum node_operator {
	OP_NEG = 256, OP_SHL, OP_SHR, OP_LE, OP_GE, OP_EQ, OP_NE, OP_AND, OP_OR,
};

struct node_name {
	uint64_t	value;
	char		*name;
	bool		known;		/* the value has a name of constants.h */
};

/* An integer's or an element's type. */
struct node_type {
	uint8_t		size;		/* 1, 2, 4, 8 */
	bool		is_signed;
	bool		pointer;	/* of a cast: to elements of this type */
	uint16_t	stride;		/* pointer: bytes an element */
};

struct print_node {
	struct print_node *all;		/* for freeing */
	enum node_kind	kind;
	int		op;		/* a character or enum node_operator */
	struct node_type type;
	uint64_t	number;
	char		*text;
	uint16_t	offset, size;	/* of a field */
	bool		bytes;		/* a field that is an array */
	bool		relative;	/* __rel_loc */
	struct print_node *a, *b, *c;
	struct node_name *names;
	unsigned int	nr_names;
};

/* If `data` is set, the value is bytes (an array, a string), else an integer. */
struct print_value {
	uint64_t	number;
	const uint8_t	*data;
	uint32_t	len;
	bool		in_scratch;	/* data is env->scratch's at offset `number` */
	struct node_type type;
};

struct print_piece {
	char		*text;		/* literal before the conversion */
	uint32_t	len;
	char		conversion;	/* d u x X o c s p; 0: literal only */
	struct show_spec spec;
	uint8_t		bytes;		/* of an integer argument: 1, 2, 4, 8 */
	char		pointer[8];	/* what follows %p */
	bool		width_arg, precision_arg;
	struct print_node *width, *precision, *arg;
};

struct print_format {
	struct print_node	*nodes;
	struct print_piece	*pieces;
	unsigned int		nr;
	size_t			bytes;	/* about how much memory the format takes */
	unsigned int		long_size;	/* of the event's machine */
	bool			faults;		/* print_format_faults() */
};

/* ---- parse.c ---- */

/* A variable of a statement expression. */
struct print_local {
	const char	*name;
	size_t		len;
	struct print_node *value;
	unsigned int	weight;		/* how many nodes and names are looked at for it */
	unsigned int	depth;		/* of its nodes */
};

enum { LOCALS_MAX = 8 };

/* A parser over the text behind "print fmt:"; see token.c. */
struct print_parser {
	const char	*at;
	struct event	*event;
	struct print_node *nodes;
	unsigned int	depth, deepest;
	size_t		bytes;		/* how many bytes nodes and names take */
	/* Nodes in chains to the left, which the depth does not count */
	unsigned int	links;
	unsigned int	weight;		/* nodes that are evaluated */
	struct print_local locals[LOCALS_MAX];
	unsigned int	nr_locals;
	/* In the value of a table's pair: a name that has no number here; one of constants.h */
	bool		in_pair, pair_unknown, pair_known;
	bool		unknown;	/* an argument needs a variable of the kernel */
	bool		failed;
	/* failed because memory ran out; the text may parse another time */
	bool		no_memory;
	/* the present token */
	int		token;		/* character, enum token_kind or enum node_operator */
	const char	*start;
	size_t		len;
	uint64_t	number;
	struct node_type type;
};

enum token_kind { TOKEN_END = 512, TOKEN_NAME, TOKEN_NUMBER, TOKEN_STRING, TOKEN_ARROW };

/* Bytes of an int, a long, a long long of the traced machine: longs 0, 1, 2. */
static inline uint8_t parser_long(const struct print_parser *p, unsigned int longs)
{
	return longs > 1 ? 8 : longs ? p->event->machine.long_size : 4;
}

void token_next(struct print_parser *p);
bool token_is(const struct print_parser *p, const char *name);
/* Adjacent string literals joined, escapes resolved; NULL: none here or no memory. */
char *token_string(struct print_parser *p);
struct print_node *print_parse_expression(struct print_parser *p);
void print_nodes_free(struct print_node *nodes);

/*
 * Parses a function call by the function's name (call.c). The present token is the one behind '('.
 * NULL: p->failed is set.
 */
struct print_node *print_parse_call(struct print_parser *p, const char *name, size_t len);
struct print_node *node_new(struct print_parser *p, enum node_kind kind);
const struct field *parser_field(struct print_parser *p, const char *name, size_t len);
bool parser_expect(struct print_parser *p, int token);
/* Evaluates an expression without a record. False: it needs one. */
bool print_constant(struct print_node *n, uint64_t *value);

/* ---- eval.c, call_eval.c ---- */

struct print_value print_eval(const struct print_node *n, struct print_env *env,
			      const struct print_record *rec);
struct print_value print_eval_call(const struct print_node *n, struct print_env *env,
				   const struct print_record *rec);
/* Where the bytes of a value are. */
static inline const char *value_bytes(const struct print_value *v, const struct print_env *env)
{
	return v->in_scratch ? env->scratch.bytes + v->number : (const char *)v->data;
}

static inline bool value_has_bytes(const struct print_value *v)
{
	return v->data || v->in_scratch;
}

/* Cuts the value to a size and extends it again, as a C conversion does. */
static inline uint64_t value_fit(uint64_t v, uint8_t size, bool is_signed)
{
	switch (size) {
	case 1:
		return is_signed ? (uint64_t)(int8_t)v : (uint8_t)v;
	case 2:
		return is_signed ? (uint64_t)(int16_t)v : (uint16_t)v;
	case 4:
		return is_signed ? (uint64_t)(int32_t)v : (uint32_t)v;
	default:
		return v;
	}
}

/* ---- convert.c, pointer.c ---- */

/* Splits a format's text into pieces. 0, -EINVAL, -ENOMEM */
int print_split(const char *fmt, unsigned int long_size, struct print_piece **pieces,
		unsigned int *nr);
void print_pieces_free(struct print_piece *pieces, unsigned int nr);
void print_convert(const struct print_piece *p, const struct show_spec *spec,
		   const struct print_value *v, struct print_env *env, struct show_text *out);
void print_pointer(const struct print_piece *p, const struct show_spec *spec,
		   const struct print_value *v, struct print_env *env, struct show_text *out);

#endif
