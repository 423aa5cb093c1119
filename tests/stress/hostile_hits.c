/* SPDX-License-Identifier: MIT */
/*
 * hostile_hits.c - hits while another process writes anything into the shared memory (R38)
 *
 * The regions are mapped as in a program, with spare addresses behind the data region, in the
 * middle of an inaccessible terabyte. A hit may fault in the spare addresses and is left then: in a
 * program that detaches the agent (agent/thread/guard.c). A fault anywhere else is a failure, and
 * so is a change of the pages next to the regions.
 *
 *     | wall | canary | config, read-only | wall | canary | data | spare | canary | wall |
 *
 * Hits go to hit() and to the agent, from its short ways in assembly to the shortcuts of
 * histograms.
 *
 * First each word of each object gets each of a list of values, and each event is hit once. Then
 * hits are stopped after each instruction, and a word has another value for the next few
 * instructions; this finds values that are loaded twice. Then threads hit while another one
 * scribbles.
 *
 *     hostile_hits [SECONDS [SEED]]
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "../unit/session/temp_place.h"
#include "agent/state.h"
#include "model/model.h"
#include "model/event/program.h"
#include "plane/arch/ring_commit.h"
#include "plane/hit.h"
#include "plane/ring/ring.h"
#include "session/state.h"
#include "tracefs/tree.h"

enum {
	EVENTS = 6,
	SHORTCUT_EVENTS = 12,
	EVENT_ID = 1000,
	FUNCTIONS = LAYOUT_GROUPS_AT + 3, /* entries */
	HITTERS = 3,
	SLOTS = 16,
	PIECES = 2048,
	ROUND_MS = 300,
	STEPPED = 20,
	RSEQ_AREA_SIZE = 32,		/* as libc registers it */
	RSEQ_UNREGISTER = 1,
	RSEQ_SIGNATURE = 0x53053053,
};

#define WALL   (1ull << 38)
#define CANARY (64ull << 10)
#define MEMORY (48ull << 20) /* no power of two: part of the mask's reach is spare */
#define ROOM   (64ull << 20)

struct piece {
	uint64_t at, size;
};

static struct fixture {
	struct session *session;
	struct model *model;
	struct tree *tree;
	struct plane plane; /* as in a program */
	char *scribble;	    /* a second mapping of the data region */
	char *canary[3];
	struct slot *slot[HITTERS + 1];
	struct piece piece[PIECES];
	unsigned int nr_pieces;
	char *kept; /* their contents, one after the other */
} w;

/* ---- faults ---- */

static __thread sigjmp_buf left;
static __thread volatile bool in_hit;
static __thread const char *doing = "nothing";
static _Atomic uint64_t nr_hits, nr_left, nr_strokes;
static uint64_t seed;
static volatile uint64_t last_at, last_value; /* for messages */

static _Noreturn void fail(const char *what, uint64_t at)
{
	char text[512];
	int n = snprintf(
		text, sizeof(text),
		"not ok 1 - %s: %s at data %+lld (seed %llu; last write: %#llx at %#llx)\n", what,
		doing, (long long)(at - (uint64_t)w.plane.data), (unsigned long long)seed,
		(unsigned long long)last_value, (unsigned long long)last_at);

	if (write(1, text, (size_t)n) < 0)
		_exit(4);
	_exit(3);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	uint64_t at = (uint64_t)info->si_addr;

	if (sig != SIGSEGV)
		fail(strsignal(sig), at);
	if (at - (uint64_t)w.plane.data >= 2 * ROOM || !in_hit)
		fail("a hit went elsewhere", at);
	siglongjmp(left, 1);
}

/* ---- memory ---- */

static void check_canaries(void)
{
	for (int i = 0; i < 3; i++)
		for (uint64_t k = 0; k < CANARY / 8; k++)
			if (((volatile uint64_t *)w.canary[i])[k] != (0x5ca1ab1eull ^ k))
				fail("something else was written", (uint64_t)(w.canary[i] + 8 * k));
}

static char *canary_at(char *at)
{
	if (mmap(at, CANARY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) != at)
		return NULL;
	for (uint64_t k = 0; k < CANARY / 8; k++)
		((uint64_t *)at)[k] = 0x5ca1ab1eull ^ k;
	return at;
}

