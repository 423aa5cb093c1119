/* SPDX-License-Identifier: MIT */
/* The line of long work, on a terminal of its own. The clock and the recording are the test's. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "access/access.h"
#include "cli/progress.h"
#include "cli/save_dat.h"
#include "export/trace_dat.h"
#include "host/output.h"
#include "sources/recording/source.h"

static double now;
static struct source_position position;
/* It is not looked at. */
static const struct source *const recording = (const struct source *)&position;

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
void __wrap_source_position(const struct source *src, struct source_position *out);

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	(void)clock;
	t->tv_sec = (time_t)now;
	t->tv_nsec = (long)((now - (double)t->tv_sec) * 1e9);
	return 0;
}

void __wrap_source_position(const struct source *src, struct source_position *out)
{
	(void)src;
	*out = position;
}

/* ---- a session with 40 MB, and an instance with 60 MB ---- */

enum { PIECE = 10000000 };

int __wrap_export_trace_dat(const struct export_params *params, FILE *out,
			    struct export_error *err);
int __wrap_raw_stream(struct access *a, const char *path, const struct raw_part *part,
		      int (*take)(void *to, const char *buf, size_t n), void *to);
int __wrap_access_read_all(struct access *a, const char *path, char **text, size_t *len);

static int list_session(struct access *a, const char *path,
			int (*fn)(void *arg, const char *name, bool is_dir), void *arg)
{
	(void)a;
	return strcmp(path, "instances") ? 0 : fn(arg, "other", true);
}

int __wrap_access_read_all(struct access *a, const char *path, char **text, size_t *len)
{
	const char *stats = NULL;

	(void)a;
	if (!strcmp(path, "per_cpu/cpu0/stats"))
		stats = "entries: 7\nbytes: 40000000\n";
	if (!strcmp(path, "instances/other/per_cpu/cpu0/stats"))
		stats = "entries: 8\nbytes: 60000000\n";
	*text = stats ? strdup(stats) : NULL;
	*len = stats ? strlen(stats) : 0;
	return *text ? 0 : -ENOENT;
}

/* A piece takes half a second. */
int __wrap_raw_stream(struct access *a, const char *path, const struct raw_part *part,
		      int (*take)(void *to, const char *buf, size_t n), void *to)
{
	int ret = 0;

	(void)a;
	(void)path;
	(void)part;
	for (int i = 0; !ret && i < 4; i++) {
		now += 0.5;
		ret = take(to, "", PIECE);
	}
	return ret;
}

static size_t taken;

static int take_piece(void *to, const char *buf, size_t n)
{
	(void)to;
	(void)buf;
	taken += n;
	return 0;
}

int __wrap_export_trace_dat(const struct export_params *params, FILE *out,
			    struct export_error *err)
{
	(void)out;
	(void)err;
	return params->files->stream(params->files->arg, "per_cpu/cpu0/trace_raw", take_piece,
				     NULL);
}

struct terminal {
	int master, before;
	char text[512];
};

/* stderr is a terminal from now on. */
static void terminal_open(struct terminal *t)
{
	int end;

	t->before = dup(STDERR_FILENO);
	assert_true(t->before >= 0);
	assert_int_equal(openpty(&t->master, &end, NULL, NULL, NULL), 0);
	assert_int_equal(dup2(end, STDERR_FILENO), STDERR_FILENO);
	close(end);
}

/* All that was written to it so far. */
static const char *terminal_text(struct terminal *t)
{
	struct pollfd p = { .fd = t->master, .events = POLLIN };
	size_t n = 0;

	while (n < sizeof(t->text) - 1 && poll(&p, 1, 0) > 0 && p.revents & POLLIN) {
		const ssize_t got = read(t->master, t->text + n, sizeof(t->text) - 1 - n);

		if (got <= 0)
			break;
		n += (size_t)got;
	}
	t->text[n] = '\0';
	return t->text;
}

