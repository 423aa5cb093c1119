/* SPDX-License-Identifier: MIT */
/* latency.c - `tracefuse latency`: the time from one event to another, in one line */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access/access.h"
#include "cli/answer/point.h"
#include "cli/client.h"
#include "cli/draw/draw.h"
#include "cli/run/flight.h"

struct latency_asked {
	struct answer	answer;
	const char	*by;			/* FIELD[=FIELD]; NULL: not given */
	bool		calls;			/* END is the return of START's function */
	struct answer_point start, end;
	char		*name;			/* of the synthetic event */
	struct flight_asked flight;		/* over 0: no --over */
	const char	*buffer_size;		/* in KB, as written; NULL: not given */
};

/* KEYS_MOST: how many STARTs can be told apart, for a histogram's size=: one that ended counts. */
enum {
	OPT_BY = ANSWER_OWN, OPT_OVER, OPT_BEFORE, OPT_KEEP, OPT_BUFFER_SIZE, KEYS_MOST = 65536
};

static const struct option long_options[] = {
	ANSWER_OPTIONS,
	{ "by", required_argument, NULL, OPT_BY },
	{ "over", required_argument, NULL, OPT_OVER },
	{ "before", required_argument, NULL, OPT_BEFORE },
	{ "keep", required_argument, NULL, OPT_KEEP },
	{ "buffer-size", required_argument, NULL, OPT_BUFFER_SIZE },
	{ "event", required_argument, NULL, 'e' },
	{ "output", required_argument, NULL, 'o' },
	ANSWER_PROCESS,
	{ NULL, 0, NULL, 0 },
};

/* ---- what belongs together ---- */

/*
 * Of calls, those of the same thread with the same place of their return address: so a function
 * that calls itself is measured call by call. At the return, the address is taken off the stack
 * already.
 */
static const char call_begins[] = "common_pid,sp", call_ends[] = "common_pid,sp-8";

static bool is_common(const char *field, size_t len)
{
	static const char common[] = "common_";

	return len >= sizeof(common) - 1 && !strncmp(field, common, sizeof(common) - 1);
}

/* The field of --by that stands for this point: that of START, or that of END behind the =. */
static const char *by_field(const struct latency_asked *l, const struct answer_point *p,
			    size_t *len)
{
	const char *by = l->by ? l->by : "common_pid", *equals = strchr(by, '=');

	*len = strcspn(by, "=");
	if (p == &l->start || !equals)
		return by;
	*len = strlen(equals + 1);
	return equals + 1;
}

/* The keys of the point's histogram. The caller frees. NULL: out of memory. */
static char *point_keys(const struct latency_asked *l, const struct answer_point *p)
{
	size_t len;
	const char *by = by_field(l, p, &len), *field = by;
	char *keys;
	int n;

	if (l->calls)
		field = p == &l->start ? call_begins : call_ends;
	else if (p->file && !is_common(by, len))
		field = "by";
	if (field != by)
		len = strlen(field);
	n = asprintf(&keys, "%.*s:size=%d", (int)len, field, KEYS_MOST);
	return n < 0 ? NULL : keys;
}

/* The line that makes the probe of a function, if the point is one. */
static int point_add(struct latency_asked *l, const struct answer_point *p)
{
	size_t len;
	const char *field = by_field(l, p, &len);
	char *arguments;
	int err;

	if (l->calls)
		return answer_point_add(&l->answer, p, "sp=%sp");
	if (is_common(field, len))
		return answer_point_add(&l->answer, p, "");
	if (asprintf(&arguments, "by=%.*s", (int)len, field) < 0)
		return -1;
	err = answer_point_add(&l->answer, p, arguments);
	free(arguments);
	return err;
}

/* ---- the lines ---- */

static int latency_add(struct latency_asked *l, const struct answer_point *p, char *text)
{
	int err = text ? answer_trigger(&l->answer, &p->event, text) : -1;

	free(text);
	return err;
}

static int add_start(struct latency_asked *l)
{
	const char *condition = l->answer.condition;
	char *text = NULL, *keys = point_keys(l, &l->start);

	if (!keys || asprintf(&text, "hist:keys=%s:latency_start=common_timestamp%s%s", keys,
			      condition ? " if " : "", condition ? condition : "") < 0)
		text = NULL;
	free(keys);
	return latency_add(l, &l->start, text);
}

