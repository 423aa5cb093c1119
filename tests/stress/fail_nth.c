/* SPDX-License-Identifier: MIT */
/*
 * fail_nth.c - runs a command, one of whose system calls fails
 *
 *     fail_nth KIND N LOG COMMAND ARGUMENTS...
 *
 * Counts all system calls of a kind that tracefuse makes: in the command, in its server, and in
 * programs with its agent. The Nth one fails; with N 0 none does. Calls of the traced program
 * itself, of the dynamic linker and of other programs do not count. LOG gets a line for the call
 * that failed, "calls NUMBER" at the end, and a line for each process that a signal killed.
 *
 * Ends with the command's exit status (128 + signal) when every process that it began has ended, or
 * some seconds later: a server may stay.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <linux/ptrace.h>
#include <unistd.h>

#ifdef __x86_64__
enum { CALLS = 12, STAY_US = 500000, PAUSE_US = 2000 };

struct kind {
	const char	*name;
	int		err;
	long		calls[CALLS];
};

static const struct kind kinds[] = {
	{ "map", ENOMEM, { SYS_mmap, SYS_mprotect, SYS_mremap } },
	{ "space", ENOSPC, { SYS_fallocate, SYS_ftruncate } },
	{ "write", ENOSPC, { SYS_write, SYS_pwrite64, SYS_writev } },
	{ "send", ENOBUFS, { SYS_sendto, SYS_sendmsg } },
	{ "open", EMFILE, { SYS_openat, SYS_socket, SYS_memfd_create, SYS_epoll_create1, SYS_pipe2,
			    SYS_socketpair, SYS_eventfd2, SYS_accept4, SYS_pidfd_open,
			    SYS_fcntl } },
	{ "link", ENOSPC, { SYS_mkdir, SYS_mkdirat, SYS_rename, SYS_renameat, SYS_renameat2,
			    SYS_bind, SYS_listen } },
	{ "process", EAGAIN, { SYS_clone, SYS_clone3, SYS_fork, SYS_vfork } },
};

/* The task whose call was replaced. At the call's end the error becomes its result. */
static pid_t failing;
static const struct kind *kind;
static unsigned long nth, nr;
static FILE *log_file;

static bool is_of_kind(uint64_t call)
{
	for (int i = 0; i < CALLS && kind->calls[i]; i++)
		if ((uint64_t)kind->calls[i] == call)
			return true;
	return false;
}

static void base_name(const char *path, char *out, size_t size)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t n = strnlen(base, size - 1);

	memcpy(out, base, n);
	out[n] = '\0';
}

/* The name of the file mapped at the address; "": none. */
static void file_at(pid_t pid, uint64_t at, char *out, size_t size)
{
	char path[64], line[4400], name[4200];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	*out = '\0';
	while (f && fgets(line, sizeof(line), f)) {
		unsigned long from, to;

		*name = '\0';
		if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %4199s", &from, &to, name) < 2)
			continue;
		if (at >= from && at < to) {
			base_name(name, out, size);
			break;
		}
	}
	if (f)
		fclose(f);
}

static void program_of(pid_t pid, char *out, size_t size)
{
	char path[64], target[4096];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	base_name(target, out, size);
}

/* Whether tracefuse makes the call: its own program, or its library in another program. */
static bool is_ours(pid_t pid, uint64_t ip)
{
	char program[256], file[256];

	program_of(pid, program, sizeof(program));
	file_at(pid, ip, file, sizeof(file));
	if (!strncmp(file, "ld-linux", 8))
		return false;
	return !strcmp(program, "tracefuse") || !strncmp(file, "libtracefuse", 12);
}

/*
 * Excludes writes to descriptor 2, whose failure nobody could see, and fcntl() unless it makes a
 * descriptor.
 */
static bool may_fail(const struct ptrace_syscall_info *i)
{
	if (i->entry.nr == SYS_fcntl)
		return i->entry.args[1] == F_DUPFD || i->entry.args[1] == F_DUPFD_CLOEXEC;
	return i->entry.nr != SYS_write || i->entry.args[0] != 2;
}

static void registers(pid_t pid, int request, struct user_regs_struct *r)
{
	struct iovec iov = { r, sizeof(*r) };

	ptrace(request, pid, NT_PRSTATUS, &iov);
}

