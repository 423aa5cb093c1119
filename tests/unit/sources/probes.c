/* SPDX-License-Identifier: MIT */
/*
 * probes.c - probes of running programs on the server's side: which points programs are told of,
 * and what the code of each stores. This process is the program that is probed; nothing is planted.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <cmocka.h>

#include "../session/temp_place.h"
#include "agent/providers/table.h"
#include "layout/attach_wire.h"
#include "model/symbols.h"
#include "elf/code/code.h"
#include "plane/fetch.h"
#include "sources/program/probes.h"
#include "sources/program/programs.h"
#include "tracefs/tree.h"
#include "cat.h"
#include "fixture.h"

static char self[512];
static struct probe_registers regs, entry;
static char record[8192] __attribute__((aligned(8)));
static uint32_t record_size;

/* What the tests probe. Its first instruction has ten bytes, whatever the compiler. */
int probed_target(int x, const char *text);
__asm__(".text\n.globl probed_target\n.type probed_target, @function\nprobed_target:\n"
	".cfi_startproc\nmovabs $0x1122334455667788, %rax\nxor %edi, %eax\nret\n.cfi_endproc\n"
	".size probed_target, . - probed_target\n");

/* What the macros of SystemTap would write. */
__asm__(".section .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
	".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base:\n.space 1\n"
	".size _.stapsdt.base, 1\n.previous\n");
__asm__(".section .probes, \"aw\"\n.globl probed_semaphore\n"
	"probed_semaphore: .short 0\n.previous\n");

#define NOTE(semaphore, provider, name, arguments)					\
	__asm__ volatile("990: nopl 0x100(%%rax)\n"					\
			 ".pushsection .note.stapsdt, \"\", \"note\"\n.balign 4\n"	\
			 ".long 8, 992f - 991f, 3\n.asciz \"stapsdt\"\n"		\
			 "991: .quad 990b, _.stapsdt.base, " semaphore "\n"		\
			 ".asciz \"" provider "\", \"" name "\", \"" arguments "\"\n"	\
			 "992: .balign 4\n.popsection" ::)

extern unsigned short probed_semaphore;
int probed_notes(void);
/* Aligned: all of it is in one block of points. */
__attribute__((noinline, aligned(1024))) int probed_notes(void)
{
	NOTE("0", "test", "twin", "-4@%%edi 1@$7");
	NOTE("probed_semaphore", "test", "twin", "-8@%%rsi");
	NOTE("0", "1odd-name", "a-b", "-2@-8(%%rsp,%%rax,4) 8f@%%xmm0 1@%%bh 4@%%fs:16");
	NOTE("0", "heap", "malloc", "8@%%rdi");
	return probed_semaphore;
}

static char probed_text[] = "a text of the file";

static int set_up(void **state)
{
	conn = -1;
	memset(&regs, 0, sizeof(regs));
	return fixture_make("probes", NULL);
}

/* ---- as a user ---- */

/* Until it returns something else than -EINPROGRESS. */
static ssize_t write_all(struct tree_file *f, const char *text)
{
	struct pollfd fd = { .fd = programs_fd(programs), .events = POLLIN };
	struct tree_wrote wrote = { 0 };
	ssize_t n;

	while ((n = tree_write_by(f, 0, text, strlen(text), &wrote)) == -EINPROGRESS)
		poll(&fd, 1, 10);
	return n;
}

static int put(const char *path, const char *text)
{
	struct tree_file *f;
	ssize_t n;

	assert_int_equal(tree_open(tree, path, O_WRONLY | O_APPEND, &f), 0);
	n = write_all(f, text);
	tree_release(f);
	return n < 0 ? (int)n : 0;
}

/* "p:NAME SELF:probed_target ARGUMENTS" */
static void add(const char *head, const char *arguments)
{
	char line[1024];

	snprintf(line, sizeof(line), "%s %s:probed_target %s", head, self, arguments);
	assert_int_equal(put("uprobe_events", line), 0);
}

/* ---- as a program ---- */

static struct site_control *control(void)
{
	return session_config(session, session_header(session)->sites, sizeof(struct site_control));
}

/* The only file of the table. NULL: there is none. */
static const struct probe_file *the_file(void)
{
	config_ref ref = atomic_load(&control()->probes);
	const struct probe_table *t = ref ? session_config(session, ref, sizeof(*t)) : NULL;

	if (!t)
		return NULL;
	assert_int_equal(t->nr, 1);
	return session_config(session, t->files[0], sizeof(struct probe_file));
}

