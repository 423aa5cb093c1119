/* SPDX-License-Identifier: MIT */
/*
 * cmd_doctor.c - `tracefuse doctor`: why a trace is empty
 *
 * Looks at what an event has to pass on its way to the file `trace`, in that
 * order, and says where it stops.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fronts/client.h"
#include "fronts/options.h"

struct patient {
	struct access	*access;
	unsigned int	complaints;
};

static char *read_text(struct patient *p, const char *path)
{
	char *text = NULL;
	size_t len;

	if (access_read_all(p->access, path, &text, &len))
		return NULL;
	return text;
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

static void check_events(struct patient *p)
{
	char *available = read_text(p, "available_events"), *enabled = read_text(p, "set_event");
	unsigned int nr = available ? count_lines(available) : 0;

	printf("events known: %u, enabled: %u\n", nr, enabled ? count_lines(enabled) : 0);
	if (!nr)
		complain(p, "The session knows no events.", "They come with a recording: tracefuse replay --session NAME RECORDING");
	else if (enabled && !*enabled)
		complain(p, "No event is enabled, so nothing is recorded (triggers count nevertheless).",
			 "tracefuse write set_event sched:sched_switch, or write events/sched/enable 1");
	free(available);
	free(enabled);
}

static void check_switch(struct patient *p)
{
	char *on = read_text(p, "tracing_on");

	if (on && *on == '0')
		complain(p, "tracing_on is 0: the buffers take nothing.",
			 "tracefuse write tracing_on 1; a traceoff trigger may have done it");
	free(on);
}

static void check_pids(struct patient *p)
{
	char *pids = read_text(p, "set_event_pid");

	if (pids && *pids && strncmp(pids, "no pid", 6))
		complain(p, "set_event_pid lets only some processes through.", "tracefuse write set_event_pid ''");
	free(pids);
}

static void check_replay(struct patient *p)
{
	char *replay = read_text(p, "replay");

	if (!replay)
		return;
	printf("recording:\n");
	for (const char *s = replay; *s; s += strcspn(s, "\n"), s += *s == '\n')
		printf("  %.*s\n", (int)strcspn(s, "\n"), s);
	if (strstr(replay, "position: 0\n") && strstr(replay, "state: stopped"))
		complain(p, "The recording has not been started.", "tracefuse write replay start");
	free(replay);
}

/* The number behind "KEY: " in a stats file. */
static unsigned long long stat_value(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
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
	entries = stat_value(text, "entries: ");
	lost = stat_value(text, "\noverrun: ") + stat_value(text, "dropped events: ");
	if (entries || lost)
		printf("%s: %llu records, %llu lost\n", name, entries, lost);
	if (lost)
		complain(p, "Records were lost: the buffer is too small.", "tracefuse write buffer_size_kb 16384");
	free(text);
	return 0;
}

static int list_filtered(void *arg, const char *name, bool is_dir)
{
	struct patient *p = arg;
	char path[300], *text;

	if (!is_dir)
		return 0;
	snprintf(path, sizeof(path), "events/%s/filter", name);
	text = read_text(p, path);
	if (text && strstr(text, "parse_error"))
		complain(p, "A filter is in error:", path);
	free(text);
	return 0;
}

static int examine(struct access *a)
{
	struct patient p = { .access = a };

	check_events(&p);
	check_replay(&p);
	check_switch(&p);
	check_pids(&p);
	a->ops->list(a, "events", list_filtered, &p);
	a->ops->list(a, "per_cpu", add_stats, &p);
	if (!p.complaints)
		printf("Nothing is in the way of events.\n");
	return COMMAND_DONE;
}

static int run(int argc, char **argv)
{
	const char *name = NULL;
	int status = options_parse(&command_doctor, argc, argv, &name, NULL, NULL);
	struct access *a;
	char *session;

	if (status)
		return status;
	if (argc - optind > 1)
		return command_usage(&command_doctor, "too many arguments");
	session = client_session(&command_doctor, optind < argc ? argv[optind] : name);
	a = session ? client_connect(&command_doctor, session) : NULL;
	free(session);
	if (!a)
		return COMMAND_FAILED;
	status = examine(a);
	access_close(a);
	return status;
}

const struct command command_doctor = {
	.name = "doctor",
	.summary = "say why a trace is empty",
	.run = run,
	.help =
"usage: tracefuse doctor [SESSION]\n"
"\n"
"Looks at what an event has to pass before it is in the file trace, and says what\n"
"is in its way: no events, none enabled, a recording that was not started,\n"
"tracing_on 0, set_event_pid, filters in error, records lost.\n",
};
