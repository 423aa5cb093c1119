/* SPDX-License-Identifier: MIT */
/*
 * own_server.h - a session whose server is a thread of the test that attaches to it, with buffers
 * and plans
 */
#ifndef TRACEFUSE_TESTS_OWN_SERVER_H
#define TRACEFUSE_TESTS_OWN_SERVER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "plane/ring/ring.h"
#include "../serve.h"

/* For cmocka, as a group's teardown. */
static inline int server_stop(void **state)
{
	serve_stop();
	session_close(session);
	return 0;
}

/* Gives an entry a plan that records the event in the top instance, or no plan. */
static inline void entry_arm(uint32_t entry, uint32_t event, bool on)
{
	size_t size = sizeof(struct plan) + sizeof(struct arm);
	config_ref ref = on ? session_config_alloc(session, size) : 0;
	struct plan *plan = session_config(session, ref, size);

	if (on) {
		*plan = (struct plan){ .event_id = event, .nr_arms = 1, .size = (uint32_t)size };
		*(struct arm *)(plan + 1) = (struct arm){ .flags = ARM_RECORD };
	}
	session_publish(session,
			(_Atomic uint64_t *)&plane_event(session_plane(session), entry)->plan, ref);
}

static inline data_ref buffer_new(uint64_t bytes_a_cpu)
{
	uint32_t nr_cpus = session_header(session)->nr_cpus;
	uint64_t bytes[LAYOUT_MAX_CPUS];
	data_ref out;

	for (uint32_t i = 0; i < nr_cpus; i++)
		bytes[i] = bytes_a_cpu;
	assert_int_equal(buffer_create(session, 0, nr_cpus, 4096, bytes, 1, true, &out), 0);
	return out;
}

/* Lets the top instance record on all CPUs, with a buffer and a snapshot of this size. */
static inline struct instance_state *instance_start(uint64_t bytes_a_cpu)
{
	struct instance_state *inst = plane_instance(session_plane(session), 0);

	memset(inst->cpumask, 0xff, sizeof(inst->cpumask));
	for (int i = 0; i < 2; i++)
		buffer_publish(session, 0, (uint32_t)i, buffer_new(bytes_a_cpu));
	inst->tracing_on = 1;
	return inst;
}

#endif
