/* SPDX-License-Identifier: MIT */
/*
 * sites.c - takes the functions that can be traced from the files of running programs' DSOs into
 * the model
 *
 *     table of DSOs -> file -> sites_find(), symbols -> ftrace_sites_add() ->
 *     available_filter_functions
 *
 * The program finds the same list in the same file, so a site has the same index in both. A
 * library's functions are listed with the file's name in brackets, those of the program itself
 * without.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "elf/sites.h"
#include "sources/program/sites.h"

/* ---- adding to the model ---- */

static bool inside(const struct program_dso *d, const struct elf_sites *f)
{
	for (size_t i = 0; i < f->nr; i++)
		if (f->v[i].at < d->load || f->v[i].at - d->load >= d->size)
			return false;
	return f->nr <= UINT32_MAX / 2;
}

static void program_sites_describe(const struct program_dso *d, const struct elf_sites *f,
				   struct dso_sites *out, struct ftrace_new_site *list)
{
	struct elf_walk w = { .symbols = &f->symbols };

	for (size_t i = 0; i < f->nr; i++) {
		const struct elf_symbol *y = elf_walk_to(&w, f->v[i].at);

		list[i].ip = program_dso_base(d) + f->v[i].at - d->load;
		list[i].name = y ? f->symbols.names + y->name : "?";
		list[i].skipped = !y || f->v[i].skip != SITE_GOOD;
		if (f->v[i].skip != SITE_GOOD)
			out->skipped[f->v[i].skip % SITE_NR_SKIPS]++;
	}
	out->nr = (uint32_t)f->nr;
}

static void program_sites_add(struct programs *p, const struct program_dso *d,
			      const struct elf_sites *f)
{
	int (*add_list)(struct model * m, const char *file, const struct ftrace_new_site *sites,
			size_t nr, struct ftrace_page **page) =
		f->symbols.is_program ? ftrace_program_add : ftrace_sites_add;
	struct dso_sites *out = &p->sites->dsos[d->nr];
	struct ftrace_new_site *list = calloc(f->nr, sizeof(*list));
	char name[256];
	int err = list ? 0 : -ENOMEM;

	if (!err) {
		program_sites_describe(d, f, out, list);
		program_words_find(p, d->nr);
		err = add_list(p->model, program_dso_name(d, name), list, f->nr, &out->page);
	}
	free(list);
	if (err)
		p->sites->err = err;
}

/* ---- DSOs that are closed and opened again ---- */

/*
 * The sites of a DSO stay when all processes that had it end, because the next run has the same
 * ones. They are removed when a process closed the DSO (dlclose) and no other process has it.
 */
static void dso_forget(struct programs *p, uint32_t nr)
{
	struct dso_sites *d = &p->sites->dsos[nr];

	if (!d->page)
		return;
	program_words_forget(p, nr);
	ftrace_page_drop(p->model, d->page);
	*d = (struct dso_sites){ .read = true, .gone = true };
}

struct tally {
	struct programs	*programs;
	uint64_t	all[LAYOUT_MAX_DSOS / 64];	/* a process has it */
	uint64_t	closed[LAYOUT_MAX_DSOS / 64];	/* a living process has closed it */
};

static void tally_one(void *arg, const struct attach_answer *a)
{
	struct tally *t = arg;
	struct told_dsos *told = &t->programs->sites->told[a->peer.process];

	for (unsigned int i = 0; i < LAYOUT_MAX_DSOS / 64; i++) {
		t->all[i] |= a->dsos[i];
		if (told->pid == a->peer.pid)
			t->closed[i] |= told->dsos[i] & ~a->dsos[i];
		told->dsos[i] = a->dsos[i];
	}
	told->pid = a->peer.pid;
}

static bool has(const uint64_t *dsos, uint32_t nr)
{
	return dsos[nr / 64] >> nr % 64 & 1;
}

struct owners {
	uint64_t	all[LAYOUT_MAX_DSOS / 64];
};

static void who_has(void *arg, const struct attach_answer *a)
{
	struct owners *n = arg;

	for (unsigned int i = 0; i < LAYOUT_MAX_DSOS / 64; i++)
		n->all[i] |= a->dsos[i];
}

/*
 * Replaces an older file of the same path, which was rebuilt since then. Its sites are removed when
 * no process runs it any more.
 */
