/* SPDX-License-Identifier: MIT */
/*
 * instance.c - instances: mkdir and rmdir of instances/NAME, and the top
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/errlog.h"
#include "model/event/module.h"
#include "model/ftrace/ftrace.h"
#include "model/instance/options.h"
#include "model/instance/pids.h"
#include "plane/plane.h"
#include "plane/ring/ring.h"

enum { DEFAULT_PERCENT = 50 };

static struct instance_state *state_of(struct model *m, uint32_t index)
{
	return plane_instance(session_plane(m->session), index);
}

/* Of the places `from` .. `to` - 1, the free one that was left before all others; 0: none */
static uint32_t find_free(struct model *m, uint32_t from, uint32_t to)
{
	uint32_t best = 0;

	for (uint32_t i = from; i < to; i++)
		if (!session_instance_used(m->session, i) &&
		    (!best || m->place_left[i] < m->place_left[best]))
			best = i;
	return best;
}

/*
 * A place in instance_state[]; the top has 0. -1: all are taken. The place that was left last is
 * used last, because a hit on its way may still record there. The first places are for
 * function_graph, which has a bit for each of them.
 */
static int find_place(struct model *m)
{
	uint32_t place = find_free(m, 1, LAYOUT_GRAPH_INSTANCES);

	if (!place)
		place = find_free(m, LAYOUT_GRAPH_INSTANCES, LAYOUT_MAX_INSTANCES);
	return place ? (int)place : -1;
}

static void state_init(struct instance *inst)
{
	struct instance_state *st = inst->state;

	memset(st, 0, sizeof(*st));
	for (uint32_t cpu = 0; cpu < inst->model->nr_cpus; cpu++)
		st->cpumask[cpu / 64] |= 1ull << cpu % 64;
	/* Relaxed: no plan names this instance yet. */
	atomic_store_explicit(&st->tracing_on, 1, memory_order_relaxed);
	atomic_store_explicit(&st->flags, INSTANCE_RECORD_CMD | INSTANCE_MARKERS | INSTANCE_PRINTS,
			      memory_order_relaxed);
	session_instance_use(inst->model->session, inst->index, true);
}

/* ---- the staged hits (R28) ---- */

enum { STAGING_PAGE = 64 << 10, STAGING_SETS = 1, SOURCE_SET = 1 };

static int staging_fill(struct instance *inst)
{
	struct session *s = inst->model->session;
	const uint32_t nr = inst->model->nr_cpus;
	uint64_t *bytes = calloc(nr, sizeof(*bytes));
	data_ref made = 0;
	int err = bytes ? 0 : -ENOMEM;

	for (uint32_t cpu = 0; !err && cpu < nr; cpu++)
		bytes[cpu] = STAGING_BYTES;
	if (!err)
		err = buffer_create(s, inst->index, nr, STAGING_PAGE, bytes, STAGING_SETS, true,
				    &made);
	if (!err) {
		err = buffer_add_set(s, made, SOURCE_SET, bytes);
		if (err)
			buffer_free(s, made);
	}
	if (!err)
		buffer_publish(s, inst->index, 0, made);
	free(bytes);
	return err;
}

/* A new server continues with the hits that are staged. */
static int save_staging(struct model *m, uint64_t place)
{
	return saved_add(m, m->top, STAGING_SAVED, "", &place, 1, &m->staging_saved);
}

int instance_make_staging(struct model *m)
{
	/* Relaxed, here and below: only the server stores it, before plans lead there. */
	uint32_t place = atomic_load_explicit(&m->staging, memory_order_relaxed);
	struct instance inst = { .model = m };
	int err;

	if (place)
		return 0;
	/* Not of the first places: function_graph wants them. */
	place = find_free(m, LAYOUT_GRAPH_INSTANCES, LAYOUT_MAX_INSTANCES);
	if (!place)
		return -ENOSPC;
	inst.index = place;
	inst.state = state_of(m, place);
	state_init(&inst);
	err = staging_fill(&inst);
	if (!err) {
		err = model_merged_rings(m);
		if (!err)
			err = save_staging(m, place);
		if (err)
			buffer_publish(m->session, place, 0, 0);
	}
	if (err)
		session_instance_use(m->session, place, false);
	else
		atomic_store_explicit(&m->staging, place, memory_order_relaxed);
	return err;
}

