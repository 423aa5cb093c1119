/* SPDX-License-Identifier: MIT */
/*
 * section.h - the records of a section that a latency tracer keeps, and the section's times and
 * places
 *
 *     section_create -> section_add ... -> published: it no longer changes; readers get and put it
 */
#ifndef TRACEFUSE_MODEL_SECTION_H
#define TRACEFUSE_MODEL_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring_record;

struct section {
	_Atomic unsigned int refs;

	uint64_t	latency;		/* ns */
	uint64_t	time_start;
	uint64_t	started_at, ended_at;	/* Addresses; 0: a wakeup, which has none */
	uint32_t	cpu;
	int		pid, nice;
	unsigned int	uid, policy, rt_prio;
	char		comm[16];

	unsigned int	nr;
	struct section_record *records;
	uint8_t		*bytes;
	size_t		len, room;
	bool		failed;			/* no memory was left for some of it */
	uint64_t	lost;			/* how many of its records are not here */
	/*
	 * By CPU: records lost before its next record. Once that comes, they count as lost in the
	 * section
	 */
	uint64_t	*waiting;
	uint32_t	nr_waiting;
};

struct section *section_create(void);		/* NULL: no memory */
struct section *section_get(struct section *s);
void section_put(struct section *s);		/* NULL is allowed */
/* Forgets the records. */
void section_clear(struct section *s);
/* A copy without the records of a CPU; NULL: no memory. */
struct section *section_without(const struct section *s, uint32_t cpu);
void section_add(struct section *s, uint32_t cpu, uint64_t time, const void *record, uint32_t size);
/*
 * `nr` records were lost before the CPU's next record. If no such record comes, they do not count.
 */
void section_lost(struct section *s, uint32_t cpu, uint64_t nr);
/* Record number i as a reader of rings would return it. False: there is none. */
bool section_record(const struct section *s, unsigned int i, struct ring_record *out);

#endif
