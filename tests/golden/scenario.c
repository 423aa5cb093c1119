/* SPDX-License-Identifier: MIT */
/*
 * scenario.c - replays a recording of a real kernel with its own setup, and compares every file
 *
 * usage: scenario EXCLUDED FILES DIR...
 *
 * A scenario has trace.dat (and snapshot.dat, which is merged with it), setup.sh, phaseN.sh for the
 * print event "phase N", trace.txt (the file `trace`), and expect/ with a file for each tracefs
 * file ("/" is written as "__"; trace.OPT[,OPT].txt: `trace` with these options). Prints TAP with
 * one test for each file of FILES. A listed file that does not exist is a failure, and so is a file
 * that is not listed.
 */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access/access.h"
#include "setup/setup.h"
#include "fixture.h"
#include "mask.h"
#include "model/model.h"
#include "model/symbols.h"
#include "sources/recording/source.h"
#include "tracefs/tree.h"

enum { FILE_MAX_BYTES = 64 << 20 };

static int nr_tests, nr_failed;

static char *slurp(const char *path)
{
	FILE *in = fopen(path, "r");
	char chunk[4096], *buf;
	size_t size, n;
	FILE *out;

	if (!in)
		return NULL;
	out = open_memstream(&buf, &size);
	while ((n = fread(chunk, 1, sizeof(chunk), in)))
		fwrite(chunk, 1, n, out);
	fclose(out);
	fclose(in);
	return buf;
}

/*
 * The files to compare, with lines "SCENARIO FILE"; and the excluded ones, with the reason behind a
 * tab.
 */
static char *listed_files, *excluded_list;

/* The text behind "SCENARIO NAME" and `end` in a line; NULL: there is no such line. */
static const char *list_find(const char *list, const char *scenario, const char *name, char end)
{
	char line[512];
	const char *at;

	snprintf(line, sizeof(line), "\n%s %s%c", scenario, name, end);
	at = strstr(list, line);
	return at ? at + strlen(line) : NULL;
}

static bool excluded(const char *scenario, const char *name)
{
	return list_find(excluded_list, scenario, name, '\t');
}

static bool listed(const char *scenario, const char *name)
{
	return list_find(listed_files, scenario, name, '\n');
}

static void command(struct fixture *h, const char *file, const char *text)
{
	fixture_command(h, "w", file, text, strlen(text));
}

/* ---- Histograms: the kernel prints equal entries in any order ---- */

static size_t line_length(const char *s)
{
	size_t len = strcspn(s, "\n");

	return len + (s[len] == '\n');
}

/*
 * The length of an entry: "{ key } values" with the lines of a stack trace, and the lines of an
 * action's saved values.
 */
static size_t entry_length(const char *s)
{
	const char *end = strstr(s, "}");

	if (!end)
		return strlen(s);
	end += line_length(end);
	while (*end == '\t')
		end += line_length(end);
	return (size_t)(end - s);
}

/* Prints the sort fields of an entry, which have to be in order. */
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

/*
 * Prints the sort fields of a histogram's entries in their order, then the entries sorted by text.
 */
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
		size_t len = line_length(s);

		if (*s == '{') {
			s = normalize_entries(s, fields, f);
			continue;
		}
		if (!strncmp(s, "# trigger info:", 15) && sort && sort < s + len)
			snprintf(fields, sizeof(fields), "%.*s", (int)strcspn(sort + 6, ":[ "),
				 sort + 6);
		fwrite(s, 1, len, f);
		s += len;
	}
	fclose(f);
	free(text);
	return out;
}

/* ---- Differences between two boots ---- */

/* Both kernels of one scenario, and how its recording was made. */
struct scenario {
	const char	*name;
	struct fixture	*fixture;
	struct pointers	kernel, ours;
	bool		synthetic;	/* has synthetic events */
};

/*
 * A synthetic event that is not recorded is reserved inside its cause's record and discarded. The
 * kernel's next record then has its whole time, so the number of bytes in the ring depends on that.
 */
static char *mask_stats(char *text, bool all)
{
	text = mask_all(text, "^bytes: [0-9]+$", "bytes: BYTES");
	return all ? mask_all(text, "^oldest event ts: *[0-9.]+$", "oldest event ts: TIME") : text;
}

