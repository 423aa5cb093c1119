/* SPDX-License-Identifier: MIT */
/*
 * summary.c - what was recorded, for a replay or a run that was asked for nothing
 *
 *     tracefuse: 466 records of 2 CPUs in 1.200 s
 *       sched: 466: sched_switch 300, sched_waking 166
 *       longest waits for a CPU: 65.5 ms bash-53, ...
 *     Try next:
 *       tracefuse latency sched:sched_waking sched:sched_switch --by pid=next_pid FILE
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/summary/summary.h"
#include "cli/progress.h"
#include "cli/replay_session.h"
#include "export/summary.h"
#include "host/message.h"
#include "model/model.h"
#include "sources/recording/source.h"

enum { SYSTEMS = 4, NAMED = 3, NAME_MOST = 60 };

/* ---- what it has ---- */

static void print_duration(uint64_t ns)
{
	static const struct {
		double		ns;
		const char	*name;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } };
	unsigned int u = 0;

	while (units[u].ns > (double)ns && units[u].ns > 1)
		u++;
	fprintf(stderr, "%.3g %s", (double)ns / units[u].ns, units[u].name);
}

/* Texts of a recording may have any bytes. */
static void print_clean(const char *text)
{
	for (; *text; text++)
		fputc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, stderr);
}

static uint64_t system_records(const struct export_summary *s, const struct system *system)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < s->nr_events; i++)
		if (s->events[i].event->system == system)
			sum += s->events[i].records;
	return sum;
}

static void print_system(const struct export_summary *s, const struct system *system)
{
	unsigned int named = 0, more = 0;

	fprintf(stderr, "  %s: %" PRIu64 ":", system->name, system_records(s, system));
	for (unsigned int i = 0; i < s->nr_events; i++) {
		if (s->events[i].event->system != system)
			continue;
		if (named < NAMED)
			fprintf(stderr, "%s %s %" PRIu64, named ? "," : "",
				s->events[i].event->name, s->events[i].records);
		more += named++ >= NAMED;
	}
	if (more)
		fprintf(stderr, ", and %u more", more);
	fputc('\n', stderr);
}

/* The systems whose most frequent events come first. */
static void print_systems(const struct export_summary *s)
{
	const struct system *done[SYSTEMS];
	unsigned int nr = 0, others = 0;

	for (unsigned int i = 0; i < s->nr_events; i++) {
		const struct system *system = s->events[i].event->system;
		unsigned int k = 0;

		while (k < nr && done[k] != system)
			k++;
		if (k < nr)
			continue;
		if (nr == SYSTEMS) {
			others++;
			continue;
		}
		done[nr++] = system;
		print_system(s, system);
	}
	if (others)
		fprintf(stderr, "  and %u event%s of other systems\n", others,
			others == 1 ? "" : "s");
}

/* A long name is cut. */
static void print_function_name(const char *name)
{
	char cut[NAME_MOST + 1];

	snprintf(cut, sizeof(cut), "%s", name);
	print_clean(cut);
	if (strlen(name) > NAME_MOST)
		fputs("...", stderr);
}

static void print_functions(const struct export_summary *s)
{
	if (!*s->functions[0].name || !s->self)
		return;
	fprintf(stderr, "  functions, by the time they took themselves:");
	for (unsigned int i = 0; i < SUMMARY_FUNCTIONS && *s->functions[i].name; i++) {
		fprintf(stderr, "%s ", i ? "," : "");
		print_function_name(s->functions[i].name);
		fprintf(stderr, " %.0f %%", 100.0 * (double)s->functions[i].self / (double)s->self);
	}
	fputc('\n', stderr);
}

static void print_wait(const struct summary_wait *w, const char *what)
{
	print_duration(w->ns);
	if (*what)
		fprintf(stderr, " %s", what);
	fputc(' ', stderr);
	print_clean(w->comm);
	fprintf(stderr, "-%d", w->pid);
}

static void print_waits(const struct export_summary *s)
{
	static const char *const titles[SUMMARY_KINDS] = {
		[SUMMARY_CPU] = "longest waits for a CPU",
		[SUMMARY_LOCK] = "longest waits for a lock",
		[SUMMARY_CALL] = "longest system calls",
	};

	for (int kind = 0; kind < SUMMARY_KINDS; kind++) {
		const struct summary_wait *w = s->waits[kind];

		if (w[0].ns)
			fprintf(stderr, "  %s: ", titles[kind]);
		for (unsigned int i = 0; i < SUMMARY_WAITS && w[i].ns; i++) {
			if (i)
				fputs(", ", stderr);
			print_wait(&w[i], kind == SUMMARY_CALL
						  ? w[i].event->name + strlen(EXPORT_EXIT)
						  : "");
		}
		if (w[0].ns)
			fputc('\n', stderr);
	}
}

/* A run's own summary has counted those that were taken. */
static void print_cut_stacks(const struct export_summary *s)
{
	if (s->stacks_cut)
		fprintf(stderr, "  stacks: %" PRIu64 " of %" PRIu64 " end early, because a caller "
			"is not known: stack_is_cut\n", s->stacks_cut, s->stacks);
}

void summary_print(const struct export_summary *s)
{
	print_systems(s);
	print_functions(s);
	print_waits(s);
}

int replay_summary(const struct replay_session *s, const struct words *files)
{
	struct export_summary sum;
	struct progress p;
	const struct export_records what = {
		.source = s->source, .model = s->model, .step = progress_show, .step_arg = &p,
	};
	const uint32_t cpus = source_nr_cpus(s->source);
	int ret;

	progress_begin(&p, "replay", s->source, false);
	ret = export_summary_make(&what, &sum);
	progress_end(&p);
	if (ret) {
		export_summary_free(&sum);
		return ret == -ENOMEM ? message_error("out of memory") : COMMAND_FAILED;
	}
	fprintf(stderr, "tracefuse: %" PRIu64 " record%s", sum.sums.records,
		sum.sums.records == 1 ? "" : "s");
	if (sum.sums.records) {
		fprintf(stderr, " of %u CPU%s in ", cpus, cpus == 1 ? "" : "s");
		print_duration(sum.last - sum.first);
	}
	fputc('\n', stderr);
	summary_print(&sum);
	print_cut_stacks(&sum);
	if (sum.sums.records)
		summary_next_replay(&sum, files);
	export_summary_free(&sum);
	return COMMAND_DONE;
}
