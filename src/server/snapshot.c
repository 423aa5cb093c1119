/* SPDX-License-Identifier: MIT */
/*
 * snapshot.c - a program saves its session (tf_snapshot()): a copy of the server writes the file
 *
 *   SNAPSHOT -> fork -> the copy: takes the file's descriptor, says that it begins, writes, says
 *                       how it ended
 *
 * The server itself never touches the file, which may be on a disk that hangs. The rings stay as
 * long as a copy reads them, as for printers.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "access/access.h"
#include "export/trace_dat.h"
#include "layout/attach_wire.h"
#include "server/state.h"
#include "session/message.h"
#include "session/session.h"
#include "tracefs/tree.h"

enum { PIECE = 256 * 1024 };

static void snapshot_say(int sock, int err, bool done)
{
	const struct attach_snapshot answer = { .err = err, .done = done };

	message_send(sock, &answer, sizeof(answer), -1, MSG_DONTWAIT);
}

/* ---- in the copy: the socket is its standard output ---- */

/* A program that has given up waiting has closed its end. */
static bool is_wanted(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO };

	return poll(&p, 1, 0) <= 0;
}

static int snapshot_read(void *arg, const char *path, char **text, size_t *len)
{
	return access_read_all(arg, path, text, len);
}

static int snapshot_stream(void *arg, const char *path,
			   int (*take)(void *to, const char *buf, size_t n), void *to)
{
	struct access *a = arg;
	char *buf = malloc(PIECE);
	struct access_file *f = NULL;
	ssize_t n = 1;
	int ret = buf ? a->ops->open(a, path, O_RDONLY, &f) : -ENOMEM;

	for (off_t off = 0; !ret && n > 0; off += n) {
		n = is_wanted() ? a->ops->read(f, buf, PIECE, off) : -ECANCELED;
		if (n)
			ret = n < 0 ? (int)n : take(to, buf, (size_t)n);
	}
	if (f)
		a->ops->release(f);
	free(buf);
	return ret;
}

/* The top instance alone. */
static int snapshot_list(void *arg, const char *path,
			 int (*fn)(void *to, const char *name, bool is_dir), void *to)
{
	struct access *a = arg;

	return strcmp(path, "instances") ? a->ops->list(a, path, fn, to) : 0;
}

static void machine_name(const struct server *srv, char *out, size_t size)
{
	struct utsname u;

	if (*srv->uname)
		snprintf(out, size, "%s", srv->uname);
	else if (!uname(&u))
		snprintf(out, size, "%s %s %s %s", u.sysname, u.nodename, u.release, u.machine);
}

static int snapshot_records(struct server *srv, FILE *out)
{
	struct access *a = access_tree(srv->tree, NULL);
	const struct export_files files = {
		.arg = a, .read = snapshot_read, .stream = snapshot_stream, .list = snapshot_list };
	char machine[400] = "";
	const struct export_params params = { .files = &files, .uname = machine };
	struct export_error error;

	machine_name(srv, machine, sizeof(machine));
	return a ? export_trace_dat(&params, out, &error) : -ENOMEM;
}

/* The errors of a disk may come only when the file is closed. */
static int snapshot_write(struct server *srv, int fd)
{
	FILE *out = fdopen(fd, "w");
	int err;

	if (!out)
		return -errno;
	err = snapshot_records(srv, out);
	if (fclose(out) && !err)
		err = -errno;
	return err;
}

static _Noreturn void snapshot_run(struct server *srv)
{
	char byte;
	int file = -1, err = -EPROTO;

	snapshot_say(STDOUT_FILENO, 0, false);
	if (message_receive(STDOUT_FILENO, &byte, 1, MSG_DONTWAIT, &file) == 1 && file >= 0)
		err = snapshot_write(srv, file);
	snapshot_say(STDOUT_FILENO, err, true);
	_exit(0);
}

/* ---- in the server ---- */

void snapshot_tend(struct server *srv)
{
	for (unsigned int i = 0; i < SERVER_SNAPSHOTS; i++) {
		if (!srv->snapshots[i] || !waitpid(srv->snapshots[i], NULL, WNOHANG))
			continue;
		srv->snapshots[i] = 0;
		session_hold(srv->session, false);
	}
}

void snapshot_end_all(struct server *srv)
{
	for (unsigned int i = 0; i < SERVER_SNAPSHOTS; i++) {
		if (!srv->snapshots[i])
			continue;
		kill(srv->snapshots[i], SIGKILL);
		waitpid(srv->snapshots[i], NULL, 0);
		srv->snapshots[i] = 0;
		session_hold(srv->session, false);
	}
}

/* Where the next copy is noted; NULL: there are too many. */
static pid_t *snapshot_place(struct server *srv)
{
	snapshot_tend(srv);
	for (unsigned int i = 0; i < SERVER_SNAPSHOTS; i++)
		if (!srv->snapshots[i])
			return &srv->snapshots[i];
	return NULL;
}

/* If the file were still in the queue, closing the socket would lose the answer. */
static void snapshot_refuse(int sock, int err)
{
	char byte;

	recv(sock, &byte, 1, MSG_DONTWAIT);
	snapshot_say(sock, err, true);
}

void snapshot_begin(void *arg, int sock)
{
	struct server *srv = arg;
	pid_t *place = snapshot_place(srv), copy;

	copy = place ? tree_fork(srv->tree, sock) : -EBUSY;
	if (!copy)
		snapshot_run(srv);
	if (copy > 0) {
		*place = copy;
		session_hold(srv->session, true);
	} else {
		snapshot_refuse(sock, copy);
	}
	close(sock);
}
