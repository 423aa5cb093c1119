/* SPDX-License-Identifier: MIT */
/*
 * seeds.c - pastes examples of documents, unchanged, into a session with the kernel's events
 *
 * usage: seeds EMPTY.dat EXAMPLE...
 *
 * An example is a text of sections:
 *
 *     === paste            commands, with the prompts and line breaks that they have there
 *     === debugfs          a new session, and the first paste, with paths below /sys/kernel/debug
 *     === legacy           files `hist` are laid out as in 2017 from here on
 *     === says             what the reader printed since the paste before; nothing, where there is
 *                          no such section
 *     === events           hits made to order: MICROSECONDS SYSTEM:EVENT FIELD=VALUE...
 *     === file PATH        what the file says then
 *
 * Prints TAP with one test for each comparison. The expected histograms are worked out by hand;
 * canonical triggers, hist_debug and errors come from a kernel.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access/access.h"
#include "model/text.h"
#include "setup/setup.h"
#include "fixture.h"
#include "mask.h"
#include "model/model.h"
#include "plane/plane.h"
#include "session/session.h"

struct reading {
	const char	*name;
	const char	*recording;
	struct fixture	fixture;
	struct slot	*slot;
	/* Output since the last paste that is not compared yet; NULL: nothing was pasted. */
	char		*said;
	int		nr, failed;
};

static void report(struct reading *r, const char *what, const char *want, const char *got)
{
	bool same = !strcmp(want, got);

	printf("%sok %d - %s %s\n", same ? "" : "not ", ++r->nr, r->name, what);
	r->failed += !same;
	if (!same) {
		printf("# --- expected\n");
		for (const char *s = want; *s; s = text_next_line(s))
			printf("#  |%.*s|\n", (int)strcspn(s, "\n"), s);
		printf("# --- tracefuse\n");
		for (const char *s = got; *s; s = text_next_line(s))
			printf("#  |%.*s|\n", (int)strcspn(s, "\n"), s);
	}
	fflush(stdout);
}

/* Compares the output so far. */
static void hear(struct reading *r, const char *want)
{
	if (!r->said)
		return;
	r->said = mask_all(r->said, "\\[ *[0-9]+\\.[0-9]{6}\\]", "[TIME]");
	report(r, "paste", want, r->said);
	free(r->said);
	r->said = NULL;
}

static bool begin(struct reading *r)
{
	if (fixture_open(&r->recording, 1, &r->fixture) || model_source_rings(r->fixture.model))
		return false;
	r->slot = session_slot_get(r->fixture.session);
	return true;
}

static void end(struct reading *r)
{
	hear(r, "");
	session_slot_put(r->fixture.session, r->slot);
	fixture_close(&r->fixture);
}

static void paste(struct reading *r, const char *text, size_t len)
{
	size_t size;
	FILE *out;
	struct access *access;
	struct setup_params params = { .name = "paste", .document = true };

	hear(r, "");
	out = open_memstream(&r->said, &size);
	access = access_tree(r->fixture.tree, NULL);
	params.access = access;
	params.out = params.err = out;
	setup_run_text(&params, text, len);
	access_close(access);
	fclose(out);
}

/* ---- Events ---- */

static void fill_field(const struct field *f, const char *value, char *record)
{
	uint64_t number = strtoull(value, NULL, 0);

	if (f->len)
		snprintf(record + f->offset, f->size, "%s", value);
	else
		memcpy(record + f->offset, &number, f->size);
}

/* Makes a hit from "1000 sched:sched_waking comm=cyclictest pid=19". Changes `line`. */
static bool make_event(struct reading *r, char *line)
{
	char record[512] = "", *save, *at = strtok_r(line, " ", &save),
	     *system = strtok_r(NULL, ":", &save);
	char *name = strtok_r(NULL, " ", &save), *word;
	struct event *e = system && name ? model_find_event(r->fixture.model, system, name) : NULL;
	struct hit h = { .record = record, .size = sizeof(record), .comm = "task", .writer = 1 };
	uint16_t type;

	if (!e)
		return false;
	h.time = strtoull(at, NULL, 10) * 1000;
	type = (uint16_t)e->id;
	memcpy(record, &type, sizeof(type));
	while ((word = strtok_r(NULL, " ", &save))) {
		char *value = strchr(word, '=');
		const struct field *f;

		if (!value)
			return false;
		*value++ = '\0';
		f = event_find_field(e, word);
		if (!f)
			return false;
		fill_field(f, value, record);
	}
	hit(session_plane(r->fixture.session), r->slot, &h);
	return true;
}

