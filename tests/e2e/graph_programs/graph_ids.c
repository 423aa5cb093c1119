/* SPDX-License-Identifier: MIT */
/*
 * graph_ids.c - name spaces that a process of one thread may enter, and rights that all of its
 * threads give up
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../../apart.h"

/* Prints each line that begins with `what` in the status of any task, once. */
static APART void who_am_i(const char *what)
{
	char seen[256] = "", path[300], line[256];
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *d;

	while (tasks && (d = readdir(tasks))) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/status", d->d_name);
		f = *d->d_name == '.' ? NULL : fopen(path, "r");
		while (f && fgets(line, sizeof(line), f)) {
			if (strncmp(line, what, strlen(what)) || !strcmp(line, seen))
				continue;
			fputs(line, stdout);
			strcpy(seen, line);
		}
		if (f)
			fclose(f);
	}
	if (tasks)
		closedir(tasks);
}

static APART void tried(const char *what, int r)
{
	printf("%s: %s\n", what, r ? strerror(errno) : "done");
	fflush(stdout);
}

static APART void in_a_child(void (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		fn();
		fflush(stdout);
		_exit(3);
	}
	waitpid(pid, &status, 0);
	printf("status %x\n", status);
	fflush(stdout);
}

static void new_user(void)
{
	tried("unshare a user name space", unshare(CLONE_NEWUSER));
	who_am_i("Uid");
}

static void same_mounts(void)
{
	int fd = open("/proc/self/ns/mnt", O_RDONLY);

	tried("setns to its own mounts", setns(fd, CLONE_NEWNS));
	close(fd);
}

static void less_rights(void)
{
	tried("setresgid", setresgid(65533, 65533, 65533));
	who_am_i("Gid");
	tried("setuid", setuid(65534));
	who_am_i("Uid");
	tried("setuid back", setuid(0));
	who_am_i("Uid");
}

/* The child has no memory of its own. */
static void less_rights_in_a_vfork(void)
{
	int status;
	pid_t pid = vfork();

	if (!pid) {
		setuid(65534);
		_exit(4);
	}
	waitpid(pid, &status, 0);
	printf("vfork: status %x\n", status);
	who_am_i("Uid");
}

/*
 * Installs a filter for all threads, though there is only this one: it forbids calls that another
 * thread might make.
 */
static void no_waiting(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	tried("seccomp",
	      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter));
	usleep(1500000);
	tried("no waiting", 0);
}

int main(void)
{
	in_a_child(no_waiting);
	in_a_child(new_user);
	in_a_child(same_mounts);
	in_a_child(less_rights);
	in_a_child(less_rights_in_a_vfork);
	less_rights_in_a_vfork();
	same_mounts();
	less_rights();
	return 5;
}
