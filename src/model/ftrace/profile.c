/* SPDX-License-Identifier: MIT */
/*
 * profile.c - the profile's map and code, and the files that print it
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/ftrace/profile.h"
#include "model/symbols.h"
#include "plane/exponential.h"
#include "plane/map/map.h"
#include "plane/code.h"
#include "session/array.h"

enum {
	MIN_ELTS = 1 << 14,	/* a program with more functions may be started later */
	NAME_WIDTH = 30,
};

static const char saved_path[] = "#ftrace/profile";

struct profile_key {
	uint64_t	func;
	uint64_t	cpu;
};

/* A map with the code that fills it. */
struct profile_part {
	struct map_shape shape;
	data_ref	map;
	size_t		map_size;
	data_ref	state;		/* struct trigger_state */
	config_ref	code;
	size_t		code_size;
};

enum { COUNTS, SPREAD, PARTS };

struct ftrace_profile {
	/* enum ftrace_profile_mode of when it was switched on */
	unsigned int	mode;
	struct profile_part part[PARTS];	/* SPREAD: only with details */
};

static unsigned int parts_of(unsigned int mode)
{
	return mode == FTRACE_PROFILE_DETAILS ? PARTS : 1;
}

/* ---- the code ---- */

static int make_code(struct session *s, struct profile_part *p, uint8_t kind)
{
	const struct op ops[] = { { .kind = kind }, { .kind = OP_END } };
	struct code *out;

	p->code_size = sizeof(*out) + sizeof(ops);
	p->code = session_config_alloc(s, p->code_size);
	out = p->code ? session_config(s, p->code, p->code_size) : NULL;
	if (!out)
		return -ENOMEM;
	out->size = (uint32_t)p->code_size;
	out->nr_ops = sizeof(ops) / sizeof(*ops);
	out->map = p->map;
	map_lay_out(&out->layout, &p->shape);
	out->key_size = sizeof(struct profile_key);
	memcpy(out->ops, ops, sizeof(ops));
	return 0;
}

/* ---- the map ---- */

/* Room for each function on some of the CPUs: few functions run on all. */
static uint32_t elts_for(const struct ftrace *ft)
{
	uint32_t elts = MIN_ELTS;

	while (elts < MAP_MAX_ELTS && elts < 4 * ft->nr_sites)
		elts *= 2;
	return elts;
}

static void set_shape(const struct ftrace *ft, struct ftrace_profile *p, unsigned int i,
		      uint32_t elts)
{
	const struct config_header *h = session_header(ft->model->session);
	struct profile_part *part = &p->part[i];

	part->shape = (struct map_shape){
		.max_elts = elts, .key_size = sizeof(struct profile_key), .nr_sums = PROFILE_SUMS,
		.nr_cpus = h->nr_cpus, .nr_slots = h->nr_slots,
	};
	if (i == SPREAD) {
		part->shape.nr_sums = 1;
	} else if (p->mode == FTRACE_PROFILE_DETAILS) {
		part->shape.nr_sums = PROFILE_DETAILED_SUMS;
		part->shape.nr_blocks = 1;
		part->shape.block_size[0] = sizeof(uint64_t);
	}
	part->map_size = map_size(&part->shape);
}

static int make_map(struct ftrace *ft, struct ftrace_profile *p, unsigned int i)
{
	struct profile_part *part = &p->part[i];

	set_shape(ft, p, i, i == SPREAD ? MAP_MAX_ELTS : elts_for(ft));
	part->map = session_data_alloc(ft->model->session, part->map_size);
	return part->map ? 0 : -ENOMEM;
}

static int restore_map(struct ftrace *ft, struct ftrace_profile *p, unsigned int i, uint32_t elts,
		       data_ref map)
{
	struct session *s = ft->model->session;
	struct profile_part *part = &p->part[i];
	int err;

	set_shape(ft, p, i, elts);
	part->map = map;
	err = session_data(s, map, part->map_size) ?
		session_data_restore(s, map, part->map_size) : -EPROTO;
	if (err)
		part->map = 0;
	return err;
}

