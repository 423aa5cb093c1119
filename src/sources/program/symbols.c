/* SPDX-License-Identifier: MIT */
/*
 * symbols.c - names of functions, from the table of DSOs and their files (R19)
 *
 *     address = LAYOUT_DSO_BASE + (number << LAYOUT_DSO_SHIFT) + st_value - load
 *
 * A file is read when the first of its addresses is looked up, or when its functions that can be
 * traced are read: later the file might be another one. An address between symbols, as of a static
 * function in a stripped file, prints as "[libfoo.so.1]" with its offset in the file's addresses,
 * which addr2line takes.
 */
#include <stdio.h>

#include "model/symbols.h"
#include "elf/file.h"
#include "sources/program/programs_state.h"

enum {
	/*
	 * BEHIND: the return address of a call that does not return may be the byte behind the
	 * function. GAP_MIN: gaps that alignment makes are smaller.
	 */
	GAP_MIN		= 64,
	BEHIND		= 16,
};

static void add_gap(struct programs *p, const struct program_dso *d, uint64_t at, const char *gap)
{
	symbols_add_gap(p->model->symbols, at, gap, program_dso_base(d) - d->load, d->size);
}

static void add_symbols(struct programs *p, const struct program_dso *d,
			const struct elf_symbols *s, const char *name, const char *gap)
{
	/* `end`: the end of the last name's range */
	uint64_t base = program_dso_base(d), end = base;

	for (size_t i = 0; i < s->nr; i++) {
		const struct elf_symbol *y = &s->v[i];
		uint64_t at = base + y->value - d->load,
			 size = y->size < d->size ? y->size : d->size;

		if (y->value < d->load || y->value - d->load >= d->size)
			continue;
		if (at > end && at - end >= GAP_MIN)
			add_gap(p, d, end == base ? base : end + BEHIND, gap);
		symbols_add(p->model->symbols, at, y->type, s->names + y->name, name);
		/* A symbol without a size extends to the next one. */
		if (!size)
			size = i + 1 < s->nr && s->v[i + 1].value > y->value
				       ? s->v[i + 1].value - y->value
				       : 1;
		end = at + size > end ? at + size : end;
	}
	if (end < base + d->size)
		add_gap(p, d, end == base ? base : end + BEHIND, gap);
}

static int read_symbols(const char *path, const struct elf_want *want, void *out)
{
	return elf_symbols_read(path, want, out);
}

void program_symbols_take(struct programs *p, const struct program_dso *d,
			  const struct elf_symbols *symbols)
{
	char name[256], gap[260];

	if (p->dso_read[d->nr])
		return;
	p->dso_read[d->nr] = true;
	snprintf(gap, sizeof(gap), "[%s]", program_dso_name(d, name));
	/* As with the kernel's symbols, only a library's have a name in brackets. */
	add_symbols(p, d, symbols, symbols->is_program ? NULL : name, gap);
	/* Addresses behind the DSO have no name. */
	symbols_add_gap(p->model->symbols, program_dso_base(d) + d->size + BEHIND, NULL, 0, 1);
}

static void dso_load(struct programs *p, uint32_t nr)
{
	struct elf_symbols symbols = { 0 };
	struct program_dso d;

	if (p->dso_read[nr] || !program_dso_copy(p, nr, &d))
		return;
	program_dso_read(p, &d, read_symbols, &symbols);
	program_symbols_take(p, &d, &symbols);
	elf_symbols_free(&symbols);
}

/* The name of the address that ends a stack whose other callers are not known. */
static void cut_name(struct programs *p)
{
	if (p->cut_is_named)
		return;
	p->cut_is_named = !symbols_add(p->model->symbols, LAYOUT_STACK_CUT, 't', "stack_is_cut",
				       NULL);
	symbols_add_gap(p->model->symbols, LAYOUT_STACK_CUT + 1, NULL, 0, 1);
}

void program_symbols_load(struct programs *p, uint64_t addr)
{
	uint64_t nr = (addr - LAYOUT_DSO_BASE) >> LAYOUT_DSO_SHIFT;

	if (addr && addr >= LAYOUT_DSO_BASE && nr < LAYOUT_MAX_DSOS)
		dso_load(p, (uint32_t)nr);
	if (!addr || addr == LAYOUT_STACK_CUT)
		cut_name(p);
	for (uint32_t i = 0; !addr && i < LAYOUT_MAX_DSOS; i++)
		dso_load(p, i);
}
