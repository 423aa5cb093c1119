/* SPDX-License-Identifier: MIT */
/* table.c - see table.h */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/draw/rows.h"
#include "cli/draw/table.h"
#include "host/terminal.h"
#include "model/demangle/demangle.h"
#include "model/text_memory.h"
#include "session/array.h"

enum { NUMBER_WIDTH = 11, TEXT_LEAST = 8, TEXT_GAP = 2, TEXT_ROOM = 32 };

struct table_row *table_add(struct table *t)
{
	if (array_room(&t->rows, t->nr, sizeof(*t->rows)))
		return NULL;
	t->rows[t->nr] = (struct table_row){ 0 };
	return &t->rows[t->nr++];
}

int table_column(const struct table *t, const char *head)
{
	for (unsigned int i = 0; i < t->nr_columns; i++)
		if (!strcmp(t->columns[i].head, head))
			return (int)i;
	return -1;
}

void table_free(struct table *t)
{
	for (size_t r = 0; r < t->nr; r++)
		for (unsigned int i = 0; i < t->nr_columns; i++)
			if (t->columns[i].kind == TABLE_TEXT)
				free(t->rows[r].cell[i].text);
	free(t->rows);
	t->rows = NULL;
	t->nr = 0;
}

/* ---- the order ---- */

struct order {
	const struct table *table;
	unsigned int	column;
};

static const char *text_of(const struct table_row *r, unsigned int column)
{
	return r->cell[column].text ? r->cell[column].text : "";
}

static int compare_cells(const struct order *o, unsigned int column, const struct table_row *a,
			 const struct table_row *b)
{
	const double x = a->cell[column].number, y = b->cell[column].number;

	if (o->table->columns[column].kind == TABLE_TEXT)
		return strcmp(text_of(a, column), text_of(b, column));
	return x < y ? 1 : x > y ? -1 : 0;
}

static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct order *o = arg;
	int c = compare_cells(o, o->column, a, b);

	for (unsigned int i = 0; !c && i < o->table->nr_columns; i++)
		if (o->table->columns[i].kind == TABLE_TEXT)
			c = compare_cells(o, i, a, b);
	return c;
}

void table_sort(struct table *t, unsigned int column)
{
	struct order o = { .table = t, .column = column };

	if (t->nr)
		qsort_r(t->rows, t->nr, sizeof(*t->rows), compare_rows, &o);
}

/* ---- cells ---- */

/* Three digits and a unit. The last unit has no end. */
static void format_unit(double v, double step, const char *const *units, unsigned int nr, char *out,
			size_t size)
{
	unsigned int u = 0;

	while (u + 1 < nr && v >= step * 0.9995) {
		v /= step;
		u++;
	}
	if (!u || v >= 99.95)
		snprintf(out, size, "%.0f %s", v, units[u]);
	else
		snprintf(out, size, "%.*f %s", v >= 9.995 ? 1 : 2, v, units[u]);
}

static void format_number(enum table_kind kind, double v, char *out, size_t size)
{
	static const char *const times[] = { "ns", "us", "ms", "s" };
	static const char *const bytes[] = { "B", "KiB", "MiB", "GiB", "TiB" };

	if (v < 0)
		snprintf(out, size, "-");
	else if (kind == TABLE_TIME)
		format_unit(v, 1000, times, sizeof(times) / sizeof(*times), out, size);
	else if (kind == TABLE_BYTES)
		format_unit(v, 1024, bytes, sizeof(bytes) / sizeof(*bytes), out, size);
	else
		snprintf(out, size, "%.*f", kind == TABLE_PERCENT ? 1 : 0, v);
}

/* It may be a name that a program has chosen: a terminal gets no control characters of it. */
static void print_readable(struct demangler *d, const char *line, FILE *out)
{
	char *made = demangle_text(d, line);

	rows_print_text(made ? made : line, out);
	free(made);
}

/* The same text with readable lines. NULL: out of memory. */
static char *readable_text(struct demangler *d, const char *text)
{
	char *made = NULL, *lines = strdup(text), *rest = lines, *line;
	size_t size;
	FILE *out = lines ? text_memory_open(&made, &size) : NULL;

	while (out && (line = strsep(&rest, "\n"))) {
		print_readable(d, line, out);
		fputs(rest ? "\n" : "", out);
	}
	free(lines);
	return out && !fclose(out) ? made : NULL;
}

/* ---- printing ---- */

struct printing {
	const struct table *table;
	struct demangler *names;
	size_t		width[TABLE_COLUMNS];
	FILE		*out;
};

/* A blank and the longest number: on a terminal that has no room for the usual width. */
static size_t number_width(const struct table *t, unsigned int i, size_t lines)
{
	size_t width = strlen(t->columns[i].head), n;
	char number[32];

	for (size_t r = 0; r < lines; r++) {
		format_number(t->columns[i].kind, t->rows[r].cell[i].number, number,
			      sizeof(number));
		n = strlen(number);
		width = n > width ? n : width;
	}
	return width + 1;
}

