/* SPDX-License-Identifier: MIT */
/*
 * site_command.c - programs are told that words of sites have changed, and answer (layout.h: struct
 * site_control)
 *
 * Answers lie in the data region, by index of the process. A process that has
 * attached again has several entries, of which the newest is answered in.
 */
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "session/state.h"

enum {
	/*
	 * Who has not answered yet may be about to read the words for the first time, or have no
	 * site.
	 */
	FRESH_MS	= 3000,
	LONG_AGO	= 1 << 30,	/* commands: an answer that nobody gave */
};

int64_t session_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

uint32_t attach_command(struct session *s)
{
	struct site_control *c = session_config(s, s->header->sites, sizeof(*c));
	/* Release: the words are there. Pairs with the acquire of the programs' tasks. */
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
	/* Relaxed: the server's own command, and an index that the process is not told of yet. */
	atomic_store_explicit(&t->sites[index].command,
			      atomic_load_explicit(&c->command, memory_order_relaxed) - LONG_AGO,
			      memory_order_relaxed);
}

static bool has_sites(const struct site_answer *a)
{
	for (unsigned int i = 0; i < LAYOUT_MAX_DSOS / 64; i++)
		/* Relaxed: in front of `command`. */
		if (atomic_load_explicit(&a->dsos[i], memory_order_relaxed))
			return true;
	return false;
}

/* A process without sites has nothing to answer. */
enum answered { ANSWERED_NEVER, ANSWERED_OLDER, ANSWERED };

static enum answered answer_of(const struct session *s, const struct program_tables *t,
			       unsigned int index, uint32_t command)
{
	const struct site_answer *a = &t->sites[index];
	/* Pairs with the release of the program's task. */
	uint32_t last = atomic_load_explicit(&a->command, memory_order_acquire);

	if (a->pid != (uint32_t)s->processes[index].pid)
		return ANSWERED_NEVER;
	if (!has_sites(a))
		return ANSWERED;
	if (command - last > LONG_AGO / 2 && last - command > LONG_AGO / 2)
		return ANSWERED_NEVER;	/* it waits for us, maybe: READY */
	return (int32_t)(last - command) >= 0 ? ANSWERED : ANSWERED_OLDER;
}

/* Of all its entries the best. */
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
	/* Held, it reads the words when it goes on. */
	if (p->waits || (a == ANSWERED_NEVER && session_now_ms() - p->since > FRESH_MS) ||
	    !process_alive(p))
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

void attach_answers(struct session *s, void (*fn)(void *arg, const struct attach_answer *a),
		    void *arg)
{
	const struct program_tables *t = tables_of(s);

	for (unsigned int i = 0; t && i < s->processes_end; i++) {
		const struct process *p = &s->processes[i];
		const struct site_answer *a = &t->sites[i];
		struct attach_answer copy = {
			.peer = { i + 1, p->pid },
			.nr_sites = a->nr_sites,
			.nr_skipped = a->nr_skipped,
			.nr_on = a->nr_on,
			.err = a->err,
			.slow = p->slow,
		};

		if (!p->pid || a->pid != (uint32_t)p->pid)
			continue;
		memcpy(copy.skipped, a->skipped, sizeof(copy.skipped));
		for (unsigned int k = 0; k < LAYOUT_MAX_DSOS / 64; k++)
			/* Relaxed: looked at again soon. */
			copy.dsos[k] = atomic_load_explicit(&a->dsos[k], memory_order_relaxed);
		fn(arg, &copy);
	}
}
