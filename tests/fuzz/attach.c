/* SPDX-License-Identifier: MIT */
/*
 * attach.c - packets of a hostile process, with descriptors, and the server's answers
 *
 * Input: strokes of one byte each, with their operands. They open connections, close them, and send
 * packets: any bytes, or a request with definitions of events that are almost right, and with no,
 * one or several descriptors. The server answers in between. At the end all connections are closed.
 *
 * Besides crashes it checks that each answer is one of the protocol, and that no descriptor and no
 * slot is left.
 *
 *     fuzzer: server, sends and reads  <---- connections ----  a child that only connects
 *
 * The server sees the child as its peer. The child has no session mapped, so it has ended for the
 * server when its connections end.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "../unit/session/temp_place.h"
#include "model/model.h"
#include "plane/plane.h"
#include "session/attach/attach.h"
#include "layout/attach_wire.h"
#include "sources/program/programs.h"
#include "tracefs/tree.h"

enum { CONNS = 4, PASSED = 3, STROKES = 64, WORLD_INPUTS = 64, LIBRARIES = 16, LATER = 100 };
enum stroke { CONNECT, CLOSE, SERVE, RAW, REQUEST, EVENTS, KINDS };

static struct {
	struct session	*session;
	struct model	*model;
	struct tree	*tree;
	struct programs	*programs;
	int		conns[CONNS];
	int		connector;	/* a socket to the child */
	int		files;		/* descriptors before the first connection */
} w;

struct input {
	const uint8_t	*at, *end;
};

static uint32_t take(struct input *in, size_t bytes)
{
	uint32_t v = 0;

	for (size_t i = 0; i < bytes && in->at < in->end; i++)
		v |= (uint32_t)*in->at++ << 8 * i;
	return v;
}

static void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "attach: %s\n", what);
	abort();
}

/* ---- descriptors over a socket ---- */

union control {
	struct cmsghdr	head;
	char		bytes[CMSG_SPACE(PASSED * sizeof(int))];
};

static ssize_t send_with(int sock, const void *packet, size_t size, const int *fds, size_t nr)
{
	union control control = { 0 };
	struct iovec iov = { (void *)packet, size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c = &control.head;

	if (nr) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(nr * sizeof(int));
		*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
				       .cmsg_len = CMSG_LEN(nr * sizeof(int)) };
		memcpy(CMSG_DATA(c), fds, nr * sizeof(int));
	}
	return sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- the child ---- */

static int connect_to(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/*
 * Receives a path, and sends a connection. Then receives a word when only the parent has the
 * connection.
 */
static void connect_for_parent(int sock)
{
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)] = "";

	while (recv(sock, path, sizeof(path) - 1, 0) > 0) {
		int fd = connect_to(path);

		send_with(sock, &fd, sizeof(fd), &fd, fd >= 0);
		if (fd >= 0)
			close(fd);
		send(sock, &fd, sizeof(fd), 0);
	}
	_exit(0);
}

static void start_child(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		abort();
	if (!fork()) {
		close(pair[0]);
		connect_for_parent(pair[1]);
	}
	close(pair[1]);
	w.connector = pair[0];
}

/*
 * libFuzzer's timer interrupts calls (-timeout). An answer that is left behind would hold a
 * connection that nobody closes.
 */