/* ---- life ---- */

static void profile_retire(struct session *s, struct ftrace_profile *p)
{
	for (unsigned int i = 0; i < PARTS; i++) {
		struct profile_part *part = &p->part[i];

		if (part->code)
			session_config_retire(s, part->code, part->code_size);
		if (part->map)
			session_data_retire(s, part->map, part->map_size);
		if (part->state)
			session_data_retire(s, part->state, sizeof(struct trigger_state));
	}
	free(p);
}

/* What the last server had. */
struct profile_last {
	uint32_t	elts[PARTS];
	data_ref	map[PARTS];
};

/* last: NULL: empty maps. 0 or -errno */
static int make_part(struct ftrace *ft, struct ftrace_profile *p, unsigned int i,
		     const struct profile_last *last)
{
	struct session *s = ft->model->session;
	int err = last ? restore_map(ft, p, i, last->elts[i], last->map[i]) : make_map(ft, p, i);

	if (err)
		return err;
	p->part[i].state = session_data_alloc(s, sizeof(struct trigger_state));
	return p->part[i].state ?
	       make_code(s, &p->part[i], i == SPREAD ? OP_PROFILE_SPREAD : OP_PROFILE) : -ENOMEM;
}

/* NULL: *err */
static struct ftrace_profile *profile_make(struct ftrace *ft, unsigned int mode,
					   const struct profile_last *last, int *err)
{
	struct ftrace_profile *p = calloc(1, sizeof(*p));

	*err = p ? 0 : -ENOMEM;
	if (p)
		p->mode = mode;
	for (unsigned int i = 0; !*err && i < parts_of(mode); i++)
		*err = make_part(ft, p, i, last);
	if (!*err)
		return p;
	if (p)
		profile_retire(ft->model->session, p);
	return NULL;
}

void ftrace_profile_destroy(struct ftrace *ft)
{
	/* The session's memory ends with the session, or is for the next server (R4). */
	free(ft->profile_data);
	ft->profile_data = NULL;
}

static int profile_keep(struct ftrace *ft)
{
	const struct ftrace_profile *p = ft->profile_data;
	const uint64_t refs[PARTS] = { p->part[COUNTS].map, p->part[SPREAD].map };
	char text[64];
	int n = snprintf(text, sizeof(text), "%d %" PRIu32, ft->profile != 0,
			 p->part[COUNTS].shape.max_elts);

	if (p->mode == FTRACE_PROFILE_DETAILS)
		snprintf(text + n, sizeof(text) - (size_t)n, " %" PRIu32,
			 p->part[SPREAD].shape.max_elts);
	return saved_replace(ft->model, ft->profiled.inst ? ft->profiled.inst : ft->model->top,
			     saved_path, text, refs, parts_of(p->mode), &ft->profile_saved);
}

/* The ops that traces the functions in the filters of the instance. It is off. */
static struct ftrace_ops *ops_of(struct ftrace *ft, struct instance *inst)
{
	struct ftrace_instance *fi = ftrace_of_instance(inst);

	if (!fi)
		return NULL;
	ft->profiled = (struct ftrace_ops){
		.inst = inst,
		.kind = FTRACE_OPS_PROFILE,
		.callback = "ftrace_graph_func",
		.hashes = &fi->hashes,
	};
	list_init(&ft->profiled.node);
	return &ft->profiled;
}

static int switch_on(struct ftrace *ft, struct instance *inst, unsigned int mode,
		     const struct profile_last *last)
{
	struct ftrace_ops *ops = ops_of(ft, inst);
	struct ftrace_profile *old = ft->profile_data, *new;
	int err = ops ? 0 : -ENOMEM;

	new = err ? NULL : profile_make(ft, mode, last, &err);
	if (!new)
		return err;
	ft->profile_data = new;
	ft->profile = mode;
	err = ftrace_ops_enable(ops);
	if (!err) {
		if (old)
			profile_retire(ft->model->session, old);
		return ftrace_graph_publish(ft->model);
	}
	ft->profile = FTRACE_PROFILE_OFF;
	ft->profile_data = old;
	profile_retire(ft->model->session, new);
	return err;
}

