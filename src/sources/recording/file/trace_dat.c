/* SPDX-License-Identifier: MIT */
/* trace_dat.c - opens a trace.dat: the beginning that both versions share, and the event formats */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/model.h"
#include "layout/layout.h"
#include "session/array.h"
#include "session/region.h"
#include "sources/recording/file/foreign.h"
#include "sources/recording/file/times.h"
#include "sources/recording/file/trace_dat.h"

static const char magic[] = "\x17\x08\x44tracing";

/* More events than ids, or formats larger than any kernel's, are damage. */
enum { FORMAT_MAX = 256 << 10, SYSTEMS_MAX = 65536, HEADER_MAX = 65536 };

/* An instance is a directory, whose name cannot be longer. */
enum { NAME_LEN_MAX = 255 };

struct cursor trace_dat_cursor(const struct trace_dat *d, uint64_t offset)
{
	if (offset > d->size)
		offset = d->size;
	return trace_dat_over(d, d->map + offset, d->size - offset, offset);
}

int trace_dat_damage(struct trace_dat *d, uint64_t offset, const char *fmt, ...)
{
	char text[192];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (d->partial && d->event_formats.data) {
		if (!d->damaged)
			error_set_at(&d->damage, 0, d->path, offset, "%s", text);
		d->damaged = true;
		return 0;
	}
	return error_set_at(d->err, -EPROTO, d->path, offset, "%s", text);
}

int trace_dat_truncated(struct trace_dat *d, const struct cursor *c, const char *what)
{
	return trace_dat_damage(d, cursor_offset(c), "damaged or cut off in %s", what);
}

bool trace_dat_memory(struct trace_dat *d, uint64_t bytes)
{
	return source_memory_take(d->memory, bytes);
}

struct unpacker *trace_dat_unpacker(struct trace_dat *d)
{
	if (!d->unpacker && unpacker_create(d->algorithm, &d->unpacker))
		return NULL;
	return d->unpacker;
}

int trace_dat_add_buffer(struct trace_dat *d, uint64_t offset, const char *name,
			 struct dat_buffer **out)
{
	struct dat_buffer *b;

	*out = NULL;
	if (d->nr_buffers >= LAYOUT_MAX_INSTANCES)
		return trace_dat_damage(d, offset, "more than %d buffers", LAYOUT_MAX_INSTANCES);
	if (strlen(name) > NAME_LEN_MAX)
		return trace_dat_damage(d, offset, "damaged: a buffer's name of %zu letters",
					strlen(name));
	if (array_room(&d->buffers, d->nr_buffers, sizeof(*b)))
		return error_set(d->err, -ENOMEM, d->path, "out of memory");
	b = &d->buffers[d->nr_buffers];
	*b = (struct dat_buffer){ .name = strdup(name), .page_size = d->page_size };
	if (!b->name)
		return error_set(d->err, -ENOMEM, d->path, "out of memory");
	d->nr_buffers++;
	*out = b;
	return 0;
}

static int add_cpu(struct trace_dat *d, struct dat_buffer *b, uint32_t cpu, uint64_t offset,
		   uint64_t size)
{
	unsigned int i;
	int ret;

	if (cpu >= LAYOUT_MAX_CPUS)
		return error_set(d->err, -EPROTO, d->path, "CPU %u: at most %d CPUs are supported",
				 cpu, LAYOUT_MAX_CPUS);
	/* Its records would come twice, and each copy would need a chunk in memory. */
	for (i = 0; i < b->nr_cpus; i++)
		if (b->cpus[i].cpu == cpu)
			return trace_dat_damage(d, offset, "damaged: CPU %u twice in a buffer",
						cpu);
	if (size && (offset > d->size || size > d->size - offset)) {
		ret = trace_dat_damage(d, d->size, "cut off: the data of CPU %u should end at %llu",
				       cpu, (unsigned long long)(offset + size));
		if (ret)
			return ret;
		size = offset < d->size ? d->size - offset : 0;
	}
	if (array_room(&b->cpus, b->nr_cpus, sizeof(*b->cpus)))
		return error_set(d->err, -ENOMEM, d->path, "out of memory");
	b->cpus[b->nr_cpus++] = (struct dat_cpu){ .cpu = cpu, .offset = offset, .size = size };
	return 0;
}

