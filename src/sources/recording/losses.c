/* SPDX-License-Identifier: MIT */
/*
 * losses.c - counts lost events: in the recording itself, and in the session's rings; says which
 * names may be wrong
 */
#include <inttypes.h>
#include <string.h>

#include "plane/ring/ring.h"
#include "sources/recording/source_state.h"

enum { KILO = 1024 };

/* What all records of a ring would have taken, and some room for the ends of sub-buffers. */
static uint64_t ring_needed(const struct ring_stats *stats)
{
	const double all = (double)(stats->entries + stats->overrun + stats->dropped);

	if (!stats->entries)
		return 0;
	return (uint64_t)((double)stats->bytes / (double)stats->entries * all * 1.25) + 64 * KILO;
}

/*
 * The records that the rings of an instance's live buffer had no room for. *needed: the size for
 * each CPU that has room for all.
 */
static uint64_t ring_losses(const struct source *src, const struct instance *inst,
			    uint64_t *needed)
{
	struct ring_stats stats;
	data_ref buffer;
	uint64_t lost = 0;
	uint32_t cpu;

	*needed = 0;
	buffer = instance_buffer(inst, 0);
	if (!buffer)
		return 0;
	for (cpu = 0; cpu < src->nr_cpus; cpu++)
		if (!buffer_stats(src->model->session, buffer, cpu, &stats)) {
			const uint64_t most = ring_needed(&stats);

			lost += stats.overrun + stats.dropped;
			*needed = most > *needed ? most : *needed;
		}
	return lost;
}

/* --buffer-size is that of the top instance. */
static void print_ring_losses(const struct source *src, const struct instance *inst, FILE *out,
			      uint64_t lost, uint64_t needed)
{
	fprintf(out, "%" PRIu64 " records were lost in the buffer of ", lost);
	if (inst->name)
		fprintf(out, "instance %s: see its buffer_size_kb", inst->name);
	else
		fprintf(out, "the session: --buffer-size %" PRIu64 "K has room for all",
			(needed + KILO - 1) / KILO);
	fputs(src->rings_cut ? "; see --memory, too\n" : "\n", out);
}

/* There is one table of tasks and one of symbols. */
static void print_mixed_names(const struct source *src, FILE *out)
{
	struct trace_dat *const *files = src->window.files;

	for (unsigned int i = 1; i < src->window.nr_files; i++)
		if (files[0]->uname && files[i]->uname &&
		    strcmp(files[0]->uname, files[i]->uname))
			fprintf(out, "%s is of another machine: where it has the same pids or "
				"addresses, the names are those of %s\n",
				files[i]->path, files[0]->path);
}

uint64_t source_print_losses(const struct source *src, FILE *out)
{
	struct source_position pos;
	struct instance *inst;
	uint64_t lost, needed, all;

	source_position(src, &pos);
	all = pos.lost;
	if (pos.lost)
		fprintf(out,
			"%" PRIu64 " events are missing in the recording: lost when it was made\n",
			pos.lost);
	if (src->names.forgot)
		fprintf(out, "some names of tasks are older ones, or missing: they are "
			SOURCE_MEMORY_TEXT "\n");
	print_mixed_names(src, out);
	list_each(inst, &src->model->instances, node) {
		lost = ring_losses(src, inst, &needed);
		all += lost;
		if (lost)
			print_ring_losses(src, inst, out, lost, needed);
	}
	return all;
}
