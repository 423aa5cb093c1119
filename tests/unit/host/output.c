/* SPDX-License-Identifier: MIT */
/*
 * output.c - files that appear when they are complete, and symbolic links in their paths
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "host/links.h"
#include "host/output.h"

/* An empty directory is the current one. */
static int enter(void **state)
{
	char *dir = strdup("/tmp/tracefuse-unit-XXXXXX");

	*state = dir;
	return !dir || !mkdtemp(dir) || chdir(dir);
}

static int leave(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf --one-file-system '%s'", (char *)*state);
	free(*state);
	return chdir("/") || system(command);
}

static void put(const char *file, const char *text)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void assert_text(const char *file, const char *wanted)
{
	char text[64] = "";
	FILE *f = fopen(file, "r");

	assert_non_null(f);
	assert_true(fread(text, 1, sizeof(text) - 1, f) == strlen(wanted));
	fclose(f);
	assert_string_equal(text, wanted);
}

/* ---- links ---- */

static int resolve(const char *path, char name[NAME_MAX + 1])
{
	int dir = links_resolve(path, name);

	if (dir >= 0)
		close(dir);
	return dir < 0 ? dir : 0;
}

static void a_path_ends_in_a_name(void **state)
{
	char name[NAME_MAX + 1], path[PATH_MAX];

	assert_int_equal(mkdir("d", 0700), 0);
	assert_int_equal(symlink("d", "l"), 0);
	assert_int_equal(symlink("../d/f", "d/up"), 0);
	snprintf(path, sizeof(path), "%s/d/abs", (char *)*state);
	assert_int_equal(symlink(path, "abs"), 0);
	static const char *const paths[][2] = {
		{ "f", "f" },	 { "./f", "f" },   { "d//f", "f" },   { "l/f", "f" },
		{ "d/up", "f" }, { "abs", "abs" }, { "l/../f", "f" }, { "/proc/self/fd/1", "1" },
	};
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		assert_int_equal(resolve(paths[i][0], name), 0);
		assert_string_equal(name, paths[i][1]);
	}
}

static void or_in_an_error(void **state)
{
	char name[NAME_MAX + 1], path[NAME_MAX + 3];

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	put("f", "");
	assert_int_equal(symlink("b", "a"), 0);
	assert_int_equal(symlink("a", "b"), 0);
	assert_int_equal(resolve("", name), -ENOENT);
	assert_int_equal(resolve("/", name), -EISDIR);
	assert_int_equal(resolve(".", name), -EISDIR);
	assert_int_equal(resolve("f/x", name), -ENOTDIR);
	assert_int_equal(resolve("none/x", name), -ENOENT);
	assert_int_equal(resolve("a", name), -ELOOP);
	assert_int_equal(resolve(path, name), -ENAMETOOLONG);
}

static void open_follows_what_resolve_does(void **state)
{
	int fd;

	assert_int_equal(symlink("f", "l"), 0);
	fd = links_open("l", O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	close(fd);
	assert_text("f", "");
	assert_int_equal(links_mkdir("d///", 0700), 0);
	assert_int_equal(links_mkdir("d", 0700), -EEXIST);
	assert_int_equal(links_mkdir("none/d", 0700), -ENOENT);
}

/* Only root can make links that belong to another user. */
static void a_link_of_others_is_refused_where_it_is_sticky(void **state)
{
	char name[NAME_MAX + 1];

	if (geteuid())
		skip();
	assert_int_equal(mkdir("t", 0700), 0);
	assert_int_equal(symlink("../f", "t/l"), 0);
	assert_int_equal(lchown("t/l", 65534, 65534), 0);
	assert_int_equal(resolve("t/l", name), 0);
	assert_int_equal(chmod("t", 0777), 0);
	assert_int_equal(resolve("t/l", name), 0);
	assert_int_equal(chmod("t", 01777), 0);
	assert_int_equal(resolve("t/l", name), -EACCES);
	assert_int_equal(resolve("t/l/x", name), -EACCES);
	/* Now the link belongs to the owner of the directory. */
	assert_int_equal(chown("t", 65534, 65534), 0);
	assert_int_equal(resolve("t/l", name), 0);
}

/* ---- files ---- */

static void a_file_appears_when_it_is_whole(void **state)
{
	struct output *o;
	FILE *f;

	put("f", "old");
	assert_int_equal(chmod("f", 0640), 0);
	assert_int_equal(output_open("f", &o), 0);
	f = output_begin(o);
	assert_non_null(f);
	fputs("new", f);
	fflush(f);
	assert_text("f", "old");
	assert_int_equal(output_end(o, true), 0);
	assert_text("f", "new");
	output_close(o);
	struct stat st;
	assert_int_equal(stat("f", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
}

static void else_nothing_is_left(void **state)
{
	struct output *o;

	assert_int_equal(output_open("f", &o), 0);
	assert_int_equal(access("f", F_OK), -1);
	assert_non_null(output_begin(o));
	assert_int_equal(output_end(o, false), 0);
	assert_non_null(output_begin(o));
	output_close(o);
	/* rmdir() succeeds, so the directory is empty. */
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(*state), 0);
	assert_int_equal(mkdir(*state, 0700), 0);
}

static void a_full_device_is_an_error(void **state)
{
	struct output *o;
	FILE *f;

	assert_int_equal(output_open("/dev/full", &o), 0);
	f = output_begin(o);
	assert_non_null(f);
	fputs("x", f);
	assert_int_equal(output_end(o, true), -ENOSPC);
	output_close(o);
}

static void what_cannot_be_written_is_found_at_the_start(void **state)
{
	struct output *o;

	assert_int_equal(mkdir("d", 0700), 0);
	assert_int_equal(mkfifo("p", 0600), 0);
	assert_int_equal(output_open("d", &o), -EISDIR);
	assert_int_equal(output_open("p", &o), -ESPIPE);
	assert_int_equal(output_open("none/f", &o), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_path_ends_in_a_name, enter, leave),
		cmocka_unit_test_setup_teardown(or_in_an_error, enter, leave),
		cmocka_unit_test_setup_teardown(open_follows_what_resolve_does, enter, leave),
		cmocka_unit_test_setup_teardown(a_link_of_others_is_refused_where_it_is_sticky,
						enter, leave),
		cmocka_unit_test_setup_teardown(a_file_appears_when_it_is_whole, enter, leave),
		cmocka_unit_test_setup_teardown(else_nothing_is_left, enter, leave),
		cmocka_unit_test_setup_teardown(a_full_device_is_an_error, enter, leave),
		cmocka_unit_test_setup_teardown(what_cannot_be_written_is_found_at_the_start, enter,
						leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
