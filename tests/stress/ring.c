/* SPDX-License-Identifier: MIT */
/*
 * ring.c - interrupts, moves, nests and kills writers; readers are in another process
 *
 * Each record has its writer, a number, the time before it was written and a check word. The thread
 * sanitizer cannot see into restartable sections, so the test checks the records themselves.
 */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <pthread.h>
#include "plane/arch/ring_commit.h"
#include "plane/clock.h"
#include "plane/plane.h"
#include "plane/ring/ring.h"
#include "session/session.h"
#include "../unit/session/temp_place.h"

enum {
	PROCESSES = 3,
	THREADS = 3,
	WRITERS = PROCESSES * THREADS,
	KILLS = SANITIZED ? 200 : 1000,	/* no sanitizer sees what they leave over */
	KILL_RECORDS = 2000
};
enum { CPUS_MAX = 1024, LANES = WRITERS * LAYOUT_HIT_LEVELS };

struct record {
	struct record_common common;
	uint32_t	lane;		/* writer and level */
	uint32_t	number;
	uint64_t	before;		/* time before it was written */
	uint64_t	check;
	uint32_t	more[8];
};

static struct shared {
	_Atomic uint32_t written[LANES];
	_Atomic uint32_t done;
} *shared;

static struct session *session;
static struct plane *plane;
static struct slot *slots[WRITERS];
static data_ref buffer;
static uint32_t nr_cpus, per_thread, per_handler;
static bool mixed;
static int failures;

static __thread struct slot *own;
static __thread uint32_t me;
static __thread uint32_t seed;

static void check(bool ok, const char *what, uint64_t a, uint64_t b)
{
	if (!ok && failures++ < 10)
		printf("# %s: %llu, %llu\n", what, (unsigned long long)a, (unsigned long long)b);
}

static uint32_t chance(uint32_t n)
{
	seed = seed * 1103515245 + 12345;
	return seed / 65536 % n;
}

static uint64_t sum(const struct record *r)
{
	return (r->lane * 2654435761ull ^ r->number) * 0x9e3779b97f4a7c15ull ^ r->before;
}

static uint32_t size_of(uint32_t number)
{
	return (uint32_t)offsetof(struct record, more) + number % 8 * 4;
}

/* ---- writers ---- */

static bool put_record(uint32_t lane)
{
	struct record r = { .common.type = 300, .lane = lane, .number = shared->written[lane] };

	r.before = clock_now(&plane_header(plane)->tsc, plane_instance(plane, 0));
	r.check = sum(&r);
	for (uint32_t i = 0; i < 8; i++)
		r.more[i] = r.number;
	return !ring_write(plane, own, buffer, 0, me % nr_cpus, 0, &r, size_of(r.number));
}

/* A handler that runs while the depth is raised writes into another lane. */
static void put(uint32_t limit)
{
	uint32_t depth = atomic_load_explicit(&own->depth, memory_order_relaxed);
	uint32_t lane = me * LAYOUT_HIT_LEVELS + depth;

	if (depth >= LAYOUT_HIT_LEVELS)
		return;
	atomic_store_explicit(&own->depth, depth + 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	if (shared->written[lane] < limit && put_record(lane))
		shared->written[lane]++;
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&own->depth, depth, memory_order_relaxed);
}

static void on_signal(int sig)
{
	if (own)
		put(per_handler);
}

/*
 * Starts two signals that may interrupt each other, with periods that have no common factor with
 * others.
 */
static void start_timers(timer_t t[2])
{
	for (int i = 0; i < 2; i++) {
		struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID,
				      .sigev_signo = i ? SIGUSR2 : SIGUSR1 };
		struct itimerspec when = { .it_interval.tv_nsec =
						  53000 + 17000 * i + (long)me * 1009,
					  .it_value.tv_nsec = 20000 };

		ev._sigev_un._tid = (pid_t)syscall(SYS_gettid);
		if (timer_create(CLOCK_MONOTONIC, &ev, &t[i]) ||
		    timer_settime(t[i], 0, &when, NULL))
			_exit(2);
	}
}

static void wander(uint32_t i)
{
	cpu_set_t set;

	if (i % 16 == 0)
		sched_yield();
	if (i % 64)
		return;
	CPU_ZERO(&set);
	CPU_SET(chance(nr_cpus), &set);
	/* A CPU that this process may not use is refused */
	sched_setaffinity(0, sizeof(set), &set);
}

static void *thread(void *arg)
{
	timer_t timers[2];

	me = (uint32_t)(uintptr_t)arg;
	seed = me + 1;
	own = slots[me];
	start_timers(timers);
	for (uint32_t i = 0; i < per_thread; i++) {
		put(UINT32_MAX);
		wander(i);
	}
	timer_delete(timers[0]);
	timer_delete(timers[1]);
	return NULL;
}

