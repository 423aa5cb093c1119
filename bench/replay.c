/* SPDX-License-Identifier: MIT */
/*
 * replay.c - how fast a recording passes through histograms
 *
 *     replay MAKE_RECORDING [EVENTS]
 *
 * Prints lines NAME<TAB>VALUE. MAKE_RECORDING is the program that writes the
 * recordings, which lie in a temporary directory meanwhile. Times are processor
 * time of this process, that of all threads together, best of three runs; where
 * threads are compared it is the time that passes. trace-cmd report of the same
 * file beside it where it is installed.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "model/model.h"
#include "sources/recording/source.h"
#include "tracefs/tree.h"

enum { RUNS = 3, THREADS_MAX = 4 };

struct bench {
	struct source	*source;
	struct session	*session;
	struct model	*model;
	struct tree	*tree;
};

static double cpu_seconds(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return u.ru_utime.tv_sec + u.ru_utime.tv_usec / 1e6 +
	       u.ru_stime.tv_sec + u.ru_stime.tv_usec / 1e6;
}

static void fail(const char *what, int ret)
{
	fprintf(stderr, "bench replay: %s: %s\n", what, strerror(-ret));
	exit(1);
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void bench_open(struct bench *b, const char *file, unsigned int threads)
{
	struct source_params params = { .files = &file, .nr_files = 1, .threads = threads };
	struct session_params session = { 0 };
	struct source_error err;
	int ret;

	ret = source_open(&params, &b->source, &err);
	if (ret)
		fail(err.text, ret);
	session.nr_cpus = source_nr_cpus(b->source);
	ret = session_create(NULL, &session, &b->session);
	if (!ret)
		ret = model_create(b->session, &b->model);
	if (ret)
		fail("session", ret);
	ret = source_import(b->source, b->model, &err);
	if (ret)
		fail(err.text, ret);
	b->tree = tree_create(b->model);
	if (!b->tree)
		fail("tree", -ENOMEM);
}

static void bench_close(struct bench *b)
{
	tree_destroy(b->tree);
	source_close(b->source);
	model_destroy(b->model);
	session_destroy(b->session);
}

static void write_file(struct bench *b, const char *path, const char *text)
{
	struct tree_file *f;
	ssize_t n;
	int ret = tree_open(b->tree, path, O_WRONLY | O_TRUNC, &f);

	if (ret)
		fail(path, ret);
	n = tree_write(f, text, strlen(text));
	ret = tree_release(f);
	if (n < 0 || ret)
		fail(path, n < 0 ? n : ret);
}

/* What is written before the replay; ended by one without a path. */
struct command {
	const char	*path, *text;
};

static void write_all(struct bench *b, const struct command *c)
{
	for (; c && c->path; c++)
		write_file(b, c->path, c->text);
}

/* How long all records take; `threads` 0: in processor time, with as many as there are CPUs. */
static double run_once(const char *file, const struct command *commands, unsigned int threads,
		       uint64_t *records)
{
	struct source_position pos;
	struct bench b;
	double used;
	int ret;

	bench_open(&b, file, threads);
	write_all(&b, commands);
	used = threads ? -seconds() : -cpu_seconds(RUSAGE_SELF);
	ret = source_run(b.source, NULL, NULL);
	used += threads ? seconds() : cpu_seconds(RUSAGE_SELF);
	if (ret)
		fail("replay", ret);
	source_position(b.source, &pos);
	*records = pos.records;
	bench_close(&b);
	return used;
}

/* Million events a second, best of RUNS. */
static double measure_threads(const char *file, const struct command *commands,
			      unsigned int threads)
{
	double used, best = 0;
	uint64_t records;
	int i;

	for (i = 0; i < RUNS; i++) {
		used = run_once(file, commands, threads, &records);
		if (used > 0 && (double)records / used > best)
			best = (double)records / used;
	}
	return best / 1e6;
}

static double measure(const char *file, const struct command *commands)
{
	return measure_threads(file, commands, 0);
}

static unsigned int usable_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned int)CPU_COUNT(&set);
}

