/* SPDX-License-Identifier: MIT */
/*
 * print.c - prints a hist trigger as the file `trigger` lists it
 */
#include "model/hist/hist.h"

static void hist_print_field(const struct hist_field *f, FILE *out)
{
	const char *modifier = hist_field_modifier(f);

	if (f->var.name)
		fprintf(out, "%s=", f->var.name);
	if (f->flags & HIST_CPU)
		fputs("common_cpu", out);
	else if (f->flags & HIST_CONST)
		fprintf(out, "%llu", (unsigned long long)f->constant);
	else
		fprintf(out, "%s%s",
			(f->flags & (HIST_VAR_REF | HIST_ALIAS)) && !f->system ? "$" : "",
			hist_field_name(f));
	if (modifier && !(f->flags & (HIST_VAR_REF | HIST_EXPR | HIST_STACKTRACE)))
		fprintf(out, ".%s", modifier);
	if (f->buckets)
		fprintf(out, "=%lld", (long long)f->buckets);
	if (f->flags & HIST_EXP)
		fprintf(out, "=%u", f->scale);
}

static void hist_print_key(const struct hist_field *f, FILE *out)
{
	if (!(f->flags & HIST_STACKTRACE))
		hist_print_field(f, out);
	else if (f->field)
		fprintf(out, "%s.stacktrace", f->field->name);
	else if (f->flags & HIST_DEPTH)
		fprintf(out, "common_stacktrace.depth=%u", f->depth);
	else
		fputs("common_stacktrace", out);
}

static void print_vals(const struct hist_data *hd, FILE *out)
{
	bool shown = !hd->attrs.no_hitcount;

	fprintf(out, ":vals=%s", shown ? "hitcount" : "");
	for (unsigned int i = 1; i < hd->n_vals; i++) {
		if (hd->fields[i]->flags & HIST_VAR)
			continue;
		if (shown)
			fputc(',', out);
		hist_print_field(hd->fields[i], out);
		shown = true;
	}
}

static void print_vars(const struct hist_data *hd, FILE *out)
{
	unsigned int n = 0;

	for (unsigned int i = 1; i < hd->n_vals; i++)
		if (hd->fields[i]->flags & HIST_VAR) {
			fputc(n++ ? ',' : ':', out);
			hist_print_field(hd->fields[i], out);
		}
}

static void print_sort(const struct hist_data *hd, FILE *out)
{
	fputs(":sort=", out);
	for (unsigned int i = 0; i < hd->n_sort_keys; i++) {
		unsigned int idx = hd->sort_keys[i].field_idx;

		if (i)
			fputc(',', out);
		if (idx >= hd->n_vals - hd->n_vars)
			idx += hd->n_vars;
		if (idx)
			hist_print_field(hd->fields[idx], out);
		else
			fputs("hitcount", out);
		if (hd->sort_keys[i].descending)
			fputs(".descending", out);
	}
}

static void print_params(const struct hist_data *hd, const struct hist_action *a, FILE *out)
{
	const char *comma = "";

	if (a->kind == HIST_SAVE)
		for (unsigned int i = 0; i < hd->n_save_vars; i++)
			fprintf(out, "%s%s", i ? "," : "", hd->save_vars[i]->var->var.name);
	if (a->kind != HIST_TRACE)
		return;
	if (a->use_trace_keyword) {
		fputs(a->synth_name, out);
		comma = ",";
	}
	for (unsigned int i = 0; i < a->n_params; i++, comma = ",")
		fprintf(out, "%s%s", comma, a->params[i]);
}

/* ":onmatch(...)..." */
static void actions_print(const struct hist_data *hd, FILE *out)
{
	for (unsigned int i = 0; i < hd->n_actions; i++) {
		const struct hist_action *a = hd->actions[i];

		if (a->handler == HIST_ONMATCH)
			fprintf(out, ":onmatch(%s.%s).%s(", a->match.system, a->match.event,
				a->name);
		else
			fprintf(out, ":%s(%s).%s(", a->handler == HIST_ONMAX ? "onmax" : "onchange",
				a->track.var_str, a->name);
		print_params(hd, a, out);
		fputc(')', out);
	}
}

void hist_trigger_print(struct trigger *t, FILE *out)
{
	const struct hist_data *hd = hist_of(t);

	fputs("hist:", out);
	if (t->name)
		fprintf(out, "%s:", t->name);
	fputs("keys=", out);
	for (unsigned int i = hd->n_vals; i < hd->n_fields; i++) {
		if (i > hd->n_vals)
			fputc(',', out);
		hist_print_key(hd->fields[i], out);
	}
	print_vals(hd, out);
	print_vars(hd, out);
	print_sort(hd, out);
	fprintf(out, ":size=%u", 1u << hd->map_bits);
	if (hd->attrs.percents)
		fprintf(out, ":pct=%s", hd->attrs.percents);
	if (hd->enable_timestamps)
		fprintf(out, ":clock=%s", hd->attrs.clock);
	if (hd->attrs.no_hitcount)
		fputs(":nohitcount", out);
	actions_print(hd, out);
	if (t->cond)
		fprintf(out, " if %s", t->cond);
	/* Relaxed: enable_hist in a hit may change it at any time. */
	fputs(atomic_load_explicit(&t->state->paused, memory_order_relaxed) ? " [paused]"
									    : " [active]",
	      out);
}
