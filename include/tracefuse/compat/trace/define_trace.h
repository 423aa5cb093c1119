/* SPDX-License-Identifier: MIT */
/* trace/define_trace.h - for event headers that were written for the kernel */
#ifdef __GNUC__
#pragma GCC system_header
#endif

#include <tracefuse/define_trace.h>
