/* SPDX-License-Identifier: MIT */
/*
 * syscalls.c - names of system calls by the numbers of the traced machine, as the events of system
 * syscalls have them
 */
#include <stddef.h>

#include "model/syscalls.h"

struct numbered {
	unsigned int	nr;
	const char	*name;
};

static const struct numbered x86_64[] = {
#define SYSCALL(nr, name, args) { nr, "sys_" #name },
#include "agent/x86_64/syscalls.h"
#undef SYSCALL
};

static const struct numbered generic[] = {
#define SYSCALL(nr, name) { nr, "sys_" #name },
#include "model/syscalls_generic.h"
#undef SYSCALL
};

static const char *find_number(const struct numbered *v, size_t n, uint64_t nr)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (v[mid].nr == nr)
			return v[mid].name;
		if (v[mid].nr < nr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

const char *model_syscall_name(const struct event *e, uint64_t nr)
{
	switch (e->machine.calls) {
	case CALLS_X86_64:
		return find_number(x86_64, sizeof(x86_64) / sizeof(x86_64[0]), nr);
	case CALLS_GENERIC:
		return find_number(generic, sizeof(generic) / sizeof(generic[0]), nr);
	default:
		return NULL;
	}
}
