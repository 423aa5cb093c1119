/* SPDX-License-Identifier: MIT */
/*
 * dso.c - addresses of this process as the session's (R19), looked up inside hits
 *
 *     address -> thread's last DSO -> process's cache by start address -> _dl_find_object(),
 *             its headers: build-id, code -> the session's table: number
 *
 * D1  A cache entry is written by one thread at a time (CAS on `seq`, odd
 *     meanwhile), and a reader looks at seq before and after. A thread that cannot
 *     use the entry looks everything up itself.
 * D2  dlclose() raises the age; entries of an older age are looked up again.
 * D3  An entry of the session's table is found by its id. Its state goes free ->
 *     writing -> ready. A thread that finds one being written waits for a moment,
 *     because it may be the same DSO, and then skips it: its writer may be dead.
 *     All such entries together get one moment.
 * D4  The program may contain functions of libc, such as strlen(), with sites. What a look-up calls
 *     is not recorded: to record it would take another look-up, and so on.
 * D5  A path may be longer than a stack has room for: it is made where it stays, in paths[].
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include "agent/graph/graph.h"
#include "agent/graph/frame.h"
#include "agent/libc.h"
#include "agent/maps.h"
#include "agent/state.h"
#include "agent/syscall.h"
#include "elf/image.h"

enum { CACHE = 1024, CACHE_PROBES = 8, MAX_LISTED = 256, PAGE = 4096, MOMENT = 20000 };
/* Bytes of a handler's alternate stack for look_up(). */
enum { LOOK_ROOM = 1024 };

#define NO_NUMBER UINT32_MAX
#define HASH_BEGIN 0xcbf29ce484222325ull

/* glibc 2.35 and later: lock-free and allowed in signal handlers. */
extern int _dl_find_object(void *, struct dl_find_object *) __attribute__((weak));

struct dso {
	uintptr_t	start, end;		/* mapped bytes */
	/* From the first to the last byte that can be executed. */
	uintptr_t	code, code_end;
	uint32_t	number;			/* in the session's table */
};

struct cached {
	_Atomic uint32_t seq;			/* D1 */
	uint32_t	age;
	struct dso	dso;
};

/* The process's own. A child of fork() has the same DSOs, so its copy is valid. */
static struct cached cache[CACHE];

/* Without _dl_find_object(): the DSOs at attach. */
static struct listed {
	uintptr_t	start, end;
	const char	*path;
} listed[MAX_LISTED];
static uint32_t nr_listed;

_Atomic uint32_t agent_dso_age;

/* What the dynamic linker knows of an address. */
struct found {
	uintptr_t	start, end;
	const char	*path;
	const void	*eh_frame;	/* .eh_frame_hdr; NULL: none */
};

static int list_one(struct dl_phdr_info *info, size_t size, void *arg)
{
	uint64_t low, high;

	if (image_span(info->dlpi_phdr, info->dlpi_phnum, &low, &high) && nr_listed < MAX_LISTED)
		listed[nr_listed++] =
			(struct listed){ (info->dlpi_addr + low) & ~(uintptr_t)(PAGE - 1),
					info->dlpi_addr + high, info->dlpi_name };
	return 0;
}

/* ---- The program's file ---- */

/* A line of /proc/self/maps, as far as it is read: START-END RIGHTS OFFSET DEVICE INODE PATH */
struct maps_line {
	struct maps_bounds bounds;
	size_t		len;		/* of the path */
};

/* -> whether the line of the address has ended; its path is in out[] then */
static __attribute__((cold)) bool maps_line_add(struct maps_line *l, char c, uintptr_t addr,
						char *out, size_t room)
{
	bool found = false;

	if (c == '\n') {
		found = addr >= l->bounds.at[0] && addr < l->bounds.at[1];
		out[l->len] = 0;
		*l = (struct maps_line){ .len = 0 };
	} else if (l->bounds.nr < 2) {
		maps_bounds_add(&l->bounds, c);
	} else if ((l->len || c == '/') && l->len + 1 < room) {
		out[l->len++] = c;
	}
	return found;
}

/* The kernel writes \012 for a newline in a path. */
static __attribute__((cold)) void newlines_restore(char *path)
{
	char *out = path;

	for (; *path; out++)
		if (path[0] == '\\' && path[1] == '0' && path[2] == '1' && path[3] == '2') {
			*out = '\n';
			path += 4;
		} else {
			*out = *path++;
		}
	*out = 0;
}

