/* SPDX-License-Identifier: MIT */
/*
 * server.c - the server's side of the attach socket: connections and the ends of processes (R5,
 * R20)
 *
 * A shell starts programs that live for a millisecond, often on the server's processor: then they
 * wait for all that the server does. So it does little at once.
 *
 * S1  At the start it answers. It reads /proc about the process, and lets epoll report the end of
 *     the process, only SETTLE_MS later, or when somebody needs it.
 * S2  When a connection ends, the process may have ended, executed another program, or closed its
 *     descriptors. The server closes its end, and decides SETTLE_MS later, or before somebody
 *     counts processes or needs their slots. By then most of them are dead, and /proc is not read.
 * S3  A pidfd costs as much as all else that the server does for a process. The kernel makes one of
 *     a connection (SO_PEERPIDFD) at any time. The server has it made when somebody asks whether
 *     the process lives, and keeps its end of the connection until then. Without SO_PEERPIDFD the
 *     pidfd is made at once.
 */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>
#include "plane/ring/ring.h"
#include "layout/attach_wire.h"
#include "session/attach/stat.h"
#include "session/message.h"
#include "session/state.h"

enum {
	/* Connections that wait to be accepted; the system may allow fewer */
	WAITING		= 4096,
	/*
	 * Descriptors that no process gets: for files, for commands, and to refuse connections with
	 */
	SPARE		= 24,
	PAUSE_MS	= 50,	/* how long nothing is accepted after accept() failed */
	SETTLE_MS	= 20,	/* S1, S2 */
	AT_ONCE		= 64,	/* descriptors that are served before it looks again, at most */
};

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* Replaces the socket of a dead server; the caller has found out that it is dead. */
static int socket_bind(struct session *s)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	unlinkat(s->dirfd, "attach", 0);
	/*
	 * Through the descriptor: the directory's own path may be longer than a socket's address.
	 */
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/attach", s->dirfd);
	if (bind(s->listen_fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    listen(s->listen_fd, WAITING))
		return -errno;
	return attach_watch(s, 0, s->listen_fd);
}

/*
 * epoll returns the process's index together with the descriptor, so that no table of thousands has
 * to be searched for each packet.
 */
int attach_watch(struct session *s, unsigned int process, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN,
				  .data.u64 = (uint64_t)process << 32 | (uint32_t)fd };

	return epoll_ctl(s->poll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

/*
 * A descriptor that a program passed may also be open in other processes. Then the kernel removes
 * it from an epoll only when the last process has closed it.
 */
void attach_unwatch(struct session *s, int fd)
{
	epoll_ctl(s->poll_fd, EPOLL_CTL_DEL, fd, NULL);
	close(fd);
}

int attach_listen(struct session *s)
{
	s->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->poll_fd < 0)
		return -errno;
	if (s->dirfd < 0)
		return 0;	/* memory without a name: no process can find it */
	s->packet = malloc(ATTACH_PACKET);
	if (!s->packet)
		return -ENOMEM;
	s->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listen_fd < 0)
		return -errno;
	return socket_bind(s);
}

void attach_stop(struct session *s)
{
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	if (s->poll_fd >= 0)
		close(s->poll_fd);
	s->listen_fd = s->poll_fd = -1;
	free(s->packet);
	s->packet = NULL;
}

void attach_set_hooks(struct session *s, const struct attach_hooks *hooks)
{
	s->hooks = hooks ? *hooks : (struct attach_hooks){ 0 };
}

int attach_fd(struct session *s)
{
	return s->poll_fd;
}

int attach_told_pidfd(int conn)
{
	socklen_t len = sizeof(int);
	int fd;

	return getsockopt(conn, SOL_SOCKET, SO_PEERPIDFD, &fd, &len) ? -errno : fd;
}

/*
 * A pidfd of the process at the other end. Without SO_PEERPIDFD the pid may belong to another
 * process by now. So its start time has to be that of the process when it connected; older systems
 * offer nothing better.
 */
static int peer_pidfd(int conn, pid_t pid)
{
	uint64_t start;
	int fd = attach_told_pidfd(conn);

	if (fd >= 0)
		return fd;
	start = process_stat(pid).start_time;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return -errno;
	if (!start || process_stat(pid).start_time != start) {
		close(fd);
		return -ESRCH;
	}
	return fd;
}

/* Whether few descriptors are left. `fd` is the newest one, and more are going to be made. */
static bool descriptors_scarce(int fd, unsigned int more)
{
	struct rlimit r;
	rlim_t spare;

	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur == RLIM_INFINITY)
		return false;
	spare = r.rlim_cur / 4 < SPARE ? r.rlim_cur / 4 : SPARE;
	return (rlim_t)fd + more + spare >= r.rlim_cur;
}

