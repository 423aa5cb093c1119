/* SPDX-License-Identifier: MIT */
/*
 * transcript.c - runs commands that were given to a real kernel, and compares the answers
 *
 * usage: transcript EMPTY.dat FUNCTIONS EXCLUDED FILE.jsonl...
 *
 * Each line of a file is one command in a clean state, with the errno of open, write and close, the
 * results of the writes, the error_log and the files read back. The clean state is a process of its
 * own, with a copy of the session. Prints TAP with one test for each entry.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "mask.h"
#include "model/text.h"

enum { READ_MAX = 32768 };

struct excluded {
	char	*key;		/* "T0123", or "read FILE" */
	char	*reason;
	unsigned int	files;		/* files that the recorder read and that are not compared */
	struct excluded *next;
};

static struct excluded *excluded_load(const char *file)
{
	struct excluded *head = NULL;
	FILE *in = fopen(file, "r");
	char *line = NULL;
	size_t cap = 0;

	if (!in)
		return NULL;
	while (getline(&line, &cap, in) > 0) {
		struct excluded *x;
		char *tab = strchr(line, '\t');

		if (*line == '#' || !tab)
			continue;
		*tab = '\0';
		tab[1 + strcspn(tab + 1, "\n")] = '\0';
		x = malloc(sizeof(*x));
		*x = (struct excluded){
			.key = strdup(line), .reason = strdup(tab + 1), .next = head,
		};
		head = x;
	}
	free(line);
	fclose(in);
	return head;
}

static void excluded_free(struct excluded *x)
{
	while (x) {
		struct excluded *next = x->next;

		free(x->key);
		free(x->reason);
		free(x);
		x = next;
	}
}

static struct excluded *excluded_find(struct excluded *x, const char *key)
{
	while (x && strcmp(x->key, key))
		x = x->next;
	return x;
}

/* Prints one skipped test for each line of the list. */
static void excluded_report(const struct excluded *x, int *nr)
{
	for (; x; x = x->next)
		if (x->files)
			printf("ok %d - %s, of %u entries # SKIP %s\n", ++*nr, x->key, x->files,
			       x->reason);
}

/* Decodes a text: the recorder wrote each byte as one code point below 256. */
static char *text_bytes(const char *utf8, size_t *len)
{
	char *out = malloc(strlen(utf8) + 1), *o = out;

	for (const unsigned char *s = (const unsigned char *)utf8; *s; s++) {
		if ((*s & 0xe0) == 0xc0 && s[1]) {
			*o++ = (char)((*s & 3) << 6 | (s[1] & 0x3f));
			s++;
		} else {
			*o++ = (char)*s;
		}
	}
	*o = '\0';
	*len = (size_t)(o - out);
	return out;
}

static bool has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s), k = strlen(suffix);

	return n >= k && !strcmp(s + n - k, suffix);
}

/* Whether the histograms of these events counted the recorder's own actions. */
static bool fires_by_itself(const char *file)
{
	return strstr(file, "/sched_switch/") || strstr(file, "/sched_waking/") ||
	       strstr(file, "/kmalloc/") || strstr(file, "/kmem_cache_alloc/") ||
	       strstr(file, "/kprobes/");
}

static char *keep_comments(char *text)
{
	char *out, *save = NULL;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		if (*l == '#')
			fprintf(f, "%s\n", l);
	fclose(f);
	free(text);
	return out;
}

/*
 * Keeps only the record of the entry's own write, because the recorder's buffer also had records of
 * earlier entries.
 */
static char *last_record(char *text)
{
	char *mark = NULL, *out;

	for (char *s = text; (s = strstr(s, ": tracing_mark_write: ")); s++)
		mark = s;
	if (!mark)
		return text;
	out = strdup(mark);
	free(text);
	return out;
}

static char *normalize(const char *file, char *text)
{
	text = mask_file(file, text);
	if (has_suffix(file, "/hist") && fires_by_itself(file))
		return keep_comments(text);
	if (!strcmp(file, "trace"))
		return last_record(text);
	return text;
}

/* The kernel and the session, each with the pointers that it has printed. */
struct sides {
	struct pointers kernel, ours;
};

static void normalize_pointers(struct sides *sides, char **want, char **got)
{
	bool unhashed = mask_unhashed(*want);

	*got = mask_pointers(&sides->ours, *got);
	if (unhashed)
		*got = mask_all(*got, "hist_data: #[0-9]+$", "hist_data: (____ptrval____)");
	else
		*want = mask_pointers(&sides->kernel, *want);
}

static void show_difference(FILE *log, const char *what, const char *want, const char *got)
{
	fprintf(log, "#   %s\n# --- kernel\n", what);
	for (const char *s = want; *s; s = text_next_line(s))
		fprintf(log, "#  |%.*s|\n", (int)strcspn(s, "\n"), s);
	fprintf(log, "# --- tracefuse\n");
	for (const char *s = got; *s; s = text_next_line(s))
		fprintf(log, "#  |%.*s|\n", (int)strcspn(s, "\n"), s);
}

