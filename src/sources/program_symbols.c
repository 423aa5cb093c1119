/* SPDX-License-Identifier: MIT */
/*
 * program_symbols.c - names of functions: from the table of DSOs and the files that it names (R19)
 *
 *     address = LAYOUT_DSO_BASE + (number << LAYOUT_DSO_SHIFT) + st_value - load
 *
 * A file is read when the first address in it is asked for. What lies between
 * symbols, as static functions of a stripped file do, is "[libfoo.so.1]" and
 * its offset in the file's addresses, which addr2line takes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/symbols.h"
#include "sources/program_elf.h"
#include "sources/programs_state.h"

enum {
	OTHERS_MAX	= 16,	/* processes in whose root the file is looked for */
	/* The return address of a call that does not return may be the next byte; and functions are aligned. */
	GAP_MIN		= 64,
	BEHIND		= 16,
};

/* A copy of an entry: programs may change theirs at any time. */
struct dso {
	uint32_t	nr;
	uint32_t	pid;
	uint64_t	size, load;
	uint32_t	id_len;
	uint8_t		id[24];
	char		path[256];
};

/* False: there is none, or it is nonsense. */
static bool dso_copy(struct programs *p, uint32_t nr, struct dso *out)
{
	struct session *s = p->model->session;
	const struct program_tables *t = session_data(s, session_header(s)->programs, sizeof(*t));
	const struct dso_entry *e;

	if (!t)
		return false;
	e = &t->dsos[nr];
	/* Pairs with the release of the program that wrote the entry. */
	if (atomic_load_explicit(&e->state, memory_order_acquire) != DSO_READY)
		return false;
	out->nr = nr;
	out->pid = e->pid;
	out->size = e->size;
	out->load = e->load;
	out->id_len = e->id_len;
	memcpy(out->id, e->id, sizeof(out->id));
	memcpy(out->path, e->path, sizeof(out->path));
	out->path[sizeof(out->path) - 1] = '\0';
	return out->size && out->size <= 1ull << LAYOUT_DSO_SHIFT && out->id_len <= sizeof(out->id);
}

static const char *file_name(const struct dso *d, char out[256])
{
	const char *slash = strrchr(d->path, '/');

	snprintf(out, 256, "%s", slash ? slash + 1 : d->path);
	program_text_clean(out);
	for (char *c = out; *c; c++)
		if (*c == ' ' || *c == ']')
			*c = '_';
	return *out ? out : "?";
}

/* ---- the file ---- */

struct search {
	struct programs	*programs;
	const struct dso *dso;
	struct elf_want	want;
	struct elf_symbols *out;
	const char	*own_mounts;	/* the server would wait for itself there */
	unsigned int	tried;
	bool		found;
};

static void try_path(struct search *s, const char *path)
{
	int err;

	if (s->found || (*s->own_mounts && !strncmp(path, s->own_mounts, strlen(s->own_mounts))))
		return;
	err = elf_symbols_read(path, &s->want, s->out);
	s->found = !err;
}

/* As the process sees the path. */
static void try_root(struct search *s, pid_t pid)
{
	char path[320];

	if (s->found)
		return;
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, s->dso->path);
	try_path(s, path);
}

static void try_first(void *arg, pid_t pid, unsigned int slots)
{
	struct search *s = arg;

	(void)slots;
	if ((uint32_t)pid == s->dso->pid)
		try_root(s, pid);
}

static void try_others(void *arg, pid_t pid, unsigned int slots)
{
	struct search *s = arg;

	(void)slots;
	if ((uint32_t)pid != s->dso->pid && s->tried++ < OTHERS_MAX)
		try_root(s, pid);
}

/* The process itself, then our own root, then processes that live elsewhere. */
static bool find_file(struct programs *p, const struct dso *d, struct elf_symbols *out)
{
	struct session *session = p->model->session;
	struct search s = {
		.programs = p, .dso = d, .out = out, .own_mounts = session_dir(session),
		.want = { .id = d->id, .id_len = d->id_len, .load = d->load, .size = d->size },
	};

	*out = (struct elf_symbols){ 0 };
	if (d->path[0] != '/')
		return false;
	attach_processes(session, try_first, &s);
	try_path(&s, d->path);
	if (!s.found)
		attach_processes(session, try_others, &s);
	return s.found;
}

/* ---- into the table ---- */

static uint64_t base_of(const struct dso *d)
{
	return LAYOUT_DSO_BASE + ((uint64_t)d->nr << LAYOUT_DSO_SHIFT);
}

static void add_gap(struct programs *p, const struct dso *d, uint64_t at, const char *gap)
{
	symbols_add_gap(p->model->symbols, at, gap, base_of(d) - d->load, d->size);
}

static void add_symbols(struct programs *p, const struct dso *d, const struct elf_symbols *s, const char *name,
			const char *gap)
{
	uint64_t base = base_of(d), end = base;		/* up to where there are names */

	for (size_t i = 0; i < s->nr; i++) {
		const struct elf_symbol *y = &s->v[i];
		uint64_t at = base + y->value - d->load, size = y->size < d->size ? y->size : d->size;

		if (y->value < d->load || y->value - d->load >= d->size)
			continue;
		if (at > end && at - end >= GAP_MIN)
			add_gap(p, d, end == base ? base : end + BEHIND, gap);
		symbols_add(p->model->symbols, at, y->type, s->names + y->name, name);
		/* Without a size it goes on to the next one. */
		if (!size)
			size = i + 1 < s->nr && s->v[i + 1].value > y->value ? s->v[i + 1].value - y->value : 1;
		end = at + size > end ? at + size : end;
	}
	if (end < base + d->size)
		add_gap(p, d, end == base ? base : end + BEHIND, gap);
}

static void dso_load(struct programs *p, uint32_t nr)
{
	struct elf_symbols symbols;
	char name[256], gap[260];
	struct dso d;

	if (p->dso_read[nr] || !dso_copy(p, nr, &d))
		return;
	p->dso_read[nr] = true;
	snprintf(gap, sizeof(gap), "[%s]", file_name(&d, name));
	find_file(p, &d, &symbols);
	add_symbols(p, &d, &symbols, name, gap);
	/* Behind it is nothing. */
	symbols_add_gap(p->model->symbols, base_of(&d) + d.size + BEHIND, NULL, 0, 1);
	elf_symbols_free(&symbols);
}

void program_symbols_load(struct programs *p, uint64_t addr)
{
	uint64_t nr = (addr - LAYOUT_DSO_BASE) >> LAYOUT_DSO_SHIFT;

	if (addr && addr >= LAYOUT_DSO_BASE && nr < LAYOUT_MAX_DSOS)
		dso_load(p, (uint32_t)nr);
	for (uint32_t i = 0; !addr && i < LAYOUT_MAX_DSOS; i++)
		dso_load(p, i);
}
