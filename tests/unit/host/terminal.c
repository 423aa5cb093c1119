/* SPDX-License-Identifier: MIT */
/*
 * terminal.c - how any bytes are shown on a terminal, in pieces of any size
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "host/terminal.h"

/* Escapes the text in pieces of `piece` bytes. */
static char *escaped(const char *in, size_t n, size_t piece)
{
	char *out = calloc(1, TERMINAL_GROWTH * (n + 4) + 16);
	struct terminal_text t = { .nr = 0 };
	size_t used = 0;

	assert_non_null(out);
	for (size_t at = 0; at < n; at += piece)
		used += terminal_escape(&t, in + at, n - at < piece ? n - at : piece, out + used);
	used += terminal_escape(&t, "", 0, out + used);
	out[used] = 0;
	return out;
}

static void becomes(const char *in, size_t n, const char *wanted)
{
	for (size_t piece = 1; piece <= n; piece++) {
		char *out = escaped(in, n, piece);

		assert_string_equal(out, wanted);
		free(out);
	}
}

#define BECOMES(in, wanted) becomes(in, sizeof(in) - 1, wanted)

static void text_stays(void **state)
{
	BECOMES("a b\tc\n~", "a b\tc\n~");
	BECOMES("caf\u00e9 \u4e2d \U0001f600 \u00a0", "caf\u00e9 \u4e2d \U0001f600 \u00a0");
}

static void control_characters_are_octal(void **state)
{
	BECOMES("\033[31m\a\r\177", "\\033[31m\\007\\015\\177");
	BECOMES("a\0b", "a\\000b");
	BECOMES("\xc2\x9b" "31m", "\\302\\23331m");
}

static void what_is_no_text_is_octal(void **state)
{
	BECOMES("\x9b\xff\xc0\x80", "\\233\\377\\300\\200");
	BECOMES("\xc3(\xe4\xb8(", "\\303(\\344\\270(");
	BECOMES("\xe0\x9f\x80 \xed\xa0\x80", "\\340\\237\\200 \\355\\240\\200");
	BECOMES("\xf0\x8f\x80\x80 \xf4\x90\x80\x80", "\\360\\217\\200\\200 \\364\\220\\200\\200");
	/* An incomplete sequence does not hide an escape sequence behind it. */
	BECOMES("\xe4\xb8\033[31m", "\\344\\270\\033[31m");
	BECOMES("\xe4\xb8", "\\344\\270");
}

enum { LINES = 20000 };

/* Writes to a terminal with O_NONBLOCK, which does not wait for its reader. */
static _Noreturn void write_much(int slave)
{
	dup2(slave, STDOUT_FILENO);
	fcntl(slave, F_SETFL, fcntl(slave, F_GETFL) | O_NONBLOCK);
	terminal_guard();
	for (int i = 0; i < LINES; i++)
		if (printf("line %d\n", i) < 0)
			_exit(1);
	fflush(stdout);
	_exit(ferror(stdout) != 0);
}

static void a_terminal_that_does_not_wait_gets_all(void **state)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave = -1, status = 1, lines = 0;
	char text[512];
	ssize_t n;
	pid_t pid;

	if (master < 0 || grantpt(master) || unlockpt(master) ||
	    (slave = open(ptsname(master), O_RDWR | O_NOCTTY)) < 0)
		skip();
	pid = fork();
	if (!pid)
		write_much(slave);
	close(slave);
	while ((n = read(master, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < n; i++)
			lines += text[i] == '\n';
	close(master);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(lines, LINES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_stays),
		cmocka_unit_test(control_characters_are_octal),
		cmocka_unit_test(what_is_no_text_is_octal),
		cmocka_unit_test(a_terminal_that_does_not_wait_gets_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
