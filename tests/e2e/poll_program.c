/* SPDX-License-Identifier: MIT */
/* poll_program.c - a program for tests/e2e/poll: one hit for each byte of its input */
#include <unistd.h>
#include <tracefuse/tracefuse.h>

TF_EVENT(polled, tick, (int, n));

int main(void)
{
	char c;

	for (int n = 0; read(STDIN_FILENO, &c, 1) == 1; n++)
		trace_tick(n);
	return 0;
}
