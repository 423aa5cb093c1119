/* SPDX-License-Identifier: MIT */
/*
 * message.h - messages on a socket, each with a descriptor or without one
 */
#ifndef TRACEFUSE_SESSION_MESSAGE_H
#define TRACEFUSE_SESSION_MESSAGE_H

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

union message_control {
	struct cmsghdr	header;
	char		bytes[CMSG_SPACE(sizeof(int))];
};

/* A message to send. fd: the descriptor that goes with it, -1: none. */
static inline struct msghdr message_of(struct iovec *iov, union message_control *control, int fd)
{
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 1 };

	if (fd < 0)
		return msg;
	*control = (union message_control){ .header = { .cmsg_len = CMSG_LEN(sizeof(fd)),
						      .cmsg_level = SOL_SOCKET,
						      .cmsg_type = SCM_RIGHTS } };
	memcpy(CMSG_DATA(&control->header), &fd, sizeof(fd));
	msg.msg_control = control;
	msg.msg_controllen = sizeof(*control);
	return msg;
}

/*
 * As sendmsg(), with MSG_NOSIGNAL. It tries again after an interruption. It also tries a few times
 * more if the kernel had no memory for the message (ENOBUFS, ENOMEM), which is over in a moment:
 * nothing here waits for that.
 */
ssize_t message_send(int sock, const void *bytes, size_t size, int fd, int flags);
/*
 * As recvmsg(). *fd: the first descriptor that came with the message, which the caller closes; -1:
 * none. All others are closed: the room for one holds two. fd NULL: all are closed.
 */
ssize_t message_receive(int sock, void *bytes, size_t size, int flags, int *fd);

#endif
