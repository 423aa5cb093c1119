/* SPDX-License-Identifier: MIT */
/* process.c - the drain process: its start, its loop and its end */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/drain/drain.h"
#include "cli/drain/stream.h"
#include "cli/save_dat.h"
#include "host/output.h"
#include "session/session.h"

enum {
	SOME_PAGES	= 32,
	PAUSE_MS	= 5,
	LONG_PAUSE_MS	= 10,		/* after less than SOME_PAGES */
	FIND_MS		= 100,		/* how often it looks for new instances */
	SPARE_MOST	= 8 << 20,	/* for what trace.dat has besides pages */
	SPARE_LEAST	= 256 << 10,
};

/* What the command tells the process; KILLED: it cannot any more. */
enum { END = 'e', CANCEL = 'c', KILLED = 'k' };

/* What begin() and keep_room() return besides -errno: FILE is written in place. */
enum { IN_PLACE = 1 };

struct drain {
	pid_t		pid;
	int		tell;		/* the command's end of the pipe */
	const char	*file;
};

struct process {
	const char	*name;		/* of the session */
	struct streams	streams;
	struct save_dat	what;
	bool		ends;		/* the session, with the command */
	int		told;		/* the process' end of the pipe */
	int		spare;		/* a file that keeps room on the disk; */
	int64_t		found_ms;
};

/* ---- the session ---- */

static int copy_dir(void *arg, const char *name, const char *dir, bool alive)
{
	char **path = arg;

	if (strcmp(name, *path))
		return 0;
	return asprintf(path, "%s/data", dir) < 0 ? -ENOMEM : 1;
}

static int map_data(struct process *p)
{
	char *path = (char *)p->name;
	const int found = session_list(copy_dir, &path);
	const int fd = found == 1 ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	struct stat st;
	void *base = MAP_FAILED;
	int ret = found == 1 ? 0 : found ? found : -ENOENT;

	if (!ret && (fd < 0 || fstat(fd, &st)))
		ret = -errno;
	if (!ret)
		base = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (!ret && base == MAP_FAILED)
		ret = -errno;
	if (fd >= 0)
		close(fd);
	if (found == 1)
		free(path);
	if (ret)
		return ret;
	p->streams.data = base;
	p->streams.data_size = (size_t)st.st_size;
	return 0;
}

static int add_drained_cpu(void *arg, const char *name, bool is_dir)
{
	*(uint32_t *)arg += is_dir;
	return 0;
}

static int begin(struct process *p)
{
	struct streams *s = &p->streams;
	int ret = client_reach(p->name, &s->access);

	if (!ret)
		ret = map_data(p);
	if (!ret)
		ret = s->access->ops->list(s->access, "per_cpu", add_drained_cpu, &s->nr_cpus);
	return ret ? ret : streams_find(s);
}

/*
 * Without it a full disk would have no room for the tables of trace.dat. Not every file system can
 * keep room.
 */
static int keep_room(struct process *p)
{
	int size = SPARE_MOST, err = 0;

	p->spare = output_spare(p->what.out);
	if (p->spare < 0)
		return p->spare == -EINVAL ? IN_PLACE : p->spare;
	for (; size >= SPARE_LEAST; size /= 2) {
		err = fallocate(p->spare, 0, 0, size) ? errno : 0;
		if (err != ENOSPC && err != EDQUOT && err != EFBIG)
			return 0;
	}
	return -err;
}

/* The server is gone, and is restored if that is possible. 0 or -errno */
static int reach_again(struct process *p)
{
	struct streams *s = &p->streams;
	int ret;

	message_error("-o %s: the server of the session was lost; some records may be missing",
		      s->file);
	streams_let_go(s);
	access_close(s->access);
	s->access = NULL;
	ret = client_reach(p->name, &s->access);
	return ret ? ret : streams_find(s);
}

/* ---- the loop ---- */

/* One turn. Returns how many pages were written; what is wrong was printed. */
static int64_t drain_some(struct process *p, int64_t (*pages)(struct streams *))
{
	struct streams *s = &p->streams;
	int64_t n;

	if (s->stopped)
		return 0;
	if (session_now_ms() - p->found_ms >= FIND_MS) {
		p->found_ms = session_now_ms();
		n = streams_find(s);
	} else {
		n = 0;
	}
	if (!n)
		n = pages(s);
	if (n == -EPIPE || n == -ECONNRESET)
		n = reach_again(p);
	if (n < 0)
		streams_stop(s, (int)n);
	return n;
}

/* How long to wait until the next turn; -1: for ever. */
static int pause_ms(const struct process *p, int64_t pages)
{
	if (p->streams.stopped)
		return -1;
	if (p->streams.behind)
		return 0;
	return pages >= SOME_PAGES ? PAUSE_MS : LONG_PAUSE_MS;
}

