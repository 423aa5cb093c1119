/* SPDX-License-Identifier: MIT */
/*
 * profile.h - x86-64: the short way of a call and of a return into the function profile (profile.c)
 *
 *     profile_called, in entry.S: the frame is filled as for a hit of GROUP_GRAPH, which has no way
 *     profile_returned, in graph.S: the frame is the thread's, with FRAME_PROFILED and no other
 *     flag but FRAME_SITE
 *         w = &thread->profiles[entry % AGENT_PROFILES]
 *         if w->event != entry, or where short.h would leave                 -> not here
 *         slot->depth = 1; slot->epoch = config->epoch
 *         if w->seen is not of that and of the entry                         -> leave
 *         elt = the one of {frame->func, w->cpu}; none                       -> leave
 *         section { if rseq->cpu_id != w->cpu -> leave; a sum of the elt grows }
 *         slot->depth = 0
 *
 * A call adds 1 to PROFILE_CALLS and then reads the clock. A return reads the clock
 * first, and adds to PROFILE_TIME and to PROFILE_SQUARED. If the second section is
 * aborted, the first sum has grown already: so the second is added atomically.
 *
 * As in short.h, nothing is called, the stack pointer stays, and a hit that leaves
 * has added nothing.
 */
#ifndef TRACEFUSE_AGENT_X86_64_PROFILE_H
#define TRACEFUSE_AGENT_X86_64_PROFILE_H

#include "agent/x86_64/short.h"

#define MAP_HASH 0x9e3779b97f4a7c15	/* map_hash_word() */

	/*
	 * %rdi thread, %rdx frame, %esi the group's entry GROUP_PROFILE; `no`: nothing has been
	 * done. -> %r10 the agent_profile, %r8 frame, with the slot's depth stored
	 */
	.macro	profile_enter name, no, busy
	movl	%esi, %r10d
	andl	$PROFILE_MASK, %r10d
	shll	$PROFILE_SHIFT, %r10d
	leaq	THREAD_PROFILES(%rdi, %r10), %r10
	cmpl	%esi, PROFILE_EVENT(%r10)
	jne	\no
	movl	THREAD_WORD(%rdi), %eax
	movq	THREAD_SLOT(%rdi), %r9
	andl	$SIGNALS_OR_NO_RSEQ, %eax
	testq	%r9, %r9
	je	\no
	.if	\busy
	orb	THREAD_BUSY(%rdi), %al
	.endif
	orl	SLOT_DEPTH(%r9), %eax
	jne	\no
	movq	%rsp, THREAD_FRAME(%rdi)
	movl	$1, SLOT_DEPTH(%r9)
	movq	agent + PLANE_CONFIG(%rip), %rax
	movq	%rdx, %r8
	movq	CONFIG_EPOCH(%rax), %rax
	shlq	$SEEN_SHIFT, %rsi
	movq	%rax, SLOT_EPOCH(%r9)
	addq	%rax, %rsi
	cmpq	PROFILE_SEEN(%r10), %rsi	/* W3 of way.c */
	jne	.Lprofile_leave_\name
	.endm

	/* -> %rsi offset of the elt's sums, %r11d CPU; only %rdi, %r8 and %r10 are preserved */
	.macro	profile_elt name
	movq	FRAME_FUNC(%r8), %r9
	movl	PROFILE_CPU(%r10), %r11d
	movabsq	$MAP_HASH, %rdx
	movq	%r9, %rax
	imulq	%rdx, %rax
	movq	PROFILE_ENTRIES(%r10), %rsi
	movq	%rax, %rcx
	shrq	$32, %rcx
	xorq	%r11, %rax
	xorq	%rcx, %rax
	movl	PROFILE_PLACE(%r10), %ecx
	imulq	%rdx, %rax
	movq	%rax, %rdx
	shrq	%cl, %rdx			/* the first place */
	shrq	$32, %rax			/* the part of the hash that an entry has */
	cmpl	%eax, 4(%rsi, %rdx, 8)
	jne	.Lprofile_next_\name
.Lprofile_found_\name:
	movl	(%rsi, %rdx, 8), %esi
	leal	-1(%rsi), %ecx
	cmpl	PROFILE_LAST(%r10), %ecx	/* M4 of map.h */
	jae	.Lprofile_leave_\name
	movl	%esi, %ecx
	movq	PROFILE_ELTS(%r10), %rdx
	shlq	$PROFILE_ELT, %rcx
	cmpq	%r9, (%rdx, %rcx)
	jne	.Lprofile_leave_\name
	cmpq	%r11, 8(%rdx, %rcx)
	jne	.Lprofile_leave_\name
	shlq	$PROFILE_ROW, %rsi
	.endm

	/* Somewhere behind profile_elt: tries other places of the table. */
	.macro	profile_elt_left name
.Lprofile_next_\name:
	movl	$8, %ecx
