/* SPDX-License-Identifier: MIT */
/*
 * main.c - `tracefuse COMMAND ...`: finds the command and runs it
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "host/pager.h"
#include "host/terminal.h"
#include "server/nearest.h"
#include "server/server.h"
#include "cli/version.h"

/* The order is that of the list that `tracefuse --help` prints. */
static const struct command *const commands[] = {
	&command_run,
	&command_attach,
	&command_live,
	&command_replay,
	&command_hist,
	&command_latency,
	&command_report,
	&command_top,
	&command_syscalls,
	&command_heap,
	&command_locks,
	&command_mount,
	&command_umount,
	&command_dir,
	&command_ls,
	&command_cat,
	&command_write,
	&command_append,
	&command_paste,
	&command_save,
	&command_export,
	&command_web,
	&command_list,
	&command_explain,
	&command_shell,
	&command_sessions,
	&command_doctor,
	&command_reset,
	NULL,
};

static void print_help(FILE *out)
{
	fprintf(out, "usage: tracefuse [--no-pager] COMMAND [ARGUMENTS]\n\n"
		     "The files of the kernel's tracing directory, its trigger language and its "
		     "output,\n"
		     "for programs and recorded traces, and without the kernel.\n\n");
	for (const struct command *const *c = commands; *c; c++)
		fprintf(out, "  %-10s %s\n", (*c)->name, (*c)->summary);
	fprintf(out,
		"\n'tracefuse COMMAND --help' explains a command; --version prints the version.\n"
		"Start with: tracefuse run -e heap --cat trace PROGRAM\n"
		"        or: tracefuse replay -e sched --cat trace RECORDING\n");
}

static const struct command *find_command(const char *name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

/* Whether --help comes before "--". */
static int asks_for_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return 1;
	return 0;
}

/*
 * Opens stdin, stdout and stderr if they are closed, so that no other file gets their numbers. To
 * read and to write them fails as if they were closed, and programs find them closed.
 */
static void reserve_standard(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/", O_PATH | O_CLOEXEC);
}

static int main_finish(int status)
{
	int printed = message_flush();

	pager_end();
	if (pager_failed())
		printed = COMMAND_FAILED;
	/* Some file systems report errors only at close. */
	if (!printed && close(STDOUT_FILENO))
		printed = message_error("cannot write: %s", strerror(errno));
	return status == COMMAND_DONE ? printed : status;
}

/* Commands of other tools, and what does the same here. */
static const char *same_here(const char *name)
{
	static const char *const same[][2] = {
		{ "record", "run -o FILE -e EVENT -- PROGRAM" },
		{ "start", "run --session NAME -e EVENT -- PROGRAM" },
		{ "extract", "save FILE" },
		{ "show", "cat trace" },
		{ "stat", "sessions, or doctor" },
		{ "stream", "cat trace_pipe" },
		{ "trace", "run -e EVENT --cat trace -- PROGRAM" },
		{ "graph", "run --graph -- PROGRAM" },
		{ "tui", "report --graph" },
		{ "stop", "write tracing_on 0" },
		{ "restart", "write tracing_on 1" },
		{ "clear", "write trace ''" },
		{ "snapshot", "cat snapshot" },
		{ "stack", "run --boot=stacktrace --cat stack_trace -- PROGRAM" },
		{ "profile", "report -- PROGRAM" },
		{ "script", "cat trace" },
		{ "dump", "cat trace" },
		{ "strace", "syscalls -- PROGRAM" },
		{ "lock", "locks -- PROGRAM" },
		{ "kmem", "heap -- PROGRAM" },
	};

	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		if (!strcmp(same[i][0], name))
			return same[i][1];
	return NULL;
}

static int refuse_command(const char *name)
{
	const char *same = same_here(name);
	char names[512] = "", near[128];

	for (const struct command *const *c = commands; *c; c++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s\n", (*c)->name);
	nearest_names(name, names, near, sizeof(near));
	fprintf(stderr, "tracefuse: there is no command '%s'", name);
	if (same)
		fprintf(stderr, ": write tracefuse %s", same);
	else if (strchr(name, '/'))
		fprintf(stderr, ": write tracefuse run -- %s", name);
	else if (*near)
		fprintf(stderr, " (there is %s)", near);
	fputs("\nTry 'tracefuse --help'.\n", stderr);
	return COMMAND_USAGE;
}

int main(int argc, char **argv)
{
	const struct command *cmd;

	server_keep_libraries();
	reserve_standard();
	terminal_guard();
	if (argc > 1 && !strcmp(argv[1], "--no-pager")) {
		argc--;
		argv++;
	} else {
		pager_allow();
	}
	if (argc < 2) {
		print_help(stderr);
		return COMMAND_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		cmd = argc > 2 ? find_command(argv[2]) : NULL;
		if (cmd)
			fputs(cmd->help, stdout);
		else
			print_help(stdout);
		return main_finish(COMMAND_DONE);
	}
	if (!strcmp(argv[1], "--version")) {
		printf("tracefuse %s\n", TRACEFUSE_VERSION);
		return main_finish(COMMAND_DONE);
	}
	cmd = find_command(argv[1]);
	if (!cmd)
		return refuse_command(argv[1]);
	if (asks_for_help(argc - 1, argv + 1)) {
		fputs(cmd->help, stdout);
		return main_finish(COMMAND_DONE);
	}
	return main_finish(cmd->run(argc - 1, argv + 1));
}