/*
 * A full queue is the process's own fault. For any other error the connection is closed: a process
 * that gets no answer would wait for it, at the barrier even without a limit.
 */
void attach_send(int conn, const void *answer, size_t size)
{
	if (message_send(conn, answer, size, -1, MSG_DONTWAIT) < 0 && errno != EAGAIN)
		shutdown(conn, SHUT_RDWR);
}

static void settle_later(struct session *s)
{
	if (!s->settle_at)
		s->settle_at = session_now_ms() + SETTLE_MS;
}

/* S3 */
static bool peers_tell(struct session *s, int conn)
{
	int fd;

	if (s->peers == PEERS_UNKNOWN) {
		fd = attach_told_pidfd(conn);
		s->peers = fd < 0 ? PEERS_SILENT : PEERS_TELL;
		if (fd >= 0)
			close(fd);
	}
	return s->peers == PEERS_TELL;
}

/* A pidfd, or -errno. */
static int pidfd_at_once(int conn, pid_t pid)
{
	int pidfd = peer_pidfd(conn, pid);

	/*
	 * The connection may have got a low number that was free again, so the check in
	 * process_join() did not find it.
	 */
	if (pidfd == -EMFILE || pidfd == -ENFILE)
		return ATTACH_NO_DESCRIPTOR;
	if (pidfd >= 0 && descriptors_scarce(pidfd, 0)) {
		close(pidfd);
		return ATTACH_NO_DESCRIPTOR;
	}
	return pidfd;
}

/* Returns the index of the new process, or -errno. */
static int process_join(struct session *s, int conn, pid_t pid)
{
	const bool later = peers_tell(s, conn);
	int pidfd = -1, index;

	if (descriptors_scarce(conn, later ? s->nr_peers + 1 : 0))
		return ATTACH_NO_DESCRIPTOR;
	if (!later) {
		pidfd = pidfd_at_once(conn, pid);
		if (pidfd < 0)
			return pidfd;
	}
	index = process_add(s, pid, pidfd, conn);
	if (index >= 0)
		settle_later(s);
	else if (pidfd >= 0)
		close(pidfd);
	return index;
}

/*
 * Returns the index of the process, or -1: it is refused. trusted: the connection was passed over
 * that of an attached process; its child may have become another user since.
 */
static int accept_one(struct session *s, int conn, bool trusted)
{
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);
	int index;

	if (getsockopt(conn, SOL_SOCKET, SO_PEERCRED, &cred, &len) || cred.pid <= 0 ||
	    (!trusted && cred.uid != geteuid())) {
		close(conn);
		return -1;
	}
	index = process_join(s, conn, cred.pid);
	if (index < 0) {
		struct attach_reply reply = { .err = index };

		attach_send(conn, &reply, sizeof(reply));
		attach_unwatch(s, conn);
		return -1;
	}
	return index;
}

/*
 * Connections that cannot be accepted stay in the queue, and the socket stays readable. So the
 * server does not look at it for a while.
 */
static void accept_pause(struct session *s)
{
	if (!epoll_ctl(s->poll_fd, EPOLL_CTL_DEL, s->listen_fd, NULL))
		s->paused_until = session_now_ms() + PAUSE_MS;
}

void attach_restore(struct session *s)
{
	if (s->paused_until && session_now_ms() >= s->paused_until &&
	    !attach_watch(s, 0, s->listen_fd))
		s->paused_until = 0;
}

/* 1: it has the data file mapped; 0: it has not; -errno: unknown */
static int maps_find(const struct session *s, pid_t pid)
{
	char path[64], line[4352], want[64];
	bool found = false;
	struct stat st;
	FILE *f;

	if (fstat(s->data.fd, &st))
		return -errno;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	snprintf(want, sizeof(want), " %02x:%02x %lu ", major(st.st_dev), minor(st.st_dev),
		 (unsigned long)st.st_ino);
	while (!found && fgets(line, sizeof(line), f))
		found = strstr(line, want);
	fclose(f);
	return found;
}

bool process_maps(const struct session *s, pid_t pid)
{
	return maps_find(s, pid) != 0;
}

bool process_maps_known(const struct session *s, pid_t pid)
{
	return maps_find(s, pid) > 0;
}

/*
 * The end of a connection alone means nothing: a daemon closes all its descriptors and still makes
 * hits. After exec the region is no longer mapped, unless the new program is traced, too: then its
 * HELLO says so (end_older_images()).
 */
static void connection_ended(struct session *s, unsigned int index)
{
	struct process *p = &s->processes[index];

	if (p->peer == p->conn)
		epoll_ctl(s->poll_fd, EPOLL_CTL_DEL, p->conn, NULL);
	else
		attach_unwatch(s, p->conn);
	p->conn = -1;
	p->waits = false;
	if (p->gone || !p->nr_slots) {
		process_end(s, index);
		return;
	}
	s->nr_perhaps_left += !p->perhaps_left;
	p->perhaps_left = true;
	settle_later(s);
}

