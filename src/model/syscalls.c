/* SPDX-License-Identifier: MIT */
/*
 * syscalls.c - names of system calls by the numbers of the traced machine, as the events of system
 * syscalls have them
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "model/syscalls.h"

/* Events of a kernel that lists all its calls; a recording may have some of them only. */
enum { CALLS_LISTED = 256, CALL_NAME_MOST = 64 };

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

static bool lists_all(struct model *m)
{
	const struct system *sys = model_find_system(m, "syscalls");
	const struct event *e;
	unsigned int nr = 0;

	if (sys)
		list_each(e, &sys->events, node)
			nr += !strncmp(e->name, "sys_enter_", strlen("sys_enter_"));
	return nr >= CALLS_LISTED;
}

/* A kernel knows the names of those calls only that it was built with: these have events. */
static bool is_built(const struct event *e, const char *name)
{
	char event[CALL_NAME_MOST];

	snprintf(event, sizeof(event), "sys_enter_%s", name + strlen("sys_"));
	return model_find_event(e->model, "syscalls", event) || !lists_all(e->model);
}

const char *model_syscall_name(const struct event *e, uint64_t nr)
{
	const char *name = NULL;

	if (e->machine.calls == CALLS_X86_64)
		name = find_number(x86_64, sizeof(x86_64) / sizeof(x86_64[0]), nr);
	else if (e->machine.calls == CALLS_GENERIC)
		name = find_number(generic, sizeof(generic) / sizeof(generic[0]), nr);
	return name && is_built(e, name) ? name : NULL;
}