/* As far as there are CPUs. */
static void compare_threads(const char *file, const struct command *commands)
{
	const double one = measure_threads(file, commands, 1);
	unsigned int n;
	double many;

	printf("replay: a histogram, 1 thread, M events/s\t%.1f\n", one);
	for (n = 2; n <= THREADS_MAX && n <= usable_cpus(); n *= 2) {
		many = measure_threads(file, commands, n);
		printf("replay: a histogram, %u threads, M events/s\t%.1f\n", n, many);
		printf("replay: a histogram, %u threads over 1\t%.2f\n", n, many / one);
	}
}

static int run(char *const *argv, bool quiet)
{
	int status, null;
	pid_t pid = fork();

	if (!pid) {
		null = open("/dev/null", O_WRONLY);
		if (quiet)
			dup2(null, 1);
		if (quiet)
			dup2(null, 2);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -ECHILD;
}

static double measure_report(const char *file, double events)
{
	char *argv[] = { "trace-cmd", "report", (char *)file, NULL };
	double start = cpu_seconds(RUSAGE_CHILDREN), used;

	if (run(argv, true))
		return 0;
	used = cpu_seconds(RUSAGE_CHILDREN) - start;
	return used > 0 ? events / used / 1e6 : 0;
}

static void make(const char *program, const char *algorithm, const char *events, const char *file)
{
	char *argv[] = { (char *)program, "-z",	       (char *)algorithm,
			(char *)events,	 (char *)file, NULL };

	if (run(argv, false))
		fail(program, -EIO);
}

#define WAKING	"events/sched/sched_waking/trigger"
#define SWITCH	"events/sched/sched_switch/trigger"

static const struct command by_pid[] = { { WAKING, "hist:keys=pid" }, { NULL, NULL } };
static const struct command by_next_pid[] = { { SWITCH, "hist:keys=next_pid" }, { NULL, NULL } };
/* The latency of every wakeup, as an event with a histogram of its own. */
static const struct command wakeup_latency[] = {
	{ "synthetic_events", "wakeup_latency u64 lat; pid_t pid; int prio" },
	{ WAKING, "hist:keys=pid:ts0=common_timestamp.usecs" },
	{ SWITCH, "hist:keys=next_pid:wakeup_lat=common_timestamp.usecs-$ts0:"
		  "onmatch(sched.sched_waking).wakeup_latency($wakeup_lat,next_pid,next_prio)" },
	{ "events/synthetic/wakeup_latency/trigger", "hist:keys=pid,lat.log2:sort=pid,lat" },
	{ NULL, NULL },
};
static const struct command wakeup_max[] = {
	{ WAKING, "hist:keys=pid:ts0=common_timestamp.usecs" },
	{ SWITCH, "hist:keys=next_pid:wakeup_lat=common_timestamp.usecs-$ts0:"
		  "onmax($wakeup_lat).save(next_comm,prev_pid,prev_prio,prev_comm)" },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	const char *events = argc > 2 ? argv[2] : "2000000";
	char dir[] = "/tmp/tracefuse-bench-XXXXXX", plain[64], packed[64];
	double report;

	if (argc < 2) {
		fprintf(stderr, "usage: replay MAKE_RECORDING [EVENTS]\n");
		return 2;
	}
	if (!mkdtemp(dir))
		fail(dir, -errno);
	snprintf(plain, sizeof(plain), "%s/plain.dat", dir);
	snprintf(packed, sizeof(packed), "%s/zstd.dat", dir);
	make(argv[1], "none", events, plain);
	make(argv[1], "zstd", events, packed);
	printf("replay: no trigger, M events/s\t%.1f\n", measure(plain, NULL));
	printf("replay: hist:keys=pid of sched_waking, M events/s\t%.1f\n", measure(plain, by_pid));
	printf("replay: hist:keys=next_pid of sched_switch, M events/s\t%.1f\n",
	       measure(plain, by_next_pid));
	printf("replay: the same from zstd, M events/s\t%.1f\n", measure(packed, by_next_pid));
	printf("replay: waking to switch, onmatch, synthetic hist, M events/s\t%.1f\n",
	       measure(plain, wakeup_latency));
	printf("replay: waking to switch, onmax save, M events/s\t%.1f\n",
	       measure(plain, wakeup_max));
	compare_threads(plain, by_next_pid);
	report = measure_report(plain, atof(events));
	if (report)
		printf("trace-cmd report of the same file, M events/s\t%.2f\n", report);
	unlink(plain);
	unlink(packed);
	rmdir(dir);
	return 0;
}
