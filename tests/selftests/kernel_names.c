/* SPDX-License-Identifier: MIT */
/*
 * kernel_names.c - functions with names of the kernel's, for its selftests: a stand-in for a kernel
 * whose functions are called all the time
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* The line: functions of the same code would become one. */
#define FUNCTION(name)								\
	__attribute__((noinline)) long name(long a)				\
	{									\
		sum += a + __LINE__;						\
		return sum;							\
	}

static volatile long sum;

FUNCTION(schedule)
FUNCTION(schedule_timeout)
FUNCTION(reschedule)
FUNCTION(schedule_tail)
FUNCTION(sched_tick)
FUNCTION(scheduler_tick)
FUNCTION(mutex_lock)
FUNCTION(mutex_unlock)
FUNCTION(mutex_trylock)
FUNCTION(mutex_is_unlocked)
FUNCTION(spin_lock)
FUNCTION(spin_unlock)
FUNCTION(cond_spin_unlock)
FUNCTION(raw_spin_lock)
FUNCTION(rcu_read)
FUNCTION(kernel_clone)
FUNCTION(_do_fork)
FUNCTION(do_execve)
FUNCTION(vfs_read)
FUNCTION(vfs_open)
FUNCTION(kfree)
FUNCTION(sys_read)
FUNCTION(Sys_write)
FUNCTION(inet_csk_accept)

static long (*const all[])(long) = {
	schedule_timeout, reschedule, schedule_tail, sched_tick, scheduler_tick, mutex_lock,
	mutex_unlock, mutex_trylock, mutex_is_unlocked, spin_lock, spin_unlock,
	cond_spin_unlock, raw_spin_lock, rcu_read, kernel_clone, _do_fork, do_execve, vfs_read,
	vfs_open, kfree, sys_read, Sys_write, inet_csk_accept, schedule,
};

/* Ends with the test: its parent is gone, then. */
int main(void)
{
	const struct timespec a_while = { .tv_nsec = 1000000 };
	const pid_t parent = getppid();

	while (getppid() == parent) {
		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
			all[i]((long)i);
		nanosleep(&a_while, NULL);
	}
	return 0;
}
