/* SPDX-License-Identifier: MIT */
/* refresh.c - see refresh.h */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "cli/answer/refresh.h"
#include "host/message.h"

/* The head, the line about what is left out, and the one where the cursor is. */
enum { SCREEN_LINES = 24, OTHER_LINES = 3 };

static double refresh_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int refresh_begin(struct refresh *r, const sigset_t *ends, double limit)
{
	struct termios raw;

	*r = (struct refresh){ .signals = signalfd(-1, ends, SFD_CLOEXEC),
			       .screen = isatty(STDOUT_FILENO),
			       .until = limit > 0 ? refresh_now() + limit : 0 };
	if (r->signals < 0)
		return message_error("signalfd: %s", strerror(errno));
	r->keys = r->screen && !tcgetattr(STDIN_FILENO, &r->before);
	if (!r->keys)
		return COMMAND_DONE;
	/* A key is read when it is pressed. Ctrl-C stays a signal. */
	raw = r->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	return COMMAND_DONE;
}

/* Whether the key that was pressed ends it. */
static bool is_last_key(void)
{
	char key;

	return read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q';
}

bool refresh_wait(struct refresh *r, double seconds)
{
	struct pollfd fds[] = { { r->signals, POLLIN, 0 },
				{ r->keys ? STDIN_FILENO : -1, POLLIN, 0 } };
	double left = r->until - refresh_now();

	if (r->until && left <= 0)
		return false;
	left = r->until && left < seconds ? left : seconds;
	if (poll(fds, 2, (int)(left * 1000) + 1) < 0)
		return errno == EINTR;
	return !fds[0].revents && (!fds[1].revents || !is_last_key()) &&
	       (!r->until || refresh_now() < r->until);
}

unsigned int refresh_clear(const struct refresh *r)
{
	static const char home[] = "\033[H\033[J";
	struct winsize size;
	unsigned int rows = SCREEN_LINES;

	if (!r->screen || message_flush() || write(STDOUT_FILENO, home, strlen(home)) < 0)
		return 0;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row)
		rows = size.ws_row;
	return rows > OTHER_LINES ? rows - OTHER_LINES : 1;
}

void refresh_end(struct refresh *r)
{
	if (r->keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &r->before);
	if (r->signals >= 0)
		close(r->signals);
}
