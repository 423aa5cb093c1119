/* SPDX-License-Identifier: MIT */
/* kernel.c - see kernel.h */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "session/attach/stat.h"
#include "sources/live/kernel.h"

#define KERNEL_PREFIX "tracefuse-"

enum { TRACEFS_TYPE = 0x74726163, REMOVE_TRIES = 50, REMOVE_MS = 10, READ_ROOM = 1 << 16 };

/* ---- files ---- */

int kernel_write(int dir, const char *file, const char *text)
{
	const size_t len = strlen(text);
	int fd = openat(dir, file, O_WRONLY | O_CLOEXEC), err = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, len);
	if (n != (ssize_t)len)
		err = n < 0 ? -errno : -EIO;
	close(fd);
	return err;
}

/* Room for twice as much; false: no memory. */
static bool read_more(char **text, size_t *room)
{
	char *more = realloc(*text, 2 * *room + 1);

	if (!more)
		return false;
	*text = more;
	*room *= 2;
	return true;
}

char *kernel_read_open(int fd, size_t *len)
{
	size_t room = READ_ROOM;
	char *text = fd >= 0 ? malloc(room + 1) : NULL;
	ssize_t n = text ? 1 : -1;

	*len = 0;
	while (n > 0) {
		if (*len == room && !read_more(&text, &room)) {
			n = -1;
			break;
		}
		n = read(fd, text + *len, room - *len);
		if (n < 0 && errno == EINTR)
			n = 1;
		else
			*len += n > 0 ? (size_t)n : 0;
	}
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[*len] = '\0';
	return text;
}

char *kernel_read(int dir, const char *file, size_t *len)
{
	int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	char *text = kernel_read_open(fd, len);

	if (fd >= 0)
		close(fd);
	return text;
}

int kernel_each_dir(int parent, const char *name, int (*fn)(int dir, const char *name, void *arg),
		    void *arg)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *d;

	if (!dir) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (d = readdir(dir)))
		if (d->d_name[0] != '.' && d->d_type != DT_REG)
			err = fn(fd, d->d_name, arg);
	closedir(dir);
	return err;
}

/* ---- the directory ---- */

static int open_tracefs(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = errno;
	struct statfs fs = { 0 };

	if (fd >= 0 && !fstatfs(fd, &fs) && fs.f_type == TRACEFS_TYPE)
		return fd;
	if (fd >= 0) {
		close(fd);
		/* A session of ours is mounted there, or nothing. */
		err = fs.f_type == FUSE_SUPER_MAGIC ? EBUSY : ENODEV;
	}
	return -err;
}

static int kernel_find(void)
{
	static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	int fd = -ENODEV;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		int ret = open_tracefs(places[i]);

		if (ret >= 0)
			return ret;
		if (ret == -EACCES || ret == -EPERM || ret == -EBUSY)
			fd = ret;
	}
	return fd;
}

static int kernel_refuse(int err, const char *what, char *why, size_t size)
{
	if (err == -EACCES || err == -EPERM)
		snprintf(why, size,
			 "%s: no right to it: the kernel's events are for root, or for a user who "
			 "owns the tracefs", what);
	else if (err == -EBUSY)
		snprintf(why, size, "%s shows a session here, as in `tracefuse shell`, and hides "
			 "the kernel's files", what);
	else if (err == -ENODEV)
		snprintf(why, size,
			 "no tracefs is mounted at /sys/kernel/tracing: root can `mount -t tracefs "
			 "nodev /sys/kernel/tracing`");
	else
		snprintf(why, size, "%s: %s", what, strerror(-err));
	return err;
}

/* ---- whose instance it is ---- */

/*
 * When a process began, in clock ticks; 0: there is none of that number, or it has ended and nobody
 * has waited for it yet.
 */
static uint64_t begin_of(unsigned int pid)
{
	const struct process_stat stat = process_stat((pid_t)pid);

	return stat.state == 'Z' || stat.state == 'X' ? 0 : stat.start_time;
}

static uint64_t name_space(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (uint64_t)st.st_ino;
}

