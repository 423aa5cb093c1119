/* SPDX-License-Identifier: MIT */
/*
 * book.c - what a server leaves for the next one, so that no event goes uncounted (R4)
 *
 *     kernel's instance   per_cpu/cpuN/stats: how many it has recorded until the next server's
 *                         instance records the same
 *     live_book           how many of these have passed       -> the rest is lost
 *     ring of staged hits how many were taken
 *     live_book           how many of these have run          -> one may be cut off
 *
 * The book lies in the config region. Only the server writes it: plain words, each by one store. A
 * server may be killed between any two of them. So a record counts as passed after its hit, and a
 * hit that is run was taken before. What was not finished is counted as lost, and none runs twice.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plane/ring/ring.h"
#include "session/session.h"
#include "sources/live/state.h"

static size_t book_size(const struct model *m)
{
	return sizeof(struct live_book) + m->nr_cpus * sizeof(struct live_cpu_book);
}

static struct live_book *book_of(struct model *m)
{
	return m->live_book ? session_config(m->session, m->live_book, book_size(m)) : NULL;
}

void live_book_restore(struct model *m, config_ref book)
{
	if (book && !session_config_restore(m->session, book, book_size(m)))
		m->live_book = book;
}

/* ---- records of the kernel ---- */

/*
 * The new instance records the same events for some time before the old one stops. What it has by
 * then is in both.
 */
static void count_cpu(struct live_book *b, const char *now, uint32_t cpu)
{
	struct live_cpu_book *c = &b->cpus[cpu];
	uint64_t nr, twice = 0;

	if (*now && kernel_recorded(now, cpu, &twice))
		twice = 0;
	for (int i = 0; i < LIVE_INSTANCES; i++) {
		/* Relaxed: its server is dead. */
		uint64_t passed = atomic_load_explicit(&c->passed[i], memory_order_relaxed);

		passed += i == LIVE_EVENTS ? twice : 0;
		if (*b->names[i] && !kernel_recorded(b->names[i], cpu, &nr) && nr > passed)
			c->lost += nr - passed;
	}
}

/* `now`: the name of the new instance; "": there is none. */
static void count_records(struct live_book *b, const char *now, uint32_t nr_cpus)
{
	/* Another session's server may have removed it. */
	if (*b->names[LIVE_EVENTS] && kernel_stop(b->names[LIVE_EVENTS]))
		b->unknown += b->armed_before != 0;
	if (*b->names[LIVE_CALLS])
		(void)kernel_stop(b->names[LIVE_CALLS]);
	for (uint32_t cpu = 0; cpu < nr_cpus; cpu++)
		count_cpu(b, now, cpu);
}

int live_book_begin(struct live *l)
{
	struct model *m = l->model;

	if (!m->live_book)
		m->live_book = session_config_alloc(m->session, book_size(m));
	l->book = book_of(m);
	if (!l->book)
		return -ENOMEM;
	l->book->armed_before = l->book->armed;
	l->book->armed = 0;
	return 0;
}

void live_book_turn(struct live *l)
{
	count_records(l->book, l->kernel.name, l->model->nr_cpus);
	live_book_name(l, LIVE_CALLS, "");
	live_book_name(l, LIVE_EVENTS, l->kernel.name);
}

void live_book_empty(struct live *l, enum live_instance which)
{
	/* Relaxed: only the next server reads it, when this one is dead. */
	for (uint32_t cpu = 0; cpu < l->model->nr_cpus; cpu++)
		atomic_store_explicit(&l->book->cpus[cpu].passed[which], 0, memory_order_relaxed);
}

void live_book_name(struct live *l, enum live_instance which, const char *name)
{
	struct live_book *b = l->book;

	*b->names[which] = '\0';
	live_book_empty(l, which);
	snprintf(b->names[which], sizeof(b->names[which]), "%s", name);
}

/* ---- staged hits ---- */

struct staged_sums {
	uint64_t	read, lost, waiting;
};

static struct staged_sums sum_staged(struct model *m)
{
	/* Relaxed: only the server stores it. */
	const uint32_t place = atomic_load_explicit(&m->staging, memory_order_relaxed);
	const data_ref buffer = place ? buffer_published(m->session, place, 0) : 0;
	struct staged_sums sums = { 0 };
	struct ring_stats stats;

	for (uint32_t cpu = 0; buffer && cpu < m->nr_cpus; cpu++) {
		/* Without memory for a look at a page there are fewer. */
		(void)buffer_stats(m->session, buffer, cpu, &stats);
		sums.read += stats.read;
		sums.lost += stats.overrun;
		sums.waiting += stats.entries;
	}
	return sums;
}

/* Of a ring that is new nothing was taken. */
static void count_staged(struct live_book *b, const struct staged_sums *sums)
{
	if (sums->read > b->done)
		b->cut += sums->read - b->done;
	b->done = sums->read;
}

void live_book_staged(struct live *l)
{
	const struct staged_sums sums = sum_staged(l->model);

	count_staged(l->book, &sums);
}

void live_book_drop(struct model *m)
{
	struct live_book *b = book_of(m);
	const struct staged_sums sums = sum_staged(m);

	if (b) {
		count_records(b, "", m->nr_cpus);
		*b->names[LIVE_EVENTS] = *b->names[LIVE_CALLS] = '\0';
		count_staged(b, &sums);
		b->dropped += sums.lost + sums.waiting;
		b->done = 0;
	}
	instance_drop_staging(m);
}

uint64_t live_book_lost(const struct live *l, uint32_t cpu)
{
	return l->book->cpus[cpu].lost;
}

/* ---- what there is to say ---- */

static void print_hits(const struct live_book *b, const struct staged_sums *sums, FILE *out)
{
	if (b->late)
		fprintf(out, "note %" PRIu64 " hits came too late for their place among those of "
			"other sources\n", b->late);
	if (sums->lost)
		fprintf(out, "lost %" PRIu64 " hits were overwritten before triggers ran that "
			"merge sources\n", sums->lost);
	if (b->dropped)
		fprintf(out, "lost %" PRIu64 " hits waited for triggers that merge sources when "
			"the running kernel was no source any more\n", b->dropped);
	if (b->damaged)
		fprintf(out, "lost %" PRIu64 " staged hits could not be understood\n", b->damaged);
	if (b->cut)
		fprintf(out, "lost %" PRIu64 " hits were running triggers that merge sources when "
			"the server died: some of these triggers may not have run\n", b->cut);
}

void live_book_print(struct model *m, FILE *out)
{
	const struct live_book *b = book_of(m);
	const struct staged_sums sums = sum_staged(m);
	uint64_t lost = 0;

	if (!b)
		return;
	for (uint32_t cpu = 0; cpu < m->nr_cpus; cpu++)
		lost += b->cpus[cpu].lost;
	if (lost)
		fprintf(out, "lost %" PRIu64 " records of the kernel's events came when the "
			"server had died, or it had not taken them in\n", lost);
	if (b->unknown)
		fprintf(out, "lost the kernel's events from the death of a server to the next one "
			"(%" PRIu64 " times): their number is not known\n", b->unknown);
	print_hits(b, &sums, out);
}
