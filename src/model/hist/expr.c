/* SPDX-License-Identifier: MIT */
/*
 * expr.c - parses expressions of fields and numbers: + - * / and -(...)
 *
 * The root of an expression is its last + or -, or else its last * or /, so that all are evaluated
 * from left to right. The only parentheses are those of the unary minus, which cannot be combined.
 * Constant operands are folded.
 *
 * As in the kernel, the text is cut at its operators in place, because a user can see that: of
 * `x=a-b,y=$x` only `a` is left when $x is looked up, and errors that name the text search for what
 * is left of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/hist/hist.h"
#include "model/text_memory.h"

enum { SUBEXPRS_MAX = 3, DIV_SHIFT = 20 };

struct parse {
	struct hist_data *hd;
	const struct hist_command_text *cmd;
	unsigned int	subexprs;
};

static struct hist_field *parse_expr(struct parse *p, char *s, unsigned int flags, int *err);

static enum hist_operator find_operator(char *s, char **at)
{
	static const char pairs[2][2] = { { '-', '+' }, { '*', '/' } };

	for (int i = 0; i < 2; i++) {
		char *a = strrchr(s, pairs[i][0]), *b = strrchr(s, pairs[i][1]);

		if (i == 0 && a == s)
			return HIST_OP_UNARY_MINUS;
		*at = !b || (a && a > b) ? a : b;
		if (*at)
			return **at == '-' ? HIST_OP_MINUS : **at == '+' ? HIST_OP_PLUS :
			       **at == '*' ? HIST_OP_MULT : HIST_OP_DIV;
	}
	return HIST_OP_NONE;
}

void hist_operand_print(const struct hist_field *f, FILE *out)
{
	const char *modifier = hist_field_modifier(f);

	if ((f->flags & HIST_VAR_REF) && !f->system)
		fputc('$', out);
	else if (f->flags & HIST_CONST)
		fprintf(out, "%llu", (unsigned long long)f->constant);
	fputs(hist_field_name(f), out);
	if (modifier && !(f->flags & HIST_VAR_REF))
		fprintf(out, ".%s", modifier);
}

/* The text of an expression, as it is printed. */
static char *expr_text(const struct hist_field *f)
{
	static const char signs[] = { [HIST_OP_PLUS] = '+',
				     [HIST_OP_MINUS] = '-',
				     [HIST_OP_DIV] = '/',
				     [HIST_OP_MULT] = '*' };
	char *text = NULL;
	size_t size;
	FILE *out = text_memory_open(&text, &size);

	if (!out)
		return NULL;
	if (f->operator == HIST_OP_UNARY_MINUS)
		fputs("-(", out);
	hist_operand_print(f->operands[0], out);
	if (f->operator == HIST_OP_UNARY_MINUS) {
		fputc(')', out);
	} else {
		fputc(signs[f->operator], out);
		hist_operand_print(f->operands[1], out);
	}
	fclose(out);
	return text;
}

/* Sets name, type and size from the operands, which the field owns from now on. */
static int expr_finish(struct hist_field *f)
{
	const struct hist_field *left = f->operands[0];

	f->size = left->size;
	f->is_signed = left->is_signed;
	f->type = strdup(left->type);
	f->name = expr_text(f);
	return f->type && f->name ? 0 : -ENOMEM;
}

/* A text is no operand, and what is kept instead of a sum is not known at a hit. */
static bool refuse_operand(const struct parse *p, const struct hist_field *f, const char *at)
{
	if (f->flags & HIST_STRING)
		hist_error(p->cmd, "String type can not be an operand in expression", at);
	else if (f->flags & HIST_NO_SUM)
		hist_error(p->cmd, "Invalid field modifier", at);
	return f->flags & (HIST_STRING | HIST_NO_SUM);
}

/* The kernel has no text for these below a minus, and so refuses them without a message. */
static bool has_no_text(const struct hist_field *f)
{
	return f->operator== HIST_OP_UNARY_MINUS ||(f->operands[0] && f->operator== HIST_OP_NONE);
}

/*
 * The text between the parentheses of "-(...)", cut out in place. NULL: the text has another form.
 */
static char *inside_minus(struct parse *p, char *s)
{
	char *close;

	if (++p->subexprs > SUBEXPRS_MAX) {
		hist_error(p->cmd, "Too many subexpressions (3 max)", s);
		return NULL;
	}
	s++;
	if (!strchr(s, '('))
		return NULL;
	s++;
	close = strrchr(s, ')');
	if (close && close[1]) {
		hist_error(p->cmd, "Unary minus not supported in sub-expressions", s);
		return NULL;
	}
	if (!close)
		return NULL;
	*close = '\0';
	return s;
}

/* Owns the operand in any case. */
static struct hist_field *negate(struct parse *p, struct hist_field *operand, unsigned int flags,
				 int *err)
{
	struct hist_field *f;

	*err = -ENOMEM;
	f = hist_field_create(p->hd, NULL,
			      flags | HIST_EXPR | (operand->flags & (HIST_TIMESTAMP | HIST_USECS)));
	if (!f) {
		hist_field_free(operand);
		return NULL;
	}
	f->operator = HIST_OP_UNARY_MINUS;
	f->operands[0] = operand;
	if (!expr_finish(f))
		return f;
	hist_field_free(f);
	return NULL;
}

static struct hist_field *parse_unary(struct parse *p, char *s, unsigned int flags, int *err)
{
	struct hist_field *operand;

	*err = -EINVAL;
	s = inside_minus(p, s);
	operand = s ? parse_expr(p, s, 0, err) : NULL;
	if (!operand)
		return NULL;
	if (refuse_operand(p, operand, s) || has_no_text(operand)) {
		*err = -EINVAL;
		hist_field_free(operand);
		return NULL;
	}
	return negate(p, operand, flags, err);
}

