/* SPDX-License-Identifier: MIT */
/*
 * system_calls.c - system calls that libc makes inside itself, in all ways in which a task
 * can begin, wait, be interrupted and end
 *
 *   calls	threads, cancellation, children of all kinds; prints what came of each
 *   storm N	handlers with SA_RESTART interrupt calls of 4 threads for N calls each
 *   live	says "runs", waits until the file $SYSTEM_CALLS_GO is there, then opens files
 *   crowd	says so, too; four threads wait for that file, then each calls what nobody else does
 *   small	a handler makes calls on the smallest stack that the kernel takes
 *   once	reads, and asks for its parent; its status says whether that was well
 *   bare	makes a task with a control block of its own
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int status_of(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* ---- Threads ---- */

static void *reads(void *arg)
{
	for (int i = 0; i < 50; i++) {
		FILE *f = fopen("/dev/zero", "r");
		char text[64];

		if (!f || fread(text, 1, sizeof(text), f) != sizeof(text))
			return NULL;
		fclose(f);
	}
	return arg;
}

static int pipes[2];
static atomic_int cleaned, waits;

static void clean(void *arg)
{
	(void)arg;
	cleaned++;
}

static void *is_cancelled(void *arg)
{
	char byte;

	pthread_cleanup_push(clean, NULL);
	waits++;
	while (read(pipes[0], &byte, 1) < 0)
		;
	pthread_cleanup_pop(0);
	return arg;
}

static void threads(void)
{
	pthread_t t[4];
	int good = 0;
	void *r;

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, reads, t);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &r);
		good += r == t;
	}
	printf("threads: %d\n", good);
	for (int i = 0; i < 20; i++) {
		pthread_create(&t[0], NULL, is_cancelled, NULL);
		while (waits <= i)
			sched_yield();
		usleep(500);
		pthread_cancel(t[0]);
		pthread_join(t[0], &r);
		good += r == PTHREAD_CANCELED;
	}
	printf("cancelled: %d, cleaned %d\n", good - 4, atomic_load(&cleaned));
}

/* ---- Children ---- */

static int cloned(void *arg)
{
	_exit(*(int *)arg);
}

static void children(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	char *const good[] = { "true", NULL }, *const bad[] = { "/nonexistent", NULL };
	char text[16] = "";
	int value = 6;
	pid_t pid;
	FILE *p;

	for (int i = 0; i < 3; i++)
		printf("system: %x\n", (unsigned int)system("exit 3"));
	p = popen("echo popen", "r");
	if (!p || !fgets(text, sizeof(text), p))
		printf("no popen\n");
	printf("%s%x\n", text, p ? (unsigned int)pclose(p) : 0);
	printf("spawn: %d", posix_spawnp(&pid, "true", NULL, NULL, good, environ));
	printf(" %x\n", (unsigned int)status_of(pid));
	printf("spawn: %d\n", posix_spawn(&pid, "/nonexistent", NULL, NULL, bad, environ));
	fflush(stdout);
	pid = vfork();
	if (!pid)
		_exit(7);
	printf("vfork: %x\n", (unsigned int)status_of(pid));
	fflush(stdout);
	pid = fork();
	if (!pid)
		exit(8);
	printf("fork: %x\n", (unsigned int)status_of(pid));
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (!pid)
		_exit(9);
	printf("syscall: %x\n", (unsigned int)status_of(pid));
	pid = clone(cloned, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &value);
	printf("clone: %x\n", (unsigned int)status_of(pid));
	/* So a program finds out whether the kernel has clone3(). */
	printf("clone3: %ld", syscall(SYS_clone3, NULL, 0));
	printf(" %d", errno);
	printf(" %ld", syscall(SYS_clone3, 8, 64));
	printf(" %d\n", errno);
}

/* ---- Signals ---- */

static volatile sig_atomic_t signals;

static void handler(int sig)
{
	(void)sig;
	signals++;
}

static sigjmp_buf back;

static void jumps(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

static void interrupted(void)
{
	struct sigaction act = { .sa_handler = handler };
	const struct itimerval soon = { .it_value.tv_usec = 20000 };
	char byte;
	pid_t pid;

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	printf("interrupted: %zd %s\n", read(pipes[0], &byte, 1), strerror(errno));
	act.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &act, NULL);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		usleep(100000);
		_exit(write(pipes[1], "x", 1) != 1);
	}
	setitimer(ITIMER_REAL, &soon, NULL);
	printf("restarted: %zd, %d signals\n", read(pipes[0], &byte, 1), (int)signals);
	printf("writer: %x\n", (unsigned int)status_of(pid));
	act.sa_handler = jumps;
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	if (!sigsetjmp(back, 1) && read(pipes[0], &byte, 1))
		printf("read\n");
	else
		printf("left by a jump\n");
}

