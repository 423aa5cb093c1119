/* SPDX-License-Identifier: MIT */
/*
 * callers.c - libc's functions that look at who called them see the true caller, also behind a jump of a hooked function
 *
 *     dlsym(), in libc                  its door, in a page of ours
 *     +----------------------+          +----------------------------------+
 *     | [endbr64]            |          | lea 1f(%rip), %r11               |
 *     | jmp door ------------|--------->| jmp callers_check ---------------|--> a hooked function jumped here?
 *     | rest <---------------|-----.    | 1: what the jump has replaced <--|--- then its return address is put back
 *     +----------------------+     '----| jmp rest                         |
 *                                       +----------------------------------+
 *
 * RTLD_NEXT, RPATH and RUNPATH, $ORIGIN and name spaces are those of the object
 * that the return address lies in. A hooked function (graph.c) that ends by
 * `jmp dlsym` leaves a return address of ours, and so another object's.
 *
 * C1  The entry is changed, and not the symbol interposed: so it does not matter
 *     how the program found the function (a pointer from RTLD_NEXT, the handle
 *     of libc, RTLD_DEEPBIND, another name space with a libc of its own), and
 *     what dlsym() and dladdr() say of it is as untraced.
 * C2  The bytes are replaced while nobody runs in them: when the first DSO with
 *     sites is found in a process of one thread, mostly before the program begins,
 *     or when a name space's libc has just been mapped. Without sites nothing is
 *     hooked, and nothing need be replaced.
 * C3  Only instructions that do the same elsewhere are moved, those that
 *     compilers begin functions with. Where there are others, or a debugger's
 *     breakpoint, the entry is left alone, and jumps.c finds whom not to hook.
 * C4  The hooked functions that share the return address end here: their
 *     returns are recorded before dlsym() runs, with a value of 0.
 */
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include "agent/sites/callers.h"
#include "agent/graph/frame.h"
#include "agent/sites/pages.h"
#include "agent/sites/state.h"
#include "agent/syscall.h"

enum { PAGE = 4096, DOOR = 64, MOST = 16, ENDBR = 4, JUMP = 0xe9, JUMP_SIZE = 5, PLACES = 32, NEAR = 1 << 30, TRIES = 16 };

static const char *const names[] = { "dlopen", "dlmopen", "dlsym", "dlvsym", "dl_iterate_phdr" };

enum { NR_NAMES = sizeof(names) / sizeof(names[0]), ALL_NAMES = (1 << NR_NAMES) - 1 };

static unsigned int shown;	/* bits of names: their entries lead to us */
static bool left_alone;		/* some do not */

/* The page of a DSO's doors. */
struct doors {
	void		(*check)(void);
	uint8_t		unused[DOOR - sizeof(void (*)(void))];
	uint8_t		door[MOST][DOOR];
};

/* Those that are there; a page whose DSO has gone is for the next one. */
static struct place {
	const void	*ld;
	struct doors	*doors;
} places[PLACES];

/* What is going to be changed. */
struct entries {
	uint8_t		*at[MOST];
	unsigned int	nr;
	unsigned int	names;		/* bits */
	bool		strange;	/* C3: one is left alone */
};

void callers_restore(uintptr_t *slot)
{
	/* Of functions that have jumped to each other one after the other returns here. */
	while (is_label(*slot))
		*slot = graph_leave(slot, 0);
}

/* ---- Instructions ---- */

/* distance: where in it lies one from its end; 0: there is none. */
static const struct form {
	uint8_t		nr, len, distance;
	uint8_t		bytes[6], mask[6];
} forms[] = {
	{ 1, 1, 0, { 0x50 }, { 0xf8 } },					/* push %rax ... */
	{ 2, 2, 0, { 0x41, 0x50 }, { 0xff, 0xf8 } },				/* push %r8 ... */
	{ 3, 4, 0, { 0x48, 0x83, 0xec }, { 0xff, 0xff, 0xff } },		/* sub $8 bits, %rsp */
	{ 3, 7, 0, { 0x48, 0x81, 0xec }, { 0xff, 0xff, 0xff } },		/* sub $32 bits, %rsp */
	{ 2, 2, 0, { 0x89, 0xc0 }, { 0xfd, 0xc0 } },				/* mov from register to register */
	{ 3, 3, 0, { 0x40, 0x89, 0xc0 }, { 0xf0, 0xfd, 0xc0 } },
	{ 2, 2, 0, { 0x31, 0xc0 }, { 0xfd, 0xc0 } },				/* xor */
	{ 3, 3, 0, { 0x48, 0x85, 0xc0 }, { 0xf8, 0xff, 0xc0 } },		/* test */
	{ 4, 4, 0, { 0x48, 0x8b, 0x04, 0x24 }, { 0xfb, 0xff, 0xc7, 0xff } },	/* mov (%rsp), */
	{ 4, 5, 0, { 0x48, 0x8b, 0x44, 0x24 }, { 0xfb, 0xff, 0xc7, 0xff } },	/* mov 8 bits(%rsp), */
	{ 6, 9, 0, { 0x64, 0x48, 0x8b, 0x04, 0x25 }, { 0xff, 0xfb, 0xff, 0xc7, 0xff } },	/* mov %fs:..., */
	{ 3, 7, 3, { 0x48, 0x8b, 0x05 }, { 0xfb, 0xff, 0xc7 } },		/* mov ...(%rip), */
	{ 3, 7, 3, { 0x48, 0x8d, 0x05 }, { 0xfb, 0xff, 0xc7 } },		/* lea ...(%rip), */
	{ 3, 8, 3, { 0x48, 0x83, 0x3d }, { 0xff, 0xff, 0xff } },		/* cmp $8 bits, ...(%rip) */
};

