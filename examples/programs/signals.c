/* SPDX-License-Identifier: MIT */
/* signals.c - a program that sends itself five signals; see signals.setup */
#include <signal.h>
#include <stdio.h>

static volatile sig_atomic_t seen;

static void on_signal(int sig)
{
	(void)sig;
	seen = seen + 1;
}

int main(void)
{
	signal(SIGUSR1, on_signal);
	for (int i = 0; i < 5; i++)
		raise(SIGUSR1);
	printf("%d signals\n", (int)seen);
	return seen != 5;
}
