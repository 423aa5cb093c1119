/* SPDX-License-Identifier: MIT */
/*
 * show.c - the file `hist`: entries, sorted, and totals
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/hist/percentiles.h"
#include "model/syscalls.h"

/* The largest sum of a val, and the sum of all, for .graph and .percent. */
struct val_total {
	uint64_t	max, total;
};

enum { HIST_LARGE = 4096 };	/* entries */

/* ---- Printing ---- */

static void print_symbol(const struct hist_entry *e, const struct hist_field *f, FILE *out)
{
	bool with_offset = f->flags & HIST_SYM_OFFSET;
	uint64_t v = hist_entry_u64(e, f);

	fprintf(out, "%s: [%llx] ", hist_field_name(f), (unsigned long long)v);
	hist_symbol_print(e->hd->event->model, v, with_offset, with_offset ? 55 : 45, out);
}

static void print_stack(const struct hist_entry *e, const struct hist_field *f, FILE *out)
{
	uint64_t addr;

	if (f->field)
		fprintf(out, "%s.stacktrace", f->field->name);
	else
		fputs("common_stacktrace:\n", out);
	for (unsigned int i = 0; hist_stack_at(e, f, i, &addr); i++) {
		fprintf(out, "%*c", 9, ' ');
		hist_symbol_print(e->hd->event->model, addr, true, 0, out);
		fputc('\n', out);
	}
}

static void print_execname(const struct hist_entry *e, const struct hist_field *f, FILE *out)
{
	char comm[LAYOUT_COMM_LEN + 1];

	hist_entry_comm(e, comm);
	fprintf(out, "%s: %-16s[%10llu]", hist_field_name(f), comm,
		(unsigned long long)hist_entry_u64(e, f));
}

void hist_show_key(const struct hist_entry *e, const struct hist_field *f, FILE *out)
{
	const char *name = hist_field_name(f), *syscall;
	uint64_t v = hist_entry_u64(e, f), low, high;

	if (f->flags & HIST_HEX) {
		fprintf(out, "%s: %llx", name, (unsigned long long)v);
	} else if (f->flags & (HIST_SYM | HIST_SYM_OFFSET)) {
		print_symbol(e, f, out);
	} else if (f->flags & HIST_EXECNAME) {
		print_execname(e, f, out);
	} else if (f->flags & HIST_SYSCALL) {
		syscall = model_syscall_name(e->hd->event, v);
		fprintf(out, "%s: %-30s[%3llu]", name, syscall ? syscall : "unknown_syscall",
			(unsigned long long)v);
	} else if (f->flags & HIST_STACKTRACE) {
		print_stack(e, f, out);
	} else if (f->flags & HIST_LOG2) {
		fprintf(out, "%s: ~ 2^%-2llu", name, (unsigned long long)v);
	} else if (f->flags & HIST_RANGES) {
		hist_key_range(f, v, &low, &high);
		fprintf(out, "%s: ~ %llu-%llu", name, (unsigned long long)low,
			(unsigned long long)high);
	} else if (f->flags & HIST_STRING) {
		fprintf(out, "%s: %-50.*s", name, (int)f->size, e->key + f->offset);
	} else {
		fprintf(out, "%s: %10llu", name, (unsigned long long)v);
	}
}

/* The percentage times 100; UINT32_MAX: the total is 0. */
static uint32_t percentage(uint64_t v, uint64_t total)
{
	if (total && v < UINT64_MAX / 10000)
		return (uint32_t)(v * 10000 / total);
	total /= 10000;
	if (total)
		return (uint32_t)(v / total);
	return v ? UINT32_MAX : 0;
}

static void print_bar(const char *name, uint64_t v, uint64_t max, FILE *out)
{
	enum { WIDTH = 20 };
	uint32_t pc = percentage(v, max);
	char bar[WIDTH + 1];

	if (pc == UINT32_MAX) {
		fprintf(out, " %s: %20s", name, "[ERROR]");
		return;
	}
	for (uint32_t i = 0; i < WIDTH; i++)
		bar[i] = i < pc * WIDTH / 10000 ? '#' : ' ';
	bar[WIDTH] = '\0';
	fprintf(out, " %s: %20s", name, bar);
}

/* A value with .min, .max or .avg has the sign of its field. */
static void print_no_sum(const struct hist_field *f, uint64_t v, FILE *out)
{
	fprintf(out, f->is_signed ? "  %s (%s): %10lld" : "  %s (%s): %10llu", hist_field_name(f),
		hist_field_modifier(f), (long long)v);
}

