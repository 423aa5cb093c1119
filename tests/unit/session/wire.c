/* SPDX-License-Identifier: MIT */
/*
 * wire.c - the messages of the attach socket, as an agent sends them, and wrong ones
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <cmocka.h>
#include "plane/plane.h"
#include "session/attach/attach.h"
#include "layout/attach_wire.h"
#include "../pid_list.h"
#include "temp_place.h"

struct answer {
	struct attach_reply reply;
	int32_t		ids[ATTACH_IDS];
};

static struct session *session;
static int conn;
static char packet[2 * ATTACH_PACKET];

/* The arguments of the hooks. */
static struct {
	uint64_t	table;
	char		defined[256];
	unsigned int	ready;
	pid_t		pid;
	bool		hold;
} seen;

static uint32_t on_table(void *arg, const struct attach_peer *peer, uint64_t version)
{
	seen.table = version;
	seen.pid = peer->pid;
	return version == 7 ? 40 : 0;
}

static int on_define(void *arg, const struct attach_peer *peer, uint64_t dso, const char *system,
		     const char *name, const char *body)
{
	snprintf(seen.defined + strlen(seen.defined), sizeof(seen.defined) - strlen(seen.defined),
		 "%s:%s=%s;", system, name, body);
	return strcmp(name, "bad") ? 100 + (int)strlen(name) : -EEXIST;
}

static bool on_ready(void *arg, const struct attach_peer *peer)
{
	seen.ready = peer->process;
	return seen.hold;
}

/* So many calls of sendmsg() by the server fail for want of memory. */
static unsigned int no_memory;

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	if (flags & MSG_NOSIGNAL && no_memory) {
		no_memory--;
		errno = ENOBUFS;
		return -1;
	}
	return syscall(SYS_sendmsg, fd, msg, flags);
}

static void serve(void)
{
	struct pollfd p = { .fd = attach_fd(session), .events = POLLIN };

	poll(&p, 1, 1000);
	attach_serve(session);
}

static int dial_to(const char *name)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct timeval wait = { 5, 0 };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/tracefuse/%s/attach", temp_place_dir,
		 name);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static int dial(void)
{
	return dial_to("w");
}

static int set_up(void **state)
{
	static const struct session_params params = {
		.nr_cpus = 2, .nr_slots = 32, .memory = 64 << 20 };
	const struct attach_hooks hooks = {
		.table = on_table, .define = on_define, .ready = on_ready };

	memset(&seen, 0, sizeof(seen));
	if (session_create("w", &params, &session))
		return -1;
	attach_set_hooks(session, &hooks);
	conn = dial();
	serve();
	return 0;
}

static int tear_down(void **state)
{
	close(conn);
	session_destroy(session);
	return 0;
}

/* Sends `size` bytes of packet[], which begins with q, and returns the answer. */
static struct answer ask_bytes(struct attach_request q, size_t size)
{
	struct answer a = { .reply = { 0 } };

	q.version = SESSION_VERSION;
	memcpy(packet, &q, sizeof(q));
	assert_int_equal(send(conn, packet, size, 0), size);
	serve();
	assert_true(recv(conn, &a, sizeof(a), 0) >= (ssize_t)sizeof(a.reply));
	return a;
}

static struct attach_reply ask(enum attach_kind kind, uint32_t value)
{
	return ask_bytes((struct attach_request){ .kind = kind, .value = value },
			 sizeof(struct attach_request))
		.reply;
}

static struct attach_reply hello(void)
{
	return ask_bytes((struct attach_request){ .kind = ATTACH_HELLO, .table = 7 },
			 sizeof(struct attach_request)).reply;
}

/* Puts a definition at packet + at; returns where the next one goes. */
static size_t define(size_t at, const char *system, const char *name, const char *body)
{
	struct attach_definition d = { .system = sizeof(d) };
	size_t size;

	d.name = d.system + (uint32_t)strlen(system) + 1;
	d.body = d.name + (uint32_t)strlen(name) + 1;
	size = d.body + strlen(body) + 1;
	d.size = (uint32_t)(size + 7) & ~7u;
	memset(packet + at, 'x', d.size);
	memcpy(packet + at, &d, sizeof(d));
	strcpy(packet + at + d.system, system);
	strcpy(packet + at + d.name, name);
	strcpy(packet + at + d.body, body);
	return at + d.size;
}

