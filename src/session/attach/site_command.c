/* SPDX-License-Identifier: MIT */
/*
 * site_command.c - tells programs that words of sites have changed, and reads their answers
 * (layout.h: struct site_control)
 *
 * Answers lie in the data region, by the index of the process. A process that has attached again
 * has several entries and answers in the newest one.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "session/state.h"

enum {
	/*
	 * A process that has not answered yet may be about to read the words for the first time, or
	 * has no sites.
	 */
	FRESH_MS	= 3000,
	/* Commands ago: stands for an answer that was never given */
	LONG_AGO	= 1 << 30,
};

int64_t session_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

static void asked_raise(struct session *s)
{
	struct site_control *c = session_config(s, s->header->sites, sizeof(*c));

	/* Release: what is asked for is there. Programs that run look when the server knocks. */
	atomic_fetch_add_explicit(&c->asked, 1, memory_order_release);
}

uint32_t session_asked(struct session *s)
{
	struct site_control *c = session_config(s, s->header->sites, sizeof(*c));

	/* Relaxed: only the server stores it. */
	return atomic_load_explicit(&c->asked, memory_order_relaxed);
}

void session_functions_asked(struct session *s)
{
	/* Relaxed: a program that begins just now may miss it. */
	if (s && !atomic_exchange_explicit(&s->header->functions, 1, memory_order_relaxed))
		asked_raise(s);
}

void session_probes_defined(struct session *s)
{
	/* Relaxed: a program that begins just now may miss it. */
	if (s)
		atomic_store_explicit(&s->header->probes, 1, memory_order_relaxed);
}

/* The place for a pattern; its end: it is not there yet. */
static uint32_t library_find(const struct site_libraries *l, uint32_t size, const char *pattern)
{
	uint32_t at = 0;

	while (at < size && strcmp(l->text + at, pattern))
		at += (uint32_t)strlen(l->text + at) + 1;
	return at;
}

/* Programs know * and ? only. A class of characters becomes a ?, which matches more. */
static bool library_pattern(const char *pattern, char out[256])
{
	size_t len = 0;

	for (const char *c = pattern; *c; c++) {
		const char *end = *c == '[' ? strchr(c + 1, ']') : NULL;

		if (len == 255)
			return false;
		out[len++] = end ? '?' : *c;
		c = end ? end : c;
	}
	out[len] = '\0';
	return len;
}

int session_libraries_asked(struct session *s, const char *pattern)
{
	struct site_control *c = s ? session_config(s, s->header->sites, sizeof(*c)) : NULL;
	struct site_libraries *l;
	uint32_t size, at;
	char text[256];

	if (!c)
		return 0;
	if (!library_pattern(pattern, text))
		return -EINVAL;
	l = &c->libraries;
	/* Relaxed: only the server stores it. */
	size = atomic_load_explicit(&l->size, memory_order_relaxed);
	at = library_find(l, size, text);
	if (at < size)
		return 0;
	if (strlen(text) >= sizeof(l->text) - size)
		return -ENOSPC;
	memcpy(l->text + size, text, strlen(text) + 1);
	/* Release: pairs with the acquire in library_is_asked() of agent/sites/dso.c. */
	atomic_store_explicit(&l->size, size + (uint32_t)strlen(text) + 1, memory_order_release);
	asked_raise(s);
	return 0;
}

