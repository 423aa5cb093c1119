/* SPDX-License-Identifier: MIT */
/*
 * callers_fixture.S - functions with the names of libc's that look at who called them, which begin in other ways than this libc's
 */
	.macro	begin name
	.globl	\name
	.type	\name, @function
	.balign	16
\name:
	.endm

	.text
	begin dlopen			/* -> 11 */
	endbr64
	subq	$8, %rsp
	movq	.Leleven(%rip), %rax
	addq	$8, %rsp
	ret

	begin dlmopen			/* -> 1, if eleven is not 11 0 */
	cmpq	$11, .Leleven(%rip)
	jne	1f
	movl	$1, %eax
	ret
1:	xorl	%eax, %eax
	ret

	begin dlsym			/* -> the caller */
	movq	(%rsp), %rax
	pushq	%rbx
	popq	%rbx
	ret

	begin dlvsym			/* no compiler's beginning */
	call	1f
1:	popq	%rax
	movl	$2, %eax
	ret

	begin dl_iterate_phdr		/* -> eleven's address */
	leaq	.Leleven(%rip), %rax
	ret

	.data
	.globl	eleven
	.balign	8
eleven:
.Leleven:.quad	11

	.section .note.GNU-stack, "", @progbits
