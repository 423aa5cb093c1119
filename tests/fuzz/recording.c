/* SPDX-License-Identifier: MIT */
/*
 * recording.c - any bytes as a trace.dat: refused or read, in bounded memory and time, never a
 * crash
 *
 * Each input is read without and with --partial, with little memory. Some inputs, which are chosen
 * by their bytes, also go through all steps of a replay.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "replayed.h"
#include "sources/recording/file/window.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RECORDS_MAX = 20000, MEMORY = 64 << 20, WHOLE = 8 };

static int each_format(void *arg, const char *system, const char *text, size_t len)
{
	volatile char *sink = arg;

	*sink = system[0] ^ (len ? text[len - 1] : 0);
	return 0;
}

/* Reads the records behind the present one that are in memory. */
static void peek(const struct stream *s)
{
	struct subbuf_record r;
	struct stream_peek p;
	unsigned int n;

	stream_peek_start(s, &p);
	for (n = 0; n < 4 && stream_peek_next(s, &p, &r); n++)
		*(volatile uint8_t *)&n |= r.data[0] & r.data[r.size - 1] & 0;
}

/* Reads every record's first and last byte. */
static void read_window(struct window *w)
{
	unsigned int n, i;
	struct source_error err;
	const struct stream *s;
	volatile char sink;
	int ret;

	for (i = 0; i < w->nr_files; i++)
		trace_dat_each_format(w->files[i], each_format, (void *)&sink, &err);
	for (i = 0; i < w->nr_streams; i++)
		stream_unpacked(&w->streams[i]);
	ret = window_rewind(w);
	for (n = 0; ret >= 0 && n < RECORDS_MAX && (s = window_first(w)); n++) {
		sink = s->record.data[0] ^ s->record.data[s->record.size - 1];
		peek(s);
		ret = window_pull(w);
		if (ret > 0)
			window_settle(w);
		else if (!ret)
			window_drop(w);
	}
}

static void read_file(const char *path, bool partial)
{
	struct source_params params = {
		.files = &path, .nr_files = 1, .partial = partial, .memory = MEMORY,
	};
	struct source_error err;
	struct window w;

	if (window_open(&w, &params, &err))
		return;
	read_window(&w);
	if (w.memory.used > w.memory.limit)
		abort();
	window_close(&w);
}

/* Chooses one of WHOLE inputs, because all steps take long. */
static bool is_for_the_whole_way(const uint8_t *data, size_t size)
{
	unsigned int sum = 0;

	for (size_t i = 0; i < size; i++)
		sum = sum * 31 + data[i];
	return !(sum % WHOLE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("recording", MFD_CLOEXEC);
	char path[64];

	if (fd < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (write(fd, data, size) == (ssize_t)size) {
		read_file(path, false);
		read_file(path, true);
		if (is_for_the_whole_way(data, size)) {
			replayed(path, false, MEMORY);
			replayed(path, true, MEMORY);
		}
	}
	close(fd);
	return 0;
}
