/* SPDX-License-Identifier: MIT */
/*
 * run_program.c - a program with events, for the tests of `tracefuse run`
 *
 *   run_program N [MICROSECONDS]   N times app:request, with a pause after each
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <tracefuse/tracefuse.h>

TF_EVENT(app, request, (int, number), (const char *, text));
TF_EVENT(app, early, (int, number));

__attribute__((constructor)) static void before_main(void)
{
	trace_early(1);
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 3;

	for (int i = 0; i < nr; i++) {
		trace_request(i % 10, "hello");
		if (argc > 2)
			usleep((useconds_t)atoi(argv[2]));
	}
	printf("%d requests\n", nr);
	return 3;
}
