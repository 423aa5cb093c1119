/* SPDX-License-Identifier: MIT */
/*
 * shell.c - random setup scripts: a script that the built-in reader accepts has the same effect as
 * in bash
 *
 * usage: shell [SCRIPTS [SEED]]
 *
 * Each script is run twice, in two directories. The output, the errors and the files must be the
 * same. Scripts that the reader leaves to a shell are only counted.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "access/access.h"
#include "language.h"
#include "model/text.h"
#include "setup/setup.h"

/* ---- a session without files: scripts only use a directory of the host ---- */

static int no_open(struct access *a, const char *path, int flags, struct access_file **out)
{
	return -ENOENT;
}

static int no_stat(struct access *a, const char *path, mode_t *mode)
{
	return -ENOENT;
}

static const struct access_ops no_files = { .open = no_open, .stat = no_stat };

/* ---- scripts ---- */

static const char *pick(struct random *r, const char *const *list, unsigned int nr)
{
	return list[random_below(r, nr)];
}

#define PICK(r, list) pick(r, list, sizeof(list) / sizeof(list[0]))

/* No word leads out of the directory. */
static void put_word(struct random *r, FILE *out)
{
	static const char *const parts[] = {
		"a", "b", "c1", "-n", "=", "a", "d", "f", "g", "x=2", "$x", "${y}", "$z", "$no",
		"$", "\"$\"", "'p q'", "' $x '", "\"r  s\"", "\"$x\"", "\"${y}t\"", "\"\\$x\"",
		"\"\\\"\\\\\\n\"", "\"'\"", "\\ ", "\\\\", "\\'", "\\\"", "\\$", "\\#", "#", "''",
		"\"\"", "\\\n", "\"u\\\nv\"", "'w\\'", "!", "%", "^", "}", ":", ",", ".", "0", "17",
		"do", "done", "in", "for", "$\\\n", "$(echo a)", "${x#a}", "`echo a`", "*", "{a,b}",
	};
	unsigned int n = 1 + random_below(r, 3);

	while (n--)
		fputs(PICK(r, parts), out);
}

static void put_argument(struct random *r, FILE *out)
{
	static const char *const files[] = { "f", "f", "g", "d/f", "d", "$x", "\"$y\"", "." };
	static const char *const gaps[] = { " ", " ", "  ", "\t", " \\\n" };

	fputs(PICK(r, gaps), out);
	if (random_below(r, 3))
		put_word(r, out);
	else
		fputs(PICK(r, files), out);
}

static void put_command(struct random *r, FILE *out)
{
	static const struct {
		const char	*name;
		unsigned int	least, most;
	} commands[] = {
		{ "echo", 0, 4 }, { "echo", 0, 4 }, { "echo -n", 0, 3 }, { "cat", 1, 3 },
		{ "mkdir", 1, 2 }, { "mkdir -p", 1, 2 }, { "mkdir d", 0, 0 }, { "rmdir", 1, 2 },
		{ "cd d", 0, 0 }, { "cd nosuch", 0, 0 }, { "x=$y y=", 0, 0 }, { "x=f y=a", 0, 0 },
		{ "y='a  b' z=", 0, 0 }, { "z=\"$x $y\"", 0, 0 }, { "z= ", 0, 1 },
	};
	static const char *const targets[] = { " > ", " >> ", ">", " >" };
	static const char *const files[] = { "f", "f", "g", "d/f", "$x", "\"$y\"", "'f g'" };
	unsigned int which = random_below(r, sizeof(commands) / sizeof(commands[0]));
	unsigned int n = commands[which].least;

	fputs(commands[which].name, out);
	for (n += random_below(r, commands[which].most - n + 1); n; n--)
		put_argument(r, out);
	if (!random_below(r, 4)) {
		fputs(PICK(r, targets), out);
		fputs(PICK(r, files), out);
	}
}

static void put_here(struct random *r, FILE *out)
{
	static const char *const ends[] = { "E", "'E'", "\"E\"" };
	static const char *const lines[] = {
		"text", "$x ${y}", "\\$x \\\\ \\n \\\"", "'$z'", "\"q\"", "", "\tE", "E ", "a\\\nb",
		"#", "a\\\\", "$", "$(echo a)", "\\$(a)", "${x%a}", "`echo a`", "$x\\\na", "$\\",
	};
	unsigned int n = random_below(r, 4);

	fprintf(out, "cat << %s", PICK(r, ends));
	if (random_below(r, 2))
		fputs(" > f", out);
	fputc('\n', out);
	while (n--)
		fprintf(out, "%s\n", PICK(r, lines));
	fputs("E\n", out);
}

static void put_list(struct random *r, FILE *out, unsigned int depth);

static void put_line(struct random *r, FILE *out, unsigned int depth)
{
	static const char *const filters[] = {
		"cat", "wc -l", "head -n 1", "tail -n 2", "sort", "grep -v a", "grep -c ''",
	};
	unsigned int n;

	switch (random_below(r, 8)) {
	case 0:
		put_here(r, out);
		break;
	case 1:
		put_command(r, out);
		for (n = 1 + random_below(r, 2); n; n--)
			fprintf(out, " | %s", PICK(r, filters));
		break;
	case 2:
		if (depth < 3) {
			fputs("for x in", out);
			for (n = random_below(r, 4); n; n--) {
				fputc(' ', out);
				put_word(r, out);
			}
			fputs(random_below(r, 2) ? "; do " : "\ndo\n", out);
			put_list(r, out, depth + 1);
			fputs("done", out);
			break;
		}
		/* fallthrough */
	default:
		put_command(r, out);
	}
}

