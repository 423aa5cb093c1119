/* SPDX-License-Identifier: MIT */
/*
 * socket.c - a session's files when their tree is in a server: over its control socket
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "access/access.h"
#include "access/socket.h"
#include "access/wire.h"
#include "host/message.h"
#include "session/attach/stat.h"
#include "session/message.h"
#include "session/session.h"

enum { SILENT_MS = 2000 };

struct far {
	struct access	access;
	int		fd;
	bool		stopped;	/* that was said */
	bool		limited;	/* access_connect_within() */
};

struct far_file {
	struct access_file file;
	uint32_t	handle;
};

static int send_all(int fd, const void *buf, size_t len)
{
	const char *p = buf;

	while (len) {
		ssize_t n = message_send(fd, p, len, -1, 0);

		if (n <= 0)
			return -EPIPE;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int receive_all(int fd, void *buf, size_t len)
{
	char *p = buf;

	while (len) {
		ssize_t n = recv(fd, p, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n && errno == EAGAIN ? -ETIMEDOUT : -EPIPE;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/*
 * The connection broke in the middle of a message. Each later request fails at once and waits for
 * no answer.
 */
static int torn(const struct access *a, int err)
{
	shutdown(((const struct far *)a)->fd, SHUT_RDWR);
	return err;
}

int access_server(struct access *a, bool *stopped)
{
	struct ucred server = { 0 };
	socklen_t size = sizeof(server);
	char state;

	if (getsockopt(access_fd(a), SOL_SOCKET, SO_PEERCRED, &server, &size))
		return 0;
	state = process_stat(server.pid).state;
	*stopped = state == 'T' || state == 't';
	return server.pid;
}

/* A read may wait for events as long as it likes; a server that is stopped answers nobody. */
static void look_at_server(struct far *s)
{
	const int pid = access_server(&s->access, &s->stopped);

	if (s->stopped)
		message_error("the session's server is stopped, and this command waits for it: "
			      "kill -CONT %d", pid);
}

static void await_answer(struct far *s)
{
	struct pollfd answer = { .fd = s->fd, .events = POLLIN };

	while (!s->limited && !s->stopped && !poll(&answer, 1, SILENT_MS))
		look_at_server(s);
}

static int ask(struct access *a, struct wire_request *rq, const void *body, int passed,
	       struct wire_answer *answer)
{
	struct far *s = (struct far *)a;
	/* The kernel sends a descriptor with the first byte of the header. */
	int ret = message_send(s->fd, rq, sizeof(*rq), passed, 0) == sizeof(*rq) ? 0 : -EPIPE;

	if (!ret && rq->size)
		ret = send_all(s->fd, body, rq->size);
	if (!ret) {
		await_answer(s);
		ret = receive_all(s->fd, answer, sizeof(*answer));
	}
	if (!ret && answer->size > WIRE_TEXT_MAX)
		ret = -EPROTO;
	return ret ? torn(a, ret) : 0;
}

/* The answer's bytes as a 0-terminated text; frees nothing on failure. */
static int take_body(struct access *a, const struct wire_answer *answer, char **text)
{
	char *buf = malloc(answer->size + 1);
	int ret = buf ? receive_all(((struct far *)a)->fd, buf, answer->size) : -ENOMEM;

	if (ret) {
		free(buf);
		return torn(a, ret);
	}
	buf[answer->size] = '\0';
	*text = buf;
	return 0;
}

static int ask_path(struct access *a, enum wire_op op, const char *path, uint32_t flags)
{
	struct wire_request rq = { .size = (uint32_t)strlen(path), .op = op, .flags = flags };
	struct wire_answer answer;
	int ret = ask(a, &rq, path, -1, &answer);

	return ret ? ret : answer.result;
}

static int far_open(struct access *a, const char *path, int flags, struct access_file **out)
{
	struct far_file *f = calloc(1, sizeof(*f));
	int ret = f ? ask_path(a, WIRE_OPEN, path, (uint32_t)flags) : -ENOMEM;

	if (ret < 0) {
		free(f);
		return ret;
	}
	f->file.access = a;
	f->handle = (uint32_t)ret;
	*out = &f->file;
	return 0;
}

static ssize_t far_read(struct access_file *file, char *buf, size_t size, off_t off)
{
	struct wire_request rq = {
		.op = WIRE_READ, .handle = ((struct far_file *)file)->handle,
		.flags = size < WIRE_MAX ? (uint32_t)size : WIRE_MAX, .offset = (uint64_t)off,
	};
	struct wire_answer answer;
	int ret = ask(file->access, &rq, NULL, -1, &answer);

	if (ret)
		return ret;
	if (answer.size > size)
		return torn(file->access, -EPROTO);
	ret = receive_all(((struct far *)file->access)->fd, buf, answer.size);
	return ret ? torn(file->access, ret) : answer.result;
}

/* How much one request takes: of a longer text whole lines, as each request is parsed by itself. */
static uint32_t far_part(const char *buf, size_t size)
{
	const char *end;

	if (size <= WIRE_MAX)
		return (uint32_t)size;
	end = memrchr(buf, '\n', WIRE_MAX);
	return end ? (uint32_t)(end - buf) + 1 : WIRE_MAX;
}

static ssize_t far_write(struct access_file *file, const char *buf, size_t size)
{
	struct wire_request rq = {
		.size = far_part(buf, size),
		.op = WIRE_WRITE, .handle = ((struct far_file *)file)->handle,
	};
	struct wire_answer answer;
	int ret = ask(file->access, &rq, buf, -1, &answer);

	return ret ? ret : answer.result;
}

static int far_release(struct access_file *file)
{
	struct wire_request rq = { .op = WIRE_RELEASE,
				   .handle = ((struct far_file *)file)->handle };
	struct wire_answer answer;
	int ret = ask(file->access, &rq, NULL, -1, &answer);

	free(file);
	return ret ? ret : answer.result;
}

static int far_list(struct access *a, const char *path,
		    int (*fn)(void *arg, const char *name, bool is_dir), void *arg)
{
	struct wire_request rq = { .size = (uint32_t)strlen(path), .op = WIRE_LIST };
	struct wire_answer answer;
	char *text;
	int ret = ask(a, &rq, path, -1, &answer);

	if (!ret)
		ret = take_body(a, &answer, &text);
	if (ret)
		return ret;
	ret = answer.result;
	for (char *s = text; !ret && s < text + answer.size; s += strlen(s) + 1)
		ret = fn(arg, s + 1, *s == 'd');
	free(text);
	return ret;
}

static int far_stat(struct access *a, const char *path, mode_t *mode)
{
	int ret = ask_path(a, WIRE_STAT, path, 0);

	*mode = ret < 0 ? 0 : (mode_t)ret;
	return ret < 0 ? ret : 0;
}

static int far_mkdir(struct access *a, const char *path)
{
	return ask_path(a, WIRE_MKDIR, path, 0);
}

static int far_rmdir(struct access *a, const char *path)
{
	return ask_path(a, WIRE_RMDIR, path, 0);
}

static int far_pend(struct access *a, const char *path, bool truncates, const char *text,
		    size_t len)
{
	size_t size = strlen(path) + 1 + len;
	struct wire_request rq = {
		.size = (uint32_t)size, .op = WIRE_PEND, .flags = truncates ? O_TRUNC : 0 };
	char *body = size <= WIRE_MAX ? malloc(size) : NULL;
	struct wire_answer answer;
	int ret;

	if (!body)
		return -ENOMEM;
	memcpy(body, path, size - len);
	if (len)
		memcpy(body + size - len, text, len);
	ret = ask(a, &rq, body, -1, &answer);
	free(body);
	return ret ? ret : answer.result;
}

static void far_close(struct access *a)
{
	close(((struct far *)a)->fd);
	free(a);
}

static const struct access_ops far_ops = {
	.open = far_open,
	.read = far_read,
	.write = far_write,
	.release = far_release,
	.list = far_list,
	.stat = far_stat,
	.mkdir = far_mkdir,
	.rmdir = far_rmdir,
	.pend = far_pend,
	.close = far_close,
};

int access_request(struct access *a, unsigned int op, const char *path, int fd, char **text)
{
	struct wire_request rq = { .size = (uint32_t)strlen(path), .op = op };
	struct wire_answer answer;
	char *body = NULL;
	int ret = ask(a, &rq, path, fd, &answer);

	if (!ret)
		ret = take_body(a, &answer, &body);
	if (ret)
		return ret;
	if (text)
		*text = body;
	else
		free(body);
	return answer.result;
}

int access_fd(struct access *a)
{
	return ((struct far *)a)->fd;
}

int access_ask(struct access *a, unsigned int op)
{
	struct wire_request rq = { .op = op };

	return send_all(((struct far *)a)->fd, &rq, sizeof(rq));
}

int access_hear(struct access *a)
{
	struct wire_answer answer;
	int ret = receive_all(((struct far *)a)->fd, &answer, sizeof(answer));

	return ret ? ret : answer.size ? -EPROTO : answer.result;
}

struct found {
	const char	*name;
	char		dir[4096];
	bool		alive;
};

static int match_session(void *arg, const char *name, const char *dir, bool alive)
{
	struct found *f = arg;

	if (strcmp(name, f->name))
		return 0;
	snprintf(f->dir, sizeof(f->dir), "%s", dir);
	f->alive = alive;
	return 1;
}

/* How long a connection, a request and its answer may take. 0 or -errno */
static int socket_limit(int fd, unsigned int ms)
{
	const struct timeval limit = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000L };

	return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	       setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) ? -errno : 0;
}

/* A connected socket, or -errno. */
static int socket_connect(const char *dir, unsigned int ms)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	/*
	 * The address goes through the directory's descriptor, because sun_path has only 107 bytes.
	 */
	const int dirfd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = dirfd < 0 ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int err = fd < 0 ? -errno : socket_limit(fd, ms);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/control", dirfd);
	if (!err && connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		err = -errno;
	if (dirfd >= 0)
		close(dirfd);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

static int connect_within(const char *dir, unsigned int ms, struct access **out)
{
	const int fd = socket_connect(dir, ms);
	struct far *s;

	if (fd == -ENOENT)
		return -ECONNREFUSED;	/* the session exists, its socket does not */
	if (fd < 0)
		return fd == -EAGAIN ? -ETIMEDOUT : fd;
	s = calloc(1, sizeof(*s));
	if (!s) {
		close(fd);
		return -ENOMEM;
	}
	s->access.ops = &far_ops;
	s->fd = fd;
	s->limited = ms != 0;
	*out = &s->access;
	return 0;
}

int access_connect_at(const char *dir, struct access **out)
{
	return connect_within(dir, 0, out);
}

int access_connect_within(const char *name, unsigned int ms, struct access **out)
{
	struct found found = { .name = name };

	const int ret = session_list(match_session, &found);

	if (ret != 1)
		return ret < 0 ? ret : -ENOENT;
	return found.alive ? connect_within(found.dir, ms, out) : -ECONNREFUSED;
}

int access_connect(const char *name, struct access **out)
{
	return access_connect_within(name, 0, out);
}
