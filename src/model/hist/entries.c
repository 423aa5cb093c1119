/* SPDX-License-Identifier: MIT */
/*
 * entries.c - reads the entries of a hist from its map, and sorts them
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/hist/entries.h"
#include "model/symbols.h"
#include "plane/exponential.h"
#include "session/array.h"

unsigned int hist_nr_sums(const struct hist_data *hd)
{
	return hd->n_vals - hd->n_vars;
}

uint64_t hist_extreme_mask(const struct hist_field *f)
{
	const uint64_t sign = f->is_signed ? 1ull << 63 : 0;

	return f->flags & HIST_MIN ? ~sign : sign;
}

/* What a value with .min, .max or .avg stands for: its word in the map, and the hits. */
static uint64_t hist_entries_value(const struct hist_field *f, uint64_t word, uint64_t hits)
{
	if (f->flags & HIST_EXTREME)
		return word ^ hist_extreme_mask(f);
	if (!(f->flags & HIST_AVG) || !hits)
		return word;
	return f->is_signed ? (uint64_t)((int64_t)word / (int64_t)hits) : word / hits;
}

static int collect(void *arg, uint32_t elt, const void *key, const uint64_t *sums)
{
	struct hist_entries *all = arg;
	struct hist_entry *e;

	model_step(all->hd->event->model);
	if (array_room(&all->v, all->nr, sizeof(*e)))
		return -ENOMEM;
	e = &all->v[all->nr];
	*e = (struct hist_entry){ .hd = all->hd, .elt = elt, .key = malloc(all->hd->key_size),
		.sums = calloc(hist_nr_sums(all->hd), sizeof(*sums)) };
	if (!e->key || !e->sums) {
		free(e->key);
		free(e->sums);
		return -ENOMEM;
	}
	all->nr++;
	memcpy(e->key, key, all->hd->key_size);
	for (unsigned int i = 0; i < hist_nr_sums(all->hd); i++)
		e->sums[i] = hist_entries_value(all->hd->fields[i], sums[i], sums[0]);
	return 0;
}

void hist_entries_free(struct hist_entries *all)
{
	for (unsigned int i = 0; i < all->nr; i++) {
		free(all->v[i].key);
		free(all->v[i].sums);
	}
	free(all->v);
}

uint64_t hist_entry_u64(const struct hist_entry *e, const struct hist_field *f)
{
	uint64_t v;

	memcpy(&v, e->key + f->offset, sizeof(v));
	return v;
}

/* Compares as the kernel does: by the size and sign of the event's field. */
static int compare_number(const struct hist_field *f, uint64_t a, uint64_t b)
{
	unsigned int size = f->flags & HIST_EXP ? 8 :
			    f->field && !(f->flags & HIST_CPU) ? f->field->size : f->size;
	bool is_signed = f->field && !(f->flags & HIST_CPU) ? f->field->is_signed : f->is_signed;
	unsigned int shift = size < 8 ? 64 - 8 * size : 0;

	if (is_signed && !(f->flags & HIST_EXP)) {
		int64_t x = (int64_t)(a << shift) >> shift, y = (int64_t)(b << shift) >> shift;

		return x < y ? -1 : x > y;
	}
	a = a << shift >> shift;
	b = b << shift >> shift;
	return a < b ? -1 : a > b;
}

/* To the kernel, a number that it makes of a text or of a pointer to text is a text, too. */
static bool compares_as_text(const struct hist_field *f)
{
	return f->field && !(f->flags & (HIST_CPU | HIST_EXP)) && field_is_text(f->field);
}

int hist_entries_compare_key(const struct hist_field *f, const struct hist_entry *a,
			     const struct hist_entry *b)
{
	if (f->flags & HIST_STACKTRACE)
		return 0;
	if (f->flags & HIST_STRING)
		return strncmp(a->key + f->offset, b->key + f->offset, f->size);
	/* Without a byte of 0 the text goes on in the keys behind it. */
	if (compares_as_text(f))
		return strncmp(a->key + f->offset, b->key + f->offset,
			       a->hd->key_size - f->offset);
	return compare_number(f, hist_entry_u64(a, f), hist_entry_u64(b, f));
}

/* Sums have no sign, as in the kernel. */
static int compare_sums(const struct hist_field *f, uint64_t a, uint64_t b)
{
	if (f->flags & HIST_NO_SUM && f->is_signed)
		return (int64_t)a < (int64_t)b ? -1 : (int64_t)a > (int64_t)b;
	return a < b ? -1 : a > b;
}

/* A sort key's number means a sum or a key field. */
static int compare_by(const struct hist_data *hd, unsigned int idx, const struct hist_entry *a,
		      const struct hist_entry *b)
{
	if (idx < hist_nr_sums(hd))
		return compare_sums(hd->fields[idx], a->sums[idx], b->sums[idx]);
	return hist_entries_compare_key(hd->fields[idx + hd->n_vars], a, b);
}