static int switch_off(struct ftrace *ft)
{
	ft->profile = FTRACE_PROFILE_OFF;
	ftrace_ops_disable(&ft->profiled);
	return ftrace_graph_publish(ft->model);
}

unsigned int ftrace_profile_mode_of(const struct instance *inst)
{
	const struct ftrace *ft = inst->model->ftrace;

	return ft->profiled.inst == inst ? ft->profile : FTRACE_PROFILE_OFF;
}

int ftrace_profile_set(struct instance *inst, unsigned int mode)
{
	struct ftrace *ft = inst->model->ftrace;
	int err = 0;

	if (ftrace_profile_mode_of(inst) == mode)
		return 0;
	if (ft->profile)
		err = switch_off(ft);
	if (!err && mode)
		err = switch_on(ft, inst, mode, NULL);
	return err ? err : profile_keep(ft);
}

void ftrace_profile_leave(struct instance *inst)
{
	struct ftrace *ft = inst->model->ftrace;

	if (!ft || ft->profiled.inst != inst)
		return;
	ftrace_ops_disable(&ft->profiled);
	if (inst->model->closing || inst == inst->model->top)
		return;
	ft->profiled.inst = NULL;
	ft->profile = FTRACE_PROFILE_OFF;
	/* Nobody could be told of an error. Without memory the settings stay as they are. */
	ftrace_graph_publish(ft->model);
	profile_keep(ft);
}

static bool elts_valid(uint32_t elts)
{
	return elts >= MIN_ELTS && elts <= MAP_MAX_ELTS && !(elts & (elts - 1));
}

int ftrace_profile_restore(struct instance *inst, const struct restored *o, const char *text)
{
	struct ftrace *ft = inst->model->ftrace;
	struct profile_last last = { 0 };
	int on, err;
	const int n = sscanf(text, "%d %" SCNu32 " %" SCNu32, &on, &last.elts[COUNTS],
			     &last.elts[SPREAD]);
	const unsigned int mode = n == 3 ? FTRACE_PROFILE_DETAILS : FTRACE_PROFILE_ON;

	if (n < 2)
		return -EPROTO;
	for (unsigned int i = 0; i < parts_of(mode); i++) {
		if (!elts_valid(last.elts[i]))
			return -EPROTO;
		last.map[i] = restored_ref(o, i);
	}
	err = switch_on(ft, inst, mode, &last);
	if (!err && !on)
		err = switch_off(ft);
	return err ? err : profile_keep(ft);
}

bool ftrace_profile_arm(const struct ftrace *ft, unsigned int i, struct trigger_arm *out)
{
	const struct ftrace_profile *p = ft->profile_data;

	if (i >= parts_of(p->mode))
		return false;
	if (out)
		*out = (struct trigger_arm){
			.kind = TRIGGER_HIST, .flags = TRIGGER_RECORD, .code = p->part[i].code,
			.state = p->part[i].state,
		};
	return true;
}

/* ---- trace_stat ---- */

struct profile_line {
	uint64_t	func, calls, time, squared;
};

struct profile_lines {
	struct profile_line *v;
	size_t		nr;
	uint32_t	cpu;
};

static int collect(void *arg, uint32_t elt, const void *key, const uint64_t *sums)
{
	struct profile_lines *l = arg;
	struct profile_key k;

	memcpy(&k, key, sizeof(k));
	/* It returned on this CPU, but was called on another one. */
	if (k.cpu != l->cpu || !sums[PROFILE_CALLS])
		return 0;
	if (array_room(&l->v, l->nr, sizeof(*l->v)))
		return -ENOMEM;
	l->v[l->nr++] = (struct profile_line){ k.func, sums[PROFILE_CALLS], sums[PROFILE_TIME],
					       sums[PROFILE_SQUARED] };
	return 0;
}

