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
 *         if config->fence or config->epoch != way->epoch              -> leave
 *         slot->epoch = config->epoch
 *         if the instance's switches are not the way's, the ring is
 *            disabled                                                  -> leave
 *         head = ring->head; time = now()                              (G4)
 *         if the record does not go behind the last one, into the same page,
 *            with a plain delta: ring.c, aim()                         -> leave
 *         section {                                                    ring_commit_short()
 *             if rseq->cpu_id != ring->cpu or ring->head != head       -> leave
 *             header, record with its common fields, the other tail   (its type is the way's)
 *             ring->head = ...                                         (commit)
 *         }
 *         slot->depth = 0
 *
 *     leave, and after an abort of the section:
 *         slot->depth = 0; emit_long(thread, id, record, size, frame)
 *
 *     emit_try(thread, id, record, size, time, mask):
 *         the same with a record of 20, 24 or 48 bytes which was stored in words of 8 (the last one may have 4)
 *         if way->bit is not in mask, or where the others leave        -> return 0
 *         *time = time, which may lie in the record
 *         return way->bit
 *
 * This is what hit_plain() does with a plan of the shape PLAN_RECORD. It is in
 * assembly to be short: the counter alone takes 35 cycles, in whose shadow 60
 * instructions are free, and each further dozen costs a nanosecond.
 *
 * No register is saved and the stack pointer stays, so that whoever has to leave
 * it (guard.c) goes to emit_short_left, from any instruction. What has no
 * register lies below the stack pointer, where signals leave 128 bytes alone.
 *
 * The record is copied in words of 4 bytes: a load that is wider than the stores
 * that filled it waits until they have gone to the cache. cpu of the ring is
 * what others may write, but at worst a record goes into a ring of nonsense.
 */
#include "agent/x86_64/emit.h"

#define RECORD	-8(%rsp)
#define FRAME	-16(%rsp)
#define THREAD	-24(%rsp)
#define SLOT	-32(%rsp)
#define HEADER	-36(%rsp)
#define ENTRY	-40(%rsp)
#define BIT	-48(%rsp)

#define SIGNALS_OR_NO_RSEQ 0x0800ff	/* AGENT_HANDLER, no_rseq */

	.macro	short_way name, try
.Lbegin_\name:
	movl	%esi, %r10d
	andl	$WAY_MASK, %r10d
	shll	$WAY_SHIFT, %r10d
	leaq	THREAD_WAYS(%rdi, %r10), %r10
	cmpl	%esi, WAY_EVENT(%r10)
	jne	.Llong_\name
	.if	\try
	movq	WAY_BIT(%r10), %rax
	testq	%r9, %rax
	je	.Llong_\name
	movq	%rax, BIT
	.endif
	movq	THREAD_WORD(%rdi), %rax
	movq	THREAD_SLOT(%rdi), %r9
	.ifeq	\try
	leal	-12(%rcx), %r11d
	rorl	$2, %r11d
	.endif
	testl	$SIGNALS_OR_NO_RSEQ, %eax
	jne	.Llong_\name
	testq	%r9, %r9
	je	.Llong_\name
	.ifeq	\try
	cmpl	$(112 - 12) / 4, %r11d
	ja	.Llong_\name
	.endif
	cmpl	$0, SLOT_DEPTH(%r9)
	jne	.Llong_\name
	movq	%rsp, THREAD_FRAME(%rdi)
	movl	$1, SLOT_DEPTH(%r9)
	/* H1: the load of epoch follows; the rest is the server's membarrier. */
	movq	agent + PLANE_CONFIG(%rip), %r11
	.ifeq	\try
	movl	%esi, ENTRY
	movq	%rdi, THREAD
	.endif
	movl	WAY_TYPE(%r10), %esi
	orq	%rax, %rsi			/* the record's common fields */
	movq	%rdx, RECORD
	movq	%r8, FRAME
	movq	%r9, SLOT
	cmpl	$0, CONFIG_FENCE(%r11)
	jne	.Lleave_\name
	movq	CONFIG_EPOCH(%r11), %rdx
	cmpq	WAY_EPOCH(%r10), %rdx
	jne	.Lleave_\name
	movq	%rdx, SLOT_EPOCH(%r9)
	movq	WAY_INST(%r10), %rdi
	movq	WAY_RING(%r10), %r8
	movq	INST_ON(%rdi), %rax
	cmpq	WAY_ON(%r10), %rax
	jne	.Lleave_\name
	movq	INST_FLAGS(%rdi), %rdx
	cmpq	WAY_FLAGS(%r10), %rdx
	jne	.Lleave_\name
	cmpl	$0, RING_DISABLED(%r8)
	jne	.Lleave_\name

	movq	RING_HEAD(%r8), %r9
	movq	RING_PAGE_END(%r8), %rax
	movq	%r9, %r11
	shrq	%r11				/* the position */
	leaq	4(%rcx), %rdx
	subq	%r11, %rax			/* what is left of the page */
	cmpq	%rdx, %rax
	jb	.Lleave_\name
	cmpq	WAY_SUBBUF(%r10), %rax
	jae	.Lleave_\name
	addq	RING_BASE(%r8), %r11
	andq	agent + PLANE_MASK(%rip), %r11
	addq	agent + PLANE_DATA(%rip), %r11	/* where the header goes */

	movl	%r9d, %edi
	andl	$1, %edi
	shll	$4, %edi
	addq	%r8, %rdi			/* + RING_TAIL_TIME: the last record's tail */
	rdtsc					/* G4 */
	shlq	$32, %rdx
	orq	%rdx, %rax
	mulq	WAY_MULT(%r10)
	addq	WAY_OFFSET(%r10), %rdx		/* now */
	.if	\try
	movq	FRAME, %rax
	movq	%rdx, (%rax)
	.endif
	movq	%rdx, %rax
	subq	RING_TAIL_TIME(%rdi), %rax
	cmpq	$(1 << 27) - 1, %rax
	ja	.Lleave_\name
	shlq	$7, %rax
	addq	%rcx, %rax
	shrq	$2, %rax			/* delta << 5 | size / 4 */
	movl	%eax, HEADER

	movq	WAY_RSEQ(%r10), %r10
	leaq	.Lsection_\name(%rip), %rax
	movq	%rax, RSEQ_CS(%r10)
.Lfirst_\name:
	movl	RING_CPU(%r8), %eax
	cmpl	%eax, RSEQ_CPU(%r10)
	jne	.Lleave_\name
	cmpq	%r9, RING_HEAD(%r8)
	jne	.Lleave_\name
	movl	HEADER, %eax
	movl	%eax, (%r11)
	movq	%rsi, 4(%r11)
	movq	RING_TAIL_ENTRIES(%rdi), %rax
	xorq	$RING_TAIL_SIZE, %rdi
	incq	%rax
	movq	%rdx, RING_TAIL_TIME(%rdi)
	movq	%rax, RING_TAIL_ENTRIES(%rdi)
	leaq	8(%r9, %rcx, 2), %r9		/* a position is twice in head */
	xorq	$1, %r9
	movq	RECORD, %r10
	.if	\try
	movq	8(%r10), %rax
	cmpl	$24, %ecx
	movq	%rax, 12(%r11)
	jb	2f
	movq	16(%r10), %rax
	movq	%rax, 20(%r11)
	je	3f
	movq	24(%r10), %rax
	movq	32(%r10), %rdi
	movq	%rax, 28(%r11)
	movq	40(%r10), %rax
	movq	%rdi, 36(%r11)
	movq	%rax, 44(%r11)
	jmp	3f
2:
	movl	16(%r10), %eax
	movl	%eax, 20(%r11)
	.else
	/* The words behind the common fields: the first, then two at a time. */
	movl	%ecx, %edx
	testb	$4, %cl
	je	2f
	subl	$4, %edx
	movl	(%r10, %rdx), %eax
	movl	%eax, 4(%r11, %rdx)
	cmpl	$8, %edx
	je	3f
2:
	movl	-4(%r10, %rdx), %eax
	movl	-8(%r10, %rdx), %edi
	movl	%eax, (%r11, %rdx)
	movl	%edi, -4(%r11, %rdx)
	subl	$8, %edx
	cmpl	$8, %edx
	ja	2b
	.endif
3:
	movq	%r9, RING_HEAD(%r8)		/* the commit, G3 */
.Llast_\name:
	movq	SLOT, %rax
	movl	$0, SLOT_DEPTH(%rax)
	.if	\try
	movq	BIT, %rax
	.endif
	ret

	.byte	0x0f, 0xb9, 0x3d		/* the signature: rseq.h */
	.long	0x53053053
.Labort_\name:
.Lleave_\name:
	movq	SLOT, %r9
	.ifeq	\try
	movq	THREAD, %rdi
	movl	ENTRY, %esi
	movq	RECORD, %rdx
	movq	FRAME, %r8
	.endif
	movl	$0, SLOT_DEPTH(%r9)
.Llong_\name:
	.if	\try
	xorl	%eax, %eax
	ret
	.else
	jmp	emit_long
	.endif

	/* struct rseq_cs: version and flags, start, length, where an abort goes. */
	.pushsection __rseq_cs, "aw"
	.balign	32
.Lsection_\name:
	.long	0, 0
	.quad	.Lfirst_\name, .Llast_\name - .Lfirst_\name, .Labort_\name
	.popsection
	.endm

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
	je	.Llong_plain
	short_way plain, 0
	.cfi_endproc
	.size	event_emit, . - event_emit

	.globl	agent_emit
	.type	agent_emit, @function
	.balign	16
agent_emit:
	.cfi_startproc
	movl	%esi, %esi
	movl	%ecx, %ecx
	jmp	.Lbegin_plain
	.cfi_endproc
	.size	agent_emit, . - agent_emit

	.globl	emit_try
	.hidden	emit_try
	.type	emit_try, @function
	.balign	64
emit_try:
	.cfi_startproc
	movl	%esi, %esi
	movl	%ecx, %ecx
	short_way try, 1
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
