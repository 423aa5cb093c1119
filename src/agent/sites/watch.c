/* SPDX-License-Identifier: MIT */
/*
 * watch.c - which DSOs are loaded; sees each one that dlopen() loads before it runs, and each one
 * that dlclose() unloads before it is unmapped
 *
 * The dynamic linker has a function for debuggers that does nothing. Its address is
 * r_debug.r_brk. The linker calls it, with its lock held, in these states:
 *
 *     RT_ADD          DSOs are going to be mapped
 *     RT_CONSISTENT   they are mapped, but not relocated, and none of their code has run
 *     RT_DELETE       destructors have run; some are going to be unmapped
 *     RT_CONSISTENT   they are unmapped
 *
 * It does so whether dlopen(), dlmopen() or libc itself loads them. The `ret` of the
 * function becomes a jump to watch_changed().
 *
 * W1  The function begins on a multiple of 16 bytes. Between its `ret` and the next
 *     multiple there are nops, which are never executed: the jump's distance is
 *     stored there, then the one byte of the `ret`. So threads may run through it.
 *     If anything else is found (a debugger's breakpoint, another libc), the
 *     function is left alone. Then only the program itself is traced, because it
 *     is never unmapped.
 * W2  seen[] has the DSOs in the linker's order: new ones come at the end.
 * W3  Between RT_DELETE and RT_CONSISTENT sites.moving keeps all threads from
 *     memory that may be unmapped. No lock is held in between: the linker calls
 *     free(), which may be interposed and may be this process's first hit.
 */
#include <link.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "agent/graph/graph.h"
#include "agent/libc.h"
#include "agent/probes/probes.h"
#include "agent/sites/pages.h"
#include "agent/sites/state.h"
#include "agent/syscall.h"
#include "elf/code/insn.h"
#include "session/preload.h"

enum { SEEN_FIRST = 24, SEEN_AT_ONCE = 256, PAGE = 4096, BLOCK = 16,
       WAIT_MS = 1000, MAX_LISTS = 16 };

static struct seen {
	const void	*ld;		/* its dynamic section */
	uintptr_t	bias;
	const char	*path;		/* the dynamic linker's text */
	bool		fresh;		/* its code has not run when probes_obey() sees it first */
	uint32_t	list;		/* number of the name space */
		uint32_t	known;		/* 1 + its index in sites.known[]; 0: no sites */
} first_seen[SEEN_FIRST], *seen = first_seen;
static unsigned int nr_seen, room_seen = SEEN_FIRST;
static unsigned int nr_unseen;		/* there was no room for them when it was compared last */

static struct r_debug *debug;		/* of the first name space */

/* ---- The linker's lists ---- */

/* The list of the next name space: glibc 2.35 and later. */
static struct r_debug *next_list(const struct r_debug *r)
{
	struct extended {
		struct r_debug	base;
		struct extended	*next;
	};

	return r->r_version >= 2 ? &((const struct extended *)r)->next->base : NULL;
}

static bool is_consistent(void)
{
	unsigned int nr = 0;

	for (const struct r_debug *r = debug; r && nr < MAX_LISTS; r = next_list(r), nr++)
		/*
		 * Relaxed: watch_changed() runs in the thread that stores it, and settled() looks
		 * again.
		 */
		if (__atomic_load_n(&r->r_state, __ATOMIC_RELAXED) != RT_CONSISTENT)
			return false;
	return true;
}

static bool is_closing(void)
{
	unsigned int nr = 0;

	for (const struct r_debug *r = debug; r && nr < MAX_LISTS; r = next_list(r), nr++)
		if (r->r_state == RT_DELETE)
			return true;
	return false;
}

/* ---- seen[] ---- */