/* Numbers: usually as wide as NUMBER_WIDTH. -> the columns that they leave for texts */
static unsigned int set_number_widths(struct printing *p, size_t lines)
{
	const struct table *t = p->table;
	const unsigned int all = terminal_columns();
	unsigned int left = all, numbers = 0;

	for (unsigned int i = 0; i < t->nr_columns; i++)
		numbers += t->columns[i].kind != TABLE_TEXT;
	for (unsigned int i = 0; i < t->nr_columns; i++) {
		if (t->columns[i].kind == TABLE_TEXT)
			continue;
		p->width[i] = all && all < numbers * NUMBER_WIDTH + TEXT_ROOM ?
			      number_width(t, i, lines) : NUMBER_WIDTH;
		left -= left > p->width[i] ? (unsigned int)p->width[i] : left;
	}
	return left;
}

/* All but the last text are as wide as the widest one, or share what the terminal has. */
static void set_widths(struct printing *p, size_t lines)
{
	const struct table *t = p->table;
	unsigned int texts = 0, left = set_number_widths(p, lines);

	for (unsigned int i = 0; i < t->nr_columns; i++) {
		if (t->columns[i].kind != TABLE_TEXT)
			continue;
		texts++;
		p->width[i] = strlen(t->columns[i].head);
		for (size_t r = 0; r < lines; r++) {
			const size_t n = strlen(text_of(&t->rows[r], i));

			p->width[i] = n > p->width[i] ? n : p->width[i];
		}
	}
	if (!terminal_columns() || !texts)
		return;
	left = left / texts > TEXT_LEAST + TEXT_GAP ? left / texts - TEXT_GAP : TEXT_LEAST;
	for (unsigned int i = 0; i < t->nr_columns; i++)
		if (t->columns[i].kind == TABLE_TEXT && p->width[i] > left)
			p->width[i] = left;
}

/* As many of the first bytes as are whole characters. */
static int table_cut(const char *text, size_t n)
{
	while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return (int)n;
}

/* A line of a text, which is not longer than `width` on a terminal. */
static void table_print_line(const struct printing *p, const char *line, size_t n, size_t width)
{
	if (n > width)
		fprintf(p->out, "%.*s...", table_cut(line, width - 3), line);
	else
		fwrite(line, 1, n, p->out);
}

static void table_print_text(const struct printing *p, unsigned int i, const char *text)
{
	const size_t n = strlen(text), width = p->width[i];

	fprintf(p->out, "%*s", TEXT_GAP, "");
	table_print_line(p, text, n, width);
	if (n < width)
		fprintf(p->out, "%*s", (int)(width - n), "");
}

/* Its first line is that of the row. */
static void print_last_text(const struct printing *p, unsigned int i, const char *text)
{
	const size_t width = terminal_columns() ? p->width[i] : SIZE_MAX;
	size_t n = strcspn(text, "\n"), before = TEXT_GAP;

	fprintf(p->out, "%*s", TEXT_GAP, "");
	table_print_line(p, text, n, width);
	for (unsigned int c = 0; c < i; c++)
		before += p->width[c] + (p->table->columns[c].kind == TABLE_TEXT ? TEXT_GAP : 0);
	for (text += n; *text; text += n) {
		text++;
		n = strcspn(text, "\n");
		fprintf(p->out, "\n%*s", (int)before, "");
		table_print_line(p, text, n, width);
	}
}

static void table_print_cell(const struct printing *p, unsigned int i, const char *text)
{
	if (i + 1 == p->table->nr_columns)
		print_last_text(p, i, text);
	else
		table_print_text(p, i, text);
}

static void table_print_head(const struct printing *p)
{
	const struct table *t = p->table;

	for (unsigned int i = 0; i < t->nr_columns; i++)
		if (t->columns[i].kind == TABLE_TEXT)
			table_print_cell(p, i, t->columns[i].head);
		else
			fprintf(p->out, "%*s", (int)p->width[i], t->columns[i].head);
	fputc('\n', p->out);
}

static void table_print_row(const struct printing *p, const struct table_row *r)
{
	const struct table *t = p->table;
	char number[32];

	for (unsigned int i = 0; i < t->nr_columns; i++) {
		if (t->columns[i].kind == TABLE_TEXT) {
			table_print_cell(p, i, text_of(r, i));
			continue;
		}
		format_number(t->columns[i].kind, r->cell[i].number, number, sizeof(number));
		fprintf(p->out, "%*s", (int)p->width[i], number);
	}
	fputc('\n', p->out);
}

/* Makes the texts of the first rows readable. 0, -ENOMEM */
static int make_readable(const struct table *t, struct demangler *d, size_t lines)
{
	for (size_t r = 0; r < lines; r++)
		for (unsigned int i = 0; i < t->nr_columns; i++) {
			char **text = &t->rows[r].cell[i].text, *new;

			if (t->columns[i].kind != TABLE_TEXT || !*text)
				continue;
			new = readable_text(d, *text);
			if (!new)
				return -ENOMEM;
			free(*text);
			*text = new;
		}
	return 0;
}

int table_print(const struct table *t, unsigned int lines, FILE *out)
{
	struct printing p = { .table = t, .out = out, .names = demangler_create() };
	const size_t nr = lines && lines < t->nr ? lines : t->nr;
	int err = p.names ? make_readable(t, p.names, nr) : -ENOMEM;

	if (!err) {
		set_widths(&p, nr);
		table_print_head(&p);
		for (size_t r = 0; r < nr; r++)
			table_print_row(&p, &t->rows[r]);
		if (nr < t->nr)
			fprintf(out, "%*s... and %zu more\n", TEXT_GAP, "", t->nr - nr);
	}
	demangler_destroy(p.names);
	return err;
}
