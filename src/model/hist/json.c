/* SPDX-License-Identifier: MIT */
/*
 * json.c - the file `hist` for programs
 *
 *     [ { "event": "sched:sched_switch", "trigger": "hist:keys=...", "paused": false,
 *         "entries": [ { "keys":      [ { "field", "modifier", "raw", "text" } ... ],
 *                        "values":    [ { "field", "modifier", "value" } ... ],
 *                        "variables": { "lat": 35, ... },
 *                        "tracked":   [ { "handler", "variable", "value", "saved": { ... } } ... ]
 *                                     } ... ],
 *         "snapshot": { "handler", "variable", "value", "keys" } or null,
 *         "percentiles": [ { "keys", "field",
 *                            "values": [ { "percent", "low", "high", "text" } ... ] } ... ],
 *         "totals": { "hits", "entries", "dropped", "cut" } } ... ]
 *
 * "cut" is there if stacks had more functions than the key keeps: how many hits had such a one.
 * "percentiles" is there with pct=. "raw" is the value in the event, with .exp the number of its
 * range, which "low" and "high" then have; "text" is what `hist` prints for it. Numbers are JSON
 * numbers: addresses take more than 53 bits.
 */
#include <stdlib.h>
#include <errno.h>
#include <string.h>

#include "model/hist/json.h"
#include "model/hist/percentiles.h"
#include "model/syscalls.h"
#include "model/text_memory.h"

