/* SPDX-License-Identifier: MIT */
/*
 * sites.c - takes the functions that can be traced from the files of running programs' DSOs into
 * the model
 *
 *     table of DSOs -> file -> scan.c, in a process of its own -> ftrace_sites_add() ->
 *     available_filter_functions
 *     likewise a file without a compiler's sites -> places.c
 *
 * The program finds the same list in the same file, so a site has the same index in both. A
 * library's functions are listed with the file's name in brackets, those of the program itself
 * without.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "elf/sites.h"
#include "model/errlog.h"
#include "model/text_memory.h"
#include "sources/program/probes.h"
#include "sources/program/scan/scan.h"
#include "sources/program/sites.h"
#include "tracefs/printer.h"

enum { READ_MS = 10 };		/* from one look at what is being read to the next */

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
		list[i].skip = y || f->v[i].skip ? (enum site_skip)f->v[i].skip : SITE_UNKNOWN;
		if (f->v[i].skip != SITE_GOOD)
			out->skipped[f->v[i].skip % SITE_NR_SKIPS]++;
		else if (f->v[i].kind == SITE_SLED)
			out->sleds = true;
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

/* Those of a file that was read: none, if there are none. */
static void dso_take(struct programs *p, const struct program_dso *d, const struct elf_sites *f)
{
	p->sites->dsos[d->nr].read = true;
	if (inside(d, f) && f->nr) {
		/* Choices that wait for the sites may name them by any symbol. */
		program_symbols_take(p, d, &f->symbols);
		program_sites_add(p, d, f);
	}
	take_the_place(p, d);
	program_words_update(p, d->nr);
	/* A probe may wait for one of its functions. */
	p->model->probes_stale = true;
}

/* Where a process may be harmed by the file, too, it finds an empty list. */
static void scanned_refuse(struct programs *p, const struct scanned *s)
{
	static const struct elf_sites none;
	char text[160];

	p->sites->dsos[s->dso.nr].why = s->why;
	snprintf(text, sizeof(text), "The functions of this file cannot be traced: %s", s->why);
	errlog_add(p->model->top->errlog, "functions", s->dso.path, text, 0);
	if (s->dso.moved)
		program_places_publish(p, s->dso.nr, &none);
}

static void scanned_take(struct programs *p, const struct scanned *s)
{
	if (s->why)
		scanned_refuse(p, s);
	else if (s->dso.moved && s->found && inside(&s->dso, &s->sites))
		program_places_publish(p, s->dso.nr, &s->sites);
	dso_take(p, &s->dso, &s->sites);
	/* It waits for the places. */
	if (s->dso.moved == DSO_MOVED_LATE)
		program_words_raise(p);
}

/* Takes what was found meanwhile. */
static void scans_take(struct programs *p)
{
	struct scanned s;

	while (scans_next(p->sites->scans, &s)) {
		scanned_take(p, &s);
		elf_sites_free(&s.sites);
	}
}

/* Where there can be no process, the server reads the file itself. */
static void dso_scan(struct programs *p, const struct program_dso *d)
{
	struct scanned s;
	const int err = scan_start(p->sites->scans, p, d);

	if (!err || err == -EBUSY)
		return;
	scan_here(p, d, &s);
	scanned_take(p, &s);
	elf_sites_free(&s.sites);
}

static void dso_look(struct programs *p, uint32_t nr)
{
	struct program_dso d;

	if (p->sites->dsos[nr].read || scan_runs(p->sites->scans, nr) ||
	    !program_dso_copy(p, nr, &d))
		return;
	p->sites->dsos[nr].moved = d.moved != 0;
	dso_scan(p, &d);
}

static const struct program_tables *dso_tables_of(struct programs *p)
{
	struct session *s = p->model->session;

	return session_data(s, session_header(s)->programs, sizeof(struct program_tables));
}

static const struct dso_entry *dso_entry_of(struct programs *p, uint32_t nr)
{
	const struct program_tables *t = dso_tables_of(p);

	return t ? &t->dsos[nr] : NULL;
}

/* Whether the table has an entry here. It is filled from its start. */
static bool is_used(struct programs *p, uint32_t nr)
{
	const struct dso_entry *e = dso_entry_of(p, nr);

	/* Relaxed: program_dso_copy() loads it again, with acquire. */
	return e && atomic_load_explicit(&e->state, memory_order_relaxed) != DSO_FREE;
}

