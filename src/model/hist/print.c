/* SPDX-License-Identifier: MIT */
/*
 * print.c - a hist trigger as the file `trigger` lists it
 */
#include "model/hist/hist.h"

static void print_field(const struct hist_field *f, FILE *out)
{
	const char *modifier = hist_field_modifier(f);

	if (f->var.name)
		fprintf(out, "%s=", f->var.name);
	if (f->flags & HIST_CPU)
		fputs("common_cpu", out);
	else if (f->flags & HIST_CONST)
		fprintf(out, "%llu", (unsigned long long)f->constant);
	else
		fputs(hist_field_name(f), out);
	if (modifier && !(f->flags & (HIST_VAR_REF | HIST_EXPR | HIST_STACKTRACE)))
		fprintf(out, ".%s", modifier);
	if (f->buckets)
		fprintf(out, "=%llu", (unsigned long long)f->buckets);
}

static void print_key(const struct hist_field *f, FILE *out)
{
	if (!(f->flags & HIST_STACKTRACE))
		print_field(f, out);
	else if (f->field)
		fprintf(out, "%s.stacktrace", f->field->name);
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
		print_field(hd->fields[i], out);
		shown = true;
	}
}

static void print_vars(const struct hist_data *hd, FILE *out)
{
	unsigned int n = 0;

	for (unsigned int i = 1; i < hd->n_vals; i++)
		if (hd->fields[i]->flags & HIST_VAR) {
			fputc(n++ ? ',' : ':', out);
			print_field(hd->fields[i], out);
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
			print_field(hd->fields[idx], out);
		else
			fputs("hitcount", out);
		if (hd->sort_keys[i].descending)
			fputs(".descending", out);
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
		print_key(hd->fields[i], out);
	}
	print_vals(hd, out);
	print_vars(hd, out);
	print_sort(hd, out);
	fprintf(out, ":size=%u", 1u << hd->map_bits);
	if (hd->enable_timestamps)
		fprintf(out, ":clock=%s", hd->attrs.clock);
	if (hd->attrs.no_hitcount)
		fputs(":nohitcount", out);
	if (t->cond)
		fprintf(out, " if %s", t->cond);
	/* Relaxed: an enable_hist may flip it any time. */
	fputs(atomic_load_explicit(&t->state->paused, memory_order_relaxed) ? " [paused]" : " [active]", out);
}