/* Drains until the command says what to do, or is gone. */
static int loop(struct process *p)
{
	struct pollfd told = { .fd = p->told, .events = POLLIN };
	char what;
	int64_t n = 0;

	while (poll(&told, 1, pause_ms(p, n)) <= 0)
		n = drain_some(p, streams_round);
	return read(p->told, &what, 1) == 1 ? what : KILLED;
}

/* What came after the error: the buffers have it, until they are full. */
static void print_left(struct process *p)
{
	const uint64_t left = p->streams.access ? streams_left(&p->streams) : 0;

	if (left)
		message_error("-o %s: %" PRIu64 " events that were recorded are not in it; %s",
			      p->what.file, left, p->ends ? "they are lost" :
			      "they are still in the session");
}

static int finish(struct process *p)
{
	struct streams *s = &p->streams;
	int status;

	p->found_ms = 0;
	if (p->ends && s->access)
		save_dat_switch_off(s->access);
	drain_some(p, streams_rest);
	if (s->unwritten)
		message_error("-o %s: %" PRIu64 " events were taken and could not be written",
			      s->file, s->unwritten);
	if (s->stopped) {
		print_left(p);
		streams_keep(s);
	}
	close(p->spare);
	if (!s->access)
		return message_error("-o %s: the session is lost with all its records", s->file);
	streams_overwrite_again(s);
	p->what.drained = s;
	status = save_dat(s->access, &p->what);
	if (status)
		message_error("-o %s: no file was made: the records that were drained are lost",
			      s->file);
	return s->stopped ? COMMAND_FAILED : status;
}

static void process_run(struct process *p, int ready)
{
	int ret = keep_room(p), status = COMMAND_FAILED, how;

	if (!ret)
		ret = begin(p);
	if (write(ready, &ret, sizeof(ret)) != sizeof(ret) || ret)
		_exit(status);
	close(ready);
	how = loop(p);
	if (how == CANCEL)
		streams_overwrite_again(&p->streams);
	else
		status = finish(p);
	/* A restored server does not watch the command. */
	if (how == KILLED && p->ends && p->streams.access)
		client_end(p->streams.access);
	_exit(status);
}

/* ---- the command ---- */

/* In the new process. */
static void become_process(const char *name, struct access *mine, const struct save_dat *what,
			   bool ends, int told, int ready)
{
	struct process p = {
		.name = name, .what = *what, .ends = ends, .told = told, .spare = -1,
		.streams = { .file = what->file, .out = what->out },
	};
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	close(access_fd(mine));
	process_run(&p, ready);
}

static void close_both(const int *fds)
{
	close(fds[0]);
	close(fds[1]);
}

int drain_begin(const char *name, struct access *mine, const struct save_dat *what,
		bool ends, struct drain **out)
{
	struct drain *d = calloc(1, sizeof(*d));
	int tell[2] = { -1, -1 }, ready[2] = { -1, -1 }, ret = -EPIPE;

	if (!d)
		return message_error("out of memory");
	if (pipe2(tell, O_CLOEXEC) || pipe2(ready, O_CLOEXEC) ||
	    (fflush(NULL), d->pid = fork()) < 0) {
		message_error("-o %s: %s", what->file, strerror(errno));
		close_both(tell);
		close_both(ready);
		free(d);
		return COMMAND_FAILED;
	}
	if (!d->pid) {
		close(tell[1]);
		close(ready[0]);
		become_process(name, mine, what, ends, tell[0], ready[1]);
	}
	close(tell[0]);
	close(ready[1]);
	*d = (struct drain){ d->pid, tell[1], what->file };
	if (read(ready[0], &ret, sizeof(ret)) != sizeof(ret))
		ret = -EPIPE;
	close(ready[0]);
	if (ret) {
		drain_cancel(d);
		return message_error("-o %s: the session cannot be drained: %s", what->file,
				     ret == IN_PLACE ? "it is a device or mounted, and pages need "
						       "files beside it" : strerror(-ret));
	}
	*out = d;
	return COMMAND_DONE;
}

static int await(struct drain *d, char what)
{
	int status = 0;

	if (write(d->tell, &what, 1) != 1)
		errno = 0;	/* the process is gone, as waitpid() says */
	close(d->tell);
	while (waitpid(d->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status;
}

int drain_end(struct drain *d)
{
	const int status = await(d, END);
	const char *file = d->file;

	free(d);
	if (status >= 0 && WIFEXITED(status))
		return WEXITSTATUS(status);
	return message_error("-o %s: the process that drains was killed: its records are lost",
			     file);
}

void drain_cancel(struct drain *d)
{
	if (d)
		await(d, CANCEL);
	free(d);
}
