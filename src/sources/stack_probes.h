/* SPDX-License-Identifier: MIT */
/*
 * stack_probes.h - the functions of a kernel that write the records of events
 *
 * A kernel_stack record begins with one of them (trace_event_raw_event_NAME) in some kernels, and
 * with its caller in others: that depends on how the kernel finds its stacks. The kernel's
 * histograms leave out both.
 *
 *   line, line ... (of kallsyms, in their order) -> has, has ...
 */
#ifndef TRACEFUSE_SOURCES_STACK_PROBES_H
#define TRACEFUSE_SOURCES_STACK_PROBES_H

#include <stdbool.h>
#include <stdint.h>

struct stack_probes {
	struct {
		uint64_t	begin, end;	/* [begin, end) */
	}		*ranges;		/* by begin */
	uint32_t	nr, room;
	bool		open;			/* the end of the last one is not known */
	bool		unsorted;
};

/* 0 or -ENOMEM: then some are missing. */
int stack_probes_line(struct stack_probes *p, uint64_t addr, const char *name);
/* After the last line. */
void stack_probes_end(struct stack_probes *p);
bool stack_probes_has(const struct stack_probes *p, uint64_t addr);
void stack_probes_free(struct stack_probes *p);

#endif
