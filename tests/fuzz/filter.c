/* SPDX-License-Identifier: MIT */
/*
 * filter.c - any bytes as a filter, and then as a record
 *
 * Input: the filter's text, a 0, then a record. The code is run on the record at each length up to
 * its full one, in memory of exactly that size, so that a sanitizer sees each read behind it.
 */
#include <stdlib.h>
#include <string.h>

#include "model/filter/filter.h"
#include "plane/plane.h"
#include "plane/code.h"
#include "fixture.h"

static const char format[] = EVENT_FORMAT(
	FIELD("__data_loc cpumask_t m", 48, 4, 0)
	FIELD("char * p", 56, 8, 0)
	FIELD("char e[]", 64, 0, 0));

/* Branches lead forward and stay inside the code; operands are inside the code. */
static void check_code(const struct code *code)
{
	for (uint32_t i = 0; i < code->nr_ops; i++) {
		const struct op *op = &code->ops[i];

		if (op->kind == OP_ACCEPT || op->kind == OP_REJECT)
			continue;
		if (op->on_true <= i || op->on_true >= code->nr_ops || op->on_false <= i ||
		    op->on_false >= code->nr_ops)
			abort();
		if (op->kind == OP_MATCH &&
		    (op->imm >= code->size || op->arg >= code->size - op->imm))
			abort();
	}
}

static void run_code(const struct fixture *w, const struct code *code, const struct input *in)
{
	const char comm[LAYOUT_COMM_LEN] = "somebody";

	for (size_t len = 0; len <= in->size; len++) {
		uint8_t *copy = malloc(len ? len : 1);
		struct hit h = { .record = copy,
				.size = (uint32_t)len,
				.cpu = (uint32_t)len % WORLD_CPUS,
				.comm = comm };

		memcpy(copy, in->record, len);
		filter_match(code, &h);
		free(copy);
	}
}

static void run_filter(const struct fixture *w, struct filter *f, const struct input *in)
{
	struct code *code = malloc(filter_code_size(f));

	filter_write_code(f, code);
	check_code(code);
	run_code(w, code, in);
	free(code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct fixture *w = fixture("test", format);
	struct input in = input_split(data, size, 160);
	size_t len = strlen(in.text);
	struct filter *f;
	int err = filter_parse(w->event, in.text, w->model->top->errlog, &f);

	if (!f)
		abort();
	/* A filter with an error shows its text first; a valid filter shows only its text. */
	if (strncmp(filter_text(f), in.text, len) ||
	    (err ? filter_code_size(f) != 0 : filter_text(f)[len] != '\0'))
		abort();
	if (!err)
		run_filter(w, f, &in);
	filter_destroy(f);
	free(in.text);
	return 0;
}
