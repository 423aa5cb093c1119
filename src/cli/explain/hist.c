/* SPDX-License-Identifier: MIT */
/* hist.c - explains a histogram trigger, part by part */
#include <stdlib.h>
#include <string.h>

#include "cli/explain/explain.h"
#include "model/hist/percentiles.h"
#include "model/text_memory.h"

/* The parts between the colons, by their kind. */
struct hist_parts {
	struct explain_parts keys, vals, sort, vars, actions;
	char		*size, *name, *clock, *percents;
	bool		pause, cont, clear, no_hitcount;
	struct explain_parts unknown;
};

/* The text behind "NAME="; NULL: the part is another one. */
static const char *explain_hist_value_of(const char *part, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(part, name, n) && part[n] == '=' ? part + n + 1 : NULL;
}

static bool is_action(const char *part)
{
	return !strncmp(part, "onmatch(", 8) || !strncmp(part, "onmax(", 6) ||
	       !strncmp(part, "onchange(", 9);
}

static void sort_assignment(struct hist_parts *h, const char *part)
{
	static const char *const keys[] = { "key", "keys", NULL }, *const vals[] = { "val", "vals",
										  "values", NULL };
	const char *value;

	for (const char *const *k = keys; *k; k++) {
		value = explain_hist_value_of(part, *k);
		if (value) {
			explain_split(value, ',', &h->keys);
			return;
		}
	}
	for (const char *const *v = vals; *v; v++) {
		value = explain_hist_value_of(part, *v);
		if (value) {
			explain_split(value, ',', &h->vals);
			return;
		}
	}
	value = explain_hist_value_of(part, "sort");
	if (value)
		explain_split(value, ',', &h->sort);
	else if ((value = explain_hist_value_of(part, "size")))
		h->size = strdup(value);
	else if ((value = explain_hist_value_of(part, "name")))
		h->name = strdup(value);
	else if ((value = explain_hist_value_of(part, "clock")))
		h->clock = strdup(value);
	else if ((value = explain_hist_value_of(part, "pct")) && percentiles_is_list(value))
		h->percents = strdup(value);
	else
		explain_split(part, ',', &h->vars);
}

static void sort_part(struct hist_parts *h, const char *part)
{
	if (is_action(part))
		explain_parts_add(&h->actions, part, strlen(part));
	else if (strchr(part, '='))
		sort_assignment(h, part);
	else if (!strcmp(part, "pause"))
		h->pause = true;
	else if (!strcmp(part, "continue") || !strcmp(part, "cont"))
		h->cont = true;
	else if (!strcmp(part, "clear"))
		h->clear = true;
	else if (!strcmp(part, "nohitcount") || !strcmp(part, "NOHC"))
		h->no_hitcount = true;
	else if (*part)
		explain_parts_add(&h->unknown, part, strlen(part));
}

static void free_parts(struct hist_parts *h)
{
	explain_parts_free(&h->keys);
	explain_parts_free(&h->vals);
	explain_parts_free(&h->sort);
	explain_parts_free(&h->vars);
	explain_parts_free(&h->actions);
	explain_parts_free(&h->unknown);
	free(h->size);
	free(h->name);
	free(h->clock);
	free(h->percents);
}

/* Makes "a, b and c", each value in words. */
static char *list_values(const struct explain_parts *p)
{
	char *text = NULL;
	size_t size;
	FILE *out = text_memory_open(&text, &size);

	for (unsigned int i = 0; out && i < p->nr; i++) {
		char *value = explain_value(p->v[i]);

		fprintf(out, "%s%s",
			!i		? ""
			: i + 1 < p->nr ? ", "
					: " and ",
			value ? value : p->v[i]);
		free(value);
	}
	if (out)
		fclose(out);
	return text;
}

/* ---- event, keys, values ---- */

static void say_event(struct explain *e, const char *filter)
{
	char *words = filter ? explain_condition(filter) : NULL;
	char name[256] = "event whose file trigger it is written to";

	if (e->event)
		snprintf(name, sizeof(name), "%s:%s", e->system, e->event);
	explain_say(e, "event", "every %s%s%s", name, words ? " for which " : "",
		    words ? words : "");
	free(words);
}

static void say_keys(struct explain *e, const struct hist_parts *h)
{
	char *keys = list_values(&h->keys);

	if (!h->keys.nr)
		explain_say(e, "keys", "none are named: a histogram needs keys=");
	else
		explain_say(e, "keys", "one entry for each %s of %s",
			    h->keys.nr > 1 ? "combination" : "value", keys ? keys : "");
	free(keys);
}

/* FIELD.min, .max or .avg */
static bool is_no_sum(const char *value)
{
	const char *dot = strrchr(value, '.');

	return dot && hist_field_no_sum(dot + 1);
}

