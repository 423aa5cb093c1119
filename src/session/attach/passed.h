/* SPDX-License-Identifier: MIT */
/*
 * passed.h - descriptors that come with a message of a socket
 */
#ifndef TRACEFUSE_SESSION_ATTACH_PASSED_H
#define TRACEFUSE_SESSION_ATTACH_PASSED_H

struct msghdr;

/*
 * The first descriptor of a message that recvmsg() has filled in, -1: none. The caller closes it.
 * More of them are closed: the room for one, CMSG_SPACE(sizeof(int)), holds two.
 */
int passed_take(struct msghdr *msg);

#endif