static bool map_as_program(void)
{
	const uint64_t config = w.session->config.size;
	char *at = mmap(NULL, 3 * WALL + config + 2 * ROOM, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct plane *p = &w.plane;

	if (at == MAP_FAILED)
		return false;
	p->config =
		mmap(at + WALL, config, PROT_READ, MAP_SHARED | MAP_FIXED, w.session->config.fd, 0);
	p->data = mmap(at + 2 * WALL + config, MEMORY, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_FIXED, w.session->data.fd, 0);
	p->config_size = config;
	p->data_size = MEMORY;
	p->data_mask = ROOM - 1;
	w.scribble = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, w.session->data.fd, 0);
	w.canary[0] = canary_at(at + WALL - CANARY);
	w.canary[1] = canary_at(p->data - CANARY);
	w.canary[2] = canary_at(p->data + 2 * ROOM);
	return p->config != MAP_FAILED && p->data != MAP_FAILED && w.scribble != MAP_FAILED;
}

/* ---- the session ---- */

#define COMMON										\
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"		\
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"		\
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"	\
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char body[] =
	COMMON "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
	       "\tfield:unsigned int flags;\toffset:12;\tsize:4;\tsigned:0;\n"
	       "\tfield:unsigned long call_site;\toffset:16;\tsize:8;\tsigned:0;\n"
	       "\tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:0;\n"
	       "\tfield:char task[16];\toffset:28;\tsize:16;\tsigned:0;\n"
	       "\nprint fmt: \"size=%d name=%s\", REC->size, __get_str(name)\n";

static int put(const char *path, const char *text)
{
	struct tree_file *f;
	int ret = tree_open(w.tree, path, O_WRONLY | O_APPEND, &f);

	if (ret)
		return ret;
	ret = (int)tree_write(f, text, strlen(text));
	tree_release(f);
	return ret < 0 ? ret : 0;
}

/*
 * Event a is only recorded, b has a filter, c and d have one hist; e and f have everything. The
 * others have a histogram each, for which threads have shortcuts.
 */
