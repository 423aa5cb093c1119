/* SPDX-License-Identifier: MIT */
/*
 * probes.c - tells running programs which probes to plant: those whose events are armed
 *
 *     kprobe: function -> address of the session -> DSO -> its file (scan/path.c)  -> p_vaddr
 *     uprobe: path, offset -> the file of the path (scan/path.c)  -> p_vaddr
 *     note of USDT (usdt.c, scan/notes.c)               -> file, p_vaddr
 *          -> its file's code is read, once     (scan/code.c)
 *          -> point with its plan (probed.c) and its code (fetch_compile.c)
 *          -> its block -> table -> site_control.probes   (points.c)
 *
 * A point stays as long as its event is armed: a command costs what it changes, not what there is.
 * When files of programs came or went, points are made again, because these are what places are
 * found in. Those of uprobes stay: to find the file of a path takes its time, and the probe would
 * not be planted meanwhile.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/dynamic/fetch_compile.h"
#include "model/errlog.h"
#include "session/array.h"
#include "sources/program/points.h"
#include "sources/program/probes.h"
#include "sources/program/scan/code.h"
#include "sources/program/scan/path.h"
#include "sources/program/scan/scan.h"
#include "sources/program/sites.h"
#include "sources/program/usdt.h"

enum {
	FILES_IDLE	= 16,
	READINGS	= 4,		/* files whose code is read at the same time */
	LINE		= 64,		/* of the processor's cache */
};

/* Commands number what they define from 1 on. */
#define NOTES_FIRST ((uint64_t)1 << 63)

struct program_probes {
	struct list_head files;
	struct list_head paths;		/* struct probed_path: points wait for their files */
	struct list_head awaited;	/* struct awaited, of files and of paths */
	struct usdt	*usdt;
	struct probed_file *dsos[LAYOUT_MAX_DSOS];
	struct list_head points;	/* struct wanted_point */
	struct wanted_point **fresh;	/* those that were not planned yet; NULL: it is gone */
	size_t		nr_fresh;
	struct point_table table;
	bool		failed;		/* without memory: points are made again */
	bool		unseen;		/* program_probes_fresh() */
};

static void no_memory(struct programs *p)
{
	p->sites->err = -ENOMEM;
	p->probes->failed = true;
}

/* ---- what cannot be probed ---- */

static const char *subsystem_of(const struct wanted_point *w)
{
	if (w->note)
		return "usdt";
	return w->place->probe.dyn.kind == &kprobe_kind ? "trace_kprobe" : "trace_uprobe";
}

/* The probe as a command, or as `tracefuse list` has it. The caller frees. */
static char *point_line(const struct wanted_point *w)
{
	char *line;

	if (w->place)
		return place_line(w->place);
	if (asprintf(&line, "usdt:%s:%s %s:0x%" PRIx64, w->event->system->name, w->event->name,
		     w->file->path, w->at) < 0)
		return NULL;
	return line;
}

/* Once while the event is armed. */
static void point_complain(struct programs *p, const struct wanted_point *w, const char *text)
{
	bool *said = w->note ? &w->note->refused : &w->place->refused;
	char *line;

	if (*said)
		return;
	*said = true;
	line = point_line(w);
	if (line)
		errlog_add(p->model->top->errlog, subsystem_of(w), line, text, 0);
	free(line);
}

static void probes_refuse(struct programs *p, struct wanted_point *w, const char *why)
{
	char text[160];

	w->why = why;
	snprintf(text, sizeof(text), "This place cannot be probed: %s", why);
	point_complain(p, w, text);
}

/* ---- the file of a place ---- */

static bool in_file(void *arg, uint64_t offset, uint64_t *at)
{
	return probed_at_offset(arg, offset, false, at);
}

/* The same path, which led to the same file when they were defined. */
static bool is_same_file(const struct probe_place *x, const struct probe_place *y)
{
	return x->file.device == y->file.device && x->file.inode == y->file.inode &&
	       !elf_status_changed(&x->file, &y->file) && !strcmp(x->path, y->path);
}

/*
 * Most probes are in the same file as the one before: then it is not looked for again. NULL: it may
 * be another one.
 */
static struct probed_file *file_of_last(const struct program_probes *pr,
					const struct probe_place *place)
{
	const struct wanted_point *last;

	if (list_empty(&pr->points))
		return NULL;
	last = list_entry(pr->points.prev, struct wanted_point, node);
	if (!last->place || !last->place->path || !last->file ||
	    !is_same_file(last->place, place))
		return NULL;
	last->file->needed = true;
	return last->file;
}

