/* SPDX-License-Identifier: MIT */
/*
 * hist.c - histogram triggers as they are written, on their way through hit()
 *
 * Unlike bench/map.c the programs are what the compiler makes of the commands.
 */
#include "fixture.h"
#include "model/event/file.h"

enum { RECORDS = 1024, KEYS = 800 };

static const char format[] = "name: bench\nID: 300\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:u32 b;\toffset:12;\tsize:4;\tsigned:0;\n"
	"\tfield:char name[16];\toffset:16;\tsize:16;\tsigned:0;\n"
	"\nprint fmt: \"\"\n";

struct fixture {
	struct session	*session;
	struct model	*model;
	struct event_file *file;
	struct bench_record records[RECORDS];
};

static void fixture_open(struct fixture *w)
{
	struct event *e = NULL;

	w->session = bench_session();
	if (model_create(w->session, &w->model) ||
	    model_add_event(w->model, "bench", format, strlen(format), &e))
		bench_fail("no event");
	w->file = event_file_get(w->model->top, e);
	for (uint32_t i = 0; i < RECORDS; i++) {
		uint32_t key = 1000 + (uint32_t)rand() % KEYS;
		struct bench_record *r = &w->records[i];

		*r = (struct bench_record){ .common = { .type = BENCH_EVENT, .pid = 1 }, .a = key,
			.b = key ^ 1 };
		snprintf(r->name, sizeof(r->name), "task-%u", key % 16);
	}
}

static void bench_command(struct fixture *w, const char *name, const char *command)
{
	struct plane *p = session_plane(w->session);
	struct slot *slot = session_slot_get(w->session);
	struct bench_record rec;
	struct hit h = { .record = &rec, .size = sizeof(rec), .comm = "bench" };
	char removed[256];

	if (event_file_trigger_write(w->file, command))
		bench_fail(command);
	BENCH(name, {
		rec = w->records[i % RECORDS];
		hit(p, slot, &h);
	});
	snprintf(removed, sizeof(removed), "!%s", command);
	event_file_trigger_write(w->file, removed);
	session_slot_put(w->session, slot);
}

int main(void)
{
	static struct fixture w;

	fixture_open(&w);
	bench_command(&w, "hist:keys=a", "hist:keys=a");
	bench_command(&w, "hist:keys=a,b:vals=a", "hist:keys=a,b:vals=a");
	bench_command(&w, "hist:keys=name", "hist:keys=name");
	bench_command(&w, "hist:keys=a.log2", "hist:keys=a.log2");
	bench_command(&w, "hist:keys=common_pid.execname", "hist:keys=common_pid.execname");
	bench_command(&w, "hist:keys=a if b > 10", "hist:keys=a if b > 10");
	model_destroy(w.model);
	session_close(w.session);
	return 0;
}
