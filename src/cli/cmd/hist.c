/* SPDX-License-Identifier: MIT */
/* hist.c - `tracefuse hist`: counts an event by its fields, in one line */
#include <stdio.h>
#include <stdlib.h>

#include "cli/answer/answer.h"
#include "model/text_memory.h"

struct hist_asked {
	struct answer	answer;
	const char	*values, *sort;		/* NULL: not given */
	struct answer_event event;
};

enum { OPT_VALUES = ANSWER_OWN, OPT_SORT };

static const struct option long_options[] = {
	ANSWER_OPTIONS,
	{ "values", required_argument, NULL, OPT_VALUES },
	{ "sort", required_argument, NULL, OPT_SORT },
	{ NULL, 0, NULL, 0 },
};

static int hist_option(struct hist_asked *h, int opt, char **argv)
{
	switch (opt) {
	case OPT_VALUES:
		h->values = optarg;
		return COMMAND_DONE;
	case OPT_SORT:
		h->sort = optarg;
		return COMMAND_DONE;
	default:
		return answer_option(&h->answer, opt, argv);
	}
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
	fprintf(out, "hist:keys=%s", a->words.nr > 1 ? a->words.v[1] : "common_pid.execname");
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
	return answer_event_read(&h->answer, h->answer.words.v[0], &h->event);
}

static int hist_run(int argc, char **argv)
{
	struct hist_asked h = { .answer.command = &command_hist };
	int status = hist_parse(&h, argc, argv);

	if (!status)
		status = hist_lines(&h);
	if (!status)
		status = answer_run(&h.answer);
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
"size.buckets=64, ip.sym. Without keys it counts by the task's name. In a session the\n"
"histogram is taken away again at Ctrl-C.\n"
"\n"
"      --values FIELD,...  also sum these fields up\n"
"      --sort FIELD,...    the order of the entries, with --plain\n"
"      --if FILTER         count only these: 'size > 4096 && comm == \"git\"'\n"
"      --show              print the lines of ftrace that this stands for, and nothing\n"
"                          else\n"
"      --plain             the file hist as it is, instead of bars\n"
"  -s, --session NAME      count in a session that is there\n"
"      --for SECONDS       with -s: how long\n"
"  -q, --quiet             no summary of the program's session\n",
};