static const char *const commands[][2] = {
	{ "buffer_size_kb", "8" },
	{ "instances/i/buffer_size_kb", "8" },
	{ "snapshot", "1" },
	{ "events/app/a/enable", "1" },
	{ "events/app/b/filter", "size > 1 && name ~ \"*e*\"" },
	{ "events/app/b/enable", "1" },
	{ "events/app/c/trigger", "hist:keys=size:size=128" },
	{ "events/app/d/trigger", "hist:keys=size,flags:vals=size:size=128 if size < 100" },
	{ "synthetic_events", "late int size; char name[]; unsigned long[] stack" },
	{ "dynamic_events", "e:probes/copied app.f size=$size name=$name:string" },
	{ "events/app/e/trigger",
	 "hist:keys=common_pid:ts=common_timestamp,s=size,n=name,st=common_stacktrace:size=128" },
	{ "events/app/e/trigger", "hist:keys=task,size.log2:vals=size:size=128" },
	{ "events/app/f/trigger", "hist:keys=common_pid:l=common_timestamp-$ts:size=128:"
				 "onmax($l).save(size,name,task):onmatch(app.e).late($s,$n,$st)" },
	{ "events/app/f/trigger", "hist:keys=common_stacktrace,name:size=128" },
	{ "events/app/f/trigger", "hist:keys=size.buckets=4:x=size/3:onmax($x).snapshot()" },
	{ "events/app/f/trigger", "hist:keys=common_pid.execname:size=128" },
	{ "events/app/f/trigger", "stacktrace:1000000 if size > 2" },
	{ "events/app/e/trigger", "snapshot:1000000 if size == 3" },
	{ "events/app/e/trigger", "enable_event:app:a" },
	{ "events/app/f/trigger", "disable_hist:app:c:3" },
	{ "events/synthetic/late/trigger", "hist:keys=name,stack.stacktrace:size=128" },
	{ "events/synthetic/late/trigger", "traceoff if size == 77" },
	{ "events/synthetic/late/enable", "1" },
	{ "events/probes/copied/enable", "1" },
	{ "instances/i/events/app/e/enable", "1" },
	{ "instances/i/events/synthetic/late/enable", "1" },
	{ "instances/i/set_event_pid", "100 101" },
	{ "instances/i/options/event-fork", "1" },
	{ "events/app/g/trigger", "hist:keys=size:size=128" },
	{ "events/app/h/trigger", "hist:keys=size,call_site:vals=flags:size=128 if flags < 4" },
	{ "events/app/i/trigger", "hist:keys=call_site.log2:size=128" },
	{ "events/app/j/trigger", "hist:keys=name:size=128" },
	{ "events/app/k/trigger", "hist:keys=size:k0=common_timestamp:size=128" },
	{ "events/app/l/trigger", "hist:keys=size:l0=common_timestamp-$k0:size=128" },
	/* In an instance that wants no stack. */
	{ "instances/j/events/app/m/trigger",
	 "hist:keys=size,name:m0=call_site:size=128:onmax($m0).save(flags,task)" },
	{ "events/app/n/trigger", "hist:keys=task:size=128" },
	{ "synthetic_events", "near u64 p0; int size" },
	{ "instances/j/events/app/o/trigger", "hist:keys=size:o0=common_timestamp:size=128" },
	{ "instances/j/events/app/p/trigger",
	 "hist:keys=size:p0=common_timestamp-$o0:size=128:onmatch(app.o).near($p0,size)" },
	{ "instances/j/events/synthetic/near/trigger", "hist:keys=p0.log2:size=128" },
	{ "instances/j/events/app/q/trigger", "hist:keys=size:q0=common_timestamp:size=128" },
	{ "instances/j/events/app/r/trigger",
	 "hist:keys=size:r0=common_timestamp-$q0:size=128:onmax($r0).save(flags,task)" },
	{ "options/stacktrace", "1" },
	{ "events/app/e/enable", "1" },
	{ "events/app/f/enable", "1" },
};

static bool command_all(void)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		int err = put(commands[i][0], commands[i][1]);

		if (err) {
			printf("# %s: %s: %s\n", commands[i][0], commands[i][1], strerror(-err));
			return false;
		}
	}
	return true;
}

/*
 * Makes a group of functions whose ops want everything that functions can have. No command makes
 * one without a program.
 */
static bool functions_arm(void)
{
	struct session *s = w.session;
	struct instance_state *inst = plane_instance(session_plane(s), 0);
	size_t size = sizeof(struct plan) + sizeof(struct arm) + 3 * sizeof(struct trigger_arm);
	config_ref ref = session_config_alloc(s, size);
	data_ref pids = session_data_alloc(s, sizeof(struct pid_set));
	struct plan *plan = session_config(s, ref, size);
	struct arm *arm = (struct arm *)(plan + 1);
	struct trigger_arm *t = (struct trigger_arm *)(arm + 1);

	if (!ref || !pids)
		return false;
	((struct pid_set *)session_data(s, pids, sizeof(struct pid_set)))->bits[100 / 64] = ~0ull;
	*plan = (struct plan){ .event_id = LAYOUT_FUNCTION_ID,
			      .nr_arms = 1,
			      .nr_triggers = 3,
			      .size = (uint32_t)size };
	*arm = (struct arm){ .flags = ARM_RECORD | ARM_FUNCTION | ARM_NO_REPEATS | ARM_FUNC_PIDS |
				     ARM_STACK,
			    .nr_triggers = 3,
			    .state = session_data_alloc(s, session_header(s)->nr_cpus *
								   sizeof(struct hit_repeat)) };
	for (int i = 0; i < 3; i++)
		t[i] = (struct trigger_arm){ .kind = (uint16_t[]){ TRIGGER_TRACEON,
								 TRIGGER_STACKTRACE,
								 TRIGGER_SNAPSHOT }[i],
					    .flags = TRIGGER_FUNCTION | TRIGGER_COUNTED,
					    .state = session_data_alloc(s, 64) };
	session_publish(s, &inst->func_pids, pids);
	session_publish(s, (_Atomic uint64_t *)&plane_event(session_plane(s), FUNCTIONS)->plan,
			ref);
	return true;
}

