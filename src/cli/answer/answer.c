/* SPDX-License-Identifier: MIT */
/* answer.c - see answer.h */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/answer/answer.h"
#include "cli/answer/session.h"
#include "cli/attach/attach.h"
#include "cli/draw/table.h"
#include "cli/event_names.h"
#include "cli/results.h"
#include "cli/run/flight.h"
#include "model/text_memory.h"

const char answer_no_recordings[] = "-- PROGRAM, or -s SESSION";

/* ---- the command line ---- */

static int read_lines(struct answer *a)
{
	char *end;
	const unsigned long n = strtoul(optarg, &end, 10);

	if (*optarg < '0' || *optarg > '9' || *end || n > 1000000000)
		return command_usage(a->command, "--lines %s: a number of lines", optarg);
	a->nr_lines = (unsigned int)n;
	return COMMAND_DONE;
}

int answer_time(const struct answer *a, const char *option, const char *text, uint64_t *out)
{
	static const struct {
		const char	*name;
		double		ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	char *end;
	const double v = strtod(text, &end);

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (end > text && !strcmp(end, units[i].name) && v * units[i].ns >= 1 &&
		    v * units[i].ns < 1e18) {
			*out = (uint64_t)(v * units[i].ns);
			return COMMAND_DONE;
		}
	return command_usage(a->command, "%s %s: a time is written 2ms, 500us or 1.5s", option,
			     text);
}

int answer_seconds(const struct answer *a, const char *option, const char *text, uint64_t *out)
{
	char *end;
	const double v = strtod(text, &end);

	if (*end)
		return answer_time(a, option, text, out);
	if (end == text || !(v > 0) || v > 1e9)
		return command_usage(a->command, "%s %s: a number of seconds", option, text);
	*out = (uint64_t)(v * 1e9);
	return COMMAND_DONE;
}

int answer_option(struct answer *a, int opt, char **argv)
{
	switch (opt) {
	case 's':
		a->session = optarg;
		return COMMAND_DONE;
	case 'p':
		a->process = optarg;
		return COMMAND_DONE;
	case 'q':
		a->quiet = true;
		return COMMAND_DONE;
	case ANSWER_SHOW:
		a->show = true;
		return COMMAND_DONE;
	case ANSWER_PLAIN:
		a->plain = true;
		return COMMAND_DONE;
	case ANSWER_IF:
		a->condition = optarg;
		return COMMAND_DONE;
	case ANSWER_FOR:
		a->seconds = optarg;
		return COMMAND_DONE;
	case ANSWER_SORT:
		a->sort = optarg;
		return COMMAND_DONE;
	case ANSWER_LINES:
		return read_lines(a);
	case ':':
		return command_usage(a->command, "%s needs an argument", argv[optind - 1]);
	default:
		return command_unknown_option(a->command, argv[optind - 1]);
	}
}

static bool is_file(const char *name)
{
	struct stat st;

	return !stat(name, &st) && S_ISREG(st.st_mode);
}

/* Nothing is there to be counted. The name of a recording may be wrong. */
static int refuse_none(const struct answer *a)
{
	const char *last = a->words.nr ? a->words.v[a->words.nr - 1] : "";
	const size_t len = strlen(last);

	if (len > 4 && !strcmp(last + len - 4, ".dat"))
		return command_usage(a->command, "%s: there is no such recording", last);
	return command_usage(a->command, "of what? Give %s", a->targets ? a->targets :
			     "-- PROGRAM, a recording, or -s SESSION");
}

/* A process that runs already, in the session that it has or gets. */
static int answer_process(struct answer *a)
{
	pid_t pid;

	if (!a->processes)
		return command_usage(a->command, "-p: a process that is attached has functions and "
				     "no events: begin it with -- PROGRAM");
	pid = process_number(a->command, a->process);
	if (pid < 0)
		return COMMAND_USAGE;
	if (a->show) {
		a->own_session = malloc(ATTACH_SESSION);
		if (a->own_session)
			process_session_name(pid, a->own_session);
	} else
		a->own_session = process_session(a->command, pid);
	a->session = a->own_session;
	return a->session ? COMMAND_DONE : COMMAND_FAILED;
}

static int check_target(struct answer *a)
{
	const int nr = (a->session != NULL) + (a->process != NULL) + (a->recordings.nr > 0) +
		       (a->program != NULL);

	if (a->show && !nr)
		return COMMAND_DONE;
	if (!nr)
		return refuse_none(a);
	if (nr > 1)
		return command_usage(a->command,
				     "a program, recordings, -s and -p are each for themselves");
	if (a->program && !*a->program)
		return command_usage(a->command, "which program?");
	if (a->seconds && !a->session && !a->process)
		return command_usage(a->command, "--for is for -s SESSION and -p PROCESS");
	return a->process ? answer_process(a) : COMMAND_DONE;
}

int answer_begin(struct answer *a, int argc, char **argv)
{
	optind = 0;
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--")) {
			a->program = argv + i + 1;
			return i;
		}
	return argc;
}

