/* SPDX-License-Identifier: MIT */
/*
 * sites_live.c - the agent's task: sites of this process switched by sets in the session, which this process serves itself
 */
#include <dirent.h>
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/sites_state.h"
#include "session/attach.h"
#include "session/session.h"
#include "own_server.h"

enum { FUNCTIONS = 7, PASSES = 10, WAIT_MS = 5000 };	/* of one run: all functions once, and again() four times */

long site_run(long seed);

static struct site_control *control;
static struct program_tables *tables;
static long expected;

/* Two groups whose plans count the hits. */
enum { GROUP = LAYOUT_GROUPS_AT, OTHER_GROUP = LAYOUT_GROUPS_AT + GROUP_ENTRIES, FIRINGS = 1 << 30 };

static struct trigger_state *counts[2];

/* What fires in each hit and does nothing, for there is no snapshot, but is counted. */
static struct trigger_state *group_make(uint32_t group)
{
	size_t size = sizeof(struct plan) + sizeof(struct arm) + sizeof(struct trigger_arm);
	config_ref ref = session_config_alloc(session, size);
	struct plan *plan = session_config(session, ref, size);
	struct arm *arm = (struct arm *)(plan + 1);
	data_ref state = session_data_alloc(session, sizeof(struct trigger_state));

	*plan = (struct plan){ .event_id = LAYOUT_FUNCTION_ID, .nr_arms = 1, .nr_triggers = 1, .size = (uint32_t)size };
	*arm = (struct arm){ .nr_triggers = 1 };
	arm->state = session_data_alloc(session, sizeof(struct event_state));
	*(struct trigger_arm *)(arm + 1) =
		(struct trigger_arm){ .kind = TRIGGER_SNAPSHOT, .flags = TRIGGER_COUNTED, .state = state };
	session_publish(session, (_Atomic uint64_t *)&plane_event(session_plane(session), group)->plan, ref);
	return session_data(session, state, sizeof(struct trigger_state));
}

/* Of the group since the last call. */
static unsigned int hits_of(int group)
{
	return (unsigned int)(FIRINGS - atomic_exchange(&counts[group]->count, FIRINGS));
}

static int set_up(void **state)
{
	static const struct session_params params = { .nr_cpus = 2, .nr_slots = 64, .memory = 64 << 20 };

	expected = site_run(5);
	if (serve_start(NULL, &params))
		return -1;
	control = session_config(session, session_header(session)->sites, sizeof(*control));
	tables = plane_data(session_plane(session), session_header(session)->programs);
	plane_instance(session_plane(session), 0)->tracing_on = 1;
	counts[0] = group_make(GROUP);
	counts[1] = group_make(OTHER_GROUP);
	return attach_start(session_dir(session), NULL);
}

static const struct site_answer *answer_of(uint32_t pid, uint32_t command)
{
	for (int ms = 0; ms < WAIT_MS; ms++) {
		for (int i = 0; i < LAYOUT_MAX_PROCESSES; i++)
			if (atomic_load(&tables->sites[i].command) == command && tables->sites[i].pid == pid)
				return &tables->sites[i];
		usleep(1000);
	}
	return NULL;
}

/* The DSO with the functions is the only one here that has sites, so each may have the set. */
static const struct site_answer *command_groups(uint64_t bits, uint64_t other_bits)
{
	config_ref ref = session_config_alloc(session, FUNCTIONS * sizeof(uint32_t));
	uint32_t *words = session_config(session, ref, FUNCTIONS * sizeof(uint32_t)), nr;

	for (int i = 0; i < FUNCTIONS; i++)
		words[i] = other_bits >> i & 1 ? OTHER_GROUP : bits >> i & 1 ? GROUP : 0;
	for (int i = 0; i < LAYOUT_MAX_DSOS; i++) {
		atomic_store(&control->sets[i].nr, FUNCTIONS);
		atomic_store(&control->sets[i].words, ref);
	}
	nr = atomic_fetch_add(&control->command, 1) + 1;
	syscall(SYS_futex, &control->command, FUTEX_WAKE, 1000, NULL, NULL, 0);
	return answer_of((uint32_t)getpid(), nr);
}

static const struct site_answer *command(uint64_t bits)
{
	return command_groups(bits, 0);
}

static void sites_are_told_of(void **state)
{
	const struct site_answer *a = answer_of((uint32_t)getpid(), 0);

	assert_non_null(a);
	assert_int_equal(a->nr_sites, FUNCTIONS);
	assert_int_equal(a->nr_skipped, 0);
	assert_int_equal(a->nr_on, 0);
	assert_int_equal(site_run(5), expected);
}

