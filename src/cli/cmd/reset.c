/* SPDX-License-Identifier: MIT */
/* reset.c - `tracefuse reset`: brings a session back to its start */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "model/instance/options.h"
#include "layout/layout.h"
#include "session/array.h"

struct names {
	char		**v;
	unsigned int	nr;
};

static int reset_add_name(void *arg, const char *name, bool is_dir)
{
	struct names *n = arg;

	if (is_dir && !array_room(&n->v, n->nr, sizeof(*n->v)))
		n->v[n->nr++] = strdup(name);
	return 0;
}

static void free_names(struct names *n)
{
	for (unsigned int i = 0; i < n->nr; i++)
		free(n->v[i]);
	free(n->v);
}

static struct names list_names(struct access *a, const char *path)
{
	struct names n = { 0 };

	a->ops->list(a, path, reset_add_name, &n);
	return n;
}

/* Writes a file. Files that the session does not have are skipped. */
static void reset_put(struct access *a, const char *dir, const char *file, const char *text)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s%s", dir, file);
	access_write_all(a, path, O_TRUNC, text, strlen(text), NULL);
}

/* Whether the file has triggers. *text is the caller's. */
static bool read_triggers(struct access *a, const char *path, char **text)
{
	size_t len;

	if (access_read_all(a, path, text, &len))
		return false;
	if (**text && **text != '#')
		return true;
	free(*text);
	return false;
}

/*
 * Opening with truncation removes only hists, enable_hist and disable_hist, and no hist whose
 * variables are in use. Returns whether to try again.
 */
static bool clear_trigger_file(struct access *a, const char *path)
{
	char *text, *rest, *line, removal[1024];
	int n;

	if (!read_triggers(a, path, &text))
		return false;
	free(text);
	access_write_all(a, path, O_TRUNC, "", 0, NULL);
	if (!read_triggers(a, path, &text))
		return true;
	for (rest = text; (line = strsep(&rest, "\n"));) {
		n = snprintf(removal, sizeof(removal), "!%s\n", line);
		if (*line && strncmp(line, "hist:", 5) && n < (int)sizeof(removal))
			access_write_all(a, path, O_APPEND, removal, (size_t)n,
					 NULL);
	}
	free(text);
	return true;
}

static bool clear_triggers(struct access *a, const char *dir)
{
	struct names systems, events;
	char path[1024];
	bool left = false;

	snprintf(path, sizeof(path), "%sevents", dir);
	systems = list_names(a, path);
	for (unsigned int i = 0; i < systems.nr; i++) {
		snprintf(path, sizeof(path), "%sevents/%s", dir, systems.v[i]);
		events = list_names(a, path);
		for (unsigned int k = 0; k < events.nr; k++) {
			snprintf(path, sizeof(path), "%sevents/%s/%s/trigger", dir, systems.v[i],
				 events.v[k]);
			left |= clear_trigger_file(a, path);
		}
		free_names(&events);
		snprintf(path, sizeof(path), "events/%s/filter", systems.v[i]);
		reset_put(a, dir, path, "0\n");
	}
	free_names(&systems);
	return left;
}

/*
 * Makes the command that removes a line. The line ends in :unlimited, or in :count=N, for which any
 * number may be written.
 */
static char *command_removal(const char *line)
{
	const char *last = strrchr(line, ':');
	const bool counted = !strncmp(last, ":count=", 7),
		   ends = counted || !strcmp(last, ":unlimited");
	char *text;

	if (asprintf(&text, "!%.*s%s\n", (int)(ends ? (size_t)(last - line) : strlen(line)), line,
		     counted ? ":0" : "") < 0)
		return NULL;
	return text;
}

/* Truncation does not remove function commands, so they are removed one by one. */
static void remove_commands(struct access *a, const char *dir)
{
	char path[1024], *text, *rest, *line, *not;
	size_t len;

	snprintf(path, sizeof(path), "%sset_ftrace_filter", dir);
	if (access_read_all(a, path, &text, &len))
		return;
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		not = *line != '#' && strchr(line, ':') ? command_removal(line) : NULL;
		if (!not)
			continue;
		access_write_all(a, path, O_APPEND, not, strlen(not), NULL);
		free(not);
	}
	free(text);
}

static void reset_functions(struct access *a, const char *dir)
{
	static const char *const files[] = {
		"set_ftrace_filter",	  "set_ftrace_notrace", "set_ftrace_pid",
		"set_ftrace_notrace_pid", "set_graph_function", "set_graph_notrace",
	};

	reset_put(a, dir, "function_profile_enabled", "0\n");
	reset_put(a, dir, "stack_tracer_enabled", "0\n");
	reset_put(a, dir, "stack_max_size", "0\n");
	reset_put(a, dir, "stack_trace_filter", "");
	remove_commands(a, dir);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		reset_put(a, dir, files[i], "");
}

struct place {
	struct access	*access;
	const char	*dir;
	unsigned int	nr;
};

/*
 * hash-ptr is left as the session's source needs it, and trace_printk_dest, because it depends on
 * other instances.
 */
