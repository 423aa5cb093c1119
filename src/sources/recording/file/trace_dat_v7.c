/* SPDX-License-Identifier: MIT */
/*
 * trace_dat_v7.c - version 7: sections, which options point to
 */
#include <errno.h>
#include <stdlib.h>

#include "sources/recording/file/trace_dat.h"

enum { SECTION_COMPRESSED = 1, SECTIONS_MAX = 1024 };

static int unpack_section(struct trace_dat *d, struct cursor *c, struct dat_piece *out)
{
	uint64_t at = cursor_offset(c);
	uint32_t packed = cursor_u32(c);
	uint32_t size = cursor_u32(c);
	const uint8_t *data = cursor_take(c, packed);
	struct unpacker *u;
	int ret;

	if (!data)
		return trace_dat_truncated(d, c, "a compressed section");
	/*
	 * This memory is never given back, because options may point to the same section any number
	 * of times.
	 */
	if (!trace_dat_memory(d, size))
		return trace_dat_damage(d, at, "a section of %u bytes is " SOURCE_MEMORY_TEXT,
					size);
	if (!unpacker_knows(d->algorithm))
		return error_set_at(d->err, -ENOTSUP, d->path, at, "cannot unpack \"%.32s\"",
				    d->algorithm);
	u = trace_dat_unpacker(d);
	out->owned = u ? malloc(size + 1ull) : NULL;
	ret = out->owned ? unpacker_run(u, data, packed, out->owned, size) : -ENOMEM;
	if (ret == -ENOMEM)
		return error_set(d->err, ret, d->path, "out of memory");
	if (ret) {
		free(out->owned);
		out->owned = NULL;
		return trace_dat_damage(d, at, "damaged: a compressed section cannot be unpacked");
	}
	out->data = out->owned;
	out->size = size;
	return 0;
}

int trace_dat_section(struct trace_dat *d, uint64_t offset, unsigned int id, struct dat_piece *out)
{
	struct cursor c = trace_dat_cursor(d, offset);
	unsigned int found = cursor_u16(&c);
	unsigned int flags = cursor_u16(&c);
	uint64_t size;

	free(out->owned);
	*out = (struct dat_piece){ .offset = offset };
	cursor_u32(&c);		/* a string that describes the section */
	size = cursor_u64(&c);
	if (c.bad)
		return trace_dat_damage(d, d->size, "cut off: section %u should be at %llu", id,
					(unsigned long long)offset);
	if (found != id)
		return trace_dat_damage(d, offset, "damaged: section %u where %u should be", found,
					id);
	if (size > cursor_left(&c))
		return trace_dat_damage(d, offset, "cut off inside section %u", id);
	c.end = c.at + size;
	if (flags & SECTION_COMPRESSED)
		return unpack_section(d, &c, out);
	out->offset = cursor_offset(&c);
	out->data = c.at;
	out->size = size;
	return 0;
}

/* Reads the options of one section. *next: offset of the next section of options; 0: none. */
static int read_options(struct trace_dat *d, struct dat_piece *p, uint64_t *next)
{
	struct cursor c = trace_dat_over(d, p->data, p->size, p->offset);
	struct cursor option;
	const uint8_t *data;
	unsigned int id;
	uint32_t size;
	uint64_t at;
	int ret = 0;

	*next = 0;
	while (!ret) {
		id = cursor_u16(&c);
		size = cursor_u32(&c);
		at = cursor_offset(&c);
		data = cursor_take(&c, size);
		if (!data)
			return trace_dat_truncated(d, &c, "the options");
		option = trace_dat_over(d, data, size, at);
		if (id == DAT_DONE) {
			*next = size >= 8 ? cursor_u64(&option) : 0;
			return 0;
		}
		ret = trace_dat_option(d, id, &option);
	}
	return ret;
}

static int read_all_options(struct trace_dat *d, uint64_t offset)
{
	struct dat_piece p = { 0 };
	unsigned int sections = 0;
	int ret = 0;

	while (offset && !ret) {
		/* The chain of sections leads back to itself. */
		if (++sections > SECTIONS_MAX) {
			ret = trace_dat_damage(d, offset, "damaged: options without end");
			break;
		}
		ret = trace_dat_section(d, offset, 0, &p);
		offset = 0;
		if (!ret && p.data)
			ret = read_options(d, &p, &offset);
	}
	free(p.owned);
	return ret;
}

static int read_algorithm(struct trace_dat *d, struct cursor *c)
{
	uint64_t at = cursor_offset(c);
	const char *name = cursor_string(c);
	const char *version = cursor_string(c);

	if (!name || !version)
		return trace_dat_truncated(d, c, "the file's head");
	if (strcmp(name, "none") && name[0] && !unpacker_knows(name))
		return error_set_at(d->err, -ENOTSUP, d->path, at,
				    "compressed with \"%.32s\"; zlib and zstd can be read", name);
	free(d->algorithm);
	d->algorithm = strdup(name);
	return d->algorithm ? 0 : error_set(d->err, -ENOMEM, d->path, "out of memory");
}

int trace_dat_read_v7(struct trace_dat *d, struct cursor *c)
{
	uint64_t offset;
	int ret;

	ret = read_algorithm(d, c);
	if (ret)
		return ret;
	offset = cursor_u64(c);
	if (c->bad)
		return trace_dat_truncated(d, c, "the file's head");
	if (!offset)
		return error_set_at(d->err, -EPROTO, d->path, cursor_offset(c) - 8,
				    "damaged or never finished: no options");
	ret = read_all_options(d, offset);
	if (ret)
		return ret;
	if (!d->header_info.data || !d->event_formats.data)
		return error_set_at(d->err, -EPROTO, d->path, d->size,
				    "damaged or cut off: no event formats");
	if (!d->nr_buffers && !d->latency)
		return trace_dat_damage(d, d->size, "damaged or cut off: no buffer");
	return 0;
}
