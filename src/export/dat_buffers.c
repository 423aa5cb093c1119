/* SPDX-License-Identifier: MIT */
/*
 * dat_buffers.c - the pages of each CPU of each instance, plain or compressed in chunks of whole
 * pages
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/dat_writer.h"
#include "session/array.h"

enum { CHUNK = 256 * 1024 };

void dat_path(const struct dat_instance *inst, const char *file, char *out, size_t size)
{
	snprintf(out, size, "%s%s%s%s", *inst->name ? "instances/" : "", inst->name,
		 *inst->name ? "/" : "", file);
}

/* ---- instances and CPUs ---- */

static int count_directory(void *to, const char *name, bool is_dir)
{
	*(uint32_t *)to += is_dir;
	return 0;
}

static int add_instance(void *to, const char *name, bool is_dir)
{
	struct dat_writer *w = to;
	struct dat_instance *inst;

	if (!is_dir)
		return 0;
	if (array_room(&w->instances, w->nr_instances, sizeof(*inst)))
		return -ENOMEM;
	inst = &w->instances[w->nr_instances++];
	*inst = (struct dat_instance){
		.name = strdup(name), .cpus = calloc(w->nr_cpus, sizeof(struct dat_pages)),
	};
	return inst->name && inst->cpus ? 0 : -ENOMEM;
}

/* Reads the current clock: the name in brackets. */
static void read_clock(struct dat_writer *w, struct dat_instance *inst)
{
	char path[300], *text, *name;
	size_t len;

	dat_path(inst, "trace_clock", path, sizeof(path));
	text = dat_read(w, path, &len);
	name = text ? strchr(text, '[') : NULL;
	inst->clock = strndup(name ? name + 1 : "local", name ? strcspn(name + 1, "]") : 5);
	if (!inst->clock)
		dat_failed(w, -ENOMEM, NULL);
	free(text);
}

static void read_subbuf_size(struct dat_writer *w, struct dat_instance *inst)
{
	char path[300], *text;
	size_t len;

	dat_path(inst, "buffer_subbuf_size_kb", path, sizeof(path));
	text = dat_read(w, path, &len);
	inst->subbuf_size = text ? (uint32_t)strtoul(text, NULL, 10) * 1024 : 0;
	if (!inst->subbuf_size)
		dat_failed(w, -EPROTO, path);
	free(text);
}

void dat_find_instances(struct dat_writer *w)
{
	const struct export_files *files = w->params->files;
	int ret = files->list(files->arg, "per_cpu", count_directory, &w->nr_cpus);

	if (!ret)
		ret = add_instance(w, "", true);
	if (!ret)
		ret = files->list(files->arg, "instances", add_instance, w);
	if (ret)
		dat_failed(w, ret, "instances");
	for (unsigned int i = 0; i < w->nr_instances && !w->err; i++) {
		read_clock(w, &w->instances[i]);
		read_subbuf_size(w, &w->instances[i]);
	}
}

/* ---- pages ---- */

struct chunk {
	struct dat_writer *w;
	char		*bytes;
	size_t		used, room;
	uint32_t	nr;
};

static int flush_chunk(struct chunk *c)
{
	size_t size;
	char *packed = dat_pack(c->bytes, c->used, &size);

	if (!packed)
		return dat_failed(c->w, -ENOMEM, NULL);
	dat_put_number(c->w, size, 4);
	dat_put_number(c->w, c->used, 4);
	dat_put(c->w, packed, size);
	free(packed);
	c->used = 0;
	c->nr++;
	return c->w->err;
}

static int take_packed(void *to, const char *buf, size_t n)
{
	struct chunk *c = to;
	int ret = 0;

	while (n && !ret) {
		size_t part = n < c->room - c->used ? n : c->room - c->used;

		memcpy(c->bytes + c->used, buf, part);
		c->used += part;
		buf += part;
		n -= part;
		if (c->used == c->room)
			ret = flush_chunk(c);
	}
	return ret;
}

static int take_plain(void *to, const char *buf, size_t n)
{
	struct dat_writer *w = to;

	dat_put(w, buf, n);
	return w->err;
}

static void put_packed(struct dat_writer *w, const struct dat_instance *inst, const char *path)
{
	const struct export_files *files = w->params->files;
	struct chunk c = { .w = w, .room = CHUNK > inst->subbuf_size ? CHUNK : inst->subbuf_size };
	uint64_t at = dat_here(w);
	int ret;

	dat_put_number(w, 0, 4);
	c.bytes = malloc(c.room);
	ret = c.bytes ? files->stream(files->arg, path, take_packed, &c) : -ENOMEM;
	if (!ret && c.used)
		ret = flush_chunk(&c);
	if (ret)
		dat_failed(w, ret, path);
	dat_put_at(w, at, c.nr, 4);
	free(c.bytes);
}

static void put_cpu(struct dat_writer *w, struct dat_instance *inst, uint32_t cpu)
{
	const struct export_files *files = w->params->files;
	struct dat_pages *p = &inst->cpus[cpu];
	char path[400], file[64];
	int ret;

	snprintf(file, sizeof(file), "per_cpu/cpu%u/trace_raw", cpu);
	dat_path(inst, file, path, sizeof(path));
	dat_align(w, inst->subbuf_size);
	p->offset = dat_here(w);
	if (w->params->compress) {
		put_packed(w, inst, path);
		/*
		 * As in trace-cmd, the size does not include the 4 bytes of the number of chunks.
		 */
		p->size = dat_here(w) - p->offset - 4;
		return;
	}
	ret = files->stream(files->arg, path, take_plain, w);
	if (ret)
		dat_failed(w, ret, path);
	p->size = dat_here(w) - p->offset;
}

void dat_put_buffers(struct dat_writer *w)
{
	for (unsigned int i = 0; i < w->nr_instances && !w->err; i++) {
		struct dat_instance *inst = &w->instances[i];

		inst->section = dat_section_start(w, DAT_BUFFER, w->params->compress);
		for (uint32_t cpu = 0; cpu < w->nr_cpus && !w->err; cpu++)
			put_cpu(w, inst, cpu);
		dat_section_end(w, inst->section);
	}
}
