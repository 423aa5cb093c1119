/* SPDX-License-Identifier: MIT */
/*
 * eprobe.c - any bytes as a line of dynamic_events, and what follows it as a record
 *
 * Input: a line, a 0, then a record. Where the line makes a probe of the event
 * all:all, that is armed; the record goes through it at its full and at every
 * shorter length, from memory of just that size; then the trace is printed and
 * the probe removed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/eprobe.h"
#include "model/errlog.h"
#include "plane/plane.h"
#include "tracefs/show.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_MAX = 4095, RECORD_MAX = 96, EVENT_ID = 100 };

static const char format[] = "name: all\nID: 100\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:s8 a;\toffset:8;\tsize:1;\tsigned:1;\n"
	"\tfield:u16 b;\toffset:10;\tsize:2;\tsigned:0;\n"
	"\tfield:int c;\toffset:12;\tsize:4;\tsigned:1;\n"
	"\tfield:u64 d;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:char s[16];\toffset:24;\tsize:16;\tsigned:0;\n"
	"\tfield:__data_loc char[] y;\toffset:40;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc char[] r;\toffset:44;\tsize:4;\tsigned:0;\n"
	"\tfield:const char * p;\toffset:48;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long l[3];\toffset:56;\tsize:24;\tsigned:0;\n"
	"\nprint fmt: \"\"\n";

struct world {
	struct session	*session;
	struct model	*model;
	struct slot	*slot;
};

static const struct world *world(void)
{
	static struct world w;
	struct session_params params = { .nr_cpus = 2, .nr_slots = 8, .memory = 512 << 20 };

	if (w.slot)
		return &w;
	if (session_create(NULL, &params, &w.session) || model_create(w.session, &w.model) ||
	    model_add_event(w.model, "all", format, strlen(format), NULL) || instance_expand(w.model->top))
		abort();
	symbols_add(w.model->symbols, 0x1000, 't', "f", NULL);
	symbols_add(w.model->symbols, 0x2000, 't', "g", NULL);
	w.slot = session_slot_get(w.session);
	return &w;
}

static void make_hits(const struct world *w, const uint8_t *record, size_t size)
{
	const char comm[LAYOUT_COMM_LEN] = "somebody";

	for (size_t len = sizeof(struct record_common); len <= size; len++) {
		struct record_common *copy = malloc(len);
		struct hit h = { .record = copy, .size = (uint32_t)len, .comm = comm, .time = len * 1000 };

		memcpy(copy, record, len);
		copy->type = EVENT_ID;
		hit(session_plane(w->session), w->slot, &h);
		free(copy);
	}
}

static void print_all(const struct world *w)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	show_buffer(w->model->top, 0, -1, out);
	dynamic_print(w->model, out);
	fclose(out);
	free(text);
}

static void run_probe(const struct world *w, struct dynamic_event *d, const uint8_t *record, size_t size)
{
	struct event_file *f = event_file_get(w->model->top, d->event);

	if (event_file_enable(f, true))
		abort();
	make_hits(w, record, size);
	print_all(w);
	if (event_file_enable(f, false))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct world *w = world();
	size_t len = strnlen((const char *)data, size < TEXT_MAX ? size : TEXT_MAX);
	size_t rest = size - len - (len < size);
	char *text = strndup((const char *)data, len);
	struct dynamic_event *d;

	errlog_clear(w->model->top->errlog);
	dynamic_command(w->model, text);
	list_each(d, &w->model->dynamic_events, node)
		run_probe(w, d, data + len + (len < size), rest < RECORD_MAX ? rest : RECORD_MAX);
	if (dynamic_remove_all(w->model, NULL))
		abort();
	while (session_reclaim(w->session))
		;
	free(text);
	return 0;
}
