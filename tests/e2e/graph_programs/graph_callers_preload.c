/* SPDX-License-Identifier: MIT */
/*
 * graph_callers_preload.c - a preloaded object with a dlsym() of its own, which ends in a jump to
 * libc's
 */
#include <dlfcn.h>

typedef void *sym_function(void *handle, const char *name);

void *dlsym(void *handle, const char *name)
{
	static sym_function *real;

	if (!real)
		real = (sym_function *)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	return real(handle, name);
}
