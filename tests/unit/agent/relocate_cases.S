/* SPDX-License-Identifier: MIT */
/*
 * relocate_cases.S - instructions of each class that is moved: case_run() executes them here and
 * elsewhere
 *
 *     case N, LEN          begins a case: LEN bytes of it are to be moved
 *     done                 ends it: the rest, which is not moved
 */
	.macro	case name, end
	.section .cases, "aw"
	.quad	.Lcase_\name, \end, .Ltext_\name
	.section .rodata
.Ltext_\name:
	.asciz	"\name"
	.text
	.balign	16
.Lcase_\name:
	.endm

	.macro	done
	ret
	.endm

	.section .cases, "aw"
	.balign	8
	.globl	relocate_cases
	.hidden	relocate_cases
relocate_cases:

	.text
.Lown:	movq	(%rsp), %rax		/* who calls */
	addq	$3, %rdx
	ret
.Laway:	leaq	77(%rdi), %rsi
	ret

case plain, 9f
	pushq	%rbp
	movq	%rsp, %rbp
	movl	$5, %eax
9:	popq	%rbp
	xorl	%ebp, %ebp
	done

case endbr, 9f
	endbr64
	pushq	%rbx
	addq	%rcx, %rbx
9:	popq	%rbx
	done

case one_long, 9f
	movl	$0x12345678, %r8d
9:	done

case load_rip, 9f
	movq	relocate_data(%rip), %rax
9:	done

case store_rip, 9f
	movq	%rdi, relocate_data + 8(%rip)
9:	done

case store_rip_immediate, 9f
	movl	$0x55667788, relocate_data + 4(%rip)
9:	done

case store_rip_byte, 9f
	movb	$0x5a, relocate_data + 3(%rip)
9:	done

case add_rip_short, 9f
	addw	$0x1234, relocate_data + 6(%rip)
9:	done

case compare_rip, 9f
	cmpl	$7, relocate_data(%rip)
9:	done

case lea_rip, 9f
	leaq	.Laway(%rip), %r9
9:	done

case vector_rip, 9f
	movdqu	relocate_data(%rip), %xmm0
	movq	%xmm0, %rdx
9:	done

case vector_0f3a_rip, 9f
	pshufd	$0x1b, relocate_vector(%rip), %xmm1
	movq	%xmm1, %rdx
9:	done

case locked_rip, 9f
	lock; incq relocate_data(%rip)
9:	done

case jump_near, 9f
	.byte	0xe9
	.long	1f - 9f
9:	ud2
1:	incq	%rdx
	done

case jump_short, 9f
	movl	%edi, %edx
	nop
	jmp	1f
9:	ud2
1:	incq	%rdx
	done

case condition_short, 9f
	testq	%rcx, %rcx
	je	1f
9:	addq	$100, %rdx
1:	incq	%rdx
	done

case condition_near, 9f
	cmpq	$1, %rcx
	.byte	0x0f, 0x87
	.long	1f - 9f
9:	addq	$100, %rdx
1:	incq	%rdx
	done

case condition_of_caller, 9f
	jc	1f
	movl	%edi, %esi
	nop
9:	addq	$100, %rdx
	ret
1:	incq	%rdx
	done

case condition_within, 9f
	testq	%rcx, %rcx
	je	1f
	leaq	50(%rdx), %rdx
1:	leaq	1(%rdx), %rdx
9:	done

case condition_backwards, 9f
	movl	$9, %eax
2:	leaq	(%rdx, %rax), %rdx
	decl	%eax
	jne	2b
9:	done

case loop_out, 9f
	leaq	5(%rdx), %rdx
	loop	1f
9:	addq	$100, %rdx
1:	done

case loop_within, 9f
	orq	$3, %rcx
2:	leaq	5(%rdx), %rdx
	loop	2b
9:	done

case loop_equal, 9f
	cmpq	$2, %rcx
	loope	1f
	nop
9:	addq	$100, %rdx
1:	done

case loop_unequal, 9f
	cmpq	$2, %rcx
	loopne	1f
	nop
9:	addq	$100, %rdx
1:	done

case count_zero, 9f
	leaq	5(%rdx), %rdx
	jrcxz	1f
