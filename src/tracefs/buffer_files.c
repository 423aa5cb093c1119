/* SPDX-License-Identifier: MIT */
/* buffer_files.c - the files that show the rings, and per_cpu/ */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "model/event/file.h"
#include "model/instance/options.h"
#include "model/text.h"
#include "model/text_memory.h"
#include "plane/clock.h"
#include "plane/ring/ring.h"
#include "tracefs/marker.h"
#include "show/show.h"
#include "tracefs/tree_state.h"
#include "model/tracer.h"

static struct session *session_of(const struct tree_file *f)
{
	return f->tree->model->session;
}

/* ---- trace ---- */

static bool reads(const struct tree_file *f)
{
	return (f->flags & O_ACCMODE) != O_WRONLY;
}

static int open_trace(struct tree_file *f)
{
	struct instance *inst = f->at.inst;

	if ((f->flags & O_ACCMODE) != O_RDONLY && (f->flags & O_TRUNC)) {
		const struct tracer *t = tracer_current(inst);
		data_ref b = instance_buffer(inst, 0);

		if (t->clear)
			t->clear(inst, f->at.cpu);
		else if (b)
			buffer_clear(session_of(f), b, f->at.cpu);
		if (f->at.cpu < 0 && !t->print_max)
			instance_restart_time(inst);
	}
	if (!reads(f))
		return 0;
	inst->readers++;
	f->paused = options_test(inst->options, OPTION_PAUSE_ON_TRACE);
	if (f->paused)
		instance_stop(inst);
	return 0;
}

static int print_trace(struct tree_file *f, FILE *out)
{
	return show_buffer(f->at.inst, 0, f->at.cpu, out);
}

/* Prints the next piece of f->show. 1: there may be more. */
static int print_piece(struct tree_file *f, FILE *out)
{
	int rc = show_buffer_piece(f->show, out);

	if (rc != 1) {
		show_close(f->show);
		f->show = NULL;
	}
	return rc;
}

static int begin_buffer(struct tree_file *f, int snapshot, FILE *out)
{
	int err = show_buffer_open(f->at.inst, snapshot, f->at.cpu, &f->show);

	return err ? err : print_piece(f, out);
}

static int begin_trace(struct tree_file *f, FILE *out)
{
	return begin_buffer(f, 0, out);
}

static int begin_calls(struct tree_file *f, FILE *out)
{
	const int err = show_calls_open(f->at.inst, f->at.cpu, &f->show);

	return err ? err : print_piece(f, out);
}

static int print_rest(struct tree_file *f, FILE *out)
{
	int rc;

	while ((rc = print_piece(f, out)) == 1)
		;
	return rc;
}

static int print_calls(struct tree_file *f, FILE *out)
{
	int rc = begin_calls(f, out);

	return rc == 1 ? print_rest(f, out) : rc;
}

static void end_buffer(struct tree_file *f)
{
	show_close(f->show);
	f->show = NULL;
}

/* A write is accepted and ignored; opening with O_TRUNC is what empties the buffer. */
static ssize_t write_trace(struct tree_file *f, const char *buf, size_t size)
{
	return (ssize_t)size;
}

static void release_trace(struct tree_file *f)
{
	if (reads(f))
		f->at.inst->readers--;
	if (f->paused)
		instance_go_on(f->at.inst);
}

/* ---- trace_pipe ---- */

static bool any_pipe(const struct instance *inst)
{
	for (size_t i = 0; i < sizeof(inst->pipes) / sizeof(*inst->pipes); i++)
		if (inst->pipes[i])
			return true;
	return false;
}

/* The CPU's bit in inst->pipes. For all CPUs together the bit is not used. */
static uint64_t pipe_bit(const struct tree_file *f)
{
	return 1ull << (f->at.cpu < 0 ? 0 : f->at.cpu % 64);
}

static int open_pipe_show(struct tree_file *f)
{
	int err = ring_consumer_open(session_of(f), f->at.cpu, &f->consumer);

	if (err)
		return err;
	f->show = show_pipe_open(f->at.inst, f->consumer);
	if (f->show)
		return 0;
	ring_consumer_close(f->consumer);
	return -ENOMEM;
}

