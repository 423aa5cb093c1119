/* SPDX-License-Identifier: MIT */
/* path.c - see path.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sources/program/scan/code.h"
#include "sources/program/scan/path.h"

struct path_head {
	struct probed_is is;
	struct elf_status status;	/* the path's: another copy of that file has its own */
	uint64_t	nr_phdrs;
	uint64_t	known;		/* the server has this file: nothing follows */
};

/* ---- in the process ---- */

static bool path_put(const void *v, size_t each, size_t nr, FILE *out)
{
	return fwrite(v, each, nr, out) == nr;
}

static int path_print_known(const struct probed_file *f, const struct stat *st, FILE *out)
{
	const struct path_head h = { .is = f->is, .status = elf_status_of(st), .known = 1 };

	return path_put(&h, sizeof(h), 1, out) ? 0 : -EIO;
}

static int path_print_file(const struct probed_path *p, struct elf_file *file, FILE *out)
{
	const struct image *im = &file->image;
	struct path_head h = { .status = elf_status_of(&file->status),
			       .nr_phdrs = im->nr_phdrs };
	const struct probed_file *known;
	int err = probed_identify(file, &h.is);

	if (err)
		return -ENOENT;
	known = probed_same(p->files, &h.is);
	if (known)
		return path_print_known(known, &file->status, out);
	if (!path_put(&h, sizeof(h), 1, out) ||
	    !path_put(im->phdrs, sizeof(*im->phdrs), im->nr_phdrs, out))
		return -EIO;
	return code_print(file, out);
}

/* An elf_reader */
static int path_open_right(const char *path, const struct elf_want *want, void *out)
{
	return elf_file_open(path, want, out);
}

static int path_open(const struct probed_path *p, struct elf_file *file)
{
	int err;

	if (!p->path)
		return program_dso_try(&p->dso, &p->owners, path_open_right, file) ? 0 : -ENOENT;
	err = elf_file_open(p->path, NULL, file);
	return err == -EIO ? -ENODATA : err ? -ENOENT : 0;
}

static int path_print(void *arg, FILE *out)
{
	const struct probed_path *p = arg;
	const struct probed_file *known;
	struct elf_file file;
	struct stat st;
	int err;

	if (p->path && stat(p->path, &st))
		return -ENOENT;
	known = p->path ? probed_find(p->files, &st) : NULL;
	if (known)
		return path_print_known(known, &st, out);
	err = path_open(p, &file);
	if (err)
		return err;
	err = path_print_file(p, &file, out);
	elf_file_close(&file);
	return err;
}

static int path_print_alone(void *arg, FILE *out)
{
	reading_begin("tracefuse-code");
	return path_print(arg, out);
}

/* ---- in the server ---- */

static struct probed_path *path_new(struct list_head *files)
{
	struct probed_path *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	list_init(&p->node);
	list_init(&p->awaited.node);
	p->files = files;
	return p;
}

struct probed_path *probed_path_create(struct list_head *files, const char *path, uint64_t inode)
{
	struct probed_path *p = path_new(files);

	if (!p)
		return NULL;
	p->awaited.inode = inode;
	p->path = strdup(path);
	if (p->path)
		return p;
	free(p);
	return NULL;
}

struct probed_path *probed_path_of_dso(struct programs *programs, struct list_head *files,
				       const struct program_dso *d)
{
	struct probed_path *p = path_new(files);

	if (!p)
		return NULL;
	p->dso = *d;
	program_dso_owners(programs, d, &p->owners);
	return p;
}

void probed_path_destroy(struct probed_path *p)
{
	list_del(&p->node);
	list_del(&p->awaited.node);
	reading_end(&p->awaited.reading);
	free(p->path);
	free(p);
}

/* What the bytes begin with. NULL: it makes no sense. */
static const struct path_head *path_head_of(const struct reading *r)
{
	const struct path_head *h = (const struct path_head *)r->bytes;

	if (r->nr < sizeof(*h) || h->is.id_len > sizeof(h->is.id) ||
	    h->nr_phdrs > (r->nr - sizeof(*h)) / sizeof(Elf64_Phdr))
		return NULL;
	return h;
}

static int path_add(struct probed_path *p, const struct path_head *h)
{
	const Elf64_Phdr *phdrs = (const Elf64_Phdr *)(h + 1);
	const unsigned int nr = (unsigned int)h->nr_phdrs;
	int err;

	p->found = probed_add(p->files, p->path ? p->path : p->dso.path, &h->is, phdrs, nr);
	if (!p->found)
		return -ENOMEM;
	err = code_take(p->found, &p->awaited.reading, sizeof(*h) + nr * sizeof(*phdrs));
	if (!err)
		return 0;
	probed_close(p->found);
	p->found = NULL;
	return err;
}

/* A file that was known can be closed since then. Then it is read: once, since that is rare. */
static int path_gone(struct probed_path *p)
{
	if (p->again)
		return -EPROTO;
	p->again = true;
	return -EAGAIN;
}

static int path_found(struct probed_path *p)
{
	const struct path_head *h = path_head_of(&p->awaited.reading);
	int err = 0;

	if (!h)
		return -EPROTO;
	p->status = h->status;
	probed_close_stale(p->files, &h->is);
	p->found = probed_same(p->files, &h->is);
	if (!p->found)
		err = h->known ? path_gone(p) : path_add(p, h);
	/* So that another path that leads to it does not close it. */
	if (p->found)
		p->found->needed = true;
	return err;
}

int probed_path_start(struct printers *ps, struct probed_path *p)
{
	p->looking = p->path && !p->looked && !list_empty(p->files);
	p->looked = true;
	return p->looking ? reading_look(ps, &p->awaited.reading, p->path)
			  : reading_start(ps, &p->awaited.reading, path_print_alone, p, 0);
}

int probed_path_here(struct probed_path *p)
{
	struct reading *r = &p->awaited.reading;
	int err = reading_here(r, path_print, p);

	if (!err)
		err = path_found(p);
	reading_end(r);
	return err;
}

/* Whatever stat() said, who opens the path says what is wrong with it. */
static int path_looked(struct probed_path *p)
{
	const struct reading *r = &p->awaited.reading;
	struct stat st;

	p->looking = false;
	if (r->nr != sizeof(st))
		return -EAGAIN;
	memcpy(&st, r->bytes, sizeof(st));
	p->found = probed_find(p->files, &st);
	if (!p->found)
		return -EAGAIN;
	p->status = elf_status_of(&st);
	p->found->needed = true;
	return 0;
}

int probed_path_take(struct probed_path *p)
{
	struct reading *r = &p->awaited.reading;
	int err = reading_take(r);

	if (err > 0)
		return err;
	if (p->looking && err != -ETIMEDOUT)
		err = path_looked(p);
	else if (!err)
		err = path_found(p);
	reading_end(r);
	return err;
}
