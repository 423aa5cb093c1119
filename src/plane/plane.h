/* SPDX-License-Identifier: MIT */
/*
 * plane.h - a process's view of a session, and the way of a hit through the plane (R7)
 *
 * src/plane is free-standing: it includes libc headers only for types and calls nothing outside
 * itself. It makes no system call after a thread's first hit, and takes no lock. All of it is
 * async-signal-safe.
 *
 *   emit -> fill -> fire -> fold -> match -> reserve, commit        (read, show: the server)
 *
 *   hit()            plane/hit.c      one record through one event's plan
 *   filter_match()   plane/filter.c   a filter's code on a record
 *   hist_fold()      plane/action/fold.c     a histogram's code: keys, sums, variables, actions
 *   map_*            plane/map/map.h      the tracing map
 *   ring_*           plane/ring/ring.h     the ring buffer
 *   clock_*          plane/clock.h    time stamps
 */
#ifndef TRACEFUSE_PLANE_PLANE_H
#define TRACEFUSE_PLANE_PLANE_H

#include <stdbool.h>
#include <stddef.h>
#include "layout/layout.h"

struct plane {
	const char	*config;	/* start of the config region, read-only in programs */
	char		*data;		/* start of the data region */
	uint64_t	config_size;
	uint64_t	data_size;
	/*
	 * An offset in the data region is masked with the bits of the region's size. So a wrong
	 * offset (R2) still leads into the mapping.
	 */
	uint64_t	data_mask;
};

static inline const struct config_header *plane_header(const struct plane *p)
{
	return (const struct config_header *)p->config;
}

static inline const void *plane_config(const struct plane *p, config_ref ref)
{
	return p->config + ref;
}

/* R38: an offset that the data region holds. A program may have written anything there. */
static inline void *plane_data(const struct plane *p, data_ref ref)
{
	return p->data + (ref & p->data_mask);
}

/* The address of an offset from the config region. Only the server writes there: no check. */
static inline void *plane_given(const struct plane *p, data_ref ref)
{
	return p->data + ref;
}

static inline struct instance_state *plane_instance(const struct plane *p, uint32_t index)
{
	return (struct instance_state *)(p->data + plane_header(p)->instances) + index;
}

/*
 * Every record begins as in the kernel's formats:
 *   u16 common_type, u8 common_flags, u8 common_preempt_count, s32 common_pid
 */
struct record_common {
	uint16_t	type;
	uint8_t		flags;
	uint8_t		preempt_count;
	int32_t		pid;
};

/*
 * R28: a hit in the ring of staged hits. The record follows, then, at a multiple of 8 bytes, the
 * stack. So triggers that run later see what the hit had.
 */
struct staged {
	struct record_common common;	/* as in the record */
	char		comm[LAYOUT_COMM_LEN];
	uint32_t	size;		/* bytes of the record */
	uint32_t	nr_stack;
	/* For an event of system ftrace (print): 1 + index of its instance; otherwise 0: all */
	uint32_t	only;
	uint32_t	pad;
};

/* ftrace:function; funcgraph_entry and funcgraph_exit have the function at the same place */
struct function_record {
	struct record_common common;
	uint64_t	ip, parent_ip;
};

static inline const struct event_entry *plane_event(const struct plane *p, uint32_t id)
{
	return (const struct event_entry *)(p->config + LAYOUT_EVENTS_AT) + id;
}

static inline struct slot *plane_slot(const struct plane *p, uint32_t index)
{
	return (struct slot *)(p->data + plane_header(p)->slots) + index;
}

static inline struct hit_scratch *plane_scratch(const struct plane *p, const struct slot *slot,
						unsigned int level)
{
	return (struct hit_scratch *)plane_data(p, slot->scratch) + level;
}

/*
 * What happened. A source fills time, cpu, comm and stack from the recording; for a running program
 * they are the thread's own.
 */