static struct probed_path *awaited_path(struct program_probes *pr, const struct probe_place *place)
{
	struct probed_path *path;

	list_each(path, &pr->paths, node)
		if (path->path && path->awaited.inode == place->file.inode &&
		    !strcmp(path->path, place->path))
			return path;
	path = probed_path_create(&pr->files, place->path, place->file.inode);
	if (path)
		list_add_tail(&path->node, &pr->paths);
	return path;
}

/* Where it is in its file. */
static const char *find_in_file(struct wanted_point *w)
{
	const struct probe_place *place = w->place;

	if (!probed_at_offset(w->file, place->offset, true, &w->at))
		return code_why_text(CODE_NOT_CODE);
	if (place->counter && !probed_at_offset(w->file, place->counter, false, &w->counter))
		return "its reference counter is not in the file";
	return NULL;
}

static const char *find_in_path(struct program_probes *pr, struct wanted_point *w)
{
	w->file = file_of_last(pr, w->place);
	if (w->file)
		return find_in_file(w);
	w->path = awaited_path(pr, w->place);
	return w->path ? NULL : reading_why(-ENOMEM);
}

static uint32_t dso_number(uint64_t address)
{
	return (uint32_t)((address - LAYOUT_DSO_BASE) >> LAYOUT_DSO_SHIFT);
}

static struct probed_path *awaited_dso(struct programs *p, const struct program_dso *d)
{
	struct program_probes *pr = p->probes;
	struct probed_path *path;

	list_each(path, &pr->paths, node)
		if (!path->path && path->dso.nr == d->nr)
			return path;
	path = probed_path_of_dso(p, &pr->files, d);
	if (path)
		list_add_tail(&path->node, &pr->paths);
	return path;
}

static const char *find_in_dso(struct programs *p, struct wanted_point *w)
{
	struct program_probes *pr = p->probes;
	const uint64_t address = w->place->address;
	struct program_dso d;
	uint32_t nr;

	if (address < LAYOUT_DSO_BASE || dso_number(address) >= LAYOUT_MAX_DSOS)
		return "no program has this address";
	nr = dso_number(address);
	if (!program_dso_copy(p, nr, &d))
		return "no program has this address";
	w->at = address - program_dso_base(&d) + d.load;
	w->file = pr->dsos[nr];
	if (!w->file) {
		w->path = awaited_dso(p, &d);
		return w->path ? NULL : reading_why(-ENOMEM);
	}
	/* So that a path that leads to it does not close it. */
	w->file->needed = true;
	return NULL;
}

static bool in_session(void *arg, uint64_t address, uint64_t *at)
{
	const struct wanted_point *w = arg;
	const uint64_t place = w->place->address;

	*at = address - place + w->at;
	return dso_number(address) == dso_number(place);
}

static bool in_file_of(void *arg, uint64_t offset, uint64_t *at)
{
	const struct wanted_point *w = arg;

	return in_file(w->file, offset, at);
}

/* ---- collecting ---- */

static void compile_point(struct programs *p, struct wanted_point *w)
{
	const struct fetch_file file = { .of_offset = in_file_of, .of_session = in_session,
					 .arg = w };
	unsigned int arg;
	const char *why;
	int err = 0;

	if (w->note) {
		w->code = usdt_code(w->note);
	} else {
		err = fetch_compile(w->place, &file, &w->code, &arg, &why);
		w->hits = session_hits_at(p->model->session, w->event->id);
	}
	if (!err && (!w->code || (!w->note && !w->hits)))
		err = -ENOMEM;
	if (!err)
		err = point_put(w);
	if (err == -EOPNOTSUPP)
		probes_refuse(p, w, why);
	else if (err)
		no_memory(p);
}

/* False: the place waits for a file that no program has yet. */
static bool find_point(struct programs *p, struct wanted_point *w)
{
	struct probe_place *place = w->place;
	const char *why;

	if (place->probe.dyn.kind == &kprobe_kind) {
		if (!place->address && !kprobe_resolve(place))
			return false;
		why = find_in_dso(p, w);
	} else {
		why = find_in_path(p->probes, w);
	}
	if (why) {
		w->file = NULL;
		probes_refuse(p, w, why);
	}
	return true;
}

static void point_remove(struct program_probes *pr, struct wanted_point *w)
{
	if (w->fresh)
		pr->fresh[w->fresh - 1] = NULL;
	point_take(w);
	if (w->planned)
		probed_leave(w->file, w->planned);
	if (w->file)
		w->file->nr_points--;
	list_del(&w->node);
	free(w->code);
	free(w);
}