static void hello_tells_pid_table_and_slots(void **state)
{
	struct attach_reply r = hello();

	assert_int_equal(r.err, 0);
	assert_int_equal(r.pid, getpid());
	assert_int_equal(r.provider_id, 40);
	assert_in_range(r.nr_slots, 1, ATTACH_SLOTS);
	assert_int_equal(seen.table, 7);
	assert_int_equal(seen.pid, getpid());
}

static void without_hello_nothing_is_answered(void **state)
{
	assert_int_equal(ask(ATTACH_READY, 0).err, -EPROTO);
	assert_int_equal(ask(ATTACH_MORE, 0).err, -EPROTO);
	assert_int_equal(seen.ready, 0);
}

static void definitions_have_their_ids(void **state)
{
	struct answer a;
	size_t at = sizeof(struct attach_request);

	hello();
	at = define(at, "app", "one", "body 1");
	at = define(at, "app", "bad", "body 2");
	at = define(at, "app", "three", "body 3");
	a = ask_bytes((struct attach_request){ .kind = ATTACH_EVENTS, .value = 3 }, at);
	assert_int_equal(a.reply.err, 0);
	assert_int_equal(a.reply.nr_ids, 3);
	assert_int_equal(a.ids[0], 103);
	assert_int_equal(a.ids[1], -EEXIST);
	assert_int_equal(a.ids[2], 105);
	assert_string_equal(seen.defined, "app:one=body 1;app:bad=body 2;app:three=body 3;");
}

static void definitions_beyond_the_packet_are_refused(void **state)
{
	const size_t at = sizeof(struct attach_request);
	struct attach_definition *d = (struct attach_definition *)(packet + at);
	size_t end = define(at, "app", "one", "body");
	const struct attach_definition good = *d;
	const struct attach_request q = { .kind = ATTACH_EVENTS, .value = 1 };

	hello();
	for (uint32_t size = 0; size < 64; size++) {
		d->size = size == good.size ? 1u << 31 : size;
		if (d->size <= good.size && d->size % 8 == 0 && d->size >= sizeof(*d))
			continue;
		assert_int_equal(ask_bytes(q, end).reply.err, -EPROTO);
	}
	*d = good;
	assert_int_equal(
		ask_bytes((struct attach_request){ .kind = ATTACH_EVENTS, .value = 2 }, end)
			.reply.err,
		-EPROTO);
	assert_int_equal(
		ask_bytes((struct attach_request){ .kind = ATTACH_EVENTS, .value = UINT32_MAX },
			  end)
			.reply.err,
		-E2BIG);
	assert_string_equal(seen.defined, "app:one=body;");
}

static void texts_that_do_not_end_in_their_definition_are_refused(void **state)
{
	const size_t at = sizeof(struct attach_request);
	struct attach_definition *d = (struct attach_definition *)(packet + at);
	size_t end = define(at, "app", "one", "body");
	const struct attach_definition good = *d;
	const struct attach_request q = { .kind = ATTACH_EVENTS, .value = 1 };
	static const uint32_t wrong[] = { 0, 8, 1000, UINT32_MAX, 1u << 31 };

	hello();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		*d = good;
		d->name = wrong[i];
		assert_int_equal(ask_bytes(q, end).ids[0], -EPROTO);
		*d = good;
		d->body = wrong[i];
		assert_int_equal(ask_bytes(q, end).ids[0], -EPROTO);
	}
	*d = good;
	memset(packet + at + sizeof(*d), 'y', good.size - sizeof(*d));
	assert_int_equal(ask_bytes(q, end).ids[0], -EPROTO);
	assert_string_equal(seen.defined, "");
}

