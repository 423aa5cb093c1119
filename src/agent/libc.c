/* SPDX-License-Identifier: MIT */
/* libc.c - see libc.h */
#include <string.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "agent/libc.h"
#include "agent/providers/real.h"

LIBC_FUNCTION(dl_iterate_phdr);
LIBC_FUNCTION(vsnprintf);
LIBC_FUNCTION(pthread_key_create);
LIBC_FUNCTION(pthread_setspecific);
LIBC_FUNCTION(getauxval);

int libc_dl_iterate_phdr(int (*fn)(struct dl_phdr_info *info, size_t size, void *arg), void *arg)
{
	return REAL(dl_iterate_phdr)(fn, arg);
}

int libc_vsnprintf(char *out, size_t size, const char *format, va_list args)
{
	return REAL(vsnprintf)(out, size, format, args);
}

int libc_pthread_key_create(pthread_key_t *key, void (*end)(void *value))
{
	return REAL(pthread_key_create)(key, end);
}

int libc_pthread_setspecific(pthread_key_t key, const void *value)
{
	return REAL(pthread_setspecific)(key, value);
}

unsigned long libc_getauxval(unsigned long type)
{
	return REAL(getauxval)(type);
}

const char *libc_getenv(const char *name)
{
	const size_t len = strlen(name);

	for (char **at = environ; at && *at; at++)
		if (!strncmp(*at, name, len) && (*at)[len] == '=')
			return *at + len + 1;
	return NULL;
}
