/* SPDX-License-Identifier: MIT */
/*
 * interpret.c - a simple implementation of a script's triggers
 *
 * The entries of a histogram are a list, which is searched from its start. A hit goes through a
 * trigger in the order of the kernel's documentation:
 *
 *     filter; key; read the other histograms' variables under that key (one
 *     that is not set ends it; one in an expression is unset by it); entry;
 *     sums and variables; actions
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "language.h"

struct value {
	uint64_t	number;
	char		text[NAME_SIZE];
};

struct entry {
	struct value	keys[KEYS_MAX];
	uint64_t	hits, sums[VALS_MAX];
	struct value	vars[VARS_MAX];
	bool		set[VARS_MAX];
	uint64_t	tracked[ACTIONS_MAX];
	bool		saved;
	struct value	saves[ARGS_MAX];
	char		comm[NAME_SIZE];
};

struct table {
	struct entry	*entries;
	size_t		nr, room, max;
	uint64_t	hits, dropped;
	bool		paused;
};

struct expected {
	const struct script *s;
	struct table	tables[TRIGGERS_MAX];
};

/* An event when it happens: a record, or the values of the synthetic event. */
struct moment {
	int		event;
	const struct stimulus *of;
	struct value	synthetic[SYN_FIELDS_MAX];
};

struct expected *expected_create(const struct script *s)
{
	struct expected *w = calloc(1, sizeof(*w));

	w->s = s;
	for (unsigned int i = 0; i < s->nr; i++) {
		size_t max = 2048;

		if (s->triggers[i].size)
			for (max = 128; max < s->triggers[i].size;)
				max *= 2;
		w->tables[i].max = max;
	}
	return w;
}

void expected_destroy(struct expected *w)
{
	for (unsigned int i = 0; i < w->s->nr; i++)
		free(w->tables[i].entries);
	free(w);
}

/* ---- Values ---- */

static uint64_t number_of(const struct moment *m, enum operand f)
{
	const struct record *r = &m->of->record;

	switch (f) {
	case F_X:	return (uint64_t)(int64_t)r->x;
	case F_U:	return r->u;
	case F_W:	return r->w;
	case F_OWN:	return (uint64_t)(int64_t)r->own;
	case F_PID:	return (uint64_t)(int64_t)r->pid;
	case F_CPU:	return m->of->cpu;
	default:	return m->synthetic[f - F_SYN].number;
	}
}

static bool is_text(const struct script *s, enum operand f)
{
	return f == F_NAME || (f >= F_SYN && f < F_HITCOUNT &&
			       !strcmp(argument_type(s, &s->syn[f - F_SYN]), "char"));
}

static struct value value_of(const struct script *s, const struct moment *m, enum operand f)
{
	struct value v = { 0 };

	if (is_text(s, f))
		strcpy(v.text, f == F_NAME ? m->of->record.name : m->synthetic[f - F_SYN].text);
	else
		v.number = number_of(m, f);
	return v;
}

static uint64_t log2_up(uint64_t n)
{
	uint64_t bits = 0;

	while (bits < 64 && (1ull << bits) < n)
		bits++;
	return bits;
}

static struct value key_of(const struct script *s, const struct moment *m, const struct key *k)
{
	struct value v = value_of(s, m, k->field);

	if (k->modifier == LOG2)
		v.number = log2_up(v.number);
	if (k->modifier == BUCKETS)
		v.number -= v.number % k->bucket;
	return v;
}

static bool compare_number(int64_t a, const char *op, int64_t b)
{
	if (!strcmp(op, "=="))
		return a == b;
	if (!strcmp(op, "!="))
		return a != b;
	if (*op == '<')
		return op[1] ? a <= b : a < b;
	return op[1] ? a >= b : a > b;
}

static bool passes_first(const struct condition *f, const struct moment *m)
{
	if (f->field != F_NAME)
		return compare_number((int64_t)number_of(m, f->field), f->op, f->number);
	if (*f->op == '~')
		return !strncmp(m->of->record.name, f->text, strlen(f->text));
	return !strcmp(m->of->record.name, f->text) == (*f->op == '=');
}