static void packets_of_odd_sizes_are_refused(void **state)
{
	hello();
	assert_int_equal(ask_bytes((struct attach_request){ .kind = ATTACH_MORE }, 8).reply.err,
			 -EPROTO);
	assert_int_equal(
		ask_bytes((struct attach_request){ .kind = ATTACH_MORE }, ATTACH_PACKET + 8)
			.reply.err,
		-EPROTO);
	assert_int_equal(ask((enum attach_kind)99, 0).err, -EPROTO);
	assert_int_equal(ask(ATTACH_MORE, 0).err, 0);
}

static void who_is_ready_may_go_at_once(void **state)
{
	struct attach_reply r;

	hello();
	r = ask(ATTACH_READY, 0);
	assert_int_equal(r.err, 0);
	assert_int_equal(r.barrier, 0);
	assert_int_equal(attach_go(session, seen.ready), -ESRCH);
}

/* This HELLO says READY, too. */
static void who_has_nothing_to_say_is_ready_at_once(void **state)
{
	const struct attach_request q = { .kind = ATTACH_HELLO, .number = 7, .ready = 1 };
	struct attach_reply r = ask_bytes(q, sizeof(q)).reply;

	assert_int_equal(r.err, 0);
	assert_int_not_equal(r.nr_slots, 0);
	assert_int_equal(r.barrier, 0);
	assert_int_equal(seen.ready, r.process);
}

static void who_has_nothing_to_say_is_held(void **state)
{
	const struct attach_request q = { .kind = ATTACH_HELLO, .number = 7, .ready = 1 };
	struct attach_reply r;

	seen.hold = true;
	r = ask_bytes(q, sizeof(q)).reply;
	assert_int_not_equal(r.nr_slots, 0);
	assert_int_equal(r.barrier, 1);
	assert_int_equal(attach_go(session, seen.ready), 0);
	assert_int_equal(recv(conn, &r, sizeof(r), 0), sizeof(r));
	assert_int_equal(r.number, 7);
	assert_int_equal(r.barrier, 0);
}

static void who_is_held_goes_when_told(void **state)
{
	struct attach_reply r = hello();

	seen.hold = true;
	assert_int_equal(ask_bytes((struct attach_request){ .kind = ATTACH_READY, .number = 7 },
				   sizeof(struct attach_request)).reply.barrier, 1);
	assert_int_equal(seen.ready, r.process);
	assert_int_equal(ask(ATTACH_PID, (uint32_t)getpid()).number, 0);
	assert_int_equal(attach_go(session, seen.ready), 0);
	assert_int_equal(recv(conn, &r, sizeof(r), 0), sizeof(r));
	assert_int_equal(r.barrier, 0);
	assert_int_equal(r.number, 7);
	assert_int_equal(attach_go(session, seen.ready), -ESRCH);
	assert_int_equal(attach_go(session, 0), -ESRCH);
	assert_int_equal(attach_go(session, 5000), -ESRCH);
}

static void an_answer_waits_for_memory(void **state)
{
	no_memory = 1;
	assert_int_equal(hello().err, 0);
	assert_int_equal(no_memory, 0);
}

static void who_cannot_be_answered_does_not_wait(void **state)
{
	struct attach_reply r;

	hello();
	seen.hold = true;
	assert_int_equal(ask(ATTACH_READY, 0).barrier, 1);
	no_memory = UINT32_MAX;
	assert_int_equal(attach_go(session, seen.ready), 0);
	no_memory = 0;
	assert_int_equal(recv(conn, &r, sizeof(r), 0), 0);
}

static void a_thread_is_known_by_the_servers_number(void **state)
{
	hello();
	assert_int_equal(ask(ATTACH_PID, (uint32_t)getpid()).pid, getpid());
	assert_int_equal(ask(ATTACH_PID, 0).err, -ESRCH);
	assert_int_equal(ask(ATTACH_PID, 1).err, -ESRCH);
	assert_int_equal(ask(ATTACH_PID, UINT32_MAX).err, -ESRCH);
}

static unsigned int slots_seen, processes_seen;

static void count_slots(void *arg, pid_t pid, unsigned int slots)
{
	processes_seen++;
	slots_seen += slots;
}

