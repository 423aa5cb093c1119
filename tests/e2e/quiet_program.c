/* SPDX-License-Identifier: MIT */
/*
 * quiet_program.c - a program that has nothing to tell the session: quiet_program HOW GO [MORE]
 *
 * It says "runs" and its pid, waits until the file GO is there, allocates 77 bytes 100 times, by
 * work(), and ends with 3. HOW:
 *
 *   none		it ends at once
 *   one		nothing more
 *   threads	four threads allocate
 *   fork	a child allocates, which was made before
 *   forks	a child allocates, which is made then
 *   alarms	signal handlers write while it makes children, for two seconds
 *   vfork	a child of vfork() executes MORE before
 *   limit	it may open no more files before
 *   call_limit	the same, by syscall()
 *   root	it changes into the root directory MORE before
 *   user	it becomes user MORE before
 *   mount	it mounts a tmpfs at MORE before
 *   child_user	its child, which was made before, does and allocates
 *   clone_user	the same, and clone() made the child
 *   clone_apart	a child of clone() in a name space of users allocates
 *   parent	a child executes this program as one
 *   sandbox	it enters a filter that refuses socket() before
 *   exec	it says that it has changed a limit, and executes itself as one
 *   opens	it opens the library MORE, and calls its part() before
 *   prints	it prints into the trace before, and says whether it is attached
 *   child_prints	its child, which was made before, does and allocates
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <tracefuse/tracefuse.h>
#include "../apart.h"

enum { TIMES = 100, THREADS = 4, STATUS = 3 };

static const char *go;

static void await(void)
{
	printf("runs %d\n", (int)getpid());
	fflush(stdout);
	while (access(go, F_OK))
		usleep(1000);
}

APART void work(void)
{
	void *volatile kept = malloc(77);

	free(kept);
}

static void *work_all(void *arg)
{
	for (unsigned int i = 0; i < TIMES; i++)
		work();
	return arg;
}

static void (*child_does)(const char *more);
static char *child_more;

static int child_work(void *arg)
{
	await();
	child_does(child_more);
	work_all(NULL);
	return 0;
}

/* before: what the child does, when it may. */
static void work_in_clone(int flags, void (*before)(const char *more), char *more)
{
	static char stack[1 << 18] __attribute__((aligned(16)));
	int status = 0;
	pid_t child;

	child_does = before;
	child_more = more;
	child = clone(child_work, stack + sizeof(stack), flags | SIGCHLD, NULL);
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		exit(1);
}

static void work_in_threads(void)
{
	pthread_t threads[THREADS];

	for (unsigned int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work_all, NULL))
			exit(1);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* before: what the child does, when it may. */
static void work_in_child(void (*before)(const char *more), const char *more)
{
	const pid_t child = fork();
	int status = 0;

	if (!child) {
		await();
		before(more);
		work_all(NULL);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		exit(1);
}

static void nothing(const char *more)
{
}

static void fork_now(void)
{
	const pid_t child = fork();

	if (!child) {
		work_all(NULL);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static int nowhere;

static void write_a_byte(int sig)
{
	if (write(nowhere, "", 1) != 1)
		_exit(1);
}

/* The more memory the longer fork() takes, and the more signals come meanwhile. */
static void fork_beside_alarms(void)
{
	const size_t size = 128 << 20;
	const struct itimerval often = { { 0, 3000 }, { 0, 3000 } };
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const time_t end = time(NULL) + 2;

	nowhere = open("/dev/null", O_WRONLY);
	if (memory == MAP_FAILED || nowhere < 0)
		exit(1);
	memset(memory, 1, size);
	signal(SIGALRM, write_a_byte);
	setitimer(ITIMER_REAL, &often, NULL);
	while (time(NULL) < end) {
		const pid_t child = fork();

		if (!child)
			_exit(0);
		while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	}
}

static void execute(const char *more)
{
	const pid_t child = vfork();

	if (!child) {
		execl(more, more, NULL);
		_exit(1);
	}
	waitpid(child, NULL, 0);
}

static void forbid_files(const char *more)
{
	const struct rlimit none = { 3, 3 };

	if (setrlimit(RLIMIT_NOFILE, &none))
		exit(1);
}

static void forbid_files_by_call(const char *more)
{
	const struct rlimit none = { 3, 3 };

	if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &none, NULL))
		exit(1);
}

static void change_root(const char *more)
{
	if (chroot(more) || chdir("/"))
		exit(1);
}

static void cover(const char *more)
{
	if (mount("none", more, "tmpfs", 0, NULL))
		exit(1);
}

static void change_user(const char *more)
{
	const uid_t user = (uid_t)strtoul(more, NULL, 10);

	if (setresuid(user, user, user))
		exit(1);
}

static void forbid_sockets(const char *more)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		exit(1);
}

static void open_part(const char *more)
{
	void *library = dlopen(more, RTLD_NOW);
	int (*part)(int times) = library ? (int (*)(int))dlsym(library, "part") : NULL;

	if (!part)
		exit(1);
	part(TIMES);
}

static void print(const char *more)
{
	printf("attached %d\n", tf_attached());
	fflush(stdout);
	tf_printk("from %s\n", "print");
	tf_marker("from marker");
}

static void be_parent(const char *program)
{
	if (!fork()) {
		execl("/proc/self/exe", program, "one", go, NULL);
		_exit(1);
	}
	for (;;)
		pause();
}

static const struct way {
	const char	*name;
	void		(*before)(const char *more);
} ways[] = {
	{ "one", nothing }, { "vfork", execute }, { "limit", forbid_files },
	{ "call_limit", forbid_files_by_call }, { "mount", cover },
	{ "root", change_root }, { "user", change_user }, { "sandbox", forbid_sockets },
	{ "prints", print }, { "opens", open_part },
};

static void work_after(const char *how, const char *more)
{
	unsigned int i = 0;

	while (i < sizeof(ways) / sizeof(ways[0]) && strcmp(how, ways[i].name))
		i++;
	if (i == sizeof(ways) / sizeof(ways[0]))
		exit(1);
	await();
	ways[i].before(more);
	work_all(NULL);
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[1] : "none", *more = argc > 3 ? argv[3] : "";
	const struct rlimit some = { 1000, 1000 };

	go = argc > 2 ? argv[2] : "";
	if (!strcmp(how, "none"))
		return 0;
	if (!strcmp(how, "exec")) {
		setrlimit(RLIMIT_NOFILE, &some);
		execl("/proc/self/exe", argv[0], "one", go, NULL);
		return 1;
	}
	if (!strcmp(how, "threads")) {
		await();
		work_in_threads();
	} else if (!strcmp(how, "alarms")) {
		await();
		fork_beside_alarms();
	} else if (!strcmp(how, "forks")) {
		await();
		fork_now();
	} else if (!strcmp(how, "fork")) {
		work_in_child(nothing, more);
	} else if (!strcmp(how, "child_user")) {
		work_in_child(change_user, more);
	} else if (!strcmp(how, "clone_user")) {
		work_in_clone(0, change_user, argv[3]);
	} else if (!strcmp(how, "clone_apart")) {
		work_in_clone(CLONE_NEWUSER, nothing, NULL);
	} else if (!strcmp(how, "parent")) {
		be_parent(argv[0]);
	} else if (!strcmp(how, "child_prints")) {
		work_in_child(print, more);
	} else {
		work_after(how, more);
	}
	return STATUS;
}