static const struct form *form_of(const uint8_t *code)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		unsigned int k = 0;

		while (k < forms[i].nr && (code[k] & forms[i].mask[k]) == forms[i].bytes[k])
			k++;
		if (k == forms[i].nr)
			return &forms[i];
	}
	return NULL;
}

static bool distance_set(uint8_t *at, const uint8_t *end, const uint8_t *to)
{
	int64_t distance = to - end;
	int32_t small = (int32_t)distance;

	memcpy(at, &small, 4);
	return small == distance;
}

/* The instruction at `from` does at `to` what it did. */
static bool instruction_move(uint8_t *to, const uint8_t *from, const struct form *form)
{
	int32_t distance;

	memcpy(to, from, form->len);
	if (!form->distance)
		return true;
	memcpy(&distance, from + form->distance, 4);
	return distance_set(to + form->distance, to + form->len, from + form->len + distance);
}

/* ---- Doors ---- */

static bool door_fill(struct doors *d, uint8_t *door, const uint8_t *entry)
{
	const uint8_t *from = entry;
	uint8_t *to = door + 13;
	const struct form *form;

	memcpy(door, "\x4c\x8d\x1d", 3);
	memcpy(door + 7, "\xff\x25", 2);
	if (!distance_set(door + 3, door + 7, to) || !distance_set(door + 9, door + 13, (const uint8_t *)&d->check))
		return false;
	for (; from < entry + JUMP_SIZE; from += form->len, to += form->len) {
		form = form_of(from);
		if (!form || !instruction_move(to, from, form))
			return false;
	}
	*to = JUMP;
	return distance_set(to + 1, to + JUMP_SIZE, from);
}

static void entry_add(struct entries *e, struct doors *d, uint8_t *at)
{
	static const uint8_t endbr64[ENDBR] = { 0xf3, 0x0f, 0x1e, 0xfa };

	at += memcmp(at, endbr64, ENDBR) ? 0 : ENDBR;
	/* Of a function with several versions. */
	for (unsigned int i = 0; i < e->nr; i++)
		if (e->at[i] == at)
			return;
	if (e->nr < MOST && door_fill(d, d->door[e->nr], at))
		e->at[e->nr++] = at;
	else
		e->strange = true;
}

static long doors_protect(struct doors *d, int prot)
{
	return agent_syscall(SYS_mprotect, d, PAGE, prot);
}

/* C2. */
static void entries_change(struct entries *e, const struct doors *d)
{
	for (unsigned int i = 0; i < e->nr; i++) {
		uint8_t *at = e->at[i];
		const struct pages p = pages_of(at, JUMP_SIZE);
		struct pages_kept kept;

		if (pages_look(&p, &kept) || pages_open(&p, &kept)) {
			e->strange = true;
			continue;
		}
		*at = JUMP;
		/* door_fill() has tried how far it is. */
		distance_set(at + 1, at + JUMP_SIZE, d->door[i]);
		pages_close(&p, &kept);
	}
}

/* ---- Their names ---- */

/* What of a DSO's dynamic section is looked at. */
struct tables {
	const Elf64_Sym	*symbols;
	const char	*names;
	const uint32_t	*hash;		/* DT_GNU_HASH */
};

/* The linker has made addresses of the offsets. */
static const void *table_at(const Elf64_Dyn *dyn, uintptr_t bias)
{
	return (const void *)(dyn->d_un.d_ptr >= bias ? dyn->d_un.d_ptr : dyn->d_un.d_ptr + bias);
}

