/* SPDX-License-Identifier: MIT */
/*
 * hostile.c - a program that writes anything into the memory it shares with its server (R2)
 *
 * The input is a list of strokes: where in the data region, how, and what to write. The value is
 * any number, or one that looks right. Nonsense is refused at the first check, so half of the
 * strokes write references to other objects of the session, sizes and powers of two, into one word
 * or into many. After some strokes the server does all its work: reads every file of the tree,
 * reads names and DSOs, frees memory, removes threads, lets tasks follow others, runs commands. At
 * the end another server opens the session. No step may crash, take much processor time, or take
 * much memory.
 *
 * As a program of its own (HOSTILE_MAIN): `hostile [SECONDS [SEED]]`, with random inputs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../unit/session/temp_place.h"
#include "model/model.h"
#include "model/event/program.h"
#include "plane/plane.h"
#include "plane/code.h"
#include "plane/ring/ring.h"
#include "session/attach/attach.h"
#include "session/state.h"
#include "sources/program/programs.h"
#include "tracefs/tree.h"

/* The server's own hits end by a fault at nonsense. The sanitizer would report that fault first. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHECKED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define CHECKED
#endif

enum {
	HOT = 1024, STROKES = 64, EVENT_ID = 1000, SLOTS = 16,
	/* Milliseconds of processor time for one step of the server. */
#ifdef CHECKED
	BUSY_MAX = 10000,
#else
	BUSY_MAX = 1000,
#endif
	MEMORY_MAX = 8 << 20,		/* bytes of the server's own memory for a step */
};

struct stroke {
	uint8_t		where;		/* which of the important places; 0: anywhere */
	uint8_t		how;		/* enum how */
	uint16_t	at;		/* word in that place */
	uint64_t	value;
};

enum how {
	SET, SET_SMALL, SET_ONES, ADD, FLIP, COPY, SIZE, FILL, REPEAT, RING, CUT, LOOK, WRITE, HOWS
};

/* A piece of the region that the server reads often. */
struct piece {
	uint64_t	at, size;
};

static struct fixture {
	struct session	*session;
	struct model	*model;
	struct tree	*tree;
	struct programs	*programs;
	struct piece	hot[HOT];
	unsigned int	nr_hot;
} w;

static const char body[] =
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long call_site;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:0;\n"
	"\nprint fmt: \"size=%d name=%s\", REC->size, __get_str(name)\n";

/* ---- bounds ---- */

static char doing[1024];		/* the present step, for messages */
static double began;
static int64_t taken, peak;		/* bytes since its start, and their maximum */

/* The steps that took the most time and the most memory. */
static struct cost {
	char	doing[1024];
	double	seconds;
	int64_t	bytes;
} longest, largest;

