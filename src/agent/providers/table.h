/* SPDX-License-Identifier: MIT */
/*
 * table.h - the events that every program has: one table, for the agent and the server
 *
 * The server makes the format text of each event from it and gives them consecutive
 * ids; the agent knows an event by its number in the table. Both have the same
 * table if provider_table_version() is the same.
 *
 * If the kernel has such an event, it has the kernel's name and fields.
 */
#ifndef TRACEFUSE_AGENT_PROVIDERS_TABLE_H
#define TRACEFUSE_AGENT_PROVIDERS_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	PROVIDER_FIELDS	= 10,
	PROVIDER_TEXT_MAX = 165,	/* bytes of a text of a system call: the kernel's limit */
};

/*
 * Numbers in the table. System calls: PROVIDER_SYSCALLS + 2 * n and the next
 * one are sys_enter_X and sys_exit_X; syscalls/table.c knows how many there are.
 * The events with the kernel's names for heap and thread come after them, from
 * provider_kernel() on.
 */
enum provider_nr {
	PROVIDER_MALLOC, PROVIDER_CALLOC, PROVIDER_REALLOC, PROVIDER_FREE, PROVIDER_POSIX_MEMALIGN,
	PROVIDER_ALIGNED_ALLOC, PROVIDER_MEMALIGN, PROVIDER_VALLOC,
	PROVIDER_MMAP, PROVIDER_MUNMAP, PROVIDER_MREMAP, PROVIDER_BRK,

	PROVIDER_CONTENTION_BEGIN, PROVIDER_CONTENTION_END, PROVIDER_ACQUIRED, PROVIDER_RELEASED,

	PROVIDER_CREATE, PROVIDER_EXIT, PROVIDER_NAME, PROVIDER_WAKE, PROVIDER_WAKEUP,

	PROVIDER_SIGNAL_GENERATE, PROVIDER_SIGNAL_DELIVER,

	PROVIDER_SYSCALLS,

	/* Counted from provider_kernel() on. */
	KERNEL_KMALLOC = 0, KERNEL_KFREE, KERNEL_SCHED_WAKING, KERNEL_SCHED_SWITCH, KERNEL_EVENTS,
};

struct provider_field {
	/* As in the format: "const void * ptr", "char comm[16]", "__data_loc char[] name". */
	const char	*decl;
	uint8_t		offset, size, is_signed;
};

/* The fields describe the record behind its 8 bytes of common fields. */
struct provider_event {
	const char	*system, *name;
	const char	*print;		/* print fmt, with its arguments */
	struct provider_field fields[PROVIDER_FIELDS];	/* ends with a NULL decl, or is full */
};

/*
 * The systems (--providers); each has a bit, in the order of provider_names[]: "heap", "lock",
 * "thread", "signal", "syscalls", "kmem", "sched"; NULL
 */
extern const char *const provider_names[];

/* The parts of the table in other files: signal/table.c, syscalls/table.c. */
extern const struct provider_event provider_signal[PROVIDER_SYSCALLS - PROVIDER_SIGNAL_GENERATE];
unsigned int syscall_provider_count(void);
void syscall_provider_event(unsigned int nr, bool texts, struct provider_event *e);

/* Number of the first event that has one of the kernel's names. */
static inline unsigned int provider_kernel(void)
{
	return PROVIDER_SYSCALLS + syscall_provider_count();
}

/* Number of events; the last two systems (--kernel-names) come last. */
unsigned int provider_count(void);
/*
 * Fills in *e. If its texts were made (syscalls), they are valid until the next call. texts: as
 * since Linux 6.19, sys_enter_X has the texts that arguments point to (syscall_user_buf_size).
 */
void provider_event(unsigned int nr, bool texts, struct provider_event *e);
/*
 * The text of the format file behind the line "format:", for struct attach_definition. -> bytes
 * without the 0
 */
unsigned int provider_body(unsigned int nr, bool texts, char *out, unsigned int size);
uint64_t provider_table_version(void);

#endif