static void say_vals(struct explain *e, const struct hist_parts *h)
{
	explain_say(e, "values",
		    h->no_hitcount ? "hitcount, the number of events, which is not shown"
				   : "hitcount: the number of events");
	for (unsigned int i = 0; i < h->vals.nr; i++) {
		char *value = explain_value(h->vals.v[i]);

		if (is_no_sum(h->vals.v[i]))
			explain_say(e, "", "%s", value ? value : h->vals.v[i]);
		else if (strncmp(h->vals.v[i], "hitcount", 8))
			explain_say(e, "", "the sum of %s", value ? value : h->vals.v[i]);
		else if (h->vals.v[i][8])
			explain_say(e, "", "%s", value ? value : h->vals.v[i]);
		free(value);
	}
}

/* ---- variables ---- */

static bool defines(const struct hist_parts *h, const char *name)
{
	for (unsigned int i = 0; i < h->vars.nr; i++)
		if (explain_hist_value_of(h->vars.v[i], name))
			return true;
	return false;
}

static void say_origin(struct explain *e, const struct hist_parts *h, const char *name)
{
	const struct explain_variable *v;

	if (defines(h, name)) {
		explain_say(e, "", "$%s is its own variable", name);
		return;
	}
	v = e->scope ? explain_scope_variable(e->scope, name, 0) : NULL;
	if (!v)
		explain_say(e, "",
			    "$%s is set by a trigger of another event, in the entry whose keys "
			    "have the same values as the keys here",
			    name);
	for (unsigned int i = 1; v; v = explain_scope_variable(e->scope, name, i++))
		explain_say(e, "",
			    "$%s is set by %s:%s, in the entry whose %s has the same value as the "
			    "keys here",
			    name, v->system, v->event, v->keys);
}

static void say_vars(struct explain *e, const struct hist_parts *h)
{
	for (unsigned int i = 0; i < h->vars.nr; i++) {
		struct explain_parts refs = { 0 };
		char *equals = strchr(h->vars.v[i], '='),
		     *value = explain_value(equals ? equals + 1 : "");

		explain_say(e, i ? "" : "variables", "$%.*s keeps, in the entry, %s",
			    equals ? (int)(equals - h->vars.v[i]) : 0, h->vars.v[i],
			    value ? value : "");
		explain_references(equals ? equals : "", &refs);
		for (unsigned int j = 0; j < refs.nr; j++)
			say_origin(e, h, refs.v[j]);
		if (refs.nr && strpbrk(equals ? equals + 1 : "", "+-*/"))
			explain_say(e, "",
				    "(this uses up a variable of another event: it can be read "
				    "once each time it is set)");
		explain_parts_free(&refs);
		free(value);
	}
}

/* Explains variables in keys and values. Those in other variables are explained there. */
static void say_references(struct explain *e, const struct hist_parts *h)
{
	struct explain_parts refs = { 0 };

	for (unsigned int i = 0; i < h->keys.nr; i++)
		explain_references(h->keys.v[i], &refs);
	for (unsigned int i = 0; i < h->vals.nr; i++)
		explain_references(h->vals.v[i], &refs);
	for (unsigned int i = 0; i < refs.nr; i++)
		say_origin(e, h, refs.v[i]);
	explain_parts_free(&refs);
}

/* ---- actions ---- */

struct action {
	char		*handler, *of;		/* onmax, "$lat"; onmatch, "sched.sched_waking" */
	/* Save, snapshot, or the name of a synthetic event */
	char		*name;
	struct explain_parts arguments;
};

/* Parses "handler(of).name(arguments)"; trace(EVENT,...) is EVENT(...). */
static void explain_hist_action(const char *text, struct action *a)
{
	size_t handler = strcspn(text, "("), of = strcspn(text + handler, ")"), name;
	const char *rest;

	a->handler = strndup(text, handler);
	a->of = of > 1 ? strndup(text + handler + 1, of - 1) : strdup("");
	rest = text + handler + of;
	rest += *rest == ')';
	rest += *rest == '.';
	name = strcspn(rest, "(");
	a->name = strndup(rest, name);
	rest += name;
	if (*rest == '(' && rest[1] && rest[1] != ')') {
		char *inside = strndup(rest + 1, strcspn(rest + 1, ")"));

		explain_split(inside ? inside : "", ',', &a->arguments);
		free(inside);
	}
	if (a->name && !strcmp(a->name, "trace") && a->arguments.nr) {
		free(a->name);
		a->name = a->arguments.v[0];
		a->arguments.nr--;
		memmove(a->arguments.v, a->arguments.v + 1,
			a->arguments.nr * sizeof(*a->arguments.v));
	}
}

static void free_action(struct action *a)
{
	free(a->handler);
	free(a->of);
	free(a->name);
	explain_parts_free(&a->arguments);
}

static void say_handler(struct explain *e, const struct action *a)
{
	if (!strcmp(a->handler, "onmatch"))
		explain_say(e, "when",
			    "at each event, if %.*s:%s has set all variables that this trigger "
			    "reads, for the same keys",
			    (int)strcspn(a->of, "."), a->of,
			    a->of[strcspn(a->of, ".")] ? a->of + strcspn(a->of, ".") + 1 : "");
	else if (!strcmp(a->handler, "onmax"))
		explain_say(e, "when", "whenever %s is larger than ever before in its entry",
			    a->of);
	else
		explain_say(e, "when", "whenever %s has another value than before in its entry",
			    a->of);
}

