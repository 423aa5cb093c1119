/* SPDX-License-Identifier: MIT */
/* text.c - the text of a script's triggers, as typed and as printed */
#include <inttypes.h>
#include <string.h>

#include "language.h"

const char *field_name(const struct script *s, int event, enum operand f)
{
	static const char *const own[] = { "oa", "ob", "oc" };
	static const char *const synthetic[] = { "d", "p1", "p2", "p3" };

	switch (f) {
	case F_X:	return "xx";
	case F_U:	return "uu";
	case F_W:	return "ww";
	case F_NAME:	return "name";
	case F_OWN:	return own[event];
	case F_MATCHED:	return "oa";
	case F_PID:	return "common_pid";
	case F_CPU:	return "common_cpu";
	case F_HITCOUNT: return "hitcount";
	default:	return synthetic[f - F_SYN];
	}
}

static const char *field_type(enum operand f)
{
	return f == F_U ? "unsigned int" : f == F_W ? "u64" : f == F_NAME ? "char" : "int";
}

/* An expression has the type of its first operand. */
static const char *expr_type(const struct script *s, const struct expr *e)
{
	const struct term *t = &e->terms[0];

	if (t->kind == TERM_VAR)
		return expr_type(s, &s->triggers[t->trigger].vars[t->var].expr);
	return t->kind == TERM_FIELD ? field_type(t->field) : "u64";
}

const char *argument_type(const struct script *s, const struct argument *a)
{
	const struct var *v = &s->triggers[a->trigger].vars[a->var];

	if (!a->is_var)
		return field_type(a->field);
	return v->copies == F_NAME ? "char" : expr_type(s, &v->expr);
}

void print_definition(const struct script *s, FILE *out)
{
	fputs("psyn", out);
	for (unsigned int i = 0; i < s->nr_syn; i++)
		fprintf(out, "%s %s %s%s", i ? ";" : "", argument_type(s, &s->syn[i]),
			field_name(s, EVENT_SYN, F_SYN + i),
			strcmp(argument_type(s, &s->syn[i]), "char") ? "" : "[16]");
}

static void print_key(const struct script *s, const struct rule *t, const struct key *k, FILE *out)
{
	static const char *const modifiers[] = { "", ".hex", ".log2", ".buckets=", ".execname" };

	fprintf(out, "%s%s", field_name(s, t->event, k->field), modifiers[k->modifier]);
	if (k->modifier == BUCKETS)
		fprintf(out, "%u", k->bucket);
}

static void print_term(const struct script *s, const struct rule *t, const struct expr *e,
		       const struct term *term, FILE *out)
{
	if (term->op)
		fputc(term->op, out);
	switch (term->kind) {
	case TERM_FIELD:
		fputs(field_name(s, t->event, term->field), out);
		break;
	case TERM_CONST:
		fprintf(out, "%" PRIu64, term->value);
		break;
	case TERM_TIME:
		fprintf(out, "common_timestamp%s", e->usecs ? ".usecs" : "");
		break;
	case TERM_VAR:
		fprintf(out, "$%s", s->triggers[term->trigger].vars[term->var].name);
	}
}

static void print_var(const struct script *s, const struct rule *t, const struct var *v, bool next,
		      FILE *out)
{
	fprintf(out, "%s%s=", next ? "," : ":", v->name);
	if (v->copies != F_HITCOUNT) {
		fputs(field_name(s, t->event, v->copies), out);
		return;
	}
	fputs(v->expr.negated ? "-(" : "", out);
	for (unsigned int i = 0; i < v->expr.nr; i++)
		print_term(s, t, &v->expr, &v->expr.terms[i], out);
	fputs(v->expr.negated ? ")" : "", out);
}

static void print_val(const struct script *s, const struct rule *t, unsigned int val, FILE *out)
{
	static const char *const kept[] = { "", ".min", ".max", ".avg" };

	fprintf(out, "%s%s", field_name(s, t->event, t->vals[val]), kept[t->kept[val]]);
}

static void print_sort(const struct script *s, const struct rule *t, bool canonical, FILE *out)
{
	if (!t->nr_sort && canonical)
		fputs(":sort=hitcount", out);
	for (unsigned int i = 0; i < t->nr_sort; i++) {
		const struct sort *sort = &t->sort[i];

		fputs(i ? "," : ":sort=", out);
		if (sort->hitcount)
			fputs("hitcount", out);
		else if (!sort->is_key)
			print_val(s, t, sort->index, out);
		else if (canonical)
			print_key(s, t, &t->keys[sort->index], out);
		else
			fputs(field_name(s, t->event, t->keys[sort->index].field), out);
		fputs(sort->descending ? ".descending" : "", out);
	}
}

static void print_action(const struct script *s, const struct rule *t, const struct action *a,
			 FILE *out)
{
	static const char *const handlers[] = { "onmatch", "onmax", "onchange" };

	if (a->handler == ONMATCH)
		fputs(":onmatch(prop.a)", out);
	else
		fprintf(out, ":%s($%s)", handlers[a->handler], t->vars[a->var].name);
	fputs(a->verb == TRACE ? ".trace(psyn" : ".save(", out);
	for (unsigned int i = 0; i < a->nr_args; i++) {
		const struct argument *arg = &a->args[i];

		fputs(i || a->verb == TRACE ? "," : "", out);
		if (arg->is_var)
			fprintf(out, "$%s", s->triggers[arg->trigger].vars[arg->var].name);
		else
			fputs(field_name(s, t->event, arg->field), out);
	}
	fputc(')', out);
}

static void print_filter(const struct script *s, const struct rule *t, FILE *out)
{
	const struct condition *f = &t->filter;

	if (f->field == F_NAME)
		fprintf(out, " if name %s \"%s%s\"", f->op, f->text, *f->op == '~' ? "*" : "");
	else if (f->field != F_HITCOUNT)
		fprintf(out, " if %s %s %" PRId64, field_name(s, t->event, f->field), f->op,
			f->number);
	if (f->field != F_HITCOUNT && f->join)
		fprintf(out, "%suu > %" PRId64, f->join, f->other);
}

static bool reads_time(const struct rule *t)
{
	for (unsigned int i = 0; i < t->nr_vars; i++)
		if (t->vars[i].copies == F_HITCOUNT && t->vars[i].expr.terms[0].kind == TERM_TIME)
			return true;
	return false;
}

static unsigned int size_shown(const struct rule *t)
{
	unsigned int size = 2048;

	if (t->size)
		for (size = 128; size < t->size;)
			size *= 2;
	return size;
}

void print_command(const struct script *s, const struct rule *t, bool canonical, FILE *out)
{
	fputs("hist:keys=", out);
	for (unsigned int i = 0; i < t->nr_keys; i++) {
		fputs(i ? "," : "", out);
		print_key(s, t, &t->keys[i], out);
	}
	if (canonical || t->nr_vals)
		fprintf(out, ":vals=%s", canonical ? "hitcount" : "");
	for (unsigned int i = 0; i < t->nr_vals; i++) {
		fputs(canonical || i ? "," : "", out);
		print_val(s, t, i, out);
	}
	for (unsigned int i = 0; i < t->nr_vars; i++)
		print_var(s, t, &t->vars[i], canonical && i, out);
	print_sort(s, t, canonical, out);
	if (canonical)
		fprintf(out, ":size=%u%s", size_shown(t), reads_time(t) ? ":clock=global" : "");
	else if (t->size)
		fprintf(out, ":size=%u", t->size);
	for (unsigned int i = 0; i < t->nr_actions; i++)
		print_action(s, t, &t->actions[i], out);
	print_filter(s, t, out);
}
