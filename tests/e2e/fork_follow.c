/* SPDX-License-Identifier: MIT */
/*
 * fork_follow.c - makes processes in all possible ways; each calls getsid(0) once
 *
 * The output is the same with and without tracing. Its last line is the number of processes that
 * called getsid(0), this one included. They are counted in a shared page, to which each writes its
 * number. With "vfork" the program has one child, which makes an event of each provider.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct shared {
	_Atomic int	processes;
	_Atomic int	daemons;
} *shared;

static char self[512];
static char leaf_command[1024];

static void here(void)
{
	getsid(0);
	atomic_fetch_add(&shared->processes, 1);
}

static int status_of(pid_t pid)
{
	int status;

	if (pid < 0)
		return -errno;
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* Overwrites the part of the stack that has the parent's return address. */
static __attribute__((noinline)) int deep(int n)
{
	volatile char bytes[64];

	memset((char *)bytes, n, sizeof(bytes));
	return n ? deep(n - 1) + bytes[5] : 0;
}

static __attribute__((noinline)) int one_vfork(int i, volatile int *seen)
{
	pid_t pid = vfork();

	if (!pid) {
		here();
		deep(40);
		(*seen)++;
		if (i % 3)
			execl("/bin/true", "true", NULL);
		_exit(i % 8);
	}
	return status_of(pid);
}

static void vforks(void)
{
	volatile int seen = 0;
	int sum = 0;
	pid_t pid;

	for (int i = 0; i < 50; i++)
		sum += one_vfork(i, &seen);
	printf("vfork: %d %d\n", sum, seen);
	pid = vfork();
	if (!pid) {
		pid = vfork();
		here();
		_exit(pid ? 7 : 8);	/* its parent continues after its end */
	}
	printf("nested: %x\n", (unsigned int)status_of(pid));
}

/* Makes one or two events of each provider, and no system call that is an event. */
static int vfork_with_all(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	void *(*volatile get)(size_t) = malloc;
	pid_t pid = vfork();

	if (!pid) {
		free(get(12345));
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
		pthread_setname_np(pthread_self(), "child");
		_exit(raise(SIGCONT));
	}
	return status_of(pid);
}

static void *forking(void *arg)
{
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (!pid) {
			here();
			if (i % 2 && !fork()) {
				here();
				_exit(0);
			}
			while (wait(NULL) > 0)
				;
			_exit(4);
		}
		if (status_of(pid) != 4 << 8)
			printf("a wrong status\n");
	}
	return NULL;
}

static void forks(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, forking, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("fork: storms of 4 threads\n");
}

static void spawns(void)
{
	char *arguments[] = { self, (char *)"leaf", NULL };
	int sum = 0;
	char line[64] = "";
	FILE *f;
	pid_t pid;

	for (int i = 0; i < 10; i++) {
		if (posix_spawn(&pid, self, NULL, NULL, arguments, environ))
			printf("not spawned\n");
		sum += status_of(pid);
	}
	printf("posix_spawn: %x\n", (unsigned int)sum);
	printf("posix_spawn: %d\n",
	       posix_spawn(&pid, "/nonexistent", NULL, NULL, arguments, environ));
	printf("system: %x\n", (unsigned int)system(leaf_command));
	f = popen(leaf_command, "r");
	if (f && fgets(line, sizeof(line), f))
		printf("popen: %s", line);
	printf("pclose: %x\n", f ? (unsigned int)pclose(f) : 0);
}

static int cloned(void *arg)
{
	here();
	*(volatile int *)arg = 5;
	return 4;
}

/* Runs at the same time as its parent, with the same thread control block. It is not followed. */
static int unfollowed(void *arg)
{
	*(volatile int *)arg = 6;
	return (int)(getsid(0) * 0);
}

static int returns(void *arg)
{
	return (int)(intptr_t)arg;
}

/* Clones with a thread control block of its own, without data before it. */
static void bare_clone(char *top)
{
	const size_t page = 4096;
	char *block =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	mprotect(block, page, PROT_NONE);
	pid = clone(returns, top, CLONE_SETTLS | SIGCHLD, (void *)6, NULL, block + page);
	printf("bare clone: %x\n", (unsigned int)status_of(pid));
	munmap(block, 2 * page);
}