/*
 * Whether the list has "FILE:WHAT": then the file is compared without the part that a recording
 * does not contain.
 */
static bool excluded_in(const struct scenario *scenario, const char *name, const char *what)
{
	char key[160];

	snprintf(key, sizeof(key), "%s:%s", name, what);
	return excluded(scenario->name, key);
}

/* Removes the histograms whose keys are `keys`. */
static char *cut_histogram(char *text, const char *keys)
{
	static const char head[] = "# event histogram\n";
	char info[80], *out, *s = text;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	snprintf(info, sizeof(info), "%s#\n# trigger info: hist:keys=%s:", head, keys);
	while (*s) {
		const char *next = strstr(s + 1, head);
		size_t len = next ? (size_t)(next - s) : strlen(s);

		if (strncmp(s, info, strlen(info)))
			fwrite(s, 1, len, f);
		s += len;
	}
	fclose(f);
	free(text);
	return out;
}

/* They are made of addresses in the kernel's ring. */
static const char *const unknown_keys[] = { "keys=from.log2", "keys=prev_comm.buckets=3" };

static char *normalize_hist_file(const struct scenario *scenario, const char *name, char *text)
{
	if (excluded_in(scenario, name, "names"))
		text = mask_all(text, "pid: [^,[]*\\[", "pid: NAME [");
	for (size_t i = 0; i < sizeof(unknown_keys) / sizeof(unknown_keys[0]); i++)
		if (excluded_in(scenario, name, unknown_keys[i]))
			text = cut_histogram(text, unknown_keys[i] + strlen("keys="));
	return normalize_hist(text);
}

/* Keeps the traced functions and their numbers, and removes the kernel's own callbacks. */
static char *normalize_functions(const struct scenario *scenario, const char *name, char *text)
{
	if (!strcmp(name, "enabled_functions"))
		return mask_all(text, "[ \t]*(tramp: .*)?->.*$", "");
	if (excluded_in(scenario, name, "counts"))
		return mask_all(text, ":count=[0-9]+$", ":count=COUNT");
	return text;
}

static char *normalize_text(const struct scenario *scenario, const char *name, const char *file,
			    char *text)
{
	bool instance = !strncmp(name, "instances__syn__", 16);

	text = mask_file(file, text);
	text = normalize_functions(scenario, name, text);
	if (strstr(name, "__stats") && scenario->synthetic)
		text = mask_stats(text, instance);
	if (!strcmp(name, "instances__syn__trace"))
		text = mask_synthetic_times(text, NULL);
	if (!strcmp(name, "trace.txt") && !strncmp(scenario->name, "36-", 3))
		text = mask_synthetic_times(text, "wakeup_latency");
	if (strlen(name) > 6 && !strcmp(name + strlen(name) - 6, "__hist"))
		text = normalize_hist_file(scenario, name, text);
	return text;
}

static void normalize(struct scenario *scenario, const char *name, const char *file, char **want,
		      char **got)
{
	*want = normalize_text(scenario, name, file, *want);
	*got = normalize_text(scenario, name, file, *got);
	if (!strstr(name, "hist_debug"))
		return;
	*got = mask_pointers(&scenario->ours, *got);
	if (mask_unhashed(*want))
		*got = mask_all(*got, "hist_data: #[0-9]+$", "hist_data: (____ptrval____)");
	else
		*want = mask_pointers(&scenario->kernel, *want);
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
	printf("#   line %ld\n# kernel    |%.*s|\n# tracefuse |%.*s|\n", nr,
	       (int)strcspn(line, "\n"), line, (int)strcspn(got + (line - want), "\n"),
	       got + (line - want));
}

static void verdict(const char *scenario, const char *name, const char *want, const char *got,
		    int err)
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

/* True: the list excludes the file, and a skipped test is printed. */
static bool left_out(const char *scenario, const char *name)
{
	const char *reason = list_find(excluded_list, scenario, name, '\t');

	if (reason)
		printf("ok %d - %s %s # SKIP %.*s\n", ++nr_tests, scenario, name,
		       (int)strcspn(reason, "\n"), reason);
	return reason != NULL;
}

