/* SPDX-License-Identifier: MIT */
/*
 * request.c - the agent's end of the attach socket: one question and its answer (attach_wire.h)
 *
 * The descriptor is moved to a high number, where programs seldom close or reuse
 * one, and is checked before each use, because they may (A4). If the program may
 * have no descriptor that high, it has few and needs them all. Then the connection
 * is closed after the last question, and the next question connects again.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include "agent/state.h"
#include "agent/syscall.h"
#include "session/message.h"

enum { HIGH_FD = 512 };

static void close_fd(int fd)
{
	agent_syscall(SYS_close, fd);
}

static int move_high(int fd)
{
	long high = agent_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, HIGH_FD);

	if (high < 0)
		return fd;
	close_fd(fd);
	return (int)high;
}

static bool is_same(const struct agent_conn *c, const struct stat *st)
{
	return S_ISSOCK(st->st_mode) && st->st_dev == c->dev && st->st_ino == c->ino;
}

bool request_usable(void)
{
	struct stat st;

	return agent.conn.fd >= 0 && !agent_syscall(SYS_fstat, agent.conn.fd, &st) &&
	       is_same(&agent.conn, &st);
}

void request_close(void)
{
	if (request_usable())
		close_fd(agent.conn.fd);
	agent.conn.fd = -1;
}

void request_rest(void)
{
	if (agent.conn.fd >= 0 && agent.conn.fd < HIGH_FD)
		request_close();
}

static void wait_at_most(int fd, int option, unsigned int ms)
{
	struct timeval wait = { ms / 1000, ms % 1000 * 1000 };

	agent_syscall(SYS_setsockopt, fd, SOL_SOCKET, option, &wait, sizeof(wait));
}

/*
 * A path may be too long for a socket's address: then a descriptor of its directory names it.
 */
static long connect_dir(int fd)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t len = strlen(agent.dir);
	char digits[12];
	int nr = 0;
	long dir, err;

	if (len + sizeof("/attach") <= sizeof(addr.sun_path)) {
		memcpy(addr.sun_path, agent.dir, len);
		memcpy(addr.sun_path + len, "/attach", sizeof("/attach"));
		return agent_syscall(SYS_connect, fd, &addr, sizeof(addr));
	}
	dir = agent_syscall(SYS_openat, AT_FDCWD, agent.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return dir;
	memcpy(addr.sun_path, "/proc/self/fd/", 14);
	for (long v = dir; !nr || v; v /= 10)
		digits[nr++] = (char)('0' + v % 10);
	for (len = 14; nr;)
		addr.sun_path[len++] = digits[--nr];
	memcpy(addr.sun_path + len, "/attach", sizeof("/attach"));
	err = agent_syscall(SYS_connect, fd, &addr, sizeof(addr));
	close_fd((int)dir);
	return err;
}

static void conn_set(int fd, const struct stat *st)
{
	agent.conn.fd = move_high(fd);
	agent.conn.dev = st->st_dev;
	agent.conn.ino = st->st_ino;
}

/* By a signal; a filter may answer each call so. */
static bool is_interrupted(long n, int *times)
{
	return n == -EINTR && ++*times < INTERRUPTED_MOST;
}

int request_pass(enum attach_kind kind, int fd, int flags)
{
	struct attach_request q = { .version = SESSION_VERSION, .kind = kind };
	struct iovec iov = { &q, sizeof(q) };
	union message_control control;
	const struct msghdr msg = message_of(&iov, &control, fd);
	int times = 0;
	long n;

	do
		n = agent_syscall(SYS_sendmsg, agent.conn.fd, &msg, MSG_NOSIGNAL | flags);
	while (is_interrupted(n, &times));
	return n < 0 ? (int)n : 0;
}

int request_inherit(void)
{
	struct stat st;
	int pair[2];
	long err;

	if (!request_usable())
		return -ENOTCONN;
	err = agent_syscall(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
	if (err)
		return (int)err;
	wait_at_most(pair[0], SO_SNDTIMEO, AGENT_WAIT_MS);
	wait_at_most(pair[0], SO_RCVTIMEO, AGENT_WAIT_MS);
	/* By the connection that fork() has left. */
	err = request_pass(ATTACH_CHILD, pair[1], MSG_DONTWAIT);
	close_fd(pair[1]);
	if (err >= 0)
		err = agent_syscall(SYS_fstat, pair[0], &st);
	if (err < 0) {
		close_fd(pair[0]);
		return (int)err;
	}
	request_close();	/* the parent's */
	conn_set(pair[0], &st);
	return 0;
}

/* J4 of place.c: the kernel says who serves the connection. */
static long server_check(int fd)
{
	struct { int pid; uint32_t uid, gid; } peer;
	uint32_t len = sizeof(peer);
	long err = agent_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);

	return err ? err : peer.uid == agent.owner ? 0 : -EACCES;
}