/* Whether the connection is closed at the other end and nothing that was sent waits in it. */
static bool has_ended(const struct process *p, const struct epoll_event *ev)
{
	char byte;

	return p->pid && p->conn == (int)(uint32_t)ev->data.u64 && ev->events & EPOLLHUP &&
	       !recv(p->conn, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT);
}

void attach_see_ends(struct session *s, uint32_t but)
{
	struct epoll_event ev[AT_ONCE];
	int n = s->poll_fd < 0 ? 0 : epoll_wait(s->poll_fd, ev, AT_ONCE, 0);

	for (int i = 0; i < n; i++) {
		const uint32_t process = (uint32_t)(ev[i].data.u64 >> 32);

		if (process && process != but && has_ended(&s->processes[process - 1], &ev[i]))
			connection_ended(s, process - 1);
	}
}

/* ---- S1, S2 ---- */

static void settle_left(struct session *s, unsigned int index)
{
	struct process *p = &s->processes[index];

	if (!p->perhaps_left)
		return;
	p->perhaps_left = false;
	s->nr_perhaps_left--;
	if (!process_alive(s, p) || !process_maps(s, p->pid))
		process_end(s, index);
}

void attach_settle_left(struct session *s)
{
	for (unsigned int i = 0; s->nr_perhaps_left && i < s->processes_end; i++)
		settle_left(s, i);
}

/* Not settled, if there can be no pidfd now, or epoll refuses it. */
static bool settle_lasting(struct session *s, unsigned int index)
{
	struct process *p = &s->processes[index];

	if (!process_alive(s, p)) {
		process_end(s, index);
		return true;
	}
	process_describe(s, index);
	p->settled = p->peer < 0 && (p->pidfd < 0 || !attach_watch(s, index + 1, p->pidfd));
	return p->settled;
}

void attach_settle(struct session *s)
{
	bool all = true;

	if (!s->settle_at || session_now_ms() < s->settle_at)
		return;
	s->settle_at = 0;
	attach_settle_left(s);
	for (unsigned int i = 0; i < s->processes_end; i++)
		if (s->processes[i].pid && !s->processes[i].settled)
			all &= settle_lasting(s, i);
	if (!all)
		settle_later(s);
}

/*
 * A pair has no names. The end of a connection to this server has one: passed over itself, the
 * server would have both ends, and neither would ever end.
 */
static bool is_end_of_pair(int fd)
{
	struct sockaddr_un peer;
	socklen_t type_len = sizeof(int), len = sizeof(peer);
	int type = 0;

	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) && type == SOCK_SEQPACKET &&
	       !getpeername(fd, (struct sockaddr *)&peer, &len) &&
	       len == offsetof(struct sockaddr_un, sun_path);
}

static void accept_child(struct session *s, int fd)
{
	int index = accept_one(s, fd, true);

	if (index >= 0)
		s->processes[index].passed = true;
}

/*
 * Only ATTACH_CHILD and ATTACH_SNAPSHOT may pass a descriptor, and it has to be an end of a
 * connection.
 */
static void accept_passed(struct session *s, const struct process *p, size_t size, int fd)
{
	const struct attach_request *q = (const struct attach_request *)s->packet;
	const bool whole = size == sizeof(*q) && q->version == SESSION_VERSION;

	if (!is_end_of_pair(fd))
		close(fd);
	else if (whole && q->kind == ATTACH_CHILD)
		accept_child(s, fd);
	else if (whole && q->kind == ATTACH_SNAPSHOT && p->greeted && s->hooks.snapshot)
		s->hooks.snapshot(s->hooks.arg, fd);
	else
		close(fd);
}

/* In attach_step(), whether the next packet needs a hook. It then stays in the socket. */
static bool is_put_off(const struct session *s, const struct process *p)
{
	struct attach_request q;

	if (!s->stepping)
		return false;
	if (recv(p->conn, &q, sizeof(q), MSG_PEEK | MSG_DONTWAIT) < (ssize_t)sizeof(q))
		return false;
	return q.kind == ATTACH_EVENTS || q.kind == ATTACH_READY || q.kind == ATTACH_DSO ||
	       q.kind == ATTACH_PLACES || q.kind == ATTACH_SNAPSHOT ||
	       (q.kind == ATTACH_HELLO && q.ready);
}

static void connection_read(struct session *s, unsigned int index)
{
	struct process *p = &s->processes[index];

	while (!is_put_off(s, p)) {
		int passed = -1;
		ssize_t n = message_receive(p->conn, s->packet, ATTACH_PACKET,
					    MSG_DONTWAIT | MSG_TRUNC, &passed);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			if (passed >= 0)	/* an empty packet may bring one, too */
				close(passed);
			connection_ended(s, index);
			return;
		}
		if (passed >= 0)
			accept_passed(s, p, (size_t)n, passed);
		else
			attach_answer(s, index, (size_t)n);
	}
}

