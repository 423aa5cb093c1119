/* SPDX-License-Identifier: MIT */
/*
 * probes.c - tells running programs which probes to plant: those whose events are armed
 *
 *     kprobe: function -> address of the session -> DSO -> file, p_vaddr
 *     uprobe: path, offset                              -> file, p_vaddr
 *     note of USDT (usdt.c)                             -> file, p_vaddr
 *          -> point with its plan (probed.c) and its code (fetch_compile.c)
 *          -> one block for each file -> table -> site_control.probes
 *
 * A block that would have the same contents is kept. Blocks that the table no longer names are
 * freed when all programs have obeyed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/dynamic/fetch_compile.h"
#include "model/errlog.h"
#include "session/array.h"
#include "sources/program/probed.h"
#include "sources/program/probes.h"
#include "sources/program/sites.h"
#include "sources/program/usdt.h"

enum { FILES_IDLE = 16 };

/* A point of an event that is armed. */
struct wanted_point {
	/* One of both */
	struct probe_place *place;
	struct usdt_note *note;
	const struct event *event;
	bool		is_return;
	struct probed_file *file;	/* NULL: it was not found */
	uint64_t	at, counter;
	data_ref	hits;		/* of a place: probe_point.hits */
	size_t		order;		/* that of the definition */
	struct fetch_code *code;
	struct probe_plan plan;
	const char	*why;		/* it cannot be planted; NULL: it can */
};

struct old_block {
	config_ref	ref;
	size_t		size;
};

struct program_probes {
	struct list_head files;
	struct usdt	*usdt;
	struct probed_file *dsos[LAYOUT_MAX_DSOS];
	struct wanted_point *points;
	size_t		nr_points;
	config_ref	table;
	size_t		table_size;
	struct old_block *old;
	size_t		nr_old;
	/* session_now_ms(): for processes to knock at. 0: look now */
	int64_t		looked;
	bool		knocks;		/* model_knock() */
};

enum { KNOCK_MS = 1000 };	/* from one look for processes to knock at to the next */

static struct site_control *probes_control(struct programs *p)
{
	struct session *s = p->model->session;

