/* SPDX-License-Identifier: MIT */
/*
 * next.c - three commands that fit what was recorded
 *
 *     Try next (-q prints none of this):
 *       tracefuse latency sched:sched_waking sched:sched_switch --by pid=next_pid FILE
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/asked.h"
#include "cli/summary/summary.h"
#include "export/summary.h"
#include "model/model.h"
#include "sources/program/programs.h"

enum { COMMANDS = 3 };

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

static void print_words(const struct next *n)
{
	if (n->program)
		fputs(" --", stderr);
	for (unsigned int i = 0; i < n->words.nr; i++) {
		fputc(' ', stderr);
		summary_word(n->words.v[i]);
	}
}

void summary_next(struct next *n, const char *rest, const char *format, ...)
{
	va_list args;

	if (n->printed == COMMANDS)
		return;
	if (!n->printed++)
		fprintf(stderr, "Try next (-q prints none of this):\n");
	fprintf(stderr, "  tracefuse ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	print_words(n);
	fprintf(stderr, "%s\n", rest);
}

/* Whether a name is a word of a shell command as it is. */
static bool is_plain_word(const char *name)
{
	return !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789_")];
}

static bool is_plain_event(const struct event *e)
{
	return event_has_trigger(e) && is_plain_word(e->system->name) && is_plain_word(e->name);
}

/* The most frequent event that can have a histogram. NULL: there is none. */
static const struct event *frequent_event(const struct export_summary *s)
{
	for (unsigned int i = 0; i < s->nr_events; i++)
		if (is_plain_event(s->events[i].event))
			return s->events[i].event;
	return NULL;
}

static bool has_system(const struct export_summary *s, const char *system)
{
	for (unsigned int i = 0; i < s->nr_events; i++)
		if (!strcmp(s->events[i].event->system->name, system))
			return true;
	return false;
}

static bool has_event(const struct export_summary *s, const char *system, const char *name)
{
	for (unsigned int i = 0; i < s->nr_events; i++)
		if (!strcmp(s->events[i].event->system->name, system) &&
		    !strcmp(s->events[i].event->name, name))
			return true;
	return false;
}

/* ---- a recording ---- */

static void next_waits(struct next *n, const struct export_summary *s)
{
	const struct event *call = s->waits[SUMMARY_CALL][0].event;

	if (s->waits[SUMMARY_CPU][0].ns)
		summary_next(n, "",
			     "latency sched:sched_waking sched:sched_switch --by pid=next_pid");
	if (s->waits[SUMMARY_LOCK][0].ns)
		summary_next(n, "",
			     "latency lock:contention_begin lock:contention_end --if 'flags != 0'");
	if (call && is_plain_word(call->name))
		summary_next(n, "", "latency syscalls:" EXPORT_ENTER "%s syscalls:%s",
			     call->name + strlen(EXPORT_EXIT), call->name);
}

void summary_next_replay(const struct export_summary *s, const struct words *files)
{
	struct next n = { .words = *files };
	const struct event *e = frequent_event(s);
	const bool calls = s->sums.calls || s->sums.unbegun;

	if (calls) {
		summary_next(&n, "", "report");
		summary_next(&n, " > stacks.folded", "export folded");
	}
	next_waits(&n, s);
	if (e)
		summary_next(&n, "", "hist %s:%s", e->system->name, e->name);
	if (has_event(s, "sched", "sched_switch") || calls)
		summary_next(&n, "", "export perfetto -o trace.pftrace");
	if (e)
		summary_next(&n, "", "replay -e %s --cat trace", e->system->name);
	summary_next(&n, "", "list -v");
	summary_next(&n, "", "export chrome -o trace.json");
}

/* ---- a program ---- */

/* Whether the program, or a library of it, has defined the event itself. */
static bool own_event(const struct event *e)
{
	char *unknown = programs_unknown_system(e->system->name);
	const bool own = unknown && is_plain_event(e) && strcmp(e->system->name, "ftrace") != 0;

	free(unknown);
	return own;
}

/*
 * A number of its own that the other event has, too. NULL: there is none. The fields of a probe are
 * the place and numbered arguments: that two events have them says nothing.
 */
static const struct field *shared_field(struct event *a, struct event *b)
{
	unsigned int nr;
	const struct field *f = event_fields(a, &nr);

	if (event_find_field(a, "__probe_ip"))
		return NULL;
	for (unsigned int i = 0; f && i < nr; i++)
		if (!f[i].common && f[i].kind == FIELD_OTHER && !f[i].len &&
		    is_plain_word(f[i].name) && event_find_field(b, f[i].name))
			return &f[i];
	return NULL;
}

/* Two events of one system that came about as often probably tell of the same things. */
static bool may_be_pair(const struct summary_event *a, const struct summary_event *b)
{
	return a->event->system == b->event->system && own_event(a->event) && own_event(b->event) &&
	       a->records < 2 * b->records;
}

/* Whether the names are those of a beginning and its end: gc__start, gc__done. */
static bool names_are_pair(const char *begin, const char *end)
{
	static const struct {
		const char	*begin, *end;
	} pairs[] = { { "start", "done" }, { "start", "end" }, { "start", "stop" },
		      { "begin", "end" }, { "begin", "done" }, { "entry", "return" },
		      { "entry", "exit" }, { "enter", "exit" }, { "enter", "leave" } };
	size_t same = 0;

	while (begin[same] && begin[same] == end[same])
		same++;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		/* The two words may begin alike, too: "entry", "exit". */
		const size_t len = strlen(begin), word = strlen(pairs[i].begin);

		if (len >= word && same >= len - word &&
		    !strcmp(begin + len - word, pairs[i].begin) &&
		    !strcmp(end + len - word, pairs[i].end))
			return true;
	}
	return false;
}

/* Prints the command for the two, if they look like a beginning and an end. */
static bool next_latency(struct next *n, const struct summary_event *a,
			 const struct summary_event *b)
{
	const char *system = a->event->system->name;
	const struct field *f = shared_field(a->event, b->event);

	if (f)
		summary_next(n, "", "latency %s:%s %s:%s --by %s", system, a->event->name, system,
			     b->event->name, f->name);
	else if (names_are_pair(a->event->name, b->event->name))
		summary_next(n, "", "latency %s:%s %s:%s", system, a->event->name, system,
			     b->event->name);
	else
		return false;
	return true;
}

static void next_pair(struct next *n, const struct export_summary *s)
{
	for (unsigned int i = 0; i + 1 < s->nr_events; i++) {
		const struct summary_event *a = &s->events[i], *b = &s->events[i + 1];
		const bool turned = b->since < a->since;

		if (may_be_pair(a, b) && next_latency(n, turned ? b : a, turned ? a : b))
			return;
	}
}

/* The commands that look at a system, in the order in which they are named. */
static void next_answers(struct next *n, const struct export_summary *s)
{
	static const char *const systems[] = { "lock", "heap", "syscalls" };
	static const char *const commands[] = { "locks", "heap", "syscalls" };

	for (size_t i = 0; i < sizeof(systems) / sizeof(*systems); i++)
		if (has_system(s, systems[i]))
			summary_next(n, "", "%s", commands[i]);
}

void summary_next_program(struct next *n, const struct export_summary *s)
{
	const struct event *e = frequent_event(s);

	next_pair(n, s);
	next_answers(n, s);
	if (!e)
		return;
	summary_next(n, "", "hist %s:%s", e->system->name, e->name);
	summary_next(n, "", "run -e %s --cat trace", e->system->name);
	summary_next(n, "", "run -e %s -o trace.dat", e->system->name);
}