/* Whether a file begins so. */
static bool file_begins(const char *name, const char *with)
{
	char bytes[16];
	const size_t len = strlen(with);
	const int fd = open(name, O_RDONLY | O_CLOEXEC);
	const bool same = fd >= 0 && read(fd, bytes, len) == (ssize_t)len &&
			  !memcmp(bytes, with, len);

	if (fd >= 0)
		close(fd);
	return same;
}

/* Before a program, a function may have the name of a file. */
int answer_arguments(struct answer *a, int argc, char **argv)
{
	static const char recorded[] = "\x17\x08\x44tracing";

	for (; optind < argc; optind++) {
		const char *name = argv[optind];
		const bool recording = is_file(name) &&
				       (!a->program || file_begins(name, recorded));

		if (recording && (file_begins(name, "\177ELF") || file_begins(name, "#!")))
			return command_usage(a->command, "%s is a program: write -- before it",
					     name);
		if (words_add(recording ? &a->recordings : &a->words, argv[optind]))
			return message_error("out of memory");
	}
	return check_target(a);
}

int answer_parse(struct answer *a, const struct option *options, int argc, char **argv)
{
	int opt, status = COMMAND_DONE;

	argc = answer_begin(a, argc, argv);
	while (!status && (opt = getopt_long(argc, argv, ANSWER_SHORT, options, NULL)) != -1)
		status = answer_option(a, opt, argv);
	return status ? status : answer_arguments(a, argc, argv);
}

int answer_no_recording(const struct answer *a)
{
	return a->recordings.nr ? command_usage(a->command,
						"%s: it looks at programs and sessions only",
						a->recordings.v[0]) : COMMAND_DONE;
}

/* ---- events ---- */

static bool is_name(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && *s != '_' && *s != '-')
			return false;
	return true;
}

int answer_event_read(const struct answer *a, const char *text, struct answer_event *out)
{
	const char *system;
	char *between;

	*out = (struct answer_event){ .system = strdup(text) };
	if (!out->system)
		return message_error("out of memory");
	between = strpbrk(out->system, ":/.");
	if (between)
		*between++ = '\0';
	if (!between && event_names_provider(text, false, &system))
		return command_usage(a->command, "%s: an event is written SYSTEM:EVENT, as %s:%s",
				     text, system, text);
	if (!between || !is_name(out->system) || !is_name(between))
		return command_usage(a->command, "%s: an event is written SYSTEM:EVENT", text);
	out->name = between;
	return COMMAND_DONE;
}

void answer_event_free(struct answer_event *e)
{
	free(e->system);
}

/* ---- lines ---- */

/* The text in quotes of a shell. */
static void print_quoted(const char *text, FILE *out)
{
	fputc('\'', out);
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else
			fputc(*text, out);
	}
	fputc('\'', out);
}

