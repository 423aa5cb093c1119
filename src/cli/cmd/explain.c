/* SPDX-License-Identifier: MIT */
/* explain.c - `tracefuse explain`: explains a trigger, filter or definition in plain English */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/client.h"
#include "cli/explain/explain.h"
#include "cli/list/list.h"
#include "cli/options.h"
#include "host/pager.h"
#include "session/session.h"

struct request {
	const char	*session, *recording;
	char		program[PATH_MAX];	/* "": none; else text is a function of it */
	char		*system, *event;	/* NULL: not given */
	char		*text;
};

/* ---- arguments ---- */

/*
 * Whether the argument is a recording. The machine's own tracing directory may exist; its files are
 * no recordings.
 */
static bool is_recording(const char *name)
{
	char path[1024];
	struct stat st;

	if (*name == '/' && access_path("", name, path, sizeof(path)))
		return false;
	return !stat(name, &st) && S_ISREG(st.st_mode);
}

/* SYSTEM:EVENT, SYSTEM/EVENT, or a file of events/SYSTEM/EVENT. */
static bool take_event(struct request *r, const char *argument)
{
	char path[1024];
	const char *name = argument, *end;
	size_t n;

	if (access_path("", argument, path, sizeof(path)))
		name = path;
	if (!strncmp(name, "instances/", 10) && strstr(name, "/events/"))
		name = strstr(name, "/events/") + 1;
	if (!strncmp(name, "events/", 7))
		name += 7;
	n = strcspn(name, ":/");
	if (!n || !name[n])
		return false;
	end = name + n + 1 + strcspn(name + n + 1, "/");
	if (end == name + n + 1)
		return false;
	r->system = strndup(name, n);
	r->event = strndup(name + n + 1, (size_t)(end - name) - n - 1);
	return r->system && r->event;
}

/* Joins lines that end with a backslash, without the blanks around it, except between words. */
static char *join_lines(const char *text)
{
	char *out = malloc(strlen(text) + 1), *o = out;

	if (!out)
		return NULL;
	for (; *text; text++) {
		if (*text != '\\' || text[1] != '\n') {
			*o++ = *text;
			continue;
		}
		while (o > out && o[-1] == ' ')
			o--;
		text += 1 + strspn(text + 2, " \t");
		if (!strncmp(text + 1, "if ", 3))
			*o++ = ' ';
	}
	while (o > out && (o[-1] == '\n' || o[-1] == ' '))
		o--;
	*o = '\0';
	return out;
}

/*
 * Of a whole shell line, "# echo 'hist:...' >> events/S/E/trigger", takes the text in the quotes
 * and the event of the file. Any other text stays as it is.
 */
static void take_shell_line(struct request *r)
{
	char *text = r->text, *end, *target, *inside;
	char quote;

	text += strspn(text, "#$ \t");
	if (strncmp(text, "echo ", 5))
		return;
	text += 5 + strspn(text + 5, " ");
	quote = *text == '\'' || *text == '"' ? *text++ : ' ';
	end = strchr(text, quote);
	target = end ? strchr(end, '>') : NULL;
	if (!target)
		return;
	inside = strndup(text, (size_t)(end - text));
	target += strspn(target, "> \t\n");
	target[strcspn(target, " \t\n")] = '\0';
	if (!r->event && inside)
		take_event(r, target);
	if (inside) {
		free(r->text);
		r->text = inside;
	}
}

/* Whether there are blanks only within the types of a name. */
static bool is_one_name(const char *text)
{
	int depth = 0;

	for (; *text; text++) {
		if (*text == '<' || *text == '(')
			depth++;
		else if (*text == '>' || *text == ')')
			depth--;
		else if (*text == ' ' && depth <= 0)
			return false;
	}
	return true;
}

/* Whether the command is PROGRAM FUNCTION. A session may have the name of a program on $PATH. */
static bool names_function(struct request *r, const char *program)
{
	if (list_kind(program, r->program) == LISTED_PROGRAM &&
	    is_one_name(r->text) && !strpbrk(r->text, strchr(program, '/') ? "=" : "=:"))
		return true;
	*r->program = '\0';
	return false;
}

