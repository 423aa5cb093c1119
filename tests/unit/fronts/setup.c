/* SPDX-License-Identifier: MIT */
/*
 * setup.c - the setup reader against a directory that only notes what is done to it
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "access/access.h"
#include "setup/setup.h"

struct note_file {
	struct access_file file;
	char		path[256];
};

struct note {
	struct access	access;
	FILE		*log;
	char		*text;
	size_t		size;
};

static struct note *note_of(struct access *a)
{
	return (struct note *)a;
}

static int note_open(struct access *a, const char *path, int flags, struct access_file **out)
{
	struct note_file *f;

	if (!strcmp(path, "nosuch"))
		return -EACCES;
	f = calloc(1, sizeof(*f));
	f->file.access = a;
	snprintf(f->path, sizeof(f->path), "%s", path);
	if ((flags & O_ACCMODE) != O_RDONLY)
		fprintf(note_of(a)->log, "%s %s\n", flags & O_APPEND ? ">>" : ">", path);
	*out = &f->file;
	return 0;
}

static ssize_t note_read(struct access_file *file, char *buf, size_t size, off_t off)
{
	struct note_file *f = (struct note_file *)file;
	char text[512];
	size_t len;

	if (strstr(f->path, "error_log"))
		snprintf(text, sizeof(text), "[ 1.000000] hist: error: Bad\n");
	else
		snprintf(text, sizeof(text), "content of %s\n", f->path);
	len = strlen(text);
	if ((size_t)off >= len)
		return 0;
	if (size > len - (size_t)off)
		size = len - (size_t)off;
	memcpy(buf, text + off, size);
	return (ssize_t)size;
}

static ssize_t note_write(struct access_file *file, const char *buf, size_t size)
{
	fprintf(note_of(file->access)->log, "[%.*s]\n", (int)size, buf);
	return memmem(buf, size, "wrong", 5) ? -EINVAL : (ssize_t)size;
}

static int note_release(struct access_file *file)
{
	free(file);
	return 0;
}

static int note_list(struct access *a, const char *path, int (*fn)(void *arg, const char *name, bool is_dir), void *arg)
{
	static const char *const names[] = { "sched_waking", "sched_switch", "enable" };

	(void)a;
	if (strcmp(path, "events/sched"))
		return -ENOENT;
	for (int i = 0; i < 3; i++)
		fn(arg, names[i], i < 2);
	return 0;
}

static int note_stat(struct access *a, const char *path, mode_t *mode)
{
	(void)a;
	*mode = strstr(path, "enable") ? S_IFREG : S_IFDIR;
	return strstr(path, "nosuch") || strstr(path, "enable/") ? -ENOENT : 0;
}

static int note_mkdir(struct access *a, const char *path)
{
	fprintf(note_of(a)->log, "mkdir %s\n", path);
	return strstr(path, "there") ? -EEXIST : 0;
}

static int note_rmdir(struct access *a, const char *path)
{
	fprintf(note_of(a)->log, "rmdir %s\n", path);
	return strstr(path, "busy") ? -EBUSY : 0;
}

static const struct access_ops note_ops = {
	.open = note_open, .read = note_read, .write = note_write, .release = note_release,
	.list = note_list, .stat = note_stat, .mkdir = note_mkdir, .rmdir = note_rmdir,
};

/* Runs a script and compares what it did to files, printed, and complained of; NULL: not looked at. */
static void expect_with(struct setup_params p, const char *script, const char *log, const char *out, const char *err)
{
	struct note note = { .access = { &note_ops } };
	char *out_text, *err_text;
	size_t out_size, err_size;

	p.access = &note.access;
	p.name = "setup.sh";
	p.out = open_memstream(&out_text, &out_size);
	p.err = open_memstream(&err_text, &err_size);

	note.log = open_memstream(&note.text, &note.size);
	setup_run_text(&p, script, strlen(script));
	fclose(note.log);
	fclose(p.out);
	fclose(p.err);
	if (log)
		assert_string_equal(note.text, log);
	if (out)
		assert_string_equal(out_text, out);
	if (err)
		assert_string_equal(err_text, err);
	free(note.text);
	free(out_text);
	free(err_text);
}

static void expect(const char *script, const char *log, const char *out, const char *err)
{
	expect_with((struct setup_params){ 0 }, script, log, out, err);
}

