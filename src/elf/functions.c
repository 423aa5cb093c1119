/* SPDX-License-Identifier: MIT */
/*
 * functions.c - the functions of a file by their names
 *
 * Who asks for one function of a file often asks for others: the file that was read last is kept,
 * until it has changed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/file.h"

struct elf_functions {
	struct stat	status;		/* of the file, before it was read */
	struct elf_symbols symbols;
	uint32_t	*by_name;	/* indexes of functions; of one name as in symbols */
	size_t		nr;
	Elf64_Phdr	*phdrs;
	unsigned int	nr_phdrs;
};

static int compare_names(const void *a, const void *b, void *symbols)
{
	const struct elf_symbols *s = symbols;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const int order = strcmp(s->names + s->v[x].name, s->names + s->v[y].name);

	return order ? order : x < y ? -1 : 1;
}

static int sort_names(struct elf_functions *k)
{
	k->by_name = calloc(k->symbols.nr + 1, sizeof(*k->by_name));
	if (!k->by_name)
		return -ENOMEM;
	for (size_t i = 0; i < k->symbols.nr; i++)
		if (strchr("tTwWiu", k->symbols.v[i].type))
			k->by_name[k->nr++] = (uint32_t)i;
	qsort_r(k->by_name, k->nr, sizeof(*k->by_name), compare_names, &k->symbols);
	return 0;
}

static int copy_phdrs(struct elf_functions *k, const struct image *im)
{
	k->phdrs = calloc(im->nr_phdrs + 1, sizeof(*k->phdrs));
	if (!k->phdrs)
		return -ENOMEM;
	memcpy(k->phdrs, im->phdrs, im->nr_phdrs * sizeof(*k->phdrs));
	k->nr_phdrs = im->nr_phdrs;
	return 0;
}

void elf_functions_free(struct elf_functions *k)
{
	if (!k)
		return;
	elf_symbols_free(&k->symbols);
	free(k->by_name);
	free(k->phdrs);
	free(k);
}

static int functions_read(struct elf_file *f, struct elf_functions *k)
{
	int err = elf_symbols_of(f, &k->symbols);

	if (!err)
		err = copy_phdrs(k, &f->image);
	return err ? err : sort_names(k);
}

