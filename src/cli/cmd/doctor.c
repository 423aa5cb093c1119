/* SPDX-License-Identifier: MIT */
/*
 * doctor.c - `tracefuse doctor`: finds out why a trace is empty
 *
 * Checks everything that an event has to pass on its way to the file `trace`, in that order, and
 * prints where it stops.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "access/wire.h"
#include "elf/sites.h"
#include "model/text.h"

enum {
	LISTED = 8,			/* of a longer list the first ones */
	LARGE_BUFFER_KB = 256 << 10,	/* of a CPU: one of four times the size may have no room */
};

struct patient {
	struct access	*access;
	char		*info;		/* the server's answer to WIRE_INFO */
	bool		programs;	/* a session of running programs */
	unsigned int	listed;		/* how much of a list is printed */
	char		tracer[64];	/* "nop": none */
	unsigned int	complaints;
};

static char *doctor_read_text(struct patient *p, const char *path)
{
	char *text = NULL;
	size_t len;

	if (access_read_all(p->access, path, &text, &len))
		return NULL;
	return text;
}

/* Only its first byte is read: the file may have a hundred thousand lines. */
static bool is_empty(struct patient *p, const char *path)
{
	struct access_file *f;
	char first;
	bool empty;

	if (p->access->ops->open(p->access, path, O_RDONLY | O_NONBLOCK, &f))
		return false;
	empty = !p->access->ops->read(f, &first, sizeof(first), 0);
	p->access->ops->release(f);
	return empty;
}

static void complain(struct patient *p, const char *what, const char *cure)
{
	p->complaints++;
	printf("! %s\n  %s\n", what, cure);
}

static unsigned int count_lines(const char *text)
{
	unsigned int nr = 0;

	for (; *text; text++)
		nr += *text == '\n';
	return nr;
}

/* Prints the lines of a text as "a, b, c and 5 more". */
static void list_lines(const struct patient *p, const char *text)
{
	unsigned int nr = 0;

	for (; *text; text = text_next_line(text))
		if (nr++ < p->listed)
			printf("%s%.*s", nr > 1 ? ", " : "", (int)strcspn(text, "\n"), text);
	if (nr > p->listed)
		printf(" and %u more", nr - p->listed);
}

static void say_where_events_come_from(struct patient *p)
{
	if (p->programs)
		complain(p, "The session has no events.",
			 "A program brings them: tracefuse run --session NAME -- PROGRAM");
	else
		complain(p, "The session has no events.",
			 "A recording brings them: tracefuse replay --session NAME RECORDING");
}

static void check_events(struct patient *p)
{
	char *available = doctor_read_text(p, "available_events");
	char *enabled = doctor_read_text(p, "set_event");
	unsigned int nr = available ? count_lines(available) : 0,
		     on = enabled ? count_lines(enabled) : 0;

	printf("events known: %u, enabled: %u%s", nr, on, on ? " (" : "");
	list_lines(p, enabled ? enabled : "");
	puts(on ? ")" : "");
	if (!nr)
		say_where_events_come_from(p);
	else if (!on && strcmp(p->tracer, "nop"))
		;	/* it records without events */
	else if (!on && p->programs)
		complain(p,
			 "No event is enabled, so nothing is recorded (triggers count "
			 "nevertheless).",
			 "tracefuse write set_event heap:malloc, or write events/heap/enable 1");
	else if (!on)
		complain(p,
			 "No event is enabled, so nothing is recorded (triggers count "
			 "nevertheless).",
			 "tracefuse write set_event sched:sched_switch, or write "
			 "events/sched/enable 1");
	free(available);
	free(enabled);
}

/* What the session has of the running kernel. */
static void print_kernel(const struct patient *p)
{
	char value[256];

	for (unsigned int i = 0; p->info && client_info(p->info, "kernel", i, value, sizeof(value));
	     i++)
		printf("running kernel: %s\n", value);
}