static int explain_parse_arguments(struct request *r, int argc, char **argv)
{
	int status = options_parse(&command_explain, argc, argv, &r->session, NULL, NULL);

	if (status)
		return status;
	if (optind == argc)
		return command_usage(&command_explain, "explain what?");
	if (argc - optind > 3)
		return command_usage(&command_explain,
				     "too many arguments: is the command in quotes?");
	r->text = join_lines(argv[argc - 1] + strspn(argv[argc - 1], " \t\n"));
	if (r->text && !r->session && argc - optind == 2 && names_function(r, argv[optind]))
		return COMMAND_DONE;
	for (int i = optind; i < argc - 1; i++) {
		if (!r->recording && is_recording(argv[i]))
			r->recording = argv[i];
		else if (!r->event && strpbrk(argv[i], ":/") && take_event(r, argv[i]))
			continue;
		else if (!r->session && !r->recording)
			r->session = argv[i];
		else
			return command_usage(&command_explain,
					     "%s is neither a recording nor SYSTEM:EVENT", argv[i]);
	}
	if (r->text)
		take_shell_line(r);
	return r->text ? COMMAND_DONE : message_error("out of memory");
}

/* ---- the scope, where names are looked up ---- */

struct census {
	char		name[256];
	unsigned int	nr;
};

static int count_session(void *arg, const char *name, const char *dir, bool alive)
{
	struct census *c = arg;

	(void)dir;
	if (alive && !c->nr++)
		snprintf(c->name, sizeof(c->name), "%s", name);
	return 0;
}

/* If no session is named and there is not exactly one, only the text is explained. */
static int open_scope(const struct request *r, struct explain_scope **out)
{
	const char *name = r->session ? r->session : getenv("TRACEFUSE_SESSION");
	struct census c = { .nr = 0 };
	struct access *a;
	int ret;

	if (r->recording)
		return explain_scope_of_recording(r->recording, out) ? COMMAND_FAILED
								     : COMMAND_DONE;
	if (!name || !*name)
		session_list(count_session, &c);
	if ((!name || !*name) && c.nr != 1)
		return COMMAND_DONE;
	a = client_connect(&command_explain, name && *name ? name : c.name);
	ret = a ? explain_scope_of_session(a, out) : -ENOTCONN;
	if (a)
		access_close(a);
	return ret ? COMMAND_FAILED : COMMAND_DONE;
}

/* ---- the answer ---- */

static bool needs_event(enum explain_kind kind)
{
	return kind == EXPLAIN_HIST || kind == EXPLAIN_TRIGGER || kind == EXPLAIN_FILTER;
}

/* Whether nothing is known but the text. */
static bool is_text_alone(const struct explain *e, enum explain_kind kind)
{
	return !e->scope || (needs_event(kind) && !e->event);
}

static void say(struct explain *e, enum explain_kind kind, const char *text)
{
	static void (*const how[])(struct explain * e, const char *text) = {
		[EXPLAIN_HIST] = explain_hist,	   [EXPLAIN_TRIGGER] = explain_trigger,
		[EXPLAIN_FILTER] = explain_filter, [EXPLAIN_SYNTH] = explain_synth,
		[EXPLAIN_PROBE] = explain_probe, [EXPLAIN_PLACE] = explain_place,
		[EXPLAIN_REMOVAL] = explain_removal,
	};

	fprintf(e->out, "%s\n", text);
	how[kind](e, text);
	/* Doubts are only for a command that was not tried in a scope. */
	if (is_text_alone(e, kind))
		explain_doubts(e, text);
}

