/* SPDX-License-Identifier: MIT */
/*
 * probe_exact.c - calls leaf() with all registers known, and prints all that it leaves
 *
 * leaf() is a leaf function with data below the stack pointer. leaf_run() calls it with numbers in
 * all registers: the general ones, the flags, and the vector registers that the processor has.
 * Nothing that is printed is an address, so each run prints the same. The calls are made by threads
 * and by a child, so each is the first hit of its thread.
 */
#include <cpuid.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GENERAL = 15, VECTORS = 32, VECTOR_WORDS = 8, MASKS = 8, RED_ZONE = 16, ROUNDS = 3 };

struct state {
	uint64_t	general[GENERAL];	/* all but the stack pointer */
	uint64_t	flags;
	uint64_t	red_zone[RED_ZONE];
	uint64_t	masks[MASKS];
	uint64_t	vectors[VECTORS][VECTOR_WORDS];
};

extern struct state leaf_state;
extern uint64_t leaf_word, leaf_kind;
void leaf_run(void);

struct state leaf_state;
uint64_t leaf_word, leaf_kind;		/* 0: xmm, 1: ymm, 2: zmm */

#define LOW "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15"
#define HIGH "16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31"
#define EACH(numbers, line) "	.irp	n, " numbers "\n	" line "\n	.endr\n"

/* Loads or stores them, in the order of struct state. */
#define VECTORS_LOAD \
	"	leaq	leaf_state(%rip), %rax\n" \
	"	cmpq	$1, leaf_kind(%rip)\n" \
	"	je	1f\n" \
	"	ja	2f\n" \
	EACH(LOW, "movdqu 320+64*\\n(%rax), %xmm\\n") \
	"	jmp	3f\n" \
	"1:\n" EACH(LOW, "vmovdqu 320+64*\\n(%rax), %ymm\\n") \
	"	jmp	3f\n" \
	"2:\n" EACH(LOW, "vmovdqu64 320+64*\\n(%rax), %zmm\\n") \
	EACH(HIGH, "vmovdqu64 320+64*\\n(%rax), %zmm\\n") \
	EACH("1, 2, 3, 4, 5, 6, 7", "kmovw 256+8*\\n(%rax), %k\\n") \
	"3:\n"
#define VECTORS_STORE \
	"	leaq	leaf_state(%rip), %rax\n" \
	"	cmpq	$1, leaf_kind(%rip)\n" \
	"	je	1f\n" \
	"	ja	2f\n" \
	EACH(LOW, "movdqu %xmm\\n, 320+64*\\n(%rax)") \
	"	jmp	3f\n" \
	"1:\n" EACH(LOW, "vmovdqu %ymm\\n, 320+64*\\n(%rax)") \
	"	jmp	3f\n" \
	"2:\n" EACH(LOW, "vmovdqu64 %zmm\\n, 320+64*\\n(%rax)") \
	EACH(HIGH, "vmovdqu64 %zmm\\n, 320+64*\\n(%rax)") \
	EACH("1, 2, 3, 4, 5, 6, 7", "kmovw %k\\n, 256+8*\\n(%rax)") \
	"3:\n"

