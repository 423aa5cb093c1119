/* SPDX-License-Identifier: MIT */
/*
 * event.c - a static event of a program from its macro to the ring, as programs have it: by way of libtracefuse.so
 *
 * The program is its own server: a thread answers the attach socket.
 */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>
#include "house.h"
#include "model/event_file.h"
#include "plane/arch/counter.h"
#include "session/attach.h"
#include "tracefuse/tracefuse.h"

TF_EVENT(bench, off, (int, a), (int, b));
TF_EVENT(bench, ring, (int, a), (int, b));
TF_EVENT(bench, hist, (unsigned int, a), (int, b));

static volatile uint64_t sink;
static struct session *session;
static struct model *model;
static int last_id = BENCH_EVENT;
static _Atomic int stop;

static int define(void *arg, const struct attach_peer *peer, const char *system, const char *name, const char *body)
{
	struct event *e = NULL;
	char text[4096];

	snprintf(text, sizeof(text), "name: %s\nID: %d\nformat:\n%s", name, ++last_id, body);
	if (model_add_event(model, system, text, strlen(text), &e))
		return -EINVAL;
	return last_id;
}

static void *serve(void *arg)
{
	while (!stop) {
		attach_serve(session);
		usleep(1000);
	}
	return NULL;
}

static struct event_file *file_of(const char *name)
{
	struct event *e = model_find_event(model, "bench", name);

	if (!e)
		bench_fail(name);
	return event_file_get(model->top, e);
}

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
	const struct attach_hooks hooks = { .define = define };
	pthread_t server;
	int err;

	session = bench_session();
	if (model_create(session, &model))
		bench_fail("no model");
	attach_set_hooks(session, &hooks);
	pthread_create(&server, NULL, serve, NULL);
	err = tf_attach(session_dir(session));
	if (err)
		bench_fail("cannot attach");
	event_file_enable(file_of("ring"), true);
	if (event_file_trigger_write(file_of("hist"), "hist:keys=a"))
		bench_fail("no histogram");
	if (trace_off_enabled() || !trace_ring_enabled() || !trace_hist_enabled())
		bench_fail("the events are not as they should be");
	BENCH("static event that is off", trace_off((int)i, 1); __asm__ __volatile__("" : : : "memory"));
	BENCH("static event, 2 integers, into the ring", trace_ring((int)i, 1));
	BENCH("static event, one histogram", trace_hist(i & 7, 1));
	model->top->state->clock = CLOCK_ID_GLOBAL;
	BENCH("static event, into the ring, clock global", trace_ring((int)i, 1));
	model->top->state->clock = CLOCK_ID_LOCAL;
	BENCH("rdtsc at static events", sink += counter_read());
	all_threads();
	stop = 1;
	pthread_join(server, NULL);
	model_destroy(model);
	session_close(session);
	return 0;
}
