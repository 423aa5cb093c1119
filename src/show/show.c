/* SPDX-License-Identifier: MIT */
/*
 * show.c - readers: from the ring's records to bytes of text
 *
 * A reader is one record ahead: the delay column needs the time of the next.
 */
#include <errno.h>
#include <stdlib.h>

#include "show/state.h"
#include "model/section.h"
#include "model/tracer.h"

enum { SHOW_CHUNK = 64 * 1024 };

static void take_options(struct show *s)
{
	s->options = s->inst->options;
	s->latency = show_option(s, OPTION_LATENCY_FORMAT);
	s->in_ns = instance_clock_in_ns(s->inst);
	s->env.hash_ptr = show_option(s, OPTION_HASH_PTR);
	s->env.bitmask_list = show_option(s, OPTION_BITMASK_LIST);
}

static struct show *show_create(struct instance *inst)
{
	struct show *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->inst = inst;
	s->model = inst->model;
	s->tracer = tracer_current(inst);
	s->cpu = -1;
	s->index = -1;
	s->env.symbols = s->model->symbols;
	s->env.long_size = 8;
	s->env.strings = s->model->strings;
	take_options(s);
	if (s->tracer->open && s->tracer->open(s)) {
		free(s);
		return NULL;
	}
	return s;
}

void show_close(struct show *s)
{
	if (!s)
		return;
	if (s->tracer->close)
		s->tracer->close(s);
	if (s->iter)
		ring_iter_close(s->iter);
	section_put(s->section);
	show_events_free(s);
	text_free(&s->text);
	text_free(&s->env.scratch);
	free(s->record[0].bytes);
	free(s->record[1].bytes);
	free(s);
}

/* ---- trace, snapshot ---- */

static int copy_record(struct show_record *to, const struct ring_record *from)
{
	uint8_t *bytes;

	if (to->room < from->size) {
		bytes = realloc(to->bytes, from->size);
		if (!bytes)
			return -ENOMEM;
		to->bytes = bytes;
		to->room = from->size;
	}
	memcpy(to->bytes, from->record, from->size);
	to->at = (struct print_record){ .data = to->bytes, .size = from->size };
	to->cpu = from->cpu;
	to->time = from->time;
	to->lost = from->lost;
	return 0;
}

/* Finds the section's next record of the CPU. False: there is none. */
static bool find_in_section(struct show *s, int cpu, struct ring_record *out)
{
	while (section_record(s->section, s->section_next, out)) {
		if (cpu < 0 || out->cpu == (uint32_t)cpu)
			return true;
		s->section_next++;
	}
	return false;
}

static int next_record(struct show *s, struct ring_record *out)
{
	int ret;

	if (!s->section)
		return s->iter ? ring_iter_next(s->iter, out) : 0;
	ret = find_in_section(s, s->cpu, out);
	s->section_next += ret;
	return ret;
}

static void fetch(struct show *s)
{
	struct ring_record r;
	int ret = next_record(s, &r);

	s->have_next = false;
	if (ret > 0)
		ret = copy_record(&s->record[!s->present], &r) ? -ENOMEM : 1;
	s->have_next = ret > 0;
	if (ret < 0)
		s->err = ret;
}

/* Makes the next record the present one, and fetches the record behind it. */
static void advance(struct show *s)
{
	s->present ^= 1;
	s->have = s->have_next;
	fetch(s);
}

bool show_peek_cpu(struct show *s, uint32_t cpu, struct show_record *out)
{
	struct ring_record r;
	bool found;

	if (!s->pipe && s->have_next && s->record[!s->present].cpu == cpu) {
		*out = s->record[!s->present];
		return true;
	}
	if (s->pipe)
		found = s->consumer && ring_peek_cpu(s->consumer, cpu, &r);
	else if (s->section)
		found = find_in_section(s, s->cpu, &r) && r.cpu == cpu;
	else
		found = s->iter && ring_iter_peek_cpu(s->iter, cpu, &r);
	if (found)
		*out = (struct show_record){
			.at = { .data = r.record, .size = r.size },
			.cpu = r.cpu,
			.time = r.time,
			.lost = r.lost,
		};
	return found;
}

