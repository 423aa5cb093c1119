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

struct ftrace_profile {
	struct map_shape shape;
	data_ref	map;
	size_t		map_size;
	data_ref	state;		/* struct trigger_state */
	config_ref	code;
	size_t		code_size;
};

/* ---- the code ---- */

static const struct op profile_ops[] = { { .kind = OP_PROFILE }, { .kind = OP_END } };

static int make_code(struct session *s, struct ftrace_profile *p)
{
	struct code *out;

	p->code_size = sizeof(*out) + sizeof(profile_ops);
	p->code = session_config_alloc(s, p->code_size);
	out = p->code ? session_config(s, p->code, p->code_size) : NULL;
	if (!out)
		return -ENOMEM;
	out->size = (uint32_t)p->code_size;
	out->nr_ops = sizeof(profile_ops) / sizeof(*profile_ops);
	out->map = p->map;
	map_lay_out(&out->layout, &p->shape);
	out->key_size = sizeof(struct profile_key);
	memcpy(out->ops, profile_ops, sizeof(profile_ops));
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

static void set_shape(const struct ftrace *ft, struct ftrace_profile *p, uint32_t elts)
{
	const struct config_header *h = session_header(ft->model->session);

	p->shape = (struct map_shape){
		.max_elts = elts, .key_size = sizeof(struct profile_key), .nr_sums = PROFILE_SUMS,
		.nr_cpus = h->nr_cpus, .nr_slots = h->nr_slots,
	};
	p->map_size = map_size(&p->shape);
}

static int make_map(struct ftrace *ft, struct ftrace_profile *p)
{
	set_shape(ft, p, elts_for(ft));
	p->map = session_data_alloc(ft->model->session, p->map_size);
	return p->map ? 0 : -ENOMEM;
}

static int restore_map(struct ftrace *ft, struct ftrace_profile *p, uint32_t elts, data_ref map)
{
	struct session *s = ft->model->session;

	set_shape(ft, p, elts);
	p->map = map;
	if (!session_data(s, p->map, p->map_size) || session_data_restore(s, p->map, p->map_size)) {
		p->map = 0;
		return -EPROTO;
	}
	return 0;
}

/* ---- life ---- */

static void profile_retire(struct session *s, struct ftrace_profile *p)
{
	if (p->code)
		session_config_retire(s, p->code, p->code_size);
	if (p->map)
		session_data_retire(s, p->map, p->map_size);
	if (p->state)
		session_data_retire(s, p->state, sizeof(struct trigger_state));
	free(p);
}

/* elts, map: those of the last server; elts 0: an empty map. NULL: *err */
static struct ftrace_profile *profile_make(struct ftrace *ft, uint32_t elts, data_ref map, int *err)
{
	struct session *s = ft->model->session;
	struct ftrace_profile *p = calloc(1, sizeof(*p));

	*err = p ? 0 : -ENOMEM;
	if (!*err)
		*err = elts ? restore_map(ft, p, elts, map) : make_map(ft, p);
	if (!*err) {
		p->state = session_data_alloc(s, sizeof(struct trigger_state));
		*err = p->state ? make_code(s, p) : -ENOMEM;
	}
	if (!*err)
		return p;
	if (p)
		profile_retire(s, p);
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
	const uint64_t refs[] = { p->map };
	char text[32];

	snprintf(text, sizeof(text), "%d %" PRIu32, ft->profile, p->shape.max_elts);
	return saved_replace(ft->model, ft->model->top, saved_path, text, refs, 1,
				    &ft->profile_saved);
}

/* The ops that traces the functions in the filters of the top instance. */
static struct ftrace_ops *ops_of(struct ftrace *ft)
{
	struct ftrace_instance *fi = ftrace_of_instance(ft->model->top);

	if (!ft->profiled.inst && fi) {
		ft->profiled = (struct ftrace_ops){
			.inst = ft->model->top,
			.kind = FTRACE_OPS_PROFILE,
			.callback = "ftrace_graph_func",
			.hashes = &fi->hashes,
		};
		list_init(&ft->profiled.node);
	}
	return ft->profiled.inst ? &ft->profiled : NULL;
}

static int switch_on(struct ftrace *ft, uint32_t elts, data_ref map)
{
	struct ftrace_ops *ops = ops_of(ft);
	struct ftrace_profile *old = ft->profile_data, *new;
	int err = ops ? 0 : -ENOMEM;

	new = err ? NULL : profile_make(ft, elts, map, &err);
	if (!new)
		return err;
	ft->profile_data = new;
	ft->profile = true;
	err = ftrace_ops_enable(ops);
	if (!err) {
		if (old)
			profile_retire(ft->model->session, old);
		return ftrace_graph_publish(ft->model);
	}
	ft->profile = false;
	ft->profile_data = old;
	profile_retire(ft->model->session, new);
	return err;
}

static int switch_off(struct ftrace *ft)
{
	ft->profile = false;
	ftrace_ops_disable(&ft->profiled);
	return ftrace_graph_publish(ft->model);
}

int ftrace_profile_set(struct ftrace *ft, bool on)
{
	int err;

	if (ft->profile == on)
		return 0;
	err = on ? switch_on(ft, 0, 0) : switch_off(ft);
	return err ? err : profile_keep(ft);
}

int ftrace_profile_restore(struct ftrace *ft, const struct restored *o, const char *text)
{
	uint32_t elts;
	int on, err;

	if (sscanf(text, "%d %" SCNu32, &on, &elts) != 2 || elts < MIN_ELTS ||
	    elts > MAP_MAX_ELTS || (elts & (elts - 1)))
		return -EPROTO;
	err = switch_on(ft, elts, restored_ref(o, 0));
	if (!err && !on)
		err = switch_off(ft);
	return err ? err : profile_keep(ft);
}

void ftrace_profile_arm(const struct ftrace *ft, struct trigger_arm *out)
{
	*out = (struct trigger_arm){
		.kind = TRIGGER_HIST, .flags = TRIGGER_RECORD, .code = ft->profile_data->code,
		.state = ft->profile_data->state,
	};
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

static void profile_print_line(struct ftrace *ft, const struct profile_line *l, FILE *out)
{
	const uint64_t average = l->time / l->calls;
	struct ftrace_page *page;
	const struct ftrace_site *site = ftrace_site_find(ft, l->func, &page);
	const char *name = site ? ftrace_site_name(page, site)
				: symbols_find(ft->model->symbols, l->func, NULL, NULL, NULL);
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

static int read_lines(struct ftrace *ft, struct profile_lines *l)
{
	const struct ftrace_profile *p = ft->profile_data;
	const struct map *m = p ? session_data(ft->model->session, p->map, p->map_size) : NULL;

	/* If a program has spoiled the map, the map counts as empty. */
	if (m && map_each(m, p->map_size, &p->shape, collect, l) == -ENOMEM)
		return -ENOMEM;
	if (l->nr)
		qsort(l->v, l->nr, sizeof(*l->v), profile_compare);
	return 0;
}

uint64_t ftrace_profile_dropped(const struct ftrace *ft)
{
	const struct ftrace_profile *p = ft->profile_data;
	const struct map *m = p ? session_data(ft->model->session, p->map, p->map_size) : NULL;

	return m ? map_drops(m) : 0;
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
	for (size_t i = 0; !err && i < l.nr; i++)
		if (!thresh || l.v[i].time / l.v[i].calls >= thresh)
			profile_print_line(ft, &l.v[i], out);
	free(l.v);
	return err;
}
