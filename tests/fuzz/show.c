/* SPDX-License-Identifier: MIT */
/*
 * show.c - any bytes as a record of any event of a kernel, or as a print fmt, under any trace
 * options
 *
 * Input: 8 bytes of options, of which the highest bit lets function_graph draw the record. Then a
 * byte: 0 is followed by a record of the event that its first two bytes name, any other by a print
 * fmt, a 0 and a record. Records are in memory of exactly their size, so that a sanitizer sees each
 * read behind them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/instance/options.h"
#include "model/symbols.h"
#include "sources/recording/file/trace_dat.h"
#include "show/show.h"
#include "model/tracer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_MAX = 2000, RECORD_MAX = 512 };

static const char fields[] = "name: any\nID: 65000\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:u64 b;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:char s[16];\toffset:24;\tsize:16;\tsigned:0;\n"
	"\tfield:__data_loc char[] d;\toffset:40;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc char[] r;\toffset:44;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc u32[] l;\toffset:48;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc cpumask_t m;\toffset:52;\tsize:4;\tsigned:0;\n"
	"\tfield:const char * p;\toffset:56;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long w[3];\toffset:64;\tsize:24;\tsigned:0;\n"
	"\nprint fmt: ";

struct fixture {
	struct session	*session;
	struct model	*model;
	struct show	*show, *graph;
	FILE		*out;
};

static int add_event(void *arg, const char *system, const char *text, size_t len)
{
	struct fixture *w = arg;
	struct event *e;

	if (model_add_event(w->model, system, text, len, &e))
		abort();
	return 0;
}

/*
 * Makes the fixture at the first input. It is never freed, because libFuzzer does not tell which
 * input is the last.
 */
static struct fixture *fixture(void)
{
	static struct fixture w;
	struct session_params params = { .nr_cpus = 4, .nr_slots = 8, .memory = 64 << 20 };
	struct source_memory memory = { .limit = 64 << 20 };
	struct source_error err;
	struct trace_dat *dat;

	if (w.show)
		return &w;
	if (session_create(NULL, &params, &w.session) || model_create(w.session, &w.model) ||
	    trace_dat_open(GOLDEN_BOOT "/empty.dat", false, &memory, &dat, &err) ||
	    trace_dat_each_format(dat, add_event, &w, &err))
		abort();
	trace_dat_close(dat);
	symbols_add(w.model->symbols, 0x1000, 't', "f", NULL);
	symbols_add(w.model->symbols, 0x2000, 't', "g", "module");
	symbols_add(w.model->strings, 0x3000, 's', "%s %*d %-8.3llx %pS %c%hhd %.*s %pI4 %%\n",
		    NULL);
	w.show = show_pipe_open(w.model->top, NULL);
	if (tracer_choose(w.model->top, "function_graph"))
		abort();
	w.graph = show_pipe_open(w.model->top, NULL);
	if (tracer_choose(w.model->top, "nop"))
		abort();
	w.out = fopen("/dev/null", "w");
	if (!w.show || !w.graph || !w.out)
		abort();
	return &w;
}

static void print(struct fixture *w, struct show *show, const uint8_t *record, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	struct ring_record r = {
		.record = copy,
		.size = (uint32_t)size,
		.cpu = (uint32_t)size % 4,
		.time = 123456789,
		.lost = size % 7 == 0,
	};

	memcpy(copy, record, size);
	if (show_pipe_print(show, &r, w->out))
		abort();
	free(copy);
}

/* Uses a print fmt of the input; the event exists only for this input. */
static void print_with(struct fixture *w, const uint8_t *data, size_t size)
{
	size_t len = strnlen((const char *)data, size < TEXT_MAX ? size : TEXT_MAX);
	size_t total = sizeof(fields) - 1 + len + 1;
	char *text = malloc(total + 1);
	uint8_t record[RECORD_MAX] = { 0xe8, 0xfd };	/* 65000 */
	struct show *show = show_pipe_open(w->model->top, NULL);
	struct event *e;

	memcpy(text, fields, sizeof(fields) - 1);
	memcpy(text + sizeof(fields) - 1, data, len);
	memcpy(text + total - 1, "\n", 2);
	data += len + (len < size);
	size -= len + (len < size);
	if (size > RECORD_MAX - 2)
		size = RECORD_MAX - 2;
	memcpy(record + 2, data, size);
	if (show && !model_add_event(w->model, "fuzz", text, total, &e)) {
		print(w, show, record, size + 2);
		show_close(show);
		show = NULL;
		model_remove_event(w->model, e);
	}
	show_close(show);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fixture *w = fixture();
	uint64_t options;

	if (size < 9)
		return 0;
	memcpy(&options, data, 8);
	w->model->top->options = options;
	if (!data[8])
		print(w, options >> 63 ? w->graph : w->show, data + 9,
		      size - 9 < RECORD_MAX ? size - 9 : RECORD_MAX);
	else
		print_with(w, data + 9, size - 9);
	return 0;
}