static int add_line(struct words *to, const char *file, const char *text)
{
	char *line = NULL;
	size_t size;
	FILE *out = text_memory_open(&line, &size);

	if (!out)
		return -ENOMEM;
	fputs("echo ", out);
	print_quoted(text, out);
	fprintf(out, " >> %s\n", file);
	if (fclose(out) || words_add(to, line)) {
		free(line);
		return -ENOMEM;
	}
	return 0;
}

int answer_line_undone(struct answer *a, const char *file, const char *text, const char *undo)
{
	const int err = add_line(&a->lines, file, text);

	return err ? err : add_line(&a->undo, file, undo);
}

int answer_line(struct answer *a, const char *file, const char *text)
{
	char *undo;
	int err;

	if (asprintf(&undo, "!%s", text) < 0)
		return -ENOMEM;
	err = answer_line_undone(a, file, text, undo);
	free(undo);
	return err;
}

int answer_text(struct answer *a, const char *lines, const char *undo)
{
	char *copy = strdup(lines), *copy_undo = strdup(undo);

	if (copy && copy_undo && !words_add(&a->lines, copy)) {
		if (!words_add(&a->undo, copy_undo))
			return 0;
		copy = NULL;
	}
	free(copy);
	free(copy_undo);
	return -ENOMEM;
}

int answer_apart(struct answer *a, const char *name)
{
	char own[64], *make = NULL, *remove = NULL;
	int err = -ENOMEM;

	if (!a->session)
		return 0;
	snprintf(own, sizeof(own), "%s-%d", a->command->name, (int)getpid());
	name = name ? name : own;
	if (asprintf(&a->apart, "instances/%s/", name) < 0)
		a->apart = NULL;
	else if (asprintf(&make, "mkdir instances/%s\n", name) >= 0 &&
		 asprintf(&remove, "rmdir instances/%s\n", name) >= 0)
		err = answer_text(a, make, remove);
	free(make);
	free(remove);
	return err;
}

char *answer_event_file(const struct answer *a, const char *system, const char *event,
			const char *file)
{
	char *path;

	return asprintf(&path, "%sevents/%s/%s/%s", a->apart ? a->apart : "", system, event,
			file) < 0 ? NULL : path;
}

int answer_trigger(struct answer *a, const struct answer_event *e, const char *text)
{
	char *file = answer_event_file(a, e->system, e->name, "trigger");
	int err = file ? answer_line(a, file, text) : -ENOMEM;

	free(file);
	return err;
}

static char *lines_text(const struct answer *a, size_t *size)
{
	char *text = NULL;
	FILE *out = text_memory_open(&text, size);

	for (unsigned int i = 0; out && i < a->lines.nr; i++)
		fputs(a->lines.v[i], out);
	return out && !fclose(out) ? text : NULL;
}

void answer_free(struct answer *a)
{
	for (unsigned int i = 0; i < a->lines.nr; i++)
		free((char *)a->lines.v[i]);
	for (unsigned int i = 0; i < a->undo.nr; i++)
		free((char *)a->undo.v[i]);
	free(a->lines.v);
	free(a->undo.v);
	free(a->words.v);
	free(a->recordings.v);
	free(a->more.v);
	free(a->run_options.v);
	free(a->file);
	free(a->apart);
	free(a->own_session);
}

/* ---- a table ---- */

int answer_table_check(const struct answer *a, const struct table *t)
{
	char heads[128] = "";

	if (!a->sort || table_column(t, a->sort) >= 0)
		return COMMAND_DONE;
	for (unsigned int i = 0; i < t->nr_columns; i++)
		snprintf(heads + strlen(heads), sizeof(heads) - strlen(heads), "%s%s",
			 i ? ", " : "", t->columns[i].head);
	return command_usage(a->command, "--sort %s: the columns are %s", a->sort, heads);
}

