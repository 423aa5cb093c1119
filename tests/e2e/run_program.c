/* SPDX-License-Identifier: MIT */
/*
 * run_program.c - a program with events, for the tests of `tracefuse run`
 *
 *   run_program N [MICROSECONDS]   N times app:request, with a pause after each
 *   run_program pairs              each of 5 things begins and ends
 *   run_program flood              app:request until it is switched off, then app:early
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <tracefuse/tracefuse.h>

TF_EVENT(app, request, (int, number), (const char *, text));
TF_EVENT(app, early, (int, number));
TF_EVENT(pair, begin, (int, id), (int, size));
TF_EVENT(pair, end, (const char *, how), (int, id));

__attribute__((constructor)) static void before_main(void)
{
	trace_early(1);
}

static int pairs(void)
{
	for (int id = 0; id < 5; id++) {
		trace_begin(id, 8);
		trace_end("done", id);
	}
	return 0;
}

/* Fails if nobody switches it off in half a minute. */
static int flood(void)
{
	const time_t end = time(NULL) + 30;

	while (trace_request_enabled() && time(NULL) < end)
		for (int i = 0; i < 1000; i++)
			trace_request(i, "hello");
	trace_early(2);
	return trace_request_enabled() ? 1 : 0;
}

int main(int argc, char **argv)
{
	const int nr = argc > 1 ? atoi(argv[1]) : 3;

	if (argc > 1 && !strcmp(argv[1], "pairs"))
		return pairs();
	if (argc > 1 && !strcmp(argv[1], "flood"))
		return flood();

	for (int i = 0; i < nr; i++) {
		trace_request(i % 10, "hello");
		if (argc > 2)
			usleep((useconds_t)atoi(argv[2]));
	}
	printf("%d requests\n", nr);
	return 3;
}
