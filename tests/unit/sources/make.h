/* SPDX-License-Identifier: MIT */
/*
 * make.h - small recordings for the tests, made in memory
 *
 * Record n of CPU c of buffer b is a sched_waking of pid MADE_PID(b, c, n) at
 * made_time(b, c, n). CPU 2 of a buffer has no records.
 */
#ifndef TRACEFUSE_TESTS_SOURCES_MAKE_H
#define TRACEFUSE_TESTS_SOURCES_MAKE_H

#include "../../../bench/recording_writer.h"

enum { MADE_CPUS = 4, MADE_EMPTY_CPU = 2 };

#define MADE_PID(b, c, n) (1 + (b) * 100000 + (c) * 10000 + (n))

struct made {
	unsigned int	version;
	const char	*algorithm;
	unsigned int	nr_buffers;	/* named "", "foo", "bar" */
	unsigned int	nr_records;	/* for each CPU and buffer */
	unsigned int	next[3][MADE_CPUS];	/* next number, by buffer and CPU */
};

uint64_t made_time(unsigned int b, uint32_t cpu, unsigned int n);
/* Writes the recording to a temporary file and returns its path (free and unlink it). */
char *made_file(struct made *m);

/* Makes a recording of exactly these records, which are in order of time on each CPU. */
struct made_record {
	uint32_t	cpu;
	uint64_t	time;
	const void	*bytes;
	uint32_t	size;
};
char *made_records(const struct made_record *records, unsigned int nr, const char *algorithm);

/* Writes any `size` bytes to a temporary file and returns its path. */
char *made_bytes(const void *bytes, size_t size);
/* Reads a file into memory. */
uint8_t *made_read(const char *path, size_t *size);
void made_remove(char *path);

#endif