static bool fixture_open(void)
{
	static const struct session_params params = { .nr_slots = SLOTS, .memory = MEMORY };
	uint64_t bytes[LAYOUT_MAX_CPUS];
	struct event *e;
	bool is_new;

	if (session_create(NULL, &params, &w.session) || model_create(w.session, &w.model))
		return false;
	w.tree = tree_create(w.model);
	if (!w.tree || tree_mkdir(w.tree, "instances/i") || tree_mkdir(w.tree, "instances/j"))
		return false;
	for (unsigned int i = 0; i < EVENTS + SHORTCUT_EVENTS; i++)
		if (model_add_program_event(w.model, "app", (const char[]){ (char)('a' + i), 0 },
					    body, EVENT_ID + i, &e, &is_new))
			return false;
	if (!command_all() || !functions_arm())
		return false;
	/* Makes rings of a source and of a lease. */
	for (int i = 0; i < LAYOUT_MAX_CPUS; i++)
		bytes[i] = 8192;
	if (buffer_add_set(w.session, plane_instance(session_plane(w.session), 0)->buffers[0], 1,
			   bytes))
		return false;
	for (int i = 0; i <= HITTERS; i++)
		w.slot[i] = session_slot_get(w.session);
	w.slot[HITTERS]->lease = RING_LEASE_ONLY;
	return !ring_lease_give(w.session, w.slot[HITTERS]->index) && map_as_program();
}

/* ---- places to write to ---- */

static void add(uint64_t at, uint64_t size)
{
	if (at && w.nr_pieces < PIECES && at < MEMORY && size <= MEMORY - at)
		w.piece[w.nr_pieces++] = (struct piece){ at, size };
}

static void add_ring(data_ref ref)
{
	const struct ring *r = session_data(w.session, ref, sizeof(*r));

	if (!ref || !r)
		return;
	add(ref, sizeof(*r));
	add(r->descs, 3 * sizeof(struct page_desc));
	add(r->pages, 64);
}

static void add_instance(uint32_t index)
{
	const struct config_header *h = session_header(w.session);
	const struct instance_state *inst = plane_instance(session_plane(w.session), index);

	add(h->instances + index * sizeof(*inst), sizeof(*inst));
	for (int i = 0; i < 2; i++) {
		const struct buffer *b = session_data(w.session, inst->buffers[i], sizeof(*b));
		static const uint32_t sets[] = { 0, 1, RING_SET_LEASES, RING_SET_LEASES + 1 };

		if (!b)
			continue;
		add(inst->buffers[i], sizeof(*b) + h->nr_cpus * sizeof(data_ref));
		for (int k = 0; k < 4; k++)
			for (uint32_t cpu = 0; cpu < h->nr_cpus; cpu++)
				add_ring(b->rings[sets[k] * h->nr_cpus + cpu]);
	}
	add(inst->pids, 64);
	add(inst->func_pids, 64);
}

/*
 * Adds everything that a plan leads to: states, counts, maps. Of a map it adds samples of its head,
 * table, owners, elts, sums and blocks.
 */
static void add_plan(uint32_t entry)
{
	config_ref ref = plane_event(session_plane(w.session), entry)->plan;
	const struct plan *plan = session_config(w.session, ref, sizeof(*plan));
	const struct trigger_arm *t;

	if (!ref || !plan)
		return;
	t = plan_triggers(plan);
	for (uint32_t i = 0; i < plan->nr_arms; i++)
		add(plan_arms(plan)[i].state, sizeof(struct event_state));
	for (uint32_t i = 0; i < plan->nr_triggers; i++) {
		const struct code *p = session_config(w.session, t[i].code, sizeof(*p));

		add(t[i].state, 16);
		add(t[i].target, 16);
		if (t[i].kind != TRIGGER_HIST || !p)
			continue;
		add(p->map, 1024);
		for (uint64_t at = 1024; at < 64 << 10; at += 1500)
			add(p->map + at / 64 * 64, 64);
	}
}

