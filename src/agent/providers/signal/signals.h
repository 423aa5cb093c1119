/* SPDX-License-Identifier: MIT */
/*
 * signals.h - records of the signal events, and what signal.c does for other interposers
 *
 * In the kernel's order (signal:signal_generate, signal:signal_deliver).
 */
#ifndef TRACEFUSE_AGENT_PROVIDERS_SIGNAL_SIGNALS_H
#define TRACEFUSE_AGENT_PROVIDERS_SIGNAL_SIGNALS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "plane/plane.h"

struct signal_generate_record {
	struct record_common common;
	int32_t		sig;
	int32_t		error;
	int32_t		code;
	char		comm[16];
	int32_t		pid;
	int32_t		group;	/* 1: to a process, 0: to one thread */
	int32_t		result;	/* 0: delivered; more is not known here */
};

struct signal_deliver_record {
	struct record_common common;
	int32_t		sig;
	int32_t		error;
	int32_t		code;
	uint64_t	handler;
	uint64_t	action_flags;
};

/* Where libc has the number of a thread that exists; NULL: not known for this libc. */
const pid_t *thread_number(pthread_t thread);

#endif
