/* SPDX-License-Identifier: MIT */
/*
 * filter.c - any bytes as a filter, and what follows them as a record
 *
 * Input: the filter's text, a 0, then a record. The program is run on the
 * record at its full and at every shorter length, from memory of just that
 * size, so that a sanitizer sees each byte that is read behind it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/errlog.h"
#include "model/event_file.h"
#include "model/filter.h"
#include "model/symbols.h"
#include "plane/plane.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_MAX = 4095, RECORD_MAX = 160 };

static const char format[] = "name: all\nID: 100\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:s8 a;\toffset:8;\tsize:1;\tsigned:1;\n"
	"\tfield:u16 b;\toffset:10;\tsize:2;\tsigned:0;\n"
	"\tfield:int c;\toffset:12;\tsize:4;\tsigned:1;\n"
	"\tfield:u64 d;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:char s[16];\toffset:24;\tsize:16;\tsigned:0;\n"
	"\tfield:__data_loc char[] y;\toffset:40;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc char[] r;\toffset:44;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc cpumask_t m;\toffset:48;\tsize:4;\tsigned:0;\n"
	"\tfield:char * p;\toffset:56;\tsize:8;\tsigned:0;\n"
	"\tfield:char e[];\toffset:64;\tsize:0;\tsigned:0;\n"
	"\nprint fmt: \"\"\n";

struct world {
	struct session	*session;
	struct model	*model;
	struct event	*event;
};

/* Made at the first input; a process of libFuzzer has no last one. */
static const struct world *world(void)
{
	static struct world w;
	struct session_params params = { .nr_cpus = 4, .nr_slots = 8, .memory = 64 << 20 };

	if (w.event)
		return &w;
	if (session_create(NULL, &params, &w.session) || model_create(w.session, &w.model) ||
	    model_add_event(w.model, "test", format, strlen(format), &w.event))
		abort();
	symbols_add(w.model->symbols, 0x1000, 't', "f", NULL);
	symbols_add(w.model->symbols, 0x2000, 't', "g", NULL);
	return &w;
}

/* Branches go forward and stay inside; operands lie in the program. */
static void check_program(const struct program *prog)
{
	for (uint32_t i = 0; i < prog->nr_ops; i++) {
		const struct op *op = &prog->ops[i];

		if (op->code == OP_ACCEPT || op->code == OP_REJECT)
			continue;
		if (op->on_true <= i || op->on_true >= prog->nr_ops || op->on_false <= i || op->on_false >= prog->nr_ops)
			abort();
		if (op->code == OP_MATCH && (op->imm >= prog->size || op->arg >= prog->size - op->imm))
			abort();
	}
}

static void run_program(const struct world *w, const struct program *prog, const uint8_t *record, size_t size)
{
	const char comm[LAYOUT_COMM_LEN] = "somebody";

	for (size_t len = 0; len <= size; len++) {
		uint8_t *copy = malloc(len ? len : 1);
		struct hit h = { .record = copy, .size = (uint32_t)len, .cpu = (uint32_t)len % 4, .comm = comm };

		memcpy(copy, record, len);
		filter_match(session_plane(w->session), prog, &h);
		free(copy);
	}
}

static void run_filter(const struct world *w, struct filter *f, const uint8_t *record, size_t size)
{
	struct program *prog = malloc(filter_program_size(f));

	filter_write_program(f, prog);
	check_program(prog);
	run_program(w, prog, record, size < RECORD_MAX ? size : RECORD_MAX);
	free(prog);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct world *w = world();
	size_t len = strnlen((const char *)data, size < TEXT_MAX ? size : TEXT_MAX);
	char *text = strndup((const char *)data, len);
	struct filter *f;
	int err = filter_parse(w->event, text, w->model->top->errlog, &f);

	if (!f)
		abort();
	/* A filter in error shows its text first, any other one just that. */
	if (strncmp(filter_text(f), text, len) || (err ? filter_program_size(f) != 0 : filter_text(f)[len] != '\0'))
		abort();
	if (!err)
		run_filter(w, f, data + len + (len < size), size - len - (len < size));
	filter_destroy(f);
	free(text);
	return 0;
}