static int add_end(struct latency_asked *l)
{
	char *text = NULL, *keys = point_keys(l, &l->end);

	if (!keys || asprintf(&text,
			      "hist:keys=%s:latency_ns=common_timestamp-$latency_start:"
			      "onmatch(%s.%s).%s($latency_ns)",
			      keys, l->start.event.system, l->start.event.name, l->name) < 0)
		text = NULL;
	free(keys);
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

static int enable(struct latency_asked *l, const struct answer_event *e)
{
	char *file = answer_event_file(&l->answer, e->system, e->name, "enable");
	int err;

	if (!file)
		return -1;
	err = answer_line_undone(&l->answer, file, "1", "0");
	free(file);
	return err;
}

static int add_buffer_size(struct latency_asked *l)
{
	return l->buffer_size ? answer_line_undone(&l->answer, "buffer_size_kb", l->buffer_size,
						   l->buffer_size) : 0;
}

/* Which of the threads were slow, and a snapshot of what led to the first slow one. */
static int add_over_triggers(struct latency_asked *l, const struct answer_event *event)
{
	const unsigned long long over = l->flight.over;
	char *counted = NULL, *snapshot = NULL;
	int err;

	if (asprintf(&counted, "hist:keys=common_pid.execname if ns > %llu", over) < 0 ||
	    asprintf(&snapshot, "snapshot:1 if ns > %llu", over) < 0)
		err = -1;
	else
		err = answer_trigger(&l->answer, event, counted);
	if (!err)
		err = answer_trigger(&l->answer, event, snapshot);
	free(counted);
	free(snapshot);
	return err;
}

/* The lines of the flight recorder: START, END and slow latencies are recorded. */
static int add_over(struct latency_asked *l, const struct answer_event *event)
{
	char *filter = NULL, *file = NULL;
	int err;

	file = answer_event_file(&l->answer, "synthetic", l->name, "filter");
	if (asprintf(&filter, "ns > %llu", (unsigned long long)l->flight.over) < 0)
		filter = NULL;
	if (!filter || !file)
		err = -1;
	else
		err = answer_line_undone(&l->answer, file, filter, "0");
	free(filter);
	free(file);
	if (!err)
		err = enable(l, event);
	if (!err)
		err = enable(l, &l->start.event);
	if (!err)
		err = enable(l, &l->end.event);
	return err ? err : add_over_triggers(l, event);
}

static int latency_lines(struct latency_asked *l)
{
	const struct answer_event event = { .system = "synthetic", .name = l->name };
	int err = add_buffer_size(l);

	if (!err)
		err = point_add(l, &l->start);
	if (!err)
		err = point_add(l, &l->end);
	if (!err)
		err = add_event(l);
	if (!err)
		err = answer_apart(&l->answer, NULL);
	if (!err)
		err = add_start(l);
	if (!err)
		err = add_end(l);
	if (!err)
		err = answer_trigger(&l->answer, &event,
				     "hist:keys=ns.exp=2:sort=ns:pct=50,90,99,99.9");
	if (!err && l->flight.over)
		err = add_over(l, &event);
	if (!err) {
		l->answer.file = answer_event_file(&l->answer, "synthetic", l->name, "hist");
		err = !l->answer.file;
	}
	return err ? message_error("out of memory") : COMMAND_DONE;
}

/* ---- the answer ---- */

/* How many hits the histogram of a file has counted; 0: it cannot be read. */
static unsigned long long latency_hits(struct access *access, const char *file)
{
	unsigned long long nr = 0;
	char *text;
	size_t len;

	if (access_read_all(access, file, &text, &len))
		return 0;
	nr = client_stat(text, "\n    Hits: ");
	free(text);
	return nr;
}

/* Of a function's calls, those that do not return are not among the latencies. */
static int latency_print(const struct answer *a, struct access *access)
{
	const struct latency_asked *l = a->own;
	const int status = draw_file(access, a->file);
	unsigned long long begun, ended;
	char *file;

	if (status)
		return status;
	file = answer_event_file(a, l->start.event.system, l->start.event.name, "hist");
	if (!file)
		return status;
	begun = latency_hits(access, file);
	ended = latency_hits(access, a->file);
	free(file);
	if (begun > ended)
		message_error("%llu of %llu calls have not returned, and are not among these: an "
			      "exception, longjmp() or the end of their thread has left them, or "
			      "they go on", begun - ended, begun);
	return status;
}

/* ---- the arguments ---- */

/* "sched_waking_to_sched_switch"; of a function's calls, its name. */
static int latency_make_name(struct latency_asked *l)
{
	const char *start = l->start.event.name;

	if (asprintf(&l->name, "%.27s%s%.27s", start, l->calls ? "" : "_to_",
		     l->calls ? "" : l->end.event.name) < 0)
		return message_error("out of memory");
	for (char *c = l->name; *c; c++)
		if (*c == '-')
			*c = '_';
	return COMMAND_DONE;
}

static bool points_are_same(const struct answer_point *a, const struct answer_point *b)
{
	return !strcmp(a->event.system, b->event.system) && !strcmp(a->event.name, b->event.name);
}

/* END of two words. */
static int latency_end(struct latency_asked *l)
{
	const struct answer *a = &l->answer;
	const char *word = a->words.v[0];
	const int status = answer_point_read(a, a->words.v[1], &l->end);

	if (status || !points_are_same(&l->start, &l->end))
		return status;
	if (!l->start.file)
		return command_usage(a->command, "the time from %s to the same event: give two",
				     word);
	if (!strcmp(l->start.file, l->end.file) && !strcmp(l->start.function, l->end.function))
		return command_usage(a->command, "from %s to the same place: give %s%%return, or "
				     "one", word, word);
	return command_usage(a->command, "%s and %s would have events of the same name", word,
			     a->words.v[1]);
}

/* "FILE:FUNCTION FILE:FUNCTION%return": the first one is no event, whatever the file's name is. */
static bool is_call_and_return(const struct words *w)
{
	const size_t len = strlen(w->v[0]);

	return w->nr > 1 && !strncmp(w->v[0], w->v[1], len) && !strcmp(w->v[1] + len, "%return");
}

/* Whether "SYSTEM.EVENT" may be a function's name, too. */
static bool may_be_function(const struct answer *a)
{
	return a->program && strchr(a->words.v[0], '.') && !strpbrk(a->words.v[0], ":/");
}

/* A word without END is a function, also one of a library that was taken for an event. */
static int latency_alone(struct latency_asked *l)
{
	const struct answer *a = &l->answer;
	const char *word = a->words.v[0];
	int status = COMMAND_DONE;

	if (!l->start.file && may_be_function(a)) {
		answer_point_free(&l->start);
		status = answer_point_function(a, word, &l->start);
		if (status)
			return message_error("if %s is an event: give the END, too", word);
	}
	if (!l->start.file || l->start.returns)
		return command_usage(a->command, "from %s to which END?", word);
	if (l->by)
		return command_usage(a->command, "--by is for START and END: each call of a "
				     "function is measured by itself");
	return answer_point_return(a, &l->start, &l->end);
}

static int latency_points(struct latency_asked *l)
{
	const struct answer *a = &l->answer;
	int status = (is_call_and_return(&a->words) ? answer_point_function : answer_point_read)
		(a, a->words.v[0], &l->start);

	if (status)
		return status;
	status = a->words.nr > 1 ? latency_end(l) : latency_alone(l);
	if (status)
		return status;
	l->calls = !l->by && l->start.file && l->end.file && !l->start.returns &&
		   l->end.returns && !strcmp(l->start.file, l->end.file) &&
		   !strcmp(l->start.function, l->end.function);
	if (a->recordings.nr && (l->start.file || l->end.file))
		return command_usage(a->command, "a recording has events only: functions are "
				     "probed in a program or a session");
	return latency_make_name(l);
}

static int number_read(const char *option, const char *text, unsigned long most,
		       unsigned long *out)
{
	char *end;

	*out = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || !*out || *out > most)
		return command_usage(&command_latency, "%s %s: a number from 1 to %lu", option,
				     text, most);
	return COMMAND_DONE;
}

