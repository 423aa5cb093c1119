/* SPDX-License-Identifier: MIT */
/* NR functions with a site each: f_0, f_1 ... as a compiler would have made them, but sooner. */
	.altmacro
	.macro function n
	.p2align 4
	.globl	f_\n
	.type	f_\n, @function
f_\n:	.cfi_startproc
	.rept	5
	nop
	.endr
	lea	\n(%rdi), %rax
	ret
	.cfi_endproc
	.size	f_\n, . - f_\n
	.section __patchable_function_entries, "awo", @progbits, .text
	.quad	f_\n
	.text
	.endm
	.text
	.set	i, 0
	.rept	NR
	function %i
	.set	i, i + 1
	.endr
	.section .note.GNU-stack, "", @progbits
