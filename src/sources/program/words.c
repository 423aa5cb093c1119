/* SPDX-License-Identifier: MIT */
/*
 * words.c - tells running programs which functions to trace: stores the words of their sites, and
 * waits until programs obey
 *
 * Words are changed in place, each by one store. A program that reads them meanwhile finds old and
 * new words. It reads them again, because the number of the command is raised after them. An old
 * word keeps its meaning until all processes have answered (ftrace_groups_settled()).
 */
#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "model/ftrace/groups.h"
#include "sources/program/points.h"
#include "sources/program/probes.h"
#include "sources/program/sites.h"

enum {
	WAIT_MS		= 100,		/* a writer waits at most so long for programs */
	FIRST_NS	= 50000,	/* pause between two looks; it doubles each time */
	LAST_NS		= 2000000,
	/* How long a thread is thought to be preempted between a word and its plan. */
	LATE_MS		= 2000,
};

static struct site_set *set_of(struct programs *p, uint32_t nr)
{
	struct session *s = p->model->session;
	struct site_control *c = session_config(s, session_header(s)->sites, sizeof(*c));

	return &c->sets[nr];
}

/* ---- words ---- */

static bool words_make(struct programs *p, uint32_t nr)
{
	struct dso_sites *d = &p->sites->dsos[nr];
	struct site_set *set = set_of(p, nr);
	config_ref ref;

	if (d->words)
		return true;
	ref = session_config_alloc(p->model->session, d->nr * sizeof(uint32_t));
	if (!ref) {
		p->sites->err = -ENOMEM;
		return false;
	}
	d->words = session_config(p->model->session, ref, d->nr * sizeof(uint32_t));
	/* Relaxed: session_publish() below orders it; programs read it after set->words. */
	atomic_store_explicit(&set->nr, d->nr, memory_order_relaxed);
	session_publish(p->model->session, &set->words, ref);
	return true;
}

static uint32_t site_word_of(struct ftrace *ft, const struct ftrace_site *site)
{
	return site->flags & FTRACE_SITE_ENABLED ? ftrace_groups_word(ft, site) : 0;
}

/* The number of the DSO that the site lies in. */
static uint32_t dso_of(const struct ftrace_site *site)
{
	return (uint32_t)((site->ip - LAYOUT_DSO_BASE) >> LAYOUT_DSO_SHIFT) % LAYOUT_MAX_DSOS;
}

/* Sets the word of a site. Returns whether it has changed. */
static bool word_set(struct programs *p, const struct ftrace_page *page,
		     const struct ftrace_site *site)
{
	uint32_t nr = dso_of(site), word = site_word_of(p->model->ftrace, site);
	struct dso_sites *d = &p->sites->dsos[nr];
	_Atomic uint32_t *at;

	/* These sites belong to no program: a list of functions was loaded. */
	if (d->page != page || (!d->words && !word) || !words_make(p, nr))
		return false;
	at = &d->words[site - page->sites];
	/* Relaxed: only the server stores words; programs read them after the command. */
	if (atomic_load_explicit(at, memory_order_relaxed) == word)
		return false;
	atomic_store_explicit(at, word, memory_order_relaxed);
	return true;
}

void program_words_raise(struct programs *p)
{
	p->sites->command = attach_command(p->model->session);
	p->sites->unsettled = true;
	p->sites->waited = false;
	if (!p->sites->err)
		p->sites->err = ftrace_groups_error(p->model->ftrace);
}

void program_words_changed(void *arg, const struct ftrace_change *list, size_t nr)
{
	struct programs *p = arg;
	bool changed = false;

	for (size_t i = 0; i < nr; i++) {
		if (i + FTRACE_AHEAD < nr)
			ftrace_groups_prefetch(p->model->ftrace, list[i + FTRACE_AHEAD].site);
		changed |= word_set(p, list[i].page, list[i].site);
	}
	if (changed)
		program_words_raise(p);
}

static bool page_set(struct programs *p, const struct ftrace_page *page)
{
	bool changed = false;

	for (uint32_t i = 0; page && i < page->nr; i++) {
		if (i + FTRACE_AHEAD < page->nr)
			ftrace_groups_prefetch(p->model->ftrace, &page->sites[i + FTRACE_AHEAD]);
		changed |= word_set(p, page, &page->sites[i]);
	}
	return changed;
}

/* Settings of the graph tracer have changed: any site that is traced may get another word. */
void program_words_set(void *arg)
{
	struct programs *p = arg;
	bool changed = false;

	for (uint32_t i = 0; i < LAYOUT_MAX_DSOS; i++)
		if (p->sites->dsos[i].words)
			changed |= page_set(p, p->sites->dsos[i].page);
	if (changed)
		program_words_raise(p);
}

void program_words_probes(struct programs *p)
{
	if (program_probes_update(p))
		program_words_raise(p);
	program_late_knock(p);
}

/* ---- obeying ---- */

static void words_settle(struct programs *p, const struct attach_behind *b)
{
	if (b->late || b->slow || b->fresh)
		return;
	p->sites->unsettled = false;
	ftrace_groups_settled(p->model->ftrace, LATE_MS);
	program_probes_settled(p);
}

