/* SPDX-License-Identifier: MIT */
/*
 * server.c - clients that break the rules: what they cost the server and the other clients
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "server/server.h"
#include "access/access.h"
#include "access/socket.h"
#include "access/wire.h"
#include "model/model.h"
#include "layout/attach_wire.h"
#include "session/session.h"
#include "tracefs/tree.h"
#include "../session/temp_place.h"

enum { IDLE = 1100, MANY = 200000, PATIENCE_MS = 300 };

static struct {
	struct session	*session;
	struct model	*model;
	struct server	*server;
	struct server_params params;
	pthread_t	thread;
} w;

static void *run(void *arg)
{
	server_run(w.server);
	return NULL;
}

static int setup(void **state)
{
	static const struct session_params small = { .nr_cpus = 2,
						     .nr_slots = 16,
						     .memory = 64 << 20 };

	session_remove_stale("clients");
	assert_int_equal(session_create("clients", &small, &w.session), 0);
	assert_int_equal(model_create(w.session, &w.model), 0);
	w.params = (struct server_params){ .session = w.session,
					   .model = w.model,
					   .tree = tree_create(w.model) };
	assert_int_equal(server_create(&w.params, &w.server), 0);
	assert_int_equal(pthread_create(&w.thread, NULL, run, NULL), 0);
	return 0;
}

static int teardown(void **state)
{
	server_stop(w.server);
	pthread_join(w.thread, NULL);
	server_destroy(w.server);
	tree_destroy(w.params.tree);
	model_destroy(w.model);
	session_destroy(w.session);
	return 0;
}

/* Returns the connection; -1: it was refused. */
static int connection(const char *name, int type)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/%s", session_dir(w.session), name);
	if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	close(fd);
	return -1;
}

