/* SPDX-License-Identifier: MIT */
/* latency.c - `tracefuse latency`: the time from one event to another, in one line */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer/answer.h"

struct latency_asked {
	struct answer	answer;
	const char	*by;			/* FIELD[=FIELD] */
	struct answer_event start, end;
	char		*name;			/* of the synthetic event */
};

enum { OPT_BY = ANSWER_OWN, NAME_MOST = 60 };

static const struct option long_options[] = {
	ANSWER_OPTIONS,
	{ "by", required_argument, NULL, OPT_BY },
	{ NULL, 0, NULL, 0 },
};

/* The field of the first event, or of the second one. */
static int by_length(const struct latency_asked *l)
{
	return (int)strcspn(l->by, "=");
}

static const char *by_end(const struct latency_asked *l)
{
	const char *equals = strchr(l->by, '=');

	return equals ? equals + 1 : l->by;
}

static int latency_add(struct latency_asked *l, const struct answer_event *e, char *text)
{
	int err = text ? answer_trigger(&l->answer, e, text) : -1;

	free(text);
	return err;
}

static int add_start(struct latency_asked *l)
{
	const char *condition = l->answer.condition;
	char *text;

	if (asprintf(&text, "hist:keys=%.*s:latency_start=common_timestamp%s%s", by_length(l),
		     l->by, condition ? " if " : "", condition ? condition : "") < 0)
		return -1;
	return latency_add(l, &l->start, text);
}

static int add_end(struct latency_asked *l)
{
	char *text;

	if (asprintf(&text,
		     "hist:keys=%s:latency_ns=common_timestamp-$latency_start:"
		     "onmatch(%s.%s).%s($latency_ns)",
		     by_end(l), l->start.system, l->start.name, l->name) < 0)
		return -1;
	return latency_add(l, &l->end, text);
}

/* The synthetic event is undone by its name alone. */
static int add_event(struct latency_asked *l)
{
	char *text;
	int err;

	if (asprintf(&text, "%s u64 ns", l->name) < 0)
		return -1;
	err = answer_line(&l->answer, "synthetic_events", text);
	free(text);
	return err;
}

static int latency_lines(struct latency_asked *l)
{
	const struct answer_event event = { .system = "synthetic", .name = l->name };
	int err = add_event(l);

	if (!err)
		err = add_start(l);
	if (!err)
		err = add_end(l);
	if (!err)
		err = answer_trigger(&l->answer, &event,
				     "hist:keys=ns.exp=2:sort=ns:pct=50,90,99,99.9");
	if (!err)
		err = asprintf(&l->answer.file, "events/synthetic/%s/hist", l->name) < 0;
	return err ? message_error("out of memory") : COMMAND_DONE;
}

/* "sched_waking_to_sched_switch" */
static int latency_make_name(struct latency_asked *l)
{
	if (asprintf(&l->name, "%.27s_to_%.27s", l->start.name, l->end.name) < 0)
		return message_error("out of memory");
	for (char *c = l->name; *c; c++)
		if (*c == '-')
			*c = '_';
	return COMMAND_DONE;
}

static int latency_events(struct latency_asked *l)
{
	const struct answer *a = &l->answer;
	int status = answer_event_read(a, a->words.v[0], &l->start);

	if (!status)
		status = answer_event_read(a, a->words.v[1], &l->end);
	if (!status && !strcmp(l->start.system, l->end.system) &&
	    !strcmp(l->start.name, l->end.name))
		status = command_usage(a->command, "the time from %s to the same event: give two",
				       a->words.v[0]);
	return status ? status : latency_make_name(l);
}

static int latency_parse(struct latency_asked *l, int argc, char **argv)
{
	struct answer *a = &l->answer;
	int opt, status = COMMAND_DONE;

	argc = answer_begin(a, argc, argv);
	while (!status && (opt = getopt_long(argc, argv, ANSWER_SHORT, long_options, NULL)) != -1)
		if (opt == OPT_BY)
			l->by = optarg;
		else
			status = answer_option(a, opt, argv);
	if (!status)
		status = answer_arguments(a, argc, argv);
	if (status)
		return status;
	if (a->words.nr < 2)
		return command_usage(&command_latency, "from which event to which one?");
	if (a->words.nr > 2)
		return command_usage(&command_latency, "%s: there is no such file", a->words.v[2]);
	return latency_events(l);
}

static int latency_run(int argc, char **argv)
{
	struct latency_asked l = { .answer.command = &command_latency, .by = "common_pid" };
	int status = latency_parse(&l, argc, argv);

	if (!status)
		status = latency_lines(&l);
	if (!status)
		status = answer_run(&l.answer);
	answer_event_free(&l.start);
	answer_event_free(&l.end);
	answer_free(&l.answer);
	free(l.name);
	return status;
}

const struct command command_latency = {
	.name = "latency",
	.summary = "measure the time from one event to another",
	.run = latency_run,
	.help =
"usage: tracefuse latency [options] START END -- PROGRAM ARGUMENTS...\n"
"       tracefuse latency [options] START END RECORDING...\n"
"       tracefuse latency [options] -s SESSION START END\n"
"\n"
"Draws how long it took from each START to the END that belongs to it, in nanoseconds,\n"
"with percentiles. START and END are events, SYSTEM:EVENT. They belong together if they\n"
"are of the same thread, or if the fields of --by have the same value:\n"
"\n"
"  tracefuse latency sched:sched_waking sched:sched_switch --by pid=next_pid trace.dat\n"
"\n"
"      --by FIELD[=FIELD]  the field of START, and that of END if it has another name\n"
"      --if FILTER         only a START like this: 'prio < 100'\n"
"      --show              print the lines of ftrace that this stands for, and nothing\n"
"                          else\n"
"      --plain             the file hist as it is, instead of bars\n"
"  -s, --session NAME      measure in a session that is there, until Ctrl-C\n"
"      --for SECONDS       with -s: how long\n"
"  -q, --quiet             no summary of the program's session\n",
};
