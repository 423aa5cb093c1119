/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "fixture.h"
#include "../ring_nth.h"

struct fixture fixture;

static struct event_state *states[2048][2];

static void instance_make(uint32_t index)
{
	struct instance_state *inst = plane_instance(fixture.p, index);
	uint64_t bytes[2] = { 65536, 65536 };
	data_ref ref;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(
			buffer_create(fixture.session, index, 2, 4096, bytes, 2, true, &ref), 0);
		buffer_publish(fixture.session, index, (uint32_t)i, ref);
	}
	memset(inst->cpumask, 0xff, sizeof(inst->cpumask));
	inst->used = 1;
	inst->tracing_on = 1;
}

int fixture_setup(void **state)
{
	static const struct session_params params = {
		.nr_cpus = 2, .nr_slots = 8, .memory = 64 << 20 };

	if (session_create(NULL, &params, &fixture.session))
		return -1;
	fixture.p = session_plane(fixture.session);
	fixture.slot = session_slot_get(fixture.session);
	memset(states, 0, sizeof(states));
	instance_make(0);
	instance_make(1);
	return 0;
}

int fixture_teardown(void **state)
{
	session_close(fixture.session);
	return 0;
}

void hist_make(struct hist *h, uint32_t key_size, uint32_t nr_sums, uint32_t nr_vars,
	       uint32_t nr_blocks, uint32_t block_size)
{
	struct hist_cell *cell;

	*h = (struct hist){ .shape = { .max_elts = 128,
				     .key_size = key_size,
				     .nr_sums = nr_sums,
				     .nr_vars = nr_vars,
				     .nr_cpus = 2,
				     .nr_slots = 8,
				     .nr_blocks = nr_blocks } };
	for (uint32_t i = 0; i < nr_blocks; i++)
		h->shape.block_size[i] = block_size;
	h->ref = session_data_alloc(fixture.session, map_size(&h->shape));
	h->cell = session_config_alloc(fixture.session, sizeof(*cell));
	cell = session_config(fixture.session, h->cell, sizeof(*cell));
	cell->map = h->ref;
	map_lay_out(&cell->layout, &h->shape);
	h->map = (struct map_view){ &cell->layout,
				    session_data(fixture.session, h->ref, map_size(&h->shape)) };
	assert_non_null(h->map.data);
}

config_ref code_make(const struct hist *h, const struct op *ops, unsigned int nr, uint32_t flags)
{
	size_t size = sizeof(struct code) + nr * sizeof(*ops);
	config_ref ref = session_config_alloc(fixture.session, size);
	struct code *code = session_config(fixture.session, ref, size);

	assert_non_null(code);
	*code = (struct code){ .size = (uint32_t)size, .nr_ops = nr, .flags = flags,
				  .map = h ? h->ref : 0, .key_size = h ? h->shape.key_size : 0 };
	if (h)
		code->layout = *h->map.layout;
	memcpy(code->ops, ops, nr * sizeof(*ops));
	return ref;
}

struct event_state *state_of(uint32_t event, uint32_t instance)
{
	return states[event][instance];
}

static data_ref state_make(uint32_t event, uint32_t instance)
{
	data_ref ref = session_data_alloc(fixture.session, sizeof(struct event_state));

	states[event][instance] = session_data(fixture.session, ref, sizeof(struct event_state));
	states[event][instance]->event_id = event;
	return ref;
}