static int functions_open(const char *path, struct elf_functions **out)
{
	struct elf_functions *k;
	struct elf_file f;
	int err = elf_file_open(path, NULL, &f);

	if (err)
		return err;
	k = calloc(1, sizeof(*k));
	err = k ? functions_read(&f, k) : -ENOMEM;
	if (!err)
		k->status = f.status;
	elf_file_close(&f);
	if (err)
		elf_functions_free(k);
	else
		*out = k;
	return err;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Whether the file at the path is the one that was read. */
static bool is_current(const struct elf_functions *k, const char *path)
{
	struct stat now;

	return !stat(path, &now) && now.st_dev == k->status.st_dev &&
	       now.st_ino == k->status.st_ino && now.st_size == k->status.st_size &&
	       is_same_time(&now.st_mtim, &k->status.st_mtim) &&
	       is_same_time(&now.st_ctim, &k->status.st_ctim);
}

/* The function's symbol; NULL: there is none of that name from here on. */
static const struct elf_symbol *symbol_of_name(const struct elf_functions *k, size_t i,
					    const char *name)
{
	const struct elf_symbol *s = i < k->nr ? &k->symbols.v[k->by_name[i]] : NULL;

	return s && !strcmp(k->symbols.names + s->name, name) ? s : NULL;
}

/* The first symbol of that name is not before this one. */
static size_t function_first(const struct elf_functions *k, const char *name)
{
	const struct elf_symbols *s = &k->symbols;
	size_t low = 0, high = k->nr;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (strcmp(s->names + s->v[k->by_name[mid]].name, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The lower, the rather it is the function that the name means. */
static int function_rank(const struct elf_symbol *s)
{
	return 2 * s->old + (s->type == 't');
}

/* *others: how many it could be as well. They are in the order of their addresses. */
static const struct elf_symbol *function_named(const struct elf_functions *k, const char *name,
					       unsigned int *others)
{
	const struct elf_symbol *found = NULL, *last = NULL, *s;

	*others = 0;
	for (size_t i = function_first(k, name); (s = symbol_of_name(k, i, name)); i++) {
		if (!found || function_rank(s) < function_rank(found)) {
			found = last = s;
			*others = 0;
		} else if (function_rank(s) == function_rank(found) && s->value != last->value) {
			last = s;
			++*others;
		}
	}
	return found;
}

static const struct elf_symbol *resolver_named(const struct elf_functions *k, const char *name,
					       unsigned int *others)
{
	const struct elf_symbol *found = NULL;
	char *full;

	if (asprintf(&full, "%s" ELF_RESOLVER, name) < 0)
		return NULL;
	found = function_named(k, full, others);
	free(full);
	return found && found->chooses ? found : NULL;
}

/* A file may have an old version of an IFUNC that is none. */
static const struct elf_symbol *function_meant(const struct elf_functions *k, const char *name,
					       unsigned int *others)
{
	const struct elf_symbol *found = function_named(k, name, others), *resolver;
	unsigned int more;

	resolver = resolver_named(k, name, &more);
	if (!resolver || (found && function_rank(found) < function_rank(resolver)))
		return found;
	*others = more;
	return resolver;
}

/* False: no executable segment has the address. */
static bool address_offset(const struct elf_functions *k, uint64_t at, uint64_t *offset)
{
	for (unsigned int i = 0; i < k->nr_phdrs; i++) {
		const Elf64_Phdr *p = &k->phdrs[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || at < p->p_vaddr ||
		    at - p->p_vaddr >= p->p_filesz)
			continue;
		*offset = p->p_offset + (at - p->p_vaddr);
		return true;
	}
	return false;
}

int elf_functions_find(struct elf_functions **kept, const char *path, const char *name,
		       struct elf_function *out)
{
	const struct elf_symbol *found;
	int err = 0;

	if (*kept && !is_current(*kept, path)) {
		elf_functions_free(*kept);
		*kept = NULL;
	}
	if (!*kept)
		err = functions_open(path, kept);
	if (err)
		return err;
	found = function_meant(*kept, name, &out->others);
	if (!found || !address_offset(*kept, found->value, &out->offset))
		return -ENOENT;
	out->address = found->value;
	out->size = found->size;
	out->chooses = found->chooses;
	return 0;
}

/* The first symbol of a function there, by which it is found again. NULL: there is none. */
static const char *name_at(const struct elf_functions *k, uint64_t address)
{
	const struct elf_symbols *s = &k->symbols;
	const struct elf_symbol *y, *found;
	unsigned int others;

	for (size_t i = 0; i < k->nr; i++) {
		y = &s->v[k->by_name[i]];
		if (y->value != address)
			continue;
		found = function_meant(k, s->names + y->name, &others);
		if (found && found->value == address && !others)
			return s->names + y->name;
	}
	return NULL;
}

static void choice_print(const struct elf_functions *k, uint64_t address, FILE *out)
{
	const char *name = name_at(k, address);
	uint64_t offset;

	if (!name && !address_offset(k, address, &offset))
		return;
	fputs(ftell(out) ? ", " : "", out);
	if (name)
		fputs(name, out);
	else
		fprintf(out, "%#" PRIx64, offset);
}

char *elf_functions_choices(const struct elf_functions *k, const char *path,
			    const struct elf_function *f)
{
	uint64_t v[ELF_CHOICES];
	const size_t nr = elf_choices(path, f, v);
	char *text = NULL;
	size_t size;
	FILE *out = nr ? open_memstream(&text, &size) : NULL;

	for (size_t i = 0; out && i < nr; i++)
		choice_print(k, v[i], out);
	if (!out)
		return NULL;
	if (fclose(out) || *text)
		return text;
	free(text);
	return NULL;
}

int elf_function_find(const char *path, const char *name, struct elf_function *out)
{
	struct elf_functions *kept = NULL;
	int err = elf_functions_find(&kept, path, name, out);

	elf_functions_free(kept);
	return err;
}
