/* SPDX-License-Identifier: MIT */
/*
 * dl.c - dlclose(): afterwards an address that was looked up may belong to no DSO, or to another
 *
 * If agent/sites/watch.c sees what the linker does, it has called agent_dso_closed() before.
 * dlopen() and its kin, which look at their caller, are in callers.c.
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