static void add_slot(const struct slot *slot)
{
	add((uint64_t)((const char *)slot - w.session->data.base), sizeof(*slot));
	for (int i = 0; i < HIT_FRAMES; i++) {
		add(slot->scratch + offsetof(struct hit_scratch, frame[i].ref),
		    sizeof(((struct hit_frame *)0)->ref));
		add(slot->scratch + offsetof(struct hit_scratch, frame[i].own),
		    sizeof(((struct hit_frame *)0)->own));
		add(slot->scratch + offsetof(struct hit_scratch, frame[i].text), 160);
		add(slot->scratch + offsetof(struct hit_scratch, frame[i].value), 64);
	}
	add(slot->scratch + offsetof(struct hit_scratch, synth),
	    8 + 4 * sizeof(struct hit_pending));
	add(slot->scratch + offsetof(struct hit_scratch, synth.arena), 256);
}

static bool find_pieces(void)
{
	uint64_t all = 0;

	add(sizeof(uint64_t), sizeof(struct data_header) - sizeof(uint64_t));
	add_instance(0);
	add_instance(1);
	for (int i = 0; i <= HITTERS; i++)
		add_slot(w.slot[i]);
	for (uint32_t i = 1; i < LAYOUT_MAX_EVENTS; i++)
		add_plan(i);
	for (unsigned int i = 0; i < w.nr_pieces; i++)
		all += w.piece[i].size;
	w.kept = malloc(all);
	return w.kept;
}

static void keep(bool restore)
{
	char *kept = w.kept;

	for (unsigned int i = 0; i < w.nr_pieces; kept += w.piece[i++].size) {
		if (restore)
			memcpy(w.scribble + w.piece[i].at, kept, w.piece[i].size);
		else
			memcpy(kept, w.scribble + w.piece[i].at, w.piece[i].size);
	}
}

/* ---- hits ---- */

struct rec {
	struct record_common common;
	int32_t size;
	uint32_t flags;
	uint64_t call_site;
	uint32_t loc;
	char task[16];
	char name[20];
};

static void record_fill(struct rec *r, unsigned int event, unsigned int n)
{
	*r = (struct rec){ .common = { .type = (uint16_t)(EVENT_ID + event),
		.pid = 100 + (int)(n % 3) },
			  .size = (int)(n % 7),
			  .flags = n % 5,
			  .call_site = n,
			  .loc = 10u << 16 | offsetof(struct rec, name),
			  .task = "a task",
			  .name = "some text" };
}

static void hit_event(struct slot *slot, unsigned int event, unsigned int n, uint32_t writer)
{
	static const uint64_t stack[4] = { 0x1000, 0x2000, 0x3000, 0x4000 };
	struct rec r;
	struct hit h = { .record = &r,
			.size = sizeof(r),
			.comm = "hostile",
			.stack = stack,
			.nr_stack = 4,
			.writer = writer,
			.cpu = n % plane_header(&w.plane)->nr_cpus,
			.time = writer ? 1000 + n : 0 };

	record_fill(&r, event, n);
	hit(&w.plane, slot, &h);
}

static void hit_function(struct slot *slot, unsigned int n)
{
	static const uint64_t stack[2] = { 0x1000, 0x2000 };
	struct function_record r = { .common = { .type = LAYOUT_FUNCTION_ID, .pid = 100 },
				    .ip = 0x1000 + n % 3 / 2,
				    .parent_ip = 7 };
	struct hit h = { .record = &r,
			.size = sizeof(r),
			.comm = "hostile",
			.stack = stack,
			.nr_stack = 2,
			.entry = FUNCTIONS,
			.cpu = n % plane_header(&w.plane)->nr_cpus };

	hit(&w.plane, slot, &h);
}

static void hit_plainly(struct slot *slot, unsigned int n)
{
	struct rec r = { .common = { .type = (uint16_t)(EVENT_ID + n % 3), .pid = 100 },
			.size = (int)(n % 7) };

	hit_plain(&w.plane, slot, &r, sizeof(r), hit_where(n % plane_header(&w.plane)->nr_cpus, 0));
}

