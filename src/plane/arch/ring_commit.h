/* SPDX-License-Identifier: MIT */
/*
 * ring_commit.h - making the stores of a commit, and its restartable form (R13)
 *
 *     ring_commit_rseq(c, cpu):
 *         section {
 *             if rseq.cpu_id != cpu            -> false
 *             if *c.head_at != c.head          -> false
 *             for s in c.stores: *s.at = s.value
 *             copy c.words words and c.bytes bytes from c.src to c.dst
 *             *c.head_at = c.next_head                                   (commit)
 *         }
 *         true
 *
 *     ring_commit_short(plane, ring, time, record, size):
 *         section {
 *             if rseq.cpu_id != ring.cpu       -> false
 *             if the record does not go behind the last one, into the same page, with a plain
 *                delta: aim() of ring.c                                          -> false
 *             header, record, the other tail
 *             ring.head = ...                                            (commit)
 *         }
 *         true
 *
 *         The size is what is_short() of ring.c takes. The record is copied in words of 4 bytes: a
 *         load that is wider than the stores before it waits until they are in the cache.
 *
 * An abort (the thread was preempted, migrated or got a signal) returns false. The caller then
 * reads head and time again.
 *
 * rseq_cpu() is the CPU that the thread runs on; it is negative without restartable sequences.
 *
 * The thread sanitizer cannot see the accesses of a section. tests/stress/ring.c checks every byte
 * of the records instead.
 */
#ifndef TRACEFUSE_PLANE_ARCH_RING_COMMIT_H
#define TRACEFUSE_PLANE_ARCH_RING_COMMIT_H

#include "plane/ring/commit.h"

#if defined(__x86_64__)
#include "plane/arch/x86_64/ring_commit.h"
#else
#error "no restartable sequences for this architecture"
#endif

/* The same without a section, for the only writer of a ring. The caller stores head. */
static inline void ring_commit_stores(const struct ring_commit *c)
{
	/*
	 * Some are not aligned. The compiler barrier keeps their order: a page's descriptor depends
	 * on it.
	 */
	for (uint32_t i = 0; i < c->nr_stores; i++) {
		__builtin_memcpy(c->stores[i].at, &c->stores[i].value, 8);
		__asm__ __volatile__("" : : : "memory");
	}
	for (uint32_t i = 0; i < c->words; i++)
		__builtin_memcpy(c->dst + 8 * i, c->src + 8 * i, 8);
	for (uint32_t i = 0; i < c->bytes; i++)
		c->dst[8 * c->words + i] = c->src[8 * c->words + i];
}

#endif