static int bias_of(struct dl_phdr_info *info, size_t size, void *bias)
{
	*(uint64_t *)bias = info->dlpi_addr;
	return 1;
}

static uint64_t bias(void)
{
	uint64_t b = 0;

	dl_iterate_phdr(bias_of, &b);
	return b;
}

static bool readable(uint64_t at)
{
	unsigned char there;

	return !mincore((void *)(at & ~4095ull), 1, &there);
}

/* A text is loaded in pieces, so the bytes behind it are read, too. */
__attribute__((no_sanitize_address)) static uint32_t load(void *arg, void *to, uint64_t from,
							  uint32_t size)
{
	uint32_t n = 0;

	for (; n < size && readable(from + n); n++)
		((char *)to)[n] = *(const char *)(from + n);
	return n;
}

static uint64_t session_address(void *arg, uint64_t address)
{
	return address + 0x500000000000;
}

static uint64_t vector(void *arg, unsigned int number)
{
	return 0x1122334455660000 + number;
}

static void run_at(const struct probe_point *point)
{
	const struct fetch_hit hit = {
		.regs = &regs, .entry = &entry, .bias = bias(), .function = 0x1234,
		.comm = "probes", .load = load, .session = session_address,
		.vector = vector };
	const struct fetch_code *code = session_config(session, point->code, sizeof(*code));

	memset(record, 0x55, sizeof(record));
	record_size = fetch_run(code, &hit, record, sizeof(record));
}

/* Runs the code of the only point. */
static void run(void)
{
	const struct probe_file *f = the_file();

		if (!f)
		fail_msg("%s", cat("error_log"));
	assert_int_equal(f->nr, 1);
	run_at(f->points);
}

/* ---- tests: points ---- */

static void points_follow_the_event(void **state)
{
	const uint64_t target = (uint64_t)(uintptr_t)probed_target - bias();
	const struct probe_file *f;
	uint32_t command;

	add("p:up", "a=%di:s32");
	assert_null(the_file());
	assert_int_equal(session_header(session)->probes, 1);
	command = atomic_load(&control()->command);
	assert_int_equal(put("events/uprobes/up/enable", "1"), 0);
	f = the_file();
	assert_non_null(f);
	assert_int_equal(atomic_load(&control()->command), command + 1);
	assert_true(f->inode && f->id_len && f->size);
	assert_int_equal(f->nr, 1);
	assert_int_equal(f->points->at, target);
	assert_int_equal(f->points->flags, 0);
	assert_int_equal(f->points->event, model_find_event(model, "uprobes", "up")->id);
	assert_int_equal(f->points->plan.why, 0);
	assert_true(f->points->plan.tactic != CODE_REFUSED && f->points->plan.len >= CODE_JUMP);
	assert_memory_equal(f->points->plan.bytes,
			    (char *)(uintptr_t)(f->points->plan.from + bias()),
			    f->points->plan.len);
	assert_int_equal(put("events/uprobes/up/enable", "0"), 0);
	assert_null(the_file());
	assert_int_equal(atomic_load(&control()->command), command + 2);
}

/* With so few descriptors no other process can read the file. */
static void what_the_server_reads_itself_is_not_awaited(void **state)
{
	struct rlimit files, few;
	int fd = dup(0), err;

	add("p:up", "a=%di:s32");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	few = files;
	few.rlim_cur = (rlim_t)fd + 1;
	close(fd);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	err = put("events/uprobes/up/enable", "1");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_int_equal(err, 0);
	assert_non_null(the_file());
	assert_false(program_probes_reading(programs));
}

static void trigger_and_instance_need_the_point_too(void **state)
{
	add("p:up", "a=%di:s32");
	assert_int_equal(put("events/uprobes/up/trigger", "hist:keys=a"), 0);
	assert_non_null(the_file());
	assert_int_equal(put("events/uprobes/up/enable", "1"), 0);
	assert_int_equal(put("events/uprobes/up/trigger", "!hist:keys=a"), 0);
	assert_non_null(the_file());
	assert_int_equal(put("events/uprobes/up/enable", "0"), 0);
	assert_null(the_file());
}

