/* SPDX-License-Identifier: MIT */
/*
 * no_memory.c - each allocation of the setup reader fails once while it runs a script
 *
 * The reader writes to a file what the script says, or it writes nothing and prints an error. It
 * drops no word and no character.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "access/access.h"
#include "setup/setup.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t nr, size_t size);
void *__libc_realloc(void *old, size_t size);

/* Call number fail_at fails; 0: no call fails. */
static unsigned int calls, fail_at;

static bool fails(void)
{
	if (++calls != fail_at)
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t nr, size_t size)
{
	return fails() ? NULL : __libc_calloc(nr, size);
}

void *realloc(void *old, size_t size)
{
	return fails() ? NULL : __libc_realloc(old, size);
}

/* ---- files that note all writes, and allocate nothing ---- */

enum { ROOM = 16384, MANY = 100000 };

struct text {
	char	bytes[ROOM];
	size_t	len;
};

static struct text written, printed, said;
static struct access_file file;

static ssize_t add(void *cookie, const char *bytes, size_t size)
{
	struct text *t = cookie;

	assert_true(size < ROOM - t->len);
	memcpy(t->bytes + t->len, bytes, size);
	t->len += size;
	t->bytes[t->len] = '\0';
	return (ssize_t)size;
}

static void add_text(struct text *t, const char *text)
{
	add(t, text, strlen(text));
}

static int note_open(struct access *a, const char *path, int flags, struct access_file **out)
{
	file.access = a;
	if ((flags & O_ACCMODE) != O_RDONLY) {
		add_text(&written, "> ");
		add_text(&written, path);
		add_text(&written, "\n");
	}
	*out = &file;
	return 0;
}

static ssize_t note_read(struct access_file *f, char *buf, size_t size, off_t off)
{
	static const char text[] = "first 1\nsecond 2\nthird 3\n";
	size_t len = sizeof(text) - 1;

	if ((size_t)off >= len)
		return 0;
	len -= (size_t)off;
	memcpy(buf, text + off, len < size ? len : size);
	return (ssize_t)(len < size ? len : size);
}

static ssize_t note_write(struct access_file *f, const char *buf, size_t size)
{
	add_text(&written, "[");
	add(&written, buf, size);
	add_text(&written, "]\n");
	return (ssize_t)size;
}

static int note_release(struct access_file *f)
{
	return 0;
}

static int note_list(struct access *a, const char *path,
		     int (*fn)(void *arg, const char *name, bool is_dir), void *arg)
{
	int ret = fn(arg, "sched_waking", true);

	return ret ? ret : fn(arg, "sched_switch", true);
}

static int note_stat(struct access *a, const char *path, mode_t *mode)
{
	*mode = strstr(path, "enable") ? S_IFREG : S_IFDIR;
	return 0;
}

static int note_mkdir(struct access *a, const char *path)
{
	return note_open(a, path, O_WRONLY, &(struct access_file *){ NULL });
}

static const struct access_ops note_ops = {
	.open = note_open, .read = note_read, .write = note_write, .release = note_release,
	.list = note_list, .stat = note_stat, .mkdir = note_mkdir, .rmdir = note_mkdir,
};

static FILE *stream(struct text *t)
{
	FILE *f = fopencookie(t, "w", (cookie_io_functions_t){ .write = add });

	assert_non_null(f);
	setvbuf(f, NULL, _IONBF, 0);
	t->len = 0;
	t->bytes[0] = '\0';
	return f;
}

/* What setup_run_text() returned. Its callers print the meaning of a negative number. */
static int result;

/* Returns the number of allocations. */
static unsigned int run(const char *script, unsigned int nth)
{
	struct access access = { &note_ops };
	struct setup_params p = {
		.access = &access,
		.name = "setup.sh",
		.out = stream(&printed),
		.err = stream(&said),
	};
	unsigned int made;

	written.len = 0;
	written.bytes[0] = '\0';
	calls = 0;
	fail_at = nth;
	result = setup_run_text(&p, script, strlen(script));
	made = calls;
	fail_at = 0;
	fclose(p.out);
	fclose(p.err);
	return made;
}

/* Whether each line of `some` is a line of `all`. */
static bool has_lines(const char *all, const char *some)
{
	char line[ROOM + 2];

	while (*some) {
		size_t n = strcspn(some, "\n") + 1;

		snprintf(line, sizeof(line), "\n%.*s", (int)n, some);
		if (!strstr(all, line))
			return false;
		some += n;
	}
	return true;
}

static void no_word_is_dropped(void **state)
{
	static const char *const scripts[] = {
		"echo 'hist:keys=pid:vals=size' > events/sched/sched_switch/trigger\n",
		"x=one; y=\"$x two\"; echo $y ${x}s > set_event\n",
		"for e in sched_waking sched_switch; do echo 1 > events/sched/$e/enable; done\n",
		"cat > set_event <<E\none $HOME 'two\nE\n",
		"echo -n name=17 > trace_marker; mkdir instances/x\n",
		"echo a b c > set_event; echo 'd  e' >> set_event\n",
		"cd events/sched; echo 0 > sched_switch/enable\n",
		"cat set_event | cat > a\n",
	};
	static char wanted[ROOM + 2], wanted_out[ROOM];

	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		unsigned int nth = 0, made;

		run(scripts[i], 0);
		assert_string_equal(said.bytes, "");
		snprintf(wanted, sizeof(wanted), "\n%s", written.bytes);
		snprintf(wanted_out, sizeof(wanted_out), "%s", printed.bytes);
		assert_true(strlen(wanted) > 1);
		do {
			made = run(scripts[i], ++nth);
			if (!has_lines(wanted, written.bytes))
				fail_msg("%sallocation %u: written:\n%s", scripts[i], nth,
					 written.bytes);
			if (result == -ENOMEM || strstr(said.bytes, "memory"))
				continue;
			if (*said.bytes || strcmp(written.bytes, wanted + 1) ||
			    strcmp(printed.bytes, wanted_out))
				fail_msg("%sallocation %u: said: %s, written:\n%s", scripts[i], nth,
					 said.bytes, written.bytes);
		} while (made >= nth && nth < MANY);
		assert_string_equal(said.bytes, "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_word_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
