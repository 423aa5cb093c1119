/* SPDX-License-Identifier: MIT */
/*
 * setup.c - the setup reader, with files that only note what is done to them
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

static int note_list(struct access *a, const char *path,
		     int (*fn)(void *arg, const char *name, bool is_dir), void *arg)
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

/*
 * Runs a script and compares its writes to files, its output and its errors; NULL: any are right.
 */
static void expect_with(struct setup_params p, const char *script, const char *log, const char *out,
			const char *err)
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
	expect("echo 1 > a\necho 'x y' >> b/c\necho -n z>d\n",
	       "> a\n[1\n]\n>> b/c\n[x y\n]\n> d\n[z]\n", "", "");
	expect("> trace\n", "> trace\n", "", "");
	expect("echo > set_event", "> set_event\n[\n]\n", "", "");
	expect("echo a > 'b' c", "> b\n[a c\n]\n", "", "");
}

static void absolute_paths_mean_the_session(void **state)
{
	(void)state;
	expect("echo 1 > /sys/kernel/tracing/events/enable\necho 2 > "
	       "/sys/kernel/debug/tracing/x/../y\n",
	       "> events/enable\n[1\n]\n> y\n[2\n]\n", "", "");
	expect("cd /sys/kernel/debug/tracing; cd events; echo 1 > sched/enable; cd ..; echo 0 > "
	       "tracing_on",
	       "> events/sched/enable\n[1\n]\n> tracing_on\n[0\n]\n", "", "");
	expect("cd /tmp; cd /sys/kernel/tracing; cat a; cd instances; cat a; cd enable", "",
	       "content of a\ncontent of instances/a\n",
	       "setup.sh: line 1: cd: enable: Not a directory\n");
	expect("cd /proc; cd self\ncat nosuch", "", "", "cat: nosuch: No such file or directory\n");
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

static void variables(void **state)
{
	(void)state;
	expect("x=5; y=\"a b\" z=; echo $x ${y}c \"$y\" $nosuchvar. $z", "", "5 a bc a b .\n", "");
	expect("x='a  b' y=$x; echo $y \"$y\"; echo \"$\" $ \"$.\" '${y%z}'", "",
	       "a b a  b\n$ $ $. ${y%z}\n", "");
	expect("cat ''; x=-n; cat $x", "", "",
	       "cat: : No such file or directory\nsetup.sh: line 1: cat: such arguments need a "
	       "real shell\n");
	expect("x='a b'; echo 1 > $x; echo 2 > $no; echo 3 > \"$x\"", "> a b\n[3\n]\n", "",
	       "setup.sh: line 1: $x: ambiguous redirect\nsetup.sh: line 1: $no: ambiguous "
	       "redirect\n");
	expect("cat $no; cd $no; x='a b'; ls $x; echo $no\n", "", "\n",
	       "setup.sh: line 1: cat: such arguments need a real shell\n"
	       "setup.sh: line 1: cd: such arguments need a real shell\n"
	       "setup.sh: line 1: ls: such arguments need a real shell\n");
	expect("cat a > b", "> b\n[content of a\n]\n", "", "");
	expect("cd /proc; ls; ls ''", "", "",
	       "setup.sh: line 1: ls: directories outside of the session need a real shell\n"
	       "ls: cannot access '': No such file or directory\n");
}

static void here_documents(void **state)
{
	(void)state;
	expect("x=5\ncat > f <<END\na $x \"b\" \\$x \\n\\\n 'c'\n\tEND\nEND\ncat g\n",
	       "> f\n[a 5 \"b\" $x \\n 'c'\n\tEND\n]\n", "content of g\n", "");
	expect("cat << E\na\\\nE\n\\\\\nE\n", "", "aE\n\\\n", "");
	expect("cat << 'END' >> f\na $x \\\n`b`\nEND\n", ">> f\n[a $x \\\n`b`\n]\n", "", "");
	expect("for i in 1 2; do\ncat <<E > f\n$i\nE\ndone\n", "> f\n[1\n]\n> f\n[2\n]\n", "", "");
	expect("cat <<E\nE\necho wrong > f\n", NULL, "",
	       "setup.sh: line 3: echo: write error: Invalid argument\n");
}

static void loops(void **state)
{
	(void)state;
	expect("for e in a b; do echo 1 > x/$e/enable; done",
	       "> x/a/enable\n[1\n]\n> x/b/enable\n[1\n]\n", "", "");
	expect("all='a b'\nfor e in $all \"$all\" # three\ndo\n\techo $e.\n\n\techo; done\necho "
	       "done",
	       "", "a.\n\nb.\n\na b.\n\ndone\n", "");
	expect("for i in 1 2; do for k in $i 3; do echo $i$k; done; done; echo $i", "",
	       "11\n13\n22\n23\n2\n", "");
	expect("for e in $nothing; do echo a; done; echo b", "", "b\n", "");
}

static void errors_read_as_in_bash(void **state)
{
	(void)state;
	expect("echo a > b\necho wrong > c\necho d > e\n",
	       "> b\n[a\n]\n> c\n[wrong\n]\n> e\n[d\n]\n", "",
	       "setup.sh: line 2: echo: write error: Invalid argument\n");
	expect("\necho 1 > nosuch\n", "", "", "setup.sh: line 2: nosuch: Permission denied\n");
	expect("mkdir instances/there; rmdir instances/busy; cat nosuch", NULL, "",
	       "mkdir: cannot create directory 'instances/there': File exists\n"
	       "rmdir: failed to remove 'instances/busy': Device or resource busy\n"
	       "cat: nosuch: Permission denied\n");
	expect("mkdir -p instances/there instances/x", "mkdir instances/there\nmkdir instances/x\n",
	       "", "");
	expect("cat x > wrong\ncat wrong > y\n", NULL, "", "cat: write error: Invalid argument\n");
	expect("echo 'a\nwrong' > f", "> f\n[a\n]\n[wrong\n]\n", "",
	       "setup.sh: line 2: echo: write error: Invalid argument\n");
}

static void nothing_is_run(const char *script, const char *why)
{
	char text[256], err[512];

	snprintf(text, sizeof(text), "echo a > b\n%s", script);
	snprintf(err, sizeof(err), "setup.sh: line %s; no line was run\n", why);
	expect(text, "", "", err);
}

static void nothing_of_a_broken_script_is_run(void **state)
{
	(void)state;
	nothing_is_run("echo 'open\necho c\n", "2: the end of a quote is missing");
	nothing_is_run("echo c\n\necho \"a 'b\n", "4: the end of a quote is missing");
	nothing_is_run("for x in a\ndo\necho 1 > f\n", "2: the done of a loop is missing");
	nothing_is_run("cat x |", "2: a command is missing");
	nothing_is_run("echo x > ; cat", "2: the target of a redirection is missing");
	nothing_is_run("cat <<E > x\nE \n", "2: the end of a here-document is missing");
	nothing_is_run("cat <<E > x", "2: the end of a here-document is missing");
}

static void pasted_documents(void **state)
{
	(void)state;
	expect("Some prose: cat and echo.\n\n    # echo 'hist:keys=pid' >> \\\n    "
	       "events/a/trigger\n\n"
	       "for this that it isn't\n    # cat x\n    # event histogram\n    # trigger info: "
	       "hist\n{ pid: 1 }\n",
	       ">> events/a/trigger\n[hist:keys=pid\n]\n", "content of x\n", "");
	expect("# echo 'a: \\\n       b' >>\n        "
	       "/sys/kernel/debug/tracing/x/trigger\n\nprose\n",
	       ">> x/trigger\n[a: \\\n]\n[       b\n]\n", "", "");
	expect(" # echo 'k' >>      | |\n   events/b/trigger     |\n         |\n",
	       ">> events/b/trigger\n[k\n]\n", "", "");
	expect("# echo 'a' \\\n    >> /sys/kernel/tracing/x\n$ echo b > y\n",
	       ">> x\n[a\n]\n> y\n[b\n]\n", "", "");
}

static void prompts(void **state)
{
	(void)state;
	expect("root:/d/tracing # cat x\n12\nroot:/d/tracing #\nroot:/d/tracing # echo 1 > a\n",
	       "> a\n[1\n]\n", "content of x\n", "");
	expect("[tracing]# echo 1 > a\n[root@host tracing]$ sudo echo 2 > b\n",
	       "> a\n[1\n]\n> b\n[2\n]\n", "", "");
	expect("# tracer: nop\n#\n# echo 1 > a\n#  TASK-PID\n# |\n", "> a\n[1\n]\n", "", "");
	expect("# echo 'one > a\n\nprose\n# echo 2 > b\n", "> b\n[2\n]\n", "one > a\n", "");
	expect("  # cat >> a << 'E'\n  prose\n\n    $x 'y\n  E\nprose\n# echo 2 > b\n",
	       ">> a\n[prose\n\n  $x 'y\n]\n> b\n[2\n]\n", "", "");
	expect("# echo 1 > a\n# rm x\n$ reboot\n", "> a\n[1\n]\n", "", "");
}

static void pipes(void **state)
{
	(void)state;
	expect("echo b; echo a | cat", "", "b\na\n", "");
	expect("cat x | cat > y", "> y\n[content of x\n]\n", "", "");
	expect("cat x |\n cat | cat", "", "content of x\n", "");
}

static void programs_that_read(void **state)
{
	(void)state;
	expect("cat x | wc -c", "", "13\n", "");
	expect("cat x y z | grep -v y | tail -n 1 > f\necho 1 | head -2", "> f\n[content of z\n]\n",
	       "1\n", "");
	expect("sort <<E | cat\nE\n", NULL, "", NULL);
	expect("sort > y <<E\n3\n1\nE\n", "> y\n[1\n3\n]\n", "", "");
	expect("cat x | grep y", "", "", "");
}

static void documents(void **state)
{
	const struct setup_params p = { .document = true };

	(void)state;
	expect_with(p, "cat and echo are commands\n# echo 1 > a\necho of prose\n", "> a\n[1\n]\n",
		    "", "");
	expect_with(p, "echo 1 > a\n# a comment\n", "> a\n[1\n]\n", "", "");
	expect_with(p, "prose\n# echo 1 > a\n# cat trace | less\n", "", "",
		    "setup.sh: line 3: 'less' needs a real shell: see `tracefuse shell`; no line "
		    "was run\n");
}

/* A shell that only notes what it was given. */
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
	return -ENODEV;
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

static const char *const of_a_shell[] = {
	"f() { echo 1 > a; }\nf",
	"echo $((1 + 2)) > a",
	"x=abc; echo ${x%c} > a",
	"echo $1",
	"echo $? $$",
	"while read l; do echo $l; done < f",
	"for i in 1 2; do modprobe x$i; done",
	"for i; do :; done",
	"echo 1 > a & wait",
	"(echo 1; echo 2) > a",
	"{ echo 1; }",
	"echo {1,2}",
	"echo ~",
	"echo $'a'",
	"if [ -d a ]; then echo b; fi",
	"test -e a",
	"echo a && echo b",
	"echo a || echo b",
	"! echo a",
	"echo $(cat x)",
	"echo `cat x`",
	"echo \"$(cat x)\"",
	"echo a*",
	"cat [ab]",
	"echo -e a",
	"echo -n -n",
	"printf x",
	"sleep 1",
	"exit 1",
	"set -e",
	"export x=1",
	"x=1 echo a",
	"nosuchcommand",
	"\"echo\" a",
	"echo 1 2> a",
	"echo 1 >& 2",
	"cat < a",
	"echo 1 > a > b",
	"cat <<-E\n\tE\n",
	"cat <<< a",
	"cat <<E$x\nE\n",
	"cat <<E\n$(a)\nE\n",
	"cat <<E\n\\\\`a`\nE\n",
	"cat <<E\n${x%a}\nE\n",
	"echo $x\\\na",
	"echo \"$\\\na\"",
	"cat",
	"cat -",
	"cat -n a",
	"ls -l",
	"ls a b",
	"cd",
	"mkdir",
	"mkdir -m 7 a",
	"echo a | sed s/a/b/",
	"grep x a",
	"cat a | grep x b",
	"cat a | head b",
	"echo a > b | cat",
	"cat <<E | cat\nE\n",
	"echo a;; echo b",
	"a |& cat",
	"for i in a; do echo $i; done > b",
	"for i in a; do; echo; done",
	"done",
	"| cat",
	"; echo",
	"echo a | x=1",
	"cd a | cat",
	"cat a | cd b",
	"cat a | mkdir b",
	"ls /etc",
	"x=~/a",
	"x=a:~/b",
	"echo a=~",
	"echo $PWD",
	"cat <<E\n${UID}\nE",
	"IFS=:",
	"for PATH in a; do echo; done",
};

static void what_needs_a_shell(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(of_a_shell) / sizeof(of_a_shell[0]); i++)
		if (!goes_to_a_shell(of_a_shell[i]))
			fail_msg("%s", of_a_shell[i]);
	assert_false(goes_to_a_shell(
		"x=1; for i in $x; do echo $i > a; cat b | head -n 1; done; mkdir -p a; cd a"));
	assert_false(goes_to_a_shell("echo 'hist:keys=pid:ts0=$((x)):${y%z}' >> a/trigger"));
	assert_false(goes_to_a_shell("# while read\necho \\$1 ${x} \\* -5 a!b > a"));
}

