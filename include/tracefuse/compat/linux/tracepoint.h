/* SPDX-License-Identifier: MIT */
/* linux/tracepoint.h - for event headers that were written for the kernel */
#ifdef __GNUC__
#pragma GCC system_header
#endif

#include <linux/string.h>
#include <linux/types.h>
#include <tracefuse/event.h>
