/* SPDX-License-Identifier: MIT */
/*
 * programs.c - what running programs report of themselves, and what the server does with it
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "../session/temp_place.h"
#include "agent/providers/table.h"
#include "model/cmdlines.h"
#include "model/model.h"
#include "model/symbols.h"
#include "plane/plane.h"
#include "layout/attach_wire.h"
#include "sources/program/programs.h"
#include "sources/program/programs_state.h"
#include "tracefs/tree.h"
#include "fixture.h"

#define COMMON									\
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"	\
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"	\
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define BODY \
	COMMON "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n" \
	       "\tfield:unsigned long call_site;\toffset:16;\tsize:8;\tsigned:0;\n\nprint fmt: " \
	       "\"size=%d\", REC->size\n"
#define OTHER_BODY										\
	COMMON "\tfield:long size;\toffset:8;\tsize:8;\tsigned:1;\n\nprint fmt: \"size=%ld\", "	\
	       "REC->size\n"

static int set_up(void **state)
{
	return fixture_make("programs", NULL);
}

/* ---- as a program ---- */

static struct {
	struct attach_reply reply;
	int32_t ids[ATTACH_IDS];
} answer;

static int ask(const void *packet, size_t size)
{

	dial();
	assert_int_equal(send(conn, packet, size, 0), size);
	serve();
	memset(&answer, 0, sizeof(answer));
	assert_true(recv(conn, &answer, sizeof(answer), MSG_DONTWAIT) >=
		    (ssize_t)sizeof(answer.reply));
	return answer.reply.err;
}

static void hello(void)
{
	const struct attach_request q = {
		.version = SESSION_VERSION, .kind = ATTACH_HELLO, .table = provider_table_version(),
	};

	assert_int_equal(ask(&q, sizeof(q)), 0);
}

/* Returns the id or -errno. */
static int define(const char *system, const char *name, const char *body)
{
	static _Alignas(8) char packet[ATTACH_PACKET];
	struct attach_request *q = (struct attach_request *)packet;
	struct attach_definition *d = (struct attach_definition *)(q + 1);

	if (conn < 0)
		hello();
	*q = (struct attach_request){ .version = SESSION_VERSION, .kind = ATTACH_EVENTS,
		.value = 1 };
	d->system = sizeof(*d);
	d->name = d->system + (uint32_t)strlen(system) + 1;
	d->body = d->name + (uint32_t)strlen(name) + 1;
	d->size = (d->body + (uint32_t)strlen(body) + 8) & ~7u;
	strcpy((char *)d + d->system, system);
	strcpy((char *)d + d->name, name);
	strcpy((char *)d + d->body, body);
	assert_int_equal(ask(packet, sizeof(*q) + d->size), 0);
	return answer.ids[0];
}

static void hit_event(int id, int size, uint64_t call_site, const uint64_t *stack,
		      uint32_t nr_stack)
{
	struct { struct record_common common; int size, pad; uint64_t call_site;
	} r = {
		.common = { .type = (uint16_t)id, .pid = getpid() },
		.size = size,
		.call_site = call_site,
	};
	struct slot *slot = session_slot_get(session);
	struct hit h = {
		.record = &r,
		.size = sizeof(r),
		.comm = "tester",
		.stack = stack,
		.nr_stack = nr_stack,
	};

	assert_non_null(slot);
	hit(session_plane(session), slot, &h);
	session_slot_put(session, slot);
}

/* ---- as a user ---- */

/* The text lives until the next call. */
static const char *cat(const char *path)
{
	static char text[1 << 20];
	struct tree_file *f;
	ssize_t n = 0;
	size_t at = 0;

	assert_int_equal(tree_open(tree, path, O_RDONLY | O_NONBLOCK, &f), 0);
	while (at < sizeof(text) - 1 &&
	       (n = tree_read(f, text + at, sizeof(text) - 1 - at, (off_t)at)) > 0)
		at += (size_t)n;
	text[at] = '\0';
	tree_release(f);
	return text;
}

static int put(const char *path, const char *text)
{
	struct tree_file *f;
	int ret = tree_open(tree, path, O_WRONLY, &f);

	if (ret)
		return ret;
	ret = (int)tree_write(f, text, strlen(text));
	tree_release(f);
	return ret < 0 ? ret : 0;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void assert_has_not(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" is in:\n%s", part, text);
}