/* Its owner is gone. Of another name space of pids nobody here knows. */
static bool is_left_behind(const char *name)
{
	unsigned int pid;
	uint64_t begin, space;

	return sscanf(name, KERNEL_PREFIX "%u-%" SCNu64 "-%" SCNu64, &pid, &begin, &space) == 3 &&
	       space == name_space() && begin_of(pid) != begin;
}

/*
 * As long as somebody has a file of it open, an instance stays: then it must not slow the kernel
 * down. While the records are open, it keeps the tracer too, and gets no function to call it for.
 */
static void stop_functions(int dir)
{
	if (kernel_write(dir, "current_tracer", "nop"))
		(void)kernel_write(dir, "set_ftrace_notrace", "*");
}

static void stop_left_behind(int instances, const char *name)
{
	const int dir = openat(instances, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return;
	(void)kernel_write(dir, "events/enable", "0");
	stop_functions(dir);
	close(dir);
}

/* That instance, or the one for its calls. */
static bool is_spared(const struct kernel *k, const char *name)
{
	return *k->spared && !strncmp(name, k->spared, strlen(k->spared));
}

static void remove_left_behind(const struct kernel *k, int instances)
{
	DIR *dir = fdopendir(dup(instances));
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (is_left_behind(d->d_name) && !is_spared(k, d->d_name) &&
		    unlinkat(instances, d->d_name, AT_REMOVEDIR) && errno == EBUSY)
			stop_left_behind(instances, d->d_name);
	if (dir)
		closedir(dir);
}

static int open_instance(const char *name)
{
	char path[KERNEL_NAME + 16];
	const int top = kernel_find();
	int fd;

	if (top < 0)
		return top;
	snprintf(path, sizeof(path), "instances/%s", name);
	fd = openat(top, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = fd < 0 ? -errno : fd;
	close(top);
	return fd;
}

int kernel_stop(const char *name)
{
	const int dir = open_instance(name);
	int err = dir < 0 ? dir : kernel_write(dir, "tracing_on", "0");

	if (dir >= 0)
		close(dir);
	return err;
}

/* The numbers of lines "KEY: NUMBER". */
static uint64_t sum_of_stats(const char *text)
{
	static const char *const keys[] = { "\nentries: ", "\noverrun: ", "\nread events: " };
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		/* The first line has no line before it. */
		const char *at = i ? strstr(text, keys[i]) : strstr(text, keys[i] + 1);

		if (at)
			sum += strtoull(strchr(at, ':') + 1, NULL, 10);
	}
	return sum;
}

int kernel_recorded(const char *name, uint32_t cpu, uint64_t *nr)
{
	const int dir = open_instance(name);
	char path[64], *text;
	size_t len;
	int err = 0;

	if (dir < 0)
		return dir;
	snprintf(path, sizeof(path), "per_cpu/cpu%" PRIu32 "/stats", cpu);
	text = kernel_read(dir, path, &len);
	if (text)
		*nr = sum_of_stats(text);
	else
		err = -errno;
	free(text);
	close(dir);
	return err;
}

static int make_instance(struct kernel *k)
{
	int instances = openat(k->top, "instances", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;

	if (instances < 0)
		return -errno;
	remove_left_behind(k, instances);
	snprintf(k->name, sizeof(k->name), KERNEL_PREFIX "%u-%" PRIu64 "-%" PRIu64,
		 (unsigned int)getpid(), begin_of((unsigned int)getpid()), name_space());
	if (mkdirat(instances, k->name, 0750))
		err = -errno;
	if (!err) {
		k->dir = openat(instances, k->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		err = k->dir < 0 ? -errno : 0;
	}
	close(instances);
	return err;
}

void kernel_remove_spared(struct kernel *k)
{
	const int instances = *k->spared && k->top >= 0 ?
		openat(k->top, "instances", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	*k->spared = '\0';
	if (instances < 0)
		return;
	remove_left_behind(k, instances);
	close(instances);
}

/* The instance that root has lent; dir -1: none. */
static struct kernel borrowed = { .top = -1, .dir = -1, .calls = -1, .names = -1 };

int kernel_borrow(struct kernel *k, const char *name)
{
	char path[KERNEL_NAME + 16];
	int top = kernel_find(), err;

	if (top < 0)
		return top;
	snprintf(path, sizeof(path), "instances/%s", name);
	*k = (struct kernel){ .top = -1, .calls = -1 };
	snprintf(k->name, sizeof(k->name), "%s", name);
	k->dir = openat(top, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = k->dir < 0 ? -errno : 0;
	k->names = openat(top, "saved_cmdlines", O_RDONLY | O_CLOEXEC);
	close(top);
	borrowed = *k;
	return err;
}

int kernel_open(struct kernel *k, char *why, size_t size)
{
	int err;

	if (borrowed.dir >= 0) {
		*k = borrowed;
		borrowed.dir = borrowed.names = -1;
		return 0;
	}
	k->dir = k->calls = k->names = -1;
	k->top = kernel_find();
	if (k->top < 0)
		return kernel_refuse(k->top, "/sys/kernel/tracing", why, size);
	err = make_instance(k);
	if (!err) {
		k->names = openat(k->top, "saved_cmdlines", O_RDONLY | O_CLOEXEC);
		return 0;
	}
	kernel_refuse(err, "/sys/kernel/tracing/instances", why, size);
	kernel_close(k);
	return err;
}

static struct kernel_name name_of_calls(const struct kernel *k, bool second)
{
	struct kernel_name name;

	snprintf(name.text, sizeof(name.text), "%.*s-calls%s", KERNEL_NAME - 16, k->name,
		 second ? "-2" : "");
	return name;
}

struct kernel_name kernel_calls_name(const struct kernel *k)
{
	return name_of_calls(k, k->second);
}

static void path_of_calls(const struct kernel *k, bool second, char path[KERNEL_NAME + 32])
{
	snprintf(path, KERNEL_NAME + 32, "instances/%s", name_of_calls(k, second).text);
}

/* Whether the next one is that of the second name. */
static bool next_is_second(const struct kernel *k)
{
	return k->calls >= 0 && !k->second;
}

int kernel_make_calls(const struct kernel *k)
{
	char path[KERNEL_NAME + 32];
	int dir;

	path_of_calls(k, next_is_second(k), path);
	if (mkdirat(k->top, path, 0750) && errno != EEXIST)
		return -errno;
	dir = openat(k->top, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -errno : dir;
}

/* Somebody may have a file of it open for a moment. If it stays, the next server removes it. */
static void remove_dir(const struct kernel *k, const char *path)
{
	const struct timespec pause = { .tv_nsec = REMOVE_MS * 1000000 };

	for (int i = 0; i < REMOVE_TRIES; i++) {
		if (!unlinkat(k->top, path, AT_REMOVEDIR) || errno != EBUSY)
			return;
		nanosleep(&pause, NULL);
	}
}

static void remove_instance(const struct kernel *k)
{
	char path[KERNEL_NAME + 16];

	snprintf(path, sizeof(path), "instances/%s", k->name);
	kernel_write(k->dir, "events/enable", "0");
	close(k->dir);
	/* If it is lent, its keeper does the rest. */
	if (k->top >= 0)
		remove_dir(k, path);
}

static void remove_calls(const struct kernel *k, int dir, bool second)
{
	char path[KERNEL_NAME + 32];

	path_of_calls(k, second, path);
	stop_functions(dir);
	close(dir);
	remove_dir(k, path);
}

void kernel_discard_calls(const struct kernel *k, int dir)
{
	remove_calls(k, dir, next_is_second(k));
}

void kernel_take_calls(struct kernel *k, int dir)
{
	const bool second = next_is_second(k);

	kernel_close_calls(k);
	k->calls = dir;
	k->second = second;
}

void kernel_close_calls(struct kernel *k)
{
	if (k->calls < 0)
		return;
	remove_calls(k, k->calls, k->second);
	k->calls = -1;
	k->second = false;
}

void kernel_close(struct kernel *k)
{
	kernel_close_calls(k);
	if (k->dir >= 0)
		remove_instance(k);
	if (k->top >= 0)
		close(k->top);
	if (k->names >= 0)
		close(k->names);
	k->dir = k->calls = k->top = k->names = -1;
}
