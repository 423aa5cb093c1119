/* SPDX-License-Identifier: MIT */
/* output.c - files that appear only when they are complete */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "host/links.h"
#include "host/output.h"

enum { TRIES = 100, ROOM = 64 * 1024 };	/* ROOM: bytes that must be free at the start */

struct output {
	int		dir;		/* O_PATH */
	char		name[NAME_MAX + 1];
	int		as_is;		/* the existing file, if it is written in place; else -1 */
	mode_t		mode;		/* of the existing file; 0: there is none */
	/* Name of the new file, until it is complete; "": none yet */
	char		temp[64];
	FILE		*file;
};

/* ---- the new file, in the same directory ---- */

/* The name is independent of the file's own name, which may have the maximum length already. */
static void temp_name(struct output *o, int i)
{
	snprintf(o->temp, sizeof(o->temp), ".tracefuse-%d-%d", (int)getpid(), i);
}

static int temp_open(struct output *o)
{
	int fd = -1;

	for (int i = 0; i < TRIES && fd < 0; i++) {
		temp_name(o, i);
		fd = openat(o->dir, o->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    o->mode ? o->mode & 0600 : 0666);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd < 0 ? -errno : fd;
}

/*
 * Opens a file without a name. It ends with the process, so a signal leaves nothing behind. It gets
 * its name later, by way of /proc. -errno if the file system has no such files, or if there is no
 * /proc.
 */
static int unnamed_open(struct output *o)
{
	int fd;

	o->temp[0] = '\0';
	if (faccessat(AT_FDCWD, "/proc/self/fd", X_OK, 0))
		return -errno;
	fd = openat(o->dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, o->mode ? o->mode & 0600 : 0666);
	return fd < 0 ? -errno : fd;
}

static int unnamed_link(struct output *o)
{
	char path[64];
	int ret = -1;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(o->file));
	for (int i = 0; i < TRIES && ret; i++) {
		temp_name(o, i);
		ret = linkat(AT_FDCWD, path, o->dir, o->temp, AT_SYMLINK_FOLLOW);
		if (ret && errno != EEXIST)
			break;
	}
	if (!ret)
		return 0;
	o->temp[0] = '\0';
	return -errno;
}

static bool is_full(int err)
{
	return err == ENOSPC || err == EDQUOT || err == EFBIG;
}

/* Checks that a file can be made there, and that the disk has room. 0 or -errno. */
static int probe(struct output *o)
{
	int fd = openat(o->dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600), err = 0;
	const bool named = fd < 0;

	/* Not every file system can make a file without a name. */
	if (named)
		fd = temp_open(o);
	if (fd < 0)
		return fd;
	if (fallocate(fd, 0, 0, ROOM) && is_full(errno))
		err = -errno;
	close(fd);
	if (named)
		unlinkat(o->dir, o->temp, 0);
	return err;
}

/* ---- the file that exists ---- */

