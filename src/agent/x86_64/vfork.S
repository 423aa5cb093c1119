/* SPDX-License-Identifier: MIT */
/*
 * vfork.S - x86-64: vfork(), which returns twice on one stack
 *
 *     vfork_begin(frame)
 *     take the return address off the stack: the child will overwrite it
 *     ret = system call vfork
 *     put it back
 *     return vfork_end(ret, frame)
 *
 * Meanwhile the return address is in %rdi, which the kernel preserves for both. The
 * real function cannot be called: the child would overwrite its return address.
 * `frame` is the pair {the program's frame pointer, return address}.
 */
#include <sys/syscall.h>

	.text
	.globl	vfork
	.type	vfork, @function
	.balign	16
vfork:
	.cfi_startproc
	endbr64
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	movq	%rsp, %rdi
	call	vfork_begin
	popq	%rbp
	.cfi_adjust_cfa_offset -8

	popq	%rdi
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %rdi
	movl	$SYS_vfork, %eax
	syscall
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rip, 0

	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	movq	%rax, %rdi
	movq	%rsp, %rsi
	call	vfork_end
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	vfork, . - vfork

	.globl	__vfork
	.set	__vfork, vfork

	.section .note.GNU-stack, "", @progbits