/* Their places may be gone: nobody else's pointer to a point is used again. */
static void points_remove(struct program_probes *pr)
{
	struct wanted_point *w, *next;

	list_each_safe(w, next, &pr->points, node) {
		if (!w->stays)
			point_remove(pr, w);
		else
			w->stays = false;
	}
}

/* False: no memory. */
static bool point_is_fresh(struct programs *p, struct wanted_point *w)
{
	struct program_probes *pr = p->probes;

	if (array_room(&pr->fresh, pr->nr_fresh, sizeof(w))) {
		no_memory(p);
		return false;
	}
	pr->fresh[pr->nr_fresh++] = w;
	w->fresh = pr->nr_fresh;
	return true;
}

/* NULL: no memory. */
static struct wanted_point *point_add(struct programs *p, const struct wanted_point *like)
{
	struct program_probes *pr = p->probes;
	struct wanted_point *w = malloc(sizeof(*w));

	if (!w) {
		no_memory(p);
		return NULL;
	}
	*w = *like;
	if (!point_is_fresh(p, w)) {
		free(w);
		return NULL;
	}
	list_init(&w->in_block);
	list_add_tail(&w->node, &pr->points);
	if (w->file)
		w->file->nr_points++;
	return w;
}

static void look_at_place(void *arg, struct probe_place *place)
{
	const struct event *e = place->probe.dyn.event;
	struct wanted_point like = { .event = e, .place = place, .order = place->order,
				     .is_return = place->is_return };
	struct programs *p = arg;

	if (!e->plan || place->recorded) {
		if (place->point)
			point_remove(p->probes, place->point);
		place->point = NULL;
		place->refused = false;
	} else if (!place->point && find_point(p, &like)) {
		place->point = point_add(p, &like);
	}
}

/* Notes come after what commands define. */
static void look_at_note(struct programs *p, struct usdt_note *n)
{
	const struct wanted_point like = {
		.event = n->of->event, .note = n, .order = NOTES_FIRST + n->order,
		.file = n->file, .at = n->note.address, .counter = n->note.semaphore };

	if (!like.event->plan) {
		if (n->point)
			point_remove(p->probes, n->point);
		n->point = NULL;
		n->refused = false;
	} else if (!n->point) {
		/* A program may open the library of this note later: its start must be ready. */
		session_probes_defined(p->model->session);
		n->point = point_add(p, &like);
	}
}

static void look_at_notes(struct programs *p, const struct event *e)
{
	struct usdt_event *ue;
	struct usdt_note *n;

	list_each(ue, usdt_events(p->probes->usdt), node)
		if (!e || ue->event == e)
			list_each(n, &ue->notes, node)
				look_at_note(p, n);
}

/* It was refused, or there was no memory: now it may be planned. */
static bool point_again(struct programs *p, struct wanted_point *w)
{
	if (!point_is_fresh(p, w))
		return false;
	if (w->planned)
		probed_leave(w->file, w->planned);
	w->planned = NULL;
	free(w->code);
	w->code = NULL;
	w->why = NULL;
	return true;
}

/* Whether the point of a uprobe can be used on. One that has no file yet looks for it again. */
static bool point_stays(struct programs *p, struct wanted_point *w)
{
	if (w->path || w->fresh || !list_empty(&w->in_block))
		return true;
	return w->file && point_again(p, w);
}

static void forget_point(struct programs *p, struct probe_place *place)
{
	struct wanted_point *w = place->point;

	if (w && place->probe.dyn.kind == &uprobe_kind && point_stays(p, w))
		w->stays = true;
	else
		place->point = NULL;
}

static void forget_points(struct programs *p)
{
	struct dynamic_event *d;
	struct usdt_event *ue;
	struct usdt_note *n;

	list_each(d, &p->model->dynamic_events, node)
		if (d->kind == &kprobe_kind || d->kind == &uprobe_kind)
			forget_point(p, place_of(d));
	points_remove(p->probes);
	list_each(ue, usdt_events(p->probes->usdt), node)
		list_each(n, &ue->notes, node)
			n->point = NULL;
}

/* As in model/event/set.c: what the walk reads of the next one, and the one behind it. */
__attribute__((always_inline))
static inline void fetch_ahead(const struct dynamic_event *d, const struct list_head *all)
{
	const struct dynamic_event *next = list_entry(d->node.next, struct dynamic_event, node);
	const char *behind;

	if (&next->node == all)
		return;
	__builtin_prefetch(&next->event->plan);
	if (next->kind == &uprobe_kind)
		__builtin_prefetch(place_of(next)->path);
	behind = (const char *)next->node.next - offsetof(struct probe_place, probe.dyn.node);
	for (size_t i = 0; i < sizeof(struct probe_place); i += LINE)
		__builtin_prefetch(behind + i);
}