static void a_process_that_attaches_again_is_one_process(void **state)
{
	uint32_t slots = hello().nr_slots;
	int first = conn;

	conn = dial();
	serve();
	slots += hello().nr_slots;
	processes_seen = slots_seen = 0;
	assert_int_equal(attach_processes(session, count_slots, NULL), 1);
	assert_int_equal(processes_seen, 1);
	assert_int_equal(slots_seen, slots);
	close(first);
}

/* Valid packets with some bytes changed. There must be an answer, no matter which. */
static void nonsense_is_answered(void **state)
{
	uint64_t x = 88172645463325252ull;

	hello();
	for (int i = 0; i < 5000; i++) {
		size_t end = define(define(sizeof(struct attach_request), "app", "one", "body"),
				    "app", "two", "other");
		struct attach_request q = { .kind = ATTACH_EVENTS, .value = 2 };

		for (int k = 0; k < 4; k++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			packet[sizeof(q) + x % (end - sizeof(q))] = (char)(x >> 32);
		}
		if (x % 8 == 0)
			q.kind = x >> 40 & 7;
		if (q.kind == ATTACH_BYE)
			continue;
		if (x % 3 == 0)
			q.value = (uint32_t)(x >> 50);
		ask_bytes(q, sizeof(q) + (x >> 20) % (end - sizeof(q) + 1));
		seen.defined[0] = '\0';
	}
}

static void *take_and_vanish(void *arg)
{
	struct slot *slot = arg;

	slot->owner = (uint32_t)syscall(SYS_gettid);
	slot->depth = 1;
	return NULL;
}

/*
 * pthread_join() returns when the kernel has cleared the thread's tid. The thread is gone from
 * /proc shortly after that.
 */
static unsigned int check_until_gone(void)
{
	for (int i = 0; i < 5000; i++) {
		unsigned int nr = attach_check_threads(session);

		if (nr)
			return nr;
		usleep(1000);
	}
	return 0;
}

static void slots_of_threads_that_are_gone_come_back(void **state)
{
	struct attach_reply r = hello();
	struct slot *gone = plane_slot(session_plane(session), r.slots[0]);
	struct slot *own = plane_slot(session_plane(session), r.slots[1]);
	pthread_t t;

	own->owner = (uint32_t)getpid();
	pthread_create(&t, NULL, take_and_vanish, gone);
	pthread_join(t, NULL);
	assert_int_equal(check_until_gone(), 1);
	assert_int_equal(gone->owner, 0);
	assert_int_equal(gone->depth, 0);
	assert_int_equal(gone->process, r.process);
	assert_int_equal(own->owner, getpid());
}

static void a_process_that_asks_for_more_gets_them_back(void **state)
{
	struct attach_reply r = hello();
	struct slot *gone = plane_slot(session_plane(session), r.slots[0]);
	pthread_t t;

	while (ask(ATTACH_MORE, 0).err == 0)
		;
	pthread_create(&t, NULL, take_and_vanish, gone);
	pthread_join(t, NULL);
	for (int i = 0; i < 5000 && ask(ATTACH_MORE, 0).err; i++)
		usleep(1000);
	assert_int_equal(gone->owner, 0);
}

/* A child inherits the connection of the old image, so the server does not see its end. */
static void what_ran_before_exec_is_forgotten_when_the_new_image_attaches(void **state)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		int own = dial();
		const pid_t parent = getpid();
		struct attach_request q = {
			.version = SESSION_VERSION, .kind = ATTACH_HELLO, .image = 1 };

		if (send(own, &q, sizeof(q), 0) != sizeof(q) ||
		    recv(own, packet, sizeof(packet), 0) <= 0)
			_exit(1);
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() == parent)	/* else the parent ended earlier */
				pause();
			_exit(0);
		}
		execl("/proc/self/exe", "wire", "again", session_dir(session), NULL);
		_exit(1);
	}
	for (int i = 0; i < 5000 && !waitpid(pid, &status, WNOHANG); i++) {
		attach_serve(session);
		usleep(1000);
	}
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* The new image runs this: it attaches, and succeeds if it gets slots. */
static int again(const char *dir)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct attach_request q = { .version = SESSION_VERSION, .kind = ATTACH_HELLO, .image = 2 };
	struct attach_reply r;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/attach", dir);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    send(fd, &q, sizeof(q), 0) != sizeof(q) || recv(fd, &r, sizeof(r), 0) != sizeof(r))
		return 1;
	/* The server took back the first image's slots, from 0 on, and gave them again. */
	return r.slots[0] == 0 ? 0 : 2;
}

