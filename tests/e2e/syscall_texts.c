/* SPDX-License-Identifier: MIT */
/*
 * syscall_texts.c - system calls with texts of all kinds, and with pointers to no memory. It prints
 * what each returns. With an argument it makes some of them in a sandbox that ends a program which
 * reads memory by process_vm_readv().
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, ALTERNATE = 8192 };

static char long_name[300];

static void said(const char *what, long result)
{
	printf("%s: %ld %d\n", what, result, result < 0 ? errno : 0);
}

/* Two pages, of which the second one is not there. */
static char *edge(void)
{
	char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || munmap(p + PAGE, PAGE))
		exit(1);
	memset(p, 'x', PAGE);
	return p + PAGE;
}

static int opened;

static void in_handler(int sig)
{
	const int saved = errno;

	(void)sig;
	opened = open("/none/handler", O_RDONLY);
	errno = saved;
}

static void by_handler(void)
{
	struct sigaction act = { .sa_handler = in_handler, .sa_flags = SA_ONSTACK };
	const size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + ALTERNATE;
	stack_t stack = { .ss_sp = malloc(size), .ss_size = size };

	if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &act, NULL))
		exit(1);
	raise(SIGUSR1);
	printf("handler: %d\n", opened);
}

static void by_child(void)
{
	const pid_t pid = vfork();

	if (!pid) {
		execl("/none/child", "child", NULL);
		_exit(7);
	}
	waitpid(pid, NULL, 0);
}

static void sandbox(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		exit(1);
}

int main(int argc, char **argv)
{
	char *end = edge(), many[200];
	int null = open("/dev/null", O_WRONLY);

	(void)argv;
	setvbuf(stdout, NULL, _IONBF, 0);
	memset(long_name, 'n', sizeof(long_name) - 1);
	memset(many, 'm', sizeof(many));
	said("before", open("/none/before", O_RDONLY));
	if (argc > 1) {
		sandbox();
		said("inside", open("/none/inside", O_RDONLY));
		return 0;
	}
	said("short", open("/none/short", O_RDWR | O_CREAT | O_TRUNC, 0640));
	said("long", open(long_name, O_RDONLY | O_DIRECTORY));
	said("control", open("/none/a\tb\033[1m", O_RDONLY));
	said("null", open(NULL, O_RDONLY));
	said("wild", open((char *)8, O_RDONLY));
	said("no end", open(end - 5, O_RDONLY));
	end[-1] = 0;
	said("to the end", open(end - 5, O_RDONLY));
	said("two", syscall(SYS_renameat2, -1, "one", -1, "two", 0));
	said("three", mkdir("/none/directory", 0700));
	said("bytes", write(null, "hi\n", 3));
	said("many", write(null, many, sizeof(many)));
	said("no bytes", write(null, NULL, 0));
	said("beyond", write(1 << 20, end - 1, 2));
	by_handler();
	by_child();
	return 3;
}