static void clones(void)
{
	static char stack[65536];
	volatile int value = 0;
	char *top = stack + sizeof(stack);
	pid_t pid;

	pid = clone(cloned, top, CLONE_VM | CLONE_VFORK | SIGCHLD, (void *)&value);
	printf("clone: %x %d\n", (unsigned int)status_of(pid), value);
	value = 0;
	pid = clone(cloned, top, SIGCHLD, (void *)&value);
	printf("clone: %x %d\n", (unsigned int)status_of(pid), value);
	bare_clone(top);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (!pid) {
		here();
		_exit(3);
	}
	printf("raw clone: %x\n", (unsigned int)status_of(pid));
	errno = 0;
	printf("clone: %d", clone(NULL, top, 0, NULL));
	printf(" %d\n", errno);
}

static void shares(void)
{
	static char stack[65536];
	volatile int value = 0;
	pid_t pid = clone(unfollowed, stack + sizeof(stack), CLONE_VM | SIGCHLD, (void *)&value);
	int status = status_of(pid);

	for (int i = 0; i < 10; i++)
		value += getpgid(0) < 0;
	printf("shared: %x %d\n", (unsigned int)status, value);
}

static void execs(void)
{
	static char empty[] = "X=1";
	char *environment[] = { empty, NULL };
	pid_t pid = vfork();

	if (!pid) {
		execlp("sh", "sh", "-c", "echo execlp $0 $1", "a", "b", NULL);
		_exit(9);
	}
	printf("%x\n", (unsigned int)status_of(pid));
	pid = vfork();
	if (!pid) {
		execle("/bin/sh", "sh", "-c", "echo execle $X", NULL, environment);
		_exit(9);
	}
	printf("%x\n", (unsigned int)status_of(pid));
	errno = 0;
	printf("execl: %d", execl("/nonexistent", "x", NULL));
	printf(" %d\n", errno);
}

static void refused(void)
{
	struct rlimit none = { 0, 0 };
	pid_t pid = fork();

	if (pid) {
		printf("refused: %x\n", (unsigned int)status_of(pid));
		return;
	}
	here();
	setrlimit(RLIMIT_NPROC, &none);
	if (setuid(65534) && getuid() == 0)
		_exit(0);
	errno = 0;
	pid = vfork();
	if (!pid)
		_exit(1);
	if (pid != -1 || errno != EAGAIN)
		_exit(2);
	pid = fork();
	if (!pid)
		_exit(1);
	_exit(pid == -1 && errno == EAGAIN ? 0 : 3);
}

static void daemons(void)
{
	pid_t pid = fork();

	if (!pid) {
		if (daemon(1, 1))
			_exit(1);
		here();
		atomic_store(&shared->daemons, 1);
		_exit(0);
	}
	status_of(pid);
	for (int i = 0; i < 5000 && !atomic_load(&shared->daemons); i++)
		usleep(1000);
	printf("daemon: %d\n", atomic_load(&shared->daemons));
}

/* The page is shared through a file, so that executed programs find it, too. */
static void share(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT, 0600);

	if (fd < 0 || ftruncate(fd, 4096))
		exit(1);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
}

/* Ends before its child says anything to anybody. */
static int orphan_make(void)
{
	char creator[16];
	char *arguments[] = { self, (char *)"orphan", creator, NULL };

	snprintf(creator, sizeof(creator), "%d", (int)getpid());
	return posix_spawn(NULL, self, NULL, NULL, arguments, environ);
}

int main(int argc, char **argv)
{
	const char *name = getenv("FORK_FOLLOW");
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (argc > 1 && !strcmp(argv[1], "vfork"))
		return vfork_with_all();
	if (!name || n < 0)
		return 1;
	if (argc > 1 && !strcmp(argv[1], "parent"))
		return orphan_make();
	if (argc > 2 && !strcmp(argv[1], "orphan"))
		while (getppid() == atoi(argv[2]))
			usleep(1000);
	share(name);
	here();
	if (argc > 1 && !strcmp(argv[1], "orphan"))
		return 0;
	if (argc > 1 && !strcmp(argv[1], "leaf")) {
		printf("leaf\n");
		return 5;
	}
	setvbuf(stdout, NULL, _IONBF, 0);
	snprintf(leaf_command, sizeof(leaf_command), "%s leaf", self);
	vforks();
	forks();
	spawns();
	clones();
	execs();
	refused();
	daemons();
	shares();
	printf("%d\n", atomic_load(&shared->processes));
	return 0;
}
