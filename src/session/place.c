/* SPDX-License-Identifier: MIT */
/*
 * place.c - where sessions lie: $XDG_RUNTIME_DIR/tracefuse/NAME, else /dev/shm/tracefuse-UID/NAME
 * (R3)
 *
 * The directory of a private session is ".PID-RANDOM": names of users never start with a dot. A
 * session that is being made has such a name, too. Private sessions without a server are removed.
 * Their pid does not matter, because it may belong to another name space.
 *
 * W1  A process that makes a session holds a shared flock() of the directory above until the
 *     session's socket listens. A process that removes sessions locks it exclusively: then a
 *     session whose socket does not listen has no server. The kernel drops the lock of a process
 *     that dies.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include "session/state.h"

#define TMPFS_MAGIC_NUMBER	0x01021994
#define RAMFS_MAGIC_NUMBER	0x858458f6

/*
 * Locked by the command that owns the session, as long as that lives. When the command and the
 * server are gone, the session is no longer needed.
 */
#define OWNER "owner"

enum { HOLD_TRIES = 100 };

static const char *const session_files[] = { "config", "data", "attach", "lock", "control",
					    "mounts", "what", "dump", OWNER };

static bool on_tmpfs(const char *dir)
{
	struct statfs st;

	return !statfs(dir, &st) &&
	       (st.f_type == TMPFS_MAGIC_NUMBER || st.f_type == RAMFS_MAGIC_NUMBER);
}

/* The directory is our own, and no other user may enter it. */
static int is_private(const struct stat *st)
{
	if (!S_ISDIR(st->st_mode))
		return -ENOTDIR;
	return st->st_uid != geteuid() || (st->st_mode & 077) ? -EACCES : 0;
}

static int private_dir(const char *path, bool create)
{
	struct stat st;

	if (create && mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	if (lstat(path, &st))
		return -errno;
	return is_private(&st);
}

int place_open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), err;
	struct stat st;

	if (fd < 0)
		return -errno;
	err = fstat(fd, &st) ? -errno : is_private(&st);
	if (!err)
		return fd;
	close(fd);
	return err;
}

const char *place_taken(void)
{
	static char text[4096 + 256];
	char base[4096] = "";

	place_base(base, sizeof(base), false);
	if (access(base, F_OK)) {
		snprintf(text, sizeof(text),
			 "the sessions' directory %s cannot be made: set XDG_RUNTIME_DIR to a "
			 "directory in memory that you may write", base);
		return text;
	}
	snprintf(text, sizeof(text),
		 "the sessions' directory %s belongs to another user or is open to others: "
		 "remove it, or set XDG_RUNTIME_DIR to a directory in memory that only you enter",
		 base);
	return text;
}

int place_base(char *out, size_t size, bool create)
{
	const char *run = getenv("XDG_RUNTIME_DIR");

	if (run && run[0] == '/' && on_tmpfs(run)) {
		if (snprintf(out, size, "%s/tracefuse", run) >= (int)size)
			return -ENAMETOOLONG;
	} else if (on_tmpfs("/dev/shm")) {
		snprintf(out, size, "/dev/shm/tracefuse-%u", (unsigned int)geteuid());
	} else {
		return -ENOTSUP;
	}
	return private_dir(out, create);
}

bool session_name_valid(const char *name)
{
	size_t len = strlen(name);

	if (!len || len > 63 || name[0] == '.' || name[0] == '-')
		return false;
	return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
	       len;
}

void place_private_name(char *out, size_t size)
{
	uint64_t number = 0;

	/* The number is unique even if two name spaces have the same pids at the same time. */
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		number = (uint64_t)session_now_ms() << 16 ^ (uintptr_t)&number;
	snprintf(out, size, ".%d-%016llx", (int)getpid(), (unsigned long long)number);
}

void place_hold(int base)
{
	const struct timespec pause = { .tv_nsec = 10000000 };

	/*
	 * There is a limit, so that a stopped process that removes sessions does not block new ones
	 * for good.
	 */
	for (int i = 0; i < HOLD_TRIES && flock(base, LOCK_SH | LOCK_NB); i++)
		nanosleep(&pause, NULL);
}

bool place_alive(int dirfd)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool alive;

	if (fd < 0)
		return true;	/* unknown: do no harm */
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/attach", dirfd);
	/*
	 * EAGAIN: the queue is full, so a server has the socket. Other errors say nothing: do no
	 * harm.
	 */
	alive = !connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
		(errno != ECONNREFUSED && errno != ENOENT);
	close(fd);
	return alive;
}