int trace_dat_read_cpu(struct trace_dat *d, struct cursor *c, struct dat_buffer *b, uint32_t cpu,
		       const char *what)
{
	uint64_t offset = cursor_u64(c);
	uint64_t size = cursor_u64(c);

	return c->bad ? trace_dat_truncated(d, c, what) : add_cpu(d, b, cpu, offset, size);
}

/* Finds the number behind `key` in the line of a field in header_page. False: there is none. */
static bool header_field(const char *text, const char *field, const char *key, uint32_t *out)
{
	const char *line = strstr(text, field);
	const char *end, *at;

	if (!line)
		return false;
	end = strchrnul(line, '\n');
	at = strstr(line, key);
	if (!at || at > end)
		return false;
	*out = strtoul(at + strlen(key), NULL, 10);
	return true;
}

static int parse_header_page(struct trace_dat *d, const char *text)
{
	if (!header_field(text, " commit;", "size:", &d->commit_size) ||
	    !header_field(text, " data;", "offset:", &d->data_offset))
		return -EPROTO;
	if (d->commit_size != 8 && d->commit_size != 4)
		return -EPROTO;
	return d->data_offset == 8 + d->commit_size ? 0 : -EPROTO;
}

int trace_dat_parse_header(struct trace_dat *d, struct cursor *c)
{
	const uint8_t *bytes;
	uint64_t at, size;
	char *text;
	int ret;

	at = cursor_offset(c);
	if (!cursor_match(c, "header_page", sizeof("header_page")))
		return trace_dat_damage(d, at, "no header_page");
	size = cursor_u64(c);
	bytes = size > HEADER_MAX ? NULL : cursor_take(c, size);
	if (!bytes)
		return trace_dat_truncated(d, c, "header_page");
	text = strndup((const char *)bytes, size);
	if (!text)
		return error_set(d->err, -ENOMEM, d->path, "out of memory");
	ret = parse_header_page(d, text);
	free(text);
	if (ret)
		return trace_dat_damage(d, at, "header_page does not describe a ring buffer page");
	at = cursor_offset(c);
	if (!cursor_match(c, "header_event", sizeof("header_event")))
		return trace_dat_damage(d, at, "no header_event");
	size = cursor_u64(c);
	bytes = cursor_take(c, size);
	if (!bytes)
		return trace_dat_truncated(d, c, "header_event");
	d->of_programs = memmem(bytes, size, MODEL_PROGRAMS_MARK, strlen(MODEL_PROGRAMS_MARK));
	return 0;
}

static int walk_formats(struct cursor *c, uint32_t count, const char *system,
			int (*fn)(void *arg, const char *system, const char *text, size_t len),
			void *arg)
{
	const uint8_t *text;
	uint64_t size;
	int ret;

	while (count--) {
		size = cursor_u64(c);
		text = size > FORMAT_MAX ? NULL : cursor_take(c, size);
		if (!text)
			return -EPROTO;
		ret = fn ? fn(arg, system, (const char *)text, size) : 0;
		if (ret)
			return ret;
	}
	return 0;
}

int trace_dat_walk_ftrace(struct cursor *c, int (*fn)(void *arg, const char *system,
			  const char *text, size_t len), void *arg)
{
	uint32_t count = cursor_u32(c);

	if (c->bad || count > LAYOUT_MAX_EVENTS)
		return -EPROTO;
	return walk_formats(c, count, "ftrace", fn, arg);
}

int trace_dat_walk_events(struct cursor *c, int (*fn)(void *arg, const char *system,
			  const char *text, size_t len), void *arg)
{
	uint32_t systems = cursor_u32(c);
	const char *system;
	uint32_t count;
	int ret;

	if (c->bad || systems > SYSTEMS_MAX)
		return -EPROTO;
	while (systems--) {
		system = cursor_string(c);
		count = cursor_u32(c);
		if (!system || c->bad || count > LAYOUT_MAX_EVENTS)
			return -EPROTO;
		ret = walk_formats(c, count, system, fn, arg);
		if (ret)
			return ret;
	}
	return 0;
}

