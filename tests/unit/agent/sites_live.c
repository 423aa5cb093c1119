/* SPDX-License-Identifier: MIT */
/*
 * sites_live.c - the agent's task: sites of this process switched by sets in the session, which
 * this process serves itself
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/sites/state.h"
#include "agent/syscall.h"
#include "session/attach/attach.h"
#include "session/session.h"
#include "own_server.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* Of one run: all functions once, except again(), which runs four times. */
enum { FUNCTIONS = 7, PASSES = 10, WAIT_MS = 20000 };

long site_run(long seed);

static struct site_control *control;
static struct program_tables *tables;
static long expected;

/* Two groups whose plans count the hits. */
enum {
	GROUP = LAYOUT_GROUPS_AT,
	OTHER_GROUP = LAYOUT_GROUPS_AT + GROUP_ENTRIES,
	FIRINGS = 1 << 30
};

static struct trigger_state *counts[2];

/*
 * Makes a plan with a trigger that fires at each hit and is counted. It does nothing, because there
 * is no snapshot.
 */
static struct trigger_state *group_make(uint32_t group)
{
	size_t size = sizeof(struct plan) + sizeof(struct arm) + sizeof(struct trigger_arm);
	config_ref ref = session_config_alloc(session, size);
	struct plan *plan = session_config(session, ref, size);
	struct arm *arm = (struct arm *)(plan + 1);
	data_ref state = session_data_alloc(session, sizeof(struct trigger_state));

	*plan = (struct plan){ .event_id = LAYOUT_FUNCTION_ID, .nr_arms = 1, .nr_triggers = 1,
		.size = (uint32_t)size };
	*arm = (struct arm){ .nr_triggers = 1 };
	arm->state = session_data_alloc(session, sizeof(struct event_state));
	*(struct trigger_arm *)(arm + 1) = (struct trigger_arm){
		.kind = TRIGGER_SNAPSHOT, .flags = TRIGGER_COUNTED, .state = state };
	session_publish(session,
			(_Atomic uint64_t *)&plane_event(session_plane(session), group)->plan, ref);
	return session_data(session, state, sizeof(struct trigger_state));
}

/* The group's hits since the last call. */
static unsigned int hits_of(int group)
{
	return (unsigned int)(FIRINGS - atomic_exchange(&counts[group]->count, FIRINGS));
}

static int set_up(void **state)
{
	static const struct session_params params = {
		.nr_cpus = 2, .nr_slots = 64, .memory = 64 << 20 };

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
			if (atomic_load(&tables->sites[i].command) == command &&
			    tables->sites[i].pid == pid)
				return &tables->sites[i];
		usleep(1000);
	}
	return NULL;
}

/* Gives each DSO the set, because only the DSO with the functions has sites. */
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
	/* One function is in another group. The order of addresses decides which. */
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

/* The blocked signals of that thread of this process; 0: no such thread. */
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

	assert_non_null(command(0x7f));	/* the task runs */
	/* All signals except those of damaged memory, and those that cannot be blocked. */
	assert_int_equal(blocked_by("tracefuse") | free, UINT64_MAX);
	command(0);
}

/* In a child without a hit: the task has run the command. */
static bool task_obeys(uint32_t nr)
{
	for (int ms = 0; ms < WAIT_MS && atomic_load(&sites.command) != nr; ms++)
		usleep(1000);
	return atomic_load(&sites.command) == nr && !agent.here->process;
}

/*
 * With `runs`, runs the functions. Waits for the end of `go` and runs them again. The status is 0
 * if all was right.
 */
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
	/* The first run may have continued during the second command. */
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

/* A line of the task's status file; "": there is no task. */
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
	/* "." and "..", and one descriptor. Kernels before 5.9 leave all of them open. */
	if (!syscall(436 /* close_range */, ~0u, ~0u, 0))
		assert_int_equal(files_of_task(), 3);
	/* The task still works. */
	assert_int_equal(command(0x7f)->nr_on, 7);
	assert_int_equal(site_run(5), expected);
	assert_int_equal(command(0)->nr_on, 0);
}

/* Runs fn in a process with a task. Exit status 0: the result is the same as without a task. */
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
 * The task's own filter does not belong to the program: nothing inherits it, and closed descriptors
 * really end.
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

/* The first thread ends by its own system call; the process has its status. */
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

/* ---- A task that cannot give up all, or only late ---- */

/*
 * Lets the kernel answer two calls in this way, in this process and its children. The agent does
 * not know it, as with a filter from before the program. Returns the result of seccomp().
 */