/* The file that is mapped at the address. "": none, or it cannot be read. */
static __attribute__((cold)) void path_mapped_at(uintptr_t addr, char *out, size_t room)
{
	const long fd = agent_syscall(SYS_openat, AT_FDCWD, "/proc/self/maps",
				      O_RDONLY | O_CLOEXEC);
	struct maps_line l = { .len = 0 };
	char text[512];
	bool found = false;
	long n = 0;

	while (fd >= 0 && !found && (n = agent_syscall(SYS_read, fd, text, sizeof(text))) > 0)
		for (long i = 0; i < n && !found; i++)
			found = maps_line_add(&l, text[i], addr, out, room);
	if (!found)
		*out = 0;
	newlines_restore(out);
	if (fd >= 0)
		agent_syscall(SYS_close, fd);
}

static char mapped_path[AGENT_PATH];

/*
 * The linker may be executed with the program as its argument. Then it has no AT_BASE, and
 * /proc/self/exe is the linker. The linker sets AT_PHDR and AT_EXECFN to the program's.
 */
static __attribute__((cold)) void program_find(void)
{
	if (libc_getauxval(AT_BASE))
		return;
	path_mapped_at(libc_getauxval(AT_PHDR), mapped_path, sizeof(mapped_path));
	agent.program_path = *mapped_path ? mapped_path : agent.exe;
}

__attribute__((cold)) void dso_start(void)
{
	program_find();
	if (!_dl_find_object)
		libc_dl_iterate_phdr(list_one, NULL);
}

static bool find_listed(uintptr_t addr, struct found *out)
{
	for (uint32_t i = 0; i < nr_listed; i++) {
		if (addr - listed[i].start >= listed[i].end - listed[i].start)
			continue;
		*out = (struct found){ listed[i].start, listed[i].end, listed[i].path, NULL };
		return true;
	}
	return false;
}

/*
 * A program that the kernel has mapped may have holes between its segments. glibc answers one
 * segment of it then, and that has no headers. So its span comes from its own headers.
 */
static void find_whole_program(struct found *f)
{
	const Elf64_Phdr *p = (const Elf64_Phdr *)libc_getauxval(AT_PHDR), *own = p;
	const unsigned int nr = (unsigned int)libc_getauxval(AT_PHNUM);
	uint64_t low, high;
	uintptr_t bias;

	while (own && own < p + nr && own->p_type != PT_PHDR)
		own++;
	if (!own || own == p + nr || !image_span(p, nr, &low, &high))
		return;
	bias = (uintptr_t)p - own->p_vaddr;
	if (f->start + PAGE <= bias + low || f->start >= bias + high)
		return;
	f->start = (bias + low) & ~(uintptr_t)(PAGE - 1);
	f->end = bias + high;
}

static bool find(uintptr_t addr, struct found *out)
{
	struct dl_find_object o;

	if (!_dl_find_object)
		return find_listed(addr, out);
	if (_dl_find_object((void *)addr, &o))
		return false;
	*out = (struct found){ (uintptr_t)o.dlfo_map_start & ~(uintptr_t)(PAGE - 1),
		(uintptr_t)o.dlfo_map_end,
			       o.dlfo_link_map ? o.dlfo_link_map->l_name : "",
			       o.dlfo_eh_frame };
	/* The program has no name; a library may lie in one of its holes. */
	if (!*out->path)
		find_whole_program(out);
	return true;
}

const char *dso_path(const char *path)
{
	return *path ? path : agent.program_path ? agent.program_path : "/proc/self/exe";
}

/* ---- A DSO's headers ---- */

/* FNV-1a, by words as far as they go; their upper halves are brought down for what follows. */
static __attribute__((noinline)) uint64_t hash_add(uint64_t h, const void *data, size_t size)
{
	const uint64_t prime = 0x100000001b3ull;
	const unsigned char *p = data;
	uint64_t word;

	for (; size >= sizeof(word); p += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = (h ^ word) * prime;
		h ^= h >> 32;
	}
	while (size--)
		h = (h ^ *p++) * prime;
	return h;
}

/* The program's file as the program was started; "": not known. */
static const char *program_path(void)
{
	return agent.program_path ? agent.program_path : agent.exe ? agent.exe : "";
}