int instance_restore_staging(struct model *m, const struct restored *r)
{
	const uint64_t place = restored_ref(r, 0);
	int err = place && place < LAYOUT_MAX_INSTANCES ?
		buffer_restore(m->session, (uint32_t)place, 0) : -EPROTO;

	if (!err && !buffer_published(m->session, (uint32_t)place, 0))
		err = -ENOENT;
	if (err)
		return err;
	/* Relaxed, both: as above. */
	atomic_store_explicit(&state_of(m, (uint32_t)place)->live, 0, memory_order_relaxed);
	atomic_store_explicit(&m->staging, (uint32_t)place, memory_order_relaxed);
	m->staging_saved = r->id;
	return 0;
}

void instance_drop_staging(struct model *m)
{
	/* Relaxed: as above. */
	const uint32_t place = atomic_load_explicit(&m->staging, memory_order_relaxed);

	if (!place)
		return;
	atomic_store_explicit(&m->staging, 0, memory_order_relaxed);
	saved_remove(m, &m->staging_saved);
	buffer_publish(m->session, place, 0, 0);
	session_instance_use(m->session, place, false);
	m->place_left[place] = ++m->nr_left;
}

/* ---- making an instance ---- */

static void set_unused(struct instance *inst)
{
	session_instance_use(inst->model->session, inst->index, false);
	inst->model->place_left[inst->index] = ++inst->model->nr_left;
}

static void instance_free(struct instance *inst)
{
	if (inst->errlog)
		errlog_destroy(inst->errlog);
	free(inst->buffer_bytes);
	free(inst->sizes_saved);
	if (inst->tracer_state)
		inst->tracer_free(inst);
	free(inst->name);
	free(inst);
}

static struct instance *instance_alloc(struct model *m, const char *name)
{
	struct instance *inst = calloc(1, sizeof(*inst));

	if (!inst)
		return NULL;
	inst->model = m;
	list_init(&inst->node);
	list_init(&inst->files);
	list_init(&inst->choices);
	list_init(&inst->hist_vars);
	inst->name = name ? strdup(name) : NULL;
	inst->tracer_options = options_of_nop();
	inst->errlog = errlog_create();
	inst->buffer_bytes = calloc(m->nr_cpus, sizeof(*inst->buffer_bytes));
	inst->sizes_saved = calloc(m->nr_cpus, sizeof(*inst->sizes_saved));
	inst->options = name ? options_inherited(m->top) : options_default();
	inst->subbuf_size = m->subbuf_size;
	inst->buffer_percent = DEFAULT_PERCENT;
	if ((name && !inst->name) || !inst->errlog || !inst->buffer_bytes ||
	    !inst->sizes_saved) {
		instance_free(inst);
		return NULL;
	}
	return inst;
}

/* Takes over the buffers that programs use already. The commands that set their sizes follow. */
static int instance_restore(struct instance *inst)
{
	for (uint32_t i = 0; i < 2; i++) {
		int err = buffer_restore(inst->model->session, inst->index, i);

		if (err)
			return err;
	}
	/*
	 * The old server died in instance_snapshot_free() while a hit took a snapshot, or it died
	 * in rmdir. Relaxed: as above.
	 */
	if (!instance_buffer(inst, 0) && instance_buffer(inst, 1))
		atomic_fetch_xor_explicit(&inst->state->live, 1, memory_order_relaxed);
	/*
	 * The old server died in rmdir. The removal is completed: all else that is saved of the
	 * instance is refused.
	 */
	if (inst->name && !instance_buffer(inst, 0))
		return -ENOENT;
	/*
	 * There are no readers yet, and the tracer is chosen again. Relaxed: each hit uses the
	 * value that it finds.
	 */
	atomic_fetch_and_explicit(&inst->state->flags,
				  ~(uint32_t)(INSTANCE_MAX_USED | INSTANCE_STOPPED),
				  memory_order_relaxed);
	/* The old server may have died while a reader used pause-on-trace. */
	instance_cpumask_changed(inst);
	return inst->name ? instance_expand(inst) : instance_start_small(inst);
}

/* A new instance has its full size at once. The top waits for its first event. */
static int make_buffers(struct instance *inst)
{
	if (inst->name)
		return instance_expand(inst);
	return instance_start_small(inst);
}

