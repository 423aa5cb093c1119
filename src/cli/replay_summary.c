/* SPDX-License-Identifier: MIT */
/*
 * replay_summary.c - what was recorded, for a replay or a run that was asked for nothing
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
#include <stdlib.h>
#include <string.h>

#include "cli/asked.h"
#include "cli/replay_summary.h"
#include "cli/replay_session.h"
#include "export/summary.h"
#include "host/message.h"
#include "model/model.h"
#include "sources/recording/source.h"

enum { SYSTEMS = 4, NAMED = 3, COMMANDS = 3, NAME_MOST = 60 };

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

static void print_waits(const struct export_summary *s)
{
	if (!s->waits[0].ns)
		return;
	fprintf(stderr, "  longest waits for a CPU:");
	for (unsigned int i = 0; i < SUMMARY_WAITS && s->waits[i].ns; i++) {
		fprintf(stderr, "%s ", i ? "," : "");
		print_duration(s->waits[i].ns);
		fputc(' ', stderr);
		print_clean(s->waits[i].comm);
		fprintf(stderr, "-%d", s->waits[i].pid);
	}
	fputc('\n', stderr);
}

void summary_print(const struct export_summary *s)
{
	print_systems(s);
	print_functions(s);
	print_waits(s);
}

/* ---- what to try next ---- */

static bool has_event(const struct export_summary *s, const char *system, const char *name)
{
	for (unsigned int i = 0; i < s->nr_events; i++)
		if (!strcmp(s->events[i].event->system->name, system) &&
		    !strcmp(s->events[i].event->name, name))
			return true;
	return false;
}

void summary_word(const char *file)
{
	if (!strpbrk(file, " \t\n'\"\\$`*?[]()<>|&;!~#{}") && *file) {
		fputs(file, stderr);
		return;
	}
	fputc('\'', stderr);
	for (; *file; file++) {
		if (*file == '\'')
			fputs("'\\''", stderr);
		else
			fputc(*file, stderr);
	}
	fputc('\'', stderr);
}

static void print_next(const char *command, const struct words *files, const char *rest,
		       unsigned int *left)
{
	if (!*left)
		return;
	--*left;
	fprintf(stderr, "  tracefuse %s", command);
	for (unsigned int i = 0; i < files->nr; i++) {
		fputc(' ', stderr);
		summary_word(files->v[i]);
	}
	fprintf(stderr, "%s\n", rest);
}

/* Whether a name is a word of a shell command as it is. */
static bool is_plain_word(const char *name)
{
	return !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789_")];
}

const struct event *summary_event(const struct export_summary *s)
{
	for (unsigned int i = 0; i < s->nr_events; i++) {
		const struct event *e = s->events[i].event;

		if (event_has_trigger(e) && is_plain_word(e->system->name) &&
		    is_plain_word(e->name))
			return e;
	}
	return NULL;
}

static void print_nexts(const struct export_summary *s, const struct words *files)
{
	const struct event *e = summary_event(s);
	unsigned int left = COMMANDS;
	char command[300];

	fprintf(stderr, "Try next (-q prints none of this):\n");
	if (s->sums.calls || s->sums.unbegun)
		print_next("export folded", files, " > stacks.folded", &left);
	if (s->waits[0].ns)
		print_next("latency sched:sched_waking sched:sched_switch --by pid=next_pid", files,
			   "", &left);
	if (e) {
		snprintf(command, sizeof(command), "hist %s:%s", e->system->name, e->name);
		print_next(command, files, "", &left);
	}
	if (has_event(s, "sched", "sched_switch") || s->sums.calls)
		print_next("export perfetto -o trace.pftrace", files, "", &left);
	if (e) {
		snprintf(command, sizeof(command), "replay -e %s --cat trace", e->system->name);
		print_next(command, files, "", &left);
	}
	print_next("list -v", files, "", &left);
	print_next("export chrome -o trace.json", files, "", &left);
}

int replay_summary(const struct replay_session *s, const struct words *files)
{
	struct export_summary sum;
	const int ret = export_summary_make(s->source, s->model, &sum);
	const uint32_t cpus = source_nr_cpus(s->source);

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
	if (sum.sums.records)
		print_nexts(&sum, files);
	export_summary_free(&sum);
	return COMMAND_DONE;
}