int answer_table_print(const struct answer *a, struct table *t, const char *sort)
{
	char *text = NULL;
	size_t size;
	FILE *out = text_memory_open(&text, &size);
	int err = out ? 0 : -ENOMEM, status;

	if (a->sort || sort)
		table_sort(t, (unsigned int)table_column(t, a->sort ? a->sort : sort));
	if (out) {
		err = table_print(t, a->nr_lines, out);
		err = fclose(out) ? -ENOMEM : err;
	}
	status = err ? message_error("out of memory") : message_print(text, size);
	free(text);
	table_free(t);
	return status;
}

/* ---- running it ---- */

/* The lines as a file that `run` and `replay` can read, and its name. Negative: -errno */
static int lines_file(const struct answer *a, char *path, size_t path_size)
{
	size_t size;
	char *text = lines_text(a, &size);
	int fd = text ? memfd_create("lines", MFD_CLOEXEC) : -1;
	ssize_t n = fd < 0 ? -1 : write(fd, text, size);

	free(text);
	if (n < 0 || (size_t)n != size) {
		if (fd >= 0)
			close(fd);
		return -ENOMEM;
	}
	snprintf(path, path_size, "/dev/fd/%d", fd);
	return fd;
}

/* The other command's arguments: `argv` of its main function, ended by NULL. */
static int make_arguments(const struct answer *a, const char *lines, struct words *out)
{
	int err = words_add(out, a->program ? "run" : "replay");

	if (!err && a->program && a->quiet)
		err = words_add(out, "-q");
	err = err ? err : words_add(out, "--setup");
	err = err ? err : words_add(out, lines);
	err = err ? err : words_add(out, "--cat");
	err = err ? err : words_add(out, a->file);
	for (unsigned int i = 0; !err && i < a->more.nr; i++) {
		err = words_add(out, "--cat");
		err = err ? err : words_add(out, a->more.v[i]);
	}
	for (unsigned int i = 0; !err && a->program && i < a->run_options.nr; i++)
		err = words_add(out, a->run_options.v[i]);
	if (!err && !a->plain && !a->print)
		err = words_add(out, "--draw");
	err = err ? err : words_add(out, "--");
	for (unsigned int i = 0; !err && i < a->recordings.nr; i++)
		err = words_add(out, a->recordings.v[i]);
	for (char **p = a->program; !err && p && *p; p++)
		err = words_add(out, *p);
	return err ? err : words_add(out, NULL);
}

static int answer_print(void *arg, struct access *access)
{
	const struct answer *a = arg;

	return a->print(a, access);
}

static int run_other(struct answer *a)
{
	struct words argv = { 0 };
	char lines[64];
	const int fd = lines_file(a, lines, sizeof(lines));
	int status;

	if (fd < 0)
		return message_error("out of memory");
	if (make_arguments(a, lines, &argv))
		status = message_error("out of memory");
	else {
		if (a->print && !a->plain)
			results_print_by(answer_print, a);
		status = a->program
			 ? run_for(a->command, (int)argv.nr - 1, (char **)argv.v, a->flight)
			 : replay_for(a->command, a->needs, (int)argv.nr - 1,
				      (char **)argv.v);
	}
	close(fd);
	free(argv.v);
	return status;
}

static int show(const struct answer *a)
{
	size_t size;
	char *text = lines_text(a, &size);
	int status = COMMAND_DONE;

	for (unsigned int i = 0; i < a->run_options.nr; i++)
		printf("# with tracefuse run %s\n", a->run_options.v[i]);
	status = text ? message_print(text, size) : message_error("out of memory");
	free(text);
	for (unsigned int i = 0; !status && i <= a->more.nr; i++)
		if (printf("cat %s\n", i ? a->more.v[i - 1] : a->file) < 0)
			status = COMMAND_FAILED;
	return status;
}

int answer_run(struct answer *a)
{
	if (a->show)
		return show(a);
	return a->session ? answer_in_session(a) : run_other(a);
}

int answer_make(struct answer *a, int status, int (*lines)(struct answer *a))
{
	if (!status)
		status = lines(a);
	if (!status)
		status = answer_run(a);
	answer_free(a);
	return status;
}