/* ---- events ---- */

static void events_of_the_providers_have_consecutive_ids(void **state)
{
	uint32_t first;

	hello();
	first = answer.reply.provider_id;
	assert_int_not_equal(first, 0);
	for (unsigned int nr = 0; nr < provider_kernel(); nr++) {
		struct provider_event e;
		struct event *known;

		provider_event(nr, false, &e);
		known = model_find_event(model, e.system, e.name);
		assert_non_null(known);
		assert_int_equal(known->id, first + nr);
	}
	assert_null(model_find_system(model, "kmem"));
	assert_int_equal(define("app", "own", BODY), first + provider_count());
}

static void an_agent_with_another_table_has_no_providers(void **state)
{
	const struct attach_request q = {
		.version = SESSION_VERSION,
		.kind = ATTACH_HELLO,
		.table = provider_table_version() + 1,
	};

	assert_int_equal(ask(&q, sizeof(q)), 0);
	assert_int_equal(answer.reply.provider_id, 0);
}

static void systems_are_chosen(void **state)
{
	const struct programs_params heap = { .systems = "heap", .kernel_names = true };
	const struct programs_params more = { .systems = "lock,thread" },
				     wrong = { .systems = "heap,bogus" };
	const struct programs_params kernel = { .systems = "sched" };

	fixture_close(true);
	assert_int_equal(fixture_make("programs", &heap), 0);
	assert_non_null(model_find_event(model, "heap", "malloc"));
	assert_non_null(model_find_event(model, "kmem", "kmalloc"));
	assert_null(model_find_system(model, "lock"));
	assert_int_equal(programs_add_systems(programs, &more), 0);
	assert_int_equal(model_find_event(model, "lock", "acquired")->id,
			 model_find_event(model, "heap", "malloc")->id + PROVIDER_ACQUIRED);
	assert_int_equal(programs_add_systems(programs, &wrong), -EINVAL);
	assert_int_equal(programs_add_systems(programs, &kernel), -EINVAL);
}

static void the_same_definition_is_the_same_event(void **state)
{
	int id = define("app", "request", BODY);

	assert_true(id > 0);
	assert_int_equal(define("app", "request", BODY), id);
	close(conn);
	conn = -1;
	assert_int_equal(define("app", "request", BODY), id);
	assert_int_equal(define("app", "reply", BODY), id + 1);
}

static void another_definition_is_refused_and_told_of(void **state)
{
	char who[64];

	define("app", "request", BODY);
	assert_int_equal(define("app", "request", OTHER_BODY), -EEXIST);
	snprintf(who, sizeof(who), "process %d (", (int)getpid());
	assert_has(cat("error_log"), who);
	assert_has(cat("error_log"), "Command: app:request field:long size; offset:8;");
	assert_has(cat("error_log"), "at this place: field:int size; offset:8;");
	assert_int_equal(define("heap", "malloc", BODY), -EEXIST);
}

