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

int main(void)
{
	signal(SIGTRAP, count);
	FLAGS("orq $0x100,");
	for (int i = 0; i < 20; i++)
		free(malloc(20));
	(void)!write(-1, "", 1);
	FLAGS("andq $~0x100,");
	printf("stepped %d\n", (int)steps);
	return 0;
}