/* A soft-disabled event has an asterisk behind a 0. */
static void check_soft(struct patient *p, const char *system, const char *event)
{
	char path[600], text[700], *enable;

	snprintf(path, sizeof(path), "events/%s/%s/enable", system, event);
	enable = doctor_read_text(p, path);
	if (enable && !strncmp(enable, "0*", 2)) {
		snprintf(text, sizeof(text),
			 "%s:%s is soft-disabled: it fires triggers and is not recorded.", system,
			 event);
		complain(p, text,
			 "its own triggers and enable_event triggers of other events decide; write "
			 "1 to its file enable");
	}
	free(enable);
}

/* What is wrong with the filter: a later line of its file. NULL: nothing. */
static const char *filter_error(const char *filter)
{
	static const char parse_error[] = "parse_error: ";

	for (const char *line = text_next_line(filter); *line; line = text_next_line(line)) {
		if (!strncmp(line, parse_error, sizeof(parse_error) - 1))
			return line + sizeof(parse_error) - 1;
		if (!strncmp(line, "Error: ", 7))
			return line;
	}
	return NULL;
}

/*
 * A filter is shown, but is no complaint. One with an error lets everything pass: a filter of a
 * whole system is wrong for those of its events that lack the field.
 */
static void print_filter(struct patient *p, const char *system, const char *event)
{
	char path[600], *filter;
	const char *error;

	snprintf(path, sizeof(path), "events/%s/%s/filter", system, event);
	filter = doctor_read_text(p, path);
	error = filter ? filter_error(filter) : NULL;
	if (error)
		printf("%s:%s is recorded without its filter, which has an error: %.*s\n", system,
		       event, (int)strcspn(error, "\n"), error);
	else if (filter && strncmp(filter, "none", 4))
		printf("%s:%s is recorded only if %.*s\n", system, event,
		       (int)strcspn(filter, "\n"), filter);
	free(filter);
}

static void check_enabled(struct patient *p)
{
	char *enabled = doctor_read_text(p, "set_event"), *rest = enabled, *line;

	while (rest && (line = strsep(&rest, "\n"))) {
		char *event = strchr(line, ':');

		if (!event)
			continue;
		*event++ = '\0';
		check_soft(p, line, event);
		print_filter(p, line, event);
	}
	free(enabled);
}

/* An instance has its own buffer, which `trace` of the top instance does not show. */
static int look_into_instance(void *arg, const char *name, bool is_dir)
{
	struct patient *p = arg;
	char path[300], *enabled;

	if (!is_dir)
		return 0;
	snprintf(path, sizeof(path), "instances/%s/set_event", name);
	enabled = doctor_read_text(p, path);
	if (enabled && *enabled)
		printf("instance %s, enabled: %u; its records are in instances/%s/trace\n", name,
		       count_lines(enabled), name);
	free(enabled);
	return 0;
}

/* ---- running programs ---- */

/* The lines are "quiet PID NAME". -> how many there are */
static unsigned int check_quiet(const struct patient *p)
{
	char value[256];
	unsigned int nr = 0;

	for (; client_info(p->info, "quiet", nr, value, sizeof(value)); nr++) {
		const char *name = strchr(value, ' ');

		if (nr < p->listed)
			printf("quiet: process %d (%s) joins with its first event\n", atoi(value),
			       name ? name + 1 : "?");
	}
	if (nr > p->listed)
		printf("quiet: %u processes in all\n", nr);
	return nr;
}

/* The lines are "attached PID SLOTS NAME". */
static void check_attached(struct patient *p)
{
	char value[256], name[64];
	unsigned int nr = 0;

	for (; client_info(p->info, "attached", nr, value, sizeof(value)); nr++) {
		int pid = 0;

		*name = '\0';
		sscanf(value, "%d %*u %63[^\n]", &pid, name);
		if (nr < p->listed)
			printf("attached: process %d (%s)\n", pid, name);
	}
	if (nr > p->listed)
		printf("attached: %u processes in all\n", nr);
	if (!check_quiet(p) && !nr && !client_info(p->info, "kernel", 0, value, sizeof(value)))
		complain(p, "No program is attached.",
			 "tracefuse run --session NAME -- PROGRAM, tracefuse attach -s NAME "
			 "PROCESS for one that runs already, or TRACEFUSE_SESSION=NAME for one "
			 "that links libtracefuse");
}

