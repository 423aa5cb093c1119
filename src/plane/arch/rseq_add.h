/* SPDX-License-Identifier: MIT */
/*
 * rseq_add.h - adding to a per-CPU word without an atomic instruction (R16)
 *
 *     again: cpu = rseq.cpu_id_start
 *            section { if rseq.cpu_id != cpu goto again; base[cpu * stride] += v }
 *
 * rseq_add() is false when the thread has no restartable sequences or its CPU
 * has no column; nothing was added then.
 */
#ifndef TRACEFUSE_PLANE_ARCH_RSEQ_ADD_H
#define TRACEFUSE_PLANE_ARCH_RSEQ_ADD_H

#if defined(__x86_64__)
#include "plane/arch/x86_64/rseq_add.h"
#else
#error "no restartable sequences for this architecture"
#endif

#endif
