/* SPDX-License-Identifier: MIT */
/* linux/stringify.h - for event headers that were written for the kernel */
#ifdef __GNUC__
#pragma GCC system_header
#endif

#ifndef TRACEFUSE_COMPAT_STRINGIFY_H
#define TRACEFUSE_COMPAT_STRINGIFY_H

#define __stringify_1(x...) #x
#define __stringify(x...) __stringify_1(x)

#endif