/* These lines are whole sentences of the server. */
static void check_lost(struct patient *p)
{
	char line[4096 + 512];

	for (unsigned int i = 0; client_info(p->info, "lost", i, line, sizeof(line)); i++)
		complain(p, line, "what found no room was refused, or is counted as missed");
}

/* So are these: nothing is missing, but not all is as one may think. */
static void print_notes(const struct patient *p)
{
	char line[4096 + 512];

	for (unsigned int i = 0; client_info(p->info, "note", i, line, sizeof(line)); i++)
		printf("note: %s\n", line);
}

static void check_missed(struct patient *p)
{
	unsigned long long all = 0, processes = 0, threads = 0, hits = 0;
	char value[128], text[200];

	if (client_info(p->info, "missed", 0, value, sizeof(value)))
		all = strtoull(value, NULL, 10);
	if (client_info(p->info, "no-room", 0, value, sizeof(value)))
		sscanf(value, "%llu %llu %llu", &processes, &threads, &hits);
	if (hits) {
		snprintf(text, sizeof(text),
			 "%llu process%s (%llu thread%s) had no place in the session: %llu hits "
			 "are lost.", processes, processes == 1 ? "" : "es", threads,
			 threads == 1 ? "" : "s", hits);
		complain(p, text,
			 "more of them at the same time than the session has memory or slots for, "
			 "or a server that did not answer in time");
	}
	if (all > hits) {
		snprintf(text, sizeof(text), "%llu hits found no room.", all - hits);
		complain(p, text,
			 "signal handlers were nested more than 3 deep, or threads without "
			 "restartable sequences got no rings of their own in time");
	}
}

/* Programs that could not join when they began. */
static void check_untraced(struct patient *p)
{
	char value[128], text[240];

	for (unsigned int i = 0; client_info(p->info, "untraced", i, value, sizeof(value)); i++) {
		const char *nr = strchr(value, ' ');
		const struct client_untraced *u = client_untraced(value);

		snprintf(text, sizeof(text), "%s process%s could not %s: %s.", nr ? nr + 1 : "?",
			 nr && !strcmp(nr, " 1") ? "" : "es", u->could_not ? u->could_not : "join",
			 u->why);
		complain(p, text, u->remedy);
	}
}

static void check_pending(struct patient *p)
{
	char value[1024];

	for (unsigned int i = 0; client_info(p->info, "kept", i, value, sizeof(value)); i++) {
		int path = (int)strcspn(value, " ");

		printf("waits for its event: %s > %.*s\n", value + path + (value[path] != '\0'),
		       path, value);
	}
}

/* Enabled probes that nothing hits. */
static void check_probes(struct patient *p)
{
	char value[256], text[320];

	for (unsigned int i = 0; p->info && client_info(p->info, "probe", i, value, sizeof(value));
	     i++) {
		snprintf(text, sizeof(text), "%s is never hit.", value);
		complain(p, text, p->programs ?
			 "No program of the session has a function of this name so far" :
			 "The recording has no such event: it has the probes that were enabled "
			 "when it was made");
	}
}

/* The value is "PID planted N refused N[ late]". */
static void print_planted(const char *value)
{
	unsigned int planted, refused;
	int pid;

	if (sscanf(value, "%d planted %u refused %u", &pid, &planted, &refused) == 3)
		printf("probes: %u in process %d%s\n", planted, pid,
		       strstr(value, " late") ? ", which has not obeyed the last command yet" : "");
}

