/* SPDX-License-Identifier: MIT */
/*
 * cgroup.h - what control groups leave of the machine's memory
 */
#ifndef TRACEFUSE_SESSION_CGROUP_H
#define TRACEFUSE_SESSION_CGROUP_H

#include <stdint.h>

/*
 * Bytes that this process's control group, and those above it, may have at most; UINT64_MAX: no
 * limit is known.
 */
uint64_t cgroup_memory(void);
/* The same by another /proc/self/cgroup, and another place than /sys/fs/cgroup. */
uint64_t cgroup_memory_of(const char *file, const char *mounted);

#endif
