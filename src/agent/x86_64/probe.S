/* SPDX-License-Identifier: MIT */
/*
 * probe.S - x86-64: from moved code to probe_hit(), and back without a trace
 *
 *     probe_entry:            called by moved code, 128 bytes below the program's stack; the place
 *                             was pushed
 *         make a struct probe_registers, without the flags
 *         if not probe_try(registers, place), which does not look at the flags:
 *             save the flags, clear the direction flag
 *             slow = probe_hit(registers, place)
 *             if slow: the same with the processor's extended state saved: probe_hit_slow()
 *         restore all, also the flags
 *     No code below needs an aligned stack pointer: it uses no vector registers.
 *
 *     probe_left(slot):       from graph_returned_late, which has saved the registers that a
 *                             function may change at slot - 88
 *         pushes the others and the flags; probe_return(), and if that says so probe_return_slow()
 *         with the extended state saved
 *
 *     late_answer_kept(): late_answer() with the extended state saved
 *
 *     probe_copy(to, from, size):
 *         copies memory that may not be there: the guard goes to probe_copy_left
 *         -> bytes that were copied
 */
#include "agent/x86_64/extended.h"

/* struct probe_registers */
#define RAX	0
#define RCX	8
#define RDX	16
#define RBX	24
#define RSP	32
#define RBP	40
#define RSI	48
#define RDI	56
#define R_8	64
#define R_9	72
#define R_10	80
#define R_11	88
#define R_12	96
#define R_13	104
#define R_14	112
#define R_15	120
#define FLAGS	136
#define ARITHMETIC 144		/* %ah: flags, %al: overflow */
#define SIZE	152
/* Above it: the address in the moved code, the place, the program's 128 bytes. */
#define PLACE	(SIZE + 8)
#define PROGRAM	(SIZE + 16 + 128)
#define DIRECTION 0x400

	.text
	.globl	probe_entry
	.hidden	probe_entry
	.type	probe_entry, @function
	.balign	64
probe_entry:
	.cfi_startproc
	.cfi_def_cfa %rsp, 8
	.cfi_undefined %rip
	leaq	-SIZE(%rsp), %rsp
	.cfi_adjust_cfa_offset SIZE
	movq	%rax, RAX(%rsp)
	lahf
	seto	%al
	movq	%rcx, RCX(%rsp)
	movq	%rdx, RDX(%rsp)
	movl	%eax, ARITHMETIC(%rsp)
	movq	%rbx, RBX(%rsp)
	leaq	PROGRAM(%rsp), %rcx
	movq	%rbp, RBP(%rsp)
	movq	%rsi, RSI(%rsp)
	movq	%rdi, RDI(%rsp)
	movq	%rcx, RSP(%rsp)
	movq	%r8, R_8(%rsp)
	movq	%r9, R_9(%rsp)
	movq	%r10, R_10(%rsp)
	movq	%r11, R_11(%rsp)
	movq	%r12, R_12(%rsp)
	movq	%r13, R_13(%rsp)
	movq	%r14, R_14(%rsp)
	movq	%r15, R_15(%rsp)
	movq	%rsp, %rdi
	movq	PLACE(%rsp), %rsi
	call	probe_try
	testb	%al, %al
	je	1f
.Lprobe_flags:
	movl	ARITHMETIC(%rsp), %eax
	addb	$0x7f, %al			/* overflow */
	sahf
	movq	RAX(%rsp), %rax
	movq	RCX(%rsp), %rcx
	movq	RDX(%rsp), %rdx
	movq	RSI(%rsp), %rsi
	movq	RDI(%rsp), %rdi
	movq	R_8(%rsp), %r8
	movq	R_9(%rsp), %r9
	movq	R_10(%rsp), %r10
	movq	R_11(%rsp), %r11
	leaq	SIZE(%rsp), %rsp
	.cfi_remember_state
	.cfi_adjust_cfa_offset -SIZE
	ret
	.cfi_restore_state

	/* The flags as they were. Nothing else changes but the direction, so there is no popfq. */
1:	movl	ARITHMETIC(%rsp), %eax
	addb	$0x7f, %al
	sahf
	pushfq
	.cfi_adjust_cfa_offset 8
	popq	FLAGS(%rsp)
	.cfi_adjust_cfa_offset -8
	cld
	movq	%rsp, %rdi
	movq	PLACE(%rsp), %rsi
	call	probe_hit
	testl	%eax, %eax
	je	.Lprobe_done
	movq	%rsp, %rbx
	.cfi_def_cfa_register %rbx
	movq	%rbx, %rdi
	movq	PLACE(%rbx), %rsi
	.globl	probe_entry_slow
	.hidden	probe_entry_slow
probe_entry_slow:
	extended_call probe_hit_slow
	.cfi_def_cfa_register %rsp
	movq	RBX(%rsp), %rbx
.Lprobe_done:
	testl	$DIRECTION, FLAGS(%rsp)
	je	.Lprobe_flags
	std
	jmp	.Lprobe_flags
	.globl	probe_entry_end
	.hidden	probe_entry_end
probe_entry_end:
	.cfi_endproc
	.size	probe_entry, . - probe_entry

	.globl	probe_left
	.hidden	probe_left
	.type	probe_left, @function
	.balign	64
probe_left:
	.cfi_startproc
	.irp	what, %rbp, %r15, %r14, %r13, %r12, %rbx
	pushq	\what
	.cfi_adjust_cfa_offset 8
	.endr
	pushfq
	.cfi_adjust_cfa_offset 8
	movq	%rsp, %rbx
	.cfi_def_cfa_register %rbx
	movq	%rdi, %r12
	movq	%rsp, %rsi
	andq	$-16, %rsp
	call	probe_return
	testl	%eax, %eax
	je	1f
	movq	%r12, %rdi
	movq	%rbx, %rsi
	extended_call probe_return_slow
1:	movq	%rbx, %rsp
	.cfi_def_cfa_register %rsp
	leaq	8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	.irp	what, %rbx, %r12, %r13, %r14, %r15, %rbp
	popq	\what
	.cfi_adjust_cfa_offset -8
	.endr
	ret
	.globl	probe_left_end
	.hidden	probe_left_end
probe_left_end:
	.cfi_endproc
	.size	probe_left, . - probe_left

	.globl	late_answer_kept
	.hidden	late_answer_kept
	.type	late_answer_kept, @function
	.balign	32
late_answer_kept:
	.cfi_startproc
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	movq	%rsp, %rbx
	.cfi_def_cfa_register %rbx
	extended_call late_answer
	.cfi_def_cfa_register %rsp
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	ret
	.cfi_endproc
	.size	late_answer_kept, . - late_answer_kept

	.globl	probe_copy
	.hidden	probe_copy
	.type	probe_copy, @function
	.balign	32
probe_copy:
	.cfi_startproc
	movl	%edx, %ecx
	cmpl	$8, %edx
	jne	1f
	movq	(%rsi), %rax
	movq	%rax, (%rdi)
	movl	%edx, %eax
	ret
1:	cmpl	$4, %edx
	jne	2f
	movl	(%rsi), %eax
	movl	%eax, (%rdi)
	movl	%edx, %eax
	ret
2:	rep movsb
	.globl	probe_copy_end
	.hidden	probe_copy_end
probe_copy_end:
	.globl	probe_copy_left
	.hidden	probe_copy_left
probe_copy_left:
	movl	%edx, %eax
	subl	%ecx, %eax
	ret
	.cfi_endproc
	.size	probe_copy, . - probe_copy

	.section .note.GNU-stack, "", @progbits