/* Whether there is no room for an entry or for its path. */
static bool entries_are_full(struct programs *p)
{
	const struct program_tables *t = dso_tables_of(p);

	/* Relaxed: as above. */
	return is_used(p, LAYOUT_MAX_DSOS - 1) ||
	       (t && atomic_load_explicit(&t->paths_used, memory_order_relaxed) >
			     LAYOUT_PATHS - LAYOUT_PATH);
}

static uint32_t entries_used(struct programs *p)
{
	uint32_t nr = 0;

	while (nr < LAYOUT_MAX_DSOS && is_used(p, nr))
		nr++;
	return nr;
}

/* It was read before anybody asked for functions, and a process asks for them now. */
static void reread(struct programs *p, uint32_t nr)
{
	struct dso_sites *d = &p->sites->dsos[nr];

	/* Relaxed: as above. */
	if (d->read && !d->gone && !d->page && !d->moved &&
	    atomic_load_explicit(&dso_entry_of(p, nr)->moved, memory_order_relaxed))
		d->read = false;
}

static bool dso_unread(struct programs *p, uint32_t nr)
{
	struct program_dso d;

	if (!is_used(p, nr))
		return false;
	reread(p, nr);
	return !p->sites->dsos[nr].read && program_dso_copy(p, nr, &d);
}

bool program_sites_unread(struct programs *p)
{
	for (uint32_t i = 0; i < LAYOUT_MAX_DSOS && is_used(p, i); i++)
		if (dso_unread(p, i))
			return true;
	return false;
}

/* Whether there are some that nobody reads so far. */
static bool sites_new(struct programs *p)
{
	for (uint32_t i = 0; i < LAYOUT_MAX_DSOS && is_used(p, i); i++)
		if (dso_unread(p, i) && !scan_runs(p->sites->scans, i))
			return true;
	return false;
}