static void definitions_that_cannot_be_are_refused(void **state)
{
	static const char *const names[][2] = {
		{ "", "x" },	      { "app", "" },	       { "a/b", "x" },
		{ "app", "a b" }, { "app", ".." }, { "..", "x" },
		{ "ftrace", "mine" }, { "synthetic", "mine" }, { "app", "enable" },
		{ "app", "filter" }, { "enable", "x" }, { "app", "a\nb" },
	};
	static const char *const bodies[] = {
		"",
		"print fmt: \"\"\n",
		"\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n",
		COMMON "\tfield:int x;\toffset:4070;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n",
		COMMON "\tfield:int x;\toffset:4;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n",
		COMMON "\tfield:int x;\toffset:-8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n",
		COMMON "\tfield:int;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n",
		COMMON "\tfield:int x;\toffset:8;\tsize:4\n\nprint fmt: \"\"\n",
		COMMON
		"\tfield:__data_loc char[] x;\toffset:8;\tsize:8;\tsigned:1;\n\nprint fmt: \"\"\n",
		COMMON "\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\x01\"\n",
		COMMON "\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;\n",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(define(names[i][0], names[i][1], BODY), -EINVAL);
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
		assert_int_equal(define("app", "x", bodies[i]), -EINVAL);
	assert_null(model_find_system(model, "app"));
	assert_true(define("app", "x", BODY) > 0);
}

static void an_event_is_recorded_filtered_and_printed(void **state)
{
	int id = define("app", "request", BODY);

	assert_int_equal(put("events/app/request/filter", "size > 10"), 0);
	assert_int_equal(put("events/app/request/enable", "1"), 0);
	hit_event(id, 5, 0, NULL, 0);
	hit_event(id, 50, 0, NULL, 0);
	assert_has(cat("trace"), "request: size=50\n");
	assert_has_not(cat("trace"), "size=5\n");
	assert_has(cat("available_events"), "app:request\n");
	assert_int_equal(put("set_event", "app:nosuch"), -EINVAL);
}

/* ---- what plans want ---- */

static uint32_t wants(int id)
{
	config_ref ref = plane_event(session_plane(session), (uint32_t)id)->plan;
	const struct plan *plan = session_config(session, ref, sizeof(*plan));

	return ref ? plan->wants : 0;
}

static void a_stack_is_wanted_by_who_prints_or_counts_it(void **state)
{
	int id = define("app", "request", BODY);

	assert_int_equal(put("events/app/request/enable", "1"), 0);
	assert_int_equal(wants(id), 0);
	assert_int_equal(put("events/app/request/trigger", "stacktrace"), 0);
	assert_int_equal(wants(id), PLAN_WANTS_STACK);
	assert_int_equal(put("events/app/request/trigger", "!stacktrace"), 0);
	assert_int_equal(wants(id), 0);
	assert_int_equal(put("events/app/request/trigger", "hist:keys=size"), 0);
	assert_int_equal(wants(id), 0);
	assert_int_equal(put("events/app/request/trigger", "hist:keys=common_stacktrace"), 0);
	assert_int_equal(wants(id), PLAN_WANTS_STACK);
}

static void a_stack_is_wanted_by_what_is_made_of_an_event(void **state)
{
	int id = define("app", "request", BODY);

	assert_int_equal(put("synthetic_events", "late int size"), 0);
	assert_int_equal(put("events/app/request/trigger",
			     "hist:keys=size:s=size:onmatch(app.request).late($s)"), 0);
	assert_int_equal(wants(id), 0);
	assert_int_equal(put("events/synthetic/late/trigger", "stacktrace"), 0);
	assert_int_equal(wants(id), PLAN_WANTS_STACK);
	assert_int_equal(put("events/synthetic/late/trigger", "!stacktrace"), 0);
	assert_int_equal(wants(id), 0);
}

/* ---- names ---- */

static void log_task(uint32_t pid, uint32_t tgid, const char *comm)
{
	uint64_t nr = tables()->next_task++;
	struct task_entry *e = &tables()->tasks[nr % LAYOUT_TASKS];

	e->seq = 0;
	e->pid = pid;
	e->tgid = tgid;
	strncpy(e->comm, comm, sizeof(e->comm));
	e->seq = nr + 1;
}

static void tasks_have_names_in_the_files(void **state)
{
	log_task(4711, 4700, "worker");
	log_task(4712, 4700, "bad\nname\x7f");
	log_task(0, 1, "nobody");
	log_task(UINT32_MAX, 1, "nobody");
	log_task(4713, 4700, "0123456789abcdef");
	assert_string_equal(cat("saved_cmdlines"),
			    "4711 worker\n4712 bad?name?\n4713 0123456789abcde\n");
	assert_has(cat("saved_tgids"), "4711 4700\n");
	log_task(4711, 4700, "renamed");
	assert_has(cat("saved_cmdlines"), "4711 renamed\n");
}

static void the_newest_names_of_a_storm_are_there(void **state)
{
	char comm[16];

	for (unsigned int i = 1; i <= 3 * LAYOUT_TASKS; i++) {
		snprintf(comm, sizeof(comm), "t%u", i);
		log_task(i, 1, comm);
	}
	assert_string_equal(cmdlines_find(model->cmdlines, 3 * LAYOUT_TASKS), "<...>");
	programs_tick(programs);
	snprintf(comm, sizeof(comm), "t%u", 3 * LAYOUT_TASKS);
	assert_string_equal(cmdlines_find(model->cmdlines, 3 * LAYOUT_TASKS), comm);
	assert_string_equal(cmdlines_find(model->cmdlines, 2 * LAYOUT_TASKS + 1), "t8193");
	assert_string_equal(cmdlines_find(model->cmdlines, 2 * LAYOUT_TASKS), "<...>");
}

static void who_died_writing_holds_nobody_up(void **state)
{
	tables()->next_task++;
	log_task(9, 9, "next");
	programs_tick(programs);
	assert_string_equal(cmdlines_find(model->cmdlines, 9), "<...>");
	for (int i = 0; i < 100; i++)
		programs_tick(programs);
	assert_string_equal(cmdlines_find(model->cmdlines, 9), "next");
}

static void a_log_that_jumps_is_survived(void **state)
{
	static const uint64_t to[] = { UINT64_MAX, 0, 1ull << 63, 5, UINT64_MAX - 1, 1 };

	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
		tables()->next_task = to[i];
		for (int k = 0; k < 3; k++)
			programs_tick(programs);
	}
	tables()->next_task = 100;
	programs_tick(programs);
	log_task(9, 9, "after");
	for (int i = 0; i < 3000; i++)
		programs_tick(programs);
	assert_string_equal(cmdlines_find(model->cmdlines, 9), "after");
}