/* The slots in this process's mapping. */
static struct slot *slot_of(int i)
{
	return (struct slot *)(w.plane.data + ((char *)w.slot[i] - w.session->data.base));
}

/* The place where libc has the thread's CPU. */
static const volatile int32_t *cpu_word(void)
{
	static const volatile int32_t none = -1;

	return &__rseq_offset ? &rseq_area()->cpu_id : &none;
}

/* Hits as the thread of the slot, as in a program. */
static void hit_shortly(struct slot *slot, unsigned int n)
{
	struct agent_thread *t = &agent.here->threads[slot - plane_slot(&w.plane, 0)];
	struct rec r;

	record_fill(&r, EVENTS + n % SHORTCUT_EVENTS, n / SHORTCUT_EVENTS);
	agent_self.thread = t;
	t->resume = 0;
	t->cpu = cpu_word();
	agent_emit(t, r.common.type, &r, sizeof(r), NULL);
}

/* Whether each shortcut was taken, if this machine can have any. */
static bool shortcuts_taken(void)
{
	const struct agent_thread *t = agent_self.thread;
	bool all = true;

	for (unsigned int i = 0; agent_shortcut_name(i); i++) {
		/* The shortcut of functions needs sites, and there are none here. */
		if (i == SHORTCUT_FUNCTION || agent_shortcut_taken(t, i) || *t->cpu < 0 ||
		    plane_header(&w.plane)->fence)
			continue;
		printf("# %s: no shortcut\n", agent_shortcut_name(i));
		all = false;
	}
	return all;
}

static bool agent_start(void)
{
	agent.here = calloc(1, sizeof(*agent.here) + SLOTS * sizeof(struct agent_thread));
	agent.plane = w.plane;
	for (int i = 0; agent.here && i <= HITTERS; i++) {
		struct slot *slot = slot_of(i);
		struct agent_thread *t = &agent.here->threads[slot - plane_slot(&w.plane, 0)];

		*t = (struct agent_thread){ .slot = slot, .tid = (uint32_t)gettid(), .pid = 100 };
	}
	return agent.here;
}

static void follow(struct slot *slot, unsigned int n)
{
	struct pids_family family;

	pids_family_of(&w.plane, slot, 100, &family);
	pids_join(&w.plane, slot, &family, 101 + n % 2);
	pids_leave(&w.plane, slot, 101 + n % 2);
}

enum { KINDS = EVENTS + 4 };

static const char *const names[KINDS] = { "recorded", "filtered", "one key",
					 "two keys",   "variables",   "actions",
					 "a function", "a plain hit", "tasks that follow",
					 "a shortcut" };

/* The red zone below the stack pointer belongs to the function: step over it. */
#define TRAP_FLAG(change)							\
	__asm__ __volatile__("leaq -128(%%rsp), %%rsp\n\tpushfq\n\t" change	\
			     "\n\tpopfq\n\tleaq 128(%%rsp), %%rsp"		\
			     :							\
			     :							\
			     : "memory", "cc")

static volatile bool stepping;

/* Makes a hit of a kind. A fault in the spare addresses leaves it. */
static void one(struct slot *slot, unsigned int kind, unsigned int n, uint32_t writer)
{
	doing = names[kind];
	slot->depth = 0;
	if (sigsetjmp(left, 1)) {
		atomic_fetch_add_explicit(&nr_left, 1, memory_order_relaxed);
	} else {
		in_hit = true;
		if (stepping)
			TRAP_FLAG("orq $0x100, (%%rsp)");
		if (kind < EVENTS)
			hit_event(slot, kind, n, writer);
		else if (kind == EVENTS)
			hit_function(slot, n);
		else if (kind == EVENTS + 1)
			hit_plainly(slot, n);
		else if (kind == EVENTS + 2)
			follow(slot, n);
		else
			hit_shortly(slot, n);
		if (stepping)
			TRAP_FLAG("andq $~0x100, (%%rsp)");
	}
	in_hit = false;
	atomic_fetch_add_explicit(&nr_hits, 1, memory_order_relaxed);
}

/* ---- each word in turn ---- */

