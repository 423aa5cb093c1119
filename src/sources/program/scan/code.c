/* SPDX-License-Identifier: MIT */
/*
 * code.c - see code.h
 *
 * The process has the server's open file as its standard input. So it reads the file that was
 * found, also where the path leads to another one by now, and the server reads no code of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "sources/program/scan/packed_code.h"
#include "elf/probe.h"
#include "sources/program/scan/code.h"

/* ---- in the process ---- */

/* What is read of a file. */
struct probed_code {
	struct code_file file;
	void		*memory;	/* of it */
	struct site	*sites;		/* the compiler's */
	size_t		nr_sites;
};

static void code_sites(struct image *im, struct probed_code *c)
{
	const size_t room = sites_in_image(im, NULL, 0);

	c->sites = room ? calloc(room, sizeof(*c->sites)) : NULL;
	c->nr_sites = c->sites ? sites_in_image(im, c->sites, room) : 0;
}

/* No segment: there is no code, or it is damaged. */
static void code_read(struct image *im, struct probed_code *c)
{
	size_t size;

	if (!image_is_code(im))
		return;
	image_functions(im);
	code_sites(im, c);
	size = code_room(im);
	c->memory = size ? calloc(1, size) : NULL;
	if (c->memory && code_open(&c->file, im, c->memory, size))
		probe_plan_sites(&c->file, c->sites, c->nr_sites);
	else
		c->file = (struct code_file){ .nr_segments = 0 };
}

int code_print(struct elf_file *file, FILE *out)
{
	struct probed_code c = { .nr_sites = 0 };
	int err;

	code_read(&file->image, &c);
	/* A disk that fails, or a file that was truncated, says nothing of its code. */
	err = file->err ? -ENODATA : packed_code_write(&c.file, c.sites, c.nr_sites, out);
	free(c.memory);
	free(c.sites);
	return err;
}

static int code_print_open(void *arg, FILE *out)
{
	const struct probed_file *f = arg;

	return code_print(f->file, out);
}

static int code_print_alone(void *arg, FILE *out)
{
	const struct probed_file *f = arg;

	reading_begin("tracefuse-code");
	f->file->fd = STDIN_FILENO;
	return code_print(f->file, out);
}

/* ---- in the server ---- */

int code_take(struct probed_file *f, struct reading *r, size_t from)
{
	const int err = from > r->nr ? -EPROTO :
			packed_code_read(r->bytes + from, r->nr - from, &f->code, &f->sites,
					 &f->nr_sites);

	if (err)
		return err;
	f->memory = r->bytes;
	r->bytes = NULL;
	f->read = true;
	return 0;
}

int probed_code_start(struct printers *ps, struct probed_file *f)
{
	return reading_start(ps, &f->code_awaited.reading, code_print_alone, f, f->file->fd);
}

int probed_code_here(struct probed_file *f)
{
	struct reading *r = &f->code_awaited.reading;
	int err = reading_here(r, code_print_open, f);

	if (!err)
		err = code_take(f, r, 0);
	reading_end(r);
	return err;
}

int probed_code_take(struct probed_file *f)
{
	struct reading *r = &f->code_awaited.reading;
	int err = reading_take(r);

	if (err > 0)
		return err;
	if (!err)
		err = code_take(f, r, 0);
	reading_end(r);
	return err;
}