static void put_list(struct random *r, FILE *out, unsigned int depth)
{
	unsigned int n = 1 + random_below(r, depth ? 3 : 5);

	while (n--) {
		put_line(r, out, depth);
		fputs(random_below(r, 8) ? "\n" : " # $x 'c\n", out);
	}
}

/* ---- running them ---- */

struct result {
	char		*printed;	/* the output, and the resulting files */
	size_t		len;
};

static FILE *tree_text;

/* Errors of the real cat, mkdir and rmdir quote names; some versions only if they must. */
static void add_printed(FILE *in)
{
	char *line = NULL;
	size_t cap = 0;

	rewind(in);
	while (getline(&line, &cap, in) > 0) {
		bool error = strstr(line, "cat: ") || strstr(line, "dir: ");

		for (const char *s = line; *s; s++)
			if (!error || !strchr("'\"\\", *s))
				fputc(*s, tree_text);
	}
	free(line);
	fclose(in);
}

static int add_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char buf[4096];
	FILE *in = S_ISREG(st->st_mode) ? fopen(path, "r") : NULL;
	size_t n;

	fprintf(tree_text, "-- %s\n", path + 1);
	if (!in)
		return 0;
	while ((n = fread(buf, 1, sizeof(buf), in)) > 0)
		fwrite(buf, 1, n, tree_text);
	fclose(in);
	return 0;
}

static int remove_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return strcmp(path, ".") ? remove(path) : 0;
}

/*
 * Runs a script in a child, so that it does not change this process's directory. Returns the exit
 * status.
 */
static int run(const char *dir, const char *script, int (*fn)(const char *script),
	       struct result *result)
{
	FILE *out = tmpfile(), *err = tmpfile();
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		if (chdir(dir) || dup2(fileno(out), 1) < 0 || dup2(fileno(err), 2) < 0)
			_exit(99);
		_exit(fn(script));
	}
	waitpid(pid, &status, 0);
	tree_text = open_memstream(&result->printed, &result->len);
	add_printed(out);
	add_printed(err);
	if (chdir(dir) || nftw(".", add_file, 8, FTW_PHYS) ||
	    nftw(".", remove_file, 8, FTW_DEPTH | FTW_PHYS))
		perror(dir);
	fclose(tree_text);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_bash(const char *script)
{
	execlp("bash", "bash", "-c", script, "setup.sh", (char *)NULL);
	return 127;
}

enum { LEFT_TO_A_SHELL = 77 };

static int run_reader(const char *script)
{
	struct access files = { &no_files };
	struct setup_params params = { .access = &files, .name = "setup.sh" };
	int ret = setup_run_text(&params, script, strlen(script));

	fflush(NULL);
	return ret == -ENOEXEC ? LEFT_TO_A_SHELL : 0;
}

static void print_text(const char *title, const char *text)
{
	printf("# --- %s\n", title);
	for (const char *s = text; *s; s = text_next_line(s))
		printf("#  |%.*s|\n", (int)strcspn(s, "\n"), s);
}

static char *make_script(uint64_t seed, const char *dir)
{
	struct random r = { .state = seed };
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	fprintf(out, "cd %s\n", dir);
	put_list(&r, out, 0);
	fclose(out);
	return text;
}

int main(int argc, char **argv)
{
	unsigned long scripts = argc > 1 ? strtoul(argv[1], NULL, 10) : 300, left = 0, failed = 0;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	char dir[] = "/tmp/tracefuse-shell-XXXXXX";

	if (system("command -v bash >/dev/null")) {
		printf("1..0 # SKIP there is no bash\n");
		return 0;
	}
	setenv("LC_ALL", "C", 1);
	if (!mkdtemp(dir))
		return 1;
	setenv("HOME", dir, 1);
	for (unsigned long i = 0; i < scripts; i++) {
		char *script = make_script(seed + i, dir);
		struct result reader, bash;
		int status = run(dir, script, run_reader, &reader);

		run(dir, script, run_bash, &bash);
		if (status == LEFT_TO_A_SHELL || strstr(reader.printed, "need a real shell")) {
			left++;
		} else if (status || strcmp(reader.printed, bash.printed)) {
			printf("# seed %lu, status %d\n", (unsigned long)seed + i, status);
			print_text("script", script);
			print_text("bash", bash.printed);
			print_text("the reader", reader.printed);
			failed++;
		}
		free(reader.printed);
		free(bash.printed);
		free(script);
	}
	rmdir(dir);
	printf("%sok 1 - what the reader does is what bash does\n", failed ? "not " : "");
	printf("%sok 2 - enough scripts are for the reader\n",
	       left * 3 > scripts * 2 ? "not " : "");
	printf("# %lu scripts, %lu of them for a shell, %lu differ\n1..2\n", scripts, left, failed);
	return 0;
}
