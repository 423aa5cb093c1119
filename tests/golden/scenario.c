/* SPDX-License-Identifier: MIT */
/*
 * scenario.c - replays what a real kernel recorded through its own setup, and compares every file
 *
 * usage: scenario EXCLUDED DIR...
 *
 * A scenario has trace.dat (and snapshot.dat: one window), setup.sh, phaseN.sh
 * given at the print event "phase N", trace.txt (the file `trace`), and expect/
 * (one file a tracefs file, "/" written as "__"; trace.OPT.txt: `trace` with
 * option OPT). Prints TAP, one test a file.
 */
#include <dirent.h>
#include <errno.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fronts/access.h"
#include "fronts/setup.h"
#include "house.h"
#include "model/model.h"
#include "model/symbols.h"
#include "sources/source.h"
#include "tracefs/tree.h"

enum { FILE_MAX_BYTES = 64 << 20 };

static int nr_tests, nr_failed;

static char *slurp(const char *path)
{
	FILE *in = fopen(path, "r");
	char *buf = NULL;
	size_t cap = 0;
	ssize_t n;

	if (!in)
		return NULL;
	n = getdelim(&buf, &cap, EOF, in);
	if (n < 0) {
		free(buf);
		buf = strdup("");
	}
	fclose(in);
	return buf;
}

/* The list of files that are left out, with the reason of each. */
static char *excluded_list;

static bool excluded(const char *scenario, const char *name)
{
	char line[256];

	snprintf(line, sizeof(line), "\n%s %s\t", scenario, name);
	return excluded_list && strstr(excluded_list, line);
}

static void command(struct house *h, const char *file, const char *text)
{
	house_command(h, "w", file, text, strlen(text));
}

/* Replaces what stands for a time or an address of the recording machine. */
static void blank_out(char *text, const char *pattern)
{
	regex_t re;
	regmatch_t m[2];

	if (regcomp(&re, pattern, REG_EXTENDED | REG_NEWLINE))
		abort();
	for (char *s = text; !regexec(&re, s, 2, m, 0); s += m[0].rm_eo)
		memset(s + m[1].rm_so, '?', (size_t)(m[1].rm_eo - m[1].rm_so));
	regfree(&re);
}

/* A hashed pointer, or what the kernel prints before it can hash. */
static void blank_pointer(char *text)
{
	static const char mark[] = "hist_data: ";

	for (char *s = text; (s = strstr(s, mark)); s += strlen(mark)) {
		char *v = s + strlen(mark);
		size_t n = strcspn(v, "\n");

		memmove(v, v + n, strlen(v + n) + 1);
	}
}

/* ---- Histograms: the kernel leaves entries that tie in any order ---- */

/* One entry: "{ key } values" with the lines of a stack trace in it. */
static size_t entry_length(const char *s)
{
	const char *end = strstr(s, "}");

	return end ? (size_t)(end - s) + strcspn(end, "\n") + (end[strcspn(end, "\n")] == '\n') : strlen(s);
}

/* The text of the sort fields of an entry: what has to be in order. */
static void sort_text(const char *entry, size_t len, const char *fields, FILE *out)
{
	char name[80];

	while (*fields) {
		const char *at;

		snprintf(name, sizeof(name), " %.*s: ", (int)strcspn(fields, ",."), fields);
		at = memmem(entry, len, name, strlen(name));
		if (at) {
			at += strlen(name);
			at += strspn(at, " ");
			fprintf(out, "%.*s;", (int)strcspn(at, " ,}\n"), at);
		}
		fields += strcspn(fields, ",");
		fields += *fields == ',';
	}
	fputc('\n', out);
}

static int compare_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The order of the sort fields of one histogram's entries, then the entries in order of their text. */
static const char *normalize_entries(const char *s, const char *fields, FILE *out)
{
	char **entries = NULL;
	size_t n = 0;

	while (*s == '{') {
		size_t len = entry_length(s);

		sort_text(s, len, fields, out);
		entries = realloc(entries, (n + 1) * sizeof(*entries));
		entries[n++] = strndup(s, len);
		s += len;
	}
	qsort(entries, n, sizeof(*entries), compare_text);
	for (size_t i = 0; i < n; i++) {
		fputs(entries[i], out);
		free(entries[i]);
	}
	free(entries);
	return s;
}

static char *normalize_hist(char *text)
{
	char *out, fields[256] = "hitcount";
	size_t size;
	FILE *f = open_memstream(&out, &size);

	for (const char *s = text; *s;) {
		const char *sort = strstr(s, ":sort=");
		size_t len = strcspn(s, "\n") + (s[strcspn(s, "\n")] == '\n');

		if (*s == '{') {
			s = normalize_entries(s, fields, f);
			continue;
		}
		if (!strncmp(s, "# trigger info:", 15) && sort && sort < s + len)
			snprintf(fields, sizeof(fields), "%.*s", (int)strcspn(sort + 6, ":[ "), sort + 6);
		fwrite(s, 1, len, f);
		s += len;
	}
	fclose(f);
	free(text);
	return out;
}