static bool compare_file(struct fixture *h, struct sides *sides, const char *file,
			 const char *want_utf8, int want_errno, FILE *log)
{
	size_t len, got_len;
	int err;
	char *want = text_bytes(want_utf8, &len);
	char *got = fixture_read(h, file, READ_MAX, &got_len, &err);
	bool same;

	for (size_t i = 0; i < got_len; i++)
		if (!got[i])
			got[i] = 1;	/* as the recorder wrote it */
	want = normalize(file, want);
	got = normalize(file, got);
	if (has_suffix(file, "/hist_debug"))
		normalize_pointers(sides, &want, &got);
	same = !strcmp(want, got) && err == want_errno;
	if (err != want_errno)
		fprintf(log, "#   %s: errno %d, kernel %d\n", file, err, want_errno);
	if (strcmp(want, got))
		show_difference(log, file, want, got);
	free(want);
	free(got);
	return same;
}

static struct answer give(struct fixture *h, json_t *command)
{
	size_t len;
	char *text = text_bytes(json_string_value(json_object_get(command, "text")), &len);
	struct answer a =
		fixture_command(h, json_string_value(json_object_get(command, "op")),
				json_string_value(json_object_get(command, "file")), text, len);

	free(text);
	return a;
}

static bool compare_errno(json_t *entry, const char *name, int got, FILE *log)
{
	int want = (int)json_integer_value(json_object_get(entry, name));

	if (want != got)
		fprintf(log, "#   %s %d (%s), kernel %d (%s)\n", name, got, strerror(got), want,
			strerror(want));
	return want == got;
}

static bool compare_writes(json_t *entry, const struct answer *a, FILE *log)
{
	json_t *writes = json_object_get(entry, "write_returns");
	bool same = (int)json_array_size(writes) == a->nr_writes;

	for (int i = 0; same && i < a->nr_writes; i++)
		same = json_integer_value(json_array_get(writes, (size_t)i)) == a->writes[i];
	if (!same) {
		fprintf(log, "#   writes returned");
		for (int i = 0; i < a->nr_writes; i++)
			fprintf(log, " %ld", a->writes[i]);
		fprintf(log, "\n");
	}
	return same;
}

static bool ends_with(const char *text, const char *option)
{
	size_t len = strcspn(text ? text : "", "\n"), n = strlen(option);

	return len >= n && !strncmp(text + len - n, option, n);
}

static bool names_option(json_t *command, const char *option)
{
	return ends_with(json_string_value(json_object_get(command, "text")), option) ||
	       ends_with(json_string_value(json_object_get(command, "file")), option);
}

static void inherit(struct fixture *h, json_t *entry, const char *line)
{
	bool on = strncmp(line, "no", 2) != 0;
	const char *option = on ? line : line + 2;
	char file[80];
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(entry, "pre"), i, item)
		if (names_option(item, option))
			return;
	if (names_option(entry, option))
		return;
	snprintf(file, sizeof(file), "options/%s", option);
	fixture_command(h, "w", file, on ? "1\n" : "0\n", 2);
}

/*
 * The recorder's clean-up reset only the options of the current tracer, nop. Options of other
 * tracers stayed as earlier entries had set them. So an option that the entry itself does not name
 * is set as it was read.
 */
static void inherit_tracer_options(struct fixture *h, json_t *entry)
{
	const char *at = NULL;
	char line[64];
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(entry, "read"), i, item)
		if (!strcmp(json_string_value(json_object_get(item, "file")), "trace_options"))
			at = json_string_value(json_object_get(item, "text"));
	at = at ? strstr(at, "stacktrace\n") : NULL;	/* the user's option */
	/* the last one of the instance's own options */
	at = at ? strstr(at + 1, "stacktrace\n") : NULL;
	while (at && (at = strchr(at, '\n')) && *++at) {
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
		inherit(h, entry, line);
	}
}

/* The entry of the list for a file that the recorder read; NULL: the file is compared. */
static struct excluded *excluded_file(struct excluded *x, json_t *item)
{
	const char *file = json_string_value(json_object_get(item, "file"));
	const char *slash = strrchr(file, '/');
	char key[128];

	snprintf(key, sizeof(key), "read %s", slash ? slash + 1 : file);
	return excluded_find(x, key);
}

static void excluded_count(struct excluded *x, json_t *entry)
{
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(entry, "read"), i, item) {
		struct excluded *left_out = excluded_file(x, item);

		if (left_out)
			left_out->files++;
	}
}

static bool compare_files(struct fixture *h, json_t *entry, struct excluded *x, FILE *log)
{
	struct sides sides = { 0 };
	json_t *item;
	size_t i;
	bool same = compare_file(h, &sides, "error_log",
				 json_string_value(json_object_get(entry, "error_log")), 0, log);

	json_array_foreach(json_object_get(entry, "read"), i, item)
		if (!excluded_file(x, item))
			same &= compare_file(
				h, &sides, json_string_value(json_object_get(item, "file")),
				json_string_value(json_object_get(item, "text")),
				(int)json_integer_value(json_object_get(item, "errno")), log);
	pointers_forget(&sides.kernel);
	pointers_forget(&sides.ours);
	return same;
}