static void sets_switch_sites(void **state)
{
	static const struct {
		uint64_t	bits;
		uint32_t	nr;
	} sets[] = { { 0x7f, 7 }, { 0x15, 3 }, { ~0ull, 7 }, { 0, 0 }, { 0x40, 1 }, { 0x7f, 7 } };

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		const struct site_answer *a = command(sets[i].bits);

		assert_non_null(a);
		assert_int_equal(a->err, 0);
		assert_int_equal(a->nr_on, sets[i].nr);
		assert_int_equal(site_run(5), expected);
	}
}

static void hits_run_the_plan_of_the_sites_group(void **state)
{
	assert_int_equal(command(0x7f)->nr_on, 7);
	hits_of(0);
	hits_of(1);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(site_run(5), expected);
	assert_int_equal(hits_of(0), 1000 * PASSES);
	assert_int_equal(hits_of(1), 0);
	/* One function is of another group; which, the order of addresses says. */
	for (int i = 0; i < FUNCTIONS; i++) {
		unsigned int other;

		assert_int_equal(command_groups(0x7f, 1u << i)->nr_on, 7);
		assert_int_equal(site_run(5), expected);
		other = hits_of(1);
		assert_true(other == 1 || other == 4);
		assert_int_equal(hits_of(0) + other, PASSES);
	}
	assert_int_equal(command_groups(0, 0x7f)->nr_on, 7);
	assert_int_equal(site_run(5), expected);
	assert_int_equal(hits_of(1), PASSES);
	assert_int_equal(hits_of(0), 0);
	assert_int_equal(command(0)->nr_on, 0);
	assert_int_equal(site_run(5), expected);
	assert_int_equal(hits_of(0) + hits_of(1), 0);
}

static void a_set_of_nonsense_switches_nothing(void **state)
{
	uint32_t nr;

	for (int i = 0; i < LAYOUT_MAX_DSOS; i++) {
		atomic_store(&control->sets[i].nr, UINT32_MAX);
		atomic_store(&control->sets[i].words, UINT64_MAX - 7);
	}
	nr = atomic_fetch_add(&control->command, 1) + 1;
	syscall(SYS_futex, &control->command, FUTEX_WAKE, 1000, NULL, NULL, 0);
	assert_non_null(answer_of((uint32_t)getpid(), nr));
	assert_int_equal(answer_of((uint32_t)getpid(), nr)->nr_on, 0);
	assert_int_equal(site_run(5), expected);
}

/* Of that thread of this process; 0: it is not there. */
static uint64_t blocked_by(const char *name)
{
	uint64_t mask = 0;
	struct dirent *d;
	DIR *tasks = opendir("/proc/self/task");

	while (tasks && (d = readdir(tasks))) {
		char path[300], text[2048] = "", own[32] = "";
		const char *at;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/status", d->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		text[fread(text, 1, sizeof(text) - 1, f)] = 0;
		fclose(f);
		at = strstr(text, "SigBlk:");
		if (at && sscanf(text, "Name: %31s", own) == 1 && !strcmp(own, name))
			mask = strtoull(at + 7, NULL, 16);
	}
	if (tasks)
		closedir(tasks);
	return mask;
}

static void the_task_takes_no_signal_of_the_program(void **state)
{
	const uint64_t free = 1ull << (SIGBUS - 1) | 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1);

	assert_non_null(command(0x7f));	/* it runs */
	/* But what damaged memory raises, and what cannot be. */
	assert_int_equal(blocked_by("tracefuse") | free, UINT64_MAX);
	command(0);
}

/* In a child that has had no hit: its task has done what the command says. */
static bool task_obeys(uint32_t nr)
{
	for (int ms = 0; ms < WAIT_MS && atomic_load(&sites.command) != nr; ms++)
		usleep(1000);
	return atomic_load(&sites.command) == nr && !agent.here->process;
}

/* Runs the functions, where it is to, waits for the end of `go` and runs them again; its status tells whether all was well. */
static pid_t child_make(int go[2], bool runs)
{
	uint32_t next = atomic_load(&control->command) + 1;
	pid_t pid;
	char c;

	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (pid)
		return pid;
	alarm(20);
	c = !runs || site_run(5) == expected;
	close(go[1]);
	while (read(go[0], &(char){ 0 }, 1) > 0)
		;
	_exit(!c || (!runs && !task_obeys(next)) || site_run(5) != expected);
}