/* The value is "PID NUMBER". */
static void check_unseen(struct patient *p)
{
	char value[64], text[160];
	unsigned int nr;
	int pid;

	for (unsigned int i = 0; client_info(p->info, "probes-unseen", i, value, sizeof(value));
	     i++) {
		if (sscanf(value, "%d %u", &pid, &nr) != 2)
			continue;
		snprintf(text, sizeof(text),
			 "%u programs and libraries of process %d can have no probes.", nr, pid);
		complain(p, text,
			 "A process has 512 that can, if their headers are in memory, there is "
			 "memory for the list, and their code may be changed (mseal, a sandbox)");
	}
}

static void check_planted(struct patient *p)
{
	char value[256], text[CLIENT_REFUSED];

	for (unsigned int i = 0; client_info(p->info, "probes", i, value, sizeof(value)); i++)
		if (i < p->listed)
			print_planted(value);
	check_unseen(p);
	for (unsigned int i = 0; client_probe_refused(p->info, i, text); i++)
		complain(p, text, "tracefuse list -v FILE says where a probe can be put");
}

/* Lines "NAME PID[ never]": processes that began before somebody asked for `what`. */
static void check_begun(struct patient *p, const char *name, const char *what,
			const char *before, const char *remedy)
{
	char value[64], text[64], advice[256];
	bool never;

	for (unsigned int i = 0; client_info(p->info, name, i, value, sizeof(value)); i++) {
		never = strstr(value, " never");
		snprintf(text, sizeof(text), "Process %d has no %s%s.", atoi(value), what,
			 never ? "" : " yet");
		if (never)
			snprintf(advice, sizeof(advice),
				 "It began before %s, and is in a sandbox, or its code may not be "
				 "changed: %s", before, remedy);
		else
			snprintf(advice, sizeof(advice),
				 "It began before %s. They come when it next calls malloc(), "
				 "free() or a system call through libc, or by tracefuse attach %d",
				 before, atoi(value));
		complain(p, text, advice);
	}
}

static void check_unplanted(struct patient *p)
{
	check_begun(p, "probes-none", "probes", "the session's first probe was defined",
		    "define probes before programs start");
}

/* Settings of the session's start whose function or event does not exist yet. */
static void check_boot(struct patient *p)
{
	char value[1024];

	for (unsigned int i = 0; p->info && client_info(p->info, "boot", i, value, sizeof(value));
	     i++)
		printf("waits for its function or event: %s\n", value);
}

static void check_refused(struct patient *p)
{
	char value[1024];

	for (unsigned int i = 0; client_info(p->info, "refused", i, value, sizeof(value)); i++)
		complain(p, value,
			 "That program's event is not recorded: the first definition counts");
}

/* ---- functions ---- */

/* The value is "NUMBER DSO[; NUMBER REASON]...". */
static void print_sites(const char *value)
{
	const char *name = strchr(value, ' '), *why = strchr(value, ';');

	if (!name)
		return;
	printf("functions: %.*s in %.*s", (int)(name - value), value, (int)strcspn(name + 1, ";"),
	       name + 1);
	for (; why; why = strchr(why + 1, ';'))
		printf("%s%.*s", why == strchr(value, ';') ? "; cannot be traced:" : ",",
		       (int)strcspn(why + 1, ";"), why + 1);
	putchar('\n');
}

/* Whether any program has sites. */
static bool check_sites(struct patient *p)
{
	char value[1024];
	unsigned int nr = 0;

	for (; client_info(p->info, "sites", nr, value, sizeof(value)); nr++)
		if (nr < p->listed)
			print_sites(value);
	if (nr > p->listed)
		printf("functions: in %u programs and libraries in all\n", nr);
	return nr;
}

/* The value is "DSO: WHY". */
static void check_unread(struct patient *p)
{
	char value[400], text[440];

	for (unsigned int i = 0; client_info(p->info, "sites-none", i, value, sizeof(value)); i++) {
		snprintf(text, sizeof(text), "Functions cannot be traced in %s.", value);
		complain(p, text, "Another session tries again; events and probes work");
	}
}

