/* SPDX-License-Identifier: MIT */
/*
 * section.h - the records of one section that a latency tracer keeps, and what is known of it
 *
 *     section_create -> section_add ... -> published: nothing changes any more; readers get and put
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
	uint64_t	started_at, ended_at;	/* addresses; 0: of a wakeup, which has none */
	uint32_t	cpu;
	int		pid, nice;
	unsigned int	uid, policy, rt_prio;
	char		comm[16];

	unsigned int	nr;
	struct section_record *records;
	uint8_t		*bytes;
	size_t		len, room;
	bool		failed;			/* no memory for some of it */
	uint64_t	lost;			/* records that it had and that are not here */
	/* by CPU: lost before its next record, which makes them the section's */
	uint64_t	*waiting;
	uint32_t	nr_waiting;
};

struct section *section_create(void);		/* NULL: no memory */
struct section *section_get(struct section *s);
void section_put(struct section *s);		/* NULL is none */
/* Forgets the records. */
void section_clear(struct section *s);
/* The same without a CPU's records; NULL: no memory. */
struct section *section_without(const struct section *s, uint32_t cpu);
void section_add(struct section *s, uint32_t cpu, uint64_t time, const void *record, uint32_t size);
/* Before the CPU's next record some were lost. Without such a record the section was not there. */
void section_lost(struct section *s, uint32_t cpu, uint64_t nr);
/* Record number i as a reader of rings would have it; false: there is none. */
bool section_record(const struct section *s, unsigned int i, struct ring_record *out);

#endif
