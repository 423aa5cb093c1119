/* SPDX-License-Identifier: MIT */
/* terminal.c - see terminal.h */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "host/terminal.h"

enum { PIECE = 1024 };

/* Length of the UTF-8 character that begins with this byte; 1: ASCII, or no character at all. */
static size_t terminal_length_of(unsigned char first)
{
	if (first >= 0xc2 && first < 0xe0)
		return 2;
	if (first >= 0xe0 && first < 0xf0)
		return 3;
	return first >= 0xf0 && first < 0xf5 ? 4 : 1;
}

/* Whether the bytes begin like a character but can never become a valid one. */
static bool is_broken(const unsigned char *c, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if ((c[i] & 0xc0) != 0x80)
			return true;
	if (n < 2)
		return false;
	/* An overlong form, half of a surrogate pair, or above the last code point. */
	return (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] >= 0xa0) ||
	       (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] >= 0x90);
}

/* Whether this is a complete character that a terminal may get. */
static bool is_text(const unsigned char *c, size_t n)
{
	if (n == 1)
		return (c[0] >= ' ' && c[0] < 0x7f) || c[0] == '\n' || c[0] == '\t';
	/* U+0080 to U+009f are control characters, too. */
	return n > 2 || c[0] != 0xc2 || c[1] >= 0xa0;
}

static char *put_octal(char *out, const unsigned char *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out += sprintf(out, "\\%03o", c[i]);
	return out;
}

/*
 * Writes out each complete character of t->partial, and each byte that cannot become part of one.
 */
static char *terminal_settle(struct terminal_text *t, char *out)
{
	while (t->nr) {
		const size_t length = terminal_length_of(t->partial[0]);
		size_t n = 1;

		if (is_broken(t->partial, t->nr < length ? t->nr : length)) {
			out = put_octal(out, t->partial, 1);
		} else if (t->nr < length) {
			return out;
		} else if (is_text(t->partial, length)) {
			memcpy(out, t->partial, length);
			out += n = length;
		} else {
			out = put_octal(out, t->partial, n = length);
		}
		t->nr -= n;
		memmove(t->partial, t->partial + n, t->nr);
	}
	return out;
}

size_t terminal_escape(struct terminal_text *t, const char *in, size_t n, char *out)
{
	char *at = out;

	for (size_t i = 0; i < n; i++) {
		t->partial[t->nr++] = (unsigned char)in[i];
		at = terminal_settle(t, at);
	}
	if (!n) {
		at = put_octal(at, t->partial, t->nr);
		t->nr = 0;
	}
	return (size_t)(at - out);
}

/* ---- the streams ---- */

struct guarded {
	int		fd;
	int		error;		/* the errno of the first write that failed; 0: none */
	struct terminal_text text;
};

static struct guarded outputs[] = { { .fd = STDOUT_FILENO }, { .fd = STDERR_FILENO } };

/*
 * Another process may have made the terminal non-blocking. Then this waits until it takes output.
 * The mode is left as it is, because the user's shell may have the same terminal.
 */
static bool terminal_has_room(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, -1) > 0 || errno == EINTR;
}

static bool terminal_write_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t ret = write(fd, bytes, n);

		if (ret < 0 && (errno == EINTR || (errno == EAGAIN && terminal_has_room(fd))))
			continue;
		if (ret < 0)
			return false;
		bytes += ret;
		n -= (size_t)ret;
	}
	return true;
}

static bool guarded_write(struct guarded *g, const char *bytes, size_t n)
{
	if (terminal_write_all(g->fd, bytes, n))
		return true;
	if (!g->error)
		g->error = errno;
	return false;
}

static ssize_t write_plain(void *cookie, const char *bytes, size_t n)
{
	return guarded_write(cookie, bytes, n) ? (ssize_t)n : 0;
}

static ssize_t write_escaped(void *cookie, const char *bytes, size_t n)
{
	struct guarded *g = cookie;
	char out[TERMINAL_GROWTH * (PIECE + 4)];
	size_t done = 0, piece;

	for (; done < n; done += piece) {
		piece = n - done < PIECE ? n - done : PIECE;
		if (!guarded_write(g, out, terminal_escape(&g->text, bytes + done, piece, out)))
			return 0;
	}
	return (ssize_t)n;
}

/* Runs at the end of the process. */
static void write_partial(void)
{
	char out[TERMINAL_GROWTH * 4];

	fflush(stdout);
	for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++)
		terminal_write_all(outputs[i].fd, out,
				   terminal_escape(&outputs[i].text, "", 0, out));
}

static void guard(FILE **stream, struct guarded *g, cookie_write_function_t *write, int buffering)
{
	const cookie_io_functions_t io = { .write = write };
	FILE *out = fopencookie(g, "w", io);

	if (!out)
		return;
	setvbuf(out, NULL, buffering, buffering == _IONBF ? 0 : BUFSIZ);
	*stream = out;
}

/* Stays as it was at the start: a pager takes the place of the terminal later. */
static struct {
	bool		is;
	unsigned int	columns;	/* the last answer */
} terminal_stdout;

bool terminal_is_stdout(void)
{
	return terminal_stdout.is;
}

unsigned int terminal_columns(void)
{
	struct winsize size;

	if (terminal_stdout.is && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		terminal_stdout.columns = size.ws_col;
	return terminal_stdout.columns;
}

void terminal_guard(void)
{
	terminal_stdout.is = isatty(STDOUT_FILENO);

	guard(&stdout, &outputs[0], terminal_stdout.is ? write_escaped : write_plain,
	      terminal_stdout.is ? _IOLBF : _IOFBF);
	if (isatty(STDERR_FILENO))
		guard(&stderr, &outputs[1], write_escaped, _IONBF);
	atexit(write_partial);
}

int terminal_stdout_error(void)
{
	return outputs[0].error;
}

void terminal_control(const char *text)
{
	fflush(stderr);
	terminal_write_all(STDERR_FILENO, text, strlen(text));
}

bool terminal_print_colours(const char *text, size_t n)
{
	const char *end = text + n;

	while (text < end) {
		const char *colour = memchr(text, '\033', (size_t)(end - text));
		const char *next = colour ? memchr(colour, 'm', (size_t)(end - colour)) : NULL;
		const size_t plain = (size_t)((next ? colour : end) - text);

		if (fwrite(text, 1, plain, stdout) != plain)
			return false;
		if (!next)
			break;
		next++;
		if (fflush(stdout) ||
		    !guarded_write(&outputs[0], colour, (size_t)(next - colour)))
			return false;
		text = next;
	}
	return true;
}