struct hit {
	const void	*record;	/* struct record_common and the event's fields */
	uint32_t	size;		/* bytes of record */
	uint32_t	cpu;		/* CPU label: below config_header.nr_cpus */
	/* nanoseconds, or ticks of the source's clock; 0: read the instance's clock */
	uint64_t	time;
	/* LAYOUT_COMM_LEN bytes, 0-terminated; the task's name at the hit */
	const char	*comm;
	const uint64_t	*stack;		/* return addresses, innermost first; NULL: unknown */
	uint32_t	nr_stack;
	/* The ring's writer set: 0: rseq, otherwise a source's (R12) */
	uint32_t	writer;
	/* Index in event_entry[] of the plan, for a group; 0: the record's type */
	uint32_t	entry;
	/* Recordings: how much earlier the record is in the ring of the top instance, in ns */
	uint32_t	early;
	uint64_t	mask;		/* only these instances, a bit each by index; 0: all */
	/* For a function: the thread is in a section of a latency tracer */
	bool		section;
	/* For a function: a thread of the process has been woken and does not run yet */
	bool		woken;
	uint32_t	stack_early;	/* as early, of stack_record */
	/* For a function: the stack may be the deepest one. NULL: it is not, or nobody asks */
	const struct stack_depths *depths;
	/*
	 * For a function: hit() does nothing but return which instances want it, whether they are
	 * tracing or not
	 */
	bool		ask;
	/* For ARM_INTERNAL events: 1 + index of their instance, 0: the top */
	uint32_t	only;
	/*
	 * Only for ARM_INTERNAL events (trace_marker): the record that triggers see instead of
	 * `record`, because the kernel fires them before it adds the newline. NULL: the record
	 * itself.
	 */
	const void	*seen;
	uint32_t	seen_size;
	/*
	 * The kernel_stack record of this hit in a recording, with a time of its own. Where a stack
	 * is to be recorded, this record is written unchanged. NULL: one is made of `stack`.
	 */
	uint32_t	stack_size;
	const void	*stack_record;
	uint64_t	stack_time;
	/*
	 * In the recording that stack record comes after other records of its CPU, so it cannot be
	 * written yet. A bit is set here for each instance that wants it, and the source passes the
	 * record on when it comes. NULL: it is written at once.
	 */
	uint64_t	*stack_wanted;
	/*
	 * How much the kernel itself adds to the preempt count between an event and a synthetic
	 * event of it; 0 in running programs.
	 */
	uint32_t	synth_preempt;
};

/*
 * Runs the event's plan (common_type chooses it) for one hit: triggers, then the record into the
 * ring of each instance that wants it. It never fails; losses are counted. Returns a mask: bit i is
 * set when the record was committed into the ring of instance i (i < 64).
 */
uint64_t hit(const struct plane *p, struct slot *slot, const struct hit *h);
/*
 * R28, for the server. hit_stage_source(): if triggers of the event run merged, a source's hit goes
 * to the staged hits of that instance, with that time. Returns whether there are such triggers.
 * hit_merged(): runs these triggers for a staged hit, of which `only` says the instance. Only hists
 * and event probes run merged: nothing of `h` itself is recorded.
 */
bool hit_stage_source(const struct plane *p, struct slot *slot, const struct hit *h,
		      uint32_t instance, uint64_t time);
void hit_merged(const struct plane *p, struct slot *slot, const struct hit *h, uint32_t only);
/*
 * For running programs. With event-fork a new task joins the sets of pids that its creator is in at
 * that moment, and leaves them at its end; with function-fork the same for the sets of functions.
 * The creator may end, and leave its sets, before the new task runs. So struct pids_family notes
 * the sets.
 */
/* The sets of an instance: set_event_pid and _notrace_pid, set_ftrace_pid and _notrace_pid */
enum { PIDS_SETS = 4 };

struct pids_family {
	/* By instance, a bit each */
	uint64_t	in[PIDS_SETS][LAYOUT_MAX_INSTANCES / 64];
};

/* Whether any instance has one of the options. */
bool pids_followed(const struct plane *p);
/*
 * Which sets a task joins that is created now; false: none. slot, here and below: the slot of the
 * calling thread, which has signals blocked; NULL: the caller is the server.
 */
bool pids_family_of(const struct plane *p, struct slot *slot, uint32_t creator,
		    struct pids_family *out);
void pids_join(const struct plane *p, struct slot *slot, const struct pids_family *family,
	       uint32_t pid);
void pids_leave(const struct plane *p, struct slot *slot, uint32_t pid);
/*
 * hit() without a struct hit, for a record of a running thread for which that struct would say
 * nothing else. Size is at least that of struct record_common.
 */
enum hit_plain {
	/*
	 * Nothing was done, because the event's plan needs more (comm, a stack). The caller has to
	 * call hit().
	 */
	HIT_LONG,
	HIT_DONE,
	HIT_COUNTED,	/* done, and the plan only counts it by one integer */
	/* Done, and the plan only records it in one instance */
	HIT_RECORDED,
};
/*
 * The rest of a hit whose plan has the kind PLAN_COUNT or PLAN_COUNT_KEY1. The hit was entered at
 * level 0 and is neither recorded nor paused. matched: its `if` holds.
 */
void hit_count(const struct plane *p, struct slot *slot, const struct plan *plan,
	       const struct hit *h, bool matched);
/* What OP_TAKE_SINCE has done. */
struct hit_since {
	uint64_t	now;	/* by `clock` */
	uint64_t	value;	/* of the variable */
	uint32_t	clock;	/* enum clock_id */
	uint32_t	elt;
};

/* The same behind OP_TAKE_SINCE, if hist_fold_rest() can run the rest. */
void hit_count_rest(const struct plane *p, struct slot *slot, const struct plan *plan,
		    const struct hit *h, const struct hit_since *done);
/* `where`: the CPU; in the upper half, what hit.entry would be. */
enum hit_plain hit_plain(const struct plane *p, struct slot *slot, const void *record,
			 uint32_t size, uint64_t where);
static inline uint64_t hit_where(uint32_t cpu, uint32_t entry)
{
	return cpu | (uint64_t)entry << 32;
}

#endif