static void points_of_a_file_are_sorted(void **state)
{
	const struct probe_file *f;

	add("p:b", "a=%di");
	add("r:c", "ret=$retval");
	add("p:a", "");
	assert_int_equal(put("events/uprobes/enable", "1"), 0);
	f = the_file();
	assert_int_equal(f->nr, 3);
	assert_int_equal(f->points[0].event, model_find_event(model, "uprobes", "b")->id);
	assert_int_equal(f->points[1].event, model_find_event(model, "uprobes", "c")->id);
	assert_int_equal(f->points[1].flags, PROBE_POINT_RETURN);
	assert_int_equal(f->points[2].event, model_find_event(model, "uprobes", "a")->id);
	assert_int_equal(put("events/uprobes/b/enable", "0"), 0);
	assert_int_equal(the_file()->nr, 2);
}

static void refused_place_is_in_error_log(void **state)
{
	/* Not as one constant: an address of the code's inside would be a target of jumps. */
	volatile uint64_t more = 2;
	const uint64_t inside = (uint64_t)(uintptr_t)probed_target - bias() + 1 + more;
	char line[1024];

	snprintf(line, sizeof(line), "p:up %s:0x%llx", self, (unsigned long long)inside);
	assert_int_equal(put("uprobe_events", line), 0);
	assert_int_equal(put("events/uprobes/up/enable", "1"), 0);
	assert_null(the_file());
	assert_non_null(strstr(cat("error_log"),
			       "This place cannot be probed: not the start of an instruction"));
	assert_non_null(strstr(cat("error_log"), "p:uprobes/up "));
}

/* ---- tests: many points ---- */

/* Functions of this program, far from each other. Each has some events. */
static const char *const functions[] = { "probed_target", "tree_open", "model_find_event",
					 "session_publish", "errlog_add", "code_open" };

enum {
	FUNCTIONS = sizeof(functions) / sizeof(functions[0]),
	PROBES = 16 * FUNCTIONS,	/* More than a model remembers by themselves */
	STEPS = 400,
};

/* What programs were told of last. */
static config_ref told[PROBES];
static uint32_t nr_told;

static const struct probe_file *block_at(const struct probe_table *t, uint32_t i)
{
	const struct probe_file *f = session_config(session, t->files[i], sizeof(*f));

	assert_int_equal(f->number, 0);
	return session_config(session, t->files[i],
			      sizeof(*f) + f->nr * sizeof(f->points[0]));
}

static const struct probe_table *the_table(void)
{
	static const struct probe_table none;
	config_ref ref = atomic_load(&control()->probes);
	const struct probe_table *t = ref ? session_config(session, ref, sizeof(*t)) : &none;

	return ref ? session_config(session, ref, sizeof(*t) + t->nr * sizeof(t->files[0])) : t;
}

static unsigned int probe_of_event(uint32_t event)
{
	for (unsigned int i = 0; i < PROBES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "p%u", i);
		if (model_find_event(model, "many", name)->id == event)
			return i;
	}
	fail_msg("event %u is no probe's", event);
	return 0;
}

/* The points are those of the probes that are on, sorted, each once. */
static void check_points(const bool on[PROBES])
{
	const struct probe_table *t = the_table();
	bool met[PROBES] = { false };

	for (uint32_t i = 0; i < t->nr; i++) {
		const struct probe_file *f = block_at(t, i);

		for (uint32_t k = 0; k < f->nr; k++) {
			const unsigned int probe = probe_of_event(f->points[k].event);
			const struct probe_point *before = k ? &f->points[k - 1] : NULL;

			assert_false(met[probe]);
			met[probe] = true;
			assert_true(!before || before->at < f->points[k].at ||
				    (before->at == f->points[k].at &&
				     probe_of_event(before->event) < probe));
		}
	}
	assert_memory_equal(met, on, sizeof(met));
}

/* -> how many blocks are at places where there was none at the last call */
static unsigned int blocks_are_new(void)
{
	const struct probe_table *t = the_table();
	unsigned int nr_new = 0;

	for (uint32_t i = 0; i < t->nr; i++) {
		bool is_old = false;

		for (uint32_t k = 0; k < nr_told; k++)
			is_old |= t->files[i] == told[k];
		nr_new += !is_old;
	}
	nr_told = t->nr;
	memcpy(told, t->files, nr_told * sizeof(told[0]));
	return nr_new;
}

static void switch_probe(unsigned int i, bool on)
{
	char path[64];

	snprintf(path, sizeof(path), "events/many/p%u/enable", i);
	assert_int_equal(put(path, on ? "1" : "0"), 0);
}