/* ---- symbols ---- */

enum { PATH_ROOM = LAYOUT_PATHS / LAYOUT_MAX_DSOS };

static uint64_t own_base;	/* of the program, in this process */

static int own_phdrs(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct dso_entry *e = arg;
	uint64_t low = UINT64_MAX, high = 0;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const char *note = (const char *)(info->dlpi_addr + ph->p_vaddr);

		if (ph->p_type == PT_LOAD) {
			low = ph->p_vaddr < low ? ph->p_vaddr : low;
			high = ph->p_vaddr + ph->p_memsz > high ? ph->p_vaddr + ph->p_memsz : high;
		}
		for (const char *end = note + ph->p_memsz; ph->p_type == PT_NOTE && note < end; ) {
			const ElfW(Nhdr) *n = (const void *)note;
			const char *desc = note + sizeof(*n) + ((n->n_namesz + 3) & ~3u);

			if (n->n_type == NT_GNU_BUILD_ID && n->n_descsz <= sizeof(e->id)) {
				memcpy(e->id, desc, n->n_descsz);
				e->id_len = n->n_descsz;
			}
			note = desc + ((n->n_descsz + 3) & ~3u);
		}
	}
	e->load = low & ~4095ull;
	e->size = ((high + 4095) & ~4095ull) - e->load;
	atomic_store(&e->moved, 0);
	own_base = info->dlpi_addr + e->load;
	return 1;
}

/* Gives an entry a path of its own. */
static char *path_room(uint32_t nr)
{
	tables()->dsos[nr].path = nr * PATH_ROOM;
	return tables()->paths + nr * PATH_ROOM;
}

/* The test program as DSO number nr. Returns its first mapped byte. */
static uint64_t add_self(uint32_t nr)
{
	struct dso_entry *e = &tables()->dsos[nr];
	char *path = path_room(nr);

	dl_iterate_phdr(own_phdrs, e);
	memset(path, 0, PATH_ROOM);
	assert_true(readlink("/proc/self/exe", path, PATH_ROOM - 1) > 0);
	e->pid = (uint32_t)getpid();
	e->state = DSO_READY;
	return own_base;
}

static uint64_t address(uint32_t nr, uint64_t base, const void *at)
{
	return LAYOUT_DSO_BASE + ((uint64_t)nr << LAYOUT_DSO_SHIFT) + (uintptr_t)at - base;
}

