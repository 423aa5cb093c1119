/* SPDX-License-Identifier: MIT */
/*
 * snapshot.c - tf_snapshot(): the program has its session saved as a trace.dat
 *
 *     open the new file -> a pair of sockets, the file waits in it -> SNAPSHOT, under the lock
 *     -> wait on the pair -> the new file gets its name
 *
 * The program opens the file, so it needs the rights for it, and the server none. A copy of the
 * server writes (attach_wire.h). The thread waits without the lock and without blocked signals: its
 * handlers run, and may save, too. Other threads have their first hits meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include "agent/emit/emit.h"
#include "agent/state.h"
#include "agent/syscall.h"
#include "session/message.h"

/* ROOM: bytes of a handler's alternate stack: those of a first hit (thread.c), and frames here. */
enum { ROOM = 2560, TRIES = 100 };

/* The file that is being written. */
struct target {
	int		dir;		/* -1: the file is written in place */
	int		fd;
	const char	*name;		/* in the directory */
	char		temp[48];	/* until the file is whole */
};

static void close_fd(int fd)
{
	if (fd >= 0)
		agent_syscall(SYS_close, fd);
}

/* ---- The file ---- */

static size_t number_add(char *out, size_t at, uint64_t v)
{
	char digits[20];
	size_t nr = 0;

	do
		digits[nr++] = (char)('0' + v % 10);
	while (v /= 10);
	while (nr)
		out[at++] = digits[--nr];
	return at;
}

/* A name that no other call has, of this process or of another one in the directory. */
static void temp_name(struct target *t)
{
	static const char before[] = ".tracefuse-";
	static _Atomic uint32_t calls;
	size_t at = sizeof(before) - 1;

	memcpy(t->temp, before, at);
	at = number_add(t->temp, at, (uint64_t)agent_syscall(SYS_getpid));
	t->temp[at++] = '-';
	/* Relaxed: it only has to be another number. */
	at = number_add(t->temp, at,
			atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed));
	t->temp[at] = 0;
}