struct format_call {
	const struct foreign *foreign;
	int		(*fn)(void *arg, const char *system, const char *text, size_t len);
	void		*arg;
};

/* Passes a format on as the converted records are. */
static int call_with_format(void *arg, const char *system, const char *text, size_t len)
{
	const struct format_call *call = arg;
	const char *other = foreign_format(call->foreign, system, text, len);

	return call->fn(call->arg, system, other ? other : text, other ? strlen(other) : len);
}

static int each_file_format(const struct trace_dat *d,
			    int (*fn)(void *arg, const char *system, const char *text, size_t len),
			    void *arg, struct source_error *err)
{
	const struct dat_piece *p = &d->ftrace_formats;
	struct cursor c = trace_dat_over(d, p->data, p->size, p->offset);
	int ret = p->data ? trace_dat_walk_ftrace(&c, fn, arg) : 0;

	if (!ret) {
		p = &d->event_formats;
		c = trace_dat_over(d, p->data, p->size, p->offset);
		ret = p->data ? trace_dat_walk_events(&c, fn, arg) : 0;
	}
	if (ret && (ret == -EPROTO || c.bad))
		return error_set_at(err, -EPROTO, d->path, p->owned ? p->offset : cursor_offset(&c),
				    "damaged event formats");
	return ret;
}

int trace_dat_each_format(const struct trace_dat *d,
			  int (*fn)(void *arg, const char *system, const char *text, size_t len),
			  void *arg, struct source_error *err)
{
	struct format_call call = { .foreign = d->foreign, .fn = fn, .arg = arg };

	if (!d->foreign)
		return each_file_format(d, fn, arg, err);
	return each_file_format(d, call_with_format, &call, err);
}

/* What other tools write, and how a file of theirs begins. */
static const char *other_tool(const struct cursor *c)
{
	static const struct { const char *begin, *what; } others[] = {
		{ "PERFILE2", ": perf record has written it" },
		{ "# tracer: ", ": it is the text of the file trace; trace-cmd extract writes a "
				"recording" },
	};
	const size_t size = (size_t)(c->end - c->at);

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		const size_t len = strlen(others[i].begin);

		if (size >= len && !memcmp(c->at, others[i].begin, len))
			return others[i].what;
	}
	return "";
}

/* Magic, version, byte order, size of long, page size. */
static int read_initial(struct trace_dat *d, struct cursor *c)
{
	const uint16_t one = 1;
	const struct cursor begin = *c;
	unsigned int big, long_size;
	const char *version;

	if (!cursor_match(c, magic, sizeof(magic) - 1))
		return error_set_at(d->err, -EINVAL, d->path, 0, "not a trace.dat file%s",
				    other_tool(&begin));
	version = cursor_string(c);
	if (!version)
		return trace_dat_truncated(d, c, "the file's head");
	d->version = atoi(version);
	if (d->version != 6 && d->version != 7)
		return error_set_at(d->err, -EINVAL, d->path, sizeof(magic) - 1,
				    "trace.dat version %.16s; versions 6 and 7 can be read",
				    version);
	big = cursor_number(c, 1);
	long_size = cursor_number(c, 1);
	if (c->bad)
		return trace_dat_truncated(d, c, "the file's head");
	if (big > 1 || (long_size != 4 && long_size != 8))
		return error_set_at(d->err, -EPROTO, d->path, cursor_offset(c) - 2,
				    "damaged: byte order %u, size of long %u", big, long_size);
	d->swap = c->swap = big == *(const uint8_t *)&one;
	d->page_size = cursor_u32(c);
	if (c->bad)
		return trace_dat_truncated(d, c, "the file's head");
	if (d->page_size < 4096 || d->page_size > 1 << 20 || d->page_size & (d->page_size - 1))
		return error_set_at(d->err, -EPROTO, d->path, cursor_offset(c) - 4,
				    "damaged: page size %u", d->page_size);
	return 0;
}