/* Says HELLO. This process or another answers. Returns the first slot. */
static uint32_t slot_of_image(const char *name, uint64_t image)
{
	struct attach_request q = {
		.version = SESSION_VERSION, .kind = ATTACH_HELLO, .image = image};
	struct attach_reply *r = (struct attach_reply *)packet;
	int own = dial_to(name);

	assert_int_equal(send(own, &q, sizeof(q), 0), sizeof(q));
	while (recv(own, packet, sizeof(packet), MSG_DONTWAIT) < 0) {
		attach_serve(session);
		usleep(1000);
	}
	assert_int_equal(r->err, 0);
	assert_int_not_equal(r->nr_slots, 0);
	close(own);
	return r->slots[0];
}

static void serve_until_killed(int told)
{
	static const struct session_params params = {
		.nr_cpus = 2, .nr_slots = 32, .memory = 64 << 20};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (session_create("old", &params, &session) || write(told, "", 1) != 1)
		_exit(1);
	for (;;)
		serve();
}

/* The process attaches to a server, which dies, and then to the next server. */
static void the_next_server_knows_which_image_has_the_slots(void **state)
{
	struct session *mine = session;
	int told[2];
	pid_t server;
	char c;

	assert_int_equal(pipe(told), 0);
	server = fork();
	if (!server)
		serve_until_killed(told[1]);
	assert_int_equal(read(told[0], &c, 1), 1);
	assert_int_equal(slot_of_image("old", 1), 0);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	assert_int_equal(session_open("old", &session), 0);
	session_restore_done(session);
	/* The same image gets more slots. A new image, after an exec, gets the first ones. */
	assert_int_not_equal(slot_of_image("old", 1), 0);
	assert_int_equal(slot_of_image("old", 2), 0);
	session_destroy(session);
	session = mine;
	close(told[0]);
	close(told[1]);
}

/* ---- Which processes join the sets of pids of their creators ---- */

static bool greet(uint32_t value)
{
	struct attach_request q = {
		.version = SESSION_VERSION, .kind = ATTACH_HELLO, .value = value };
	int own = dial();

	return send(own, &q, sizeof(q), 0) == sizeof(q) && recv(own, packet, sizeof(packet), 0) > 0;
}

static struct birth {
	bool	own_list;	/* the thread that forks is listed */
	uint32_t value;		/* of the child's HELLO */
	/* the creator is listed after the first HELLO, and the child says HELLO again */
	bool	again;
	bool	joined;
} birth;

static int say_hello(pid_t creator)
{
	if (!greet(birth.value))
		return 2;
	if (birth.again) {
		__atomic_fetch_or(&listed->bits[creator / 64], 1ull << (creator % 64),
				  __ATOMIC_RELAXED);
		if (!greet(birth.value))
			return 2;
	}
	return is_listed(getpid());
}

static void *fork_one(void *arg)
{
	const pid_t creator = (pid_t)syscall(SYS_gettid);
	int status = 0;
	pid_t pid;

	if (birth.own_list)
		list_only(session, creator);
	pid = fork();
	if (!pid)
		_exit(say_hello(creator));
	for (int i = 0; i < 5000 && !waitpid(pid, &status, WNOHANG); i++) {
		attach_serve(session);
		usleep(1000);
	}
	assert_true(WIFEXITED(status));
	assert_in_range(WEXITSTATUS(status), 0, 1);
	birth.joined = WEXITSTATUS(status);
	return NULL;
}