static void print_letters(const char *s, size_t size, FILE *out)
{
	for (size_t i = 0; i < size && s[i]; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
}

static void print_string(const char *s, size_t size, FILE *out)
{
	fputc('"', out);
	print_letters(s, size, out);
	fputc('"', out);
}

static void hist_json_name(const char *name, const char *value, FILE *out)
{
	fprintf(out, "\"%s\": ", name);
	print_string(value ? value : "", value ? strlen(value) : 0, out);
}

static void print_number(const struct hist_field *f, uint64_t v, FILE *out)
{
	if (f->is_signed)
		fprintf(out, "%lld", (long long)v);
	else
		fprintf(out, "%llu", (unsigned long long)v);
}

/* "field", and "modifier" if there is one. */
static void hist_json_field(const struct hist_field *f, FILE *out)
{
	const char *modifier = hist_field_modifier(f);

	hist_json_name("field", hist_field_label(f), out);
	if (modifier) {
		fputs(", ", out);
		hist_json_name("modifier", modifier, out);
	}
	if (f->flags & HIST_BUCKET)
		fprintf(out, ", \"buckets\": %llu", (unsigned long long)f->buckets);
	if (f->flags & HIST_EXP)
		fprintf(out, ", \"scale\": %u", f->scale);
	if (f->flags & HIST_DEPTH)
		fprintf(out, ", \"depth\": %u", f->depth);
}

/* ---- keys ---- */

static void print_symbol_text(const struct hist_entry *e, uint64_t addr, bool with_offset,
			      FILE *out)
{
	struct hist_symbol symbol;

	hist_symbol_find(e->hd->event->model, addr, with_offset, &symbol);
	fputc('"', out);
	for (unsigned int i = 0; i < HIST_SYMBOL_PARTS; i++)
		print_letters(symbol.parts[i], strlen(symbol.parts[i]), out);
	fputc('"', out);
}

/* Prints one of two lists: addresses, or their names. */
static void print_stack(const struct hist_entry *e, const struct hist_field *f, bool names,
			FILE *out)
{
	uint64_t addr;

	fputc('[', out);
	for (unsigned int i = 0; hist_stack_at(e, f, i, &addr); i++) {
		fputs(i ? ", " : "", out);
		if (names)
			print_symbol_text(e, addr, true, out);
		else
			fprintf(out, "%llu", (unsigned long long)addr);
	}
	fputc(']', out);
}

/* The text of a number, by the field's modifier. */
static void print_number_text(const struct hist_entry *e, const struct hist_field *f, FILE *out)
{
	uint64_t v = hist_entry_u64(e, f), low, high;
	char text[64], comm[LAYOUT_COMM_LEN + 1];
	const char *syscall;

	snprintf(text, sizeof(text), f->flags & HIST_HEX ? "%llx" : "%llu", (unsigned long long)v);
	if (f->flags & (HIST_SYM | HIST_SYM_OFFSET)) {
		print_symbol_text(e, v, f->flags & HIST_SYM_OFFSET, out);
		return;
	}
	if (f->flags & HIST_EXECNAME) {
		hist_entry_comm(e, comm);
		snprintf(text, sizeof(text), "%s", comm);
	} else if (f->flags & HIST_SYSCALL) {
		syscall = model_syscall_name(e->hd->event, v);
		snprintf(text, sizeof(text), "%s", syscall ? syscall : "unknown_syscall");
	} else if (f->flags & HIST_LOG2) {
		snprintf(text, sizeof(text), "~ 2^%llu", (unsigned long long)v);
	} else if (f->flags & HIST_RANGES) {
		hist_key_range(f, v, &low, &high);
		snprintf(text, sizeof(text), "~ %llu-%llu", (unsigned long long)low,
			 (unsigned long long)high);
	}
	print_string(text, sizeof(text), out);
}

/* Only where the number itself is not one of the event. */
static void print_bounds(const struct hist_entry *e, const struct hist_field *f, FILE *out)
{
	uint64_t low, high;

	if (!(f->flags & HIST_EXP))
		return;
	hist_key_range(f, hist_entry_u64(e, f), &low, &high);
	fprintf(out, ", \"low\": %llu, \"high\": %llu", (unsigned long long)low,
		(unsigned long long)high);
}

static void hist_json_key(const struct hist_entry *e, const struct hist_field *f, FILE *out)
{
	fputc('{', out);
	hist_json_field(f, out);
	fputs(", \"raw\": ", out);
	if (f->flags & HIST_STACKTRACE)
		print_stack(e, f, false, out);
	else if (f->flags & HIST_STRING)
		print_string(e->key + f->offset, f->size, out);
	else
		print_number(f, hist_entry_u64(e, f), out);
	print_bounds(e, f, out);
	fputs(", \"text\": ", out);
	if (f->flags & HIST_STACKTRACE)
		print_stack(e, f, true, out);
	else if (f->flags & HIST_STRING)
		print_string(e->key + f->offset, f->size, out);
	else
		print_number_text(e, f, out);
	fputc('}', out);
}

static void print_keys(const struct hist_entry *e, FILE *out)
{
	const struct hist_data *hd = e->hd;

	fputs("\"keys\": [", out);
	for (unsigned int i = hd->n_vals; i < hd->n_fields; i++) {
		fputs(i > hd->n_vals ? ", " : "", out);
		hist_json_key(e, hd->fields[i], out);
	}
	fputc(']', out);
}

/* ---- values and variables ---- */

static void print_values(const struct hist_entry *e, FILE *out)
{
	const struct hist_data *hd = e->hd;
	unsigned int sum = 1;

	fprintf(out, "\"values\": [{\"field\": \"hitcount\", \"value\": %llu}",
		(unsigned long long)e->sums[0]);
	for (unsigned int i = 1; i < hd->n_vals; i++) {
		const struct hist_field *f = hd->fields[i];

		if (f->flags & HIST_VAR)
			continue;
		fputs(", {", out);
		hist_json_field(f, out);
		fprintf(out, f->flags & HIST_NO_SUM && f->is_signed ? ", \"value\": %lld}" :
								      ", \"value\": %llu}",
			(unsigned long long)e->sums[sum++]);
	}
	fputc(']', out);
}

/* null: it is unset, or was used up. Only numbers are printed. */
static void print_variables(const struct hist_entry *e, FILE *out)
{
	const struct hist_data *hd = e->hd;
	const struct map_view m = hist_map_view(hd);
	const char *separator = "";

	fputs("\"variables\": {", out);
	for (unsigned int i = 0; i < hd->n_vals; i++) {
		const struct hist_field *f = hd->fields[i];
		uint64_t v;

		if (!(f->flags & HIST_VAR) || f->content != HIST_NUMBER)
			continue;
		fputs(separator, out);
		print_string(f->var.name, strlen(f->var.name), out);
		fputs(": ", out);
		if (m.data && map_var_read(m, e->elt, f->var.idx, &v))
			print_number(f, v, out);
		else
			fputs("null", out);
		separator = ", ";
	}
	fputc('}', out);
}

/* ---- values of handlers ---- */

static void print_saved(const struct hist_data *hd, const char *data, FILE *out)
{
	fputc('{', out);
	for (unsigned int i = 0; i < hd->n_save_vars; i++) {
		const struct hist_field *val = hd->save_vars[i]->val;
		const char *name = hd->save_vars[i]->var->var.name;
		unsigned int off = hist_save_offset(hd, i);

		fputs(i ? ", " : "", out);
		print_string(name, strlen(name), out);
		fputs(": ", out);
		if (val->content == HIST_TEXT)
			print_string(data + off, STRING_ROOM, out);
		else
			print_number(val, hist_block_word(data, off), out);
	}
	fputc('}', out);
}

static void print_tracker(const struct hist_action *a, const char *data, FILE *out)
{
	hist_json_name("handler", a->handler == HIST_ONMAX ? "onmax" : "onchange", out);
	fputs(", ", out);
	hist_json_name("variable", a->track.var_str, out);
	fprintf(out, ", \"value\": %llu", (unsigned long long)hist_block_word(data, 0));
}

static void print_tracked(const struct hist_entry *e, FILE *out)
{
	const struct hist_data *hd = e->hd;
	const char *separator = "";
	char data[HIST_BLOCK_MAX];

	fputs("\"tracked\": [", out);
	for (unsigned int i = 0; i < hd->n_actions; i++) {
		const struct hist_action *a = hd->actions[i];

		if (a->handler == HIST_ONMATCH || a->kind == HIST_SNAPSHOT ||
		    !hist_block_read(hd, e->elt, a->track.block, data))
			continue;
		fprintf(out, "%s{", separator);
		print_tracker(a, data, out);
		if (a->kind == HIST_SAVE) {
			fputs(", \"saved\": ", out);
			print_saved(hd, data, out);
		}
		fputc('}', out);
		separator = ", ";
	}
	fputc(']', out);
}

static void hist_json_snapshot(struct hist_data *hd, FILE *out)
{
	char data[HIST_BLOCK_MAX];
	struct hist_entry e;

	for (unsigned int i = 0; i < hd->n_actions; i++) {
		const struct hist_action *a = hd->actions[i];

		if (a->kind != HIST_SNAPSHOT)
			continue;
		if (!hist_block_read(hd, 0, a->track.snapshot_block, data))
			break;
		e = (struct hist_entry){ .hd = hd,
					.key = data + HIST_TRACK_VALUES + LAYOUT_COMM_LEN,
					.comm = data + HIST_TRACK_VALUES };
		fputs("{", out);
		print_tracker(a, data, out);
		fputs(", ", out);
		print_keys(&e, out);
		fputs("}", out);
		return;
	}
	fputs("null", out);
}

/* ---- a histogram ---- */

static void print_entry(const struct hist_entry *e, FILE *out)
{
	fputs("\n   {", out);
	print_keys(e, out);
	fputs(",\n    ", out);
	print_values(e, out);
	if (e->hd->n_vars) {
		fputs(",\n    ", out);
		print_variables(e, out);
	}
	if (e->hd->n_actions) {
		fputs(",\n    ", out);
		print_tracked(e, out);
	}
	fputc('}', out);
}

static int print_trigger_text(struct trigger *t, FILE *out)
{
	char *text;
	size_t size;
	FILE *f = text_memory_open(&text, &size);

	if (!f)
		return -ENOMEM;
	hist_trigger_print(t, f);
	if (fclose(f))
		return -ENOMEM;
	hist_json_name("trigger", text, out);
	free(text);
	return 0;
}

/* ---- percentiles ---- */

struct group_list {
	FILE		*out;
	const char	*separator;
};

static void print_percentile(const struct percentiles_group *g, uint32_t percentile, FILE *out)
{
	const struct hist_entry *e = percentiles_entry(g, percentile);
	uint64_t low, high;

	hist_key_range(g->key, hist_entry_u64(e, g->key), &low, &high);
	fprintf(out, "{\"percent\": %g, \"low\": ", (double)percentile / PERCENTILE_UNIT);
	print_number(g->key, low, out);
	fputs(", \"high\": ", out);
	print_number(g->key, high, out);
	fputs(", \"text\": ", out);
	print_number_text(e, g->key, out);
	fputc('}', out);
}

static void print_group(const struct percentiles_group *g, void *arg)
{
	const struct hist_data *hd = g->entries[0]->hd;
	struct group_list *list = arg;
	const char *separator = "";
	FILE *out = list->out;
	uint32_t p;

	fprintf(out, "%s\n   {\"keys\": [", list->separator);
	for (unsigned int i = hd->n_vals; i < hd->n_fields; i++) {
		if (hd->fields[i] == g->key)
			continue;
		fputs(separator, out);
		hist_json_key(g->entries[0], hd->fields[i], out);
		separator = ", ";
	}
	fputs("], ", out);
	hist_json_name("field", hist_field_label(g->key), out);
	fputs(", \"values\": [", out);
	for (unsigned int i = 0; percentiles_get(hd, i, &p); i++) {
		fputs(i ? ", " : "", out);
		print_percentile(g, p, out);
	}
	fputs("]}", out);
	list->separator = ",";
}

static int hist_json_percentiles(const struct hist_entries *all, FILE *out)
{
	struct group_list list = { .out = out, .separator = "" };
	int err;

	if (!all->hd->attrs.percents)
		return 0;
	fputs(",\n  \"percentiles\": [", out);
	err = percentiles_each(all, print_group, &list);
	fputs("]", out);
	return err;
}

/* ---- the whole ---- */

static int hist_json_one(struct trigger *t, FILE *out)
{
	struct hist_data *hd = hist_of(t);
	struct hist_entries all;
	int err = hist_entries_read(hd, &all);

	fprintf(out, " {\"event\": \"%s:%s\", ", t->file->event->system->name,
		t->file->event->name);
	if (!err)
		err = print_trigger_text(t, out);
	fprintf(out, ", \"paused\": %s,\n  \"entries\": [", t->paused ? "true" : "false");
	for (unsigned int i = 0; !err && i < all.nr; i++) {
		fputs(i ? "," : "", out);
		print_entry(&all.v[i], out);
		model_step(hd->event->model);
	}
	fputs("],\n  \"snapshot\": ", out);
	hist_json_snapshot(hd, out);
	if (!err)
		err = hist_json_percentiles(&all, out);
	fprintf(out, ",\n  \"totals\": {\"hits\": %llu, \"entries\": %u, \"dropped\": %llu",
		(unsigned long long)all.hits, all.nr, (unsigned long long)all.drops);
	if (all.cuts)
		fprintf(out, ", \"cut\": %llu", (unsigned long long)all.cuts);
	fputs("}}", out);
	hist_entries_free(&all);
	return err;
}

int hist_json_print(struct event_file *f, FILE *out)
{
	const char *separator = "\n";
	struct trigger *t;
	int err = 0;

	fputc('[', out);
	list_each(t, &f->triggers, node) {
		if (t->cmd != &hist_command || err)
			continue;
		fputs(separator, out);
		err = hist_json_one(t, out);
		separator = ",\n";
	}
	fputs("]\n", out);
	return err;
}
