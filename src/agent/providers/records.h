/* SPDX-License-Identifier: MIT */
/*
 * records.h - the records of the providers' events heap, lock and thread
 *
 * The table takes offsets and sizes from these structs, and the interposers fill
 * them in. If the kernel has such an event, the fields have the kernel's order
 * and types.
 */
#ifndef TRACEFUSE_AGENT_PROVIDERS_RECORDS_H
#define TRACEFUSE_AGENT_PROVIDERS_RECORDS_H

#include <stddef.h>
#include <stdint.h>
#include "plane/plane.h"

/* malloc, calloc. If there was no memory, ptr and bytes_alloc are 0. */
struct heap_alloc {
	struct record_common common;
	uint64_t	call_site;
	uint64_t	ptr;
	uint64_t	bytes_req;
	uint64_t	bytes_alloc;	/* malloc_usable_size() */
};

struct heap_aligned {
	struct record_common common;
	uint64_t	call_site;
	uint64_t	ptr;
	uint64_t	bytes_req;
	uint64_t	bytes_alloc;
	uint64_t	alignment;
};

struct heap_realloc {
	struct record_common common;
	uint64_t	call_site;
	uint64_t	old_ptr;
	uint64_t	ptr;
	uint64_t	bytes_req;
	uint64_t	bytes_alloc;
	uint64_t	bytes_old;	/* usable bytes of old_ptr */
};

struct heap_free {
	struct record_common common;
	uint64_t	call_site;
	uint64_t	ptr;
	uint64_t	bytes_alloc;	/* bytes that are released */
};

struct heap_mmap {
	struct record_common common;
	uint64_t	call_site;
	uint64_t	ptr;
	uint64_t	bytes_req;
	uint64_t	bytes_alloc;	/* whole pages */
	int32_t		prot;
	int32_t		flags;
	int32_t		fd;
	uint32_t	pad;
	int64_t		offset;
};

struct heap_munmap {
	struct record_common common;
	uint64_t	call_site;
	uint64_t	ptr;
	uint64_t	bytes_req;
	uint64_t	bytes_alloc;	/* whole pages */
};

struct heap_mremap {
	struct record_common common;
	uint64_t	call_site;
	uint64_t	old_ptr;
	uint64_t	ptr;
	uint64_t	bytes_old;
	uint64_t	bytes_req;
	uint64_t	bytes_alloc;
	int32_t		flags;
};

struct heap_brk {
	struct record_common common;
	uint64_t	call_site;
	uint64_t	ptr;		/* the new end of the data segment */
	int64_t		increment;
};

/* As in the kernel; the print formats of the table have the same numbers. */
enum lock_flags {
	LOCK_SPIN = 1,
	LOCK_READ = 2,
	LOCK_WRITE = 4,
	LOCK_RT = 8,
	LOCK_PERCPU = 16,
	LOCK_MUTEX = 32
};

enum lock_kind {
	LOCK_KIND_MUTEX,
	LOCK_KIND_READ,
	LOCK_KIND_WRITE,
	LOCK_KIND_SPIN,
	LOCK_KIND_SEM,
	LOCK_KIND_COND
};

struct lock_begin {
	struct record_common common;
	uint64_t	lock_addr;
	uint32_t	flags;		/* enum lock_flags; 0: semaphore, condition variable */
};

struct lock_end {
	struct record_common common;
	uint64_t	lock_addr;
	int32_t		ret;		/* 0, -errno */
};

struct lock_held {
	struct record_common common;
	uint64_t	lock_addr;
	uint64_t	call_site;
	uint32_t	kind;		/* enum lock_kind */
};

struct thread_create {
	struct record_common common;
	uint64_t	call_site;
	uint64_t	start_routine;
	int32_t		child_pid;	/* 0: not known, or there is none */
	int32_t		ret;
};

struct thread_exit {
	struct record_common common;
	uint64_t	start_routine;	/* 0: the agent did not see the thread start */
	int32_t		pid;
	char		comm[16];
};

/* Like the kernel's task_rename. */
struct thread_name {
	struct record_common common;
	int32_t		pid;		/* 0: not known */
	char		oldcomm[16];	/* empty, if it is another thread's */
	char		newcomm[16];
};

enum wake_kind { WAKE_COND, WAKE_SEM, WAKE_FUTEX, WAKE_MUTEX, WAKE_RWLOCK, WAKE_JOIN };

struct thread_wake {
	struct record_common common;
	uint64_t	call_site;
	uint64_t	addr;
	uint32_t	kind;		/* enum wake_kind */
	int32_t		count;		/* how many are woken at most; INT_MAX: all */
};

struct thread_wakeup {
	struct record_common common;
	uint64_t	call_site;
	uint64_t	addr;
	uint32_t	kind;
	int32_t		ret;		/* 0, -errno (-ETIMEDOUT, -EINTR) */
};

struct kernel_kmalloc {
	struct record_common common;
	uint64_t	call_site;
	uint64_t	ptr;
	uint64_t	bytes_req;
	uint64_t	bytes_alloc;
	uint64_t	gfp_flags;
	int32_t		node;
};

struct kernel_kfree {
	struct record_common common;
	uint64_t	call_site;
	uint64_t	ptr;
};

struct kernel_sched_waking {
	struct record_common common;
	char		comm[16];
	int32_t		pid;
	int32_t		prio;
	int32_t		target_cpu;
};

struct kernel_sched_switch {
	struct record_common common;
	char		prev_comm[16];
	int32_t		prev_pid;
	int32_t		prev_prio;
	int64_t		prev_state;
	char		next_comm[16];
	int32_t		next_pid;
	int32_t		next_prio;
};

#endif
