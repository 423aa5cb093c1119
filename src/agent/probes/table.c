/* SPDX-License-Identifier: MIT */
/*
 * table.c - which places of this process are probed now: the session's table against the objects
 * that are loaded
 *
 *     probe_table -> probe_file == object? -> its points -> places that are wanted -> text_switch()
 *
 * T1  An object is recognised by its build-id and its size in memory, without a system call. If it
 *     has none, by its file's device and inode; the agent's task may not ask for these, so only
 *     what is seen in a thread of the program.
 * T2  A place is only planted where memory has the bytes that the file has. A function of moved
 *     code (sites/moved.c) has a jump of ours there: then that jump is what is displaced.
 * T3  Beside running threads a jump with inner starts, or one that is stored behind a byte that
 *     traps, needs our handler of SIGSEGV. If the program has another one, or has blocked the
 *     signal, such a place is refused (CODE_BUSY).
 * T4  The table is looked at again if it is another one or objects have come or gone. A table's
 *     memory is used again only after this process has answered that it has seen another one.
 * T5  While the dynamic linker unmaps objects (W3 of watch.c), memory of all but the program itself
 *     is left alone: it may be gone. What is to be done there waits until the linker is ready.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "agent/graph/graph.h"
#include "agent/probes/probes.h"
#include "agent/sites/state.h"
#include "agent/syscall.h"
#include "session/preload.h"
#include "tracefuse/base.h"

enum {
	OBJECTS = 512, COUNTERS = 1024, ARENA = 64 << 20, POINTS_MOST = 1 << 20,
	ARENA_STEP = 16, ARENA_SIZES = 256,	/* blocks of up to 4 KiB are used again */
};

struct probe_object {
	const void	*ld;		/* NULL: free */
	uintptr_t	bias;
	struct dso_image image;
	uint64_t	device, inode;
	struct pages	texts[SITE_TEXTS];
	unsigned int	nr_texts;
	struct near	near;
	bool		fresh;		/* its code has not run */
	bool		ours;
	bool		libc;		/* or a part of it */
	bool		program;	/* never unmapped */
};

static struct {
	struct probe_object *objects;
	unsigned int	nr_objects;
	config_ref	table;		/* T4 */
	bool		changed;
	uint32_t	nr_planted, nr_refused;
	uint32_t	nr_unseen;	/* objects that are loaded and not in objects[] */
	uint32_t	nr_sealed;	/* objects whose code could not be changed */
	struct site_refused refused[PROBE_REFUSALS];
	/* Counters that were raised: a hash table with free entries between them */
	struct counter {
		_Atomic uint16_t *at;		/* NULL: free */
		const struct probe_object *object;
		bool	raised, wanted;
	} *counters;
	uint32_t	nr_counters, counters_room;	/* room: a power of 2 */
	char		*arena;
	size_t		used;
	struct arena_block {
		struct arena_block *next;
	} *blocks[ARENA_SIZES];		/* those that are free, by size */
	bool		leads;		/* T3 */
} probes;

/* ---- Memory that hits read ---- */

static struct arena_block **arena_free_of(size_t size)
{
	return size / ARENA_STEP < ARENA_SIZES ? &probes.blocks[size / ARENA_STEP] : NULL;
}

static size_t arena_size(size_t size)
{
	return (size + ARENA_STEP - 1) & -(size_t)ARENA_STEP;
}

static void arena_give(const void *at, size_t size)
{
	struct arena_block **list = arena_free_of(arena_size(size)), *b = (struct arena_block *)at;

	if (!list)
		return;		/* it stays unused */
	b->next = *list;
	*list = b;
}