void place_empty(int dirfd)
{
	for (size_t i = 0; i < sizeof(session_files) / sizeof(session_files[0]); i++)
		unlinkat(dirfd, session_files[i], 0);
	unlinkat(dirfd, "mnt", AT_REMOVEDIR);
}

static int place_remove(int base, const char *name)
{
	int dir = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0)
		return -errno;
	place_empty(dir);
	close(dir);
	return unlinkat(base, name, AT_REMOVEDIR) ? -errno : 0;
}

/* Removes a session without a server, unless a process is restoring it: that one has the lock. */
static int remove_stale(int base, const char *name)
{
	int dir = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int lock, err = 0;

	if (dir < 0)
		return -errno;
	lock = openat(dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (lock < 0)
		err = -errno;
	else if (flock(lock, LOCK_EX | LOCK_NB) || place_alive(dir))
		err = -EBUSY;
	if (!err)
		err = place_remove(base, name);
	if (lock >= 0)
		close(lock);
	close(dir);
	return err;
}

/* Whether the command that owned the session has died without ending it. */
static bool is_left_behind(int base, const char *name)
{
	int dir = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), owner;
	bool left;

	if (dir < 0)
		return false;
	owner = openat(dir, OWNER, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	left = owner >= 0 && !flock(owner, LOCK_EX | LOCK_NB);
	if (owner >= 0)
		close(owner);
	close(dir);
	return left;
}

static void sweep_one(int base, const char *name)
{
	int dir = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool alive;

	if (dir < 0)
		return;
	alive = place_alive(dir);
	close(dir);
	if (!alive)
		place_remove(base, name);
}

void place_sweep(int base)
{
	int fd = openat(base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	/*
	 * W1. If a session is being made now, this is left for another time. closedir() drops the
	 * lock.
	 */
	while (!flock(fd, LOCK_EX | LOCK_NB) && (d = readdir(dir)))
		if (d->d_name[0] == '.' && d->d_name[1] >= '0' && d->d_name[1] <= '9')
			sweep_one(base, d->d_name);
		else if (session_name_valid(d->d_name) && is_left_behind(base, d->d_name))
			remove_stale(base, d->d_name);
	closedir(dir);
}

static int list_one(const char *base, int basefd, const char *name,
		    int (*fn)(void *arg, const char *name, const char *dir, bool alive), void *arg)
{
	int dirfd = openat(basefd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char path[4096 + 256];
	bool alive;

	if (dirfd < 0)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : 0;
	alive = place_alive(dirfd);
	close(dirfd);
	snprintf(path, sizeof(path), "%s/%s", base, name);
	return fn(arg, name, path, alive);
}

int session_list(int (*fn)(void *arg, const char *name, const char *dir, bool alive), void *arg)
{
	char base[4096];
	int err = place_base(base, sizeof(base), false);
	struct dirent **names;
	int fd, nr;

	/* Without a directory there is no session. */
	if (err)
		return err == -ENOENT || err == -ENOTSUP ? 0 : err;
	fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	place_sweep(fd);
	nr = scandir(base, &names, NULL, alphasort);
	err = nr < 0 ? -errno : 0;
	for (int i = 0; i < nr; i++) {
		if (!err && session_name_valid(names[i]->d_name))
			err = list_one(base, fd, names[i]->d_name, fn, arg);
		free(names[i]);
	}
	if (nr >= 0)
		free(names);
	close(fd);
	return err;
}

int session_remove_stale(const char *name)
{
	char base[4096];
	int err = place_base(base, sizeof(base), false), fd;

	if (err)
		return err;
	if (!session_name_valid(name))
		return -EINVAL;
	fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = remove_stale(fd, name);
	close(fd);
	return err;
}

int session_own(const char *name)
{
	char base[4096], path[4096 + 256];
	int err = place_base(base, sizeof(base), false), dir, fd;

	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/%s", base, name);
	dir = place_open_dir(path);
	if (dir < 0)
		return dir;
	fd = openat(dir, OWNER, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	err = fd < 0 || flock(fd, LOCK_SH | LOCK_NB) ? -errno : 0;
	if (err)
		unlinkat(dir, OWNER, 0);
	close(dir);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

void session_disown(const char *name, int owner)
{
	char base[4096], path[4096 + 256];

	if (!place_base(base, sizeof(base), false)) {
		snprintf(path, sizeof(path), "%s/%s/" OWNER, base, name);
		unlink(path);
	}
	close(owner);
}
