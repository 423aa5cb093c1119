/* SPDX-License-Identifier: MIT */
/*
 * report.c - `tracefuse report`: which functions of a program take its time; `tracefuse top`: the
 * same while it runs
 *
 *     program, session   function_profile_enabled 2 -> trace_stat/functions -> a table
 *     recording          function_graph -> trace -> a table
 *     any with --graph   function_graph -> trace -> a tree (answer/graph.h)
 *
 * The counts of a program are made while it runs: nothing is recorded, so nothing is lost. The tree
 * needs records.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access/access.h"
#include "access/wire.h"
#include "cli/answer/answer.h"
#include "cli/answer/calls.h"
#include "cli/answer/graph.h"
#include "cli/run/check.h"
#include "cli/client.h"
#include "cli/draw/table.h"

enum { COLUMN_CALLS, COLUMN_TOTAL, COLUMN_SELF, COLUMN_AVG, COLUMN_P50, COLUMN_P99, COLUMN_MAX,
       COLUMN_FUNCTION, COLUMNS };

static const struct table_column columns[COLUMNS] = {
	{ "calls", TABLE_COUNT }, { "total", TABLE_TIME }, { "self", TABLE_TIME },
	{ "avg", TABLE_TIME }, { "p50", TABLE_TIME }, { "p99", TABLE_TIME },
	{ "max", TABLE_TIME }, { "function", TABLE_TEXT },
};

static const char profile_file[] = "trace_stat/functions";
static const char profile_switch[] = "function_profile_enabled";

enum { PROCESSES_SAID = 4 };		/* the reasons of many would hide the table */

enum { OPT_EVERY = ANSWER_OWN, OPT_GRAPH, OPT_DEPTH, OPT_MIN, OPT_BUFFER_SIZE };

static const struct option long_options[] = {
	ANSWER_TABLE_OPTIONS,
	{ "graph", no_argument, NULL, OPT_GRAPH },
	{ "depth", required_argument, NULL, OPT_DEPTH },
	{ "min", required_argument, NULL, OPT_MIN },
	{ "buffer-size", required_argument, NULL, OPT_BUFFER_SIZE },
	ANSWER_PROCESS,
	{ NULL, 0, NULL, 0 },
};

/* ---- the table ---- */

/* A line of trace_stat/functions: seven numbers and a name. 0, -ENOMEM */
static int add_function(struct table *t, char *line)
{
	double numbers[COLUMN_FUNCTION];
	struct table_row *r;
	char *end = line;

	for (unsigned int i = 0; i < COLUMN_FUNCTION; i++) {
		line = end + strspn(end, " ");
		numbers[i] = *line == '-' ? -1 : (double)strtoull(line, &end, 10);
		end = *line == '-' ? line + 1 : end;
	}
	r = table_add(t);
	if (!r)
		return -1;
	for (unsigned int i = 0; i < COLUMN_FUNCTION; i++)
		r->cell[i].number = numbers[i];
	r->cell[COLUMN_FUNCTION].text = strdup(end + strspn(end, " "));
	return r->cell[COLUMN_FUNCTION].text ? 0 : -1;
}

static const char no_room[] = "# No room: ";

static int read_functions(struct table *t, char *text, unsigned long long *dropped)
{
	char *line;
	int err = 0;

	while (!err && (line = strsep(&text, "\n"))) {
		if (!strncmp(line, no_room, strlen(no_room)))
			*dropped = strtoull(line + strlen(no_room), NULL, 10);
		else if (*line && *line != '#')
			err = add_function(t, line);
	}
	return err;
}

/*
 * Which functions processes of the session leave out. The value is "PID sites N skipped N on N
 * error ERRNO[ late][; N REASON[ (NAMES)]]...".
 */
static void say_processes(const struct answer *a, const char *info)
{
	char value[1024];
	unsigned int said = 0, more = 0;

	for (unsigned int i = 0; client_info(info, "answer", i, value, sizeof(value)); i++) {
		const char *why = strchr(value, ';');

		if (why && said++ < PROCESSES_SAID)
			message_error("functions of process %d that are not or only partly in the "
				      "table:%s", atoi(value), why + 1);
		else if (why)
			more++;
	}
	if (more)
		message_error("so are functions of %u other %s: `tracefuse doctor %s`", more,
			      more == 1 ? "process" : "processes", a->session);
}

