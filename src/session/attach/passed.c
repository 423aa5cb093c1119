/* SPDX-License-Identifier: MIT */
/*
 * passed.c - of the descriptors that come with a message one is kept
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "session/attach/passed.h"

int passed_take(struct msghdr *msg)
{
	int first = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; CMSG_LEN(at + sizeof(int)) <= c->cmsg_len; at += sizeof(int)) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + at, sizeof(fd));
			if (first < 0)
				first = fd;
			else
				close(fd);
		}
	}
	return first;
}