/* A CPU's records have one reader: either of the CPU's own trace_pipe, or of the instance's. */
static int open_text_pipe(struct tree_file *f)
{
	struct instance *inst = f->at.inst;
	int err;

	if (f->at.cpu < 0 ? any_pipe(inst) : (inst->pipes[f->at.cpu / 64] & pipe_bit(f)) != 0)
		return -EBUSY;
	err = open_pipe_show(f);
	if (err)
		return err;
	inst->pipe_readers++;
	if (f->at.cpu < 0)
		memset(inst->pipes, 0xff, sizeof(inst->pipes));
	else
		inst->pipes[f->at.cpu / 64] |= pipe_bit(f);
	return 0;
}

static void release_text_pipe(struct tree_file *f)
{
	struct instance *inst = f->at.inst;

	if (f->at.cpu < 0)
		memset(inst->pipes, 0, sizeof(inst->pipes));
	else
		inst->pipes[f->at.cpu / 64] &= ~pipe_bit(f);
	inst->pipe_readers--;
	show_close(f->show);
	ring_consumer_close(f->consumer);
}

static int open_raw(struct tree_file *f)
{
	int err = ring_consumer_open(session_of(f), f->at.cpu, &f->consumer);

	if (!err)
		f->at.inst->pipe_readers++;
	return err;
}

/* If a tracer uses the snapshot buffer, nobody else may consume it. */
static int open_snapshot_raw(struct tree_file *f)
{
	return tracer_current(f->at.inst)->use_max_tr ? -EBUSY : open_raw(f);
}

static void release_raw(struct tree_file *f)
{
	f->at.inst->pipe_readers--;
	ring_consumer_close(f->consumer);
}

enum { PIPE_TEXT = 64 * 1024 };

/*
 * The kernel's records come in rounds. A program's record may be there whose neighbours in time are
 * not yet: it waits until a round has passed its time. So takes what is older than the last one.
 * The kernel's records have times of the top instance's clock. If that is another one, or does not
 * show the order of time, none waits.
 */
static uint64_t pipe_limit(const struct tree_file *f)
{
	struct model *m = f->tree->model;
	uint64_t now;

	if (!m->kernel || !instance_clock_in_ns(f->at.inst) ||
	    instance_clock(f->at.inst) != instance_clock(m->top))
		return UINT64_MAX;
	now = clock_now(&session_header(session_of(f))->tsc, f->at.inst->state);
	model_barrier(m);
	ring_consumer_refresh(f->consumer);
	return now;
}

/* 1: the next record, not younger than the limit; 0: there is none; -errno */
static int take_record(struct tree_file *f, data_ref buffer, uint64_t limit, struct ring_record *r)
{
	int rc = ring_peek(f->consumer, buffer, r);

	if (rc <= 0)
		return rc;
	return r->time <= limit ? ring_consume(f->consumer, buffer, r) : 0;
}

/* Prints the records that are there into f->pending, up to about PIPE_TEXT bytes. */
static int fill_pipe(struct tree_file *f)
{
	const uint64_t limit = pipe_limit(f);
	data_ref buffer = instance_buffer(f->at.inst, 0);
	struct ring_record r;
	FILE *out;
	int rc = 0;

	free(f->pending);
	f->pending = NULL;
	f->pending_len = f->pending_off = 0;
	out = text_memory_open(&f->pending, &f->pending_len);
	if (!out)
		return -ENOMEM;
	show_pipe_restart(f->show);
	f->pending_last = 0;
	while (buffer && ftell(out) < PIPE_TEXT &&
	       (rc = take_record(f, buffer, limit, &r)) == 1) {
		f->pending_last = (size_t)ftell(out);
		rc = show_pipe_print(f->show, &r, out);
	}
	if (fclose(out))
		rc = -ENOMEM;
	return rc < 0 ? rc : 0;
}