/* `run` has said why. */
static bool ran_untraced(const struct answer *a)
{
	struct run_check check;

	if (!a->program)
		return false;
	run_check(a->program[0], getenv("LD_PRELOAD"), &check);
	return !check.status && *check.untraced;
}

/* Why a table is empty. Where returns are left alone, the session's own sentence says it. */
static void report_say_none(const struct answer *a, const char *info)
{
	static const char about[] = "functions: return addresses were left alone";
	char note[512];

	if (ran_untraced(a))
		return;
	for (unsigned int i = 0; client_info(info, "note", i, note, sizeof(note)); i++)
		if (!strncmp(note, about, sizeof(about) - 1)) {
			message_error("no call was counted: %s", note + strlen("functions: "));
			return;
		}
	if (a->program && !client_info(info, "sites", 0, note, sizeof(note)))
		message_error("%s has no functions that can be traced: `tracefuse list --summary "
			      "%s` says why", a->program[0], a->program[0]);
	else
		message_error("no function was called that is traced (see `tracefuse list "
			      "PROGRAM`, and `tracefuse doctor`)");
}

/* A program that is killed leaves functions that it is in. */
static void report_say_unknown(const struct table *t)
{
	size_t nr = 0;

	for (size_t i = 0; i < t->nr; i++)
		nr += t->rows[i].cell[COLUMN_TOTAL].number < 0;
	if (nr)
		message_error("%zu %s been called and %s returned: %s", nr,
			      nr == 1 ? "function has" : "functions have",
			      nr == 1 ? "has not" : "have not",
			      nr == 1 ? "its time is not known" : "their times are not known");
}

static void report_say(const struct answer *a, struct access *access, bool none)
{
	char *info;

	if (access_request(access, WIRE_INFO, "", -1, &info) < 0)
		return;
	if (a->session && !a->every && !a->quiet && (none || !a->words.nr))
		say_processes(a, info);
	if ((a->session || !client_say_lost(info, NULL)) && none)
		report_say_none(a, info);
	/* All were asked for. */
	if (!a->words.nr && !a->quiet && a->every <= 0)
		client_say_untraced(info, "in the table");
	free(info);
}

static int report_print(const struct answer *a, struct access *access)
{
	struct table t = { .columns = columns, .nr_columns = COLUMNS };
	unsigned long long dropped = 0;
	char *text;
	size_t len;
	int ret = access_read_all(access, profile_file, &text, &len);

	if (ret)
		return message_error("%s: %s", profile_file, strerror(-ret));
	ret = read_functions(&t, text, &dropped);
	free(text);
	if (ret) {
		table_free(&t);
		return message_error("out of memory");
	}
	if (dropped)
		message_error("%llu calls and returns found no room, and are not in the table: "
			      "name fewer functions", dropped);
	report_say_unknown(&t);
	report_say(a, access, !t.nr);
	return answer_table_print(a, &t, "total");
}

/* ---- of a recording ---- */

struct recorded {
	struct table	table;
	size_t		left, open, backward;
};

static int add_recorded(void *arg, const struct calls_sum *s)
{
	struct recorded *all = arg;
	struct table_row *r = table_add(&all->table);

	if (!r)
		return -ENOMEM;
	all->left += s->left;
	all->open += s->open;
	all->backward += s->backward;
	r->cell[COLUMN_CALLS].number = (double)s->calls;
	r->cell[COLUMN_TOTAL].number = s->total;
	r->cell[COLUMN_SELF].number = s->self;
	r->cell[COLUMN_AVG].number = s->sum / (double)s->calls;
	r->cell[COLUMN_P50].number = s->p50;
	r->cell[COLUMN_P99].number = s->p99;
	r->cell[COLUMN_MAX].number = s->longest;
	r->cell[COLUMN_FUNCTION].text = strdup(s->name);
	return r->cell[COLUMN_FUNCTION].text ? 0 : -ENOMEM;
}

static int recorded_print(const struct answer *a, struct access *access)
{
	struct recorded all = { .table = { .columns = columns, .nr_columns = COLUMNS } };
	char *text;
	size_t len;
	bool lost;
	int ret = graph_read(a, access, &text, &len);

	if (ret)
		return message_error("%s: %s", a->file, strerror(-ret));
	lost = graph_has_lost(text);
	ret = calls_each(text, add_recorded, &all);
	free(text);
	if (!ret && !all.table.nr)
		message_error("the recording has no calls of function_graph");
	graph_say_ends(all.left, all.open, lost);
	graph_say_backward(all.backward);
	if (!ret)
		return answer_table_print(a, &all.table, "total");
	table_free(&all.table);
	return message_error("out of memory");
}