static void look_at_all(struct programs *p)
{
	const struct list_head *all = &p->model->dynamic_events;
	struct dynamic_event *d;

	list_each(d, all, node) {
		fetch_ahead(d, all);
		if (d->kind == &kprobe_kind || d->kind == &uprobe_kind)
			look_at_place(p, place_of(d));
	}
	look_at_notes(p, NULL);
}

static void look_at_event(struct programs *p, struct event *e)
{
	if (place_of_event(e))
		place_each(e, look_at_place, p);
	else
		look_at_notes(p, e);
}

static void probes_collect(struct programs *p)
{
	struct model *m = p->model;

	if (m->probes_stale || p->probes->failed) {
		p->probes->failed = false;
		forget_points(p);
		look_at_all(p);
	} else if (m->events_stale) {
		look_at_all(p);
	} else {
		for (unsigned int i = 0; i < m->nr_stale_events; i++)
			if (m->by_id[m->stale_events[i]])
				look_at_event(p, m->by_id[m->stale_events[i]]);
	}
	m->probes_stale = false;
	m->events_stale = false;
	m->nr_stale_events = 0;
}

static int compare_fresh(const void *a, const void *b)
{
	const struct wanted_point *const *x = a, *const *y = b;

	return (*x)->order < (*y)->order ? -1 : (*x)->order > (*y)->order;
}

/* ---- reading their files ---- */

static unsigned int readings(const struct program_probes *pr)
{
	const struct awaited *a;
	unsigned int nr = 0;

	list_each(a, &pr->awaited, node)
		nr += a->reading.printer != NULL;
	return nr;
}

/* A point waits for it. Returns whether it can be begun now. */
static bool await(struct program_probes *pr, struct awaited *a)
{
	if (list_empty(&a->node))
		list_add_tail(&a->node, &pr->awaited);
	a->wanted = true;
	return !a->reading.printer && readings(pr) < READINGS;
}

/* Returns whether it has ended. */
static bool awaited_end(struct awaited *a, int err)
{
	if (err < 0 && err != -EAGAIN)
		a->why = reading_why(err);
	return err <= 0;
}

/* There could be no printer, so this thread has read it: nothing is awaited any more. */
static void awaited_here(struct awaited *a, int err)
{
	awaited_end(a, err);
	a->wanted = false;
}

/* Begins to read its code, unless too many files are being read. */
static void read_file(struct programs *p, struct probed_file *f)
{
	struct awaited *a = &f->code_awaited;

	if (await(p->probes, a) && probed_code_start(p, scans_printers(p->sites->scans), f))
		awaited_here(a, probed_code_here(p, f));
}

static void read_path(struct programs *p, struct probed_path *path)
{
	struct awaited *a = &path->awaited;

	if (await(p->probes, a) && probed_path_start(scans_printers(p->sites->scans), path))
		awaited_here(a, probed_path_here(path));
}

/* Whether a file is read now, or cannot be. */
static bool readings_take(struct program_probes *pr)
{
	struct probed_path *path;
	struct probed_file *f;
	bool ended = false;

	list_each(f, &pr->files, node)
		if (f->code_awaited.reading.printer)
			ended |= awaited_end(&f->code_awaited, probed_code_take(f));
	list_each(path, &pr->paths, node)
		if (path->awaited.reading.printer)
			ended |= awaited_end(&path->awaited, probed_path_take(path));
	return ended;
}

static struct awaited *awaited_of(const struct wanted_point *w)
{
	return w->path ? &w->path->awaited : &w->file->code_awaited;
}

static uint64_t waiters(const struct program_probes *pr)
{
	const struct awaited *a;
	uint64_t used = 0;

	list_each(a, &pr->awaited, node)
		used |= a->waiters;
	return used;
}

/* A bit that no command has. If all have one, it waits for what another one waits for, too. */
static uint64_t waiter_new(const struct program_probes *pr)
{
	const uint64_t used = waiters(pr);

	return ~used ? ~used & -~used : 1;
}

uint64_t program_probes_asked(struct programs *p)
{
	const struct program_probes *pr = p->probes;
	uint64_t waiter = 0;

	/* Events are being freed. */
	if (p->model->closing)
		return 0;
	for (size_t i = 0; i < pr->nr_fresh; i++) {
		const struct wanted_point *w = pr->fresh[i];

		if (!w || !model_event_is_asked(w->event))
			continue;
		waiter = waiter ? waiter : waiter_new(pr);
		awaited_of(w)->waiters |= waiter;
	}
	return waiter;
}

