/* SPDX-License-Identifier: MIT */
/*
 * show.c - the file `hist`: entries, sorted, and totals
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/hist/hist.h"
#include "model/symbols.h"

struct entry {
	const struct hist_data *hd;
	uint32_t	elt;
	char		*key;
	const char	*comm;		/* of the newest snapshot; NULL: the elt's */
	uint64_t	*sums;
};

struct entries {
	struct hist_data *hd;
	struct entry	*v;
	unsigned int	nr, cap;
};

/* A val's largest and summed-up sum, for .graph and .percent. */
struct val_total {
	uint64_t	max, total;
};

static unsigned int nr_sums(const struct hist_data *hd)
{
	return hd->n_vals - hd->n_vars;
}

static int collect(void *arg, uint32_t elt, const void *key, const uint64_t *sums)
{
	struct entries *all = arg;
	size_t sums_size = nr_sums(all->hd) * sizeof(*sums);
	struct entry *e;

	if (all->nr == all->cap) {
		unsigned int cap = all->cap ? all->cap * 2 : 64;

		e = realloc(all->v, cap * sizeof(*e));
		if (!e)
			return -ENOMEM;
		all->v = e;
		all->cap = cap;
	}
	e = &all->v[all->nr];
	*e = (struct entry){ .hd = all->hd, .elt = elt, .key = malloc(all->hd->key_size), .sums = malloc(sums_size) };
	all->nr++;
	if (!e->key || !e->sums)
		return -ENOMEM;
	memcpy(e->key, key, all->hd->key_size);
	memcpy(e->sums, sums, sums_size);
	return 0;
}

static void entries_free(struct entries *all)
{
	for (unsigned int i = 0; i < all->nr; i++) {
		free(all->v[i].key);
		free(all->v[i].sums);
	}
	free(all->v);
}

static uint64_t key_u64(const struct entry *e, const struct hist_field *f)
{
	uint64_t v;

	memcpy(&v, e->key + f->offset, sizeof(v));
	return v;
}

/* As the kernel compares: by the size and sign of the event's field. */
static int compare_number(const struct hist_field *f, uint64_t a, uint64_t b)
{
	unsigned int size = f->field && !(f->flags & HIST_CPU) ? f->field->size : f->size;
	bool is_signed = f->field && !(f->flags & HIST_CPU) ? f->field->is_signed : f->is_signed;
	unsigned int shift = size < 8 ? 64 - 8 * size : 0;

	if (is_signed) {
		int64_t x = (int64_t)(a << shift) >> shift, y = (int64_t)(b << shift) >> shift;

		return x < y ? -1 : x > y;
	}
	a = a << shift >> shift;
	b = b << shift >> shift;
	return a < b ? -1 : a > b;
}

static int compare_key(const struct hist_field *f, const struct entry *a, const struct entry *b)
{
	if (f->flags & HIST_STACKTRACE)
		return 0;
	if (f->flags & HIST_STRING)
		return strncmp(a->key + f->offset, b->key + f->offset, f->size);
	return compare_number(f, key_u64(a, f), key_u64(b, f));
}

/* What a sort key's number means: a sum, or a key field. */
static int compare_by(const struct hist_data *hd, unsigned int idx, const struct entry *a, const struct entry *b)
{
	if (idx < nr_sums(hd))
		return a->sums[idx] < b->sums[idx] ? -1 : a->sums[idx] > b->sums[idx];
	return compare_key(hd->fields[idx + hd->n_vars], a, b);
}

static int compare(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;
	const struct hist_data *hd = a->hd;

	for (unsigned int i = 0; i < hd->n_sort_keys; i++) {
		int c = compare_by(hd, hd->sort_keys[i].field_idx, a, b);

		if (c)
			return hd->sort_keys[i].descending ? -c : c;
	}
	/* Ties, which the kernel leaves in any order, come out by key. */
	for (unsigned int i = hd->n_vals; i < hd->n_fields; i++) {
		int c = compare_key(hd->fields[i], a, b);

		if (c)
			return c;
	}
	return memcmp(a->key, b->key, hd->key_size);
}