static void call_begins(pid_t pid, const struct ptrace_syscall_info *i)
{
	struct user_regs_struct r;
	char program[256];

	if (!is_of_kind(i->entry.nr) || !may_fail(i) || !is_ours(pid, i->instruction_pointer))
		return;
	if (++nr != nth)
		return;
	program_of(pid, program, sizeof(program));
	fprintf(log_file, "failed call %llu of %s\n", (unsigned long long)i->entry.nr, program);
	registers(pid, PTRACE_GETREGSET, &r);
	r.orig_rax = (unsigned long)-1;
	registers(pid, PTRACE_SETREGSET, &r);
	failing = pid;
}

static void call_ends(pid_t pid)
{
	struct user_regs_struct r;

	if (pid != failing)
		return;
	registers(pid, PTRACE_GETREGSET, &r);
	r.rax = (unsigned long)-kind->err;
	registers(pid, PTRACE_SETREGSET, &r);
	failing = 0;
}

static void call_stopped(pid_t pid)
{
	struct ptrace_syscall_info i;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(i), &i) <= 0)
		return;
	if (i.op == PTRACE_SYSCALL_INFO_ENTRY)
		call_begins(pid, &i);
	else if (i.op == PTRACE_SYSCALL_INFO_EXIT)
		call_ends(pid);
}

/* Continues a stopped task, and delivers its signal. */
static void go_on(pid_t pid, int status)
{
	int sig = WSTOPSIG(status), event = status >> 16;

	if (sig == (SIGTRAP | 0x80)) {
		call_stopped(pid);
		sig = 0;
	} else if (event == PTRACE_EVENT_STOP && sig != SIGTRAP) {
		ptrace(PTRACE_LISTEN, pid, 0, 0);
		return;
	} else if (event) {
		sig = 0;
	}
	ptrace(PTRACE_SYSCALL, pid, 0, sig);
}

static void tell_death(pid_t pid, int sig)
{
	if (sig != SIGTERM && sig != SIGKILL && sig != SIGPIPE)
		fprintf(log_file, "killed: %d by signal %d\n", (int)pid, sig);
}

static int follow(pid_t command)
{
	int status, result = 127, left = STAY_US / PAUSE_US;
	bool ended = false;
	pid_t pid;

	while (left > 0) {
		pid = waitpid(-1, &status, __WALL | (ended ? WNOHANG : 0));
		if (pid < 0 && errno != EINTR)
			break;
		if (pid <= 0) {
			usleep(PAUSE_US);
			left -= ended;
			continue;
		}
		if (WIFSTOPPED(status)) {
			go_on(pid, status);
			continue;
		}
		if (WIFSIGNALED(status))
			tell_death(pid, WTERMSIG(status));
		if (pid != command)
			continue;
		ended = true;
		result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	return result;
}

enum { OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
		 PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC };

static pid_t start(char **argv)
{
	int ready[2];
	char c;
	pid_t pid;

	if (pipe(ready) || (pid = fork()) < 0)
		return -1;
	if (pid) {
		close(ready[0]);
		if (ptrace(PTRACE_SEIZE, pid, 0, OPTIONS) || ptrace(PTRACE_INTERRUPT, pid, 0, 0)) {
			perror("fail_nth: ptrace");
			return -1;
		}
		close(ready[1]);
		return pid;
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 0)
		_exit(126);
	close(ready[0]);
	execvp(argv[0], argv);
	_exit(127);
}

int main(int argc, char **argv)
{
	pid_t pid;
	int status;

	for (size_t i = 0; argc > 4 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i].name))
			kind = &kinds[i];
	if (!kind) {
		fprintf(stderr, "usage: fail_nth KIND N LOG COMMAND...\n");
		return 2;
	}
	nth = strtoul(argv[2], NULL, 10);
	log_file = fopen(argv[3], "we");
	if (log_file)
		setlinebuf(log_file);
	pid = log_file ? start(argv + 4) : -1;
	if (pid < 0)
		return 126;
	status = follow(pid);
	fprintf(log_file, "calls %lu\n", nr);
	fclose(log_file);
	return status;
}
#else
int main(void)
{
	return 126;	/* tests/stress/faults is skipped */
}
#endif