static ssize_t give_pending(struct tree_file *f, char *buf, size_t size)
{
	size_t n = f->pending_len - f->pending_off;

	if (n > size)
		n = size;
	memcpy(buf, f->pending + f->pending_off, n);
	f->pending_off += n;
	return (ssize_t)n;
}

/*
 * Whether an empty pipe is the end for this reader: it waits for records, it has read some already,
 * and tracing is off before it looks for more.
 */
static bool is_last_look(const struct tree_file *f)
{
	/*
	 * Acquire: the reader finds all records from before the hit that switched tracing off.
	 * Pairs with the release of that hit (H5 of plane/hit.h).
	 */
	return f->took && !(f->flags & O_NONBLOCK) &&
	       !atomic_load_explicit(&f->at.inst->state->tracing_on, memory_order_acquire);
}

static ssize_t read_pipe(struct tree_file *f, char *buf, size_t size, off_t off)
{
	const bool last = is_last_look(f);
	int err = f->pending_off < f->pending_len ? 0 : fill_pipe(f);

	if (err)
		return err;
	if (!f->pending_len)
		return last ? 0 : -EAGAIN;
	f->took = true;
	return give_pending(f, buf, size);
}

/*
 * As in the kernel, buffer_percent applies only to the files of one CPU, and option block makes all
 * files ready.
 */
static unsigned int poll_ring(struct tree_file *f)
{
	const struct instance *inst = f->at.inst;
	const unsigned int percent = f->at.cpu < 0 ? 0 : inst->buffer_percent;
	data_ref b = instance_buffer(inst, 0);

	if (options_test(inst->options, OPTION_BLOCK) ||
	    (b && ring_readable(session_of(f), b, f->at.cpu, percent)))
		return POLLIN | POLLRDNORM;
	return 0;
}

/* The kernel does not count the rest of a record's text that was read in part. */
static unsigned int poll_pipe(struct tree_file *f)
{
	if (f->pending_off < f->pending_len && f->pending_off <= f->pending_last)
		return POLLIN | POLLRDNORM;
	return poll_ring(f);
}

/* ---- trace_pipe_raw, snapshot_raw ---- */

static ssize_t read_raw_of(struct tree_file *f, int snapshot, char *buf, size_t size)
{
	data_ref buffer = instance_buffer(f->at.inst, snapshot);
	uint32_t subbuf = f->at.inst->subbuf_size;
	int rc;

	if (f->pending_off >= f->pending_len && size >= subbuf) {
		rc = buffer ? ring_consume_page(f->consumer, buffer, buf, subbuf) : 0;
		return rc > 0 ? (ssize_t)subbuf : rc ? rc : -EAGAIN;
	}
	if (f->pending_off >= f->pending_len) {
		/* buffer_subbuf_size_kb may have changed since. */
		char *page = realloc(f->pending, subbuf);

		if (!page)
			return -ENOMEM;
		f->pending = page;
		rc = buffer ? ring_consume_page(f->consumer, buffer, f->pending, subbuf) : 0;
		if (rc <= 0)
			return rc ? rc : -EAGAIN;
		f->pending_len = subbuf;
		f->pending_off = 0;
	}
	return give_pending(f, buf, size);
}

static ssize_t read_raw(struct tree_file *f, char *buf, size_t size, off_t off)
{
	return read_raw_of(f, 0, buf, size);
}

static ssize_t read_snapshot_raw(struct tree_file *f, char *buf, size_t size, off_t off)
{
	return read_raw_of(f, 1, buf, size);
}

/* ---- trace_raw: the same bytes, without consuming them; for exporters ---- */

struct raw_reader {
	struct ring_iter *it;		/* NULL: there is no buffer */
	struct ring_record held;
	struct ring_times times;	/* of the records that are read */
	data_ref	buffer;
	uint32_t	subbuf_size;
	int		snapshot;	/* it reads the snapshot */
};

