/* SPDX-License-Identifier: MIT */
/* progress.c - see progress.h */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli/progress.h"
#include "host/terminal.h"
#include "sources/recording/source.h"

static double progress_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void progress_begin(struct progress *p, const char *what, const struct source *source,
		    bool quiet)
{
	*p = (struct progress){
		.what = what, .source = source, .start = progress_now(),
		.shown = !quiet && isatty(STDERR_FILENO),
	};
}

/* "3 s", "4 min" */
static void print_left(double seconds)
{
	if (seconds < 100)
		fprintf(stderr, ", %.0f s left", seconds);
	else
		fprintf(stderr, ", %.0f min left", seconds / 60);
}

void progress_show(void *arg)
{
	struct progress *p = arg;
	struct source_position pos;
	const double now = p->shown ? progress_now() : 0, took = now - p->start;
	double part;

	if (!p->shown || took < 1 || now - p->last < 0.2)
		return;
	p->last = now;
	source_position(p->source, &pos);
	part = pos.total_bytes ? (double)pos.bytes / (double)pos.total_bytes : 0;
	terminal_control("\r\033[K");
	fprintf(stderr, "%s: %3.0f %%  %.1f M records, %.1f M/s", p->what, 100 * part,
		(double)pos.records / 1e6, (double)pos.records / 1e6 / took);
	if (part > 0.01)
		print_left(took / part * (1 - part));
	terminal_control(" ");
}

void progress_end(const struct progress *p)
{
	if (p->last > 0)
		terminal_control("\r\033[K");
}
