/* SPDX-License-Identifier: MIT */
/* code.c - see code.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* Which file it is, and where it may be. */
struct code_search {
	const struct probed_is *is;
	struct program_dso dso;
	struct program_owners owners;
	struct elf_file	file;
};

/* An elf_reader: the file at the path is the one that is searched. */
static int code_open_right(const char *path, const struct elf_want *want, void *out)
{
	struct code_search *c = out;
	struct probed_is is;
	int err = elf_file_open(path, want, &c->file);

	if (err)
		return err;
	if (!probed_identify(&c->file, &is) && probed_is_same(&is, c->is))
		return 0;
	elf_file_close(&c->file);
	return -ESTALE;
}

static int code_print_found(void *arg, FILE *out)
{
	struct code_search *c = arg;
	int err;

	if (!program_dso_try(&c->dso, &c->owners, code_open_right, c))
		return -ENOENT;
	err = code_print(&c->file, out);
	elf_file_close(&c->file);
	return err;
}

static int code_print_alone(void *arg, FILE *out)
{
	reading_begin("tracefuse-code");
	return code_print_found(arg, out);
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

static void code_search_make(struct programs *p, const struct probed_file *f,
			     struct code_search *c)
{
	_Static_assert(sizeof(c->dso.id) == sizeof(f->is.id), "the same room");
	*c = (struct code_search){ .is = &f->is };
	c->dso.pid = (uint32_t)f->pid;
	c->dso.load = f->is.low;
	c->dso.size = f->is.size;
	c->dso.id_len = f->is.id_len;
	memcpy(c->dso.id, f->is.id, sizeof(c->dso.id));
	snprintf(c->dso.path, sizeof(c->dso.path), "%s", f->path);
	program_dso_owners(p, &c->dso, &c->owners);
}

int probed_code_start(struct programs *p, struct printers *ps, struct probed_file *f)
{
	struct code_search c;

	code_search_make(p, f, &c);
	return reading_start(ps, &f->code_awaited.reading, code_print_alone, &c, 0);
}

int probed_code_here(struct programs *p, struct probed_file *f)
{
	struct reading *r = &f->code_awaited.reading;
	struct code_search c;
	int err;

	code_search_make(p, f, &c);
	err = reading_here(r, code_print_found, &c);
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
