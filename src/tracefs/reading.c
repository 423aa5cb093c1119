/* SPDX-License-Identifier: MIT */
/*
 * reading.c - see reading.h
 *
 *   F1  Such a process is a printer (tracefs/printer.h) whose text is bytes: it has no descriptor
 *       but its pipe and its input, and ends with the server.
 *   F2  One that uses no processor time for STILL_MS hangs: its file may be on a file system that
 *       does not answer. On a machine that is busy it is slow, but it does not stand still.
 *   F3  What comes out of the pipe is gathered as it comes, BYTES_MOST at most, so a false number
 *       in it takes no memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "model/text_memory.h"
#include "session/session.h"
#include "tracefs/reading.h"

enum {
	STILL_MS	= 10000,	/* F2 */
	SECONDS		= 120,		/* of processor time */
	READING_PIECE	= 64 * 1024,
	READING_AT_ONCE	= 16,		/* pieces, before the loop looks at all else again */
};

#define BYTES_MOST (1ull << 30)		/* F3 */

void reading_begin(const char *name)
{
	const struct rlimit limit = { SECONDS, SECONDS };

	prctl(PR_SET_NAME, name);
	setrlimit(RLIMIT_CPU, &limit);
}

static int reading_printer(struct printers *ps, struct reading *r,
			   const struct printer_text *text)
{
	int err;

	*r = (struct reading){ .since = session_now_ms() };
	err = printer_start(ps, text, &r->printer);
	if (err)
		r->printer = NULL;
	return err;
}

int reading_start(struct printers *ps, struct reading *r, int (*print)(void *arg, FILE *out),
		  void *arg, int input)
{
	const struct printer_text text = { .print = print, .arg = arg, .input = input };

	return reading_printer(ps, r, &text);
}

int reading_look(struct printers *ps, struct reading *r, const char *path)
{
	const struct printer_text text = { .path = path };

	return reading_printer(ps, r, &text);
}

int reading_here(struct reading *r, int (*print)(void *arg, FILE *out), void *arg)
{
	FILE *out;
	int err;

	*r = (struct reading){ 0 };
	out = text_memory_open(&r->bytes, &r->nr);
	err = out ? print(arg, out) : -ENOMEM;
	if (out && fclose(out))
		err = -ENOMEM;
	return err;
}

void reading_end(struct reading *r)
{
	printer_end(r->printer);
	free(r->bytes);
	*r = (struct reading){ 0 };
}

static bool reading_room(struct reading *r)
{
	const size_t room = r->room ? 2 * r->room : 4 * READING_PIECE;
	char *more;

	if (r->room - r->nr >= READING_PIECE)
		return true;
	more = realloc(r->bytes, room);
	if (!more)
		return false;
	r->bytes = more;
	r->room = room;
	return true;
}

static int reading_gather(struct reading *r)
{
	ssize_t n = 1;

	for (unsigned int i = 0; n > 0 && i < READING_AT_ONCE; i++) {
		if (r->nr > BYTES_MOST)
			return -E2BIG;
		if (!reading_room(r))
			return -ENOMEM;
		n = printer_read(r->printer, r->bytes + r->nr, READING_PIECE, (off_t)r->nr);
		r->nr += n > 0 ? (size_t)n : 0;
	}
	return n > 0 || n == -EINPROGRESS ? 1 : (int)n;
}

static int64_t reading_used(const struct reading *r)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(printer_pid(r->printer), &clock) || clock_gettime(clock, &t))
		return 0;
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* F2 */
static bool reading_hangs(struct reading *r)
{
	const int64_t used = reading_used(r), now = session_now_ms();

	if (used != r->used) {
		r->used = used;
		r->since = now;
	}
	return now - r->since >= STILL_MS;
}

int reading_take(struct reading *r)
{
	const int err = reading_gather(r);

	return err > 0 && reading_hangs(r) ? -ETIMEDOUT : err;
}

const char *reading_why(int err)
{
	switch (err) {
	case -ENOENT:
		return "its file cannot be read";
	case -EIO:
		return "the process that read its code died";
	case -ETIMEDOUT:
		return "its code could not be read in time";
	case -ENODATA:
		return "its file could not be read";
	case -ENOMEM:
		return "there was no memory to read its code";
	default:
		return "what was found in its code makes no sense";
	}
}
