/* SPDX-License-Identifier: MIT */
/* property_fixture.c - a session with the three events, for scripts and hits */
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "session/session.h"
#include "property_fixture.h"
#include "tracefs/tree.h"

/*
 * The fields have longer names, because the kernel does not accept names of one letter as
 * parameters of an action.
 */
static const char format[] =
	"name: %c\nID: %d\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:int xx;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned int uu;\toffset:12;\tsize:4;\tsigned:0;\n"
	"\tfield:u64 ww;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:char name[16];\toffset:24;\tsize:16;\tsigned:0;\n"
	"\tfield:int o%c;\toffset:40;\tsize:4;\tsigned:1;\n"
	"\nprint fmt: \"xx=%%d\", REC->xx\n";

static int add_events(struct model *m)
{
	for (int i = 0; i < EVENT_SYN; i++) {
		char text[1024];
		struct event *e;
		int len = snprintf(text, sizeof(text), format, 'a' + i, ID_A + i, 'a' + i);
		int err = model_add_event(m, "prop", text, (size_t)len, &e);

		if (err)
			return err;
	}
	return 0;
}

int property_open(struct property_fixture *st)
{
	static const struct session_params params = {
		.nr_cpus = CPUS, .nr_slots = 16, .memory = 1ull << 30 };
	struct fixture *h = &st->fixture;
	int err;

	*st = (struct property_fixture){ 0 };
	err = session_create(NULL, &params, &h->session);
	if (!err)
		err = model_create(h->session, &h->model);
	if (!err)
		err = add_events(h->model);
	if (!err)
		h->tree = tree_create(h->model);
	for (int i = 0; !err && i < WRITERS_MAX; i++)
		st->slots[i] = session_slot_get(h->session);
	return err;
}

void property_close(struct property_fixture *st)
{
	for (int i = 0; i < WRITERS_MAX; i++)
		session_slot_put(st->fixture.session, st->slots[i]);
	fixture_close(&st->fixture);
}

const char *property_path(int event, const char *file, char *buf, size_t size)
{
	static const char *const events[] = { "prop/a", "prop/b", "prop/c", "synthetic/psyn" };

	snprintf(buf, size, "events/%s/%s", events[event], file);
	return buf;
}

static bool give(struct property_fixture *st, const char *file, const char *text, FILE *log)
{
	struct answer a = fixture_command(&st->fixture, "a", file, text, strlen(text));
	int err = a.open_errno | a.write_errno;

	if (err) {
		size_t len;
		char *errors = fixture_read(&st->fixture, "error_log", 1 << 16, &len, &err);

		fprintf(log, "# refused: echo '%s' >> %s\n%.500s\n", text, file,
			len > 500 ? errors + len - 500 : errors);
		free(errors);
		return false;
	}
	return true;
}

/* `more`, such as ":pause", is put before the filter. */
static bool give_trigger(struct property_fixture *st, const struct script *s, const struct rule *t,
			 const char *sign, const char *more, FILE *log)
{
	char *text, path[64];
	const char *filter;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	char *command;
	bool ok;

	print_command(s, t, false, f);
	fclose(f);
	filter = strstr(text, " if ");
	filter = filter ? filter : text + strlen(text);
	if (asprintf(&command, "%s%.*s%s%s", sign, (int)(filter - text), text, more, filter) < 0)
		abort();
	ok = give(st, property_path(t->event, "trigger", path, sizeof(path)), command, log);
	free(command);
	free(text);
	return ok;
}

bool property_set(struct property_fixture *st, const struct script *s, FILE *log)
{
	bool ok = true;

	if (s->nr_syn) {
		char *text;
		size_t size;
		FILE *f = open_memstream(&text, &size);

		print_definition(s, f);
		fclose(f);
		ok = give(st, "synthetic_events", text, log);
		free(text);
	}
	for (unsigned int i = 0; i < s->nr && ok; i++)
		if (!s->triggers[i].hidden)
			ok = give_trigger(st, s, &s->triggers[i], "", "", log);
	return ok;
}

bool property_unset(struct property_fixture *st, const struct script *s, FILE *log)
{
	bool ok = true;

	for (unsigned int i = s->nr; i-- > 0;)
		if (!s->triggers[i].hidden)
			ok &= give_trigger(st, s, &s->triggers[i], "!", "", log);
	if (s->nr_syn)
		ok &= give(st, "synthetic_events", "!psyn", log);
	return ok;
}

