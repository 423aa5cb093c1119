/* SPDX-License-Identifier: MIT */
/*
 * dso.c - one DSO with sites: found by its file, prepared, given a table of words, forgotten
 *
 * The file may have been replaced since it was loaded. So its headers are compared
 * with what is in memory; patch_prepare() compares the sites themselves.
 *
 * Most DSOs have no sites, and programs that a shell starts by the hundred have the
 * same DSOs. So the first process of a session that looks into such a file notes
 * its contents, by the ELF header and the build-id that are in memory, and the
 * other processes open no file. There are some places for each. If others have
 * taken all of them, each process looks into the file.
 */
#include <asm/hwcap2.h>
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "agent/libc.h"
#include "agent/sites/state.h"
#include "agent/syscall.h"
#include "elf/image.h"
#include "session/preload.h"

enum { PAGE = 4096, SPARE = 16, SITELESS_PLACES = 4,
       /* bytes of a stub and moved code, about */
       MOVED_ROOM = 64 };

struct site_state sites;
bool patch_has_xsave;
bool sites_has_fsgsbase;
struct site_table *site_tables;
_Atomic uint32_t nr_site_tables;

/* ---- Finding ---- */

/*
 * Shared: the kernel puts its uprobes into each private mapping of a file, not into the file. Some
 * file systems have private mappings only (FUSE with direct_io).
 */
static long file_bytes(long fd, size_t size)
{
	const long at = agent_syscall(SYS_mmap, 0, size, PROT_READ, MAP_SHARED, fd, 0);

	return is_error(at) ? agent_syscall(SYS_mmap, 0, size, PROT_READ, MAP_PRIVATE, fd, 0) : at;
}

/* Without /proc the program's own file may be where it was executed: known_is_loaded() tells. */
static long file_open(const char *path)
{
	const int flags = O_RDONLY | O_CLOEXEC;
	long fd = agent_syscall(SYS_openat, AT_FDCWD, dso_path(path), flags);

	if (fd < 0 && !*path && agent.exe)
		fd = agent_syscall(SYS_openat, AT_FDCWD, agent.exe, flags);
	return fd;
}

bool known_file_map(const char *path, struct known_file *f)
{
	long fd = file_open(path), at = -1;
	struct stat st;

	if (fd < 0)
		return false;
	if (!agent_syscall(SYS_fstat, fd, &st) && S_ISREG(st.st_mode))
		at = file_bytes(fd, (size_t)st.st_size);
	agent_syscall(SYS_close, fd);
	*f = (struct known_file){ (const void *)at, (size_t)st.st_size };
	return !is_error(at);
}

static int text_prot(const Elf64_Phdr *p)
{
	return PROT_EXEC | (p->p_flags & PF_R ? PROT_READ : 0) |
	       (p->p_flags & PF_W ? PROT_WRITE : 0);
}

static bool text_add(struct site_dso *d, const Elf64_Phdr *p)
{
	if (d->nr_texts == SITE_TEXTS)
		return false;
	d->texts[d->nr_texts] = pages_of((const void *)(d->bias + p->p_vaddr), p->p_memsz);
	d->texts[d->nr_texts++].prot = text_prot(p);
	return true;
}

/*
 * Whether this file was loaded: its first page, with the headers and mostly the build-id, is in
 * memory.
 */
__attribute__((cold)) bool known_is_loaded(struct known *k, const struct known_file *f)
{
	unsigned int nr = 0;
	const Elf64_Phdr *p = f->size < PAGE ? NULL : image_segments(f->bytes, PAGE, &nr);
	const Elf64_Phdr *first = NULL;
	unsigned char in_core;

	for (unsigned int i = 0; i < nr; i++) {
		if (p[i].p_type != PT_LOAD)
			continue;
		if ((p[i].p_flags & PF_X) && !text_add(&k->dso, &p[i]))
			return false;
		if (!first)
			first = &p[i];
		k->end = k->dso.bias + p[i].p_vaddr + p[i].p_memsz;
	}
	if (!first || first->p_offset || !first->p_filesz)
		return false;
	k->start = (k->dso.bias + first->p_vaddr) & -(uintptr_t)PAGE;
	for (unsigned int i = 0; i < k->dso.nr_texts; i++)
		k->dso.texts[i].head = k->start;
	return k->start < k->end && !agent_syscall(SYS_mincore, k->start, PAGE, &in_core) &&
	       !memcmp((const void *)k->start, f->bytes,
		       first->p_filesz < PAGE ? first->p_filesz : PAGE);
}

