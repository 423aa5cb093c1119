/* SPDX-License-Identifier: MIT */
/* kept.c - the reader of the file that was asked for last stays for the next function */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "debug/prototype.h"

enum { IDLE_MS = 3000 };

struct debug_kept {
	struct debug	*debug;		/* NULL: the file has no debug information */
	char		*path;
	struct stat	status;		/* of the file that was read */
	bool		used;		/* since debug_kept_rest() looked */
	int64_t		since;		/* ms: not used */
};

static bool is_same_moment(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_same_file(const struct debug_kept *k, const char *path, const struct stat *now)
{
	return !strcmp(k->path, path) && now->st_dev == k->status.st_dev &&
	       now->st_ino == k->status.st_ino && now->st_size == k->status.st_size &&
	       is_same_moment(&now->st_mtim, &k->status.st_mtim) &&
	       is_same_moment(&now->st_ctim, &k->status.st_ctim);
}

static int kept_open(const char *path, const struct stat *status, struct debug_kept **out)
{
	struct debug_kept *k = calloc(1, sizeof(*k));
	int err = k && (k->path = strdup(path)) ? debug_open(path, &k->debug) : -ENOMEM;

	/* That it has no debug information is worth as much to know. */
	if (err && err != -ENOENT) {
		debug_kept_free(k);
		return err;
	}
	k->status = *status;
	*out = k;
	return 0;
}

static void kept_drop(struct debug_kept **kept)
{
	debug_kept_free(*kept);
	*kept = NULL;
}

int debug_kept_prototype(struct debug_kept **kept, const char *path, uint64_t address,
			 struct prototype *out)
{
	struct stat now;
	int err;

	if (stat(path, &now))
		return -errno;
	if (*kept && !is_same_file(*kept, path, &now))
		kept_drop(kept);
	err = *kept ? 0 : kept_open(path, &now, kept);
	if (err)
		return err;
	(*kept)->used = true;
	err = (*kept)->debug ? debug_ask((*kept)->debug, address, out) : -ENOENT;
	/* The next function gets a reader of its own. */
	if (err && err != -ENOENT)
		kept_drop(kept);
	return err;
}

void debug_kept_rest(struct debug_kept **kept, int64_t now)
{
	struct debug_kept *k = *kept;

	if (!k)
		return;
	if (k->used)
		k->since = now;
	k->used = false;
	if (now - k->since > IDLE_MS)
		kept_drop(kept);
}

void debug_kept_free(struct debug_kept *k)
{
	if (!k)
		return;
	debug_close(k->debug);
	free(k->path);
	free(k);
}