static void child_end(pid_t pid, int go[2])
{
	int status = 1;

	close(go[1]);
	close(go[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void a_childs_call_attaches_it(void **state)
{
	const struct site_answer *a = command(0x7f);
	uint32_t nr = atomic_load(&control->command);
	int go[2];
	pid_t pid;

	assert_non_null(a);
	hits_of(0);
	pid = child_make(go, true);
	a = answer_of((uint32_t)pid, nr);
	assert_non_null(a);
	assert_int_equal(a->nr_sites, FUNCTIONS);
	assert_int_equal(a->nr_on, 7);
	assert_non_null(command(0x7));
	a = answer_of((uint32_t)pid, nr + 1);
	assert_non_null(a);
	assert_int_equal(a->nr_on, 3);
	child_end(pid, go);
	/* The first run may have gone on beside the second command. */
	assert_true(hits_of(0) > 0);
}

static void a_child_without_a_hit_obeys(void **state)
{
	const struct site_answer *a = command(0);
	uint32_t nr = atomic_load(&control->command);
	int go[2];
	pid_t pid;

	assert_non_null(a);
	hits_of(0);
	pid = child_make(go, false);
	assert_non_null(command(0x7f));
	child_end(pid, go);
	/* Its first hit attaches it. */
	a = answer_of((uint32_t)pid, nr + 1);
	assert_non_null(a);
	assert_int_equal(a->nr_on, 7);
	assert_int_equal(hits_of(0), PASSES);
	command(0);
}

/* A line of the task's status; "": there is no task. */
static const char *status_line(const char *what)
{
	static char line[256];
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", (int)agent.here->task);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f) && strncmp(line, what, strlen(what)))
		line[0] = 0;
	if (f)
		fclose(f);
	return line[0] ? line + strlen(what) : "";
}

static unsigned int files_of_task(void)
{
	unsigned int nr = 0;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/self/task/%d/fd", (int)agent.here->task);
	d = opendir(path);
	while (d && readdir(d))
		nr++;
	if (d)
		closedir(d);
	return nr;
}

static void the_task_has_no_rights(void **state)
{
	static const char *const capabilities[] = { "CapInh:\t", "CapPrm:\t", "CapEff:\t",
						    "CapAmb:\t" };

	assert_true(agent.here->task > 0);
	for (unsigned int i = 0; i < 4; i++)
		assert_string_equal(status_line(capabilities[i]), "0000000000000000\n");
	assert_string_equal(status_line("NoNewPrivs:\t"), "1\n");
	assert_string_equal(status_line("Seccomp:\t"), "2\n");
	/* "." and "..", and one; kernels before 5.9 leave them all. */
	if (!syscall(436 /* close_range */, ~0u, ~0u, 0))
		assert_int_equal(files_of_task(), 3);
	/* And it does its work. */
	assert_int_equal(command(0x7f)->nr_on, 7);
	assert_int_equal(site_run(5), expected);
	assert_int_equal(command(0)->nr_on, 0);
}

/*
 * What is done by the calling thread, in a process with a task; exit status 0: as it would be
 * without one.
 */
static int in_a_child(int (*fn)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(fn());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/*
 * The task's own filter is no program's: nothing is inherited from it, and descriptors end when
 * they are closed.
 */
static int pipe_ends(void)
{
	int p[2];
	char c;

	if (pipe(p) || agent.here->task <= 0)
		return 1;
	close(p[1]);
	return read(p[0], &c, 1) != 0;
}

static void the_task_holds_no_descriptor_of_the_program(void **state)
{
	assert_int_equal(in_a_child(pipe_ends), 0);
}

/* The first thread ends by its own system call, and its status is the process's. */
static int ends_alone(void)
{
	if (agent.here->task <= 0)
		return 1;
	syscall(SYS_exit, 42);
	return 2;
}

static void a_process_ends_as_its_first_thread(void **state)
{
	assert_int_equal(in_a_child(ends_alone), 42 << 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sites_are_told_of),
		cmocka_unit_test(sets_switch_sites),
		cmocka_unit_test(hits_run_the_plan_of_the_sites_group),
		cmocka_unit_test(the_task_takes_no_signal_of_the_program),
		cmocka_unit_test(the_task_has_no_rights),
		cmocka_unit_test(the_task_holds_no_descriptor_of_the_program),
		cmocka_unit_test(a_process_ends_as_its_first_thread),
		cmocka_unit_test(a_set_of_nonsense_switches_nothing),
		cmocka_unit_test(a_childs_call_attaches_it),
		cmocka_unit_test(a_child_without_a_hit_obeys),
	};

	return cmocka_run_group_tests(tests, set_up, server_stop);
}
