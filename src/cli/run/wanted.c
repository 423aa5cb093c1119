/* SPDX-License-Identifier: MIT */
/*
 * wanted.c - events and files of -e and --cat that do not exist: prints mistakes before the program
 *            begins
 *
 * Events may come later, by dlopen() or with a program that is executed. The command waits for
 * these, and at the end it prints those that never came. No other files come later.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "access/access.h"
#include "cli/event_names.h"
#include "server/nearest.h"
#include "cli/run/run.h"
#include "model/text_memory.h"

enum { NEAR_ROOM = 256 };

static enum event_names_verdict run_wanted_judge(struct run *r, const char *name,
						 char near[NEAR_ROOM])
{
	enum event_names_verdict verdict;
	char *lines;
	size_t len;

	*near = '\0';
	if (access_read_all(r->access, "available_events", &lines, &len))
		return EVENT_NAMES_LATER;
	verdict = event_names_judge(lines, name, near, NEAR_ROOM);
	free(lines);
	return verdict;
}

/* A program may bring it. The running kernel has all its events when the command begins. */
static bool comes_later(const struct run *r, enum event_names_verdict verdict)
{
	return verdict == EVENT_NAMES_LATER && r->command != &command_live;
}

/* Prints a mistake. With --keep-going the command still waits for the event. */
static void run_wanted_refuse(struct run *r, const char *option, const char *name, const char *what,
			      const char *near)
{
	char hint[NEAR_ROOM + 16];

	event_names_hint(near, hint, sizeof(hint));
	message_error("%s %s: %s%s", option, name, what, hint);
	r->refused = true;
}

bool run_wanted_event(struct run *r, const char *name)
{
	char near[NEAR_ROOM];

	if (r->set_up || r->keep_going || comes_later(r, run_wanted_judge(r, name, near)))
		return false;
	run_wanted_refuse(r, "-e", name, "there is no such event", near);
	return true;
}

/* ---- --cat ---- */

static int run_wanted_add_name(void *arg, const char *name, bool is_dir)
{
	fprintf(arg, "%s\n", name);
	return 0;
}

/* Finds files in the same directory with a similar name, with the directory before the name. */
static void near_files(struct run *r, const char *path, char near[NEAR_ROOM])
{
	const char *slash = strrchr(path, '/');
	char dir[512], *names = NULL;
	size_t size;
	FILE *out = text_memory_open(&names, &size);

	*near = '\0';
	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) : 0, path);
	if (!out)
		return;
	r->access->ops->list(r->access, dir, run_wanted_add_name, out);
	if (!fclose(out))
		nearest_names(slash ? slash + 1 : path, names, near, NEAR_ROOM);
	free(names);
}

/*
 * Makes SYSTEM:EVENT from events/SYSTEM/EVENT/FILE, also of an instance. False: it is no such path.
 */
static bool event_of(const char *path, char out[NEAR_ROOM])
{
	const char *at = path, *event, *file;

	if (!strncmp(at, "instances/", 10)) {
		at += 10;
		at += strcspn(at, "/");
	}
	at += *at == '/';
	if (strncmp(at, "events/", 7))
		return false;
	at += 7;
	event = strchr(at, '/');
	file = event ? strchr(event + 1, '/') : NULL;
	if (!file || file - at >= NEAR_ROOM)
		return false;
	snprintf(out, NEAR_ROOM, "%.*s:%.*s", (int)(event - at), at, (int)(file - event - 1),
		 event + 1);
	return true;
}

static bool exists(struct run *r, const char *event)
{
	char path[NEAR_ROOM + 16];
	mode_t mode;

	snprintf(path, sizeof(path), "events/%s", event);
	*strchr(path, ':') = '/';
	return !r->access->ops->stat(r->access, path, &mode);
}

static void run_wanted_check_file(struct run *r, const char *path)
{
	char near[NEAR_ROOM], event[NEAR_ROOM];
	mode_t mode;
	int ret = r->access->ops->stat(r->access, path, &mode);

	if (!ret && S_ISDIR(mode))
		run_wanted_refuse(r, "--cat", path, strerror(EISDIR), "");
	if (ret != -ENOENT)
		return;
	if (event_of(path, event) && !exists(r, event)) {
		if (!comes_later(r, run_wanted_judge(r, event, near)))
			run_wanted_refuse(r, "--cat", path, "there is no such event", near);
		return;
	}
	near_files(r, path, near);
	run_wanted_refuse(r, "--cat", path, "there is no such file", near);
}

void run_wanted_files(struct run *r)
{
	for (unsigned int i = 0; i < r->asked.cats.nr && !r->keep_going; i++)
		run_wanted_check_file(r, r->asked.cats.v[i]);
}
