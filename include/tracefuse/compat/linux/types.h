/* SPDX-License-Identifier: MIT */
/*
 * linux/types.h - the kernel's names of types, in addition to those that it offers to programs
 */
#ifdef __GNUC__
#pragma GCC system_header
#endif

#include_next <linux/types.h>

#ifndef TRACEFUSE_COMPAT_TYPES_H
#define TRACEFUSE_COMPAT_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef unsigned int gfp_t;
typedef uint64_t sector_t;
typedef unsigned short umode_t;

#ifndef TASK_COMM_LEN
#define TASK_COMM_LEN 16
#endif
#ifndef __user
#define __user
#endif
#ifndef __force
#define __force
#endif
#ifndef __rcu
#define __rcu
#endif

#endif