struct site *known_site_memory(size_t nr)
{
	long at = agent_syscall(SYS_mmap, 0, nr * sizeof(struct site), PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return is_error(at) ? NULL : (struct site *)at;
}

/* The first of its places. With one place only, two DSOs would replace each other all the time. */
static _Atomic uint64_t *siteless_places(uint64_t contents)
{
	struct program_tables *tables =
		plane_given(&agent.plane, plane_header(&agent.plane)->programs);

	return &tables->siteless[contents / 2 % LAYOUT_SITELESS & -(uint64_t)SITELESS_PLACES];
}

static bool is_siteless(uint64_t contents)
{
	const _Atomic uint64_t *places = siteless_places(contents);

	/* Relaxed: each word has a meaning of its own. */
	for (unsigned int i = 0; contents && i < SITELESS_PLACES; i++)
		if (atomic_load_explicit(&places[i], memory_order_relaxed) == contents)
			return true;
	return false;
}

/* If all places are taken, one of them is overwritten. */
static void siteless_note(uint64_t contents)
{
	_Atomic uint64_t *places = siteless_places(contents);
	unsigned int i = 0;

	if (!contents || is_siteless(contents))
		return;
	/* Relaxed: as above. */
	while (i < SITELESS_PLACES && atomic_load_explicit(&places[i], memory_order_relaxed))
		i++;
	if (i == SITELESS_PLACES)
		i = (unsigned int)(contents >> 32) % SITELESS_PLACES;
	atomic_store_explicit(&places[i], contents, memory_order_relaxed);
}

static bool functions_asked(void)
{
	/* Relaxed: a program that begins just now may miss it. */
	return atomic_load_explicit(&plane_header(&agent.plane)->functions, memory_order_relaxed);
}

/* Whether the name is one of the pattern, which knows * and ?. */
static bool name_matches(const char *p, const char *name)
{
	const char *behind_star = NULL, *star = name;

	for (;;) {
		if (*p == '*') {
			behind_star = ++p;
			star = name;
		} else if (*p == *name && !*p) {
			return true;
		} else if (*name && (*p == '?' || *p == *name)) {
			p++;
			name++;
		} else if (behind_star && *star) {
			p = behind_star;
			name = ++star;
		} else {
			return false;
		}
	}
}

/* Whether somebody asks for the functions of a library with this file name. */
static bool library_is_asked(const char *path)
{
	const struct site_libraries *l = &sites_control()->libraries;
	/* Acquire: the text is there. Pairs with the release in session_libraries_asked(). */
	const uint32_t size = atomic_load_explicit(&l->size, memory_order_acquire);
	const char *slash = strrchr(path, '/');

	if (!slash || preload_is_agent(path, strlen(path)))
		return false;
	for (uint32_t at = 0; at < size && at < SITE_LIBRARIES;
	     at += (uint32_t)strlen(l->text + at) + 1) {
		const bool not = l->text[at] == '!';

		if (name_matches(l->text + at + not, slash + 1) != not)
			return true;
	}
	return false;
}

/* Whether it gets sites if the compiler has made none. path "": the program. */
bool known_is_asked(const char *path)
{
	return *path ? library_is_asked(path) : functions_asked();
}

static int has_sites(struct dl_phdr_info *info, size_t size, void *arg)
{
	const bool is_program = !*info->dlpi_name, has_file = strchr(info->dlpi_name, '/');

	/* Every object has its program headers in the part that is loaded first. */
	if (known_is_asked(info->dlpi_name))
		return true;
	return (is_program || has_file) && !is_siteless(dso_contents((uintptr_t)info->dlpi_phdr));
}

bool sites_none(void)
{
	return !libc_dl_iterate_phdr(has_sites, NULL);
}

/* -> the number of all sites then */
static size_t returns_add(struct known *k, const struct known_file *f, size_t room)
{
	struct site *sites = k->dso.sites;
	size_t nr = sites_returns(f->bytes, f->size, sites + k->dso.nr, room);

	return sites_pair(f->bytes, f->size, sites, k->dso.nr, nr > room ? 0 : nr);
}

static bool find_in(struct known *k, const struct known_file *f, uint64_t contents)
{
	size_t room = sites_find(f->bytes, f->size, NULL, 0), returns;

	if (!known_is_loaded(k, f))
		return false;
	if (!room) {
		siteless_note(contents);
		k->unread = k->alone && known_is_asked(k->path);
		return k->unread;
	}
	sites_ask_memory();
	if (k->program)
		sites.profiled = sites_profiled(f->bytes, f->size);
	returns = sites_returns(f->bytes, f->size, NULL, 0);
	k->room = room + returns;
	k->dso.sites = known_site_memory(k->room);
	k->dso.nr = k->dso.sites ? sites_find(f->bytes, f->size, k->dso.sites, room) : 0;
	if (k->dso.nr)
		k->dso.nr = returns_add(k, f, returns);
	if (k->dso.sites && !k->dso.nr)
		agent_syscall(SYS_munmap, k->dso.sites, k->room * sizeof(struct site));
	return k->dso.nr != 0;
}

/* Looked at once: in a virtual machine the instruction traps and takes microseconds. */
void sites_processor_look(void)
{
	static bool looked;
	unsigned int a, b, c = 0, d;

	if (looked)
		return;
	looked = true;
	__get_cpuid(1, &a, &b, &c, &d);
	patch_has_xsave = c & bit_OSXSAVE;
	sites_has_fsgsbase = libc_getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE;
}

/* Maps all tables, for the first DSO that has sites. */
static void known_map(void)
{
	long at = agent_syscall(
		SYS_mmap, 0, LAYOUT_MAX_DSOS * (sizeof(struct known) + sizeof(struct site_table)),
		PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	sites_processor_look();
	if (is_error(at))
		return;
	sites.known = (struct known *)at;
	site_tables = (struct site_table *)(sites.known + LAYOUT_MAX_DSOS);
	sites.nr_known = LAYOUT_MAX_DSOS;
}

struct known *known_free(void)
{
	if (!sites.known)
		known_map();
	return known_of(NULL);
}

/* contents: dso_contents(). Cold: a session has few files that it does not know. */
static __attribute__((cold)) struct known *known_add(const void *ld, uintptr_t bias,
						     const char *path, bool alone,
						     uint64_t contents)
{
	struct known found = { .dso.bias = bias,
			      .path = path,
			      .number = UINT32_MAX,
			      .alone = alone,
			      .program = !*path };
	struct known *k = NULL;
	struct known_file f;

	if (!known_file_map(path, &f)) {
		sites_note_unopened();
		return NULL;
	}
	if (find_in(&found, &f, contents))
		k = known_free();
	else if (!*path && !known_is_loaded(&found, &f))
		sites_note_unopened();	/* a script's: file_open() */
	if (k) {
		*k = found;
		/*
		 * Release: pairs with the acquire in tell_all(). For fork()'s copy, too: a child
		 * finds all of it.
		 */
		__atomic_store_n(&k->ld, ld, __ATOMIC_RELEASE);
	}
	agent_syscall(SYS_munmap, f.bytes, f.size);
	return k;
}

struct known *known_find(const void *ld, uintptr_t bias, const char *path, bool alone)
{
	uint64_t contents;

	/* The vdso's path has no directory. */
	if (!ld || (*path && !strchr(path, '/')))
		return NULL;
	if (sites_quiet()) {
		if (known_is_asked(path))
			sites_note_unopened();
		return NULL;
	}
	contents = dso_contents((uintptr_t)ld);
	return is_siteless(contents) && !known_is_asked(path) ? NULL :
	       known_add(ld, bias, path, alone, contents);
}

/* ---- Addresses (room.c) ---- */

static uint64_t room_unused;		/* made for DSOs that have gone */

static bool room_take(uint64_t bytes)
{
	if (room_unused < bytes)
		return !room_make(bytes);
	room_unused -= bytes;
	return true;
}

/* ---- The tables of words ---- */

/* Memory of tables that are no longer used, for new tables. */
static struct spare {
	void		*at;
	uint64_t	bytes;
} spares[SPARE];

static uint64_t words_bytes(uint64_t code)
{
	return (code + PAGE) & -(uint64_t)PAGE;
}

static void *spare_take(uint64_t bytes)
{
	for (unsigned int i = 0; i < SPARE; i++)
		if (spares[i].at && spares[i].bytes == bytes) {
			void *at = spares[i].at;

			spares[i].at = NULL;
			return at;
		}
	return NULL;
}

/* Pages that are never touched take no memory. */
static _Atomic uint32_t *words_map(uint64_t code)
{
	uint64_t bytes = words_bytes(code);
	void *spare = spare_take(bytes);
	long at;

	if (spare || !room_take(bytes))
		return spare;
	at = agent_syscall(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (is_error(at))
		return NULL;
	agent_syscall(SYS_madvise, at, bytes, MADV_DONTDUMP);
	return (_Atomic uint32_t *)at;
}

static void words_unmap(void *at, uint64_t code)
{
	uint64_t bytes = words_bytes(code);

	agent_syscall(SYS_madvise, at, bytes, MADV_DONTNEED);
	for (unsigned int i = 0; i < SPARE; i++)
		if (!spares[i].at) {
			spares[i] = (struct spare){ at, bytes };
			return;
		}
	agent_syscall(SYS_munmap, at, bytes);
	room_unused += bytes;
}

/* Takes places one after the other: a place that has become free is the last to be taken again. */
static struct site_table *table_place(void)
{
	static uint32_t next;

	for (unsigned int i = 0; i < LAYOUT_MAX_DSOS; i++) {
		struct site_table *table = &site_tables[next++ % LAYOUT_MAX_DSOS];

		/* Relaxed: written under the lock. */
		if (!atomic_load_explicit(&table->size, memory_order_relaxed))
			return table;
	}
	return NULL;
}

struct site_table *known_table_publish(const struct dso_place *place, struct site_dso *dso)
{
	struct site_table *table = table_place();
	uint32_t nr = (uint32_t)(table - site_tables) + 1;

	if (!table)
		return NULL;
	table->words = words_map(place->code_end - place->code);
	if (!table->words)
		return NULL;
	table->code = place->code;
	table->delta = place->delta;
	table->dso = dso;
	/* Both pair with the acquires in site_table_has() and site_table_find(). */
	atomic_store_explicit(&table->size, place->code_end - place->code, memory_order_release);
	if (nr > atomic_load_explicit(&nr_site_tables, memory_order_relaxed))
		atomic_store_explicit(&nr_site_tables, nr, memory_order_release);
	return table;
}

static void table_withdraw(struct site_table *table)
{
	/* Relaxed: written under the lock. */
	uint64_t code = atomic_load_explicit(&table->size, memory_order_relaxed);

	/*
	 * Pairs with the acquire in site_table_has(). The code is gone, so it makes no hits.
	 */
	atomic_store_explicit(&table->size, 0, memory_order_release);
	words_unmap(table->words, code);
}

/* ---- Preparing, forgetting ---- */

/* Skips calls that gprof counts, and sleds that XRay may patch unseen. -> whether any is left */
static bool leave_alone(struct known *k)
{
	bool any = false;

	for (size_t i = 0; i < k->dso.nr; i++) {
		struct site *s = &k->dso.sites[i];

		if (sites.profiled && sites.calls_come && !s->skip &&
		    (s->kind == SITE_CALL || s->kind == SITE_CALL_LATE))
			s->skip = SITE_COUNTED;
		if (!sites.told_of_writes && !s->skip && site_is_sled(s))
			s->skip = SITE_UNSEEN;
		any |= !s->skip && !site_is_return(s);
	}
	return any;
}

/* Whether any function calls us by itself. all: there is no other way to trace these. */
static bool calls_left(struct known *k, bool all)
{
	bool any = false;

	k->calls = all;
	for (size_t i = 0; i < k->dso.nr; i++) {
		struct site *s = &k->dso.sites[i];

		any |= site_is_called(k, s);
		if (all && !s->skip && !site_is_called(k, s))
			s->skip = SITE_NOT_CODE;
	}
	/* Relaxed: the words decide what is traced. Never set back: a look costs little. */
	if (any)
		atomic_store_explicit(&static_sites, 1, memory_order_relaxed);
	return any;
}

/* The mirror is a little larger than the code. */
static int patch(struct known *k, uint64_t code)
{
	const bool moved = k->dso.sites[0].kind == SITE_MOVED;
	uint64_t room = words_bytes(code) + 4 * PAGE + (moved ? k->dso.nr * MOVED_ROOM : 0);
	int err;

	if (!room_take(room))
		return -ENOMEM;
	err = patch_prepare(&k->dso, k->alone);
	if (err)
		room_unused += room;
	else
		k->mirror_room = room;
	return err;
}

__attribute__((cold)) void known_look_through(struct known *k)
{
	struct known now = { .dso.bias = k->dso.bias };
	struct known_file f;

	k->looked_through = sites.callers_hidden;
	if (!sites.looked_at || !sites.callers_hidden)
		return;
	for (size_t i = 0; i < k->dso.nr; i++)
		k->dso.sites[i].jumps = true;
	if (k->file.bytes) {
		sites_jumping(k->file.bytes, k->file.size, k->dso.sites, k->dso.nr);
		return;
	}
	if (sites_quiet() || !known_file_map(k->path, &f))
		return;
	if (known_is_loaded(&now, &f))
		sites_jumping(f.bytes, f.size, k->dso.sites, k->dso.nr);
	agent_syscall(SYS_munmap, f.bytes, f.size);
}

/* Before ATTACH_DSO tells the server of it. */
static void moved_note(uint32_t number, bool late)
{
	struct program_tables *tables =
		plane_given(&agent.plane, plane_header(&agent.plane)->programs);

	/* Relaxed: the request that follows orders it. */
	atomic_store_explicit(&tables->dsos[number].moved, late ? DSO_MOVED_LATE : DSO_MOVED,
			      memory_order_relaxed);
}

bool known_number(struct known *k, struct dso_place *place)
{
	if (!dso_place(k->start, k->end, k->path, place) || place->number >= LAYOUT_MAX_DSOS)
		return false;
	k->number = place->number;
	if (k->unread)
		moved_note(k->number, k->late);
	return true;
}

__attribute__((cold)) int known_prepare(struct known *k)
{
	const struct site *s;
	struct dso_place place;
	int err;

	k->tried = true;
	if (!known_number(k, &place))
		return -ENOSPC;
	if (k->unread && !known_read(k)) {
		k->number = UINT32_MAX;
		return 0;
	}
	/* Only now all objects have been seen that came with this one. */
	known_look_through(k);
	s = k->dso.sites;
	if (k->dso.bias + s[0].at < place.code ||
	    k->dso.bias + s[k->dso.nr - 1].at >= place.code_end)
		return -ENOEXEC;
	err = leave_alone(k) && sites.may_patch ? patch(k, place.code_end - place.code) : -EACCES;
	k->returns = sites_unpair(k->dso.sites, k->dso.nr);
	if (!calls_left(k, err != 0) && err)
		return err;
	k->dso.table = known_table_publish(&place, &k->dso);
	return k->dso.table ? 0 : -ENOMEM;
}

struct known *known_of(const void *ld)
{
	for (unsigned int i = 0; i < sites.nr_known; i++)
		if (sites.known[i].ld == ld)
			return &sites.known[i];
	return NULL;
}

/* The text is gone. */
void known_drop(struct known *k)
{
	/*
	 * Release: for fork()'s copy: a child that is forked meanwhile finds all of it, or nothing.
	 */
	__atomic_store_n(&k->ld, NULL, __ATOMIC_RELEASE);
	if (sites_quiet()) {
		/* Relaxed: the table's memory stays, so the table may be found a little longer. */
		if (k->dso.table)
			atomic_store_explicit(&k->dso.table->size, 0, memory_order_relaxed);
		return;
	}
	if (k->dso.table)
		table_withdraw(k->dso.table);
	patch_forget(&k->dso);
	room_unused += k->mirror_room;
	if (k->file.bytes)
		agent_syscall(SYS_munmap, k->file.bytes, k->file.size);
	if (k->dso.sites)
		agent_syscall(SYS_munmap, k->dso.sites, k->room * sizeof(struct site));
}
