/* SPDX-License-Identifier: MIT */
/*
 * rights_program.c - a program that gives up rights in each possible way, and checks whether any of
 * its threads kept some
 *
 *     rights_program              each way in a process of its own: prints what it would untraced
 *     rights_program switch       calls a function for each line; the second time without its
 *                                 rights; "away": its children go into another pid name space
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../apart.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self 446
#endif

int capset(struct __user_cap_header_struct *head, const struct __user_cap_data_struct *data);

/* ---- The rights of threads ---- */

/* The line of a thread's status that begins with `what`. */
static APART void status_of(const char *thread, const char *what, char line[256])
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/status", thread);
	f = fopen(path, "r");
	while (f && fgets(line, 256, f) && strncmp(line, what, strlen(what)))
		;
	if (f)
		fclose(f);
}

static unsigned long long number(const char *line, int base)
{
	return strtoull(strchr(line, ':') + 1, NULL, base);
}

static APART void compare(const char *tid, const char *what, int base)
{
	char own[256] = ":", its[256] = ":", thread[300];
	int more;

	snprintf(thread, sizeof(thread), "self/task/%s", tid);
	status_of("thread-self", what, own);
	status_of(thread, what, its);
	if (base == 16)		/* capabilities */
		more = (number(its, 16) & ~number(own, 16)) != 0;
	else if (base == 10)	/* restrictions */
		more = number(its, 10) < number(own, 10);
	else
		more = strcmp(its, own) != 0;
	if (more)
		printf("a thread has other rights: %s, not %s", its, own);
}

static APART void compare_all(int users)
{
	static const char *const capabilities[] = { "CapInh:", "CapPrm:", "CapEff:", "CapBnd:",
						    "CapAmb:" };
	static const char *const same[] = { "Uid:", "Gid:", "Groups:" }, *const least[] = {
		"NoNewPrivs:", "Seccomp:"
	};
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *d;

	while (tasks && (d = readdir(tasks))) {
		if (*d->d_name == '.')
			continue;
		for (int i = 0; i < 5; i++)
			compare(d->d_name, capabilities[i], 16);
		for (int i = 0; i < 2; i++)
			compare(d->d_name, least[i], 10);
		for (int i = 0; users && i < 3; i++)
			compare(d->d_name, same[i], 0);
	}
	if (tasks)
		closedir(tasks);
}

/* ---- Ways ---- */

static int say(const char *what, long r)
{
	printf("%s: %s\n", what, r < 0 ? strerror(errno) : "done");
	return r < 0;
}

static void way_setuid(void)		{ say("setuid", setuid(65534)); }
static void way_seteuid(void)		{ say("seteuid", seteuid(65534)); }
static void way_setreuid(void)		{ say("setreuid", setreuid(65534, 65534)); }
static void way_setresuid(void)		{ say("setresuid", setresuid(65534, 65534, 65534)); }
static void way_setgid(void)		{ say("setgid", setgid(65534)); }
static void way_setresgid(void)		{ say("setresgid", setresgid(1, 65534, 2)); }
static void way_setgroups(void)		{ say("setgroups", setgroups(1, (gid_t[]){ 65534 })); }
static void way_initgroups(void)	{ say("initgroups", initgroups("nobody", 65533)); }
static void way_setfsuid(void)		{ say("setfsuid", syscall(SYS_setfsuid, 65534)); }
static void way_raw_setuid(void)	{ say("by its number", syscall(SYS_setuid, 65534)); }
static void way_raw_setgroups(void)	{ say("by its number", syscall(SYS_setgroups, 0, NULL)); }

static void way_keep(void)
{
	say("keep capabilities", prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
	say("setresuid", setresuid(65534, 65534, 65534));
}

static void way_capset(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct some[2] = { { .effective = 1 << CAP_CHOWN,
						    .permitted = 3 << CAP_CHOWN } };

	say("capset", capset(&head, some));
	say("by its number",
	    syscall(SYS_capset, &head, (struct __user_cap_data_struct[2]){ { 0 } }));
}

static void way_bounds(void)
{
	for (int cap = 0; cap < 8; cap++)
		say("bound", prctl(PR_CAPBSET_DROP, cap, 0, 0, 0));
	say("ambient", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0));
}

static void way_no_new(void)
{
	say("no new rights", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	say("not dumpable", prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
}

static const struct sock_filter no_chdir[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_chdir, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};
static struct sock_fprog filter = { sizeof(no_chdir) / sizeof(no_chdir[0]),
				    (struct sock_filter *)no_chdir };

static void way_prctl_filter(void)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	say("prctl", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
}

static void way_filter(void)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	say("seccomp", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter));
}

static void way_filter_all(void)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	say("seccomp that fails", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, -1, &filter));
	say("seccomp, all",
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter));
}

