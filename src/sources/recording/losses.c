/* SPDX-License-Identifier: MIT */
/* losses.c - counts lost events: in the recording itself, and in the session's rings */
#include <inttypes.h>

#include "plane/ring/ring.h"
#include "sources/recording/source_state.h"

/* The records that the rings of an instance's live buffer had no room for. */
static uint64_t ring_losses(const struct source *src, const struct instance *inst)
{
	struct ring_stats stats;
	data_ref buffer;
	uint64_t lost = 0;
	uint32_t cpu;

	buffer = instance_buffer(inst, 0);
	if (!buffer)
		return 0;
	for (cpu = 0; cpu < src->nr_cpus; cpu++)
		if (!buffer_stats(src->model->session, buffer, cpu, &stats))
			lost += stats.overrun + stats.dropped;
	return lost;
}

uint64_t source_print_losses(const struct source *src, FILE *out)
{
	struct source_position pos;
	struct instance *inst;
	uint64_t lost, all;

	source_position(src, &pos);
	all = pos.lost;
	if (pos.lost)
		fprintf(out,
			"%" PRIu64 " events are missing in the recording: lost when it was made\n",
			pos.lost);
	if (src->names.forgot)
		fprintf(out, "some names of tasks are older ones, or missing: they are "
			SOURCE_MEMORY_TEXT "\n");
	list_each(inst, &src->model->instances, node) {
		lost = ring_losses(src, inst);
		all += lost;
		if (lost)
			fprintf(out, "%" PRIu64 " records were lost in the buffer of %s%s: "
				"see buffer_size_kb%s\n",
				lost, inst->name ? "instance " : "the session",
				inst->name ? inst->name : "",
				src->rings_cut ? ", --memory" : "");
	}
	return all;
}
