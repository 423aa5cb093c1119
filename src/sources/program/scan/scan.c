/* SPDX-License-Identifier: MIT */
/* scan.c - see scan.h */
#include <errno.h>
#include <stdlib.h>

#include "elf/packed.h"
#include "session/session.h"
#include "tracefs/reading.h"
#include "sources/program/scan/scan.h"

enum {
	SCANS		= 16,		/* at the same time */
	BUSY		= 4,		/* of these, which do not stand still */
	STILL_MS	= 1000,
};

struct scan {
	struct reading	reading;
	struct program_dso dso;
	struct program_owners owners;
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

/* A compiler's sites */
static int scan_sites(const char *path, const struct elf_want *want, void *out)
{
	return elf_sites_read(path, want, out);
}

static elf_reader scan_reader(const struct program_dso *d)
{
	return d->moved ? scan_moved : scan_sites;
}

static int scan_print(void *arg, FILE *out)
{
	const struct scan *s = arg;
	struct elf_sites sites;

	reading_begin("tracefuse-scan");
	if (!program_dso_try(&s->dso, &s->owners, scan_reader(&s->dso), &sites))
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
	reading_end(&s->reading);
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

struct printers *scans_printers(struct scans *s)
{
	return s->printers;
}

bool scan_runs(const struct scans *s, uint32_t nr)
{
	for (unsigned int i = 0; i < SCANS; i++)
		if (s->v[i].reading.printer && s->v[i].dso.nr == nr)
			return true;
	return false;
}

bool scans_any(const struct scans *s)
{
	for (unsigned int i = 0; i < SCANS; i++)
		if (s->v[i].reading.printer)
			return true;
	return false;
}

/* Its file may be on a disk that does not answer. */
static bool scan_is_still(const struct scan *s)
{
	return session_now_ms() - s->reading.since >= STILL_MS;
}

bool scan_stands_still(const struct scans *s, uint32_t nr)
{
	for (unsigned int i = 0; i < SCANS; i++)
		if (s->v[i].reading.printer && s->v[i].dso.nr == nr)
			return scan_is_still(&s->v[i]);
	return false;
}

/* Those that stand still keep no others from being scanned. */
static struct scan *scan_free(struct scans *s)
{
	struct scan *unused = NULL;
	unsigned int busy = 0;

	for (unsigned int i = 0; i < SCANS; i++) {
		if (!s->v[i].reading.printer)
			unused = &s->v[i];
		else
			busy += !scan_is_still(&s->v[i]);
	}
	return busy < BUSY ? unused : NULL;
}

int scan_start(struct scans *s, struct programs *p, const struct program_dso *d)
{
	struct scan *new = scan_free(s);

	if (!new)
		return -EBUSY;
	new->dso = *d;
	program_dso_owners(p, d, &new->owners);
	return reading_start(s->printers, &new->reading, scan_print, new, 0);
}

void scan_here(struct programs *p, const struct program_dso *d, struct scanned *out)
{
	*out = (struct scanned){ .dso = *d };
	out->found = program_dso_read(p, d, scan_reader(d), &out->sites);
}

/* ---- what it says ---- */

/* No file was right: then there is nothing to say. */
static void scan_end(struct scan *s, int err, struct scanned *out)
{
	*out = (struct scanned){ .dso = s->dso };
	if (!err)
		err = packed_read(s->reading.bytes, s->reading.nr, s->dso.moved, &out->sites);
	if (err && err != -ENOENT)
		out->why = reading_why(err);
	out->found = !err;
	scan_clear(s);
}

bool scans_next(struct scans *s, struct scanned *out)
{
	printers_tend(s->printers);
	for (unsigned int i = 0; i < SCANS; i++) {
		struct scan *v = &s->v[i];
		const int err = v->reading.printer ? reading_take(&v->reading) : 1;

		if (err > 0)
			continue;
		scan_end(v, err, out);
		return true;
	}
	return false;
}
