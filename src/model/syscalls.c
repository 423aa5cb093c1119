/* SPDX-License-Identifier: MIT */
/*
 * syscalls.c - names of system calls by the numbers of the traced machine, as the events of system
 * syscalls have them
 */
#include <stdlib.h>

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

static int compare_number(const void *nr, const void *call)
{
	const uint64_t a = *(const uint64_t *)nr, b = ((const struct numbered *)call)->nr;

	return a < b ? -1 : a > b;
}

static const char *find_number(const struct numbered *v, size_t n, uint64_t nr)
{
	const struct numbered *found = bsearch(&nr, v, n, sizeof(*v), compare_number);

	return found ? found->name : NULL;
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
