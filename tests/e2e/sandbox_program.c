/* SPDX-License-Identifier: MIT */
/*
 * sandbox_program.c - enters a sandbox and calls malloc() a hundred times: sandbox_program HOW
 *
 *   strict	seccomp's strict mode
 *   kill	a filter that ends who makes another call than write() and exit_group()
 *   error	the same, but such a call fails
 *
 * With "child" behind HOW, a child of fork() does it, and its status is this program's. With "exec
 * PROGRAM" the filter forbids only socket(), and the program is executed; with "later PROGRAM" a
 * child of fork() calls malloc() a hundred times and executes it; with "thread PROGRAM" a thread
 * does so, and two children of vfork() execute it; with "shell COMMAND" system() does. HOW may also
 * be one of these then:
 *
 *   map	to open a file for reading and writing fails
 *   hit	tgkill() ends the program
 *   uid	getuid() does
 *   NUMBER	that system call does
 *   -NUMBER	that system call fails
 *   iNUMBER	that system call returns EINTR
 *   lNUMBER	that system call ends the program, and somebody may listen to the filter
 *   oNUMBER	that system call ends the program, and nobody sees it install the filter
 *   readonly	socket() does, and the environment may not be written
 *   mdwe	memory that was written may not be executed
 *   none	there is no filter
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif

static void install(const struct sock_filter *code, unsigned short nr)
{
	const struct sock_fprog prog = { nr, (struct sock_filter *)code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		_exit(2);
}

static void filter(unsigned int otherwise)
{
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, otherwise),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install(code, 5);
}

static void filter_call(unsigned int call, unsigned int otherwise)
{
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, otherwise),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install(code, 4);
}

static void filter_maps(void)
{
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, O_ACCMODE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, O_RDWR, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install(code, 7);
}

/* Kills for the call. It is valid until the next call of this function. */
static struct sock_fprog filter_killing(unsigned int nr)
{
	static struct sock_filter code[4];

	code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					       offsetof(struct seccomp_data, nr));
	code[1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1);
	code[2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	code[3] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return (struct sock_fprog){ sizeof(code) / sizeof(*code), code };
}

/* As filter_call(), by an instruction of its own. */
static void filter_unseen(unsigned int nr)
{
	const struct sock_fprog prog = filter_killing(nr);
	long ret = SYS_prctl;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		_exit(2);
	__asm__ volatile("syscall"
			 : "+a"(ret)
			 : "D"(PR_SET_SECCOMP), "S"(SECCOMP_MODE_FILTER), "d"(&prog)
			 : "rcx", "r11", "memory");
	if (ret)
		_exit(2);
}

/* As filter_call(), by a call that returns a descriptor. */
static void filter_listened(unsigned int nr)
{
	const struct sock_fprog prog = filter_killing(nr);

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
		    &prog) < 0)
		_exit(2);
}

/* The program's own copy, which may be anywhere. */
static void environment_protect(void)
{
	const size_t size = 1 << 20;
	char **copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *text = (char *)copy + size / 2;

	for (size_t i = 0; environ[i]; i++) {
		copy[i] = text;
		text = stpcpy(text, environ[i]) + 1;
	}
	environ = copy;
	if (mprotect(copy, size, PROT_READ))
		_exit(2);
	filter_call(SYS_socket, SECCOMP_RET_KILL_PROCESS);
}

static void mallocs(int nr)
{
	while (nr--) {
		void *volatile p = malloc(10);

		free(p);
	}
}

static void sandboxed(const char *how)
{
	if (!strcmp(how, "kill"))
		filter(SECCOMP_RET_KILL_PROCESS);
	else if (!strcmp(how, "error"))
		filter(SECCOMP_RET_ERRNO | EPERM);
	else if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		_exit(2);
	mallocs(100);
	if (write(1, "done\n", 5) != 5)
		_exit(3);
	/* The strict mode knows no exit_group(). */
	syscall(strcmp(how, "strict") ? SYS_exit_group : SYS_exit, 4);
}

static void *in_thread(void *unused)
{
	mallocs(100);
	return unused;
}

/* A thread misses hits; then two children of vfork() execute the program. */
static int vforks(char **argv)
{
	pthread_t thread;
	int status = 1;
	pid_t pid;

	if (pthread_create(&thread, NULL, in_thread, NULL) || pthread_join(thread, NULL))
		return 1;
	for (int i = 0; i < 2; i++) {
		pid = vfork();
		if (!pid) {
			execv(*argv, argv);
			_exit(2);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			return 1;
	}
	return 0;
}

static int executes(const char *how, const char *who, char **argv)
{
	pid_t pid = 0;
	int status;

	if (!strcmp(how, "map"))
		filter_maps();
	else if (!strcmp(how, "hit") || !strcmp(how, "uid"))
		filter_call(strcmp(how, "hit") ? SYS_getuid : SYS_tgkill, SECCOMP_RET_KILL_PROCESS);
	else if (!strcmp(how, "mdwe") && prctl(PR_SET_MDWE, 1, 0, 0, 0))
		_exit(77);
	else if (!strcmp(how, "mdwe"))
		mallocs(1);
	else if (!strcmp(how, "readonly"))
		environment_protect();
	else if (*how == 'i')
		filter_call((unsigned int)atoi(how + 1), SECCOMP_RET_ERRNO | EINTR);
	else if (*how == 'o')
		filter_unseen((unsigned int)atoi(how + 1));
	else if (*how == 'l')
		filter_listened((unsigned int)atoi(how + 1));
	else if (atoi(how) > 0)
		filter_call((unsigned int)atoi(how), SECCOMP_RET_KILL_PROCESS);
	else if (atoi(how))
		filter_call((unsigned int)-atoi(how), SECCOMP_RET_ERRNO | EPERM);
	else if (strcmp(how, "none"))
		filter_call(SYS_socket, strcmp(how, "kill") ? SECCOMP_RET_ERRNO | EPERM
							    : SECCOMP_RET_KILL_PROCESS);
	if (!strcmp(who, "thread"))
		return vforks(argv);
	if (!strcmp(who, "shell"))
		return system(*argv);
	if (!strcmp(who, "later")) {
		pid = fork();
		mallocs(pid ? 0 : 100);
	}
	if (pid)
		return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
									     : 1;
	execv(*argv, argv);
	return 2;
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (argc < 2)
		return 1;
	mallocs(1);
	if (argc > 3)
		return executes(argv[1], argv[2], argv + 3);
	pid = argc > 2 ? fork() : 0;
	if (!pid)
		sandboxed(argv[1]);
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
