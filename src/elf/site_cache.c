/* SPDX-License-Identifier: MIT */
/* site_cache.c - reads and writes the entries of the cache */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "elf/packed.h"
#include "elf/site_cache.h"
#include "elf/sites.h"

enum {
	NAME = 2 * 24 + 1,		/* an id in hexadecimal digits */
	ENTRIES_MAX = 1024,		/* then the oldest ones go */
	ENTRIES_LEFT = 768,
	NEW_SECONDS = 2,
};

/* Bytes of an entry; a file of more sites is read each time. */
#define ENTRY_MAX (32ul << 20)
/* Bytes of all entries; what stays when there are more */
#define BYTES_MAX (256ul << 20)
#define BYTES_LEFT (192ul << 20)

static const char magic[8] = "tfsites";

/* A file as fstat() sees it. */
struct cached_file {
	uint64_t	device, inode, size;
	int64_t		changed[2], inode_changed[2];	/* seconds, nanoseconds */
};

struct cache_head {
	char		magic[8];
	struct cached_file file, program;
	uint32_t	nr, pad;
	uint64_t	sum;		/* of the sites */
};

static struct cached_file file_of(const struct stat *st)
{
	return (struct cached_file){
		.device = st->st_dev, .inode = st->st_ino, .size = (uint64_t)st->st_size,
		.changed = { st->st_mtim.tv_sec, st->st_mtim.tv_nsec },
		.inode_changed = { st->st_ctim.tv_sec, st->st_ctim.tv_nsec },
	};
}

static uint64_t sum_of(const void *data, size_t size)
{
	const unsigned char *b = data;
	uint64_t h = 0xcbf29ce484222325ull;

	while (size--)
		h = (h ^ *b++) * 0x100000001b3ull;
	return h;
}

/* The head of the entry for this file, without its sites. */
static bool head_make(const struct elf_file *f, struct cache_head *h)
{
	struct stat own;

	if (stat("/proc/self/exe", &own))
		return false;
	*h = (struct cache_head){ .file = file_of(&f->status), .program = file_of(&own) };
	memcpy(h->magic, magic, sizeof(magic));
	return true;
}

/* ---- The directory ---- */

