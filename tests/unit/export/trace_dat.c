/* SPDX-License-Identifier: MIT */
/*
 * trace_dat.c - checks the trace.dat that the writer makes of a session's files, and its errors
 *
 * Here the session is a table of texts. The reader of src/sources reads the written file back.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "export/trace_dat.h"
#include "sources/recording/file/trace_dat.h"
#include "sources/recording/file/unpack.h"

/* ---- a session ---- */

enum { PAGE = 4096, PAGES = 150 };

static const char format_one[] = "name: one\nID: 40\nformat:\n\n",
		  format_two[] = "name: two\nID: 41\nformat:\n\n",
		  format_print[] = "name: print\nID: 5\nformat:\n\n",
		  header_page[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				  "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				  "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

struct file {
	const char	*path;
	const char	*text;		/* NULL: pages */
	unsigned int	pages;
	unsigned char	fill;
};

static const struct file session[] = {
	{ "events/header_page", header_page, 0, 0 },
	{ "events/header_event", "# compressed\n", 0, 0 },
	{ "events/ftrace/print/format", format_print, 0, 0 },
	{ "events/app/one/format", format_one, 0, 0 },
	{ "events/app/two/format", format_two, 0, 0 },
	{ "kallsyms", "0000500000001000 t function\t[program]\n", 0, 0 },
	{ "printk_formats", "", 0, 0 },
	{ "saved_cmdlines", "17 comm\n18 another\n", 0, 0 },
	{ "trace_clock", "local [mono] boot\n", 0, 0 },
	{ "buffer_subbuf_size_kb", "4\n", 0, 0 },
	{ "per_cpu/cpu0/stats", "entries: 3\noverrun: 2\n", 0, 0 },
	{ "per_cpu/cpu0/trace_raw", NULL, PAGES, 0x55 },
	{ "per_cpu/cpu1/stats", "entries: 0\noverrun: 0\n", 0, 0 },
	{ "per_cpu/cpu1/trace_raw", NULL, 0, 0 },
	{ "instances/x/trace_clock", "[local] mono\n", 0, 0 },
	{ "instances/x/buffer_subbuf_size_kb", "8\n", 0, 0 },
	{ "instances/x/per_cpu/cpu0/stats", "entries: 3\noverrun: 40\n", 0, 0 },
	{ "instances/x/per_cpu/cpu0/trace_raw", NULL, 2, 0x66 },
	{ "instances/x/per_cpu/cpu1/stats", "entries: 0\noverrun: 0\n", 0, 0 },
	{ "instances/x/per_cpu/cpu1/trace_raw", NULL, 4, 0x77 },
};

enum { FILES = sizeof(session) / sizeof(session[0]) };

/* The file that cannot be read; -1: all can. */
static int broken;

static const struct file *find(const char *path)
{
	for (int i = 0; i < FILES; i++)
		if (!strcmp(session[i].path, path))
			return i == broken ? NULL : &session[i];
	return NULL;
}

static int read_file(void *arg, const char *path, char **text, size_t *len)
{
	const struct file *f = find(path);

	if (!f)
		return -EIO;
	*text = strdup(f->text);
	*len = strlen(f->text);
	return *text ? 0 : -ENOMEM;
}

/* Passes a file in pieces that end anywhere. */
static int stream_file(void *arg, const char *path,
		       int (*take)(void *to, const char *buf, size_t n), void *to)
{
	const struct file *f = find(path);
	size_t left = f ? (size_t)f->pages * PAGE : 0, n;
	char buf[5000];
	int ret = f ? 0 : -EIO;

	memset(buf, f ? f->fill : 0, sizeof(buf));
	for (; left && !ret; left -= n) {
		n = left < sizeof(buf) ? left : sizeof(buf);
		ret = take(to, buf, n);
	}
	return ret;
}

/*
 * Lists the names that follow `path` in the table, each once. Those of one directory are adjacent.
 */
static int list_files(void *arg, const char *path,
		      int (*fn)(void *to, const char *name, bool is_dir), void *to)
{
	size_t n = strlen(path), len;
	char last[64] = "", name[64];
	int ret = 0;

	for (int i = 0; i < FILES && !ret; i++) {
		const char *p = session[i].path;

		if (strncmp(p, path, n) || p[n] != '/')
			continue;
		len = strcspn(p + n + 1, "/");
		snprintf(name, sizeof(name), "%.*s", (int)len, p + n + 1);
		if (strcmp(name, last))
			ret = fn(to, name, p[n + 1 + len] == '/');
		strcpy(last, name);
	}
	return ret;
}

static const struct export_files files = {
	.read = read_file, .stream = stream_file, .list = list_files };

/* ---- writing ---- */

static char path[] = "/tmp/tracefuse-export-XXXXXX";

static int write_it(FILE *out, bool compress, struct export_error *err)
{
	struct export_params params = {
		.files = &files, .uname = "Linux host 1.2 x86_64", .compress = compress };

	return export_trace_dat(&params, out, err);
}

static struct trace_dat *written(bool compress)
{
	struct export_error err;
	static struct source_memory memory = { .limit = 64 << 20 };
	struct source_error read_err;
	FILE *out = fopen(path, "w");
	struct trace_dat *d;

	assert_non_null(out);
	assert_int_equal(write_it(out, compress, &err), 0);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(trace_dat_open(path, false, &memory, &d, &read_err), 0);
	return d;
}

static int note_format(void *arg, const char *system, const char *text, size_t len)
{
	char *seen = arg;

	sprintf(seen + strlen(seen), "%s %.*s", system, (int)len, text);
	return 0;
}

static void assert_text(const struct dat_piece *p, const char *text)
{
	assert_int_equal(p->size, strlen(text));
	assert_memory_equal(p->data, text, p->size);
}

static void check_tables(const struct trace_dat *d)
{
	char seen[1024] = "", wanted[1024];
	struct source_error err;

	assert_int_equal(trace_dat_each_format(d, note_format, seen, &err), 0);
	sprintf(wanted, "ftrace %sapp %sapp %s", format_print, format_one, format_two);
	assert_string_equal(seen, wanted);
	assert_text(&d->kallsyms, "0000500000001000 t function\t[program]\n");
	assert_text(&d->cmdlines, "17 comm\n18 another\n");
	assert_int_equal(d->printk.size, 0);
	assert_string_equal(d->clock, "mono");
	assert_string_equal(d->uname, "Linux host 1.2 x86_64");
	assert_int_equal(d->nr_cpus, 2);
	assert_int_equal(d->lost, 42);
}

static void tables_are_read_back(void **state)
{
	for (int compress = 0; compress < 2; compress++) {
		struct trace_dat *d = written(compress);

		check_tables(d);
		assert_string_equal(d->algorithm, compress ? "zstd" : "none");
		trace_dat_close(d);
	}
}

static void assert_pages(const struct trace_dat *d, const struct dat_cpu *c, unsigned int pages,
			 int fill)
{
	assert_int_equal(c->size, (uint64_t)pages * PAGE);
	for (uint64_t i = 0; i < c->size; i++)
		assert_int_equal(d->map[c->offset + i], fill);
}

static void pages_are_as_they_were(void **state)
{
	struct trace_dat *d = written(false);
	const struct dat_buffer *top = &d->buffers[0], *x = &d->buffers[1];

	assert_int_equal(d->nr_buffers, 2);
	assert_string_equal(top->name, "");
	assert_string_equal(top->clock, "mono");
	assert_string_equal(x->name, "x");
	assert_string_equal(x->clock, "local");
	assert_int_equal(top->page_size, 4096);
	assert_int_equal(x->page_size, 8192);
	assert_int_equal(top->nr_cpus, 2);
	assert_pages(d, &top->cpus[0], PAGES, 0x55);
	assert_pages(d, &top->cpus[1], 0, 0);
	assert_pages(d, &x->cpus[0], 2, 0x66);
	assert_pages(d, &x->cpus[1], 4, 0x77);
	assert_int_equal(top->cpus[0].offset % 4096, 0);
	assert_int_equal(x->cpus[1].offset % 8192, 0);
	trace_dat_close(d);
}

/* Unpacks the chunks of a CPU, and checks that all bytes are `fill`. Returns their number. */
static size_t unpacked(const struct trace_dat *d, const struct dat_cpu *c, int fill)
{
	const uint8_t *at = d->map + c->offset;
	struct unpacker *u;
	size_t total = 0;
	uint32_t nr, sizes[2];

	assert_int_equal(unpacker_create("zstd", &u), 0);
	for (memcpy(&nr, at, 4), at += 4; nr; nr--, at += sizes[0]) {
		uint8_t *out;

		memcpy(sizes, at, 8);
		at += 8;
		out = malloc(sizes[1]);
		assert_int_equal(sizes[1] % PAGE, 0);
		assert_int_equal(unpacker_run(u, at, sizes[0], out, sizes[1]), 0);
		for (uint32_t i = 0; i < sizes[1]; i++)
			assert_int_equal(out[i], fill);
		total += sizes[1];
		free(out);
	}
	assert_int_equal(at - (d->map + c->offset), c->size + 4);
	unpacker_destroy(u);
	return total;
}

static void packed_pages_are_whole_pages(void **state)
{
	struct trace_dat *d = written(true);

	assert_true(d->buffers[0].compressed);
	assert_int_equal(unpacked(d, &d->buffers[0].cpus[0], 0x55), PAGES * PAGE);
	assert_int_equal(unpacked(d, &d->buffers[0].cpus[1], 0), 0);
	assert_int_equal(unpacked(d, &d->buffers[1].cpus[1], 0x77), 4 * PAGE);
	trace_dat_close(d);
}

/* ---- failing ---- */

static void a_file_that_cannot_be_read_is_named(void **state)
{
	for (broken = 0; broken < FILES; broken++) {
		struct export_error err = { "" };
		FILE *out = fopen(path, "w");

		assert_non_null(out);
		assert_int_equal(write_it(out, broken % 2, &err), -EIO);
		assert_non_null(strstr(err.text, session[broken].path));
		assert_non_null(strstr(err.text, "Input/output error"));
		fclose(out);
	}
	broken = -1;
}

/* A disk with limited room. */
struct disk {
	off_t		at, room;
};

static ssize_t disk_write(void *cookie, const char *buf, size_t n)
{
	struct disk *d = cookie;

	if (d->at + (off_t)n > d->room) {
		errno = ENOSPC;
		return 0;
	}
	d->at += n;
	return n;
}

static int disk_seek(void *cookie, off64_t *offset, int whence)
{
	struct disk *d = cookie;

	if (whence == SEEK_SET)
		d->at = *offset;
	else if (whence == SEEK_CUR)
		d->at += *offset;
	*offset = d->at;
	return 0;
}

static int write_to_disk(off_t room, bool compress, struct export_error *err)
{
	struct disk d = { .room = room };
	FILE *out = fopencookie(&d, "w",
				(cookie_io_functions_t){ .write = disk_write, .seek = disk_seek });
	int ret;

	assert_non_null(out);
	setvbuf(out, NULL, _IOFBF, 512);
	ret = write_it(out, compress, err);
	fclose(out);
	return ret;
}

static void a_disk_that_fills_up_is_told(void **state)
{
	for (int compress = 0; compress < 2; compress++) {
		off_t room = 0;
		int failed = 0;

		for (;; room += room < 20000 ? 257 : 40009) {
			struct export_error err = { "" };
			int ret = write_to_disk(room, compress, &err);

			if (!ret)
				break;
			assert_int_equal(ret, -ENOSPC);
			assert_string_equal(err.text, "No space left on device");
			failed++;
			assert_true(room < 2000000);
		}
		assert_true(failed > 3);
	}
}

static int make_path(void **state)
{
	int fd = mkstemp(path);

	broken = -1;
	return fd < 0 || close(fd);
}

static int remove_path(void **state)
{
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_are_read_back),
		cmocka_unit_test(pages_are_as_they_were),
		cmocka_unit_test(packed_pages_are_whole_pages),
		cmocka_unit_test(a_file_that_cannot_be_read_is_named),
		cmocka_unit_test(a_disk_that_fills_up_is_told),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