static void check_full(struct patient *p)
{
	char value[32], text[160];

	if (!client_info(p->info, "full", 0, value, sizeof(value)))
		return;
	snprintf(text, sizeof(text),
		 "The session has had %s programs and libraries, and takes no more.", value);
	complain(p, text,
		 "Functions of new ones have no names and are not traced: use another session");
}

static void check_refused_sites(struct patient *p)
{
	char value[32], text[160];

	if (!client_info(p->info, "sites-error", 0, value, sizeof(value)))
		return;
	snprintf(text, sizeof(text), "Some functions are not traced as they should be: %s.",
		 atoi(value) == ENOSPC ? "too many different sets of tracers and commands"
				       : strerror(atoi(value)));
	complain(p, text, "tracefuse reset, and fewer commands on functions");
}

/* What a process that runs cannot have is there if it is asked for at the start. */
static void complain_of_busy(struct patient *p, int pid, const char *why)
{
	char text[160];

	if (!strstr(why, site_skip_text(SITE_BUSY)))
		return;
	snprintf(text, sizeof(text), "Process %d blocks SIGSEGV in a thread, or handles it itself.",
		 pid);
	complain(p, text,
		 "These functions can be traced if tracefuse starts the program: tracefuse run "
		 "--function, or --setup");
}

static void complain_of_taskless(struct patient *p, int pid)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "Functions of process %d stay as they are: it may make no thread, because its "
		 "children go into another pid name space.", pid);
	complain(p, text, "Functions of its children are switched; events still work");
}

/*
 * The value is "PID sites N skipped N on N error ERRNO[ late| taskless][; N REASON[ (NAMES)]]...".
 */
static void check_answers(struct patient *p)
{
	char value[1024], text[320];

	for (unsigned int nr = 0; client_info(p->info, "answer", nr, value, sizeof(value)); nr++) {
		const char *error = strstr(value, " error ");
		char *why = strchr(value, ';');
		int pid = atoi(value), err = error ? atoi(error + 7) : 0;

		if (why) {
			printf("functions of process %d that are not or only partly traced:%s\n",
			       pid, why + 1);
			complain_of_busy(p, pid, why);
			*why = '\0';
		}
		if (strstr(value, " taskless")) {
			complain_of_taskless(p, pid);
		} else if (strstr(value, " late")) {
			snprintf(text, sizeof(text),
				 "Process %d has not switched its functions yet.", pid);
			complain(p, text, "It will when it runs: is it stopped, or in a debugger?");
		} else if (err == ENOTSUP) {
			snprintf(text, sizeof(text),
				 "Returns of functions of process %d are not traced.", pid);
			complain(p, text,
				 "It uses libunwind.so.8, greenlet, V8, Java, LuaJIT, OCaml, "
				 "gccgo, Guile, PyPy, MoarVM, Ruby's callcc, a shadow stack, a "
				 "sanitizer or its addresses; function, events and return sites "
				 "work");
		} else if (err) {
			snprintf(text, sizeof(text),
				 "Functions of process %d cannot be switched: %s.", pid,
				 strerror(err));
			complain(p, text,
				 "The agent may not change its memory, or it has entered a "
				 "sandbox; events still work");
		}
	}
}

/*
 * Whether a file of functions chooses some; prints these. If it chooses none, its first line begins
 * with #.
 */
static bool chooses(struct patient *p, const char *file, const char *what)
{
	char *text = doctor_read_text(p, file);
	const bool some = text && *text && *text != '#' && strncmp(text, "no pid", 6);

	if (some) {
		printf("%s (%s): ", what, file);
		list_lines(p, text);
		putchar('\n');
	}
	free(text);
	return some;
}