static void normalize(const char *name, char *text)
{
	if (strstr(name, "error_log"))
		blank_out(text, "^\\[( *[0-9]+\\.[0-9]{6})\\]");
	if (strstr(name, "hist_debug"))
		blank_pointer(text);
	if (strstr(name, "stats"))
		blank_out(text, "^now ts:( *[0-9.]+)$");
}

static void first_difference(const char *want, const char *got)
{
	const char *line = want;
	long nr = 1, at = 0;

	while (want[at] && want[at] == got[at])
		if (want[at++] == '\n') {
			nr++;
			line = want + at;
		}
	printf("#   line %ld\n# kernel    |%.*s|\n# tracefuse |%.*s|\n", nr, (int)strcspn(line, "\n"), line,
	       (int)strcspn(got + (line - want), "\n"), got + (line - want));
}

static void verdict(const char *scenario, const char *name, const char *want, const char *got, int err)
{
	bool same = !err && !strcmp(want, got);

	printf("%s %d - %s %s\n", same ? "ok" : "not ok", ++nr_tests, scenario, name);
	nr_failed += !same;
	if (err)
		printf("#   %s\n", strerror(err));
	else if (!same)
		first_difference(want, got);
	if (!same && getenv("KEEP")) {
		char path[512];
		FILE *out;

		snprintf(path, sizeof(path), "%s/%s.%s", getenv("KEEP"), scenario, name);
		out = fopen(path, "w");
		if (out) {
			fputs(got, out);
			fclose(out);
		}
	}
	fflush(stdout);
}

/* Compares `file` of the tree with the text at `path`. */
static void compare(struct house *h, const char *scenario, const char *path, const char *name, const char *file)
{
	char *want = excluded(scenario, name) ? NULL : slurp(path), *got;
	size_t len;
	int err;

	if (!want)
		return;
	got = house_read(h, file, FILE_MAX_BYTES, &len, &err);
	normalize(name, want);
	normalize(name, got);
	if (strlen(name) > 6 && !strcmp(name + strlen(name) - 6, "__hist")) {
		want = normalize_hist(want);
		got = normalize_hist(got);
	}
	verdict(scenario, name, want, got, err);
	free(want);
	free(got);
}

/* "events__sched__sched_switch__hist" -> "events/sched/sched_switch/hist" */
static void tree_path(const char *name, char *out, size_t size)
{
	size_t n = 0;

	for (const char *s = name; *s && n + 1 < size; s++) {
		if (s[0] == '_' && s[1] == '_') {
			out[n++] = '/';
			s++;
		} else {
			out[n++] = *s;
		}
	}
	out[n] = '\0';
}

/* trace.OPT.txt: the same buffer printed with option OPT ("noOPT": cleared). */
static void compare_option(struct house *h, const char *scenario, const char *path, const char *name)
{
	char option[64], undo[68];

	snprintf(option, sizeof(option), "%.*s", (int)(strlen(name) - strlen("trace..txt")), name + strlen("trace."));
	if (!strncmp(option, "no", 2))
		snprintf(undo, sizeof(undo), "%s", option + 2);
	else
		snprintf(undo, sizeof(undo), "no%s", option);
	command(h, "trace_options", option);
	compare(h, scenario, path, name, "trace");
	command(h, "trace_options", undo);
}

