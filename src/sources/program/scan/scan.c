/* SPDX-License-Identifier: MIT */
/*
 * scan.c - see scan.h
 *
 *   F1  A scan is a printer (tracefs/printer.h) whose text is bytes: it has no descriptor but its
 *       pipe, and ends with the server.
 *   F2  A scan that uses no processor time for STILL_MS hangs: its file may be on a file system
 *       that does not answer. On a machine that is busy a scan is slow, but it does not stand
 *       still.
 *   F3  What comes out of the pipe is gathered as it comes, PACKED_MOST at most, so a false number
 *       in it takes no memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "elf/packed.h"
#include "sources/program/scan/scan.h"
#include "tracefs/printer.h"

enum {
	SCANS		= 4,		/* at the same time */
	STILL_MS	= 10000,	/* F2 */
	SECONDS		= 120,		/* of processor time */
	SCAN_PIECE	= 64 * 1024,
	SCAN_AT_ONCE	= 16,		/* pieces, before the loop looks at all else again */
};

#define PACKED_MOST (1ull << 30)	/* F3 */

struct scan {
	struct printer	*printer;	/* NULL: none */
	struct program_dso dso;
	struct program_owners owners;
	char		*bytes;
	size_t		nr, room;
	/* F2 */
	int64_t		used;		/* nanoseconds of the processor */
	int64_t		since;		/* session_now_ms(): so many since then */
};

struct scans {
	struct printers	*printers;
	struct scan	v[SCANS];
};

/* ---- in the scan's process ---- */

static int scan_moved(const char *path, const struct elf_want *want, void *out)
{
	return elf_moved_read(path, want, out);
}

static int scan_print(void *arg, FILE *out)
{
	const struct rlimit limit = { SECONDS, SECONDS };
	const struct scan *s = arg;
	struct elf_sites sites;

	prctl(PR_SET_NAME, "tracefuse-scan");
	setrlimit(RLIMIT_CPU, &limit);
	if (!program_dso_try(&s->dso, &s->owners, scan_moved, &sites))
		return -ENOENT;
	return packed_write(&sites, out);
}

/* ---- in the server ---- */

struct scans *scans_create(void)
{
	struct scans *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->printers = printers_create();
	if (!s->printers) {
		free(s);
		return NULL;
	}
	return s;
}

static void scan_clear(struct scan *s)
{
	printer_end(s->printer);
	free(s->bytes);
	*s = (struct scan){ 0 };
}

void scans_destroy(struct scans *s)
{
	if (!s)
		return;
	for (unsigned int i = 0; i < SCANS; i++)
		scan_clear(&s->v[i]);
	printers_destroy(s->printers);
	free(s);
}

int scans_fd(const struct scans *s)
{
	return printers_fd(s->printers);
}

bool scan_runs(const struct scans *s, uint32_t nr)
{
	for (unsigned int i = 0; i < SCANS; i++)
		if (s->v[i].printer && s->v[i].dso.nr == nr)
			return true;
	return false;
}

bool scans_any(const struct scans *s)
{
	for (unsigned int i = 0; i < SCANS; i++)
		if (s->v[i].printer)
			return true;
	return false;
}

static struct scan *scan_free(struct scans *s)
{
	for (unsigned int i = 0; i < SCANS; i++)
		if (!s->v[i].printer)
			return &s->v[i];
	return NULL;
}

int scan_start(struct scans *s, struct programs *p, const struct program_dso *d)
{
	struct scan *new = scan_free(s);
	const struct printer_text text = { .print = scan_print, .arg = new };
	int err;

	if (!new)
		return -EBUSY;
	new->dso = *d;
	new->since = session_now_ms();
	program_dso_owners(p, d, &new->owners);
	err = printer_start(s->printers, &text, &new->printer);
	if (err)
		new->printer = NULL;
	return err;
}

void scan_here(struct programs *p, const struct program_dso *d, struct scanned *out)
{
	*out = (struct scanned){ .dso = *d };
	out->found = program_dso_read(p, d, scan_moved, &out->sites);
}

/* ---- what it says ---- */

static bool scan_room(struct scan *s)
{
	const size_t room = s->room ? 2 * s->room : 4 * SCAN_PIECE;
	char *more;

	if (s->room - s->nr >= SCAN_PIECE)
		return true;
	more = realloc(s->bytes, room);
	if (!more)
		return false;
	s->bytes = more;
	s->room = room;
	return true;
}

/* 1: more may come later; 0: that was all; -errno */
static int scan_take(struct scan *s)
{
	ssize_t n = 1;

	for (unsigned int i = 0; n > 0 && i < SCAN_AT_ONCE; i++) {
		if (s->nr > PACKED_MOST)
			return -E2BIG;
		if (!scan_room(s))
			return -ENOMEM;
		n = printer_read(s->printer, s->bytes + s->nr, SCAN_PIECE, (off_t)s->nr);
		s->nr += n > 0 ? (size_t)n : 0;
	}
	return n > 0 || n == -EINPROGRESS ? 1 : (int)n;
}

static int64_t scan_used(const struct scan *s)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(printer_pid(s->printer), &clock) || clock_gettime(clock, &t))
		return 0;
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* F2 */
static bool scan_hangs(struct scan *s)
{
	const int64_t used = scan_used(s), now = session_now_ms();

	if (used != s->used) {
		s->used = used;
		s->since = now;
	}
	return now - s->since >= STILL_MS;
}

static const char *scan_why(int err)
{
	switch (err) {
	case -EIO:
		return "the process that read its code died";
	case -ETIMEDOUT:
		return "its code could not be read in time";
	case -ENOMEM:
		return "there was no memory to read its code";
	default:
		return "what was found in its code makes no sense";
	}
}

/* No file was right: then there is nothing to say. */
static void scan_end(struct scan *s, int err, struct scanned *out)
{
	*out = (struct scanned){ .dso = s->dso };
	if (!err)
		err = packed_read(s->bytes, s->nr, &out->sites);
	if (err && err != -ENOENT)
		out->why = scan_why(err);
	out->found = !err;
	scan_clear(s);
}

bool scans_next(struct scans *s, struct scanned *out)
{
	printers_tend(s->printers);
	for (unsigned int i = 0; i < SCANS; i++) {
		struct scan *v = &s->v[i];
		int err = v->printer ? scan_take(v) : 1;

		if (err > 0 && v->printer && scan_hangs(v))
			err = -ETIMEDOUT;
		if (err > 0)
			continue;
		scan_end(v, err, out);
		return true;
	}
	return false;
}