static double busy(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void begin(const char *what)
{
	snprintf(doing, sizeof(doing), "%s", what);
	taken = peak = 0;
	began = busy();
}

static void end(void)
{
	struct cost now = { .seconds = busy() - began, .bytes = peak };

	snprintf(now.doing, sizeof(now.doing), "%s", doing);
	if (now.seconds > longest.seconds)
		longest = now;
	if (now.bytes > largest.bytes)
		largest = now;
	if (now.seconds * 1000 < BUSY_MAX)
		return;
	fprintf(stderr, "%s took %.1f s\n", doing, now.seconds);
	abort();
}

/* Counts the server's own memory, without libc's. The threads that scribble allocate none. */
#ifdef HOSTILE_MAIN
#include <malloc.h>

void *__real_malloc(size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_calloc(size_t n, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void __wrap_free(void *p);

static void *took(void *p)
{
	const int64_t more = p ? (int64_t)malloc_usable_size(p) : 0;
	const int64_t now = __atomic_add_fetch(&taken, more, __ATOMIC_RELAXED);

	peak = now > peak ? now : peak;
	if (now > MEMORY_MAX) {
		fprintf(stderr, "%s takes more than %d MB\n", doing, MEMORY_MAX >> 20);
		abort();
	}
	return p;
}

static void gave(void *p)
{
	__atomic_sub_fetch(&taken, (int64_t)malloc_usable_size(p), __ATOMIC_RELAXED);
}

void *__wrap_malloc(size_t size)
{
	return took(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return took(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size)
{
	size_t old = malloc_usable_size(p);
	void *q = __real_realloc(p, size);

	if (q)
		__atomic_sub_fetch(&taken, (int64_t)old, __ATOMIC_RELAXED);
	return took(q);
}

void __wrap_free(void *p)
{
	gave(p);
	__real_free(p);
}
#endif

/* ---- the tree ---- */

static int put(const char *path, const char *text)
{
	struct tree_file *f;
	int ret;

	begin(path);
	ret = tree_open(w.tree, path, O_WRONLY, &f);
	if (ret) {
		end();
		return ret;
	}
	ret = (int)tree_write(f, text, strlen(text));
	tree_release(f);
	end();
	return ret < 0 ? ret : 0;
}

static void read_file(const char *path)
{
	static char buf[65536];
	struct tree_file *f;
	uint64_t at = 0;
	ssize_t n;

	begin(path);
	if (tree_open(w.tree, path, O_RDONLY | O_NONBLOCK, &f)) {
		end();
		return;
	}
	while (at < 16 << 20 && (n = tree_read(f, buf, sizeof(buf), (off_t)at)) > 0)
		at += (uint64_t)n;
	tree_poll(f);
	tree_release(f);
	end();
}

struct walk {
	char		path[1024];
};

static int walk_name(void *arg, const char *name, bool is_dir)
{
	const struct walk *here = arg;
	struct walk next;

	if (snprintf(next.path, sizeof(next.path), "%s%s%s", here->path, *here->path ? "/" : "",
		     name) >= (int)sizeof(next.path))
		return 0;
	if (is_dir)
		tree_list(w.tree, next.path, walk_name, &next);
	else
		read_file(next.path);
	return 0;
}

/* A thread dies in a hit, and a process begins whose parent is listed, or not. */
static void tasks_come_and_go(void)
{
	begin("the end of a thread");
	for (uint32_t i = 0; i < SLOTS; i++) {
		if (w.session->slot_process[i] != SLOT_FREE)
			continue;
		plane_slot(session_plane(w.session), i)->owner = 1;
		slot_finish(w.session, i);
	}
	end();
	begin("a task that follows");
	/* as if this process had begun after the option was set */
	session_header(w.session)->follow_since = 0;
	follow_child(w.session, getpid());
	end();
}

static void look(void)
{
	struct walk root = { "" };
	FILE *null = fopen("/dev/null", "we");

#ifndef CHECKED
	put("trace_marker", "a marker");
	put("instances/i/trace_marker", "another");
#endif
	tree_list(w.tree, "", walk_name, &root);
	read_file("per_cpu/cpu0/trace_raw");
	tasks_come_and_go();
	begin("what the server does regularly");
	programs_tick(w.programs);
	if (null) {
		programs_print(w.programs, null);
		fclose(null);
	}
	attach_serve(w.session);
	attach_check_threads(w.session);
	attach_processes(w.session, NULL, NULL);
	session_reclaim(w.session);
	end();
}

/* A command that goes deep into the session's memory. */
static void give_command(uint64_t which)
{
	static const char *const commands[][2] = {
		{ "trace", "\n" },
		{ "buffer_size_kb", "16" },
		{ "buffer_size_kb", "8" },
		{ "snapshot", "1" },
		{ "snapshot", "0" },
		{ "snapshot", "2" },
		{ "tracing_on", "0" },
		{ "tracing_on", "1" },
		{ "events/app/req/trigger", "hist:keys=size:clear" },
		{ "events/app/req/trigger", "!hist:keys=size" },
		{ "events/app/req/trigger", "hist:keys=size:pause" },
		{ "events/app/req/trigger", "hist:keys=call_site.sym,size:vals=size" },
		{ "events/app/req/trigger", "!stacktrace" },
		{ "events/app/req/enable", "0" },
		{ "events/app/req/enable", "1" },
		{ "set_event_pid", "1 2 3" },
		{ "set_event_pid", "" },
		{ "trace_clock", "global" },
		{ "tracing_cpumask", "1" },
		{ "buffer_subbuf_size_kb", "8" },
		{ "events/app/req/filter", "size > 3" },
		{ "per_cpu/cpu0/trace", "\n" },
		{ "set_ftrace_pid", "1 2 3" },
		{ "set_event_notrace_pid", "7" },
		{ "options/function-fork", "1" },
		{ "options/event-fork", "1" },
		{ "per_cpu/cpu0/snapshot", "1" },
		{ "per_cpu/cpu1/buffer_size_kb", "24" },
		{ "options/overwrite", "0" },
		{ "options/overwrite", "1" },
		{ "current_tracer", "irqsoff" },
		{ "current_tracer", "wakeup" },
		{ "current_tracer", "nop" },
		{ "tracing_thresh", "5" },
		{ "instances/i/snapshot", "1" },
		{ "instances/i/buffer_size_kb", "12" },
		{ "instances/i/events/app/req/enable", "1" },
	};
	const size_t nr = sizeof(commands) / sizeof(commands[0]);

	if (which % (nr + 2) < nr) {
		put(commands[which % nr][0], commands[which % nr][1]);
		return;
	}
	begin("instances");
	if (which % (nr + 2) == nr)
		tree_rmdir(w.tree, "instances/i");
	else
		tree_mkdir(w.tree, "instances/j");
	end();
}

/* ---- the session ---- */

static void hit_some(int nr)
{
	struct {
		struct record_common common;
		int size, pad;
		uint64_t call_site;
		uint32_t loc;
		char name[12];
	} r;
	uint64_t stack[3] = { LAYOUT_DSO_BASE + 0x1000, LAYOUT_DSO_BASE + 0x2000, 7 };
	struct slot *slot = session_slot_get(w.session);

	for (int i = 0; slot && i < nr; i++) {
		struct hit h = {
			.record = &r,
			.size = sizeof(r),
			.comm = "hostile",
			.stack = stack,
			.nr_stack = 3,
			.cpu = (uint32_t)i % 2,
		};

		memset(&r, 0, sizeof(r));
		r.common = (struct record_common){ .type = EVENT_ID, .pid = 100 + i % 3 };
		r.size = i % 5;
		r.call_site = LAYOUT_DSO_BASE + (uint64_t)(i % 7) * 64;
		r.loc = 6u << 16 | 28;
		strcpy(r.name, "hello");
		hit(session_plane(w.session), slot, &h);
	}
	if (slot)
		session_slot_put(w.session, slot);
}

static void add_hot(uint64_t at, uint64_t size)
{
	if (at && w.nr_hot < HOT && session_data(w.session, at, size))
		w.hot[w.nr_hot++] = (struct piece){ at, size };
}

/* Adds maps, which the plan leads to. */
static void add_maps(void)
{
	config_ref ref = plane_event(session_plane(w.session), EVENT_ID)->plan;
	const struct plan *plan = session_config(w.session, ref, sizeof(*plan));
	const struct trigger_arm *t;

	if (!ref || !plan)
		return;
	t = (const struct trigger_arm *)((const struct arm *)(plan + 1) + plan->nr_arms);
	for (uint32_t i = 0; i < plan->nr_triggers; i++) {
		const struct code *p = session_config(w.session, t[i].code, sizeof(*p));

		add_hot(t[i].state, 16);
		if (t[i].kind == TRIGGER_HIST && p) {
			add_hot(p->map, 64);
			add_hot(p->map, 4096);
			add_hot(p->map, 65536);
		}
	}
}

/*
 * Adds a ring as a whole, and separately its description, its head and tails, its read position,
 * its pages and their descriptors.
 */
static void add_ring(data_ref ref)
{
	const struct ring *r = session_data(w.session, ref, sizeof(*r));

	if (!r)
		return;
	add_hot(ref, 64);
	add_hot(ref + 64, 64);
	add_hot(ref + 128, 64);
	add_hot(r->pages, 4096);
	add_hot(r->descs, 128);
}

static void find_hot(void)
{
	const struct config_header *h = session_header(w.session);

	w.nr_hot = 0;
	add_hot(h->slots, 16 * sizeof(struct slot));
	add_hot(h->slots, 4 * sizeof(struct slot));
	add_hot(h->programs, 4096);
	add_hot(h->programs + offsetof(struct program_tables, dsos), 8 * sizeof(struct dso_entry));
	add_hot(h->programs + offsetof(struct program_tables, paths_used), 512);
	add_hot(h->programs + offsetof(struct program_tables, sites),
		8 * sizeof(struct site_answer));
	add_hot(h->programs + offsetof(struct program_tables, sections), 8192);
	add_hot(h->programs + offsetof(struct program_tables, waiters), 4096);
	add_hot(sizeof(uint64_t), sizeof(struct data_header) - sizeof(uint64_t));
	for (uint32_t i = 0; i < 2; i++) {
		const struct instance_state *inst = plane_instance(session_plane(w.session), i);

		add_hot(h->instances + i * sizeof(*inst), sizeof(*inst));
		/* Adds the numbers of buffers and pids once more, because they matter most. */
		add_hot(h->instances + i * sizeof(*inst), offsetof(struct instance_state, cpumask));
		for (int k = 0; k < 2; k++) {
			data_ref b = inst->buffers[k];
			const uint64_t *words = session_data(w.session, b, 4096);

			add_hot(b, 512);
			/* A buffer refers to its rings. */
			for (int n = 0; b && words && n < 64; n++)
				if (words[n] % 64 == 0 && words[n] > h->data_heap &&
				    words[n] < h->data_high)
					add_ring(words[n]);
		}
	}
	add_maps();
}

/* Makes one of each kind of object that has memory of its own. */
static bool set_up(void)
{
	static const char *const commands[][2] = {
		{ "buffer_size_kb", "8" },
		{ "instances/i/buffer_size_kb", "8" },
		{ "synthetic_events", "late int size; char name[]; unsigned long[] stack" },
		{ "events/app/req/trigger", "hist:keys=size:vals=hitcount,size:size=128" },
		{ "events/app/req/trigger",
		  "hist:keys=common_pid:ts=common_timestamp,s=size,n=name,"
		  "st=common_stacktrace:size=128" },
		{ "events/app/req/trigger",
		  "hist:keys=common_pid,size:l=common_timestamp-$ts:size=128:"
		  "onmax($l).save(size,name):onmatch(app.req).late($s,$n,$st)" },
		{ "events/app/req/trigger", "hist:keys=common_stacktrace,name:size=128" },
		{ "events/app/req/trigger", "stacktrace" },
		{ "events/synthetic/late/trigger", "hist:keys=name,stack.stacktrace:size=128" },
		{ "events/synthetic/late/enable", "1" },
		{ "instances/i/events/app/req/trigger", "hist:keys=call_site.sym-offset:size=128" },
		{ "instances/i/events/app/req/enable", "1" },
		{ "events/app/req/enable", "1" },
		{ "snapshot", "1" },
		{ "set_event_pid", "1 2 3" },
		{ "set_ftrace_pid", "1 2" },
		{ "options/event-fork", "1" },
		{ "options/function-fork", "1" },
	};

	tree_mkdir(w.tree, "instances/i");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		int err = put(commands[i][0], commands[i][1]);

		if (err) {
			fprintf(stderr, "%s: %s: %s\n", commands[i][0], commands[i][1],
				strerror(-err));
			return false;
		}
	}
	hit_some(200);
	find_hot();
	return true;
}

static bool fixture_open(void)
{
	static const struct session_params small = { .nr_cpus = 2,
						     .nr_slots = SLOTS,
						     .memory = 1ull << 30 };
	static const struct programs_params few = { .systems = "signal" };
	struct event *e;
	bool is_new;

	memset(&w, 0, sizeof(w));
	session_remove_stale("hostile");
	if (session_create("hostile", &small, &w.session) || model_create(w.session, &w.model))
		return false;
	w.tree = tree_create(w.model);
	if (!w.tree || programs_create(w.model, w.tree, &few, &w.programs) ||
	    model_add_program_event(w.model, "app", "req", body, EVENT_ID, &e, &is_new))
		return false;
	return set_up();
}

static void fixture_close(void)
{
	programs_destroy(w.programs);
	if (w.tree)
		tree_destroy(w.tree);
	model_destroy(w.model);
	w.programs = NULL;
	w.tree = NULL;
	w.model = NULL;
}

static int write_again(void *arg, const char *path, const char *text)
{
	int ret = programs_restore(&w.programs, w.model, w.tree, path, text);

	if (ret <= 0)
		return ret;
	if (!strncmp(path, "instances/", 10) && !strchr(path + 10, '/'))
		return tree_mkdir(w.tree, path);
	put(path, text);
	return 0;
}

/* Another server opens the session, and may refuse it. */
static void restore(void)
{
	fixture_close();
	session_close(w.session);
	w.session = NULL;
	begin("another server");
	if (session_open("hostile", &w.session)) {
		end();
		session_remove_stale("hostile");
		return;
	}
	end();
	begin("another server's model");
	if (!model_create(w.session, &w.model)) {
		w.tree = tree_create(w.model);
		end();
		if (w.tree && !model_restore(w.model, write_again, NULL)) {
			begin("another server's programs");
			if (w.programs) {
				programs_restored(w.programs);
				end();
				look();
			}
		}
		begin("the end of a server");
		fixture_close();
	}
	end();
	session_destroy(w.session);
}

/* ---- strokes ---- */

static void cut(uint64_t value)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/data", session_dir(w.session));
	if (truncate(path, (off_t)(value % (1 << 20))))
		return;
}

/* The target of a stroke; *left: the bytes from there on. */
static char *target(const struct stroke *s, uint64_t *left)
{
	const struct config_header *h = session_header(w.session);
	uint64_t high = h->data_high, at;

	if (s->where && w.nr_hot) {
		const struct piece *p = &w.hot[(s->where | s->at << 8) % w.nr_hot];

		at = p->at + (s->at ^ s->value >> 40) * 4u % p->size / 4 * 4;
	} else {
		at = (s->value >> 20 ^ s->at * 64u) % (high / 4) * 4;
	}
	*left = high > at ? high - at : 0;
	return session_data(w.session, at, 8);
}

/* A number that looks plausible. */
static uint64_t size_like(uint64_t value)
{
	const struct config_header *h = session_header(w.session);

	switch (value >> 8 & 7) {
	case 0:
		return h->data_size - (value & 0xff) * 64;
	case 1:
		return h->data_high - (value & 0xff) * 64;
	case 2:
		return (1ull << (value & 31)) - 1;
	case 3:		/* of a ring: number and size of pages */
		return (1ull << (1 + (value & 15))) | 1ull << (32 + 12 + (value >> 4 & 15) % 13);
	case 4:
		return 12 + (value & 15) % 13;
	default:
		return 1ull << (value & 63);
	}
}

static void repeat(char *at, uint64_t left, uint64_t value)
{
	uint64_t ref = w.nr_hot ? w.hot[value % w.nr_hot].at : value,
		 len = 8 + (value >> 16 & 8191);

	for (uint64_t i = 0; i + 8 <= len && i + 8 <= left; i += 8)
		memcpy(at + i, &ref, 8);
}

/* Makes a consistent ring of the largest size, which is the only ring of its buffer. */
static void make_ring(data_ref ref, uint64_t value)
{
	const uint32_t instance = value & 1, which = value >> 1 & 1,
		       shift = 12 + (value >> 8 & 15) % 13;
	/*
	 * An earlier stroke may have written anything there. Like a ring, a buffer begins a cache
	 * line.
	 */
	data_ref buffer =
		plane_instance(session_plane(w.session), instance)->buffers[which] & ~63ull;
	const size_t nr = (size_t)BUFFER_MAX_SETS * session_header(w.session)->nr_cpus;
	struct buffer *b = session_data(w.session, buffer, sizeof(*b) + nr * sizeof(data_ref));
	struct ring *r;

	ref &= ~63ull;
	r = session_data(w.session, ref, sizeof(*r));
	if (!b || !r)
		return;
	*r = (struct ring){
		.nr_pages = 2 + (value >> 16 & 15),
		.subbuf_size = 1u << shift,
		.page_shift = shift,
		.pages = session_header(w.session)->data_heap,
		.descs = session_header(w.session)->data_heap,
		.head = value >> 1,
	};
	memcpy(b,
	       &(struct buffer){ .nr_cpus = session_header(w.session)->nr_cpus,
				 .subbuf_size = 1u << shift,
				 .pad = 0 },
	       sizeof(*b));
	for (size_t i = 0; i < nr; i++)
		b->rings[i] = ref;
}

static void fill(char *at, uint64_t left, uint64_t value)
{
	uint64_t x = value | 1, len = value >> 8 & 4095;

	for (uint64_t i = 0; i + 8 <= len && i + 8 <= left; i += 8) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		memcpy(at + i, &x, 8);
	}
}

static void strike(const struct stroke *s)
{
	uint64_t left, value = s->value, old;
	char *at = target(s, &left);

	if (!at || left < 8)
		return;
	memcpy(&old, at, 8);
	switch (s->how % HOWS) {
	case SET:
		break;
	case SET_SMALL:
		value &= 0xff;
		break;
	case SET_ONES:
		value = UINT64_MAX << (value & 63);
		break;
	case ADD:
		value = old + (value & 0xff) - 128;
		break;
	case FLIP:
		value = old ^ 1ull << (value & 63);
		break;
	case COPY:
		value = w.nr_hot ? w.hot[value % w.nr_hot].at + (value >> 16 & 0xff8) : value;
		break;
	case SIZE:
		value = size_like(value);
		if (value >> 32 == 0) {		/* the word next to it is another number */
			memcpy(at, &value, 4);
			return;
		}
		break;
	case FILL:
		fill(at, left, value);
		return;
	case RING:
		make_ring((data_ref)(at - session_plane(w.session)->data), value);
		return;
	case REPEAT:
		repeat(at, left, value);
		return;
	case CUT:
		if (value % 8 == 0)
			cut(value >> 8);
		return;
	case LOOK:
		look();
		return;
	default:
		give_command(value);
		return;
	}
	memcpy(at, &value, 8);
}

static uint64_t next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static uint64_t hash(const uint8_t *data, size_t size)
{
	uint64_t x = 88172645463325252ull;

	for (size_t i = 0; i < size; i++)
		x = (x ^ data[i]) * 0x9e3779b97f4a7c15ull ^ x >> 29;
	return x | 1;
}

/*
 * Takes strokes from the input, then random ones: a fuzzer begins with inputs of a byte or two, and
 * coverage of the server does not guide it.
 */
static void take_stroke(struct stroke *s, const uint8_t **data, size_t *size, uint64_t *chance)
{
	uint64_t words[2] = { next(chance), next(chance) };

	_Static_assert(sizeof(*s) == sizeof(words), "one input stroke");
	memcpy(s, words, sizeof(*s));
	if (*size < sizeof(*s))
		return;
	memcpy(s, *data, sizeof(*s));
	*data += sizeof(*s);
	*size -= sizeof(*s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool placed;
	uint64_t chance = hash(data, size);
	struct stroke s;

	if (!placed && !temp_place())
		return 0;
	if (!placed)
		atexit(temp_place_remove);
	placed = true;
	if (!fixture_open()) {
		fprintf(stderr, "no fixture\n");
		abort();
	}
	for (int i = 0; i < STROKES; i++) {
		take_stroke(&s, &data, &size, &chance);
		strike(&s);
	}
	look();
	restore();
	return 0;
}

#ifdef HOSTILE_MAIN
#include <pthread.h>
#include <stdatomic.h>

/* ---- while the server looks ---- */

static _Atomic int scribbling;

static void *scribble(void *arg)
{
	uint64_t x = *(uint64_t *)arg | 1;

	while (atomic_load_explicit(&scribbling, memory_order_relaxed)) {
		struct stroke s = { .where = (uint8_t)(next(&x) | 1),
				   .how = (uint8_t)(x >> 8) % FILL,
				   .at = (uint16_t)(x >> 16),
				   .value = next(&x) };

		strike(&s);
		if (x % 64 == 0)
			usleep(x >> 32 & 127);
	}
	return NULL;
}

/* Numbers may change between their check and their use. */
static void look_at_moving(uint64_t seed)
{
	pthread_t t;

	if (!fixture_open())
		abort();
	atomic_store(&scribbling, 1);
	pthread_create(&t, NULL, scribble, &seed);
	for (uint64_t i = 0; i < 6; i++) {
		look();
		give_command(seed * 7 + i);
	}
	atomic_store(&scribbling, 0);
	pthread_join(t, NULL);
	restore();
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 5;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10)
				 : (uint64_t)time(NULL) ^ (uint64_t)getpid() << 20;
	time_t end = time(NULL) + seconds;
	unsigned long inputs = 0;

	printf("1..1\n");
	do {
		uint64_t data[STROKES * sizeof(struct stroke) / 8],
			x = seed * 2654435761u + 88172645463325252ull;
		size_t size = (size_t)(next(&x) % STROKES + 1) * sizeof(struct stroke);

		fprintf(stderr, "# seed %llu\n", (unsigned long long)seed);
		for (size_t i = 0; i < sizeof(data) / 8; i++)
			data[i] = next(&x);
		LLVMFuzzerTestOneInput((const uint8_t *)data, size);
		look_at_moving(seed);
		seed++;
		inputs++;
	} while (time(NULL) < end);
	printf("# longest: %.3f s, %s\n", longest.seconds, longest.doing);
	printf("# largest: %lld KiB, %s\n", (long long)largest.bytes >> 10, largest.doing);
	printf("ok 1 - a server with %lu kinds of nonsense in its memory\n", inputs);
	return 0;
}
#endif