static int explain_refuse(struct explain *e, enum explain_kind kind, const char *text, int ret,
			  const char *error)
{
	/* The command exists already, so its spelling is right. */
	char *guess = !e->scope || (error && strstr(error, "already"))
			      ? NULL
			      : explain_guess(e, kind, text, error);

	fprintf(e->out, "%s\n", text);
	explain_say(e, "refused", "%s", strerror(-ret));
	if (error && *error)
		fputs(error, e->out);
	if (guess)
		fprintf(e->out, "  perhaps   %s\n", guess);
	free(guess);
	if (is_text_alone(e, kind))
		explain_doubts(e, text);
	return COMMAND_FAILED;
}

static int answer(struct explain *e, const char *text)
{
	enum explain_kind kind = explain_kind_of(text);
	char *error = NULL;
	int ret = 0, status = COMMAND_DONE;

	if (e->scope && e->event && !explain_scope_has_event(e->scope, e->system, e->event))
		return message_error("explain: there is no event %s:%s", e->system, e->event);
	/*
	 * A command that removes something is not tried: it depends on the session's state whether
	 * that is an error.
	 */
	if (*text == '!' || kind == EXPLAIN_REMOVAL)
		ret = 0;
	else if (!is_text_alone(e, kind))
		ret = explain_scope_try(e->scope, kind, e->system, e->event, text, &error);
	else if (needs_event(kind))
		ret = explain_words_try(kind, text, &error);
	if (ret && e->scope && error && strstr(error, "already") &&
	    !explain_scope_clear(e->scope, e->system, e->event)) {
		free(error);
		ret = explain_scope_try(e->scope, kind, e->system, e->event, text, &error);
	}
	if (ret && ret != -EEXIST)
		status = explain_refuse(e, kind, text, ret, error);
	else
		say(e, kind, text);
	free(error);
	return status;
}

static int explain_run(int argc, char **argv)
{
	struct request r = { .session = NULL };
	struct explain e = { .out = stdout };
	int status = explain_parse_arguments(&r, argc, argv);

	if (!status && !*r.program)
		status = open_scope(&r, &e.scope);
	e.system = r.system;
	e.event = r.event;
	pager_begin();
	if (!status)
		status = *r.program ? explain_function(&e, r.program, r.text) : answer(&e, r.text);
	explain_scope_destroy(e.scope);
	free(r.system);
	free(r.event);
	free(r.text);
	return status;
}

const struct command command_explain = {
	.name = "explain",
	.summary = "say what a trigger does or what is wrong with it; explain a function",
	.run = explain_run,
	.help =
"usage: tracefuse explain [-s SESSION | SESSION | RECORDING] [SYSTEM:EVENT] COMMAND\n"
"       tracefuse explain PROGRAM FUNCTION\n"
"\n"
"COMMAND is what you write to the files trigger, filter, synthetic_events or\n"
"dynamic_events: 'hist:keys=next_pid', 'traceoff:3 if prio < 100', 'lat u64 ns'. It\n"
"may be a shell line in quotes: \"echo 'hist:...' > events/sched/sched_switch/trigger\".\n"
"Explains each part of it. With a session or a recording and an event, explain first\n"
"tries the command in a copy, so nothing changes. Then it knows where variables come\n"
"from. For a wrong command it prints the error as error_log has it, with the caret,\n"
"and the nearest right spelling. Without a session, or without an event, it explains\n"
"the text alone, and refuses what no event would take.\n"
"\n"
"PROGRAM is a program or a library: a file, a name on $PATH, or the name of a\n"
"library, as libc.so.6. With its debug information explain prints the prototype of\n"
"FUNCTION, how it can be probed, and the lines for uprobe_events that fetch its\n"
"arguments and its result. It says which of them cannot be fetched, and why. Without\n"
"debug information it says which file would have it. A function may also be one of the\n"
"libraries that PROGRAM needs.\n"
"\n"
"  -s, --session NAME  the session; without it $TRACEFUSE_SESSION, else the only\n"
"                      one there is, else none\n"
"\n"
"    tracefuse explain trace.dat sched:sched_switch 'hist:keys=next_pidd'\n",
};
