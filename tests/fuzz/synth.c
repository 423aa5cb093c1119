/* SPDX-License-Identifier: MIT */
/*
 * synth.c - any bytes as lines of synthetic_events
 *
 * Accepted definitions must read back: each line of the file, written to an empty file, makes the
 * same line. The same holds for dynamic_events.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/errlog.h"
#include "model/dynamic/synth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A line may read back longer than it was written, and a line of 4096 bytes is too long. */
enum { TEXT_MAX = 2000 };

/*
 * Makes the fixture at the first input. It is never freed, because libFuzzer does not tell which
 * input is the last.
 */
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
	err = dynamic_lines(m, copy, size, command, NULL);
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
