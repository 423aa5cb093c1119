/* SPDX-License-Identifier: MIT */
/*
 * ended.c - what was refused in processes that have ended, for doctor
 *
 * A program is often over when somebody asks why its trace is empty. Processes of one program are
 * refused the same, so a text counts how many said it. There is room for NOTES texts; what comes
 * behind them is only counted.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/cmdlines.h"
#include "sources/program/programs_state.h"

enum { NOTES = 64 };

struct ended_note {
	enum ended_what	what;
	char		*text;
	uint64_t	nr;		/* processes */
	pid_t		last;
};

struct program_ended {
	struct ended_note v[NOTES];
	unsigned int	nr;
	uint64_t	more;
};

/* The note of that text; a new one, if there is none. NULL: no room. */
static struct ended_note *note_of(struct program_ended *e, enum ended_what what, const char *text)
{
	struct ended_note *n = e->v;

	for (; n < e->v + e->nr; n++)
		if (n->what == what && !strcmp(n->text, text))
			return n;
	if (e->nr == NOTES)
		return NULL;
	*n = (struct ended_note){ .what = what, .text = strdup(text) };
	if (!n->text)
		return NULL;
	e->nr++;
	return n;
}

void program_ended_note(struct programs *p, enum ended_what what, pid_t pid, const char *text)
{
	struct ended_note *n;

	if (!p->ended)
		p->ended = calloc(1, sizeof(*p->ended));
	if (!p->ended)
		return;
	n = note_of(p->ended, what, text);
	if (!n) {
		p->ended->more++;
		return;
	}
	n->nr++;
	n->last = pid;
}

void program_ended_print(struct programs *p, FILE *out)
{
	static const char *const keys[] = {
		[ENDED_FUNCTIONS] = "ended-functions",
		[ENDED_LOST] = "ended-lost",
		[ENDED_PROBES] = "ended-probes",
	};
	const struct program_ended *e = p->ended;

	for (unsigned int i = 0; e && i < e->nr; i++)
		fprintf(out, "%s %" PRIu64 " %d %s\t%s\n", keys[e->v[i].what], e->v[i].nr,
			(int)e->v[i].last, cmdlines_find(p->model->cmdlines, e->v[i].last),
			e->v[i].text);
	if (e && e->more)
		fprintf(out, "ended-more %" PRIu64 "\n", e->more);
}

void program_ended_destroy(struct programs *p)
{
	for (unsigned int i = 0; p->ended && i < p->ended->nr; i++)
		free(p->ended->v[i].text);
	free(p->ended);
	p->ended = NULL;
}
