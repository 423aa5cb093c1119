/* SPDX-License-Identifier: MIT */
/*
 * real.c - finds the functions that come behind this library
 *
 * The dynamic linker's list has the objects in the order in which symbols are looked up
 * at start. Objects that are loaded later do not matter: their functions do not replace
 * any.
 */
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include "agent/providers/real.h"
#include "elf/image.h"

/* The dynamic linker defines it. Every process has the linker, so this library does not link it. */
#pragma weak _r_debug

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));
extern struct real_function __start_real_functions[] __attribute__((visibility("hidden")));
extern struct real_function __stop_real_functions[] __attribute__((visibility("hidden")));

enum { VERSION_HIDDEN = 0x8000 };

/* The tables of one object, as addresses. */
struct dso {
	uintptr_t	base;
	const ElfW(Sym)	*symbols;
	const char	*names;
	const uint16_t	*versions;
	const uint32_t	*gnu_hash, *sysv_hash;
	uint64_t	soname;		/* in `names`; 0: none */
};

/*
 * The linker has changed the offsets in the dynamic section to addresses, except in an object whose
 * section is read-only (vdso).
 */
static const void *real_table_at(const struct link_map *map, const ElfW(Dyn) *d)
{
	return (const void *)(d->d_un.d_ptr >= map->l_addr ? d->d_un.d_ptr
							   : d->d_un.d_ptr + map->l_addr);
}

static bool dso_read(const struct link_map *map, struct dso *o)
{
	*o = (struct dso){ .base = map->l_addr };
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
		switch (d->d_tag) {
		case DT_SYMTAB:
			o->symbols = real_table_at(map, d);
			break;
		case DT_STRTAB:
			o->names = real_table_at(map, d);
			break;
		case DT_VERSYM:
			o->versions = real_table_at(map, d);
			break;
		case DT_GNU_HASH:
			o->gnu_hash = real_table_at(map, d);
			break;
		case DT_HASH:
			o->sysv_hash = real_table_at(map, d);
			break;
		case DT_SONAME:
			o->soname = d->d_un.d_val;
			break;
		}
	return o->symbols && o->names && (o->gnu_hash || o->sysv_hash);
}

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* Whether it is the default version of a function of that name. */
static bool symbol_fits(const struct dso *o, uint32_t i, const char *name)
{
	const ElfW(Sym) *s = &o->symbols[i];
	unsigned int type = ELF64_ST_TYPE(s->st_info);

	return s->st_shndx != SHN_UNDEF && s->st_value &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC) &&
	       ELF64_ST_BIND(s->st_info) != STB_LOCAL &&
	       !(o->versions && o->versions[i] & VERSION_HIDDEN) &&
	       same(o->names + s->st_name, name);
}

/*
 * DT_GNU_HASH: buckets, first symbol, words of the filter, shift; the filter;
 * the buckets; and for each symbol its hash, bit 0 set at the end of a chain.
 */
static uint32_t find_gnu(const struct dso *o, const char *name, uint32_t hash)
{
	const uint32_t *h = o->gnu_hash;
	const ElfW(Addr) *filter = (const void *)(h + 4);
	const uint32_t *buckets = (const void *)(filter + h[2]);
	const uint32_t *chain = buckets + h[0];
	const unsigned int bits = 8 * sizeof(*filter);
	ElfW(Addr) word = filter[hash / bits & (h[2] - 1)];
	uint32_t i;

	if (!(word >> hash % bits & word >> (hash >> h[3]) % bits & 1) || !h[0])
		return 0;
	for (i = buckets[hash % h[0]]; i >= h[1]; i++) {
		if ((chain[i - h[1]] | 1) == (hash | 1) && symbol_fits(o, i, name))
			return i;
		if (chain[i - h[1]] & 1)
			break;
	}
	return 0;
}

/* DT_HASH: only its number of symbols is used; objects without DT_GNU_HASH are rare. */
static uint32_t find_sysv(const struct dso *o, const char *name)
{
	for (uint32_t i = 1; i < o->sysv_hash[1]; i++)
		if (symbol_fits(o, i, name))
			return i;
	return 0;
}

static void *dso_find(const struct dso *o, const char *name, uint32_t hash)
{
	uint32_t i = o->gnu_hash ? find_gnu(o, name, hash) : find_sysv(o, name);
	void *addr;

	if (!i)
		return NULL;
	addr = (void *)(o->base + o->symbols[i].st_value);
	if (ELF64_ST_TYPE(o->symbols[i].st_info) == STT_GNU_IFUNC)
		addr = ((void *(*)(void))addr)();
	return addr;
}

bool real_shadowed(const char *name)
{
	const struct link_map *map;
	struct dso o;

	for (map = _r_debug.r_map; map && map->l_ld != _DYNAMIC; map = map->l_next)
		if (dso_read(map, &o) && dso_find(&o, name, image_hash(name)))
			return true;
	return false;
}

static long missing(void)
{
	errno = ENOSYS;
	return -1;
}

/* The last object of the list at load; NULL: not looked up yet. */
static const struct link_map *last;

void real_begin(void)
{
	const struct link_map *map = _r_debug.r_map;

	/* Relaxed: the first call comes before there are threads. */
	if (__atomic_load_n(&last, __ATOMIC_RELAXED))
		return;
	while (map && map->l_next)
		map = map->l_next;
	__atomic_store_n(&last, map, __ATOMIC_RELAXED);
}

/* Sets f if that object defines it, and is libc where libc alone is looked at. */
static bool find_in(struct real_function *f, const struct link_map *map, bool libc_only)
{
	struct dso o;
	void *addr = NULL;

	if (dso_read(map, &o) &&
	    (!libc_only || (o.soname && same(o.names + o.soname, "libc.so.6"))))
		addr = dso_find(&o, f->name, image_hash(f->name));
	if (!addr)
		return false;
	f->object = map;
	/* Relaxed: a thread that does not see `object` yet takes it for none: REAL_SAME_OBJECT. */
	__atomic_store_n(&f->function, addr, __ATOMIC_RELAXED);
	return true;
}

/* The first malloc of the dynamic linker comes long before the program has threads. */
void real_find(struct real_function *f)
{
	const struct link_map *self = _r_debug.r_map, *map, *end;

	real_begin();
	/* Relaxed: it has been set, and does not change. */
	end = __atomic_load_n(&last, __ATOMIC_RELAXED);
	while (self && self->l_ld != _DYNAMIC)
		self = self->l_next;
	for (map = _r_debug.r_map; f->of_libc && map; map = map != end ? map->l_next : NULL)
		if (find_in(f, map, true))
			return;
	for (map = self; map && map != end && map->l_next; map = map->l_next)
		if (find_in(f, map->l_next, false))
			return;
	/* If this library was loaded by dlopen(), libc is before it. */
	for (map = _r_debug.r_map; map && map != self; map = map->l_next)
		if (find_in(f, map, false))
			return;
	/* Relaxed: another thread finds the same meanwhile. */
	__atomic_store_n(&f->function, (void *)missing, __ATOMIC_RELAXED);
}

void real_find_all(void)
{
	struct real_function *f;

	for (f = __start_real_functions; f < __stop_real_functions; f++)
		/* Relaxed: a thread that sees no address searches, and finds the same. */
		if (!__atomic_load_n(&f->function, __ATOMIC_RELAXED))
			real_find(f);
}

__attribute__((constructor)) static void real_start(void)
{
	real_begin();
}