static void check_filters(struct patient *p, bool graph)
{
	char *enabled = doctor_read_text(p, "enabled_functions");
	const bool filtered = chooses(p, "set_ftrace_filter", "only these functions are traced");
	const bool denied = chooses(p, "set_ftrace_notrace", "these functions are not traced");

	if (enabled && !*enabled && (filtered || denied))
		complain(p, "The filters leave no function.",
			 "tracefuse write set_ftrace_filter '', tracefuse write set_ftrace_notrace "
			 "''");
	if (graph && chooses(p, "set_graph_function", "the graph has only these functions"))
		complain(p,
			 "function_graph records nothing until one of these functions is called.",
			 "tracefuse write set_graph_function ''");
	if (graph)
		chooses(p, "set_graph_notrace", "the graph has not these functions");
	free(enabled);
}

static void check_function_pids(struct patient *p)
{
	if (chooses(p, "set_ftrace_pid", "only functions of these threads are traced"))
		complain(p, "set_ftrace_pid lets only some threads pass.",
			 "tracefuse write set_ftrace_pid ''");
	if (chooses(p, "set_ftrace_notrace_pid", "functions of these threads are not traced"))
		complain(p, "set_ftrace_notrace_pid keeps some threads out.",
			 "tracefuse write set_ftrace_notrace_pid ''");
}

static void check_limits(struct patient *p)
{
	char *thresh = doctor_read_text(p, "tracing_thresh");
	char *depth = doctor_read_text(p, "max_graph_depth"), text[160];

	if (thresh && atoll(thresh) > 0) {
		snprintf(text, sizeof(text),
			 "Only calls that take %.*s microseconds are recorded (tracing_thresh).",
			 (int)strcspn(thresh, "\n"), thresh);
		complain(p, text, "tracefuse write tracing_thresh 0");
	}
	if (depth && atoi(depth) > 0)
		printf("calls are followed %d deep (max_graph_depth)\n", atoi(depth));
	free(thresh);
	free(depth);
}

static void check_profile(struct patient *p)
{
	char value[64], text[160];

	if (!client_info(p->info, "profile-dropped", 0, value, sizeof(value)))
		return;
	snprintf(text, sizeof(text), "%s calls and returns found no room in trace_stat.", value);
	complain(p, text,
		 "switch function_profile_enabled off and on again, now that all functions are "
		 "known, "
		 "or choose fewer: set_ftrace_filter");
}

/*
 * The value is "NR PID NAME\tTEXT": what was refused in NR processes that have ended, of which PID
 * was the last.
 */
static void print_ended_one(const char *value, const char *what)
{
	const char *tab = strrchr(value, '\t');
	unsigned long long nr;
	int pid, at = 0;

	if (!tab || sscanf(value, "%llu %d %n", &nr, &pid, &at) != 2 || !at)
		return;
	printf("ended: process %d (%.*s)", pid, (int)(tab - value - at), value + at);
	if (nr > 1)
		printf(" and %llu more", nr - 1);
	printf(": %s%s\n", what, tab + 1);
}

static void print_ended(struct patient *p, const char *key, const char *what)
{
	char value[1024];
	unsigned int nr = 0;

	for (; client_info(p->info, key, nr, value, sizeof(value)); nr++)
		if (nr < p->listed)
			print_ended_one(value, what);
	if (nr > p->listed)
		printf("ended: %u such lines in all (tracefuse doctor -v)\n", nr);
}

/* What processes were refused that have ended. */
static void check_ended(struct patient *p)
{
	char value[32];

	print_ended(p, "ended-functions", "functions that were not or only partly traced: ");
	print_ended(p, "ended-lost", "functions that were not or only partly traced: ");
	print_ended(p, "ended-probes", "");
	if (client_info(p->info, "ended-more", 0, value, sizeof(value)))
		printf("ended: %s more refusals, for which there was no room\n", value);
}

