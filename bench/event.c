/* SPDX-License-Identifier: MIT */
/*
 * event.c - a static event of a program from its macro to the ring, as programs have it: by way of
 * libtracefuse.so
 */
#include "attached.h"
#include "plane/arch/counter.h"

TF_EVENT(bench, off, (int, a), (int, b));
TF_EVENT(bench, ring, (int, a), (int, b));
TF_EVENT(bench, hist, (unsigned int, a), (int, b));

static volatile uint64_t sink;

/* ---- Several threads ---- */

static void hits(int nr)
{
	for (int i = 0; i < nr; i++)
		trace_ring(i, 1);
}

static void all_threads(void)
{
	size_t cpus = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
	double one = bench_throughput(1, hits);

	printf("static event, 1 thread, M events/s\t%.1f\n", one);
	for (size_t n = 2; n <= cpus && n <= 16; n *= 2) {
		double many = bench_throughput(n, hits);

		printf("static event, %zu threads, M events/s\t%.1f\n", n, many);
		printf("static event, %zu threads over 1\t%.2f\n", n, many / one);
	}
}

int main(void)
{
	static struct bench_attached b;

	attached_open(&b);
	event_file_enable(attached_file(&b, "ring"), true);
	if (event_file_trigger_write(attached_file(&b, "hist"), "hist:keys=a"))
		bench_fail("no histogram");
	if (trace_off_enabled() || !trace_ring_enabled() || !trace_hist_enabled())
		bench_fail("the events are not as they should be");
	BENCH("static event that is off", trace_off((int)i, 1); __asm__ __volatile__(""
										     :
										     :
										     : "memory"));
	BENCH("static event, 2 integers, into the ring", trace_ring((int)i, 1));
	BENCH("static event, one histogram", trace_hist(i & 7, 1));
	b.model->top->state->clock = CLOCK_ID_GLOBAL;
	BENCH("static event, into the ring, clock global", trace_ring((int)i, 1));
	b.model->top->state->clock = CLOCK_ID_LOCAL;
	BENCH("rdtsc at static events", sink += counter_read());
	all_threads();
	attached_close(&b);
	return 0;
}