static void print_val(const char *name, unsigned int flags, uint64_t v, const struct val_total *t,
		      FILE *out)
{
	uint32_t pc;

	if (flags & HIST_PERCENT) {
		pc = percentage(v, t->total);
		if (pc == UINT32_MAX)
			fprintf(out, " %s (%%):[ERROR]", name);
		else
			fprintf(out, " %s (%%): %3u.%02u", name, pc / 100, pc % 100);
	} else if (flags & HIST_GRAPH) {
		print_bar(name, v, t->max, out);
	} else if (flags & HIST_HEX) {
		fprintf(out, " %s: %10llx", name, (unsigned long long)v);
	} else {
		fprintf(out, " %s: %10llu", name, (unsigned long long)v);
	}
}

/* ---- The values of onmax(), onchange(), save() and snapshot() ---- */

static void print_saved(const struct hist_data *hd, const char *data, bool saved, FILE *out)
{
	for (unsigned int i = 0; i < hd->n_save_vars; i++) {
		const char *name = hd->save_vars[i]->var->var.name;
		unsigned int off = hist_save_offset(hd, i);

		if (hd->save_vars[i]->val->content == HIST_TEXT)
			fprintf(out, "  %s: %-32.*s", name, STRING_ROOM - 1,
				saved ? data + off : "(null)");
		else
			fprintf(out, "  %s: %10llu", name,
				(unsigned long long)hist_block_word(data, off));
	}
}

static const struct hist_action *save_action(const struct hist_data *hd)
{
	for (unsigned int i = 0; i < hd->n_actions; i++)
		if (hd->actions[i]->kind == HIST_SAVE)
			return hd->actions[i];
	return NULL;
}

/* Below the entry: the tracked value and the values of save(), whichever action they belong to. */
static void print_tracks(const struct hist_entry *e, FILE *out)
{
	const struct hist_data *hd = e->hd;
	const struct hist_action *save = save_action(hd);
	char data[HIST_BLOCK_MAX];

	for (unsigned int i = 0; i < hd->n_actions; i++) {
		const struct hist_action *a = hd->actions[i];
		bool saved;

		if (a->handler == HIST_ONMATCH || a->kind == HIST_SNAPSHOT)
			continue;
		saved = hist_block_read(hd, e->elt, a->track.block, data);
		fprintf(out, "\n\t%s: %10llu", a->handler == HIST_ONMAX ? "max" : "changed",
			(unsigned long long)hist_block_word(data, 0));
		if (save && save != a)
			saved = hist_block_read(hd, e->elt, save->track.block, data);
		print_saved(hd, data, saved, out);
	}
}

static void print_keys(const struct hist_entry *e, FILE *out)
{
	const struct hist_data *hd = e->hd;
	bool lines = false;

	fputs("{ ", out);
	for (unsigned int i = hd->n_vals; i < hd->n_fields; i++) {
		if (i > hd->n_vals)
			fputs(", ", out);
		hist_show_key(e, hd->fields[i], out);
		lines |= hd->fields[i]->flags & HIST_STACKTRACE;
	}
	fputs(lines ? "}" : " }", out);
}

/* The newest snapshot of a snapshot(). */
static void hist_show_snapshot(struct hist_data *hd, FILE *out)
{
	const struct hist_action *a = NULL;
	char data[HIST_BLOCK_MAX];
	struct hist_entry e;

	for (unsigned int i = 0; !a && i < hd->n_actions; i++)
		if (hd->actions[i]->kind == HIST_SNAPSHOT)
			a = hd->actions[i];
	if (!a || !hist_block_read(hd, 0, a->track.snapshot_block, data))
		return;
	e = (struct hist_entry){ .hd = hd, .key = data + HIST_TRACK_VALUES + LAYOUT_COMM_LEN,
			    .comm = data + HIST_TRACK_VALUES };
	fputs("\nSnapshot taken (see tracing/snapshot).  Details:\n", out);
	fprintf(out, "\ttriggering value { %s(%s) }: %10llu",
		a->handler == HIST_ONMAX ? "onmax" : "onchange", a->track.var_str,
		(unsigned long long)hist_block_word(data, 0));
	fputs("\ttriggered by event with key: ", out);
	print_keys(&e, out);
	fputc('\n', out);
}