__asm__(
	"	.text\n"
	"	.type	leaf_run, @function\n"
	"leaf_run:\n"
	"	.cfi_startproc\n"
	"	.irp	r, rbx, rbp, r12, r13, r14, r15\n"
	"	pushq	%\\r\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.endr\n"
	VECTORS_LOAD
	"	pushq	120(%rax)\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	popfq\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	movq	8(%rax), %rcx\n"
	"	movq	16(%rax), %rdx\n"
	"	movq	24(%rax), %rbx\n"
	"	movq	32(%rax), %rbp\n"
	"	movq	40(%rax), %rsi\n"
	"	movq	48(%rax), %rdi\n"
	"	movq	56(%rax), %r8\n"
	"	movq	64(%rax), %r9\n"
	"	movq	72(%rax), %r10\n"
	"	movq	80(%rax), %r11\n"
	"	movq	88(%rax), %r12\n"
	"	movq	96(%rax), %r13\n"
	"	movq	104(%rax), %r14\n"
	"	movq	112(%rax), %r15\n"
	"	movq	0(%rax), %rax\n"
	"	call	leaf\n"
	"	movq	%rax, leaf_state(%rip)\n"
	"	leaq	leaf_state(%rip), %rax\n"
	"	movq	%rcx, 8(%rax)\n"
	"	movq	%rdx, 16(%rax)\n"
	"	movq	%rbx, 24(%rax)\n"
	"	movq	%rbp, 32(%rax)\n"
	"	movq	%rsi, 40(%rax)\n"
	"	movq	%rdi, 48(%rax)\n"
	"	movq	%r8, 56(%rax)\n"
	"	movq	%r9, 64(%rax)\n"
	"	movq	%r10, 72(%rax)\n"
	"	movq	%r11, 80(%rax)\n"
	"	movq	%r12, 88(%rax)\n"
	"	movq	%r13, 96(%rax)\n"
	"	movq	%r14, 104(%rax)\n"
	"	movq	%r15, 112(%rax)\n"
	/* What leaf() left below its return address. */
	"	movq	-16(%rsp), %rcx\n"
	"	movq	%rcx, 128(%rax)\n"
	"	movq	-24(%rsp), %rcx\n"
	"	movq	%rcx, 136(%rax)\n"
	"	pushfq\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	popq	120(%rax)\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	cld\n"
	VECTORS_STORE
	"	.irp	r, r15, r14, r13, r12, rbp, rbx\n"
	"	popq	%\\r\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.endr\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size	leaf_run, . - leaf_run\n"

	"	.balign	16\n"
	"	.globl	leaf\n"
	"	.type	leaf, @function\n"
	"leaf:\n"
	"	.cfi_startproc\n"
	"	movq	%rax, -8(%rsp)\n"
	"	movq	%rcx, -16(%rsp)\n"
	"	movq	%rdx, -128(%rsp)\n"
	"	adcq	%r9, %r8\n"
	"	leaq	7(%rbx,%rdx,2), %rdx\n"
	"	sbbq	%r11, %r12\n"
	"	setc	%r13b\n"
	"	rolq	$5, %r10\n"
	"	cmovo	%r14, %r15\n"
	"	incl	%esi\n"
	"	adcb	-16(%rsp), %dil\n"
	"	movq	leaf_word(%rip), %rax\n"
	"	addq	%rax, -8(%rsp)\n"
	"	jno	1f\n"
	"	xorq	$0x12345678, %rbp\n"
	"1:	std\n"
	"	cmc\n"
	"	xchgq	%rbx, %rcx\n"
	"	cld\n"
	"	adcq	-128(%rsp), %r14\n"
	"	jc	2f\n"
	"	notq	%r9\n"
	"2:	lahf\n"
	"	movl	$0, %r11d\n"
	"	sbbl	%eax, -16(%rsp)\n"
	"	nopl	0x12345678(%rax,%rax)\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size	leaf, . - leaf\n");

static uint64_t kind_of(void)
{
	unsigned int a, b, c, d, low, high;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_AVX))
		return 0;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	if ((low & 6) != 6)
		return 0;
	return (low & 0xe0) == 0xe0 && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
			       (b & bit_AVX512F) ? 2 : 1;
}

static void words_print(const char *what, const uint64_t *words, int nr)
{
	printf("%s", what);
	for (int i = 0; i < nr; i++)
		printf(" %llx", (unsigned long long)words[i]);
	printf("\n");
}

/* Its first hit is one in leaf(). */
static void *call(void *unused)
{
	leaf_run();
	return unused;
}

/* The last round is a child's, which prints it. -> whether the round was this process's */
static bool called(int round)
{
	pthread_t thread;
	pid_t child;
	int status;

	if (round < ROUNDS - 1)
		return !pthread_create(&thread, NULL, call, NULL) && !pthread_join(thread, NULL);
	fflush(stdout);
	child = fork();
	if (!child) {
		leaf_run();
		return true;
	}
	waitpid(child, &status, 0);
	return false;
}

int main(void)
{
	static const uint64_t flags = 0x8d5;
	uint64_t x = 88172645463325252u;

	leaf_kind = kind_of();
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t *words = (uint64_t *)&leaf_state;

		for (size_t i = 0; i < sizeof(leaf_state) / sizeof(*words); i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			words[i] = x;
		}
		leaf_word = x * 3;
		leaf_state.flags = 0x202 | (x & flags & ~0x10ull);
		if (!called(round))
			break;
		words_print("general", leaf_state.general, GENERAL);
		leaf_state.flags &= flags | 0x400;
		words_print("flags", &leaf_state.flags, 1);
		words_print("below", leaf_state.red_zone, 2);
		words_print("masks", leaf_state.masks, MASKS);
		for (int i = 0; i < VECTORS; i++)
			words_print("vector", leaf_state.vectors[i], VECTOR_WORDS);
	}
	return 3;
}
