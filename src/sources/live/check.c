/* SPDX-License-Identifier: MIT */
/*
 * check.c - what another process has written to files of our instances is set again, and counted
 *
 * Nobody has a reason to write there, but root may. Events that the kernel rejected meanwhile are
 * missing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/event/file.h"
#include "sources/live/state.h"

enum { CHECK_PATH = 512, CHECK_EVENTS = 64 };

/* A file that cannot be read tells nothing. */
static bool check_reads(int dir, const char *path, const char *wanted)
{
	size_t len;
	char *text = kernel_read(dir, path, &len);
	bool same = true;

	if (text) {
		text[strcspn(text, "\n")] = '\0';
		same = !strcmp(text, wanted);
	}
	free(text);
	return same;
}

/* `written`: what makes the file read as wanted. */
static void check_file(struct live *l, int dir, const char *path, const char *wanted,
		       const char *written)
{
	if (check_reads(dir, path, wanted))
		return;
	l->nr_changed++;
	(void)kernel_write(dir, path, written);
}

static void check_event(struct live *l, const struct event *e)
{
	const char *filter = l->filters[e->id];
	char path[CHECK_PATH];

	snprintf(path, sizeof(path), "events/%s/%s/enable", e->system->name, e->name);
	check_file(l, l->kernel.dir, path, "1", "1");
	snprintf(path, sizeof(path), "events/%s/%s/filter", e->system->name, e->name);
	check_file(l, l->kernel.dir, path, filter ? : "none", filter ? : "0");
}

void live_check(struct live *l)
{
	const char *calls = l->calls.on ? "1" : "0";

	check_file(l, l->kernel.dir, "tracing_on", "1", "1");
	/* While its records are read, the kernel lets nobody change the tracer. */
	if (l->calls.tracer != LIVE_NOP)
		check_file(l, l->kernel.calls, "tracing_on", calls, calls);
	for (uint32_t w = 0; w < LAYOUT_OWN_IDS / 64; w++)
		for (uint64_t bits = l->armed[w]; bits; bits &= bits - 1)
			check_event(l, l->model->by_id[w * 64 + (uint32_t)__builtin_ctzll(bits)]);
}

void live_check_soon(struct live *l, uint32_t second)
{
	/* Relaxed: it is only changed under the control lock, which is held. */
	if (second == l->checked ||
	    atomic_load_explicit(&l->nr_armed, memory_order_relaxed) > CHECK_EVENTS)
		return;
	l->checked = second;
	live_check(l);
}