static const uint64_t values[] = {
	0,
	1,
	~0ull,
	0xffffffff,
	0x7fffffff,
	1ull << 31,
	1ull << 32,
	0x7fffffff00000000,
	0xffffffff00000000,
	1ull << 40,
	1ull << 62,
	0xffffffff00000001,
	0x100000001,
	0x8000000080000000,
	ROOM - 64,
	MEMORY - 64,
	0xfffffffffffff000,
	0x3f0000003f,
	0xffffff80ffffff80,
};

static void each_word(void)
{
	static const uint32_t writers[] = { 0, 0, 1, 0 };
	unsigned int n = 0;

	for (unsigned int i = 0; i < w.nr_pieces; i++) {
		for (uint64_t at = w.piece[i].at; at + 8 <= w.piece[i].at + w.piece[i].size;
		     at += 8) {
			volatile uint64_t *word = (volatile uint64_t *)(w.scribble + at);

			for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++, n++) {
				/* The slot with a lease has its turn, too. */
				struct slot *slot = slot_of(n % 4 == 3 ? HITTERS : 0);

				last_at = at;
				last_value = *word = values[v];
				for (unsigned int kind = 0; kind < KINDS; kind++)
					one(slot, kind, n, writers[n % 4]);
				if (v % 6 == 5)
					keep(true);
			}
		}
		keep(true);
	}
	check_canaries();
	doing = "nothing";
}

/* ---- behind each instruction ---- */

static uint64_t next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static uint64_t nonsense(uint64_t *x)
{
	const uint64_t r = next(x);

	switch (r >> 60) {
	case 0:
	case 1:
		return values[r % (sizeof(values) / sizeof(values[0]))];
	case 2:
	case 3:
		return w.piece[r % w.nr_pieces].at;
	case 4:
	case 5:
		return r & 0xffff;
	case 6:
	case 7:
		/* The canaries' places relative to the data region. */
		return (uint64_t)(w.canary[r % 3] - w.plane.data) + (r & 0xff8);
	case 8:
	case 9:
		return r << 32 | (r >> 20 & 0xff);
	default:
		return next(x);
	}
}

static uint64_t *stepped;	  /* the generator of the stepped thread */
static volatile uint32_t *target; /* the changed word; NULL: none */
static uint32_t was, is;
static int until; /* number of remaining instructions */

/* Chooses a piece; mostly one of the thread's scratch memory, where no other thread writes. */
static const struct piece *piece_any(uint64_t *x)
{
	const uint64_t scratch = w.slot[0]->scratch;
	const struct piece *p;

	do
		p = &w.piece[next(x) % w.nr_pieces];
	while (p->at - scratch >= sizeof(struct hit_scratch) && next(x) % 8);
	return p;
}

static void put_right(void)
{
	if (target && *target == is)
		*target = was;
	target = NULL;
}

/* Called after each instruction: changes a word for the next one, or the next few. */
static void on_step(int sig, siginfo_t *info, void *context)
{
	const struct piece *p;

	if (!stepping || (target && until-- > 0))
		return;
	put_right();
	p = piece_any(stepped);
	last_at = p->at + next(stepped) % (p->size / 4) * 4;
	last_value = is = (uint32_t)(next(stepped) % 4 ? nonsense(stepped) : next(stepped) % 300);
	target = (volatile uint32_t *)(w.scribble + last_at);
	was = *target;
	*target = is;
	until = (int)(next(stepped) % 8);
	nr_strokes++;
}

/*
 * Steps are signals, and behind each signal a restartable sequence begins again: it would never
 * end. Without its registration a thread uses none. A kernel without such sequences has none.
 */
static void restartable(bool on)
{
	if (syscall(SYS_rseq, rseq_area(), RSEQ_AREA_SIZE, on ? 0 : RSEQ_UNREGISTER,
		    RSEQ_SIGNATURE))
		fail("restartable sequences stay as they are", 0);
}

/* Hits as a source: that has no lease, whose way in assembly asks for the thread's CPU. */
static void one_stepped(uint64_t *x)
{
	const unsigned int kind = (unsigned int)(next(x) % 4 ? 4 + next(x) % 2 : next(x) % EVENTS);
	const unsigned int n = (unsigned int)next(x) % 100;

	stepped = x;
	/* First sets the variables that the actions refer to. */
	if (kind == 5)
		one(slot_of(0), 4, n, 1);
	stepping = true;
	one(slot_of(0), kind, n, 1);
	stepping = false;
	put_right();
	keep(true);
}