/* Random ones are switched, now and then all: a fixed seed. */
static void a_change_of_one_point_is_one_block(void **state)
{
	bool on[PROBES] = { false };
	uint32_t seed = 1;
	char line[1024];

	for (unsigned int i = 0; i < PROBES; i++) {
		snprintf(line, sizeof(line), "p:many/p%u %s:%s n=\\%u", i, self,
			 functions[i % FUNCTIONS], i);
		assert_int_equal(put("uprobe_events", line), 0);
	}
	nr_told = 0;
	for (unsigned int step = 0; step < STEPS; step++) {
		const unsigned int i = (seed = seed * 1103515245 + 12345) >> 16, all = i % 32 == 0;

		if (all) {
			assert_int_equal(put("events/many/enable", i & 32 ? "1" : "0"), 0);
			memset(on, (i & 32) != 0, sizeof(on));
		} else {
			on[i % PROBES] = !on[i % PROBES];
			switch_probe(i % PROBES, on[i % PROBES]);
		}
		check_points(on);
		assert_in_range(blocks_are_new(), 0, all ? FUNCTIONS : 1);
	}
	assert_int_equal(put("events/many/enable", "0"), 0);
	assert_int_equal(the_table()->nr, 0);
}

/* One of several places of an event that is armed comes and goes. */
static void places_of_an_armed_event_come_and_go(void **state)
{
	const char *place;
	char line[1024];

	add("p:up", "");
	assert_int_equal(put("events/uprobes/up/enable", "1"), 0);
	assert_int_equal(the_table()->nr, 1);
	snprintf(line, sizeof(line), "p:up %s:tree_open", self);
	assert_int_equal(put("uprobe_events", line), 0);
	assert_int_equal(the_table()->nr, 2);
	/* It is the second line. */
	place = strchr(strchr(cat("uprobe_events"), '\n') + 1, ' ') + 1;
	snprintf(line, sizeof(line), "-:up %.*s", (int)strcspn(place, " \n"), place);
	assert_int_equal(put("uprobe_events", line), 0);
	assert_int_equal(the_table()->nr, 1);
	assert_int_equal(put("events/uprobes/up/enable", "0"), 0);
	assert_int_equal(the_table()->nr, 0);
	assert_int_equal(put("uprobe_events", "-:up"), 0);
}

/* ---- tests: arguments ---- */

static void check(const char *arguments, const void *bytes, uint32_t size)
{
	add("p:up", arguments);
	assert_int_equal(put("events/uprobes/up/enable", "1"), 0);
	run();
	if (record_size != 16 + size || memcmp(record + 16, bytes, size))
		fail_msg("%s: %u bytes: %02x %02x %02x %02x", arguments, record_size,
			 (unsigned char)record[16], (unsigned char)record[17],
			 (unsigned char)record[18], (unsigned char)record[19]);
	assert_int_equal(put("events/uprobes/up/enable", "0"), 0);
	assert_int_equal(put("uprobe_events", "-:up"), 0);
}

#define CHECK(arguments, bytes) check(arguments, bytes, sizeof(bytes) - 1)

static void registers_and_constants(void **state)
{
	static const char registers[] = "r15 r14 r13 r12 r11 r10 r9 r8 bx cx dx si di bp ax";
	static const enum fetch_register order[] = {
		FETCH_R15, FETCH_R14, FETCH_R13, FETCH_R12, FETCH_R11, FETCH_R10, FETCH_R9,
		FETCH_R8, FETCH_RBX, FETCH_RCX, FETCH_RDX, FETCH_RSI, FETCH_RDI, FETCH_RBP,
		FETCH_RAX };
	char copy[sizeof(registers)], *rest = copy, *name, text[32];
	const uint64_t value = 0x8877665544332211;

	strcpy(copy, registers);
	for (unsigned int i = 0; (name = strsep(&rest, " ")); i++) {
		memset(&regs, 0, sizeof(regs));
		regs.r[order[i]] = value;
		snprintf(text, sizeof(text), "a=%%%s", name);
		check(text, &value, 8);
	}
	regs.r[FETCH_RIP] = value;
	CHECK("a=%ip", "\x11\x22\x33\x44\x55\x66\x77\x88");
	regs.r[FETCH_FLAGS] = 0x246;
	CHECK("a=%flags:x16", "\x46\x02");
	regs.r[FETCH_RSP] = 0x7ffc00001000;
	CHECK("a=%sp b=$stack", "\0\x10\0\0\xfc\x7f\0\0\0\x10\0\0\xfc\x7f\0\0");
	CHECK("a=%cs:u8 b=%ss:u8 c=%ds:u8", "\x33\x2b\0");
	CHECK("a=\\-2:s32 b=\\7:u8", "\xfe\xff\xff\xff\x07");
	regs.r[FETCH_RDI] = value;
	CHECK("a=%di:b4@4/8 b=%di:b12@8/32", "\x01\x22\x03\0\0");
	regs.r[FETCH_R9] = 9;
	CHECK("a=$arg6:u8", "\x09");
}