bool program_probes_pending(const struct programs *p, uint64_t waiter)
{
	return waiters(p->probes) & waiter;
}

bool program_probes_reading(const struct programs *p)
{
	return !list_empty(&p->probes->awaited);
}

/* ---- planning ---- */

/*
 * Before a place is planned, the bytes of places that are no longer probed become free. If there is
 * none to plan, these keep theirs: to arm them again costs little.
 */
static void forget_places(struct program_probes *pr)
{
	struct probed_file *f;
	bool all = true;

	for (size_t i = 0; i < pr->nr_fresh; i++) {
		struct wanted_point *w = pr->fresh[i];

		if (!w->file || !w->file->read)
			continue;
		w->planned = probed_keep(w->file, w->at);
		/* What has kept its bytes from it may be gone. */
		if (w->planned && w->planned->plan.why != CODE_GOOD) {
			probed_leave(w->file, w->planned);
			w->planned = NULL;
		}
		all &= w->planned != NULL;
	}
	list_each(f, &pr->files, node)
		if (!all)
			probed_forget(f);
}

static void plan_point(struct programs *p, struct wanted_point *w)
{
	if (!w->planned)
		w->planned = probed_keep(w->file, w->at);
	if (!w->planned)
		w->planned = probed_plan(w->file, w->at);
	if (!w->planned) {
		no_memory(p);
		return;
	}
	probed_plan_of(w->file, w->planned, w->is_return, &w->plan);
	if (w->plan.why != CODE_GOOD)
		probes_refuse(p, w, code_why_text((enum code_why)w->plan.why));
	else if (w->is_return && w->plan.returns != CODE_RETURN_GOOD)
		probes_refuse(p, w, code_return_text((enum code_return)w->plan.returns));
	else
		compile_point(p, w);
}

/* The kernel's probe stays with the file that was there; its offset says nothing of another one. */
static const char *find_in_path_read(struct wanted_point *w, const struct elf_status *now)
{
	struct probe_place *place = w->place;

	/* A restored probe does not know its file. */
	if (!place->file.inode)
		place->file = *now;
	if (elf_status_changed(&place->file, now))
		return "its file has changed since the probe was defined";
	return find_in_file(w);
}

/* The file that its path names was found, or cannot be. */
static void leave_path(struct programs *p, struct wanted_point *w)
{
	const struct probed_path *path = w->path;
	const char *why = path->awaited.why;

	w->path = NULL;
	w->file = path->found;
	if (!path->path)
		p->probes->dsos[path->dso.nr] = path->found;
	else if (!why)
		why = find_in_path_read(w, &path->status);
	if (why) {
		w->file = NULL;
		probes_refuse(p, w, why);
		return;
	}
	w->file->nr_points++;
	if (!w->file->read)
		w->file->code_awaited.waiters |= path->awaited.waiters;
}

static void find_files(struct programs *p)
{
	const struct program_probes *pr = p->probes;

	for (size_t i = 0; i < pr->nr_fresh; i++) {
		struct wanted_point *w = pr->fresh[i];

		if (!w || !w->path)
			continue;
		if (!w->path->found && !w->path->awaited.why)
			read_path(p, w->path);
		if (w->path->found || w->path->awaited.why)
			leave_path(p, w);
	}
}

/*
 * Those that are gone, or whose file was not found, are not planned. In the order of definition,
 * which they mostly have.
 */
static void sort_points(struct program_probes *pr)
{
	bool sorted = true;
	size_t nr = 0;

	for (size_t i = 0; i < pr->nr_fresh; i++) {
		struct wanted_point *w = pr->fresh[i];

		if (w && (w->file || w->path)) {
			sorted &= !nr || pr->fresh[nr - 1]->order < w->order;
			pr->fresh[nr++] = w;
		} else if (w) {
			w->fresh = 0;
		}
	}
	pr->nr_fresh = nr;
	if (!sorted)
		qsort(pr->fresh, nr, sizeof(struct wanted_point *), compare_fresh);
}

/* False: the point waits until its file is read. */
static bool look_at_point(struct programs *p, struct wanted_point *w)
{
	const struct awaited *a;

	if (w->path)
		return false;
	a = &w->file->code_awaited;
	if (!w->file->read && !a->why)
		read_file(p, w->file);
	if (w->file->read)
		plan_point(p, w);
	else if (a->why)
		probes_refuse(p, w, a->why);
	return w->file->read || a->why;
}

