/* SPDX-License-Identifier: MIT */
/*
 * emit.S - x86-64: the short ways of hits, from the event to the ring (way.c)
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
 *     patch_hit(), graph_leave(): a call and a return of a hooked function, likewise
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
#include "agent/x86_64/entry.h"

#define RECORD	-8(%rsp)
#define FRAME	-16(%rsp)
#define THREAD	-24(%rsp)
#define SLOT	-32(%rsp)
#define HEADER	-36(%rsp)
#define ENTRY	-40(%rsp)
#define BIT	-48(%rsp)

#define SIGNALS_OR_NO_RSEQ 0x0800ff	/* AGENT_HANDLER, no_rseq */

/* What a copy of the short way is for. */
#define PLAIN	0	/* agent_emit(): %rdi thread, %esi entry, %rdx record, %ecx size, %r8 frame */
#define TRY	1	/* emit_try(): %r8 where the time goes, %r9 mask */
#define CALLED	2	/* of a hooked function: %rdx its graph_frame, which is the record */
#define RETURNED 3	/* the same; %r8 retval */

	.macro	short_way name, kind, size=0
.Lbegin_\name:
	movl	%esi, %r10d
	andl	$WAY_MASK, %r10d
	shll	$WAY_SHIFT, %r10d
	leaq	THREAD_WAYS(%rdi, %r10), %r10
	cmpl	%esi, WAY_EVENT(%r10)
	jne	.Llong_\name
	.if	\kind != PLAIN
	movq	WAY_BIT(%r10), %rax
	.if	\kind == TRY
	testq	%r9, %rax
	.elseif	\kind == CALLED
	testq	%rax, %rax
	.else
	testq	FRAME_MASK(%rdx), %rax
	.endif
	je	.Llong_\name
	movq	%rax, BIT
	.endif
	movq	THREAD_WORD(%rdi), %rax
	movq	THREAD_SLOT(%rdi), %r9
	.if	\kind == PLAIN
	leal	-12(%rcx), %r11d
	rorl	$2, %r11d
	.endif
	testl	$SIGNALS_OR_NO_RSEQ, %eax
	jne	.Llong_\name
	testq	%r9, %r9
	je	.Llong_\name
	.if	\kind == PLAIN
	cmpl	$(112 - 12) / 4, %r11d
	ja	.Llong_\name
	.endif
	cmpl	$0, SLOT_DEPTH(%r9)
	jne	.Llong_\name
	movq	%rsp, THREAD_FRAME(%rdi)
	movl	$1, SLOT_DEPTH(%r9)
	/* H1: the load of epoch follows; the rest is the server's membarrier. */
	movq	agent + PLANE_CONFIG(%rip), %r11
	.if	\kind == PLAIN
	movl	%esi, ENTRY
	.endif
	.if	\kind != TRY
	movq	%rdi, THREAD
	.endif
	movl	WAY_TYPE(%r10), %esi
	orq	%rax, %rsi			/* the record's common fields */
	movq	%rdx, RECORD
	.if	\kind != CALLED
	movq	%r8, FRAME
	.endif
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
	.if	\size
	subq	%r11, %rax			/* what is left of the page */
	cmpq	$\size + 4, %rax
	.else
	leaq	4(%rcx), %rdx
	subq	%r11, %rax
	cmpq	%rdx, %rax
	.endif
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
	.if	\kind == TRY
	movq	FRAME, %rax
	movq	%rdx, (%rax)
	.endif
	movq	%rdx, %rax
	subq	RING_TAIL_TIME(%rdi), %rax
	cmpq	$(1 << 27) - 1, %rax
	ja	.Lleave_\name
	shlq	$7, %rax
	.if	\size
	addq	$\size, %rax
	.else
	addq	%rcx, %rax
	.endif
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
	.if	\size
	addq	$8 + 2 * \size, %r9		/* a position is twice in head */
	.else
	leaq	8(%r9, %rcx, 2), %r9
	.endif
	xorq	$1, %r9
	movq	RECORD, %r10
	.if	\kind == CALLED
	movq	FRAME_FUNC(%r10), %rax
	movl	FRAME_DEPTH(%r10), %edi
	movq	%rdx, FRAME_TIME(%r10)
	movq	%rax, 12(%r11)
	movl	%edi, 20(%r11)
	.elseif	\kind == RETURNED
	movq	FRAME_FUNC(%r10), %rax
	movl	FRAME_DEPTH(%r10), %edi
	movq	FRAME_TIME(%r10), %r10
	movq	%rax, 12(%r11)
	movq	FRAME, %rax
	movl	%edi, 28(%r11)
	movq	THREAD, %rdi
	movq	%rax, 20(%r11)
	movl	GRAPH_OVERRUN(%rdi), %eax
	movq	%r10, 36(%r11)
	movl	%eax, 32(%r11)
	movq	%rdx, 44(%r11)
	.elseif	\kind == TRY
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
	.if	\kind != PLAIN
	movq	BIT, %rax
	.endif
	.if	\kind != CALLED
	ret
	.else
	movq	RECORD, %r10
	movq	THREAD, %rdi
	leaq	8 + S(%rsp), %rdx
	movq	%rax, FRAME_MASK(%r10)
	movq	%rdx, GRAPH_TOP(%rdi)
	movl	$1, %eax			/* PATCH_HOOKED */
	ret
	.endif

	.byte	0x0f, 0xb9, 0x3d		/* the signature: rseq.h */
	.long	0x53053053
