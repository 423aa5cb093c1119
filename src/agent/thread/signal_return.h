/* SPDX-License-Identifier: MIT */
/*
 * signal_return.h - signal_return(): where a handler that the kernel was told of without libc goes
 * back through
 */
#ifndef TRACEFUSE_AGENT_THREAD_SIGNAL_RETURN_H
#define TRACEFUSE_AGENT_THREAD_SIGNAL_RETURN_H

void signal_return(void);

#endif
