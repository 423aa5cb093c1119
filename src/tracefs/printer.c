/* SPDX-License-Identifier: MIT */
/*
 * printer.c - see printer.h
 *
 *   T1  The printer closes all descriptors but its pipe and its input: a socket, a lock or a mount
 *       of the server must not outlive the server in it. It ends with the server's thread, and
 *       when the pipe's other end is closed.
 *   T2  The printer says in `status`, which both have mapped, how the text ended, before it closes
 *       the pipe.
 *   T3  The last bytes are kept, because shells read a block and go back to the end of a line.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "model/text_memory.h"
#include "session/array.h"
#include "tracefs/path_look.h"
#include "tracefs/printer.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum {
	PIPE_BYTES = 256 * 1024,
	KEPT = 256 * 1024,		/* T3 */
	AT_ONCE = 16,			/* reads of the pipe in one call */
	OUT_BYTES = 64 * 1024,
	DYING_MS = 5,			/* from one look whether they are dead to the next */
};

/* T2 */
struct printer_status {
	_Atomic bool	made;		/* the session's memory is read no more */
	_Atomic bool	done;
	int		err;
	struct printer_body body;
};

struct printer {
	struct printers	*all;
	struct printer_status *status;
	struct path_look	*look;		/* it is a looker */
	pid_t		pid;
	int		fd;		/* -1: the text has ended */
	int		err;		/* how */
	off_t		start, pos;	/* of the first byte, behind the last one read */
	char		*kept;		/* the byte at offset o is kept[(o - start) % KEPT] */
};

struct dying {
	pid_t		pid;
	struct path_look	*look;
};

struct printers {
	int		epoll;
	struct dying	*dying;
	unsigned int	nr_dying;
};

/* ---- bodies ---- */

static void body_add_word(struct printer_body *b, uint64_t word)
{
	b->hash = (b->hash ^ word) * 0x9e3779b97f4a7c15ull;
	b->hash ^= b->hash >> 32;
}

static void body_add_byte(struct printer_body *b, char byte)
{
	b->word |= (uint64_t)(unsigned char)byte << b->bytes % 8 * 8;
	if (++b->bytes % 8)
		return;
	body_add_word(b, b->word);
	b->word = 0;
}

void printer_body_add(struct printer_body *b, const char *bytes, size_t n)
{
	uint64_t word;

	for (; n && b->bytes % 8; n--)
		body_add_byte(b, *bytes++);
	for (; n >= 8; n -= 8, bytes += 8) {
		memcpy(&word, bytes, 8);
		body_add_word(b, word);
		b->bytes += 8;
	}
	for (; n; n--)
		body_add_byte(b, *bytes++);
}

static bool same_body(const struct printer_body *a, const struct printer_body *b)
{
	return a->bytes == b->bytes && a->hash == b->hash && a->word == b->word;
}

/* ---- in the printer ---- */

/* Where its text goes. */
struct printer_out {
	struct printer_status *status;
	const struct printer_body *after;
	bool		line;		/* in the middle of a line */
	bool		in_header;	/* no line without a '#' at its start has come */
	bool		skipping;	/* what the reader has */
	bool		other;		/* the text does not begin with that */
};

static void send_bytes(const char *bytes, size_t n)
{
	while (n) {
		ssize_t some = write(STDOUT_FILENO, bytes, n);

		if (some < 0 && errno == EINTR)
			continue;
		if (some <= 0)
			_exit(1);	/* nobody reads any more */
		bytes += some;
		n -= (size_t)some;
	}
}

/* How many bytes belong to the header. */
static size_t header_bytes(struct printer_out *o, const char *bytes, size_t n)
{
	size_t at = 0;

	while (o->in_header && at < n) {
		const char *end;

		if (!o->line && bytes[at] != '#') {
			o->in_header = false;
			break;
		}
		end = memchr(bytes + at, '\n', n - at);
		o->line = !end;
		at = end ? (size_t)(end + 1 - bytes) : n;
	}
	return at;
}

/* How many bytes of the body the reader has already. */
static size_t bytes_to_skip(struct printer_out *o, size_t n)
{
	const uint64_t left = o->after->bytes - o->status->body.bytes;

	return left < n ? (size_t)left : n;
}

static ssize_t printer_put(void *cookie, const char *bytes, size_t n)
{
	struct printer_out *o = cookie;
	size_t at = header_bytes(o, bytes, n), skip;

	if (!o->after)
		send_bytes(bytes, at);
	if (o->skipping && at < n) {
		skip = bytes_to_skip(o, n - at);
		printer_body_add(&o->status->body, bytes + at, skip);
		at += skip;
		o->skipping = o->status->body.bytes < o->after->bytes;
		o->other = !o->skipping && !same_body(&o->status->body, o->after);
	}
	printer_body_add(&o->status->body, bytes + at, n - at);
	if (!o->other)
		send_bytes(bytes + at, n - at);
	return (ssize_t)n;
}