static uint64_t expr_divide(uint64_t a, uint64_t b)
{
	if (!(b & (b - 1)))
		return a >> __builtin_ctzll(b);
	if (b > 1u << DIV_SHIFT || a >= 1u << DIV_SHIFT)
		return a / b;
	return (a * ((1u << DIV_SHIFT) / b) + (1u << DIV_SHIFT) - 1) >> DIV_SHIFT;
}

/*
 * If a number is divided by a constant variable, the kernel folds it with a multiplier that it has
 * not computed.
 */
static uint64_t divide_by_var(uint64_t a, uint64_t b)
{
	return (b & (b - 1)) && b <= 1u << DIV_SHIFT && a < 1u << DIV_SHIFT ? 0 : expr_divide(a, b);
}

static uint64_t fold(enum hist_operator operator, uint64_t a, uint64_t b, bool by_var)
{
	switch (operator) {
	case HIST_OP_PLUS:
		return a + b;
	case HIST_OP_MINUS:
		return a - b;
	case HIST_OP_MULT:
		return a * b;
	default:
		return by_var ? divide_by_var(a, b) : expr_divide(a, b);
	}
}

/* The variable of a reference; otherwise the field itself. NULL: it is not made of a field. */
static const struct hist_field *behind_ref(const struct hist_field *f)
{
	return f->flags & (HIST_VAR_REF | HIST_ALIAS) ? hist_find_own_var(f->var.hist_data, f->name)
						      : f;
}

/* Checks whether two operands can be joined. */
static int check_operands(const struct parse *p, enum hist_operator operator,
			  const struct hist_field * left, const struct hist_field *right,
			  const char *right_text)
{
	if (!left || !right)
		return -EINVAL;
	if ((left->flags & HIST_USECS) != (right->flags & HIST_USECS))
		return hist_refuse(p->cmd, "Timestamp units in expression don't match", NULL);
	if (operator == HIST_OP_DIV && (right->flags & HIST_CONST) && !right->constant) {
		hist_error(p->cmd, "Division by zero", right_text);
		return -EDOM;
	}
	return 0;
}

static int join_operands(struct hist_field *f, enum hist_operator operator, struct hist_field *left,
			 struct hist_field *right, const struct hist_field *divisor)
{
	f->operator = operator;
	f->operands[0] = left;
	f->operands[1] = right;
	if (operator == HIST_OP_DIV && (divisor->flags & HIST_CONST)) {
		f->divides_by_constant = true;
		f->constant = divisor->constant;
	}
	return expr_finish(f);
}

/* Joins two operands, and owns them in any case. */
static struct hist_field *expr_join(struct parse *p, enum hist_operator operator,
				    struct hist_field *left, struct hist_field *right,
				    unsigned int flags, const char *right_text, int *err)
{
	const struct hist_field *a = behind_ref(left), *b = behind_ref(right);
	struct hist_field *f = NULL;
	bool constant;

	*err = check_operands(p, operator, a, b, right_text);
	if (*err)
		goto free_operands;
	constant = a->flags & b->flags & HIST_CONST;
	flags |=
		(constant ? HIST_CONST : HIST_EXPR) | (left->flags & (HIST_TIMESTAMP | HIST_USECS));
	*err = -ENOMEM;
	f = hist_field_create(p->hd, NULL, flags);
	if (!f)
		goto free_operands;
	left->read_once = right->read_once = true;
	if (constant) {
		f->constant = fold(operator, a->constant, b->constant, b != right);
		goto free_operands;
	}
	if (!join_operands(f, operator, left, right, b))
		return f;
	hist_field_free(f);
	return NULL;
free_operands:
	hist_field_free(left);
	hist_field_free(right);
	return f;
}

static struct hist_field *parse_binary(struct parse *p, enum hist_operator operator, char * s,
				       char *at, unsigned int flags, int *err)
{
	struct hist_field *left, *right;

	p->subexprs++;
	*err = -EINVAL;
	*at++ = '\0';
	if (!*s || !*at)
		return NULL;
	left = parse_expr(p, s, 0, err);
	if (!left)
		return NULL;
	if (refuse_operand(p, left, s)) {
		*err = -EINVAL;
		hist_field_free(left);
		return NULL;
	}
	right = parse_expr(p, at, 0, err);
	if (right && refuse_operand(p, right, at)) {
		*err = -EINVAL;
		hist_field_free(right);
		right = NULL;
	}
	if (!right) {
		hist_field_free(left);
		return NULL;
	}
	return expr_join(p, operator, left, right, flags, at, err);
}

static struct hist_field *parse_expr(struct parse *p, char *s, unsigned int flags, int *err)
{
	enum hist_operator operator;
	char *at = NULL;

	if (p->subexprs > SUBEXPRS_MAX) {
		hist_error(p->cmd, "Too many subexpressions (3 max)", s);
		*err = -EINVAL;
		return NULL;
	}
	operator = find_operator(s, &at);
	if (operator == HIST_OP_NONE)
		return hist_field_parse(p->hd, p->cmd, s, flags, err);
	if (operator == HIST_OP_UNARY_MINUS)
		return parse_unary(p, s, flags, err);
	return parse_binary(p, operator, s, at, flags, err);
}

struct hist_field *hist_expr_parse(struct hist_data *hd, const struct hist_command_text *cmd,
				   char *text, unsigned int flags, int *err)
{
	struct parse p = { hd, cmd, 0 };

	return parse_expr(&p, text, flags, err);
}
