/* SPDX-License-Identifier: MIT */
/*
 * guarded.h - hits that can be left when the memory under them is gone (guard.c)
 *
 * Included by the C files of src/agent only.
 */
#ifndef TRACEFUSE_AGENT_THREAD_GUARDED_H
#define TRACEFUSE_AGENT_THREAD_GUARDED_H

#include "plane/plane.h"

/*
 * As the functions of plane.h. While they run *resume has the place where the guard continues; its
 * old value is restored afterwards.
 */
uint64_t guarded_hit(const struct plane *p, struct slot *slot, const struct hit *h,
		     uintptr_t *resume);
enum hit_plain guarded_hit_plain(const struct plane *p, struct slot *slot, const void *record,
				 uint32_t size, uint64_t where, uintptr_t *resume);
/*
 * Both return from here. The guard goes here with *resume as the stack pointer, and a result. It is
 * not a function.
 */
void guarded_left(void);

#endif