static void terminal_close(struct terminal *t)
{
	dup2(t->before, STDERR_FILENO);
	close(t->before);
	close(t->master);
}

static void how_far_how_fast_and_how_long(void **state)
{
	struct terminal t;
	struct progress p;

	terminal_open(&t);
	now = 1000;
	progress_begin(&p, "replay", recording, false);
	now += 0.9;
	progress_show(&p);
	assert_string_equal(terminal_text(&t), "");
	now += 3.1;
	position = (struct source_position){ .records = 10000000, .bytes = 40, .total_bytes = 100 };
	progress_show(&p);
	assert_non_null(strstr(terminal_text(&t),
			       "replay:  40 %  10.0 M records, 2.5 M/s, 6 s left"));
	now += 0.1;
	progress_show(&p);
	assert_string_equal(terminal_text(&t), "");
	now += 400;
	progress_show(&p);
	assert_non_null(strstr(terminal_text(&t), ", 10 min left"));
	progress_end(&p);
	assert_string_equal(terminal_text(&t), "\r\033[K");
	terminal_close(&t);
}

static void nothing_of_short_work(void **state)
{
	struct terminal t;
	struct progress p;

	terminal_open(&t);
	progress_begin(&p, "replay", recording, false);
	now += 0.5;
	progress_show(&p);
	progress_end(&p);
	assert_string_equal(terminal_text(&t), "");
	terminal_close(&t);
}

static void nothing_with_quiet(void **state)
{
	struct terminal t;
	struct progress p;

	terminal_open(&t);
	progress_begin(&p, "replay", recording, true);
	now += 5;
	progress_show(&p);
	progress_end(&p);
	assert_string_equal(terminal_text(&t), "");
	terminal_close(&t);
}

static void how_much_is_saved(void **state)
{
	static const struct access_ops ops = { .list = list_session };
	struct access a = { .ops = &ops };
	struct save_dat what = { .file = "/dev/null" };
	struct terminal t;

	assert_int_equal(save_dat_open(NULL, what.file, &what.out), 0);
	terminal_open(&t);
	taken = 0;
	assert_int_equal(save_dat(&a, &what), 0);
	assert_int_equal(taken, 4 * PIECE);
	assert_non_null(strstr(terminal_text(&t), "save:  30 %  30.0 MB, 20.0 MB/s, 4 s left"));
	what.quiet = true;
	assert_int_equal(save_dat(&a, &what), 0);
	assert_string_equal(terminal_text(&t), "");
	terminal_close(&t);
	output_close(what.out);
}

static void more_than_was_thought(void **state)
{
	struct terminal t;
	struct progress p;

	terminal_open(&t);
	progress_begin_bytes(&p, "save", 1000000, false);
	now += 2;
	progress_add(&p, 3000000);
	assert_non_null(strstr(terminal_text(&t), "save: 100 %  3.0 MB, 1.5 MB/s "));
	progress_begin_bytes(&p, "save", 0, false);
	now += 2;
	progress_add(&p, 3000000);
	assert_non_null(strstr(terminal_text(&t), "save: 3.0 MB, 1.5 MB/s "));
	terminal_close(&t);
}

static void nothing_to_a_file(void **state)
{
	const int before = dup(STDERR_FILENO), file = open("/dev/shm", O_TMPFILE | O_RDWR, 0600);
	struct progress p;

	if (file < 0)
		skip();
	dup2(file, STDERR_FILENO);
	progress_begin(&p, "replay", recording, false);
	now += 5;
	progress_show(&p);
	progress_end(&p);
	dup2(before, STDERR_FILENO);
	close(before);
	assert_int_equal(lseek(file, 0, SEEK_END), 0);
	close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(how_far_how_fast_and_how_long),
		cmocka_unit_test(nothing_of_short_work),
		cmocka_unit_test(nothing_with_quiet),
		cmocka_unit_test(nothing_to_a_file),
		cmocka_unit_test(how_much_is_saved),
		cmocka_unit_test(more_than_was_thought),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
