/* SPDX-License-Identifier: MIT */
/*
 * fence.h - fence_full(): the stores before it come before the loads behind it
 *
 * It is called in two places, which pair with each other: hit_enter() and limbo_barrier(). Not
 * atomic_thread_fence(), which the thread sanitizer refuses.
 */
#ifndef TRACEFUSE_PLANE_ARCH_FENCE_H
#define TRACEFUSE_PLANE_ARCH_FENCE_H

#if defined(__x86_64__)
static inline void fence_full(void)
{
	__asm__ __volatile__("lock orq $0, (%%rsp)" : : : "memory", "cc");
}
#else
#error "no fence for this architecture"
#endif

#endif