static bool joins(struct birth b)
{
	pthread_t t;

	birth = b;
	pthread_create(&t, NULL, fork_one, NULL);
	pthread_join(t, NULL);
	return birth.joined;
}

static void a_new_process_joins_the_thread_that_made_it(void **state)
{
	/* If the kernel does not say which thread is the creator, the first thread counts. */
	const bool told = !access("/proc/thread-self/children", R_OK);

	assert_int_equal(joins((struct birth){ .own_list = true }), told);
	list_only(session, getpid());
	assert_int_equal(joins((struct birth){ 0 }), !told);
}

static void who_knows_better_is_believed(void **state)
{
	assert_false(joins((struct birth){ .own_list = true, .value = 1 }));
}

static void who_has_been_here_is_not_new(void **state)
{
	list_only(session, 1);
	assert_false(joins((struct birth){ .again = true }));
}

static void who_began_before_the_option_is_not_new(void **state)
{
	list_only(session, getpid());
	session_header(session)->follow_since = UINT64_MAX;
	assert_false(joins((struct birth){ .own_list = true }));
	session_follow(session, false);
	assert_false(joins((struct birth){ 0 }));
}

static int open_files(void)
{
	int nr = 0;

	for (int fd = 0; fd < 1024; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

/* Because of alignment, the room for one descriptor takes two. */
static void descriptors_that_nobody_asked_for_are_closed(void **state)
{
	const int fds[2] = { STDIN_FILENO, STDOUT_FILENO }, before = open_files();
	struct attach_request q = { .version = SESSION_VERSION, .kind = ATTACH_BYE };
	union {
		struct cmsghdr	head;
		char		bytes[CMSG_SPACE(sizeof(fds))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(fds)), .cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { &q, sizeof(q) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.head), fds, sizeof(fds));
	for (int i = 0; i < 10; i++) {
		assert_int_equal(sendmsg(conn, &msg, MSG_NOSIGNAL), sizeof(q));
		serve();
	}
	assert_int_equal(open_files(), before);
	/* An empty packet ends the connection, even if it has descriptors. */
	iov.iov_len = 0;
	assert_int_equal(sendmsg(conn, &msg, MSG_NOSIGNAL), 0);
	serve();
	assert_in_range(open_files(), 0, before);
}

/* From now on, only `more` descriptors can be opened. */
static struct rlimit descriptors_left(rlim_t more)
{
	struct rlimit old, less;
	int next = dup(conn);

	close(next);
	getrlimit(RLIMIT_NOFILE, &old);
	less = (struct rlimit){ (rlim_t)next + more, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
	return old;
}

static void who_finds_no_descriptor_is_told(void **state)
{
	int fd = dial();
	struct rlimit old = descriptors_left(4);
	struct attach_reply r;

	serve();
	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(recv(fd, &r, sizeof(r), 0), sizeof(r));
	assert_int_equal(r.err, ATTACH_NO_DESCRIPTOR);
	assert_int_equal(r.number, 0);
	assert_int_equal(recv(fd, &r, sizeof(r), 0), 0);
	close(fd);
	/* Processes that are attached continue. */
	assert_int_equal(hello().err, 0);
}

static void what_cannot_be_accepted_is_not_looked_at_all_the_time(void **state)
{
	struct pollfd p = { .fd = attach_fd(session), .events = POLLIN };
	int own = conn;
	struct rlimit old;

	conn = dial();
	old = descriptors_left(0);
	serve();
	assert_int_equal(poll(&p, 1, 0), 0);
	setrlimit(RLIMIT_NOFILE, &old);
	while (!poll(&p, 1, 10))
		session_reclaim(session);
	serve();
	assert_int_equal(hello().err, 0);
	close(own);
}

static void send_request(int fd, enum attach_kind kind)
{
	const struct attach_request q = { .version = SESSION_VERSION, .kind = kind, .number = 7 };

	assert_int_equal(send(fd, &q, sizeof(q), 0), sizeof(q));
}

/* Calls attach_step() until there is an answer, or for a while. */
static bool answered_in_steps(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct attach_reply r;

	for (int i = 0; i < 50; i++) {
		attach_step(session);
		if (poll(&p, 1, 1))
			return recv(fd, &r, sizeof(r), 0) > 0 && r.number == 7 && !r.err;
	}
	return false;
}

/* This hook takes long. No other process is answered, but all see that the server works. */
static bool slow_ready(void *arg, const struct attach_peer *peer)
{
	for (int i = 0; i < 5; i++) {
		usleep(1500);
		attach_step(session);
	}
	return false;
}

static void long_work_for_one_is_seen_by_others(void **state)
{
	const struct attach_hooks hooks = { .ready = slow_ready }, none = { 0 };
	uint32_t served;

	hello();
	attach_set_hooks(session, &hooks);
	send_request(conn, ATTACH_READY);
	served = session_header(session)->served;
	attach_serve(session);
	assert_true(session_header(session)->served - served >= 4);
	attach_set_hooks(session, &none);
}

static void a_step_answers_what_needs_no_hook(void **state)
{
	struct attach_reply r;
	uint32_t served;
	int fd;

	hello();
	send_request(conn, ATTACH_MORE);
	assert_true(answered_in_steps(conn));
	/* A step also gives a new process its slots. */
	fd = dial();
	send_request(fd, ATTACH_HELLO);
	assert_true(answered_in_steps(fd));
	close(fd);
	/* A process that says READY waits, and sees that there is progress. */
	served = session_header(session)->served;
	send_request(conn, ATTACH_READY);
	assert_false(answered_in_steps(conn));
	assert_int_equal(seen.ready, 0);
	assert_int_not_equal(session_header(session)->served, served);
	serve();
	assert_int_equal(recv(conn, &r, sizeof(r), 0), sizeof(r));
	assert_int_not_equal(seen.ready, 0);
}

/* ---- SNAPSHOT ---- */

static int snapshot_sock = -1;

static void on_snapshot(void *arg, int sock)
{
	snapshot_sock = sock;
}

static void pass(uint32_t kind, uint32_t version, int fd)
{
	struct attach_request q = { .version = version, .kind = kind };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { &q, sizeof(q) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(int));
	assert_int_equal(sendmsg(conn, &msg, 0), sizeof(q));
}

static void a_snapshot_is_asked_for_on_a_pair(void **state)
{
	const struct attach_hooks hooks = { .snapshot = on_snapshot }, none = { 0 };
	int pair[2], before, file;
	char byte;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	file = open("/dev/null", O_WRONLY | O_CLOEXEC);
	before = open_files();
	attach_set_hooks(session, &hooks);
	/* Not before HELLO, and no other version, and no other file than a socket. */
	pass(ATTACH_SNAPSHOT, SESSION_VERSION, pair[1]);
	serve();
	hello();
	pass(ATTACH_SNAPSHOT, SESSION_VERSION + 1, pair[1]);
	pass(ATTACH_SNAPSHOT, SESSION_VERSION, file);
	serve();
	assert_int_equal(snapshot_sock, -1);
	assert_int_equal(open_files(), before);
	/* It changes nothing of the model while long work goes on. */
	pass(ATTACH_SNAPSHOT, SESSION_VERSION, pair[1]);
	for (int i = 0; i < 5; i++) {
		usleep(1500);
		attach_step(session);
	}
	assert_int_equal(snapshot_sock, -1);
	serve();
	assert_in_range(snapshot_sock, 0, 1000);
	assert_int_equal(send(snapshot_sock, "x", 1, 0), 1);
	assert_int_equal(recv(pair[0], &byte, 1, 0), 1);
	close(snapshot_sock);
	snapshot_sock = -1;
	/* Who has no hook for it closes it. */
	attach_set_hooks(session, &none);
	pass(ATTACH_SNAPSHOT, SESSION_VERSION, pair[1]);
	serve();
	assert_int_equal(open_files(), before);
	close(file);
	close(pair[0]);
	close(pair[1]);
}

/* The passed end stays open here. A process that was forked meanwhile may keep one open, too. */
static void a_connection_that_is_open_elsewhere_is_forgotten(void **state)
{
	struct pollfd p = { .fd = attach_fd(session), .events = POLLIN };
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	pass(ATTACH_CHILD, SESSION_VERSION, pair[1]);
	serve();
	close(pair[0]);
	serve();
	/* There is nothing to serve, so the loop sleeps. */
	assert_int_equal(poll(&p, 1, 0), 0);
	close(pair[1]);
}

/* Serves what there is; false: there is always something. */
static bool falls_silent(void)
{
	struct pollfd p = { .fd = attach_fd(session), .events = POLLIN };

	for (int i = 0; i < 50 && poll(&p, 1, 0); i++)
		serve();
	return !poll(&p, 1, 0);
}

/* Both ends would be the server's, and neither would ever end. */
static void a_connection_that_is_passed_over_itself_is_closed(void **state)
{
	const int before = open_files();

	pass(ATTACH_CHILD, SESSION_VERSION, conn);
	serve();
	assert_int_equal(open_files(), before);
	assert_int_equal(hello().err, 0);	/* the connection is as it was */
}

static void a_pair_whose_ends_are_both_passed_does_not_answer_itself(void **state)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(send(pair[0], "?", 1, 0), 1);
	for (int i = 0; i < 2; i++) {
		pass(ATTACH_CHILD, SESSION_VERSION, pair[i]);
		close(pair[i]);
	}
	assert_true(falls_silent());
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define WIRE_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
		WIRE_TEST(hello_tells_pid_table_and_slots),
		WIRE_TEST(without_hello_nothing_is_answered),
		WIRE_TEST(definitions_have_their_ids),
		WIRE_TEST(definitions_beyond_the_packet_are_refused),
		WIRE_TEST(texts_that_do_not_end_in_their_definition_are_refused),
		WIRE_TEST(packets_of_odd_sizes_are_refused),
		WIRE_TEST(who_is_ready_may_go_at_once),
		WIRE_TEST(who_has_nothing_to_say_is_ready_at_once),
		WIRE_TEST(who_has_nothing_to_say_is_held),
		WIRE_TEST(who_is_held_goes_when_told),
		WIRE_TEST(an_answer_waits_for_memory),
		WIRE_TEST(who_cannot_be_answered_does_not_wait),
		WIRE_TEST(a_thread_is_known_by_the_servers_number),
		WIRE_TEST(a_process_that_attaches_again_is_one_process),
		WIRE_TEST(nonsense_is_answered),
		WIRE_TEST(slots_of_threads_that_are_gone_come_back),
		WIRE_TEST(a_process_that_asks_for_more_gets_them_back),
		WIRE_TEST(what_ran_before_exec_is_forgotten_when_the_new_image_attaches),
		WIRE_TEST(the_next_server_knows_which_image_has_the_slots),
		WIRE_TEST(a_new_process_joins_the_thread_that_made_it),
		WIRE_TEST(who_knows_better_is_believed),
		WIRE_TEST(who_has_been_here_is_not_new),
		WIRE_TEST(who_began_before_the_option_is_not_new),
		WIRE_TEST(descriptors_that_nobody_asked_for_are_closed),
		WIRE_TEST(a_connection_that_is_open_elsewhere_is_forgotten),
		WIRE_TEST(a_connection_that_is_passed_over_itself_is_closed),
		WIRE_TEST(a_pair_whose_ends_are_both_passed_does_not_answer_itself),
		WIRE_TEST(a_snapshot_is_asked_for_on_a_pair),
		WIRE_TEST(a_step_answers_what_needs_no_hook),
		WIRE_TEST(long_work_for_one_is_seen_by_others),
		WIRE_TEST(who_finds_no_descriptor_is_told),
		WIRE_TEST(what_cannot_be_accepted_is_not_looked_at_all_the_time),
	};
	int failed;

	if (argc == 3 && !strcmp(argv[1], "again"))
		return again(argv[2]);
	if (!temp_place())
		return temp_place_skip();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	temp_place_remove();
	return failed;
}
