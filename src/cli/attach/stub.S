/* SPDX-License-Identifier: MIT */
/*
 * stub.S - what a thread of an attached process executes, in a page of its own; see attach.h
 *
 *	errno_at = errno_location(), errno = *errno_at
 *	handle = dlopen(library), entry = dlsym(handle, "tf_attach")
 *	loaded = entry != NULL, result = loaded ? entry(session) : dlerror()
 *	if (!result) entry(session)	it looks for functions that were asked for before
 *	*errno_at = errno
 *	getpid(mark, loaded, result)	remote.c sees it begin, and takes the answer from it
 *	return, to libc's sigreturn	F1: only if nobody has seen it
 *
 * remote.c fills in the addresses of the functions and the texts.
 */
#include "cli/attach/stub.h"

	.section .rodata
	.globl attach_stub, attach_stub_code, attach_stub_end
	.balign 8
attach_stub:
attach_dlopen:	.quad 0
attach_dlsym:	.quad 0
attach_dlerror:	.quad 0
attach_errno:	.quad 0
attach_name:	.asciz "tf_attach"

	.balign 16
attach_stub_code:
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	callq	*attach_errno(%rip)
	movq	%rax, %rbx
	movl	(%rax), %ebp
	leaq	attach_library(%rip), %rdi
	movl	$2, %esi		/* RTLD_NOW */
	callq	*attach_dlopen(%rip)
	testq	%rax, %rax
	jz	.Lattach_failed
	movq	%rax, %rdi
	leaq	attach_name(%rip), %rsi
	callq	*attach_dlsym(%rip)
	testq	%rax, %rax
	jz	.Lattach_failed
	movq	%rax, %r12
	leaq	attach_session(%rip), %rdi
	callq	*%r12
	movslq	%eax, %rdx
	testl	%eax, %eax
	jnz	.Lattach_joined
	leaq	attach_session(%rip), %rdi
	callq	*%r12
	xorl	%edx, %edx
.Lattach_joined:
	movl	$1, %esi
	jmp	.Lattach_answer
.Lattach_failed:
	callq	*attach_dlerror(%rip)
	movq	%rax, %rdx
	xorl	%esi, %esi
.Lattach_answer:
	movl	%ebp, (%rbx)
	movl	$ATTACH_MARK, %edi
	movl	$39, %eax		/* SYS_getpid */
	syscall
	popq	%r12
	popq	%rbp
	popq	%rbx
	ret

	.balign 8
attach_stub_end:
	/* remote.c writes both behind the code: two paths with their 0. */
	.set	attach_library, attach_stub_end
	.set	attach_session, attach_stub_end + ATTACH_PATH
	.section .note.GNU-stack,"",@progbits