/* Reads the sites of new DSOs. */
static void program_sites_look(struct programs *p)
{
	scans_take(p);
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

static void waiter_set(struct programs *p, const struct attach_peer *peer, enum attach_kind kind,
		       uint32_t nr)
{
	p->sites->waiting[peer->process] =
		(struct sites_waiter){ .pid = peer->pid, .kind = kind, .dso = nr };
	p->sites->any_waits = true;
}

void program_sites_joined(struct programs *p, const struct attach_peer *peer)
{
	p->sites->waiting[peer->process].pid = 0;
}

/* How many entries the table has. */
static uint32_t nr_used(struct programs *p)
{
	uint32_t nr = 0;

	while (nr < LAYOUT_MAX_DSOS && is_used(p, nr))
		nr++;
	return nr;
}

/*
 * Whether a file is to be read that the process may have, of those before number `end`. What it has
 * without a compiler's sites is read: it has asked for these places before. One that another
 * process has entered may be its own, too. It does not wait for one that does not answer.
 */
static bool ready_unread(struct programs *p, pid_t pid, uint32_t end)
{
	struct program_dso d;

	for (uint32_t i = 0; i < end; i++)
		if (dso_unread(p, i) && program_dso_copy(p, i, &d) && !d.moved &&
		    (d.pid == (uint32_t)pid || !scan_stands_still(p->sites->scans, i)))
			return true;
	return false;
}

bool program_sites_wait(struct programs *p, const struct attach_peer *peer)
{
	const uint32_t end = nr_used(p);

	p->sites->waiting[peer->process].pid = 0;
	if (!sites_new(p) && !ready_unread(p, peer->pid, end) &&
	    !program_probes_looks(p, peer->pid) && !program_probes_unread(p, peer->pid))
		return false;
	waiter_set(p, peer, ATTACH_READY, end);
	return true;
}

bool program_sites_wait_for(struct programs *p, const struct attach_peer *peer,
			    enum attach_kind kind, uint32_t nr)
{
	p->sites->waiting[peer->process].pid = 0;
	if (!dso_unread(p, nr) && (kind != ATTACH_DSO || !program_probes_unread(p, peer->pid)))
		return false;
	waiter_set(p, peer, kind, nr);
	return true;
}

/* PLACES: another question follows. */
static bool is_at_barrier(struct programs *p, const struct sites_waiter *w, unsigned int process)
{
	const struct attach_peer peer = { process, w->pid };

	return w->kind != ATTACH_PLACES && p->ready && p->ready(p->ready_arg, &peer);
}

/* It waits for its probes, too: its code runs when it has the answer. */
static bool waiter_stays(struct programs *p, const struct sites_waiter *w)
{
	if (!w->pid)
		return false;
	return (w->kind != ATTACH_READY && dso_unread(p, w->dso)) ||
	       (w->kind == ATTACH_READY && (ready_unread(p, w->pid, w->dso) ||
					    program_probes_looks(p, w->pid))) ||
	       (w->kind != ATTACH_PLACES && program_probes_unread(p, w->pid));
}

/* The DSOs are read, so the decision about the waiting programs can be made now. */
static void decide_waiting(struct programs *p)
{
	bool any = false;

	for (unsigned int i = 1; p->sites->any_waits && i <= LAYOUT_MAX_PROCESSES; i++) {
		const struct sites_waiter w = p->sites->waiting[i];

		if (waiter_stays(p, &w)) {
			any = true;
		} else if (w.pid) {
			p->sites->waiting[i].pid = 0;
			if (!is_at_barrier(p, &w, i))
				attach_go(p->model->session, i);
		}
	}
	p->sites->any_waits = any;
	/* So that they go on waiting. */
	if (any)
		attach_progress(p->model->session);
}

/* ---- life ---- */

int program_sites_create(struct programs *p)
{
	p->sites = calloc(1, sizeof(*p->sites));
	if (!p->sites || !ftrace_of(p->model))
		return -ENOMEM;
	p->sites->scans = scans_create();
	return p->sites->scans ? 0 : -ENOMEM;
}

int program_sites_fd(const struct programs *p)
{
	return scans_fd(p->sites->scans);
}

void program_sites_await(struct programs *p)
{
	struct pollfd fd = { .fd = program_sites_fd(p), .events = POLLIN };

	poll(&fd, 1, READ_MS);
	printers_tend(scans_printers(p->sites->scans));
	attach_progress(p->model->session);
}

/* A session that is restored answers when the settings of its functions hold again. */
static void sites_read_all(struct programs *p)
{
	program_sites_look(p);
	while (scans_any(p->sites->scans)) {
		program_sites_await(p);
		program_sites_look(p);
	}
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
	sites_read_all(p);
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
	if (p->sites)
		scans_destroy(p->sites->scans);
	free(p->sites);
	p->sites = NULL;
}

bool program_sites_tick(struct programs *p)
{
	look_who_has_what(p);
	program_sites_look(p);
	program_probes_tend(p);
	program_words_probes(p);
	decide_waiting(p);
	return program_words_tick(p) || scans_any(p->sites->scans) ||
	       program_probes_looks(p, 0) || program_probes_reading(p);
}

/* " (NAME, NAME)": those of that reason that the process names. It may have written anything. */
static void print_names_left(struct programs *p, const struct attach_answer *a, unsigned int why,
			   FILE *out)
{
	uint32_t nr = 0;

	for (unsigned int i = 0; i < SITES_LEFT; i++) {
		struct ftrace_page *page;
		enum site_skip is;
		const struct ftrace_site *site =
			ftrace_site_left(p->model->ftrace, a->left[i], &page, &is);

		if (site && is == why)
			fprintf(out, "%s%s", nr++ ? ", " : " (", ftrace_site_name(page, site));
	}
	if (nr)
		fputs(nr < a->skipped[why] ? ", ...)" : ")", out);
}

/* "; NUMBER REASON (NAME, ...)" for each. */
static void print_reasons(struct programs *p, const struct attach_answer *a, FILE *out)
{
	for (unsigned int k = 0; k < SITE_NR_SKIPS; k++)
		if (a->skipped[k] && site_skip_is_own(k)) {
			fprintf(out, "; %" PRIu32 " %s", a->skipped[k],
				site_left_text((enum site_skip)k));
			print_names_left(p, a, k, out);
		}
}

/* Files are opened in any session: they may have a compiler's sites. */
static void print_unopened(const struct programs *p, const struct attach_answer *a, FILE *out)
{
	if (a->nr_unopened && p->model->ftrace)
		fprintf(out, "; %" PRIu32 " of its files cannot be opened", a->nr_unopened);
}

/* Whether somebody wants functions now. */
static bool functions_wanted(const struct programs *p)
{
	const struct ftrace *f = p->model->ftrace;

	return f && (!list_empty(&f->ops) || session_asked(p->model->session));
}

struct printing {
	struct programs	*programs;
	FILE		*out;
};

static void print_answer(void *arg, const struct attach_answer *a)
{
	const struct printing *g = arg;

	if (!a->nr_sites && !a->err && !a->nr_unopened)
		return;
	fprintf(g->out, "answer %d sites %" PRIu32 " skipped %" PRIu32 " on %" PRIu32 " error %d%s",
		(int)a->peer.pid, a->nr_sites, a->nr_skipped, a->nr_on,
		a->err == SITE_FORBIDDEN ? EPERM : a->err < 0 ? -a->err : 0,
		a->err == SITE_TASKLESS ? " taskless" : a->slow ? " late" : "");
	print_reasons(g->programs, a, g->out);
	print_unopened(g->programs, a, g->out);
	fputc('\n', g->out);
}

/* What makes a process lose more than single functions. */
static void print_lost(struct programs *p, const struct attach_answer *a, FILE *out)
{
	print_unopened(p, a, out);
	/* That returns are left alone is said for the whole session (sums.c). */
	if (a->err < 0 && a->err != -ENOTSUP)
		fprintf(out, "; they cannot be switched: %s", strerror(-a->err));
	else if (a->err == SITE_TASKLESS && a->behind && functions_wanted(p))
		fputs("; any that were switched on while its children went into another pid name "
		      "space", out);
	else if (a->plants_never && !a->nr_on && functions_wanted(p))
		fputs("; its code may not be changed", out);
}

static void note_ended(struct programs *p, const struct attach_answer *a, enum ended_what what,
		       void (*print)(struct programs *p, const struct attach_answer *a, FILE *out))
{
	char *text = NULL;
	size_t size;
	FILE *out = text_memory_open(&text, &size);

	if (!out)
		return;
	print(p, a, out);
	fclose(out);
	if (text && *text)
		program_ended_note(p, what, a->peer.pid, text + strlen("; "));
	free(text);
}

void program_sites_ended(struct programs *p, const struct attach_answer *a)
{
	note_ended(p, a, ENDED_FUNCTIONS, print_reasons);
	note_ended(p, a, ENDED_LOST, print_lost);
}

/* Each program has a start, which nobody misses. */
static void dso_sites_print(const struct dso_sites *d, const char *name, FILE *out)
{
	const uint32_t nr = d->nr - d->skipped[SITE_FIRST];

	if (!nr)
		return;
	fprintf(out, "sites %" PRIu32 " %s", nr, name);
	for (int k = 0; k < SITE_NR_SKIPS; k++)
		if (d->skipped[k] && k != SITE_FIRST)
			fprintf(out, "; %" PRIu32 " %s", d->skipped[k],
				site_skip_text((enum site_skip)k));
	fputc('\n', out);
}

void program_sites_print(struct programs *p, FILE *out)
{
	for (uint32_t i = 0; i < LAYOUT_MAX_DSOS; i++) {
		const struct dso_sites *d = &p->sites->dsos[i];
		struct program_dso dso;
		char name[256];

		if (d->why && program_dso_copy(p, i, &dso))
			fprintf(out, "sites-none %s: %s\n", program_dso_name(&dso, name), d->why);
		if (d->nr && program_dso_copy(p, i, &dso))
			dso_sites_print(d, program_dso_name(&dso, name), out);
		if (d->sleds && program_dso_copy(p, i, &dso))
			fprintf(out, "sleds %s\n", program_dso_name(&dso, name));
	}
	attach_settle_left(p->model->session);
	attach_answers(p->model->session, print_answer, &(struct printing){ p, out });
	if (entries_are_full(p))
		fprintf(out, "full %" PRIu32 "\n", entries_used(p));
	program_late_print(p, out);
	program_words_print(p, out);
}