static void check_functions(struct patient *p)
{
	const bool graph = !strcmp(p->tracer, "function_graph"),
		   traced = graph || !strcmp(p->tracer, "function");
	char value[64];

	if (strcmp(p->tracer, "nop"))
		printf("tracer: %s\n", p->tracer);
	if (traced)
		check_begun(p, "functions-none", "functions", "somebody asked for functions",
			    "start it by `tracefuse run --function`");
	check_unread(p);
	if (!check_sites(p)) {
		if (traced && client_info(p->info, "attached", 0, value, sizeof(value)) &&
		    !client_info(p->info, "functions-none", 0, value, sizeof(value)))
			complain(p, "No program here has functions that can be traced.",
				 "compile C and C++ with -fpatchable-function-entry=5, or ask for "
				 "functions of libraries: FUNCTION:mod:LIBRARY in "
				 "set_ftrace_filter");
		return;
	}
	check_full(p);
	check_refused_sites(p);
	check_answers(p);
	if (is_empty(p, "available_filter_functions"))
		complain(p, "None of these functions can be traced.",
			 "compile C and C++ with -fpatchable-function-entry=5 or -pg; events need "
			 "neither");
	if (traced) {
		check_filters(p, graph);
		check_function_pids(p);
	}
	if (graph)
		check_limits(p);
	check_profile(p);
}

static void check_programs(struct patient *p)
{
	check_attached(p);
	check_functions(p);
	check_ended(p);
	check_pending(p);
	check_boot(p);
	check_refused(p);
	check_missed(p);
	check_untraced(p);
}

/* ---- checks of all sessions ---- */

static void check_switch(struct patient *p)
{
	char *on = doctor_read_text(p, "tracing_on");

	if (on && *on == '0')
		complain(p, "tracing_on is 0: the buffers record nothing.",
			 "tracefuse write tracing_on 1; a traceoff trigger may have set it");
	free(on);
}

static void check_pids(struct patient *p)
{
	char *pids = doctor_read_text(p, "set_event_pid");
	char *no_pids = doctor_read_text(p, "set_event_notrace_pid");

	if (pids && *pids && strncmp(pids, "no pid", 6))
		complain(p, "set_event_pid lets only some processes pass.",
			 "tracefuse write set_event_pid ''");
	if (no_pids && *no_pids && strncmp(no_pids, "no pid", 6))
		complain(p, "set_event_notrace_pid keeps some processes out.",
			 "tracefuse write set_event_notrace_pid ''");
	free(pids);
	free(no_pids);
}

static void check_replay(struct patient *p)
{
	char *replay = doctor_read_text(p, "replay");

	if (!replay)
		return;
	printf("recording:\n");
	for (const char *s = replay; *s; s = text_next_line(s))
		printf("  %.*s\n", (int)strcspn(s, "\n"), s);
	if (strstr(replay, "position: 0\n") && strstr(replay, "state: stopped"))
		complain(p, "The recording has not been started.", "tracefuse write replay start");
	free(replay);
}

/* A CPU's buffer has lost records: is there a larger one, or is it large already? */
static void complain_of_loss(struct patient *p, const char *cpu)
{
	unsigned long long kb;
	char path[300], cure[100], *text;

	snprintf(path, sizeof(path), "per_cpu/%s/buffer_size_kb", cpu);
	text = doctor_read_text(p, path);
	kb = text ? strtoull(text, NULL, 10) : 0;
	free(text);
	if (kb < LARGE_BUFFER_KB)
		snprintf(cure, sizeof(cure), "tracefuse write buffer_size_kb %llu",
			 kb < 4096 ? 16384 : 4 * kb);
	else
		snprintf(cure, sizeof(cure), "record fewer events, or save them while they come: "
			 "tracefuse run --drain -o FILE");
	complain(p, "Records were lost: the buffer is too small.", cure);
}