static bool passes(const struct condition *f, const struct moment *m)
{
	bool other = f->join && m->of->record.u > (uint64_t)f->other;

	if (f->field == F_HITCOUNT)
		return true;
	if (f->join && f->join[1] == '|')
		return passes_first(f, m) || other;
	return passes_first(f, m) && (!f->join || other);
}

/* ---- Expressions: * and / before + and -, from left to right ---- */

static uint64_t divide(uint64_t a, uint64_t b, bool constant)
{
	if (!b)
		return UINT64_MAX;
	if (!constant || !(b & (b - 1)) || a >= 1 << 20 || b >= 1 << 20)
		return a / b;
	return (a * ((1 << 20) / b) + (1 << 20) - 1) >> 20;
}

static uint64_t term_value(const struct expr *e, const struct term *t, const struct moment *m,
			   uint64_t referenced)
{
	switch (t->kind) {
	case TERM_FIELD:	return number_of(m, t->field);
	case TERM_CONST:	return t->value;
	case TERM_TIME:		return e->usecs ? (m->of->time + 500) / 1000 : m->of->time;
	default:		return referenced;
	}
}

static uint64_t expr_value(const struct expr *e, const struct moment *m, uint64_t referenced)
{
	uint64_t sum = 0, product = 0;
	bool minus = false;

	for (unsigned int i = 0; i < e->nr; i++) {
		const struct term *t = &e->terms[i];
		uint64_t v = term_value(e, t, m, referenced);

		if (t->op == '*') {
			product *= v;
		} else if (t->op == '/') {
			product = divide(product, v, t->kind == TERM_CONST);
		} else {
			sum += minus ? -product : product;
			product = v;
			minus = t->op == '-';
		}
	}
	sum += minus ? -product : product;
	return e->negated ? -sum : sum;
}

/* ---- Entries ---- */

static struct entry *find(struct table *t, const struct value *keys, unsigned int nr)
{
	for (size_t i = 0; i < t->nr; i++) {
		bool same = true;

		for (unsigned int k = 0; k < nr; k++)
			same &= t->entries[i].keys[k].number == keys[k].number &&
				!strcmp(t->entries[i].keys[k].text, keys[k].text);
		if (same)
			return &t->entries[i];
	}
	return NULL;
}

static struct entry *find_or_add(struct table *t, const struct value *keys, unsigned int nr,
				 const char *comm)
{
	struct entry *e = find(t, keys, nr);

	if (!e && t->nr == t->max) {
		t->dropped++;
		return NULL;
	}
	t->hits++;
	if (e)
		return e;
	if (t->nr == t->room) {
		t->room = t->room ? 2 * t->room : 16;
		t->entries = realloc(t->entries, t->room * sizeof(*t->entries));
		if (!t->entries)
			abort();
	}
	e = &t->entries[t->nr++];
	*e = (struct entry){ .hits = 0 };
	memcpy(e->keys, keys, nr * sizeof(*keys));
	snprintf(e->comm, sizeof(e->comm), "%s", comm);
	return e;
}

/* ---- Triggers ---- */

/* The one reference of an expression, and the one that arguments may have. */
struct references {
	struct value	in_expr;	/* the value that the expression's reference had */
	/* Value of the hidden trigger's variable, or of the setter's text. */
	struct value	matched;
};

static int hidden_of(const struct script *s)
{
	for (unsigned int i = 0; i < s->nr; i++)
		if (s->triggers[i].hidden)
			return (int)i;
	return -1;
}

/* Finds the trigger and variable from which an argument takes a value of the matched event. */
static bool of_matched(const struct script *s, const struct argument *a, int *trigger, int *var)
{
	*trigger = a->is_var ? 0 : hidden_of(s);
	*var = a->is_var ? 1 : 0;
	return a->is_var ? a->trigger == 0 && a->var == 1 : a->field == F_MATCHED;
}