.Labort_\name:
.Lleave_\name:
	movq	SLOT, %r9
	.if	\kind == PLAIN
	movq	THREAD, %rdi
	movl	ENTRY, %esi
	movq	RECORD, %rdx
	movq	FRAME, %r8
	.endif
	movl	$0, SLOT_DEPTH(%r9)
.Llong_\name:
	.if	\kind == PLAIN
	jmp	emit_long
	.elseif	\kind == CALLED
	movq	8 + DSO(%rsp), %rdi
	movq	8 + AFTER(%rsp), %rsi
	leaq	8 + S(%rsp), %rdx
	jmp	patch_hit_long
	.else
	xorl	%eax, %eax
	ret
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
	short_way try, TRY
	.globl	emit_short_left
	.hidden	emit_short_left
emit_short_left:
	ret
	.cfi_endproc
	.size	emit_try, . - emit_try

/*
 * uint32_t patch_hit(dso, after, slot), which entry.S calls: what hook() does of a
 * function that is only hooked, on the thread's own stack, below a function
 * that is there, with no settings of the graph tracer. All else: patch_hit_long().
 */
	.globl	patch_hit
	.hidden	patch_hit
	.type	patch_hit, @function
	.balign	64
patch_hit:
	.cfi_startproc
	movq	DSO_TABLE(%rdi), %rcx
	movq	agent_self@gottpoff(%rip), %rax
	testq	%rcx, %rcx
	je	.Llong_called
	movq	%fs:(%rax), %rdi
	movq	TABLE_WORDS(%rcx), %r8
	leaq	-5(%rsi), %r9
	movq	%r9, %rax
	subq	TABLE_CODE(%rcx), %rax
	shrq	$2, %rax
	movl	(%r8, %rax, 4), %esi
	movl	%esi, %r8d
	shrl	$16, %r8d
	cmpl	$SITE_HOOKED_WORD >> 16, %r8d
	jne	.Llong_called
	testq	%rdi, %rdi
	je	.Llong_called
	movq	GRAPH_PIECE(%rdi), %r11
	movq	%rdx, %rax
	subq	GRAPH_LOW(%rdi), %rax
	cmpq	GRAPH_SIZE(%rdi), %rax
	jae	.Llong_called
	cmpb	$0, THREAD_BUSY(%rdi)
	jne	.Llong_called
	movzwl	%si, %esi
	movq	agent + PLANE_CONFIG(%rip), %r10
	movq	graph_control(%rip), %rax
	cmpq	$0, CONFIG_EVENTS(%r10, %rsi, 8)
	jne	.Llong_called			/* GROUP_FUNCTION */
	movq	(%rax), %rax
	testq	%rax, %rax
	je	1f
	cmpq	$0, (%r10, %rax)		/* struct graph_config */
	jne	.Llong_called
	cmpq	$0, 8(%r10, %rax)
	jne	.Llong_called
