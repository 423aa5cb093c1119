/* SPDX-License-Identifier: MIT */
/* trigger.c - explains filters, and triggers that are no histograms */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/explain/explain.h"
#include "model/text_memory.h"

/* ---- filters ---- */

static const struct {
	const char	*sign, *words;
} signs[] = {
	{ "&&", "and" },
	{ "||", "or" },
	{ "==", "is" },
	{ "!=", "is not" },
	{ "<=", "is at most" },
	{ ">=", "is at least" },
	{ "<", "is less than" },
	{ ">", "is more than" },
	{ "&", "has a bit of" },
	{ "~", "matches the pattern" },
	{ "!", "not" },
	{ "(", "(" },
	{ ")", ")" },
};

/* The words for the operator at the start of s; *len: its length. NULL: no operator. */
static const char *find_sign(const char *s, size_t *len)
{
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		*len = strlen(signs[i].sign);
		if (!strncmp(s, signs[i].sign, *len))
			return signs[i].words;
	}
	return NULL;
}

static size_t word_length(const char *s)
{
	size_t n = 0, sign;

	if (*s == '"' || *s == '\'') {
		for (n = 1; s[n] && s[n] != *s; n++)
			;
		return n + (s[n] != '\0');
	}
	while (s[n] && !isspace((unsigned char)s[n]) && !find_sign(s + n, &sign))
		n++;
	return n;
}

static void explain_trigger_print_name(FILE *out, const char *s, size_t n)
{
	static const char function[] = ".function";

	if (n > strlen(function) && !strncmp(s + n - strlen(function), function, strlen(function)))
		fprintf(out, "the function of %.*s", (int)(n - strlen(function)), s);
	else if (!strncmp(s, "CPUS{", 5))
		fprintf(out, "one of the CPUs %.*s", (int)strcspn(s + 5, "}"), s + 5);
	else
		fprintf(out, "%.*s", (int)n, s);
}

char *explain_condition(const char *filter)
{
	char *text = NULL;
	const char *words, *blank = "";
	size_t size, n;
	FILE *out = text_memory_open(&text, &size);

	if (!out)
		return NULL;
	while (*filter) {
		if (isspace((unsigned char)*filter)) {
			filter++;
			continue;
		}
		words = find_sign(filter, &n);
		fputs(words && *words == ')' ? "" : blank, out);
		if (words) {
			fputs(words, out);
		} else {
			n = word_length(filter);
			explain_trigger_print_name(out, filter, n);
		}
		blank = words && *words == '(' ? "" : " ";
		filter += n;
	}
	fclose(out);
	return text;
}

void explain_filter(struct explain *e, const char *text)
{
	char *words = explain_condition(text);

	if (!strcmp(text, "0")) {
		explain_say(e, "filter", "removes the filter: every event is recorded");
	} else {
		explain_say(e, "filter", "an event%s%s%s%s is recorded only if %s",
			    e->event ? " " : "", e->event ? e->system : "", e->event ? ":" : "",
			    e->event ? e->event : "", words ? words : text);
		explain_say(e, "",
			    "triggers see all events: they have their own filters");
	}
	free(words);
}

/* ---- triggers ---- */

static const struct {
	const char	*name, *words;
	unsigned int	targets;	/* number of arguments before the count */
} triggers[] = {
	{ "traceon", "turns tracing on (the file tracing_on)", 0 },
	{ "traceoff", "turns tracing off (the file tracing_on); triggers go on", 0 },
	{ "snapshot", "takes a snapshot: swaps the buffer with the one in the file snapshot", 0 },
	{ "stacktrace", "records the stack, as an event after this one", 0 },
	{ "enable_event", "starts recording of the event", 2 },
	{ "disable_event", "stops recording of the event", 2 },
	{ "enable_hist", "continues the histograms of the event", 2 },
	{ "disable_hist", "pauses the histograms of the event", 2 },
};

static void say_when(struct explain *e, const char *filter)
{
	char *words = filter ? explain_condition(filter) : NULL;

	explain_say(e, "event", "at every event%s%s%s%s%s%s", e->event ? " " : "",
		    e->event ? e->system : "", e->event ? ":" : "", e->event ? e->event : "",
		    words ? " for which " : "", words ? words : "");
	free(words);
}

static void say_count(struct explain *e, const char *trigger, const char *count)
{
	/* These neither change nor count anything if the state is already right. */
	bool switches = !strncmp(trigger, "trace", 5) || strstr(trigger, "_event");

	if (!count)
		explain_say(e, "count", "every time");
	else
		explain_say(e, "count", "%s times at most%s", count,
			    switches ? "; a hit that changes nothing is not counted"
				     : "");
}

void explain_trigger(struct explain *e, const char *text)
{
	bool removes = *text == '!';
	char *filter, *command = explain_split_filter(text + removes, &filter);
	struct explain_parts parts = { 0 };

	explain_split(command ? command : "", ':', &parts);
	if (removes)
		explain_say(e, "removes", "the trigger that does this:");
	say_when(e, filter);
	for (size_t i = 0; i < sizeof(triggers) / sizeof(triggers[0]) && parts.nr; i++) {
		unsigned int n = triggers[i].targets;

		if (strcmp(triggers[i].name, parts.v[0]))
			continue;
		if (n && parts.nr > n)
			explain_say(e, "does", "%s %s:%s", triggers[i].words, parts.v[1],
				    parts.v[2]);
		else
			explain_say(e, "does", "%s%s", triggers[i].words,
				    n ? " SYSTEM:EVENT" : "");
		say_count(e, parts.v[0], parts.nr > n + 1 ? parts.v[n + 1] : NULL);
	}
	explain_parts_free(&parts);
	free(command);
	free(filter);
}
