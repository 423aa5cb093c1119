/* SPDX-License-Identifier: MIT */
/* losses.c - prints how many processes and threads of a run could not take part */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/run/run.h"

static const char *plural(unsigned long long nr, const char *one, const char *many)
{
	return nr == 1 ? one : many;
}

static void print_no_room(const char *info)
{
	unsigned long long processes, threads, hits;
	char value[128];

	if (!client_info(info, "no-room", 0, value, sizeof(value)) ||
	    sscanf(value, "%llu %llu %llu", &processes, &threads, &hits) != 3)
		return;
	fprintf(stderr,
		"tracefuse: %llu process%s (%llu thread%s) had no place in the session: "
		"%llu hit%s lost\n",
		processes, plural(processes, "", "es"), threads, plural(threads, "", "s"), hits,
		plural(hits, " is", "s are"));
}

/* Events that were asked for, and are not hit. */
static void print_refused_probes(const char *info)
{
	enum { PRINTED = 5 };
	char text[CLIENT_REFUSED];
	unsigned int nr = 0;

	for (; client_probe_refused(info, nr, text); nr++)
		if (nr < PRINTED)
			fprintf(stderr, "tracefuse: %s\n", text);
	if (nr > PRINTED)
		fprintf(stderr, "tracefuse: %u more places cannot be probed (error_log)\n",
			nr - PRINTED);
}

/* The same, in processes that have ended: "NR PID NAME\tTEXT". */
static void print_unplanted(const char *info)
{
	char value[1024];

	for (unsigned int i = 0; client_info(info, "ended-probes", i, value, sizeof(value)); i++) {
		const char *text = strrchr(value, '\t');
		const unsigned long nr = strtoul(value, NULL, 10);

		if (text)
			message_error("%lu %s: %s", nr,
				      plural(nr, "process", "processes"), text + 1);
	}
}

void run_losses(const struct run *r, const char *info)
{
	char value[128];

	if (!r->plain) {
		print_refused_probes(info);
		print_unplanted(info);
	}
	if (!r->quiet)
		print_no_room(info);
	for (unsigned int i = 0; client_info(info, "untraced", i, value, sizeof(value)); i++) {
		const char *at = strchr(value, ' ');
		unsigned long long nr = at ? strtoull(at, NULL, 10) : 0;
		const struct client_untraced *u = client_untraced(value);

		if (!u->usual || !r->quiet)
			fprintf(stderr,
				"tracefuse: %llu process%s could not %s: %s (%s)\n", nr,
				plural(nr, "", "es"),
				u->could_not ? u->could_not : "join the session", u->why,
				u->remedy);
	}
}