static void memory_is_followed(void **state)
{
	static const char text[] = "one";
	static const char *const texts[] = { text, NULL, "three" };
	static const struct { const char *const *texts; uint16_t numbers[3]; } object = {
		texts, { 1, 2, 0x3fff } };
	char arguments[128];

	regs.r[FETCH_RDI] = (uint64_t)(uintptr_t)&object;
	CHECK("n=+8(%di):u16[3]", "\1\0\2\0\xff\x3f");
	CHECK("n=+8(%di):b4@8/16[3]", "\0\0\0\0\x0f\0");
	CHECK("t=+0(+0(+0(%di))):string", "\x14\0\4\0one\0");
	CHECK("t=+0(+u8(+0(%di))):string n=+4(+u8(+0(%di))):u32", "\x18\0\0\0\0\0\0\0");
	CHECK("t=+0(+0(%di)):string[3]", "\x1c\0\4\0\x20\0\0\0\x20\0\6\0one\0three\0");
	CHECK("c=$comm n=\\1:u8", "\x15\0\7\0\1probes\0");
	CHECK("c=\\\"word\"", "\x14\0\5\0word\0");
	regs.r[FETCH_RSP] = (uint64_t)(uintptr_t)texts;
	regs.r[FETCH_RDX] = 0;
	CHECK("a=$stack1 b=+0(%dx):u16", "\0\0\0\0\0\0\0\0\0\0");
	snprintf(arguments, sizeof(arguments), "t=@0x%llx:string n=@0x%llx:u8",
		 (unsigned long long)(uintptr_t)text, (unsigned long long)(uintptr_t)text);
	CHECK(arguments, "\x15\0\4\0oone\0");
}

/* The offset is that of the file, also where data does not lie as far behind as in the file. */
static void file_offset_is_where_the_file_has_it(void **state)
{
	static char bytes[1 << 26];
	char arguments[64];
	int fd = open(self, O_RDONLY);
	ssize_t n = read(fd, bytes, sizeof(bytes));
	char *at;

	close(fd);
	assert_true(n > 0);
	at = memmem(bytes, (size_t)n, probed_text, sizeof(probed_text));
	assert_non_null(at);
	snprintf(arguments, sizeof(arguments), "t=@+0x%zx:string", (size_t)(at - bytes));
	CHECK(arguments, "\x14\0\x13\0" "a text of the file\0");
}

static void return_has_both_addresses(void **state)
{
	add("r:up", "ret=$retval:s32");
	assert_int_equal(put("events/uprobes/up/enable", "1"), 0);
	regs.r[FETCH_RIP] = 0x77;
	regs.r[FETCH_RAX] = (uint64_t)-5;
	run();
	assert_int_equal(record_size, 28);
	assert_memory_equal(record + 8, "\x34\x12\0\0\0\0\0\0\x77\0\0\0\0\0\0\0\xfb\xff\xff\xff",
			    20);
}

/* ---- tests: USDT ---- */

static void join(void)
{
	const struct attach_request q = {
		.version = SESSION_VERSION, .kind = ATTACH_HELLO, .ready = 1,
		.table = provider_table_version(),
	};
	struct attach_reply reply;

	dial();
	assert_int_equal(send(conn, &q, sizeof(q), 0), sizeof(q));
	serve();
	assert_true(recv(conn, &reply, sizeof(reply), MSG_DONTWAIT) >= (ssize_t)sizeof(reply));
	assert_int_equal(reply.err, 0);
	/* The code of its file may have to be read first. */
	while (reply.barrier && recv(conn, &reply, sizeof(reply), MSG_DONTWAIT) < 0) {
		struct pollfd fd = { .fd = programs_fd(programs), .events = POLLIN };

		poll(&fd, 1, programs_tick(programs));
	}
}