static void take_the_place(struct programs *p, const struct program_dso *d)
{
	struct ftrace_page *page = p->sites->dsos[d->nr].page;
	struct owners n = { { 0 } };
	struct program_dso old;

	attach_settle_left(p->model->session);
	attach_answers(p->model->session, who_has, &n);
	for (uint32_t i = 0; page && i < LAYOUT_MAX_DSOS; i++) {
		if (i == d->nr || !p->sites->dsos[i].page || !program_dso_copy(p, i, &old) ||
		    strcmp(old.path, d->path))
			continue;
		if (ftrace_page_inherit(p->model->ftrace, p->sites->dsos[i].page, page))
			p->sites->err = -ENOMEM;
		if (!has(n.all, i))
			dso_forget(p, i);
	}
}

/* ---- reading the files ---- */

static int read_sites(const char *path, const struct elf_want *want, void *out)
{
	return elf_sites_read(path, want, out);
}

static int read_moved(const char *path, const struct elf_want *want, void *out)
{
	return elf_moved_read(path, want, out);
}

static void dso_look(struct programs *p, uint32_t nr)
{
	struct elf_sites f = { 0 };
	struct program_dso d;
	elf_reader read;

	if (p->sites->dsos[nr].read || !program_dso_copy(p, nr, &d))
		return;
	p->sites->dsos[nr].read = true;
	p->sites->dsos[nr].moved = d.moved != 0;
	read = d.moved ? read_moved : read_sites;
	if (program_dso_read(p, &d, read, &f) && inside(&d, &f) && d.moved)
		program_places_publish(p, nr, &f);
	if (f.nr && inside(&d, &f)) {
		program_sites_add(p, &d, &f);
		program_symbols_take(p, &d, &f.symbols);
	}
	take_the_place(p, &d);
	program_words_update(p, nr);
	/* A probe may wait for one of its functions. */
	p->model->probes_stale = true;
	/* It waits for the places. */
	if (d.moved == DSO_MOVED_LATE)
		program_words_raise(p);
	elf_sites_free(&f);
}

static const struct dso_entry *dso_entry_of(struct programs *p, uint32_t nr)
{
	struct session *s = p->model->session;
	const struct program_tables *t = session_data(s, session_header(s)->programs, sizeof(*t));

	return t ? &t->dsos[nr] : NULL;
}

/* Whether the table has an entry here. It is filled from its start. */
static bool is_used(struct programs *p, uint32_t nr)
{
	const struct dso_entry *e = dso_entry_of(p, nr);

	/* Relaxed: program_dso_copy() loads it again, with acquire. */
	return e && atomic_load_explicit(&e->state, memory_order_relaxed) != DSO_FREE;
}

/* It was read before anybody asked for functions, and a process asks for them now. */
static void reread(struct programs *p, uint32_t nr)
{
	struct dso_sites *d = &p->sites->dsos[nr];

	/* Relaxed: as above. */
	if (d->read && !d->page && !d->moved &&
	    atomic_load_explicit(&dso_entry_of(p, nr)->moved, memory_order_relaxed))
		d->read = false;
}

bool program_sites_unread(struct programs *p)
{
	struct program_dso d;

	for (uint32_t i = 0; i < LAYOUT_MAX_DSOS && is_used(p, i); i++) {
		reread(p, i);
		if (!p->sites->dsos[i].read && program_dso_copy(p, i, &d))
			return true;
	}
	return false;
}

/* Reads the sites of new DSOs. */
static void program_sites_look(struct programs *p)
{
	for (uint32_t i = 0; i < LAYOUT_MAX_DSOS && is_used(p, i); i++) {
		reread(p, i);
		dso_look(p, i);
	}
}

void program_sites_loaded(struct programs *p, uint32_t nr)
{
	struct dso_sites *d = &p->sites->dsos[nr];

	if (d->gone)
		*d = (struct dso_sites){ 0 };
	program_sites_look(p);
}

static void look_who_has_what(struct programs *p)
{
	struct tally t = { .programs = p };

	attach_answers(p->model->session, tally_one, &t);
	for (uint32_t i = 0; i < LAYOUT_MAX_DSOS; i++) {
		if (p->sites->dsos[i].gone && has(t.all, i))
			p->sites->dsos[i] = (struct dso_sites){ 0 };
		else if (has(t.closed, i) && !has(t.all, i))
			dso_forget(p, i);
	}
}

