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
#include "model/text_memory.h"
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

static int code_print(void *arg, FILE *out)
{
	struct probed_file *f = arg;
	struct probed_code c = { .nr_sites = 0 };
	int err;

	code_read(&f->file.image, &c);
	/* A disk that fails, or a file that was truncated, says nothing of its code. */
	err = f->file.err ? -ENODATA
			  : packed_code_write(&c.file, c.sites, c.nr_sites, out);
	free(c.memory);
	free(c.sites);
	return err;
}

static int code_print_alone(void *arg, FILE *out)
{
	struct probed_file *f = arg;

	reading_begin("tracefuse-code");
	f->file.fd = STDIN_FILENO;
	return code_print(f, out);
}

/* ---- in the server ---- */

static int code_take(struct probed_file *f, void *bytes, size_t size)
{
	const int err = packed_code_read(bytes, size, &f->code, &f->sites, &f->nr_sites);

	if (err)
		return err;
	f->memory = bytes;
	f->read = true;
	return 0;
}

int probed_code_start(struct printers *ps, struct probed_file *f)
{
	return reading_start(ps, &f->reading, code_print_alone, f, f->file.fd);
}

int probed_code_here(struct probed_file *f)
{
	char *bytes = NULL;
	size_t size;
	FILE *out = text_memory_open(&bytes, &size);
	int err = out ? code_print(f, out) : -ENOMEM;

	if (out && fclose(out))
		err = -ENOMEM;
	if (!err)
		err = code_take(f, bytes, size);
	if (err)
		free(bytes);
	return err;
}

int probed_code_take(struct probed_file *f)
{
	int err = reading_take(&f->reading);

	if (err > 0)
		return err;
	if (!err)
		err = code_take(f, f->reading.bytes, f->reading.nr);
	if (!err)
		f->reading.bytes = NULL;	/* they are f->memory */
	reading_end(&f->reading);
	return err;
}
