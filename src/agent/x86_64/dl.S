/* SPDX-License-Identifier: MIT */
/*
 * dl.S - x86-64: dlopen(), dlmopen(), dlsym() and dlvsym(), which look at their caller
 *
 *     dlsym:
 *         way = dl_sym(&{ the three arguments, result, ..., return address })     (callers.c)
 *         if (way)
 *             jump to way                     with arguments and stack as they came
 *         return result
 *
 * dl_sym() puts the true return address in the place of a label of graph.S.
 */
	.text

	/* struct dl_call lies at the stack pointer. */
	.macro	dl_interposer name, way
	.globl	\name
	.type	\name, @function
	.balign	16
\name:
	.cfi_startproc
	endbr64
	subq	$40, %rsp
	.cfi_adjust_cfa_offset 40
	movq	%rdi, 0(%rsp)
	movq	%rsi, 8(%rsp)
	movq	%rdx, 16(%rsp)
	movq	%rsp, %rdi
	call	\way
	movq	0(%rsp), %rdi
	movq	8(%rsp), %rsi
	movq	16(%rsp), %rdx
	movq	24(%rsp), %rcx
	addq	$40, %rsp
	.cfi_adjust_cfa_offset -40
	testq	%rax, %rax
	je	1f
	jmp	*%rax
1:	movq	%rcx, %rax
	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm

	dl_interposer dlopen, dl_open
	dl_interposer dlmopen, dl_mopen
	dl_interposer dlsym, dl_sym
	dl_interposer dlvsym, dl_vsym

	.section .note.GNU-stack, "", @progbits