1:	cmpq	$0, (%rsi, %rdx, 8)
	je	.Lprofile_leave_\name
	incl	%edx
	andl	PROFILE_PLACES(%r10), %edx
	cmpl	%eax, 4(%rsi, %rdx, 8)
	je	.Lprofile_found_\name
	decl	%ecx
	jne	1b
	jmp	.Lprofile_leave_\name
	.endm

	/*
	 * In the section, on the CPU that has the column (%r11d), a sum grows; %rcx the rseq area.
	 */
	.macro	profile_add name, add, sum, leave
	leaq	.Lprofile_section_\name(%rip), %rax
	movq	%rax, RSEQ_CS(%rcx)
.Lprofile_first_\name:
	cmpl	%r11d, RSEQ_CPU(%rcx)
	jne	\leave
	\add	\sum(%rsi)		/* the commit, M2 of map.c */
.Lprofile_last_\name:
	rseq_section profile, \name
	.endm

	/* From COUNTER to ns in %rdx */
	.macro	profile_time
	movq	COUNTER, %rax
	mulq	PROFILE_MULT(%r10)
	addq	PROFILE_OFFSET(%r10), %rdx
	.endm

	/*
	 * %rdx frame, %esi the group's entry GROUP_GRAPH. At the end %r8 is the frame, %rax depth.
	 */
	.macro	profile_called name, site, else
	incl	%esi
	profile_enter \name, \else, 1
	profile_elt \name
	movq	PROFILE_RSEQ(%r10), %rcx
	addq	PROFILE_COLUMN(%r10), %rsi
	profile_add \name, incq, SUM_CALLS, .Lprofile_leave_\name
	movl	PROFILE_EVENT(%r10), %ecx
	movl	FRAME_DEPTH(%r8), %r9d
	subl	$2, %ecx			/* the group */
	btsq	$FRAME_PROFILED_BIT, %r9
	.if	\site
	btsq	$FRAME_SITE_BIT, %r9
	.endif
	shlq	$48, %rcx
	movq	%r9, FRAME_DEPTH(%r8)
	movq	%rcx, FRAME_GROUP(%r8)
	xorl	%ecx, %ecx
	movq	PROFILE_SLOT(%r10), %r9
	movq	%rcx, FRAME_MASK(%r8)
	movq	%rcx, FRAME_BELOW(%r8)
	counter_read
	profile_time
	movl	FRAME_DEPTH(%r8), %eax
	movq	%rdx, FRAME_TIME(%r8)
	movl	$0, SLOT_DEPTH(%r9)
	.endm

	.macro	profile_called_left name, else
	profile_elt_left \name
	rseq_abort profile, \name
.Lprofile_leave_\name:
	movq	PROFILE_SLOT(%r10), %r9
	movl	$0, SLOT_DEPTH(%r9)
	jmp	\else
	.endm

	/* %rdx frame, %r9 its slot on the stack. At the end %rcx is the frame. */
	.macro	profile_returned name, site, else
	cmpl	$(1 << (FRAME_PROFILED_BIT - 32)) | (\site << (FRAME_SITE_BIT - 32)), \
		FRAME_DEPTH + 4(%rdx)
	jne	\else
	cmpq	%r9, GRAPH_TOP(%rdi)
	jne	\else				/* others were left: M7 of graph.c */
	cmpq	$0, FRAME_MASK(%rdx)
	jne	\else
	movq	FRAME_GROUP(%rdx), %rsi
	shrq	$48, %rsi
	addl	$2, %esi
	profile_enter \name, \else, 0
	profile_time
	subq	FRAME_TIME(%r8), %rdx
	movq	%rdx, RECORD
	profile_elt \name
	movq	PROFILE_RSEQ(%r10), %rcx
	movq	RECORD, %rdx
	movq	%rsi, %r9
	addq	PROFILE_COLUMN(%r10), %rsi
	profile_add \name, "addq %rdx,", SUM_TIME, .Lprofile_leave_\name
	imulq	%rdx, %rdx
	profile_add squared_\name, "addq %rdx,", SUM_SQUARED, .Lprofile_shared_\name
.Lprofile_done_\name:
	movq	PROFILE_SLOT(%r10), %r9
	movl	FRAME_DEPTH(%r8), %eax
	movl	$0, SLOT_DEPTH(%r9)
	movq	%rax, FRAME_DEPTH(%r8)
	movq	%r8, %rcx
	.endm

	.macro	profile_returned_left name, else
	profile_elt_left \name
	rseq_abort profile, squared_\name
.Lprofile_shared_\name:
	addq	PROFILE_SHARED(%r10), %r9
	lock addq %rdx, SUM_SQUARED(%r9)
	jmp	.Lprofile_done_\name
	rseq_abort profile, \name
.Lprofile_leave_\name:
	movq	PROFILE_SLOT(%r10), %r9
	movl	$0, SLOT_DEPTH(%r9)
	jmp	\else
	.endm

#endif
