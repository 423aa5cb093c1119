/* SPDX-License-Identifier: MIT */
/* trace_dat.c - writes a trace.dat: head, tables, buffers, and the options that point to them */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/dat_writer.h"

static const char magic[] = "\x17\x08\x44tracing7";

/* Returns where the offset of the options has to be written. */
static uint64_t put_head(struct dat_writer *w)
{
	uint64_t at;

	dat_put(w, magic, sizeof(magic));
	dat_put_number(w, 0, 1);		/* little endian */
	dat_put_number(w, sizeof(long), 1);
	dat_put_number(w, w->instances[0].subbuf_size, 4);
	if (w->params->compress)
		dat_put(w, "zstd\0001", 7);
	else
		dat_put(w, "none\0", 6);
	at = dat_here(w);
	dat_put_number(w, 0, 8);
	return at;
}

static void put_buffer_option(struct dat_writer *w, const struct dat_instance *inst)
{
	size_t name = strlen(inst->name) + 1, clock = strlen(inst->clock) + 1;
	uint32_t cpu;

	dat_put_number(w, DAT_BUFFER, 2);
	dat_put_number(w, 8 + name + clock + 8 + 20 * (uint64_t)w->nr_cpus, 4);
	dat_put_number(w, inst->section, 8);
	dat_put(w, inst->name, name);
	dat_put(w, inst->clock, clock);
	dat_put_number(w, inst->subbuf_size, 4);
	dat_put_number(w, w->nr_cpus, 4);
	for (cpu = 0; cpu < w->nr_cpus; cpu++) {
		dat_put_number(w, cpu, 4);
		dat_put_number(w, inst->cpus[cpu].offset, 8);
		dat_put_number(w, inst->cpus[cpu].size, 8);
	}
}

static void put_text(struct dat_writer *w, unsigned int id, const char *text)
{
	dat_option(w, id, text, strlen(text) + 1);
}

static void put_file(struct dat_writer *w, unsigned int id, const char *path, const char *before)
{
	size_t len;
	char *text = dat_read(w, path, &len), *whole = NULL;

	if (!text || asprintf(&whole, "%s%s", before, text) < 0)
		dat_failed(w, -ENOMEM, NULL);
	else
		put_text(w, id, whole);
	free(whole);
	free(text);
}

/* Writes how many records each CPU lost. */
static void put_stats(struct dat_writer *w, const struct dat_instance *inst)
{
	char path[400], before[300];
	uint32_t cpu;

	if (*inst->name) {
		snprintf(before, sizeof(before), "\nBuffer: %s\n\n", inst->name);
		put_text(w, DAT_CPUSTAT, before);
	}
	for (cpu = 0; cpu < w->nr_cpus && !w->err; cpu++) {
		snprintf(before, sizeof(before), "per_cpu/cpu%u/stats", cpu);
		dat_path(inst, before, path, sizeof(path));
		snprintf(before, sizeof(before), "CPU: %u\n", cpu);
		put_file(w, DAT_CPUSTAT, path, before);
	}
}

static void put_options(struct dat_writer *w)
{
	uint64_t at = dat_section_start(w, 0, false), none = 0;
	unsigned int i;

	for (i = 0; i < DAT_TABLES; i++)
		dat_option(w, DAT_HEADER_INFO + i, &w->tables[i], 8);
	dat_option(w, DAT_CPUCOUNT, &w->nr_cpus, 4);
	if (w->params->uname)
		put_text(w, DAT_UNAME, w->params->uname);
	put_file(w, DAT_TRACECLOCK, "trace_clock", "");
	for (i = 0; i < w->nr_instances; i++)
		put_buffer_option(w, &w->instances[i]);
	for (i = 0; i < w->nr_instances; i++)
		put_stats(w, &w->instances[i]);
	dat_option(w, DAT_DONE, &none, 8);
	dat_section_end(w, at);
}

static void release(struct dat_writer *w)
{
	for (unsigned int i = 0; i < w->nr_instances; i++) {
		free(w->instances[i].name);
		free(w->instances[i].clock);
		free(w->instances[i].cpus);
	}
	free(w->instances);
}

int export_trace_dat(const struct export_params *params, FILE *out, struct export_error *err)
{
	struct dat_writer w = { .params = params, .out = out, .error = err };
	uint64_t at;

	dat_find_instances(&w);
	if (!w.err) {
		at = put_head(&w);
		dat_put_tables(&w);
		dat_put_buffers(&w);
		dat_put_at(&w, at, dat_here(&w), 8);
		put_options(&w);
	}
	if (!w.err && fflush(out))
		dat_failed(&w, -errno, NULL);
	release(&w);
	return w.err;
}