static bool read_var(struct expected *w, int trigger, int var, const struct value *keys, bool once,
		     struct value *value)
{
	struct entry *e = find(&w->tables[trigger], keys, w->s->triggers[trigger].nr_keys);

	if (!e || !e->set[var])
		return false;
	*value = e->vars[var];
	if (once)
		e->set[var] = false;
	return true;
}

static bool resolve(struct expected *w, const struct rule *t, const struct value *keys,
		    struct references *refs)
{
	for (unsigned int i = 0; i < t->nr_vars; i++) {
		const struct expr *e = &t->vars[i].expr;

		for (unsigned int k = 0; k < e->nr; k++)
			if (e->terms[k].kind == TERM_VAR &&
			    !read_var(w, e->terms[k].trigger, e->terms[k].var, keys, e->nr > 1,
				      &refs->in_expr))
				return false;
	}
	for (unsigned int i = 0; i < t->nr_actions; i++)
		for (unsigned int k = 0; k < t->actions[i].nr_args; k++) {
			int trigger, var;

			if (of_matched(w->s, &t->actions[i].args[k], &trigger, &var) &&
			    !read_var(w, trigger, var, keys, false, &refs->matched))
				return false;
		}
	return true;
}

static void fire(struct expected *w, const struct moment *m);

static struct value typed(const struct script *s, const struct argument *a, struct value v)
{
	const char *type = argument_type(s, a);

	if (!strcmp(type, "int"))
		v.number = (uint64_t)(int64_t)(int32_t)v.number;
	else if (!strcmp(type, "unsigned int"))
		v.number = (uint32_t)v.number;
	return v;
}

static void trace(struct expected *w, const struct action *a, const struct entry *e,
		  const struct moment *m, const struct references *refs)
{
	struct moment made = { .event = EVENT_SYN, .of = m->of };

	for (unsigned int i = 0; i < a->nr_args; i++) {
		const struct argument *arg = &a->args[i];
		struct value v;
		int trigger, var;

		if (of_matched(w->s, arg, &trigger, &var))
			v = refs->matched;
		else
			v = arg->is_var ? e->vars[arg->var] : value_of(w->s, m, arg->field);
		made.synthetic[i] = typed(w->s, &w->s->syn[i], v);
	}
	fire(w, &made);
}

static void act(struct expected *w, const struct rule *t, struct entry *e, const struct moment *m,
		const struct references *refs)
{
	for (unsigned int i = 0; i < t->nr_actions; i++) {
		const struct action *a = &t->actions[i];
		uint64_t v = e->vars[a->var].number;

		if (a->handler == ONMAX && v <= e->tracked[i])
			continue;
		if (a->handler == ONCHANGE && v == e->tracked[i])
			continue;
		e->tracked[i] = v;
		if (a->verb == TRACE) {
			trace(w, a, e, m, refs);
			continue;
		}
		e->saved = true;
		for (unsigned int k = 0; k < a->nr_args; k++)
			e->saves[k] = value_of(w->s, m, a->args[k].field);
	}
}

static bool signed_field(const struct script *s, enum operand f)
{
	if (f >= F_SYN && f < F_HITCOUNT)
		return !strcmp(argument_type(s, &s->syn[f - F_SYN]), "int");
	return f == F_X || f == F_OWN || f == F_PID;
}

static int three_way(uint64_t a, uint64_t b, bool is_signed)
{
	if (is_signed)
		return (int64_t)a < (int64_t)b ? -1 : (int64_t)a > (int64_t)b;
	return a < b ? -1 : a > b;
}

/* `e->hits` counts this hit already. */
static void keep(const struct script *s, const struct rule *t, struct entry *e, unsigned int val,
		 uint64_t v)
{
	const int order = three_way(v, e->sums[val], signed_field(s, t->vals[val]));

	if (t->kept[val] == KEPT_SUM || t->kept[val] == KEPT_AVG)
		e->sums[val] += v;
	else if (e->hits == 1 || (t->kept[val] == KEPT_MIN ? order < 0 : order > 0))
		e->sums[val] = v;
}