static bool file_look(const char *path, struct stat *st)
{
	return !agent_restricted() &&
	       (!agent_syscall(SYS_newfstatat, AT_FDCWD, dso_path(path), st, 0) ||
		(!*path && !agent_syscall(SYS_newfstatat, AT_FDCWD, program_path(), st, 0)));
}

/*
 * For a DSO without a build-id: a hash of the file's number, size and time; of its path, if that
 * cannot be asked for.
 */
static void id_make(const char *path, struct dso_entry *e)
{
	struct stat st = { 0 };
	uint64_t h = HASH_BEGIN;

	if (!file_look(path, &st)) {
		path = *path ? path : program_path();
		h = hash_add(h, path, strlen(path));
	}
	h = hash_add(h, &st.st_dev, sizeof(st.st_dev));
	h = hash_add(h, &st.st_ino, sizeof(st.st_ino));
	h = hash_add(h, &st.st_size, sizeof(st.st_size));
	h = hash_add(h, &st.st_mtim, sizeof(st.st_mtim));
	memcpy(e->id, &h, sizeof(h));
	e->id_len = sizeof(h);
}

/* The dynamic linker has the path as it was given; the server has another working directory. */
static void path_copy(const char *path, char *out, size_t room)
{
	size_t at = 0, len = strlen(path);
	long n = *path == '/' || agent_restricted() ? 0 : agent_syscall(SYS_getcwd, out, room);

	if (n > 1 && *out == '/' && (size_t)n + len < room) {
			at = (size_t)n;		/* with its 0, which the slash replaces */
		out[at - 1] = '/';
	}
	memcpy(out + at, path, len < room - at ? len + 1 : room - at);
	out[room - 1] = 0;
}

/* The program's own path. It is read only now: that is slow, and most programs have no hit. */
static void path_of_program(char *out, size_t room)
{
	long n = agent.program_path || agent_restricted() ? 0 :
		 agent_syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", out, room - 1);

	if (n > 0)
		out[n] = 0;
	else
		path_copy(program_path(), out, room);
}

static void describe_notes(const struct found *f, const Elf64_Phdr *p, unsigned int nr,
			   uintptr_t bias, struct dso_entry *e)
{
	for (unsigned int i = 0; i < nr; i++) {
		uintptr_t at = bias + p[i].p_vaddr, end = at + p[i].p_memsz;
		const void *id;
		size_t len;

		if (p[i].p_type != PT_NOTE || e->id_len || at < f->start || end > f->end)
			continue;
		id = image_note((const void *)at, p[i].p_memsz, p[i].p_align, "GNU",
				NT_GNU_BUILD_ID, &len);
		if (!id || len > sizeof(e->id))
			continue;
		memcpy(e->id, id, len);
		e->id_len = (uint32_t)len;
	}
}

/* An address in memory is this plus the one in the file: its first segment is at its start. */
static uintptr_t bias_of(const struct found *f, const Elf64_Phdr *p, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		if (p[i].p_type == PT_LOAD)
			return f->start - (p[i].p_vaddr & ~(uintptr_t)(PAGE - 1));
	return f->start;
}

static void describe(const struct found *f, struct dso *d, struct dso_entry *e)
{
	const Elf64_Phdr *p;
	unsigned int nr = 0;
	uintptr_t bias;

	*d = (struct dso){ .start = f->start, .end = f->end, .number = NO_NUMBER };
	memset(e, 0, sizeof(*e));
	e->size = f->end - f->start;
	p = image_segments((const void *)f->start, PAGE, &nr);
	bias = bias_of(f, p, nr);
	e->load = f->start - bias;
	describe_notes(f, p, nr, bias, e);
	for (unsigned int i = 0; i < nr; i++) {
		uintptr_t at = bias + p[i].p_vaddr, end = at + p[i].p_memsz;

		if (at < f->start || end > f->end)
			continue;
		if (p[i].p_type == PT_LOAD && (p[i].p_flags & PF_X)) {
			d->code = d->code && d->code < at ? d->code : at;
			d->code_end = end > d->code_end ? end : d->code_end;
		}
	}
	if (!e->id_len)
		id_make(f->path ? f->path : "", e);
}

/* ---- The session's table ---- */

static bool is_entry(const struct dso_entry *e, const struct dso_entry *want)
{
	return e->id_len == want->id_len && e->size == want->size &&
	       !memcmp(e->id, want->id, sizeof(e->id));
}