static void compare_all(struct house *h, const char *dir, const char *scenario)
{
	struct dirent **names;
	char path[1024], file[512];
	struct tree_stat st;
	int n;

	snprintf(path, sizeof(path), "%s/trace.txt", dir);
	compare(h, scenario, path, "trace.txt", "trace");
	snprintf(path, sizeof(path), "%s/expect", dir);
	n = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		const char *name = names[i]->d_name;

		snprintf(path, sizeof(path), "%s/expect/%s", dir, name);
		tree_path(name, file, sizeof(file));
		if (!strncmp(name, "trace.", 6))
			compare_option(h, scenario, path, name);
		else if (*name != '.' && tree_stat(h->tree, file, &st) == 0)
			compare(h, scenario, path, name, file);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

/* What the recording machine's window was made of, before setup.sh. */
static void open_window(struct house *h, const char *dir)
{
	char path[1024], *meta;

	snprintf(path, sizeof(path), "%s/meta.json", dir);
	meta = slurp(path);
	command(h, "tracing_on", "0");
	command(h, "buffer_size_kb", "8000");
	if (meta && strstr(meta, "\"gate\": \"set_event_pid\""))
		command(h, "trace_options", "event-fork");
	free(meta);
}

static void load_symbols(struct house *h, const char *path)
{
	FILE *in = fopen(path, "r");
	char line[512], name[256], module[128];
	unsigned long long addr;
	char type;

	while (in && fgets(line, sizeof(line), in)) {
		int n = sscanf(line, "%llx %c %255s [%127[^]]]", &addr, &type, name, module);

		if (n >= 3)
			symbols_add(h->model->symbols, addr, type, name, n > 3 ? module : NULL);
	}
	if (in)
		fclose(in);
}

/* A recording that has no kallsyms gets those of the kernel that made all of them. */
static void add_symbols(struct house *h, const char *dir)
{
	char path[1024], *meta;

	snprintf(path, sizeof(path), "%s/meta.json", dir);
	meta = slurp(path);
	if (meta && strstr(meta, "\"kallsyms\": \"none\"")) {
		snprintf(path, sizeof(path), "%s/../../boot/kallsyms", dir);
		load_symbols(h, path);
		snprintf(path, sizeof(path), "%s/expect/kallsyms.extra", dir);
		load_symbols(h, path);
	}
	free(meta);
}

static void run_script(struct house *h, const char *path, FILE *out)
{
	struct access *access = access_tree(h->tree, NULL);
	const struct setup_params params = { .access = access, .name = "setup.sh", .out = out, .err = out };

	setup_run_file(&params, path);
	access_close(access);
}

/* bash said less: the reader adds to each refused line what error_log got by it. */
static char *shell_lines(char *said)
{
	char *out, *save = NULL;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	for (char *l = strtok_r(said, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		if (!strncmp(l, "setup.sh: line ", 15))
			fprintf(f, "%s\n", l);
	fclose(f);
	free(said);
	return out;
}

/*
 * The gate of a recording whose window was made by set_event_pid is in the
 * recording already: the line that left it closed at the end is given last.
 */
static bool run_setup(struct house *h, const char *dir, FILE *out)
{
	char path[1024], closed[64] = "", *text, *gate;

	snprintf(path, sizeof(path), "%s/setup.sh", dir);
	run_script(h, path, out);
	text = slurp(path);
	gate = text ? strstr(text, "> set_event_pid") : NULL;
	if (gate) {
		size_t len;
		int err;
		char *pids = house_read(h, "set_event_pid", sizeof(closed) - 1, &len, &err);

		snprintf(closed, sizeof(closed), "%s", pids);
		free(pids);
		command(h, "set_event_pid", "");
	}
	free(text);
	command(h, "tracing_on", "1");
	for (int phase = 1;; phase++) {
		char stop[128];
		struct source_error err = { .text = "" };

		snprintf(path, sizeof(path), "%s/phase%d.sh", dir, phase);
		if (access(path, R_OK))
			break;
		snprintf(stop, sizeof(stop), "ftrace:print if buf ~ \"phase %d*\"", phase);
		if (source_stop_at(h->source, stop, &err) || source_step(h->source, UINT64_MAX) != 2)
			return false;
		run_script(h, path, out);
	}
	if (source_step(h->source, UINT64_MAX) != 0)
		return false;
	command(h, "tracing_on", "0");
	if (gate)
		command(h, "set_event_pid", closed);
	return true;
}

static void run(const char *dir)
{
	const char *scenario = strrchr(dir, '/') ? strrchr(dir, '/') + 1 : dir;
	char trace[1024], snapshot[1024], expected[1024], *said, *want;
	const char *const files[] = { trace, snapshot };
	size_t size;
	FILE *out;
	struct house h;
	bool ran;

	snprintf(trace, sizeof(trace), "%s/trace.dat", dir);
	snprintf(snapshot, sizeof(snapshot), "%s/snapshot.dat", dir);
	snprintf(expected, sizeof(expected), "%s/setup.out", dir);
	if (house_open(files, access(snapshot, R_OK) ? 1 : 2, &h)) {
		verdict(scenario, "open", "", "", EIO);
		return;
	}
	out = open_memstream(&said, &size);
	add_symbols(&h, dir);
	open_window(&h, dir);
	ran = run_setup(&h, dir, out);
	fclose(out);
	verdict(scenario, "replay", "", "", ran ? 0 : EIO);
	said = shell_lines(said);
	want = slurp(expected);
	if (want && (want = shell_lines(want)))
		verdict(scenario, "setup.out", want, said, 0);
	free(want);
	free(said);
	compare_all(&h, dir, scenario);
	house_close(&h);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: scenario EXCLUDED DIR...\n");
		return 2;
	}
	excluded_list = slurp(argv[1]);
	for (int i = 2; i < argc; i++)
		run(argv[i]);
	free(excluded_list);
	printf("1..%d\n", nr_tests);
	return nr_failed != 0;
}