void property_stimulus(struct property_fixture *st, const struct script *s, unsigned int slot,
		       unsigned int writer, const struct stimulus *e, FILE *log)
{
	struct hit h = { .record = &e->record,
			.size = sizeof(e->record),
			.cpu = e->cpu,
			.time = e->time,
			.comm = e->comm,
			.writer = writer };
	char more[16];

	if (!e->command) {
		hit(session_plane(st->fixture.session), st->slots[slot], &h);
		return;
	}
	snprintf(more, sizeof(more), ":%s", e->command);
	give_trigger(st, s, &s->triggers[e->trigger], "", more, log);
}

/* ---- Comparing: equal entries may change places ---- */

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The length of an entry with the lines of its actions. */
static size_t entry_length(const char *s)
{
	const char *end = s;

	do {
		end += strcspn(end, "\n");
		end += *end == '\n';
	} while (*end == '\t');
	return (size_t)(end - s);
}

/* Sorts the entries of each rank by their text. */
static void print_ranks(char **entries, const struct shown *ranks, size_t nr, FILE *out)
{
	for (size_t i = 0, end; i < nr; i = end) {
		for (end = i + 1; end < nr && ranks[end].rank == ranks[i].rank;)
			end++;
		qsort(entries + i, end - i, sizeof(*entries), compare_lines);
		for (size_t k = i; k < end; k++)
			fputs(entries[k], out);
	}
}

static void print_expected(const struct script *s, struct expected *w, int trigger,
			   const struct shown *shown, size_t nr, bool paused, FILE *out)
{
	char **entries = calloc(nr + 1, sizeof(*entries));

	for (size_t i = 0; i < nr; i++)
		entries[i] = shown[i].text;
	fputs("# event histogram\n#\n# trigger info: ", out);
	print_command(s, &s->triggers[trigger], true, out);
	fprintf(out, " [%s]\n#\n\n", paused ? "paused" : "active");
	print_ranks(entries, shown, nr, out);
	expected_totals(w, trigger, out);
	free(entries);
}

/* Copies one histogram of the file, with the entries of each rank sorted by text. */
static const char *print_found(const char *text, const struct shown *ranks, size_t nr, FILE *out)
{
	static const char head[] = "\n\n# event histogram";
	const char *next = strstr(text, head), *end = next ? next + 2 : text + strlen(text),
		   *s = text;
	char **entries = calloc(nr + 1, sizeof(*entries));
	size_t found = 0;

	for (; s < end && *s != '{'; s += entry_length(s))
		if (!strncmp(s, "Totals", 6))
			break;
		else
			fwrite(s, 1, entry_length(s), out);
	for (; s < end && *s == '{' && found < nr; s += entry_length(s))
		entries[found++] = strndup(s, entry_length(s));
	print_ranks(entries, ranks, found, out);
	fwrite(s, 1, (size_t)((next ? next : end) - s), out);
	for (size_t i = 0; i < found; i++)
		free(entries[i]);
	free(entries);
	return end;
}

static bool compare_event(struct property_fixture *st, const struct script *s, struct expected *w,
			  int event, FILE *log)
{
	char path[64], *text, *want, *got;
	size_t size;
	int err;
	FILE *want_out, *got_out;
	const char *at;
	bool same;

	text = fixture_read(&st->fixture, property_path(event, "hist", path, sizeof(path)), 4 << 20,
			    &size, &err);
	want_out = open_memstream(&want, &size);
	got_out = open_memstream(&got, &size);
	at = text;
	for (unsigned int i = 0; i < s->nr; i++) {
		struct shown *shown;
		size_t nr;

		if (s->triggers[i].event != event)
			continue;
		shown = expected_entries(w, (int)i, &nr);
		print_expected(s, w, (int)i, shown, nr, expected_paused(w, (int)i), want_out);
		at = print_found(at, shown, nr, got_out);
		for (size_t k = 0; k < nr; k++)
			free(shown[k].text);
		free(shown);
	}
	fputs(at, got_out);
	fclose(want_out);
	fclose(got_out);
	same = !strcmp(want, got);
	if (!same)
		fprintf(log, "# %s\n--- expected\n%s--- tracefuse\n%s", path, want, got);
	free(text);
	free(want);
	free(got);
	return same;
}

bool property_compare(struct property_fixture *st, const struct script *s, struct expected *w,
		      FILE *log)
{
	bool same = true;

	for (int event = 0; event < EVENTS && same; event++)
		if (event != EVENT_SYN || s->nr_syn)
			same = compare_event(st, s, w, event, log);
	return same;
}