/* ---- the lines ---- */

/* The filter, as `run --function` writes it: what is a demangled name is quoted for ftrace. */
static int add_pattern(struct answer *a, bool graph, const char *pattern)
{
	const bool quote = *pattern != '"' && (strstr(pattern, "::") || strpbrk(pattern, " (<"));
	const char *name = "set_ftrace_filter";
	char *file = graph ? graph_file(a, name) : strdup(name), *text;
	int err = asprintf(&text, "%s%s%s", quote ? "\"" : "", pattern, quote ? "\"" : "") < 0;

	if (err)
		text = NULL;
	err = err || !file ? -1 : answer_line(a, file, text);
	free(file);
	free(text);
	return err;
}

/* Of a recording, it is the calls that are counted. */
static int report_lines(struct answer *a, const struct graph_asked *g)
{
	const bool graph = g->on || a->recordings.nr;
	/* In a session, functions that are named are chosen in an instance of its own. */
	const bool own = graph || (a->session && a->words.nr);
	int err = 0;

	a->own = g;
	if (g->on) {
		a->print = graph_print;
		a->may = graph_may;
		err = graph_begin(a);
	} else if (graph) {
		a->print = recorded_print;
	} else if (own) {
		err = graph_apart(a);
	}
	for (unsigned int i = 0; !err && i < a->words.nr; i++)
		err = add_pattern(a, own, a->words.v[i]);
	if (!err && graph)
		err = graph_lines(a);
	else if (!err && own)
		err = graph_echo(a, "2", "function_profile_here", "0");
	else if (!err)
		err = answer_text(a, "echo 2 > function_profile_enabled\n",
				  "echo 0 > function_profile_enabled\n");
	a->file = graph ? graph_file(a, "trace") : strdup(profile_file);
	return err || !a->file ? message_error("out of memory") : COMMAND_DONE;
}

/* The profile that somebody has begun there stays as it is. */
static int report_may(const struct answer *a, struct access *access)
{
	char *text;
	size_t len;
	int ret = access_read_all(access, profile_switch, &text, &len);
	bool on;

	if (ret == -ENOENT)
		return message_error("%s: session %s has no functions", a->command->name,
				     a->session);
	if (ret)
		return message_error("function_profile_enabled: %s", strerror(-ret));
	on = *text != '0';
	free(text);
	if (on)
		return message_error("%s: the function profile of session %s is on already: "
				     "`tracefuse cat -s %s %s`", a->command->name, a->session,
				     a->session, profile_file);
	return a->words.nr ? graph_may(a, access) : COMMAND_DONE;
}

static const struct option top_options[] = {
	ANSWER_TABLE_OPTIONS,
	{ "every", required_argument, NULL, OPT_EVERY },
	ANSWER_PROCESS,
	{ NULL, 0, NULL, 0 },
};

static int read_every(struct answer *a)
{
	uint64_t ns = 0;
	const int status = answer_seconds(a, "--every", optarg, &ns);

	a->every = (double)ns / 1e9;
	return status || (a->every >= 0.05 && a->every <= 86400) ? status :
	       command_usage(a->command, "--every %s: from 0.05 seconds to a day", optarg);
}

static int report_option(struct answer *a, struct graph_asked *g, int opt, char **argv)
{
	switch (opt) {
	case OPT_EVERY:
		return read_every(a);
	case OPT_GRAPH:
		g->on = true;
		return COMMAND_DONE;
	case OPT_DEPTH:
		g->depth_text = optarg;
		return COMMAND_DONE;
	case OPT_MIN:
		g->min_text = optarg;
		return COMMAND_DONE;
	case OPT_BUFFER_SIZE:
		g->buffer_size = optarg;
		return COMMAND_DONE;
	default:
		return answer_option(a, opt, argv);
	}
}

static int report_parse(struct answer *a, struct graph_asked *g, const struct option *options,
			int argc, char **argv)
{
	const struct table t = { .columns = columns, .nr_columns = COLUMNS };
	int opt, status = COMMAND_DONE;

	argc = answer_begin(a, argc, argv);
	while (!status && (opt = getopt_long(argc, argv, ANSWER_SHORT, options, NULL)) != -1)
		status = report_option(a, g, opt, argv);
	if (!status)
		status = answer_arguments(a, argc, argv);
	if (!status)
		status = graph_check(a, g);
	return status || g->on ? status : answer_table_check(a, &t);
}

