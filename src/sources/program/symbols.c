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
 *
 * A process of its own reads the file, since its disk may not answer. Who looks up the address
 * waits, for a moment if that process stands still. Then the address has no name until the file is
 * read, or is refused.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "elf/packed.h"
#include "model/errlog.h"
#include "model/symbols.h"
#include "sources/program/programs_state.h"
#include "sources/program/scan/scan.h"
#include "sources/program/sites.h"
#include "tracefs/reading.h"

enum {
	STILL_MS	= 1000,
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

/* ---- reading a file ---- */

/* Of a DSO. */
struct names_reading {
	struct list_head node;		/* in programs->names */
	struct program_dso dso;
	struct program_owners owners;
	struct reading	reading;
	bool		waited;		/* for a process that stood still */
};

/* In the process. */
static int names_print(void *arg, FILE *out)
{
	const struct names_reading *n = arg;
	struct elf_sites f = { 0 };

	reading_begin("tracefuse-names");
	if (!program_dso_try(&n->dso, &n->owners, read_symbols, &f.symbols))
		return -ENOENT;
	return packed_write(&f, out);
}

static void names_free(struct names_reading *n)
{
	list_del(&n->node);
	reading_end(&n->reading);
	free(n);
}

static void names_refuse(struct programs *p, const struct program_dso *d, int err)
{
	char text[160];

	snprintf(text, sizeof(text), "The names of this file's functions are not known: %s",
		 err == -ETIMEDOUT ? "it does not answer" : reading_why(err));
	errlog_add(p->model->top->errlog, "functions", d->path, text, 0);
}

/* If no file was right, there is nothing to say. */
static void names_take(struct programs *p, struct names_reading *n, int err)
{
	struct elf_sites f = { 0 };

	if (!err)
		err = packed_read(n->reading.bytes, n->reading.nr, false, &f);
	if (err && err != -ENOENT)
		names_refuse(p, &n->dso, err);
	program_symbols_take(p, &n->dso, &f.symbols);
	elf_sites_free(&f);
	if (n->waited)
		p->model->probes_stale = true;
	names_free(n);
}

/* Whether it has ended. */
static bool names_end(struct programs *p, struct names_reading *n)
{
	const int err = reading_take(&n->reading);

	if (err <= 0)
		names_take(p, n, err);
	return err <= 0;
}

static struct names_reading *names_of(struct programs *p, uint32_t nr)
{
	struct names_reading *n;

	list_each(n, &p->names, node)
		if (n->dso.nr == nr)
			return n;
	return NULL;
}

/* NULL: there can be no process. */
static struct names_reading *names_start(struct programs *p, const struct program_dso *d)
{
	struct names_reading *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->dso = *d;
	program_dso_owners(p, d, &n->owners);
	if (reading_start(scans_printers(p->sites->scans), &n->reading, names_print, n, 0)) {
		free(n);
		return NULL;
	}
	list_add_tail(&n->node, &p->names);
	return n;
}

/* Once for a file. */
static void names_wait(struct programs *p, struct names_reading *n)
{
	while (!names_end(p, n) && !n->waited) {
		n->waited = session_now_ms() - n->reading.since >= STILL_MS;
		if (n->waited)
			return;
		program_sites_await(p);
	}
}

bool program_symbols_tend(struct programs *p)
{
	struct names_reading *n, *next;

	list_each_safe(n, next, &p->names, node)
		names_end(p, n);
	return !list_empty(&p->names);
}

void program_symbols_destroy(struct programs *p)
{
	struct names_reading *n, *next;

	list_each_safe(n, next, &p->names, node)
		names_free(n);
}

/* Here, where there can be no process, or in one that prints a text for the server. */
static void dso_load_here(struct programs *p, const struct program_dso *d)
{
	struct elf_symbols symbols = { 0 };

	program_dso_read(p, d, read_symbols, &symbols);
	program_symbols_take(p, d, &symbols);
	elf_symbols_free(&symbols);
}

static void dso_load(struct programs *p, uint32_t nr)
{
	struct names_reading *n;
	struct program_dso d;

	if (p->dso_read[nr] || !program_dso_copy(p, nr, &d))
		return;
	n = names_of(p, nr);
	if (getpid() != p->pid) {
		if (!n || !n->waited)
			dso_load_here(p, &d);
		return;
	}
	if (!n)
		n = names_start(p, &d);
	if (n)
		names_wait(p, n);
	else
		dso_load_here(p, &d);
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
	if (layout_is_dso_address(addr))
		dso_load(p, (uint32_t)((addr - LAYOUT_DSO_BASE) >> LAYOUT_DSO_SHIFT));
	if (!addr || addr == LAYOUT_STACK_CUT)
		cut_name(p);
	for (uint32_t i = 0; !addr && i < LAYOUT_MAX_DSOS; i++)
		dso_load(p, i);
}
