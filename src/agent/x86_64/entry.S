/* SPDX-License-Identifier: MIT */
/*
 * entry.S - x86-64: from a site that is on to patch_hit(), and back without a trace
 *
 *     patch_entry:                            at a function's start: its trampoline has called, and pushed the DSO
 *         after = target of the jump behind the call and its jc: the instruction behind the site
 *         make two frames, so that a walk from %rbp sees the function and its caller
 *         save what a callee may use, align
 *         hooked = patch_hit(struct site_call)
 *         if it wants libc, which uses vectors:
 *             save the processor's extended state
 *             hooked = patch_hit_slow(struct site_call)
 *             restore it
 *         restore; carry = hooked
 *     patch_entry_late:                       behind the prologue: %rbp is the function's frame
 *         the same with one frame, and never hooked: patch_hit() has changed the return address
 *
 *     patch_clone(flags, stack, fn, area):         clone(); the new task calls fn() and ends
 *
 * Nothing but the flags changes, which are dead where sites are.
 *
 * struct site_call lies where %rbp points to, but its first two members. S is the
 * address of the function's return address, or where the stack pointer of a
 * late site points to, so that the CFI finds the function by `after`:
 *
 *     S - 64  done       S - 56  ret        S - 48  next       S - 40  after
 *     S - 32  caller     S - 24  parent     S - 16  dso        S - 8   stub
 *
 * graph_through (graph.S) takes `after` from there.
 */
#include "agent/x86_64/extended.h"

	.macro	call_hit
	andq	$-16, %rsp
	subq	$112, %rsp
	general_save
	movq	40(%rbp), %rax
	movslq	7(%rax), %rdx
	leaq	11(%rax, %rdx), %rdx
	movq	%rdx, 8(%rbp)
	movq	$0, -16(%rbp)
	.endm

	.macro	hit_and_restore
	leaq	-16(%rbp), %rdi
	cld
	call	patch_hit
	cmpl	$1, %eax
	ja	1f
2:	negl	%eax			/* the carry */
	general_restore
	leaq	40(%rbp), %rsp
	.cfi_remember_state
	.cfi_def_cfa %rsp, 8
	movq	16(%rbp), %rbp
	.cfi_restore %rbp
	ret
	.cfi_restore_state
1:	movq	%rbx, 72(%rsp)
	movq	%rsp, %rbx
	leaq	-16(%rbp), %rdi
	extended_call patch_hit_slow
	movq	72(%rsp), %rbx
	jmp	2b
	.endm

	.text
	.globl	patch_entry
	.hidden	patch_entry
	.type	patch_entry, @function
	.balign	64
patch_entry:
	.cfi_startproc
	.cfi_adjust_cfa_offset 16	/* as called by the function's caller */
	pushq	16(%rsp)
	.cfi_adjust_cfa_offset 8
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq	%rsp, %rbp
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	call_hit
	.cfi_def_cfa %rbp, 48		/* called by the function */
	.cfi_offset %rip, -40
	.cfi_offset %rbp, -32
	leaq	48(%rbp), %rax
	movq	%rax, -8(%rbp)
	hit_and_restore
	.cfi_endproc
	.size	patch_entry, . - patch_entry

	.globl	patch_entry_late
	.hidden	patch_entry_late
	.type	patch_entry_late, @function
	.balign	64
patch_entry_late:
	.cfi_startproc
	.cfi_adjust_cfa_offset 8
	pushq	8(%rbp)
	.cfi_adjust_cfa_offset 8
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	call_hit
	.cfi_offset %rip, -40
	movq	(%rbp), %rax
	addq	$8, %rax
	movq	%rax, -8(%rbp)
	hit_and_restore
	.cfi_endproc
	.size	patch_entry_late, . - patch_entry_late

	.globl	patch_clone
	.hidden	patch_clone
	.type	patch_clone, @function
patch_clone:
	.cfi_startproc
	movq	%rdx, %r9
	movq	%rcx, %r8
	xorl	%edx, %edx
	xorl	%r10d, %r10d
	movl	$56, %eax
	syscall
	testq	%rax, %rax
	jz	1f
	ret
1:	.cfi_undefined %rip
	xorl	%ebp, %ebp
	call	*%r9
	movl	$60, %eax
	xorl	%edi, %edi
	syscall
	hlt
	.cfi_endproc
	.size	patch_clone, . - patch_clone

	.section .note.GNU-stack, "", @progbits
