/* SPDX-License-Identifier: MIT */
/*
 * event_names.c - finds the events that a name means, and decides whether a name that means none is
 *                 a mistake
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access/access.h"
#include "agent/providers/table.h"
#include "cli/event_names.h"
#include "model/text.h"
#include "server/nearest.h"
#include "model/text_memory.h"
#include "sources/program/programs.h"

enum { NAME_ROOM = 256 };

/* Whether the pattern SYSTEM, EVENT or SYSTEM:EVENT matches a line "SYSTEM:EVENT". */
static bool event_names_matches(const char *pattern, const char *line)
{
	char system[NAME_ROOM];
	const char *event = strchr(line, ':');

	if (strchr(pattern, ':'))
		return !fnmatch(pattern, line, 0);
	if (!event || event - line >= NAME_ROOM)
		return false;
	snprintf(system, sizeof(system), "%.*s", (int)(event - line), line);
	return !fnmatch(pattern, system, 0) || !fnmatch(pattern, event + 1, 0);
}

/* Calls fn for each line, without its newline. */
static void event_names_each_line(const char *lines, void (*fn)(void *arg, const char *line),
				  void *arg)
{
	char line[2 * NAME_ROOM];

	for (; *lines; lines = text_next_line(lines)) {
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(lines, "\n"), lines);
		if (*line)
			fn(arg, line);
	}
}

/* Whether the system has all its events from the start. */
static bool is_whole(const char *system)
{
	char *unknown = programs_unknown_system(system);
	bool whole = *system && !strchr(system, ',') && !unknown;

	free(unknown);
	return whole;
}

/* `pattern` is not used. */
static bool costs_little(const char *pattern, const char *line)
{
	char system[NAME_ROOM];

	(void)pattern;
	snprintf(system, sizeof(system), "%.*s", (int)strcspn(line, ":"), line);
	return !fnmatch("lock:contention_*", line, 0) || !is_whole(system);
}

struct matching {
	bool		(*matches)(const char *pattern, const char *line);
	const char	*pattern;
	FILE		*out;		/* gets the lines that match */
	unsigned int	nr;
};

static void match_line(void *arg, const char *line)
{
	struct matching *m = arg;

	if (!m->matches(m->pattern, line))
		return;
	fprintf(m->out, "%s\n", line);
	m->nr++;
}

static int write_names(struct access *a, const char *text, size_t len)
{
	return access_write_all(a, "set_event", O_APPEND, text, len, NULL);
}

static int enable_matching(struct access *a,
			   bool (*matches)(const char *pattern, const char *line),
			   const char *pattern)
{
	struct matching m = { .matches = matches, .pattern = pattern };
	char *lines, *text = NULL;
	size_t len;
	int ret = access_read_all(a, "available_events", &lines, &len);

	if (ret)
		return ret;
	m.out = text_memory_open(&text, &len);
	if (m.out) {
		event_names_each_line(lines, match_line, &m);
		ret = fclose(m.out) ? -ENOMEM : m.nr ? write_names(a, text, len) : -EINVAL;
	}
	free(text);
	free(lines);
	return m.out ? ret : -ENOMEM;
}

int event_names_enable(struct access *a, const char *name)
{
	const size_t len = strlen(name), glob = strcspn(name, "*?[");
	/* The file set_event itself accepts "SYSTEM:*". */
	const bool whole = len > 2 && glob == len - 1 && !strcmp(name + len - 2, ":*");
	char text[2 * NAME_ROOM];
	size_t n;

	if (!strcmp(name, "all"))
		return enable_matching(a, event_names_matches, "*:*");
	if (glob < len && !whole)
		return enable_matching(a, event_names_matches, name);
	n = (size_t)snprintf(text, sizeof(text), "%s\n", name);
	return n < sizeof(text) ? write_names(a, text, n) : -EINVAL;
}

int event_names_enable_plain(struct access *a)
{
	return enable_matching(a, costs_little, NULL);
}

/* ---- mistakes ---- */

static void list_parts(void *arg, const char *line)
{
	const char *colon = strchr(line, ':');

	if (colon)
		fprintf(arg, "%.*s\n%s\n", (int)(colon - line), line, colon + 1);
}

/* Makes a list of systems and events, for a name that may be either. */
static char *parts_of(const char *lines)
{
	char *text = NULL;
	size_t size;
	FILE *out = text_memory_open(&text, &size);

	if (!out)
		return NULL;
	event_names_each_line(lines, list_parts, out);
	fclose(out);
	return text;
}

static void event_names_replace(char *text, char from, char to)
{
	for (; *text; text++)
		if (*text == from)
			*text = to;
}

/*
 * Finds names near SYSTEM:EVENT. nearest_names() ends a name at a colon, so dots replace the
 * colons; no name contains a dot.
 */
static void nearest_pairs(const char *lines, const char *name, char *near, size_t size)
{
	char *dotted = strdup(lines), *wanted = strdup(name);

	*near = '\0';
	if (dotted && wanted) {
		event_names_replace(dotted, ':', '.');
		event_names_replace(wanted, ':', '.');
		nearest_names(wanted, dotted, near, size);
		event_names_replace(near, '.', ':');
	}
	free(dotted);
	free(wanted);
}

/* "syscalls:read" means two events. */
static void near_call(const char *lines, const char *name, char *near, size_t size)
{
	static const char system[] = "syscalls:";
	const size_t len = strlen(system);
	char line[NAME_ROOM];

	if (strncmp(name, system, len))
		return;
	snprintf(line, sizeof(line), "\n%ssys_enter_%s\n", system, name + len);
	if (strstr(lines, line))
		snprintf(near, size, "%ssys_enter_%s, %ssys_exit_%s", system, name + len, system,
			 name + len);
}

/*
 * Whether the name is a typing error of the other: one letter, or two in a longer name. If both
 * have the same system, only the events are compared.
 */
static bool is_slip(const char *name, const char *near)
{
	const size_t system = strcspn(name, ":") + 1, found = strcspn(near, ",");
	const bool same = name[system - 1] && found > system && !strncmp(name, near, system);
	const size_t skip = same ? system : 0, len = strlen(name) - skip;

	if (!found)
		return false;
	return nearest_distance(name + skip, len, near + skip, found - skip) <= (len < 6 ? 2 : 4);
}

enum event_names_verdict event_names_judge(const char *lines, const char *name, char *near,
					   size_t size)
{
	const size_t n = strcspn(name, ":");
	char system[NAME_ROOM], *parts;

	snprintf(system, sizeof(system), "%.*s", (int)n, name);
	*near = '\0';
	if (name[n]) {
		nearest_pairs(lines, name, near, size);
		near_call(lines, name, near, size);
	} else {
		parts = parts_of(lines);
		if (parts)
			nearest_names(name, parts, near, size);
		free(parts);
	}
	return is_whole(system) || is_slip(name, near) ? EVENT_NAMES_WRONG : EVENT_NAMES_LATER;
}

void event_names_hint(const char *near, char *out, size_t size)
{
	snprintf(out, size, "%s%s%s", *near ? " (there is " : "", near, *near ? ")" : "");
}

bool event_names_provider(const char *name, bool kernels, const char **out)
{
	const unsigned int end = kernels ? provider_count() : provider_kernel();
	struct provider_event e;

	for (unsigned int nr = kernels ? provider_kernel() : 0; nr < end; nr++) {
		provider_event(nr, false, &e);
		if (strcmp(e.name, name))
			continue;
		*out = e.system;
		return true;
	}
	return false;
}