/* Names of -e; the words are those of the command line. */
static int add_events(struct latency_asked *l, const char *list)
{
	struct words *to = &l->answer.run_options;

	return words_add(to, "-e") || words_add(to, list) ? message_error("out of memory")
							  : COMMAND_DONE;
}

static int latency_option(struct latency_asked *l, int opt, char **argv)
{
	unsigned long nr;
	int status = COMMAND_DONE;

	switch (opt) {
	case OPT_BY:
		l->by = optarg;
		break;
	case OPT_OVER:
		return answer_time(&l->answer, "--over", optarg, &l->flight.over);
	case OPT_BEFORE:
		return answer_time(&l->answer, "--before", optarg, &l->flight.before);
	case OPT_KEEP:
		status = number_read("--keep", optarg, FLIGHT_KEEP_MOST, &nr);
		l->flight.keep = (unsigned int)nr;
		break;
	case OPT_BUFFER_SIZE:
		l->buffer_size = optarg;
		return number_read("--buffer-size", optarg, 1ul << 30, &nr);
	case 'e':
		return add_events(l, optarg);
	case 'o':
		l->flight.file = optarg;
		break;
	default:
		return answer_option(&l->answer, opt, argv);
	}
	return status;
}

/* What waits, if nothing is named: a program's mallocs would push that out of the rings. */
static const char usual_events[] = "lock,thread,signal,syscalls";

enum { USUAL_KEEP = 10, USUAL_BEFORE_MS = 20 };

