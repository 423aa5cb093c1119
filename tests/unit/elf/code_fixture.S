/* SPDX-License-Identifier: MIT */
/*
 * code_fixture.S - functions whose plans are known; tests/unit/elf/code.c has them by name
 *
 * Labels that begin with .L leave no symbol, so only what the test is about refers to them.
 */
	.text
	.balign 64

.macro begin name
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
.endm

.macro end name
	.cfi_endproc
	.size \name, . - \name
	int3				/* nothing runs into the next function */
.endm

begin f_whole
	mov $0x12345678, %eax
	ret
end f_whole

begin f_several
	push %rbp
	mov %rsp, %rbp
	sub $16, %rsp
	leave
	ret
end f_several

begin f_endbr
	endbr64
	mov $0x12345678, %eax
	ret
end f_endbr

/* A branch leads to the second instruction, and the first one has one byte. */
begin f_inner
	push %rbx
.Linner:
	dec %edi
	jnz .Linner
	pop %rbx
	ret
end f_inner

begin f_short
	mov %edi, %eax
.Lshort:
	dec %eax
	jnz .Lshort
	ret
end f_short

/* +5: the JMP stands on the mov. */
begin f_before
	mov $1, %eax
	xor %ecx, %ecx
.Lbefore:
	dec %ecx
	jnz .Lbefore
	ret
end f_before

/* +5: what comes back from the call would not pass a JMP in front of it. */
begin f_behind_call
	call .Lback
	xor %ecx, %ecx
.Lback:
	dec %ecx
	jnz .Lback
	ret
end f_behind_call

begin f_call_ends
	push %rbx
	call *%rax
	pop %rbx
	ret
end f_call_ends

begin f_computed
	push %rbx
	mov %rdi, %rax
	add %rsi, %rax
	pop %rbx
	jmp *%rax
end f_computed

begin f_by_memory
	mov %rdi, %rax
	mov %rsi, %rcx
	jmp *(%rax)
end f_by_memory

begin f_loaded
	push %rbx
	mov 8(%rdi), %rax
	add $8, %rsp
	jmp *%rax
end f_loaded

/* What is on the stack is another function's. */
begin f_kept
	push %rbx
	mov (%rsp), %rax
	jmp *%rax
end f_kept

/* It is computed, and comes back from the stack. */
begin f_spilled
	push %rbx
	lea (%rdi, %rsi), %rax
	push %rax
	mov (%rsp), %rcx
	jmp *%rcx
end f_spilled

begin f_by_stack
	lea (%rdi, %rsi), %rax
	push %rbx
	push %rax
	jmp *(%rsp)
end f_by_stack

/* A parameter or a word of memory. */
begin f_chosen
	mov %rsi, %rax
	test %rdi, %rdi
	jz .Lchosen
	mov (%rdi), %rax
.Lchosen:
	jmp *%rax
end f_chosen

/* On one way it is computed. */
begin f_joined
	mov %rsi, %rax
	test %rdi, %rdi
	jz .Ljoined
	add %rdi, %rax
.Ljoined:
	jmp *%rax
end f_joined

/* It is computed behind the place where it is used. */
begin f_looped
	mov %rdi, %rax
	test %esi, %esi
.Llooped:
	jz .Llooped_jump
	add %rsi, %rax
	dec %esi
	jmp .Llooped
.Llooped_jump:
	jmp *%rax
end f_looped

/* What is computed is overwritten. */
begin f_overwritten
	mov %rdi, %rax
	add %rsi, %rax
	mov %rdx, %rax
	jmp *%rax
end f_overwritten

/* Nothing shows where the last jump is reached from: perhaps from the call, by an exception. */
begin f_elsewhere
	push %rbx
	lea (%rdi, %rsi), %rbx
	call *%rdx
	pop %rbx
	ret
	jmp *%rbx
end f_elsewhere

/* Vectors carry it to the stack. */
begin f_by_vector
	push %rbx
	lea (%rdi, %rsi), %rax
	movq %rax, %xmm0
	movaps %xmm0, -24(%rsp)
	mov -24(%rsp), %rax
	jmp *%rax
end f_by_vector

begin f_padded
	xor %eax, %eax
	ret
	nopw (%rax, %rax)
	nop
end f_padded

begin f_fixed
	ud2
	int3
	call *8(%rsp)
	xbegin .Lfixed
.Lfixed:
	jmp .Lfixed
end f_fixed

begin f_signal
	.cfi_signal_frame
	mov $15, %eax
	syscall
end f_signal

begin f_first
	.cfi_undefined rip
	mov $15, %eax
	ret
end f_first

begin f_part
	.cfi_def_cfa_offset 16
	mov $15, %eax
	ret
end f_part

begin f_undefined_later
	mov $15, %eax
	.cfi_undefined rip
	ret