static struct tables tables_of(const Elf64_Dyn *dyn, uintptr_t bias)
{
	struct tables t = { .symbols = NULL };

	for (; dyn->d_tag != DT_NULL; dyn++) {
		if (dyn->d_tag == DT_SYMTAB)
			t.symbols = table_at(dyn, bias);
		else if (dyn->d_tag == DT_STRTAB)
			t.names = table_at(dyn, bias);
		else if (dyn->d_tag == DT_GNU_HASH)
			t.hash = table_at(dyn, bias);
	}
	return t;
}

static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

/* All versions. The table: buckets, first symbol, words of the filter, shift; the filter; the buckets; hashes of symbols. */
static void name_add(struct entries *e, struct doors *d, const struct tables *t, uintptr_t bias, const char *name)
{
	const uint32_t hash = hash_of(name), *h = t->hash, *buckets = h + 4 + 2 * h[2], *chain = buckets + h[0];

	for (uint32_t i = h[0] ? buckets[hash % h[0]] : 0; i >= h[1] && i; i++) {
		const Elf64_Sym *s = &t->symbols[i];

		if ((chain[i - h[1]] | 1) == (hash | 1) && s->st_shndx != SHN_UNDEF &&
		    ELF64_ST_TYPE(s->st_info) == STT_FUNC && !strcmp(t->names + s->st_name, name))
			entry_add(e, d, (uint8_t *)bias + s->st_value);
		if (chain[i - h[1]] & 1)
			break;
	}
}

static void names_add(struct entries *e, struct doors *d, const struct tables *t, uintptr_t bias)
{
	for (unsigned int i = 0; i < NR_NAMES; i++) {
		unsigned int nr = e->nr;

		name_add(e, d, t, bias, names[i]);
		e->names |= e->nr > nr ? 1u << i : 0;
	}
}

/* ---- DSOs ---- */

/* So that jumps reach from one to the other. */
static bool is_near(const void *doors, uintptr_t bias)
{
	return (uintptr_t)doors - bias + NEAR < 2ull * NEAR;
}

/* The kernel takes the address where it is free, and else one that may be far: what the session has mapped is large. */
static struct doors *doors_map(uintptr_t bias)
{
	if (room_make(PAGE))
		return NULL;
	for (unsigned int i = 0; i < TRIES; i++) {
		long at = agent_syscall(SYS_mmap, bias - ((uintptr_t)PAGE << i), PAGE, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (is_error(at))
			return NULL;
		if (is_near((void *)at, bias))
			return (struct doors *)at;
		agent_syscall(SYS_munmap, at, PAGE);
	}
	return NULL;
}

static struct place *place_take(uintptr_t bias)
{
	for (unsigned int i = 0; i < PLACES; i++) {
		struct place *p = &places[i];

		if (p->ld || (p->doors && !is_near(p->doors, bias)))
			continue;
		if (!p->doors)
			p->doors = doors_map(bias);
		else if (doors_protect(p->doors, PROT_READ | PROT_WRITE))
			continue;
		return p->doors ? p : NULL;
	}
	return NULL;
}

/* They were in libdl before glibc 2.34. */
static bool has_such(const char *path)
{
	return strstr(path, "/libc.so.") || strstr(path, "/libdl.so.");
}

static bool is_changed(const void *ld)
{
	for (unsigned int i = 0; i < PLACES; i++)
		if (places[i].ld == ld)
			return true;
	return false;
}

void callers_dso(const void *ld, uintptr_t bias, const char *path)
{
	struct entries e = { .nr = 0 };
	struct tables t;
	struct place *p;

	if (!sites.may_patch || sites_quiet() || !ld || !has_such(path) || is_changed(ld))
		return;
	t = tables_of(ld, bias);
	p = t.symbols && t.names && t.hash ? place_take(bias) : NULL;
	if (p) {
		p->doors->check = callers_check;
		names_add(&e, p->doors, &t, bias);
		if (e.nr && !doors_protect(p->doors, PROT_READ | PROT_EXEC)) {
			p->ld = ld;
			entries_change(&e, p->doors);
		}
	}
	left_alone |= !p || e.strange || (e.nr && !p->ld);
	shown |= e.names;
}

void callers_missed(void)
{
	left_alone = true;
}

bool callers_shown(void)
{
	return shown == ALL_NAMES && !left_alone;
}

void callers_forget(const void *ld)
{
	for (unsigned int i = 0; i < PLACES; i++)
		if (places[i].ld == ld)
			places[i].ld = NULL;
}