static bool run_entry(struct fixture *h, json_t *entry, struct excluded *x, FILE *log)
{
	struct answer a;
	json_t *item;
	size_t i;
	bool same = true;

	/* the recorder's own first command */
	fixture_command(h, "w", "buffer_size_kb", "1024\n", 5);
	inherit_tracer_options(h, entry);
	json_array_foreach(json_object_get(entry, "pre"), i, item) {
		a = give(h, item);
		same &= compare_errno(item, "write_errno", a.write_errno, log);
	}
	fixture_command(h, "w", "error_log", "", 0);
	a = give(h, entry);
	same &= compare_errno(entry, "open_errno", a.open_errno, log);
	same &= compare_errno(entry, "write_errno", a.write_errno, log);
	same &= compare_errno(entry, "close_errno", a.close_errno, log);
	same &= compare_writes(entry, &a, log);
	same &= compare_files(h, entry, x, log);
	return same;
}

static void report(json_t *entry, const char *verdict, int nr, const char *extra)
{
	const char *text = json_string_value(json_object_get(entry, "text"));

	printf("%s %d - %s %s %s %.*s%s\n", verdict, nr,
	       json_string_value(json_object_get(entry, "id")),
	       json_string_value(json_object_get(entry, "category")),
	       json_string_value(json_object_get(entry, "file")), (int)strcspn(text, "\n#"), text,
	       extra);
}

/* What the entries of a run share. */
struct run {
	struct fixture	fixture;	/* no command was given to it */
	struct excluded	*excluded;
	const char	*only;		/* the one entry to run; NULL: all */
	int		nr, failed;
};

static int run_open(struct run *run, const char *empty, const char *functions)
{
	int err = fixture_open(&empty, 1, &run->fixture);

	if (err)
		return err;
	err = fixture_functions(&run->fixture, functions);
	if (err)
		fixture_close(&run->fixture);
	return err;
}

/*
 * In a process of its own: the status says whether the answers were the kernel's. Only a sanitizer
 * sees what a close leaves over. It copies all memory that the parent has made, which takes two
 * thirds of an entry's time.
 */
static int run_child(struct run *run, json_t *entry)
{
	bool same = !fixture_split(&run->fixture) &&
		    run_entry(&run->fixture, entry, run->excluded, stdout);

	if (SANITIZED)
		fixture_close(&run->fixture);
	return same ? EXIT_SUCCESS : EXIT_FAILURE;
}

/*
 * Each entry begins with the same session, which is copied. To open one for each takes most of the
 * time of all entries.
 */
static bool run_apart(struct run *run, json_t *entry)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		status = run_child(run, entry);
		/* A sanitizer counts what nobody points to. */
		json_decref(entry);
		exit(status);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) > EXIT_FAILURE)
		printf("#   its process ended with the wait status %#x\n", (unsigned int)status);
	return !status;
}

static void run_one(struct run *run, json_t *entry)
{
	const char *id = json_string_value(json_object_get(entry, "id"));
	const struct excluded *left_out = excluded_find(run->excluded, id);
	bool same;

	if (run->only && strcmp(run->only, id))
		return;
	if (left_out) {
		printf("ok %d - %s # SKIP %s\n", ++run->nr, id, left_out->reason);
		return;
	}
	excluded_count(run->excluded, entry);
	same = run_apart(run, entry);
	report(entry, same ? "ok" : "not ok", ++run->nr, "");
	run->failed += !same;
}

/* The file is closed when entries run: a child that ends would move its offset. */
static char *file_text(const char *file)
{
	FILE *in = fopen(file, "r");
	char *text = NULL;
	size_t cap = 0;

	if (in && getdelim(&text, &cap, 0, in) < 0) {
		free(text);
		text = NULL;
	}
	if (in)
		fclose(in);
	return text;
}

static void run_file(struct run *run, const char *file)
{
	char *text = file_text(file), *save = NULL;

	if (!text) {
		printf("Bail out! %s: %s\n", file, strerror(errno));
		run->failed++;
		return;
	}
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		json_t *entry = json_loads(l, 0, NULL);

		run_one(run, entry);
		json_decref(entry);
	}
	free(text);
}

int main(int argc, char **argv)
{
	struct run run = { .only = getenv("ENTRY") };

	if (argc < 5) {
		fprintf(stderr, "usage: transcript EMPTY.dat FUNCTIONS EXCLUDED FILE.jsonl...\n");
		return 2;
	}
	if (run_open(&run, argv[1], argv[2])) {
		printf("Bail out! no session\n");
		return 1;
	}
	run.excluded = excluded_load(argv[3]);
	for (int i = 4; i < argc; i++)
		run_file(&run, argv[i]);
	excluded_report(run.excluded, &run.nr);
	printf("1..%d\n", run.nr);
	excluded_free(run.excluded);
	fixture_close(&run.fixture);
	return run.failed != 0;
}