/* Reads that buffer from now on. */
static int raw_reader_choose(struct tree_file *f, int snapshot, struct ring_times times)
{
	const data_ref buffer = instance_buffer(f->at.inst, snapshot);
	struct ring_iter *it = NULL;
	int err = buffer ? ring_iter_open(session_of(f), buffer, f->at.cpu, &it) : 0;

	if (err)
		return err;
	ring_iter_close(f->raw->it);
	free(f->pending);
	f->pending = NULL;
	f->pending_len = f->pending_off = 0;
	*f->raw = (struct raw_reader){
		.it = it, .times = times, .buffer = buffer, .snapshot = snapshot,
		.subbuf_size = f->at.inst->subbuf_size,
	};
	return 0;
}

static int open_trace_raw(struct tree_file *f)
{
	int err;

	f->raw = calloc(1, sizeof(*f->raw));
	err = f->raw ? raw_reader_choose(f, 0, (struct ring_times){ 0, UINT64_MAX }) : -ENOMEM;
	if (err) {
		free(f->raw);
		f->raw = NULL;
	} else {
		f->at.inst->raw_readers++;
	}
	return err;
}

static ssize_t read_trace_raw(struct tree_file *f, char *buf, size_t size, off_t off)
{
	struct raw_reader *raw = f->raw;
	int rc;

	if (f->pending_off >= f->pending_len) {
		if (!f->pending)
			f->pending = malloc(raw->subbuf_size);
		if (!f->pending)
			return -ENOMEM;
		if (instance_buffer(f->at.inst, raw->snapshot) != raw->buffer)
			return -ESTALE;		/* a resize or a snapshot has replaced it */
		rc = raw->it ? ring_iter_page(raw->it, &raw->times, &raw->held, f->pending,
					      raw->subbuf_size)
			     : 0;
		if (rc <= 0)
			return rc;
		f->pending_len = raw->subbuf_size;
		f->pending_off = 0;
	}
	return give_pending(f, buf, size);
}

/*
 * Chooses the buffer and the times of the next reads: "0 FROM TO" of the live buffer, "1 FROM TO"
 * of the snapshot.
 */
static ssize_t write_trace_raw(struct tree_file *f, const char *buf, size_t size)
{
	struct ring_times times;
	char text[64];
	int snapshot, err;

	if (size >= sizeof(text))
		return -EINVAL;
	memcpy(text, buf, size);
	text[size] = '\0';
	if (sscanf(text, "%d %" SCNu64 " %" SCNu64, &snapshot, &times.from, &times.to) != 3 ||
	    snapshot < 0 || snapshot > 1)
		return -EINVAL;
	err = raw_reader_choose(f, snapshot, times);
	return err ? err : (ssize_t)size;
}

static void release_trace_raw(struct tree_file *f)
{
	f->at.inst->raw_readers--;
	ring_iter_close(f->raw->it);
	free(f->raw);
}

/* ---- snapshot ---- */

static int buffer_files_print_snapshot(struct tree_file *f, FILE *out)
{
	if (tracer_current(f->at.inst)->use_max_tr)
		return -EBUSY;		/* the file trace shows this buffer */
	return show_buffer(f->at.inst, 1, f->at.cpu, out);
}

static int begin_snapshot(struct tree_file *f, FILE *out)
{
	return tracer_current(f->at.inst)->use_max_tr ? -EBUSY : begin_buffer(f, 1, out);
}

static ssize_t write_snapshot(struct tree_file *f, const char *buf, size_t size)
{
	struct instance *inst = f->at.inst;
	data_ref b;
	uint64_t v;
	int err = instance_expand(inst);

	if (!err)
		err = text_to_u64_len(buf, size, 10, &v);
	if (err)
		return err;
	/* A hist with snapshot(), or a tracer, decides what is in the snapshot. */
	if (inst->snapshot_hist || tracer_current(inst)->use_max_tr)
		return -EBUSY;
	b = instance_buffer(inst, 1);
	if (v == 0) {
		if (f->at.cpu >= 0)
			return -EINVAL;
		instance_snapshot_free(inst);
	} else if (v == 1) {
		err = instance_snapshot_take(inst, f->at.cpu);
	} else if (b) {
		buffer_clear(session_of(f), b, f->at.cpu);
	}
	return err ? err : (ssize_t)size;
}

