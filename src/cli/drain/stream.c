/* SPDX-License-Identifier: MIT */
/* stream.c - see stream.h */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access/access.h"
#include "cli/drain/stream.h"
#include "host/message.h"
#include "host/output.h"
#include "session/array.h"

enum { PIECE = 1 << 20 };

/* ---- instances ---- */

static bool is_drained(const struct streams *s, const char *name)
{
	for (unsigned int i = 0; i < s->nr; i++)
		if (!strcmp(s->instances[i].name, name) && s->instances[i].pages)
			return true;
	return false;
}

static void instance_path(const char *name, const char *file, char *out, size_t size)
{
	snprintf(out, size, "%s%s%s%s", *name ? "instances/" : "", name, *name ? "/" : "", file);
}

/* From now on full rings drop new records: no page is overwritten while it is written to disk. */
static int stop_overwriting(struct streams *s, struct stream_instance *i)
{
	char path[600], *was;
	size_t len;
	int ret;

	instance_path(i->name, "options/overwrite", path, sizeof(path));
	ret = access_read_all(s->access, path, &was, &len);
	if (ret)
		return ret;
	i->overwrote |= *was == '1';
	free(was);
	return access_write_all(s->access, path, O_TRUNC, "0\n", 2, NULL);
}

void streams_overwrite_again(struct streams *s)
{
	char path[600];

	for (unsigned int i = 0; i < s->nr; i++) {
		if (!s->instances[i].pages || !s->instances[i].overwrote)
			continue;
		instance_path(s->instances[i].name, "options/overwrite", path, sizeof(path));
		/* An instance that was removed meanwhile needs nothing. */
		access_write_all(s->access, path, O_TRUNC, "1\n", 2, NULL);
	}
}

/* The pages of an instance that was removed are in no recording. */
static void stream_empty(struct streams *s, struct stream_instance *i)
{
	for (uint32_t cpu = 0; cpu < s->nr_cpus; cpu++) {
		struct stream_cpu *c = &i->cpus[cpu];

		if (c->fd >= 0 && ftruncate(c->fd, 0))
			continue;	/* it is written over */
		c->size = c->written = 0;
	}
	i->subbuf_size = 0;
	i->overwrote = i->removed = false;
}

/* The place of an instance of that name: one that the server has lost, or a new one. */
static struct stream_instance *place_for(struct streams *s, const char *name)
{
	struct stream_instance *i;

	for (unsigned int n = 0; n < s->nr; n++) {
		i = &s->instances[n];
		if (strcmp(i->name, name))
			continue;
		if (i->removed)
			stream_empty(s, i);
		return i;
	}
	if (array_room(&s->instances, s->nr, sizeof(*s->instances)))
		return NULL;
	i = &s->instances[s->nr];
	*i = (struct stream_instance){
		.name = strdup(name), .cpus = calloc(s->nr_cpus, sizeof(*i->cpus)),
	};
	if (!i->name || !i->cpus)
		return NULL;
	for (uint32_t cpu = 0; cpu < s->nr_cpus; cpu++)
		i->cpus[cpu].fd = -1;
	s->nr++;
	return i;
}

static int open_instance(void *to, const char *name, bool is_dir)
{
	struct streams *s = to;
	struct stream_instance *i;
	char path[600];
	int ret;

	if (!is_dir || is_drained(s, name))
		return 0;
	i = place_for(s, name);
	if (!i)
		return -ENOMEM;
	ret = stop_overwriting(s, i);
	instance_path(name, "trace_pages", path, sizeof(path));
	if (!ret)
		ret = s->access->ops->open(s->access, path, O_RDONLY, &i->pages);
	/* It was removed again. -EACCES: and made once more while access_create() looked. */
	return *name && (ret == -ENOENT || ret == -ENODEV || ret == -EACCES) ? 0 : ret;
}

int streams_find(struct streams *s)
{
	int ret = open_instance(s, "", true);

	return ret ? ret : s->access->ops->list(s->access, "instances", open_instance, s);
}

void streams_close(struct access_file **f)
{
	if (*f)
		(*f)->access->ops->release(*f);
	*f = NULL;
}

void streams_let_go(struct streams *s)
{
	for (unsigned int i = 0; i < s->nr; i++) {
		streams_close(&s->instances[i].pages);
		for (uint32_t cpu = 0; cpu < s->nr_cpus; cpu++) {
			struct stream_cpu *c = &s->instances[i].cpus[cpu];

			streams_close(&c->raw);
			c->written = c->size;
		}
	}
}

/* ---- files ---- */

int stream_file(struct streams *s, struct stream_cpu *c)
{
	if (c->fd < 0)
		c->fd = output_spare(s->out);
	return c->fd;
}

int streams_stop(struct streams *s, int err)
{
	if (!s->stopped)
		message_error("-o %s: %s: what is recorded from now on is not in it; the program "
			      "continues", s->file, strerror(-err));
	s->stopped = true;
	return err;
}

void streams_keep(struct streams *s)
{
	for (unsigned int i = 0; i < s->nr; i++)
		for (uint32_t cpu = 0; cpu < s->nr_cpus; cpu++)
			s->instances[i].cpus[cpu].size = s->instances[i].cpus[cpu].written;
}

/* The stream of [instances/NAME/]per_cpu/cpuN/trace_raw; NULL: it has no page. */
static const struct stream_cpu *stream_of(const struct streams *s, const char *path)
{
	const char *end = strstr(path, "per_cpu/cpu");
	const size_t before = end ? (size_t)(end - path) : 0, skip = strlen("instances/");
	const char *name = before ? path + skip : "";
	const size_t len = before ? before - skip - 1 : 0;
	unsigned int cpu;

	if (!end || sscanf(end, "per_cpu/cpu%u/", &cpu) != 1 || cpu >= s->nr_cpus)
		return NULL;
	for (unsigned int i = 0; i < s->nr; i++)
		if (strlen(s->instances[i].name) == len &&
		    !memcmp(s->instances[i].name, name, len))
			return s->instances[i].cpus[cpu].fd < 0 ? NULL
								: &s->instances[i].cpus[cpu];
	return NULL;
}

int streams_give(struct streams *s, const char *path,
		 int (*take)(void *to, const char *buf, size_t n), void *to)
{
	const struct stream_cpu *c = stream_of(s, path);
	char *buf = c ? malloc(PIECE) : NULL;
	int ret = c && !buf ? -ENOMEM : 0;

	for (uint64_t at = 0; c && !ret && at < c->size;) {
		const uint64_t left = c->size - at;
		const ssize_t n = pread(c->fd, buf, left < PIECE ? left : PIECE, (off_t)at);

		ret = n > 0 ? take(to, buf, (size_t)n) : n ? -errno : -EIO;
		/* A file system that cannot do this needs the room twice. */
		if (!ret)
			fallocate(c->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, n);
		at += (uint64_t)(n > 0 ? n : 0);
	}
	free(buf);
	return ret;
}

uint64_t streams_bytes(const struct streams *s)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < s->nr; i++)
		for (uint32_t cpu = 0; s->instances[i].cpus && cpu < s->nr_cpus; cpu++)
			bytes += s->instances[i].cpus[cpu].size;
	return bytes;
}