static int hist_entries_compare(const void *pa, const void *pb)
{
	const struct hist_entry *a = pa, *b = pb;
	const struct hist_data *hd = a->hd;

	for (unsigned int i = 0; i < hd->n_sort_keys; i++) {
		int c = compare_by(hd, hd->sort_keys[i].field_idx, a, b);

		if (c)
			return hd->sort_keys[i].descending ? -c : c;
	}
	/* Equal entries, for which the kernel has any order, are sorted by key. */
	for (unsigned int i = hd->n_vals; i < hd->n_fields; i++) {
		int c = hist_entries_compare_key(hd->fields[i], a, b);

		if (c)
			return c;
	}
	return memcmp(a->key, b->key, hd->key_size);
}

void hist_key_range(const struct hist_field *f, uint64_t v, uint64_t *low, uint64_t *high)
{
	*low = *high = v;
	if (f->flags & HIST_EXP) {
		exponential_range(f->scale, v, low, high);
	} else if (f->flags & HIST_LOG2) {
		*high = v < 64 ? 1ull << v : UINT64_MAX;
		*low = v ? *high / 2 + 1 : 0;
	} else if (f->flags & HIST_BUCKET) {
		*high = v + f->buckets - 1;
	}
}

bool hist_stack_at(const struct hist_entry *e, const struct hist_field *f, unsigned int i,
		   uint64_t *addr)
{
	const unsigned int limit = f->flags & HIST_DEPTH ? f->depth + 1 : HIST_STACK_DEPTH;

	if (i >= f->size / 8 || i >= limit)
		return false;
	memcpy(addr, e->key + f->offset + i * 8, sizeof(*addr));
	return *addr;
}

void hist_symbol_find(struct model *m, uint64_t addr, bool with_offset, struct hist_symbol *out)
{
	const char *module = NULL, *name = "stack_is_cut";
	uint64_t offset = 0, size = 0;

	out->number[0] = '\0';
	if (addr != LAYOUT_STACK_CUT) {
		name = symbols_find(m->symbols, addr, &offset, &size, &module);
		if (!name)
			snprintf(out->number, sizeof(out->number), "0x%llx",
				 (unsigned long long)addr);
		else if (with_offset)
			snprintf(out->number, sizeof(out->number), "+0x%llx/0x%llx",
				 (unsigned long long)offset, (unsigned long long)size);
	}
	out->parts[0] = name ? name : "";
	out->parts[1] = out->number;
	out->parts[2] = module ? " [" : "";
	out->parts[3] = module ? module : "";
	out->parts[4] = module ? "]" : "";
}

void hist_symbol_print(struct model *m, uint64_t addr, bool with_offset, size_t width, FILE *out)
{
	struct hist_symbol symbol;
	size_t len = 0;

	hist_symbol_find(m, addr, with_offset, &symbol);
	for (unsigned int i = 0; i < HIST_SYMBOL_PARTS; i++) {
		fputs(symbol.parts[i], out);
		len += strlen(symbol.parts[i]);
	}
	if (len < width)
		fprintf(out, "%*s", (int)(width - len), "");
}

/* The name that was stored when the elt was made. */
void hist_entry_comm(const struct hist_entry *e, char comm[LAYOUT_COMM_LEN + 1])
{
	const struct hist_data *hd = e->hd;
	const struct map_view m = hist_map_view(hd);
	uint64_t word[2] = { 0, 0 };

	memset(comm, 0, LAYOUT_COMM_LEN + 1);
	if (e->comm)
		memcpy(comm, e->comm, LAYOUT_COMM_LEN);
	if (e->comm || !m.data || !map_var_read(m, e->elt, hd->n_map_vars, &word[0]))
		return;
	map_var_read(m, e->elt, hd->n_map_vars + 1, &word[1]);
	memcpy(comm, word, LAYOUT_COMM_LEN);
}

/* Reads a block of an elt; elt 0: of the map. False: it is empty. */
bool hist_block_read(const struct hist_data *hd, uint32_t elt, unsigned int block,
		     char data[HIST_BLOCK_MAX])
{
	const struct map *m = session_data(hd->event->model->session, hd->map_ref, hd->map_size);

	memset(data, 0, HIST_BLOCK_MAX);
	return m && map_block_read(m, hd->map_size, &hd->shape, elt, block, data);
}

void hist_totals(const struct hist_data *hd, struct hist_entries *out)
{
	const struct map *m = session_data(hd->event->model->session, hd->map_ref, hd->map_size);

	out->hits = m ? map_hits(m, &hd->shape) : 0;
	out->drops = m ? map_drops(m) : 0;
	out->cuts = m ? map_cuts(m) : 0;
}

int hist_entries_read(struct hist_data *hd, struct hist_entries *out)
{
	const struct map *m = session_data(hd->event->model->session, hd->map_ref, hd->map_size);
	int err;

	*out = (struct hist_entries){ .hd = hd };
	err = m ? map_each(m, hd->map_size, &hd->shape, collect, out) : -EPROTO;
	if (err != -ENOMEM && out->nr)
		qsort(out->v, out->nr, sizeof(*out->v), hist_entries_compare);
	hist_totals(hd, out);
	return err == -ENOMEM ? err : 0;
}