/* ---- Printing ---- */

/* As %pS (with_offset) and %ps print an address. */
static char *symbol_text(struct model *m, uint64_t addr, bool with_offset)
{
	const char *module = NULL, *name;
	uint64_t offset = 0, size = 0;
	char *out;
	int n;

	name = symbols_find(m->symbols, addr, &offset, &size, &module);
	if (!name)
		n = asprintf(&out, "0x%llx", (unsigned long long)addr);
	else if (with_offset)
		n = asprintf(&out, "%s+0x%llx/0x%llx%s%s%s", name, (unsigned long long)offset,
			     (unsigned long long)size, module ? " [" : "", module ? module : "", module ? "]" : "");
	else
		n = asprintf(&out, "%s%s%s%s", name, module ? " [" : "", module ? module : "", module ? "]" : "");
	return n < 0 ? NULL : out;
}

static void print_symbol(const struct entry *e, const struct hist_field *f, FILE *out)
{
	bool with_offset = f->flags & HIST_SYM_OFFSET;
	uint64_t v = key_u64(e, f);
	char *text = symbol_text(e->hd->event->model, v, with_offset);

	fprintf(out, "%s: [%llx] %-*s", hist_field_name(f), (unsigned long long)v, with_offset ? 55 : 45,
		text ? text : "");
	free(text);
}

static void print_stack(const struct entry *e, const struct hist_field *f, FILE *out)
{
	if (f->field)
		fprintf(out, "%s.stacktrace", f->field->name);
	else
		fputs("common_stacktrace:\n", out);
	for (unsigned int i = 0; i < f->size / 8 && i < HIST_STACK_DEPTH; i++) {
		uint64_t addr;
		char *text;

		memcpy(&addr, e->key + f->offset + i * 8, sizeof(addr));
		if (!addr)
			break;
		text = symbol_text(e->hd->event->model, addr, true);
		fprintf(out, "%*c%s\n", 9, ' ', text ? text : "");
		free(text);
	}
}

/* The name that was kept when the elt was made. */
static void elt_comm(const struct entry *e, char comm[LAYOUT_COMM_LEN + 1])
{
	const struct hist_data *hd = e->hd;
	const struct map *m = session_data(hd->event->model->session, hd->map_ref, hd->map_size);
	uint64_t word[2] = { 0, 0 };

	memset(comm, 0, LAYOUT_COMM_LEN + 1);
	if (e->comm)
		memcpy(comm, e->comm, LAYOUT_COMM_LEN);
	if (e->comm || !m || !map_var_read(m, e->elt, hd->n_map_vars, &word[0]))
		return;
	map_var_read(m, e->elt, hd->n_map_vars + 1, &word[1]);
	memcpy(comm, word, LAYOUT_COMM_LEN);
}

static void print_execname(const struct entry *e, const struct hist_field *f, FILE *out)
{
	char comm[LAYOUT_COMM_LEN + 1];

	elt_comm(e, comm);
	fprintf(out, "%s: %-16s[%10llu]", hist_field_name(f), comm, (unsigned long long)key_u64(e, f));
}

static void print_key(const struct entry *e, const struct hist_field *f, FILE *out)
{
	const char *name = hist_field_name(f), *syscall;
	uint64_t v = key_u64(e, f);

	if (f->flags & HIST_HEX) {
		fprintf(out, "%s: %llx", name, (unsigned long long)v);
	} else if (f->flags & (HIST_SYM | HIST_SYM_OFFSET)) {
		print_symbol(e, f, out);
	} else if (f->flags & HIST_EXECNAME) {
		print_execname(e, f, out);
	} else if (f->flags & HIST_SYSCALL) {
		syscall = hist_syscall_name(v);
		fprintf(out, "%s: %-30s[%3llu]", name, syscall ? syscall : "unknown_syscall", (unsigned long long)v);
	} else if (f->flags & HIST_STACKTRACE) {
		print_stack(e, f, out);
	} else if (f->flags & HIST_LOG2) {
		fprintf(out, "%s: ~ 2^%-2llu", name, (unsigned long long)v);
	} else if (f->flags & HIST_BUCKET) {
		fprintf(out, "%s: ~ %llu-%llu", name, (unsigned long long)v, (unsigned long long)(v + f->buckets - 1));
	} else if (f->flags & HIST_STRING) {
		fprintf(out, "%s: %-50.*s", name, (int)f->size, e->key + f->offset);
	} else {
		fprintf(out, "%s: %10llu", name, (unsigned long long)v);
	}
}

