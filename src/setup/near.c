/* SPDX-License-Identifier: MIT */
/*
 * near.c - says which file or field was perhaps meant, after a line was refused
 *
 * The errors themselves are those of the kernel. The names are looked for only then.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "access/access.h"
#include "model/text.h"
#include "model/text_memory.h"
#include "server/nearest.h"
#include "setup/state.h"

/* Fields that each event has, which its format does not list, or which are no keys of their own. */
static const char common[] =
	"common_pid\ncommon_cpu\ncommon_timestamp\ncommon_stacktrace\n";

/* ---- a file ---- */

static int add_name(void *arg, const char *name, bool is_dir)
{
	(void)is_dir;
	fprintf(arg, "%s\n", name);
	return 0;
}

/* The length of the path up to the first name in it that does not exist; 0: all exist. */
static size_t first_missing(struct access *a, const char *path)
{
	char part[SETUP_PATH_MAX];
	mode_t mode;

	for (size_t end = strcspn(path, "/");; end += 1 + strcspn(path + end + 1, "/")) {
		snprintf(part, sizeof(part), "%.*s", (int)end, path);
		if (*part && a->ops->stat(a, part, &mode) == -ENOENT)
			return end;
		if (!path[end])
			return 0;
	}
}

/* Splits the path up to `end` in a directory, "" for the top, and a name. */
static void split_path(const char *path, size_t end, char dir[SETUP_PATH_MAX],
		       char name[SETUP_PATH_MAX])
{
	char *slash;

	snprintf(name, SETUP_PATH_MAX, "%.*s", (int)end, path);
	*dir = '\0';
	slash = strrchr(name, '/');
	if (!slash)
		return;
	snprintf(dir, SETUP_PATH_MAX, "%.*s", (int)(slash - name), name);
	memmove(name, slash + 1, strlen(slash));
}

void setup_near_files(struct access *a, const char *path, char *near, size_t size)
{
	char dir[SETUP_PATH_MAX], name[SETUP_PATH_MAX], *names = NULL;
	const size_t end = first_missing(a, path);
	size_t len;
	FILE *out = end ? text_memory_open(&names, &len) : NULL;

	*near = '\0';
	if (!out)
		return;
	split_path(path, end, dir, name);
	a->ops->list(a, dir, add_name, out);
	if (!fclose(out))
		nearest_names(name, names, near, size);
	free(names);
}

void setup_near_files_explain(struct access *a, const char *path, FILE *err)
{
	char near[SETUP_NEAR_MAX], dir[SETUP_PATH_MAX], name[SETUP_PATH_MAX];
	const size_t end = first_missing(a, path);

	setup_near_files(a, path, near, sizeof(near));
	if (!*near)
		return;
	split_path(path, end, dir, name);
	fprintf(err, "tracefuse: %s has no %s (there is %s)\n", *dir ? dir : "the session", name,
		near);
}

/* ---- a field ---- */

static bool near_in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The word at a caret, or the last one before it. */
static void word_at(const char *command, size_t at, char word[SETUP_NEAR_MAX])
{
	size_t begin = at < strlen(command) ? at : strlen(command), end;

	while (begin && !near_in_word(command[begin]))
		begin--;
	for (end = begin; near_in_word(command[end]); end++)
		;
	while (begin && near_in_word(command[begin - 1]))
		begin--;
	snprintf(word, SETUP_NEAR_MAX, "%.*s", (int)(end - begin), command + begin);
}

/* "	field:TYPE NAME[SIZE];	offset:..." */
static void add_field(const char *line, FILE *out)
{
	static const char label[] = "field:";
	const size_t len = strcspn(line, ";\n");
	const char *at = memmem(line, len, label, strlen(label)), *end = line + len, *begin;

	if (!at)
		return;
	if (end[-1] == ']' && memchr(at, '[', (size_t)(end - at)))
		end = memrchr(line, '[', len);
	for (begin = end; begin > at && near_in_word(begin[-1]); begin--)
		;
	fprintf(out, "%.*s\n", (int)(end - begin), begin);
}

/* The names of an event's own fields, a line each. The caller frees it. NULL: not known. */
static char *own_fields(struct access *a, const char *dir)
{
	char path[SETUP_PATH_MAX + 8], *format, *names = NULL;
	const char *own;
	size_t len;
	FILE *out;

	snprintf(path, sizeof(path), "%s/format", dir);
	if (access_read_all(a, path, &format, &len))
		return NULL;
	out = text_memory_open(&names, &len);
	/* The fields that all events have come first, and an empty line after them. */
	own = strstr(format, "\n\n");
	for (; out && own && *own; own = text_next_line(own))
		add_field(own, out);
	free(format);
	return out && !fclose(out) ? names : NULL;
}

static bool has_line(const char *lines, const char *word)
{
	const size_t len = strlen(word);

	for (; *lines; lines = text_next_line(lines))
		if (!strncmp(lines, word, len) && lines[len] == '\n')
			return true;
	return false;
}

/* "[instances/NAME/]events/SYSTEM/EVENT" as SYSTEM:EVENT. */
static void print_event(const char *dir, FILE *out)
{
	const char *event = strrchr(dir, '/'), *system = memrchr(dir, '/', (size_t)(event - dir));

	fprintf(out, "%.*s:%s", (int)(event - system - 1), system + 1, event + 1);
}

/* With the names that are near, or if there are none, with the event's own. */
static void say_field(const char *dir, const char *word, const char *own, const char *all,
		      FILE *err)
{
	char near[SETUP_NEAR_MAX];

	nearest_names(word, all, near, sizeof(near));
	fputs("tracefuse: ", err);
	print_event(dir, err);
	fprintf(err, " has no field %s (there is %s", word, near);
	for (const char *line = *near ? "" : own; *line; line = text_next_line(line))
		fprintf(err, "%s%.*s", line == own ? "" : ", ", (int)strcspn(line, "\n"), line);
	fputs(")\n", err);
}

/* The kernel's caret is not always at the field. */
static void explain_field(struct access *a, const char *dir, const char *word, FILE *err)
{
	char *own = own_fields(a, dir), *all = NULL;

	if (own && *own && asprintf(&all, "%s%s", own, common) >= 0 && *word &&
	    !has_line(all, word))
		say_field(dir, word, own, all, err);
	free(all);
	free(own);
}

/* The entry of error_log has the whole command, or only its filter. */
static char *reason_of(struct access *a, const char *path, const char **text, size_t *at)
{
	char *why = access_errors_reason(a, path, *text, at);
	const char *filter = why ? NULL : strstr(*text, " if ");

	if (filter) {
		*text = filter + 4;
		why = access_errors_reason(a, path, *text, at);
	}
	return why;
}

void setup_near_fields_explain(struct access *a, const char *path, const char *text, FILE *err)
{
	char dir[SETUP_PATH_MAX], word[SETUP_NEAR_MAX], *why;
	const char *file = strrchr(path, '/');
	size_t at;

	if (!strstr(path, "events/") || (strcmp(file, "/trigger") && strcmp(file, "/filter")))
		return;
	why = reason_of(a, path, &text, &at);
	if (why && (!strcmp(why, "Couldn't find field") || !strcmp(why, "Field not found"))) {
		snprintf(dir, sizeof(dir), "%.*s", (int)(file - path), path);
		word_at(text, at, word);
		explain_field(a, dir, word, err);
	}
	free(why);
}