static _Noreturn void process(uint32_t index)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pthread_t threads[THREADS];

	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGUSR2, &sa, NULL);
	for (uint32_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread,
				   (void *)(uintptr_t)(index * THREADS + i)))
			_exit(3);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}

static void start(pid_t pids[PROCESSES])
{
	memset(shared, 0, sizeof(*shared));
	fflush(stdout);
	for (uint32_t i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		if (!pids[i])
			process(i);
	}
}

/* ---- the session ---- */

static void make_buffer(uint64_t bytes)
{
	uint64_t sizes[CPUS_MAX];

	for (uint32_t i = 0; i < nr_cpus; i++)
		sizes[i] = bytes;
	if (buffer)
		buffer_free(session, buffer);
	if (buffer_create(session, 0, nr_cpus, 4096, sizes, 1, true, &buffer)) {
		puts("Bail out! no memory for rings");
		exit(1);
	}
}

static void make_session(void)
{
	struct session_params params = { .nr_slots = 32, .memory = 512 << 20 };
	bool without = rseq_cpu() < 0;

	if (session_create(NULL, &params, &session)) {
		puts("Bail out! no session");
		exit(1);
	}
	plane = session_plane(session);
	nr_cpus = session_header(session)->nr_cpus;
	for (uint32_t i = 0; i < WRITERS; i++) {
		slots[i] = session_slot_get(session);
		if (!without && !(mixed && i % 2))
			continue;
		atomic_store(&slots[i]->lease, RING_LEASE_ONLY);
		check(!ring_lease_give(session, slots[i]->index), "no lease", i, 0);
	}
	/* Leased rings are small. */
	per_thread = without || mixed ? 3000 : 20000;
	per_handler = without || mixed ? 60 : 2000;
}

/* ---- readers ---- */

/* Copies a record, because records are aligned to 4 only. Valid until the next call. */
static const struct record *valid(const struct ring_record *r)
{
	static struct record rec;
	const uint32_t head = offsetof(struct record, more);

	memset(&rec, 0, sizeof(rec));
	memcpy(&rec, r->record, r->size < sizeof(rec) ? r->size : sizeof(rec));
	if (r->size < head || rec.lane >= LANES || rec.check != sum(&rec) ||
	    r->size != size_of(rec.number)) {
		check(false, "a record is torn", r->size, 0);
		return NULL;
	}
	for (uint32_t i = 0; i < (r->size - head) / 4; i++)
		check(rec.more[i] == rec.number, "a record's end is torn", rec.more[i], rec.number);
	check(r->time >= rec.before, "a time is too early", r->time, rec.before);
	return &rec;
}

/*
 * Checks that all written records exist once and in order, and that a record's time is before the
 * beginning of the next one.
 */
static void read_all(void)
{
	static uint32_t next[LANES];
	static uint64_t last[LANES];
	struct ring_iter *it;
	struct ring_record r;
	uint64_t time = 0;

	memset(next, 0, sizeof(next));
	memset(last, 0, sizeof(last));
	if (ring_iter_open(session, buffer, -1, &it))
		exit(1);
	while (ring_iter_next(it, &r) == 1) {
		const struct record *rec = valid(&r);

		if (!rec)
			continue;
		check(r.time >= time, "time steps back", r.time, time);
		check(rec->number == next[rec->lane], "out of order", rec->number, next[rec->lane]);
		check(rec->before >= last[rec->lane], "a time is too late", rec->before,
		      last[rec->lane]);
		time = last[rec->lane] = r.time;
		next[rec->lane] = rec->number + 1;
	}
	ring_iter_close(it);
	for (uint32_t i = 0; i < LANES; i++)
		check(next[i] == shared->written[i], "records are missing", next[i],
		      shared->written[i]);
}

static void wait_all(const pid_t pids[PROCESSES])
{
	int status;

	for (uint32_t i = 0; i < PROCESSES; i++)
		check(waitpid(pids[i], &status, 0) == pids[i] && !status, "a writer failed", i,
		      (uint64_t)status);
}

static void interrupted_and_moved(void)
{
	pid_t pids[PROCESSES];

	make_buffer(32 << 20);
	start(pids);
	wait_all(pids);
	read_all();
}

/* Uses a clock so fast that most deltas exceed 27 bits. */
static void large_deltas(void)
{
	struct clock_scale *scale = &session_header(session)->tsc, saved = *scale;

	scale->shift = scale->shift > 20 ? scale->shift - 16 : scale->shift;
	interrupted_and_moved();
	*scale = saved;
}

/*
 * Uses a clock that makes a system call, so threads are moved between the choice of a CPU and the
 * commit.
 */
