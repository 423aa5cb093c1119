/* SPDX-License-Identifier: MIT */
/*
 * list.c - `tracefuse list`: what can be traced in a program, a session or a recording
 */
#include <elf.h>
#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/client.h"
#include "cli/list/list.h"
#include "cli/run/check.h"
#include "cli/run/libraries.h"
#include "host/pager.h"
#include "model/demangle/demangle.h"
#include "session/session.h"

void list_clean(char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			text[i] = '?';
}

bool list_wants(const struct list *l, const char *kind, const char *name)
{
	const char *readable = strcmp(kind, "function") ? NULL : demangle(l->names, name);
	char *full;
	bool wants;

	if (!l->pattern || !fnmatch(l->pattern, name, 0))
		return true;
	if (readable && !fnmatch(l->pattern, readable, 0))
		return true;
	if (asprintf(&full, "%s:%s", kind, name) < 0)
		return false;
	wants = !fnmatch(l->pattern, full, 0);
	free(full);
	return wants;
}

void list_count_line(struct list *l)
{
	if (l->heading && !l->summary)
		printf("%s:\n", l->heading);
	l->heading = NULL;
	l->printed++;
}

/* ---- What an argument means ---- */

static enum listed listed_file_kind(const char *path)
{
	char magic[SELFMAG] = "";
	struct stat st;
	FILE *f;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return LISTED_NOTHING;
	f = fopen(path, "r");
	if (!f || fread(magic, 1, SELFMAG, f) != SELFMAG)
		magic[0] = 0;
	if (f)
		fclose(f);
	if (!memcmp(magic, "#!", 2))
		return LISTED_SCRIPT;
	return memcmp(magic, ELFMAG, SELFMAG) ? LISTED_RECORDING : LISTED_PROGRAM;
}

static int is_session(void *arg, const char *name, const char *dir, bool alive)
{
	(void)dir;
	(void)alive;
	return !strcmp(name, arg);
}

enum listed list_kind(const char *name, char *path)
{
	enum listed is = listed_file_kind(name);
	struct run_check *c;

	snprintf(path, PATH_MAX, "%s", name);
	if (is != LISTED_NOTHING)
		return is;
	if (session_list(is_session, (void *)name))
		return LISTED_SESSION;
	c = calloc(1, sizeof(*c));
	if (c && !strchr(name, '/'))
		run_check(name, NULL, c);
	if (c && *c->path && !c->status) {
		snprintf(path, PATH_MAX, "%s", c->path);
		is = listed_file_kind(path);
	} else if (run_library_find(name, path)) {
		is = listed_file_kind(path);
	}
	free(c);
	return is;
}

/* ---- The command ---- */

static int session_reach(struct list *l, const char *name)
{
	struct access *a = client_connect_to(&command_list, name);
	int status;

	if (!a)
		return COMMAND_FAILED;
	status = list_session(l, a);
	access_close(a);
	return status;
}

/* A library that cannot be listed is passed over. */
static int list_library(void *arg, const char *name, const char *path)
{
	struct list *l = arg;

	(void)name;
	l->heading = path;
	list_program(l, path);
	l->heading = NULL;
	return 0;
}

/* What the program itself does not have may be in a library that it needs. */
static int list_program_or_libraries(struct list *l, const char *path)
{
	const int status = list_program(l, path);

	if (!status && l->pattern && !l->printed && !l->summary)
		run_libraries(path, list_library, l);
	return status;
}

static int list_what(struct list *l, const char *what)
{
	char path[PATH_MAX];

	switch (list_kind(what, path)) {
	case LISTED_PROGRAM:
		return list_program_or_libraries(l, path);
	case LISTED_SCRIPT:
		return message_error("list: %s is a script: list its interpreter", path);
	case LISTED_RECORDING:
		return list_recording(l, path);
	case LISTED_SESSION:
		return session_reach(l, what);
	default:
		break;
	}
	return message_error("list: there is no program, session or recording %s", what);
}

/* As names of the source are shown. */
static const char *list_pattern(char *text)
{
	demangle_shorten(text);
	return text;
}

/* One argument is a pattern if it can be nothing else. */
static bool is_pattern(const char *text)
{
	char path[PATH_MAX];

	return strpbrk(text, "*?[:") && list_kind(text, path) == LISTED_NOTHING;
}

static int list_parse(struct list *l, int argc, char **argv, const char **session)
{
	static const struct option options[] = {
		{ "verbose", no_argument, NULL, 'v' },
		{ "summary", no_argument, NULL, 'S' },
		{ "session", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	int opt;

	optind = 0;
	while ((opt = getopt_long(argc, argv, ":vs:", options, NULL)) != -1) {
		switch (opt) {
		case 'v':
			l->details = true;
			break;
		case 'S':
			l->summary = true;
			break;
		case 's':
			*session = optarg;
			break;
		case ':':
			return command_usage(&command_list, "%s needs an argument",
					     argv[optind - 1]);
		default:
			return command_unknown_option(&command_list, argv[optind - 1]);
		}
	}
	if (argc - optind > (*session ? 1 : 2))
		return command_usage(&command_list, "too many arguments");
	return COMMAND_DONE;
}

static int list_run(int argc, char **argv)
{
	const char *session = NULL, *what = NULL;
	struct list l = { .pattern = NULL };
	int status = list_parse(&l, argc, argv, &session);

	if (status)
		return status;
	if (argc - optind == 2 || (optind < argc && (session || is_pattern(argv[optind]))))
		l.pattern = list_pattern(argv[optind++]);
	if (optind < argc)
		what = argv[optind];
	pager_begin();
	l.names = demangler_create();
	status = what ? list_what(&l, what) : session_reach(&l, session);
	demangler_destroy(l.names);
	if (!status && !l.printed && l.pattern)
		return message_error("list: nothing has a name like %s", l.pattern);
	return status;
}

const struct command command_list = {
	.name = "list",
	.summary = "list what can be traced: functions, USDT probes, events",
	.run = list_run,
	.help =
"usage: tracefuse list [OPTIONS] [PATTERN] [PROGRAM | SESSION | RECORDING]\n"
"\n"
"Of a program or a library (a file, a name on $PATH, or the name of a library, as\n"
"libc.so.6) it lists the functions and the USDT probes that its author has put in,\n"
"and how each can be probed, or why not: see docs/probes.md. Then it lists the events\n"
"that the file defines, and those that every program has if a PATTERN names them:\n"
"'heap:*'. If the program has nothing that PATTERN means, the libraries that it needs\n"
"are listed. The program is not run. Of a session or a recording it lists the events.\n"
"Each line is KIND:NAME, where KIND is function, usdt or event.\n"
"\n"
"PATTERN has * ? [ ] as in file names, and means NAME or KIND:NAME: 'usdt:*'. A\n"
"function of C++ or Rust is meant by its name in the source, too: 'ns::Table::*'.\n"
"\n"
"  -v, --verbose       with addresses, the instructions that make room for a probe,\n"
"                      arguments of USDT probes, fields of events, and the parts\n"
"                      of functions that the compiler has split off\n"
"  --summary           only how many there are of each kind\n"
"  -s, --session NAME  a session; without it and without any other argument\n"
"                      $TRACEFUSE_SESSION, else the only one there is\n",
};
