/* SPDX-License-Identifier: MIT */
/* apart.h - an attribute for functions that the compiler must neither inline nor clone */
#ifndef TRACEFUSE_TESTS_APART_H
#define TRACEFUSE_TESTS_APART_H

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

/* The same, and the compiler may not look at what the function does with its arguments. */
#ifdef __clang__
#define APART_WHOLE __attribute__((noinline, optnone))
#else
#define APART_WHOLE __attribute__((noinline, noclone, noipa))
#endif

#endif
