/* SPDX-License-Identifier: MIT */
/*
 * libc.h - functions of libc that the agent calls: libc's, not those of the program or of a library
 * before libc that have the same names (bytes.c says why)
 *
 * Each does what libc's does. The first call searches (providers/real.h).
 */
#ifndef TRACEFUSE_AGENT_LIBC_H
#define TRACEFUSE_AGENT_LIBC_H

#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>

/* None is called often: they are small. */
#define LIBC_CALL __attribute__((cold))

LIBC_CALL int libc_dl_iterate_phdr(int (*fn)(struct dl_phdr_info *info, size_t size, void *arg),
				   void *arg);
LIBC_CALL int libc_vsnprintf(char *out, size_t size, const char *format, va_list args);
LIBC_CALL int libc_pthread_key_create(pthread_key_t *key, void (*end)(void *value));
LIBC_CALL int libc_pthread_setspecific(pthread_key_t key, const void *value);
LIBC_CALL unsigned long libc_getauxval(unsigned long type);
/* The value, in the program's environment; NULL: none. Makes no call. */
LIBC_CALL const char *libc_getenv(const char *name);

#endif