static int add_stats(void *arg, const char *name, bool is_dir)
{
	struct patient *p = arg;
	unsigned long long entries, lost;
	char path[300], *text = NULL;
	size_t len;

	if (!is_dir)
		return 0;
	snprintf(path, sizeof(path), "per_cpu/%s/stats", name);
	if (access_read_all(p->access, path, &text, &len))
		return 0;
	entries = client_stat(text, "entries: ");
	lost = client_stat(text, "\noverrun: ") + client_stat(text, "dropped events: ");
	if (entries || lost)
		printf("%s: %llu records, %llu lost\n", name, entries, lost);
	if (lost)
		complain_of_loss(p, name);
	free(text);
	return 0;
}

static void read_tracer(struct patient *p)
{
	char *tracer = doctor_read_text(p, "current_tracer");

	snprintf(p->tracer, sizeof(p->tracer), "%.*s", tracer ? (int)strcspn(tracer, "\n") : 3,
		 tracer ? tracer : "nop");
	free(tracer);
}

static int examine(struct access *a, bool all)
{
	struct patient p = { .access = a, .listed = all ? UINT_MAX : LISTED };
	char missed[64];

	read_tracer(&p);

	if (access_request(a, WIRE_INFO, "", -1, &p.info) < 0)
		p.info = NULL;
	p.programs = p.info && client_info(p.info, "missed", 0, missed, sizeof(missed));
	check_events(&p);
	print_kernel(&p);
	if (p.info) {
		check_lost(&p);
		print_notes(&p);
	}
	check_enabled(&p);
	a->ops->list(a, "instances", look_into_instance, &p);
	if (p.programs)
		check_programs(&p);
	check_replay(&p);
	check_switch(&p);
	check_probes(&p);
	if (p.info) {
		check_planted(&p);
		check_unplanted(&p);
	}
	check_pids(&p);
	a->ops->list(a, "per_cpu", add_stats, &p);
	if (!p.complaints)
		printf("Nothing stops events.\n");
	free(p.info);
	return COMMAND_DONE;
}

static int doctor_parse(int argc, char **argv, const char **session, bool *all)
{
	static const struct option options[] = {
		{ "verbose", no_argument, NULL, 'v' },
		{ "session", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	int opt;

	optind = 0;
	while ((opt = getopt_long(argc, argv, ":vs:", options, NULL)) != -1) {
		if (opt == 'v')
			*all = true;
		else if (opt == 's')
			*session = optarg;
		else if (opt == ':')
			return command_usage(&command_doctor, "%s needs an argument",
					     argv[optind - 1]);
		else
			return command_unknown_option(&command_doctor, argv[optind - 1]);
	}
	return argc - optind > 1 ? command_usage(&command_doctor, "too many arguments")
				 : COMMAND_DONE;
}

static int doctor_run(int argc, char **argv)
{
	const char *session = NULL;
	bool all = false;
	int status = doctor_parse(argc, argv, &session, &all);
	struct access *a;

	if (status)
		return status;
	a = client_connect_to(&command_doctor, optind < argc ? argv[optind] : session);
	if (!a)
		return COMMAND_FAILED;
	status = examine(a, all);
	access_close(a);
	return status;
}

const struct command command_doctor = {
	.name = "doctor",
	.summary = "say why a trace is empty",
	.run = doctor_run,
	.help =
"usage: tracefuse doctor [OPTION] [SESSION]\n"
"\n"
"Checks what an event has to pass before it is in the file trace, and says what\n"
"stops it: no events, none enabled or soft-disabled, no program attached, a\n"
"recording that was not started, tracing_on 0, set_event_pid, filters, definitions\n"
"that were refused, hits and records lost. Of functions: programs that were built\n"
"without sites, functions that cannot be traced and why, filters that leave none,\n"
"set_ftrace_pid, tracing_thresh. Lists settings that wait for their event, and\n"
"what was refused in processes that have ended.\n"
"\n"
"  -v, --verbose       whole lists, which are cut off after eight lines otherwise\n"
"  -s, --session NAME  the session\n",
};
