/* SPDX-License-Identifier: MIT */
/*
 * pages.c - pages from the session's memory to files
 *
 * The kernel copies a page's bytes from the map to the file; nothing is read here. So a region that
 * a program has made shorter is an error of the write, and no SIGBUS.
 *
 *     | time stamp | commit word | records       | lost | zeros        |
 *       map          here          map             here   here
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "access/access.h"
#include "cli/drain/stream.h"
#include "host/message.h"
#include "layout/ring.h"
#include "session/ring/drain.h"
#include "session/ring/cursor.h"

enum {
	PAGE_PARTS	= 5,
	PAGES_AT_ONCE	= 1024 / PAGE_PARTS,	/* of one call: IOV_MAX is 1024 */
	ANSWER_BYTES	= 96 << 10,	/* malloc() asks the system for more */
	TIME_BYTES	= 8,
	CPU_PATH	= 400,
	ROUNDS_AT_END	= 64,
};

#define MISSED_EVENTS	(1ull << 31)
#define MISSED_STORED	(1ull << 30)

/* What a page has that is not in the session's memory. */
struct page_words {
	uint64_t	commit, lost;
};

/* ---- whole pages ---- */

static unsigned int page_parts(const struct streams *s, const struct stream_instance *inst,
			       const struct drain_page *p, struct page_words *w, struct iovec *v)
{
	const bool stored = p->lost && p->end + sizeof(w->lost) <= inst->subbuf_size;
	const size_t rest = inst->subbuf_size - p->end - (stored ? sizeof(w->lost) : 0);
	char *page = (char *)s->data + p->at;
	unsigned int n = 0;

	w->lost = p->lost;
	w->commit = (p->end - RING_PAGE_HEADER) | (p->lost ? MISSED_EVENTS : 0) |
		    (stored ? MISSED_STORED : 0);
	v[n++] = (struct iovec){ page, TIME_BYTES };
	v[n++] = (struct iovec){ &w->commit, sizeof(w->commit) };
	v[n++] = (struct iovec){ page + RING_PAGE_HEADER, p->end - RING_PAGE_HEADER };
	if (stored)
		v[n++] = (struct iovec){ &w->lost, sizeof(w->lost) };
	if (rest)
		v[n++] = (struct iovec){ inst->zeros, rest };
	return n;
}

/* Writes some of the pages. Returns how many are complete, or -errno. */
static int write_some(struct streams *s, const struct stream_instance *inst, struct stream_cpu *c,
		      const struct drain_page *pages, uint32_t nr)
{
	struct page_words words[PAGES_AT_ONCE];
	struct iovec parts[PAGES_AT_ONCE * PAGE_PARTS];
	unsigned int n = 0;
	ssize_t ret;

	for (uint32_t i = 0; i < nr; i++)
		n += page_parts(s, inst, &pages[i], &words[i], parts + n);
	ret = pwritev(c->fd, parts, (int)n, (off_t)c->written);
	if (ret < 0)
		return errno == EINTR ? 0 : -errno;
	/* A part of a page is written again. */
	c->written += (uint64_t)ret / inst->subbuf_size * inst->subbuf_size;
	return (int)((size_t)ret / inst->subbuf_size);
}

static int write_pages(struct streams *s, const struct stream_instance *inst, struct stream_cpu *c,
		       const struct drain_page *pages, uint32_t nr)
{
	int ret = stream_file(s, c), without = 0;

	while (ret >= 0 && nr) {
		ret = write_some(s, inst, c, pages, nr < PAGES_AT_ONCE ? nr : PAGES_AT_ONCE);
		/* A write that stops within the first page tells its reason when it is repeated. */
		without = ret ? 0 : without + 1;
		if (without > 2)
			ret = -ENOSPC;
		if (ret > 0) {
			pages += ret;
			nr -= (uint32_t)ret;
		}
	}
	return ret < 0 ? streams_stop(s, ret) : 0;
}

/* ---- pages that the server merges ---- */

static void cpu_path(const struct stream_instance *inst, uint32_t cpu, const char *file,
		     char path[CPU_PATH])
{
	snprintf(path, CPU_PATH, "%s%s%sper_cpu/cpu%u/%s", *inst->name ? "instances/" : "",
		 inst->name, *inst->name ? "/" : "", cpu, file);
}

static int open_raw(struct streams *s, const struct stream_instance *inst, uint32_t cpu)
{
	struct stream_cpu *c = &inst->cpus[cpu];
	char path[CPU_PATH];

	if (c->raw)
		return 0;
	cpu_path(inst, cpu, "trace_pipe_raw", path);
	return s->access->ops->open(s->access, path, O_RDONLY | O_NONBLOCK, &c->raw);
}