static void plan_fresh(struct programs *p)
{
	struct program_probes *pr = p->probes;
	size_t nr = 0;

	find_files(p);
	sort_points(pr);
	forget_places(pr);
	for (size_t i = 0; i < pr->nr_fresh; i++) {
		struct wanted_point *w = pr->fresh[i];

		w->fresh = look_at_point(p, w) ? 0 : nr + 1;
		if (w->fresh)
			pr->fresh[nr++] = w;
	}
	pr->nr_fresh = nr;
	if (nr)
		return;
	free(pr->fresh);
	pr->fresh = NULL;
}

static void awaited_settle(struct awaited *a)
{
	a->why = NULL;
	if (!a->wanted && !a->reading.printer) {
		list_del(&a->node);
		a->waiters = 0;
	}
	a->wanted = false;
}

/*
 * A file that could not be read is tried again for the next probe. One whose turn has not come is
 * forgotten, if its points are gone.
 */
static void readings_settle(struct program_probes *pr)
{
	struct probed_path *path, *next_path;
	struct awaited *a, *next;

	list_each_safe(a, next, &pr->awaited, node)
		awaited_settle(a);
	list_each_safe(path, next_path, &pr->paths, node)
		if (list_empty(&path->awaited.node))
			probed_path_destroy(path);
}

static void plan_points(struct programs *p)
{
	if (p->probes->nr_fresh)
		plan_fresh(p);
	readings_settle(p->probes);
}

/* ---- telling ---- */

/* No point is in it: numbers of DSOs no longer lead to it. */
static void file_unlink(struct program_probes *pr, const struct probed_file *f)
{
	for (uint32_t i = 0; i < LAYOUT_MAX_DSOS; i++)
		if (pr->dsos[i] == f)
			pr->dsos[i] = NULL;
}

/* Whether it stays open, with its plans: while probes are defined, a few do. */
static bool file_idles(struct programs *p, const struct probed_file *f, unsigned int *idle)
{
	file_unlink(p->probes, f);
	return p->model->places.nr && ++*idle <= FILES_IDLE;
}

static bool update_files(struct programs *p)
{
	struct program_probes *pr = p->probes;
	struct probed_file *f, *next;
	unsigned int idle = 0;
	bool changed = false;
	int err = 0;

	list_each_safe(f, next, &pr->files, node) {
		f->needed = f->nr_points;
		changed |= points_update(&pr->table, &pr->files, f, &err);
		if (!f->needed && !f->has_notes && !file_idles(p, f, &idle))
			probed_close(f);
	}
	if (err)
		no_memory(p);
	return changed;
}

static void publish_table(struct programs *p)
{
	if (points_publish(&p->probes->table, &p->probes->files))
		no_memory(p);
}

bool program_probes_update(struct programs *p)
{
	struct model *m = p->model;

	if (m->closing || m->held ||
	    (!readings_take(p->probes) && !m->probes_stale && !m->nr_stale_events))
		return false;
	probes_collect(p);
	plan_points(p);
	if (!update_files(p))
		return false;
	publish_table(p);
	p->probes->unseen = true;
	return true;
}

void program_probes_settled(struct programs *p)
{
	points_settled(&p->probes->table);
}

/* ---- answers ---- */

struct answering {
	struct programs	*programs;
	FILE		*out;		/* for doctor; NULL: for error_log */
	bool		ended;		/* the process has ended: for ended.c */
};

static void refusal_note(const struct answering *g, pid_t pid, const struct wanted_point *w,
			 const char *why)
{
	char *text;

	if (asprintf(&text, "%s:%s was not planted: %s", w->event->system->name, w->event->name,
		     why) < 0)
		return;
	program_ended_note(g->programs, ENDED_PROBES, pid, text);
	free(text);
}

static const struct probed_file *file_of_number(const struct program_probes *pr, uint32_t number)
{
	const struct probed_file *f;

	list_each(f, &pr->files, node)
		if (f->number == number)
			return f;
	return NULL;
}

/* The place's other probes are hit. */
static bool is_of_returns(enum code_why why)
{
	return why == CODE_NO_RETURNS || why == CODE_NO_ENTRY;
}

static void take_refusal(const struct answering *g, pid_t pid, const struct site_refused *r)
{
	const struct probed_file *f = file_of_number(g->programs->probes, r->file + 1);
	const struct wanted_point *w = f ? point_first(f, r->at) : NULL;
	const char *why = code_why_text((enum code_why)r->why);
	char text[160];

	for (; w && w->at == r->at; w = point_next(f, w)) {
		if (!w->is_return && is_of_returns((enum code_why)r->why))
			continue;
		snprintf(text, sizeof(text), "Process %d cannot be probed here: %s", (int)pid, why);
		if (g->ended)
			refusal_note(g, pid, w, why);
		else if (g->out)
			fprintf(g->out, "probe-refused %s:%s in process %d: %s\n",
				w->event->system->name, w->event->name, (int)pid, why);
		else
			point_complain(g->programs, w, text);
	}
}