/* Completes what belongs to --over. */
static int latency_flight(struct latency_asked *l)
{
	struct flight_asked *f = &l->flight;
	struct answer *a = &l->answer;

	if (!f->over) {
		if (f->file || f->before || f->keep || l->buffer_size || a->run_options.nr)
			return command_usage(a->command, "-o, -e, --before, --keep and "
					     "--buffer-size are for --over TIME");
		return COMMAND_DONE;
	}
	if (a->session || a->recordings.nr)
		return command_usage(a->command, "--over is for -- PROGRAM");
	if (!f->file)
		return command_usage(a->command, "--over: give -o FILE");
	if (!f->before)
		f->before = USUAL_BEFORE_MS * 1000000ull;
	if (!f->keep)
		f->keep = USUAL_KEEP;
	a->flight = f;
	return a->run_options.nr ? COMMAND_DONE : add_events(l, usual_events);
}

static int latency_parse(struct latency_asked *l, int argc, char **argv)
{
	struct answer *a = &l->answer;
	int opt, status = COMMAND_DONE;

	argc = answer_begin(a, argc, argv);
	while (!status && (opt = getopt_long(argc, argv, ANSWER_SHORT "e:o:", long_options,
					     NULL)) != -1)
		status = latency_option(l, opt, argv);
	if (!status)
		status = answer_arguments(a, argc, argv);
	if (!status)
		status = latency_flight(l);
	if (status)
		return status;
	if (!a->words.nr)
		return command_usage(&command_latency, "from where to where?");
	if (a->words.nr > 2)
		return command_usage(&command_latency, "%s: there is no such file", a->words.v[2]);
	status = latency_points(l);
	l->flight.event = l->name;
	return status;
}

static int latency_run(int argc, char **argv)
{
	struct latency_asked l = { .answer = { .command = &command_latency,
					       .processes = true } };
	int status = latency_parse(&l, argc, argv);

	l.answer.own = &l;
	if (l.calls)
		l.answer.print = latency_print;
	if (!status)
		status = latency_lines(&l);
	if (!status)
		status = answer_run(&l.answer);
	answer_point_free(&l.start);
	answer_point_free(&l.end);
	answer_free(&l.answer);
	free(l.name);
	return status;
}

const struct command command_latency = {
	.name = "latency",
	.summary = "measure the time of a function, or from one event to another",
	.run = latency_run,
	.help =
"usage: tracefuse latency [options] FUNCTION -- PROGRAM ARGUMENTS...\n"
"       tracefuse latency [options] START END -- PROGRAM ARGUMENTS...\n"
"       tracefuse latency [options] START END RECORDING...\n"
"       tracefuse latency [options] -s SESSION START END\n"
"       tracefuse latency [options] -p PROCESS FUNCTION\n"
"\n"
"Draws how long each call of a function took, or how long it was from each START to\n"
"the END that belongs to it, in nanoseconds, with percentiles. START and END are each\n"
"\n"
"  SYSTEM:EVENT        an event\n"
"  FUNCTION            a function is entered: of the program, or of a library that it\n"
"                      needs; as it is, it need not be compiled for that. A name of\n"
"                      C++ or Rust may be that of the source: 'ns::f(int)'\n"
"  FUNCTION%return     it returns\n"
"  FILE:FUNCTION       of that file: ./part.so:parse, libz.so.1:deflate%return\n"
"\n"
"They belong together if they are of the same thread, or if the fields of --by have\n"
"the same value. A function's calls are each measured, also within each other.\n"
"\n"
"  tracefuse latency libz.so.1:deflate -- git gc\n"
"  tracefuse latency sched:sched_waking sched:sched_switch --by pid=next_pid trace.dat\n"
"  tracefuse latency put take%return --by '$arg1=$retval' -- ./queues\n"
"\n"
"      --by FIELD[=FIELD]  the field of START, and that of END if it has another name;\n"
"                          of a function: what a probe can fetch\n"
"      --if FILTER         only a START like this: 'prio < 100'\n"
"      --show              print the lines of ftrace that this stands for, and nothing\n"
"                          else\n"
"      --plain             the file hist as it is, instead of bars\n"
"      --over TIME         save a recording of what led to each latency above that:\n"
"                          2ms, 500us; with -o and a program\n"
"  -o, --output FILE       the longest one goes there, the next ones to FILE.1 ...:\n"
"                          slow.dat, slow.1.dat (for trace-cmd and replay)\n"
"      --before TIME       what was before START, too: 20ms\n"
"      --keep N            so many of the longest: 10\n"
"  -e, --event NAME,...    which events are recorded besides START and END, as in run\n"
"                          (repeatable): lock,thread,signal,syscalls\n"
"      --buffer-size KB    how much is recorded for each CPU\n"
"  -s, --session NAME      measure in a session that is there, until Ctrl-C\n"
"  -p, --pid PROCESS       measure in a process that runs (see tracefuse attach)\n"
"      --for SECONDS       with -s and -p: how long\n"
"  -q, --quiet             no summary of the program's session\n",
};
