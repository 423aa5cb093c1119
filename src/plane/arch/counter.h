/* SPDX-License-Identifier: MIT */
/*
 * counter.h - the processor's time stamp counter and the system call for clocks
 *
 * Each architecture has counter_read(), counter_constant() and clock_system(); a port writes these
 * three.
 */
#ifndef TRACEFUSE_PLANE_ARCH_COUNTER_H
#define TRACEFUSE_PLANE_ARCH_COUNTER_H

#if defined(__x86_64__)
#include "plane/arch/x86_64/counter.h"
#else
#error "no time stamp counter for this architecture"
#endif

#endif