static bool in_proc(const struct output *o)
{
	struct statfs fs;

	return !fstatfs(o->dir, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

/* In a sticky directory only the directory's owner and the file's owner may replace the file. */
static int check_sticky(const struct output *o, const struct stat *file)
{
	struct stat dir;

	if (fstat(o->dir, &dir))
		return -errno;
	if (!(dir.st_mode & S_ISVTX) || !geteuid())
		return 0;
	if (file->st_uid == geteuid() || dir.st_uid == geteuid())
		return 0;
	return -EPERM;
}

static int output_check_file(struct output *o, const struct stat *st)
{
	o->mode = st->st_mode & 0777;
	if (faccessat(o->dir, o->name, W_OK, AT_EACCESS))
		return -errno;
	return check_sticky(o, st);
}

static int open_as_is(struct output *o)
{
	o->as_is = openat(o->dir, o->name, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (o->as_is < 0)
		return -errno;
	fcntl(o->as_is, F_SETFL, 0);
	return lseek(o->as_is, 0, SEEK_SET) < 0 ? -errno : 0;
}

/* Whether the file is a mount point, as in containers. Such a file cannot be replaced. */
static bool is_mounted(const struct output *o)
{
	struct statx sx;

	return !statx(o->dir, o->name, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &sx) &&
	       (sx.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

static int check(struct output *o)
{
	/* A link of /proc stands for the file that it leads to (/dev/stdout). */
	const bool proc = in_proc(o);
	struct stat st;
	int ret;

	if (fstatat(o->dir, o->name, &st, proc ? 0 : AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? probe(o) : -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
		return -ESPIPE;
	if (proc || !S_ISREG(st.st_mode) || is_mounted(o))
		return open_as_is(o);
	ret = output_check_file(o, &st);
	return ret ? ret : probe(o);
}

int output_open(const char *path, struct output **out)
{
	struct output *o = calloc(1, sizeof(*o));
	int ret;

	if (!o)
		return -ENOMEM;
	o->as_is = -1;
	o->dir = links_resolve(path, o->name);
	ret = o->dir < 0 ? o->dir : check(o);
	if (ret) {
		output_close(o);
		return ret;
	}
	*out = o;
	return 0;
}

void output_close(struct output *o)
{
	if (!o)
		return;
	if (o->file)
		output_end(o, false);
	if (o->as_is >= 0)
		close(o->as_is);
	if (o->dir >= 0)
		close(o->dir);
	free(o);
}

/* ---- writing ---- */

int output_spare(struct output *o)
{
	char name[64];
	int fd;

	if (o->as_is >= 0)
		return -EINVAL;
	fd = openat(o->dir, ".", O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
	/* Not every file system can make a file without a name. */
	for (int i = 0; i < TRIES && fd < 0; i++) {
		snprintf(name, sizeof(name), ".tracefuse-%d-spare-%d", (int)getpid(), i);
		fd = openat(o->dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0)
			unlinkat(o->dir, name, 0);
		else if (errno != EEXIST)
			break;
	}
	return fd < 0 ? -errno : fd;
}

static int descriptor(struct output *o)
{
	int fd;

	if (o->as_is >= 0) {
		fd = fcntl(o->as_is, F_DUPFD_CLOEXEC, 0);
		return fd < 0 ? -errno : fd;
	}
	fd = unnamed_open(o);
	return fd < 0 ? temp_open(o) : fd;
}

static void temp_remove(struct output *o)
{
	if (o->as_is < 0 && o->temp[0])
		unlinkat(o->dir, o->temp, 0);
}

FILE *output_begin(struct output *o)
{
	int fd = descriptor(o);

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	/* A device has no size to cut. */
	if (o->as_is >= 0 && ftruncate(fd, 0))
		errno = 0;
	o->file = fdopen(fd, "w");
	if (!o->file) {
		close(fd);
		temp_remove(o);
	}
	return o->file;
}

/*
 * The new file gets the mode of the file that it replaces. If that fails, it keeps its own mode,
 * which is narrower.
 */
static int output_finish(struct output *o, bool whole)
{
	int err = fflush(o->file) ? -errno : ferror(o->file) ? -EIO : 0;

	if (o->mode && fchmod(fileno(o->file), o->mode))
		errno = 0;
	if (!err && whole && o->as_is < 0 && !o->temp[0])
		err = unnamed_link(o);
	if (fclose(o->file) && !err)
		err = -errno;
	o->file = NULL;
	return err;
}

int output_end(struct output *o, bool whole)
{
	int err = output_finish(o, whole);

	if (o->as_is >= 0)
		return err;
	if (!err && whole && renameat(o->dir, o->temp, o->dir, o->name))
		err = -errno;
	if (err || !whole)
		temp_remove(o);
	return err;
}

/* ---- signals ---- */

static const int ignored[] = { SIGPIPE, SIGXFSZ };

enum { IGNORED = sizeof(ignored) / sizeof(*ignored) };

/* The dispositions that this process began with. */
static struct sigaction given[IGNORED];
static bool ignores;

void output_signals_ignore(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	for (int i = 0; i < IGNORED && !ignores; i++)
		sigaction(ignored[i], &ignore, &given[i]);
	ignores = true;
}

void output_signals_restore(void)
{
	for (int i = 0; i < IGNORED && ignores; i++)
		sigaction(ignored[i], &given[i], NULL);
}

void output_signals_die(void)
{
	output_signals_restore();
	raise(SIGPIPE);
}

/* The signals that end a command. */
static const int ends[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };

static sigset_t given_mask;
static bool holds;

void output_signals_hold(const sigset_t *given)
{
	sigset_t mask = *given;

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaddset(&mask, ends[i]);
	given_mask = *given;
	holds = true;
	sigprocmask(SIG_SETMASK, &mask, NULL);
}

void output_signals_let_in(void)
{
	if (holds)
		sigprocmask(SIG_SETMASK, &given_mask, NULL);
	holds = false;
}
