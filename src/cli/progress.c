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

static struct progress progress_of(const char *what, bool quiet)
{
	return (struct progress){
		.what = what, .start = progress_now(), .shown = !quiet && isatty(STDERR_FILENO),
	};
}

void progress_begin(struct progress *p, const char *what, const struct source *source,
		    bool quiet)
{
	*p = progress_of(what, quiet);
	p->source = source;
}

void progress_begin_bytes(struct progress *p, const char *what, uint64_t total_bytes, bool quiet)
{
	*p = progress_of(what, quiet);
	p->total_bytes = total_bytes;
}

/* "3 s", "4 min" */
static void print_left(double seconds)
{
	if (seconds < 100)
		fprintf(stderr, ", %.0f s left", seconds);
	else
		fprintf(stderr, ", %.0f min left", seconds / 60);
}

/* The total may be too small: it was taken before. */
static double part_done(uint64_t bytes, uint64_t total)
{
	const double part = total ? (double)bytes / (double)total : 0;

	return part < 1 ? part : 1;
}

static double print_records(const struct progress *p, double took)
{
	struct source_position pos;
	double part;

	source_position(p->source, &pos);
	part = part_done(pos.bytes, pos.total_bytes);
	fprintf(stderr, "%s: %3.0f %%  %.1f M records, %.1f M/s", p->what, 100 * part,
		(double)pos.records / 1e6, (double)pos.records / 1e6 / took);
	return part;
}

static double print_bytes(const struct progress *p, double took)
{
	const double part = part_done(p->bytes, p->total_bytes), mb = (double)p->bytes / 1e6;

	fprintf(stderr, "%s: ", p->what);
	if (p->total_bytes)
		fprintf(stderr, "%3.0f %%  ", 100 * part);
	fprintf(stderr, "%.1f MB, %.1f MB/s", mb, mb / took);
	return part;
}

void progress_show(void *arg)
{
	struct progress *p = arg;
	const double now = p->shown ? progress_now() : 0, took = now - p->start;
	double part;

	if (!p->shown || took < 1 || now - p->last < 0.2)
		return;
	p->last = now;
	terminal_control("\r\033[K");
	part = p->source ? print_records(p, took) : print_bytes(p, took);
	if (part > 0.01 && part < 1)
		print_left(took / part * (1 - part));
	terminal_control(" ");
}

void progress_add(struct progress *p, uint64_t bytes)
{
	p->bytes += bytes;
	progress_show(p);
}

void progress_end(const struct progress *p)
{
	if (p->last > 0)
		terminal_control("\r\033[K");
}
