/* SPDX-License-Identifier: MIT */
/*
 * entry.S - x86-64: from a site that is on to sites_hit(), and back without a trace
 *
 *     patch_entry:                            at a function's start, called by the site
 *         ip = return address - 5, parent = the word above it
 *         make two frames, so that a walk from %rbp sees the function and its caller
 *         save what a callee may use, align
 *         if sites_hit(ip, parent, frame):    it wants libc, which uses vectors
 *             save the processor's extended state
 *             sites_hit_slow(ip, parent, frame)
 *             restore it
 *         restore
 *     patch_entry_late:                       behind the prologue: %rbp is the function's frame
 *         the same with parent = 8(%rbp), and one frame
 *
 *     patch_clone(flags, stack, fn, area):         clone(); the new task calls fn() and ends
 *
 * Nothing but the flags changes, which are dead where sites are.
 */

	.set	EXTENDED, 2816		/* up to the upper half of 32 zmm registers */
	.set	STATES, 0xe7		/* x87, SSE, AVX, AVX-512 */

	.macro	save_and_call
	andq	$-16, %rsp
	subq	$96, %rsp
	movq	%rax, 0(%rsp)
	movq	%rcx, 8(%rsp)
	movq	%rdx, 16(%rsp)
	movq	%rsi, 24(%rsp)
	movq	%rdi, 32(%rsp)
	movq	%r8, 40(%rsp)
	movq	%r9, 48(%rsp)
	movq	%r10, 56(%rsp)
	movq	%r11, 64(%rsp)
	movq	8(%rbp), %rdi
	subq	$5, %rdi
	.endm

	.macro	call_and_restore
	movq	%rsi, 72(%rsp)
	movq	%rdi, 80(%rsp)
	movq	%rbp, %rdx
	cld
	call	sites_hit
	testb	%al, %al
	jnz	1f
2:	movq	0(%rsp), %rax
	movq	8(%rsp), %rcx
	movq	16(%rsp), %rdx
	movq	24(%rsp), %rsi
	movq	32(%rsp), %rdi
	movq	40(%rsp), %r8
	movq	48(%rsp), %r9
	movq	56(%rsp), %r10
	movq	64(%rsp), %r11
	.endm

	/* %rbx is the caller's to keep, so it holds the stack pointer meanwhile. */
	.macro	slow
1:	movq	80(%rsp), %rdi
	movq	72(%rsp), %rsi
	movq	%rbx, 88(%rsp)
	movq	%rsp, %rbx
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
	movq	%rbp, %rdx
	call	sites_hit_slow
	movl	$STATES, %eax
	xorl	%edx, %edx
	xrstor64 (%rsp)
	jmp	4f
3:	fxsave64 (%rsp)
	movq	%rbp, %rdx
	call	sites_hit_slow
	fxrstor64 (%rsp)
4:	movq	%rbx, %rsp
	movq	88(%rsp), %rbx
	jmp	2b
	.endm

	.text
	.globl	patch_entry
	.hidden	patch_entry
	.type	patch_entry, @function
	.balign	64
patch_entry:
	.cfi_startproc
	pushq	8(%rsp)
	.cfi_adjust_cfa_offset 8
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq	%rsp, %rbp
	pushq	16(%rbp)
	.cfi_adjust_cfa_offset 8
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	save_and_call
	movq	24(%rbp), %rsi
	call_and_restore
	movq	(%rbp), %rsp
	.cfi_remember_state
	.cfi_def_cfa %rsp, 24
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	leaq	8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_restore_state
	slow
	.cfi_endproc
	.size	patch_entry, . - patch_entry

	.globl	patch_entry_late
	.hidden	patch_entry_late
	.type	patch_entry_late, @function
	.balign	64
patch_entry_late:
	.cfi_startproc
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	save_and_call
	movq	(%rbp), %rsi
	movq	8(%rsi), %rsi
	call_and_restore
	movq	%rbp, %rsp
	.cfi_remember_state
	.cfi_def_cfa_register %rsp
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	ret
	.cfi_restore_state
	slow
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