/* The records of a page of trace_pipe_raw. */
static uint64_t page_records(const char *page, uint32_t size)
{
	struct ring_cursor at;
	uint64_t commit, n = 0;

	memcpy(&commit, page + TIME_BYTES, sizeof(commit));
	commit = (commit & (MISSED_STORED - 1)) + RING_PAGE_HEADER;
	ring_cursor_start(&at, page, commit < size ? (uint32_t)commit : size);
	while (ring_cursor_next(&at))
		n++;
	return n;
}

static int write_merged(struct streams *s, const struct stream_instance *inst,
			struct stream_cpu *c)
{
	const struct iovec part = { inst->page, inst->subbuf_size };
	int ret = stream_file(s, c);
	ssize_t n;

	if (ret < 0)
		return ret;
	n = pwritev(ret, &part, 1, (off_t)c->written);
	if (n != (ssize_t)inst->subbuf_size)
		return n < 0 ? -errno : -ENOSPC;
	c->written += inst->subbuf_size;
	c->size = c->written;
	return 0;
}

/* At most so many pages, and no more once it has so many records. Returns how many, or -errno. */
static int64_t copy_raw(struct streams *s, const struct stream_instance *inst, uint32_t cpu,
			uint64_t pages, uint64_t records)
{
	struct stream_cpu *c = &inst->cpus[cpu];
	int ret = open_raw(s, inst, cpu);
	uint64_t nr = 0, taken = 0;

	for (; !ret && nr < pages && taken < records; nr++) {
		const ssize_t n = s->access->ops->read(c->raw, inst->page, inst->subbuf_size, 0);

		if (n == -EAGAIN || !n)
			break;
		if (n != (ssize_t)inst->subbuf_size)
			return n < 0 ? n : -EPROTO;
		taken += page_records(inst->page, inst->subbuf_size);
		ret = write_merged(s, inst, c);
		if (ret) {
			s->unwritten += page_records(inst->page, inst->subbuf_size);
			streams_stop(s, ret);
		}
	}
	return ret ? ret : (int64_t)nr;
}

/* An open trace_pipe_raw would keep the instance, and its tracer. */
static int64_t copy_merged(struct streams *s, const struct stream_instance *inst, uint32_t cpu,
			   uint64_t pages, uint64_t records)
{
	const int64_t ret = copy_raw(s, inst, cpu, pages, records);

	streams_close(&inst->cpus[cpu].raw);
	return ret;
}

/* ---- an answer ---- */

/* trace.dat has one size of pages for an instance. */
static int page_size(struct streams *s, struct stream_instance *inst, uint32_t size)
{
	bool some = false;

	if (inst->subbuf_size == size)
		return 0;
	for (uint32_t cpu = 0; cpu < s->nr_cpus; cpu++)
		some |= inst->cpus[cpu].written != 0;
	if (some) {
		message_error("-o %s: buffer_subbuf_size_kb has changed while records were drained",
			      s->file);
		return streams_stop(s, -EINVAL);
	}
	free(inst->page);
	free(inst->zeros);
	inst->page = malloc(size);
	inst->zeros = calloc(1, size);
	inst->subbuf_size = size;
	return inst->page && inst->zeros ? 0 : streams_stop(s, -ENOMEM);
}

/* The pages of the last answer are taken, but for those that are refused here. */
static void settle(struct streams *s, struct stream_instance *inst, const struct drain_page *pages,
		   uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (pages[i].end == DRAIN_REFUSED && pages[i].cpu < s->nr_cpus)
			inst->cpus[pages[i].cpu].written = inst->cpus[pages[i].cpu].size;
	for (uint32_t cpu = 0; cpu < s->nr_cpus; cpu++)
		inst->cpus[cpu].size = inst->cpus[cpu].written;
}

/* Whether it is a page within the session's memory. */
static bool is_page(const struct streams *s, const struct stream_instance *inst,
		    const struct drain_page *p)
{
	return p->end > RING_PAGE_HEADER && p->end <= inst->subbuf_size &&
	       p->at <= s->data_size && inst->subbuf_size <= s->data_size - p->at;
}

/* How many pages of the same CPU begin here. */
static uint32_t run_of(const struct streams *s, const struct stream_instance *inst,
		       const struct drain_page *pages, uint32_t nr)
{
	uint32_t n = 0;

	while (n < nr && pages[n].cpu == pages[0].cpu && is_page(s, inst, &pages[n]))
		n++;
	return n;
}

