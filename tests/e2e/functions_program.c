/* SPDX-License-Identifier: MIT */
/*
 * functions_program.c - functions that call each other, for the tests of function tracing
 *
 *   functions_program [N]      parse_all() over N lines, then ends
 *   functions_program wait     the same with each line of its standard input, until that ends
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static volatile int sum;

NOINLINE void parse_word(int n)
{
	sum += n;
}

NOINLINE void parse_line(int n)
{
	parse_word(n);
	parse_word(n + 1);
	sum++;
}

NOINLINE void print_sum(void)
{
	printf("%d\n", sum);
	fflush(stdout);
}

NOINLINE void parse_all(int n)
{
	for (int i = 0; i < n; i++)
		parse_line(i);
	print_sum();
	sum++;
}

int main(int argc, char **argv)
{
	char line[64];

	if (argc < 2 || strcmp(argv[1], "wait")) {
		parse_all(argc > 1 ? atoi(argv[1]) : 3);
		return 5;
	}
	while (fgets(line, sizeof(line), stdin))
		parse_all(atoi(line));
	return 0;
}
