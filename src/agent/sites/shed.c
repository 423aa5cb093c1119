/* SPDX-License-Identifier: MIT */
/*
 * shed.c - the agent's task gives up all rights that it does not need, before the program goes on
 * (S5 in task.c)
 *
 *     capabilities     none; it cannot execute files, so its bounding set means nothing
 *     descriptors      a table of its own with one: its process's stat in /proc, for the end (S4)
 *     system calls     those below: they wait, and change the process's own memory
 *
 * If a program gives up rights, a thread that still had them would be a way around that: an
 * attacker who controls the program can write into the memory of all of its threads. This thread
 * has no rights that could be taken over. So the ways in which the program gives up its rights do
 * not matter, nor that the task does not follow.
 *
 * Kernels before 5.9 have no close_range(): there the task shares the descriptors, and may open and
 * read.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include "agent/sites/state.h"
#include "agent/syscall.h"

#if defined(__x86_64__)
#define SHED_ARCH AUDIT_ARCH_X86_64
#endif

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#endif

/* ---- System calls ---- */

enum { REFUSE = SECCOMP_RET_ERRNO | EPERM, MOST = 64 };

struct filter {
	struct sock_filter code[MOST];
	unsigned short	nr;
};

static void add(struct filter *f, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	f->code[f->nr++] = (struct sock_filter)BPF_JUMP(code, k, yes, no);
}

static void load(struct filter *f, uint32_t offset)
{
	add(f, BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
}

static void answer(struct filter *f, uint32_t action)
{
	add(f, BPF_RET | BPF_K, action, 0, 0);
}

static void permit(struct filter *f, uint32_t call)
{
	add(f, BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
	answer(f, SECCOMP_RET_ALLOW);
}

/* test: BPF_JEQ or BPF_JSET, on the low half of argument number arg. */
static void permit_if(struct filter *f, uint32_t call, unsigned int arg, uint16_t test,
		      uint32_t value)
{
	add(f, BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4);
	load(f, offsetof(struct seccomp_data, args) + arg * sizeof(uint64_t));
	add(f, BPF_JMP | test | BPF_K, value, 0, 1);
	answer(f, SECCOMP_RET_ALLOW);
	answer(f, REFUSE);
}

static void filter_fill(struct filter *f, bool own_files)
{
	static const uint16_t calls[] = {
		/* To wait, and to end (S4). */
		SYS_futex, SYS_restart_syscall, SYS_exit, SYS_getpid, SYS_gettid, SYS_pread64,
		/* To switch. */
		SYS_mprotect, SYS_membarrier, SYS_mremap, SYS_madvise, SYS_munmap, SYS_mincore,
		/* For the guard, if the session's memory is damaged. */
		SYS_rt_sigreturn, SYS_rt_sigaction, SYS_munlock,
	};

	load(f, offsetof(struct seccomp_data, arch));
	add(f, BPF_JMP | BPF_JEQ | BPF_K, SHED_ARCH, 1, 0);
	answer(f, REFUSE);
	load(f, offsetof(struct seccomp_data, nr));
	for (unsigned int i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		permit(f, calls[i]);
	permit_if(f, SYS_mmap, 3, BPF_JSET, MAP_ANONYMOUS);
	permit_if(f, SYS_tgkill, 0, BPF_JEQ, (uint32_t)agent_syscall(SYS_getpid));
	if (!own_files) {
		permit(f, SYS_openat);
		permit(f, SYS_close);
	}
	answer(f, REFUSE);
}

/*
 * A kernel without filters: without root's rights the task can do no more than the program itself
 * could after it has given up its rights. With root's it could.
 */
static int unfiltered(long err)
{
	return (err == -ENOSYS || err == -EINVAL) && agent_syscall(SYS_geteuid) ? 0 : (int)err;
}

/* *filtered: the calls are refused from now on. */
static __attribute__((cold)) int calls_shed(bool own_files, bool *filtered)
{
	struct filter f = { .nr = 0 };
	struct sock_fprog prog;
	long err;

	filter_fill(&f, own_files);
	prog = (struct sock_fprog){ f.nr, f.code };
	agent_syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	err = agent_syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog);
	*filtered = !err;
	return err ? unfiltered(err) : 0;
}

/* ---- The rest ---- */

static int capabilities_shed(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	/*
	 * Drops each capability that exists, if it may. That takes forty calls, so it happens only
	 * in programs that do the same.
	 */
	for (long cap = 0;
	     sites.unbound && !agent_syscall(SYS_prctl, PR_CAPBSET_DROP, cap, 0, 0, 0); cap++)
		;
	return (int)agent_syscall(SYS_capset, &head, none);
}

int task_stat_open(void)
{
	return (int)agent_syscall(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC);
}

int task_shed(int *stat_fd)
{
	bool own_files = !agent_syscall(SYS_close_range, 0, -1ul >> 32, CLOSE_RANGE_UNSHARE);
	bool filtered;
	int err, capabilities;

	*stat_fd = own_files ? task_stat_open() : -1;
	capabilities = capabilities_shed();
	err = calls_shed(own_files, &filtered);
	/*
	 * Many services have a filter that refuses capset() (systemd's @privileged). None of the
	 * calls that stay needs a capability.
	 */
	return err ? err : filtered ? 0 : capabilities;
}