static void *arena_take(size_t size)
{
	struct arena_block **list = arena_free_of(arena_size(size));
	void *at;

	if (list && *list) {
		at = *list;
		*list = (*list)->next;
		return at;
	}

	if (!probes.arena) {
		const long got = agent_syscall(SYS_mmap, 0, ARENA, PROT_READ | PROT_WRITE,
					       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		probes.arena = is_error(got) ? NULL : (char *)got;
	}
	size = arena_size(size);
	if (!probes.arena || ARENA - probes.used < size)
		return NULL;
	at = probes.arena + probes.used;
	probes.used += size;
	return at;
}

/* ---- Objects ---- */

static void objects_map(void)
{
	long at;

	if (probes.objects)
		return;
	at = agent_syscall(SYS_mmap, 0, OBJECTS * sizeof(struct probe_object),
			   PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			   0);
	probes.objects = is_error(at) ? NULL : (struct probe_object *)at;
}

/* T5 */
static bool object_is_there(const struct probe_object *o)
{
	/* Relaxed: written under the lock. */
	return o->program || !atomic_load_explicit(&sites.moving, memory_order_relaxed);
}

static struct probe_object *object_of(const void *ld)
{
	for (unsigned int i = 0; i < probes.nr_objects; i++)
		if (probes.objects[i].ld == ld)
			return &probes.objects[i];
	return NULL;
}

static struct probe_object *object_free(void)
{
	struct probe_object *o = object_of(NULL);

	if (!probes.objects)
		return NULL;
	return o || probes.nr_objects == OBJECTS ? o : &probes.objects[probes.nr_objects++];
}

static __attribute__((cold)) void texts_find(struct probe_object *o)
{
	const Elf64_Phdr *p = o->image.segments;
	uintptr_t low = UINTPTR_MAX, high = 0, head = 0;

	for (unsigned int i = 0; i < o->image.nr_segments; i++) {
		struct pages *t = &o->texts[o->nr_texts];

		if (p[i].p_type == PT_LOAD && p[i].p_offset < 4096 && !head)
			head = (o->bias + p[i].p_vaddr) & -(uintptr_t)4096;

		if (p[i].p_type != PT_LOAD || !(p[i].p_flags & PF_X) || o->nr_texts == SITE_TEXTS)
			continue;
		*t = pages_of((const void *)(o->bias + p[i].p_vaddr), p[i].p_memsz);
		t->prot = PROT_EXEC | (p[i].p_flags & PF_R ? PROT_READ : 0) |
			  (p[i].p_flags & PF_W ? PROT_WRITE : 0);
		low = t->low < low ? t->low : low;
		high = t->high > high ? t->high : high;
		o->nr_texts++;
	}
	o->near.low = low;
	o->near.high = high;
	for (unsigned int i = 0; i < o->nr_texts; i++)
		o->texts[i].head = head;
}

/* T1. False: no probe can find it. The task has no right to ask (shed.c). */
static __attribute__((cold)) bool file_ask(struct probe_object *o)
{
	const char *path = dso_path(o->image.path);
	struct stat st;

	/* The vdso's path has no directory. */
	if (o->image.id_len || !strchr(path, '/'))
		return true;
	while (agent_syscall(SYS_newfstatat, AT_FDCWD, path, &st, 0)) {
		/* Without /proc */
		if (*o->image.path || path == agent.exe || !agent.exe)
			return false;
		path = agent.exe;
	}
	o->device = st.st_dev;
	o->inode = st.st_ino;
	return true;
}

static bool is_libc(const char *path)
{
	static const char *const parts[] = { "libc.so.", "libc-2.", "ld-linux-", "ld-2.",
					     "libpthread", "librt" };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (unsigned int i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!strncmp(name, parts[i], strlen(parts[i])))
			return true;
	return false;
}

static bool object_describe(const struct watched *w, struct probe_object *o)
{
	memset(o, 0, sizeof(*o));
	return dso_image(w->ld, w->bias, w->path, &o->image) && file_ask(o);
}

/* What has no entry is tried again each time, and counted. */
static __attribute__((cold)) void object_see(const struct watched *w)
{
	struct probe_object *o = object_of(w->ld);

	/* T5. Relaxed: written under the lock. */
	if (o || atomic_load_explicit(&sites.moving, memory_order_relaxed))
		return;
	o = object_free();
	if (!o || !object_describe(w, o)) {
		probes.nr_unseen++;
		return;
	}
	o->ld = w->ld;
	o->fresh = w->fresh;
	o->bias = o->image.bias;
	o->ours = preload_is_agent(o->image.path, strlen(o->image.path));
	o->libc = is_libc(o->image.path);
	o->program = !*w->path;
	texts_find(o);
	probes.changed = true;
}

void probes_forget(const void *ld)
{
	struct probe_object *o = probes.objects ? object_of(ld) : NULL;
	if (!o)
		return;
	places_forget(o);
	for (uint32_t i = 0; i < probes.counters_room; i++)
		if (probes.counters[i].object == o)
			probes.counters[i].raised = false;
	if (!sites_quiet())
		near_free(&o->near);
	o->ld = NULL;
	probes.changed = true;
}

bool probes_have_changed(uintptr_t bias)
{
	for (unsigned int i = 0; i < probes.nr_objects; i++)
		if (probes.objects[i].ld && probes.objects[i].bias == bias &&
		    places_any(&probes.objects[i]))
			return true;
	return false;
}

static bool object_is(const struct probe_object *o, const struct probe_file *f)
{
	if (!o->ld || !o->nr_texts || !object_is_there(o))
		return false;
	if (f->id_len)
		return o->image.id_len == f->id_len && o->image.end - o->image.start == f->size &&
		       f->id_len <= sizeof(f->id) && !memcmp(o->image.id, f->id, f->id_len);
	return f->inode && o->inode == f->inode && o->device == f->device;
}

/* ---- Counters ---- */

static bool is_writable(const struct probe_object *o, uint64_t at)
{
	const Elf64_Phdr *p = o->image.segments;

	for (unsigned int i = 0; i < o->image.nr_segments; i++)
		if (p[i].p_type == PT_LOAD && (p[i].p_flags & PF_W) && at >= p[i].p_vaddr &&
		    at + sizeof(uint16_t) <= p[i].p_vaddr + p[i].p_memsz)
			return true;
	return false;
}

/* The entry of a counter, or a free one. */
static struct counter *counter_of(struct counter *table, uint32_t room, const void *at)
{
	uint32_t i = (uint32_t)((uintptr_t)at * 0x9e3779b97f4a7c15ull >> 32) & (room - 1);

	while (table[i].at && table[i].at != at)
		i = (i + 1) & (room - 1);
	return &table[i];
}

static struct counter *counters_map(uint32_t room)
{
	const long at = agent_syscall(SYS_mmap, 0, room * sizeof(struct counter),
				      PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return is_error(at) ? NULL : (struct counter *)at;
}

/* Another table, of those that are raised: at most half of it is used. */
static bool counters_grow(void)
{
	uint32_t raised = 0, room = COUNTERS;
	struct counter *more;

	for (uint32_t i = 0; i < probes.counters_room; i++)
		raised += probes.counters[i].raised;
	while (room < 4 * raised)
		room *= 2;
	more = counters_map(room);
	if (!more)
		return false;
	for (uint32_t i = 0; i < probes.counters_room; i++)
		if (probes.counters[i].raised)
			*counter_of(more, room, probes.counters[i].at) = probes.counters[i];
	if (probes.counters)
		agent_syscall(SYS_munmap, probes.counters,
			      probes.counters_room * sizeof(*probes.counters));
	probes.counters = more;
	probes.counters_room = room;
	probes.nr_counters = raised;
	return true;
}

/* False: there is no memory. */
static bool counter_want(const struct probe_object *o, uint64_t at)
{
	_Atomic uint16_t *counter = (_Atomic uint16_t *)(o->bias + at);
	struct counter *c;

	if (!at || !is_writable(o, at))
		return true;
	if (2 * (probes.nr_counters + 1) > probes.counters_room && !counters_grow())
		return false;
	c = counter_of(probes.counters, probes.counters_room, counter);
	probes.nr_counters += !c->at;
	if (!c->raised)
		/* Relaxed: the program looks at it now or a moment later. */
		atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
	*c = (struct counter){ counter, o, true, true };
	return true;
}

/* After the places are as they were. */
static void counters_lower(void)
{
	for (uint32_t i = 0; i < probes.counters_room; i++) {
		struct counter *c = &probes.counters[i];

		if (!c->raised || c->wanted || !object_is_there(c->object))
			continue;
		c->raised = false;
		/* Relaxed: as above. */
		atomic_fetch_sub_explicit(c->at, 1, memory_order_relaxed);
	}
}

/* ---- Points ---- */

static void point_refuse(uint64_t at, uint32_t file, enum code_why why)
{
	const struct site_refused r = { .at = at, .file = file, .why = why };
	const uint32_t nr = probes.nr_refused;

	/* The server names all events of the place that are refused for it. */
	if (nr && nr <= PROBE_REFUSALS && !memcmp(&probes.refused[nr - 1], &r, sizeof(r)))
		return;
	if (nr < PROBE_REFUSALS)
		probes.refused[nr] = r;
	probes.nr_refused++;
}

static bool ref_is_in(config_ref ref, uint64_t size)
{
	return ref && ref < agent.plane.config_size && size <= agent.plane.config_size - ref;
}

static const struct fetch_code *code_of(config_ref ref)
{
	const struct fetch_code *code;

	if (!ref_is_in(ref, sizeof(*code)))
		return NULL;
	code = plane_config(&agent.plane, ref);
	return code->bytes >= sizeof(*code) && ref_is_in(ref, code->bytes) ? code : NULL;
}

static uint32_t room_of(const struct fetch_code *code)
{
	for (uint32_t i = 0; i < code->nr_ops; i++)
		if (code->ops[i].kind >= FETCH_TEXT && code->ops[i].kind <= FETCH_SYMBOL)
			return TF_RECORD_MAX;
	return code->size;
}

/* Whether the record is registers alone, one behind the other, behind the process's address. */
static bool is_quick(const struct probe_run *r)
{
	const struct fetch_code *code = r->code;
	uint32_t i = 0, end = 16;

	if (r->flags || code->flags || code->size > PROBE_SMALL || r->room > PROBE_SMALL)
		return false;
	for (; i < code->nr_ops && code->ops[i].kind == FETCH_STORE_REGISTER; i++) {
		const struct fetch_op *op = &code->ops[i];

		/* probe_try() has no address and no flags. */
		if (op->reg >= FETCH_RIP || op->off < end || op->off + 8u > PROBE_SMALL)
			return false;
		end = op->off + op->size;
	}
	return i < code->nr_ops && code->ops[i].kind == FETCH_END;
}

static bool wants_session(const struct fetch_code *code)
{
	bool wants = code->flags & FETCH_SESSION_PLACE;

	for (uint32_t i = 0; i < code->nr_ops; i++)
		wants |= code->ops[i].kind == FETCH_SESSION;
	return wants;
}

/* 0: it is not counted, or the rows are not in the region */
static data_ref hits_of(const struct probe_point *point)
{
	const uint64_t size = agent.plane.data_size,
		       rows = (plane_header(&agent.plane)->nr_cpus + 1ull) * PROBE_HITS_ROW;

	return point->hits % sizeof(uint64_t) || point->hits > size || size - point->hits < rows
		       ? 0
		       : point->hits;
}

static bool run_is(const struct probe_run *r, const struct probe_point *point,
		   const struct fetch_code *code)
{
	return r->event == point->event && r->flags == point->flags && r->hits == hits_of(point) &&
	       r->code->bytes == code->bytes && !memcmp(r->code, code, code->bytes);
}

/* The points from `first` on with the same place. -> their number */
static uint32_t points_together(const struct probe_file *f, uint32_t first)
{
	uint32_t nr = 1;

	while (first + nr < f->nr && f->points[first + nr].at == f->points[first].at)
		nr++;
	return nr;
}

/* Why a point is refused where others of its place may be hit: it is that of a return. */
static enum code_why point_refuses(const struct probe_point *point)
{
	const struct fetch_code *code;

	if (!(point->flags & PROBE_POINT_RETURN))
		return CODE_GOOD;
	if (graph_refused())
		return CODE_NO_RETURNS;
	code = code_of(point->code);
	return code && (code->flags & FETCH_WANTS_ENTRY) ? CODE_NO_ENTRY : CODE_GOOD;
}

/* The next point from `i` on that is not refused; `nr`: there is none. */
static uint32_t next_good(const struct probe_point *points, uint32_t nr, uint32_t i)
{
	while (i < nr && point_refuses(&points[i]))
		i++;
	return i;
}

static uint32_t count_good(const struct probe_point *points, uint32_t nr)
{
	uint32_t good = 0;

	for (uint32_t i = 0; (i = next_good(points, nr, i)) < nr; i++)
		good++;
	return good;
}

static bool runs_are(const struct probe_runs *runs, const struct probe_point *points, uint32_t nr)
{
	uint32_t n = 0;

	for (uint32_t i = 0; runs && (i = next_good(points, nr, i)) < nr; i++) {
		const struct fetch_code *code = code_of(points[i].code);

		if (n == runs->nr || !code || !run_is(&runs->runs[n++], &points[i], code))
			return false;
	}
	return runs && n == runs->nr;
}

static bool run_fill(struct probe_run *r, const struct probe_object *o,
		     const struct probe_point *point)
{
	const struct fetch_code *code = code_of(point->code);
	struct fetch_code *copy = code ? arena_take(code->bytes) : NULL;

	if (!copy)
		return false;
	memcpy(copy, code, code->bytes);
	*r = (struct probe_run){
		.event = point->event,
		.flags = point->flags,
		.ip = o->bias + point->at,
		.bias = o->bias,
		.room = room_of(copy),
		.asks = o->libc,
		.hits = hits_of(point),
		.session = wants_session(copy),
		.code = copy,
	};
	return point->event < LAYOUT_MAX_EVENTS;
}

void runs_free(const struct probe_runs *runs)
{
	if (!runs)
		return;
	for (uint32_t i = 0; i < runs->nr; i++)
		arena_give(runs->runs[i].code, runs->runs[i].code->bytes);
	arena_give(runs, sizeof(*runs) + runs->nr * sizeof(runs->runs[0]));
}

/* Hits that run the old ones go on with them: they stay. `good`: how many are not refused. */
static bool runs_set(struct probe_place *p, const struct probe_object *o,
		     const struct probe_point *points, uint32_t nr, uint32_t good)
{
	struct probe_runs *runs;
	uint32_t n = 0;

	/* Relaxed: written under the lock. */
	if (runs_are(atomic_load_explicit(&p->runs, memory_order_relaxed), points, nr))
		return true;
	runs = arena_take(sizeof(*runs) + good * sizeof(runs->runs[0]));
	if (!runs)
		return false;
	runs->returns = false;
	for (uint32_t i = 0; n < good && (i = next_good(points, nr, i)) < nr; i++) {
		if (!run_fill(&runs->runs[n++], o, &points[i]))
			return false;
		runs->returns |= points[i].flags & PROBE_POINT_RETURN;
	}
	runs->nr = n;
	runs->quick = good == 1 && is_quick(&runs->runs[0]);
	/* Pairs with the acquire in runs_of(). */
	atomic_store_explicit(&p->runs, runs, memory_order_release);
	return true;
}

/* ---- Places ---- */

static bool in_text(const struct probe_object *o, uintptr_t at, size_t size)
{
	for (unsigned int i = 0; i < o->nr_texts; i++)
		if (at >= o->texts[i].low && at + size <= o->texts[i].high)
			return true;
	return false;
}

/* Whether it is behind the first byte of a jump to moved code. */
static bool is_in_moved(const struct probe_object *o, uintptr_t at)
{
	for (uintptr_t i = 1; i < NEAR_JUMP; i++)
		if (in_text(o, at - i, NEAR_JUMP) && sites_are_moved_at(at - i))
			return true;
	return false;
}

/* T2. */
static enum code_why place_prepare(struct probe_place *p, struct probe_object *o,
				   const struct probe_plan *plan)
{
	const uint8_t *memory = p->jump.at;
	struct probe_plan one = { .from = plan->from, .address = plan->address, .len = NEAR_JUMP,
				  .nr = 1, .tactic = CODE_WHOLE };

	if (!in_text(o, (uintptr_t)memory, plan->len < NEAR_JUMP ? NEAR_JUMP : plan->len))
		return CODE_NOT_CODE;
	if (!memcmp(memory, plan->bytes, plan->len))
		return place_make(p, &o->near, plan, plan->bytes);
	if (sites_are_moved_at((uintptr_t)memory) && !plan->before)
		return place_make(p, &o->near, &one, memory);
	return is_in_moved(o, (uintptr_t)memory) ? CODE_OWNED : CODE_CHANGED;
}

static bool plan_is_good(const struct probe_plan *plan)
{
	if (plan->tactic < CODE_WHOLE || plan->tactic > CODE_BEFORE)
		return false;
	return plan->len >= NEAR_JUMP && plan->len <= sizeof(plan->bytes) && plan->nr &&
	       plan->nr <= CODE_MOVED_MAX && plan->before < plan->nr &&
	       plan->offsets[plan->before] < plan->len;
}

static bool needs_handler(const struct probe_place *p, bool alone)
{
	if (p->tactic == CODE_GUARDED)
		return true;
	return !alone && (p->jump.inner || text_way(&p->jump) == TEXT_TRAP);
}

static enum code_why place_want(struct probe_object *o, const struct probe_point *points,
				uint32_t nr)
{
	const struct probe_plan *plan = &points->plan;
	struct probe_place *p;
	enum code_why why;
	uint32_t good;

	if (o->ours)
		return CODE_OURS;
	if (!plan_is_good(plan))
		return plan->why ? (enum code_why)plan->why : CODE_TRAP_ONLY;
	good = count_good(points, nr);
	if (!good)
		return point_refuses(points);
	p = place_get(o->bias + plan->from);
	if (!p)
		return CODE_TOO_FAR;
	p->object = o;
	if (!p->code) {
		why = place_prepare(p, o, plan);
		if (why)
			return why;
	}
	if (!p->is_on && needs_handler(p, o->fresh) && !probes.leads)
		return CODE_BUSY;
	if (!runs_set(p, o, points, nr, good))
		return CODE_TOO_FAR;
	p->wanted = true;
	p->nr_points = good;
	return CODE_GOOD;
}

/* `why`: why its place is refused. */
static void point_want(const struct probe_object *o, const struct probe_file *f,
		       const struct probe_point *point, enum code_why why)
{
	if (!why)
		why = point_refuses(point);
	if (!why && !counter_want(o, point->counter))
		why = CODE_TOO_FAR;
	if (why)
		point_refuse(point->at, f->number, why);
}

static void file_want(struct probe_object *o, const struct probe_file *f)
{
	for (uint32_t i = 0, nr; i < f->nr; i += nr) {
		enum code_why why;

		nr = points_together(f, i);
		why = place_want(o, &f->points[i], nr);
		for (uint32_t k = i; k < i + nr; k++)
			point_want(o, f, &f->points[k], why);
	}
}

static const struct probe_file *file_at(config_ref ref)
{
	const struct probe_file *f;

	if (!ref_is_in(ref, sizeof(*f)))
		return NULL;
	f = plane_config(&agent.plane, ref);
	return f->nr <= POINTS_MOST && ref_is_in(ref, sizeof(*f) + f->nr * sizeof(f->points[0]))
		       ? f
		       : NULL;
}

static void table_want(const struct probe_table *table)
{
	for (uint32_t i = 0; i < table->nr; i++) {
		const struct probe_file *f = file_at(table->files[i]);

		for (unsigned int k = 0; f && k < probes.nr_objects; k++)
			if (object_is(&probes.objects[k], f))
				file_want(&probes.objects[k], f);
	}
}

static const struct probe_table *probe_table_at(config_ref ref)
{
	const struct probe_table *table;

	if (!ref_is_in(ref, sizeof(*table)))
		return NULL;
	table = plane_config(&agent.plane, ref);
	return ref_is_in(ref, sizeof(*table) + table->nr * sizeof(table->files[0])) ? table : NULL;
}

/* ---- Functions that begin where a probe is ---- */

/* NULL: the jump there is no probe's, or the probe is not at the function's first instruction. */
static struct probe_place *place_at_start(uintptr_t at)
{
	struct probe_place *p = place_find(at);
	/* Relaxed: written under the lock. */
	const struct probe_runs *runs =
		p ? atomic_load_explicit(&p->runs, memory_order_relaxed) : NULL;

	if (!runs || !p->is_on || !p->code || runs->runs[0].ip != at)
		return NULL;
	return needs_handler(p, false) && !guard_leads() ? NULL : p;
}

bool probes_can_carry(uintptr_t at)
{
	return place_at_start(at);
}

bool probes_carry(uintptr_t at, const uint8_t jump[NEAR_JUMP])
{
	struct probe_place *p = place_at_start(at);
	struct probe_object *o = p ? p->object : NULL;
	struct text_jump now, step;

	if (!p || !object_is_there(o) || !place_make_carrying(p, &o->near, jump, &now) ||
	    near_seal(&o->near))
		return false;
	step = now;
	memcpy(step.off, p->jump.on, NEAR_JUMP);
	if (text_switch(&step, 1, true, false, o->texts, o->nr_texts))
		return false;
	p->jump = now;
	return true;
}

/* ---- Obeying ---- */

/* Each start calls it: order.ld puts it with the rest of a start. */
__attribute__((section(".text.begin"))) bool probes_may_come(void)
{
	/* Relaxed: a program that begins just now may miss it. */
	return agent.has_probes ||
	       atomic_load_explicit(&plane_header(&agent.plane)->probes, memory_order_relaxed);
}

static void object_switch(struct probe_object *o, bool on)
{
	int err = near_seal(&o->near);

	if (!err)
		err = places_switch(o, on, o->fresh, o->texts, o->nr_texts);
	probes.nr_sealed += on && err;
}

static void all_switch(void)
{
	for (unsigned int on = 0; on < 2; on++)
		for (unsigned int i = 0; i < probes.nr_objects; i++)
			if (probes.objects[i].ld && probes.objects[i].nr_texts &&
			    object_is_there(&probes.objects[i]))
				object_switch(&probes.objects[i], on);
}

static void table_obey(const struct probe_table *table)
{
	probes.nr_refused = probes.nr_sealed = 0;
	probes.leads = guard_leads();
	places_unwant();
	for (uint32_t i = 0; i < probes.counters_room; i++)
		probes.counters[i].wanted = false;
	if (table)
		table_want(table);
	all_switch();
	counters_lower();
	probes.nr_planted = places_points();
	for (unsigned int i = 0; i < probes.nr_objects; i++)
		probes.objects[i].fresh = false;
}

__attribute__((cold)) void probes_obey(void)
{
	/* Acquire: the table is there. Pairs with the release of the server. */
	const config_ref ref = atomic_load_explicit(&sites_control()->probes, memory_order_acquire);

	/* One that was being loaded is looked at once more: it is known by now. */
	if (!ref && !probes.table && !probes.nr_unseen)
		return;
	sites_ask_memory();
	if (!sites.may_patch)
		return;
	objects_map();
	probes.nr_unseen = 0;
	watch_objects(object_see);
	if (!probes.objects)
		return;
	if (ref == probes.table && !probes.changed)
		return;
	table_obey(probe_table_at(ref));
	probes.table = ref;
	/* T5. Relaxed: written under the lock. */
	probes.changed = atomic_load_explicit(&sites.moving, memory_order_relaxed);
}

void probes_answer(struct site_answer *a)
{
	a->plants = 1;
	a->nr_probes = probes.nr_planted;
	a->nr_probes_refused = probes.nr_refused;
	a->nr_unseen = probes.nr_unseen + probes.nr_sealed + watch_unseen();
	memcpy(a->probe_refused, probes.refused, sizeof(a->probe_refused));
}

void probes_look_again(void)
{
	places_look(object_is_there);
}
