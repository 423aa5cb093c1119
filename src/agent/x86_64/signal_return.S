/* SPDX-License-Identifier: MIT */
/*
 * signal_return.S - x86-64: the system call rt_sigreturn, which never returns here
 *
 * Debuggers recognise such a frame by these two instructions, so there is no endbr64.
 */
#include <sys/syscall.h>

	.text
	.globl	signal_return
	.hidden	signal_return
	.type	signal_return, @function
	.balign	16
	nop
signal_return:
	movq	$SYS_rt_sigreturn, %rax
	syscall
	.size	signal_return, . - signal_return

	.section .note.GNU-stack, "", @progbits