static bool prepare_snapshot(struct tree_file *f, const char *buf, size_t size)
{
	uint64_t v;

	return !text_to_u64_len(buf, size, 10, &v) && v == 1 &&
	       instance_snapshot_prepare(f->at.inst);
}

bool buffer_files_prepare(struct tree_file *f, const char *buf, size_t size, const char *word)
{
	while (size && text_is_space(*buf))
		buf++, size--;
	return size && *buf != '!' && memmem(buf, size, word, strlen(word)) &&
	       instance_snapshot_prepare(f->at.inst);
}

/* ---- buffer_size_kb ---- */

static int print_buffer_size(struct tree_file *f, FILE *out)
{
	const struct instance *inst = f->at.inst;
	uint64_t bytes = inst->buffer_bytes[f->at.cpu < 0 ? 0 : f->at.cpu];

	if (f->at.cpu < 0)
		for (uint32_t cpu = 1; cpu < inst->model->nr_cpus; cpu++)
			if (inst->buffer_bytes[cpu] != bytes) {
				fputs("X\n", out);
				return 0;
			}
	fprintf(out, "%llu", (unsigned long long)bytes >> 10);
	if (f->at.cpu < 0 && !inst->expanded)
		fprintf(out, " (expanded: %llu)",
			(unsigned long long)inst->model->default_buffer_bytes >> 10);
	fputc('\n', out);
	return 0;
}

static bool prepare_buffer_size(struct tree_file *f, const char *buf, size_t size)
{
	uint64_t kb;

	return !text_to_u64_len(buf, size, 10, &kb) && kb &&
	       instance_resize_prepare(f->at.inst, f->at.cpu, kb << 10);
}

static ssize_t write_buffer_size(struct tree_file *f, const char *buf, size_t size)
{
	struct instance *inst = f->at.inst;
	uint64_t kb, old;
	char text[24];
	int err = text_to_u64_len(buf, size, 10, &kb);

	if (!err && !kb)
		err = -EINVAL;
	if (err)
		return err;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)kb);
	err = instance_save_size_begin(inst, f->at.cpu, text, &old);
	if (!err)
		err = instance_save_size_end(inst, f->at.cpu, old,
					     instance_resize(inst, f->at.cpu, kb << 10));
	return err ? err : (ssize_t)size;
}

/* ---- stats, free_buffer ---- */

static void print_time(const struct instance *inst, const char *what, uint64_t t, FILE *out)
{
	if (instance_clock_in_ns(inst)) {
		uint64_t us = (t + 500) / 1000;

		fprintf(out, "%s: %5llu.%06llu\n", what, (unsigned long long)(us / 1000000),
			(unsigned long long)(us % 1000000));
	} else {
		fprintf(out, "%s: %llu\n", what, (unsigned long long)t);
	}
}

/* Of the running kernel's records, which all instances see alike. */
static uint64_t lost_in_kernel(const struct tree_file *f)
{
	const struct kernel_hooks *kernel = f->tree->model->kernel;

	return kernel ? kernel->lost(kernel->arg, (uint32_t)f->at.cpu) : 0;
}

static int print_stats(struct tree_file *f, FILE *out)
{
	struct instance *inst = f->at.inst;
	data_ref b = instance_buffer(inst, 0);
	struct ring_stats st = { 0 };
	int err = b ? buffer_stats(session_of(f), b, (uint32_t)f->at.cpu, &st) : 0;

	if (err)
		return err;
	fprintf(out, "entries: %llu\n", (unsigned long long)st.entries);
	fprintf(out, "overrun: %llu\n", (unsigned long long)(st.overrun + lost_in_kernel(f)));
	fprintf(out, "commit overrun: %llu\n", (unsigned long long)st.commit_overrun);
	fprintf(out, "bytes: %llu\n", (unsigned long long)st.bytes);
	print_time(inst, "oldest event ts", st.oldest_ts, out);
	print_time(inst, "now ts", clock_now(&session_header(session_of(f))->tsc, inst->state),
		   out);
	fprintf(out, "dropped events: %llu\n", (unsigned long long)st.dropped);
	fprintf(out, "read events: %llu\n", (unsigned long long)st.read);
	return 0;
}