/* A new server has to find its place in instance_state[] again. */
static int save_instance(struct instance *inst)
{
	const uint64_t place = inst->index;
	char *path;
	int err;

	if (asprintf(&path, "instances/%s", inst->name) < 0)
		return -ENOMEM;
	err = saved_add(inst->model, NULL, path, "", &place, 1, &inst->saved);
	free(path);
	return err;
}

/* A new server sets an instance's options by itself: they have saved texts. */
static int born_options(struct instance *inst)
{
	const uint64_t shared = ~0ull << OPTION_TRACER;
	const uint64_t none = 1ull << OPTION_TRACE_PRINTK_DEST | 1ull << OPTION_COPY_TRACE_MARKER;

	if (!inst->model->restoring)
		return options_save(inst);
	inst->options = (options_default() & ~shared & ~none) | (inst->options & shared);
	return 0;
}

static bool is_taken(const struct model *m, uint32_t place)
{
	const struct instance *inst;

	list_each(inst, &m->instances, node)
		if (inst->index == place)
			return true;
	/* Relaxed: as in instance_make_staging(). */
	return place == atomic_load_explicit(&m->staging, memory_order_relaxed);
}

/*
 * The place belongs to no instance, or to one that the old server was making or removing when it
 * died.
 */
static void place_leave(struct model *m, uint32_t place)
{
	struct instance dead = { .model = m, .index = place, .state = state_of(m, place) };

	for (uint32_t i = 0; i < 2; i++)
		buffer_publish(m->session, place, i, 0);
	pids_restored(&dead);
	set_unused(&dead);
}

static bool watches(const struct model *m, uint32_t place)
{
	const struct instance *inst;

	list_each(inst, &m->instances, node)
		if (inst->index == place && inst->max_used)
			return true;
	return false;
}

/*
 * The old server died after a latency tracer had ended and before its watch did: programs would
 * continue to report.
 */
static void sections_restored(struct model *m)
{
	static const uint32_t kinds[SECTION_WATCHES] = { SECTION_CRITICAL,
							SECTION_WAKEUP | SECTION_WAKEUP_RT };
	struct section_control *c = &session_header(m->session)->sections;

	for (int i = 0; i < SECTION_WATCHES; i++) {
		/* Relaxed: only servers store both. */
		if (!(atomic_load_explicit(&c->kinds, memory_order_relaxed) & kinds[i]) ||
		    watches(m, atomic_load_explicit(&c->watch[i].instance, memory_order_relaxed)))
			continue;
		/*
		 * Relaxed: as in running_close(). The release pairs with the acquire in
		 * generation_of() of agent/emit/section.c.
		 */
		atomic_fetch_and_explicit(&c->kinds, ~kinds[i], memory_order_relaxed);
		atomic_fetch_add_explicit(&c->watch[i].generation, 1, memory_order_release);
	}
}

void instances_restored(struct model *m)
{
	struct instance *inst;

	list_each(inst, &m->instances, node) {
		pids_restored(inst);
		/* Hits use an option, but the old server died before it was saved. */
		options_publish(inst);
	}
	sections_restored(m);
	for (uint32_t i = 1; i < LAYOUT_MAX_INSTANCES; i++)
		if (!is_taken(m, i))
			place_leave(m, i);
}

static void drop_buffers(struct instance *inst)
{
	for (uint32_t i = 0; i < 2; i++)
		buffer_publish(inst->model->session, inst->index, i, 0);
}

/* The place of the last server's instance of that name; 0: there was none. */
static int restored_place(const struct model *m, const char *name)
{
	char path[512];
	struct restored r;

	snprintf(path, sizeof(path), "instances/%s", name);
	r = model_restored(m, NULL, path, NULL);
	return (int)restored_ref(&r, 0);
}

