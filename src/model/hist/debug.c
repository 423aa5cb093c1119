/* SPDX-License-Identifier: MIT */
/*
 * debug.c - the file `hist_debug`: the structure of a hist, as the model has it
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

/*
 * A number that hist_debug prints for the structure. It is the place of its cell, which never
 * changes.
 */
static unsigned long long hist_id(const struct hist_data *hd)
{
	uint64_t h = (hd->cell ^ 0xcbf29ce484222325ull) * 0x9e3779b97f4a7c15ull;

	return (h ^ h >> 29) & 0xffffffffu;
}

static void print_ref(const struct hist_field *f, FILE *out)
{
	fprintf(out, "      name: %s\n      var.idx (into tracing_map_elt.vars[]): %u\n", f->name,
		f->var.idx);
	fprintf(out,
		"      var.hist_data: %016llx\n      var_ref_idx (into hist_data->var_refs[]): "
		"%u\n",
		hist_id(f->var.hist_data), f->var_ref_idx);
	if (f->system)
		fprintf(out, "      system: %s\n", f->system);
	if (f->event_name)
		fprintf(out, "      event_name: %s\n", f->event_name);
}

static void print_type(const struct hist_field *f, FILE *out)
{
	fprintf(out, "      type: %s\n      size: %u\n      is_signed: %u\n", f->type, f->size,
		f->is_signed);
}

static void print_var_name(const struct hist_field *f, FILE *out)
{
	fprintf(out, "      var.name: %s\n      var.idx (into tracing_map_elt.vars[]): %u\n",
		f->var.name, f->var.idx);
}

static void hist_debug_field(const struct hist_field *f, FILE *out)
{
	print_flags(f->flags, out);
	if (f->field)
		fprintf(out, "      ftrace_event_field name: %s\n", f->field->name);
	if (f->flags & HIST_VAR)
		print_var_name(f, out);
	if (f->flags & HIST_CONST)
		fprintf(out, "      constant: %llu\n", (unsigned long long)f->constant);
	if (f->flags & HIST_ALIAS)
		fprintf(out, "      var_ref_idx (into hist_data->var_refs[]): %u\n",
			f->var_ref_idx);
	if (f->flags & HIST_VAR_REF)
		print_ref(f, out);
	print_type(f, out);
}

/* False: the value is not a field of the event, and the kernel's list ends there. */
static bool print_field_var(const struct hist_field_var *fv, const char *list, unsigned int i,
			    FILE *out)
{
	fprintf(out, "\n    hist_data->%s[%u]:\n\n      %s[%u].var:\n", list, i, list, i);
	print_flags(fv->var->flags, out);
	print_var_name(fv->var, out);
	fprintf(out, "\n      %s[%u].val:\n", list, i);
	if (!fv->val->field)
		return false;
	fprintf(out, "      ftrace_event_field name: %s\n", fv->val->field->name);
	print_type(fv->val, out);
	return true;
}

static bool print_refs(const struct hist_data *hd, FILE *out)
{
	if (hd->n_var_refs)
		fputs("\n  variable reference fields:\n", out);
	for (unsigned int i = 0; i < hd->n_var_refs; i++) {
		fprintf(out, "\n    hist_data->var_refs[%u]:\n", i);
		hist_debug_field(hd->var_refs[i], out);
	}
	if (hd->n_field_vars)
		fputs("\n  field variables:\n", out);
	for (unsigned int i = 0; i < hd->n_field_vars; i++)
		if (!print_field_var(hd->field_vars[i], "field_vars", i, out))
			return false;
	return true;
}

static void print_action(const struct hist_action *a, unsigned int i, FILE *out)
{
	if (a->handler == HIST_ONMATCH) {
		fprintf(out, "\n    hist_data->actions[%u].match_data.event_system: %s\n", i,
			a->match.system);
		fprintf(out, "    hist_data->actions[%u].match_data.event: %s\n", i,
			a->match.event);
		return;
	}
	fprintf(out, "\n    hist_data->actions[%u].track_data.var_ref:\n", i);
	hist_debug_field(a->track.var_ref, out);
	fprintf(out, "\n    hist_data->actions[%u].track_data.track_var:\n", i);
	hist_debug_field(a->track.track_var, out);
}

static void print_actions(const struct hist_data *hd, FILE *out)
{
	if (hd->n_actions)
		fputs("\n  action tracking variables (for onmax()/onchange()/onmatch()):\n", out);
	for (unsigned int i = 0; i < hd->n_actions; i++)
		print_action(hd->actions[i], i, out);
	if (hd->n_save_vars)
		fputs("\n  save action variables (save() params):\n", out);
	for (unsigned int i = 0; i < hd->n_save_vars; i++)
		if (!print_field_var(hd->save_vars[i], "save_vars", i, out))
			return;
}

/* R28. The kernel has no such line: it has one source. */
static void print_mode(const struct trigger *t, FILE *out)
{
	if (!t->merged)
		return;
	fprintf(out, "  mode: merged by time with another source, at most %u ms later\n",
		t->file->event->model->merge_delay_ms);
	if (hist_of(t)->merge_cleared)
		fputs("  variables: cleared when it turned merged\n", out);
}

static void hist_debug_one(struct trigger *t, unsigned int n, FILE *out)
{
	const struct hist_data *hd = hist_of(t);

	fprintf(out, "%s# event histogram\n#\n# trigger info: ", n ? "\n\n" : "");
	hist_trigger_print(t, out);
	fprintf(out,
		"\n#\n\nhist_data: %016llx\n\n  n_vals: %u\n  n_keys: %u\n  n_fields: %u\n",
		hist_id(hd), hd->n_vals, hd->n_keys, hd->n_fields);
	print_mode(t, out);
	fputs("\n  val fields:\n\n", out);
	for (unsigned int i = 0; i < hd->n_fields; i++) {
		if (i == hd->n_vals)
			fputs("\n  key fields:\n", out);
		fprintf(out, "%s    hist_data->fields[%u]:\n", i ? "\n" : "", i);
		hist_debug_field(hd->fields[i], out);
	}
	if (print_refs(hd, out))
		print_actions(hd, out);
}

int hist_debug_print(struct event_file *f, FILE *out)
{
	struct trigger *t;
	unsigned int n = 0;

	list_each(t, &f->triggers, node)
		if (t->cmd == &hist_command)
			hist_debug_one(t, n++, out);
	return 0;
}
