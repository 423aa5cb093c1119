/* SPDX-License-Identifier: MIT */
/*
 * times.h - the options of a file that change its time stamps
 *
 *     time stamp in the file
 *        |  TIME_SHIFT     the clock of a guest becomes that of its host, for each CPU
 *        |  TSC2NSEC       cycles become nanoseconds
 *        v  DATE, OFFSET   a distance for all
 *     time stamp of the record
 *
 * The order is that of trace-cmd. The pages of such a file are converted: see foreign.h.
 */
#ifndef TRACEFUSE_SOURCES_RECORDING_FILE_TIMES_H
#define TRACEFUSE_SOURCES_RECORDING_FILE_TIMES_H

#include <stdbool.h>
#include <stdint.h>

struct trace_dat;
struct cursor;

/* What was measured at one time of the guest. */
struct times_sample {
	uint64_t	time;
	int64_t		offset;
	uint64_t	scaling;	/* times 2^fraction */
	uint8_t		fraction;
};

struct times_cpu {
	uint32_t	nr;
	struct times_sample *samples;	/* in order of time, no two at the same one */
};

struct dat_times {
	bool		interpolates;	/* between the offsets of two samples */
	uint32_t	nr_cpus;
	struct times_cpu *cpus;
	uint32_t	mult;		/* nanoseconds = cycles * mult >> shift; 0: no cycles */
	uint8_t		shift;
	uint64_t	distance;
};

/* Read an option into d->times. 0, or -errno with *d->err filled. */
int times_read_shift(struct trace_dat *d, struct cursor *c);
int times_read_cycles(struct trace_dat *d, struct cursor *c);
/* The option's text is a number of `unit` nanoseconds. */
int times_read_distance(struct trace_dat *d, struct cursor *c, int64_t unit);

uint64_t times_convert(const struct dat_times *t, uint32_t cpu, uint64_t time);
void times_close(struct dat_times *t);

#endif