static void take_answer(void *arg, const struct attach_answer *a)
{
	for (uint32_t i = 0; i < a->nr_probes_refused && i < PROBE_REFUSALS; i++)
		if (a->probe_refused[i].why && a->probe_refused[i].why < CODE_NR_WHYS)
			take_refusal(arg, a->peer.pid, &a->probe_refused[i]);
}

/* Nobody knows whether a probe's file is among these objects. */
static void unseen_note(struct programs *p, const struct attach_answer *a)
{
	char *text;

	if (!a->nr_unseen || !program_probes_any(p) ||
	    asprintf(&text, "%" PRIu32 " of its programs and libraries could have no probes",
		     a->nr_unseen) < 0)
		return;
	program_ended_note(p, ENDED_PROBES, a->peer.pid, text);
	free(text);
}

void program_probes_ended(struct programs *p, const struct attach_answer *a)
{
	struct answering g = { .programs = p, .ended = true };

	take_answer(&g, a);
	unseen_note(p, a);
	/* What it had mapped is not known any more. */
	if (a->plants_never && program_probes_any(p))
		program_ended_note(p, ENDED_PROBES, a->peer.pid,
				   "could have no probes: its code may not be changed");
	if (a->nr_probes_refused > PROBE_REFUSALS)
		program_ended_note(p, ENDED_PROBES, a->peer.pid,
				   "more probes than these were not planted");
}

void program_probes_answered(struct programs *p)
{
	struct answering g = { .programs = p };

	if (!list_empty(&p->probes->points))
		attach_answers(p->model->session, take_answer, &g);
}

static void probes_print_answer(void *arg, const struct attach_answer *a)
{
	if (a->nr_probes || a->nr_probes_refused)
		fprintf(arg, "probes %d planted %" PRIu32 " refused %" PRIu32 "%s\n",
			(int)a->peer.pid, a->nr_probes, a->nr_probes_refused,
			a->slow ? " late" : "");
}

static void probes_print_unseen(void *arg, const struct attach_answer *a)
{
	if (a->nr_unseen)
		fprintf(arg, "probes-unseen %d %" PRIu32 "\n", (int)a->peer.pid, a->nr_unseen);
}

/* ---- processes that have no task that could plant (agent/sites/task.c) ---- */

struct planting {
	struct programs	*programs;
	FILE		*out;
	pid_t		pid;
	bool		plants, never;
	bool		any;		/* a process could plant, and does not yet */
};

static void look_whether_plants(void *arg, const struct attach_answer *a)
{
	struct planting *g = arg;

	g->plants |= a->peer.pid == g->pid && a->plants;
	g->never |= a->peer.pid == g->pid && a->plants_never;
}

static bool inode_has_points(const struct program_probes *pr, uint64_t inode)
{
	const struct probed_file *f;

	list_each(f, &pr->files, node)
		if (f->nr_blocks && f->is.status.inode == inode)
			return true;
	return false;
}

static bool inode_is_awaited(const struct program_probes *pr, uint64_t inode)
{
	const struct awaited *a;

	list_each(a, &pr->awaited, node)
		if (a->inode == inode)
			return true;
	return false;
}

/* Whether a line of /proc/PID/maps is of such a file. */
static bool is_line_of(const struct program_probes *pr, const char *line,
		       bool (*is)(const struct program_probes *pr, uint64_t inode))
{
	unsigned long inode;

	return sscanf(line, "%*s %*s %*s %*s %lu", &inode) == 1 && inode && is(pr, inode);
}

/* Whether a process has mapped such a file. */
static bool has_mapped(const struct program_probes *pr, pid_t pid,
		       bool (*is)(const struct program_probes *pr, uint64_t inode))
{
	char path[64], line[512];
	bool has = false;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	in = fopen(path, "re");
	while (in && !has && fgets(line, sizeof(line), in))
		has = is_line_of(pr, line, is);
	if (in)
		fclose(in);
	return has;
}

static bool has_points(const struct program_probes *pr, pid_t pid)
{
	return has_mapped(pr, pid, inode_has_points);
}

bool program_probes_unread(const struct programs *p, pid_t pid)
{
	return program_probes_reading(p) && has_mapped(p->probes, pid, inode_is_awaited);
}

