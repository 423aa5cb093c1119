/* SPDX-License-Identifier: MIT */
/*
 * interposed_steps.c - executes some of its calls with the trap flag set: each instruction ends in
 * SIGTRAP, also those of what is hooked
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile sig_atomic_t steps;

static void count(int sig)
{
	(void)sig;
	steps = 1;
}

#define FLAGS(change)									\
	__asm__ volatile("sub $128, %%rsp\n\tpushfq\n\t" change " (%%rsp)\n\tpopfq\n\t"	\
			 "add $128, %%rsp" : : : "memory", "cc")

/* It is linked without .eh_frame_hdr, so no function of it can be traced. */
static __attribute__((noinline)) void stepped_calls(int n)
{
	for (int i = 0; i < n; i++)
		free(malloc(20));
}

int main(int argc, char **argv)
{
	signal(SIGTRAP, count);
	FLAGS("orq $0x100,");
	stepped_calls(19 + (argc > 0));
	(void)!write(-1, "", 1);
	FLAGS("andq $~0x100,");
	printf("stepped %d\n", (int)steps);
	/* A program with functions that can be traced */
	return argc > 1 && system(argv[1]);
}
