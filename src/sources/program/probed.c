/* SPDX-License-Identifier: MIT */
/*
 * probed.c - files with probes: their identity and code, and a plan for each place
 *
 * The server plans and the program only plants: its task may open no file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "elf/probe.h"
#include "sources/program/probed.h"

enum { PROBED_PAGE = 4096 };

/* ---- open ---- */

static bool probed_is(const struct probed_file *f, const struct probed_file *other)
{
	if (f->id_len || other->id_len)
		return f->id_len == other->id_len && f->size == other->size &&
		       !memcmp(f->id, other->id, f->id_len);
	return f->device == other->device && f->inode == other->inode;
}

static int probed_identify(struct probed_file *f)
{
	const struct image *im = &f->file.image;
	uint64_t high;
	const uint8_t *id;
	struct stat st;
	size_t len;

	if (fstat(f->file.fd, &st))
		return -errno;
	if (!image_span(im->phdrs, im->nr_phdrs, &f->low, &high))
		return -EINVAL;
	f->device = st.st_dev;
	f->inode = st.st_ino;
	f->low &= ~(uint64_t)(PROBED_PAGE - 1);
	f->size = high - f->low;
	id = elf_build_id(im, &len);
	/* As in the program, which has no room for a longer one. */
	if (id && len <= sizeof(f->id)) {
		f->id_len = (uint32_t)len;
		memcpy(f->id, id, len);
	}
	return 0;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Nothing points to it, and it is no longer what was read. */
static bool is_stale(const struct probed_file *f, const struct stat *st)
{
	const struct stat *read = &f->file.status;

	return !f->needed && !f->has_notes &&
	       (read->st_size != st->st_size || !is_same_time(&read->st_mtim, &st->st_mtim) ||
		!is_same_time(&read->st_ctim, &st->st_ctim));
}

struct opening {
	struct list_head *list;
	struct probed_file *found;
};

/* A file of the list that is the same; none that is stale: such ones are closed. */
static struct probed_file *probed_same(struct list_head *list, const struct probed_file *f)
{
	struct probed_file *old, *next, *found = NULL;

	list_each_safe(old, next, list, node) {
		if (!probed_is(old, f))
			continue;
		if (is_stale(old, &f->file.status))
			probed_close(old);
		else if (!found)
			found = old;
	}
	return found;
}

/* An elf_reader: takes the file into the list if it is not there yet. */
static int probed_take(const char *path, const struct elf_want *want, void *opening)
{
	struct opening *o = opening;
	struct probed_file *f = calloc(1, sizeof(*f));
	int err = f ? elf_file_open(path, want, &f->file) : -ENOMEM;

	if (err) {
		free(f);
		return err;
	}
	list_init(&f->node);
	list_init(&f->places);
	list_init(&f->idle);
	lookup_init(&f->by_address);
	f->path = strdup(path);
	err = f->path ? probed_identify(f) : -ENOMEM;
	if (!err && !o->found)
		o->found = probed_same(o->list, f);
	if (err || o->found) {
		probed_close(f);
		return err;
	}
	list_add_tail(&f->node, o->list);
	o->found = f;
	return 0;
}

static struct probed_file *probed_find(struct list_head *list, const struct stat *st)
{
	struct probed_file *f;

	list_each(f, list, node)
		if (f->device == st->st_dev && f->inode == st->st_ino)
			return f;
	return NULL;
}

int probed_open(struct list_head *list, const char *path, struct probed_file **out)
{
	struct opening o = { .list = list };
	struct probed_file *f;
	struct stat st;
	int err;

	if (stat(path, &st))
		return -errno;
	f = probed_find(list, &st);
	if (f && is_stale(f, &st)) {
		probed_close(f);
		f = NULL;
	}
	*out = f;
	if (f)
		return 0;
	err = probed_take(path, NULL, &o);
	*out = o.found;
	return err;
}

int probed_open_dso(struct programs *p, struct list_head *list, const struct program_dso *d,
		    struct probed_file **out)
{
	struct opening o = { .list = list };

	if (!program_dso_read(p, d, probed_take, &o))
		return -ENOENT;
	*out = o.found;
	return 0;
}

void probed_rename(struct probed_file *f, const char *path, const char *name)
{
	char *copy = strcmp(f->path, path) ? NULL : strdup(name);

	if (!copy)
		return;
	free(f->path);
	f->path = copy;
}

static void places_free(struct list_head *list)
{
	struct probed_place *p, *next;

	list_each_safe(p, next, list, in_file)
		free(p);
}

void probed_close(struct probed_file *f)
{
	list_del(&f->node);
	elf_file_close(&f->file);
	free(f->path);
	reading_end(&f->reading);
	free(f->memory);
	free(f->sites);
	places_free(&f->places);
	places_free(&f->idle);
	lookup_free(&f->by_address);
	free(f->blocks);
	free(f);
}

/* ---- places ---- */

static uint64_t place_hash(uint64_t at)
{
	return lookup_hash(0, &at, sizeof(at));
}

static void unplan_place(struct probed_file *f, const struct probe_plan *p)
{
	const struct code_plan plan = { .tactic = p->tactic, .at = p->from, .len = p->len };

	code_own(&f->code, &plan, false);
}

static struct probed_place *place_at(struct probed_file *f, uint64_t at)
{
	struct probed_place *p;

	lookup_each(p, &f->by_address, place_hash(at), struct probed_place, node)
		if (p->at == at)
			return p;
	return NULL;
}

struct probed_place *probed_keep(struct probed_file *f, uint64_t at)
{
	struct probed_place *p = place_at(f, at);

	if (!p)
		return NULL;
	if (!p->nr_points++) {
		list_del(&p->in_file);
		list_add_tail(&p->in_file, &f->places);
	}
	return p;
}

void probed_leave(struct probed_file *f, struct probed_place *p)
{
	if (--p->nr_points)
		return;
	list_del(&p->in_file);
	list_add_tail(&p->in_file, &f->idle);
}

struct probed_place *probed_plan(struct probed_file *f, uint64_t at)
{
	struct probed_place *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->at = at;
	p->nr_points = 1;
	list_add_tail(&p->in_file, &f->places);
	lookup_add(&f->by_address, &p->node, place_hash(at));
	if (f->code.nr_segments)
		probe_plan_make(&f->code, f->sites, f->nr_sites, at, false, &p->plan);
	else
		p->plan = (struct probe_plan){ .address = at, .why = CODE_NO_FDE };
	return p;
}

/* A place is one, also where an entry and a return are probed. */
static void check_return(const struct probed_file *f, uint64_t at, struct probe_plan *out)
{
	const struct code_function *fn = code_function_at(&f->code, at);

	if (out->why != CODE_GOOD)
		return;
	if (!fn || (at != fn->start && at != code_entry(fn))) {
		out->why = CODE_NOT_START;
		return;
	}
	out->why = fn->why;
	out->returns = fn->returns;
}

void probed_plan_of(const struct probed_file *f, const struct probed_place *p, bool is_return,
		    struct probe_plan *out)
{
	*out = p->plan;
	if (is_return)
		check_return(f, p->at, out);
}

void probed_forget(struct probed_file *f)
{
	struct probed_place *p, *next;

	list_each_safe(p, next, &f->idle, in_file) {
		unplan_place(f, &p->plan);
		lookup_remove(&f->by_address, &p->node);
		list_del(&p->in_file);
		free(p);
	}
}

bool probed_at_offset(const struct probed_file *f, uint64_t offset, bool is_code, uint64_t *at)
{
	for (unsigned int i = 0; i < f->file.image.nr_phdrs; i++) {
		const Elf64_Phdr *p = &f->file.image.phdrs[i];

		if (p->p_type != PT_LOAD || (is_code && !(p->p_flags & PF_X)) ||
		    offset < p->p_offset || offset - p->p_offset >= p->p_filesz)
			continue;
		*at = p->p_vaddr + (offset - p->p_offset);
		return true;
	}
	return false;
}