/* The longest first. For equal times, where the kernel has any order, by address. */
static int profile_compare(const void *a, const void *b)
{
	const struct profile_line *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? 1 : -1;
	return x->func < y->func ? -1 : x->func > y->func;
}

/* Prints microseconds, with up to 7 digits, in the graph tracer's column. */
static void print_time(uint64_t ns, FILE *out)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "%" PRIu64, ns / 1000);
	const int digits = 7 - len < 3 ? 7 - len : 3;

	if (digits > 0)
		len += snprintf(text + len, sizeof(text) - (size_t)len, ".%03d", (int)(ns % 1000)) -
		       (3 - digits);
	fprintf(out, "%.*s us %*s", len, text, len < 8 ? 8 - len : 0, "");
}

/* The unbiased variance: in us^2, when it is printed as if it were ns. */
static uint64_t variance(const struct profile_line *l)
{
	const uint64_t denominator = l->calls * (l->calls - 1) * 1000;

	return denominator ? (l->calls * l->squared - l->time * l->time) / denominator : 0;
}

/* NULL: the function has none. */
static const char *name_of(struct ftrace *ft, uint64_t func)
{
	struct ftrace_page *page;
	const struct ftrace_site *site = ftrace_site_find(ft, func, &page);

	return site ? ftrace_site_name(page, site)
		    : symbols_find(ft->model->symbols, func, NULL, NULL, NULL);
}

static void profile_print_line(struct ftrace *ft, const struct profile_line *l, FILE *out)
{
	const uint64_t average = l->time / l->calls;
	const char *name = name_of(ft, l->func);
	char address[24];

	snprintf(address, sizeof(address), "0x%" PRIx64, l->func);
	fprintf(out, "  %-*.*s  %10" PRIu64 "    ", NAME_WIDTH, NAME_WIDTH, name ? name : address,
		l->calls);
	print_time(l->time, out);
	fputs("    ", out);
	print_time(average, out);
	fputs("    ", out);
	print_time(variance(l), out);
	fputc('\n', out);
}

/* NULL: there is none, or a program has spoiled it so that it cannot be read. */
static const struct map *map_of(const struct ftrace *ft, unsigned int i)
{
	const struct ftrace_profile *p = ft->profile_data;

	return p && i < parts_of(p->mode) ?
	       session_data(ft->model->session, p->part[i].map, p->part[i].map_size) : NULL;
}

/* If a program has spoiled the map, the map counts as empty. 0, -ENOMEM */
static int read_map(const struct ftrace *ft, unsigned int i,
		    int (*fn)(void *arg, uint32_t elt, const void *key, const uint64_t *sums),
		    void *arg)
{
	const struct map *m = map_of(ft, i);
	const struct profile_part *part = m ? &ft->profile_data->part[i] : NULL;

	return m && map_each(m, part->map_size, &part->shape, fn, arg) == -ENOMEM ? -ENOMEM : 0;
}

static int read_lines(struct ftrace *ft, struct profile_lines *l)
{
	if (read_map(ft, COUNTS, collect, l))
		return -ENOMEM;
	if (l->nr)
		qsort(l->v, l->nr, sizeof(*l->v), profile_compare);
	return 0;
}

static uint64_t dropped_of(const struct ftrace *ft, unsigned int i)
{
	const struct map *m = map_of(ft, i);

	return m ? map_drops(m) : 0;
}

uint64_t ftrace_profile_dropped(const struct ftrace *ft)
{
	return dropped_of(ft, COUNTS) + dropped_of(ft, SPREAD);
}

bool ftrace_profile_is_large(const struct ftrace *ft)
{
	const struct ftrace_profile *p = ft->profile_data;

	return p && p->part[COUNTS].shape.max_elts > MIN_ELTS;
}