9:	addq	$100, %rdx
1:	done

case call_near, 9f
	call	.Lown
9:	subq	$2, %rdx
	done

case call_behind, 9f
	movl	%edi, %edx
	call	.Lown
9:	subq	$2, %rdx
	done

case call_memory_rip, 9f
	call	*relocate_pointer(%rip)
9:	subq	$2, %rdx
	done

case call_register, 9f
	leaq	.Lown(%rip), %r10
	call	*%r10
9:	subq	$2, %rdx
	done

case call_register_12, 9f
	pushq	%r12
	leaq	.Lown(%rip), %r12
	call	*%r12
9:	popq	%r12
	done

case call_memory_indexed, 9f
	leaq	relocate_pointer - 8(%rip), %r10
	movl	$1, %r11d
	call	*(%r10, %r11, 8)
9:	subq	$2, %rdx
	done

case jump_memory_rip, 9f
	jmp	*relocate_away(%rip)
9:	ud2

case jump_register, 9f
	leaq	.Laway(%rip), %rax
	jmp	*%rax
9:	ud2

case return, 9f
	leal	(%rdi, %rdi), %edx
	nop
	ret
9:	ud2

case return_pops, 9f
	popq	%rax
	pushq	$0
	pushq	%rax
	ret	$8
9:	ud2

case flags_kept, 9f
	movq	%rdi, %rdx
	leaq	(%rsi), %rsi
9:	sbbq	%rdx, %rdx
	done

case strings, 9f
	leaq	relocate_data(%rip), %rdi
	cld
	stosb
9:	done

case processor, 9f
	xorl	%eax, %eax
	xorl	%ecx, %ecx
	xgetbv
9:	done

case system_call, 9f
	movl	$39, %eax
	syscall
9:	xorl	%ecx, %ecx
	done

case red_zone, 9f
	movq	%rdi, -8(%rsp)
	movq	-8(%rsp), %rdx
9:	done

	.section .cases
	.globl	relocate_cases_end
	.hidden	relocate_cases_end
relocate_cases_end:

	/* case_run(code, struct state *): calls the code with these registers and flags. */
	.text
	.globl	case_run
	.hidden	case_run
	.type	case_run, @function
case_run:
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	pushq	%rsi
	pushq	%rdi
	movq	%rsi, %rax
	pushq	120(%rax)
	popfq
	movq	8(%rax), %rbx
	movq	16(%rax), %rcx
	movq	24(%rax), %rdx
	movq	32(%rax), %rsi
	movq	40(%rax), %rdi
	movq	48(%rax), %rbp
	movq	56(%rax), %r8
	movq	64(%rax), %r9
	movq	72(%rax), %r10
	movq	80(%rax), %r11
	movq	88(%rax), %r12
	movq	96(%rax), %r13
	movq	104(%rax), %r14
	movq	112(%rax), %r15
	movq	0(%rax), %rax
	call	*(%rsp)
	pushfq
	pushq	%rax
	movq	24(%rsp), %rax
	movq	%rbx, 8(%rax)
	movq	%rcx, 16(%rax)
	movq	%rdx, 24(%rax)
	movq	%rsi, 32(%rax)
	movq	%rdi, 40(%rax)
	movq	%rbp, 48(%rax)
	movq	%r8, 56(%rax)
	movq	%r9, 64(%rax)
	movq	%r10, 72(%rax)
	movq	%r11, 80(%rax)
	movq	%r12, 88(%rax)
	movq	%r13, 96(%rax)
	movq	%r14, 104(%rax)
	movq	%r15, 112(%rax)
	popq	0(%rax)
	popq	120(%rax)
	popq	%rdi
	popq	%rsi
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	ret
	.size	case_run, . - case_run

	.data
	.balign	16
	.globl	relocate_data
	.hidden	relocate_data
relocate_data:
	.zero	64
	.globl	relocate_vector
	.hidden	relocate_vector
relocate_vector:
	.long	1, 2, 3, 4
relocate_pointer:
	.quad	.Lown
relocate_away:
	.quad	.Laway

	.section .note.GNU-stack, "", @progbits
