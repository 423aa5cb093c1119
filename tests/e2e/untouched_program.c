/* SPDX-License-Identifier: MIT */
/*
 * untouched_program.c - a program that takes away what an agent could need; each mode prints what it would untraced
 *
 * All modes make events before and after: two of them when the agent is in good order.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <tracefuse/tracefuse.h>

TF_EVENT(untouched, step, (int, n));

static void *thread_step(void *arg)
{
	trace_step((int)(long)arg);
	free(malloc(100));
	return NULL;
}

static int in_thread(int n)
{
	pthread_t t;
	int err = pthread_create(&t, NULL, thread_step, (void *)(long)n);

	if (!err)
		pthread_join(t, NULL);
	return err;
}

static void close_all(void)
{
	for (int fd = 3; fd < 65536; fd++)
		close(fd);
}

/* The descriptors that it then opens itself are its own: numbers and contents. */
static int mode_close(void)
{
	int fds[8];

	close_all();
	for (int i = 0; i < 8; i++)
		fds[i] = open("/dev/null", O_RDWR);
	printf("descriptors %d to %d\n", fds[0], fds[7]);
	trace_step(2);
	in_thread(3);
	if (!fork()) {
		trace_step(4);
		_exit(0);
	}
	wait(NULL);
	for (int i = 0; i < 8; i++)
		printf("%d", fcntl(fds[i], F_GETFD));
	printf("\n");
	return 0;
}

static int mode_user(void)
{
	int failed = setgroups(0, NULL) || setgid(65534) || setuid(65534);

	printf("as nobody: %d\n", failed);
	trace_step(2);
	in_thread(3);
	if (!fork()) {
		trace_step(4);
		_exit(0);
	}
	wait(NULL);
	return 0;
}

static int mode_root(void)
{
	printf("root changed: %d\n", chroot("/usr") || chdir("/"));
	close_all();
	trace_step(2);
	in_thread(3);
	if (!fork()) {
		trace_step(4);
		_exit(0);
	}
	wait(NULL);
	return 0;
}

static int mode_limits(void)
{
	struct rlimit few = { 3, 3 }, memory = { 1 << 20, 1 << 20 };

	printf("limits: %d\n", setrlimit(RLIMIT_NOFILE, &few) | setrlimit(RLIMIT_AS, &memory));
	trace_step(2);
	printf("no file: %d\n", open("/dev/null", O_RDWR));
	printf("no memory: %d\n", malloc(64 << 20) == NULL);
	return 0;
}

static int filter(unsigned int action, const int *calls, size_t nr, unsigned int otherwise)
{
	struct sock_filter code[64];
	unsigned short n = 0;
	struct sock_fprog prog;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < nr; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)calls[i], 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
	prog = (struct sock_fprog){ n, code };
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

static int mode_refuse(void)
{
	static const int calls[] = { SYS_membarrier, SYS_memfd_create, SYS_socket, SYS_connect };

	printf("filter: %d\n", filter(SECCOMP_RET_ERRNO | EPERM, calls, 4, SECCOMP_RET_ALLOW));
	trace_step(2);
	printf("thread: %d\n", in_thread(3));
	if (!fork()) {
		trace_step(4);
		_exit(0);
	}
	wait(NULL);
	return 0;
}

/* Whoever makes another call than these is killed. */
static int mode_sandbox(void)
{
	static const int calls[] = {
		SYS_write, SYS_exit, SYS_exit_group, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_brk, SYS_clone3, SYS_clone,
		SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_set_robust_list, SYS_rseq, SYS_futex, SYS_madvise,
		SYS_getrandom, SYS_sched_getaffinity,
	};

	fflush(stdout);
	if (filter(SECCOMP_RET_ALLOW, calls, sizeof(calls) / sizeof(calls[0]), SECCOMP_RET_KILL_PROCESS))
		return 1;
	trace_step(2);
	free(malloc(1000));
	if (in_thread(3))
		return 2;
	if (write(1, "in the sandbox\n", 15) != 15)
		return 3;
	_exit(5);
}

static int mode_strict(void)
{
	fflush(stdout);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return 1;
	trace_step(2);
	if (write(1, "strict\n", 7) != 7)
		return 3;
	syscall(SYS_exit, 6);
	return 7;
}

static int mode_daemon(void)
{
	int fds[2];
	char c;

	if (pipe(fds))
		return 1;
	if (!fork()) {
		close(fds[0]);
		if (dup2(fds[1], 9) != 9 || daemon(0, 0))
			_exit(1);
		trace_step(4);
		if (write(9, "d", 1) != 1)
			_exit(1);
		_exit(0);
	}
	close(fds[1]);
	printf("daemon: %zd\n", read(fds[0], &c, 1));
	trace_step(2);
	wait(NULL);
	return 0;
}

/* errno, masks and dispositions as they were; nothing new where programs look. */
static int mode_state(void)
{
	struct sigaction sa;
	sigset_t set;
	int handlers = 0;

	errno = 77;
	trace_step(2);
	printf("errno %d\n", errno);
	for (int sig = 1; sig < 65; sig++)
		if (!sigaction(sig, NULL, &sa) && sa.sa_handler != SIG_DFL && sa.sa_handler != SIG_IGN)
			handlers++;
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	for (int sig = 1; sig < 65; sig++)
		handlers += 100 * sigismember(&set, sig);
	printf("handlers and blocked %d\n", handlers);
	printf("a descriptor %d\n", dup(0));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} modes[] = {
		{ "close", mode_close }, { "user", mode_user }, { "root", mode_root }, { "limits", mode_limits },
		{ "refuse", mode_refuse }, { "sandbox", mode_sandbox }, { "strict", mode_strict },
		{ "daemon", mode_daemon }, { "state", mode_state },
	};

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; argc == 2 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(modes[i].name, argv[1]))
			continue;
		trace_step(1);
		return modes[i].run();
	}
	return 99;
}
