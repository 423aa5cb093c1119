/* SPDX-License-Identifier: MIT */
/* dump.c - prints and consumes a whole buffer, for the function commands dump and cpudump */
#include <errno.h>

#include "show/state.h"

static const char rule[] = "---------------------------------\n";

static uint64_t dump_size_of(const struct instance *inst, data_ref buffer)
{
	uint64_t bytes = 0;

	for (uint32_t cpu = 0; buffer && cpu < inst->model->nr_cpus; cpu++)
		bytes += buffer_ring_bytes(inst->model->session, buffer, cpu);
	return bytes;
}

/*
 * The hit that caused the dump has switched tracing off. If it is switched on again meanwhile, new
 * records come, so the dump ends after as many bytes as the buffer holds.
 */
static int dump_records(struct show *s, struct instance *inst, FILE *out)
{
	const data_ref buffer = instance_buffer(inst, 0);
	const uint64_t size = dump_size_of(inst, buffer);
	struct ring_record r;
	unsigned int nr = 0;
	uint64_t done = 0;
	int err = 0;

	while (!err && done < size && (err = ring_consume(s->consumer, buffer, &r)) == 1) {
		if (!nr++)
			fputs(rule, out);
		done += r.size + 4;	/* the header */
		err = show_pipe_print(s, &r, out);
	}
	fputs(nr ? rule : "   (ftrace buffer empty)\n", out);
	return err;
}

int show_dump(struct instance *inst, int cpu, FILE *out)
{
	struct ring_consumer *consumer;
	int err = ring_consumer_open(inst->model->session, cpu, &consumer);
	struct show *s;

	if (err)
		return err;
	s = show_pipe_open(inst, consumer);
	if (s) {
		s->latency = true;
		if (inst->name)
			fprintf(out, "Dumping ftrace instance %s buffer:\n", inst->name);
		else
			fputs("Dumping ftrace buffer:\n", out);
		err = dump_records(s, inst, out);
		show_close(s);
	}
	ring_consumer_close(consumer);
	return s ? err : -ENOMEM;
}
