/* SPDX-License-Identifier: MIT */
/*
 * syscalls.c - names of x86-64 system calls, as the events of system syscalls have them
 */
#include <stddef.h>

#include "model/hist/hist.h"

static const struct {
	unsigned int	nr;
	const char	*name;
} syscalls[] = {
#define SYSCALL(nr, name, args) { nr, "sys_" #name },
#include "agent/x86_64/syscalls.h"
#undef SYSCALL
};

const char *hist_syscall_name(uint64_t nr)
{
	size_t lo = 0, hi = sizeof(syscalls) / sizeof(syscalls[0]);

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (syscalls[mid].nr == nr)
			return syscalls[mid].name;
		if (syscalls[mid].nr < nr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}