static void functions_have_names_in_all_files(void **state)
{
	int id = define("app", "request", BODY);
	uint64_t base = add_self(3), at = address(3, base, hit_event) + 4,
		 stack[2] = { at, address(3, base, cat) + 8 };

	assert_int_equal(put("events/app/request/trigger", "hist:keys=call_site.sym-offset"), 0);
	assert_int_equal(put("events/app/request/trigger", "hist:keys=common_stacktrace"), 0);
	assert_int_equal(put("events/app/request/trigger", "stacktrace"), 0);
	assert_int_equal(put("events/app/request/enable", "1"), 0);
	hit_event(id, 1, at, stack, 2);
	assert_has(cat("events/app/request/hist"), "hit_event+0x4/0x");
	/* a program has no brackets */
	assert_has_not(cat("events/app/request/hist"), "[sources_programs]");
	assert_has(cat("events/app/request/hist"), "         cat+0x8/0x");
	assert_has(cat("trace"), " => hit_event\n => cat\n");
	assert_has(cat("kallsyms"), " t hit_event\n");
	assert_has(cat("kallsyms"), "0000500300");
}

static void another_file_of_that_name_gives_no_names(void **state)
{
	uint64_t base = add_self(3), size;
	const char *name;

	tables()->dsos[3].id[0] ^= 1;
	name = symbols_find(model->symbols, address(3, base, hit_event), &size, NULL, NULL);
	assert_string_equal(name, "[sources_programs]");
	assert_has_not(cat("kallsyms"), "hit_event");
}

static void without_a_build_id_the_addresses_count(void **state)
{
	uint64_t base = add_self(3);
	struct dso_entry *e = &tables()->dsos[3];

	/* This file has a build-id, so an entry without one means another file. */
	e->id_len = 8;
	assert_string_equal(
		symbols_find(model->symbols, address(3, base, hit_event), NULL, NULL, NULL),
		"[sources_programs]");
}

static void addresses_of_no_dso_have_no_name(void **state)
{
	uint64_t base = add_self(3);

	assert_null(symbols_find(model->symbols, address(4, base, hit_event), NULL, NULL, NULL));
	assert_null(symbols_find(model->symbols, address(2, base, hit_event), NULL, NULL, NULL));
	assert_null(symbols_find(model->symbols, address(3, base, hit_event) + (1 << 30), NULL,
				 NULL, NULL));
	assert_null(symbols_find(model->symbols, 0x400000, NULL, NULL, NULL));
	assert_string_equal(
		symbols_find(model->symbols, address(3, base, hit_event), NULL, NULL, NULL),
		"hit_event");
}

static void entries_of_nonsense_are_survived(void **state)
{
	static const char *const paths[] = { "/dev/zero", "/dev/tty", "relative", "",
					    "/proc/self/mem", "/etc/passwd", "/" };

	for (uint32_t i = 0; i < LAYOUT_MAX_DSOS; i++) {
		struct dso_entry *e = &tables()->dsos[i];

		memset(e, (int)i, sizeof(*e));
		if (i % 2) {
			strcpy(path_room(i), paths[i % (sizeof(paths) / sizeof(paths[0]))]);
			e->size = 4096;
			e->id_len = i % 32;
			e->state = DSO_READY;
		}
	}
	assert_has(cat("kallsyms"), "tracing_mark_write");
}

static void a_path_ends_where_the_paths_end(void **state)
{
	struct dso_entry *e = &tables()->dsos[3];
	char name[256];
	struct program_dso d;

	add_self(3);
	memset(tables()->paths, 'x', LAYOUT_PATHS);
	e->path = 0;
	assert_true(program_dso_copy(programs, 3, &d));
	assert_int_equal(strlen(d.path), LAYOUT_PATH - 1);
	e->path = LAYOUT_PATHS - 4;
	assert_true(program_dso_copy(programs, 3, &d));
	assert_string_equal(d.path, "xxx");
	e->path = LAYOUT_PATHS;
	assert_true(program_dso_copy(programs, 3, &d));
	assert_string_equal(program_dso_name(&d, name), "?");
	e->path = UINT32_MAX;
	assert_true(program_dso_copy(programs, 3, &d));
	assert_string_equal(d.path, "");
}

/* ---- settings for later ---- */

