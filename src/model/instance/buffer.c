/* SPDX-License-Identifier: MIT */
/*
 * buffer.c - the rings of an instance: size, sub-buffer size, snapshot, clear
 *
 * A change of size makes a new buffer and retires the old one (R6). As in the kernel, a resized
 * buffer keeps the records that fit; a buffer with a new sub-buffer size is empty.
 *
 * B1  The server's own book says which buffers exist (buffer_published()), not the data region.
 *     Hits flip state->live, too, but no buffer is freed by that, and each ring orders its own
 *     records (G3). So all loads here and both flips are relaxed. The store that takes a buffer
 *     away is not.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "model/instance/options.h"
#include "plane/clock.h"
#include "plane/ring/ring.h"

enum { SOURCE_SET = 1, MERGED_SET = 2, SMALL = 2, UNASKED_MAX = 16 << 20, PAGE_HEADER = 16 };

data_ref instance_buffer_at(const struct instance *inst, uint32_t which)
{
	return buffer_published(inst->model->session, inst->index, which);
}

data_ref instance_buffer(const struct instance *inst, int snapshot)
{
	/* B1 */
	uint32_t live = atomic_load_explicit(&inst->state->live, memory_order_relaxed) & 1;

	return instance_buffer_at(inst, live ^ (uint32_t)snapshot);
}

static bool overwrites(const struct instance *inst)
{
	return options_test(inst->options, OPTION_OVERWRITE);
}

/*
 * Where no event was ever enabled, the buffer only has the source's own internal records. Large
 * rings for them must be worth their memory.
 */
static bool holds_all(const struct instance *inst)
{
	const struct model *m = inst->model;
	uint64_t total = 0;

	for (uint32_t cpu = 0; cpu < m->nr_cpus; cpu++)
		total += m->source_bytes[cpu];
	return inst->expanded || total <= UNASKED_MAX;
}

/*
 * A source's rings get room for all its records, unless the user has set a size. They are never
 * smaller than promised, because triggers may make records of its events.
 */
static int add_source_rings(struct instance *inst, const uint64_t *promised, data_ref buffer)
{
	const struct model *m = inst->model;
	uint64_t *bytes;
	int err;

	if (!m->source_bytes || !m->source_runs)
		return 0;
	bytes = calloc(m->nr_cpus, sizeof(*bytes));
	if (!bytes)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < m->nr_cpus; cpu++) {
		bytes[cpu] = SMALL * inst->subbuf_size;
		if (inst->sized)
			bytes[cpu] = promised[cpu];
		else if (holds_all(inst))
			bytes[cpu] = m->source_bytes[cpu];
		if (inst->expanded && bytes[cpu] < promised[cpu])
			bytes[cpu] = promised[cpu];
	}
	err = buffer_add_set(m->session, buffer, SOURCE_SET, bytes);
	/* Relaxed: only the server stores it. */
	if (!err && atomic_load_explicit(&m->staging, memory_order_relaxed))
		err = buffer_add_set(m->session, buffer, MERGED_SET, bytes);
	free(bytes);
	return err;
}

int model_merged_rings(struct model *m)
{
	struct instance *inst;
	int err = 0;

	list_each(inst, &m->instances, node) {
		for (uint32_t i = 0; i < 2 && !err; i++) {
			const data_ref buffer = instance_buffer_at(inst, i);

			if (buffer)
				err = buffer_add_set(m->session, buffer, MERGED_SET,
						     inst->buffer_bytes);
		}
		instance_cpumask_changed(inst);
	}
	return err;
}

/* Which CPUs the buffer records: tracing_cpumask, and none while the instance is stopped. */
static void set_recording(struct instance *inst, data_ref b)
{
	const bool stopped = inst->stopped && !inst->sections_live;

	for (uint32_t cpu = 0; cpu < inst->model->nr_cpus; cpu++)
		buffer_set_cpu_recording(inst->model->session, b, cpu,
					 !stopped &&
					 (inst->state->cpumask[cpu / 64] >> cpu % 64 & 1));
}

static int make_buffer(struct instance *inst, const uint64_t *bytes, data_ref *out)
{
	struct session *s = inst->model->session;
	int err = buffer_create(s, inst->index, inst->model->nr_cpus, inst->subbuf_size, bytes, 1,
				overwrites(inst), out);

	if (err)
		return err;
	err = add_source_rings(inst, bytes, *out);
	if (err)
		buffer_free(s, *out);
	else
		set_recording(inst, *out);	/* before hits find it */
	return err;
}

/*
 * Makes new rings of the given sizes for both buffers. If there is no memory, nothing is changed.
 */
static int buffer_replace(struct instance *inst, const uint64_t *bytes)
{
	data_ref made[2] = { 0, 0 };
	/* B1. With one buffer no hit flips; with two, both are needed. */
	const uint32_t live = atomic_load_explicit(&inst->state->live, memory_order_relaxed) & 1;

	for (uint32_t i = 0; i < 2; i++) {
		bool wanted = i == live || instance_buffer_at(inst, i);
		int err = wanted ? make_buffer(inst, bytes, &made[i]) : 0;

		if (err) {
			if (i && made[0])
				buffer_free(inst->model->session, made[0]);
			return err;
		}
	}
	for (uint32_t i = 0; i < 2; i++)
		if (made[i])
			buffer_publish(inst->model->session, inst->index, i, made[i]);
	return 0;
}

