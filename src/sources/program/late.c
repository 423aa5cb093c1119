/* SPDX-License-Identifier: MIT */
/*
 * late.c - processes that run already when somebody asks for functions or defines a probe
 *
 *     site_control.asked is raised, or points are planned
 *         -> knock (agent/sites/late.c) until each process has answered
 *         -> entries of the table of DSOs say DSO_MOVED_LATE -> sites.c reads their files
 *
 * A child of fork() joins with its first hit. One that was made before that has no functions and no
 * probes, and it makes no hit without the knock. So the knock goes on until such children have
 * joined, too. One that is made later has what its parent has.
 *
 * While the session knocks, events of calls cost all of its programs time. So the answers are
 * looked at each time, and a session that asks for nothing never knocks.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "model/event/file.h"
#include "sources/program/probes.h"
#include "sources/program/sites.h"

enum {
	KNOCK_MS	= 1000,		/* from one look for processes to knock at to the next */
	/*
	 * How long a name that nobody knows waits for processes that do not answer, after functions
	 * were asked for. A process that only sleeps answers when it wakes.
	 */
	PATIENCE_MS	= 2000,
};

/* The processes that have answered. */
struct answered {
	uint32_t	asked;
	size_t		nr;
	struct {
		pid_t	pid;
		bool	done, never;
	} v[LAYOUT_MAX_PROCESSES];
};

struct looking {
	const struct answered *answered;
	FILE		*out;		/* NULL: only `any` */
	bool		any;
};

static void answer_note(void *arg, const struct attach_answer *a)
{
	struct answered *g = arg;

	if (g->nr == LAYOUT_MAX_PROCESSES)
		return;
	g->v[g->nr].pid = a->peer.pid;
	g->v[g->nr].done = a->asked == g->asked;
	g->v[g->nr++].never = a->plants_never;
}

static void process_look(void *arg, pid_t pid, unsigned int slots)
{
	struct looking *l = arg;
	const struct answered *g = l->answered;
	bool done = false, never = false;

	if (l->any && !l->out)
		return;
	for (size_t i = 0; i < g->nr; i++) {
		done |= g->v[i].pid == pid && g->v[i].done;
		never |= g->v[i].pid == pid && g->v[i].never;
	}
	l->any |= !done && !never;
	if (l->out && (!done || never))
		fprintf(l->out, "functions-none %d%s\n", (int)pid, never ? " never" : "");
}

/* Whether a process has not looked for the functions that are asked for; prints these to `out`. */
static bool functions_wait(struct programs *p, uint32_t asked, FILE *out)
{
	struct answered *g = asked ? calloc(1, sizeof(*g)) : NULL;
	struct looking l = { .answered = g, .out = out };

	if (!g)
		return false;
	g->asked = asked;
	attach_answers(p->model->session, answer_note, g);
	attach_processes(p->model->session, process_look, &l);
	free(g);
	return l.any;
}

/* Children that only the knock lets join. */
static bool children_wait(struct programs *p, uint32_t asked)
{
	return (asked || program_probes_any(p)) &&
	       attach_children(p->model->session, NULL, NULL);
}

void program_late_knock(struct programs *p)
{
	const uint32_t asked = session_asked(p->model->session);
	struct program_late *late = &p->sites->late;
	const bool fresh = program_probes_fresh(p) || asked != late->asked;
	const int64_t now = session_now_ms();
	bool any;

	if (!late->knocks && !fresh && now - late->looked < KNOCK_MS)
		return;
	attach_orphans_again(p->model->session);
	late->looked = now;
	late->since = asked == late->asked ? late->since : now;
	late->asked = asked;
	any = program_probes_wait(p) || functions_wait(p, asked, NULL) ||
	      ((late->knocks || fresh) && children_wait(p, asked));
	/* Also while it knocks already: events that are defined meanwhile. */
	if (any || late->knocks)
		model_knock(p->model, any);
	late->knocks = any;
}

bool program_late_more(void *arg)
{
	struct programs *p = arg;
	struct session *s = p->model->session;

	if (attach_processes(s, NULL, NULL))
		session_functions_asked(s);
	program_late_knock(p);
	if (program_sites_unread(p))
		return true;
	return session_now_ms() - p->sites->late.since < PATIENCE_MS &&
	       functions_wait(p, session_asked(s), NULL);
}

struct printing {
	struct programs	*programs;
	FILE		*out;
	bool		functions;	/* are asked for */
};

static void child_print(void *arg, pid_t pid)
{
	const struct printing *g = arg;

	if (g->functions)
		fprintf(g->out, "functions-none %d\n", (int)pid);
	if (program_probes_want(g->programs, pid))
		fprintf(g->out, "probes-none %d\n", (int)pid);
}

void program_late_print(struct programs *p, FILE *out)
{
	const uint32_t asked = session_asked(p->model->session);
	struct printing g = { p, out, asked != 0 };

	functions_wait(p, asked, out);
	if (program_sites_unread(p))
		fputs("functions-unread 1\n", out);
	if (p->sites->late.knocks)
		attach_children(p->model->session, child_print, &g);
}
