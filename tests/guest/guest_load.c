/* SPDX-License-Identifier: MIT */
/*
 * guest_load.c - tasks that wake each other, sleep, and ask for memory
 *
 * usage: guest_load ROUNDS
 *
 * Two processes pass a byte to and fro, over pipes. Every 16th round one sleeps a little, every
 * 32nd one makes and removes a pipe.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nap(void)
{
	struct timespec t = { 0, 20000 };

	/* As it is named in the examples; the library asks for clock_nanosleep. */
	syscall(SYS_nanosleep, &t, NULL);
}

static void open_and_close(void)
{
	int ends[2];

	if (pipe(ends))
		exit(1);
	close(ends[0]);
	close(ends[1]);
}

static void echo_bytes(int in, int out)
{
	char byte;

	while (read(in, &byte, 1) == 1)
		if (write(out, &byte, 1) != 1)
			break;
	_exit(0);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1000;
	int there[2], back[2], status;
	char byte = 'x';

	if (pipe(there) || pipe(back))
		return 1;
	if (!fork()) {
		close(there[1]);
		echo_bytes(there[0], back[1]);
	}
	for (long i = 0; i < rounds; i++) {
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			return 1;
		if (i % 16 == 0)
			nap();
		if (i % 32 == 0)
			open_and_close();
	}
	close(there[1]);
	wait(&status);
	return status != 0;
}