/* Asked first: an accept4() that finds nothing makes a socket and drops it. */
static bool any_connects(const struct session *s)
{
	struct pollfd fd = { .fd = s->listen_fd, .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}

/*
 * A new process waits for its first answer, and in many cases it has asked by now. Programs that
 * start one after the other do not keep the server from all else.
 */
static void accept_all(struct session *s)
{
	int conn, index, left = AT_ONCE;

	do {
		conn = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		index = conn < 0 ? -1 : accept_one(s, conn, false);
		if (index >= 0)
			connection_read(s, (unsigned int)index);
	} while (conn >= 0 && --left && any_connects(s));
	if (conn >= 0)
		return;
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
		accept_pause(s);
}

/*
 * Serves a descriptor that epoll reported. `ready` is what attach_watch() gave to epoll. The
 * process may be gone by now, and another file may have the number.
 */
static void ready_serve(struct session *s, uint64_t ready)
{
	unsigned int process = (unsigned int)(ready >> 32);
	struct process *p = process ? &s->processes[process - 1] : NULL;
	int fd = (int)(uint32_t)ready;

	if (!p)
		accept_all(s);
	else if (p->pid && p->conn == fd)
		connection_read(s, process - 1);
	else if (p->pid && p->pidfd == fd && !process_alive(s, p))
		process_end(s, process - 1);
}

void attach_serve(struct session *s)
{
	struct epoll_event ev[AT_ONCE];
	int n = epoll_wait(s->poll_fd, ev, AT_ONCE, 0);

	s->serving = true;
	attach_restore(s);
	for (int i = 0; i < n; i++)
		ready_serve(s, ev[i].data.u64);
	ring_leases_serve(s);		/* a program that has just attached waits for its lease */
	attach_settle(s);
	s->serving = false;
}

bool attach_progress(struct session *s)
{
	int64_t now = session_now_ms();

	if (now == s->stepped)
		return false;
	s->stepped = now;
	/* Relaxed: it only says that there was progress. */
	atomic_fetch_add_explicit(&s->header->served, 1, memory_order_relaxed);
	return true;
}

/*
 * Inside a hook it only raises `served`: the hook uses texts of the packet that is being answered.
 */
void attach_step(struct session *s)
{
	if (!attach_progress(s) || s->serving)
		return;
	s->stepping = true;
	attach_serve(s);
	s->stepping = false;
}

int attach_go(struct session *s, unsigned int process)
{
	struct process *p =
		process && process <= LAYOUT_MAX_PROCESSES ? &s->processes[process - 1] : NULL;
	struct attach_reply reply = { .process = process };

	if (!p || !p->pid || !p->waits)
		return -ESRCH;
	p->waits = false;
	reply.number = p->waits_for;
	reply.has_probes = p->found_probes;
	attach_send(p->conn, &reply, sizeof(reply));
	return 0;
}

void attach_found_probes(struct session *s, const struct attach_peer *peer)
{
	struct process *p = &s->processes[peer->process - 1];

	if (p->pid == peer->pid)
		p->found_probes = true;
}

unsigned int attach_check_threads(struct session *s)
{
	unsigned int nr = 0;

	attach_settle_left(s);
	for (unsigned int i = 0; i < s->processes_end; i++)
		if (s->processes[i].pid && process_alive(s, &s->processes[i]))
			nr += threads_finish(s, i);
	return nr;
}

/*
 * Whether the pid has an earlier entry: the process attached again, to the next server or because
 * its connection was closed.
 */
static bool is_again(const struct session *s, unsigned int index)
{
	for (unsigned int i = 0; i < index; i++)
		if (s->processes[i].pid == s->processes[index].pid && s->processes[i].nr_slots)
			return true;
	return false;
}

unsigned int attach_processes(struct session *s,
			      void (*fn)(void *arg, pid_t pid, unsigned int slots), void *arg)
{
	unsigned int nr = 0;

	attach_settle_left(s);
	for (unsigned int i = 0; i < s->processes_end; i++) {
		struct process *p = &s->processes[i];
		unsigned int slots = 0;

		/* A process without slots only looked whether the server is there. */
		if (!p->pid || !p->nr_slots || !process_alive(s, p) || is_again(s, i))
			continue;
		for (unsigned int k = i; k < s->processes_end; k++)
			if (s->processes[k].pid == p->pid)
				slots += s->processes[k].nr_slots;
		nr++;
		if (fn)
			fn(arg, p->pid, slots);
	}
	return nr;
}