static int print_whole(const struct printer_text *text, struct printer_status *status, FILE *out)
{
	char *bytes;
	size_t n;
	FILE *memory = text_memory_open(&bytes, &n);
	int err;

	if (!memory)
		return -ENOMEM;
	err = text->print(text->arg, memory);
	/* Relaxed: what was read is in this process. */
	atomic_store_explicit(&status->made, true, memory_order_relaxed);
	if (fclose(memory))
		return err ? err : -ENOMEM;
	fwrite(bytes, 1, n, out);
	return err;
}

/* T1. The pipe becomes standard output, and `input` standard input. 0: there is none. */
static void close_others(int fd, int input)
{
	const int null = open("/dev/null", O_RDWR);

	if (dup2(fd, STDOUT_FILENO) < 0 || (input && dup2(input, STDIN_FILENO) < 0))
		_exit(1);
	if (null >= 0) {
		if (!input)
			dup2(null, STDIN_FILENO);
		dup2(null, STDERR_FILENO);
	}
	if (!syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0))
		return;
	for (int other = (int)sysconf(_SC_OPEN_MAX); other > STDERR_FILENO; other--)
		close(other);
}

static void become(int fd, int input, pid_t server)
{
	signal(SIGPIPE, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "tracefuse-print");
	if (getppid() != server)
		_exit(1);
	close_others(fd, input);
}

void printer_become(int fd, pid_t server)
{
	become(fd, 0, server);
}

static _Noreturn void printer_run(const struct printer_text *text, struct printer_status *status,
				  int fd, pid_t server)
{
	static const cookie_io_functions_t functions = { .write = printer_put };
	struct printer_out o = { .status = status, .after = text->after, .in_header = true,
				 .skipping = text->after && text->after->bytes };
	FILE *out;

	become(fd, text->input, server);
	out = fopencookie(&o, "w", functions);
	if (!out)
		_exit(1);
	setvbuf(out, NULL, _IOFBF, OUT_BYTES);
	fwrite(text->begun, 1, text->begun_size, out);
	fflush(out);
	status->err = text->whole ? print_whole(text, status, out) : text->print(text->arg, out);
	fflush(out);
	/* T2. Release: pairs with the acquire in printer_finish(). */
	atomic_store_explicit(&status->done, true, memory_order_release);
	_exit(0);
}

/* ---- in the server ---- */

struct printers *printers_create(void)
{
	struct printers *ps = calloc(1, sizeof(*ps));

	if (!ps)
		return NULL;
	ps->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (ps->epoll < 0) {
		free(ps);
		return NULL;
	}
	return ps;
}

static void printers_reap(struct printers *ps)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < ps->nr_dying; i++) {
		if (!waitpid(ps->dying[i].pid, NULL, WNOHANG))
			ps->dying[left++] = ps->dying[i];
		else
			path_look_free(ps->dying[i].look);
	}
	ps->nr_dying = left;
}

void printers_destroy(struct printers *ps)
{
	const struct timespec pause = { .tv_nsec = DYING_MS * 1000000 };

	if (!ps)
		return;
	printers_reap(ps);
	/* One that waits for a disk or for a file system of FUSE may not die. */
	for (int i = 0; ps->nr_dying && i < 1000 / DYING_MS; i++) {
		nanosleep(&pause, NULL);
		printers_reap(ps);
	}
	close(ps->epoll);
	free(ps->dying);
	free(ps);
}

int printers_fd(const struct printers *ps)
{
	return ps->epoll;
}

void printers_tend(struct printers *ps)
{
	struct epoll_event events[64];

	while (epoll_wait(ps->epoll, events, 64, 0) == 64)
		;
	printers_reap(ps);
}

static int open_pipe(int fds[2])
{
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	/* It stays smaller where the user has too many large ones. */
	fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES);
	return 0;
}

static void printer_free(struct printer *p)
{
	if (p->status && p->status != MAP_FAILED)
		munmap(p->status, sizeof(*p->status));
	free(p->kept);
	free(p);
}

static int look_printer(struct printer *p, const char *path, int fd)
{
	int err = path_look_begin(path, fd, &p->look);

	if (!err)
		p->pid = path_look_pid(p->look);
	return err;
}

static int fork_printer(struct printer *p, const struct printer_text *text, int fd)
{
	const pid_t self = getpid();

	p->pid = fork();
	if (!p->pid)
		printer_run(text, p->status, fd, self);
	return p->pid < 0 ? -errno : 0;
}