static void make_events(struct reading *r, const char *text, size_t len)
{
	char *copy = strndup(text, len), *save;

	for (char *l = strtok_r(copy, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		if (*l != '#' && !make_event(r, l))
			report(r, l, "an event", "no such event or field");
	free(copy);
}

/* ---- Files ---- */

static void compare_file(struct reading *r, const char *file, char *want)
{
	struct pointers own = { .nr = 0 };
	size_t len;
	int err;
	char *got = mask_file(file, fixture_read(&r->fixture, file, 1 << 20, &len, &err));

	if (err)
		printf("# %s: %s\n", file, strerror(err));
	got = mask_pointers(&own, got);
	pointers_forget(&own);
	if (mask_unhashed(want))
		got = mask_all(got, "hist_data: #[0-9]+$", "hist_data: (____ptrval____)");
	report(r, file, want, got);
	free(got);
	free(want);
}

/* ---- Sections ---- */

/* Replaces paths by those from before tracefs had its own directory. */
static char *with_debugfs(const char *text, size_t len)
{
	char *copy = strndup(text, len);

	return mask_all(copy, "/sys/kernel/tracing/", "/sys/kernel/debug/tracing/");
}

static void run_section(struct reading *r, const char *head, const char *text, size_t len,
			const char **pasted, size_t *pasted_len)
{
	char file[128], *other;

	if (!strncmp(head, "paste", 5)) {
		if (!*pasted) {
			*pasted = text;
			*pasted_len = len;
		}
		paste(r, text, len);
	} else if (!strncmp(head, "debugfs", 7) && *pasted) {
		end(r);
		if (!begin(r))
			abort();
		other = with_debugfs(*pasted, *pasted_len);
		paste(r, other, strlen(other));
		free(other);
	} else if (!strncmp(head, "says", 4)) {
		other = strndup(text, len);
		hear(r, other);
		free(other);
	} else if (!strncmp(head, "events", 6)) {
		hear(r, "");
		make_events(r, text, len);
	} else if (!strncmp(head, "legacy", 6)) {
		r->fixture.model->hist_legacy = true;
	} else if (sscanf(head, "file %127s", file) == 1) {
		hear(r, "");
		compare_file(r, file, strndup(text, len));
	}
}

static void run_example(struct reading *r, const char *text)
{
	static const char mark[] = "=== ";
	const char *s = strstr(text, mark), *pasted = NULL;
	size_t pasted_len = 0;

	while (s) {
		const char *head = s + strlen(mark), *body = strchr(head, '\n') + 1, *next = body;

		while (next && strncmp(next, mark, strlen(mark))) {
			next = strchr(next, '\n');
			next = next ? next + 1 : NULL;
			if (next && !*next)
				next = NULL;
		}
		run_section(r, head, body, next ? (size_t)(next - body) : strlen(body), &pasted,
			    &pasted_len);
		s = next;
	}
}

static char *slurp(const char *path)
{
	FILE *in = fopen(path, "r");
	char *buf = NULL;
	size_t cap = 0;

	if (!in || getdelim(&buf, &cap, EOF, in) < 0) {
		printf("Bail out! %s: %s\n", path, strerror(errno));
		exit(1);
	}
	fclose(in);
	return buf;
}

int main(int argc, char **argv)
{
	struct reading r = { .nr = 0 };

	if (argc < 3) {
		fprintf(stderr, "usage: seeds EMPTY.dat EXAMPLE...\n");
		return 2;
	}
	r.recording = argv[1];
	for (int i = 2; i < argc; i++) {
		char *text = slurp(argv[i]);

		r.name = strrchr(argv[i], '/') ? strrchr(argv[i], '/') + 1 : argv[i];
		if (!begin(&r))
			return 1;
		run_example(&r, text);
		end(&r);
		free(text);
	}
	printf("1..%d\n", r.nr);
	return r.failed != 0;
}
