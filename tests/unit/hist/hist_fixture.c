/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/errlog.h"
#include "hist_fixture.h"

struct event_file *top_file(struct event *e)
{
	return event_file_get(e->model->top, e);
}

int command(struct event *e, const char *text)
{
	return event_file_trigger_write(top_file(e), text);
}

void hit_record(struct fixture *f, const void *record, size_t size, uint64_t time, const char *comm)
{
	static const uint64_t stack[] = { 0x1004, 0x1108, 0x9999999 };
	struct slot *slot = session_slot_get(f->session);
	char name[LAYOUT_COMM_LEN] = "";
	struct hit h = { .record = record, .size = (uint32_t)size, .time = time, .comm = name,
			 .stack = stack, .nr_stack = 3 };

	assert_non_null(slot);
	strncpy(name, comm, sizeof(name) - 1);
	hit(session_plane(f->session), slot, &h);
	session_slot_put(f->session, slot);
}

void hit_all(struct fixture *f, int32_t s32, uint64_t u64)
{
	struct all_record r;

	fixture_record(&r);
	r.s32 = s32;
	r.u64 = u64;
	hit_record(f, &r, sizeof(r), 1000, "tester");
}

char *entries_of(struct event *e)
{
	char *text = printed(assert_int_equal(hist_print(top_file(e), out), 0));
	char *kept = calloc(1, strlen(text) + 1), *next = text, *line;

	while ((line = strsep(&next, "\n")))
		if (*line == '{')
			strcat(strcat(kept, line), "\n");
	free(text);
	return kept;
}

static char *log_text(struct fixture *f)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	errlog_print(f->top->errlog, out);
	fclose(out);
	return text;
}

void assert_refused(struct fixture *f, struct event *e, const char *cmd, int err, const char *text,
		    int at)
{
	char *log, *found, wanted[512] = "";

	errlog_clear(f->top->errlog);
	assert_int_equal(command(e, cmd), err);
	log = log_text(f);
	if (text)
		snprintf(wanted, sizeof(wanted), "] hist:%s:%s: error: %s\n  Command: %s\n%*s^\n",
			 e->system->name, e->name, text, cmd, (int)strlen("  Command: ") + at, "");
	found = strchr(log, ']');
	if (strcmp(found ? found : "", wanted))
		fail_msg("%s:\nwanted %s\ngot %s", cmd, wanted, log);
	free(log);
}
