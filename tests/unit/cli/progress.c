/* SPDX-License-Identifier: MIT */
/* The line of long work, on a terminal of its own. The clock and the recording are the test's. */
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

#include "cli/progress.h"
#include "sources/recording/source.h"

static double now;
static struct source_position position;

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
	progress_begin(&p, "replay", NULL, false);
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
	progress_begin(&p, "replay", NULL, false);
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
	progress_begin(&p, "replay", NULL, true);
	now += 5;
	progress_show(&p);
	progress_end(&p);
	assert_string_equal(terminal_text(&t), "");
	terminal_close(&t);
}

static void nothing_to_a_file(void **state)
{
	const int before = dup(STDERR_FILENO), file = open("/dev/shm", O_TMPFILE | O_RDWR, 0600);
	struct progress p;

	if (file < 0)
		skip();
	dup2(file, STDERR_FILENO);
	progress_begin(&p, "replay", NULL, false);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