static void each_instruction(uint64_t *x, time_t end)
{
	struct sigaction sa = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };

	const bool has_them = *cpu_word() >= 0;

	sigaction(SIGTRAP, &sa, NULL);
	if (has_them)
		restartable(false);
	for (int i = 0; i < STEPPED || time(NULL) < end; i++)
		one_stepped(x);
	if (has_them)
		restartable(true);
	check_canaries();
}

/* ---- at once ---- */

static _Atomic bool running;

static void *hits(void *arg)
{
	const int me = (int)(intptr_t)arg;

	for (unsigned int n = 0; atomic_load_explicit(&running, memory_order_relaxed); n++)
		one(slot_of(me), n % KINDS, n / KINDS, n % 5 == 4 && me < HITTERS);
	return NULL;
}

/* Restores some words at once, so that hits still get far. */
static void scribble(uint64_t *x, uint64_t until)
{
	struct timespec t;

	do {
		for (int i = 0; i < 200; i++) {
			const struct piece *p = &w.piece[next(x) % w.nr_pieces];
			const uint64_t at = p->at + next(x) % (p->size / 4) * 4;
			volatile uint32_t *word = (volatile uint32_t *)(w.scribble + at);
			uint32_t old[2] = { word[0], word[1] };
			uint64_t value = nonsense(x), again = next(x) % 64;

			last_at = at;
			last_value = value;
			word[0] = (uint32_t)value;
			if (value >> 32)
				word[1] = (uint32_t)(value >> 32);
			atomic_fetch_add_explicit(&nr_strokes, 1, memory_order_relaxed);
			if (!again)
				continue;
			while (again--)
				__asm__ __volatile__("pause");
			word[0] = old[0];
			word[1] = old[1];
		}
		clock_gettime(CLOCK_MONOTONIC, &t);
	} while ((uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000 < until);
}

static void at_once(uint64_t *x)
{
	pthread_t t[HITTERS + 1];
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	running = true;
	for (intptr_t i = 0; i <= HITTERS; i++)
		if (pthread_create(&t[i], NULL, hits, (void *)i))
			fail("no thread", 0);
	scribble(x, (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000 + ROUND_MS);
	running = false;
	for (int i = 0; i <= HITTERS; i++)
		pthread_join(t[i], NULL);
	check_canaries();
	keep(true);
}

int main(int argc, char **argv)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);
	uint64_t x;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..1\n");
	if (!temp_place())
		return temp_place_skip();
	atexit(temp_place_remove);
	seed = argc > 2 ? strtoull(argv[2], NULL, 10)
			: (uint64_t)time(NULL) ^ (uint64_t)getpid() << 20;
	x = seed * 2654435761u + 88172645463325252ull;
	if (!fixture_open() || !find_pieces() || !agent_start()) {
		printf("not ok 1 - no session\n");
		return 1;
	}
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &sa, NULL);
	for (unsigned int i = 0; i < 100; i++)
		for (unsigned int kind = 0; kind < KINDS; kind++)
			one(slot_of(0), kind, i, 0);
	if (!shortcuts_taken()) {
		printf("not ok 1 - no shortcut is taken\n");
		return 1;
	}
	keep(false);
	each_word();
	each_instruction(&x, (time(NULL) + end) / 2);
	do
		at_once(&x);
	while (time(NULL) < end);
	printf("# %llu hits, %llu of them left, %llu strokes in %u pieces, seed %llu\n",
	       (unsigned long long)nr_hits, (unsigned long long)nr_left,
	       (unsigned long long)nr_strokes, w.nr_pieces, (unsigned long long)seed);
	printf("ok 1 - hits stay in the session's memory whatever it says\n");
	/* The model is not destroyed, because the session's memory is nonsense now. */
	fflush(stdout);
	session_destroy(w.session);
	temp_place_remove();
	_exit(0);
}