bool program_probes_want(const struct programs *p, pid_t pid)
{
	return program_probes_any(p) && has_points(p->probes, pid);
}

static void find_whether_plants(struct planting *g, pid_t pid)
{
	g->pid = pid;
	g->plants = g->never = false;
	attach_answers(g->programs->model->session, look_whether_plants, g);
}

static void print_unplanted(void *arg, pid_t pid, unsigned int slots)
{
	struct planting *g = arg;

	find_whether_plants(g, pid);
	if (!g->plants && has_points(g->programs->probes, pid))
		fprintf(g->out, "probes-none %d%s\n", (int)pid, g->never ? " never" : "");
}

static void find_unplanted(void *arg, pid_t pid, unsigned int slots)
{
	struct planting *g = arg;

	if (g->any)
		return;
	find_whether_plants(g, pid);
	g->any = !g->plants && !g->never && has_points(g->programs->probes, pid);
}

bool program_probes_wait(struct programs *p)
{
	struct planting g = { .programs = p };

	if (program_probes_any(p))
		attach_processes(p->model->session, find_unplanted, &g);
	return g.any;
}

bool program_probes_any(const struct programs *p)
{
	return !list_empty(&p->probes->points);
}

bool program_probes_fresh(struct programs *p)
{
	const bool fresh = p->probes->unseen;

	p->probes->unseen = false;
	return fresh;
}

/* A note may be one of many of its event, and the others are hit. */
static void print_refused(const struct wanted_point *w, FILE *out)
{
	const struct usdt_note *n;
	unsigned int nr = 0;

	fprintf(out, "probe-refused %s:%s %s", w->event->system->name, w->event->name, w->why);
	if (w->note)
		list_each(n, &w->note->of->notes, node)
			nr++;
	if (nr > 1)
		fprintf(out, " (at one of its %u places)", nr);
	fputc('\n', out);
}

void program_probes_print(struct programs *p, FILE *out)
{
	struct planting planting = { .programs = p, .out = out };
	const struct program_probes *pr = p->probes;
	struct answering g = { .programs = p, .out = out };
	const struct wanted_point *w;

	attach_answers(p->model->session, probes_print_answer, out);
	list_each(w, &pr->points, node)
		if (w->why)
			print_refused(w, out);
	if (list_empty(&pr->points))
		return;
	attach_answers(p->model->session, take_answer, &g);
	attach_answers(p->model->session, probes_print_unseen, out);
	attach_processes(p->model->session, print_unplanted, &planting);
}

/* ---- life ---- */

int program_probes_create(struct programs *p)
{
	p->probes = calloc(1, sizeof(*p->probes));
	if (!p->probes)
		return -ENOMEM;
	list_init(&p->probes->files);
	list_init(&p->probes->paths);
	list_init(&p->probes->awaited);
	list_init(&p->probes->points);
	p->probes->table.session = p->model->session;
	p->probes->usdt = usdt_new(p);
	return p->probes->usdt ? 0 : -ENOMEM;
}

struct list_head *probes_files(struct programs *p)
{
	return &p->probes->files;
}

bool program_probes_ready(struct programs *p, const struct attach_peer *peer, uint64_t program)
{
	return usdt_look(p->probes->usdt, peer, program);
}

bool program_probes_looks(const struct programs *p, pid_t pid)
{
	return usdt_looks(p->probes->usdt, pid);
}

void program_probes_tend(struct programs *p)
{
	usdt_tend(p->probes->usdt);
}

void program_probes_begin(struct programs *p)
{
	bool changed;

	usdt_look_at_all(p->probes->usdt);
	while (program_probes_looks(p, 0)) {
		program_sites_await(p);
		program_probes_tend(p);
	}
	/* The table of a server that died: its memory is freed when the session is restored. */
	p->model->probes_stale = true;
	changed = program_probes_update(p);
	while (program_probes_reading(p)) {
		program_sites_await(p);
		changed |= program_probes_update(p);
	}
	/* The server that died may have told nobody of them. */
	if (changed)
		program_words_raise(p);
	else
		publish_table(p);
}

void program_probes_destroy(struct programs *p)
{
	struct probed_path *path, *next_path;
	struct probed_file *f, *next;

	if (!p->probes)
		return;
	points_remove(p->probes);
	list_each_safe(path, next_path, &p->probes->paths, node)
		probed_path_destroy(path);
	list_each_safe(f, next, &p->probes->files, node) {
		points_close(f);
		probed_close(f);
	}
	usdt_free(p->probes->usdt);
	free(p->probes->fresh);
	free(p->probes->table.old);
	free(p->probes);
}