static int map_file(struct trace_dat *d)
{
	struct stat st;
	void *map;
	int fd, ret = 0;

	/* O_NONBLOCK: opening something else than a file must not wait. */
	fd = open(d->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return error_set(d->err, -errno, d->path, "%s", strerror(errno));
	if (fstat(fd, &st) < 0)
		ret = error_set(d->err, -errno, d->path, "%s", strerror(errno));
	else if (!S_ISREG(st.st_mode))
		ret = error_set(d->err, -EINVAL, d->path, "%s: not a regular file",
				S_ISFIFO(st.st_mode)  ? "a pipe"
				: S_ISDIR(st.st_mode) ? "a directory"
						      : "a device");
	else if (st.st_size == 0)
		ret = error_set(d->err, -EINVAL, d->path, "the file is empty");
	if (ret)
		goto out_close;
	map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED) {
		ret = error_set(d->err, -errno, d->path, "%s", strerror(errno));
		goto out_close;
	}
	d->map = map;
	d->size = st.st_size;
	d->fd = fd;
	ret = guard_add(map, d->size, 0);
	return ret ? error_set(d->err, ret, d->path, "%s", strerror(-ret)) : 0;
out_close:
	close(fd);
	return ret;
}

int trace_dat_cut(const struct trace_dat *d, struct source_error *err)
{
	struct stat st;

	if (fstat(d->fd, &st) || (uint64_t)st.st_size >= d->size)
		return 0;
	return error_set_at(err, -EPROTO, d->path, (uint64_t)st.st_size,
			    "cut off while it was read");
}

static int read_file(struct trace_dat *d)
{
	struct cursor c = trace_dat_cursor(d, 0);
	int ret = read_initial(d, &c);

	if (ret)
		return ret;
	ret = d->version == 6 ? trace_dat_read_v6(d, &c) : trace_dat_read_v7(d, &c);
	if (!ret)
		ret = foreign_open(d);
	if (ret)
		return ret;
	if (d->latency && !d->nr_buffers)
		return error_set(
			d->err, -EINVAL, d->path,
			"holds the text of a latency tracer, no records that could be replayed");
	return 0;
}

int trace_dat_open(const char *path, bool partial, struct source_memory *memory,
		   struct trace_dat **out, struct source_error *err)
{
	struct trace_dat *d = calloc(1, sizeof(*d));
	int ret;

	if (!d)
		return error_set(err, -ENOMEM, path, "out of memory");
	d->err = err;
	d->memory = memory;
	d->fd = -1;
	d->partial = partial;
	d->path = strdup(path);
	d->algorithm = strdup("none");
	ret = d->path && d->algorithm ? 0 : error_set(err, -ENOMEM, path, "out of memory");
	if (!ret)
		ret = map_file(d);
	if (!ret)
		ret = read_file(d);
	d->err = NULL;
	if (ret) {
		trace_dat_close(d);
		return ret;
	}
	*out = d;
	return 0;
}

static void free_buffers(struct trace_dat *d)
{
	unsigned int i;

	for (i = 0; i < d->nr_buffers; i++) {
		free(d->buffers[i].name);
		free(d->buffers[i].clock);
		free(d->buffers[i].cpus);
	}
	free(d->buffers);
}

void trace_dat_close(struct trace_dat *d)
{
	if (!d)
		return;
	free_buffers(d);
	unpacker_destroy(d->unpacker);
	foreign_close(d->foreign);
	times_close(d->times);
	free(d->header_info.owned);
	free(d->ftrace_formats.owned);
	free(d->event_formats.owned);
	free(d->kallsyms.owned);
	free(d->printk.owned);
	free(d->cmdlines.owned);
	if (d->map) {
		guard_remove(d->map);
		munmap((void *)d->map, d->size);
	}
	if (d->fd >= 0)
		close(d->fd);
	free(d->clock);
	free(d->uname);
	free(d->algorithm);
	free(d->path);
	free(d);
}
