/* SPDX-License-Identifier: MIT */
/*
 * cgroup.h - how much of the machine's memory the control groups allow
 */
#ifndef TRACEFUSE_SESSION_CGROUP_H
#define TRACEFUSE_SESSION_CGROUP_H

#include <stdint.h>

/*
 * The most bytes that this process's control group and those above it may have; UINT64_MAX: no
 * limit is known.
 */
uint64_t cgroup_memory(void);
/* The same, from another file than /proc/self/cgroup and another directory than /sys/fs/cgroup. */
uint64_t cgroup_memory_of(const char *file, const char *mounted);

#endif
