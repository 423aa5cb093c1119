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

bool probed_is_same(const struct probed_is *a, const struct probed_is *b)
{
	if (a->id_len || b->id_len)
		return a->id_len == b->id_len && a->size == b->size &&
		       !memcmp(a->id, b->id, a->id_len);
	return a->status.device == b->status.device && a->status.inode == b->status.inode;
}

static void identify_by_status(const struct stat *st, struct probed_is *out)
{
	*out = (struct probed_is){ .status = elf_status_of(st), .ctime = st->st_ctim };
}

int probed_identify(const struct elf_file *file, struct probed_is *out)
{
	const struct image *im = &file->image;
	uint64_t high;
	const uint8_t *id;
	size_t len;

	identify_by_status(&file->status, out);
	if (!image_span(im->phdrs, im->nr_phdrs, &out->low, &high))
		return -EINVAL;
	out->low &= ~(uint64_t)(PROBED_PAGE - 1);
	out->size = high - out->low;
	id = elf_build_id(im, &len);
	/* As in the program, which has no room for a longer one. */
	if (id && len <= sizeof(out->id)) {
		out->id_len = (uint32_t)len;
		memcpy(out->id, id, len);
	}
	return 0;
}

/* Nothing points to it, and it is no longer what was read. */
static bool is_stale(const struct probed_file *f, const struct probed_is *is)
{
	return !f->needed && !f->has_notes &&
	       (elf_status_changed(&f->is.status, &is->status) ||
		f->is.ctime.tv_sec != is->ctime.tv_sec || f->is.ctime.tv_nsec != is->ctime.tv_nsec);
}

struct probed_file *probed_same(const struct list_head *list, const struct probed_is *is)
{
	struct probed_file *f;

	list_each(f, list, node)
		if (probed_is_same(&f->is, is) && !is_stale(f, is))
			return f;
	return NULL;
}

void probed_close_stale(struct list_head *list, const struct probed_is *is)
{
	struct probed_file *f, *next;

	list_each_safe(f, next, list, node)
		if (probed_is_same(&f->is, is) && is_stale(f, is))
			probed_close(f);
}

static bool probed_phdrs(struct probed_file *f, const Elf64_Phdr *phdrs, unsigned int nr)
{
	f->phdrs = calloc(nr + 1ul, sizeof(*phdrs));
	if (!f->phdrs)
		return false;
	memcpy(f->phdrs, phdrs, nr * sizeof(*phdrs));
	f->nr_phdrs = nr;
	return true;
}

struct probed_file *probed_add(struct list_head *list, const char *path, const struct probed_is *is,
			       const Elf64_Phdr *phdrs, unsigned int nr_phdrs)
{
	struct probed_file *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	list_init(&f->places);
	list_init(&f->idle);
	list_init(&f->code_awaited.node);
	lookup_init(&f->by_address);
	list_add_tail(&f->node, list);
	f->is = *is;
	f->code_awaited.inode = is->status.inode;
	f->path = strdup(path);
	if (f->path && probed_phdrs(f, phdrs, nr_phdrs))
		return f;
	probed_close(f);
	return NULL;
}

struct probed_file *probed_find(const struct list_head *list, const struct stat *st)
{
	struct probed_file *f;
	struct probed_is is;

	identify_by_status(st, &is);
	list_each(f, list, node)
		if (f->is.status.device == is.status.device &&
		    f->is.status.inode == is.status.inode && !is_stale(f, &is))
			return f;
	return NULL;
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
	list_del(&f->code_awaited.node);
	reading_end(&f->code_awaited.reading);
	free(f->path);
	free(f->texts);
	free(f->phdrs);
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
	for (unsigned int i = 0; i < f->nr_phdrs; i++) {
		const Elf64_Phdr *p = &f->phdrs[i];

		if (p->p_type != PT_LOAD || (is_code && !(p->p_flags & PF_X)) ||
		    offset < p->p_offset || offset - p->p_offset >= p->p_filesz)
			continue;
		*at = p->p_vaddr + (offset - p->p_offset);
		return true;
	}
	return false;
}
