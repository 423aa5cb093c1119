/* SPDX-License-Identifier: MIT */
/*
 * syscalls.c - `tracefuse syscalls`: the system calls of a program, and how long they take
 *
 *     sys_enter_X, sys_exit_X of one thread -> synthetic event syscall_return -> its histograms
 *                                                                             -> a table
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer/answer.h"
#include "cli/draw/table.h"
#include "cli/draw/tally.h"
#include "model/text_memory.h"
#include "sources/program/programs.h"

enum { COLUMN_CALLS, COLUMN_ERRORS, COLUMN_TOTAL, COLUMN_AVG, COLUMN_P99, COLUMN_MAX, COLUMN_CALL,
       COLUMNS };

static const struct table_column columns[COLUMNS] = {
	{ "calls", TABLE_COUNT }, { "errors", TABLE_COUNT }, { "total", TABLE_TIME },
	{ "avg", TABLE_TIME }, { "p99", TABLE_TIME }, { "max", TABLE_TIME },
	{ "syscall", TABLE_TEXT },
};


static const struct option long_options[] = {
	ANSWER_TABLE_OPTIONS,
	{ NULL, 0, NULL, 0 },
};

/* ---- the table ---- */

/* "sys_openat" */
static int add_call(struct table *t, const struct tally_row *r)
{
	struct table_row *to = table_add(t);
	char *name = to ? tally_key_text(r, 0) : NULL;

	if (!name)
		return -1;
	if (!strncmp(name, "sys_", 4))
		memmove(name, name + 4, strlen(name + 4) + 1);
	to->cell[COLUMN_CALLS].number = r->hits;
	to->cell[COLUMN_ERRORS].number = r->special;
	to->cell[COLUMN_TOTAL].number = r->sum;
	to->cell[COLUMN_AVG].number = r->hits ? r->sum / r->hits : 0;
	to->cell[COLUMN_P99].number = r->p99;
	to->cell[COLUMN_MAX].number = r->longest;
	to->cell[COLUMN_CALL].text = name;
	return 0;
}

static int syscalls_print(const struct answer *a, struct access *access)
{
	struct table t = { .columns = columns, .nr_columns = COLUMNS };
	json_t *hists = tally_open(access, a->file);
	struct tally calls;
	int err;

	if (!hists)
		return COMMAND_FAILED;
	err = tally_read(hists, 0, true, &calls);
	for (size_t i = 0; !err && i < calls.nr; i++)
		err = add_call(&t, &calls.v[i]);
	if (!err && !calls.nr && !calls.dropped)
		message_error("no system call returned%s", a->session ?
			      "; of a program that runs already, only those are seen that it "
			      "makes by libc's functions for them" : "");
	tally_say_dropped(calls.dropped, "calls");
	tally_free(&calls);
	json_decref(hists);
	if (!err)
		return answer_table_print(a, &t, "total");
	table_free(&t);
	return message_error("out of memory");
}

/* ---- the lines ---- */

/* The kernel's name of a call that manual pages name otherwise. */
static const char *kernels_name(const char *name)
{
	static const char *const others[][2] = {
		{ "stat", "newstat" }, { "fstat", "newfstat" }, { "lstat", "newlstat" },
		{ "uname", "newuname" }, { "sendfile", "sendfile64" }, { "umount2", "umount" },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(others[i][0], name))
			return others[i][1];
	return name;
}

static bool is_call(const char *name)
{
	const char *call;

	for (unsigned int i = 0; (call = programs_system_call(i)); i++)
		if (!strcmp(call, name))
			return true;
	return false;
}

/* The head of a loop over all calls, or over those that were named. */
static void print_for(const struct answer *a, FILE *out)
{
	const char *call;

	fputs("for c in", out);
	for (unsigned int i = 0; i < a->words.nr; i++)
		fprintf(out, " %s", a->words.v[i]);
	for (unsigned int i = 0; !a->words.nr && (call = programs_system_call(i)); i++)
		fprintf(out, " %s", call);
	fputs("; do\n", out);
}

static void print_enter(const char *in, const char *not, FILE *out)
{
	fprintf(out, "echo '%shist:keys=common_pid:syscall_begin=common_timestamp' "
		">> %sevents/syscalls/sys_enter_$c/trigger\n", not, in);
}

