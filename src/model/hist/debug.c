/* SPDX-License-Identifier: MIT */
/*
 * debug.c - the file `hist_debug`: the structure of a hist as it is in the model
 */
#include "model/hist/hist.h"

static void print_flags(unsigned int flags, FILE *out)
{
	const char *what = "VAL: normal u64 value";

	if (flags & HIST_KEY)
		what = "HIST_FIELD_FL_KEY";
	else if (flags & HIST_HITCOUNT)
		what = "VAL: HIST_FIELD_FL_HITCOUNT";
	else if (flags & HIST_VAR)
		what = "HIST_FIELD_FL_VAR";
	else if (flags & HIST_VAR_REF)
		what = "HIST_FIELD_FL_VAR_REF";
	fprintf(out, "      flags:\n        %s\n", what);
	if (flags & HIST_ALIAS)
		fputs("        HIST_FIELD_FL_ALIAS\n", out);
	else if (flags & HIST_CONST)
		fputs("        HIST_FIELD_FL_CONST\n", out);
}

static void print_field(const struct hist_field *f, FILE *out)
{
	print_flags(f->flags, out);
	if (f->field)
		fprintf(out, "      ftrace_event_field name: %s\n", f->field->name);
	if (f->flags & HIST_VAR)
		fprintf(out, "      var.name: %s\n      var.idx (into tracing_map_elt.vars[]): %u\n",
			f->var.name, f->var.idx);
	if (f->flags & HIST_CONST)
		fprintf(out, "      constant: %llu\n", (unsigned long long)f->constant);
	fprintf(out, "      type: %s\n      size: %u\n      is_signed: %u\n", f->type, f->size, f->is_signed);
}

static void print_hist(struct trigger *t, unsigned int n, FILE *out)
{
	const struct hist_data *hd = hist_of(t);

	fprintf(out, "%s# event histogram\n#\n# trigger info: ", n ? "\n\n" : "");
	hist_trigger_print(t, out);
	fprintf(out, "\n#\n\nhist_data: %016llx\n\n  n_vals: %u\n  n_keys: %u\n  n_fields: %u\n\n  val fields:\n\n",
		(unsigned long long)hd->id, hd->n_vals, hd->n_keys, hd->n_fields);
	for (unsigned int i = 0; i < hd->n_fields; i++) {
		if (i == hd->n_vals)
			fputs("\n  key fields:\n", out);
		fprintf(out, "%s    hist_data->fields[%u]:\n", i ? "\n" : "", i);
		print_field(hd->fields[i], out);
	}
}

int hist_debug_print(struct event_file *f, FILE *out)
{
	struct trigger *t;
	unsigned int n = 0;

	list_each(t, &f->triggers, node)
		if (t->cmd == &hist_command)
			print_hist(t, n++, out);
	return 0;
}