/* D3. *looks: how many looks are left. */
static uint32_t state_settled(struct dso_entry *e, int *looks)
{
	uint32_t state;

	do
		/* Pairs with the release in number_take(): with DSO_READY the rest is there. */
		state = atomic_load_explicit(&e->state, memory_order_acquire);
	while (state == DSO_WRITING && --*looks > 0);
	return state;
}

static uint32_t number_find(struct dso_entry *table, const struct dso_entry *want, int *looks)
{
	for (uint32_t i = 0; i < LAYOUT_MAX_DSOS; i++) {
		uint32_t state = state_settled(&table[i], looks);

		if (state == DSO_READY && is_entry(&table[i], want))
			return i;
		if (state == DSO_FREE)
			break;
	}
	return NO_NUMBER;
}

/* Another process may write there meanwhile. */
static uint32_t path_size(const char *path)
{
	uint32_t size = 1;

	while (size < LAYOUT_PATH && path[size - 1])
		size++;
	return size;
}

/*
 * D5. -> where the path is in the session's paths; LAYOUT_PATHS: there is no room. It takes all the
 * room that a path may need, and gives back what is left, unless somebody has taken room behind it.
 */
static uint32_t path_store(struct program_tables *tables, const char *path)
{
	/* Relaxed: the path is published with its entry. */
	uint32_t at = atomic_load_explicit(&tables->paths_used, memory_order_relaxed), end;

	do
		if (at > LAYOUT_PATHS - LAYOUT_PATH)
			return LAYOUT_PATHS;
	while (!atomic_compare_exchange_weak_explicit(&tables->paths_used, &at, at + LAYOUT_PATH,
						      memory_order_relaxed, memory_order_relaxed));
	if (path && *path)
		path_copy(path, tables->paths + at, LAYOUT_PATH);
	else
		path_of_program(tables->paths + at, LAYOUT_PATH);
	end = at + LAYOUT_PATH;
	/* Relaxed: as above. */
	atomic_compare_exchange_strong_explicit(
		&tables->paths_used, &end, at + path_size(tables->paths + at),
		memory_order_relaxed, memory_order_relaxed);
	return at;
}

static uint32_t number_take(struct program_tables *tables, const struct dso_entry *want,
			    const char *path, int *looks)
{
	struct dso_entry *table = tables->dsos;

	for (uint32_t i = 0; i < LAYOUT_MAX_DSOS; i++) {
		uint32_t free = DSO_FREE;

		/*
		 * If it fails, it pairs with the release below. If it succeeds, the entry was free
		 * and empty.
		 */
		if (!atomic_compare_exchange_strong_explicit(&table[i].state, &free, DSO_WRITING,
							     memory_order_acquire,
							     memory_order_acquire)) {
			if (state_settled(&table[i], looks) == DSO_READY &&
			    is_entry(&table[i], want))
				return i;
			continue;
		}
		table[i].pid = agent.here->pid;
		table[i].size = want->size;
		table[i].load = want->load;
		table[i].id_len = want->id_len;
		memcpy(table[i].id, want->id, sizeof(want->id));
		table[i].path = path_store(tables, path);
		/* Pairs with the acquire in state_settled() and with the server's. */
		atomic_store_explicit(&table[i].state, DSO_READY, memory_order_release);
		return i;
	}
	return NO_NUMBER;
}

static __attribute__((cold)) void look_up(const struct found *f, struct dso *d)
{
	struct program_tables *tables =
		plane_given(&agent.plane, plane_header(&agent.plane)->programs);
	struct dso_entry e;
	int looks = MOMENT;

	describe(f, d, &e);
	if (e.size >> LAYOUT_DSO_SHIFT)
		return;
	d->number = number_find(tables->dsos, &e, &looks);
	if (d->number == NO_NUMBER)
		d->number = number_take(tables, &e, f->path, &looks);
}

/* ---- The process's cache ---- */

static struct cached *cache_place(uintptr_t start, unsigned int probe)
{
	return &cache[(((start >> 12) * 0x9e3779b97f4a7c15ull >> 32) + probe) % CACHE];
}

static bool cache_read(struct cached *c, uintptr_t start, uint32_t age, struct dso *d)
{
	uint32_t seq = atomic_load_explicit(&c->seq, memory_order_acquire);	/* D1 */

	if (!seq || (seq & 1) || c->age != age || c->dso.start != start)
		return false;
	*d = c->dso;
	/*
	 * D1: pairs with the fence in cache_write(): a copy of an entry that was being written is
	 * recognised.
	 */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&c->seq, memory_order_relaxed) == seq;
}