static void redirections(void **state)
{
	(void)state;
	expect("echo 1 > a\necho 'x y' >> b/c\necho -n z>d\n", "> a\n[1\n]\n>> b/c\n[x y\n]\n> d\n[z]\n", "", "");
	expect("> trace\n", "> trace\n", "", "");
	expect("echo > set_event", "> set_event\n[\n]\n", "", "");
	expect("{ echo a; echo b; } > f", "> f\n[a\n]\n[b\n]\n", "", "");
}

static void absolute_paths_mean_the_session(void **state)
{
	(void)state;
	expect("echo 1 > /sys/kernel/tracing/events/enable\necho 2 > /sys/kernel/debug/tracing/x/../y\n",
	       "> events/enable\n[1\n]\n> y\n[2\n]\n", "", "");
	expect("cd /sys/kernel/debug/tracing; cd events; echo 1 > sched/enable; cd ..; echo 0 > tracing_on",
	       "> events/sched/enable\n[1\n]\n> tracing_on\n[0\n]\n", "", "");
	expect("cd /tmp; cd /sys/kernel/tracing && pwd; cd instances; pwd", "",
	       "/sys/kernel/tracing\n/sys/kernel/tracing/instances\n", "");
}

static void quotes(void **state)
{
	(void)state;
	expect("echo \"a $x'b'\" 'c\"d' e\\ f g\"h\"'i'", "", "a 'b' c\"d e f ghi\n", "");
	expect("echo '$x' \"\\$x\" \\$x \"\\\"\" '*'", "", "$x $x $x \" *\n", "");
	expect("echo a\\\nb \"c\\\nd\"", "", "ab cd\n", "");
	expect("echo 'one\\\n  two' > f", "> f\n[one\\\n]\n[  two\n]\n", "", "");
	expect("echo a # comment\n# comment\n  # comment\necho b#c", "", "a\nb#c\n", "");
}

static void escapes(void **state)
{
	(void)state;
	expect("echo -e 'a\\tb\\x41\\0101\\n'; echo 'a\\tb'", "", "a\tbAA\n\na\\tb\n", "");
	expect("printf '%s:%d\\n' a 1 b 2; printf x", "", "a:1\nb:2\nx", "");
	expect("echo -e 'a\\nb' > f; printf 'c\\nd' >> f", "> f\n[a\n]\n[b\n]\n>> f\n[c\n]\n[d]\n", "", "");
}

static void variables_and_substitution(void **state)
{
	(void)state;
	expect("x=5; y=\"a b\"; echo $x ${y}c \"$y\" $nosuchvar.", "", "5 a bc a b .\n", "");
	expect("echo $(echo x |) b", NULL, "b\n", "setup.sh: line 1: syntax error\n");
	expect("echo $(cat set_event_pid) `echo x` \"$(echo 'a  b')\"", "", "content of set_event_pid x a  b\n", "");
	expect("cat a > b", "> b\n[content of a\n]\n", "", "");
	expect("false; echo $?; true; echo $?", "", "1\n0\n", "");
}

static void loops_and_conditions(void **state)
{
	(void)state;
	expect("for e in a b; do echo 1 > x/$e/enable; done", "> x/a/enable\n[1\n]\n> x/b/enable\n[1\n]\n", "", "");
	expect("for e in events/sched/*/enable\ndo\necho $e\ndone", "",
	       "events/sched/sched_switch/enable\nevents/sched/sched_waking/enable\n", "");
	expect("if [ -e nosuch ]; then echo a; elif [ -d dir ]; then echo b; else echo c; fi", "", "b\n", "");
	expect("test 1 -lt 2 && echo a || echo b; ! true || echo c", "", "a\nc\n", "");
	expect("i=x; while [ $i != xxx ]; do i=x$i; done; echo $i", "", "xxx\n", "");
}

static void errors_read_as_in_bash(void **state)
{
	(void)state;
	expect("echo a > b\necho wrong > c\necho d > e\n", "> b\n[a\n]\n> c\n[wrong\n]\n> e\n[d\n]\n", "",
	       "setup.sh: line 2: echo: write error: Invalid argument\n");
	expect("\necho 1 > nosuch\n", "", "", "setup.sh: line 2: nosuch: Permission denied\n");
	expect("mkdir instances/there; rmdir instances/busy; cat nosuch", NULL, "",
	       "mkdir: cannot create directory 'instances/there': File exists\n"
	       "rmdir: failed to remove 'instances/busy': Device or resource busy\n"
	       "cat: nosuch: Permission denied\n");
	expect("echo wrong > c 2>/dev/null; cat nosuch 2>/dev/null", "> c\n[wrong\n]\n", "", "");
	expect("echo 'a\nwrong' > f", "> f\n[a\n]\n[wrong\n]\n", "", "setup.sh: line 2: echo: write error: Invalid argument\n");
}

