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

/* ---- what the session had lost before this run joined it ---- */

static void no_room_read(const char *info, unsigned long long nr[3])
{
	char value[128];

	nr[0] = nr[1] = nr[2] = 0;
	if (info && client_info(info, "no-room", 0, value, sizeof(value)))
		sscanf(value, "%llu %llu %llu", &nr[0], &nr[1], &nr[2]);
}

/* "REASON NUMBER" */
static unsigned long long untraced_before(const struct run *r, const char *reason, size_t len)
{
	char value[128];

	for (unsigned int i = 0; r->info_before && client_info(r->info_before, "untraced", i, value,
							       sizeof(value)); i++)
		if (!strncmp(value, reason, len) && value[len] == ' ')
			return strtoull(value + len, NULL, 10);
	return 0;
}

/* ---- losses ---- */

static void print_no_room(const struct run *r, const char *info)
{
	unsigned long long nr[3], before[3];

	no_room_read(info, nr);
	no_room_read(r->info_before, before);
	for (int i = 0; i < 3; i++)
		nr[i] = client_since(nr[i], before[i]);
	if (!nr[0] && !nr[1] && !nr[2])
		return;
	fprintf(stderr,
		"tracefuse: %llu process%s (%llu thread%s) had no place in the session: "
		"%llu hit%s lost\n",
		nr[0], plural(nr[0], "", "es"), nr[1], plural(nr[1], "", "s"), nr[2],
		plural(nr[2], " is", "s are"));
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
static void print_unplanted(const struct run *r, const char *info)
{
	static const char key[] = "ended-probes";
	char value[1024];

	for (unsigned int i = 0; client_info(info, key, i, value, sizeof(value)); i++) {
		const char *text = strrchr(value, '\t');
		const unsigned long nr = client_ended_since(r->info_before, key, value);

		if (text && nr)
			message_error("%lu %s: %s", nr,
				      plural(nr, "process", "processes"), text + 1);
	}
}

/* Of the session, so it may have been full before this program. */
static void print_full(const char *info)
{
	char value[32];

	if (client_info(info, "full", 0, value, sizeof(value)))
		fprintf(stderr, "tracefuse: the session has had %s programs and libraries, and has "
			"no place for more: functions of others are not traced\n", value);
}

void run_losses(const struct run *r, const char *info)
{
	char value[128];

	if (!r->plain) {
		print_refused_probes(info);
		print_unplanted(r, info);
	}
	if (!r->quiet) {
		print_no_room(r, info);
		print_full(info);
	}
	for (unsigned int i = 0; client_info(info, "untraced", i, value, sizeof(value)); i++) {
		const size_t len = strcspn(value, " ");
		const unsigned long long nr =
			client_since(strtoull(value + len, NULL, 10),
				     untraced_before(r, value, len));
		const struct client_untraced *u = client_untraced(value);

		if (nr && (!u->usual || !r->quiet))
			fprintf(stderr,
				"tracefuse: %llu process%s could not %s: %s (%s)\n", nr,
				plural(nr, "", "es"),
				u->could_not ? u->could_not : "join the session", u->why,
				u->remedy);
	}
}