static void settings_wait_for_their_event(void **state)
{
	int id;

	assert_int_equal(tree_mkdir(tree, "instances/i"), 0);
	assert_int_equal(programs_pend(programs, "events/app/request/enable", true, "1\n", 2), 0);
	assert_int_equal(programs_pend(programs, "events/app/request/filter", true, "size > 1", 8),
			 0);
	assert_int_equal(programs_pend(programs, "events/app/request/filter", true, "size > 2", 8),
			 0);
	assert_int_equal(programs_pend(programs, "instances/i/events/app/request/trigger", false,
				       "hist:keys=size\nstacktrace\n", 26), 0);
	assert_int_equal(programs_pend(programs, "instances/i/events/app/request/trigger", false,
				       "!stacktrace\n", 12),
			 0);
	assert_int_equal(put("events/app/request/enable", "1"), -ENOENT);
	id = define("app", "request", BODY);
	assert_string_equal(cat("events/app/request/enable"), "1\n");
	assert_string_equal(cat("events/app/request/filter"), "size > 2\n");
	assert_has(cat("instances/i/events/app/request/trigger"), "hist:keys=size:");
	assert_has_not(cat("instances/i/events/app/request/trigger"), "stacktrace");
	hit_event(id, 3, 0, NULL, 0);
	assert_has(cat("trace"), "size=3");
}

static void only_settings_of_unknown_events_are_kept(void **state)
{
	static const char *const wrong[] = {
		"events/heap/malloc/enable",
		"events/heap/mallok/enable",
		"events/syscalls/sys_enter_nosuch/trigger",
		"events/app/request/format",
		"tracing_on",
		"events/app/request/",
		"instances/i",
		"instances/nosuch/events/app/request/enable",
		"events//x/enable",
		"",
		"events/app/request/enable/x",
		"instances//events/a/b/enable",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(programs_pend(programs, wrong[i], false, "1", 1), -ENOENT);
}

static void pointers_are_printed_as_they_are(void **state)
{
	assert_string_equal(cat("options/hash-ptr"), "0\n");
	assert_int_equal(tree_mkdir(tree, "instances/i"), 0);
	assert_string_equal(cat("instances/i/options/hash-ptr"), "0\n");
}

static char *told(void)
{
	static char text[4096];
	FILE *out = fmemopen(text, sizeof(text), "w");

	programs_print(programs, out);
	fclose(out);
	return text;
}

static void a_kept_setting_that_is_refused_is_told_of(void **state)
{
	assert_int_equal(programs_pend(programs, "events/app/request/trigger", false,
				       "hist:keys=nosuch", 16),
			 0);
	assert_has(told(), "kept events/app/request/trigger hist:keys=nosuch\n");
	define("app", "request", BODY);
	assert_has(told(),
		   "kept events/app/request/trigger hist:keys=nosuch # Couldn't find field\n");
	assert_string_equal(cat("error_log"), "");
}

/*
 * A command may name two events. Two programs may define them, in any order.
 */
static void kept_settings_are_tried_again_in_their_order(void **state)
{
	static const char set[] = "hist:keys=size:ts0=common_timestamp",
			  use[] = "hist:keys=size:lat=common_timestamp-$ts0";

	assert_int_equal(
		programs_pend(programs, "events/app/begin/trigger", false, set, sizeof(set) - 1),
		0);
	assert_int_equal(
		programs_pend(programs, "events/app/end/trigger", false, use, sizeof(use) - 1), 0);
	define("app", "end", BODY);
	assert_has(told(),
		   "kept events/app/end/trigger hist:keys=size:lat=common_timestamp-$ts0 # ");
	define("app", "begin", BODY);
	assert_has(cat("events/app/begin/trigger"), ":ts0=common_timestamp");
	assert_has(cat("events/app/end/trigger"), ":lat=common_timestamp-$ts0");
	assert_has_not(told(), "kept ");
	assert_string_equal(cat("error_log"), "");
}

static void doctor_is_told(void **state)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	programs_pend(programs, "events/app/request/enable", true, "1", 1);
	define("heap", "malloc", BODY);
	session_slot_get(session)->missed = 7;
	programs_print(programs, out);
	fclose(out);
	assert_has(text, "kept events/app/request/enable 1\n");
	assert_has(text, "refused process ");
	assert_has(text, "heap:malloc");
	assert_has(text, "missed 7\n");
	free(text);
}

/* ---- a new server ---- */

static int write_again(void *arg, const char *path, const char *text)
{
	int ret = programs_restore(&programs, model, tree, path, text);

	if (ret <= 0)
		return ret;
	if (!strncmp(path, "instances/", 10) && !strchr(path + 10, '/'))
		return tree_mkdir(tree, path);
	return put(path, text);
}

