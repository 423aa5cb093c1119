/* SPDX-License-Identifier: MIT */
/*
 * static.S - x86-64: mcount and __fentry__, for functions whose calls of them could not be changed
 * (sites/static.c)
 *
 *     __fentry__:                             a function's first instruction calls it
 *         if there are such sites:
 *             static_hit(return address, the place of the function's return address)
 *             if it needs libc: save the extended state, static_hit_slow(), restore
 *         jump to libc's, as if the function had called that; or return, if STATIC_COUNTED
 *     mcount:                                 behind the prologue: %rbp is the function's frame
 *         the same
 *
 * No register changes; flags are dead there.
 */
#include "agent/x86_64/extended.h"

	/* struct static_call is at 80(%rsp). */
	.macro	static_body slot, real
	endbr64
	cmpl	$0, static_sites(%rip)
	jne	5f
	jmp	*\real(%rip)
5:	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	andq	$-16, %rsp
	subq	$112, %rsp
	general_save
	movq	(%rbp), %rax
	movq	8(%rbp), %rdi
	leaq	\slot, %rsi
	movq	%rdi, 80(%rsp)
	movq	%rsi, 88(%rsp)
	movq	%rax, 96(%rsp)
	movq	%rsp, %rdx
	cld
	call	static_hit
	cmpl	$1, %eax
	ja	1f
2:	cmpl	$1, %eax
	je	6f
	general_restore
	leave
	.cfi_remember_state
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	jmp	*\real(%rip)
	.cfi_restore_state
6:	general_restore
	leave
	.cfi_remember_state
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	ret
	.cfi_restore_state
1:	movq	%rax, 104(%rsp)
	movq	%rbx, 72(%rsp)
	leaq	80(%rsp), %rdi
	movq	%rsp, %rbx
	movq	%rsp, %rsi
	extended_call static_hit_slow
	movq	72(%rsp), %rbx
	jmp	2b
	.endm

	.macro	function name, name2, own, slot, real
	.globl	\own
	.type	\own, @function
	.globl	\name
	.set	\name, \own
	.globl	\name2
	.set	\name2, \own
	.balign	32
\own:
	.cfi_startproc
	static_body \slot, \real
	.cfi_endproc
	.size	\own, . - \own
	.endm

	.text
	function __fentry__, __fentry__, agent_fentry, 16(%rbp), static_fentry_real
	function mcount, _mcount, agent_mcount, 8(%rax), static_mcount_real

	/* The first call: static_find() changes \real. */
	.macro	first label, real
	.balign	16
\label:
	.cfi_startproc
	endbr64
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	andq	$-16, %rsp
	subq	$80, %rsp
	general_save
	cld
	call	static_find
	general_restore
	leave
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	jmp	*\real(%rip)
	.cfi_endproc
	.endm

	first static_fentry_first, static_fentry_real
	first static_mcount_first, static_mcount_real

	.globl	static_return
	.hidden	static_return
	.balign	16
static_return:
	endbr64
	ret

	.section .data.rel.local, "aw", @progbits
	.globl	static_fentry_real
	.hidden	static_fentry_real
	.globl	static_mcount_real
	.hidden	static_mcount_real
	.balign	8
static_fentry_real:
	.quad	static_fentry_first
static_mcount_real:
	.quad	static_mcount_first

	.section .note.GNU-stack, "", @progbits