static bool receive(int fd, void *to, size_t size)
{
	for (size_t got = 0; got < size;) {
		ssize_t n = recv(fd, (char *)to + got, size - got, 0);

		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	return true;
}

/* Reads an answer of the server. The body is dropped. */
static bool answered(int fd, int *result)
{
	struct wire_answer answer;
	char *body;
	bool ok;

	if (!receive(fd, &answer, sizeof(answer)))
		return false;
	body = malloc(answer.size + 1);
	ok = receive(fd, body, answer.size);
	free(body);
	*result = answer.result;
	return ok;
}

static bool serves(void)
{
	const struct wire_request info = { .op = WIRE_INFO };
	int fd = connection("control", SOCK_STREAM), result = -1;
	bool ok = fd >= 0 && send(fd, &info, sizeof(info), MSG_NOSIGNAL) == sizeof(info) &&
		  answered(fd, &result) && !result;

	if (fd >= 0)
		close(fd);
	return ok;
}

static unsigned int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int nr = 0;

	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

/* Sends one message with `nr` descriptors. */
static void pass(int fd, const void *bytes, size_t size, unsigned int nr)
{
	union {
		struct cmsghdr	head;
		char		bytes[CMSG_SPACE(8 * sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(nr * sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { (void *)(uintptr_t)bytes, size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = CMSG_SPACE(nr * sizeof(int)) };

	for (unsigned int i = 0; i < nr; i++)
		memcpy(CMSG_DATA(&control.head) + i * sizeof(int), &(int){ STDERR_FILENO },
		       sizeof(int));
	assert_int_equal(sendmsg(fd, &msg, MSG_NOSIGNAL), size);
}

/* Waits until there are as many as before: the server closes its ends a moment later. */
static bool are_again(unsigned int before)
{
	for (int i = 0; i < 10000 && descriptors() != before; i++)
		usleep(1000);
	return descriptors() == before;
}

static void descriptors_of_requests_do_not_pile_up(void **state)
{
	const struct wire_request info = { .op = WIRE_INFO };
	unsigned int before = descriptors();

	for (unsigned int nr = 1; nr <= 8; nr++) {
		int fd = connection("control", SOCK_STREAM), result;

		for (int i = 0; i < 10; i++) {
			pass(fd, &info, sizeof(info), nr);
			assert_true(answered(fd, &result));
		}
		/* This request stays incomplete. */
		pass(fd, &info, 1, nr);
		pass(fd, (const char *)&info + 1, 1, nr);
		assert_true(serves());
		close(fd);
	}
	assert_true(are_again(before));
}

static void descriptors_of_packets_do_not_pile_up(void **state)
{
	/* this request asks for no slots */
	const struct attach_request q = { .version = SESSION_VERSION, .kind = ATTACH_PID };
	const struct attach_request child = { .version = SESSION_VERSION, .kind = ATTACH_CHILD };
	unsigned int before = descriptors();

	for (unsigned int nr = 1; nr <= 8; nr++) {
		struct attach_reply reply;
		int fd = connection("attach", SOCK_SEQPACKET);

		pass(fd, &q, sizeof(q), nr);
		pass(fd, &child, sizeof(child), nr);
		pass(fd, &q, 0, nr);		/* empty */
		while (recv(fd, &reply, sizeof(reply), 0) > 0)
			;
		close(fd);
	}
	assert_true(are_again(before));
}

static void idle_connections_starve_nobody(void **state)
{
	struct rlimit old, limit;
	int fds[IDLE], nr = 0;

	getrlimit(RLIMIT_NOFILE, &old);
	limit = old;
	limit.rlim_cur = 2 * IDLE + 400;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		skip();
	while (nr < IDLE && (fds[nr] = connection("control", SOCK_STREAM)) >= 0)
		nr++;
	assert_int_equal(nr, IDLE);
	for (int i = 0; i < 20; i++)
		assert_true(serves());
	while (nr)
		close(fds[--nr]);
	assert_true(serves());
	setrlimit(RLIMIT_NOFILE, &old);
}

/* Whether the server has closed it, which has nothing to say there otherwise. */
static bool is_closed(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static int ask(int fd)
{
	const struct wire_request info = { .op = WIRE_INFO };
	int result = -1;

	assert_int_equal(send(fd, &info, sizeof(info), MSG_NOSIGNAL), sizeof(info));
	return answered(fd, &result) ? result : -EPIPE;
}

/* Of a process with too many connections, that one is closed that was silent for longest. */
static void the_most_silent_connection_is_closed(void **state)
{
	enum { ROOM = 64 };
	struct rlimit old, limit;
	int fds[ROOM];

	getrlimit(RLIMIT_NOFILE, &old);
	limit = old;
	limit.rlim_cur = 4 * ROOM;
	for (int i = 0; i < ROOM; i++) {
		fds[i] = connection("control", SOCK_STREAM);
		assert_int_equal(ask(fds[i]), 0);
		usleep(2000);
	}
	assert_int_equal(ask(fds[0]), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(serves());
	setrlimit(RLIMIT_NOFILE, &old);
	assert_true(is_closed(fds[1]));
	for (int i = 0; i < ROOM; i++) {
		assert_true(i == 1 || !is_closed(fds[i]));
		close(fds[i]);
	}
}

static int request(int fd, uint32_t op, uint32_t handle)
{
	static const char path[] = "tracing_on";
	const uint32_t size = op == WIRE_OPEN ? sizeof(path) - 1 : 0;
	const struct wire_request rq = { .op = op, .handle = handle, .size = size };
	int result;

	assert_int_equal(send(fd, &rq, sizeof(rq), MSG_NOSIGNAL), sizeof(rq));
	assert_int_equal(send(fd, path, size, MSG_NOSIGNAL), size);
	assert_true(answered(fd, &result));
	return result;
}

static void a_client_has_so_many_open_files(void **state)
{
	enum { HANDLES = 4096 };
	int fd = connection("control", SOCK_STREAM);

	for (int i = 0; i < HANDLES; i++)
		assert_int_equal(request(fd, WIRE_OPEN, 0), i);
	assert_int_equal(request(fd, WIRE_OPEN, 0), -EMFILE);
	assert_int_equal(request(fd, WIRE_RELEASE, 17), 0);
	assert_int_equal(request(fd, WIRE_RELEASE, 17), -EBADF);
	assert_int_equal(request(fd, WIRE_OPEN, 0), 17);
	assert_int_equal(request(fd, WIRE_OPEN, 0), -EMFILE);
	close(fd);
}

static void put(struct access *a, const char *path, const char *text)
{
	const char *step;

	assert_int_equal(access_write_all(a, path, O_APPEND, text, strlen(text), &step), 0);
}

static void histograms_of_all_instances_are_listed(void **state)
{
	struct access *a;
	char *text = NULL;

	assert_int_equal(access_connect_at(session_dir(w.session), &a), 0);
	put(a, "synthetic_events", "one int x");
	put(a, "synthetic_events", "two int x");
	assert_int_equal(a->ops->mkdir(a, "instances/other"), 0);
	put(a, "events/synthetic/one/trigger", "hist:keys=x");
	put(a, "instances/other/events/synthetic/two/trigger", "hist:keys=x");
	assert_int_equal(access_request(a, WIRE_HISTS, "", -1, &text), 0);
	assert_string_equal(text, "events/synthetic/one/hist.json\n"
				  "instances/other/events/synthetic/two/hist.json\n");
	free(text);
	access_close(a);
}

/* The server reads no more requests of a client that does not read its answers. None is lost. */
static void unread_answers_are_few(void **state)
{
	const struct wire_request list = { .op = WIRE_LIST };
	int fd = connection("control", SOCK_STREAM), sent = 0, result, got = 0;
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	while (sent < MANY && poll(&p, 1, PATIENCE_MS) == 1 &&
	       send(fd, &list, sizeof(list), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(list))
		sent++;
	assert_true(sent < MANY);
	assert_true(serves());
	while (got < sent && answered(fd, &result)) {
		assert_int_equal(result, 0);
		got++;
	}
	assert_int_equal(got, sent);
	close(fd);
}

/* Many connections have large incomplete requests. Other clients are served. */
static void half_requests_are_bounded(void **state)
{
	static char part[900000];
	const struct wire_request big = { .size = WIRE_MAX, .op = WIRE_STAT };
	int fds[200], nr = 0;

	memcpy(part, &big, sizeof(big));
	for (; nr < 200 && (fds[nr] = connection("control", SOCK_STREAM)) >= 0; nr++) {
		size_t at = 0;
		ssize_t n;

		while (at < sizeof(part) &&
		       (n = send(fds[nr], part + at, sizeof(part) - at, MSG_NOSIGNAL)) > 0)
			at += (size_t)n;
	}
	assert_int_equal(nr, 200);
	assert_true(serves());
	/* The server has closed the first ones. */
	assert_true(recv(fds[0], part, 1, 0) <= 0);
	while (nr)
		close(fds[--nr]);
	assert_true(serves());
}

/* Defines events with names of 63 bytes: a directory whose list is longer than a request. */
enum { LONG_NAMES = 16250, PER_WRITE = 250, LONG_LINE = 80 };

static void define_long_names(struct access *a)
{
	char *text = malloc(PER_WRITE * LONG_LINE);
	const char *step;

	for (unsigned int i = 0; i < LONG_NAMES; i += PER_WRITE) {
		size_t len = 0;

		for (unsigned int j = i; j < i + PER_WRITE; j++)
			len += (size_t)sprintf(text + len, "e%062u u64 a\n", j);
		assert_int_equal(access_write_all(a, "synthetic_events", O_APPEND, text, len,
						  &step), 0);
	}
	free(text);
}

static int count_name(void *arg, const char *name, bool is_dir)
{
	*(unsigned int *)arg += is_dir && *name == 'e' && strlen(name) == 63;
	return 0;
}

static void long_directories_are_whole(void **state)
{
	struct access *a;
	unsigned int nr = 0;

	assert_int_equal(access_connect_at(session_dir(w.session), &a), 0);
	define_long_names(a);
	assert_int_equal(a->ops->list(a, "events/synthetic", count_name, &nr), 0);
	assert_int_equal(nr, LONG_NAMES);
	access_close(a);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(descriptors_of_requests_do_not_pile_up),
		TEST(descriptors_of_packets_do_not_pile_up),
		TEST(idle_connections_starve_nobody),
		TEST(the_most_silent_connection_is_closed),
		TEST(a_client_has_so_many_open_files),
		TEST(histograms_of_all_instances_are_listed),
		TEST(unread_answers_are_few),
		TEST(half_requests_are_bounded),
		TEST(long_directories_are_whole),
	};
	int failed;

	if (!temp_place())
		return temp_place_skip();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	temp_place_remove();
	return failed;
}