static int64_t write_answer(struct streams *s, struct stream_instance *inst,
			    const struct drain_page *pages, uint32_t nr)
{
	int64_t sum = 0, ret = 0;
	uint32_t n;

	for (uint32_t i = 0; ret >= 0 && i < nr; i += n) {
		const uint32_t cpu = pages[i].cpu;

		n = 1;
		if (cpu >= s->nr_cpus || pages[i].end == DRAIN_REFUSED)
			continue;
		if (pages[i].end == DRAIN_MERGE) {
			ret = copy_merged(s, inst, cpu,
					  pages[i].at < DRAIN_MERGED_MOST ? pages[i].at
									  : DRAIN_MERGED_MOST,
					  UINT64_MAX);
			sum += ret > 0 ? ret : 0;
			continue;
		}
		n = run_of(s, inst, pages + i, nr - i);
		ret = n ? write_pages(s, inst, &inst->cpus[cpu], pages + i, n) : -EPROTO;
		sum += n;
	}
	return ret < 0 ? ret : sum;
}

/* -ENODEV, -ENOENT: the instance was removed. */
static int64_t instance_round(struct streams *s, struct stream_instance *inst)
{
	const struct drain_answer *answer;
	ssize_t n;
	int ret;

	if (!s->answer)
		s->answer = malloc(ANSWER_BYTES);
	answer = s->answer;
	if (!answer)
		return streams_stop(s, -ENOMEM);
	n = s->access->ops->read(inst->pages, s->answer, ANSWER_BYTES, 0);
	if (n < 0)
		return n;
	if ((size_t)n < sizeof(*answer) ||
	    answer->nr > ((size_t)n - sizeof(*answer)) / sizeof(struct drain_page))
		return -EPROTO;
	s->behind |= answer->behind != 0;
	settle(s, inst, (const struct drain_page *)(answer + 1), answer->nr);
	ret = page_size(s, inst, answer->subbuf_size);
	return ret ? ret : write_answer(s, inst, (const struct drain_page *)(answer + 1),
					answer->nr);
}

int64_t streams_round(struct streams *s)
{
	int64_t sum = 0;

	s->behind = false;
	for (unsigned int i = 0; i < s->nr && !s->stopped; i++) {
		int64_t n = s->instances[i].pages ? instance_round(s, &s->instances[i]) : 0;

		if (n == -ENODEV || n == -ENOENT) {
			streams_close(&s->instances[i].pages);
			s->instances[i].removed = true;
			n = 0;
		}
		if (n < 0)
			return n;
		sum += n;
	}
	return sum;
}

/* How many records a CPU has now that nobody has taken. */
static int records_left(struct streams *s, const struct stream_instance *inst, uint32_t cpu,
			uint64_t *nr)
{
	char path[CPU_PATH], *text;
	size_t len;
	int ret;

	cpu_path(inst, cpu, "stats", path);
	ret = access_read_all(s->access, path, &text, &len);
	if (ret)
		return ret;
	ret = sscanf(text, "entries: %" SCNu64, nr) == 1 ? 0 : -EPROTO;
	free(text);
	return ret;
}

/* What has come until now, and no more: where the scheduler is traced, each read makes records. */
static int64_t copy_rest(struct streams *s, const struct stream_instance *inst, uint32_t cpu)
{
	uint64_t nr;
	const int ret = records_left(s, inst, cpu, &nr);

	return ret ? ret : copy_merged(s, inst, cpu, UINT64_MAX, nr);
}

int64_t streams_rest(struct streams *s)
{
	int64_t n = 1;

	/* Programs that go on may record as fast as this writes. */
	for (int i = 0; n > 0 && i < ROUNDS_AT_END && !s->stopped; i++)
		n = streams_round(s);
	/* The last answer had pages: it is taken by one more. */
	for (unsigned int i = 0; n >= 0 && i < s->nr && !s->stopped; i++)
		for (uint32_t cpu = 0; n >= 0 && s->instances[i].pages && cpu < s->nr_cpus; cpu++)
			if (s->instances[i].cpus[cpu].size == s->instances[i].cpus[cpu].written)
				n = copy_rest(s, &s->instances[i], cpu);
	return n;
}

/* The records of pages that are in the file, and that the server still has. */
static uint64_t records_of_both(const struct stream_instance *inst, const struct stream_cpu *c)
{
	uint64_t n = 0;

	for (uint64_t at = c->size; at < c->written; at += inst->subbuf_size)
		if (pread(c->fd, inst->page, inst->subbuf_size, (off_t)at) ==
		    (ssize_t)inst->subbuf_size)
			n += page_records(inst->page, inst->subbuf_size);
	return n;
}

uint64_t streams_left(struct streams *s)
{
	uint64_t sum = 0, nr, both;

	for (unsigned int i = 0; i < s->nr; i++)
		for (uint32_t cpu = 0; s->instances[i].pages && cpu < s->nr_cpus; cpu++) {
			if (records_left(s, &s->instances[i], cpu, &nr))
				continue;
			both = records_of_both(&s->instances[i], &s->instances[i].cpus[cpu]);
			sum += nr > both ? nr - both : 0;
		}
	return sum;
}
