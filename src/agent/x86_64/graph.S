/* SPDX-License-Identifier: MIT */
/*
 * graph.S - x86-64: calls a function instead of its caller, so that its return is seen
 *
 *     patch_return:                           from the stub of a return site; the stack pointer is
 *                                             S - 8
 *         the short way of its event, or graph_left(S, %rax)
 *         ret                                 only the flags change, which are dead there
 *
 *     graph_through:                          from a site's stub, with carry set; the stack pointer
 *                                             is S
 *         drop the return address; call after                 (entry.S left it at S - 40)
 *     graph_returned:
 *         the short way of its event (short.h), *S = the mirror's value; else *S = graph_leave(S,
 *         %rax)
 *         ret                                                 only the flags change
 *
 *     graph_returned_late:                    for a late site: this has replaced its return address
 *         the same, but for the end: jmp *S                   (there was no call from here)
 *
 * The true return address is in the stack's mirror at S ^ GRAPH_MIRROR, where the CFI
 * here finds it: the virtual frame of all code behind `call` has
 *
 *     CFA = S + 8 + ODD       %rsp = CFA - ODD       return address = *((CFA - ODD - 8) ^
 *                                                    GRAPH_MIRROR)
 *
 * U1  CFA is odd, because libgcc takes two frames with the same CFA for one frame,
 *     and ends a throw in the wrong one. So %rsp needs a rule of its own.
 * U2  Unwinders look up a return address less one: the FDE begins before the
 *     address that is returned to. It is no signal frame ('S'): for those they do
 *     not subtract one.
 * U3  The expressions have only operations that all their readers know: LLVM's
 *     libunwind has no DW_OP_nop, valgrind has no const8u, xor or dup. So a ^ MIRROR
 *     is a + MIRROR - 2 * (a & MIRROR), and the second `a` is computed from %rsp:
 *     each change of %rsp has a rule of its own.
 * U4  For the processor the call in graph_through and the function's return are a
 *     pair, and so are its caller's call and the ret at the end: so both are
 *     predicted. The function's caller may know that it changes few registers
 *     (-fipa-ra), so no register carries anything.
 */
#include "agent/x86_64/entry.h"
#include "agent/x86_64/extended.h"
#include "agent/x86_64/profile.h"

#define ODD	4
	.set	.Lgraph_saved_slot, SAVED - 8

	.macro	returned
	leaq	-SAVED(%rsp), %rsp
	.cfi_adjust_cfa_offset SAVED
	true_return .Lgraph_saved_slot
	general_save 64
	.endm

	.macro	leave_and_restore leave
	leaq	SAVED - 8(%rsp), %rdi
	movq	0(%rsp), %rsi
	call	\leave
	movq	%rax, SAVED - 8(%rsp)
	general_restore 64
	.endm

	.if	MIRROR != ((1 << 35) + 1) << 11
	.error	"true_return knows another mirror"
	.endif

	/*
	 * The slot is at `slot` of %rsp, a signed number of two bytes. DW_CFA_expression,
	 * register 16: { CFA; lit 8 + ODD, minus; mirror, plus; breg7 slot; mirror, and, lit 1,
	 * shl; minus } where mirror is { lit 1, const1u 35, shl, lit 1, plus, lit 11, shl }
	 */
	.macro	true_return slot
	.cfi_escape 0x10, 16, 26, 0x30 + 8 + ODD, 0x1c, \
		0x31, 0x08, 35, 0x24, 0x31, 0x22, 0x3b, 0x24, 0x22, \
		0x77, ((\slot) & 0x7f) | 0x80, ((\slot) >> 7) & 0x7f, \
		0x31, 0x08, 35, 0x24, 0x31, 0x22, 0x3b, 0x24, 0x1a, 0x31, 0x24, 0x1c
	.endm

	.macro	virtual_frame slot
	/* DW_CFA_val_expression, register 7: { CFA; lit ODD, minus } */
	.cfi_escape 0x16, 7, 2, 0x30 + ODD, 0x1c
	true_return \slot
	.endm

	/* %rdi thread, %r9 slot -> %rdx its frame; `else`: the frame is not this thread's */
	.macro	frame_look else
	movq	%r9, %rcx
	movq	GRAPH_PIECE(%rdi), %rdx
	subq	GRAPH_LOW(%rdi), %rcx
	cmpq	GRAPH_SIZE(%rdi), %rcx
	jae	\else
	leaq	(, %r9, 8), %rax
	movl	THREAD_PID(%rdi), %ecx
	andl	$FRAMES_MASK, %eax
	addq	%rax, %rdx
	cmpl	%r9d, FRAME_ID(%rdx)
	jne	\else
	cmpl	%ecx, FRAME_ID + 4(%rdx)
	jne	\else
	.endm

	/* counter_read; %rdx stays */
	.macro	counter_read_behind
	movq	%rdx, %r8
	counter_read
	movq	%r8, %rdx
	.endm

	/*
	 * A return for function_graph -> %rcx its frame. If the event has no way:
	 * .Lgraph_no_way_NAME; if the call is not in the graph, or others wait:
	 * .Lgraph_profiled_NAME; else .Lgraph_else_NAME
	 */
	.macro	return_recorded name, site
	movq	agent_self@gottpoff(%rip), %rcx
	leaq	SAVED - 8(%rsp), %r9
	movq	%fs:(%rcx), %rdi
	testq	%rdi, %rdi
	je	.Lgraph_else_\name
	.if	!\site
	counter_read			/* nearly each of these returns needs it */
	.endif
	leaq	THREAD_WAYS + ((GRAPH_EXIT & WAY_MASK) << WAY_SHIFT)(%rdi), %r10
	cmpl	$GRAPH_EXIT, WAY_EVENT(%r10)
	jne	.Lgraph_no_way_\name
	frame_look .Lgraph_else_\name
	.if	\site
	cmpl	$1 << (FRAME_SITE_BIT - 32), FRAME_DEPTH + 4(%rdx)
	.else
	/* It may have FRAME_IN_GRAPH, and others may wait (FRAME_TAIL). */
	testl	$0xfffe, FRAME_DEPTH + 4(%rdx)
	.endif
	jne	.Lgraph_profiled_\name
	.if	\site
	counter_read_behind
	.endif
	short_way \name, RETURNED, SIZE_RETURNED
	.endm

	/* A return for the function profile only, and the code that leaves the short way. */
	.macro	return_profiled name, site, done
