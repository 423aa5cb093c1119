/* SPDX-License-Identifier: MIT */
/*
 * adopt.c - rings and histograms that live writers use while their server is killed and restored
 * (R4)
 *
 * Programs make hits of an event that is recorded and has a histogram. Their server is killed again
 * and again, also while it restores, and programs are killed, too. Each record has a lane and a
 * number, which is taken before the hit and noted after it. If a killed program took a number and
 * did not note it, the record may or may not exist. At the end all other records exist once,
 * complete and in order, except overwritten ones. `stats` and the histogram's hits have their
 * number.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/event/file.h"
#include "model/hist/hist.h"
#include "model/model.h"
#include "plane/plane.h"
#include "plane/ring/ring.h"
#include "../client/attach_client.h"
#include "session/session.h"
#include "../unit/session/temp_place.h"

enum {
	EVENT = 300,
	PROGRAMS = 3,
	SERVERS = 40,
	SLOTS = 64,
	FEW = 3000,
	MANY = 200000,
	DOUBTS = 256
};

struct record {
	struct record_common common;
	uint32_t	lane;
	uint32_t	number;
	uint64_t	check;
};

static const char format[] = "name: hit\nID: 300\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:unsigned int lane;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned int number;\toffset:12;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long check;\toffset:16;\tsize:8;\tsigned:0;\n\nprint fmt: \"\"\n";

/* The journal of a lane's programs, which run one after the other. */
struct lane {
	volatile uint32_t taken, noted;		/* numbers */
	volatile uint32_t dropped;		/* hits whose record was dropped */
	volatile uint32_t at_start;		/* taken when the last program began */
	uint32_t	doubt[DOUBTS], nr_doubts;
};

static struct shared {
	volatile uint32_t ready;		/* servers that have opened the session */
	struct lane	lanes[PROGRAMS];
} *shared;

static int failures;

static void check(bool ok, const char *what, uint64_t a, uint64_t b)
{
	if (!ok && failures++ < 10)
		printf("# %s: %llu, %llu\n", what, (unsigned long long)a, (unsigned long long)b);
}

static uint64_t sum(uint32_t lane, uint32_t number)
{
	return (lane * 2654435761ull ^ number) * 0x9e3779b97f4a7c15ull;
}

/* ---- a program ---- */

static void make_hit(struct attachment *a, struct slot *slot, uint32_t lane)
{
	struct lane *l = &shared->lanes[lane];
	struct record rec = { .common.type = EVENT, .lane = lane, .number = l->taken };
	struct hit h = { .record = &rec, .size = sizeof(rec), .comm = "program", .cpu = lane };

	rec.check = sum(lane, rec.number);
	l->taken++;
	if (!(hit(attach_plane(a), slot, &h) & 1))
		l->dropped++;
	l->noted = l->taken;
}

/* `limit`: a number of hits that overwrites nothing; 0: no limit. */
static _Noreturn void program(const char *name, uint32_t lane, uint32_t limit)
{
	struct attachment *a;
	struct slot *slot;

	while (attach_open(name, &a))
		usleep(1000);
	slot = attach_slot(a);
	if (!slot)
		_exit(1);
	/*
	 * If this system or a setting requires a ring of its own, the slot gets one. The server may
	 * be dead; then the next one gives it.
	 */
	while (slot->lease & RING_LEASE_WANTED && !(uint32_t)slot->lease)
		attach_await_lease(slot);
	while (!limit || shared->lanes[lane].taken < limit) {
		make_hit(a, slot, lane);
		if (limit)
			usleep(20);
	}
	for (;;)
		pause();
}

/* ---- a server ---- */

static struct event_file *file_of(struct model *m)
{
	struct event *e = model_find_event(m, "stress", "hit");

	return e ? event_file_get(m->top, e) : NULL;
}

static int write_again(void *arg, const char *path, const char *text)
{
	struct model *m = arg;

	if (!strcmp(path, "current_tracer"))
		return instance_expand(m->top);
	if (strstr(path, "/enable"))
		return event_file_enable(file_of(m), true);
	if (strstr(path, "/filter"))
		return event_file_set_filter(file_of(m), text);
	return strstr(path, "/trigger") ? event_file_trigger_write(file_of(m), text) : -EINVAL;
}

static int open_again(const char *name, struct session **s, struct model **m)
{
	int err = session_open(name, s);

	if (!err)
		err = model_create(*s, m);
	return err ? err : model_restore(*m, write_again, *m);
}

