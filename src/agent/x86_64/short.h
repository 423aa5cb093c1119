/* SPDX-License-Identifier: MIT */
/*
 * short.h - x86-64: the short way of a hit as a macro; emit.S says what it does
 *
 * Nothing is called and the stack pointer stays, so that the guard can leave it
 * anywhere (way.h). Those that are no functions of their own end by a jump to
 * .Ldone_NAME, with BIT, or to .Lelse_NAME, where nothing has been done.
 */
#ifndef TRACEFUSE_AGENT_X86_64_SHORT_H
#define TRACEFUSE_AGENT_X86_64_SHORT_H

#include "agent/x86_64/emit.h"

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
#define RETURNED 3	/* the same; %r8 what it returns */
#define FUNCTION 4	/* of a function: %r9 and %r8 the record's ip and parent_ip */

	.macro	short_way name, kind, size=0
.Lbegin_\name:
	movl	%esi, %r10d
	andl	$WAY_MASK, %r10d
	shll	$WAY_SHIFT, %r10d
	leaq	THREAD_WAYS(%rdi, %r10), %r10
	cmpl	%esi, WAY_EVENT(%r10)
	jne	.Llong_\name
	.if	\kind == FUNCTION
	movq	%r9, RECORD			/* the names of what is not used otherwise */
	.elseif	\kind != PLAIN
	movq	WAY_BIT(%r10), %rax
	.if	\kind == TRY
	testq	%r9, %rax
	.elseif	\kind == CALLED
	cmpl	$0, WAY_PLAIN(%r10)
	je	.Llong_\name
	testq	%rax, %rax
	.elseif	\kind == RETURNED
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
	.if	\kind != TRY && \kind != FUNCTION
	movq	%rdi, THREAD
	.endif
	movl	WAY_TYPE(%r10), %esi
	orq	%rax, %rsi			/* the record's common fields */
	.if	\kind != FUNCTION
	movq	%rdx, RECORD
	.endif
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
	.if	\kind == FUNCTION
	movq	FRAME, %rax
	movq	%r10, 12(%r11)
	movq	%rax, 20(%r11)
	.elseif	\kind == CALLED
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
	.if	\kind == TRY
	movq	BIT, %rax
	.endif
	.if	\kind == PLAIN || \kind == TRY
	ret
	.else
	jmp	.Ldone_\name
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
	.elseif	\kind == TRY
	xorl	%eax, %eax
	ret
	.else
	jmp	.Lelse_\name
	.endif

	/* struct rseq_cs: version and flags, start, length, where an abort goes. */
	.pushsection __rseq_cs, "aw"
	.balign	32
.Lsection_\name:
	.long	0, 0
	.quad	.Lfirst_\name, .Llast_\name - .Lfirst_\name, .Labort_\name
	.popsection
	.endm

#endif
