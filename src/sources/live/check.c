/* SPDX-License-Identifier: MIT */
/*
 * check.c - what another process has written to files of our instances is set again, and counted
 *
 * Nobody has a reason to write there, but root may. Events that the kernel rejected meanwhile are
 * missing.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/event/file.h"
#include "sources/live/state.h"

enum {
	CHECK_PATH	= 512,
	CHECK_EVENTS	= 64,		/* at a time */
	CHECK_MS	= 1000,		/* between two times */
};

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

/* Those that tell new names have no condition. */
static void check_namers(struct live *l)
{
	char path[CHECK_PATH];

	for (unsigned int i = 0; i < LIVE_NAMERS; i++) {
		const struct event *e = l->model->by_id[l->namers[i]];

		if (live_bit(l->armed, l->namers[i]))
			continue;
		snprintf(path, sizeof(path), "events/%s/%s/enable", e->system->name, e->name);
		check_file(l, l->kernel.dir, path, "1", "1");
	}
}

/* Full buffers overwrite: only what is overwritten is counted where it is read. */
static void check_instance(struct live *l, int dir, bool on)
{
	check_file(l, dir, "tracing_on", on ? "1" : "0", on ? "1" : "0");
	check_file(l, dir, "options/overwrite", "1", "1");
}

static void check_switches(struct live *l)
{
	const char *stacks = l->stacks ? "1" : "0";

	check_instance(l, l->kernel.dir, true);
	check_file(l, l->kernel.dir, "options/stacktrace", stacks, stacks);
	/* While its records are read, the kernel lets nobody change the tracer. */
	if (l->calls.tracer != LIVE_NOP)
		check_instance(l, l->kernel.calls, l->calls.on);
	/* Relaxed: it is only changed under the control lock, which is held. */
	if (l->namers_armed && atomic_load_explicit(&l->names_told, memory_order_relaxed))
		check_namers(l);
}

/* The first armed event from an id on; LAYOUT_OWN_IDS: there is none. */
static uint32_t armed_from(const struct live *l, uint32_t id)
{
	for (; id < LAYOUT_OWN_IDS; id = (id / 64 + 1) * 64) {
		const uint64_t bits = l->armed[id / 64] >> id % 64;

		if (bits)
			return id + (uint32_t)__builtin_ctzll(bits);
	}
	return LAYOUT_OWN_IDS;
}

/* The next `nr` events from an id on. Returns the id to go on with. */
static uint32_t check_events(struct live *l, uint32_t id, uint32_t nr)
{
	for (; nr && (id = armed_from(l, id)) < LAYOUT_OWN_IDS; nr--)
		check_event(l, l->model->by_id[id++]);
	return id < LAYOUT_OWN_IDS ? id : 0;
}

void live_check(struct live *l)
{
	check_switches(l);
	check_events(l, 0, LAYOUT_OWN_IDS);
}

int live_check_tick(struct live *l, uint64_t now_ms)
{
	/* Relaxed: it is only changed under the control lock, which is held. */
	if (!atomic_load_explicit(&l->nr_armed, memory_order_relaxed))
		return INT_MAX;
	if (now_ms >= l->check_at) {
		check_switches(l);
		l->check_id = check_events(l, l->check_id, CHECK_EVENTS);
		l->check_at = now_ms + CHECK_MS;
	}
	return (int)(l->check_at - now_ms);
}
