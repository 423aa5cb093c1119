/* SPDX-License-Identifier: MIT */
/*
 * report_program.c - a program whose calls, system calls, allocations and locks are known
 *
 *     report_program functions     1 tree, 3 branch, 12 leaf, 6 descend (which calls itself)
 *     report_program wait FILE     the same again and again, until the file is there
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int seen;

__attribute__((noinline)) void leaf(void);
__attribute__((noinline)) void branch(void);
__attribute__((noinline)) void descend(int n);
__attribute__((noinline)) void tree(void);

void leaf(void)
{
	seen++;
}

void branch(void)
{
	for (int i = 0; i < 4; i++)
		leaf();
	seen++;
}

void descend(int n)
{
	if (n)
		descend(n - 1);
	seen++;
}

void tree(void)
{
	for (int i = 0; i < 3; i++)
		branch();
	descend(5);
	seen++;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "wait")) {
		puts("ready");
		fflush(stdout);
		while (access(argv[2], F_OK)) {
			tree();
			usleep(1000);
		}
	} else if (argc > 1 && !strcmp(argv[1], "functions")) {
		tree();
	}
	return seen ? 0 : 3;
}
