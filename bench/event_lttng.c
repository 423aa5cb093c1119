/* SPDX-License-Identifier: MIT */
/*
 * event_lttng.c - the same events by LTTng-UST, in a session of its own that overwrites: what
 * bench/event.c compares with
 *
 * Without arguments it starts a session daemon (unless there is one), makes the
 * session, runs itself as the traced program, and takes all of it away again.
 * Where LTTng's tools are missing it prints nothing.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "event_lttng_provider.h"
#include "measure.h"

static void hits(int nr)
{
	for (int i = 0; i < nr; i++)
		lttng_ust_tracepoint(tracefuse_bench, ring, i, 1);
}

/* The traced program. */
static int traced(void)
{
	for (int i = 0; i < 1000 && !lttng_ust_tracepoint_enabled(tracefuse_bench, ring); i++)
		usleep(1000);
	if (!lttng_ust_tracepoint_enabled(tracefuse_bench, ring)) {
		fprintf(stderr, "bench: LTTng does not trace here\n");
		return 1;
	}
	BENCH("LTTng-UST, event, 2 integers, into the ring",
	      lttng_ust_tracepoint(tracefuse_bench, ring, (int)i, 1));
	BENCH("LTTng-UST, event that is off", lttng_ust_tracepoint(tracefuse_bench, off, (int)i, 1);
	      __asm__ __volatile__("" : : : "memory"));
	printf("LTTng-UST, 1 thread, M events/s\t%.1f\n", bench_throughput(1, hits));
	printf("LTTng-UST, 2 threads, M events/s\t%.1f\n", bench_throughput(2, hits));
	return 0;
}

static int command(const char *format, const char *arg)
{
	char text[1024];

	snprintf(text, sizeof(text), format, arg);
	return system(text);
}

static int run_traced(const char *self)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		/* The program waits until the daemon knows it. */
		setenv("LTTNG_UST_REGISTER_TIMEOUT", "3000", 1);
		execl(self, self, "traced", (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/tracefuse-lttng-XXXXXX";
	bool own;
	int rc = 0;

	if (argc > 1)
		return traced();
	if (system("command -v lttng >/dev/null && command -v lttng-sessiond >/dev/null") ||
	    !mkdtemp(dir))
		return 0;
	setenv("LTTNG_HOME", dir, 1);
	own = !command("lttng-sessiond -b --no-kernel --pidfile=%s/pid >/dev/null 2>&1", dir);
	if (!command("cd %s && lttng -n create tracefuse-bench --output=$PWD/out >/dev/null 2>&1 &&"
		     "lttng -n enable-channel -u --overwrite --subbuf-size=1M --num-subbuf=2 c "
		     ">/dev/null 2>&1 &&"
		     "lttng -n enable-event -u -c c tracefuse_bench:ring >/dev/null 2>&1 &&"
		     "lttng -n start >/dev/null 2>&1",
		     dir)) {
		rc = run_traced(argv[0]);
		fflush(stdout);
	}
	command("lttng -n destroy tracefuse-bench >/dev/null 2>&1; rm -rf %s/out", dir);
	if (own)
		command("kill $(cat %s/pid) 2>/dev/null; sleep 0.2", dir);
	command("rm -rf %s", dir);
	return rc;
}
