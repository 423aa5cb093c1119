/* SPDX-License-Identifier: MIT */
/*
 * short.h - x86-64: the short way of a hit as a macro; emit.S says what it does
 *
 * Nothing is called and the stack pointer stays, so that the guard can leave it
 * anywhere (way.h). short_way goes on behind itself when it is done. For those
 * that are no functions of their own, short_way_left lies somewhere behind that:
 * it ends by a jump to .Lelse_NAME, where nothing has been done.
 */
#ifndef TRACEFUSE_AGENT_X86_64_SHORT_H
#define TRACEFUSE_AGENT_X86_64_SHORT_H

#include "agent/x86_64/emit.h"

#define RECORD	-8(%rsp)
#define FRAME	-16(%rsp)
#define THREAD	-24(%rsp)
#define SLOT	-32(%rsp)
#define BIT	-40(%rsp)

#define SIGNALS_OR_NO_RSEQ 0x0800ff	/* AGENT_HANDLER, no_rseq */

/* What a copy of the short way is for. */
#define PLAIN	0	/* agent_emit(): %rdi thread, %esi entry, %rdx record, %ecx size, %r8 frame */
#define TRY	1	/* emit_try(): %r8 where the time goes, %r9 mask */
/* These know their size, and end with %rdi thread, %r10 way. */
#define CALLED	2	/* of a hooked function: %rdx its graph_frame, which is the record; ends with that in %rcx, %esi depth */
#define RETURNED 3	/* the same, not %esi; what it returns lies at the stack pointer */
#define FUNCTION 4	/* of a function: %r9 and %r8 the record's ip and parent_ip */

#define IS_SIZED(kind) ((kind) > TRY)

	/* %r10 way; %rax the thread's common fields, %r9 slot */
	.macro	way_find name, kind
	.if	\kind == RETURNED
	leaq	THREAD_WAYS + ((GRAPH_EXIT & WAY_MASK) << WAY_SHIFT)(%rdi), %r10
	cmpl	$GRAPH_EXIT, WAY_EVENT(%r10)
	.else
	movl	%esi, %r10d
	andl	$WAY_MASK, %r10d
	shll	$WAY_SHIFT, %r10d
	leaq	THREAD_WAYS(%rdi, %r10), %r10
	cmpl	%esi, WAY_EVENT(%r10)
	.endif
	jne	.Llong_\name
	.if	\kind == CALLED
	cmpl	$0, WAY_PLAIN(%r10)
	je	.Llong_\name
	.elseif	\kind == TRY || \kind == RETURNED
	movq	WAY_BIT(%r10), %rax
	.if	\kind == TRY
	movq	%rax, BIT
	testq	%r9, %rax
	.else
	testq	FRAME_MASK(%rdx), %rax
	.endif
	je	.Llong_\name
	.elseif	\kind == FUNCTION
	movq	%r9, RECORD			/* the names of what is not used otherwise */
	.endif
	movq	THREAD_WORD(%rdi), %rax
	movq	THREAD_SLOT(%rdi), %r9
	.if	\kind == PLAIN
	leal	-12(%rcx), %r11d
	rorl	$2, %r11d
	cmpl	$(112 - 12) / 4, %r11d
	ja	.Llong_\name
	.endif
	movl	$SIGNALS_OR_NO_RSEQ, %r11d
	andl	%eax, %r11d
	testq	%r9, %r9
	je	.Llong_\name
	.if	\kind == CALLED || \kind == FUNCTION
	orb	THREAD_BUSY(%rdi), %r11b
	.endif
	orl	SLOT_DEPTH(%r9), %r11d
	jne	.Llong_\name
	.endm

	/* What is needed behind the counter and has no register. */
	.macro	spill kind
	.if	\kind != FUNCTION
	movq	%rdx, RECORD
	.endif
	.if	\kind != CALLED && \kind != RETURNED
	movq	%r8, FRAME
	.endif
	.if	!IS_SIZED(\kind)
	movq	%rdi, THREAD
	movq	%r9, SLOT
	.endif
	.endm

	/* The record behind its common fields, from 12(%r11) on; %rdx now */
	.macro	fill kind
	.if	\kind == FUNCTION
	movq	RECORD, %rcx
	movq	FRAME, %rax
	movq	%rcx, 12(%r11)
	movq	%rax, 20(%r11)
	.elseif	\kind == CALLED
	movq	RECORD, %rcx
	movq	FRAME_FUNC(%rcx), %rax
	movl	FRAME_DEPTH(%rcx), %esi
	movq	%rdx, FRAME_TIME(%rcx)
	movq	%rax, 12(%r11)
	movl	%esi, 20(%r11)
	.elseif	\kind == RETURNED
	movq	RECORD, %rcx
	movq	(%rsp), %rax
	movq	FRAME_FUNC(%rcx), %rsi
	movq	%rax, 20(%r11)
	movq	%rsi, 12(%r11)
	movl	FRAME_DEPTH(%rcx), %eax
	movl	GRAPH_OVERRUN(%rdi), %esi
	movl	%eax, 28(%r11)
	movl	%esi, 32(%r11)
	movq	FRAME_TIME(%rcx), %rax
	movq	%rdx, 44(%r11)
	movq	%rax, 36(%r11)
	.elseif	\kind == TRY
	movq	RECORD, %rsi
	movq	8(%rsi), %rax
	cmpl	$24, %ecx
	movq	%rax, 12(%r11)
	jb	2f
	movq	16(%rsi), %rax
	movq	%rax, 20(%r11)
	je	3f
	movq	24(%rsi), %rax
	movq	32(%rsi), %rdi
	movq	%rax, 28(%r11)
	movq	40(%rsi), %rax
	movq	%rdi, 36(%r11)
	movq	%rax, 44(%r11)
	jmp	3f
