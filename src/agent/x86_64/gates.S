/* SPDX-License-Identifier: MIT */
/*
 * gates.S - x86-64: from a stub at a `syscall` instruction to gates.c, and back without a trace
 *
 *     stub:   lea -128(%rsp), %rsp
 *             lea struct gate_site, %rcx
 *             call gate_enter, or gate_leave
 *             lea 128(%rsp), %rsp
 *
 * %rcx and %r11 are not saved, because the system call changes them. Flags are kept. C functions
 * may want an aligned stack, and only the slow ones use the processor's extended state.
 */
#include "agent/x86_64/extended.h"

#define CALL_SIZE	80		/* struct gate_call */

	.macro	gate name, fast, slow
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.balign	64
\name:
	.cfi_startproc
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	leaq	-CALL_SIZE(%rsp), %rsp
	.cfi_adjust_cfa_offset CALL_SIZE
	movq	%rax, 0(%rsp)
	movq	%rdi, 8(%rsp)
	movq	%rsi, 16(%rsp)
	movq	%rdx, 24(%rsp)
	movq	%r10, 32(%rsp)
	movq	%r8, 40(%rsp)
	movq	%r9, 48(%rsp)
	movq	%rbp, 56(%rsp)
	movq	%rcx, 72(%rsp)
	lahf
	seto	%al
	movq	%rax, 64(%rsp)
	movq	%rsp, %rbx
	.cfi_def_cfa_register %rbx
	movq	%rsp, %rdi
	andq	$-16, %rsp
	call	\fast
	testb	%al, %al
	jne	2f
1:	movq	%rbx, %rsp
	.cfi_def_cfa_register %rsp
	movq	64(%rsp), %rax
	addb	$0x7f, %al		/* the overflow flag */
	sahf
	movq	0(%rsp), %rax
	movq	8(%rsp), %rdi
	movq	16(%rsp), %rsi
	movq	24(%rsp), %rdx
	movq	32(%rsp), %r10
	movq	40(%rsp), %r8
	movq	48(%rsp), %r9
	leaq	CALL_SIZE(%rsp), %rsp
	.cfi_remember_state
	.cfi_adjust_cfa_offset -CALL_SIZE
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	ret
	.cfi_restore_state
2:	.cfi_def_cfa_register %rbx
	movq	%rbx, %rdi
	extended_call \slow
	jmp	1b
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.text
	gate	gate_enter, gate_entered, gate_entered_slow
	gate	gate_leave, gate_left, gate_left_slow

	.section .note.GNU-stack, "", @progbits
