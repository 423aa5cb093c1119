/* SPDX-License-Identifier: MIT */
/* dat_writer.c - numbers, sections and options of a trace.dat, in the machine's little endian */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "export/dat_writer.h"

enum { LEVEL = 3 };

int dat_failed(struct dat_writer *w, int err, const char *what)
{
	if (w->err)
		return w->err;
	w->err = err;
	snprintf(w->error->text, sizeof(w->error->text), "%.128s%s%s", what ? what : "",
		 what ? ": " : "", strerror(-err));
	return err;
}

void dat_put(struct dat_writer *w, const void *bytes, size_t n)
{
	if (!w->err && fwrite(bytes, 1, n, w->out) != n)
		dat_failed(w, errno ? -errno : -EIO, NULL);
}

void dat_put_number(struct dat_writer *w, uint64_t v, size_t bytes)
{
	dat_put(w, &v, bytes);
}

uint64_t dat_here(struct dat_writer *w)
{
	off_t at = ftello(w->out);

	if (at < 0)
		dat_failed(w, -errno, NULL);
	return at < 0 ? 0 : (uint64_t)at;
}

void dat_put_at(struct dat_writer *w, uint64_t at, uint64_t v, size_t bytes)
{
	uint64_t now = dat_here(w);

	if (w->err)
		return;
	if (fseeko(w->out, (off_t)at, SEEK_SET))
		dat_failed(w, -errno, NULL);
	dat_put_number(w, v, bytes);
	if (!w->err && fseeko(w->out, (off_t)now, SEEK_SET))
		dat_failed(w, -errno, NULL);
}

void dat_align(struct dat_writer *w, uint32_t to)
{
	static const char zeros[4096];
	uint64_t left = (to - dat_here(w) % to) % to;

	while (left && !w->err) {
		size_t n = left < sizeof(zeros) ? left : sizeof(zeros);

		dat_put(w, zeros, n);
		left -= n;
	}
}

uint64_t dat_section_start(struct dat_writer *w, unsigned int id, bool compressed)
{
	uint64_t at = dat_here(w);

	dat_put_number(w, id, 2);
	dat_put_number(w, compressed, 2);
	dat_put_number(w, 0, 4);	/* no description */
	dat_put_number(w, 0, 8);
	return at;
}

void dat_section_end(struct dat_writer *w, uint64_t at)
{
	dat_put_at(w, at + 8, dat_here(w) - at - 16, 8);
}

char *dat_pack(const void *bytes, size_t n, size_t *size)
{
	size_t room = ZSTD_compressBound(n);
	char *out = malloc(room);

	if (!out)
		return NULL;
	*size = ZSTD_compress(out, room, bytes, n, LEVEL);
	if (!ZSTD_isError(*size))
		return out;
	free(out);
	return NULL;
}

static void put_packed(struct dat_writer *w, const char *bytes, size_t n)
{
	size_t size = 0;
	char *packed = dat_pack(bytes, n, &size);

	if (!packed) {
		dat_failed(w, -ENOMEM, NULL);
		return;
	}
	dat_put_number(w, size, 4);
	dat_put_number(w, n, 4);
	dat_put(w, packed, size);
	free(packed);
}

uint64_t dat_section(struct dat_writer *w, unsigned int id, const char *bytes, size_t n)
{
	uint64_t at = dat_section_start(w, id, w->params->compress);

	if (w->params->compress)
		put_packed(w, bytes, n);
	else
		dat_put(w, bytes, n);
	dat_section_end(w, at);
	return at;
}

void dat_option(struct dat_writer *w, unsigned int id, const void *bytes, uint32_t n)
{
	dat_put_number(w, id, 2);
	dat_put_number(w, n, 4);
	dat_put(w, bytes, n);
}

char *dat_read(struct dat_writer *w, const char *path, size_t *len)
{
	const struct export_files *files = w->params->files;
	char *text = NULL;
	int ret = w->err ? w->err : files->read(files->arg, path, &text, len);

	if (!ret)
		return text;
	*len = 0;
	dat_failed(w, ret, path);
	return strdup("");
}