2:
	movl	16(%rsi), %eax
	movl	%eax, 20(%r11)
	.else
	/* The words behind the common fields: the first, then two at a time. */
	movq	RECORD, %rsi
	movl	%ecx, %edx
	testb	$4, %cl
	je	2f
	subl	$4, %edx
	movl	(%rsi, %rdx), %eax
	movl	%eax, 4(%r11, %rdx)
	cmpl	$8, %edx
	je	3f
2:
	movl	-4(%rsi, %rdx), %eax
	movl	-8(%rsi, %rdx), %edi
	movl	%eax, (%r11, %rdx)
	movl	%edi, -4(%r11, %rdx)
	subl	$8, %edx
	cmpl	$8, %edx
	ja	2b
	.endif
3:
	.endm

	/* `tail`: a register; %rdi where the thread need not stay in it */
	.macro	short_way_by tail, tail32, name, kind, size
.Lbegin_\name:
	way_find \name, \kind
	movq	%rsp, THREAD_FRAME(%rdi)
	movl	$1, SLOT_DEPTH(%r9)
	/* H1: the load of epoch follows; the rest is the server's membarrier. */
	movq	agent + PLANE_CONFIG(%rip), %r11
	spill	\kind
	movl	WAY_TYPE(%r10), %esi
	orq	%rax, %rsi			/* the record's common fields */
	movq	CONFIG_EPOCH(%r11), %rax
	cmpq	WAY_EPOCH(%r10), %rax
	jne	.Lleave_\name
	movq	%rax, SLOT_EPOCH(%r9)
	movq	WAY_INST(%r10), %rax
	movq	WAY_RING(%r10), %r8
	movq	INST_ON(%rax), %rdx
	movq	INST_FLAGS(%rax), %rax
	xorq	WAY_ON(%r10), %rdx
	xorq	WAY_FLAGS(%r10), %rax
	orq	%rax, %rdx
	movl	RING_DISABLED(%r8), %eax
	orq	%rax, %rdx
	jne	.Lleave_\name

	rdtsc
	movq	WAY_RSEQ(%r10), %r9
	leaq	.Lsection_\name(%rip), %r11
	movq	%r11, RSEQ_CS(%r9)