static config_ref entry_of(const char *system, const char *name)
{
	const struct event *e = model_find_event(model, system, name);
	struct event_entry *entries = session_config(session, session_header(session)->events,
						     (e->id + 1) * sizeof(*entries));

	return atomic_load(&entries[e->id].plan);
}

/* This process has no task: it has not answered. */
static void a_process_without_a_task_is_knocked_at(void **state)
{
	config_ref knock;

	join();
	add("p:up", "a=%di:s32");
	assert_int_equal(session_header(session)->knock, 0);
	assert_int_equal(put("events/uprobes/up/enable", "1"), 0);
	knock = session_header(session)->knock;
	assert_int_not_equal(knock, 0);
	assert_int_equal(entry_of("heap", "malloc"), knock);
	assert_int_equal(entry_of("syscalls", "sys_enter_read"), knock);
	assert_int_equal(entry_of("syscalls", "sys_exit_read"), 0);
	assert_int_equal(entry_of("syscalls", "sys_enter_vfork"), 0);
	/* An event that somebody asks for has a plan of its own. */
	assert_int_equal(put("events/syscalls/sys_enter_read/enable", "1"), 0);
	assert_int_not_equal(entry_of("syscalls", "sys_enter_read"), 0);
	assert_int_not_equal(entry_of("syscalls", "sys_enter_read"), knock);
	assert_int_equal(put("events/syscalls/sys_enter_read/enable", "0"), 0);
	assert_int_equal(entry_of("syscalls", "sys_enter_read"), knock);
	assert_int_equal(put("events/uprobes/up/enable", "0"), 0);
	assert_int_equal(session_header(session)->knock, 0);
	assert_int_equal(entry_of("syscalls", "sys_enter_read"), 0);
	assert_int_equal(entry_of("heap", "malloc"), 0);
}

/* doctor names them, though the process has ended. */
static void what_a_process_refused_is_known_when_it_has_ended(void **state)
{
	const struct attach_request bye = { .version = SESSION_VERSION, .kind = ATTACH_BYE };
	struct site_answer *a = tables()->sites;
	char *text = NULL;
	size_t size;
	FILE *out;

	join();
	add("p:up", "a=%di:s32");
	assert_int_equal(put("events/uprobes/up/enable", "1"), 0);
	a->pid = (uint32_t)getpid();
	a->nr_probes_refused = 1;
	a->probe_refused[0] = (struct site_refused){
		.at = the_file()->points->at, .file = the_file()->number, .why = CODE_CHANGED };
	assert_int_equal(send(conn, &bye, sizeof(bye), 0), sizeof(bye));
	close(conn);
	conn = -1;
	serve();
	out = open_memstream(&text, &size);
	programs_print(programs, out);
	fclose(out);
	assert_non_null(strstr(text, "ended-probes 1 "));
	assert_non_null(strstr(text, "\tuprobes:up was not planted: the memory differs from the "
				     "file\n"));
	assert_null(strstr(text, "probe-refused"));
	free(text);
}

static void knocking_ends_with_the_answer(void **state)
{
	struct site_answer *a = session_data(session, session_header(session)->programs,
					     sizeof(struct program_tables)) +
				offsetof(struct program_tables, sites);

	join();
	add("p:up", "a=%di:s32");
	assert_int_equal(put("events/uprobes/up/enable", "1"), 0);
	assert_int_not_equal(session_header(session)->knock, 0);
	a->pid = (uint32_t)getpid();
	a->plants_never = 1;
	assert_int_equal(put("trace_marker", "x"), 0);
	assert_int_equal(put("events/uprobes/up/enable", "1"), 0);
	assert_int_equal(session_header(session)->knock, 0);
	assert_int_equal(entry_of("heap", "malloc"), 0);
}