/* Reads the text at `path`. NULL: it cannot be read, which is a failure. */
static char *wanted_text(const char *scenario, const char *path, const char *name)
{
	char *want = slurp(path);

	if (!want)
		verdict(name, name, "", "", ENOENT);
	return want;
}

/* Compares `file` of the tree with the text at `path`. */
static void compare(struct scenario *scenario, const char *path, const char *name, const char *file)
{
	char *want, *got;
	size_t len;
	int err;

	if (left_out(scenario->name, name) || !(want = wanted_text(scenario->name, path, name)))
		return;
	got = fixture_read(scenario->fixture, file, FILE_MAX_BYTES, &len, &err);
	normalize(scenario, name, file, &want, &got);
	verdict(scenario->name, name, want, got, err);
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

static void set_options(struct fixture *h, const char *options, bool undo)
{
	char list[128], text[72], *save = NULL;

	snprintf(list, sizeof(list), "%s", options);
	for (char *o = strtok_r(list, ",", &save); o; o = strtok_r(NULL, ",", &save)) {
		if (!undo)
			snprintf(text, sizeof(text), "%s", o);
		else if (!strncmp(o, "no", 2))
			snprintf(text, sizeof(text), "%s", o + 2);
		else
			snprintf(text, sizeof(text), "no%s", o);
		command(h, "trace_options", text);
	}
}

/* trace.OPT[,OPT].txt: the same buffer printed with these options ("noOPT": cleared). */
static void compare_options(struct scenario *scenario, const char *path, const char *name)
{
	char options[128];

	snprintf(options, sizeof(options), "%.*s", (int)(strlen(name) - strlen("trace..txt")),
		 name + strlen("trace."));
	set_options(scenario->fixture, options, false);
	compare(scenario, path, name, "trace");
	set_options(scenario->fixture, options, true);
}

static void compare_file(struct scenario *scenario, const char *dir, const char *name)
{
	char path[1024], file[512];

	snprintf(path, sizeof(path), "%s/%s%s", dir, strcmp(name, "trace.txt") ? "expect/" : "",
		 name);
	tree_path(name, file, sizeof(file));
	if (!strcmp(name, "trace.txt"))
		compare(scenario, path, name, "trace");
	else if (!strncmp(name, "trace.", 6))
		compare_options(scenario, path, name);
	else
		compare(scenario, path, name, file);
}

/* Reports files that are not in the list, because they would never be compared. */
static void compare_listing(const char *scenario, const char *dir)
{
	struct dirent **names;
	char path[1024];
	int n;

	snprintf(path, sizeof(path), "%s/expect", dir);
	n = scandir(path, &names, NULL, alphasort);
	if (n < 0)
		verdict(scenario, "expect", "", "", errno);
	for (int i = 0; i < n; i++) {
		const char *name = names[i]->d_name;

		if (*name != '.' && strcmp(name, "kallsyms.extra") && !listed(scenario, name))
			verdict(name, name, "in the list of files", "not listed", 0);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

static void compare_all(struct scenario *scenario, const char *dir)
{
	size_t len = strlen(scenario->name);
	char file[1024], name[256];

	snprintf(file, sizeof(file), "%s/expect/synthetic_events", dir);
	scenario->synthetic = !access(file, R_OK);
	compare_listing(scenario->name, dir);
	for (const char *l = listed_files; *l; l += line_length(l)) {
		if (strncmp(l, scenario->name, len) || l[len] != ' ')
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(l + len + 1, "\n"), l + len + 1);
		if (strcmp(name, "setup.out"))
			compare_file(scenario, dir, name);
	}
}

/* Makes the setup of the recording machine from before setup.sh. */
static void open_window(struct fixture *h, const char *dir)
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

static void load_symbols(struct fixture *h, const char *path)
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

/* A recording without kallsyms gets those of the kernel that made all recordings. */
static void add_symbols(struct fixture *h, const char *dir)
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

/* Adds the kernel's functions, which a recording does not contain. */
static void add_functions(struct fixture *h, const char *dir)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s/../../boot/available_filter_functions_addrs", dir);
	fixture_functions(h, path);
}

static void run_script(struct fixture *h, const char *path, FILE *out)
{
	struct access *access = access_tree(h->tree, NULL);
	const struct setup_params params = {
		.access = access, .name = "setup.sh", .out = out, .err = out };

	setup_run_file(&params, path);
	access_close(access);
}

/*
 * Removes lines that bash did not print: the reader prints the new entries of error_log for each
 * refused line. /host was the recorder's directory.
 */
static char *shell_lines(char *said)
{
	char *out, *save = NULL;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	for (char *l = strtok_r(said, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		if (!strncmp(l, "setup.sh: line ", 15) && !strstr(l, ": /host/"))
			fprintf(f, "%s\n", l);
	fclose(f);
	free(said);
	return out;
}

/*
 * If set_event_pid limited a recording, the recording has only those events already. So the setup's
 * line that closes the filter runs last.
 */
static bool run_setup(struct fixture *h, const char *dir, FILE *out)
{
	char path[1024], closed[64] = "", *text, *gate;

	snprintf(path, sizeof(path), "%s/setup.sh", dir);
	run_script(h, path, out);
	text = slurp(path);
	gate = text ? strstr(text, "> set_event_pid") : NULL;
	if (gate) {
		size_t len;
		int err;
		char *pids = fixture_read(h, "set_event_pid", sizeof(closed) - 1, &len, &err);

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
		/* The phase's commands were given behind the marker. */
		if (source_stop_at(h->source, stop, &err) ||
		    source_step(h->source, UINT64_MAX) != 2 || source_step(h->source, 1) < 0)
			return false;
		run_script(h, path, out);
	}
	if (source_run(h->source, NULL, NULL) != 0)
		return false;
	command(h, "tracing_on", "0");
	if (gate)
		command(h, "set_event_pid", closed);
	return true;
}

/* Frees `said`. */
static void compare_setup(const char *scenario, const char *dir, char *said)
{
	char path[1024], *want;

	snprintf(path, sizeof(path), "%s/setup.out", dir);
	if (listed(scenario, "setup.out") && !left_out(scenario, "setup.out") &&
	    (want = wanted_text(scenario, path, "setup.out"))) {
		want = shell_lines(want);
		verdict(scenario, "setup.out", want, said, 0);
		free(want);
	}
	free(said);
}

static void run(const char *dir)
{
	const char *name = strrchr(dir, '/') ? strrchr(dir, '/') + 1 : dir;
	char trace[1024], snapshot[1024], *said;
	const char *const files[] = { trace, snapshot };
	size_t size;
	FILE *out;
	struct scenario scenario;
	struct fixture h;
	bool ran;

	snprintf(trace, sizeof(trace), "%s/trace.dat", dir);
	snprintf(snapshot, sizeof(snapshot), "%s/snapshot.dat", dir);
	if (fixture_open(files, access(snapshot, R_OK) ? 1 : 2, &h)) {
		verdict(name, "open", "", "", EIO);
		return;
	}
	out = open_memstream(&said, &size);
	add_symbols(&h, dir);
	add_functions(&h, dir);
	open_window(&h, dir);
	ran = run_setup(&h, dir, out);
	fclose(out);
	verdict(name, "replay", "", "", ran ? 0 : EIO);
	compare_setup(name, dir, shell_lines(said));
	scenario = (struct scenario){ .name = name, .fixture = &h };
	compare_all(&scenario, dir);
	pointers_forget(&scenario.kernel);
	pointers_forget(&scenario.ours);
	fixture_close(&h);
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: scenario EXCLUDED FILES DIR...\n");
		return 2;
	}
	excluded_list = slurp(argv[1]);
	listed_files = slurp(argv[2]);
	if (!excluded_list || !listed_files) {
		printf("Bail out! %s and %s cannot be read\n", argv[1], argv[2]);
		return 1;
	}
	for (int i = 3; i < argc; i++)
		run(argv[i]);
	free(excluded_list);
	free(listed_files);
	printf("1..%d\n", nr_tests);
	return nr_failed != 0;
}