/* The source of an argument that is no variable. */
static const char *origin_of(struct explain *e, const struct action *a, const char *argument)
{
	char field[128];
	size_t dot = strcspn(a->of, ".");
	char system[128];

	snprintf(field, sizeof(field), "%.*s", (int)strcspn(argument, "."), argument);
	snprintf(system, sizeof(system), "%.*s", (int)dot, a->of);
	if (*argument == '$' || !e->scope || !e->event)
		return "";
	if (explain_scope_has_field(e->scope, e->system, e->event, field))
		return " of this event";
	if (!strcmp(a->handler, "onmatch") && a->of[dot] &&
	    explain_scope_has_field(e->scope, system, a->of + dot + 1, field))
		return " of the matched event (a second, hidden histogram keeps it)";
	return "";
}

static void say_event_made(struct explain *e, const struct action *a)
{
	char parameter[128];

	explain_say(
		e, "does",
		"makes the synthetic event %s, which has its own trigger, hist and filter%s",
		a->name, a->arguments.nr ? ":" : "");
	for (unsigned int i = 0; i < a->arguments.nr; i++) {
		bool known = e->scope && explain_scope_parameter(e->scope, a->name, i, parameter,
								 sizeof(parameter));

		if (!known)
			snprintf(parameter, sizeof(parameter), "its field number %u", i + 1);
		explain_say(e, "", "  %s is %s%s", parameter, a->arguments.v[i],
			    origin_of(e, a, a->arguments.v[i]));
	}
}

static void say_action(struct explain *e, const char *text)
{
	struct action a = { 0 };
	char *saved;

	explain_hist_action(text, &a);
	say_handler(e, &a);
	if (!strcmp(a.name, "save")) {
		saved = list_values(&a.arguments);
		explain_say(e, "does",
			    "keeps %s of that event with the %s value in the entry; hist shows it "
			    "behind %s",
			    saved ? saved : "", strcmp(a.handler, "onmax") ? "new" : "largest",
			    strcmp(a.handler, "onmax") ? "changed:" : "max:");
		free(saved);
	} else if (!strcmp(a.name, "snapshot")) {
		explain_say(
			e, "does",
			"takes a snapshot of the buffer: the file snapshot has what came before");
	} else {
		say_event_made(e, &a);
	}
	free_action(&a);
}

/* ---- the rest ---- */

static void say_order(struct explain *e, const struct hist_parts *h)
{
	char *sort = list_values(&h->sort);

	if (h->sort.nr)
		explain_say(e, "order", "by %s%s", sort,
			    strstr(sort, "from the") ? "" : ", from the smallest up");
	else
		explain_say(e, "order", "by the number of events, from the smallest up");
	free(sort);
}

static unsigned long entries(const char *size)
{
	unsigned long wanted = strtoul(size ? size : "2048", NULL, 0), n = 1;

	while (n < wanted && n < 1ul << 31)
		n *= 2;
	return n;
}

static void say_rest(struct explain *e, const struct hist_parts *h)
{
	explain_say(e, "size", "%lu entries; events that find no room are counted as Dropped",
		    entries(h->size));
	if (h->name)
		explain_say(e, "name",
			    "shared with all triggers named %s: one histogram of several events",
			    h->name);
	if (h->percents)
		explain_say(e, "pct", "below the table, the percentiles %s of the last key%s",
			    h->percents, " that has ranges, else of the last number");
	if (h->clock)
		explain_say(e, "clock", "sets trace_clock to %s while times are used", h->clock);
	if (h->pause)
		explain_say(e, "state",
			    "paused: nothing is counted until :continue or an enable_hist trigger");
	if (h->cont)
		explain_say(e, "state", "continues the same trigger if it is there and paused");
	if (h->clear)
		explain_say(e, "state",
			    "empties the histogram of the same trigger if it is there");
	for (unsigned int i = 0; i < h->unknown.nr; i++)
		explain_say(e, "unknown", "%s is no part of a histogram trigger", h->unknown.v[i]);
	if (e->event)
		explain_say(e, "read", "events/%s/%s/hist", e->system, e->event);
	else
		explain_say(e, "read", "the file hist beside trigger");
}

void explain_hist(struct explain *e, const char *text)
{
	bool removes = *text == '!';
	char *filter, *command = explain_split_filter(text + removes, &filter);
	struct explain_parts parts = { 0 };
	struct hist_parts h = { 0 };

	explain_split(command ? command : "", ':', &parts);
	for (unsigned int i = 1; i < parts.nr; i++)
		sort_part(&h, parts.v[i]);
	if (removes)
		explain_say(e, "removes", "the histogram trigger that does this:");
	say_event(e, filter);
	say_keys(e, &h);
	say_vals(e, &h);
	say_references(e, &h);
	say_vars(e, &h);
	for (unsigned int i = 0; i < h.actions.nr; i++)
		say_action(e, h.actions.v[i]);
	say_order(e, &h);
	say_rest(e, &h);
	free_parts(&h);
	explain_parts_free(&parts);
	free(command);
	free(filter);
}