static int make_session(const char *name)
{
	struct session_params params = {
		.nr_cpus = PROGRAMS, .nr_slots = SLOTS, .memory = 512 << 20 };
	struct session *s;
	struct model *m;
	int err = session_create(name, &params, &s);

	if (!err)
		err = model_create(s, &m);
	if (!err)
		err = model_add_event(m, "stress", format, strlen(format), NULL);
	if (!err)
		err = instance_expand(m->top);
	if (!err)
		err = event_file_enable(file_of(m), true);
	if (!err)
		err = event_file_trigger_write(file_of(m), "hist:keys=lane");
	if (err)
		return err;
	model_destroy(m);
	session_close(s);
	return 0;
}

/*
 * Runs commands that change the event's plan, so that old plans are in limbo when the server is
 * killed.
 */
static _Noreturn void serve(const char *name)
{
	struct session *s;
	struct model *m;
	int err = open_again(name, &s, &m);

	if (err) {
		printf("# open: %d\n", err);
		fflush(stdout);
		_exit(4);
	}
	shared->ready++;
	for (unsigned int i = 0;; i++) {
		if (event_file_set_filter(file_of(m), i % 2 ? "0" : "number >= 0"))
			_exit(5);
		attach_serve(s);
		session_reclaim(s);
		usleep(100);
	}
}

/* ---- the rest of the fixture ---- */

static pid_t start_server(const char *name)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		serve(name);
	return pid;
}

static pid_t start_program(const char *name, uint32_t lane, uint32_t limit)
{
	pid_t pid;

	shared->lanes[lane].at_start = shared->lanes[lane].taken;
	fflush(stdout);
	pid = fork();
	if (!pid)
		program(name, lane, limit);
	return pid;
}

static void kill_program(pid_t pid, uint32_t lane)
{
	struct lane *l = &shared->lanes[lane];
	int status;

	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	check(WIFSIGNALED(status), "a program ended by itself", lane, (uint64_t)status);
	if (l->noted == l->taken)
		return;
	if (l->nr_doubts < DOUBTS)
		l->doubt[l->nr_doubts++] = l->noted;
	l->noted = l->taken;
}

static void kill_server(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	check(WIFSIGNALED(status), "a server ended by itself", (uint64_t)status, 0);
}

/* Waits until all programs have attached and run, or have no work left. */
static void wait_for_programs(uint32_t limit)
{
	uint32_t n = 0;

	for (int i = 0; i < 10000 && n < PROGRAMS; i++) {
		n = 0;
		for (uint32_t k = 0; k < PROGRAMS; k++)
			n += shared->lanes[k].taken != shared->lanes[k].at_start ||
			     shared->lanes[k].taken == limit;
		usleep(1000);
	}
	check(n == PROGRAMS, "programs that make hits", n, PROGRAMS);
}

static void wait_for_server(uint32_t before)
{
	for (int i = 0; i < 10000 && shared->ready == before; i++)
		usleep(1000);
	check(shared->ready != before, "a server did not open the session", before, 0);
}

/* FEW hits fit into the rings, MANY do not. */
static void wait_for_end(uint32_t enough)
{
	uint32_t n = 0;

	for (int i = 0; i < 30000 && n < PROGRAMS; i++) {
		n = 0;
		for (uint32_t k = 0; k < PROGRAMS; k++)
			n += shared->lanes[k].noted >= enough;
		usleep(1000);
	}
	check(n == PROGRAMS, "programs that made enough hits", n, enough);
}

static void run_killed(const char *name, uint32_t limit)
{
	pid_t server = start_server(name), programs[PROGRAMS];
	uint32_t seed = (uint32_t)getpid(), before = 0;

	for (uint32_t i = 0; i < PROGRAMS; i++)
		programs[i] = start_program(name, i, limit);
	for (uint32_t i = 0; i < SERVERS; i++) {
		/* Every other server is killed at any point. */
		if (i % 2)
			wait_for_server(before);
		if (i % 8 == 7)
			wait_for_programs(limit);
		seed = seed * 1664525 + 1013904223;
		usleep(seed >> 16 & 4095);
		kill_server(server);
		if (i % 3 == 0) {
			kill_program(programs[i / 3 % PROGRAMS], i / 3 % PROGRAMS);
			programs[i / 3 % PROGRAMS] = start_program(name, i / 3 % PROGRAMS, limit);
		}
		before = shared->ready;
		server = start_server(name);
	}
	wait_for_programs(limit);
	wait_for_end(limit ? limit : MANY);
	for (uint32_t i = 0; i < PROGRAMS; i++)
		kill_program(programs[i], i);
	kill_server(server);
}

