/* SPDX-License-Identifier: MIT */
/* gates_fixture.S - `syscall` instructions whose surroundings are known, for gates.c */
	.text
	.balign 64

.macro begin name
	.balign 32, 0xcc
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
.endm

.macro end name
	.cfi_endproc
	.size \name, . - \name
.endm

/* The label that the test looks for. */
.macro gate name
	.globl gate_\name
gate_\name:
	syscall
.endm

begin usual
	movl $257, %eax
	gate usual
	cmpq $-4095, %rax
	jae 1f
	ret
1:	negl %eax
	ret
end usual

/* What is behind it is the end of the function, and padding. */
begin short
	movl $39, %eax
	gate short
	ret
end short

/* Three bytes in front of it, and a function's start. */
begin start
	xorl %eax, %eax
	gate start
	cmpq $-4096, %rax
	ja 1f
	ret
1:	negl %eax
	ret
end start

/* Something jumps behind it. */
begin behind
	movl $14, %eax
	gate behind
1:	testl %eax, %eax
	js 1b
	ret
end behind

/* Something jumps to it. */
begin target
	movl $14, %eax
	testl %edi, %edi
	je 1f
	movl $15, %eax
1:	gate target
	cmpq $-4095, %rax
	ret
end target

/* Another function jumps behind it. */
begin elsewhere
	movl $3, %eax
	gate elsewhere
elsewhere_behind:
	cmpq $-4095, %rax
	ret
end elsewhere

begin jumper
	.fill 200, 1, 0x90
	jmp elsewhere_behind
end jumper

begin leaves
	movl $231, %eax
	gate leaves
	hlt
end leaves

/* The number is in a register. */
begin unknown
	movq %rdi, %rax
	movq %rsi, %rdi
	gate unknown
	cmpq $-4095, %rax
	ret
end unknown

/* The number is set before other registers are. */
begin early
	movl $202, %eax
	xorl %edx, %edx
	movq %rbx, %rdi
	gate early
	cmpq $-4095, %rax
	ret
end early

/* A call in front of it changes %rax. */
begin after_call
	movl $202, %eax
	call usual
	movq %rbx, %rdi
	movq %rbx, %rsi
	gate after_call
	cmpq $-4095, %rax
	ret
end after_call

/* A table of jumps may lead to any instruction. */
begin anywhere
	jmp *%rdi
	xorl %eax, %eax
	xorl %edi, %edi
	gate anywhere
	cmpq $-4095, %rax
	ret
end anywhere

begin anywhere_good
	jmp *%rdi
	movl $202, %eax
	xorl %edi, %edi
	gate anywhere_good
	cmpq $-4095, %rax
	ret
end anywhere_good

/* The entry of .eh_frame ends in front of it, as in clone(). */
begin half
	movl $56, %eax
	.cfi_endproc
	gate half
	testq %rax, %rax
	jl 1f
	ret
1:	negl %eax
	ret
	.size half, . - half

begin inside
	.globl gate_inside
	.byte 0xb8
gate_inside:
	.byte 0x0f, 0x05, 0, 0			/* movl $0x50f, %eax */
	ret
end inside

	nop
begin signal_frame
	movq $15, %rax
	gate signal_frame
	nopl (%rax)
end signal_frame

/* Two of them share what is between them. */
begin two
	movl $39, %eax
	gate two_first
	movl $102, %eax
	gate two_second
	ret
end two

	.section .note.GNU-stack, "", @progbits
