/* SPDX-License-Identifier: MIT */
/*
 * merged_kill_program.c - gives app:tick before each of many short sleeps, until SIGTERM, and then
 * prints how often
 */
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <tracefuse/tracefuse.h>

TF_EVENT(app, tick, (int, number), (int, waiter));

static volatile sig_atomic_t ends;

static void on_end(int signal)
{
	(void)signal;
	ends = 1;
}

int main(void)
{
	const struct timespec pause = { .tv_nsec = 50000 };
	const int pid = (int)syscall(SYS_gettid);
	int nr = 0;

	signal(SIGTERM, on_end);
	while (!ends) {
		trace_tick(nr++, pid);
		nanosleep(&pause, NULL);
	}
	printf("ticks %d\n", nr);
	return 0;
}