static void print_exit(const char *in, const char *not, FILE *out)
{
	fprintf(out, "echo '%shist:keys=common_pid:syscall_ns=common_timestamp-$syscall_begin:"
		"onmatch(syscalls.sys_enter_'$c').syscall_return(__syscall_nr,ret,$syscall_ns)' "
		">> %sevents/syscalls/sys_exit_$c/trigger\n", not, in);
}

/* What was defined last is undone first. */
static void print_loop(const struct answer *a, bool undo, FILE *out)
{
	const char *in = a->apart ? a->apart : "";

	print_for(a, out);
	if (undo)
		print_exit(in, "!", out);
	print_enter(in, undo ? "!" : "", out);
	if (!undo)
		print_exit(in, "", out);
	fputs("done\n", out);
}

static char *loop_text(const struct answer *a, bool undo)
{
	char *text = NULL;
	size_t size;
	FILE *out = text_memory_open(&text, &size);

	if (!out)
		return NULL;
	print_loop(a, undo, out);
	return fclose(out) ? NULL : text;
}

static int add_loop(struct answer *a)
{
	char *lines = loop_text(a, false), *undo = loop_text(a, true);
	int err = lines && undo ? answer_text(a, lines, undo) : -1;

	free(lines);
	free(undo);
	return err;
}

static int syscalls_lines(struct answer *a)
{
	static const struct answer_event event = {
		.system = (char *)"synthetic", .name = (char *)"syscall_return",
	};
	static const char *const triggers[] = {
		"hist:keys=id.syscall:vals=ns:most=ns:onmax($most).save(ret)",
		"hist:keys=id.syscall,ns.exp=3:size=16384:pct=99.0",
		"hist:keys=id.syscall if ret < 0",
	};
	int err = answer_line_undone(a, "synthetic_events",
				     "syscall_return int id; long ret; u64 ns",
				     "!syscall_return");

	if (!err)
		err = answer_apart(a, NULL);
	if (!err)
		err = add_loop(a);
	for (size_t i = 0; !err && i < sizeof(triggers) / sizeof(*triggers); i++)
		err = answer_trigger(a, &event, triggers[i]);
	a->file = answer_event_file(a, event.system, event.name, "hist");
	return err || !a->file ? message_error("out of memory") : COMMAND_DONE;
}

static int syscalls_parse(struct answer *a, int argc, char **argv)
{
	const struct table t = { .columns = columns, .nr_columns = COLUMNS };
	int status = answer_parse(a, long_options, argc, argv);

	if (!status)
		status = answer_no_recording(a);
	for (unsigned int i = 0; !status && i < a->words.nr; i++) {
		a->words.v[i] = kernels_name(a->words.v[i]);
		if (!is_call(a->words.v[i]))
			status = command_usage(a->command, "there is no system call %s",
					       a->words.v[i]);
	}
	return status ? status : answer_table_check(a, &t);
}

static int syscalls_run(int argc, char **argv)
{
	struct answer a = { .command = &command_syscalls, .print = syscalls_print,
			    .targets = answer_no_recordings };

	return answer_make(&a, syscalls_parse(&a, argc, argv), syscalls_lines);
}

const struct command command_syscalls = {
	.name = "syscalls",
	.summary = "count a program's system calls, and how long they take",
	.run = syscalls_run,
	.help =
"usage: tracefuse syscalls [options] [CALL...] -- PROGRAM ARGUMENTS...\n"
"       tracefuse syscalls [options] -s SESSION [CALL...]\n"
"\n"
"Prints each system call of the program and of its children, as strace -c -f: how often\n"
"it returned, how often with an error, the time together (total), the average, the time\n"
"that 99 % of the calls do not exceed (p99, exact to 9 %), and the longest. With CALL it\n"
"counts only these: openat read. Calls have the names of their events: newuname; the\n"
"names of manual pages are known, too: uname. In a session it counts until Ctrl-C.\n"
"\n"
"      --sort COLUMN       the order: total (default), calls, errors, avg, p99, max ...\n"
"      --lines N           only the first N calls\n"
"      --show              print the lines of ftrace that this stands for, and nothing\n"
"                          else\n"
"      --plain             the file hist as it is\n"
"  -s, --session NAME      count in a session that is there\n"
"      --for SECONDS       with -s: how long\n"
"  -q, --quiet             no summary of the program's session\n",
};