int ftrace_profile_print(struct ftrace *ft, uint32_t cpu, FILE *out)
{
	/* Relaxed: the number alone orders nothing. */
	const uint64_t thresh =
		atomic_load_explicit(&ft->model->tracing_thresh, memory_order_relaxed);
	struct profile_lines l = { .cpu = cpu };
	int err = read_lines(ft, &l);

	fputs("  Function                               Hit    Time            Avg             "
	      "s^2\n"
	      "  --------                               ---    ----            ---             "
	      "---\n",
	      out);
	for (size_t i = 0; !err && i < l.nr; i++) {
		model_step(ft->model);
		if (!thresh || l.v[i].time / l.v[i].calls >= thresh)
			profile_print_line(ft, &l.v[i], out);
	}
	free(l.v);
	return err;
}

/* ---- trace_stat/functions ---- */

/* A function on all CPUs together. */
struct profile_total {
	uint64_t	func, calls, time, self, nested, longest;
	bool		detailed;
};

struct profile_totals {
	const struct ftrace *ft;
	struct profile_total *v;
	size_t		nr;
};

/* How many calls took a time of this bucket. */
struct profile_spread {
	uint64_t	func, bucket, calls;
};

struct profile_spreads {
	struct profile_spread *v;
	size_t		nr;
};

static int collect_total(void *arg, uint32_t elt, const void *key, const uint64_t *sums)
{
	struct profile_totals *t = arg;
	const struct profile_part *part = &t->ft->profile_data->part[COUNTS];
	const bool detailed = part->shape.nr_sums == PROFILE_DETAILED_SUMS;
	struct profile_total *new;
	struct profile_key k;

	memcpy(&k, key, sizeof(k));
	if (array_room(&t->v, t->nr, sizeof(*t->v)))
		return -ENOMEM;
	new = &t->v[t->nr++];
	*new = (struct profile_total){
		.func = k.func, .calls = sums[PROFILE_CALLS], .time = sums[PROFILE_TIME],
		.self = detailed ? sums[PROFILE_SELF] : 0,
		.nested = detailed ? sums[PROFILE_NESTED] : 0,
		.detailed = detailed,
	};
	if (detailed && !map_block_read(map_of(t->ft, COUNTS), part->map_size, &part->shape, elt, 0,
					&new->longest))
		new->longest = 0;
	return 0;
}

static int collect_spread(void *arg, uint32_t elt, const void *key, const uint64_t *sums)
{
	struct profile_spreads *s = arg;
	struct profile_key k;

	memcpy(&k, key, sizeof(k));
	if (array_room(&s->v, s->nr, sizeof(*s->v)))
		return -ENOMEM;
	s->v[s->nr++] = (struct profile_spread){ k.func, k.cpu, sums[0] };
	return 0;
}

static int compare_functions(const void *a, const void *b)
{
	const struct profile_total *x = a, *y = b;

	return x->func < y->func ? -1 : x->func > y->func;
}

/*
 * The time in which the function ran: a call that it makes of itself is part of the outer one. Any
 * process of the session can write the sums.
 */
static uint64_t total_time(const struct profile_total *t)
{
	return t->nested < t->time ? t->time - t->nested : 0;
}

static int compare_totals(const void *a, const void *b)
{
	const uint64_t x = total_time(a), y = total_time(b);

	if (x != y)
		return x < y ? 1 : -1;
	return compare_functions(a, b);
}

static int compare_spreads(const void *a, const void *b)
{
	const struct profile_spread *x = a, *y = b;

	if (x->func != y->func)
		return x->func < y->func ? -1 : 1;
	return x->bucket < y->bucket ? -1 : x->bucket > y->bucket;
}