1:
	movq	(%rdx), %r8
	leaq	graph_returned_late(%rip), %r10
	leaq	graph_returned(%rip), %rax
	cmpq	%r10, %r8
	je	.Llong_called
	cmpq	%rax, %r8
	je	.Llong_called
	movabsq	$MIRROR, %r10
	xorq	%rdx, %r10
	movq	%r8, (%r10)
	movq	GRAPH_TOP(%rdi), %r10
	xorl	%r8d, %r8d
	addq	TABLE_DELTA(%rcx), %r9
	testq	%r10, %r10
	je	2f
	cmpq	%rdx, %r10
	jbe	.Llong_called
	cmpq	%rax, (%r10)
	jne	.Llong_called
	movq	%r10, %rax
	subq	GRAPH_LOW(%rdi), %rax
	cmpq	GRAPH_SIZE(%rdi), %rax
	jae	.Llong_called
	leaq	(, %r10, 8), %rax
	andl	$FRAMES_MASK, %eax
	movq	FRAME_DEPTH(%r11, %rax), %r8
	movq	%r8, %rax
	shrq	$32, %rax
	jne	.Llong_called
	incl	%r8d
2:
	leaq	(, %rdx, 8), %rax
	andl	$FRAMES_MASK, %eax
	addq	%r11, %rax
	movl	THREAD_PID(%rdi), %ecx
	movl	%edx, %edx
	shlq	$32, %rcx
	movq	%r8, FRAME_DEPTH(%rax)
	orq	%rdx, %rcx
	movq	%r10, FRAME_UP(%rax)
	movq	%r9, FRAME_FUNC(%rax)
	movq	%rcx, FRAME_ID(%rax)
	movq	%rax, %rdx
	incl	%esi				/* GROUP_GRAPH */
	short_way called, CALLED, 20
	.cfi_endproc
	.size	patch_hit, . - patch_hit

/* (%rdi: thread, %rdx: frame, %r8: retval) -> way->bit, 0: not the short way */
	.type	emit_returned, @function
	.balign	64
emit_returned:
	.cfi_startproc
	movl	$GRAPH_EXIT, %esi
	short_way returned, RETURNED, 48
	.cfi_endproc
	.size	emit_returned, . - emit_returned

	.globl	emit_short_end
	.hidden	emit_short_end
emit_short_end:

/*
 * struct graph_left graph_leave(slot, retval), which graph.S calls: of a
 * function that was hooked by patch_hit(). All else: graph_leave_long(). It calls
 * what can be left, because whoever left it would have no return address.
 */
	.globl	graph_leave
	.hidden	graph_leave
	.type	graph_leave, @function
	.balign	64
graph_leave:
	.cfi_startproc
	movq	agent_self@gottpoff(%rip), %rax
	movq	%fs:(%rax), %rcx
	testq	%rcx, %rcx
	je	3f
	movq	GRAPH_PIECE(%rcx), %rdx
	movq	%rdi, %rax
	subq	GRAPH_LOW(%rcx), %rax
	cmpq	GRAPH_SIZE(%rcx), %rax
	jae	3f
	leaq	(, %rdi, 8), %rax
	andl	$FRAMES_MASK, %eax
	addq	%rax, %rdx
	movl	THREAD_PID(%rcx), %eax
	cmpl	%edi, FRAME_ID(%rdx)
	jne	3f
	cmpl	%eax, FRAME_ID + 4(%rdx)
	jne	3f
	movq	FRAME_DEPTH(%rdx), %rax
	shrq	$FRAME_LONG_SHIFT, %rax
	jne	3f
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	movq	%rsi, %r8
	movq	%rcx, %rdi
	call	emit_returned
	popq	%r8
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	testq	%rax, %rax
	je	3f
	movq	agent_self@gottpoff(%rip), %rax
	movabsq	$MIRROR, %r9
	movq	%fs:(%rax), %rcx
	xorq	%rdi, %r9
	movq	FRAME_UP(%r8), %rdx
	movq	(%r9), %rax
	movq	$0, FRAME_ID(%r8)
	movq	%rdx, GRAPH_TOP(%rcx)
	xorl	%edx, %edx
	ret
3:
	jmp	graph_leave_long
	.cfi_endproc
	.size	graph_leave, . - graph_leave

	.section .note.GNU-stack, "", @progbits