/* ---- programs that wait ---- */

bool program_sites_wait(struct programs *p, const struct attach_peer *peer)
{
	if (peer->process > LAYOUT_MAX_PROCESSES || !program_sites_unread(p))
		return false;
	p->sites->waiting[peer->process] = peer->pid;
	p->sites->nr_waiting++;
	return true;
}

/* The DSOs are read, so the decision about the waiting programs can be made now. */
static void decide_waiting(struct programs *p)
{
	for (unsigned int i = 1; p->sites->nr_waiting && i <= LAYOUT_MAX_PROCESSES; i++) {
		const struct attach_peer peer = { i, p->sites->waiting[i] };

		if (!peer.pid)
			continue;
		p->sites->waiting[i] = 0;
		if (!p->ready || !p->ready(p->ready_arg, &peer))
			attach_go(p->model->session, i);
	}
	p->sites->nr_waiting = 0;
}

/* ---- life ---- */

int program_sites_create(struct programs *p)
{
	p->sites = calloc(1, sizeof(*p->sites));
	return p->sites && ftrace_of(p->model) ? 0 : -ENOMEM;
}

void program_sites_begin(struct programs *p)
{
	struct ftrace *ft = p->model->ftrace;

	ft->offered = true;
	ft->changed = program_words_changed;
	ft->set = program_words_set;
	ft->more = program_late_more;
	ft->changed_arg = p;
	/* A server that died may have left a knock. */
	p->sites->late.knocks = true;
	p->model->settle = program_words_settle;
	program_sites_look(p);
}

void program_sites_destroy(struct programs *p)
{
	struct ftrace *ft = p->model->ftrace;

	if (ft && ft->changed_arg == p) {
		ft->changed = NULL;
		ft->set = NULL;
		ft->more = NULL;
		p->model->settle = NULL;
	}
	free(p->sites);
	p->sites = NULL;
}

bool program_sites_tick(struct programs *p)
{
	look_who_has_what(p);
	program_sites_look(p);
	program_words_probes(p);
	decide_waiting(p);
	return program_words_tick(p);
}

/* Reasons that only the process knows, not the file. */
static bool is_own_reason(int k)
{
	return k != SITE_SHORT && k != SITE_UNKNOWN && k != SITE_NOT_CODE && k != SITE_UNMOVED &&
	       (k < SITE_RELOCATED || k > SITE_NO_FDE);
}

static void print_answer(void *arg, const struct attach_answer *a)
{
	if (!a->nr_sites && !a->err)
		return;
	fprintf(arg, "answer %d sites %" PRIu32 " skipped %" PRIu32 " on %" PRIu32 " error %d%s",
		(int)a->peer.pid, a->nr_sites, a->nr_skipped, a->nr_on, -a->err,
		a->slow ? " late" : "");
	for (int k = 0; k < SITE_NR_SKIPS; k++)
		if (a->skipped[k] && is_own_reason(k))
			fprintf(arg, "; %" PRIu32 " %s", a->skipped[k],
				k ? site_skip_text((enum site_skip)k)
				  : "in code that cannot be changed");
	fputc('\n', arg);
}

void program_sites_print(struct programs *p, FILE *out)
{
	for (uint32_t i = 0; i < LAYOUT_MAX_DSOS; i++) {
		const struct dso_sites *d = &p->sites->dsos[i];
		struct program_dso dso;
		char name[256];

		if (!d->nr || !program_dso_copy(p, i, &dso))
			continue;
		fprintf(out, "sites %" PRIu32 " %s", d->nr, program_dso_name(&dso, name));
		for (int k = 0; k < SITE_NR_SKIPS; k++)
			if (d->skipped[k])
				fprintf(out, "; %" PRIu32 " %s", d->skipped[k],
					site_skip_text((enum site_skip)k));
		fputc('\n', out);
	}
	attach_settle_left(p->model->session);
	attach_answers(p->model->session, print_answer, out);
	if (is_used(p, LAYOUT_MAX_DSOS - 1))
		fprintf(out, "full %d\n", LAYOUT_MAX_DSOS);
	program_late_print(p, out);
	program_words_print(p, out);
}
