/* SPDX-License-Identifier: MIT */
/* compile.c - compiles a filter's tree to ops, and writes the ops as code into the config region */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/filter/tree.h"

/* Whether the op's imm is an offset in the pool. */
static bool op_has_operand(const struct op *op)
{
	switch (op->kind) {
	case OP_MATCH:
	case OP_MASK_FIELD:
	case OP_MASK_SCALAR:
	case OP_MASK_CPU:
	case OP_RANGE:
		return true;
	default:
		return false;
	}
}

/* Only a term becomes an op. The other nodes decide where their terms continue. */
static void filter_compile_emit(const struct filter_node *n, uint16_t on_true, uint16_t on_false,
				struct op *ops)
{
	if (n->inverted) {
		uint16_t swap = on_true;

		on_true = on_false;
		on_false = swap;
	}
	switch (n->kind) {
	case NODE_TERM:
		ops[n->first] = n->op;
		ops[n->first].on_true = on_true;
		ops[n->first].on_false = on_false;
		break;
	case NODE_AND:
		filter_compile_emit(n->left, n->right->first, on_false, ops);
		filter_compile_emit(n->right, on_true, on_false, ops);
		break;
	case NODE_OR:
		filter_compile_emit(n->left, on_true, n->right->first, ops);
		filter_compile_emit(n->right, on_true, on_false, ops);
		break;
	}
}

int filter_emit(const struct filter_parser *p, const struct filter_node *root, struct filter *out)
{
	uint16_t accept = (uint16_t)p->nr_terms, reject = (uint16_t)(accept + 1);
	struct op *ops = calloc(p->nr_terms + 2, sizeof(*ops));
	char *pool = p->pool_size ? malloc(p->pool_size) : NULL;

	if (!ops || (p->pool_size && !pool)) {
		free(ops);
		free(pool);
		return -ENOMEM;
	}
	filter_compile_emit(root, accept, reject, ops);
	ops[accept].kind = OP_ACCEPT;
	ops[reject].kind = OP_REJECT;
	if (pool)
		memcpy(pool, p->pool, p->pool_size);
	out->ops = ops;
	out->nr_ops = p->nr_terms + 2;
	out->pool = pool;
	out->pool_size = p->pool_size;
	return 0;
}

size_t filter_code_size(const struct filter *f)
{
	return f->ops ? sizeof(struct code) + f->nr_ops * sizeof(struct op) + f->pool_size : 0;
}

void filter_write_code(const struct filter *f, struct code *out)
{
	size_t pool = sizeof(*out) + f->nr_ops * sizeof(struct op);

	memset(out, 0, sizeof(*out));
	out->size = (uint32_t)filter_code_size(f);
	out->nr_ops = f->nr_ops;
	memcpy(out->ops, f->ops, f->nr_ops * sizeof(struct op));
	for (unsigned int i = 0; i < f->nr_ops; i++)
		if (op_has_operand(&out->ops[i]))
			out->ops[i].imm += pool;
	if (f->pool_size)
		memcpy((char *)out + pool, f->pool, f->pool_size);
}

int filter_compile(struct model *m, struct filter *f, config_ref *out, size_t *size)
{
	*out = 0;
	*size = filter_code_size(f);
	if (!*size)
		return 0;
	*out = session_config_alloc(m->session, *size);
	if (!*out)
		return -ENOMEM;
	filter_write_code(f, session_config(m->session, *out, *size));
	return 0;
}