static void moved_before_the_commit(void)
{
	struct instance_state *inst = plane_instance(plane, 0);

	atomic_store(&inst->clock, CLOCK_ID_MONO);
	interrupted_and_moved();
	atomic_store(&inst->clock, CLOCK_ID_LOCAL);
}

static bool running(void)
{
	siginfo_t info = { 0 };

	return !waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | WNOHANG) && !info.si_pid;
}

/* Copies pages while writers overwrite the ring: each copied page is consistent. */
static void read_under_the_writer(void)
{
	pid_t pids[PROCESSES];
	struct ring_record r;
	struct ring_iter *it;

	make_buffer(2 * 4096);
	start(pids);
	while (running()) {
		if (ring_iter_open(session, buffer, -1, &it))
			exit(1);
		while (ring_iter_next(it, &r) == 1)
			valid(&r);
		ring_iter_close(it);
	}
	wait_all(pids);
}

static uint64_t written(void)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < LANES; i++)
		n += shared->written[i];
	return n;
}

/* A slow reader gets consistent records, and the lost ones are counted. */
static void slow_reader(void)
{
	pid_t pids[PROCESSES];
	struct ring_consumer *c;
	uint64_t read = 0, lost = 0;
	struct ring_record r;
	bool alive = true;

	make_buffer(3 * 4096);
	start(pids);
	if (ring_consumer_open(session, -1, &c))
		exit(1);
	while (alive) {
		alive = running();
		for (int i = 0; i < (alive ? 50 : 1 << 30) && ring_consume(c, buffer, &r) == 1;
		     i++) {
			valid(&r);
			read++;
			lost += r.lost;
		}
		usleep(200);
	}
	wait_all(pids);
	for (; ring_consume(c, buffer, &r) == 1; read++, lost += r.lost)
		valid(&r);
	ring_consumer_close(c);
	check(read + lost == written(), "read and lost are not what was written", read + lost,
	      written());
	check(mixed || rseq_cpu() < 0 || lost, "nothing was lost: the test is too slow", read,
	      lost);
}

/* ---- killed writers ---- */

static _Noreturn void victim(void)
{
	own = slots[me];
	for (uint32_t i = 0; i < KILL_RECORDS; i++)
		put(UINT32_MAX);
	for (;;)
		pause();
}

static void killed_at_random(void)
{
	struct ring_consumer *c;
	uint32_t next[LANES] = { 0 };
	struct ring_record r;

	make_buffer(1 << 20);
	memset(shared, 0, sizeof(*shared));
	if (ring_consumer_open(session, -1, &c))
		exit(1);
	fflush(stdout);
	for (int i = 0; i < KILLS; i++) {
		struct timespec t = { .tv_nsec = chance(400000) };
		pid_t pid;

		me = (uint32_t)i % WRITERS;
		atomic_store(&slots[me]->depth, 0);
		/*
		 * A record that the killed writer committed but did not note is not written again.
		 */
		shared->written[me * LAYOUT_HIT_LEVELS] = next[me * LAYOUT_HIT_LEVELS];
		pid = fork();
		if (!pid)
			victim();
		nanosleep(&t, NULL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		while (ring_consume(c, buffer, &r) == 1) {
			const struct record *rec = valid(&r);

			check(!r.lost, "a killed writer's records are lost", r.lost, (uint64_t)i);
			if (!rec)
				continue;
			check(rec->number == next[rec->lane], "out of order", rec->number,
			      next[rec->lane]);
			next[rec->lane] = rec->number + 1;
		}
		check(next[me * LAYOUT_HIT_LEVELS] - shared->written[me * LAYOUT_HIT_LEVELS] <= 1,
		      "what was committed is missing", next[me * LAYOUT_HIT_LEVELS],
		      shared->written[me * LAYOUT_HIT_LEVELS]);
	}
	ring_consumer_close(c);
}

int main(int argc, char **argv)
{
	static const struct {
		const char	*name;
		void		(*run)(void);
	} tests[] = {
		{ "threads interrupted and moved lose nothing", interrupted_and_moved },
		{ "every time is right with large deltas", large_deltas },
		{ "threads moved before the commit write nowhere else", moved_before_the_commit },
		{ "pages read under the writer are whole", read_under_the_writer },
		{ "a slow reader gets whole records and true losses", slow_reader },
		{ "writers killed at random leave the ring whole", killed_at_random },
	};
	int bad = 0;

	mixed = argc > 1 && !strcmp(argv[1], "mixed");
	if (!temp_place())
		return temp_place_skip();
	atexit(temp_place_remove);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	make_session();
	printf("TAP version 13\n1..6\n");
	for (int i = 0; i < 6; i++) {
		failures = 0;
		tests[i].run();
		printf("%sok %d - %s\n", failures ? "not " : "", i + 1, tests[i].name);
		bad |= failures;
	}
	session_close(session);
	return bad != 0;
}