static void without_a_shell_nothing_is_run(void **state)
{
	const struct setup_params p = { .shell = no_shell };

	(void)state;
	expect_with(p, "echo 1 > a\nmodprobe x\n", "", "",
		    "setup.sh: line 2: 'modprobe' needs a real shell, and there can be none: "
		    "there is no /dev/fuse here: root can `modprobe fuse`; no line was run\n");
	nothing_is_run("cat <<E\na\\\n$x\n$1\nE\n",
		       "5: '$1' needs a real shell: see `tracefuse shell`");
	nothing_is_run("rm x", "2: 'rm' needs a real shell: see `tracefuse shell`");
	nothing_is_run("cat a ||\n echo b", "2: '||' needs a real shell: see `tracefuse shell`");
	nothing_is_run("echo a; echo \"\nb $(cat c)\"",
		       "3: '$(cat' needs a real shell: see `tracefuse shell`");
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

static void comments_of_a_script_are_no_prompts(void **state)
{
	(void)state;
	assert_true(goes_to_a_shell("#!/bin/sh\n# echo 1 > a\nmodprobe x\n"));
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
		cmocka_unit_test(redirections),
		cmocka_unit_test(absolute_paths_mean_the_session),
		cmocka_unit_test(quotes),
		cmocka_unit_test(variables),
		cmocka_unit_test(here_documents),
		cmocka_unit_test(loops),
		cmocka_unit_test(errors_read_as_in_bash),
		cmocka_unit_test(nothing_of_a_broken_script_is_run),
		cmocka_unit_test(pasted_documents),
		cmocka_unit_test(prompts),
		cmocka_unit_test(documents),
		cmocka_unit_test(pipes),
		cmocka_unit_test(programs_that_read),
		cmocka_unit_test(what_needs_a_shell),
		cmocka_unit_test(without_a_shell_nothing_is_run),
		cmocka_unit_test(the_kernels_files_are_not_written),
		cmocka_unit_test(comments_of_a_script_are_no_prompts),
		cmocka_unit_test(paths),
	};

	return cmocka_run_group_tests_name("setup", tests, NULL, NULL);
}