.Lgraph_no_way_\name:
	frame_look .Lgraph_else_\name
.Lgraph_profiled_\name:
	.if	\site
	counter_read_behind
	.endif
	profile_returned \name\()_in_profile, \site, .Lgraph_else_\name
	jmp	\done
	short_way_left \name, RETURNED, .Lgraph_else_\name
	profile_returned_left \name\()_in_profile, .Lgraph_else_\name
	.endm

	/* The slot has the true return address. */
	.macro	return_true
	leaq	SAVED - 8(%rsp), %rsp
	.cfi_adjust_cfa_offset -(SAVED - 8)
	true_return 0
	ret
	.endm

	.text
	/*
	 * The function has restored everything but the stack pointer, so the caller's frame is the
	 * frame here.
	 */
	.globl	patch_return
	.hidden	patch_return
	.type	patch_return, @function
	.balign	64
patch_return:
	.cfi_startproc
	.cfi_adjust_cfa_offset 8
	leaq	-(SAVED - 16)(%rsp), %rsp
	.cfi_adjust_cfa_offset SAVED - 16
	general_save 64
	.globl	return_short_begin
	.hidden	return_short_begin
return_short_begin:
	return_recorded at_site, 1
.Lgraph_frame_left_at_site:
	movl	FRAME_DEPTH(%rcx), %eax
	movq	FRAME_UP(%rcx), %rdx
	movq	%rax, GRAPH_STATE(%rdi)
	movq	%rdx, GRAPH_TOP(%rdi)
	movq	$0, FRAME_ID(%rcx)
.Lgraph_at_site_left:
	general_restore 64
	.cfi_remember_state
	leaq	SAVED - 16(%rsp), %rsp
	.cfi_adjust_cfa_offset -(SAVED - 16)
	ret
	.cfi_restore_state
	return_profiled at_site, 1, .Lgraph_frame_left_at_site
	.globl	return_short_end
	.hidden	return_short_end
return_short_end:

	.globl	return_short_left
	.hidden	return_short_left
return_short_left:
.Lgraph_else_at_site:
	leaq	SAVED - 8(%rsp), %rdi
	movq	0(%rsp), %rsi
	call	graph_left
	jmp	.Lgraph_at_site_left
	.cfi_endproc
	.size	patch_return, . - patch_return

	.globl	graph_through
	.hidden	graph_through
	.type	graph_through, @function
	.balign	64
graph_through:
	.cfi_startproc
	.cfi_def_cfa %rsp, 8 + ODD
	virtual_frame 0
	leaq	8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	true_return -8
	call	*-48(%rsp)
	.globl	graph_returned
	.hidden	graph_returned
graph_returned:
	returned
	.globl	graph_short_begin
	.hidden	graph_short_begin
graph_short_begin:
	return_recorded returned, 0
	cmpw	$0, FRAME_TAILS(%rcx)
	jne	.Lgraph_tail
.Lgraph_return:
	leaq	SAVED - 8(%rsp), %r9
	movabsq	$MIRROR, %rsi
	movq	FRAME_DEPTH(%rcx), %rax
	xorq	%r9, %rsi
	movq	FRAME_UP(%rcx), %rdx
	movq	(%rsi), %rsi
	movq	%rax, GRAPH_STATE(%rdi)
	movq	%rdx, GRAPH_TOP(%rdi)
	movq	$0, FRAME_ID(%rcx)
	movq	%rsi, SAVED - 8(%rsp)
	general_restore 64
	.cfi_remember_state
	return_true
	.cfi_restore_state
	return_profiled returned, 0, .Lgraph_return
.Lgraph_tail:
	leave_and_restore graph_tail_left
	.cfi_remember_state
	return_true
	.cfi_restore_state
	.globl	graph_short_end
	.hidden	graph_short_end
graph_short_end:

	.globl	graph_short_left
	.hidden	graph_short_left
graph_short_left:
.Lgraph_else_returned:
	leave_and_restore graph_leave
	return_true
	.cfi_endproc
	.size	graph_through, . - graph_through

	.type	graph_late, @function
	.balign	64
graph_late:
	.cfi_startproc
	.cfi_def_cfa %rsp, ODD
	virtual_frame -8
	nop
	.globl	graph_returned_late
	.hidden	graph_returned_late
graph_returned_late:
	returned
	leaq	SAVED - 8(%rsp), %rdi
	call	probe_left
	leave_and_restore graph_leave
	leaq	SAVED(%rsp), %rsp
	.cfi_adjust_cfa_offset -SAVED
	true_return -8
	jmp	*-8(%rsp)
	.cfi_endproc
	.size	graph_late, . - graph_late
	.org	graph_returned + GRAPH_LABELS

	.section .note.GNU-stack, "", @progbits