/* The bytes in whole sub-buffers, at least two. Wraps around as the kernel's does. */
static uint64_t whole_pages(const struct instance *inst, uint64_t bytes)
{
	uint64_t payload = inst->subbuf_size - PAGE_HEADER, pages = (bytes + payload - 1) / payload;

	return (pages < 2 ? 2 : pages) * payload;
}

/* What a new size of a CPU makes of all sizes; the caller frees. NULL: no memory */
static uint64_t *sizes_with(const struct instance *inst, int cpu, uint64_t bytes)
{
	const uint32_t nr = inst->model->nr_cpus;
	uint64_t *sizes = malloc(nr * sizeof(*sizes));

	for (uint32_t i = 0; sizes && i < nr; i++)
		sizes[i] = cpu < 0 || (uint32_t)cpu == i ? whole_pages(inst, bytes)
							 : inst->buffer_bytes[i];
	return sizes;
}

/* The rings come from the last server, and so does the command that set them. */
static bool restores(const struct instance *inst)
{
	return inst->model->restoring || (!inst->model->top && instance_buffer(inst, 0));
}

/* Makes new rings if a size changes, or if `anyway` is true. */
static int resize(struct instance *inst, int cpu, uint64_t bytes, bool anyway)
{
	const uint32_t nr = inst->model->nr_cpus;
	uint64_t *sizes = sizes_with(inst, cpu, bytes);
	int err = 0;

	if (!sizes)
		return -ENOMEM;
	/* A new server takes over the rings unchanged. */
	if (!restores(inst) && (anyway || !instance_buffer(inst, 0) ||
				memcmp(sizes, inst->buffer_bytes, nr * sizeof(*sizes))))
		err = buffer_replace(inst, sizes);
	if (!err)
		memcpy(inst->buffer_bytes, sizes, nr * sizeof(*sizes));
	free(sizes);
	return err;
}

int instance_resize(struct instance *inst, int cpu, uint64_t bytes)
{
	const bool expanded = inst->expanded, sized = inst->sized;
	int err;

	if (inst->readers)
		return -EBUSY;
	inst->expanded = inst->sized = true;
	err = resize(inst, cpu, bytes, !sized);
	if (err) {
		inst->expanded = expanded;
		inst->sized = sized;
	}
	return err;
}

static uint32_t buffers_of(const struct instance *inst)
{
	return instance_buffer(inst, 1) ? 2 : 1;
}

/* R35: buffers of these sizes will be made. */
static bool buffers_prepare(const struct instance *inst, const uint64_t *bytes, uint32_t subbuf,
			    uint32_t buffers)
{
	const uint32_t nr = inst->model->nr_cpus, rings = nr * buffers;
	uint64_t *sizes = calloc(rings, 2 * sizeof(*sizes));
	bool more;

	for (uint32_t i = 0; sizes && i < rings; i++)
		ring_memory_for(bytes[i % nr], subbuf, &sizes[2 * i]);
	more = sizes && session_data_prepare(inst->model->session, sizes, 2ul * rings);
	free(sizes);
	return more;
}

bool instance_resize_prepare(const struct instance *inst, int cpu, uint64_t bytes)
{
	uint64_t *sizes = inst->readers || restores(inst) ? NULL : sizes_with(inst, cpu, bytes);
	const size_t len = inst->model->nr_cpus * sizeof(*sizes);
	const bool changes = sizes && (!inst->sized || memcmp(sizes, inst->buffer_bytes, len));
	const bool more =
		changes && buffers_prepare(inst, sizes, inst->subbuf_size, buffers_of(inst));

	free(sizes);
	return more;
}

bool instance_subbuf_prepare(const struct instance *inst, uint32_t bytes)
{
	return bytes != inst->subbuf_size && !inst->readers && !inst->drainers && !restores(inst) &&
	       buffers_prepare(inst, inst->buffer_bytes, bytes, buffers_of(inst));
}

bool instance_snapshot_prepare(const struct instance *inst)
{
	return !restores(inst) && inst->expanded && !instance_buffer(inst, 1) &&
	       buffers_prepare(inst, inst->buffer_bytes, inst->subbuf_size, 1);
}

int instance_start_small(struct instance *inst)
{
	return resize(inst, -1, 1, true);
}

int instance_expand(struct instance *inst)
{
	int err;

	if (inst->expanded)
		return 0;
	inst->expanded = true;
	err = resize(inst, -1, inst->model->default_buffer_bytes, true);
	if (err)
		inst->expanded = false;
	/* Choosing a tracer expands the rings. Instances have full rings from the start. */
	return err || inst->name ? err
				 : instance_save(inst, SETTING_EXPANDED, "current_tracer", "nop");
}

