/* SPDX-License-Identifier: MIT */
/*
 * server.c - the loop of a session's server
 *
 * It waits for the control socket and its connections, the attach socket, the mounts, signals and
 * server_stop(). Writers of rings wake no process (R9). So while a reader waits for events, or
 * memory waits for its grace period, the loop looks again every WAIT_MS. It looks for names of
 * tasks in the same way, and running programs say how soon to look for more.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/boot.h"
#include "host/output.h"
#include "model/model.h"
#include "server/state.h"
#include "session/attach/attach.h"
#include "session/session.h"
#include "sources/live/live.h"
#include "sources/program/programs.h"
#include "tracefs/tree.h"

enum { WAIT_MS = 3, IDLE_MS = 200, KEPT_MS = 500, FIXED_DESCRIPTORS = 6 };

/* A descriptor, or -errno. */
static int open_signals(void)
{
	sigset_t set;
	int err, fd;

	output_signals_ignore();
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	err = pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (err)
		return -err;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* The path goes through the directory's descriptor: sun_path has room for 107 bytes. */
static int open_control(const char *dir)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const int dirfd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const int kind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
	const int fd = dirfd < 0 ? -1 : socket(AF_UNIX, kind, 0);
	int err = fd < 0 ? errno : 0;

	if (!err)
		unlinkat(dirfd, "control", 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/control", dirfd);
	if (!err && (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 64)))
		err = errno;
	if (dirfd >= 0)
		close(dirfd);
	if (err && fd >= 0)
		close(fd);
	return err ? -err : fd;
}

/* The session goes on without it where the right to it is gone. */
static void restore_live(struct server *srv)
{
	const size_t at = strlen(srv->what);
	char why[512];

	if (live_create(srv->model, &srv->live, why, sizeof(why)))
		snprintf(srv->what + at, sizeof(srv->what) - at, ", without the kernel: %s", why);
}

/* The kernel may remember its directory, and that of a system that has no other event. */
static void event_goes(void *arg, const struct event *e)
{
	const bool only = e->system->events.next == &e->node &&
			  e->node.next == &e->system->events;
	struct server *srv = arg;
	struct instance *inst;

	list_each(inst, &srv->model->instances, node) {
		char *dir;

		if (asprintf(&dir, "%s%s%sevents/%s%s%s", inst->name ? "instances/" : "",
			     inst->name ? inst->name : "", inst->name ? "/" : "", e->system->name,
			     only ? "" : "/", only ? "" : e->name) < 0)
			return;
		mount_points_forget(srv, dir, NULL);
		free(dir);
	}
}

int server_create(const struct server_params *params, struct server **out)
{
	struct server *srv = calloc(1, sizeof(*srv));
	int ret, stop_err;

	if (!srv)
		return -ENOMEM;
	srv->session = params->session;
	srv->model = params->model;
	srv->tree = params->tree;
	srv->programs = params->programs;
	srv->end_unmounted = params->end_unmounted;
	snprintf(srv->what, sizeof(srv->what), "%s", params->what ? params->what : "");
	snprintf(srv->uname, sizeof(srv->uname), "%s", params->uname ? params->uname : "");
	srv->printers_fd = tree_use_printers(srv->tree);
	list_init(&srv->clients);
	list_init(&srv->mounts);
	srv->model->event_goes = event_goes;
	srv->model->event_goes_arg = srv;
	pthread_mutex_init(&srv->lock, NULL);
	srv->live_saved = params->live_saved;
	if (params->live)
		restore_live(srv);
	if (params->boot && server_boot_restore(srv, params->boot, params->boot_saved))
		srv->boot_waits = false;
	srv->signal_fd = open_signals();
	if (srv->programs) {
		attach_barriers(srv->session, 0);
		programs_on_ready(srv->programs, barrier_ready, srv);
		programs_on_snapshot(srv->programs, snapshot_begin, srv);
	}
	srv->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	stop_err = -errno;
	srv->listen_fd = open_control(session_dir(srv->session));
	if (srv->signal_fd < 0 || srv->stop_fd < 0 || srv->listen_fd < 0) {
		ret = srv->listen_fd < 0 ? srv->listen_fd :
		      srv->signal_fd < 0 ? srv->signal_fd : stop_err;
		server_destroy(srv);
		return ret;
	}
	session_served(srv->session);	/* commands wait in the socket until server_run() */
	*out = srv;
	return 0;
}

