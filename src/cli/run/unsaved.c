/* SPDX-License-Identifier: MIT */
/*
 * unsaved.c - if results cannot be written, lets the session stay and prints commands that save
 *             them
 *
 * The commands work as they are printed. They write to a directory of the user that has much room.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "access/access.h"
#include "host/output.h"
#include "cli/run/run.h"

/* Whether the path needs no quotes in a shell. */
static bool is_plain(const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789/._-+,";

	return *path && !path[strspn(path, plain)];
}

/* The free bytes there; 0: nothing can be written there. */
static unsigned long long room_at(const char *dir, const char *path)
{
	struct output *out;
	struct statvfs fs;

	if (!is_plain(path) || output_open(path, &out))
		return 0;
	output_close(out);
	return statvfs(dir, &fs) ? 1 : 1 + (unsigned long long)fs.f_bavail * fs.f_frsize;
}

/* Chooses a path such as HOME/NAME: the first directory, unless another one has much more room. */
static void find_place(const char *name, char *out, size_t size)
{
	const char *const dirs[] = { getenv("HOME"), getenv("TMPDIR"), "/var/tmp", "/tmp" };
	unsigned long long best = 0, room;
	char path[PATH_MAX];

	snprintf(out, size, "FILE");
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		if (!dirs[i] || *dirs[i] != '/')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dirs[i], name);
		room = room_at(dirs[i], path);
		if (room / 2 > best || (room && !best)) {
			best = room;
			snprintf(out, size, "%s", path);
		}
	}
}

static void print_cat(const struct run *r, const char *command, const char *place)
{
	fprintf(stderr, "    %s cat -s %s --", command, r->name);
	for (unsigned int i = 0; i < r->asked.cats.nr; i++)
		fprintf(stderr, " %s", r->asked.cats.v[i]);
	fprintf(stderr, " > %s.txt\n", place);
}

/* save_dat() leaves it off where new events would replace what is to be saved. */
static bool is_off(const struct run *r)
{
	bool off;
	char *text;
	size_t len;

	if (!r->access || access_read_all(r->access, "tracing_on", &text, &len))
		return false;
	off = *text == '0';
	free(text);
	return off;
}

void run_unsaved(struct run *r)
{
	const bool plain = is_plain(program_invocation_name);
	const char *command = plain ? program_invocation_name : "tracefuse";
	const bool dat = r->results.unsaved_dat || r->crash.unsaved;
	char place[PATH_MAX];

	if (!dat && !r->results.unsaved_cats)
		return;
	if (run_server_stay(r) < 0) {
		message_error("run: the session is lost with all its records");
		return;
	}
	fprintf(stderr,
		"tracefuse: what was recorded is still in the session %s.%s To save it, and then "
		"to end it:\n",
		r->name, is_off(r) ? " It records no more (tracing_on is 0)." : "");
	find_place(r->name, place, sizeof(place));
	if (dat)
		fprintf(stderr, "    %s save -s %s %s%s.dat\n", command, r->name,
			r->asked.compress ? "--compress " : "", place);
	if (r->results.unsaved_cats)
		print_cat(r, command, place);
	fprintf(stderr, "    %s sessions --end %s\n", command, r->name);
}
