/* SPDX-License-Identifier: MIT */
/*
 * graph_callers_wrapper.c - an object between a function that ends in a jump and dlsym()
 */
#include <dlfcn.h>
#include "graph_callers.h"

void *wrapper(void *handle, const char *name)
{
	return dlsym(handle, name);
}
