/* SPDX-License-Identifier: MIT */
/*
 * emit.S - x86-64: the short way of a hit, from the event to the ring (way.c)
 *
 *     event_emit(event, record, size, frame):
 *         agent_emit(agent_self.thread, event->id, record, size, frame)
 *
 *     agent_emit(thread, id, record, size, frame):
 *         slot = thread->slot, way = &thread->ways[id % AGENT_WAYS]
 *         if thread or slot is none, way->event != id, no_rseq, in a handler,
 *            slot->depth is not 0, size is no multiple of 4 from 12 to 112 -> emit_long
 *         thread->frame[0] = stack pointer                             (E2)
 *         slot->depth = 1                                              (H1)
 *         if way->seen is not of the entry and of config->epoch        -> leave  (W3)
 *         if tracing_on or live of the instance is not the way's       -> leave
 *         time = now()
 *         section {                                                    ring_commit_short()
 *             if rseq->cpu_id != ring->cpu                             -> leave
 *             head = ring->head
 *             if the record does not go behind the last one, into the
 *                same page, with a plain delta: ring.c, aim()          -> leave
 *             header, record with its common fields, the other tail   (its type is the way's)
 *             ring->head = ...                                         (commit)
 *         }
 *         slot->depth = 0
 *
 *     leave, and after an abort of the section:
 *         slot->depth = 0; emit_long(thread, id, record, size, frame)
 *
 *     agent_count(thread, id, record, size):
 *         count_way (short.h) of a record of which only `size` bytes are there -> return 1; else 0
 *
 *     emit_timed(thread, id, record, size, counter):
 *         the same with the time of a reading of emit_counter()
 *         where the others leave                                       -> return 0
 *         return 1
 *
 *     emit_try(thread, id, record, size, time, mask):
 *         the same with a record of 20, 24 or 48 bytes which was stored in words of 8 (the last one
 *         may have 4)
 *         if way->bit is not in mask, or where the others leave        -> return 0
 *         *time = time, which may lie in the record
 *         return way->bit
 *
 * Functions and their returns have their own copies of it (entry.S, graph.S). A call
 * reads the counter before it looks at its site, if the thread's last call went the
 * short way; a return reads it once the thread is known. Most looks then run in the
 * counter's shadow, and none waits for another one in front of the reading.
 *
 * This is what hit_plain() does with a plan of the kind PLAN_RECORD. It is in
 * assembly to be short: the counter alone takes 35 cycles, in whose shadow 60
 * instructions are free, and each further dozen costs a nanosecond. (On AMD; on
 * Intel none are free, see docs/benchmarks.md.) Branches
 * cost most, one a cycle, and a store to another cache line before the counter
 * costs up to 2 ns: so the section begins behind the counter. If others record
 * between the two, time is before the time of the last record: no plain delta.
 *
 * No register is saved and the stack pointer stays, so that the guard (guard.c) can
 * leave this code from any instruction: it goes to emit_short_left. Values without a
 * register are below the stack pointer, where signals leave 128 bytes alone.
 *
 * The record is copied in words of 4 bytes: a load that is wider than the stores
 * before it waits until they are in the cache. Others may write the ring's cpu, but
 * at worst a record goes into a wrong ring.
 */
#include "agent/x86_64/short.h"

	.text
	.balign	64
	.globl	emit_short_begin
	.hidden	emit_short_begin
emit_short_begin:

	.globl	event_emit
	.hidden	event_emit
	.type	event_emit, @function
event_emit:
	.cfi_startproc
	movq	agent_self@gottpoff(%rip), %rax
	movq	%rcx, %r8
	movl	%edx, %ecx
	movq	%rsi, %rdx
	movl	EVENT_ID(%rdi), %esi
	movq	%fs:(%rax), %rdi
	testq	%rdi, %rdi
	je	.Lshort_count_no_plain
	short_way plain, PLAIN
	.cfi_endproc
	.size	event_emit, . - event_emit

	.globl	agent_emit
	.type	agent_emit, @function
	.balign	16
agent_emit:
	.cfi_startproc
	movl	%esi, %esi
	movl	%ecx, %ecx
	jmp	.Lshort_begin_plain
	.cfi_endproc
	.size	agent_emit, . - agent_emit

	/* Here, so that the guard leads a thread on that may not read the counter. */
	.globl	emit_counter
	.hidden	emit_counter
	.type	emit_counter, @function
	.balign	16
emit_counter:
	.cfi_startproc
	rdtsc
	shlq	$32, %rdx
	orq	%rdx, %rax
	ret
	.cfi_endproc
	.size	emit_counter, . - emit_counter

	.globl	emit_timed
	.hidden	emit_timed
	.type	emit_timed, @function
	.balign	16
emit_timed:
	.cfi_startproc
	movl	%esi, %esi
	movl	%ecx, %ecx
	short_way timed, TIMED
	.cfi_endproc
	.size	emit_timed, . - emit_timed

	.globl	agent_count
	.type	agent_count, @function
	.balign	32
agent_count:
	.cfi_startproc
	count_way some, SOME
	movl	$1, %eax
	ret
	count_way_left some, SOME
	.cfi_endproc
	.size	agent_count, . - agent_count

	.globl	emit_try
	.hidden	emit_try
	.type	emit_try, @function
	.balign	64
emit_try:
	.cfi_startproc
	movl	%esi, %esi
	movl	%ecx, %ecx
	short_way try, TRY
	.globl	emit_short_left
	.hidden	emit_short_left
emit_short_left:
	ret
	.cfi_endproc
	.size	emit_try, . - emit_try

	.globl	emit_short_end
	.hidden	emit_short_end
emit_short_end:

	.section .note.GNU-stack, "", @progbits
