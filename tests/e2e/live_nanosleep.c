/* SPDX-License-Identifier: MIT */
/* live_nanosleep.c - nanosleep() by the system call of that name, which libraries of today avoid */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
	return (int)syscall(SYS_nanosleep, wanted, left);
}