static ssize_t write_free_buffer(struct tree_file *f, const char *buf, size_t size)
{
	return (ssize_t)size;
}

/* Closing the file frees the buffer. */
static void release_free_buffer(struct tree_file *f)
{
	struct instance *inst = f->at.inst;

	if (options_test(inst->options, OPTION_DISABLE_ON_FREE))
		/* Relaxed: hits may see it at any later time. */
		atomic_store_explicit(&inst->state->tracing_on, 0, memory_order_relaxed);
	instance_resize(inst, -1, 0);
}

/* ---- trace_marker ---- */

static ssize_t write_marker(struct tree_file *f, pid_t writer, const char *buf, size_t size)
{
	return marker_write(f->at.inst, writer, buf, size);
}

static ssize_t write_marker_raw(struct tree_file *f, pid_t writer, const char *buf, size_t size)
{
	return marker_write_raw(f->at.inst, writer, buf, size);
}

#define TRACE { .name = "trace", .mode = 0640, .open = open_trace, .print = print_trace, \
		.begin = begin_trace, .rest = print_rest, .end = end_buffer,		\
		.write = write_trace, .release = release_trace, .follows = true, .stays = true }
#define TRACE_PIPE { .name = "trace_pipe", .mode = 0440, .open = open_text_pipe, .read = \
	read_pipe, \
		     .release = release_text_pipe, .pipe = true, .poll = poll_pipe }
#define SNAPSHOT									\
	{										\
		.name = "snapshot", .mode = 0640, .print = buffer_files_print_snapshot,	\
		.begin = begin_snapshot, .rest = print_rest, .end = end_buffer,		\
		.write = write_snapshot, .prepare = prepare_snapshot			\
	}
#define BUFFER_SIZE { .name = "buffer_size_kb", .mode = 0640, .print = print_buffer_size, \
		      .write = write_buffer_size, .prepare = prepare_buffer_size }

const struct file_kind buffer_kinds[] = {
	BUFFER_SIZE,
	{ .name = "free_buffer",
	 .mode = 0200,
	 .write = write_free_buffer,
	 .release = release_free_buffer },
	SNAPSHOT,
	TRACE,
	/* Read by `report`: see show_calls_open(). */
	{ .name = "trace_calls", .mode = 0440, .open = open_trace, .begin = begin_calls,
	  .print = print_calls, .rest = print_rest, .end = end_buffer,
	  .release = release_trace, .follows = true, .stays = true, .hidden = true },
	{ .name = "trace_marker", .mode = 0220, .write_by = write_marker, .stream = true },
	{ .name = "trace_marker_raw", .mode = 0220, .write_by = write_marker_raw, .stream = true },
	TRACE_PIPE,
	{ 0 } };

const struct file_kind cpu_kinds[] = { BUFFER_SIZE,
				      SNAPSHOT,
				      { .name = "snapshot_raw",
				       .mode = 0440,
				       .open = open_snapshot_raw,
				       .read = read_snapshot_raw,
				       .release = release_raw,
				       .raw = true },
				      { .name = "stats", .mode = 0440, .print = print_stats },
				      TRACE,
				      TRACE_PIPE,
				      { .name = "trace_pipe_raw",
				       .mode = 0440,
				       .open = open_raw,
				       .read = read_raw,
				       .release = release_raw,
				       .poll = poll_ring,
				       .pipe = true,
				       .raw = true },
				      { .name = "trace_raw",
				       .mode = 0640,
				       .open = open_trace_raw,
				       .read = read_trace_raw,
				       .write = write_trace_raw,
				       .release = release_trace_raw,
				       .hidden = true },
				      { 0 } };
