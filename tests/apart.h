/* SPDX-License-Identifier: MIT */
/*
 * apart.h - a function that stays one: it is neither inlined nor copied for some of its callers
 */
#ifndef TRACEFUSE_TESTS_APART_H
#define TRACEFUSE_TESTS_APART_H

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

#endif