static int report_answer(struct answer *a, const struct graph_asked *g, int status)
{
	if (!status)
		status = report_lines(a, g);
	if (!status)
		status = answer_run(a);
	answer_free(a);
	return status;
}

static int report_run(int argc, char **argv)
{
	struct answer a = { .command = &command_report, .print = report_print,
			    .may = report_may, .processes = true };
	struct graph_asked g = { .on = false };

	return report_answer(&a, &g, report_parse(&a, &g, long_options, argc, argv));
}

static int top_run(int argc, char **argv)
{
	struct answer a = { .command = &command_top, .print = report_print, .may = report_may,
			    .targets = "-s SESSION or -p PROCESS", .every = 2,
			    .processes = true };
	struct graph_asked g = { .on = false };
	int status = report_parse(&a, &g, top_options, argc, argv);

	if (!status && !a.session && !a.show)
		status = command_usage(&command_top, "of which session? Give -s SESSION or "
				       "-p PROCESS");
	return report_answer(&a, &g, status);
}

const struct command command_report = {
	.name = "report",
	.summary = "which functions of a program take its time",
	.run = report_run,
	.help =
"usage: tracefuse report [options] [FUNCTION...] -- PROGRAM ARGUMENTS...\n"
"       tracefuse report [options] [FUNCTION...] RECORDING...\n"
"       tracefuse report [options] -s SESSION [FUNCTION...]\n"
"       tracefuse report [options] -p PROCESS [FUNCTION...]\n"
"\n"
"Prints each function that was called, with the number of calls, their time together\n"
"(total), the same without the functions that they called (self), the average, the\n"
"median (p50), the time that 99 % of the calls do not exceed (p99), and the longest one.\n"
"It counts all functions of the program, or those that match: 'parse_*', 'ns::Table::*',\n"
"'*:mod:libz.so*'. A percentile is exact to 9 %. A call that a function makes of itself\n"
"is part of the outer one in its total. How many functions cannot be traced is said.\n"
"In a session and of a process that runs it counts until Ctrl-C. Of a recording it takes\n"
"the calls of function_graph.\n"
"\n"
"      --graph             the tree of calls: under each function those that it has\n"
"                          called, each with its part (%) of all the time. The calls\n"
"                          are recorded; what found no room is said\n"
"      --depth N           with --graph: only so deep\n"
"      --min PERCENT       with --graph: only what has at least that part: 0.5\n"
"      --buffer-size SIZE  with --graph: the buffer of each CPU: 64M\n"
"      --sort COLUMN       the order: total (default), self, calls, avg, p99, max ...\n"
"      --lines N           only the first N functions\n"
"      --show              print the lines of ftrace that this stands for, and nothing\n"
"                          else\n"
"      --plain             the file trace_stat/functions as it is, in ns; of a\n"
"                          recording and with --graph, trace\n"
"  -s, --session NAME      count in a session that is there\n"
"  -p, --pid PROCESS       count in a process that runs (see tracefuse attach)\n"
"      --for SECONDS       with -s and -p: how long\n"
"  -q, --quiet             no summary of the program's session\n",
};

const struct command command_top = {
	.name = "top",
	.summary = "the functions of a session's programs, while they run",
	.run = top_run,
	.help =
"usage: tracefuse top [options] -s SESSION [FUNCTION...]\n"
"       tracefuse top [options] -p PROCESS [FUNCTION...]\n"
"\n"
"Prints the table of `tracefuse report` again and again, since its begin, until q or\n"
"Ctrl-C. On a terminal it has as many functions as there is room for; else the tables\n"
"follow one another.\n"
"\n"
"  -s, --session NAME      the session\n"
"  -p, --pid PROCESS       a process that runs (see tracefuse attach)\n"
"      --every TIME        from one table to the next, 5 or 500ms: 2 if nothing is given\n"
"      --for SECONDS       how long\n"
"      --sort COLUMN       the order: total (default), self, calls, avg, p99, max ...\n"
"      --lines N           only the first N functions\n"
"      --show              print the lines of ftrace that this stands for, and nothing\n"
"                          else\n"
"      --plain             the file trace_stat/functions as it is, in ns\n"
"  -q, --quiet             as of report: nothing changes here\n",
};
