/* SPDX-License-Identifier: MIT */
/*
 * events.c - the events of a session or a recording, with their fields
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access/access.h"
#include "cli/list/list.h"
#include "cli/replay_session.h"
#include "host/message.h"
#include "sources/recording/source.h"

/* ---- One event ---- */

/* Prints "TYPE NAME" of a line "\tfield:TYPE NAME;\toffset:..." of a format. */
static void print_field(const char *line)
{
	const char *text = line + strspn(line, "\t ");

	if (strncmp(text, "field:", 6))
		return;
	text += 6;
	if (!strstr(text, " common_") || strstr(text, " common_") > strchr(text, ';'))
		printf("    %.*s\n", (int)strcspn(text, ";"), text);
}

static void print_fields(struct access *a, const char *system, const char *event)
{
	char path[512], *text, *rest, *line;
	size_t len;

	snprintf(path, sizeof(path), "events/%s/%s/format", system, event);
	if (access_read_all(a, path, &text, &len))
		return;
	rest = text;
	while ((line = strsep(&rest, "\n")))
		print_field(line);
	free(text);
}

/* ---- All of them ---- */

struct walk {
	struct list	*list;
	struct access	*access;
	const char	*system;
};

static int event_list(void *arg, const char *name, bool is_dir)
{
	struct walk *w = arg;
	char full[512];

	snprintf(full, sizeof(full), "%s:%s", w->system, name);
	if (!is_dir || !list_wants(w->list, "event", full))
		return 0;
	list_count_line(w->list);
	if (w->list->summary)
		return 0;
	printf("event:%s\n", full);
	if (w->list->details)
		print_fields(w->access, w->system, name);
	return 0;
}

static int system_list(void *arg, const char *name, bool is_dir)
{
	struct walk *w = arg;
	char path[512];

	if (!is_dir)
		return 0;
	w->system = name;
	snprintf(path, sizeof(path), "events/%s", name);
	return w->access->ops->list(w->access, path, event_list, w);
}

int list_session(struct list *l, struct access *a)
{
	struct walk w = { .list = l, .access = a };
	int ret = a->ops->list(a, "events", system_list, &w);

	if (l->summary)
		printf("%-52s %8zu\n", "events", l->printed);
	return ret < 0 ? message_error("list: events: %s", strerror(-ret)) : COMMAND_DONE;
}

/* ---- A recording ---- */

int list_recording(struct list *l, const char *path)
{
	struct source_params params = { .files = &path, .nr_files = 1 };
	struct replay_session s = { .source = NULL };
	struct source_error err = { .text = "" };
	int status;

	if (replay_session_open(&s, &params, &err))
		status = message_error("list: %s: %s", path, err.text);
	else
		status = list_session(l, s.access);
	replay_session_destroy(&s);
	return status;
}