/* Waits until programs have obeyed, for a moment. */
static void words_wait(struct programs *p)
{
	struct session *s = p->model->session;
	struct timespec pause = { .tv_nsec = FIRST_NS };
	struct attach_behind b;
	int64_t end;

	if (!p->sites->unsettled || p->sites->waited)
		return;
	p->sites->waited = true;
	end = session_now_ms() + WAIT_MS;
	for (attach_behind(s, p->sites->command, &b); b.late && session_now_ms() < end;
	     attach_behind(s, p->sites->command, &b)) {
		nanosleep(&pause, NULL);
		model_step(p->model);
		pause.tv_nsec = pause.tv_nsec * 2 < LAST_NS ? pause.tv_nsec * 2 : LAST_NS;
	}
	if (b.late)
		attach_give_up(s, p->sites->command);
	words_settle(p, &b);
	program_probes_answered(p);
}

uint64_t program_words_settle(void *arg, uint64_t until)
{
	struct programs *p = arg;

	program_words_probes(p);
	if (!until) {
		until = program_probes_asked(p);
		p->model->nr_settled++;
	}
	if (program_probes_pending(p, until))
		return until;
	words_wait(p);
	return 0;
}

bool program_words_tick(struct programs *p)
{
	struct attach_behind b;

	program_words_probes(p);
	program_probes_answered(p);
	if (!p->sites->unsettled)
		return false;
	attach_behind(p->model->session, p->sites->command, &b);
	words_settle(p, &b);
	return p->sites->unsettled;
}

/* ---- a session whose server died ---- */

void program_words_restore(struct programs *p)
{
	for (uint32_t i = 0; i < LAYOUT_MAX_DSOS; i++) {
		struct site_set *set = set_of(p, i);
		/* Relaxed: nobody else stores them. */
		config_ref ref = atomic_load_explicit(&set->words, memory_order_relaxed);
		uint32_t nr = atomic_load_explicit(&set->nr, memory_order_relaxed);

		if (ref && session_config_restore(p->model->session, ref, nr * sizeof(uint32_t)))
			session_publish(p->model->session, &set->words, 0);
	}
}

/*
 * Programs may still read these words. So a set of another size keeps its memory, and all its words
 * become 0.
 */
static void words_off(struct programs *p, config_ref ref, uint32_t nr)
{
	_Atomic uint32_t *words = session_config(p->model->session, ref, nr * sizeof(uint32_t));

	/*
	 * Relaxed: as in word_set(). A program that reads an old word does no harm, or reads it
	 * again after the command.
	 */
	for (uint32_t i = 0; words && i < nr; i++)
		atomic_store_explicit(&words[i], 0, memory_order_relaxed);
}

static bool words_any(const struct dso_sites *d)
{
	for (uint32_t i = 0; d->words && i < d->nr; i++)
		/* Relaxed: as in word_set(). */
		if (atomic_load_explicit(&d->words[i], memory_order_relaxed))
			return true;
	return false;
}

void program_words_end(struct programs *p)
{
	bool any = points_unpublish(p->model->session);

	for (uint32_t i = 0; i < LAYOUT_MAX_DSOS; i++) {
		const struct dso_sites *d = &p->sites->dsos[i];

		if (!words_any(d))
			continue;
		for (uint32_t k = 0; k < d->nr; k++)
			/* Relaxed: as above. */
			atomic_store_explicit(&d->words[k], 0, memory_order_relaxed);
		any = true;
	}
	if (!any)
		return;
	program_words_raise(p);
	words_wait(p);
}

static config_ref words_left(const struct site_set *set, uint32_t *nr)
{
	/* Relaxed: nobody else stores them. */
	*nr = atomic_load_explicit(&set->nr, memory_order_relaxed);
	return atomic_load_explicit(&set->words, memory_order_relaxed);
}

void program_words_find(struct programs *p, uint32_t nr)
{
	struct dso_sites *d = &p->sites->dsos[nr];
	uint32_t nr_words;
	config_ref ref = words_left(set_of(p, nr), &nr_words);

	if (ref && nr_words == d->nr)
		d->words = session_config(p->model->session, ref, d->nr * sizeof(uint32_t));
	else if (ref)
		words_off(p, ref, nr_words);
}

void program_words_forget(struct programs *p, uint32_t nr)
{
	uint32_t nr_words;
	config_ref ref = words_left(set_of(p, nr), &nr_words);

	words_off(p, ref, nr_words);
	p->sites->dsos[nr].words = NULL;
}

void program_words_update(struct programs *p, uint32_t nr)
{
	struct dso_sites *d = &p->sites->dsos[nr];
	uint32_t nr_words;
	config_ref ref = words_left(set_of(p, nr), &nr_words);

	if (!ref)
		return;
	if (!d->page)
		words_off(p, ref, nr_words);
	page_set(p, d->page);
	program_words_raise(p);
}

void program_words_print(struct programs *p, FILE *out)
{
	if (p->sites->err)
		fprintf(out, "sites-error %d\n", -p->sites->err);
}