	return session_config(s, session_header(s)->sites, sizeof(struct site_control));
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

/* Most probes are in the same file as the one before: then it is not looked for again. */
static bool open_path(struct program_probes *pr, const char *path, struct probed_file **out)
{
	const struct wanted_point *last = pr->nr_points ? &pr->points[pr->nr_points - 1] : NULL;

	*out = NULL;
	if (last && last->place && last->place->path && last->file &&
	    !strcmp(last->place->path, path))
		*out = last->file;
	else if (probed_open(&pr->files, path, out))
		*out = NULL;
	if (*out)
		(*out)->needed = true;
	return *out;
}

static const char *find_in_path(struct program_probes *pr, struct wanted_point *w)
{
	const struct probe_place *place = w->place;

	if (!open_path(pr, place->path, &w->file))
		return "its file cannot be read";
	if (!probed_at_offset(w->file, place->offset, true, &w->at))
		return code_why_text(CODE_NOT_CODE);
	if (place->counter && !probed_at_offset(w->file, place->counter, false, &w->counter))
		return "its reference counter is not in the file";
	return NULL;
}

static uint32_t dso_number(uint64_t address)
{
	return (uint32_t)((address - LAYOUT_DSO_BASE) >> LAYOUT_DSO_SHIFT);
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
	if (!pr->dsos[nr] && probed_open_dso(p, &pr->files, &d, &pr->dsos[nr]))
		return "its file cannot be read";
	w->file = pr->dsos[nr];
	/* So that a path that leads to it does not close it. */
	w->file->needed = true;
	w->at = address - program_dso_base(&d) + d.load;
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
	if (err == -EOPNOTSUPP)
		probes_refuse(p, w, why);
	else if (err)
		p->sites->err = err;
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
	if (why)
		probes_refuse(p, w, why);
	return true;
}

static void points_free(struct program_probes *pr)
{
	for (size_t i = 0; i < pr->nr_points; i++)
		free(pr->points[i].code);
	free(pr->points);
	pr->points = NULL;
	pr->nr_points = 0;
}

static void point_add(struct programs *p, const struct wanted_point *w)
{
	struct program_probes *pr = p->probes;

	if (array_room(&pr->points, pr->nr_points, sizeof(*w))) {
		p->sites->err = -ENOMEM;
		return;
	}
	pr->points[pr->nr_points] = *w;
	pr->points[pr->nr_points].order = pr->nr_points;
	pr->nr_points++;
}

static void collect_places(struct programs *p)
{
	struct dynamic_event *d;

	list_each(d, &p->model->dynamic_events, node) {
		struct wanted_point w = { .event = d->event };

		if (d->kind != &kprobe_kind && d->kind != &uprobe_kind)
			continue;
		w.place = place_of(d);
		w.is_return = w.place->is_return;
		w.place->wanted = d->event->plan && !w.place->recorded;
		if (!w.place->wanted)
			w.place->refused = false;
		else if (find_point(p, &w))
			point_add(p, &w);
	}
}

static void collect_notes(struct programs *p)
{
	struct usdt_event *ue;
	struct usdt_note *n;

	list_each(ue, usdt_events(p->probes->usdt), node) {
		list_each(n, &ue->notes, node) {
			const struct wanted_point w = {
				.note = n, .event = ue->event, .file = n->file,
				.at = n->note.address, .counter = n->note.semaphore };

			if (ue->event->plan)
				point_add(p, &w);
			else
				n->refused = false;
		}
	}
}

static void probes_collect(struct programs *p)
{
	points_free(p->probes);
	collect_places(p);
	collect_notes(p);
}

static int compare_points(const void *a, const void *b)
{
	const struct wanted_point *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* ---- planning ---- */

/*
 * Before a place is planned, the bytes of places that are no longer probed become free. If there is
 * none to plan, these keep theirs: to arm them again costs little.
 */
static void forget_places(struct program_probes *pr)
{
	struct probed_file *f;
	struct probed_place *p;
	bool all = true;

	list_each(f, &pr->files, node) {
		f->needed = false;
		list_each(p, &f->places, in_file)
			p->needed = false;
	}
	for (size_t i = 0; i < pr->nr_points; i++) {
		struct wanted_point *w = &pr->points[i];

		if (!w->file || w->why)
			continue;
		w->file->needed = true;
		all &= probed_need(w->file, w->at);
	}
	list_each(f, &pr->files, node)
		if (!all)
			probed_forget(f);
}

static void plan_point(struct programs *p, struct wanted_point *w)
{
	int err = probed_plan(w->file, w->at, w->is_return, &w->plan);

	if (err)
		p->sites->err = err;
	else if (w->plan.why != CODE_GOOD)
		probes_refuse(p, w, code_why_text((enum code_why)w->plan.why));
	else if (w->is_return && w->plan.returns != CODE_RETURN_GOOD)
		probes_refuse(p, w, code_return_text((enum code_return)w->plan.returns));
	else
		compile_point(p, w);
}

static void plan_points(struct programs *p)
{
	struct program_probes *pr = p->probes;

	forget_places(pr);
	for (size_t i = 0; i < pr->nr_points; i++)
		if (pr->points[i].file && !pr->points[i].why)
			plan_point(p, &pr->points[i]);
	if (pr->nr_points)
		qsort(pr->points, pr->nr_points, sizeof(*pr->points), compare_points);
}

/* ---- blocks ---- */

static void retire_later(struct programs *p, config_ref ref, size_t size)
{
	struct program_probes *pr = p->probes;

	if (!ref)
		return;
	if (array_room(&pr->old, pr->nr_old, sizeof(*pr->old)))
		return;		/* it is never freed */
	pr->old[pr->nr_old++] = (struct old_block){ ref, size };
}

static size_t round_up(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

/* The points of the file that can be planted, from *i on; *i goes behind them. */
static size_t block_size(const struct program_probes *pr, size_t i, uint32_t *nr)
{
	const struct probed_file *f = pr->points[i].file;
	size_t codes = 0;

	*nr = 0;
	for (; i < pr->nr_points && pr->points[i].file == f; i++) {
		if (!pr->points[i].code)
			continue;
		codes += round_up(pr->points[i].code->bytes);
		(*nr)++;
	}
	return *nr ? sizeof(struct probe_file) + *nr * sizeof(struct probe_point) + codes : 0;
}

static void fill_file(const struct probed_file *f, uint32_t nr, struct probe_file *out)
{
	out->device = f->device;
	out->inode = f->inode;
	out->size = f->size;
	memcpy(out->id, f->id, sizeof(out->id));
	out->id_len = f->id_len;
	out->nr = nr;
}

/* References count from the block's begin. */
static void fill_block(const struct program_probes *pr, size_t i, uint32_t nr, char *block)
{
	struct probe_file *out = (struct probe_file *)block;
	size_t at = sizeof(*out) + nr * sizeof(struct probe_point);
	struct probe_point *point = out->points;

	fill_file(pr->points[i].file, nr, out);
	for (; point < out->points + nr; i++) {
		const struct wanted_point *w = &pr->points[i];

		if (!w->code)
			continue;
		*point++ = (struct probe_point){
			.at = w->at,
			.counter = w->counter,
			.event = w->event->id,
			.flags = w->is_return ? PROBE_POINT_RETURN : 0,
			.code = at,
			.hits = w->hits,
			.plan = w->plan,
		};
		memcpy(block + at, w->code, w->code->bytes);
		at += round_up(w->code->bytes);
	}
}

/* Returns whether the file's block has changed. */
static bool drop_block(struct programs *p, struct probed_file *f)
{
	const bool had = f->block;

	retire_later(p, f->block, f->block_size);
	free(f->relative);
	f->relative = NULL;
	f->block = 0;
	f->block_size = 0;
	return had;
}

static bool new_block(struct programs *p, struct probed_file *f, char *relative, size_t size)
{
	struct session *s = p->model->session;
	config_ref ref = session_config_alloc(s, size);
	struct probe_file *out;

	drop_block(p, f);
	if (!ref) {
		p->sites->err = -ENOMEM;
		free(relative);
		return true;
	}
	out = session_config(s, ref, size);
	memcpy(out, relative, size);
	for (uint32_t i = 0; i < out->nr; i++)
		out->points[i].code += ref;
	f->block = ref;
	f->block_size = size;
	f->relative = relative;
	return true;
}

static bool update_file(struct programs *p, size_t i)
{
	struct program_probes *pr = p->probes;
	struct probed_file *f = pr->points[i].file;
	uint32_t nr;
	const size_t size = block_size(pr, i, &nr);
	char *relative;

	if (!size)
		return drop_block(p, f);
	relative = calloc(1, size);
	if (!relative) {
		p->sites->err = -ENOMEM;
		return false;
	}
	fill_block(pr, i, nr, relative);
	if (f->block_size == size && !memcmp(f->relative, relative, size)) {
		free(relative);
		return false;
	}
	return new_block(p, f, relative, size);
}

/* No probe needs it now: points and numbers of DSOs no longer lead to it. */
static void file_unlink(struct program_probes *pr, const struct probed_file *f)
{
	for (uint32_t i = 0; i < LAYOUT_MAX_DSOS; i++)
		if (pr->dsos[i] == f)
			pr->dsos[i] = NULL;
	for (size_t i = 0; i < pr->nr_points; i++)
		if (pr->points[i].file == f)
			pr->points[i].file = NULL;
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
	struct probed_file *f = NULL, *next;
	unsigned int idle = 0;
	bool changed = false;

	for (size_t i = 0; i < pr->nr_points; i++) {
		if (!pr->points[i].file || pr->points[i].file == f)
			continue;
		f = pr->points[i].file;
		changed |= update_file(p, i);
	}
	list_each_safe(f, next, &pr->files, node) {
		if (f->needed)
			continue;
		changed |= drop_block(p, f);
		if (!f->has_notes && !file_idles(p, f, &idle))
			probed_close(f);
	}
	return changed;
}

/* ---- the table ---- */

/* A file without a number gets the lowest one that is free. Returns how many there are. */
static uint32_t number_files(struct program_probes *pr)
{
	struct probed_file *f, *other;
	uint32_t nr = 0;

	list_each(f, &pr->files, node) {
		bool again = f->number == 0;

		while (again) {
			f->number++;
			again = false;
			list_each(other, &pr->files, node)
				again |= other != f && other->number == f->number;
		}
		if (f->block && f->number > nr)
			nr = f->number;
	}
	return nr;
}

static void publish_table(struct programs *p)
{
	struct program_probes *pr = p->probes;
	struct session *s = p->model->session;
	const uint32_t nr = number_files(pr);
	const size_t size = sizeof(struct probe_table) + nr * sizeof(config_ref);
	config_ref ref = nr ? session_config_alloc(s, size) : 0;
	struct probe_table *table = ref ? session_config(s, ref, size) : NULL;
	struct probed_file *f;

	if (nr && !table)
		p->sites->err = -ENOMEM;
	if (table) {
		table->nr = nr;
		list_each(f, &pr->files, node)
			if (f->block)
				table->files[f->number - 1] = f->block;
	}
	session_publish(s, &probes_control(p)->probes, ref);
	retire_later(p, pr->table, pr->table_size);
	pr->table = ref;
	pr->table_size = ref ? size : 0;
}

bool program_probes_update(struct programs *p)
{
	struct model *m = p->model;

	if (!m->probes_stale || m->closing || m->held)
		return false;
	m->probes_stale = false;
	probes_collect(p);
	plan_points(p);
	if (!update_files(p))
		return false;
	publish_table(p);
	p->probes->looked = 0;
	return true;
}

void program_probes_settled(struct programs *p)
{
	struct program_probes *pr = p->probes;

	for (size_t i = 0; i < pr->nr_old; i++)
		session_config_retire(p->model->session, pr->old[i].ref, pr->old[i].size);
	free(pr->old);
	pr->old = NULL;
	pr->nr_old = 0;
}

/* ---- answers ---- */

struct answering {
	struct programs	*programs;
	FILE		*out;		/* for doctor; NULL: for error_log */
};

static void take_refusal(const struct answering *g, pid_t pid, const struct site_refused *r)
{
	const struct program_probes *pr = g->programs->probes;
	const char *why = code_why_text((enum code_why)r->why);
	char text[160];

	for (size_t i = 0; i < pr->nr_points; i++) {
		const struct wanted_point *w = &pr->points[i];

		if (!w->file || w->why || w->file->number != r->file + 1 || w->at != r->at)
			continue;
		snprintf(text, sizeof(text), "Process %d cannot be probed here: %s", (int)pid, why);
		if (g->out)
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

void program_probes_answered(struct programs *p)
{
	struct answering g = { .programs = p };

	if (p->probes->nr_points)
		attach_answers(p->model->session, take_answer, &g);
}

static void probes_print_answer(void *arg, const struct attach_answer *a)
{
	if (a->nr_probes || a->nr_probes_refused)
		fprintf(arg, "probes %d planted %" PRIu32 " refused %" PRIu32 "%s\n",
			(int)a->peer.pid, a->nr_probes, a->nr_probes_refused,
			a->slow ? " late" : "");
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

/* Whether a line of /proc/PID/maps is of a file with points. */
static bool is_of_points(const struct program_probes *pr, const char *line)
{
	unsigned long inode;

	if (sscanf(line, "%*s %*s %*s %*s %lu", &inode) != 1)
		return false;
	for (size_t i = 0; i < pr->nr_points; i++)
		if (pr->points[i].code && pr->points[i].file->inode == inode)
			return true;
	return false;
}

static bool has_points(const struct program_probes *pr, pid_t pid)
{
	char path[64], line[512];
	bool has = false;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	in = fopen(path, "re");
	while (in && !has && fgets(line, sizeof(line), in))
		has = is_of_points(pr, line);
	if (in)
		fclose(in);
	return has;
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

/*
 * Knocks at processes that have a file with probes and no task, until each has begun one or has
 * answered that it cannot. While the session knocks, events of calls cost all of its programs time,
 * so the answers are looked at each time.
 */
void program_probes_knock(struct programs *p)
{
	struct program_probes *pr = p->probes;
	struct planting g = { .programs = p };
	const int64_t now = session_now_ms();

	if (!pr->knocks && (!pr->nr_points || (pr->looked && now - pr->looked < KNOCK_MS)))
		return;
	pr->looked = now;
	if (pr->nr_points)
		attach_processes(p->model->session, find_unplanted, &g);
	/* Also while it knocks already: events that are defined meanwhile. */
	if (g.any || pr->knocks)
		model_knock(p->model, g.any);
	pr->knocks = g.any;
}

void program_probes_print(struct programs *p, FILE *out)
{
	struct planting planting = { .programs = p, .out = out };
	const struct program_probes *pr = p->probes;
	struct answering g = { .programs = p, .out = out };

	attach_answers(p->model->session, probes_print_answer, out);
	for (size_t i = 0; i < pr->nr_points; i++)
		if (pr->points[i].why)
			fprintf(out, "probe-refused %s:%s %s\n",
				pr->points[i].event->system->name, pr->points[i].event->name,
				pr->points[i].why);
	if (!pr->nr_points)
		return;
	attach_answers(p->model->session, take_answer, &g);
	attach_processes(p->model->session, print_unplanted, &planting);
}

/* ---- life ---- */

int program_probes_create(struct programs *p)
{
	p->probes = calloc(1, sizeof(*p->probes));
	if (!p->probes)
		return -ENOMEM;
	list_init(&p->probes->files);
	p->probes->usdt = usdt_new(p);
	return p->probes->usdt ? 0 : -ENOMEM;
}

struct list_head *probes_files(struct programs *p)
{
	return &p->probes->files;
}

bool program_probes_ready(struct programs *p, pid_t pid, uint64_t program)
{
	return usdt_look(p->probes->usdt, pid, program);
}

static void look_again(void *arg, pid_t pid, unsigned int slots)
{
	program_probes_ready(arg, pid, 0);
}

void program_probes_begin(struct programs *p)
{
	attach_processes(p->model->session, look_again, p);
	/* The table of a server that died: its memory is freed when the session is restored. */
	p->model->probes_stale = true;
	if (!program_probes_update(p))
		publish_table(p);
}

void program_probes_destroy(struct programs *p)
{
	struct probed_file *f, *next;

	if (!p->probes)
		return;
	list_each_safe(f, next, &p->probes->files, node)
		probed_close(f);
	points_free(p->probes);
	usdt_free(p->probes->usdt);
	free(p->probes->old);
	free(p->probes);
}
