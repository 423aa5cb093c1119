/* SPDX-License-Identifier: MIT */
/*
 * percentiles.c - percentiles of a hist's hits, by the value of one of its keys
 *
 * The percentile p of n hits is the value of hit number ceil(n * p / 100), in the order of the
 * values. A hist does not have the values of hits, but how many there are in each entry. So what is
 * found is the entry, and its range has the percentile.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/hist/percentiles.h"
#include "model/text.h"

enum { HUNDRED = 100 * PERCENTILE_UNIT };

/* ---- the list ---- */

bool percentiles_is_list(const char *text)
{
	return strpbrk(text, ".,") && text[strspn(text, "0123456789.,")] == '\0';
}

/* "99.9" at *text, which is moved behind it. False: it is no percentile, and stays. */
static bool percentile_read(const char **text, uint32_t *out)
{
	uint32_t v = 0, unit = PERCENTILE_UNIT;
	const char *s = *text;

	if (!text_is_digit(*s))
		return false;
	for (; text_is_digit(*s) && v <= HUNDRED; s++)
		v = v * 10 + (uint32_t)(*s - '0') * PERCENTILE_UNIT;
	if (*s == '.' && text_is_digit(s[1]))
		for (s++; text_is_digit(*s) && unit > 1; s++)
			v += (uint32_t)(*s - '0') * (unit /= 10);
	if (!v || v > HUNDRED || (*s && *s != ','))
		return false;
	*text = s;
	*out = v;
	return true;
}

bool percentiles_get(const struct hist_data *hd, unsigned int i, uint32_t *out)
{
	const char *s = hd->attrs.percents;

	while (s && percentile_read(&s, out)) {
		if (!i--)
			return true;
		if (!*s++)
			return false;
	}
	return false;
}

static bool is_number(const struct hist_field *f)
{
	return !(f->flags & (HIST_STRING | HIST_STACKTRACE | HIST_SYM | HIST_SYM_OFFSET |
			     HIST_EXECNAME | HIST_SYSCALL));
}

/* The last key with ranges, else the last number. NULL: there is none. */
static const struct hist_field *percentiles_key(const struct hist_data *hd)
{
	const struct hist_field *found = NULL;

	for (unsigned int i = hd->n_vals; i < hd->n_fields; i++) {
		const struct hist_field *f = hd->fields[i];

		if (is_number(f) && (f->flags & HIST_RANGES || !found ||
				     !(found->flags & HIST_RANGES)))
			found = f;
	}
	return found;
}

int percentiles_check(const struct hist_data *hd, const struct hist_command_text *cmd)
{
	const char *list = hd->attrs.percents, *s = list;
	unsigned int nr = 0;
	uint32_t v;

	if (!list)
		return 0;
	do {
		if (!percentile_read(&s, &v))
			return hist_refuse(cmd, "Invalid percentile", s);
		if (++nr > PERCENTILES_MAX)
			return hist_refuse(cmd, "Too many percentiles", list);
	} while (*s++);
	return percentiles_key(hd)
		       ? 0
		       : hist_refuse(cmd, "Percentiles need a key that is a number", list);
}

/* ---- the groups ---- */

static int compare_others(const struct hist_field *key, const struct hist_entry *a,
			  const struct hist_entry *b)
{
	const struct hist_data *hd = a->hd;
	int c = 0;

	for (unsigned int i = hd->n_vals; !c && i < hd->n_fields; i++)
		if (hd->fields[i] != key)
			c = hist_entries_compare_key(hd->fields[i], a, b);
	/* Stacks have no order, but equal ones must meet. */
	for (unsigned int i = hd->n_vals; !c && i < hd->n_fields; i++)
		if (hd->fields[i] != key)
			c = memcmp(a->key + hd->fields[i]->offset, b->key + hd->fields[i]->offset,
				   hd->fields[i]->size);
	return c;
}

static int percentiles_compare(const void *pa, const void *pb)
{
	const struct hist_entry *a = *(const struct hist_entry *const *)pa;
	const struct hist_entry *b = *(const struct hist_entry *const *)pb;
	const struct hist_field *key = percentiles_key(a->hd);
	int c = compare_others(key, a, b);

	return c ? c : hist_entries_compare_key(key, a, b);
}

