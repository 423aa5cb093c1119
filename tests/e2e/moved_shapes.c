/* SPDX-License-Identifier: MIT */
/*
 * moved_shapes.c - functions that begin as few do: a loop to the first instruction with data below
 * the stack pointer, flags as arguments and results, and functions of libc that the program
 * contains. Prints a line for each and ends with 3.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

__asm__(
	"	.text\n"
	"	.macro	begin name\n"
	"	.type	\\name, @function\n"
	"\\name:	.cfi_startproc\n"
	"	.endm\n"
	"	.macro	end name\n"
	"	.cfi_endproc\n"
	"	.size	\\name, . - \\name\n"
	"	.endm\n"
	/* sum_backwards(numbers, nr): the sum of the first and the last, by a copy of all */
	"	begin	sum_backwards\n"
	"	subq	$1, %rsi\n"
	"	movq	(%rdi, %rsi, 8), %rax\n"
	"	movq	%rax, -104(%rsp, %rsi, 8)\n"
	"	jne	sum_backwards\n"
	"	movq	-104(%rsp), %rax\n"
	"	addq	-16(%rsp), %rax\n"
	"	addq	-64(%rsp), %rax\n"
	"	ret\n"
	"	end	sum_backwards\n"
	/* the first argument, the second one and the carry */
	"	begin	add_carry\n"
	"	movq	%rdi, %rax\n"
	"	adcq	%rsi, %rax\n"
	"	ret\n"
	"	end	add_carry\n"
	/* the carry is the lowest bit */
	"	begin	lowest_bit\n"
	"	movq	%rdi, %rax\n"
	"	shrq	$1, %rax\n"
	"	ret\n"
	"	end	lowest_bit\n"
	"	begin	use_flags\n"
	"	movl	$40, %edi\n"
	"	movl	$1, %esi\n"
	"	stc\n"
	"	call	add_carry\n"
	"	movq	%rax, %rsi\n"
	"	movl	$5, %edi\n"
	"	call	lowest_bit\n"
	"	movl	$0, %eax\n"
	"	adcq	%rsi, %rax\n"
	"	ret\n"
	"	end	use_flags\n");

long sum_backwards(const long *numbers, size_t nr);
long use_flags(void);

size_t strlen(const char *s)
{
	size_t n = 0;

	while (*(const volatile char *)&s[n])
		n++;
	return n;
}

void *memcpy(void *to, const void *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((volatile char *)to)[i] = ((const char *)from)[i];
	return to;
}

static void *measure(void *arg)
{
	static size_t (*volatile length)(const char *) = strlen;
	char copy[32];
	size_t all = 0;

	for (int i = 0; i < 300; i++)
		all += length(memcpy(copy, arg, 12));
	return (void *)all;
}

int main(void)
{
	static const long numbers[12] = { 1, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0, 7 };
	pthread_t threads[3];
	void *all;

	printf("%ld\n", sum_backwards(numbers, 12));
	printf("%ld\n", use_flags());
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, measure, "eleven long"))
			return 1;
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], &all);
		printf("%zu\n", (size_t)all);
	}
	return 3;
}
