/* SPDX-License-Identifier: MIT */
/*
 * extended.h - x86-64: for entry.S and graph.S: how they call C code that must not change a
 * register
 */
#ifndef TRACEFUSE_AGENT_X86_64_EXTENDED_H
#define TRACEFUSE_AGENT_X86_64_EXTENDED_H

#include "agent/x86_64/entry.h"

#define STATES		0xe7		/* x87, SSE, AVX, AVX-512 */

	/* Saves them at the stack pointer, in 64 bytes, and the ninth where the caller says. */
	.macro	general_save ninth=64
	movq	%rax, 0(%rsp)
	movq	%rcx, 8(%rsp)
	movq	%rdx, 16(%rsp)
	movq	%rsi, 24(%rsp)
	movq	%rdi, 32(%rsp)
	movq	%r8, 40(%rsp)
	movq	%r9, 48(%rsp)
	movq	%r10, 56(%rsp)
	movq	%r11, \ninth(%rsp)
	.endm

	/* Does not change the flags. */
	.macro	general_restore ninth=64
	movq	0(%rsp), %rax
	movq	8(%rsp), %rcx
	movq	16(%rsp), %rdx
	movq	24(%rsp), %rsi
	movq	32(%rsp), %rdi
	movq	40(%rsp), %r8
	movq	48(%rsp), %r9
	movq	56(%rsp), %r10
	movq	\ninth(%rsp), %r11
	.endm

	/*
	 * Calls the function with the processor's extended state saved, where its third argument
	 * points to. Meanwhile the stack pointer is in %rbx, which the caller has saved.
	 */
	.macro	extended_call function
	subq	$EXTENDED, %rsp
	andq	$-64, %rsp
	movl	$STATES, %eax
	xorl	%edx, %edx
	cmpb	$0, patch_has_xsave(%rip)
	je	3f
	.irp	offset, 512, 520, 528, 536, 544, 552, 560, 568
	movq	%rdx, \offset(%rsp)
	.endr
	xsave64	(%rsp)
	movq	%rsp, %rdx
	call	\function
	movq	%rax, %rcx
	movl	$STATES, %eax
	xorl	%edx, %edx
	xrstor64 (%rsp)
	jmp	4f
3:	fxsave64 (%rsp)
	movq	%rsp, %rdx
	call	\function
	movq	%rax, %rcx
	fxrstor64 (%rsp)
4:	movq	%rcx, %rax
	movq	%rbx, %rsp
	.endm

#endif
