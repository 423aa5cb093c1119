/* SPDX-License-Identifier: MIT */
/*
 * dl.c - dlclose(): addresses that were looked up may belong to nobody now, or to another
 *
 * dlopen() is not interposed: the linker looks at its caller (RUNPATH, name space). Where
 * agent/sites/watch.c sees what the linker does, it has said so before dlclose() returns.
 */
#include <dlfcn.h>
#include "agent/providers/hooks.h"

REAL_FUNCTION(dlclose);

INTERPOSE int dlclose(void *handle)
{
	int r = REAL(dlclose)(handle);

	agent_dso_closed();
	return r;
}