/* A hundred times the percentage; UINT32_MAX: of nothing. */
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

static void print_val(const char *name, unsigned int flags, uint64_t v, const struct val_total *t, FILE *out)
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

/* ---- What onmax(), onchange(), save() and snapshot() kept ---- */

enum { BLOCK_MAX = HIST_TRACK_VALUES + HIST_VARS_MAX * STRING_ROOM + LAYOUT_COMM_LEN + HIST_KEY_SIZE_MAX };

/* A block of an elt; elt 0: of the map. False: nothing was kept there. */
static bool read_block(const struct hist_data *hd, uint32_t elt, unsigned int block, char data[BLOCK_MAX])
{
	const struct map *m = session_data(hd->event->model->session, hd->map_ref, hd->map_size);

	memset(data, 0, BLOCK_MAX);
	return m && map_block_read(m, hd->map_size, &hd->shape, elt, block, data);
}

static uint64_t word_at(const char *data, unsigned int off)
{
	uint64_t v;

	memcpy(&v, data + off, sizeof(v));
	return v;
}

static void print_saved(const struct hist_data *hd, const char *data, bool saved, FILE *out)
{
	for (unsigned int i = 0; i < hd->n_save_vars; i++) {
		const char *name = hd->save_vars[i]->var->var.name;
		unsigned int off = hist_save_offset(hd, i);

		if (hd->save_vars[i]->val->content == HIST_TEXT)
			fprintf(out, "  %s: %-32.*s", name, STRING_ROOM - 1, saved ? data + off : "(null)");
		else
			fprintf(out, "  %s: %10llu", name, (unsigned long long)word_at(data, off));
	}
}

static const struct hist_action *save_action(const struct hist_data *hd)
{
	for (unsigned int i = 0; i < hd->n_actions; i++)
		if (hd->actions[i]->kind == HIST_SAVE)
			return hd->actions[i];
	return NULL;
}

/* Below the entry: the tracked value, and what save() kept, whichever action that belongs to. */
static void print_tracks(const struct entry *e, FILE *out)
{
	const struct hist_data *hd = e->hd;
	const struct hist_action *save = save_action(hd);
	char data[BLOCK_MAX];

	for (unsigned int i = 0; i < hd->n_actions; i++) {
		const struct hist_action *a = hd->actions[i];
		bool saved;

		if (a->handler == HIST_ONMATCH || a->kind == HIST_SNAPSHOT)
			continue;
		saved = read_block(hd, e->elt, a->track.block, data);
		fprintf(out, "\n\t%s: %10llu", a->handler == HIST_ONMAX ? "max" : "changed",
			(unsigned long long)word_at(data, 0));
		if (save && save != a)
			saved = read_block(hd, e->elt, save->track.block, data);
		print_saved(hd, data, saved, out);
	}
}

static void print_keys(const struct entry *e, FILE *out)
{
	const struct hist_data *hd = e->hd;
	bool lines = false;

	fputs("{ ", out);
	for (unsigned int i = hd->n_vals; i < hd->n_fields; i++) {
		if (i > hd->n_vals)
			fputs(", ", out);
		print_key(e, hd->fields[i], out);
		lines |= hd->fields[i]->flags & HIST_STACKTRACE;
	}
	fputs(lines ? "}" : " }", out);
}