static void *stormed(void *arg)
{
	const int nr = *(int *)arg;
	int fds[2];
	char byte;

	if (pipe(fds))
		return NULL;
	for (int i = 0; i < nr; i++) {
		if (write(fds[1], "x", 1) != 1 || read(fds[0], &byte, 1) != 1)
			return NULL;
		if (syscall(SYS_getppid) != getppid())
			return NULL;
	}
	close(fds[0]);
	close(fds[1]);
	return arg;
}

static void storm(int nr)
{
	const struct itimerval often = { { 0, 100 }, { 0, 100 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction act = { .sa_handler = handler, .sa_flags = SA_RESTART };
	pthread_t t[4];
	int good = 0;
	void *r;

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, stormed, &nr);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &r);
		good += r == &nr;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	printf("storm: %d\n", good);
}

/* ---- The rest ---- */

static int ends(void *arg)
{
	return (int)(intptr_t)arg;
}

/* libc's variables of a thread are not there: only the exit is made. */
static void bare(void)
{
	char *block = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static char stack[65536] __attribute__((aligned(16)));
	pid_t pid;

	munmap(block, 4096);
	pid = clone(ends, stack + sizeof(stack), CLONE_SETTLS | SIGCHLD, (void *)6, NULL,
		    block + 4096);
	printf("bare: %x\n", (unsigned int)status_of(pid));
}

static volatile sig_atomic_t calls;

static void calls_on_little(int sig)
{
	(void)sig;
	for (int i = 0; i < 100; i++)
		calls += getppid() > 0;
}

/* Below the stack is memory that may not be touched. */
static void small(void)
{
	struct sigaction act = { .sa_handler = calls_on_little, .sa_flags = SA_ONSTACK };
	const size_t size = ((size_t)sysconf(_SC_MINSIGSTKSZ) + 1024 + 4095) & ~(size_t)4095;
	char *memory = mmap(NULL, size + 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t little = { .ss_sp = memory + 4096, .ss_size = size };

	mprotect(memory, 4096, PROT_NONE);
	sigaltstack(&little, NULL);
	sigaction(SIGUSR1, &act, NULL);
	for (int i = 0; i < 10; i++)
		raise(SIGUSR1);
	printf("small: %d\n", (int)calls);
}

static void live(void)
{
	const char *go = getenv("SYSTEM_CALLS_GO");
	FILE *f;

	puts("runs");
	fflush(stdout);
	while (access(go, F_OK))
		usleep(1000);
	for (int i = 0; i < 100; i++) {
		f = fopen("/dev/null", "w");
		if (f)
			fclose(f);
	}
}

static void *waits_and_calls(void *arg)
{
	const char *go = getenv("SYSTEM_CALLS_GO");

	while (access(go, F_OK))
		usleep(1000);
	for (int i = 0; i < 100; i++) {
		const int fd = dup(2);

		getppid();
		umask(022);
		if (fd >= 0)
			close(fd);
	}
	return arg;
}

static void crowd(void)
{
	pthread_t others[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&others[i], NULL, waits_and_calls, NULL);
	puts("runs");
	fflush(stdout);
	waits_and_calls(NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(others[i], NULL);
}

/* -> 0, if all is well */
static int once(void)
{
	const int fd = open("/dev/zero", O_RDONLY);
	char bytes[3] = { 1, 1, 1 };

	return !(read(fd, bytes, sizeof(bytes)) == sizeof(bytes) && !bytes[2] && !close(fd) &&
		 getppid() > 0);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "storm")) {
		storm(atoi(argv[2]));
	} else if (argc == 2 && !strcmp(argv[1], "live")) {
		live();
	} else if (argc == 2 && !strcmp(argv[1], "crowd")) {
		crowd();
	} else if (argc == 2 && !strcmp(argv[1], "small")) {
		small();
	} else if (argc == 2 && !strcmp(argv[1], "once")) {
		return once();
	} else if (argc == 2 && !strcmp(argv[1], "bare")) {
		bare();
	} else if (!pipe(pipes)) {
		threads();
		children();
		interrupted();
		fflush(stdout);
		pthread_exit(NULL);
	}
	return 0;
}