static void reset_options(struct access *a, const char *dir)
{
	uint64_t first = options_default();
	char path[300];

	if (*dir)
		first &= ~(1ull << OPTION_COPY_TRACE_MARKER);
	for (int o = 0; o < OPTION_COUNT; o++) {
		if (o == OPTION_HASH_PTR || o == OPTION_TRACE_PRINTK_DEST)
			continue;
		/* Some are in no directory, or not in this one. */
		snprintf(path, sizeof(path), "options/%s", option_names[o]);
		reset_put(a, dir, path, options_test(first, o) ? "1\n" : "0\n");
	}
}

static int count_cpu(void *arg, const char *name, bool is_dir)
{
	struct place *p = arg;

	p->nr += is_dir;
	return 0;
}

/* Writes a mask with a bit for each CPU, in groups of eight digits, the highest first. */
static void reset_cpumask(struct place *p)
{
	char path[1024], text[LAYOUT_MAX_CPUS / 4 + LAYOUT_MAX_CPUS / 32 + 2];
	size_t at = 0;

	snprintf(path, sizeof(path), "%sper_cpu", p->dir);
	p->access->ops->list(p->access, path, count_cpu, p);
	if (!p->nr || p->nr > LAYOUT_MAX_CPUS)
		return;
	for (unsigned int digit = (p->nr - 1) / 4 + 1; digit--;) {
		const unsigned int bits = p->nr - 4 * digit < 4 ? p->nr - 4 * digit : 4;

		text[at++] = "0137f"[bits];
		if (digit && digit % 8 == 0)
			text[at++] = ',';
	}
	text[at] = '\0';
	reset_put(p->access, p->dir, "tracing_cpumask", text);
}

static void reset_settings(struct access *a, const char *dir)
{
	struct place p = { .access = a, .dir = dir };

	reset_options(a, dir);
	reset_cpumask(&p);
	reset_put(a, dir, "trace_clock", "local\n");
	reset_put(a, dir, "syscall_user_buf_size", "0\n");
}

static void reset_instance(struct access *a, const char *dir)
{
	reset_put(a, dir, "tracing_on", "0\n");
	reset_put(a, dir, "current_tracer", "nop\n");
	reset_functions(a, dir);
	reset_put(a, dir, "tracing_max_latency", "0\n");
	reset_put(a, dir, "tracing_thresh", "0\n");
	reset_put(a, dir, "max_graph_depth", "0\n");
	reset_put(a, dir, "set_event", "\n");
	reset_put(a, dir, "events/enable", "0\n");
	for (int round = 0; round < 8 && clear_triggers(a, dir); round++)
		;
	reset_put(a, dir, "set_event_pid", "");
	reset_put(a, dir, "set_event_notrace_pid", "");
	reset_put(a, dir, "snapshot", "0\n");
	reset_settings(a, dir);
	reset_put(a, dir, "trace", "");
	reset_put(a, dir, "error_log", "");
	reset_put(a, dir, "tracing_on", "1\n");
}

static int remove_instances(struct access *a)
{
	struct names n = list_names(a, "instances");
	char path[1024];
	int status = COMMAND_DONE;

	for (unsigned int i = 0; i < n.nr; i++) {
		int ret;

		snprintf(path, sizeof(path), "instances/%s/", n.v[i]);
		reset_instance(a, path);
		path[strlen(path) - 1] = '\0';
		ret = a->ops->rmdir(a, path);
		if (ret < 0)
			status = message_error("reset: %s: %s", path, strerror(-ret));
	}
	free_names(&n);
	return status;
}

/*
 * Removes event probes first, because truncation stops at a synthetic event that an event probe is
 * attached to.
 */
static void clear_dynamic_events(struct access *a)
{
	char command[256], *text, *rest, *line;
	size_t len;

	if (access_read_all(a, "dynamic_events", &text, &len))
		return;
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		if (strncmp(line, "e:", 2))
			continue;
		snprintf(command, sizeof(command), "-:%.*s\n", (int)strcspn(line + 2, " "),
			 line + 2);
		access_write_all(a, "dynamic_events", O_APPEND, command, strlen(command), NULL);
	}
	free(text);
	reset_put(a, "", "dynamic_events", "");
}

static int reset_run(int argc, char **argv)
{
	struct access *a;
	int status = client_connect_arguments(&command_reset, argc, argv, &a);

	if (status)
		return status;
	status = remove_instances(a);
	reset_instance(a, "");
	clear_dynamic_events(a);
	reset_put(a, "", "replay", "stop\n");
	reset_put(a, "", "replay", "rewind\n");
	access_close(a);
	return status;
}

const struct command command_reset = {
	.name = "reset",
	.summary = "set a session back to its start",
	.run = reset_run,
	.help =
"usage: tracefuse reset [SESSION]\n"
"\n"
"Disables all events. Removes triggers, filters, pids, instances, synthetic events\n"
"and event probes. Sets the tracer to nop. Removes filters of functions, function\n"
"commands, graph functions, pids, thresholds and depths. Sets options and the clock\n"
"as they were. Clears the buffers and the error log, switches tracing on, and\n"
"rewinds the recording.\n"
"`tracefuse sessions --end SESSION` ends a session.\n",
};