int instance_set_subbuf_size(struct instance *inst, uint32_t bytes)
{
	uint32_t old = inst->subbuf_size;
	int err;

	if (bytes == old)
		return 0;
	if (inst->readers || inst->drainers)
		return -EBUSY;
	inst->subbuf_size = bytes;
	err = restores(inst) ? 0 : buffer_replace(inst, inst->buffer_bytes);
	if (err)
		inst->subbuf_size = old;
	else if (inst->tracer_clear && !restores(inst))
		inst->tracer_clear(inst, -1);
	return err;
}

void instance_restart_time(struct instance *inst)
{
	const struct model *m = inst->model;

	inst->time_start =
		m->imported ? 0 : clock_now(&session_header(m->session)->tsc, inst->state);
}

void instance_clear(struct instance *inst)
{
	for (uint32_t i = 0; i < 2; i++) {
		/* instance_buffer() would not do: a hit may swap the buffers in between. */
		data_ref b = instance_buffer_at(inst, i);

		if (b)
			buffer_clear(inst->model->session, b, -1);
	}
	if (inst->tracer_clear)
		inst->tracer_clear(inst, -1);
}

void instance_drop_kept(struct instance *inst)
{
	if (inst->readers || inst->raw_readers || inst->drainers)
		return;
	for (uint32_t i = 0; i < 2; i++)
		buffer_drop_kept(inst->model->session, instance_buffer_at(inst, i));
}

int instance_snapshot_alloc(struct instance *inst)
{
	/* B1. The caller has one buffer, so no hit flips. */
	uint32_t other = !(atomic_load_explicit(&inst->state->live, memory_order_relaxed) & 1);
	data_ref made;
	int err;

	if (instance_buffer(inst, 1))
		return 0;
	err = make_buffer(inst, inst->buffer_bytes, &made);
	if (err)
		return err;
	buffer_publish(inst->model->session, inst->index, other, made);
	return 0;
}

/*
 * A hit swaps by a compare-and-swap after it has seen the other buffer. The exchange with a new
 * number makes that fail. If a hit has swapped just before, the buffers are swapped back.
 */
void instance_snapshot_free(struct instance *inst)
{
	_Atomic uint32_t *word = &inst->state->live;
	/* B1; the exchange checks it again */
	uint32_t live = atomic_load_explicit(word, memory_order_relaxed);
	const uint32_t stays = live & 1;

	if (!instance_buffer_at(inst, !stays))
		return;
	buffer_publish(inst->model->session, inst->index, !stays, 0);
	/*
	 * Release: pairs with the acquires in hit_take_snapshot() and in report() of
	 * agent/emit/section.c.
	 */
	while (!atomic_compare_exchange_weak_explicit(
		word, &live, live_make(live_number(live) + 1, live_report(live), stays),
		memory_order_release, memory_order_relaxed))
		;
}

int instance_snapshot_take(struct instance *inst, int cpu)
{
	int err = instance_snapshot_alloc(inst);

	if (err)
		return err;
	/*
	 * The other buffer exists now, but while a reader has stopped the rings the two are not
	 * swapped.
	 */
	if (inst->stopped)
		return 0;
	if (cpu >= 0) {
		data_ref live = instance_buffer(inst, 0);
		const data_ref first = instance_buffer_at(inst, 0),
			       second = instance_buffer_at(inst, 1);

		return buffer_swap_cpu(inst->model->session, live, live == first ? second : first,
				       (uint32_t)cpu);
	}
	/* B1, as in hit_take_snapshot(); `snapshots` is a count. */
	atomic_fetch_xor_explicit(&inst->state->live, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&inst->state->snapshots, 1, memory_order_relaxed);
	return 0;
}

void instance_cpumask_changed(struct instance *inst)
{
	for (uint32_t i = 0; i < 2; i++) {
		data_ref b = instance_buffer_at(inst, i);

		if (b)
			set_recording(inst, b);
	}
}

/* Sections have to know it: programs report none meanwhile, and so do not swap buffers. */
static void tell_stopped(struct instance *inst)
{
	if (inst->model->take_sections)
		inst->model->take_sections(inst->model);
}

void instance_stop(struct instance *inst)
{
	if (inst->stopped++)
		return;
	options_publish(inst);
	tell_stopped(inst);
	instance_cpumask_changed(inst);
}

void instance_go_on(struct instance *inst)
{
	if (--inst->stopped)
		return;
	options_publish(inst);
	instance_cpumask_changed(inst);
	tell_stopped(inst);
}

int model_source_rings(struct model *m)
{
	struct instance *inst;
	data_ref buffer;
	int err = 0;

	if (m->source_runs || !m->source_bytes)
		return 0;
	m->source_runs = true;
	/* Rings are added to the existing buffers: markers written before stay. */
	list_each(inst, &m->instances, node) {
		for (int i = 0; i < 2 && !err; i++) {
			buffer = instance_buffer(inst, i);
			err = buffer ? add_source_rings(inst, inst->buffer_bytes, buffer) : 0;
		}
		instance_cpumask_changed(inst);
		if (err)
			break;
	}
	m->source_runs = !err;
	return err;
}