static void remove_control(struct server *srv)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/control", session_dir(srv->session));
	unlink(path);
}

void server_destroy(struct server *srv)
{
	while (!list_empty(&srv->clients))
		client_destroy(srv, list_entry(srv->clients.next, struct client, node));
	if (srv->programs) {
		programs_on_ready(srv->programs, NULL, NULL);
		programs_on_snapshot(srv->programs, NULL, NULL);
	}
	snapshot_end_all(srv);
	srv->model->event_goes = NULL;
	server_unmount(srv);
	live_destroy(srv->live);
	if (srv->listen_fd >= 0) {
		close(srv->listen_fd);
		remove_control(srv);
	}
	if (srv->signal_fd >= 0)
		close(srv->signal_fd);
	if (srv->stop_fd >= 0)
		close(srv->stop_fd);
	pthread_mutex_destroy(&srv->lock);
	boot_destroy(srv->boot);
	free(srv);
}

pthread_mutex_t *server_lock(struct server *srv)
{
	return &srv->lock;
}

int server_mount(struct server *srv, const char *dir)
{
	char path[4200];
	char *whole;
	int ret;

	if (!dir) {
		snprintf(path, sizeof(path), "%s/mnt", session_dir(srv->session));
		dir = path;
	}
	if (mkdir(dir, 0755) && errno != EEXIST)
		return -errno;
	whole = realpath(dir, NULL);
	if (!whole)
		return -errno;
	ret = mount_point_create(srv, whole, -1);
	srv->was_mounted |= !ret;
	free(whole);
	return ret;
}

void server_unmount(struct server *srv)
{
	while (!list_empty(&srv->mounts))
		mount_point_destroy(mount_point_of(srv->mounts.next));
}

void server_stop(struct server *srv)
{
	uint64_t one = 1;

	/* Relaxed: the loop reads it after stop_fd has woken it. */
	atomic_store_explicit(&srv->stopping, true, memory_order_relaxed);
	if (write(srv->stop_fd, &one, sizeof(one)) != sizeof(one))
		return;		/* the counter is full: the loop wakes in any case */
}

void server_orphaned(struct server *srv)
{
	/* Relaxed: a client that asked to stay got its answer before it closed its end. */
	if (!atomic_load_explicit(&srv->stays, memory_order_relaxed))
		server_stop(srv);
}

/* ---- the loop ---- */

static void accept_client(struct server *srv, int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) || peer.uid != geteuid() ||
	    !clients_room(srv))
		close(fd);
	else
		client_create(srv, fd, peer.pid);
}

