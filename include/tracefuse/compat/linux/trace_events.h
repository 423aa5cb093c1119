/* SPDX-License-Identifier: MIT */
/* linux/trace_events.h - for event headers that were written for the kernel */
#ifdef __GNUC__
#pragma GCC system_header
#endif

#include <linux/tracepoint.h>