static void the_rest_goes_on_behind_a_syntax_error(void **state)
{
	(void)state;
	expect("echo a > b\necho x &\necho c > d\n", "> b\n[a\n]\n> d\n[c\n]\n", "",
	       "setup.sh: line 2: background commands need a shell: see `tracefuse shell`\n");
	expect("for x in a\necho 1 > f\n", NULL, NULL, NULL);
	expect("echo 'open\n", NULL, "", NULL);
	expect("nosuchcommand a b\necho x", "", "x\n",
	       "setup.sh: line 1: nosuchcommand: not a command of the setup reader: see `tracefuse shell`\n");
}

static void pasted_documents(void **state)
{
	(void)state;
	expect("Some prose: cat and echo.\n\n    # echo 'hist:keys=pid' >> \\\n    events/a/trigger\n\n"
	       "for this that it isn't\n    # cat x\n    # event histogram\n    # trigger info: hist\n{ pid: 1 }\n",
	       ">> events/a/trigger\n[hist:keys=pid\n]\n", "content of x\n", "");
	expect("# echo 'a: \\\n       b' >>\n        /sys/kernel/debug/tracing/x/trigger\n\nprose\n",
	       ">> x/trigger\n[a: \\\n]\n[       b\n]\n", "", "");
	expect(" # echo 'k' >>      | |\n   events/b/trigger     |\n         |\n", ">> events/b/trigger\n[k\n]\n", "", "");
	expect("# echo 'a' \\\n    >> /sys/kernel/tracing/x\n$ echo b > y\n", ">> x\n[a\n]\n> y\n[b\n]\n", "", "");
}

static void prompts(void **state)
{
	(void)state;
	expect("root:/d/tracing # cat x\n12\nroot:/d/tracing #\nroot:/d/tracing # echo 1 > a\n", "> a\n[1\n]\n",
	       "content of x\n", "");
	expect("[tracing]# echo 1 > a\n[root@host tracing]$ sudo echo 2 > b\n", "> a\n[1\n]\n> b\n[2\n]\n", "", "");
	expect("# tracer: nop\n#\n# echo 1 > a\n#  TASK-PID\n# |\n", "> a\n[1\n]\n", "", "");
	expect("# echo 'one > a\n\nprose\n# echo 2 > b\n", "> b\n[2\n]\n", "one > a\n", "");
	expect("# echo 1 > a\n# rm x\n$ reboot\n", "> a\n[1\n]\n", "", "");
}

static void pipes(void **state)
{
	(void)state;
	expect("echo b; echo a | cat", "", "b\na\n", "");
	expect("cat x | cat > y", "> y\n[content of x\n]\n", "", "");
	expect("cat x |\n cat | cat", "", "content of x\n", "");
	expect("echo x | grep y", "", "",
	       "setup.sh: line 1: grep: not a command of the setup reader: see `tracefuse shell`\n");
	expect("echo x |", NULL, "", "setup.sh: line 1: syntax error\n");
}

static void programs_that_read(void **state)
{
	const struct setup_params p = { .programs = true };

	(void)state;
	expect_with(p, "cat x | wc -c", "", "13\n", "");
	expect_with(p, "grep of enable; grep enable nosuch", "", "content of enable\n",
		    "grep: nosuch: No such file or directory\n");
	expect_with(p, "tr c k < enable | sed 's/enable$/y/'", "", "kontent of y\n", "");
	expect_with(p, "printf '3\n1\n' | sort > y", "> y\n[1\n3\n]\n", "", "");
	expect_with(p, "grep -q x enable || echo none", "", "none\n", "");
	expect_with(p, "rm x", "", "", "setup.sh: line 1: rm: not a command of the setup reader: see `tracefuse shell`\n");
}

static void documents(void **state)
{
	const struct setup_params p = { .document = true };

	(void)state;
	expect_with(p, "cat and echo are commands\n# echo 1 > a\necho of prose\n", "> a\n[1\n]\n", "", "");
	expect_with(p, "echo 1 > a\n# a comment\n", "> a\n[1\n]\n", "", "");
}

/* A shell that only tells what it was given. */
static int note_shell(void *arg, const char *name, const char *text)
{
	FILE **log = arg;

	fprintf(*log, "%s: %zu bytes\n", name, strlen(text));
	return 0;
}

static int no_shell(void *arg, const char *name, const char *text)
{
	(void)arg;
	(void)name;
	(void)text;
	return -EPERM;
}