void plan_make(const struct plan_row *rows, unsigned int nr)
{
	size_t size =
		sizeof(struct plan) + nr * (sizeof(struct arm) + 4 * sizeof(struct trigger_arm));
	config_ref ref = session_config_alloc(fixture.session, size);
	struct plan *plan = session_config(fixture.session, ref, size);
	struct arm *arms = (struct arm *)(plan + 1);
	struct trigger_arm *t = (struct trigger_arm *)(arms + nr);
	uint32_t used = 0;

	*plan = (struct plan){ .event_id = rows[0].event, .nr_arms = nr, .size = (uint32_t)size };
	for (unsigned int i = 0; i < nr; i++) {
		arms[i] = (struct arm){ .instance = rows[i].instance, .flags = rows[i].flags,
					.filter = rows[i].filter, .first_trigger = used,
					.state = state_make(rows[i].event, rows[i].instance),
					.nr_triggers = rows[i].nr_triggers };
		if (rows[i].nr_triggers)
			arms[i].flags |= ARM_NEED_RECORD;
		for (unsigned int k = 0; k < rows[i].nr_triggers; k++)
			t[used++] = (struct trigger_arm){
				.kind = rows[i].triggers[k].kind,
				.code = rows[i].triggers[k].code,
				.filter = rows[i].triggers[k].filter,
				.state = session_data_alloc(fixture.session,
							    sizeof(struct trigger_state)) };
	}
	plan->nr_triggers = used;
	session_publish(fixture.session,
			(_Atomic uint64_t *)&plane_event(fixture.p, rows[0].event)->plan, ref);
}

void plan_hist(uint32_t event, uint32_t flags, config_ref code)
{
	plan_make(&(struct plan_row){ .event = event,
				     .flags = flags,
				     .nr_triggers = code ? 1 : 0,
				     .triggers = { { TRIGGER_HIST, code, 0 } } },
		  1);
}

struct rec rec_make(uint32_t event, uint32_t a)
{
	return (struct rec){
		.common = { .type = (uint16_t)event, .flags = 3, .preempt_count = 1, .pid = 77 },
		.a = a,
		.name = "fifteen-letters",
		.loc = 8 << 16 | offsetof(struct rec, dyn),
		.dyn = "dynamic" };
}

uint64_t fire_rec(const struct rec *r, uint64_t time)
{
	static const uint64_t stack[] = { 0x1000, 0x2000, 0x3000 };
	/* Writer 1 is a recording: it gives the time itself, and has no restartable section. */
	struct hit h = { .record = r, .size = sizeof(*r), .cpu = 1, .time = time, .comm = "tester",
			 .stack = stack, .nr_stack = 3, .writer = 1 };

	return hit(fixture.p, fixture.slot, &h);
}

uint64_t fire_event(uint32_t event, uint32_t a, uint64_t time)
{
	struct rec r = rec_make(event, a);

	return fire_rec(&r, time);
}

struct wanted {
	uint64_t	key, value;
	uint32_t	sum;
};

static int see(void *arg, uint32_t elt, const void *key, const uint64_t *sums)
{
	struct wanted *w = arg;

	if (*(const uint64_t *)key == w->key)
		w->value = sums[w->sum];
	return 0;
}

uint64_t sum_of_key(const struct hist *h, uint64_t key, uint32_t sum)
{
	struct wanted w = { .key = key, .sum = sum };

	assert_int_equal(map_each(h->map.data, map_size(&h->shape), &h->shape, see, &w), 0);
	return w.value;
}

static struct ring_iter *iter_of(uint32_t instance, int snapshot)
{
	struct instance_state *inst = plane_instance(fixture.p, instance);
	struct ring_iter *it = NULL;

	assert_int_equal(ring_iter_open(fixture.session, inst->buffers[(inst->live & 1) ^ snapshot],
					-1, &it),
			 0);
	return it;
}

const char *ring_text(uint32_t instance, int snapshot)
{
	static char text[4096];
	struct ring_iter *it = iter_of(instance, snapshot);
	struct ring_record r;

	text[0] = 0;
	while (ring_iter_next(it, &r) > 0) {
		uint16_t type = ((const struct record_common *)r.record)->type;
		size_t len = strlen(text);

		if (type == LAYOUT_STACK_ID)
			snprintf(text + len, sizeof(text) - len, "s ");
		else
			snprintf(text + len, sizeof(text) - len, "%u@%lu ", type,
				 (unsigned long)r.time);
	}
	ring_iter_close(it);
	return text;
}

uint32_t ring_nth(uint32_t instance, unsigned int n, void *out, uint32_t room)
{
	return ring_nth_of(iter_of(instance, 0), n, out, room);
}