/* The directory's path is copied into memory of its own: the stack may be a handler's. */
static long open_dir(const char *file, size_t len)
{
	long at, fd;
	char *path;

	if (!len)
		return agent_syscall(SYS_openat, AT_FDCWD, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (len >= PATH_MAX)
		return -ENAMETOOLONG;
	at = agent_syscall(SYS_mmap, 0, PATH_MAX, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (is_error(at))
		return at;
	path = (char *)at;
	memcpy(path, file, len);
	fd = agent_syscall(SYS_openat, AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	agent_syscall(SYS_munmap, at, PATH_MAX);
	return fd;
}

/* A device, or a file that a link leads to. */
static int open_as_is(struct target *t)
{
	t->fd = (int)agent_syscall(SYS_openat, t->dir, t->name,
				   O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_NONBLOCK | O_CLOEXEC,
				   0666);
	close_fd(t->dir);
	t->dir = -1;
	return t->fd < 0 ? t->fd : 0;
}

/* mode: of the file that exists; 0: there is none, or it has none */
static int open_new(struct target *t, mode_t mode)
{
	for (int i = 0; i < TRIES; i++) {
		temp_name(t);
		t->fd = (int)agent_syscall(SYS_openat, t->dir, t->temp,
					   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
					   mode ? mode & 0600 : 0666);
		if (t->fd != -EEXIST)
			break;
	}
	if (t->fd >= 0 && mode)
		agent_syscall(SYS_fchmod, t->fd, mode);
	return t->fd < 0 ? t->fd : 0;
}

/* A file that may not be written is not replaced either. */
static int check_writable(const struct target *t)
{
	long fd = agent_syscall(SYS_openat, t->dir, t->name,
				O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return (int)fd;
	close_fd((int)fd);
	return 0;
}

static int open_in_dir(struct target *t)
{
	struct stat st;
	int err = (int)agent_syscall(SYS_newfstatat, t->dir, t->name, &st, AT_SYMLINK_NOFOLLOW);

	if (err == -ENOENT)
		return open_new(t, 0);
	if (!err && !S_ISREG(st.st_mode))
		return open_as_is(t);
	if (!err)
		err = check_writable(t);
	return err ? err : open_new(t, st.st_mode & 0777);
}

static int target_open(struct target *t, const char *file)
{
	size_t len = strlen(file);
	int err;

	while (len && file[len - 1] != '/')
		len--;
	*t = (struct target){ .dir = -1, .fd = -1, .name = file + len };
	if (!*file)
		return -ENOENT;
	if (!*t->name)
		return -EISDIR;
	t->dir = (int)open_dir(file, len);
	if (t->dir < 0)
		return t->dir;
	err = open_in_dir(t);
	if (err)
		close_fd(t->dir);
	return err;
}

/* err: how the writing ended. */
static int target_close(const struct target *t, int err)
{
	close_fd(t->fd);
	if (t->dir < 0)
		return err;
	if (!err)
		err = (int)agent_syscall(SYS_renameat, t->dir, t->temp, t->dir, t->name);
	if (err)
		agent_syscall(SYS_unlinkat, t->dir, t->temp, 0);
	close_fd(t->dir);
	return err;
}

/* ---- The request ---- */

static int file_put(int sock, int file)
{
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	union message_control control;
	const struct msghdr msg = message_of(&iov, &control, file);
	long n = agent_syscall(SYS_sendmsg, sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);

	return n < 0 ? (int)n : 0;
}

/* A child of fork() joins here, if it has made no hit so far. */
static int snapshot_ask(int sock)
{
	int err;

	if (!thread_lock())
		return -ETIMEDOUT;
	err = attach_again();
	if (err)
		err = -ENOTCONN;
	else if (!request_usable())
		err = attach_more();
	if (!err)
		err = request_pass(ATTACH_SNAPSHOT, sock, 0);
	thread_unlock();
	return err == -EAGAIN ? -ETIMEDOUT : err == -EPIPE ? -ECONNREFUSED : err;
}

/* ---- The answers ---- */

/* *left becomes what is left of it, also if a signal comes: the kernel sees to that. 0, -errno */
static int answer_await(int sock, struct timespec *left, struct attach_snapshot *out)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	long n;

	do
		n = agent_syscall(SYS_ppoll, &p, 1, left, 0, 8);
	while (n == -EINTR);
	if (n <= 0)
		return n ? (int)n : -ETIMEDOUT;
	n = agent_syscall(SYS_recvfrom, sock, out, sizeof(*out), MSG_DONTWAIT, 0, 0);
	if (n == sizeof(*out))
		return 0;
	/* The other end was closed, maybe with the file still in its queue. */
	return n >= 0 || n == -ECONNRESET ? -ECONNREFUSED : (int)n;
}

static int snapshot_await(int sock)
{
	struct agent_patience patience = patience_begin();
	struct attach_snapshot answer = { 0 };
	struct timespec left;
	int err;

	do {
		left = (struct timespec){ AGENT_WAIT_MS / 1000, AGENT_WAIT_MS % 1000 * 1000000l };
		err = answer_await(sock, &left, &answer);
	} while (err == -ETIMEDOUT && patience_goes_on(&patience));
	if (!err && !answer.done) {
		left = (struct timespec){ ATTACH_SNAPSHOT_MS / 1000, 0 };
		err = answer_await(sock, &left, &answer);
	}
	return err ? err : answer.err;
}

/* The writer has the file and its end of the pair as long as it writes. */
static int snapshot_write(int file)
{
	int pair[2];
	int err = (int)agent_syscall(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
				     pair);

	if (err)
		return err;
	err = file_put(pair[0], file);
	if (!err)
		err = snapshot_ask(pair[1]);
	close_fd(pair[1]);
	if (!err)
		err = snapshot_await(pair[0]);
	close_fd(pair[0]);
	return err;
}

__attribute__((cold)) int event_snapshot(const char *file)
{
	struct target target;
	int err;

	/* Acquire: pairs with the release in start() (attach.c). */
	if (atomic_load_explicit(&agent.state, memory_order_acquire) != AGENT_ON)
		return -ENOTCONN;
	if (agent_self.first ||
	    !stack_has_room((uintptr_t)__builtin_frame_address(0), ROOM))
		return -EAGAIN;
	if (!agent_may_ask())
		return -EPERM;
	if (!file)
		return -EFAULT;
	err = target_open(&target, file);
	return err ? err : target_close(&target, snapshot_write(target.fd));
}