static ssize_t receive(int sock, struct msghdr *msg)
{
	ssize_t n;

	do
		n = recvmsg(sock, msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	return n;
}

/* -1: the server does not listen. */
static int connection(void)
{
	union control control;
	int said = -1, fd = -1;
	struct iovec iov = { &said, sizeof(said) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	char path[256];
	struct cmsghdr *c;

	snprintf(path, sizeof(path), "%s/attach", session_dir(w.session));
	check(send(w.connector, path, strlen(path) + 1, 0) > 0, "the child is gone");
	check(receive(w.connector, &msg) > 0, "the child does not answer");
	c = CMSG_FIRSTHDR(&msg);
	if (c)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	msg.msg_control = NULL;
	msg.msg_controllen = 0;
	check(receive(w.connector, &msg) > 0, "the child does not answer");
	return fd;
}

/* ---- the server ---- */

static void fixture_open(void)
{
	static const struct session_params small = {
		.nr_cpus = 2, .nr_slots = 64, .memory = 64 << 20,
	};
	static const struct programs_params few = { .systems = "signal" };

	session_remove_stale("fuzz");
	if (session_create("fuzz", &small, &w.session) || model_create(w.session, &w.model))
		abort();
	w.tree = tree_create(w.model);
	if (!w.tree || programs_create(w.model, w.tree, &few, &w.programs))
		abort();
}

static void fixture_close(void)
{
	programs_destroy(w.programs);
	tree_destroy(w.tree);
	model_destroy(w.model);
	session_destroy(w.session);
	w.session = NULL;
}

/*
 * Counts our own open files: libFuzzer and the symbolizer have pipes and /dev/null. say: lists
 * them.
 */
static int open_files(bool say)
{
	char link[64], to[256];
	int nr = 0, libraries = 0;

	for (int fd = 0; fd < 1024; fd++) {
		ssize_t n;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, to, sizeof(to) - 1);
		if (n <= 0 || !strncmp(to, "pipe:", 5) || !strncmp(to, "/dev/null", 9))
			continue;
		/* The child's libraries: those with USDT probes stay open, once each. */
		to[n] = '\0';
		if (strstr(to, ".so")) {
			check(++libraries <= LIBRARIES, "libraries that are open again and again");
			continue;
		}
		nr++;
		if (say)
			fprintf(stderr, "    %d %.*s\n", fd, (int)n, to);
	}
	return nr;
}

static void serve(void)
{
	attach_serve(w.session);
	programs_tick(w.programs);
}

static void check_reply(const struct attach_reply *r, ssize_t size)
{
	check(size >= (ssize_t)sizeof(*r), "a reply that is too short");
	check(r->nr_ids <= ATTACH_IDS && r->nr_slots <= ATTACH_SLOTS, "a reply with too much");
	check((size_t)size == sizeof(*r) + r->nr_ids * sizeof(int32_t), "a reply of another size");
	check(r->process <= LAYOUT_MAX_PROCESSES, "a reply to a process that there is not");
}

static void read_replies(void)
{
	union {
		struct attach_reply reply;
		char		bytes[ATTACH_PACKET];
	} packet;

	for (int i = 0; i < CONNS; i++) {
		ssize_t n;

		while (w.conns[i] >= 0 &&
		       (n = recv(w.conns[i], &packet, sizeof(packet), MSG_DONTWAIT)) > 0)
			check_reply(&packet.reply, n);
	}
}

/* ---- strokes ---- */

/* Makes a file: one end of a connection, another kind of socket, no socket, our own connection. */
static int some_file(uint32_t kind, int conn, int *other)
{
	int pair[2];

	*other = -1;
	if (kind % 4 == 3)
		return dup(conn);
	if (kind % 4 == 2)
		return open("/dev/zero", O_RDWR | O_CLOEXEC);
	if (socketpair(AF_UNIX, kind % 4 ? SOCK_STREAM : SOCK_SEQPACKET, 0, pair))
		abort();
	*other = pair[1];
	return pair[0];
}

/* Some packets have descriptors. If the server took one, the fuzzer also writes to it. */
static void send_packet(struct input *in, int conn, const void *packet, size_t size)
{
	const uint32_t files = take(in, 1), nr = files % 8 <= PASSED ? files % 8 : 0;
	int fds[PASSED], others[PASSED];

	for (uint32_t i = 0; i < nr; i++)
		fds[i] = some_file(files >> (3 + 2 * i), conn, &others[i]);
	send_with(conn, packet, size, fds, nr);
	for (uint32_t i = 0; i < nr; i++)
		close(fds[i]);
	serve();
	for (uint32_t i = 0; i < nr; i++) {
		if (others[i] < 0)
			continue;
		send(others[i], packet, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		serve();
		close(others[i]);
	}
}

static void send_raw(struct input *in, int conn)
{
	static uint8_t packet[ATTACH_PACKET + 64];
	size_t size = take(in, 2) % sizeof(packet);

	for (size_t i = 0; i < size; i++)
		packet[i] = (uint8_t)(in->at < in->end ? *in->at++ : i);
	send_packet(in, conn, packet, size);
}

static struct attach_request request(struct input *in)
{
	const uint32_t kind = take(in, 1);
	struct attach_request q = { .version = SESSION_VERSION, .kind = kind % (ATTACH_DSO + 2),
				    .no_membarrier = kind >> 7, .number = take(in, 1) };

	q.value = take(in, kind & 64 ? 4 : 1);
	q.table = take(in, 4);
	return q;
}

static void send_request(struct input *in, int conn)
{
	struct attach_request q = request(in);

	send_packet(in, conn, &q, sizeof(q));
}

/* Copies a text up to the next 0 of the input. */
static size_t put_text(struct input *in, char *to, size_t room)
{
	size_t n = 0;

	while (in->at < in->end && n + 1 < room && (to[n] = (char)*in->at++))
		n++;
	to[n] = '\0';
	return n + 1;
}

/* Makes a definition that is almost right: each bit of `wrong` changes a size or an offset. */
static size_t put_definition(struct input *in, char *to, size_t room)
{
	struct attach_definition d;
	const uint32_t wrong = take(in, 1);
	size_t at = sizeof(d);

	if (room < sizeof(d) + 64)
		return 0;
	d.system = (uint32_t)at;
	at += put_text(in, to + at, 64 < room - at ? 64 : room - at);
	d.name = (uint32_t)at;
	at += put_text(in, to + at, room - at);
	d.body = (uint32_t)at;
	if (at < room)
		at += put_text(in, to + at, room - at);
	at = at + 7 & ~(size_t)7;
	d.size = (uint32_t)at;
	if (wrong & 1)
		d.size = take(in, 4);
	if (wrong & 2)
		d.system = take(in, 4);
	if (wrong & 4)
		d.name = take(in, 4);
	if (wrong & 8)
		d.body = take(in, 4);
	memcpy(to, &d, sizeof(d));
	return at;
}

static void send_events(struct input *in, int conn)
{
	static union {
		struct attach_request q;
		char		bytes[ATTACH_PACKET];
	} packet;
	const uint32_t more = take(in, 1);
	size_t size = sizeof(packet.q);
	uint32_t nr = 0;

	memset(&packet, 0, sizeof(packet));
	packet.q = (struct attach_request){ .version = SESSION_VERSION, .kind = ATTACH_EVENTS };
	for (; nr <= more % 4; nr++)
		size += put_definition(in, packet.bytes + size, sizeof(packet) - 8 - size);
	packet.q.value = more & 128 ? take(in, 2) : nr;
	send_packet(in, conn, &packet, size);
}

static void strike(struct input *in)
{
	const uint32_t what = take(in, 1);
	int *conn = &w.conns[what / KINDS % CONNS];

	if (*conn < 0)
		*conn = connection();
	if (*conn < 0)
		return;
	switch (what % KINDS) {
	case CONNECT:
		break;
	case CLOSE:
		close(*conn);
		*conn = -1;
		break;
	case SERVE:
		read_replies();
		break;
	case RAW:
		send_raw(in, *conn);
		break;
	case REQUEST:
		send_request(in, *conn);
		break;
	default:
		send_events(in, *conn);
		break;
	}
	serve();
}

static void end_all(void)
{
	read_replies();
	for (int i = 0; i < CONNS; i++) {
		if (w.conns[i] >= 0)
			close(w.conns[i]);
		w.conns[i] = -1;
	}
	for (int i = 0; i < 3; i++)
		serve();
}

static bool something_is_left(void)
{
	return attach_processes(w.session, NULL, NULL) || open_files(false) != w.files;
}

/* The server may close what has ended a little later (attach/server.c, S2 and S3). */
static void check_end(void)
{
	const struct timespec pause = { .tv_nsec = 10000000 };

	for (int i = 0; i < LATER && something_is_left(); i++) {
		nanosleep(&pause, NULL);
		serve();
	}
	check(attach_processes(w.session, NULL, NULL) == 0, "a process that has gone is there");
	check(open_files(false) == w.files || !open_files(true),
	      "descriptors that nobody closes");
}

/* The session's files are in memory. */
static void finish(void)
{
	if (w.session)
		fixture_close();
	temp_place_remove();
}

static void start(void)
{
	if (!temp_place())
		exit(0);
	atexit(finish);
	start_child();
	for (int i = 0; i < CONNS; i++)
		w.conns[i] = -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	static unsigned int inputs;

	if (!w.connector)
		start();
	if (w.session && ++inputs % WORLD_INPUTS == 0)
		fixture_close();
	if (!w.session) {
		fixture_open();
		w.files = open_files(false);
	}
	for (int i = 0; i < STROKES && in.at < in.end; i++)
		strike(&in);
	end_all();
	check_end();
	return 0;
}