int instance_create(struct model *m, const char *name, struct instance **out)
{
	int place = name ? restored_place(m, name) : 0, err;
	struct instance *inst;
	bool restored;

	if (name && instance_find(m, name))
		return -EEXIST;
	if (name && !place)
		place = find_place(m);
	if (place < 0 || place >= LAYOUT_MAX_INSTANCES)
		return -ENOSPC;
	inst = instance_alloc(m, name);
	if (!inst)
		return -ENOMEM;
	inst->number = ++m->instances_made;
	inst->index = (uint32_t)place;
	inst->state = state_of(m, inst->index);
	restored = session_instance_used(m->session, inst->index);
	if (restored) {
		err = instance_restore(inst);
	} else {
		state_init(inst);
		err = make_buffers(inst);
	}
	if (!err && name)
		err = save_instance(inst);
	if (!err && name)
		err = born_options(inst);
	if (err) {
		if (!restored)
			drop_buffers(inst);
		saved_remove(m, &inst->saved);
		/*
		 * Buffers of the last server are freed in instances_restored(), or restored at the
		 * next try.
		 */
		if (!restored || (!name && err != -ENOMEM))
			set_unused(inst);
		instance_free(inst);
		return err;
	}
	list_add_tail(&inst->node, &m->instances);
	*out = inst;
	err = name ? model_arm_internal(m, inst) : 0;
	/* A restored instance keeps its saved texts for the next try. */
	if (err && !m->restoring)
		instance_remove(inst);
	return err;
}

static void forget_sizes(struct instance *inst)
{
	for (uint32_t cpu = 0; cpu < inst->model->nr_cpus; cpu++)
		saved_remove(inst->model, &inst->sizes_saved[cpu]);
}

int instance_remove(struct instance *inst)
{
	struct model *m = inst->model;

	if (inst->refs && !m->closing)
		return -EBUSY;
	ftrace_instance_destroy(inst);
	event_files_destroy(inst);
	event_choices_clear(inst);
	for (int kind = 0; kind < PIDS_KINDS; kind++)
		pids_clear(inst, (enum pids_kind)kind);
	if (!m->closing) {
		drop_buffers(inst);
		for (int i = 0; i < OPTION_COUNT; i++)
			saved_remove(m, &inst->options_saved[i]);
		for (int i = 0; i < SETTING_COUNT; i++)
			saved_remove(m, &inst->settings_saved[i]);
		forget_sizes(inst);
		saved_remove(m, &inst->saved);
		set_unused(inst);
	}
	list_del(&inst->node);
	inst->removed = true;
	if (!inst->holds || m->closing)
		instance_free(inst);
	/* It may have been the last instance with event-fork or function-fork. */
	if (!m->closing)
		options_publish(m->top);
	return 0;
}

void instance_get(struct instance *inst)
{
	inst->holds++;
}

void instance_put(struct instance *inst)
{
	if (!--inst->holds && inst->removed)
		instance_free(inst);
}

struct instance *instance_find(struct model *m, const char *name)
{
	struct instance *inst;

	list_each(inst, &m->instances, node)
		if (inst->name && !strcmp(inst->name, name))
			return inst;
	return NULL;
}

/* Both texts are saved until saved_settle(): whenever the server dies, the next one finds one. */
static int save_begin(struct instance *inst, const char *path, const char *text, uint64_t *id,
		      uint64_t *old)
{
	int err;

	*old = *id;
	err = saved_add(inst->model, inst, path, text, NULL, 0, id);
	if (err)
		*id = *old;
	return err;
}

int instance_save_begin(struct instance *inst, enum setting what, const char *path,
			const char *text, uint64_t *old)
{
	return save_begin(inst, path, text, &inst->settings_saved[what], old);
}

int instance_save_end(struct instance *inst, enum setting what, uint64_t old, int err)
{
	saved_settle(inst->model, &inst->settings_saved[what], old, err);
	return err;
}

int instance_save_size_begin(struct instance *inst, int cpu, const char *kb, uint64_t *old)
{
	char path[48];

	if (cpu < 0)
		return instance_save_begin(inst, SETTING_BUFFER_SIZE, "buffer_size_kb", kb, old);
	snprintf(path, sizeof(path), "per_cpu/cpu%d/buffer_size_kb", cpu);
	return save_begin(inst, path, kb, &inst->sizes_saved[cpu], old);
}

int instance_save_size_end(struct instance *inst, int cpu, uint64_t old, int err)
{
	if (cpu >= 0) {
		saved_settle(inst->model, &inst->sizes_saved[cpu], old, err);
		return err;
	}
	if (!err)
		forget_sizes(inst);
	return instance_save_end(inst, SETTING_BUFFER_SIZE, old, err);
}

int instance_save(struct instance *inst, enum setting what, const char *path, const char *text)
{
	return saved_replace(inst->model, inst, path, text, NULL, 0, &inst->settings_saved[what]);
}