static bool goes_to_a_shell(const char *script)
{
	char *text = NULL;
	size_t size;
	FILE *log = open_memstream(&text, &size);
	struct setup_params p = { .shell = note_shell, .shell_arg = &log };
	bool went;

	expect_with(p, script, NULL, NULL, NULL);
	fclose(log);
	went = *text;
	free(text);
	return went;
}

static void what_needs_a_shell(void **state)
{
	(void)state;
	assert_true(goes_to_a_shell("f() { echo 1 > a; }\nf\n"));
	assert_true(goes_to_a_shell("echo $((1 + 2)) > a"));
	assert_true(goes_to_a_shell("x=abc; echo ${x%c} > a"));
	assert_true(goes_to_a_shell("while read l; do echo $l; done < f"));
	assert_true(goes_to_a_shell("for i in 1 2; do modprobe x$i; done"));
	assert_true(goes_to_a_shell("echo 1 > a & wait"));
	assert_true(goes_to_a_shell("(echo 1; echo 2) > a"));
	assert_true(goes_to_a_shell("echo $1"));
	assert_true(goes_to_a_shell("cat <<E\nx\nE\n"));
	assert_false(goes_to_a_shell("x=1; for i in $x; do echo $i > a || cat b | head -1; done; if [ -d a ]; then :; fi"));
	assert_false(goes_to_a_shell("echo 'hist:keys=pid:ts0=$((x)):${y%z}' >> a/trigger"));
	assert_false(goes_to_a_shell("# while read\necho \\$1 ${x} $? > a"));
}

static void the_kernels_files_are_not_written(void **state)
{
	(void)state;
	expect("echo 1 > /proc/sys/kernel/nosuch\n", "", "",
	       "setup.sh: line 1: /proc/sys/kernel/nosuch: Operation not permitted\n");
	expect("mkdir /sys/kernel/nosuch\n", "", "",
	       "mkdir: cannot create directory '/sys/kernel/nosuch': Operation not permitted\n");
	expect("echo 1 > /sys/kernel/tracing/../nosuch\n", "", "",
	       "setup.sh: line 1: /sys/kernel/tracing/../nosuch: Operation not permitted\n");
	expect("echo x > /dev/null\n", "", "", "");
}

static void without_a_shell_the_rest_goes_on(void **state)
{
	const struct setup_params p = { .shell = no_shell };

	(void)state;
	expect_with(p, "modprobe x\necho 1 > a\n", "> a\n[1\n]\n", "",
		    "setup.sh: line 1: modprobe: needs a shell, and that needs a mount: Operation not permitted; "
		    "the rest is read without\n"
		    "setup.sh: line 1: modprobe: not a command of the setup reader: see `tracefuse shell`\n");
}

static void comments_of_a_script_are_no_prompts(void **state)
{
	(void)state;
	expect("# echo 1 > a\necho 2 > b\n", "> b\n[2\n]\n", "", "");
}

static void paths(void **state)
{
	char out[64];

	(void)state;
	assert_true(access_path("", "/sys/kernel/tracing", out, sizeof(out)));
	assert_string_equal(out, "");
	assert_true(access_path("a/b", "../c/./d//e", out, sizeof(out)));
	assert_string_equal(out, "a/c/d/e");
	assert_false(access_path("", "../x", out, sizeof(out)));
	assert_false(access_path("", "/sys/kernel/tracingx", out, sizeof(out)));
	assert_false(access_path("", "/etc/passwd", out, sizeof(out)));
	assert_false(access_path("", "/sys/kernel/tracing/../security", out, sizeof(out)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(redirections), cmocka_unit_test(absolute_paths_mean_the_session),
		cmocka_unit_test(quotes), cmocka_unit_test(escapes),
		cmocka_unit_test(variables_and_substitution), cmocka_unit_test(loops_and_conditions),
		cmocka_unit_test(errors_read_as_in_bash),
		cmocka_unit_test(the_rest_goes_on_behind_a_syntax_error),
		cmocka_unit_test(pasted_documents), cmocka_unit_test(prompts), cmocka_unit_test(documents),
		cmocka_unit_test(pipes), cmocka_unit_test(what_needs_a_shell),
		cmocka_unit_test(without_a_shell_the_rest_goes_on),
		cmocka_unit_test(the_kernels_files_are_not_written), cmocka_unit_test(programs_that_read),
		 cmocka_unit_test(comments_of_a_script_are_no_prompts),
		cmocka_unit_test(paths),
	};

	return cmocka_run_group_tests_name("setup", tests, NULL, NULL);
}
