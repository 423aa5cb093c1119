/* SPDX-License-Identifier: MIT */
/*
 * recording_all.c - recordings that are cut at each offset, and recordings with changed bytes
 *
 *     recording_all STEP MUTATIONS RECORDING...
 *
 * Reads prefixes in steps of STEP bytes, and MUTATIONS mutations of all recordings together, with
 * and without --partial. Only a crash or an error of a sanitizer is a failure. The number of a
 * mutation decides which bytes change.
 *
 * All of it takes twenty minutes under sanitizers. If FUZZ_SECONDS is not set, a run with STEP 1
 * does only one part of PARTS, which changes each second. The part is printed; RECORDING_PART
 * chooses one.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "replayed.h"

static struct {
	unsigned char	*bytes;
	size_t		size;
} input;

enum { WORKERS_MAX = 16, MEMORY = 256 << 20, PARTS = 200 };

struct work {
	size_t		step;		/* 0: no prefixes */
	unsigned int	mutations;
	unsigned int	parts, part;
};

static int fd;			/* a file in memory with the present bytes */

static void read_input(const char *path)
{
	FILE *in = fopen(path, "re");

	if (!in || fseek(in, 0, SEEK_END))
		abort();
	input.size = (size_t)ftell(in);
	rewind(in);
	free(input.bytes);
	input.bytes = malloc(input.size + 1);
	if (!input.bytes || fread(input.bytes, 1, input.size, in) != input.size)
		abort();
	fclose(in);
}

static void try(size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (ftruncate(fd, 0) || pwrite(fd, input.bytes, size, 0) != (ssize_t)size)
		abort();
	replayed(path, false, MEMORY);
	replayed(path, true, MEMORY);
}

static uint32_t random_number(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* Changes up to four numbers of 1, 2, 4 or 8 bytes to values near a limit, or to any value. */
static void mutate(uint32_t seed)
{
	static const uint64_t limits[] = {
		0, 1, 0x7f, 0xff, 0x7fff, 0xffff, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX,
	};
	const size_t nr_limits = sizeof(limits) / sizeof(limits[0]);
	uint32_t state = seed * 2654435761u;
	unsigned int n = 1 + random_number(&state) % 4;

	while (n--) {
		uint64_t value = limits[random_number(&state) % nr_limits];
		size_t width = (size_t)1 << random_number(&state) % 4;
		/*
		 * The descriptions of records come before the records, so more of the changes go
		 * there.
		 */
		size_t end = random_number(&state) % 4 ? input.size : input.size / 16;
		size_t at = end > width ? random_number(&state) % (end - width) : 0;

		if (random_number(&state) % 2)
			value = random_number(&state) % 256;
		if (at + width <= input.size)
			memcpy(input.bytes + at, &value, width);
	}
}

/* Does one process's share of all prefixes or mutations. */
static void work(const char *path, const struct work *w, unsigned int worker, unsigned int workers)
{
	read_input(path);
	fd = memfd_create("recording", MFD_CLOEXEC);
	for (size_t i = w->part + worker * w->parts; w->step && i * w->step <= input.size;
	     i += workers * w->parts)
		try(i * w->step);
	for (unsigned int i = w->part + worker * w->parts; i < w->mutations;
	     i += workers * w->parts) {
		read_input(path);
		mutate(i);
		try(input.size);
	}
	exit(0);
}

/* Runs in separate processes, so that a crash is only one failure. */
static int apart(int nr, const char *what, const char *path, const struct work *w)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	const unsigned int workers = cpus > WORKERS_MAX ? WORKERS_MAX : cpus > 0 ? cpus : 1;
	pid_t pids[WORKERS_MAX];
	int failed = 0, status;

	fflush(stdout);
	for (unsigned int i = 0; i < workers; i++) {
		pids[i] = fork();
		if (!pids[i])
			work(path, w, i, workers);
		if (pids[i] < 0)
			abort();
	}
	for (unsigned int i = 0; i < workers; i++) {
		if (waitpid(pids[i], &status, 0) != pids[i])
			abort();
		if (status)
			printf("# %s %d\n", WIFSIGNALED(status) ? "signal" : "status",
			       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
		failed |= status;
	}
	printf("%s %d - %s: %s\n", failed ? "not ok" : "ok", nr, path, what);
	return !!failed;
}

/* Chooses the part of a short run. */
static void choose_part(struct work *w)
{
	const char *part = getenv("RECORDING_PART");

	w->parts = w->step == 1 && !getenv("FUZZ_SECONDS") ? PARTS : 1;
	w->part = (part ? (unsigned int)atoi(part) : (unsigned int)time(NULL)) % w->parts;
	if (w->parts > 1)
		printf("# part %u of %u\n", w->part, w->parts);
}

int main(int argc, char **argv)
{
	const unsigned int nr_files = argc > 3 ? (unsigned int)argc - 3 : 0;
	struct work cuts, changes;
	int nr = 0, failed = 0;

	if (!nr_files) {
		fprintf(stderr, "usage: recording_all STEP MUTATIONS RECORDING...\n");
		return 2;
	}
	cuts = (struct work){ .step = (size_t)atol(argv[1]) };
	choose_part(&cuts);
	changes = cuts;
	changes.step = 0;
	changes.mutations = (unsigned int)atoi(argv[2]) / nr_files;
	for (int i = 3; i < argc; i++) {
		if (cuts.step)
			failed += apart(++nr, "cut", argv[i], &cuts);
		if (changes.mutations)
			failed += apart(++nr, "changed", argv[i], &changes);
	}
	printf("1..%d\n", nr);
	return !!failed;
}
