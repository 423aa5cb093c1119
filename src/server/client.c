/* SPDX-License-Identifier: MIT */
/*
 * client.c - one connection of the control socket: bytes in, requests, answers out
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/state.h"
#include "session/message.h"
#include "session/session.h"
#include "tracefs/tree.h"

/*
 * How much memory all clients together may take here, and below which size one client is not
 * considered.
 */
enum { BUFFERED_MAX = 64 << 20, BUFFERED_SMALL = 64 << 10, CLIENTS_MAX = 1024, CLIENTS_MIN = 16 };

/* ---- the number of clients ---- */

/* Programs need descriptors, too. */
static unsigned int clients_max(void)
{
	struct rlimit limit;
	rlim_t max = getrlimit(RLIMIT_NOFILE, &limit) ? 0 : limit.rlim_cur / 4;

	return max > CLIENTS_MAX   ? CLIENTS_MAX
	       : max < CLIENTS_MIN ? CLIENTS_MIN
				   : (unsigned int)max;
}

static unsigned int connections_of(const struct server *srv, pid_t pid)
{
	const struct client *c;
	unsigned int nr = 0;

	list_each(c, &srv->clients, node)
		nr += c->pid == pid && !c->gone;
	return nr;
}

static bool is_idle(const struct client *c)
{
	for (uint32_t i = 0; i < c->nr_files; i++)
		if (c->files[i].file)
			return false;
	return !c->has_barrier && !c->waiting && !c->out_len;
}

/*
 * Of the process with the most connections, the client that was silent for the longest time. If no
 * process has several, an idle one.
 */
static struct client *one_too_many(const struct server *srv)
{
	struct client *c, *worst = NULL;
	unsigned int most = 0;

	list_each(c, &srv->clients, node) {
		unsigned int nr = c->gone ? 0 : connections_of(srv, c->pid);

		if (!nr || (nr == 1 && !is_idle(c)))
			continue;
		if (nr > most || (nr == most && c->heard < worst->heard)) {
			worst = c;
			most = nr;
		}
	}
	return worst;
}

bool clients_room(struct server *srv)
{
	struct client *c;

	if (srv->nr_clients < clients_max())
		return true;
	c = one_too_many(srv);
	if (c)
		client_destroy(srv, c);
	return c;
}

struct client *client_create(struct server *srv, int fd, pid_t pid)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return NULL;
	}
	c->server = srv;
	c->fd = fd;
	c->pid = pid;
	c->passed_fd = -1;
	c->heard = session_now_ms();
	list_add_tail(&c->node, &srv->clients);
	srv->nr_clients++;
	return c;
}

/* ---- their memory ---- */

static void buffer_drop(struct client *c, char **buf, size_t *cap)
{
	free(*buf);
	c->server->buffered -= *cap;
	*buf = NULL;
	*cap = 0;
}

static void drop(struct client *c)
{
	c->gone = true;
	c->in_len = c->out_len = 0;
	buffer_drop(c, &c->in, &c->in_cap);
	buffer_drop(c, &c->out, &c->out_cap);
}

/* Of the other clients with much memory here, the one that was silent for the longest time. */
static struct client *slowest(const struct client *self)
{
	struct client *c, *worst = NULL;

	list_each(c, &self->server->clients, node)
		if (c != self && !c->gone && c->in_cap + c->out_cap > BUFFERED_SMALL &&
		    (!worst || c->heard < worst->heard))
			worst = c;
	return worst;
}

static bool client_grow(struct client *c, char **buf, size_t *cap, size_t want)
{
	size_t room = want < BUFFERED_SMALL ? want * 2 : want;
	char *more;

	if (*cap >= want)
		return true;
	while (c->server->buffered + room - *cap > BUFFERED_MAX) {
		struct client *other = slowest(c);

		if (!other)
			return false;
		drop(other);
	}
	more = realloc(*buf, room);
	if (!more)
		return false;
	c->server->buffered += room - *cap;
	*buf = more;
	*cap = room;
	return true;
}

void client_destroy(struct server *srv, struct client *c)
{
	barrier_end(srv, c);
	for (uint32_t i = 0; i < c->nr_files; i++)
		if (c->files[i].file)
			tree_release(c->files[i].file);
	list_del(&c->node);
	srv->nr_clients--;
	close(c->fd);
	if (c->passed_fd >= 0)
		close(c->passed_fd);
	free(c->files);
	drop(c);
	free(c);
}

/*
 * A waiting client is only watched for its end: it sends nothing before it has its answer. From a
 * client that does not read its answers nothing more is read.
 */
short client_events(const struct client *c)
{
	return c->out_len ? POLLOUT : POLLIN;
}

static void send_out(struct client *c)
{
	while (c->out_len && !c->gone) {
		ssize_t n = message_send(c->fd, c->out, c->out_len, -1, MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			c->gone = true;
			return;
		}
		c->heard = session_now_ms();
		c->out_len -= (size_t)n;
		memmove(c->out, c->out + n, c->out_len);
	}
	if (c->out_cap > BUFFERED_SMALL && !c->out_len)
		buffer_drop(c, &c->out, &c->out_cap);
}

void client_answer(struct client *c, int result, const void *body, size_t size)
{
	struct wire_answer answer = { .size = (uint32_t)size, .result = result };

	if (c->gone)
		return;
	if (!client_grow(c, &c->out, &c->out_cap, c->out_len + sizeof(answer) + size)) {
		c->gone = true;
		return;
	}
	memcpy(c->out + c->out_len, &answer, sizeof(answer));
	if (size)
		memcpy(c->out + c->out_len + sizeof(answer), body, size);
	c->out_len += sizeof(answer) + size;
	send_out(c);
}

static void keep_passed(struct client *c, int fd)
{
	if (fd < 0)
		return;
	if (c->passed_fd >= 0)
		close(c->passed_fd);
	c->passed_fd = fd;
}

/* Reads what has arrived, at most the rest of one request. */
static void receive(struct client *c, size_t want)
{
	ssize_t n;
	int fd;

	if (!client_grow(c, &c->in, &c->in_cap, want + 1)) {
		c->gone = true;
		return;
	}
	n = message_receive(c->fd, c->in + c->in_len, want - c->in_len, MSG_DONTWAIT, &fd);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		c->gone = true;
	if (n <= 0)
		return;
	c->heard = session_now_ms();
	c->in_len += (size_t)n;
	keep_passed(c, fd);
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
	if (c->in_cap > BUFFERED_SMALL)
		buffer_drop(c, &c->in, &c->in_cap);
	if (c->passed_fd >= 0) {
		close(c->passed_fd);
		c->passed_fd = -1;
	}
}

/* If a waiting client sends something or closes, it no longer wants an answer. */
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

	if (c->out_len && (revents & (POLLERR | POLLHUP)))
		c->gone = true;
	if (revents & POLLOUT)
		send_out(c);
	if (c->gone || c->out_len)
		return;
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