static void notes_are_events_when_a_program_begins(void **state)
{
	assert_null(model_find_system(model, "test"));
	join();
	assert_non_null(strstr(cat("events/test/twin/format"),
		"\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
		"\tfield:s64 arg1;\toffset:16;\tsize:8;\tsigned:1;\n"
		"\tfield:u8 arg2;\toffset:24;\tsize:1;\tsigned:0;\n\n"
		"print fmt: \"(%lx) arg1=%Ld arg2=%u\", REC->__probe_ip, REC->arg1, "
		"REC->arg2\n"));
	assert_non_null(strstr(cat("events/_1odd_name/a_b/format"),
		"\tfield:s16 arg1;\toffset:16;\tsize:2;\tsigned:1;\n"
		"\tfield:u64 arg2;\toffset:18;\tsize:8;\tsigned:0;\n"
		"\tfield:u8 arg3;\toffset:26;\tsize:1;\tsigned:0;\n"
		"\tfield:u32 arg4;\toffset:27;\tsize:4;\tsigned:0;\n\n"));
	/* The name is another event's. */
	assert_non_null(strstr(cat("events/usdt_heap/malloc/format"), "arg1"));
	assert_null(the_file());
}

static void each_note_of_a_name_is_a_point(void **state)
{
	const struct probe_file *f;

	join();
	assert_int_equal(put("events/test/twin/enable", "1"), 0);
	f = the_file();
	assert_int_equal(f->nr, 2);
	assert_int_equal(f->points[0].event, f->points[1].event);
	assert_int_equal(f->points[0].counter, 0);
	assert_int_equal(f->points[1].counter,
			 (uint64_t)(uintptr_t)&probed_semaphore - bias());
	regs.r[FETCH_RDI] = 0x1fffffffe;
	regs.r[FETCH_RSI] = 0x123456789a;
	regs.r[FETCH_RIP] = 0x42;
	run_at(&f->points[0]);
	assert_int_equal(record_size, 25);
	assert_memory_equal(record + 8, "\x42\0\0\0\0\0\0\0\xfe\xff\xff\xff\xff\xff\xff\xff\7",
			    17);
	run_at(&f->points[1]);
	assert_int_equal(record_size, 25);
	assert_memory_equal(record + 16, "\x9a\x78\x56\x34\x12\0\0\0\0", 9);
	assert_int_equal(put("events/test/twin/enable", "0"), 0);
	assert_null(the_file());
}

static void arguments_of_notes_are_fetched(void **state)
{
	static int16_t values[8] = { 0, 0, 0, 0, 0, 0, -300, 0 };
	const uint64_t number = 0x1122334455660000;
	uint32_t at_fs;

	__asm__("mov %%fs:16, %0" : "=r"(at_fs));
	join();
	assert_int_equal(put("events/_1odd_name/a_b/enable", "1"), 0);
	regs.r[FETCH_RSP] = (uint64_t)(uintptr_t)values;
	regs.r[FETCH_RAX] = 5;
	regs.r[FETCH_RBX] = 0xab00;
	run();
	assert_int_equal(record_size, 31);
	assert_memory_equal(record + 16, &values[6], 2);
	assert_memory_equal(record + 18, &number, sizeof(number));
	assert_int_equal((unsigned char)record[26], 0xab);
	assert_memory_equal(record + 27, &at_fs, 4);
	regs.r[FETCH_RSP] = 0;
	run();
	assert_memory_equal(record + 16, "\0\0", 2);
	assert_int_equal((unsigned char)record[26], 0xab);
}

static void setting_of_a_note_waits_for_its_program(void **state)
{
	static const char path[] = "events/test/twin/enable";

	assert_int_equal(programs_pend(programs, path, true, "1", 1), 0);
	assert_null(the_file());
	join();
	assert_non_null(the_file());
	assert_int_equal(the_file()->nr, 2);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(points_follow_the_event, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_the_server_reads_itself_is_not_awaited, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(trigger_and_instance_need_the_point_too, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(points_of_a_file_are_sorted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refused_place_is_in_error_log, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_change_of_one_point_is_one_block, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(places_of_an_armed_event_come_and_go, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(registers_and_constants, set_up, tear_down),
		cmocka_unit_test_setup_teardown(memory_is_followed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(file_offset_is_where_the_file_has_it, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(return_has_both_addresses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_process_without_a_task_is_knocked_at, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_a_process_refused_is_known_when_it_has_ended,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(knocking_ends_with_the_answer, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(notes_are_events_when_a_program_begins, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(each_note_of_a_name_is_a_point, set_up, tear_down),
		cmocka_unit_test_setup_teardown(arguments_of_notes_are_fetched, set_up, tear_down),
		cmocka_unit_test_setup_teardown(setting_of_a_note_waits_for_its_program, set_up,
						tear_down),
	};
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	if (!temp_place())
		return temp_place_skip();
	atexit(temp_place_remove);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
