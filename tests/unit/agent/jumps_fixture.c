/* SPDX-License-Identifier: MIT */
/* jumps_fixture.c - functions that end in jumps, or do not; all have sites, and are named after what sites_jumping() is to say */
#include <dlfcn.h>
#include <stddef.h>

#define FAR __attribute__((noinline))

void *jumps_sym(const char *name);
void *jumps_chain(const char *name);
void *jumps_longer_chain(const char *name);
void *jumps_open(const char *name);
void *jumps_sometimes(const char *name, int how);
int stays_call(const char *name);
void *stays_other(void *object);
int stays_alone(int nr);

FAR void *jumps_sym(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

FAR void *jumps_chain(const char *name)
{
	return jumps_sym(name + 1);
}

FAR void *jumps_longer_chain(const char *name)
{
	return jumps_chain(name + 1);
}

FAR void *jumps_open(const char *name)
{
	return dlopen(name, RTLD_NOW);
}

FAR void *jumps_sometimes(const char *name, int how)
{
	return how == 1 ? dlopen(name, RTLD_LAZY) : how == 2 ? jumps_chain(name) : NULL;
}

FAR int stays_call(const char *name)
{
	return dlsym(RTLD_DEFAULT, name) != NULL;
}

FAR void *stays_other(void *object)
{
	return (void *)(size_t)dlclose(object);
}

FAR int stays_alone(int nr)
{
	for (int i = 0; i < nr; i++)
		nr = nr * 3 + i;
	return nr;
}