/* ---- checks at the end ---- */

static bool in_doubt(const struct lane *l, uint32_t number)
{
	for (uint32_t i = 0; i < l->nr_doubts; i++)
		if (l->doubt[i] == number)
			return true;
	return false;
}

/* Checks that all missing numbers from `next` to `number` were in doubt. */
static void check_gap(const struct lane *l, uint32_t next, uint32_t number)
{
	for (; next < number; next++)
		check(in_doubt(l, next), "a record is missing", (uint64_t)(l - shared->lanes),
		      next);
}

static uint64_t read_all(struct session *s, data_ref buffer, bool whole)
{
	uint32_t next[PROGRAMS] = { 0 };
	struct ring_record r;
	struct ring_iter *it;
	uint64_t n = 0;

	if (ring_iter_open(s, buffer, -1, &it)) {
		check(false, "the rings cannot be read", 0, 0);
		return 0;
	}
	while (ring_iter_next(it, &r) == 1) {
		struct record rec = { 0 };

		n++;
		memcpy(&rec, r.record, r.size < sizeof(rec) ? r.size : sizeof(rec));
		check(r.size == sizeof(rec) && rec.lane < PROGRAMS &&
			      rec.check == sum(rec.lane, rec.number),
		      "a record is torn", r.size, rec.number);
		if (rec.lane >= PROGRAMS)
			continue;
		check(rec.number >= next[rec.lane], "a record is there twice", rec.lane,
		      rec.number);
		if (whole)
			check_gap(&shared->lanes[rec.lane], next[rec.lane], rec.number);
		next[rec.lane] = rec.number + 1;
	}
	ring_iter_close(it);
	for (uint32_t i = 0; whole && i < PROGRAMS; i++)
		check_gap(&shared->lanes[i], next[i], shared->lanes[i].taken);
	return n;
}

static uint64_t hist_hits(struct event_file *f)
{
	unsigned long long hits = 0;
	char *text = NULL, *at;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return 0;
	hist_print(f, out);
	fclose(out);
	at = text ? strstr(text, "Hits: ") : NULL;
	if (at)
		hits = strtoull(at + 6, NULL, 10);
	free(text);
	return hits;
}

static void check_all(const char *name, bool whole)
{
	uint64_t made = 0, doubts = 0, dropped = 0, there = 0, overrun = 0, n;
	struct ring_stats stats;
	struct session *s;
	struct model *m;
	data_ref buffer;

	if (open_again(name, &s, &m)) {
		check(false, "the last opening", 0, 0);
		return;
	}
	for (uint32_t i = 0; i < PROGRAMS; i++) {
		made += shared->lanes[i].taken;
		doubts += shared->lanes[i].nr_doubts;
		dropped += shared->lanes[i].dropped;
	}
	buffer = instance_buffer(m->top, 0);
	for (uint32_t cpu = 0; cpu < PROGRAMS; cpu++) {
		check(!buffer_stats(s, buffer, cpu, &stats), "no stats", cpu, 0);
		there += stats.entries;
		overrun += stats.overrun;
		check(!stats.dropped && !stats.read, "dropped, read", stats.dropped, stats.read);
	}
	n = read_all(s, buffer, whole);
	check(n == there, "entries of stats, records read", there, n);
	check(!dropped, "hits without a record", dropped, 0);
	check(whole == !overrun, "overrun", overrun, 0);
	check(there + overrun <= made && there + overrun + doubts >= made,
	      "entries and overrun, hits", there + overrun, made);
	n = hist_hits(file_of(m));
	check(n <= made && n + doubts >= made, "the histogram's hits, hits", n, made);
	model_destroy(m);
	session_destroy(s);
}

static void run(const char *name, uint32_t limit)
{
	memset(shared, 0, sizeof(*shared));
	if (make_session(name)) {
		check(false, "no session", 0, 0);
		return;
	}
	run_killed(name, limit);
	check_all(name, limit);
}

int main(void)
{
	int all = 0;

	if (!temp_place())
		return temp_place_skip();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return 1;
	printf("TAP version 13\n1..2\n");
	run("few", FEW);
	printf("%sok 1 - %d servers killed: all records are there, once\n", failures ? "not " : "",
	       SERVERS);
	fflush(stdout);
	all += failures;
	failures = 0;
	run("many", 0);
	printf("%sok 2 - %d servers killed: what is not there was overwritten and counted\n",
	       failures ? "not " : "", SERVERS);
	temp_place_remove();
	return all + failures != 0;
}
