/* SPDX-License-Identifier: MIT */
/* mask.c - replaces those parts of a file's text that differ from one boot to the next */
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mask.h"

char *mask_all(char *text, const char *pattern, const char *with)
{
	regex_t re;
	regmatch_t m;
	char *out, *s = text;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	if (regcomp(&re, pattern, REG_EXTENDED | REG_NEWLINE))
		abort();
	for (int flags = 0; *s && !regexec(&re, s, 1, &m, flags); flags = REG_NOTBOL) {
		fprintf(f, "%.*s%s", (int)m.rm_so, s, with);
		s += m.rm_eo;
		if (m.rm_eo == 0)
			break;
	}
	fputs(s, f);
	fclose(f);
	regfree(&re);
	free(text);
	return out;
}

void pointers_forget(struct pointers *p)
{
	for (unsigned int i = 0; i < p->nr; i++)
		free(p->seen[i]);
	p->nr = 0;
}

static unsigned int pointer_number(struct pointers *p, const char *digits, size_t len)
{
	for (unsigned int i = 0; i < p->nr; i++)
		if (strlen(p->seen[i]) == len && !memcmp(p->seen[i], digits, len))
			return i + 1;
	if (p->nr == sizeof(p->seen) / sizeof(p->seen[0]))
		abort();
	p->seen[p->nr++] = strndup(digits, len);
	return p->nr;
}

static const char pointer_mark[] = "hist_data: ";

bool mask_unhashed(const char *text)
{
	return strstr(text, "hist_data: (____ptrval____)");
}

char *mask_pointers(struct pointers *p, char *text)
{
	char *out, *from = text;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	for (char *s = text; (s = strstr(s, pointer_mark)); from = s) {
		size_t len;

		s += strlen(pointer_mark);
		len = strcspn(s, "\n");
		fwrite(from, 1, (size_t)(s - from), f);
		if (strspn(s, "0123456789abcdef") == len && len == 16)
			fprintf(f, "#%u", pointer_number(p, s, len));
		else
			fprintf(f, "%.*s", (int)len, s);
		s += len;
	}
	fputs(from, f);
	fclose(f);
	free(text);
	return out;
}

static bool has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s), k = strlen(suffix);

	return n >= k && !strcmp(s + n - k, suffix);
}

static bool dynamic_event(const char *file)
{
	static const char *const systems[] = {
		"events/synthetic/", "events/eprobes/", "events/kprobes/", "events/uprobes/",
	};

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
		if (strstr(file, systems[i]))
			return true;
	return false;
}

char *mask_file(const char *file, char *text)
{
	if (has_suffix(file, "error_log"))
		return mask_all(text, "^\\[ *[0-9]+\\.[0-9]{6}\\]", "[TIME]");
	if (dynamic_event(file) && has_suffix(file, "/format"))
		return mask_all(text, "^ID: [0-9]+$", "ID: DYNAMIC");
	if (dynamic_event(file) && has_suffix(file, "/id"))
		return mask_all(text, "^[0-9]+$", "DYNAMIC");
	if (has_suffix(file, "/stats"))
		return mask_all(text, "^now ts: *[0-9.]+$", "now ts: NOW");
	return text;
}

/* ---- The trace of synthetic events ---- */

/* "  task-pid [cpu] flags sec.usec: name: ...", and the lines of its stack. */
struct record {
	const char	*text;
	size_t		len;
	int		cpu;
	bool		masked;
};

static size_t line_length(const char *s)
{
	size_t len = strcspn(s, "\n");

	return len + (s[len] == '\n');
}

static bool record_begins(const char *s, int *cpu)
{
	const char *open = memchr(s, '[', line_length(s));
	char close;

	return *s != '#' && open && sscanf(open, "[%3d%c", cpu, &close) == 2 && close == ']';
}

/* Finds the time, which ": NAME: " follows. */
static const char *record_time(const char *s, size_t *len)
{
	const char *end = strchr(s, '\n');

	for (; (s = strstr(s, ": ")) && (!end || s < end); s++) {
		const char *begin = s;

		while (strchr("0123456789.", begin[-1]))
			begin--;
		if (begin < s) {
			*len = (size_t)(s - begin);
			return begin;
		}
	}
	return NULL;
}

/* Prints the flags "d.H5." before the time without N, which depends on a tick in between. */
static void flags_print(const char *s, const char *end, FILE *out)
{
	const char *flags = memchr(s, ']', (size_t)(end - s));

	for (; s < end; s++)
		fputc(flags && s == flags + 3 && *s == 'N' ? '.' : *s, out);
}

static void record_print(const struct record *r, FILE *out)
{
	size_t len = 0;
	const char *at = r->masked ? record_time(r->text, &len) : NULL;
	const char *rest = r->text;

	if (at) {
		flags_print(r->text, at, out);
		fputs("TIME", out);
		rest = at + len;
	}
	fwrite(rest, 1, (size_t)(r->text + r->len - rest), out);
}

static struct record record_parse(const char *s, int cpu, const char *only)
{
	struct record r = { .text = s, .len = line_length(s), .cpu = cpu };
	size_t len;
	const char *at = record_time(s, &len);
	int next;

	r.masked = !only || (at && !strncmp(at + len + 2, only, strlen(only)) &&
			     at[len + 2 + strlen(only)] == ':');
	while (s[r.len] && !record_begins(s + r.len, &next))
		r.len += line_length(s + r.len);
	return r;
}

char *mask_synthetic_times(char *text, const char *only)
{
	struct record *records = NULL;
	size_t nr = 0, size;
	int cpu, last = 0;
	char *out;
	FILE *f = open_memstream(&out, &size);

	for (const char *s = text; *s;) {
		if (!record_begins(s, &cpu)) {
			fwrite(s, 1, line_length(s), f);
			s += line_length(s);
			continue;
		}
		records = realloc(records, (nr + 1) * sizeof(*records));
		records[nr] = record_parse(s, cpu, only);
		s += records[nr++].len;
		last = cpu > last ? cpu : last;
	}
	for (cpu = 0; cpu <= last; cpu++)
		for (size_t i = 0; i < nr; i++)
			if (records[i].cpu == cpu)
				record_print(&records[i], f);
	fclose(f);
	free(records);
	free(text);
	return out;
}