static void accept_clients(struct server *srv)
{
	int fd;

	while ((fd = accept4(srv->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
		accept_client(srv, fd);
	/* No descriptor or no memory is left: the socket stays readable. */
	srv->deaf = errno != EAGAIN && errno != EINTR && errno != ECONNABORTED;
}

static nfds_t nr_descriptors(const struct server *srv)
{
	nfds_t n = FIXED_DESCRIPTORS + srv->nr_clients;

	for (struct list_head *l = srv->mounts.next; l != &srv->mounts; l = l->next)
		n++;
	return n;
}

/* Lists what to wait for; returns how many. serve_all() uses the same order. */
static nfds_t gather(struct server *srv, struct pollfd *p)
{
	struct client *c;
	nfds_t n = 0;

	p[n++] = (struct pollfd){ srv->signal_fd, POLLIN, 0 };
	p[n++] = (struct pollfd){ srv->stop_fd, POLLIN, 0 };
	p[n++] = (struct pollfd){ srv->deaf ? -1 : srv->listen_fd, POLLIN, 0 };
	srv->deaf = false;
	p[n++] = (struct pollfd){ attach_fd(srv->session), POLLIN, 0 };
	p[n++] = (struct pollfd){ srv->printers_fd, POLLIN, 0 };
	p[n++] = (struct pollfd){ srv->programs ? programs_fd(srv->programs) : -1, POLLIN, 0 };
	for (struct list_head *l = srv->mounts.next; l != &srv->mounts; l = l->next)
		p[n++] = (struct pollfd){ mount_point_fd(mount_point_of(l)), POLLIN, 0 };
	list_each(c, &srv->clients, node)
		p[n++] = (struct pollfd){ c->fd, client_events(c), 0 };
	return n;
}

/* Makes room for all that there is to wait for. False: no memory. */
static bool gather_room(const struct server *srv, struct pollfd **p, nfds_t *room)
{
	nfds_t want = nr_descriptors(srv);
	struct pollfd *more;

	if (want <= *room)
		return true;
	more = realloc(*p, 2 * want * sizeof(**p));
	if (!more)
		return false;
	*p = more;
	*room = 2 * want;
	return true;
}

static void serve_mounts(struct server *srv, struct pollfd **p, const struct pollfd *end)
{
	struct list_head *l = srv->mounts.next, *next;

	for (; l != &srv->mounts && *p < end; l = next, (*p)++) {
		next = l->next;
		if ((*p)->revents && !mount_point_serve(mount_point_of(l)))
			mount_point_destroy(mount_point_of(l));
	}
}

static void serve_clients(struct server *srv, struct pollfd *p, const struct pollfd *end)
{
	struct client *c, *next;

	list_each_safe(c, next, &srv->clients, node) {
		if (p == end)
			break;
		if (p->revents)
			client_serve(srv, c, p->revents);
		p++;
		if (c->gone)
			client_destroy(srv, c);
	}
}

static void serve_all(struct server *srv, struct pollfd *p, nfds_t n)
{
	struct pollfd *at = p + FIXED_DESCRIPTORS;

	if (p[0].revents)
		/* Relaxed: only this thread reads it, in server_run(). */
		atomic_store_explicit(&srv->stopping, true, memory_order_relaxed);
	if (p[3].revents)
		attach_serve(srv->session);
	serve_mounts(srv, &at, p + n);
	serve_clients(srv, at, p + n);
	if (p[2].revents)
		accept_clients(srv);
	if (srv->was_mounted && srv->end_unmounted && list_empty(&srv->mounts))
		/* Relaxed: as for a signal. */
		atomic_store_explicit(&srv->stopping, true, memory_order_relaxed);
}

/* Returns whether anyone still waits. */
static bool retry_all(struct server *srv)
{
	struct client *c, *next;
	bool waiting = false;

	for (struct list_head *l = srv->mounts.next; l != &srv->mounts; l = l->next)
		waiting |= mount_point_retry(mount_point_of(l));
	list_each_safe(c, next, &srv->clients, node) {
		client_retry(srv, c);
		waiting |= c->waiting;
		if (c->gone)
			client_destroy(srv, c);
	}
	return waiting;
}

static void tend_kept(struct server *srv)
{
	const int64_t now = session_now_ms();
	struct instance *inst;

	if (now - srv->kept_looked < KEPT_MS)
		return;
	srv->kept_looked = now;
	list_each(inst, &srv->model->instances, node)
		instance_drop_kept(inst);
}

/* Work that no descriptor reports. Returns how long the loop may wait now. */
static int tend(struct server *srv)
{
	bool hurry;
	int ms, live_ms;

	tree_tend(srv->tree);
	snapshot_tend(srv);
	/* A program may come to its barrier: who waits for that is answered then. */
	ms = srv->programs ? programs_tick(srv->programs) : IDLE_MS;
	hurry = retry_all(srv);
	live_ms = srv->live ? live_tick(srv->live) : ms;

	if (live_ms < ms)
		ms = live_ms;
	hurry |= session_reclaim(srv->session) != 0;
	tend_kept(srv);
	return hurry && ms > WAIT_MS ? WAIT_MS : ms;
}

int server_run(struct server *srv)
{
	struct pollfd *p = NULL;
	nfds_t room = 0;
	int wait = 0, ret = 0;

	/* Relaxed: another thread stores it before it wakes poll(), in server_stop(). */
	while (!atomic_load_explicit(&srv->stopping, memory_order_relaxed)) {
		nfds_t n;

		if (!gather_room(srv, &p, &room)) {
			ret = -ENOMEM;
			break;
		}
		n = gather(srv, p);
		if (poll(p, n, wait) < 0)
			for (nfds_t i = 0; i < n; i++)
				p[i].revents = 0;
		pthread_mutex_lock(&srv->lock);
		serve_all(srv, p, n);
		wait = tend(srv);
		pthread_mutex_unlock(&srv->lock);
	}
	free(p);
	return ret;
}
