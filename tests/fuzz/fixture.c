/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "model/symbols.h"
#include "plane/plane.h"
#include "fixture.h"

enum { TEXT_MAX = 4095 };

const struct fixture *fixture(const char *system, const char *format)
{
	static struct fixture w;
	struct session_params params = { .nr_cpus = WORLD_CPUS,
					 .nr_slots = 8,
					 .memory = 512 << 20 };

	if (w.slot)
		return &w;
	if (session_create(NULL, &params, &w.session) || model_create(w.session, &w.model) ||
	    model_add_event(w.model, system, format, strlen(format), &w.event))
		abort();
	symbols_add(w.model->symbols, 0x1000, 't', "f", NULL);
	symbols_add(w.model->symbols, 0x2000, 't', "g", NULL);
	w.slot = session_slot_get(w.session);
	return &w;
}

void fixture_reclaim(const struct fixture *w)
{
	while (session_reclaim(w->session))
		;
}

struct input input_split(const uint8_t *data, size_t size, size_t record_max)
{
	size_t len = strnlen((const char *)data, size < TEXT_MAX ? size : TEXT_MAX);
	size_t at = len + (len < size), rest = size - at;

	return (struct input){ .text = strndup((const char *)data, len), .record = data + at,
			       .size = rest < record_max ? rest : record_max };
}

void fixture_hits(const struct fixture *w, const struct input *in)
{
	const char comm[LAYOUT_COMM_LEN] = "somebody";
	const uint64_t stack[2] = { 0x1004, 0x2008 };

	for (size_t len = sizeof(struct record_common); len <= in->size; len++) {
		struct record_common *copy = malloc(len);
		struct hit h = { .record = copy,
				.size = (uint32_t)len,
				.cpu = (uint32_t)len % WORLD_CPUS,
				.comm = comm,
				.time = len * 1000,
				.stack = stack,
				.nr_stack = len % 3 };

		memcpy(copy, in->record, len);
		copy->type = WORLD_EVENT_ID;
		hit(session_plane(w->session), w->slot, &h);
		free(copy);
	}
}
