/* SPDX-License-Identifier: MIT */
/*
 * dlopen.c - four threads and children of fork() load and unload DSOs while their sites are
 * switched a thousand times a second
 *
 *     stress-dlopen LIBTRACEFUSE MODULE...        is the server of its own child:
 *     stress-dlopen - MODULE...                   which has the agent preloaded
 *
 * The child only checks the results of functions. The server checks that calls are traced: the plan
 * of the only group counts them.
 */
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "plane/plane.h"
#include "session/attach/attach.h"
#include "session/session.h"

enum { THREADS = 4, SECONDS = 4, WORDS = 4096, FIRINGS = 1 << 30, STATUS_WRONG = 3 };

static void die(const char *what)
{
	printf("Bail out! %s\n", what);
	exit(1);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- The program ---- */

static char **modules;
static int nr_modules;
static long expected;
static uint64_t end;
static _Atomic unsigned long wrong, turns;

static long module_run(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	long (*run)(long) = handle ? (long (*)(long))dlsym(handle, "patch_run") : NULL;
	long result = run ? run(1) : -1;

	if (run && run(1) != result)
		result = -1;
	if (handle)
		dlclose(handle);
	return result;
}

static void *come_and_go(void *arg)
{
	for (unsigned long i = (unsigned long)arg; now() < end; i++) {
		wrong += module_run(modules[i % (unsigned long)nr_modules]) != expected;
		turns++;
	}
	return NULL;
}

/*
 * Uses a module that stays loaded. A child does not load any, because another thread may have been
 * in the linker at the fork.
 */
static void child_check(long (*run)(long))
{
	pid_t pid = fork();
	int status = 1;

	if (!pid) {
		alarm(30);
		for (int i = 0; i < 20; i++)
			if (run(1) != expected)
				_exit(STATUS_WRONG);
		_exit(0);
	}
	wrong += pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

static int program(int nr, char **names)
{
	pthread_t threads[THREADS];
	unsigned long children = 0;
	void *stays;

	modules = names;
	nr_modules = nr;
	expected = module_run(names[0]);
	stays = dlopen(names[0], RTLD_NOW | RTLD_LOCAL);
	if (!stays)
		return STATUS_WRONG;
	end = now() + SECONDS * 1000000000ull;
	for (unsigned long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, come_and_go, (void *)i);
	for (; now() < end; children++) {
		child_check((long (*)(long))dlsym(stays, "patch_run"));
		nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("# loaded and unloaded %lu times, %lu children, %lu wrong\n", (unsigned long)turns,
	       children, (unsigned long)wrong);
	return wrong || expected == -1 ? STATUS_WRONG : 0;
}

/* ---- The server ---- */

static struct session *session;
static struct site_control *control;
static _Atomic bool stop;

static void *serve(void *arg)
{
	while (!stop) {
		attach_serve(session);
		usleep(200);
	}
	return NULL;
}

/*
 * Makes a plan with a trigger that fires at each hit and is counted. It does nothing, because there
 * is no snapshot.
 */
static struct trigger_state *group_make(void)
{
	size_t size = sizeof(struct plan) + sizeof(struct arm) + sizeof(struct trigger_arm);
	config_ref ref = session_config_alloc(session, size);
	struct plan *plan = session_config(session, ref, size);
	struct arm *arm = (struct arm *)(plan + 1);
	data_ref state = session_data_alloc(session, sizeof(struct trigger_state));
	struct trigger_state *s = session_data(session, state, sizeof(*s));

	*plan = (struct plan){ .event_id = LAYOUT_FUNCTION_ID, .nr_arms = 1, .nr_triggers = 1,
		.size = (uint32_t)size };
	*arm = (struct arm){ .nr_triggers = 1, .state = session_data_alloc(session,
		sizeof(struct event_state)) };
	*(struct trigger_arm *)(arm + 1) = (struct trigger_arm){
		.kind = TRIGGER_SNAPSHOT, .flags = TRIGGER_COUNTED, .state = state };
	atomic_store(&s->count, FIRINGS);
	session_publish(
		session,
		(_Atomic uint64_t *)&plane_event(session_plane(session), LAYOUT_GROUPS_AT)->plan,
		ref);
	return s;
}

static uint32_t *words_make(void)
{
	config_ref ref = session_config_alloc(session, WORDS * sizeof(uint32_t));

	for (int i = 0; i < LAYOUT_MAX_DSOS; i++) {
		atomic_store(&control->sets[i].nr, WORDS);
		atomic_store(&control->sets[i].words, ref);
	}
	return session_config(session, ref, WORDS * sizeof(uint32_t));
}

static pid_t program_start(const char *self, const char *agent, char **names)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	setenv("LD_PRELOAD", agent, 1);
	setenv("TRACEFUSE_SESSION", session_dir(session), 1);
	names[-1] = "-";
	names[-2] = (char *)self;
	execv("/proc/self/exe", names - 2);
	_exit(127);
}

/* Switches sites until the program has ended. Returns how often. */
static unsigned long switch_sites(uint32_t *words, pid_t pid, int *status)
{
	unsigned long round = 0;

	while (!waitpid(pid, status, WNOHANG)) {
		round++;
		for (uint32_t i = 0; i < WORDS; i++)
			words[i] = round & 1 && (i * 2654435761u >> (round % 16)) & 1
					   ? LAYOUT_GROUPS_AT
					   : 0;
		atomic_fetch_add(&control->command, 1);
		syscall(SYS_futex, &control->command, FUTEX_WAKE, 1000, NULL, NULL, 0);
		nanosleep(&(struct timespec){ 0, 900000 }, NULL);
	}
	return round;
}

static void ok(int nr, bool good, const char *what)
{
	printf("%sok %d - %s\n", good ? "" : "not ", nr, what);
}

static int server(const char *self, const char *agent, char **names)
{
	static const struct session_params params = {
		.nr_cpus = 64, .nr_slots = 256, .memory = 64 << 20 };
	struct trigger_state *counted;
	unsigned long rounds;
	pthread_t thread;
	int status = 1;
	pid_t pid;

	if (session_create(NULL, &params, &session))
		die("no session");
	if (pthread_create(&thread, NULL, serve, NULL))
		die("no thread");
	plane_instance(session_plane(session), 0)->tracing_on = 1;
	control = session_config(session, session_header(session)->sites, sizeof(*control));
	counted = group_make();
	pid = program_start(self, agent, names);
	rounds = switch_sites(words_make(), pid, &status);
	stop = true;
	pthread_join(thread, NULL);
	printf("# %lu switches, %lu calls seen\n", rounds,
	       (unsigned long)(FIRINGS - atomic_load(&counted->count)));
	ok(1, WIFEXITED(status) && !WEXITSTATUS(status),
	   "functions of DSOs that come and go return what they did");
	ok(2, atomic_load(&counted->count) < FIRINGS, "their calls were seen");
	if (WIFSIGNALED(status))
		printf("# it was killed by signal %d\n", WTERMSIG(status));
	session_close(session);
	return 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "-"))
		return program(argc - 2, argv + 2);
	printf("1..2\n");
	return server(argv[0], argv[1], argv + 2);
}
