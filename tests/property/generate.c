/* SPDX-License-Identifier: MIT */
/*
 * generate.c - random scripts and streams of events
 */
#include <string.h>

#include "language.h"

uint64_t random_next(struct random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15ull;		/* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

unsigned int random_below(struct random *r, unsigned int limit)
{
	return (unsigned int)(random_next(r) % limit);
}

static bool one_in(struct random *r, unsigned int n)
{
	return random_below(r, n) == 0;
}

static enum operand number_field(struct random *r)
{
	static const enum operand fields[] = { F_X, F_U, F_W, F_OWN };

	return fields[random_below(r, 4)];
}

/* ---- Keys, values, order, filter ---- */

static bool has_field(const struct rule *t, enum operand f)
{
	for (unsigned int i = 0; i < t->nr_keys; i++)
		if (t->keys[i].field == f)
			return true;
	for (unsigned int i = 0; i < t->nr_vals; i++)
		if (t->vals[i] == f)
			return true;
	return false;
}

/* Uses log2 and buckets only for values that are never 0 or negative. */
static struct key random_key(struct random *r)
{
	static const enum operand fields[] = { F_X, F_U, F_W, F_NAME, F_OWN, F_PID, F_CPU };
	struct key k = { .field = fields[random_below(r, 7)] };

	if (k.field == F_PID && one_in(r, 2))
		k.modifier = EXECNAME;
	if (k.field == F_U || k.field == F_W)
		k.modifier = (enum modifier)random_below(r, 4);
	else if (k.field == F_X && one_in(r, 4))
		k.modifier = HEX;
	if (k.modifier == BUCKETS)
		k.bucket = 1 + random_below(r, 40);
	return k;
}

static void random_keys(struct random *r, struct rule *t, bool apart)
{
	static const enum operand of_writer[] = { F_X, F_U, F_W };
	unsigned int nr = 1 + random_below(r, KEYS_MAX);

	if (apart)
		t->keys[t->nr_keys++] = (struct key){ .field = of_writer[random_below(r, 3)] };
	while (t->nr_keys < nr) {
		struct key k = random_key(r);

		if (!has_field(t, k.field))
			t->keys[t->nr_keys++] = k;
	}
}

static void random_vals(struct random *r, struct rule *t)
{
	for (unsigned int n = random_below(r, VALS_MAX); n; n--) {
		enum operand f = number_field(r);

		if (has_field(t, f))
			continue;
		t->kept[t->nr_vals] = one_in(r, 2) ? KEPT_SUM : random_below(r, KEPT_AVG + 1);
		t->vals[t->nr_vals++] = f;
	}
}

static void random_sort(struct random *r, struct rule *t)
{
	unsigned int nr = random_below(r, SORT_MAX + 1);

	for (unsigned int i = 0; i < nr; i++) {
		unsigned int n = random_below(r, 1 + t->nr_keys + t->nr_vals);
		struct sort s = { .hitcount = n == 0, .descending = one_in(r, 2) };

		s.is_key = n && n <= t->nr_keys;
		s.index = n - 1 - (s.is_key || !n ? 0 : t->nr_keys);
		if (i && s.hitcount == t->sort[0].hitcount && s.is_key == t->sort[0].is_key &&
		    s.index == t->sort[0].index)
			break;
		t->sort[t->nr_sort++] = s;
	}
}

static const char *const names[] = { "alpha",	       "beta", "gamma", "delta",
				    "fifteen-letters", "b", "al", "" };

static void random_filter(struct random *r, struct rule *t)
{
	static const char *const ops[] = { "==", "!=", "<", "<=", ">", ">=" };

	t->filter.field = F_HITCOUNT;
	if (!one_in(r, 3))
		return;
	t->filter.field = one_in(r, 4) ? F_NAME : one_in(r, 2) ? F_X : F_U;
	t->filter.op = ops[random_below(r, t->filter.field == F_NAME ? 2 : 6)];
	if (t->filter.field == F_NAME && one_in(r, 3))
		t->filter.op = "~";
	if (one_in(r, 3))
		t->filter.join = one_in(r, 2) ? " && " : " || ";
	t->filter.other = random_below(r, 8);
	t->filter.number = 1 + (int64_t)random_below(r, 20) - (t->filter.field == F_X ? 8 : 0);
	strcpy(t->filter.text, names[random_below(r, 7)]);
}

/* ---- Expressions ---- */

static struct term field_term(struct random *r)
{
	return (struct term){ .kind = TERM_FIELD, .field = number_field(r) };
}

/*
 * The kernel takes any minus as the operator of the whole expression, which then has more than one
 * operand.
 */
static bool subtracts(const struct expr *e)
{
	for (unsigned int i = 0; i < e->nr; i++)
		if (e->terms[i].op == '-')
			return true;
	return false;
}

/* Uses at most one constant, because the kernel folds two. */
static void random_terms(struct random *r, struct expr *e, unsigned int nr)
{
	bool constant = false;

	while (e->nr < nr) {
		struct term t = field_term(r);

		if (!constant && one_in(r, 3)) {
			constant = true;
			t = (struct term){ .kind = TERM_CONST,
					   .value = 1 +
						    random_below(r, one_in(r, 4) ? 3000000 : 40) };
		}
		t.op = e->nr ? "+-*/"[random_below(r, 4)] : 0;
		e->terms[e->nr++] = t;
	}
	e->negated = e->nr > 1 && one_in(r, 8) && !subtracts(e);
}

static struct var *add_var(struct rule *t, const char *name)
{
	struct var *v = &t->vars[t->nr_vars++];

	*v = (struct var){ .copies = F_HITCOUNT };
	strcpy(v->name, name);
	return v;
}

static void time_var(struct rule *t, const char *name, bool usecs)
{
	struct var *v = add_var(t, name);

	v->expr = (struct expr){ .nr = 1, .terms = { { .kind = TERM_TIME } }, .usecs = usecs };
}

/* ---- Actions ---- */

static struct argument field_argument(enum operand f)
{
	return (struct argument){ .field = f };
}

static void save_fields(struct random *r, struct action *a)
{
	static const enum operand fields[] = { F_NAME, F_X, F_U, F_W, F_OWN };
	unsigned int first = random_below(r, 5), nr = 1 + random_below(r, 3);

	a->verb = SAVE;
	for (unsigned int i = 0; i < nr; i++)
		a->args[a->nr_args++] = field_argument(fields[(first + i) % 5]);
}

/*
 * Whether the kernel can copy the keys for the matched event's fields. It refuses the form in which
 * it prints buckets itself.
 */
static bool copies_keys(const struct rule *t)
{
	for (unsigned int i = 0; i < t->nr_keys; i++)
		if (t->keys[i].modifier == BUCKETS)
			return false;
	return t->event == EVENT_B;
}

/* The first trace() decides the fields of the synthetic event; others have the same. */
static void trace_fields(struct random *r, struct script *s, struct action *a, int trigger)
{
	static const enum operand fields[] = { F_NAME, F_X, F_U, F_W, F_OWN };
	unsigned int first = random_below(r, 5), nr = random_below(r, 3);

	a->verb = TRACE;
	if (!s->nr_syn) {
		s->syn[s->nr_syn++] = (struct argument){ .is_var = true, .trigger = trigger };
		for (unsigned int i = 0; i < nr; i++)
			s->syn[s->nr_syn++] = field_argument(fields[(first + i) % 5]);
		if (a->handler == ONMATCH && s->triggers[0].nr_vars > 1)
			s->syn[s->nr_syn++] =
				(struct argument){ .is_var = true, .trigger = 0, .var = 1 };
		else if (a->handler == ONMATCH && copies_keys(&s->triggers[trigger]) &&
			 one_in(r, 3))
			s->syn[s->nr_syn++] = field_argument(F_MATCHED);
	}
	for (unsigned int i = 0; i < s->nr_syn; i++)
		a->args[a->nr_args++] = s->syn[i];
}

/*
 * Whether only an onmatch() can make the synthetic event: it uses a field or the text variable of
 * the matched event.
 */
static bool uses_matched(const struct script *s)
{
	const struct argument *last = s->nr_syn ? &s->syn[s->nr_syn - 1] : NULL;

	return last &&
	       (last->is_var ? last->trigger == 0 && last->var == 1 : last->field == F_MATCHED);
}

static bool uses_hidden(const struct script *s)
{
	return uses_matched(s) && !s->syn[s->nr_syn - 1].is_var;
}

static void random_actions(struct random *r, struct script *s, int trigger, bool matches)
{
	struct rule *t = &s->triggers[trigger];
	bool saved = false;

	for (unsigned int n = 1 + random_below(r, ACTIONS_MAX); n; n--) {
		struct action a = { .handler = matches && one_in(r, 2) ? ONMATCH
					      : one_in(r, 2)	      ? ONMAX
								      : ONCHANGE };

		/* The kernel refuses a second onmatch if references are not qualified. */
		if (a.handler == ONMATCH && t->nr_actions && t->actions[0].handler == ONMATCH)
			continue;
		if (a.handler == ONMATCH && t->nr_actions)
			a.handler = ONMAX;
		if (a.handler == ONMATCH || saved || (one_in(r, 2) && !uses_matched(s))) {
			if (a.handler != ONMATCH && uses_matched(s))
				continue;
			trace_fields(r, s, &a, trigger);
		} else {
			save_fields(r, &a);
			saved = true;
		}
		t->actions[t->nr_actions++] = a;
	}
}

/* ---- Triggers ---- */

static struct rule *add_trigger(struct script *s, int event)
{
	struct rule *t = &s->triggers[s->nr++];

	*t = (struct rule){ .event = event, .filter = { .field = F_HITCOUNT } };
	return t;
}

static void plain_trigger(struct random *r, struct script *s, bool crowded)
{
	struct rule *t = add_trigger(s, EVENT_C);

	random_keys(r, t, false);
	random_vals(r, t);
	random_sort(r, t);
	random_filter(r, t);
	if (crowded)
		t->size = one_in(r, 2) ? 128 : 1000;
}

/* A trigger without references: an expression, and onmax or onchange. */
static void tracking_trigger(struct random *r, struct script *s, int event, bool apart)
{
	int index = (int)s->nr;
	struct rule *t = add_trigger(s, event);

	random_keys(r, t, apart);
	random_vals(r, t);
	random_sort(r, t);
	random_filter(r, t);
	random_terms(r, &add_var(t, "d")->expr, 1 + random_below(r, 3));
	random_actions(r, s, index, false);
}

static void reference(struct expr *e, int trigger, int var, char op)
{
	e->terms[e->nr++] =
		(struct term){ .kind = TERM_VAR, .trigger = trigger, .var = var, .op = op };
}

/* Makes d=common_timestamp-$t, d=...$v..., or d=$v, which does not use the variable up. */
static void random_reference(struct random *r, struct rule *t, const struct rule *setter)
{
	struct expr *e = &add_var(t, "d")->expr;

	if (setter->vars[0].expr.terms[0].kind == TERM_TIME) {
		*e = (struct expr){ .nr = 1, .terms = { { .kind = TERM_TIME } },
			.usecs = setter->vars[0].expr.usecs };
		reference(e, 0, 0, '-');
		return;
	}
	if (one_in(r, 4)) {
		reference(e, 0, 0, 0);
		return;
	}
	random_terms(r, e, 1 + random_below(r, 2));
	e->negated = false;
	reference(e, 0, 0, "+-*"[random_below(r, 3)]);
}

static void hidden_trigger(struct script *s)
{
	const struct rule *setter = &s->triggers[0];
	struct rule *t = add_trigger(s, EVENT_A);
	struct var *v;

	t->hidden = true;
	t->nr_keys = setter->nr_keys;
	memcpy(t->keys, setter->keys, sizeof(t->keys));
	t->filter = setter->filter;
	v = add_var(t, "synthetic_oa");
	v->copies = F_OWN;
}

static void pair(struct random *r, struct script *s, bool apart)
{
	struct rule *setter = add_trigger(s, EVENT_A), *t;

	random_keys(r, setter, apart);
	random_vals(r, setter);
	random_sort(r, setter);
	random_filter(r, setter);
	if (one_in(r, 2))
		time_var(setter, "t", one_in(r, 2));
	else
		random_terms(r, &add_var(setter, "v")->expr, 1 + random_below(r, 3));
	/* The kernel would fold a constant into its references. */
	if (setter->vars[0].expr.nr == 1 && setter->vars[0].expr.terms[0].kind == TERM_CONST)
		setter->vars[0].expr.terms[0] = field_term(r);
	if (one_in(r, 3))
		add_var(setter, "text")->copies = F_NAME;
	/* The kernel accepts both, and both are tested. */
	t = add_trigger(s, one_in(r, 6) ? EVENT_A : EVENT_B);
	t->nr_keys = setter->nr_keys;
	memcpy(t->keys, setter->keys, sizeof(t->keys));
	random_vals(r, t);
	random_sort(r, t);
	random_filter(r, t);
	random_reference(r, t, setter);
	random_actions(r, s, 1, true);
	if (uses_hidden(s))
		hidden_trigger(s);
}

/* The synthetic event's own histograms. */
static void synthetic_trigger(struct random *r, struct script *s)
{
	struct rule *t = add_trigger(s, EVENT_SYN);
	unsigned int first = random_below(r, s->nr_syn), nr = 1 + random_below(r, s->nr_syn);

	for (unsigned int i = 0; i < nr && i < KEYS_MAX; i++)
		t->keys[t->nr_keys++] = (struct key){ .field = F_SYN + (first + i) % s->nr_syn };
	for (unsigned int i = nr; i < s->nr_syn && t->nr_vals < VALS_MAX - 1; i++) {
		const struct argument *a = &s->syn[(first + i) % s->nr_syn];

		if (strcmp(argument_type(s, a), "char"))
			t->vals[t->nr_vals++] = F_SYN + (first + i) % s->nr_syn;
	}
	random_sort(r, t);
}

static bool same_trigger(const struct rule *a, const struct rule *b)
{
	bool same = a->event == b->event && a->nr_keys == b->nr_keys && a->nr_vals == b->nr_vals;

	for (unsigned int i = 0; same && i < a->nr_keys; i++)
		same = a->keys[i].field == b->keys[i].field;
	return same;
}

/*
 * Drops triggers that the kernel refuses as existing, because they are too similar to another one
 * of the event.
 */
static void drop_doubles(struct script *s)
{
	for (unsigned int i = 1; i < s->nr; i++)
		for (unsigned int k = 0; k < i; k++)
			if (s->triggers[i].event == EVENT_C &&
			    same_trigger(&s->triggers[i], &s->triggers[k])) {
				memmove(&s->triggers[i], &s->triggers[i + 1],
					(s->nr - i - 1) * sizeof(s->triggers[0]));
				s->nr--;
				i--;
				break;
			}
}

void generate_script(struct random *r, unsigned int writers, struct script *out)
{
	unsigned int kind = random_below(r, 10);

	*out = (struct script){ .seed = r->state };
	if (kind < 7)
		pair(r, out, writers > 1);
	else if (kind < 9)
		tracking_trigger(r, out, EVENT_B, writers > 1);
	for (unsigned int n = kind < 9 ? random_below(r, 2) : 1 + random_below(r, 3); n; n--)
		plain_trigger(r, out, writers == 1);
	if (out->nr_syn)
		synthetic_trigger(r, out);
	drop_doubles(out);
}

/* ---- Streams ---- */

static uint64_t random_number(struct random *r, unsigned int spread, unsigned int writer,
			      unsigned int writers)
{
	return random_below(r, spread) * writers + writer;
}

static bool random_command(struct random *r, const struct script *s, struct stimulus *e)
{
	static const char *const commands[] = { "pause", "cont", "clear" };

	if (!one_in(r, 40))
		return false;
	e->trigger = (int)random_below(r, s->nr);
	/* With variables the kernel takes the command as a second definition of them. */
	if (s->triggers[e->trigger].nr_vars)
		return false;
	e->command = commands[random_below(r, 3)];
	return true;
}

struct stimulus generate_stimulus(struct random *r, const struct script *s, unsigned int writer,
				  unsigned int writers, uint64_t time)
{
	struct stimulus e = { .time = time, .cpu = writers > 1 ? writer : random_below(r, 2) };
	unsigned int spread = s->seed % 16 == 3 ? 100 : 5;
	int event = (int)random_below(r, 3);

	if (writers == 1 && random_command(r, s, &e))
		return e;
	e.record = (struct record){ .type = (uint16_t)(ID_A + event), .flags = 0,
		.pid = (int32_t)(50 + random_number(r, 3, writer, writers)),
		.x = (int32_t)random_number(r, spread, writer, writers) - (int32_t)writers * 2,
		.u = (uint32_t)(writers + random_number(r, spread, writer, writers)),
		.w = writers + random_number(r, spread, writer, writers) +
		     (one_in(r, 10) ? (uint64_t)writers << (20 + random_below(r, 15)) : 0),
		.own = (int32_t)random_below(r, 7) - 3 };
	strcpy(e.record.name, names[random_below(r, 7)]);
	snprintf(e.comm, sizeof(e.comm), "task-%d", (int)e.record.pid);
	return e;
}
