/* SPDX-License-Identifier: MIT */
/* hist.c - `tracefuse hist`: counts an event by its fields, in one line */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access/access.h"
#include "cli/answer/answer.h"
#include "cli/draw/heat.h"
#include "host/terminal.h"
#include "model/hist/hist.h"
#include "model/text.h"
#include "model/text_memory.h"

struct hist_asked {
	struct answer	answer;
	const char	*values, *sort;		/* NULL: not given */
	struct answer_event event;
	uint64_t	every;		/* ns; 0: no heat map */
	unsigned int	size;		/* entries; 0: as many as the keys need */
	struct heat	heat;
};

enum { OPT_VALUES = ANSWER_OWN, OPT_SORT, OPT_EVERY, OPT_SIZE };

/* Entries of a histogram by time, and by stacks; the least time of a row in a session. */
enum { HEAT_SIZE = 65536, STACKS_SIZE = 16384, HEAT_LEAST_MS = 50 };

static const struct option long_options[] = {
	ANSWER_OPTIONS,
	{ "values", required_argument, NULL, OPT_VALUES },
	{ "sort", required_argument, NULL, OPT_SORT },
	{ "every", required_argument, NULL, OPT_EVERY },
	{ "size", required_argument, NULL, OPT_SIZE },
	{ NULL, 0, NULL, 0 },
};

static int hist_size(struct hist_asked *h, const char *text)
{
	uint64_t size;

	if (text_to_u64(text, 10, &size) || size < 1 << HIST_BITS_MIN || size > 1 << HIST_BITS_MAX)
		return command_usage(&command_hist, "--size %s: a histogram has %d to %d entries",
				     text, 1 << HIST_BITS_MIN, 1 << HIST_BITS_MAX);
	h->size = (unsigned int)size;
	return COMMAND_DONE;
}

static int hist_option(struct hist_asked *h, int opt, char **argv)
{
	switch (opt) {
	case OPT_VALUES:
		h->values = optarg;
		return COMMAND_DONE;
	case OPT_SORT:
		h->sort = optarg;
		return COMMAND_DONE;
	case OPT_EVERY:
		return answer_time(&h->answer, "--every", optarg, &h->every);
	case OPT_SIZE:
		return hist_size(h, optarg);
	default:
		return answer_option(&h->answer, opt, argv);
	}
}

/* A stack keeps more functions than the kernel's 16. */
static void print_whole_keys(const char *keys, FILE *out)
{
	static const char stack[] = "common_stacktrace";

	while (*keys) {
		const size_t len = strcspn(keys, ",");

		fwrite(keys, 1, len, out);
		if (len == sizeof(stack) - 1 && !strncmp(keys, stack, len))
			fprintf(out, ".depth=%d", HIST_DEPTH_MAX);
		keys += len;
		if (*keys)
			fputc(*keys++, out);
	}
}

/* Of programs with much code there are more stacks than the 2048 that a histogram has room for. */
static unsigned int wanted_size(const struct hist_asked *h)
{
	const struct words *w = &h->answer.words;

	if (h->size)
		return h->size;
	if (h->every && !h->answer.session)
		return HEAT_SIZE;
	return w->nr > 1 && strstr(w->v[1], "common_stacktrace") ? STACKS_SIZE : 0;
}

/* The trigger's text; the caller frees it. NULL: no memory. */
static char *trigger_text(const struct hist_asked *h)
{
	const struct answer *a = &h->answer;
	char *text = NULL;
	size_t size;
	FILE *out = text_memory_open(&text, &size);

	if (!out)
		return NULL;
	fputs("hist:keys=", out);
	/* In a session rows are what came since the last one; else time is a key. */
	if (h->every && !a->session)
		fprintf(out, "common_timestamp.buckets=%llu,", (unsigned long long)h->every);
	print_whole_keys(a->words.nr > 1 ? a->words.v[1] : "common_pid.execname", out);
	if (wanted_size(h))
		fprintf(out, ":size=%u", wanted_size(h));
	if (h->values)
		fprintf(out, ":vals=%s", h->values);
	if (h->sort)
		fprintf(out, ":sort=%s", h->sort);
	if (a->condition)
		fprintf(out, " if %s", a->condition);
	return fclose(out) ? NULL : text;
}

static int hist_lines(struct hist_asked *h)
{
	char *text = trigger_text(h);
	int err = text ? answer_trigger(&h->answer, &h->event, text) : -1;

	free(text);
	if (err || asprintf(&h->answer.file, "events/%s/%s/hist", h->event.system,
			    h->event.name) < 0)
		return message_error("out of memory");
	return COMMAND_DONE;
}

/* ---- --every ---- */

