/* SPDX-License-Identifier: MIT */
/*
 * code_resolver.S - what a PLT jumps to, for tests/unit/elf/code.c
 *
 * It begins with two words above its return address. The assembler puts that into the CIE, because
 * no FDE of this file begins otherwise.
 */
	.text
	.globl f_resolver
	.type f_resolver, @function
f_resolver:
	.cfi_startproc
	.cfi_adjust_cfa_offset 16
	mov $15, %eax
	ret
	.cfi_endproc
	.size f_resolver, . - f_resolver
	.section .note.GNU-stack, "", @progbits
