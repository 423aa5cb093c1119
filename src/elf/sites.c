/* SPDX-License-Identifier: MIT */
/* sites.c - finds the sites of one ELF file as the program itself does, and their names */
#include <errno.h>
#include <stdlib.h>

#include "elf/file.h"
#include "elf/moved.h"
#include "elf/site_cache.h"
#include "elf/sites.h"

static int find(struct elf_sites *out, struct elf_file *f, const struct elf_want *want)
{
	struct image *im = &f->image;
	size_t room = image_is_code(im) ? sites_in_image(im, NULL, 0) : 0;

	if (!room)
		return 0;
	image_functions(im);
	out->v = calloc(room, sizeof(*out->v));
	if (!out->v)
		return -ENOMEM;
	out->nr = sites_in_image(im, out->v, room);
	return 0;
}

static int find_moved(struct elf_sites *out, struct elf_file *f, const struct elf_want *want)
{
	struct image *im = &f->image;
	struct code_file code;
	size_t size;
	void *memory;

	if (!image_is_code(im))
		return 0;
	image_functions(im);
	if (site_cache_load(f, want, out))
		return 0;
	size = code_room(im);
	if (!size)
		return 0;
	memory = calloc(1, size);
	if (!memory)
		return -ENOMEM;
	if (code_open(&code, im, memory, size) && code.nr_functions) {
		out->v = calloc(code.nr_functions, sizeof(*out->v));
		out->nr = out->v ? moved_sites(&code, out->v) : 0;
	}
	free(memory);
	if (out->v && !f->err)
		site_cache_store(f, want, out);
	return 0;
}

static int read_all(struct elf_sites *out, struct elf_file *f, const struct elf_want *want,
		    int (*find)(struct elf_sites *out, struct elf_file *f,
				const struct elf_want *want))
{
	int err = find(out, f, want);

	if (!err && out->nr)
		err = elf_symbols_of(f, &out->symbols);
	if (!err && out->nr)
		err = elf_names_make(&f->image, out->v, out->nr, &out->symbols);
	return err ? err : f->err;
}

static int read_with(const char *path, const struct elf_want *want, struct elf_sites *out,
		     int (*find)(struct elf_sites *out, struct elf_file *f,
				const struct elf_want *want))
{
	struct elf_file f;
	int err = elf_file_open(path, want, &f);

	*out = (struct elf_sites){ 0 };
	if (err)
		return err;
	err = read_all(out, &f, want, find);
	elf_file_close(&f);
	if (err)
		elf_sites_free(out);
	return err;
}

int elf_sites_read(const char *path, const struct elf_want *want, struct elf_sites *out)
{
	return read_with(path, want, out, find);
}

int elf_moved_read(const char *path, const struct elf_want *want, struct elf_sites *out)
{
	return read_with(path, want, out, find_moved);
}

void elf_sites_free(struct elf_sites *s)
{
	free(s->v);
	elf_symbols_free(&s->symbols);
	*s = (struct elf_sites){ 0 };
}
