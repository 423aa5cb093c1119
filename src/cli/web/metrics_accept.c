/* SPDX-License-Identifier: MIT */
/*
 * metrics_accept.c - which form of /metrics a request asks for; see web.h
 *
 *     Accept: TYPE[;NAME=VALUE...][;q=QUALITY], ...
 *
 * The form with the greatest quality is taken, the first of those that have the same. The text form
 * is the answer to all that asks for no other.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/web/metrics.h"
#include "cli/web/web.h"

struct accept_part {
	const char	*text;
	size_t		len;
};

/* What stands up to `end`, without the blanks around. Moves *at behind it. */
static struct accept_part accept_next(const char **at, const char *ends)
{
	struct accept_part p = { .text = *at, .len = strcspn(*at, ends) };

	*at += p.len;
	for (; p.len && isspace((unsigned char)*p.text); p.len--)
		p.text++;
	while (p.len && isspace((unsigned char)p.text[p.len - 1]))
		p.len--;
	return p;
}

static bool part_is(struct accept_part p, const char *text)
{
	return p.len == strlen(text) && !strncasecmp(p.text, text, p.len);
}

static const struct metrics_form *form_of_type(struct accept_part type)
{
	if (part_is(type, "application/vnd.google.protobuf"))
		return &metrics_protobuf;
	if (part_is(type, "application/openmetrics-text"))
		return &metrics_openmetrics;
	if (part_is(type, "text/plain") || part_is(type, "text/*") || part_is(type, "*/*"))
		return &metrics_text;
	return NULL;
}

/* One type with its parameters, up to the comma. NULL: none that is known. */
static const struct metrics_form *form_next(const char **at, double *quality)
{
	const struct metrics_form *form = form_of_type(accept_next(at, ";,"));
	bool family = false, delimited = false;

	*quality = 1;
	while (**at == ';') {
		struct accept_part p;

		++*at;
		p = accept_next(at, ";,");
		if (p.len > 2 && !strncasecmp(p.text, "q=", 2))
			*quality = strtod(p.text + 2, NULL);
		family |= part_is(p, "proto=io.prometheus.client.MetricFamily");
		delimited |= part_is(p, "encoding=delimited");
	}
	/* There are messages of other types, and other encodings of this one. */
	return form == &metrics_protobuf && (!family || !delimited) ? NULL : form;
}

const struct metrics_form *web_metrics_form(const char *accept)
{
	const struct metrics_form *best = &metrics_text;
	double most = 0;

	while (accept && *accept) {
		double quality;
		const struct metrics_form *form = form_next(&accept, &quality);

		if (form && quality > most) {
			best = form;
			most = quality;
		}
		accept += *accept == ',';
	}
	return best;
}