/* The newest snapshot that a snapshot() took. */
static void print_snapshot(struct hist_data *hd, FILE *out)
{
	const struct hist_action *a = NULL;
	char data[BLOCK_MAX];
	struct entry e;

	for (unsigned int i = 0; !a && i < hd->n_actions; i++)
		if (hd->actions[i]->kind == HIST_SNAPSHOT)
			a = hd->actions[i];
	if (!a || !read_block(hd, 0, a->track.snapshot_block, data))
		return;
	e = (struct entry){ .hd = hd, .key = data + HIST_TRACK_VALUES + LAYOUT_COMM_LEN,
			    .comm = data + HIST_TRACK_VALUES };
	fputs("\nSnapshot taken (see tracing/snapshot).  Details:\n", out);
	fprintf(out, "\ttriggering value { %s(%s) }: %10llu", a->handler == HIST_ONMAX ? "onmax" : "onchange",
		a->track.var_str, (unsigned long long)word_at(data, 0));
	fputs("\ttriggered by event with key: ", out);
	print_keys(&e, out);
	fputc('\n', out);
}

static void print_entry(const struct entry *e, const struct val_total *totals, FILE *out)
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
		if (!(f->flags & HIST_EXPR)) {
			fputc(' ', out);
			print_val(hist_field_name(f), f->flags, e->sums[sum], &totals[sum], out);
		}
		sum++;
	}
	print_tracks(e, out);
	fputc('\n', out);
}

static void sum_up(const struct entries *all, struct val_total *totals)
{
	for (unsigned int i = 0; i < all->nr; i++)
		for (unsigned int k = 0; k < nr_sums(all->hd); k++) {
			uint64_t v = all->v[i].sums[k];

			totals[k].total += v;
			if (v > totals[k].max)
				totals[k].max = v;
		}
}

static int print_hist(struct trigger *t, unsigned int n, FILE *out)
{
	struct hist_data *hd = hist_of(t);
	struct model *model = t->file->event->model;
	const struct map *m = session_data(model->session, hd->map_ref, hd->map_size);
	struct val_total totals[HIST_VALS_MAX + 1] = { { 0 } };
	struct entries all = { .hd = hd };
	int err;

	fprintf(out, "%s# event histogram\n#\n# trigger info: ", n ? "\n\n" : "");
	hist_trigger_print(t, out);
	fputs("\n#\n\n", out);
	err = m ? map_each(m, hd->map_size, &hd->shape, collect, &all) : -EPROTO;
	if (err != -ENOMEM && all.nr) {
		qsort(all.v, all.nr, sizeof(*all.v), compare);
		sum_up(&all, totals);
		for (unsigned int i = 0; i < all.nr; i++)
			print_entry(&all.v[i], totals, out);
	}
	print_snapshot(hd, out);
	fprintf(out, "\nTotals:\n    Hits: %llu\n    Entries: %u\n    Dropped: %llu\n",
		m ? (unsigned long long)map_hits(m, &hd->shape) : 0, all.nr,
		m ? (unsigned long long)map_drops(m, &hd->shape) : 0);
	if (model->hist_legacy)
		fputs("    Duplicates: 0\n", out);
	entries_free(&all);
	return err == -ENOMEM ? err : 0;
}

/* What the first version of these histograms had below them, before there was an error_log. */
static void print_legacy_error(const struct event_file *f, FILE *out)
{
	if (f->hist_error)
		fprintf(out, "\nERROR: %s\n  Last command: %s\n", f->hist_error,
			f->hist_command ? f->hist_command : "");
}

int hist_print(struct event_file *f, FILE *out)
{
	struct trigger *t;
	unsigned int n = 0;
	int err = 0;

	list_each(t, &f->triggers, node)
		if (t->cmd == &hist_command && !err)
			err = print_hist(t, n++, out);
	if (!err && f->event->model->hist_legacy)
		print_legacy_error(f, out);
	return err;
}
