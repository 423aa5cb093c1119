/* SPDX-License-Identifier: MIT */
/*
 * flood.c - a run without options: an event that floods is switched off
 *
 * Such a run records what costs little: the events that programs define themselves. But a program
 * may have an event in its innermost loop, as Python has one for each call of a function. It takes
 * most of the time then, and overwrites all others in the buffers. So the command looks how fast
 * records come. If that is too fast, the event of most of them is switched off, and said at the
 * end.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "access/access.h"
#include "cli/run/run.h"
#include "export/summary.h"
#include "export/trace_dat.h"
#include "model/model.h"

/* LOOK_MS: how often to look. A_SECOND: so many records cost some 3 % of a processor. */
enum { LOOK_MS = 50, A_SECOND = 250000, NAME_MOST = 256 };

static double flood_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int run_flood_ms(const struct run *r)
{
	return r->plain && r->set_up && r->access && !r->flood.failed ? LOOK_MS : -1;
}

/* The event of more than half of the records. */
struct flooding {
	char		name[NAME_MOST];	/* SYSTEM:EVENT; "": none */
};

static void find_flooding(void *arg, const struct export_summary *s)
{
	struct flooding *f = arg;
	const struct event *e = s->nr_events ? s->events[0].event : NULL;

	if (e && s->events[0].records > s->sums.records / 2)
		snprintf(f->name, sizeof(f->name), "%s:%s", e->system->name, e->name);
}

static int flood_stop(const struct run *r, const char *name)
{
	char text[NAME_MOST + 2];
	const int n = snprintf(text, sizeof(text), "!%s\n", name);

	return access_write_all(r->access, "set_event", O_APPEND, text, (size_t)n, NULL);
}

/* False: it cannot be known, or not be done. */
static bool stop_flooding(struct run *r)
{
	struct flooding f = { .name = "" };
	struct export_error why;
	char *name;

	if (!run_recorded(r, find_flooding, &f, &why))
		return false;
	if (!*f.name)
		return true;
	name = strdup(f.name);
	if (!name || words_add(&r->flood.events, name)) {
		free(name);
		return false;
	}
	return !flood_stop(r, name);
}

void run_flood_switch_off(const struct run *r)
{
	for (unsigned int i = 0; i < r->flood.events.nr; i++)
		flood_stop(r, r->flood.events.v[i]);
}

void run_flood_look(struct run *r)
{
	const unsigned long long recorded = run_summary_recorded(r);
	const double now = flood_now(), passed = now - r->flood.at;
	const double came = (double)(recorded - r->flood.recorded);

	if (r->flood.at > 0 && came > passed * A_SECOND)
		r->flood.failed = !stop_flooding(r);
	r->flood.at = flood_now();
	r->flood.recorded = run_summary_recorded(r);
}

void run_flood_print(const struct run *r)
{
	for (unsigned int i = 0; i < r->flood.events.nr; i++)
		fprintf(stderr, "tracefuse: %s came too often, and was switched off after a while: "
			"-e %s records it\n", r->flood.events.v[i], r->flood.events.v[i]);
}

void run_flood_free(struct run *r)
{
	for (unsigned int i = 0; i < r->flood.events.nr; i++)
		free((char *)r->flood.events.v[i]);
	free(r->flood.events.v);
}