/* The histogram that this command has added: the last one of the event. */
static int heat_file(const struct answer *a, struct access *access,
		     int (*print)(struct heat *h, const json_t *hist, FILE *out))
{
	struct hist_asked *h = (struct hist_asked *)a->own;
	char *path = NULL, *json = NULL, *text = NULL;
	size_t len = 0, size = 0;
	int err = asprintf(&path, "%s.json", a->file) < 0 ? -ENOMEM : 0, status;
	json_t *all = NULL;
	FILE *out = NULL;

	if (!err)
		err = access_read_all(access, path, &json, &len);
	if (!err) {
		all = json_loadb(json, len, JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);
		out = text_memory_open(&text, &size);
		err = !out ? -ENOMEM : !json_array_size(all) ? -EPROTO :
		      print(&h->heat, json_array_get(all, json_array_size(all) - 1), out);
	}
	if (out && fclose(out) && !err)
		err = -ENOMEM;
	if (err == -EDOM)
		status = message_error("hist: --every needs a key that is a number, and %s is none",
				       a->words.nr > 1 ? a->words.v[1] : "the task's name");
	else if (err)
		status = message_error("%s: %s", a->file, strerror(-err));
	else
		status = terminal_print_colours(text, size) ? message_flush() :
			 message_error("cannot print: %s", strerror(errno));
	json_decref(all);
	free(path);
	free(json);
	free(text);
	return status;
}

static int heat_rows(const struct answer *a, struct access *access)
{
	return heat_file(a, access, a->session ? heat_print_next : heat_print);
}

static int heat_row(const struct answer *a, struct access *access)
{
	return heat_file(a, access, heat_print_next);
}

static int heat_check(struct hist_asked *h)
{
	struct answer *a = &h->answer;

	if (!h->every)
		return COMMAND_DONE;
	if (h->values || h->sort)
		return command_usage(a->command, "--every counts hits: --values and --sort have no "
						 "place in it");
	if (a->words.nr < 2 || strchr(a->words.v[1], ','))
		return command_usage(a->command, "--every needs one key, a number: bytes_req.log2");
	if (a->session && h->every < HEAT_LEAST_MS * 1000000ull)
		return command_usage(a->command, "--every in a session is at least %d ms",
				     HEAT_LEAST_MS);
	a->own = h;
	a->print = heat_rows;
	a->print_next = heat_row;
	a->every = (double)h->every / 1e9;
	return COMMAND_DONE;
}

/* A trigger with more is refused without a reason, as in the kernel. */
static int keys_check(const struct answer *a)
{
	const char *keys = a->words.nr > 1 ? a->words.v[1] : "";
	unsigned int nr = 1;

	for (; *keys; keys++)
		nr += *keys == ',';
	return nr <= HIST_KEYS_MAX ? COMMAND_DONE
		: command_usage(a->command, "%s: a histogram has at most %d keys", a->words.v[1],
				HIST_KEYS_MAX);
}

static int hist_parse(struct hist_asked *h, int argc, char **argv)
{
	int opt, status = COMMAND_DONE;

	argc = answer_begin(&h->answer, argc, argv);
	while (!status && (opt = getopt_long(argc, argv, ANSWER_SHORT, long_options, NULL)) != -1)
		status = hist_option(h, opt, argv);
	if (!status)
		status = answer_arguments(&h->answer, argc, argv);
	if (status)
		return status;
	if (!h->answer.words.nr)
		return command_usage(&command_hist, "which event?");
	if (h->answer.words.nr > 2)
		return command_usage(&command_hist, "%s: there is no such file",
				     h->answer.words.v[2]);
	status = keys_check(&h->answer);
	if (!status)
		status = heat_check(h);
	if (status)
		return status;
	return answer_event_read(&h->answer, h->answer.words.v[0], &h->event);
}

static int hist_run(int argc, char **argv)
{
	struct hist_asked h = { .answer.command = &command_hist };
	int status = hist_parse(&h, argc, argv);

	heat_begin(&h.heat, h.every);
	if (!status)
		status = hist_lines(&h);
	if (!status)
		status = answer_run(&h.answer);
	heat_free(&h.heat);
	answer_event_free(&h.event);
	answer_free(&h.answer);
	return status;
}

const struct command command_hist = {
	.name = "hist",
	.summary = "count an event by its fields, and draw the result",
	.run = hist_run,
	.help =
"usage: tracefuse hist [options] EVENT [KEYS] -- PROGRAM ARGUMENTS...\n"
"       tracefuse hist [options] EVENT [KEYS] RECORDING...\n"
"       tracefuse hist [options] -s SESSION EVENT [KEYS]\n"
"\n"
"Counts the hits of an event, SYSTEM:EVENT, by up to three keys: size,\n"
"next_comm,next_prio. A key may have a modifier: latency.log2, latency.exp=3,\n"
"size.buckets=64, ip.sym. Without keys it counts by the task's name. The key\n"
"common_stacktrace is the stack, up to 63 functions of it. In a session the histogram\n"
"is taken away again at Ctrl-C.\n"
"\n"
"      --values FIELD,...  also sum these fields up\n"
"      --sort FIELD,...    the order of the entries, with --plain\n"
"      --size N            room for so many entries: 128 to 131072 (2048)\n"
"      --every TIME        a heat map: a row for each TIME (1s, 100ms), the key's values\n"
"                          across, shades for the hits. KEYS is one number. In a\n"
"                          session a row is printed when its time is over, else all\n"
"                          at the end\n"
"      --if FILTER         count only these: 'size > 4096 && comm == \"git\"'\n"
"      --show              print the lines of ftrace that this stands for, and nothing\n"
"                          else\n"
"      --plain             the file hist as it is, instead of bars\n"
"  -s, --session NAME      count in a session that is there\n"
"      --for SECONDS       with -s: how long\n"
"  -q, --quiet             no summary of the program's session\n",
};