void show_skip_cpu(struct show *s, uint32_t cpu)
{
	if (s->pipe)
		ring_take_cpu(s->consumer, cpu);
	else if (s->have_next && s->record[!s->present].cpu == cpu)
		fetch(s);
	else if (s->section)
		s->section_next++;
	else
		ring_iter_skip_cpu(s->iter, cpu);
}

static bool has_overruns(struct show *s, data_ref buffer)
{
	struct ring_stats stats;
	uint32_t cpu;

	for (cpu = 0; cpu < s->model->nr_cpus; cpu++)
		if (!buffer_stats(s->model->session, buffer, cpu, &stats) && stats.overrun)
			return true;
	return false;
}

int show_buffer_open(struct instance *inst, int snapshot, int cpu, struct show **out)
{
	const bool print_max = !snapshot && tracer_current(inst)->print_max;
	data_ref buffer = instance_buffer(inst, snapshot || print_max);
	struct show *s = show_create(inst);
	int ret = 0;

	if (!s)
		return -ENOMEM;
	s->snapshot = snapshot || print_max;
	s->print_max = print_max;
	if (s->snapshot && s->tracer->section)
		s->section = s->tracer->section(inst);
	if (!s->snapshot)
		s->time_start = inst->time_start;
	else if (s->section)
		s->time_start = s->section->time_start;
	s->annotate = s->section && s->section->lost;
	s->cpu = cpu;
	/* If the tracer has sections, only they are shown. */
	if (buffer && !(s->snapshot && s->tracer->section)) {
		s->annotate = has_overruns(s, buffer);
		ret = ring_iter_open(s->model->session, buffer, cpu, &s->iter);
	}
	if (ret) {
		show_close(s);
		return ret;
	}
	advance(s);
	*out = s;
	return 0;
}

int show_calls_open(struct instance *inst, int cpu, struct show **out)
{
	const int err = show_buffer_open(inst, 0, cpu, out);

	if (!err)
		(*out)->all_calls = true;
	return err;
}

/* Makes the text of the header or of the next record. False: there is nothing more. */
static bool produce(struct show *s)
{
	const struct show_record *r;

	if (!s->header) {
		s->header = true;
		show_header(s, !s->have_next);
		advance(s);
		return true;
	}
	if (!s->have)
		return false;
	r = &s->record[s->present];
	s->index++;
	show_one(s, r, s->have_next ? s->record[!s->present].time : r->time);
	advance(s);
	return true;
}

static int fill(struct show *s)
{
	s->text.len = 0;
	while (!s->err && s->text.len < SHOW_CHUNK && produce(s))
		if (s->text.failed)
			s->err = -ENOMEM;
	model_step(s->model);
	return s->text.len ? 0 : s->err;
}

int show_buffer_piece(struct show *s, FILE *out)
{
	int err = fill(s);

	if (err || !s->text.len)
		return err;
	if (fwrite(s->text.bytes, 1, s->text.len, out) != s->text.len)
		return -ENOMEM;
	return s->have || s->err;
}

int show_buffer(struct instance *inst, int snapshot, int cpu, FILE *out)
{
	struct show *s;
	int rc = show_buffer_open(inst, snapshot, cpu, &s);

	if (rc)
		return rc;
	while ((rc = show_buffer_piece(s, out)) == 1)
		;
	show_close(s);
	return rc;
}

/* ---- trace_pipe ---- */

struct show *show_pipe_open(struct instance *inst, struct ring_consumer *consumer)
{
	struct show *s = show_create(inst);

	if (!s)
		return NULL;
	s->pipe = true;
	s->index = 0;
	s->time_start = inst->time_start;
	s->consumer = consumer;
	return s;
}

void show_pipe_restart(struct show *s)
{
	s->index = 0;	/* the first is 1 there */
	/* Symbols may have been added since. */
	memset(s->env.memo, 0, sizeof(s->env.memo));
}

int show_pipe_print(struct show *s, const struct ring_record *r, FILE *out)
{
	struct show_record record = {
		.at = { .data = r->record, .size = r->size },
		.cpu = r->cpu, .time = r->time, .lost = r->lost,
	};
	bool latency = s->latency;

	take_options(s);
	/* latency-format stays as it was when the pipe was opened. */
	s->latency = latency;
	s->text.len = 0;
	s->index++;
	show_one(s, &record, r->time);
	if (s->text.failed || fwrite(s->text.bytes, 1, s->text.len, out) != s->text.len)
		return -ENOMEM;
	return 0;
}