end f_undefined_later

	.globl f_no_fde
	.type f_no_fde, @function
f_no_fde:
	mov $15, %eax
	ret
	.size f_no_fde, . - f_no_fde
	int3

begin f_unknown
	mov $15, %eax
	.byte 0x06
	mov $15, %eax
	ret
end f_unknown

/* .data has the address of the second instruction. */
begin f_data
	mov %edi, %eax
.Ldata:
	mov %eax, %ecx
	nop
	ret
end f_data

/* An exception leads to the second instruction. */
begin f_pad
	.cfi_lsda 0x1b, .Llsda
	mov %edi, %eax
.Lpad:
	mov %eax, %ecx
	nop
	ret
end f_pad

begin f_lea
	lea .Llea(%rip), %rax
	mov %edi, %eax
.Llea:
	mov %eax, %ecx
	nop
	ret
end f_lea

begin f_sequence
	mov $15, %eax
.Lsequence:
	mov %eax, %edi
	movl $15, (%rsi)
.Lsequence_end:
	ret
.Labort:
	mov $15, %eax
	ret
end f_sequence

begin setjmp
	mov $15, %eax
	ret
end setjmp

/* What is behind the call of it is its argument. */
begin f_returns_behind
	endbr64
	pop %r10
	add $4, %r10
	jmp *%r10
end f_returns_behind

	.fill 8, 1, 0x90		/* nops */
begin f_padding_before
	push %rbx
	dec %edi
.Lpadding_before:
	dec %edi
	jnz .Lpadding_before
	pop %rbx
	ret
end f_padding_before

/*
 * Functions without a symbol that are only jumped to. Each is behind one that jumps to it.
 */
.macro nameless name
.L\name:
	.cfi_startproc
.endm

.macro nameless_end name
	.cfi_endproc
	int3
.endm

begin j_function
	test %edi, %edi
	jnz .Lk_function
	ret
end j_function
nameless k_function
	mov $15, %eax
	ret
nameless_end k_function

/* Its stack below the stack pointer is in use. */
begin j_below
	mov %edi, -8(%rsp)
	jmp .Lk_below
end j_below
nameless k_below
	mov $15, %eax
	jmp .Lk_below_again
nameless_end k_below

begin j_below_again
	jmp .Lk_below_again
end j_below_again
nameless k_below_again
	mov $15, %eax
	ret
nameless_end k_below_again

/* It goes back. */
begin j_inside
	jmp .Lk_inside
.Lj_inside:
	ret
end j_inside
nameless k_inside
	mov $15, %eax
	test %edi, %edi
	jmp .Lj_inside
nameless_end k_inside

/* It does not end. */
begin j_endless
	jmp .Lk_endless
end j_endless
nameless k_endless
	mov $15, %eax
	call *%rax
nameless_end k_endless

/* It begins with the flags of the one that jumps to it, perhaps. */
begin j_flags
	jmp .Lk_flags
end j_flags
nameless k_flags
	mov $15, %eax
	jmp .Lk_flags_end
.Lk_flags_end:
	jc j_flags
	ret
nameless_end k_flags

	.data
	.balign 8
	.quad .Ldata

	.section __rseq_cs, "aw"
	.balign 32
	.long 0, 0
	.quad .Lsequence, .Lsequence_end - .Lsequence, .Labort

	.section .gcc_except_table, "a"
.Llsda:
	.byte 0xff, 0xff, 1		/* no start of its own, no types, numbers of any length */
	.uleb128 .Lsites_end - .Lsites
.Lsites:
	.uleb128 0
	.uleb128 1
	.uleb128 .Lpad - f_pad
	.uleb128 0
.Lsites_end:

	.section .stapsdt.base, "aG", "progbits", .stapsdt.base, comdat
	.weak _.stapsdt.base
	.hidden _.stapsdt.base
_.stapsdt.base:
	.space 1
	.size _.stapsdt.base, 1

	.section .probes, "aw"
.Lsemaphore:
	.short 0

	.data
	.type v_one, @object
v_one:
	.long 1
	.type v_two, @object
v_two:
	.quad 2

.macro note address, semaphore, name, arguments
	.section .note.stapsdt, "", "note"
	.balign 4
	.long 8, .Lnote_end\@ - .Lnote\@, 3
	.asciz "stapsdt"
.Lnote\@:
	.quad \address, _.stapsdt.base, \semaphore
	.asciz "fixture", "\name", "\arguments"
.Lnote_end\@:
	.balign 4
.endm

	note f_several, 0, first, "-4@%edi 8@%rsi"
	note f_data, .Lsemaphore, second, ""
	note f_data, 0, third, "4@v_one(%rip) 8@8+v_two(,%rax,8) 8@$v_one-4 8@f_data 8@v_none(%rip)"
	.section .note.GNU-stack, "", @progbits
