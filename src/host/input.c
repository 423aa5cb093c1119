/* SPDX-License-Identifier: MIT */
/* input.c - see input.h */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "host/input.h"
#include "model/text_memory.h"

enum { INPUT_MAX = 256 << 20, NOTHING = -1 };

/* Whether the pipe has a name in a file system. Other pipes have a writer, or had one. */
static bool is_named_pipe(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type != PIPEFS_MAGIC;
}

/*
 * Finds out whether a named pipe has a writer, or one that waits. If so, a read that does not wait
 * returns a byte, which goes to *first, or fails because there is none yet.
 */
static int check_writer(int fd, int *first)
{
	unsigned char byte;
	ssize_t n = read(fd, &byte, 1);

	if (n > 0)
		*first = byte;
	if (n < 0 && errno != EAGAIN)
		return -errno;
	return n ? 0 : -ENXIO;
}

static bool ends_some_day(int fd, dev_t device)
{
	return isatty(fd) || device == makedev(1, 3);	/* /dev/null */
}

static int check(int fd, int *first)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		return 0;
	case S_IFDIR:
		return -EISDIR;
	case S_IFIFO:
		return is_named_pipe(fd) ? check_writer(fd, first) : 0;
	case S_IFCHR:
		return ends_some_day(fd, st.st_rdev) ? 0 : -ENODEV;
	default:
		return -ENODEV;
	}
}

int input_open(const char *name, FILE **out)
{
	int first = NOTHING, fd, err;

	*out = stdin;
	if (!strcmp(name, "-"))
		return 0;
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	err = check(fd, &first);
	if (!err && fcntl(fd, F_SETFL, 0))
		err = -errno;
	*out = err ? NULL : fdopen(fd, "r");
	if (!*out) {
		close(fd);
		return err ? err : -ENOMEM;
	}
	if (first != NOTHING)
		ungetc(first, *out);
	return 0;
}

void input_close(FILE *in)
{
	if (in != stdin)
		fclose(in);
}

/* Copies up to the end. 0 or -errno. */
static int copy(FILE *in, FILE *out)
{
	char buf[1 << 16];
	size_t n, all = 0;

	errno = 0;
	while ((n = fread(buf, 1, sizeof(buf), in)) > 0) {
		all += n;
		if (all > INPUT_MAX)
			return -EFBIG;
		if (fwrite(buf, 1, n, out) != n)
			return -ENOMEM;
	}
	return ferror(in) ? -(errno ? errno : EIO) : 0;
}

int input_read_all(const char *name, char **text, size_t *len)
{
	FILE *in, *out;
	int err = input_open(name, &in);

	*text = NULL;
	if (err)
		return err;
	out = text_memory_open(text, len);
	err = out ? copy(in, out) : -ENOMEM;
	if (out && fclose(out) && !err)
		err = -ENOMEM;
	input_close(in);
	if (err) {
		free(*text);
		*text = NULL;
	}
	return err;
}

const char *input_error(int err)
{
	switch (err) {
	case ENXIO:
		return "a pipe that nobody writes to, or a socket";
	case ENODEV:
		return "a device, which is no file to be read to its end";
	case EFBIG:
		return "far too long";
	default:
		return strerror(err);
	}
}