static void restore(void)
{
	fixture_close(false);
	assert_int_equal(session_open("programs", &session), 0);
	assert_int_equal(model_create(session, &model), 0);
	tree = tree_create(model);
	assert_int_equal(model_restore(model, write_again, NULL), 0);
	assert_non_null(programs);
	programs_restored(programs);
}

static void a_new_server_has_all_of_it_again(void **state)
{
	int id = define("app", "request", BODY), next;
	uint32_t first = answer.reply.provider_id, last = model->max_id;
	uint64_t base = add_self(1);

	(void)first;
	log_task(4711, 4700, "worker");
	assert_int_equal(put("events/app/request/enable", "1"), 0);
	assert_int_equal(put("events/app/request/trigger", "hist:keys=call_site.sym"), 0);
	assert_int_equal(programs_pend(programs, "events/app/later/enable", true, "1", 1), 0);
	hit_event(id, 1, address(1, base, hit_event), NULL, 0);
	restore();
	/* More, if this process has a library with events, as libstdc++ of a sanitizer. */
	assert_true(model->max_id >= last);
	last = model->max_id;
	assert_int_equal(define("app", "request", BODY), id);
	hello();
	assert_int_equal(answer.reply.provider_id, model_find_event(model, "heap", "malloc")->id);
	hit_event(id, 2, address(1, base, hit_event), NULL, 0);
	assert_has(cat("events/app/request/hist"), "hit_event");
	assert_has(cat("events/app/request/hist"), "hitcount:          2");
	assert_has(cat("saved_cmdlines"), "4711 worker\n");
	assert_has(cat("kallsyms"), "hit_event");
	next = define("app", "later", BODY);
	assert_int_equal(next, last + 1);
	assert_string_equal(cat("events/app/later/enable"), "1\n");
	restore();
	assert_string_equal(cat("events/app/later/enable"), "1\n");
	assert_int_equal(define("app", "later", BODY), next);
	assert_int_equal(define("app", "request", OTHER_BODY), -EEXIST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define PROGRAMS_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
		PROGRAMS_TEST(events_of_the_providers_have_consecutive_ids),
		PROGRAMS_TEST(an_agent_with_another_table_has_no_providers),
		PROGRAMS_TEST(systems_are_chosen),
		PROGRAMS_TEST(the_same_definition_is_the_same_event),
		PROGRAMS_TEST(another_definition_is_refused_and_told_of),
		PROGRAMS_TEST(definitions_that_cannot_be_are_refused),
		PROGRAMS_TEST(an_event_is_recorded_filtered_and_printed),
		PROGRAMS_TEST(a_stack_is_wanted_by_who_prints_or_counts_it),
		PROGRAMS_TEST(a_stack_is_wanted_by_what_is_made_of_an_event),
		PROGRAMS_TEST(tasks_have_names_in_the_files),
		PROGRAMS_TEST(the_newest_names_of_a_storm_are_there),
		PROGRAMS_TEST(who_died_writing_holds_nobody_up),
		PROGRAMS_TEST(a_log_that_jumps_is_survived),
		PROGRAMS_TEST(functions_have_names_in_all_files),
		PROGRAMS_TEST(another_file_of_that_name_gives_no_names),
		PROGRAMS_TEST(without_a_build_id_the_addresses_count),
		PROGRAMS_TEST(addresses_of_no_dso_have_no_name),
		PROGRAMS_TEST(entries_of_nonsense_are_survived),
		PROGRAMS_TEST(a_path_ends_where_the_paths_end),
		PROGRAMS_TEST(settings_wait_for_their_event),
		PROGRAMS_TEST(only_settings_of_unknown_events_are_kept),
		PROGRAMS_TEST(a_kept_setting_that_is_refused_is_told_of),
		PROGRAMS_TEST(pointers_are_printed_as_they_are),
		PROGRAMS_TEST(kept_settings_are_tried_again_in_their_order),
		PROGRAMS_TEST(doctor_is_told),
		PROGRAMS_TEST(a_new_server_has_all_of_it_again),
	};
	int failed;

	if (!temp_place())
		return temp_place_skip();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	temp_place_remove();
	return failed;
}