static bool is_ours(int fd, mode_t type)
{
	struct stat st;

	return !fstat(fd, &st) && (st.st_mode & S_IFMT) == type && st.st_uid == geteuid() &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static int dir_below(int parent, const char *path, bool make)
{
	int fd;

	if (make)
		mkdirat(parent, path, 0700);
	fd = openat(parent, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && !is_ours(fd, S_IFDIR)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Negative: there is none, or it is somebody else's. */
static int dir_open(bool make)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int base = -1, fd = -1, below;

	if (cache && *cache == '/') {
		base = dir_below(AT_FDCWD, cache, make);
	} else if (home && *home == '/') {
		below = dir_below(AT_FDCWD, home, false);
		base = below < 0 ? -1 : dir_below(below, ".cache", make);
		if (below >= 0)
			close(below);
	}
	if (base >= 0) {
		fd = dir_below(base, "tracefuse", make);
		close(base);
	}
	return fd;
}

static bool name_make(const struct elf_want *want, char out[NAME])
{
	if (!want || !want->id_len || want->id_len > (NAME - 1) / 2)
		return false;
	for (uint32_t i = 0; i < want->id_len; i++)
		snprintf(out + 2 * i, 3, "%02x", want->id[i]);
	return true;
}

/* ---- Reading ---- */

static bool cache_get(int fd, void *to, size_t size)
{
	return read(fd, to, size) == (ssize_t)size;
}

static bool entry_read(int fd, const struct cache_head *want, struct elf_sites *out)
{
	struct packed_site *v;
	struct cache_head h;
	bool good;

	if (!is_ours(fd, S_IFREG) || !cache_get(fd, &h, sizeof(h)) ||
	    memcmp(h.magic, want->magic, sizeof(h.magic)) ||
	    memcmp(&h.file, &want->file, sizeof(h.file)) ||
	    memcmp(&h.program, &want->program, sizeof(h.program)) ||
	    h.nr > ENTRY_MAX / sizeof(*v))
		return false;
	v = malloc(h.nr ? h.nr * sizeof(*v) : 1);
	good = v && cache_get(fd, v, h.nr * sizeof(*v)) && sum_of(v, h.nr * sizeof(*v)) == h.sum &&
	       packed_sites_take(v, h.nr, true, out);
	free(v);
	return good;
}

bool site_cache_load(const struct elf_file *f, const struct elf_want *want, struct elf_sites *out)
{
	struct cache_head h;
	char name[NAME];
	bool good = false;
	int dir, fd;

	if (!name_make(want, name) || !head_make(f, &h))
		return false;
	dir = dir_open(false);
	if (dir < 0)
		return false;
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0) {
		good = entry_read(fd, &h, out);
		if (good)
			futimens(fd, NULL);	/* used last */
		close(fd);
	}
	close(dir);
	return good;
}

/* ---- Writing ---- */

struct entry {
	char		name[NAME];
	struct timespec	used;
	uint64_t	size;
};

static int by_age(const void *a, const void *b)
{
	const struct timespec *x = &((const struct entry *)a)->used;
	const struct timespec *y = &((const struct entry *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static size_t entries_list(int dir, DIR *d, struct entry *out)
{
	const struct dirent *e;
	struct stat st;
	size_t nr = 0;

	while (nr < ENTRIES_MAX && (e = readdir(d))) {
		if (*e->d_name == '.' || strlen(e->d_name) >= NAME ||
		    fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		strcpy(out[nr].name, e->d_name);
		out[nr].size = (uint64_t)st.st_size;
		out[nr++].used = st.st_mtim;
	}
	return nr;
}

static void entries_drop(int dir, struct entry *v, size_t nr, uint64_t bytes)
{
	qsort(v, nr, sizeof(*v), by_age);
	for (size_t i = 0; i < nr && (nr - i > ENTRIES_LEFT || bytes > BYTES_LEFT); i++) {
		unlinkat(dir, v[i].name, 0);
		bytes -= v[i].size;
	}
}

/* Removes the entries that were used longest ago, if there are too many. */
static void entries_bound(int dir)
{
	struct entry *v = calloc(ENTRIES_MAX, sizeof(*v));
	const int own = dup(dir);
	DIR *d = own < 0 ? NULL : fdopendir(own);
	uint64_t bytes = 0;
	size_t nr = 0;

	if (v && d)
		nr = entries_list(dir, d, v);
	for (size_t i = 0; i < nr; i++)
		bytes += v[i].size;
	if (nr == ENTRIES_MAX || bytes > BYTES_MAX)
		entries_drop(dir, v, nr, bytes);
	if (d)
		closedir(d);
	else if (own >= 0)
		close(own);
	free(v);
}

static bool cache_put(int fd, const void *from, size_t size)
{
	return write(fd, from, size) == (ssize_t)size;
}

static bool entry_write(int fd, struct cache_head *h, const struct elf_sites *sites)
{
	struct packed_site *v = calloc(sites->nr ? sites->nr : 1, sizeof(*v));
	bool good = v;

	if (v) {
		packed_sites_make(sites->v, sites->nr, v);
		h->nr = (uint32_t)sites->nr;
		h->sum = sum_of(v, sites->nr * sizeof(*v));
		good = cache_put(fd, h, sizeof(*h)) && cache_put(fd, v, sites->nr * sizeof(*v));
	}
	free(v);
	return good;
}

/*
 * Whether the file was the same while it was read. A change at almost the same time as the last one
 * may leave no trace, so a file that is new is not kept.
 */
static bool is_settled(const struct elf_file *f)
{
	const struct cached_file before = file_of(&f->status);
	struct cached_file now;
	struct timespec t;
	struct stat st;

	if (fstat(f->fd, &st) || clock_gettime(CLOCK_REALTIME, &t))
		return false;
	now = file_of(&st);
	return !memcmp(&before, &now, sizeof(now)) && st.st_ctim.tv_sec + NEW_SECONDS < t.tv_sec;
}

void site_cache_store(const struct elf_file *f, const struct elf_want *want,
		      const struct elf_sites *sites)
{
	char name[NAME], own[NAME + 32];
	struct cache_head h;
	int dir, fd;

	if (!name_make(want, name) || !head_make(f, &h) || !is_settled(f) ||
	    sites->nr > ENTRY_MAX / sizeof(struct packed_site))
		return;
	dir = dir_open(true);
	if (dir < 0)
		return;
	/* Readers find the old entry or the whole new one. */
	snprintf(own, sizeof(own), ".%s.%d", name, (int)getpid());
	fd = openat(dir, own, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0) {
		const bool good = entry_write(fd, &h, sites);

		if (close(fd) || !good || renameat(dir, own, dir, name))
			unlinkat(dir, own, 0);
		else
			entries_bound(dir);
	}
	close(dir);
}
