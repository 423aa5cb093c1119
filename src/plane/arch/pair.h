/* SPDX-License-Identifier: MIT */
/*
 * pair.h - two words that change together
 *
 *     pair_swap(pair, seen, a, b):
 *         atomically { if pair == seen: pair = {a, b}; true   else: seen = pair; false }
 *
 * A pair is 16 bytes, aligned to that. It orders as a sequentially consistent
 * compare-and-swap does.
 */
#ifndef TRACEFUSE_PLANE_ARCH_PAIR_H
#define TRACEFUSE_PLANE_ARCH_PAIR_H

#if defined(__x86_64__)
#include "plane/arch/x86_64/pair.h"
#else
#error "no compare-and-swap of two words for this architecture"
#endif

#endif