static uint64_t kept_value(const struct script *s, const struct rule *t, const struct entry *e,
			   unsigned int val)
{
	if (t->kept[val] != KEPT_AVG)
		return e->sums[val];
	return signed_field(s, t->vals[val]) ? (uint64_t)((int64_t)e->sums[val] / (int64_t)e->hits)
					     : e->sums[val] / e->hits;
}

static void hit_trigger(struct expected *w, int index, const struct moment *m)
{
	const struct rule *t = &w->s->triggers[index];
	struct value keys[KEYS_MAX];
	struct references refs = { 0 };
	struct entry *e;

	if (w->tables[index].paused || !passes(&t->filter, m))
		return;
	for (unsigned int i = 0; i < t->nr_keys; i++)
		keys[i] = key_of(w->s, m, &t->keys[i]);
	if (!resolve(w, t, keys, &refs))
		return;
	e = find_or_add(&w->tables[index], keys, t->nr_keys, m->of->comm);
	if (!e)
		return;
	e->hits++;
	for (unsigned int i = 0; i < t->nr_vals; i++)
		keep(w->s, t, e, i, number_of(m, t->vals[i]));
	for (unsigned int i = 0; i < t->nr_vars; i++) {
		const struct var *v = &t->vars[i];

		e->vars[i] = v->copies != F_HITCOUNT ? value_of(w->s, m, v->copies) :
			(struct value){ .number = expr_value(&v->expr, m, refs.in_expr.number) };
		e->set[i] = true;
	}
	act(w, t, e, m, &refs);
}

static void fire(struct expected *w, const struct moment *m)
{
	for (unsigned int i = 0; i < w->s->nr; i++)
		if (w->s->triggers[i].event == m->event)
			hit_trigger(w, (int)i, m);
}

void expected_stimulus(struct expected *w, const struct stimulus *e)
{
	struct table *t = &w->tables[e->trigger];
	struct moment m = { .event = e->record.type - ID_A, .of = e };

	if (!e->command) {
		fire(w, &m);
	} else if (!strcmp(e->command, "clear")) {
		t->nr = 0;
		t->hits = t->dropped = 0;
	} else {
		t->paused = !strcmp(e->command, "pause");
	}
}

/* ---- Text ---- */

struct sorting {
	const struct script *s;
	const struct rule *t;
};

static int compare_entries(const void *a, const void *b, void *arg)
{
	const struct entry *x = a, *y = b;
	const struct sorting *how = arg;
	static const struct sort by_hits = { .hitcount = true };

	for (unsigned int i = 0; i < (how->t->nr_sort ? how->t->nr_sort : 1); i++) {
		const struct sort *s = how->t->nr_sort ? &how->t->sort[i] : &by_hits;
		int c;

		if (s->hitcount)
			c = three_way(x->hits, y->hits, false);
		else if (!s->is_key)
			c = three_way(kept_value(how->s, how->t, x, s->index),
				      kept_value(how->s, how->t, y, s->index),
				      how->t->kept[s->index] != KEPT_SUM &&
				      signed_field(how->s, how->t->vals[s->index]));
		else if (is_text(how->s, how->t->keys[s->index].field))
			c = strcmp(x->keys[s->index].text, y->keys[s->index].text);
		else
			c = three_way(x->keys[s->index].number, y->keys[s->index].number,
				      signed_field(how->s, how->t->keys[s->index].field));
		if (c)
			return s->descending ? -c : c;
	}
	return 0;
}

