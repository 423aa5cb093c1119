/* SPDX-License-Identifier: MIT */
/*
 * probe_many.S - a program with 10,000 functions to probe, many_0 to many_9999
 */
	.text
	.altmacro

.macro function number
	.globl many_\number
	.type many_\number, @function
many_\number:
	.cfi_startproc
	lea 1(%rdi), %rax
	add %rsi, %rax
	ret
	.cfi_endproc
	.size many_\number, . - many_\number
.endm

	.set i, 0
	.rept 10000
	function %i
	.set i, i + 1
	.endr

	.globl main
	.type main, @function
main:
	.cfi_startproc
	sub $8, %rsp
	.cfi_adjust_cfa_offset 8
again:
	call pause@PLT
	jmp again
	.cfi_endproc
	.size main, . - main

	.section .note.GNU-stack, "", @progbits