static long answers(uint32_t call, uint32_t action, uint32_t other, uint32_t other_action,
		    unsigned int flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, other_action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	agent_syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return agent_syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

/* Behaves like a kernel before 5.9. */
static bool without_close_range(void)
{
	return !answers(SYS_close_range, SECCOMP_RET_ERRNO | ENOSYS, UINT32_MAX,
			SECCOMP_RET_ALLOW, 0) &&
	       agent_task_end() && (agent_task_again(), agent.here->task > 0);
}

static unsigned int files_of_process(void)
{
	unsigned int nr = 0;
	DIR *d = opendir("/proc/self/fd");

	while (d && readdir(d))
		nr++;
	if (d)
		closedir(d);
	return nr;
}

static int old_kernel_works(void)
{
	uint32_t nr = atomic_fetch_add(&control->command, 1) + 1;

	alarm(20);
	if (!without_close_range())
		return 1;
	syscall(SYS_futex, &control->command, FUTEX_WAKE, 1000, NULL, NULL, 0);
	if (files_of_task() != files_of_process())
		return 2;
	return task_obeys(nr) && site_run(5) == expected && !pipe_ends() ? 0 : 3;
}

static int old_kernel_ends(void)
{
	return without_close_range() ? ends_alone() : 1;
}

static void the_task_shares_descriptors_on_old_kernels(void **state)
{
	assert_int_equal(in_a_child(old_kernel_works), 0);
	assert_int_equal(in_a_child(old_kernel_ends), 42 << 8);
}

static _Atomic bool is_late;

/* Lets the task's call wait until its creator has continued. */
static void *answer_late(void *listener)
{
	struct seccomp_notif asked = { 0 };
	struct seccomp_notif_resp answer = { .error = -ENOSYS };
	_Atomic int *fd = listener;

	while (*fd < 0)
		usleep(1000);
	if (ioctl(*fd, SECCOMP_IOCTL_NOTIF_RECV, &asked))
		return NULL;
	while (!is_late)
		usleep(1000);
	answer.id = asked.id;
	ioctl(*fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	return NULL;
}

/* The task has ended, and that is reported. */
static int fails_late(void)
{
	static _Atomic int listener = -1;
	pthread_t thread;

	alarm(20);
	if (pthread_create(&thread, NULL, answer_late, (void *)&listener))
		return 1;
	listener = (int)answers(SYS_close_range, SECCOMP_RET_USER_NOTIF, SYS_seccomp,
				SECCOMP_RET_ERRNO | EPERM, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	if (listener < 0)
		return 77;
	if (!agent_task_end())
		return 2;
	agent_task_again();
	if (!agent.here->task)
		return 3;
	is_late = true;
	for (int ms = 0; ms < WAIT_MS && agent.here->task; ms++)
		usleep(1000);
	return agent.here->task || sites.failed != -EPERM || agent_task_end() ? 4 : 0;
}

static void a_task_that_fails_late_is_not_there(void **state)
{
	int status = in_a_child(fails_late);

	if (status == 77 << 8)
		skip();
	assert_int_equal(status, 0);
}

/*
 * The task's thread may keep its user: if the program changes its user by its own instruction, only
 * the leader's user changes. None of the calls that the task may make depends on the user.
 */
static int calls_nothing(void)
{
	static const struct {
		long nr, a, b, c;
	} calls[] = {
		{ SYS_openat, AT_FDCWD, (long)"/etc/passwd", O_RDONLY },
		{ SYS_unlinkat, AT_FDCWD, (long)"/nowhere", 0 },
		{ SYS_execve, (long)"/bin/true", 0, 0 }, { SYS_kill, 1, 0, 0 },
		{ SYS_tgkill, 1, 1, 0 }, { SYS_tkill, 1, 0, 0 },
		{ SYS_pidfd_send_signal, 0, 0, 0 }, { SYS_ptrace, 16, 1, 0 },
		{ SYS_process_vm_writev, 1, 0, 0 }, { SYS_setresuid, 0, 0, 0 },
		{ SYS_setgroups, 0, 0, 0 }, { SYS_socket, 1, 1, 0 }, { SYS_write, 2, 0, 0 },
		{ SYS_ioctl, 0, 0, 0 }, { SYS_clone, SIGCHLD, 0, 0 }, { SYS_fork, 0, 0, 0 },
		{ SYS_unshare, 0, 0, 0 }, { SYS_mount, 0, 0, 0 }, { SYS_prctl, PR_GET_NAME, 0, 0 },
		{ SYS_keyctl, 0, 0, 0 }, { 425 /* io_uring_setup */, 1, 0, 0 },
		{ SYS_setpriority, 0, 0, 0 }, { SYS_prlimit64, 0, 0, 0 },
	};
	int fd;

	if (!agent_task_end() || task_shed(&fd))
		return 1;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (agent_syscall(calls[i].nr, calls[i].a, calls[i].b, calls[i].c) != -EPERM)
			agent_syscall(SYS_exit, 100 + i);
	agent_syscall(SYS_exit, 0);
	return 2;
}

static void the_task_calls_nothing_that_asks_for_a_user(void **state)
{
	assert_int_equal(in_a_child(calls_nothing), 0);
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
		cmocka_unit_test(the_task_calls_nothing_that_asks_for_a_user),
		cmocka_unit_test(the_task_shares_descriptors_on_old_kernels),
		cmocka_unit_test(a_task_that_fails_late_is_not_there),
		cmocka_unit_test(a_set_of_nonsense_switches_nothing),
		cmocka_unit_test(a_childs_call_attaches_it),
		cmocka_unit_test(a_child_without_a_hit_obeys),
	};

	return cmocka_run_group_tests(tests, set_up, server_stop);
}