/* Stores it in a free or outdated place. If there is none, it is not cached. */
static void cache_write(const struct dso *d, uint32_t age)
{
	for (unsigned int i = 0; i < CACHE_PROBES; i++) {
		struct cached *c = cache_place(d->start, i);
		uint32_t seq = atomic_load_explicit(&c->seq, memory_order_acquire);	/* D1 */

		/* Acquire: pairs with the release below, by the thread that wrote it before. */
		if ((seq & 1) || (seq && c->age == age) ||
		    !atomic_compare_exchange_strong_explicit(
			    &c->seq, &seq, seq + 1, memory_order_acquire, memory_order_relaxed))
			continue;
		/* D1: pairs with the fence in cache_read(). */
		atomic_thread_fence(memory_order_release);
		c->age = age;
		c->dso = *d;
		atomic_store_explicit(&c->seq, seq + 2, memory_order_release);		/* D1 */
		return;
	}
}

static bool dso_find(uintptr_t addr, struct dso *d)
{
	/* D2: pairs with the release in agent_dso_closed(). */
	uint32_t age = atomic_load_explicit(&agent_dso_age, memory_order_acquire);
	struct found f;

	if (!find(addr, &f))
		return false;
	for (unsigned int i = 0; i < CACHE_PROBES; i++)
		if (cache_read(cache_place(f.start, i), f.start, age, d))
			return true;
	if (!stack_has_room((uintptr_t)__builtin_frame_address(0), LOOK_ROOM))
		return false;
	look_up(&f, d);
	cache_write(d, age);
	return true;
}

static bool image_fill(const struct found *f, struct dso_image *out)
{
	struct dso_entry e = { .id_len = 0 };

	*out = (struct dso_image){ .start = f->start, .end = f->end,
				  .path = f->path ? f->path : "" };
	out->segments = image_segments((const void *)f->start, PAGE, &out->nr_segments);
	out->bias = bias_of(f, out->segments, out->nr_segments);
	describe_notes(f, out->segments, out->nr_segments, out->bias, &e);
	_Static_assert(sizeof(out->id) == sizeof(e.id), "a whole build-id");
	memcpy(out->id, e.id, sizeof(out->id));
	out->id_len = e.id_len;
	return out->segments != NULL;
}

/* The segment with .eh_frame_hdr, and all that can be executed. */
static void tables_look(const struct found *f, struct dso_tables *out)
{
	const uintptr_t header = (uintptr_t)f->eh_frame;
	unsigned int nr = 0;
	const Elf64_Phdr *p = image_segments((const void *)f->start, PAGE, &nr);
	const uintptr_t bias = bias_of(f, p, nr);

	for (unsigned int i = 0; i < nr; i++) {
		const uintptr_t at = bias + p[i].p_vaddr, end = at + p[i].p_filesz;

		if (p[i].p_type != PT_LOAD || at < f->start || end > f->end || end < at)
			continue;
		if (p[i].p_flags & PF_X && (p[i].p_flags & PF_R) && !out->code) {
			out->code = at;
			out->code_end = end;
		}
		if ((p[i].p_flags & PF_R) && header - at < end - at) {
			out->low = (const void *)at;
			out->high = (const void *)end;
			out->header = f->eh_frame;
		}
	}
}

bool dso_tables(uintptr_t addr, struct dso_tables *out)
{
	struct found f = { .eh_frame = NULL };

	*out = (struct dso_tables){ .header = NULL };
	if (!find(addr, &f))
		return false;
	tables_look(&f, out);
	return true;
}

/* Its headers are at its load bias, as those of any library. */
static bool image_is_coming(uintptr_t bias, const char *path, struct dso_image *out)
{
	struct found f = { .start = bias, .path = path };
	unsigned char in_core;
	const Elf64_Phdr *p;
	uint64_t low, high;
	unsigned int nr;

	if (!bias || bias % PAGE || agent_syscall(SYS_mincore, bias, PAGE, &in_core))
		return false;
	p = image_segments((const void *)bias, PAGE, &nr);
	if (!p || !image_span(p, nr, &low, &high))
		return false;
	f.end = bias + high;
	return image_fill(&f, out);
}

__attribute__((cold)) bool dso_image(const void *ld, uintptr_t bias, const char *path,
				     struct dso_image *out)
{
	struct found f;