static void print_entry(const struct hist_entry *e, const struct val_total *totals, FILE *out)
{
	const struct hist_data *hd = e->hd;
	unsigned int sum = 1;

	print_keys(e, out);
	if (!hd->attrs.no_hitcount)
		print_val("hitcount", 0, e->sums[0], totals, out);
	for (unsigned int i = 1; i < hd->n_vals; i++) {
		const struct hist_field *f = hd->fields[i];

		if (f->flags & HIST_VAR)
			continue;
		if (f->flags & HIST_NO_SUM) {
			print_no_sum(f, e->sums[sum], out);
		} else if (!(f->flags & HIST_EXPR)) {
			fputc(' ', out);
			print_val(hist_field_name(f), f->flags, e->sums[sum], &totals[sum], out);
		}
		sum++;
	}
	print_tracks(e, out);
	fputc('\n', out);
}

static void sum_up(const struct hist_entries *all, struct val_total *totals)
{
	for (unsigned int i = 0; i < all->nr; i++)
		for (unsigned int k = 0; k < hist_nr_sums(all->hd); k++) {
			uint64_t v = all->v[i].sums[k];

			totals[k].total += v;
			if (v > totals[k].max)
				totals[k].max = v;
		}
}

static void hist_show_header(struct trigger *t, unsigned int n, FILE *out)
{
	fprintf(out, "%s# event histogram\n#\n# trigger info: ", n ? "\n\n" : "");
	hist_trigger_print(t, out);
	fputs("\n#\n\n", out);
}

static int hist_show_one(struct trigger *t, FILE *out)
{
	struct hist_data *hd = hist_of(t);
	struct val_total totals[HIST_VALS_MAX + 1] = { { 0 } };
	struct hist_entries all;
	int err = hist_entries_read(hd, &all);

	sum_up(&all, totals);
	for (unsigned int i = 0; !err && i < all.nr; i++) {
		print_entry(&all.v[i], totals, out);
		model_step(hd->event->model);
	}
	hist_show_snapshot(hd, out);
	fprintf(out, "\nTotals:\n    Hits: %llu\n    Entries: %u\n    Dropped: %llu\n",
		(unsigned long long)all.hits, all.nr, (unsigned long long)all.drops);
	if (hd->event->model->hist_legacy)
		fputs("    Duplicates: 0\n", out);
	if (!err)
		err = percentiles_print(&all, out);
	hist_entries_free(&all);
	return err;
}

/* The line below the histograms in their first version, when there was no error_log. */
static void print_legacy_error(const struct event_file *f, FILE *out)
{
	if (f->hist_error)
		fprintf(out, "\nERROR: %s\n  Last command: %s\n", f->hist_error,
			f->hist_command ? f->hist_command : "");
}

void hist_print_begin(const struct event_file *f, FILE *out)
{
	struct trigger *t;

	list_each(t, &f->triggers, node)
		if (t->cmd == &hist_command) {
			hist_show_header(t, 0, out);
			return;
		}
}

int hist_print_rest(struct event_file *f, FILE *out)
{
	struct trigger *t;
	unsigned int n = 0;
	int err = 0;

	list_each(t, &f->triggers, node) {
		if (t->cmd != &hist_command || err)
			continue;
		if (n)
			hist_show_header(t, n, out);
		n++;
		err = hist_show_one(t, out);
	}
	if (!err && f->event->model->hist_legacy)
		print_legacy_error(f, out);
	return err;
}

int hist_print(struct event_file *f, FILE *out)
{
	hist_print_begin(f, out);
	return hist_print_rest(f, out);
}

bool hist_is_there(const struct event_file *f)
{
	struct trigger *t;

	list_each(t, &f->triggers, node)
		if (t->cmd == &hist_command)
			return true;
	return false;
}

bool hist_is_large(const struct event_file *f)
{
	struct trigger *t;

	list_each(t, &f->triggers, node)
		if (t->cmd == &hist_command && hist_of(t)->shape.max_elts > HIST_LARGE)
			return true;
	return false;
}

uint64_t hist_total_hits(const struct event_file *f)
{
	struct hist_entries totals;
	struct trigger *t;
	uint64_t hits = 0;

	list_each(t, &f->triggers, node)
		if (t->cmd == &hist_command) {
			hist_totals(hist_of(t), &totals);
			hits += totals.hits;
		}
	return hits;
}