int percentiles_each(const struct hist_entries *all, percentiles_fn fn, void *arg)
{
	struct percentiles_group g = { .key = percentiles_key(all->hd) };
	const struct hist_entry **v;
	unsigned int end;

	if (!all->nr || !g.key)
		return 0;
	v = malloc(all->nr * sizeof(const struct hist_entry *));
	if (!v)
		return -ENOMEM;
	for (unsigned int i = 0; i < all->nr; i++)
		v[i] = &all->v[i];
	qsort(v, all->nr, sizeof(const struct hist_entry *), percentiles_compare);
	for (unsigned int begin = 0; begin < all->nr; begin = end) {
		for (end = begin + 1; end < all->nr; end++)
			if (compare_others(g.key, v[begin], v[end]))
				break;
		g.entries = v + begin;
		g.nr = end - begin;
		fn(&g, arg);
	}
	free(v);
	return 0;
}

const struct hist_entry *percentiles_entry(const struct percentiles_group *g, uint32_t percentile)
{
	unsigned __int128 all = 0, wanted, seen = 0;
	unsigned int i;

	for (i = 0; i < g->nr; i++)
		all += g->entries[i]->sums[0];
	wanted = (all * percentile + HUNDRED - 1) / HUNDRED;
	for (i = 0; i + 1 < g->nr; i++) {
		seen += g->entries[i]->sums[0];
		if (seen >= wanted)
			break;
	}
	return g->entries[i];
}

/* ---- the file ---- */

static void print_percent(uint32_t percentile, FILE *out)
{
	uint32_t rest = percentile % PERCENTILE_UNIT;

	fprintf(out, "%u", percentile / PERCENTILE_UNIT);
	for (uint32_t unit = PERCENTILE_UNIT / 10; rest; unit /= 10) {
		fprintf(out, "%s%u", unit == PERCENTILE_UNIT / 10 ? "." : "", rest / unit);
		rest %= unit;
	}
	fputc('%', out);
}

static void print_number(const struct hist_field *f, uint64_t v, FILE *out)
{
	uint64_t low, high;

	hist_key_range(f, v, &low, &high);
	if (f->flags & HIST_RANGES)
		fprintf(out, "~ %llu-%llu", (unsigned long long)low, (unsigned long long)high);
	else
		fprintf(out, f->flags & HIST_HEX ? "%llx" : "%llu", (unsigned long long)v);
}

static void print_group(const struct percentiles_group *g, void *arg)
{
	const struct hist_data *hd = g->entries[0]->hd;
	const char *separator = "    { ";
	FILE *out = arg;
	uint32_t p;

	for (unsigned int i = hd->n_vals; i < hd->n_fields; i++) {
		if (hd->fields[i] == g->key)
			continue;
		fputs(separator, out);
		hist_show_key(g->entries[0], hd->fields[i], out);
		separator = ", ";
	}
	fputs(hd->n_keys > 1 ? " }" : "   ", out);
	for (unsigned int i = 0; percentiles_get(hd, i, &p); i++) {
		fputc(' ', out);
		print_percent(p, out);
		fputs(": ", out);
		print_number(g->key, hist_entry_u64(percentiles_entry(g, p), g->key), out);
	}
	fputc('\n', out);
}

/* How far apart the ends of a range are. */
static void print_width(const struct hist_field *key, FILE *out)
{
	static const char *const percents[] = { "100", "41.5", "19", "9.1", "4.5", "2.2", "1.1",
						"0.6", "0.3" };

	if (key->flags & HIST_EXP)
		fprintf(out, ", in ranges of %s %%", percents[key->scale]);
	else if (key->flags & HIST_LOG2)
		fputs(", in ranges of 100 %", out);
	else if (key->flags & HIST_BUCKET)
		fprintf(out, ", in ranges of %llu", (unsigned long long)key->buckets);
}

int percentiles_print(const struct hist_entries *all, FILE *out)
{
	const struct hist_field *key = percentiles_key(all->hd);

	if (!all->hd->attrs.percents || !key)
		return 0;
	fprintf(out, "\nPercentiles of %s", hist_field_label(key));
	print_width(key, out);
	if (all->drops)
		fprintf(out, ", without the %llu hits that were dropped",
			(unsigned long long)all->drops);
	fputs(":\n", out);
	return percentiles_each(all, print_group, out);
}
