/* SPDX-License-Identifier: MIT */
/*
 * table.h - the events that every program has: one table, compiled into the agent and the server
 *
 * The server makes the format text of each from it and gives them consecutive
 * ids; the agent knows an event by its number in the table. Both see the same
 * table when provider_table_version() is the same.
 *
 * The kernel's names and fields where it has such an event.
 */
#ifndef TRACEFUSE_AGENT_PROVIDERS_TABLE_H
#define TRACEFUSE_AGENT_PROVIDERS_TABLE_H

#include <stdint.h>

enum { PROVIDER_FIELDS = 8 };

/*
 * Numbers in the table. System calls: PROVIDER_SYSCALLS + 2 * n and the next
 * one are sys_enter_X and sys_exit_X; how many there are is syscalls/table.c's.
 * Behind them the kernel's names for heap and thread: provider_kernel() + ...
 */
enum provider_nr {
	PROVIDER_MALLOC, PROVIDER_CALLOC, PROVIDER_REALLOC, PROVIDER_FREE, PROVIDER_POSIX_MEMALIGN,
	PROVIDER_ALIGNED_ALLOC, PROVIDER_MEMALIGN, PROVIDER_VALLOC,
	PROVIDER_MMAP, PROVIDER_MUNMAP, PROVIDER_MREMAP, PROVIDER_BRK,

	PROVIDER_CONTENTION_BEGIN, PROVIDER_CONTENTION_END, PROVIDER_ACQUIRED, PROVIDER_RELEASED,

	PROVIDER_CREATE, PROVIDER_EXIT, PROVIDER_NAME, PROVIDER_WAKE, PROVIDER_WAKEUP,

	PROVIDER_SIGNAL_GENERATE, PROVIDER_SIGNAL_DELIVER,

	PROVIDER_SYSCALLS,

	/* from provider_kernel() on */
	KERNEL_KMALLOC = 0, KERNEL_KFREE, KERNEL_SCHED_WAKING, KERNEL_SCHED_SWITCH, KERNEL_EVENTS,
};

struct provider_field {
	/* as in the format: "const void * ptr", "char comm[16]", "__data_loc char[] name" */
	const char	*decl;
	uint8_t		offset, size, is_signed;
};

/* The record, behind the 8 bytes of common fields, is described by the fields. */
struct provider_event {
	const char	*system, *name;
	const char	*print;		/* print fmt, with its arguments */
	struct provider_field fields[PROVIDER_FIELDS];	/* ends with a NULL decl, or is full */
};

/* Which systems (--providers): one bit each, in the order of provider_names[]. */
/* "heap", "lock", "thread", "signal", "syscalls", "kmem", "sched"; NULL */
extern const char *const provider_names[];

/* The parts of the table that other files bring: signal/table.c, syscalls/table.c. */
extern const struct provider_event provider_signal[PROVIDER_SYSCALLS - PROVIDER_SIGNAL_GENERATE];
unsigned int syscall_provider_count(void);
void syscall_provider_event(unsigned int nr, struct provider_event *e);

/* Number of the first event that has one of the kernel's names. */
static inline unsigned int provider_kernel(void)
{
	return PROVIDER_SYSCALLS + syscall_provider_count();
}

/* Number of events; the last two systems (--kernel-names) come last. */
unsigned int provider_count(void);
/* Fills *e, whose texts stay valid until the next call when they were made of parts (syscalls). */
void provider_event(unsigned int nr, struct provider_event *e);
/*
 * The text of the format file behind the line "format:", as struct attach_definition has it. ->
 * bytes without 0
 */
unsigned int provider_body(unsigned int nr, char *out, unsigned int size);
uint64_t provider_table_version(void);

#endif