	return find((uintptr_t)ld, &f) ? image_fill(&f, out) : image_is_coming(bias, path, out);
}

__attribute__((cold)) uint64_t dso_contents(uintptr_t addr)
{
	struct dso_entry e = { .id_len = 0 };
	const Elf64_Phdr *p;
	unsigned int nr = 0;
	struct found f;
	uint64_t h;

	if (!find(addr, &f))
		return 0;
	p = image_segments((const void *)f.start, PAGE, &nr);
	if (!p)
		return 0;
	describe_notes(&f, p, nr, bias_of(&f, p, nr), &e);
	/*
	 * Not the build-id alone: it may be chosen by hand, or stay when sections are removed. The
	 * ELF header shows that.
	 */
	h = hash_add(HASH_BEGIN, (const void *)f.start, sizeof(Elf64_Ehdr));
	h = hash_add(h, e.id, e.id_len);
	if (f.path)
		h = hash_add(h, f.path, strlen(f.path));
	return e.id_len ? h | 1 : 0;
}

uint64_t dso_number(uintptr_t addr)
{
	struct dso d;

	return dso_find(addr, &d) && d.number != NO_NUMBER ? 1 + (uint64_t)d.number : 0;
}

static uint64_t dso_delta(const struct dso *d)
{
	return d->number == NO_NUMBER ? 0 : layout_dso_base(d->number) - d->start;
}

__attribute__((cold)) bool dso_place(uintptr_t start, uintptr_t end, const char *path,
				     struct dso_place *out)
{
	const struct found f = { start, end, path, NULL };
	struct dso d;

	look_up(&f, &d);
	*out = (struct dso_place){ d.code, d.code_end, dso_delta(&d), d.number };
	return d.number != NO_NUMBER;
}

/* Code with our labels is never noted: agent_address() would take a label for a plain address. */
static bool has_labels(const struct dso *d)
{
	return (uintptr_t)graph_returned - d->code < d->code_end - d->code;
}

/*
 * A handler that runs in the middle of this finds nothing, and may note another
 * DSO. If one did, nothing is noted, instead of a mixture of both.
 */
static void code_note(struct agent_thread *t, const struct dso *d, uint32_t age)
{
	volatile uint32_t *turn = &t->code_turn;
	uint32_t mine;

	if (has_labels(d))
		return;
	mine = ++*turn;

	/* These fences pair with those in agent_code_delta(), in a handler of this thread. */
	t->code_start = t->code_end = 0;
	atomic_signal_fence(memory_order_seq_cst);
	t->dso_delta = dso_delta(d);
	t->dso_age = age;
	t->code_start = d->code;
	/* As above. */
	atomic_signal_fence(memory_order_seq_cst);
	t->code_end = d->code_end;
	atomic_signal_fence(memory_order_seq_cst);
	if (*turn != mine)
		t->code_start = t->code_end = 0;
}

bool dso_code(struct agent_thread *t, uintptr_t addr, uint64_t *out)
{
	/* D2: pairs with the release in agent_dso_closed(). */
	uint32_t age = atomic_load_explicit(&agent_dso_age, memory_order_acquire);
	const uint8_t busy = t->busy;
	uint64_t delta;
	struct dso d;
	bool found;

	if (!agent_code_delta(t, addr, age, &delta)) {
		t->busy = 1;	/* D4 */
		found = dso_find(addr, &d) && addr - d.code < d.code_end - d.code;
		delta = found ? dso_delta(&d) : 0;
		t->busy = busy;
		if (!found)
			return false;
		code_note(t, &d, age);
	}
	*out = addr + delta;
	return true;
}

uint64_t agent_address_long(struct agent_thread *t, const void *addr)
{
	const uintptr_t at =
		graph_caller(t, (uintptr_t)addr, (uintptr_t)__builtin_frame_address(0));
	const uint8_t busy = t->busy;
	struct dso d;
	uint64_t out;

	if (dso_code(t, at, &out))
		return out;
	t->busy = 1;	/* D4 */
	out = dso_find(at, &d) ? at + dso_delta(&d) : at;
	t->busy = busy;
	return out;
}

void agent_dso_closed(void)
{
	/*
	 * Release: under the new age nothing is found that was unmapped before. Pairs with the
	 * acquires in dso_find(), dso_code() and agent_address().
	 */
	atomic_fetch_add_explicit(&agent_dso_age, 1, memory_order_release);
}