static int begin_printer(struct printer *p, const struct printer_text *text)
{
	struct epoll_event none = { .events = EPOLLONESHOT };
	int fds[2];
	int err = array_room(&p->all->dying, p->all->nr_dying, sizeof(*p->all->dying));

	if (!err)
		err = open_pipe(fds);
	if (err)
		return err;
	err = text->path ? look_printer(p, text->path, fds[1]) : fork_printer(p, text, fds[1]);
	close(fds[1]);
	if (!err && epoll_ctl(p->all->epoll, EPOLL_CTL_ADD, fds[0], &none))
		err = -errno;
	p->fd = fds[0];
	return err;
}

int printer_start(struct printers *ps, const struct printer_text *text, struct printer **out)
{
	struct printer *p = calloc(1, sizeof(*p));
	int err = -ENOMEM;

	printers_reap(ps);
	if (!p)
		return err;
	p->all = ps;
	p->fd = -1;
	p->start = p->pos = text->start;
	p->kept = malloc(KEPT);
	p->status = mmap(NULL, sizeof(*p->status), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p->kept && p->status != MAP_FAILED)
		err = begin_printer(p, text);
	if (err)
		printer_end(p);
	else
		*out = p;
	return err;
}

/* The process has ended or is to end. It may take until printers_tend(). */
static void printer_dies(struct printer *p)
{
	if (p->pid <= 0)
		return;
	if (waitpid(p->pid, NULL, WNOHANG)) {
		path_look_free(p->look);
	} else {
		kill(p->pid, SIGKILL);
		if (!array_room(&p->all->dying, p->all->nr_dying, sizeof(*p->all->dying)))
			p->all->dying[p->all->nr_dying++] = (struct dying){ p->pid, p->look };
	}
	p->pid = 0;
	p->look = NULL;
}

static void printer_close(struct printer *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	printer_dies(p);
}

void printer_end(struct printer *p)
{
	if (!p)
		return;
	printer_close(p);
	printer_free(p);
}

static void printer_finish(struct printer *p)
{
	/* Acquire: pairs with the release in printer_run(). */
	const bool done = atomic_load_explicit(&p->status->done, memory_order_acquire);

	if (p->look)
		p->err = path_look_err(p->look);
	else
		p->err = done ? p->status->err : -EIO;
	printer_close(p);
}

/* Returns how many bytes came; 0: the end; -EINPROGRESS. */
static ssize_t printer_fill(struct printer *p)
{
	const size_t at = (size_t)(p->pos - p->start) % KEPT;
	const size_t room = KEPT - at < OUT_BYTES ? KEPT - at : OUT_BYTES;
	ssize_t n;

	if (p->fd < 0)
		return 0;
	do
		n = read(p->fd, p->kept + at, room);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN) {
		struct epoll_event readable = { .events = EPOLLIN | EPOLLONESHOT };

		epoll_ctl(p->all->epoll, EPOLL_CTL_MOD, p->fd, &readable);
		return -EINPROGRESS;
	}
	if (n <= 0) {
		printer_finish(p);
		return 0;
	}
	p->pos += n;
	return n;
}

static size_t copy_kept(const struct printer *p, char *buf, size_t size, off_t off)
{
	const size_t at = (size_t)(off - p->start) % KEPT;
	size_t n = (size_t)(p->pos - off);

	if (n > size)
		n = size;
	if (n > KEPT - at)
		n = KEPT - at;
	memcpy(buf, p->kept + at, n);
	return n;
}

ssize_t printer_read(struct printer *p, char *buf, size_t size, off_t off)
{
	size_t done = 0;
	ssize_t n = 1;

	if (off < p->start || off < p->pos - KEPT)
		return -ESPIPE;
	for (int i = 0; done < size && n > 0 && i < AT_ONCE; i++) {
		if (off >= p->pos)
			n = printer_fill(p);
		if (off < p->pos) {
			const size_t some = copy_kept(p, buf + done, size - done, off);

			done += some;
			off += (off_t)some;
		}
	}
	if (done)
		return (ssize_t)done;
	if (p->fd < 0)
		return p->err;
	return -EINPROGRESS;
}

bool printer_holds(const struct printer *p)
{
	/* Relaxed: see print_whole(). */
	return p->fd >= 0 && !atomic_load_explicit(&p->status->made, memory_order_relaxed);
}

bool printer_body(const struct printer *p, struct printer_body *out)
{
	if (p->fd >= 0 || p->err)
		return false;
	*out = p->status->body;
	return true;
}

pid_t printer_pid(const struct printer *p)
{
	return p->pid;
}

off_t printer_pos(const struct printer *p)
{
	return p->pos;
}

bool printer_came(const struct printer *p)
{
	return p->pos > p->start;
}