/* Waits while the queue of the socket is full. */
static long connect_patiently(int fd)
{
	struct agent_patience patience = patience_begin();
	long err;

	do
		err = connect_dir(fd);
	while (err == -EAGAIN && patience_goes_on(&patience));
	return err;
}

__attribute__((cold)) int request_connect(void)
{
	long fd = agent_syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), err;
	struct stat st;

	if (fd < 0)
		return (int)fd;
	wait_at_most((int)fd, SO_SNDTIMEO, AGENT_WAIT_MS);
	wait_at_most((int)fd, SO_RCVTIMEO, AGENT_WAIT_MS);
	err = connect_patiently((int)fd);
	if (!err)
		err = server_check((int)fd);
	if (!err)
		err = agent_syscall(SYS_fstat, fd, &st);
	if (err) {
		close_fd((int)fd);
		return err == -EAGAIN ? -ETIMEDOUT : err == -ENOENT ? -ECONNREFUSED : (int)err;
	}
	request_close();
	conn_set((int)fd, &st);
	return 0;
}

int request_send(struct attach_request *q, const void *more, size_t extra)
{
	struct iovec iov[2] = { { q, sizeof(*q) }, { (void *)(uintptr_t)more, extra } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = extra ? 2 : 1 };
	int times = 0;
	long n;

	q->number = ++agent.conn.asked;
	agent.conn.patience = patience_begin();
	/* A DSO's functions are traced when the words are there: the program waits no longer. */
	if ((q->kind == ATTACH_DSO || q->kind == ATTACH_PLACES) && !agent.starting)
		agent.conn.patience.rounds = AGENT_ROUNDS;
	do
		n = agent_syscall(SYS_sendmsg, agent.conn.fd, &msg, MSG_NOSIGNAL);
	while (is_interrupted(n, &times));
	if (n < 0)
		return n == -EAGAIN ? -ETIMEDOUT : -ECONNREFUSED;
	return (size_t)n == sizeof(*q) + extra ? 0 : -EPROTO;
}

/* One reply, to any request. */
static long receive_one(void *reply, size_t size)
{
	int times = 0;
	long n;

	do
		n = agent_syscall(SYS_recvfrom, agent.conn.fd, reply, size, 0, 0, 0);
	while (is_interrupted(n, &times) ||
	       (n == -EAGAIN && patience_goes_on(&agent.conn.patience)));
	if (n == -EAGAIN)
		return -ETIMEDOUT;
	if (n < (long)sizeof(struct attach_reply))
		return n < 0 ? n : -ECONNREFUSED;
	return n;
}

/*
 * Slots that came too late for the thread that asked for them belong to the process all the same.
 */
static bool is_late(const struct attach_request *q, const struct attach_reply *r)
{
	if (r->number == q->number || (!r->number && r->err))
		return false;
	if (r->nr_slots && !r->err)
		attach_slots(r);
	return true;
}

long request_answer(const struct attach_request *q, void *reply, size_t size, unsigned int wait_ms)
{
	long n;

	if (wait_ms != AGENT_WAIT_MS)
		wait_at_most(agent.conn.fd, SO_RCVTIMEO, wait_ms);
	do
		n = receive_one(reply, size);
	while (n > 0 && is_late(q, reply));
	if (wait_ms != AGENT_WAIT_MS)
		wait_at_most(agent.conn.fd, SO_RCVTIMEO, AGENT_WAIT_MS);
	return n;
}

/*
 * A server that refuses a connection sends the reason and closes it. The error of that comes first.
 */
static int refusal(int err)
{
	struct attach_reply reply;
	long n = agent_syscall(SYS_recvfrom, agent.conn.fd, &reply, sizeof(reply), MSG_DONTWAIT, 0,
			       0);

	return n == (long)sizeof(reply) && !reply.number && reply.err ? reply.err : err;
}

int request_begin(struct attach_request *q)
{
	int err = request_send(q, NULL, 0);

	return err ? refusal(err) : 0;
}

int request_end(const struct attach_request *q, struct attach_reply *reply)
{
	long n = request_answer(q, reply, sizeof(*reply), AGENT_WAIT_MS);

	return n < 0 ? refusal((int)n) : reply->err;
}

__attribute__((cold)) int request_ask(struct attach_request *q, struct attach_reply *reply)
{
	int err = request_begin(q);

	return err ? err : request_end(q, reply);
}
