/* SPDX-License-Identifier: MIT */
/* A process that prints a long text: what its reader gets, in all orders, and how it ends. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "tracefs/printer.h"

enum { LINES = 50000, LINE = 10 };

struct job {
	int		lines, err, dies;
	const char	*header;
};

static int print_lines(void *arg, FILE *out)
{
	const struct job *j = arg;

	if (j->header)
		fputs(j->header, out);
	for (int i = 0; i < j->lines; i++)
		fprintf(out, "%09d\n", i);
	if (j->dies)
		raise(SIGKILL);
	return j->err;
}

/* As printer_read(), but waits. */
static ssize_t await(struct printers *ps, struct printer *p, char *buf, size_t size, off_t off)
{
	struct pollfd readable = { .fd = printers_fd(ps), .events = POLLIN };
	ssize_t n;

	while ((n = printer_read(p, buf, size, off)) == -EINPROGRESS) {
		poll(&readable, 1, 100);
		printers_tend(ps);
	}
	return n;
}

/* The text from `off` on; *end is what printer_read() returned at its end. */
static char *read_from(struct printers *ps, struct printer *p, off_t off, size_t size, ssize_t *end)
{
	static char text[LINES * LINE + 100];
	size_t len = 0;
	ssize_t n;

	while ((n = await(ps, p, text + len, size, off + (off_t)len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	*end = n;
	return text;
}

static struct printer *start(struct printers *ps, struct job *j, bool whole,
			     const struct printer_body *after, off_t at)
{
	const struct printer_text text = { .print = print_lines, .arg = j, .whole = whole,
					   .after = after, .start = at };
	struct printer *p;

	assert_int_equal(printer_start(ps, &text, &p), 0);
	return p;
}

static void all_of_it(void **state)
{
	struct printers *ps = printers_create();
	struct job j = { .lines = LINES, .header = "# head\n" };

	for (int whole = 0; whole < 2; whole++) {
		struct printer *p = start(ps, &j, whole, NULL, 0);
		ssize_t end;
		char *text = read_from(ps, p, 0, 5000, &end);

		assert_false(printer_holds(p));
		assert_int_equal(end, 0);
		assert_int_equal(strlen(text), LINES * LINE + 7);
		assert_memory_equal(text, "# head\n000000000\n", 17);
		assert_string_equal(text + 7 + (LINES - 1) * LINE, "000049999\n");
		assert_int_equal(await(ps, p, text, 10, 0), -ESPIPE);
		printer_end(p);
	}
	printers_destroy(ps);
}

/* The beginning is there while the rest is made. */
static int print_after_byte(void *arg, FILE *out)
{
	char byte;

	if (read(*(int *)arg, &byte, 1) != 1)
		return -EIO;
	fputs("the rest\n", out);
	return 0;
}

static void the_beginning(void **state)
{
	struct printers *ps = printers_create();
	int go[2];
	struct printer *p;
	char text[100];

	for (int whole = 0; whole < 2; whole++) {
		const struct printer_text job = { .begun = "begun\n", .begun_size = 6,
						  .whole = whole, .print = print_after_byte,
						  .arg = &go[0] };

		assert_int_equal(pipe(go), 0);
		/* It keeps no descriptor: standard input is /dev/null there, or nothing. */
		assert_int_equal(printer_start(ps, &job, &p), 0);
		assert_int_equal(await(ps, p, text, 6, 0), 6);
		assert_memory_equal(text, "begun\n", 6);
		assert_int_equal(await(ps, p, text, 6, 6), -EIO);
		assert_false(printer_holds(p));
		printer_end(p);
		close(go[0]);
		close(go[1]);
	}
	printers_destroy(ps);
}

static void back_and_on(void **state)
{
	struct printers *ps = printers_create();
	struct job j = { .lines = LINES };
	struct printer *p = start(ps, &j, false, NULL, 0);
	char line[LINE + 1] = "";

	assert_int_equal(await(ps, p, line, LINE, 0), LINE);
	assert_int_equal(await(ps, p, line, LINE, 200000), LINE);
	assert_string_equal(line, "000020000\n");
	assert_int_equal(await(ps, p, line, LINE, 150000), LINE);
	assert_string_equal(line, "000015000\n");
	assert_int_equal(await(ps, p, line, LINE, 490000), LINE);
	assert_string_equal(line, "000049000\n");
	assert_int_equal(await(ps, p, line, LINE, 0), -ESPIPE);
	assert_int_equal(await(ps, p, line, LINE, LINES * LINE + 3), 0);
	printer_end(p);
	printers_destroy(ps);
}

/* What has come since: only if the text begins with what was read. */
static void what_follows(void **state)
{
	struct printers *ps = printers_create();
	struct job first = { .lines = 30001, .header = "# 30001\n" },
		   next = { .lines = LINES, .header = "# more\n# of it\n" },
		   shorter = { .lines = 3 };
	struct printer *p = start(ps, &first, false, NULL, 0);
	struct printer_body body, same = { 0 };
	ssize_t end;
	char *text;

	assert_false(printer_body(p, &body));
	text = read_from(ps, p, 0, 65536, &end);
	assert_true(printer_body(p, &body));
	for (size_t at = 8; at < 8 + 30001 * LINE; at += 7)
		printer_body_add(&same, text + at,
				 8 + 30001 * LINE - at < 7 ? 8 + 30001 * LINE - at : 7);
	assert_memory_equal(&same, &body, sizeof(body));
	printer_end(p);

	p = start(ps, &next, false, &body, 1000);
	text = read_from(ps, p, 1000, 65536, &end);
	assert_int_equal(strlen(text), (LINES - 30001) * LINE);
	assert_memory_equal(text, "000030001\n", LINE);
	assert_true(printer_came(p));
	assert_int_equal(printer_pos(p), 1000 + (LINES - 30001) * LINE);
	printer_end(p);

	p = start(ps, &first, false, &body, 0);
	assert_string_equal(read_from(ps, p, 0, 65536, &end), "");
	assert_false(printer_came(p));
	printer_end(p);

	p = start(ps, &shorter, false, &body, 0);
	assert_string_equal(read_from(ps, p, 0, 65536, &end), "");
	printer_end(p);

	body.hash++;
	p = start(ps, &next, false, &body, 0);
	assert_string_equal(read_from(ps, p, 0, 65536, &end), "");
	printer_end(p);
	printers_destroy(ps);
}

static void how_it_ends(void **state)
{
	struct printers *ps = printers_create();
	struct job fails = { .lines = 3, .err = -EBUSY }, dies = { .lines = LINES, .dies = 1 },
		   endless = { .lines = INT32_MAX };
	struct printer *p = start(ps, &fails, false, NULL, 0);
	struct printer_body body;
	ssize_t end;

	assert_string_equal(read_from(ps, p, 0, 65536, &end), "000000000\n000000001\n000000002\n");
	assert_int_equal(end, -EBUSY);
	assert_false(printer_body(p, &body));
	printer_end(p);
	p = start(ps, &dies, true, NULL, 0);
	assert_string_equal(read_from(ps, p, 0, 65536, &end), "");
	assert_int_equal(end, -EIO);
	printer_end(p);
	/* A reader that stops, and one that does not read at all. */
	p = start(ps, &endless, false, NULL, 0);
	assert_int_equal(await(ps, p, (char[1]){ 0 }, 1, 0), 1);
	printer_end(p);
	printer_end(start(ps, &endless, true, NULL, 0));
	printers_destroy(ps);
}

static volatile sig_atomic_t handled;

static void handle(int sig)
{
	handled = 1;
}

static struct printer *look(struct printers *ps, const char *path)
{
	const struct printer_text text = { .path = path };
	struct printer *p;

	assert_int_equal(printer_start(ps, &text, &p), 0);
	return p;
}

static void what_a_path_names(void **state)
{
	struct printers *ps = printers_create();
	const struct sigaction action = { .sa_handler = handle }, none = { .sa_handler = SIG_DFL };
	struct stat st, got;
	struct printer *p = look(ps, "/proc/self/exe");
	char path[5000];

	assert_int_equal(stat("/proc/self/exe", &st), 0);
	assert_int_equal(await(ps, p, (char *)&got, sizeof(got), 0), sizeof(got));
	assert_int_equal(got.st_ino, st.st_ino);
	assert_int_equal(got.st_mtim.tv_nsec, st.st_mtim.tv_nsec);
	assert_int_equal(await(ps, p, (char *)&got, 1, sizeof(got)), 0);
	printer_end(p);
	p = look(ps, "/nosuch/file");
	assert_int_equal(await(ps, p, path, 1, 0), -ENOENT);
	printer_end(p);
	memset(path, '/', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	p = look(ps, path);
	assert_int_equal(await(ps, p, path, 1, 0), -ENAMETOOLONG);
	printer_end(p);
	/* It has the memory, but not the handlers and descriptors; its end is not the server's. */
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 1000; i++) {
		p = look(ps, "/");
		kill(printer_pid(p), i % 2 ? SIGUSR1 : SIGKILL);
		if (i % 3)
			await(ps, p, (char *)&got, sizeof(got), 0);
		printer_end(p);
	}
	sigaction(SIGUSR1, &none, NULL);
	assert_int_equal(handled, 0);
	printers_destroy(ps);
}

static void no_descriptor(void **state)
{
	struct printers *ps = printers_create();
	struct job j = { .lines = 3 };
	const struct printer_text text = { .print = print_lines, .arg = &j };
	struct rlimit was, none;
	struct printer *p;
	int err;

	getrlimit(RLIMIT_NOFILE, &was);
	none = was;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	err = printer_start(ps, &text, &p);
	setrlimit(RLIMIT_NOFILE, &was);
	assert_int_equal(err, -EMFILE);
	printers_destroy(ps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_it),
		cmocka_unit_test(the_beginning),
		cmocka_unit_test(back_and_on),
		cmocka_unit_test(what_follows),
		cmocka_unit_test(how_it_ends),
		cmocka_unit_test(what_a_path_names),
		cmocka_unit_test(no_descriptor),
	};

	return cmocka_run_group_tests_name("printer", tests, NULL, NULL);
}