static void way_landlock(void)
{
	unsigned long long handled[2] = { 1 << 2 /* reading files */, 0 };
	int fd = (int)syscall(SYS_landlock_create_ruleset, handled, sizeof(handled[0]), 0);

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (fd >= 0)
		syscall(SYS_landlock_restrict_self, fd, 0);
	close(fd);
	/* From now on the process cannot read /proc. */
	say("landlock", fd < 0 ? 0 : open("/proc/self/status", O_RDONLY));
}

static const struct { const char *name; int flag; } spaces[] = {
	{ "user", CLONE_NEWUSER }, { "mnt", CLONE_NEWNS }, { "pid", CLONE_NEWPID },
	{ "net", CLONE_NEWNET },
	{ "uts", CLONE_NEWUTS }, { "ipc", CLONE_NEWIPC }, { "cgroup", CLONE_NEWCGROUP },
	{ "time", 0x80 },
	{ "files", CLONE_FILES }, { "fs", CLONE_FS }, { "semaphores", CLONE_SYSVSEM },
	{ "all", CLONE_NEWUSER | CLONE_NEWPID },
};

static int space;

static void way_unshare(void)		{ say(spaces[space].name, unshare(spaces[space].flag)); }
static void way_raw_unshare(void)
{
	say(spaces[space].name, syscall(SYS_unshare, spaces[space].flag));
}

static void way_setns(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", spaces[space].name);
	fd = open(path, O_RDONLY);
	say("setns", setns(fd, 0));
	say("setns by its number", syscall(SYS_setns, fd, 0));
}

static void way_root(void)		{ say("chroot", chroot("/") | chdir("/")); }

static void way_limits(void)
{
	struct rlimit none = { 0, 0 }, few = { 64, 64 };
	struct sched_param p = { 0 };

	say("files", setrlimit(RLIMIT_NOFILE, &few));
	say("threads", setrlimit(RLIMIT_NPROC, &none));
	say("batch", sched_setscheduler(0, SCHED_BATCH, &p));
	say("nice", setpriority(PRIO_PROCESS, 0, 5));
}

/* Uses its own system call instruction, so it calls no function that an agent could replace. */
static void way_instruction(void)
{
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(SYS_setresuid), "D"(65534), "S"(65534), "d"(65534)
			 : "rcx", "r11", "memory");
	errno = (int)-r;
	say("setresuid by an instruction", r);
}

static APART int afterwards(void)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		compare_all(1);
		fflush(stdout);
		_exit(3);
	}
	return pid < 0 ? errno : waitpid(pid, &status, 0) == pid ? status : -1;
}

static APART void in_a_child(void (*way)(void), int users)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		compare_all(1);
		way();
		compare_all(users);
		fflush(stdout);
		printf("a child: %x\n", afterwards());
		fflush(stdout);
		_exit(2);
	}
	waitpid(pid, &status, 0);
	printf("status %x\n", status);
	fflush(stdout);
}

static int try_all(void)
{
	static void (*const ways[])(void) = {
		way_setuid, way_seteuid, way_setreuid, way_setresuid, way_setgid, way_setresgid,
		way_setgroups, way_initgroups,
		way_setfsuid, way_raw_setuid, way_raw_setgroups, way_keep, way_capset, way_bounds,
		way_no_new,
		way_prctl_filter, way_filter, way_filter_all, way_landlock, way_root, way_limits,
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		in_a_child(ways[i], 1);
	in_a_child(way_instruction, 0);
	for (space = 0; space < (int)(sizeof(spaces) / sizeof(spaces[0])); space++) {
		in_a_child(way_unshare, 1);
		in_a_child(way_raw_unshare, 1);
		if (space < 8)
			in_a_child(way_setns, 1);
	}
	return 5;
}

/* ---- Functions are switched while it runs ---- */

void before_the_drop(void);
void after_the_drop(void);
APART void before_the_drop(void) { __asm__ volatile(""); }
APART void after_the_drop(void) { __asm__ volatile(""); }

static void child_call(void)
{
	const pid_t pid = fork();

	if (pid) {
		waitpid(pid, NULL, 0);
		return;
	}
	before_the_drop();
	after_the_drop();
	_exit(0);
}

static int switched(void)
{
	char line[16];

	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "drop\n"))
			printf("dropped: %d\n", setgroups(0, NULL) |
							setresgid(65534, 65534, 65534) |
							setresuid(65534, 65534, 65534));
		else if (!strcmp(line, "away\n"))
			printf("away: %d\n", unshare(CLONE_NEWUSER | CLONE_NEWPID));
		else if (!strcmp(line, "child\n"))
			child_call();
		else if (!strcmp(line, "before\n"))
			before_the_drop();
		else
			after_the_drop();
		printf("%s", line);
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	return argc == 2 && !strcmp(argv[1], "switch") ? switched() : try_all();
}
