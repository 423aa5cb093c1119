/* SPDX-License-Identifier: MIT */
/* apart.h - an attribute for functions that the compiler must neither inline nor clone */
#ifndef TRACEFUSE_TESTS_APART_H
#define TRACEFUSE_TESTS_APART_H

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

#endif
