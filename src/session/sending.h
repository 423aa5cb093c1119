/* SPDX-License-Identifier: MIT */
/*
 * sending.h - what a failed send() means for who sends
 */
#ifndef TRACEFUSE_SESSION_SENDING_H
#define TRACEFUSE_SESSION_SENDING_H

#include <stdbool.h>

/*
 * Asked after send() or sendmsg() failed, with errno as it left it; *tries is 0 at first. True: the
 * call was interrupted, or the kernel had no memory for the message (ENOBUFS, ENOMEM), which is
 * over in a moment: the same call may work now. False also when it was asked too often: nobody
 * waits here.
 */
bool sending_again(unsigned int *tries);

#endif
