/* SPDX-License-Identifier: MIT */
/* times.c - see times.h */
#include <errno.h>
#include <stdlib.h>

#include "layout/layout.h"
#include "sources/recording/file/times.h"
#include "sources/recording/file/trace_dat.h"

enum { INTERPOLATES = 1, SHIFT_MIN = 16, CYCLES_MIN = 16, FRACTION_MAX = 63, DIGITS_MAX = 63 };

/* ---- reading the options ---- */

static int times_make(struct trace_dat *d)
{
	if (!d->times)
		d->times = calloc(1, sizeof(*d->times));
	return d->times ? 0 : error_set(d->err, -ENOMEM, d->path, "out of memory");
}

static void forget_cpus(struct dat_times *t)
{
	for (uint32_t i = 0; i < t->nr_cpus; i++)
		free(t->cpus[i].samples);
	free(t->cpus);
	t->cpus = NULL;
	t->nr_cpus = 0;
}

/* The times of all samples come first, then their offsets, then their scalings. */
static int read_samples(struct trace_dat *d, struct cursor *c, struct times_cpu *cpu)
{
	const uint32_t nr = cursor_u32(c);
	uint32_t i;

	if (c->bad || nr > cursor_left(c) / 24)
		return -EPROTO;
	if (!trace_dat_memory(d, nr * sizeof(*cpu->samples)))
		return -ENOMEM;
	cpu->samples = calloc(nr + 1ull, sizeof(*cpu->samples));
	if (!cpu->samples)
		return -ENOMEM;
	cpu->nr = nr;
	for (i = 0; i < nr; i++)
		cpu->samples[i].time = cursor_u64(c);
	for (i = 0; i < nr; i++)
		cpu->samples[i].offset = (int64_t)cursor_u64(c);
	for (i = 0; i < nr; i++)
		cpu->samples[i].scaling = cursor_u64(c);
	return 0;
}

/* trace-cmd before 3.0 wrote no fractions. */
static int read_fractions(struct cursor *c, struct dat_times *t)
{
	uint64_t fraction;

	if (!cursor_left(c))
		return 0;
	for (uint32_t cpu = 0; cpu < t->nr_cpus; cpu++)
		for (uint32_t i = 0; i < t->cpus[cpu].nr; i++) {
			fraction = cursor_u64(c);
			if (c->bad || fraction > FRACTION_MAX)
				return -EPROTO;
			t->cpus[cpu].samples[i].fraction = (uint8_t)fraction;
		}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct times_sample *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

static void sort_samples(struct times_cpu *cpu)
{
	uint32_t i, to = 0;

	qsort(cpu->samples, cpu->nr, sizeof(*cpu->samples), by_time);
	for (i = 0; i < cpu->nr; i++)
		if (!to || cpu->samples[to - 1].time != cpu->samples[i].time)
			cpu->samples[to++] = cpu->samples[i];
	cpu->nr = to;
}

static int read_cpus(struct trace_dat *d, struct cursor *c, uint32_t nr)
{
	struct dat_times *t = d->times;
	int ret = 0;

	if (c->bad || nr > LAYOUT_MAX_CPUS)
		return -EPROTO;
	t->cpus = calloc(nr + 1ull, sizeof(*t->cpus));
	if (!t->cpus)
		return -ENOMEM;
	while (t->nr_cpus < nr && !ret)
		ret = read_samples(d, c, &t->cpus[t->nr_cpus++]);
	if (!ret)
		ret = read_fractions(c, t);
	for (uint32_t i = 0; i < t->nr_cpus && !ret; i++)
		sort_samples(&t->cpus[i]);
	return ret;
}

int times_read_shift(struct trace_dat *d, struct cursor *c)
{
	int ret;

	if (cursor_left(c) < SHIFT_MIN)
		return 0;
	ret = times_make(d);
	if (ret)
		return ret;
	forget_cpus(d->times);
	cursor_u64(c);		/* the host's recording */
	d->times->interpolates = cursor_u32(c) & INTERPOLATES;
	ret = read_cpus(d, c, cursor_u32(c));
	if (!ret)
		return 0;
	forget_cpus(d->times);
	if (ret == -ENOMEM)
		return error_set(d->err, ret, d->path, "out of memory");
	return trace_dat_truncated(d, c, "the time shift of a guest");
}

int times_read_cycles(struct trace_dat *d, struct cursor *c)
{
	uint32_t mult, shift;
	int ret;

	if (cursor_left(c) < CYCLES_MIN)
		return 0;
	ret = times_make(d);
	if (ret)
		return ret;
	mult = cursor_u32(c);
	shift = cursor_u32(c);
	/* The third number is where the cycles began. trace-cmd does not use it either. */
	if (shift > FRACTION_MAX)
		return trace_dat_truncated(d, c, "the option of cycles");
	d->times->mult = mult;
	d->times->shift = (uint8_t)shift;
	return 0;
}

int times_read_distance(struct trace_dat *d, struct cursor *c, int64_t unit)
{
	char text[DIGITS_MAX + 1] = "";
	const size_t left = cursor_left(c), size = left < DIGITS_MAX ? left : DIGITS_MAX;
	const uint64_t distance = (uint64_t)strtoll(memcpy(text, c->at, size), NULL, 0);
	int ret;

	if (!distance)
		return 0;
	ret = times_make(d);
	if (!ret)
		d->times->distance += distance * (uint64_t)unit;
	return ret;
}

void times_close(struct dat_times *t)
{
	if (!t)
		return;
	forget_cpus(t);
	free(t);
}

/* ---- converting ---- */

/* Products of cycles and a scaling need more than 64 bits. */
static uint64_t scale(uint64_t value, uint64_t by, unsigned int shift)
{
	return (uint64_t)((unsigned __int128)value * by >> shift);
}

/* Of two neighbours the first one counts; with interpolation the line between their offsets. */
static uint64_t correct(const struct dat_times *t, const struct times_sample *a, uint64_t time)
{
	const struct times_sample *b = a + 1;
	const int64_t delta = (int64_t)(b->time - a->time);
	__int128 way = 0;

	if (t->interpolates && delta > 0) {
		way = (__int128)(int64_t)(time - a->time) * ((__int128)b->offset - a->offset);
		way = (way + delta / 2) / delta;
	}
	return scale(time, a->scaling, a->fraction) + (uint64_t)a->offset + (uint64_t)way;
}

/* The clock of the host for a time of the guest. */
static uint64_t shift_time(const struct dat_times *t, const struct times_cpu *cpu, uint64_t time)
{
	uint32_t low = 0, high = cpu->nr - 1, middle;

	if (cpu->nr < 2)
		return cpu->nr ? time + (uint64_t)cpu->samples[0].offset : time;
	/* The last sample that is not after the time, but one that has a sample behind it. */
	while (high - low > 1) {
		middle = low + (high - low) / 2;
		if (cpu->samples[middle].time <= time)
			low = middle;
		else
			high = middle;
	}
	return correct(t, &cpu->samples[low], time);
}

uint64_t times_convert(const struct dat_times *t, uint32_t cpu, uint64_t time)
{
	if (cpu < t->nr_cpus)
		time = shift_time(t, &t->cpus[cpu], time);
	if (t->mult)
		time = scale(time, t->mult, t->shift);
	return time + t->distance;
}
