/* SPDX-License-Identifier: MIT */
/* stack_probes.c - see stack_probes.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sources/stack_probes.h"

/* No such function is larger. */
enum { PROBE_MOST = 4096 };

static bool is_probe(const char *name)
{
	static const char *const begins[] = { "trace_event_raw_event_", "ftrace_syscall_" };

	for (unsigned int i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	return false;
}

static int add_range(struct stack_probes *p, uint64_t begin)
{
	if (p->nr == p->room) {
		const uint32_t room = p->room ? 2 * p->room : 512;
		void *ranges = reallocarray(p->ranges, room, sizeof(*p->ranges));

		if (!ranges)
			return -ENOMEM;
		p->ranges = ranges;
		p->room = room;
	}
	p->unsorted |= p->nr && p->ranges[p->nr - 1].begin > begin;
	p->ranges[p->nr].begin = begin;
	p->ranges[p->nr++].end = begin + PROBE_MOST;
	p->open = true;
	return 0;
}

int stack_probes_line(struct stack_probes *p, uint64_t addr, const char *name)
{
	if (p->open && addr != p->ranges[p->nr - 1].begin) {
		if (addr > p->ranges[p->nr - 1].begin && addr < p->ranges[p->nr - 1].end)
			p->ranges[p->nr - 1].end = addr;
		p->open = false;
	}
	if (p->open || !is_probe(name))
		return 0;
	return add_range(p, addr);
}

static int compare_ranges(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void stack_probes_end(struct stack_probes *p)
{
	if (p->unsorted)
		qsort(p->ranges, p->nr, sizeof(*p->ranges), compare_ranges);
	p->unsorted = p->open = false;
}

bool stack_probes_has(const struct stack_probes *p, uint64_t addr)
{
	uint32_t lo = 0, hi = p->nr;

	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;

		if (addr < p->ranges[mid].begin)
			hi = mid;
		else if (addr >= p->ranges[mid].end)
			lo = mid + 1;
		else
			return true;
	}
	return false;
}

void stack_probes_free(struct stack_probes *p)
{
	free(p->ranges);
	*p = (struct stack_probes){ 0 };
}
