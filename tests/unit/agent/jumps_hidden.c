/* SPDX-License-Identifier: MIT */
/* jumps_hidden.c - an object that exports nothing and calls dlopen() */
#include <dlfcn.h>

static __attribute__((constructor)) void jumps_hidden_open(void)
{
	dlopen("libc.so.6", RTLD_NOW);
}
