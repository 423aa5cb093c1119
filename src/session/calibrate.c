/* SPDX-License-Identifier: MIT */
/*
 * calibrate.c - the scale of the time stamp counter (R18)
 *
 * The kernel knows it exactly and shows it in the user page of any perf event. Without perf, the
 * counter is timed for some milliseconds against CLOCK_MONOTONIC_RAW, which reads the same counter.
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "plane/arch/counter.h"
#include "plane/clock.h"

enum { TIMED_NS = 10000000, TRIES = 16 };

static int perf_page_open(struct perf_event_mmap_page **page)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
					.config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1 };
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -1;
	*page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	return *page == MAP_FAILED ? -1 : 0;
}

/* Multiplier and shift as the kernel has them. False: the kernel does not give them. */
static bool scale_of_kernel(struct clock_scale *out)
{
	struct perf_event_mmap_page *page;
	bool known;

	if (perf_page_open(&page))
		return false;
	known = page->cap_user_time && page->time_mult;
	if (known) {
		out->mult = page->time_mult;
		out->shift = page->time_shift;
	}
	munmap(page, 4096);
	return known;
}

/* Counter and clock at one moment: the pair with the shortest time between the two reads. */
static void read_pair(int clock, uint64_t *ticks, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = counter_read(), now = clock_system(clock), after = counter_read();

		if (after - before < best) {
			best = after - before;
			*ticks = before + best / 2;
			*ns = now;
		}
	}
}

static void scale_by_time(struct clock_scale *out)
{
	struct timespec pause = { 0, TIMED_NS };
	uint64_t t0 = 0, n0 = 0, t1 = 0, n1 = 0;

	read_pair(CLOCK_MONOTONIC_RAW, &t0, &n0);
	nanosleep(&pause, NULL);
	read_pair(CLOCK_MONOTONIC_RAW, &t1, &n1);
	out->shift = 32;
	out->mult = t1 > t0 ? (uint64_t)(((unsigned __int128)(n1 - n0) << 32) / (t1 - t0)) : 0;
}

/*
 * The same scale with the shift for which clock_scaled() is fastest, if the counter is faster than
 * 1 GHz.
 */
static void scale_widen(struct clock_scale *out)
{
	if (!out->shift || out->shift >= 64 || out->mult >> out->shift)
		return;
	out->mult <<= 64 - out->shift;
	out->shift = 64;
}

/* The scale of the machine does not change while it runs, so it is measured once in a process. */
static struct clock_scale scale;

static void find_scale(void)
{
	if (!scale_of_kernel(&scale))
		scale_by_time(&scale);
}

void clock_calibrate(struct clock_scale *out)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint64_t ticks = 0, ns = 0;

	memset(out, 0, sizeof(*out));
	if (!counter_constant())
		return;
	pthread_once(&once, find_scale);
	*out = scale;
	if (!out->mult)
		return;
	scale_widen(out);
	read_pair(CLOCK_MONOTONIC, &ticks, &ns);
	out->offset = (int64_t)(ns - clock_scaled(out, ticks));
	out->valid = 1;
}