static void print_key_value(const struct script *s, const struct rule *t, unsigned int i,
			    const struct entry *e, FILE *out)
{
	const struct key *k = &t->keys[i];
	uint64_t v = e->keys[i].number;

	fprintf(out, "%s%s: ", i ? ", " : "", field_name(s, t->event, k->field));
	if (is_text(s, k->field))
		fprintf(out, "%-50s", e->keys[i].text);
	else if (k->modifier == HEX)
		fprintf(out, "%" PRIx64, v);
	else if (k->modifier == LOG2)
		fprintf(out, "~ 2^%-2" PRIu64, v);
	else if (k->modifier == BUCKETS)
		fprintf(out, "~ %" PRIu64 "-%" PRIu64, v, v + k->bucket - 1);
	else if (k->modifier == EXECNAME)
		fprintf(out, "%-16s[%10" PRIu64 "]", e->comm, v);
	else
		fprintf(out, "%10" PRIu64, v);
}

static void print_tracked(const struct script *s, const struct rule *t, const struct entry *e,
			  FILE *out)
{
	const struct action *save = NULL;

	for (unsigned int i = 0; i < t->nr_actions; i++)
		if (t->actions[i].verb == SAVE)
			save = &t->actions[i];
	for (unsigned int i = 0; i < t->nr_actions; i++) {
		if (t->actions[i].handler == ONMATCH)
			continue;
		fprintf(out, "\n\t%s: %10" PRIu64,
			t->actions[i].handler == ONMAX ? "max" : "changed", e->tracked[i]);
		for (unsigned int k = 0; save && k < save->nr_args; k++) {
			fprintf(out, "  %s: ", field_name(s, t->event, save->args[k].field));
			if (save->args[k].field == F_NAME)
				fprintf(out, "%-32s", e->saved ? e->saves[k].text : "(null)");
			else
				fprintf(out, "%10" PRIu64, e->saves[k].number);
		}
	}
}

static void print_kept(const struct script *s, const struct rule *t, const struct entry *e,
		       unsigned int val, FILE *out)
{
	static const char *const words[] = { "", " (min)", " (max)", " (avg)" };
	const uint64_t v = kept_value(s, t, e, val);

	fprintf(out, "  %s%s: ", field_name(s, t->event, t->vals[val]), words[t->kept[val]]);
	if (t->kept[val] != KEPT_SUM && signed_field(s, t->vals[val]))
		fprintf(out, "%10" PRId64, (int64_t)v);
	else
		fprintf(out, "%10" PRIu64, v);
}

static void print_entry(const struct script *s, const struct rule *t, const struct entry *e,
			FILE *out)
{
	fputs("{ ", out);
	for (unsigned int i = 0; i < t->nr_keys; i++)
		print_key_value(s, t, i, e, out);
	fprintf(out, " } hitcount: %10" PRIu64, e->hits);
	for (unsigned int i = 0; i < t->nr_vals; i++)
		print_kept(s, t, e, i, out);
	print_tracked(s, t, e, out);
	fputc('\n', out);
}

struct shown *expected_entries(struct expected *w, int trigger, size_t *nr)
{
	struct table *t = &w->tables[trigger];
	struct sorting how = { .s = w->s, .t = &w->s->triggers[trigger] };
	struct shown *out = calloc(t->nr + 1, sizeof(*out));

	if (t->nr)
		qsort_r(t->entries, t->nr, sizeof(*t->entries), compare_entries, &how);
	for (size_t i = 0; i < t->nr; i++) {
		size_t size;
		FILE *f = open_memstream(&out[i].text, &size);

		print_entry(w->s, how.t, &t->entries[i], f);
		fclose(f);
		if (i)
			out[i].rank = out[i - 1].rank +
				      !!compare_entries(&t->entries[i - 1], &t->entries[i], &how);
	}
	*nr = t->nr;
	return out;
}

uint64_t expected_hits(const struct expected *w, int trigger)
{
	return w->tables[trigger].hits;
}

bool expected_paused(const struct expected *w, int trigger)
{
	return w->tables[trigger].paused;
}

void expected_totals(struct expected *w, int trigger, FILE *out)
{
	const struct table *t = &w->tables[trigger];

	fprintf(out,
		"\nTotals:\n    Hits: %" PRIu64 "\n    Entries: %zu\n    Dropped: %" PRIu64 "\n",
		t->hits, t->nr, t->dropped);
}
