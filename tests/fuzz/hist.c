/* SPDX-License-Identifier: MIT */
/*
 * hist.c - any bytes as commands of the file `trigger`, and what follows them as a record
 *
 * Input: lines of commands, a 0, then a record. The record goes through the
 * hists at its full and at every shorter length, from memory of just that size;
 * then all files of the event are printed and the triggers are removed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/event_file.h"
#include "model/hist/hist.h"
#include "model/symbols.h"
#include "plane/plane.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_MAX = 4095, RECORD_MAX = 128, EVENT_ID = 100 };

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
	"\tfield:__data_loc unsigned long[] stack;\toffset:48;\tsize:4;\tsigned:0;\n"
	"\tfield:char * p;\toffset:56;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long l[3];\toffset:64;\tsize:24;\tsigned:0;\n"
	"\nprint fmt: \"\"\n";

struct world {
	struct session	*session;
	struct model	*model;
	struct event_file *file;
	struct slot	*slot;
};

/* Made at the first input; a process of libFuzzer has no last one. */
static const struct world *world(void)
{
	static struct world w;
	struct session_params params = { .nr_cpus = 4, .nr_slots = 8, .memory = 512 << 20 };
	struct event *e;

	if (w.slot)
		return &w;
	if (session_create(NULL, &params, &w.session) || model_create(w.session, &w.model) ||
	    model_add_event(w.model, "test", format, strlen(format), &e))
		abort();
	symbols_add(w.model->symbols, 0x1000, 't', "f", NULL);
	symbols_add(w.model->symbols, 0x2000, 't', "g", NULL);
	w.file = event_file_get(w.model->top, e);
	w.slot = session_slot_get(w.session);
	return &w;
}

static void make_hits(const struct world *w, const uint8_t *record, size_t size)
{
	const char comm[LAYOUT_COMM_LEN] = "somebody";
	const uint64_t stack[2] = { 0x1004, 0x2008 };

	for (size_t len = sizeof(struct record_common); len <= size; len++) {
		struct record_common *copy = malloc(len);
		struct hit h = { .record = copy, .size = (uint32_t)len, .cpu = (uint32_t)len % 4, .comm = comm,
				 .time = len * 1000, .stack = stack, .nr_stack = len % 3 };

		memcpy(copy, record, len);
		copy->type = EVENT_ID;
		hit(session_plane(w->session), w->slot, &h);
		free(copy);
	}
}

/* What is printed of a trigger is text, a line a trigger. */
static void print_files(const struct world *w)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	event_file_trigger_print(w->file, out);
	fflush(out);
	if (strlen(text) != size)
		abort();
	hist_print(w->file, out);
	hist_debug_print(w->file, out);
	fclose(out);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct world *w = world();
	size_t len = strnlen((const char *)data, size < TEXT_MAX ? size : TEXT_MAX);
	size_t rest = size - len - (len < size);
	char *text = strndup((const char *)data, len), *next = text, *line;

	while ((line = strsep(&next, "\n")))
		event_file_trigger_write(w->file, line);
	make_hits(w, data + len + (len < size), rest < RECORD_MAX ? rest : RECORD_MAX);
	print_files(w);
	event_file_trigger_truncate(w->file);
	while (session_reclaim(w->session))
		;
	free(text);
	return 0;
}
