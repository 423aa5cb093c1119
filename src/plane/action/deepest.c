/* SPDX-License-Identifier: MIT */
/*
 * deepest.c - the stack tracer: keeps the deepest stack that calls of functions have shown
 *
 * D1  The thread that takes a report's `taken` from 0 to 1 fills it. Its release of
 *     stack_deepest.word publishes the report, and pairs with the acquire of the reader. The word
 *     only grows while its memory is in use, so a reader that finds the same word before and after
 *     it has copied a report has a whole one.
 */
#include "plane/hit.h"

/* NULL: all are taken. */
static struct stack_report *report_take(struct stack_deepest *d)
{
	for (uint32_t i = 0; i < STACK_REPORTS; i++) {
		uint32_t none = 0;

		/* D1. Acquire: pairs with the release in report_put(). */
		if (atomic_compare_exchange_strong_explicit(&d->reports[i].taken, &none, 1,
							    memory_order_acquire,
							    memory_order_relaxed))
			return &d->reports[i];
	}
	return NULL;
}

/* Release: what was read of it is read. Pairs with the acquire in report_take(). */
static void report_put(struct stack_report *report)
{
	atomic_store_explicit(&report->taken, 0, memory_order_release);
}

static void report_fill(struct stack_report *report, const struct stack_depths *from)
{
	const uint32_t nr = from->nr < STACK_DEEPEST ? from->nr : STACK_DEEPEST;

	report->depths.nr = nr;
	for (uint32_t i = 0; i < nr; i++) {
		report->depths.at[i] = from->at[i];
		report->depths.ip[i] = from->ip[i];
	}
}

void hit_deepest(const struct run *r, const struct trigger_arm *t)
{
	struct stack_deepest *d = plane_given(r->p, t->state);
	const struct stack_depths *from = r->h->depths;
	struct stack_report *report;
	uint64_t was, new;

	if (!from || !from->nr)
		return;
	/* Relaxed: it only tells whether to go on. */
	was = atomic_load_explicit(&d->word, memory_order_relaxed);
	if (from->at[0] <= stack_word_bytes(was))
		return;
	report = report_take(d);
	if (!report) {
		hit_miss(r->slot);
		return;
	}
	report_fill(report, from);
	new = stack_word(from->at[0], (uint32_t)(report - d->reports) + 1);
	do {
		if (from->at[0] <= stack_word_bytes(was)) {
			report_put(report);
			return;
		}
		/* D1 */
	} while (!atomic_compare_exchange_weak_explicit(&d->word, &was, new, memory_order_acq_rel,
							memory_order_relaxed));
	/* Any program may have written the word (R2). */
	if (stack_word_report(was) && stack_word_report(was) <= STACK_REPORTS)
		report_put(&d->reports[stack_word_report(was) - 1]);
}
