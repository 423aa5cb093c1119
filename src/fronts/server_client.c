/* SPDX-License-Identifier: MIT */
/*
 * server_client.c - one connection of the control socket: bytes in, requests, answers out
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fronts/server_state.h"
#include "session/passed.h"
#include "tracefs/tree.h"

struct client *client_create(struct server *srv, int fd, pid_t pid)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return NULL;
	}
	c->fd = fd;
	c->pid = pid;
	c->passed_fd = -1;
	list_add_tail(&c->node, &srv->clients);
	return c;
}

void client_destroy(struct server *srv, struct client *c)
{
	hold_end(srv, c);
	for (uint32_t i = 0; i < c->nr_files; i++)
		if (c->files[i].file)
			tree_release(c->files[i].file);
	list_del(&c->node);
	close(c->fd);
	if (c->passed_fd >= 0)
		close(c->passed_fd);
	free(c->files);
	free(c->in);
	free(c->out);
	free(c);
}

/* A waiting client is only watched for its end: it sends nothing before it is answered. */
short client_events(const struct client *c)
{
	return (short)(POLLIN | (c->out_len ? POLLOUT : 0));
}

static bool grow(char **buf, size_t *cap, size_t want)
{
	char *more;

	if (*cap >= want)
		return true;
	more = realloc(*buf, want * 2);
	if (!more)
		return false;
	*buf = more;
	*cap = want * 2;
	return true;
}

static void send_out(struct client *c)
{
	while (c->out_len && !c->gone) {
		ssize_t n = send(c->fd, c->out, c->out_len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			c->gone = true;
			return;
		}
		c->out_len -= (size_t)n;
		memmove(c->out, c->out + n, c->out_len);
	}
}

void client_answer(struct client *c, int result, const void *body, size_t size)
{
	struct wire_answer answer = { .size = (uint32_t)size, .result = result };

	if (!grow(&c->out, &c->out_cap, c->out_len + sizeof(answer) + size)) {
		c->gone = true;
		return;
	}
	memcpy(c->out + c->out_len, &answer, sizeof(answer));
	if (size)
		memcpy(c->out + c->out_len + sizeof(answer), body, size);
	c->out_len += sizeof(answer) + size;
	send_out(c);
}

static void keep_passed(struct client *c, struct msghdr *msg)
{
	int fd = passed_take(msg);

	if (fd < 0)
		return;
	if (c->passed_fd >= 0)
		close(c->passed_fd);
	c->passed_fd = fd;
}

/* Reads what is there, at most the rest of one request. */
static void receive(struct client *c, size_t want)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec iov;
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	ssize_t n;

	if (!grow(&c->in, &c->in_cap, want + 1)) {
		c->gone = true;
		return;
	}
	iov = (struct iovec){ c->in + c->in_len, want - c->in_len };
	n = recvmsg(c->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		c->gone = true;
	if (n <= 0)
		return;
	c->in_len += (size_t)n;
	keep_passed(c, &msg);
}

/* How many bytes the request in c->in has, as far as is known. */
static size_t request_size(struct client *c)
{
	const struct wire_request *rq = (const struct wire_request *)c->in;

	if (c->in_len < sizeof(*rq))
		return sizeof(*rq);
	if (rq->size > WIRE_MAX) {
		c->gone = true;
		return c->in_len;
	}
	return sizeof(*rq) + rq->size;
}

static void serve_request(struct server *srv, struct client *c)
{
	struct wire_request rq;

	memcpy(&rq, c->in, sizeof(rq));
	c->in[c->in_len] = '\0';
	c->waiting = !request_serve(srv, c, &rq, c->in + sizeof(rq));
	if (c->waiting)
		return;
	c->in_len = 0;
	if (c->passed_fd >= 0) {
		close(c->passed_fd);
		c->passed_fd = -1;
	}
}

/* A client that waits and sends something, or closes, wants no answer any more. */
static void watch_waiting(struct client *c)
{
	char byte;
	ssize_t n = recv(c->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

	if (n >= 0 || (errno != EAGAIN && errno != EINTR))
		c->gone = true;
}

void client_serve(struct server *srv, struct client *c, short revents)
{
	size_t want;

	if (revents & POLLOUT)
		send_out(c);
	if (c->waiting) {
		watch_waiting(c);
		return;
	}
	want = request_size(c);
	if (!c->gone && c->in_len < want)
		receive(c, want);
	want = request_size(c);
	if (!c->gone && c->in_len == want && want >= sizeof(struct wire_request))
		serve_request(srv, c);
}

void client_retry(struct server *srv, struct client *c)
{
	if (c->waiting && !c->gone)
		serve_request(srv, c);
}
