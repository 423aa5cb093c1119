/* SPDX-License-Identifier: MIT */
/*
 * synth.c - any bytes as lines of synthetic_events
 *
 * What was taken must read back as what it is: each line of the file, given
 * again to an empty one, makes the same line; and so do those of dynamic_events.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/errlog.h"
#include "model/dynamic/synth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* what reads back may be longer than what was written, and a line of 4096 bytes is too long */
enum { TEXT_MAX = 2000 };

/* Made at the first input; a process of libFuzzer has no last one. */
static struct model *fixture(void)
{
	static struct model *m;
	struct session_params params = { .nr_cpus = 2, .nr_slots = 8, .memory = 256 << 20 };
	struct session *s;

	if (!m && (session_create(NULL, &params, &s) || model_create(s, &m)))
		abort();
	return m;
}

static char *printed(struct model *m, void (*print)(struct model *m, FILE *out))
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	print(m, out);
	fclose(out);
	return text;
}

static int give(struct model *m, const char *text, size_t size,
		int (*command)(struct model *m, const char *line))
{
	char *copy = malloc(size + 1);
	int err;

	memcpy(copy, text, size);
	copy[size] = '\0';
	err = dynamic_lines(m, copy, size, command);
	free(copy);
	return err;
}

static void give_again(struct model *m, const char *text,
		       int (*command)(struct model *m, const char *line),
		       void (*print)(struct model *m, FILE *out))
{
	char *got;

	if (dynamic_remove_all(m, NULL) || give(m, text, strlen(text), command))
		abort();
	got = printed(m, print);
	if (strcmp(text, got))
		abort();
	free(got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model *m = fixture();
	char *synth, *dynamic;

	errlog_clear(m->top->errlog);
	give(m, (const char *)data, size < TEXT_MAX ? size : TEXT_MAX, synth_command);
	synth = printed(m, synth_print);
	dynamic = printed(m, dynamic_print);
	give_again(m, synth, synth_command, synth_print);
	give_again(m, dynamic, dynamic_command, dynamic_print);
	if (dynamic_remove_all(m, NULL))
		abort();
	free(synth);
	free(dynamic);
	while (session_reclaim(m->session))
		;
	return 0;
}