/* One entry for each function, the longest time first. */
static void totals_join(struct profile_totals *t)
{
	size_t nr = 0;

	if (!t->nr)
		return;
	qsort(t->v, t->nr, sizeof(*t->v), compare_functions);
	for (size_t i = 1; i < t->nr; i++) {
		struct profile_total *to = &t->v[nr];
		const struct profile_total *from = &t->v[i];

		if (to->func != from->func) {
			t->v[++nr] = *from;
			continue;
		}
		to->calls += from->calls;
		to->time += from->time;
		to->self += from->self;
		to->nested += from->nested;
		to->longest = from->longest > to->longest ? from->longest : to->longest;
	}
	t->nr = nr + 1;
	qsort(t->v, t->nr, sizeof(*t->v), compare_totals);
}

/* The first bucket of the function. */
static const struct profile_spread *spread_find(const struct profile_spreads *s, uint64_t func)
{
	size_t low = 0, high = s->nr;

	while (low < high) {
		const size_t at = low + (high - low) / 2;

		if (s->v[at].func < func)
			low = at + 1;
		else
			high = at;
	}
	return s->nr ? s->v + low : NULL;
}

/* How many of its calls have returned. */
static uint64_t returned(const struct profile_spreads *s, const struct profile_total *t)
{
	const struct profile_spread *at = spread_find(s, t->func);
	const struct profile_spread *end = s->nr ? s->v + s->nr : NULL;
	uint64_t all = 0;

	for (; at < end && at->func == t->func; at++)
		all += at->calls;
	return all;
}

/* The end of the range that this part of the calls does not exceed. */
static uint64_t percentile(const struct profile_spreads *s, const struct profile_total *t,
			   unsigned int percent)
{
	const struct profile_spread *at;
	const struct profile_spread *end = s->nr ? s->v + s->nr : NULL;
	const uint64_t all = returned(s, t);
	uint64_t seen = 0, low, high = 0;

	for (at = spread_find(s, t->func); at < end && at->func == t->func; at++) {
		seen += at->calls;
		exponential_range(PROFILE_SCALE, at->bucket, &low, &high);
		if (seen * 100 >= all * percent)
			break;
	}
	return high < t->longest ? high : t->longest;
}

static void print_known(bool known, uint64_t v, FILE *out)
{
	if (known)
		fprintf(out, " %14" PRIu64, v);
	else
		fprintf(out, " %14s", "-");
}

static void print_total(struct ftrace *ft, const struct profile_spreads *s,
			const struct profile_total *t, FILE *out)
{
	const char *name = name_of(ft, t->func);
	/* The program was killed in its first call: nobody knows how long that took. */
	const bool timed = !t->detailed || returned(s, t), detailed = t->detailed && timed;

	fprintf(out, "%12" PRIu64, t->calls);
	print_known(timed, total_time(t), out);
	print_known(detailed, t->self, out);
	print_known(timed, t->calls ? t->time / t->calls : 0, out);
	print_known(detailed, percentile(s, t, 50), out);
	print_known(detailed, percentile(s, t, 99), out);
	print_known(detailed, t->longest, out);
	if (name)
		fprintf(out, "  %s\n", name);
	else
		fprintf(out, "  0x%" PRIx64 "\n", t->func);
}

int ftrace_profile_print_all(struct ftrace *ft, FILE *out)
{
	struct profile_totals t = { .ft = ft };
	struct profile_spreads s = { 0 };
	int err = read_map(ft, COUNTS, collect_total, &t);

	if (!err)
		err = read_map(ft, SPREAD, collect_spread, &s);
	if (s.nr)
		qsort(s.v, s.nr, sizeof(*s.v), compare_spreads);
	totals_join(&t);
	fprintf(out, "#      Calls          Total           Self            Avg            P50"
		"            P99            Max  Function\n");
	for (size_t i = 0; !err && i < t.nr; i++) {
		model_step(ft->model);
		print_total(ft, &s, &t.v[i], out);
	}
	if (ftrace_profile_dropped(ft))
		fprintf(out, "# No room: %" PRIu64 "\n", ftrace_profile_dropped(ft));
	free(t.v);
	free(s.v);
	return err;
}