.Lfirst_\name:
	movl	RING_CPU(%r8), %r11d
	cmpl	%r11d, RSEQ_CPU(%r9)
	jne	.Lleave_\name
	movq	RING_HEAD(%r8), %r9
	shlq	$32, %rdx
	orq	%rdx, %rax
	mulq	WAY_MULT(%r10)
	movq	RING_PAGE_END(%r8), %rax
	movq	%r9, %r11
	shrq	%r11				/* the position */
	addq	WAY_OFFSET(%r10), %rdx		/* now */
	.if	IS_SIZED(\kind)
	subq	%r11, %rax			/* what is left of the page */
	subq	$\size + 4, %rax
	cmpq	WAY_ROOM(%r10), %rax		/* below 0 and not one that is to begin */
	jae	.Lleave_\name
	.else
	leaq	4(%rcx), \tail
	subq	%r11, %rax
	cmpq	WAY_SUBBUF(%r10), %rax
	jae	.Lleave_\name
	cmpq	\tail, %rax
	jb	.Lleave_\name
	.endif
	.if	\kind == TRY
	movq	FRAME, %rax
	movq	%rdx, (%rax)
	.endif
	addq	RING_BASE(%r8), %r11
	movl	%r9d, \tail32
	andq	agent + PLANE_MASK(%rip), %r11
	andl	$1, \tail32
	addq	agent + PLANE_DATA(%rip), %r11	/* where the header goes */
	shll	$4, \tail32
	movq	%rdx, %rax
	addq	%r8, \tail			/* + RING_TAIL_TIME: the last record's tail */
	subq	RING_TAIL_TIME(\tail), %rax
	cmpq	$(1 << 27) - 1, %rax
	ja	.Lleave_\name
	/* delta << 5 | size / 4 */
	.if	IS_SIZED(\kind)
	shll	$5, %eax
	addl	$\size / 4, %eax
	.else
	shlq	$7, %rax
	addq	%rcx, %rax
	shrq	$2, %rax
	.endif
	movl	%eax, (%r11)
	movq	%rsi, 4(%r11)
	movq	RING_TAIL_ENTRIES(\tail), %rax
	xorq	$RING_TAIL_SIZE, \tail
	incq	%rax
	movq	%rdx, RING_TAIL_TIME(\tail)
	movq	%rax, RING_TAIL_ENTRIES(\tail)
	.if	IS_SIZED(\kind)
	addq	$8 + 2 * \size, %r9		/* a position is twice in head */
	.else
	leaq	8(%r9, %rcx, 2), %r9
	.endif
	xorq	$1, %r9
	fill	\kind
	.if	IS_SIZED(\kind)
	movq	WAY_SLOT(%r10), %rax		/* another thread may have taken the slot from this one (guard.c) */
	.else
	movq	SLOT, %rax
	.endif
	movq	%r9, RING_HEAD(%r8)		/* the commit, G3 */
.Llast_\name:
	movl	$0, SLOT_DEPTH(%rax)

	/* struct rseq_cs: version and flags, start, length, where an abort goes. */
	.pushsection __rseq_cs, "aw"
	.balign	32
.Lsection_\name:
	.long	0, 0
	.quad	.Lfirst_\name, .Llast_\name - .Lfirst_\name, .Labort_\name
	.popsection
	.endm

	.macro	short_way name, kind, size=0
	.if	IS_SIZED(\kind)
	short_way_by %rcx, %ecx, \name, \kind, \size
	.else
	short_way_by %rdi, %edi, \name, \kind, \size
	.if	\kind == TRY
	movq	BIT, %rax
	.endif
	ret
	short_way_left \name, \kind
	.endif
	.endm

	.macro	short_way_left name, kind
	.byte	0x0f, 0xb9, 0x3d		/* the signature: rseq.h */
	.long	0x53053053
.Labort_\name:
.Lleave_\name:
	.if	IS_SIZED(\kind)
	movq	WAY_SLOT(%r10), %r9
	.else
	movq	SLOT, %r9
	.endif
	.if	\kind == PLAIN
	movq	THREAD, %rdi
	movl	WAY_EVENT(%r10), %esi
	movq	RECORD, %rdx
	movq	FRAME, %r8
	.endif
	movl	$0, SLOT_DEPTH(%r9)
.Llong_\name:
	.if	\kind == PLAIN
	jmp	emit_long
	.elseif	\kind == TRY
	xorl	%eax, %eax
	ret
	.else
	jmp	.Lelse_\name
	.endif
	.endm

#endif