static bool seen_room(void)
{
	size_t old = room_seen * sizeof(*seen), more = SEEN_AT_ONCE * sizeof(*seen);
	long at;

	if (sites_quiet())
		return false;
	if (seen == first_seen)
		at = agent_syscall(SYS_mmap, 0, old + more, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	else
		at = agent_syscall(SYS_mremap, seen, old, old + more, MREMAP_MAYMOVE);
	if (is_error(at))
		return false;
	if (seen == first_seen)
		memcpy((void *)at, first_seen, old);
	seen = (struct seen *)at;
	room_seen += SEEN_AT_ONCE;
	return true;
}

/* Which objects define functions that look at their caller. */
static struct looking_on {
	bool		behind_us;	/* the interposers have been seen */
	bool		found;		/* an object behind them defines such a function */
} looking_on;

/* J3. An object before the interposers calls what it has found behind itself. */
static bool hides(const void *ld, uint32_t list, uintptr_t bias, const char *path, bool calls)
{
	const bool has = looking_on.behind_us && strchr(path, '/') && sites_looks(ld, bias);
	const bool is_second = has && looking_on.found;

	looking_on.found |= has;
	/* Relaxed: see agent_binds_deep(). */
	return list || is_second ||
	       (calls && atomic_load_explicit(&sites.binds_deep, memory_order_relaxed));
}

/* Calls of our own library do not count: the program cannot jump to them. */
static void looked_at(const void *ld, uint32_t list, uintptr_t bias, const char *path)
{
	bool calls;

	if (preload_is_agent(path, strlen(path))) {
		looking_on.behind_us = true;
		return;
	}
	calls = sites_looked_at(ld, bias);
	sites.looked_at |= calls;
	sites.callers_hidden |= hides(ld, list, bias, path, calls);
}

static void seen_add(const void *ld, uint32_t list, uintptr_t bias, const char *path, bool alone)
{
	const struct known *k;

	looked_at(ld, list, bias, path);
	if (nr_seen == room_seen && !seen_room()) {
		nr_unseen++;
		return;
	}
		/* The words of sites that are known already change when the DSO has been added. */
	sites.postponed |= graph_dso(path, ld, bias);
	k = known_find(ld, bias, path, alone);
	seen[nr_seen].ld = ld;
	seen[nr_seen].bias = bias;
	seen[nr_seen].path = path;
	seen[nr_seen].fresh = alone;
	seen[nr_seen].list = list;
	seen[nr_seen++].known = k ? (uint32_t)(k - sites.known) + 1 : 0;
}

static void seen_drop(unsigned int i)
{
	struct known *k = seen[i].known ? &sites.known[seen[i].known - 1] : known_of(seen[i].ld);

	if (k)
		known_drop(k);
	probes_forget(seen[i].ld);
	seen[i].ld = NULL;
}

void watch_objects(void (*see)(const struct watched *w))
{
	for (unsigned int i = 0; i < nr_seen; i++)
		if (seen[i].ld)
			see(&(struct watched){ seen[i].ld, seen[i].bias, seen[i].path,
					       seen[i].fresh });
}

unsigned int watch_unseen(void)
{
	return nr_unseen;
}

void watch_age(void)
{
	for (unsigned int i = 0; i < nr_seen; i++)
		seen[i].fresh = false;
}

static void seen_compress(void)
{
	unsigned int to = 0;

	for (unsigned int i = 0; i < nr_seen; i++)
		if (seen[i].ld)
			seen[to++] = seen[i];
	nr_seen = to;
}

/* The first one from index i on that belongs to the list. */
static unsigned int seen_next(unsigned int i, unsigned int end, uint32_t list)
{
	while (i < end && (seen[i].list != list || !seen[i].ld))
		i++;
	return i;
}

/* W2: a DSO in seen[] but not in the list has gone; those behind the last one seen are new. */
static void list_compare(const struct r_debug *r, uint32_t list)
{
	unsigned int end = nr_seen, i = seen_next(0, end, list);

	for (const struct link_map *m = r->r_map; m; m = m->l_next) {
		while (i < end && seen[i].ld != m->l_ld) {
			seen_drop(i);
			i = seen_next(i, end, list);
		}
		if (i < end)
			i = seen_next(i + 1, end, list);
		else
			seen_add(m->l_ld, list, m->l_addr, m->l_name, true);
	}
	for (; i < end; i = seen_next(i, end, list))
		seen_drop(i);
}

static void compare_all(void)
{
	unsigned int nr = 0;

	nr_unseen = 0;
	/* If the agent came late, the other name spaces are not looked at. */
	for (const struct r_debug *r = debug; r && nr < (agent.late ? 1 : MAX_LISTS);
	     r = next_list(r), nr++)
		list_compare(r, nr);
	seen_compress();
}

/* ---- What the linker calls ---- */

static void changed_consistent(void)
{
	/*
	 * Relaxed: written under the lock. The signal fences order it for a child of fork(), which
	 * finds it as it was at that moment (W3).
	 */
	atomic_store_explicit(&sites.moving, true, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	compare_all();
	agent_dso_closed();
	/* Relaxed: as above. */
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&sites.moving, false, memory_order_relaxed);
	sites_hidden();
	sites_catch_up();
}

/* Not under the lock. Probes come last: a function of moved code is there then, or never. */
static void changed_go_on(void)
{
	uint64_t old;

	sites_go_on();
	old = signals_block();
	sites_lock();
	sites_probe();
	watch_age();
	sites_unlock();
	signals_restore(old);
}

static _Atomic bool watch_stopped;

static __attribute__((cold)) void watch_changed(void)
{
	bool quiet = sites_quiet(), consistent = false;
	uint64_t old;

	/* Relaxed: a thread that reads an old value acts as before the change. */
	if (atomic_load_explicit(&watch_stopped, memory_order_relaxed))
		return;
	old = quiet ? 0 : signals_block();
	sites_lock();
	if (sites.watching) {
		consistent = is_consistent();
		if (consistent)
			changed_consistent();
		else if (is_closing())
			/* Relaxed: under the lock. */
			atomic_store_explicit(&sites.moving, true, memory_order_relaxed);
	}
	sites_unlock();
	if (quiet)
		return;
	signals_restore(old);
	if (consistent)
		changed_go_on();
	if (consistent && agent_providers_objects)
		agent_providers_objects();
}

/* ---- W1 ---- */

static void serialize(void)
{
	agent_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
}

/* The `ret` that can become a jump. NULL: the function does not look as W1 says. */
static unsigned char *ret_of(uintptr_t function)
{
	static const unsigned char endbr64[ENDBR] = { 0xf3, 0x0f, 0x1e, 0xfa };
	unsigned char *at = (unsigned char *)function;
	size_t left;
	bool single;

	if (!function || function % BLOCK)
		return NULL;
	at += memcmp(at, endbr64, ENDBR) ? 0 : ENDBR;
	left = BLOCK - 1 - ((uintptr_t)at - function);
	return *at == INSN_OP_RET && site_nops_length(at + 1, left, &single) == left ? at : NULL;
}

static const char *linker_path(void)
{
	const struct link_map *l = debug->r_map;

	while (l && l->l_addr != debug->r_ldbase)
		l = l->l_next;
	return l && l->l_name && l->l_name[0] == '/' ? l->l_name : NULL;
}

static int jump_store(const unsigned char *at, int32_t distance, bool alone, bool in_place)
{
	struct pages_open o = { .in_place = false };
	struct pages p = pages_of(at, BLOCK);
	unsigned char *stored;
	int err;

	p.head = debug->r_ldbase;
	p.path = alone && !agent.late ? linker_path() : NULL;
	err = pages_begin(&o, &p, in_place);
	if (err)
		return err;
	stored = pages_at(&o, at, BLOCK);
	memcpy(stored + 1, &distance, sizeof(distance));
	if (!alone)
		serialize();
	/* Relaxed: serialize(), before and behind it, orders it for threads that execute it. */
	__atomic_store_n(stored, INSN_OP_JMP, __ATOMIC_RELAXED);
	return pages_end(&o);
}

static bool jump_set(unsigned char *at, void (*to)(void), bool alone)
{
	int64_t distance = (int64_t)((uintptr_t)to - ((uintptr_t)at + 5));
	int32_t small = (int32_t)distance;

	/* Once more: pages_end(). */
	if (small != distance ||
	    (jump_store(at, small, alone, false) && jump_store(at, small, alone, true)))
		return false;
	/* Also: a thread that ran through the old `ret` has stored r_state before we read it. */
	if (!alone)
		serialize();
	return true;
}

/* ---- Beginning ---- */

struct looking {
	bool		alone;
	bool		only_program;
	bool		first;
};

static const ElfW(Dyn) *dynamic_of(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			return (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	return NULL;
}

/* The first object that dl_iterate_phdr() reports is the program. */
static int debug_of_program(struct dl_phdr_info *info, size_t size, void *arg)
{
	const ElfW(Dyn) *d = dynamic_of(info);

	for (; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_DEBUG)
			debug = (struct r_debug *)d->d_un.d_ptr;
	return 1;
}

static int watch_look(struct dl_phdr_info *info, size_t size, void *arg)
{
	const void *ld = dynamic_of(info);
	struct looking *l = arg;
	bool is_program = l->first;

	l->first = false;
	if (!ld)
		return 0;
	if (l->only_program && !is_program) {
		looked_at(ld, 0, info->dlpi_addr, info->dlpi_name);
		return 0;
	}
	seen_add(ld, 0, info->dlpi_addr, is_program ? "" : info->dlpi_name, l->alone);
	return 0;
}

/*
 * Waits for a thread that is in the linker now: it may have passed the function before the change.
 * Later threads wait for the lock in watch_changed().
 */
static bool settled(void)
{
	struct timespec pause = { .tv_nsec = 1000000 };

	for (int ms = 0; ms < WAIT_MS; ms++) {
		if (is_consistent())
			return true;
		agent_syscall(SYS_nanosleep, &pause, 0);
	}
	return false;
}

static bool watch_install(bool alone)
{
	static bool is_set;
	unsigned char *ret;

	libc_dl_iterate_phdr(debug_of_program, NULL);
	if (is_set) {
		/* Relaxed, with serialize(): as in jump_set(). */
		atomic_store_explicit(&watch_stopped, false, memory_order_relaxed);
		serialize();
	} else {
		ret = debug ? ret_of(debug->r_brk) : NULL;
		is_set = ret && sites.may_patch && jump_set(ret, watch_changed, alone);
	}
	return is_set && settled();
}

void watch_start(bool alone)
{
	struct looking l = { .alone = alone, .first = true };

	sites.watching = watch_install(alone);
	if (!sites.watching)
		sites_ask_memory();
	looking_on = (struct looking_on){ 0 };
	/* J3. Objects may come unseen, or no interposer stands before libc. */
	sites.callers_hidden |= !sites.watching || !agent_providers_table || agent.late;
	/* If no code may be changed, a DSO that is unmapped unseen does no harm. */
	l.only_program = !sites.watching && sites.may_patch;
	/*
	 * While this runs the linker does not call watch_changed(). It unmaps nothing until we have
	 * released the lock.
	 */
	libc_dl_iterate_phdr(watch_look, &l);
}

void watch_stop(void)
{
	/* Relaxed: the program has one thread. */
	atomic_store_explicit(&watch_stopped, true, memory_order_relaxed);
	sites.watching = false;
	nr_seen = 0;
}

void watch_again(void)
{
	/* Relaxed: under the lock. */
	if (atomic_load_explicit(&sites.moving, memory_order_relaxed))
		sites.watching = false;
}
