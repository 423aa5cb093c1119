/* SPDX-License-Identifier: MIT */
/* message.c - see message.h */
#include <errno.h>
#include <stdbool.h>
#include <unistd.h>
#include "session/message.h"

enum { TRIES = 100 };

static bool may_again(unsigned int *tries)
{
	if (errno == EINTR)
		return true;
	return (errno == ENOBUFS || errno == ENOMEM) && ++*tries < TRIES;
}

ssize_t message_send(int sock, const void *bytes, size_t size, int fd, int flags)
{
	struct iovec iov = { (void *)bytes, size };
	union message_control control;
	const struct msghdr msg = message_of(&iov, &control, fd);
	unsigned int tries = 0;
	ssize_t n;

	do
		n = sendmsg(sock, &msg, flags | MSG_NOSIGNAL);
	while (n < 0 && may_again(&tries));
	return n;
}

/* Returns one of the descriptors if it is wanted, and closes the others. */
static int descriptor_take(struct msghdr *msg, bool wanted)
{
	int first = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; CMSG_LEN(at + sizeof(int)) <= c->cmsg_len; at += sizeof(int)) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + at, sizeof(fd));
			if (wanted && first < 0)
				first = fd;
			else
				close(fd);
		}
	}
	return first;
}

ssize_t message_receive(int sock, void *bytes, size_t size, int flags, int *fd)
{
	struct iovec iov = { bytes, size };
	union message_control control;
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(sock, &msg, flags | MSG_CMSG_CLOEXEC);
	int first = n < 0 ? -1 : descriptor_take(&msg, fd);

	if (fd)
		*fd = first;
	return n;
}
