/* SPDX-License-Identifier: MIT */
/*
 * fixture.h - what the benches of the data plane share: a session, an armed event
 */
#ifndef TRACEFUSE_BENCH_FIXTURE_H
#define TRACEFUSE_BENCH_FIXTURE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "measure.h"
#include "plane/map/map.h"
#include "plane/plane.h"
#include "plane/code.h"
#include "plane/ring/ring.h"
#include "session/session.h"

enum { BENCH_EVENT = 300 };

struct bench_record {
	struct record_common common;
	uint32_t	a, b;
	char		name[16];
};

static inline void bench_fail(const char *what)
{
	fprintf(stderr, "bench: %s\n", what);
	exit(1);
}

static inline struct session *bench_session(void)
{
	struct session *s;
	int err = session_create(NULL, NULL, &s);

	if (err)
		bench_fail(session_error(err));
	return s;
}

/* Instance 0 with a ring of 1 MiB a CPU that overwrites. */
static inline void bench_instance(struct session *s)
{
	struct instance_state *inst = plane_instance(session_plane(s), 0);
	uint32_t nr_cpus = session_header(s)->nr_cpus;
	uint64_t bytes[LAYOUT_MAX_CPUS];
	data_ref buffer;

	for (uint32_t i = 0; i < nr_cpus; i++)
		bytes[i] = 1 << 20;
	if (buffer_create(s, 0, nr_cpus, 4096, bytes, 1, true, &buffer))
		bench_fail("no buffer");
	session_publish(s, &inst->buffers[0], buffer);
	memset(inst->cpumask, 0xff, sizeof(inst->cpumask));
	inst->tracing_on = 1;
}

/* A map of that shape for `code`; its cell. */
static inline config_ref bench_map(struct session *s, struct code *code, struct map_shape shape)
{
	config_ref ref = session_config_alloc(s, sizeof(struct hist_cell));
	struct hist_cell *cell = session_config(s, ref, sizeof(*cell));

	code->map = session_data_alloc(s, map_size(&shape));
	if (!cell || !code->map)
		bench_fail("no memory for a map");
	map_lay_out(&code->layout, &shape);
	cell->layout = code->layout;
	cell->map = code->map;
	return ref;
}

/* Arms the event: into the ring (with a filter, not 0), or with a histogram's code (not 0). */
static inline void bench_arm_event(struct session *s, uint32_t event, config_ref filter,
				   config_ref program)
{
	size_t size = sizeof(struct plan) + sizeof(struct arm) + sizeof(struct trigger_arm);
	config_ref ref = session_config_alloc(s, size);
	struct plan *plan = session_config(s, ref, size);
	struct arm *arm = (struct arm *)(plan + 1);
	struct trigger_arm *t = (struct trigger_arm *)(arm + 1);

	*plan = (struct plan){ .event_id = event, .nr_arms = 1, .nr_triggers = 1,
		.size = (uint32_t)size };
	*arm = (struct arm){ .flags = program ? ARM_NEED_RECORD : ARM_RECORD, .filter = filter,
			     .nr_triggers = program ? 1 : 0 };
	*t = (struct trigger_arm){ .kind = TRIGGER_HIST, .code = program,
				   .state = session_data_alloc(s, sizeof(struct trigger_state)) };
	session_publish(s, (_Atomic uint64_t *)&plane_event(session_plane(s), event)->plan, ref);
}

static inline void bench_arm(struct session *s, config_ref filter, config_ref program)
{
	bench_arm_event(s, BENCH_EVENT, filter, program);
}

#endif