uint32_t attach_command(struct session *s)
{
	struct site_control *c = session_config(s, s->header->sites, sizeof(*c));
	/* Release: the words are stored. Pairs with the acquire in sites_obey(). */
	uint32_t command = atomic_fetch_add_explicit(&c->command, 1, memory_order_release) + 1;

	syscall(SYS_futex, &c->command, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	return command;
}

static struct program_tables *tables_of(struct session *s)
{
	return session_data(s, s->header->programs, sizeof(struct program_tables));
}

void process_forget_answer(struct session *s, unsigned int index)
{
	const struct site_control *c = session_config(s, s->header->sites, sizeof(*c));
	struct program_tables *t = tables_of(s);

	if (!t)
		return;
	t->sites[index].pid = 0;
	/* Those of the process that had this index before. */
	t->sites[index].plants = t->sites[index].plants_never = 0;
	t->sites[index].nr_probes = t->sites[index].nr_probes_refused = 0;
	t->sites[index].nr_unseen = t->sites[index].nr_unopened = 0;
	t->sites[index].asked = 0;
	/*
	 * Relaxed: only the server stores the command, and no process has been given this index
	 * yet.
	 */
	atomic_store_explicit(&t->sites[index].command,
			      atomic_load_explicit(&c->command, memory_order_relaxed) - LONG_AGO,
			      memory_order_relaxed);
}

static bool has_sites(const struct site_answer *a)
{
	for (unsigned int i = 0; i < LAYOUT_MAX_DSOS / 64; i++)
		/* Relaxed: loaded after the acquire of `command`. */
		if (atomic_load_explicit(&a->dsos[i], memory_order_relaxed))
			return true;
	return false;
}

/* A process without sites and probes has nothing to answer. */
enum answered { ANSWERED_NEVER, ANSWERED_OLDER, ANSWERED };

static enum answered answer_of(const struct session *s, const struct program_tables *t,
			       unsigned int index, uint32_t command)
{
	const struct site_answer *a = &t->sites[index];
	/* Acquire: pairs with the release in obey() of agent/sites/sites.c. */
	uint32_t last = atomic_load_explicit(&a->command, memory_order_acquire);

	if (a->pid != (uint32_t)s->processes[index].pid)
		return ANSWERED_NEVER;
	if (!a->plants && !has_sites(a))
		return ANSWERED;
	if (command - last > LONG_AGO / 2 && last - command > LONG_AGO / 2)
		return ANSWERED_NEVER;	/* it may be waiting for the server: READY */
	return (int32_t)(last - command) >= 0 ? ANSWERED : ANSWERED_OLDER;
}

/* The best answer in all entries of the process. */
static enum answered process_answered(const struct session *s, const struct program_tables *t,
				      unsigned int index, uint32_t command)
{
	enum answered best = ANSWERED_NEVER;

	for (unsigned int i = 0; i < s->processes_end; i++) {
		enum answered a;

		if (s->processes[i].pid != s->processes[index].pid)
			continue;
		a = answer_of(s, t, i, command);
		best = a > best ? a : best;
	}
	return best;
}

static void look_at(struct session *s, const struct program_tables *t, unsigned int index,
		    uint32_t command, struct attach_behind *out)
{
	struct process *p = &s->processes[index];
	enum answered a = process_answered(s, t, index, command);

	if (a == ANSWERED) {
		p->slow = false;
		return;
	}
	/* A process that waits at the barrier reads the words when it continues. */
	if (p->waits || (a == ANSWERED_NEVER && session_now_ms() - p->since > FRESH_MS) ||
	    !process_alive(s, p))
		return;
	if (a == ANSWERED_NEVER)
		out->fresh++;
	else if (p->slow)
		out->slow++;
	else
		out->late++;
}

void attach_behind(struct session *s, uint32_t command, struct attach_behind *out)
{
	const struct program_tables *t = tables_of(s);

	*out = (struct attach_behind){ 0 };
	attach_settle_left(s);
	for (unsigned int i = 0; t && i < s->processes_end; i++)
		if (s->processes[i].pid)
			look_at(s, t, i, command, out);
}

void attach_give_up(struct session *s, uint32_t command)
{
	const struct program_tables *t = tables_of(s);

	for (unsigned int i = 0; t && i < s->processes_end; i++)
		if (s->processes[i].pid && process_answered(s, t, i, command) == ANSWERED_OLDER)
			s->processes[i].slow = true;
}

bool process_answer(struct session *s, unsigned int index, struct attach_answer *out)
{
	const struct program_tables *t = tables_of(s);
	const struct process *p = &s->processes[index];
	const struct site_answer *a = t ? &t->sites[index] : NULL;
	const struct site_control *c = session_config(s, s->header->sites, sizeof(*c));

	if (!a || !p->pid || a->pid != (uint32_t)p->pid)
		return false;
	*out = (struct attach_answer){
		.peer = { index + 1, p->pid },
		.nr_sites = a->nr_sites,
		.nr_skipped = a->nr_skipped,
		.nr_on = a->nr_on,
		.err = a->err,
		/* Relaxed: as process_forget_answer(). */
		.behind = atomic_load_explicit(&a->command, memory_order_relaxed) !=
			  atomic_load_explicit(&c->command, memory_order_relaxed),
		.slow = p->slow,
		.nr_probes = a->nr_probes,
		.nr_probes_refused = a->nr_probes_refused,
		.nr_unseen = a->nr_unseen,
		.nr_unopened = a->nr_unopened,
		.plants = a->plants,
		.plants_never = a->plants_never,
		.asked = a->asked,
	};
	memcpy(out->skipped, a->skipped, sizeof(out->skipped));
	memcpy(out->probe_refused, a->probe_refused, sizeof(out->probe_refused));
	memcpy(out->left, a->left, sizeof(out->left));
	for (unsigned int k = 0; k < LAYOUT_MAX_DSOS / 64; k++)
		/* Relaxed: the server looks again soon. */
		out->dsos[k] = atomic_load_explicit(&a->dsos[k], memory_order_relaxed);
	return true;
}

void attach_answers(struct session *s, void (*fn)(void *arg, const struct attach_answer *a),
		    void *arg)
{
	struct attach_answer answer;

	for (unsigned int i = 0; i < s->processes_end; i++)
		if (process_answer(s, i, &answer))
			fn(arg, &answer);
}
