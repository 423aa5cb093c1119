/* SPDX-License-Identifier: MIT */
/* syscalls.h - names of system calls by the numbers of the traced machine */
#ifndef TRACEFUSE_MODEL_SYSCALLS_H
#define TRACEFUSE_MODEL_SYSCALLS_H

#include "model/model.h"

/* "sys_read"; NULL: unknown */
const char *model_syscall_name(const struct event *e, uint64_t nr);

#endif
